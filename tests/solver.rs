//! The constraint solver: against MuJoCo's minimum from golden rows, against the conditions of a minimum, and
//! its derivatives against differences of tight solves.
//!
//! Fails when, for example: a force or a Hessian of the elliptic cone has a wrong sign or misses a factor, the
//! bracket of the line search loses the minimum, PGS forgets the regularization, or the tangents leave out ∂J.

use dualstep::collision::{Contact, Exclude};
use dualstep::constraint::{Efc, EfcState, EfcType};
use dualstep::linalg::tree_ldl;
use dualstep::mjcf::load_model_str;
use dualstep::model::{Model, SolverType};
use dualstep::solver::{SolverStatus, SolverWorkspace, TangentStatus, solve};
use dualstep::{Data, Scalar};
use dualstep_validation::compare::err;
use dualstep_validation::random_tree::Random;
use dualstep_validation::{Golden, tolerance};
use nalgebra::Vector3;
use num_dual::{Dual64, HyperDual64};

use crate::support::{folder, names, report};

/// A solve: everything that the solver reads, at one state of a golden file.
#[derive(Clone)]
pub(crate) struct Problem<T: Scalar> {
    pub(crate) m: Model,
    pub(crate) d: Data<T>,
    pub(crate) efc: Efc<T>,
    pub(crate) contacts: Vec<Contact<T>>,
}

/// Result of a solve.
struct Solved<T: Scalar> {
    qacc: Vec<T>,
    force: Vec<T>,
    qfrc: Vec<T>,
    status: SolverStatus,
    ws: SolverWorkspace<T>,
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "indices")]
fn index(x: f64) -> usize {
    x as usize
}

fn kind(code: f64) -> EfcType {
    use EfcType as E;
    [
        E::Equality,
        E::FrictionDof,
        E::FrictionTendon,
        E::LimitJoint,
        E::LimitTendon,
        E::ContactFrictionless,
        E::ContactPyramidal,
        E::ContactElliptic,
    ][index(code)]
}

/// A model with nothing but an inertia of the golden one's pattern: the solver needs no more.
fn shell(golden: &Golden) -> Model {
    let xml = "<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>";
    let mut m = load_model_str(xml, "shell.xml", &folder("models")).unwrap();
    let parent = golden.flat("model/dof_parentid").unwrap();
    m.nv = parent.len();
    (m.M_rowadr, m.M_rownnz, m.M_colind) = (vec![], vec![], vec![]);
    for i in 0..m.nv {
        let mut row = vec![i];
        while parent[row[row.len() - 1]] >= 0.0 {
            row.push(index(parent[row[row.len() - 1]]));
        }
        row.reverse();
        m.M_rowadr.push(m.M_colind.len());
        m.M_rownnz.push(row.len());
        m.M_colind.append(&mut row);
    }
    m.nM = m.M_colind.len();
    // of each degree of freedom, how many are below it
    m.M_subnum = vec![0; m.nv];
    for i in 0..m.nv {
        for &j in &m.M_colind[m.M_rowadr[i]..][..m.M_rownnz[i] - 1] {
            m.M_subnum[j] += 1;
        }
    }
    m
}

fn contacts(golden: &Golden, state: &str) -> Vec<Contact<f64>> {
    let get = |k: &str| golden.flat(&format!("{state}/fwd/contact_{k}")).unwrap_or_default();
    let (dim, friction) = (get("dim"), get("friction"));
    let contact = |i: usize| Contact {
        dist: 0.0,
        pos: Vector3::zeros(),
        frame: [Vector3::x(), Vector3::y(), Vector3::z()],
        includemargin: 0.0,
        friction: friction.as_chunks().0[i],
        solref: [0.0; 2],
        solreffriction: [0.0; 2],
        solimp: [0.0; 5],
        adhesion: 0.0,
        dim: index(dim[i]),
        geom: [0; 2],
        exclude: Exclude::default(),
        mu: 0.0,
        efc_address: None,
    };
    (0..dim.len()).map(contact).collect()
}

/// The solve of a state; none if it has no rows, or the golden file leaves out J or M.
pub(crate) fn golden_problem(golden: &Golden, state: &str) -> Option<Problem<f64>> {
    let get = |k: &str| golden.flat(&format!("{state}/fwd/{k}"));
    let (dense, J) = (get("qM")?, get("efc_J")?);
    let m = shell(golden);
    let mut d = Data::<f64>::new(&m);
    for i in 0..m.nv {
        for e in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] {
            d.qM[e] = dense[i * m.nv + m.M_colind[e]];
        }
    }
    d.qfrc_smooth = get("qfrc_smooth")?;
    d.qacc_smooth = get("qacc_smooth")?;
    factor(&m, &mut d);

    let mut contacts = contacts(golden, state);
    let mut efc = Efc::new(m.nv, 0);
    efc.kind = get("efc_type")?.into_iter().map(kind).collect();
    efc.nefc = efc.kind.len();
    let count = |wanted: &[EfcType]| efc.kind.iter().filter(|k| wanted.contains(k)).count();
    efc.ne = count(&[EfcType::Equality]);
    efc.nf = count(&[EfcType::FrictionDof, EfcType::FrictionTendon]);
    efc.id = get("efc_id")?.into_iter().map(index).collect();
    efc.set_dense_J(&J);
    (efc.D, efc.R, efc.aref) = (get("efc_D")?, get("efc_R")?, get("efc_aref")?);
    efc.frictionloss = get("efc_frictionloss")?;
    efc.force = vec![f64::NAN; efc.nefc];
    efc.state = vec![EfcState::Satisfied; efc.nefc];
    for i in 0..efc.nefc {
        if starts_cone(&efc, i) {
            let c = &mut contacts[efc.id[i]];
            c.mu = c.friction[0] * (efc.R[i + 1] / efc.R[i]).sqrt();
        }
    }
    (efc.nefc > 0).then_some(Problem { m, d, efc, contacts })
}

/// True at the first row of an elliptic contact.
fn starts_cone<T: Scalar>(efc: &Efc<T>, i: usize) -> bool {
    let elliptic = |i: usize| efc.kind[i] == EfcType::ContactElliptic;
    elliptic(i) && (i == 0 || !elliptic(i - 1) || efc.id[i - 1] != efc.id[i])
}

fn factor<T: Scalar>(m: &Model, d: &mut Data<T>) {
    d.qLD = d.qM.clone();
    assert!(tree_ldl::factor(m, "inertia", &mut d.qLD, &mut d.qLDiagInv).is_none());
}

impl<T: Scalar> Problem<T> {
    pub(crate) fn with(mut self, solver: SolverType, iterations: usize, tolerance: f64) -> Self {
        self.m.opt.solver = solver;
        self.m.opt.iterations = iterations;
        self.m.opt.ls_iterations = 200;
        (self.m.opt.tolerance, self.m.opt.ls_tolerance) = (tolerance, 1e-6);
        self
    }

    fn solve(mut self) -> Solved<T> {
        let mut ws = SolverWorkspace::new(&self.m, self.efc.nefc);
        let status = solve(&self.m, &mut self.d, &mut self.efc, &self.contacts, &mut ws);
        assert_eq!(status, ws.stats.status);
        let (qacc, force, qfrc) = (self.d.qacc, self.efc.force, self.d.qfrc_constraint);
        Solved { qacc, force, qfrc, status, ws }
    }
}

/// All states with rows of the project's models.
fn problems() -> Vec<(String, Golden, String, Problem<f64>)> {
    let mut found = Vec::new();
    for name in names() {
        let golden = Golden::load(&folder("golden").join(&name)).unwrap();
        for state in golden.states() {
            if let Some(problem) = golden_problem(&golden, state) {
                found.push((format!("{name} {state}"), golden.clone(), state.to_owned(), problem));
            }
        }
    }
    assert!(found.len() > 20, "only {} states have rows", found.len());
    found
}

/// Largest error of accelerations and forces against the oracle's minimum.
pub(crate) fn against_oracle(golden: &Golden, state: &str, problem: Problem<f64>) -> (f64, String) {
    let get = |k: &str| golden.flat(&format!("{state}/conv/{k}")).unwrap();
    let Solved { qacc, force, qfrc, status, ws } = problem.solve();
    let errors = [
        err(&qacc, &get("qacc")),
        err(&force, &get("efc_force")),
        err(&qfrc, &get("qfrc_constraint")),
    ];
    let worst = errors.iter().copied().fold(0.0, f64::max);
    (worst, format!("{errors:?} {status} after {} iterations", ws.stats.niter))
}

#[test]
fn newton_and_cg_reach_the_minimum() {
    let tolerance = tolerance::scaled(tolerance::CONVERGED);
    let mut found = Vec::new();
    for (what, golden, state, problem) in problems() {
        for (solver, iterations) in [(SolverType::Newton, 100), (SolverType::Cg, 5000)] {
            let problem = problem.clone().with(solver, iterations, 0.0);
            let (e, message) = against_oracle(&golden, &state, problem);
            if e > tolerance {
                found.push(format!("{what} {solver:?}: {message}"));
            }
        }
        // with a wrong Hessian Newton still arrives, but late
        let niter = problem.with(SolverType::Newton, 100, 1e-8).solve().ws.stats.niter;
        if niter > 12 {
            found.push(format!("{what}: Newton takes {niter} iterations"));
        }
    }
    report(&found);
}

// the dual cost meets the primal one at the minimum, and stays below it elsewhere
#[test]
fn pgs_approaches_the_minimum_from_below() {
    let tolerance = tolerance::scaled(tolerance::CONVERGED_PGS);
    let mut found = Vec::new();
    for (what, golden, state, problem) in problems() {
        let newton = problem.clone().with(SolverType::Newton, 100, 1e-15).solve();
        let primal = newton.ws.stats.iterations.last().map(|i| i.cost);
        let pgs = problem.clone().with(SolverType::Pgs, 2000, 1e-16);
        let stats = pgs.clone().solve().ws.stats;
        let costs: Vec<f64> = stats.iterations.iter().map(|i| i.cost).collect();
        let (Some(primal), Some(dual)) = (primal, costs.last()) else { continue };
        let gap = |dual: f64| (primal - dual) / primal.abs().max(1.0);
        let below = costs.iter().all(|&dual| gap(dual) > -1e-9);
        let (e, message) = against_oracle(&golden, &state, pgs);
        if !below || gap(*dual) > 1e-6 || e > tolerance {
            found.push(format!("{what}: below {below}, gap {:e}, {message}", gap(*dual)));
        }
    }
    report(&found);
}

/// M a − qfrc_smooth − Jᵀf, over the size of its terms.
fn dynamics_error(problem: &Problem<f64>, s: &Solved<f64>) -> f64 {
    let Problem { m, d, efc, .. } = problem;
    let mut Ma = vec![0.0; m.nv];
    let mut with_inertia = d.clone();
    with_inertia.qM.clone_from(&d.qM);
    dualstep::smooth::mul_m(m, &with_inertia, &s.qacc, &mut Ma);
    let mut forces = d.qfrc_smooth.clone();
    for i in 0..efc.nefc {
        for (f, J) in forces.iter_mut().zip(efc.dense_row(i)) {
            *f += J * s.force[i];
        }
    }
    err(&Ma, &forces)
}

/// What is wrong with the forces: admissible, opposed to the violation, zero without one.
fn inadmissible(problem: &Problem<f64>, s: &Solved<f64>) -> Vec<String> {
    let Problem { efc, contacts, .. } = problem;
    let mut found = Vec::new();
    let x = |i: usize| {
        efc.dense_row(i).iter().zip(&s.qacc).map(|(J, a)| J * a).sum::<f64>() - efc.aref[i]
    };
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-7 * (1.0 + a.abs() + b.abs());
    for i in 0..efc.nefc {
        let (f, D, eta) = (s.force[i], efc.D[i], efc.frictionloss[i]);
        let ok = match efc.kind[i] {
            EfcType::Equality => close(f, -D * x(i)),
            EfcType::FrictionDof | EfcType::FrictionTendon => {
                f.abs() <= eta && close(f, (-D * x(i)).clamp(-eta, eta))
            }
            EfcType::ContactElliptic => {
                let c = &contacts[efc.id[i]];
                !starts_cone(efc, i) || {
                    let tangential =
                        (1..c.dim).map(|j| (s.force[i + j] / c.friction[j - 1]).powi(2));
                    let (normal, tangential) = (f, tangential.sum::<f64>().sqrt());
                    // on the surface, friction opposes the motion
                    let power: f64 = (1..c.dim).map(|j| s.force[i + j] * x(i + j)).sum();
                    normal >= 0.0 && tangential <= normal * (1.0 + 1e-12) && power <= 1e-12
                }
            }
            _ => f >= 0.0 && close(f, (-D * x(i)).max(0.0)),
        };
        if !ok {
            found.push(format!("row {i} {:?}: force {f:e}, x {:e}", efc.kind[i], x(i)));
        }
    }
    found
}

#[test]
fn the_minimum_fulfils_its_conditions() {
    let mut found = Vec::new();
    for (what, _, _, problem) in problems() {
        let solved = problem.clone().with(SolverType::Newton, 100, 1e-15).solve();
        let e = dynamics_error(&problem, &solved);
        if e > tolerance::scaled(tolerance::IDENTITY) * 100.0 {
            found.push(format!("{what}: M a differs from the forces by {e:e}"));
        }
        found.extend(inadmissible(&problem, &solved).iter().map(|s| format!("{what}: {s}")));
    }
    report(&found);
}

/// The problem with everything in it moved by `s` along a random direction: inertia, forces, J, R and aref.
fn moved<T: Scalar>(base: &Problem<f64>, s: T, seed: u64) -> Problem<T> {
    let Problem { m, d: real, efc: rows, contacts } = base;
    let mut random = Random::new(seed);
    let mut d = Data::<T>::new(m);
    let mut vary = |x: &f64| T::lift(*x) + s * T::lift(x * random.signed(0.3));
    d.qM = real.qM.iter().map(&mut vary).collect();
    d.qfrc_smooth = real.qfrc_smooth.iter().map(&mut vary).collect();
    factor(m, &mut d);
    d.qacc_smooth.clone_from(&d.qfrc_smooth);
    tree_ldl::solve(m, &d.qLD, &d.qLDiagInv, &mut d.qacc_smooth);

    let mut efc = Efc::<T>::new(m.nv, 0);
    (efc.ne, efc.nf, efc.nefc) = (rows.ne, rows.nf, rows.nefc);
    (efc.kind, efc.id) = (rows.kind.clone(), rows.id.clone());
    efc.frictionloss.clone_from(&rows.frictionloss);
    efc.set_dense_J(&rows.dense_J().iter().map(&mut vary).collect::<Vec<_>>());
    efc.aref = rows.aref.iter().map(&mut vary).collect();
    efc.R = rows.R.iter().map(&mut vary).collect();
    // rows of a contact keep the ratio of their R: the cone does not turn
    for i in 1..efc.nefc {
        if efc.kind[i] == EfcType::ContactElliptic && !starts_cone(&efc, i) {
            efc.R[i] = efc.R[i - 1] * T::lift(rows.R[i] / rows.R[i - 1]);
        }
    }
    efc.D = efc.R.iter().map(|R| T::one() / *R).collect();
    efc.force = vec![T::zero(); efc.nefc];
    efc.state = vec![EfcState::Satisfied; efc.nefc];
    let contact = |c: &Contact<f64>| Contact {
        dist: T::zero(),
        pos: Vector3::zeros(),
        frame: [Vector3::x(), Vector3::y(), Vector3::z()],
        includemargin: c.includemargin,
        friction: c.friction,
        solref: c.solref,
        solreffriction: c.solreffriction,
        solimp: c.solimp,
        adhesion: c.adhesion,
        dim: c.dim,
        geom: c.geom,
        exclude: c.exclude,
        mu: c.mu,
        efc_address: c.efc_address,
    };
    Problem { m: m.clone(), d, efc, contacts: contacts.iter().map(contact).collect() }
}

/// qacc and forces of a tight solve, part `part`; and the states.
fn solved<T: Scalar>(base: &Problem<f64>, s: T, part: usize) -> (Vec<f64>, Vec<EfcState>) {
    let mut problem = moved(base, s, 7).with(SolverType::Newton, 100, 1e-16);
    let mut ws = SolverWorkspace::new(&problem.m, problem.efc.nefc);
    let Problem { m, d, efc, contacts } = &mut problem;
    solve(m, d, efc, contacts, &mut ws);
    assert!(T::ORDER == 0 || ws.stats.tangents == TangentStatus::Exact, "{:?}", ws.stats);
    let numbers = d.qacc.iter().chain(&efc.force).map(|x| x.part(part));
    (numbers.collect(), efc.state.clone())
}

/// Centred differences with one Richardson step; none if a row changes its state in between.
fn richardson(h: f64, f: impl Fn(f64) -> (Vec<f64>, Vec<EfcState>)) -> Option<Vec<f64>> {
    let centred = |h: f64| {
        let ((plus, a), (minus, b)) = (f(h), f(-h));
        let slope = plus.iter().zip(&minus).map(|(p, m)| (p - m) / (2.0 * h));
        (a == b).then(|| slope.collect::<Vec<_>>())
    };
    let (coarse, fine) = (centred(h)?, centred(h / 2.0)?);
    Some(fine.iter().zip(&coarse).map(|(f, c)| (4.0 * f - c) / 3.0).collect())
}

#[test]
fn tangents_are_the_derivative_of_the_minimum() {
    let tolerance = tolerance::scaled(tolerance::DUAL_MINIMUM);
    let (mut found, mut compared) = (Vec::new(), 0);
    for (what, _, _, base) in problems() {
        let real = solved(&base, 0.0, 0).0;
        let (value, _) = solved(&base, Dual64::new(0.0, 1.0), 0);
        if value != real {
            found.push(format!("{what}: real parts differ from those on real numbers"));
        }
        let dual = |s: f64| solved(&base, Dual64::new(s, 1.0), 1);
        let second = solved(&base, HyperDual64::new(0.0, 1.0, 1.0, 0.0), 3).0;
        let first = richardson(1e-4, |s| solved(&base, s, 0));
        let (Some(first), Some(twice)) = (first, richardson(1e-4, dual)) else { continue };
        compared += 1;
        let e = [err(&dual(0.0).0, &first), err(&second, &twice)];
        if e[0].max(e[1]) > tolerance {
            found.push(format!("{what}: first and second derivative are off by {e:?}"));
        }
    }
    assert!(compared > 15, "only {compared} states are away from kinks");
    report(&found);
}

/// Slip of the contacts that stick, normal forces, and whether all forces are inside of their cones. Rows of a
/// pyramid are pairs of opposing edges, whose sum is a normal force and whose difference is friction.
fn sticking(problem: &Problem<f64>, s: &Solved<f64>) -> (f64, Vec<f64>, bool) {
    let Problem { efc, contacts, .. } = problem;
    let x = |i: usize| {
        efc.dense_row(i).iter().zip(&s.qacc).map(|(J, a)| J * a).sum::<f64>() - efc.aref[i]
    };
    let (mut worst, mut normal, mut inside) = (0.0_f64, Vec::new(), true);
    let mut i = 0;
    while i < efc.nefc {
        let f = &s.force[i..];
        match efc.kind[i] {
            EfcType::ContactElliptic => {
                let c = &contacts[efc.id[i]];
                let ratio = |j: usize| (f[j] / c.friction[j - 1]).powi(2);
                let tangential = (1..c.dim).map(ratio).sum::<f64>().sqrt();
                if tangential < 0.99 * f[0] {
                    worst = (1..c.dim).map(|j| x(i + j).abs()).fold(worst, f64::max);
                }
                inside &= tangential <= f[0] * (1.0 + 1e-9);
                normal.push(f[0]);
                i += c.dim;
            }
            EfcType::ContactPyramidal => {
                if f[0].min(f[1]) > 0.01 * (f[0] + f[1]) {
                    worst = worst.max((x(i) - x(i + 1)).abs());
                }
                inside &= f[0] >= 0.0 && f[1] >= 0.0;
                normal.push(f[0] + f[1]);
                i += 2;
            }
            _ => i += 1,
        }
    }
    (worst, normal, inside)
}

#[test]
fn no_slip_stops_what_sticks() {
    let (mut found, mut slipping) = (Vec::new(), 0);
    for (what, _, _, problem) in problems() {
        let without = problem.with(SolverType::Newton, 100, 1e-15);
        let mut with = without.clone();
        with.m.opt.noslip_iterations = 3000;
        with.m.opt.noslip_tolerance = 0.0;
        let (before, after) = (without.clone().solve(), with.clone().solve());
        assert!(after.ws.stats.noslip_niter > 0);
        let (slip, normal, _) = sticking(&without, &before);
        let (rest, still, inside) = sticking(&with, &after);
        slipping += usize::from(slip > 0.1);
        // Gauss-Seidel: the last digits take long
        if !inside || rest > 0.1 * slip + 1e-6 || err(&still, &normal) > 1e-9 {
            found.push(format!("{what}: inside {inside}, slip {slip:e} to {rest:e}"));
        }
    }
    assert!(slipping > 5, "only {slipping} states slip without");
    report(&found);
}

const SOLVERS: [SolverType; 3] = [SolverType::Newton, SolverType::Cg, SolverType::Pgs];

/// Every row three times, and a row without any entry.
fn redundant(mut p: Problem<f64>) -> Problem<f64> {
    let rows = p.efc.clone();
    let mut J = Vec::new();
    for row in rows.dense_J().chunks(p.m.nv) {
        (0..3).for_each(|_| J.extend_from_slice(row));
    }
    J[..p.m.nv].fill(0.0);
    let thrice = |x: &[f64]| x.iter().flat_map(|x| [*x; 3]).collect::<Vec<_>>();
    (p.efc.D, p.efc.R, p.efc.aref) = (thrice(&rows.D), thrice(&rows.R), thrice(&rows.aref));
    p.efc.frictionloss = thrice(&rows.frictionloss);
    p.efc.kind = rows.kind.iter().flat_map(|k| [*k; 3]).collect();
    p.efc.id = rows.id.iter().flat_map(|k| [*k; 3]).collect();
    (p.efc.ne, p.efc.nf, p.efc.nefc) = (3 * rows.ne, 3 * rows.nf, 3 * rows.nefc);
    p.efc.set_dense_J(&J);
    p.efc.force = vec![0.0; 3 * rows.nefc];
    p.efc.state = vec![EfcState::Satisfied; 3 * rows.nefc];
    p
}

#[test]
fn degenerate_problems_have_finite_results() {
    let finite = |s: &Solved<f64>| {
        [&s.qacc, &s.force, &s.qfrc].iter().all(|x| x.iter().all(|x| x.is_finite()))
    };
    for (what, _, _, base) in problems() {
        for solver in SOLVERS {
            let elliptic = base.efc.kind.contains(&EfcType::ContactElliptic);
            if !elliptic && !base.efc.kind.contains(&EfcType::ContactPyramidal) {
                let s = redundant(base.clone()).with(solver, 500, 1e-10).solve();
                let done = s.status.is_converged() || solver == SolverType::Pgs;
                assert!(finite(&s) && done, "{what} {solver:?}: {}", s.status);
            }

            // a row that is not a number: no constraints, and it says so
            let mut p = base.clone().with(solver, 50, 1e-10);
            p.efc.J[0] = f64::NAN;
            let s = p.solve();
            assert_eq!(s.status, SolverStatus::NonFinite, "{what} {solver:?}");
            assert_eq!(s.qacc, base.d.qacc_smooth);

            // no inertia at all in the last degree of freedom
            let mut p = base.clone().with(solver, 50, 1e-10);
            let last = p.m.nv - 1;
            let row = p.m.M_rowadr[last]..p.m.M_rowadr[last] + p.m.M_rownnz[last];
            p.d.qM[row.clone()].fill(0.0);
            p.d.qLD.clone_from(&p.d.qM);
            assert!(tree_ldl::factor(&p.m, "M", &mut p.d.qLD, &mut p.d.qLDiagInv).is_some());
            assert!(finite(&p.solve()), "{what} {solver:?}");

            // numbers near the end of their range
            let mut p = base.clone().with(solver, 50, 1e-10);
            p.efc.aref.iter_mut().for_each(|x| *x *= 1e200);
            assert!(finite(&p.solve()), "{what} {solver:?}");
        }
        let mut p = base.with(SolverType::Newton, 50, 1e-10);
        p.efc.clear();
        let s = p.solve();
        assert_eq!(s.status, SolverStatus::Unconstrained);
    }
}

// a good warm start costs no iteration, a bad one does no harm
#[test]
fn warm_starts_help_and_do_no_harm() {
    for (what, _, _, base) in problems() {
        for solver in [SolverType::Newton, SolverType::Cg] {
            let mut warm = base.clone().with(solver, 5000, 1e-15);
            let cold = warm.clone().solve();
            warm.d.qacc_warmstart.clone_from(&cold.qacc);
            warm.m.opt.tolerance = 1e-9;
            let again = warm.clone().solve();
            assert_eq!(again.ws.stats.niter, 0, "{what} {solver:?}: {:?}", again.ws.stats);
            warm.d.qacc_warmstart.fill(1e8);
            warm.m.opt.tolerance = 0.0;
            let e = err(&warm.solve().qacc, &cold.qacc);
            assert!(e < 1e-5, "{what} {solver:?}: {e:e}");
        }
    }
}
