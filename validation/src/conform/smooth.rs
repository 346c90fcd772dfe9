//! Stages *smooth* and *step_smooth*: forward dynamics and one step without constraints.
//!
//! The pipeline runs with constraints disabled. What it then computes is compared with the oracle's
//! ordinary forward pass, field by field, as far as no constraint touches the field; accelerations and
//! sensors with the oracle's pass without constraints.

use dualstep::model::{GeomType, ObjType, SensorType, TrnType};
use dualstep::sensor::supported;
use dualstep::status::MAXVAL;
use dualstep::{Data, Model};

use super::compile::align_qpos;
use super::flat::flat;
use super::{Differences, pipeline};
use crate::compare::{align_quats, err, nearest_half_turn};
use crate::golden::Golden;

/// Values of one field of `Data`, flattened.
type Values = fn(&Model, &Data<f64>) -> Vec<f64>;

/// Fields of `fwd/` that no constraint touches, in pipeline order.
const FIELDS: &[(&str, Values)] = &[
    ("xpos", |_, d| flat(&d.xpos)),
    ("xquat", |_, d| flat(&d.xquat)),
    ("xipos", |_, d| flat(&d.xipos)),
    ("geom_xpos", |_, d| flat(&d.geom_xpos)),
    ("site_xpos", |_, d| flat(&d.site_xpos)),
    ("subtree_com", |_, d| flat(&d.subtree_com)),
    ("cdof", |_, d| flat(&d.cdof)),
    ("cinert", |_, d| flat(&d.cinert)),
    ("ten_length", |_, d| d.ten_length.clone()),
    ("ten_J", |m, d| dense(&d.ten_J, &m.ten_J_rowadr, &m.ten_J_rownnz, &m.ten_J_colind, m.nv)),
    // only spatial tendons have wrapping points
    ("ten_wrapnum", |m, _| vec![0.0; m.ntendon]),
    ("actuator_length", |_, d| d.actuator_length.clone()),
    ("actuator_moment", |m, d| {
        dense(&d.actuator_moment, &m.moment_rowadr, &m.moment_rownnz, &m.moment_colind, m.nv)
    }),
    ("qM", |m, d| pipeline::full_m(m, d)),
    ("ten_velocity", |_, d| d.ten_velocity.clone()),
    ("actuator_velocity", |_, d| d.actuator_velocity.clone()),
    ("cvel", |_, d| flat(&d.cvel)),
    ("cdof_dot", |_, d| flat(&d.cdof_dot)),
    ("qfrc_bias", |_, d| d.qfrc_bias.clone()),
    ("qfrc_spring", |_, d| d.qfrc_spring.clone()),
    ("qfrc_damper", |_, d| d.qfrc_damper.clone()),
    ("qfrc_gravcomp", |_, d| d.qfrc_gravcomp.clone()),
    // the loader refuses fluids
    ("qfrc_fluid", |m, _| vec![0.0; m.nv]),
    ("qfrc_passive", |_, d| d.qfrc_passive.clone()),
    ("subtree_linvel", |_, d| flat(&d.subtree_linvel)),
    ("subtree_angmom", |_, d| flat(&d.subtree_angmom)),
    ("energy", |_, d| d.energy.to_vec()),
    ("act_dot", |_, d| d.act_dot.clone()),
    ("actuator_force", |_, d| d.actuator_force.clone()),
    ("qfrc_actuator", |_, d| d.qfrc_actuator.clone()),
    ("qfrc_smooth", |_, d| d.qfrc_smooth.clone()),
    ("qacc_smooth", |_, d| d.qacc_smooth.clone()),
];

/// True for fields of `fwd/` that depend on constraints.
fn constrained(field: &str) -> bool {
    let by_name = ["qacc", "sensordata", "qfrc_constraint", "qfrc_inverse"];
    by_name.contains(&field) || field.starts_with("contact_") || field.starts_with("efc_")
}

/// Fields of `fwd/` that do not come from the solver but depend on contacts, where a model has forces between geoms in
/// contact: the stage of constraints compares them.
pub(super) const ADHESIVE: [&str; 7] = [
    "actuator_moment",
    "actuator_velocity",
    "qfrc_passive",
    "actuator_force",
    "qfrc_actuator",
    "qfrc_smooth",
    "qacc_smooth",
];

/// True if forces act between geoms in contact: their own attraction, or that of actuators.
pub(super) fn is_adhesive(m: &Model) -> bool {
    m.geom_adhesion.iter().chain(&m.pair_adhesion).any(|&a| a != 0.0)
        || m.actuator_trntype.contains(&TrnType::Body)
}

/// Our value of a field of `fwd/`.
pub(super) fn value(m: &Model, d: &Data<f64>, field: &str) -> Option<Vec<f64>> {
    FIELDS.iter().find(|(name, _)| *name == field).map(|(_, values)| values(m, d))
}

/// Compares forward dynamics in every state: `fwd/*`, `smooth/qacc`, `smooth/sensordata`.
pub fn compare(m: &Model, golden: &Golden) -> Differences {
    let m = pipeline::without_constraints(m);
    let mut d = Data::new(&m);
    let mut found = Vec::new();
    for state in golden.states() {
        let ran = pipeline::set_state(&m, golden, state, &mut d)
            .and_then(|()| pipeline::forward(&m, &mut d));
        match ran {
            Ok(()) => compare_state(&m, &d, golden, state, &mut found),
            Err(message) => found.push((0, message, state, f64::INFINITY)),
        }
    }
    // field by field in pipeline order, the states of each together
    found.sort_by_key(|(order, ..)| *order);
    let mut out = Differences::default();
    for (_, field, state, err) in found {
        out.push(&field, Some(state), err);
    }
    out
}

/// Errors of one state, with the place of the field in the pipeline.
fn compare_state<'a>(
    m: &Model,
    d: &Data<f64>,
    golden: &Golden,
    state: &'a str,
    found: &mut Vec<(usize, String, &'a str, f64)>,
) {
    let mut push = |order, field: &str, err| found.push((order, field.to_owned(), state, err));
    let sticky = is_adhesive(m);
    for (order, (field, values)) in FIELDS.iter().enumerate() {
        if sticky && ADHESIVE.contains(field) {
            continue;
        }
        let Some(theirs) = golden.flat(&format!("{state}/fwd/{field}")) else { continue };
        let mut ours = values(m, d);
        if *field == "xquat" {
            align_quats(&mut ours, &theirs, (0..theirs.len()).step_by(4));
        }
        push(order, field, err(&ours, &theirs));
    }
    // what the oracle has and the table has not must not pass in silence
    let prefix = format!("{state}/fwd/");
    let unknown = golden
        .keys()
        .filter_map(|key| key.strip_prefix(&prefix))
        .filter(|field| !constrained(field) && FIELDS.iter().all(|(known, _)| known != field));
    for field in unknown {
        push(0, field, f64::INFINITY);
    }
    if let Some(theirs) = golden.flat(&format!("{state}/smooth/qacc")) {
        push(FIELDS.len(), "qacc", err(&d.qacc, &theirs));
    }
    if let Some(theirs) = golden.flat(&format!("{state}/smooth/sensordata")) {
        push(FIELDS.len() + 1, "sensordata", sensor_err(m, &d.sensordata, theirs));
    }
}

/// Error of the sensors that are computed.
pub(super) fn sensor_err(m: &Model, ours: &[f64], mut theirs: Vec<f64>) -> f64 {
    let mut ours = ours.to_vec();
    if ours.len() != theirs.len() {
        return f64::INFINITY;
    }
    for s in 0..m.nsensor {
        let range = m.sensor_adr[s]..m.sensor_adr[s] + m.sensor_dim[s];
        let (Some(x), Some(r)) = (ours.get_mut(range.clone()), theirs.get_mut(range)) else {
            return f64::INFINITY;
        };
        let principal = has_principal_axes(m, m.sensor_objtype[s], m.sensor_objid[s]);
        match m.sensor_type[s] {
            // not finite: left out of the comparison
            _ if !supported(m, s) => r.fill(f64::NAN),
            SensorType::FrameQuat if principal => nearest_half_turn(x, r),
            SensorType::FrameQuat | SensorType::BallQuat => align_quats(x, r, [0]),
            SensorType::FrameXAxis | SensorType::FrameYAxis | SensorType::FrameZAxis
                if principal && x.iter().zip(&*r).map(|(x, r)| x * r).sum::<f64>() < 0.0 =>
            {
                for x in x {
                    *x = -*x;
                }
            }
            _ => {}
        }
    }
    err(&ours, &theirs)
}

/// True for frames along principal axes of inertia, whose signs are arbitrary.
pub(super) fn has_principal_axes(m: &Model, kind: ObjType, id: Option<usize>) -> bool {
    match (kind, id) {
        (ObjType::Body, _) => true,
        (ObjType::Geom, Some(g)) => m.geom_type.get(g) == Some(&GeomType::Mesh),
        _ => false,
    }
}

/// A sparse matrix by rows as a dense one.
fn dense(
    values: &[f64],
    rowadr: &[usize],
    rownnz: &[usize],
    colind: &[usize],
    ncol: usize,
) -> Vec<f64> {
    let mut out = vec![0.0; rowadr.len() * ncol];
    for (row, (&adr, &nnz)) in rowadr.iter().zip(rownnz).enumerate() {
        for k in adr..adr + nnz {
            out[row * ncol + colind[k]] = values[k];
        }
    }
    out
}

/// True if MuJoCo's own acceleration is so large that its step resets the state.
pub(super) fn oracle_resets(golden: &Golden, state: &str) -> bool {
    let qacc = golden.flat(&format!("{state}/smooth/qacc")).unwrap_or_default();
    qacc.iter().any(|a| !a.is_finite() || a.abs() > MAXVAL)
}

/// Compares the state after one step without constraints: `smooth_step1`.
pub fn compare_step(m: &Model, golden: &Golden) -> Differences {
    let m = pipeline::without_constraints(m);
    let mut d = Data::new(&m);
    let mut out = Differences::default();
    for state in golden.states() {
        let next = |field: &str| golden.flat(&format!("{state}/smooth_step1/{field}"));
        let (Some(qpos), Some(qvel), Some(act)) = (next("qpos"), next("qvel"), next("act")) else {
            continue;
        };
        let mut ran = pipeline::set_state(&m, golden, state, &mut d)
            .and_then(|()| pipeline::step(&m, &mut d));
        // where we return an error, MuJoCo starts again from the reference configuration
        if ran.is_err() && oracle_resets(golden, state) {
            d.reset(&m);
            ran = pipeline::step(&m, &mut d);
        }
        if let Err(message) = ran {
            out.push(&message, Some(state), f64::INFINITY);
            continue;
        }
        align_qpos(&m, &mut d.qpos, &qpos);
        for (field, ours, theirs) in
            [("qpos", &d.qpos, &qpos), ("qvel", &d.qvel, &qvel), ("act", &d.act, &act)]
        {
            out.push(field, Some(state), err(ours, theirs));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model_with_sensors(kinds: &[(SensorType, usize)]) -> Model {
        let mut m = Model { nsensor: kinds.len(), ..Model::default() };
        for &(kind, dim) in kinds {
            m.sensor_adr.push(m.nsensordata);
            m.sensor_dim.push(dim);
            m.sensor_type.push(kind);
            m.sensor_objtype.push(ObjType::Body);
            m.sensor_objid.push(Some(1));
            m.nsensordata += dim;
        }
        m
    }

    #[test]
    fn sensors_to_come_are_left_out() {
        let m = model_with_sensors(&[(SensorType::Tactile, 1), (SensorType::Clock, 1)]);
        assert_eq!(sensor_err(&m, &[0.0, 0.25], vec![9.0, 0.0]), 0.25);
        assert_eq!(sensor_err(&m, &[0.0], vec![9.0, 0.0]), f64::INFINITY);
    }

    #[test]
    fn principal_frames_are_known_up_to_half_turns() {
        let m = model_with_sensors(&[(SensorType::FrameQuat, 4), (SensorType::FrameZAxis, 3)]);
        // a half turn about the frame's own y axis
        let theirs = vec![0.8, 0.6, 0.0, 0.0, 0.0, 0.0, 1.0];
        assert_eq!(sensor_err(&m, &[0.0, 0.0, 0.8, 0.6, 0.0, 0.0, -1.0], theirs.clone()), 0.0);
        assert!(sensor_err(&m, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0], theirs) > 0.1);
    }

    #[test]
    fn sparse_rows_become_dense() {
        let out = dense(&[1.0, 2.0, 3.0], &[0, 2, 2], &[2, 0, 1], &[0, 2, 1], 3);
        assert_eq!(out, [1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0]);
    }

    #[test]
    fn no_field_is_listed_twice_or_depends_on_constraints() {
        let unique: std::collections::BTreeSet<_> = FIELDS.iter().map(|(f, _)| f).collect();
        assert_eq!(unique.len(), FIELDS.len());
        assert!(FIELDS.iter().all(|(f, _)| !constrained(f)));
    }
}
