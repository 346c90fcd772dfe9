//! Suh, Simchowitz, Zhang and Tedrake 2022: bias and variance of first- and zeroth-order gradients through contact.
//!
//! A ball over a wall, whose landing place jumps; a cart that pushes another through contacts of any stiffness.

use std::path::Path;

use dualstep::mjcf::load_model_str;
use dualstep::{Data, Model};
use dualstep_derivatives::DerivativeConfig;
use rayon::prelude::*;
use serde::Deserialize;

use super::rollout::{Rollout, count, moments, normals};
use super::{Claim, Reproduction};
use crate::config::{Config, Count, Positive};
use crate::findings::{Findings, Table};
use crate::fit::order;
use crate::plot::{Axis, Chart, Curve, Figure, Mark};
use crate::studies::StudyError;

paper!(
    "2022-suh-policy-gradients",
    "H. J. T. Suh, M. Simchowitz, K. Zhang, R. Tedrake: Do Differentiable Simulators Give Better Policy Gradients? \
     International Conference on Machine Learning 2022.",
    "Averages of derivatives are biased where contact makes the objective jump, and their variance grows with the \
     stiffness of contact, while zeroth-order estimates are neither; where contact is soft or absent they have less \
     variance."
);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    seed: u64,
    speed_m_s: Positive,
    wall_m: Positive,
    wall_height_m: Positive,
    throw_step_s: Positive,
    throw_s: Positive,
    last_angle_rad: Positive,
    angles: Count,
    sigma_rad: Positive,
    narrow_sigma_rad: Positive,
    near_rad: Positive,
    far_rad: Positive,
    batch: Count,
    batches: Count,
    stiffness: Vec<Positive>,
    damping_ratio: Positive,
    gap_m: Positive,
    force_n: Positive,
    push_step_s: Positive,
    push_s: Positive,
    goal_m: Positive,
    intervals: Count,
    sigma_n: Positive,
    samples: Count,
}

/// Gravity [m/s²].
const GRAVITY: f64 = 9.81;

fn run(config: &Config) -> Result<Reproduction, StudyError> {
    let s: Settings = config.read()?;
    let throws = throws(&s)?;
    let landscape = Landscape::new(&s, &throws);
    let pushes = pushes(&s)?;

    let mut bias = Table::new("gradient by the angle", &GRADIENTS);
    for (name, at, sigma) in
        [("near the jump", s.near_rad, s.sigma_rad), ("far from it", s.far_rad, s.narrow_sigma_rad)]
    {
        bias.push(name, &landscape.gradients(at.get(), sigma.get()));
    }
    let mut variance = Table::new("variance at stiffness", &["first order", "zeroth order"]);
    for (k, found) in s.stiffness.iter().zip(&pushes) {
        variance.push(format!("{}", k.get()), &[found.first, found.zeroth]);
    }
    let batches = landscape.batches(&s);
    let claims = claims(&s, &landscape, &bias, batches, &pushes);
    let figure = figure(&s, &landscape, &pushes);
    Ok(Reproduction { claims, findings: Findings { tables: vec![bias, variance], figure } })
}

/// A throw: the angle, where the ball ends, and the derivative of that.
#[derive(Clone, Copy)]
struct Throw {
    angle: f64,
    place: f64,
    slope: f64,
}

/// A ball on two slides, so that it does not roll, a floor and a thin wall on which it does not bounce. The centre starts at
/// height zero and meets the wall at its distance.
fn ball(s: &Settings) -> Result<Model, StudyError> {
    let (h, radius, half) = (s.throw_step_s.get(), 0.001, 0.001);
    let (x, height) = (s.wall_m.get() + radius + half, 0.5 * s.wall_height_m.get());
    let text = format!(
        r#"<mujoco><option timestep="{h}" cone="elliptic" gravity="0 0 -{GRAVITY}"/>
        <default><geom friction="20" solref=".001 1" solimp="0 .95 .001"/></default>
        <worldbody><geom type="plane" size="1 1 1" pos="0 0 -{radius}"/>
        <geom type="box" size="{half} .1 {height}" pos="{x} 0 {z}"/>
        <body><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
        <geom size="{radius}" mass="1"/></body></worldbody></mujoco>"#,
        z = height - radius,
    );
    Ok(load_model_str(&text, "ball.xml", Path::new("."))?)
}

/// All throws, in parallel.
fn throws(s: &Settings) -> Result<Vec<Throw>, StudyError> {
    let m = ball(s)?;
    let n = s.angles.get();
    let steps = count(s.throw_s.get() / s.throw_step_s.get());
    let throw = |k: usize| {
        let angle = s.last_angle_rad.get() * k as f64 / n as f64;
        let mut rollout = Rollout::new(&m, &DerivativeConfig::default())?;
        let mut start = Data::new(&m);
        let (up, along) = angle.sin_cos();
        let v = s.speed_m_s.get();
        start.qvel.copy_from_slice(&[v * along, v * up]);
        let place = rollout.run(&start, &[], steps, true)?.qpos[0];
        let (by_start, _) = rollout.pull_back(&[1.0, 0.0, 0.0, 0.0]);
        Ok(Throw { angle, place, slope: v * (by_start[3] * along - by_start[2] * up) })
    };
    (0..=n).into_par_iter().map(throw).collect()
}

/// Where the ball lands in the paper: on a parabola, or at the foot of the wall.
fn theirs(s: &Settings, angle: f64) -> f64 {
    let (v, d) = (s.speed_m_s.get(), s.wall_m.get());
    let place = v * v / GRAVITY * (2.0 * angle).sin();
    let height = d * angle.tan() - 0.5 * GRAVITY * (d / (v * angle.cos())).powi(2);
    if place > d && height <= s.wall_height_m.get() { d } else { place }
}

/// The objective −x², and its derivative, on a grid of angles.
struct Landscape {
    throws: Vec<Throw>,
    /// Largest distance from the paper's landing place, away from jumps \[m\].
    distance: f64,
    jump_rad: f64,
}

/// What is found at an angle.
const GRADIENTS: [&str; 5] =
    ["of the mean", "first order", "zeroth order", "σ, first order", "σ, zeroth order"];

impl Landscape {
    fn new(s: &Settings, throws: &[Throw]) -> Self {
        let jump = throws.windows(2).max_by(|a, b| {
            let rise = |w: &[Throw]| w[1].place - w[0].place;
            rise(a).total_cmp(&rise(b))
        });
        let jump_rad = jump.map_or(f64::NAN, |w| 0.5 * (w[0].angle + w[1].angle));
        let smooth = |angle: f64| {
            let near = [-0.04, 0.04].map(|x| theirs(s, angle + x));
            (near[0] - near[1]).abs() < 0.01 && (0.1..1.5).contains(&angle)
        };
        let apart = throws.iter().filter(|t| smooth(t.angle));
        let distance = apart.map(|t| (t.place - theirs(s, t.angle)).abs()).fold(0.0, f64::max);
        Self { throws: throws.to_vec(), distance, jump_rad }
    }

    /// Gaussian weights around an angle.
    fn weights(&self, at: f64, sigma: f64) -> impl Iterator<Item = (f64, f64, &Throw)> + Clone {
        self.throws.iter().map(move |t| {
            let z = (t.angle - at) / sigma;
            ((-0.5 * z * z).exp(), t.angle - at, t)
        })
    }

    /// E\[f\].
    fn mean(&self, at: f64, sigma: f64) -> f64 {
        moments(self.weights(at, sigma).map(|(w, _, t)| (w, value(t)))).0
    }

    /// In the order of [`GRADIENTS`]: the derivative of E\[f\]; mean and standard deviation of both estimators, by
    /// quadrature over the grid. The zeroth order has the value at the angle as its baseline.
    fn gradients(&self, at: f64, sigma: f64) -> [f64; 5] {
        let e = 0.02 * sigma;
        let exact = (self.mean(at + e, sigma) - self.mean(at - e, sigma)) / (2.0 * e);
        let baseline = value(self.nearest(at));
        let first = moments(self.weights(at, sigma).map(|(w, _, t)| (w, derivative(t))));
        let estimate = |dx: f64, t: &Throw| (value(t) - baseline) * dx / (sigma * sigma);
        let zeroth = moments(self.weights(at, sigma).map(|(w, dx, t)| (w, estimate(dx, t))));
        [exact, first.0, zeroth.0, first.1.sqrt(), zeroth.1.sqrt()]
    }
}

impl Landscape {
    /// Median over batches of samples near the jump, first and zeroth order, over the gradient of the mean: what a batch shows of
    /// it, most of the time.
    fn batches(&self, s: &Settings) -> [f64; 2] {
        let (at, sigma, n) = (s.near_rad.get(), s.sigma_rad.get(), s.batch.get());
        let [exact, ..] = self.gradients(at, sigma);
        let baseline = value(self.nearest(at));
        let mut estimates: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
        for batch in 0..s.batches.get() {
            let noise = normals(s.seed, batch as u64).take(n).map(|z| sigma * z);
            let (mut first, mut zeroth) = (0.0, 0.0);
            for w in noise {
                let t = self.nearest(at + w);
                first += derivative(t) / n as f64;
                zeroth += (value(t) - baseline) * w / (sigma * sigma * n as f64);
            }
            estimates[0].push(first / exact);
            estimates[1].push(zeroth / exact);
        }
        estimates.map(|mut x| {
            x.sort_by(f64::total_cmp);
            x.get(x.len() / 2).copied().unwrap_or(f64::NAN)
        })
    }

    /// The throw on the grid whose angle is nearest.
    fn nearest(&self, angle: f64) -> &Throw {
        let k = self.throws.partition_point(|t| t.angle < angle);
        let around = &self.throws[k.saturating_sub(1)..(k + 1).min(self.throws.len())];
        let distance = |t: &&Throw| (t.angle - angle).abs();
        around
            .iter()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .expect("a throw below or above")
    }
}

/// Derivative of the objective by the angle.
fn derivative(t: &Throw) -> f64 {
    -2.0 * t.place * t.slope
}

/// The objective.
fn value(t: &Throw) -> f64 {
    -t.place * t.place
}

/// Variances of both estimators, summed over the intervals, and their means.
struct Push {
    first: f64,
    zeroth: f64,
    /// |mean of the first − mean of the zeroth| over the standard error of that.
    apart: f64,
}

/// Estimates of first and zeroth order by one sample, for each interval.
type Estimates = (Vec<f64>, Vec<f64>);

/// Two carts on a rail, the first with a motor.
fn carts(s: &Settings, stiffness: f64) -> Result<Model, StudyError> {
    let damping = 2.0 * s.damping_ratio.get() * stiffness.sqrt();
    let (h, second) = (s.push_step_s.get(), s.gap_m.get() + 0.2);
    let text = format!(
        r#"<mujoco><option timestep="{h}" gravity="0 0 0"/>
        <default><geom size=".1" mass="1" condim="1" solref="-{stiffness} -{damping}" solimp=".95 .95 .001"/>
        </default><worldbody>
        <body><joint name="first" type="slide" axis="1 0 0"/><geom/></body>
        <body pos="{second} 0 0"><joint type="slide" axis="1 0 0"/><geom/></body></worldbody>
        <actuator><motor joint="first"/></actuator></mujoco>"#
    );
    Ok(load_model_str(&text, "carts.xml", Path::new("."))?)
}

fn pushes(s: &Settings) -> Result<Vec<Push>, StudyError> {
    s.stiffness.iter().map(|k| push(s, &carts(s, k.get())?)).collect()
}

/// Both estimators of the gradient by the force in each interval, on the same samples.
fn push(s: &Settings, m: &Model) -> Result<Push, StudyError> {
    let (n, sigma) = (s.intervals.get(), s.sigma_n.get());
    let each = count(s.push_s.get() / s.push_step_s.get()) / n;
    let start = Data::new(m);
    let goal = s.goal_m.get();
    let cost = |d: &Data<f64>| (d.qpos[1] - goal).powi(2);
    let nominal = vec![s.force_n.get(); n];
    let controls = |forces: &[f64]| -> Vec<f64> {
        forces.iter().flat_map(|f| std::iter::repeat_n(*f, each)).collect()
    };
    let new = || Rollout::new(m, &DerivativeConfig::default());
    let baseline = cost(new()?.run(&start, &controls(&nominal), n * each, false)?);
    let sample = |k: usize| {
        let noise: Vec<f64> = normals(s.seed, k as u64).take(n).map(|z| sigma * z).collect();
        let forces: Vec<f64> = nominal.iter().zip(&noise).map(|(f, w)| f + w).collect();
        let mut rollout = new()?;
        let last = rollout.run(&start, &controls(&forces), n * each, true)?;
        let (value, by_place) = (cost(last), 2.0 * (last.qpos[1] - goal));
        let (_, by_control) = rollout.pull_back(&[0.0, by_place, 0.0, 0.0]);
        let first: Vec<f64> = by_control.chunks_exact(each).map(|c| c.iter().sum()).collect();
        let zeroth: Vec<f64> =
            noise.iter().map(|w| (value - baseline) * w / (sigma * sigma)).collect();
        Ok((first, zeroth))
    };
    let samples: Vec<Estimates> =
        (0..s.samples.get()).into_par_iter().map(sample).collect::<Result<_, StudyError>>()?;
    let of = |i: usize, pick: fn(&Estimates) -> &Vec<f64>| {
        moments(samples.iter().map(move |x| (1.0, pick(x)[i])))
    };
    let (mut first, mut zeroth, mut apart) = (0.0, 0.0, 0.0_f64);
    for i in 0..n {
        let (a, b) = (of(i, |x| &x.0), of(i, |x| &x.1));
        first += a.1;
        zeroth += b.1;
        apart = apart.max((a.0 - b.0).abs() / ((a.1 + b.1) / s.samples.as_f64()).sqrt());
    }
    Ok(Push { first, zeroth, apart })
}

fn claims(
    s: &Settings,
    landscape: &Landscape,
    bias: &Table,
    batches: [f64; 2],
    pushes: &[Push],
) -> Vec<Claim> {
    let any = f64::INFINITY;
    let at = |row: &str, k: usize| bias.get(row, GRADIENTS[k]).unwrap_or(f64::NAN);
    let (near, far) = ("near the jump", "far from it");
    let claim = |what: &str, ours, accepted| Claim::measured(what, None, ours, accepted);
    let ratio = |p: &Push| p.first / p.zeroth;
    let (soft, hard) = (&pushes[0], &pushes[pushes.len() - 1]);
    let by_stiffness: Vec<_> =
        s.stiffness.iter().zip(pushes).map(|(k, p)| (k.get(), p.first)).collect();
    let jump = (s.wall_m.get(), s.speed_m_s.get().powi(2) / GRAVITY);
    let angle = {
        // the ball clears the wall: d tan − g d² (1 + tan²)/2v² = height
        let (a, b) = (0.5 * jump.0 * jump.0 / jump.1, jump.0);
        ((b - (b * b - 4.0 * a * (a + s.wall_height_m.get())).sqrt()) / (2.0 * a)).atan()
    };
    vec![
        Claim::measured(
            "angle at which the ball clears the wall [rad]",
            Some(angle),
            landscape.jump_rad,
            [angle - 0.05, angle + 0.05],
        ),
        claim(
            "landing place away from jumps, distance from theirs [mm]",
            1e3 * landscape.distance,
            [0.0, 3.0],
        ),
        claim(
            "first order / gradient of the mean, near the jump",
            at(near, 1) / at(near, 0),
            [-any, 0.5],
        )
        .up_to(2.0),
        claim("first order, median of batches", batches[0], [-any, 0.8]).up_to(2.0),
        claim("zeroth order, median of batches", batches[1], [0.8, 1.2]),
        claim(
            "zeroth order / gradient of the mean, near the jump",
            at(near, 2) / at(near, 0),
            [0.95, 1.05],
        ),
        claim(
            "standard deviation, first / zeroth order, near the jump",
            at(near, 3) / at(near, 4),
            [1.0, any],
        )
        .up_to(2.0),
        claim(
            "first order / gradient of the mean, far from it",
            at(far, 1) / at(far, 0),
            [0.95, 1.05],
        ),
        claim(
            "standard deviation, first / zeroth order, far from it",
            at(far, 3) / at(far, 4),
            [0.0, 1.0],
        ),
        claim("pushing, softest contact: variance, first / zeroth order", ratio(soft), [0.0, 1.0])
            .up_to(1.5),
        claim("pushing, hardest contact: variance, first / zeroth order", ratio(hard), [1.0, any])
            .up_to(3.0),
        claim(
            "variance of first order, exponent in the stiffness",
            order(&by_stiffness, |_| true),
            [0.1, any],
        )
        .up_to(2.0),
        claim("softest contact: distance of the means, in standard errors", soft.apart, [0.0, 4.0])
            .up_to(4.0),
    ]
}

fn figure(s: &Settings, landscape: &Landscape, pushes: &[Push]) -> Figure {
    let throws = &landscape.throws;
    let x = || Axis::linear("angle", "rad");
    let places = Chart {
        title: "ball with wall".to_owned(),
        x: x(),
        y: Axis::linear("landing place", "m"),
        curves: vec![
            Curve::new("simulated", throws.iter().map(|t| (t.angle, t.place)).collect())
                .mark(Mark::Line),
            Curve::new("theirs", throws.iter().map(|t| (t.angle, theirs(s, t.angle))).collect())
                .mark(Mark::Dashed),
        ],
    };
    let sigma = s.sigma_rad.get();
    let inside = throws.iter().step_by((throws.len() / 80).max(1)).map(|t| t.angle);
    let inside: Vec<f64> =
        inside.filter(|a| *a > 3.0 * sigma && *a < s.last_angle_rad.get() - 3.0 * sigma).collect();
    let found: Vec<[f64; 5]> = inside.iter().map(|a| landscape.gradients(*a, sigma)).collect();
    let curve = |name: &str, k: usize, mark: Mark| {
        Curve::new(name, inside.iter().zip(&found).map(|(a, g)| (*a, g[k])).collect()).mark(mark)
    };
    let gradients = Chart {
        title: "gradient of −E[x²] by the angle".to_owned(),
        x: x(),
        y: Axis::linear("gradient", "m²/rad"),
        curves: vec![
            curve("of the mean", 0, Mark::Line),
            curve("first order", 1, Mark::Line),
            curve("zeroth order", 2, Mark::Dashed),
        ],
    };
    let by_stiffness = |pick: fn(&Push) -> f64| {
        s.stiffness.iter().zip(pushes).map(|(k, p)| (k.get(), pick(p))).collect::<Vec<_>>()
    };
    let variance = Chart {
        title: "pushing".to_owned(),
        x: Axis::log("stiffness of contact", "1/s²"),
        y: Axis::log("variance of the gradient", "m⁴/N²"),
        curves: vec![
            Curve::new("first order", by_stiffness(|p| p.first)),
            Curve::new("zeroth order", by_stiffness(|p| p.zeroth)),
        ],
    };
    let title = "Gradients of first and zeroth order through contact".to_owned();
    Figure { title, columns: 3, charts: vec![places, gradients, variance] }
}
