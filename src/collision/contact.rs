//! A contact, and the parameters it takes from its geoms or from an explicit pair.

use nalgebra::Vector3;

use super::primitive::direction;
use crate::MINVAL;
use crate::model::Model;
use crate::model::options::enable;
use crate::scalar::Scalar;

/// Smallest coefficient of friction (`mjMINMU`).
pub const MINMU: f64 = 1e-5;

/// Why a detected contact makes no rows, with MuJoCo's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(i32)]
pub enum Exclude {
    /// It makes rows.
    #[default]
    None = 0,
    /// The distance is in the gap: at or above the margin.
    Gap = 1,
    /// Both sides move together.
    Fused = 2,
    /// No degree of freedom moves either side.
    NoDofs = 3,
}

/// One detected contact (`mjContact`). World frame.
#[derive(Clone, Copy, Debug)]
pub struct Contact<T: Scalar> {
    /// Distance between the nearest points, negative in penetration \[m\].
    pub dist: T,
    /// Midpoint between the nearest points \[m\].
    pub pos: Vector3<T>,
    /// Rows of the contact frame: normal from geom 0 to geom 1, two tangents; orthonormal.
    pub frame: [Vector3<T>; 3],
    /// Distance below which the contact makes rows \[m\].
    pub includemargin: f64,
    /// Friction: two tangents, spin \[m\], two rolls \[m\].
    pub friction: [f64; 5],
    /// solref of the normal direction.
    pub solref: [f64; 2],
    /// solref of the friction directions; all zero: as the normal.
    pub solreffriction: [f64; 2],
    /// solimp.
    pub solimp: [f64; 5],
    /// Force with which the surfaces attract each other \[N\].
    pub adhesion: f64,
    /// Dimension: 1, 3, 4 or 6.
    pub dim: usize,
    /// Geoms, ordered by type.
    pub geom: [usize; 2],
    /// Whether and why it makes no rows.
    pub exclude: Exclude,
    /// Friction of the regularized elliptic cone, set with the rows.
    pub mu: f64,
    /// First row, set with the rows; none without.
    pub efc_address: Option<usize>,
}

/// What a pair of geoms gives to each of its contacts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactParams {
    /// Dimension: 1, 3, 4 or 6.
    pub dim: usize,
    /// Distance below which contacts make rows \[m\].
    pub margin: f64,
    /// Distance above the margin within which contacts are detected \[m\].
    pub gap: f64,
    /// Friction: two tangents, spin \[m\], two rolls \[m\].
    pub friction: [f64; 5],
    /// solref of the normal direction.
    pub solref: [f64; 2],
    /// solref of the friction directions; all zero: as the normal.
    pub solreffriction: [f64; 2],
    /// solimp.
    pub solimp: [f64; 5],
    /// Force with which the surfaces attract each other \[N\].
    pub adhesion: f64,
}

/// Margin and gap of two geoms \[m\], of the explicit pair `pair` if there is one: the sums of both geoms'. A
/// global margin overrides.
///
/// Source: MuJoCo manual, "Margin and gap" (since 3.9); `mj_assignMargin`.
#[inline]
pub fn margin_gap(m: &Model, geom: [usize; 2], pair: Option<usize>) -> (f64, f64) {
    let [g1, g2] = geom;
    let (margin, gap) = match pair {
        Some(p) => (m.pair_margin[p], m.pair_gap[p]),
        None => (m.geom_margin[g1] + m.geom_margin[g2], m.geom_gap[g1] + m.geom_gap[g2]),
    };
    (if m.opt.enabled(enable::OVERRIDE) { m.opt.o_margin } else { margin }, gap)
}

impl ContactParams {
    /// Parameters of contacts between two geoms, of the explicit pair `pair` if there is one.
    ///
    /// Source: MuJoCo manual, "Contact parameters"; `mj_contactParam`, `mj_setContact`.
    pub fn new(m: &Model, geom: [usize; 2], pair: Option<usize>) -> Self {
        let mut params = match pair {
            Some(p) => Self::of_pair(m, p),
            None => Self::of_geoms(m, geom),
        };
        (params.margin, params.gap) = margin_gap(m, geom, pair);
        if m.opt.enabled(enable::OVERRIDE) {
            params.friction = m.opt.o_friction;
            params.solref = m.opt.o_solref;
            params.solreffriction = m.opt.o_solref;
            params.solimp = m.opt.o_solimp;
        }
        params.friction = params.friction.map(|mu| mu.max(MINMU));
        params
    }

    fn of_pair(m: &Model, p: usize) -> Self {
        Self {
            dim: dimension(m.pair_dim[p]),
            margin: 0.0,
            gap: 0.0,
            friction: m.pair_friction[p],
            solref: m.pair_solref[p],
            solreffriction: m.pair_solreffriction[p],
            solimp: m.pair_solimp[p],
            adhesion: m.pair_adhesion[p],
        }
    }

    /// Of the geom with the higher priority; at equal priority a mixture.
    fn of_geoms(m: &Model, [g1, g2]: [usize; 2]) -> Self {
        let friction = |[slide, spin, roll]: [f64; 3]| [slide, slide, spin, roll, roll];
        let of_one = |g: usize| Self {
            dim: dimension(m.geom_condim[g]),
            margin: 0.0,
            gap: 0.0,
            friction: friction(m.geom_friction[g]),
            solref: m.geom_solref[g],
            solreffriction: [0.0; 2],
            solimp: m.geom_solimp[g],
            adhesion: m.geom_adhesion[g],
        };
        let (a, b) = (of_one(g1), of_one(g2));
        match m.geom_priority[g1].cmp(&m.geom_priority[g2]) {
            std::cmp::Ordering::Greater => return a,
            std::cmp::Ordering::Less => return b,
            std::cmp::Ordering::Equal => {}
        }

        let mix = mix(m.geom_solmix[g1], m.geom_solmix[g2]);
        let mixed = |x: f64, y: f64| mix * x + (1.0 - mix) * y;
        let standard = a.solref[0] > 0.0 && b.solref[0] > 0.0;
        let solref = |x: f64, y: f64| if standard { mixed(x, y) } else { x.min(y) };
        Self {
            dim: a.dim.max(b.dim),
            margin: 0.0,
            gap: 0.0,
            friction: std::array::from_fn(|i| a.friction[i].max(b.friction[i])),
            solref: std::array::from_fn(|i| solref(a.solref[i], b.solref[i])),
            solreffriction: [0.0; 2],
            solimp: std::array::from_fn(|i| mixed(a.solimp[i], b.solimp[i])),
            adhesion: a.adhesion + b.adhesion,
        }
    }

    /// The contact of `geom` at a place found by a collider.
    ///
    /// In the gap it makes no rows, unless the surfaces attract each other; then only the normal counts.
    pub fn contact<T: Scalar>(&self, geom: [usize; 2], touch: &Touch<T>) -> Contact<T> {
        let in_gap = touch.dist.re() >= self.margin;
        let tether = in_gap && self.adhesion != 0.0;
        Contact {
            dist: touch.dist,
            pos: touch.pos,
            frame: make_frame(&touch.normal, &touch.tangent),
            includemargin: self.margin,
            friction: self.friction,
            solref: self.solref,
            solreffriction: self.solreffriction,
            solimp: self.solimp,
            adhesion: self.adhesion,
            dim: if tether { 1 } else { self.dim },
            geom,
            exclude: if in_gap && !tether { Exclude::Gap } else { Exclude::None },
            mu: 0.0,
            efc_address: None,
        }
    }
}

/// The loader lets only 1, 3, 4 and 6 pass.
fn dimension(condim: i32) -> usize {
    usize::try_from(condim).unwrap_or(1)
}

/// Weight of the first of two mixing weights.
fn mix(first: f64, second: f64) -> f64 {
    match (first >= MINVAL, second >= MINVAL) {
        (true, true) => first / (first + second),
        (false, false) => 0.5,
        (first, _) => f64::from(u8::from(first)),
    }
}

/// What a collider finds: a place where two geoms touch. World frame.
#[derive(Clone, Copy, Debug)]
pub struct Touch<T: Scalar> {
    /// Distance between the nearest points, negative in penetration \[m\].
    pub dist: T,
    /// Midpoint between the nearest points \[m\].
    pub pos: Vector3<T>,
    /// From the first geom to the second, unit.
    pub normal: Vector3<T>,
    /// Direction near which the first tangent should lie; zero if any will do.
    pub tangent: Vector3<T>,
}

impl<T: Scalar> Touch<T> {
    /// Without a preferred tangent.
    #[inline]
    pub fn new(dist: T, pos: Vector3<T>, normal: Vector3<T>) -> Self {
        Self { dist, pos, normal, tangent: Vector3::zeros() }
    }

    /// Seen from the other geom.
    #[must_use]
    #[inline]
    pub fn flipped(self) -> Self {
        Self { normal: -self.normal, ..self }
    }
}

/// Orthonormal frame with the given normal; the first tangent is `tangent` made orthogonal to it, or, where
/// that is shorter than a half, the world's y axis, or its z axis where the normal is close to y. A tangent
/// along the normal leaves nothing: as in MuJoCo the first tangent is then the world's x axis, which is
/// orthogonal to the normal for a capsule upright on a horizontal plane.
///
/// Source: MuJoCo `mju_makeFrame`.
pub fn make_frame<T: Scalar>(normal: &Vector3<T>, tangent: &Vector3<T>) -> [Vector3<T>; 3] {
    let unit = |v: &Vector3<T>| direction(v).map_or_else(Vector3::x, |(unit, _)| unit);
    let x = unit(normal);
    let y = if tangent.norm_squared().re() >= 0.25 {
        *tangent
    } else if x.y.re().abs() < 0.5 {
        Vector3::y()
    } else {
        Vector3::z()
    };
    let y = unit(&(y - x * x.dot(&y)));
    [x, y, x.cross(&y)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_right_handed_and_prefer_y_then_z_then_the_tangent() {
        let none = Vector3::zeros();
        let [x, y, z] = make_frame(&Vector3::<f64>::x(), &none);
        assert_eq!([x, y, z], [Vector3::x(), Vector3::y(), Vector3::z()]);
        let [x, y, z] = make_frame(&Vector3::<f64>::y(), &none);
        assert_eq!([x, y, z], [Vector3::y(), Vector3::z(), Vector3::x()]);
        let [x, y, z] = make_frame(&Vector3::<f64>::z(), &Vector3::new(0.6, 0.0, 0.8));
        assert_eq!([x, y, z], [Vector3::z(), Vector3::x(), Vector3::y()]);
    }

    #[test]
    fn weights_mix_and_vanish() {
        let cases = [(1.0, 3.0, 0.25), (0.0, 0.0, 0.5), (0.0, 1.0, 0.0), (1.0, 0.0, 1.0)];
        for (first, second, expected) in cases {
            assert_eq!(mix(first, second), expected);
        }
    }
}
