//! Convex hulls of points in space by Qhull, with faces, vertices and neighbours in its order.
//!
//! `MuJoCo` describes the hulls of meshes as Qhull lists them, and which contacts it keeps depends on that order:
//! on the first facet of several, on the first vertex of a facet. So this is Qhull itself, called as `MuJoCo` calls
//! it. Where there is none ([`AVAILABLE`]), another hull has the same vertices, in another order.
//!
//! This is the only crate of the workspace with unsafe code, all of it in one file.
//!
//! Source: Barber, Dobkin, Huhdanpaa, *The Quickhull Algorithm for Convex Hulls*, ACM TOMS 22 (1996);
//! `MuJoCo` `mjCMesh::MakeGraph`.

// targets that the declarations of Qhull were written for; Cargo.toml has the same list
#[cfg(any(
    all(
        target_arch = "x86_64",
        any(
            all(target_os = "linux", target_env = "gnu"),
            target_os = "macos",
            all(target_os = "windows", target_env = "msvc")
        )
    ),
    all(target_arch = "aarch64", target_os = "macos")
))]
#[path = "library.rs"]
mod library;

#[cfg(not(any(
    all(
        target_arch = "x86_64",
        any(
            all(target_os = "linux", target_env = "gnu"),
            target_os = "macos",
            all(target_os = "windows", target_env = "msvc")
        )
    ),
    all(target_arch = "aarch64", target_os = "macos")
)))]
#[path = "absent.rs"]
mod library;

pub use library::AVAILABLE;

/// A convex hull, in Qhull's order throughout.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hull {
    /// Points that are vertices, (nvert).
    pub vertices: Vec<usize>,
    /// Neighbours of each vertex along edges, as points, (nvert).
    pub neighbors: Vec<Vec<usize>>,
    /// Triangles, counter-clockwise from outside, of points.
    pub faces: Vec<[usize; 3]>,
}

/// Why there is no hull.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Qhull is not built for this machine, or lacks what it needs to run.
    #[error("Qhull is not available")]
    Unavailable,
    /// Its exit status: flat or too narrow points, mostly.
    #[error("Qhull refuses the points (status {0})")]
    Refused(i32),
    /// More points than it can number.
    #[error("too many points for Qhull")]
    TooMany,
}

/// The hull of `points`, coplanar facets merged and then cut into triangles; of the first `max_vertices` it comes
/// upon, taking the furthest of all points each time, if there is such a limit.
///
/// # Errors
/// See [`Error`].
pub fn convex_hull(points: &[[f64; 3]], max_vertices: Option<usize>) -> Result<Hull, Error> {
    library::convex_hull(points, max_vertices)
}

#[cfg(test)]
mod tests;
