//! Distance of two solids: Gilbert, Johnson, Keerthi.
//!
//! Sources: Gilbert, Johnson, Keerthi, *A fast procedure for computing the distance between complex objects
//! in three-dimensional space*, IEEE J. Robotics and Automation 4 (1988); MuJoCo nativeccd (`mjc_ccd`), for
//! when to stop.

use nalgebra::Vector3;

use super::simplex::Simplex;
use super::solid::Pair;
use crate::MINVAL;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// Most iterations (`ccd_iterations`).
    pub(crate) iterations: usize,
    /// Accuracy of distances between smooth shapes \[m\] (`ccd_tolerance`).
    pub(crate) tolerance: f64,
}

/// The end of a search: nearest points, or at distance zero a simplex that contains the origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near {
    /// Distance \[m\].
    pub(crate) dist: f64,
    /// Nearest points \[m\].
    pub(crate) x: [Vector3<f64>; 2],
    /// Vertices of A − B around its nearest point.
    pub(crate) simplex: Simplex,
    /// True if a plane is known to be between the solids.
    pub(crate) separated: bool,
}

/// Nearest points of two solids, none if they are more than `cutoff` apart. At zero, only whether they overlap.
pub(crate) fn gjk(pair: &mut Pair, stop: Stop, cutoff: f64) -> Option<Near> {
    let discrete = pair.is_discrete();
    let (gap, touching) = if discrete {
        (0.0, MINVAL)
    } else {
        (0.5 * (stop.tolerance * stop.tolerance), stop.tolerance)
    };
    let mut near = Near { dist: 0.0, x: pair.centers(), simplex: Simplex::new(), separated: false };
    let mut x = near.x[0] - near.x[1];
    let (mut norm, mut before) = (x.norm(), 0.0);
    let mut k = 0;
    while k < stop.iterations {
        if norm < touching || f64::abs(before - norm) < MINVAL {
            break;
        }
        let new = pair.support(&-(x * (1.0 / norm)));
        if x.dot(&(x - new.w)) < gap {
            break;
        }
        // the distance is at least lower / norm
        let lower = x.dot(&new.w);
        if lower > 0.0 && (cutoff <= 0.0 || lower >= cutoff * norm) {
            return None;
        }
        near.simplex.push(new);
        near.simplex.reduce();
        x = near.simplex.combine(|v| v.w);
        (before, norm) = (norm, x.norm());
        if near.simplex.vertices().len() == 4 {
            break;
        }
        k += 1;
    }
    if !near.simplex.vertices().is_empty() {
        near.x = [0, 1].map(|i| near.simplex.combine(|v| v.p[i]));
    }
    if norm > 0.0 {
        let last = pair.support(&-(x * (1.0 / norm)));
        near.separated = x.dot(&last.w) > 0.0;
    }
    let inside = near.simplex.vertices().len() == 4 && !near.separated;
    near.dist = if inside { 0.0 } else { norm };
    Some(near)
}
