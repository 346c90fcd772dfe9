//! MJCF.
pub mod mesh;
