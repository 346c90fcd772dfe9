//! Spatial vectors, rotation first, and spatial inertias in ten numbers.
//!
//! Notation of Featherstone 2008, ch. 2, with MuJoCo's "com-based" coordinates: world axes, origin at the
//! centre of mass of the kinematic tree, so that numbers stay small far from the world's origin.

#![expect(clippy::inline_always, reason = "kernels of the inner loops, a few instructions each")]

use nalgebra::{Matrix3, Vector3};

use crate::scalar::Scalar;

/// A motion vector (angular : linear) or a force vector (torque : force), rotation first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpatialVec<T> {
    /// Angular velocity, or torque.
    pub rot: Vector3<T>,
    /// Linear velocity of the point at the origin, or force.
    pub lin: Vector3<T>,
}

impl<T: Scalar> SpatialVec<T> {
    /// From its two halves.
    #[inline(always)]
    pub fn new(rot: Vector3<T>, lin: Vector3<T>) -> Self {
        Self { rot, lin }
    }

    /// The zero vector.
    #[inline(always)]
    pub fn zero() -> Self {
        Self::new(Vector3::zeros(), Vector3::zeros())
    }

    /// Power of a force on a motion: the plain product of the six numbers.
    #[inline(always)]
    pub fn dot(&self, o: &Self) -> T {
        self.rot.dot(&o.rot) + self.lin.dot(&o.lin)
    }

    /// `self ×ₘ o`: rate of change of the motion `o` carried along by the motion `self`.
    ///
    /// Source: Featherstone 2008, eq. 2.31; MuJoCo `mju_crossMotion`.
    #[must_use]
    #[inline(always)]
    pub fn cross_motion(&self, o: &Self) -> Self {
        Self::new(self.rot.cross(&o.rot), self.rot.cross(&o.lin) + self.lin.cross(&o.rot))
    }

    /// `self ×f o`: rate of change of the force `o` carried along by the motion `self`.
    ///
    /// Source: Featherstone 2008, eq. 2.32; MuJoCo `mju_crossForce`.
    #[must_use]
    #[inline(always)]
    pub fn cross_force(&self, o: &Self) -> Self {
        Self::new(self.rot.cross(&o.rot) + self.lin.cross(&o.lin), self.rot.cross(&o.lin))
    }

    /// Six numbers, rotation first.
    #[inline]
    pub fn to_array(&self) -> [T; 6] {
        [self.rot.x, self.rot.y, self.rot.z, self.lin.x, self.lin.y, self.lin.z]
    }
}

impl<T: Scalar> std::ops::Add for SpatialVec<T> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Self::new(self.rot + o.rot, self.lin + o.lin)
    }
}

impl<T: Scalar> std::ops::Sub for SpatialVec<T> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Self::new(self.rot - o.rot, self.lin - o.lin)
    }
}

impl<T: Scalar> std::ops::AddAssign for SpatialVec<T> {
    #[inline(always)]
    fn add_assign(&mut self, o: Self) {
        self.rot += o.rot;
        self.lin += o.lin;
    }
}

impl<T: Scalar> std::ops::SubAssign for SpatialVec<T> {
    #[inline(always)]
    fn sub_assign(&mut self, o: Self) {
        self.rot -= o.rot;
        self.lin -= o.lin;
    }
}

impl<T: Scalar> std::ops::Mul<T> for SpatialVec<T> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: T) -> Self {
        Self::new(self.rot * s, self.lin * s)
    }
}

/// Spatial inertia about a point in world axes, ten numbers: rotational inertia about that point (6),
/// first moment mass·offset (3), mass (1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpatialInertia<T> {
    /// Rotational inertia about the origin: xx, yy, zz, xy, xz, yz [kg·m²].
    pub rot: [T; 6],
    /// Mass times the offset of the centre of mass from the origin [kg·m].
    pub moment: Vector3<T>,
    /// Mass \[kg\].
    pub mass: T,
}

impl<T: Scalar> SpatialInertia<T> {
    /// The inertia of nothing.
    #[inline]
    pub fn zero() -> Self {
        Self { rot: [T::zero(); 6], moment: Vector3::zeros(), mass: T::zero() }
    }

    /// Inertia of a body with principal moments `diag` in a frame of orientation `R`, seen from a point
    /// at −`offset` from the centre of mass.
    ///
    /// I = R diag Rᵀ + m(|o|² 1 − o oᵀ). Source: MuJoCo `mju_inertCom`.
    #[inline(always)]
    pub fn from_principal(
        diag: &Vector3<f64>,
        R: &Matrix3<T>,
        offset: &Vector3<T>,
        mass: f64,
    ) -> Self {
        let mass = T::lift(mass);
        let (a, b, c) = (
            R.column(0) * T::lift(diag.x),
            R.column(1) * T::lift(diag.y),
            R.column(2) * T::lift(diag.z),
        );
        let entry = |i: usize, j: usize| {
            a[i] * R[(j, 0)] + b[i] * R[(j, 1)] + c[i] * R[(j, 2)] - mass * offset[i] * offset[j]
        };
        let shift = mass * offset.norm_squared();
        Self {
            rot: [
                entry(0, 0) + shift,
                entry(1, 1) + shift,
                entry(2, 2) + shift,
                entry(0, 1),
                entry(0, 2),
                entry(1, 2),
            ],
            moment: offset * mass,
            mass,
        }
    }

    /// Rotational part times a vector.
    #[inline(always)]
    pub fn rot_mul(&self, w: &Vector3<T>) -> Vector3<T> {
        let [xx, yy, zz, xy, xz, yz] = self.rot;
        Vector3::new(
            xx * w.x + xy * w.y + xz * w.z,
            xy * w.x + yy * w.y + yz * w.z,
            xz * w.x + yz * w.y + zz * w.z,
        )
    }

    /// Momentum (or force) of the motion `v`. Source: MuJoCo `mju_mulInertVec`.
    #[inline(always)]
    pub fn mul_vec(&self, v: &SpatialVec<T>) -> SpatialVec<T> {
        SpatialVec::new(
            self.rot_mul(&v.rot) + self.moment.cross(&v.lin),
            v.lin * self.mass + v.rot.cross(&self.moment),
        )
    }

    /// Ten numbers in MuJoCo's order: xx yy zz xy xz yz, first moment, mass.
    pub fn to_array(&self) -> [T; 10] {
        let [xx, yy, zz, xy, xz, yz] = self.rot;
        let h = self.moment;
        [xx, yy, zz, xy, xz, yz, h.x, h.y, h.z, self.mass]
    }
}

impl<T: Scalar> std::ops::AddAssign for SpatialInertia<T> {
    #[inline(always)]
    fn add_assign(&mut self, o: Self) {
        for k in 0..6 {
            self.rot[k] += o.rot[k];
        }
        self.moment += o.moment;
        self.mass += o.mass;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // a point mass m at o: momentum of a motion is m(v + ω×o) and its moment about the origin
    #[test]
    fn point_mass_momentum_by_hand() {
        let o = Vector3::new(0.3, -0.5, 0.2);
        let I = SpatialInertia::from_principal(&Vector3::zeros(), &Matrix3::identity(), &o, 2.0);
        let v = SpatialVec::new(Vector3::new(1.0, 2.0, -1.0), Vector3::new(0.5, 0.0, 3.0));
        let p = (v.lin + v.rot.cross(&o)) * 2.0;
        let h = I.mul_vec(&v);
        assert!((h.lin - p).norm() < 1e-15);
        assert!((h.rot - o.cross(&p)).norm() < 1e-15);
    }

    // power of a force is invariant: (v ×ₘ m)·f = −m·(v ×f f)
    #[test]
    fn motion_and_force_products_are_dual() {
        let s =
            |k: f64| SpatialVec::new(Vector3::new(k, 1.0 - k, 2.0), Vector3::new(-k, 0.5, k * k));
        let (v, m, f) = (s(0.7), s(-1.3), s(2.1));
        assert!((v.cross_motion(&m).dot(&f) + m.dot(&v.cross_force(&f))).abs() < 1e-13);
    }
}
