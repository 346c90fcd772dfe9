//! `dualstep info`: what is in a model.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use dualstep::Model;
use dualstep::model::options::{Options, disable};
use dualstep::model::{Cone, FrictionModel, Integrator, LimitModel};
use dualstep_experiments::tree_view::{TreeLine, tree};
use serde_json::{Value, json};

use crate::failure::{Exit, Failure};
use crate::model_args::{self, OptionArgs};
use crate::style::{self, BOLD, CYAN, DIM, GREEN, YELLOW};

/// Sizes, kinematic tree and options of a model, and what is not simulated
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// MJCF file
    model: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    options: OptionArgs,
}

const EXAMPLES: &str = "\
Examples:
  dualstep info arm.xml
  dualstep info arm.xml --json | jq .sizes.nv

Exit codes: 0 success · 3 the model cannot be loaded";

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let m = model_args::load(&arguments.model, &arguments.options)?;
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&json(&m))?)?;
    } else {
        print(&m, out)?;
    }
    Ok(Exit::Success)
}

fn print(m: &Model, out: &mut dyn Write) -> Result<(), Failure> {
    let name = if m.name.is_empty() { "(no name)" } else { &m.name };
    writeln!(out, "{BOLD}{name}{BOLD:#}\n")?;
    print_sizes(m, out)?;
    writeln!(out, "\n{BOLD}Kinematic tree{BOLD:#}")?;
    print_tree(&tree(m), out)?;
    writeln!(out, "\n{BOLD}Options{BOLD:#}")?;
    for (name, value) in options(&m.opt) {
        writeln!(out, "  {DIM}{name:<12}{DIM:#} {value}")?;
    }
    writeln!(out, "\n{BOLD}Not simulated yet{BOLD:#}")?;
    if m.unsupported.is_empty() {
        writeln!(out, "  {GREEN}nothing: all of the model is covered{GREEN:#}")?;
    }
    for sentence in &m.unsupported {
        writeln!(out, "  {YELLOW}!{YELLOW:#} {sentence}")?;
    }
    Ok(())
}

/// Sizes in two columns; zeros are left out.
fn print_sizes(m: &Model, out: &mut dyn Write) -> Result<(), Failure> {
    let mass: f64 = m.body_mass.iter().sum();
    let mut cells: Vec<String> = sizes(m)
        .into_iter()
        .filter(|(_, what, n)| *n > 0 || ["degrees of freedom", "controls"].contains(what))
        .map(|(symbol, what, n)| format!("  {what:<22} {n:>8} {DIM}{symbol:<12}{DIM:#}"))
        .collect();
    cells.push(format!("  {:<22} {:>8} {DIM}{:<12}{DIM:#}", "mass", style::number(mass), "kg"));
    for row in cells.chunks(2) {
        writeln!(out, "{}", row.join("  ").trim_end())?;
    }
    Ok(())
}

/// Symbol, meaning and value of the sizes.
fn sizes(m: &Model) -> Vec<(&'static str, &'static str, usize)> {
    vec![
        ("nv", "degrees of freedom", m.nv),
        ("nq", "positions", m.nq),
        ("nu", "controls", m.nu),
        ("na", "activations", m.na),
        ("nbody", "bodies with the world", m.nbody),
        ("njnt", "joints", m.njnt),
        ("ntree", "kinematic trees", m.ntree),
        ("nmocap", "mocap bodies", m.nmocap),
        ("ngeom", "geoms", m.ngeom),
        ("nsite", "sites", m.nsite),
        ("ncam", "cameras", m.ncam),
        ("nmesh", "meshes", m.nmesh),
        ("nhfield", "height fields", m.nhfield),
        ("ntendon", "tendons", m.ntendon),
        ("nactuator", "actuators", m.nactuator),
        ("nsensor", "sensors", m.nsensor),
        ("nsensordata", "sensor values", m.nsensordata),
        ("neq", "equality constraints", m.neq),
        ("npair", "contact pairs", m.npair),
        ("nexclude", "contact exclusions", m.nexclude),
        ("nkey", "keyframes", m.nkey),
    ]
}

fn print_tree(lines: &[TreeLine], out: &mut dyn Write) -> Result<(), Failure> {
    let width = |line: &TreeLine| line.branch.chars().count() + line.body.chars().count();
    let column = lines.iter().map(width).max().unwrap_or(0).min(48);
    for line in lines {
        let pad = " ".repeat(column.saturating_sub(width(line)));
        let TreeLine { branch, body, .. } = line;
        let mass = match line.mass {
            0.0 => String::new(),
            mass => format!("{} kg", style::number(mass)),
        };
        let joints = line.joints.join(", ");
        let text = format!("  {DIM}{branch}{DIM:#}{body}{pad}  {DIM}{mass:>10}{DIM:#}  ");
        writeln!(out, "{text}{CYAN}{joints}{CYAN:#}")?;
    }
    Ok(())
}

/// Options in the words of MJCF.
fn options(opt: &Options) -> Vec<(&'static str, String)> {
    let cone = match opt.cone {
        Cone::Pyramidal => "pyramidal",
        Cone::Elliptic => "elliptic",
    };
    let mut rows = vec![
        ("timestep", format!("{} s", style::number(opt.timestep))),
        ("integrator", integrator(opt.integrator).to_owned()),
        ("gravity", format!("{} m/s²", style::vector(opt.gravity.as_slice()))),
        ("solver", format!("{:?}, at most {} iterations", opt.solver, opt.iterations)),
        ("cone", cone.to_owned()),
    ];
    if opt.density > 0.0 || opt.viscosity > 0.0 {
        let (density, viscosity) = (style::number(opt.density), style::number(opt.viscosity));
        rows.push(("medium", format!("{density} kg/m³, {viscosity} Pa·s")));
    }
    if opt.friction == FrictionModel::Tanh {
        rows.push(("friction", "tanh".to_owned()));
    }
    if opt.limits == LimitModel::Penalty {
        rows.push(("limits", "penalty".to_owned()));
    }
    let disabled = disabled(opt);
    if !disabled.is_empty() {
        rows.push(("disabled", disabled.join(", ")));
    }
    rows
}

/// Name of an integrator in MJCF.
pub(crate) fn integrator(integrator: Integrator) -> &'static str {
    match integrator {
        Integrator::Euler => "Euler",
        Integrator::RK4 => "RK4",
        Integrator::Implicit => "implicit",
        Integrator::ImplicitFast => "implicitfast",
        Integrator::ImplicitSpringDamper => "implicit_spring_damper",
    }
}

/// Flags of MJCF that are switched off.
fn disabled(opt: &Options) -> Vec<&'static str> {
    [
        (disable::CONSTRAINT, "constraint"),
        (disable::EQUALITY, "equality"),
        (disable::FRICTIONLOSS, "frictionloss"),
        (disable::LIMIT, "limit"),
        (disable::CONTACT, "contact"),
        (disable::SPRING, "spring"),
        (disable::DAMPER, "damper"),
        (disable::GRAVITY, "gravity"),
        (disable::CLAMPCTRL, "clampctrl"),
        (disable::WARMSTART, "warmstart"),
        (disable::FILTERPARENT, "filterparent"),
        (disable::ACTUATION, "actuation"),
        (disable::REFSAFE, "refsafe"),
        (disable::SENSOR, "sensor"),
        (disable::MIDPHASE, "midphase"),
        (disable::EULERDAMP, "eulerdamp"),
        (disable::AUTORESET, "autoreset"),
        (disable::NATIVECCD, "nativeccd"),
        (disable::ISLAND, "island"),
        (disable::MULTICCD, "multiccd"),
    ]
    .into_iter()
    .filter(|(bit, _)| opt.disabled(*bit))
    .map(|(_, name)| name)
    .collect()
}

fn json(m: &Model) -> Value {
    let sizes: serde_json::Map<String, Value> =
        sizes(m).into_iter().map(|(symbol, _, n)| (symbol.to_owned(), json!(n))).collect();
    let bodies: Vec<Value> = m
        .bodies_base_to_tip()
        .map(|b| {
            let joints: Vec<&String> = m.body_joints(b).map(|j| &m.names.joint[j]).collect();
            json!({
                "name": m.names.body[b],
                "parent": m.body_parentid[b],
                "mass": m.body_mass[b],
                "joints": joints,
            })
        })
        .collect();
    json!({
        "name": m.name,
        "sizes": sizes,
        "mass": m.body_mass.iter().sum::<f64>(),
        "options": {
            "timestep": m.opt.timestep,
            "integrator": integrator(m.opt.integrator),
            "gravity": m.opt.gravity.as_slice(),
            "disabled": disabled(&m.opt),
        },
        "bodies": bodies,
        "names": {
            "joint": m.names.joint,
            "actuator": m.names.actuator,
            "sensor": m.names.sensor,
            "key": m.names.key,
        },
        "unsupported": m.unsupported,
    })
}
