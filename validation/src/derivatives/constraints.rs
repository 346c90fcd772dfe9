//! Which kinds of constraints push at a state.

use std::collections::BTreeSet;

use dualstep::constraint::{EfcState, EfcType};
use dualstep::forward::forward;
use dualstep::model::{EqType, JointType};
use dualstep::{Data, Model};

/// All kinds, in order: what they hold, and for contacts the cone and whether they slide.
pub(super) const KINDS: [&str; 20] = [
    "equality: connect",
    "equality: weld",
    "equality: joint",
    "equality: tendon",
    "equality: distance",
    "friction loss of a joint, sticking",
    "friction loss of a joint, slipping",
    "friction loss of a tendon",
    "limit of a slide or hinge",
    "limit of a ball",
    "limit of a tendon",
    "contact without friction",
    "pyramidal contact, condim 3",
    "pyramidal contact, condim 4",
    "pyramidal contact, condim 6",
    "elliptic contact, condim 3, sticking",
    "elliptic contact, condim 3, sliding",
    "elliptic contact, condim 4 or 6, sticking",
    "elliptic contact, condim 4 or 6, sliding",
    "adhesion",
];

/// Kinds of constraints that push or hold at the state; none where the step fails.
pub(super) fn active(m: &Model, d: &Data<f64>) -> BTreeSet<&'static str> {
    let mut d = d.clone();
    if forward(m, &mut d).is_err() {
        return BTreeSet::new();
    }
    let pushes = |row: &usize| d.efc.state[*row] != EfcState::Satisfied;
    let mut found: BTreeSet<&str> =
        (0..d.efc.nefc).filter(pushes).map(|row| kind(m, &d, row)).collect();
    if d.contact.iter().any(|c| c.efc_address.is_some() && c.adhesion != 0.0) {
        found.insert("adhesion");
    }
    found
}

fn kind(m: &Model, d: &Data<f64>, row: usize) -> &'static str {
    let (id, state) = (d.efc.id[row], d.efc.state[row]);
    let slips = matches!(state, EfcState::LinearNeg | EfcState::LinearPos);
    match d.efc.kind[row] {
        EfcType::Equality => match m.eq_type[id] {
            EqType::Connect => "equality: connect",
            EqType::Weld => "equality: weld",
            EqType::Joint => "equality: joint",
            EqType::Tendon => "equality: tendon",
            EqType::Distance => "equality: distance",
        },
        EfcType::FrictionDof if slips => "friction loss of a joint, slipping",
        EfcType::FrictionDof => "friction loss of a joint, sticking",
        EfcType::FrictionTendon => "friction loss of a tendon",
        EfcType::LimitJoint if m.jnt_type[id] == JointType::Ball => "limit of a ball",
        EfcType::LimitJoint => "limit of a slide or hinge",
        EfcType::LimitTendon => "limit of a tendon",
        EfcType::ContactFrictionless => "contact without friction",
        EfcType::ContactPyramidal => match d.contact[id].dim {
            3 => "pyramidal contact, condim 3",
            4 => "pyramidal contact, condim 4",
            _ => "pyramidal contact, condim 6",
        },
        EfcType::ContactElliptic => match (d.contact[id].dim, state == EfcState::Cone) {
            (3, false) => "elliptic contact, condim 3, sticking",
            (3, true) => "elliptic contact, condim 3, sliding",
            (_, false) => "elliptic contact, condim 4 or 6, sticking",
            (_, true) => "elliptic contact, condim 4 or 6, sliding",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep::mjcf::load_model_str;

    #[test]
    fn what_pushes_is_named() {
        let xml = r#"
        <mujoco>
          <option cone="elliptic"/>
          <worldbody>
            <geom type="plane" size="1 1 1"/>
            <body pos="0 0 .099">
              <joint name="x" type="slide" axis="1 0 0" frictionloss=".1"/>
              <joint type="slide" axis="0 0 1" range="-.5 .5" limited="true"/>
              <geom size=".1"/>
            </body>
          </worldbody>
        </mujoco>"#;
        let m = load_model_str(xml, "test.xml", std::path::Path::new(".")).unwrap();
        let mut d = Data::new(&m);
        let rests = ["elliptic contact, condim 3, sticking", "friction loss of a joint, sticking"];
        assert!(active(&m, &d).iter().eq(&rests));
        d.qvel[0] = 5.0;
        let slides = ["elliptic contact, condim 3, sliding", "friction loss of a joint, slipping"];
        assert!(active(&m, &d).iter().eq(&slides));
        d.qpos[1] = 0.6;
        let limit = ["friction loss of a joint, slipping", "limit of a slide or hinge"];
        assert!(active(&m, &d).iter().eq(&limit));
        assert!(limit.iter().chain(&slides).chain(&rests).all(|name| KINDS.contains(name)));
    }
}
