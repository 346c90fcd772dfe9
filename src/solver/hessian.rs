//! The Hessian H = M + Jᵀ S J of the primal cost, S = s″, and its sparse factor.
//!
//! H = LᵀDL by elimination from the last degree of freedom to the first, as for M: where constraints couple
//! no branches there is no fill-in. The pattern covers all rows, whatever their state, and is found once a
//! solve; each row of it is a list of runs of columns, over which the inner loops are contiguous.
//!
//! Between iterations H changes by the rows that changed their state. Those that join are added; if one
//! leaves, H is made anew, since subtracting large terms from large ones would lose M in rounding. The factor
//! is always computed from H, cones included.
//!
//! Source: Featherstone 2008, §6.5 (order of elimination); MuJoCo `MakeHessian`, `FactorizeHessian`.

use super::cost::{ConeHessian, cone_hessian};
use super::problem::{ConeRows, MAX_DIM, Problem};
use crate::constraint::EfcState;
use crate::model::Model;
use crate::status::FactorError;

/// Hessian and factor of one solve.
#[derive(Clone, Debug)]
pub(crate) struct Hessian {
    nv: usize,
    /// Pattern of each row left of the diagonal, one bit a column (nv × words).
    bits: Vec<u64>,
    words: usize,
    /// Runs of columns start..end of all rows, and where each row's begin (nv + 1).
    runs: Vec<(usize, usize)>,
    runadr: Vec<usize>,
    /// H without cones, lower triangle, row-major (nv × nv).
    H: Vec<f64>,
    /// Rows that are in `H`.
    added: Vec<bool>,
    /// L left of the diagonal (nv × nv).
    L: Vec<f64>,
    diag_inv: Vec<f64>,
    /// H_c J of one cone.
    HJ: Vec<f64>,
    /// Rows added since the last count.
    pub(crate) updates: usize,
}

impl Hessian {
    /// Room for `capacity` rows.
    pub(crate) fn new(nv: usize, capacity: usize) -> Self {
        let words = nv.div_ceil(64);
        Self {
            nv,
            bits: vec![0; nv * words],
            words,
            runs: Vec::with_capacity(nv * (nv + 3) / 4 + nv),
            runadr: Vec::with_capacity(nv + 1),
            H: vec![0.0; nv * nv],
            added: vec![false; capacity],
            L: vec![0.0; nv * nv],
            diag_inv: vec![0.0; nv],
            HJ: vec![0.0; MAX_DIM * nv],
            updates: 0,
        }
    }

    /// Finds the pattern and makes H of all rows in state `Quadratic`.
    pub(crate) fn make(&mut self, m: &Model, p: &Problem, state: &[EfcState]) {
        self.find_pattern(m, p);
        self.rebuild(m, p, state);
    }

    /// Brings H up to date after the states have changed.
    pub(crate) fn update(&mut self, m: &Model, p: &Problem, state: &[EfcState]) {
        self.updates = 0;
        if (0..p.nefc).any(|i| self.added[i] && state[i] != EfcState::Quadratic) {
            self.rebuild(m, p, state);
        } else {
            self.add_rows(p, state);
        }
    }

    fn rebuild(&mut self, m: &Model, p: &Problem, state: &[EfcState]) {
        for i in 0..self.nv {
            for r in self.runadr[i]..self.runadr[i + 1] {
                let (start, end) = self.runs[r];
                self.H[i * self.nv + start..i * self.nv + end].fill(0.0);
            }
            for e in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] {
                self.H[i * self.nv + m.M_colind[e]] = p.qM[e];
            }
        }
        self.added[..p.nefc].fill(false);
        self.updates = 0;
        self.add_rows(p, state);
    }

    /// H += D_i J_iᵀ J_i of the quadratic rows that are not in it.
    fn add_rows(&mut self, p: &Problem, state: &[EfcState]) {
        for i in 0..p.nefc {
            if state[i] != EfcState::Quadratic || self.added[i] {
                continue;
            }
            self.added[i] = true;
            self.updates += 1;
            let (cols, entries) = p.row(i);
            for (k, (&row, x)) in cols.iter().zip(entries).enumerate() {
                let scaled = p.D[i] * x;
                let H_row = &mut self.H[row * self.nv..=row * self.nv + row];
                for (&col, y) in cols[..=k].iter().zip(entries) {
                    H_row[col] += scaled * y;
                }
            }
        }
    }

    /// Factors H with the Hessians of the cones in their middle zone, at `x` = J a − aref. A pivot that is not
    /// positive is raised, so that the solution stays finite, and returned.
    pub(crate) fn factor(
        &mut self,
        p: &Problem,
        x: &[f64],
        state: &[EfcState],
    ) -> Option<FactorError> {
        for i in 0..self.nv {
            for r in self.runadr[i]..self.runadr[i + 1] {
                let (start, end) = self.runs[r];
                let range = i * self.nv + start..i * self.nv + end;
                self.L[range.clone()].copy_from_slice(&self.H[range]);
            }
        }
        for c in p.cones.iter().filter(|c| state[c.row] == EfcState::Cone) {
            let rows = c.row..c.row + c.dim;
            self.add_cone(p, c, &cone_hessian(c, p.D[c.row], &x[rows]));
        }
        self.eliminate()
    }

    /// L += Jᵀ H_c J of one contact.
    fn add_cone(&mut self, p: &Problem, c: &ConeRows, H: &ConeHessian) {
        let (cols, _) = p.row(c.row);
        let n = cols.len();
        let J = &p.J[p.rowadr[c.row]..p.rowadr[c.row + c.dim]];
        let HJ = &mut self.HJ[..c.dim * n];
        HJ.fill(0.0);
        for r in 0..c.dim {
            for k in 0..c.dim {
                for j in 0..n {
                    HJ[r * n + j] += H[r][k] * J[k * n + j];
                }
            }
        }
        for (k, &row) in cols.iter().enumerate() {
            let L_row = &mut self.L[row * self.nv..=row * self.nv + row];
            for r in 0..c.dim {
                let x = J[r * n + k];
                for (&col, y) in cols[..=k].iter().zip(&HJ[r * n..]) {
                    L_row[col] += x * y;
                }
            }
        }
    }

    /// LᵀDL in place, last degree of freedom first.
    fn eliminate(&mut self) -> Option<FactorError> {
        let nv = self.nv;
        let mut raised = None;
        for k in (0..nv).rev() {
            let (above, from_k) = self.L.split_at_mut(k * nv);
            let row_k = &mut from_k[..=k];
            let mut pivot = row_k[k];
            if pivot.is_nan() || pivot < crate::MINVAL {
                raised = Some(FactorError { matrix: "constraint Hessian", dof: k, pivot });
                pivot = crate::MINVAL;
                // without coupling: a tiny pivot would blow up the rest
                row_k[..k].fill(0.0);
            }
            let inv = 1.0 / pivot;
            self.diag_inv[k] = inv;
            let runs = &self.runs[self.runadr[k]..self.runadr[k + 1]];
            for (r, &(start, end)) in runs.iter().enumerate().rev() {
                for i in (start..end.min(k)).rev() {
                    let l = row_k[i] * inv;
                    if l != 0.0 {
                        let row_i = &mut above[i * nv..=i * nv + i];
                        for &(a, b) in &runs[..r] {
                            subtract_scaled(&mut row_i[a..b], l, &row_k[a..b]);
                        }
                        subtract_scaled(&mut row_i[start..=i], l, &row_k[start..=i]);
                        row_k[i] = l;
                    }
                }
            }
        }
        raised
    }

    /// `x ← H⁻¹ x` (nv).
    pub(crate) fn solve(&self, x: &mut [f64]) {
        let nv = self.nv;
        let runs = |i: usize| &self.runs[self.runadr[i]..self.runadr[i + 1]];
        for i in (0..nv).rev() {
            let xi = x[i];
            for &(a, b) in runs(i) {
                let b = b.min(i);
                subtract_scaled(&mut x[a..b], xi, &self.L[i * nv + a..i * nv + b]);
            }
        }
        for (x, inv) in x.iter_mut().zip(&self.diag_inv) {
            *x *= inv;
        }
        for i in 0..nv {
            let mut xi = x[i];
            for &(a, b) in runs(i) {
                let b = b.min(i);
                for (l, x) in self.L[i * nv + a..i * nv + b].iter().zip(&x[a..b]) {
                    xi -= l * x;
                }
            }
            x[i] = xi;
        }
    }

    /// Pattern of M and of JᵀJ, then fill-in: row k passes its columns to the last of them.
    fn find_pattern(&mut self, m: &Model, p: &Problem) {
        let (nv, words) = (self.nv, self.words);
        self.bits.fill(0);
        for i in 0..nv {
            for &j in &m.M_colind[m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i]] {
                self.bits[i * words + j / 64] |= 1 << (j % 64);
            }
        }
        let mut previous: &[usize] = &[];
        for i in 0..p.nefc {
            let (cols, _) = p.row(i);
            if cols != previous {
                for (k, &row) in cols.iter().enumerate() {
                    for &col in &cols[..=k] {
                        self.bits[row * words + col / 64] |= 1 << (col % 64);
                    }
                }
            }
            previous = cols;
        }
        for k in (0..nv).rev() {
            let (above, row_k) = self.bits.split_at_mut(k * words);
            let row_k = &mut row_k[..words];
            // without its diagonal
            row_k[k / 64] &= !(1 << (k % 64));
            if let Some(last) = last_bit(row_k) {
                for (to, from) in above[last * words..(last + 1) * words].iter_mut().zip(&*row_k) {
                    *to |= from;
                }
            }
            row_k[k / 64] |= 1 << (k % 64);
        }
        self.find_runs();
    }

    fn find_runs(&mut self) {
        self.runs.clear();
        self.runadr.clear();
        for i in 0..self.nv {
            self.runadr.push(self.runs.len());
            let row = &self.bits[i * self.words..(i + 1) * self.words];
            let set = |j: usize| row[j / 64] >> (j % 64) & 1 == 1;
            let mut j = 0;
            while j <= i {
                if !set(j) {
                    j += 1;
                    continue;
                }
                let start = j;
                while j <= i && set(j) {
                    j += 1;
                }
                self.runs.push((start, j));
            }
        }
        self.runadr.push(self.runs.len());
    }
}

/// Highest bit that is set.
fn last_bit(words: &[u64]) -> Option<usize> {
    let word = words.iter().rposition(|w| *w != 0)?;
    Some(word * 64 + 63 - words[word].leading_zeros() as usize)
}

/// `to −= s · from`.
#[inline]
fn subtract_scaled(to: &mut [f64], s: f64, from: &[f64]) {
    for (t, f) in to.iter_mut().zip(from) {
        *t -= s * f;
    }
}
