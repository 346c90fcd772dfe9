//! Rays against planes, spheres, capsules, ellipsoids, cylinders and boxes.

use nalgebra::{Matrix3, Vector3};

use super::surface::{Crossing, Ray, nearer, plane_crossing, quadric_crossings};
use crate::MINVAL;
use crate::model::GeomType;
use crate::scalar::Scalar;

/// Where the ray `pnt + x vec`, x ≥ 0, first meets a primitive shape at a pose: x, and the unit normal out of the shape.
/// None if it does not, and for meshes, height fields and distance fields.
///
/// Planes are seen from the front only, and within their size where it is positive.
///
/// Source: MuJoCo `mju_rayGeom`.
pub fn ray_geom<T: Scalar>(
    kind: GeomType,
    size: &Vector3<f64>,
    pos: &Vector3<T>,
    mat: &Matrix3<T>,
    pnt: &Vector3<T>,
    vec: &Vector3<T>,
) -> Option<(T, Vector3<T>)> {
    let ray = Ray::local(pos, mat, pnt, vec);
    let (dist, normal, _) = crossing(kind, size, &ray.re())?.surface.evaluate(&ray);
    Some((dist, mat * normal))
}

/// First crossing of a ray in the frame of the shape.
pub(super) fn crossing(kind: GeomType, size: &Vector3<f64>, ray: &Ray<f64>) -> Option<Crossing> {
    let origin = Vector3::zeros();
    match kind {
        GeomType::Plane => plane(size, ray),
        GeomType::Sphere => first(quadric_crossings(ray, origin, ones(), size.x * size.x)),
        GeomType::Capsule => capsule(size, ray),
        GeomType::Ellipsoid => {
            first(quadric_crossings(ray, origin, size.map(|r| 1.0 / (r * r)), 1.0))
        }
        GeomType::Cylinder => cylinder(size, ray),
        GeomType::Box => box_crossings(&origin, size, ray).into_iter().fold(None, nearer),
        GeomType::Hfield | GeomType::Mesh | GeomType::Sdf => None,
    }
}

fn ones() -> Vector3<f64> {
    Vector3::repeat(1.0)
}

/// The first crossing ahead.
fn first(crossings: Option<[Crossing; 2]>) -> Option<Crossing> {
    crossings?.into_iter().find(|c| c.dist >= 0.0)
}

fn plane(size: &Vector3<f64>, ray: &Ray<f64>) -> Option<Crossing> {
    if ray.dir.z > -MINVAL {
        return None;
    }
    let found = plane_crossing(ray, Vector3::zeros(), Vector3::z())?;
    let p = ray.at(found.dist);
    let within = |x: f64, half: f64| half <= 0.0 || x.abs() <= half;
    (within(p.x, size.x) && within(p.y, size.y)).then_some(found)
}

/// The round side of a capsule or a cylinder about z.
fn side(size: &Vector3<f64>, ray: &Ray<f64>) -> Option<Crossing> {
    let weight = Vector3::new(1.0, 1.0, 0.0);
    first(quadric_crossings(ray, Vector3::zeros(), weight, size.x * size.x))
        .filter(|c| ray.at(c.dist).z.abs() <= size.y)
}

fn capsule(size: &Vector3<f64>, ray: &Ray<f64>) -> Option<Crossing> {
    let mut nearest = side(size, ray);
    for end in [1.0, -1.0] {
        let centre = Vector3::new(0.0, 0.0, end * size.y);
        let cap = quadric_crossings(ray, centre, ones(), size.x * size.x);
        let outer = |c: &Crossing| c.dist >= 0.0 && end * ray.at(c.dist).z >= size.y;
        nearest = cap.into_iter().flatten().filter(outer).map(Some).fold(nearest, nearer);
    }
    nearest
}

fn cylinder(size: &Vector3<f64>, ray: &Ray<f64>) -> Option<Crossing> {
    let mut nearest = None;
    for end in [-1.0, 1.0] {
        let normal = Vector3::new(0.0, 0.0, end);
        let disc = plane_crossing(ray, normal * size.y, normal)
            .filter(|c| ray.at(c.dist).xy().norm_squared() <= size.x * size.x);
        nearest = nearer(nearest, disc);
    }
    nearer(nearest, side(size, ray))
}

/// Crossings with the faces of a box about `centre`: −x, +x, −y, +y, −z, +z.
pub(super) fn box_crossings(
    centre: &Vector3<f64>,
    size: &Vector3<f64>,
    ray: &Ray<f64>,
) -> [Option<Crossing>; 6] {
    std::array::from_fn(|face| {
        let axis = face / 2;
        let mut normal = Vector3::zeros();
        normal[axis] = if face % 2 == 0 { -1.0 } else { 1.0 };
        let found = plane_crossing(ray, centre + normal * size[axis], normal)?;
        let p = ray.at(found.dist) - centre;
        let within = (0..3).all(|k| k == axis || p[k].abs() <= size[k]);
        within.then_some(found)
    })
}

/// True if a point, in the frame of the shape, is strictly inside it. Meshes, height fields and distance fields have no
/// inside here.
///
/// Source: MuJoCo `mju_insideGeom`.
pub fn inside_geom(kind: GeomType, size: &Vector3<f64>, point: &Vector3<f64>) -> bool {
    let p = point;
    match kind {
        GeomType::Plane => p.z < 0.0,
        GeomType::Sphere => p.norm_squared() < size.x * size.x,
        GeomType::Capsule => {
            let beyond = p.z - p.z.clamp(-size.y, size.y);
            p.xy().norm_squared() + beyond * beyond < size.x * size.x
        }
        GeomType::Ellipsoid => p.component_div(size).norm_squared() < 1.0,
        GeomType::Cylinder => p.z.abs() < size.y && p.xy().norm_squared() < size.x * size.x,
        GeomType::Box => (0..3).all(|k| p[k].abs() < size[k]),
        GeomType::Hfield | GeomType::Mesh | GeomType::Sdf => false,
    }
}
