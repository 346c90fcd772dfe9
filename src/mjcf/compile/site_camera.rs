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
}

impl<'a> Camera<'a> {
    /// Resolves the pose.
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
        Ok(Self { spec, pose: placed.frame.map_or(own, |f| f.then(&own)) })
    }
}
