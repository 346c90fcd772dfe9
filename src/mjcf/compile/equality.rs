//! Equality constraints: names to indices, numbers in MuJoCo's layout.

use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{EqualitySpec, EqualityType, ObjType};
use crate::model::{self, JointType, Model, WORLD};

use super::context::Context;
use super::convert;
use super::names::Indices;

/// Where a weld's relative orientation stands in `eq_data`.
const WELD_QUAT: std::ops::Range<usize> = 6..10;

/// Marks a weld whose relative pose is to be taken from qpos0.
const WELD_AUTO: usize = 11;

/// Writes all constraints in file order.
///
/// `eq_data` keeps what the file gives. Left to `set_const`, from the poses at qpos0: the anchor of a
/// `connect` in the second body (3..6), and the relative pose (3..10) of welds with `eq_data[11] = 1`.
///
/// # Errors
/// Unknown names, joints that are not scalar, an object constrained to itself.
pub fn write(ctx: &Context<'_>, names: &Indices<'_>, m: &mut Model) -> Result<(), MjcfError> {
    for spec in &ctx.spec.equalities {
        let (id1, id2) = objects(ctx, names, spec)?;
        if spec.kind == EqualityType::Joint {
            check_scalar(ctx, spec, id1, id2, m)?;
        }
        // only connect and weld have a choice
        let objtype = match spec.objtype {
            ObjType::Body => model::ObjType::Body,
            ObjType::Site => model::ObjType::Site,
            _ => model::ObjType::Unknown,
        };
        m.names.equality.push(spec.name.clone());
        m.eq_type.push(convert::eq_type(spec.kind));
        m.eq_obj1id.push(id1);
        m.eq_obj2id.push(id2);
        m.eq_objtype.push(objtype);
        m.eq_active0.push(spec.active);
        m.eq_solref.push(spec.solref);
        m.eq_solimp.push(spec.solimp);
        m.eq_data.push(numbers(spec));
    }
    m.neq = m.eq_type.len();
    Ok(())
}

/// Parameters as the model stores them, before the poses at qpos0 are known.
fn numbers(spec: &EqualitySpec) -> [f64; 12] {
    let mut data = spec.data;
    let on_sites = spec.objtype == ObjType::Site;
    match spec.kind {
        // between sites nothing is left to say
        EqualityType::Connect if on_sites => data = [0.0; 12],
        EqualityType::Weld if !on_sites => {
            let norm = data[WELD_QUAT].iter().map(|x| x * x).sum::<f64>().sqrt();
            if norm == 0.0 {
                data[WELD_AUTO] = 1.0;
            } else {
                data[WELD_QUAT].iter_mut().for_each(|x| *x /= norm);
            }
        }
        _ => {}
    }
    data
}

/// The two objects. A missing second body is the world.
fn objects(
    ctx: &Context<'_>,
    names: &Indices<'_>,
    spec: &EqualitySpec,
) -> Result<(usize, Option<usize>), MjcfError> {
    let (index, attr) = match (spec.kind, spec.objtype) {
        (EqualityType::Joint, _) => (&names.joint, "joint"),
        (EqualityType::Tendon, _) => (&names.tendon, "tendon"),
        (EqualityType::Distance, _) => (&names.geom, "geom"),
        (EqualityType::Connect | EqualityType::Weld, ObjType::Site) => (&names.site, "site"),
        (EqualityType::Connect | EqualityType::Weld, _) => (&names.body, "body"),
    };
    let find = |k: usize, name: &str| index.find(ctx, spec.span, &format!("{attr}{k}"), name);
    let id1 = find(1, &spec.name1)?;
    let id2 = match (spec.name2.as_str(), attr) {
        ("", "body") => Some(WORLD),
        ("", _) => None,
        (name, _) => Some(find(2, name)?),
    };
    if Some(id1) == id2 {
        let message = format!("the two {attr}s of a constraint must differ");
        return Err(ctx.invalid(spec.span, message));
    }
    Ok((id1, id2))
}

fn check_scalar(
    ctx: &Context<'_>,
    spec: &EqualitySpec,
    id1: usize,
    id2: Option<usize>,
    m: &Model,
) -> Result<(), MjcfError> {
    for (attr, id) in [("joint1", Some(id1)), ("joint2", id2)] {
        let Some(id) = id else { continue };
        if !matches!(m.jnt_type[id], JointType::Hinge | JointType::Slide) {
            let message = "only hinge and slide joints can be constrained";
            return Err(ctx.attr_error(spec.span, attr, MjcfErrorKind::Invalid, message));
        }
    }
    Ok(())
}
