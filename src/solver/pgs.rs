//! Projected Gauss–Seidel on the dual, and the no-slip pass.
//!
//! A sweep minimizes over one block of rows after the other, all others fixed. The order is shuffled, by a
//! generator that starts the same in every solve; between sweeps the forces are extrapolated along their last
//! change (Nesterov), until a sweep turns back.
//!
//! An elliptic contact is minimized along the ray of its force, or in its normal if it has none, and then over
//! friction at that normal force. The two together are no minimum over the contact: where contacts stick, PGS may
//! come to rest short of the minimum, as MuJoCo's does.
//!
//! Source: MuJoCo manual, "Computation: algorithms"; MuJoCo `solPGS`, `solNoSlip`; O'Donoghue, Candès 2015,
//! "Adaptive restart for accelerated gradient schemes"; O'Neill 2014, "PCG" (the generator).

use super::dual::{Block, Dual, Rows, cost_change};
use super::problem::{ConeRows, MAX_DIM, Problem, dot};
use super::qcqp;
use super::stats::{Iteration, SolverStats, SolverStatus};
use crate::model::Options;

impl Dual {
    /// Sweeps until the improvement of a sweep falls below the tolerance.
    pub(crate) fn solve(
        &mut self,
        p: &Problem,
        opt: &Options,
        stats: &mut SolverStats,
    ) -> SolverStatus {
        let n = p.nefc;
        let mut random = Pcg32::new();
        let mut momentum = 0;
        self.before[..n].copy_from_slice(&self.force[..n]);
        self.classify(p);
        stats.initial_cost = -self.cost(p);
        while stats.niter < opt.iterations {
            self.extrapolate(p, momentum);
            random.shuffle(&mut self.blocks);
            let mut improvement = 0.0;
            for k in 0..self.blocks.len() {
                improvement += self.sweep_block(p, self.blocks[k]);
            }
            momentum = if self.turned_back(n) { 0 } else { momentum + 1 };
            stats.niter += 1;
            improvement *= p.scale;
            self.record(p, stats, improvement);
            if improvement < opt.tolerance {
                return SolverStatus::Converged;
            }
        }
        SolverStatus::IterationLimit
    }

    fn record(&mut self, p: &Problem, stats: &mut SolverStats, improvement: f64) {
        let (nactive, nchange) = self.classify(p);
        let cost = -self.cost(p);
        stats.push(Iteration { cost, improvement, nactive, nchange, ..Iteration::default() });
    }

    /// f += (k − 1)/(k + 2) (f − f_before), back into the admissible set.
    fn extrapolate(&mut self, p: &Problem, k: usize) {
        let n = p.nefc;
        let beta = if k > 1 { (k - 1) as f64 / (k + 2) as f64 } else { 0.0 };
        for i in 0..n {
            let force = self.force[i];
            self.force[i] += beta * (force - self.before[i]);
            self.before[i] = force;
        }
        for i in p.ne..p.ne + p.nf {
            self.force[i] = self.force[i].clamp(-p.frictionloss[i], p.frictionloss[i]);
        }
        for &i in &p.one_sided {
            self.force[i] = self.force[i].max(0.0);
        }
        for c in &p.cones {
            project(c, &mut self.force[c.row..c.row + c.dim]);
        }
        self.extrapolated[..n].copy_from_slice(&self.force[..n]);
        self.accumulate(p);
    }

    /// True if the sweep went against the extrapolation.
    fn turned_back(&self, n: usize) -> bool {
        let along = (0..n).map(|i| {
            (self.force[i] - self.extrapolated[i]) * (self.extrapolated[i] - self.before[i])
        });
        along.sum::<f64>() < 0.0
    }

    /// Minimizes over one block; returns the improvement.
    fn sweep_block(&mut self, p: &Problem, rows: Rows) -> f64 {
        match rows {
            Rows::Free(i) => self.sweep_row(p, i, f64::NEG_INFINITY, f64::INFINITY),
            Rows::Bounded(i) => self.sweep_row(p, i, -p.frictionloss[i], p.frictionloss[i]),
            Rows::OneSided(i) => self.sweep_row(p, i, 0.0, f64::INFINITY),
            Rows::Cone(k) => self.sweep_cone(p, &p.cones[k]),
        }
    }

    fn sweep_row(&mut self, p: &Problem, i: usize, low: f64, high: f64) -> f64 {
        let A = self.diag[i] + p.R[i];
        let old = self.force[i];
        let g = self.slip(p, i) + p.R[i] * old;
        self.set(i, (old - g / A).clamp(low, high));
        let delta = self.force[i] - old;
        -delta * (0.5 * A * delta + g)
    }

    fn sweep_cone(&mut self, p: &Problem, c: &ConeRows) -> f64 {
        let n = c.dim;
        let mut A = self.block(p, c.row, n);
        let (mut old, mut g) = ([0.0; MAX_DIM], [0.0; MAX_DIM]);
        for j in 0..n {
            let i = c.row + j;
            A[j][j] += p.R[i];
            old[j] = self.force[i];
            g[j] = self.slip(p, i) + p.R[i] * old[j];
        }

        // normal force, or all along their ray
        if old[0] < crate::MINVAL {
            self.set(c.row, (old[0] - g[0] / A[0][0]).max(0.0));
            (1..n).for_each(|j| self.set(c.row + j, 0.0));
        } else {
            let step = ray_step(&A, &old[..n], &g[..n]);
            (0..n).for_each(|j| self.set(c.row + j, old[j] * (1.0 + step)));
        }

        // friction at that normal force
        let normal = self.force[c.row];
        let mut tangential = qcqp::Matrix::default();
        let mut slope = [0.0; 5];
        for j in 1..n {
            tangential[j - 1][..n - 1].copy_from_slice(&A[j][1..n]);
            let i = c.row + j;
            slope[j - 1] = self.slip(p, i) + p.R[i] * self.force[i];
        }
        self.friction_update(c, &tangential, &slope, normal);
        self.keep_if_better(&A, c.row, &old[..n], &g[..n])
    }

    /// Improvement of a block since its forces were `old` and their gradient `g`; if it is none, they are
    /// restored.
    fn keep_if_better(&mut self, A: &Block, row: usize, old: &[f64], g: &[f64]) -> f64 {
        let n = old.len();
        let mut delta = [0.0; MAX_DIM];
        for j in 0..n {
            delta[j] = self.force[row + j] - old[j];
        }
        let change =
            cost_change(&std::array::from_fn::<_, MAX_DIM, _>(|j| &A[j][..n]), &delta[..n], g);
        if change > 0.0 {
            (0..n).for_each(|j| self.set(row + j, old[j]));
            return 0.0;
        }
        -change
    }

    /// No-slip: friction anew at fixed normal forces, without regularization, so that contacts neither creep
    /// nor slide below their friction cone.
    ///
    /// Source: MuJoCo manual, "Computation: noslip solver"; MuJoCo `solNoSlip`.
    pub(crate) fn noslip(&mut self, p: &Problem, opt: &Options, stats: &mut SolverStats) {
        self.accumulate(p);
        self.classify(p);
        while stats.noslip_niter < opt.noslip_iterations {
            let mut improvement = 0.0;
            if stats.noslip_niter == 0 {
                // the cost is another one from here on
                let R = (0..p.nefc).map(|i| 0.5 * p.R[i] * self.force[i] * self.force[i]);
                improvement = R.sum();
            }
            for i in p.ne..p.ne + p.nf {
                improvement += self.noslip_row(p, i);
            }
            for &(row, rows) in &p.pyramids {
                for edge in (row..row + rows).step_by(2) {
                    improvement += self.noslip_edges(p, edge);
                }
            }
            for c in &p.cones {
                improvement += self.noslip_cone(p, c);
            }
            stats.noslip_niter += 1;
            improvement *= p.scale;
            self.record(p, stats, improvement);
            if improvement < opt.noslip_tolerance {
                break;
            }
        }
    }

    fn noslip_row(&mut self, p: &Problem, i: usize) -> f64 {
        let A = self.diag[i].max(crate::MINVAL);
        let (old, g) = (self.force[i], self.slip(p, i));
        self.set(i, (old - g / A).clamp(-p.frictionloss[i], p.frictionloss[i]));
        let delta = self.force[i] - old;
        -delta * (0.5 * A * delta + g)
    }

    /// Two opposing edges of a pyramid: their sum is the normal force and stays, their difference is friction.
    fn noslip_edges(&mut self, p: &Problem, i: usize) -> f64 {
        let A = self.block(p, i, 2);
        let old = [self.force[i], self.force[i + 1]];
        let g = [self.slip(p, i), self.slip(p, i + 1)];
        let middle = 0.5 * (old[0] + old[1]);
        // along (1, −1)
        let curvature = A[0][0] + A[1][1] - A[0][1] - A[1][0];
        let half = if curvature < crate::MINVAL {
            0.0
        } else {
            let free = 0.5 * (old[0] - old[1]) - (g[0] - g[1]) / curvature;
            free.clamp(-middle.max(0.0), middle.max(0.0))
        };
        self.set(i, middle + half);
        self.set(i + 1, middle - half);
        self.keep_if_better(&A, i, &old, &g)
    }

    fn noslip_cone(&mut self, p: &Problem, c: &ConeRows) -> f64 {
        let (n, row) = (c.dim - 1, c.row + 1);
        let A = self.block(p, row, n);
        let (mut tangential, mut g, mut old) = (qcqp::Matrix::default(), [0.0; 5], [0.0; 5]);
        for j in 0..n {
            tangential[j][..n].copy_from_slice(&A[j][..n]);
            g[j] = self.slip(p, row + j);
            old[j] = self.force[row + j];
        }
        self.friction_update(c, &tangential, &g, self.force[c.row]);
        self.keep_if_better(&A, row, &old[..n], &g[..n])
    }
}

/// Minimum along the ray of the forces, as a multiple of them to add; at least −1.
fn ray_step(A: &Block, force: &[f64], g: &[f64]) -> f64 {
    let n = force.len();
    let curvature: f64 = (0..n).map(|i| force[i] * dot(&A[i][..n], force)).sum();
    if curvature < crate::MINVAL { 0.0 } else { (-dot(force, g) / curvature).max(-1.0) }
}

/// Into the friction cone, by shortening the tangential force.
fn project(c: &ConeRows, force: &mut [f64]) {
    if force[0] <= 0.0 {
        force.fill(0.0);
        return;
    }
    let length: f64 =
        (1..c.dim).map(|j| (force[j] / c.friction[j - 1]).powi(2)).sum::<f64>().sqrt();
    if length > force[0] {
        let shrink = force[0] / length;
        force[1..c.dim].iter_mut().for_each(|f| *f *= shrink);
    }
}

/// Permuted congruential generator, XSH-RR 64/32, always from the same seed.
struct Pcg32(u64);

impl Pcg32 {
    fn new() -> Self {
        let mut random = Self(0);
        random.next();
        random
    }

    fn next(&mut self) -> u32 {
        let old = self.0;
        self.0 = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mixed = (((old >> 18) ^ old) >> 27) & u64::from(u32::MAX);
        let mixed = u32::try_from(mixed).expect("masked to 32 bits");
        mixed.rotate_right(u32::try_from(old >> 59).expect("5 bits"))
    }

    fn shuffle<X>(&mut self, items: &mut [X]) {
        for i in (1..items.len()).rev() {
            let bound = u32::try_from(i + 1).expect("fewer blocks than 2³²");
            items.swap(i, (self.next() % bound) as usize);
        }
    }
}
