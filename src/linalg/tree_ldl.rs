//! Sparse LᵀDL of a symmetric matrix with the pattern of the kinematic tree.
//!
//! Row i holds the degrees of freedom from the root down to i, diagonal last ([`Model::M_colind`]). L is
//! unit lower triangular and has the same pattern: eliminating from the tips inward causes no fill-in.
//!
//! Source: Featherstone 2008, §6.5; MuJoCo `mj_factorI`, `mj_solveLD`.

use crate::model::Model;
use crate::scalar::Scalar;
use crate::status::FactorError;

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
        for (c, width) in strips(m.M_rownnz[i]) {
            match width {
                16.. => eliminate::<T, 16>(m, i, c, a, diag_inv),
                8.. => eliminate::<T, 8>(m, i, c, a, diag_inv),
                4.. => eliminate::<T, 4>(m, i, c, a, diag_inv),
                _ => eliminate::<T, 1>(m, i, c, a, diag_inv),
            }
        }
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
    c: usize,
    a: &mut [T],
    diag_inv: &[T],
) {
    let (below, place) = (i + 1..=i + m.M_subnum[i], m.M_rownnz[i] - 1);
    let mut sum = [T::zero(); W];
    for (&adr, inv) in m.M_rowadr[below.clone()].iter().zip(&diag_inv[below]) {
        let row_k = &a[adr..=adr + place];
        let (l, row_k) = (row_k[place] * *inv, &row_k[c..c + W]);
        for (sum, x) in sum.iter_mut().zip(row_k) {
            *sum += l * *x;
        }
    }
    for (x, sum) in a[m.M_rowadr[i] + c..][..W].iter_mut().zip(sum) {
        *x -= sum;
    }
}

/// Starts and widths of strips that cover `n` columns: sums over a strip stay in registers.
fn strips(n: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut c = 0;
    std::iter::from_fn(move || {
        let width = match n - c {
            0 => return None,
            16.. => 16,
            8.. => 8,
            4.. => 4,
            _ => 1,
        };
        c += width;
        Some((c - width, width))
    })
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
    for (c, width) in strips(n) {
        match width {
            16.. => solve_strip::<T, 16>(m, ld, diag_inv, x, n, c),
            8.. => solve_strip::<T, 8>(m, ld, diag_inv, x, n, c),
            4.. => solve_strip::<T, 4>(m, ld, diag_inv, x, n, c),
            _ => solve_strip::<T, 1>(m, ld, diag_inv, x, n, c),
        }
    }
}

/// Solves for the columns c to c + W.
#[inline]
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
        let (adr, place) = (&m.M_rowadr[j + 1..][..m.M_subnum[j]], m.M_rownnz[j] - 1);
        let (above, below) = x.split_at_mut((j + 1) * n);
        let sum = combine::<T, W>(adr.iter().map(|adr| &ld[adr + place]), below, n, c);
        for (x, sum) in above[j * n + c..][..W].iter_mut().zip(sum) {
            *x -= sum;
        }
    }
    // x ← D⁻¹ x, then x ← L⁻¹ x, along runs of consecutive columns
    for i in 0..m.nv {
        let row = &ld[m.M_rowadr[i]..][..m.M_rownnz[i] - 1];
        let (above, xi) = x.split_at_mut(i * n);
        let xi = &mut xi[c..c + W];
        for x in &mut *xi {
            *x *= diag_inv[i];
        }
        let mut end = row.len();
        while end > 0 {
            let last = m.M_colind[m.M_rowadr[i] + end - 1];
            let num = m.M_runnum[last];
            let run = &row[end - num..end];
            let sum = combine::<T, W>(run.iter(), &above[(last + 1 - num) * n..], n, c);
            for (x, sum) in xi.iter_mut().zip(sum) {
                *x -= sum;
            }
            end -= num;
        }
    }
}

/// Σ l · row over the columns c to c + W of consecutive rows of width n.
#[inline]
fn combine<'a, T: Scalar, const W: usize>(
    l: impl Iterator<Item = &'a T>,
    rows: &[T],
    n: usize,
    c: usize,
) -> [T; W] {
    let mut sum = [T::zero(); W];
    for (l, row) in l.zip(rows.chunks_exact(n)) {
        for (sum, x) in sum.iter_mut().zip(&row[c..c + W]) {
            *sum += *l * *x;
        }
    }
    sum
}
