//! Friction at a fixed normal force: minimize ½ vᵀA v + bᵀv inside of the ellipsoid Σ (v_j/μ_j)² ≤ r², n ≤ 5.
//!
//! In y_j = v_j/μ_j the ellipsoid is a ball. If the free minimum lies outside, the solution is y(λ) =
//! −(A + λ)⁻¹b on the sphere; λ is the root of 1/r − 1/‖y(λ)‖, nearly a straight line, by Newton's method.
//!
//! Source: Nocedal, Wright 2006, "Numerical optimization", §4.3 (algorithm 4.3).

/// Small square matrix in the corner.
pub(super) type Matrix = [[f64; 5]; 5];

/// The minimum.
pub(super) fn minimize(n: usize, A: &Matrix, b: &[f64; 5], mu: &[f64; 5], r: f64) -> [f64; 5] {
    let mut scaled = Matrix::default();
    let mut rhs = [0.0; 5];
    for i in 0..n {
        rhs[i] = -b[i] * mu[i];
        for j in 0..n {
            scaled[i][j] = A[i][j] * mu[i] * mu[j];
        }
    }
    let mut lambda = 0.0;
    let mut y = [0.0; 5];
    for _ in 0..50 {
        let Some(L) = cholesky(n, &scaled, lambda) else {
            // flat: a redundant contact; a little regularization decides
            let trace: f64 = (0..n).map(|i| scaled[i][i]).sum();
            lambda = (2.0 * lambda).max(1e-12 * trace).max(crate::MINVAL);
            continue;
        };
        // y = (A + λ)⁻¹ rhs, q = L⁻¹ y
        y = back(n, &L, forward(n, &L, rhs));
        let q = forward(n, &L, y);
        let (yy, qq) = (square(n, &y), square(n, &q));
        let length = yy.sqrt();
        if length <= r * (1.0 + 1e-14) || qq == 0.0 {
            break;
        }
        let step = yy / qq * (length - r) / r;
        if step <= 1e-15 * lambda {
            break;
        }
        lambda += step;
    }
    // exactly admissible
    let length = square(n, &y).sqrt();
    let shrink = if length > r { r / length } else { 1.0 };
    std::array::from_fn(|j| if j < n { y[j] * shrink * mu[j] } else { 0.0 })
}

/// LLᵀ = A + λ; none if that is not positive definite.
fn cholesky(n: usize, A: &Matrix, lambda: f64) -> Option<Matrix> {
    let mut L = Matrix::default();
    for i in 0..n {
        for j in 0..=i {
            let diagonal = if i == j { lambda } else { 0.0 };
            let sum: f64 = (0..j).map(|k| L[i][k] * L[j][k]).sum();
            let x = A[i][j] + diagonal - sum;
            if i == j {
                if x.is_nan() || x <= 1e-14 * A[i][i].max(crate::MINVAL) {
                    return None;
                }
                L[i][i] = x.sqrt();
            } else {
                L[i][j] = x / L[j][j];
            }
        }
    }
    Some(L)
}

/// L⁻¹ x.
fn forward(n: usize, L: &Matrix, mut x: [f64; 5]) -> [f64; 5] {
    for i in 0..n {
        let sum: f64 = (0..i).map(|k| L[i][k] * x[k]).sum();
        x[i] = (x[i] - sum) / L[i][i];
    }
    x
}

/// L⁻ᵀ x.
fn back(n: usize, L: &Matrix, mut x: [f64; 5]) -> [f64; 5] {
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|k| L[k][i] * x[k]).sum();
        x[i] = (x[i] - sum) / L[i][i];
    }
    x
}

fn square(n: usize, x: &[f64; 5]) -> f64 {
    x[..n].iter().map(|x| x * x).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagonal(d: &[f64]) -> Matrix {
        let mut A = Matrix::default();
        for (i, d) in d.iter().enumerate() {
            A[i][i] = *d;
        }
        A
    }

    #[test]
    fn inside_it_is_the_free_minimum() {
        let v = minimize(2, &diagonal(&[2.0, 4.0]), &[-1.0, 2.0, 0.0, 0.0, 0.0], &[1.0; 5], 9.0);
        assert!((v[0] - 0.5).abs() < 1e-14);
        assert!((v[1] + 0.5).abs() < 1e-14);
    }

    // on the boundary: A v + b = −λ v/μ² with λ ≥ 0, Σ (v/μ)² = r²
    #[test]
    fn outside_it_meets_the_kkt_conditions() {
        let mut A = diagonal(&[3.0, 1.0, 2.0, 0.5, 4.0]);
        for i in 1..5 {
            A[i][i - 1] = 0.3;
            A[i - 1][i] = 0.3;
        }
        let (b, mu) = ([5.0, -4.0, 3.0, 2.0, -6.0], [1.0, 0.7, 0.1, 0.02, 0.5]);
        for n in 2..=5 {
            let v = minimize(n, &A, &b, &mu, 0.8);
            let norm: f64 = (0..n).map(|j| (v[j] / mu[j]).powi(2)).sum();
            assert!((norm.sqrt() - 0.8).abs() < 1e-12, "{norm}");
            let multiplier = |i: usize| {
                let g: f64 = b[i] + (0..n).map(|j| A[i][j] * v[j]).sum::<f64>();
                -g * mu[i] * mu[i] / v[i]
            };
            for i in 1..n {
                assert!(multiplier(i) > 0.0);
                assert!((multiplier(i) / multiplier(0) - 1.0).abs() < 1e-9, "n = {n}, row {i}");
            }
        }
    }

    #[test]
    fn flat_directions_give_finite_forces() {
        let v = minimize(2, &Matrix::default(), &[1.0, -1.0, 0.0, 0.0, 0.0], &[1.0; 5], 2.0);
        assert!(
            (v[0] + 2.0_f64.sqrt()).abs() < 1e-6 && (v[1] - 2.0_f64.sqrt()).abs() < 1e-6,
            "{v:?}"
        );
    }
}
