//! Derivatives of inverse and forward dynamics in continuous time, of first and second order.
//!
//! Forward dynamics solves r(q, v, a, act, u) = M a + bias − passive − actuator − applied = 0 for the acceleration a,
//! so that ∂a/∂x = −M⁻¹ ∂r/∂x at fixed a.

use dualstep::constraint::may_have_rows;
use dualstep::forward::forward_dynamics;
use dualstep::integrate::integrate_pos;
use dualstep::linalg::tree_ldl;
use dualstep::{Data, Model, Scalar, StepError};
use num_dual::Dual64;

use crate::analytic::{uncovered, uncovered_rows};
use crate::columns::ncolumns;
use crate::constraint::{ConstraintDeriv, Nobody, mjd_constraint, respond};
use crate::matrices::TransitionError;
use crate::smooth::{SmoothDeriv, minus_inverse, mjd_smooth};

/// Derivatives of inverse dynamics, and the scratch to compute them, allocated once.
///
/// Rows are forces (nv); matrices are dense and row-major (nv × nv).
#[derive(Clone, Debug)]
pub struct InverseDeriv<T: Scalar> {
    /// ∂f/∂q.
    pub DfDq: Vec<T>,
    /// ∂f/∂v.
    pub DfDv: Vec<T>,
    /// ∂f/∂a: the inertia matrix, with constraints M + JᵀSJ.
    pub DfDa: Vec<T>,
    forces: SmoothDeriv<T>,
    /// If there can be constraints.
    constraint: Option<Box<ConstraintDeriv>>,
}

impl<T: Scalar> InverseDeriv<T> {
    /// Room for the derivatives of the model.
    pub fn new(m: &Model) -> Self {
        let square = || vec![T::zero(); m.nv * m.nv];
        Self {
            DfDq: square(),
            DfDv: square(),
            DfDa: square(),
            forces: SmoothDeriv::new(m),
            constraint: may_have_rows(m).then(|| Box::new(ConstraintDeriv::new(m))),
        }
    }
}

/// Derivatives of inverse dynamics, `f = M a + bias − passive − Jᵀ f_c(q, v, a)`, at the acceleration in `d.qacc`.
/// Actuators and applied forces are not part of f. In continuous time, whatever the flag `invdiscrete` says.
///
/// - reads  everything that [`inverse`](dualstep::inverse::inverse) writes: forces of the rows belong to `qacc`. What
///   `forward` writes serves as well.
/// - writes `out`
///
/// Each force is a function of its own row, f_c = −s′(J a − aref), so that ∂f/∂a = M + JᵀSJ exactly, S = s″.
///
/// Source: MuJoCo `mj_inverse`, and `mjd_inverseFD` whose names these are; Carpentier and Mansard 2018 for M a + bias;
/// Todorov 2014, "Convex and analytically-invertible dynamics with contacts and constraints". Cost O(nv · depth) besides
/// filling dense matrices, and that of [`crate::constraint::mjd_constraint`] but for its factor.
///
/// # Errors
/// Constraints are active that the closed form does not cover.
pub fn mjd_inverse(
    m: &Model,
    d: &Data<f64>,
    out: &mut InverseDeriv<f64>,
) -> Result<(), TransitionError> {
    if let Some(feature) = uncovered_rows(m, d) {
        return Err(TransitionError::NotCovered { feature });
    }
    let Some(mut constraint) = out.constraint.take_if(|_| d.efc.nefc > 0) else {
        mjd_smooth_inverse(m, d, out);
        return Ok(());
    };
    minus_inverse(m, d, &d.qacc, &mut out.forces);
    let SmoothDeriv { dq, dv, .. } = &mut out.forces;
    let result = respond(m, d, &mut constraint, dq, dv, &mut Nobody);
    if result.is_ok() {
        negate(out);
        let H = constraint.hessian();
        for i in 0..m.nv {
            for j in 0..=i {
                out.DfDa[i * m.nv + j] = H[i * m.nv + j];
                out.DfDa[j * m.nv + i] = H[i * m.nv + j];
            }
        }
    }
    out.constraint = Some(constraint);
    result
}

/// As [`mjd_inverse`], without constraints, on any scalar: f = M a + bias − passive.
///
/// - reads  everything that `forward` writes; `qacc` may be any
/// - writes `out`
///
/// Source: Carpentier and Mansard 2018. Cost O(nv · depth) besides filling dense matrices.
pub fn mjd_smooth_inverse<T: Scalar>(m: &Model, d: &Data<T>, out: &mut InverseDeriv<T>) {
    minus_inverse(m, d, &d.qacc, &mut out.forces);
    negate(out);
    out.DfDa.fill(T::zero());
    for i in 0..m.nv {
        for e in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] {
            let j = m.M_colind[e];
            out.DfDa[i * m.nv + j] = d.qM[e];
            out.DfDa[j * m.nv + i] = d.qM[e];
        }
    }
}

/// From −∂f to ∂f.
fn negate<T: Scalar>(out: &mut InverseDeriv<T>) {
    let pairs = [(&mut out.DfDq, &out.forces.dq), (&mut out.DfDv, &out.forces.dv)];
    for (to, from) in pairs {
        for (x, y) in to.iter_mut().zip(from) {
            *x = -*y;
        }
    }
}

/// Derivatives of the acceleration in continuous time, and the scratch to compute them, allocated once.
#[derive(Clone, Debug)]
pub struct AccelerationDeriv<T: Scalar> {
    /// ∂qacc/∂(q, v, act, u), row-major (nv × (2nv + na + nu)).
    pub block: Vec<T>,
    forces: SmoothDeriv<T>,
    /// If there can be constraints.
    constraint: Option<Box<ConstraintDeriv>>,
    /// All columns.
    columns: Vec<usize>,
}

impl<T: Scalar> AccelerationDeriv<T> {
    /// Room for the derivatives of the model.
    pub fn new(m: &Model) -> Self {
        Self {
            block: vec![T::zero(); m.nv * ncolumns(m)],
            forces: SmoothDeriv::new(m),
            constraint: may_have_rows(m).then(|| Box::new(ConstraintDeriv::new(m))),
            columns: (0..ncolumns(m)).collect(),
        }
    }
}

/// ∂qacc/∂(q, v, act, u) of forward dynamics: −H⁻¹ ∂r/∂x at fixed acceleration, H = M + JᵀSJ.
///
/// - reads  everything that `forward` writes
/// - writes `out.block` \[1/s², 1/s, …\]
///
/// # Errors
/// Constraints are active that the closed form does not cover, or H is not positive definite.
///
/// Source: Carpentier and Mansard 2018, eq. 10; with constraints [`crate::constraint`]. Cost O(nv² · depth), O(nv³)
/// with constraints.
pub fn mjd_acceleration(
    m: &Model,
    d: &Data<f64>,
    out: &mut AccelerationDeriv<f64>,
) -> Result<(), TransitionError> {
    if let Some(feature) = uncovered(m, d) {
        return Err(TransitionError::NotCovered { feature });
    }
    let Some(constraint) = out.constraint.as_mut().filter(|_| d.efc.nefc > 0) else {
        mjd_smooth_acceleration(m, d, out);
        return Ok(());
    };
    mjd_smooth(m, d, &d.qacc, &mut out.forces);
    let SmoothDeriv { dq, dv, .. } = &mut out.forces;
    mjd_constraint(m, d, constraint, dq, dv)?;
    out.forces.gather(m, &out.columns, &mut out.block);
    constraint.solve_many(&mut out.block, ncolumns(m));
    Ok(())
}

/// As [`mjd_acceleration`], of dynamics without constraints, on any scalar: ∂qacc_smooth/∂(q, v, act, u) where `qacc` is
/// `qacc_smooth`.
///
/// - reads  everything that `forward` writes
/// - writes `out.block` \[1/s², 1/s, …\]
///
/// Source: Carpentier and Mansard 2018, eq. 10. Cost O(nv² · depth).
pub fn mjd_smooth_acceleration<T: Scalar>(m: &Model, d: &Data<T>, out: &mut AccelerationDeriv<T>) {
    mjd_smooth(m, d, &d.qacc_smooth, &mut out.forces);
    out.forces.gather(m, &out.columns, &mut out.block);
    tree_ldl::solve_many(m, &d.qLD, &d.qLDiagInv, &mut out.block, ncolumns(m));
}

/// Second derivatives of the smooth dynamics along a direction, and the scratch to compute them, allocated once.
#[derive(Clone, Debug)]
pub struct HessianDeriv {
    /// d/dε ∂qacc/∂(q, v, act, u) at x ⊞ ε δ, row-major (nv × (2nv + na + nu)).
    pub block: Vec<f64>,
    d: Data<Dual64>,
    direction: Vec<Dual64>,
    acceleration: AccelerationDeriv<Dual64>,
}

impl HessianDeriv {
    /// Room for the derivatives of the model.
    pub fn new(m: &Model) -> Self {
        Self {
            block: vec![0.0; m.nv * ncolumns(m)],
            d: Data::new(m),
            direction: vec![Dual64::lift(0.0); m.nv],
            acceleration: AccelerationDeriv::new(m),
        }
    }
}

/// How ∂qacc/∂(q, v, act, u) changes along the direction δ = `[dq (nv), dv (nv), da (na), du (nu)]` from the state and
/// controls of `d`: the Hessian of the smooth dynamics, contracted with δ.
///
/// - writes `out.block`
///
/// On ball and free joints the derivatives at x ⊞ ε δ are taken along the axes that the body has there. So the
/// second derivative along the curve is `block · δ`, which is what Taylor's formula needs; mixed second derivatives
/// are symmetric only up to the first derivative along the commutator of their rotations.
///
/// Source: [`mjd_smooth_acceleration`] on dual numbers. Cost: about three of it.
///
/// # Errors
/// If the dynamics cannot be evaluated at the state.
///
/// # Panics
/// If `direction` has another length than 2nv + na + nu.
pub fn mjd_smooth_hessian(
    m: &Model,
    d: &Data<f64>,
    direction: &[f64],
    out: &mut HessianDeriv,
) -> Result<(), StepError> {
    assert_eq!(direction.len(), ncolumns(m), "a direction has 2nv + na + nu numbers");
    let along = |x: f64| Dual64::new(0.0, x);
    let (dq, rest) = direction.split_at(m.nv);
    let (dv, rest) = rest.split_at(m.nv);
    let (da, du) = rest.split_at(m.na);
    out.d.set_state_from(d);
    for (x, dx) in out.direction.iter_mut().zip(dq) {
        *x = along(*dx);
    }
    integrate_pos(m, &mut out.d.qpos, &out.direction, Dual64::lift(1.0));
    let seeded = [(&mut out.d.qvel, dv), (&mut out.d.act, da), (&mut out.d.ctrl, du)];
    for (to, from) in seeded {
        for (x, dx) in to.iter_mut().zip(from) {
            *x += along(*dx);
        }
    }
    forward_dynamics(m, &mut out.d)?;
    mjd_smooth_acceleration(m, &out.d, &mut out.acceleration);
    for (x, y) in out.block.iter_mut().zip(&out.acceleration.block) {
        *x = y.eps;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::smooth_model;
    use dualstep::inverse::inverse;
    use num_dual::Dual2_64;
    use std::path::Path;

    const MODELS: [&str; 5] =
        ["humanoid", "joints_same_body", "joint_anchors_balls", "actuator_dynamics", "free_bodies"];

    fn load(name: &str) -> (Model, Data<f64>) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../validation/models");
        let m = smooth_model(folder.join(name).with_extension("xml"));
        let mut d = Data::new(&m);
        let wave = |i: usize| (i as f64 * 0.9 + 0.3).sin();
        let dq: Vec<f64> = (0..m.nv).map(|i| 0.4 * wave(i)).collect();
        integrate_pos(&m, &mut d.qpos, &dq, 1.0);
        d.qvel.iter_mut().enumerate().for_each(|(i, v)| *v = wave(i + 3));
        d.ctrl.iter_mut().enumerate().for_each(|(i, u)| *u = 0.3 * wave(i + 1));
        d.act.iter_mut().enumerate().for_each(|(i, a)| *a = 0.4 + 0.1 * wave(i));
        (m, d)
    }

    fn directions(m: &Model) -> Vec<Vec<f64>> {
        let wave = |i: usize, k: usize| ((i * 5 + k * 11) as f64).cos();
        (0..3).map(|k| (0..ncolumns(m)).map(|i| wave(i, k)).collect()).collect()
    }

    fn times(block: &[f64], direction: &[f64]) -> Vec<f64> {
        let row = |r: &[f64]| r.iter().zip(direction).map(|(x, y)| x * y).sum();
        block.chunks_exact(direction.len()).map(row).collect()
    }

    fn close(name: &str, x: &[f64], y: &[f64], tolerance: f64) {
        let scale = y.iter().fold(1.0_f64, |s, v| s.max(v.abs()));
        for (i, (x, y)) in x.iter().zip(y).enumerate() {
            assert!((x - y).abs() <= tolerance * scale, "{name}, {i}: {x} is not {y}");
        }
    }

    /// State and controls of `d` moved along a direction by a number of any kind.
    fn moved<T: Scalar>(m: &Model, d: &Data<f64>, direction: &[f64], by: T) -> Data<T> {
        let mut to = Data::<T>::new(m);
        to.set_state_from(d);
        let dq: Vec<T> = direction[..m.nv].iter().map(|x| T::lift(*x) * by).collect();
        integrate_pos(m, &mut to.qpos, &dq, T::one());
        let rest = to.qvel.iter_mut().chain(&mut to.act).chain(&mut to.ctrl);
        for (x, dx) in rest.zip(&direction[m.nv..]) {
            *x += T::lift(*dx) * by;
        }
        to
    }

    // block · δ is the second derivative along the curve: second-order dual numbers through the dynamics
    #[test]
    fn second_derivatives_match_second_order_dual_numbers() {
        for name in MODELS {
            let (m, d) = load(name);
            let mut hessian = HessianDeriv::new(&m);
            for direction in directions(&m) {
                mjd_smooth_hessian(&m, &d, &direction, &mut hessian).unwrap();
                let mut second = moved(&m, &d, &direction, Dual2_64::new(0.0, 1.0, 0.0));
                forward_dynamics(&m, &mut second).unwrap();
                let expected: Vec<f64> = second.qacc.iter().map(|a| a.v2).collect();
                close(name, &times(&hessian.block, &direction), &expected, 1e-10);
            }
        }
    }

    // the whole matrix, not only along the direction
    #[test]
    fn second_derivatives_match_differences_of_first() {
        for name in MODELS {
            let (m, d) = load(name);
            let mut hessian = HessianDeriv::new(&m);
            let mut first = AccelerationDeriv::<f64>::new(&m);
            let mut at = |direction: &[f64], by: f64| {
                let mut d = moved(&m, &d, direction, by);
                forward_dynamics(&m, &mut d).unwrap();
                mjd_acceleration(&m, &d, &mut first).unwrap();
                first.block.clone()
            };
            for direction in directions(&m) {
                mjd_smooth_hessian(&m, &d, &direction, &mut hessian).unwrap();
                let e = 1e-5;
                let (plus, minus) = (at(&direction, e), at(&direction, -e));
                let differences: Vec<f64> =
                    plus.iter().zip(&minus).map(|(x, y)| (x - y) / (2.0 * e)).collect();
                close(name, &hessian.block, &differences, 1e-6);
            }
        }
    }

    // f(q, v, a) along a direction, by dual numbers through inverse dynamics itself
    #[test]
    fn inverse_dynamics_matches_dual_numbers() {
        for name in MODELS {
            let (m, mut d) = load(name);
            forward_dynamics(&m, &mut d).unwrap();
            let qacc: Vec<f64> = (0..m.nv).map(|i| (i as f64).cos() * 3.0).collect();
            d.qacc.copy_from_slice(&qacc);
            let mut closed = InverseDeriv::<f64>::new(&m);
            mjd_inverse(&m, &d, &mut closed).unwrap();
            for mut direction in directions(&m) {
                direction[2 * m.nv..].fill(0.0);
                let mut dual = moved(&m, &d, &direction, Dual64::new(0.0, 1.0));
                for i in 0..m.nv {
                    dual.qacc[i] = Dual64::new(qacc[i], direction[m.nv - 1 - i]);
                }
                inverse(&m, &mut dual).unwrap();
                let expected: Vec<f64> = dual.qfrc_inverse.iter().map(|f| f.eps).collect();
                let (dq, dv) = (&direction[..m.nv], &direction[m.nv..2 * m.nv]);
                let da: Vec<f64> = dq.iter().rev().copied().collect();
                let blocks = [(&closed.DfDq, dq), (&closed.DfDv, dv), (&closed.DfDa, &da[..])];
                let mut ours = vec![0.0; m.nv];
                for (block, direction) in blocks {
                    for (x, y) in ours.iter_mut().zip(times(block, direction)) {
                        *x += y;
                    }
                }
                close(name, &ours, &expected, 1e-11);
            }
        }
    }

    // what qDeriv leaves out: springs, gravity and moving moments by position
    #[test]
    fn smooth_forces_by_position_match_dual_numbers() {
        for name in MODELS {
            let (m, mut d) = load(name);
            forward_dynamics(&m, &mut d).unwrap();
            let mut closed = SmoothDeriv::<f64>::new(&m);
            crate::smooth::mjd_smooth_pos(&m, &d, &mut closed);
            for mut direction in directions(&m) {
                direction[m.nv..].fill(0.0);
                let mut dual = moved(&m, &d, &direction, Dual64::new(0.0, 1.0));
                forward_dynamics(&m, &mut dual).unwrap();
                let expected: Vec<f64> = dual.qfrc_smooth.iter().map(|f| f.eps).collect();
                close(name, &times(&closed.dq, &direction[..m.nv]), &expected, 1e-11);
            }
        }
    }
}
