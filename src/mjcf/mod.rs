//! MJCF: MuJoCo's XML model format, from file to model.
//!
//! ```text
//! file ── load ──> Document ── read::read ──> Spec ── compile::compile ──> Model
//! ```
//!
//! The text side comes first. [`xml`] turns text into a tree of elements in which every name and
//! value knows its place; [`include`](mod@include) splices the files that a model includes; [`schema`] checks
//! that every element and attribute exists and stands where it may. [`load`] does all three, so
//! what follows reads a [`Document`] that is spelled right. [`read`](mod@read) types it as a
//! [`Spec`], with default classes resolved, still as the file wrote it, and
//! [`compile`](mod@compile) makes the [`Model`] of that. Whatever is wrong is an [`MjcfError`],
//! which says where, what was expected, and what to do.

pub mod compile;
pub mod eig;
pub mod error;
pub mod include;
pub mod mesh;
pub mod read;
pub mod schema;
pub mod spec;
pub mod xml;

use std::path::Path;

pub use error::{MjcfError, MjcfErrorKind};
pub use include::{load, load_str};
pub use read::read;
pub use spec::Spec;
pub use xml::{Attr, Document, Element, SourceFile, Sources, Span};

use crate::model::Model;

/// Loads a model file, with all that it includes and all assets that it names.
///
/// # Errors
/// The first mistake in the file, with its place, or a feature that is not supported.
pub fn load_model(path: impl AsRef<Path>) -> Result<Model, MjcfError> {
    from_document(&load(path.as_ref())?)
}

/// Loads a model from text. `name` stands for the file in errors; included files and assets are looked
/// for under `dir`.
///
/// # Errors
/// As [`load_model`].
pub fn load_model_str(xml: &str, name: &str, dir: &Path) -> Result<Model, MjcfError> {
    from_document(&load_str(xml, name, dir)?)
}

fn from_document(document: &Document) -> Result<Model, MjcfError> {
    let spec = read(document)?;
    compile::compile(&document.sources, &document.dir, &spec)
}
