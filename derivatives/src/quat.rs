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
    for block in integration_blocks(m, v, h) {
        match block {
            Block::Line(i) => {
                for (q, v) in dq[i * n..(i + 1) * n].iter_mut().zip(&dv[i * n..]) {
                    *q += *v * h;
                }
            }
            Block::Turn(r, E, J) => {
                let [x, y, z] = three_rows_mut(&mut dq[r * n..(r + 3) * n], n);
                for (c, v) in three_columns(&dv[r * n..], n).enumerate() {
                    let next = E * Vector3::new(x[c], y[c], z[c]) + J * v;
                    (x[c], y[c], z[c]) = (next.x, next.y, next.z);
                }
            }
        }
    }
}

/// As [`mjd_integrate_pos`] where `qpos` is what is differentiated by: its tangent is the identity, in the columns
/// that `slot` (nv) names. Writes all of `dq`.
///
/// # Panics
/// If the blocks are not nv × n.
pub(crate) fn integrate_pos_from_identity(
    m: &Model,
    v: &[f64],
    h: f64,
    dq: &mut [f64],
    dv: &[f64],
    slot: &[Option<usize>],
) {
    assert_eq!(dq.len(), dv.len(), "one row a degree of freedom");
    let n = dq.len() / m.nv.max(1);
    for block in integration_blocks(m, v, h) {
        match block {
            Block::Line(i) => {
                for (q, v) in dq[i * n..(i + 1) * n].iter_mut().zip(&dv[i * n..]) {
                    *q = v * h;
                }
                if let Some(k) = slot[i] {
                    dq[i * n + k] += 1.0;
                }
            }
            Block::Turn(r, E, J) => {
                let [x, y, z] = three_rows_mut(&mut dq[r * n..(r + 3) * n], n);
                for (c, v) in three_columns(&dv[r * n..], n).enumerate() {
                    let next = J * v;
                    (x[c], y[c], z[c]) = (next.x, next.y, next.z);
                }
                for k in 0..3 {
                    let Some(c) = slot[r + k] else { continue };
                    for i in 0..3 {
                        dq[(r + i) * n + c] += E[(i, k)];
                    }
                }
            }
        }
    }
}

/// The transpose of [`mjd_integrate_pos`] for one row: of a row vector `next` (nv) on the tangent of `qpos ⊕ h v`, writes
/// its product with the derivative by `qpos` to `by_pos`, and adds that by `v` to `by_vel`.
pub(crate) fn integrate_pos_transposed(
    m: &Model,
    v: &[f64],
    h: f64,
    next: &[f64],
    by_pos: &mut [f64],
    by_vel: &mut [f64],
) {
    for block in integration_blocks(m, v, h) {
        match block {
            Block::Line(i) => {
                by_pos[i] = next[i];
                by_vel[i] += h * next[i];
            }
            Block::Turn(r, E, J) => {
                let x = Vector3::from_column_slice(&next[r..r + 3]);
                by_pos[r..r + 3].copy_from_slice(E.tr_mul(&x).as_slice());
                for (to, from) in by_vel[r..r + 3].iter_mut().zip(J.tr_mul(&x).iter()) {
                    *to += from;
                }
            }
        }
    }
}

/// Degrees of freedom that are integrated together.
enum Block<T> {
    /// One that is added to.
    Line(usize),
    /// Three axes of a rotation from this one on: E and h J_r.
    Turn(usize, Matrix3<T>, Matrix3<T>),
}

/// The blocks of `qpos ⊕ h v`.
fn integration_blocks<'a, T: Scalar>(
    m: &'a Model,
    v: &'a [T],
    h: T,
) -> impl Iterator<Item = Block<T>> + 'a {
    (0..m.njnt).flat_map(move |j| {
        let dof = m.jnt_dofadr[j];
        let (lines, turn) = match m.jnt_type[j] {
            JointType::Slide | JointType::Hinge => (1, None),
            JointType::Ball => (0, Some(dof)),
            JointType::Free => (3, Some(dof + 3)),
        };
        let turn = turn.map(|r| {
            let (E, J) = mjd_quat_integrate(&(Vector3::new(v[r], v[r + 1], v[r + 2]) * h));
            Block::Turn(r, E, J * h)
        });
        (dof..dof + lines).map(Block::Line).chain(turn)
    })
}

/// Columns of three rows of width n.
fn three_columns<T: Scalar>(rows: &[T], n: usize) -> impl Iterator<Item = Vector3<T>> + '_ {
    let (x, y, z) = (&rows[..n], &rows[n..2 * n], &rows[2 * n..3 * n]);
    x.iter().zip(y).zip(z).map(|((x, y), z)| Vector3::new(*x, *y, *z))
}

/// Three rows of width n.
fn three_rows_mut<T>(rows: &mut [T], n: usize) -> [&mut [T]; 3] {
    let (x, rest) = rows.split_at_mut(n);
    let (y, z) = rest.split_at_mut(n);
    [x, y, z]
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
