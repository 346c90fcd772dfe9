//! Enumerations as written to enumerations of the model.

use crate::mjcf::spec;
use crate::model;

/// Declares a total conversion between two enumerations with the same variants.
macro_rules! convert {
    ($name:ident, $from:ty => $to:ty { $($a:ident => $b:ident),* $(,)? }) => {
        /// The same variant in the model.
        pub fn $name(x: $from) -> $to {
            match x { $(<$from>::$a => <$to>::$b),* }
        }
    };
}

convert!(joint_type, spec::JointType => model::JointType {
    Free => Free, Ball => Ball, Slide => Slide, Hinge => Hinge,
});

convert!(geom_type, spec::GeomType => model::GeomType {
    Plane => Plane, HField => Hfield, Sphere => Sphere, Capsule => Capsule, Ellipsoid => Ellipsoid,
    Cylinder => Cylinder, Box => Box, Mesh => Mesh, Sdf => Sdf,
});

convert!(cam_mode, spec::CamLightMode => model::CamMode {
    Fixed => Fixed, Track => Track, TrackCom => TrackCom, TargetBody => TargetBody,
    TargetBodyCom => TargetBodyCom,
});

convert!(eq_type, spec::EqualityType => model::EqType {
    Connect => Connect, Weld => Weld, Joint => Joint, Tendon => Tendon, Distance => Distance,
});

convert!(dyn_type, spec::DynType => model::DynType {
    None => None, Integrator => Integrator, Filter => Filter, FilterExact => FilterExact,
    Muscle => Muscle,
});

convert!(gain_type, spec::GainType => model::GainType {
    Fixed => Fixed, Affine => Affine, Muscle => Muscle,
});

convert!(bias_type, spec::BiasType => model::BiasType {
    None => None, Affine => Affine, Muscle => Muscle,
});

convert!(data_type, spec::DataType => model::DataType {
    Real => Real, Positive => Positive, Axis => Axis, Quaternion => Quaternion,
});

convert!(stage, spec::Stage => model::Stage {
    None => None, Pos => Pos, Vel => Vel, Acc => Acc,
});

convert!(integrator, spec::Integrator => model::Integrator {
    Euler => Euler, Rk4 => RK4, Implicit => Implicit, ImplicitFast => ImplicitFast,
});

convert!(cone, spec::Cone => model::Cone { Pyramidal => Pyramidal, Elliptic => Elliptic });

convert!(jacobian, spec::JacobianType => model::JacobianType {
    Dense => Dense, Sparse => Sparse, Auto => Auto,
});

convert!(solver, spec::Solver => model::SolverType { Pgs => Pgs, Cg => Cg, Newton => Newton });

convert!(sensor_type, spec::SensorType => model::SensorType {
    Touch => Touch, Accelerometer => Accelerometer, Velocimeter => Velocimeter, Gyro => Gyro,
    Force => Force, Torque => Torque, Magnetometer => Magnetometer, Rangefinder => Rangefinder,
    CamProjection => CamProjection, JointPos => JointPos, JointVel => JointVel,
    TendonPos => TendonPos, TendonVel => TendonVel, ActuatorPos => ActuatorPos,
    ActuatorVel => ActuatorVel, ActuatorFrc => ActuatorFrc, JointActFrc => JointActFrc,
    TendonActFrc => TendonActFrc, BallQuat => BallQuat, BallAngVel => BallAngVel,
    JointLimitPos => JointLimitPos, JointLimitVel => JointLimitVel,
    JointLimitFrc => JointLimitFrc, TendonLimitPos => TendonLimitPos,
    TendonLimitVel => TendonLimitVel, TendonLimitFrc => TendonLimitFrc, FramePos => FramePos,
    FrameQuat => FrameQuat, FrameXAxis => FrameXAxis, FrameYAxis => FrameYAxis,
    FrameZAxis => FrameZAxis, FrameLinVel => FrameLinVel, FrameAngVel => FrameAngVel,
    FrameLinAcc => FrameLinAcc, FrameAngAcc => FrameAngAcc, SubtreeCom => SubtreeCom,
    SubtreeLinVel => SubtreeLinVel, SubtreeAngMom => SubtreeAngMom, InsideSite => InsideSite,
    GeomDist => GeomDist, GeomNormal => GeomNormal, GeomFromTo => GeomFromTo, Contact => Contact,
    EPotential => EPotential, EKinetic => EKinetic, Clock => Clock, Tactile => Tactile,
    User => User,
});

/// Kind of object in the model; none for kinds that the model does not hold.
pub fn obj_type(x: spec::ObjType) -> Option<model::ObjType> {
    use model::ObjType as M;
    use spec::ObjType as S;
    Some(match x {
        S::Unknown => M::Unknown,
        S::Body => M::Body,
        S::XBody => M::XBody,
        S::Joint => M::Joint,
        S::Dof => M::Dof,
        S::Geom => M::Geom,
        S::Site => M::Site,
        S::Camera => M::Camera,
        S::Light => M::Light,
        S::Mesh => M::Mesh,
        S::HField => M::Hfield,
        S::Pair => M::Pair,
        S::Exclude => M::Exclude,
        S::Equality => M::Equality,
        S::Tendon => M::Tendon,
        S::Actuator => M::Actuator,
        S::Sensor => M::Sensor,
        S::Numeric => M::Numeric,
        S::Text => M::Text,
        S::Tuple => M::Tuple,
        S::Key => M::Key,
        S::Flex | S::Skin | S::Texture | S::Material | S::Plugin => return None,
    })
}
