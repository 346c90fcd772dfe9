//! How frames and centres of mass move with each degree of freedom.

use dualstep::model::{CamMode, ObjType, WORLD};
use dualstep::smooth::jacobian::dof_point_velocity;
use dualstep::smooth::object_frame;
use dualstep::{Data, MINVAL, Model, Scalar};
use nalgebra::{Matrix3, Vector3};

/// Bodies of each subtree.
#[derive(Clone, Debug)]
pub(super) struct Subtrees {
    /// One past the last body of the subtree (nbody): bodies are numbered depth first.
    end: Vec<usize>,
}

impl Subtrees {
    pub(super) fn new(m: &Model) -> Self {
        let mut end: Vec<usize> = (1..=m.nbody).collect();
        for b in m.bodies_tip_to_base() {
            let parent = m.body_parentid[b];
            end[parent] = end[parent].max(end[b]);
        }
        Self { end }
    }

    /// True if `other` is in the subtree of `body`.
    pub(super) fn contains(&self, body: usize, other: usize) -> bool {
        (body..self.end[body]).contains(&other)
    }

    /// Degrees of freedom that move some of the subtree of `body`, each with the root of the part that it moves: those
    /// that carry all of the subtree with `body` itself, those within with their own bodies.
    pub(super) fn dofs<'a>(
        &self,
        m: &'a Model,
        body: usize,
    ) -> impl Iterator<Item = (usize, usize)> + 'a {
        let within = (body + 1..self.end[body]).flat_map(|b| m.body_dofs(b).map(move |k| (k, b)));
        m.body_dofs_to_root(body).map(move |k| (k, body)).chain(within)
    }
}

/// Root of the kinematic tree of a degree of freedom.
pub(super) fn root(m: &Model, dof: usize) -> usize {
    m.body_rootid[m.dof_bodyid[dof]]
}

/// Velocity of the centre of mass of the subtree of `body` by a unit velocity of `dof`, which moves the part of it with
/// root `part`.
pub(super) fn com_velocity<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    body: usize,
    (dof, part): (usize, usize),
) -> Vector3<T> {
    let (_, lin) = dof_point_velocity(d, dof, root(m, dof), &d.subtree_com[part]);
    let mass = m.body_subtreemass[body];
    if part == body {
        lin
    } else if mass < MINVAL {
        // the centre of mass is that of the body by itself
        Vector3::zeros()
    } else {
        lin * T::lift(m.body_subtreemass[part] / mass)
    }
}

/// How the orientation R of a frame changes with a degree of freedom.
#[derive(Clone, Copy, Debug)]
pub(super) enum Turn<T: Scalar> {
    /// By a rotation about this world axis: δR = \[axis\] R.
    About(Vector3<T>),
    /// Column by column.
    Columns(Matrix3<T>),
}

impl<T: Scalar> Turn<T> {
    /// Not at all.
    fn none() -> Self {
        Self::About(Vector3::zeros())
    }

    /// δ of column `k` of R.
    pub(super) fn column(&self, R: &Matrix3<T>, k: usize) -> Vector3<T> {
        match self {
            Self::About(axis) => axis.cross(&R.column(k)),
            Self::Columns(change) => change.column(k).into_owned(),
        }
    }

    /// Displacement δR Rᵀ v of a vector `v` that turns with the frame.
    pub(super) fn applied(&self, R: &Matrix3<T>, v: &Vector3<T>) -> Vector3<T> {
        match self {
            Self::About(axis) => axis.cross(v),
            Self::Columns(change) => change * R.tr_mul(v),
        }
    }

    /// (δR)ᵀ v.
    pub(super) fn transposed(&self, R: &Matrix3<T>, v: &Vector3<T>) -> Vector3<T> {
        match self {
            Self::About(axis) => R.tr_mul(&v.cross(axis)),
            Self::Columns(change) => change.tr_mul(v),
        }
    }
}

/// Calls `add` with the degrees of freedom that move an object's frame, the velocity of its origin and the change of
/// its orientation by each, world axes. A degree of freedom can come twice: the parts add up.
pub(super) fn frame_motion<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    subtrees: &Subtrees,
    (objtype, id): (ObjType, usize),
    mut add: impl FnMut(usize, &Vector3<T>, &Turn<T>),
) {
    if objtype == ObjType::Camera && m.cam_mode[id] != CamMode::Fixed {
        return camera_motion(m, d, subtrees, id, add);
    }
    let frame = object_frame(m, d, objtype, id);
    for (k, rot, lin) in point_motion(m, d, frame.body, &frame.pos) {
        add(k, &lin, &Turn::About(rot));
    }
}

/// Degrees of freedom that move `body`, and the velocities (angular, linear) of its point `at` by each.
pub(super) fn point_motion<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    body: usize,
    at: &Vector3<T>,
) -> impl Iterator<Item = (usize, Vector3<T>, Vector3<T>)> {
    let (root, at) = (m.body_rootid[body], *at);
    m.body_dofs_to_root(body).map(move |k| {
        let (rot, lin) = dof_point_velocity(d, k, root, &at);
        (k, rot, lin)
    })
}

/// Cameras that track or look at something. Source: `dualstep::smooth::camera`, line by line.
fn camera_motion<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    subtrees: &Subtrees,
    c: usize,
    mut add: impl FnMut(usize, &Vector3<T>, &Turn<T>),
) {
    let (b, still) = (m.cam_bodyid[c], Vector3::zeros());
    let com = |body: usize| {
        subtrees.dofs(m, body).map(move |(k, part)| (k, com_velocity(m, d, body, (k, part))))
    };
    let mode = m.cam_mode[c];
    match mode {
        CamMode::Track => {
            for (k, _, lin) in point_motion(m, d, b, &d.xpos[b]) {
                add(k, &lin, &Turn::none());
            }
        }
        CamMode::TrackCom => com(b).for_each(|(k, lin)| add(k, &lin, &Turn::none())),
        CamMode::Fixed | CamMode::TargetBody | CamMode::TargetBodyCom => {
            let target = m.cam_targetbodyid[c].filter(|_| mode != CamMode::Fixed);
            let at = |t: usize| {
                if mode == CamMode::TargetBody { d.xpos[t] } else { d.subtree_com[t] }
            };
            let from = target.map(|t| d.cam_xpos[c] - at(t));
            for (k, rot, lin) in point_motion(m, d, b, &d.cam_xpos[c]) {
                add(k, &lin, &from.map_or(Turn::About(rot), |from| look_along(&from, &lin)));
            }
            let (Some(target), Some(from)) = (target, from) else { return };
            let mut follow = |k, lin: Vector3<T>| add(k, &still, &look_along(&from, &-lin));
            if mode == CamMode::TargetBody {
                point_motion(m, d, target, &at(target)).for_each(|(k, _, lin)| follow(k, lin));
            } else {
                com(target).for_each(|(k, lin)| follow(k, lin));
            }
        }
    }
}

/// Change of the axes of a camera whose z axis is along `v` and whose x axis is horizontal, as `v` changes by `dv`.
fn look_along<T: Scalar>(v: &Vector3<T>, dv: &Vector3<T>) -> Turn<T> {
    let up = Vector3::new(T::zero(), T::zero(), T::one());
    let (z, dz) = unit(v, dv);
    let (x, dx) = unit(&up.cross(&z), &up.cross(&dz));
    let (_, dy) = unit(&z.cross(&x), &(dz.cross(&x) + z.cross(&dx)));
    Turn::Columns(Matrix3::from_columns(&[dx, dy, dz]))
}

/// The unit vector along `v` and its change; the x axis, unchanged, where `v` vanishes.
fn unit<T: Scalar>(v: &Vector3<T>, dv: &Vector3<T>) -> (Vector3<T>, Vector3<T>) {
    let n = v.norm_squared().sqrt();
    if n.re() < MINVAL {
        return (Vector3::x(), Vector3::zeros());
    }
    let u = v / n;
    (u, (dv - u * u.dot(dv)) / n)
}

/// Axes of the frame that a sensor measures in: those of the reference frame, or of the world.
pub(super) fn reference_axes<T: Scalar>(m: &Model, d: &Data<T>, i: usize) -> Matrix3<T> {
    match m.sensor_refid[i] {
        None => Matrix3::identity(),
        Some(id) => object_frame(m, d, m.sensor_reftype[i], id).rot,
    }
}

/// The body that an object's quaternion belongs to.
pub(super) fn body_of(m: &Model, objtype: ObjType, id: usize) -> usize {
    match objtype {
        ObjType::Body | ObjType::XBody => id,
        ObjType::Geom => m.geom_bodyid[id],
        ObjType::Site => m.site_bodyid[id],
        ObjType::Camera => m.cam_bodyid[id],
        // the loader refuses sensors of objects without a frame
        _ => WORLD,
    }
}
