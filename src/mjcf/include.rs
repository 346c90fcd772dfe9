//! From a file to a whole document: reading, `<include>`, schema.
//!
//! `<include file="…"/>` is replaced by the children of the named file's root element. As in
//! MuJoCo, the path is tried relative to the main model's directory first and then relative to the
//! file that includes; each file may be included once.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::error::{MjcfError, MjcfErrorKind};
use super::schema;
use super::xml::{self, Document, Element, MAX_DEPTH, SourceFile, Sources};

/// Reads a model file, splices what it includes and checks it against the schema.
///
/// # Errors
/// If a file cannot be read, is not well-formed, or has an element or attribute that MJCF does not.
pub fn load(path: &Path) -> Result<Document, MjcfError> {
    let dir = path.parent().unwrap_or(Path::new("")).to_owned();
    let bytes = fs::read(path).map_err(|e| {
        MjcfError::of_file(path, MjcfErrorKind::Io, format!("cannot read the model file: {e}"))
    })?;
    document(path.to_owned(), &bytes, dir)
}

/// As [`load`], from a string. `name` stands for the file in messages; includes and assets are
/// looked up relative to `dir`.
///
/// # Errors
/// As [`load`].
pub fn load_str(xml: &str, name: &str, dir: &Path) -> Result<Document, MjcfError> {
    document(PathBuf::from(name), xml.as_bytes(), dir.to_owned())
}

fn document(path: PathBuf, bytes: &[u8], dir: PathBuf) -> Result<Document, MjcfError> {
    let mut splicer = Splicer { sources: Sources::default(), dir, chain: Vec::new() };
    let file = splicer.add(path, bytes)?;
    let mut root = xml::parse(&splicer.sources, file, 0)?;
    check_root(&root, &splicer.sources)?;
    splicer.chain.push(file);
    root.children = splicer.splice(root.children, 1)?;
    let Splicer { sources, dir, .. } = splicer;
    schema::check(&root, &sources)?;
    Ok(Document { root, sources, dir })
}

/// A model's root is `<mujoco>`; `<robot>` is URDF.
fn check_root(root: &Element, sources: &Sources) -> Result<(), MjcfError> {
    match root.name.as_str() {
        "mujoco" => Ok(()),
        "robot" => {
            let message = "is the root of a URDF model, which is not supported; expected <mujoco>";
            Err(MjcfError::new(sources, root.span, MjcfErrorKind::Unsupported, "robot", message)
                .with_help("convert it to MJCF: load it in MuJoCo and save it with mj_saveLastXML"))
        }
        "mujocoinclude" => {
            let message = "is the root of a file to be included, not of a model";
            Err(MjcfError::new(
                sources,
                root.span,
                MjcfErrorKind::UnknownElement,
                &root.name,
                message,
            )
            .with_help("load the model that includes it, or rename the root to <mujoco>"))
        }
        name => {
            let message = "is not an MJCF model's root, expected <mujoco>";
            Err(MjcfError::new(sources, root.span, MjcfErrorKind::UnknownElement, name, message)
                .with_help("the root element of a model is <mujoco>, in lower case"))
        }
    }
}

/// The files so far, and the chain of those being included now (indices, main file first).
struct Splicer {
    sources: Sources,
    dir: PathBuf,
    chain: Vec<usize>,
}

impl Splicer {
    /// `elements` with every include replaced by what it names, at nesting `depth`.
    fn splice(&mut self, elements: Vec<Element>, depth: usize) -> Result<Vec<Element>, MjcfError> {
        let mut spliced = Vec::with_capacity(elements.len());
        for mut element in elements {
            if element.name == "include" {
                spliced.append(&mut self.include(&element, depth)?);
            } else {
                element.children = self.splice(element.children, depth + 1)?;
                spliced.push(element);
            }
        }
        Ok(spliced)
    }

    /// The children of the file that `element` names, includes in them spliced too.
    fn include(&mut self, element: &Element, depth: usize) -> Result<Vec<Element>, MjcfError> {
        if let Some(child) = element.children.first() {
            return Err(MjcfError::new(
                &self.sources,
                child.span,
                MjcfErrorKind::UnknownElement,
                &child.name,
                "stands inside <include>, which has no children",
            )
            .with_help("move it before or after <include file=\"…\"/>"));
        }
        if let Some(attr) = element.attrs.iter().find(|a| a.name != "file") {
            let message = format!("has no attribute `{}`, only `file`", attr.name);
            return Err(self.error_at(attr.name_span, MjcfErrorKind::UnknownAttribute, message));
        }
        let Some(attr) = element.attr("file").filter(|a| !a.value.trim().is_empty()) else {
            return Err(self
                .error_at(
                    element.span,
                    MjcfErrorKind::MissingAttribute,
                    "lacks the attribute `file`",
                )
                .with_help("name the file to include: <include file=\"other.xml\"/>"));
        };
        let (path, bytes) = self.find(attr)?;
        self.refuse_repeat(attr, &path)?;

        let file = self.add(path, &bytes)?;
        if depth >= MAX_DEPTH {
            return Err(self.error_at(attr.span, MjcfErrorKind::Xml, "is nested too deep"));
        }
        let root = xml::parse(&self.sources, file, depth)?;
        if root.children.is_empty() {
            let name = &self.sources.files[file].path;
            let message = format!("file {} has nothing in its root element", name.display());
            return Err(self
                .error_at(attr.span, MjcfErrorKind::Invalid, message)
                .with_help("an included file holds at least one element inside its root"));
        }
        self.chain.push(file);
        let children = self.splice(root.children, depth + 1)?;
        self.chain.pop();
        Ok(children)
    }

    /// Opens an include: relative to the main model's directory, else to the including file's.
    fn find(&self, attr: &xml::Attr) -> Result<(PathBuf, Vec<u8>), MjcfError> {
        let name = attr.value.replace('\\', "/");
        let here = self.sources.dir_of(attr.span);
        let mut tried: Vec<PathBuf> = vec![normalize(&self.dir.join(&name))];
        let beside = normalize(&here.join(&name));
        if attr.span.file != 0 && !tried.contains(&beside) {
            tried.push(beside);
        }
        let mut reason = String::new();
        for path in &tried {
            match fs::read(path) {
                Ok(bytes) => return Ok((path.clone(), bytes)),
                Err(e) => reason = e.to_string(),
            }
        }
        let tried: Vec<_> = tried.iter().map(|p| p.display().to_string()).collect();
        let message =
            format!("cannot read file `{}`: tried {} ({reason})", attr.value, tried.join(" and "));
        Err(self
            .error_at(attr.span, MjcfErrorKind::Io, message)
            .with_help("paths are relative to the directory of the main model file"))
    }

    /// A file under inclusion that appears again is a loop; a finished one is a repeat.
    fn refuse_repeat(&self, attr: &xml::Attr, path: &Path) -> Result<(), MjcfError> {
        let same = |file: &usize| normalize(&self.sources.files[*file].path) == path;
        if let Some(start) = self.chain.iter().position(same) {
            let files = self.chain[start..].iter().map(|&f| self.sources.files[f].path.as_path());
            let names: Vec<_> = files.chain([path]).map(|p| p.display().to_string()).collect();
            let message = format!("makes a loop of includes: {}", names.join(" -> "));
            return Err(self
                .error_at(attr.span, MjcfErrorKind::IncludeLoop, message)
                .with_help("a file cannot include itself, directly or through others"));
        }
        if (0..self.sources.files.len()).any(|file| same(&file)) {
            let message = format!("file `{}` is already included", attr.value);
            return Err(self
                .error_at(attr.span, MjcfErrorKind::Duplicate, message)
                .with_help("MuJoCo includes each file at most once per model"));
        }
        Ok(())
    }

    /// Adds a file to the sources. Its text must be UTF-8.
    fn add(&mut self, path: PathBuf, bytes: &[u8]) -> Result<usize, MjcfError> {
        let file = self.sources.files.len();
        let (text, bad_byte) = match str::from_utf8(bytes) {
            Ok(text) => (Arc::from(text), None),
            Err(e) => (Arc::from(String::from_utf8_lossy(bytes)), Some(e.valid_up_to())),
        };
        self.sources.files.push(SourceFile { path, text });
        if let Some(offset) = bad_byte {
            let span = xml::Span { file, offset, len: '\u{fffd}'.len_utf8() };
            let byte = bytes.get(offset).copied().unwrap_or(0);
            let message = format!("byte 0x{byte:02X} is not valid UTF-8");
            return Err(MjcfError::new(&self.sources, span, MjcfErrorKind::Xml, "", message)
                .with_help("save the file as UTF-8"));
        }
        Ok(file)
    }

    fn error_at(
        &self,
        span: xml::Span,
        kind: MjcfErrorKind,
        message: impl Into<String>,
    ) -> MjcfError {
        MjcfError::new(&self.sources, span, kind, "include", message)
    }
}

/// The path without `.` and `..`, by its text alone.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match normal.components().next_back() {
                Some(Component::Normal(_)) => {
                    normal.pop();
                }
                Some(Component::RootDir) => {}
                _ => normal.push(".."),
            },
            other => normal.push(other),
        }
    }
    normal
}
