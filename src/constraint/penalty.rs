//! Limits and equalities as springs and dampers, instead of rows of the solver: ours, for research on smooth dynamics.
//!
//! A violation x of a row with velocity ẋ = J q̇ gives the force −k x − b ẋ along the row; a limit never pulls. With
//! `solref` = (time constant τ, damping ratio ζ): k = 1/τ², b = 2ζ/τ; or (−k, −b). k is at most 1/h², beyond which no
//! explicit step is stable. There is no impedance, and no scaling by the inertia: forces are those of a unit mass.

use crate::data::Data;
use crate::model::options::disable;
use crate::model::{LimitModel, Model};
use crate::scalar::Scalar;

use super::efc::{Efc, EfcType};
use super::{equality, limit};

/// Rows of limits and equalities that are violated, if they are penalties.
///
/// - reads  what [`make_constraint`](super::make_constraint) reads, but for contacts
/// - writes `kind`, `id`, `J`, `pos`, `margin` of `rows`
pub fn make_penalty<T: Scalar>(m: &Model, d: &Data<T>, rows: &mut Efc<T>) {
    rows.clear();
    if m.opt.limits != LimitModel::Penalty || m.opt.disabled(disable::CONSTRAINT) || m.nv == 0 {
        return;
    }
    if !m.opt.disabled(disable::EQUALITY) {
        equality::instantiate(m, d, rows);
    }
    rows.ne = rows.nefc;
    if !m.opt.disabled(disable::LIMIT) {
        limit::instantiate(m, d, rows);
    }
    rows.nl = rows.nefc - rows.ne;
}

/// Adds the forces of the penalties to `qfrc_passive` (nv).
///
/// - reads  `qvel` (nv), `penalty`
/// - writes `qfrc_passive`; `vel`, `force` of `penalty`
pub fn penalty_force<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let Data { penalty: rows, qvel, qfrc_passive, .. } = d;
    for i in 0..rows.nefc {
        let (columns, entries) = rows.row(i);
        let terms = columns.iter().zip(entries).map(|(&j, x)| *x * qvel[j]);
        let vel = terms.fold(T::zero(), |sum, x| sum + x);
        let [k, b] = stiffness_damping(m, rows.kind[i], rows.id[i]).map(T::lift);
        let force = -k * (rows.pos[i] - rows.margin[i]) - b * vel;
        let pulls = rows.kind[i] != EfcType::Equality && force.re() <= 0.0;
        rows.vel[i] = vel;
        rows.force[i] = if pulls { T::zero() } else { force };
        let (columns, entries) = rows.row(i);
        for (&j, x) in columns.iter().zip(entries) {
            qfrc_passive[j] += *x * rows.force[i];
        }
    }
}

/// k and b of the element that a row belongs to.
fn stiffness_damping(m: &Model, kind: EfcType, id: usize) -> [f64; 2] {
    let [first, second] = match kind {
        EfcType::Equality => m.eq_solref[id],
        EfcType::LimitTendon => m.tendon_solref_lim[id],
        _ => m.jnt_solref[id],
    };
    let [k, b] =
        if first > 0.0 { [1.0 / (first * first), 2.0 * second / first] } else { [-first, -second] };
    [k.min(1.0 / (m.opt.timestep * m.opt.timestep)), b]
}
