//! The factor of an integrator's matrix, kept as long as the matrix is the same.

use crate::linalg::tree_ldl;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::status::FactorError;

/// A matrix of M's pattern and its factor LᵀDL. Steps that differ in velocities or controls only mostly have the
/// same matrix: finite differences take many of those.
#[derive(Clone, Debug)]
pub(crate) struct KeptFactor<T: Scalar> {
    /// The matrix, to be filled before [`Self::factor`] (nM).
    pub(crate) H: Vec<T>,
    /// The matrix that the factor belongs to (nM); empty if there is none yet.
    of: Vec<T>,
    /// L off the diagonal, D on it (nM), and reciprocals of D (nv).
    ld: Vec<T>,
    diag_inv: Vec<T>,
    /// A pivot that had to be raised.
    raised: Option<FactorError>,
}

impl<T: Scalar> KeptFactor<T> {
    /// Room for the model's matrix, with no factor yet.
    pub(crate) fn new(m: &Model) -> Self {
        let zeros = |n: usize| vec![T::zero(); n];
        let of = Vec::with_capacity(m.nM);
        Self { H: zeros(m.nM), of, ld: zeros(m.nM), diag_inv: zeros(m.nv), raised: None }
    }

    /// Factors `H`, unless that was done before; the last pivot that had to be raised, if any.
    pub(crate) fn factor(&mut self, m: &Model, name: &'static str) -> Option<FactorError> {
        if !identical(&self.H, &self.of) {
            self.of.clone_from(&self.H);
            self.ld.copy_from_slice(&self.H);
            self.raised = tree_ldl::factor(m, name, &mut self.ld, &mut self.diag_inv);
        }
        self.raised
    }

    /// Solves H x = b in place.
    pub(crate) fn solve(&self, m: &Model, x: &mut [T]) {
        tree_ldl::solve(m, &self.ld, &self.diag_inv, x);
    }
}

/// True if all numbers are the same, in all their parts.
fn identical<T: Scalar>(a: &[T], b: &[T]) -> bool {
    let same = |a: &T, b: &T| (0..T::PARTS).fold(true, |s, k| s & (a.part(k) == b.part(k)));
    // without a branch for each number
    let chunk = |(a, b): (&[T], &[T])| a.iter().zip(b).fold(true, |s, (a, b)| s & same(a, b));
    a.len() == b.len() && a.chunks(16).zip(b.chunks(16)).all(chunk)
}
