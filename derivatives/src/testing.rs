//! What unit tests share.

use std::path::Path;

use dualstep::Model;
use dualstep::mjcf::load_model;
use dualstep::model::options::disable;

/// A model without constraints.
pub(crate) fn smooth_model(path: impl AsRef<Path>) -> Model {
    let mut m = load_model(path).expect("the model loads");
    m.opt.disableflags |= disable::CONSTRAINT;
    m
}
