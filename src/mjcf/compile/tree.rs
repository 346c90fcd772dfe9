//! The tree of bodies as a list, depth first, with frames dissolved.
//!
//! A `frame` has no existence in the model: its pose is composed into everything that it holds. Here
//! each element gets the composed pose of all frames between it and its body.

use crate::mjcf::error::MjcfError;
use crate::mjcf::spec::{
    BodyChild, BodySpec, CameraSpec, FrameSpec, GeomSpec, JointSpec, LightSpec, SiteSpec,
};
use crate::mjcf::xml::Span;

use super::context::Context;
use super::pose::Pose;

/// An element and the frames around it.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a, T> {
    /// The element.
    pub spec: &'a T,
    /// Composed pose of the enclosing frames in the body; none without frames.
    pub frame: Option<Pose>,
}

/// A body and what is attached to it, in file order.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// The body.
    pub spec: &'a BodySpec,
    /// Composed pose of the enclosing frames in the parent body.
    pub frame: Option<Pose>,
    /// Index of the parent; the world is its own.
    pub parent: usize,
    /// Its joints.
    pub joints: Vec<Placed<'a, JointSpec>>,
    /// Its geoms.
    pub geoms: Vec<Placed<'a, GeomSpec>>,
    /// Its sites.
    pub sites: Vec<Placed<'a, SiteSpec>>,
    /// Its cameras.
    pub cameras: Vec<Placed<'a, CameraSpec>>,
}

impl<'a> Node<'a> {
    fn new(spec: &'a BodySpec, frame: Option<Pose>, parent: usize) -> Self {
        Self { spec, frame, parent, joints: vec![], geoms: vec![], sites: vec![], cameras: vec![] }
    }

    /// Name of the body, possibly empty.
    pub fn name(&self) -> &'a str {
        &self.spec.name
    }
}

/// The whole tree.
#[derive(Clone, Debug)]
pub struct Tree<'a> {
    /// Bodies depth first, as MuJoCo numbers them; the world is the first.
    pub nodes: Vec<Node<'a>>,
    /// Lights, kept for their names.
    pub lights: Vec<&'a LightSpec>,
    /// Names of the frames.
    pub frames: Vec<(&'a str, Span)>,
}

impl<'a> Tree<'a> {
    /// Flattens the tree under the world body.
    ///
    /// # Errors
    /// The orientation of a frame cannot be resolved.
    pub fn new(ctx: &Context<'a>) -> Result<Self, MjcfError> {
        let world = Node::new(&ctx.spec.worldbody, None, 0);
        let mut tree = Self { nodes: vec![world], lights: vec![], frames: vec![] };
        tree.add(ctx, 0, None, &ctx.spec.worldbody.children)?;
        Ok(tree)
    }

    /// Adds the contents of a body or frame to body number `body`.
    fn add(
        &mut self,
        ctx: &Context<'a>,
        body: usize,
        frame: Option<Pose>,
        children: &'a [BodyChild],
    ) -> Result<(), MjcfError> {
        for child in children {
            let node = &mut self.nodes[body];
            match child {
                BodyChild::Joint(spec) => node.joints.push(Placed { spec, frame }),
                BodyChild::Geom(spec) => node.geoms.push(Placed { spec, frame }),
                BodyChild::Site(spec) => node.sites.push(Placed { spec, frame }),
                BodyChild::Camera(spec) => node.cameras.push(Placed { spec, frame }),
                BodyChild::Light(spec) => self.lights.push(spec),
                BodyChild::Body(spec) => {
                    let id = self.nodes.len();
                    self.nodes.push(Node::new(spec, frame, body));
                    self.add(ctx, id, None, &spec.children)?;
                }
                BodyChild::Frame(spec) => {
                    self.frames.push((&spec.name, spec.span));
                    let composed = Some(compose(ctx, frame, spec)?);
                    self.add(ctx, body, composed, &spec.children)?;
                }
            }
        }
        Ok(())
    }
}

/// Pose of a frame in its body, given that of the frame around it.
fn compose(ctx: &Context<'_>, outer: Option<Pose>, spec: &FrameSpec) -> Result<Pose, MjcfError> {
    let own = Pose::new(spec.pos.into(), ctx.orientation(spec.span, &spec.orientation)?);
    Ok(outer.map_or(own, |o| o.then(&own)))
}
