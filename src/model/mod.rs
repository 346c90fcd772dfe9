//! A compiled model: everything that is constant during simulation, in `f64`.
//!
//! Arrays carry MuJoCo's names (`mjModel`): `object_attribute`; `adr` start, `num` count, `id` index.
//! Lengths are given in brackets. Poses are relative to the parent body unless said otherwise; angles in
//! radians, SI units throughout.

mod effective;
mod named;
pub mod options;
mod sparsity;
mod tree;
pub mod types;

use nalgebra::Vector3;

pub use named::{Keyframe, Names, Statistic};
pub use options::{Cone, FrictionModel, Integrator, JacobianType, LimitModel, Options, SolverType};
pub use types::*;

pub use crate::mjcf::mesh::Mesh;

use crate::math::Quat;

/// Index of the world body.
pub const WORLD: usize = 0;

/// Number of parameters of activation dynamics, gain and bias of an actuator (`mjNDYN`, …).
pub const NPRM: usize = 10;

/// Compiled model. Built by `mjcf::load_model`; immutable during simulation.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Model name.
    pub name: String,
    /// Physics options.
    pub opt: Options,

    // ---- sizes
    /// Numbers in `qpos`.
    pub nq: usize,
    /// Degrees of freedom.
    pub nv: usize,
    /// Controls.
    pub nu: usize,
    /// Activations.
    pub na: usize,
    /// Bodies, the world included.
    pub nbody: usize,
    /// Joints.
    pub njnt: usize,
    /// Kinematic trees.
    pub ntree: usize,
    /// Geoms.
    pub ngeom: usize,
    /// Sites.
    pub nsite: usize,
    /// Cameras.
    pub ncam: usize,
    /// Meshes.
    pub nmesh: usize,
    /// Height fields.
    pub nhfield: usize,
    /// Explicit contact pairs.
    pub npair: usize,
    /// Excluded body pairs.
    pub nexclude: usize,
    /// Equality constraints.
    pub neq: usize,
    /// Tendons.
    pub ntendon: usize,
    /// Elements of all tendon paths.
    pub nwrap: usize,
    /// Actuators.
    pub nactuator: usize,
    /// Sensors.
    pub nsensor: usize,
    /// Numbers in `sensordata`.
    pub nsensordata: usize,
    /// Keyframes.
    pub nkey: usize,
    /// Mocap bodies.
    pub nmocap: usize,

    // ---- default configurations
    /// Positions in the reference configuration (nq).
    pub qpos0: Vec<f64>,
    /// Positions at which joint springs rest (nq).
    pub qpos_spring: Vec<f64>,

    // ---- bodies (nbody)
    /// Parent; the world is its own.
    pub body_parentid: Vec<usize>,
    /// Ancestor that is a child of the world.
    pub body_rootid: Vec<usize>,
    /// Top ancestor without degrees of freedom in between.
    pub body_weldid: Vec<usize>,
    /// Index of the mocap pose.
    pub body_mocapid: Vec<Option<usize>>,
    /// Number of joints.
    pub body_jntnum: Vec<usize>,
    /// First joint; meaningful where `body_jntnum > 0`.
    pub body_jntadr: Vec<usize>,
    /// Number of degrees of freedom.
    pub body_dofnum: Vec<usize>,
    /// First degree of freedom; meaningful where `body_dofnum > 0`.
    pub body_dofadr: Vec<usize>,
    /// Kinematic tree; none for static bodies.
    pub body_treeid: Vec<Option<usize>>,
    /// Number of geoms.
    pub body_geomnum: Vec<usize>,
    /// First geom; meaningful where `body_geomnum > 0`.
    pub body_geomadr: Vec<usize>,
    /// 1: diagonal inertia; 2: diagonal inertia and sliders only; 0: neither.
    pub body_simple: Vec<u8>,
    /// Whether the inertial frame coincides with the body frame.
    pub body_sameframe: Vec<SameFrame>,
    /// Position in the parent's frame \[m\].
    pub body_pos: Vec<Vector3<f64>>,
    /// Orientation in the parent's frame.
    pub body_quat: Vec<Quat<f64>>,
    /// Centre of mass in the body frame \[m\].
    pub body_ipos: Vec<Vector3<f64>>,
    /// Principal axes of inertia in the body frame.
    pub body_iquat: Vec<Quat<f64>>,
    /// Mass \[kg\].
    pub body_mass: Vec<f64>,
    /// Mass of the subtree \[kg\].
    pub body_subtreemass: Vec<f64>,
    /// Principal moments of inertia [kg·m²].
    pub body_inertia: Vec<Vector3<f64>>,
    /// Mean inverse inertia at qpos0: translation [1/kg], rotation [1/(kg·m²)].
    pub body_invweight0: Vec<[f64; 2]>,
    /// Gravity compensation, in units of body weight.
    pub body_gravcomp: Vec<f64>,
    /// Largest margin + gap of the body's geoms \[m\].
    pub body_margin: Vec<f64>,
    /// Union of the geoms' contact types.
    pub body_contype: Vec<i32>,
    /// Union of the geoms' contact affinities.
    pub body_conaffinity: Vec<i32>,

    // ---- joints (njnt)
    /// Type.
    pub jnt_type: Vec<JointType>,
    /// First number in `qpos`.
    pub jnt_qposadr: Vec<usize>,
    /// First degree of freedom.
    pub jnt_dofadr: Vec<usize>,
    /// Body.
    pub jnt_bodyid: Vec<usize>,
    /// Actuator that contributes damping or armature; −1 none, −2 several (MuJoCo's encoding).
    pub jnt_actuatorid: Vec<i32>,
    /// Group.
    pub jnt_group: Vec<i32>,
    /// Whether the joint has limits.
    pub jnt_limited: Vec<bool>,
    /// Whether the total actuator force is limited.
    pub jnt_actfrclimited: Vec<bool>,
    /// Whether gravity compensation goes through the actuators.
    pub jnt_actgravcomp: Vec<bool>,
    /// Limit: solref.
    pub jnt_solref: Vec<[f64; 2]>,
    /// Limit: solimp.
    pub jnt_solimp: Vec<[f64; 5]>,
    /// Anchor in the body frame \[m\].
    pub jnt_pos: Vec<Vector3<f64>>,
    /// Axis in the body frame, unit.
    pub jnt_axis: Vec<Vector3<f64>>,
    /// Linear stiffness [N/m or N·m/rad].
    pub jnt_stiffness: Vec<f64>,
    /// Stiffness of higher order.
    pub jnt_stiffnesspoly: Vec<[f64; 2]>,
    /// Plastic yield threshold (0: elastic; others are refused by the loader).
    pub jnt_springyield: Vec<f64>,
    /// Limits [m or rad].
    pub jnt_range: Vec<[f64; 2]>,
    /// Range of the total actuator force [N or N·m].
    pub jnt_actfrcrange: Vec<[f64; 2]>,
    /// Distance at which a limit becomes active [m or rad].
    pub jnt_margin: Vec<f64>,

    // ---- degrees of freedom (nv)
    /// Body.
    pub dof_bodyid: Vec<usize>,
    /// Joint.
    pub dof_jntid: Vec<usize>,
    /// Parent degree of freedom.
    pub dof_parentid: Vec<Option<usize>>,
    /// Kinematic tree.
    pub dof_treeid: Vec<usize>,
    /// Address of the diagonal in MuJoCo's legacy `qM` layout.
    pub dof_Madr: Vec<usize>,
    /// Number of consecutive degrees of freedom, this one included, of simple bodies.
    pub dof_simplenum: Vec<usize>,
    /// Friction loss: solref.
    pub dof_solref: Vec<[f64; 2]>,
    /// Friction loss: solimp.
    pub dof_solimp: Vec<[f64; 5]>,
    /// Friction loss [N or N·m].
    pub dof_frictionloss: Vec<f64>,
    /// Armature [kg or kg·m²].
    pub dof_armature: Vec<f64>,
    /// Linear damping [N·s/m or N·m·s/rad].
    pub dof_damping: Vec<f64>,
    /// Damping of higher order.
    pub dof_dampingpoly: Vec<[f64; 2]>,
    /// Diagonal of the inverse inertia at qpos0.
    pub dof_invweight0: Vec<f64>,
    /// Diagonal of the inertia at qpos0.
    pub dof_M0: Vec<f64>,
    /// 1 for translation, an approximate length for rotation \[m\].
    pub dof_length: Vec<f64>,

    // ---- kinematic trees (ntree)
    /// First body.
    pub tree_bodyadr: Vec<usize>,
    /// Number of bodies.
    pub tree_bodynum: Vec<usize>,
    /// First degree of freedom.
    pub tree_dofadr: Vec<usize>,
    /// Number of degrees of freedom.
    pub tree_dofnum: Vec<usize>,
    /// Sleep policy (`mjtSleepPolicy`).
    pub tree_sleep_policy: Vec<i32>,

    // ---- armature and damping with what actuators add through their gear: written by `build_effective`
    /// Armature of each degree of freedom (nv).
    pub dof_armature_eff: Vec<f64>,
    /// Damping polynomial of each degree of freedom: linear, then higher orders (nv).
    pub dof_damping_eff: Vec<[f64; 3]>,
    /// Armature of each tendon (ntendon).
    pub tendon_armature_eff: Vec<f64>,
    /// Damping polynomial of each tendon (ntendon).
    pub tendon_damping_eff: Vec<[f64; 3]>,

    // ---- sparsity of the joint-space inertia: CSR rows, columns ascending, diagonal last
    /// Number of entries.
    pub nM: usize,
    /// Start of each row (nv).
    pub M_rowadr: Vec<usize>,
    /// Entries in each row (nv).
    pub M_rownnz: Vec<usize>,
    /// Column of each entry (nM).
    pub M_colind: Vec<usize>,
    /// How many rows after row i have an entry in column i; they follow row i directly (nv).
    pub M_subnum: Vec<usize>,

    // ---- geoms (ngeom)
    /// Type.
    pub geom_type: Vec<GeomType>,
    /// Contact type bits.
    pub geom_contype: Vec<i32>,
    /// Contact affinity bits.
    pub geom_conaffinity: Vec<i32>,
    /// Contact dimension: 1, 3, 4 or 6.
    pub geom_condim: Vec<i32>,
    /// Body.
    pub geom_bodyid: Vec<usize>,
    /// Mesh or height field.
    pub geom_dataid: Vec<Option<usize>>,
    /// Group.
    pub geom_group: Vec<i32>,
    /// Contact priority.
    pub geom_priority: Vec<i32>,
    /// Whether the frame coincides with the body's.
    pub geom_sameframe: Vec<SameFrame>,
    /// Whether it casts a shadow.
    pub geom_castshadow: Vec<bool>,
    /// Mixing weight of solref and solimp.
    pub geom_solmix: Vec<f64>,
    /// Contact: solref.
    pub geom_solref: Vec<[f64; 2]>,
    /// Contact: solimp.
    pub geom_solimp: Vec<[f64; 5]>,
    /// Size; meaning by type \[m\].
    pub geom_size: Vec<Vector3<f64>>,
    /// Bounding box in the geom frame: centre, half sizes \[m\].
    pub geom_aabb: Vec<[f64; 6]>,
    /// Radius of the bounding sphere; 0 for planes \[m\].
    pub geom_rbound: Vec<f64>,
    /// Position in the body frame \[m\].
    pub geom_pos: Vec<Vector3<f64>>,
    /// Orientation in the body frame.
    pub geom_quat: Vec<Quat<f64>>,
    /// Friction: sliding, torsional \[m\], rolling \[m\].
    pub geom_friction: Vec<[f64; 3]>,
    /// Margin \[m\].
    pub geom_margin: Vec<f64>,
    /// Gap \[m\].
    pub geom_gap: Vec<f64>,
    /// Surface velocity in the geom frame: linear, angular.
    pub geom_surfacevel: Vec<[f64; 6]>,
    /// Adhesive force of contacts.
    pub geom_adhesion: Vec<f64>,
    /// Fluid interaction parameters.
    pub geom_fluid: Vec<[f64; 12]>,
    /// Colour and opacity.
    pub geom_rgba: Vec<[f64; 4]>,
    /// False if its colour, or that of its material, is transparent: rays pass through it.
    pub geom_visible: Vec<bool>,

    // ---- sites (nsite)
    /// Shape, for touch sensors and drawing.
    pub site_type: Vec<GeomType>,
    /// Body.
    pub site_bodyid: Vec<usize>,
    /// Mesh.
    pub site_dataid: Vec<Option<usize>>,
    /// Group.
    pub site_group: Vec<i32>,
    /// Whether the frame coincides with the body's.
    pub site_sameframe: Vec<SameFrame>,
    /// Size \[m\].
    pub site_size: Vec<Vector3<f64>>,
    /// Position in the body frame \[m\].
    pub site_pos: Vec<Vector3<f64>>,
    /// Orientation in the body frame.
    pub site_quat: Vec<Quat<f64>>,

    // ---- cameras (ncam)
    /// Mode.
    pub cam_mode: Vec<CamMode>,
    /// Body.
    pub cam_bodyid: Vec<usize>,
    /// Body looked at.
    pub cam_targetbodyid: Vec<Option<usize>>,
    /// Position in the body frame \[m\].
    pub cam_pos: Vec<Vector3<f64>>,
    /// Orientation in the body frame.
    pub cam_quat: Vec<Quat<f64>>,
    /// World position relative to the subtree's centre of mass at qpos0 \[m\].
    pub cam_poscom0: Vec<Vector3<f64>>,
    /// World position relative to the body at qpos0 \[m\].
    pub cam_pos0: Vec<Vector3<f64>>,
    /// World orientation at qpos0, row-major.
    pub cam_mat0: Vec<[f64; 9]>,
    /// Width and height of the image \[pixel\].
    pub cam_resolution: Vec<[usize; 2]>,
    /// True for parallel rays, false for rays from one point (`cam_projection`).
    pub cam_orthographic: Vec<bool>,
    /// Vertical field of view \[degree\]; height of the image \[m\] if orthographic.
    pub cam_fovy: Vec<f64>,
    /// Size of the sensor \[m\]; zeros if the camera is given by its field of view.
    pub cam_sensorsize: Vec<[f64; 2]>,
    /// Focal lengths and principal point \[m\]; meaningful where `cam_sensorsize` is positive.
    pub cam_intrinsic: Vec<[f64; 4]>,

    // ---- meshes (nmesh) and height fields (nhfield)
    /// Compiled meshes, in the frame of their inertia.
    pub mesh: Vec<crate::mjcf::mesh::Mesh>,
    /// Height field: radius x, radius y, elevation, base \[m\].
    pub hfield_size: Vec<[f64; 4]>,
    /// Height field: rows.
    pub hfield_nrow: Vec<usize>,
    /// Height field: columns.
    pub hfield_ncol: Vec<usize>,
    /// Height field: first number in `hfield_data`.
    pub hfield_adr: Vec<usize>,
    /// Elevations in [0, 1], row-major.
    pub hfield_data: Vec<f64>,

    // ---- explicit pairs (npair) and exclusions (nexclude)
    /// Contact dimension.
    pub pair_dim: Vec<i32>,
    /// First geom.
    pub pair_geom1: Vec<usize>,
    /// Second geom.
    pub pair_geom2: Vec<usize>,
    /// Signature of the two bodies: (b1 << 16) + b2.
    pub pair_signature: Vec<i32>,
    /// solref.
    pub pair_solref: Vec<[f64; 2]>,
    /// solref of friction; all zero: as the normal.
    pub pair_solreffriction: Vec<[f64; 2]>,
    /// solimp.
    pub pair_solimp: Vec<[f64; 5]>,
    /// Margin \[m\].
    pub pair_margin: Vec<f64>,
    /// Gap \[m\].
    pub pair_gap: Vec<f64>,
    /// Adhesive force.
    pub pair_adhesion: Vec<f64>,
    /// Friction: two tangents, spin, two rolls.
    pub pair_friction: Vec<[f64; 5]>,
    /// Signature of two bodies whose geoms do not collide: (b1 << 16) + b2.
    pub exclude_signature: Vec<i32>,

    // ---- equality constraints (neq)
    /// Type.
    pub eq_type: Vec<EqType>,
    /// First object.
    pub eq_obj1id: Vec<usize>,
    /// Second object.
    pub eq_obj2id: Vec<Option<usize>>,
    /// Kind of the objects.
    pub eq_objtype: Vec<ObjType>,
    /// Active at the start.
    pub eq_active0: Vec<bool>,
    /// solref.
    pub eq_solref: Vec<[f64; 2]>,
    /// solimp.
    pub eq_solimp: Vec<[f64; 5]>,
    /// Numbers of the constraint, as in MuJoCo.
    pub eq_data: Vec<[f64; 12]>,

    // ---- tendons (ntendon)
    /// Type.
    pub tendon_type: Vec<TendonType>,
    /// First element of the path.
    pub tendon_adr: Vec<usize>,
    /// Elements of the path.
    pub tendon_num: Vec<usize>,
    /// Actuator that contributes damping or armature (MuJoCo's encoding).
    pub tendon_actuatorid: Vec<i32>,
    /// Group.
    pub tendon_group: Vec<i32>,
    /// Number of kinematic trees along the path.
    pub tendon_treenum: Vec<usize>,
    /// First two kinematic trees along the path; −1 none.
    pub tendon_treeid: Vec<[i32; 2]>,
    /// Start of each row of the Jacobian `ten_J`.
    pub ten_J_rowadr: Vec<usize>,
    /// Entries in each row.
    pub ten_J_rownnz: Vec<usize>,
    /// Column of each entry.
    pub ten_J_colind: Vec<usize>,
    /// Whether the tendon has length limits.
    pub tendon_limited: Vec<bool>,
    /// Whether the total actuator force is limited.
    pub tendon_actfrclimited: Vec<bool>,
    /// Limit: solref.
    pub tendon_solref_lim: Vec<[f64; 2]>,
    /// Limit: solimp.
    pub tendon_solimp_lim: Vec<[f64; 5]>,
    /// Friction loss: solref.
    pub tendon_solref_fri: Vec<[f64; 2]>,
    /// Friction loss: solimp.
    pub tendon_solimp_fri: Vec<[f64; 5]>,
    /// Length limits.
    pub tendon_range: Vec<[f64; 2]>,
    /// Range of the total actuator force.
    pub tendon_actfrcrange: Vec<[f64; 2]>,
    /// Distance at which a limit becomes active.
    pub tendon_margin: Vec<f64>,
    /// Linear stiffness.
    pub tendon_stiffness: Vec<f64>,
    /// Stiffness of higher order.
    pub tendon_stiffnesspoly: Vec<[f64; 2]>,
    /// Linear damping.
    pub tendon_damping: Vec<f64>,
    /// Damping of higher order.
    pub tendon_dampingpoly: Vec<[f64; 2]>,
    /// Armature.
    pub tendon_armature: Vec<f64>,
    /// Friction loss.
    pub tendon_frictionloss: Vec<f64>,
    /// Range of lengths at which the spring is at rest.
    pub tendon_lengthspring: Vec<[f64; 2]>,
    /// Plastic yield threshold (0: elastic; others are refused by the loader).
    pub tendon_springyield: Vec<f64>,
    /// Length at qpos0.
    pub tendon_length0: Vec<f64>,
    /// Inverse weight at qpos0.
    pub tendon_invweight0: Vec<f64>,
    /// Path element: type (nwrap).
    pub wrap_type: Vec<WrapType>,
    /// Path element: joint, site or geom (nwrap).
    pub wrap_objid: Vec<Option<usize>>,
    /// Path element: coefficient, divisor or side site (nwrap).
    pub wrap_prm: Vec<f64>,

    // ---- actuators (nactuator)
    /// Transmission.
    pub actuator_trntype: Vec<TrnType>,
    /// Activation dynamics.
    pub actuator_dyntype: Vec<DynType>,
    /// Gain.
    pub actuator_gaintype: Vec<GainType>,
    /// Bias.
    pub actuator_biastype: Vec<BiasType>,
    /// First control.
    pub actuator_ctrladr: Vec<usize>,
    /// Number of controls.
    pub actuator_ctrlnum: Vec<usize>,
    /// Input signature (MuJoCo's bits).
    pub actuator_ctrlspec: Vec<i32>,
    /// First force output.
    pub actuator_outadr: Vec<usize>,
    /// Number of force outputs.
    pub actuator_outnum: Vec<usize>,
    /// First activation; none where stateless.
    pub actuator_actadr: Vec<Option<usize>>,
    /// Number of activations.
    pub actuator_actnum: Vec<usize>,
    /// Object acted on, and reference site; none where not given.
    pub actuator_trnid: Vec<[Option<usize>; 2]>,
    /// Crank length of a slider-crank.
    pub actuator_cranklength: Vec<f64>,
    /// Parameters of the activation dynamics.
    pub actuator_dynprm: Vec<[f64; NPRM]>,
    /// Parameters of the gain.
    pub actuator_gainprm: Vec<[f64; NPRM]>,
    /// Parameters of the bias.
    pub actuator_biasprm: Vec<[f64; NPRM]>,
    /// Whether the activation is limited.
    pub actuator_actlimited: Vec<bool>,
    /// Range of the activation.
    pub actuator_actrange: Vec<[f64; 2]>,
    /// Whether the force uses the activation after the step.
    pub actuator_actearly: Vec<bool>,
    /// Delay \[s\] (0; others are refused by the loader).
    pub actuator_delay: Vec<f64>,
    /// Linear damping that the actuator adds to what it acts on.
    pub actuator_damping: Vec<f64>,
    /// Damping of higher order.
    pub actuator_dampingpoly: Vec<[f64; 2]>,
    /// Armature that the actuator adds to what it acts on.
    pub actuator_armature: Vec<f64>,
    /// Group.
    pub actuator_group: Vec<i32>,
    /// Whether the force is limited.
    pub actuator_forcelimited: Vec<bool>,
    /// Range of the force.
    pub actuator_forcerange: Vec<[f64; 2]>,
    /// Whether the control is limited (nu).
    pub actuator_ctrllimited: Vec<bool>,
    /// Range of the control (nu).
    pub actuator_ctrlrange: Vec<[f64; 2]>,
    /// Scaling of length and of transmitted force.
    pub actuator_gear: Vec<[f64; 6]>,
    /// Norm of the acceleration by a unit force at qpos0.
    pub actuator_acc0: Vec<f64>,
    /// Length at qpos0.
    pub actuator_length0: Vec<f64>,
    /// Start of each row of the sparse moment `actuator_moment`.
    pub moment_rowadr: Vec<usize>,
    /// Entries in each row.
    pub moment_rownnz: Vec<usize>,
    /// Column of each entry, ascending.
    pub moment_colind: Vec<usize>,
    /// Feasible range of lengths.
    pub actuator_lengthrange: Vec<[f64; 2]>,

    // ---- sensors (nsensor)
    /// Type.
    pub sensor_type: Vec<SensorType>,
    /// Numeric type.
    pub sensor_datatype: Vec<DataType>,
    /// Stage after which it can be computed.
    pub sensor_needstage: Vec<Stage>,
    /// Kind of the object.
    pub sensor_objtype: Vec<ObjType>,
    /// Object; none for global sensors.
    pub sensor_objid: Vec<Option<usize>>,
    /// Kind of the reference frame.
    pub sensor_reftype: Vec<ObjType>,
    /// Reference frame; none: world.
    pub sensor_refid: Vec<Option<usize>>,
    /// Integer parameters.
    pub sensor_intprm: Vec<[i32; 3]>,
    /// Number of values.
    pub sensor_dim: Vec<usize>,
    /// First value in `sensordata`.
    pub sensor_adr: Vec<usize>,
    /// Cut-off; 0: none.
    pub sensor_cutoff: Vec<f64>,
    /// Noise standard deviation (information only).
    pub sensor_noise: Vec<f64>,
    /// Delay \[s\] (0; others are refused by the loader).
    pub sensor_delay: Vec<f64>,
    /// Sampling period and phase \[s\].
    pub sensor_interval: Vec<[f64; 2]>,

    // ---- keyframes (nkey)
    /// Keyframes.
    pub keys: Vec<Keyframe>,

    // ---- custom fields
    /// Named arrays of numbers.
    pub numeric: Vec<(String, Vec<f64>)>,
    /// Named texts.
    pub text: Vec<(String, String)>,

    // ---- names, in order of index; empty where not given
    /// Names of every kind of object.
    pub names: Names,
    /// Model statistics.
    pub stat: Statistic,
    /// What the model contains that is not simulated yet, one sentence each.
    pub unsupported: Vec<String>,
}
