//! Kinematic trees of given shape, for papers that count and time.

use std::fmt::Write as _;
use std::path::Path;

use dualstep::mjcf::load_model_str;
use dualstep::{Data, Model, forward};
use dualstep_validation::random_tree::Random;

use crate::studies::StudyError;

/// Radius of the ball at a tip \[m\].
const TIP: f64 = 0.03;

/// A tree of bodies, each on a hinge about an axis in general position; the first one on a free joint if the
/// tree floats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Parent of each body, smaller than its own index; none: the world.
    pub parents: Vec<Option<usize>>,
    /// A free joint instead of the first hinge.
    pub floating: bool,
}

impl Tree {
    /// A chain of `n` bodies.
    pub fn chain(n: usize) -> Self {
        Self { parents: (0..n).map(|i| i.checked_sub(1)).collect(), floating: false }
    }

    /// A balanced binary tree of `n` bodies.
    pub fn binary(n: usize) -> Self {
        let parent = |i: usize| i.checked_sub(1).map(|i| i / 2);
        Self { parents: (0..n).map(parent).collect(), floating: false }
    }

    /// Chains of `length` bodies on a common first body, `n` bodies in all: a spider.
    pub fn spider(n: usize, length: usize) -> Self {
        let parent = |i: usize| {
            let place = i.checked_sub(1)?;
            Some(if place % length == 0 { 0 } else { i - 1 })
        };
        Self { parents: (0..n).map(parent).collect(), floating: false }
    }

    /// A floating humanoid: legs of six hinges, arms, a torso between them, and a head of two hinges.
    pub fn humanoid(torso: usize, arm: usize) -> Self {
        let mut parents = vec![None];
        let mut limb = |from: usize, length: usize| {
            let first = parents.len();
            parents.extend((0..length).map(|k| Some(if k == 0 { from } else { first + k - 1 })));
            parents.len() - 1
        };
        limb(0, 6);
        limb(0, 6);
        let chest = limb(0, torso);
        limb(chest, arm);
        limb(chest, arm);
        limb(chest, 2);
        Self { parents, floating: true }
    }

    /// Number of degrees of freedom.
    pub fn nv(&self) -> usize {
        self.parents.len() + if self.floating { 5 } else { 0 }
    }

    /// The model: offsets, axes and inertias are random, but the same for the same seed. Without constraints.
    ///
    /// # Errors
    /// None for a tree whose parents are smaller than their children.
    pub fn model(&self, seed: u64) -> Result<Model, StudyError> {
        let option = "<option><flag constraint=\"disable\"/></option>";
        Ok(load_model_str(&self.text(seed, option, "", ""), "tree.xml", Path::new("."))?)
    }

    /// The same with constraints, and a ball at each tip that presses, by a millimeter, on a box of its own in the world.
    ///
    /// # Errors
    /// None for a tree whose parents are smaller than their children.
    pub fn touching(&self, seed: u64) -> Result<Model, StudyError> {
        let load = |boxes: &str, pairs: &str| {
            load_model_str(&self.text(seed, "", boxes, pairs), "tree.xml", Path::new("."))
        };
        let free = load("", "")?;
        let mut d = Data::<f64>::new(&free);
        forward(&free, &mut d)?;
        let (mut boxes, mut pairs) = (String::new(), String::new());
        for (name, at) in free.names.geom.iter().zip(&d.geom_xpos) {
            let [x, y, z] = [at.x, at.y, at.z - TIP - 0.05 + 0.001];
            // writing to a string cannot fail
            let _ = write!(
                boxes,
                "<geom name=\"under {name}\" type=\"box\" size=\".2 .2 .05\" pos=\"{x} {y} {z}\" \
                 contype=\"0\" conaffinity=\"0\"/>"
            );
            let _ = write!(pairs, "<pair geom1=\"{name}\" geom2=\"under {name}\"/>");
        }
        Ok(load(&boxes, &pairs)?)
    }

    fn text(&self, seed: u64, option: &str, world: &str, pairs: &str) -> String {
        let mut random = Random::new(seed);
        let mut bodies = String::new();
        for root in self.children(None) {
            self.write(root, &mut random, &mut bodies);
        }
        format!(
            "<mujoco><compiler angle=\"radian\"/>{option}<worldbody>{world}{bodies}</worldbody>\
             <contact>{pairs}</contact></mujoco>"
        )
    }

    fn children(&self, of: Option<usize>) -> impl Iterator<Item = usize> {
        self.parents.iter().enumerate().filter(move |(_, p)| **p == of).map(|(i, _)| i)
    }

    fn write(&self, body: usize, random: &mut Random, text: &mut String) {
        let mut vector = |size: f64| {
            format!("{} {} {}", random.signed(size), random.signed(size), random.signed(size))
        };
        let (pos, com, axis) = (vector(0.3), vector(0.1), vector(1.0));
        let mass = 1.0 + random.unit();
        let [x, y, z] = [0; 3].map(|_| 0.005 + 0.02 * random.unit());
        let joint = if self.floating && self.parents[body].is_none() {
            "<freejoint/>".to_owned()
        } else {
            format!("<joint axis=\"{axis}\"/>")
        };
        // writing to a string cannot fail
        let _ = write!(
            text,
            "<body pos=\"{pos}\">{joint}<inertial mass=\"{mass}\" pos=\"{com}\" \
             diaginertia=\"{} {} {}\"/>",
            mass * (y + z),
            mass * (z + x),
            mass * (x + y),
        );
        if self.children(Some(body)).next().is_none() {
            let _ = write!(
                text,
                "<geom name=\"tip {body}\" size=\"{TIP}\" contype=\"0\" conaffinity=\"0\"/>"
            );
        }
        for child in self.children(Some(body)) {
            self.write(child, random, text);
        }
        text.push_str("</body>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_have_their_shapes() {
        for tree in [Tree::chain(9), Tree::binary(7), Tree::spider(7, 3), Tree::humanoid(2, 7)] {
            let m = tree.model(1).unwrap();
            assert_eq!((m.nv, m.nbody), (tree.nv(), tree.parents.len() + 1));
        }
        // arms, legs and head press on what is under them
        let m = Tree::humanoid(2, 7).touching(1).unwrap();
        let mut d = Data::<f64>::new(&m);
        forward(&m, &mut d).unwrap();
        assert_eq!((d.contact.len(), m.npair), (5, 5));
        assert!(d.contact.iter().all(|c| (c.dist + 0.001).abs() < 1e-12));
        assert_eq!(Tree::humanoid(2, 7).nv(), 36);
        assert_eq!(Tree::spider(7, 3).parents[1..], [0, 1, 2, 0, 4, 5].map(Some));
        assert_eq!(Tree::binary(4).parents, [None, Some(0), Some(0), Some(1)]);
    }
}
