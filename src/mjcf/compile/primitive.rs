//! Volume, surface and inertia of the primitive shapes, solid and hollow.
//!
//! Sizes are MuJoCo's: radii and half lengths. Axes are the geom's own, which are principal axes.
//!
//! Source: MuJoCo `mjCGeom::GetVolume`, `SetInertia`; moments of solids and shells from any table.

use std::f64::consts::PI;

use nalgebra::Vector3;

use crate::model::GeomType;

/// Exponent of Thomsen's formula for the surface of an ellipsoid (relative error below 1.2 %).
const THOMSEN: f64 = 1.6075;

/// Thickness of the layer whose inertia stands for that of an ellipsoidal shell [m].
const SHELL: f64 = 1e-6;

/// Volume \[m³\], or surface \[m²\] if `shell`, of a primitive. Zero for planes.
pub fn volume(shape: GeomType, size: &Vector3<f64>, shell: bool) -> f64 {
    let (a, b, c) = (size.x, size.y, size.z);
    match (shape, shell) {
        (GeomType::Sphere, false) => 4.0 * PI * a * a * a / 3.0,
        (GeomType::Sphere, true) => 4.0 * PI * a * a,
        (GeomType::Capsule, false) => PI * (a * a * 2.0 * b + 4.0 * a * a * a / 3.0),
        (GeomType::Capsule, true) => 4.0 * PI * a * a + 2.0 * PI * a * 2.0 * b,
        (GeomType::Cylinder, false) => PI * a * a * 2.0 * b,
        (GeomType::Cylinder, true) => 2.0 * PI * a * a + 2.0 * PI * a * 2.0 * b,
        (GeomType::Ellipsoid, false) => 4.0 * PI * a * b * c / 3.0,
        (GeomType::Ellipsoid, true) => {
            let sum = (a * b).powf(THOMSEN) + (b * c).powf(THOMSEN) + (c * a).powf(THOMSEN);
            4.0 * PI * (sum / 3.0).powf(1.0 / THOMSEN)
        }
        (GeomType::Box | GeomType::Hfield, false) => a * b * c * 8.0,
        (GeomType::Box | GeomType::Hfield, true) => 8.0 * (a * b + b * c + c * a),
        (GeomType::Plane | GeomType::Mesh | GeomType::Sdf, _) => 0.0,
    }
}

/// Principal moments of inertia [kg·m²] about the centre, along the geom's axes.
pub fn inertia(shape: GeomType, size: &Vector3<f64>, mass: f64, shell: bool) -> Vector3<f64> {
    match (shape, shell) {
        (GeomType::Sphere, false) => Vector3::repeat(2.0 * mass * size.x * size.x / 5.0),
        (GeomType::Sphere, true) => Vector3::repeat(2.0 * mass * size.x * size.x / 3.0),
        (GeomType::Capsule, false) => solid_capsule(size.x, size.y, mass),
        (GeomType::Capsule, true) => hollow_capsule(size.x, size.y, mass),
        (GeomType::Cylinder, false) => solid_cylinder(size.x, size.y, mass),
        (GeomType::Cylinder, true) => hollow_cylinder(size.x, size.y, mass),
        (GeomType::Ellipsoid, false) => sum_of_squares(size) * (mass / 5.0),
        (GeomType::Ellipsoid, true) => hollow_ellipsoid(size, mass),
        (GeomType::Box | GeomType::Hfield, false) => sum_of_squares(size) * (mass / 3.0),
        (GeomType::Box | GeomType::Hfield, true) => hollow_box(size, mass),
        (GeomType::Plane | GeomType::Mesh | GeomType::Sdf, _) => Vector3::zeros(),
    }
}

/// (b² + c², a² + c², a² + b²).
pub fn sum_of_squares(s: &Vector3<f64>) -> Vector3<f64> {
    let q = s.component_mul(s);
    Vector3::new(q.y + q.z, q.x + q.z, q.x + q.y)
}

fn solid_cylinder(r: f64, half: f64, mass: f64) -> Vector3<f64> {
    let h = 2.0 * half;
    let across = mass * (3.0 * r * r + h * h) / 12.0;
    Vector3::new(across, across, mass * r * r / 2.0)
}

/// Tube without its ends.
fn tube(r: f64, half: f64, mass: f64) -> Vector3<f64> {
    let h = 2.0 * half;
    let across = mass * (6.0 * r * r + h * h) / 12.0;
    Vector3::new(across, across, mass * r * r)
}

/// A cylinder and two half balls, each with its centre of mass 3r/8 beyond the cylinder's end.
fn solid_capsule(r: f64, half: f64, mass: f64) -> Vector3<f64> {
    let h = 2.0 * half;
    let ball = mass * 4.0 * r / (4.0 * r + 3.0 * h);
    let about_centre = 2.0 * ball * r * r / 5.0;
    let shift = ball * h * (3.0 * r + 2.0 * h) / 8.0;
    solid_cylinder(r, half, mass - ball)
        + Vector3::repeat(about_centre)
        + Vector3::new(shift, shift, 0.0)
}

/// A tube and two hemispheres, each with its centre of mass r/2 beyond the tube's end.
fn hollow_capsule(r: f64, half: f64, mass: f64) -> Vector3<f64> {
    let sphere_area = 4.0 * PI * r * r;
    let tube_area = 2.0 * PI * r * 2.0 * half;
    let sphere = mass * sphere_area / (sphere_area + tube_area);
    let about_centre = 2.0 * sphere * r * r / 3.0;
    let (com, pos) = (r / 2.0, half + r / 2.0);
    let shift = sphere * (pos * pos - com * com);
    tube(r, half, mass - sphere) + Vector3::repeat(about_centre) + Vector3::new(shift, shift, 0.0)
}

/// A tube and two disks.
fn hollow_cylinder(r: f64, half: f64, mass: f64) -> Vector3<f64> {
    let disk_area = PI * r * r;
    let tube_area = 2.0 * PI * r * 2.0 * half;
    let disk = mass * disk_area / (2.0 * disk_area + tube_area);
    let across = disk * r * r / 4.0 + disk * half * half;
    let along = disk * r * r / 2.0;
    tube(r, half, mass - 2.0 * disk) + Vector3::new(across, across, along) * 2.0
}

/// The difference of two solid ellipsoids, one a thin layer larger; what MuJoCo takes for the shell.
fn hollow_ellipsoid(size: &Vector3<f64>, mass: f64) -> Vector3<f64> {
    let outer = size.add_scalar(SHELL);
    let ball = |s: &Vector3<f64>| 4.0 * PI * s.x * s.y * s.z / 3.0;
    let (inner_volume, outer_volume) = (ball(size), ball(&outer));
    let density = mass / (outer_volume - inner_volume);
    let moment =
        |s: &Vector3<f64>, v: f64| sum_of_squares(s).map(|square| v * density * square / 5.0);
    moment(&outer, outer_volume) - moment(size, inner_volume)
}

/// Three pairs of rectangles.
fn hollow_box(size: &Vector3<f64>, mass: f64) -> Vector3<f64> {
    let mut total = Vector3::zeros();
    let area = |i: usize| size[(i + 1) % 3] * size[(i + 2) % 3];
    let whole = 2.0 * (area(0) + area(1) + area(2));
    for normal in 0..3 {
        let (j, k) = ((normal + 1) % 3, (normal + 2) % 3);
        let side = mass * area(normal) / whole;
        let (sj, sk, sn) = (size[j] * size[j], size[k] * size[k], size[normal] * size[normal]);
        // a plate with half sides sj, sk at distance sn from the centre; there are two
        total[normal] += 2.0 * side * (sj + sk) / 3.0;
        total[j] += 2.0 * side * (sk / 3.0 + sn);
        total[k] += 2.0 * side * (sj / 3.0 + sn);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: &Vector3<f64>, b: [f64; 3]) -> bool {
        (a - Vector3::from(b)).norm() < 1e-12 * (1.0 + a.norm())
    }

    #[test]
    fn solid_shapes_by_hand() {
        let s = Vector3::new(1.0, 2.0, 3.0);
        assert!((volume(GeomType::Box, &s, false) - 48.0).abs() < 1e-14);
        assert!(near(&inertia(GeomType::Box, &s, 3.0, false), [13.0, 10.0, 5.0]));
        assert!(near(&inertia(GeomType::Ellipsoid, &s, 5.0, false), [13.0, 10.0, 5.0]));
        assert!(near(&inertia(GeomType::Sphere, &s, 5.0, false), [2.0, 2.0, 2.0]));
        // r = 1, h = 4, m = 12: (3 + 16), (3 + 16), 6
        assert!(near(&inertia(GeomType::Cylinder, &s, 12.0, false), [19.0, 19.0, 6.0]));
    }

    // as the length goes to zero a capsule becomes a ball
    #[test]
    fn a_capsule_without_length_is_a_ball() {
        let s = Vector3::new(0.5, 0.0, 0.0);
        for shell in [false, true] {
            let ball = inertia(GeomType::Sphere, &s, 2.0, shell);
            assert!(near(&inertia(GeomType::Capsule, &s, 2.0, shell), ball.into()));
            let difference =
                volume(GeomType::Capsule, &s, shell) - volume(GeomType::Sphere, &s, shell);
            assert!(difference.abs() < 1e-15);
        }
    }

    // hollow cube of side 2, mass m: 10/9 · m · (half side)² · … = (5/18) m (2)²
    #[test]
    fn hollow_cube_and_sphere_by_hand() {
        let s = Vector3::repeat(1.0);
        assert!(near(&inertia(GeomType::Box, &s, 9.0, true), [10.0; 3]));
        assert!((volume(GeomType::Box, &s, true) - 24.0).abs() < 1e-14);
        let ellipsoid = inertia(GeomType::Ellipsoid, &s, 3.0, true);
        assert!((ellipsoid - Vector3::repeat(2.0)).norm() < 1e-5);
    }
}
