//! What a geom takes from its mesh: frame, size, bounds, mass, inertia; and primitives fitted to a
//! mesh.
//!
//! Source: MuJoCo `mjCGeom::Compile`, `GetVolume`, `SetInertia`, `GetRBound`, `ComputeAABB`;
//! `mjCMesh::FitGeom`.

use super::Mesh;
use crate::mjcf::eig::{mul_quat, quat_to_mat};

/// A volume at or below this has no mass (`mjEPS`).
const MIN_VOLUME: f64 = 1e-14;

/// How the mass of a geom is given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GeomMass {
    /// Mass per volume [kg/m³]; per area [kg/m²] for a shell.
    Density(f64),
    /// Mass \[kg\].
    Mass(f64),
}

/// Mass and inertia of a geom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MassProperties {
    /// Mass \[kg\].
    pub mass: f64,
    /// Principal moments of inertia about the origin of the mesh frame [kg·m²]; the axes are
    /// those of the mesh frame.
    pub inertia: [f64; 3],
}

/// A primitive that can be fitted to a mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitShape {
    /// size: radius.
    Sphere,
    /// size: radius, half-length of the cylindrical part.
    Capsule,
    /// size: radius, half-length.
    Cylinder,
    /// size: half-axes.
    Ellipsoid,
    /// size: half-sizes.
    Box,
}

impl Mesh {
    /// Mass and principal inertia of a geom of this mesh.
    pub fn mass_properties(&self, given: GeomMass) -> MassProperties {
        let mass = match given {
            GeomMass::Density(density) => density * self.volume,
            GeomMass::Mass(mass) if self.volume > MIN_VOLUME => mass,
            GeomMass::Mass(_) => 0.0,
        };
        MassProperties { mass, inertia: self.inertia_of(mass) }
    }

    /// Principal moments of inertia [kg·m²] for a mass \[kg\], in the mesh frame: those of the
    /// inertia box.
    pub fn inertia_of(&self, mass: f64) -> [f64; 3] {
        let [x, y, z] = self.box_size;
        [mass * (y * y + z * z) / 3.0, mass * (x * x + z * z) / 3.0, mass * (x * x + y * y) / 3.0]
    }

    /// Half-sizes \[m\] of the smallest box around the mesh that is centred at the origin of the mesh
    /// frame: `geom_size` of a mesh geom.
    pub fn geom_size(&self) -> [f64; 3] {
        [0, 1, 2].map(|k| self.lower[k].abs().max(self.upper[k].abs()))
    }

    /// Radius \[m\] of the sphere about the origin of the mesh frame that contains that box:
    /// `geom_rbound`.
    pub fn rbound(&self) -> f64 {
        let [x, y, z] = self.geom_size();
        (x * x + y * y + z * z).sqrt()
    }

    /// Bounding box in the mesh frame \[m\], centre and half-sizes: `geom_aabb`.
    pub fn aabb(&self) -> [f64; 6] {
        let (l, u) = (self.lower, self.upper);
        let center = |k: usize| f64::midpoint(u[k], l[k]);
        let half = |k: usize| (u[k] - l[k]) / 2.0;
        [center(0), center(1), center(2), half(0), half(1), half(2)]
    }

    /// Frame of a geom that uses this mesh, from the frame as written: mesh frame composed into
    /// it. `center` is zero for a mesh geom, and what [`Mesh::fit`] returned for a fitted one.
    ///
    /// Positions in \[m\], quaternions (w, x, y, z), both in the frame of the body.
    pub fn geom_frame(
        &self,
        pos: [f64; 3],
        quat: [f64; 4],
        center: [f64; 3],
    ) -> ([f64; 3], [f64; 4]) {
        let mut local = [0.0; 3];
        if center != [0.0; 3] {
            local = rotate(self.quat, center);
        }
        for k in 0..3 {
            local[k] += self.pos[k];
        }
        let offset = rotate(quat, local);
        ([0, 1, 2].map(|k| pos[k] + offset[k]), mul_quat(quat, self.quat))
    }

    /// Size of a primitive fitted to this mesh, and its centre in the mesh frame \[m\].
    ///
    /// Without `fitaabb` the primitive resembles the inertia box and is centred at the origin; with
    /// it, it is the smallest whose bounding box contains the mesh's. `size` is what the geom had;
    /// entries that the shape does not use are kept, but scaled by `fitscale` like the others.
    pub fn fit(
        &self,
        shape: FitShape,
        fitaabb: bool,
        fitscale: f64,
        size: [f64; 3],
    ) -> ([f64; 3], [f64; 3]) {
        let mut size = size;
        let mut center = [0.0; 3];
        if fitaabb {
            center = [0, 1, 2].map(|k| f64::midpoint(self.lower[k], self.upper[k]));
            let half = [0, 1, 2].map(|k| self.upper[k] - center[k]);
            let radius = half[0].max(half[1]);
            match shape {
                FitShape::Sphere => size[0] = radius.max(half[2]),
                FitShape::Capsule => (size[0], size[1]) = (radius, half[2] - radius),
                FitShape::Cylinder => (size[0], size[1]) = (radius, half[2]),
                FitShape::Ellipsoid | FitShape::Box => size = half,
            }
        } else {
            let half = self.box_size;
            let radius = f64::midpoint(half[0], half[1]);
            match shape {
                FitShape::Sphere => size[0] = (half[0] + half[1] + half[2]) / 3.0,
                FitShape::Capsule => {
                    (size[0], size[1]) = (radius, (half[2] - radius / 2.0).max(0.0));
                }
                FitShape::Cylinder => (size[0], size[1]) = (radius, half[2]),
                FitShape::Ellipsoid | FitShape::Box => size = half,
            }
        }
        (size.map(|s| s * fitscale), center)
    }
}

fn rotate(quat: [f64; 4], v: [f64; 3]) -> [f64; 3] {
    let r = quat_to_mat(quat);
    [0, 1, 2].map(|i| r[(i, 0)] * v[0] + r[(i, 1)] * v[1] + r[(i, 2)] * v[2])
}
