//! States of a rollout, with all that a step from them depends on: what is stored, and what is computed again.

use dualstep::{Data, Model};

use super::cost::Stage;

/// Some states, one after the other.
#[derive(Clone, Debug)]
pub(super) struct States {
    sizes: [usize; 4],
    time: Vec<f64>,
    qpos: Vec<f64>,
    qvel: Vec<f64>,
    act: Vec<f64>,
    /// The constraint solver ends at other bits where it starts from another acceleration.
    qacc_warmstart: Vec<f64>,
    sensordata: Vec<f64>,
}

impl States {
    /// Room for `n` states, with sensors or without.
    pub(super) fn new(m: &Model, n: usize, sensors: bool) -> Self {
        let zeros = |size: usize| vec![0.0; n * size];
        let ns = if sensors { m.nsensordata } else { 0 };
        Self {
            sizes: [m.nq, m.nv, m.na, ns],
            time: zeros(1),
            qpos: zeros(m.nq),
            qvel: zeros(m.nv),
            act: zeros(m.na),
            qacc_warmstart: zeros(m.nv),
            sensordata: zeros(ns),
        }
    }

    /// Takes over the state of `d`, without its sensors.
    pub(super) fn read(&mut self, k: usize, d: &Data<f64>) {
        let [nq, nv, na, _] = self.sizes;
        self.time[k] = d.time;
        self.qpos[k * nq..(k + 1) * nq].copy_from_slice(&d.qpos);
        self.qvel[k * nv..(k + 1) * nv].copy_from_slice(&d.qvel);
        self.act[k * na..(k + 1) * na].copy_from_slice(&d.act);
        self.qacc_warmstart[k * nv..(k + 1) * nv].copy_from_slice(&d.qacc_warmstart);
    }

    /// Takes over the sensors of `d`: of the state before a step, where `d` has taken it.
    pub(super) fn read_sensors(&mut self, k: usize, d: &Data<f64>) {
        let ns = self.sizes[3];
        self.sensordata[k * ns..(k + 1) * ns].copy_from_slice(&d.sensordata[..ns]);
    }

    /// Puts a state into `d`; inputs stay.
    pub(super) fn write(&self, k: usize, d: &mut Data<f64>) {
        let [nq, nv, na, _] = self.sizes;
        d.time = self.time[k];
        d.qpos.copy_from_slice(&self.qpos[k * nq..(k + 1) * nq]);
        d.qvel.copy_from_slice(&self.qvel[k * nv..(k + 1) * nv]);
        d.act.copy_from_slice(&self.act[k * na..(k + 1) * na]);
        d.qacc_warmstart.copy_from_slice(&self.qacc_warmstart[k * nv..(k + 1) * nv]);
    }

    /// A state as a cost sees it.
    pub(super) fn stage<'a>(&'a self, k: usize, step: usize, ctrl: &'a [f64]) -> Stage<'a> {
        let [nq, nv, na, ns] = self.sizes;
        Stage {
            step,
            time: self.time[k],
            qpos: &self.qpos[k * nq..(k + 1) * nq],
            qvel: &self.qvel[k * nv..(k + 1) * nv],
            act: &self.act[k * na..(k + 1) * na],
            ctrl,
            sensordata: &self.sensordata[k * ns..(k + 1) * ns],
        }
    }
}
