//! Semi-implicit Euler, implicit in joint damping.

use super::advance::advance_by_scratch;
use crate::data::Data;
use crate::model::Model;
use crate::model::options::disable;
use crate::scalar::Scalar;
use crate::smooth::poly;

/// v⁺ = v + h a with (M + h D) a = qfrc_smooth + qfrc_constraint, then q⁺ = q ⊕ h v⁺.
///
/// D is the diagonal of joint damping (its derivative, where it is a polynomial). Without damping, or with
/// the `eulerdamp` flag off, a = `qacc`.
///
/// - reads  `qacc`, `qfrc_smooth`, `qfrc_constraint`, `qvel` (nv), `qM`, `act_dot` (na)
/// - writes the state; `singular` if M + h D is not positive definite
///
/// Source: MuJoCo `mj_Euler`; manual, "Numerical integration". Order 1.
pub fn euler<T: Scalar>(m: &Model, d: &mut Data<T>) {
    let Data { scratch, qacc, qvel, qM, qfrc_smooth, qfrc_constraint, singular, .. } = d;
    let a = &mut scratch.v[0];
    if damps_implicitly(m) {
        // H = M + h D
        let H = &mut scratch.factor.H;
        H.copy_from_slice(qM);
        for i in 0..m.nv {
            let damping = poly::derivative_odd(&m.dof_damping_eff[i], qvel[i]);
            H[m.M_rowadr[i] + m.M_rownnz[i] - 1] += damping * T::lift(m.opt.timestep);
        }
        *singular = scratch.factor.factor(m, "M + hD").or(*singular);
        for i in 0..m.nv {
            a[i] = qfrc_smooth[i] + qfrc_constraint[i];
        }
        scratch.factor.solve(m, a);
    } else {
        a.copy_from_slice(qacc);
    }
    advance_by_scratch(m, d);
}

/// True if [`euler`] integrates joint damping implicitly: there is some, and no flag says otherwise.
pub fn damps_implicitly(m: &Model) -> bool {
    let damped = m.dof_damping_eff.iter().any(|b| b[0] > 0.0 || b[1] != 0.0 || b[2] != 0.0)
        || m.jnt_actuatorid.iter().any(|a| *a != -1);
    damped && !m.opt.disabled(disable::EULERDAMP) && !m.opt.disabled(disable::DAMPER)
}
