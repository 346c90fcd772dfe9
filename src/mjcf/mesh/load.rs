//! Mesh files and inline data to vertices and faces, before any processing.

use std::collections::HashMap;
use std::path::Path;

use super::{MeshErrorKind, MeshInertia, MeshSpec, builtin, obj};

/// MuJoCo's media type of its own binary format.
const MSH: &str = "model/vnd.mujoco.msh";

/// The largest STL MuJoCo accepts, in faces.
const MAX_STL_FACES: usize = 200_000;

/// Bytes before the first face of an STL: title, number of faces.
const STL_HEADER: usize = 84;

/// Bytes a face of an STL: normal, three vertices, attribute.
const STL_FACE: usize = 50;

/// Largest coordinate in an STL.
const MAX_STL_COORDINATE: f32 = 1_073_741_824.0;

/// Vertices and faces as written, indices unchecked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RawMesh {
    /// Vertices in the frame of the file, unscaled, single precision.
    pub vert: Vec<[f32; 3]>,
    /// Faces as written; empty for a point cloud.
    pub face: Vec<[i64; 3]>,
    /// Texture coordinates or normals came with the file.
    pub has_normal: bool,
    /// Texture coordinates came with the file.
    pub has_texcoord: bool,
    /// Inertia mode the source asks for in place of the one specified.
    pub inertia: Option<MeshInertia>,
}

/// Read the file, make the builtin or take the inline data, and check that they do not overlap.
///
/// # Errors
/// The file cannot be read or parsed, or the inline data has a wrong length or repeats the file's.
pub fn load(spec: &MeshSpec) -> Result<RawMesh, MeshErrorKind> {
    for (what, of, found) in [
        ("vertex", 3, spec.vertex.len()),
        ("normal", 3, spec.normal.len()),
        ("texcoord", 2, spec.texcoord.len()),
        ("face", 3, spec.face.len()),
    ] {
        if found % of != 0 {
            return Err(MeshErrorKind::Multiple { what, of, found });
        }
    }
    let inline = RawMesh {
        vert: spec
            .vertex
            .chunks_exact(3)
            .map(|v| [single(v[0]), single(v[1]), single(v[2])])
            .collect(),
        face: spec.face.chunks_exact(3).map(|f| [f[0], f[1], f[2]]).collect(),
        has_normal: !spec.normal.is_empty(),
        has_texcoord: !spec.texcoord.is_empty(),
        inertia: None,
    };

    let raw = if let Some(file) = &spec.file {
        merge(read_file(file, spec.content_type.as_deref())?, inline)?
    } else if let Some(shape) = &spec.builtin {
        merge(builtin::make(shape)?, inline)?
    } else {
        inline
    };
    match raw.vert.iter().position(|v| v.iter().any(|x| !x.is_finite())) {
        Some(i) => Err(MeshErrorKind::NotFinite(i)),
        None => Ok(raw),
    }
}

/// The nearest single-precision number: MuJoCo's storage of vertices.
#[expect(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
pub fn single(x: f64) -> f32 {
    x as f32
}

/// A file may leave to the XML what it does not contain, and nothing else.
fn merge(file: RawMesh, inline: RawMesh) -> Result<RawMesh, MeshErrorKind> {
    for (what, twice) in [
        ("normal", file.has_normal && inline.has_normal),
        ("texcoord", file.has_texcoord && inline.has_texcoord),
        ("face", !file.face.is_empty() && !inline.face.is_empty()),
        ("vertex", !file.vert.is_empty() && !inline.vert.is_empty()),
    ] {
        if twice {
            return Err(MeshErrorKind::Repeated(what));
        }
    }
    Ok(RawMesh {
        vert: if file.vert.is_empty() { inline.vert } else { file.vert },
        face: if file.face.is_empty() { inline.face } else { file.face },
        has_normal: file.has_normal || inline.has_normal,
        has_texcoord: file.has_texcoord || inline.has_texcoord,
        inertia: file.inertia,
    })
}

/// Read and parse a file. The format follows from the name, as in MuJoCo: `.msh` in any case,
/// `.stl`, `.STL`, `.obj`, `.OBJ`; a content type only ever selects MSH.
fn read_file(path: &Path, content_type: Option<&str>) -> Result<RawMesh, MeshErrorKind> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let is_msh = match content_type {
        Some(t) if !t.is_empty() => t.split(';').next() == Some(MSH),
        _ => extension.eq_ignore_ascii_case("msh"),
    };
    let parse: fn(&[u8]) -> Result<RawMesh, MeshErrorKind> = match extension {
        _ if is_msh => msh,
        "stl" | "STL" => stl,
        "obj" | "OBJ" => obj::obj,
        other => return Err(MeshErrorKind::UnknownFormat(other.to_string())),
    };
    let bytes = std::fs::read(path).map_err(|e| MeshErrorKind::Io(e.to_string()))?;
    parse(&bytes)
}

/// Binary STL: 80 bytes of title, number of faces, then for each face its normal, three vertices
/// and two bytes, little endian.
///
/// Vertices with the same bits are one vertex (so `0` and `-0` are two); they are numbered by first
/// appearance. The stored normals are ignored. ASCII files are refused, as by MuJoCo.
///
/// # Errors
/// Wrong length, no or too many faces, a coordinate beyond 2³⁰.
pub fn stl(bytes: &[u8]) -> Result<RawMesh, MeshErrorKind> {
    let err = |problem: String| Err(MeshErrorKind::format("STL", problem));
    let Some(count) = u32_at(bytes, STL_HEADER - 4).filter(|_| bytes.len() >= STL_HEADER) else {
        return err(format!("{} bytes are less than its header of 84", bytes.len()));
    };
    let nface = usize::try_from(count).unwrap_or(usize::MAX);
    if !(1..=MAX_STL_FACES).contains(&nface) {
        return err(format!(
            "number of faces should be between 1 and {MAX_STL_FACES}, found {nface}; perhaps this \
             is an ASCII file, which MuJoCo does not read"
        ));
    }
    let expected = STL_HEADER + STL_FACE * nface;
    if bytes.len() != expected {
        return err(format!(
            "{nface} faces take {expected} bytes, found {}; truncated, or an ASCII file, which \
             MuJoCo does not read",
            bytes.len()
        ));
    }

    let mut raw = RawMesh::default();
    let mut index: HashMap<[u32; 3], i64> = HashMap::new();
    for record in bytes[STL_HEADER..].chunks_exact(STL_FACE) {
        let mut face = [0; 3];
        for (corner, data) in face.iter_mut().zip(record[12..48].chunks_exact(12)) {
            let v = f32x3(data);
            if v.iter().any(|x| x.abs() > MAX_STL_COORDINATE) {
                return err(format!("vertex {v:?} exceeds the maximum of 2^30"));
            }
            let next = i64::try_from(raw.vert.len()).unwrap_or(i64::MAX);
            *corner = *index.entry(v.map(f32::to_bits)).or_insert(next);
            if *corner == next {
                raw.vert.push(v);
            }
        }
        raw.face.push(face);
    }
    Ok(raw)
}

/// MuJoCo's binary MSH: four integers (vertices, normals, texture coordinates, faces), then the
/// four arrays, little endian.
///
/// # Errors
/// Wrong length, fewer than four vertices, numbers of normals or texture coordinates that are
/// neither zero nor the number of vertices.
pub fn msh(bytes: &[u8]) -> Result<RawMesh, MeshErrorKind> {
    const HEADER: usize = 16;
    let err = |problem: String| Err(MeshErrorKind::format("MSH", problem));
    if bytes.starts_with(b"$MeshFormat") {
        return err("this is a Gmsh file; MuJoCo's own MSH is expected".into());
    }
    let size = |i: usize| u32_at(bytes, 4 * i).and_then(|n| i32::try_from(n).ok());
    if bytes.len() < HEADER {
        return err(format!("{} bytes are less than its header of 16", bytes.len()));
    }
    let sizes =
        [size(0), size(1), size(2), size(3)].map(|n| n.and_then(|n| usize::try_from(n).ok()));
    let [Some(nvert), Some(nnormal), Some(ntexcoord), Some(nface)] = sizes else {
        return err("a size in the header is negative".into());
    };
    let absent_or_all = |n: usize| n == 0 || n == nvert;
    if nvert < 4 || !absent_or_all(nnormal) || !absent_or_all(ntexcoord) {
        return err(format!(
            "invalid sizes: {nvert} vertices, {nnormal} normals, {ntexcoord} texture coordinates"
        ));
    }
    let arrays = [12 * nvert, 12 * nnormal, 8 * ntexcoord, 12 * nface];
    let expected = HEADER + arrays.iter().sum::<usize>();
    if bytes.len() != expected {
        return err(format!("unexpected size: {expected} bytes expected, found {}", bytes.len()));
    }

    let faces_at = expected - arrays[3];
    let int = |b: &[u8]| i64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    Ok(RawMesh {
        vert: bytes[HEADER..HEADER + arrays[0]].chunks_exact(12).map(f32x3).collect(),
        face: bytes[faces_at..]
            .chunks_exact(12)
            .map(|f| [int(f), int(&f[4..]), int(&f[8..])])
            .collect(),
        has_normal: nnormal > 0,
        has_texcoord: ntexcoord > 0,
        inertia: None,
    })
}

/// Little-endian integer at an offset, if there.
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let b = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

/// Three little-endian floats from 12 bytes.
fn f32x3(b: &[u8]) -> [f32; 3] {
    [0, 4, 8].map(|i| f32::from_le_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]]))
}
