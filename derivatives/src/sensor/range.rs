//! Derivatives of rangefinders: a ray that turns with its sensor meets a surface that moves with its geom.
//!
//! At p = o + x v the ray meets a surface with normal n. With the velocity u of the geom at p, and that w of the point of the
//! ray at a fixed distance, the point stays on the surface:
//!
//! n · (w + v δx − u) = 0,   δp = w + v δx,   δn = ω × n + N (δp − u),   N the curvature of the surface.

use dualstep::model::{DataType, ObjType};
use dualstep::ray::Hit;
use dualstep::sensor::{RANGE_FIELDS, range_hits};
use dualstep::smooth::object_frame;
use dualstep::{Data, Model, Scalar};
use nalgebra::Vector3;

use super::Rows;
use super::object::{Subtrees, frame_motion, point_motion};
use super::pos::object;

/// A ray, and what it meets.
struct Sight<T: Scalar> {
    origin: Vector3<T>,
    dir: Vector3<T>,
    hit: Option<Hit<T>>,
}

/// What one degree of freedom does to the fields of a ray.
struct Change<T: Scalar> {
    dist: T,
    dir: Vector3<T>,
    origin: Vector3<T>,
    point: Vector3<T>,
    normal: Vector3<T>,
}

/// Adds ∂/∂q of rangefinder `i`. Values beyond the cut-off have zero rows.
pub(super) fn rows<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    i: usize,
    subtrees: &Subtrees,
    rows: &mut Rows<T>,
) {
    let data = m.sensor_intprm[i][0];
    let fields = || RANGE_FIELDS.into_iter().enumerate().filter(|(bit, _)| data >> bit & 1 == 1);
    let width: usize = fields().map(|(_, size)| size).sum();
    let sensor = object(m, i);
    let frame = object_frame(m, d, sensor.0, sensor.1);
    // depth is measured along the axis of a camera, and is the distance for a site
    let axis = frame.rot.column(2).into_owned();
    let slope = |dir: &Vector3<T>| match sensor.0 {
        ObjType::Site => T::one(),
        _ => -axis.dot(dir),
    };
    for (ray, (origin, dir, hit)) in range_hits(m, d, i).enumerate() {
        let sight = Sight { origin, dir, hit };
        let depth = slope(&dir);
        let mut add = |dof: usize, change: &Change<T>| {
            let mut row = ray * width;
            for (bit, size) in fields() {
                let vector = match bit {
                    1 => change.dir,
                    2 => change.origin,
                    3 => change.point,
                    _ => change.normal,
                };
                match (bit, size) {
                    (0, _) => rows.add(row, dof, change.dist),
                    (5, _) => rows.add(row, dof, change.dist * depth),
                    _ => (0..3).for_each(|k| rows.add(row + k, dof, vector[k])),
                }
                row += size;
            }
        };
        frame_motion(m, d, subtrees, sensor, |k, lin, turn| {
            let turned = |x: &Vector3<T>| turn.applied(&frame.rot, x);
            add(k, &sight.by_sensor(|at| lin + turned(&(at - frame.pos)), turned(&dir)));
        });
        let Some(hit) = &sight.hit else { continue };
        let point = origin + dir * hit.dist;
        for (k, rot, lin) in point_motion(m, d, m.geom_bodyid[hit.geom], &point) {
            add(k, &sight.by_geom(hit, &rot, &lin));
        }
    }
    cut_off(m, d, i, rows);
}

impl<T: Scalar> Sight<T> {
    /// `moved` is the displacement of a point that moves with the sensor, `turned` that of the direction.
    fn by_sensor(
        &self,
        moved: impl Fn(&Vector3<T>) -> Vector3<T>,
        turned: Vector3<T>,
    ) -> Change<T> {
        let (zero, still) = (Vector3::zeros(), T::zero());
        let origin = moved(&self.origin);
        let Some(hit) = &self.hit else {
            return Change { dist: still, dir: zero, origin, point: zero, normal: zero };
        };
        let carried = moved(&(self.origin + self.dir * hit.dist));
        let dist = -hit.normal.dot(&carried) / hit.normal.dot(&self.dir);
        let point = carried + self.dir * dist;
        Change { dist, dir: turned, origin, point, normal: hit.curvature * point }
    }

    /// The geom turns by `rot`, and moves by `lin` where the ray meets it.
    fn by_geom(&self, hit: &Hit<T>, rot: &Vector3<T>, lin: &Vector3<T>) -> Change<T> {
        let zero = Vector3::zeros();
        let dist = hit.normal.dot(lin) / hit.normal.dot(&self.dir);
        let point = self.dir * dist;
        let normal = rot.cross(&hit.normal) + hit.curvature * (point - lin);
        Change { dist, dir: zero, origin: zero, point, normal }
    }
}

fn cut_off<T: Scalar>(m: &Model, d: &Data<T>, i: usize, rows: &mut Rows<T>) {
    let (adr, cutoff, n) = (m.sensor_adr[i], m.sensor_cutoff[i], rows.columns);
    if cutoff <= 0.0 {
        return;
    }
    for row in 0..m.sensor_dim[i] {
        let x = d.sensordata[adr + row].re();
        let clamped = match m.sensor_datatype[i] {
            DataType::Real => x.abs() >= cutoff,
            DataType::Positive => x >= cutoff,
            _ => false,
        };
        if clamped {
            rows.values[row * n..(row + 1) * n].fill(T::zero());
        }
    }
}
