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
//! Source: Carpentier and Mansard 2018; Singh, Russell, Wensing 2022; the sensors are those of `dualstep::sensor`.

mod acc;
mod actuator;
mod object;
mod pos;
mod vel;

use dualstep::linalg::tree_ldl;
use dualstep::math::SpatialVec;
use dualstep::model::options::disable;
use dualstep::model::{SensorType, Stage};
use dualstep::sensor::clamped;
use dualstep::smooth::mul_m;
use dualstep::{Data, Model, Scalar};
use nalgebra::Vector3;

use crate::actuator::mjd_actuator;
use crate::columns::ncolumns;
use crate::smooth::{SmoothDeriv, gravity_compensation, mjd_smooth};
use object::Subtrees;

/// Derivatives of all sensors, and the scratch to compute them, allocated once.
#[derive(Clone, Debug)]
pub struct SensorDeriv<T: Scalar> {
    /// ∂sensordata/∂(q, v, act, u): C and D side by side, row-major (nsensordata × (2nv + na + nu)).
    pub block: Vec<T>,
    scratch: Scratch<T>,
    /// Forces at the acceleration of the state, where a sensor depends on that.
    forces: Option<Box<SmoothDeriv<T>>>,
    /// ∂sensordata/∂qacc of those sensors, row-major (rows × nv).
    by_qacc: Vec<T>,
    /// All columns, and ∂qacc/∂(q, v, act, u), row-major (nv × (2nv + na + nu)); empty where the transposed solve is
    /// cheaper.
    columns: Vec<usize>,
    by_state: Vec<T>,
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

/// What reads rows of constraints.
const CONSTRAINTS: [SensorType; 7] = [
    SensorType::Touch,
    SensorType::JointLimitPos,
    SensorType::JointLimitVel,
    SensorType::JointLimitFrc,
    SensorType::TendonLimitPos,
    SensorType::TendonLimitVel,
    SensorType::TendonLimitFrc,
];

/// True if active constraints change what a sensor of the model measures.
pub(crate) fn feels_constraints(m: &Model) -> bool {
    !m.opt.disabled(disable::SENSOR) && (has(m, &ACCELERATION) || has(m, &CONSTRAINTS))
}

/// True if the closed form covers sensors of this type: all but those of contacts, of rays and distances to geoms, and of
/// images.
pub fn covers_sensor(sensor: SensorType) -> bool {
    use SensorType as S;
    !matches!(
        sensor,
        S::Contact
            | S::Rangefinder
            | S::CamProjection
            | S::GeomDist
            | S::GeomNormal
            | S::GeomFromTo
    )
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

impl<T: Scalar> SensorDeriv<T> {
    /// Room for the derivatives of the model.
    pub fn new(m: &Model) -> Self {
        let zeros = |n: usize| vec![T::zero(); n];
        let n = ncolumns(m);
        let rows: usize = of_acceleration(m).map(|i| m.sensor_dim[i]).sum();
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
            by_qacc: zeros(rows * m.nv),
            columns: (0..n).collect(),
            // a solve costs 2 nM a column; the product with a row, which is sparse only if not solved for, nv
            by_state: zeros(if rows * m.nv > 2 * m.nM { m.nv * n } else { 0 }),
        }
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
/// At a state without rows of constraints. A value that is clamped, by a cut-off or inside an actuator, has a zero
/// derivative. Sensors that read zero (of touch and limits, and what `dualstep::sensor` does not support) have zero rows;
/// all rows are zero where sensors are disabled. Rows of sensors without [`covers_sensor`] are NaN.
///
/// Source: see the module. Cost O(depth) a sensor, and that of [`mjd_smooth`] where one depends on `qacc`.
///
/// # Panics
/// If `out` belongs to a model of other sizes.
pub fn mjd_sensors<T: Scalar>(m: &Model, d: &Data<T>, out: &mut SensorDeriv<T>) {
    let mut forces = out.forces.take();
    if let Some(forces) = forces.as_mut().filter(|_| !m.opt.disabled(disable::SENSOR)) {
        mjd_smooth(m, d, &d.qacc, forces);
    }
    evaluate(m, d, forces.as_deref(), out);
    out.forces = forces;
}

/// As [`mjd_sensors`], where `forces` holds what [`mjd_smooth`] gives at `d.qacc`.
///
/// # Panics
/// As [`mjd_sensors`].
pub fn mjd_sensors_from<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    forces: &SmoothDeriv<T>,
    out: &mut SensorDeriv<T>,
) {
    evaluate(m, d, Some(forces), out);
}

/// All rows; `forces` where a sensor depends on `qacc`.
fn evaluate<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    forces: Option<&SmoothDeriv<T>>,
    out: &mut SensorDeriv<T>,
) {
    let n = ncolumns(m);
    assert_eq!(out.block.len(), m.nsensordata * n, "derivative of another model");
    out.block.fill(T::zero());
    if m.opt.disabled(disable::SENSOR) {
        return;
    }
    prepare(m, d, &mut out.scratch);
    out.by_qacc.fill(T::zero());
    let mut first = 0;
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
                let Some(forces) = forces else { continue };
                let last = first + dim;
                let values = &mut out.by_qacc[first * m.nv..last * m.nv];
                let mut by_qacc = Rows { values, columns: m.nv };
                acc::rows(m, d, i, forces, &out.scratch.subtrees, &mut rows, &mut by_qacc);
                first = last;
            }
            Stage::Acc => actuator::force_rows(m, d, i, &mut out.scratch, &mut rows),
        }
    }
    if let Some(forces) = forces.filter(|_| first > 0) {
        chain_rule(m, d, forces, out);
    }
    cut_off(m, d, &mut out.block);
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
    let transposed = by_state.is_empty();
    if transposed {
        for gradient in by_qacc.chunks_exact_mut(nv.max(1)) {
            tree_ldl::solve(m, &d.qLD, &d.qLDiagInv, gradient);
        }
    } else {
        forces.gather(m, columns, by_state);
        tree_ldl::solve_many(m, &d.qLD, &d.qLDiagInv, by_state, n);
    }
    let rows = of_acceleration(m).flat_map(|i| m.sensor_adr[i]..m.sensor_adr[i] + m.sensor_dim[i]);
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
