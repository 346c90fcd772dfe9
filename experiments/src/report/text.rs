//! What a report says in words.

use dualstep_validation::derivatives::Verdict;

use super::Document;

/// The paragraphs on the method.
pub(super) const METHOD: [&str; 4] = [
    "One step of the simulation takes a state x = (q, v, act) and controls u to the next state x⁺, and sensors read y \
     before it is taken. Its linearization is dx⁺ = A dx + B du, dy = C dx + D du. Positions live on a manifold: dq has \
     nv components, of which those of free and ball joints are rotations in the body's own frame, and q⁺ is \
     differentiated along its tangent [6, 7].",
    "The reference of every error are dual numbers: the program that steps runs on numbers a + bε with ε² = 0, so that \
     the derivative of each operation is carried along exactly [1]. They need no formula for any derivative, and no \
     step size. The closed form differentiates the equations of motion by recursions over the tree [2, 3] and applies \
     the chain rule of the integrator [7]; it shares the model and the forward dynamics with dual numbers, and no \
     derivative. That both agree to rounding says that the formulas are those of the program.",
    "Finite differences share neither: they step from nudged states and subtract, as MuJoCo's mjd_transitionFD [5]. \
     They know the derivative only up to truncation, which falls with the nudge ε, and rounding, which grows as 1/ε: \
     their error over ε is a V on logarithmic axes, with slope 2 (centred) or 1 (forward) on the right and −1 on the \
     left. That they converge to the reference at their order says that it is the derivative of what is simulated.",
    "A bound for differences must not use what it is to confirm. It is ten times their noise, and the noise at ε is \
     what they change by from one size of nudge to the next smaller one, up to ε, scaled by 1/ε as rounding is (at \
     least 2.2e-16/ε) [4]. Each block is held to it at the ε where that noise is smallest. A derivative that is wrong \
     by more than the noise of differences does not pass, even if closed form and dual numbers agree on it.",
];

/// Terms, and what they mean.
pub(super) const DEFINITIONS: [(&str, &str); 8] = [
    (
        "error",
        "max|x − ref| / max(1, max|ref|) over a block of [A B; C D], the largest over all states; ref are dual \
         numbers. Absolute for small entries, relative for large ones.",
    ),
    (
        "∂v⁺/∂q",
        "the block of A with new velocities as rows and positions as columns; the others likewise.",
    ),
    (
        "names",
        "knee.q and knee.v are position and velocity of joint knee; .x .y .z translations and .rot_x .rot_y .rot_z \
         rotations of free and ball joints; arm.act an activation; controls have the name of their actuator.",
    ),
    (
        "closed form",
        "passes at 1e-11: both sides sum the same exact terms, each to rounding, amplified by the inverse of the \
         inertia; at 1e-9 where constraints push, whose stiffness amplifies it further. Where a column has no closed form, dual numbers take its place and nothing is compared: the tables \
         say so.",
    ),
    (
        "differences",
        "pass at ten times their own noise, at the ε where that is smallest, and at 1e-11 where that is less; steps are \
         solved to the minimum of their constraints. “standard” is the error at the size of \
         nudge that they have by default (centred 6.1e-6, forward 1.5e-8).",
    ),
    (
        "hybrid",
        "positions by centred differences, the rest in closed form; each block passes at the tolerance of its kind.",
    ),
    (
        "one-sided",
        "a state at a kink, such as a control at an end of its range, has two derivatives. Columns at a kink of \
         anything but their own control are compared in closed form only, and listed. So are controls beyond a range \
         that the model does not clamp them to: differences do not nudge them, as MuJoCo's.",
    ),
    (
        "rounding of dual numbers",
        "by how much they change when positions and velocities are changed in the last bit: the condition of the \
         step and its rounding errors. No method can be nearer to the truth than that. Where a closed form that \
         exceeds its tolerance is within ten times of it, the state cannot decide, and is listed as ill-conditioned: \
         an integrator is unstable there.",
    ),
];

/// Literature.
pub(super) const REFERENCES: [&str; 7] = [
    "A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008.",
    "J. Carpentier, N. Mansard, Analytical derivatives of rigid body dynamics algorithms, RSS 2018.",
    "R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008.",
    "P. E. Gill, W. Murray, M. A. Saunders, M. H. Wright, Computing forward-difference intervals for numerical \
     optimization, SIAM J. Sci. Stat. Comput. 4, 1983.",
    "E. Todorov, T. Erez, Y. Tassa, MuJoCo: a physics engine for model-based control, IROS 2012; MuJoCo 4.0.1, \
     mjd_transitionFD.",
    "J. Solà, J. Deray, D. Atchuthan, A micro Lie theory for state estimation in robotics, arXiv:1812.01537.",
    "H. Munthe-Kaas, Runge–Kutta methods on Lie groups, BIT 38, 1998.",
];

/// The verdict in a sentence.
pub(super) fn verdict(document: &Document) -> String {
    let count = |verdict| {
        let found = document.models.iter().filter(|model| model.report.verdict() == verdict);
        found.count()
    };
    let [pass, fail, not] = [Verdict::Pass, Verdict::Fail, Verdict::NotCompared].map(count);
    let models = |n: usize| if n == 1 { "1 model".to_owned() } else { format!("{n} models") };
    let mut text = match document.verdict {
        Verdict::Pass => format!("Every comparison of {} is within its tolerance.", models(pass)),
        Verdict::Fail => {
            let exceed = if fail == 1 { "exceeds" } else { "exceed" };
            format!("{fail} of {} {exceed} a tolerance.", models(document.models.len()))
        }
        Verdict::NotCompared => "Nothing could be compared.".to_owned(),
    };
    if not > 0 && document.verdict != Verdict::NotCompared {
        text = format!("{text} {} could not be compared.", models(not));
    }
    if !document.not_loaded.is_empty() {
        text = format!("{text} {} could not be loaded.", models(document.not_loaded.len()));
    }
    text
}
