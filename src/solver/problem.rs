//! What the solvers work on: the real parts of inertia, forces and rows, with the zeros of J left out.

use crate::collision::Contact;
use crate::constraint::{Efc, EfcType};
use crate::data::Data;
use crate::linalg::tree_ldl;
use crate::model::Model;
use crate::scalar::Scalar;

/// Most rows that one elliptic contact has.
pub(crate) const MAX_DIM: usize = 6;

/// Rows of one elliptic contact: normal first, then `dim − 1` tangential ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConeRows {
    /// First row.
    pub(crate) row: usize,
    /// Number of rows: 3, 4 or 6.
    pub(crate) dim: usize,
    /// Friction of the regularized cone, √(R_t/R_n) times the first friction coefficient.
    pub(crate) mu: f64,
    /// Friction coefficients of the tangential rows.
    pub(crate) friction: [f64; 5],
}

/// One solve: minimize ½(a − a₀)ᵀM(a − a₀) + s(J a − aref), in real numbers.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) nv: usize,
    /// Equality rows, 0..ne.
    pub(crate) ne: usize,
    /// Friction-loss rows, ne..ne+nf.
    pub(crate) nf: usize,
    pub(crate) nefc: usize,
    /// One-sided scalar rows: limits, frictionless and pyramidal contacts.
    pub(crate) one_sided: Vec<usize>,
    /// Elliptic contacts.
    pub(crate) cones: Vec<ConeRows>,
    /// Pyramidal contacts: first row and number of rows.
    pub(crate) pyramids: Vec<(usize, usize)>,
    /// Start of each row of J (nefc + 1).
    pub(crate) rowadr: Vec<usize>,
    /// Columns of the entries of J, ascending within a row; rows of one cone have the same columns.
    pub(crate) colind: Vec<usize>,
    /// Entries of J.
    pub(crate) J: Vec<f64>,
    /// Reciprocal of `R` (nefc).
    pub(crate) D: Vec<f64>,
    /// Regularization (nefc).
    pub(crate) R: Vec<f64>,
    /// Reference acceleration (nefc).
    pub(crate) aref: Vec<f64>,
    /// Friction loss (nefc).
    pub(crate) frictionloss: Vec<f64>,
    /// Inertia, the model's pattern (nM).
    pub(crate) qM: Vec<f64>,
    qLD: Vec<f64>,
    qLDiagInv: Vec<f64>,
    /// Force without constraints (nv).
    pub(crate) qfrc_smooth: Vec<f64>,
    /// Acceleration without constraints (nv).
    pub(crate) qacc_smooth: Vec<f64>,
    /// Reciprocal of the trace of M: makes improvement and gradient independent of the model's size.
    pub(crate) scale: f64,
}

impl Problem {
    /// Room for `capacity` rows.
    pub(crate) fn new(m: &Model, capacity: usize) -> Self {
        let reals = |n: usize| vec![0.0; n];
        Self {
            nv: m.nv,
            ne: 0,
            nf: 0,
            nefc: 0,
            one_sided: Vec::with_capacity(capacity),
            cones: Vec::with_capacity(capacity),
            pyramids: Vec::with_capacity(capacity),
            rowadr: Vec::with_capacity(capacity + 1),
            colind: Vec::with_capacity(capacity * m.nv),
            J: Vec::with_capacity(capacity * m.nv),
            D: reals(capacity),
            R: reals(capacity),
            aref: reals(capacity),
            frictionloss: reals(capacity),
            qM: reals(m.nM),
            qLD: reals(m.nM),
            qLDiagInv: reals(m.nv),
            qfrc_smooth: reals(m.nv),
            qacc_smooth: reals(m.nv),
            scale: 1.0,
        }
    }

    /// Copies the real parts. False if one of them is not finite.
    ///
    /// # Panics
    /// If there are more rows than the capacity, or a contact row names no contact.
    pub(crate) fn load<T: Scalar>(
        &mut self,
        m: &Model,
        d: &Data<T>,
        efc: &Efc<T>,
        contacts: &[Contact<T>],
    ) -> bool {
        copy_re(&d.qM, &mut self.qM);
        copy_re(&d.qLD, &mut self.qLD);
        copy_re(&d.qLDiagInv, &mut self.qLDiagInv);
        copy_re(&d.qfrc_smooth, &mut self.qfrc_smooth);
        copy_re(&d.qacc_smooth, &mut self.qacc_smooth);
        let trace: f64 = (0..m.nv).map(|i| self.qM[m.M_rowadr[i] + m.M_rownnz[i] - 1]).sum();
        self.scale = 1.0 / trace.max(crate::MINVAL);
        self.load_rows(efc, contacts);
        self.is_finite()
    }

    /// Copies the real parts of the rows.
    pub(crate) fn load_rows<T: Scalar>(&mut self, efc: &Efc<T>, contacts: &[Contact<T>]) {
        (self.ne, self.nf, self.nefc) = (efc.ne, efc.nf, efc.nefc);
        copy_re(&efc.D[..efc.nefc], &mut self.D);
        copy_re(&efc.R[..efc.nefc], &mut self.R);
        copy_re(&efc.aref[..efc.nefc], &mut self.aref);
        self.frictionloss[..efc.nefc].copy_from_slice(&efc.frictionloss[..efc.nefc]);
        self.load_blocks(efc, contacts);
        self.load_jacobian(efc);
    }

    fn load_blocks<T: Scalar>(&mut self, efc: &Efc<T>, contacts: &[Contact<T>]) {
        self.one_sided.clear();
        self.cones.clear();
        self.pyramids.clear();
        let mut row = self.ne + self.nf;
        while row < self.nefc {
            let rows = match efc.kind[row] {
                EfcType::ContactElliptic => {
                    let c = &contacts[efc.id[row]];
                    self.cones.push(ConeRows { row, dim: c.dim, mu: c.mu, friction: c.friction });
                    row += c.dim;
                    continue;
                }
                EfcType::ContactPyramidal => {
                    let rows = 2 * (contacts[efc.id[row]].dim - 1);
                    self.pyramids.push((row, rows));
                    rows
                }
                _ => 1,
            };
            self.one_sided.extend(row..row + rows);
            row += rows;
        }
    }

    fn load_jacobian<T: Scalar>(&mut self, efc: &Efc<T>) {
        self.rowadr.clear();
        self.colind.clear();
        self.J.clear();
        self.rowadr.extend_from_slice(&efc.J_rowadr);
        self.colind.extend_from_slice(&efc.J_colind);
        self.J.extend(efc.J.iter().map(|x| x.re()));
    }

    fn is_finite(&self) -> bool {
        let n = self.nefc;
        let finite = |x: &[f64]| x.iter().all(|x| x.is_finite());
        [&self.qM, &self.qLD, &self.qLDiagInv, &self.qfrc_smooth, &self.qacc_smooth, &self.J]
            .into_iter()
            .all(|x| finite(x))
            && [&self.D, &self.R, &self.aref, &self.frictionloss]
                .into_iter()
                .all(|x| finite(&x[..n]))
    }

    /// Columns and entries of a row of J.
    #[inline]
    pub(crate) fn row(&self, i: usize) -> (&[usize], &[f64]) {
        let range = self.rowadr[i]..self.rowadr[i + 1];
        (&self.colind[range.clone()], &self.J[range])
    }

    /// J_i · v.
    #[inline]
    pub(crate) fn row_dot(&self, i: usize, v: &[f64]) -> f64 {
        let (cols, entries) = self.row(i);
        cols.iter().zip(entries).map(|(&j, x)| x * v[j]).sum()
    }

    /// `out = J v` (nefc).
    pub(crate) fn mul_J(&self, v: &[f64], out: &mut [f64]) {
        for (i, out) in out[..self.nefc].iter_mut().enumerate() {
            *out = self.row_dot(i, v);
        }
    }

    /// `out = J v − aref` (nefc).
    pub(crate) fn residual(&self, v: &[f64], out: &mut [f64]) {
        self.mul_J(v, out);
        for (x, aref) in out.iter_mut().zip(&self.aref[..self.nefc]) {
            *x -= aref;
        }
    }

    /// `out = Jᵀ f` (nv).
    pub(crate) fn mul_JT(&self, f: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for i in 0..self.nefc {
            if f[i] != 0.0 {
                let (cols, entries) = self.row(i);
                for (&j, x) in cols.iter().zip(entries) {
                    out[j] += x * f[i];
                }
            }
        }
    }

    /// `out = M v` (nv).
    pub(crate) fn mul_M(&self, m: &Model, v: &[f64], out: &mut [f64]) {
        mul_M(m, &self.qM, v, out);
    }

    /// `x ← M⁻¹ x` (nv).
    pub(crate) fn solve_M(&self, m: &Model, x: &mut [f64]) {
        tree_ldl::solve(m, &self.qLD, &self.qLDiagInv, x);
    }

    /// ½ (a − a₀)ᵀ (M a − M a₀), given `Ma`.
    pub(crate) fn gauss(&self, qacc: &[f64], Ma: &[f64]) -> f64 {
        (0..self.nv)
            .map(|i| 0.5 * (Ma[i] - self.qfrc_smooth[i]) * (qacc[i] - self.qacc_smooth[i]))
            .sum()
    }
}

/// `out = M v` for the symmetric M of the model's pattern.
pub(crate) fn mul_M<T: Scalar>(m: &Model, qM: &[T], v: &[T], out: &mut [T]) {
    out.fill(T::zero());
    for i in 0..m.nv {
        let (adr, last) = (m.M_rowadr[i], m.M_rowadr[i] + m.M_rownnz[i] - 1);
        let mut sum = qM[last] * v[i];
        for e in adr..last {
            let j = m.M_colind[e];
            sum += qM[e] * v[j];
            out[j] += qM[e] * v[i];
        }
        out[i] += sum;
    }
}

/// Real parts.
pub(crate) fn copy_re<T: Scalar>(from: &[T], to: &mut [f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = from.re();
    }
}

/// Inner product.
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Euclidean norm.
#[inline]
pub(crate) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}
