//! Every smooth sensor and every kind of reference frame, energies and inverse dynamics, against
//! MuJoCo 4.0.1 on one model: a free body that carries a hinge, a slide and a ball, beside a static, a
//! mocap and a turning body.

#![expect(clippy::unreadable_literal, reason = "numbers as the oracle prints them")]

use std::path::Path;

use num_dual::Dual64;

use super::*;
use crate::energy::energy;
use crate::forward::forward;
use crate::inverse::{InverseError, inverse};
use crate::model::Integrator;
use crate::model::options::enable;

const MODEL: &str = r#"<mujoco>
  <compiler angle="radian"/>
  <option gravity="0.5 -1 -9.81" magnetic="0.1 -0.5 0.2">
    <flag constraint="disable"/>
  </option>
  <worldbody>
    <body name="static" pos="1 2 0.5" euler="0.3 0.2 0.1">
      <geom name="gs" size="0.1"/>
      <site name="static" pos="0.1 0 0.2" euler="0.4 0 0"/>
    </body>
    <body name="mocap" mocap="true" pos="-1 0.5 1" euler="0.1 0.7 0">
      <geom size="0.1"/>
      <site name="mocap" pos="0 0.1 0"/>
    </body>
    <body name="base" pos="0 0 2" gravcomp="0.5">
      <freejoint name="free"/>
      <geom name="g0" type="box" size="0.2 0.1 0.3" pos="0.05 0 0.02" euler="0.2 0.1 0.5"/>
      <site name="s0" pos="0.1 0.2 -0.1" euler="0.3 -0.6 0.9"/>
      <camera name="c0" pos="0.3 0 0.1" euler="0.5 0.4 0.3"/>
      <body name="arm" pos="0.4 0.1 0.2" euler="0 0.5 0.2">
        <joint name="hinge" axis="0.3 1 0.2" pos="0 0.05 0.1" ref="0.1" springref="0.3" stiffness="3 2 1" damping="0.4" armature="0.02"/>
        <joint name="slide" type="slide" axis="1 0.2 0" stiffness="20" springref="0.05" damping="1"/>
        <geom type="capsule" size="0.05 0.2" pos="0.1 0.05 0" euler="0.3 0.8 0"/>
        <site name="s1" pos="0.2 0 0.1" euler="-0.2 0.3 0.6"/>
        <body name="hand" pos="0.3 0 -0.1">
          <joint name="ball" type="ball" pos="0.02 0 0.03" stiffness="2 3 4" damping="0.1"/>
          <geom name="g2" type="ellipsoid" size="0.1 0.15 0.08" pos="0.1 0.02 0" euler="0.9 0.1 0"/>
          <site name="s2" pos="0.1 0.1 0.1" euler="0.6 0.5 0.4"/>
          <camera name="c2" mode="trackcom" pos="0 0.1 0" euler="0.2 0.1 0"/>
        </body>
      </body>
    </body>
    <body name="post" pos="2 0 1">
      <joint name="turn" axis="0 0 1" limited="true" range="-0.1 0.1" armature="0.1"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.3 0 0"/>
    </body>
  </worldbody>
  <tendon>
    <fixed name="out" stiffness="5 6 7" damping="0.2" springlength="-0.1 0.05">
      <joint joint="hinge" coef="0.7"/>
      <joint joint="turn" coef="-1.5"/>
    </fixed>
    <fixed name="rest" stiffness="100" springlength="-9 9"><joint joint="turn" coef="1"/></fixed>
  </tendon>
  <actuator>
    <position name="ph" joint="hinge" kp="4" kv="0.3" gear="2"/>
    <motor name="mh" joint="hinge"/>
    <motor name="mt" tendon="out" gear="3"/>
    <damper name="dt" tendon="out" kv="0.6" ctrlrange="0 2"/>
  </actuator>
  <sensor>
    <magnetometer site="s2"/>
    <clock/>
    <e_potential/>
    <e_kinetic/>
    <jointpos joint="hinge"/>
    <jointpos joint="slide"/>
    <ballquat joint="ball"/>
    <tendonpos tendon="out"/>
    <actuatorpos actuator="ph"/>
    <actuatorpos actuator="mt"/>
    <framepos objtype="body" objname="hand"/>
    <framepos objtype="xbody" objname="hand" reftype="body" refname="base"/>
    <framepos objtype="geom" objname="g2" reftype="camera" refname="c0"/>
    <framepos objtype="site" objname="s2" reftype="xbody" refname="arm"/>
    <framepos objtype="camera" objname="c2" reftype="geom" refname="g0"/>
    <framequat objtype="body" objname="base"/>
    <framequat objtype="xbody" objname="hand" reftype="site" refname="s1"/>
    <framequat objtype="geom" objname="g2" reftype="body" refname="hand"/>
    <framequat objtype="site" objname="s2" reftype="geom" refname="g0"/>
    <framequat objtype="camera" objname="c2" reftype="camera" refname="c0"/>
    <framexaxis objtype="site" objname="s2"/>
    <frameyaxis objtype="camera" objname="c2" reftype="site" refname="s0"/>
    <framezaxis objtype="body" objname="hand" reftype="xbody" refname="base"/>
    <subtreecom body="arm"/>
    <subtreecom body="world"/>
    <velocimeter site="s2"/>
    <gyro site="s2"/>
    <jointvel joint="slide"/>
    <ballangvel joint="ball"/>
    <tendonvel tendon="out"/>
    <actuatorvel actuator="mt"/>
    <framelinvel objtype="body" objname="hand"/>
    <framelinvel objtype="site" objname="s2" reftype="camera" refname="c0"/>
    <framelinvel objtype="camera" objname="c2" reftype="body" refname="arm"/>
    <framelinvel objtype="site" objname="static" reftype="xbody" refname="arm"/>
    <frameangvel objtype="xbody" objname="hand"/>
    <frameangvel objtype="geom" objname="g2" reftype="geom" refname="g0"/>
    <subtreelinvel body="arm"/>
    <subtreelinvel body="world"/>
    <subtreeangmom body="base"/>
    <subtreeangmom body="world"/>
    <accelerometer site="s2"/>
    <accelerometer site="static"/>
    <accelerometer site="mocap"/>
    <force site="s0"/>
    <force site="s1"/>
    <torque site="s1"/>
    <torque site="s2"/>
    <force site="static"/>
    <framelinacc objtype="body" objname="hand"/>
    <framelinacc objtype="camera" objname="c0"/>
    <framelinacc objtype="xbody" objname="static"/>
    <frameangacc objtype="geom" objname="g2"/>
    <actuatorfrc actuator="ph"/>
    <actuatorfrc actuator="dt"/>
    <jointactuatorfrc joint="hinge"/>
    <tendonactuatorfrc tendon="out"/>
    <jointlimitpos joint="turn"/>
    <jointlimitvel joint="turn"/>
    <jointlimitfrc joint="turn"/>
    <touch site="s2"/>
    <jointpos joint="hinge" cutoff="0.5"/>
    <framelinacc objtype="body" objname="arm" cutoff="6"/>
    <gyro site="s2" cutoff="1.5"/>
  </sensor>
</mujoco>"#;

/// Type and values of each sensor in MuJoCo 4.0.1 at the state of [`set_state`].
const SENSORDATA: &[(&str, &[f64])] = &[
    ("magnetometer", &[-0.261102241927588, -0.38791317715029505, -0.28521743679787653]),
    ("clock", &[1.25]),
    ("e_potential", &[1919.6650144199778]),
    ("e_kinetic", &[82.85327992059787]),
    ("jointpos", &[0.6]),
    ("jointpos", &[0.08]),
    ("ballquat", &[0.8, 0.0, 0.6, 0.0]),
    ("tendonpos", &[-0.10499999999999993]),
    ("actuatorpos", &[1.2]),
    ("actuatorpos", &[-0.3149999999999998]),
    ("framepos", &[0.19227025567230988, 0.28864489791213016, 2.677528085890688]),
    ("framepos", &[0.505855030097766, -0.04794738076772545, -0.11003288238762929]),
    ("framepos", &[0.27996724322900524, 0.017392359180406398, -0.27324392180137236]),
    ("framepos", &[0.4095999999999998, 0.10000000000000003, -0.12720000000000023]),
    ("framepos", &[0.5721421612231163, 0.042610195562259326, -0.15274874755445522]),
    (
        "framequat",
        &[0.548661804466875, 0.035296816671178954, -0.4349690373440148, 0.7131102969415423],
    ),
    (
        "framequat",
        &[0.858172247704192, 0.20618342477322918, 0.42960170536154896, -0.19097424792250317],
    ),
    ("framequat", &[1.0, 0.0, 0.0, 0.0]),
    (
        "framequat",
        &[0.21624952805295233, 0.5295101239287302, 0.7974686398995481, -0.19209096452103142],
    ),
    ("framequat", &[0.504974488393195, 0.0928377900079117, 0.8183053841647148, -0.258376100027685]),
    ("framexaxis", &[-0.24840333507008105, 0.08661316548448805, -0.9647766283916793]),
    ("frameyaxis", &[0.42973996571631135, -0.09767901123974196, -0.8976538155822485]),
    ("framezaxis", &[0.5073616377110031, -0.5614032322289941, -0.6537664563298172]),
    ("subtreecom", &[0.1385758275204908, 0.21322570091769363, 2.740655406879586]),
    ("subtreecom", &[1.1015846914968597, 0.07507435454075255, 1.773116248445067]),
    ("velocimeter", &[-0.26192761004331133, -1.5372116032240655, -2.2779829520880504]),
    ("gyro", &[-0.20568996520677066, 0.35542138897740483, -1.249747344906972]),
    ("jointvel", &[-0.75]),
    ("ballangvel", &[0.5, 1.25, -1.0]),
    ("tendonvel", &[-1.9500000000000002]),
    ("actuatorvel", &[-5.8500000000000005]),
    ("framelinvel", &[-0.5932174942582455, -2.6447153395116407, 0.35405868604138346]),
    ("framelinvel", &[-1.3354531668942258, 0.30125442818801296, -0.0495245240419625]),
    ("framelinvel", &[0.13678813149869895, -0.04608537437492723, -0.011349149967686739]),
    ("framelinvel", &[1.8466113486289568, -2.704173083430341, -1.1654136075059236]),
    ("frameangvel", &[-1.091680942234324, -0.5862437913775781, 0.44164701863030764]),
    ("frameangvel", &[0.32065419829970954, 2.7099208660368133, 0.1431514041828592]),
    ("subtreelinvel", &[-0.4917298999852174, -2.6840967111709584, 0.3475637521244372]),
    ("subtreelinvel", &[0.05995043446944923, -0.42791745550139504, 0.1388752814837175]),
    ("subtreeangmom", &[5.704387509336302, -1.7550757681997797, 7.558263377120932]),
    ("subtreeangmom", &[84.31066808665067, 32.434267800101054, 107.74964274406739]),
    ("accelerometer", &[-24.162161639549836, 15.131225785852422, -6.3458726292385075]),
    ("accelerometer", &[-1.8969683936232071, 7.168612493038306, 6.519095477000608]),
    ("accelerometer", &[-6.606309598725796, 1.97436998258341, 7.067151948108729]),
    ("force", &[121.12031179546015, -201.7772448149227, -16.580927159521465]),
    ("force", &[1.1665084318624697, -26.371909753402097, -38.10914996257203]),
    ("torque", &[-13.436578179313283, -12.136989486903987, -2.435448894697908]),
    ("torque", &[-15.30385874427526, -2.848965214084641, 8.753020889603183]),
    ("force", &[-11.019752524273667, 27.898499021148957, 27.172660769221665]),
    ("framelinacc", &[9.013004930944508, 12.112812483589389, -5.831410251901074]),
    ("framelinacc", &[-2.3961683856124125, 1.0274736681972703, 3.798787419996462]),
    ("framelinacc", &[-0.5, 1.0, 9.81]),
    ("frameangacc", &[350.59212163531265, -106.5385114783517, 159.4247786352828]),
    ("actuatorfrc", &[-4.1]),
    ("actuatorfrc", &[0.5850000000000001]),
    ("jointactfrc", &[-7.6705]),
    ("tendonactfrc", &[0.7850000000000001]),
    ("jointlimitpos", &[0.0]),
    ("jointlimitvel", &[0.0]),
    ("jointlimitfrc", &[0.0]),
    ("touch", &[0.0]),
    ("jointpos", &[0.5]),
    ("framelinacc", &[-1.522658000555328, -6.0, 1.0568168878679893]),
    ("gyro", &[-0.20568996520677066, 0.35542138897740483, -1.249747344906972]),
];

/// An acceleration, and MuJoCo's `qfrc_inverse` for it: continuous time; discrete time with Euler.
const QACC: [f64; 12] = [1.0, -2.0, 0.5, 3.0, -1.0, 2.0, 0.25, 1.5, -2.0, 1.0, 0.5, -3.0];
const INVERSE: [f64; 12] = [
    69.21560504601985,
    -97.10949966638773,
    322.46929394435097,
    14.554431118339787,
    -19.740424387165557,
    -42.81037344752632,
    -17.548819940279746,
    -25.199542910744675,
    -1.0493212152833535,
    17.199410952230018,
    -1.9345299746014815,
    0.9581075911815091,
];
const INVERSE_DISCRETE: [(Integrator, [f64; 12]); 3] = [
    (
        Integrator::Euler,
        [
            69.21560504601985,
            -97.10949966638776,
            322.46929394435097,
            14.554431118339787,
            -19.740424387165554,
            -42.81037344752632,
            -17.548619940279746,
            -25.196542910744668,
            -1.0497212152833535,
            17.199610952230017,
            -1.9344299746014817,
            0.9581075911815091,
        ],
    ),
    (
        Integrator::Implicit,
        [
            69.37404035828578,
            -97.25135292638481,
            322.4657405008713,
            14.55802773251526,
            -19.72354557207008,
            -42.86542642219791,
            -17.53380171424738,
            -25.298528561286606,
            -1.0536147553857076,
            17.20396203181741,
            -1.941985467799443,
            0.9513575911815124,
        ],
    ),
    (
        Integrator::ImplicitFast,
        [
            69.21560504601985,
            -97.10949966638776,
            322.46929394435097,
            14.554431118339785,
            -19.74042438716556,
            -42.81037344752632,
            -17.547897440279748,
            -25.196542910744675,
            -1.0497212152833535,
            17.199610952230017,
            -1.9344299746014815,
            0.9513575911815124,
        ],
    ),
];

fn model() -> Model {
    crate::mjcf::load_model_str(MODEL, "sensors.xml", Path::new(".")).unwrap()
}

fn set_state<T: Scalar>(d: &mut Data<T>) {
    fn put<T: Scalar>(to: &mut [T], from: &[f64]) {
        assert_eq!(to.len(), from.len());
        to.iter_mut().zip(from).for_each(|(t, f)| *t = T::lift(*f));
    }
    d.time = T::lift(1.25);
    put(&mut d.qpos, &[0.3, -0.2, 2.5, 0.7, 0.1, -0.5, 0.5, 0.6, 0.08, 0.8, 0.0, 0.6, 0.0, 0.35]);
    put(&mut d.qvel, &[0.5, -1.0, 0.25, 1.0, -2.0, 0.5, 1.5, -0.75, 0.5, 1.25, -1.0, 2.0]);
    put(&mut d.ctrl, &[0.4, -0.3, 0.2, 0.5]);
    put(&mut d.qfrc_applied, &[1.0, 0.0, -1.0, 0.2, 0.1, 0.0, 0.3, -2.0, 0.05, 0.0, 0.1, 0.4]);
    put(&mut d.xfrc_applied[1], &[3.0, 2.0, 1.0, 0.0, 1.0, 0.0]);
    put(&mut d.xfrc_applied[4], &[0.0, -1.0, 2.0, 0.1, 0.0, 0.1]);
    put(&mut d.xfrc_applied[5], &[1.0, 2.0, -3.0, 0.1, -0.2, 0.3]);
}

fn close(x: f64, reference: f64) -> bool {
    (x - reference).abs() <= 1e-12 * reference.abs().max(1.0)
}

fn check_sensors<T: Scalar>(m: &Model, d: &Data<T>) {
    assert_eq!(m.nsensor, SENSORDATA.len());
    for (i, (name, reference)) in SENSORDATA.iter().enumerate() {
        let values = &d.sensordata[m.sensor_adr[i]..m.sensor_adr[i] + m.sensor_dim[i]];
        assert_eq!(values.len(), reference.len(), "sensor {i}, {name}");
        for (x, r) in values.iter().zip(*reference) {
            assert!(close(x.re(), *r), "sensor {i}, {name}: {values:?}, not {reference:?}");
            assert!(x.finite(), "sensor {i}, {name}: {values:?}");
        }
    }
}

#[test]
fn sensors_agree_with_mujoco() {
    let m = model();
    let mut d = Data::<f64>::new(&m);
    set_state(&mut d);
    forward(&m, &mut d).unwrap();
    check_sensors(&m, &d);
    let energies = d.energy;
    energy(&m, &mut d);
    assert_eq!(d.energy, energies);

    let mut dual = Data::<Dual64>::new(&m);
    set_state(&mut dual);
    forward(&m, &mut dual).unwrap();
    check_sensors(&m, &dual);
}

#[test]
fn disabled_sensors_keep_their_values() {
    let mut m = model();
    m.opt.disableflags |= disable::SENSOR;
    let mut d = Data::<f64>::new(&m);
    set_state(&mut d);
    d.sensordata.fill(7.0);
    forward(&m, &mut d).unwrap();
    assert!(d.sensordata.iter().all(|x| *x == 7.0));
}

// at rest in the reference configuration ball and free joints are at the identity, springs at rest
#[test]
fn derivatives_are_finite_at_rest() {
    let m = model();
    let mut d = Data::<Dual64>::new(&m);
    d.qpos.iter_mut().for_each(|q| q.eps = 1.0);
    forward(&m, &mut d).unwrap();
    energy(&m, &mut d);
    assert!(d.sensordata.iter().chain(&d.energy).all(|x| x.finite()));
}

fn check_inverse(m: &Model, reference: &[f64]) {
    let mut d = Data::<f64>::new(m);
    set_state(&mut d);
    d.qacc.copy_from_slice(&QACC);
    inverse(m, &mut d).unwrap();
    assert_eq!(d.qacc, QACC);
    for (x, r) in d.qfrc_inverse.iter().zip(reference) {
        assert!(close(*x, *r), "{:?}: {:?}", m.opt.integrator, d.qfrc_inverse);
    }
}

#[test]
fn inverse_agrees_with_mujoco() {
    let mut m = model();
    check_inverse(&m, &INVERSE);
    m.opt.enableflags |= enable::INVDISCRETE;
    for (integrator, reference) in INVERSE_DISCRETE {
        m.opt.integrator = integrator;
        check_inverse(&m, &reference);
    }
    m.opt.integrator = Integrator::RK4;
    let refused = inverse(&m, &mut Data::<f64>::new(&m)).unwrap_err();
    assert_eq!(refused, InverseError::Discrete { integrator: Integrator::RK4 });
}

// qfrc_inverse of the forward acceleration is what was applied
#[test]
fn inverse_of_forward_is_the_applied_force() {
    let m = model();
    let mut d = Data::<f64>::new(&m);
    set_state(&mut d);
    d.xfrc_applied.fill([0.0; 6]);
    forward(&m, &mut d).unwrap();
    inverse(&m, &mut d).unwrap();
    for i in 0..m.nv {
        assert!((d.qfrc_inverse[i] - d.qfrc_applied[i] - d.qfrc_actuator[i]).abs() < 1e-11);
    }
}
