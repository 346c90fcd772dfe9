//! Armature and damping that actuators add to what they act on.

use super::{Model, TrnType};

impl Model {
    /// Sums the armature and the damping of joints, tendons and of the actuators that act on them.
    ///
    /// An actuator's contribution goes through the gear twice: once for its velocity, once for its force.
    /// The loader calls it once the arrays of joints, tendons and actuators are complete; call it again
    /// after changing any of them.
    ///
    /// Source: MuJoCo `mj_actuatorArmature`, `mj_actuatorDamping`.
    pub fn build_effective(&mut self) {
        let poly = |linear: f64, high: &[f64; 2]| [linear, high[0], high[1]];
        let dof_damping = self.dof_damping.iter().zip(&self.dof_dampingpoly);
        self.dof_damping_eff = dof_damping.map(|(l, h)| poly(*l, h)).collect();
        let tendon_damping = self.tendon_damping.iter().zip(&self.tendon_dampingpoly);
        self.tendon_damping_eff = tendon_damping.map(|(l, h)| poly(*l, h)).collect();
        self.dof_armature_eff.clone_from(&self.dof_armature);
        self.tendon_armature_eff.clone_from(&self.tendon_armature);

        for a in 0..self.nactuator {
            let Some(id) = self.actuator_trnid[a][0] else { continue };
            let gear2 = self.actuator_gear[a][0] * self.actuator_gear[a][0];
            let armature = self.actuator_armature[a] * gear2;
            let damping =
                poly(self.actuator_damping[a], &self.actuator_dampingpoly[a]).map(|c| c * gear2);
            match self.actuator_trntype[a] {
                TrnType::Joint | TrnType::JointInParent => {
                    let adr = self.jnt_dofadr[id];
                    for dof in adr..adr + self.jnt_type[id].nv() {
                        self.dof_armature_eff[dof] += armature;
                        add(&mut self.dof_damping_eff[dof], &damping);
                    }
                }
                TrnType::Tendon => {
                    self.tendon_armature_eff[id] += armature;
                    add(&mut self.tendon_damping_eff[id], &damping);
                }
                TrnType::Site | TrnType::SliderCrank | TrnType::Body | TrnType::So3 => {}
            }
        }
    }
}

fn add(sum: &mut [f64; 3], term: &[f64; 3]) {
    for (s, t) in sum.iter_mut().zip(term) {
        *s += t;
    }
}
