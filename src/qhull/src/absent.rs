//! Machines without Qhull.

use crate::{Error, Hull};

/// True where Qhull is built.
pub const AVAILABLE: bool = false;

pub(crate) fn convex_hull(_: &[[f64; 3]], _: Option<usize>) -> Result<Hull, Error> {
    Err(Error::Unavailable)
}
