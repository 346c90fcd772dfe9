//! Principal axes of a symmetric 3×3 matrix, with MuJoCo's choice of order and orientation.
//!
//! An eigenvector is only known up to sign, and a repeated eigenvalue leaves a whole plane of them;
//! a compiled model stores one particular frame. To land on the same one, this follows MuJoCo's
//! iteration (`mju_eig3` of 4.0.1): Jacobi rotations accumulated as a quaternion, the same pivot
//! order, the same thresholds, the same sort. It agrees with it to the last bits, but the choice
//! between eigenvectors of eigenvalues that are equal up to rounding is made by those bits.

use nalgebra::Matrix3;

/// An off-diagonal entry this much smaller than the largest entry is rounding.
const ROUNDING: f64 = 4e-15;

/// Eigenvalues that differ by less, relative to the largest entry, are not sorted.
const SORT: f64 = 1e-12;

/// A vector whose squared norm is below this has no direction; a norm this close to one is left
/// alone.
const NORM_EPS: f64 = 1e-14;

/// More iterations than a 3×3 Jacobi method ever needs.
const MAX_ITERATIONS: usize = 500;

/// Eigenvalues of `sym` in descending order and the quaternion (w, x, y, z) of its principal frame:
/// with `R` the matrix of the quaternion, `sym = R diag(eigenvalues) Rᵀ`, `det R = 1`.
///
/// Source: MuJoCo `mju_eig3`; Golub and Van Loan, *Matrix Computations*, 4th ed., 8.5 (symmetric
/// Schur 2×2).
pub fn eig3(sym: &Matrix3<f64>) -> ([f64; 3], [f64; 4]) {
    eig3_tol(sym, 0.0)
}

/// [`eig3`] that takes off-diagonal entries and differences of eigenvalues below `tolerance` times
/// the largest entry for zero: a nearly isotropic matrix keeps its axes. The eigenvalues are sorted
/// up to that.
pub fn eig3_tol(sym: &Matrix3<f64>, tolerance: f64) -> ([f64; 3], [f64; 4]) {
    let mut quat = [1.0, 0.0, 0.0, 0.0];
    let mut values = [0.0; 3];
    let size = sym.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let small = tolerance.max(ROUNDING) * size;

    for _ in 0..MAX_ITERATIONS {
        // D = Rᵀ A R
        let r = quat_to_mat(quat);
        let d = mul(&mul(&r.transpose(), sym), &r);
        values = [d[(0, 0)], d[(1, 1)], d[(2, 2)]];

        // largest off-diagonal entry (row, col); the rotation is about the remaining axis
        let (d01, d02, d12) = (d[(0, 1)].abs(), d[(0, 2)].abs(), d[(1, 2)].abs());
        let (row, col, axis) = if d01 > d02 && d01 > d12 {
            (0, 1, 2)
        } else if d02 > d12 {
            (0, 2, 1)
        } else {
            (1, 2, 0)
        };
        if d[(row, col)].abs() <= small {
            break;
        }

        // tangent of the smaller angle that zeroes the entry, then of its half
        let tau = (d[(col, col)] - d[(row, row)]) / (2.0 * d[(row, col)]);
        let root = (1.0 + tau * tau).sqrt();
        let tan = if tau >= 0.0 { 1.0 / (tau + root) } else { -1.0 / (root - tau) };
        let half_tan = tan / (1.0 + (1.0 + tan * tan).sqrt());
        let half_cos = 1.0 / (1.0 + half_tan * half_tan).sqrt();

        // that angle from row to col is negative about the third axis, except from 0 to 2
        let mut rotation = [half_cos, 0.0, 0.0, 0.0];
        rotation[axis + 1] = if axis == 1 { half_tan } else { -half_tan } * half_cos;
        quat = mul_quat(quat, rotation);
    }

    sort_descending(&mut values, &mut quat, tolerance.max(SORT) * size);
    (values, quat)
}

/// Bubble sort by quarter turns: exchanging axes j and j + 1 is a rotation by 90° about the third
/// one.
fn sort_descending(values: &mut [f64; 3], quat: &mut [f64; 4], same: f64) {
    #[expect(clippy::approx_constant, reason = "the digits MuJoCo writes, cut off on purpose")]
    const COS_45: f64 = 0.707_106_781_186_548;
    for j in [0, 1, 0] {
        if values[j] + same < values[j + 1] {
            values.swap(j, j + 1);
            let mut turn = [COS_45, 0.0, 0.0, 0.0];
            turn[(j + 2) % 3 + 1] = COS_45;
            *quat = mul_quat(*quat, turn);
        }
    }
}

/// Matrix product with each entry summed left to right, so that rounding is the same everywhere.
fn mul(a: &Matrix3<f64>, b: &Matrix3<f64>) -> Matrix3<f64> {
    Matrix3::from_fn(|i, j| a[(i, 0)] * b[(0, j)] + a[(i, 1)] * b[(1, j)] + a[(i, 2)] * b[(2, j)])
}

/// Scale `v` to unit length and return its previous length; a vector that is too short is kept, and 0 returned.
pub fn normalize<const N: usize>(v: &mut [f64; N]) -> f64 {
    let mut norm = 0.0;
    for x in v.iter() {
        norm += x * x;
    }
    if norm < NORM_EPS {
        return 0.0;
    }
    norm = norm.sqrt();
    if (norm - 1.0).abs() > NORM_EPS {
        for x in v.iter_mut() {
            *x /= norm;
        }
    }
    norm
}

/// Product of two unit quaternions (w, x, y, z), renormalized.
pub fn mul_quat(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    let mut q = [
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ];
    normalize(&mut q);
    q
}

/// Rotation matrix of a quaternion (w, x, y, z). Not normalized: a zero quaternion gives the zero matrix.
pub fn quat_to_mat(q: [f64; 4]) -> Matrix3<f64> {
    let [w, x, y, z] = q;
    Matrix3::new(
        w * w + x * x - y * y - z * z,
        2.0 * (x * y - w * z),
        2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),
        w * w - x * x + y * y - z * z,
        2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),
        2.0 * (y * z + w * x),
        w * w - x * x - y * y + z * z,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_diagonal_matrix_is_sorted_by_quarter_turns() {
        let (values, quat) = eig3(&Matrix3::from_diagonal(&nalgebra::Vector3::new(1.0, 2.0, 3.0)));
        assert_eq!(values, [3.0, 2.0, 1.0]);
        // x → z: (1, 2, 3) → swaps 01, 12, 01
        let r = quat_to_mat(quat);
        assert!((r[(2, 0)].abs() - 1.0).abs() < 1e-14);
        assert!((r[(1, 1)].abs() - 1.0).abs() < 1e-14);
    }

    proptest! {
        #[test]
        fn reassembles_the_matrix(a in prop::array::uniform6(-1.0..1.0f64)) {
            let m = Matrix3::new(a[0], a[3], a[4], a[3], a[1], a[5], a[4], a[5], a[2]);
            let (values, quat) = eig3(&m);
            prop_assert!(values[0] + 2e-12 >= values[1] && values[1] + 2e-12 >= values[2]);
            let r = quat_to_mat(quat);
            let back = r * Matrix3::from_diagonal(&values.into()) * r.transpose();
            prop_assert!((back - m).abs().max() < 1e-11);
        }
    }
}
