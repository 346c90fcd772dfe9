//! Identities of mechanics, on random trees: no oracle, no tolerance for a common mistake.
//!
//! | identity | fails when, for example |
//! |---|---|
//! | body velocities are the rates of body poses | the lever of a joint's anchor is missing from `cdof` |
//! | M is the Hessian of ½ Σ m v² + ω·Iω | `crb` adds a parent to its child |
//! | bias from Lagrange's equations | the sign of `cvel ×f (I cvel)` flips in `rne` |
//! | vᵀ(Ṁ v − 2 bias) = 0, Ṁ − ∂bias/∂v skew | `cdof_dot` is taken after the joint instead of before |
//! | inverse ∘ forward = identity | a passive force has opposite signs in the two |
//! | dE/dt is the power of what is not conservative | a spring's potential and force disagree |
//! | momentum is constant in free flight | `subtree_vel` forgets a parallel-axis term |
//! | accelerations do not depend on the observer | gravity is applied in a body frame |
//! | LᵀDL x = b, many at once or one by one | the elimination order is wrong at a branch |
//! | `qDeriv` is the velocity derivative by duals | the Coriolis term is added instead of subtracted |
//!
//! Lagrange's equations are used in the form of Boltzmann and Hamel, because the velocities of ball and free
//! joints are not rates of coordinates. With basis fields E_i on the configuration manifold, momenta
//! p_i = ∂T/∂v_i and brackets [E_i, E_j] = c_ij^k E_k,
//!
//! ```text
//! d/dt p_i + Σ c_ij^k v_j p_k − E_i(T − V) = force_i,
//! ```
//!
//! where for scalar joints and for translations (world axes) all c vanish, and for the three rotational
//! velocities of a ball or free joint (body axes) the sum is ω × p. At zero acceleration the left side is the
//! bias. Reference: Greenwood 2003, Advanced Dynamics, §4.3.

use dualstep::integrate::integrate_pos;
use dualstep::linalg::tree_ldl;
use dualstep::math::Quat;
use dualstep::model::{JointType, ObjType, WORLD};
use dualstep::scalar::{lift3, lift33};
use dualstep::smooth::{self, qderiv};
use dualstep::{Data, Model, Scalar, energy, forward, inverse};
use dualstep_validation::compare::err;
use dualstep_validation::random_tree::{Random, TreeOptions, random_state, random_tree};
use dualstep_validation::tolerance::{self, IDENTITY};
use nalgebra::{Matrix3, Vector3};
use num_dual::{Dual64, HyperDual64};
use proptest::prelude::*;

use crate::support::{golden_state, load, names, parse, parts, report};

/// A number that is zero, with a tangent.
const EPS: Dual64 = Dual64 { re: 0.0, eps: 1.0 };

/// Bodies and springs, dampers, armature, gravity as given; the tree may be fixed or float.
fn tree(bodies: usize, [springs, dampers, armature, gravity]: [bool; 4]) -> TreeOptions {
    TreeOptions { bodies, floating: false, springs, dampers, armature, gravity }
}

/// A random tree in a random state.
fn model(seed: u64, options: &TreeOptions) -> (Model, Data<f64>) {
    let m = parse(&random_tree(seed, options));
    let mut d = Data::new(&m);
    random_state(seed, &m, &mut d);
    (m, d)
}

/// The state of `d` with positions moved along `dq` (nv) and velocities changed by `dv` (nv).
fn shifted<T: Scalar>(m: &Model, d: &Data<f64>, dq: &[T], dv: &[T]) -> Data<T> {
    let mut out = Data::<T>::new(m);
    out.set_state_from(d);
    integrate_pos(m, &mut out.qpos, dq, T::one());
    for (v, dv) in out.qvel.iter_mut().zip(dv) {
        *v += *dv;
    }
    out
}

/// `x` (n) times a number.
fn times<T: Scalar>(x: &[f64], c: T) -> Vec<T> {
    x.iter().map(|x| T::lift(*x) * c).collect()
}

/// `c` at place `i`, zero elsewhere.
fn unit<T: Scalar>(n: usize, i: usize, c: T) -> Vec<T> {
    (0..n).map(|k| if k == i { c } else { T::zero() }).collect()
}

/// Body poses and velocities at the state.
fn velocities<T: Scalar>(m: &Model, d: &mut Data<T>) {
    smooth::kinematics(m, d);
    smooth::com_pos(m, d);
    smooth::com_vel(m, d);
}

/// ½ Σ m v² + ω·Iω over the bodies, from their velocities: without M. Armature is not in it.
fn kinetic<T: Scalar>(m: &Model, d: &mut Data<T>) -> T {
    velocities(m, d);
    let mut sum = T::zero();
    for b in m.bodies_base_to_tip() {
        // principal axes at the centre of mass
        let v = smooth::object_velocity(m, d, ObjType::Body, b, true);
        let inertia = lift3::<T>(&m.body_inertia[b]);
        sum += v.lin.norm_squared() * T::lift(m.body_mass[b]);
        sum += v.rot.component_mul(&inertia).dot(&v.rot);
    }
    sum * T::lift(0.5)
}

/// −Σ m g·x over the bodies.
fn potential<T: Scalar>(m: &Model, d: &Data<T>) -> T {
    let weigh = |b: usize| d.xipos[b].dot(&lift3(&m.opt.gravity)) * T::lift(m.body_mass[b]);
    m.bodies_base_to_tip().fold(T::zero(), |sum, b| sum - weigh(b))
}

/// First degrees of freedom of the rotational triples of ball and free joints.
fn triples(m: &Model) -> impl Iterator<Item = usize> {
    (0..m.njnt).filter_map(|j| match m.jnt_type[j] {
        JointType::Ball => Some(m.jnt_dofadr[j]),
        JointType::Free => Some(m.jnt_dofadr[j] + 3),
        JointType::Slide | JointType::Hinge => None,
    })
}

/// Bias by Lagrange's equations, see the module.
fn lagrange(m: &Model, d: &Data<f64>) -> Vec<f64> {
    let (e1, e2) = (HyperDual64::new(0.0, 1.0, 0.0, 0.0), HyperDual64::new(0.0, 0.0, 1.0, 0.0));
    let (mut p, mut force) = (vec![0.0; m.nv], vec![0.0; m.nv]);
    for i in 0..m.nv {
        // ε₁ along the flow q̇ = v, ε₂ along v_i: ∂T/∂v_i and its rate
        let flow = times(&d.qvel, e1);
        let T = kinetic(m, &mut shifted(m, d, &flow, &unit(m.nv, i, e2)));
        p[i] = T.eps2;
        // E_i(T − V)
        let mut along = shifted(m, d, &unit(m.nv, i, EPS), &[]);
        let L = kinetic(m, &mut along) - potential(m, &along);
        force[i] = T.eps1eps2 - L.eps;
    }
    for adr in triples(m) {
        let gyroscopic = Vector3::from_column_slice(&d.qvel[adr..adr + 3])
            .cross(&Vector3::from_column_slice(&p[adr..adr + 3]));
        for k in 0..3 {
            force[adr + k] += gyroscopic[k];
        }
    }
    force
}

/// Linear momentum, and angular momentum about the world's origin, from body velocities.
fn momentum<T: Scalar>(m: &Model, d: &mut Data<T>) -> Vec<T> {
    velocities(m, d);
    let (mut p, mut l) = (Vector3::<T>::zeros(), Vector3::<T>::zeros());
    for b in m.bodies_base_to_tip() {
        let v = smooth::object_velocity(m, d, ObjType::Body, b, false);
        let own = v.lin * T::lift(m.body_mass[b]);
        let spin = d.ximat[b].tr_mul(&v.rot).component_mul(&lift3(&m.body_inertia[b]));
        p += own;
        l += d.xipos[b].cross(&own) + d.ximat[b] * spin;
    }
    p.iter().chain(l.iter()).copied().collect()
}

/// The world turned by `turn` and moved by `shift`, everything with it.
fn moved_world(
    m: &Model,
    d: &Data<f64>,
    turn: Quat<f64>,
    shift: Vector3<f64>,
) -> (Model, Data<f64>) {
    let mut m = m.clone();
    m.opt.gravity = turn.rotate(&m.opt.gravity);
    for b in m.bodies_base_to_tip() {
        if m.body_parentid[b] == WORLD {
            m.body_pos[b] = turn.rotate(&m.body_pos[b]) + shift;
            m.body_quat[b] = turn * m.body_quat[b];
        }
    }
    let mut moved = Data::new(&m);
    moved.set_state_from(d);
    for j in (0..m.njnt).filter(|&j| m.jnt_type[j] == JointType::Free) {
        // positions and translational velocities and forces of a free joint are in the world frame
        let (q, dof) = (m.jnt_qposadr[j], m.jnt_dofadr[j]);
        let pos = turn.rotate(&Vector3::from_column_slice(&moved.qpos[q..q + 3])) + shift;
        let quat = turn * Quat::from_slice(&moved.qpos[q + 3..q + 7]);
        moved.qpos[q..q + 3].copy_from_slice(pos.as_slice());
        moved.qpos[q + 3..q + 7].copy_from_slice(&quat.to_array());
        for x in [&mut moved.qvel, &mut moved.qfrc_applied] {
            let turned = turn.rotate(&Vector3::from_column_slice(&x[dof..dof + 3]));
            x[dof..dof + 3].copy_from_slice(turned.as_slice());
        }
    }
    (m, moved)
}

/// ∂qfrc_smooth/∂qvel by duals, row-major.
fn smooth_vel_by_duals(m: &Model, d: &Data<f64>) -> Vec<f64> {
    let mut out = vec![0.0; m.nv * m.nv];
    for j in 0..m.nv {
        let mut dual = shifted(m, d, &times(&d.qvel, Dual64::lift(0.0)), &unit(m.nv, j, EPS));
        forward::forward_dynamics(m, &mut dual).unwrap();
        for i in 0..m.nv {
            out[i * m.nv + j] = dual.qfrc_smooth[i].eps;
        }
    }
    out
}

/// `mjd_smooth_vel` at the state.
fn smooth_vel(m: &Model, d: &mut Data<f64>) -> Vec<f64> {
    forward::forward_dynamics(m, d).unwrap();
    let mut out = qderiv::QDeriv::new(m);
    qderiv::mjd_smooth_vel(m, d, &mut out, true);
    out.qDeriv
}

fn close(x: &[f64], reference: &[f64]) -> Result<(), TestCaseError> {
    within(x, reference, IDENTITY)
}

fn within(x: &[f64], reference: &[f64], allowed: f64) -> Result<(), TestCaseError> {
    let e = err(x, reference);
    prop_assert!(e <= tolerance::scaled(allowed), "off by {e:e}:\n{x:?}\n{reference:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    // d/dt of poses, by duals along q̇ = v, against com_vel
    #[test]
    fn body_velocities_are_rates_of_poses(seed: u64, bodies in 1..8_usize) {
        let (m, d) = model(seed, &tree(bodies, [false; 4]));
        let mut flow = shifted(&m, &d, &times(&d.qvel, EPS), &[]);
        velocities(&m, &mut flow);
        for b in m.bodies_base_to_tip() {
            let v = smooth::object_velocity(&m, &flow, ObjType::Body, b, false);
            close(&parts(flow.xipos[b].as_slice(), 1), &parts(v.lin.as_slice(), 0))?;
            // Ṙ Rᵀ = [ω]
            let rate: Matrix3<f64> = flow.ximat[b].map(|x| x.eps) * flow.ximat[b].map(|x| x.re).transpose();
            let w = Vector3::new(rate[(2, 1)], rate[(0, 2)], rate[(1, 0)]);
            close(w.as_slice(), &parts(v.rot.as_slice(), 0))?;
        }
    }

    #[test]
    fn inertia_is_the_hessian_of_kinetic_energy(seed: u64, bodies in 1..7_usize) {
        let (m, mut d) = model(seed, &tree(bodies, [false, false, true, false]));
        forward::fwd_position(&m, &mut d);
        let M = smooth::full_m(&m, &d);
        let mut hessian = vec![0.0; m.nv * m.nv];
        for i in 0..m.nv {
            for j in 0..m.nv {
                let mut dv = unit(m.nv, i, HyperDual64::new(0.0, 1.0, 0.0, 0.0));
                dv[j] += HyperDual64::new(0.0, 0.0, 1.0, 0.0);
                let still = times(&d.qvel, HyperDual64::lift(0.0));
                hessian[i * m.nv + j] = kinetic(&m, &mut shifted(&m, &d, &still, &dv)).eps1eps2;
            }
            hessian[i * m.nv + i] += m.dof_armature[i];
        }
        close(&M, &hessian)?;
        // and the energy is ½ vᵀ M v
        energy::energy_vel(&m, &mut d);
        let rotors: f64 = (0..m.nv).map(|i| 0.5 * m.dof_armature[i] * d.qvel[i] * d.qvel[i]).sum();
        let energy = d.energy[1];
        close(&[energy], &[kinetic(&m, &mut d) + rotors])?;
        // positive: every pivot is
        prop_assert!(d.singular.is_none() && d.qLDiagInv.iter().all(|x| *x > 0.0));
    }

    #[test]
    fn bias_follows_from_lagranges_equations(seed: u64, bodies in 1..8_usize) {
        let (m, mut d) = model(seed, &tree(bodies, [false, false, true, true]));
        forward::forward_dynamics(&m, &mut d).unwrap();
        close(&d.qfrc_bias, &lagrange(&m, &d))?;
    }

    // vᵀ(Ṁ v − 2 bias) = 0: Coriolis forces do no work
    #[test]
    fn coriolis_forces_do_no_work(seed: u64, bodies in 1..8_usize) {
        let (m, mut d) = model(seed, &tree(bodies, [false, false, true, false]));
        forward::forward_dynamics(&m, &mut d).unwrap();
        let mut flow = shifted(&m, &d, &times(&d.qvel, EPS), &[]);
        forward::fwd_position(&m, &mut flow);
        let mut Mv = vec![Dual64::lift(0.0); m.nv];
        smooth::mul_m(&m, &flow, &flow.qvel, &mut Mv);
        let power: f64 = (0..m.nv).map(|i| d.qvel[i] * (Mv[i].eps - 2.0 * d.qfrc_bias[i])).sum();
        close(&[power], &[0.0])?;
    }

    // where q̇ = v, ∂bias/∂v = 2C with Christoffel's C, and Ṁ − 2C is skew entry by entry
    #[test]
    fn inertia_rate_minus_twice_coriolis_is_skew(seed in scalar_joints()) {
        let (m, mut d) = model(seed, &SCALAR);
        assert!(triples(&m).next().is_none());
        forward::forward_dynamics(&m, &mut d).unwrap();
        let mut flow = shifted(&m, &d, &times(&d.qvel, EPS), &[]);
        forward::fwd_position(&m, &mut flow);
        let rate = parts(&smooth::full_m(&m, &flow), 1);
        let mut negative = qderiv::QDeriv::new(&m);
        qderiv::mjd_rne_vel(&m, &d, &mut negative);
        let N: Vec<f64> = (0..m.nv * m.nv).map(|k| rate[k] + negative.qDeriv[k]).collect();
        let transposed: Vec<f64> = (0..m.nv * m.nv).map(|k| -N[k % m.nv * m.nv + k / m.nv]).collect();
        close(&N, &transposed)?;
    }

    #[test]
    fn inverse_undoes_forward(seed: u64, bodies in 1..12_usize, parts: [bool; 4]) {
        let (m, mut d) = model(seed, &tree(bodies, parts));
        forward::forward(&m, &mut d).unwrap();
        inverse::inverse(&m, &mut d).unwrap();
        close(&d.qfrc_inverse, &d.qfrc_applied)?;
        // and by recursion, without M: armature is not in it
        let (qacc, mut force) = (d.qacc.clone(), vec![0.0; m.nv]);
        smooth::rne_with_acceleration(&m, &mut d, &qacc, &mut force);
        for i in 0..m.nv {
            force[i] += m.dof_armature[i] * qacc[i] - d.qfrc_passive[i];
        }
        close(&force, &d.qfrc_applied)?;
    }

    // Ė along q̇ = v, v̇ = a equals the power of applied forces and dampers
    #[test]
    fn power_balances(seed: u64, bodies in 1..10_usize, parts: [bool; 4]) {
        let (m, mut d) = model(seed, &tree(bodies, parts));
        forward::forward(&m, &mut d).unwrap();
        let mut flow = shifted(&m, &d, &times(&d.qvel, EPS), &times(&d.qacc, EPS));
        forward::fwd_position(&m, &mut flow);
        energy::energy(&m, &mut flow);
        let rate = (flow.energy[0] + flow.energy[1]).eps;
        let power: f64 = (0..m.nv).map(|i| d.qvel[i] * (d.qfrc_applied[i] + d.qfrc_damper[i])).sum();
        // large terms cancel where accelerations are large
        let scale = d.qacc.iter().fold(1.0, |s: f64, a| s.max(a.abs()));
        close(&[rate / scale], &[power / scale])?;
    }

    // a floating tree with springs and dampers inside: instantaneously by duals along the flow, and over
    // steps of RK4, whose error is of fifth order
    #[test]
    fn momentum_is_conserved_in_free_flight(seed: u64, bodies in 1..8_usize) {
        let options = TreeOptions { floating: true, ..tree(bodies, [true, true, false, false]) };
        let (mut m, mut d) = model(seed, &options);
        // forces from outside change momentum; those on internal joints do not
        d.qfrc_applied[..6].fill(0.0);
        forward::forward(&m, &mut d).unwrap();
        let scale = d.qacc.iter().fold(1.0, |s: f64, a| s.max(a.abs()));
        let mut flow = shifted(&m, &d, &times(&d.qvel, EPS), &times(&d.qacc, EPS));
        let rate: Vec<f64> = momentum(&m, &mut flow).iter().map(|x| x.eps / scale).collect();
        close(&rate, &[0.0; 6])?;

        m.opt.integrator = dualstep::model::Integrator::RK4;
        m.opt.timestep = 1e-4;
        let mut stepping = Data::new(&m);
        stepping.set_state_from(&d);
        let before = momentum(&m, &mut stepping);
        for _ in 0..10 {
            forward::step(&m, &mut stepping).unwrap();
        }
        // h·(h λ)⁴, with rates λ of up to 100/s
        within(&momentum(&m, &mut stepping), &before, 1e-9)?;
    }

    #[test]
    fn subtree_momenta_are_those_of_their_bodies(seed: u64, bodies in 1..8_usize) {
        let (m, mut d) = model(seed, &tree(bodies, [false; 4]));
        let total = momentum(&m, &mut d);
        smooth::subtree_vel(&m, &mut d);
        let p = d.subtree_linvel[WORLD] * m.body_subtreemass[WORLD];
        let l = d.subtree_angmom[WORLD] + d.subtree_com[WORLD].cross(&p);
        close(p.as_slice(), &total[..3])?;
        close(l.as_slice(), &total[3..])?;
    }

    #[test]
    fn accelerations_do_not_depend_on_the_observer(seed: u64, bodies in 1..10_usize, kinds: [bool; 4]) {
        let (m, mut d) = model(seed, &tree(bodies, kinds));
        let mut random = Random::new(seed);
        let turn = Quat::from_slice(&random.quat());
        let shift = Vector3::from_fn(|_, _| random.signed(3.0));
        let (there, mut e) = moved_world(&m, &d, turn, shift);
        forward::forward(&m, &mut d).unwrap();
        forward::forward(&there, &mut e).unwrap();
        let mut expected = d.qacc.clone();
        for j in (0..m.njnt).filter(|&j| m.jnt_type[j] == JointType::Free) {
            let dof = m.jnt_dofadr[j];
            let a = turn.rotate(&Vector3::from_column_slice(&d.qacc[dof..dof + 3]));
            expected[dof..dof + 3].copy_from_slice(a.as_slice());
        }
        close(&e.qacc, &expected)?;
        // and what is seen of the bodies turns with the world
        let R = lift33::<f64>(&turn.to_matrix());
        for b in m.bodies_base_to_tip() {
            close(e.xipos[b].as_slice(), (R * d.xipos[b] + shift).as_slice())?;
            let there = smooth::object_velocity(&there, &e, ObjType::Body, b, false);
            let here = smooth::object_velocity(&m, &d, ObjType::Body, b, false);
            close(there.lin.as_slice(), (R * here.lin).as_slice())?;
        }
    }

    #[test]
    fn factor_solves(seed: u64, bodies in 1..16_usize) {
        let (m, mut d) = model(seed, &tree(bodies, [false, false, true, false]));
        forward::fwd_position(&m, &mut d);
        let n = 3;
        let mut random = Random::new(seed);
        let b: Vec<f64> = (0..m.nv * n).map(|_| random.signed(1.0)).collect();
        let mut many = b.clone();
        tree_ldl::solve_many(&m, &d.qLD, &d.qLDiagInv, &mut many, n);
        for c in 0..n {
            let column = |x: &[f64]| -> Vec<f64> { (0..m.nv).map(|i| x[i * n + c]).collect() };
            let mut x = column(&b);
            tree_ldl::solve(&m, &d.qLD, &d.qLDiagInv, &mut x);
            close(&column(&many), &x)?;
            let mut back = vec![0.0; m.nv];
            smooth::mul_m(&m, &d, &x, &mut back);
            // rounding of the solution, seen through M
            let scale = x.iter().fold(1.0, |s: f64, x| s.max(x.abs()));
            within(&times(&back, 1.0 / scale), &times(&column(&b), 1.0 / scale), 1e-12)?;
        }
        // L is unit lower triangular in the pattern of M, and LᵀDL is M
        let mut product = vec![0.0; m.nv * m.nv];
        for k in 0..m.nv {
            let row: Vec<(usize, f64)> = (m.M_rowadr[k]..m.M_rowadr[k] + m.M_rownnz[k])
                .map(|e| (m.M_colind[e], if m.M_colind[e] == k { 1.0 } else { d.qLD[e] }))
                .collect();
            for &(i, x) in &row {
                for &(j, y) in &row {
                    product[i * m.nv + j] += x * y / d.qLDiagInv[k];
                }
            }
        }
        close(&product, &smooth::full_m(&m, &d))?;
    }

    #[test]
    fn velocity_derivative_is_that_of_duals(seed: u64, bodies in 1..8_usize) {
        let (m, mut d) = model(seed, &tree(bodies, [true; 4]));
        let expected = smooth_vel_by_duals(&m, &d);
        close(&smooth_vel(&m, &mut d), &expected)?;
    }
}

/// Trees small enough that many of them have scalar joints only.
const SCALAR: TreeOptions = TreeOptions {
    bodies: 4,
    floating: false,
    springs: false,
    dampers: false,
    armature: true,
    gravity: false,
};

/// Seeds of such trees.
fn scalar_joints() -> impl Strategy<Value = u64> {
    any::<u64>().prop_filter("ball or free joint", |seed| {
        let text = random_tree(*seed, &SCALAR);
        !text.contains("\"ball\"") && !text.contains("\"free\"")
    })
}

// the models have tendons, actuators, muscles, limits of force. As in MuJoCo, entries across branches are
// left out, and so are two effects of limits on total forces, which two of the models have
#[test]
fn velocity_derivative_of_every_model_is_that_of_duals() {
    let mut found = Vec::new();
    for name in names() {
        let mut m = load(&name);
        match name.as_str() {
            // a saturated tendon with unequal gears, now equal: velocity shifts the actuators' shares
            "actuator_limits" => {
                let a = m.names.actuator.iter().position(|n| n == "tendon_2").unwrap();
                m.actuator_gear[a][0] = 1.0;
            }
            // a saturated joint on which a tendon's actuator acts as well
            "sensors_joint" => m.jnt_actfrclimited.fill(false),
            _ => {}
        }
        for state in ["s0", "s1", "s2"] {
            let mut d = golden_state(&name, &m, state);
            let mut expected = smooth_vel_by_duals(&m, &d);
            let across = |k: usize| !m.same_branch(k / m.nv, k % m.nv);
            for k in (0..m.nv * m.nv).filter(|&k| across(k)) {
                expected[k] = 0.0;
            }
            let e = err(&smooth_vel(&m, &mut d), &expected);
            if e > tolerance::scaled(IDENTITY) {
                found.push(format!("{name} {state}: {e:e}"));
            }
        }
    }
    report(&found);
}
