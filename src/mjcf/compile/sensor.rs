//! Sensors: what they refer to, how many numbers they return, and after which stage.

use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{ObjType, SensorSpec, SensorType};
use crate::model::{DataType, GeomType, JointType, Model, Stage};

use super::context::Context;
use super::convert;
use super::names::Indices;

/// Numbers of each field that a contact sensor can report, by bit: found, force, torque, dist, pos,
/// normal, tangent, linvel, angvel.
const CONTACT_DATA: [usize; 9] = [1, 3, 3, 1, 3, 3, 3, 3, 3];

/// Numbers of each field of a rangefinder: dist, dir, origin, point, normal, depth.
const RAY_DATA: [usize; 6] = [1, 3, 3, 3, 3, 1];

/// Bits of linvel and angvel among them.
const VELOCITIES: i32 = 0b1_1000_0000;

/// The reduction of contacts to one that stands for all.
const NETFORCE: i32 = 3;

/// More numbers than this are a mistake.
const MAX_DIM: usize = 1 << 26;

/// Writes all sensors in file order. `resolutions` are those of the cameras \[pixel\].
///
/// # Errors
/// Unknown names, objects of the wrong kind, numbers out of range.
pub fn write(
    ctx: &Context<'_>,
    names: &Indices<'_>,
    resolutions: &[[i32; 2]],
    m: &mut Model,
) -> Result<(), MjcfError> {
    for spec in &ctx.spec.sensors {
        check_numbers(ctx, spec)?;
        let objid = reference(ctx, names, spec, spec.objtype, &spec.objname, OBJECT)?;
        let refid = reference(ctx, names, spec, spec.reftype, &spec.refname, REFERENCE)?;
        check_object(ctx, spec, objid, refid, m)?;
        check_resolution(ctx, spec, [objid, refid], resolutions)?;
        let (datatype, needstage) = (datatype(spec), needstage(spec));
        let vector = matches!(datatype, DataType::Axis | DataType::Quaternion);
        if spec.cutoff > 0.0 && vector && spec.kind != SensorType::GeomNormal {
            let message = "cutoff cannot be applied to an axis or a quaternion";
            return Err(ctx.attr_error(spec.span, "cutoff", MjcfErrorKind::Invalid, message));
        }
        let dim = dimension(ctx, spec, objid, resolutions, m)?;
        m.names.sensor.push(spec.name.clone());
        m.sensor_type.push(convert::sensor_type(spec.kind));
        m.sensor_datatype.push(datatype);
        m.sensor_needstage.push(needstage);
        m.sensor_objtype.push(object_type(ctx, spec, spec.objtype)?);
        m.sensor_objid.push(objid);
        m.sensor_reftype.push(object_type(ctx, spec, spec.reftype)?);
        m.sensor_refid.push(refid);
        m.sensor_intprm.push(spec.intprm);
        m.sensor_dim.push(dim);
        if dim > MAX_DIM - m.nsensordata {
            return Err(
                ctx.invalid(spec.span, format!("sensors return more than {MAX_DIM} numbers"))
            );
        }
        m.sensor_adr.push(m.nsensordata);
        m.nsensordata += dim;
        m.sensor_cutoff.push(spec.cutoff);
        m.sensor_noise.push(spec.noise);
        m.sensor_delay.push(0.0);
        m.sensor_interval.push([0.0; 2]);
    }
    m.nsensor = m.sensor_type.len();
    Ok(())
}

fn object_type(
    ctx: &Context<'_>,
    spec: &SensorSpec,
    objtype: ObjType,
) -> Result<crate::model::ObjType, MjcfError> {
    let converted = convert::obj_type(objtype);
    converted.ok_or_else(|| ctx.unsupported(spec.span, "sensors of this kind of object are"))
}

/// Attributes in which a measured object may be named.
const OBJECT: &[&str] = &[
    "objname", "site", "joint", "tendon", "actuator", "body", "geom", "camera", "body1", "geom1",
    "subtree1", "mesh",
];

/// Attributes in which a reference may be named.
const REFERENCE: &[&str] = &["refname", "site", "camera", "body2", "geom2", "subtree2", "geom"];

/// Index of the object that a sensor names; none if it names none.
fn reference(
    ctx: &Context<'_>,
    names: &Indices<'_>,
    spec: &SensorSpec,
    objtype: ObjType,
    name: &str,
    attrs: &[&str],
) -> Result<Option<usize>, MjcfError> {
    if objtype == ObjType::Unknown {
        return Ok(None);
    }
    let Some(index) = names.of(objtype) else {
        return Err(ctx.unsupported(spec.span, "sensors of this kind of object are"));
    };
    // the attribute that holds the name depends on the element
    let attr = attrs.iter().find(|a| ctx.attr_value(spec.span, a) == Some(name));
    index.find(ctx, spec.span, attr.unwrap_or(&"objname"), name).map(Some)
}

fn check_numbers(ctx: &Context<'_>, spec: &SensorSpec) -> Result<(), MjcfError> {
    ctx.check_user(spec.span, &spec.user, ctx.spec.size.nuser_sensor)?;
    for (attr, value) in [("noise", spec.noise), ("cutoff", spec.cutoff)] {
        if value < 0.0 {
            let message = format!("{attr} cannot be negative");
            return Err(ctx.attr_error(spec.span, attr, MjcfErrorKind::Invalid, message));
        }
    }
    Ok(())
}

/// The object must be of the kind, and in the state, that the sensor measures.
fn check_object(
    ctx: &Context<'_>,
    spec: &SensorSpec,
    objid: Option<usize>,
    refid: Option<usize>,
    m: &Model,
) -> Result<(), MjcfError> {
    use ObjType as O;
    use SensorType as S;
    let invalid = |message: &str| Err(ctx.invalid(spec.span, message));
    let framed = |t: O| matches!(t, O::Body | O::XBody | O::Geom | O::Site | O::Camera);
    let shaped = |t: O| matches!(t, O::Body | O::Geom);
    if spec.reftype != O::Unknown && spec.kind != S::Contact && !framed(spec.reftype) {
        return invalid("the reference must be a body, xbody, geom, site or camera");
    }
    let fits = match spec.kind {
        S::Touch
        | S::Accelerometer
        | S::Velocimeter
        | S::Gyro
        | S::Force
        | S::Torque
        | S::Magnetometer => spec.objtype == O::Site,
        S::CamProjection => spec.objtype == O::Site && spec.reftype == O::Camera,
        S::Rangefinder => matches!(spec.objtype, O::Site | O::Camera),
        S::JointPos
        | S::JointVel
        | S::JointActFrc
        | S::BallQuat
        | S::BallAngVel
        | S::JointLimitPos
        | S::JointLimitVel
        | S::JointLimitFrc => spec.objtype == O::Joint,
        S::TendonPos
        | S::TendonVel
        | S::TendonActFrc
        | S::TendonLimitPos
        | S::TendonLimitVel
        | S::TendonLimitFrc => spec.objtype == O::Tendon,
        S::ActuatorPos | S::ActuatorVel | S::ActuatorFrc => spec.objtype == O::Actuator,
        S::FramePos
        | S::FrameQuat
        | S::FrameXAxis
        | S::FrameYAxis
        | S::FrameZAxis
        | S::FrameLinVel
        | S::FrameAngVel
        | S::FrameLinAcc
        | S::FrameAngAcc => framed(spec.objtype),
        S::SubtreeCom | S::SubtreeLinVel | S::SubtreeAngMom => spec.objtype == O::Body,
        S::InsideSite => framed(spec.objtype) && spec.reftype == O::Site,
        S::GeomDist | S::GeomNormal | S::GeomFromTo => shaped(spec.objtype) && shaped(spec.reftype),
        S::Tactile => spec.objtype == O::Mesh && spec.reftype == O::Geom,
        S::Contact | S::EPotential | S::EKinetic | S::Clock | S::User => true,
    };
    if !fits {
        return invalid("the sensor cannot be attached to this kind of object");
    }
    let Some(id) = objid else { return Ok(()) };
    match spec.kind {
        S::JointPos | S::JointVel | S::JointActFrc
            if !matches!(m.jnt_type[id], JointType::Hinge | JointType::Slide) =>
        {
            invalid("the joint must be a hinge or a slide")
        }
        S::BallQuat | S::BallAngVel if m.jnt_type[id] != JointType::Ball => {
            invalid("the joint must be a ball")
        }
        S::JointLimitPos | S::JointLimitVel | S::JointLimitFrc if !m.jnt_limited[id] => {
            invalid("the joint must be limited")
        }
        S::TendonLimitPos | S::TendonLimitVel | S::TendonLimitFrc if !m.tendon_limited[id] => {
            invalid("the tendon must be limited")
        }
        S::GeomDist | S::GeomNormal | S::GeomFromTo => {
            let is_hfield = |t: O, i: Option<usize>| {
                t == O::Geom && i.is_some_and(|i| m.geom_type[i] == GeomType::Hfield)
            };
            if spec.objtype == spec.reftype && objid == refid {
                return invalid("the two objects must differ");
            }
            if is_hfield(spec.objtype, objid) || is_hfield(spec.reftype, refid) {
                return invalid("distances to height fields are not defined");
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The camera of a sensor must have pixels.
fn check_resolution(
    ctx: &Context<'_>,
    spec: &SensorSpec,
    [objid, refid]: [Option<usize>; 2],
    resolutions: &[[i32; 2]],
) -> Result<(), MjcfError> {
    let camera = match (spec.kind, spec.objtype) {
        (SensorType::CamProjection, _) => refid,
        (SensorType::Rangefinder, ObjType::Camera) => objid,
        _ => return Ok(()),
    };
    match camera.and_then(|c| resolutions.get(c)) {
        Some(&[width, height]) if width > 0 && height > 0 => Ok(()),
        _ => Err(ctx.invalid(spec.span, "the camera needs a positive resolution")),
    }
}

fn datatype(spec: &SensorSpec) -> DataType {
    use SensorType as S;
    match spec.kind {
        S::User => convert::data_type(spec.datatype),
        S::Touch | S::InsideSite => DataType::Positive,
        S::FrameXAxis | S::FrameYAxis | S::FrameZAxis | S::GeomNormal => DataType::Axis,
        S::BallQuat | S::FrameQuat => DataType::Quaternion,
        _ => DataType::Real,
    }
}

/// The stage after which the numbers are known (`sensorNeedstage`).
fn needstage(spec: &SensorSpec) -> Stage {
    use SensorType as S;
    match spec.kind {
        S::User => convert::stage(spec.needstage),
        S::Contact => contact_stage(spec.intprm),
        S::Touch
        | S::Accelerometer
        | S::Force
        | S::Torque
        | S::ActuatorFrc
        | S::JointActFrc
        | S::TendonActFrc
        | S::JointLimitFrc
        | S::TendonLimitFrc
        | S::FrameLinAcc
        | S::FrameAngAcc => Stage::Acc,
        S::Velocimeter
        | S::Gyro
        | S::JointVel
        | S::TendonVel
        | S::ActuatorVel
        | S::BallAngVel
        | S::JointLimitVel
        | S::TendonLimitVel
        | S::FrameLinVel
        | S::FrameAngVel
        | S::SubtreeLinVel
        | S::SubtreeAngMom
        | S::Tactile => Stage::Vel,
        _ => Stage::Pos,
    }
}

/// A contact sensor needs forces if it reports them or selects by them, velocities if it reports them.
fn contact_stage([data, reduce, _]: [i32; 3]) -> Stage {
    const FORCE_TORQUE: i32 = 0b110;
    const MAXFORCE: i32 = 2;
    if data & FORCE_TORQUE != 0 || reduce >= MAXFORCE {
        Stage::Acc
    } else if data & VELOCITIES != 0 {
        Stage::Vel
    } else {
        Stage::Pos
    }
}

/// How many numbers the sensor returns (`mjs_sensorDim`).
fn dimension(
    ctx: &Context<'_>,
    spec: &SensorSpec,
    objid: Option<usize>,
    resolutions: &[[i32; 2]],
    m: &Model,
) -> Result<usize, MjcfError> {
    use SensorType as S;
    let invalid =
        |attr, message: &str| Err(ctx.attr_error(spec.span, attr, MjcfErrorKind::Invalid, message));
    Ok(match spec.kind {
        S::User => {
            let Ok(dim) = usize::try_from(spec.dim) else {
                return invalid("dim", "dim cannot be negative");
            };
            match datatype(spec) {
                DataType::Axis if dim != 3 => return invalid("dim", "an axis has dim=\"3\""),
                DataType::Quaternion if dim != 4 => {
                    return invalid("dim", "a quaternion has dim=\"4\"");
                }
                _ => {}
            }
            dim
        }
        S::Contact => {
            let [data, reduce, num] = spec.intprm;
            let Some(fields) = selected(&CONTACT_DATA, data) else {
                return invalid("data", "data must select at least one of the fields of a contact");
            };
            let Some(num) = usize::try_from(num).ok().filter(|&n| n > 0) else {
                return invalid("num", "num must be positive");
            };
            if !(0..=NETFORCE).contains(&reduce) {
                return invalid("reduce", "unknown reduction");
            }
            if reduce == NETFORCE && data & VELOCITIES != 0 {
                return invalid("data", "linvel and angvel have no meaning for a net force");
            }
            fields.saturating_mul(num)
        }
        S::Rangefinder => {
            let Some(fields) = selected(&RAY_DATA, spec.intprm[0]) else {
                return invalid("data", "data must select at least one of the fields of a ray");
            };
            let rays = match (spec.objtype, objid.and_then(|c| resolutions.get(c))) {
                (ObjType::Camera, Some(&[w, h])) => {
                    let pixels = i64::from(w) * i64::from(h);
                    usize::try_from(pixels).unwrap_or(0)
                }
                _ => 1,
            };
            fields.saturating_mul(rays)
        }
        S::Tactile => {
            let mesh = objid.and_then(|id| m.mesh.get(id));
            3 * mesh.map_or(0, |mesh| mesh.vert.len())
        }
        S::CamProjection => 2,
        S::BallQuat | S::FrameQuat => 4,
        S::GeomFromTo => 6,
        S::Accelerometer
        | S::Velocimeter
        | S::Gyro
        | S::Force
        | S::Torque
        | S::Magnetometer
        | S::BallAngVel
        | S::FramePos
        | S::FrameXAxis
        | S::FrameYAxis
        | S::FrameZAxis
        | S::FrameLinVel
        | S::FrameAngVel
        | S::FrameLinAcc
        | S::FrameAngAcc
        | S::SubtreeCom
        | S::SubtreeLinVel
        | S::SubtreeAngMom
        | S::GeomNormal => 3,
        _ => 1,
    })
}

/// Total size of the fields selected by bits; none if a bit has no field, or none is set.
fn selected(sizes: &[usize], bits: i32) -> Option<usize> {
    let bits = usize::try_from(bits).ok().filter(|&b| b > 0 && b < 1 << sizes.len())?;
    Some(sizes.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, n)| n).sum())
}
