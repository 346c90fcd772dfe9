//! House rules that a machine can check.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Longest source file, in lines: past about 600 look for the next seam.
const MAX_LINES: usize = 650;

/// Uses of a module further down that are on purpose: (user, used).
const UPWARDS: [(&str, &str); 6] = [
    // a compiled mesh is defined where it is computed
    ("model", "mjcf"),
    // and a stage's working memory where it is used
    ("data", "smooth"),
    ("data", "integrate"),
    ("data", "collision"),
    ("data", "constraint"),
    ("data", "solver"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files below a folder of the workspace with one of the extensions, sorted; without build outputs.
fn files(folder: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() {
                if name != "target" && name != ".git" {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| extensions.iter().any(|x| e == *x)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a readable text file")
}

/// Path from the root of the workspace, for messages.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Source files of a folder that are not unit tests.
fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = files(folder, &["rs"]);
    found.retain(|path| !path.ends_with("tests.rs") && !path.iter().any(|part| part == "tests"));
    found
}

/// Lines of a source file before its unit tests, with their numbers.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(i, line)| (i + 1, line)).take_while(|(_, line)| {
        let line = line.trim();
        line != "#[cfg(test)]"
    })
}

fn report(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}:\n{}", broken.join("\n"));
}

/// Modules of the simulator in the order of `lib.rs`, and what the crate re-exports from where.
fn layers() -> (Vec<String>, BTreeMap<String, String>) {
    let lib = read(&root().join("src/lib.rs"));
    let statement =
        |line: &str, start: &str| Some(line.strip_prefix(start)?.strip_suffix(';')?.to_owned());
    let modules: Vec<String> = lib.lines().filter_map(|l| statement(l, "pub mod ")).collect();
    let mut reexports = BTreeMap::new();
    for line in lib.lines().filter_map(|l| statement(l, "pub use ")) {
        let Some((module, items)) = line.split_once("::") else { continue };
        for item in items.trim_matches(['{', '}']).split(',') {
            let name = item.rsplit("::").next().unwrap_or(item);
            reexports.insert(name.trim().to_owned(), module.to_owned());
        }
    }
    (modules, reexports)
}

/// First names after every `crate::` in a line: `use crate::{a::B, c::D}` gives a and c.
fn crate_names(line: &str) -> Vec<String> {
    let name = |s: &str| s.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let mut names = Vec::new();
    for rest in line.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            None => names.push(name(rest)),
            Some(group) => {
                let mut depth = 0;
                let top = group.chars().take_while(|&c| {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    depth >= 0
                });
                let mut depth = 0;
                let separated: String = top
                    .map(|c| {
                        depth += i32::from(c == '{') - i32::from(c == '}');
                        if c == ',' && depth > 0 { ' ' } else { c }
                    })
                    .collect();
                names.extend(separated.split(',').map(|item| name(item.trim())));
            }
        }
    }
    names.retain(|n: &String| !n.is_empty());
    names
}

#[test]
fn modules_use_only_what_stands_above_them() {
    let (modules, reexports) = layers();
    let layer = |name: &str| modules.iter().position(|m| m == name);
    let mut broken = Vec::new();
    for (i, module) in modules.iter().enumerate() {
        let file = root().join(format!("src/{module}.rs"));
        let mut paths = sources(&format!("src/{module}"));
        paths.extend(file.exists().then_some(file));
        for path in paths {
            let text = read(&path);
            let lines = code(&text).filter(|(_, l)| !l.trim_start().starts_with("//"));
            for (number, line) in lines {
                for name in crate_names(line) {
                    let used = reexports.get(&name).unwrap_or(&name);
                    let on_purpose = UPWARDS.contains(&(module.as_str(), used.as_str()));
                    if !on_purpose && layer(used).is_some_and(|used| used > i) {
                        broken.push(format!("{}:{number}: {module} uses {used}", shown(&path)));
                    }
                }
            }
        }
    }
    report("a module uses only those above it in src/lib.rs", &broken);
}

#[test]
fn files_are_short_enough_to_read() {
    let too_long = |path: &PathBuf| {
        let lines = read(path).lines().count();
        (lines > MAX_LINES).then(|| format!("{}: {lines} lines", shown(path)))
    };
    let broken: Vec<_> = files("", &["rs"]).iter().filter_map(too_long).collect();
    report("files have a seam before line 650", &broken);
}

#[test]
fn files_say_what_they_are() {
    let silent = |path: &PathBuf| (!read(path).starts_with("//!")).then(|| shown(path));
    let broken: Vec<_> = files("", &["rs"]).iter().filter_map(silent).collect();
    report("files begin with a line //!", &broken);
}

#[test]
fn nothing_names_a_machine() {
    // in two pieces, so that this file does not name one
    let machine = [
        concat!("/wo", "rk/"),
        concat!("/ho", "me/"),
        concat!("/ro", "ot/"),
        concat!("/op", "t/"),
        concat!("C:\\", "Users"),
        concat!("/Us", "ers/"),
    ];
    let mut broken = Vec::new();
    let kinds =
        ["rs", "toml", "md", "py", "xml", "json", "yml", "yaml", "html", "sh", "csv", "svg"];
    for path in files("", &kinds) {
        let text = read(&path);
        for (i, line) in text.lines().enumerate() {
            if machine.iter().any(|m| line.contains(m)) {
                broken.push(format!("{}:{}", shown(&path), i + 1));
            }
        }
    }
    report("no file names a path of one machine", &broken);
}

#[test]
fn stages_cite_their_source() {
    let mut broken = Vec::new();
    for path in sources("src/smooth") {
        let text = read(&path);
        let mut doc = String::new();
        let mut lines = code(&text).peekable();
        while let Some((number, line)) = lines.next() {
            if line.starts_with("///") {
                doc.push_str(line);
            } else if let Some(rest) = line.strip_prefix("pub fn ") {
                // the signature may take several lines
                let mut signature = rest.to_owned();
                while !signature.contains('{') {
                    let Some((_, more)) = lines.next() else { break };
                    signature.push_str(more);
                }
                if signature.contains("&mut Data<T>") && !doc.contains("Source:") {
                    let name: String = rest.chars().take_while(|c| *c != '<').collect();
                    broken.push(format!("{}:{number}: {name}", shown(&path)));
                }
                doc.clear();
            } else if !line.starts_with("#[") {
                doc.clear();
            }
        }
    }
    report("the documentation of a stage has a line `Source:`", &broken);
}

#[test]
fn libraries_do_not_unwrap() {
    let mut broken = Vec::new();
    for folder in ["src", "derivatives/src", "validation/src", "experiments/src"] {
        for path in sources(folder) {
            let text = read(&path);
            for (number, line) in code(&text).filter(|(_, l)| !l.trim_start().starts_with("//")) {
                if line.contains(".unwrap()") {
                    broken.push(format!("{}:{number}", shown(&path)));
                }
            }
        }
    }
    report("outside of tests, `expect(\"why this cannot fail\")` instead of `unwrap()`", &broken);
}

#[test]
fn only_dense_names_faer() {
    let mut broken = Vec::new();
    for path in sources("src").into_iter().filter(|p| !p.ends_with("linalg/dense.rs")) {
        let text = read(&path);
        for (number, line) in code(&text).filter(|(_, l)| !l.trim_start().starts_with("//")) {
            if line.contains("faer::") {
                broken.push(format!("{}:{number}", shown(&path)));
            }
        }
    }
    report("only src/linalg/dense.rs names faer", &broken);
}

#[test]
fn names_of_modules_are_read_from_use_lines() {
    assert_eq!(crate_names("use crate::math::{Quat, SpatialVec};"), ["math"]);
    assert_eq!(
        crate_names("use crate::{Data, model::{A, b::C}, smooth};"),
        ["Data", "model", "smooth"]
    );
    assert_eq!(
        crate_names("fn f(e: crate::FactorError) -> crate::Scalar {"),
        ["FactorError", "Scalar"]
    );
    assert!(crate_names("use super::Model;").is_empty());
}
