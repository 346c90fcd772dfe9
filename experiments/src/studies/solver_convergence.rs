//! Cost above the minimum against iterations of the constraint solvers.
//!
//! Each solver starts from the unconstrained acceleration, the same for all. Newton and conjugate gradients descend the
//! primal cost; PGS ascends the dual one, whose negative meets the primal cost at the minimum from below. For PGS the
//! primal cost of its acceleration is measured as well: it is what a simulation gets.

use dualstep::constraint::EfcState;
use dualstep::forward::forward_dynamics;
use dualstep::model::SolverType;
use dualstep::model::options::disable;
use dualstep::{Data, Model, step};
use nalgebra::DMatrix;
use serde::Deserialize;

use super::{Study, StudyError, first_state, models, norm};
use crate::config::{Config, Count, Positive};
use crate::findings::{Findings, Table};
use crate::plot::{Axis, Chart, Curve, Figure};

/// The study.
pub const STUDY: Study = Study {
    slug: "solver-convergence",
    title: "Convergence of the constraint solvers",
    about: "Cost above the minimum against iterations of Newton, CG and PGS, on a pile of boxes, a humanoid on the \
            floor, blocks that slide on elliptic cones, a frame with redundant equalities, and an arm with limits and \
            dry friction. All start from the unconstrained acceleration.",
    reading: "Gaps are relative to that of the unconstrained acceleration. The cost is strictly convex: all solvers have \
              one minimum to find, however redundant the rows are, and they find the same. Where the cost is made of \
              quadratic pieces Newton ends, as theory says, once it has found which rows are active; on elliptic cones it \
              converges quadratically. CG is bound by the condition number κ of M⁻¹H: (√κ − 1)/(√κ + 1) per iteration \
              on one quadratic piece, or as many iterations as there are independent active rows and one more. The bound \
              in the table is the smaller of the two; CG passes it by the iterations in which rows still change. PGS gains \
              digits at a rate that depends on how the rows are coupled: a few sweeps where they hardly are, as limits of \
              an arm, a hundred where equalities are redundant. Its dual cost approaches the minimum steadily, the \
              primal cost of its acceleration, which is what a simulation gets, does not.",
    config: include_str!("../../configs/solver-convergence.toml"),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(rename = "seed")]
    _seed: u64,
    iterations: Count,
    reached: Positive,
    scenes: Vec<Scene>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scene {
    model: String,
    time_s: Positive,
}

/// What is plotted.
const CURVES: [&str; 4] = ["Newton", "CG", "PGS, dual cost", "PGS, primal cost"];

fn run(config: &Config) -> Result<Findings, StudyError> {
    let s: Settings = config.read()?;
    let columns = ["degrees of freedom", "rows", "active rows", "κ of M⁻¹H", "bound of CG"];
    let mut scenes = Table::new("scene", &columns);
    let mut reached = Table::new("iterations until reached", &CURVES);
    let mut apart =
        Table::new("distance from Newton's acceleration", &["CG", "PGS", "gap at the end, PGS"]);
    let mut charts = Vec::new();
    for scene in &s.scenes {
        let m = models::load(&scene.model, config, "model")?;
        let d = state(&m, scene.time_s.get())?;
        let [newton, cg, pgs] = [SolverType::Newton, SolverType::Cg, SolverType::Pgs]
            .map(|solver| solve(&m, &d, solver, s.iterations.get()));
        let (newton, cg, pgs) = (newton?, cg?, pgs?);
        let lowest = |x: &Solution| x.costs.iter().copied().fold(f64::MAX, f64::min);
        let minimum = lowest(&newton).min(lowest(&cg));
        let scale = newton.costs[0] - minimum;
        let gaps = |costs: &[f64], sign: f64| -> Vec<(f64, f64)> {
            let gap = |(k, cost): (usize, &f64)| (k as f64, sign * (cost - minimum) / scale);
            costs.iter().enumerate().map(gap).collect()
        };
        let mut primal = Vec::new();
        for n in spread(s.iterations.get()) {
            let qacc = solve(&m, &d, SolverType::Pgs, n)?.d.qacc;
            primal.push((n as f64, (cost(&m, &d, &qacc)? - minimum) / scale));
        }
        let last = primal.last().map_or(f64::NAN, |p| p.1);
        let curves =
            [gaps(&newton.costs, 1.0), gaps(&cg.costs, 1.0), gaps(&pgs.costs, -1.0), primal];
        let first = |points: &Vec<(f64, f64)>| {
            points.iter().find(|p| p.1 <= s.reached.get()).map_or(f64::NAN, |p| p.0)
        };
        reached.push(&scene.model, &curves.each_ref().map(first));
        let condition = Condition::of(&m, &newton.d);
        let sizes = [m.nv as f64, newton.d.efc.nefc as f64, condition.active];
        let bound = condition.bound(s.reached.get());
        scenes.push(&scene.model, &[&sizes[..], &[condition.kappa, bound]].concat());
        let distances = [&cg, &pgs].map(|x| relative(&x.d.qacc, &newton.d.qacc));
        apart.push(&scene.model, &[&distances[..], &[last]].concat());
        charts.push(chart(&scene.model, curves, s.reached.get()));
    }
    let figure = Figure { title: STUDY.title.to_owned(), columns: charts.len().min(3), charts };
    Ok(Findings { tables: vec![scenes, reached, apart], figure })
}

/// The state after some time.
fn state(m: &Model, time_s: f64) -> Result<Data<f64>, StudyError> {
    let mut d = first_state(m);
    while d.time < time_s - 0.5 * m.opt.timestep {
        step(m, &mut d)?;
    }
    Ok(d)
}

/// Costs from the start on, and everything at the end.
struct Solution {
    costs: Vec<f64>,
    d: Data<f64>,
}

/// A model with the same constraints, and another solver.
fn with_solver(m: &Model, solver: SolverType, iterations: usize) -> Model {
    let mut m = m.clone();
    m.opt.solver = solver;
    m.opt.iterations = iterations;
    m.opt.tolerance = 0.0;
    m
}

/// Solves from the unconstrained acceleration, PGS from zero forces, without a tolerance.
fn solve(
    m: &Model,
    at: &Data<f64>,
    solver: SolverType,
    iterations: usize,
) -> Result<Solution, StudyError> {
    let mut m = with_solver(m, solver, iterations);
    m.opt.disableflags |= disable::WARMSTART;
    let mut d = Data::<f64>::new(&m);
    d.set_state_from(at);
    forward_dynamics(&m, &mut d)?;
    let costs = std::iter::once(d.solver.initial_cost);
    let costs = costs.chain(d.solver.iterations.iter().map(|i| i.cost)).collect();
    Ok(Solution { costs, d })
}

/// Primal cost of an acceleration: that of a solve that starts there and does not move. At most that of the
/// unconstrained acceleration, from which it would start otherwise.
fn cost(m: &Model, at: &Data<f64>, qacc: &[f64]) -> Result<f64, StudyError> {
    let m = with_solver(m, SolverType::Newton, 0);
    let mut d = Data::<f64>::new(&m);
    d.set_state_from(at);
    d.qacc_warmstart.copy_from_slice(qacc);
    forward_dynamics(&m, &mut d)?;
    Ok(d.solver.initial_cost)
}

/// Numbers from one on that lie apart on a logarithmic axis.
fn spread(last: usize) -> Vec<usize> {
    let next = |n: &usize| Some(n + (n / 4).max(1));
    let mut numbers: Vec<usize> =
        std::iter::successors(Some(1), next).take_while(|n| *n < last).collect();
    numbers.push(last);
    numbers
}

/// |x − reference| / |reference|.
fn relative(x: &[f64], reference: &[f64]) -> f64 {
    let difference: Vec<f64> = x.iter().zip(reference).map(|(x, r)| x - r).collect();
    norm(&difference) / norm(reference)
}

/// Conditioning of the cost at its minimum.
struct Condition {
    active: f64,
    /// Independent active rows.
    rank: f64,
    /// Condition number of M⁻¹H, H = M + JᵀDJ over the active rows; NaN where friction is on the surface of a cone.
    kappa: f64,
}

impl Condition {
    /// Of a solved state. The eigenvalues of M⁻¹H are one, and one more than those of L⁻¹JᵀDJL⁻ᵀ, with M = LLᵀ.
    fn of(m: &Model, d: &Data<f64>) -> Self {
        let mut inertia = DMatrix::zeros(m.nv, m.nv);
        for i in 0..m.nv {
            for e in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] {
                let j = m.M_colind[e];
                inertia[(i, j)] = d.qM[e];
                inertia[(j, i)] = d.qM[e];
            }
        }
        let efc = &d.efc;
        let is_active = |i: &usize| efc.state[*i] == EfcState::Quadratic;
        let active: Vec<usize> = (0..efc.nefc).filter(is_active).collect();
        let mut rows = DMatrix::zeros(m.nv, active.len());
        for (column, &i) in active.iter().enumerate() {
            let (columns, entries) = efc.row(i);
            for (&j, x) in columns.iter().zip(entries) {
                rows[(j, column)] = x * efc.D[i].sqrt();
            }
        }
        let on_cone = efc.state[..efc.nefc].contains(&EfcState::Cone);
        let known = inertia.cholesky().and_then(|l| l.l().solve_lower_triangular(&rows));
        let Some(scaled) = known.filter(|_| !on_cone) else {
            return Self { active: active.len() as f64, rank: f64::NAN, kappa: f64::NAN };
        };
        let singular = scaled.singular_values();
        let largest = singular.max();
        let rank = singular.iter().filter(|x| **x > 1e-12 * largest).count();
        let smallest = if rank < m.nv { 0.0 } else { singular.min() };
        let kappa = (1.0 + largest * largest) / (1.0 + smallest * smallest);
        Self { active: active.len() as f64, rank: rank as f64, kappa }
    }

    /// Iterations that CG needs at most for a relative gap: 4ρ²ᵏ ≤ gap, or all directions.
    fn bound(&self, gap: f64) -> f64 {
        let root = self.kappa.sqrt();
        let rate = (root - 1.0) / (root + 1.0);
        ((gap / 4.0).ln() / (2.0 * rate.ln())).ceil().min(self.rank + 1.0)
    }
}

fn chart(name: &str, curves: [Vec<(f64, f64)>; 4], reached: f64) -> Chart {
    let pairs = CURVES.iter().zip(curves).zip([0, 2, 1, 4]);
    let mut curves: Vec<Curve> =
        pairs.map(|((name, points), color)| Curve::new(*name, points).color(color)).collect();
    curves.push(Curve::level("reached", reached).color(6));
    let x = Axis::log("iterations", "1");
    let y = Axis::log("relative gap", "1").range(1e-17..10.0);
    Chart { title: name.to_owned(), x, y, curves }
}
