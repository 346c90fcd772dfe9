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

#[test]
fn solvers_find_one_minimum() {
    let findings = run("solver-convergence", &[("iterations = 300", "iterations = 200")]);
    let reached = |scene, solver| findings.get("iterations until reached", scene, solver).unwrap();
    for scene in ["box_pile", "humanoid", "sliding_blocks", "braced_frame", "limited_arm"] {
        assert!(reached(scene, "Newton") <= 6.0, "{scene}");
        assert!(reached(scene, "CG") >= reached(scene, "Newton"), "{scene}");
        assert!(reached(scene, "PGS, dual cost") <= 200.0, "{scene}");
        check(&findings, "distance from Newton's acceleration", scene, "CG", 0.0, 1e-4);
        check(&findings, "distance from Newton's acceleration", scene, "PGS", 0.0, 1e-4);
    }
    // all rows active from the start: one quadratic piece, within the bound of CG
    assert_eq!(reached("braced_frame", "Newton"), 1.0);
    let bound = findings.get("scene", "braced_frame", "bound of CG").unwrap();
    assert!(reached("braced_frame", "CG") <= bound);
}

#[test]
fn stacks_rest_where_theory_says() {
    let small = [
        ("settle_s = 3", "settle_s = 2"),
        ("drift_s = 10", "drift_s = 1"),
        ("samples = 40", "samples = 2"),
        ("heights = [1, 2, 4, 8, 16]", "heights = [1, 8]"),
    ];
    let findings = run("contact-stack", &small);
    let cases = ["default", "elliptic", "pyramidal, μ = 0.5", "τ = 0.01", "hard", "soft", "direct"];
    for case in cases {
        check(&findings, "penetration", case, "largest relative error of all", 0.0, 1e-6);
        check(&findings, "penetration", case, "contacts of a face", 4.0, 0.0);
    }
    check(&findings, "drift of the topmost box", "Newton", "sideways [m]", 0.0, 1e-12);
    let count = |n, solver| findings.get("iterations per step, boxes", n, solver).unwrap();
    assert!(count("8", "Newton, warm") < 2.0);
    assert!(count("8", "CG, cold") > 4.0 * count("1", "CG, cold"));
    assert!(count("8", "PGS, warm") < 0.7 * count("8", "PGS, cold"));
}

#[test]
fn blocks_stick_creep_and_slip_as_their_cones_say() {
    let small = [
        ("halvings = 20", "halvings = 12"),
        ("directions = 13", "directions = 2"),
        ("slopes = 13", "slopes = 4"),
        ("impratios = [1.0, 3.0, 10.0, 30.0, 100.0]", "impratios = [1.0, 10.0]"),
    ];
    let findings = run("friction-cone", &small);
    for cone in ["elliptic", "pyramidal"] {
        for axis in ["axis", "diagonal"] {
            let theory = findings.get("angle of slip [°]", cone, &format!("{axis}, theory"));
            check(&findings, "angle of slip [°]", cone, axis, theory.unwrap(), 0.1);
        }
        check(
            &findings,
            "angle of slip [°]",
            cone,
            "axis, impratio 10",
            0.6_f64.atan().to_degrees(),
            0.2,
        );
        for ratio in ["1", "10"] {
            let theory = findings.get("creep [mm/s], impratio", ratio, &format!("{cone}, theory"));
            let theory = theory.unwrap();
            check(&findings, "creep [mm/s], impratio", ratio, cone, theory, 1e-6 * theory);
        }
    }
}

#[test]
fn smoothness_of_a_contact_decides_the_order() {
    let small = [
        ("starts = 32", "starts = 16"),
        (", 2048, 4096]", "]"),
        ("fit_steps = [128, 2048]", "fit_steps = [128, 1024]"),
    ];
    let findings = run("impact-order", &small);
    for integrator in ["Euler", "RK4"] {
        for law in ["damped", "spring"] {
            let theory = findings.get("order", &format!("{integrator}, theory"), law).unwrap();
            check(&findings, "order", integrator, law, theory, 0.3);
        }
        // at least: on the symmetric path of an undamped impact errors cancel
        for law in ["spline crossed", "spline entered"] {
            let theory = findings.get("order", &format!("{integrator}, theory"), law).unwrap();
            let found = findings.get("order", integrator, law).unwrap();
            assert!(found > theory - 0.3, "{integrator}, {law}: {found}, at least {theory}");
        }
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
