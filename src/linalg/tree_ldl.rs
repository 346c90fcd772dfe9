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
    for k in (0..m.nv).rev() {
        let (adr, nnz) = (m.M_rowadr[k], m.M_rownnz[k]);
        let (above, from_k) = a.split_at_mut(adr);
        let row_k = &mut from_k[..nnz];
        let mut pivot = row_k[nnz - 1];
        if pivot.re() < crate::MINVAL {
            raised = Some(FactorError { matrix, dof: k, pivot: pivot.re() });
            pivot = T::lift(crate::MINVAL);
            row_k[nnz - 1] = pivot;
        }
        let inv = T::one() / pivot;
        diag_inv[k] = inv;

        // A(i, ·) −= L(k,i) A(k, ·) for every ancestor i of k: row i is a prefix of row k
        for p in (0..nnz - 1).rev() {
            let i = m.M_colind[adr + p];
            let l = row_k[p] * inv;
            let row_i = &mut above[m.M_rowadr[i]..][..=p];
            for (x, y) in row_i.iter_mut().zip(&row_k[..=p]) {
                *x -= l * *y;
            }
            row_k[p] = l;
        }
    }
    raised
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
    for i in (0..m.nv).rev() {
        for e in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] - 1 {
            add_scaled_row(x, n, m.M_colind[e], i, -ld[e]);
        }
    }
    for (row, inv) in x.chunks_exact_mut(n.max(1)).zip(diag_inv) {
        for v in row {
            *v *= *inv;
        }
    }
    for i in 0..m.nv {
        for e in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] - 1 {
            add_scaled_row(x, n, i, m.M_colind[e], -ld[e]);
        }
    }
}

/// Row `to` += s · row `from`, two different rows of a row-major block of width `n`.
fn add_scaled_row<T: Scalar>(x: &mut [T], n: usize, to: usize, from: usize, s: T) {
    let (lo, hi) = x.split_at_mut(to.max(from) * n);
    let (a, b) = (&mut lo[to.min(from) * n..][..n], &mut hi[..n]);
    let (t, f) = if to < from { (a, b) } else { (b, a) };
    for (t, f) in t.iter_mut().zip(f) {
        *t += s * *f;
    }
}
