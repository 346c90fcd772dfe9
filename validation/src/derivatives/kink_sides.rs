//! What a column is on the two sides of a kink.

use dualstep::Model;
use dualstep_derivatives::tangent::ndx;
use dualstep_derivatives::{FdConfig, Kink, Side, Transition, mjd_transition_fd};
use serde::Serialize;

use super::states::State;

/// A kink of the step, and the two derivatives that it has there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KinkSides {
    /// State.
    pub state: String,
    /// What has the kink.
    pub kink: String,
    /// Columns of [A B] that it is in.
    pub columns: Vec<String>,
    /// Row and column of the entry whose two sides are furthest apart.
    pub entry: [String; 2],
    /// The entry by differences above the state, and below it.
    pub sides: [f64; 2],
    /// As the exact methods give it.
    pub exact: f64,
}

/// Nudge of the differences.
const NUDGE: f64 = 1e-6;

/// Kinks that one state is asked about.
const MOST: usize = 6;

/// Every kink at a state but for those of controls, whose sides columns name themselves; none if a step fails.
pub(super) fn kink_sides(m: &Model, state: &State, exact: &Transition) -> Vec<KinkSides> {
    let mut kinks: Vec<(Kink, Vec<usize>)> = Vec::new();
    for (k, column) in exact.columns.iter().enumerate() {
        let Some(kink) = column.kink.filter(|_| column.side == Side::Both) else { continue };
        match kinks.iter_mut().find(|(known, _)| *known == kink) {
            Some((_, columns)) => columns.push(k),
            None => kinks.push((kink, vec![k])),
        }
    }
    if kinks.is_empty() {
        return Vec::new();
    }
    let by = |centered| {
        let config = FdConfig { polish: true, ..FdConfig::uniform(centered, NUDGE) };
        mjd_transition_fd(m, &state.d, &config).ok()
    };
    let (Some(forward), Some(centered)) = (by(false), by(true)) else { return Vec::new() };
    let names: Vec<&str> = exact.column_names().collect();
    let nx = ndx(m);
    let at = |t: &Transition, i: usize, k: usize| {
        if k < nx { t.A[[i, k]] } else { t.B[[i, k - nx]] }
    };
    let sides = |i: usize, k: usize| {
        let above = at(&forward, i, k);
        [above, 2.0 * at(&centered, i, k) - above]
    };
    kinks
        .into_iter()
        .take(MOST)
        .map(|(kink, columns)| {
            let entries = columns.iter().flat_map(|&k| (0..nx).map(move |i| (i, k)));
            let apart = |(i, k): (usize, usize)| {
                let [above, below] = sides(i, k);
                (above - below).abs()
            };
            let furthest = entries.max_by(|a, b| apart(*a).total_cmp(&apart(*b)));
            let (i, k) = furthest.unwrap_or_default();
            KinkSides {
                state: state.name.clone(),
                kink: kink.describe(m),
                columns: columns.iter().map(|&k| names[k].to_owned()).collect(),
                entry: [exact.state_names[i].clone(), names[k].to_owned()],
                sides: sides(i, k),
                exact: at(exact, i, k),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep::Data;
    use dualstep::mjcf::load_model_str;
    use dualstep_derivatives::{DerivativeConfig, mjd_transition};

    #[test]
    fn a_ball_that_touches_the_floor_has_two_derivatives() {
        let xml = r#"
        <mujoco>
          <worldbody>
            <geom name="floor" type="plane" size="1 1 1"/>
            <body pos="0 0 .1">
              <joint name="z" type="slide" axis="0 0 1"/><geom name="ball" size=".1"/>
            </body>
          </worldbody>
        </mujoco>"#;
        let m = load_model_str(xml, "test.xml", std::path::Path::new(".")).unwrap();
        let state = State { name: "touching".into(), d: Data::new(&m), applied: false };
        let exact = mjd_transition(&m, &state.d, &DerivativeConfig::default()).unwrap();
        let [found] = &kink_sides(&m, &state, &exact)[..] else { panic!() };
        assert_eq!(found.kink, "contact of floor and ball about to be made or to break");
        assert_eq!((found.columns[0].as_str(), found.entry[0].as_str()), ("z.q", "z.v"));
        // above, nothing holds it; below, the floor
        let [above, below] = found.sides;
        assert!(above.abs() < 1e-8 && below < -1.0, "{found:?}");
        assert_eq!(found.exact, 0.0);
    }
}
