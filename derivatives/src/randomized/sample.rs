//! One sample: normals, the step from there, its linearization.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use dualstep::model::JointType;
use dualstep::{Data, Model, step};
use nalgebra::Vector3;
use rand_distr::{Distribution, StandardNormal};

use super::{Order, Sums, step_error};
use crate::columns::ncolumns;
use crate::matrices::{Solve, Transition, TransitionError};
use crate::quat::{right_jacobian, right_jacobian_inverse};
use crate::tangent::{State, ndx};
use crate::transition::{DerivativeConfig, TransitionWorkspace, mjd_transition_into};

/// The state, and the step without noise.
pub(super) struct Center<'a> {
    d: &'a Data<f64>,
    next: State<f64>,
    sensordata: Vec<f64>,
}

impl<'a> Center<'a> {
    pub(super) fn new(m: &Model, d: &'a Data<f64>) -> Result<Self, TransitionError> {
        let mut after = Data::new(m);
        after.set_state_from(d);
        step(m, &mut after).map_err(step_error)?;
        Ok(Self { d, next: State::of(&after), sensordata: after.sensordata })
    }
}

/// What a thread needs for its samples.
pub(super) struct Worker {
    d: Data<f64>,
    state: State<f64>,
    next: State<f64>,
    /// Normals, and noise (n).
    z: Vec<f64>,
    noise: Vec<f64>,
    /// Value (nx + ns).
    value: Vec<f64>,
    /// At first order: the linearization, and as rows of all its matrices ((nx + ns) × n).
    linear: Option<(TransitionWorkspace, Transition, Vec<f64>)>,
}

impl Worker {
    pub(super) fn new(
        m: &Model,
        order: Order,
        config: &DerivativeConfig,
    ) -> Result<Self, TransitionError> {
        let (ny, n) = (ndx(m) + m.nsensordata, ncolumns(m));
        let linear = match order {
            Order::First => {
                let workspace = TransitionWorkspace::new(m, config)?;
                Some((workspace, Transition::new(m), vec![0.0; ny * n]))
            }
            Order::Zeroth => None,
        };
        Ok(Self {
            d: Data::new(m),
            state: State::new(m),
            next: State::new(m),
            z: vec![0.0; n],
            noise: vec![0.0; n],
            value: vec![0.0; ny],
            linear,
        })
    }

    /// Adds sample number `sample`, whose normals come from a stream of its own.
    pub(super) fn add(
        &mut self,
        m: &Model,
        center: &Center,
        sigma: &[f64],
        seed: u64,
        sample: usize,
        sums: &mut Sums,
    ) -> Result<(), TransitionError> {
        let nx = ndx(m);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(sample as u64);
        for ((z, noise), sigma) in self.z.iter_mut().zip(&mut self.noise).zip(sigma) {
            *z = StandardNormal.sample(&mut random);
            *noise = sigma * *z;
        }

        self.d.set_state_from(center.d);
        self.state.read(&self.d);
        self.state.boxplus(m, &self.noise[..nx]);
        self.state.write(&mut self.d);
        for (u, noise) in self.d.ctrl.iter_mut().zip(&self.noise[nx..]) {
            *u += noise;
        }
        if let Some((workspace, transition, _)) = &mut self.linear {
            mjd_transition_into(m, &self.d, workspace, transition)?;
        }
        step(m, &mut self.d).map_err(step_error)?;
        self.next.read(&self.d);
        self.next.boxminus(m, &center.next, 1.0, &mut self.value[..nx]);
        let sensors = self.d.sensordata.iter().zip(&center.sensordata);
        for (value, (x, x0)) in self.value[nx..].iter_mut().zip(sensors) {
            *value = x - x0;
        }
        sums.add_value(&self.value);
        if let Some((_, transition, rows)) = &mut self.linear {
            sums.solver = sums.solver.worse(transition.solver);
            gather(m, transition, rows);
            chart(m, &self.noise, &self.value, rows);
            sums.add_matrix(rows);
        } else {
            sums.solver = sums.solver.worse(Solve::of(m, &self.d));
            sums.add_normal(&self.value, &self.z);
        }
        Ok(())
    }
}

/// [A B; C D], row-major.
fn gather(m: &Model, t: &Transition, rows: &mut [f64]) {
    let n = ncolumns(m);
    let all = t.A.outer_iter().zip(t.B.outer_iter()).chain(t.C.outer_iter().zip(t.D.outer_iter()));
    for (row, (by_state, by_ctrl)) in rows.chunks_exact_mut(n.max(1)).zip(all) {
        for (to, from) in row.iter_mut().zip(by_state.iter().chain(by_ctrl)) {
            *to = *from;
        }
    }
}

/// From tangents at the sample and at its next state to those at the state and its next: columns times J_r(w), rows by
/// J_r⁻¹(value), for rotations.
fn chart(m: &Model, noise: &[f64], value: &[f64], rows: &mut [f64]) {
    let n = ncolumns(m);
    for j in 0..m.njnt {
        let r = match m.jnt_type[j] {
            JointType::Ball => m.jnt_dofadr[j],
            JointType::Free => m.jnt_dofadr[j] + 3,
            JointType::Slide | JointType::Hinge => continue,
        };
        let at = |x: &[f64]| Vector3::new(x[r], x[r + 1], x[r + 2]);
        let (into, out) = (right_jacobian(&at(noise)), right_jacobian_inverse(&at(value)));
        for row in rows.chunks_exact_mut(n) {
            let turned = into.tr_mul(&at(row));
            row[r..r + 3].copy_from_slice(turned.as_slice());
        }
        for k in 0..n {
            let column: Vector3<f64> = Vector3::from_fn(|i, _| rows[(r + i) * n + k]);
            let turned = out * column;
            for i in 0..3 {
                rows[(r + i) * n + k] = turned[i];
            }
        }
    }
}
