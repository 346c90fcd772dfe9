//! The five ways to write an orientation, each turned into a unit quaternion.
//!
//! Source: MuJoCo `ResolveOrientation` (`user_objects.cc`).

use nalgebra::{Matrix3, Vector3};

use crate::math::Quat;

/// Vectors shorter than this have no direction (`mjEPS`).
const EPS: f64 = 1e-14;

/// Below this sine, a z axis is parallel to the vertical.
const PARALLEL: f64 = 1e-10;

/// Converts an angle to radians if the model is written in degrees.
fn radians(angle: f64, degree: bool) -> f64 {
    if degree { angle.to_radians() } else { angle }
}

/// The unit vector along `v`, or what is wrong with it.
fn direction(v: Vector3<f64>, too_small: &'static str) -> Result<Vector3<f64>, &'static str> {
    let norm = v.norm();
    // the negated comparison refuses NaN as well
    if norm >= EPS.sqrt() { Ok(v / norm) } else { Err(too_small) }
}

/// Rotation by the angle `a[3]` about the axis `a[0..3]`, which need not be unit.
///
/// # Errors
/// The axis is too small.
pub fn from_axisangle(a: &[f64; 4], degree: bool) -> Result<Quat<f64>, &'static str> {
    let axis = direction(Vector3::new(a[0], a[1], a[2]), "the axis is too small")?;
    Ok(Quat::from_axis_angle(&axis, radians(a[3], degree)))
}

/// The frame with x axis along `a[0..3]` and y axis in the half plane of `a[3..6]`.
///
/// # Errors
/// An axis is too small, or both are parallel.
pub fn from_xyaxes(a: &[f64; 6]) -> Result<Quat<f64>, &'static str> {
    let x = direction(Vector3::new(a[0], a[1], a[2]), "the x axis is too small")?;
    let y = Vector3::new(a[3], a[4], a[5]);
    // the component of y orthogonal to x
    let y = direction(y - x * x.dot(&y), "the y axis is too small or parallel to the x axis")?;
    let z = x.cross(&y);
    Ok(Quat::from_matrix(&Matrix3::from_columns(&[x, y, z])))
}

/// The smallest rotation that takes the vertical to `z`, which need not be unit.
///
/// # Errors
/// The axis is too small.
pub fn from_zaxis(z: &Vector3<f64>) -> Result<Quat<f64>, &'static str> {
    Ok(z_to(&direction(*z, "the z axis is too small")?))
}

/// The smallest rotation that takes (0, 0, 1) to the unit vector `v`; half a turn about x for −z.
///
/// Source: MuJoCo `mjuu_z2quat`.
pub fn z_to(v: &Vector3<f64>) -> Quat<f64> {
    let cross = Vector3::z().cross(v);
    let sine = cross.norm();
    let axis = if sine < PARALLEL { Vector3::x() } else { cross / sine };
    Quat::from_axis_angle(&axis, sine.atan2(v.z))
}

/// Three rotations about the axes named in `sequence`: lower case turns about the moving frame, upper
/// case about the fixed one.
///
/// # Errors
/// The sequence is not three of `x y z X Y Z`.
pub fn from_euler(
    angles: &[f64; 3],
    degree: bool,
    sequence: &[char],
) -> Result<Quat<f64>, &'static str> {
    const BAD: &str = "the Euler sequence must consist of three of x, y, z, X, Y, Z";
    if sequence.len() != angles.len() {
        return Err(BAD);
    }
    let mut quat = Quat::identity();
    for (&angle, letter) in angles.iter().zip(sequence) {
        let axis = match letter.to_ascii_lowercase() {
            'x' => Vector3::x(),
            'y' => Vector3::y(),
            'z' => Vector3::z(),
            _ => return Err(BAD),
        };
        let turn = Quat::from_axis_angle(&axis, radians(angle, degree));
        quat = if letter.is_ascii_lowercase() { quat * turn } else { turn * quat };
    }
    Ok(quat.normalized())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_1_SQRT_2;

    fn same(a: Quat<f64>, b: Quat<f64>) -> bool {
        (a * b.conj()).log().norm() < 1e-14
    }

    #[test]
    fn quarter_turn_about_z_in_every_form() {
        let expected = Quat::new(FRAC_1_SQRT_2, 0.0, 0.0, FRAC_1_SQRT_2);
        assert!(same(from_axisangle(&[0.0, 0.0, 3.0, 90.0], true).unwrap(), expected));
        let radians = [0.0, 0.0, 1.0, std::f64::consts::FRAC_PI_2];
        assert!(same(from_axisangle(&radians, false).unwrap(), expected));
        assert!(same(from_xyaxes(&[0.0, 2.0, 0.0, -1.0, 5.0, 0.0]).unwrap(), expected));
        assert!(same(from_euler(&[0.0, 0.0, 90.0], true, &['x', 'y', 'z']).unwrap(), expected));
    }

    // x then y: about the moving y the z axis goes to x, then x-rotation is applied outside
    #[test]
    fn upper_case_turns_about_the_fixed_frame() {
        let angles = [90.0, 90.0, 0.0];
        let moving = from_euler(&angles, true, &['x', 'y', 'z']).unwrap();
        let fixed = from_euler(&angles, true, &['X', 'Y', 'Z']).unwrap();
        let z = Vector3::z();
        assert!((moving.rotate(&z) - Vector3::x()).norm() < 1e-15);
        assert!((fixed.rotate(&z) + Vector3::y()).norm() < 1e-15);
    }

    #[test]
    fn z_axis_by_the_smallest_rotation() {
        let q = from_zaxis(&Vector3::new(0.0, 2.0, 0.0)).unwrap();
        assert!((q.rotate(&Vector3::z()) - Vector3::y()).norm() < 1e-15);
        // x is the axis of that rotation
        assert!((q.rotate(&Vector3::x()) - Vector3::x()).norm() < 1e-15);
        let down = from_zaxis(&Vector3::new(0.0, 0.0, -1.0)).unwrap();
        assert!((down.rotate(&Vector3::z()) + Vector3::z()).norm() < 1e-15);
    }

    #[test]
    fn degenerate_axes_are_refused() {
        assert!(from_axisangle(&[0.0, 0.0, 0.0, 1.0], true).is_err());
        assert!(from_xyaxes(&[1.0, 0.0, 0.0, 2.0, 0.0, 0.0]).is_err());
        assert!(from_zaxis(&Vector3::new(f64::NAN, 0.0, 1.0)).is_err());
        assert!(from_euler(&[1.0, 2.0, 3.0], true, &['x', 'q', 'z']).is_err());
    }
}
