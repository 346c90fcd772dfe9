//! Transition matrices in closed form: no step is differenced.
//!
//! The step solves H â = f for the acceleration over the step, f = qfrc_smooth + qfrc_constraint, with H = M,
//! M + hD or M − h·qDeriv by the integrator. Then ∂â/∂x = H⁻¹ (∂f/∂x − ∂H/∂x â), where the derivative of f
//! and that of M â are taken together as inverse dynamics at fixed acceleration ([`crate::smooth`]); velocities
//! follow by v⁺ = v + h â, positions by the derivative of q ⊕ h v⁺ ([`crate::quat`]).

use dualstep::forward::{forward, forward_dynamics};
use dualstep::integrate::stiffness;
use dualstep::linalg::dense::DenseLu;
use dualstep::linalg::tree_ldl;
use dualstep::model::options::disable;
use dualstep::model::{Integrator, TrnType};
use dualstep::smooth::qderiv::{QDeriv, mjd_smooth_vel};
use dualstep::smooth::{full_m, poly};
use dualstep::{Data, FactorError, Model, Scalar};
use num_dual::Dual64;

use crate::actuator::next_activation_derivative;
use crate::columns::{Wanted, ncolumns};
use crate::finite_diff::FdConfig;
use crate::kinks;
use crate::matrices::{Column, Feature, Origin, Reason, Transition, TransitionError};
use crate::quat::mjd_integrate_pos;
use crate::rk4::{self, Rk4Workspace};
use crate::smooth::{Forces, SmoothDeriv, mjd_smooth};
use crate::tangent::ndx;

/// What the closed form does not cover in a model; none if it covers all of A and B.
pub fn coverage(m: &Model) -> Option<Feature> {
    let limited = |a: usize| {
        let [tendon, _] = m.actuator_trnid[a];
        m.actuator_trntype[a] == TrnType::Tendon
            && tendon.is_some_and(|t| m.tendon_actfrclimited[t])
    };
    if (0..m.nactuator).any(limited) {
        return Some(Feature::TendonForceLimit);
    }
    match m.opt.integrator {
        Integrator::Euler | Integrator::RK4 | Integrator::ImplicitSpringDamper => None,
        Integrator::Implicit | Integrator::ImplicitFast => implicit_coverage(m),
    }
}

/// The implicit integrators leave out couplings between branches, and `implicitfast` treats free bodies apart.
fn implicit_coverage(m: &Model) -> Option<Feature> {
    let within = |colind: &[usize], adr: &[usize], nnz: &[usize]| {
        adr.iter().zip(nnz).all(|(adr, nnz)| {
            let row = &colind[*adr..adr + nnz];
            let simple = |i: usize| m.dof_simplenum[i] > 0;
            row.iter().all(|&i| {
                row.iter().all(|&j| i == j || (m.same_branch(i, j) && !simple(i) && !simple(j)))
            })
        })
    };
    if !within(&m.ten_J_colind, &m.ten_J_rowadr, &m.ten_J_rownnz)
        || !within(&m.moment_colind, &m.moment_rowadr, &m.moment_rownnz)
    {
        return Some(Feature::BranchCoupling);
    }
    let free = m.opt.integrator == Integrator::ImplicitFast
        && (0..m.nbody).any(|b| dualstep::integrate::is_free_body(m, b));
    free.then_some(Feature::FreeBody)
}

/// Everything that [`mjd_transition_analytic_into`] writes on its way.
#[derive(Debug)]
pub struct AnalyticWorkspace {
    wanted: Wanted,
    why: Reason,
    /// Place of each column among those that are wanted (2nv + na + nu).
    slot: Vec<Option<usize>>,
    /// Kinks at the state.
    columns: Vec<Column>,
    d: Data<f64>,
    smooth: SmoothDeriv<f64>,
    /// Acceleration over the step (nv).
    acc: Vec<f64>,
    /// Factor of H, and reciprocals of its diagonal.
    H: Vec<f64>,
    H_inv: Vec<f64>,
    /// Right-hand sides, then the columns of ∂â/∂(q, v, act, u) that are wanted, row-major (nv × n).
    block: Vec<f64>,
    /// Tangent of the new position, row-major (nv × n).
    position: Vec<f64>,
    /// New velocity (nv).
    qvel: Vec<f64>,
    /// For implicit integrators only.
    implicit: Option<Box<ImplicitWorkspace>>,
    /// For RK4 only.
    rk4: Option<Rk4Workspace>,
}

/// What the second-order term of the implicit integrators needs.
#[derive(Debug)]
struct ImplicitWorkspace {
    qderiv: QDeriv<f64>,
    lu: DenseLu,
    column: Vec<f64>,
    d: Data<Dual64>,
    smooth: SmoothDeriv<Dual64>,
    acc: Vec<Dual64>,
}

impl AnalyticWorkspace {
    /// A workspace for the model.
    pub fn new(m: &Model) -> Self {
        Self::of(m, Wanted::all(m), Reason::Requested)
    }

    pub(crate) fn of(m: &Model, wanted: Wanted, why: Reason) -> Self {
        let n = wanted.columns.len();
        let mut slot = vec![None; ncolumns(m)];
        for (place, &column) in wanted.columns.iter().enumerate() {
            slot[column] = Some(place);
        }
        Self {
            why,
            slot,
            columns: vec![Column::SKIPPED; ncolumns(m)],
            d: Data::new(m),
            smooth: SmoothDeriv::new(m),
            acc: vec![0.0; m.nv],
            H: vec![0.0; m.nM],
            H_inv: vec![0.0; m.nv],
            block: vec![0.0; m.nv * n],
            position: vec![0.0; m.nv * n],
            qvel: vec![0.0; m.nv],
            rk4: (m.opt.integrator == Integrator::RK4).then(|| Rk4Workspace::new(m, n)),
            implicit: m.opt.integrator.needs_qDeriv().then(|| {
                Box::new(ImplicitWorkspace {
                    qderiv: QDeriv::new(m),
                    lu: DenseLu::new(m.nv),
                    column: vec![0.0; m.nv],
                    d: Data::new(m),
                    smooth: SmoothDeriv::new(m),
                    acc: vec![Dual64::lift(0.0); m.nv],
                })
            }),
            wanted,
        }
    }
}

/// A and B of one step at the state of `d`, in closed form. C and D stay zero: [`crate::mjd_transition`] fills
/// them.
///
/// # Errors
/// The state is not finite; a feature is not covered, which the error names.
///
/// Source: Carpentier and Mansard 2018 for ∂M a + bias; see the module for the step. Cost O(nv² · depth).
pub fn mjd_transition_analytic(m: &Model, d: &Data<f64>) -> Result<Transition, TransitionError> {
    let mut transition = Transition::new(m);
    mjd_transition_analytic_into(m, d, &mut AnalyticWorkspace::new(m), &mut transition)?;
    Ok(transition)
}

/// As [`mjd_transition_analytic`], into matrices and through a workspace that are used again.
///
/// # Errors
/// As [`mjd_transition_analytic`].
///
/// # Panics
/// If `workspace` or `transition` belong to a model of other sizes.
pub fn mjd_transition_analytic_into(
    m: &Model,
    d: &Data<f64>,
    w: &mut AnalyticWorkspace,
    transition: &mut Transition,
) -> Result<(), TransitionError> {
    w.d.set_state_from(d);
    forward(m, &mut w.d).map_err(TransitionError::Step)?;
    if let Some(feature) = coverage(m) {
        return Err(TransitionError::NotCovered { feature });
    }
    w.columns.fill(Column { origin: Origin::Analytic, why: w.why, ..Column::SKIPPED });
    kinks::mark(m, &w.d, &FdConfig::default().eps, &mut w.columns);
    for &column in &w.wanted.columns {
        transition.columns[column] = w.columns[column];
    }
    if let Some(rk4) = &mut w.rk4 {
        let blocks = rk4::tangents(m, d, &w.wanted.columns, rk4).map_err(TransitionError::Step)?;
        let mut first = 0;
        for block in blocks {
            first = store(&w.wanted.columns, first, block, transition);
        }
        return Ok(());
    }
    if let Some(mut i) = w.implicit.take() {
        let solved = implicit(m, w, &mut i);
        w.implicit = Some(i);
        solved.map_err(|e| TransitionError::Step(e.into()))?;
    } else {
        acceleration(m, w);
        mjd_smooth(m, &w.d, &w.acc, Forces::All, &mut w.smooth);
        w.smooth.gather(m, &w.wanted.columns, &mut w.block);
        diagonal_slopes(m, w);
        tree_ldl::solve_many(m, &w.H, &w.H_inv, &mut w.block, w.wanted.columns.len());
    }
    assemble(m, w, transition);
    Ok(())
}

/// Copies rows of the wanted columns to [A B], from row `first` on; the row after the last.
fn store(columns: &[usize], first: usize, block: &[f64], to: &mut Transition) -> usize {
    let rows = block.chunks_exact(columns.len().max(1));
    let last = first + rows.len();
    for (i, row) in rows.enumerate() {
        for (&column, x) in columns.iter().zip(row) {
            *to.state_entry(first + i, column) = *x;
        }
    }
    last
}

/// ∂â/∂x = H⁻¹ (∂f/∂x + h ∂(qDeriv â)/∂x) into `block`, H = M − h·qDeriv.
///
/// qDeriv â is the derivative of the forces along the velocity â, so its derivatives are the ε parts of those of
/// the forces at the velocity v + ε â.
fn implicit(
    m: &Model,
    w: &mut AnalyticWorkspace,
    i: &mut ImplicitWorkspace,
) -> Result<(), FactorError> {
    let (h, n) = (m.opt.timestep, w.wanted.columns.len());
    let full = m.opt.integrator == Integrator::Implicit;
    mjd_smooth_vel(m, &w.d, &mut i.qderiv, full);
    for k in 0..m.nv {
        w.acc[k] = w.d.qfrc_smooth[k] + w.d.qfrc_constraint[k];
    }
    if full {
        let H = &mut i.qderiv.qDeriv;
        for x in H.iter_mut() {
            *x *= -h;
        }
        for (x, y) in H.iter_mut().zip(full_m(m, &w.d)) {
            *x += y;
        }
        i.lu.factor("M − h·qDeriv", H)?;
        i.lu.solve(&mut w.acc);
    } else {
        w.H.copy_from_slice(&w.d.qM);
        for k in 0..m.nv {
            for e in m.M_rowadr[k]..m.M_rowadr[k] + m.M_rownnz[k] {
                w.H[e] -= h * i.qderiv.qDeriv[k * m.nv + m.M_colind[e]];
            }
        }
        tree_ldl::factor(m, "M − h·qDeriv", &mut w.H, &mut w.H_inv);
        tree_ldl::solve(m, &w.H, &w.H_inv, &mut w.acc);
    }

    mjd_smooth(m, &w.d, &w.acc, Forces::All, &mut w.smooth);
    i.d.set_state_from(&w.d);
    for k in 0..m.nv {
        i.acc[k] = Dual64::lift(w.acc[k]);
        i.d.qvel[k] = Dual64::new(w.d.qvel[k], w.acc[k]);
    }
    let _ = forward_dynamics(m, &mut i.d);
    let forces = if full { Forces::All } else { Forces::ActuatorPassive };
    mjd_smooth(m, &i.d, &i.acc, forces, &mut i.smooth);
    let s = &mut w.smooth;
    let pairs = [
        (&mut s.dq, &i.smooth.dq),
        (&mut s.dv, &i.smooth.dv),
        (&mut s.da, &i.smooth.da),
        (&mut s.du, &i.smooth.du),
    ];
    for (to, second) in pairs {
        for (x, y) in to.iter_mut().zip(second) {
            *x += h * y.eps;
        }
    }
    w.smooth.gather(m, &w.wanted.columns, &mut w.block);
    if !full {
        tree_ldl::solve_many(m, &w.H, &w.H_inv, &mut w.block, n);
        return Ok(());
    }
    for c in 0..n {
        for k in 0..m.nv {
            i.column[k] = w.block[k * n + c];
        }
        i.lu.solve(&mut i.column);
        for k in 0..m.nv {
            w.block[k * n + c] = i.column[k];
        }
    }
    Ok(())
}

/// True if joint springs are integrated implicitly.
fn implicit_springs(m: &Model) -> bool {
    m.opt.integrator == Integrator::ImplicitSpringDamper && !m.opt.disabled(disable::SPRING)
}

/// True if joint damping is integrated implicitly.
fn implicit_damping(m: &Model) -> bool {
    if m.opt.integrator == Integrator::ImplicitSpringDamper {
        return !m.opt.disabled(disable::DAMPER);
    }
    let damped = m.dof_damping_eff.iter().any(|b| b[0] > 0.0 || b[1] != 0.0 || b[2] != 0.0)
        || m.jnt_actuatorid.iter().any(|a| *a != -1);
    damped && !m.opt.disabled(disable::EULERDAMP) && !m.opt.disabled(disable::DAMPER)
}

/// Factor of H and the acceleration over the step.
fn acceleration(m: &Model, w: &mut AnalyticWorkspace) {
    let h = m.opt.timestep;
    if implicit_damping(m) || implicit_springs(m) {
        w.H.copy_from_slice(&w.d.qM);
        for i in 0..m.nv {
            let diagonal = &mut w.H[m.M_rowadr[i] + m.M_rownnz[i] - 1];
            w.acc[i] = w.d.qfrc_smooth[i] + w.d.qfrc_constraint[i];
            if implicit_damping(m) {
                *diagonal += h * poly::derivative_odd(&m.dof_damping_eff[i], w.d.qvel[i]);
            }
            if implicit_springs(m) {
                let [K, _] = stiffness(m, &w.d.qpos, i);
                *diagonal += h * h * K;
                w.acc[i] -= h * K * w.d.qvel[i];
            }
        }
        tree_ldl::factor(m, "M + hD + h²K", &mut w.H, &mut w.H_inv);
        tree_ldl::solve(m, &w.H, &w.H_inv, &mut w.acc);
    } else {
        w.H.copy_from_slice(&w.d.qLD);
        w.H_inv.copy_from_slice(&w.d.qLDiagInv);
        w.acc.copy_from_slice(&w.d.qacc);
    }
}

/// What implicit damping and springs add on the diagonal: d(h D(v) â)/dv, and d(h²K(q) â + h K(q) v)/d(q, v).
fn diagonal_slopes(m: &Model, w: &mut AnalyticWorkspace) {
    let (nv, n, h) = (m.nv, w.wanted.columns.len(), m.opt.timestep);
    for i in 0..nv {
        let (v, a) = (w.d.qvel[i], w.acc[i]);
        let (by_position, by_velocity) = (w.slot[i], w.slot[nv + i]);
        if let Some(k) = by_velocity.filter(|_| implicit_damping(m)) {
            // D = b₀ + 2b₁|v| + 3b₂v²
            let [_, b1, b2] = m.dof_damping_eff[i];
            let slope = if v < 0.0 { -2.0 * b1 } else { 2.0 * b1 } + 6.0 * b2 * v;
            w.block[i * n + k] -= h * slope * a;
        }
        if implicit_springs(m) {
            let [K, slope] = stiffness(m, &w.d.qpos, i);
            if let Some(k) = by_position {
                w.block[i * n + k] -= h * slope * (h * a + v);
            }
            if let Some(k) = by_velocity {
                w.block[i * n + k] -= h * K;
            }
        }
    }
}

/// v⁺ = v + h â, q⁺ = q ⊕ h v⁺, act⁺.
fn assemble(m: &Model, w: &mut AnalyticWorkspace, to: &mut Transition) {
    let (nv, h) = (m.nv, m.opt.timestep);
    let n = w.wanted.columns.len();
    for x in &mut w.block {
        *x *= h;
    }
    w.position.fill(0.0);
    for i in 0..nv {
        w.qvel[i] = w.d.qvel[i] + h * w.acc[i];
        if let Some(k) = w.slot[nv + i] {
            w.block[i * n + k] += 1.0;
        }
        if let Some(k) = w.slot[i] {
            w.position[i * n + k] = 1.0;
        }
    }
    mjd_integrate_pos(m, &w.qvel, h, &mut w.position, &w.block, n);

    let first = store(&w.wanted.columns, 0, &w.position, to);
    store(&w.wanted.columns, first, &w.block, to);
    for a in 0..m.nactuator {
        let Some(adr) = m.actuator_actadr[a] else { continue };
        let row = 2 * nv + adr;
        for &column in &w.wanted.columns {
            *to.state_entry(row, column) = 0.0;
        }
        let [by_act, by_ctrl] = next_activation_derivative(m, &w.d, a);
        if w.slot[row].is_some() {
            *to.state_entry(row, row) = by_act;
        }
        let ctrl = ndx(m) + m.actuator_ctrladr[a];
        if m.actuator_ctrlnum[a] > 0 && w.slot[ctrl].is_some() {
            *to.state_entry(row, ctrl) = by_ctrl;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dual::mjd_transition_dual;
    use dualstep::mjcf::load_model;
    use std::path::Path;

    /// Largest difference between closed form and dual numbers, relative to the largest entry, over a model's
    /// keyframes, at velocities and controls that are not zero.
    fn worst(path: &Path, integrator: Integrator) -> Option<(f64, String)> {
        let mut m = load_model(path).expect("the model loads");
        m.opt.integrator = integrator;
        let mut worst = (0.0_f64, String::new());
        for state in 0..3 {
            let mut d = Data::<f64>::new(&m);
            d.reset_keyframe(&m, 0);
            let wave = |i: usize| ((i * 7 + state * 3) as f64).sin();
            for i in 0..m.nv {
                d.qvel[i] = wave(i) * state as f64;
            }
            let dq: Vec<f64> = (0..m.nv).map(|i| 0.3 * wave(i + 5) * state as f64).collect();
            dualstep::integrate::integrate_pos(&m, &mut d.qpos, &dq, 1.0);
            for i in 0..m.nu {
                d.ctrl[i] = 0.3 * wave(i + 1);
            }
            for i in 0..m.na {
                d.act[i] = 0.3 + 0.2 * wave(i + 2);
            }
            if state == 2 {
                for b in 1..m.nbody {
                    d.xfrc_applied[b] = std::array::from_fn(|k| wave(b + k));
                }
            }
            // RK4 blows up on stiff models at their timestep: nothing to differentiate there
            let Ok(exact) = mjd_transition_dual(&m, &d) else { continue };
            let ours = match mjd_transition_analytic(&m, &d) {
                Ok(ours) => ours,
                Err(TransitionError::NotCovered { .. }) => return None,
                Err(e) => panic!("{e}"),
            };
            for (x, y) in [(&ours.A, &exact.A), (&ours.B, &exact.B)] {
                let scale = y.iter().fold(1.0_f64, |s, v| s.max(v.abs()));
                for ((i, k), v) in x.indexed_iter() {
                    let e = (v - y[[i, k]]).abs() / scale;
                    if e > worst.0 {
                        worst = (e, format!("{} / column {k}", ours.state_names[i]));
                    }
                }
            }
        }
        Some(worst)
    }

    #[test]
    fn closed_form_matches_dual_numbers_on_all_models() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../validation/models");
        let mut failed = vec![];
        let mut covered = 0;
        let mut paths: Vec<_> = folder.read_dir().unwrap().map(|e| e.unwrap().path()).collect();
        paths.sort();
        for path in paths.iter().filter(|p| p.extension().is_some_and(|e| e == "xml")) {
            use Integrator::{Euler, Implicit, ImplicitFast, ImplicitSpringDamper, RK4};
            for integrator in [Euler, Implicit, ImplicitFast, RK4, ImplicitSpringDamper] {
                match worst(path, integrator) {
                    Some((e, entry)) if e > 1e-11 => {
                        failed.push((path.file_name().unwrap().to_owned(), integrator, e, entry));
                    }
                    Some(_) => covered += 1,
                    // what is not covered is named by the error
                    None => {}
                }
            }
        }
        assert!(failed.is_empty(), "{failed:?}");
        assert!(covered >= 138, "{covered}");
    }
}
