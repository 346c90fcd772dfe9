//! Convex solids in the world, each known by its support: the point that is furthest in a direction.
//!
//! Source: Gilbert, Johnson, Keerthi 1988; MuJoCo `mjc_initCCDObj` for which vertex wins among equals.

use nalgebra::{Matrix3, Vector3};

use super::manifold::Round;
use super::polytope::Polytope;
use crate::MINVAL;

/// A convex shape in its own frame. Lengths \[m\].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape<'a> {
    /// Ball of a radius; a point without.
    Ball(f64),
    /// Segment along z of a half length, swept by a ball of a radius.
    Capsule { radius: f64, half: f64 },
    /// Semi-axes.
    Ellipsoid(Vector3<f64>),
    /// Axis along z; and its caps as faces of a polytope.
    Cylinder { radius: f64, half: f64, caps: &'a Polytope },
    /// Half sizes, and the box as a polytope.
    Box(Vector3<f64>, &'a Polytope),
    /// Convex hull of a mesh.
    Mesh(&'a Polytope),
    /// Three lower vertices, and above each of them an upper one.
    Prism(&'a [Vector3<f64>; 6]),
}

impl<'a> Shape<'a> {
    /// True if it has finitely many supports.
    pub(crate) fn is_discrete(&self) -> bool {
        matches!(self, Self::Box(..) | Self::Mesh(_) | Self::Prism(_))
    }

    /// Its faces and its round side, if it can have several contacts.
    pub(crate) fn faces(&self) -> Option<(&'a Polytope, Option<Round>)> {
        match *self {
            Self::Box(_, polytope) | Self::Mesh(polytope) => Some((polytope, None)),
            Self::Capsule { radius, half } => {
                Some((Polytope::none(), Some(Round { radius, half, ends: true })))
            }
            Self::Cylinder { radius, half, caps } => {
                Some((caps, Some(Round { radius, half, ends: false })))
            }
            Self::Ball(_) | Self::Ellipsoid(_) | Self::Prism(_) => None,
        }
    }

    /// Without the ball that sweeps it, and the radius of that.
    pub(crate) fn core(&self) -> (Self, f64) {
        match *self {
            Self::Ball(radius) => (Self::Ball(0.0), radius),
            Self::Capsule { radius, half } => (Self::Capsule { radius: 0.0, half }, radius),
            other => (other, 0.0),
        }
    }
}

/// A solid in the world.
#[derive(Clone, Debug)]
pub(crate) struct Solid<'a> {
    /// Its shape.
    pub(crate) shape: Shape<'a>,
    /// Position of its frame \[m\].
    pub(crate) pos: Vector3<f64>,
    /// Orientation of its frame.
    pub(crate) mat: Matrix3<f64>,
    /// Thickness of a layer around it \[m\].
    pub(crate) layer: f64,
    /// Vertex at which the last search ended.
    last: Option<usize>,
}

impl<'a> Solid<'a> {
    pub(crate) fn new(shape: Shape<'a>, pos: Vector3<f64>, mat: Matrix3<f64>) -> Self {
        Self { shape, pos, mat, layer: 0.0, last: None }
    }

    /// A point inside.
    pub(crate) fn center(&self) -> Vector3<f64> {
        match self.shape {
            Shape::Prism(vert) => vert.iter().sum::<Vector3<f64>>() / 6.0,
            _ => self.pos,
        }
    }

    /// The furthest point in a direction, a unit vector in the world, and the number of the vertex it is.
    pub(crate) fn support(&mut self, direction: &Vector3<f64>) -> (Vector3<f64>, Option<usize>) {
        let (point, vertex) = match self.shape {
            Shape::Prism(vert) => {
                let best = prism_support(vert, direction);
                (vert[best], Some(best))
            }
            Shape::Ball(radius) => (direction * radius + self.pos, None),
            _ => {
                let (local, vertex) = self.local_support(&self.mat.tr_mul(direction));
                (self.mat * local + self.pos, vertex)
            }
        };
        (if self.layer > 0.0 { point + direction * self.layer } else { point }, vertex)
    }

    /// The same in its frame.
    fn local_support(&mut self, d: &Vector3<f64>) -> (Vector3<f64>, Option<usize>) {
        let along = |x: f64, half: f64| if x >= 0.0 { half } else { -half };
        match self.shape {
            Shape::Capsule { radius, half } => (d * radius + Vector3::z() * along(d.z, half), None),
            Shape::Ellipsoid(size) => {
                let scaled = d.component_mul(&size);
                let square = scaled.norm_squared();
                if square < MINVAL * MINVAL {
                    return (Vector3::x() * size.x, None);
                }
                (scaled.component_mul(&(size * (1.0 / square.sqrt()))), None)
            }
            Shape::Cylinder { radius, half, .. } => {
                let square = d.x * d.x + d.y * d.y;
                let scale = if square >= MINVAL * MINVAL { radius / square.sqrt() } else { 0.0 };
                (Vector3::new(scale * d.x, scale * d.y, along(d.z, half)), None)
            }
            Shape::Box(size, polytope) => {
                let upper = |k: usize| if d[k] >= 0.0 && size[k] > 0.0 { 1 << k } else { 0 };
                let corner = upper(0) | upper(1) | upper(2);
                (polytope.vert[corner], Some(corner))
            }
            Shape::Mesh(polytope) => {
                let best = polytope.support(d, self.last);
                self.last = Some(best);
                (polytope.vert[best], Some(best))
            }
            Shape::Ball(_) | Shape::Prism(_) => (Vector3::zeros(), None),
        }
    }
}

/// The vertex of a prism that is furthest in a direction: an upper one if that is not downward.
fn prism_support(vert: &[Vector3<f64>; 6], direction: &Vector3<f64>) -> usize {
    let first = if direction.z < 0.0 { 0 } else { 3 };
    let height = |v: usize| vert[v].dot(direction);
    (first + 1..first + 3).fold(first, |best, v| if height(v) > height(best) { v } else { best })
}

/// A vertex of A − B, or any support of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vertex {
    /// Difference of the two points \[m\].
    pub(crate) w: Vector3<f64>,
    /// Points of A and B \[m\].
    pub(crate) p: [Vector3<f64>; 2],
    /// Vertices of A and B, where they have such.
    pub(crate) id: [Option<usize>; 2],
}

/// Two solids A and B. All algorithms are about A − B, the set of differences of their points: the solids
/// touch if it contains the origin, and their distance is its distance from the origin.
#[derive(Clone, Debug)]
pub(crate) struct Pair<'a> {
    /// A and B.
    pub(crate) solid: [Solid<'a>; 2],
}

impl Pair<'_> {
    /// The point of A − B that is furthest in a direction, a unit vector.
    pub(crate) fn support(&mut self, direction: &Vector3<f64>) -> Vertex {
        let (a, first) = self.solid[0].support(direction);
        let (b, second) = self.solid[1].support(&-direction);
        Vertex { w: a - b, p: [a, b], id: [first, second] }
    }

    /// True if the same support can repeat: both are polytopes, without layers.
    pub(crate) fn is_discrete(&self) -> bool {
        self.solid.iter().all(|s| s.layer == 0.0 && s.shape.is_discrete())
    }

    /// True if two supports are the same vertices. Those of prisms have no numbers in MuJoCo, so they count as
    /// the same; a deep search in a height field ends earlier for that, at a smaller depth.
    pub(crate) fn repeats(&self, v: &Vertex, w: &Vertex) -> bool {
        (0..2).all(|k| matches!(self.solid[k].shape, Shape::Prism(_)) || v.id[k] == w.id[k])
    }

    /// Points inside of both.
    pub(crate) fn centers(&self) -> [Vector3<f64>; 2] {
        [self.solid[0].center(), self.solid[1].center()]
    }
}
