//! Physics options and custom fields into the model.

use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::model::{Model, Options};

use super::context::Context;
use super::convert;

/// Copies options.
///
/// # Errors
/// A medium: fluid forces are not supported.
pub fn write(ctx: &Context<'_>, m: &mut Model) -> Result<(), MjcfError> {
    let o = &ctx.spec.option;
    for (attr, value) in [("density", o.density), ("viscosity", o.viscosity)] {
        if value != 0.0 {
            let message = format!("fluid forces ({attr} is not 0) are not supported");
            return Err(ctx.attr_error(o.span, attr, MjcfErrorKind::Unsupported, message));
        }
    }
    let count = |n: i32| usize::try_from(n).unwrap_or(0);
    m.name.clone_from(&ctx.spec.modelname);
    m.opt = Options {
        timestep: o.timestep,
        impratio: o.impratio,
        tolerance: o.tolerance,
        ls_tolerance: o.ls_tolerance,
        noslip_tolerance: o.noslip_tolerance,
        ccd_tolerance: o.ccd_tolerance,
        sleep_tolerance: o.sleep_tolerance,
        gravity: o.gravity.into(),
        wind: o.wind.into(),
        magnetic: o.magnetic.into(),
        density: o.density,
        viscosity: o.viscosity,
        o_margin: o.o_margin,
        o_solref: o.o_solref,
        o_solimp: o.o_solimp,
        o_friction: o.o_friction,
        integrator: convert::integrator(o.integrator),
        cone: convert::cone(o.cone),
        jacobian: convert::jacobian(o.jacobian),
        solver: convert::solver(o.solver),
        iterations: count(o.iterations),
        ls_iterations: count(o.ls_iterations),
        noslip_iterations: count(o.noslip_iterations),
        ccd_iterations: count(o.ccd_iterations),
        sdf_iterations: count(o.sdf_iterations),
        sdf_initpoints: count(o.sdf_initpoints),
        disableflags: o.disableflags,
        enableflags: o.enableflags,
        disableactuator: o.disableactuator,
        friction: Options::default().friction,
        limits: Options::default().limits,
    };
    Ok(())
}

/// Copies custom numbers and texts.
///
/// # Errors
/// An empty array.
pub fn write_custom(ctx: &Context<'_>, m: &mut Model) -> Result<(), MjcfError> {
    for numeric in &ctx.spec.numerics {
        if numeric.data.is_empty() {
            let message = "a numeric needs at least one number";
            return Err(ctx.attr_error(numeric.span, "size", MjcfErrorKind::Invalid, message));
        }
        m.numeric.push((numeric.name.clone(), numeric.data.clone()));
    }
    for text in &ctx.spec.texts {
        m.text.push((text.name.clone(), text.data.clone()));
    }
    Ok(())
}
