//! Optimizations of the model: static bodies merged into their parents, visual geoms dropped.
//!
//! Source: MuJoCo `mjs_fuseStatic`, `mjs_discardVisual` (behaviour; XML reference, `compiler`).

use std::collections::HashSet;

use crate::mjcf::error::MjcfError;
use crate::mjcf::spec::{InertiaFromGeom, ObjType, SensorType, SleepPolicy, TrnType};
use crate::model::WORLD;

use super::asset::Assets;
use super::body::Body;
use super::context::Context;
use super::inertia::{EPS, MassFrame, combine, principal_axes};
use super::pose::Pose;
use super::tree::Tree;

/// Bodies below this mass add nothing to their parents (`mjMINVAL`).
const MIN_MASS: f64 = crate::MINVAL;

/// Merges static bodies into their parents. Returns the bodies that remain, renumbered.
///
/// # Errors
/// The merged inertia is not positive definite.
pub fn fuse_static<'a>(
    ctx: &Context<'a>,
    tree: &Tree<'a>,
    mut bodies: Vec<Body<'a>>,
) -> Result<Vec<Body<'a>>, MjcfError> {
    let mut fused = vec![false; bodies.len()];
    if ctx.spec.compiler.fusestatic {
        let named = referenced_bodies(ctx, tree);
        for id in WORLD + 1..bodies.len() {
            if is_fusible(ctx, &bodies, id, &named) {
                fused[id] = true;
                fuse(ctx, &mut bodies, id)?;
            }
        }
    }
    let mut next = 0;
    let number = |fused: &bool| {
        (!fused).then(|| {
            next += 1;
            next - 1
        })
    };
    let new_id: Vec<Option<usize>> = fused.iter().map(number).collect();
    let mut kept: Vec<Body<'a>> =
        bodies.into_iter().zip(&fused).filter(|(_, f)| !**f).map(|(b, _)| b).collect();
    for body in &mut kept {
        // parents and weld roots of what remains were renamed to bodies that remain
        body.parent = new_id[body.parent].unwrap_or(WORLD);
        body.weldid = new_id[body.weldid].unwrap_or(WORLD);
    }
    Ok(kept)
}

/// Names of bodies that something in the model refers to.
fn referenced_bodies<'a>(ctx: &Context<'a>, tree: &Tree<'a>) -> HashSet<&'a str> {
    let spec = ctx.spec;
    let is_body = |t: ObjType| matches!(t, ObjType::Body | ObjType::XBody);
    let cameras = tree.nodes.iter().flat_map(|n| &n.cameras);
    let mut names: HashSet<&str> = cameras.map(|c| c.spec.targetbody.as_str()).collect();
    names.extend(tree.lights.iter().map(|l| l.targetbody.as_str()));
    for x in &spec.excludes {
        names.extend([x.bodyname1.as_str(), &x.bodyname2]);
    }
    for e in spec.equalities.iter().filter(|e| is_body(e.objtype)) {
        names.extend([e.name1.as_str(), &e.name2]);
    }
    let adhesive = spec.actuators.iter().filter(|a| a.trntype == TrnType::Body);
    names.extend(adhesive.map(|a| a.target.as_str()));
    for s in &spec.sensors {
        names.extend(is_body(s.objtype).then_some(s.objname.as_str()));
        names.extend(is_body(s.reftype).then_some(s.refname.as_str()));
    }
    for item in spec.tuples.iter().flat_map(|t| &t.items) {
        names.extend(is_body(item.objtype).then_some(item.objname.as_str()));
    }
    names
}

fn is_fusible(ctx: &Context<'_>, bodies: &[Body<'_>], id: usize, named: &HashSet<&str>) -> bool {
    let (body, parent) = (&bodies[id], &bodies[bodies[id].parent]);
    let spec = body.spec;
    let is_named = !spec.name.is_empty() && named.contains(spec.name.as_str());
    // a force sensor measures what passes between a body and its parent
    let measured = ctx.spec.sensors.iter().any(|s| {
        matches!(s.kind, SensorType::Force | SensorType::Torque)
            && body.sites.iter().any(|site| site.spec.name == s.objname)
    });
    // the world does not move, whatever acts on it
    let other_gravcomp = body.parent != WORLD
        && body.inertial.mass >= MIN_MASS
        && spec.gravcomp != parent.spec.gravcomp;
    body.joints.is_empty()
        && !spec.mocap
        && spec.fuse
        && !is_named
        && !measured
        && spec.sleep == SleepPolicy::Auto
        && !other_gravcomp
}

/// Moves mass, children and attachments of a body to its parent.
fn fuse(ctx: &Context<'_>, bodies: &mut [Body<'_>], id: usize) -> Result<(), MjcfError> {
    let (parent_id, pose, inertial) = (bodies[id].parent, bodies[id].pose, bodies[id].inertial);
    for child in bodies.iter_mut().skip(1).filter(|b| b.parent == id) {
        child.parent = parent_id;
        child.pose = pose.then(&child.pose);
    }
    let body = &mut bodies[id];
    let (mut geoms, mut sites, mut cameras) = (
        std::mem::take(&mut body.geoms),
        std::mem::take(&mut body.sites),
        std::mem::take(&mut body.cameras),
    );
    let poses = geoms.iter_mut().map(|g| &mut g.pose);
    let poses = poses.chain(sites.iter_mut().map(|s| &mut s.pose));
    for p in poses.chain(cameras.iter_mut().map(|c| &mut c.pose)) {
        *p = pose.then(p);
    }
    let parent = &mut bodies[parent_id];
    parent.geoms.append(&mut geoms);
    parent.sites.append(&mut sites);
    parent.cameras.append(&mut cameras);

    if parent_id != WORLD && inertial.mass >= MIN_MASS {
        let moved = MassFrame { frame: pose.then(&inertial.frame), ..inertial };
        let (mass, com, tensor) = combine(&[parent.inertial, moved]);
        let (quat, inertia) = principal_axes(&tensor);
        if inertia.z < EPS {
            return Err(
                ctx.invalid(parent.spec.span, "the inertia of fused bodies is not positive")
            );
        }
        parent.inertial = MassFrame { mass, frame: Pose::new(com, quat), inertia };
    }
    Ok(())
}

/// Drops geoms that only serve display, and the meshes that nothing else uses. Their part in the
/// inertia of the bodies stays.
///
/// # Errors
/// A geom with mass would be dropped although `inertiafromgeom` demands that mass comes from geoms.
pub fn discard_visual(
    ctx: &Context<'_>,
    bodies: &mut [Body<'_>],
    assets: &mut Assets,
) -> Result<(), MjcfError> {
    if !ctx.spec.compiler.discardvisual {
        return Ok(());
    }
    let spec = ctx.spec;
    let mut named: HashSet<&str> = HashSet::new();
    for pair in &spec.pairs {
        named.extend([pair.geomname1.as_str(), &pair.geomname2]);
    }
    for s in &spec.sensors {
        named.extend((s.objtype == ObjType::Geom).then_some(s.objname.as_str()));
        named.extend((s.reftype == ObjType::Geom).then_some(s.refname.as_str()));
    }
    for item in spec.tuples.iter().flat_map(|t| &t.items) {
        named.extend((item.objtype == ObjType::Geom).then_some(item.objname.as_str()));
    }
    for body in bodies.iter_mut() {
        for geom in body.geoms.iter().filter(|g| g.is_visual() && g.mass > 0.0) {
            let is_named = named.contains(geom.spec.name.as_str());
            if spec.compiler.inertiafromgeom == InertiaFromGeom::True && !is_named {
                let message = "discardvisual would drop a geom with mass, and inertiafromgeom=\"true\" \
                               forbids to keep its inertia";
                return Err(ctx.invalid(geom.spec.span, message));
            }
        }
        body.geoms.retain(|g| {
            let is_named = !g.spec.name.is_empty() && named.contains(g.spec.name.as_str());
            !g.is_visual() || is_named || g.spec.fluid_ellipsoid
        });
    }
    // a mesh stays if it is mentioned anywhere, also where only a primitive was fitted to it
    let geoms = bodies.iter().flat_map(|b| &b.geoms).map(|g| g.spec.meshname.as_str());
    let sites = bodies.iter().flat_map(|b| &b.sites).map(|s| s.spec.meshname.as_str());
    let sensed = spec.sensors.iter().filter(|s| s.objtype == ObjType::Mesh);
    let items = spec.tuples.iter().flat_map(|t| &t.items).filter(|i| i.objtype == ObjType::Mesh);
    let used: HashSet<&str> = geoms
        .chain(sites)
        .chain(sensed.map(|s| s.objname.as_str()))
        .chain(items.map(|i| i.objname.as_str()))
        .collect();
    assets.retain_meshes(|id| spec.meshes.get(id).is_some_and(|m| used.contains(m.name.as_str())));
    Ok(())
}
