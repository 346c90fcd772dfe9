//! The kinematic tree into the model: bodies, joints, degrees of freedom, geoms, sites, cameras.
//!
//! Source: MuJoCo `mjCModel::CopyTree`, `FinalizeSimple`; `setFixed` of `engine_setconst.c`.

use nalgebra::Vector3;

use crate::math::Quat;
use crate::mjcf::error::MjcfError;
use crate::mjcf::spec::JointType;
use crate::model::{Model, SameFrame, WORLD};

use super::body::Body;
use super::context::Context;
use super::convert;
use super::geom::Geom;
use super::inertia::EPS;
use super::joint::Joint;
use super::names::Indices;
use super::pose::{Pose, same_pos, same_quat};
use super::site_camera::{Camera, Site};

/// Writes everything that hangs on the tree. `mesh_ids` maps meshes as written to those of the model.
///
/// # Errors
/// A moving body without mass, a camera with an unknown target.
pub fn write<'a>(
    ctx: &Context<'a>,
    names: &Indices<'a>,
    bodies: &[Body<'a>],
    mesh_ids: &[Option<usize>],
    m: &mut Model,
) -> Result<(), MjcfError> {
    check_masses(ctx, bodies)?;
    let mut lastdof: Vec<Option<usize>> = vec![None; bodies.len()];
    for (id, body) in bodies.iter().enumerate() {
        lastdof[id] = lastdof[body.parent];
        write_body(id, body, m);
        let mut simple = SimpleBody::new(id, body, bodies, m);
        for joint in &body.joints {
            simple.visit(joint);
            write_joint(id, body, joint, &mut lastdof[id], m);
        }
        let level = simple.level(body);
        m.body_simple.push(level);
        // a parent is never simple
        if body.parent != WORLD {
            m.body_simple[body.parent] = 0;
        }
        body.geoms.iter().for_each(|geom| write_geom(id, body, geom, mesh_ids, m));
        body.sites.iter().for_each(|site| write_site(id, body, site, mesh_ids, m));
        for camera in &body.cameras {
            write_camera(ctx, names, id, camera, m)?;
        }
    }
    (m.nbody, m.njnt, m.ngeom) = (bodies.len(), m.jnt_type.len(), m.geom_type.len());
    (m.nsite, m.ncam) = (m.site_type.len(), m.cam_mode.len());
    (m.nq, m.nv) = (m.qpos0.len(), m.dof_bodyid.len());
    let mut Madr = 0;
    for i in 0..m.nv {
        m.dof_Madr.push(Madr);
        Madr += m.dofs_to_root(i).count();
    }
    Ok(())
}

/// A body with joints must have inertia: its own, or that of a body welded to it.
fn check_masses(ctx: &Context<'_>, bodies: &[Body<'_>]) -> Result<(), MjcfError> {
    // children come after their parents, so that a chain of welds is complete when it is read
    let own = |b: &Body<'_>| {
        b.inertial.mass >= crate::MINVAL && b.inertial.inertia.min() >= crate::MINVAL
    };
    let mut has_inertia: Vec<bool> = bodies.iter().map(own).collect();
    for id in (1..bodies.len()).rev() {
        if has_inertia[id] && bodies[id].joints.is_empty() {
            has_inertia[bodies[id].parent] = true;
        }
    }
    for (body, ok) in bodies.iter().zip(has_inertia).skip(1) {
        if !body.joints.is_empty() && !ok {
            let message = "mass and inertia of a moving body must be positive";
            let error = ctx.invalid(body.spec.span, message);
            return Err(error.with_help("give it a geom with mass, or an `inertial` element"));
        }
    }
    Ok(())
}

fn write_body(id: usize, body: &Body<'_>, m: &mut Model) {
    let is_root = id == WORLD || body.parent == WORLD;
    let mocapid = body.spec.mocap.then_some(m.nmocap);
    m.nmocap += usize::from(body.spec.mocap);
    m.names.body.push(if id == WORLD { "world".into() } else { body.spec.name.clone() });
    m.body_parentid.push(body.parent);
    m.body_rootid.push(if is_root { id } else { m.body_rootid[body.parent] });
    m.body_weldid.push(body.weldid);
    m.body_mocapid.push(mocapid);
    m.body_jntnum.push(body.joints.len());
    m.body_jntadr.push(m.jnt_type.len());
    m.body_dofnum.push(body.dofnum());
    m.body_dofadr.push(m.dof_bodyid.len());
    m.body_geomnum.push(body.geoms.len());
    m.body_geomadr.push(m.geom_type.len());
    m.body_sameframe.push(match body.inertial.frame {
        Pose { pos, quat } if is_null(Some(&pos), &quat) => SameFrame::Body,
        Pose { quat, .. } if is_null(None, &quat) => SameFrame::BodyRot,
        _ => SameFrame::None,
    });
    m.body_pos.push(body.pose.pos);
    m.body_quat.push(body.pose.quat);
    m.body_ipos.push(body.inertial.frame.pos);
    m.body_iquat.push(body.inertial.frame.quat);
    m.body_mass.push(body.inertial.mass);
    m.body_inertia.push(body.inertial.inertia);
    m.body_gravcomp.push(body.spec.gravcomp);
    let margin = |g: &Geom<'_>| g.spec.margin + g.spec.gap;
    m.body_margin.push(body.geoms.iter().map(margin).fold(0.0, f64::max));
    m.body_contype.push(body.geoms.iter().fold(0, |bits, g| bits | g.spec.contype));
    m.body_conaffinity.push(body.geoms.iter().fold(0, |bits, g| bits | g.spec.conaffinity));
}

/// True if a pose, or an orientation, is the identity within the tolerance of frame comparison.
fn is_null(pos: Option<&Vector3<f64>>, quat: &Quat<f64>) -> bool {
    pos.is_none_or(|p| same_pos(p, &Vector3::zeros())) && same_quat(quat, &Quat::identity())
}

/// How the frame of a geom or site coincides with the body's or the inertial one.
fn same_frame(pose: &Pose, body: &Body<'_>) -> SameFrame {
    let inertial = &body.inertial.frame;
    if is_null(Some(&pose.pos), &pose.quat) {
        SameFrame::Body
    } else if is_null(None, &pose.quat) {
        SameFrame::BodyRot
    } else if same_quat(&pose.quat, &inertial.quat) {
        let same = same_pos(&pose.pos, &inertial.pos);
        if same { SameFrame::Inertia } else { SameFrame::InertiaRot }
    } else {
        SameFrame::None
    }
}

/// Finds out whether the rows of a body's degrees of freedom in the inertia matrix are diagonal.
struct SimpleBody {
    simple: bool,
    rotation_found: bool,
}

impl SimpleBody {
    /// At best for a body whose frame is inertial, and which hangs on the world or on a static child
    /// of the world.
    fn new(id: usize, body: &Body<'_>, bodies: &[Body<'_>], m: &Model) -> Self {
        let parent = &bodies[body.parent];
        let on_static = parent.parent == WORLD && parent.joints.is_empty();
        let simple = body.spec.simple
            && m.body_sameframe[id] == SameFrame::Body
            && (m.body_rootid[id] == id || on_static);
        Self { simple, rotation_found: false }
    }

    /// One rotation at most, after which no joint may follow; anchors at the origin, axes along the
    /// body's.
    fn visit(&mut self, joint: &Joint<'_>) {
        let kind = joint.spec.kind;
        let scalar = matches!(kind, JointType::Hinge | JointType::Slide);
        let aligned = joint.axis.iter().filter(|a| a.abs() > EPS).count() == 1;
        let centred = same_pos(&joint.pos, &Vector3::zeros());
        self.simple &= !self.rotation_found && centred && (aligned || !scalar);
        self.rotation_found |= matches!(kind, JointType::Ball | JointType::Hinge);
    }

    /// MuJoCo's number: 0 not simple, 2 simple with sliders only, 1 simple otherwise.
    fn level(&self, body: &Body<'_>) -> u8 {
        let slides = body.joints.iter().all(|j| j.spec.kind == JointType::Slide);
        match (self.simple, slides && !body.joints.is_empty()) {
            (false, _) => 0,
            (true, true) => 2,
            (true, false) => 1,
        }
    }
}

fn write_joint(
    id: usize,
    body: &Body<'_>,
    joint: &Joint<'_>,
    lastdof: &mut Option<usize>,
    m: &mut Model,
) {
    let spec = joint.spec;
    let jid = m.jnt_type.len();
    let [k0, k1, k2] = spec.stiffness;
    m.names.joint.push(spec.name.clone());
    m.jnt_type.push(convert::joint_type(spec.kind));
    m.jnt_qposadr.push(m.qpos0.len());
    m.jnt_dofadr.push(m.dof_bodyid.len());
    m.jnt_bodyid.push(id);
    m.jnt_group.push(spec.group);
    m.jnt_limited.push(joint.limited);
    m.jnt_actfrclimited.push(joint.actfrclimited);
    m.jnt_actgravcomp.push(spec.actgravcomp);
    m.jnt_solref.push(spec.solref_limit);
    m.jnt_solimp.push(spec.solimp_limit);
    m.jnt_pos.push(joint.pos);
    m.jnt_axis.push(joint.axis);
    m.jnt_stiffness.push(k0);
    m.jnt_stiffnesspoly.push([k1, k2]);
    m.jnt_springyield.push(spec.springyield);
    m.jnt_range.push(joint.range);
    m.jnt_actfrcrange.push(spec.actfrcrange);
    m.jnt_margin.push(spec.margin);

    match spec.kind {
        JointType::Free => {
            let (p, q) = (body.pose.pos, body.pose.quat);
            let pose = [p.x, p.y, p.z, q.w, q.x, q.y, q.z];
            m.qpos0.extend(pose);
            m.qpos_spring.extend(pose);
        }
        JointType::Ball => {
            m.qpos0.extend([1.0, 0.0, 0.0, 0.0]);
            m.qpos_spring.extend([1.0, 0.0, 0.0, 0.0]);
        }
        JointType::Slide | JointType::Hinge => {
            m.qpos0.push(joint.qpos0);
            m.qpos_spring.push(joint.qpos_spring);
        }
    }

    let [d0, d1, d2] = spec.damping;
    for _ in 0..joint.nv() {
        let dof = m.dof_bodyid.len();
        m.dof_bodyid.push(id);
        m.dof_jntid.push(jid);
        m.dof_parentid.push(lastdof.replace(dof));
        m.dof_solref.push(spec.solref_friction);
        m.dof_solimp.push(spec.solimp_friction);
        m.dof_frictionloss.push(spec.frictionloss);
        m.dof_armature.push(spec.armature);
        m.dof_damping.push(d0);
        m.dof_dampingpoly.push([d1, d2]);
    }
}

fn write_geom(
    id: usize,
    body: &Body<'_>,
    geom: &Geom<'_>,
    mesh_ids: &[Option<usize>],
    m: &mut Model,
) {
    let spec = geom.spec;
    let mesh = geom.mesh.and_then(|i| mesh_ids.get(i).copied().flatten());
    m.names.geom.push(spec.name.clone());
    m.geom_type.push(geom.kind);
    m.geom_contype.push(spec.contype);
    m.geom_conaffinity.push(spec.conaffinity);
    m.geom_condim.push(spec.condim);
    m.geom_bodyid.push(id);
    m.geom_dataid.push(mesh.or(geom.hfield));
    m.geom_group.push(spec.group);
    m.geom_priority.push(spec.priority);
    m.geom_sameframe.push(same_frame(&geom.pose, body));
    m.geom_castshadow.push(spec.castshadow);
    m.geom_solmix.push(spec.solmix);
    m.geom_solref.push(spec.solref);
    m.geom_solimp.push(spec.solimp);
    m.geom_size.push(geom.size);
    m.geom_aabb.push(geom.aabb);
    m.geom_rbound.push(geom.rbound);
    m.geom_pos.push(geom.pose.pos);
    m.geom_quat.push(geom.pose.quat);
    m.geom_friction.push(spec.friction);
    m.geom_margin.push(spec.margin);
    m.geom_gap.push(spec.gap);
    m.geom_surfacevel.push(geom.surfacevel);
    m.geom_adhesion.push(spec.adhesion);
    m.geom_fluid.push([0.0; 12]);
    m.geom_rgba.push(spec.rgba);
    m.geom_visible.push(geom.visible);
}

fn write_site(
    id: usize,
    body: &Body<'_>,
    site: &Site<'_>,
    mesh_ids: &[Option<usize>],
    m: &mut Model,
) {
    m.names.site.push(site.spec.name.clone());
    m.site_type.push(site.kind);
    m.site_bodyid.push(id);
    m.site_dataid.push(site.mesh.and_then(|i| mesh_ids.get(i).copied().flatten()));
    m.site_group.push(site.spec.group);
    m.site_sameframe.push(same_frame(&site.pose, body));
    m.site_size.push(site.size);
    m.site_pos.push(site.pose.pos);
    m.site_quat.push(site.pose.quat);
}

fn write_camera(
    ctx: &Context<'_>,
    names: &Indices<'_>,
    id: usize,
    camera: &Camera<'_>,
    m: &mut Model,
) -> Result<(), MjcfError> {
    let spec = camera.spec;
    let target = (!spec.targetbody.is_empty())
        .then(|| names.body.find(ctx, spec.span, "target", &spec.targetbody))
        .transpose()?;
    m.names.camera.push(spec.name.clone());
    m.cam_mode.push(convert::cam_mode(spec.mode));
    m.cam_bodyid.push(id);
    m.cam_targetbodyid.push(target);
    m.cam_pos.push(camera.pose.pos);
    m.cam_quat.push(camera.pose.quat);
    m.cam_poscom0.push(Vector3::zeros());
    m.cam_pos0.push(Vector3::zeros());
    m.cam_mat0.push([0.0; 9]);
    m.cam_resolution.push(spec.resolution.map(|n| usize::try_from(n).unwrap_or(0)));
    m.cam_orthographic.push(spec.orthographic);
    m.cam_fovy.push(camera.fovy);
    m.cam_sensorsize.push(camera.sensor_size);
    m.cam_intrinsic.push(camera.intrinsic);
    Ok(())
}
