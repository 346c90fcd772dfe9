//! Numbers that are not finite or too large are an error that names stage, field and index, and leave the
//! state as it was, bit for bit.
//!
//! Fails when, for example: a check is skipped for one field, an integrator returns early without the state
//! being restored, or the index is that of another field.

use dualstep::model::Integrator;
use dualstep::status::{MAXVAL, StepStage};
use dualstep::{Data, Model, Scalar, StepError, step};
use num_dual::Dual64;

use crate::support::{INTEGRATORS, parse, with_integrator};

/// A free body, a ball and a hinge; a servo with activation and a motor.
const MODEL: &str = r#"<mujoco>
  <worldbody>
    <body pos="0 0 1"><freejoint/><geom size="0.1"/></body>
    <body pos="1 0 1">
      <joint name="ball" type="ball"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0.2 0 0"/>
      <body pos="0.2 0 0">
        <joint name="hinge" axis="0 1 0" damping="0.1"/>
        <geom type="capsule" size="0.05" fromto="0 0 0 0.1 0.1 0"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <general joint="hinge" dyntype="integrator"/>
    <motor joint="hinge" gear="2"/>
  </actuator>
  <sensor><jointpos joint="hinge"/></sensor>
</mujoco>"#;

/// Time, positions, velocities and activations, as bits.
fn state(d: &Data<f64>) -> Vec<u64> {
    let all = [&d.qpos, &d.qvel, &d.act].into_iter().flatten().chain([&d.time]);
    all.map(|x| x.to_bits()).collect()
}

fn moving(m: &Model) -> Data<f64> {
    let mut d = Data::new(m);
    d.qvel.fill(0.3);
    d.ctrl.fill(0.2);
    step(m, &mut d).unwrap();
    d
}

/// The error of a step that must fail, after checking that the state is untouched and that the data are
/// good for another step.
fn refused(m: &Model, d: &mut Data<f64>) -> StepError {
    let before = state(d);
    let error = step(m, d).expect_err("the step is refused");
    assert_eq!(state(d), before, "{error}");
    error
}

/// Fields of the input, each with a way to reach it.
type Field = (&'static str, fn(&mut Data<f64>) -> &mut Vec<f64>);
const INPUTS: [Field; 4] = [
    ("qpos", |d| &mut d.qpos),
    ("qvel", |d| &mut d.qvel),
    ("act", |d| &mut d.act),
    ("ctrl", |d| &mut d.ctrl),
];

#[test]
fn every_bad_input_is_named() {
    let model = parse(MODEL);
    for integrator in INTEGRATORS {
        let m = with_integrator(&model, integrator);
        let good = moving(&m);
        for (name, field) in INPUTS {
            for i in 0..field(&mut good.clone()).len() {
                for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.01 * MAXVAL, -1e300] {
                    let mut d = good.clone();
                    let kept = std::mem::replace(&mut field(&mut d)[i], bad);
                    let error = refused(&m, &mut d);
                    let StepError::NonFinite { stage, field: found, index, value } = error else {
                        panic!("{error}");
                    };
                    assert_eq!((stage, found, index), (StepStage::Input, name, i));
                    assert_eq!(value.to_bits(), bad.to_bits());

                    // the data are not spoilt: with the number mended, the step is that of good data
                    field(&mut d)[i] = kept;
                    let mut expected = good.clone();
                    step(&m, &mut expected).unwrap();
                    step(&m, &mut d).unwrap();
                    assert_eq!(state(&d), state(&expected));
                }
            }
        }
    }
}

#[test]
fn the_largest_numbers_allowed_pass() {
    let m = parse(
        r#"<mujoco>
      <option gravity="0 0 0"/>
      <worldbody><body><joint type="slide"/><geom size="0.1"/></body></worldbody>
    </mujoco>"#,
    );
    let mut d = Data::<f64>::new(&m);
    d.qpos[0] = MAXVAL;
    step(&m, &mut d).unwrap();
    assert_eq!(d.qpos[0], MAXVAL);
}

#[test]
fn the_message_says_where_and_what_to_check() {
    let m = parse(MODEL);
    let mut d = moving(&m);
    d.qvel[7] = f64::NAN;
    assert_eq!(
        refused(&m, &mut d).to_string(),
        "qvel[7] is NaN (input stage): not finite or above 1e10; check the state, the controls and the \
         timestep"
    );
}

// forces are not checked one by one: what they do to the acceleration is
#[test]
fn a_bad_force_shows_in_the_acceleration() {
    let model = parse(MODEL);
    for integrator in INTEGRATORS {
        let m = with_integrator(&model, integrator);
        for bad in [f64::NAN, 1e300] {
            let mut d = moving(&m);
            d.qfrc_applied[9] = bad;
            let StepError::NonFinite { stage, field, index, .. } = refused(&m, &mut d) else {
                panic!("another error")
            };
            // the hinge's force reaches the ball below which it hangs, not the free body
            assert_eq!((stage, field), (StepStage::Acceleration, "qacc"));
            assert!((6..10).contains(&index), "{index}");
        }
        let mut d = moving(&m);
        d.xfrc_applied[1][2] = f64::INFINITY;
        let StepError::NonFinite { stage, field, index, .. } = refused(&m, &mut d) else {
            panic!("another error")
        };
        assert_eq!((stage, field), (StepStage::Acceleration, "qacc"));
        assert!(index < 6, "{index}");
    }
}

// inputs and accelerations are in range, but the new state is not
#[test]
fn overflow_during_integration_is_an_error() {
    // numbers that are fine, over a timestep that takes them out of the range of f64
    let slide = parse(
        r#"<mujoco>
      <option timestep="1e305" gravity="0 0 0"/>
      <worldbody><body><joint name="x" type="slide"/><geom size="0.1" mass="1"/></body></worldbody>
      <actuator><general joint="x" dyntype="integrator" gainprm="0"/></actuator>
    </mujoco>"#,
    );
    for integrator in INTEGRATORS {
        let m = with_integrator(&slide, integrator);
        let place = |d: &mut Data<f64>| match refused(&m, d) {
            StepError::NonFinite { stage, field, index, .. } => (stage, field, index),
            other => panic!("{other}"),
        };
        let mut d = Data::new(&m);
        d.qvel[0] = 0.9 * MAXVAL;
        assert_eq!(place(&mut d), (StepStage::Integration, "qpos", 0), "{integrator:?}");

        let mut d = Data::new(&m);
        d.ctrl[0] = 0.9 * MAXVAL;
        let (stage, field, _) = place(&mut d);
        assert_eq!(stage, StepStage::Integration, "{integrator:?}");
        // the stages of RK4 meet the activation before it is the result; h² K is 0·∞ at this timestep
        let others = [Integrator::RK4, Integrator::ImplicitSpringDamper];
        assert!(field == "act" || others.contains(&integrator), "{integrator:?}: {field}");
    }
}

// as in MuJoCo, which looks at the state when it begins a step
#[test]
fn a_state_that_left_the_range_is_refused_by_the_next_step() {
    let slide = parse(
        r#"<mujoco>
      <option timestep="1" gravity="0 0 0"/>
      <worldbody><body><joint name="x" type="slide"/><geom size="0.1" mass="1"/></body></worldbody>
    </mujoco>"#,
    );
    for integrator in INTEGRATORS {
        let m = with_integrator(&slide, integrator);
        let mut d = Data::new(&m);
        d.qvel[0] = 0.9 * MAXVAL;
        d.qpos[0] = 0.9 * MAXVAL;
        step(&m, &mut d).unwrap();
        assert!(d.qpos[0] > MAXVAL, "{integrator:?}");
        let StepError::NonFinite { stage, field, .. } = refused(&m, &mut d) else {
            panic!("{integrator:?}")
        };
        assert_eq!((stage, field), (StepStage::Input, "qpos"), "{integrator:?}");
    }
}

// M − h·qDeriv of a motor that feeds velocity back with gain m/h: exactly singular
#[test]
fn a_singular_implicit_matrix_is_an_error() {
    let m = parse(
        r#"<mujoco>
      <option timestep="0.5" integrator="implicit" gravity="0 0 0"/>
      <worldbody>
        <body>
          <joint name="x" type="slide"/>
          <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
        </body>
      </worldbody>
      <actuator><general joint="x" gaintype="affine" gainprm="0 0 2"/></actuator>
    </mujoco>"#,
    );
    assert_eq!(m.opt.integrator, Integrator::Implicit);
    let mut d = Data::new(&m);
    d.ctrl[0] = 1.0;
    let error = refused(&m, &mut d);
    assert!(
        matches!(error, StepError::Factor(e) if e.dof == 0 && e.matrix.contains('M')),
        "{error}"
    );
}

// a tangent that is not finite is as bad as a value
#[test]
fn a_bad_tangent_is_an_error() {
    let m = parse(MODEL);
    let mut d = Data::<Dual64>::new(&m);
    d.qvel[3] = Dual64::new(0.0, f64::NAN);
    let before = d.qpos.clone();
    let StepError::NonFinite { field, index, value, .. } = step(&m, &mut d).unwrap_err() else {
        panic!("another error")
    };
    assert_eq!((field, index, value), ("qvel", 3, 0.0));
    assert!(d.qpos.iter().zip(&before).all(|(x, y)| x.re() == y.re()));
}
