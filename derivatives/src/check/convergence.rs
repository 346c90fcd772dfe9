//! How differences of steps converge to a derivative as the nudges shrink.

use std::ops::Range;

use dualstep::forward::step;
use dualstep::{Data, Model};

use super::{Block, Output, comparable, compare_where};
use crate::finite_diff::{FdConfig, FdSteps, FdWorkspace, mjd_transition_fd_into};
use crate::matrices::{Transition, TransitionError};
use crate::transition::{DerivativeConfig, Method, mjd_transition};

/// Errors of differences with nudges of several sizes: a V on logarithmic axes, rounding on the left, truncation on
/// the right.
#[derive(Clone, Debug, PartialEq)]
pub struct VCurve {
    /// Sizes of the nudges, ascending.
    pub eps: Vec<f64>,
    /// Error of each, against the reference.
    pub err: Vec<f64>,
    /// Row and column of the entry that is furthest off, by name; empty where all agree to the last bit.
    pub entry: Vec<[String; 2]>,
    /// By how much the differences change from the next smaller nudge to this one, on the scale of `err`; the
    /// reference has no part in it. Not a number for the smallest; infinite where a nudge moves positions by more than
    /// one, since a rotation that wraps around looks small.
    pub change: Vec<f64>,
    /// Rounding error of what the step gives, on the scale of `err`: over eps, the least noise.
    pub rounding: f64,
}

impl VCurve {
    /// No errors, for nudges of these sizes (ascending).
    pub fn new(eps: &[f64]) -> Self {
        let n = eps.len();
        let entry = vec![[String::new(), String::new()]; n];
        let change = vec![f64::NAN; n];
        Self { eps: eps.to_vec(), err: vec![0.0; n], entry, change, rounding: f64::EPSILON }
    }

    /// Takes over what is larger in another curve, for each size of nudge.
    ///
    /// # Panics
    /// If the other curve has fewer points.
    pub fn raise(&mut self, other: &Self) {
        for k in 0..self.eps.len() {
            if other.err[k] > self.err[k] {
                self.err[k] = other.err[k];
                self.entry[k].clone_from(&other.entry[k]);
            }
            // a number wins over none
            self.change[k] = self.change[k].max(other.change[k]);
        }
        self.rounding = self.rounding.max(other.rounding);
    }

    /// The size of nudge with the smallest error, and that error; none if there are no points.
    pub fn minimum(&self) -> Option<(f64, f64)> {
        let points = self.eps.iter().copied().zip(self.err.iter().copied());
        points.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Slope of the right branch, where truncation rules: 2 for centred differences, 1 for forward ones. None if too
    /// few points are on it, as for a linear function.
    pub fn truncation_slope(&self) -> Option<f64> {
        let bottom = self.bottom()?;
        // up to where the error leaves what a series in the nudge describes
        let on_it = self.on_branch(bottom..self.err.len());
        let rising = on_it.windows(2).take_while(|w| self.err[w[1]] > self.err[w[0]]).count();
        self.slope(&on_it[..(rising + 1).min(on_it.len())])
    }

    /// Slope of the left branch, where rounding rules: −1. None if too few points are on it.
    pub fn rounding_slope(&self) -> Option<f64> {
        let bottom = self.bottom()?;
        self.slope(&self.on_branch(0..bottom))
    }

    /// An estimate of the error at a size of nudge (by index) that looks at the differences alone. None for the
    /// smallest nudge.
    ///
    /// It is the largest change from one size to the next up to this one, scaled by 1/eps as rounding is, and at
    /// least what rounding the result of the step gives. Beyond the [`quietest`](Self::quietest) nudge, where truncation
    /// rules, it does not fall again.
    pub fn noise(&self, k: usize) -> Option<f64> {
        let bottom = self.quietest()?;
        let rising = (bottom.min(k)..=k).filter_map(|j| self.scaled_change(j));
        rising.reduce(f64::max)
    }

    /// Index of the best nudge, as far as the differences know: where their noise is smallest, on the way up from
    /// the smallest nudge until it is ten times as large again. (Differences with nudges that are far too large
    /// may change little as well: they have left what they should measure.)
    pub fn quietest(&self) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for k in 1..self.eps.len() {
            let noise = self.scaled_change(k)?;
            match best {
                Some((_, least)) if noise > 10.0 * least => break,
                Some((_, least)) if noise >= least => {}
                _ => best = Some((k, noise)),
            }
        }
        best.map(|(k, _)| k)
    }

    /// The largest change up to a nudge, scaled as rounding is.
    fn scaled_change(&self, k: usize) -> Option<f64> {
        let scaled = |j: usize| self.change[j] * self.eps[j] / self.eps[k];
        let largest = (1..=k).map(scaled).reduce(f64::max);
        largest.map(|n| n.max(self.rounding / self.eps[k]))
    }

    fn bottom(&self) -> Option<usize> {
        (0..self.err.len()).min_by(|&i, &j| self.err[i].total_cmp(&self.err[j]))
    }

    /// Points well above the bottom, and below errors that say nothing.
    fn on_branch(&self, range: Range<usize>) -> Vec<usize> {
        let floor = self.minimum().map_or(0.0, |(_, err)| 10.0 * err.max(f64::EPSILON));
        range.filter(|&k| self.err[k] > floor && self.err[k] < 0.1).collect()
    }

    /// Least squares through log err over log eps.
    fn slope(&self, points: &[usize]) -> Option<f64> {
        if points.len() < 3 {
            return None;
        }
        let n = points.len() as f64;
        let logs = || points.iter().map(|&k| (self.eps[k].log10(), self.err[k].log10()));
        let (mx, my) = logs().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
        let (xx, xy) = logs().fold((0.0, 0.0), |(xx, xy), (x, y)| {
            (xx + (x - mx) * (x - mx), xy + (x - mx) * (y - my))
        });
        Some(xy / xx)
    }
}

/// V-curves of a linearization.
#[derive(Clone, Debug, PartialEq)]
pub struct Convergence {
    /// Centred differences, or forward ones.
    pub centered: bool,
    /// The largest error of all blocks.
    pub worst: VCurve,
    /// Each block that has a column which is not at a kink.
    pub blocks: Vec<(Block, VCurve)>,
}

/// Differences of steps with nudges of the given sizes (ascending), each solved to the minimum of its constraints, against the derivative: the closed form where that
/// covers the model, dual numbers elsewhere. Columns at a kink are left out.
///
/// ```
/// use dualstep::{Data, mjcf::load_model_str};
/// use dualstep_derivatives::check::{fd_convergence_check, nudges};
///
/// let xml = r#"<mujoco><worldbody><body>
///   <joint name="knee" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -1" size=".05"/>
/// </body></worldbody></mujoco>"#;
/// let m = load_model_str(xml, "pendulum.xml", std::path::Path::new("."))?;
/// let mut d = Data::new(&m);
/// d.qpos[0] = 0.3;
/// let v = fd_convergence_check(&m, &d, true, &nudges(true))?.worst;
/// let (eps, err) = v.minimum().expect("there are points");
/// assert!((1e-6..1e-3).contains(&eps) && err < 1e-10);
/// assert!((v.truncation_slope().expect("not linear") - 2.0).abs() < 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A step fails.
pub fn fd_convergence_check(
    m: &Model,
    d: &Data<f64>,
    centered: bool,
    eps: &[f64],
) -> Result<Convergence, TransitionError> {
    let exact = mjd_transition(m, d, &DerivativeConfig::by(Method::Auto))?;
    let config = if centered { FdConfig::centered() } else { FdConfig::forward() };
    fd_convergence(m, d, &FdConfig { polish: true, ..config }, eps, &exact)
}

/// As [`fd_convergence_check`], against a given linearization, by differences as `config` has them but for the size of
/// their nudges.
///
/// # Errors
/// A step fails.
///
/// # Panics
/// If `reference` belongs to a model of other sizes.
pub fn fd_convergence(
    m: &Model,
    d: &Data<f64>,
    config: &FdConfig,
    nudges: &[f64],
    reference: &Transition,
) -> Result<Convergence, TransitionError> {
    let magnitude = magnitudes(m, d)?;
    let scale = |block: Block| block.view(m, reference).iter().fold(1.0_f64, |s, r| s.max(r.abs()));
    let mut blocks: Vec<(Block, VCurve)> = Vec::new();
    let mut workspace = FdWorkspace::new(m);
    let (mut fd, mut smaller) = (Transition::new(m), Transition::new(m));
    for (k, &eps) in nudges.iter().enumerate() {
        let config = FdConfig { eps: FdSteps::uniform(eps), ..*config };
        mjd_transition_fd_into(m, d, &config, &mut workspace, &mut fd)?;
        let keep = |fd: &Transition, k: usize| comparable(&fd.columns[k], &reference.columns[k]);
        for found in compare_where(m, &fd, reference, |_, column| keep(&fd, column)) {
            if k == 0 {
                let size = magnitude(found.block.of) / scale(found.block);
                let rounding = f64::EPSILON * size.max(1.0);
                blocks.push((found.block, VCurve { rounding, ..VCurve::new(nudges) }));
            }
            if let Some((_, v)) = blocks.iter_mut().find(|(block, _)| *block == found.block) {
                (v.err[k], v.entry[k]) = (found.err, [found.row, found.column]);
            }
        }
        let both = |_: Block, column: usize| keep(&fd, column) && keep(&smaller, column);
        let changes = if k > 0 { compare_where(m, &fd, &smaller, both) } else { Vec::new() };
        for change in changes {
            let Some((_, v)) = blocks.iter_mut().find(|(block, _)| *block == change.block) else {
                continue;
            };
            let scale = scale(change.block);
            let wraps = change.block.of == Output::Position && eps * scale > 1.0;
            v.change[k] = if wraps { f64::INFINITY } else { change.err * change.scale / scale };
        }
        std::mem::swap(&mut fd, &mut smaller);
    }
    let mut worst = VCurve::new(nudges);
    for (_, v) in &blocks {
        worst.raise(v);
    }
    Ok(Convergence { centered: config.centered, worst, blocks })
}

/// Largest numbers that a step gives, of each kind; rotations count by how far they turn.
fn magnitudes(m: &Model, d: &Data<f64>) -> Result<impl Fn(Output) -> f64, TransitionError> {
    let mut after = Data::new(m);
    after.set_state_from(d);
    step(m, &mut after).map_err(TransitionError::Step)?;
    let largest = |values: &[f64]| values.iter().fold(1.0_f64, |s, x| s.max(x.abs()));
    let velocity = largest(&after.qvel);
    let position = largest(&after.qpos).max(m.opt.timestep * velocity);
    let (activation, sensor) = (largest(&after.act), largest(&after.sensordata));
    Ok(move |of| match of {
        Output::Position => position,
        Output::Velocity => velocity,
        Output::Activation => activation,
        Output::Sensor => sensor,
    })
}

/// Sizes of nudges for a V-curve, two a decade, ascending: from near rounding to 0.1 or so. The standard size of
/// [`FdConfig`] is among them.
pub fn nudges(centered: bool) -> Vec<f64> {
    let (standard, below, above) = if centered {
        (FdConfig::centered().eps.qpos, 12, 9)
    } else {
        (FdConfig::forward().eps.qpos, 10, 14)
    };
    (-below..=above)
        .map(|k| if k == 0 { standard } else { standard * 10_f64.powf(0.5 * f64::from(k)) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::arm;
    use super::*;

    #[test]
    fn differences_converge_at_their_order() {
        let (m, d) = arm();
        for (centered, order) in [(true, 2.0), (false, 1.0)] {
            let eps = nudges(centered);
            let found = fd_convergence_check(&m, &d, centered, &eps).unwrap();
            let (slope, rounding) =
                (found.worst.truncation_slope().unwrap(), found.worst.rounding_slope().unwrap());
            assert!((slope - order).abs() < 0.1, "{slope} instead of {order}");
            assert!((rounding + 1.0).abs() < 0.25, "{rounding}");
            // the estimate that does not know the derivative bounds the error within its factor of ten
            for (block, v) in &found.blocks {
                for k in 1..eps.len() {
                    let noise = v.noise(k).unwrap();
                    assert!(
                        v.err[k] <= 10.0 * noise,
                        "{block} at {}: {} {noise}",
                        eps[k],
                        v.err[k]
                    );
                }
                assert!(v.err[v.quietest().unwrap()] < 1e-8);
            }
        }
    }

    #[test]
    fn nudges_that_are_far_too_large_do_not_seem_quiet() {
        // rounding up to 1e-6, truncation up to 1e-4, and nothing at all from there on
        let eps: Vec<f64> = (0..12).map(|k| 10_f64.powi(k - 11)).collect();
        let mut v = VCurve::new(&eps);
        v.change =
            eps.iter().map(|e| if *e > 2e-4 { 0.0 } else { 1e-16 / e + 1e8 * e * e }).collect();
        let k = v.quietest().unwrap();
        assert!((1e-9..1e-7).contains(&eps[k]), "{}", eps[k]);
        assert!(v.noise(11).unwrap() >= v.noise(7).unwrap() && v.noise(7).unwrap() > 1e-3);
    }

    #[test]
    fn noise_does_not_forgive_a_wrong_reference() {
        let (m, d) = arm();
        let mut wrong = mjd_transition(&m, &d, &DerivativeConfig::default()).unwrap();
        wrong.A[[2, 1]] *= 1.0 + 1e-6;
        let found = fd_convergence(&m, &d, &FdConfig::centered(), &nudges(true), &wrong).unwrap();
        let (_, v) = found.blocks.iter().find(|(b, _)| b.to_string() == "∂v⁺/∂q").unwrap();
        let k = v.quietest().unwrap();
        assert!(v.err[k] > 10.0 * v.noise(k).unwrap());
        // and a function that is linear has no truncation
        let (_, v) = found.blocks.iter().find(|(b, _)| b.to_string() == "∂sensor/∂q").unwrap();
        assert_eq!(v.truncation_slope(), None);
    }
}
