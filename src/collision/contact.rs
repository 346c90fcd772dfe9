//! A contact between two geoms.

use nalgebra::Vector3;

use crate::scalar::Scalar;

/// Why a contact takes no part in the constraints (`mjContact.exclude`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(i32)]
pub enum Exclude {
    /// It takes part.
    #[default]
    No = 0,
    /// It is further apart than its margin: within the gap.
    Gap = 1,
    /// It was fused with another one.
    Fused = 2,
    /// It moves with no degree of freedom.
    NoDofs = 3,
}

/// A contact point (`mjContact`). Geometry is in numbers with tangents, parameters are real.
#[derive(Clone, Debug, PartialEq)]
pub struct Contact<T: Scalar> {
    /// Distance between the nearest points, negative in penetration \[m\].
    pub dist: T,
    /// Midpoint between the surfaces, world frame \[m\].
    pub pos: Vector3<T>,
    /// Normal from `geom[0]` to `geom[1]`, first and second tangent: unit vectors, world frame.
    pub frame: [Vector3<T>; 3],
    /// Distance below which the contact is a constraint \[m\].
    pub includemargin: f64,
    /// Friction: two tangents, spin \[m\], two rolls \[m\].
    pub friction: [f64; 5],
    /// solref of the normal.
    pub solref: [f64; 2],
    /// solref of friction, for elliptic cones; all zero: as the normal.
    pub solreffriction: [f64; 2],
    /// solimp.
    pub solimp: [f64; 5],
    /// Dimension: 1, 3, 4 or 6.
    pub dim: usize,
    /// The two geoms.
    pub geom: [usize; 2],
    /// Whether and why it takes no part.
    pub exclude: Exclude,
    /// Friction coefficient of the regularized cone; set with the rows.
    pub mu: f64,
    /// First row; set with the rows.
    pub efc_address: Option<usize>,
}
