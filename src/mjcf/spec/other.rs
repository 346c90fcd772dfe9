//! Keyframes and custom fields.

use super::sensor::ObjType;
use crate::mjcf::xml::Span;

/// A keyframe `key` (`mjsKey`). An empty vector means: not given. Lengths are checked by the
/// compiler.
#[derive(Clone, Debug, Default)]
pub struct KeySpec {
    /// Name, possibly empty.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// Time \[s\].
    pub time: f64,
    /// Joint positions (nq); default `qpos0`.
    pub qpos: Vec<f64>,
    /// Joint velocities (nv); default 0.
    pub qvel: Vec<f64>,
    /// Activations (na); default 0.
    pub act: Vec<f64>,
    /// Mocap positions (3·nmocap); default those of the bodies \[m\].
    pub mpos: Vec<f64>,
    /// Mocap orientations (4·nmocap); default those of the bodies.
    pub mquat: Vec<f64>,
    /// Controls (nu); default 0.
    pub ctrl: Vec<f64>,
}

/// A custom `numeric` (`mjsNumeric`).
#[derive(Clone, Debug, Default)]
pub struct NumericSpec {
    /// Name.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// The array, padded with zeros to the size that the file asks for.
    pub data: Vec<f64>,
}

/// A custom `text` (`mjsText`).
#[derive(Clone, Debug, Default)]
pub struct TextSpec {
    /// Name.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// The text.
    pub data: String,
}

/// One element of a custom tuple.
#[derive(Clone, Debug, Default)]
pub struct TupleItem {
    /// Place of the element.
    pub span: Span,
    /// Type of the object.
    pub objtype: ObjType,
    /// Name of the object.
    pub objname: String,
    /// Parameter.
    pub prm: f64,
}

/// A custom `tuple` (`mjsTuple`).
#[derive(Clone, Debug, Default)]
pub struct TupleSpec {
    /// Name.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// Its elements.
    pub items: Vec<TupleItem>,
}
