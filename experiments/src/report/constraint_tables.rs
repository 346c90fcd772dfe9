//! Tables of a report that constraints make necessary: the two sides of kinks, and what the solver's settings do.

use dualstep_validation::derivatives::{Case, SolverStudy};

use super::tables::{Cell, Table, number};

/// Every kink with its two derivatives; none if there are none.
pub(super) fn kinks(case: &Case) -> Option<Table> {
    let head = ["kink", "state", "columns", "entry", "#above", "#below", "#exact methods"];
    let mut table = Table::new(format!("The two sides of kinks, {}", case.integrator), &head).note(
        format!(
            "At {} of {} states a column has a kink other than a control at an end of its range. Each kink in the first \
             state that has it, with the entry whose two sides are furthest apart, by differences to one side with \
             nudges of 1e-6. Where a force jumps, a difference across it grows with 1/ε. Exact methods give the side on \
             which the step is.",
            case.kink_states, case.compared
        ),
    );
    for kink in &case.kinks {
        let [row, column] = &kink.entry;
        let value = |x: f64| Cell::new(format!("{x:.5}"));
        table.rows.push(vec![
            Cell::new(kink.kink.clone()),
            Cell::new(kink.state.clone()),
            Cell::new(kink.columns.join(", ")),
            Cell::new(format!("∂ {row} / ∂ {column}")),
            value(kink.sides[0]),
            value(kink.sides[1]),
            value(kink.exact),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Both methods over the tolerance of the solver.
pub(super) fn tolerances(study: &SolverStudy) -> Table {
    let head = ["#tolerance", "#iterations", "#gradient", "#centred differences", "#closed form"];
    let mut table = Table::new("Tolerance of the constraint solver", &head).note(format!(
        "State {}, {} rows of constraints. Iterations and the remaining gradient over trace M of a cold start; errors of \
         [A B; C D] against dual numbers at the minimum. Differences, with their standard nudge, differentiate where \
         the solver stops; the closed form is taken at the minimum.",
        study.state, study.rows
    ));
    let error =
        |err: Option<f64>| err.map_or_else(|| Cell::muted("–"), |err| Cell::new(number(err)));
    for row in &study.tolerances {
        table.rows.push(vec![
            Cell::new(number(row.tolerance)),
            Cell::new(row.iterations.to_string()),
            Cell::new(number(row.gradient)),
            error(row.differences),
            error(row.closed_form),
        ]);
    }
    table
}

/// The V-curves of the study in numbers: their minima.
pub(super) fn minima(study: &SolverStudy) -> Table {
    let head = ["warm start", "#tolerance", "#best ε", "#error there"];
    let mut table =
        Table::new("Centred differences in contact: the bottoms of their V-curves", &head);
    for c in &study.curves {
        let Some(curve) = &c.curve else { continue };
        let [eps, err] = curve.minimum;
        table.rows.push(vec![
            Cell::new(if c.warmstart { "on" } else { "off" }),
            Cell::new(number(c.tolerance)),
            Cell::new(number(eps)),
            Cell::new(number(err)),
        ]);
    }
    table
}
