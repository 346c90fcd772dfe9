//! Broad phase: pairs of bodies that may touch.

use super::driver::pairs_of;
use crate::data::Data;
use crate::model::options::disable;
use crate::model::{GeomType, Model, WORLD};
use crate::scalar::Scalar;

/// Boxes grow by this fraction of their distance from the origin and of their size: rounding must not keep
/// shapes that touch exactly from the narrow phase, which decides.
const ROUNDING: f64 = 1e-12;

/// Box along the world's axes around all geoms of a body, margins and gaps included \[m\].
#[derive(Clone, Copy, Debug)]
struct Bounds {
    body: usize,
    lower: [f64; 3],
    upper: [f64; 3],
}

/// Memory of the broad phase.
#[derive(Clone, Debug, Default)]
pub(crate) struct BroadPhase {
    bounds: Vec<Bounds>,
    /// Pairs of bodies, the smaller number first, ascending, each once.
    pub pair: Vec<[usize; 2]>,
}

impl BroadPhase {
    /// Memory for a model.
    pub(crate) fn new(m: &Model) -> Self {
        Self {
            bounds: Vec::with_capacity(m.nbody),
            pair: Vec::with_capacity(2 * pairs_of(m.nbody)),
        }
    }
}

/// Pairs of bodies whose boxes overlap and that no filter of bodies discards, sorted. The world, and bodies
/// without degrees of freedom that carry a plane, have no boxes and pair with every body. `extra` \[m\] adds to the
/// distance at which boxes count as overlapping.
///
/// - reads  `geom_xpos`, `geom_xmat`
/// - writes `pair`
///
/// Sweep and prune: boxes sorted by their lower end along the axis on which they are spread most.
///
/// Source: Baraff, Witkin, *Dynamic simulation of non-penetrating flexible bodies*, SIGGRAPH 1992;
/// MuJoCo `mj_broadphase`.
pub(crate) fn broad_phase<T: Scalar>(m: &Model, d: &Data<T>, extra: f64, broad: &mut BroadPhase) {
    let BroadPhase { bounds, pair } = broad;
    pair.clear();
    let mut push = |a: usize, b: usize| {
        if keep_body_pair(m, a, b) {
            pair.push([a.min(b), a.max(b)]);
        }
    };

    // bodies that are everywhere
    for a in (0..m.nbody).filter(|&b| is_everywhere(m, b)) {
        (0..m.nbody).for_each(|b| push(a, b));
    }

    // all others: sweep
    bounds.clear();
    let collides = |b: &usize| m.body_contype[*b] != 0 || m.body_conaffinity[*b] != 0;
    bounds.extend((WORLD + 1..m.nbody).filter(collides).map(|b| body_bounds(m, d, extra, b)));
    let axis = widest_axis(bounds);
    bounds
        .sort_unstable_by(|a, b| a.lower[axis].total_cmp(&b.lower[axis]).then(a.body.cmp(&b.body)));
    for (i, a) in bounds.iter().enumerate() {
        let reached = bounds[i + 1..].iter().take_while(|b| b.lower[axis] <= a.upper[axis]);
        for b in reached {
            if (0..3).all(|k| a.lower[k] <= b.upper[k] && b.lower[k] <= a.upper[k]) {
                push(a.body, b.body);
            }
        }
    }

    pair.sort_unstable();
    pair.dedup();
}

/// True for bodies that the sweep does not bound: the world, and static or mocap bodies with a plane.
fn is_everywhere(m: &Model, b: usize) -> bool {
    let (first, number) = (m.body_geomadr[b], m.body_geomnum[b]);
    let mut types = m.geom_type.iter().skip(first).take(number);
    number > 0
        && (b == WORLD
            || m.body_dofnum[m.body_weldid[b]] == 0 && types.any(|t| *t == GeomType::Plane))
}

/// Filters of bodies, in MuJoCo's order: welded together, neither can move, parent and child, contact bits.
///
/// Parents and children collide if the filter is disabled, or if one of them is the world (or welded to it).
///
/// Source: MuJoCo manual, "Selection"; `filterBodyPair`.
pub(crate) fn keep_body_pair(m: &Model, a: usize, b: usize) -> bool {
    let weld = [a, b].map(|body| m.body_weldid[body]);
    if weld[0] == weld[1] || weld.iter().all(|&w| m.body_dofnum[w] == 0) {
        return false;
    }
    let filters_parent = !m.opt.disabled(disable::FILTERPARENT) && !weld.contains(&WORLD);
    let parent = weld.map(|w| m.body_weldid[m.body_parentid[w]]);
    if filters_parent && (weld[0] == parent[1] || weld[1] == parent[0]) {
        return false;
    }
    let (contype, conaffinity) = (&m.body_contype, &m.body_conaffinity);
    contype[a] & conaffinity[b] != 0 || contype[b] & conaffinity[a] != 0
}

/// Box around the geoms of a body: for each geom the smaller of its bounding box and its bounding sphere.
fn body_bounds<T: Scalar>(m: &Model, d: &Data<T>, extra: f64, body: usize) -> Bounds {
    let (mut lower, mut upper) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    let first = m.body_geomadr[body];
    for g in first..first + m.body_geomnum[body] {
        let (aabb, radius) = (&m.geom_aabb[g], m.geom_rbound[g]);
        let (margin, gap) = super::contact::margin_gap(m, [g, g], None);
        let reach = 0.5 * (margin + gap + extra);
        let (pos, mat) = (&d.geom_xpos[g], &d.geom_xmat[g]);
        for k in 0..3 {
            let row = [0, 1, 2].map(|i| mat[(k, i)].re());
            let origin = pos[k].re();
            let center = origin + row[0] * aabb[0] + row[1] * aabb[1] + row[2] * aabb[2];
            let half = (0..3).map(|i| (row[i] * aabb[3 + i]).abs()).sum::<f64>();
            let reach = reach + ROUNDING * (origin.abs() + radius);
            lower[k] = lower[k].min((origin - radius).max(center - half) - reach);
            upper[k] = upper[k].max((origin + radius).min(center + half) + reach);
        }
    }
    Bounds { body, lower, upper }
}

/// Axis on which the centres of the boxes have the largest variance.
fn widest_axis(bounds: &[Bounds]) -> usize {
    let variance = |k: usize| {
        let center = |b: &Bounds| 0.5 * (b.lower[k] + b.upper[k]);
        let mean = bounds.iter().map(center).sum::<f64>() / bounds.len().max(1) as f64;
        bounds.iter().map(|b| (center(b) - mean).powi(2)).sum::<f64>()
    };
    (1..3).fold(0, |widest, k| if variance(k) > variance(widest) { k } else { widest })
}
