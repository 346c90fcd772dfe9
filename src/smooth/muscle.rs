//! Muscles: activation dynamics and force–length–velocity curves.
//!
//! Lengths are normalized by the optimum length L₀, velocities by L₀·vmax.
//!
//! Source: Millard, Uchida, Seth, Delp 2013 (activation time scales); MuJoCo manual, "Muscle model",
//! `mju_muscleGain`, `mju_muscleBias`, `mju_muscleDynamics`.

use crate::model::NPRM;
use crate::scalar::Scalar;

/// Parameters of a muscle's curves, as laid out in `gainprm` and `biasprm`.
struct Curves {
    range: [f64; 2],
    force: f64,
    lmin: f64,
    lmax: f64,
    vmax: f64,
    fpmax: f64,
    fvmax: f64,
    /// Optimum length.
    L0: f64,
    /// Shortest length of the actuator.
    length_min: f64,
}

/// `x`, but at least [`crate::MINVAL`]: a denominator.
fn safe(x: f64) -> f64 {
    x.max(crate::MINVAL)
}

impl Curves {
    fn new(lengthrange: &[f64; 2], acc0: f64, prm: &[f64; NPRM]) -> Self {
        let [lo, hi, force, scale, lmin, lmax, vmax, fpmax, fvmax, ..] = *prm;
        Self {
            range: [lo, hi],
            force: if force < 0.0 { scale / safe(acc0) } else { force },
            lmin,
            lmax,
            vmax,
            fpmax,
            fvmax,
            L0: (lengthrange[1] - lengthrange[0]) / safe(hi - lo),
            length_min: lengthrange[0],
        }
    }

    fn normalized_length<T: Scalar>(&self, length: T) -> T {
        T::lift(self.range[0]) + (length - T::lift(self.length_min)) / T::lift(safe(self.L0))
    }

    fn normalized_velocity<T: Scalar>(&self, velocity: T) -> T {
        velocity / T::lift(safe(self.L0 * self.vmax))
    }

    /// Active force over length and its derivative: four half parabolas with maximum 1 at L = 1, zero outside
    /// [lmin, lmax].
    fn force_length<T: Scalar>(&self, L: T) -> (T, T) {
        let (a, b) = (0.5 * (self.lmin + 1.0), 0.5 * (1.0 + self.lmax));
        let half = T::lift(0.5);
        // ½((L − at)/width)² and its derivative
        let parabola = |at: f64, width: f64| {
            let inv = T::lift(1.0 / safe(width));
            let x = (L - T::lift(at)) * inv;
            (half * x * x, x * inv)
        };
        let one_minus = |(y, dy): (T, T)| (T::one() - y, -dy);
        let l = L.re();
        if l < self.lmin || l > self.lmax {
            (T::zero(), T::zero())
        } else if l <= a {
            parabola(self.lmin, a - self.lmin)
        } else if l <= 1.0 {
            one_minus(parabola(1.0, 1.0 - a))
        } else if l <= b {
            one_minus(parabola(1.0, b - 1.0))
        } else {
            parabola(self.lmax, self.lmax - b)
        }
    }

    /// Force over velocity and its derivative: 0 below −1, 1 at rest, fvmax when lengthening fast.
    fn force_velocity<T: Scalar>(&self, V: T) -> (T, T) {
        let y = self.fvmax - 1.0;
        let v = V.re();
        let two = T::lift(2.0);
        if v <= -1.0 {
            (T::zero(), T::zero())
        } else if v <= 0.0 {
            let x = V + T::one();
            (x * x, two * x)
        } else if v <= y {
            let x = T::lift(y) - V;
            let inv = T::lift(1.0 / safe(y));
            (T::lift(self.fvmax) - x * x * inv, two * x * inv)
        } else {
            (T::lift(self.fvmax), T::zero())
        }
    }
}

/// Active force at full activation, negative because muscles pull \[N\].
pub fn gain<T: Scalar>(
    length: T,
    velocity: T,
    lengthrange: &[f64; 2],
    acc0: f64,
    prm: &[f64; NPRM],
) -> T {
    let c = Curves::new(lengthrange, acc0, prm);
    let (FL, _) = c.force_length(c.normalized_length(length));
    let (FV, _) = c.force_velocity(c.normalized_velocity(velocity));
    -FL * FV * T::lift(c.force)
}

/// Derivatives of [`gain`] by length [N/m] and by velocity [N·s/m].
pub fn gain_derivative<T: Scalar>(
    length: T,
    velocity: T,
    lengthrange: &[f64; 2],
    acc0: f64,
    prm: &[f64; NPRM],
) -> [T; 2] {
    let c = Curves::new(lengthrange, acc0, prm);
    let (FL, dFL) = c.force_length(c.normalized_length(length));
    let (FV, dFV) = c.force_velocity(c.normalized_velocity(velocity));
    [-dFL * FV * T::lift(c.force / safe(c.L0)), -FL * dFV * T::lift(c.force / safe(c.L0 * c.vmax))]
}

/// Passive force and its derivative by length, both not positive: none up to L₀, half a parabola up to
/// (L₀ + lmax)/2, then linear \[N, N/m\].
pub fn bias<T: Scalar>(length: T, lengthrange: &[f64; 2], acc0: f64, prm: &[f64; NPRM]) -> [T; 2] {
    let c = Curves::new(lengthrange, acc0, prm);
    let L = c.normalized_length(length);
    let b = 0.5 * (1.0 + c.lmax);
    let half = T::lift(0.5);
    let inv = T::lift(1.0 / safe(b - 1.0));
    let (shape, slope) = if L.re() <= 1.0 {
        (T::zero(), T::zero())
    } else if L.re() <= b {
        let x = (L - T::one()) * inv;
        (half * x * x, x * inv)
    } else {
        (half + (L - T::lift(b)) * inv, inv)
    };
    let peak = c.force * c.fpmax;
    [-shape * T::lift(peak), -slope * T::lift(peak / safe(c.L0))]
}

/// Rate of change of the activation: (u − a)/τ, with τ depending on the activation, and on whether it rises
/// or falls. `prm`: τ_act, τ_deact \[s\], width of the smooth switch between them.
pub fn dynamics<T: Scalar>(ctrl: T, act: T, prm: &[f64; NPRM]) -> T {
    dynamics_and_derivative(ctrl, act, prm)[0]
}

/// [`dynamics`], and its derivatives by control and by activation.
pub fn dynamics_and_derivative<T: Scalar>(ctrl: T, act: T, prm: &[f64; NPRM]) -> [T; 3] {
    let (u, du) = clamp01(ctrl);
    let (a, da) = clamp01(act);
    // time scales, and their derivatives by the activation
    let stretch = T::lift(0.5) + a * T::lift(1.5);
    let dstretch = da * T::lift(1.5);
    let rise = [stretch * T::lift(prm[0]), dstretch * T::lift(prm[0])];
    let fall_tau = T::lift(prm[1]) / stretch;
    let fall = [fall_tau, -fall_tau * dstretch / stretch];

    // τ, and its derivatives by the activation and by the excess u − a
    let excess = u - act;
    let width = prm[2];
    let [tau, tau_a, tau_e] = if width < crate::MINVAL {
        let [tau, slope] = if excess.re() > 0.0 { rise } else { fall };
        [tau, slope, T::zero()]
    } else {
        let (s, ds) = smooth_step(excess / T::lift(width) + T::lift(0.5));
        [
            fall[0] + (rise[0] - fall[0]) * s,
            fall[1] + (rise[1] - fall[1]) * s,
            (rise[0] - fall[0]) * ds / T::lift(width),
        ]
    };
    if tau.re() < crate::MINVAL {
        let inv = T::lift(1.0 / crate::MINVAL);
        return [excess * inv, du * inv, -inv];
    }
    let rate = excess / tau;
    let by_excess = (T::one() - rate * tau_e) / tau;
    [rate, du * by_excess, -by_excess - rate * tau_a / tau]
}

/// `x` clamped to [0, 1], and its derivative; at the ends that of the inside.
fn clamp01<T: Scalar>(x: T) -> (T, T) {
    if x.re() < 0.0 {
        (T::zero(), T::zero())
    } else if x.re() > 1.0 {
        (T::one(), T::zero())
    } else {
        (x, T::one())
    }
}

/// 6x⁵ − 15x⁴ + 10x³ on [0, 1] and its derivative: twice differentiable at both ends. Source: MuJoCo
/// `mju_sigmoid`.
fn smooth_step<T: Scalar>(x: T) -> (T, T) {
    if x.re() <= 0.0 {
        (T::zero(), T::zero())
    } else if x.re() >= 1.0 {
        (T::one(), T::zero())
    } else {
        let c = T::lift;
        let y = T::one() - x;
        (x * x * x * (c(3.0) * x * (c(2.0) * x - c(5.0)) + c(10.0)), c(30.0) * x * x * y * y)
    }
}
