//! Body velocities.

use nalgebra::Vector3;

use crate::data::Data;
use crate::math::SpatialVec;
use crate::model::{JointType, Model, WORLD};
use crate::scalar::Scalar;

/// Body velocities about the tree's centre of mass, and rates of change of the motion axes.
///
/// - reads  `qvel` (nv), `cdof` (nv)                                  from [`super::com_pos()`]
/// - writes `cvel` (nbody) [rad/s, m/s]; `cdof_dot` (nv), both rot:lin
///
/// cvel = cvel_parent + Σ cdof·v̇; an axis is carried along by the velocity before its own joint, so
/// ċdof = cvel ×ₘ cdof. The three axes of a ball turn together, with the velocity before the joint.
///
/// Source: Featherstone 2008, §5.3; MuJoCo `mj_comVel`. Cost O(nv).
pub fn com_vel<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let Data { cvel, cdof, cdof_dot, qvel, .. } = d;
    cvel[WORLD] = SpatialVec::zero();
    for b in m.bodies_base_to_tip() {
        let mut v = cvel[m.body_parentid[b]];
        for j in m.body_joints(b) {
            let adr = m.jnt_dofadr[j];
            match m.jnt_type[j] {
                JointType::Hinge | JointType::Slide => {
                    cdof_dot[adr] = v.cross_motion(&cdof[adr]);
                    v += cdof[adr] * qvel[adr];
                }
                JointType::Ball => turn(adr, &mut v, cdof, cdof_dot, qvel),
                // translation axes are fixed in the world
                JointType::Free => {
                    for k in adr..adr + 3 {
                        cdof_dot[k] = SpatialVec::zero();
                        v.lin += cdof[k].lin * qvel[k];
                    }
                    turn(adr + 3, &mut v, cdof, cdof_dot, qvel);
                }
            }
        }
        cvel[b] = v;
    }
}

/// Three rotational axes at once.
fn turn<T: Scalar>(
    adr: usize,
    v: &mut SpatialVec<T>,
    cdof: &[SpatialVec<T>],
    cdof_dot: &mut [SpatialVec<T>],
    qvel: &[T],
) {
    let mut sum = SpatialVec::new(Vector3::zeros(), Vector3::zeros());
    for k in adr..adr + 3 {
        cdof_dot[k] = v.cross_motion(&cdof[k]);
        sum += cdof[k] * qvel[k];
    }
    *v += sum;
}
