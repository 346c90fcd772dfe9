//! Sensors that look at contacts, rows and shapes, and forces between geoms in contact: what golden data cannot say.
//!
//! Fails when, for example: the tangent of a distance along a ray misses the motion of the geom, the force of a contact
//! reaches one body only, the closed form claims a sensor that it does not have, or a filter lets a geom through.

use dualstep::collision::{Contact, Exclude};
use dualstep::constraint::contact_force;
use dualstep::forward::forward;
use dualstep::model::{GeomType, SensorType, WORLD};
use dualstep::ray::{Hit, NGROUP, RayFilter, inside_geom, ray, ray_geom};
use dualstep::scalar::Scalar;
use dualstep::{Data, Model};
use dualstep_derivatives::{
    DerivativeConfig, Feature, Method, Origin, Reason, TransitionError, covers_sensor,
    mjd_transition, mjd_transition_analytic, mjd_transition_dual,
};
use dualstep_validation::compare::err;
use dualstep_validation::random_tree::Random;
use dualstep_validation::tolerance;
use nalgebra::{Matrix3, Vector3};
use num_dual::Dual64;

use crate::support::{Direction, combined, golden_state, load, parse, parts, report};

/// Sensors, forces between geoms in contact, and forces on bodies, at a state.
fn written<T: Scalar>(m: &Model, mut d: Data<T>) -> Vec<T> {
    forward(m, &mut d).unwrap();
    let bodies = d.cfrc_int.iter().chain(&d.cfrc_ext);
    let wrenches = bodies.flat_map(dualstep::math::SpatialVec::to_array);
    let forces = d.qfrc_passive.iter().chain(&d.qfrc_actuator).chain(&d.actuator_velocity);
    d.sensordata.iter().chain(forces).copied().chain(wrenches).collect()
}

// dual numbers against Richardson's differences along random directions, at states with and without contact
#[test]
fn tangents_of_sensors_are_their_derivatives() {
    let mut found = Vec::new();
    let models = [
        "adhesion",
        "contact_elliptic",
        "rangefinders",
        "sensors_constraint",
        "sensors_contact",
        "sensors_distance",
    ];
    for name in models {
        let mut m = load(name);
        (m.opt.iterations, m.opt.tolerance) = (200, 0.0);
        // at rest rays end at edges of height fields, and contacts are about to slide
        for state in ["s0", "s1", "s2"] {
            let base = golden_state(name, &m, state);
            for seed in 0..2 {
                let x = Direction::new(&m, seed);
                let at = |s: f64| written(&m, combined(&m, &base, &[(&x, s)]));
                let slope = |h: f64| -> Vec<f64> {
                    at(h).iter().zip(at(-h)).map(|(p, m)| (p - m) / (2.0 * h)).collect()
                };
                let h = 1e-5;
                let fine = slope(h);
                let coarse = slope(2.0 * h);
                let fd: Vec<f64> =
                    fine.iter().zip(&coarse).map(|(a, b)| (4.0 * a - b) / 3.0).collect();
                let dual = written(&m, combined(&m, &base, &[(&x, Dual64::new(0.0, 1.0))]));
                let e = err(&parts(&dual, 1), &fd);
                if e > tolerance::scaled(1e-6) {
                    found.push(format!("{name} {state}, direction {seed}: {e:e}"));
                }
            }
        }
    }
    report(&found);
}

// what the closed form does not have comes from dual numbers, column by column, and the closed form alone refuses
#[test]
fn sensors_that_the_closed_form_lacks_come_from_dual_numbers() {
    let name = "sensors_distance";
    let m = load(name);
    let d = golden_state(name, &m, "s0");
    let refused = mjd_transition_analytic(&m, &d).unwrap_err();
    assert!(matches!(refused, TransitionError::NotCovered { feature: Feature::Sensors }));

    let auto = mjd_transition(&m, &d, &DerivativeConfig::by(Method::Auto)).unwrap();
    let dual = mjd_transition_dual(&m, &d).unwrap();
    let pairs = [
        (auto.A.iter(), dual.A.iter()),
        (auto.B.iter(), dual.B.iter()),
        (auto.C.iter(), dual.C.iter()),
        (auto.D.iter(), dual.D.iter()),
    ];
    for (a, b) in pairs {
        let (a, b): (Vec<f64>, Vec<f64>) = (a.copied().collect(), b.copied().collect());
        assert!(err(&a, &b) < 1e-12, "{name}");
    }
    assert!(auto.columns.iter().all(|c| c.origin == Origin::Analytic));
    let why = Reason::NotCovered(Feature::Sensors);
    assert!(auto.sensor_columns.iter().all(|c| c.origin == Origin::Dual && c.why == why));
    assert!(auto.C.iter().any(|x| *x != 0.0));
    assert!(covers_sensor(SensorType::Rangefinder) && !covers_sensor(SensorType::GeomDist));
}

// an actuator across a gap has no rows, and the closed form no derivative of its moment
#[test]
fn the_closed_form_refuses_actuators_on_contacts() {
    let m = parse(
        r#"<mujoco>
             <worldbody>
               <geom type="plane" size="1 1 .1"/>
               <body name="b" pos="0 0 .12"><freejoint/><geom size=".1" gap=".05"/></body>
             </worldbody>
             <actuator><adhesion body="b" ctrlrange="0 1"/></actuator>
           </mujoco>"#,
    );
    let mut d = Data::<f64>::new(&m);
    d.ctrl[0] = 0.5;
    forward(&m, &mut d).unwrap();
    assert_eq!((d.contact.len(), d.efc.nefc), (1, 0));
    assert_eq!(d.qfrc_actuator[2], -0.5);
    let refused = mjd_transition_analytic(&m, &d).unwrap_err();
    assert!(matches!(refused, TransitionError::NotCovered { feature: Feature::BodyTransmission }));
    let auto = mjd_transition(&m, &d, &DerivativeConfig::by(Method::Auto)).unwrap();
    assert_eq!(auto.not_covered(), [Feature::BodyTransmission]);
    assert!((auto.B[(m.nv + 2, 0)] * m.body_mass[1] / m.opt.timestep + 1.0).abs() < 1e-12);
}

// what contacts, connects and welds do to bodies adds up to what the solver does to degrees of freedom: for free bodies
// the external force is the constraint force
#[test]
fn forces_on_free_bodies_are_those_of_the_rows() {
    for name in ["contact_elliptic", "sensors_contact", "adhesion"] {
        let m = load(name);
        for state in ["s0", "s2", "s3"] {
            let mut d = golden_state(name, &m, state);
            d.xfrc_applied.fill([0.0; 6]);
            forward(&m, &mut d).unwrap();
            dualstep::constraint::rne_post_constraint(&m, &mut d);
            for b in 1..m.nbody {
                let alone = m.body_dofnum[b] == 6 && !m.body_parentid[b + 1..].contains(&b);
                if !alone {
                    continue;
                }
                // what surfaces attract each other with is passive
                let dofs = m.body_dofadr[b]..m.body_dofadr[b] + 3;
                let found: Vec<f64> =
                    dofs.map(|i| d.qfrc_constraint[i] + d.qfrc_passive[i]).collect();
                let e = err(d.cfrc_ext[b].lin.as_slice(), &found);
                assert!(e < 1e-12, "{name} {state}: body {b} is off by {e:e}");
            }
        }
    }
}

// the force of a contact is inside its cone
#[test]
fn contact_forces_are_in_their_cones() {
    let mut seen = 0;
    for name in ["contact_elliptic", "contact_pile", "sensors_contact", "humanoid"] {
        let m = load(name);
        for state in ["s0", "s1", "s2", "s3"] {
            let mut d = golden_state(name, &m, state);
            forward(&m, &mut d).unwrap();
            for contact in &d.contact {
                let [normal, rest @ ..] = contact_force(&m, contact, &d.efc);
                let terms = rest.iter().zip(contact.friction).map(|(f, mu)| f / mu);
                let size = match m.opt.cone {
                    dualstep::model::Cone::Elliptic => terms.map(|x| x * x).sum::<f64>().sqrt(),
                    dualstep::model::Cone::Pyramidal => terms.map(f64::abs).sum(),
                };
                assert!(size <= normal * (1.0 + 1e-9) + 1e-12, "{name} {state}: {contact:?}");
                assert!(contact.exclude == Exclude::None || normal == 0.0);
                seen += usize::from(normal > 0.0);
            }
        }
    }
    assert!(seen > 50, "only {seen} contacts press");
}

/// A contact without rows.
fn apart(geom: [usize; 2]) -> Contact<f64> {
    Contact {
        dist: 0.1,
        pos: Vector3::zeros(),
        frame: [Vector3::x(), Vector3::y(), Vector3::z()],
        includemargin: 0.0,
        friction: [1.0; 5],
        solref: [0.02, 1.0],
        solreffriction: [0.0; 2],
        solimp: [0.9, 0.95, 0.001, 0.5, 2.0],
        adhesion: 2.0,
        dim: 3,
        geom,
        exclude: Exclude::Gap,
        mu: 0.0,
        efc_address: None,
    }
}

#[test]
fn contacts_without_rows_have_no_force() {
    let m = parse("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>");
    let d = Data::<f64>::new(&m);
    assert_eq!(contact_force(&m, &apart([0, 0]), &d.efc), [0.0; 6]);
}

const SHAPES: [GeomType; 5] =
    [GeomType::Sphere, GeomType::Capsule, GeomType::Ellipsoid, GeomType::Cylinder, GeomType::Box];

/// A rotation by a random angle about a random axis.
fn turned(random: &mut Random) -> Matrix3<f64> {
    let axis = Vector3::from_fn(|_, _| random.signed(1.0)).normalize();
    nalgebra::Rotation3::new(axis * random.signed(3.0)).into_inner()
}

// a ray ends on the surface: just before it is outside, just after inside, and the normal says so; a ray that meets
// nothing passes no inner point
#[test]
fn rays_end_on_surfaces() {
    let mut random = Random::new(5);
    let size = Vector3::new(0.3, 0.2, 0.4);
    let (mut hits, mut misses) = (0, 0);
    for round in 0..4000 {
        let kind = SHAPES[round % SHAPES.len()];
        let (pos, mat) = (Vector3::from_fn(|_, _| random.signed(1.0)), turned(&mut random));
        let far = if random.below(3) == 0 { 0.2 } else { 2.0 };
        let from = pos + Vector3::from_fn(|_, _| random.signed(far));
        let target = pos + Vector3::from_fn(|_, _| random.signed(0.6));
        let vec = target - from;
        let inside = |x: f64| inside_geom(kind, &size, &mat.tr_mul(&(from + vec * x - pos)));
        if let Some((dist, normal)) = ray_geom(kind, &size, &pos, &mat, &from, &vec) {
            let (before, after) = (inside(dist - 1e-7), inside(dist + 1e-7));
            // a corner may be missed on both sides
            if before == after {
                continue;
            }
            hits += 1;
            assert!((normal.norm() - 1.0).abs() < 1e-12, "{kind:?}");
            assert_eq!(before, normal.dot(&vec) > 0.0, "{kind:?}");
            let steps = (0..50).map(|k| f64::from(k) / 50.0 * dist);
            assert!(steps.take(49).all(|x| inside(x) == before), "{kind:?}");
        } else {
            misses += 1;
            assert!((0..200).all(|k| !inside(f64::from(k) * 0.02)), "{kind:?}");
        }
    }
    assert!(hits > 2000 && misses > 300, "{hits} hits, {misses} misses");
}

// a ray by its mesh and by the box that the mesh is
#[test]
fn a_box_of_triangles_is_a_box() {
    let m = parse(
        r#"<mujoco>
             <asset><mesh name="box" vertex="-1 -1 -1 1 -1 -1 -1 1 -1 1 1 -1 -1 -1 1 1 -1 1 -1 1 1 1 1 1"
                          scale=".3 .2 .4"/></asset>
             <worldbody>
               <geom name="mesh" type="mesh" mesh="box" pos="1 2 3"/>
               <geom name="box" type="box" size=".3 .2 .4" pos="1 2 3" group="1"/>
             </worldbody>
           </mujoco>"#,
    );
    let mut d = Data::<f64>::new(&m);
    forward(&m, &mut d).unwrap();
    let only = |g: usize| RayFilter {
        group: Some(std::array::from_fn::<bool, NGROUP, _>(|group| group == g)),
        ..RayFilter::default()
    };
    let mut random = Random::new(8);
    let mut hits = 0;
    for _ in 0..2000 {
        let from = Vector3::new(1.0, 2.0, 3.0) + Vector3::from_fn(|_, _| random.signed(1.0));
        let vec = Vector3::new(1.0, 2.0, 3.0) - from + Vector3::from_fn(|_, _| random.signed(0.6));
        let [mesh, solid] = [0, 1].map(|g| ray(&m, &d, &from, &vec, &only(g)));
        assert_eq!(mesh.is_some(), solid.is_some());
        if let (Some(mesh), Some(solid)) = (mesh, solid) {
            hits += 1;
            assert!(
                (mesh.dist - solid.dist).abs() < 1e-6 && (mesh.normal - solid.normal).norm() < 1e-6
            );
        }
    }
    assert!(hits > 300);
}

// each part of the filter hides what it names, and nothing else
#[test]
fn rays_pass_what_the_filter_names() {
    let m = parse(
        r#"<mujoco>
             <worldbody>
               <geom size=".1" pos="1 0 0" group="7"/>
               <body pos="2 0 0"><joint/><geom size=".1" group="2"/></body>
               <body pos="3 0 0"><joint/><geom size=".1" rgba="1 1 1 0"/></body>
               <body pos="4 0 0"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
                 <geom size=".1" group="-3"/></body>
             </worldbody>
           </mujoco>"#,
    );
    let mut d = Data::<f64>::new(&m);
    forward(&m, &mut d).unwrap();
    let first = |filter: RayFilter| {
        let hit: Option<Hit<f64>> = ray(&m, &d, &Vector3::zeros(), &Vector3::x(), &filter);
        hit.map(|hit| hit.geom)
    };
    let all = RayFilter::default();
    assert_eq!(first(all), Some(0));
    assert_eq!(first(RayFilter { bodyexclude: Some(WORLD), ..all }), Some(1));
    assert_eq!(first(RayFilter { skip_static: true, ..all }), Some(1));
    let groups = |seen: &[usize]| RayFilter {
        group: Some(std::array::from_fn(|g| seen.contains(&g))),
        ..all
    };
    // groups beyond the ends count as those at the ends
    assert_eq!(first(groups(&[5])), Some(0));
    assert_eq!(first(groups(&[2])), Some(1));
    assert_eq!(first(groups(&[0])), Some(3));
    assert_eq!(first(groups(&[1, 3, 4])), None);
}
