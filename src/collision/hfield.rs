//! Height fields: a prism under each triangle of the surface, down to the base.

use nalgebra::{Matrix3, Vector3};

use super::contact::Touch;
use super::convex::{Shape, Solid};
use super::primitive::Placed;
use crate::model::Model;
use crate::scalar::Scalar;

/// Three lower vertices, and above each of them an upper one, in the frame of the height field \[m\].
pub(super) type Prism = [Vector3<f64>; 6];

/// A height field in its frame.
pub(super) struct HeightField<'a> {
    /// Half lengths along x and y, height, depth of the base \[m\].
    size: [f64; 4],
    nrow: usize,
    ncol: usize,
    /// Elevations in [0, 1], row by row; rows along y, columns along x.
    elevation: &'a [f64],
}

/// A box along the axes of the height field \[m\].
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// Least coordinates.
    pub(super) lower: Vector3<f64>,
    /// Greatest coordinates.
    pub(super) upper: Vector3<f64>,
}

impl Extent {
    /// Box around a solid.
    pub(super) fn new(shape: Shape, pos: Vector3<f64>, mat: Matrix3<f64>) -> Self {
        let mut solid = Solid::new(shape, pos, mat);
        let mut end = |k: usize, sign: f64| solid.support(&Vector3::ith(k, sign)).0[k];
        Self {
            lower: Vector3::from_fn(|k, _| end(k, -1.0)),
            upper: Vector3::from_fn(|k, _| end(k, 1.0)),
        }
    }
}

impl<'a> HeightField<'a> {
    /// Height field `h` of a model.
    pub(super) fn new(m: &'a Model, h: usize) -> Self {
        let (nrow, ncol, start) = (m.hfield_nrow[h], m.hfield_ncol[h], m.hfield_adr[h]);
        let elevation = &m.hfield_data[start..start + nrow * ncol];
        Self { size: m.hfield_size[h], nrow, ncol, elevation }
    }

    /// Visits the prisms that come near a box, until `visit` returns false: row by row, in each row two prisms
    /// for each column.
    ///
    /// Source: MuJoCo `mjc_ConvexHField`.
    pub(super) fn visit_prisms(
        &self,
        near: &Extent,
        margin: f64,
        mut visit: impl FnMut(&Prism) -> bool,
    ) {
        let [half_x, half_y, height, base] = self.size;
        if near.lower.z - margin > height || near.upper.z + margin < -base {
            return;
        }
        let range = |axis: usize, half: f64, points: usize| {
            cells(near.lower[axis] - margin, near.upper[axis] + margin, half, points)
        };
        let (Some(columns), Some(rows)) =
            (range(0, half_x, self.ncol), range(1, half_y, self.nrow))
        else {
            return;
        };
        for row in rows {
            let (mut a, mut b) =
                (self.point(row + 1, columns.start), self.point(row, columns.start));
            for column in columns.clone() {
                for above in [1, 0] {
                    let c = self.point(row + above, column + 1);
                    let bottom = [a, b, c].map(|p| Vector3::new(p.x, p.y, -base));
                    let reaches = [a, b, c].iter().any(|p| p.z + margin >= near.lower.z);
                    if reaches && !visit(&[bottom[0], bottom[1], bottom[2], a, b, c]) {
                        return;
                    }
                    (a, b) = (b, c);
                }
            }
        }
    }

    /// A point of the surface.
    fn point(&self, row: usize, column: usize) -> Vector3<f64> {
        let along =
            |i: usize, half: f64, points: usize| 2.0 * half / (points - 1) as f64 * i as f64 - half;
        Vector3::new(
            along(column, self.size[0], self.ncol),
            along(row, self.size[1], self.nrow),
            self.elevation[row * self.ncol + column] * self.size[2],
        )
    }
}

/// Cells of a row of `points` points from −half to half that an interval touches; none if it is beyond.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the points"
)]
fn cells(lower: f64, upper: f64, half: f64, points: usize) -> Option<std::ops::Range<usize>> {
    if lower > half || upper < -half {
        return None;
    }
    let last = (points - 1) as f64;
    let place = |x: f64| (x + half) / (2.0 * half) * last;
    Some(
        place(lower).floor().clamp(0.0, last) as usize
            ..place(upper).ceil().clamp(0.0, last) as usize,
    )
}

/// The pose of `placed` in the frame of `frame`.
pub(super) fn relative<T: Scalar>(
    frame: &Placed<T>,
    placed: &Placed<T>,
) -> (Vector3<T>, Matrix3<T>) {
    (frame.mat.tr_mul(&(placed.pos - frame.pos)), frame.mat.tr_mul(placed.mat))
}

/// What was found in the frame of `frame`, seen from the world.
pub(super) fn to_world<T: Scalar>(frame: &Placed<T>, touch: &mut Touch<T>) {
    touch.pos = frame.pos + frame.mat * touch.pos;
    touch.normal = frame.mat * touch.normal;
}
