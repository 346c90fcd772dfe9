//! Narrow phase: the collider of each pair of shapes.

use super::contact::Touch;
use super::primitive::sphere_sphere::Ball;
use super::primitive::{self, Placed};
use crate::data::Data;
use crate::model::{GeomType, Model};
use crate::scalar::Scalar;

/// A geom in the world.
pub fn placed<'a, T: Scalar>(m: &'a Model, d: &'a Data<T>, g: usize) -> Placed<'a, T> {
    Placed { pos: &d.geom_xpos[g], mat: &d.geom_xmat[g], size: &m.geom_size[g] }
}

/// True if there is a collider for the two types; order does not matter.
pub fn has_collider(a: GeomType, b: GeomType) -> bool {
    use GeomType::{Box, Capsule, Cylinder, Ellipsoid, Hfield, Mesh, Plane, Sdf, Sphere};
    let (a, b) = if a as i32 <= b as i32 { (a, b) } else { (b, a) };
    match (a, b) {
        (Plane, Sphere | Capsule | Ellipsoid | Cylinder | Box | Mesh)
        | (Sphere, Sphere | Capsule | Cylinder | Box)
        | (Capsule, Capsule | Box)
        | (Box, Box) => true,
        (Hfield | Sdf, _) | (_, Sdf) => false,
        _ => false,
    }
}

/// Appends where two geoms touch, at most `margin` apart. Geoms are ordered by type.
///
/// - reads `geom_xpos`, `geom_xmat`
///
/// Source: MuJoCo `mjCOLLISIONFUNC`.
pub fn collide<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    [g1, g2]: [usize; 2],
    margin: f64,
    out: &mut Vec<Touch<T>>,
) {
    use GeomType::{Box, Capsule, Cylinder, Ellipsoid, Mesh, Plane, Sphere};
    let (a, b) = (placed(m, d, g1), placed(m, d, g2));
    match (m.geom_type[g1], m.geom_type[g2]) {
        (Plane, Sphere) => {
            primitive::plane_sphere(out, margin, a.pos, &a.axis(2), b.pos, b.size.x);
        }
        (Plane, Capsule) => primitive::plane_capsule(out, margin, &a, &b),
        (Plane, Ellipsoid) => primitive::plane_ellipsoid(out, margin, &a, &b),
        (Plane, Cylinder) => primitive::plane_cylinder(out, margin, &a, &b),
        (Plane, Box) => primitive::plane_box(out, margin, &a, &b),
        (Plane, Mesh) => {
            if let Some(mesh) = m.geom_dataid[g2].and_then(|id| m.mesh.get(id)) {
                primitive::plane_mesh(out, margin, &a, &b, mesh, m.geom_rbound[g2]);
            }
        }
        (Sphere, Sphere) => primitive::sphere_sphere(out, margin, &Ball::of(&a), &Ball::of(&b)),
        (Sphere, Capsule) => primitive::sphere_capsule(out, margin, &a, &b),
        (Sphere, Cylinder) => primitive::sphere_cylinder(out, margin, &a, &b),
        (Sphere, Box) => primitive::sphere_box(out, margin, &Ball::of(&a), &b),
        (Capsule, Capsule) => primitive::capsule_capsule(out, margin, &a, &b),
        (Capsule, Box) => primitive::capsule_box(out, margin, &a, &b),
        (Box, Box) => primitive::box_box(out, margin, &a, &b),
        _ => {}
    }
}
