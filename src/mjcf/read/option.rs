//! `compiler`, `option` with its flags, `size`, `statistic`.

use super::attr::{Keyword, Node};
use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{
    CompilerSpec, Cone, InertiaFromGeom, Integrator, JacobianType, LengthRangeMode,
    LengthRangeSpec, OptionSpec, SizeSpec, Solver, StatisticSpec,
};
use crate::model::options::{disable, enable};

const ANGLE: &[Keyword<bool>] = &[("radian", false), ("degree", true)];
const COORDINATE: &[Keyword<bool>] = &[("local", false), ("global", true)];
const INERTIA_FROM_GEOM: &[Keyword<InertiaFromGeom>] = &[
    ("false", InertiaFromGeom::False),
    ("true", InertiaFromGeom::True),
    ("auto", InertiaFromGeom::Auto),
];
const LENGTH_RANGE_MODE: &[Keyword<LengthRangeMode>] = &[
    ("none", LengthRangeMode::None),
    ("muscle", LengthRangeMode::Muscle),
    ("muscleuser", LengthRangeMode::MuscleUser),
    ("all", LengthRangeMode::All),
];
const INTEGRATOR: &[Keyword<Option<Integrator>>] = &[
    ("Euler", Some(Integrator::Euler)),
    ("RK4", Some(Integrator::Rk4)),
    ("implicit", Some(Integrator::Implicit)),
    ("implicitfast", Some(Integrator::ImplicitFast)),
    ("discrete", None),
];
const CONE: &[Keyword<Cone>] = &[("pyramidal", Cone::Pyramidal), ("elliptic", Cone::Elliptic)];
const JACOBIAN: &[Keyword<JacobianType>] = &[
    ("dense", JacobianType::Dense),
    ("sparse", JacobianType::Sparse),
    ("auto", JacobianType::Auto),
];
const SOLVER: &[Keyword<Solver>] =
    &[("PGS", Solver::Pgs), ("CG", Solver::Cg), ("Newton", Solver::Newton)];
const ENABLE: &[Keyword<bool>] = &[("disable", false), ("enable", true)];

const DISABLE_FLAGS: &[(&str, u32)] = &[
    ("constraint", disable::CONSTRAINT),
    ("equality", disable::EQUALITY),
    ("frictionloss", disable::FRICTIONLOSS),
    ("limit", disable::LIMIT),
    ("contact", disable::CONTACT),
    ("spring", disable::SPRING),
    ("damper", disable::DAMPER),
    ("gravity", disable::GRAVITY),
    ("clampctrl", disable::CLAMPCTRL),
    ("warmstart", disable::WARMSTART),
    ("filterparent", disable::FILTERPARENT),
    ("actuation", disable::ACTUATION),
    ("refsafe", disable::REFSAFE),
    ("sensor", disable::SENSOR),
    ("midphase", disable::MIDPHASE),
    ("eulerdamp", disable::EULERDAMP),
    ("autoreset", disable::AUTORESET),
    ("nativeccd", disable::NATIVECCD),
    ("island", disable::ISLAND),
    ("multiccd", disable::MULTICCD),
];

const ENABLE_FLAGS: &[(&str, u32)] = &[
    ("override", enable::OVERRIDE),
    ("energy", enable::ENERGY),
    ("fwdinv", enable::FWDINV),
    ("invdiscrete", enable::INVDISCRETE),
    ("sleep", enable::SLEEP),
    ("diagexact", enable::DIAGEXACT),
    ("ipc", enable::IPC),
    ("speculative", enable::SPECULATIVE),
];

/// Flags that change results in ways that nothing here computes.
const UNSUPPORTED_FLAGS: &[(&str, &str)] = &[
    ("sleep", "sleeping trees (flag `sleep`) are"),
    ("ipc", "the IPC contact mode (flag `ipc`) is"),
    ("speculative", "speculative contacts (flag `speculative`) are"),
];

/// Reads a `compiler` element; later ones override earlier ones attribute by attribute.
pub(super) fn read_compiler(node: Node, compiler: &mut CompilerSpec) -> Result<(), MjcfError> {
    compiler.span = node.span();
    let mut global = false;
    node.keyword("coordinate", COORDINATE, &mut global)?;
    if global {
        let message = "global coordinates are not supported since MuJoCo 2.3.4";
        let error = node.error_at("coordinate", MjcfErrorKind::Invalid, message);
        return Err(error.with_help("load and save the model in MuJoCo 2.3.3 to convert it"));
    }
    node.boolean("autolimits", &mut compiler.autolimits)?;
    node.scalar("boundmass", &mut compiler.boundmass)?;
    node.scalar("boundinertia", &mut compiler.boundinertia)?;
    node.scalar("settotalmass", &mut compiler.settotalmass)?;
    node.boolean("balanceinertia", &mut compiler.balanceinertia)?;
    node.boolean("strippath", &mut compiler.strippath)?;
    node.keyword("angle", ANGLE, &mut compiler.degree)?;
    node.boolean("fitaabb", &mut compiler.fitaabb)?;
    read_eulerseq(node, compiler)?;
    if node.string("assetdir", &mut compiler.meshdir) {
        compiler.texturedir.clone_from(&compiler.meshdir);
    }
    node.string("meshdir", &mut compiler.meshdir);
    node.string("texturedir", &mut compiler.texturedir);
    node.boolean("discardvisual", &mut compiler.discardvisual)?;
    node.boolean("fusestatic", &mut compiler.fusestatic)?;
    node.keyword("inertiafromgeom", INERTIA_FROM_GEOM, &mut compiler.inertiafromgeom)?;
    node.integers("inertiagrouprange", &mut compiler.inertiagrouprange)?;
    node.boolean("alignfree", &mut compiler.alignfree)?;
    for lengthrange in node.element.children_named("lengthrange") {
        read_lengthrange(node.with(lengthrange), &mut compiler.lengthrange)?;
    }
    Ok(())
}

fn read_eulerseq(node: Node, compiler: &mut CompilerSpec) -> Result<(), MjcfError> {
    let Some(text) = node.text("eulerseq") else { return Ok(()) };
    let letters: Vec<char> = text.chars().collect();
    let valid = letters.iter().all(|c| "xyzXYZ".contains(*c));
    match <[char; 3]>::try_from(letters) {
        Ok(seq) if valid => compiler.eulerseq = seq,
        _ => {
            let message = format!(
                "attribute `eulerseq` needs three letters of `xyz` or `XYZ`, found `{text}`"
            );
            return Err(node.error_at("eulerseq", MjcfErrorKind::BadValue, message));
        }
    }
    Ok(())
}

fn read_lengthrange(node: Node, range: &mut LengthRangeSpec) -> Result<(), MjcfError> {
    node.keyword("mode", LENGTH_RANGE_MODE, &mut range.mode)?;
    node.boolean("useexisting", &mut range.useexisting)?;
    node.boolean("uselimit", &mut range.uselimit)?;
    let simulation = &mut range.simulation;
    node.scalar("accel", &mut simulation.accel)?;
    node.scalar("maxforce", &mut simulation.maxforce)?;
    node.scalar("timeconst", &mut simulation.timeconst)?;
    node.scalar("timestep", &mut simulation.timestep)?;
    node.scalar("inttotal", &mut simulation.inttotal)?;
    node.scalar("interval", &mut simulation.interval)?;
    node.scalar("tolrange", &mut simulation.tolrange)?;
    Ok(())
}

/// Reads an `option` element; later ones override earlier ones attribute by attribute.
pub(super) fn read_option(node: Node, option: &mut OptionSpec) -> Result<(), MjcfError> {
    option.span = node.span();
    node.scalar("timestep", &mut option.timestep)?;
    node.scalar("impratio", &mut option.impratio)?;
    node.scalar("tolerance", &mut option.tolerance)?;
    node.scalar("ls_tolerance", &mut option.ls_tolerance)?;
    node.scalar("noslip_tolerance", &mut option.noslip_tolerance)?;
    node.scalar("ccd_tolerance", &mut option.ccd_tolerance)?;
    node.scalar("sleep_tolerance", &mut option.sleep_tolerance)?;
    node.vector("gravity", &mut option.gravity)?;
    node.vector("wind", &mut option.wind)?;
    node.vector("magnetic", &mut option.magnetic)?;
    node.scalar("density", &mut option.density)?;
    node.scalar("viscosity", &mut option.viscosity)?;
    node.scalar("o_margin", &mut option.o_margin)?;
    node.vector_upto("o_solref", &mut option.o_solref)?;
    node.vector_upto("o_solimp", &mut option.o_solimp)?;
    node.vector_upto("o_friction", &mut option.o_friction)?;
    let mut integrator = Some(option.integrator);
    node.keyword("integrator", INTEGRATOR, &mut integrator)?;
    option.integrator = integrator
        .ok_or_else(|| node.unsupported_at("integrator", "the integrator `discrete` is"))?;
    node.keyword("cone", CONE, &mut option.cone)?;
    node.keyword("jacobian", JACOBIAN, &mut option.jacobian)?;
    node.keyword("solver", SOLVER, &mut option.solver)?;
    node.integer("iterations", &mut option.iterations)?;
    node.integer("ls_iterations", &mut option.ls_iterations)?;
    node.integer("noslip_iterations", &mut option.noslip_iterations)?;
    node.integer("ccd_iterations", &mut option.ccd_iterations)?;
    node.integer("sdf_iterations", &mut option.sdf_iterations)?;
    node.integer("sdf_initpoints", &mut option.sdf_initpoints)?;
    for group in node.integer_list("actuatorgroupdisable")?.unwrap_or_default() {
        let bit = u32::try_from(group).ok().filter(|g| *g <= 30).ok_or_else(|| {
            let message = format!(
                "attribute `actuatorgroupdisable` needs integers between 0 and 30, found {group}"
            );
            node.error_at("actuatorgroupdisable", MjcfErrorKind::BadValue, message)
        })?;
        option.disableactuator |= 1 << bit;
    }
    for flag in node.element.children_named("flag") {
        read_flag(node.with(flag), option)?;
    }
    Ok(())
}

fn read_flag(node: Node, option: &mut OptionSpec) -> Result<(), MjcfError> {
    for &(name, bit) in DISABLE_FLAGS {
        let mut enabled = option.disableflags & bit == 0;
        node.keyword(name, ENABLE, &mut enabled)?;
        set_bit(&mut option.disableflags, bit, !enabled);
    }
    for &(name, bit) in ENABLE_FLAGS {
        let mut enabled = option.enableflags & bit != 0;
        node.keyword(name, ENABLE, &mut enabled)?;
        set_bit(&mut option.enableflags, bit, enabled);
    }
    for &(name, feature) in UNSUPPORTED_FLAGS {
        if node.text(name) == Some("enable") {
            return Err(node.unsupported_at(name, feature));
        }
    }
    Ok(())
}

fn set_bit(flags: &mut u32, bit: u32, on: bool) {
    if on {
        *flags |= bit;
    } else {
        *flags &= !bit;
    }
}

/// Reads a `size` element. Memory sizes are checked as far as they are numbers, and dropped.
pub(super) fn read_size(node: Node, size: &mut SizeSpec) -> Result<(), MjcfError> {
    node.exclusive(&["memory", "nstack"])?;
    node.exclusive(&["memory", "njmax"])?;
    let (mut njmax, mut nconmax, mut nstack) = (-1, -1, -1);
    let fields: [(&str, &mut i32, i32); 13] = [
        ("njmax", &mut njmax, -1),
        ("nconmax", &mut nconmax, -1),
        ("nstack", &mut nstack, -1),
        ("nuserdata", &mut size.nuserdata, 0),
        ("nkey", &mut size.nkey, -1),
        ("nuser_body", &mut size.nuser_body, -1),
        ("nuser_jnt", &mut size.nuser_jnt, -1),
        ("nuser_geom", &mut size.nuser_geom, -1),
        ("nuser_site", &mut size.nuser_site, -1),
        ("nuser_cam", &mut size.nuser_cam, -1),
        ("nuser_tendon", &mut size.nuser_tendon, -1),
        ("nuser_actuator", &mut size.nuser_actuator, -1),
        ("nuser_sensor", &mut size.nuser_sensor, -1),
    ];
    for (name, field, least) in fields {
        node.integer(name, field)?;
        if *field < least {
            let message = format!("attribute `{name}` must be at least {least}, found {field}");
            return Err(node.error_at(name, MjcfErrorKind::BadValue, message));
        }
    }
    Ok(())
}

/// Reads a `statistic` element.
pub(super) fn read_statistic(node: Node, statistic: &mut StatisticSpec) -> Result<(), MjcfError> {
    let fields = [
        ("meaninertia", &mut statistic.meaninertia),
        ("meanmass", &mut statistic.meanmass),
        ("meansize", &mut statistic.meansize),
        ("extent", &mut statistic.extent),
    ];
    for (name, field) in fields {
        *field = node.optional_scalar(name)?.or(*field);
    }
    if let Some(extent) = statistic.extent
        && extent <= 0.0
    {
        let message = format!("attribute `extent` must be positive, found {extent}");
        return Err(node.error_at("extent", MjcfErrorKind::BadValue, message));
    }
    statistic.center = node.optional_vector("center")?.or(statistic.center);
    Ok(())
}
