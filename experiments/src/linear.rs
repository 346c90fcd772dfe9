//! What a linearization says about the system: eigenvalues, and which directions the controls reach.

use faer::{Mat, MatRef};
use ndarray::Array2;
use thiserror::Error;

/// An eigenvalue of the discrete-time A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eigenvalue {
    /// Real part.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

impl Eigenvalue {
    /// |λ|: growth over one step.
    pub fn magnitude(self) -> f64 {
        self.re.hypot(self.im)
    }

    /// The continuous-time eigenvalue `s = ln λ / h`: growth rate [1/s] and angular frequency [rad/s].
    pub fn continuous(self, timestep: f64) -> (f64, f64) {
        (self.magnitude().ln() / timestep, self.im.atan2(self.re) / timestep)
    }
}

/// The matrix holds a number that is not finite, or a decomposition did not converge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LinearError {
    /// NaN or infinity.
    #[error("the matrix holds a number that is not finite")]
    NonFinite,
    /// No convergence.
    #[error("the {0} did not converge")]
    NoConvergence(&'static str),
}

/// Eigenvalues of a square matrix, largest magnitude first; of a conjugate pair the positive imaginary part
/// comes first.
///
/// # Errors
/// If the matrix holds a number that is not finite, or the iteration does not converge.
///
/// # Panics
/// If the matrix is not square.
pub fn eigenvalues(A: &Array2<f64>) -> Result<Vec<Eigenvalue>, LinearError> {
    assert!(A.is_square());
    let A = finite(A)?;
    if A.nrows() == 0 {
        return Ok(Vec::new());
    }
    let values = A.eigenvalues().map_err(|_| LinearError::NoConvergence("eigenvalue iteration"))?;
    let mut values: Vec<_> =
        values.iter().map(|lambda| Eigenvalue { re: lambda.re, im: lambda.im }).collect();
    let key = |x: &Eigenvalue| (x.magnitude(), x.re, x.im);
    values.sort_by(|a, b| key(b).partial_cmp(&key(a)).unwrap_or(std::cmp::Ordering::Equal));
    Ok(values)
}

/// How many independent directions of the state the controls reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Controllability {
    /// Dimension of the controllable subspace: the rank of [B AB A²B …].
    pub rank: usize,
    /// Dimension of the state.
    pub size: usize,
    /// Powers of A that it took to reach the rank.
    pub index: usize,
    /// Smallest relative singular value that counted as a new direction.
    pub smallest_kept: f64,
    /// Largest relative singular value that did not, 0 if there was none. Far below `smallest_kept`: the
    /// rank is certain.
    pub largest_dropped: f64,
}

/// Relative singular value from which on a direction counts as reached: above the noise of finite
/// differences, below what a real coupling gives.
pub const RANK_TOLERANCE: f64 = 1e-7;

/// Numerical controllability rank of `x⁺ = A x + B u` with timestep `h`.
///
/// The powers in [B AB A²B …] grow or vanish, so that matrix has no usable numerical rank. Instead its range
/// is built orthonormally, block by block (the staircase algorithm, as a block Arnoldi process): the next
/// block is F times the newest orthonormal directions, minus its projection on all earlier ones (twice, for
/// orthogonality to rounding), and a singular value decomposition keeps what exceeds `tolerance` relative to
/// ‖F‖ (‖B‖ for the first block). F = (A − I)/h has the same controllable subspace as A and no common
/// part that hides a weak coupling.
///
/// Source: Paige 1981, "Properties of numerical algorithms related to computing controllability"; Van Dooren
/// 1981 for the staircase. Cost O(nx³).
///
/// # Errors
/// If a matrix holds a number that is not finite, or the decomposition does not converge.
///
/// # Panics
/// If the sizes of `A` and `B` do not fit.
pub fn controllability(
    A: &Array2<f64>,
    B: &Array2<f64>,
    h: f64,
    tolerance: f64,
) -> Result<Controllability, LinearError> {
    assert!(A.is_square());
    assert_eq!(A.nrows(), B.nrows());
    let size = A.nrows();
    let mut F = finite(A)?;
    for i in 0..size {
        F[(i, i)] -= 1.0;
    }
    F *= faer::Scale(1.0 / h);
    let B = finite(B)?;

    let mut result = Controllability {
        rank: 0,
        size,
        index: 0,
        smallest_kept: f64::INFINITY,
        largest_dropped: 0.0,
    };
    let mut basis = Mat::<f64>::zeros(size, 0);
    let mut block = B;
    let mut scale = block.norm_l2();
    let scale_of_F = F.norm_l2();
    while block.ncols() > 0 && result.rank < size && scale > 0.0 {
        // what is new: the part orthogonal to all that is reached already
        for _ in 0..2 {
            block = &block - &basis * (basis.transpose() * &block);
        }
        let svd = block
            .thin_svd()
            .map_err(|_| LinearError::NoConvergence("singular value decomposition"))?;
        let sigma: Vec<f64> = svd.S().column_vector().iter().map(|sigma| sigma / scale).collect();
        let new =
            sigma.iter().take_while(|sigma| **sigma > tolerance).count().min(size - result.rank);
        if let Some(dropped) = sigma.get(new) {
            result.largest_dropped = result.largest_dropped.max(*dropped);
        }
        if new == 0 {
            break;
        }
        result.smallest_kept = result.smallest_kept.min(sigma[new - 1]);
        let directions = svd.U().subcols(0, new).to_owned();
        basis = beside(basis.as_ref(), directions.as_ref());
        result.rank += new;
        result.index += 1;
        block = &F * directions;
        scale = scale_of_F;
    }
    if result.rank == 0 {
        result.smallest_kept = 0.0;
    }
    Ok(result)
}

/// [left right].
fn beside(left: MatRef<'_, f64>, right: MatRef<'_, f64>) -> Mat<f64> {
    let n = left.ncols();
    Mat::from_fn(left.nrows(), n + right.ncols(), |i, j| {
        if j < n { left[(i, j)] } else { right[(i, j - n)] }
    })
}

/// A copy for faer, checked to be finite.
fn finite(A: &Array2<f64>) -> Result<Mat<f64>, LinearError> {
    if A.iter().all(|x| x.is_finite()) {
        Ok(Mat::from_fn(A.nrows(), A.ncols(), |i, j| A[[i, j]]))
    } else {
        Err(LinearError::NonFinite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    const H: f64 = 0.01;

    #[test]
    fn double_integrator_is_controllable() {
        let A = array![[1.0, H], [0.0, 1.0]];
        let B = array![[0.5 * H * H], [H]];
        let found = controllability(&A, &B, H, RANK_TOLERANCE).unwrap();
        assert_eq!((found.rank, found.size, found.index), (2, 2, 2));
        assert!(eigenvalues(&A).unwrap().iter().all(|x| x.magnitude() == 1.0));
    }

    // two equal masses pushed alike: their difference cannot be controlled
    #[test]
    fn symmetric_masses_are_not() {
        let A = array![
            [1.0, 0.0, H, 0.0],
            [0.0, 1.0, 0.0, H],
            [0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 1.0]
        ];
        let B = array![[0.0], [0.0], [H], [H]];
        let found = controllability(&A, &B, H, RANK_TOLERANCE).unwrap();
        assert_eq!(found.rank, 2);
        assert!(found.largest_dropped < 1e-12 && found.smallest_kept > 0.1);
    }

    // a chain of n integrators needs all n powers; the plain Krylov matrix fails here from n ≈ 8
    #[test]
    fn long_chains_are_controllable() {
        let n = 40;
        let A = Array2::from_shape_fn((n, n), |(i, j)| match j {
            _ if j == i => 1.0,
            _ if j == i + 1 => H,
            _ => 0.0,
        });
        let B = Array2::from_shape_fn((n, 1), |(i, _)| if i + 1 == n { H } else { 0.0 });
        let found = controllability(&A, &B, H, RANK_TOLERANCE).unwrap();
        assert_eq!((found.rank, found.index), (n, n));
    }

    #[test]
    fn nothing_to_control_with() {
        let A = array![[1.0]];
        let none = controllability(&A, &Array2::zeros((1, 0)), H, RANK_TOLERANCE).unwrap();
        assert_eq!(none.rank, 0);
        let zero = controllability(&A, &Array2::zeros((1, 3)), H, RANK_TOLERANCE).unwrap();
        assert_eq!(zero.rank, 0);
        let bad = controllability(&A, &array![[f64::NAN]], H, RANK_TOLERANCE);
        assert_eq!(bad, Err(LinearError::NonFinite));
        assert_eq!(eigenvalues(&Array2::zeros((0, 0))).unwrap(), []);
    }

    // s = −1 ± 2i, sampled
    #[test]
    fn continuous_eigenvalues_undo_the_sampling() {
        let growth = (-H).exp();
        let (c, s) = ((2.0 * H).cos() * growth, (2.0 * H).sin() * growth);
        let found = eigenvalues(&array![[c, -s], [s, c]]).unwrap();
        let (rate, frequency) = found[0].continuous(H);
        assert!((rate + 1.0).abs() < 1e-12 && (frequency - 2.0).abs() < 1e-12);
        assert_eq!(found[1].im, -found[0].im);
    }
}
