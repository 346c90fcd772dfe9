//! Explicit contact pairs and excluded pairs of bodies.

use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::xml::Span;
use crate::model::Model;

use super::context::Context;
use super::names::Indices;

/// Bits of a body index in a signature.
const BODY_BITS: u32 = 16;

/// `(b1 << 16) + b2` with b1 ≤ b2.
fn signature(b1: usize, b2: usize) -> i32 {
    let bits = (b1.min(b2) << BODY_BITS) + b1.max(b2);
    i32::try_from(bits).unwrap_or(i32::MAX)
}

/// Writes pairs and exclusions, each in the order of their signatures.
///
/// # Errors
/// Unknown names, a bad contact dimension.
pub fn write(ctx: &Context<'_>, names: &Indices<'_>, m: &mut Model) -> Result<(), MjcfError> {
    let mut pairs = vec![];
    for spec in &ctx.spec.pairs {
        if !matches!(spec.condim, 1 | 3 | 4 | 6) {
            let message = "condim must be 1, 3, 4 or 6";
            return Err(ctx.attr_error(spec.span, "condim", MjcfErrorKind::Invalid, message));
        }
        let mut g1 = names.geom.find(ctx, spec.span, "geom1", &spec.geomname1)?;
        let mut g2 = names.geom.find(ctx, spec.span, "geom2", &spec.geomname2)?;
        if m.geom_bodyid[g1] > m.geom_bodyid[g2] {
            (g1, g2) = (g2, g1);
        }
        pairs.push((signature(m.geom_bodyid[g1], m.geom_bodyid[g2]), g1, g2, spec));
    }
    pairs.sort_by_key(|p| p.0);
    for (signature, g1, g2, spec) in pairs {
        m.names.pair.push(spec.name.clone());
        m.pair_dim.push(spec.condim);
        m.pair_geom1.push(g1);
        m.pair_geom2.push(g2);
        m.pair_signature.push(signature);
        m.pair_solref.push(spec.solref);
        m.pair_solreffriction.push(spec.solreffriction);
        m.pair_solimp.push(spec.solimp);
        m.pair_margin.push(spec.margin);
        m.pair_gap.push(spec.gap);
        m.pair_adhesion.push(spec.adhesion);
        m.pair_friction.push(spec.friction);
    }
    m.npair = m.pair_dim.len();
    write_excludes(ctx, names, m)
}

fn write_excludes(ctx: &Context<'_>, names: &Indices<'_>, m: &mut Model) -> Result<(), MjcfError> {
    let mut excludes = vec![];
    for spec in &ctx.spec.excludes {
        let find = |span: Span, attr, name: &str| names.body.find(ctx, span, attr, name);
        let b1 = find(spec.span, "body1", &spec.bodyname1)?;
        let b2 = find(spec.span, "body2", &spec.bodyname2)?;
        excludes.push((signature(b1, b2), &spec.name));
    }
    excludes.sort_by_key(|e| e.0);
    for (signature, name) in excludes {
        m.names.exclude.push(name.clone());
        m.exclude_signature.push(signature);
    }
    m.nexclude = m.exclude_signature.len();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_ordered() {
        assert_eq!(signature(3, 1), (1 << 16) + 3);
        assert_eq!(signature(0, 2), 2);
    }
}
