//! Kinds of joints, geoms, actuators, sensors, …: MuJoCo's enumerations under its numbers (`mjtype.h`).

/// Declares an enumeration with MuJoCo's numeric values.
macro_rules! numbered {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $value:expr),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum $name { $($(#[$vmeta])* $variant = $value),* }

        impl $name {
            /// MuJoCo's number.
            #[inline]
            pub fn code(self) -> i32 {
                self as i32
            }
        }
    };
}

numbered! {
    /// Joint type (`mjtJoint`).
    JointType {
        /// Six degrees of freedom: world position, and orientation as a quaternion.
        Free = 0,
        /// Three rotational degrees of freedom, a quaternion relative to the parent.
        Ball = 1,
        /// Translation along a body-fixed axis \[m\].
        Slide = 2,
        /// Rotation about a body-fixed axis \[rad\].
        Hinge = 3,
    }
}

impl JointType {
    /// Numbers of the joint in `qpos`.
    pub fn nq(self) -> usize {
        match self {
            Self::Free => 7,
            Self::Ball => 4,
            Self::Slide | Self::Hinge => 1,
        }
    }

    /// Degrees of freedom.
    pub fn nv(self) -> usize {
        match self {
            Self::Free => 6,
            Self::Ball => 3,
            Self::Slide | Self::Hinge => 1,
        }
    }
}

numbered! {
    /// Geometric shape (`mjtGeom`).
    GeomType {
        /// Plane, normal along z.
        Plane = 0,
        /// Height field.
        Hfield = 1,
        /// Sphere.
        Sphere = 2,
        /// Capsule, axis along z.
        Capsule = 3,
        /// Ellipsoid.
        Ellipsoid = 4,
        /// Cylinder, axis along z.
        Cylinder = 5,
        /// Box.
        Box = 6,
        /// Mesh.
        Mesh = 7,
        /// Signed distance field.
        Sdf = 8,
    }
}

numbered! {
    /// Equality constraint (`mjtEq`).
    EqType {
        /// Two bodies share a point.
        Connect = 0,
        /// Two bodies keep their relative pose.
        Weld = 1,
        /// A joint is a quartic polynomial of another.
        Joint = 2,
        /// A tendon is a quartic polynomial of another.
        Tendon = 3,
        /// Distance between two geom centres. Ours.
        Distance = 7,
    }
}

numbered! {
    /// Tendon type (`mjtTendon`).
    TendonType {
        /// Linear combination of joint positions.
        Fixed = 0,
        /// Path through sites and around geoms.
        Spatial = 1,
    }
}

numbered! {
    /// Element of a tendon's path (`mjtWrap`).
    WrapType {
        /// Nothing.
        None = 0,
        /// Joint with a constant coefficient.
        Joint = 1,
        /// Pulley.
        Pulley = 2,
        /// Site.
        Site = 3,
        /// Sphere.
        Sphere = 4,
        /// Cylinder.
        Cylinder = 5,
    }
}

numbered! {
    /// What an actuator acts on (`mjtTrn`).
    TrnType {
        /// Joint.
        Joint = 0,
        /// Joint, force expressed in the parent's frame.
        JointInParent = 1,
        /// Slider-crank linkage.
        SliderCrank = 2,
        /// Tendon.
        Tendon = 3,
        /// Site, optionally relative to a reference site.
        Site = 4,
        /// Adhesion at the contacts of a body.
        Body = 5,
        /// Relative orientation.
        So3 = 6,
    }
}

numbered! {
    /// Activation dynamics (`mjtDyn`).
    DynType {
        /// No activation.
        None = 0,
        /// ȧ = u.
        Integrator = 1,
        /// ȧ = (u − a)/τ.
        Filter = 2,
        /// The same filter, integrated exactly over a step.
        FilterExact = 3,
        /// Muscle activation with two time constants.
        Muscle = 4,
    }
}

numbered! {
    /// Gain of an actuator (`mjtGain`).
    GainType {
        /// gainprm\[0\].
        Fixed = 0,
        /// gainprm\[0\] + gainprm\[1\]·length + gainprm\[2\]·velocity.
        Affine = 1,
        /// Force–length–velocity curve of a muscle.
        Muscle = 2,
    }
}

numbered! {
    /// Bias of an actuator (`mjtBias`).
    BiasType {
        /// None.
        None = 0,
        /// biasprm\[0\] + biasprm\[1\]·length + biasprm\[2\]·velocity.
        Affine = 1,
        /// Passive force of a muscle.
        Muscle = 2,
    }
}

numbered! {
    /// Kind of object that a sensor or an equality constraint refers to (`mjtObj`).
    ObjType {
        /// Unknown, or none.
        Unknown = 0,
        /// Body, by its inertial frame.
        Body = 1,
        /// Body, by its own frame.
        XBody = 2,
        /// Joint.
        Joint = 3,
        /// Degree of freedom.
        Dof = 4,
        /// Geom.
        Geom = 5,
        /// Site.
        Site = 6,
        /// Camera.
        Camera = 7,
        /// Light.
        Light = 8,
        /// Mesh.
        Mesh = 10,
        /// Height field.
        Hfield = 12,
        /// Contact pair.
        Pair = 15,
        /// Excluded pair.
        Exclude = 16,
        /// Equality constraint.
        Equality = 17,
        /// Tendon.
        Tendon = 18,
        /// Actuator.
        Actuator = 19,
        /// Sensor.
        Sensor = 20,
        /// Custom numbers.
        Numeric = 21,
        /// Custom text.
        Text = 22,
        /// Custom tuple.
        Tuple = 23,
        /// Keyframe.
        Key = 24,
    }
}

numbered! {
    /// Sensor type (`mjtSensor`).
    SensorType {
        /// Contact normal force summed over a site's volume.
        Touch = 0,
        /// Linear acceleration of a site, gravity included, local frame.
        Accelerometer = 1,
        /// Linear velocity of a site, local frame.
        Velocimeter = 2,
        /// Angular velocity of a site, local frame.
        Gyro = 3,
        /// Force between the site's body and its parent.
        Force = 4,
        /// Torque between the site's body and its parent.
        Torque = 5,
        /// Magnetic flux at a site, local frame.
        Magnetometer = 6,
        /// Distance to the nearest geom along a ray.
        Rangefinder = 7,
        /// Pixel of a site in a camera's image.
        CamProjection = 8,
        /// Position of a scalar joint.
        JointPos = 9,
        /// Velocity of a scalar joint.
        JointVel = 10,
        /// Length of a tendon.
        TendonPos = 11,
        /// Velocity of a tendon.
        TendonVel = 12,
        /// Length of an actuator.
        ActuatorPos = 13,
        /// Velocity of an actuator.
        ActuatorVel = 14,
        /// Force of an actuator.
        ActuatorFrc = 15,
        /// Actuator force at a joint.
        JointActFrc = 16,
        /// Actuator force at a tendon.
        TendonActFrc = 17,
        /// Quaternion of a ball joint.
        BallQuat = 18,
        /// Angular velocity of a ball joint.
        BallAngVel = 19,
        /// Distance to a joint limit.
        JointLimitPos = 20,
        /// Velocity of a joint limit.
        JointLimitVel = 21,
        /// Force of a joint limit.
        JointLimitFrc = 22,
        /// Distance to a tendon limit.
        TendonLimitPos = 23,
        /// Velocity of a tendon limit.
        TendonLimitVel = 24,
        /// Force of a tendon limit.
        TendonLimitFrc = 25,
        /// Position of a frame.
        FramePos = 26,
        /// Orientation of a frame.
        FrameQuat = 27,
        /// x axis of a frame.
        FrameXAxis = 28,
        /// y axis of a frame.
        FrameYAxis = 29,
        /// z axis of a frame.
        FrameZAxis = 30,
        /// Linear velocity of a frame.
        FrameLinVel = 31,
        /// Angular velocity of a frame.
        FrameAngVel = 32,
        /// Linear acceleration of a frame.
        FrameLinAcc = 33,
        /// Angular acceleration of a frame.
        FrameAngAcc = 34,
        /// Centre of mass of a subtree.
        SubtreeCom = 35,
        /// Linear velocity of a subtree's centre of mass.
        SubtreeLinVel = 36,
        /// Angular momentum of a subtree about its centre of mass.
        SubtreeAngMom = 37,
        /// 1 if an object is inside a site.
        InsideSite = 38,
        /// Signed distance between two geoms.
        GeomDist = 39,
        /// Normal between two geoms.
        GeomNormal = 40,
        /// Segment between two geoms.
        GeomFromTo = 41,
        /// Contacts.
        Contact = 42,
        /// Potential energy.
        EPotential = 43,
        /// Kinetic energy.
        EKinetic = 44,
        /// Time.
        Clock = 45,
        /// Tactile.
        Tactile = 46,
        /// Plugin.
        Plugin = 47,
        /// User-defined.
        User = 48,
    }
}

numbered! {
    /// First stage after which a sensor can be computed (`mjtStage`).
    Stage {
        /// None.
        None = 0,
        /// Position.
        Pos = 1,
        /// Velocity.
        Vel = 2,
        /// Acceleration.
        Acc = 3,
    }
}

numbered! {
    /// Numeric type of a sensor's values (`mjtDataType`).
    DataType {
        /// Real numbers.
        Real = 0,
        /// Positive numbers.
        Positive = 1,
        /// Unit vector.
        Axis = 2,
        /// Unit quaternion.
        Quaternion = 3,
    }
}

numbered! {
    /// How a frame coincides with its body's (`mjtSameFrame`): which transformations can be skipped.
    SameFrame {
        /// Not at all.
        None = 0,
        /// Same as the body frame.
        Body = 1,
        /// Same as the inertial frame.
        Inertia = 2,
        /// Orientation of the body frame.
        BodyRot = 3,
        /// Orientation of the inertial frame.
        InertiaRot = 4,
    }
}

numbered! {
    /// How a camera moves (`mjtCamLight`).
    CamMode {
        /// Fixed in its body.
        Fixed = 0,
        /// Position follows the body, orientation fixed in the world.
        Track = 1,
        /// Position follows the subtree's centre of mass, orientation fixed in the world.
        TrackCom = 2,
        /// Looks at a body.
        TargetBody = 3,
        /// Looks at a subtree's centre of mass.
        TargetBodyCom = 4,
    }
}
