//! Contacts: against MuJoCo's, on dual numbers, and against what the definition of a filter says.

use std::fmt::Write as _;

use dualstep::collision::{Collision, Contact, Exclude, collision};
use dualstep::model::options::disable;
use dualstep::scalar::Dual;
use dualstep::{Data, Model, Scalar, smooth};
use dualstep_validation::Golden;
use dualstep_validation::contacts::compare_contacts;
use dualstep_validation::random_tree::Random;
use dualstep_validation::tolerance::{self, CONTACT, DUAL_DERIVATIVE};

use crate::support::{folder, load, moved, parse, report};

/// Contacts of the configuration in `d`.
fn contacts<T: Scalar>(m: &Model, d: &mut Data<T>) -> Vec<Contact<T>> {
    smooth::kinematics(m, d);
    let mut found = Collision::new(m);
    collision(m, d, &mut found);
    assert!(found.unsupported.is_empty(), "{:?}", found.unsupported);
    found.contact
}

/// Pairs of geoms that touch in the reference configuration.
fn touching(m: &Model) -> Vec<[usize; 2]> {
    contacts(m, &mut Data::<f64>::new(m)).iter().map(|c| c.geom).collect()
}

#[test]
fn contacts_are_mujocos() {
    let mut found = Vec::new();
    for name in ["contact_pile", "contact_elliptic", "humanoid"] {
        let m = load(name);
        let wanted = |key: &str| key.contains("/in/") || key.contains("/contact_");
        let golden = Golden::load_keys(&folder("golden").join(name), wanted).unwrap();
        for state in golden.states() {
            let compared = compare_contacts(&m, &golden, state).unwrap();
            assert!(compared.matched > 0, "{name} {state} has contacts");
            for (geom, ours, theirs) in compared.miscounted {
                found.push(format!("{name} {state}: {geom:?} has {ours}, expected {theirs}"));
            }
            if !compared.same_order {
                found.push(format!("{name} {state}: another order"));
            }
            for (field, (error, geom)) in compared.worst {
                if error > tolerance::scaled(CONTACT) {
                    found.push(format!("{name} {state}: {field} of {geom:?} is off by {error:e}"));
                }
            }
        }
    }
    report(&found);
}

/// Shapes of about the same size.
const SHAPES: [&str; 5] = [
    r#"type="sphere" size="0.2""#,
    r#"type="capsule" size="0.1 0.2""#,
    r#"type="ellipsoid" size="0.1 0.2 0.3""#,
    r#"type="cylinder" size="0.15 0.2""#,
    r#"type="box" size="0.1 0.2 0.3""#,
];

/// Pairs of shapes that have a collider: the plane with all, and these numbers of `SHAPES`.
const PAIRS: [(usize, usize); 7] = [(0, 0), (0, 1), (0, 3), (0, 4), (1, 1), (1, 4), (4, 4)];

/// Numbers that a contact consists of.
fn numbers<T: Scalar>(contacts: &[Contact<T>]) -> Vec<T> {
    let of_one = |c: &Contact<T>| {
        let mut all = vec![c.dist];
        all.extend(c.pos.iter());
        all.extend(c.frame.iter().flat_map(|row| row.iter().copied()));
        all
    };
    contacts.iter().flat_map(of_one).collect()
}

/// Tangents of all contacts of `m` at random poses against centred differences.
fn tangent_problems(what: &str, m: &Model, seed: u64) -> Vec<String> {
    differences(what, m, seed, 1e-6, DUAL_DERIVATIVE)
}

/// The same with a step and a tolerance.
fn differences(what: &str, m: &Model, seed: u64, h: f64, tolerance: f64) -> Vec<String> {
    let mut random = Random::new(seed);
    let (mut found, mut compared) = (Vec::new(), 0);
    for _ in 0..60 {
        let mut d = Data::<f64>::new(m);
        for body in d.qpos.chunks_exact_mut(7) {
            body[..3].fill_with(|| random.signed(0.25));
            body[3..].copy_from_slice(&random.quat());
        }
        let direction: Vec<f64> = (0..2 * m.nv).map(|_| random.signed(1.0)).collect();
        let along = |h: f64| {
            let dx: Vec<f64> = direction.iter().map(|x| h * x).collect();
            contacts(m, &mut moved(m, &d, &dx, &[]))
        };
        let (before, after) = (along(-h), along(h));
        let dx: Vec<Dual<1>> =
            direction.iter().map(|x| Dual::from_parts(|k| [0.0, *x][k])).collect();
        let duals = contacts(m, &mut moved(m, &d, &dx, &[]));
        if before.len() != after.len() || duals.len() != after.len() {
            continue; // a contact appears or vanishes in between
        }
        let jumps = |other: &[f64]| {
            let pairs = numbers(&duals).into_iter().zip(other.to_vec());
            pairs.into_iter().any(|(dual, x)| (dual.re() - x).abs() > 100.0 * h)
        };
        if jumps(&numbers(&before)) || jumps(&numbers(&after)) {
            continue; // other corners are kept, or in another order
        }
        compared += duals.len();
        let sides = numbers(&before).into_iter().zip(numbers(&after));
        for (dual, (before, after)) in numbers(&duals).iter().zip(sides) {
            let slope = (after - before) / (2.0 * h);
            let error = (dual.part(1) - slope).abs() / slope.abs().max(1.0);
            if error > tolerance::scaled(tolerance) || error.is_nan() {
                found.push(format!("{what}: {} instead of {slope}", dual.part(1)));
            }
        }
    }
    assert!(compared > 10, "{what}: only {compared} contacts");
    found
}

#[test]
fn tangents_are_those_of_the_geometry() {
    let free = |shape: &str| format!("<body><freejoint/><geom {shape}/></body>");
    let scene = |bodies: &str| parse(&format!("<mujoco><worldbody>{bodies}</worldbody></mujoco>"));
    let mut found = Vec::new();
    for shape in SHAPES {
        let plane = r#"<geom type="plane" size="1 1 1" euler="5 7 0"/>"#;
        let m = scene(&format!("{plane}{}", free(shape)));
        found.append(&mut tangent_problems(&format!("plane and {shape}"), &m, 1));
    }
    for (a, b) in PAIRS {
        let (a, b) = (SHAPES[a], SHAPES[b]);
        let m = scene(&format!("{}{}", free(a), free(b)));
        found.append(&mut tangent_problems(&format!("{a} and {b}"), &m, 2));
    }
    report(&found);
}

/// A box of the same size as the one in `SHAPES`, as a mesh; and a pyramid.
const ASSETS: &str = r#"
<asset>
  <mesh name="cuboid" vertex="-.1 -.2 -.3  .1 -.2 -.3  -.1 .2 -.3  .1 .2 -.3
                              -.1 -.2 .3  .1 -.2 .3  -.1 .2 .3  .1 .2 .3"/>
  <mesh name="pyramid" vertex="-.2 -.2 0  .2 -.2 0  -.2 .2 0  .2 .2 0  0 0 .3"/>
</asset>"#;

#[test]
fn tangents_of_polytopes_are_those_of_the_geometry() {
    let cuboid = r#"type="mesh" mesh="cuboid""#;
    let pyramid = r#"type="mesh" mesh="pyramid""#;
    let mut found = Vec::new();
    for (a, b) in [(SHAPES[4], pyramid), (cuboid, pyramid), (pyramid, pyramid)] {
        let bodies = [a, b].map(|shape| format!("<body><freejoint/><geom {shape}/></body>"));
        let bodies = bodies.concat();
        let m = parse(&format!("<mujoco>{ASSETS}<worldbody>{bodies}</worldbody></mujoco>"));
        found.append(&mut tangent_problems(&format!("{a} and {b}"), &m, 4));
    }
    report(&found);
}

/// Pairs of smooth shapes: numbers of `SHAPES`.
const SMOOTH: [(usize, usize); 8] =
    [(0, 2), (1, 2), (1, 3), (2, 2), (2, 3), (2, 4), (3, 3), (3, 4)];

// what EPA finds is only as good as its tolerance, so the differences are coarse
#[test]
fn tangents_of_smooth_pairs_are_those_of_the_geometry() {
    let mut found = Vec::new();
    for (a, b) in SMOOTH {
        let (a, b) = (SHAPES[a], SHAPES[b]);
        let bodies = [a, b].map(|shape| format!("<body><freejoint/><geom {shape}/></body>"));
        let option = r#"<option ccd_tolerance="1e-12" ccd_iterations="150"/>"#;
        let bodies = bodies.concat();
        let m = parse(&format!("<mujoco>{option}<worldbody>{bodies}</worldbody></mujoco>"));
        found.append(&mut differences(&format!("{a} and {b}"), &m, 2, 1e-3, 3e-2));
    }
    report(&found);
}

/// All numbers of all contacts at coinciding, touching and parallel poses, on `T`.
fn are_finite<T: Scalar>(m: &Model) -> bool {
    let offsets = [0.0, 1e-300, 1e-16, 1e-9, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6];
    let places = offsets.iter().flat_map(|&x| (0..3).map(move |axis| (axis, x)));
    places.into_iter().all(|(axis, x)| {
        let mut d = Data::<T>::new(m);
        d.qpos[axis] = T::from_parts(|k| if k == 0 { x } else { 1.0 });
        numbers(&contacts(m, &mut d)).into_iter().all(Scalar::finite)
    })
}

#[test]
fn degenerate_poses_of_convex_pairs_are_finite() {
    let flat =
        r#"<asset><mesh name="thin" vertex="0 0 0  .2 0 0  0 .2 0  .2 .2 0  .1 .1 1e-6"/></asset>"#;
    let thin = r#"type="mesh" mesh="thin""#;
    let pyramid = r#"type="mesh" mesh="pyramid""#;
    let shapes: Vec<&str> = SHAPES.into_iter().chain([thin, pyramid]).collect();
    let mut found = Vec::new();
    for (i, a) in shapes.iter().enumerate() {
        for b in &shapes[i..] {
            let bodies = [a, b].map(|shape| format!("<body><freejoint/><geom {shape}/></body>"));
            let bodies = bodies.concat();
            let m =
                parse(&format!("<mujoco>{ASSETS}{flat}<worldbody>{bodies}</worldbody></mujoco>"));
            if !are_finite::<f64>(&m) || !are_finite::<Dual<2>>(&m) {
                found.push(format!("{a} and {b}: not finite"));
            }
        }
    }
    report(&found);
}

#[test]
fn tangents_on_height_fields_are_those_of_the_geometry() {
    let mut found = Vec::new();
    for shape in SHAPES {
        let asset = field(TOOTH);
        let m = parse(&format!(
            r#"<mujoco><option ccd_tolerance="1e-12" ccd_iterations="150"/><asset>{asset}</asset>
               <worldbody><geom type="hfield" hfield="field" euler="5 7 0" pos="0 0 -0.5" margin="0.1"/>
               <body><freejoint/><geom {shape}/></body></worldbody></mujoco>"#
        ));
        // the tip meets an ellipsoid where it bends most: there the differences are coarser still
        let coarse = if shape == SHAPES[2] { 0.1 } else { 3e-2 };
        found.append(&mut differences(&format!("field and {shape}"), &m, 3, 1e-4, coarse));
    }
    report(&found);
}

#[test]
fn meshes_of_boxes_rest_like_boxes() {
    let boxes = r#"type="box" size="0.1 0.2 0.3""#;
    let mesh = r#"type="mesh" mesh="cuboid""#;
    for (below, above) in [(boxes, mesh), (mesh, boxes), (mesh, mesh)] {
        let m = parse(&format!(
            r#"<mujoco>{ASSETS}<worldbody>
               <geom {below}/>
               <body pos="0.03 0.02 0.59" euler="0 0 25"><freejoint/><geom {above}/></body>
               </worldbody></mujoco>"#
        ));
        let found = contacts(&m, &mut Data::<f64>::new(&m));
        assert_eq!(found.len(), 4, "{below} below {above}");
        let up = if m.geom_bodyid[found[0].geom[0]] == 0 { 1.0 } else { -1.0 };
        for contact in &found {
            // vertices of meshes are single precision, as MuJoCo's are
            assert!((contact.dist + 0.01).abs() < 1e-7, "{}", contact.dist);
            assert!((contact.frame[0].z - up).abs() < 1e-7, "{}", contact.frame[0]);
            assert!((contact.pos.z - 0.295).abs() < 1e-7, "{}", contact.pos);
        }
    }
}

#[test]
fn no_pair_is_lost_by_the_sweep() {
    let mut random = Random::new(3);
    let mut bodies = String::new();
    for _ in 0..100 {
        let [x, y, z] = [2.0, 0.5, 0.5].map(|size| random.signed(size));
        let size = 0.1 + 0.05 * random.unit();
        write!(
            bodies,
            r#"<body pos="{x} {y} {z}"><freejoint/><geom size="{size}" margin="0.01" gap="0.02"/></body>"#
        )
        .unwrap();
    }
    let m = parse(&format!("<mujoco><worldbody>{bodies}</worldbody></mujoco>"));
    let mut d = Data::<f64>::new(&m);
    let found: Vec<_> = contacts(&m, &mut d).iter().map(|c| c.geom).collect();
    let mut expected = Vec::new();
    for a in 0..m.ngeom {
        for b in a + 1..m.ngeom {
            let reach = m.geom_size[a].x + m.geom_size[b].x + 0.06;
            if (d.geom_xpos[a] - d.geom_xpos[b]).norm() <= reach {
                expected.push([a, b]);
            }
        }
    }
    assert!(expected.len() > 60);
    assert_eq!(found, expected);
}

/// A chain of three bodies, one welded to the second, and a free ball: everything overlaps.
const CHAIN: &str = r#"
<mujoco>
  <worldbody>
    <geom size="0.1"/>
    <body name="a">
      <joint/>
      <geom size="0.1"/>
      <body name="b">
        <joint/>
        <geom size="0.1"/>
        <body name="welded"><geom size="0.1" pos="0.01 0 0"/></body>
        <body name="c"><joint/><geom size="0.1"/></body>
      </body>
    </body>
    <body name="ball"><freejoint/><geom size="0.1" contype="2" conaffinity="4"/></body>
  </worldbody>
  CONTACT
</mujoco>"#;

#[test]
fn filters_leave_out_what_is_welded_parent_excluded_or_of_another_kind() {
    let m = parse(&CHAIN.replace("CONTACT", ""));
    // the world collides with its children; b and its welded body are one; the ball's bits match nobody's
    assert_eq!(touching(&m), [[0, 1], [0, 2], [0, 3], [0, 4], [1, 4]]);

    let mut open = m.clone();
    open.opt.disableflags |= disable::FILTERPARENT;
    assert_eq!(
        touching(&open),
        [[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 3], [1, 4], [2, 4], [3, 4]]
    );
    for bit in [disable::CONTACT, disable::CONSTRAINT] {
        let mut off = m.clone();
        off.opt.disableflags |= bit;
        assert!(touching(&off).is_empty());
    }

    let exclude = r#"<contact><exclude body1="a" body2="c"/></contact>"#;
    let m = parse(&CHAIN.replace("CONTACT", exclude));
    assert_eq!(touching(&m), [[0, 1], [0, 2], [0, 3], [0, 4]]);
}

#[test]
fn gaps_detect_without_rows_and_margins_add() {
    let scene = |gap: f64| {
        parse(&format!(
            r#"<mujoco><worldbody><geom size="0.1" margin="0.01"/><body pos="0 0 0.225"><freejoint/>
               <geom size="0.1" margin="0.01" gap="{gap}"/></body></worldbody></mujoco>"#
        ))
    };
    let find = |gap: f64| {
        let m = scene(gap);
        contacts(&m, &mut Data::<f64>::new(&m))
    };
    assert!(find(0.004).is_empty());
    let found = find(0.006);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].exclude, Exclude::Gap);
    assert_eq!(found[0].includemargin, 0.02);
    assert!((found[0].dist - 0.025).abs() < 1e-15);
}

/// Two bodies of which the first is fixed; `CONTACT` takes a body, its pose and its geom.
fn resting(below: &str, pose: &str, above: &str) -> Vec<Contact<f64>> {
    let m = parse(&format!(
        r"<mujoco>{ASSETS}<worldbody><geom {below}/><body {pose}><freejoint/><geom {above}/></body>
           </worldbody></mujoco>"
    ));
    contacts(&m, &mut Data::<f64>::new(&m))
}

#[test]
fn parallel_capsules_touch_at_the_ends_of_what_faces_the_other() {
    let (long, short) = (r#"type="capsule" size="0.1 0.3""#, r#"type="capsule" size="0.1 0.2""#);
    // upright, side by side; the short one is shifted up, and turned by less than 1e-4 or upside down
    for turn in ["euler=\"0 0 0\"", "euler=\"0.002 0 0\"", "euler=\"180 0 0\""] {
        let found = resting(long, &format!(r#"pos="0.19 0 0.25" {turn}"#), short);
        assert_eq!(found.len(), 2, "{turn}");
        for (contact, z) in found.iter().zip([0.05, 0.3]) {
            assert!((contact.pos - nalgebra::Vector3::new(0.095, 0.0, z)).norm() < 1e-4);
            assert!((contact.dist + 0.01).abs() < 1e-6);
        }
    }
    let found = resting(long, r#"pos="0.19 0 0.25" euler="0.01 0 0""#, short);
    assert_eq!(found.len(), 1);
    // end to end nothing faces: both ends are the same place
    let found = resting(long, r#"pos="0.05 0 0.6""#, short);
    assert!(found.iter().all(|c| (c.pos.z - 0.35).abs() < 1e-12), "{found:?}");
}

#[test]
fn a_capsule_upright_on_the_ground_has_a_frame() {
    let found = resting(r#"type="plane" size="1 1 1""#, r#"pos="0 0 0.29""#, SHAPES[1]);
    assert_eq!(found.len(), 1);
    let frame: Vec<_> = found[0].frame.iter().flatten().copied().collect();
    assert_eq!(frame, [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
}

#[test]
fn the_last_bit_decides_whether_shapes_touch() {
    // 0.46 − 0.21 − 0.25 is 0 or −2.8e-17, by the order of the differences
    let z = 0.459_999_999_999_999_96;
    let found = resting(r#"size="0.21""#, &format!(r#"pos="0 0 {z}""#), r#"size="0.25""#);
    assert_eq!(found[0].exclude, Exclude::None);
    assert_eq!(found[0].dist, z - 0.21 - 0.25);
    // a ball that only turns stays on the ground or leaves it, as MuJoCo's matrices round
    let m = parse(
        r#"<mujoco><worldbody><geom type="plane" size="1 1 1"/><body><joint axis="0 0 1"/>
           <geom size="0.5" pos="0 0 0.5"/></body></worldbody></mujoco>"#,
    );
    let mut d = Data::<f64>::new(&m);
    let mut touching = |angle: f64| {
        d.qpos[0] = angle;
        contacts(&m, &mut d).len()
    };
    assert_eq!([0.05, 0.1, 0.15, 0.3, 2.1, 2.45].map(&mut touching), [0, 1, 0, 1, 0, 0]);
}

#[test]
fn a_mesh_stands_on_four_corners_of_its_lowest_face() {
    let plane = r#"type="plane" size="1 1 1""#;
    let cuboid = r#"type="mesh" mesh="cuboid""#;
    let found = resting(plane, r#"pos="0 0 0.29""#, cuboid);
    assert_eq!(found.len(), 4);
    for contact in &found {
        assert!((contact.dist + 0.01).abs() < 1e-7);
        assert!(
            (contact.pos.x.abs() - 0.1).abs() < 1e-7 && (contact.pos.y.abs() - 0.2).abs() < 1e-7
        );
    }
    // deep below: corners above the centre do not count, nor those of other faces
    let found = resting(plane, r#"pos="0 0 -1" euler="40 -45 0""#, cuboid);
    assert_eq!(found.len(), 3);
}

#[test]
fn a_drum_stands_on_four_of_its_twelve_corners() {
    let mut vertices = String::new();
    for (corner, z) in (0..12).flat_map(|corner| [-0.1, 0.1].map(|z| (corner, z))) {
        let (sin, cos) = (f64::from(corner) * std::f64::consts::FRAC_PI_6).sin_cos();
        write!(vertices, "{} {} {z} ", 0.3 * cos, 0.3 * sin).unwrap();
    }
    let m = parse(&format!(
        r#"<mujoco><asset><mesh name="drum" vertex="{vertices}"/></asset><worldbody>
           <geom type="plane" size="1 1 1"/><body pos="0 0 0.09" euler="0 0.01 0"><freejoint/>
           <geom type="mesh" mesh="drum"/></body></worldbody></mujoco>"#
    ));
    let found = contacts(&m, &mut Data::<f64>::new(&m));
    assert_eq!(found.len(), 4);
    // the lowest first, then around by quarter turns
    let angle = |i: usize| found[i].pos.y.atan2(found[i].pos.x);
    for i in 0..4 {
        let turn = (angle((i + 1) % 4) - angle(i)).rem_euclid(std::f64::consts::TAU);
        assert!((turn - 1.5 * std::f64::consts::PI).abs() < 1e-3, "{turn}");
    }
}

/// A height field of 5 × 5 points, 2 m × 2 m, 0.5 m high.
fn field(elevation: &str) -> String {
    format!(
        r#"<hfield name="field" nrow="5" ncol="5" size="1 1 0.5 0.2" elevation="{elevation}"/>"#
    )
}

/// A height field and a free body with a geom.
fn on_field(elevation: &str, pose: &str, above: &str) -> Model {
    let field = field(elevation);
    parse(&format!(
        r#"<mujoco><asset>{field}</asset><worldbody><geom type="hfield" hfield="field" margin="0.01"/>
           <body {pose}><freejoint/><geom {above}/></body></worldbody></mujoco>"#
    ))
}

/// Rises along x by 0.25.
const SLOPE: &str = "0 .25 .5 .75 1 0 .25 .5 .75 1 0 .25 .5 .75 1 0 .25 .5 .75 1 0 .25 .5 .75 1";
/// Flat but for a tooth in the middle.
const TOOTH: &str = "0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0";

#[test]
fn height_fields_are_their_surface() {
    // above the middle of a triangle of the slope z = (x + 1) / 4
    let normal = nalgebra::Vector3::new(-0.25, 0.0, 1.0).normalize();
    let point = nalgebra::Vector3::new(-0.65, -0.9, 0.0875);
    for (height, number) in [(0.04, 1), (0.058, 1), (0.062, 0)] {
        let center = point + normal * height;
        let pose = format!(r#"pos="{} {} {}""#, center.x, center.y, center.z);
        let m = on_field(SLOPE, &pose, r#"size="0.05""#);
        let found = contacts(&m, &mut Data::<f64>::new(&m));
        assert_eq!(found.len(), number, "{height}");
        for contact in found {
            assert!((contact.dist - (height - 0.05)).abs() < 1e-6, "{}", contact.dist);
            assert!((contact.frame[0] - normal).norm() < 1e-5);
            let middle = point + normal * (0.5 * contact.dist);
            assert!((contact.pos - middle).norm() < 1e-5, "{}", contact.pos);
        }
    }
    // beside the field, and below its base
    for pose in [r#"pos="1.2 0 0""#, r#"pos="0 -1.2 0""#, r#"pos="0 0 -0.4""#] {
        let m = on_field(SLOPE, pose, r#"size="0.15""#);
        assert!(contacts(&m, &mut Data::<f64>::new(&m)).is_empty(), "{pose}");
    }
}

#[test]
fn every_shape_rests_on_the_tooth_of_a_height_field() {
    for shape in SHAPES {
        // half a millimetre into the tip, which is at 0.5
        let half =
            ["0.2", "0.3", "0.3", "0.2", "0.3"][SHAPES.iter().position(|s| *s == shape).unwrap()];
        let z = half.parse::<f64>().unwrap() + 0.4995;
        let m = on_field(TOOTH, &format!(r#"pos="0.001 0.002 {z}""#), shape);
        let found = contacts(&m, &mut Data::<f64>::new(&m));
        assert!(!found.is_empty() && found.len() <= 6, "{shape}: {}", found.len());
        for contact in &found {
            assert!((contact.frame[0].z - 1.0).abs() < 0.02, "{shape}: {}", contact.frame[0]);
            assert!((contact.dist + 0.0005).abs() < 4e-4, "{shape}: {}", contact.dist);
        }
    }
}

#[test]
fn degenerate_poses_give_finite_contacts() {
    let plane = r#"type="plane" size="1 1 1""#;
    let fixed = PAIRS.iter().map(|&(a, b)| (SHAPES[a], SHAPES[b]));
    let fixed = fixed.chain(SHAPES.iter().map(|&shape| (plane, shape)));
    let field = r#"type="hfield" hfield="field""#;
    let fixed = fixed.chain(SHAPES.iter().map(|&shape| (field, shape)));
    let asset = self::field(TOOTH);
    let poses = [
        "",
        r#"euler="90 0 0""#,
        r#"euler="0 90 0""#,
        r#"euler="45 0 0""#,
        r#"pos="0 0 0.2""#,
        r#"pos="0.1 0.2 0.3""#,
        r#"pos="0.1 0 0" euler="90 0 90""#,
        r#"pos="0 1e-17 1e-16""#,
    ];
    for ((a, b), pose) in fixed.flat_map(|pair| poses.map(|pose| (pair, pose))) {
        let m = parse(&format!(
            r"<mujoco><asset>{asset}</asset><worldbody><geom {a}/><body {pose}><freejoint/>
               <geom {b}/></body></worldbody></mujoco>"
        ));
        let d = Data::<f64>::new(&m);
        let dx = vec![Dual::<1>::from_parts(|k| [0.0, 1.0][k]); 2 * m.nv];
        let found = contacts(&m, &mut moved(&m, &d, &dx, &[]));
        assert!(numbers(&found).iter().all(|x| x.finite()), "{a} and {b} at {pose}");
    }
}

#[test]
fn coincident_centres_have_a_normal() {
    let m = parse(
        r#"<mujoco><worldbody><geom size="0.1"/><body><freejoint/><geom size="0.1"/></body>
           </worldbody></mujoco>"#,
    );
    let found = contacts(&m, &mut Data::<Dual<1>>::new(&m));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].frame[0].map(Scalar::re), nalgebra::Vector3::x());
    assert!(numbers(&found).iter().all(|x| x.finite()));
}
