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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::*;

    /// A directory of model files, removed when dropped.
    struct Files(PathBuf);

    impl Files {
        fn new(files: &[(&str, &str)]) -> Self {
            static COUNT: AtomicUsize = AtomicUsize::new(0);
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("dualstep-include-{}-{count}", std::process::id());
            let dir = std::env::temp_dir().join(name);
            for (name, text) in files {
                let path = dir.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(dir)
        }

        fn load(&self) -> Result<Document, MjcfError> {
            load(&self.0.join("main.xml"))
        }

        /// Kind and text of the refusal of main.xml, with paths relative to the directory.
        fn refusal(&self) -> (MjcfErrorKind, String) {
            let error = self.load().unwrap_err();
            let dir = format!("{}/", self.0.display());
            (error.kind(), error.to_string().replace(&dir, ""))
        }
    }

    impl Drop for Files {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    fn main_with(world: &str) -> String {
        format!("<mujoco><worldbody>{world}</worldbody></mujoco>")
    }

    fn geoms(document: &Document) -> Vec<&str> {
        let world = document.root.child("worldbody").unwrap();
        world.children.iter().map(|g| g.attr("name").unwrap().value.as_str()).collect()
    }

    #[test]
    fn splices_in_place() {
        let main = main_with("<geom name='1'/><include file='s/a.xml'/><geom name='4'/>");
        let files = Files::new(&[
            ("main.xml", &main),
            ("s/a.xml", "<mujocoinclude><geom name='2'/><include file='b.xml'/></mujocoinclude>"),
            ("s/b.xml", "<any x='1'><geom name='3'/></any>"),
        ]);
        let document = files.load().unwrap();
        assert_eq!(geoms(&document), ["1", "2", "3", "4"]);
        assert_eq!(document.dir, files.0);
        let third = document.root.child("worldbody").unwrap().children[2].span;
        assert_eq!(document.sources.dir_of(third), files.0.join("s"));
    }

    /// b.xml is beside the main file and beside the including one.
    #[test]
    fn main_directory_comes_first() {
        let files = Files::new(&[
            ("main.xml", &main_with("<include file='s/a.xml'/>")),
            ("s/a.xml", "<x><include file='b.xml'/></x>"),
            ("s/b.xml", "<x><geom name='beside'/></x>"),
            ("b.xml", "<x><geom name='main'/></x>"),
        ]);
        assert_eq!(geoms(&files.load().unwrap()), ["main"]);
    }

    #[test]
    fn missing_file_names_what_was_tried() {
        let files = Files::new(&[
            ("main.xml", &main_with("<include file='s/a.xml'/>")),
            ("s/a.xml", "<x>\n<include file='q.xml'/></x>"),
        ]);
        let (kind, text) = files.refusal();
        assert_eq!(kind, MjcfErrorKind::Io);
        assert!(
            text.starts_with(
                "s/a.xml:2:16: <include> cannot read file `q.xml`: tried q.xml and s/q.xml ("
            ),
            "{text}"
        );
        let error = load(Path::new("no/such/model.xml")).unwrap_err();
        assert_eq!(error.kind(), MjcfErrorKind::Io);
        assert!(error.to_string().starts_with("no/such/model.xml: cannot read the model file: "));
        assert_eq!((error.line(), error.column()), (None, None));
    }

    #[test]
    fn loops_name_their_chain() {
        let files = Files::new(&[
            ("main.xml", &main_with("<include file='a.xml'/>")),
            ("a.xml", "<x><include file='b.xml'/></x>"),
            ("b.xml", "<x><include file='./a.xml'/></x>"),
        ]);
        let (kind, text) = files.refusal();
        assert_eq!(kind, MjcfErrorKind::IncludeLoop);
        assert_eq!(text, "b.xml:1:19: <include> makes a loop of includes: a.xml -> b.xml -> a.xml");
        let files = Files::new(&[("main.xml", &main_with("<include file='main.xml'/>"))]);
        let (kind, text) = files.refusal();
        assert_eq!(kind, MjcfErrorKind::IncludeLoop);
        assert_eq!(text, "main.xml:1:35: <include> makes a loop of includes: main.xml -> main.xml");
    }

    #[test]
    fn each_file_once() {
        let main = main_with("<include file='a.xml'/><include file='x/../a.xml'/>");
        let files = Files::new(&[("main.xml", &main), ("a.xml", "<x><geom name='a'/></x>")]);
        let (kind, text) = files.refusal();
        assert_eq!(kind, MjcfErrorKind::Duplicate);
        assert_eq!(text, "main.xml:1:58: <include> file `x/../a.xml` is already included");
    }

    #[test]
    fn malformed_includes() {
        let refused = |world: &str| {
            let files = Files::new(&[("main.xml", &main_with(world)), ("a.xml", "<x/>")]);
            files.refusal()
        };
        let (kind, text) = refused("<include/>");
        assert_eq!(kind, MjcfErrorKind::MissingAttribute);
        assert_eq!(text, "main.xml:1:21: <include> lacks the attribute `file`");
        let (kind, text) = refused("<include file='a.xml' prefix='p'/>");
        assert_eq!(kind, MjcfErrorKind::UnknownAttribute);
        assert_eq!(text, "main.xml:1:42: <include> has no attribute `prefix`, only `file`");
        let (kind, text) = refused("<include file='a.xml'><geom/></include>");
        assert_eq!(kind, MjcfErrorKind::UnknownElement);
        assert_eq!(text, "main.xml:1:43: <geom> stands inside <include>, which has no children");
        let (kind, text) = refused("<include file='a.xml'/>");
        assert_eq!(kind, MjcfErrorKind::Invalid);
        assert_eq!(text, "main.xml:1:35: <include> file a.xml has nothing in its root element");
    }

    #[test]
    fn mistakes_in_included_files_are_located_there() {
        let files = Files::new(&[
            ("main.xml", &main_with("<include file='a.xml'/>")),
            ("a.xml", "<x>\n  <geom siez='1'/></x>"),
        ]);
        let (_, text) = files.refusal();
        assert_eq!(text, "a.xml:2:9: <geom> has no attribute `siez`");
    }

    /// A long chain of includes counts as nesting, so it cannot exhaust the stack.
    #[test]
    fn long_chain_is_refused() {
        let link = |i: usize| format!("<x><include file='{i}.xml'/></x>");
        let mut files: Vec<_> = (0..600).map(|i| (format!("{i}.xml"), link(i + 1))).collect();
        files.push(("main.xml".into(), main_with("<include file='0.xml'/>")));
        let files: Vec<_> = files.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
        assert_eq!(Files::new(&files).refusal().0, MjcfErrorKind::Xml);
    }

    #[test]
    fn roots_other_than_mujoco() {
        let refused = |text: &str| {
            let error = load_str(text, "arm.xml", Path::new("")).unwrap_err();
            (error.kind(), error.to_string())
        };
        let (kind, text) = refused("<robot name='a'/>");
        assert_eq!(kind, MjcfErrorKind::Unsupported);
        assert_eq!(
            text,
            "arm.xml:1:2: <robot> is the root of a URDF model, which is not supported; \
             expected <mujoco>"
        );
        let (kind, text) = refused("<MuJoCo/>");
        assert_eq!(kind, MjcfErrorKind::UnknownElement);
        assert_eq!(text, "arm.xml:1:2: <MuJoCo> is not an MJCF model's root, expected <mujoco>");
        let (_, text) = refused("<mujocoinclude/>");
        assert_eq!(
            text,
            "arm.xml:1:2: <mujocoinclude> is the root of a file to be included, not of a model"
        );
    }

    #[test]
    fn text_must_be_utf8() {
        let files = Files::new(&[]);
        fs::create_dir_all(&files.0).unwrap();
        fs::write(files.0.join("main.xml"), b"<mujoco>\n<!-- caf\xE9 --></mujoco>").unwrap();
        let (kind, text) = files.refusal();
        assert_eq!(kind, MjcfErrorKind::Xml);
        assert_eq!(text, "main.xml:2:9: byte 0xE9 is not valid UTF-8");
    }

    const SEEDS: [&str; 3] = [
        "<?xml version=\"1.0\"?>\n<mujoco model=\"arm\">\n  <!-- two links -->\n  <default>\n    \
         <joint damping=\"0.1\"/>\n    <default class=\"link\"><geom type=\"capsule\" size=\".05\"/>\
         </default>\n  </default>\n  <worldbody>\n    <body name=\"upper\" pos=\"0 0 1\">\n      \
         <joint name='shoulder' axis='0 1 0'/>\n      <geom class=\"link\" fromto=\"0 0 0 0 0 -.5\"/>\
         \n      <body pos=\"0 0 -.5\"><frame euler=\"0 90 0\"><geom size=\"1 &lt; &#65;\"/></frame>\
         </body>\n    </body>\n  </worldbody>\n</mujoco>\n",
        "<!DOCTYPE mujoco><mujoco><option timestep=\"0.002\"><flag contact=\"disable\"/></option>\
         <actuator><motor joint=\"shoulder\" gear=\"100\"/></actuator><sensor><gyro site=\"s\"/>\
         <framepos objtype=\"site\" objname=\"s\"/></sensor>stray <![CDATA[text]]></mujoco>",
        "\u{feff}<mujoco><include file=\"nowhere.xml\"/><keyframe><key name=\"é\" qpos=\"1 2\"/>\
         </keyframe></mujoco>",
    ];

    fn load_bytes(bytes: &[u8]) -> Result<Document, MjcfError> {
        document("fuzz.xml".into(), bytes, PathBuf::from("/nonexistent"))
    }

    proptest! {
        /// Whatever happens to a model's bytes, loading returns, and an error's place can be shown.
        #[test]
        fn no_input_panics(
            seed in 0..SEEDS.len(),
            cut in any::<prop::sample::Index>(),
            truncate in any::<bool>(),
            edits in prop::collection::vec(
                (any::<prop::sample::Index>(), prop_oneof![any::<u8>(), prop::sample::select(
                    b"<>/\"'=&;! -?[]#x\0\n\xC3".to_vec())], 0..3_u8),
                0..8,
            ),
        ) {
            let mut bytes = SEEDS[seed].as_bytes().to_vec();
            if truncate {
                bytes.truncate(cut.index(bytes.len()));
            }
            for (place, byte, edit) in edits {
                if bytes.is_empty() {
                    break;
                }
                let place = place.index(bytes.len());
                match edit {
                    0 => bytes[place] = byte,
                    1 => bytes.insert(place, byte),
                    _ => drop(bytes.remove(place)),
                }
            }
            if let Err(error) = load_bytes(&bytes) {
                use miette::Diagnostic;
                prop_assert!(!error.to_string().is_empty());
                if let (Some(source), Some(labels)) = (error.source_code(), error.labels()) {
                    for label in labels {
                        let shown = source.read_span(label.inner(), 1, 1);
                        prop_assert!(shown.is_ok(), "{error} {label:?}");
                    }
                }
            }
        }

        #[test]
        fn no_string_panics(text in "[<>a-z/\"'=&;!?\\[\\] é-]{0,60}") {
            load_bytes(text.as_bytes()).ok();
        }
    }
}
