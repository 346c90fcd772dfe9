//! Rows of one number: friction loss, limits, equalities of joints and tendons.
//!
//! All of them but friction measure a function of position, so that J = ∂pos/∂q.

use dualstep::constraint::EfcType;
use dualstep::math::Quat;
use dualstep::model::{EqType, JointType};
use dualstep::{Data, Model};
use nalgebra::{Matrix3, Vector3};

use super::answer::{Answer, By, Listener, Source};
use super::response::Rows;
use crate::quat::right_jacobian_inverse;

/// dq += ∂(Jᵀf)/∂q of one row.
pub(super) fn add(
    m: &Model,
    d: &Data<f64>,
    rows: &Rows,
    dq: &mut [f64],
    listener: &mut impl Listener,
) {
    let (efc, i) = (&d.efc, rows.first);
    let (columns, J) = efc.row(i);
    let holonomic = !matches!(efc.kind[i], EfcType::FrictionDof | EfcType::FrictionTendon);
    let [K, B, imp, slope] = efc.KBIP[i];
    let (f, x) = (efc.force[i], efc.pos[i] - efc.margin[i]);
    let bend = if f == 0.0 { Bend::None } else { Bend::of(m, d, i) };
    let limit = matches!(efc.kind[i], EfcType::LimitJoint | EfcType::LimitTendon);
    let listens = limit && listener.attend(Source::Limit(i));

    for (l, &j) in columns.iter().enumerate() {
        let [Ja, Jv] = [&d.qacc, &d.qvel].map(|u| rate(m, d, &bend, (columns, l), u));
        let dpos = if holonomic { J[l] } else { 0.0 };
        let daref = -B * Jv - K * (slope * x + imp) * dpos;
        let mut df = [0.0];
        rows.force(d, &[Ja - daref], rows.stiffening * dpos, &mut df);
        for (k, &row) in columns.iter().enumerate() {
            dq[row * m.nv + j] += J[k] * df[0] + f * bend.entry(m, d, columns, k, l);
        }
        if listens {
            let mut tell = |by: By, force: f64| {
                listener.hear(&Answer {
                    force: [force, 0.0, 0.0, 0.0, 0.0, 0.0],
                    ..Answer::none(by, j)
                });
            };
            tell(By::Position, df[0]);
            let answer = -rows.curvature(d, 0, 0) * J[l];
            tell(By::Velocity, B * answer);
            tell(By::Acceleration, answer);
        }
    }
}

/// Calls `add` with each column of row `i` and ∂(J qvel)/∂q of it.
pub(crate) fn velocity_slope(m: &Model, d: &Data<f64>, i: usize, mut add: impl FnMut(usize, f64)) {
    let (columns, _) = d.efc.row(i);
    let bend = Bend::of(m, d, i);
    for (l, &j) in columns.iter().enumerate() {
        add(j, rate(m, d, &bend, (columns, l), &d.qvel));
    }
}

/// ∂J_k/∂q_l of a row.
enum Bend {
    /// J is constant.
    None,
    /// −p″(x) gᵢ gⱼ: the second object of equality `e`; g its gradient.
    Polynomial { second: f64, e: usize },
    /// The axis of a ball's rotation turns.
    Ball(Matrix3<f64>),
}

impl Bend {
    fn of(m: &Model, d: &Data<f64>, i: usize) -> Self {
        let id = d.efc.id[i];
        match d.efc.kind[i] {
            EfcType::Equality => Self::polynomial(m, d, id).unwrap_or(Self::None),
            EfcType::LimitJoint if m.jnt_type[id] == JointType::Ball => {
                let adr = m.jnt_qposadr[id];
                let x: Vector3<f64> = Quat::from_slice(&d.qpos[adr..adr + 4]).normalized().log();
                let angle = x.norm();
                if angle < dualstep::MINVAL {
                    return Self::None;
                }
                let axis = x / angle;
                // J = −axis; the rotation vector moves by J_r⁻¹
                let across = Matrix3::identity() - axis * axis.transpose();
                Self::Ball(-(across / angle) * right_jacobian_inverse(&x))
            }
            _ => Self::None,
        }
    }

    fn polynomial(m: &Model, d: &Data<f64>, e: usize) -> Option<Self> {
        let id = m.eq_obj2id[e]?;
        let c = m.eq_data[e];
        let (value, reference) = match m.eq_type[e] {
            EqType::Joint => (d.qpos[m.jnt_qposadr[id]], m.qpos0[m.jnt_qposadr[id]]),
            EqType::Tendon => (d.ten_length[id], m.tendon_length0[id]),
            _ => return None,
        };
        let x = value - reference;
        let second = 2.0 * c[2] + x * (6.0 * c[3] + x * 12.0 * c[4]);
        if second == 0.0 {
            return None;
        }
        Some(Self::Polynomial { second, e })
    }

    /// ∂J_k/∂q_l; k and l count columns.
    fn entry(&self, m: &Model, d: &Data<f64>, columns: &[usize], k: usize, l: usize) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Ball(matrix) => matrix[(k, l)],
            Self::Polynomial { second, e } => {
                let g = |c: usize| gradient(m, d, *e, columns[c]);
                -second * g(k) * g(l)
            }
        }
    }
}

/// ∂J/∂q_l · u of a row.
fn rate(m: &Model, d: &Data<f64>, bend: &Bend, (columns, l): (&[usize], usize), u: &[f64]) -> f64 {
    match bend {
        Bend::None => 0.0,
        _ => (0..columns.len()).map(|k| bend.entry(m, d, columns, k, l) * u[columns[k]]).sum(),
    }
}

/// Derivative by `dof` of what the second object of equality `e` measures.
fn gradient(m: &Model, d: &Data<f64>, e: usize, dof: usize) -> f64 {
    let Some(id) = m.eq_obj2id[e] else { return 0.0 };
    if m.eq_type[e] == EqType::Joint {
        return if m.jnt_dofadr[id] == dof { 1.0 } else { 0.0 };
    }
    let first = m.ten_J_rowadr[id];
    let columns = &m.ten_J_colind[first..first + m.ten_J_rownnz[id]];
    columns.iter().position(|&j| j == dof).map_or(0.0, |k| d.ten_J[first + k])
}
