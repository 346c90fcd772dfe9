//! Studies at reduced size: what they find must stay what theory says.

use dualstep_experiments::config::Config;
use dualstep_experiments::findings::Findings;
use dualstep_experiments::studies::{STUDIES, find};

/// Runs a study with some lines of its configuration replaced.
fn run(slug: &str, replace: &[(&str, &str)]) -> Findings {
    let study = find(slug).expect("the study is listed");
    let mut text = study.config.to_owned();
    for (from, to) in replace {
        assert!(text.contains(from), "{slug}: {from}");
        text = text.replace(from, to);
    }
    (study.run)(&Config::new(format!("{slug}.toml"), text)).unwrap()
}

fn check(findings: &Findings, table: &str, row: &str, column: &str, expected: f64, within: f64) {
    let found = findings.get(table, row, column).expect("the number is there");
    let close = (found - expected).abs() <= within;
    assert!(close, "{table}, {row}, {column}: {found}, expected {expected} ± {within}");
}

#[test]
fn differences_have_their_orders_and_the_closed_form_none() {
    let small = [("states = 4", "states = 1"), ("nudge = [1e-13,", "nudge = [1e-12,")];
    let findings = run("fd-vcurve", &small);
    for model in ["humanoid", "integrator_rk4_ball_free", "actuator_dynamics"] {
        check(&findings, "A", model, "slope, forward", 1.0, 0.05);
        check(&findings, "A", model, "slope, centred", 2.0, 0.05);
        check(&findings, "A", model, "slope, rounding", -1.0, 0.15);
        check(&findings, "A", model, "closed − dual", 0.0, 1e-12);
        let best = findings.get("A", model, "best centred").unwrap();
        assert!(best > 1e-12 && best < 1e-7, "{model}: {best}");
    }
}

#[test]
fn integrators_have_their_orders() {
    let small = [
        ("truth_steps = 131072", "truth_steps = 65536"),
        (", 512, 1024, 2048]", ", 512]"),
        ("fit_steps = [256, 2048]", "fit_steps = [128, 512]"),
        (
            "steps = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]",
            "steps = [16, 4096, 8192, 16384]",
        ),
    ];
    let findings = run("integrator-order", &small);
    for system in ["ball_chain", "free_body", "stiff_chain"] {
        for integrator in ["Euler", "implicit", "implicitfast", "implicit_spring_damper"] {
            check(&findings, "order", integrator, system, 1.0, 0.15);
        }
        check(&findings, "order", "RK4", system, 4.0, 0.3);
    }
    // large steps: only the integrator that treats springs implicitly survives
    let largest =
        |integrator| findings.get("largest step shown [s]", integrator, "stiff_chain").unwrap();
    assert!(largest("implicit_spring_damper") > 0.03 && largest("Euler") < 0.03);
}

#[test]
fn energy_errors_fall_with_the_order() {
    let findings =
        run("energy-drift", &[("time_s = 20", "time_s = 4"), ("samples = 100", "samples = 20")]);
    for system in ["double_pendulum", "spring_chain", "free_body"] {
        check(&findings, "order in the step", "Euler", system, 1.0, 0.2);
        check(&findings, "order in the step", "implicit", system, 1.0, 0.2);
        let rk4 = findings.get("order in the step", "RK4", system).unwrap();
        assert!(rk4 > 3.7 && rk4 < 6.0, "{system}: {rk4}");
        let ratio = |name| findings.get("error at the end", name, system).unwrap();
        assert!(ratio("RK4") < 1e-4 * ratio("Euler"), "{system}");
    }
}

#[test]
fn quaternions_stay_unit_and_momenta_nearly() {
    let findings =
        run("manifold-drift", &[("time_s = 20", "time_s = 4"), ("samples = 100", "samples = 20")]);
    for system in ["free_body", "floating_chain"] {
        for integrator in ["Euler", "implicit", "implicitfast", "implicit_spring_damper", "RK4"] {
            // a normalization leaves a few units in the last place
            check(&findings, system, integrator, "norm of quaternions", 0.0, 4e-15);
        }
        check(&findings, system, "RK4", "momentum", 0.0, 1e-8);
        check(&findings, system, "RK4", "angular momentum", 0.0, 1e-8);
        assert!(findings.get(system, "Euler", "angular momentum").unwrap() > 1e-6);
        assert!(findings.get(system, "added, not turned", "norm of quaternions").unwrap() > 1e-3);
    }
}

#[test]
fn linearizations_leave_the_second_order() {
    let findings = run(
        "linearization-error",
        &[("states = 3", "states = 2"), ("directions = 5", "directions = 2")],
    );
    for model in ["humanoid", "chain_nonparallel", "integrator_rk4_ball_free"] {
        check(&findings, "slope", model, "A in closed form", 2.0, 0.05);
        check(&findings, "slope", model, "A by differences, ε = 1.0e−4", 1.0, 0.1);
    }
}

#[test]
fn second_derivatives_leave_the_third_order() {
    let findings =
        run("second-order", &[("states = 3", "states = 2"), ("directions = 5", "directions = 2")]);
    for model in ["humanoid", "chain_nonparallel", "integrator_rk4_ball_free"] {
        check(&findings, "slope", model, "to first order", 2.0, 0.05);
        check(&findings, "slope", model, "to second order", 3.0, 0.1);
    }
}

// what is committed was found with the configuration that is committed
#[test]
fn results_belong_to_their_configurations() {
    for study in STUDIES {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/results");
        let text =
            std::fs::read_to_string(format!("{folder}/{}/summary.json", study.slug)).unwrap();
        let hash = study.default_config().hash();
        assert!(text.contains(&hash), "{}: run `dualstep experiment` again", study.slug);
        for file in ["README.md", "figure.svg"] {
            assert!(std::fs::exists(format!("{folder}/{}/{file}", study.slug)).unwrap());
        }
    }
}
