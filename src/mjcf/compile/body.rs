//! Bodies: pose, mass and inertia, and everything attached, each in the body frame.

use nalgebra::{Matrix3, Vector3};

use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{
    AlignFree, BodySpec, InertiaFromGeom, InertialSpec, JointType, Orientation,
};
use crate::model::{GeomType, WORLD};

use super::asset::Assets;
use super::context::Context;
use super::geom::Geom;
use super::inertia::{EPS, MassFrame, combine, principal_axes};
use super::joint::Joint;
use super::names::Indices;
use super::pose::Pose;
use super::site_camera::{Camera, Site};
use super::tree::{Node, Tree};

/// Most degrees of freedom of a body.
const MAX_DOFS: usize = 6;

/// A compiled body. Removed bodies (merged into their parents) stay in the list until it is renumbered.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    /// As written.
    pub spec: &'a BodySpec,
    /// Index of the parent; the world is its own.
    pub parent: usize,
    /// Top ancestor that does not move relative to this body.
    pub weldid: usize,
    /// Pose in the parent's frame.
    pub pose: Pose,
    /// Mass, and the inertial frame in the body frame.
    pub inertial: MassFrame,
    /// Joints in order.
    pub joints: Vec<Joint<'a>>,
    /// Geoms in order.
    pub geoms: Vec<Geom<'a>>,
    /// Sites in order.
    pub sites: Vec<Site<'a>>,
    /// Cameras in order.
    pub cameras: Vec<Camera<'a>>,
}

impl Body<'_> {
    /// Degrees of freedom.
    pub fn dofnum(&self) -> usize {
        self.joints.iter().map(Joint::nv).sum()
    }
}

/// Compiles all bodies, parents before children.
///
/// # Errors
/// The first mistake in a body or in what is attached to it.
pub fn compile<'a>(
    ctx: &Context<'a>,
    names: &Indices<'a>,
    assets: &Assets,
    tree: &Tree<'a>,
) -> Result<Vec<Body<'a>>, MjcfError> {
    let mut bodies: Vec<Body<'a>> = Vec::with_capacity(tree.nodes.len());
    for (id, node) in tree.nodes.iter().enumerate() {
        let is_weld_root = id == WORLD || !node.joints.is_empty() || node.spec.mocap;
        let weldid = if is_weld_root { id } else { bodies[node.parent].weldid };
        let static_or_mocap = weldid == WORLD || tree.nodes[weldid].spec.mocap;
        let mut body = attach(ctx, names, assets, id, node, weldid)?;
        check_planes(ctx, &body, static_or_mocap)?;
        let is_leaf = !tree.nodes.iter().skip(1).any(|n| n.parent == id);
        if is_leaf && wants_alignment(ctx, &body) {
            align(&mut body);
        }
        check_joints(ctx, &body)?;
        bodies.push(body);
    }
    Ok(bodies)
}

/// One body with everything on it, not yet aligned.
fn attach<'a>(
    ctx: &Context<'a>,
    names: &Indices<'a>,
    assets: &Assets,
    id: usize,
    node: &Node<'a>,
    weldid: usize,
) -> Result<Body<'a>, MjcfError> {
    let spec = node.spec;
    let compiler = &ctx.spec.compiler;
    ctx.check_user(spec.span, &spec.user, ctx.spec.size.nuser_body)?;

    // geoms count for inertia if nothing else gives it, and their group is in the range
    let from_geoms = match compiler.inertiafromgeom {
        InertiaFromGeom::True => true,
        InertiaFromGeom::Auto => spec.inertial.is_none(),
        InertiaFromGeom::False => false,
    };
    let [first, last] = compiler.inertiagrouprange;
    let geoms: Vec<Geom<'a>> = node
        .geoms
        .iter()
        .map(|placed| {
            let in_range = (first..=last).contains(&placed.spec.group);
            let infer = id != WORLD
                && in_range
                && (spec.inertial.is_none() || compiler.inertiafromgeom == InertiaFromGeom::True);
            Geom::new(ctx, names, assets, placed, infer)
        })
        .collect::<Result<_, _>>()?;

    let own = Pose::new(spec.pos.into(), ctx.orientation(spec.span, &spec.orientation)?);
    let mut inertial = given_inertial(ctx, spec, &own)?;
    if id == WORLD {
        inertial = MassFrame::default();
    } else {
        if from_geoms && let Some(inferred) = infer_inertial(ctx, spec, &geoms)? {
            inertial = inferred;
        }
        bound(ctx, spec, &mut inertial)?;
    }

    let sites = node.sites.iter().map(|s| Site::new(ctx, names, assets, s));
    let joints = node.joints.iter().map(|j| Joint::new(ctx, j));
    let cameras = node.cameras.iter().map(|c| Camera::new(ctx, c));
    Ok(Body {
        spec,
        parent: node.parent,
        weldid,
        pose: node.frame.map_or(own, |f| f.then(&own)),
        inertial,
        joints: joints.collect::<Result<_, _>>()?,
        geoms,
        sites: sites.collect::<Result<_, _>>()?,
        cameras: cameras.collect::<Result<_, _>>()?,
    })
}

/// Mass and inertial frame as written. Without an `inertial` the frame is the body's pose in its
/// parent, which means nothing, but is what MuJoCo stores.
fn given_inertial(ctx: &Context<'_>, body: &BodySpec, own: &Pose) -> Result<MassFrame, MjcfError> {
    let Some(spec) = &body.inertial else {
        return Ok(MassFrame { frame: *own, ..MassFrame::default() });
    };
    let mut frame = Pose::new(spec.pos.into(), ctx.orientation(spec.span, &spec.orientation)?);
    for (pos, orientation) in spec.frames.iter().rev() {
        let outer = Pose::new((*pos).into(), ctx.orientation(spec.span, orientation)?);
        frame = outer.then(&frame);
    }
    let mut inertia = Vector3::from(spec.diaginertia);
    if let Some(full) = spec.fullinertia {
        let message = if inertia != Vector3::zeros() {
            "fullinertia and diaginertia cannot both be given"
        } else if !matches!(spec.orientation, Orientation::Quat(_)) {
            "fullinertia and an orientation cannot both be given"
        } else {
            ""
        };
        if !message.is_empty() {
            let kind = MjcfErrorKind::Invalid;
            return Err(ctx.attr_error(spec.span, "fullinertia", kind, message));
        }
        let axes;
        (axes, inertia) = diagonalize_full(ctx, spec, &full)?;
        // the tensor is given in the axes of the body, or of the frames around it
        frame.quat = (frame.quat * axes).normalized();
    }
    Ok(MassFrame { mass: spec.mass, frame, inertia })
}

fn diagonalize_full(
    ctx: &Context<'_>,
    spec: &InertialSpec,
    [xx, yy, zz, xy, xz, yz]: &[f64; 6],
) -> Result<(crate::math::Quat<f64>, Vector3<f64>), MjcfError> {
    let tensor = Matrix3::new(*xx, *xy, *xz, *xy, *yy, *yz, *xz, *yz, *zz);
    let (quat, moments) = principal_axes(&tensor);
    if is_positive(ctx, &moments) {
        return Ok((quat, moments));
    }
    let message = format!("fullinertia must be positive definite, its eigenvalues are {moments:?}");
    let message = message.replace("[[", "[").replace("]]", "]");
    Err(ctx.attr_error(spec.span, "fullinertia", MjcfErrorKind::Invalid, message))
}

/// Positive definite, or semidefinite where `boundinertia` lifts the zeros.
fn is_positive(ctx: &Context<'_>, moments: &Vector3<f64>) -> bool {
    let bounded = ctx.spec.compiler.boundinertia > 0.0;
    moments.z >= if bounded { -EPS } else { EPS }
}

/// Mass and inertial frame from the geoms; none if no geom has mass.
fn infer_inertial(
    ctx: &Context<'_>,
    spec: &BodySpec,
    geoms: &[Geom<'_>],
) -> Result<Option<MassFrame>, MjcfError> {
    let parts: Vec<MassFrame> = geoms
        .iter()
        .filter(|g| g.mass > EPS)
        .map(|g| MassFrame { mass: g.mass, frame: g.pose, inertia: g.inertia })
        .collect();
    if parts.len() <= 1 {
        return Ok(parts.first().copied());
    }
    let (mass, pos, tensor) = combine(&parts);
    let (quat, inertia) = principal_axes(&tensor);
    if is_positive(ctx, &inertia) {
        return Ok(Some(MassFrame { mass, frame: Pose::new(pos, quat), inertia }));
    }
    Err(ctx.invalid(spec.span, "the inertia inferred from the geoms is not positive definite"))
}

/// Applies `boundmass`, `boundinertia` and `balanceinertia`; refuses what is not physical.
fn bound(ctx: &Context<'_>, spec: &BodySpec, inertial: &mut MassFrame) -> Result<(), MjcfError> {
    let compiler = &ctx.spec.compiler;
    let span = spec.inertial.as_ref().map_or(spec.span, |i| i.span);
    inertial.mass = inertial.mass.max(compiler.boundmass);
    inertial.inertia = inertial.inertia.map(|i| i.max(compiler.boundinertia));
    let finite = inertial.mass.is_finite() && inertial.inertia.iter().all(|i| i.is_finite());
    if !finite {
        return Err(ctx.invalid(span, "mass and inertia must be finite"));
    }
    if inertial.mass < 0.0 || inertial.inertia.min() < 0.0 {
        return Err(ctx.invalid(span, "mass and inertia cannot be negative"));
    }
    // no rigid body has a moment larger than the sum of the other two
    let [a, b, c] = inertial.inertia.into();
    if a + b < c || a + c < b || b + c < a {
        if !compiler.balanceinertia {
            let message = format!("inertia must satisfy A + B >= C, found {a}, {b}, {c}");
            let error = ctx.invalid(span, message);
            return Err(error.with_help("balanceinertia=\"true\" in `compiler` repairs it"));
        }
        inertial.inertia = Vector3::repeat((a + b + c) / 3.0);
    }
    Ok(())
}

/// A free joint, alone, on a body without children, whose frame may be moved to the centre of mass.
fn wants_alignment(ctx: &Context<'_>, body: &Body<'_>) -> bool {
    let [joint] = &body.joints[..] else { return false };
    joint.spec.kind == JointType::Free
        && match joint.spec.align {
            AlignFree::True => true,
            AlignFree::False => false,
            AlignFree::Auto => ctx.spec.compiler.alignfree,
        }
}

/// Makes the inertial frame the body frame.
fn align(body: &mut Body<'_>) {
    let inverse = body.inertial.frame.inverse();
    body.pose = body.pose.then(&body.inertial.frame);
    body.inertial.frame = Pose::default();
    for pose in body
        .geoms
        .iter_mut()
        .map(|g| &mut g.pose)
        .chain(body.sites.iter_mut().map(|s| &mut s.pose))
        .chain(body.cameras.iter_mut().map(|c| &mut c.pose))
    {
        *pose = inverse.then(pose);
    }
}

/// Planes are infinite and do not move.
fn check_planes(
    ctx: &Context<'_>,
    body: &Body<'_>,
    static_or_mocap: bool,
) -> Result<(), MjcfError> {
    let plane = body.geoms.iter().find(|g| g.kind == GeomType::Plane);
    match plane {
        Some(plane) if !static_or_mocap => {
            let message = "planes are only allowed in static bodies";
            Err(ctx.attr_error(plane.spec.span, "type", MjcfErrorKind::Invalid, message))
        }
        _ => Ok(()),
    }
}

/// Combinations of joints that make no sense.
fn check_joints(ctx: &Context<'_>, body: &Body<'_>) -> Result<(), MjcfError> {
    let span = body.spec.span;
    let is_world = std::ptr::eq(body.spec, &raw const ctx.spec.worldbody);
    if is_world && let Some(joint) = body.joints.first() {
        return Err(ctx.invalid(joint.spec.span, "the world body cannot have joints"));
    }
    if body.dofnum() > MAX_DOFS {
        let message = format!("a body has at most {MAX_DOFS} degrees of freedom");
        return Err(ctx.invalid(span, message));
    }
    let mut after_ball = false;
    for joint in &body.joints {
        let kind = joint.spec.kind;
        if kind == JointType::Free && body.parent != WORLD {
            let message = "a free joint is only allowed in a child of the world";
            return Err(ctx.invalid(joint.spec.span, message));
        }
        if after_ball && matches!(kind, JointType::Ball | JointType::Hinge) {
            let message = "a ball joint cannot be followed by another rotation in the same body";
            return Err(ctx.invalid(joint.spec.span, message));
        }
        after_ball |= kind == JointType::Ball;
    }
    if body.spec.mocap && (!body.joints.is_empty() || body.parent != WORLD || is_world) {
        let message = "a mocap body must be a child of the world without joints";
        return Err(ctx.attr_error(span, "mocap", MjcfErrorKind::Invalid, message));
    }
    Ok(())
}
