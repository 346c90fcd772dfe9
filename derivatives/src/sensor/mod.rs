//! Derivatives of sensors by state and control: `dy = C dx + D du` at the state before the step.
//!
//! A tangent of the position along degree of freedom k, with axis S, moves everything beyond its joint rigidly, as
//! seen from a fixed origin ([`crate::rne_pos`]). With Ṡ = p ×ₘ S, S̈ = A_p ×ₘ S + p ×ₘ Ṡ from the velocity and the
//! acceleration (p, A_p) before the joint, and w = Ṡ − S ×ₘ v from the velocity after it, body b beyond k has
//!
//! | | by q_k, at fixed q̈ | by v_k | by q̈_k |
//! |---|---|---|---|
//! | velocity V | Ṡ + S ×ₘ V | S | |
//! | acceleration A | S̈ + Ṡ ×ₘ V + S ×ₘ A | w + S ×ₘ V | S |
//! | momentum H of a subtree | S ×f H + Iᶜ Ṡ | Iᶜ S | |
//! | its force F = Ḣ | S ×f F + Bᶜ Ṡ + Iᶜ S̈ | Bᶜ S + Iᶜ w | Iᶜ S |
//!
//! Terms S × … turn a quantity with the body: they vanish in axes of a frame on the body. What depends on q̈ follows by
//! the chain rule through forward dynamics, with the transposed solve where sensors are few:
//! g ∂q̈/∂x = −(M⁻¹ g)ᵀ ∂r/∂x.
//!
//! With constraints, H = M + JᵀSJ stands for M, and forces of constraints are functions of q, v and q̈ as well
//! ([`crate::constraint`]): so are limits, touch, contacts, and wrenches across joints, which carry what contacts and ties
//! do not.
//!
//! Source: Carpentier and Mansard 2018; Singh, Russell, Wensing 2022; the sensors are those of `dualstep::sensor`.

mod acc;
mod actuator;
mod felt;
mod object;
mod pos;
mod range;
mod vel;

use dualstep::constraint::may_have_rows;
use dualstep::linalg::tree_ldl;
use dualstep::math::SpatialVec;
use dualstep::model::options::disable;
use dualstep::model::{SensorType, Stage};
use dualstep::sensor::clamped;
use dualstep::smooth::mul_m;
use dualstep::{Data, Model, Scalar};
use nalgebra::Vector3;

use crate::actuator::mjd_actuator;
use crate::analytic::uncovered;
use crate::columns::ncolumns;
use crate::constraint::{ConstraintDeriv, mjd_constraint_to};
use crate::matrices::TransitionError;
use crate::smooth::{SmoothDeriv, gravity_compensation, mjd_smooth};
use felt::Felt;
use object::Subtrees;

/// Derivatives of all sensors, and the scratch to compute them, allocated once.
#[derive(Clone, Debug)]
pub struct SensorDeriv<T: Scalar> {
    /// ∂sensordata/∂(q, v, act, u): C and D side by side, row-major (nsensordata × (2nv + na + nu)).
    pub block: Vec<T>,
    scratch: Scratch<T>,
    /// Forces at the acceleration of the state, where a sensor depends on that.
    forces: Option<Box<SmoothDeriv<T>>>,
    /// ∂sensordata/∂qacc, row-major (rows × nv): first of those sensors, then of those that read forces of constraints.
    by_qacc: Vec<T>,
    /// First row of each sensor in it (nsensor).
    place: Vec<Option<usize>>,
    felt: Felt,
    /// For constraints, if they can change what a sensor measures and nobody else differentiates them.
    constraint: Option<Box<Constrained<T>>>,
    /// A row of all columns.
    row: Vec<T>,
    /// All columns, and ∂qacc/∂(q, v, act, u), row-major (nv × (2nv + na + nu)); empty where the transposed solve is
    /// cheaper.
    columns: Vec<usize>,
    by_state: Vec<T>,
}

/// Derivatives of the acceleration under constraints.
#[derive(Clone, Debug)]
struct Constrained<T> {
    deriv: ConstraintDeriv,
    /// ∂qacc/∂(q, v, act, u), row-major (nv × (2nv + na + nu)).
    acceleration: Vec<T>,
}

/// What sensors share.
#[derive(Clone, Debug)]
struct Scratch<T: Scalar> {
    subtrees: Subtrees,
    /// Momentum of each subtree about the centre of mass of its tree, where a sensor asks (nbody).
    momentum: Vec<SpatialVec<T>>,
    /// M v, where a sensor asks (nv).
    product: Vec<T>,
    /// For sensors of actuators.
    actuators: Option<Box<SmoothDeriv<T>>>,
}

const MOMENTUM: [SensorType; 3] =
    [SensorType::EKinetic, SensorType::SubtreeLinVel, SensorType::SubtreeAngMom];

const ACTUATORS: [SensorType; 5] = [
    SensorType::ActuatorPos,
    SensorType::ActuatorVel,
    SensorType::ActuatorFrc,
    SensorType::JointActFrc,
    SensorType::TendonActFrc,
];

const ACCELERATION: [SensorType; 5] = [
    SensorType::Accelerometer,
    SensorType::Force,
    SensorType::Torque,
    SensorType::FrameLinAcc,
    SensorType::FrameAngAcc,
];

/// What reads rows of constraints, or contacts.
const CONSTRAINTS: [SensorType; 8] = [
    SensorType::Touch,
    SensorType::Contact,
    SensorType::JointLimitPos,
    SensorType::JointLimitVel,
    SensorType::JointLimitFrc,
    SensorType::TendonLimitPos,
    SensorType::TendonLimitVel,
    SensorType::TendonLimitFrc,
];

/// Of these, what has a derivative by the acceleration.
const FORCES: [SensorType; 4] =
    [SensorType::Touch, SensorType::Contact, SensorType::JointLimitFrc, SensorType::TendonLimitFrc];

/// True if constraints or contacts can change what a sensor of the model measures.
fn may_feel(m: &Model) -> bool {
    may_have_rows(m) && (has(m, &ACCELERATION) || has(m, &CONSTRAINTS))
}

/// True if constraints or contacts of this state change what a sensor of the model measures.
pub(crate) fn feels_constraints<T: Scalar>(m: &Model, d: &Data<T>) -> bool {
    let any = d.efc.nefc > 0 || !d.contact.is_empty();
    any && !m.opt.disabled(disable::SENSOR) && may_feel(m)
}

/// True if the closed form covers sensors of this type: all but those of rays and distances to geoms.
pub fn covers_sensor(sensor: SensorType) -> bool {
    !matches!(sensor, SensorType::GeomDist | SensorType::GeomNormal | SensorType::GeomFromTo)
}

/// True if the closed form covers all sensors of the model that are not disabled.
pub(crate) fn covers_sensors(m: &Model) -> bool {
    m.opt.disabled(disable::SENSOR) || m.sensor_type.iter().all(|&t| covers_sensor(t))
}

/// True if the model has a sensor of one of these types.
fn has(m: &Model, types: &[SensorType]) -> bool {
    m.sensor_type.iter().any(|t| types.contains(t))
}

/// Sensors that depend on `qacc`, in order.
fn of_acceleration(m: &Model) -> impl Iterator<Item = usize> {
    (0..m.nsensor).filter(|&i| ACCELERATION.contains(&m.sensor_type[i]))
}

/// Sensors that depend on it through forces of constraints, in order.
fn of_forces(m: &Model) -> impl Iterator<Item = usize> {
    (0..m.nsensor).filter(|&i| FORCES.contains(&m.sensor_type[i]))
}

impl<T: Scalar> SensorDeriv<T> {
    /// Room for the derivatives of the model.
    pub fn new(m: &Model) -> Self {
        let mut out = Self::shared(m);
        out.constraint = may_feel(m).then(|| {
            let acceleration = vec![T::zero(); m.nv * ncolumns(m)];
            Box::new(Constrained { deriv: ConstraintDeriv::new(m), acceleration })
        });
        if out.constraint.is_some() && out.forces.is_none() {
            out.forces = Some(Box::new(SmoothDeriv::new(m)));
        }
        out
    }

    /// The same for a caller that differentiates constraints itself.
    pub(crate) fn shared(m: &Model) -> Self {
        let zeros = |n: usize| vec![T::zero(); n];
        let n = ncolumns(m);
        let mut place = vec![None; m.nsensor];
        let (mut rows, mut all) = (0, 0);
        for i in of_acceleration(m).chain(of_forces(m)) {
            place[i] = Some(all);
            all += m.sensor_dim[i];
            if ACCELERATION.contains(&m.sensor_type[i]) {
                rows = all;
            }
        }
        let room = |types: &[SensorType]| has(m, types).then(|| Box::new(SmoothDeriv::new(m)));
        Self {
            block: zeros(m.nsensordata * n),
            scratch: Scratch {
                subtrees: Subtrees::new(m),
                momentum: vec![SpatialVec::zero(); if has(m, &MOMENTUM) { m.nbody } else { 0 }],
                product: zeros(m.nv),
                actuators: room(&ACTUATORS),
            },
            forces: room(&ACCELERATION),
            by_qacc: zeros(all * m.nv),
            place,
            felt: Felt::new(m),
            constraint: None,
            row: zeros(n),
            columns: (0..n).collect(),
            // a solve costs 2 nM a column; the product with a row, which is sparse only if not solved for, nv
            by_state: zeros(if rows * m.nv > 2 * m.nM { m.nv * n } else { 0 }),
        }
    }

    fn clear(&mut self) {
        self.block.fill(T::zero());
        self.by_qacc.fill(T::zero());
    }
}

/// Rows of a derivative that belong to one sensor.
struct Rows<'a, T> {
    values: &'a mut [T],
    columns: usize,
}

impl<T: Scalar> Rows<'_, T> {
    fn add(&mut self, row: usize, column: usize, x: T) {
        self.values[row * self.columns + column] += x;
    }

    fn add3(&mut self, column: usize, x: &Vector3<T>) {
        for row in 0..3 {
            self.add(row, column, x[row]);
        }
    }
}

/// ∂sensordata/∂(q, v, act, u): C and D of the state of `d`.
///
/// - reads  everything that `forward` writes
/// - writes `out.block`
///
/// A value that is clamped, by a cut-off or inside an actuator, has a zero derivative; so have limits that are not active,
/// and sensors that read zero (what `dualstep::sensor` does not support). All rows are zero where sensors are disabled. Rows
/// of sensors without [`covers_sensor`] are NaN.
///
/// Source: see the module. Cost O(depth) a sensor, and that of [`crate::mjd_acceleration`] where one depends on `qacc` or on
/// forces of constraints.
///
/// # Errors
/// Constraints are active that the closed form does not cover, or H is not positive definite.
///
/// # Panics
/// If `out` belongs to a model of other sizes.
pub fn mjd_sensors(
    m: &Model,
    d: &Data<f64>,
    out: &mut SensorDeriv<f64>,
) -> Result<(), TransitionError> {
    if !feels_constraints(m, d) {
        mjd_smooth_sensors(m, d, out);
        return Ok(());
    }
    check_size(m, out);
    if let Some(feature) = uncovered(m, d) {
        return Err(TransitionError::NotCovered { feature });
    }
    let mut constraint = out.constraint.take().expect("made for models that may have rows");
    let mut forces = out.forces.take().expect("made for models that may have rows");
    mjd_smooth(m, d, &d.qacc, &mut forces);
    let Constrained { deriv, acceleration } = &mut *constraint;
    let SmoothDeriv { dq, dv, .. } = &mut *forces;
    let result = mjd_constraint_to(m, d, deriv, dq, dv, &mut out.listen(m, d));
    if result.is_ok() {
        forces.gather(m, &out.columns, acceleration);
        deriv.solve_many(acceleration, ncolumns(m));
        let columns = std::mem::take(&mut out.columns);
        out.finish(m, d, &forces, (acceleration, &columns));
        out.columns = columns;
    }
    (out.constraint, out.forces) = (Some(constraint), Some(forces));
    result
}

/// As [`mjd_sensors`] at a state without rows of constraints and without contacts, on any scalar. Sensors of limits and
/// contacts have zero rows.
///
/// # Panics
/// If `out` belongs to a model of other sizes.
pub fn mjd_smooth_sensors<T: Scalar>(m: &Model, d: &Data<T>, out: &mut SensorDeriv<T>) {
    let mut forces = out.forces.take();
    let used = has(m, &ACCELERATION) && !m.opt.disabled(disable::SENSOR);
    if let Some(forces) = forces.as_mut().filter(|_| used) {
        mjd_smooth(m, d, &d.qacc, forces);
    }
    evaluate(m, d, forces.as_deref().filter(|_| used), out);
    out.forces = forces;
}

/// As [`mjd_smooth_sensors`], where `forces` holds what [`mjd_smooth`] gives at `d.qacc`.
///
/// # Panics
/// As [`mjd_smooth_sensors`].
pub fn mjd_sensors_from<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    forces: &SmoothDeriv<T>,
    out: &mut SensorDeriv<T>,
) {
    evaluate(m, d, Some(forces), out);
}

fn check_size<T: Scalar>(m: &Model, out: &SensorDeriv<T>) {
    assert_eq!(out.block.len(), m.nsensordata * ncolumns(m), "derivative of another model");
}

/// All rows without constraints; `forces` where a sensor depends on `qacc`.
fn evaluate<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    forces: Option<&SmoothDeriv<T>>,
    out: &mut SensorDeriv<T>,
) {
    check_size(m, out);
    out.clear();
    if m.opt.disabled(disable::SENSOR) {
        return;
    }
    explicit(m, d, forces, out);
    if let Some(forces) = forces.filter(|_| of_acceleration(m).next().is_some()) {
        chain_rule(m, d, forces, out);
    }
    cut_off(m, d, &mut out.block);
}

impl SensorDeriv<f64> {
    /// What is left to do after the sensors have listened to the constraints: `forces` holds what [`mjd_smooth`] gives at
    /// `d.qacc`; ∂qacc/∂x in those columns of (q, v, act, u) that count, row-major (nv × columns).
    pub(crate) fn finish(
        &mut self,
        m: &Model,
        d: &Data<f64>,
        forces: &SmoothDeriv<f64>,
        (acceleration, columns): (&[f64], &[usize]),
    ) {
        explicit(m, d, Some(forces), self);
        felt::limits(m, d, &mut self.block);
        let Self { block, by_qacc, row: sum, .. } = self;
        let values = of_acceleration(m).chain(of_forces(m)).flat_map(|i| values(m, i));
        let (n, sum) = (ncolumns(m), &mut sum[..columns.len()]);
        for (value, gradient) in values.zip(by_qacc.chunks_exact(m.nv.max(1))) {
            sum.fill(0.0);
            add_product(gradient, acceleration, sum);
            let row = &mut block[value * n..(value + 1) * n];
            for (&column, x) in columns.iter().zip(&*sum) {
                row[column] += x;
            }
        }
        cut_off(m, d, block);
    }
}

/// Adds what does not depend on rows of constraints, at fixed `qacc` and by it.
fn explicit<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    forces: Option<&SmoothDeriv<T>>,
    out: &mut SensorDeriv<T>,
) {
    let n = ncolumns(m);
    prepare(m, d, &mut out.scratch);
    for i in 0..m.nsensor {
        let (adr, dim) = (m.sensor_adr[i], m.sensor_dim[i]);
        let mut rows = Rows { values: &mut out.block[adr * n..(adr + dim) * n], columns: n };
        if !covers_sensor(m.sensor_type[i]) {
            rows.values.fill(T::lift(f64::NAN));
            continue;
        }
        match m.sensor_needstage[i] {
            Stage::None => {}
            Stage::Pos => pos::rows(m, d, i, &mut out.scratch, &mut rows),
            Stage::Vel => vel::rows(m, d, i, &mut out.scratch, &mut rows),
            Stage::Acc if ACCELERATION.contains(&m.sensor_type[i]) => {
                let (Some(forces), Some(first)) = (forces, out.place[i]) else { continue };
                let values = &mut out.by_qacc[first * m.nv..(first + dim) * m.nv];
                let mut by_qacc = Rows { values, columns: m.nv };
                acc::rows(m, d, i, forces, &out.scratch.subtrees, &mut rows, &mut by_qacc);
            }
            Stage::Acc => actuator::force_rows(m, d, i, &mut out.scratch, &mut rows),
        }
    }
}

/// Places of a sensor's values in `sensordata`.
fn values(m: &Model, i: usize) -> std::ops::Range<usize> {
    m.sensor_adr[i]..m.sensor_adr[i] + m.sensor_dim[i]
}

/// What several sensors need.
fn prepare<T: Scalar>(m: &Model, d: &Data<T>, s: &mut Scratch<T>) {
    if !s.momentum.is_empty() {
        s.momentum[0] = SpatialVec::zero();
        for b in m.bodies_base_to_tip() {
            s.momentum[b] = d.cinert[b].mul_vec(&d.cvel[b]);
        }
        for b in m.bodies_tip_to_base() {
            let momentum = s.momentum[b];
            s.momentum[m.body_parentid[b]] += momentum;
        }
    }
    if has(m, &[SensorType::EKinetic]) {
        mul_m(m, d, &d.qvel, &mut s.product);
    }
    if let Some(out) = s.actuators.as_mut().filter(|_| has(m, &[SensorType::JointActFrc])) {
        for x in [&mut out.dq, &mut out.dv, &mut out.da, &mut out.du] {
            x.fill(T::zero());
        }
        mjd_actuator(m, d, out);
        let passive = !(m.opt.disabled(disable::SPRING) && m.opt.disabled(disable::DAMPER));
        if !(passive && gravity_compensation(m, d, out)) {
            out.gravcomp.fill(T::zero());
        }
    }
}

/// Rows += ∂sensordata/∂qacc · ∂qacc/∂(q, v, act, u).
fn chain_rule<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    forces: &SmoothDeriv<T>,
    out: &mut SensorDeriv<T>,
) {
    let SensorDeriv { block, by_qacc, columns, by_state, .. } = out;
    let (nv, n) = (m.nv, ncolumns(m));
    let number: usize = of_acceleration(m).map(|i| m.sensor_dim[i]).sum();
    let by_qacc = &mut by_qacc[..number * nv];
    let transposed = by_state.is_empty();
    if transposed {
        for gradient in by_qacc.chunks_exact_mut(nv.max(1)) {
            tree_ldl::solve(m, &d.qLD, &d.qLDiagInv, gradient);
        }
    } else {
        forces.gather(m, columns, by_state);
        tree_ldl::solve_many(m, &d.qLD, &d.qLDiagInv, by_state, n);
    }
    let rows = of_acceleration(m).flat_map(|i| values(m, i));
    for (row, gradient) in rows.zip(by_qacc.chunks_exact(nv.max(1))) {
        let row = &mut block[row * n..(row + 1) * n];
        if !transposed {
            add_product(gradient, by_state, row);
            continue;
        }
        let (q, rest) = row.split_at_mut(nv);
        let (v, rest) = rest.split_at_mut(nv);
        let (act, u) = rest.split_at_mut(m.na);
        for (matrix, part) in [(&forces.dq, q), (&forces.dv, v), (&forces.da, act), (&forces.du, u)]
        {
            add_product(gradient, matrix, part);
        }
    }
}

/// `to` += xᵀ A for a row-major matrix with as many rows as x is long.
fn add_product<T: Scalar>(x: &[T], A: &[T], to: &mut [T]) {
    let n = to.len();
    if n == 0 {
        return;
    }
    // two rows at a time: `to` is read and written half as often
    let mut terms = x.iter().zip(A.chunks_exact(n)).filter(|(x, _)| T::ORDER > 0 || x.re() != 0.0);
    while let Some((&x, a)) = terms.next() {
        if let Some((&y, b)) = terms.next() {
            for ((to, a), b) in to.iter_mut().zip(a).zip(b) {
                *to += x * *a + y * *b;
            }
        } else {
            for (to, a) in to.iter_mut().zip(a) {
                *to += x * *a;
            }
        }
    }
}

/// Zero rows for values beyond their cut-off.
fn cut_off<T: Scalar>(m: &Model, d: &Data<T>, block: &mut [T]) {
    let n = ncolumns(m);
    for i in (0..m.nsensor).filter(|&i| m.sensor_cutoff[i] > 0.0) {
        for (k, clamped) in clamped(m, d, i).into_iter().take(m.sensor_dim[i]).enumerate() {
            if clamped {
                let row = m.sensor_adr[i] + k;
                block[row * n..(row + 1) * n].fill(T::zero());
            }
        }
    }
}

#[cfg(test)]
mod tests;
