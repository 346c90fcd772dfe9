//! Sites and cameras: frames in the body frame.

use nalgebra::Vector3;

use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{CameraSpec, SiteSpec};
use crate::model::GeomType;

use super::asset::Assets;
use super::context::Context;
use super::convert;
use super::geom::{check_size, place};
use super::names::Indices;
use super::pose::Pose;
use super::tree::Placed;

/// A site in its body.
#[derive(Clone, Debug)]
pub struct Site<'a> {
    /// As written.
    pub spec: &'a SiteSpec,
    /// Shape.
    pub kind: GeomType,
    /// Pose in the body frame.
    pub pose: Pose,
    /// Size by shape \[m\].
    pub size: Vector3<f64>,
    /// Mesh of a mesh site.
    pub mesh: Option<usize>,
}

impl<'a> Site<'a> {
    /// Resolves pose and size.
    ///
    /// # Errors
    /// A shape that sites cannot have, bad sizes, an unknown mesh or material.
    pub fn new(
        ctx: &Context<'a>,
        names: &Indices<'a>,
        assets: &Assets,
        placed: &Placed<'a, SiteSpec>,
    ) -> Result<Self, MjcfError> {
        let spec = placed.spec;
        let kind = convert::geom_type(spec.kind);
        let invalid = |attr, message: &str| {
            Err(ctx.attr_error(spec.span, attr, MjcfErrorKind::Invalid, message))
        };
        ctx.check_user(spec.span, &spec.user, ctx.spec.size.nuser_site)?;
        if matches!(kind, GeomType::Hfield | GeomType::Plane | GeomType::Sdf) {
            return invalid("type", "a site cannot be a plane, a height field or an sdf");
        }
        if (kind == GeomType::Mesh) == spec.meshname.is_empty() {
            return invalid("type", "type=\"mesh\" and the attribute `mesh` go together");
        }
        if !spec.material.is_empty() {
            names.material.find(ctx, spec.span, "material", &spec.material)?;
        }
        let mut size = Vector3::from(spec.size);
        let own =
            place(ctx, spec.span, kind, &spec.pos, &spec.orientation, spec.fromto, &mut size)?;
        let mut mesh = None;
        if kind == GeomType::Mesh {
            // the frame of a mesh site is the site's, not the mesh's
            let id = names.mesh.find(ctx, spec.span, "mesh", &spec.meshname)?;
            mesh = Some(id);
            size = assets.mesh(id).map_or(size, |m| m.geom_size().into());
        }
        check_size(ctx, spec.span, kind, &size)?;
        let pose = placed.frame.map_or(own, |f| f.then(&own));
        Ok(Self { spec, kind, pose, size, mesh })
    }
}

/// A camera in its body.
#[derive(Clone, Debug)]
pub struct Camera<'a> {
    /// As written.
    pub spec: &'a CameraSpec,
    /// Pose in the body frame.
    pub pose: Pose,
    /// Vertical field of view \[degree\]; height of the image \[m\] if orthographic.
    pub fovy: f64,
    /// Size of the sensor \[m\]; zeros if none is given.
    pub sensor_size: [f64; 2],
    /// Focal lengths and principal point \[m\], if the sensor has a size.
    pub intrinsic: [f64; 4],
}

impl<'a> Camera<'a> {
    /// Resolves pose and intrinsics.
    ///
    /// # Errors
    /// A bad orientation or contradictory intrinsics.
    pub fn new(ctx: &Context<'a>, placed: &Placed<'a, CameraSpec>) -> Result<Self, MjcfError> {
        let spec = placed.spec;
        ctx.check_user(spec.span, &spec.user, ctx.spec.size.nuser_cam)?;
        let invalid = |attr, message: &str| {
            Err(ctx.attr_error(spec.span, attr, MjcfErrorKind::Invalid, message))
        };
        if !spec.orthographic && spec.fovy >= 180.0 {
            return invalid("fovy", "fovy must be below 180 degrees");
        }
        let lengths = [spec.focal_length, spec.focal_pixel, spec.principal_length]
            .into_iter()
            .chain([spec.principal_pixel]);
        let has_intrinsic = lengths.flatten().any(|x| x != 0.0);
        let has_sensor = spec.sensor_size.iter().all(|&s| s > 0.0);
        if has_intrinsic && !has_sensor {
            return invalid("sensorsize", "focal and principal need sensorsize");
        }
        if has_sensor && spec.resolution.iter().any(|&r| r <= 0) {
            return invalid("resolution", "sensorsize needs a positive resolution");
        }
        let own = Pose::new(spec.pos.into(), ctx.orientation(spec.span, &spec.orientation)?);
        let pose = placed.frame.map_or(own, |f| f.then(&own));
        let Some(intrinsic) = has_sensor.then(|| intrinsic(spec)) else {
            let (fovy, sensor_size, intrinsic) = (spec.fovy, [0.0; 2], [0.0; 4]);
            return Ok(Self { spec, pose, fovy, sensor_size, intrinsic });
        };
        let fovy = 2.0 * (0.5 * spec.sensor_size[1]).atan2(intrinsic[1]).to_degrees();
        Ok(Self { spec, pose, fovy, sensor_size: spec.sensor_size, intrinsic })
    }
}

/// Focal lengths and principal point \[m\]; what is given in pixels goes first. In single precision, as in MuJoCo.
#[expect(clippy::cast_possible_truncation, reason = "single precision is the point")]
fn intrinsic(spec: &CameraSpec) -> [f64; 4] {
    let metres = |axis: usize, pixel: [f64; 2], length: [f64; 2]| {
        let density = f64::from(spec.resolution[axis]) as f32 / spec.sensor_size[axis] as f32;
        let pixel = pixel[axis] as f32;
        f64::from(if pixel == 0.0 { length[axis] as f32 } else { pixel / density })
    };
    let focal = |axis| metres(axis, spec.focal_pixel, spec.focal_length);
    let principal = |axis| metres(axis, spec.principal_pixel, spec.principal_length);
    [focal(0), focal(1), principal(0), principal(1)]
}
