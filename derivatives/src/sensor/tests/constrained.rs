//! The same at states with rows of constraints, and with sensors of limits, touch and contacts.

use dualstep::constraint::EfcType;
use dualstep::forward::step;
use dualstep::mjcf::load_model;
use dualstep::model::Cone;

use super::*;

/// The model with its own sensors, those of every type on every `step`-th object, and those of limits and contacts.
fn with_felt_sensors(m: &Model, step: usize) -> Model {
    use SensorType as S;
    let mut m = with_all_sensors(m, step);
    for site in (0..m.nsite).step_by(step) {
        m.site_size[site] = Vector3::repeat(0.15);
        add_sensor(&mut m, S::Touch, Stage::Acc, 1, (ObjType::Site, Some(site)), None);
    }
    for (number, limit) in [
        (m.njnt, [S::JointLimitPos, S::JointLimitVel, S::JointLimitFrc]),
        (m.ntendon, [S::TendonLimitPos, S::TendonLimitVel, S::TendonLimitFrc]),
    ] {
        let joint = limit[0] == S::JointLimitPos;
        for id in 0..number {
            let kind = if joint { ObjType::Joint } else { ObjType::Tendon };
            for (sensor, stage) in limit.into_iter().zip([Stage::Pos, Stage::Vel, Stage::Acc]) {
                add_sensor(&mut m, sensor, stage, 1, (kind, Some(id)), None);
            }
        }
    }
    for b in (0..m.nbody).step_by(step) {
        for reduce in 0..4 {
            // all fields of three contacts, seen from either side
            let (object, reference) = ((ObjType::XBody, Some(b)), Some((ObjType::XBody, 0)));
            add_sensor(&mut m, S::Contact, Stage::Acc, 3 * 23, object, reference);
            m.sensor_intprm[m.nsensor - 1] = [511, reduce, 3];
            let (object, reference) = ((ObjType::Unknown, None), Some((ObjType::Body, b)));
            add_sensor(&mut m, S::Contact, Stage::Acc, 23, object, reference);
            m.sensor_intprm[m.nsensor - 1] = [511, reduce, 1];
        }
    }
    m
}

/// The keyframe, or a state some steps off it.
fn active(m: &Model, k: usize) -> Data<f64> {
    let mut d = state(m, k);
    if k > 1 {
        d.reset_keyframe(m, k % m.nkey.max(1));
        d.qvel.iter_mut().enumerate().for_each(|(i, v)| *v += 0.3 * ((i * k) as f64).sin());
    }
    let mut steps = [0, 0, 40, 150][k];
    // explicit integrators leave the range of numbers on the stiffest models
    while steps > 0 && step(m, &mut d).is_ok() {
        steps -= 1;
    }
    d
}

fn converged(path: &Path, cone: Cone) -> Model {
    let mut m = load_model(path).unwrap();
    m.opt.cone = cone;
    (m.opt.iterations, m.opt.tolerance) = (300, 0.0);
    m.opt.noslip_iterations = 0;
    m
}

#[test]
fn closed_form_matches_dual_numbers_in_contact() {
    let (mut failed, mut kinds) = (vec![], std::collections::BTreeMap::new());
    let mut uncovered = vec![];
    for path in models() {
        for cone in [Cone::Pyramidal, Cone::Elliptic] {
            let own = converged(&path, cone);
            let all = with_felt_sensors(&own, own.nbody.div_ceil(6));
            for k in 0..4 {
                let from = active(&own, k);
                let mut d = Data::new(&all);
                d.set_state_from(&from);
                if forward(&all, &mut d).is_err() || d.efc.nefc == 0 {
                    continue;
                }
                let mut out = SensorDeriv::new(&all);
                out.block.fill(f64::NAN);
                if let Err(e) = mjd_sensors(&all, &d, &mut out) {
                    uncovered.push(format!("{}: {e}", path.display()));
                    continue;
                }
                for (kind, force) in d.efc.kind.iter().zip(&d.efc.force) {
                    *kinds.entry(*kind).or_insert(0) += usize::from(*force != 0.0);
                }
                let exact = by_duals(&all, &from);
                // force and torque across the joint of a free body cancel
                let largest = exact.C.iter().fold(1.0_f64, |s, x| s.max(x.abs()));
                let (e, place) = worst_above(&all, &out.block, &exact, 0.01 * largest);
                if e.is_nan() || e > 1e-9 {
                    let name = path.file_stem().unwrap().display();
                    failed.push(format!("{name} {cone:?} state {k}: {e:.1e} at {place}"));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    let seen = |kind: EfcType| kinds.get(&kind).copied().unwrap_or(0);
    for kind in [
        EfcType::Equality,
        EfcType::LimitJoint,
        EfcType::LimitTendon,
        EfcType::ContactFrictionless,
        EfcType::ContactPyramidal,
        EfcType::ContactElliptic,
    ] {
        assert!(seen(kind) > 10, "{kinds:?}");
    }
    uncovered.dedup();
    assert!(uncovered.len() < 6, "{uncovered:#?}");
}
