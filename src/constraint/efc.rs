//! The rows of all constraints: `efc_*`.

use crate::model::{JacobianType, Model};
use crate::scalar::Scalar;

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
    /// Where each row of `J` begins (nefc + 1).
    pub J_rowadr: Vec<usize>,
    /// Columns of the entries of `J`, ascending within a row; the rows of one contact have the same.
    pub J_colind: Vec<usize>,
    /// Jacobian (nefc × nv), compressed rows.
    pub J: Vec<T>,
    /// Residual: distance of limits and contact normals, violation of equalities; else 0.
    pub pos: Vec<T>,
    /// Distance at which the row is active.
    pub margin: Vec<T>,
    /// Friction loss.
    pub frictionloss: Vec<f64>,
    /// Diagonal of J M⁻¹ Jᵀ, approximately unless `diagexact` is enabled, so that R = (1 − I)/I · diagA.
    pub diagA: Vec<T>,
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

    /// Columns of the rows that are appended next.
    columns: Vec<usize>,
    /// One row with its zeros.
    pub(super) dense: Vec<T>,
}

impl<T: Scalar> Efc<T> {
    /// No rows yet, and room for `capacity` rows of `nv` degrees of freedom. Memory is allocated later only for
    /// more rows than that.
    pub fn new(nv: usize, capacity: usize) -> Self {
        let mut J_rowadr = Vec::with_capacity(capacity + 1);
        J_rowadr.push(0);
        Self {
            nv,
            ne: 0,
            nf: 0,
            nl: 0,
            nefc: 0,
            kind: Vec::with_capacity(capacity),
            id: Vec::with_capacity(capacity),
            J_rowadr,
            J_colind: Vec::with_capacity(capacity * nv),
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
            columns: Vec::with_capacity(2 * nv),
            dense: Vec::with_capacity(nv),
        }
    }

    /// Columns and entries of row `i` of the Jacobian.
    #[inline]
    pub fn row(&self, i: usize) -> (&[usize], &[T]) {
        let range = self.J_rowadr[i]..self.J_rowadr[i + 1];
        (&self.J_colind[range.clone()], &self.J[range])
    }

    /// The Jacobian with its zeros (nefc × nv), row-major.
    pub fn dense_J(&self) -> Vec<T> {
        (0..self.nefc).flat_map(|i| self.dense_row(i)).collect()
    }

    /// Row `i` of the Jacobian with its zeros (nv).
    pub fn dense_row(&self, i: usize) -> Vec<T> {
        let mut row = vec![T::zero(); self.nv];
        let (columns, entries) = self.row(i);
        for (j, x) in columns.iter().zip(entries) {
            row[*j] = *x;
        }
        row
    }

    /// Replaces the Jacobian by one with its zeros (nefc × nv), row-major; zeros stay in its pattern.
    ///
    /// # Panics
    /// If the number of entries is another.
    pub fn set_dense_J(&mut self, J: &[T]) {
        assert_eq!(J.len(), self.nefc * self.nv, "a Jacobian of another size");
        self.J_rowadr = (0..=self.nefc).map(|i| i * self.nv).collect();
        self.J_colind = (0..J.len()).map(|k| k % self.nv).collect();
        self.J = J.to_vec();
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.truncate(0);
        (self.ne, self.nf, self.nl) = (0, 0, 0);
    }

    /// Sets the columns of the rows that are appended next, in any order and with repetitions.
    pub(super) fn set_columns(&mut self, columns: impl Iterator<Item = usize>) {
        self.columns.clear();
        self.columns.extend(columns);
        if !self.columns.is_sorted_by(|a, b| a < b) {
            self.columns.sort_unstable();
            self.columns.dedup();
        }
    }

    /// Sets the columns of the rows that are appended next, from the last to the first.
    pub(super) fn set_columns_descending(&mut self, columns: impl Iterator<Item = usize>) {
        self.columns.clear();
        self.columns.extend(columns);
        self.columns.reverse();
    }

    /// Appends `block.len` rows with zeros in the columns of the Jacobian that were set, and in the derived
    /// arrays, and returns what the caller may still change.
    pub(super) fn push(&mut self, block: &Block<T>) -> Rows<'_, T> {
        let start = self.nefc;
        let end = start + block.len;
        let entries = self.J.len();
        self.nefc = end;
        self.kind.resize(end, block.kind);
        self.id.resize(end, block.id);
        for _ in 0..block.len {
            self.J_colind.extend_from_slice(&self.columns);
            self.J_rowadr.push(self.J_colind.len());
        }
        self.J.resize(self.J_colind.len(), T::zero());
        self.pos.resize(end, block.pos);
        self.margin.resize(end, T::lift(block.margin));
        self.frictionloss.resize(end, block.frictionloss);
        self.diagA.resize(end, T::zero());
        self.KBIP.resize(end, [T::zero(); 4]);
        self.D.resize(end, T::zero());
        self.R.resize(end, T::zero());
        self.vel.resize(end, T::zero());
        self.aref.resize(end, T::zero());
        self.force.resize(end, T::zero());
        self.state.resize(end, EfcState::Satisfied);
        Rows {
            columns: &self.columns,
            J: &mut self.J[entries..],
            pos: &mut self.pos[start..],
            margin: &mut self.margin[start..],
        }
    }

    /// Removes the rows from `start` on if their Jacobian is zero, unless `keep`: MuJoCo keeps rows of zeros in
    /// the pattern of its sparse Jacobian.
    ///
    /// Source: MuJoCo `mj_addConstraint`.
    pub(super) fn drop_if_empty(&mut self, start: usize, keep: bool) {
        if !keep && self.J[self.J_rowadr[start]..].iter().all(|x| x.re() == 0.0) {
            self.truncate(start);
        }
    }

    /// Keeps the first `len` rows.
    fn truncate(&mut self, len: usize) {
        self.nefc = len;
        self.kind.truncate(len);
        self.id.truncate(len);
        self.J_rowadr.truncate(len + 1);
        self.J_colind.truncate(self.J_rowadr[len]);
        self.J.truncate(self.J_rowadr[len]);
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

impl<T: Scalar> Default for Efc<T> {
    /// No rows of no degrees of freedom, without memory.
    fn default() -> Self {
        Self {
            nv: 0,
            ne: 0,
            nf: 0,
            nl: 0,
            nefc: 0,
            kind: Vec::new(),
            id: Vec::new(),
            J_rowadr: Vec::new(),
            J_colind: Vec::new(),
            J: Vec::new(),
            pos: Vec::new(),
            margin: Vec::new(),
            frictionloss: Vec::new(),
            diagA: Vec::new(),
            KBIP: Vec::new(),
            D: Vec::new(),
            R: Vec::new(),
            vel: Vec::new(),
            aref: Vec::new(),
            force: Vec::new(),
            state: Vec::new(),
            columns: Vec::new(),
            dense: Vec::new(),
        }
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
    /// Columns that all of them have.
    pub(super) columns: &'a [usize],
    /// Entries in these columns (len × columns), row-major, zero.
    pub(super) J: &'a mut [T],
    /// Residuals (len).
    pub(super) pos: &'a mut [T],
    /// Margins (len).
    pub(super) margin: &'a mut [T],
}

impl<T: Scalar> Rows<'_, T> {
    /// Adds to the entry of row `row` in column `dof`, which is one of the columns.
    #[inline]
    pub(super) fn add(&mut self, row: usize, dof: usize, value: T) {
        let column = self.columns.partition_point(|&c| c < dof);
        self.J[row * self.columns.len() + column] += value;
    }
}

/// True if MuJoCo stores the Jacobian of this model as a sparse matrix. Ours is sparse either way; but
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
