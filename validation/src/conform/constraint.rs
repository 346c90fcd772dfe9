//! Stages *constraint* and *step*: contacts, the minimum that the constraint solver finds, and steps with it.
//!
//! Solvers stop where their own rules say so; what two of them can agree on is the minimum. So ours runs as the
//! oracle did for its converged results: Newton, with a tolerance that rounding reaches. States in which the oracle's
//! own result does not satisfy the equation of motion say nothing and are skipped.

use dualstep::model::SolverType;
use dualstep::{Data, Model};

use super::compile::align_qpos;
use super::smooth::{ADHESIVE, is_adhesive, sensor_err, value};
use super::{Differences, pipeline};
use crate::compare::err;
use crate::contacts::compare_contacts;
use crate::golden::{Golden, StateHeader};
use crate::tolerance::SOLVER_RESIDUAL_USELESS;

/// The model with the options of the oracle's converged results.
pub fn converged(m: &Model) -> Model {
    let mut m = m.clone();
    m.opt.solver = SolverType::Newton;
    (m.opt.iterations, m.opt.tolerance) = (200, 1e-14);
    (m.opt.ls_iterations, m.opt.ls_tolerance) = (200, 1e-6);
    m.opt.noslip_iterations = 0;
    m
}

/// Difference of accelerations up to which the oracle's sensors, with the solver's options of the model, are those of the
/// minimum.
const SENSORS_OF_MINIMUM: f64 = 1e-8;

/// Compares contacts, matched by geoms and position; forces between geoms in contact; `conv/qacc` and
/// `conv/qfrc_constraint`; sensors where the oracle's own solver has reached the minimum.
pub fn compare(m: &Model, golden: &Golden) -> Differences {
    let m = converged(m);
    let mut d = Data::new(&m);
    let mut out = Differences::default();
    for (state, header) in &golden.header.states {
        let reference = |field: &str| golden.flat(&format!("{state}/conv/{field}"));
        let (Some(qacc), Some(qfrc)) = (reference("qacc"), reference("qfrc_constraint")) else {
            continue;
        };
        if !is_useful(header) {
            out.skipped += 1;
            continue;
        }
        match compare_contacts(&m, golden, state) {
            Err(message) => out.push(&message, Some(state), f64::INFINITY),
            Ok(contacts) => {
                for ([g1, g2], ours, theirs) in &contacts.miscounted {
                    let name = format!("contact_count ({ours} of {theirs} of geoms {g1}, {g2})");
                    out.push(&name, Some(state), f64::INFINITY);
                }
                for (field, (error, _)) in &contacts.worst {
                    out.push(&format!("contact_{field}"), Some(state), *error);
                }
            }
        }
        let ran = pipeline::set_state(&m, golden, state, &mut d)
            .and_then(|()| pipeline::forward(&m, &mut d));
        if let Err(message) = ran {
            out.push(&message, Some(state), f64::INFINITY);
            continue;
        }
        if is_adhesive(&m) {
            for field in ADHESIVE {
                let theirs = golden.flat(&format!("{state}/fwd/{field}"));
                if let (Some(ours), Some(theirs)) = (value(&m, &d, field), theirs) {
                    out.push(field, Some(state), err(&ours, &theirs));
                }
            }
        }
        out.push("qacc", Some(state), err(&d.qacc, &qacc));
        out.push("qfrc_constraint", Some(state), err(&d.qfrc_constraint, &qfrc));
        let own = |field: &str| golden.flat(&format!("{state}/fwd/{field}"));
        if let (Some(theirs), Some(own)) = (own("sensordata"), own("qacc"))
            && err(&own, &qacc) <= SENSORS_OF_MINIMUM
        {
            out.push("sensordata", Some(state), sensor_err(&m, &d.sensordata, theirs));
        }
    }
    out
}

/// Compares the states after one step and after ten: `conv_step1`, `conv_step10`.
pub fn compare_steps(m: &Model, golden: &Golden) -> Differences {
    let m = converged(m);
    let mut d = Data::new(&m);
    let mut out = Differences::default();
    for (state, header) in &golden.header.states {
        if !is_useful(header) {
            out.skipped += 1;
            continue;
        }
        let mut ran = pipeline::set_state(&m, golden, state, &mut d);
        for step in 1..=10 {
            // where we return an error, MuJoCo starts again from the reference configuration
            ran = ran.and_then(|()| {
                pipeline::step(&m, &mut d).or_else(|_| {
                    d.reset(&m);
                    pipeline::step(&m, &mut d)
                })
            });
            let group = format!("conv_step{step}");
            let next = |field: &str| golden.flat(&format!("{state}/{group}/{field}"));
            let (Some(qpos), Some(qvel), Some(act)) = (next("qpos"), next("qvel"), next("act"))
            else {
                continue;
            };
            if let Err(message) = &ran {
                out.push(message, Some(state), f64::INFINITY);
                break;
            }
            let mut ours = d.qpos.clone();
            align_qpos(&m, &mut ours, &qpos);
            for (field, ours, theirs) in
                [("qpos", &ours, &qpos), ("qvel", &d.qvel, &qvel), ("act", &d.act, &act)]
            {
                out.push(&format!("{group} {field}"), Some(state), err(ours, theirs));
            }
        }
    }
    out
}

/// False if the oracle's own solution is so far from the equation of motion that it says nothing.
pub(super) fn is_useful(header: &StateHeader) -> bool {
    header.conv_residual.is_some_and(|residual| residual <= SOLVER_RESIDUAL_USELESS)
}
