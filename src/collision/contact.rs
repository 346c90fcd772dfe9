//! A contact.

use nalgebra::Vector3;

use crate::scalar::Scalar;

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
