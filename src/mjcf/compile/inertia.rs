//! Inertia tensors: in the body frame, about other points, and back to principal axes.

use nalgebra::{Matrix3, Vector3};

use crate::math::Quat;
use crate::mjcf::eig::eig3;

use super::pose::Pose;

/// Smallest mass and principal moment (`mjEPS`).
pub const EPS: f64 = 1e-14;

/// A rigid body's mass, with the frame and the moments of its principal axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MassFrame {
    /// Mass \[kg\].
    pub mass: f64,
    /// Centre of mass and principal axes.
    pub frame: Pose,
    /// Principal moments of inertia [kg·m²].
    pub inertia: Vector3<f64>,
}

/// The tensor R diag(d) Rᵀ.
fn rotated(quat: &Quat<f64>, d: &Vector3<f64>) -> Matrix3<f64> {
    let r = quat.to_matrix();
    r * Matrix3::from_diagonal(d) * r.transpose()
}

/// The tensor of a point mass at `p`: m (|p|² − p pᵀ).
fn point_mass(mass: f64, p: &Vector3<f64>) -> Matrix3<f64> {
    (Matrix3::from_diagonal_element(p.norm_squared()) - p * p.transpose()) * mass
}

/// Principal axes and moments, in descending order.
pub fn principal_axes(tensor: &Matrix3<f64>) -> (Quat<f64>, Vector3<f64>) {
    let (moments, quat) = eig3(tensor);
    (Quat::from_slice(&quat), Vector3::from(moments))
}

/// Sum of rigid parts: mass, centre, and the tensor about that centre, not diagonalized.
///
/// With `p_i` from the common centre: Σ R_i I_i R_iᵀ + m_i (|p_i|² − p_i p_iᵀ).
pub fn combine(parts: &[MassFrame]) -> (f64, Vector3<f64>, Matrix3<f64>) {
    let mass: f64 = parts.iter().map(|p| p.mass).sum();
    let moment: Vector3<f64> = parts.iter().map(|p| p.frame.pos * p.mass).sum();
    let com = moment / mass;
    let tensor = parts
        .iter()
        .map(|p| rotated(&p.frame.quat, &p.inertia) + point_mass(p.mass, &(p.frame.pos - com)))
        .sum();
    (mass, com, tensor)
}

#[cfg(test)]
mod tests {
    use super::*;

    // two unit point masses on the x axis at ±1: I = diag(0, 2, 2) about the centre
    #[test]
    fn dumbbell() {
        let at = |x: f64| MassFrame {
            mass: 1.0,
            frame: Pose::new(Vector3::new(x, 3.0, 0.0), Quat::identity()),
            inertia: Vector3::zeros(),
        };
        let (mass, com, tensor) = combine(&[at(-1.0), at(1.0)]);
        assert!((mass - 2.0).abs() < 1e-15);
        assert!((com - Vector3::new(0.0, 3.0, 0.0)).norm() < 1e-15);
        let expected = Matrix3::from_diagonal(&Vector3::new(0.0, 2.0, 2.0));
        assert!((tensor - expected).norm() < 1e-15);
        let (_, moments) = principal_axes(&tensor);
        assert!((moments - Vector3::new(2.0, 2.0, 0.0)).norm() < 1e-15);
    }
}
