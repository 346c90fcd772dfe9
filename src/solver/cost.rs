//! The cost s(x) of the rows at x = J a − aref, its negative gradient (the constraint forces) and Hessian.
//!
//! | row | s | force −s′ | curvature s″ |
//! |---|---|---|---|
//! | equality | ½ D x² | −D x | D |
//! | friction loss η, \|x\| < R η | ½ D x² | −D x | D |
//! | friction loss η, \|x\| ≥ R η | η (\|x\| − ½ R η) | −η sign x | 0 |
//! | limit, frictionless or pyramidal, x < 0 | ½ D x² | −D x | D |
//! | the same, x ≥ 0 | 0 | 0 | 0 |
//! | elliptic contact, bottom zone | ½ Σ D_j x_j² | −D_j x_j | diag D |
//! | elliptic contact, middle zone | ½ D_m (N − μ T)² | | dense block |
//! | elliptic contact, top zone | 0 | 0 | 0 |
//!
//! An elliptic contact is seen in scaled coordinates U = (μ x₀, f₁ x₁, f₂ x₂, …), in which the cone is
//! circular: N = U₀, T = ‖U₁…‖. Top zone: N ≥ μ T, the row pushes away by itself. Bottom zone:
//! μ N + T ≤ 0, the force is inside of the friction cone. Middle zone: it slides, the force is on the cone's
//! boundary, and D_m = D₀ / (μ² (1 + μ²)).
//!
//! Source: Todorov 2014, "Convex and analytically-invertible dynamics with contacts and constraints", §III;
//! MuJoCo `mj_constraintUpdate`.

use super::problem::{ConeRows, MAX_DIM, Problem};
use crate::collision::Contact;
use crate::constraint::EfcState;
use crate::scalar::Scalar;

/// Dense Hessian of one cone, `dim × dim` in the corner.
pub type ConeHessian = [[f64; MAX_DIM]; MAX_DIM];

/// Writes forces and states (nefc) of the rows at `x` (nefc), and returns their total cost.
pub(crate) fn update(p: &Problem, x: &[f64], force: &mut [f64], state: &mut [EfcState]) -> f64 {
    let mut cost = 0.0;
    for i in 0..p.nefc {
        force[i] = -p.D[i] * x[i];
        state[i] = EfcState::Quadratic;
    }
    for i in 0..p.ne {
        cost += 0.5 * p.D[i] * x[i] * x[i];
    }
    for i in p.ne..p.ne + p.nf {
        let (eta, bound) = (p.frictionloss[i], p.R[i] * p.frictionloss[i]);
        if x[i] <= -bound {
            (force[i], state[i]) = (eta, EfcState::LinearNeg);
        } else if x[i] >= bound {
            (force[i], state[i]) = (-eta, EfcState::LinearPos);
        }
        cost += huber(x[i], eta, p.R[i], p.D[i]);
    }
    for &i in &p.one_sided {
        if x[i] < 0.0 {
            cost += 0.5 * p.D[i] * x[i] * x[i];
        } else {
            (force[i], state[i]) = (0.0, EfcState::Satisfied);
        }
    }
    for c in &p.cones {
        let rows = c.row..c.row + c.dim;
        cost += cone(c, &p.D[rows.clone()], &x[rows.clone()], &mut force[rows.clone()], {
            &mut state[rows]
        });
    }
    cost
}

/// Cost of a friction-loss row.
#[inline]
pub(crate) fn huber(x: f64, eta: f64, R: f64, D: f64) -> f64 {
    let bound = R * eta;
    if x.abs() < bound { 0.5 * D * x * x } else { eta * (x.abs() - 0.5 * bound) }
}

/// Zone of an elliptic contact, given N and T.
#[inline]
pub(crate) fn zone(N: f64, T: f64, mu: f64) -> EfcState {
    if T <= 0.0 {
        // on the axis of the cone
        if N >= 0.0 { EfcState::Satisfied } else { EfcState::Quadratic }
    } else if N >= mu * T {
        EfcState::Satisfied
    } else if mu * N + T <= 0.0 {
        EfcState::Quadratic
    } else {
        EfcState::Cone
    }
}

/// Forces, states and cost of one elliptic contact; `force` holds −D x on entry.
fn cone(c: &ConeRows, D: &[f64], x: &[f64], force: &mut [f64], state: &mut [EfcState]) -> f64 {
    let (U, T) = scaled(c, x);
    let N = U[0];
    let zone = zone(N, T, c.mu);
    state.fill(zone);
    match zone {
        EfcState::Satisfied => {
            force.fill(0.0);
            0.0
        }
        EfcState::Cone => {
            force.copy_from_slice(&cone_force(c, D[0], x)[..c.dim]);
            let r = N - c.mu * T;
            0.5 * middle_weight(c, D[0]) * r * r
        }
        _ => D.iter().zip(x).map(|(D, x)| 0.5 * D * x * x).sum(),
    }
}

/// U and T.
#[inline]
fn scaled<T: Scalar>(c: &ConeRows, x: &[T]) -> ([T; MAX_DIM], T) {
    let mut U = [T::zero(); MAX_DIM];
    U[0] = x[0] * T::lift(c.mu);
    let mut TT = T::zero();
    for j in 1..c.dim {
        U[j] = x[j] * T::lift(c.friction[j - 1]);
        TT += U[j] * U[j];
    }
    // the square root has no derivative at zero; zones with a force of their own there do not ask for it
    let T = if TT.re() > 0.0 { TT.sqrt() } else { T::zero() };
    (U, T)
}

/// D_m of the middle zone.
#[inline]
pub(crate) fn middle_weight<T: Scalar>(c: &ConeRows, D0: T) -> T {
    let mu2 = c.mu * c.mu;
    D0 / T::lift(mu2 * (1.0 + mu2))
}

/// Force in the middle zone, the negative gradient of ½ D_m (N − μ T)², on any scalar.
#[inline]
pub(crate) fn cone_force<T: Scalar>(c: &ConeRows, D0: T, x: &[T]) -> [T; MAX_DIM] {
    let (U, T) = scaled(c, x);
    let mu = T::lift(c.mu);
    let normal = -middle_weight(c, D0) * (U[0] - mu * T) * mu;
    let mut force = [T::zero(); MAX_DIM];
    force[0] = normal;
    for j in 1..c.dim {
        force[j] = -normal / T * U[j] * T::lift(c.friction[j - 1]);
    }
    force
}

/// How the forces of an elliptic contact in the middle zone answer to its accelerations: −∂f/∂x, x = J a − aref
/// (dim); `dim × dim` in the corner.
///
/// The contact has rows, D₀ is that of its normal.
pub fn force_response<T: Scalar>(contact: &Contact<T>, D0: f64, x: &[f64]) -> ConeHessian {
    let Contact { dim, mu, friction, .. } = *contact;
    cone_hessian(&ConeRows { row: 0, dim, mu, friction }, D0, x)
}

/// Hessian in the middle zone. With u = U_t/T and scales s = (μ, f₁, f₂, …):
///
/// ```text
/// H_00 = D_m s₀²,  H_0j = −D_m s₀ s_j μ u_j,  H_jk = D_m s_j s_k ((μ² − μ N/T) δ_jk + μ N/T u_j u_k)
/// ```
pub(crate) fn cone_hessian(c: &ConeRows, D0: f64, x: &[f64]) -> ConeHessian {
    let (U, T) = scaled(c, x);
    let (mu, ratio) = (c.mu, c.mu * U[0] / T);
    let Dm = middle_weight(c, D0);
    let mut H = ConeHessian::default();
    H[0][0] = Dm * mu * mu;
    for j in 1..c.dim {
        let (fj, uj) = (c.friction[j - 1], U[j] / T);
        H[0][j] = -Dm * mu * fj * mu * uj;
        H[j][0] = H[0][j];
        for k in 1..c.dim {
            let (fk, uk) = (c.friction[k - 1], U[k] / T);
            let diagonal = if j == k { mu * mu - ratio } else { 0.0 };
            H[j][k] = Dm * fj * fk * (diagonal + ratio * uj * uk);
        }
    }
    H
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mjcf::load_model_str;

    /// One row of each kind but equality, and one elliptic contact of each dimension.
    fn problem() -> Problem {
        let xml = "<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>";
        let m = load_model_str(xml, "one.xml", std::path::Path::new(".")).unwrap();
        let mut p = Problem::new(&m, 16);
        (p.ne, p.nf, p.nefc) = (1, 1, 16);
        p.one_sided.push(2);
        p.frictionloss[1] = 0.7;
        p.R.fill(0.5);
        let friction = [0.8, 0.6, 0.02, 0.3, 0.1];
        for (row, dim) in [(3, 3), (6, 4), (10, 6)] {
            // R of the normal, and the ratio that makes the scaled cone circular
            let mu = 0.5;
            for j in 1..dim {
                p.R[row + j] = p.R[row] * (mu / friction[j - 1]) * (mu / friction[j - 1]);
            }
            p.cones.push(ConeRows { row, dim, mu, friction });
        }
        for i in 0..16 {
            p.D[i] = 1.0 / p.R[i];
        }
        p
    }

    fn random(seed: &mut f64) -> f64 {
        *seed = (*seed * 16807.0) % 2_147_483_647.0;
        2.0 * (*seed / 2_147_483_647.0) - 1.0
    }

    fn at(p: &Problem, x: &[f64]) -> (f64, Vec<f64>, Vec<EfcState>) {
        let (mut force, mut state) = (vec![0.0; 16], vec![EfcState::Satisfied; 16]);
        let cost = update(p, x, &mut force, &mut state);
        (cost, force, state)
    }

    #[test]
    fn forces_are_the_slope_and_hessians_the_curvature_of_the_cost() {
        let (p, mut seed, h) = (problem(), 12345.0, 1e-6);
        let mut zones = std::collections::BTreeMap::new();
        for _ in 0..300 {
            let x: Vec<f64> = (0..16).map(|_| random(&mut seed)).collect();
            let (_, force, state) = at(&p, &x);
            for i in 0..16 {
                let moved = |h: f64| {
                    let mut x = x.clone();
                    x[i] += h;
                    at(&p, &x)
                };
                let (plus, minus) = (moved(h), moved(-h));
                if plus.2 != minus.2 {
                    continue;
                }
                *zones.entry((state[i] as i32, i)).or_insert(0) += 1;
                let slope = (plus.0 - minus.0) / (2.0 * h);
                assert!((slope + force[i]).abs() < 1e-7, "row {i}, {:?}", state[i]);
                for c in p.cones.iter().filter(|c| state[c.row] == EfcState::Cone) {
                    let H = cone_hessian(c, p.D[c.row], &x[c.row..c.row + c.dim]);
                    for j in (0..c.dim).filter(|_| (c.row..c.row + c.dim).contains(&i)) {
                        let k = c.row + j;
                        let curvature = (minus.1[k] - plus.1[k]) / (2.0 * h);
                        assert!((curvature - H[j][i - c.row]).abs() < 1e-6, "row {i}, column {j}");
                    }
                }
            }
        }
        // every zone of every row was met
        assert_eq!(zones.len(), 1 + 3 + 2 + 3 * 13, "{zones:?}");
    }

    // what the line search rests on: bottom and middle zone meet without a step
    #[test]
    fn the_cost_is_continuous_between_zones() {
        let p = problem();
        for c in &p.cones {
            for edge in [-1.0 / c.mu, c.mu] {
                let mut x = vec![0.0; 16];
                x[c.row + 1] = 1.0 / c.friction[0];
                let cost = |N: f64| {
                    let mut x = x.clone();
                    x[c.row] = N / c.mu;
                    let (cost, _, state) = at(&p, &x);
                    (cost, state[c.row])
                };
                let (below, above) = (cost(edge - 1e-9), cost(edge + 1e-9));
                assert_ne!(below.1, above.1);
                assert!((below.0 - above.0).abs() < 1e-7, "{below:?} {above:?}");
            }
        }
    }
}
