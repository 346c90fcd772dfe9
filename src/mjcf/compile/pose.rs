//! Rigid poses: composition and inverse, as the tree is flattened.

use nalgebra::Vector3;

use crate::math::Quat;

/// Frames closer than this, per component, count as equal (`kFrameEps`).
const SAME_FRAME: f64 = 1e-6;

/// Position \[m\] and orientation of a child frame in its parent's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pose {
    /// Origin of the child in the parent's frame \[m\].
    pub pos: Vector3<f64>,
    /// Orientation of the child in the parent's frame.
    pub quat: Quat<f64>,
}

impl Pose {
    /// Pose with the given origin and orientation.
    pub fn new(pos: Vector3<f64>, quat: Quat<f64>) -> Self {
        Self { pos, quat }
    }

    /// `self · child`: the pose of a frame given in this frame.
    #[must_use]
    pub fn then(&self, child: &Self) -> Self {
        let pos = self.point(&child.pos);
        Self { pos, quat: (self.quat * child.quat).normalized() }
    }

    /// A point given in this frame, in the parent's frame \[m\].
    pub fn point(&self, p: &Vector3<f64>) -> Vector3<f64> {
        self.pos + self.quat.to_matrix() * p
    }

    /// Pose of the parent in this frame.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let quat = self.quat.conj();
        Self { pos: -(quat.to_matrix() * self.pos), quat }
    }
}

/// True if two positions coincide within 1e-6 m per component.
pub fn same_pos(a: &Vector3<f64>, b: &Vector3<f64>) -> bool {
    (a - b).iter().all(|d| d.abs() < SAME_FRAME)
}

/// True if two quaternions are the same rotation within 1e-6 per component, up to sign.
pub fn same_quat(a: &Quat<f64>, b: &Quat<f64>) -> bool {
    let (a, b) = (a.to_array(), b.to_array());
    let near = |sign: f64| a.iter().zip(&b).all(|(x, y)| (x - sign * y).abs() < SAME_FRAME);
    near(1.0) || near(-1.0)
}
