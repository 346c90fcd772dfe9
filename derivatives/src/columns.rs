//! Which columns of a linearization are computed: `[q (nv), v (nv), act (na), u (nu)]`, by index or by name.

use dualstep::Model;

use crate::matrices::TransitionError;
use crate::tangent::{ctrl_names, ndx, state_names};

/// What a column differentiates by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Position along degree of freedom i.
    Position(usize),
    /// Velocity of degree of freedom i.
    Velocity(usize),
    /// Activation i.
    Activation(usize),
    /// Control i.
    Control(usize),
}

/// What a column of [A B] and [C D] differentiates by.
pub fn input(m: &Model, column: usize) -> Input {
    let nx = ndx(m);
    if column < m.nv {
        Input::Position(column)
    } else if column < 2 * m.nv {
        Input::Velocity(column - m.nv)
    } else if column < nx {
        Input::Activation(column - 2 * m.nv)
    } else {
        Input::Control(column - nx)
    }
}

/// Number of columns of [A B], 2nv + na + nu.
pub fn ncolumns(m: &Model) -> usize {
    ndx(m) + m.nu
}

/// The column of a name such as `knee.q`, `knee.v`, `arm.act` or the name of an actuator; none if there is none.
pub fn column_named(m: &Model, name: &str) -> Option<usize> {
    state_names(m).into_iter().chain(ctrl_names(m)).position(|n| n == name)
}

/// Columns that a method computes, and of which matrices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Indices, ascending, each once.
    pub columns: Vec<usize>,
    /// Of A and B.
    pub state: bool,
    /// Of C and D.
    pub sensors: bool,
}

impl Wanted {
    /// All columns of all matrices.
    pub(crate) fn all(m: &Model) -> Self {
        Self { columns: (0..ncolumns(m)).collect(), state: true, sensors: true }
    }

    /// True if there is nothing to compute.
    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_empty() || !(self.state || self.sensors)
    }
}

/// Columns that follow each other, of one kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Place of the first among those that are wanted.
    pub place: usize,
    /// The first.
    pub column: usize,
    /// How many.
    pub len: usize,
}

/// Ascending columns in segments, so that rows can be copied piece by piece.
pub(crate) fn segments<'a>(
    m: &'a Model,
    columns: &'a [usize],
) -> impl Iterator<Item = Segment> + 'a {
    let mut place = 0;
    std::iter::from_fn(move || {
        let rest = &columns[place..];
        let column = *rest.first()?;
        let ends = [m.nv, 2 * m.nv, ndx(m), ncolumns(m)];
        let end = ends.into_iter().find(|&end| column < end)?;
        let follow = |(k, c): &(usize, &usize)| **c == column + k && **c < end;
        let len = rest.iter().enumerate().take_while(follow).count();
        place += len;
        Some(Segment { place: place - len, column, len })
    })
}

/// Sorted indices without repetitions; all columns if none are named.
pub(crate) fn selection(m: &Model, list: Option<&[usize]>) -> Result<Vec<usize>, TransitionError> {
    let count = ncolumns(m);
    let mut columns = list.map_or_else(|| (0..count).collect(), <[usize]>::to_vec);
    columns.sort_unstable();
    columns.dedup();
    match columns.last() {
        Some(&column) if column >= count => Err(TransitionError::Column { column, count }),
        _ => Ok(columns),
    }
}
