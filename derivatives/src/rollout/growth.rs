//! How perturbations grow along a rollout.
//!
//! Φ_t = A_{t−1} … A_0 takes a perturbation of the initial state to that of x_t. Its largest singular value σ_t is the
//! growth of the worst one, its columns are those of each state alone. All of them grow as the largest Lyapunov exponent
//! says, σ_t ~ e^{λ₁ t}, so they are carried with a common factor taken out, and none overflows. The other exponents
//! cannot be read from Φ_t, whose columns become parallel: an orthonormal basis Q in general position is carried instead,
//! made orthonormal again in each step, A_t Q_t = Q_{t+1} R_{t+1}, and λ_i = 1/(Th) Σ ln R_ii.
//!
//! Norms mix the units of the state tangent (m, rad, m/s, rad/s): σ_t depends on the choice, exponents do not as t → ∞.
//! Over a finite horizon they are estimates: the growth of a transient counts as much as that of an instability.
//!
//! Source: Benettin et al. 1980, "Lyapunov characteristic exponents for smooth dynamical systems", part 2; Dieci, Russell
//! and Van Vleck 1997, "On the computation of Lyapunov exponents for continuous dynamical systems" (discrete QR).

use nalgebra::{DMatrix, SVD};
use ndarray::{Array1, Array2, ArrayView2};

use super::forward::RolloutLinearization;

/// Growth of perturbations over T steps. Logarithms are natural.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// ln σ_t: of the largest singular value of ∂x_t/∂x_0 (T + 1).
    pub log_singular: Array1<f64>,
    /// ln of the norm of ∂x_t/∂x_0 along each state (T + 1 × nx); −∞ where a state is forgotten, or
    /// falls 300 decades behind the largest.
    pub log_columns: Array2<f64>,
    /// The perturbation of x_0 that grows most until the end, of length one (nx).
    pub worst_start: Array1<f64>,
    /// What it has become at the end, of length one (nx).
    pub worst_end: Array1<f64>,
    /// Estimates of the Lyapunov exponents over the horizon \[1/s\], largest first (nx); −∞ for what is forgotten in one
    /// step.
    pub exponents: Vec<f64>,
    /// The largest of them until each state \[1/s\] (T + 1; zero at the first).
    pub largest_exponent: Array1<f64>,
    /// Names of the states (nx).
    pub state_names: Vec<String>,
}

impl Growth {
    /// Of a rollout.
    pub fn of(rollout: &RolloutLinearization) -> Self {
        let names = rollout.transitions.first().map_or(&[][..], |t| &t.state_names);
        Self::of_matrices(rollout.transitions.iter().map(|t| t.A.view()), rollout.timestep, names)
    }

    /// Of steps with matrices A (nx × nx) and timestep h \[s\].
    ///
    /// # Panics
    /// If a matrix has another size than there are names.
    pub fn of_matrices<'a>(
        steps: impl Iterator<Item = ArrayView2<'a, f64>>,
        h: f64,
        names: &[String],
    ) -> Self {
        let nx = names.len();
        let mut flow = Flow::new(nx);
        let (mut singular, mut columns, mut largest) = (vec![0.0], vec![0.0; nx], vec![0.0]);
        for (t, A) in steps.enumerate() {
            assert_eq!(A.dim(), (nx, nx), "a matrix of another model");
            flow.step(&DMatrix::from_fn(nx, nx, |i, j| A[[i, j]]));
            singular.push(flow.log_singular());
            columns.extend(flow.product.column_iter().map(|c| {
                // squares of small entries must not vanish
                let size = c.amax();
                let norm = if size > 0.0 { (c / size).norm() * size } else { 0.0 };
                norm.ln() + flow.log_scale
            }));
            let time = (t + 1) as f64 * h;
            largest.push(flow.log_diagonal.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b)) / time);
        }
        let steps = singular.len() - 1;
        let time = steps.max(1) as f64 * h;
        let mut exponents: Vec<f64> = flow.log_diagonal.iter().map(|x| x / time).collect();
        exponents.sort_by(|a, b| b.total_cmp(a));
        let [worst_start, worst_end] = flow.worst();
        Self {
            log_singular: singular.into(),
            log_columns: Array2::from_shape_vec((steps + 1, nx), columns)
                .expect("a row each state"),
            worst_start,
            worst_end,
            exponents,
            largest_exponent: largest.into(),
            state_names: names.to_vec(),
        }
    }

    /// The states that make up most of a direction, largest share first: their index and entry.
    ///
    /// # Panics
    /// If the direction has another length than there are states.
    pub fn main_parts(&self, direction: &Array1<f64>, count: usize) -> Vec<(&str, f64)> {
        assert_eq!(direction.len(), self.state_names.len(), "a direction of another model");
        let mut parts: Vec<(&str, f64)> =
            self.state_names.iter().map(String::as_str).zip(direction.iter().copied()).collect();
        parts.sort_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
        parts.truncate(count);
        parts
    }
}

/// Products of the matrices so far.
struct Flow {
    /// Φ e^{−log_scale}, whose largest entry is one.
    product: DMatrix<f64>,
    log_scale: f64,
    /// Orthonormal basis that is carried along, and ln R_ii of each of its vectors so far.
    basis: DMatrix<f64>,
    log_diagonal: Vec<f64>,
}

impl Flow {
    fn new(nx: usize) -> Self {
        // in general position: where states are decoupled, unit vectors would never meet what grows most
        let mut random = 0_u64;
        let mut basis = DMatrix::from_fn(nx, nx, |_, _| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (random >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        });
        for j in 0..nx {
            orthonormalize(&mut basis, j);
        }
        let product = DMatrix::identity(nx, nx);
        Self { product, log_scale: 0.0, basis, log_diagonal: vec![0.0; nx] }
    }

    fn step(&mut self, A: &DMatrix<f64>) {
        self.product = A * &self.product;
        let size = self.product.amax();
        if size > 0.0 {
            self.product /= size;
            self.log_scale += size.ln();
        }
        self.basis = A * &self.basis;
        for (j, sum) in self.log_diagonal.iter_mut().enumerate() {
            *sum += orthonormalize(&mut self.basis, j).ln();
        }
    }

    fn log_singular(&self) -> f64 {
        let values = self.product.singular_values();
        values.iter().fold(0.0_f64, |most, x| most.max(*x)).ln() + self.log_scale
    }

    /// The singular vectors of the largest singular value, right and left.
    fn worst(&self) -> [Array1<f64>; 2] {
        let nx = self.product.nrows();
        let SVD { u: Some(u), v_t: Some(v_t), singular_values } =
            SVD::new(self.product.clone(), true, true)
        else {
            return [Array1::zeros(nx), Array1::zeros(nx)];
        };
        if nx == 0 {
            return [Array1::zeros(0), Array1::zeros(0)];
        }
        let most = singular_values.imax();
        [v_t.row(most).iter().copied().collect(), u.column(most).iter().copied().collect()]
    }
}

/// Makes column j orthogonal to those before it and of length one, by Gram–Schmidt, twice for orthogonality to rounding;
/// R_jj. A column that vanishes stays zero.
fn orthonormalize(basis: &mut DMatrix<f64>, j: usize) -> f64 {
    let mut left = basis.columns_range_mut(..j + 1);
    let (before, mut column) = left.columns_range_pair_mut(..j, j);
    let whole = column.norm();
    for _ in 0..2 {
        for other in before.column_iter() {
            let share = other.dot(&column);
            column.axpy(-share, &other, 1.0);
        }
    }
    let rest = column.norm();
    // what is left of a column that depends on the others is rounding
    let rest = if rest > f64::EPSILON * whole { rest } else { 0.0 };
    column.scale_mut(if rest > 0.0 { 1.0 / rest } else { 0.0 });
    rest
}
