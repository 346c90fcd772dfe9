//! Comparing linearizations: by how much two differ, block by block and entry by name, and how differences of
//! steps converge to a derivative as the nudges shrink.
//!
//! `err(x, ref) = max|x − ref| / max(1, max|ref|)` throughout: absolute for small numbers, relative for large ones.

mod convergence;

use std::fmt;
use std::ops::Range;

use dualstep::{Data, Model};
use ndarray::{ArrayRef2, ArrayView2, s};

use crate::columns::ncolumns;
use crate::finite_diff::{FdConfig, mjd_transition_fd};
use crate::matrices::{Column, Kink, Side, Transition, TransitionError};
use crate::tangent::ndx;
use crate::transition::{DerivativeConfig, Method, mjd_transition};

pub use convergence::{Convergence, VCurve, fd_convergence, fd_convergence_check, nudges};

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

/// True if a difference can be compared with the derivative of its column: [`differentiable`], and taken at all. A
/// control beyond a range that the model does not clamp it to is not nudged, as in `MuJoCo`.
pub fn comparable(fd: &Column, exact: &Column) -> bool {
    differentiable(exact) && (fd.side != Side::Clamped || exact.side == Side::Clamped)
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
    Ok(compare_where(m, &analytic, &fd, |_, k| {
        comparable(&fd.columns[k], &analytic.columns[k]) && differentiable(&fd.columns[k])
    }))
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

    pub(super) fn arm() -> (Model, Data<f64>) {
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

    // at its rest length a spring without dead band has its stiffness on both sides
    #[test]
    fn a_tendon_at_rest_has_its_stiffness() {
        let xml = r#"
        <mujoco>
          <worldbody>
            <body><joint name="a" type="slide" axis="1 0 0"/><geom size=".1" mass="2"/></body>
          </worldbody>
          <tendon><fixed stiffness="7"><joint joint="a" coef="3"/></fixed></tendon>
        </mujoco>"#;
        let m = load_model_str(xml, "spring.xml", std::path::Path::new(".")).unwrap();
        let d = Data::new(&m);
        // v⁺ = v − h k c² q / M
        let slope = -m.opt.timestep * 7.0 * 9.0 / 2.0;
        for method in [Method::Analytic, Method::Dual, Method::Fd] {
            let t = mjd_transition(&m, &d, &DerivativeConfig::by(method)).unwrap();
            assert!((t.A[[1, 0]] - slope).abs() < 1e-9, "{method:?}: {} {slope}", t.A[[1, 0]]);
        }
    }
}
