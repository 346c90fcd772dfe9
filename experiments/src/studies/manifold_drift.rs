//! Drift off the manifold of orientations, and of momenta that nothing changes.

use dualstep::forward::{fwd_position, fwd_velocity};
use dualstep::model::options::disable;
use dualstep::model::{Integrator, JointType};
use dualstep::smooth::subtree_vel;
use dualstep::{Data, Model, step};
use nalgebra::Vector3;
use serde::Deserialize;

use super::{INTEGRATORS, Study, StudyError, WIDTHS, first_state, models, with_integrator};
use crate::config::{Config, Count, Positive};
use crate::findings::{Findings, Table};
use crate::plot::{Axis, Chart, Curve, Figure, Mark};

/// The study.
pub const STUDY: Study = Study {
    slug: "manifold-drift",
    title: "Drift of quaternions and momenta",
    about: "Norm of quaternions, momentum and angular momentum of bodies that float without gravity, against time, \
            for all integrators. Baseline: a quaternion that is advanced by adding its rate.",
    reading: "Quaternions stay unit to rounding, because they are turned and normalized; one that is advanced by \
              adding h q̇ leaves the sphere at once, by h²ω²/8 a step. Momentum and angular momentum change by what \
              an integrator errs: the centres of mass are away from the origins of the bodies, so that the velocity \
              of the centre depends on rotations, which are right to first order only with all integrators but RK4.",
    config: include_str!("../../configs/manifold-drift.toml"),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(rename = "seed")]
    _seed: u64,
    models: Vec<String>,
    time_s: Positive,
    step_s: Positive,
    samples: Count,
}

/// What is followed, with the names of the axes.
const QUANTITIES: [&str; 3] = ["norm of quaternions", "momentum", "angular momentum"];

fn run(config: &Config) -> Result<Findings, StudyError> {
    let s: Settings = config.read()?;
    let mut tables = Vec::new();
    let mut charts = Vec::new();
    for name in &s.models {
        let mut m = models::load_smooth(name, config, "models")?;
        m.opt.disableflags |= disable::GRAVITY;
        let mut table = Table::new(name, &QUANTITIES);
        let mut curves = vec![Vec::new(); QUANTITIES.len()];
        for ((integrator, name), width) in INTEGRATORS.into_iter().zip(WIDTHS) {
            let run = follow(&m, integrator, &s);
            table.push(name, &run.each_ref().map(|points| largest(points)));
            for (curves, points) in curves.iter_mut().zip(run) {
                curves.push(Curve::new(name, points).mark(Mark::Line).width(width));
            }
        }
        let added = Curve::new("added, not turned", added(&m, &s)).color(6).mark(Mark::Dashed);
        table.push(&added.name, &[largest(&added.points), f64::NAN, f64::NAN]);
        curves[0].push(added);
        for (quantity, mut curves) in QUANTITIES.into_iter().zip(curves) {
            curves.push(Curve::level("rounding", f64::EPSILON));
            let x = Axis::linear("time", "s");
            let y = Axis::log(format!("largest error of the {quantity}"), "1");
            charts.push(Chart { title: name.clone(), x, y, curves });
        }
        tables.push(table);
    }
    let title = format!("{}, step {} s", STUDY.title, s.step_s.get());
    Ok(Findings { tables, figure: Figure { title, columns: QUANTITIES.len(), charts } })
}

fn largest(points: &[(f64, f64)]) -> f64 {
    points.iter().fold(f64::NAN, |worst, p| worst.max(p.1))
}

/// Largest errors so far of the three quantities, relative to their sizes at the start.
fn follow(m: &Model, integrator: Integrator, s: &Settings) -> [Vec<(f64, f64)>; 3] {
    let m = with_integrator(m, integrator, s.step_s.get());
    let mut d = first_state(&m);
    let [p0, l0] = momenta(&m, &d);
    let mut worst = [0.0_f64; 3];
    let mut points = [const { Vec::new() }; 3];
    for k in 1..=s.samples.get() {
        let until = s.time_s.get() * k as f64 / s.samples.as_f64();
        while d.time < until - 0.5 * s.step_s.get() {
            if step(&m, &mut d).is_err() {
                return points;
            }
            worst[0] = worst[0].max(off_sphere(&m, &d));
        }
        let [p, l] = momenta(&m, &d);
        worst[1] = worst[1].max((p - p0).norm() / p0.norm());
        worst[2] = worst[2].max((l - l0).norm() / l0.norm());
        for (points, error) in points.iter_mut().zip(worst) {
            points.push((d.time, error));
        }
    }
    points
}

/// Addresses of the quaternions in qpos.
fn quaternions(m: &Model) -> impl Iterator<Item = usize> {
    (0..m.njnt).filter_map(|j| match m.jnt_type[j] {
        JointType::Free => Some(m.jnt_qposadr[j] + 3),
        JointType::Ball => Some(m.jnt_qposadr[j]),
        JointType::Slide | JointType::Hinge => None,
    })
}

/// Largest | |q| − 1 |.
fn off_sphere(m: &Model, d: &Data<f64>) -> f64 {
    let norm = |adr: usize| d.qpos[adr..adr + 4].iter().map(|x| x * x).sum::<f64>().sqrt();
    quaternions(m).fold(0.0, |worst, adr| worst.max((norm(adr) - 1.0).abs()))
}

/// Momentum [kg·m/s], and angular momentum about the centre of mass [kg·m²/s], of the first tree.
fn momenta(m: &Model, d: &Data<f64>) -> [Vector3<f64>; 2] {
    let mut d = d.clone();
    fwd_position(m, &mut d);
    fwd_velocity(m, &mut d);
    subtree_vel(m, &mut d);
    [d.subtree_linvel[1] * m.body_subtreemass[1], d.subtree_angmom[1]]
}

/// The first quaternion, driven by the same angular velocity, but advanced by q ← q + ½ h q ω without being
/// normalized: | |q| − 1 |.
fn added(m: &Model, s: &Settings) -> Vec<(f64, f64)> {
    let h = s.step_s.get();
    let m = with_integrator(m, Integrator::Euler, h);
    let mut d = first_state(&m);
    let dof = m.jnt_dofadr[0] + if m.jnt_type[0] == JointType::Free { 3 } else { 0 };
    let Some(adr) = quaternions(&m).next() else { return Vec::new() };
    let [mut w, mut x, mut y, mut z] = [0, 1, 2, 3].map(|k| d.qpos[adr + k]);
    let mut points = Vec::new();
    for k in 1..=s.samples.get() {
        let until = s.time_s.get() * k as f64 / s.samples.as_f64();
        while d.time < until - 0.5 * h {
            if step(&m, &mut d).is_err() {
                return points;
            }
            let [a, b, c] = [0, 1, 2].map(|k| 0.5 * h * d.qvel[dof + k]);
            (w, x, y, z) = (
                w - x * a - y * b - z * c,
                x + w * a + y * c - z * b,
                y + w * b + z * a - x * c,
                z + w * c + x * b - y * a,
            );
        }
        points.push((d.time, ((w * w + x * x + y * y + z * z).sqrt() - 1.0).abs()));
    }
    points
}
