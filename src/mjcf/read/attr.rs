//! Typed attributes: text to numbers, keywords and names, with precise refusals.
//!
//! As tolerant as MuJoCo 4.0.1: numbers are separated by white space, may be hexadecimal or
//! infinite, and an attribute without any number counts as absent. Stricter in one point: where
//! MuJoCo warns of a NaN, we refuse it.

use std::fmt::Write as _;

use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::xml::{Attr, Element, Sources, Span};

/// A keyword of an attribute and what it means.
pub(super) type Keyword<T> = (&'static str, T);

/// `true` and `false`.
pub(super) const BOOL: &[Keyword<bool>] = &[("false", false), ("true", true)];

/// An element with the sources it came from: what reading it, or refusing it, takes.
///
/// The readers that take `&mut` leave it alone if the attribute is absent, so that the defaults
/// put there before survive; they return whether (or how many) values were given.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    /// The element.
    pub(super) element: &'a Element,
    /// The files of the model.
    pub(super) sources: &'a Sources,
}

impl<'a> Node<'a> {
    /// A child element, or any other of the same document.
    pub(super) fn with(self, element: &'a Element) -> Self {
        Self { element, ..self }
    }

    /// Name of the element.
    pub(super) fn tag(self) -> &'a str {
        &self.element.name
    }

    /// Place of the element.
    pub(super) fn span(self) -> Span {
        self.element.span
    }

    /// All children.
    pub(super) fn children(self) -> impl Iterator<Item = Self> {
        self.element.children.iter().map(move |child| self.with(child))
    }

    /// An error about the element as a whole.
    pub(super) fn error(self, kind: MjcfErrorKind, message: impl Into<String>) -> MjcfError {
        MjcfError::new(self.sources, self.span(), kind, self.tag(), message)
    }

    /// An error at an attribute's value; at the element if the attribute is absent.
    pub(super) fn error_at(
        self,
        attr: &str,
        kind: MjcfErrorKind,
        message: impl Into<String>,
    ) -> MjcfError {
        let span = self.element.attr(attr).map_or(self.span(), |a| a.span);
        MjcfError::new(self.sources, span, kind, self.tag(), message)
    }

    /// The refusal of a whole element whose feature is valid MJCF but not handled here.
    pub(super) fn unsupported(self, feature: &str) -> MjcfError {
        self.error(MjcfErrorKind::Unsupported, not_supported(feature))
    }

    /// The refusal of an attribute's value, as [`Self::unsupported`].
    pub(super) fn unsupported_at(self, attr: &str, feature: &str) -> MjcfError {
        self.error_at(attr, MjcfErrorKind::Unsupported, not_supported(feature))
    }

    fn missing(self, attr: &str) -> MjcfError {
        self.error(MjcfErrorKind::MissingAttribute, format!("needs attribute `{attr}`"))
    }

    /// Whether the attribute is written, with any value.
    pub(super) fn has(self, attr: &str) -> bool {
        self.element.attr(attr).is_some()
    }

    /// Text, possibly empty.
    pub(super) fn text(self, attr: &str) -> Option<&'a str> {
        self.element.attr(attr).map(|a| a.value.as_str())
    }

    /// Text that must be there.
    pub(super) fn required_text(self, attr: &str) -> Result<&'a str, MjcfError> {
        self.text(attr).ok_or_else(|| self.missing(attr))
    }

    /// Text into a string.
    pub(super) fn string(self, attr: &str, out: &mut String) -> bool {
        let Some(text) = self.text(attr) else { return false };
        text.clone_into(out);
        true
    }

    /// The `name` attribute; empty if absent.
    pub(super) fn name(self) -> String {
        self.text("name").unwrap_or_default().to_owned()
    }

    /// One number.
    pub(super) fn scalar(self, attr: &str, out: &mut f64) -> Result<bool, MjcfError> {
        let mut one = [*out];
        let given = self.vector(attr, &mut one)?;
        *out = one[0];
        Ok(given)
    }

    /// One number that must be there.
    pub(super) fn required_scalar(self, attr: &str) -> Result<f64, MjcfError> {
        let mut value = 0.0;
        if self.scalar(attr, &mut value)? { Ok(value) } else { Err(self.missing(attr)) }
    }

    /// One number, if given.
    pub(super) fn optional_scalar(self, attr: &str) -> Result<Option<f64>, MjcfError> {
        let mut value = 0.0;
        Ok(self.scalar(attr, &mut value)?.then_some(value))
    }

    /// Exactly N numbers.
    pub(super) fn vector<const N: usize>(
        self,
        attr: &str,
        out: &mut [f64; N],
    ) -> Result<bool, MjcfError> {
        let Some(values) = self.list(attr)? else { return Ok(false) };
        *out = values.as_slice().try_into().map_err(|_| {
            let needs = if N == 1 { "1 number".to_owned() } else { format!("{N} numbers") };
            self.wrong_count(attr, &needs, values.len())
        })?;
        Ok(true)
    }

    /// Exactly N numbers, if given.
    pub(super) fn optional_vector<const N: usize>(
        self,
        attr: &str,
    ) -> Result<Option<[f64; N]>, MjcfError> {
        let mut out = [0.0; N];
        Ok(self.vector(attr, &mut out)?.then_some(out))
    }

    /// 1 to N numbers; the entries beyond those given stay as they are.
    pub(super) fn vector_upto<const N: usize>(
        self,
        attr: &str,
        out: &mut [f64; N],
    ) -> Result<usize, MjcfError> {
        let Some(values) = self.list(attr)? else { return Ok(0) };
        let Some(head) = out.get_mut(..values.len()) else {
            return Err(self.wrong_count(attr, &format!("1 to {N} numbers"), values.len()));
        };
        head.copy_from_slice(&values);
        Ok(values.len())
    }

    /// Exactly N numbers that MuJoCo keeps in single precision, rounded to it.
    pub(super) fn single<const N: usize>(
        self,
        attr: &str,
        out: &mut [f64; N],
    ) -> Result<bool, MjcfError> {
        let given = self.vector(attr, out)?;
        if given {
            *out = out.map(round_to_single);
        }
        Ok(given)
    }

    /// Any number of numbers; `None` if there are none.
    pub(super) fn list(self, attr: &str) -> Result<Option<Vec<f64>>, MjcfError> {
        self.tokens(attr, parse_f64, "a number")
    }

    /// Any number of numbers in single precision, rounded to it.
    pub(super) fn single_list(self, attr: &str) -> Result<Option<Vec<f64>>, MjcfError> {
        let list = self.list(attr)?;
        Ok(list.map(|v| v.into_iter().map(round_to_single).collect()))
    }

    /// Any number of integers; `None` if there are none.
    pub(super) fn integer_list(self, attr: &str) -> Result<Option<Vec<i32>>, MjcfError> {
        self.tokens(attr, |text| text.parse().ok(), "an integer")
    }

    /// One integer.
    pub(super) fn integer(self, attr: &str, out: &mut i32) -> Result<bool, MjcfError> {
        let mut one = [*out];
        let given = self.integers(attr, &mut one)?;
        *out = one[0];
        Ok(given)
    }

    /// Exactly N integers.
    pub(super) fn integers<const N: usize>(
        self,
        attr: &str,
        out: &mut [i32; N],
    ) -> Result<bool, MjcfError> {
        let Some(values) = self.integer_list(attr)? else { return Ok(false) };
        *out = values.as_slice().try_into().map_err(|_| {
            let needs = if N == 1 { "1 integer".to_owned() } else { format!("{N} integers") };
            self.wrong_count(attr, &needs, values.len())
        })?;
        Ok(true)
    }

    /// `true` or `false`.
    pub(super) fn boolean(self, attr: &str, out: &mut bool) -> Result<bool, MjcfError> {
        self.keyword(attr, BOOL, out)
    }

    /// One of several keywords.
    pub(super) fn keyword<T: Copy>(
        self,
        attr: &str,
        keywords: &[Keyword<T>],
        out: &mut T,
    ) -> Result<bool, MjcfError> {
        let Some(text) = self.text(attr) else { return Ok(false) };
        *out = self.find_keyword(attr, text, keywords)?;
        Ok(true)
    }

    /// Some keywords in any order, none twice; their values combined bitwise, or `None` if there
    /// are none. Each value must be a single bit.
    pub(super) fn flags(
        self,
        attr: &str,
        keywords: &[Keyword<i32>],
    ) -> Result<Option<i32>, MjcfError> {
        let Some(text) = self.text(attr) else { return Ok(None) };
        let mut flags = 0;
        for word in text.split_ascii_whitespace() {
            let bit = self.find_keyword(attr, word, keywords)?;
            if flags & bit != 0 {
                let message = format!("attribute `{attr}` lists `{word}` twice");
                return Err(self.error_at(attr, MjcfErrorKind::BadValue, message));
            }
            flags |= bit;
        }
        Ok((flags != 0).then_some(flags))
    }

    /// As [`Self::flags`], but in the order of increasing bits.
    pub(super) fn ordered_flags(
        self,
        attr: &str,
        keywords: &[Keyword<i32>],
    ) -> Result<Option<i32>, MjcfError> {
        let flags = self.flags(attr, keywords)?;
        let mut previous = 0;
        for word in self.text(attr).unwrap_or_default().split_ascii_whitespace() {
            let bit = self.find_keyword(attr, word, keywords)?;
            if bit < previous {
                let order = keyword_list(keywords, "and");
                let message = format!("attribute `{attr}` needs its keywords in the order {order}");
                return Err(self.error_at(attr, MjcfErrorKind::BadValue, message));
            }
            previous = bit;
        }
        Ok(flags)
    }

    /// The meaning of one keyword of an attribute.
    pub(super) fn find_keyword<T: Copy>(
        self,
        attr: &str,
        text: &str,
        keywords: &[Keyword<T>],
    ) -> Result<T, MjcfError> {
        if let Some(&(_, value)) = keywords.iter().find(|(word, _)| *word == text) {
            return Ok(value);
        }
        let expected = keyword_list(keywords, "or");
        let message = format!("attribute `{attr}` must be {expected}, found `{text}`");
        let error = self.error_at(attr, MjcfErrorKind::BadValue, message);
        Err(error.with_nearest(text, keywords.iter().map(|(word, _)| *word)))
    }

    /// Refuses more than one of these attributes.
    pub(super) fn exclusive(self, attrs: &[&str]) -> Result<(), MjcfError> {
        let mut given = attrs.iter().filter(|attr| self.has(attr));
        if let (Some(first), Some(second)) = (given.next(), given.next()) {
            let message = format!("attributes `{first}` and `{second}` exclude each other");
            return Err(self.error_at(second, MjcfErrorKind::Invalid, message));
        }
        Ok(())
    }

    fn wrong_count(self, attr: &str, needs: &str, found: usize) -> MjcfError {
        let message = format!("attribute `{attr}` needs {needs}, found {found}");
        self.error_at(attr, MjcfErrorKind::BadValue, message)
    }

    /// Splits at white space and parses each token; the error points at the token.
    fn tokens<T>(
        self,
        attr: &str,
        parse: impl Fn(&str) -> Option<T>,
        expected: &str,
    ) -> Result<Option<Vec<T>>, MjcfError> {
        let Some(a) = self.element.attr(attr) else { return Ok(None) };
        let mut values = Vec::new();
        for token in a.value.split_ascii_whitespace() {
            let value = parse(token).ok_or_else(|| {
                let message = format!("attribute `{attr}`: expected {expected}, found `{token}`");
                let (kind, span) = (MjcfErrorKind::BadValue, token_span(a, token));
                MjcfError::new(self.sources, span, kind, self.tag(), message)
            })?;
            values.push(value);
        }
        Ok((!values.is_empty()).then_some(values))
    }
}

fn not_supported(feature: &str) -> String {
    format!("{feature} not supported yet")
}

/// Place of a token of the attribute's value; the whole value if entities hide where it is.
fn token_span(attr: &Attr, token: &str) -> Span {
    if attr.value.len() != attr.span.len {
        return attr.span;
    }
    let start = token.as_ptr() as usize - attr.value.as_ptr() as usize;
    Span { offset: attr.span.offset + start, len: token.len(), ..attr.span }
}

/// "`a`, `b` or `c`".
fn keyword_list<T>(keywords: &[Keyword<T>], last: &str) -> String {
    let mut list = String::new();
    for (i, (word, _)) in keywords.iter().enumerate() {
        let glue = match i {
            0 => String::new(),
            _ if i + 1 == keywords.len() => format!(" {last} "),
            _ => ", ".to_owned(),
        };
        write!(list, "{glue}`{word}`").expect("writing to a string cannot fail");
    }
    list
}

/// A number, or `None` if the text is none, is NaN, or is too large.
fn parse_f64(text: &str) -> Option<f64> {
    if let Ok(value) = text.parse::<f64>() {
        let is_word = text.trim_start_matches(['+', '-']).starts_with(['i', 'I']);
        return (value.is_finite() || (value.is_infinite() && is_word)).then_some(value);
    }
    parse_hexadecimal(text)
}

/// `[-]0x1f` and `[-]0x1fp-3`, which C's `strtod` accepts too.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"))?;
    let (mantissa, exponent) = match digits.split_once(['p', 'P']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (digits, 0),
    };
    if mantissa.starts_with('+') {
        return None;
    }
    let value = sign * u64::from_str_radix(mantissa, 16).ok()? as f64 * 2f64.powi(exponent);
    value.is_finite().then_some(value)
}

#[expect(clippy::cast_possible_truncation, reason = "rounding to single precision is the point")]
fn round_to_single(x: f64) -> f64 {
    f64::from(x as f32)
}
