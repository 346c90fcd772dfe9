//! Constants that follow from the model in its reference configuration.
//!
//! Runs stages of the pipeline at `qpos0` and `qpos_spring`, so it comes after them; the loader ends with
//! it. Call it again after changing masses, inertias, geometry or transmissions of a compiled model.
//!
//! Source: MuJoCo `mj_setConst`, `mjCModel::AutoSpringDamper`.

mod equality;
mod length_range;
mod statistic;

pub use length_range::{LengthRangeError, LengthRangeOptions, length_range, length_range_model};

use crate::data::Data;
use crate::linalg::tree_ldl;
use crate::model::{BiasType, CamMode, GainType, Model, WORLD};
use crate::smooth;
use crate::smooth::jacobian::dof_point_velocity;

/// What the source of a model asks for beyond the arrays of the model.
#[derive(Clone, Debug, Default)]
pub struct SetConstOptions {
    /// Time constant \[s\] and damping ratio of each joint (njnt); both positive: stiffness and damping are
    /// computed from them.
    pub springdamper: Vec<[f64; 2]>,
}

/// Writes the constants that follow from the reference configuration.
///
/// - writes `dof_M0`, `dof_invweight0`, `body_invweight0`, `dof_length`, `tendon_length0`,
///   `tendon_invweight0`, `tendon_lengthspring` where it is (−1, −1), `actuator_length0`, `actuator_acc0`,
///   damping ratios in `actuator_biasprm`, `eq_data` of connect and weld, `cam_poscom0`, `cam_pos0`,
///   `cam_mat0`, `stat`, and stiffness and damping of joints with `springdamper`
///
/// A singular inertia matrix at qpos0 is not an error, as in MuJoCo; it is reported in
/// [`Model::unsupported`].
///
/// Source: MuJoCo `mj_setConst`.
pub fn set_const(m: &mut Model, options: &SetConstOptions) {
    m.build_effective();
    m.build_sparsity();
    let mut d = Data::<f64>::new(m);
    smooth::kinematics(m, &mut d);
    smooth::com_pos(m, &mut d);
    inertia_diagonal(m, &d);
    smooth::tendon(m, &mut d);
    smooth::crb(m, &mut d);
    smooth::factor_m(m, &mut d);
    if let Some(error) = d.singular {
        m.unsupported.push(format!("{error}: accelerations there are arbitrary"));
    }
    smooth::transmission(m, &mut d);
    m.tendon_length0.clone_from(&d.ten_length);
    m.actuator_length0.clone_from(&d.actuator_length);

    body_weights(m, &d);
    dof_weights(m, &d);
    tendon_actuator_weights(m, &d);
    equality::relative_poses(m, &d);
    cameras(m, &mut d);
    statistic::write(m, &d);
    spring_lengths(m);
    spring_dampers(m, &options.springdamper);
    m.build_effective();
}

/// dof_M0: diagonal of the inertia, without tendons.
fn inertia_diagonal(m: &mut Model, d: &Data<f64>) {
    let mut crb = d.cinert.clone();
    for b in m.bodies_tip_to_base() {
        let parent = m.body_parentid[b];
        if parent != WORLD {
            let child = crb[b];
            crb[parent] += child;
        }
    }
    m.dof_M0 = (0..m.nv)
        .map(|i| {
            let f = crb[m.dof_bodyid[i]].mul_vec(&d.cdof[i]);
            m.dof_armature_eff[i] + d.cdof[i].dot(&f)
        })
        .collect();
}

/// x ← M⁻¹ x.
fn solve_m(m: &Model, d: &Data<f64>, x: &mut [f64]) {
    tree_ldl::solve(m, &d.qLD, &d.qLDiagInv, x);
}

/// jᵀ M⁻¹ j.
fn inverse_weight(m: &Model, d: &Data<f64>, j: &[f64]) -> f64 {
    let mut x = j.to_vec();
    solve_m(m, d, &mut x);
    x.iter().zip(j).map(|(a, b)| a * b).sum()
}

fn mean3(w: &[f64]) -> f64 {
    (w[0] + w[1] + w[2]) / 3.0
}

/// Mean diagonal of J M⁻¹ Jᵀ at each centre of mass: translation, rotation.
fn body_weights(m: &mut Model, d: &Data<f64>) {
    m.body_invweight0 = vec![[0.0; 2]; m.nbody];
    for b in m.bodies_base_to_tip() {
        if m.body_dofnum[m.body_weldid[b]] == 0 {
            continue;
        }
        if m.body_simple[b] == 2 {
            m.body_invweight0[b] = [1.0 / m.body_mass[b].max(crate::MINVAL), 0.0];
            continue;
        }
        // rows of the Jacobian: three of translation, three of rotation
        let mut jac = vec![vec![0.0; m.nv]; 6];
        for i in m.body_dofs_to_root(b) {
            let (rot, lin) = dof_point_velocity(d, i, m.body_rootid[b], &d.xipos[b]);
            for k in 0..3 {
                jac[k][i] = lin[k];
                jac[3 + k][i] = rot[k];
            }
        }
        let w: Vec<f64> = jac.iter().map(|j| inverse_weight(m, d, j)).collect();
        m.body_invweight0[b] = [mean3(&w[..3]), mean3(&w[3..])];
    }
}

/// Diagonal of M⁻¹, averaged over the translations and over the rotations of a joint.
fn dof_weights(m: &mut Model, d: &Data<f64>) {
    let mut w: Vec<f64> = (0..m.nv)
        .map(|i| {
            let b = m.dof_bodyid[i];
            if m.body_simple[b] == 2 {
                return 1.0 / m.body_mass[b].max(crate::MINVAL);
            }
            let mut unit = vec![0.0; m.nv];
            unit[i] = 1.0;
            inverse_weight(m, d, &unit)
        })
        .collect();
    for j in 0..m.njnt {
        let adr = m.jnt_dofadr[j];
        for block in w[adr..adr + m.jnt_type[j].nv()].chunks_exact_mut(3) {
            block.fill(mean3(block));
        }
    }
    m.dof_invweight0 = w;
}

/// Dense copy of a sparse row.
fn dense_row(nv: usize, colind: &[usize], values: &[f64]) -> Vec<f64> {
    let mut row = vec![0.0; nv];
    for (j, v) in colind.iter().zip(values) {
        row[*j] = *v;
    }
    row
}

/// tendon_invweight0 = J M⁻¹ Jᵀ; actuator_acc0 = |M⁻¹ momentᵀ|; damping ratios to damping.
fn tendon_actuator_weights(m: &mut Model, d: &Data<f64>) {
    m.tendon_invweight0 = (0..m.ntendon)
        .map(|t| {
            let row = m.ten_J_rowadr[t]..m.ten_J_rowadr[t] + m.ten_J_rownnz[t];
            let j = dense_row(m.nv, &m.ten_J_colind[row.clone()], &d.ten_J[row]);
            inverse_weight(m, d, &j)
        })
        .collect();
    m.actuator_acc0 = vec![0.0; m.nactuator];
    for a in 0..m.nactuator {
        let row = m.moment_rowadr[a]..m.moment_rowadr[a] + m.moment_rownnz[a];
        let moment = dense_row(m.nv, &m.moment_colind[row.clone()], &d.actuator_moment[row]);
        let mut x = moment.clone();
        solve_m(m, d, &mut x);
        m.actuator_acc0[a] = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        damping_ratio(m, a, x.iter().zip(&moment).map(|(x, y)| x * y).sum());
    }
}

/// A positive `biasprm[2]` of a position servo is a damping ratio ζ: kv = 2ζ √(kp·mass), with the inertia
/// that the servo feels, mass = 1/(J M⁻¹ Jᵀ).
fn damping_ratio(m: &mut Model, a: usize, inv_mass: f64) {
    let servo = m.actuator_gaintype[a] == GainType::Fixed
        && m.actuator_biastype[a] == BiasType::Affine
        && m.actuator_gainprm[a][0] == -m.actuator_biasprm[a][1];
    let ratio = m.actuator_biasprm[a][2];
    if servo && ratio > 0.0 {
        let mass = if inv_mass > crate::MINVAL { 1.0 / inv_mass } else { 0.0 };
        m.actuator_biasprm[a][2] = -2.0 * ratio * (m.actuator_gainprm[a][0] * mass).sqrt();
    }
}

/// Offsets of cameras from their (target) bodies, all cameras taken as fixed.
fn cameras(m: &mut Model, d: &mut Data<f64>) {
    let modes = std::mem::replace(&mut m.cam_mode, vec![CamMode::Fixed; m.ncam]);
    smooth::camera(m, d);
    m.cam_mode = modes;
    for c in 0..m.ncam {
        let b = m.cam_bodyid[c];
        let com = m.cam_targetbodyid[c].unwrap_or(b);
        m.cam_pos0[c] = d.cam_xpos[c] - d.xpos[b];
        m.cam_poscom0[c] = d.cam_xpos[c] - d.subtree_com[com];
        m.cam_mat0[c] = std::array::from_fn(|k| d.cam_xmat[c][(k / 3, k % 3)]);
    }
}

/// Tendon springs without a given length rest at qpos_spring.
fn spring_lengths(m: &mut Model) {
    let mut d = Data::<f64>::new(m);
    d.qpos.copy_from_slice(&m.qpos_spring);
    smooth::tendon(m, &mut d);
    for t in 0..m.ntendon {
        if m.tendon_lengthspring[t] == [-1.0, -1.0] {
            m.tendon_lengthspring[t] = [d.ten_length[t]; 2];
        }
    }
}

/// Stiffness and damping of joints given as time constant τ and damping ratio ζ: with the joint's mean
/// inertia I, k = I/(τ²ζ²), b = 2I/τ.
fn spring_dampers(m: &mut Model, springdamper: &[[f64; 2]]) {
    for (j, [tau, zeta]) in springdamper.iter().copied().enumerate().take(m.njnt) {
        if tau <= 0.0 || zeta <= 0.0 {
            continue;
        }
        let (adr, n) = (m.jnt_dofadr[j], m.jnt_type[j].nv());
        let weight: f64 = m.dof_invweight0[adr..adr + n].iter().sum();
        let inertia = n as f64 / weight.max(crate::MINVAL);
        m.jnt_stiffness[j] = inertia / (tau * tau * zeta * zeta).max(crate::MINVAL);
        m.dof_damping[adr..adr + n].fill(2.0 * inertia / tau.max(crate::MINVAL));
    }
}
