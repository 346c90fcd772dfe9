//! Actuators, all shortcuts already lowered to the parameters of `general`.

use super::Limited;
use crate::mjcf::xml::Span;

/// What an actuator pulls on (`mjtTrn`, the supported part).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrnType {
    /// A joint; for ball and free joints in the child frame.
    Joint,
    /// A joint; for ball and free joints in the parent frame.
    JointInParent,
    /// A tendon.
    Tendon,
    /// A site: a wrench at it, or relative to a reference site.
    Site,
    /// A body: the normals of its contacts.
    Body,
    /// Nothing given; an error in the compiler, legal in default classes.
    #[default]
    Undefined,
}

/// Activation dynamics (`mjtDyn`, the supported part).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DynType {
    /// None: ctrl acts directly.
    #[default]
    None,
    /// ȧ = u.
    Integrator,
    /// ȧ = (u − a)/τ.
    Filter,
    /// ȧ = (u − a)/τ, integrated exactly.
    FilterExact,
    /// Two time constants.
    Muscle,
}

/// Force gain (`mjtGain`, the supported part).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GainType {
    /// prm\[0\].
    #[default]
    Fixed,
    /// prm\[0\] + prm\[1\]·length + prm\[2\]·velocity.
    Affine,
    /// Force-length-velocity curve.
    Muscle,
}

/// Force bias (`mjtBias`, the supported part).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BiasType {
    /// 0.
    #[default]
    None,
    /// prm\[0\] + prm\[1\]·length + prm\[2\]·velocity.
    Affine,
    /// Passive force of a muscle.
    Muscle,
}

/// An actuator (`mjsActuator`).
#[derive(Clone, Debug)]
pub struct ActuatorSpec {
    /// Name, possibly empty.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// The element's name: `general`, `motor`, `position`, …
    pub element: String,
    /// Gain type.
    pub gaintype: GainType,
    /// Gain parameters. Of a muscle: range (2), force, scale, lmin, lmax, vmax, fpmax, fvmax.
    pub gainprm: [f64; 10],
    /// Bias type.
    pub biastype: BiasType,
    /// Bias parameters. In an affine servo with gainprm\[0\] = −biasprm\[1\] a *positive* biasprm\[2\]
    /// is a damping ratio, which the compiler turns into −kv.
    pub biasprm: [f64; 10],
    /// Activation dynamics.
    pub dyntype: DynType,
    /// Dynamics parameters.
    pub dynprm: [f64; 10],
    /// What the control is, for display only (`mjtCtrlInput`): 0 a command, 1 a position setpoint,
    /// 2 a velocity setpoint, 32 a pressure.
    pub ctrlspec: i32,
    /// Number of activation variables; −1: 0 or 1 by `dyntype`.
    pub actdim: i32,
    /// Whether the force uses the next activation.
    pub actearly: bool,
    /// Transmission type.
    pub trntype: TrnType,
    /// Scaling of length and force.
    pub gear: [f64; 6],
    /// Name of the joint, tendon, site or body.
    pub target: String,
    /// Reference site, possibly empty.
    pub refsite: String,
    /// Range of the transmission's length; zeros: to be computed where needed.
    pub lengthrange: [f64; 2],
    /// If not 0: ctrlrange (or actrange) is the target's range times this; see `position`.
    pub inheritrange: f64,
    /// Damping polynomial of the actuator: b0 + b1·|v| + b2·v².
    pub damping: [f64; 3],
    /// Armature inertia, reflected to the target through gear².
    pub armature: f64,
    /// Whether `ctrlrange` applies.
    pub ctrllimited: Limited,
    /// Control range.
    pub ctrlrange: [f64; 2],
    /// Whether `forcerange` applies.
    pub forcelimited: Limited,
    /// Force range.
    pub forcerange: [f64; 2],
    /// Whether `actrange` applies.
    pub actlimited: Limited,
    /// Activation range.
    pub actrange: [f64; 2],
    /// Group, also for `actuatorgroupdisable`.
    pub group: i32,
    /// User data.
    pub user: Vec<f64>,
}

impl Default for ActuatorSpec {
    fn default() -> Self {
        let mut one = [0.0; 10];
        one[0] = 1.0;
        Self {
            name: String::new(),
            span: Span::default(),
            element: "general".to_owned(),
            gaintype: GainType::Fixed,
            gainprm: one,
            biastype: BiasType::None,
            biasprm: [0.0; 10],
            dyntype: DynType::None,
            dynprm: one,
            ctrlspec: 0,
            actdim: -1,
            actearly: false,
            trntype: TrnType::Undefined,
            gear: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            target: String::new(),
            refsite: String::new(),
            lengthrange: [0.0; 2],
            inheritrange: 0.0,
            damping: [0.0; 3],
            armature: 0.0,
            ctrllimited: Limited::Auto,
            ctrlrange: [0.0; 2],
            forcelimited: Limited::Auto,
            forcerange: [0.0; 2],
            actlimited: Limited::Auto,
            actrange: [0.0; 2],
            group: 0,
            user: Vec::new(),
        }
    }
}
