//! The elements and attributes of MJCF in MuJoCo 4.0.1, as data. Source: the manual's XML schema and
//! XML reference.
//!
//! An element's rule lists its attributes, blank-separated, in groups that several elements share;
//! then what its attributes demand of each other; then its children, each with how often it may
//! occur. Default classes repeat the attributes of what they set, less names and references.

use super::Count::{Any, Once};
use super::Presence::{Exclusive, OneOf, Together};
use super::{Child, Presence, Rule};

const fn leaf(attrs: &'static [&'static str]) -> Rule {
    Rule { attrs, presence: &[], children: &[] }
}

const fn group(children: &'static [Child]) -> Rule {
    Rule { attrs: &[], presence: &[], children }
}

const fn tree(attrs: &'static [&'static str], children: &'static [Child]) -> Rule {
    Rule { attrs, presence: &[], children }
}

const fn bound(attrs: &'static [&'static str], presence: &'static [Presence]) -> Rule {
    Rule { attrs, presence, children: &[] }
}

/// Rotation, in any of its notations.
const ROTATION: &str = "quat axisangle xyaxes zaxis euler";

/// The root element.
pub static MUJOCO: Rule = tree(
    &["model"],
    &[
        ("compiler", Any, &COMPILER),
        ("option", Any, &OPTION),
        ("size", Any, &SIZE),
        ("statistic", Any, &leaf(&["meaninertia meanmass meansize extent center"])),
        ("visual", Any, &VISUAL),
        ("default", Any, &DEFAULT),
        ("extension", Any, &EXTENSION),
        ("asset", Any, &ASSET),
        ("worldbody", Any, &WORLDBODY),
        ("deformable", Any, &DEFORMABLE),
        ("contact", Any, &CONTACT),
        ("tendon", Any, &TENDON),
        ("equality", Any, &EQUALITY),
        ("actuator", Any, &ACTUATOR),
        ("sensor", Any, &SENSOR),
        ("custom", Any, &CUSTOM),
        ("keyframe", Any, &KEYFRAME),
    ],
);

// ---- settings -----------------------------------------------------------------------------------

static COMPILER: Rule = tree(
    &[
        "autolimits boundmass boundinertia settotalmass balanceinertia strippath coordinate angle",
        "fitaabb eulerseq meshdir texturedir discardvisual usethread fusestatic inertiafromgeom",
        "inertiagrouprange saveinertial savecompiled savecanonical assetdir alignfree conflict",
        "passthrough",
    ],
    &[("lengthrange", Once, &LENGTHRANGE)],
);

static LENGTHRANGE: Rule = leaf(&[
    "mode useexisting uselimit accel maxforce timeconst timestep inttotal interval tolrange",
]);

static OPTION: Rule = tree(
    &[
        "timestep impratio tolerance ls_tolerance noslip_tolerance ccd_tolerance sleep_tolerance",
        "gravity wind magnetic density viscosity o_margin o_solref o_solimp o_friction",
        "integrator cone jacobian solver iterations ls_iterations noslip_iterations",
        "ccd_iterations sdf_iterations sdf_initpoints actuatorgroupdisable",
    ],
    &[("flag", Once, &FLAG)],
);

static FLAG: Rule = leaf(&[
    "constraint equality frictionloss limit contact spring damper gravity clampctrl warmstart",
    "filterparent actuation refsafe sensor midphase eulerdamp autoreset nativeccd island multiccd",
    "override energy fwdinv invdiscrete sleep diagexact ipc speculative",
]);

static SIZE: Rule = bound(
    &[
        "memory njmax nconmax nstack nuserdata nkey nuser_body nuser_jnt nuser_geom nuser_site",
        "nuser_cam nuser_tendon nuser_actuator nuser_sensor",
    ],
    &[Exclusive(&["memory", "nstack"]), Exclusive(&["memory", "njmax"])],
);

static VISUAL: Rule = group(&[
    ("global", Once, &VISUAL_GLOBAL),
    ("quality", Once, &leaf(&["shadowsize offsamples numslices numstacks numquads"])),
    ("headlight", Once, &leaf(&["ambient diffuse specular active"])),
    ("map", Once, &VISUAL_MAP),
    ("scale", Once, &VISUAL_SCALE),
    ("rgba", Once, &VISUAL_RGBA),
]);

static VISUAL_GLOBAL: Rule = leaf(&[
    "cameraid orthographic fovy ipd azimuth elevation linewidth glow offwidth offheight realtime",
    "ellipsoidinertia bvactive",
]);

static VISUAL_MAP: Rule = leaf(&[
    "stiffness stiffnessrot force torque alpha fogstart fogend znear zfar haze shadowclip",
    "shadowscale actuatortendon",
]);

static VISUAL_SCALE: Rule = leaf(&[
    "forcewidth contactwidth contactheight connect com camera light selectpoint jointlength",
    "jointwidth actuatorlength actuatorwidth framelength framewidth constraint slidercrank frustum",
]);

static VISUAL_RGBA: Rule = leaf(&[
    "fog haze force inertia joint actuator actuatornegative actuatorpositive com camera light",
    "selectpoint connect contactpoint contactforce contactfriction contacttorque contactgap",
    "rangefinder constraint slidercrank crankbroken frustum bv bvactive",
]);

// ---- default classes ----------------------------------------------------------------------------

static DEFAULT: Rule = tree(
    &["class"],
    &[
        ("default", Any, &DEFAULT),
        ("mesh", Once, &leaf(&["scale maxhullvert inertia"])),
        ("texture", Once, &leaf(&[TEXTURE_ATTRS])),
        ("material", Once, &tree(&[MATERIAL_ATTRS], &[("layer", Any, &LAYER)])),
        ("joint", Once, &leaf(&[JOINT_ATTRS])),
        ("geom", Once, &leaf(&[ROTATION, GEOM_ATTRS])),
        ("site", Once, &leaf(&[ROTATION, SITE_ATTRS])),
        ("camera", Once, &bound(&[ROTATION, CAMERA_ATTRS], CAMERA_PRESENCE)),
        ("light", Once, &bound(&[LIGHT_ATTRS], LIGHT_PRESENCE)),
        ("pair", Once, &leaf(&[PAIR_ATTRS])),
        ("equality", Once, &leaf(&[EQUALITY_ATTRS])),
        ("tendon", Once, &leaf(&[TENDON_ATTRS, TENDON_LOOK])),
        ("general", Once, &leaf(&[DRIVE, CTRLLIMITED, FORCE, ACTIVATION, GEAR, GENERAL_ATTRS])),
        ("motor", Once, &leaf(&[DRIVE, CTRLLIMITED, FORCE, GEAR])),
        ("position", Once, &leaf(&[DRIVE, CTRLLIMITED, FORCE, GEAR, POSITION_ATTRS])),
        ("velocity", Once, &leaf(&[DRIVE, CTRLLIMITED, FORCE, GEAR, "kv"])),
        ("intvelocity", Once, &leaf(&[DRIVE, CTRLLIMITED, FORCE, ACTIVATION, GEAR, SERVO])),
        ("orientation", Once, &leaf(&[DRIVE, FORCE, ORIENTATION_ATTRS])),
        ("pid", Once, &leaf(&[DRIVE, CTRLLIMITED, FORCE, GEAR, PID_ATTRS])),
        ("damper", Once, &leaf(&[DRIVE, FORCE, GEAR, "kv"])),
        ("cylinder", Once, &leaf(&[DRIVE, CTRLLIMITED, FORCE, GEAR, CYLINDER_ATTRS])),
        ("muscle", Once, &leaf(&[DRIVE, CTRLLIMITED, FORCE, GEAR, MUSCLE_ATTRS])),
        ("adhesion", Once, &leaf(&[DRIVE, FORCE, "gain"])),
        ("dcmotor", Once, &leaf(&[DRIVE, CTRLLIMITED, GEAR, DCMOTOR_ATTRS])),
    ],
);

// ---- extensions and assets ----------------------------------------------------------------------

static CONFIG: Rule = leaf(&["key value"]);

/// A plugin, by name or instance, where it is used.
static PLUGIN: Rule = tree(&["plugin instance"], &[("config", Any, &CONFIG)]);

static EXTENSION: Rule = group(&[(
    "plugin",
    Any,
    &tree(&["plugin"], &[("instance", Any, &tree(&["name"], &[("config", Any, &CONFIG)]))]),
)]);

static ASSET: Rule = group(&[
    ("mesh", Any, &MESH),
    ("hfield", Any, &leaf(&["name content_type file nrow ncol size elevation"])),
    ("skin", Any, &SKIN),
    ("texture", Any, &TEXTURE),
    ("material", Any, &tree(&["name class", MATERIAL_ATTRS], &[("layer", Any, &LAYER)])),
    ("model", Any, &leaf(&["name file content_type"])),
]);

static MESH: Rule = Rule {
    attrs: &[
        "name class content_type file vertex normal texcoord face refpos refquat scale",
        "smoothnormal maxhullvert inertia builtin params material",
    ],
    presence: &[Exclusive(&["builtin", "file"]), Exclusive(&["builtin", "vertex"])],
    children: &[("plugin", Any, &PLUGIN)],
};

static SKIN: Rule = tree(
    &["name file material rgba inflate vertex texcoord face group"],
    &[("bone", Any, &leaf(&["body bindpos bindquat vertid vertweight"]))],
);

const TEXTURE_ATTRS: &str = "type colorspace gridsize gridlayout builtin rgb1 rgb2 mark markrgb \
                             random width height hflip vflip nchannel embed";

static TEXTURE: Rule = leaf(&[
    "name class content_type file fileright fileleft fileup filedown filefront fileback",
    TEXTURE_ATTRS,
]);

const MATERIAL_ATTRS: &str =
    "texture texrepeat texuniform emission specular shininess reflectance metallic roughness rgba";

static LAYER: Rule = leaf(&["texture role"]);

// ---- the kinematic tree -------------------------------------------------------------------------

static WORLDBODY: Rule = group(&[
    ("body", Any, &BODY),
    ("frame", Any, &FRAME),
    ("replicate", Any, &REPLICATE),
    ("geom", Any, &GEOM),
    ("attach", Any, &ATTACH),
    ("site", Any, &SITE),
    ("camera", Any, &CAMERA),
    ("light", Any, &LIGHT),
    ("plugin", Any, &PLUGIN),
    ("flexcomp", Any, &FLEXCOMP),
]);

static BODY: Rule =
    tree(&["name childclass pos", ROTATION, "mocap gravcomp sleep simple fuse user"], &IN_BODY);

static FRAME: Rule = tree(&["name childclass pos", ROTATION, "scale massscale scaling"], &IN_BODY);

static REPLICATE: Rule = tree(&["childclass count sep offset euler"], &IN_BODY);

static IN_BODY: [Child; 13] = [
    ("body", Any, &BODY),
    ("frame", Any, &FRAME),
    ("replicate", Any, &REPLICATE),
    ("inertial", Once, &INERTIAL),
    ("joint", Any, &JOINT),
    ("freejoint", Any, &leaf(&["name group align"])),
    ("geom", Any, &GEOM),
    ("attach", Any, &ATTACH),
    ("site", Any, &SITE),
    ("camera", Any, &CAMERA),
    ("light", Any, &LIGHT),
    ("plugin", Any, &PLUGIN),
    ("flexcomp", Any, &FLEXCOMP),
];

static INERTIAL: Rule = bound(
    &["pos mass diaginertia fullinertia", ROTATION],
    &[Exclusive(&["fullinertia", "quat", "axisangle", "xyaxes", "zaxis", "euler"])],
);

const JOINT_ATTRS: &str = "type group pos axis springdamper limited actuatorfrclimited solreflimit \
                           solimplimit solreffriction solimpfriction stiffness range \
                           actuatorfrcrange actuatorgravcomp margin ref springref springyield \
                           armature damping frictionloss user";

static JOINT: Rule = leaf(&["name class", JOINT_ATTRS]);

const GEOM_ATTRS: &str = "type contype conaffinity condim group priority size material friction \
                          mass density shellinertia solmix solref solimp margin gap surfacevel \
                          adhesion fromto pos hfield mesh fitscale rgba castshadow fluidshape \
                          fluidcoef user";

static GEOM: Rule = tree(&["name class", ROTATION, GEOM_ATTRS], &[("plugin", Any, &PLUGIN)]);

static ATTACH: Rule = bound(&["model body frame prefix"], &[Exclusive(&["body", "frame"])]);

const SITE_ATTRS: &str = "type group pos material mesh size fromto rgba user";

static SITE: Rule = leaf(&["name class", ROTATION, SITE_ATTRS]);

const CAMERA_ATTRS: &str = "projection fovy ipd resolution output pos mode focal focalpixel \
                            principal principalpixel sensorsize user";
const CAMERA_PRESENCE: &[Presence] = &[Exclusive(&["fovy", "sensorsize"])];

static CAMERA: Rule = bound(&["name class target", ROTATION, CAMERA_ATTRS], CAMERA_PRESENCE);

const LIGHT_ATTRS: &str = "directional type castshadow active pos dir bulbradius intensity range \
                           attenuation cutoff softness exponent ambient diffuse specular mode";
const LIGHT_PRESENCE: &[Presence] = &[Exclusive(&["directional", "type"])];

static LIGHT: Rule = bound(&["name class target texture", LIGHT_ATTRS], LIGHT_PRESENCE);

// ---- deformable bodies --------------------------------------------------------------------------

static FLEXCOMP: Rule = tree(
    &[
        "name type group dim dof count cellcount spacing radius rigid mass inertiabox scale file",
        "mesh point element texcoord material rgba flatskin pos origin",
        ROTATION,
    ],
    &[
        ("edge", Once, &leaf(&["equality solref solimp stiffness damping"])),
        ("elasticity", Once, &ELASTICITY),
        ("contact", Once, &FLEX_CONTACT),
        ("pin", Any, &leaf(&["id range grid gridrange"])),
        ("plugin", Any, &PLUGIN),
    ],
);

static ELASTICITY: Rule =
    leaf(&["young poisson shear damping thickness yield elastic2d section sectionsize"]);

static FLEX_CONTACT: Rule = leaf(&[
    "contype conaffinity condim priority friction solmix solref solimp margin gap selfcollide",
    "activelayers passive",
]);

static DEFORMABLE: Rule = group(&[("flex", Any, &FLEX), ("skin", Any, &SKIN)]);

static FLEX: Rule = tree(
    &[
        "name group dim radius material rgba flatskin body vertex element texcoord elemtexcoord",
        "node nodecoord cellcount dof",
    ],
    &[
        ("contact", Once, &FLEX_CONTACT),
        ("edge", Once, &leaf(&["stiffness damping"])),
        ("elasticity", Once, &ELASTICITY),
    ],
);

// ---- contact, tendon, equality ------------------------------------------------------------------

const PAIR_ATTRS: &str = "condim friction solref solreffriction solimp gap margin adhesion";

static CONTACT: Rule = group(&[
    ("pair", Any, &leaf(&["name class geom1 geom2", PAIR_ATTRS])),
    ("exclude", Any, &leaf(&["name body1 body2"])),
]);

const TENDON_ATTRS: &str = "group limited actuatorfrclimited range actuatorfrcrange solreflimit \
                            solimplimit solreffriction solimpfriction frictionloss springlength \
                            springyield margin stiffness damping armature user";
const TENDON_LOOK: &str = "width material rgba";

static TENDON: Rule = group(&[
    ("spatial", Any, &SPATIAL),
    ("fixed", Any, &tree(&["name class", TENDON_ATTRS], &[("joint", Any, &leaf(&["joint coef"]))])),
]);

static SPATIAL: Rule = tree(
    &["name class", TENDON_ATTRS, TENDON_LOOK],
    &[
        ("site", Any, &leaf(&["site"])),
        ("geom", Any, &leaf(&["geom sidesite"])),
        ("pulley", Any, &leaf(&["divisor"])),
    ],
);

const EQUALITY_ATTRS: &str = "active solref solimp";

static EQUALITY: Rule = group(&[
    ("connect", Any, &CONNECT),
    ("weld", Any, &WELD),
    ("joint", Any, &leaf(&["name class", EQUALITY_ATTRS, "joint1 joint2 polycoef"])),
    ("tendon", Any, &leaf(&["name class", EQUALITY_ATTRS, "tendon1 tendon2 polycoef"])),
    ("distance", Any, &leaf(&["name class", EQUALITY_ATTRS, "geom1 geom2 distance"])),
    ("flex", Any, &leaf(&["name class", EQUALITY_ATTRS, "flex"])),
    ("flexstrain", Any, &leaf(&["name class", EQUALITY_ATTRS, "flex cell"])),
]);

static CONNECT: Rule = bound(
    &["name class", EQUALITY_ATTRS, "body1 body2 anchor site1 site2"],
    &[
        Exclusive(&["site1 site2", "body1 body2 anchor"]),
        OneOf(&["site1 site2", "body1 anchor"]),
        Together("site1", "site2"),
    ],
);

static WELD: Rule = bound(
    &["name class", EQUALITY_ATTRS, "body1 body2 relpose anchor site1 site2 torquescale"],
    &[
        Exclusive(&["site1 site2", "body1 body2 anchor relpose"]),
        OneOf(&["site1 site2", "body1"]),
        Together("site1", "site2"),
    ],
);

// ---- actuators ----------------------------------------------------------------------------------

/// What every actuator has.
const DRIVE: &str = "group nsample interp delay ctrlrange user";
const CTRLLIMITED: &str = "ctrllimited";
const FORCE: &str = "forcelimited forcerange";
const ACTIVATION: &str = "actlimited actrange";
const GEAR: &str = "gear damping armature cranklength";
/// A proportional servo.
const SERVO: &str = "kp kv dampratio inheritrange";

const GENERAL_ATTRS: &str = "actdim input velrange ffrange inheritrange dyntype gaintype biastype \
                             dynprm gainprm biasprm actearly";
const POSITION_ATTRS: &str = "kp kv dampratio inheritrange timeconst";
const ORIENTATION_ATTRS: &str = "kp kv dampratio input";
const PID_ATTRS: &str =
    "kp kv dampratio inheritrange ki imax slewmax posrange velrange ffrange input";
const CYLINDER_ATTRS: &str = "timeconst area diameter bias";
const MUSCLE_ATTRS: &str = "timeconst range force scale lmin lmax vmax fpmax fvmax";
const DCMOTOR_ATTRS: &str = "motorconst resistance nominal saturation inductance cogging \
                             controller thermal lugre input";

/// Name and transmission of an actuator in the model, beyond what a default class may set.
const ACTS_ON: &str = "name class lengthrange joint jointinparent tendon slidersite cranksite";
const ACTS_ON_SITE: &str = "site refsite";

static ACTUATOR: Rule = group(&[
    ("general", Any, &GENERAL),
    ("motor", Any, &leaf(&[ACTS_ON, ACTS_ON_SITE, DRIVE, CTRLLIMITED, FORCE, GEAR])),
    ("position", Any, &POSITION),
    ("velocity", Any, &leaf(&[ACTS_ON, ACTS_ON_SITE, DRIVE, CTRLLIMITED, FORCE, GEAR, "kv"])),
    ("intvelocity", Any, &INTVELOCITY),
    ("orientation", Any, &ORIENTATION),
    ("pid", Any, &leaf(&[ACTS_ON, ACTS_ON_SITE, DRIVE, CTRLLIMITED, FORCE, GEAR, PID_ATTRS])),
    ("damper", Any, &leaf(&[ACTS_ON, ACTS_ON_SITE, DRIVE, FORCE, GEAR, "kv"])),
    ("cylinder", Any, &CYLINDER),
    ("muscle", Any, &MUSCLE),
    ("adhesion", Any, &leaf(&["name class body", DRIVE, FORCE, "gain"])),
    ("dcmotor", Any, &leaf(&[ACTS_ON, ACTS_ON_SITE, DRIVE, CTRLLIMITED, GEAR, DCMOTOR_ATTRS])),
    ("plugin", Any, &ACTUATOR_PLUGIN),
]);

static GENERAL: Rule = leaf(&[
    ACTS_ON,
    ACTS_ON_SITE,
    "body",
    DRIVE,
    CTRLLIMITED,
    FORCE,
    ACTIVATION,
    GEAR,
    GENERAL_ATTRS,
]);

static POSITION: Rule =
    leaf(&[ACTS_ON, ACTS_ON_SITE, DRIVE, CTRLLIMITED, FORCE, GEAR, POSITION_ATTRS]);

static INTVELOCITY: Rule =
    leaf(&[ACTS_ON, ACTS_ON_SITE, DRIVE, CTRLLIMITED, FORCE, ACTIVATION, GEAR, SERVO]);

static ORIENTATION: Rule =
    leaf(&["name class joint", ACTS_ON_SITE, DRIVE, FORCE, ORIENTATION_ATTRS]);

static CYLINDER: Rule =
    leaf(&[ACTS_ON, ACTS_ON_SITE, DRIVE, CTRLLIMITED, FORCE, GEAR, CYLINDER_ATTRS]);

static MUSCLE: Rule = leaf(&[ACTS_ON, DRIVE, CTRLLIMITED, FORCE, GEAR, MUSCLE_ATTRS, "tausmooth"]);

static ACTUATOR_PLUGIN: Rule = tree(
    &[
        ACTS_ON,
        "site plugin instance actdim dyntype dynprm actearly",
        DRIVE,
        CTRLLIMITED,
        FORCE,
        ACTIVATION,
        GEAR,
    ],
    &[("config", Any, &CONFIG)],
);

// ---- sensors ------------------------------------------------------------------------------------

const SENSOR_ATTRS: &str = "name nsample interp delay interval cutoff noise user";

static OF_SITE: Rule = leaf(&[SENSOR_ATTRS, "site"]);
static OF_JOINT: Rule = leaf(&[SENSOR_ATTRS, "joint"]);
static OF_TENDON: Rule = leaf(&[SENSOR_ATTRS, "tendon"]);
static OF_ACTUATOR: Rule = leaf(&[SENSOR_ATTRS, "actuator"]);
static OF_BODY: Rule = leaf(&[SENSOR_ATTRS, "body"]);
static OF_FRAME: Rule = leaf(&[SENSOR_ATTRS, "objtype objname"]);
static OF_TWO_FRAMES: Rule =
    bound(&[SENSOR_ATTRS, "objtype objname reftype refname"], &[Together("reftype", "refname")]);
static OF_TWO_GEOMS: Rule = bound(
    &[SENSOR_ATTRS, "geom1 geom2 body1 body2"],
    &[
        Exclusive(&["geom1", "body1"]),
        OneOf(&["geom1", "body1"]),
        Exclusive(&["geom2", "body2"]),
        OneOf(&["geom2", "body2"]),
    ],
);
static OF_MODEL: Rule = leaf(&[SENSOR_ATTRS]);

static SENSOR: Rule = group(&[
    ("touch", Any, &OF_SITE),
    ("accelerometer", Any, &OF_SITE),
    ("velocimeter", Any, &OF_SITE),
    ("gyro", Any, &OF_SITE),
    ("force", Any, &OF_SITE),
    ("torque", Any, &OF_SITE),
    ("magnetometer", Any, &OF_SITE),
    ("camprojection", Any, &leaf(&[SENSOR_ATTRS, "site camera"])),
    ("rangefinder", Any, &RANGEFINDER),
    ("jointpos", Any, &OF_JOINT),
    ("jointvel", Any, &OF_JOINT),
    ("tendonpos", Any, &OF_TENDON),
    ("tendonvel", Any, &OF_TENDON),
    ("actuatorpos", Any, &OF_ACTUATOR),
    ("actuatorvel", Any, &OF_ACTUATOR),
    ("actuatorfrc", Any, &OF_ACTUATOR),
    ("jointactuatorfrc", Any, &OF_JOINT),
    ("tendonactuatorfrc", Any, &OF_TENDON),
    ("ballquat", Any, &OF_JOINT),
    ("ballangvel", Any, &OF_JOINT),
    ("jointlimitpos", Any, &OF_JOINT),
    ("jointlimitvel", Any, &OF_JOINT),
    ("jointlimitfrc", Any, &OF_JOINT),
    ("tendonlimitpos", Any, &OF_TENDON),
    ("tendonlimitvel", Any, &OF_TENDON),
    ("tendonlimitfrc", Any, &OF_TENDON),
    ("framepos", Any, &OF_TWO_FRAMES),
    ("framequat", Any, &OF_TWO_FRAMES),
    ("framexaxis", Any, &OF_TWO_FRAMES),
    ("frameyaxis", Any, &OF_TWO_FRAMES),
    ("framezaxis", Any, &OF_TWO_FRAMES),
    ("framelinvel", Any, &OF_TWO_FRAMES),
    ("frameangvel", Any, &OF_TWO_FRAMES),
    ("framelinacc", Any, &OF_FRAME),
    ("frameangacc", Any, &OF_FRAME),
    ("subtreecom", Any, &OF_BODY),
    ("subtreelinvel", Any, &OF_BODY),
    ("subtreeangmom", Any, &OF_BODY),
    ("insidesite", Any, &leaf(&[SENSOR_ATTRS, "site objtype objname enclosed"])),
    ("distance", Any, &OF_TWO_GEOMS),
    ("normal", Any, &OF_TWO_GEOMS),
    ("fromto", Any, &OF_TWO_GEOMS),
    ("contact", Any, &CONTACT_SENSOR),
    ("e_potential", Any, &OF_MODEL),
    ("e_kinetic", Any, &OF_MODEL),
    ("clock", Any, &OF_MODEL),
    ("tactile", Any, &leaf(&["name geom mesh nsample interp delay interval cutoff user"])),
    ("user", Any, &USER_SENSOR),
    ("plugin", Any, &SENSOR_PLUGIN),
]);

static RANGEFINDER: Rule = bound(
    &[SENSOR_ATTRS, "site camera data"],
    &[Exclusive(&["site", "camera"]), OneOf(&["site", "camera"])],
);

static CONTACT_SENSOR: Rule = bound(
    &[SENSOR_ATTRS, "geom1 geom2 body1 body2 subtree1 subtree2 site num data reduce"],
    &[
        Exclusive(&["geom1", "body1", "subtree1", "site"]),
        Exclusive(&["geom2", "body2", "subtree2"]),
    ],
);

static USER_SENSOR: Rule = bound(
    &["name objtype objname datatype needstage dim cutoff noise user"],
    &[Together("objtype", "objname")],
);

static SENSOR_PLUGIN: Rule = tree(
    &["name plugin instance cutoff objtype objname reftype refname user"],
    &[("config", Any, &CONFIG)],
);

// ---- custom fields and keyframes ----------------------------------------------------------------

static CUSTOM: Rule = group(&[
    ("numeric", Any, &leaf(&["name size data"])),
    ("text", Any, &leaf(&["name data"])),
    ("tuple", Any, &tree(&["name"], &[("element", Any, &leaf(&["objtype objname prm"]))])),
]);

static KEYFRAME: Rule =
    group(&[("key", Any, &leaf(&["name time qpos qvel act mpos mquat ctrl plastic"]))]);
