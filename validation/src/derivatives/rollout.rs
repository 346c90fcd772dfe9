//! States of a rollout under random controls, where contacts come and go as they do in use.

use dualstep::forward::step;
use dualstep::{Data, Model};

use super::states::State;
use crate::random_tree::Random;

/// Steps for which controls are held.
const HOLD: usize = 20;

/// A state of the rollout, without what is computed from it.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    /// What it is called in reports.
    pub name: String,
    time: f64,
    qpos: Vec<f64>,
    qvel: Vec<f64>,
    act: Vec<f64>,
    ctrl: Vec<f64>,
    qacc_warmstart: Vec<f64>,
}

impl Snapshot {
    fn new(step: usize, d: &Data<f64>) -> Self {
        Self {
            name: format!("rollout step {step}"),
            time: d.time,
            qpos: d.qpos.clone(),
            qvel: d.qvel.clone(),
            act: d.act.clone(),
            ctrl: d.ctrl.clone(),
            qacc_warmstart: d.qacc_warmstart.clone(),
        }
    }

    /// The state, with what `base` has beside it.
    pub(super) fn state(&self, base: &Data<f64>) -> State {
        let mut d = base.clone();
        d.time = self.time;
        d.qpos.copy_from_slice(&self.qpos);
        d.qvel.copy_from_slice(&self.qvel);
        d.act.copy_from_slice(&self.act);
        d.ctrl.copy_from_slice(&self.ctrl);
        d.qacc_warmstart.copy_from_slice(&self.qacc_warmstart);
        State { name: self.name.clone(), d, applied: false }
    }
}

/// States before each of `steps` steps from keyframe 0, or from the reference configuration, under controls that are
/// drawn anew every 20 steps from the middle half of their ranges; and why the rollout ends early, if it does.
pub(super) fn snapshots(m: &Model, steps: usize, seed: u64) -> (Vec<Snapshot>, Option<String>) {
    let mut random = Random::new(seed ^ 0x0072_6F6C_6C6F_7574);
    let mut d = Data::new(m);
    if m.nkey > 0 {
        d.reset_keyframe(m, 0);
    }
    let mut found = Vec::with_capacity(steps);
    for k in 0..steps {
        if k % HOLD == 0 {
            for (u, (range, limited)) in
                d.ctrl.iter_mut().zip(m.actuator_ctrlrange.iter().zip(&m.actuator_ctrllimited))
            {
                let [lo, hi] = if *limited { *range } else { [-1.0, 1.0] };
                *u = 0.5 * (lo + hi) + 0.25 * (hi - lo) * random.signed(1.0);
            }
        }
        found.push(Snapshot::new(k, &d));
        if let Err(e) = step(m, &mut d) {
            return (found, Some(format!("the rollout ends at step {k}: {e}")));
        }
    }
    (found, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep::mjcf::load_model_str;

    #[test]
    fn a_rollout_begins_at_the_keyframe_and_moves() {
        let xml = r#"
        <mujoco>
          <worldbody><body><joint name="a" type="slide" axis="1 0 0"/><geom size=".1"/></body></worldbody>
          <actuator><motor joint="a" ctrlrange="1 2" ctrllimited="true"/></actuator>
          <keyframe><key qpos=".3"/></keyframe>
        </mujoco>"#;
        let m = load_model_str(xml, "slider.xml", std::path::Path::new(".")).unwrap();
        let (found, stopped) = snapshots(&m, 45, 1);
        assert_eq!((found.len(), stopped), (45, None));
        assert_eq!(found[0].qpos, [0.3]);
        let ctrl = |k: usize| found[k].ctrl[0];
        assert!(ctrl(0) == ctrl(19) && ctrl(19) != ctrl(20) && (1.25..=1.75).contains(&ctrl(40)));
        let state = found[44].state(&Data::new(&m));
        assert_eq!((state.d.qpos[0], state.d.time), (found[44].qpos[0], found[44].time));
        assert!(state.d.qpos[0] > 0.3);
    }
}
