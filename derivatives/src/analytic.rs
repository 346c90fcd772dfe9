//! Transition matrices in closed form: no step is differenced.
//!
//! The step solves H â = f for the acceleration over the step, f = qfrc_smooth + qfrc_constraint, with H = M,
//! M + hD or M − h·qDeriv by the integrator. Then ∂â/∂x = H⁻¹ (∂f/∂x − ∂H/∂x â), where the derivative of f
//! and that of M â are taken together as inverse dynamics at fixed acceleration ([`crate::smooth`]); velocities
//! follow by v⁺ = v + h â, positions by the derivative of q ⊕ h v⁺ ([`crate::quat`]).

use dualstep::constraint::may_have_rows;
use dualstep::forward::{Outputs, Reuse, check_acceleration, check_input, forward_skip};
use dualstep::integrate::{damps_implicitly, stiffness};
use dualstep::linalg::tree_ldl;
use dualstep::model::options::{disable, enable};
use dualstep::model::{Integrator, TrnType};
use dualstep::smooth::poly;
use dualstep::{Data, Model, Scalar};

use crate::actuator::next_activation_derivative;
use crate::columns::{Segment, Wanted, ncolumns, segments};
use crate::constraint::{ConstraintDeriv, mjd_constraint, mjd_constraint_to};
use crate::finite_diff::FdConfig;
use crate::implicit::ImplicitWorkspace;
use crate::kinks::{self, RowKinks};
use crate::matrices::{Column, Feature, Origin, Reason, Solve, Transition, TransitionError};
use crate::quat::integrate_pos_from_identity;
use crate::rk4::{self, Rk4Workspace};
use crate::sensor::{
    SensorDeriv, covers_sensors, feels_constraints, mjd_sensors_from, mjd_smooth_sensors,
};
use crate::smooth::{SmoothDeriv, mjd_smooth};
use crate::tangent::ndx;

/// What of the state the closed form does not cover, as far as that can be seen before it is computed.
pub(crate) fn uncovered(m: &Model, d: &Data<f64>) -> Option<Feature> {
    if !d.contact.is_empty() && m.actuator_trntype.contains(&TrnType::Body) {
        Some(Feature::BodyTransmission)
    } else {
        uncovered_rows(m, d)
    }
}

/// The same of rows alone, whatever actuators do.
pub(crate) fn uncovered_rows(m: &Model, d: &Data<f64>) -> Option<Feature> {
    if d.efc.nefc > 0 && m.opt.enabled(enable::DIAGEXACT) {
        Some(Feature::ExactDiagonal)
    } else if d.penalty.nefc > 0 {
        Some(Feature::Penalty)
    } else {
        None
    }
}

/// What a linearization runs its forward passes in: forces of constraints are those of the minimum itself, and contacts
/// at the nearest points of curved shapes, since they are differentiated there, whatever tolerances the model asks for.
pub(crate) fn exact<T: Scalar>(m: &Model) -> Data<T> {
    let mut d = Data::new(m);
    d.polish(m, true);
    d
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
    /// Right-hand sides, then the columns of h ∂â/∂(q, v, act, u) that are wanted, row-major (nv × n).
    block: Vec<f64>,
    /// Tangent of the new position, row-major (nv × n).
    position: Vec<f64>,
    /// New velocity (nv).
    qvel: Vec<f64>,
    /// For implicit integrators only.
    implicit: Option<Box<ImplicitWorkspace>>,
    /// For RK4 only.
    rk4: Option<Rk4Workspace>,
    /// If C and D are wanted.
    sensors: Option<SensorDeriv<f64>>,
    /// If there can be constraints.
    constraint: Option<Box<Constrained>>,
    rows: Option<Box<RowKinks>>,
}

/// What constraints need beside the rest.
#[derive(Debug)]
struct Constrained {
    deriv: ConstraintDeriv,
    /// ∂qacc/∂(q, v, act, u), the columns that are wanted (nv × n).
    acceleration: Vec<f64>,
    /// Of the smooth forces at `qacc`, then of `qfrc_constraint` (nv × n).
    force: Vec<f64>,
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
            d: exact(m),
            smooth: SmoothDeriv::new(m),
            acc: vec![0.0; m.nv],
            H: vec![0.0; m.nM],
            H_inv: vec![0.0; m.nv],
            block: vec![0.0; m.nv * n],
            position: vec![0.0; m.nv * n],
            qvel: vec![0.0; m.nv],
            rk4: (m.opt.integrator == Integrator::RK4).then(|| Rk4Workspace::new(m, n)),
            implicit: (m.opt.integrator.needs_qDeriv())
                .then(|| Box::new(ImplicitWorkspace::new(m))),
            sensors: (wanted.sensors && m.nsensordata > 0).then(|| SensorDeriv::shared(m)),
            rows: may_have_rows(m).then(|| Box::new(RowKinks::new(m))),
            constraint: may_have_rows(m).then(|| {
                let (acceleration, force) = (vec![0.0; m.nv * n], vec![0.0; m.nv * n]);
                Box::new(Constrained { deriv: ConstraintDeriv::new(m), acceleration, force })
            }),
            wanted,
        }
    }
}

/// A, B, C and D of one step at the state of `d`, in closed form. C and D belong to the state before the step.
///
/// # Errors
/// The state or the acceleration is not finite; a feature is not covered, which the error names.
///
/// Source: Carpentier and Mansard 2018 for ∂(M a + bias); see the module for the step, [`crate::sensor`] for C and D.
/// Cost O(nv² · depth).
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
    match linearize(m, d, w, transition)? {
        Some(feature) => Err(TransitionError::NotCovered { feature }),
        None => Ok(()),
    }
}

/// As [`mjd_transition_analytic_into`]; where only C and D are not covered they stay as they were, and the feature is
/// returned.
pub(crate) fn linearize(
    m: &Model,
    d: &Data<f64>,
    w: &mut AnalyticWorkspace,
    transition: &mut Transition,
) -> Result<Option<Feature>, TransitionError> {
    // sensors need the acceleration of the state, A and B that over the step
    let outputs = if w.sensors.is_some() { Outputs::All } else { Outputs::State };
    pass(m, d, w, outputs)?;
    transition.solver = Solve::of(m, &w.d);
    let felt = w.sensors.is_some() && covers_sensors(m) && feels_constraints(m, &w.d);
    let constrained = w.d.efc.nefc > 0 && w.wanted.state && w.rk4.is_none();
    if felt || constrained {
        constrain(m, w, felt)?;
    }
    if w.wanted.state {
        state(m, d, w, transition)?;
    }
    row_kinks(m, w);
    if w.wanted.state {
        for &column in &w.wanted.columns {
            transition.columns[column] = w.columns[column];
        }
    }
    let Some(sensors) = &mut w.sensors else { return Ok(None) };
    if !covers_sensors(m) {
        return Ok(Some(Feature::Sensors));
    }
    // where the step's acceleration is that of the state, so are the derivatives of the forces
    let same = w.wanted.state && w.implicit.is_none() && w.rk4.is_none() && !implicit_forces(m);
    if felt {
        // done
    } else if same && w.d.efc.nefc == 0 {
        mjd_sensors_from(m, &w.d, &w.smooth, sensors);
    } else {
        mjd_smooth_sensors(m, &w.d, sensors);
    }
    let all = sensors.block.chunks_exact(ncolumns(m).max(1));
    for (i, row) in all.enumerate() {
        for &column in &w.wanted.columns {
            *transition.sensor_entry(i, column) = row[column];
        }
    }
    for &column in &w.wanted.columns {
        transition.sensor_columns[column] = w.columns[column];
    }
    Ok(None)
}

/// The forward pass at the state of `d`, and its kinks.
fn pass(
    m: &Model,
    d: &Data<f64>,
    w: &mut AnalyticWorkspace,
    outputs: Outputs,
) -> Result<(), TransitionError> {
    w.d.set_state_from(d);
    check_input(d)
        .and_then(|()| forward_skip(m, &mut w.d, Reuse::Nothing, outputs))
        .map_err(TransitionError::Step)?;
    if outputs.include_qacc(m, &w.d) {
        check_acceleration(&w.d.qacc).map_err(TransitionError::Step)?;
    }
    if let Some(feature) = uncovered(m, &w.d) {
        return Err(TransitionError::NotCovered { feature });
    }
    w.columns.fill(Column { origin: Origin::Analytic, why: w.why, ..Column::SKIPPED });
    kinks::mark(m, &w.d, &FdConfig::default().eps, &mut w.columns);
    Ok(())
}

/// A and B.
fn state(
    m: &Model,
    d: &Data<f64>,
    w: &mut AnalyticWorkspace,
    transition: &mut Transition,
) -> Result<(), TransitionError> {
    if let Some(rk4) = &mut w.rk4 {
        let (blocks, solver) = rk4::tangents(m, d, &w.wanted.columns, rk4)?;
        transition.solver = transition.solver.worse(solver);
        let mut first = 0;
        for block in blocks {
            first = store(m, &w.wanted.columns, first, block, transition);
        }
        return Ok(());
    }
    let n = w.wanted.columns.len();
    let constrained = w.d.efc.nefc > 0;
    if let Some(implicit) = &mut w.implicit {
        for i in 0..m.nv {
            w.acc[i] = w.d.qfrc_smooth[i] + w.d.qfrc_constraint[i];
        }
        implicit.factor(m, &w.d).map_err(|e| TransitionError::Step(e.into()))?;
        implicit.solve_many(m, &mut w.acc, 1);
        check_acceleration(&w.acc).map_err(TransitionError::Step)?;
        mjd_smooth(m, &w.d, &w.acc, &mut w.smooth);
        implicit.second_order(m, &w.d, &w.acc, &mut w.smooth);
        w.smooth.gather(m, &w.wanted.columns, &mut w.block);
        if let Some(c) = w.constraint.as_ref().filter(|_| constrained) {
            add(&mut w.block, &c.force);
        }
        implicit.solve_many(m, &mut w.block, n);
        for x in &mut w.block {
            *x *= m.opt.timestep;
        }
    } else if let Some(c) = w.constraint.as_ref().filter(|_| constrained && !implicit_forces(m)) {
        w.acc.copy_from_slice(&w.d.qacc);
        for (to, from) in w.block.iter_mut().zip(&c.acceleration) {
            *to = m.opt.timestep * from;
        }
    } else {
        acceleration(m, w);
        check_acceleration(&w.acc).map_err(TransitionError::Step)?;
        mjd_smooth(m, &w.d, &w.acc, &mut w.smooth);
        w.smooth.gather(m, &w.wanted.columns, &mut w.block);
        diagonal_slopes(m, w);
        if let Some(c) = w.constraint.as_ref().filter(|_| constrained) {
            add(&mut w.block, &c.force);
        }
        // h H⁻¹ = L⁻¹ (h D⁻¹) L⁻ᵀ
        for x in &mut w.H_inv {
            *x *= m.opt.timestep;
        }
        tree_ldl::solve_many(m, &w.H, &w.H_inv, &mut w.block, n);
    }
    assemble(m, w, transition);
    Ok(())
}

/// Kinks of constraints. Under RK4 those of the first stage, with what an input does at fixed acceleration only.
fn row_kinks(m: &Model, w: &mut AnalyticWorkspace) {
    let Some(rows) = &mut w.rows else { return };
    let n = w.wanted.columns.len();
    let block = w.constraint.as_ref().filter(|_| w.wanted.state && w.rk4.is_none());
    let block = block.filter(|_| w.d.efc.nefc > 0);
    let acceleration = |dof: usize, column: usize| match (block, w.slot[column]) {
        (Some(c), Some(place)) => c.acceleration[dof * n + place],
        _ => 0.0,
    };
    rows.mark(m, &w.d, &acceleration, &FdConfig::forward().eps, &mut w.columns);
}

fn add(to: &mut [f64], from: &[f64]) {
    for (x, y) in to.iter_mut().zip(from) {
        *x += y;
    }
}

/// Derivatives of `qacc`, and, where the step has another acceleration, of `qfrc_constraint` = M qacc + bias − τ: with
/// −∂r/∂x of the smooth forces at fixed `qacc`, ∂qfrc_constraint = ∂r/∂x + M ∂qacc. And those of all sensors, if they feel
/// constraints.
fn constrain(m: &Model, w: &mut AnalyticWorkspace, felt: bool) -> Result<(), TransitionError> {
    let (columns, n) = (&w.wanted.columns, w.wanted.columns.len());
    let Some(c) = &mut w.constraint else { return Ok(()) };
    mjd_smooth(m, &w.d, &w.d.qacc, &mut w.smooth);
    let implicit = w.implicit.is_some() || implicit_forces(m);
    if implicit {
        w.smooth.gather(m, columns, &mut c.force);
    }
    let SmoothDeriv { dq, dv, .. } = &mut w.smooth;
    let sensors = w.sensors.as_mut().filter(|_| felt);
    if let Some(sensors) = sensors {
        mjd_constraint_to(m, &w.d, &mut c.deriv, dq, dv, &mut sensors.listen(m, &w.d))?;
    } else {
        mjd_constraint(m, &w.d, &mut c.deriv, dq, dv)?;
    }
    w.smooth.gather(m, columns, &mut c.acceleration);
    c.deriv.solve_many(&mut c.acceleration, n);
    if let Some(sensors) = w.sensors.as_mut().filter(|_| felt) {
        sensors.finish(m, &w.d, &w.smooth, (&c.acceleration, columns));
    }
    if implicit {
        c.force.iter_mut().for_each(|x| *x = -*x);
        for i in 0..m.nv {
            let (adr, last) = (m.M_rowadr[i], m.M_rowadr[i] + m.M_rownnz[i] - 1);
            for e in adr..=last {
                let j = m.M_colind[e];
                axpy(w.d.qM[e], &c.acceleration[j * n..(j + 1) * n], &mut c.force[i * n..][..n]);
                if e < last {
                    axpy(
                        w.d.qM[e],
                        &c.acceleration[i * n..(i + 1) * n],
                        &mut c.force[j * n..][..n],
                    );
                }
            }
        }
    }
    Ok(())
}

/// y += s x.
fn axpy(s: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += s * x;
    }
}

/// Copies rows of the wanted columns to [A B], from row `first` on; the row after the last.
fn store(m: &Model, columns: &[usize], first: usize, block: &[f64], to: &mut Transition) -> usize {
    let rows = block.chunks_exact(columns.len().max(1));
    let last = first + rows.len();
    for Segment { place, column, len } in segments(m, columns) {
        for (i, row) in rows.clone().enumerate() {
            let entries = to.state_entries(first + i, column, len);
            entries.copy_from_slice(&row[place..place + len]);
        }
    }
    last
}

/// True if joint springs are integrated implicitly.
fn implicit_springs(m: &Model) -> bool {
    m.opt.integrator == Integrator::ImplicitSpringDamper && !m.opt.disabled(disable::SPRING)
}

/// True if joint damping is integrated implicitly.
fn implicit_damping(m: &Model) -> bool {
    match m.opt.integrator {
        Integrator::ImplicitSpringDamper => !m.opt.disabled(disable::DAMPER),
        _ => damps_implicitly(m),
    }
}

/// True if the step's acceleration is not that of the state.
fn implicit_forces(m: &Model) -> bool {
    implicit_damping(m) || implicit_springs(m)
}

/// Factor of H and the acceleration over the step.
fn acceleration(m: &Model, w: &mut AnalyticWorkspace) {
    let h = m.opt.timestep;
    if implicit_forces(m) {
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

/// What implicit damping and springs add on the diagonal: −d(h D(v) â)/dv, and −d(h²K(q) â + h K(q) v)/d(q, v).
fn diagonal_slopes(m: &Model, w: &mut AnalyticWorkspace) {
    let n = w.wanted.columns.len();
    for i in 0..m.nv {
        let (by_position, by_velocity) = (w.slot[i], w.slot[m.nv + i]);
        let slopes = implicit_slopes(m, &w.d, &w.acc, i);
        for (k, slope) in [by_position, by_velocity].into_iter().zip(slopes) {
            if let Some(k) = k {
                w.block[i * n + k] += slope;
            }
        }
    }
}

/// The same for degree of freedom i: by its position, and by its velocity.
fn implicit_slopes(m: &Model, d: &Data<f64>, acc: &[f64], i: usize) -> [f64; 2] {
    let (v, a, h) = (d.qvel[i], acc[i], m.opt.timestep);
    let mut slopes = [0.0; 2];
    if implicit_damping(m) {
        // D = b₀ + 2b₁|v| + 3b₂v²
        let [_, b1, b2] = m.dof_damping_eff[i];
        let slope = if v < 0.0 { -2.0 * b1 } else { 2.0 * b1 } + 6.0 * b2 * v;
        slopes[1] -= h * slope * a;
    }
    if implicit_springs(m) {
        let [K, slope] = stiffness(m, &d.qpos, i);
        slopes[0] -= h * slope * (h * a + v);
        slopes[1] -= h * K;
    }
    slopes
}

/// v⁺ = v + h â, q⁺ = q ⊕ h v⁺, act⁺.
fn assemble(m: &Model, w: &mut AnalyticWorkspace, to: &mut Transition) {
    let (nv, h) = (m.nv, m.opt.timestep);
    let n = w.wanted.columns.len();
    for i in 0..nv {
        w.qvel[i] = w.d.qvel[i] + h * w.acc[i];
        if let Some(k) = w.slot[nv + i] {
            w.block[i * n + k] += 1.0;
        }
    }
    integrate_pos_from_identity(m, &w.qvel, h, &mut w.position, &w.block, &w.slot);

    let first = store(m, &w.wanted.columns, 0, &w.position, to);
    store(m, &w.wanted.columns, first, &w.block, to);
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

pub(crate) mod product;

#[cfg(test)]
mod tests;
