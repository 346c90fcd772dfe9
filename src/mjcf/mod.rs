//! MJCF: MuJoCo's XML model format, from file to model.
//!
//! The text side comes first. [`xml`] turns text into a tree of elements in which every name and
//! value knows its place; [`include`](mod@include) splices the files that a model includes; [`schema`] checks
//! that every element and attribute exists and stands where it may. [`load`] does all three, so
//! what follows reads a [`Document`] that is spelled right. Whatever is wrong is an [`MjcfError`],
//! which says where, what was expected, and what to do.

pub mod compile;
pub mod eig;
pub mod error;
pub mod include;
pub mod mesh;
pub mod schema;
pub mod spec;
pub mod xml;

pub use error::{MjcfError, MjcfErrorKind};
pub use include::{load, load_str};
pub use xml::{Attr, Document, Element, SourceFile, Sources, Span};
