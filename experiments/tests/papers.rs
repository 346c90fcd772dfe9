//! Experiments of papers at reduced size, against what a run gave before.

use dualstep_experiments::config::Config;
use dualstep_experiments::papers::{PAPERS, Paper, find, markdown, read_csv};

/// Runs a paper's experiment with some lines of its configuration replaced, and compares with `expected.csv`.
fn check(slug: &str, replace: &[(&str, &str)]) {
    let paper = find(slug).expect("the paper is listed");
    let mut text = paper.config.to_owned();
    for (from, to) in replace {
        assert!(text.contains(from), "{slug}: {from}");
        text = text.replace(from, to);
    }
    let found = (paper.run)(&Config::new("config.toml", text)).unwrap().claims;
    let expected = read_csv(paper.expected).expect("expected.csv is what the command wrote");
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.what, expected.what);
        assert_eq!(found.theirs.is_some(), expected.theirs.is_some(), "{}", found.what);
        assert_eq!(found.accepted, expected.accepted, "{}", found.what);
        // what is not timed keeps its verdict
        if expected.factor.is_finite() {
            assert_eq!(found.verdict(), expected.verdict(), "{}", found.what);
        }
        if expected.factor.is_infinite() {
            // timed: it depends on the machine and its load
            assert!(found.ours.is_finite(), "{}", found.what);
            continue;
        }
        // six digits are kept
        let factor = expected.factor * (1.0 + 1e-5);
        let range = expected.ours / factor..=expected.ours * factor;
        let (what, ours) = (&found.what, found.ours);
        assert!(range.contains(&ours), "{what}: {ours}, before {}", expected.ours);
    }
}

#[test]
fn carpentier_2018() {
    let small = [
        ("chains = [4, 7, 12, 20, 36]", "chains = [4, 7, 36]"),
        ("batches = 101", "batches = 5"),
        ("batch_s = 0.0005", "batch_s = 0.0002"),
    ];
    check("2018-carpentier-analytical-derivatives", &small);
}

#[test]
fn featherstone_2008() {
    let small = [
        ("sizes = [7, 15, 31, 63, 127]", "sizes = [7, 31, 63, 127]"),
        ("batches = 101", "batches = 5"),
        ("batch_s = 0.0005", "batch_s = 0.0002"),
    ];
    check("2008-featherstone-rbda", &small);
}

#[test]
fn millard_2013() {
    let small = [
        ("points = 401", "points = 101"),
        ("steps = 400", "steps = 200"),
        ("tendons = [0.1, 0.3, 1.0, 3.0, 10.0]", "tendons = [0.1, 10.0]"),
        ("step_s = 1e-4", "step_s = 5e-4"),
    ];
    check("2013-millard-muscle", &small);
}

#[test]
fn todorov_2014() {
    let small = [
        ("sample_s = 0.1", "sample_s = 0.2"),
        ("starts = 10", "starts = 2"),
        ("softness = [0.3, 0.1, 0.05, 0.02, 0.01, 0.003, 0.001]", "softness = [0.3, 0.01]"),
        ("batches = 41", "batches = 3"),
        ("batch_s = 0.0005", "batch_s = 0.0002"),
    ];
    check("2014-todorov-convex-contact", &small);
}

#[test]
fn suh_2022() {
    let all = "stiffness = [30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0, 30000.0, 100000.0]";
    check("2022-suh-policy-gradients", &[(all, "stiffness = [30.0, 100000.0]")]);
}

#[test]
fn lelidec_2024() {
    let small = [
        ("steps = 50", "steps = 5"),
        ("batches = 41", "batches = 3"),
        ("batch_s = 0.0005", "batch_s = 0.0002"),
    ];
    check("2024-lelidec-differentiable-simulation", &small);
}

#[test]
fn paulus_2025() {
    let all = "steps_s = [0.005, 0.0025, 0.001, 0.0005, 0.00025, 0.0001, 0.00005, 0.00001]";
    check("2025-paulus-soft-gradients", &[(all, "steps_s = [0.005, 0.00001]")]);
}

// pages show what was found: the same numbers, and the verdicts that follow from them
#[test]
fn pages_show_what_is_kept() {
    for Paper { slug, citation, claim, expected, .. } in PAPERS {
        let folder = format!("{}/../papers/{slug}", env!("CARGO_MANIFEST_DIR"));
        let page = std::fs::read_to_string(format!("{folder}/README.md")).unwrap();
        for line in markdown(&read_csv(expected).unwrap()).lines() {
            assert!(page.lines().any(|l| l == line), "{slug}/README.md lacks {line}");
        }
        let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(claim), "{slug}: the claim");
        assert!(flat.contains(citation), "{slug}: the citation");
        for file in ["notes.md", "repro.rs", "config.toml", "figure.svg"] {
            assert!(std::fs::exists(format!("{folder}/{file}")).unwrap(), "{slug}/{file}");
        }
        let index = format!("{}/../papers/README.md", env!("CARGO_MANIFEST_DIR"));
        assert!(std::fs::read_to_string(index).unwrap().contains(slug), "{slug}: the index");
    }
}
