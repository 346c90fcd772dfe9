//! MJCF: text to [`Model`](crate::Model).

pub mod eig;
pub mod mesh;
