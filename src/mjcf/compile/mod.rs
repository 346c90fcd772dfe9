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

/// Time constant [s] and damping ratio of each joint (njnt); zeros where stiffness and damping stay as
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
