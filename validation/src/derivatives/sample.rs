//! One state under one integrator: every method against dual numbers.

use std::collections::BTreeSet;

use dualstep::{Data, Model};
use dualstep_derivatives::check::{
    Block, Convergence, Output, VCurve, comparable, compare_where, differentiable, fd_convergence,
    nudges,
};
use dualstep_derivatives::tangent::ndx;
use dualstep_derivatives::{
    Column, DerivativeConfig, FdConfig, Method, Origin, Transition, mjd_transition,
};

use super::constraints::active;
use super::kink_sides::{KinkSides, kink_sides};
use super::report::{Compared, Finding, Verdict};
use super::states::State;
use crate::random_tree::Random;
use crate::tolerance::{
    CLOSED_FORM, CLOSED_FORM_CONTACT, FD_NOISE_FACTOR, FD_NOISE_USELESS, scaled,
};

/// What is computed beside the closed form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Nothing: closed form against dual numbers.
    ClosedForm,
    /// Differences, V-curves, hybrid.
    Full,
}

/// What one state gives.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    /// Every method and block that could be compared.
    pub findings: Vec<Finding>,
    /// Methods that fail here, and why.
    pub refused: Vec<(Compared, String)>,
    /// Kinds of constraints that push.
    pub active: BTreeSet<&'static str>,
    /// Differences of closed form and dual numbers.
    pub entries: Entries,
    /// The two sides of every kink; empty where only the closed form was asked for.
    pub kinks: Vec<KinkSides>,
    /// What `Method::Auto` says of the columns of [A B] and [C D].
    pub columns: [Vec<Column>; 2],
    /// Centred and forward; none where only the closed form was asked for, or a step fails.
    pub curves: [Option<Convergence>; 2],
    /// By how much dual numbers change where the state is rounded differently.
    pub rounding: Vec<(Block, f64)>,
    /// The step is so ill-conditioned that dual numbers cannot judge the closed form.
    pub ill_conditioned: bool,
}

/// Every entry of |closed form − dual| over the scale of its block, in [A B; C D].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entries {
    /// Columns of [A B; C D].
    pub width: usize,
    /// Row by row.
    pub errors: Vec<f64>,
    /// Of [A B] and of [C D]: columns that come from a closed form, so that the difference says something.
    pub independent: [Vec<bool>; 2],
}

impl Sample {
    /// Compares all methods at a state.
    ///
    /// # Errors
    /// If dual numbers fail, with the reason.
    pub(super) fn new(m: &Model, state: &State, depth: Depth) -> Result<Self, String> {
        let by = |method| mjd_transition(m, &state.d, &serial(method));
        let exact = by(Method::Dual).map_err(|e| e.to_string())?;
        let auto = by(Method::Auto).map_err(|e| e.to_string())?;
        let active = active(m, &state.d);
        // rounding is amplified by the stiffness of the rows
        let tolerance = if active.is_empty() { CLOSED_FORM } else { CLOSED_FORM_CONTACT };
        let mut sample = Self {
            findings: closed_form(m, &state.name, &auto, &exact, tolerance),
            refused: Vec::new(),
            active,
            entries: Entries::new(m, &auto, &exact),
            kinks: if depth == Depth::Full { kink_sides(m, state, &exact) } else { Vec::new() },
            columns: [auto.columns, auto.sensor_columns],
            curves: [None, None],
            rounding: Vec::new(),
            ill_conditioned: false,
        };
        let fails = |f: &Finding| f.verdict() == Verdict::Fail;
        if depth == Depth::Full || sample.findings.iter().any(fails) {
            sample.rounding = rounding(m, &state.d, &exact);
        }
        sample.withdraw();
        if depth == Depth::ClosedForm {
            return Ok(sample);
        }
        for (k, method) in [Compared::Centered, Compared::Forward].into_iter().enumerate() {
            let centered = method == Compared::Centered;
            match fd_convergence(m, &state.d, &polished(centered), &nudges(centered), &exact) {
                Ok(curves) => {
                    let (findings, refused) = differences(&state.name, method, &curves);
                    sample.findings.extend(findings);
                    sample.refused.extend(refused.map(|why| (method, why)));
                    sample.curves[k] = Some(curves);
                }
                Err(e) => sample.refused.push((method, e.to_string())),
            }
        }
        match by(Method::Hybrid) {
            Ok(t) => {
                let curves = sample.curves[0].as_ref();
                sample.findings.extend(hybrid(m, &state.name, [&t, &exact], curves, tolerance));
            }
            Err(e) => sample.refused.push((Compared::Hybrid, e.to_string())),
        }
        sample.withdraw();
        Ok(sample)
    }

    /// Withdraws findings of exact methods that fail where dual numbers themselves are not known well enough: the
    /// error is within ten times of what a change of the state in its last bit makes of them. Unstable steps do that.
    fn withdraw(&mut self) {
        let rounding = std::mem::take(&mut self.rounding);
        let known = |block: Block| rounding.iter().find(|(b, _)| *b == block).map(|(_, err)| *err);
        let mut findings = std::mem::take(&mut self.findings);
        findings.retain(|f| {
            let exact = matches!(f.method, Compared::ClosedForm | Compared::Hybrid) && f.eps.is_none();
            let change = known(f.block).filter(|change| {
                exact && f.verdict() == Verdict::Fail && f.err <= ROUNDING_FACTOR * change
            });
            if let Some(change) = change {
                self.ill_conditioned = true;
                let why = format!(
                    "ill-conditioned: dual numbers of {} change by {change:.1e} when the state is changed in its last \
                     bit, and are {:.1e} apart from this",
                    f.block, f.err
                );
                self.refused.push((f.method, why));
            }
            change.is_none()
        });
        (self.findings, self.rounding) = (findings, rounding);
    }
}

/// Two changes of the last bit are a small sample of rounding errors.
const ROUNDING_FACTOR: f64 = 10.0;

/// One thread for a linearization: states are what runs in parallel.
fn serial(method: Method) -> DerivativeConfig {
    DerivativeConfig { threads: 1, ..DerivativeConfig::by(method) }
}

/// Differences of steps that are solved to the minimum of their constraints, as what they are compared with.
fn polished(centered: bool) -> FdConfig {
    let config = if centered { FdConfig::centered() } else { FdConfig::forward() };
    FdConfig { polish: true, ..config }
}

/// Columns in closed form against dual numbers.
fn closed_form(
    m: &Model,
    state: &str,
    auto: &Transition,
    exact: &Transition,
    tolerance: f64,
) -> Vec<Finding> {
    let keep = |block: Block, column: usize| {
        block.origins(m, auto)[column - block.columns(m).start].origin == Origin::Analytic
    };
    // at a kink each method may take another side: what agrees there counts, what does not is left out
    let smooth =
        |block, column: usize| keep(block, column) && differentiable(&exact.columns[column]);
    let mut found = compare_where(m, auto, exact, keep);
    if found.iter().any(|e| e.err > scaled(tolerance)) {
        found = compare_where(m, auto, exact, smooth);
    }
    found
        .into_iter()
        .map(|e| Finding {
            method: Compared::ClosedForm,
            block: e.block,
            err: e.err,
            tolerance: scaled(tolerance),
            entry: [e.row, e.column],
            state: state.to_owned(),
            eps: None,
            standard: None,
        })
        .collect()
}

/// Differences at the size of nudge where they are quietest, against ten times their noise there; and which blocks
/// are too noisy to say anything.
fn differences(
    state: &str,
    method: Compared,
    curves: &Convergence,
) -> (Vec<Finding>, Option<String>) {
    let standard = standard_eps(curves.centered);
    let (mut findings, mut noisy) = (Vec::new(), Vec::new());
    for (block, v) in &curves.blocks {
        let Some((k, noise)) = v.quietest().and_then(|k| useful(v, k)) else {
            noisy.push(block.to_string());
            continue;
        };
        let at_standard = v.eps.iter().position(|eps| *eps == standard);
        findings.push(Finding {
            method,
            block: *block,
            err: v.err[k],
            tolerance: scaled(floor(FD_NOISE_FACTOR * noise)),
            entry: v.entry[k].clone(),
            state: state.to_owned(),
            eps: Some(v.eps[k]),
            standard: at_standard.map(|s| v.err[s]),
        });
    }
    let percent = 100.0 * FD_NOISE_USELESS;
    let refused = format!("noise above {percent} % at any nudge: {}", noisy.join(", "));
    (findings, (!noisy.is_empty()).then_some(refused))
}

/// Differences of a function that is linear have next to no noise; what they are compared with is known no better than
/// the closed form agrees with it.
fn floor(noise: f64) -> f64 {
    noise.max(CLOSED_FORM)
}

/// A size of nudge by index, and the noise there; none if that is so large that differences say nothing.
fn useful(v: &VCurve, k: usize) -> Option<(usize, f64)> {
    v.noise(k).filter(|noise| *noise <= FD_NOISE_USELESS).map(|noise| (k, noise))
}

/// The nudge that differences have by default.
pub(super) fn standard_eps(centered: bool) -> f64 {
    if centered { FdConfig::centered().eps.qpos } else { FdConfig::forward().eps.qpos }
}

/// Position columns are held to the noise of centred differences at their standard nudge, the others to the
/// tolerance of the closed form.
fn hybrid(
    m: &Model,
    state: &str,
    [t, exact]: [&Transition; 2],
    curves: Option<&Convergence>,
    closed_form: f64,
) -> Vec<Finding> {
    let fd = |block: Block| block.origins(m, t).iter().any(|c| c.origin == Origin::Fd);
    let keep = |block: Block, column: usize| {
        !fd(block) || comparable(&t.columns[column], &exact.columns[column])
    };
    let mut findings = Vec::new();
    for e in compare_where(m, t, exact, keep) {
        let (tolerance, eps) = if fd(e.block) {
            let v = curves.and_then(|c| c.blocks.iter().find(|(block, _)| *block == e.block));
            let Some((_, v)) = v else { continue };
            let standard = standard_eps(true);
            let k = v.eps.iter().position(|eps| *eps == standard);
            let Some((_, noise)) = k.and_then(|k| useful(v, k)) else { continue };
            (floor(FD_NOISE_FACTOR * noise), Some(standard))
        } else {
            (closed_form, None)
        };
        findings.push(Finding {
            method: Compared::Hybrid,
            block: e.block,
            err: e.err,
            tolerance: scaled(tolerance),
            entry: [e.row, e.column],
            state: state.to_owned(),
            eps,
            standard: None,
        });
    }
    findings
}

/// Dual numbers at two states next to this one among floating-point numbers: positions and velocities changed by one
/// unit in the last place, up or down. A step differs there by its condition and its rounding errors.
fn rounding(m: &Model, d: &Data<f64>, exact: &Transition) -> Vec<(Block, f64)> {
    let mut worst: Vec<(Block, f64)> = Vec::new();
    for seed in 0..2 {
        let mut random = Random::new(seed);
        let mut near = d.clone();
        for x in near.qpos.iter_mut().chain(&mut near.qvel) {
            *x = if random.unit() < 0.5 { x.next_up() } else { x.next_down() };
        }
        let Ok(t) = mjd_transition(m, &near, &serial(Method::Dual)) else { continue };
        for e in compare_where(m, &t, exact, |_, column| differentiable(&exact.columns[column])) {
            match worst.iter_mut().find(|(block, _)| *block == e.block) {
                Some((_, err)) => *err = err.max(e.err),
                None => worst.push((e.block, e.err)),
            }
        }
    }
    worst
}

impl Entries {
    fn new(m: &Model, auto: &Transition, exact: &Transition) -> Self {
        let width = ndx(m) + m.nu;
        let closed = |columns: &[Column]| -> Vec<bool> {
            columns.iter().map(|column| column.origin == Origin::Analytic).collect()
        };
        let independent = [closed(&auto.columns), closed(&auto.sensor_columns)];
        let mut errors = vec![0.0; (ndx(m) + m.nsensordata) * width];
        for block in Block::all(m) {
            let (x, r) = (block.view(m, auto), block.view(m, exact));
            let scale = r.iter().fold(1.0_f64, |s, r| s.max(r.abs()));
            let (rows, columns) = (block.rows(m), block.columns(m));
            let kept = &independent[usize::from(block.of == Output::Sensor)];
            for (((i, k), x), r) in x.indexed_iter().zip(r) {
                let column = columns.start + k;
                if kept[column] {
                    let err = (x - r).abs() / scale;
                    let err = if err.is_finite() { err } else { f64::INFINITY };
                    errors[(rows.start + i) * width + column] = err;
                }
            }
        }
        Self { width, errors, independent }
    }

    /// Largest error of each row and of each column, of the rows of [A B] or of [C D].
    pub(super) fn margins(&self, m: &Model, output: Output) -> (Vec<f64>, Vec<f64>) {
        let states = ndx(m);
        let rows =
            if output == Output::Sensor { states..states + m.nsensordata } else { 0..states };
        let (mut by_row, mut by_column) = (Vec::new(), vec![0.0_f64; self.width]);
        for i in rows {
            let row = &self.errors[i * self.width..(i + 1) * self.width];
            by_row.push(row.iter().copied().fold(0.0, f64::max));
            for (worst, err) in by_column.iter_mut().zip(row) {
                *worst = worst.max(*err);
            }
        }
        (by_row, by_column)
    }

    /// Takes over what is larger elsewhere.
    pub(super) fn raise(&mut self, other: &Self) {
        for (x, y) in self.errors.iter_mut().zip(&other.errors) {
            *x = x.max(*y);
        }
        for (mine, theirs) in self.independent.iter_mut().zip(&other.independent) {
            for (x, y) in mine.iter_mut().zip(theirs) {
                *x |= y;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derivatives::report::Verdict;
    use crate::derivatives::states::states;
    use dualstep::mjcf::load_model_str;

    const ARM: &str = r#"
    <mujoco>
      <worldbody>
        <body>
          <joint name="shoulder" type="ball" damping=".1"/>
          <geom type="capsule" fromto="0 0 0 0 0 -1" size=".05"/>
          <body pos="0 0 -1">
            <joint name="elbow" axis="0 1 .2" stiffness="1"/>
            <geom type="capsule" fromto="0 0 0 .1 0 -1" size=".05"/>
          </body>
        </body>
      </worldbody>
      <actuator><motor name="push" joint="elbow" ctrlrange="-1 1"/></actuator>
      <sensor><framepos name="tip" objtype="body" objname="world"/></sensor>
    </mujoco>"#;

    fn arm() -> (Model, State) {
        let m = load_model_str(ARM, "arm.xml", std::path::Path::new(".")).unwrap();
        let state = states(&m, 3, 1).pop().unwrap();
        (m, state)
    }

    fn verdicts(findings: &[Finding], verdict: Verdict) -> Vec<String> {
        findings.iter().filter(|f| f.verdict() == verdict).map(|f| f.block.to_string()).collect()
    }

    #[test]
    fn all_methods_agree() {
        let (m, state) = arm();
        let sample = Sample::new(&m, &state, Depth::Full).unwrap();
        let failed = verdicts(&sample.findings, Verdict::Fail);
        assert!(failed.is_empty() && sample.refused.is_empty(), "{failed:?}");
        for method in Compared::ALL {
            assert!(sample.findings.iter().any(|f| f.method == method), "{method}");
        }
        assert!(sample.rounding.iter().all(|(_, err)| *err < 1e-12));
    }

    // the report is worth something only if it can fail
    #[test]
    fn a_perturbed_entry_fails_in_its_block_only() {
        let (m, state) = arm();
        let exact = mjd_transition(&m, &state.d, &serial(Method::Dual)).unwrap();
        let mut auto = mjd_transition(&m, &state.d, &serial(Method::Auto)).unwrap();
        assert!(
            verdicts(&closed_form(&m, "s", &auto, &exact, CLOSED_FORM), Verdict::Fail).is_empty()
        );
        auto.A[[m.nv + 3, 1]] += 1e-9; // elbow.v by shoulder.rot_y.q
        let found = closed_form(&m, "s", &auto, &exact, CLOSED_FORM);
        assert_eq!(verdicts(&found, Verdict::Fail), ["∂v⁺/∂q"]);
        let failed = found.iter().find(|f| f.verdict() == Verdict::Fail).unwrap();
        assert_eq!(failed.entry, ["elbow.v", "shoulder.rot_y.q"]);
        let entries = Entries::new(&m, &auto, &exact);
        let (by_row, by_column) = entries.margins(&m, Output::Velocity);
        assert!(by_row[m.nv + 3] > 1e-11 && by_column[1] > 1e-11);
        assert!(by_row[..m.nv].iter().all(|err| *err < 1e-13));
    }

    #[test]
    fn differences_find_what_closed_form_and_dual_numbers_share() {
        let (m, state) = arm();
        let mut exact = mjd_transition(&m, &state.d, &serial(Method::Dual)).unwrap();
        exact.B[[m.nv + 3, 0]] *= 1.0 + 1e-5;
        for (method, centered) in [(Compared::Centered, true), (Compared::Forward, false)] {
            let curves =
                fd_convergence(&m, &state.d, &polished(centered), &nudges(centered), &exact)
                    .unwrap();
            let (found, noisy) = differences("s", method, &curves);
            assert_eq!(noisy, None);
            assert_eq!(verdicts(&found, Verdict::Fail), ["∂v⁺/∂u"], "{method}");
        }
    }

    #[test]
    fn what_dual_numbers_do_not_know_is_withdrawn_and_said() {
        let (m, state) = arm();
        let mut sample = Sample::new(&m, &state, Depth::Full).unwrap();
        let count = sample.findings.len();
        let closed = |f: &&mut Finding| f.method == Compared::ClosedForm;
        let f = sample.findings.iter_mut().find(closed).unwrap();
        f.err = 1e-9;
        let block = f.block;
        sample.withdraw();
        assert!(sample.findings.len() == count && !sample.ill_conditioned, "it just fails");
        sample.rounding.iter_mut().find(|(b, _)| *b == block).unwrap().1 = 2e-10;
        sample.withdraw();
        assert!(sample.findings.len() == count - 1 && sample.ill_conditioned);
        assert!(sample.refused[0].1.contains("change by 2.0e-10"), "{:?}", sample.refused);
    }

    #[test]
    fn a_hybrid_is_held_to_two_tolerances() {
        let (m, state) = arm();
        let exact = mjd_transition(&m, &state.d, &serial(Method::Dual)).unwrap();
        let mut t = mjd_transition(&m, &state.d, &serial(Method::Hybrid)).unwrap();
        let curves = fd_convergence(&m, &state.d, &polished(true), &nudges(true), &exact).unwrap();
        t.A[[m.nv, m.nv]] += 1e-10; // by velocity: exact
        let found = hybrid(&m, "s", [&t, &exact], Some(&curves), CLOSED_FORM);
        assert_eq!(verdicts(&found, Verdict::Fail), ["∂v⁺/∂v"]);
        t.A[[m.nv, 0]] += 1e-5; // by position: differences
        let found = hybrid(&m, "s", [&t, &exact], Some(&curves), CLOSED_FORM);
        assert_eq!(verdicts(&found, Verdict::Fail), ["∂v⁺/∂q", "∂v⁺/∂v"]);
    }
}
