//! Default classes: a tree, each class starting as a copy of its parent.

use super::{
    ActuatorSpec, CameraSpec, EqualitySpec, GeomSpec, JointSpec, LightSpec, MaterialSpec, MeshSpec,
    PairSpec, SiteSpec, TendonSpec,
};
use crate::mjcf::xml::Span;

/// One class: what a new element of each kind starts from (`mjsDefault`).
#[derive(Clone, Debug, Default)]
pub struct DefaultSpec {
    /// Class name; `main` at the root unless the file renames it.
    pub class: String,
    /// Place of the `default` element.
    pub span: Span,
    /// Index of the parent in [`DefaultTree::classes`]; the root is its own parent.
    pub parent: usize,
    /// Joint.
    pub joint: JointSpec,
    /// Geom.
    pub geom: GeomSpec,
    /// Site.
    pub site: SiteSpec,
    /// Camera.
    pub camera: CameraSpec,
    /// Light.
    pub light: LightSpec,
    /// Mesh.
    pub mesh: MeshSpec,
    /// Material.
    pub material: MaterialSpec,
    /// Contact pair.
    pub pair: PairSpec,
    /// Equality constraint.
    pub equality: EqualitySpec,
    /// Tendon.
    pub tendon: TendonSpec,
    /// Actuator.
    pub actuator: ActuatorSpec,
}

/// All classes; the first is the root, which exists even if the file defines none.
#[derive(Clone, Debug)]
pub struct DefaultTree {
    /// Parents before children, never empty.
    pub classes: Vec<DefaultSpec>,
}

impl Default for DefaultTree {
    fn default() -> Self {
        let root = DefaultSpec { class: "main".to_owned(), ..DefaultSpec::default() };
        Self { classes: vec![root] }
    }
}

impl DefaultTree {
    /// The class of that name.
    pub fn find(&self, class: &str) -> Option<&DefaultSpec> {
        self.classes.iter().find(|c| c.class == class)
    }
}
