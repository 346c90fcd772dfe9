//! Carpentier and Mansard 2018: cost and accuracy of closed-form derivatives of inverse and forward dynamics.
//!
//! Times are those of everything from positions and velocities on: the function itself is part of its
//! derivative, as in the paper.

use dualstep::forward::forward_dynamics;
use dualstep::integrate::integrate_pos;
use dualstep::inverse::inverse;
use dualstep::scalar::Dual;
use dualstep::{Data, Model, Scalar};
use dualstep_derivatives::{
    AccelerationDeriv, InverseDeriv, mjd_smooth_acceleration, mjd_smooth_inverse,
};
use dualstep_validation::random_tree::random_state;
use serde::Deserialize;

use super::trees::Tree;
use super::{Claim, Reproduction};
use crate::config::{Config, Count, Positive};
use crate::findings::{Findings, Table};
use crate::plot::{Axis, Chart, Curve, Figure, Mark};
use crate::stopwatch::{Task, times};
use crate::studies::{StudyError, models};

paper!(
    "2018-carpentier-analytical-derivatives",
    "J. Carpentier, N. Mansard: Analytical Derivatives of Rigid Body Dynamics Algorithms. \
               Robotics: Science and Systems 2018.",
    "Closed forms give the derivatives of inverse and forward dynamics in 3 µs for an arm to 17 µs for a \
            humanoid, faster than finite differences and automatic differentiation."
);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    seed: u64,
    chains: Vec<Count>,
    batches: Count,
    batch_s: Positive,
    fd_eps: Positive,
}

/// Width of a run on dual numbers.
const WIDTH: usize = 8;

/// What is timed, in this order.
const TASKS: [&str; 6] = [
    "inverse dynamics",
    "its closed form",
    "forward dynamics",
    "its closed form (forward)",
    "dual numbers",
    "finite differences",
];

/// What is found for a robot.
struct Robot {
    name: String,
    nv: usize,
    /// Median times \[µs\].
    us: [f64; 6],
    /// Largest errors of the derivatives of forward dynamics, relative to their largest entry: closed form against
    /// dual numbers, finite differences against closed form.
    errors: [f64; 2],
}

fn run(config: &Config) -> Result<Reproduction, StudyError> {
    let s: Settings = config.read()?;
    let mut robots = Vec::new();
    for n in &s.chains {
        let m = Tree::chain(n.get()).model(s.seed)?;
        robots.push(measure(format!("chain of {}", n.get()), &m, &s));
    }
    let own = models::load_smooth("humanoid", config, "seed")?;
    robots.push(measure("humanoid, 27 dofs".to_owned(), &own, &s));
    let large = Tree::humanoid(2, 7).model(s.seed)?;
    robots.push(measure("humanoid, 36 dofs".to_owned(), &large, &s));

    let mut table = Table::new("time [µs]", &TASKS);
    let mut errors = Table::new("error", &["closed form − dual", "finite differences"]);
    for robot in &robots {
        table.push(&robot.name, &robot.us);
        errors.push(&robot.name, &robot.errors);
    }
    let findings = Findings { tables: vec![table, errors], figure: figure(&robots) };
    Ok(Reproduction { claims: claims(&findings), findings })
}

fn claims(findings: &Findings) -> Vec<Claim> {
    let us = |robot, task: usize| findings.get("time [µs]", robot, TASKS[task]).unwrap_or(f64::NAN);
    let (arm, own, large) = ("chain of 7", "humanoid, 27 dofs", "humanoid, 36 dofs");
    let any = f64::INFINITY;
    let claim = Claim::timed;
    // times on other machines: right up to a factor of two
    let mut claims = vec![
        claim("7-dof arm, d inverse [µs]", Some(3.0), us(arm, 1), [0.0, 6.0]),
        claim("36-dof humanoid, d forward [µs]", Some(17.0), us(large, 3), [0.0, 34.0]),
        claim("27-dof humanoid, d inverse [µs]", Some(8.2), us(own, 1), [0.0, 16.4]),
        claim("27-dof humanoid, d forward [µs]", Some(13.8), us(own, 3), [0.0, 27.6]),
        claim(
            "27-dof humanoid, d inverse / inverse",
            Some(8.2 / 2.3),
            us(own, 1) / us(own, 0),
            [0.0, 7.2],
        ),
        claim(
            "27-dof humanoid, d forward / forward",
            Some(13.8 / 4.1),
            us(own, 3) / us(own, 2),
            [0.0, 6.8],
        ),
        claim(
            "36-dof humanoid, d forward / d inverse",
            None,
            us(large, 3) / us(large, 1),
            [1.0, 2.0],
        ),
        claim(
            "36-dof humanoid, finite differences / closed form",
            None,
            us(large, 5) / us(large, 3),
            [1.0, any],
        ),
        claim(
            "36-dof humanoid, dual numbers / closed form",
            None,
            us(large, 4) / us(large, 3),
            [1.0, any],
        ),
    ];
    let worst = |column| {
        let errors = &findings.tables[1];
        let all = errors.rows.iter().filter_map(|(robot, _)| errors.get(robot, column));
        all.fold(0.0_f64, f64::max)
    };
    let errors = [worst("closed form − dual"), worst("finite differences")];
    claims.extend([
        claim("error of the closed form, all robots", None, errors[0], [0.0, 1e-12]).up_to(100.0),
        claim("error of finite differences, all robots", None, errors[1], [1e-9, 1e-3])
            .up_to(100.0),
    ]);
    claims
}

/// Times and errors of one robot, at a random state.
fn measure(name: String, m: &Model, s: &Settings) -> Robot {
    let mut start = Data::<f64>::new(m);
    random_state(s.seed, m, &mut start);
    let nv = m.nv;
    let n = 2 * nv;

    let mut d = start.clone();
    let _ = forward_dynamics(m, &mut d);
    let exact = {
        let mut out = AccelerationDeriv::new(m);
        mjd_smooth_acceleration(m, &d, &mut out);
        out.block
    };
    let stride = exact.len() / nv;
    let mut fd = Differences::new(m, &start, s.fd_eps.get());
    let mut dual = Duals::new(m, &start);
    fd.run(m);
    dual.run(m);
    let error = |x: &[f64], reference: &dyn Fn(usize, usize) -> f64| {
        let (mut worst, mut scale) = (0.0_f64, 1.0_f64);
        for (i, k) in (0..nv).flat_map(|i| (0..n).map(move |k| (i, k))) {
            worst = worst.max((x[i * n + k] - reference(i, k)).abs());
            scale = scale.max(reference(i, k).abs());
        }
        worst / scale
    };
    let closed = |i: usize, k: usize| exact[i * stride + k];
    let errors = [error(&dual.out, &closed), error(&fd.out, &closed)];

    let (mut d1, mut d2, mut d3, mut d4) = (d.clone(), d.clone(), d.clone(), d);
    let mut out = InverseDeriv::new(m);
    let mut acceleration = AccelerationDeriv::new(m);
    let mut tasks = [
        Task::new(move || {
            let _ = inverse(m, &mut d1);
        }),
        Task::new(move || {
            let _ = inverse(m, &mut d2);
            mjd_smooth_inverse(m, &d2, &mut out);
        }),
        Task::new(move || {
            let _ = forward_dynamics(m, &mut d3);
        }),
        Task::new(move || {
            let _ = forward_dynamics(m, &mut d4);
            mjd_smooth_acceleration(m, &d4, &mut acceleration);
        }),
        Task::new(move || dual.run(m)),
        Task::new(move || fd.run(m)),
    ];
    let spreads = times(&mut tasks, s.batches.get(), s.batch_s.get());
    let us = std::array::from_fn(|k| spreads[k].median);
    Robot { name, nv, us, errors }
}

/// Derivatives of qacc by position and velocity, by forward differences.
struct Differences<'a> {
    start: &'a Data<f64>,
    d: Data<f64>,
    direction: Vec<f64>,
    base: Vec<f64>,
    eps: f64,
    /// Row-major (nv × 2nv).
    out: Vec<f64>,
}

impl<'a> Differences<'a> {
    fn new(m: &Model, start: &'a Data<f64>, eps: f64) -> Self {
        let zeros = |n| vec![0.0; n];
        let (direction, base, out) = (zeros(m.nv), zeros(m.nv), zeros(2 * m.nv * m.nv));
        Self { start, d: start.clone(), direction, base, eps, out }
    }

    fn run(&mut self, m: &Model) {
        let Self { start, d, direction, base, eps, out } = self;
        d.set_state_from(start);
        let _ = forward_dynamics(m, d);
        base.copy_from_slice(&d.qacc);
        for k in 0..2 * m.nv {
            d.set_state_from(start);
            if k < m.nv {
                direction[k] = 1.0;
                integrate_pos(m, &mut d.qpos, direction, *eps);
                direction[k] = 0.0;
            } else {
                d.qvel[k - m.nv] += *eps;
            }
            let _ = forward_dynamics(m, d);
            for i in 0..m.nv {
                out[i * 2 * m.nv + k] = (d.qacc[i] - base[i]) / *eps;
            }
        }
    }
}

/// The same, by dual numbers, eight columns at a time.
struct Duals<'a> {
    start: &'a Data<f64>,
    d: Data<Dual<WIDTH>>,
    direction: Vec<Dual<WIDTH>>,
    /// Row-major (nv × 2nv).
    out: Vec<f64>,
}

impl<'a> Duals<'a> {
    fn new(m: &Model, start: &'a Data<f64>) -> Self {
        let direction = vec![Dual::lift(0.0); m.nv];
        Self { start, d: Data::new(m), direction, out: vec![0.0; 2 * m.nv * m.nv] }
    }

    fn run(&mut self, m: &Model) {
        let Self { start, d, direction, out } = self;
        let n = 2 * m.nv;
        for first in (0..n).step_by(WIDTH) {
            d.set_state_from(start);
            direction.fill(Dual::lift(0.0));
            for k in first..(first + WIDTH).min(n) {
                let unit: Dual<WIDTH> =
                    Dual::from_parts(|part| if part == k - first + 1 { 1.0 } else { 0.0 });
                if k < m.nv {
                    direction[k] += unit;
                } else {
                    d.qvel[k - m.nv] += unit;
                }
            }
            integrate_pos(m, &mut d.qpos, direction, Dual::lift(1.0));
            let _ = forward_dynamics(m, d);
            for (i, k) in
                (0..m.nv).flat_map(|i| (first..(first + WIDTH).min(n)).map(move |k| (i, k)))
            {
                out[i * n + k] = d.qacc[i].part(k - first + 1);
            }
        }
    }
}

fn figure(robots: &[Robot]) -> Figure {
    let (chains, humanoids): (Vec<&Robot>, Vec<&Robot>) =
        robots.iter().partition(|robot| robot.name.starts_with("chain"));
    let points = |robots: &[&Robot], value: &dyn Fn(&Robot) -> f64| {
        robots.iter().map(|robot| (robot.nv as f64, value(robot))).collect::<Vec<_>>()
    };
    let x = || Axis::log("degrees of freedom", "1").range(3.5..42.0);
    let mut charts = Vec::new();
    let shown = [
        (2, "forward dynamics"),
        (3, "closed form"),
        (4, "dual numbers"),
        (5, "finite differences"),
    ];
    for (title, robots) in [("serial chains", &chains), ("humanoids", &humanoids)] {
        let curve = |(task, name): (usize, &str)| Curve::new(name, points(robots, &|r| r.us[task]));
        let mut curves: Vec<Curve> = shown.into_iter().map(curve).collect();
        if title == "humanoids" {
            let theirs = vec![(36.0, 17.0)];
            curves.push(Curve::new("their closed form, 2018", theirs).mark(Mark::Points).color(7));
        }
        let y = Axis::log("time", "µs").range(0.5..2000.0);
        charts.push(Chart { title: title.to_owned(), x: x(), y, curves });
    }
    let curves = vec![
        Curve::new("dual numbers", points(&chains, &|r| r.errors[0])).color(2),
        Curve::new("finite differences", points(&chains, &|r| r.errors[1])).color(3),
        Curve::level("rounding", f64::EPSILON),
    ];
    let y = Axis::log("relative distance from the closed form", "1");
    charts.push(Chart { title: "serial chains, accuracy".to_owned(), x: x(), y, curves });
    let title = "Derivatives of forward dynamics by position and velocity".to_owned();
    Figure { title, columns: 3, charts }
}
