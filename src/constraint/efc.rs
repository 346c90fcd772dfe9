//! The rows of all constraints: `efc_*`.

use crate::model::{JacobianType, Model};
use crate::scalar::Scalar;
use crate::status::ConstraintOverflow;

/// Kind of a row (`mjtConstraint`), in the order in which rows stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
pub enum EfcType {
    /// Equality.
    Equality = 0,
    /// Friction loss of a degree of freedom.
    FrictionDof = 1,
    /// Friction loss of a tendon.
    FrictionTendon = 2,
    /// Limit of a joint.
    LimitJoint = 3,
    /// Limit of a tendon.
    LimitTendon = 4,
    /// Contact without friction.
    ContactFrictionless = 5,
    /// Edge of the pyramidal friction cone of a contact.
    ContactPyramidal = 6,
    /// Axis of the elliptic friction cone of a contact.
    ContactElliptic = 7,
}

/// Zone of a row's cost in which the solver found it (`mjtConstraintState`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(i32)]
pub enum EfcState {
    /// No force: limits and contacts that separate.
    #[default]
    Satisfied = 0,
    /// Quadratic cost, linear force.
    Quadratic = 1,
    /// Friction loss saturated, negative side.
    LinearNeg = 2,
    /// Friction loss saturated, positive side.
    LinearPos = 3,
    /// Force on the surface of an elliptic cone.
    Cone = 4,
}

/// Rows of all constraints at one state: equality, friction loss, limits, contacts.
///
/// Every array has one entry (or one row of nv entries) for each of the `nefc` rows. Units: a row measures
/// metres, radians or what its tendon measures; `J` is that per unit of `qvel`, `diagA` and `R` are its
/// acceleration per unit of force.
#[derive(Clone, Debug)]
pub struct Efc<T: Scalar> {
    /// Degrees of freedom: columns of `J`.
    pub nv: usize,
    /// Largest number of rows.
    pub capacity: usize,
    /// Equality rows.
    pub ne: usize,
    /// Friction loss rows.
    pub nf: usize,
    /// Limit rows.
    pub nl: usize,
    /// All rows.
    pub nefc: usize,

    // ---- position dependent: written by make_constraint
    /// Kind.
    pub kind: Vec<EfcType>,
    /// Index of the equality constraint, degree of freedom, tendon, joint or contact.
    pub id: Vec<usize>,
    /// Jacobian (nefc × nv), row-major.
    pub J: Vec<T>,
    /// Residual: distance of limits and contact normals, violation of equalities; else 0.
    pub pos: Vec<T>,
    /// Distance at which the row is active.
    pub margin: Vec<T>,
    /// Friction loss.
    pub frictionloss: Vec<f64>,
    /// Diagonal of J M⁻¹ Jᵀ, approximately, so that R = (1 − I)/I · diagA.
    pub diagA: Vec<f64>,
    /// Stiffness, damping, impedance, and derivative of the impedance along `pos`.
    pub KBIP: Vec<[T; 4]>,
    /// 1/R.
    pub D: Vec<T>,
    /// Regularization: softness of the row.
    pub R: Vec<T>,

    // ---- velocity dependent: written by reference_constraint
    /// Velocity J·qvel, and that of moving surfaces.
    pub vel: Vec<T>,
    /// Reference acceleration.
    pub aref: Vec<T>,

    // ---- written by the solver
    /// Force.
    pub force: Vec<T>,
    /// Zone of the cost.
    pub state: Vec<EfcState>,
}

impl<T: Scalar> Efc<T> {
    /// No rows yet, and room for `capacity` rows of `nv` degrees of freedom. Nothing is allocated later.
    pub fn new(nv: usize, capacity: usize) -> Self {
        Self {
            nv,
            capacity,
            ne: 0,
            nf: 0,
            nl: 0,
            nefc: 0,
            kind: Vec::with_capacity(capacity),
            id: Vec::with_capacity(capacity),
            J: Vec::with_capacity(capacity * nv),
            pos: Vec::with_capacity(capacity),
            margin: Vec::with_capacity(capacity),
            frictionloss: Vec::with_capacity(capacity),
            diagA: Vec::with_capacity(capacity),
            KBIP: Vec::with_capacity(capacity),
            D: Vec::with_capacity(capacity),
            R: Vec::with_capacity(capacity),
            vel: Vec::with_capacity(capacity),
            aref: Vec::with_capacity(capacity),
            force: Vec::with_capacity(capacity),
            state: Vec::with_capacity(capacity),
        }
    }

    /// Row `i` of the Jacobian (nv).
    #[inline]
    pub fn row(&self, i: usize) -> &[T] {
        &self.J[i * self.nv..(i + 1) * self.nv]
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.truncate(0);
        (self.ne, self.nf, self.nl) = (0, 0, 0);
    }

    /// Appends `block.len` rows with zero Jacobian and derived arrays, and returns what the caller may still
    /// change.
    ///
    /// # Errors
    /// If there is no room: nothing is appended.
    pub(super) fn push(&mut self, block: &Block<T>) -> Result<Rows<'_, T>, ConstraintOverflow> {
        let start = self.nefc;
        let end = start + block.len;
        if end > self.capacity {
            return Err(ConstraintOverflow { needed: end, capacity: self.capacity });
        }
        self.nefc = end;
        self.kind.resize(end, block.kind);
        self.id.resize(end, block.id);
        self.J.resize(end * self.nv, T::zero());
        self.pos.resize(end, block.pos);
        self.margin.resize(end, T::lift(block.margin));
        self.frictionloss.resize(end, block.frictionloss);
        self.diagA.resize(end, 0.0);
        self.KBIP.resize(end, [T::zero(); 4]);
        self.D.resize(end, T::zero());
        self.R.resize(end, T::zero());
        self.vel.resize(end, T::zero());
        self.aref.resize(end, T::zero());
        self.force.resize(end, T::zero());
        self.state.resize(end, EfcState::Satisfied);
        Ok(Rows {
            J: &mut self.J[start * self.nv..],
            pos: &mut self.pos[start..],
            margin: &mut self.margin[start..],
        })
    }

    /// Keeps the first `len` rows.
    pub(super) fn truncate(&mut self, len: usize) {
        self.nefc = len;
        self.kind.truncate(len);
        self.id.truncate(len);
        self.J.truncate(len * self.nv);
        self.pos.truncate(len);
        self.margin.truncate(len);
        self.frictionloss.truncate(len);
        self.diagA.truncate(len);
        self.KBIP.truncate(len);
        self.D.truncate(len);
        self.R.truncate(len);
        self.vel.truncate(len);
        self.aref.truncate(len);
        self.force.truncate(len);
        self.state.truncate(len);
    }
}

/// Rows of one constraint, as they are appended.
pub(super) struct Block<T> {
    /// Number of rows.
    pub(super) len: usize,
    /// Kind of all of them.
    pub(super) kind: EfcType,
    /// Object.
    pub(super) id: usize,
    /// Residual of all rows.
    pub(super) pos: T,
    /// Margin of all rows.
    pub(super) margin: f64,
    /// Friction loss.
    pub(super) frictionloss: f64,
}

/// Rows that were just appended.
pub(super) struct Rows<'a, T> {
    /// Jacobian (len × nv), row-major, zero.
    pub(super) J: &'a mut [T],
    /// Residuals (len).
    pub(super) pos: &'a mut [T],
    /// Margins (len).
    pub(super) margin: &'a mut [T],
}

/// True if MuJoCo stores the Jacobian of this model as a sparse matrix. Ours is dense either way; but
/// MuJoCo's rule of which rows without any effect are left out depends on it.
///
/// Source: MuJoCo `mj_isSparse`.
pub(super) fn is_sparse(m: &Model) -> bool {
    match m.opt.jacobian {
        JacobianType::Sparse => true,
        JacobianType::Dense => false,
        JacobianType::Auto => m.nv >= 60,
    }
}
