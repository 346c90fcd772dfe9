//! Narrow phase: the collider of each pair of shapes.

use super::contact::Touch;
use super::convex::{Limits, Polytope, Scratch, Shape, convex_convex, prism_convex, separation};
use super::hfield::{Extent, HeightField, relative, to_world};
use super::primitive::sphere_sphere::Ball;
use super::primitive::{self, Placed};
use crate::data::Data;
use crate::model::options::disable;
use crate::model::{GeomType, Model};
use crate::scalar::Scalar;

/// Most contacts of one pair of geoms (`mjMAXCONPAIR`).
pub(super) const MAX_TOUCHES: usize = 50;

/// A geom in the world.
fn placed<'a, T: Scalar>(m: &'a Model, d: &'a Data<T>, g: usize) -> Placed<'a, T> {
    Placed { pos: &d.geom_xpos[g], mat: &d.geom_xmat[g], size: &m.geom_size[g] }
}

/// True if there is a collider for the two types; order does not matter.
pub fn has_collider(a: GeomType, b: GeomType) -> bool {
    use GeomType::{Box, Capsule, Cylinder, Ellipsoid, Hfield, Mesh, Plane, Sphere};
    let (a, b) = if a as i32 <= b as i32 { (a, b) } else { (b, a) };
    matches!(
        (a, b),
        (
            Plane | Hfield | Sphere | Capsule | Ellipsoid | Cylinder | Box | Mesh,
            Sphere | Capsule | Ellipsoid | Cylinder | Box | Mesh
        )
    )
}

/// The shape of a geom; none if it is not convex, or a mesh without a hull.
fn shape<'a>(m: &Model, polytope: &'a [Option<Polytope>], g: usize) -> Option<Shape<'a>> {
    use GeomType::{Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere};
    let size = m.geom_size[g];
    match m.geom_type[g] {
        Sphere => Some(Shape::Ball(size.x)),
        Capsule => Some(Shape::Capsule { radius: size.x, half: size.y }),
        Ellipsoid => Some(Shape::Ellipsoid(size)),
        Cylinder => {
            polytope[g].as_ref().map(|caps| Shape::Cylinder { radius: size.x, half: size.y, caps })
        }
        Box => polytope[g].as_ref().map(|p| Shape::Box(size, p)),
        Mesh => polytope[g].as_ref().map(Shape::Mesh),
        _ => None,
    }
}

/// What limits the general collider.
fn limits(m: &Model, margin: f64, exact: bool) -> Limits {
    Limits {
        margin,
        exact,
        iterations: m.opt.ccd_iterations,
        tolerance: m.opt.ccd_tolerance,
        many: !m.opt.disabled(disable::MULTICCD),
    }
}

/// Colliders of one model, and the memory they need.
#[derive(Clone, Debug)]
pub(super) struct Narrow<T: Scalar> {
    /// Polytopes of the geoms that are one (ngeom).
    polytope: Vec<Option<Polytope>>,
    scratch: Scratch<T>,
    /// Whether nearest points are those of the shapes themselves, see [`Limits::exact`].
    pub(super) exact: bool,
}

impl<T: Scalar> Narrow<T> {
    /// For a model: joins the coplanar faces of all hulls.
    pub(super) fn new(m: &Model) -> Self {
        Self {
            polytope: (0..m.ngeom).map(|g| Polytope::of_geom(m, g)).collect(),
            scratch: Scratch::new(m.opt.ccd_iterations),
            exact: false,
        }
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
        self.collide_placed(m, geom, geom.map(|g| placed(m, d, g)), margin, out);
    }

    /// The same at given poses.
    pub(super) fn collide_placed(
        &mut self,
        m: &Model,
        geom: [usize; 2],
        [a, b]: [Placed<T>; 2],
        margin: f64,
        out: &mut Vec<Touch<T>>,
    ) {
        use GeomType::{Box, Capsule, Cylinder, Ellipsoid, Hfield, Mesh, Plane, Sphere};
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
            (Hfield, _) => self.collide_hfield(m, geom, [a, b], margin, out),
            (Sphere | Capsule | Ellipsoid | Cylinder | Box | Mesh, _) => {
                self.collide_convex(m, geom, [a, b], margin, out);
            }
            _ => {}
        }
    }

    /// Where two convex solids are nearest to each other, or deepest in each other, if that is less than `distmax` apart.
    /// None for shapes that the general collider does not take.
    ///
    /// - reads `geom_xpos`, `geom_xmat`
    pub(super) fn separation(
        &mut self,
        m: &Model,
        d: &Data<T>,
        geom: [usize; 2],
        distmax: f64,
    ) -> Option<Touch<T>> {
        let Self { polytope, scratch, exact } = self;
        let [first, second] = geom.map(|g| shape(m, polytope, g));
        let placed = geom.map(|g| placed(m, d, g));
        separation(limits(m, distmax, *exact), [first?, second?], placed, scratch)
    }

    /// The same for a height field: each prism under its surface by the general collider.
    fn collide_hfield(
        &mut self,
        m: &Model,
        geom: [usize; 2],
        [field, other]: [Placed<T>; 2],
        margin: f64,
        out: &mut Vec<Touch<T>>,
    ) {
        let Self { polytope, scratch, exact } = self;
        let shape = shape(m, polytope, geom[1]);
        let (Some(h), Some(shape)) = (m.geom_dataid[geom[0]], shape) else { return };
        let (pos, mat) = relative(&field, &other);
        let near = Extent::new(shape, pos.map(Scalar::re), mat.map(Scalar::re));
        let first = out.len();
        HeightField::new(m, h).visit_prisms(&near, margin, |prism| {
            let placed = Placed { pos: &pos, mat: &mat, size: other.size };
            prism_convex(out, limits(m, margin, *exact), prism, shape, placed, scratch);
            out.len() - first < MAX_TOUCHES
        });
        out[first..].iter_mut().for_each(|touch| to_world(&field, touch));
    }

    /// The same by the general collider.
    fn collide_convex(
        &mut self,
        m: &Model,
        geom: [usize; 2],
        placed: [Placed<T>; 2],
        margin: f64,
        out: &mut Vec<Touch<T>>,
    ) {
        let Self { polytope, scratch, exact } = self;
        if let [Some(first), Some(second)] = geom.map(|g| shape(m, polytope, g)) {
            convex_convex(out, limits(m, margin, *exact), [first, second], placed, scratch);
        }
    }
}
