//! Meshes.
/// A mesh.
#[derive(Clone, Debug, Default)]
pub struct Mesh {}
