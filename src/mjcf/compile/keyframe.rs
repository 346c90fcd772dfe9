//! Keyframes: completed, checked, with unit quaternions.

use nalgebra::Vector3;

use crate::math::Quat;
use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::KeySpec;
use crate::model::{JointType, Keyframe, Model};

use super::context::Context;

/// Writes the keyframes of the file, and default ones up to `nkey` of the `size` element.
///
/// A vector that is not given, or too short, is completed with the default configuration.
///
/// # Errors
/// A vector that is too long.
pub fn write(ctx: &Context<'_>, m: &mut Model) -> Result<(), MjcfError> {
    for spec in &ctx.spec.keys {
        let key = keyframe(ctx, spec, m)?;
        m.keys.push(key);
        m.names.key.push(spec.name.clone());
    }
    let least = usize::try_from(ctx.spec.size.nkey).unwrap_or(0);
    if least > MAX_KEYS {
        let message = format!("nkey is at most {MAX_KEYS}");
        return Err(ctx.error(ctx.spec.compiler.span, MjcfErrorKind::Invalid, message));
    }
    while m.keys.len() < least {
        let key = keyframe(ctx, &KeySpec::default(), m)?;
        m.keys.push(key);
        m.names.key.push(String::new());
    }
    m.nkey = m.keys.len();
    Ok(())
}

/// More keyframes than this are a mistake.
const MAX_KEYS: usize = 100_000;

fn keyframe(ctx: &Context<'_>, spec: &KeySpec, m: &Model) -> Result<Keyframe, MjcfError> {
    let mocap = || (0..m.nbody).filter(|&b| m.body_mocapid[b].is_some());
    let positions: Vec<f64> = mocap().flat_map(|b| <[f64; 3]>::from(m.body_pos[b])).collect();
    let orientations: Vec<f64> = mocap().flat_map(|b| m.body_quat[b].to_array()).collect();
    let complete = |attr: &str, given: &[f64], default: &[f64]| {
        if given.len() > default.len() {
            let (found, size) = (given.len(), default.len());
            let message = format!("`{attr}` has {found} numbers, the model {size}");
            return Err(ctx.attr_error(spec.span, attr, MjcfErrorKind::Invalid, message));
        }
        let rest = default.get(given.len()..).unwrap_or(&[]);
        Ok(given.iter().chain(rest).copied().collect::<Vec<f64>>())
    };
    let mut qpos = complete("qpos", &spec.qpos, &m.qpos0)?;
    let mpos = complete("mpos", &spec.mpos, &positions)?;
    let mquat = complete("mquat", &spec.mquat, &orientations)?;
    normalize(m, &mut qpos);
    Ok(Keyframe {
        time: spec.time,
        qpos,
        qvel: complete("qvel", &spec.qvel, &vec![0.0; m.nv])?,
        act: complete("act", &spec.act, &vec![0.0; m.na])?,
        ctrl: complete("ctrl", &spec.ctrl, &vec![0.0; m.nu])?,
        mpos: mpos.chunks_exact(3).map(Vector3::from_column_slice).collect(),
        mquat: mquat.chunks_exact(4).map(|q| Quat::from_slice(q).normalized()).collect(),
    })
}

/// Scales the quaternions of ball and free joints to unit length.
fn normalize(m: &Model, qpos: &mut [f64]) {
    for j in 0..m.njnt {
        let adr = match m.jnt_type[j] {
            JointType::Free => m.jnt_qposadr[j] + 3,
            JointType::Ball => m.jnt_qposadr[j],
            JointType::Slide | JointType::Hinge => continue,
        };
        let quat = Quat::from_slice(&qpos[adr..adr + 4]).normalized();
        qpos[adr..adr + 4].copy_from_slice(&quat.to_array());
    }
}
