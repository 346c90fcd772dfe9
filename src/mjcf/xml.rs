//! The element tree of an MJCF file, every part with its place in the text.
//!
//! quick-xml cuts the text into tags; what makes a sequence of tags a document (one root, matching
//! and complete tags, no attribute twice) is checked here. MuJoCo's own reader is lenient about
//! stray text and a bare `&`, which real models contain, and so are we.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::errors::{Error, SyntaxError};
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::attributes::AttrError;
use quick_xml::events::{BytesStart, Event};

use super::error::{MjcfError, MjcfErrorKind};

/// Deepest nesting of elements, the limit of MuJoCo's reader. Keeps every recursion over the tree
/// well within a thread's stack.
pub const MAX_DEPTH: usize = 500;

/// Byte range in one of the source files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Span {
    /// Index into [`Sources::files`].
    pub file: usize,
    /// First byte.
    pub offset: usize,
    /// Number of bytes.
    pub len: usize,
}

/// A file that took part in the model.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The path as it was opened.
    pub path: PathBuf,
    /// Its whole text.
    pub text: Arc<str>,
}

impl SourceFile {
    /// Line and column (in characters) of a byte offset, both from 1.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let before = &self.text[..char_boundary(&self.text, offset)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.matches('\n').count();
        (line, 1 + before[line_start..].trim_start_matches('\u{feff}').chars().count())
    }
}

/// All files of a model: the main file first, then those it includes, in the order of reading.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The files; [`Span::file`] counts them.
    pub files: Vec<SourceFile>,
}

impl Sources {
    /// Directory of the file in which `span` lies. MuJoCo looks there for an asset of an included
    /// file when the main model's directory ([`Document::dir`]) does not have it.
    pub fn dir_of(&self, span: Span) -> &Path {
        let file = self.files.get(span.file);
        file.and_then(|f| f.path.parent()).unwrap_or(Path::new(""))
    }
}

/// `name="value"` in an element's tag.
#[derive(Clone, Debug)]
pub struct Attr {
    /// The name.
    pub name: String,
    /// The value with entities replaced.
    pub value: String,
    /// Place of the value, without its quotes.
    pub span: Span,
    /// Place of the name.
    pub name_span: Span,
}

/// An element, its attributes and children in file order. Text content is not kept: MJCF has none.
#[derive(Clone, Debug)]
pub struct Element {
    /// The name.
    pub name: String,
    /// The attributes; no name appears twice.
    pub attrs: Vec<Attr>,
    /// The children.
    pub children: Vec<Element>,
    /// Place of the name in the opening tag.
    pub span: Span,
}

impl Element {
    /// The attribute of that name.
    pub fn attr(&self, name: &str) -> Option<&Attr> {
        self.attrs.iter().find(|a| a.name == name)
    }

    /// The children of that name, in file order.
    pub fn children_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |c| c.name == name)
    }

    /// The first child of that name.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|c| c.name == name)
    }
}

/// A whole model as text: includes spliced, names checked against the schema.
#[derive(Clone, Debug)]
pub struct Document {
    /// The `<mujoco>` element.
    pub root: Element,
    /// The files it came from.
    pub sources: Sources,
    /// Directory of the main file, to which paths in the model are relative.
    pub dir: PathBuf,
}

/// Reads file number `file` of `sources` into a tree. Its root counts as nested `depth` deep.
///
/// # Errors
/// [`MjcfErrorKind::Xml`] if the text is not one well-formed element, and
/// [`MjcfErrorKind::Unsupported`] for a document type with declarations.
pub fn parse(sources: &Sources, file: usize, depth: usize) -> Result<Element, MjcfError> {
    let text = sources.files.get(file).map_or("", |f| &*f.text);
    let mut tree = TreeBuilder { sources, text, file, depth, open: Vec::new(), root: None };

    // quick-xml does not count a byte order mark
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut reader = Reader::from_str(&text[start..]);
    let config = reader.config_mut();
    // our own checks say where the opening tag was
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;

    let mut at = start;
    loop {
        let event = reader.read_event().map_err(|e| tree.broken(at, &e))?;
        let read = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let end = char_boundary(text, start.saturating_add(read));
        match event {
            Event::Start(tag) => tree.open(&tag)?,
            Event::Empty(tag) => {
                tree.open(&tag)?;
                tree.close(tag.name().0, at)?;
            }
            // an end tag too many ends the document: MuJoCo reads nothing after it
            Event::End(_) if tree.root.is_some() => return tree.finish(),
            Event::End(tag) => tree.close(tag.name().0, at)?,
            Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) => tree.stray_text(at, end)?,
            Event::DocType(_) => tree.doctype(at, end)?,
            Event::Comment(_) | Event::PI(_) | Event::Decl(_) => {}
            Event::Eof => return tree.finish(),
        }
        at = end;
    }
}

/// The tree so far: `open` is the path from the root to the element being read.
struct TreeBuilder<'a> {
    sources: &'a Sources,
    text: &'a str,
    file: usize,
    depth: usize,
    open: Vec<Element>,
    root: Option<Element>,
}

impl TreeBuilder<'_> {
    fn open(&mut self, tag: &BytesStart<'_>) -> Result<(), MjcfError> {
        let name = tag.name().0;
        let start = self.offset_of(name);
        let span = Span { file: self.file, offset: start, len: name.len() };
        if name.is_empty() {
            return Err(self
                .xml_error(span, "", "`<` without an element name after it")
                .with_help(
                    "write `&lt;` for a literal `<`, and no space between `<` and the name",
                ));
        }
        if let Some(root) = &self.root {
            let message = format!("is a second root element: the file already has <{}>", root.name);
            return Err(self
                .xml_error(span, name, message)
                .with_label(root.span, "first root element")
                .with_help("a file holds one root element with everything inside it"));
        }
        if self.depth + self.open.len() >= MAX_DEPTH {
            let message = format!("is nested more than {MAX_DEPTH} elements deep");
            return Err(self.xml_error(span, name, message));
        }
        let attrs = self.attributes(tag, name, start)?;
        self.open.push(Element { name: name.to_owned(), attrs, children: Vec::new(), span });
        Ok(())
    }

    fn attributes(
        &self,
        tag: &BytesStart<'_>,
        element: &str,
        start: usize,
    ) -> Result<Vec<Attr>, MjcfError> {
        let mut attrs: Vec<Attr> = Vec::new();
        let mut seen = HashMap::new();
        for attr in tag.attributes().with_checks(false) {
            let attr = attr.map_err(|e| self.bad_attribute(&e, element, start))?;
            let name = attr.key.0;
            let name_span = self.span(self.offset_of(name), name.len());
            let span = self.span(self.offset_of(&attr.value), attr.value.len());
            if let Some(first) = seen.insert(name.to_owned(), name_span) {
                let message = format!("attribute `{name}` is given twice");
                return Err(self
                    .xml_error(name_span, element, message)
                    .with_label(first, "first given here")
                    .with_help("keep one of the two"));
            }
            let value = self.unescape(&attr.value, span, element, name)?;
            attrs.push(Attr { name: name.to_owned(), value, span, name_span });
        }
        Ok(attrs)
    }

    /// Replaces `&lt;` and its kind. A bare `&` stands for itself, as in MuJoCo.
    fn unescape(
        &self,
        raw: &str,
        span: Span,
        element: &str,
        attr: &str,
    ) -> Result<String, MjcfError> {
        let mut value = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(amp) = rest.find('&') {
            value.push_str(&rest[..amp]);
            rest = &rest[amp + 1..];
            let name_len = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '#');
            let Some(name) = name_len.filter(|&n| n > 0 && rest[n..].starts_with(';')) else {
                value.push('&');
                continue;
            };
            let (name, after) = rest.split_at(name);
            let Some(character) = entity(name) else {
                let offset = span.offset + (raw.len() - rest.len()) - 1;
                let message = format!("attribute `{attr}` has the unknown entity `&{name};`");
                return Err(self
                    .xml_error(self.span(offset, name.len() + 2), element, message)
                    .with_help(ENTITIES));
            };
            value.push(character);
            rest = &after[1..];
        }
        value.push_str(rest);
        Ok(if value.contains('\r') { value.replace("\r\n", "\n") } else { value })
    }

    fn close(&mut self, name: &str, at: usize) -> Result<(), MjcfError> {
        let span = self.span(at, name.len() + 2);
        let Some(element) = self.open.pop() else {
            return Err(self
                .xml_error(span, "", format!("`</{name}>` closes an element that is not open"))
                .with_help("remove it, or look for the tag that closed its element early"));
        };
        if element.name != name {
            let (line, _) = self.line_column(element.span.offset);
            let message = format!(
                "opened at line {line} is closed by `</{name}>`, expected `</{}>`",
                element.name
            );
            return Err(self
                .xml_error(span, &element.name, message)
                .with_label(element.span, "opened here")
                .with_help(format!("add `</{}>` before it, or correct its name", element.name)));
        }
        match self.open.last_mut() {
            Some(parent) => parent.children.push(element),
            None => self.root = Some(element),
        }
        Ok(())
    }

    /// Text between tags means nothing in MJCF and MuJoCo skips it; after the root it refuses it.
    fn stray_text(&self, start: usize, end: usize) -> Result<(), MjcfError> {
        let text = self.text.get(start..end).unwrap_or("");
        let found = text.trim();
        if self.root.is_none() || found.is_empty() {
            return Ok(());
        }
        let offset = start + (text.len() - text.trim_start().len());
        let shown: String = found.chars().take(20).collect();
        let message = format!("text after the root element: `{}`", shown.escape_debug());
        Err(self
            .xml_error(self.span(offset, found.len()), "", message)
            .with_help("remove it, or make it a comment: <!-- … -->"))
    }

    /// A plain `<!DOCTYPE mujoco>` is harmless; declarations in it would be ignored silently.
    fn doctype(&self, start: usize, end: usize) -> Result<(), MjcfError> {
        let text = self.text.get(start..end).unwrap_or("");
        if !text.contains('[') {
            return Ok(());
        }
        let span = self.span(start, end - start);
        let message = "the document type declares entities or elements, which MJCF does not use";
        Err(MjcfError::new(self.sources, span, MjcfErrorKind::Unsupported, "", message)
            .with_help("remove <!DOCTYPE …> and write the values in place"))
    }

    fn finish(mut self) -> Result<Element, MjcfError> {
        if let Some(element) = self.open.last() {
            let (line, _) = self.line_column(self.text.len());
            let message = format!("is opened here and never closed: the file ends at line {line}");
            return Err(self.xml_error(element.span, &element.name, message).with_help(format!(
                "add `</{}>`, or check whether the file was cut off",
                element.name
            )));
        }
        let nothing = self.span(0, 0);
        self.root.take().ok_or_else(|| {
            self.xml_error(nothing, "", "no element in the file, expected <mujoco>")
                .with_help("check whether the file is empty or was cut off")
        })
    }

    /// A tag, comment or the like that begins at `at` and never ends.
    fn broken(&self, at: usize, error: &Error) -> MjcfError {
        let rest = self.text.get(at..).unwrap_or("");
        let len = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let span = self.span(at, len);
        let close = match error {
            Error::Syntax(SyntaxError::UnclosedComment) => "-->",
            Error::Syntax(SyntaxError::UnclosedCData) => "]]>",
            Error::Syntax(SyntaxError::UnclosedPI | SyntaxError::UnclosedXmlDecl) => "?>",
            Error::Syntax(SyntaxError::UnclosedDoubleQuotedAttributeValue) => "\"",
            Error::Syntax(SyntaxError::UnclosedSingleQuotedAttributeValue) => "'",
            Error::Syntax(SyntaxError::UnclosedTag | SyntaxError::UnclosedDoctype) => ">",
            _ => return self.xml_error(span, "", format!("not XML: {error}")),
        };
        let shown: String = rest[..len].chars().take(40).collect();
        self.xml_error(
            span,
            "",
            format!(
                "`{}` begins here and the file ends before its closing `{close}`",
                shown.escape_debug()
            ),
        )
        .with_help(format!("add `{close}`, or check whether the file was cut off"))
    }

    /// `start` is the offset of the tag's name, from which quick-xml counts.
    fn bad_attribute(&self, error: &AttrError, element: &str, start: usize) -> MjcfError {
        let (position, message) = match error {
            AttrError::ExpectedEq(p) => (*p, "an attribute has no value"),
            AttrError::ExpectedValue(p) => (*p, "an attribute has no value after `=`"),
            AttrError::UnquotedValue(p) => (*p, "an attribute's value is not in quotes"),
            AttrError::ExpectedQuote(p, _) => (*p, "an attribute's value has no closing quote"),
            AttrError::Duplicated(p, _) => (*p, "an attribute is given twice"),
        };
        self.xml_error(self.span(start + position, 0), element, message)
            .with_help("attributes are written name=\"value\"")
    }

    fn xml_error(&self, span: Span, element: &str, message: impl Into<String>) -> MjcfError {
        MjcfError::new(self.sources, span, MjcfErrorKind::Xml, element, message)
    }

    fn span(&self, offset: usize, len: usize) -> Span {
        let offset = offset.min(self.text.len());
        Span { file: self.file, offset, len: len.min(self.text.len() - offset) }
    }

    fn line_column(&self, offset: usize) -> (usize, usize) {
        self.sources.files.get(self.file).map_or((1, 1), |f| f.line_column(offset))
    }

    /// Offset of `part`, a slice that the tokenizer cut from the text.
    fn offset_of(&self, part: &str) -> usize {
        part.as_ptr().addr().saturating_sub(self.text.as_ptr().addr()).min(self.text.len())
    }
}

/// What to write instead of an unknown entity.
const ENTITIES: &str = "known are &lt; &gt; &amp; &quot; &apos; and characters by number such as \
                        &#176; or &#xB0;";

/// The last place at or before `offset` where `text` may be cut.
fn char_boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The character that `&name;` stands for.
fn entity(name: &str) -> Option<char> {
    let Some(number) = name.strip_prefix('#') else {
        return resolve_xml_entity(name).and_then(|s| s.chars().next());
    };
    let code = match number.strip_prefix('x') {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code).filter(|&c| c != '\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Element, MjcfError> {
        let file = SourceFile { path: "arm.xml".into(), text: text.into() };
        parse(&Sources { files: vec![file] }, 0, 0)
    }

    /// Text and help of the refusal of `text`.
    fn refusal(text: &str) -> (String, String) {
        let error = read(text).expect_err(text);
        assert_eq!(error.kind(), MjcfErrorKind::Xml);
        (error.to_string(), error.help_text().unwrap_or_default().to_owned())
    }

    #[test]
    fn tree_with_places() {
        let text = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<!-- é -->\n\
                    <a b='1' c = \"2 &lt; 3\">\n  <d/>stray<e f=\"&#65;&#x42;\"></e >\n</a>\n";
        let root = read(text).unwrap();
        assert_eq!(root.name, "a");
        assert_eq!(root.attr("b").unwrap().value, "1");
        let c = root.attr("c").unwrap();
        assert_eq!(c.value, "2 < 3");
        assert_eq!(&text[c.span.offset..][..c.span.len], "2 &lt; 3");
        assert_eq!(&text[c.name_span.offset..][..c.name_span.len], "c");
        assert_eq!(&text[root.span.offset..][..root.span.len], "a");
        assert_eq!(root.child("e").unwrap().attr("f").unwrap().value, "AB");
        assert_eq!(root.children_named("d").count(), 1);
        assert!(root.attr("z").is_none() && root.child("z").is_none());
    }

    #[test]
    fn columns_count_characters() {
        let file = SourceFile { path: "a".into(), text: "\u{feff}é<a/>\nßß<b/>".into() };
        assert_eq!(file.line_column(file.text.find("<a").unwrap()), (1, 2));
        assert_eq!(file.line_column(file.text.find("<b").unwrap()), (2, 3));
        assert_eq!(file.line_column(usize::MAX), (2, 7));
    }

    #[test]
    fn lenient_where_mujoco_is() {
        for text in [
            "text<a/>",
            "<!DOCTYPE a><a/>",
            "<a>text<![CDATA[x]]>&foo; & <!-- x -- y --></a>",
            "<a b=\"1\"c=\"2\"/>",
            "<a/><!-- after -->\n",
        ] {
            assert!(read(text).is_ok(), "{text}");
        }
        let root = read("<a b=\"x & y < z; > &\" c=\"1\r\n2\"/>").unwrap();
        assert_eq!(root.attr("b").unwrap().value, "x & y < z; > &");
        assert_eq!(root.attr("c").unwrap().value, "1\n2");
    }

    #[test]
    fn truncated_between_tags() {
        let (text, help) = refusal("<mujoco>\n  <worldbody>\n    <body>\n      <geom/>\n");
        assert_eq!(
            text,
            "arm.xml:3:6: <body> is opened here and never closed: the file ends at line 5"
        );
        assert_eq!(help, "add `</body>`, or check whether the file was cut off");
    }

    #[test]
    fn truncated_inside_a_tag() {
        let (text, help) = refusal("<mujoco>\n  <worldbody ");
        assert_eq!(
            text,
            "arm.xml:2:3: `<worldbody` begins here and the file ends before its closing `>`"
        );
        assert_eq!(help, "add `>`, or check whether the file was cut off");
        let (text, _) = refusal("<mujoco model=\"arm");
        assert_eq!(
            text,
            "arm.xml:1:1: `<mujoco` begins here and the file ends before its closing `\"`"
        );
        let (text, _) = refusal("<mujoco><!-- a");
        assert_eq!(
            text,
            "arm.xml:1:9: `<!--` begins here and the file ends before its closing `-->`"
        );
    }

    #[test]
    fn mismatched_end_tag() {
        let (text, help) = refusal("<mujoco>\n<worldbody>\n</mujoco>");
        assert_eq!(
            text,
            "arm.xml:3:1: <worldbody> opened at line 2 is closed by `</mujoco>`, \
             expected `</worldbody>`"
        );
        assert_eq!(help, "add `</worldbody>` before it, or correct its name");
        let (text, _) = refusal("</mujoco><mujoco/>");
        assert_eq!(text, "arm.xml:1:1: `</mujoco>` closes an element that is not open");
    }

    #[test]
    fn an_end_tag_after_the_root_ends_the_document() {
        for tail in ["</mujoco>", "</mujoco> text", "\n</a>\n<mujoco/>"] {
            assert_eq!(read(&format!("<mujoco><b/></mujoco>{tail}")).unwrap().children.len(), 1);
        }
    }

    #[test]
    fn bad_attributes() {
        let (text, help) = refusal("<a b=\"1\" c=\"2\" b=\"3\"/>");
        assert_eq!(text, "arm.xml:1:16: <a> attribute `b` is given twice");
        assert_eq!(help, "keep one of the two");
        let (text, help) = refusal("<a b=1/>");
        assert_eq!(text, "arm.xml:1:6: <a> an attribute's value is not in quotes");
        assert_eq!(help, "attributes are written name=\"value\"");
        let (text, _) = refusal("<a b c=\"1\"/>");
        assert_eq!(text, "arm.xml:1:6: <a> an attribute has no value");
    }

    #[test]
    fn bad_entities() {
        let (text, _) = refusal("<a b=\"x &deg; y\"/>");
        assert_eq!(text, "arm.xml:1:9: <a> attribute `b` has the unknown entity `&deg;`");
        for entity in ["&#0;", "&#xD800;", "&#x110000;", "&#xZZ;", "&#;", "&#99999999999;"] {
            assert!(read(&format!("<a b=\"{entity}\"/>")).is_err(), "{entity}");
        }
    }

    #[test]
    fn one_root() {
        let (text, _) = refusal("<a/>\n<b/>");
        assert_eq!(text, "arm.xml:2:2: <b> is a second root element: the file already has <a>");
        let (text, _) = refusal("<a/>\n text");
        assert_eq!(text, "arm.xml:2:2: text after the root element: `text`");
        for empty in ["", "  \n", "<!-- -->", "<?xml version=\"1.0\"?>"] {
            let (text, _) = refusal(empty);
            assert_eq!(text, "arm.xml:1:1: no element in the file, expected <mujoco>");
        }
        let (text, _) = refusal("< a/>");
        assert_eq!(text, "arm.xml:1:2: `<` without an element name after it");
    }

    #[test]
    fn document_type_with_declarations() {
        let error = read("<!DOCTYPE a [<!ENTITY b \"c\">]><a/>").unwrap_err();
        assert_eq!(error.kind(), MjcfErrorKind::Unsupported);
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |n| "<a>".repeat(n) + &"</a>".repeat(n);
        assert!(read(&nested(MAX_DEPTH)).is_ok());
        let (text, _) = refusal(&nested(MAX_DEPTH + 1));
        assert_eq!(text, "arm.xml:1:1502: <a> is nested more than 500 elements deep");
        assert!(read(&"<a>".repeat(100_000)).is_err());
    }
}
