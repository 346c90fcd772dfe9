//! The compiler: from the specification, as written, to the [`Model`].
//!
//! ```text
//! Spec ── tree ──> nodes ── asset, body ──> bodies ── fuse ──> bodies ── kinematic, … ──> Model
//!        frames dissolved   poses, masses            static merged       names to indices
//! ```
//!
//! Everything that only needs numbers of the file is done here. What needs the model in its reference
//! configuration (inverse weights, lengths, poses between bodies) comes last, from `set_const`.
//!
//! Source: MuJoCo `mjCModel::Compile`, `user_model.cc` and `user_objects.cc`; its manual, *XML reference*.

pub mod actuator;
pub mod asset;
pub mod body;
pub mod contact;
pub mod context;
pub mod convert;
pub mod derived;
pub mod equality;
pub mod fuse;
pub mod geom;
pub mod hfield;
pub mod inertia;
pub mod joint;
pub mod keyframe;
pub mod kinematic;
pub mod names;
pub mod option;
pub mod orientation;
pub mod pose;
pub mod primitive;
pub mod reference;
pub mod sensor;
pub mod site_camera;
pub mod tendon;
pub mod tree;
pub mod unsupported;

use std::path::Path;

use super::error::MjcfError;
use super::spec::{BodyChild, Spec};
use super::xml::Sources;
use crate::model::Model;

use asset::Assets;
use context::Context;
use names::Indices;
use tree::Tree;

/// Compiles a specification that was read from `sources`; `dir` is the directory of the main file, under
/// which assets are looked for.
///
/// What only the model in its reference configuration tells (inverse weights, lengths, relative poses,
/// statistics) is written last, by [`reference::finish`].
///
/// # Errors
/// The first thing that makes no model, with its place in the text.
pub fn compile(sources: &Sources, dir: &Path, spec: &Spec) -> Result<Model, MjcfError> {
    let ctx = Context { sources, dir, spec };
    let mut m = Model::default();
    option::write(&ctx, &mut m)?;

    let tree = Tree::new(&ctx)?;
    let mut names = Indices::new(&ctx, &tree)?;
    let mut assets = Assets::new(&ctx, &names, &tree)?;
    let bodies = body::compile(&ctx, &names, &assets, &tree)?;
    let mut bodies = fuse::fuse_static(&ctx, &tree, bodies)?;
    fuse::discard_visual(&ctx, &mut bodies, &mut assets)?;

    let mesh_ids = assets.mesh_ids();
    names.update(&bodies);
    names.mesh.renumber(&mesh_ids);
    assets.write(&ctx, &mut m);
    kinematic::write(&ctx, &names, &bodies, &mesh_ids, &mut m)?;
    contact::write(&ctx, &names, &mut m)?;
    tendon::write(&ctx, &names, &mut m)?;
    equality::write(&ctx, &names, &mut m)?;
    actuator::write(&ctx, &names, &mut m)?;
    let cameras = bodies.iter().flat_map(|b| &b.cameras);
    let resolutions: Vec<[i32; 2]> = cameras.map(|c| c.spec.resolution).collect();
    sensor::write(&ctx, &names, &resolutions, &mut m)?;
    derived::derive(&ctx, &bodies, &mut m)?;
    keyframe::write(&ctx, &mut m)?;
    option::write_custom(&ctx, &mut m)?;
    unsupported::write(&ctx, &mut m);

    // sized now, computed at qpos0
    m.body_invweight0 = vec![[0.0; 2]; m.nbody];
    m.dof_invweight0 = vec![0.0; m.nv];
    m.dof_M0 = vec![0.0; m.nv];
    m.dof_length = vec![0.0; m.nv];
    reference::finish(&ctx, &mut m)?;
    Ok(m)
}

/// Time constant \[s\] and damping ratio of each joint (njnt); zeros where stiffness and damping stay as
/// they are. Both follow from the inertia at qpos0, which `set_const` knows.
pub fn springdamper(spec: &Spec) -> Vec<[f64; 2]> {
    fn collect(children: &[BodyChild], own: &mut Vec<[f64; 2]>, later: &mut Vec<[f64; 2]>) {
        for child in children {
            match child {
                BodyChild::Joint(joint) => own.push(joint.springdamper),
                BodyChild::Frame(frame) => collect(&frame.children, own, later),
                BodyChild::Body(body) => {
                    // depth first: this body's joints, then those of its descendants
                    let (mut joints, mut below) = (vec![], vec![]);
                    collect(&body.children, &mut joints, &mut below);
                    later.append(&mut joints);
                    later.append(&mut below);
                }
                BodyChild::Geom(_)
                | BodyChild::Site(_)
                | BodyChild::Camera(_)
                | BodyChild::Light(_) => {}
            }
        }
    }
    let (mut joints, mut below) = (vec![], vec![]);
    collect(&spec.worldbody.children, &mut joints, &mut below);
    joints.append(&mut below);
    joints
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use nalgebra::Vector3;

    use crate::mjcf::{MjcfErrorKind, load_model_str};
    use crate::model::{Model, SameFrame};

    fn load(inside: &str) -> Model {
        let xml = format!("<mujoco>{inside}</mujoco>");
        load_model_str(&xml, "m.xml", Path::new("/nowhere")).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Element and message, without the place.
    fn refusal(inside: &str) -> String {
        let xml = format!("<mujoco>{inside}</mujoco>");
        let error = load_model_str(&xml, "m.xml", Path::new("/nowhere")).unwrap_err();
        format!("<{}> {}", error.element(), error.message())
    }

    // the body's frame turned by 90° about z, and a frame inside that shifts along the new x
    #[test]
    fn frames_are_dissolved() {
        let m = load(
            "<worldbody><frame pos='1 0 0' euler='0 0 90'><body pos='1 0 0'><joint type='slide' \
             axis='1 0 0'/><frame pos='0 0 1' euler='0 90 0'><geom size='.1' pos='1 0 0'/>\
             </frame></body></frame></worldbody>",
        );
        assert!((m.body_pos[1] - Vector3::new(1.0, 1.0, 0.0)).norm() < 1e-15);
        assert!(m.geom_pos[0].norm() < 1e-15);
        assert!((m.body_quat[1].rotate(&Vector3::x()) - Vector3::y()).norm() < 1e-15);
    }

    // bodies depth first: a, its child, then b; geoms by body
    #[test]
    fn order_is_depth_first() {
        let m = load(
            "<worldbody><body name='a'><body name='a1'><geom size='1' name='g2'/></body>\
             <geom size='1' name='g1'/></body><body name='b'><geom size='1' name='g3'/></body>\
             <geom size='1' name='g0'/></worldbody>",
        );
        assert_eq!(m.names.body, ["world", "a", "a1", "b"]);
        assert_eq!(m.names.geom, ["g0", "g1", "g2", "g3"]);
    }

    // two balls of 1 kg at ±1 on x: 2 kg, moments 2·0.4·0.01 and that plus 2
    #[test]
    fn inertia_from_geoms() {
        let m = load(
            "<worldbody><body><freejoint/><geom size='.1' mass='1' pos='1 0 0'/>\
             <geom size='.1' mass='1' pos='-1 0 0'/></body></worldbody>",
        );
        assert_eq!(m.body_mass[1], 2.0);
        assert!((m.body_inertia[1] - Vector3::new(2.008, 2.008, 0.008)).norm() < 1e-14);
        assert_eq!(m.body_sameframe[1], SameFrame::None);
    }

    #[test]
    fn unknown_names_come_with_the_nearest() {
        let xml = "<mujoco><worldbody><body><joint name='left_knee'/><geom size='1'/></body>\
                   </worldbody><actuator><motor joint='left_kne'/></actuator></mujoco>";
        let error = load_model_str(xml, "m.xml", Path::new("/nowhere")).unwrap_err();
        assert_eq!(error.to_string(), "m.xml:1:110: <motor> there is no joint `left_kne`");
        assert_eq!(error.kind(), MjcfErrorKind::UnknownName);
        assert_eq!(error.help_text(), Some("did you mean `left_knee`?"));
    }

    #[test]
    fn what_makes_no_model_is_refused() {
        let body = |inside: &str| refusal(&format!("<worldbody><body>{inside}</body></worldbody>"));
        assert_eq!(body("<joint/>"), "<body> mass and inertia of a moving body must be positive");
        assert_eq!(
            body("<joint axis='0 0 0'/><geom size='1'/>"),
            "<joint> the axis is too small to have a direction"
        );
        assert_eq!(
            body("<joint range='1 0' limited='true'/><geom size='1'/>"),
            "<joint> range[0] must be smaller than range[1]"
        );
        assert_eq!(
            body("<geom name='a' size='1'/><geom name='a' size='1'/>"),
            "<geom> the name `a` is already that of another geom"
        );
        assert_eq!(body("<geom type='box' size='1'/>"), "<geom> size[1] must be positive, found 0");
        assert_eq!(
            body("<inertial pos='0 0 0' mass='1' diaginertia='1 1 3'/>"),
            "<inertial> inertia must satisfy A + B >= C, found 1, 1, 3"
        );
        assert!(body("<geom type='mesh' mesh='m'/>").contains("there is no mesh `m`"));
        assert!(body("<freejoint/><joint/><geom size='1'/>").contains("degrees of freedom"));
        assert!(body("<geom size='1' mass='-1'/>").contains("cannot be negative"));
    }

    #[test]
    fn fluids_and_missing_meshes_are_named() {
        assert_eq!(
            refusal("<option density='1.2'/>"),
            "<option> fluid forces (density is not 0) are not supported"
        );
        let missing = refusal(
            "<compiler meshdir='stl'/><asset><mesh name='a' file='b.stl'/></asset>\
             <worldbody><geom type='mesh' mesh='a'/></worldbody>",
        );
        assert!(missing.starts_with("<mesh> "), "{missing}");
        assert!(missing.contains("/nowhere/stl/b.stl"), "{missing}");
    }

    // keyframes are completed from qpos0, quaternions normalized
    #[test]
    fn keyframes_are_completed() {
        let m = load(
            "<size nkey='2'/><worldbody><body pos='0 0 1'><freejoint/><geom size='1'/></body>\
             </worldbody><keyframe><key name='k' qpos='1 2 3 0 0 2 0'/></keyframe>",
        );
        assert_eq!(m.keys[0].qpos, [1.0, 2.0, 3.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(m.keys[1].qpos, [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(m.names.key, ["k", ""]);
    }

    // the welded child's mass goes to its parent, its geom too
    #[test]
    fn static_bodies_are_fused() {
        let m = load(
            "<compiler fusestatic='true'/><worldbody><body name='a'><freejoint/><geom size='.1' \
             mass='1'/><body pos='1 0 0'><geom size='.1' mass='1' name='g'/></body></body>\
             </worldbody>",
        );
        assert_eq!((m.nbody, m.body_mass[1]), (2, 2.0));
        assert_eq!(m.body_ipos[1], Vector3::new(0.5, 0.0, 0.0));
        assert_eq!(m.geom_pos[1], Vector3::x());
    }

    #[test]
    fn what_is_not_simulated_yet_is_said() {
        let m = load(
            "<worldbody><site name='s'/><geom name='g' size='.1'/></worldbody><sensor>\
             <insidesite objtype='geom' objname='g' site='s'/>\
             <insidesite objtype='geom' objname='g' site='s' enclosed='true'/>\
             <insidesite objtype='geom' objname='g' site='s' enclosed='true'/></sensor>",
        );
        assert_eq!(m.unsupported, ["2 `insidesite` sensors: values not simulated yet"]);
    }
}
