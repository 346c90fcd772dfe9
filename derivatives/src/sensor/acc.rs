//! Derivatives of sensors of accelerations and of forces between bodies, at fixed `qacc` and by `qacc`.

use dualstep::math::SpatialVec;
use dualstep::model::{SensorType, WORLD};
use dualstep::smooth::object_frame;
use dualstep::{Data, Model, Scalar};
use nalgebra::Vector3;

use super::Rows;
use super::object::{Subtrees, com_velocity, frame_motion, root};
use super::pos::object;
use super::vel::shift;
use crate::smooth::SmoothDeriv;

/// Adds ∂/∂q and ∂/∂v at fixed `qacc` of acceleration sensor `i` to `rows`, ∂/∂qacc to `by_qacc`.
pub(super) fn rows<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    i: usize,
    forces: &SmoothDeriv<T>,
    subtrees: &Subtrees,
    rows: &mut Rows<T>,
    by_qacc: &mut Rows<T>,
) {
    use SensorType as S;
    let id = m.sensor_objid[i].unwrap_or(0);
    match m.sensor_type[i] {
        S::Accelerometer => accelerometer(m, d, id, forces, rows, by_qacc),
        S::Force => joint_wrench(m, d, id, forces, subtrees, |f| f.lin, rows, by_qacc),
        S::Torque => joint_wrench(m, d, id, forces, subtrees, |f| f.rot, rows, by_qacc),
        S::FrameLinAcc => frame_linacc(m, d, i, forces, subtrees, rows, by_qacc),
        S::FrameAngAcc => frame_angacc(m, d, i, forces, rows, by_qacc),
        // contacts and limits: they read zero
        _ => {}
    }
}

/// Changes of the acceleration and velocity of a body with one degree of freedom.
struct Change<T> {
    dof: usize,
    /// By q, without what turns with the body: acceleration, velocity.
    by_q: [SpatialVec<T>; 2],
    /// By v: acceleration; the velocity changes by the axis.
    by_v: SpatialVec<T>,
}

fn changes<'a, T: Scalar>(
    m: &'a Model,
    d: &'a Data<T>,
    body: usize,
    forces: &'a SmoothDeriv<T>,
) -> impl Iterator<Item = Change<T>> + 'a {
    let V = d.cvel[body];
    m.body_dofs_to_root(body).map(move |dof| {
        let (S, S_dot) = (&d.cdof[dof], d.cdof_dot[dof]);
        Change {
            dof,
            by_q: [forces.rne.S_ddot[dof] + S_dot.cross_motion(&V), S_dot],
            by_v: forces.qderiv.w[dof] + S.cross_motion(&V),
        }
    })
}

/// Change of the linear acceleration a + ω × v of a point as the fields of acceleration and velocity change; `v` is
/// the velocity of the body at that point.
fn at_point<T: Scalar>(
    [da, dv]: [&SpatialVec<T>; 2],
    arm: &Vector3<T>,
    v: &SpatialVec<T>,
) -> Vector3<T> {
    let (da, dv) = (shift(da, arm), shift(dv, arm));
    da.lin + dv.rot.cross(&v.lin) + v.rot.cross(&dv.lin)
}

/// In the site's own axes, where nothing that turns with the body shows.
fn accelerometer<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    site: usize,
    forces: &SmoothDeriv<T>,
    rows: &mut Rows<T>,
    by_qacc: &mut Rows<T>,
) {
    let (body, R) = (m.site_bodyid[site], &d.site_xmat[site]);
    let arm = d.site_xpos[site] - d.subtree_com[m.body_rootid[body]];
    let v = shift(&d.cvel[body], &arm);
    for Change { dof, by_q: [da, dv], by_v } in changes(m, d, body, forces) {
        let S = &d.cdof[dof];
        rows.add3(dof, &R.tr_mul(&at_point([&da, &dv], &arm, &v)));
        rows.add3(m.nv + dof, &R.tr_mul(&at_point([&by_v, S], &arm, &v)));
        by_qacc.add3(dof, &R.tr_mul(&shift(S, &arm).lin));
    }
}

/// a + ω × v of the origin of a frame, world axes.
fn frame_linacc<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    i: usize,
    forces: &SmoothDeriv<T>,
    subtrees: &Subtrees,
    rows: &mut Rows<T>,
    by_qacc: &mut Rows<T>,
) {
    let (objtype, id) = object(m, i);
    let frame = object_frame(m, d, objtype, id);
    let arm = frame.pos - d.subtree_com[m.body_rootid[frame.body]];
    let (V, A) = (&d.cvel[frame.body], &d.cacc[frame.body]);
    let v = shift(V, &arm);
    // the point moves within the fields
    frame_motion(m, d, subtrees, (objtype, id), |k, lin, _| {
        rows.add3(k, &(A.rot.cross(lin) + v.rot.cross(&v.rot.cross(lin))));
    });
    // the fields change
    for Change { dof, by_q: [da, dv], by_v } in changes(m, d, frame.body, forces) {
        let S = &d.cdof[dof];
        let (da, dv) = (da + S.cross_motion(A), dv + S.cross_motion(V));
        rows.add3(dof, &at_point([&da, &dv], &arm, &v));
        rows.add3(m.nv + dof, &at_point([&by_v, S], &arm, &v));
        by_qacc.add3(dof, &shift(S, &arm).lin);
    }
}

fn frame_angacc<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    i: usize,
    forces: &SmoothDeriv<T>,
    rows: &mut Rows<T>,
    by_qacc: &mut Rows<T>,
) {
    let (objtype, id) = object(m, i);
    let body = object_frame(m, d, objtype, id).body;
    for Change { dof, by_q: [da, _], by_v } in changes(m, d, body, forces) {
        let S = &d.cdof[dof];
        rows.add3(dof, &(da.rot + S.rot.cross(&d.cacc[body].rot)));
        rows.add3(m.nv + dof, &by_v.rot);
        by_qacc.add3(dof, &S.rot);
    }
}

/// Force or torque across the joints of a site's body, about the site and in its axes: what moves the subtree, less
/// what acts on it from outside. Applied forces stay fixed in the world while their points move.
#[expect(clippy::too_many_arguments, reason = "one half of the wrench, and where its rows go")]
fn joint_wrench<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    site: usize,
    forces: &SmoothDeriv<T>,
    subtrees: &Subtrees,
    half: impl Fn(&SpatialVec<T>) -> Vector3<T>,
    rows: &mut Rows<T>,
    by_qacc: &mut Rows<T>,
) {
    let body = m.site_bodyid[site];
    let R = &d.site_xmat[site];
    let arm = d.site_xpos[site] - d.subtree_com[m.body_rootid[body]];
    let local =
        |f: SpatialVec<T>| R.tr_mul(&half(&SpatialVec::new(f.rot - arm.cross(&f.lin), f.lin)));
    let (rne, qderiv) = (&forces.rne, &forces.qderiv);
    for (k, part) in subtrees.dofs(m, body) {
        let (S, S_dot) = (&d.cdof[k], &d.cdof_dot[k]);
        let (inertia, flow) = (&d.crb[part], &qderiv.flow[part]);
        let applied = &rne.wrench[part];
        // a motion of all of the subtree turns the inertial force, less the applied one, with the site
        let turning = if part == body { applied } else { &rne.force[part] };
        let mut by_q =
            S.cross_force(turning) + flow.apply(&S_dot.rot) + inertia.mul_vec(&rne.S_ddot[k]);
        by_q.rot -= S.lin.cross(&applied.lin) + rne.lever[part] * S.rot;
        if body == WORLD {
            by_q.rot += moving_origins(m, d, (k, part));
        }
        rows.add3(k, &local(by_q));
        rows.add3(m.nv + k, &local(flow.apply(&S.rot) + inertia.mul_vec(&qderiv.w[k])));
        by_qacc.add3(k, &local(inertia.mul_vec(S)));
    }
}

/// Change of the torque on the world because it is counted about centres of mass that move: that of each tree for its
/// own wrench, that of everything for their sum.
///
/// Source: MuJoCo `mj_rnePostConstraint`, which adds wrenches about different points there.
fn moving_origins<T: Scalar>(m: &Model, d: &Data<T>, dof: (usize, usize)) -> Vector3<T> {
    let tree = root(m, dof.0);
    let own = com_velocity(m, d, tree, dof);
    let all = com_velocity(m, d, WORLD, dof);
    all.cross(&d.cfrc_int[WORLD].lin) - own.cross(&d.cfrc_int[tree].lin)
}
