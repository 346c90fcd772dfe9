//! Implicit in velocity.

use nalgebra::{Matrix6, Vector6};

use super::advance::advance_by_scratch;
use crate::data::Data;
use crate::model::{JointType, Model};
use crate::scalar::Scalar;
use crate::smooth::qderiv::{QDeriv, mjd_rne_vel, mjd_smooth_vel};
use crate::status::FactorError;

/// v⁺ = v + h a with (M − h qDeriv) a = qfrc_smooth + qfrc_constraint, qDeriv with the Coriolis term.
///
/// - reads  everything that `forward` writes
/// - writes the state
///
/// # Errors
/// M − h qDeriv is singular.
///
/// Source: MuJoCo `mj_implicit`; manual, "Numerical integration". LU with partial pivoting. Order 1.
pub fn implicit<T: Scalar>(m: &Model, d: &mut Data<T>) -> Result<(), FactorError> {
    let mut q = std::mem::take(&mut d.scratch.qderiv);
    mjd_smooth_vel(m, d, &mut q, true);

    // A = M − h qDeriv, in place
    let h = T::lift(m.opt.timestep);
    for x in &mut q.qDeriv {
        *x = -*x * h;
    }
    for i in 0..m.nv {
        for e in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] {
            let j = m.M_colind[e];
            q.qDeriv[i * m.nv + j] += d.qM[e];
            if i != j {
                q.qDeriv[j * m.nv + i] += d.qM[e];
            }
        }
    }
    let Data { scratch, qfrc_smooth, qfrc_constraint, .. } = d;
    let [a, b] = &mut scratch.v;
    for i in 0..m.nv {
        b[i] = qfrc_smooth[i] + qfrc_constraint[i];
    }
    let solved = scratch.solve.solve("M − h·qDeriv", &q.qDeriv, b, a);
    scratch.qderiv = q;
    solved?;
    advance_by_scratch(m, d);
    Ok(())
}

/// As [`implicit()`] without the Coriolis term, so that the matrix is symmetric and has the pattern of M;
/// free bodies on their own keep their gyroscopic term, in a 6×6 solve each.
///
/// - reads  everything that `forward` writes
/// - writes the state; `singular` if the matrix is not positive definite
///
/// Source: MuJoCo `mj_implicit`; manual, "Numerical integration". Tree Cholesky. Order 1.
pub fn implicitfast<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let mut q = std::mem::take(&mut d.scratch.qderiv);
    mjd_smooth_vel(m, d, &mut q, false);
    let h = T::lift(m.opt.timestep);
    let Data { scratch, qfrc_smooth, qfrc_constraint, qM, singular, .. } = d;

    // H = M − h qDeriv; rows of free bodies stay M, they are solved below
    let H = &mut scratch.factor.H;
    H.copy_from_slice(qM);
    for i in (0..m.nv).filter(|&i| !is_free_body(m, m.dof_bodyid[i])) {
        for e in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] {
            H[e] -= q.qDeriv[i * m.nv + m.M_colind[e]] * h;
        }
    }
    let [a, b] = &mut scratch.v;
    for i in 0..m.nv {
        b[i] = qfrc_smooth[i] + qfrc_constraint[i];
    }
    a.copy_from_slice(b);
    *singular = scratch.factor.factor(m, "M − h·qDeriv").or(*singular);
    scratch.factor.solve(m, a);
    free_bodies(m, d, &mut q);
    d.scratch.qderiv = q;
    advance_by_scratch(m, d);
}

/// True if the body floats alone: one free joint, no jointed descendants (welded ones are part of it).
/// Source: MuJoCo `mj_isFreeBody`; manual, "Gyroscopic derivatives for free bodies".
pub fn is_free_body(m: &Model, b: usize) -> bool {
    m.body_jntnum[b] == 1
        && m.jnt_type[m.body_jntadr[b]] == JointType::Free
        && m.tree_dofnum[m.dof_treeid[m.body_dofadr[b]]] == 6
}

/// (M − h qDeriv) a = f with the gyroscopic term, for each free body on its own.
fn free_bodies<T: Scalar>(m: &Model, d: &mut Data<T>, q: &mut QDeriv<T>) {
    if !(0..m.nbody).any(|b| is_free_body(m, b)) {
        return;
    }
    mjd_rne_vel(m, d, q);
    let h = T::lift(m.opt.timestep);
    let Data { scratch, qM, .. } = d;
    let [a, f] = &mut scratch.v;
    for b in (0..m.nbody).filter(|&b| is_free_body(m, b)) {
        let adr = m.body_dofadr[b];
        let mut A = Matrix6::from_fn(|i, j| -q.qDeriv[(adr + i) * m.nv + adr + j] * h);
        for i in adr..adr + 6 {
            for e in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] {
                let j = m.M_colind[e];
                A[(i - adr, j - adr)] += qM[e];
                if i != j {
                    A[(j - adr, i - adr)] += qM[e];
                }
            }
        }
        // a singular block keeps the symmetric solution, as in MuJoCo
        let rhs = Vector6::from_fn(|i, _| f[adr + i]);
        if let Some(x) = A.lu().solve(&rhs) {
            a[adr..adr + 6].copy_from_slice(x.as_slice());
        }
    }
}
