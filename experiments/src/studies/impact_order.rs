//! Error of the integrators after an impact against the step.
//!
//! A contact of one ball is a differential equation: a = (1 − I) a₀ + I aref with aref = −B v − K I r at penetration r, as
//! long as that pushes. What order an integrator has there depends on how smooth the right side is along the path, not on
//! the integrator alone. The reference integrates that equation piece by piece, apart from the simulator, and finds the
//! ends of the pieces by bisection.

use std::path::Path;

use dualstep::mjcf::load_model_str;
use dualstep::{Data, Model, step};
use dualstep_validation::random_tree::Random;
use serde::Deserialize;

use super::{INTEGRATORS, Study, StudyError, WIDTHS, with_integrator};
use crate::config::{Config, Count, Positive, Window};
use crate::findings::{Findings, Table};
use crate::fit::order;
use crate::plot::{Axis, Chart, Curve, Figure};

use dualstep::model::Integrator;

/// The study.
pub const STUDY: Study = Study {
    slug: "impact-order",
    title: "Order of the integrators through an impact",
    about: "Error of height and velocity after a ball has bounced, against the step, for all integrators and four contact \
            laws: a damped contact under gravity, an undamped one, one whose impedance crosses a knot of its spline, and \
            one whose impedance begins at zero. Root mean squares over starts, so that impacts fall anywhere in a step.",
    reading: "An integrator of order p keeps it where the acceleration is smooth along the path. A step over a jump in the \
              k-th derivative of the acceleration errs by hᵏ⁺¹, and that happens once or twice in an impact: theory \
              promises the smaller one of p and k + 1. A damped contact resists at once: at first touch the acceleration \
              itself jumps (k = 0), all integrators have order 1, and RK4 is little better than Euler. An undamped \
              spring (solref in direct form without damping, no gravity) has a kink (k = 1): order 2 at most. An \
              impedance that begins at zero makes a smooth entry; then the knots of its spline limit RK4 to order 3 \
              (k = 2) where they are crossed, and where they are not it keeps its order 4 through the impact. The others \
              take one evaluation at the beginning of a step, contacts included: they are semi-implicit Euler here. \
              Without damping, from one flight to another, its order is 2, not 1: there it is the leapfrog, whose kicks \
              are the same but for half a kick at either end, which is zero in flight. RK4 gains one order on that \
              symmetric path as well, 5 where theory promises 4. With default parameters an integrator of high order is of \
              no use through contacts; with a smooth impedance, no damping and direct solref it is. Standard solref has \
              a limit besides: unless refsafe is disabled, its time constant is at least two steps, and contacts faster \
              than that change with the step.",
    config: include_str!("../../configs/impact-order.toml"),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    seed: u64,
    starts: Count,
    time_s: Positive,
    steps: Vec<Count>,
    fit_steps: Window,
    radius_m: Positive,
    speed: Positive,
    distance_m: Positive,
    spread_m: Positive,
    shorter: Positive,
    reference_steps: Count,
    laws: Vec<Law>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Law {
    name: String,
    solref: [f64; 2],
    solimp: [f64; 5],
    gravity: f64,
    jump: u8,
}

fn run(config: &Config) -> Result<Findings, StudyError> {
    let s: Settings = config.read()?;
    let names: Vec<&str> = s.laws.iter().map(|law| law.name.as_str()).collect();
    let mut orders = Table::new("order", &names);
    let mut smallest = Table::new("error with the smallest step", &names);
    let mut rows = vec![(Vec::new(), Vec::new()); INTEGRATORS.len()];
    let mut charts = Vec::new();
    for law in &s.laws {
        let starts = starts(&s);
        let ends: Vec<[f64; 2]> = starts.iter().map(|start| law.end(&s, *start)).collect();
        let m = law.model(&s)?;
        let mut curves = Vec::new();
        for (k, (integrator, name)) in INTEGRATORS.into_iter().enumerate() {
            let mut points = Vec::new();
            for n in &s.steps {
                let h = s.time_s.get() / n.as_f64();
                let mut sum = 0.0;
                for (start, end) in starts.iter().zip(&ends) {
                    let m = with_integrator(&m, integrator, start.time_s / n.as_f64());
                    let found = simulate(&m, &s, *start, n.get())?;
                    sum += found.iter().zip(end).map(|(x, r)| (x - r) * (x - r)).sum::<f64>();
                }
                points.push((h, (sum / s.starts.as_f64()).sqrt()));
            }
            let fits = |h: f64| s.fit_steps.contains(s.time_s.get() / h);
            rows[k].0.push(order(&points, fits));
            rows[k].1.push(
                points.iter().fold((f64::MAX, f64::NAN), |p, q| if q.0 < p.0 { *q } else { p }).1,
            );
            curves.push(Curve::new(name, points).width(WIDTHS[k]));
        }
        let guides = guides(law, &curves);
        curves.splice(0..0, guides);
        let (x, y) = (Axis::log("step h", "s"), Axis::log("error after the bounce", "m, m/s"));
        charts.push(Chart { title: law.name.clone(), x, y, curves });
    }
    for ((integrator, name), (fitted, errors)) in INTEGRATORS.iter().zip(rows) {
        orders.push(*name, &fitted);
        smallest.push(*name, &errors);
        if matches!(integrator, Integrator::Euler | Integrator::RK4) {
            let theory: Vec<f64> =
                s.laws.iter().map(|law| f64::from(law.theory(*integrator))).collect();
            orders.push(format!("{name}, theory"), &theory);
        }
    }
    let figure = Figure { title: STUDY.title.to_owned(), columns: 2, charts };
    Ok(Findings { tables: vec![orders, smallest], figure })
}

/// Where a run starts, and how long it is.
#[derive(Clone, Copy, Debug)]
struct Start {
    /// Height of the centre above the floor \[m\].
    height_m: f64,
    time_s: f64,
}

/// Random starts: neither where in a step the contact begins nor how many steps it lasts is the same for all.
fn starts(s: &Settings) -> Vec<Start> {
    let mut random = Random::new(s.seed);
    let height = s.radius_m.get() + s.distance_m.get();
    let mut start = || Start {
        height_m: height + s.spread_m.get() * random.unit(),
        time_s: s.time_s.get() * (1.0 - s.shorter.get() * random.unit()),
    };
    (0..s.starts.get()).map(|_| start()).collect()
}

/// Height and velocity after `n` steps.
fn simulate(m: &Model, s: &Settings, start: Start, n: usize) -> Result<[f64; 2], StudyError> {
    let mut d = Data::<f64>::new(m);
    d.qpos[2] = start.height_m;
    d.qvel[2] = -s.speed.get();
    for _ in 0..n {
        step(m, &mut d)?;
    }
    Ok([d.qpos[2], d.qvel[2]])
}

impl Law {
    /// Order of an integrator: its own, or what the contact leaves of it.
    fn theory(&self, integrator: Integrator) -> u8 {
        // without damping and gravity, and from flight to flight, semi-implicit Euler is the leapfrog
        let leapfrog = self.gravity == 0.0 && self.solref[1] == 0.0;
        let own = match integrator {
            Integrator::RK4 => 4,
            _ if leapfrog => 2,
            _ => 1,
        };
        own.min(self.jump + 1)
    }

    /// A ball that translates above a floor.
    fn model(&self, s: &Settings) -> Result<Model, StudyError> {
        let [a, b] = self.solref;
        let solimp = self.solimp.map(|x| x.to_string()).join(" ");
        let text = format!(
            "<mujoco><option gravity=\"0 0 -{}\"/><default><geom condim=\"1\" solref=\"{a} {b}\" solimp=\"{solimp}\"/></default>
             <worldbody><geom type=\"plane\" size=\"0 0 1\"/><body>
             <joint type=\"slide\" axis=\"1 0 0\"/><joint type=\"slide\" axis=\"0 1 0\"/><joint type=\"slide\" axis=\"0 0 1\"/>
             <geom size=\"{}\"/></body></worldbody></mujoco>",
            self.gravity,
            s.radius_m.get()
        );
        let mut m = load_model_str(&text, "ball.xml", Path::new("."))?;
        // the smallest errors are below the tolerance of the solver
        m.opt.tolerance = 0.0;
        Ok(m)
    }

    /// Acceleration that the contact asks for, and its impedance, at distance r < 0 from the floor and velocity v.
    fn contact(&self, r: f64, v: f64) -> (f64, f64) {
        let [d0, d, width, midpoint, power] = self.solimp;
        // the range that the manual gives impedances
        let [d0, d] = [d0, d].map(|x| x.clamp(1e-4, 0.9999));
        let [first, second] = self.solref;
        let (stiffness, damping) = if first > 0.0 {
            (1.0 / (d * first * second).powi(2), 2.0 / (d * first))
        } else {
            (-first / (d * d), -second / d)
        };
        let u = (-r / width).min(1.0);
        let y = if u < midpoint {
            u.powf(power) / midpoint.powf(power - 1.0)
        } else {
            1.0 - (1.0 - u).powf(power) / (1.0 - midpoint).powf(power - 1.0)
        };
        let impedance = d0 + (d - d0) * y;
        (-damping * v - stiffness * impedance * r, impedance)
    }

    /// True where the contact pushes.
    fn pushes(&self, r: f64, v: f64) -> bool {
        r < 0.0 && self.contact(r, v).0 > -self.gravity
    }

    /// Acceleration in flight, or in contact, whatever the distance.
    fn acceleration(&self, touching: bool, r: f64, v: f64) -> f64 {
        if !touching {
            return -self.gravity;
        }
        let (aref, impedance) = self.contact(r, v);
        (1.0 - impedance) * -self.gravity + impedance * aref
    }

    /// Height and velocity at the end: classical Runge–Kutta steps that end where the contact begins and where it ceases.
    fn end(&self, s: &Settings, start: Start) -> [f64; 2] {
        let h = s.time_s.get() / s.reference_steps.as_f64();
        let mut x = [start.height_m - s.radius_m.get(), -s.speed.get()];
        let mut left = start.time_s;
        let mut touching = self.pushes(x[0], x[1]);
        while left > 1e-15 {
            let h = h.min(left);
            let next = self.runge_kutta(touching, x, h);
            if self.pushes(next[0], next[1]) == touching {
                (x, left) = (next, left - h);
                continue;
            }
            // the first moment after the change
            let (mut low, mut high) = (0.0, h);
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                let [r, v] = self.runge_kutta(touching, x, middle);
                if self.pushes(r, v) == touching { low = middle } else { high = middle }
            }
            (x, left) = (self.runge_kutta(touching, x, high), left - high);
            touching = !touching;
        }
        [x[0] + s.radius_m.get(), x[1]]
    }

    fn runge_kutta(&self, touching: bool, [r, v]: [f64; 2], h: f64) -> [f64; 2] {
        let f = |r: f64, v: f64| [v, self.acceleration(touching, r, v)];
        let k1 = f(r, v);
        let k2 = f(r + 0.5 * h * k1[0], v + 0.5 * h * k1[1]);
        let k3 = f(r + 0.5 * h * k2[0], v + 0.5 * h * k2[1]);
        let k4 = f(r + h * k3[0], v + h * k3[1]);
        [0, 1].map(|k| [r, v][k] + h / 6.0 * (k1[k] + 2.0 * k2[k] + 2.0 * k3[k] + k4[k]))
    }
}

/// The orders that theory gives, below the first and the last curve at their middle.
fn guides(law: &Law, curves: &[Curve]) -> Vec<Curve> {
    let line = |integrator: Integrator, curve: Option<&Curve>| {
        let points = &curve?.points;
        let (h, e) = points.get(points.len() / 2)?;
        let n = law.theory(integrator);
        Some(Curve::slope(format!("slope {n}"), f64::from(n), (*h, 0.2 * e)))
    };
    let lines = [line(Integrator::Euler, curves.first()), line(Integrator::RK4, curves.last())];
    lines.into_iter().flatten().collect()
}
