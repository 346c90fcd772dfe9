//! Traversals of the kinematic tree, written once.

use super::{Model, WORLD};

impl Model {
    /// Bodies without the world, parents before children.
    #[inline]
    pub fn bodies_base_to_tip(&self) -> std::ops::Range<usize> {
        WORLD + 1..self.nbody
    }

    /// Bodies without the world, children before parents.
    #[inline]
    pub fn bodies_tip_to_base(&self) -> std::iter::Rev<std::ops::Range<usize>> {
        self.bodies_base_to_tip().rev()
    }

    /// Joints of a body, in order.
    #[inline]
    pub fn body_joints(&self, body: usize) -> std::ops::Range<usize> {
        let adr = self.body_jntadr[body];
        adr..adr + self.body_jntnum[body]
    }

    /// Degrees of freedom of a body, in order.
    #[inline]
    pub fn body_dofs(&self, body: usize) -> std::ops::Range<usize> {
        let adr = self.body_dofadr[body];
        adr..adr + self.body_dofnum[body]
    }

    /// Degrees of freedom from `dof`, itself included, up to the root.
    pub fn dofs_to_root(&self, dof: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(dof), |&i| self.dof_parentid[i])
    }

    /// Last degree of freedom that moves a body: its own, or that of its nearest moving ancestor.
    pub fn body_lastdof(&self, body: usize) -> Option<usize> {
        let moving =
            std::iter::successors(Some(body), |&b| (b != WORLD).then(|| self.body_parentid[b]))
                .find(|&b| self.body_dofnum[b] > 0)?;
        Some(self.body_dofadr[moving] + self.body_dofnum[moving] - 1)
    }

    /// Degrees of freedom that move a body, from the last up to the root.
    pub fn body_dofs_to_root(&self, body: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.body_lastdof(body), |&i| self.dof_parentid[i])
    }
}

impl Model {
    /// True if one of two degrees of freedom is an ancestor of the other, or they are the same.
    pub fn same_branch(&self, i: usize, j: usize) -> bool {
        let (lo, hi) = (i.min(j), i.max(j));
        // numbers decrease toward the root
        self.dofs_to_root(hi).take_while(|&k| k >= lo).any(|k| k == lo)
    }
}
