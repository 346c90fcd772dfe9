//! Stage *compile*: every array of the compiled model, and its sizes, options and names.
//!
//! A table says where in [`Model`] each of MuJoCo's arrays is. What the oracle has and the table has
//! not is infinitely wrong, so nothing is left out silently.

use dualstep::Model;
use dualstep::model::{EqType, GeomType, JointType};

use super::Differences;
use super::flat::flat;
use crate::compare::{align_quats, err, inertia_tensors};
use crate::golden::Golden;

/// Compares sizes, names, options, and every `model/*` array that the oracle has.
pub fn compare(m: &Model, golden: &Golden) -> Differences {
    let mut out = Differences::default();
    compare_sizes(m, golden, &mut out);
    compare_names(m, golden, &mut out);
    compare_options(m, golden, &mut out);
    let fields: Vec<&str> = golden.keys().filter_map(|k| k.strip_prefix("model/")).collect();
    // in the order of the table, which is that of the model; then those that are not in it
    let known = table().filter(|(name, _)| fields.contains(name));
    for (name, values) in known {
        out.push(name, None, field_err(m, name, &values(m), golden));
    }
    for name in fields.into_iter().filter(|name| table().all(|(known, _)| known != *name)) {
        out.push(name, None, f64::INFINITY);
    }
    out
}

/// Error of one array, where needed by what it means.
fn field_err(m: &Model, name: &str, ours: &[f64], golden: &Golden) -> f64 {
    let Some(theirs) = golden.flat(&format!("model/{name}")) else { return f64::INFINITY };
    if ours.len() != theirs.len() {
        return f64::INFINITY;
    }
    let mut ours = ours.to_vec();
    match name {
        // moments and axes together make the tensor
        "body_inertia" | "body_iquat" => {
            let Some(moments) = golden.flat("model/body_inertia") else { return f64::INFINITY };
            let Some(quats) = golden.flat("model/body_iquat") else { return f64::INFINITY };
            let own = inertia_tensors(&flat(&m.body_inertia), &flat(&m.body_iquat));
            return err(&own, &inertia_tensors(&moments, &quats));
        }
        "body_quat" | "site_quat" | "key_mquat" => {
            align_quats(&mut ours, &theirs, (0..theirs.len()).step_by(4));
        }
        "geom_quat" => {
            let mesh = |g: &usize| m.geom_type.get(*g) == Some(&GeomType::Mesh);
            let all = 0..theirs.len() / 4;
            align_quats(&mut ours, &theirs, all.clone().map(|g| 4 * g));
            return all.map(|g| (g, 4 * g..4 * g + 4)).fold(0.0, |worst, (g, range)| {
                let (q, r) = (&ours[range.clone()], &theirs[range]);
                let id = m.geom_dataid.get(g).copied().flatten();
                worst.max(if mesh(&g) { mesh_frame_err(m, id, q, r) } else { err(q, r) })
            });
        }
        "mesh_quat" => {
            return (0..theirs.len() / 4).fold(0.0, |worst, id| {
                let range = 4 * id..4 * id + 4;
                worst.max(mesh_frame_err(m, Some(id), &ours[range.clone()], &theirs[range]))
            });
        }
        "qpos0" | "qpos_spring" | "key_qpos" => align_qpos(m, &mut ours, &theirs),
        // a weld keeps its relative orientation in numbers 6 to 9
        "eq_data" => {
            let welds = (0..m.neq).filter(|&e| m.eq_type[e] == EqType::Weld);
            align_quats(&mut ours, &theirs, welds.map(|e| 12 * e + 6));
        }
        _ => {}
    }
    err(&ours, &theirs)
}

/// Turns the quaternions of free and ball joints, in one or more rows of `qpos`, to the reference's.
pub(super) fn align_qpos(m: &Model, ours: &mut [f64], theirs: &[f64]) {
    let rows = ours.len().checked_div(m.nq).unwrap_or(0);
    for row in 0..rows {
        let quats = (0..m.njnt).filter_map(|j| match m.jnt_type[j] {
            JointType::Free => Some(m.jnt_qposadr[j] + 3),
            JointType::Ball => Some(m.jnt_qposadr[j]),
            JointType::Slide | JointType::Hinge => None,
        });
        align_quats(ours, theirs, quats.map(|a| row * m.nq + a));
    }
}

/// A mesh's frame is that of its principal axes, of which only the inertia tensor is unique: both
/// orientations are compared by the tensor that they give to the same principal moments.
fn mesh_frame_err(m: &Model, mesh: Option<usize>, ours: &[f64], theirs: &[f64]) -> f64 {
    let moments = mesh.and_then(|id| mesh_moments(m, id)).unwrap_or([1.0, 2.0, 3.0]);
    err(&inertia_tensors(&moments, ours), &inertia_tensors(&moments, theirs))
}

/// Principal moments of a mesh as a solid, the largest of them 1: those of a box with its half sizes.
fn mesh_moments(m: &Model, mesh: usize) -> Option<[f64; 3]> {
    let [x, y, z] = m.mesh.get(mesh)?.box_size.map(|half| half * half);
    let moments = [y + z, z + x, x + y];
    let largest = moments.into_iter().fold(0.0, f64::max);
    (largest > 0.0).then(|| moments.map(|i| i / largest))
}

/// Values of one of MuJoCo's arrays, flattened.
type Values = fn(&Model) -> Vec<f64>;

/// Arrays that have the same name and layout in [`Model`] as in MuJoCo.
macro_rules! same {
    ($($field:ident)*) => { &[$((stringify!($field), |m: &Model| flat(&m.$field))),*] };
}

/// All arrays, in the order of [`Model`].
fn table() -> impl Iterator<Item = (&'static str, Values)> {
    [CONFIGURATION, BODIES, JOINTS, GEOMS, CONTACT, MESHES, TENDONS, ACTUATORS, SENSORS, KEYS]
        .into_iter()
        .flatten()
        .copied()
}

type Table = &'static [(&'static str, Values)];

const CONFIGURATION: Table = same! { qpos0 qpos_spring };

/// Where a body has no element, MuJoCo's first index is −1.
fn first(adr: &[usize], num: &[usize]) -> Vec<f64> {
    adr.iter().zip(num).map(|(&a, &n)| if n > 0 { a as f64 } else { -1.0 }).collect()
}

const BODIES: Table = &[
    ("body_parentid", |m| flat(&m.body_parentid)),
    ("body_rootid", |m| flat(&m.body_rootid)),
    ("body_weldid", |m| flat(&m.body_weldid)),
    ("body_mocapid", |m| flat(&m.body_mocapid)),
    ("body_jntnum", |m| flat(&m.body_jntnum)),
    ("body_jntadr", |m| first(&m.body_jntadr, &m.body_jntnum)),
    ("body_dofnum", |m| flat(&m.body_dofnum)),
    ("body_dofadr", |m| first(&m.body_dofadr, &m.body_dofnum)),
    ("body_treeid", |m| flat(&m.body_treeid)),
    ("body_geomnum", |m| flat(&m.body_geomnum)),
    ("body_geomadr", |m| first(&m.body_geomadr, &m.body_geomnum)),
    ("body_simple", |m| flat(&m.body_simple)),
    ("body_sameframe", |m| flat(&m.body_sameframe)),
    ("body_pos", |m| flat(&m.body_pos)),
    ("body_quat", |m| flat(&m.body_quat)),
    ("body_ipos", |m| flat(&m.body_ipos)),
    ("body_iquat", |m| flat(&m.body_iquat)),
    ("body_mass", |m| flat(&m.body_mass)),
    ("body_subtreemass", |m| flat(&m.body_subtreemass)),
    ("body_inertia", |m| flat(&m.body_inertia)),
    ("body_invweight0", |m| flat(&m.body_invweight0)),
    ("body_gravcomp", |m| flat(&m.body_gravcomp)),
    ("body_margin", |m| flat(&m.body_margin)),
    ("body_contype", |m| flat(&m.body_contype)),
    ("body_conaffinity", |m| flat(&m.body_conaffinity)),
];

const JOINTS: Table = &[
    ("jnt_type", |m| flat(&m.jnt_type)),
    ("jnt_qposadr", |m| flat(&m.jnt_qposadr)),
    ("jnt_dofadr", |m| flat(&m.jnt_dofadr)),
    ("jnt_bodyid", |m| flat(&m.jnt_bodyid)),
    ("jnt_actuatorid", |m| flat(&m.jnt_actuatorid)),
    ("jnt_group", |m| flat(&m.jnt_group)),
    ("jnt_limited", |m| flat(&m.jnt_limited)),
    ("jnt_actfrclimited", |m| flat(&m.jnt_actfrclimited)),
    ("jnt_actgravcomp", |m| flat(&m.jnt_actgravcomp)),
    ("jnt_solref", |m| flat(&m.jnt_solref)),
    ("jnt_solimp", |m| flat(&m.jnt_solimp)),
    ("jnt_pos", |m| flat(&m.jnt_pos)),
    ("jnt_axis", |m| flat(&m.jnt_axis)),
    ("jnt_stiffness", |m| flat(&m.jnt_stiffness)),
    ("jnt_stiffnesspoly", |m| flat(&m.jnt_stiffnesspoly)),
    ("jnt_springyield", |m| flat(&m.jnt_springyield)),
    // the loader refuses plastic springs, so there is no plastic state
    ("jnt_plasticadr", |m| vec![-1.0; m.njnt]),
    ("jnt_range", |m| flat(&m.jnt_range)),
    ("jnt_actfrcrange", |m| flat(&m.jnt_actfrcrange)),
    ("jnt_margin", |m| flat(&m.jnt_margin)),
    ("dof_bodyid", |m| flat(&m.dof_bodyid)),
    ("dof_jntid", |m| flat(&m.dof_jntid)),
    ("dof_parentid", |m| flat(&m.dof_parentid)),
    ("dof_treeid", |m| flat(&m.dof_treeid)),
    ("dof_Madr", |m| flat(&m.dof_Madr)),
    ("dof_simplenum", |m| flat(&m.dof_simplenum)),
    ("dof_solref", |m| flat(&m.dof_solref)),
    ("dof_solimp", |m| flat(&m.dof_solimp)),
    ("dof_frictionloss", |m| flat(&m.dof_frictionloss)),
    ("dof_armature", |m| flat(&m.dof_armature)),
    ("dof_damping", |m| flat(&m.dof_damping)),
    ("dof_dampingpoly", |m| flat(&m.dof_dampingpoly)),
    ("dof_invweight0", |m| flat(&m.dof_invweight0)),
    ("dof_M0", |m| flat(&m.dof_M0)),
    ("dof_length", |m| flat(&m.dof_length)),
    ("tree_bodyadr", |m| flat(&m.tree_bodyadr)),
    ("tree_bodynum", |m| flat(&m.tree_bodynum)),
    ("tree_dofadr", |m| flat(&m.tree_dofadr)),
    ("tree_dofnum", |m| flat(&m.tree_dofnum)),
    ("tree_sleep_policy", |m| flat(&m.tree_sleep_policy)),
];

const GEOMS: Table = same! {
    geom_type geom_contype geom_conaffinity geom_condim geom_bodyid geom_dataid geom_group
    geom_priority geom_sameframe geom_castshadow geom_solmix geom_solref geom_solimp geom_size
    geom_rbound geom_pos geom_quat geom_friction geom_margin geom_gap geom_surfacevel geom_adhesion
    geom_fluid geom_aabb
    site_type site_bodyid site_dataid site_group site_sameframe site_size site_pos site_quat
    hfield_size hfield_nrow hfield_ncol hfield_adr
};

const CONTACT: Table = same! {
    pair_dim pair_geom1 pair_geom2 pair_signature pair_solref pair_solreffriction pair_solimp
    pair_margin pair_gap pair_adhesion pair_friction exclude_signature
    eq_type eq_obj1id eq_obj2id eq_objtype eq_active0 eq_solref eq_solimp eq_data
};

const MESHES: Table = &[
    ("mesh_pos", |m| m.mesh.iter().flat_map(|mesh| mesh.pos).collect()),
    ("mesh_quat", |m| m.mesh.iter().flat_map(|mesh| mesh.quat).collect()),
    ("mesh_scale", |m| m.mesh.iter().flat_map(|mesh| mesh.scale).collect()),
    ("mesh_vertnum", |m| m.mesh.iter().map(|mesh| mesh.vert.len() as f64).collect()),
    ("mesh_facenum", |m| m.mesh.iter().map(|mesh| mesh.face.len() as f64).collect()),
];

const TENDONS: Table = &[
    ("tendon_type", |m| flat(&m.tendon_type)),
    ("tendon_adr", |m| flat(&m.tendon_adr)),
    ("tendon_num", |m| flat(&m.tendon_num)),
    ("tendon_actuatorid", |m| flat(&m.tendon_actuatorid)),
    ("tendon_group", |m| flat(&m.tendon_group)),
    ("tendon_treenum", |m| flat(&m.tendon_treenum)),
    ("tendon_treeid", |m| flat(&m.tendon_treeid)),
    ("tendon_limited", |m| flat(&m.tendon_limited)),
    ("tendon_actfrclimited", |m| flat(&m.tendon_actfrclimited)),
    ("tendon_solref_lim", |m| flat(&m.tendon_solref_lim)),
    ("tendon_solimp_lim", |m| flat(&m.tendon_solimp_lim)),
    ("tendon_solref_fri", |m| flat(&m.tendon_solref_fri)),
    ("tendon_solimp_fri", |m| flat(&m.tendon_solimp_fri)),
    ("tendon_range", |m| flat(&m.tendon_range)),
    ("tendon_actfrcrange", |m| flat(&m.tendon_actfrcrange)),
    ("tendon_margin", |m| flat(&m.tendon_margin)),
    ("tendon_stiffness", |m| flat(&m.tendon_stiffness)),
    ("tendon_stiffnesspoly", |m| flat(&m.tendon_stiffnesspoly)),
    ("tendon_damping", |m| flat(&m.tendon_damping)),
    ("tendon_dampingpoly", |m| flat(&m.tendon_dampingpoly)),
    ("tendon_armature", |m| flat(&m.tendon_armature)),
    ("tendon_frictionloss", |m| flat(&m.tendon_frictionloss)),
    ("tendon_lengthspring", |m| flat(&m.tendon_lengthspring)),
    ("tendon_springyield", |m| flat(&m.tendon_springyield)),
    ("tendon_plasticadr", |m| vec![-1.0; m.ntendon]),
    ("tendon_length0", |m| flat(&m.tendon_length0)),
    ("tendon_invweight0", |m| flat(&m.tendon_invweight0)),
    ("wrap_type", |m| flat(&m.wrap_type)),
    ("wrap_objid", |m| flat(&m.wrap_objid)),
    ("wrap_prm", |m| flat(&m.wrap_prm)),
];

const ACTUATORS: Table = same! {
    actuator_trntype actuator_dyntype actuator_gaintype actuator_biastype actuator_ctrladr
    actuator_ctrlnum actuator_ctrlspec actuator_outadr actuator_outnum actuator_actadr actuator_actnum
    actuator_trnid actuator_cranklength actuator_dynprm actuator_gainprm actuator_biasprm
    actuator_actlimited actuator_actrange actuator_actearly actuator_delay actuator_damping
    actuator_dampingpoly actuator_armature actuator_group actuator_forcelimited actuator_forcerange
    actuator_ctrllimited actuator_ctrlrange actuator_gear actuator_acc0 actuator_length0
    actuator_lengthrange
};

const SENSORS: Table = same! {
    sensor_type sensor_datatype sensor_needstage sensor_objtype sensor_objid sensor_reftype
    sensor_refid sensor_intprm sensor_dim sensor_adr sensor_cutoff sensor_noise sensor_delay
    sensor_interval
};

const KEYS: Table = &[
    ("key_time", |m| m.keys.iter().map(|k| k.time).collect()),
    ("key_qpos", |m| m.keys.iter().flat_map(|k| k.qpos.clone()).collect()),
    ("key_qvel", |m| m.keys.iter().flat_map(|k| k.qvel.clone()).collect()),
    ("key_act", |m| m.keys.iter().flat_map(|k| k.act.clone()).collect()),
    ("key_ctrl", |m| m.keys.iter().flat_map(|k| k.ctrl.clone()).collect()),
    ("key_mpos", |m| m.keys.iter().flat_map(|k| flat(&k.mpos)).collect()),
    ("key_mquat", |m| m.keys.iter().flat_map(|k| flat(&k.mquat)).collect()),
];

fn compare_sizes(m: &Model, golden: &Golden, out: &mut Differences) {
    for (name, &theirs) in &golden.header.size {
        let ours = match name.as_str() {
            "nq" => m.nq,
            "nv" => m.nv,
            "nu" => m.nu,
            "na" => m.na,
            "nbody" => m.nbody,
            "njnt" => m.njnt,
            "ngeom" => m.ngeom,
            "nsite" => m.nsite,
            "nmesh" => m.nmesh,
            "nhfield" => m.nhfield,
            // the loader refuses deformable objects
            "nflex" => 0,
            "neq" => m.neq,
            "ntendon" => m.ntendon,
            "nwrap" => m.nwrap,
            "npair" => m.npair,
            "nexclude" => m.nexclude,
            "nsensor" => m.nsensor,
            "nsensordata" => m.nsensordata,
            "nkey" => m.nkey,
            "nmocap" => m.nmocap,
            "ntree" => m.ntree,
            // other sizes are of what we have no arrays of
            _ => continue,
        };
        out.push(name, None, if ours == theirs { 0.0 } else { f64::INFINITY });
    }
}

fn compare_names(m: &Model, golden: &Golden, out: &mut Differences) {
    for (kind, theirs) in &golden.header.names {
        let ours = match kind.as_str() {
            "body" => &m.names.body,
            "joint" => &m.names.joint,
            "geom" => &m.names.geom,
            "site" => &m.names.site,
            "tendon" => &m.names.tendon,
            "actuator" => &m.names.actuator,
            "sensor" => &m.names.sensor,
            "equality" => &m.names.equality,
            "mesh" => &m.names.mesh,
            "key" => &m.names.key,
            _ => continue,
        };
        let theirs = theirs.iter().map(|name| name.as_deref().unwrap_or(""));
        let same = theirs.eq(ours.iter().map(String::as_str));
        out.push(&format!("names.{kind}"), None, if same { 0.0 } else { f64::INFINITY });
    }
}

fn compare_options(m: &Model, golden: &Golden, out: &mut Differences) {
    let o = &m.opt;
    for (name, theirs) in &golden.header.opt {
        let ours = match name.as_str() {
            "timestep" => vec![o.timestep],
            "impratio" => vec![o.impratio],
            "tolerance" => vec![o.tolerance],
            "ls_tolerance" => vec![o.ls_tolerance],
            "noslip_tolerance" => vec![o.noslip_tolerance],
            "ccd_tolerance" => vec![o.ccd_tolerance],
            "sleep_tolerance" => vec![o.sleep_tolerance],
            "gravity" => flat(&[o.gravity]),
            "wind" => flat(&[o.wind]),
            "magnetic" => flat(&[o.magnetic]),
            "density" => vec![o.density],
            "viscosity" => vec![o.viscosity],
            "o_margin" => vec![o.o_margin],
            "o_solref" => o.o_solref.to_vec(),
            "o_solimp" => o.o_solimp.to_vec(),
            "o_friction" => o.o_friction.to_vec(),
            "integrator" => vec![f64::from(o.integrator as i32)],
            "cone" => vec![f64::from(o.cone as i32)],
            "jacobian" => vec![f64::from(o.jacobian as i32)],
            "solver" => vec![f64::from(o.solver as i32)],
            "iterations" => vec![o.iterations as f64],
            "ls_iterations" => vec![o.ls_iterations as f64],
            "noslip_iterations" => vec![o.noslip_iterations as f64],
            "ccd_iterations" => vec![o.ccd_iterations as f64],
            "sdf_iterations" => vec![o.sdf_iterations as f64],
            "sdf_initpoints" => vec![o.sdf_initpoints as f64],
            "disableflags" => vec![f64::from(o.disableflags)],
            "enableflags" => vec![f64::from(o.enableflags)],
            "disableactuator" => vec![f64::from(o.disableactuator)],
            _ => continue,
        };
        out.push(&format!("opt.{name}"), None, err(&ours, &numbers(theirs)));
    }
}

/// A number, or an array of numbers; what is neither counts as not finite.
fn numbers(value: &serde_json::Value) -> Vec<f64> {
    match value {
        serde_json::Value::Array(entries) => entries.iter().flat_map(numbers).collect(),
        _ => vec![value.as_f64().unwrap_or(f64::NAN)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_index_of_nothing_is_minus_one() {
        assert_eq!(first(&[0, 0, 1], &[0, 1, 2]), [-1.0, 0.0, 1.0]);
    }

    #[test]
    fn no_array_is_listed_twice() {
        let names: Vec<_> = table().map(|(name, _)| name).collect();
        let unique: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), unique.len());
    }

    #[test]
    fn quaternions_in_qpos_have_no_sign() {
        let m = Model {
            nq: 8,
            njnt: 2,
            jnt_type: vec![JointType::Hinge, JointType::Free],
            jnt_qposadr: vec![0, 1],
            ..Model::default()
        };
        let theirs = [9.0, 1.0, 2.0, 3.0, 0.5, 0.5, 0.5, 0.5].repeat(2);
        let mut ours = theirs.clone();
        for q in &mut ours[12..] {
            *q = -*q;
        }
        align_qpos(&m, &mut ours, &theirs);
        assert_eq!(ours, theirs);
    }
}
