//! Comparing linearizations: by how much two differ, block by block and entry by name, and how differences of
//! steps converge to a derivative as the nudges shrink.
//!
//! `err(x, ref) = max|x − ref| / max(1, max|ref|)` throughout: absolute for small numbers, relative for large ones.

use std::fmt;
use std::ops::Range;

use dualstep::{Data, Model};
use ndarray::{ArrayRef2, ArrayView2, s};

use crate::columns::ncolumns;
use crate::finite_diff::{FdConfig, FdWorkspace, mjd_transition_fd, mjd_transition_fd_into};
use crate::matrices::{Column, Kink, Transition, TransitionError};
use crate::tangent::ndx;
use crate::transition::{DerivativeConfig, Method, mjd_transition};

/// By how much a matrix is off, and where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaxError {
    /// `max|x − ref| / scale`; infinite if an entry is not finite.
    pub err: f64,
    /// `max(1, max|ref|)`.
    pub scale: f64,
    /// Row and column of the entry that is furthest off; none if all agree to the last bit.
    pub at: Option<(usize, usize)>,
}

/// `max|x − ref| / max(1, max|ref|)`, and the entry where it is.
///
/// ```
/// use dualstep_derivatives::check::max_relative_error;
/// use ndarray::array;
///
/// let reference = array![[100.0, 2.0], [0.0, 1.0]];
/// let x = array![[100.0, 2.5], [0.0, 1.0]];
/// let error = max_relative_error(&x, &reference);
/// assert_eq!(error.err, 0.005); // 0.5 of 100
/// assert_eq!(error.at, Some((0, 1)));
/// ```
///
/// # Panics
/// If the matrices have different sizes.
pub fn max_relative_error(x: &ArrayRef2<f64>, reference: &ArrayRef2<f64>) -> MaxError {
    assert_eq!(x.dim(), reference.dim(), "matrices of different sizes");
    let scale = reference.iter().fold(1.0_f64, |s, r| s.max(r.abs()));
    let mut worst = MaxError { err: 0.0, scale, at: None };
    for ((at, x), r) in x.indexed_iter().zip(reference) {
        let difference = (x - r).abs();
        let err = if difference.is_finite() { difference / scale } else { f64::INFINITY };
        if err > worst.err {
            worst = MaxError { err, at: Some(at), ..worst };
        }
    }
    worst
}

/// What the rows of a block are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Output {
    /// Positions after the step, on the tangent.
    Position,
    /// Velocities after the step.
    Velocity,
    /// Activations after the step.
    Activation,
    /// Sensors before the step.
    Sensor,
}

/// What the columns of a block differentiate by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum By {
    /// Positions, on the tangent.
    Position,
    /// Velocities.
    Velocity,
    /// Activations.
    Activation,
    /// Controls.
    Control,
}

/// A block of [A B; C D], such as ∂v⁺/∂q.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block {
    /// Rows.
    pub of: Output,
    /// Columns.
    pub by: By,
}

impl Block {
    /// The blocks that a model has: those with rows and columns, row by row.
    pub fn all(m: &Model) -> Vec<Self> {
        let outputs = [Output::Position, Output::Velocity, Output::Activation, Output::Sensor];
        let inputs = [By::Position, By::Velocity, By::Activation, By::Control];
        let blocks = outputs.into_iter().flat_map(|of| inputs.map(|by| Self { of, by }));
        blocks.filter(|b| !b.rows(m).is_empty() && !b.columns(m).is_empty()).collect()
    }

    /// Its rows of \[A B; C D\]: states (2nv + na), then sensors.
    pub fn rows(self, m: &Model) -> Range<usize> {
        match self.of {
            Output::Position => 0..m.nv,
            Output::Velocity => m.nv..2 * m.nv,
            Output::Activation => 2 * m.nv..ndx(m),
            Output::Sensor => ndx(m)..ndx(m) + m.nsensordata,
        }
    }

    /// Its columns of \[A B; C D\]: states (2nv + na), then controls.
    pub fn columns(self, m: &Model) -> Range<usize> {
        match self.by {
            By::Position => 0..m.nv,
            By::Velocity => m.nv..2 * m.nv,
            By::Activation => 2 * m.nv..ndx(m),
            By::Control => ndx(m)..ncolumns(m),
        }
    }

    /// The block of a linearization.
    ///
    /// # Panics
    /// If the linearization belongs to a model of other sizes.
    pub fn view<'a>(&self, m: &Model, t: &'a Transition) -> ArrayView2<'a, f64> {
        let nx = ndx(m);
        let sensors = self.of == Output::Sensor;
        let rows = if sensors { 0..m.nsensordata } else { self.rows(m) };
        let matrix = match (sensors, self.by == By::Control) {
            (false, false) => &t.A,
            (false, true) => &t.B,
            (true, false) => &t.C,
            (true, true) => &t.D,
        };
        let columns = if self.by == By::Control { 0..m.nu } else { self.columns(m) };
        debug_assert_eq!(t.A.nrows(), nx);
        matrix.slice(s![rows, columns])
    }

    /// Where the block's columns come from.
    ///
    /// # Panics
    /// If the linearization belongs to a model of other sizes.
    pub fn origins<'a>(&self, m: &Model, t: &'a Transition) -> &'a [Column] {
        let columns = if self.of == Output::Sensor { &t.sensor_columns } else { &t.columns };
        &columns[self.columns(m)]
    }

    /// Names of a row and a column of the block.
    fn names(self, m: &Model, t: &Transition, (row, column): (usize, usize)) -> [String; 2] {
        let of = |names: &[String], i: usize| names.get(i).cloned().unwrap_or_default();
        let row = match self.of {
            Output::Sensor => of(&t.sensor_names, row),
            _ => of(&t.state_names, self.rows(m).start + row),
        };
        let column = match self.by {
            By::Control => of(&t.ctrl_names, column),
            _ => of(&t.state_names, self.columns(m).start + column),
        };
        [row, column]
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Position => "q⁺",
            Self::Velocity => "v⁺",
            Self::Activation => "act⁺",
            Self::Sensor => "sensor",
        })
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Position => "q",
            Self::Velocity => "v",
            Self::Activation => "act",
            Self::Control => "u",
        })
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "∂{}/∂{}", self.of, self.by)
    }
}

/// By how much a block is off, and its worst entry by name.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockError {
    /// The block.
    pub block: Block,
    /// `max|x − ref| / scale` over the columns that were compared.
    pub err: f64,
    /// `max(1, max|ref|)` of the whole block.
    pub scale: f64,
    /// Row of the worst entry, such as `knee.v`; empty if all agree to the last bit.
    pub row: String,
    /// Column of the worst entry, such as `hip.q`; empty if all agree to the last bit.
    pub column: String,
    /// The worst entry.
    pub value: f64,
    /// What it should be.
    pub reference: f64,
    /// Number of columns that were compared.
    pub compared: usize,
}

/// Compares linearizations of one model, block by block; blocks that the model does not have are left out.
///
/// # Panics
/// If the linearizations belong to a model of other sizes.
pub fn compare(m: &Model, x: &Transition, reference: &Transition) -> Vec<BlockError> {
    compare_where(m, x, reference, |_, _| true)
}

/// As [`compare`], in those columns of which `keep` (block, column of \[A B\]) is true; blocks without any are left
/// out.
///
/// # Panics
/// If the linearizations belong to a model of other sizes.
pub fn compare_where(
    m: &Model,
    x: &Transition,
    reference: &Transition,
    keep: impl Fn(Block, usize) -> bool,
) -> Vec<BlockError> {
    let mut errors = Vec::new();
    for block in Block::all(m) {
        let columns = block.columns(m);
        let (x_block, r_block) = (block.view(m, x), block.view(m, reference));
        let scale = r_block.iter().fold(1.0_f64, |s, r| s.max(r.abs()));
        let mut worst = BlockError {
            block,
            err: 0.0,
            scale,
            row: String::new(),
            column: String::new(),
            value: 0.0,
            reference: 0.0,
            compared: 0,
        };
        let mut at = None;
        for k in (0..columns.len()).filter(|k| keep(block, columns.start + k)) {
            let (x, r) = (x_block.slice(s![.., k..=k]), r_block.slice(s![.., k..=k]));
            let found = max_relative_error(&x, &r);
            worst.compared += 1;
            // relative to the largest entry of the block, not of the column
            let err = found.err * found.scale / scale;
            if let Some((i, _)) = found.at.filter(|_| err > worst.err) {
                (worst.err, at) = (err, Some((i, k)));
            }
        }
        if let Some(at) = at {
            [worst.row, worst.column] = block.names(m, reference, at);
            (worst.value, worst.reference) = (x_block[at], r_block[at]);
        }
        if worst.compared > 0 {
            errors.push(worst);
        }
    }
    errors
}

/// True if differences of steps converge to the derivative of a column: nothing that it depends on is at a kink, but
/// for its own control, which is nudged within its range only.
pub fn differentiable(column: &Column) -> bool {
    matches!(column.kink, None | Some(Kink::ControlRange))
}

/// The closed form against differences of steps, block by block. Columns at a kink, where these may mean different
/// sides, are left out.
///
/// ```
/// use dualstep::{Data, mjcf::load_model_str};
/// use dualstep_derivatives::check::validate_analytical_vs_fd;
/// use dualstep_derivatives::FdConfig;
///
/// let xml = r#"<mujoco><worldbody><body>
///   <joint name="knee" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -1" size=".05"/>
/// </body></worldbody></mujoco>"#;
/// let m = load_model_str(xml, "pendulum.xml", std::path::Path::new("."))?;
/// let mut d = Data::new(&m);
/// d.qpos[0] = 0.3;
/// for block in validate_analytical_vs_fd(&m, &d, &FdConfig::centered())? {
///     assert!(block.err < 1e-9, "{}: {} by {}", block.block, block.row, block.column);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A step fails, or the closed form does not cover the model.
pub fn validate_analytical_vs_fd(
    m: &Model,
    d: &Data<f64>,
    config: &FdConfig,
) -> Result<Vec<BlockError>, TransitionError> {
    let analytic = mjd_transition(m, d, &DerivativeConfig::by(Method::Analytic))?;
    let fd = mjd_transition_fd(m, d, config)?;
    Ok(compare_where(m, &analytic, &fd, |_, column| differentiable(&fd.columns[column])))
}

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
    /// reference has no part in it. Not a number for the smallest.
    pub change: Vec<f64>,
}

impl VCurve {
    /// No errors, for nudges of these sizes (ascending).
    pub fn new(eps: &[f64]) -> Self {
        let n = eps.len();
        let entry = vec![[String::new(), String::new()]; n];
        Self { eps: eps.to_vec(), err: vec![0.0; n], entry, change: vec![f64::NAN; n] }
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

    /// An estimate of the error at a size of nudge (by index) that looks at the differences alone: the largest
    /// change from one size to the next up to this one, scaled by 1/eps as rounding is; at least what rounding
    /// numbers near one gives. None for the smallest nudge.
    pub fn noise(&self, k: usize) -> Option<f64> {
        let scaled = |j: usize| self.change[j] * self.eps[j] / self.eps[k];
        let largest =
            (1..=k).map(scaled).fold(None, |n: Option<f64>, x| Some(n.map_or(x, |n| n.max(x))));
        largest.map(|n| n.max(f64::EPSILON / self.eps[k]))
    }

    /// Index of the nudge whose [`noise`](Self::noise) is smallest: the best one, as far as the differences know.
    pub fn quietest(&self) -> Option<usize> {
        let noises = (0..self.eps.len()).filter_map(|k| Some((k, self.noise(k)?)));
        noises.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(k, _)| k)
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

/// Differences of steps with nudges of the given sizes (ascending) against the derivative: the closed form where that
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
    fd_convergence(m, d, centered, eps, &exact)
}

/// As [`fd_convergence_check`], against a given linearization.
///
/// # Errors
/// A step fails.
///
/// # Panics
/// If `reference` belongs to a model of other sizes.
pub fn fd_convergence(
    m: &Model,
    d: &Data<f64>,
    centered: bool,
    eps: &[f64],
    reference: &Transition,
) -> Result<Convergence, TransitionError> {
    let curve = || VCurve::new(eps);
    let keep = |_: Block, column: usize| differentiable(&reference.columns[column]);
    let mut blocks: Vec<(Block, VCurve)> = Vec::new();
    let mut workspace = FdWorkspace::new(m);
    let (mut fd, mut smaller) = (Transition::new(m), Transition::new(m));
    for (k, &eps) in eps.iter().enumerate() {
        let config = FdConfig::uniform(centered, eps);
        mjd_transition_fd_into(m, d, &config, &mut workspace, &mut fd)?;
        for found in compare_where(m, &fd, reference, keep) {
            if k == 0 {
                blocks.push((found.block, curve()));
            }
            if let Some((_, v)) = blocks.iter_mut().find(|(block, _)| *block == found.block) {
                (v.err[k], v.entry[k]) = (found.err, [found.row, found.column]);
            }
        }
        let changes = if k > 0 { compare_where(m, &fd, &smaller, keep) } else { Vec::new() };
        for ((_, v), change) in blocks.iter_mut().zip(changes) {
            let scale = change.block.view(m, reference).iter().fold(1.0_f64, |s, r| s.max(r.abs()));
            v.change[k] = change.err * change.scale / scale;
        }
        std::mem::swap(&mut fd, &mut smaller);
    }
    let mut worst = curve();
    for (_, v) in &blocks {
        worst.raise(v);
    }
    Ok(Convergence { centered, worst, blocks })
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
    use super::*;
    use dualstep::mjcf::load_model_str;
    use ndarray::array;

    const ARM: &str = r#"
    <mujoco>
      <worldbody>
        <body>
          <joint name="shoulder" axis="0 1 0" damping=".1"/>
          <geom type="capsule" fromto="0 0 0 0 0 -1" size=".05"/>
          <body pos="0 0 -1">
            <joint name="elbow" axis="0 1 .2" stiffness="1"/>
            <geom type="capsule" fromto="0 0 0 .1 0 -1" size=".05"/>
          </body>
        </body>
      </worldbody>
      <actuator><motor name="push" joint="elbow" ctrlrange="-1 1"/></actuator>
      <sensor><jointpos name="angle" joint="elbow"/></sensor>
    </mujoco>"#;

    fn arm() -> (Model, Data<f64>) {
        let m = load_model_str(ARM, "arm.xml", std::path::Path::new(".")).unwrap();
        let mut d = Data::new(&m);
        d.qpos.copy_from_slice(&[0.4, -0.9]);
        d.qvel.copy_from_slice(&[1.0, -0.5]);
        d.ctrl[0] = 0.2;
        (m, d)
    }

    #[test]
    fn what_is_not_finite_is_infinitely_wrong() {
        let good = array![[1.0, 2.0]];
        for bad in [array![[1.0, f64::NAN]], array![[1.0, f64::INFINITY]]] {
            let found = max_relative_error(&bad, &good);
            assert_eq!((found.err, found.at), (f64::INFINITY, Some((0, 1))));
            assert_eq!(max_relative_error(&good, &bad).err, f64::INFINITY);
        }
        let same = max_relative_error(&good, &good);
        assert_eq!(same, MaxError { err: 0.0, scale: 2.0, at: None });
    }

    #[test]
    fn blocks_tile_the_matrices() {
        let (m, d) = arm();
        let t = mjd_transition(&m, &d, &DerivativeConfig::default()).unwrap();
        let blocks = Block::all(&m);
        assert_eq!(blocks.len(), 9, "no activations");
        let entries: usize = blocks.iter().map(|b| b.view(&m, &t).len()).sum();
        assert_eq!(entries, t.A.len() + t.B.len() + t.C.len() + t.D.len());
        assert_eq!(blocks[3].to_string(), "∂v⁺/∂q");
    }

    #[test]
    fn the_worst_entry_is_named() {
        let (m, d) = arm();
        let exact = mjd_transition(&m, &d, &DerivativeConfig::default()).unwrap();
        let mut wrong = exact.clone();
        wrong.A[[3, 0]] += 1e-3; // elbow.v by shoulder.q
        wrong.D[[0, 0]] -= 2.0; // angle by push
        for found in compare(&m, &wrong, &exact) {
            let (err, row, column) = match (found.block.of, found.block.by) {
                (Output::Velocity, By::Position) => (1e-3 / found.scale, "elbow.v", "shoulder.q"),
                (Output::Sensor, By::Control) => (2.0, "angle", "push"),
                _ => (0.0, "", ""),
            };
            assert!((found.err - err).abs() < 1e-15, "{found:?}");
            assert_eq!((found.row.as_str(), found.column.as_str()), (row, column));
        }
    }

    #[test]
    fn a_wrong_closed_form_is_found_by_differences() {
        let (m, d) = arm();
        let found = validate_analytical_vs_fd(&m, &d, &FdConfig::centered()).unwrap();
        assert!(found.iter().all(|block| block.err < 1e-9), "{found:?}");
        // at a step from another state they disagree
        let fd = mjd_transition_fd(&m, &d, &FdConfig::centered()).unwrap();
        let mut moved = d.clone();
        moved.qpos[1] += 1e-3;
        let other = mjd_transition(&m, &moved, &DerivativeConfig::default()).unwrap();
        assert!(compare(&m, &other, &fd).iter().any(|block| block.err > 1e-7));
    }

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
    fn noise_does_not_forgive_a_wrong_reference() {
        let (m, d) = arm();
        let mut wrong = mjd_transition(&m, &d, &DerivativeConfig::default()).unwrap();
        wrong.A[[2, 1]] *= 1.0 + 1e-6;
        let found = fd_convergence(&m, &d, true, &nudges(true), &wrong).unwrap();
        let (_, v) = found.blocks.iter().find(|(b, _)| b.to_string() == "∂v⁺/∂q").unwrap();
        let k = v.quietest().unwrap();
        assert!(v.err[k] > 10.0 * v.noise(k).unwrap());
        // and a function that is linear has no truncation
        let (_, v) = found.blocks.iter().find(|(b, _)| b.to_string() == "∂sensor/∂q").unwrap();
        assert_eq!(v.truncation_slope(), None);
    }
}
