//! One pair of geoms at given poses, on numbers of its own: what differentiates the geometry of contacts.

use nalgebra::{Matrix3, Vector3};

use super::contact::{Touch, margin_gap};
use super::narrow::{MAX_TOUCHES, Narrow};
use super::primitive::Placed;
use crate::model::Model;
use crate::scalar::Scalar;

/// Collides pairs of geoms wherever they are put. Nearest points are exact, see [`Collision::exact`](super::Collision::exact).
#[derive(Clone, Debug)]
pub struct PairCollider<T: Scalar> {
    narrow: Narrow<T>,
    touch: Vec<Touch<T>>,
}

impl<T: Scalar> PairCollider<T> {
    /// Memory for a model.
    pub fn new(m: &Model) -> Self {
        let mut narrow = Narrow::new(m);
        narrow.exact = true;
        Self { narrow, touch: Vec::with_capacity(MAX_TOUCHES) }
    }

    /// Where two geoms, ordered by type, touch at these positions and orientations, as
    /// [`collision`](super::collision) finds it: within the margin of the explicit pair that names both, if there is one.
    pub fn touches(
        &mut self,
        m: &Model,
        geom: [usize; 2],
        pos: &[Vector3<T>; 2],
        mat: &[Matrix3<T>; 2],
    ) -> &[Touch<T>] {
        let named = |p: &usize| {
            let pair = [m.pair_geom1[*p], m.pair_geom2[*p]];
            pair == geom || pair == [geom[1], geom[0]]
        };
        let pair = (0..m.npair).find(named);
        let (margin, gap) = margin_gap(m, geom, pair);
        let placed = |k: usize| Placed { pos: &pos[k], mat: &mat[k], size: &m.geom_size[geom[k]] };
        self.touch.clear();
        self.narrow.collide_placed(m, geom, [placed(0), placed(1)], margin + gap, &mut self.touch);
        &self.touch
    }
}
