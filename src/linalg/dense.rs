//! Dense factorizations by faer: the only file that names it. Real numbers only; no allocation after
//! construction.

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt;
use faer::linalg::lu::partial_pivoting::{factor, solve};
use faer::perm::PermRef;
use faer::{Conj, MatMut, MatRef, Par};

use crate::status::FactorError;

/// LU with partial pivoting of a general n × n matrix.
pub struct DenseLu {
    n: usize,
    /// Both factors, column-major.
    lu: Vec<f64>,
    perm: Vec<usize>,
    perm_inv: Vec<usize>,
    scratch: MemBuffer,
}

impl std::fmt::Debug for DenseLu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DenseLu").field("n", &self.n).field("lu", &self.lu).finish_non_exhaustive()
    }
}

impl Clone for DenseLu {
    /// Room of the same size; the factors are not copied.
    fn clone(&self) -> Self {
        Self::new(self.n)
    }
}

impl DenseLu {
    /// Room for matrices of size `n`.
    pub fn new(n: usize) -> Self {
        let (par, params) = (Par::Seq, faer::Spec::default());
        let req = StackReq::any_of(&[
            factor::lu_in_place_scratch::<usize, f64>(n, n, par, params),
            solve::solve_in_place_scratch::<usize, f64>(n, 1, par),
        ]);
        Self {
            n,
            lu: vec![0.0; n * n],
            perm: vec![0; n],
            perm_inv: vec![0; n],
            scratch: MemBuffer::new(req),
        }
    }

    /// Factors the row-major matrix `a` (n × n).
    ///
    /// # Errors
    /// A pivot that is zero or not finite, with its column.
    pub fn factor(&mut self, matrix: &'static str, a: &[f64]) -> Result<(), FactorError> {
        let n = self.n;
        // faer wants columns contiguous
        for i in 0..n {
            for j in 0..n {
                self.lu[j * n + i] = a[i * n + j];
            }
        }
        factor::lu_in_place(
            MatMut::from_column_major_slice_mut(&mut self.lu, n, n),
            &mut self.perm,
            &mut self.perm_inv,
            Par::Seq,
            MemStack::new(&mut self.scratch),
            faer::Spec::default(),
        );
        let bad = |pivot: f64| pivot == 0.0 || !pivot.is_finite();
        match (0..n).find(|&k| bad(self.lu[k * n + k])) {
            None => Ok(()),
            Some(dof) => Err(FactorError { matrix, dof, pivot: self.lu[dof * n + dof] }),
        }
    }

    /// Solves A x = b in place (n).
    ///
    /// # Panics
    /// If [`Self::factor`] has not run before.
    pub fn solve(&mut self, x: &mut [f64]) {
        let n = self.n;
        let packed = MatRef::from_column_major_slice(&self.lu, n, n);
        solve::solve_in_place_with_conj(
            packed,
            packed,
            PermRef::new_checked(&self.perm, &self.perm_inv, n),
            Conj::No,
            MatMut::from_column_major_slice_mut(x, n, 1),
            Par::Seq,
            MemStack::new(&mut self.scratch),
        );
    }
}

/// Cholesky factor of a symmetric positive definite n × n matrix.
pub struct DenseCholesky {
    n: usize,
    /// L, row-major, in the lower triangle.
    l: Vec<f64>,
    scratch: MemBuffer,
}

impl std::fmt::Debug for DenseCholesky {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DenseCholesky")
            .field("n", &self.n)
            .field("l", &self.l)
            .finish_non_exhaustive()
    }
}

impl Clone for DenseCholesky {
    /// Room of the same size; the factor is not copied.
    fn clone(&self) -> Self {
        Self::new(self.n)
    }
}

impl DenseCholesky {
    /// Room for matrices of size `n`.
    pub fn new(n: usize) -> Self {
        let req = llt::factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, faer::Spec::default());
        Self { n, l: vec![0.0; n * n], scratch: MemBuffer::new(req) }
    }

    /// Factors the row-major matrix `a` (n × n), of which the lower triangle is read.
    ///
    /// # Errors
    /// A pivot that is not positive, with its row.
    pub fn factor(&mut self, matrix: &'static str, a: &[f64]) -> Result<(), FactorError> {
        let n = self.n;
        self.l.copy_from_slice(a);
        let result = llt::factor::cholesky_in_place(
            MatMut::from_row_major_slice_mut(&mut self.l, n, n),
            faer::linalg::cholesky::llt::factor::LltRegularization::default(),
            Par::Seq,
            MemStack::new(&mut self.scratch),
            faer::Spec::default(),
        );
        result.map(|_| ()).map_err(|llt::factor::LltError::NonPositivePivot { index }| {
            FactorError { matrix, dof: index, pivot: self.l[index * n + index] }
        })
    }

    /// Solves A X = B in place, B row-major (n × k).
    pub fn solve_many(&mut self, x: &mut [f64], k: usize) {
        let n = self.n;
        llt::solve::solve_in_place_with_conj(
            MatRef::from_row_major_slice(&self.l, n, n),
            Conj::No,
            MatMut::from_row_major_slice_mut(x, n, k),
            Par::Seq,
            MemStack::new(&mut self.scratch),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cholesky_solves_many_and_names_the_pivot() {
        let n = 5;
        let g = |i: usize, j: usize| ((3 * i + 5 * j) as f64).sin();
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                a[i * n + j] =
                    (0..n).map(|k| g(i, k) * g(j, k)).sum::<f64>() + f64::from(u8::from(i == j));
            }
        }
        let x: Vec<f64> = (0..3 * n).map(|k| (k as f64).cos()).collect();
        let mut b = vec![0.0; 3 * n];
        for i in 0..n {
            for k in 0..3 {
                b[3 * i + k] = (0..n).map(|j| a[i * n + j] * x[3 * j + k]).sum();
            }
        }
        let mut cholesky = DenseCholesky::new(n);
        cholesky.factor("test", &a).unwrap();
        cholesky.solve_many(&mut b, 3);
        assert!(b.iter().zip(&x).all(|(b, x)| (b - x).abs() < 1e-12));
        a[3 * n + 3] = -1.0;
        let error = cholesky.factor("test", &a).unwrap_err();
        assert_eq!((error.matrix, error.dof), ("test", 3));
    }
}
