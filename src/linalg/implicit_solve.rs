//! A x = b on duals with one factorization on real numbers.
//!
//! With A = A₀ + nilpotent part, the iteration x ← x + A₀⁻¹ (b − A x), started at x = A₀⁻¹ b₀, is exact
//! after as many rounds as the scalar has orders: each round pushes the error one nilpotent order further.
//! A₀⁻¹ acts on each real coefficient of the residual by itself.

use super::dense::DenseLu;
use crate::scalar::Scalar;
use crate::status::FactorError;

/// Workspace of a dense solve of size n.
#[derive(Clone, Debug)]
pub struct ImplicitSolve {
    n: usize,
    lu: DenseLu,
    real: Vec<f64>,
    rhs: Vec<f64>,
}

impl ImplicitSolve {
    /// Room for systems of size `n`.
    pub fn new(n: usize) -> Self {
        Self { n, lu: DenseLu::new(n), real: vec![0.0; n * n], rhs: vec![0.0; n] }
    }

    /// Solves A x = b for the row-major `a` (n × n); writes `x` (n).
    ///
    /// # Errors
    /// The real part of A is singular.
    pub fn solve<T: Scalar>(
        &mut self,
        matrix: &'static str,
        a: &[T],
        b: &[T],
        x: &mut [T],
    ) -> Result<(), FactorError> {
        let n = self.n;
        for (r, v) in self.real.iter_mut().zip(a) {
            *r = v.re();
        }
        self.lu.factor(matrix, &self.real)?;

        for (r, v) in self.rhs.iter_mut().zip(b) {
            *r = v.re();
        }
        self.lu.solve(&mut self.rhs);
        for (xi, r) in x.iter_mut().zip(&self.rhs) {
            *xi = T::lift(*r);
        }
        for _ in 0..T::ORDER {
            // residual of one row, part by part: parts below the current order are already zero
            for part in 1..T::PARTS {
                for i in 0..n {
                    let row = &a[i * n..(i + 1) * n];
                    let ax = row.iter().zip(&*x).fold(T::zero(), |s, (aij, xj)| s + *aij * *xj);
                    self.rhs[i] = (b[i] - ax).part(part);
                }
                self.lu.solve(&mut self.rhs);
                for (xi, r) in x.iter_mut().zip(&self.rhs) {
                    *xi = T::from_parts(|k| xi.part(k) + if k == part { *r } else { 0.0 });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_dual::{Dual64, HyperDual64};

    fn residual<T: Scalar>() {
        let n = 4;
        let mut seed = 1.0_f64;
        let mut next = || {
            seed = (seed * 16807.0) % 2_147_483_647.0;
            seed / 2_147_483_647.0 - 0.5
        };
        let mut number = |_| T::from_parts(|_| next());
        let a: Vec<T> = (0..n * n).map(&mut number).collect();
        let b: Vec<T> = (0..n).map(&mut number).collect();
        let mut x = vec![T::zero(); n];
        ImplicitSolve::new(n).solve("test", &a, &b, &mut x).unwrap();
        for i in 0..n {
            let r = (0..n).fold(b[i], |s, j| s - a[i * n + j] * x[j]);
            for k in 0..T::PARTS {
                assert!(r.part(k).abs() < 1e-12 * 1e3, "part {k}: {}", r.part(k));
            }
        }
    }

    #[test]
    fn every_part_of_the_residual_vanishes() {
        residual::<f64>();
        residual::<Dual64>();
        residual::<crate::scalar::Dual<3>>();
        residual::<HyperDual64>();
    }

    #[test]
    fn a_singular_matrix_is_an_error() {
        let e = ImplicitSolve::new(2).solve("M", &[1.0, 2.0, 2.0, 4.0], &[1.0, 1.0], &mut [0.0; 2]);
        assert_eq!(e.unwrap_err().matrix, "M");
    }
}
