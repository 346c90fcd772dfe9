//! Papers whose claims are put to the test: for each one a number of theirs, ours, their ratio, and a verdict.
//!
//! The folder of a paper, `papers/<year>-<author>-<slug>/`, holds what it says, our symbols for theirs, the
//! experiment and its configuration, and what a run gave. `dualstep paper <slug>` runs it.

/// The constant `PAPER` of a folder, from what is told apart: its name, who, when and where, and the claim.
macro_rules! paper {
    ($slug:literal, $citation:literal, $claim:literal) => {
        /// The paper.
        pub const PAPER: super::Paper = super::Paper {
            slug: $slug,
            citation: $citation,
            claim: $claim,
            config: include_str!("config.toml"),
            expected: include_str!("expected.csv"),
            run,
        };
    };
}

#[path = "../../../papers/2018-carpentier-analytical-derivatives/repro.rs"]
pub mod carpentier_2018;
#[path = "../../../papers/2008-featherstone-rbda/repro.rs"]
pub mod featherstone_2008;
#[path = "../../../papers/2024-lelidec-differentiable-simulation/repro.rs"]
pub mod lelidec_2024;
#[path = "../../../papers/2013-millard-muscle/repro.rs"]
pub mod millard_2013;
#[path = "../../../papers/2025-paulus-soft-gradients/repro.rs"]
pub mod paulus_2025;
pub mod rollout;
#[path = "../../../papers/2022-suh-policy-gradients/repro.rs"]
pub mod suh_2022;
#[path = "../../../papers/2014-todorov-convex-contact/repro.rs"]
pub mod todorov_2014;
pub mod trees;

use std::fmt::Write as _;
use std::time::Instant;

use crate::config::Config;
use crate::findings::{Circumstances, Findings, number};
use crate::studies::{Seed, StudyError};

/// A paper.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Name on the command line, and of its folder.
    pub slug: &'static str,
    /// Who, when, what, where.
    pub citation: &'static str,
    /// What it claims, in one sentence.
    pub claim: &'static str,
    /// The configuration of the experiment, as it is built in.
    pub config: &'static str,
    /// What a run gave, as it is kept.
    pub expected: &'static str,
    /// Runs the experiment.
    pub run: fn(&Config) -> Result<Reproduction, StudyError>,
}

/// All papers.
pub const PAPERS: [Paper; 7] = [
    featherstone_2008::PAPER,
    millard_2013::PAPER,
    todorov_2014::PAPER,
    carpentier_2018::PAPER,
    suh_2022::PAPER,
    lelidec_2024::PAPER,
    paulus_2025::PAPER,
];

/// The paper of that name.
pub fn find(slug: &str) -> Option<&'static Paper> {
    PAPERS.iter().find(|paper| paper.slug == slug)
}

/// One thing that a paper says, and what we find.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// What, with its unit.
    pub what: String,
    /// Their number; none where they give none, or none that we could verify.
    pub theirs: Option<f64>,
    /// Our number.
    pub ours: f64,
    /// Our numbers that reproduce the claim: from, to.
    pub accepted: [f64; 2],
    /// Another run, at reduced size, gives our number up to this factor: 1 for what is counted, infinite for what
    /// is timed and depends on the machine and its load.
    pub factor: f64,
}

impl Claim {
    /// Something that is measured: another run gives it up to a factor of 1.1.
    fn measured(
        what: impl Into<String>,
        theirs: Option<f64>,
        ours: f64,
        accepted: [f64; 2],
    ) -> Self {
        Self { what: what.into(), theirs, ours, accepted, factor: 1.1 }
    }

    /// Something that is timed.
    fn timed(what: &str, theirs: Option<f64>, ours: f64, accepted: [f64; 2]) -> Self {
        Self::measured(what, theirs, ours, accepted).up_to(f64::INFINITY)
    }

    /// Something that is counted: theirs exactly, or not at all.
    fn counted(what: impl Into<String>, theirs: f64, ours: f64) -> Self {
        Self::measured(what, Some(theirs), ours, [theirs, theirs]).up_to(1.0)
    }

    /// Another run gives our number up to this factor.
    fn up_to(self, factor: f64) -> Self {
        Self { factor, ..self }
    }

    /// Whether our number reproduces theirs.
    pub fn verdict(&self) -> &'static str {
        let [from, to] = self.accepted;
        if (from..=to).contains(&self.ours) { "reproduced" } else { "did not reproduce" }
    }
}

/// What the experiment of a paper finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Reproduction {
    /// Claims, and what became of them.
    pub claims: Vec<Claim>,
    /// Tables and figure.
    pub findings: Findings,
}

impl Paper {
    /// The built-in configuration.
    pub fn default_config(&self) -> Config {
        Config::new(format!("{}/config.toml", self.slug), self.config)
    }

    /// Runs its experiment, and says where and how it was run.
    ///
    /// # Errors
    /// If the configuration is wrong, or a step fails.
    pub fn run_here(&self, config: &Config) -> Result<(Circumstances, Reproduction), StudyError> {
        let Seed { seed } = config.read()?;
        let begin = Instant::now();
        let reproduction = (self.run)(config)?;
        let time_s = begin.elapsed().as_secs_f64();
        Ok((Circumstances::new(self.slug, config, seed, time_s), reproduction))
    }
}

/// Columns of `expected.csv`.
const HEADER: &str = "claim,theirs,ours,from,to,factor";

/// Claims as comma-separated values.
pub fn csv(claims: &[Claim]) -> String {
    let mut text = HEADER.to_owned() + "\n";
    for Claim { what, theirs, ours, accepted: [from, to], factor } in claims {
        let theirs = theirs.map(|x| x.to_string()).unwrap_or_default();
        // writing to a string cannot fail
        let _ = writeln!(text, "\"{what}\",{theirs},{ours:.6e},{from},{to},{factor}");
    }
    text
}

/// Claims that [`csv`] wrote; none if it is no such text.
pub fn read_csv(text: &str) -> Option<Vec<Claim>> {
    let mut lines = text.lines();
    if lines.next()? != HEADER {
        return None;
    }
    let claim = |line: &str| {
        let (what, numbers) = line.strip_prefix('"')?.split_once("\",")?;
        let [theirs, ours, from, to, factor] = numbers.split(',').collect::<Vec<_>>()[..] else {
            return None;
        };
        Some(Claim {
            what: what.to_owned(),
            theirs: theirs.parse().ok(),
            ours: ours.parse().ok()?,
            accepted: [from.parse().ok()?, to.parse().ok()?],
            factor: factor.parse().ok()?,
        })
    };
    lines.map(claim).collect()
}

/// The table of a paper's page: theirs, ours, ratio, verdict.
pub fn markdown(claims: &[Claim]) -> String {
    let mut text = "| | theirs | ours | ratio | verdict |\n|---|---|---|---|---|\n".to_owned();
    for claim in claims {
        let theirs = claim.theirs.unwrap_or(f64::NAN);
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            claim.what,
            number(theirs),
            number(claim.ours),
            number(claim.ours / theirs),
            claim.verdict(),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_survive_a_round_trip() {
        let claims = vec![
            Claim {
                what: "time of a step, arm [µs]".to_owned(),
                theirs: Some(3.0),
                ours: 4.5,
                accepted: [0.0, 6.0],
                factor: 4.0,
            },
            Claim {
                what: "no number".to_owned(),
                theirs: None,
                ours: 2e-16,
                accepted: [0.0, 1e-16],
                factor: 1.0,
            },
        ];
        assert_eq!(read_csv(&csv(&claims)).unwrap(), claims);
        assert_eq!(read_csv("claim\n"), None);
        let table = markdown(&claims);
        assert!(table.contains("| time of a step, arm [µs] | 3.00 | 4.50 | 1.50 | reproduced |"));
        assert!(table.contains("| no number | – | 2.0e−16 | – | did not reproduce |"));
    }
}
