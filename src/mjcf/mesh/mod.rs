//! Mesh assets: from a file or inline numbers to a centred, axis-aligned triangle mesh.
//!
//! ```text
//! MeshSpec ── load ──> vertices (f32), faces ── process ──> Mesh
//!             stl, obj, msh, builtin             hull, refpos/refquat/scale, volume, principal axes
//! ```
//!
//! A compiled mesh lives in its own inertial frame: origin at the centre of mass, axes along the
//! principal axes. [`Mesh::pos`] and [`Mesh::quat`] place that frame in the frame of the file, and
//! a geom that uses the mesh has them composed into its own frame ([`Mesh::geom_frame`]).
//!
//! Vertices are single precision where MuJoCo's are: as loaded, and as stored in the end. All in
//! between is double precision, summed in MuJoCo's order, because the principal axes of a
//! symmetric mesh are decided by the last bit.
//!
//! Source: MuJoCo `user_mesh.cc`; its manual, *XML reference*, `asset/mesh`.

pub mod builtin;
pub mod error;
pub mod geom;
pub mod hull;
pub mod load;
pub mod obj;
mod polygon;
pub mod process;
mod quickhull;
mod table;

use std::path::PathBuf;

pub use builtin::Builtin;
pub use error::{MeshError, MeshErrorKind};
pub use geom::{FitShape, GeomMass, MassProperties};
pub use hull::Hull;

/// How the volume, centre of mass and inertia of a mesh are computed (`mesh/inertia`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeshInertia {
    /// Of the convex hull.
    Convex,
    /// Of the surface as given: signed tetrahedra, so it must be closed and consistently oriented.
    Exact,
    /// As exact, but every tetrahedron counted positive: too heavy where the mesh is not convex.
    #[default]
    Legacy,
    /// Of the surface: mass per area.
    Shell,
}

/// A mesh asset as written in the model. Either `file`, or `builtin`, or `vertex` is given.
#[derive(Debug, Clone, PartialEq)]
pub struct MeshSpec {
    /// Name; appears in errors.
    pub name: String,
    /// Resolved path of the file.
    pub file: Option<PathBuf>,
    /// Media type that overrides the extension of the file; MuJoCo only heeds
    /// `model/vnd.mujoco.msh`.
    pub content_type: Option<String>,
    /// Scaling along the axes of the file; negative values mirror.
    pub scale: [f64; 3],
    /// Subtracted from the vertices, before rotation and scaling.
    pub refpos: [f64; 3],
    /// Its conjugate rotates the vertices (w, x, y, z); normalized here.
    pub refquat: [f64; 4],
    /// Volume and inertia mode.
    pub inertia: MeshInertia,
    /// Accepted and unused: normals matter to renderers only.
    pub smoothnormal: bool,
    /// At most this many vertices in the convex hull, those that Qhull comes upon first.
    pub maxhullvert: Option<usize>,
    /// A convex hull is wanted even where loading does not need one: true when a geom of type
    /// mesh uses the mesh and can collide. Flat meshes have none, and are an error then.
    pub needhull: bool,
    /// Inline vertices, (3·nvert).
    pub vertex: Vec<f64>,
    /// Inline normals, (3·nvert); checked, and unused.
    pub normal: Vec<f64>,
    /// Inline texture coordinates, (2·nvert); checked, and unused.
    pub texcoord: Vec<f64>,
    /// Inline faces, (3·nface), counter-clockwise from outside. Signed, so that a negative index
    /// can be reported. Without faces the convex hull of the vertices is used.
    pub face: Vec<i64>,
    /// Procedural mesh.
    pub builtin: Option<Builtin>,
}

impl Default for MeshSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            file: None,
            content_type: None,
            scale: [1.0; 3],
            refpos: [0.0; 3],
            refquat: [1.0, 0.0, 0.0, 0.0],
            inertia: MeshInertia::default(),
            smoothnormal: false,
            maxhullvert: None,
            needhull: false,
            vertex: Vec::new(),
            normal: Vec::new(),
            texcoord: Vec::new(),
            face: Vec::new(),
            builtin: None,
        }
    }
}

/// A compiled mesh, in its own inertial frame.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Mesh {
    /// Name of the asset.
    pub name: String,
    /// Scaling that was applied, `mesh_scale`.
    pub scale: [f64; 3],
    /// Vertices in the mesh frame \[m\], rounded to single precision; `mesh_vert`, (nvert).
    pub vert: Vec<[f64; 3]>,
    /// Triangles, counter-clockwise from outside; `mesh_face`, (nface).
    pub face: Vec<[usize; 3]>,
    /// Convex hull, where one was needed.
    pub hull: Option<Hull>,
    /// Faces of the convex hull, each with its mesh vertices counter-clockwise from outside; `mesh_polyvert`,
    /// (nmeshpoly).
    pub polygon: Vec<Vec<usize>>,
    /// Their outward unit normals in the mesh frame, `mesh_polynormal`, (nmeshpoly).
    pub polynormal: Vec<[f64; 3]>,
    /// Origin of the mesh frame in the frame of the file \[m\], `mesh_pos`.
    pub pos: [f64; 3],
    /// Orientation of the mesh frame in the frame of the file (w, x, y, z), `mesh_quat`.
    pub quat: [f64; 4],
    /// Mode by which `volume` and `box_size` were computed.
    pub inertia: MeshInertia,
    /// Volume \[m³\]; for shells the area \[m²\].
    pub volume: f64,
    /// Half-sizes \[m\] of the solid box with the same mass and inertia.
    pub box_size: [f64; 3],
    /// Lower corner of the bounding box in the mesh frame \[m\].
    pub lower: [f64; 3],
    /// Upper corner of the bounding box in the mesh frame \[m\].
    pub upper: [f64; 3],
}

/// Load and process one mesh.
///
/// # Errors
/// [`MeshError`], which names the mesh, the file and what is wrong with it.
pub fn compile(spec: &MeshSpec) -> Result<Mesh, MeshError> {
    load::load(spec).and_then(|raw| process::process(spec, &raw)).map_err(|kind| MeshError {
        name: spec.name.clone(),
        file: spec.file.clone(),
        kind,
    })
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "as printed by the reference")]
mod tests {
    //! Numbers without derivation are MuJoCo 4.0.1's.

    use super::*;
    use proptest::prelude::*;

    const TETRAHEDRON: [f64; 12] = [0.0, 0.0, 0.0, 1.1, 0.0, 0.0, 0.0, 0.8, 0.1, 0.2, 0.3, 1.3];

    #[track_caller]
    fn near(name: &str, found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len(), "{name}");
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < 1e-12, "{name}: found {found:?}, expected {expected:?}");
        }
    }

    fn inline(vertex: &[f64], face: &[i64], inertia: MeshInertia) -> MeshSpec {
        MeshSpec {
            name: "m".into(),
            vertex: vertex.to_vec(),
            face: face.to_vec(),
            inertia,
            ..MeshSpec::default()
        }
    }

    #[test]
    fn tetrahedron() {
        let m = compile(&inline(&TETRAHEDRON, &[], MeshInertia::Legacy)).unwrap();
        near("pos", &m.pos, &[0.3250000067055225, 0.2750000059604645, 0.3499999884516001]);
        near(
            "quat",
            &m.quat,
            &[0.8287204632812876, -0.22522388733275145, -0.14498781647163678, 0.4914011878174088],
        );
        near("size", &m.geom_size(), &[0.4029514979963952, 0.5906131176132263, 0.8771576030796032]);
        near("rbound", &[m.rbound()], &[1.1316356414830298]);
        near(
            "aabb",
            &m.aabb(),
            &[
                -0.05009243253743251,
                0.0381258805674341,
                0.07806223528198164,
                0.3528590654589627,
                0.5524872370457923,
                0.7990953677976216,
            ],
        );
        let p = m.mass_properties(GeomMass::Density(1.0));
        near("mass", &[p.mass], &[0.1851666662270822]);
        near(
            "inertia",
            &p.inertia,
            &[0.0203340175929352, 0.01487551945636701, 0.010434045397579644],
        );
        assert_eq!((m.vert.len(), m.face.len()), (4, 4));
    }

    #[test]
    fn mirrored_and_moved_box() {
        let corner = |i: usize| [i & 1, i >> 1 & 1, i >> 2].map(|x| x as f64);
        let vertex: Vec<f64> = (0..8).flat_map(corner).collect();
        let m = compile(&MeshSpec {
            scale: [0.3, -0.5, 0.7],
            refpos: [0.1, 0.2, -0.3],
            refquat: [1.0, 0.2, -0.1, 0.4],
            ..inline(&vertex, &[], MeshInertia::Legacy)
        })
        .unwrap();
        near("pos", &m.pos, &[0.21421487603305786, -0.06735537190082644, 0.4211570247933884]);
        let p = m.mass_properties(GeomMass::Mass(2.0));
        near("volume", &[m.volume, p.mass], &[0.3 * 0.5 * 0.7, 2.0]);
        near("inertia", &p.inertia, &m.inertia_of(2.0));
        // rotation before scaling shears the box
        near("mesh frame", &m.quat, &[1.0, 0.0, 0.0, 0.0]);
        near(
            "size",
            &m.geom_size(),
            &[0.24669421487603307, 0.4070247933884298, 0.4714876033057851],
        );
    }

    /// A 2 × 1 and a 1 × 2 block, 0.5 high.
    fn l_shape(inertia: MeshInertia) -> Mesh {
        let outline = [[0., 0.], [2., 0.], [2., 1.], [1., 1.], [1., 3.], [0., 3.]];
        let at = |z: f64| outline.iter().flat_map(move |p| [p[0], p[1], z]);
        let vertex: Vec<f64> = at(0.0).chain(at(0.5)).collect();
        let mut face = Vec::new();
        for [a, b, c] in [[0, 1, 2], [0, 2, 3], [0, 3, 5], [3, 4, 5]] {
            face.extend([a, c, b, 6 + a, 6 + b, 6 + c]);
        }
        for i in 0..6 {
            let j = (i + 1) % 6;
            face.extend([i, j, 6 + j, i, 6 + j, 6 + i]);
        }
        compile(&MeshSpec { needhull: true, ..inline(&vertex, &face, inertia) }).unwrap()
    }

    #[test]
    fn l_shape_in_all_modes() {
        for (mode, pos, quat_wx, mass, inertia) in [
            (
                MeshInertia::Legacy,
                [0.7743629070316187, 1.2421543180745633, 0.25],
                [0.4098690413934435, 0.576200806062627],
                2.0807181060248543,
                [2.117020606152086, 1.7206094048783267, 0.481762487257714],
            ),
            (
                MeshInertia::Convex,
                [2.6 / 3.0, 4.0 / 3.0, 0.25],
                [0.42798347094737665, 0.5628766726342791],
                2.5,
                [2.427777777777777, 1.8590716871592952, 0.6728727572851497],
            ),
            (
                MeshInertia::Exact,
                [0.75, 1.25, 0.25],
                [0.41345260731526534, 0.5736348503222328],
                2.0,
                [2.083333333333334, 1.7083333333333337, 0.4583333333333335],
            ),
            (
                MeshInertia::Shell,
                [10.0 / 13.0, 16.5 / 13.0, 0.25],
                [0.4125221939589514, 0.5743043091352308],
                13.0,
                [16.365384615384613, 13.23567044348609, 4.3380475052318594],
            ),
        ] {
            let m = l_shape(mode);
            near("pos", &m.pos, &pos);
            near("quat", &m.quat, &[quat_wx[0], quat_wx[1], -quat_wx[0], quat_wx[1]]);
            let p = m.mass_properties(GeomMass::Density(1.0));
            near("mass", &[p.mass], &[mass]);
            near("inertia", &p.inertia, &inertia);
            let hull = m.hull.unwrap();
            let mut vert = hull.vert.clone();
            vert.sort_unstable();
            assert_eq!(vert, [0, 1, 2, 4, 5, 6, 7, 8, 10, 11]);
            assert_eq!(hull.face.len(), 16);
        }
    }

    #[test]
    fn primitives_are_fitted() {
        let m = compile(&inline(&TETRAHEDRON, &[], MeshInertia::Legacy)).unwrap();
        let pos = [1.0, 2.0, 3.0];
        let mut quat = [1.0, 0.2, 0.3, 0.4];
        crate::mjcf::eig::normalize(&mut quat);

        let (size, center) = m.fit(FitShape::Capsule, false, 1.2, [0.0; 3]);
        near("capsule", &size, &[0.3357422826194644, 0.3697255814624266, 0.0]);
        let (p, q) = m.geom_frame(pos, quat, center);
        near("pos", &p, &[1.2602713119902815, 2.3781007855206497, 3.3050387511390817]);
        near(
            "quat",
            &q,
            &[0.6345419459845183, 0.12848920899146699, -0.0746107040506313, 0.7584723362127312],
        );

        let (size, center) = m.fit(FitShape::Capsule, true, 1.2, [0.0; 3]);
        near("capsule", &size, &[0.6629846844549507, 0.29592975690219514, 0.0]);
        let (p, _) = m.geom_frame(pos, quat, center);
        near("pos", &p, &[1.2387650144925575, 2.3022806543093703, 3.3670495083899223]);

        let (size, _) = m.fit(FitShape::Sphere, false, 1.2, [0.0; 3]);
        near("sphere", &size, &[0.40302709600369585, 0.0, 0.0]);
        let (size, _) = m.fit(FitShape::Sphere, true, 1.2, [0.0; 3]);
        near("sphere", &size, &[0.9589144413571459, 0.0, 0.0]);
        let (size, _) = m.fit(FitShape::Cylinder, false, 1.2, [0.0; 3]);
        near("cylinder", &size, &[0.3357422826194644, 0.5375967227721589, 0.0]);
        let (size, _) = m.fit(FitShape::Cylinder, true, 1.2, [0.0; 3]);
        near("cylinder", &size, &[0.6629846844549507, 0.9589144413571459, 0.0]);
        let (size, _) = m.fit(FitShape::Box, false, 1.2, [0.0; 3]);
        near("box", &size, &[0.24091614194353328, 0.4305684232953955, 0.5375967227721589]);
        let (size, _) = m.fit(FitShape::Ellipsoid, true, 1.2, [0.0; 3]);
        near("ellipsoid", &size, &[0.4234308785507552, 0.6629846844549507, 0.9589144413571459]);
    }

    fn error(vertex: &[f64], face: &[i64], inertia: MeshInertia) -> String {
        compile(&inline(vertex, face, inertia)).unwrap_err().to_string()
    }

    #[test]
    fn what_is_refused() {
        use MeshInertia::{Convex, Exact, Legacy, Shell};
        let t = TETRAHEDRON;
        let inwards = [0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2];
        let flat = [0., 0., 0., 1., 0., 0., 0., 1., 0., 1., 1., 0.];
        let line = [0., 0., 0., 1., 0., 0., 2., 0., 0., 3., 0., 0.];
        let mut nan = t;
        nan[11] = f64::NAN;
        for (found, expected) in [
            (error(&t[..9], &[], Legacy), "at least 4 vertices required, found 3"),
            (error(&t[..10], &[], Legacy), "vertex data must be a multiple of 3, found 10"),
            (error(&t, &[0, 1, 4], Legacy), "in face 0, vertex index 4 does not exist"),
            (error(&t, &[0, 1, -1], Legacy), "in face 0, vertex index -1 does not exist"),
            (error(&t, &[0, 1, 1], Legacy), "surface area is too small"),
            (error(&t, &[0, 1, 2, 0, 1, 3], Exact), "inconsistent orientation"),
            (error(&t, &inwards, Exact), "volume is negative"),
            (error(&nan, &[], Legacy), "vertex 3 is not finite"),
            (error(&flat, &[], Legacy), "coplanar"),
            (error(&flat, &[0, 1, 2, 2, 1, 3], Legacy), "volume is too small"),
            (error(&flat, &[0, 1, 2, 2, 1, 3], Convex), "coplanar"),
            (error(&line, &[], Legacy), "collinear"),
            (error(&[1.0; 12], &[], Legacy), "colocated"),
        ] {
            assert!(found.contains(expected), "{found}");
        }
        assert!(compile(&inline(&flat, &[0, 1, 2, 2, 1, 3], Shell)).is_ok());

        let missing = MeshSpec { file: Some("no/such.stl".into()), ..MeshSpec::default() };
        let text = compile(&missing).unwrap_err().to_string();
        assert!(text.contains("no/such.stl") && text.contains("cannot read"), "{text}");
    }

    fn stl_bytes(triangles: &[[[f32; 3]; 3]]) -> Vec<u8> {
        let mut bytes = vec![b' '; 80];
        bytes.extend(u32::try_from(triangles.len()).unwrap().to_le_bytes());
        for t in triangles {
            bytes.extend([0; 12]);
            bytes.extend(t.iter().flatten().flat_map(|x| x.to_le_bytes()));
            bytes.extend([0; 2]);
        }
        bytes
    }

    const O: [f32; 3] = [0.0; 3];
    const X: [f32; 3] = [1.0, 0.0, 0.0];
    const Y: [f32; 3] = [0.0, 1.0, 0.0];
    const Z: [f32; 3] = [0.0, 0.0, 1.0];

    fn msh_bytes() -> Vec<u8> {
        let mut bytes: Vec<u8> = [4_i32, 0, 0, 1].iter().flat_map(|n| n.to_le_bytes()).collect();
        bytes.extend([O, X, Y, Z].iter().flatten().flat_map(|x| x.to_le_bytes()));
        bytes.extend([0_i32, 2, 1].iter().flat_map(|n| n.to_le_bytes()));
        bytes
    }

    #[test]
    fn stl_merges_equal_bits() {
        let raw = load::stl(&stl_bytes(&[[O, Y, X], [O, X, Z], [[-0.0, 0.0, 0.0], X, Z]])).unwrap();
        assert_eq!(raw.face, [[0, 1, 2], [0, 2, 3], [4, 2, 3]]);
        assert_eq!(raw.vert.len(), 5);
        let text = load::stl(b"solid a\nfacet normal 0 0 0".repeat(9).as_slice()).unwrap_err();
        assert!(text.to_string().contains("ASCII"), "{text}");
    }

    #[test]
    fn msh_is_read() {
        let raw = load::msh(&msh_bytes()).unwrap();
        assert_eq!((raw.vert, raw.face), (vec![O, X, Y, Z], vec![[0, 2, 1]]));
    }

    #[test]
    fn obj_is_read_as_by_tinyobj() {
        let v = "v 0 0 0\nv 1 0 0\nv 2 3 .2\nv 0 1 0\nv 5e-1 0.5 1\n";
        let faces = |text: &str| obj::obj(format!("{v}{text}").as_bytes()).map(|r| r.face);
        // shorter diagonal, relative indices, the first group with faces
        assert_eq!(faces("f 4/1/2 3//1 2 1"), Ok(vec![[3, 2, 1], [3, 1, 0]]));
        assert_eq!(faces("f -5 -4 -1\r\n"), Ok(vec![[0, 1, 4]]));
        assert_eq!(faces("g a\ng b\nf 1 2 3\ng c\nf 1 2 4"), Ok(vec![[0, 1, 2]]));
        assert!(faces("f 0 1 2").unwrap_err().to_string().contains("line 6"));
        assert!(faces("f -6 1 2").is_err());
        // a concave pentagon off the origin
        let v = "v 0 0 0\nv 1 0 .1\nv 1.5 1 0\nv .5 .3 -.2\nv -.5 1 .05\nv .5 .5 1\n";
        let raw = obj::obj(format!("{v}f 5 4 3 2 1").as_bytes()).unwrap();
        assert_eq!(raw.face, [[0, 4, 3]]);
    }

    /// Whatever was loaded can be processed or refused.
    fn survives(raw: Result<load::RawMesh, MeshErrorKind>) {
        let spec = MeshSpec { inertia: MeshInertia::Convex, ..MeshSpec::default() };
        if let Ok(raw) = raw {
            let _ = process::process(&spec, &raw);
        }
    }

    proptest! {
        #[test]
        fn mutated_files_do_not_panic(
            length in 0..300_usize,
            changes in prop::collection::vec((0..300_usize, any::<u8>()), 0..8),
        ) {
            let mutate = |mut bytes: Vec<u8>| {
                for &(at, value) in &changes {
                    if let Some(b) = bytes.get_mut(at) {
                        *b = value;
                    }
                }
                bytes.truncate(length);
                bytes
            };
            let tetrahedron = [[O, Y, X], [O, X, Z], [O, Z, Y], [X, Y, Z]];
            survives(load::stl(&mutate(stl_bytes(&tetrahedron))));
            survives(load::msh(&mutate(msh_bytes())));
            let text = "o a\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv .5 .5 1\nf 4 3 2 1\n\
                        f 1 2 5\nf 2//1 3//1 -1//1\nf 3 4 5 1 2\nl 1 2 3\np 1\n";
            survives(obj::obj(&mutate(text.into())));
        }

        #[test]
        fn any_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            survives(load::stl(&bytes));
            survives(load::msh(&bytes));
            survives(obj::obj(&bytes));
        }

        #[test]
        fn any_obj_text_does_not_panic(text in "([vflpgo] [-0-9./ e]{0,20}\n){0,20}") {
            survives(obj::obj(text.as_bytes()));
        }
    }
}
