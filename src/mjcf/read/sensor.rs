//! `sensor`: every type is read, whether or not its values can be computed yet.

use super::attr::{Keyword, Node};
use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{DataType, ObjType, SensorSpec, SensorType, Spec, Stage};

/// Keywords of [`ObjType`].
pub(super) const OBJECT: &[Keyword<ObjType>] = &[
    ("body", ObjType::Body),
    ("xbody", ObjType::XBody),
    ("joint", ObjType::Joint),
    ("dof", ObjType::Dof),
    ("geom", ObjType::Geom),
    ("site", ObjType::Site),
    ("camera", ObjType::Camera),
    ("light", ObjType::Light),
    ("flex", ObjType::Flex),
    ("mesh", ObjType::Mesh),
    ("skin", ObjType::Skin),
    ("hfield", ObjType::HField),
    ("texture", ObjType::Texture),
    ("material", ObjType::Material),
    ("pair", ObjType::Pair),
    ("exclude", ObjType::Exclude),
    ("equality", ObjType::Equality),
    ("tendon", ObjType::Tendon),
    ("actuator", ObjType::Actuator),
    ("sensor", ObjType::Sensor),
    ("numeric", ObjType::Numeric),
    ("text", ObjType::Text),
    ("tuple", ObjType::Tuple),
    ("key", ObjType::Key),
    ("plugin", ObjType::Plugin),
];

const FRAME_OBJECT: &[Keyword<ObjType>] = &[
    ("body", ObjType::Body),
    ("xbody", ObjType::XBody),
    ("geom", ObjType::Geom),
    ("site", ObjType::Site),
    ("camera", ObjType::Camera),
];

const RAY_DATA: &[Keyword<i32>] =
    &[("dist", 1), ("dir", 2), ("origin", 4), ("point", 8), ("normal", 16), ("depth", 32)];

const CONTACT_DATA: &[Keyword<i32>] = &[
    ("found", 1),
    ("force", 2),
    ("torque", 4),
    ("dist", 8),
    ("pos", 16),
    ("normal", 32),
    ("tangent", 64),
    ("linvel", 128),
    ("angvel", 256),
];

const REDUCE: &[Keyword<i32>] = &[("none", 0), ("mindist", 1), ("maxforce", 2), ("netforce", 3)];

const STAGE: &[Keyword<Stage>] =
    &[("none", Stage::None), ("pos", Stage::Pos), ("vel", Stage::Vel), ("acc", Stage::Acc)];

const DATA_TYPE: &[Keyword<DataType>] = &[
    ("real", DataType::Real),
    ("positive", DataType::Positive),
    ("axis", DataType::Axis),
    ("quaternion", DataType::Quaternion),
];

/// How a sensor names what it measures.
#[derive(Clone, Copy)]
enum Form {
    /// One required attribute, which is also the kind of the object.
    One(&'static str, ObjType),
    /// `objtype` and `objname`, and possibly `reftype` and `refname`.
    Frame,
    /// Nothing: the sensor is about the whole model.
    Model,
    /// A form of its own.
    CamProjection,
    RangeFinder,
    InsideSite,
    Distance,
    Contact,
    Tactile,
    User,
}

use SensorType as S;

const SENSORS: [(SensorType, Form); 48] = [
    (S::Touch, Form::One("site", ObjType::Site)),
    (S::Accelerometer, Form::One("site", ObjType::Site)),
    (S::Velocimeter, Form::One("site", ObjType::Site)),
    (S::Gyro, Form::One("site", ObjType::Site)),
    (S::Force, Form::One("site", ObjType::Site)),
    (S::Torque, Form::One("site", ObjType::Site)),
    (S::Magnetometer, Form::One("site", ObjType::Site)),
    (S::Rangefinder, Form::RangeFinder),
    (S::CamProjection, Form::CamProjection),
    (S::JointPos, Form::One("joint", ObjType::Joint)),
    (S::JointVel, Form::One("joint", ObjType::Joint)),
    (S::TendonPos, Form::One("tendon", ObjType::Tendon)),
    (S::TendonVel, Form::One("tendon", ObjType::Tendon)),
    (S::ActuatorPos, Form::One("actuator", ObjType::Actuator)),
    (S::ActuatorVel, Form::One("actuator", ObjType::Actuator)),
    (S::ActuatorFrc, Form::One("actuator", ObjType::Actuator)),
    (S::JointActFrc, Form::One("joint", ObjType::Joint)),
    (S::TendonActFrc, Form::One("tendon", ObjType::Tendon)),
    (S::BallQuat, Form::One("joint", ObjType::Joint)),
    (S::BallAngVel, Form::One("joint", ObjType::Joint)),
    (S::JointLimitPos, Form::One("joint", ObjType::Joint)),
    (S::JointLimitVel, Form::One("joint", ObjType::Joint)),
    (S::JointLimitFrc, Form::One("joint", ObjType::Joint)),
    (S::TendonLimitPos, Form::One("tendon", ObjType::Tendon)),
    (S::TendonLimitVel, Form::One("tendon", ObjType::Tendon)),
    (S::TendonLimitFrc, Form::One("tendon", ObjType::Tendon)),
    (S::FramePos, Form::Frame),
    (S::FrameQuat, Form::Frame),
    (S::FrameXAxis, Form::Frame),
    (S::FrameYAxis, Form::Frame),
    (S::FrameZAxis, Form::Frame),
    (S::FrameLinVel, Form::Frame),
    (S::FrameAngVel, Form::Frame),
    (S::FrameLinAcc, Form::Frame),
    (S::FrameAngAcc, Form::Frame),
    (S::SubtreeCom, Form::One("body", ObjType::Body)),
    (S::SubtreeLinVel, Form::One("body", ObjType::Body)),
    (S::SubtreeAngMom, Form::One("body", ObjType::Body)),
    (S::InsideSite, Form::InsideSite),
    (S::GeomDist, Form::Distance),
    (S::GeomNormal, Form::Distance),
    (S::GeomFromTo, Form::Distance),
    (S::Contact, Form::Contact),
    (S::EPotential, Form::Model),
    (S::EKinetic, Form::Model),
    (S::Clock, Form::Model),
    (S::Tactile, Form::Tactile),
    (S::User, Form::User),
];

/// Reads a `sensor` section.
pub(super) fn read_section(section: Node, spec: &mut Spec) -> Result<(), MjcfError> {
    for node in section.children() {
        spec.sensors.push(read_sensor(node)?);
    }
    Ok(())
}

fn read_sensor(node: Node) -> Result<SensorSpec, MjcfError> {
    let Some(&(kind, form)) = SENSORS.iter().find(|(kind, _)| kind.keyword() == node.tag()) else {
        return Err(node.unsupported("plugins are"));
    };
    let mut sensor =
        SensorSpec { name: node.name(), span: node.span(), kind, ..SensorSpec::default() };
    refuse_history(node)?;
    node.scalar("cutoff", &mut sensor.cutoff)?;
    if sensor.cutoff < 0.0 {
        let message = format!("attribute `cutoff` must not be negative, found {}", sensor.cutoff);
        return Err(node.error_at("cutoff", MjcfErrorKind::Invalid, message));
    }
    node.scalar("noise", &mut sensor.noise)?;
    sensor.user = node.list("user")?.unwrap_or_default();
    match form {
        Form::One(attr, objtype) => {
            sensor.objtype = objtype;
            node.required_text(attr)?.clone_into(&mut sensor.objname);
        }
        Form::Model => {}
        Form::Frame => read_frame(node, &mut sensor)?,
        Form::CamProjection => {
            (sensor.objtype, sensor.reftype) = (ObjType::Site, ObjType::Camera);
            node.required_text("site")?.clone_into(&mut sensor.objname);
            node.required_text("camera")?.clone_into(&mut sensor.refname);
        }
        Form::RangeFinder => read_rangefinder(node, &mut sensor)?,
        Form::InsideSite => read_insidesite(node, &mut sensor)?,
        Form::Distance => read_distance(node, &mut sensor)?,
        Form::Contact => read_contact(node, &mut sensor)?,
        Form::Tactile => {
            (sensor.objtype, sensor.reftype) = (ObjType::Mesh, ObjType::Geom);
            node.required_text("mesh")?.clone_into(&mut sensor.objname);
            node.required_text("geom")?.clone_into(&mut sensor.refname);
        }
        Form::User => read_user(node, &mut sensor)?,
    }
    Ok(sensor)
}

/// Delays and sampling intervals need a history buffer in the state.
fn refuse_history(node: Node) -> Result<(), MjcfError> {
    for attr in ["nsample", "delay", "interval"] {
        if node.list(attr)?.is_some_and(|values| values.iter().any(|x| *x != 0.0)) {
            return Err(node.unsupported_at(attr, "delays and histories of sensors are"));
        }
    }
    Ok(())
}

fn read_frame(node: Node, sensor: &mut SensorSpec) -> Result<(), MjcfError> {
    read_frame_object(node, sensor)?;
    match (node.text("reftype"), node.text("refname")) {
        (Some(_), Some(name)) => name.clone_into(&mut sensor.refname),
        (None, None) => {}
        _ => {
            let message = "attributes `reftype` and `refname` come together";
            return Err(node.error(MjcfErrorKind::MissingAttribute, message));
        }
    }
    node.keyword("reftype", FRAME_OBJECT, &mut sensor.reftype)?;
    Ok(())
}

fn read_frame_object(node: Node, sensor: &mut SensorSpec) -> Result<(), MjcfError> {
    node.required_text("objtype")?;
    node.keyword("objtype", FRAME_OBJECT, &mut sensor.objtype)?;
    node.required_text("objname")?.clone_into(&mut sensor.objname);
    Ok(())
}

fn read_rangefinder(node: Node, sensor: &mut SensorSpec) -> Result<(), MjcfError> {
    (sensor.objtype, sensor.objname) =
        one_of(node, &[("site", ObjType::Site), ("camera", ObjType::Camera)])?;
    sensor.intprm[0] = node.ordered_flags("data", RAY_DATA)?.unwrap_or(1);
    Ok(())
}

fn read_insidesite(node: Node, sensor: &mut SensorSpec) -> Result<(), MjcfError> {
    sensor.reftype = ObjType::Site;
    node.required_text("site")?.clone_into(&mut sensor.refname);
    read_frame_object(node, sensor)?;
    let mut enclosed = false;
    node.boolean("enclosed", &mut enclosed)?;
    sensor.intprm[0] = i32::from(enclosed);
    Ok(())
}

fn read_distance(node: Node, sensor: &mut SensorSpec) -> Result<(), MjcfError> {
    (sensor.objtype, sensor.objname) =
        one_of(node, &[("body1", ObjType::Body), ("geom1", ObjType::Geom)])?;
    (sensor.reftype, sensor.refname) =
        one_of(node, &[("body2", ObjType::Body), ("geom2", ObjType::Geom)])?;
    Ok(())
}

fn read_contact(node: Node, sensor: &mut SensorSpec) -> Result<(), MjcfError> {
    let first = [
        ("site", ObjType::Site),
        ("body1", ObjType::Body),
        ("subtree1", ObjType::XBody),
        ("geom1", ObjType::Geom),
    ];
    let second = [("body2", ObjType::Body), ("subtree2", ObjType::XBody), ("geom2", ObjType::Geom)];
    (sensor.objtype, sensor.objname) = at_most_one_of(node, &first)?.unwrap_or_default();
    (sensor.reftype, sensor.refname) = at_most_one_of(node, &second)?.unwrap_or_default();
    let data = node.ordered_flags("data", CONTACT_DATA)?.unwrap_or(1);
    let (mut reduce, mut num) = (0, 1);
    node.keyword("reduce", REDUCE, &mut reduce)?;
    node.integer("num", &mut num)?;
    if num <= 0 {
        let message = format!("attribute `num` must be positive, found {num}");
        return Err(node.error_at("num", MjcfErrorKind::BadValue, message));
    }
    sensor.intprm = [data, reduce, num];
    Ok(())
}

fn read_user(node: Node, sensor: &mut SensorSpec) -> Result<(), MjcfError> {
    match (node.text("objtype"), node.text("objname")) {
        (Some(_), Some(name)) => name.clone_into(&mut sensor.objname),
        (None, None) => {}
        _ => {
            let message = "attributes `objtype` and `objname` come together";
            return Err(node.error(MjcfErrorKind::MissingAttribute, message));
        }
    }
    node.keyword("objtype", OBJECT, &mut sensor.objtype)?;
    node.required_text("dim")?;
    node.integer("dim", &mut sensor.dim)?;
    node.keyword("needstage", STAGE, &mut sensor.needstage)?;
    node.keyword("datatype", DATA_TYPE, &mut sensor.datatype)?;
    Ok(())
}

/// The object that one of several attributes names, none or one of them being given.
fn at_most_one_of(
    node: Node,
    attrs: &[(&str, ObjType)],
) -> Result<Option<(ObjType, String)>, MjcfError> {
    let names: Vec<&str> = attrs.iter().map(|(attr, _)| *attr).collect();
    node.exclusive(&names)?;
    let named = |(attr, objtype): &(&str, ObjType)| Some((*objtype, node.text(attr)?.to_owned()));
    Ok(attrs.iter().find_map(named))
}

fn one_of(node: Node, attrs: &[(&str, ObjType); 2]) -> Result<(ObjType, String), MjcfError> {
    at_most_one_of(node, attrs)?.ok_or_else(|| {
        let message = format!("needs attribute `{}` or `{}`", attrs[0].0, attrs[1].0);
        node.error(MjcfErrorKind::MissingAttribute, message)
    })
}
