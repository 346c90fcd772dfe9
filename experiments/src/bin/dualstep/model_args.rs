//! Arguments that several subcommands share: the model, its options, the state to start from.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use dualstep::mjcf::load_model;
use dualstep::model::options::disable;
use dualstep::model::{FrictionModel, Integrator, LimitModel};
use dualstep::{Data, Model, Softening};

use crate::failure::Failure;

/// Options that replace those of the model.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Model options")]
pub(crate) struct OptionArgs {
    /// Integrator, instead of the model's
    #[arg(long, value_enum, value_name = "NAME")]
    integrator: Option<IntegratorName>,
    /// Timestep in seconds, instead of the model's
    #[arg(long, value_name = "SECONDS", value_parser = positive, allow_negative_numbers = true)]
    timestep: Option<f64>,
    /// Parts of the physics to switch off, separated by commas
    #[arg(long, value_enum, value_name = "PARTS", value_delimiter = ',')]
    disable: Vec<Part>,
    /// What joint and tendon friction loss becomes
    #[arg(long, value_enum, value_name = "MODEL")]
    friction: Option<FrictionName>,
    /// What limits and equalities become
    #[arg(long, value_enum, value_name = "MODEL")]
    limits: Option<LimitName>,
    /// Contacts that push from a distance, with a force that begins at zero: another simulation
    #[arg(long, value_name = "METERS", value_parser = positive, allow_negative_numbers = true)]
    contact_distance: Option<f64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum IntegratorName {
    #[value(name = "Euler", alias = "euler", help = "semi-implicit, implicit in joint damping")]
    Euler,
    #[value(name = "RK4", alias = "rk4", help = "Runge-Kutta of fourth order")]
    RK4,
    #[value(name = "implicit", help = "implicit in velocity")]
    Implicit,
    #[value(name = "implicitfast", help = "implicit in velocity, without Coriolis derivatives")]
    ImplicitFast,
    #[value(name = "implicit_spring_damper", help = "implicit in joint springs and dampers")]
    ImplicitSpringDamper,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FrictionName {
    #[value(help = "rows of the constraint solver, as in MuJoCo")]
    Constraint,
    #[value(help = "-frictionloss tanh(1000 v), a smooth passive force")]
    Tanh,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LimitName {
    #[value(help = "rows of the constraint solver, as in MuJoCo")]
    Constraint,
    #[value(
        help = "springs and dampers, k = 1/timeconst², b = 2 dampratio/timeconst: passive forces"
    )]
    Penalty,
}

/// Parts of the physics, under the names of MJCF's flags.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "lower")]
pub(crate) enum Part {
    Constraint,
    Equality,
    FrictionLoss,
    Limit,
    Contact,
    Spring,
    Damper,
    Gravity,
    ClampCtrl,
    Actuation,
    Sensor,
    EulerDamp,
}

impl Part {
    fn bit(self) -> u32 {
        match self {
            Self::Constraint => disable::CONSTRAINT,
            Self::Equality => disable::EQUALITY,
            Self::FrictionLoss => disable::FRICTIONLOSS,
            Self::Limit => disable::LIMIT,
            Self::Contact => disable::CONTACT,
            Self::Spring => disable::SPRING,
            Self::Damper => disable::DAMPER,
            Self::Gravity => disable::GRAVITY,
            Self::ClampCtrl => disable::CLAMPCTRL,
            Self::Actuation => disable::ACTUATION,
            Self::Sensor => disable::SENSOR,
            Self::EulerDamp => disable::EULERDAMP,
        }
    }
}

impl OptionArgs {
    /// Puts the options into the model.
    pub(crate) fn apply(&self, m: &mut Model) {
        if let Some(integrator) = self.integrator {
            m.opt.integrator = match integrator {
                IntegratorName::Euler => Integrator::Euler,
                IntegratorName::RK4 => Integrator::RK4,
                IntegratorName::Implicit => Integrator::Implicit,
                IntegratorName::ImplicitFast => Integrator::ImplicitFast,
                IntegratorName::ImplicitSpringDamper => Integrator::ImplicitSpringDamper,
            };
        }
        if let Some(timestep) = self.timestep {
            m.opt.timestep = timestep;
        }
        if let Some(friction) = self.friction {
            m.opt.friction = match friction {
                FrictionName::Constraint => FrictionModel::Constraint,
                FrictionName::Tanh => FrictionModel::Tanh,
            };
        }
        if let Some(limits) = self.limits {
            m.opt.limits = match limits {
                LimitName::Constraint => LimitModel::Constraint,
                LimitName::Penalty => LimitModel::Penalty,
            };
        }
        for part in &self.disable {
            m.opt.disableflags |= part.bit();
        }
        if let Some(distance) = self.contact_distance {
            let softened = Softening::from_distance(distance).apply(m);
            softened.expect("`positive` lets nothing else pass");
        }
    }
}

impl OptionArgs {
    /// What is replaced, as it was written.
    pub(crate) fn describe(&self) -> Vec<String> {
        let name = |value: &dyn Fn() -> Option<clap::builder::PossibleValue>| {
            value().map(|value| value.get_name().to_owned()).unwrap_or_default()
        };
        let mut words = Vec::new();
        if let Some(integrator) = self.integrator {
            words.push(format!("integrator {}", name(&|| integrator.to_possible_value())));
        }
        if let Some(timestep) = self.timestep {
            words.push(format!("timestep {timestep} s"));
        }
        for part in &self.disable {
            words.push(format!("without {}", name(&|| part.to_possible_value())));
        }
        if let Some(friction) = self.friction {
            words.push(format!("friction {}", name(&|| friction.to_possible_value())));
        }
        if let Some(limits) = self.limits {
            words.push(format!("limits {}", name(&|| limits.to_possible_value())));
        }
        if let Some(distance) = self.contact_distance {
            words.push(format!("contact from a distance of {distance} m"));
        }
        words
    }
}

/// Loads a model and gives it the options.
pub(crate) fn load(path: &Path, options: &OptionArgs) -> Result<Model, Failure> {
    let mut m = load_model(path)?;
    options.apply(&mut m);
    Ok(m)
}

/// Where to start from.
#[derive(Args, Clone, Debug)]
pub(crate) struct StateArgs {
    /// Keyframe to start from, by name or index [default: the reference configuration]
    #[arg(long, value_name = "KEY")]
    pub(crate) keyframe: Option<String>,
    /// State to start from: an .npz file with any of the keys qpos qvel act ctrl qfrc_applied
    /// xfrc_applied mocap_pos mocap_quat time; what it does not hold comes from the keyframe
    #[arg(long, value_name = "FILE.npz")]
    pub(crate) state: Option<PathBuf>,
}

impl StateArgs {
    /// The state.
    pub(crate) fn data(&self, m: &Model) -> Result<Data<f64>, Failure> {
        let mut d = Data::new(m);
        if let Some(key) = &self.keyframe {
            d.reset_keyframe(m, keyframe(m, key)?);
        }
        if let Some(path) = &self.state {
            dualstep_experiments::record::load_state(path, m, &mut d)?;
        }
        Ok(d)
    }

    /// The state in words.
    pub(crate) fn describe(&self) -> String {
        let base = match &self.keyframe {
            Some(key) => format!("keyframe {key}"),
            None => "the reference configuration".to_owned(),
        };
        match &self.state {
            Some(path) => format!("{} over {base}", path.display()),
            None => base,
        }
    }
}

/// Index of a keyframe given by name or index.
pub(crate) fn keyframe(m: &Model, key: &str) -> Result<usize, Failure> {
    let by_name = m.names.key.iter().position(|name| name == key && !name.is_empty());
    let by_index = || key.parse().ok().filter(|k| *k < m.nkey);
    by_name.or_else(by_index).ok_or_else(|| {
        let names: Vec<String> = (0..m.nkey)
            .map(|k| match m.names.key.get(k).map_or("", String::as_str) {
                "" => k.to_string(),
                name => format!("{k} ({name})"),
            })
            .collect();
        let help = match names.len() {
            0 => "the model has no keyframes".to_owned(),
            _ => format!("the model has {}", names.join(", ")),
        };
        Failure::usage(format!("no keyframe `{key}`"), help)
    })
}

/// A finite number, not negative.
pub(crate) fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x >= 0.0 && x.is_finite() => Ok(x),
        _ => Err("a number is needed that is not negative".to_owned()),
    }
}

/// A positive, finite number.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x.is_finite() => Ok(x),
        _ => Err("a positive number is needed".to_owned()),
    }
}
