//! `qDeriv`: derivative of the smooth forces with respect to velocity.
//!
//! d(qfrc_actuator + qfrc_passive − qfrc_bias)/d qvel at fixed position, activation and control. It lives
//! beside the forces because the implicit integrators need it.

mod actuator_vel;
mod passive_vel;
mod rne_vel;

pub use actuator_vel::{actuator_saturated, mjd_actuator_vel};
pub use passive_vel::mjd_passive_vel;
pub use rne_vel::{MomentumFlow, mjd_rne_vel};

use crate::data::Data;
use crate::math::SpatialVec;
use crate::model::Model;
use crate::scalar::Scalar;

/// The derivative and the scratch that it needs, allocated once.
#[derive(Clone, Debug)]
pub struct QDeriv<T: Scalar> {
    /// d(qfrc_smooth)/d(qvel), dense, row-major (nv × nv): row the force, column the velocity.
    pub qDeriv: Vec<T>,
    /// Bᶜ of each subtree, written by [`mjd_rne_vel`] (nbody).
    pub flow: Vec<MomentumFlow<T>>,
    /// w: derivative by velocity of the acceleration of a joint's own body, less that of its axis carried along; written
    /// by [`mjd_rne_vel`] (nv), rot:lin.
    pub w: Vec<SpatialVec<T>>,
}

impl<T: Scalar> QDeriv<T> {
    /// Room for the derivative of `m`.
    pub fn new(m: &Model) -> Self {
        Self {
            qDeriv: vec![T::zero(); m.nv * m.nv],
            flow: vec![MomentumFlow::zero(); m.nbody],
            w: vec![SpatialVec::zero(); m.nv],
        }
    }
}

impl<T: Scalar> Default for QDeriv<T> {
    /// No room at all.
    fn default() -> Self {
        Self { qDeriv: vec![], flow: vec![], w: vec![] }
    }
}

/// `qDeriv` = d(actuator)/dv + d(passive)/dv − d(bias)/dv, the last only if `bias` is set.
///
/// - reads  everything up to and including [`super::actuation()`]
/// - writes `out.qDeriv` (nv × nv) [N·s/m, N·m·s/rad]
///
/// As in MuJoCo, entries between degrees of freedom on different branches are left out: tendons and
/// actuators that span branches contribute within each branch only. A force that is clamped contributes
/// nothing.
///
/// Source: MuJoCo `mjd_smooth_vel`. Cost O(nv · depth).
pub fn mjd_smooth_vel<T: Scalar>(m: &Model, d: &Data<T>, out: &mut QDeriv<T>, bias: bool) {
    out.qDeriv.fill(T::zero());
    mjd_actuator_vel(m, d, out);
    mjd_passive_vel(m, d, out);
    if bias {
        mjd_rne_vel(m, d, out);
    }
}

/// qDeriv += b·Jᵀ J for a sparse row J, within branches.
fn add_jtbj<T: Scalar>(m: &Model, out: &mut QDeriv<T>, colind: &[usize], J: &[T], b: T) {
    for (p, &i) in colind.iter().enumerate() {
        for (q, &j) in colind.iter().enumerate() {
            if m.same_branch(i, j) {
                out.qDeriv[i * m.nv + j] += J[p] * b * J[q];
            }
        }
    }
}
