//! Featherstone 2008 (and 2005): what branches save in calculating and factoring the joint-space inertia matrix.

use dualstep::forward::{fwd_position, fwd_velocity};
use dualstep::linalg::tree_ldl;
use dualstep::smooth::{acceleration, crb, factor_m, rne};
use dualstep::{Data, Model};
use dualstep_validation::random_tree::random_state;
use serde::Deserialize;

use super::trees::Tree;
use super::{Claim, Reproduction};
use crate::config::{Config, Count, Positive};
use crate::findings::{Findings, Table};
use crate::fit::{line, order};
use crate::plot::{Axis, Chart, Curve, Figure};
use crate::stopwatch::{Task, times};
use crate::studies::StudyError;

paper!(
    "2008-featherstone-rbda",
    "R. Featherstone: Rigid Body Dynamics Algorithms. Springer 2008, ch. 5 and 6; and: Efficient \
               Factorization of the Joint-Space Inertia Matrix for Branched Kinematic Trees. International Journal \
               of Robotics Research 24(6), 2005.",
    "Branches make the inertia matrix of a kinematic tree sparse, its factor keeps the sparsity, and on a \
            humanoid that more than halves the time of forward dynamics against a chain of the same size."
);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    seed: u64,
    sizes: Vec<Count>,
    leg: Count,
    batches: Count,
    batch_s: Positive,
}

/// Shapes of trees.
const SHAPES: [&str; 3] = ["chain", "binary tree", "spider"];

/// What is timed, in this order.
const TASKS: [&str; 3] = ["inverse dynamics", "inertia matrix", "factorization"];

/// What is counted and measured of a tree.
struct Found {
    n: f64,
    /// Entries of M, divisions, multiplications with subtractions.
    counts: [f64; 3],
    /// Median times \[µs\].
    us: [f64; 3],
}

fn run(config: &Config) -> Result<Reproduction, StudyError> {
    let s: Settings = config.read()?;
    let mut found: [Vec<Found>; 3] = [const { Vec::new() }; 3];
    let mut pattern = 0.0_f64;
    for size in &s.sizes {
        let n = size.get();
        let trees = [Tree::chain(n), Tree::binary(n), Tree::spider(n, s.leg.get())];
        for (tree, found) in trees.iter().zip(&mut found) {
            let m = tree.model(s.seed)?;
            let d = start(&m, s.seed);
            pattern = pattern.max(difference(&m, &d));
            let us = measure(&m, &d, &s);
            found.push(Found { n: n as f64, counts: counts(&m), us });
        }
    }
    let chain = Tree { floating: true, ..Tree::chain(25) }.model(s.seed)?;
    let humanoid = Tree::humanoid(2, 4).model(s.seed)?;
    let ratio = {
        let mut tasks = [&chain, &humanoid].map(|m| forward_dynamics(m, s.seed));
        let spreads = times(&mut tasks, s.batches.get(), s.batch_s.get());
        spreads[0].median / spreads[1].median
    };
    let products = [&chain, &humanoid].map(|m| counts(m)[2]);

    let tables = vec![count_table(&found), time_table(&found)];
    let findings = Findings { tables, figure: figure(&found) };
    let mut claims = counted(&found);
    let what = "‖LᵀDL − M‖/‖M‖, no entry outside of the pattern";
    claims.push(Claim::measured(what, None, pattern, [0.0, 1e-13]).up_to(100.0));
    claims.extend(grown(&found));
    let what = "products of 30 dofs, chain / humanoid";
    let any = [1.0, f64::INFINITY];
    claims.push(Claim::measured(what, None, products[0] / products[1], any).up_to(1.0));
    let what = "time of forward dynamics of 30 dofs, chain / humanoid";
    claims.push(Claim::timed(what, Some(2.2), ratio, [1.8, 2.7]));
    Ok(Reproduction { claims, findings })
}

/// A random state, with everything that depends on it.
fn start(m: &Model, seed: u64) -> Data<f64> {
    let mut d = Data::new(m);
    random_state(seed, m, &mut d);
    fwd_position(m, &mut d);
    fwd_velocity(m, &mut d);
    d
}

/// Entries of M; divisions, and multiplications with subtractions, of its factorization: counted along the loops
/// of `tree_ldl::factor` over the pattern that the model has.
fn counts(m: &Model) -> [f64; 3] {
    let (mut divisions, mut products) = (0_usize, 0_usize);
    for k in 0..m.nv {
        for p in 0..m.M_rownnz[k] - 1 {
            // l = M(k, p) / D(k); then row p, up to its diagonal, loses l times row k
            divisions += 1;
            products += p + 1;
        }
    }
    [m.M_rownnz.iter().sum::<usize>() as f64, divisions as f64, products as f64]
}

/// Largest difference between Lᵀ D L and M, relative to the largest entry of M, all entries counted: those
/// outside of the pattern, where the factor has none, as well.
fn difference(m: &Model, d: &Data<f64>) -> f64 {
    let nv = m.nv;
    let dense = |values: &[f64], diagonal: Option<f64>| {
        let mut full = vec![0.0; nv * nv];
        for i in 0..nv {
            for e in m.M_rowadr[i]..m.M_rowadr[i] + m.M_rownnz[i] {
                let unit = diagonal.filter(|_| m.M_colind[e] == i);
                full[i * nv + m.M_colind[e]] = unit.unwrap_or(values[e]);
            }
        }
        full
    };
    let (M, L) = (dense(&d.qM, None), dense(&d.qLD, Some(1.0)));
    let (mut worst, mut scale) = (0.0_f64, 0.0_f64);
    for (i, j) in (0..nv).flat_map(|i| (0..=i).map(move |j| (i, j))) {
        let product: f64 = (i..nv).map(|k| L[k * nv + i] * L[k * nv + j] / d.qLDiagInv[k]).sum();
        worst = worst.max((product - M[i * nv + j]).abs());
        scale = scale.max(M[i * nv + j].abs());
    }
    worst / scale
}

fn measure(m: &Model, d: &Data<f64>, s: &Settings) -> [f64; 3] {
    let (mut d1, mut d2) = (d.clone(), d.clone());
    let (mut factor, mut inverse) = (d.qM.clone(), d.qLDiagInv.clone());
    let mut tasks = [
        Task::new(move || rne(m, &mut d1)),
        Task::new(move || crb(m, &mut d2)),
        Task::new(move || {
            factor.copy_from_slice(&d.qM);
            let _ = tree_ldl::factor(m, "M", &mut factor, &mut inverse);
        }),
    ];
    let spreads = times(&mut tasks, s.batches.get(), s.batch_s.get());
    std::array::from_fn(|k| spreads[k].median)
}

/// Inertia matrix, factorization, bias, and solution: forward dynamics where positions and velocities of bodies
/// are known.
fn forward_dynamics(m: &Model, seed: u64) -> Task<'_> {
    let mut d = start(m, seed);
    Task::new(move || {
        crb(m, &mut d);
        factor_m(m, &mut d);
        rne(m, &mut d);
        acceleration(m, &mut d);
    })
}

/// What the formulas of the book say about seven bodies, n = 7 and depths d of 1, 2, 2, 3, 3, 3, 3 in the binary
/// tree.
fn counted(found: &[Vec<Found>; 3]) -> Vec<Claim> {
    let of_seven = |shape: usize| {
        let seven = found[shape].iter().find(|f| f.n == 7.0);
        seven.map_or([f64::NAN; 3], |f| f.counts)
    };
    let (chain, binary) = (of_seven(0), of_seven(1));
    let n = 7.0;
    vec![
        Claim::counted("chain of 7: entries of M, n(n+1)/2", n * (n + 1.0) / 2.0, chain[0]),
        Claim::counted("chain of 7: divisions, n(n−1)/2", n * (n - 1.0) / 2.0, chain[1]),
        Claim::counted("chain of 7: products, n(n²−1)/6", n * (n * n - 1.0) / 6.0, chain[2]),
        Claim::counted("binary tree of 7: entries of M, Σd", 17.0, binary[0]),
        Claim::counted("binary tree of 7: divisions, Σ(d−1)", 10.0, binary[1]),
        Claim::counted("binary tree of 7: products, Σd(d−1)/2", 14.0, binary[2]),
    ]
}

/// What grows how with the size of trees.
fn grown(found: &[Vec<Found>; 3]) -> Vec<Claim> {
    let [chain, binary, spider] = found;
    let exponent = |found: &[Found], value: &dyn Fn(&Found) -> f64| {
        let points: Vec<_> = found.iter().map(|f| (f.n, value(f))).collect();
        // the larger trees: what is left of constant terms is small there
        order(&points[points.len() / 2..], |_| true)
    };
    let (entries, products) = (|f: &Found| f.counts[0], |f: &Found| f.counts[2]);
    let r_squared = |x: &dyn Fn(&Found) -> f64, task: usize| {
        let points: Vec<_> = found.iter().flatten().map(|f| (x(f), f.us[task])).collect();
        line(&points).r_squared
    };
    let (claim, timed) = (Claim::measured, Claim::timed);
    let cube = exponent(chain, &products);
    let (tree, linear) = (exponent(binary, &products), exponent(spider, &products));
    let inverse = exponent(chain, &|f| f.us[0]);
    let explained = [r_squared(&entries, 1), r_squared(&products, 2)];
    vec![
        claim("exponent of products in n, chain", Some(3.0), cube, [2.9, 3.1]),
        claim("exponent of products in n, binary tree", None, tree, [1.0, 2.0]).up_to(1.2),
        claim("exponent of products in n, spider", Some(1.0), linear, [0.9, 1.1]),
        timed("exponent of inverse dynamics in n, chain", Some(1.0), inverse, [0.8, 1.2]),
        timed("R², time of the inertia matrix by entries of M", None, explained[0], [0.9, 1.0]),
        timed("R², time of the factorization by products", None, explained[1], [0.9, 1.0]),
    ]
}

fn count_table(found: &[Vec<Found>; 3]) -> Table {
    let mut table = Table::new("count", &["entries of M", "divisions", "products"]);
    for (shape, found) in SHAPES.iter().zip(found) {
        for Found { n, counts, .. } in found {
            table.push(format!("{shape} of {n}"), counts);
        }
    }
    table
}

fn time_table(found: &[Vec<Found>; 3]) -> Table {
    let mut table = Table::new("time [µs]", &TASKS);
    for (shape, found) in SHAPES.iter().zip(found) {
        for Found { n, us, .. } in found {
            table.push(format!("{shape} of {n}"), us);
        }
    }
    table
}

fn figure(found: &[Vec<Found>; 3]) -> Figure {
    let curves = |value: &dyn Fn(&Found) -> (f64, f64)| -> Vec<Curve> {
        let curve = |(shape, found): (&&str, &Vec<Found>)| {
            Curve::new(*shape, found.iter().map(value).collect())
        };
        SHAPES.iter().zip(found).map(curve).collect()
    };
    let n = || Axis::log("degrees of freedom n", "1");
    let mut counts = curves(&|f| (f.n, f.counts[2]));
    let last = |k: usize| found[k].last().map_or((1.0, 1.0), |f| (0.4 * f.n, f.counts[2]));
    let (chain, spider) = (last(0), last(2));
    counts.push(Curve::slope_above("n³", 3.0, (chain.0, 0.2 * chain.1)));
    counts.push(Curve::slope("n", 1.0, (spider.0, 0.2 * spider.1)));
    let mut rne = curves(&|f| (f.n, f.us[0]));
    if let Some(f) = found[2].last() {
        rne.push(Curve::slope("n", 1.0, (0.4 * f.n, 0.25 * f.us[0])));
    }
    let chart = |title: &str, x, y, curves| Chart { title: title.to_owned(), x, y, curves };
    let charts = vec![
        chart("factorization, counted", n(), Axis::log("products", "1"), counts),
        chart(
            "factorization, timed",
            Axis::log("products", "1"),
            Axis::log("time", "µs"),
            curves(&|f| (f.counts[2], f.us[2])),
        ),
        chart(
            "inertia matrix, timed",
            Axis::log("entries of M", "1"),
            Axis::log("time", "µs"),
            curves(&|f| (f.counts[0], f.us[1])),
        ),
        chart("inverse dynamics, timed", n(), Axis::log("time", "µs"), rne),
    ];
    let title = "What branches save".to_owned();
    Figure { title, columns: 2, charts }
}
