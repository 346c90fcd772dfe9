//! Narrow phase: the collider of each pair of shapes.

use super::contact::Touch;
use super::convex::{Limits, Polytope, Scratch, convex_convex};
use super::primitive::sphere_sphere::Ball;
use super::primitive::{self, Placed};
use crate::data::Data;
use crate::model::options::disable;
use crate::model::{GeomType, Model};
use crate::scalar::Scalar;

/// A geom in the world.
fn placed<'a, T: Scalar>(m: &'a Model, d: &'a Data<T>, g: usize) -> Placed<'a, T> {
    Placed { pos: &d.geom_xpos[g], mat: &d.geom_xmat[g], size: &m.geom_size[g] }
}

/// True if there is a collider for the two types; order does not matter.
pub fn has_collider(a: GeomType, b: GeomType) -> bool {
    use GeomType::{Box, Capsule, Cylinder, Ellipsoid, Mesh, Plane, Sphere};
    let (a, b) = if a as i32 <= b as i32 { (a, b) } else { (b, a) };
    matches!(
        (a, b),
        (Plane, Sphere | Capsule | Ellipsoid | Cylinder | Box | Mesh)
            | (Sphere, Sphere | Capsule | Cylinder | Box)
            | (Capsule, Capsule | Box)
            | (Box, Box | Mesh)
            | (Mesh, Mesh)
    )
}

/// Colliders of one model, and the memory they need.
#[derive(Clone, Debug)]
pub(super) struct Narrow<T: Scalar> {
    /// Polytopes of the geoms that are one and collide with one that is not a box (ngeom).
    polytope: Vec<Option<Polytope>>,
    scratch: Scratch<T>,
}

impl<T: Scalar> Narrow<T> {
    /// For a model: joins the coplanar faces of all hulls.
    pub(super) fn new(m: &Model) -> Self {
        let has_mesh = m.geom_type.contains(&GeomType::Mesh);
        let polytope = |g: usize| if has_mesh { Polytope::of_geom(m, g) } else { None };
        Self { polytope: (0..m.ngeom).map(polytope).collect(), scratch: Scratch::default() }
    }

    /// Appends where two geoms touch, at most `margin` apart. Geoms are ordered by type.
    ///
    /// - reads `geom_xpos`, `geom_xmat`
    ///
    /// Source: MuJoCo `mjCOLLISIONFUNC`.
    pub(super) fn collide(
        &mut self,
        m: &Model,
        d: &Data<T>,
        geom: [usize; 2],
        margin: f64,
        out: &mut Vec<Touch<T>>,
    ) {
        use GeomType::{Box, Capsule, Cylinder, Ellipsoid, Mesh, Plane, Sphere};
        let [a, b] = geom.map(|g| placed(m, d, g));
        match (m.geom_type[geom[0]], m.geom_type[geom[1]]) {
            (Plane, Sphere) => {
                primitive::plane_sphere(out, margin, a.pos, &a.axis(2), b.pos, b.size.x);
            }
            (Plane, Capsule) => primitive::plane_capsule(out, margin, &a, &b),
            (Plane, Ellipsoid) => primitive::plane_ellipsoid(out, margin, &a, &b),
            (Plane, Cylinder) => primitive::plane_cylinder(out, margin, &a, &b),
            (Plane, Box) => primitive::plane_box(out, margin, &a, &b),
            (Plane, Mesh) => {
                if let Some(hull) = &self.polytope[geom[1]] {
                    primitive::plane_mesh(out, margin, &a, &b, hull);
                }
            }
            (Sphere, Sphere) => {
                primitive::sphere_sphere(out, margin, &Ball::of(&a), &Ball::of(&b));
            }
            (Sphere, Capsule) => primitive::sphere_capsule(out, margin, &a, &b),
            (Sphere, Cylinder) => primitive::sphere_cylinder(out, margin, &a, &b),
            (Sphere, Box) => primitive::sphere_box(out, margin, &Ball::of(&a), &b),
            (Capsule, Capsule) => primitive::capsule_capsule(out, margin, &a, &b),
            (Capsule, Box) => primitive::capsule_box(out, margin, &a, &b),
            (Box, Box) => primitive::box_box(out, margin, &a, &b),
            (Box | Mesh, Mesh) => {
                if let [Some(p), Some(q)] = geom.map(|g| self.polytope[g].as_ref()) {
                    let limits = Limits {
                        margin,
                        iterations: m.opt.ccd_iterations,
                        many: !m.opt.disabled(disable::MULTICCD),
                    };
                    convex_convex(out, limits, [p, q], [a, b], &mut self.scratch);
                }
            }
            _ => {}
        }
    }
}
