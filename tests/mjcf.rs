//! What the loader refuses, with its exact message, beside what it accepts; and that no input, however
//! broken, makes it panic or hang.
//!
//! Fails when, for example: an attribute is ignored instead of refused, a place (line and column) is off by
//! one, a feature is dropped in silence, or a number of a truncated file is used without being there.

mod cases;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dualstep::Model;
use dualstep::mjcf::{MjcfError, MjcfErrorKind as Kind, load_model, load_model_str};
use proptest::prelude::*;

use crate::support::{folder, names};

/// A model with a section on its second line.
fn wrapped(section: &str) -> String {
    format!("<mujoco>\n{section}\n</mujoco>\n")
}

fn load(xml: &str) -> Result<Model, MjcfError> {
    load_model_str(xml, "m.xml", Path::new("nowhere"))
}

fn check(cases: &[cases::Case]) {
    for case in cases {
        if let Err(e) = load(&wrapped(case.accepted)) {
            panic!("{}\nis refused: {e}", case.accepted);
        }
        let Err(error) = load(&wrapped(case.refused)) else {
            panic!("{}\nis accepted", case.refused);
        };
        let found = (error.to_string(), error.kind(), error.help_text());
        let expected = (format!("m.xml:{}", case.message), case.kind, case.help);
        assert_eq!(found, expected, "{}", case.refused);
    }
}

#[test]
fn spelling_is_checked() {
    check(&cases::SPELLING);
}

#[test]
fn values_are_checked() {
    check(&cases::VALUES);
}

#[test]
fn names_are_checked() {
    check(&cases::NAMES);
}

#[test]
fn meaning_is_checked() {
    check(&cases::MEANING);
}

#[test]
fn unsupported_features_name_themselves() {
    check(&cases::UNSUPPORTED);
}

#[test]
fn assets_are_checked() {
    check(&cases::ASSETS);
}

/// Text that is not XML.
const BROKEN: [(&str, &str); 8] = [
    (
        "<mujoco>\n  <worldbody>\n    <body>",
        "3:6: <body> is opened here and never closed: the file ends at line 3",
    ),
    (
        "<mujoco>\n  <option timestep=",
        "2:3: `<option` begins here and the file ends before its closing `>`",
    ),
    (
        "<mujoco><worldbody></mujoco>",
        "1:20: <worldbody> opened at line 1 is closed by `</mujoco>`, expected `</worldbody>`",
    ),
    ("", "1:1: no element in the file, expected <mujoco>"),
    (
        "<mujoco/><mujoco/>",
        "1:11: <mujoco> is a second root element: the file already has <mujoco>",
    ),
    (
        "<mujoco><option timestep='1' timestep='2'/></mujoco>",
        "1:30: <option> attribute `timestep` is given twice",
    ),
    (
        "<mujoco><option timestep=1/></mujoco>",
        "1:26: <option> an attribute's value is not in quotes",
    ),
    (
        "<!DOCTYPE m [<!ENTITY e 'x'>]><mujoco/>",
        "1:1: the document type declares entities or elements, which MJCF does not use",
    ),
];

#[test]
fn text_that_is_not_xml_is_refused() {
    for (text, message) in BROKEN {
        let error = load(text).unwrap_err();
        assert_eq!(error.to_string(), format!("m.xml:{message}"), "{text}");
    }
}

/// A folder of files that is gone after the test.
struct Files(PathBuf);

impl Files {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("dualstep-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (file, text) in files {
            std::fs::write(folder.join(file), text).unwrap();
        }
        Self(folder)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // what remains of it is the system's to clean up
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_loop_of_includes_is_refused() {
    let include = |file: &str| format!("<mujoco>\n  <include file=\"{file}\"/>\n</mujoco>");
    let leaf = "<mujoco><option timestep=\"0.01\"/></mujoco>";
    let files = Files::new(
        "loop",
        &[
            ("good.xml", &include("leaf.xml")),
            ("leaf.xml", leaf),
            ("a.xml", &include("b.xml")),
            ("b.xml", &include("a.xml")),
        ],
    );
    assert_eq!(load_model(files.0.join("good.xml")).unwrap().opt.timestep, 0.01);
    let error = load_model(files.0.join("a.xml")).unwrap_err();
    assert_eq!(error.kind(), Kind::IncludeLoop);
    let (a, b) = (files.0.join("a.xml"), files.0.join("b.xml"));
    let expected = format!(
        "{b}:2:18: <include> makes a loop of includes: {a} -> {b} -> {a}",
        a = a.display(),
        b = b.display()
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_missing_model_is_refused() {
    let error = load_model("nowhere/gone.xml").unwrap_err();
    assert_eq!(error.kind(), Kind::Io);
    let message = "nowhere/gone.xml: cannot read the model file: ";
    assert!(error.to_string().starts_with(message), "{error}");
}

#[test]
fn a_mesh_file_that_is_no_mesh_is_refused() {
    let model = "<mujoco><asset><mesh name=\"m\" file=\"m.stl\"/></asset></mujoco>";
    let files = Files::new("mesh", &[("m.stl", "solid, but no"), ("m.xml", model)]);
    let error = load_model(files.0.join("m.xml")).unwrap_err();
    assert_eq!((error.kind(), error.element()), (Kind::Asset, "mesh"), "{error}");
}

/// Models that are mutated, with their folder: many elements, includes and meshes among them.
fn texts() -> Vec<Vec<u8>> {
    let chosen = [
        "actuator_dynamics",
        "frames_defaults",
        "inertia_forms",
        "joint_anchors_balls",
        "meshes",
        "sensors_frame",
        "tendon_fixed",
    ];
    let all = names();
    assert!(chosen.iter().all(|name| all.iter().any(|n| n == name)));
    chosen
        .iter()
        .map(|n| std::fs::read(folder("models").join(format!("{n}.xml"))).unwrap())
        .collect()
}

/// Loads what is left of a model, through the same door as text from anywhere. Longest time [s] that it
/// may take: a hundred times what a whole model takes here, and far from a hang.
fn survive(bytes: &[u8]) -> Result<(), TestCaseError> {
    let text = String::from_utf8_lossy(bytes);
    let start = Instant::now();
    if let Err(e) = load_model_str(&text, "m.xml", &folder("models")) {
        prop_assert!(!e.message().is_empty());
    }
    prop_assert!(start.elapsed() < Duration::from_secs(10), "a hang");
    Ok(())
}

/// What a typing error or a broken disk does to a text.
#[derive(Clone, Debug)]
enum Mutation {
    /// One byte becomes another.
    Byte(usize, u8),
    /// A stretch is lost.
    Cut(usize, usize),
    /// A stretch is there twice.
    Repeat(usize, usize),
    /// A number or word becomes another.
    Word(usize, &'static str),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let junk = [
        "nan",
        "-1",
        "0",
        "1e308",
        "-inf",
        "99999999999",
        "",
        " ",
        "1 2 3 4 5 6 7",
        "é",
        "&lt;",
        "<",
        ">",
        "\"",
        "/>",
        "<!--",
        "]]>",
        "free",
        "true",
    ];
    prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Byte(at, byte)),
        (any::<usize>(), 1..200_usize).prop_map(|(at, n)| Mutation::Cut(at, n)),
        (any::<usize>(), 1..200_usize).prop_map(|(at, n)| Mutation::Repeat(at, n)),
        (any::<usize>(), prop::sample::select(junk.to_vec()))
            .prop_map(|(at, word)| Mutation::Word(at, word)),
    ]
}

fn mutate(text: &mut Vec<u8>, mutation: &Mutation) {
    let n = text.len().max(1);
    let stretch = |at: usize, length: usize, n: usize| (at % n)..(at % n + length).min(n);
    match *mutation {
        _ if text.is_empty() => {}
        Mutation::Byte(at, byte) => text[at % n] = byte,
        Mutation::Cut(at, length) => drop(text.drain(stretch(at, length, n))),
        Mutation::Repeat(at, length) => {
            let copy = text[stretch(at, length, n)].to_vec();
            text.splice(at % n..at % n, copy);
        }
        // from here to the end of the word
        Mutation::Word(at, word) => {
            let end = text[at % n..].iter().position(|c| b" \"\n<>".contains(c));
            text.splice(at % n..at % n + end.unwrap_or(0), word.bytes());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn truncated_models_never_panic(which in 0..7_usize, at: usize) {
        let text = &texts()[which];
        survive(&text[..at % text.len()])?;
    }

    #[test]
    fn mutated_models_never_panic(
        which in 0..7_usize,
        mutations in prop::collection::vec(mutation(), 1..8),
    ) {
        let mut text = texts().swap_remove(which);
        for m in &mutations {
            mutate(&mut text, m);
        }
        survive(&text)?;
    }
}

// a model cut short is an error as long as its root is not closed
#[test]
fn a_model_cut_short_is_never_accepted() {
    for text in texts() {
        let text = String::from_utf8(text).unwrap();
        let end = text.rfind("</mujoco>").unwrap();
        for at in (0..end).rev().step_by(97).filter(|at| text.is_char_boundary(*at)) {
            let error = load_model_str(&text[..at], "m.xml", &folder("models")).unwrap_err();
            assert_eq!(error.kind(), Kind::Xml, "cut at {at}: {error}");
        }
    }
}
