//! The coverage matrix: which features were exercised under which integrator, and the largest error in what they
//! touch.

use dualstep_validation::derivatives::{
    Cell as Measured, Coverage, DYNAMICS, FORCES_ON_JOINTS, Group, INTEGRATORS, JOINTS, Meeting,
    NO_ACTUATOR,
};

use dualstep_validation::tolerance;

use super::tables::{Cell, Mark, Table, Tone, number};

/// Errors up to here have light squares, up to the tolerance dark ones.
pub(super) const LIGHT: f64 = 1e-13;

/// Features by integrators, those that no model exercises in one line a group.
pub(super) fn features(coverage: &Coverage) -> Table {
    let mut head = vec!["kind", "feature"];
    head.extend(INTEGRATORS.map(|(_, name)| name));
    let mut table = Table::new("Features by integrator", &head).note(
        "Largest error of the closed form against dual numbers in the rows and columns that a feature touches, and in \
         how many states of all models it was compared.",
    );
    table.numbers = (0..head.len()).map(|k| k >= 2).collect();
    for group in Group::ALL {
        let mut title = group.title();
        let mut absent = Vec::new();
        for row in coverage.features.iter().filter(|row| row.group == group) {
            if row.cells.iter().all(Measured::is_empty) {
                absent.push(row.name);
                continue;
            }
            let name = Cell::new(row.name).tone(Tone::Strong);
            let mut line = vec![Cell::muted(std::mem::take(&mut title)), name];
            line.extend(row.cells.iter().map(cell));
            table.rows.push(line);
        }
        if !absent.is_empty() {
            table.rows.push(vec![Cell::muted(title), not_exercised(&absent, head.len() - 1)]);
        }
    }
    table
}

/// Names of what no model has, over several columns.
fn not_exercised(names: &[&str], span: usize) -> Cell {
    Cell { span, ..Cell::muted(format!("not exercised: {}", names.join(", "))) }
}

fn cell(measured: &Measured) -> Cell {
    match measured.err {
        Some(err) if measured.without > 0 => {
            let (states, without) = (measured.states, measured.without);
            Cell::new(format!("{} ({states}; {without} without)", number(err)))
        }
        Some(err) => Cell::new(format!("{} ({})", number(err), measured.states)),
        None if measured.without > 0 => {
            Cell::muted(format!("no closed form ({})", measured.without))
        }
        None => Cell::muted("not exercised"),
    }
}

/// Joint types × actuators by forces, each cell with all integrators.
pub(super) fn combinations(coverage: &Coverage) -> Table {
    let mut head = vec!["joint", "actuator"];
    head.extend(FORCES_ON_JOINTS);
    let names: Vec<&str> = INTEGRATORS.iter().map(|(_, name)| *name).collect();
    let mut table = Table::new("Integrator × joint × actuator × force", &head).note(format!(
        "Where a joint is driven by an actuator with these activation dynamics and feels this force: the largest error of \
         the closed form against dual numbers in its rows and columns, over all states and integrators. The squares are \
         {}, from left to right: light up to {LIGHT:.0e}, dark up to {:.0e}, orange above, hollow where there is no \
         closed form to compare, a dot where no state could be compared. Blank: not exercised.",
        names.join(", "),
        tolerance::CLOSED_FORM
    ));
    table.numbers = (0..head.len()).map(|k| k >= 2).collect();
    let actuators = || std::iter::once(NO_ACTUATOR).chain(DYNAMICS.map(|(_, name)| name));
    for (_, joint) in JOINTS {
        let mut title = joint;
        let mut absent = Vec::new();
        for actuator in actuators() {
            if !coverage.combinations.iter().any(|row| row.of[..2] == [joint, actuator]) {
                absent.push(driven(actuator));
                continue;
            }
            let of = |force: &str| {
                coverage.combinations.iter().find(|row| row.of == [joint, actuator, force])
            };
            let mut line = vec![
                Cell::new(std::mem::take(&mut title)).tone(Tone::Strong),
                Cell::new(driven(actuator)),
            ];
            line.extend(FORCES_ON_JOINTS.map(|force| meeting(of(force))));
            table.rows.push(line);
        }
        if !absent.is_empty() {
            let title = Cell::new(title).tone(Tone::Strong);
            table.rows.push(vec![title, not_exercised(&absent, head.len() - 1)]);
        }
    }
    table
}

/// An actuator on a joint, in words.
fn driven(actuator: &'static str) -> &'static str {
    if actuator == "none" { "no dynamics" } else { actuator }
}

fn meeting(row: Option<&Meeting>) -> Cell {
    let Some(row) = row else { return Cell::default() };
    let mark = |cell: &Measured| match cell.err {
        Some(err) => Mark::Measured(err),
        None if cell.without > 0 => Mark::Without,
        None => Mark::Absent,
    };
    let marks: Vec<Mark> = row.cells.iter().map(mark).collect();
    let worst = row.cells.iter().filter_map(|cell| cell.err).reduce(f64::max);
    Cell { text: worst.map_or("–".to_owned(), number), marks, ..Cell::default() }
}
