//! Which features were exercised under which integrator, and the largest error in what they touch.

use std::collections::BTreeSet;

use dualstep::Model;
use dualstep_derivatives::check::Output;
use serde::Serialize;

use super::INTEGRATORS;
use super::features::{Combination, Feature, Group, Touch, combinations, features};
use super::sample::Entries;

/// What was measured of a feature under an integrator.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cell {
    /// Largest error of closed form against dual numbers in the rows and columns that it touches; none if nothing
    /// was compared.
    pub err: Option<f64>,
    /// Number of states in which it was compared.
    pub states: usize,
    /// Number of states in which it occurs without a closed form.
    pub without: usize,
}

impl Cell {
    /// True if no model has the feature, or no state could be compared.
    pub fn is_empty(&self) -> bool {
        self.states == 0 && self.without == 0
    }

    fn add(&mut self, err: Option<f64>) {
        match err {
            Some(err) => {
                self.err = Some(self.err.map_or(err, |known| known.max(err)));
                self.states += 1;
            }
            None => self.without += 1,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.err = match (self.err, other.err) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        self.states += other.states;
        self.without += other.without;
    }
}

/// A feature under every integrator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Kind of feature.
    pub group: Group,
    /// Its name.
    pub name: &'static str,
    /// In the order of [`INTEGRATORS`].
    pub cells: [Cell; INTEGRATORS.len()],
}

/// A joint type with an actuator and a force, under every integrator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Meeting {
    /// Joint type, activation dynamics of an actuator on it or none, force.
    pub of: Combination,
    /// In the order of [`INTEGRATORS`].
    pub cells: [Cell; INTEGRATORS.len()],
}

/// The coverage matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Coverage {
    /// Every feature, in a fixed order.
    pub features: Vec<Row>,
    /// Combinations that occur.
    pub combinations: Vec<Meeting>,
}

/// What a model has, to add its samples.
pub(super) struct Counter<'a> {
    m: &'a Model,
    features: Vec<Feature>,
    combinations: Vec<(Combination, Touch)>,
}

impl<'a> Counter<'a> {
    pub(super) fn new(m: &'a Model) -> Self {
        let touch = |dofs: &Vec<usize>| {
            let both: Vec<usize> = dofs.iter().flat_map(|i| [*i, m.nv + i]).collect();
            Touch { rows: both.clone(), columns: both, sensors: Vec::new() }
        };
        let combinations = combinations(m).iter().map(|(key, dofs)| (*key, touch(dofs))).collect();
        Self { m, features: features(m), combinations }
    }

    /// Nothing measured yet.
    pub(super) fn start(&self) -> Coverage {
        let row = |f: &Feature| Row { group: f.group, name: f.name, cells: Default::default() };
        let meeting =
            |(of, _): &(Combination, Touch)| Meeting { of: *of, cells: Default::default() };
        Coverage {
            features: self.features.iter().map(row).collect(),
            combinations: self.combinations.iter().map(meeting).collect(),
        }
    }

    /// Adds a state under an integrator: whether forces are applied there, and which constraints push.
    pub(super) fn add(
        &self,
        to: &mut Coverage,
        integrator: usize,
        entries: &Entries,
        (applied, active): (bool, &BTreeSet<&'static str>),
    ) {
        let state = entries.margins(self.m, Output::Velocity);
        let sensor = entries.margins(self.m, Output::Sensor);
        let measure = |touch: &Touch| {
            let [by_state, by_sensor] = &entries.independent;
            if touch.sensors.is_empty() {
                // something of it was compared if a column was that it touches, or that crosses its rows
                let compared = touch.columns.iter().any(|k| by_state[*k])
                    || touch.columns.is_empty() && by_state.contains(&true);
                let rows = touch.rows.iter().map(|i| state.0[*i]);
                let columns = touch.columns.iter().map(|k| state.1[*k]);
                compared.then(|| rows.chain(columns).fold(0.0, f64::max))
            } else {
                let rows = touch.sensors.iter().map(|i| sensor.0[*i]);
                by_sensor.contains(&true).then(|| rows.fold(0.0, f64::max))
            }
        };
        for (feature, row) in self.features.iter().zip(&mut to.features) {
            let there = match feature.group {
                Group::Constraint => active.contains(feature.name),
                _ => applied || !feature.applied,
            };
            if there && !feature.touch.is_empty() {
                row.cells[integrator].add(measure(&feature.touch));
            }
        }
        for ((key, touch), row) in self.combinations.iter().zip(&mut to.combinations) {
            let only_applied = self.features.iter().any(|f| f.applied && f.name == key[2]);
            if applied || !only_applied {
                row.cells[integrator].add(measure(touch));
            }
        }
    }
}

impl Coverage {
    /// Adds what other models exercise.
    pub fn merge(&mut self, other: &Self) {
        if self.features.is_empty() {
            self.features.clone_from(&other.features);
        } else {
            for (row, theirs) in self.features.iter_mut().zip(&other.features) {
                merge_cells(&mut row.cells, &theirs.cells);
            }
        }
        for theirs in &other.combinations {
            match self.combinations.iter_mut().find(|row| row.of == theirs.of) {
                Some(row) => merge_cells(&mut row.cells, &theirs.cells),
                None => self.combinations.push(theirs.clone()),
            }
        }
    }
}

fn merge_cells(cells: &mut [Cell], theirs: &[Cell]) {
    for (cell, other) in cells.iter_mut().zip(theirs) {
        cell.merge(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep::mjcf::load_model_str;

    const RAIL: &str = r#"
    <mujoco>
      <worldbody>
        <body>
          <joint name="rail" type="slide" axis="1 0 0" stiffness="2"/>
          <geom size=".1" mass="1"/>
        </body>
      </worldbody>
      <sensor><clock/></sensor>
    </mujoco>"#;

    fn cell<'a>(coverage: &'a Coverage, name: &str) -> &'a Cell {
        &coverage.features.iter().find(|row| row.name == name).unwrap().cells[1]
    }

    #[test]
    fn errors_are_counted_where_a_feature_touches() {
        let m = load_model_str(RAIL, "rail.xml", std::path::Path::new(".")).unwrap();
        let counter = Counter::new(&m);
        let mut coverage = counter.start();
        let mut entries = Entries {
            width: 2,
            errors: vec![0.0; 6],
            independent: [vec![true; 2], vec![false; 2]],
        };
        entries.errors[2] = 1e-6; // rail.v by rail.q
        counter.add(&mut coverage, 1, &entries, (false, &BTreeSet::new()));
        entries.errors[2] = 1e-7;
        counter.add(&mut coverage, 1, &entries, (true, &BTreeSet::new()));
        let spring = Cell { err: Some(1e-6), states: 2, without: 0 };
        assert_eq!(cell(&coverage, "joint spring"), &spring);
        assert_eq!(cell(&coverage, "applied forces").err, Some(1e-7));
        assert_eq!(cell(&coverage, "clock"), &Cell { err: None, states: 0, without: 2 });
        assert!(cell(&coverage, "ball").is_empty());
        let meets = |force| coverage.combinations.iter().find(|row| row.of[2] == force).unwrap();
        assert_eq!(meets("joint spring").cells[1], spring);
        assert!(meets("joint spring").cells[0].is_empty());

        let mut all = Coverage::default();
        all.merge(&coverage);
        all.merge(&coverage);
        assert_eq!(cell(&all, "joint spring").states, 4);
        assert_eq!(all.combinations.len(), coverage.combinations.len());
    }
}
