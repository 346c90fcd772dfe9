//! Names to indices, for every kind of object.

use std::collections::HashMap;

use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::ObjType;
use crate::mjcf::xml::Span;

use super::body::Body;
use super::context::Context;
use super::tree::Tree;

/// Similarity (Jaro–Winkler) above which another name is offered.
const SIMILAR: f64 = 0.75;

/// Objects of one kind by name.
#[derive(Clone, Debug, Default)]
pub struct Index<'a> {
    kind: &'static str,
    by_name: HashMap<&'a str, usize>,
}

impl<'a> Index<'a> {
    /// Indexes objects in order. The empty name is no name.
    ///
    /// # Errors
    /// The same name twice.
    pub fn new(
        ctx: &Context<'_>,
        kind: &'static str,
        objects: impl IntoIterator<Item = (&'a str, Span)>,
    ) -> Result<Self, MjcfError> {
        let mut by_name = HashMap::new();
        let mut first: HashMap<&str, Span> = HashMap::new();
        for (i, (name, span)) in objects.into_iter().enumerate() {
            if name.is_empty() {
                continue;
            }
            if let Some(&other) = first.get(name) {
                let message = format!("the name `{name}` is already that of another {kind}");
                let error = ctx.attr_error(span, "name", MjcfErrorKind::Duplicate, message);
                return Err(error.with_label(other, "first used here"));
            }
            first.insert(name, span);
            by_name.insert(name, i);
        }
        Ok(Self { kind, by_name })
    }

    /// Index of the object of that name.
    pub fn get(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Index of the object that an attribute refers to.
    ///
    /// # Errors
    /// No such object; the nearest name is offered.
    pub fn find(
        &self,
        ctx: &Context<'_>,
        span: Span,
        attr: &str,
        name: &str,
    ) -> Result<usize, MjcfError> {
        let kind = self.kind;
        if let Some(i) = self.get(name) {
            return Ok(i);
        }
        if name.is_empty() {
            let message = format!("`{attr}` must name a {kind}");
            return Err(ctx.error(span, MjcfErrorKind::MissingAttribute, message));
        }
        let message = format!("there is no {kind} `{name}`");
        let error = ctx.attr_error(span, attr, MjcfErrorKind::UnknownName, message);
        Err(match self.nearest(name) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error,
        })
    }

    /// The most similar name; the alphabetically first of several.
    fn nearest(&self, name: &str) -> Option<&'a str> {
        let score = |other: &&str| strsim::jaro_winkler(name, other);
        let mut names: Vec<&str> = self.by_name.keys().copied().collect();
        names.sort_unstable();
        let best = names.into_iter().rev().max_by(|a, b| score(a).total_cmp(&score(b)))?;
        (score(&best) > SIMILAR).then_some(best)
    }

    /// The same names for other objects, given in order; nothing is reported.
    fn retarget(&mut self, objects: impl Iterator<Item = &'a str>) {
        let named = objects.enumerate().filter(|(_, name)| !name.is_empty());
        self.by_name = named.map(|(i, name)| (name, i)).collect();
    }

    /// Renumbers the objects; those without a new number are forgotten.
    pub fn renumber(&mut self, new: &[Option<usize>]) {
        let entries = self.by_name.iter();
        let find = |i: usize| new.get(i).copied().flatten();
        self.by_name = entries.filter_map(|(&name, &i)| Some((name, find(i)?))).collect();
    }
}

/// All names of the model.
#[derive(Clone, Debug, Default)]
pub struct Indices<'a> {
    /// Bodies.
    pub body: Index<'a>,
    /// Joints.
    pub joint: Index<'a>,
    /// Geoms.
    pub geom: Index<'a>,
    /// Sites.
    pub site: Index<'a>,
    /// Cameras.
    pub camera: Index<'a>,
    /// Lights.
    pub light: Index<'a>,
    /// Meshes.
    pub mesh: Index<'a>,
    /// Height fields.
    pub hfield: Index<'a>,
    /// Materials.
    pub material: Index<'a>,
    /// Textures.
    pub texture: Index<'a>,
    /// Tendons.
    pub tendon: Index<'a>,
    /// Actuators.
    pub actuator: Index<'a>,
    /// Sensors.
    pub sensor: Index<'a>,
}

/// `(name, span)` of every element of a list.
macro_rules! named {
    ($list:expr) => {
        $list.iter().map(|x| (x.name.as_str(), x.span))
    };
}

impl<'a> Indices<'a> {
    /// Indexes everything, the objects of the tree in the order of its bodies.
    ///
    /// # Errors
    /// A name that appears twice among objects of one kind.
    pub fn new(ctx: &Context<'a>, tree: &Tree<'a>) -> Result<Self, MjcfError> {
        let spec = ctx.spec;
        let nodes = &tree.nodes;
        let body = nodes.iter().map(|n| (n.name(), n.spec.span));
        let joint = nodes.iter().flat_map(|n| &n.joints);
        let geom = nodes.iter().flat_map(|n| &n.geoms);
        let site = nodes.iter().flat_map(|n| &n.sites);
        let camera = nodes.iter().flat_map(|n| &n.cameras);
        // names that nothing refers to must be unique all the same
        Index::new(ctx, "frame", tree.frames.iter().copied())?;
        Index::new(ctx, "contact pair", named!(spec.pairs))?;
        Index::new(ctx, "exclude", named!(spec.excludes))?;
        Index::new(ctx, "equality constraint", named!(spec.equalities))?;
        Index::new(ctx, "keyframe", named!(spec.keys))?;
        Index::new(ctx, "numeric", named!(spec.numerics))?;
        Index::new(ctx, "text", named!(spec.texts))?;
        Index::new(ctx, "tuple", named!(spec.tuples))?;
        Ok(Self {
            body: Index::new(ctx, "body", body)?,
            joint: Index::new(ctx, "joint", joint.map(|j| (j.spec.name.as_str(), j.spec.span)))?,
            geom: Index::new(ctx, "geom", geom.map(|g| (g.spec.name.as_str(), g.spec.span)))?,
            site: Index::new(ctx, "site", site.map(|s| (s.spec.name.as_str(), s.spec.span)))?,
            camera: Index::new(ctx, "camera", camera.map(|c| (c.spec.name.as_str(), c.spec.span)))?,
            light: Index::new(ctx, "light", tree.lights.iter().map(|l| (l.name.as_str(), l.span)))?,
            mesh: Index::new(ctx, "mesh", named!(spec.meshes))?,
            hfield: Index::new(ctx, "height field", named!(spec.hfields))?,
            material: Index::new(ctx, "material", named!(spec.materials))?,
            texture: Index::new(ctx, "texture", named!(spec.textures))?,
            tendon: Index::new(ctx, "tendon", named!(spec.tendons))?,
            actuator: Index::new(ctx, "actuator", named!(spec.actuators))?,
            sensor: Index::new(ctx, "sensor", named!(spec.sensors))?,
        })
    }

    /// Renumbers what hangs on the tree, after bodies were merged and geoms dropped.
    pub fn update(&mut self, bodies: &[Body<'a>]) {
        self.body.retarget(bodies.iter().map(|b| b.spec.name.as_str()));
        let joints = bodies.iter().flat_map(|b| &b.joints);
        self.joint.retarget(joints.map(|j| j.spec.name.as_str()));
        let geoms = bodies.iter().flat_map(|b| &b.geoms);
        self.geom.retarget(geoms.map(|g| g.spec.name.as_str()));
        let sites = bodies.iter().flat_map(|b| &b.sites);
        self.site.retarget(sites.map(|s| s.spec.name.as_str()));
        let cameras = bodies.iter().flat_map(|b| &b.cameras);
        self.camera.retarget(cameras.map(|c| c.spec.name.as_str()));
    }

    /// The names of objects of a type; none for types that are not indexed.
    pub fn of(&self, objtype: ObjType) -> Option<&Index<'a>> {
        Some(match objtype {
            ObjType::Body | ObjType::XBody => &self.body,
            ObjType::Joint => &self.joint,
            ObjType::Geom => &self.geom,
            ObjType::Site => &self.site,
            ObjType::Camera => &self.camera,
            ObjType::Light => &self.light,
            ObjType::Mesh => &self.mesh,
            ObjType::HField => &self.hfield,
            ObjType::Tendon => &self.tendon,
            ObjType::Actuator => &self.actuator,
            ObjType::Sensor => &self.sensor,
            ObjType::Unknown
            | ObjType::Dof
            | ObjType::Flex
            | ObjType::Skin
            | ObjType::Texture
            | ObjType::Material
            | ObjType::Pair
            | ObjType::Exclude
            | ObjType::Equality
            | ObjType::Numeric
            | ObjType::Text
            | ObjType::Tuple
            | ObjType::Key
            | ObjType::Plugin => return None,
        })
    }
}
