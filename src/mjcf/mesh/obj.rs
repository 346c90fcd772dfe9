//! Wavefront OBJ, read as tinyobjloader reads it for MuJoCo.
//!
//! What that means, beyond the format: all vertices are kept, used or not; only the first object
//! or group that has faces is used; a quad is cut along its shorter diagonal and a larger polygon
//! by ear clipping in the plane of two axes, in single precision; a number that cannot be parsed
//! is zero; an unknown statement is skipped; an index of zero is an error.

use super::MeshErrorKind;
use super::load::{RawMesh, single};

/// Parse an OBJ file.
///
/// # Errors
/// A face with an index that is zero, not a number, or relative to before the first vertex.
pub fn obj(bytes: &[u8]) -> Result<RawMesh, MeshErrorKind> {
    let mut reader = Reader::default();
    for (i, line) in lines(bytes).enumerate() {
        reader.statement(line).ok_or_else(|| {
            MeshErrorKind::format(
                "OBJ",
                format!("line {}: a vertex index is zero, missing or out of range", i + 1),
            )
        })?;
    }
    reader.finish_shape(Boundary::End);
    Ok(RawMesh {
        has_normal: reader.has_normal,
        has_texcoord: reader.has_texcoord,
        vert: reader.vert,
        face: reader.first_shape.unwrap_or_default(),
        inertia: None,
    })
}

/// Lines, ended by `\n`, `\r\n` or `\r`.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .split(|&b| b == b'\n')
        .flat_map(|line| line.strip_suffix(b"\r").unwrap_or(line).split(|&b| b == b'\r'))
}

/// What ends a shape: `g` keeps it only if it has faces, the others also for lines or points.
#[derive(Clone, Copy, PartialEq)]
enum Boundary {
    Group,
    Object,
    End,
}

#[derive(Default)]
struct Reader {
    vert: Vec<[f32; 3]>,
    has_normal: bool,
    has_texcoord: bool,
    /// Polygons of the current shape.
    polygons: Vec<Vec<i64>>,
    /// Segments of the current shape, as triangles without area.
    segments: Vec<[i64; 3]>,
    has_points: bool,
    /// Triangles of the first shape that is complete.
    first_shape: Option<Vec<[i64; 3]>>,
}

impl Reader {
    /// One line; none for an index that cannot be.
    fn statement(&mut self, line: &[u8]) -> Option<()> {
        let line = line.trim_ascii_start();
        let word_end = line.iter().position(|&b| is_space(b)).unwrap_or(line.len());
        let (word, rest) = line.split_at(word_end);
        if rest.is_empty() {
            return Some(()); // a statement needs a space after its word
        }
        match word {
            b"v" => {
                let mut numbers = rest.split(|&b| is_space(b)).filter(|t| !t.is_empty()).map(real);
                self.vert.push([(); 3].map(|()| numbers.next().unwrap_or(0.0)));
            }
            b"vn" => self.has_normal = true,
            b"vt" => self.has_texcoord = true,
            b"f" => {
                let polygon = self.indices(rest)?;
                self.polygons.push(polygon);
            }
            b"l" => {
                let polyline = self.indices(rest)?;
                self.segments.extend(polyline.windows(2).map(|s| [s[0], s[1], s[1]]));
            }
            b"p" => {
                self.indices(rest)?;
                self.has_points = true;
            }
            b"g" => self.finish_shape(Boundary::Group),
            b"o" => self.finish_shape(Boundary::Object),
            _ => {}
        }
        Some(())
    }

    /// The vertex indices of `i`, `i/j`, `i//k`, `i/j/k` triples, counted from 0. Negative ones
    /// count from the last vertex so far.
    fn indices(&self, rest: &[u8]) -> Option<Vec<i64>> {
        let nvert = i64::try_from(self.vert.len()).ok()?;
        let triples = rest.split(|&b| is_space(b)).filter(|t| !t.is_empty());
        triples
            .map(|triple| match integer(triple) {
                0 => None,
                i if i > 0 => Some(i - 1),
                i => Some(nvert + i).filter(|&i| i >= 0),
            })
            .collect()
    }

    /// Close the current shape; the first one that has content is the mesh.
    fn finish_shape(&mut self, boundary: Boundary) {
        let polygons = std::mem::take(&mut self.polygons);
        let segments = std::mem::take(&mut self.segments);
        let has_points = std::mem::take(&mut self.has_points);
        if self.first_shape.is_some() {
            return;
        }
        let some_polygon = !polygons.is_empty();
        let faces: Vec<_> = polygons.iter().flat_map(|p| triangulate(p, &self.vert)).collect();
        if !faces.is_empty() {
            self.first_shape = Some(faces);
            return;
        }
        let kept = match boundary {
            Boundary::Group => false,
            Boundary::Object => !segments.is_empty() || has_points,
            Boundary::End => some_polygon || !segments.is_empty() || has_points,
        };
        if kept {
            self.first_shape = Some(segments);
        }
    }
}

fn is_space(b: u8) -> bool {
    b == b' ' || b == b'\t' || b == b'\r'
}

/// Leading integer of a token, 0 if there is none: C's `atoi`.
fn integer(token: &[u8]) -> i64 {
    let (sign, digits) = match token {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        _ => (1, token),
    };
    let digits = digits.iter().take_while(|b| b.is_ascii_digit());
    // saturated: such an index exists in no mesh
    let limit = i64::from(i32::MAX);
    let magnitude = digits.fold(0, |n: i64, b| (10 * n + i64::from(b - b'0')).min(limit));
    sign * magnitude
}

/// Leading decimal number of a token, 0 if there is none; no `nan`, no `inf`.
fn real(token: &[u8]) -> f32 {
    let digits = |from: usize| token[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut end = usize::from(matches!(token.first(), Some(b'+' | b'-')));
    end += digits(end);
    if token.get(end) == Some(&b'.') {
        end += 1;
        end += digits(end);
    }
    if matches!(token.get(end), Some(b'e' | b'E')) {
        end += 1;
        end += usize::from(matches!(token.get(end), Some(b'+' | b'-')));
        end += digits(end);
    }
    let text = std::str::from_utf8(&token[..end]).unwrap_or("");
    single(text.parse::<f64>().unwrap_or(0.0))
}

/// Cut a polygon into triangles. Polygons of fewer than three corners are dropped, as are quads
/// with a corner that does not exist.
fn triangulate(polygon: &[i64], vert: &[[f32; 3]]) -> Vec<[i64; 3]> {
    let corner = |i: i64| usize::try_from(i).ok().and_then(|i| vert.get(i)).copied();
    match *polygon {
        [a, b, c] => vec![[a, b, c]],
        [a, b, c, d] => {
            let (Some(pa), Some(pb), Some(pc), Some(pd)) =
                (corner(a), corner(b), corner(c), corner(d))
            else {
                return Vec::new();
            };
            if squared(pa, pc) < squared(pb, pd) {
                vec![[a, b, c], [a, c, d]]
            } else {
                vec![[a, b, d], [b, c, d]]
            }
        }
        _ if polygon.len() > 4 => clip_ears(polygon, vert),
        _ => Vec::new(),
    }
}

fn squared(a: [f32; 3], b: [f32; 3]) -> f32 {
    let e = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
    e[0] * e[0] + e[1] * e[1] + e[2] * e[2]
}

/// Ear clipping in the plane of the two axes that shows the first corner best. It gives up, with
/// triangles missing, after going round once without an ear.
///
/// The orientation test compares the turn at a corner with the signed area that its first edge
/// spans with the origin, so whether an ear is found depends on where the origin is. It is kept
/// because the triangles that MuJoCo ends up with depend on it.
fn clip_ears(polygon: &[i64], vert: &[[f32; 3]]) -> Vec<[i64; 3]> {
    let at =
        |i: i64| usize::try_from(i).ok().and_then(|i| vert.get(i)).copied().unwrap_or([0.0; 3]);
    let (ax, ay) = projection_axes(polygon, vert);
    let project = |i: i64| {
        let p = at(i);
        [p[ax], p[ay]]
    };

    let mut triangles = Vec::new();
    let mut rest = polygon.to_vec();
    let mut guess = 0;
    let mut tries = rest.len();
    let mut before = rest.len();
    while rest.len() > 3 && tries > 0 {
        let n = rest.len();
        if guess >= n {
            guess -= n;
        }
        if before == n {
            tries -= 1;
        } else {
            before = n;
            tries = n;
        }

        let ear = [0, 1, 2].map(|k| rest[(guess + k) % n]);
        let [p0, p1, p2] = ear.map(project);
        let turn = (p1[0] - p0[0]) * (p2[1] - p1[1]) - (p1[1] - p0[1]) * (p2[0] - p1[0]);
        let area = (p0[0] * p1[1] - p0[1] * p1[0]) * 0.5;
        let reflex = turn * area < 0.0;
        let occupied = || (3..n).any(|k| inside([p0, p1, p2], project(rest[(guess + k) % n])));
        if reflex || occupied() {
            guess += 1;
            continue;
        }
        triangles.push(ear);
        rest.remove((guess + 1) % n);
    }
    if let [a, b, c] = rest[..] {
        triangles.push([a, b, c]);
    }
    triangles
}

/// The two axes of the plane in which the first corner with an angle is seen largest.
fn projection_axes(polygon: &[i64], vert: &[[f32; 3]]) -> (usize, usize) {
    let at = |k: usize| {
        let i = usize::try_from(polygon[k % polygon.len()]).ok()?;
        vert.get(i).copied()
    };
    for k in 0..polygon.len() {
        let (Some(a), Some(b), Some(c)) = (at(k), at(k + 1), at(k + 2)) else { continue };
        let e0 = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
        let e1 = [c[0] - b[0], c[1] - b[1], c[2] - b[2]];
        let cx = (e0[1] * e1[2] - e0[2] * e1[1]).abs();
        let cy = (e0[2] * e1[0] - e0[0] * e1[2]).abs();
        let cz = (e0[0] * e1[1] - e0[1] * e1[0]).abs();
        if cx > f32::EPSILON || cy > f32::EPSILON || cz > f32::EPSILON {
            return if cx > cy && cx > cz {
                (1, 2)
            } else if cz > cx && cz > cy {
                (0, 1)
            } else {
                (0, 2)
            };
        }
    }
    (1, 2)
}

/// Whether a point is inside a triangle, by counting crossings of the ray in +x.
fn inside(triangle: [[f32; 2]; 3], [x, y]: [f32; 2]) -> bool {
    let mut odd = false;
    let mut j = 2;
    for i in 0..3 {
        let ([xi, yi], [xj, yj]) = (triangle[i], triangle[j]);
        if (yi > y) != (yj > y) && x < (xj - xi) * (y - yi) / (yj - yi) + xi {
            odd = !odd;
        }
        j = i;
    }
    odd
}
