//! Procedural meshes (`mesh/builtin`).
//!
//! Source: MuJoCo `mjs_makeMesh`; its manual, *XML reference*, `asset/mesh/builtin`.

use std::collections::HashMap;
use std::f64::consts::PI;

use super::load::{RawMesh, single};
use super::{MeshErrorKind, MeshInertia};

/// A procedural mesh: its name and parameters, as written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Builtin {
    /// sphere, hemisphere, cone, supersphere, supertorus, wedge or plate.
    pub kind: String,
    /// Parameters; their number and meaning depend on the kind.
    pub params: Vec<f64>,
}

/// Resolutions above this are refused, so that a typing error does not fill the memory.
const MAX_RESOLUTION: usize = 4096;

/// Make a builtin mesh.
///
/// # Errors
/// An unknown or unsupported kind, wrong parameters.
pub fn make(builtin: &Builtin) -> Result<RawMesh, MeshErrorKind> {
    let kind = builtin.kind.as_str();
    let err = |problem| Err(MeshErrorKind::Builtin { kind: kind.to_string(), problem });
    let at_least = |x: f64, low: usize| to_count(x).filter(|&n| n >= low && n <= MAX_RESOLUTION);
    let p = builtin.params.as_slice();
    match (kind, p) {
        ("sphere", &[subdivision]) => match to_count(subdivision) {
            Some(n @ 0..=4) => Ok(sphere(n)),
            _ => err("subdivision must be in [0, 4]"),
        },
        ("hemisphere", &[resolution]) => match to_count(resolution) {
            Some(n @ 0..=10) => Ok(hemisphere(n)),
            _ => err("resolution must be in [0, 10]"),
        },
        ("cone", &[nvert, radius]) => match at_least(nvert, 3) {
            Some(n) if (0.0..=1.0).contains(&radius) => Ok(cone(n, radius)),
            _ => err("needs at least 3 vertices and a radius in [0, 1]"),
        },
        ("supersphere", &[resolution, e, n]) => match at_least(resolution, 3) {
            Some(res) if e >= 0.0 && n >= 0.0 => Ok(supersphere(res, e, n)),
            _ => err("needs a resolution of at least 3 and exponents that are not negative"),
        },
        ("supertorus", &[resolution, radius, s, t]) => match at_least(resolution, 3) {
            Some(res) if radius > 0.0 && radius <= 1.0 && s > 0.0 && t > 0.0 => {
                Ok(supertorus(res, radius, s, t))
            }
            _ => err("needs a resolution of at least 3, a radius in (0, 1], positive exponents"),
        },
        ("wedge", &[nx, ny, fovx, fovy, gamma]) => match (at_least(nx, 1), at_least(ny, 1)) {
            (Some(nx), Some(ny))
                if fovx > 0.0
                    && fovx <= 180.0
                    && fovy > 0.0
                    && fovy <= 90.0
                    && (0.0..=1.0).contains(&gamma) =>
            {
                Ok(wedge([nx, ny], [fovx, fovy], gamma))
            }
            _ => err("resolution must be positive, fov in (0, 180] and (0, 90], gamma in [0, 1]"),
        },
        ("plate", &[nx, ny]) => match (at_least(nx, 1), at_least(ny, 1)) {
            (Some(nx), Some(ny)) => Ok(plate([nx, ny])),
            _ => err("resolution must be positive"),
        },
        ("grid" | "box" | "cylinder" | "ellipsoid" | "square" | "disc", _) => {
            Err(MeshErrorKind::Unsupported(format!("builtin mesh `{kind}`")))
        }
        (
            "sphere" | "hemisphere" | "cone" | "supersphere" | "supertorus" | "wedge" | "plate",
            _,
        ) => err("wrong number of parameters"),
        _ => err("unknown kind"),
    }
}

/// Integer part of a parameter, if it is a number that can count something.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "range checked")]
fn to_count(x: f64) -> Option<usize> {
    (x > -1.0 && x < 1e9).then_some(x.max(0.0) as usize)
}

fn point(p: [f64; 3]) -> [f32; 3] {
    p.map(single)
}

/// Face of mesh vertices.
fn face(corners: [usize; 3]) -> [i64; 3] {
    corners.map(|i| i64::try_from(i).unwrap_or(i64::MAX))
}

/// Icosahedron, each triangle cut in four `subdivision` times, vertices pushed to the unit sphere.
fn sphere(subdivision: usize) -> RawMesh {
    const FACES: [[usize; 3]; 20] = [
        [0, 11, 5],
        [0, 5, 1],
        [0, 1, 7],
        [0, 7, 10],
        [0, 10, 11],
        [1, 5, 9],
        [5, 11, 4],
        [11, 10, 2],
        [10, 7, 6],
        [7, 1, 8],
        [3, 9, 4],
        [3, 4, 2],
        [3, 2, 6],
        [3, 6, 8],
        [3, 8, 9],
        [4, 9, 5],
        [2, 4, 11],
        [6, 2, 10],
        [8, 6, 7],
        [9, 8, 1],
    ];
    // three golden rectangles, in single precision
    let phi = single(f64::midpoint(1.0, 5.0_f64.sqrt()));
    let norm = f64::from(1.0_f32 + phi * phi).sqrt();
    let unit = |x: f32| single(f64::from(x) / norm);
    let (u, v) = (unit(1.0), unit(phi));
    let mut vert = vec![
        [-u, v, 0.0],
        [u, v, 0.0],
        [-u, -v, 0.0],
        [u, -v, 0.0],
        [0.0, -u, v],
        [0.0, u, v],
        [0.0, -u, -v],
        [0.0, u, -v],
        [v, 0.0, -u],
        [v, 0.0, u],
        [-v, 0.0, -u],
        [-v, 0.0, u],
    ];

    let mut faces = FACES.to_vec();
    for _ in 0..subdivision {
        let mut middle = HashMap::new();
        let mut between = |a: usize, b: usize| {
            *middle.entry((a.min(b), a.max(b))).or_insert_with(|| {
                let m = [0, 1, 2].map(|k| f32::midpoint(vert[a][k], vert[b][k]));
                let length = (m[0] * m[0] + m[1] * m[1] + m[2] * m[2]).sqrt();
                vert.push(m.map(|x| x / length));
                vert.len() - 1
            })
        };
        let mut finer = Vec::with_capacity(4 * faces.len());
        for [a, b, c] in faces {
            let (ab, bc, ca) = (between(a, b), between(b, c), between(c, a));
            finer.extend([[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]);
        }
        faces = finer;
    }
    RawMesh { vert, face: faces.into_iter().map(face).collect(), ..RawMesh::default() }
}

/// Northern half of the unit sphere with a flat bottom: the upper half of an octahedron, its
/// faces divided into `resolution + 1` rows and projected. Row r has 4(r + 1) vertices.
fn hemisphere(resolution: usize) -> RawMesh {
    const EQUATOR: [[f64; 2]; 4] = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]];
    let rows = resolution + 1;
    let mut vert = vec![[0.0, 0.0, 1.0]];
    for row in 0..rows {
        let factor = (row + 1) as f64 / rows as f64;
        for side in 0..4 {
            let corner = |e: [f64; 2]| [factor * e[0], factor * e[1], 1.0 + factor * (0.0 - 1.0)];
            let (start, end) = (corner(EQUATOR[side]), corner(EQUATOR[(side + 1) % 4]));
            let delta = [0, 1, 2].map(|k| (end[k] - start[k]) / (row + 1) as f64);
            for i in 0..=row {
                let p = [0, 1, 2].map(|k| start[k] + i as f64 * delta[k]);
                let norm = (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt();
                vert.push(point(p.map(|x| x / norm)));
            }
        }
    }

    let mut faces = vec![[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]];
    for row in 0..resolution {
        let (here, nhere) = (2 * row * (row + 1) + 1, 4 * (row + 1));
        let (below, nbelow) = (here + nhere, 4 * (row + 2));
        for side in 0..4 {
            for i in 0..row + 2 {
                let a = i + (row + 1) * side;
                let b = i + (row + 2) * side;
                let next = below + (b + 1) % nbelow;
                faces.push([here + a % nhere, below + b % nbelow, next]);
                if i <= row {
                    faces.push([here + a % nhere, next, here + (a + 1) % nhere]);
                }
            }
        }
    }

    // bottom
    let center = vert.len();
    vert.push([0.0; 3]);
    let (rim, count) = (2 * resolution * rows + 1, 4 * rows);
    faces.extend((0..count).map(|i| [rim + i, center, rim + (i + 1) % count]));
    RawMesh { vert, face: faces.into_iter().map(face).collect(), ..RawMesh::default() }
}

/// Points of a regular polygon at z = −1 and a scaled one, or the apex, at z = 1; no faces.
fn cone(nvert: usize, radius: f64) -> RawMesh {
    let ring = |scale: f64, z: f64| {
        (0..nvert).map(move |i| {
            let (sin, cos) = (2.0 * i as f64 * PI / nvert as f64).sin_cos();
            point([scale * cos, scale * sin, z])
        })
    };
    let mut vert: Vec<_> = ring(1.0, -1.0).collect();
    if radius > 0.0 {
        // the upper polygon is numbered on from the lower one: its angles start after a full turn
        vert.extend((nvert..2 * nvert).map(|i| {
            let (sin, cos) = (2.0 * i as f64 * PI / nvert as f64).sin_cos();
            point([radius * cos, radius * sin, 1.0])
        }));
    } else {
        vert.push([0.0, 0.0, 1.0]);
    }
    RawMesh { vert, ..RawMesh::default() }
}

/// |x|^m with the sign of x.
fn signed_power(x: f64, m: f64) -> f64 {
    x.abs().powf(m).copysign(x)
}

/// Superellipsoid of unit half-axes with exponents `e` (east-west) and `n` (north-south).
fn supersphere(res: usize, e: f64, n: f64) -> RawMesh {
    let mut vert = vec![[0.0, 0.0, -1.0]];
    for i in 1..res {
        let v = -PI / 2.0 + i as f64 * PI / res as f64;
        for j in 0..res {
            let u = -PI + (j as f64 * 2.0) * PI / res as f64;
            vert.push(point([
                signed_power(v.cos(), n) * signed_power(u.cos(), e),
                signed_power(v.cos(), n) * signed_power(u.sin(), e),
                signed_power(v.sin(), n),
            ]));
        }
    }
    vert.push([0.0, 0.0, 1.0]);

    // vertex j of ring i, i from 0
    let at = |i: usize, j: usize| 1 + i * res + j % res;
    let north = vert.len() - 1;
    let mut faces: Vec<_> = (0..res).map(|j| [0, at(0, j + 1), at(0, j)]).collect();
    for i in 0..res - 2 {
        for j in 0..res {
            let (a, b, c, d) = (at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j));
            faces.extend([[a, b, d], [b, c, d]]);
        }
    }
    faces.extend((0..res).map(|j| [at(res - 2, j), at(res - 2, j + 1), north]));
    RawMesh { vert, face: faces.into_iter().map(face).collect(), ..RawMesh::default() }
}

/// Supertoroid of major radius 1, with exponents `s` (section) and `t` (ring).
fn supertorus(res: usize, radius: f64, s: f64, t: f64) -> RawMesh {
    let mut vert = Vec::with_capacity(res * res);
    let mut faces = Vec::with_capacity(2 * res * res);
    let at = |i: usize, j: usize| i % res * res + j % res;
    for i in 0..res {
        for j in 0..res {
            let u = 2.0 * PI * i as f64 / res as f64;
            let v = 2.0 * PI * j as f64 / res as f64;
            let ring = 1.0 + radius * signed_power(v.cos(), s);
            vert.push(point([
                ring * signed_power(u.cos(), t),
                ring * signed_power(u.sin(), t),
                radius * signed_power(v.sin(), s),
            ]));
            let (a, b, c, d) = (at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
            faces.extend([[a, b, d], [b, c, d]]);
        }
    }
    RawMesh { vert, face: faces.into_iter().map(face).collect(), ..RawMesh::default() }
}

/// `n` numbers from `low` to `high`, by repeated addition.
fn linspace(low: f64, high: f64, n: usize) -> Vec<f64> {
    let step = if n > 1 { (high - low) / (n - 1) as f64 } else { 0.0 };
    std::iter::successors(Some(low), |x| Some(x + step)).take(n).collect()
}

/// Points of the unit sphere around −z: a field of view in degrees, denser in the middle for
/// positive `gamma`; no faces.
fn wedge(resolution: [usize; 2], fov: [f64; 2], gamma: f64) -> RawMesh {
    let edges = |k: usize| -> Vec<f64> {
        linspace(-1.0, 1.0, resolution[k] + 1)
            .into_iter()
            .map(|x| if gamma == 0.0 { x } else { gamma * x.powi(5) + (1.0 - gamma) * x })
            .map(|x| x * (fov[k] * PI / 180.0))
            .collect()
    };
    let (x, y) = (edges(0), edges(1));
    let mut vert = Vec::with_capacity(resolution[0] * resolution[1]);
    for azimuth in x.windows(2).map(|w| 0.5 * (w[1] + w[0])) {
        for elevation in y.windows(2).map(|w| 0.5 * (w[1] + w[0])) {
            vert.push(point([
                elevation.cos() * azimuth.sin(),
                elevation.sin(),
                -elevation.cos() * azimuth.cos(),
            ]));
        }
    }
    RawMesh { vert, has_normal: true, ..RawMesh::default() }
}

/// The centres of the cells of a grid over [−1, 1]², at z = −1; a shell.
fn plate([nx, ny]: [usize; 2]) -> RawMesh {
    let mut vert = Vec::with_capacity(nx * ny);
    let mut faces = Vec::new();
    let at = |i: usize, j: usize| i * ny + j;
    for i in 0..nx {
        for j in 0..ny {
            let center = |k: usize, n: usize| -1.0 + (k as f64 + 0.5) * (2.0 / n as f64);
            vert.push(point([center(i, nx), center(j, ny), -1.0]));
            if i > 0 && j > 0 {
                let (a, b, c, d) = (at(i - 1, j - 1), at(i, j - 1), at(i, j), at(i - 1, j));
                faces.extend([[a, b, d], [c, d, b]]);
            }
        }
    }
    RawMesh {
        vert,
        face: faces.into_iter().map(face).collect(),
        has_normal: true,
        inertia: Some(MeshInertia::Shell),
        ..RawMesh::default()
    }
}
