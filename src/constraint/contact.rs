//! Contacts: rows along the normal and the axes or edges of the friction cone.

use nalgebra::Vector3;

use crate::collision::{Contact, Exclude};
use crate::data::Data;
use crate::model::{Cone, Model};
use crate::scalar::Scalar;
use crate::smooth::jacobian::dof_point_velocity;

use super::efc::{Block, Efc, EfcType, Rows, is_sparse};

/// Rows of a contact of dimension `dim`, and their kind.
fn shape(cone: Cone, dim: usize) -> (EfcType, usize) {
    match (dim, cone) {
        (1, _) => (EfcType::ContactFrictionless, 1),
        (_, Cone::Pyramidal) => (EfcType::ContactPyramidal, 2 * (dim - 1)),
        (_, Cone::Elliptic) => (EfcType::ContactElliptic, dim),
    }
}

/// Rows that any contact of the model can have at most.
pub(super) fn max_rows(m: &Model) -> usize {
    let dims = m.geom_condim.iter().chain(&m.pair_dim).filter_map(|dim| usize::try_from(*dim).ok());
    dims.map(|dim| shape(m.opt.cone, dim.max(1)).1).max().unwrap_or(0)
}

/// Appends the rows of all contacts that take part, and writes their `efc_address`.
///
/// The relative velocity of the two bodies at the contact, in its frame: normal, tangents, spin, rolls. An
/// elliptic cone has these as rows; a pyramid has normal ± friction · axis, a pair of edges for each axis.
///
/// Source: MuJoCo `mj_instantiateContact`.
pub(super) fn instantiate<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    contacts: &mut [Contact<T>],
    efc: &mut Efc<T>,
) {
    for (id, contact) in contacts.iter_mut().enumerate() {
        if contact.exclude != Exclude::None {
            continue;
        }
        // MuJoCo sees that nothing moves the contact in its sparse Jacobian only
        if is_sparse(m) && relative_dofs(m, contact).next().is_none() {
            contact.exclude = Exclude::NoDofs;
            continue;
        }
        let (kind, len) = shape(m.opt.cone, contact.dim);
        let start = efc.nefc;
        // from the leaves to the root
        efc.set_columns_descending(relative_dofs(m, contact).map(|(dof, _)| dof));
        let Rows { columns, J, pos, margin } = efc.push(&Block {
            len,
            kind,
            id,
            pos: contact.dist,
            margin: contact.includemargin,
            frictionloss: 0.0,
        });
        contact.efc_address = Some(start);
        if kind == EfcType::ContactElliptic {
            pos[1..].fill(T::zero());
            margin[1..].fill(T::zero());
        }
        let width = columns.len();
        for (k, (dof, sign)) in relative_dofs(m, contact).enumerate() {
            let axes = column(m, d, contact, dof, sign);
            let at = width - 1 - k;
            write_rows(kind, contact, &axes, |row, value| J[row * width + at] = value);
        }
    }
}

/// From the six components along the axes of a contact to its rows.
fn write_rows<T: Scalar>(
    kind: EfcType,
    contact: &Contact<T>,
    axes: &[T; 6],
    mut write: impl FnMut(usize, T),
) {
    if kind == EfcType::ContactPyramidal {
        for k in 1..contact.dim {
            let slope = T::lift(contact.friction[k - 1]) * axes[k];
            write(2 * (k - 1), axes[0] + slope);
            write(2 * (k - 1) + 1, axes[0] - slope);
        }
    } else {
        for k in 0..contact.dim {
            write(k, axes[k]);
        }
    }
}

/// Degrees of freedom that move one body of a contact but not the other: +1 the second, −1 the first.
fn relative_dofs<T: Scalar>(m: &Model, contact: &Contact<T>) -> impl Iterator<Item = (usize, f64)> {
    let mut chains = contact.geom.map(|g| m.body_dofs_to_root(m.geom_bodyid[g]).peekable());
    std::iter::from_fn(move || {
        let [first, second] = &mut chains;
        // numbers decrease toward the root; from the first common one on, all are common
        match (first.peek().copied(), second.peek().copied()) {
            (Some(i), Some(j)) if i == j => None,
            (Some(i), j) if j.is_none_or(|j| i > j) => {
                first.next();
                Some((i, -1.0))
            }
            (_, Some(j)) => {
                second.next();
                Some((j, 1.0))
            }
            (_, None) => None,
        }
    })
}

/// Velocity at the contact by a unit velocity of `dof`, times `sign`: along the frame, then about it.
fn column<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    contact: &Contact<T>,
    dof: usize,
    sign: f64,
) -> [T; 6] {
    let root = m.body_rootid[m.dof_bodyid[dof]];
    let (rot, lin) = dof_point_velocity(d, dof, root, &contact.pos);
    let mut axes = along(&contact.frame, &lin, &rot);
    if sign < 0.0 {
        axes = axes.map(|x| -x);
    }
    axes
}

/// Components of a velocity and an angular velocity along three axes.
fn along<T: Scalar>(frame: &[Vector3<T>; 3], lin: &Vector3<T>, rot: &Vector3<T>) -> [T; 6] {
    let [n, t1, t2] = frame;
    [n.dot(lin), t1.dot(lin), t2.dot(lin), n.dot(rot), t1.dot(rot), t2.dot(rot)]
}

/// Adds the velocity of moving surfaces (`geom_surfacevel`) to the rows of contacts: in the tangents and the
/// spin, never along the normal or in rolling.
///
/// - reads  `geom_xpos`, `geom_xmat`
/// - writes `vel` (nefc)
///
/// Source: MuJoCo `mj_addSurfaceVel`, `mj_geomSurfaceVelocity`.
pub(super) fn add_surface_velocity<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    contacts: &[Contact<T>],
    efc: &mut Efc<T>,
) {
    for contact in contacts {
        let Some(start) = contact.efc_address else { continue };
        if contact.geom.iter().all(|g| m.geom_surfacevel[*g] == [0.0; 6]) {
            continue;
        }
        let mut lin = Vector3::zeros();
        let mut rot = Vector3::zeros();
        for (g, sign) in contact.geom.into_iter().zip([-1.0, 1.0]) {
            let v = m.geom_surfacevel[g].map(|v| T::lift(sign * v));
            let spin = d.geom_xmat[g] * Vector3::new(v[3], v[4], v[5]);
            let arm = contact.pos - d.geom_xpos[g];
            lin += d.geom_xmat[g] * Vector3::new(v[0], v[1], v[2]) + spin.cross(&arm);
            rot += spin;
        }
        let mut axes = along(&contact.frame, &lin, &rot);
        for k in [0, 4, 5] {
            axes[k] = T::zero();
        }
        let kind = efc.kind[start];
        write_rows(kind, contact, &axes, |row, value| efc.vel[start + row] += value);
    }
}

/// Adds R · adhesion to the reference acceleration of normals, over all edges of a pyramid together: the cone is moved
/// down along the normal by the passive attraction of the surfaces, and the force of a penetration stays what it is.
///
/// - reads  `R`
/// - writes `aref` (nefc)
///
/// Source: MuJoCo manual, Computation, "Adhesion"; `mj_adhesionRef`.
pub(super) fn add_adhesion<T: Scalar>(contacts: &[Contact<T>], efc: &mut Efc<T>) {
    for contact in contacts.iter().filter(|c| c.adhesion != 0.0) {
        let Some(start) = contact.efc_address else { continue };
        let (rows, share) = match efc.kind[start] {
            EfcType::ContactPyramidal => {
                let edges = 2 * (contact.dim - 1);
                (edges, contact.adhesion / f64::from(u8::try_from(edges).unwrap_or(1)))
            }
            _ => (1, contact.adhesion),
        };
        for i in start..start + rows {
            efc.aref[i] += efc.R[i] * T::lift(share);
        }
    }
}
