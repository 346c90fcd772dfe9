//! Polynomial springs and dampers: force = −x·(k₀ + k₁x + k₂x²); for dampers of the speed, |x| in place of x.

use crate::scalar::Scalar;

/// |x| with the derivative of the side that x is on; at 0 that of the positive side.
fn abs<T: Scalar>(x: T) -> T {
    if x.re() < 0.0 { -x } else { x }
}

/// k₀ + k₁x + k₂x²: force is −x times this. Source: MuJoCo `mju_polyForce`.
pub fn coefficient<T: Scalar>(k: &[f64; 3], x: T) -> T {
    T::lift(k[0]) + x * (T::lift(k[1]) + x * T::lift(k[2]))
}

/// k₀ + k₁|x| + k₂x².
pub fn coefficient_odd<T: Scalar>(k: &[f64; 3], x: T) -> T {
    coefficient(k, abs(x))
}

/// d(x·coefficient_odd(x))/dx = k₀ + 2k₁|x| + 3k₂x². Source: MuJoCo `mjd_xPolyForce`.
pub fn derivative_odd<T: Scalar>(k: &[f64; 3], x: T) -> T {
    coefficient(&[k[0], 2.0 * k[1], 3.0 * k[2]], abs(x))
}

/// ∫₀ˣ t·coefficient(t) dt = ½k₀x² + ⅓k₁x³ + ¼k₂x⁴. Source: MuJoCo `mju_polyPotential`.
pub fn potential<T: Scalar>(k: &[f64; 3], x: T) -> T {
    x * x * coefficient(&[k[0] / 2.0, k[1] / 3.0, k[2] / 4.0], x)
}

/// True if the polynomial is zero.
pub fn is_zero(k: &[f64; 3]) -> bool {
    k.iter().all(|c| *c == 0.0)
}
