//! Sensors.

use crate::mjcf::xml::Span;

/// What is measured (`mjtSensor`), in MuJoCo's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SensorType {
    #[default]
    /// Scalar contact normal forces summed over a site.
    Touch,
    /// Linear acceleration of a site, in its frame.
    Accelerometer,
    /// Linear velocity of a site, in its frame.
    Velocimeter,
    /// Angular velocity of a site, in its frame.
    Gyro,
    /// Force between a site's body and its parent.
    Force,
    /// Torque between a site's body and its parent.
    Torque,
    /// Magnetic flux at a site, in its frame.
    Magnetometer,
    /// Distance to the nearest geom along z of a site, or along the rays of a camera.
    Rangefinder,
    /// Pixel coordinates of a site in the image of a camera.
    CamProjection,
    /// Position of a scalar joint.
    JointPos,
    /// Velocity of a scalar joint.
    JointVel,
    /// Tendon length.
    TendonPos,
    /// Tendon velocity.
    TendonVel,
    /// Actuator length.
    ActuatorPos,
    /// Actuator velocity.
    ActuatorVel,
    /// Actuator force.
    ActuatorFrc,
    /// Total actuator force at a joint.
    JointActFrc,
    /// Total actuator force at a tendon.
    TendonActFrc,
    /// Quaternion of a ball joint.
    BallQuat,
    /// Angular velocity of a ball joint.
    BallAngVel,
    /// Distance to a joint limit, minus margin.
    JointLimitPos,
    /// Velocity of a joint limit.
    JointLimitVel,
    /// Force of a joint limit.
    JointLimitFrc,
    /// Distance to a tendon limit, minus margin.
    TendonLimitPos,
    /// Velocity of a tendon limit.
    TendonLimitVel,
    /// Force of a tendon limit.
    TendonLimitFrc,
    /// Position of a frame.
    FramePos,
    /// Orientation of a frame.
    FrameQuat,
    /// X axis of a frame.
    FrameXAxis,
    /// Y axis of a frame.
    FrameYAxis,
    /// Z axis of a frame.
    FrameZAxis,
    /// Linear velocity of a frame.
    FrameLinVel,
    /// Angular velocity of a frame.
    FrameAngVel,
    /// Linear acceleration of a frame.
    FrameLinAcc,
    /// Angular acceleration of a frame.
    FrameAngAcc,
    /// Centre of mass of a subtree.
    SubtreeCom,
    /// Linear velocity of a subtree.
    SubtreeLinVel,
    /// Angular momentum of a subtree about its centre of mass.
    SubtreeAngMom,
    /// 1 if an object is inside a site, else 0.
    InsideSite,
    /// Signed distance between two geoms.
    GeomDist,
    /// Direction from one geom to another.
    GeomNormal,
    /// Nearest points of two geoms.
    GeomFromTo,
    /// Contacts that match.
    Contact,
    /// Potential energy.
    EPotential,
    /// Kinetic energy.
    EKinetic,
    /// Simulation time.
    Clock,
    /// Tactile sensor.
    Tactile,
    /// User-defined.
    User,
}

impl SensorType {
    /// The element's name in MJCF.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Touch => "touch",
            Self::Accelerometer => "accelerometer",
            Self::Velocimeter => "velocimeter",
            Self::Gyro => "gyro",
            Self::Force => "force",
            Self::Torque => "torque",
            Self::Magnetometer => "magnetometer",
            Self::Rangefinder => "rangefinder",
            Self::CamProjection => "camprojection",
            Self::JointPos => "jointpos",
            Self::JointVel => "jointvel",
            Self::TendonPos => "tendonpos",
            Self::TendonVel => "tendonvel",
            Self::ActuatorPos => "actuatorpos",
            Self::ActuatorVel => "actuatorvel",
            Self::ActuatorFrc => "actuatorfrc",
            Self::JointActFrc => "jointactuatorfrc",
            Self::TendonActFrc => "tendonactuatorfrc",
            Self::BallQuat => "ballquat",
            Self::BallAngVel => "ballangvel",
            Self::JointLimitPos => "jointlimitpos",
            Self::JointLimitVel => "jointlimitvel",
            Self::JointLimitFrc => "jointlimitfrc",
            Self::TendonLimitPos => "tendonlimitpos",
            Self::TendonLimitVel => "tendonlimitvel",
            Self::TendonLimitFrc => "tendonlimitfrc",
            Self::FramePos => "framepos",
            Self::FrameQuat => "framequat",
            Self::FrameXAxis => "framexaxis",
            Self::FrameYAxis => "frameyaxis",
            Self::FrameZAxis => "framezaxis",
            Self::FrameLinVel => "framelinvel",
            Self::FrameAngVel => "frameangvel",
            Self::FrameLinAcc => "framelinacc",
            Self::FrameAngAcc => "frameangacc",
            Self::SubtreeCom => "subtreecom",
            Self::SubtreeLinVel => "subtreelinvel",
            Self::SubtreeAngMom => "subtreeangmom",
            Self::InsideSite => "insidesite",
            Self::GeomDist => "distance",
            Self::GeomNormal => "normal",
            Self::GeomFromTo => "fromto",
            Self::Contact => "contact",
            Self::EPotential => "e_potential",
            Self::EKinetic => "e_kinetic",
            Self::Clock => "clock",
            Self::Tactile => "tactile",
            Self::User => "user",
        }
    }
}

/// Kind of a model element that a name refers to (`mjtObj`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ObjType {
    /// Nothing.
    #[default]
    Unknown,
    /// Body, at its inertial frame.
    Body,
    /// Body, at its own frame.
    XBody,
    /// Joint.
    Joint,
    /// Degree of freedom.
    Dof,
    /// Geom.
    Geom,
    /// Site.
    Site,
    /// Camera.
    Camera,
    /// Light.
    Light,
    /// Deformable.
    Flex,
    /// Mesh.
    Mesh,
    /// Skin.
    Skin,
    /// Height field.
    HField,
    /// Texture.
    Texture,
    /// Material.
    Material,
    /// Contact pair.
    Pair,
    /// Contact exclusion.
    Exclude,
    /// Equality constraint.
    Equality,
    /// Tendon.
    Tendon,
    /// Actuator.
    Actuator,
    /// Sensor.
    Sensor,
    /// Custom number.
    Numeric,
    /// Custom text.
    Text,
    /// Custom tuple.
    Tuple,
    /// Keyframe.
    Key,
    /// Plugin instance.
    Plugin,
}

/// What kind of numbers a sensor returns (`mjtDataType`); decides how `cutoff` acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataType {
    /// Any real numbers.
    #[default]
    Real,
    /// Not negative.
    Positive,
    /// A unit vector.
    Axis,
    /// A unit quaternion.
    Quaternion,
}

/// The stage of the pipeline after which a sensor can be read (`mjtStage`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// None.
    None,
    /// Position.
    Pos,
    /// Velocity.
    Vel,
    /// Acceleration and force.
    #[default]
    Acc,
}

/// A sensor (`mjsSensor`).
#[derive(Clone, Debug, Default)]
pub struct SensorSpec {
    /// Name, possibly empty.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// What is measured.
    pub kind: SensorType,
    /// Kind of the measured object.
    pub objtype: ObjType,
    /// Name of the measured object; empty if `objtype` is unknown.
    pub objname: String,
    /// Kind of the reference object.
    pub reftype: ObjType,
    /// Name of the reference object, possibly empty.
    pub refname: String,
    /// Integer parameters. Contact: data bits, reduction, number of slots. Rangefinder: data bits.
    /// Insidesite: 1 if full enclosure is measured.
    pub intprm: [i32; 3],
    /// Kind of output of a user sensor. Of all others the compiler knows it.
    pub datatype: DataType,
    /// Stage of a user sensor.
    pub needstage: Stage,
    /// Number of outputs of a user sensor.
    pub dim: i32,
    /// Bound on the absolute value; 0: none.
    pub cutoff: f64,
    /// Standard deviation of the noise; informative only.
    pub noise: f64,
    /// User data.
    pub user: Vec<f64>,
}
