//! The kinematic tree, drawn with lines.

use dualstep::Model;
use dualstep::model::{JointType, WORLD};
use dualstep_derivatives::tangent::object_name;

/// A body as a line of the drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeLine {
    /// Branches that lead to the body, such as `│  └─ `.
    pub branch: String,
    /// Name of the body, or `body3`.
    pub body: String,
    /// Joints with their kind, such as `knee hinge`; `mocap` for a mocap body; empty if fixed to its parent.
    pub joints: Vec<String>,
    /// Mass of the body \[kg\].
    pub mass: f64,
    /// Number of geoms.
    pub geoms: usize,
}

/// The tree below the world, parents before children.
pub fn tree(m: &Model) -> Vec<TreeLine> {
    let mut children = vec![Vec::new(); m.nbody];
    for b in m.bodies_base_to_tip() {
        children[m.body_parentid[b]].push(b);
    }
    let mut lines = Vec::with_capacity(m.nbody);
    // depth first, on a stack of our own: trees may be deep
    let mut open = vec![(WORLD, String::new(), String::new())];
    while let Some((b, branch, below)) = open.pop() {
        lines.push(line(m, b, branch));
        for (k, child) in children[b].iter().enumerate().rev() {
            let last = k + 1 == children[b].len();
            let (tick, rest) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            open.push((*child, format!("{below}{tick}"), format!("{below}{rest}")));
        }
    }
    lines
}

fn line(m: &Model, b: usize, branch: String) -> TreeLine {
    let mut joints: Vec<String> = m
        .body_joints(b)
        .map(|j| {
            let kind = joint_kind(m.jnt_type[j]);
            match m.names.joint[j].as_str() {
                "" => kind.to_owned(),
                name => format!("{name} {kind}"),
            }
        })
        .collect();
    if m.body_mocapid[b].is_some() {
        joints.push("mocap".to_owned());
    }
    TreeLine {
        branch,
        body: object_name(&m.names.body, b, "body"),
        joints,
        mass: m.body_mass[b],
        geoms: m.body_geomnum[b],
    }
}

/// Name of a joint's type in MJCF.
pub fn joint_kind(kind: JointType) -> &'static str {
    match kind {
        JointType::Free => "free",
        JointType::Ball => "ball",
        JointType::Slide => "slide",
        JointType::Hinge => "hinge",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dualstep::mjcf::load_model_str;

    #[test]
    fn branches_are_drawn() {
        let xml = r#"<mujoco><worldbody>
            <body name="a"><freejoint name="root"/><geom size="1"/>
              <body name="b"><joint/><geom size="1"/><body name="c"><geom size="1"/></body></body>
              <body name="d"><joint name="x" type="slide"/><joint name="y"/><geom size="1"/></body>
            </body>
            <body mocap="true"/>
          </worldbody></mujoco>"#;
        let m = load_model_str(xml, "tree.xml", std::path::Path::new(".")).unwrap();
        let drawn: Vec<String> = tree(&m)
            .iter()
            .map(|l| format!("{}{} {}", l.branch, l.body, l.joints.join(", ")).trim().to_owned())
            .collect();
        assert_eq!(
            drawn,
            [
                "world",
                "├─ a root free",
                "│  ├─ b hinge",
                "│  │  └─ c",
                "│  └─ d x slide, y hinge",
                "└─ body5 mocap",
            ]
        );
    }
}
