//! What every step of the compiler has at hand: the specification, and how to complain about it.

use std::path::Path;

use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{Limited, Orientation, Spec};
use crate::mjcf::xml::{Sources, Span};

use super::orientation::{from_axisangle, from_euler, from_xyaxes, from_zaxis};
use crate::math::Quat;

/// The specification with the text it was read from.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Files of the model.
    pub sources: &'a Sources,
    /// Directory of the main file.
    pub dir: &'a Path,
    /// What the files say.
    pub spec: &'a Spec,
}

impl<'a> Context<'a> {
    /// An error at an element, whose name is read from the text.
    pub fn error(&self, span: Span, kind: MjcfErrorKind, message: impl Into<String>) -> MjcfError {
        MjcfError::new(self.sources, span, kind, self.slice(span), message)
    }

    /// A model that contradicts itself or physics, at an element.
    pub fn invalid(&self, span: Span, message: impl Into<String>) -> MjcfError {
        self.error(span, MjcfErrorKind::Invalid, message)
    }

    /// Something that this library does not handle, at an element.
    pub fn unsupported(&self, span: Span, feature: &str) -> MjcfError {
        let message = format!("{feature} not supported");
        self.error(span, MjcfErrorKind::Unsupported, message)
    }

    /// An error at the value of an attribute; at the element if the value comes from a default class.
    pub fn attr_error(
        &self,
        element: Span,
        attr: &str,
        kind: MjcfErrorKind,
        message: impl Into<String>,
    ) -> MjcfError {
        let span = self.attr_span(element, attr).unwrap_or(element);
        MjcfError::new(self.sources, span, kind, self.slice(element), message)
    }

    /// The value of an attribute as written in an element's tag; none if it is not there.
    pub fn attr_value(&self, element: Span, attr: &str) -> Option<&'a str> {
        self.attr_span(element, attr).map(|span| self.slice(span))
    }

    /// The text of a span, empty if the span is not in the text.
    fn slice(&self, span: Span) -> &'a str {
        let file = self.sources.files.get(span.file);
        file.and_then(|f| f.text.get(span.offset..span.offset + span.len)).unwrap_or("")
    }

    /// Place of an attribute's value in the opening tag whose name is at `element`.
    fn attr_span(&self, element: Span, attr: &str) -> Option<Span> {
        let text = &self.sources.files.get(element.file)?.text;
        let mut at = element.offset + element.len;
        loop {
            // name="value", or the end of the tag
            let rest = text.get(at..)?;
            let quote = rest.find(['"', '\'', '>'])?;
            let delimiter = rest[quote..].chars().next().filter(|&c| c != '>')?;
            let name = rest[..quote].trim_end().strip_suffix('=')?.trim();
            let offset = at + quote + 1;
            let len = text.get(offset..)?.find(delimiter)?;
            if name == attr {
                return Some(Span { file: element.file, offset, len });
            }
            at = offset + len + 1;
        }
    }

    /// A rotation in any of its notations as a unit quaternion.
    ///
    /// # Errors
    /// An axis without direction, a bad sequence of Euler angles.
    pub fn orientation(&self, span: Span, o: &Orientation) -> Result<Quat<f64>, MjcfError> {
        let compiler = &self.spec.compiler;
        let (attr, result) = match o {
            Orientation::Quat(q) => ("quat", Ok(Quat::from_slice(q).normalized())),
            Orientation::AxisAngle(a) => ("axisangle", from_axisangle(a, compiler.degree)),
            Orientation::Euler(e) => ("euler", from_euler(e, compiler.degree, &compiler.eulerseq)),
            Orientation::XyAxes(a) => ("xyaxes", from_xyaxes(a)),
            Orientation::ZAxis(z) => ("zaxis", from_zaxis(&(*z).into())),
        };
        result.map_err(|message| self.attr_error(span, attr, MjcfErrorKind::Invalid, message))
    }

    /// Whether a limit is active: as written, or inferred from its range.
    ///
    /// # Errors
    /// A range without a decision while `autolimits` is off.
    pub fn limited(
        &self,
        span: Span,
        attr: &str,
        limited: Limited,
        range: &[f64; 2],
    ) -> Result<bool, MjcfError> {
        match limited {
            Limited::True => Ok(true),
            Limited::False => Ok(false),
            Limited::Auto if self.spec.compiler.autolimits || *range == [0.0; 2] => {
                Ok(range[0] < range[1])
            }
            Limited::Auto => Err(self
                .attr_error(
                    span,
                    &format!("{attr}range"),
                    MjcfErrorKind::Invalid,
                    format!(
                        "`{attr}range` is given without `{attr}limited`, and autolimits is off"
                    ),
                )
                .with_help(format!("write {attr}limited=\"true\" or \"false\""))),
        }
    }

    /// Refuses more user numbers than the `size` element reserves; −1 reserves what is needed.
    ///
    /// # Errors
    /// Too many numbers.
    pub fn check_user(&self, span: Span, user: &[f64], reserved: i32) -> Result<(), MjcfError> {
        let Ok(reserved) = usize::try_from(reserved) else { return Ok(()) };
        if user.len() <= reserved {
            return Ok(());
        }
        let message = format!("`user` has {} numbers, but size reserves {reserved}", user.len());
        Err(self.attr_error(span, "user", MjcfErrorKind::Invalid, message))
    }
}
