//! Sums over samples, and what follows from them.

use dualstep::Model;
use nalgebra::DMatrix;

use super::{Estimate, Order};
use crate::columns::ncolumns;
use crate::matrices::Solve;
use crate::tangent::ndx;

/// Sums over some samples. Rows are the state tangent and the sensors (ny = nx + ns), columns those of [A B] (n).
pub(super) struct Sums {
    pub(super) count: f64,
    /// Of the samples' solves, the worst.
    pub(super) solver: Solve,
    /// Of values (ny).
    pub(super) value: Vec<f64>,
    /// Of squares of values (ny).
    square: Vec<f64>,
    /// First order: of linearizations; zeroth: of values times normals, z (ny × n).
    matrix: Vec<f64>,
    /// First order: of squares of entries (ny × n); zeroth: of z zᵀ (n × n).
    second: Vec<f64>,
    /// Zeroth order: of z (n).
    normal: Vec<f64>,
}

impl Sums {
    pub(super) fn new(m: &Model, order: Order) -> Self {
        let (ny, n) = (ndx(m) + m.nsensordata, ncolumns(m));
        let second = if order == Order::First { ny } else { n };
        Self {
            count: 0.0,
            solver: Solve::default(),
            value: vec![0.0; ny],
            square: vec![0.0; ny],
            matrix: vec![0.0; ny * n],
            second: vec![0.0; second * n],
            normal: vec![0.0; n],
        }
    }

    /// The value of a sample.
    pub(super) fn add_value(&mut self, value: &[f64]) {
        self.count += 1.0;
        for ((sum, square), x) in self.value.iter_mut().zip(&mut self.square).zip(value) {
            *sum += x;
            *square += x * x;
        }
    }

    /// Its linearization.
    pub(super) fn add_matrix(&mut self, matrix: &[f64]) {
        for ((sum, square), x) in self.matrix.iter_mut().zip(&mut self.second).zip(matrix) {
            *sum += x;
            *square += x * x;
        }
    }

    /// Its normals, for a fit of the value.
    pub(super) fn add_normal(&mut self, value: &[f64], z: &[f64]) {
        let n = z.len();
        for (row, y) in self.matrix.chunks_exact_mut(n).zip(value) {
            row.iter_mut().zip(z).for_each(|(sum, z)| *sum += y * z);
        }
        for (row, x) in self.second.chunks_exact_mut(n).zip(z) {
            row.iter_mut().zip(z).for_each(|(sum, z)| *sum += x * z);
        }
        self.normal.iter_mut().zip(z).for_each(|(sum, z)| *sum += z);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.solver = self.solver.worse(other.solver);
        let pairs = [
            (&mut self.value, &other.value),
            (&mut self.square, &other.square),
            (&mut self.matrix, &other.matrix),
            (&mut self.second, &other.second),
            (&mut self.normal, &other.normal),
        ];
        for (to, from) in pairs {
            to.iter_mut().zip(from).for_each(|(x, y)| *x += y);
        }
    }

    /// Mean of the linearizations, and the standard error of a mean.
    pub(super) fn mean(&self) -> Estimate {
        let n = self.count;
        let entry: Vec<f64> = self.matrix.iter().map(|sum| sum / n).collect();
        let error = |(mean, square): (&f64, &f64)| {
            let variance = (square - n * mean * mean) / (n - 1.0);
            (variance.max(0.0) / n).sqrt()
        };
        let error = entry.iter().zip(&self.second).map(error).collect();
        Estimate { entry, error }
    }

    /// Least squares of values on normals with an intercept: T S⁻¹, S and T the centred sums of z zᵀ and y zᵀ. The error of
    /// an entry is √(s² (S⁻¹)_kk), s² the residual variance of its row.
    pub(super) fn fit(&self, sigma: &[f64]) -> Estimate {
        let (count, n, ny) = (self.count, sigma.len(), self.value.len());
        let z = |k: usize| self.normal[k] / count;
        let S = DMatrix::from_fn(n, n, |i, k| self.second[i * n + k] - count * z(i) * z(k));
        let T = DMatrix::from_fn(n, ny, |k, i| self.matrix[i * n + k] - self.value[i] * z(k));
        // more samples than columns, of a continuous distribution: S is positive definite
        let inverse = S.cholesky().map(|c| c.inverse());
        let inverse = inverse.unwrap_or_else(|| DMatrix::from_element(n, n, f64::NAN));
        let X = &inverse * &T;
        let (mut entry, mut error) = (vec![0.0; ny * n], vec![0.0; ny * n]);
        for i in 0..ny {
            let total = self.square[i] - self.value[i] * self.value[i] / count;
            let explained = X.column(i).dot(&T.column(i));
            let variance = (total - explained).max(0.0) / (count - n as f64 - 1.0);
            for k in 0..n {
                entry[i * n + k] = X[(k, i)] / sigma[k];
                error[i * n + k] = (variance * inverse[(k, k)]).sqrt() / sigma[k];
            }
        }
        Estimate { entry, error }
    }
}
