//! The models that studies name.

use std::path::Path;

use dualstep::Model;
use dualstep::mjcf::{load_model, load_model_str};
use dualstep::model::options::disable;

use super::StudyError;
use crate::config::Config;

macro_rules! built_in {
    ($($folder:literal / $name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../", $folder, "/", $name, ".xml")))),*]
    };
}

/// Names and texts of the models that are built in.
const BUILT_IN: [(&str, &str); 17] = built_in![
    "validation/models" / "actuator_dynamics",
    "validation/models" / "chain_nonparallel",
    "validation/models" / "free_bodies",
    "validation/models" / "humanoid",
    "validation/models" / "integrator_rk4_ball_free",
    "validation/models" / "joint_anchors_balls",
    "validation/models" / "passive_forces",
    "experiments/models" / "ball_chain",
    "experiments/models" / "box_pile",
    "experiments/models" / "braced_frame",
    "experiments/models" / "double_pendulum",
    "experiments/models" / "floating_chain",
    "experiments/models" / "free_body",
    "experiments/models" / "limited_arm",
    "experiments/models" / "sliding_blocks",
    "experiments/models" / "spring_chain",
    "experiments/models" / "stiff_chain",
];

/// The model of that name, or of a file if the name ends in `.xml`; `config` names it at `key`. Its constraints are
/// disabled: kinks of limits and contacts have no order.
///
/// # Errors
/// If there is no such model, or its file cannot be loaded.
pub fn load_smooth(name: &str, config: &Config, key: &str) -> Result<Model, StudyError> {
    let mut m = load(name, config, key)?;
    m.opt.disableflags |= disable::CONSTRAINT;
    Ok(m)
}

/// The model of that name, or of a file if the name ends in `.xml`; `config` names it at `key`.
///
/// # Errors
/// If there is no such model, or its file cannot be loaded.
pub fn load(name: &str, config: &Config, key: &str) -> Result<Model, StudyError> {
    let path = Path::new(name);
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xml")) {
        return Ok(load_model(path)?);
    }
    let Some((_, text)) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name) else {
        let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        let expected = format!("a path that ends in .xml, or one of {}", names.join(", "));
        return Err(config.wrong(key, &format!("{expected}; found `{name}`")).into());
    };
    Ok(load_model_str(text, &format!("{name}.xml"), Path::new("."))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_models_load() {
        let config = Config::new("study.toml", "models = []");
        for (name, _) in BUILT_IN {
            load(name, &config, "models").unwrap();
        }
        let error = load("human", &config, "models").unwrap_err().to_string();
        assert!(error.starts_with("study.toml:1: `models`: expected a path"), "{error}");
    }
}
