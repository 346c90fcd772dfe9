//! Connect, weld and distance: constraints between two bodies, as functions of their poses and motions.

use nalgebra::{Matrix3, Vector3};

use crate::data::Data;
use crate::math::{Quat, SpatialVec};
use crate::model::{EqType, Model, ObjType, WORLD};
use crate::scalar::{Scalar, lift3};
use crate::smooth::object_quat;

use super::limit::direction;

/// Where the numbers of a weld stand in `eq_data`: relative orientation, weight of rotations.
const RELPOSE_QUAT: std::ops::Range<usize> = 6..10;
const TORQUESCALE: usize = 10;

/// Most rows of a tie.
pub const MAX_TIE: usize = 6;

/// A constraint between two bodies at given poses.
///
/// | kind | rows |
/// |---|---|
/// | connect | p₁ − p₂ |
/// | weld | p₁ − p₂ and s · vec(q₂* q₁ r), r the relative orientation, s the torque scale |
/// | distance | \|p₁ − p₂\| − data₀ (ours, not MuJoCo's) |
///
/// A relative angular velocity ω changes the rotational rows of a weld by s/2 · vec(q₂* ω q₁ r), ω as a quaternion.
#[derive(Clone, Debug)]
pub struct Tie<T: Scalar> {
    /// Kind.
    pub kind: EqType,
    /// The two bodies. (A second one that is missing is the world.)
    pub bodies: [usize; 2],
    /// Anchors in the world, each fixed to its body \[m\].
    pub points: [Vector3<T>; 2],
    /// Orientations that a weld makes equal: that of the first with the relative orientation, and the second.
    quats: [Quat<T>; 2],
    scale: f64,
    length: f64,
}

impl<T: Scalar> Tie<T> {
    /// Equality constraint `e`, a connect, weld or distance, at the poses in `d`.
    ///
    /// - reads  `xpos`, `xmat`, `xquat`, `site_xpos`, `geom_xpos`
    pub fn new(m: &Model, d: &Data<T>, e: usize) -> Self {
        let kind = m.eq_type[e];
        Self {
            kind,
            bodies: bodies(m, e),
            points: anchors(m, d, e),
            quats: if kind == EqType::Weld { orientations(m, d, e) } else { [Quat::identity(); 2] },
            scale: m.eq_data[e][TORQUESCALE],
            length: m.eq_data[e][0],
        }
    }

    /// The same tie with its bodies turned by small rotations (rotation vectors, world axes), and these anchors.
    #[must_use]
    pub fn moved<S: Scalar>(&self, turns: &[Vector3<S>; 2], points: [Vector3<S>; 2]) -> Tie<S> {
        let real = |q: &Quat<T>| Quat::lift(&Quat::from_slice(&q.to_array().map(Scalar::re)));
        let quats = [0, 1].map(|k| Quat::exp(&turns[k]) * real(&self.quats[k]));
        let Self { kind, bodies, scale, length, .. } = *self;
        Tie { kind, bodies, points, quats, scale, length }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        rows(self.kind)
    }

    /// False: a tie has rows.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// True if the rows have no direction: a distance of points that coincide.
    pub fn is_degenerate(&self) -> bool {
        self.kind == EqType::Distance && self.normal().1.re() == 0.0
    }

    /// From the second point to the first, unit, and their distance.
    fn normal(&self) -> (Vector3<T>, T) {
        direction(&(self.points[0] - self.points[1]))
    }

    /// Violation of the rows.
    pub fn error(&self) -> [T; MAX_TIE] {
        let mut error = [T::zero(); MAX_TIE];
        if self.kind == EqType::Distance {
            error[0] = self.normal().1 - T::lift(self.length);
            return error;
        }
        error[..3].copy_from_slice((self.points[0] - self.points[1]).as_slice());
        if self.kind == EqType::Weld {
            let [q1, q2] = self.quats;
            let rotation = (q2.conj() * q1).vec() * T::lift(self.scale);
            error[3..].copy_from_slice(rotation.as_slice());
        }
        error
    }

    /// Velocity of the rows, where the first body's anchor moves with `lin` and the body turns with `rot`, relative to the
    /// second and its own anchor.
    pub fn velocity(&self) -> impl Fn(&Vector3<T>, &Vector3<T>) -> [T; MAX_TIE] {
        let (kind, turn, normal) = (self.kind, self.turn(), self.normal().0);
        move |rot, lin| {
            let mut out = [T::zero(); MAX_TIE];
            if kind == EqType::Distance {
                out[0] = normal.dot(lin);
                return out;
            }
            out[..3].copy_from_slice(lin.as_slice());
            if kind == EqType::Weld {
                out[3..].copy_from_slice((turn * rot).as_slice());
            }
            out
        }
    }

    /// From a relative angular velocity to the rate of the rotational rows of a weld.
    fn turn(&self) -> Matrix3<T> {
        if self.kind != EqType::Weld {
            return Matrix3::zeros();
        }
        let [q1, q2] = self.quats;
        let half = T::lift(0.5 * self.scale);
        let axis = |k: usize| (q2.conj() * pure(&Vector3::ith(k, T::one())) * q1).vec() * half;
        Matrix3::from_columns(&[axis(0), axis(1), axis(2)])
    }

    /// J̇ qvel of the rows, from the relative acceleration at zero `qacc` (angular, and linear of the anchors) and the
    /// angular velocities of both bodies. Zero for a distance, as for all constraints but connects and welds in MuJoCo.
    ///
    /// With q̇ = ½ ω q the rotational rows of a weld have s/2 · vec(q₂* (a + ½ ω ω₁ − ½ ω₂ ω) q₁r), products of
    /// quaternions, ω = ω₁ − ω₂.
    pub fn bias(&self, a: &SpatialVec<T>, [w1, w2]: [&Vector3<T>; 2]) -> [T; MAX_TIE] {
        let mut out = [T::zero(); MAX_TIE];
        if self.kind == EqType::Distance {
            return out;
        }
        out[..3].copy_from_slice(a.lin.as_slice());
        if self.kind == EqType::Weld {
            let [q1, q2] = self.quats;
            let half = T::lift(0.5);
            let w = w1 - w2;
            let (x, y) = (pure(&w) * pure(w1), pure(w2) * pure(&w));
            let middle = Quat::from_parts((x.w - y.w) * half, a.rot + (x.vec() - y.vec()) * half);
            let rate = (q2.conj() * middle * q1).vec() * (half * T::lift(self.scale));
            out[3..].copy_from_slice(rate.as_slice());
        }
        out
    }

    /// Wrench of rows with these forces, rot:lin in world axes: on the first body at its anchor; the second has the
    /// opposite at its own.
    pub fn wrench(&self, force: &[T]) -> SpatialVec<T> {
        let vector = |k: usize| Vector3::new(force[k], force[k + 1], force[k + 2]);
        match self.kind {
            EqType::Distance => SpatialVec::new(Vector3::zeros(), self.normal().0 * force[0]),
            EqType::Weld => SpatialVec::new(self.turn().tr_mul(&vector(3)), vector(0)),
            _ => SpatialVec::new(Vector3::zeros(), vector(0)),
        }
    }
}

/// Rows of an equality constraint.
pub(super) fn rows(kind: EqType) -> usize {
    match kind {
        EqType::Connect => 3,
        EqType::Weld => 6,
        EqType::Joint | EqType::Tendon | EqType::Distance => 1,
    }
}

/// The two bodies of a connect, weld or distance constraint. (A second body that is missing is the world.)
pub(super) fn bodies(m: &Model, e: usize) -> [usize; 2] {
    let of = |id: usize| match (m.eq_type[e], m.eq_objtype[e]) {
        (EqType::Distance, _) => m.geom_bodyid[id],
        (_, ObjType::Site) => m.site_bodyid[id],
        _ => id,
    };
    [of(m.eq_obj1id[e]), m.eq_obj2id[e].map_or(WORLD, of)]
}

/// World points that the constraint relates. A weld keeps the anchor of the second body first.
///
/// Source: MuJoCo `mj_equalityAnchors`.
fn anchors<T: Scalar>(m: &Model, d: &Data<T>, e: usize) -> [Vector3<T>; 2] {
    let (id1, id2) = (m.eq_obj1id[e], m.eq_obj2id[e].unwrap_or(WORLD));
    if m.eq_type[e] == EqType::Distance {
        return [d.geom_xpos[id1], d.geom_xpos[id2]];
    }
    if m.eq_objtype[e] == ObjType::Site {
        return [d.site_xpos[id1], d.site_xpos[id2]];
    }
    let data = &m.eq_data[e];
    let local = |k: usize| lift3::<T>(&Vector3::new(data[k], data[k + 1], data[k + 2]));
    let at = |b: usize, k: usize| d.xpos[b] + d.xmat[b] * local(k);
    let (adr1, adr2) = if m.eq_type[e] == EqType::Weld { (3, 0) } else { (0, 3) };
    [at(id1, adr1), at(id2, adr2)]
}

/// Orientations that a weld makes equal: that of the first with the relative orientation, and the second.
fn orientations<T: Scalar>(m: &Model, d: &Data<T>, e: usize) -> [Quat<T>; 2] {
    let (id1, id2) = (m.eq_obj1id[e], m.eq_obj2id[e].unwrap_or(WORLD));
    if m.eq_objtype[e] == ObjType::Site {
        return [id1, id2].map(|site| object_quat(m, d, ObjType::Site, site));
    }
    let relative = Quat::<f64>::from_slice(&m.eq_data[e][RELPOSE_QUAT]);
    [d.xquat[id1] * Quat::lift(&relative), d.xquat[id2]]
}

/// A vector as a quaternion.
fn pure<T: Scalar>(v: &Vector3<T>) -> Quat<T> {
    Quat::from_parts(T::zero(), *v)
}
