//! The calls into Qhull.

use std::ffi::{CStr, CString, c_int};
use std::mem::MaybeUninit;
use std::ptr;

use qhull_sys_enhanced as sys;

use crate::{Error, Hull};

/// True where Qhull is built.
pub const AVAILABLE: bool = true;

// in Qhull's poly_r.h, which the declarations leave out
unsafe extern "C" {
    fn qh_vertexneighbors(qh: *mut sys::qhT);
}

/// Where Qhull writes what it has to say.
const NOWHERE: &CStr = if cfg!(windows) { c"NUL" } else { c"/dev/null" };

/// Dimension of the points.
const SPACE: c_int = 3;

/// Vertices of the simplex that Qhull starts from.
const SIMPLEX: usize = 4;

pub(crate) fn convex_hull(points: &[[f64; 3]], max_vertices: Option<usize>) -> Result<Hull, Error> {
    // triangles; of all points outside of any facet the furthest next, and so many beyond the first simplex
    let command = match max_vertices {
        None => String::from("qhull Qt"),
        Some(max) => format!("qhull Qt Q9 TA{}", max.saturating_sub(SIMPLEX)),
    };
    let mut command = CString::new(command).map_err(|_| Error::Unavailable)?.into_bytes_with_nul();
    let number = c_int::try_from(points.len()).map_err(|_| Error::TooMany)?;
    let mut coordinates: Vec<f64> = points.as_flattened().to_vec();
    let mut build = Build::new()?;

    // SAFETY: `build` is zeroed as `qh_new_qhull` wants it; `coordinates` has 3 numbers for each point, is not freed
    // by Qhull (ismalloc is false) and outlives it; the command ends in 0 and is only read; both streams may be null
    // or open. Qhull's jumps on errors end in this call.
    let status = unsafe {
        sys::qh_new_qhull(
            build.qh(),
            SPACE,
            number,
            coordinates.as_mut_ptr(),
            sys::qh_False,
            command.as_mut_ptr().cast(),
            ptr::null_mut(),
            build.messages,
        )
    };
    if status == 0 { build.hull() } else { Err(Error::Refused(status)) }
}

/// A run of Qhull, with all of its memory.
struct Build {
    state: Box<MaybeUninit<sys::qhT>>,
    messages: *mut sys::FILE,
}

impl Build {
    fn new() -> Result<Self, Error> {
        // SAFETY: both strings end in 0
        let messages = unsafe { sys::fopen(NOWHERE.as_ptr(), c"w".as_ptr()) };
        if messages.is_null() {
            return Err(Error::Unavailable);
        }
        let mut build = Self { state: Box::new_uninit(), messages };
        // SAFETY: the state has the size of a `qhT`, and this fills it
        unsafe { sys::qh_zero(build.qh(), messages) };
        Ok(build)
    }

    fn qh(&mut self) -> *mut sys::qhT {
        self.state.as_mut_ptr()
    }

    /// What was found.
    fn hull(&mut self) -> Result<Hull, Error> {
        let qh = self.qh();
        let mut hull = Hull::default();
        // SAFETY: Qhull has ended well, so its lists of vertices and facets are linked up to a sentinel without a
        // successor, their sets end in null, all pointers in them are valid until Qhull is freed, and so is the
        // array of points. `qh_vertexneighbors` only adds sets of facets to vertices.
        unsafe {
            qh_vertexneighbors(qh);
            let point = |vertex: *const sys::vertexT| {
                usize::try_from(sys::qh_pointid(qh, (*vertex).point)).map_err(|_| Error::TooMany)
            };

            let mut vertex: *const sys::vertexT = (*qh).vertex_list;
            while !vertex.is_null() && !(*vertex).next.is_null() {
                let this = point(vertex)?;
                let mut neighbors = Vec::new();
                for facet in elements::<sys::facetT>((*vertex).neighbors) {
                    for corner in elements::<sys::vertexT>((*facet).vertices) {
                        let other = point(corner)?;
                        if other != this && !neighbors.contains(&other) {
                            neighbors.push(other);
                        }
                    }
                }
                hull.vertices.push(this);
                hull.neighbors.push(neighbors);
                vertex = (*vertex).next;
            }

            let mut facet: *const sys::facetT = (*qh).facet_list;
            while !facet.is_null() && !(*facet).next.is_null() {
                let corners = elements::<sys::vertexT>((*facet).vertices);
                let corners = corners.map(&point).collect::<Result<Vec<_>, _>>()?;
                let mut face: [usize; 3] = corners.try_into().map_err(|_| Error::TooMany)?;
                if (*facet).toporient() != 0 {
                    face.swap(0, 1);
                }
                hull.faces.push(face);
                facet = (*facet).next;
            }
        }
        Ok(hull)
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        let (mut blocks, mut bytes) = (0, 0);
        let qh = self.qh();
        // SAFETY: the state was initialized by `qh_zero`; nothing refers to it any more; the stream is open
        unsafe {
            sys::qh_freeqhull(qh, sys::qh_False);
            sys::qh_memfreeshort(qh, &raw mut blocks, &raw mut bytes);
            sys::fclose(self.messages);
        }
    }
}

/// Elements of a set of Qhull.
///
/// # Safety
/// The set is null, or a set of pointers to `T` that ends in null and does not change meanwhile.
unsafe fn elements<T>(set: *const sys::setT) -> impl Iterator<Item = *const T> {
    let mut next = if set.is_null() {
        ptr::null()
    } else {
        // SAFETY: the set is not null, and its elements begin there
        unsafe { (&raw const (*set).e).cast::<*const T>() }
    };
    std::iter::from_fn(move || {
        if next.is_null() {
            return None;
        }
        // SAFETY: not beyond the null that ends the set
        let element = unsafe { *next };
        if element.is_null() {
            return None;
        }
        // SAFETY: there is the null at least
        next = unsafe { next.add(1) };
        Some(element)
    })
}
