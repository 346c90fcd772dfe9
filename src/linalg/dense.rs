//! Dense factorizations by faer: the only file that names it. Real numbers only; no allocation after
//! construction.

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
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
