//! Geoms: shape and pose in the body frame, mass and inertia, bounds.

use nalgebra::Vector3;

use crate::math::Quat;
use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::mesh::{FitShape, GeomMass, Mesh};
use crate::mjcf::spec::{GeomInertia, GeomSpec};
use crate::model::GeomType;

use super::asset::Assets;
use super::context::Context;
use super::convert;
use super::inertia::EPS;
use super::names::Indices;
use super::orientation::z_to;
use super::pose::Pose;
use super::primitive;
use super::tree::Placed;

/// Half sizes of an infinite plane's bounding box (`mjMAXVAL`).
const INFINITE: f64 = 1e10;

/// A geom in its body.
#[derive(Clone, Debug)]
pub struct Geom<'a> {
    /// As written.
    pub spec: &'a GeomSpec,
    /// Shape; that of a fitted primitive if one is fitted.
    pub kind: GeomType,
    /// Pose in the body frame.
    pub pose: Pose,
    /// Size by shape \[m\].
    pub size: Vector3<f64>,
    /// Mesh of a mesh geom.
    pub mesh: Option<usize>,
    /// Height field of a height field geom.
    pub hfield: Option<usize>,
    /// Mass \[kg\]; 0 if it does not count for the body's inertia.
    pub mass: f64,
    /// Principal moments along the geom's axes [kg·m²].
    pub inertia: Vector3<f64>,
    /// Surface velocity in the geom frame: linear, angular.
    pub surfacevel: [f64; 6],
    /// Bounding box: centre, half sizes \[m\].
    pub aabb: [f64; 6],
    /// Radius of the bounding sphere, 0 for planes \[m\].
    pub rbound: f64,
    /// False if its colour, or that of its material, is transparent.
    pub visible: bool,
}

impl<'a> Geom<'a> {
    /// Resolves shape, pose and size; mass and inertia if `infer`.
    ///
    /// # Errors
    /// Sizes, references or masses that make no geom.
    pub fn new(
        ctx: &Context<'a>,
        names: &Indices<'a>,
        assets: &Assets,
        placed: &Placed<'a, GeomSpec>,
        infer: bool,
    ) -> Result<Self, MjcfError> {
        let spec = placed.spec;
        let kind = convert::geom_type(spec.kind);
        let visible = check(ctx, names, spec, kind)?;

        let mut size = Vector3::from(spec.size);
        let pose =
            place(ctx, spec.span, kind, &spec.pos, &spec.orientation, spec.fromto, &mut size)?;
        let mut geom = Self {
            spec,
            kind,
            pose,
            size,
            mesh: None,
            hfield: None,
            mass: 0.0,
            inertia: Vector3::zeros(),
            surfacevel: spec.surfacevel,
            aabb: [0.0; 6],
            rbound: 0.0,
            visible,
        };
        if !spec.hfieldname.is_empty() {
            geom.hfield = Some(names.hfield.find(ctx, spec.span, "hfield", &spec.hfieldname)?);
        }
        if !spec.meshname.is_empty() {
            geom.take_mesh(ctx, names, assets)?;
        }
        check_size(ctx, spec.span, kind, &geom.size)?;
        geom.set_bounds(ctx, assets);
        if infer {
            geom.set_mass(ctx, assets)?;
        }
        if let Some(frame) = placed.frame {
            geom.pose = frame.then(&geom.pose);
        }
        Ok(geom)
    }

    /// Composes the mesh frame into the geom frame; fits a primitive if the geom is one.
    fn take_mesh(
        &mut self,
        ctx: &Context<'a>,
        names: &Indices<'a>,
        assets: &Assets,
    ) -> Result<(), MjcfError> {
        let spec = self.spec;
        let id = names.mesh.find(ctx, spec.span, "mesh", &spec.meshname)?;
        let Some(mesh) = assets.mesh(id) else {
            return Err(ctx.invalid(spec.span, "the mesh is not loaded"));
        };
        if spec.fromto.is_some() {
            let message = "fromto cannot be used together with a mesh";
            return Err(ctx.attr_error(spec.span, "fromto", MjcfErrorKind::Invalid, message));
        }
        let mut center = [0.0; 3];
        if self.kind == GeomType::Mesh {
            if spec.typeinertia == GeomInertia::Shell {
                let message = "the inertia of a mesh geom is chosen in the mesh asset";
                let attr = "shellinertia";
                return Err(ctx.attr_error(spec.span, attr, MjcfErrorKind::Invalid, message));
            }
            self.mesh = Some(id);
            self.size = mesh.geom_size().into();
        } else if let Some(shape) = fit_shape(self.kind) {
            let fitaabb = ctx.spec.compiler.fitaabb;
            let (size, at) = mesh.fit(shape, fitaabb, spec.fitscale, self.size.into());
            self.size = size.into();
            center = at;
        } else {
            let message =
                "only spheres, capsules, cylinders, ellipsoids and boxes can be fitted to a mesh";
            return Err(ctx.attr_error(spec.span, "type", MjcfErrorKind::Invalid, message));
        }
        self.transform(mesh, center);
        Ok(())
    }

    /// Moves the geom frame to that of its mesh, or to the centre of what was fitted to it.
    fn transform(&mut self, mesh: &Mesh, center: [f64; 3]) {
        let quat = Quat::from_slice(&mesh.quat);
        let offset = quat.rotate(&center.into()) + Vector3::from(mesh.pos);
        self.pose = self.pose.then(&Pose::new(offset, quat));
        if self.surfacevel == [0.0; 6] {
            return;
        }
        // the velocity field of a rigid body, seen from another frame
        let [x, y, z, a, b, c] = self.surfacevel;
        let angular = Vector3::new(a, b, c);
        let linear = Vector3::new(x, y, z) + angular.cross(&offset);
        let (linear, angular) = (quat.conj().rotate(&linear), quat.conj().rotate(&angular));
        self.surfacevel = [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z];
    }

    /// Bounding box and sphere; sizes of height fields.
    fn set_bounds(&mut self, ctx: &Context<'_>, assets: &Assets) {
        let s = self.size;
        let centred = |x: f64, y: f64, z: f64| [0.0, 0.0, 0.0, x, y, z];
        (self.aabb, self.rbound) = match self.kind {
            GeomType::Plane => {
                let half = INFINITE / 2.0;
                ([0.0, 0.0, -half, INFINITE, INFINITE, half], 0.0)
            }
            GeomType::Hfield => {
                let Some(h) = self.hfield.and_then(|h| ctx.spec.hfields.get(h)) else { return };
                let [x, y, top, base] = h.size;
                self.size = Vector3::new(x, y, 0.25 * top + 0.5 * base);
                let (low, high) = (-base, top);
                let centre = f64::midpoint(low, high);
                let radius = (x * x + y * y + (top * top).max(base * base)).sqrt();
                ([0.0, 0.0, centre, x, y, (high - low) / 2.0], radius)
            }
            GeomType::Sphere => (centred(s.x, s.x, s.x), s.x),
            GeomType::Capsule => (centred(s.x, s.x, s.x + s.y), s.x + s.y),
            GeomType::Cylinder => (centred(s.x, s.x, s.y), s.x.hypot(s.y)),
            GeomType::Ellipsoid => (centred(s.x, s.y, s.z), s.max()),
            GeomType::Box => (centred(s.x, s.y, s.z), s.norm()),
            GeomType::Mesh | GeomType::Sdf => match self.mesh.and_then(|m| assets.mesh(m)) {
                Some(mesh) => (mesh.aabb(), mesh.rbound()),
                None => return,
            },
        };
    }

    /// Mass from mass or density, and the inertia that goes with it.
    fn set_mass(&mut self, ctx: &Context<'a>, assets: &Assets) -> Result<(), MjcfError> {
        let spec = self.spec;
        let shell = spec.typeinertia == GeomInertia::Shell;
        let mesh = self.mesh.and_then(|m| assets.mesh(m));
        let volume =
            mesh.map_or_else(|| primitive::volume(self.kind, &self.size, shell), |m| m.volume);
        let mass = match spec.mass {
            Some(mass) if volume > EPS => mass,
            Some(_) => 0.0,
            None => spec.density * volume,
        };
        if mass < 0.0 || spec.density < 0.0 {
            let attr = if spec.mass.is_some() { "mass" } else { "density" };
            let message = "mass and density cannot be negative";
            return Err(ctx.attr_error(spec.span, attr, MjcfErrorKind::Invalid, message));
        }
        self.mass = mass;
        if mass > 0.0 {
            self.inertia = match mesh {
                Some(mesh) => mesh.mass_properties(GeomMass::Mass(mass)).inertia.into(),
                None => primitive::inertia(self.kind, &self.size, mass, shell),
            };
        }
        Ok(())
    }

    /// True if the geom collides with nothing: it only serves display.
    pub fn is_visual(&self) -> bool {
        self.spec.contype == 0 && self.spec.conaffinity == 0
    }
}

/// What can be checked without assets; whether the geom is visible.
fn check(
    ctx: &Context<'_>,
    names: &Indices<'_>,
    spec: &GeomSpec,
    kind: GeomType,
) -> Result<bool, MjcfError> {
    let invalid =
        |attr, message: &str| Err(ctx.attr_error(spec.span, attr, MjcfErrorKind::Invalid, message));
    ctx.check_user(spec.span, &spec.user, ctx.spec.size.nuser_geom)?;
    if !matches!(spec.condim, 1 | 3 | 4 | 6) {
        return invalid("condim", "condim must be 1, 3, 4 or 6");
    }
    if kind == GeomType::Sdf {
        return Err(ctx.unsupported(spec.span, "signed distance fields are"));
    }
    if kind == GeomType::Mesh && spec.meshname.is_empty() {
        return invalid("type", "a geom of type mesh needs the attribute `mesh`");
    }
    if (kind == GeomType::Hfield) == spec.hfieldname.is_empty() {
        return invalid("type", "type=\"hfield\" and the attribute `hfield` go together");
    }
    let rgba = if spec.material.is_empty() {
        spec.rgba
    } else {
        let id = names.material.find(ctx, spec.span, "material", &spec.material)?;
        ctx.spec.materials[id].rgba
    };
    Ok(rgba[3] != 0.0)
}

/// Pose and, with `fromto`, size of a geom or site. A segment is the axis of the shape, from its second
/// point to its first.
///
/// # Errors
/// A shape without axis, a segment without length, a bad orientation.
pub fn place(
    ctx: &Context<'_>,
    span: crate::mjcf::xml::Span,
    kind: GeomType,
    pos: &[f64; 3],
    orientation: &crate::mjcf::spec::Orientation,
    fromto: Option<[f64; 6]>,
    size: &mut Vector3<f64>,
) -> Result<Pose, MjcfError> {
    let Some([x1, y1, z1, x2, y2, z2]) = fromto else {
        return Ok(Pose::new((*pos).into(), ctx.orientation(span, orientation)?));
    };
    let invalid =
        |message: &str| Err(ctx.attr_error(span, "fromto", MjcfErrorKind::Invalid, message));
    let long = match kind {
        GeomType::Capsule | GeomType::Cylinder => false,
        GeomType::Ellipsoid | GeomType::Box => true,
        _ => return invalid("fromto needs a capsule, cylinder, box or ellipsoid"),
    };
    if *pos != [0.0; 3] {
        return invalid("both pos and fromto are given");
    }
    let (from, to) = (Vector3::new(x1, y1, z1), Vector3::new(x2, y2, z2));
    let length = (from - to).norm();
    if length.is_nan() || length < EPS.sqrt() {
        return invalid("the two points of fromto are too close");
    }
    if long {
        (size.y, size.z) = (size.x, length / 2.0);
    } else {
        size.y = length / 2.0;
    }
    Ok(Pose::new((from + to) / 2.0, z_to(&((from - to) / length))))
}

/// Sizes that a shape uses must be positive.
///
/// # Errors
/// A size is zero, negative or not a number.
pub fn check_size(
    ctx: &Context<'_>,
    span: crate::mjcf::xml::Span,
    kind: GeomType,
    size: &Vector3<f64>,
) -> Result<(), MjcfError> {
    let used = match kind {
        GeomType::Plane => 2..3,
        GeomType::Sphere => 0..1,
        GeomType::Capsule | GeomType::Cylinder => 0..2,
        GeomType::Ellipsoid | GeomType::Box => 0..3,
        GeomType::Hfield | GeomType::Mesh | GeomType::Sdf => 0..0,
    };
    for i in used {
        if size[i].is_nan() || size[i] <= 0.0 {
            let message = format!("size[{i}] must be positive, found {}", size[i]);
            return Err(ctx.attr_error(span, "size", MjcfErrorKind::Invalid, message));
        }
    }
    if size.iter().any(|s| s.is_nan()) {
        let message = "a size is not a number";
        return Err(ctx.attr_error(span, "size", MjcfErrorKind::Invalid, message));
    }
    Ok(())
}

fn fit_shape(kind: GeomType) -> Option<FitShape> {
    Some(match kind {
        GeomType::Sphere => FitShape::Sphere,
        GeomType::Capsule => FitShape::Capsule,
        GeomType::Cylinder => FitShape::Cylinder,
        GeomType::Ellipsoid => FitShape::Ellipsoid,
        GeomType::Box => FitShape::Box,
        GeomType::Plane | GeomType::Hfield | GeomType::Mesh | GeomType::Sdf => return None,
    })
}
