//! Shortcuts and their inheritance, against numbers read by MuJoCo 4.0.1.

use crate::mjcf::error::MjcfError;
use crate::mjcf::read::tests::read_text;
use crate::mjcf::spec::{ActuatorSpec, BiasType, DynType, GainType, Limited};

fn actuator(defaults: &str, element: &str) -> Result<ActuatorSpec, MjcfError> {
    let xml =
        format!("<mujoco><default>{defaults}</default><actuator>{element}</actuator></mujoco>");
    read_text(&xml).map(|spec| spec.actuators[0].clone())
}

const FIXED: GainType = GainType::Fixed;
const AFFINE: BiasType = BiasType::Affine;
const MUSCLE: [f64; 9] = [0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2];

/// Defaults, element, and gain, bias, dynamics with their parameters (trailing zeros cut).
type Case<'a> =
    (&'a str, &'a str, (GainType, &'a [f64]), (BiasType, &'a [f64]), (DynType, &'a [f64]));

/// Every expected number is what MuJoCo 4.0.1 reads (`MjSpec.from_string`).
fn check(cases: &[Case]) {
    let padded = |prm: &[f64]| {
        let mut out = [0.0; 10];
        out[..prm.len()].copy_from_slice(prm);
        out
    };
    for (defaults, element, gain, bias, dynamics) in cases {
        let a = actuator(defaults, element).expect(element);
        assert_eq!((a.gaintype, a.gainprm), (gain.0, padded(gain.1)), "{defaults} {element}");
        assert_eq!((a.biastype, a.biasprm), (bias.0, padded(bias.1)), "{defaults} {element}");
        let found = (a.dyntype, a.dynprm);
        assert_eq!(found, (dynamics.0, padded(dynamics.1)), "{defaults} {element}");
        assert_eq!((a.actdim, a.actearly), (-1, false), "{defaults} {element}");
    }
}

const NONE: (DynType, &[f64]) = (DynType::None, &[1.0]);
const NO_BIAS: (BiasType, &[f64]) = (BiasType::None, &[]);

#[test]
fn shortcuts_are_lowered() {
    let integrator = (DynType::Integrator, &[1.0][..]);
    let diameter = [std::f64::consts::PI];
    check(&[
        ("", "<motor/>", (FIXED, &[1.0]), NO_BIAS, NONE),
        ("", "<position/>", (FIXED, &[1.0]), (AFFINE, &[0.0, -1.0]), NONE),
        (
            "",
            r#"<position kp="3" kv="2" timeconst=".1"/>"#,
            (FIXED, &[3.0]),
            (AFFINE, &[0.0, -3.0, -2.0]),
            (DynType::FilterExact, &[0.1]),
        ),
        (
            "",
            r#"<position kp="3" dampratio="1" timeconst="0"/>"#,
            (FIXED, &[3.0]),
            (AFFINE, &[0.0, -3.0, 1.0]),
            (DynType::None, &[]),
        ),
        ("", r#"<velocity kv="4"/>"#, (FIXED, &[4.0]), (AFFINE, &[0.0, 0.0, -4.0]), NONE),
        (
            "",
            r#"<intvelocity kp="5" kv="2"/>"#,
            (FIXED, &[5.0]),
            (AFFINE, &[0.0, -5.0, -2.0]),
            integrator,
        ),
        ("", "<damper/>", (GainType::Affine, &[]), NO_BIAS, NONE),
        ("", r#"<damper kv="3"/>"#, (GainType::Affine, &[0.0, 0.0, -3.0]), NO_BIAS, NONE),
        (
            "",
            r#"<cylinder area="2" timeconst=".3" bias="1 2 3"/>"#,
            (FIXED, &[2.0]),
            (AFFINE, &[1.0, 2.0, 3.0]),
            (DynType::Filter, &[0.3]),
        ),
        (
            "",
            r#"<cylinder area="5" diameter="2"/>"#,
            (FIXED, &diameter),
            (AFFINE, &[]),
            (DynType::Filter, &[1.0]),
        ),
        (
            "",
            "<muscle/>",
            (GainType::Muscle, &MUSCLE),
            (BiasType::Muscle, &MUSCLE),
            (DynType::Muscle, &[0.01, 0.04]),
        ),
    ]);
}

/// A shortcut takes its parameters from the nearest default that was written with it, or with
/// a general of its gain type.
#[test]
fn parameters_are_inherited_from_a_default_that_fits() {
    let general = r#"<general gainprm="400 2 3" biasprm="7 -10 -3" biastype="affine"
        dyntype="filter" dynprm=".5 .6" actdim="1" actearly="true"/>"#;
    let nested = r#"<position kp="5"/><default class="c"><velocity kv="3"/></default>"#;
    let custom = [0.5, 1.4, 3.0];
    check(&[
        (general, "<motor/>", (FIXED, &[1.0]), NO_BIAS, NONE),
        (general, "<position/>", (FIXED, &[400.0]), (AFFINE, &[0.0, -400.0, -3.0]), NONE),
        (general, "<velocity/>", (FIXED, &[400.0]), (AFFINE, &[0.0, 0.0, -400.0]), NONE),
        (
            general,
            "<cylinder/>",
            (FIXED, &[400.0]),
            (AFFINE, &[7.0, -10.0, -3.0]),
            (DynType::Filter, &[0.5]),
        ),
        (general, "<damper/>", (GainType::Affine, &[]), NO_BIAS, NONE),
        (
            r#"<general gaintype="muscle" gainprm="0.5 1.4 3" dynprm="0.2 0.3 0.4"/>"#,
            "<muscle/>",
            (GainType::Muscle, &custom),
            (BiasType::Muscle, &custom),
            (DynType::Muscle, &[0.2, 0.3, 0.4]),
        ),
        (
            r#"<position kp="5" kv="2" timeconst=".1"/>"#,
            "<position/>",
            (FIXED, &[5.0]),
            (AFFINE, &[0.0, -5.0, -2.0]),
            (DynType::FilterExact, &[0.1]),
        ),
        (
            r#"<position kp="5" kv="2" timeconst=".1"/>"#,
            r#"<general gainprm="9" dyntype="none"/>"#,
            (FIXED, &[9.0]),
            (AFFINE, &[0.0, -5.0, -2.0]),
            (DynType::None, &[0.1]),
        ),
        (r#"<position kp="5"/>"#, "<motor/>", (FIXED, &[1.0]), NO_BIAS, NONE),
        (nested, r#"<position class="c"/>"#, (FIXED, &[5.0]), (AFFINE, &[0.0, -5.0]), NONE),
        (nested, r#"<motor class="c"/>"#, (FIXED, &[1.0]), NO_BIAS, NONE),
        (
            r#"<velocity kv="4"/><general gear="3"/>"#,
            "<position/>",
            (FIXED, &[4.0]),
            (AFFINE, &[0.0, -4.0, -4.0]),
            NONE,
        ),
    ]);
}

#[test]
fn mechanical_attributes_come_from_any_default() {
    let a = actuator(
        r#"<damper kv="7" ctrlrange="0 2"/><default class="c"><general gear="4"/></default>"#,
        r#"<motor class="c" gear="5"/>"#,
    )
    .unwrap();
    assert_eq!((a.ctrllimited, a.ctrlrange, a.gear[0]), (Limited::True, [0.0, 2.0], 5.0));
}

/// What the element says beats the default; two of one origin contradict each other.
#[test]
fn range_and_inheritrange() {
    let ranges = |defaults: &str, element: &str| {
        actuator(defaults, element).map(|a| (a.inheritrange, a.ctrlrange, a.actrange))
    };
    let zero = [0.0; 2];
    let range = [0.0, 1.0];
    let inherit = r#"<position inheritrange="1"/>"#;
    assert_eq!(ranges(inherit, "<position/>").unwrap(), (1.0, zero, zero));
    assert_eq!(ranges(inherit, "<intvelocity/>").unwrap(), (0.0, zero, zero));
    let explicit = r#"<position ctrlrange="0 1"/>"#;
    assert_eq!(ranges(inherit, explicit).unwrap(), (0.0, range, zero));
    assert_eq!(ranges(explicit, inherit).unwrap(), (1.0, zero, zero));
    let element = r#"<intvelocity inheritrange="1" ctrlrange="0 1"/>"#;
    assert_eq!(ranges("", element).unwrap(), (1.0, range, zero));
    assert!(ranges("", r#"<position inheritrange="1" ctrlrange="0 1"/>"#).is_err());
    assert!(ranges("", r#"<intvelocity inheritrange="1" actrange="0 1"/>"#).is_err());
}

#[test]
fn refusals() {
    let message = |element: &str| actuator("", element).expect_err(element).message().to_owned();
    assert_eq!(
        message(r#"<position kv="1" dampratio="1"/>"#),
        "attributes `kv` and `dampratio` exclude each other"
    );
    assert_eq!(message(r#"<position kv="-1"/>"#), "attribute `kv` must not be negative, found -1");
    assert_eq!(
        message(r#"<damper ctrlrange="-1 1"/>"#),
        "the control range of a damper must not be negative"
    );
    assert_eq!(
        message(r#"<general joint="j" refsite="s"/>"#),
        "attribute `refsite` belongs to site transmissions"
    );
    assert_eq!(
        message(r#"<general gaintype="so3"/>"#),
        "the actuator gaintype `so3` is not supported yet"
    );
}
