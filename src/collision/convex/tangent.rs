//! The nearest points of two solids as functions of their poses.
//!
//! What was found stays as it is; which features it lies on stays fixed. Where the points are on these features
//! follows from the equations of the closest points:
//!
//! ```text
//! b − a = D n      the points are opposite along the normal
//! e · n = 0        for each direction e in which a feature is straight
//! n · n = 1
//! ```
//!
//! with a = `s_A(n)` + straight parts, b = `s_B(−n)` + straight parts, s the support of the feature. By the implicit
//! function theorem one Newton step on dual numbers, from a solution in `f64`, gives their derivatives.
//!
//! Source: Krantz, Parks, *The Implicit Function Theorem* (2002), for the theorem.

use nalgebra::{Matrix3, SMatrix, SVector, Vector3};

use super::solid::{Shape, Solid};
use super::{Meeting, Touch};
use crate::collision::primitive::Placed;
use crate::scalar::{Dual, Scalar, lift3, lift33};

/// Unknowns: normal, distance, and two coordinates on straight features.
const N: usize = 6;
/// Most straight directions of both features together: more are redundant.
const MAX_STRAIGHT: usize = 2;
/// Spread of supports, in radii, from which on they are all around the cap of a cylinder.
const ON_CAP: f64 = 0.1;
/// Newton iterations to the solution in `f64`.
const MAX_NEWTON: usize = 20;
/// Change of the unknowns at which they have converged.
const CONVERGED: f64 = 1e-13;
/// Largest change of the normal by which the solution may be away from what was found.
const NEAR: f64 = 0.1;

/// Where on a solid a nearest point is, in the frame of the solid.
#[derive(Clone, Copy, Debug)]
enum Feature {
    /// A point, and directions in which it may move; zero ones do not count.
    Straight(Vector3<f64>, [Vector3<f64>; 2]),
    /// An ellipsoid, by its semi-axes.
    Ellipsoid(Vector3<f64>),
    /// A circle around the z axis: its radius and height; and whether the height may change.
    Circle(f64, f64, bool),
}

impl Feature {
    /// The feature of a solid that supports at given points, of which `point` is a mean.
    fn of(solid: &Solid, which: usize, meeting: &Meeting, point: &Vector3<f64>) -> Self {
        let local = |p: &Vector3<f64>| solid.mat.tr_mul(&(p - solid.pos));
        let support = meeting.vertex.map(|v| local(&v.p[which]));
        let here = local(point);
        let fixed = [Vector3::zeros(); 2];
        let along_z = [Vector3::z(), Vector3::zeros()];
        let both_ends = support.iter().any(|p| p.z > 0.0) && support.iter().any(|p| p.z < 0.0);
        let end = |half: f64| if support[0].z < 0.0 { -half } else { half };
        match solid.shape {
            Shape::Ball(_) => Self::Straight(Vector3::zeros(), fixed),
            Shape::Capsule { .. } if both_ends => {
                Self::Straight(Vector3::new(0.0, 0.0, here.z), along_z)
            }
            Shape::Capsule { half, .. } => Self::Straight(Vector3::z() * end(half), fixed),
            Shape::Ellipsoid(size) => Self::Ellipsoid(size),
            Shape::Cylinder { radius, .. } if both_ends => Self::Circle(radius, here.z, true),
            Shape::Cylinder { radius, half, .. } => {
                let spread = support.iter().map(|p| (p - support[0]).norm()).fold(0.0, f64::max);
                if spread > ON_CAP * radius {
                    let point = Vector3::new(here.x, here.y, end(half));
                    Self::Straight(point, [Vector3::x(), Vector3::y()])
                } else {
                    Self::Circle(radius, end(half), false)
                }
            }
            Shape::Box(_, polytope) | Shape::Mesh(polytope) => {
                Self::of_vertices(meeting.vertex.map(|v| v.id[which]), &here, |v| polytope.vert[v])
            }
            Shape::Prism(vert) => {
                Self::of_vertices(meeting.vertex.map(|v| v.id[which]), &here, |v| vert[v])
            }
        }
    }

    /// A vertex, an edge or a face of a polytope.
    fn of_vertices(
        id: [Option<usize>; 3],
        here: &Vector3<f64>,
        vertex: impl Fn(usize) -> Vector3<f64>,
    ) -> Self {
        let first = id[0].map_or(*here, &vertex);
        let from_first = |id: Option<usize>| id.map_or(Vector3::zeros(), |v| vertex(v) - first);
        let along = [from_first(id[1]), from_first(id[2])];
        let size = along[0].norm().max(along[1].norm());
        if size == 0.0 {
            return Self::Straight(first, along);
        }
        let unit = |v: Vector3<f64>| v.try_normalize(1e-9 * size).unwrap_or_else(Vector3::zeros);
        let longer = usize::from(along[0].norm() < size);
        let e = unit(along[longer]);
        let across = unit(along[1 - longer] - e * e.dot(&along[1 - longer]));
        // the point of the feature nearest to where it was found
        let offset = here - first;
        let point = first + e * e.dot(&offset) + across * across.dot(&offset);
        Self::Straight(point, [e, across])
    }

    /// Number of straight directions.
    fn straight(&self) -> usize {
        match self {
            Self::Straight(_, along) => along.iter().filter(|e| **e != Vector3::zeros()).count(),
            Self::Ellipsoid(_) => 0,
            Self::Circle(_, _, along) => usize::from(*along),
        }
    }

    /// The same without straight directions.
    fn fixed(self) -> Self {
        match self {
            Self::Straight(point, _) => Self::Straight(point, [Vector3::zeros(); 2]),
            Self::Circle(radius, height, _) => Self::Circle(radius, height, false),
            ellipsoid @ Self::Ellipsoid(_) => ellipsoid,
        }
    }

    /// The point that supports in a direction of the solid's frame.
    fn support<T: Scalar>(&self, direction: &Vector3<T>) -> Vector3<T> {
        match self {
            Self::Straight(point, _) => lift3(point),
            Self::Ellipsoid(size) => {
                let scaled = direction.component_mul(&lift3(size));
                scaled.component_mul(&lift3(size)) / scaled.norm_squared().sqrt()
            }
            Self::Circle(radius, height, _) => {
                let (x, y) = (direction.x, direction.y);
                let scale = T::lift(*radius) / (x * x + y * y).sqrt();
                Vector3::new(x * scale, y * scale, T::lift(*height))
            }
        }
    }

    /// Straight directions, the first `straight()` of them.
    fn along(&self) -> [Vector3<f64>; 2] {
        match self {
            Self::Straight(_, [first, second]) if *first == Vector3::zeros() => [*second, *first],
            Self::Straight(_, along) => *along,
            Self::Circle(..) | Self::Ellipsoid(_) => [Vector3::z(), Vector3::zeros()],
        }
    }
}

/// The equations of the closest points on two features.
struct Equations {
    feature: [Feature; 2],
}

/// A pose.
type Pose<T> = (Vector3<T>, Matrix3<T>);

impl Equations {
    /// Nearest points for given unknowns.
    fn points<T: Scalar>(&self, pose: &[Pose<T>; 2], u: &SVector<T, N>) -> [Vector3<T>; 2] {
        let n = Vector3::new(u[0], u[1], u[2]);
        let mut next = 4;
        [0, 1].map(|k| {
            let (pos, mat) = &pose[k];
            let direction = if k == 0 { n } else { -n };
            let mut local = self.feature[k].support(&mat.tr_mul(&direction));
            for e in &self.feature[k].along()[..self.feature[k].straight()] {
                local += lift3(e) * u[next];
                next += 1;
            }
            pos + mat * local
        })
    }

    /// What is zero at the solution.
    fn residual<T: Scalar>(&self, pose: &[Pose<T>; 2], u: &SVector<T, N>) -> SVector<T, N> {
        let n = Vector3::new(u[0], u[1], u[2]);
        let [a, b] = self.points(pose, u);
        let gap = b - a - n * u[3];
        let mut out = *u;
        for k in 0..3 {
            out[k] = gap[k];
        }
        out[3] = (n.norm_squared() - T::one()) * T::lift(0.5);
        let mut next = 4;
        for k in 0..2 {
            for e in &self.feature[k].along()[..self.feature[k].straight()] {
                out[next] = (pose[k].1 * lift3(e)).dot(&n);
                next += 1;
            }
        }
        out
    }

    /// Inverse of the derivative of the residual by the unknowns; none if it is singular.
    fn inverse(&self, pose: &[Pose<f64>; 2], u: &SVector<f64, N>) -> Option<SMatrix<f64, N, N>> {
        type D = Dual<N>;
        let pose = [0, 1].map(|k| (lift3::<D>(&pose[k].0), lift33::<D>(&pose[k].1)));
        let seeded = |i: usize| {
            D::from_parts(|part| if part == 0 { u[i] } else { f64::from(u8::from(part == i + 1)) })
        };
        let residual = self.residual(&pose, &SVector::<D, N>::from_fn(|i, _| seeded(i)));
        let jacobian = SMatrix::<f64, N, N>::from_fn(|i, j| residual[i].part(j + 1));
        let inverse = jacobian.try_inverse()?;
        inverse.iter().all(|x| x.is_finite() && x.abs() < 1e9).then_some(inverse)
    }

    /// The solution in `f64` near a start, and the inverse there.
    fn solve(
        &self,
        pose: &[Pose<f64>; 2],
        start: SVector<f64, N>,
    ) -> Option<(SVector<f64, N>, SMatrix<f64, N, N>)> {
        let mut u = start;
        for _ in 0..MAX_NEWTON {
            let inverse = self.inverse(pose, &u)?;
            let step = inverse * self.residual(pose, &u);
            u -= step;
            if step.norm() < CONVERGED {
                let turned = (u - start).fixed_rows::<3>(0).norm();
                return (turned < NEAR).then_some((u, inverse));
            }
        }
        None
    }
}

/// The contact on `T`: the numbers that were found, with the derivatives of the closest points; if `exact`, the numbers
/// are those of the closest points too, which the search has only come near on curved shapes. `offset` are the radii
/// by which the features of both solids are thickened.
///
/// Where the equations have no unique solution (features that are parallel), the points stay fixed in the
/// solids and the normal in the first one; the distance still has its derivative, since it is stationary in both.
pub(super) fn evaluate<T: Scalar>(
    solid: &[Solid; 2],
    placed: &[Placed<T>; 2],
    meeting: &Meeting,
    offset: [f64; 2],
    exact: bool,
) -> Touch<T> {
    let real: [Pose<f64>; 2] = [0, 1].map(|k| (solid[k].pos, solid[k].mat));
    let pose = [0, 1].map(|k| (*placed[k].pos, *placed[k].mat));
    let n = meeting.normal;
    let point = [meeting.x[0] - n * offset[0], meeting.x[1] + n * offset[1]];
    let mut feature = [0, 1].map(|k| Feature::of(&solid[k], k, meeting, &point[k]));
    if feature[0].straight() + feature[1].straight() > MAX_STRAIGHT {
        let fewer = usize::from(feature[1].straight() <= feature[0].straight());
        feature[fewer] = feature[fewer].fixed();
    }
    let equations = Equations { feature };
    let depth = (point[1] - point[0]).dot(&n);
    let mut start = SVector::<f64, N>::zeros();
    start.fixed_rows_mut::<3>(0).copy_from(&n);
    start[3] = depth;

    let solution = equations.solve(&real, start);
    let solved = solution.is_some();
    let (normal, between, points) = if let Some((u, inverse)) = solution {
        let mut u: SVector<T, N> = u.map(T::lift);
        for _ in 0..T::ORDER {
            let residual = equations.residual(&pose, &u);
            u = SVector::from_fn(|i, _| {
                (0..N).fold(u[i], |sum, j| sum - residual[j] * T::lift(inverse[(i, j)]))
            });
        }
        (Vector3::new(u[0], u[1], u[2]), u[3], equations.points(&pose, &u))
    } else {
        let [a, b] = [0, 1].map(|k| {
            let local = solid[k].mat.tr_mul(&(point[k] - solid[k].pos));
            pose[k].0 + pose[k].1 * lift3(&local)
        });
        let normal = pose[0].1 * lift3(&solid[0].mat.tr_mul(&n));
        (normal, (b - a).dot(&normal), [a, b])
    };
    let pos = (points[0] + points[1] + normal * T::lift(offset[0] - offset[1])) * T::lift(0.5);
    if exact && solved {
        let thickness = offset[0] + offset[1] - 2.0 * meeting.layer;
        return Touch::new(between - T::lift(thickness), pos, normal);
    }
    let found = (meeting.x[0] + meeting.x[1]) * 0.5;
    let at =
        |real: &Vector3<f64>, v: &Vector3<T>| Vector3::from_fn(|k, _| with_real(real[k], v[k]));
    Touch::new(with_real(meeting.dist, between), at(&found, &pos), at(&n, &normal))
}

/// A number with another real part.
fn with_real<T: Scalar>(real: f64, x: T) -> T {
    T::from_parts(|k| if k == 0 { real } else { x.part(k) })
}
