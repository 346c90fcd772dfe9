//! The table of refusals: what is accepted, what is refused about its like, and the exact words.

use dualstep::mjcf::MjcfErrorKind as Kind;

/// Something accepted, and what is refused about its like: the error's class and its text after the file's
/// name, and the help, if any.
pub(super) struct Case {
    pub(super) accepted: &'static str,
    pub(super) refused: &'static str,
    pub(super) kind: Kind,
    pub(super) message: &'static str,
    pub(super) help: Option<&'static str>,
}

const fn case(
    kind: Kind,
    accepted: &'static str,
    refused: &'static str,
    message: &'static str,
) -> Case {
    Case { accepted, refused, kind, message, help: None }
}

impl Case {
    const fn help(mut self, help: &'static str) -> Self {
        self.help = Some(help);
        self
    }
}

/// Elements and attributes that do not exist, are missing, or exclude each other.
pub(super) const SPELLING: [Case; 11] = [
    case(
        Kind::UnknownElement,
        "<worldbody><body><joint/><geom size='1'/></body></worldbody>",
        "<worldbody><body><jiont/><geom size='1'/></body></worldbody>",
        "2:19: <jiont> is not an element of <body>",
    )
    .help("did you mean <joint>?"),
    case(
        Kind::UnknownElement,
        "<option timestep='0.01'/>",
        "<options timestep='0.01'/>",
        "2:2: <options> is not an element of <mujoco>",
    )
    .help("did you mean <option>?"),
    case(
        Kind::UnknownElement,
        "<worldbody><body><geom size='1'/></body></worldbody>",
        "<body><geom size='1'/></body>",
        "2:2: <body> is not an element of <mujoco>",
    )
    .help("put <body> inside <worldbody>"),
    case(
        Kind::UnknownAttribute,
        "<worldbody><body><joint damping='1'/><geom size='1'/></body></worldbody>",
        "<worldbody><body><joint dampning='1'/><geom size='1'/></body></worldbody>",
        "2:25: <joint> has no attribute `dampning`",
    )
    .help("did you mean `damping`?"),
    case(
        Kind::UnknownAttribute,
        "<worldbody><body><freejoint name='a'/><geom size='1'/></body></worldbody>",
        "<worldbody><body><freejoint damping='1'/><geom size='1'/></body></worldbody>",
        "2:29: <freejoint> has no attribute `damping`",
    )
    .help("its attributes are `name` `group` `align`"),
    case(
        Kind::MissingAttribute,
        "<worldbody><body><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body></worldbody>",
        "<worldbody><body><inertial pos='0 0 0' diaginertia='1 1 1'/></body></worldbody>",
        "2:19: <inertial> needs attribute `mass`",
    ),
    case(
        Kind::MissingAttribute,
        "<worldbody><body><inertial pos='0 0 0' mass='1'/></body></worldbody>",
        "<worldbody><body><inertial mass='1'/></body></worldbody>",
        "2:19: <inertial> needs attribute `pos`",
    ),
    case(
        Kind::MissingAttribute,
        "<default><default class='a'/></default>",
        "<default><default/></default>",
        "2:11: <default> a nested default needs a name: attribute `class`",
    ),
    case(
        Kind::MissingAttribute,
        "<worldbody><body><joint name='a'/><geom size='1'/></body></worldbody><actuator>\
         <motor joint='a'/></actuator>",
        "<worldbody><body><joint name='a'/><geom size='1'/></body></worldbody><actuator>\
         <motor/></actuator>",
        "2:81: <motor> an actuator needs a target: joint, jointinparent, tendon, site or body",
    ),
    case(
        Kind::Invalid,
        "<worldbody><geom size='1' quat='0 1 0 0'/></worldbody>",
        "<worldbody><geom size='1' quat='0 1 0 0' euler='1 2 3'/></worldbody>",
        "2:49: <geom> attributes `quat` and `euler` exclude each other",
    ),
    case(
        Kind::Duplicate,
        "<worldbody><body><inertial pos='0 0 0' mass='1'/></body></worldbody>",
        "<worldbody><body><inertial pos='0 0 0' mass='1'/><inertial pos='0 0 0' mass='2'/>\
         </body></worldbody>",
        "2:51: <inertial> is given twice in <body>, expected at most one",
    )
    .help("merge the two"),
];

/// Values that do not parse, or are too many or too few.
pub(super) const VALUES: [Case; 11] = [
    case(
        Kind::BadValue,
        "<worldbody><body><joint axis='0 1 0'/><geom size='1'/></body></worldbody>",
        "<worldbody><body><joint axis='0 1'/><geom size='1'/></body></worldbody>",
        "2:31: <joint> attribute `axis` needs 3 numbers, found 2",
    ),
    case(
        Kind::BadValue,
        "<worldbody><geom size='1' friction='.7'/></worldbody>",
        "<worldbody><geom size='1' friction='1 1 1 1'/></worldbody>",
        "2:37: <geom> attribute `friction` needs 1 to 3 numbers, found 4",
    ),
    case(
        Kind::BadValue,
        "<option timestep='1e-3'/>",
        "<option timestep='1e-3s'/>",
        "2:19: <option> attribute `timestep`: expected a number, found `1e-3s`",
    ),
    case(
        Kind::BadValue,
        "<option timestep='1e-3'/>",
        "<option timestep='nan'/>",
        "2:19: <option> attribute `timestep`: expected a number, found `nan`",
    ),
    case(
        Kind::BadValue,
        "<worldbody><body><joint type='slide'/><geom size='1'/></body></worldbody>",
        "<worldbody><body><joint type='slider'/><geom size='1'/></body></worldbody>",
        "2:31: <joint> attribute `type` must be `free`, `ball`, `slide` or `hinge`, found \
         `slider`",
    )
    .help("did you mean `slide`?"),
    case(
        Kind::BadValue,
        "<compiler angle='radian'/>",
        "<compiler angle='Radian'/>",
        "2:18: <compiler> attribute `angle` must be `radian` or `degree`, found `Radian`",
    )
    .help("did you mean `radian`?"),
    case(
        Kind::BadValue,
        "<compiler autolimits='false'/>",
        "<compiler autolimits='no'/>",
        "2:23: <compiler> attribute `autolimits` must be `false` or `true`, found `no`",
    ),
    case(
        Kind::BadValue,
        "<compiler eulerseq='XYZ'/>",
        "<compiler eulerseq='xyw'/>",
        "2:21: <compiler> attribute `eulerseq` needs three letters of `xyz` or `XYZ`, found `xyw`",
    ),
    case(
        Kind::BadValue,
        "<worldbody><geom size='1' group='2'/></worldbody>",
        "<worldbody><geom size='1' group='2.5'/></worldbody>",
        "2:34: <geom> attribute `group`: expected an integer, found `2.5`",
    ),
    case(
        Kind::BadValue,
        "<option><flag gravity='disable'/></option>",
        "<option><flag gravity='off'/></option>",
        "2:24: <flag> attribute `gravity` must be `disable` or `enable`, found `off`",
    ),
    case(
        Kind::BadValue,
        "<worldbody><body><geom size='1' mass='2'/></body></worldbody>",
        "<worldbody><body><geom size='1' mass='nan'/></body></worldbody>",
        "2:39: <geom> attribute `mass`: expected a number, found `nan`",
    ),
];

/// Names given twice, and references of every kind to nothing.
pub(super) const NAMES: [Case; 13] = [
    case(
        Kind::Duplicate,
        "<worldbody><geom name='a' size='1'/><site name='a'/></worldbody>",
        "<worldbody><geom name='a' size='1'/><geom name='a' size='1'/></worldbody>",
        "2:49: <geom> the name `a` is already that of another geom",
    ),
    case(
        Kind::Duplicate,
        "<default><default class='a'/><default class='b'/></default>",
        "<default><default class='a'/><default class='a'/></default>",
        "2:46: <default> default class `a` exists already",
    ),
    case(
        Kind::UnknownName,
        "<default><default class='big'><geom size='1'/></default></default><worldbody>\
         <geom class='big'/></worldbody>",
        "<default><default class='big'><geom size='1'/></default></default><worldbody>\
         <geom class='bug'/></worldbody>",
        "2:91: <geom> attribute `class`: there is no default class `bug`",
    )
    .help("did you mean `big`?"),
    case(
        Kind::UnknownName,
        "<worldbody><body><joint name='a'/><geom size='1'/></body></worldbody><actuator>\
         <motor joint='a'/></actuator>",
        "<worldbody><body><joint name='a'/><geom size='1'/></body></worldbody><actuator>\
         <motor joint='b'/></actuator>",
        "2:94: <motor> there is no joint `b`",
    ),
    case(
        Kind::UnknownName,
        "<worldbody><body><joint name='a'/><geom size='1'/></body></worldbody><tendon><fixed>\
         <joint joint='a' coef='1'/></fixed></tendon>",
        "<worldbody><body><joint name='a'/><geom size='1'/></body></worldbody><tendon><fixed>\
         <joint joint='b' coef='1'/></fixed></tendon>",
        "2:99: <joint> there is no joint `b`",
    ),
    case(
        Kind::UnknownName,
        "<worldbody><body><joint name='a'/><geom size='1'/></body></worldbody><tendon>\
         <fixed name='t'><joint joint='a' coef='1'/></fixed></tendon><actuator>\
         <motor tendon='t'/></actuator>",
        "<worldbody><body><joint name='a'/><geom size='1'/></body></worldbody><tendon>\
         <fixed name='t'><joint joint='a' coef='1'/></fixed></tendon><actuator>\
         <motor tendon='u'/></actuator>",
        "2:163: <motor> there is no tendon `u`",
    ),
    case(
        Kind::UnknownName,
        "<worldbody><site name='s'/><body><joint/><geom size='1'/></body></worldbody><actuator>\
         <motor site='s'/></actuator>",
        "<worldbody><site name='s'/><body><joint/><geom size='1'/></body></worldbody><actuator>\
         <motor site='r'/></actuator>",
        "2:100: <motor> there is no site `r`",
    ),
    case(
        Kind::UnknownName,
        "<worldbody><body><joint name='a'/><geom size='1'/></body></worldbody><sensor>\
         <jointpos joint='a'/></sensor>",
        "<worldbody><body><joint name='a'/><geom size='1'/></body></worldbody><sensor>\
         <jointpos joint='b'/></sensor>",
        "2:95: <jointpos> there is no joint `b`",
    ),
    case(
        Kind::UnknownName,
        "<worldbody><body name='left'><geom size='1'/></body></worldbody><sensor>\
         <framepos objtype='body' objname='left'/></sensor>",
        "<worldbody><body name='left'><geom size='1'/></body></worldbody><sensor>\
         <framepos objtype='body' objname='lefft'/></sensor>",
        "2:107: <framepos> there is no body `lefft`",
    )
    .help("did you mean `left`?"),
    case(
        Kind::UnknownName,
        "<worldbody><body name='left'><geom size='1'/></body><body name='right'>\
         <geom size='1'/></body></worldbody><equality><weld body1='left' body2='right'/>\
         </equality>",
        "<worldbody><body name='left'><geom size='1'/></body></worldbody><equality>\
         <weld body1='left' body2='right'/></equality>",
        "2:101: <weld> there is no body `right`",
    ),
    case(
        Kind::UnknownName,
        "<worldbody><body name='left'><geom size='1'/></body><body name='right'>\
         <geom size='1'/></body></worldbody><contact><exclude body1='left' body2='right'/>\
         </contact>",
        "<worldbody><body name='left'><geom size='1'/></body></worldbody><contact>\
         <exclude body1='left' body2='right'/></contact>",
        "2:103: <exclude> there is no body `right`",
    ),
    case(
        Kind::UnknownName,
        "<worldbody><geom name='g' size='1'/><geom name='f' size='1'/></worldbody><contact>\
         <pair geom1='g' geom2='f'/></contact>",
        "<worldbody><geom name='g' size='1'/></worldbody><contact><pair geom1='g' geom2='f'/>\
         </contact>",
        "2:81: <pair> there is no geom `f`",
    ),
    case(
        Kind::UnknownName,
        "<worldbody><geom type='sphere' size='1'/></worldbody>",
        "<worldbody><geom type='mesh' mesh='m'/></worldbody>",
        "2:36: <geom> there is no mesh `m`",
    ),
];

/// What parses but makes no model.
pub(super) const MEANING: [Case; 15] = [
    case(
        Kind::Invalid,
        "<worldbody><body name='b'><joint/><geom size='1'/></body></worldbody><actuator>\
         <adhesion body='b' ctrlrange='0 1'/></actuator>",
        "<worldbody><body name='b'><joint/><geom size='1'/></body></worldbody><actuator>\
         <adhesion body='b' ctrlrange='-1 1'/></actuator>",
        "2:110: <adhesion> the control range of an adhesion actuator must not be negative",
    ),
    case(
        Kind::Invalid,
        "<worldbody><body><joint/><geom size='1'/></body></worldbody>",
        "<worldbody><body><joint/></body></worldbody>",
        "2:13: <body> mass and inertia of a moving body must be positive",
    )
    .help("give it a geom with mass, or an `inertial` element"),
    case(
        Kind::Invalid,
        "<worldbody><body><geom size='1' mass='0'/></body></worldbody>",
        "<worldbody><body><geom size='1' mass='-1'/></body></worldbody>",
        "2:39: <geom> mass and density cannot be negative",
    ),
    case(
        Kind::Invalid,
        "<worldbody><body><inertial pos='0 0 0' mass='1' diaginertia='1 1 2'/></body></worldbody>",
        "<worldbody><body><inertial pos='0 0 0' mass='1' diaginertia='1 1 3'/></body></worldbody>",
        "2:19: <inertial> inertia must satisfy A + B >= C, found 1, 1, 3",
    )
    .help("balanceinertia=\"true\" in `compiler` repairs it"),
    case(
        Kind::Invalid,
        "<worldbody><body><inertial pos='0 0 0' mass='1' fullinertia='2 2 2 1 0 0'/></body>\
         </worldbody>",
        "<worldbody><body><inertial pos='0 0 0' mass='1' fullinertia='2 2 2 3 0 0'/></body>\
         </worldbody>",
        "2:62: <inertial> fullinertia must be positive definite, its eigenvalues are [5.0, \
         2.0, -1.0]",
    ),
    case(
        Kind::Invalid,
        "<worldbody><body><joint axis='0 0 1'/><geom size='1'/></body></worldbody>",
        "<worldbody><body><joint axis='0 0 0'/><geom size='1'/></body></worldbody>",
        "2:31: <joint> the axis is too small to have a direction",
    ),
    case(
        Kind::Invalid,
        "<worldbody><body><joint range='0 1'/><geom size='1'/></body></worldbody>",
        "<worldbody><body><joint range='1 0' limited='true'/><geom size='1'/></body></worldbody>",
        "2:32: <joint> range[0] must be smaller than range[1]",
    ),
    case(
        Kind::Invalid,
        "<worldbody><body><freejoint/><geom size='1'/></body></worldbody>",
        "<worldbody><body><freejoint/><joint/><geom size='1'/></body></worldbody>",
        "2:13: <body> a body has at most 6 degrees of freedom",
    ),
    case(
        Kind::UnknownElement,
        "<worldbody><body><joint/><geom size='1'/></body></worldbody>",
        "<worldbody><joint/></worldbody>",
        "2:13: <joint> is not an element of <worldbody>",
    )
    .help("the world does not move: put it inside a <body>"),
    case(
        Kind::Invalid,
        "<worldbody><body><freejoint/><geom size='1'/></body></worldbody>",
        "<worldbody><body><geom size='1'/><body><freejoint/><geom size='1'/></body></body>\
         </worldbody>",
        "2:41: <freejoint> a free joint is only allowed in a child of the world",
    ),
    case(
        Kind::Invalid,
        "<worldbody><body mocap='true'><geom size='1'/></body></worldbody>",
        "<worldbody><body mocap='true'><joint/><geom size='1'/></body></worldbody>",
        "2:25: <body> a mocap body must be a child of the world without joints",
    ),
    case(
        Kind::Invalid,
        "<worldbody><geom size='1'/></worldbody>",
        "<worldbody><geom/></worldbody>",
        "2:13: <geom> size[0] must be positive, found 0",
    ),
    case(
        Kind::Invalid,
        "<worldbody><geom type='box' size='1 1 1'/></worldbody>",
        "<worldbody><geom type='box' size='1'/></worldbody>",
        "2:35: <geom> size[1] must be positive, found 0",
    ),
    case(
        Kind::Invalid,
        "<worldbody><body><joint type='ball' name='a'/><geom size='1'/></body></worldbody>",
        "<worldbody><body><joint type='ball' name='a'/><geom size='1'/></body></worldbody>\
         <tendon><fixed><joint joint='a' coef='1'/></fixed></tendon>",
        "2:111: <joint> only hinge and slide joints can be part of a tendon",
    ),
    case(
        Kind::Invalid,
        "<worldbody><body><joint name='a'/><geom size='1'/></body></worldbody><keyframe>\
         <key qpos='1'/></keyframe>",
        "<worldbody><body><joint name='a'/><geom size='1'/></body></worldbody><keyframe>\
         <key qpos='1 2'/></keyframe>",
        "2:91: <key> `qpos` has 2 numbers, the model 1",
    ),
];

/// Features that are MJCF but not supported: each names itself.
pub(super) const UNSUPPORTED: [Case; 12] = [
    case(
        Kind::Unsupported,
        "<option density='0'/>",
        "<option density='1.2'/>",
        "2:18: <option> fluid forces (density is not 0) are not supported",
    ),
    case(
        Kind::Unsupported,
        "<option viscosity='0'/>",
        "<option viscosity='1'/>",
        "2:20: <option> fluid forces (viscosity is not 0) are not supported",
    ),
    case(
        Kind::Unsupported,
        "<option integrator='implicitfast'/>",
        "<option integrator='discrete'/>",
        "2:21: <option> the integrator `discrete` is not supported yet",
    ),
    case(
        Kind::Unsupported,
        "<worldbody><body><joint name='a'/><geom size='1'/></body></worldbody><tendon><fixed>\
         <joint joint='a' coef='1'/></fixed></tendon>",
        "<worldbody><site name='a'/><body><joint/><geom size='1'/><site name='b'/></body>\
         </worldbody><tendon><spatial><site site='a'/><site site='b'/></spatial></tendon>",
        "2:102: <spatial> spatial tendons are not supported yet",
    ),
    case(
        Kind::Unsupported,
        "<worldbody><body><geom size='1'/></body></worldbody>",
        "<worldbody><body><replicate count='2'><geom size='1'/></replicate></body></worldbody>",
        "2:19: <replicate> `replicate` is not supported yet",
    ),
    case(
        Kind::Unsupported,
        "<worldbody><body><geom size='1'/></body></worldbody>",
        "<worldbody><body><geom size='1'/><flexcomp name='f' type='grid' count='2 2 2'/></body>\
         </worldbody>",
        "2:35: <flexcomp> deformables (`flexcomp`) are not supported yet",
    ),
    case(
        Kind::Unsupported,
        "<worldbody><body><geom size='1'/></body></worldbody>",
        "<extension><plugin plugin='mujoco.pid'/></extension>",
        "2:13: <plugin> plugins are not supported yet",
    ),
    case(
        Kind::Unsupported,
        "<asset/>",
        "<asset><model name='m' file='m.xml'/></asset>",
        "2:9: <model> model assets are not supported yet",
    ),
    case(
        Kind::Unsupported,
        "<worldbody><body><joint name='a'/><geom size='1'/></body></worldbody><actuator>\
         <motor joint='a'/></actuator>",
        "<worldbody><body><joint name='a'/><geom size='1'/></body></worldbody><actuator>\
         <dcmotor joint='a'/></actuator>",
        "2:81: <dcmotor> DC motors (`dcmotor`) are not supported yet",
    ),
    case(
        Kind::Unsupported,
        "<worldbody><body><joint name='a'/><geom size='1'/></body></worldbody><actuator>\
         <motor joint='a'/></actuator>",
        "<worldbody><site name='s'/><site name='r'/></worldbody><actuator>\
         <motor cranksite='s' slidersite='r'/></actuator>",
        "2:84: <motor> slider-crank transmissions are not supported yet",
    ),
    case(
        Kind::Unsupported,
        "<worldbody><body><joint stiffness='1'/><geom size='1'/></body></worldbody>",
        "<worldbody><body><joint stiffness='1' springyield='0.1'/><geom size='1'/></body>\
         </worldbody>",
        "2:52: <joint> plastic springs (`springyield`) are not supported yet",
    ),
    case(
        Kind::Unsupported,
        "<worldbody><geom size='1'/></worldbody>",
        "<worldbody><geom type='sdf' mesh='m'/></worldbody>",
        "2:24: <geom> signed distance fields (`sdf` geoms) are not supported yet",
    ),
];

/// Files that are missing or broken.
pub(super) const ASSETS: [Case; 4] = [
    case(
        Kind::Asset,
        "<asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset>",
        "<asset><mesh name='m' file='gone.stl'/></asset>",
        "2:29: <mesh> mesh `m` (nowhere/gone.stl): cannot read the file: No such file or \
         directory (os error 2)",
    ),
    case(
        Kind::Asset,
        "<asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset>",
        "<asset><mesh name='m' vertex='0 0 0 1 0 0'/></asset>",
        "2:31: <mesh> mesh `m`: at least 4 vertices required, found 2",
    ),
    case(
        Kind::Asset,
        "<asset><hfield name='h' nrow='2' ncol='2' size='1 1 1 1'/></asset>",
        "<asset><hfield name='h' file='gone.png' size='1 1 1 1'/></asset>",
        "2:31: <hfield> nowhere/gone.png: No such file or directory (os error 2)",
    ),
    case(
        Kind::Io,
        "<worldbody/>",
        "<include file='gone.xml'/>",
        "2:16: <include> cannot read file `gone.xml`: tried nowhere/gone.xml (No such file or \
         directory (os error 2))",
    )
    .help("paths are relative to the directory of the main model file"),
];
