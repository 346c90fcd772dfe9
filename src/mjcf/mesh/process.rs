//! Vertices and faces to a compiled mesh: hull, user transformation, volume and principal axes.
//!
//! A solid is the signed sum of tetrahedra over its faces, a shell the sum of its triangles. With
//! corners D, E, F, the products of inertia about the origin of the tetrahedron 0DEF of volume v
//! are (v/20) · (2(DDᵀ + EEᵀ + FFᵀ) + DEᵀ + EDᵀ + DFᵀ + FDᵀ + EFᵀ + FEᵀ), those of the triangle of
//! area v the same with 12 in place of 20.
//!
//! Source: MuJoCo `mjCMesh::Process`; O'Rourke, *Computational Geometry in C*, 2nd ed., 1.3.8.

use nalgebra::Matrix3;

use super::hull::cross;
use super::load::{RawMesh, single};
use super::{Hull, Mesh, MeshErrorKind, MeshInertia, MeshSpec, hull, polygon};
use crate::mjcf::eig::{eig3_tol, normalize, quat_to_mat};

type Vec3 = [f64; 3];
type Triangle = [usize; 3];

/// MuJoCo's `mjMINVAL`: areas and volumes below it are none.
const MIN: f64 = 1e-15;

/// Axes are kept where the moments of inertia differ by less than this, relatively.
const ISOTROPIC: f64 = 1e-7;

/// Mesh coordinates start their bounds here.
const FAR: f64 = 1e10;

/// Process loaded data into a mesh.
///
/// # Errors
/// Faces that refer to no vertex, a degenerate surface, no convex hull where one is needed.
pub fn process(spec: &MeshSpec, raw: &RawMesh) -> Result<Mesh, MeshErrorKind> {
    let inertia = raw.inertia.unwrap_or(spec.inertia);
    let mut vert: Vec<Vec3> = raw.vert.iter().map(|v| v.map(f64::from)).collect();
    if vert.len() < 4 {
        return Err(MeshErrorKind::TooFewVertices(vert.len()));
    }
    let mut face = checked_faces(&raw.face, vert.len())?;
    if inertia == MeshInertia::Exact {
        check_orientation(&face, &vert)?;
    }

    // the hull is that of the unscaled vertices; it is the surface of a mesh without faces
    let needhull = spec.needhull || inertia == MeshInertia::Convex || face.is_empty();
    let mut hull = needhull.then(|| make_hull(&vert, spec.maxhullvert)).transpose()?;
    if let (true, Some(hull)) = (face.is_empty(), &hull) {
        face.clone_from(&hull.face);
    }

    let triangles = hull.as_ref().map_or(&[][..], |hull| &hull.face);
    let mut polygon = polygon::polygons(&vert, triangles);

    // a mirrored mesh is inside out: turn the faces
    if spec.scale[0] * spec.scale[1] * spec.scale[2] <= 0.0 {
        for p in &mut polygon {
            p.reverse();
        }
        let of_hull = hull.iter_mut().flat_map(|h| h.face.iter_mut());
        face.iter_mut().chain(of_hull).for_each(|f| f.swap(1, 2));
    }
    transform(&mut vert, spec);

    // volume, then the frame at the centre of mass along the principal axes
    let surface = match (&hull, inertia) {
        (Some(hull), MeshInertia::Convex) => &hull.face,
        _ => &face,
    };
    let com = center_of_mass(&vert, &face, surface, inertia)?;
    let (volume, tensor) = moments(&vert, surface, com, inertia);
    let (moment, quat) = eig3_tol(&tensor, ISOTROPIC);
    let box_size = inertia_box(moment, volume)?;

    // into that frame
    let to_local = quat_to_mat([quat[0], -quat[1], -quat[2], -quat[3]]);
    let (mut lower, mut upper) = ([FAR; 3], [-FAR; 3]);
    for v in &mut vert {
        *v = rotate(&to_local, sub(*v, com));
        for k in 0..3 {
            lower[k] = lower[k].min(v[k]);
            upper[k] = upper[k].max(v[k]);
        }
    }
    let polynormal = polygon.iter().map(|p| polygon::normal(&vert, p)).collect();
    for v in &mut vert {
        *v = v.map(|x| f64::from(single(x)));
    }

    Ok(Mesh {
        name: spec.name.clone(),
        scale: spec.scale,
        vert,
        face,
        hull,
        polygon,
        polynormal,
        pos: com,
        quat,
        inertia,
        volume,
        box_size,
        lower,
        upper,
    })
}

/// Faces with their indices checked against the number of vertices.
fn checked_faces(face: &[[i64; 3]], nvert: usize) -> Result<Vec<Triangle>, MeshErrorKind> {
    let mut checked = Vec::with_capacity(face.len());
    for (i, corners) in face.iter().enumerate() {
        let mut triangle = [0; 3];
        for (to, &index) in triangle.iter_mut().zip(corners) {
            *to = usize::try_from(index)
                .ok()
                .filter(|&v| v < nvert)
                .ok_or(MeshErrorKind::FaceIndex { face: i, index })?;
        }
        checked.push(triangle);
    }
    Ok(checked)
}

/// In a closed, oriented surface every edge is run through once in each direction.
fn check_orientation(face: &[Triangle], vert: &[Vec3]) -> Result<(), MeshErrorKind> {
    let mut edges: Vec<(usize, usize)> = face
        .iter()
        .filter(|f| triangle(vert, **f).area > MIN.sqrt())
        .flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)])
        .collect();
    edges.sort_unstable();
    match edges.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(MeshErrorKind::InconsistentFaces(pair[0].0 + 1, pair[0].1 + 1)),
        None => Ok(()),
    }
}

/// The convex hull, or why there is none.
fn make_hull(vert: &[Vec3], maxhullvert: Option<usize>) -> Result<Hull, MeshErrorKind> {
    if let Some(max) = maxhullvert.filter(|&max| max < 4) {
        return Err(MeshErrorKind::MaxHullVert(max));
    }
    // a second point, a third off their line, a fourth off their plane
    let edges = || vert.iter().skip(1).map(|&v| sub(v, vert[0]));
    let Some((first, edge1)) = edges().enumerate().find(|(_, e)| norm(*e) > MIN) else {
        return Err(MeshErrorKind::Colocated);
    };
    let across = edges().enumerate().filter(|&(i, _)| i != first).find_map(|(_, edge2)| {
        let n = cross(edge1, edge2);
        let length = norm(n);
        let distinct = norm(edge2) >= MIN;
        (distinct && length > MIN * norm(edge1) * norm(edge2)).then(|| n.map(|x| x / length))
    });
    let Some(normal) = across else { return Err(MeshErrorKind::Collinear) };
    let offset = dot(normal, vert[0]);
    if !vert.iter().any(|&v| (dot(normal, v) - offset).abs() > MIN * norm(edge1)) {
        return Err(MeshErrorKind::Coplanar);
    }
    hull::convex_hull(vert, maxhullvert)
}

/// The user's transformation: v ← scale · Rᵀ(v − refpos).
fn transform(vert: &mut [Vec3], spec: &MeshSpec) {
    let mut quat = spec.refquat;
    let turned = quat != [1.0, 0.0, 0.0, 0.0];
    normalize(&mut quat);
    let inverse = quat_to_mat(quat).transpose();
    for v in vert {
        *v = sub(*v, spec.refpos);
        if turned {
            *v = rotate(&inverse, *v);
        }
        for k in 0..3 {
            v[k] *= spec.scale[k];
        }
    }
}

/// A triangle's area, unit normal (unset if there is no area) and centroid.
struct Flat {
    area: f64,
    normal: Vec3,
    center: Vec3,
}

fn triangle(vert: &[Vec3], [a, b, c]: Triangle) -> Flat {
    let (a, b, c) = (vert[a], vert[b], vert[c]);
    let center = [0, 1, 2].map(|k| (a[k] + b[k] + c[k]) / 3.0);
    let normal = cross(sub(b, a), sub(c, a));
    let length = norm(normal);
    if length < MIN {
        return Flat { area: 0.0, normal, center };
    }
    Flat { area: 0.5 * length, normal: normal.map(|x| x / length), center }
}

/// Centre of mass: pyramids from the faces of `surface` to the centroid of the faces of the mesh.
fn center_of_mass(
    vert: &[Vec3],
    face: &[Triangle],
    surface: &[Triangle],
    inertia: MeshInertia,
) -> Result<Vec3, MeshErrorKind> {
    // centroid of the faces
    let (mut apex, mut area) = ([0.0; 3], 0.0);
    for &f in face {
        let t = triangle(vert, f);
        for k in 0..3 {
            apex[k] += t.area * t.center[k];
        }
        area += t.area;
    }
    if area < MIN {
        return Err(MeshErrorKind::SmallArea);
    }
    let apex = apex.map(|x| x / area);

    // a pyramid's is 3/4 of the way from the apex to its base; shells, curiously, likewise
    let (mut com, mut total) = ([0.0; 3], 0.0);
    for &f in surface {
        let t = triangle(vert, f);
        let volume = match inertia {
            MeshInertia::Shell => t.area,
            MeshInertia::Legacy => (dot(sub(t.center, apex), t.normal) * t.area / 3.0).abs(),
            _ => dot(sub(t.center, apex), t.normal) * t.area / 3.0,
        };
        total += volume;
        for k in 0..3 {
            com[k] += volume * (t.center[k] * 3.0 / 4.0 + apex[k] / 4.0);
        }
    }
    if total >= MIN {
        return Ok(com.map(|x| x / total));
    }
    Err(match inertia {
        MeshInertia::Shell => MeshErrorKind::SmallArea,
        _ if total < 0.0 => MeshErrorKind::NegativeVolume,
        _ => MeshErrorKind::SmallVolume,
    })
}

/// Volume (area for shells) and inertia tensor about `com`, for unit density.
fn moments(
    vert: &[Vec3],
    surface: &[Triangle],
    com: Vec3,
    inertia: MeshInertia,
) -> (f64, Matrix3<f64>) {
    const PAIRS: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
    let centered: Vec<Vec3> = vert.iter().map(|&v| sub(v, com)).collect();
    let share = if inertia == MeshInertia::Shell { 12.0 } else { 20.0 };

    let (mut total, mut p) = (0.0, [0.0; 6]);
    for &corners in surface {
        let t = triangle(&centered, corners);
        let volume = match inertia {
            MeshInertia::Shell => t.area,
            MeshInertia::Legacy => (dot(t.center, t.normal) * t.area / 3.0).abs(),
            _ => dot(t.center, t.normal) * t.area / 3.0,
        };
        total += volume;
        let [d, e, f] = corners.map(|i| centered[i]);
        for (p, (i, j)) in p.iter_mut().zip(PAIRS) {
            *p += volume / share
                * (2.0 * (d[i] * d[j] + e[i] * e[j] + f[i] * f[j])
                    + d[i] * e[j]
                    + d[j] * e[i]
                    + d[i] * f[j]
                    + d[j] * f[i]
                    + e[i] * f[j]
                    + e[j] * f[i]);
        }
    }

    // products to moments of inertia
    let [xx, yy, zz, xy, xz, yz] = p;
    let tensor = Matrix3::new(yy + zz, -xy, -xz, -xy, xx + zz, -yz, -xz, -yz, xx + yy);
    (total, tensor)
}

/// Half-sizes of the solid box with principal moments `e` and the given volume as its mass.
fn inertia_box(e: Vec3, volume: f64) -> Result<Vec3, MeshErrorKind> {
    const RELATIVE: f64 = 1e-6;
    const ABSOLUTE: f64 = 1e-9;
    if e[2] <= 0.0 || e[2].is_nan() {
        return Err(MeshErrorKind::Eigenvalue);
    }
    let pairs = [e[1] + e[2] - e[0], e[0] + e[2] - e[1], e[0] + e[1] - e[2]];
    for k in 0..3 {
        if pairs[k] < -RELATIVE * e[k] - ABSOLUTE {
            return Err(MeshErrorKind::TriangleInequality);
        }
    }
    // a flat shell's may be negative by rounding
    Ok(pairs.map(|pair| 0.5 * (6.0 * pair.max(0.0) / volume).sqrt()))
}

fn rotate(r: &Matrix3<f64>, v: Vec3) -> Vec3 {
    [0, 1, 2].map(|i| r[(i, 0)] * v[0] + r[(i, 1)] * v[1] + r[(i, 2)] * v[2])
}

fn sub(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn norm(a: Vec3) -> f64 {
    dot(a, a).sqrt()
}
