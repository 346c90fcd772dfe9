//! The numbers the pipeline runs on: `f64` for stepping, dual numbers for exact derivatives.
//!
//! Every stage is generic over one trait, [`Scalar`]. Model constants enter by [`Scalar::lift`]; every
//! branch reads [`Scalar::re`] and nothing else, so a dual run takes the branches of the real run.

#![expect(
    clippy::inline_always,
    reason = "one instruction each; a call would cost more than it does"
)]

use nalgebra::{Matrix3, RealField, Vector3};
use num_dual::{Derivative, Dual2_64, Dual64, DualNum, DualSVec64, HyperDual64};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for num_dual::Dual64 {}
    impl Sealed for num_dual::HyperDual64 {}
    impl Sealed for num_dual::Dual2_64 {}
    impl<const N: usize> Sealed for num_dual::DualSVec64<N> {}
}

/// First-order dual number with `N` independent tangents.
pub type Dual<const N: usize> = DualSVec64<N>;

/// A number the pipeline runs on. Closed set: `f64`, first-order duals ([`Dual64`], [`Dual`]`<N>`) and
/// second-order duals ([`HyperDual64`], [`Dual2_64`]).
///
/// Each of them is a real number plus nilpotent parts, all of them real coefficients: `PARTS` in total,
/// part 0 the real one. Products of `ORDER + 1` nilpotent parts vanish.
pub trait Scalar: sealed::Sealed + RealField + Copy {
    /// Number of real coefficients, the real part included.
    const PARTS: usize;
    /// Highest derivative that the number carries: 0 for `f64`.
    const ORDER: usize;

    /// A constant of the model, with zero tangent.
    fn lift(x: f64) -> Self;

    /// Real part. Branches read this and nothing else.
    fn re(self) -> f64;

    /// Coefficient `k`, `0 <= k < PARTS`; part 0 is the real one.
    fn part(self, k: usize) -> f64;

    /// The number with the given coefficients.
    fn from_parts(part: impl FnMut(usize) -> f64) -> Self;

    /// True if every coefficient is zero.
    fn vanishes(self) -> bool {
        (0..Self::PARTS).all(|k| self.part(k) == 0.0)
    }

    /// True if every coefficient is finite.
    fn finite(self) -> bool {
        (0..Self::PARTS).all(|k| self.part(k).is_finite())
    }
}

impl Scalar for f64 {
    const PARTS: usize = 1;
    const ORDER: usize = 0;

    #[inline(always)]
    fn lift(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn re(self) -> f64 {
        self
    }
    #[inline(always)]
    fn part(self, _k: usize) -> f64 {
        self
    }
    #[inline(always)]
    fn from_parts(mut part: impl FnMut(usize) -> f64) -> Self {
        part(0)
    }
}

impl Scalar for Dual64 {
    const PARTS: usize = 2;
    const ORDER: usize = 1;

    #[inline]
    fn lift(x: f64) -> Self {
        <Self as DualNum>::from_re(x)
    }
    #[inline]
    fn re(self) -> f64 {
        self.re
    }
    #[inline]
    fn part(self, k: usize) -> f64 {
        if k == 0 { self.re } else { self.eps }
    }
    #[inline]
    fn from_parts(mut part: impl FnMut(usize) -> f64) -> Self {
        Self::new(part(0), part(1))
    }
}

impl<const N: usize> Scalar for DualSVec64<N> {
    const PARTS: usize = N + 1;
    const ORDER: usize = 1;

    #[inline]
    fn lift(x: f64) -> Self {
        Self::from_re(x)
    }
    #[inline]
    fn re(self) -> f64 {
        self.re
    }
    #[inline]
    fn part(self, k: usize) -> f64 {
        match (k, self.eps.0) {
            (0, _) => self.re,
            (_, Some(eps)) => eps[k - 1],
            (_, None) => 0.0,
        }
    }
    #[inline]
    fn from_parts(mut part: impl FnMut(usize) -> f64) -> Self {
        let re = part(0);
        Self::new(re, Derivative::some(nalgebra::SVector::from_fn(|i, _| part(i + 1))))
    }
}

impl Scalar for HyperDual64 {
    const PARTS: usize = 4;
    const ORDER: usize = 2;

    #[inline]
    fn lift(x: f64) -> Self {
        <Self as DualNum>::from_re(x)
    }
    #[inline]
    fn re(self) -> f64 {
        self.re
    }
    #[inline]
    fn part(self, k: usize) -> f64 {
        [self.re, self.eps1, self.eps2, self.eps1eps2][k]
    }
    #[inline]
    fn from_parts(mut part: impl FnMut(usize) -> f64) -> Self {
        Self::new(part(0), part(1), part(2), part(3))
    }
}

impl Scalar for Dual2_64 {
    const PARTS: usize = 3;
    const ORDER: usize = 2;

    #[inline]
    fn lift(x: f64) -> Self {
        <Self as DualNum>::from_re(x)
    }
    #[inline]
    fn re(self) -> f64 {
        self.re
    }
    #[inline]
    fn part(self, k: usize) -> f64 {
        [self.re, self.v1, self.v2][k]
    }
    #[inline]
    fn from_parts(mut part: impl FnMut(usize) -> f64) -> Self {
        Self::new(part(0), part(1), part(2))
    }
}

/// A constant vector with zero tangent.
#[inline(always)]
pub fn lift3<T: Scalar>(v: &Vector3<f64>) -> Vector3<T> {
    Vector3::new(T::lift(v.x), T::lift(v.y), T::lift(v.z))
}

/// A constant matrix with zero tangent.
#[inline]
pub fn lift33<T: Scalar>(m: &Matrix3<f64>) -> Matrix3<T> {
    m.map(T::lift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<T: Scalar>() {
        let x = T::from_parts(|k| 1.5 + k as f64);
        for k in 0..T::PARTS {
            assert_eq!(x.part(k), 1.5 + k as f64);
        }
        assert_eq!(x.re(), 1.5);
        assert_eq!(T::lift(2.0).re(), 2.0);
        assert!((1..T::PARTS).all(|k| T::lift(2.0).part(k) == 0.0));
        assert!(x.finite());
        assert!(T::zero().vanishes() && !T::from_parts(|k| (k + 1 == T::PARTS).into()).vanishes());
        assert!(!T::from_parts(|k| if k + 1 == T::PARTS { f64::NAN } else { 1.0 }).finite());
    }

    #[test]
    fn parts_survive_a_round_trip() {
        round_trip::<f64>();
        round_trip::<Dual64>();
        round_trip::<Dual<1>>();
        round_trip::<Dual<8>>();
        round_trip::<HyperDual64>();
        round_trip::<Dual2_64>();
    }

    // products of ORDER + 1 nilpotent parts vanish: what implicit solves on duals rest on
    #[test]
    fn order_is_the_nilpotency() {
        fn check<T: Scalar>() {
            let eps = T::from_parts(|k| if k == 0 { 0.0 } else { 1.0 });
            let mut power = T::lift(1.0);
            for _ in 0..T::ORDER {
                power *= eps;
            }
            assert!(T::ORDER == 0 || (0..T::PARTS).any(|k| power.part(k) != 0.0));
            power *= eps;
            assert!((0..T::PARTS).all(|k| power.part(k) == 0.0));
        }
        check::<Dual64>();
        check::<Dual<3>>();
        check::<HyperDual64>();
        check::<Dual2_64>();
    }
}
