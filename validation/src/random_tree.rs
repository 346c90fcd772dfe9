//! Random kinematic trees and states, for tests of identities that hold on all of them.
//!
//! The trees are what planar, single-joint, origin-anchored chains are not: axes and principal axes in
//! general position, anchors away from the body's origin, several joints on a body, branches, balls
//! under hinges, free bodies anywhere below the world.

use std::fmt::Write as _;

use dualstep::model::JointType;
use dualstep::{Data, Model};

/// What a random tree has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, not states")]
pub struct TreeOptions {
    /// Number of bodies, the world not counted.
    pub bodies: usize,
    /// A free joint at the root of every tree, so that nothing is held by the world.
    pub floating: bool,
    /// Springs.
    pub springs: bool,
    /// Dampers.
    pub dampers: bool,
    /// Armature.
    pub armature: bool,
    /// Gravity.
    pub gravity: bool,
}

/// MJCF text of a random tree; the same seed gives the same tree. Quaternions are unit, inertias obey the
/// triangle inequality.
pub fn random_tree(seed: u64, options: &TreeOptions) -> String {
    let mut random = Random::new(seed);
    // children of each body; 0 is the world
    let mut children = vec![Vec::new(); options.bodies + 1];
    for body in 1..=options.bodies {
        // a floating tree is one tree
        let first = usize::from(options.floating && body > 1);
        children[first + random.below(body - first)].push(body);
    }
    let gravity = if options.gravity { random.vector(9.0) } else { "0 0 0".into() };
    let mut text =
        format!("<mujoco>\n<compiler angle=\"radian\"/>\n<option gravity=\"{gravity}\"/>\n");
    text.push_str("<worldbody>\n");
    for &body in &children[0] {
        write_body(body, &children, options, &mut random, &mut text);
    }
    text.push_str("</worldbody>\n</mujoco>\n");
    text
}

fn write_body(
    body: usize,
    children: &[Vec<usize>],
    options: &TreeOptions,
    random: &mut Random,
    text: &mut String,
) {
    let top = children[0].contains(&body);
    // writing to a string cannot fail
    let _ = writeln!(
        text,
        "<body name=\"b{body}\" pos=\"{}\" quat=\"{}\">",
        random.vector(0.5),
        random.quat_text()
    );
    // principal moments of a solid with these mean squares of its coordinates
    let mass = 0.5 + random.unit();
    let [x, y, z] = [0; 3].map(|_| 0.01 + 0.05 * random.unit());
    let _ = writeln!(
        text,
        "<inertial mass=\"{mass}\" pos=\"{}\" quat=\"{}\" diaginertia=\"{} {} {}\"/>",
        random.vector(0.2),
        random.quat_text(),
        mass * (y + z),
        mass * (z + x),
        mass * (x + y)
    );
    for kind in joints(top, options, random) {
        let _ = writeln!(text, "<joint {}/>", joint(kind, options, random));
    }
    for &child in &children[body] {
        write_body(child, children, options, random, text);
    }
    text.push_str("</body>\n");
}

/// Joints of a body, in MuJoCo's spelling: a free joint stands alone, a ball comes last.
fn joints(top: bool, options: &TreeOptions, random: &mut Random) -> &'static [&'static str] {
    if top && options.floating {
        return &["free"];
    }
    match random.below(8) {
        0 if top => &["free"],
        0 | 1 => &["ball"],
        2 => &["slide"],
        3 => &["hinge", "hinge"],
        4 => &["slide", "hinge"],
        5 => &["hinge", "slide", "hinge"],
        _ => &["hinge"],
    }
}

/// Attributes of a joint.
fn joint(kind: &str, options: &TreeOptions, random: &mut Random) -> String {
    let mut text = format!("type=\"{kind}\"");
    if kind == "free" {
        return text;
    }
    let _ = write!(text, " pos=\"{}\"", random.vector(0.3));
    if kind != "ball" {
        let _ = write!(text, " axis=\"{}\" ref=\"{}\"", random.vector(1.0), random.signed(0.5));
        if options.springs {
            let _ = write!(text, " springref=\"{}\"", random.signed(0.5));
        }
    }
    for (wanted, name) in [
        (options.springs, "stiffness"),
        (options.dampers, "damping"),
        (options.armature, "armature"),
    ] {
        if wanted {
            let _ = write!(text, " {name}=\"{}\"", 0.1 + random.unit());
        }
    }
    text
}

/// Sets random positions, velocities and applied forces; orientations are uniform.
pub fn random_state(seed: u64, m: &Model, d: &mut Data<f64>) {
    let mut random = Random::new(seed ^ 0x5DEE_CE66_D1CE_4E5B);
    for q in &mut d.qpos {
        *q = random.signed(1.0);
    }
    for j in 0..m.njnt {
        let adr = match m.jnt_type[j] {
            JointType::Free => m.jnt_qposadr[j] + 3,
            JointType::Ball => m.jnt_qposadr[j],
            JointType::Slide | JointType::Hinge => continue,
        };
        d.qpos[adr..adr + 4].copy_from_slice(&random.quat());
    }
    for x in d.qvel.iter_mut().chain(&mut d.qfrc_applied).chain(&mut d.ctrl) {
        *x = random.signed(1.0);
    }
}

/// SplitMix64: a small generator that gives the same numbers on every machine.
///
/// Source: Steele, Lea, Flood 2014, fig. 19.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Generator with a seed; any number will do.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        // 53 bits are exact in f64
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in [−size, size).
    pub fn signed(&mut self, size: f64) -> f64 {
        size * (2.0 * self.unit() - 1.0)
    }

    /// Uniform in 0..n; 0 for n = 0.
    pub fn below(&mut self, n: usize) -> usize {
        (0..n).rev().find(|&k| self.unit() * (k as f64 + 1.0) < 1.0).unwrap_or(0)
    }

    /// A uniform rotation (w, x, y, z). Source: Shoemake 1992, uniform random rotations.
    pub fn quat(&mut self) -> [f64; 4] {
        let (r, tau) = (self.unit(), std::f64::consts::TAU);
        let (a, b) = (tau * self.unit(), tau * self.unit());
        let (s, c) = ((1.0 - r).sqrt(), r.sqrt());
        [c * b.cos(), s * a.sin(), s * a.cos(), c * b.sin()]
    }

    fn quat_text(&mut self) -> String {
        let [w, x, y, z] = self.quat();
        format!("{w} {x} {y} {z}")
    }

    fn vector(&mut self, size: f64) -> String {
        format!("{} {} {}", self.signed(size), self.signed(size), self.signed(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: TreeOptions = TreeOptions {
        bodies: 8,
        floating: false,
        springs: true,
        dampers: true,
        armature: true,
        gravity: true,
    };

    #[test]
    fn the_seed_decides() {
        assert_eq!(random_tree(7, &OPTIONS), random_tree(7, &OPTIONS));
        assert_ne!(random_tree(7, &OPTIONS), random_tree(8, &OPTIONS));
    }

    // first outputs for seed 1234567, from the authors' reference implementation
    #[test]
    fn generator_is_the_published_one() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_are_in_range() {
        let mut random = Random::new(1);
        let mut counts = [0; 5];
        for _ in 0..1000 {
            counts[random.below(5)] += 1;
            let q = random.quat();
            assert!((q.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-14);
            assert!((0.0..1.0).contains(&random.unit()));
        }
        assert!(counts.iter().all(|n| (150..250).contains(n)), "{counts:?}");
    }

    #[test]
    fn a_floating_tree_is_one_tree() {
        for seed in 0..20 {
            let text = random_tree(seed, &TreeOptions { floating: true, ..OPTIONS });
            assert_eq!(text.matches("type=\"free\"").count(), 1);
            assert_eq!(text.matches("<body ").count(), 8);
        }
    }
}
