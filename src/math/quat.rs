//! Unit quaternions `w x y z`: product, rotation, exponential, logarithm.
//!
//! Exponential and logarithm are written with series near zero, where the closed forms are 0/0 and dual
//! numbers would lose their tangent or turn into NaN.

#![expect(clippy::inline_always, reason = "kernels of the inner loops, a few instructions each")]

use nalgebra::{Matrix3, Vector3};

use crate::scalar::Scalar;

/// Below this squared half angle the series of sin(x)/x and its relatives are used: the first term left
/// out, x⁸/9!, is then under 1e-16 for values, first and second derivatives.
const SERIES: f64 = 1e-4;

/// A quaternion, scalar part first. Rotations are unit quaternions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quat<T> {
    /// Scalar part, cos(θ/2).
    pub w: T,
    /// Vector part, first component.
    pub x: T,
    /// Vector part, second component.
    pub y: T,
    /// Vector part, third component.
    pub z: T,
}

impl Default for Quat<f64> {
    fn default() -> Self {
        Self::identity()
    }
}

/// (sin(√s)/√s, cos(√s)) as smooth functions of s = x², both entire.
#[inline]
fn sinc_cos<T: Scalar>(s: T) -> (T, T) {
    if s.re() < SERIES {
        let c = |k: f64| T::lift(1.0 / k);
        let one = T::one();
        let sinc =
            one - s * c(6.0) * (one - s * c(20.0) * (one - s * c(42.0) * (one - s * c(72.0))));
        let cos =
            one - s * c(2.0) * (one - s * c(12.0) * (one - s * c(30.0) * (one - s * c(56.0))));
        (sinc, cos)
    } else {
        let x = s.sqrt();
        (x.sin() / x, x.cos())
    }
}

impl<T: Scalar> Quat<T> {
    /// Quaternion with the given components.
    #[inline]
    pub fn new(w: T, x: T, y: T, z: T) -> Self {
        Self { w, x, y, z }
    }

    /// No rotation.
    #[inline]
    pub fn identity() -> Self {
        Self::new(T::one(), T::zero(), T::zero(), T::zero())
    }

    /// From scalar part and vector part.
    #[inline]
    pub fn from_parts(w: T, v: Vector3<T>) -> Self {
        Self::new(w, v.x, v.y, v.z)
    }

    /// From four numbers in the order `w x y z`, taken as they are.
    #[inline]
    pub fn from_slice(q: &[T]) -> Self {
        Self::new(q[0], q[1], q[2], q[3])
    }

    /// A constant quaternion with zero tangent.
    #[inline]
    pub fn lift(q: &Quat<f64>) -> Self {
        Self::new(T::lift(q.w), T::lift(q.x), T::lift(q.y), T::lift(q.z))
    }

    /// Components in the order `w x y z`.
    #[inline]
    pub fn to_array(self) -> [T; 4] {
        [self.w, self.x, self.y, self.z]
    }

    /// Vector part.
    #[inline]
    pub fn vec(&self) -> Vector3<T> {
        Vector3::new(self.x, self.y, self.z)
    }

    /// Inverse of a unit quaternion.
    #[must_use]
    #[inline]
    pub fn conj(self) -> Self {
        Self::new(self.w, -self.x, -self.y, -self.z)
    }

    /// Sum of squares of the four components.
    #[inline]
    pub fn norm_squared(&self) -> T {
        (self.w * self.w + self.x * self.x) + (self.y * self.y + self.z * self.z)
    }

    /// The unit quaternion along `self`; the identity where the norm is below 1e-15, as `mju_normalize4`. Like
    /// there, what is of unit length to 1e-15 keeps its numbers: whether bodies at rest touch hangs on the last
    /// bit. Tangents lose their part along `self` in any case.
    #[must_use]
    #[inline]
    pub fn normalized(self) -> Self {
        let n = self.norm_squared().sqrt();
        if n.re() < crate::MINVAL {
            return Self::identity();
        }
        let mut r = T::one() / n;
        if (n.re() - 1.0).abs() <= crate::MINVAL {
            r -= T::lift(r.re() - 1.0);
        }
        Self::new(self.w * r, self.x * r, self.y * r, self.z * r)
    }

    /// Rotation by `angle` \[rad\] about the unit vector `axis`.
    #[inline]
    pub fn from_axis_angle(axis: &Vector3<T>, angle: T) -> Self {
        let half = angle * T::lift(0.5);
        let s = half.sin();
        Self::new(half.cos(), axis.x * s, axis.y * s, axis.z * s)
    }

    /// Exponential map: rotation by |v| about v \[rad\].
    #[inline]
    pub fn exp(v: &Vector3<T>) -> Self {
        let (sinc, cos) = sinc_cos(v.norm_squared() * T::lift(0.25));
        Self::from_parts(cos, v * (sinc * T::lift(0.5)))
    }

    /// Logarithm: the rotation vector in (−π, π] whose exponential is `self` or `−self`, as `mju_quat2Vel`.
    ///
    /// With s = |vec|, the angle is 2 atan2(s, w), wrapped; near s = 0 the odd series of atan is used.
    #[inline]
    pub fn log(self) -> Vector3<T> {
        // the shorter of the two rotations: q and −q are the same
        let q =
            if self.w.re() < 0.0 { Self::new(-self.w, -self.x, -self.y, -self.z) } else { self };
        let v = q.vec();
        let s2 = v.norm_squared();
        let two = T::lift(2.0);
        if s2.re() < SERIES {
            // 2 atan(s/w)/s = (2/w)(1 − t/3 + t²/5 − …), t = s²/w²
            let r = T::one() / q.w;
            let t = s2 * r * r;
            let c = |k: f64| T::lift(1.0 / k);
            let series = T::one() - t * (c(3.0) - t * (c(5.0) - t * (c(7.0) - t * c(9.0))));
            v * (two * r * series)
        } else {
            let s = s2.sqrt();
            v * (two * s.atan2(q.w) / s)
        }
    }

    /// `self · exp(v)`: the pose after turning by the rotation vector `v`, given in the body frame.
    ///
    /// Source: MuJoCo `mju_quatIntegrate` with v = ω·h.
    #[must_use]
    #[inline]
    pub fn integrate(self, v: &Vector3<T>) -> Self {
        (self * Self::exp(v)).normalized()
    }

    /// Rotation vector, in the frame of `from`, that takes `from` to `self`: log(from⁻¹ · self).
    ///
    /// Source: MuJoCo `mju_subQuat`.
    #[inline]
    pub fn difference(self, from: Self) -> Vector3<T> {
        (from.conj() * self).log()
    }

    /// The vector `v` turned by this unit quaternion.
    #[inline(always)]
    pub fn rotate(&self, v: &Vector3<T>) -> Vector3<T> {
        // terms in the order of `mju_rotVecQuat`
        let Self { w, x, y, z } = *self;
        let t = Vector3::new(
            w * v.x + y * v.z - z * v.y,
            w * v.y + z * v.x - x * v.z,
            w * v.z + x * v.y - y * v.x,
        );
        v + self.vec().cross(&t) * T::lift(2.0)
    }

    /// Rotation matrix of a unit quaternion; sums in the order of `mju_quat2Mat`.
    #[inline(always)]
    pub fn to_matrix(&self) -> Matrix3<T> {
        let (w, x, y, z) = (self.w, self.x, self.y, self.z);
        let (ww, xx, yy, zz) = (w * w, x * x, y * y, z * z);
        let two = T::lift(2.0);
        let (xy, xz, yz) = (x * y, x * z, y * z);
        let (wx, wy, wz) = (w * x, w * y, w * z);
        Matrix3::new(
            (ww - yy) + (xx - zz),
            two * (xy - wz),
            two * (xz + wy),
            two * (xy + wz),
            (ww + yy) - (xx + zz),
            two * (yz - wx),
            two * (xz - wy),
            two * (yz + wx),
            (ww - yy) - (xx - zz),
        )
    }

    /// Unit quaternion of a rotation matrix, by its largest component, with w ≥ 0 where w is that one.
    ///
    /// Source: MuJoCo `mju_mat2Quat`.
    pub fn from_matrix(m: &Matrix3<T>) -> Self {
        let (one, half, quarter) = (T::one(), T::lift(0.5), T::lift(0.25));
        let trace = m[(0, 0)] + m[(1, 1)] + m[(2, 2)];
        let q = if trace.re() > 0.0 {
            let w = half * (one + trace).sqrt();
            let r = quarter / w;
            Self::new(
                w,
                r * (m[(2, 1)] - m[(1, 2)]),
                r * (m[(0, 2)] - m[(2, 0)]),
                r * (m[(1, 0)] - m[(0, 1)]),
            )
        } else if m[(0, 0)].re() > m[(1, 1)].re() && m[(0, 0)].re() > m[(2, 2)].re() {
            let x = half * (one + m[(0, 0)] - m[(1, 1)] - m[(2, 2)]).sqrt();
            let r = quarter / x;
            Self::new(
                r * (m[(2, 1)] - m[(1, 2)]),
                x,
                r * (m[(1, 0)] + m[(0, 1)]),
                r * (m[(0, 2)] + m[(2, 0)]),
            )
        } else if m[(1, 1)].re() > m[(2, 2)].re() {
            let y = half * (one - m[(0, 0)] + m[(1, 1)] - m[(2, 2)]).sqrt();
            let r = quarter / y;
            Self::new(
                r * (m[(0, 2)] - m[(2, 0)]),
                r * (m[(1, 0)] + m[(0, 1)]),
                y,
                r * (m[(2, 1)] + m[(1, 2)]),
            )
        } else {
            let z = half * (one - m[(0, 0)] - m[(1, 1)] + m[(2, 2)]).sqrt();
            let r = quarter / z;
            Self::new(
                r * (m[(1, 0)] - m[(0, 1)]),
                r * (m[(0, 2)] + m[(2, 0)]),
                r * (m[(2, 1)] + m[(1, 2)]),
                z,
            )
        };
        q.normalized()
    }
}

impl<T: Scalar> std::ops::Mul for Quat<T> {
    type Output = Self;

    /// Hamilton product: first `o`, then `self`.
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Self::new(
            (self.w * o.w - self.x * o.x) - (self.y * o.y + self.z * o.z),
            (self.w * o.x + self.x * o.w) + (self.y * o.z - self.z * o.y),
            (self.w * o.y - self.x * o.z) + (self.y * o.w + self.z * o.x),
            (self.w * o.z + self.x * o.y) - (self.y * o.x - self.z * o.w),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_dual::Dual64;

    type V = Vector3<f64>;

    #[test]
    fn exp_and_log_are_inverse_on_both_sides_of_the_series() {
        for scale in [0.0, 1e-9, 1e-3, 9.99e-3, 1.01e-2, 0.1, 1.0, 3.1] {
            let v = V::new(0.6, -0.48, 0.64) * scale;
            let back = Quat::exp(&v).log();
            assert!((back - v).norm() <= 4e-15 * (1.0 + scale), "{scale}: {back}");
        }
    }

    #[test]
    fn rotation_matrix_and_rotate_agree() {
        let q = Quat::new(0.3, -0.2, 0.8, 0.5).normalized();
        let v = V::new(1.0, -2.0, 0.5);
        assert!((q.to_matrix() * v - q.rotate(&v)).norm() < 1e-15);
        let back = Quat::from_matrix(&q.to_matrix());
        assert!((back * q.conj()).log().norm() < 1e-15);
    }

    // nalgebra's own exponential returns zero derivatives at 0 + ε
    #[test]
    fn exp_and_log_keep_their_tangent_at_zero() {
        let e = Dual64::new(0.0, 1.0);
        let q = Quat::exp(&Vector3::new(e, Dual64::lift(0.0), Dual64::lift(0.0)));
        assert_eq!((q.w.eps, q.x.eps, q.y.eps), (0.0, 0.5, 0.0));
        let w = q.log();
        assert_eq!((w.x.re, w.x.eps), (0.0, 1.0));
        assert_eq!(w.y.eps, 0.0);
    }

    // derivative of exp against central differences, across the switch between series and closed form
    #[test]
    fn exp_derivative_is_continuous_at_the_switch() {
        for angle in [1e-5, 0.0199, 0.0201, 0.5] {
            let at = |d: f64| Quat::exp(&(V::new(0.8, 0.0, -0.6) * (angle + d)));
            let h = 1e-5;
            let fd = (at(h).x - at(-h).x) / (2.0 * h);
            let t = Dual64::new(angle, 1.0);
            let v = Vector3::new(t * 0.8, Dual64::lift(0.0), t * -0.6);
            assert!((Quat::exp(&v).x.eps - fd).abs() < 1e-10);
        }
    }

    #[test]
    fn log_takes_the_short_way() {
        let q = Quat::from_axis_angle(&V::new(0.0, 0.0, 1.0), 1.75 * std::f64::consts::PI);
        assert!((q.log().z + 0.25 * std::f64::consts::PI).abs() < 1e-15);
    }
}
