//! Fourth-order Runge–Kutta on the configuration manifold.

use nalgebra::Vector3;

use super::{advance, integrate_pos};
use crate::data::Data;
use crate::model::{JointType, Model};
use crate::scalar::Scalar;
use crate::status::StepError;

/// Stage i starts at q₀ ⊕ h A_i K_{i−1}: the classic method has one predecessor per stage.
const A: [f64; 3] = [0.5, 0.5, 1.0];
/// Weights of the stages.
const B: [f64; 4] = [1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0];

/// Scratch of the four stages.
#[derive(Clone, Debug)]
pub(crate) struct Rk4Scratch<T: Scalar> {
    /// Stage velocities, pulled back to q₀ (4 × nv).
    K: [Vec<T>; 4],
    /// Stage accelerations (4 × nv).
    F: [Vec<T>; 4],
    /// Stage rates of the activations (4 × na).
    G: [Vec<T>; 4],
    /// Displacement from q₀ over the timestep, and two more vectors of the same kind.
    u: Vec<T>,
    dv: Vec<T>,
    da: Vec<T>,
}

impl<T: Scalar> Rk4Scratch<T> {
    /// Room for models with `nv` degrees of freedom and `na` activations.
    pub(crate) fn new(nv: usize, na: usize) -> Self {
        let stages = |n: usize| std::array::from_fn(|_| vec![T::zero(); n]);
        let vector = |n: usize| vec![T::zero(); n];
        Self {
            K: stages(nv),
            F: stages(nv),
            G: stages(na),
            u: vector(nv),
            dv: vector(nv),
            da: vector(na),
        }
    }
}

impl<T: Scalar> Default for Rk4Scratch<T> {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

/// One step of the classic fourth-order method; `forward` has been called. `evaluate` computes `qacc` and
/// `act_dot` at the state in `d`, without sensors.
///
/// Orientations are combined as Runge–Kutta–Munthe-Kaas methods do: a stage at q₀ exp(u) contributes
/// dexp⁻¹_u(ω) instead of ω, and the step keeps its order on ball and free joints.
///
/// - reads  the state of `d` and, as state at the beginning of the step, `scratch.qpos/qvel/act`
/// - writes the state
///
/// # Errors
/// Those of `evaluate`.
///
/// Source: Munthe-Kaas 1998, "Runge–Kutta methods on Lie groups"; MuJoCo `mj_RungeKutta`. Order 4.
pub fn rk4<T: Scalar>(
    m: &Model,
    d: &mut Data<T>,
    evaluate: impl Fn(&Model, &mut Data<T>) -> Result<(), StepError>,
) -> Result<(), StepError> {
    let h = T::lift(m.opt.timestep);
    let t0 = d.time;
    let mut s = std::mem::take(&mut d.scratch.rk4);
    s.K[0].copy_from_slice(&d.qvel);
    s.F[0].copy_from_slice(&d.qacc);
    s.G[0].copy_from_slice(&d.act_dot);

    for i in 1..4 {
        // x_i = x₀ ⊕ h A_i (K, F, G)_{i−1}
        let c = T::lift(A[i - 1]);
        restore(d);
        for k in 0..m.nv {
            s.u[k] = s.K[i - 1][k] * c;
            d.qvel[k] += s.F[i - 1][k] * c * h;
        }
        for k in 0..m.na {
            d.act[k] += s.G[i - 1][k] * c * h;
        }
        integrate_pos(m, &mut d.qpos, &s.u, h);
        d.time = t0 + c * h;
        let evaluated = evaluate(m, d);
        if evaluated.is_err() {
            d.scratch.rk4 = s;
            return evaluated;
        }
        pull_back(m, &s.u, h, &d.qvel, &mut s.K[i]);
        s.F[i].copy_from_slice(&d.qacc);
        s.G[i].copy_from_slice(&d.act_dot);
    }

    // x₁ = x₀ ⊕ h Σ B_i (K, F, G)_i
    for k in 0..m.nv {
        s.u[k] = weighted(&s.K, k);
        s.dv[k] = weighted(&s.F, k);
    }
    for k in 0..m.na {
        s.da[k] = weighted(&s.G, k);
    }
    restore(d);
    d.time = t0;
    advance(m, d, &s.da, &s.dv, Some(&s.u));
    d.scratch.rk4 = s;
    Ok(())
}

fn restore<T: Scalar>(d: &mut Data<T>) {
    d.qpos.copy_from_slice(&d.scratch.qpos);
    d.qvel.copy_from_slice(&d.scratch.qvel);
    d.act.copy_from_slice(&d.scratch.act);
}

fn weighted<T: Scalar>(stages: &[Vec<T>; 4], k: usize) -> T {
    (0..4).fold(T::zero(), |sum, i| sum + stages[i][k] * T::lift(B[i]))
}

/// K = v, with angular velocities of ball and free joints mapped by dexp⁻¹ at the displacement h·u.
fn pull_back<T: Scalar>(m: &Model, u: &[T], h: T, v: &[T], K: &mut [T]) {
    K.copy_from_slice(v);
    for j in 0..m.njnt {
        let dof = match m.jnt_type[j] {
            JointType::Ball => m.jnt_dofadr[j],
            JointType::Free => m.jnt_dofadr[j] + 3,
            JointType::Hinge | JointType::Slide => continue,
        };
        let at = |x: &[T]| Vector3::new(x[dof], x[dof + 1], x[dof + 2]);
        let k = dexp_inv(&(at(u) * h), &at(v));
        K[dof..dof + 3].copy_from_slice(k.as_slice());
    }
}

/// dexp⁻¹_u(w) = w + ½ u×w + c(|u|) u×(u×w), c(θ) = (1 − (θ/2) cot(θ/2))/θ², for rotations composed on the
/// right (angular velocity in the body frame). Source: Iserles et al. 2000, "Lie-group methods", app. B.
fn dexp_inv<T: Scalar>(u: &Vector3<T>, w: &Vector3<T>) -> Vector3<T> {
    let s = u.norm_squared();
    let c = if s.re() < 1e-2 {
        // 1/12 + θ²/720 + θ⁴/30240 + θ⁶/1209600 + θ⁸/47900160
        let r = |k: f64| T::lift(1.0 / k);
        r(12.0) + s * (r(720.0) + s * (r(30_240.0) + s * (r(1_209_600.0) + s * r(47_900_160.0))))
    } else {
        let half = s.sqrt() * T::lift(0.5);
        (T::one() - half * half.cos() / half.sin()) / s
    };
    let uw = u.cross(w);
    w + uw * T::lift(0.5) + u.cross(&uw) * c
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Quat;

    // dexp⁻¹ inverts the derivative of the exponential: exp(u + ε k) ≈ exp(u) exp(ε w)
    #[test]
    fn dexp_inv_inverts_the_derivative_of_exp() {
        for scale in [1e-3, 0.099, 0.101, 1.0, 2.5] {
            let u = Vector3::new(0.6, -0.48, 0.64) * scale;
            let w = Vector3::new(0.3, 1.0, -0.7);
            let k = dexp_inv(&u, &w);
            let e = 1e-6;
            let turn = |x: f64| Quat::exp(&u).conj() * Quat::exp(&(u + k * x));
            let fd = (turn(e).log() - turn(-e).log()) / (2.0 * e);
            assert!((fd - w).norm() < 1e-9, "{scale}: {fd} {w}");
        }
    }
}
