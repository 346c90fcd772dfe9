//! MJCF: text to [`Model`](crate).

pub mod eig;
pub mod mesh;
