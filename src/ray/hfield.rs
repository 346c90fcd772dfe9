//! Rays against height fields: a box below, triangles above, and the sides between them.

use nalgebra::Vector3;

use super::mesh::{plane_of, triangle_distance};
use super::primitive::box_crossings;
use super::surface::{Crossing, Ray, nearer};
use crate::model::Model;

/// A height field: sizes and heights.
struct Field<'a> {
    /// Half width, half depth, height, thickness of the base \[m\].
    size: [f64; 4],
    nrow: usize,
    ncol: usize,
    /// Heights in units of `size[2]`, row by row (nrow × ncol).
    data: &'a [f64],
}

impl Field<'_> {
    /// Distance between columns, between rows \[m\].
    #[expect(clippy::cast_precision_loss, reason = "numbers of columns")]
    fn spacing(&self) -> [f64; 2] {
        [2.0 * self.size[0] / (self.ncol - 1) as f64, 2.0 * self.size[1] / (self.nrow - 1) as f64]
    }

    /// Grid point.
    #[expect(clippy::cast_precision_loss, reason = "numbers of columns")]
    fn vertex(&self, row: usize, col: usize) -> Vector3<f64> {
        let [dx, dy] = self.spacing();
        let x = dx * col as f64 - self.size[0];
        let y = dy * row as f64 - self.size[1];
        Vector3::new(x, y, self.height(row, col) * self.size[2])
    }

    fn height(&self, row: usize, col: usize) -> f64 {
        self.data[row * self.ncol + col]
    }
}

/// First crossing with height field `id`, ray in the frame of its geom.
///
/// The base reaches from 0 down. The terrain is searched only where the ray crosses the box above it.
///
/// Source: MuJoCo `mj_rayHfield`.
pub(super) fn crossing(m: &Model, id: usize, ray: &Ray<f64>) -> Option<Crossing> {
    let (nrow, ncol, adr) = (m.hfield_nrow[id], m.hfield_ncol[id], m.hfield_adr[id]);
    let size = m.hfield_size[id];
    let field = Field { size, nrow, ncol, data: &m.hfield_data[adr..adr + nrow * ncol] };
    let boxed = |low: f64, high: f64| {
        let centre = Vector3::new(0.0, 0.0, 0.5 * (low + high));
        let half = Vector3::new(size[0], size[1], 0.5 * (high - low));
        box_crossings(&centre, &half, ray)
    };
    let base = boxed(-size[3], 0.0).into_iter().fold(None, nearer);
    let faces = boxed(0.0, size[2]);
    let Some(entry) = faces.into_iter().fold(None, nearer) else { return base };

    // from inside the box there is one crossing, from outside two
    let exit = faces.iter().flatten().fold(entry.dist, |far, c| far.max(c.dist));
    let begin = if exit > entry.dist { entry.dist } else { 0.0 };
    let nearest = nearer(base, terrain(&field, ray, [begin, exit]));
    faces[..4].iter().enumerate().fold(nearest, |nearest, (side, face)| {
        nearer(nearest, face.filter(|c| is_below_rim(&field, side, &ray.at(c.dist))))
    })
}

/// First crossing with the triangles under a segment of the ray.
fn terrain(field: &Field<'_>, ray: &Ray<f64>, segment: [f64; 2]) -> Option<Crossing> {
    let [a, b] = segment.map(|x| ray.at(x));
    let [dx, dy] = field.spacing();
    let columns = cells(a.x, b.x, field.size[0], dx, field.ncol);
    let mut nearest: Option<(f64, [Vector3<f64>; 3])> = None;
    for row in cells(a.y, b.y, field.size[1], dy, field.nrow) {
        for col in columns.clone() {
            let [p, q] = [field.vertex(row, col), field.vertex(row + 1, col + 1)];
            let [right, up] = [field.vertex(row, col + 1), field.vertex(row + 1, col)];
            for triangle in [[p, right, q], [p, q, up]] {
                if let Some(dist) = triangle_distance(&triangle, ray)
                    && nearest.as_ref().is_none_or(|(best, _)| dist < *best)
                {
                    nearest = Some((dist, triangle));
                }
            }
        }
    }
    nearest.map(|(dist, triangle)| Crossing { dist, surface: plane_of(&triangle) })
}

/// Cells between two coordinates along one side of the grid, and one more on each end.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the grid before"
)]
fn cells(a: f64, b: f64, half: f64, step: f64, points: usize) -> std::ops::Range<usize> {
    let [low, high] = [a.min(b), a.max(b)].map(|x| (x + half) / step);
    let first = (low.floor() - 1.0).max(0.0) as usize;
    let last = (high.ceil() + 1.0).max(0.0) as usize;
    first..last.min(points - 1)
}

/// True if a point on a side of the upper box is below the edge of the terrain. Sides: −x, +x, −y, +y.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "clamped to the grid before"
)]
fn is_below_rim(field: &Field<'_>, side: usize, p: &Vector3<f64>) -> bool {
    let [dx, dy] = field.spacing();
    let along_y = side < 2;
    let (place, points) = if along_y {
        ((p.y + field.size[1]) / dy, field.nrow)
    } else {
        ((p.x + field.size[0]) / dx, field.ncol)
    };
    let first = (place.floor().max(0.0) as usize).min(points - 2);
    let height = |i: usize| match side {
        0 => field.height(i, 0),
        1 => field.height(i, field.ncol - 1),
        2 => field.height(0, i),
        _ => field.height(field.nrow - 1, i),
    };
    let fraction = place - first as f64;
    let rim = height(first) * (1.0 - fraction) + height(first + 1) * fraction;
    p.z / field.size[2] < rim
}
