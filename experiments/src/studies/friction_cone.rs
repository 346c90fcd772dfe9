//! A block on a slope, with elliptic and pyramidal friction cones.
//!
//! The slope is made by turning gravity; the block cannot turn. Theory: an elliptic cone holds tan θ ≤ μ in every
//! direction; the pyramid inscribed in it holds tan θ (|cos φ| + |sin φ|) ≤ μ in direction φ from an axis. A block that is
//! held creeps: its acceleration is zero, and friction R f = −B v needs a velocity.

use std::path::Path;

use dualstep::mjcf::load_model_str;
use dualstep::model::Cone;
use dualstep::{Data, Model, step};
use nalgebra::Vector3;
use serde::Deserialize;

use super::{Study, StudyError};
use crate::config::{Config, Count, Positive};
use crate::findings::{Findings, Table};
use crate::plot::{Axis, Chart, Curve, Figure, Mark};

/// The study.
pub const STUDY: Study = Study {
    slug: "friction-cone",
    title: "Friction cones",
    about: "The angle at which a block begins to slide on a slope, in directions between the axes of the pyramidal cone; \
            how fast it creeps below that angle, against impratio; and its acceleration above.",
    reading: "Elliptic cones hold up to the angle of friction in every direction. Pyramids do so along their axes only: \
              along a diagonal they hold μ/√2. impratio does not change the angle, it makes friction harder: below the \
              angle the block creeps at a speed that falls with 1/impratio, as theory says to many digits. Above the \
              angle the mean acceleration is near that of Coulomb friction, g (sin θ − μ cos θ), with the pyramid's \
              smaller friction along a diagonal, but the block does not slide smoothly: in the convex problem slip \
              raises the normal force, which lifts the block off the floor, and it hops by millimetres. That is a \
              property of the contact model: MuJoCo 4.0.1 hops as well, its velocities agree with ours to six digits.",
    config: include_str!("../../configs/friction-cone.toml"),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(rename = "seed")]
    _seed: u64,
    friction: Positive,
    mass_kg: Positive,
    gravity: Positive,
    step_s: Positive,
    time_s: Positive,
    sliding_share: Positive,
    halvings: Count,
    directions: Count,
    impratios: Vec<Positive>,
    creep_share: Positive,
    slopes: Count,
    steepest_deg: Positive,
}

/// The cones, and their names.
const CONES: [(Cone, &str); 2] = [(Cone::Elliptic, "elliptic"), (Cone::Pyramidal, "pyramidal")];
/// Along an axis of the pyramid, and between two.
const AXES: [(&str, f64); 2] = [("axis", 0.0), ("diagonal", 45.0)];

fn run(config: &Config) -> Result<Findings, StudyError> {
    let s: Settings = config.read()?;
    let (angles, first) = angles(&s)?;
    let (creep, second) = creeps(&s)?;
    let (slip, third) = slips(&s)?;
    let title = STUDY.title.to_owned();
    let figure = Figure { title, columns: 3, charts: vec![first, second, third] };
    Ok(Findings { tables: vec![angles, creep, slip], figure })
}

/// What a block did.
struct Slide {
    /// Speed down the slope at the end [m/s].
    speed: f64,
    /// Acceleration over the whole time [m/s²].
    mean: f64,
    /// Acceleration over the second half of the time [m/s²].
    late: f64,
    /// Largest height above the place at which it just touches the floor \[m\].
    hop: f64,
}

impl Settings {
    /// A block that translates on a floor.
    fn model(&self, cone: Cone, impratio: f64) -> Result<Model, StudyError> {
        let text = format!(
            "<mujoco><option timestep=\"{}\" impratio=\"{impratio}\"/><default><geom friction=\"{} 0.005 0.0001\"/></default>
             <worldbody><geom type=\"plane\" size=\"0 0 1\"/><body pos=\"0 0 0.1\">
             <joint type=\"slide\" axis=\"1 0 0\"/><joint type=\"slide\" axis=\"0 1 0\"/><joint type=\"slide\" axis=\"0 0 1\"/>
             <geom type=\"box\" size=\"0.1 0.1 0.1\" mass=\"{}\"/></body></worldbody></mujoco>",
            self.step_s.get(),
            self.friction.get(),
            self.mass_kg.get()
        );
        let mut m = load_model_str(&text, "block.xml", Path::new("."))?;
        m.opt.cone = cone;
        Ok(m)
    }

    /// What the block does on a slope of `tilt` that descends in direction `phi` from the x axis [rad].
    fn slide(&self, m: &Model, tilt: f64, phi: f64) -> Result<Slide, StudyError> {
        let mut m = m.clone();
        let down = Vector3::new(tilt.sin() * phi.cos(), tilt.sin() * phi.sin(), -tilt.cos());
        m.opt.gravity = down * self.gravity.get();
        let mut d = Data::<f64>::new(&m);
        let mut hop = 0.0_f64;
        let mut run = |until: f64| -> Result<f64, StudyError> {
            while d.time < until - 0.5 * m.opt.timestep {
                step(&m, &mut d)?;
                hop = hop.max(d.qpos[2]);
            }
            Ok(d.qvel[0] * phi.cos() + d.qvel[1] * phi.sin())
        };
        let time = self.time_s.get();
        let (before, speed) = (run(0.5 * time)?, run(time)?);
        let late = (speed - before) / (0.5 * time);
        Ok(Slide { speed, mean: speed / time, late, hop })
    }

    /// The smallest slope on which the block slides [rad].
    fn angle(&self, m: &Model, phi: f64) -> Result<f64, StudyError> {
        let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_3);
        for _ in 0..self.halvings.get() {
            let tilt = f64::midpoint(low, high);
            let late = self.slide(m, tilt, phi)?.late;
            if late > self.sliding_share.get() * self.gravity.get() {
                high = tilt;
            } else {
                low = tilt;
            }
        }
        Ok(f64::midpoint(low, high))
    }

    /// Friction that a cone holds in direction `phi` from an axis.
    fn held(&self, cone: Cone, phi: f64) -> f64 {
        let share = match cone {
            Cone::Elliptic => 1.0,
            Cone::Pyramidal => phi.cos().abs() + phi.sin().abs(),
        };
        self.friction.get() / share
    }

    /// Creep along an axis on a slope on which friction `share` · μ is needed [m/s], four contacts bearing the block.
    ///
    /// With default solref and solimp: I(r) and K I r = R f at rest give r and R; then R f = −B v along the axis. A
    /// pyramid's edges ±μ differ by 2μB v/R, and bear friction of μ times that.
    fn creep(&self, cone: Cone, impratio: f64) -> f64 {
        let [d0, d, width, tau] = [0.9_f64, 0.95, 0.001, 0.02];
        let mu = self.friction.get();
        let tilt = (self.creep_share.get() * mu).atan();
        let force = 0.25 * self.mass_kg.get() * self.gravity.get();
        let (stiffness, damping) = (1.0 / (d * tau).powi(2), 2.0 / (d * tau));
        let edge = |r0: f64| 2.0 * mu * mu / impratio * r0 * (1.0 + mu * mu);
        let softness = |r: f64| {
            let u: f64 = r / width;
            let y = if u < 0.5 { 2.0 * u * u } else { 1.0 - 2.0 * (1.0 - u) * (1.0 - u) };
            let impedance = d0 + (d - d0) * if u < 1.0 { y } else { 1.0 };
            (impedance, (1.0 - impedance) / impedance / self.mass_kg.get())
        };
        let borne = |r: f64| {
            let (impedance, r0) = softness(r);
            let along = stiffness * impedance * r;
            match cone {
                Cone::Elliptic => along / r0,
                Cone::Pyramidal => 4.0 * along / edge(r0),
            }
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..200 {
            let r = f64::midpoint(low, high);
            if borne(r) < force * tilt.cos() { low = r } else { high = r }
        }
        let (_, r0) = softness(low);
        let friction = force * tilt.sin();
        match cone {
            Cone::Elliptic => friction * r0 / impratio / damping,
            Cone::Pyramidal => friction * edge(r0) / (2.0 * mu * mu * damping),
        }
    }
}

/// Numbers from zero to `to`.
fn grid(to: f64, n: Count) -> impl Iterator<Item = f64> {
    let last = (n.as_f64() - 1.0).max(1.0);
    (0..n.get()).map(move |k| to * k as f64 / last)
}

/// Angles of stick and slip: by direction in a chart, along an axis and a diagonal and by impratio in a table.
fn angles(s: &Settings) -> Result<(Table, Chart), StudyError> {
    let mut names: Vec<String> =
        AXES.iter().flat_map(|(axis, _)| [(*axis).to_owned(), format!("{axis}, theory")]).collect();
    let others: Vec<f64> = s.impratios.iter().map(|r| r.get()).filter(|r| *r != 1.0).collect();
    names.extend(others.iter().map(|r| format!("axis, impratio {r}")));
    let columns: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut table = Table::new("angle of slip [°]", &columns);
    let mut curves = Vec::new();
    for (color, (cone, name)) in CONES.into_iter().enumerate() {
        let m = s.model(cone, 1.0)?;
        let mut row = Vec::new();
        for (_, phi) in AXES.map(|(name, phi)| (name, phi.to_radians())) {
            row.extend([s.angle(&m, phi)?, s.held(cone, phi).atan()].map(f64::to_degrees));
        }
        for ratio in &others {
            row.push(s.angle(&s.model(cone, *ratio)?, 0.0)?.to_degrees());
        }
        table.push(name, &row);
        let (mut measured, mut theory) = (Vec::new(), Vec::new());
        for phi in grid(90.0, s.directions) {
            measured.push((phi, s.angle(&m, phi.to_radians())?.to_degrees()));
        }
        for phi in grid(90.0, Count::try_from(91).unwrap_or(s.directions)) {
            theory.push((phi, s.held(cone, phi.to_radians()).atan().to_degrees()));
        }
        curves.push(Curve::new(name, theory).color(color).mark(Mark::Line));
        curves.push(Curve::new(name, measured).color(color).mark(Mark::Points));
    }
    let x = Axis::linear("direction from an axis", "°");
    let y = Axis::linear("slope on which it slides", "°");
    Ok((table, Chart { title: "stick and slip; lines: theory".to_owned(), x, y, curves }))
}

/// Creep of a block that is held.
fn creeps(s: &Settings) -> Result<(Table, Chart), StudyError> {
    let columns = ["elliptic", "elliptic, theory", "pyramidal", "pyramidal, theory"];
    let mut table = Table::new("creep [mm/s], impratio", &columns);
    let mut curves = [const { Vec::new() }; 4];
    let tilt = (s.creep_share.get() * s.friction.get()).atan();
    for ratio in s.impratios.iter().map(|r| r.get()) {
        let mut row = Vec::new();
        for (cone, _) in CONES {
            let Slide { speed, .. } = s.slide(&s.model(cone, ratio)?, tilt, 0.0)?;
            row.extend([1e3 * speed, 1e3 * s.creep(cone, ratio)]);
        }
        for (curve, y) in curves.iter_mut().zip(&row) {
            curve.push((ratio, *y));
        }
        table.push(ratio.to_string(), &row);
    }
    let [elliptic, elliptic_theory, pyramidal, pyramidal_theory] = curves;
    let pairs = [(elliptic, elliptic_theory), (pyramidal, pyramidal_theory)];
    let named = pairs.into_iter().zip(CONES).enumerate();
    let curves = named.flat_map(|(color, ((measured, theory), (_, name)))| {
        [(theory, Mark::Line), (measured, Mark::Points)]
            .map(|(points, mark)| Curve::new(name, points).color(color).mark(mark))
    });
    let (x, y) = (Axis::log("impratio", "1"), Axis::log("creep", "mm/s"));
    let title = format!("held at {:.1}°; lines: theory", tilt.to_degrees());
    Ok((table, Chart { title, x, y, curves: curves.collect() }))
}

/// Acceleration of a block that slides.
fn slips(s: &Settings) -> Result<(Table, Chart), StudyError> {
    let columns = ["largest error of the mean acceleration [m/s²]", "highest hop [mm]"];
    let mut table = Table::new("sliding", &columns);
    let mut curves = Vec::new();
    let mut color = CONES.len();
    for (cone, name) in CONES {
        let m = s.model(cone, 1.0)?;
        for (axis, phi) in AXES.map(|(axis, phi)| (axis, phi.to_radians())) {
            let (mut measured, mut theory) = (Vec::new(), Vec::new());
            let (mut worst, mut highest) = (0.0_f64, 0.0_f64);
            for degrees in grid(s.steepest_deg.get(), s.slopes) {
                let tilt = degrees.to_radians();
                let friction = s.held(cone, phi) * tilt.cos();
                let expected = (s.gravity.get() * (tilt.sin() - friction)).max(0.0);
                let Slide { mean: found, hop, .. } = s.slide(&m, tilt, phi)?;
                highest = highest.max(1e3 * hop);
                worst = worst.max((found - expected).abs());
                measured.push((degrees, found));
                theory.push((degrees, expected));
            }
            let what = format!("{name}, {axis}");
            table.push(&what, &[worst, highest]);
            curves.push(Curve::new(&what, theory).color(color).mark(Mark::Line));
            curves.push(Curve::new(&what, measured).color(color).mark(Mark::Points));
            color += 1;
        }
    }
    let (x, y) = (Axis::linear("slope", "°"), Axis::linear("mean acceleration", "m/s²"));
    Ok((table, Chart { title: "sliding; lines: theory".to_owned(), x, y, curves }))
}
