//! How far two arrays are apart: one number, whatever the size of the values.
//!
//! Where several arrays describe the same thing (q and −q, principal axes in any order and sign), what
//! they describe is compared, not the arrays.

use dualstep::math::Quat;
use nalgebra::{Matrix3, Vector3};

/// `max|x − ref| / max(1, max|ref|)`.
///
/// Infinite if the lengths differ or `x` is not finite. Entries where the reference is not finite say
/// nothing and are left out.
pub fn err(x: &[f64], reference: &[f64]) -> f64 {
    if x.len() != reference.len() {
        return f64::INFINITY;
    }
    let (mut worst, mut scale) = (0.0_f64, 1.0_f64);
    for (&x, &r) in x.iter().zip(reference).filter(|(_, r)| r.is_finite()) {
        if !x.is_finite() {
            return f64::INFINITY;
        }
        worst = worst.max((x - r).abs());
        scale = scale.max(r.abs());
    }
    worst / scale
}

/// Turns the quaternions that start at the given addresses into the half space of the reference's.
/// Addresses outside the arrays are ignored.
pub fn align_quats(x: &mut [f64], reference: &[f64], adr: impl IntoIterator<Item = usize>) {
    for a in adr {
        let (Some(q), Some(r)) = (x.get_mut(a..a + 4), reference.get(a..a + 4)) else { continue };
        if q.iter().zip(r).map(|(q, r)| q * r).sum::<f64>() < 0.0 {
            for q in q {
                *q = -*q;
            }
        }
    }
}

/// Turns a frame (w, x, y, z) by the half turn about one of its own axes, or none, that brings it
/// nearest to the reference, sign of the quaternion included: the same axes, up to their signs.
pub fn nearest_half_turn(x: &mut [f64], reference: &[f64]) {
    let (&mut [w, i, j, k], &[a, b, c, d]) = (&mut *x, reference) else { return };
    // q, q·i, q·j, q·k
    let turned = [[w, i, j, k], [-i, w, k, -j], [-j, -k, w, i], [-k, j, -i, w]];
    let dot = |q: &[f64; 4]| q[0] * a + q[1] * b + q[2] * c + q[3] * d;
    if let Some(q) = turned.iter().max_by(|p, q| dot(p).abs().total_cmp(&dot(q).abs())) {
        x.copy_from_slice(q);
        align_quats(x, reference, [0]);
    }
}

/// Inertia tensors R diag(I) Rᵀ in the body frame (n × 9) from principal moments (n × 3) and axes
/// (n × 4): unlike these, they are unique.
pub fn inertia_tensors(moments: &[f64], quats: &[f64]) -> Vec<f64> {
    let mut tensors = Vec::with_capacity(3 * moments.len());
    for (i, q) in moments.chunks_exact(3).zip(quats.chunks_exact(4)) {
        let R: Matrix3<f64> = Quat::from_slice(q).to_matrix();
        let tensor = R * Matrix3::from_diagonal(&Vector3::from_column_slice(i)) * R.transpose();
        tensors.extend(tensor.iter());
    }
    tensors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_relative_above_one_and_absolute_below() {
        assert_eq!(err(&[1.0, 2.0], &[1.0, 2.0]), 0.0);
        assert_eq!(err(&[0.25], &[0.0]), 0.25);
        assert_eq!(err(&[96.0, 3.0], &[100.0, 3.0]), 0.04);
        assert_eq!(err(&[], &[]), 0.0);
    }

    #[test]
    fn what_is_missing_or_not_finite_is_infinitely_wrong() {
        assert_eq!(err(&[1.0], &[1.0, 2.0]), f64::INFINITY);
        assert_eq!(err(&[f64::NAN, 1.0], &[1.0, 1.0]), f64::INFINITY);
        assert_eq!(err(&[f64::INFINITY], &[1.0]), f64::INFINITY);
        // the oracle itself failed there
        assert_eq!(err(&[5.0, 1.5], &[f64::NAN, 1.0]), 0.5);
    }

    #[test]
    fn quaternions_have_no_sign() {
        let reference = [7.0, 0.5, 0.5, 0.5, 0.5, -1.0];
        let mut x = [7.0, -0.5, -0.5, -0.5, -0.5, -1.0];
        align_quats(&mut x, &reference, [1]);
        assert_eq!(x, reference);
        align_quats(&mut x, &reference, [1, 4]);
        assert_eq!(x, reference);
    }

    #[test]
    fn inertia_frames_compare_as_tensors() {
        // the same box, its axes permuted by a third of a turn about (1, 1, 1)
        let third = [0.5, 0.5, 0.5, 0.5];
        let a = inertia_tensors(&[1.0, 2.0, 3.0], &[1.0, 0.0, 0.0, 0.0]);
        // the frame's x axis is the body's y axis, and so on
        let b = inertia_tensors(&[2.0, 3.0, 1.0], &third);
        assert!(err(&b, &a) < 1e-15);
        assert!(err(&inertia_tensors(&[1.0, 2.0, 3.0], &third), &a) > 0.1);
        assert_eq!(a, [1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0]);
    }
}
