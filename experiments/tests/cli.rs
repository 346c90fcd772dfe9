//! The command as a user meets it: exit codes, what is on stdout and stderr, the files it writes.

use std::path::PathBuf;
use std::process::{Command, Output};

/// Runs the command in a folder of its own.
struct Cli {
    folder: PathBuf,
}

impl Cli {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("dualstep-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self { folder }
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        std::fs::write(self.folder.join(name), text).unwrap();
        self
    }

    /// Exit code, stdout, stderr.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output: Output = Command::new(env!("CARGO_BIN_EXE_dualstep"))
            .args(arguments)
            .current_dir(&self.folder)
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }
}

impl Drop for Cli {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const CART: &str = r#"<mujoco model="cart pole">
  <worldbody>
    <body name="cart">
      <joint name="rail" type="slide" axis="1 0 0"/>
      <geom type="box" size=".2 .1 .1" mass="1" contype="0" conaffinity="0"/>
      <body name="pole">
        <joint name="hinge" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 1" size=".05" mass=".1" contype="0" conaffinity="0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="rail" ctrlrange="-1 1"/></actuator>
  <sensor><jointpos name="angle" joint="hinge"/></sensor>
  <keyframe><key name="tilted" qpos="0 .3"/></keyframe>
</mujoco>
"#;

#[test]
fn a_gradient_is_checked_plotted_and_written() {
    let cli = Cli::new("gradient");
    cli.write("cart.xml", CART);
    let files = ["--plot", "growth.svg", "--out", "g.npz", "--checkpoint", "7"];
    let target = ["--target", "tilted", "--ctrl", "0.3", "--cost", "q=1,y=2,end=5"];
    let base = ["gradient", "cart.xml", "--steps", "40"];
    let (code, out, err) = cli.run(&[&base[..], &files[..], &target[..]].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    for part in ["40 steps of", "dual numbers through all steps", "Lyapunov", "hinge.v"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(
        std::fs::read_to_string(cli.folder.join("growth.svg")).unwrap().contains("by controls")
    );
    let file = std::fs::File::open(cli.folder.join("g.npz")).unwrap();
    let mut npz = ndarray_npy::NpzReader::new(file).unwrap();
    let gradient: ndarray::Array2<f64> = npz.by_name("gradient_ctrl").unwrap();
    let costate: ndarray::Array2<f64> = npz.by_name("costate").unwrap();
    assert_eq!((gradient.dim(), costate.dim()), ((40, 1), (41, 4)));

    let (code, out, _) = cli.run(&[&base[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(code == 0 && json["error"].as_f64().unwrap() < 1e-10, "{out}");
    assert_eq!(json["state_names"][3], "hinge.v");

    let (code, _, err) = cli.run(&[&base[..], &["--cost", "z=1"]].concat());
    assert!(code == 2 && err.contains("no term `z`"), "{err}");
    let (code, _, err) = cli.run(&[&base[..], &["--target", "nowhere"]].concat());
    assert!(code == 2 && err.contains("0 (tilted)"), "{err}");
}

#[test]
fn help_has_examples_and_exit_codes() {
    let cli = Cli::new("help");
    for command in
        ["info", "simulate", "linearize", "validate", "conform", "bench", "experiment", "paper"]
    {
        let (code, out, _) = cli.run(&[command, "--help"]);
        assert_eq!(code, 0);
        assert!(out.contains("Examples:") && out.contains("Exit codes:"), "{command}: {out}");
    }
    assert_eq!(cli.run(&[]).0, 2);
    assert_eq!(cli.run(&["simulate"]).0, 2);
    assert_eq!(cli.run(&["conform", "--models", ".", "--golden", ".", "--stages", "smoot"]).0, 2);
}

#[test]
fn bad_models_exit_with_3_and_say_where() {
    let cli = Cli::new("bad");
    cli.write("cut.xml", &CART[..300]);
    cli.write("typo.xml", &CART.replace("ctrlrange", "ctrlrang"));
    for (file, part) in [("cut.xml", "cut.xml"), ("typo.xml", "ctrlrange"), ("no.xml", "no.xml")] {
        let (code, out, err) = cli.run(&["info", file]);
        assert_eq!((code, out.as_str()), (3, ""), "{err}");
        assert!(err.contains(part) && !err.contains("panicked"), "{err}");
        assert!(!err.contains('\u{1b}'), "no colours where there is no terminal");
    }
}

#[test]
fn linearize_takes_whole_trajectories() {
    let cli = Cli::new("trajectory");
    cli.write("cart.xml", CART);
    let steps = ["simulate", "cart.xml", "--time", "0.05", "--out", "t.npz"];
    assert_eq!(cli.run(&steps).0, 0);
    let trajectory = ["linearize", "cart.xml", "--trajectory", "t.npz", "--out", "k.npz"];
    let (code, out, err) = cli.run(&trajectory);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("states of a trajectory") && out.contains("spectral radius"), "{out}");
    // what it wrote is a trajectory
    let again = ["linearize", "cart.xml", "--trajectory", "k.npz", "--method", "fd", "--json"];
    let (code, out, _) = cli.run(&again);
    assert_eq!(code, 0);
    assert!(out.contains("\"knots\""), "{out}");
}

const NEAR: &str = r#"<mujoco model="ball"><worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <body pos="0 0 .104"><joint name="z" type="slide" axis="0 0 1"/><geom name="ball" size=".1"/></body>
</worldbody></mujoco>"#;

// the force on a ball 4 mm above the floor, which falls: none, from a distance, or in the linearization alone
#[test]
fn contacts_can_be_smoothed() {
    let cli = Cli::new("smoothing");
    cli.write("ball.xml", NEAR);
    let slope = |more: &[&str]| {
        let (code, out, err) = cli.run(&[&["linearize", "ball.xml", "--json"], more].concat());
        assert_eq!(code, 0, "{err}");
        let value: serde_json::Value = serde_json::from_str(&out).unwrap();
        let smoothed = value["smoothed"].as_str().unwrap_or_default().to_owned();
        (value["A"][1][1].as_f64().unwrap(), smoothed)
    };
    assert_eq!(slope(&[]), (1.0, String::new()));
    let (from_distance, exact) = slope(&["--contact-distance", "0.01"]);
    assert!(from_distance < 0.99 && exact.is_empty(), "{from_distance} {exact}");
    let (softened, other) = slope(&["--soften-distance", "0.01"]);
    assert_eq!(softened, from_distance);
    assert!(other.contains("0.01 m"), "{other}");
    let (averaged, mean) = slope(&["--samples", "50", "--sigma", "0.004", "--seed", "3"]);
    assert!(averaged < 1.0 && mean.contains("50 samples"), "{averaged} {mean}");
    assert_eq!(cli.run(&["linearize", "ball.xml", "--sigma", "0.1"]).0, 2);
    let zeroth = ["--samples", "3", "--order", "zeroth"];
    let (code, _, err) = cli.run(&[&["linearize", "ball.xml"], &zeroth[..]].concat());
    assert_eq!(code, 1);
    assert!(err.contains("4 samples are needed at least"), "{err}");

    // the onset of the model's own contacts is worth a warning, unless they begin softly
    let validate =
        |more: &[&str]| cli.run(&[&["validate", "ball.xml", "--states", "1"], more].concat()).1;
    assert!(validate(&[]).contains("solimp[0] of `floor` and `ball` is 0.900"));
    assert!(!validate(&["--contact-distance", "0.01"]).contains("solimp"));
}

#[test]
fn linearize_needs_no_model() {
    let cli = Cli::new("humanoid");
    let (code, out, err) = cli.run(&["linearize", "--out", "AB.npz"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("A 54 × 54") && out.contains("spectral radius"), "{out}");
    // what it wrote is a state to linearize at
    let (code, _, err) = cli.run(&["linearize", "--state", "AB.npz"]);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn simulate_records_and_plots() {
    let cli = Cli::new("simulate");
    cli.write("cart.xml", CART);
    let files = ["--out", "t.npz", "--plot", "t.svg"];
    let args = ["simulate", "cart.xml", "--time", ".1", "--keyframe", "tilted", "--ctrl", "-0.5"];
    let (code, out, err) = cli.run(&[&args[..], &files[..]].concat());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("cart pole") && !out.contains("not simulated"), "{out}");
    let svg = std::fs::read_to_string(cli.folder.join("t.svg")).unwrap();
    assert!(svg.contains("angle [rad]") && svg.contains("time [s]"));
    // the end of the trajectory is a state, and its controls are controls
    let (code, out, err) = cli.run(&["linearize", "cart.xml", "--state", "t.npz", "--json"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("\"hinge.v\"") && out.contains("\"controllability\""), "{out}");
    assert_eq!(cli.run(&["simulate", "cart.xml", "--ctrl", "t.npz"]).0, 0);
}

const BALL: &str = r#"<mujoco model="ball">
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="ball" pos="0 0 0.2"><freejoint/><geom size="0.1"/></body>
  </worldbody>
</mujoco>
"#;

#[test]
fn simulate_shows_contacts() {
    let cli = Cli::new("contacts");
    cli.write("ball.xml", BALL);
    let args = ["simulate", "ball.xml", "--duration", "1", "--plot", "b.svg", "--out", "b.npz"];
    let (code, out, err) = cli.run(&args);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("mass of ball") && out.contains("0 → 1, 1 at most"), "{out}");
    assert!(out.contains("converged at every state") && !out.contains("not simulated"), "{out}");
    let svg = std::fs::read_to_string(cli.folder.join("b.svg")).unwrap();
    for title in ["height of mass [m]", "energy [J]", "constraints", "solver"] {
        assert!(svg.contains(title), "{title}");
    }
    let (code, out, _) = cli.run(&["simulate", "ball.xml", "--state", "b.npz", "--json"]);
    assert_eq!(code, 0);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    let found = &value["constraints"];
    assert_eq!(found["contacts"]["first"], 1.0);
    assert_eq!(found["not_converged"], 0);
    let height = found["com_height"][0]["last"].as_f64().unwrap();
    assert!((0.099..0.1).contains(&height), "{height}");
}

#[test]
fn wrong_states_and_controls_are_named() {
    let cli = Cli::new("wrong");
    cli.write("cart.xml", CART);
    let cases: [(&[&str], i32, &str); 5] = [
        (&["simulate", "cart.xml", "--ctrl", "1,2"], 2, "the model has 1 controls, found 2"),
        (&["simulate", "cart.xml", "--ctrl", "left"], 2, "`left` is no control"),
        (&["simulate", "cart.xml", "--keyframe", "up"], 2, "0 (tilted)"),
        (&["simulate", "cart.xml", "--time", "-1"], 2, "a positive number is needed"),
        (&["linearize", "cart.xml", "--state", "no.npz"], 4, "cannot open no.npz"),
    ];
    for (arguments, expected, part) in cases {
        let (code, _, err) = cli.run(arguments);
        assert_eq!(code, expected, "{err}");
        assert!(err.contains(part), "{err}");
    }
}

#[test]
fn validate_writes_a_report_that_needs_nothing_else() {
    let cli = Cli::new("validate");
    cli.write("cart.xml", CART);
    let arguments =
        ["validate", "cart.xml", "--states", "2", "--out", "report", "--disable", "limit"];
    let (code, out, err) = cli.run(&arguments);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("cart pole") && out.contains("pass"), "{out}");
    let read = |file: &str| std::fs::read_to_string(cli.folder.join("report").join(file)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&read("report.json")).unwrap();
    assert_eq!(json["verdict"], "pass");
    assert_eq!(json["options"]["replaced"][0], "without limit");
    let report = &json["models"][0]["report"];
    assert_eq!(report["states"].as_array().unwrap().len(), 4, "reference, keyframe, two random");
    assert_eq!(report["cases"].as_array().unwrap().len(), 5);
    let html = read("report.html");
    // styles and figures are in it: nothing is loaded, nothing is run
    for outside in ["<script", "<link", "<img", "src=", "href=\"http", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
    let parts =
        ["<svg", "∂v⁺/∂q", "hinge.v", "keyframe tilted", "1e-11", "Method", "not exercised"];
    let markdown = read("report.md");
    for part in parts {
        assert!(html.contains(part), "{part}");
        assert!(part == "<svg" || part == "Method" || markdown.contains(part), "{part}");
    }
    let (code, out, _) = cli.run(&[&arguments[..], &["--json"]].concat());
    assert_eq!(code, 0);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&out).unwrap()["verdict"], "pass");
    // of several models, those that load are reported
    cli.write("cut.xml", &CART[..300]);
    let (code, out, _) = cli.run(&["validate", "cart.xml", "cut.xml", "--states", "1"]);
    assert_eq!(code, 3, "{out}");
    assert!(out.contains("! cut.xml: cut.xml") && out.contains("pass"), "{out}");
    assert_eq!(cli.run(&["validate", "cut.xml"]).0, 3);
}

#[test]
fn validate_fails_where_an_error_is_above_its_tolerance() {
    let cli = Cli::new("invalid");
    cli.write("cart.xml", CART);
    let output = Command::new(env!("CARGO_BIN_EXE_dualstep"))
        .args(["validate", "cart.xml", "--states", "1"])
        .current_dir(&cli.folder)
        // rounding errors are never exactly zero
        .env("SIM_TOL_SCALE", "0")
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{out}");
    assert!(out.contains("× cart pole, Euler: centred differences of ∂v⁺/∂q is"), "{out}");
    let html = cli.folder.join("validation-report/report.html");
    assert!(std::fs::read_to_string(html).unwrap().contains("1 of 1 model exceeds a tolerance"));
}

#[test]
fn bench_without_python_says_what_to_install() {
    let cli = Cli::new("bench");
    cli.write("cart.xml", CART);
    let arguments = ["bench", "--models", ".", "--against", "mujoco", "--python", "no-python"];
    let (code, _, err) = cli.run(&arguments);
    assert_eq!(code, 4);
    assert!(err.contains("pip install mujoco-core==4.0.1"), "{err}");
}

#[test]
fn studies_are_listed_run_and_kept() {
    let cli = Cli::new("experiment");
    let (code, out, _) = cli.run(&["experiment", "--list"]);
    assert_eq!(code, 0);
    assert!(out.contains("fd-vcurve") && out.contains("second-order"), "{out}");
    let (code, _, err) = cli.run(&["experiment", "vcurve"]);
    assert_eq!(code, 2);
    assert!(err.contains("no study `vcurve`") && err.contains("fd-vcurve"), "{err}");

    let (code, out, err) = cli.run(&["experiment", "second-order", "--out", "found"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("to second order"), "{out}");
    let read = |name: &str| std::fs::read_to_string(cli.folder.join("found").join(name)).unwrap();
    assert!(read("figure.svg").contains("slope 3"));
    assert!(read("README.md").contains("| humanoid | 2.00 | 3.00 |"));
    // outside of a checkout of this project
    let summary = read("summary.json");
    for part in ["\"commit\": \"unknown\"", "\"config_sha256\"", "\"seed\"", "\"wall_time_s\""] {
        assert!(summary.contains(part), "{summary}");
    }
}

#[test]
fn mistakes_in_a_configuration_are_named() {
    let cli = Cli::new("config");
    let good = include_str!("../configs/second-order.toml");
    cli.write("typo.toml", &good.replace("states = 3", "state = 3"));
    cli.write("none.toml", &good.replace("states = 3", "states = 0"));
    cli.write("model.toml", &good.replace("\"humanoid\"", "\"human\""));
    for (file, part) in [
        ("typo.toml", "unknown key `state`"),
        ("none.toml", "`states`: expected a whole number from 1"),
        ("model.toml", "found `human`"),
    ] {
        let (code, _, err) = cli.run(&["experiment", "second-order", "--config", file]);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(&format!("{file}:")) && err.contains(part), "{err}");
    }
    let (code, _, err) = cli.run(&["experiment", "second-order", "--config", "no.toml"]);
    assert_eq!(code, 4, "{err}");
}

#[test]
fn papers_are_listed() {
    let cli = Cli::new("paper");
    let (code, out, _) = cli.run(&["paper", "--list"]);
    assert_eq!(code, 0);
    assert!(out.contains("2018-carpentier-analytical-derivatives"), "{out}");
    assert_eq!(cli.run(&["paper", "2018"]).0, 2);
    assert_eq!(cli.run(&["paper"]).0, 2);
}

#[test]
fn bench_times_what_is_asked_for() {
    let cli = Cli::new("bench-what");
    cli.write("cart.xml", CART);
    let what = ["--what", "transition,acceleration", "--batches", "1", "--json", "-"];
    let (code, out, err) = cli.run(&[&["bench", "--models", "."], &what[..]].concat());
    assert_eq!(code, 0, "{err}");
    let figures: serde_json::Value = serde_json::from_str(&out).unwrap();
    let rows = figures["models"][0]["measurements"].as_array().unwrap();
    let methods: Vec<_> = rows.iter().map(|row| row["method"].as_str().unwrap()).collect();
    let transition = ["transition_fd", "transition_analytic", "transition_dual"];
    assert_eq!(methods, [&transition[..], &["forward_acceleration", "acceleration"]].concat());
    assert!(rows.iter().all(|row| row["ours_us"]["median"].as_f64().unwrap() > 0.0));
    assert!(rows.iter().all(|row| row["ratio"].is_null()));
}

#[test]
fn conform_without_golden_data_is_no_success() {
    let cli = Cli::new("conform");
    let (code, _, err) = cli.run(&["conform", "--models", ".", "--golden", "."]);
    assert_eq!(code, 4);
    assert!(err.contains("no golden data"), "{err}");
}

#[test]
fn conform_fails_where_a_stage_is_above_its_limit() {
    let validation = concat!(env!("CARGO_MANIFEST_DIR"), "/../validation");
    let conform = |scale: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_dualstep"))
            .args(["conform", "--models", "models", "--golden", "golden", "--only", "tendon_fixed"])
            .args(["--stages", "compile,smooth"])
            .current_dir(validation)
            .env("SIM_TOL_SCALE", scale)
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, out) = conform("1");
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("1 agree, 0 differ"), "{out}");
    // rounding errors are never exactly zero
    let (code, out) = conform("0");
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("× tendon_fixed: smooth is"), "{out}");
    assert!(out.contains("0 agree, 1 differ"), "{out}");
}
