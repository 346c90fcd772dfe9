//! Contact pairs, exclusions, equality constraints.

use super::sensor::ObjType;
use super::{DEFAULT_SOLIMP, DEFAULT_SOLREF};
use crate::mjcf::xml::Span;

/// A contact `pair` (`mjsPair`). What the file leaves out has fixed defaults; nothing is taken
/// from the two geoms.
#[derive(Clone, Debug)]
pub struct PairSpec {
    /// Name, possibly empty.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// First geom.
    pub geomname1: String,
    /// Second geom.
    pub geomname2: String,
    /// Contact dimensionality: 1, 3, 4 or 6; checked by the compiler.
    pub condim: i32,
    /// Solver reference, normal direction.
    pub solref: [f64; 2],
    /// Solver reference, frictional directions; zeros: as `solref`.
    pub solreffriction: [f64; 2],
    /// Solver impedance.
    pub solimp: [f64; 5],
    /// Detection margin \[m\].
    pub margin: f64,
    /// Additional detection buffer \[m\].
    pub gap: f64,
    /// Adhesive force \[N\].
    pub adhesion: f64,
    /// Friction: two tangential, torsional \[m\], two rolling \[m\].
    pub friction: [f64; 5],
}

impl Default for PairSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            geomname1: String::new(),
            geomname2: String::new(),
            condim: 3,
            solref: DEFAULT_SOLREF,
            solreffriction: [0.0; 2],
            solimp: DEFAULT_SOLIMP,
            margin: 0.0,
            gap: 0.0,
            adhesion: 0.0,
            friction: [1.0, 1.0, 0.005, 0.0001, 0.0001],
        }
    }
}

/// A contact `exclude` (`mjsExclude`).
#[derive(Clone, Debug, Default)]
pub struct ExcludeSpec {
    /// Name, possibly empty.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// First body.
    pub bodyname1: String,
    /// Second body.
    pub bodyname2: String,
}

/// Type of an equality constraint (`mjtEq`, the supported part).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EqualityType {
    /// Two bodies share a point.
    #[default]
    Connect,
    /// Two bodies keep their relative pose.
    Weld,
    /// A scalar joint follows a polynomial of another, or stays constant.
    Joint,
    /// A tendon length follows a polynomial of another, or stays constant.
    Tendon,
    /// The centres of two geoms keep a distance. MuJoCo had it before 2.2.2.
    Distance,
}

/// An equality constraint (`mjsEquality`).
#[derive(Clone, Debug)]
pub struct EqualitySpec {
    /// Name, possibly empty.
    pub name: String,
    /// Place of the element.
    pub span: Span,
    /// Type.
    pub kind: EqualityType,
    /// Parameters in MuJoCo's layout. Connect: anchor (0..3) in the frame of body 1. Weld:
    /// anchor (0..3) in the frame of body 2, relative pose (3..6 position, 6..10 quaternion; all
    /// zero quaternion: use the initial pose), torque scale (10). Joint and tendon: polynomial
    /// coefficients (0..5).
    pub data: [f64; 12],
    /// Whether the constraint is active at the start.
    pub active: bool,
    /// First object.
    pub name1: String,
    /// Second object, possibly empty: the world, or nothing.
    pub name2: String,
    /// What the names refer to: [`ObjType::Body`] or [`ObjType::Site`] for connect and weld,
    /// [`ObjType::Joint`], [`ObjType::Tendon`].
    pub objtype: ObjType,
    /// Solver reference.
    pub solref: [f64; 2],
    /// Solver impedance.
    pub solimp: [f64; 5],
}

impl Default for EqualitySpec {
    fn default() -> Self {
        let mut data = [0.0; 12];
        data[1] = 1.0; // polycoef: identity
        data[10] = 1.0; // torquescale
        Self {
            name: String::new(),
            span: Span::default(),
            kind: EqualityType::Connect,
            data,
            active: true,
            name1: String::new(),
            name2: String::new(),
            objtype: ObjType::Unknown,
            solref: DEFAULT_SOLREF,
            solimp: DEFAULT_SOLIMP,
        }
    }
}
