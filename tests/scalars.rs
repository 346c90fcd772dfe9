//! The whole pipeline runs on every scalar, computes the same values on each, and its tangents are finite
//! and right.
//!
//! - Every stage runs on f64, first- and second-order duals, on every model: real parts agree with the f64
//!   run, tangents are finite, in motion and at rest (zero velocity, unit quaternions, slack springs), where
//!   norms and square roots have no derivative of their own.
//! - First derivatives of a step agree with centred differences of f64 steps, second derivatives with those
//!   of first-order dual steps, with every integrator.
//!
//! Fails when, for example: `Quat::log` takes the closed form at identity (0/0 in the tangent), a stage
//! branches on more than the real part, or `clip` keeps the tangent of what it clips.

use std::path::Path;

use dualstep::collision::{self, Collision, Contact, Exclude};
use dualstep::constraint::{self, Efc, EfcType};
use dualstep::math::{SpatialInertia, SpatialVec};
use dualstep::model::{
    DynType, GainType, Integrator, JointType, LimitModel, Model, ObjType, SensorType,
};
use dualstep::ray::{self, RayFilter};
use dualstep::scalar::Dual;
use dualstep::smooth::qderiv::{self, QDeriv};
use dualstep::smooth::{self, actuation, jacobian, muscle, passive, poly};
use dualstep::{Data, Scalar, energy, forward, integrate, inverse, linalg, sensor};
use dualstep_validation::compare::err;
use dualstep_validation::tolerance::{self, DUAL_DERIVATIVE, DUAL_SOLVED, DUAL_VALUE};
use nalgebra::Vector3;
use num_dual::{Dual2_64, Dual64, HyperDual64};

use crate::support::{
    Direction, INTEGRATORS, combined, golden_state, load, names, parts, report, with_integrator,
};

/// A stage's name and all numbers that it wrote.
type Written<T> = Vec<(&'static str, Vec<T>)>;

fn vectors<T: Scalar>(x: &[Vector3<T>]) -> Vec<T> {
    x.iter().flat_map(|v| v.iter().copied()).collect()
}

/// Everything in `Data` that the stages of `forward` write.
fn fields<T: Scalar>(d: &Data<T>) -> Written<T> {
    let spatial = |x: &[SpatialVec<T>]| x.iter().flat_map(SpatialVec::to_array).collect();
    let inertia = |x: &[SpatialInertia<T>]| x.iter().flat_map(SpatialInertia::to_array).collect();
    let matrices = |x: &[nalgebra::Matrix3<T>]| x.iter().flat_map(|v| v.iter().copied()).collect();
    vec![
        ("xpos", vectors(&d.xpos)),
        ("xquat", d.xquat.iter().flat_map(|q| q.to_array()).collect()),
        ("xmat", matrices(&d.xmat)),
        ("xipos", vectors(&d.xipos)),
        ("ximat", matrices(&d.ximat)),
        ("xanchor", vectors(&d.xanchor)),
        ("xaxis", vectors(&d.xaxis)),
        ("geom_xpos", vectors(&d.geom_xpos)),
        ("geom_xmat", matrices(&d.geom_xmat)),
        ("site_xpos", vectors(&d.site_xpos)),
        ("site_xmat", matrices(&d.site_xmat)),
        ("cam_xpos", vectors(&d.cam_xpos)),
        ("cam_xmat", matrices(&d.cam_xmat)),
        ("subtree_com", vectors(&d.subtree_com)),
        ("cdof", spatial(&d.cdof)),
        ("cinert", inertia(&d.cinert)),
        ("ten_length", d.ten_length.clone()),
        ("ten_J", d.ten_J.clone()),
        ("actuator_length", d.actuator_length.clone()),
        ("actuator_moment", d.actuator_moment.clone()),
        ("crb", inertia(&d.crb)),
        ("qM", d.qM.clone()),
        ("qLD", d.qLD.clone()),
        ("qLDiagInv", d.qLDiagInv.clone()),
        ("ten_velocity", d.ten_velocity.clone()),
        ("actuator_velocity", d.actuator_velocity.clone()),
        ("cvel", spatial(&d.cvel)),
        ("cdof_dot", spatial(&d.cdof_dot)),
        ("qfrc_bias", d.qfrc_bias.clone()),
        ("qfrc_spring", d.qfrc_spring.clone()),
        ("qfrc_damper", d.qfrc_damper.clone()),
        ("qfrc_gravcomp", d.qfrc_gravcomp.clone()),
        ("qfrc_passive", d.qfrc_passive.clone()),
        ("subtree_linvel", vectors(&d.subtree_linvel)),
        ("subtree_angmom", vectors(&d.subtree_angmom)),
        ("act_dot", d.act_dot.clone()),
        ("actuator_force", d.actuator_force.clone()),
        ("qfrc_actuator", d.qfrc_actuator.clone()),
        ("qfrc_smooth", d.qfrc_smooth.clone()),
        ("qacc_smooth", d.qacc_smooth.clone()),
        ("qacc", d.qacc.clone()),
        ("cacc", spatial(&d.cacc)),
        ("cfrc_int", spatial(&d.cfrc_int)),
        ("cfrc_ext", spatial(&d.cfrc_ext)),
        ("sensordata", d.sensordata.clone()),
        ("energy", d.energy.to_vec()),
    ]
}

/// State of `d`.
fn state<T: Scalar>(d: &Data<T>) -> Vec<T> {
    [d.qpos.as_slice(), &d.qvel, &d.act, &[d.time]].concat()
}

/// Every stage by itself, in pipeline order.
fn stages<T: Scalar>(m: &Model, d: &mut Data<T>) -> Written<T> {
    smooth::kinematics(m, d);
    smooth::com_pos(m, d);
    smooth::camera(m, d);
    smooth::tendon(m, d);
    smooth::crb(m, d);
    smooth::factor_m(m, d);
    smooth::transmission(m, d);
    energy::energy_pos(m, d);
    sensor::sensor_pos(m, d);
    smooth::actuator_tendon_velocity(m, d);
    smooth::com_vel(m, d);
    smooth::passive(m, d);
    smooth::rne(m, d);
    energy::energy_vel(m, d);
    smooth::subtree_vel(m, d);
    sensor::sensor_vel(m, d);
    smooth::actuation(m, d);
    smooth::smooth_force(m, d);
    smooth::acceleration(m, d);
    d.qacc.copy_from_slice(&d.qacc_smooth);
    constraint::rne_post_constraint(m, d);
    sensor::sensor_acc(m, d);
    energy::energy(m, d);
    fields(d)
}

/// What takes and gives vectors instead of writing fields of `Data`; `stages` have run.
fn products<T: Scalar>(m: &Model, d: &mut Data<T>) -> Written<T> {
    let mut product = vec![T::zero(); m.nv];
    smooth::mul_m(m, d, &d.qvel, &mut product);
    let mut forces = vec![T::zero(); m.nv];
    let qacc = d.qacc.clone();
    smooth::rne_with_acceleration(m, d, &qacc, &mut forces);

    let mut solved = product.clone();
    linalg::tree_ldl::solve(m, &d.qLD, &d.qLDiagInv, &mut solved);
    let mut both: Vec<T> = product.iter().flat_map(|x| [*x, -*x]).collect();
    linalg::tree_ldl::solve_many(m, &d.qLD, &d.qLDiagInv, &mut both, 2);
    let (mut factor, mut inverse) = (d.qM.clone(), vec![T::zero(); m.nv]);
    linalg::tree_ldl::factor(m, "inertia", &mut factor, &mut inverse);

    let mut q = QDeriv::new(m);
    qderiv::mjd_smooth_vel(m, d, &mut q, true);
    let smooth_vel = q.qDeriv.clone();
    q.qDeriv.fill(T::zero());
    qderiv::mjd_actuator_vel(m, d, &mut q);
    qderiv::mjd_passive_vel(m, d, &mut q);
    qderiv::mjd_rne_vel(m, d, &mut q);

    let mut applied = vec![T::zero(); m.nv];
    let mut axes = Vec::new();
    for b in m.bodies_base_to_tip() {
        let (force, torque) = (d.cvel[b].lin, d.cvel[b].rot);
        jacobian::apply_ft(m, d, &force, &torque, &d.xipos[b], b, &mut applied);
        for dof in m.body_dofs_to_root(b) {
            let (rot, lin) = jacobian::dof_point_velocity(d, dof, m.body_rootid[b], &d.xpos[b]);
            axes.extend([rot, lin]);
        }
    }
    vec![
        ("full_m", smooth::full_m(m, d)),
        ("mul_m", product),
        ("rne_with_acceleration", forces),
        ("solve", solved),
        ("solve_many", both),
        ("factor", [factor, inverse].concat()),
        ("mjd_smooth_vel", smooth_vel),
        ("its parts", q.qDeriv),
        ("apply_ft", applied),
        ("dof_point_velocity", vectors(&axes)),
        ("objects", objects(m, d)),
        ("clamped", clamped(m, d)),
        ("read contacts", read_contacts(m, d)),
        ("curves", curves(m, d)),
        ("differentiate_pos", tangents(m, d)),
        ("constraint rows", constraint_rows(m, d)),
        ("penalties", penalties(m, d)),
        ("rays", rays(m, d)),
        ("distances", distances(m, d)),
    ]
}

/// Rays from one point through each geom: what they meet first, and the geom itself.
fn rays<T: Scalar>(m: &Model, d: &Data<T>) -> Vec<T> {
    let from = Vector3::new(0.3, -0.7, 5.0).map(T::lift);
    let mut out = Vec::new();
    for g in 0..m.ngeom {
        let vec = d.geom_xpos[g] - from + Vector3::new(0.003, 0.007, 0.001).map(T::lift);
        let first = ray::ray(m, d, &from, &vec, &RayFilter::default());
        let one = ray::ray_one(m, d, g, &from, &vec);
        for hit in first.iter().chain(&one) {
            out.push(hit.dist);
            out.extend(hit.normal.iter());
        }
        let (kind, size) = (m.geom_type[g], &m.geom_size[g]);
        let shape = ray::ray_geom(kind, size, &d.geom_xpos[g], &d.geom_xmat[g], &from, &vec);
        out.extend(shape.map(|(dist, _)| dist));
        for s in 0..m.nsite {
            let inside = ray::inside_site(m, d, s, &d.geom_xpos[g]);
            let met = ray::ray_meets_site(m, d, s, &d.geom_xpos[g], &vec);
            out.extend([inside, met].map(|is| T::lift(f64::from(u8::from(is)))));
        }
    }
    out
}

/// Distances of each geom from the first and the last, and forces of all contacts.
fn distances<T: Scalar>(m: &Model, d: &Data<T>) -> Vec<T> {
    let mut memory = Collision::new(m);
    let mut out = Vec::new();
    for g in 0..m.ngeom {
        for other in [0, m.ngeom - 1] {
            let found = collision::geom_distance(m, d, [g, other], 10.0, &mut memory);
            if let Some(separation) = found.filter(|_| g != other) {
                out.push(separation.dist);
                out.extend(vectors(&separation.fromto));
            }
        }
    }
    for contact in &d.contact {
        out.extend(constraint::contact_force(m, contact, &d.efc));
    }
    let rows = (0..m.njnt).filter_map(|j| constraint::limit_row(&d.efc, EfcType::LimitJoint, j));
    out.extend(rows.map(|row| d.efc.pos[row]));
    out
}

/// Forces of limits and equalities that are penalties.
fn penalties<T: Scalar>(m: &Model, d: &Data<T>) -> Vec<T> {
    let (mut m, mut d) = (m.clone(), d.clone());
    m.opt.limits = LimitModel::Penalty;
    let mut rows = Efc::new(m.nv, constraint::max_rows(&m, 0));
    constraint::make_penalty(&m, &d, &mut rows);
    d.penalty = rows;
    d.qfrc_passive.fill(T::zero());
    constraint::penalty_force(&m, &mut d);
    d.qfrc_passive
}

/// Rows of all constraints, with a contact between the first and the last geom, were it there or not.
fn constraint_rows<T: Scalar>(m: &Model, d: &Data<T>) -> Vec<T> {
    let (first, last) = (0, m.ngeom.saturating_sub(1));
    let contact = |dim: usize| Contact {
        dist: d.geom_xpos[last].x * T::lift(0.01),
        pos: d.geom_xpos[last],
        frame: [0, 1, 2].map(|k| d.geom_xmat[first].column(k).into_owned()),
        includemargin: 0.001,
        friction: [1.0, 0.9, 0.01, 0.002, 0.001],
        solref: m.geom_solref[last],
        solreffriction: [-10.0, -1.0],
        solimp: m.geom_solimp[last],
        adhesion: 0.0,
        dim,
        geom: [first, last],
        exclude: Exclude::None,
        mu: 0.0,
        efc_address: None,
    };
    let mut contacts = if m.ngeom > 0 { [1, 3, 4, 6].map(contact).to_vec() } else { Vec::new() };
    let mut efc = Efc::new(m.nv, constraint::max_rows(m, 4) + 4 * 10);
    constraint::make_constraint(m, d, &mut contacts, &mut efc);
    constraint::reference_constraint(m, d, &contacts, &mut efc);
    [efc.J, efc.pos, efc.KBIP.concat(), efc.R, efc.D, efc.vel, efc.aref].concat()
}

/// Poses, velocities and accelerations of all bodies, in their own axes.
fn objects<T: Scalar>(m: &Model, d: &Data<T>) -> Vec<T> {
    let mut out = Vec::new();
    for b in m.bodies_base_to_tip() {
        let frame = smooth::object_frame(m, d, ObjType::XBody, b);
        out.extend(frame.pos.iter().chain(frame.rot.iter()));
        out.extend(smooth::object_quat(m, d, ObjType::Body, b).to_array());
        out.extend(smooth::object_velocity(m, d, ObjType::Body, b, true).to_array());
        out.extend(smooth::object_acceleration(m, d, ObjType::Body, b, true).to_array());
    }
    out
}

/// Which sensor values are clamped, as 0 and 1.
fn clamped<T: Scalar>(m: &Model, d: &Data<T>) -> Vec<T> {
    let flags = (0..m.nsensor).flat_map(|i| sensor::clamped(m, d, i));
    flags.map(|clamped| T::lift(f64::from(u8::from(clamped)))).collect()
}

/// Which contacts sensors read, as numbers.
fn read_contacts<T: Scalar>(m: &Model, d: &Data<T>) -> Vec<T> {
    let number = |x: usize| T::lift(x as f64);
    let mut out = Vec::new();
    for i in 0..m.nsensor {
        let site = m.sensor_objid[i].unwrap_or(0);
        match m.sensor_type[i] {
            SensorType::Contact => {
                let matches = |c| sensor::contact_matches(m, d, i, c).is_some();
                out.push(number(d.contact.iter().filter(|c| matches(c)).count()));
                out.extend(sensor::chosen_contacts(m, d, i).map(|(c, _)| number(c)));
            }
            SensorType::Touch => {
                let felt = d.contact.iter().filter(|c| sensor::touches(m, d, site, c));
                out.push(number(felt.count()));
            }
            _ => {}
        }
    }
    out
}

/// Curves of muscles and springs, activations.
fn curves<T: Scalar>(m: &Model, d: &Data<T>) -> Vec<T> {
    let mut out = Vec::new();
    for a in 0..m.nactuator {
        let (length, velocity) = (d.actuator_length[a], d.actuator_velocity[a]);
        let (range, acc0) = (&m.actuator_lengthrange[a], m.actuator_acc0[a]);
        if m.actuator_gaintype[a] == GainType::Muscle {
            let prm = &m.actuator_gainprm[a];
            out.push(muscle::gain(length, velocity, range, acc0, prm));
            out.extend(muscle::gain_derivative(length, velocity, range, acc0, prm));
            out.extend(muscle::bias(length, range, acc0, prm));
        }
        if let Some(adr) = m.actuator_actadr[a] {
            if m.actuator_dyntype[a] == DynType::Muscle {
                let u = d.ctrl[m.actuator_ctrladr[a]];
                let prm = &m.actuator_dynprm[a];
                out.push(muscle::dynamics(u, d.act[adr], prm));
                out.extend(muscle::dynamics_and_derivative(u, d.act[adr], prm));
            }
            out.push(smooth::next_activation(m, a, d.act[adr], d.act_dot[adr]));
        }
        out.extend(actuation::gain_bias(m, d, a));
        out.extend([actuation::control(m, d, a), actuation::gain_input(m, d, a)]);
        out.push(actuation::clip(length, &[-0.1, 0.1]));
        out.push(actuation::wrap_setpoint(length, velocity, 1.0));
    }
    for j in 0..m.njnt {
        let q = m.jnt_qposadr[j];
        match m.jnt_type[j] {
            JointType::Free => {
                out.extend(&passive::translation_offset(m, d, q));
                out.extend(&passive::rotation_offset(m, d, q + 3));
            }
            JointType::Ball => out.extend(&passive::rotation_offset(m, d, q)),
            JointType::Slide | JointType::Hinge => {}
        }
    }
    out.extend((0..m.ntendon).map(|t| passive::tendon_extension(m, d, t)));
    out.extend((0..m.nv).flat_map(|i| integrate::stiffness(m, &d.qpos, i)));
    for v in &d.qvel {
        let k = [1.0, 0.5, -0.25];
        out.extend([poly::coefficient(&k, *v), poly::coefficient_odd(&k, *v)]);
        out.extend([poly::derivative_odd(&k, *v), poly::potential(&k, *v)]);
    }
    out
}

/// The velocity that leads to the next positions: the velocity.
fn tangents<T: Scalar>(m: &Model, d: &Data<T>) -> Vec<T> {
    let h = T::lift(0.01);
    let mut next = d.qpos.clone();
    integrate::integrate_pos(m, &mut next, &d.qvel, h);
    let mut v = vec![T::zero(); m.nv];
    integrate::differentiate_pos(m, &mut v, h, &d.qpos, &next);
    v
}

/// What composes the stages: forward and inverse dynamics, integrators, steps.
fn compositions<T: Scalar>(m: &Model, d: &mut Data<T>) -> Written<T> {
    forward::fwd_position(m, d);
    forward::fwd_velocity(m, d);
    forward::fwd_acceleration(m, d).unwrap();
    forward::fwd_constraint(m, d).unwrap();
    forward::forward_dynamics(m, d).unwrap();
    forward::forward(m, d).unwrap();
    forward::forward_skip(m, d, forward::Reuse::Velocity, forward::Outputs::All).unwrap();
    forward::check_input(d).unwrap();
    forward::check_acceleration(&d.qacc).unwrap();
    let mut written = vec![("qacc of forward", d.qacc.clone())];
    if integrate_discretely(m) {
        inverse::inverse(m, d).unwrap();
        written.push(("qfrc_inverse", d.qfrc_inverse.clone()));
    }

    let mut one = d.clone();
    forward::step(m, &mut one).unwrap();
    written.push(("state after a step", state(&one)));
    if m.opt.integrator != Integrator::RK4 {
        let mut one = d.clone();
        forward::step_skip(m, &mut one, forward::Reuse::Velocity, forward::Outputs::All).unwrap();
        written.push(("state after a step with reuse", state(&one)));

        // the integrator by itself, after forward
        let mut one = d.clone();
        match m.opt.integrator {
            Integrator::Euler => integrate::euler(m, &mut one),
            Integrator::Implicit => integrate::implicit(m, &mut one).unwrap(),
            Integrator::ImplicitFast => integrate::implicitfast(m, &mut one),
            Integrator::ImplicitSpringDamper => integrate::implicit_spring_damper(m, &mut one),
            Integrator::RK4 => {}
        }
        written.push(("state after the integrator", state(&one)));
    }
    let (act_dot, qacc) = (d.act_dot.clone(), d.qacc.clone());
    integrate::advance(m, d, &act_dot, &qacc, None);
    written.push(("state after advance", state(d)));
    written
}

/// True if inverse dynamics is defined: only some integrators have a discrete one.
fn integrate_discretely(m: &Model) -> bool {
    use dualstep::model::options::enable;
    !m.opt.enabled(enable::INVDISCRETE)
        || !matches!(m.opt.integrator, Integrator::RK4 | Integrator::ImplicitSpringDamper)
}

/// Everything, from the state of `base` moved by nothing but tangents.
fn run<T: Scalar>(m: &Model, base: &Data<f64>) -> Written<T> {
    let direction = |k: u64| Direction::new(m, k);
    let terms: Vec<(Direction, T)> = (1..T::PARTS)
        .map(|k| (direction(k as u64), T::from_parts(|p| if p == k { 1.0 } else { 0.0 })))
        .collect();
    let terms: Vec<(&Direction, T)> = terms.iter().map(|(x, c)| (x, *c)).collect();
    let start = combined(m, base, &terms);

    let mut d = start.clone();
    let mut written = stages(m, &mut d);
    written.append(&mut products(m, &mut d));
    for integrator in INTEGRATORS {
        let m = with_integrator(m, integrator);
        // with the scratch of this integrator
        let mut d = Data::<T>::new(&m);
        dualstep_derivatives::tangent::State::of(&start).write(&mut d);
        d.ctrl.copy_from_slice(&start.ctrl);
        d.qfrc_applied.copy_from_slice(&start.qfrc_applied);
        d.xfrc_applied.copy_from_slice(&start.xfrc_applied);
        d.mocap_pos.copy_from_slice(&start.mocap_pos);
        d.mocap_quat.copy_from_slice(&start.mocap_quat);
        written.append(&mut compositions(&m, &mut d));
    }
    written
}

/// What is wrong with a run on `T`, compared with that on f64.
fn problems<T: Scalar>(
    what: &str,
    m: &Model,
    base: &Data<f64>,
    real: &Written<f64>,
) -> Vec<String> {
    // what follows from the constraint solver is as exact as its minimum
    let solved = ["qacc of forward", "qfrc_inverse", "state after"];
    let tolerance = |name: &str| {
        let is_solved = solved.iter().any(|s| name.starts_with(s));
        tolerance::scaled(if is_solved { DUAL_SOLVED } else { DUAL_VALUE })
    };
    let dual = run::<T>(m, base);
    assert_eq!(dual.len(), real.len());
    let mut found = Vec::new();
    for ((name, x), (_, r)) in dual.iter().zip(real) {
        let e = err(&parts(x, 0), r);
        if e > tolerance(name) {
            found.push(format!("{what}: {name}: off by {e:e}"));
        }
        if let Some(i) = x.iter().position(|x| !x.finite()) {
            found.push(format!("{what}: {name}[{i}] is {}", x[i]));
        }
    }
    found
}

fn every_scalar(what: &str, m: &Model, base: &Data<f64>) -> Vec<String> {
    let real = run::<f64>(m, base);
    let mut found = problems::<Dual64>(&format!("{what}, Dual64"), m, base, &real);
    found.append(&mut problems::<Dual<8>>(&format!("{what}, Dual<8>"), m, base, &real));
    found.append(&mut problems::<HyperDual64>(&format!("{what}, HyperDual64"), m, base, &real));
    found.append(&mut problems::<Dual2_64>(&format!("{what}, Dual2_64"), m, base, &real));
    found
}

#[test]
fn every_stage_runs_on_every_scalar() {
    let mut found = Vec::new();
    for name in names() {
        let m = load(&name);
        for state in ["s0", "s2"] {
            let d = golden_state(&name, &m, state);
            found.append(&mut every_scalar(&format!("{name} {state}"), &m, &d));
        }
    }
    report(&found);
}

#[test]
fn tangents_are_finite_at_rest() {
    let mut found = Vec::new();
    for name in names() {
        let m = load(&name);
        // no velocity, no activation, no control, springs and quaternions at their reference
        let d = Data::new(&m);
        found.append(&mut every_scalar(&format!("{name} at rest"), &m, &d));
    }
    report(&found);
}

#[test]
fn every_stage_is_instantiated_here() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let here = include_str!("scalars.rs");
    let mut folders = vec![root.join("src")];
    let mut missing = Vec::new();
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            // free functions, generic over the scalar, that write data; methods are indented
            for item in text.split("\npub fn ").skip(1) {
                let signature = item.split(" {\n").next().unwrap_or(item);
                let Some((name, arguments)) = signature.split_once("<T: Scalar>(") else {
                    continue;
                };
                // called by step, which saves what rk4 reads, and by inverse
                let called = ["rk4", "inverse_constraint"].contains(&name);
                if !arguments.contains("&mut Data<T>") || called {
                    continue;
                }
                count += 1;
                if !here.contains(&format!("{name}(")) {
                    missing.push(format!("{}: {name}", path.display()));
                }
            }
        }
    }
    assert!(count > 30, "only {count} functions were found in src/");
    report(&missing);
}

/// State and sensors after a step.
fn stepped<T: Scalar>(m: &Model, mut d: Data<T>) -> Vec<T> {
    forward::step(m, &mut d).unwrap();
    [state(&d), d.sensordata].concat()
}

fn difference(plus: &[f64], minus: &[f64], h: f64) -> Vec<f64> {
    plus.iter().zip(minus).map(|(p, m)| (p - m) / (2.0 * h)).collect()
}

#[test]
fn first_derivatives_of_a_step_agree_with_differences() {
    let (h, tolerance) = (1e-6, tolerance::scaled(DUAL_DERIVATIVE));
    let mut found = Vec::new();
    for name in names() {
        let model = load(&name);
        let base = golden_state(&name, &model, "s1");
        for integrator in INTEGRATORS {
            let m = with_integrator(&model, integrator);
            for seed in 0..3 {
                let x = Direction::new(&m, seed);
                let at = |s: f64| stepped(&m, combined(&m, &base, &[(&x, s)]));
                let fd = difference(&at(h), &at(-h), h);
                let dual = stepped(&m, combined(&m, &base, &[(&x, Dual64::new(0.0, 1.0))]));
                let e = err(&parts(&dual, 1), &fd);
                if e > tolerance {
                    found.push(format!("{name} {integrator:?}, direction {seed}: {e:e}"));
                }
            }
        }
    }
    report(&found);
}

#[test]
fn wide_duals_carry_what_single_ones_do() {
    for name in ["actuator_dynamics", "joint_anchors_balls", "tendon_fixed"] {
        let m = load(name);
        let base = golden_state(name, &m, "s1");
        let directions: Vec<Direction> = (0..8).map(|seed| Direction::new(&m, seed)).collect();
        let unit = |k: usize| Dual::<8>::from_parts(|p| if p == k + 1 { 1.0 } else { 0.0 });
        let terms: Vec<_> = directions.iter().enumerate().map(|(k, x)| (x, unit(k))).collect();
        let wide = stepped(&m, combined(&m, &base, &terms));
        for (k, x) in directions.iter().enumerate() {
            let single = stepped(&m, combined(&m, &base, &[(x, Dual64::new(0.0, 1.0))]));
            let e = err(&parts(&wide, k + 1), &parts(&single, 1));
            assert!(e <= tolerance::scaled(DUAL_VALUE), "{name}: tangent {k} is off by {e:e}");
        }
    }
}

#[test]
fn second_derivatives_of_a_step_agree_with_differences() {
    let (h, tolerance) = (1e-6, tolerance::scaled(DUAL_DERIVATIVE));
    let mut found = Vec::new();
    for name in names() {
        let model = load(&name);
        let base = golden_state(&name, &model, "s1");
        let (x, y) = (Direction::new(&model, 1), Direction::new(&model, 2));
        for integrator in INTEGRATORS {
            let m = with_integrator(&model, integrator);
            // ∂/∂s of the tangent along x, at s along y
            let mixed = |s: f64, y: &Direction| {
                let terms = [(&x, Dual64::new(0.0, 1.0)), (y, Dual64::lift(s))];
                parts(&stepped(&m, combined(&m, &base, &terms)), 1)
            };
            let fd = difference(&mixed(h, &y), &mixed(-h, &y), h);
            let terms = [
                (&x, HyperDual64::new(0.0, 1.0, 0.0, 0.0)),
                (&y, HyperDual64::new(0.0, 0.0, 1.0, 0.0)),
            ];
            let hyper = stepped(&m, combined(&m, &base, &terms));
            let twice = difference(&mixed(h, &x), &mixed(-h, &x), h);
            let second = stepped(&m, combined(&m, &base, &[(&x, Dual2_64::new(0.0, 1.0, 0.0))]));
            let e = [err(&parts(&hyper, 3), &fd), err(&parts(&second, 2), &twice)];
            if e[0].max(e[1]) > tolerance {
                found.push(format!("{name} {integrator:?}: {e:?}"));
            }
        }
    }
    report(&found);
}
