//! Sparse LᵀDL of a symmetric matrix with the pattern of the kinematic tree.
//!
//! Row i holds the degrees of freedom from the root down to i, diagonal last ([`Model::M_colind`]). L is
//! unit lower triangular and has the same pattern: eliminating from the tips inward causes no fill-in.
//!
//! Source: Featherstone 2008, §6.5; MuJoCo `mj_factorI`, `mj_solveLD`.

#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for wider vectors")]

use pulp::{Arch, Simd, WithSimd};

use crate::model::Model;
use crate::scalar::Scalar;
use crate::status::FactorError;

/// Calls `strip::<T, W>(…, c)` for strips of columns from c to c + W that cover n columns. Sums over a strip stay in
/// registers.
macro_rules! by_strips {
    ($n:expr, $strip:ident($($argument:expr),*)) => {{
        let (n, mut c) = ($n, 0);
        while c < n {
            c += match n - c {
                32.. => { $strip::<T, 32>($($argument,)* c); 32 }
                16.. => { $strip::<T, 16>($($argument,)* c); 16 }
                8.. => { $strip::<T, 8>($($argument,)* c); 8 }
                4.. => { $strip::<T, 4>($($argument,)* c); 4 }
                2.. => { $strip::<T, 2>($($argument,)* c); 2 }
                _ => { $strip::<T, 1>($($argument,)* c); 1 }
            };
        }
    }};
}

/// Factors in place: on return the off-diagonal entries of `a` are those of L, the diagonal is D;
/// `diag_inv` (nv) receives 1/D. Cost O(nv · depth²).
///
/// A pivot below [`crate::MINVAL`] is raised to it, as in MuJoCo, so that a singular matrix gives finite if
/// huge results; the last such pivot is returned, under the given name of the matrix.
pub fn factor<T: Scalar>(
    m: &Model,
    matrix: &'static str,
    a: &mut [T],
    diag_inv: &mut [T],
) -> Option<FactorError> {
    let mut raised = None;
    for i in (0..m.nv).rev() {
        // A(i, ·) −= Σ L(k,i) A(k, ·) over the rows k below i, of which row i is a prefix
        by_strips!(m.M_rownnz[i], eliminate(m, i, a, diag_inv));
        let pivot = &mut a[m.M_rowadr[i] + m.M_rownnz[i] - 1];
        if pivot.re() < crate::MINVAL {
            raised = Some(FactorError { matrix, dof: i, pivot: pivot.re() });
            *pivot = T::lift(crate::MINVAL);
        }
        diag_inv[i] = T::one() / *pivot;
    }
    // L(k, ·) = A(k, ·) / D
    for k in 0..m.nv {
        for x in &mut a[m.M_rowadr[k]..][..m.M_rownnz[k] - 1] {
            *x *= diag_inv[k];
        }
    }
    raised
}

/// Entries c to c + W of A(i, ·) −= Σ L(k,i) A(k, ·), where rows k are not yet divided by D.
#[inline]
fn eliminate<T: Scalar, const W: usize>(
    m: &Model,
    i: usize,
    a: &mut [T],
    diag_inv: &[T],
    c: usize,
) {
    let (below, place) = (i + 1..=i + m.M_subnum[i], m.M_rownnz[i] - 1);
    let mut sum = [T::zero(); W];
    for (&adr, inv) in m.M_rowadr[below.clone()].iter().zip(&diag_inv[below]) {
        let row_k = &a[adr..=adr + place];
        let (l, row_k) = (row_k[place] * *inv, &row_k[c..c + W]);
        for k in 0..W {
            sum[k] += l * row_k[k];
        }
    }
    for (x, sum) in a[m.M_rowadr[i] + c..][..W].iter_mut().zip(sum) {
        *x -= sum;
    }
}

/// Solves (LᵀDL) x = b in place for one right-hand side. Cost O(nv · depth).
pub fn solve<T: Scalar>(m: &Model, ld: &[T], diag_inv: &[T], x: &mut [T]) {
    // x ← L⁻ᵀ x
    for i in (0..m.nv).rev() {
        let adr = m.M_rowadr[i];
        let nnz = m.M_rownnz[i] - 1;
        let xi = x[i];
        for (l, &j) in ld[adr..adr + nnz].iter().zip(&m.M_colind[adr..adr + nnz]) {
            x[j] -= *l * xi;
        }
    }
    // x ← D⁻¹ x
    for (xi, inv) in x.iter_mut().zip(diag_inv) {
        *xi *= *inv;
    }
    // x ← L⁻¹ x
    for i in 0..m.nv {
        let adr = m.M_rowadr[i];
        let nnz = m.M_rownnz[i] - 1;
        let mut xi = x[i];
        for (l, &j) in ld[adr..adr + nnz].iter().zip(&m.M_colind[adr..adr + nnz]) {
            xi -= *l * x[j];
        }
        x[i] = xi;
    }
}

/// Solves for `n` right-hand sides at once. `x` is row-major (nv × n): row i holds entry i of all of them,
/// so that the inner loops run over contiguous memory.
///
/// # Panics
/// If `x` is not nv × n.
pub fn solve_many<T: Scalar>(m: &Model, ld: &[T], diag_inv: &[T], x: &mut [T], n: usize) {
    assert_eq!(x.len(), m.nv * n, "one row per degree of freedom");
    Arch::new().dispatch(SolveMany { m, ld, diag_inv, x, n });
}

/// [`solve_many`], compiled for each set of vector instructions. Neither their width nor that of the strips changes
/// a result: the sums of a column are its own, and no product is fused with a sum.
struct SolveMany<'a, T> {
    m: &'a Model,
    ld: &'a [T],
    diag_inv: &'a [T],
    x: &'a mut [T],
    n: usize,
}

impl<T: Scalar> WithSimd for SolveMany<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { m, ld, diag_inv, x, n } = self;
        by_strips!(n, solve_strip(m, ld, diag_inv, x, n));
    }
}

/// Solves for the columns c to c + W.
#[inline(always)]
fn solve_strip<T: Scalar, const W: usize>(
    m: &Model,
    ld: &[T],
    diag_inv: &[T],
    x: &mut [T],
    n: usize,
    c: usize,
) {
    // x ← L⁻ᵀ x: column j of L has entries in the rows below j, all at the same place
    for j in (0..m.nv).rev() {
        let place = m.M_rownnz[j] - 1;
        let (above, below) = x.split_at_mut((j + 1) * n);
        let mut sum = [T::zero(); W];
        for (i, adr) in m.M_rowadr[j + 1..][..m.M_subnum[j]].iter().enumerate() {
            let (l, row) = (ld[adr + place], &below[i * n + c..][..W]);
            for k in 0..W {
                sum[k] += l * row[k];
            }
        }
        for (x, sum) in above[j * n + c..][..W].iter_mut().zip(sum) {
            *x -= sum;
        }
    }
    // x ← D⁻¹ x, then x ← L⁻¹ x
    for i in 0..m.nv {
        let row = m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] - 1;
        let (above, from_i) = x.split_at_mut(i * n);
        let mut sum = [T::zero(); W];
        for (l, &j) in ld[row.clone()].iter().zip(&m.M_colind[row]) {
            let row = &above[j * n + c..][..W];
            for k in 0..W {
                sum[k] += *l * row[k];
            }
        }
        for (x, sum) in from_i[c..c + W].iter_mut().zip(sum) {
            *x = *x * diag_inv[i] - sum;
        }
    }
}
