//! What is wrong with a model file, where, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

use super::xml::{Sources, Span};

/// The class of an [`MjcfError`], for programs; people read its message.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MjcfErrorKind {
    /// A model file cannot be read.
    Io,
    /// The text is not well-formed XML.
    Xml,
    /// The element does not exist in MJCF, or not in this place.
    UnknownElement,
    /// The element has no such attribute.
    UnknownAttribute,
    /// A required attribute is absent.
    MissingAttribute,
    /// The attribute's value does not parse, or has the wrong number of entries.
    BadValue,
    /// Something that must be unique appears twice.
    Duplicate,
    /// A name refers to nothing in the model.
    UnknownName,
    /// Valid MJCF that this library does not handle.
    Unsupported,
    /// A mesh, height field or texture file is missing or broken.
    Asset,
    /// Parses, but makes no model: contradictory or physically meaningless.
    Invalid,
    /// A file includes itself, directly or through others.
    IncludeLoop,
}

impl MjcfErrorKind {
    /// Diagnostic code, shown by miette above the message.
    const fn code(self) -> &'static str {
        match self {
            Self::Io => "mjcf::io",
            Self::Xml => "mjcf::xml",
            Self::UnknownElement => "mjcf::unknown_element",
            Self::UnknownAttribute => "mjcf::unknown_attribute",
            Self::MissingAttribute => "mjcf::missing_attribute",
            Self::BadValue => "mjcf::bad_value",
            Self::Duplicate => "mjcf::duplicate",
            Self::UnknownName => "mjcf::unknown_name",
            Self::Unsupported => "mjcf::unsupported",
            Self::Asset => "mjcf::asset",
            Self::Invalid => "mjcf::invalid",
            Self::IncludeLoop => "mjcf::include_loop",
        }
    }
}

/// A refusal to load a model: `file:line:column: <element> message`, with a remedy in [`help`].
///
/// Implements [`Diagnostic`], so miette's handler shows the source line under the message.
///
/// [`help`]: MjcfError::help_text
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct MjcfError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: MjcfErrorKind,
    path: PathBuf,
    place: Option<Place>,
    element: String,
    message: String,
    help: Option<String>,
}

/// Where in a file: for people (line, column) and for the snippet (byte range, text).
#[derive(Debug)]
struct Place {
    line: usize,
    column: usize,
    file: usize,
    labels: Vec<LabeledSpan>,
    source: NamedSource<Arc<str>>,
}

impl MjcfError {
    /// An error at `span`, which lies in one of `sources`. `element` is the name without brackets,
    /// empty where no element is meant.
    pub fn new(
        sources: &Sources,
        span: Span,
        kind: MjcfErrorKind,
        element: &str,
        message: impl Into<String>,
    ) -> Self {
        let Some(source) = sources.files.get(span.file) else {
            return Self::of_file(Path::new("<model>"), kind, message).with_element(element);
        };
        let (line, column) = source.line_column(span.offset);
        let name = source.path.display().to_string();
        // the arrow needs no text: the message stands right above it
        let label = LabeledSpan::new_primary_with_span(None, (span.offset, span.len));
        let place = Place {
            line,
            column,
            file: span.file,
            labels: vec![label],
            source: NamedSource::new(name, Arc::clone(&source.text)),
        };
        Self(Box::new(Inner {
            kind,
            path: source.path.clone(),
            place: Some(place),
            element: element.to_owned(),
            message: message.into(),
            help: None,
        }))
    }

    /// An error about a file as a whole: no line, no snippet.
    pub fn of_file(path: &Path, kind: MjcfErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            path: path.to_owned(),
            place: None,
            element: String::new(),
            message: message.into(),
            help: None,
        }))
    }

    fn with_element(mut self, element: &str) -> Self {
        element.clone_into(&mut self.0.element);
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Adds the nearest of some known names to what was found instead of one, if one is near.
    #[must_use]
    pub fn with_nearest<'n>(self, found: &str, known: impl IntoIterator<Item = &'n str>) -> Self {
        let found = found.to_lowercase();
        let distance = |k: &str| strsim::damerau_levenshtein(&found, &k.to_lowercase());
        let nearest = known.into_iter().map(|k| (distance(k), k)).min();
        match nearest {
            Some((d, near)) if 3 * d <= found.chars().count().max(3) => {
                self.with_help(format!("did you mean `{near}`?"))
            }
            _ => self,
        }
    }

    /// Marks a second place in the snippet, such as the first of two duplicates. Ignored if that
    /// place is in another file than the error.
    #[must_use]
    pub fn with_label(mut self, span: Span, text: impl Into<String>) -> Self {
        if let Some(place) = &mut self.0.place
            && place.file == span.file
        {
            let label = LabeledSpan::new_with_span(Some(text.into()), (span.offset, span.len));
            place.labels.push(label);
        }
        self
    }

    /// The class of the error.
    pub fn kind(&self) -> MjcfErrorKind {
        self.0.kind
    }

    /// The file with the mistake: the model file or one that it includes.
    pub fn file(&self) -> &Path {
        &self.0.path
    }

    /// Line, from 1; `None` if the error is about the file as a whole.
    pub fn line(&self) -> Option<usize> {
        self.0.place.as_ref().map(|p| p.line)
    }

    /// Column in characters, from 1; `None` if the error is about the file as a whole.
    pub fn column(&self) -> Option<usize> {
        self.0.place.as_ref().map(|p| p.column)
    }

    /// Name of the element without brackets, empty where no element is meant.
    pub fn element(&self) -> &str {
        &self.0.element
    }

    /// What was found and what was expected, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The remedy, if one is known.
    pub fn help_text(&self) -> Option<&str> {
        self.0.help.as_deref()
    }
}

impl fmt::Display for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.path.display())?;
        if let Some(place) = &self.place {
            write!(f, "{}:{}:", place.line, place.column)?;
        }
        if !self.element.is_empty() {
            write!(f, " <{}>", self.element)?;
        }
        write!(f, " {}", self.message)
    }
}

impl Diagnostic for MjcfError {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.0.kind.code()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help_text().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.place.as_ref().map(|p| &p.source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.0.place.as_ref()?;
        Some(Box::new(place.labels.iter().cloned()))
    }
}
