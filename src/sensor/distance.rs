//! Sensors of the distance between geoms or bodies.

use std::ops::Range;

use super::{object, put3};
use crate::collision::{Separation, geom_distance, has_distance};
use crate::data::Data;
use crate::model::{Model, ObjType, SensorType};
use crate::scalar::Scalar;

/// Writes sensor `i`: the smallest signed distance of the pairs of geoms of its two objects if it is below the cut-off,
/// the normal from the first to the second, or the segment between them; the cut-off or zeros if there is none.
///
/// - reads `geom_xpos`, `geom_xmat`
///
/// Source: MuJoCo XML reference, "collision sensors"; `mj_sensorPos`.
pub(super) fn write<T: Scalar>(m: &Model, d: &mut Data<T>, i: usize, out: &mut [T]) {
    let cutoff = m.sensor_cutoff[i];
    let Some(mut memory) = d.scratch.collision.take() else { return };
    let mut nearest: Option<Separation<T>> = None;
    for (g1, g2) in pairs(m, i) {
        let found = geom_distance(m, d, [g1, g2], cutoff, &mut memory);
        let limit = nearest.as_ref().map_or(f64::INFINITY, |s| s.dist.re());
        nearest = found.filter(|s| s.dist.re() < limit).or(nearest);
    }
    d.scratch.collision = Some(memory);
    out.fill(T::zero());
    match (m.sensor_type[i], nearest) {
        (SensorType::GeomDist, None) => out[0] = T::lift(cutoff),
        (SensorType::GeomDist, Some(s)) => out[0] = s.dist,
        (SensorType::GeomNormal, Some(s)) => {
            let segment = s.fromto[1] - s.fromto[0];
            if segment.norm_squared().re() > 0.0 {
                put3(out, &segment.normalize());
            }
        }
        (SensorType::GeomFromTo, Some(s)) => {
            put3(&mut out[..3], &s.fromto[0]);
            put3(&mut out[3..], &s.fromto[1]);
        }
        _ => {}
    }
}

/// Pairs of geoms of the two objects of a sensor.
fn pairs(m: &Model, i: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    let first = geoms(m, m.sensor_objtype[i], object(m, i));
    let second = geoms(m, m.sensor_reftype[i], m.sensor_refid[i].unwrap_or(0));
    first.flat_map(move |g1| second.clone().map(move |g2| (g1, g2)))
}

fn geoms(m: &Model, kind: ObjType, id: usize) -> Range<usize> {
    match kind {
        ObjType::Body if m.body_geomnum[id] == 0 => 0..0,
        ObjType::Body => m.body_geomadr[id]..m.body_geomadr[id] + m.body_geomnum[id],
        _ => id..id + 1,
    }
}

/// True if the distances of all pairs of geoms of sensor `i` can be computed.
pub(super) fn supported(m: &Model, i: usize) -> bool {
    pairs(m, i).all(|(g1, g2)| has_distance(m, [g1, g2]))
}
