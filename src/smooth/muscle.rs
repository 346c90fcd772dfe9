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

    /// Active force over length: four half parabolas with maximum 1 at L = 1, zero outside [lmin, lmax].
    fn force_length<T: Scalar>(&self, L: T) -> T {
        let (a, b) = (0.5 * (self.lmin + 1.0), 0.5 * (1.0 + self.lmax));
        let half = T::lift(0.5);
        // ½((L − at)/width)²
        let parabola = |at: f64, width: f64| {
            let x = (L - T::lift(at)) / T::lift(safe(width));
            half * x * x
        };
        let l = L.re();
        if l < self.lmin || l > self.lmax {
            T::zero()
        } else if l <= a {
            parabola(self.lmin, a - self.lmin)
        } else if l <= 1.0 {
            T::one() - parabola(1.0, 1.0 - a)
        } else if l <= b {
            T::one() - parabola(1.0, b - 1.0)
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
    let FL = c.force_length(c.normalized_length(length));
    let (FV, _) = c.force_velocity(c.normalized_velocity(velocity));
    -FL * FV * T::lift(c.force)
}

/// d [`gain`] / d velocity [N·s/m].
pub fn gain_vel<T: Scalar>(
    length: T,
    velocity: T,
    lengthrange: &[f64; 2],
    acc0: f64,
    prm: &[f64; NPRM],
) -> T {
    let c = Curves::new(lengthrange, acc0, prm);
    let FL = c.force_length(c.normalized_length(length));
    let (_, dFV) = c.force_velocity(c.normalized_velocity(velocity));
    -FL * dFV * T::lift(c.force / safe(c.L0 * c.vmax))
}

/// Passive force, negative: none up to L₀, half a parabola up to (L₀ + lmax)/2, then linear \[N\].
pub fn bias<T: Scalar>(length: T, lengthrange: &[f64; 2], acc0: f64, prm: &[f64; NPRM]) -> T {
    let c = Curves::new(lengthrange, acc0, prm);
    let L = c.normalized_length(length);
    let b = 0.5 * (1.0 + c.lmax);
    let half = T::lift(0.5);
    let width = T::lift(safe(b - 1.0));
    let shape = if L.re() <= 1.0 {
        T::zero()
    } else if L.re() <= b {
        let x = (L - T::one()) / width;
        half * x * x
    } else {
        half + (L - T::lift(b)) / width
    };
    -shape * T::lift(c.force * c.fpmax)
}

/// Rate of change of the activation: (u − a)/τ, with τ depending on the activation, and on whether it rises
/// or falls. `prm`: τ_act, τ_deact \[s\], width of the smooth switch between them.
pub fn dynamics<T: Scalar>(ctrl: T, act: T, prm: &[f64; NPRM]) -> T {
    let clamp01 = |x: T| {
        if x.re() <= 0.0 {
            T::zero()
        } else if x.re() >= 1.0 {
            T::one()
        } else {
            x
        }
    };
    let stretch = T::lift(0.5) + clamp01(act) * T::lift(1.5);
    let tau_act = stretch * T::lift(prm[0]);
    let tau_deact = T::lift(prm[1]) / stretch;
    let excess = clamp01(ctrl) - act;

    let width = prm[2];
    let tau = if width < crate::MINVAL {
        if excess.re() > 0.0 { tau_act } else { tau_deact }
    } else {
        tau_deact + (tau_act - tau_deact) * smooth_step(excess / T::lift(width) + T::lift(0.5))
    };
    if tau.re() < crate::MINVAL { excess / T::lift(crate::MINVAL) } else { excess / tau }
}

/// 6x⁵ − 15x⁴ + 10x³ on [0, 1]: twice differentiable at both ends. Source: MuJoCo `mju_sigmoid`.
fn smooth_step<T: Scalar>(x: T) -> T {
    if x.re() <= 0.0 {
        T::zero()
    } else if x.re() >= 1.0 {
        T::one()
    } else {
        let c = T::lift;
        x * x * x * (c(3.0) * x * (c(2.0) * x - c(5.0)) + c(10.0))
    }
}
