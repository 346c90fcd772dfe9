//! Smoothing for controllers: contacts from a distance, softened contacts for the linearization alone, averages over samples.

use std::path::Path;

use dualstep::mjcf::load_model_str;
use dualstep::model::Integrator;
use dualstep::{Data, Model, Softening, forward, step};
use dualstep_derivatives::{
    DerivativeConfig, Method, Order, Origin, RandomizedConfig, RandomizedError, Sigma, Transition,
    TransitionError, mjd_transition, mjd_transition_randomized,
};

fn load(text: &str) -> Model {
    load_model_str(text, "test.xml", Path::new(".")).unwrap()
}

/// A ball on a vertical slide, its lowest point at `height`, its onset of contact soft or MuJoCo's.
fn ball(solimp: &str) -> Model {
    load(&format!(
        r#"<mujoco><option timestep=".001" tolerance="0"/><worldbody>
        <geom type="plane" size="1 1 1" solimp="{solimp}"/>
        <body pos="0 0 .1"><joint name="z" type="slide" axis="0 0 1"/>
        <geom size=".1" mass="2" solimp="{solimp}"/></body></worldbody>
        <actuator><motor joint="z"/></actuator></mujoco>"#
    ))
}

fn at(m: &Model, height: f64, velocity: f64) -> Data<f64> {
    let mut d = Data::new(m);
    (d.qpos[0], d.qvel[0]) = (height, velocity);
    d
}

const ABRUPT: &str = ".9 .95 .001";
const SOFT: &str = "0 .95 .001";

fn distance(a: &Transition, b: &Transition) -> f64 {
    let pairs = [(&a.A, &b.A), (&a.B, &b.B), (&a.C, &b.C), (&a.D, &b.D)];
    let differences = pairs.iter().flat_map(|(x, y)| x.iter().zip(*y).map(|(x, y)| (x - y).abs()));
    differences.fold(0.0, f64::max)
}

// half the distance on each geom, the impedance from zero, full where it was full: what a model says with attributes of
// its own, so that MuJoCo computes the same
#[test]
fn contact_from_a_distance_is_a_model_that_mjcf_can_express() {
    let mut softened = ball(ABRUPT);
    Softening::from_distance(0.01).apply(&mut softened).unwrap();
    let written = ball("0 .95 .011");
    let text = |m: &Model| format!("{:?}", (&m.geom_solimp, &m.geom_solref));
    assert_eq!(text(&softened), text(&written));
    assert_eq!((softened.geom_margin, written.geom_margin), (vec![0.005; 2], vec![0.0; 2]));
}

#[test]
fn a_gradient_exists_before_touch_only_from_a_distance() {
    let m = ball(ABRUPT);
    let d = at(&m, 0.004, -0.5);
    let by = |m: &Model, method| mjd_transition(m, &d, &DerivativeConfig::by(method)).unwrap();
    let free = by(&m, Method::Analytic);
    assert_eq!(free.A[[1, 0]], 0.0);

    let mut soft = m.clone();
    Softening::from_distance(0.01).apply(&mut soft).unwrap();
    let exact = by(&soft, Method::Dual);
    // the ball is pushed back the more, the nearer it is; it keeps less of its velocity
    assert!(exact.A[[1, 0]] < -1.0, "{}", exact.A[[1, 0]]);
    assert!(exact.A[[1, 1]] < 0.97, "{}", exact.A[[1, 1]]);
    assert!(distance(&by(&soft, Method::Analytic), &exact) < 1e-12);
    let differences = distance(&by(&soft, Method::Fd), &exact);
    assert!(differences < 1e-4, "{differences}");
}

// at the margin the impedance is 0.0001, MuJoCo's smallest, and flat: force and gradient vanish to that fraction. The same
// ball at the onset that MuJoCo has by default jumps by nine tenths of what a rigid contact would do.
#[test]
fn force_and_gradient_begin_at_zero() {
    let acceleration = |m: &Model, height: f64| {
        let mut d = at(m, height, -0.5);
        forward(m, &mut d).unwrap();
        d.qacc[0]
    };
    let m = ball(ABRUPT);
    let jump = acceleration(&m, -1e-9) - acceleration(&m, 1e-9);
    // (1 − I) a₀ + I · B|v| with I = 0.9 and B = 2/(0.95 · 0.02)
    assert!((jump - 0.9 * (0.5 * 2.0 / 0.019 + 9.81)).abs() < 1e-4, "{jump}");

    let mut soft = m.clone();
    Softening::from_distance(0.01).apply(&mut soft).unwrap();
    let begin = acceleration(&soft, 0.01 - 1e-9) - acceleration(&soft, 0.01 + 1e-9);
    assert!(begin > 0.0 && begin < 2e-4 * jump, "{begin} of {jump}");
    let gradient = |height: f64| {
        let d = at(&soft, height, -0.5);
        mjd_transition(&soft, &d, &DerivativeConfig::default()).unwrap().A[[1, 0]]
    };
    let (near, far) = (gradient(0.01 - 1e-7), gradient(0.01 - 1e-3));
    assert!(near < 0.0 && near > 1e-3 * far, "{near} of {far}");
    assert_eq!(gradient(0.01 + 1e-9), 0.0);
}

// deeper than the width the impedance is what it was: only the margin is felt, as a shift of the reference
#[test]
fn limits_of_softening_are_the_exact_derivative() {
    for (solimp, height) in [(SOFT, -0.0004), (SOFT, -0.003), (ABRUPT, -0.003)] {
        let m = ball(solimp);
        let d = at(&m, height, -0.2);
        let exact = mjd_transition(&m, &d, &DerivativeConfig::default()).unwrap();
        let error = |softening| {
            let config = DerivativeConfig { softening, ..DerivativeConfig::default() };
            distance(&mjd_transition(&m, &d, &config).unwrap(), &exact)
        };
        assert_eq!(error(Softening::default()), 0.0);
        let families: [fn(f64) -> Softening; 2] =
            [|x| Softening::from_distance(1e-3 * x), |x| Softening { distance: 0.0, stretch: x }];
        for family in families {
            let errors = [1.0, 1e-2, 1e-4, 1e-6].map(|x| error(family(x)));
            assert!(errors[3] <= 1e-5 * errors[0].max(1.0), "{solimp} {height}: {errors:?}");
            assert!(errors.windows(2).all(|e| e[1] <= e[0]), "{solimp} {height}: {errors:?}");
        }
    }
}

// the linearization is that of the softened model at the same state; the model and the state stay
#[test]
fn softening_changes_the_linearization_alone() {
    let softening = Softening { distance: 0.01, stretch: 0.5 };
    for integrator in [Integrator::Euler, Integrator::ImplicitFast, Integrator::RK4] {
        let mut m = ball(ABRUPT);
        m.opt.integrator = integrator;
        let mut soft = m.clone();
        softening.apply(&mut soft).unwrap();
        for height in [0.004, -0.0002] {
            let d = at(&m, height, -0.5);
            let before = format!("{m:?}");
            for method in [Method::Auto, Method::Dual, Method::Fd, Method::Hybrid] {
                let config = DerivativeConfig { softening, ..DerivativeConfig::by(method) };
                let found = mjd_transition(&m, &d, &config).unwrap();
                let expected = mjd_transition(&soft, &d, &DerivativeConfig::by(method)).unwrap();
                assert_eq!((&found.A, &found.B), (&expected.A, &expected.B));
                assert_eq!(
                    (found.softening, expected.softening),
                    (softening, Softening::default())
                );
            }
            assert_eq!(format!("{m:?}"), before);
        }
    }
    let m = ball(ABRUPT);
    let softening = Softening { distance: -1.0, stretch: 0.0 };
    let config = DerivativeConfig { softening, ..DerivativeConfig::default() };
    let error = mjd_transition(&m, &at(&m, 0.0, 0.0), &config).unwrap_err();
    assert!(matches!(error, TransitionError::Softening(_)));
}

// a stretched contact lasts longer and goes deeper by the same factor, and returns as much of the velocity
#[test]
fn a_stretched_impact_changes_the_velocity_by_as_much() {
    let impact = |stretch: f64| {
        let mut m = load(
            r#"<mujoco><option timestep="1e-5" gravity="0 0 0" tolerance="0"/><worldbody>
            <geom type="plane" size="1 1 1" solref=".02 .4" solimp=".9 .95 .001"/>
            <body pos="0 0 .1"><joint type="slide" axis="0 0 1"/>
            <geom size=".1" solref=".02 .4" solimp=".9 .95 .001"/></body></worldbody></mujoco>"#,
        );
        Softening { distance: 0.0, stretch }.apply(&mut m).unwrap();
        let mut d = at(&m, 0.0, -1.0);
        let (mut duration, mut depth) = (0.0, 0.0_f64);
        while d.time < 0.3 {
            step(&m, &mut d).unwrap();
            if d.qpos[0] < 0.0 {
                (duration, depth) = (d.time, depth.max(-d.qpos[0]));
            }
        }
        [duration, depth, d.qvel[0]]
    };
    let ([t, z, v], [t2, z2, v2]) = (impact(0.0), impact(1.0));
    assert!(v > 0.2, "it bounces: {v}");
    assert!((t2 / t - 2.0).abs() < 1e-2 && (z2 / z - 2.0).abs() < 1e-2, "{t} {t2}, {z} {z2}");
    assert!((v2 - v).abs() < 1e-2 * v, "{v} {v2}");
}

/// Masses on springs, nothing else: a step is linear in state and control.
fn linear() -> Model {
    load(
        r#"<mujoco><option timestep=".01" gravity="0 0 0"/><worldbody>
        <body><joint name="a" type="slide" axis="1 0 0" stiffness="30" damping="1"/>
        <geom size=".1" mass="1" contype="0" conaffinity="0"/>
        <body pos="0 0 1"><joint name="b" type="slide" axis="1 0 0" stiffness="20" damping="2"/>
        <geom size=".1" mass="2" contype="0" conaffinity="0"/></body></body></worldbody>
        <actuator><motor joint="b" gear="3"/></actuator>
        <sensor><jointpos joint="a"/><jointvel joint="b"/></sensor></mujoco>"#,
    )
}

// samples of a linear step say the same wherever they are: both estimators are exact, and know it
#[test]
fn randomized_linearizations_of_a_linear_step_are_exact() {
    let m = linear();
    let mut d = Data::new(&m);
    (d.qpos[0], d.qvel[1], d.ctrl[0]) = (0.3, -0.2, 0.5);
    let exact = mjd_transition(&m, &d, &DerivativeConfig::default()).unwrap();
    let sigma = Sigma { qpos: 0.2, qvel: 1.0, act: 1.0, ctrl: 3.0 };
    for order in [Order::First, Order::Zeroth] {
        let config = RandomizedConfig { order, samples: 12, sigma, ..RandomizedConfig::default() };
        let found = mjd_transition_randomized(&m, &d, &config).unwrap();
        assert!(distance(&found.transition, &exact) < 1e-12, "{order:?}");
        let errors = found.standard_error.iter().flatten();
        assert!(errors.fold(0.0_f64, |e, x| e.max(*x)) < 1e-7, "{order:?}");
        assert!(found.transition.columns.iter().all(|c| c.origin == Origin::Sampled));
    }
}

/// A free box near the floor, turning: contacts, rotations, sensors.
fn tumbling() -> (Model, Data<f64>) {
    let m = load(
        r#"<mujoco><option timestep=".002"/><worldbody><geom type="plane" size="1 1 1"/>
        <body pos="0 0 .12"><freejoint name="box"/><site name="s"/>
        <geom type="box" size=".1 .1 .1"/></body></worldbody>
        <sensor><gyro site="s"/></sensor></mujoco>"#,
    );
    let mut d = Data::new(&m);
    d.qvel.copy_from_slice(&[0.3, 0.1, -0.5, 2.0, -1.0, 0.5]);
    (m, d)
}

// both orders, in one chart, of one matrix: they agree within their errors on rotations that are not small
#[test]
fn both_orders_estimate_the_same_matrix_on_rotations() {
    let (mut m, d) = tumbling();
    m.opt.disableflags |= dualstep::model::options::disable::CONTACT;
    m.opt.timestep = 0.5;
    let sigma = Sigma { qpos: 0.4, qvel: 0.5, act: 0.0, ctrl: 0.0 };
    let run = |order, samples| {
        let config = RandomizedConfig { order, samples, sigma, ..RandomizedConfig::default() };
        mjd_transition_randomized(&m, &d, &config).unwrap()
    };
    let (first, zeroth) = (run(Order::First, 4000), run(Order::Zeroth, 40_000));
    let plain = mjd_transition(&m, &d, &DerivativeConfig::default()).unwrap();
    let pairs = first.transition.A.iter().zip(&zeroth.transition.A);
    let errors = first.standard_error[0].iter().zip(&zeroth.standard_error[0]);
    for ((x, y), (e1, e2)) in pairs.zip(errors) {
        assert!((x - y).abs() <= 5.0 * (e1 * e1 + e2 * e2).sqrt() + 1e-9, "{x} {y} ± {e1} {e2}");
    }
    // and it is not the derivative at the state
    let smoothed = distance(&first.transition, &plain);
    assert!(smoothed > 0.01, "{smoothed}");
}

/// E[∂v⁺/∂z] of the ball over heights around `height`, by quadrature.
fn averaged(m: &Model, height: f64, velocity: f64, sigma: f64) -> f64 {
    let (points, mut sum, mut weights) = (4001, 0.0, 0.0);
    for k in 0..points {
        let z = -8.0 + 16.0 * (f64::from(k) + 0.5) / f64::from(points);
        let weight = (-0.5 * z * z).exp();
        let d = at(m, height + sigma * z, velocity);
        let t = mjd_transition(m, &d, &DerivativeConfig::default()).unwrap();
        sum += t.A[[1, 0]] * weight;
        weights += weight;
    }
    sum / weights
}

// the error falls as 1/√N, to what quadrature gives; the estimated error says how much is left
#[test]
fn averages_converge_with_the_number_of_samples() {
    let m = ball(SOFT);
    let (height, velocity, sigma) = (0.0005, -0.3, 0.002);
    let d = at(&m, height, velocity);
    let expected = averaged(&m, height, velocity, sigma);
    let plain = mjd_transition(&m, &d, &DerivativeConfig::default()).unwrap();
    assert_eq!(plain.A[[1, 0]], 0.0);
    assert!(expected < -1.0, "{expected}");
    let run = |samples, seed| {
        let sigma = Sigma { qpos: sigma, qvel: 0.0, act: 0.0, ctrl: 0.0 };
        let config = RandomizedConfig { samples, sigma, seed, ..RandomizedConfig::default() };
        let found = mjd_transition_randomized(&m, &d, &config).unwrap();
        (found.transition.A[[1, 0]] - expected, found.standard_error[0][[1, 0]])
    };
    // root mean square of the error over seeds, and the mean of what is estimated
    let rms = |samples| {
        let runs: Vec<(f64, f64)> = (0..24).map(|seed| run(samples, seed)).collect();
        let n = runs.len() as f64;
        let square: f64 = runs.iter().map(|(e, _)| e * e).sum();
        ((square / n).sqrt(), runs.iter().map(|(_, s)| s).sum::<f64>() / n)
    };
    let (coarse, fine) = (rms(50), rms(3200));
    for (error, estimated) in [coarse, fine] {
        assert!(error < 1.6 * estimated && error > 0.6 * estimated, "{error} {estimated}");
    }
    assert!((coarse.0 / fine.0 / 8.0 - 1.0).abs() < 0.5, "{} {}", coarse.0, fine.0);
}

// an abrupt onset: the mean of derivatives misses the jump, least squares through values do not
#[test]
fn a_jump_is_felt_by_values_and_not_by_derivatives() {
    let m = ball(ABRUPT);
    // in the middle of the jump, without penetration that counts
    let (sigma, velocity) = (1e-6, -0.5);
    let d = at(&m, 0.0, velocity);
    let sigma = Sigma { qpos: sigma, qvel: 1e-6, act: 0.0, ctrl: 1e-6 };
    let run = |order, samples| {
        let config = RandomizedConfig { order, samples, sigma, ..RandomizedConfig::default() };
        let found = mjd_transition_randomized(&m, &d, &config).unwrap();
        (found.transition.A[[1, 0]], found.standard_error[0][[1, 0]])
    };
    // h · jump of the acceleration · density of a normal at its mean
    let jump = -0.001 * 0.9 * (0.5 * 2.0 / 0.019 + 9.81) / (1e-6 * std::f64::consts::TAU.sqrt());
    let (values, error) = run(Order::Zeroth, 20_000);
    assert!((values - jump).abs() < 5.0 * error && error < 0.02 * jump.abs(), "{values} {jump}");
    let (derivatives, error) = run(Order::First, 2000);
    assert!((derivatives - jump).abs() > 100.0 * error, "{derivatives} ± {error}, {jump}");
}

#[test]
fn averages_are_the_same_for_any_number_of_threads() {
    let (m, d) = tumbling();
    for order in [Order::First, Order::Zeroth] {
        let sigma = Sigma { qpos: 0.05, qvel: 0.3, act: 0.0, ctrl: 0.0 };
        let config = RandomizedConfig { order, samples: 333, sigma, ..RandomizedConfig::default() };
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| mjd_transition_randomized(&m, &d, &config).unwrap())
        };
        let one = on(1);
        for threads in [2, 3, 16] {
            assert_eq!(on(threads), one, "{order:?} on {threads} threads");
        }
        let other = RandomizedConfig { seed: 2, ..config };
        assert_ne!(mjd_transition_randomized(&m, &d, &other).unwrap(), one);
    }
}

#[test]
fn randomized_configurations_without_meaning_are_refused() {
    let m = linear();
    let d = Data::new(&m);
    let refused = |config: RandomizedConfig| {
        mjd_transition_randomized(&m, &d, &config).unwrap_err().to_string()
    };
    let base = RandomizedConfig::default();
    let zeroth = RandomizedConfig { order: Order::Zeroth, ..base };
    let sigma = Sigma { qvel: f64::NAN, ..base.sigma };
    assert!(refused(RandomizedConfig { sigma, ..base }).starts_with("standard deviations must"));
    let sigma = Sigma { qvel: 0.0, ..base.sigma };
    let text = refused(RandomizedConfig { sigma, ..zeroth });
    assert_eq!(text, "least squares need a spread of a.v: its standard deviation is zero");
    let text = refused(RandomizedConfig { samples: 6, ..zeroth });
    assert_eq!(text, "7 samples are needed at least, found 6");
    assert!(refused(RandomizedConfig { samples: 1, ..base }).starts_with("2 samples"));
    let mut broken = Data::new(&m);
    broken.qpos[0] = f64::NAN;
    let error = mjd_transition_randomized(&m, &broken, &base).unwrap_err();
    assert!(matches!(error, RandomizedError::Transition(_)));
}
