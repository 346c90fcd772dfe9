//! Derivatives of integration and difference on the configuration manifold.
//!
//! With E(u) = exp(u) as a quaternion and tangents in the body frame (composed on the right):
//!
//! - exp(u + δ) = exp(u) exp(J_r(u) δ),       J_r(u) = 1 − (1 − cos θ)/θ² \[u\] + (θ − sin θ)/θ³ \[u\]²
//! - log(exp(u) exp(δ)) = u + J_r⁻¹(u) δ,      J_r⁻¹(u) = 1 + ½ \[u\] + (1 − (θ/2) cot(θ/2))/θ² \[u\]²
//! - q exp(δ) exp(u) = q exp(u) exp(R(u)ᵀ δ)
//!
//! Source: Solà, Deray, Atchuthan 2018, "A micro Lie theory", eqs. 143–146; MuJoCo `mjd_quatIntegrate`,
//! `mjd_subQuat`.

use dualstep::math::Quat;
use dualstep::model::JointType;
use dualstep::{Model, Scalar};
use nalgebra::{Matrix3, Vector3};

/// Below this squared angle the coefficients are series; the first term left out is under 1e-17.
const SERIES: f64 = 1e-2;

/// Cross-product matrix: `skew(u) w = u × w`.
#[rustfmt::skip]
pub fn skew<T: Scalar>(u: &Vector3<T>) -> Matrix3<T> {
    let o = T::zero();
    Matrix3::new(
        o, -u.z, u.y,
        u.z, o, -u.x,
        -u.y, u.x, o,
    )
}

/// c₀ + s (c₁ + s (c₂ + …)) with the reciprocals of the coefficients.
fn series<T: Scalar>(s: T, reciprocals: &[f64]) -> T {
    reciprocals.iter().rev().fold(T::zero(), |sum, r| sum * s + T::lift(1.0 / r))
}

/// Right Jacobian of the exponential, J_r(u).
pub fn right_jacobian<T: Scalar>(u: &Vector3<T>) -> Matrix3<T> {
    let s = u.norm_squared();
    let (b, c) = if s.re() < SERIES {
        (
            series(s, &[2.0, -24.0, 720.0, -40_320.0, 3_628_800.0]),
            series(s, &[6.0, -120.0, 5040.0, -362_880.0, 39_916_800.0]),
        )
    } else {
        let t = s.sqrt();
        ((T::one() - t.cos()) / s, (t - t.sin()) / (s * t))
    };
    let U = skew(u);
    Matrix3::identity() - U * b + U * U * c
}

/// Inverse of the right Jacobian, J_r⁻¹(u); its transpose is that of the left Jacobian.
pub fn right_jacobian_inverse<T: Scalar>(u: &Vector3<T>) -> Matrix3<T> {
    let s = u.norm_squared();
    let c = if s.re() < SERIES {
        series(s, &[12.0, 720.0, 30_240.0, 1_209_600.0, 47_900_160.0])
    } else {
        let half = s.sqrt() * T::lift(0.5);
        (T::one() - half * half.cos() / half.sin()) / s
    };
    let U = skew(u);
    Matrix3::identity() + U * T::lift(0.5) + U * U * c
}

/// Derivatives of `q ⊕ u` for a quaternion: of the result's tangent by the tangent of q, and by u.
///
/// Source: MuJoCo `mjd_quatIntegrate`.
pub fn mjd_quat_integrate<T: Scalar>(u: &Vector3<T>) -> (Matrix3<T>, Matrix3<T>) {
    (Quat::exp(u).to_matrix().transpose(), right_jacobian(u))
}

/// Derivatives of `log(b⁻¹ a)` by the tangents of a and of b.
///
/// Source: MuJoCo `mjd_subQuat`.
pub fn mjd_sub_quat<T: Scalar>(a: Quat<T>, b: Quat<T>) -> (Matrix3<T>, Matrix3<T>) {
    let by_a = right_jacobian_inverse(&a.difference(b));
    (by_a, -by_a.transpose())
}

/// Derivative of `qpos ⊕ h v` along a row of tangents: turns `dq` (nv × n, row-major: the tangent of qpos) and
/// `dv` (nv × n: that of v) into the tangent of the result, in `dq`.
///
/// dq⁺ = E dq + h J_r dv, with blocks E = 1, J_r = 1 for scalar joints and translations.
///
/// Source: MuJoCo `mjd_quatIntegrate`, over all joints.
///
/// # Panics
/// If the blocks are not nv × n.
pub fn mjd_integrate_pos<T: Scalar>(m: &Model, v: &[T], h: T, dq: &mut [T], dv: &[T], n: usize) {
    assert_eq!(dq.len(), m.nv * n, "one row a degree of freedom");
    assert_eq!(dv.len(), m.nv * n, "one row a degree of freedom");
    for j in 0..m.njnt {
        let dof = m.jnt_dofadr[j];
        let (translations, turn) = match m.jnt_type[j] {
            JointType::Slide | JointType::Hinge => (1, None),
            JointType::Ball => (0, Some(dof)),
            JointType::Free => (3, Some(dof + 3)),
        };
        for i in dof * n..(dof + translations) * n {
            dq[i] += dv[i] * h;
        }
        let Some(r) = turn else { continue };
        let u = Vector3::new(v[r], v[r + 1], v[r + 2]) * h;
        let (E, J) = mjd_quat_integrate(&u);
        let J = J * h;
        for c in 0..n {
            let at = |x: &[T]| Vector3::new(x[r * n + c], x[(r + 1) * n + c], x[(r + 2) * n + c]);
            let next = E * at(dq) + J * at(dv);
            for k in 0..3 {
                dq[(r + k) * n + c] = next[k];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECTION: [f64; 3] = [0.6, -0.48, 0.64];

    #[test]
    fn jacobians_are_inverse_and_match_differences() {
        for angle in [0.0, 1e-4, 0.0999, 0.1001, 1.0, 3.0] {
            let u = Vector3::from(DIRECTION) * angle;
            let (J, inverse) = (right_jacobian(&u), right_jacobian_inverse(&u));
            assert!((J * inverse - Matrix3::identity()).norm() < 1e-14, "{angle}");
            let e = 1e-6;
            for k in 0..3 {
                let step = |s: f64| {
                    let mut w = u;
                    w[k] += s * e;
                    Quat::exp(&w).difference(Quat::exp(&u))
                };
                let fd = (step(1.0) - step(-1.0)) / (2.0 * e);
                assert!((fd - J.column(k)).norm() < 1e-9, "{angle} {k}");
            }
        }
    }

    // near opposite orientations the logarithm is steep, its derivative still right
    #[test]
    fn sub_quat_matches_differences_near_the_antipode() {
        let b = Quat::exp(&Vector3::new(0.3, 0.2, -0.9));
        for angle in [0.5, 3.1] {
            let a = b * Quat::exp(&(Vector3::from(DIRECTION) * angle));
            let (by_a, by_b) = mjd_sub_quat(a, b);
            let e = 1e-7;
            for k in 0..3 {
                let mut w = Vector3::zeros();
                w[k] = e;
                let nudge = Quat::exp(&w);
                let fd_a =
                    ((a * nudge).difference(b) - (a * nudge.conj()).difference(b)) / (2.0 * e);
                let fd_b = (a.difference(b * nudge) - a.difference(b * nudge.conj())) / (2.0 * e);
                assert!((fd_a - by_a.column(k)).norm() < 1e-6, "{angle}");
                assert!((fd_b - by_b.column(k)).norm() < 1e-6, "{angle}");
            }
        }
    }
}
