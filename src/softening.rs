//! Contacts that begin softly: the models that controllers differentiate, and a look at how contacts of a model begin.
//!
//! The mathematics, and what each option changes, is in [`design::smoothing`](crate::design::smoothing).

use crate::collision::{ContactParams, touchable_pairs};
use crate::constraint::impedance::IMPEDANCE_RANGE;
use crate::model::Model;

/// How much softer contacts become. Zero, the default, changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Softening {
    /// Distance from which surfaces push \[m\]. If it is not zero, every margin of contacts grows by it, the impedance
    /// begins at zero there, and reaches its largest value where the model's own contact does.
    pub distance: f64,
    /// How much longer contacts last, as a fraction of their own duration: time constants of `solref` and widths of
    /// `solimp` times 1 + stretch, stiffness and damping of the direct format divided by (1 + stretch)² and 1 + stretch.
    /// An impact changes the velocity by as much, over more time and on a longer way.
    pub stretch: f64,
}

/// A [`Softening`] that has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{what} must be finite and not negative, found {value}")]
pub struct SofteningError {
    /// Which number.
    pub what: &'static str,
    /// What it is.
    pub value: f64,
}

impl Softening {
    /// Contacts from a distance \[m\], as hard as they are.
    pub fn from_distance(distance: f64) -> Self {
        Self { distance, ..Self::default() }
    }

    /// True if it changes nothing.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Softens the contacts of a model: of its geoms, of its explicit pairs, and of the options that override both. Make
    /// `Data` afterwards.
    ///
    /// Margins of two geoms add up, so each takes half of the distance; `solref` and `solimp` are mixed by weights that
    /// sum to one, so that what is done to those of geoms is done to the mixture.
    ///
    /// # Errors
    /// A number that is negative or not finite; the model stays as it was.
    ///
    /// Source: MuJoCo manual, Modeling, "Solver parameters": impedance of distance from the margin.
    pub fn apply(&self, m: &mut Model) -> Result<(), SofteningError> {
        for (what, value) in [("distance", self.distance), ("stretch", self.stretch)] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(SofteningError { what, value });
            }
        }
        m.geom_margin.iter_mut().for_each(|margin| *margin += 0.5 * self.distance);
        m.pair_margin.iter_mut().for_each(|margin| *margin += self.distance);
        m.opt.o_margin += self.distance;
        let solref = m.geom_solref.iter_mut().chain(&mut m.pair_solref);
        let solref = solref.chain(&mut m.pair_solreffriction).chain([&mut m.opt.o_solref]);
        solref.for_each(|x| self.solref(x));
        let solimp = m.geom_solimp.iter_mut().chain(&mut m.pair_solimp);
        solimp.chain([&mut m.opt.o_solimp]).for_each(|x| self.solimp(x));
        Ok(())
    }

    /// (time constant, damping ratio), or (−stiffness, −damping).
    fn solref(&self, solref: &mut [f64; 2]) {
        let longer = 1.0 + self.stretch;
        if solref[0] > 0.0 {
            solref[0] *= longer;
        } else {
            solref[0] /= longer * longer;
            solref[1] /= longer;
        }
    }

    /// (d₀, d, width, midpoint, power).
    fn solimp(&self, solimp: &mut [f64; 5]) {
        solimp[2] = solimp[2].max(0.0) * (1.0 + self.stretch) + self.distance;
        if self.distance > 0.0 {
            solimp[0] = 0.0;
        }
    }
}

/// A pair of geoms whose contact begins with a force that jumps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AbruptContact {
    /// The geoms.
    pub geom: [usize; 2],
    /// Impedance at the beginning, `solimp[0]` of the pair.
    pub impedance: f64,
}

/// Pairs of geoms that can touch and whose `solimp[0]` is not zero: at onset the force of such a contact jumps, from
/// nothing to what the impedance gives at once, and the step has no derivative there. (MuJoCo's smallest impedance,
/// 0.0001, stands for zero.)
pub fn abrupt_contacts(m: &Model) -> Vec<AbruptContact> {
    let abrupt = |(geom, pair)| {
        let [d0, d, width, ..] = ContactParams::new(m, geom, pair).solimp;
        // without a width there is no way from one to the other
        let impedance = if width <= crate::MINVAL { 0.5 * (d0 + d) } else { d0 };
        (impedance > IMPEDANCE_RANGE[0]).then_some(AbruptContact { geom, impedance })
    };
    touchable_pairs(m).into_iter().filter_map(abrupt).collect()
}

/// A sentence on [`abrupt_contacts`], with names and a remedy; none if there are none.
pub fn onset_warning(m: &Model) -> Option<String> {
    let mut found = abrupt_contacts(m);
    found.sort_by(|a, b| b.impedance.total_cmp(&a.impedance));
    let first = found.first()?;
    let name = |g: usize| match m.names.geom.get(g).map_or("", String::as_str) {
        "" => format!("geom {g}"),
        name => format!("`{name}`"),
    };
    let [a, b] = first.geom.map(name);
    let others = match found.len() - 1 {
        0 => String::new(),
        1 => " (and 1 other pair)".to_owned(),
        n => format!(" (and {n} other pairs)"),
    };
    Some(format!(
        "the force of contact jumps at onset: solimp[0] of {a} and {b} is {:.3}{others}; no derivative exists there, and \
         none tells of a touch to come. Remedy: solimp=\"0 …\" in the model, or contact from a distance",
        first.impedance
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mjcf::load_model_str;
    use std::path::Path;

    fn model(option: &str, ball: &str, floor: &str, more: &str) -> Model {
        let text = format!(
            r#"<mujoco><option>{option}</option><worldbody>
            <geom name="floor" type="plane" size="1 1 1" {floor}/>
            <body pos="0 0 1"><freejoint/><geom name="ball" size=".1" {ball}/></body>
            <body pos="1 0 1"><freejoint/><geom size=".1" {ball}/></body>
            </worldbody>{more}</mujoco>"#
        );
        load_model_str(&text, "test.xml", Path::new(".")).unwrap()
    }

    fn params(m: &Model) -> ContactParams {
        let pair = (m.npair > 0).then_some(0);
        ContactParams::new(m, [0, 1], pair)
    }

    // 0.01 m before a margin of 0.002: the sum of both halves; widths mixed, plus the distance
    #[test]
    fn margins_and_impedance_move_for_geoms_pairs_and_overrides() {
        let ball = r#"margin=".002" solimp=".9 .95 .003" solref=".02 1""#;
        let pair = r#"<contact><pair geom1="floor" geom2="ball" margin=".002" solimp=".9 .95 .002"/></contact>"#;
        let flag = r#"<flag override="enable"/>"#;
        let s = Softening { distance: 0.01, stretch: 0.5 };
        for (option, more, width, margin) in
            [("", "", 0.002, 0.002), ("", pair, 0.002, 0.002), (flag, "", 0.001, 0.0)]
        {
            let mut m = model(option, ball, "", more);
            let before = params(&m);
            assert_eq!((before.margin, before.solimp[2]), (margin, width));
            s.apply(&mut m).unwrap();
            let p = params(&m);
            assert!((p.margin - (margin + 0.01)).abs() < 1e-15);
            assert_eq!((p.solimp[0], p.solimp[1]), (0.0, before.solimp[1]));
            assert!((p.solimp[2] - (1.5 * width + 0.01)).abs() < 1e-15);
            assert!((p.solref[0] - 0.03).abs() < 1e-15 && p.solref[1] == 1.0);
        }
    }

    #[test]
    fn the_direct_format_stretches_as_a_spring_and_a_damper() {
        let mut m = model("", r#"solref="-900 -30""#, r#"solref="-900 -30""#, "");
        Softening { distance: 0.0, stretch: 0.5 }.apply(&mut m).unwrap();
        let p = params(&m);
        assert_eq!((p.solref, p.margin, p.solimp[0]), ([-400.0, -20.0], 0.0, 0.9));
    }

    #[test]
    fn nothing_changes_nothing_and_nonsense_is_refused() {
        let m = model("", "", "", "");
        let mut same = m.clone();
        assert!(Softening::default().is_none());
        Softening::default().apply(&mut same).unwrap();
        assert_eq!(format!("{same:?}"), format!("{m:?}"));
        for s in [Softening::from_distance(-0.1), Softening { distance: 0.0, stretch: f64::NAN }] {
            let error = s.apply(&mut same).unwrap_err();
            assert!(error.to_string().contains("finite and not negative"));
            assert_eq!(format!("{same:?}"), format!("{m:?}"));
        }
    }

    #[test]
    fn abrupt_contacts_are_found_by_what_can_touch() {
        let m = model("", "", "", "");
        let found = abrupt_contacts(&m);
        assert_eq!(found.iter().map(|c| c.geom).collect::<Vec<_>>(), [[0, 1], [0, 2], [1, 2]]);
        assert!(found.iter().all(|c| c.impedance == 0.9));
        let warning = onset_warning(&m).unwrap();
        assert!(warning.contains("`floor` and `ball` is 0.900 (and 2 other pairs)"), "{warning}");
        // a mixture of 0.9 and nothing
        let m = model("", r#"solimp="0 .9 .01""#, "", "");
        let found = abrupt_contacts(&m);
        assert_eq!(found.iter().map(|c| c.impedance).collect::<Vec<_>>(), [0.45, 0.45]);
        // nothing but soft ones, or ones that do not touch
        let soft = r#"solimp="0 .9 .01""#;
        assert_eq!(onset_warning(&model("", soft, soft, "")), None);
        assert_eq!(onset_warning(&model("", r#"contype="0" conaffinity="0""#, "", "")), None);
        assert_eq!(onset_warning(&model(r#"<flag contact="disable"/>"#, "", "", "")), None);
        // without a width the impedance is the mean
        let hard = r#"solimp="0 .9 0""#;
        assert_eq!(abrupt_contacts(&model("", hard, hard, ""))[0].impedance, 0.45);
        // from a distance nothing is abrupt
        let mut m = model("", "", "", "");
        Softening::from_distance(0.01).apply(&mut m).unwrap();
        assert_eq!(onset_warning(&m), None);
    }
}
