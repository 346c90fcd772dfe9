//! `worldbody`, `body` and `frame` with their contents.

use super::attr::{BOOL, Keyword, Node};
use super::default::class_index;
use super::geom::{ORIENTATIONS, read_geom, read_orientation, read_site};
use super::joint;
use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{
    BodyChild, BodySpec, CamLightMode, CameraSpec, DefaultTree, FrameSpec, InertialSpec, LightSpec,
    Orientation, SleepPolicy,
};

const SLEEP: &[Keyword<SleepPolicy>] = &[
    ("auto", SleepPolicy::Auto),
    ("never", SleepPolicy::Never),
    ("allowed", SleepPolicy::Allowed),
    ("init", SleepPolicy::Init),
];

const FALSE_AUTO: &[Keyword<bool>] = &[("false", false), ("auto", true)];

const CAM_LIGHT: &[Keyword<CamLightMode>] = &[
    ("fixed", CamLightMode::Fixed),
    ("track", CamLightMode::Track),
    ("trackcom", CamLightMode::TrackCom),
    ("targetbody", CamLightMode::TargetBody),
    ("targetbodycom", CamLightMode::TargetBodyCom),
];

const PROJECTION: &[Keyword<bool>] = &[("perspective", false), ("orthographic", true)];

const OUTPUT: &[Keyword<i32>] =
    &[("rgb", 1), ("depth", 2), ("distance", 4), ("normal", 8), ("segmentation", 16)];

/// Reads a `worldbody` section into the world, which may come in several.
pub(super) fn read_world(
    node: Node,
    world: &mut BodySpec,
    defaults: &DefaultTree,
) -> Result<(), MjcfError> {
    if let Some(attr) = node.element.attrs.first() {
        let message = "the world body cannot have attributes";
        return Err(node.error_at(&attr.name, MjcfErrorKind::Invalid, message));
    }
    let mut scope = Scope { defaults, world: true, inertial: None, frames: Vec::new() };
    read_children(node, &mut world.children, &mut scope, 0)
}

/// What the elements inside one body share, also through its frames.
struct Scope<'a> {
    defaults: &'a DefaultTree,
    world: bool,
    inertial: Option<InertialSpec>,
    /// The frames that are open: position and orientation, outermost first.
    frames: Vec<([f64; 3], Orientation)>,
}

/// Reads everything inside a body or frame. `class` is the index of the default class in force.
fn read_children(
    node: Node,
    out: &mut Vec<BodyChild>,
    scope: &mut Scope,
    class: usize,
) -> Result<(), MjcfError> {
    for child in node.children() {
        match child.tag() {
            "body" => out.push(read_body(child, scope.defaults, class)?),
            "frame" => out.push(read_frame(child, scope, class)?),
            "inertial" => read_inertial(child, scope)?,
            _ => out.extend(read_leaf(child, scope, class)?),
        }
    }
    Ok(())
}

#[inline(never)] // keeps the stack of the recursion over bodies small
fn read_leaf(node: Node, scope: &Scope, class: usize) -> Result<Option<BodyChild>, MjcfError> {
    if scope.world && matches!(node.tag(), "joint" | "freejoint") {
        return Err(node.error(MjcfErrorKind::Invalid, "the world body cannot have joints"));
    }
    let class = class_index(node, "class", scope.defaults, class)?;
    let class = &scope.defaults.classes[class];
    let child = match node.tag() {
        "joint" => BodyChild::Joint(joint::read(node, &class.joint)?),
        "freejoint" => BodyChild::Joint(joint::read_free(node)?),
        "geom" => BodyChild::Geom(read_geom(node, &class.geom)?),
        "site" => BodyChild::Site(read_site(node, &class.site)?),
        "camera" => BodyChild::Camera(read_camera(node, &class.camera)?),
        "light" => BodyChild::Light(read_light(node, &class.light)?),
        "replicate" => return Err(node.unsupported("`replicate` is")),
        "attach" => return Err(node.unsupported("`attach` is")),
        "composite" => return Err(node.unsupported("`composite` is")),
        "flexcomp" => return Err(node.unsupported("deformables (`flexcomp`) are")),
        "plugin" => return Err(node.unsupported("plugins are")),
        _ => return Ok(None),
    };
    Ok(Some(child))
}

#[inline(never)]
fn read_body(node: Node, defaults: &DefaultTree, class: usize) -> Result<BodyChild, MjcfError> {
    let class = class_index(node, "childclass", defaults, class)?;
    let mut body = read_body_attributes(node)?;
    body.childclass.clone_from(&defaults.classes[class].class);
    let mut scope = Scope { defaults, world: false, inertial: None, frames: Vec::new() };
    read_children(node, &mut body.children, &mut scope, class)?;
    body.inertial = scope.inertial;
    Ok(BodyChild::Body(body))
}

#[inline(never)]
fn read_body_attributes(node: Node) -> Result<BodySpec, MjcfError> {
    let mut body = BodySpec { name: node.name(), span: node.span(), ..BodySpec::default() };
    node.vector("pos", &mut body.pos)?;
    read_orientation(node, &mut body.orientation)?;
    node.boolean("mocap", &mut body.mocap)?;
    node.scalar("gravcomp", &mut body.gravcomp)?;
    node.keyword("sleep", SLEEP, &mut body.sleep)?;
    node.keyword("simple", FALSE_AUTO, &mut body.simple)?;
    node.keyword("fuse", FALSE_AUTO, &mut body.fuse)?;
    body.user = node.list("user")?.unwrap_or_default();
    Ok(body)
}

#[inline(never)]
fn read_frame(node: Node, scope: &mut Scope, class: usize) -> Result<BodyChild, MjcfError> {
    let class = class_index(node, "childclass", scope.defaults, class)?;
    let mut frame = FrameSpec { name: node.name(), span: node.span(), ..FrameSpec::default() };
    frame.childclass.clone_from(&scope.defaults.classes[class].class);
    node.vector("pos", &mut frame.pos)?;
    read_orientation(node, &mut frame.orientation)?;
    refuse_scale(node)?;
    scope.frames.push((frame.pos, frame.orientation));
    read_children(node, &mut frame.children, scope, class)?;
    scope.frames.pop();
    Ok(BodyChild::Frame(frame))
}

/// A frame that resizes its contents is refused; one that says it does not is fine.
fn refuse_scale(node: Node) -> Result<(), MjcfError> {
    let mut scale = [1.0; 3];
    node.vector_upto("scale", &mut scale)?;
    if scale != [1.0; 3] {
        return Err(node.unsupported_at("scale", "scaled frames (`scale`) are"));
    }
    if let Some(scale) = node.optional_scalar("massscale")?
        && scale != 0.0
        && scale != 1.0
    {
        return Err(node.unsupported_at("massscale", "scaled frames (`massscale`) are"));
    }
    Ok(())
}

#[inline(never)]
fn read_inertial(node: Node, scope: &mut Scope) -> Result<(), MjcfError> {
    if scope.world {
        return Err(node.error(MjcfErrorKind::Invalid, "the world body cannot have inertia"));
    }
    if let Some(first) = &scope.inertial {
        let error = node.error(MjcfErrorKind::Duplicate, "the body has an inertial already");
        return Err(error.with_label(first.span, "the first one"));
    }
    for orientation in ORIENTATIONS {
        node.exclusive(&["fullinertia", orientation])?;
    }
    let Some(pos) = node.optional_vector("pos")? else {
        return Err(node.error(MjcfErrorKind::MissingAttribute, "needs attribute `pos`"));
    };
    let mut inertial = InertialSpec {
        span: node.span(),
        pos,
        mass: node.required_scalar("mass")?,
        frames: scope.frames.clone(),
        ..InertialSpec::default()
    };
    read_orientation(node, &mut inertial.orientation)?;
    node.vector("diaginertia", &mut inertial.diaginertia)?;
    inertial.fullinertia = node.optional_vector("fullinertia")?;
    scope.inertial = Some(inertial);
    Ok(())
}

fn read_camera(node: Node, class: &CameraSpec) -> Result<CameraSpec, MjcfError> {
    let mut camera = CameraSpec { name: node.name(), span: node.span(), ..class.clone() };
    node.string("target", &mut camera.targetbody);
    read_camera_attributes(node, &mut camera)?;
    Ok(camera)
}

/// Reads what both a camera and a default class may give.
pub(super) fn read_camera_attributes(node: Node, camera: &mut CameraSpec) -> Result<(), MjcfError> {
    node.exclusive(&["fovy", "sensorsize"])?;
    node.keyword("projection", PROJECTION, &mut camera.orthographic)?;
    node.scalar("fovy", &mut camera.fovy)?;
    node.scalar("ipd", &mut camera.ipd)?;
    node.integers("resolution", &mut camera.resolution)?;
    if let Some(bits) = node.flags("output", OUTPUT)? {
        camera.output = bits;
    }
    node.vector("pos", &mut camera.pos)?;
    read_orientation(node, &mut camera.orientation)?;
    node.keyword("mode", CAM_LIGHT, &mut camera.mode)?;
    node.single("sensorsize", &mut camera.sensor_size)?;
    node.single("focal", &mut camera.focal_length)?;
    node.single("focalpixel", &mut camera.focal_pixel)?;
    node.single("principal", &mut camera.principal_length)?;
    node.single("principalpixel", &mut camera.principal_pixel)?;
    if let Some(user) = node.list("user")? {
        camera.user = user;
    }
    Ok(())
}

fn read_light(node: Node, class: &LightSpec) -> Result<LightSpec, MjcfError> {
    let mut light = LightSpec { name: node.name(), span: node.span(), ..class.clone() };
    node.string("target", &mut light.targetbody);
    read_light_attributes(node, &mut light)?;
    Ok(light)
}

/// Reads what both a light and a default class may give, of the part that is kept.
pub(super) fn read_light_attributes(node: Node, light: &mut LightSpec) -> Result<(), MjcfError> {
    node.exclusive(&["directional", "type"])?;
    node.vector("pos", &mut light.pos)?;
    node.vector("dir", &mut light.dir)?;
    node.keyword("mode", CAM_LIGHT, &mut light.mode)?;
    node.keyword("active", BOOL, &mut light.active)?;
    Ok(())
}
