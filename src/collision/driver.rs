//! All contacts of a configuration, in MuJoCo's order.

use super::broad::{BroadPhase, broad_phase, keep_body_pair};
use super::contact::{Contact, ContactParams, Touch, margin_gap};
use super::narrow::{MAX_TOUCHES, Narrow, has_collider};
use crate::data::Data;
use crate::model::options::disable;
use crate::model::{GeomType, Model};
use crate::scalar::Scalar;

/// Contacts, and the memory to find them. Lists grow to what a configuration needs, and stay.
#[derive(Clone, Debug)]
pub struct Collision<T: Scalar> {
    /// What was found.
    pub contact: Vec<Contact<T>>,
    /// Pairs of geoms close enough to touch for whose types there is no collider; empty means nothing is
    /// missing from `contact`.
    pub unsupported: Vec<[usize; 2]>,
    broad: BroadPhase,
    candidate: Vec<Candidate>,
    touch: Vec<Touch<T>>,
    pub(super) narrow: Narrow<T>,
}

/// A pair of geoms for the narrow phase, ordered by type, and the explicit pair it comes from.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    geom: [usize; 2],
    pair: Option<usize>,
}

/// Room for the pairs of `n` things: all of them, or a few for each if they are many.
pub(super) fn pairs_of(n: usize) -> usize {
    (n * n.saturating_sub(1) / 2).min(16 * n)
}

impl<T: Scalar> Collision<T> {
    /// Memory for a model.
    pub fn new(m: &Model) -> Self {
        Self {
            contact: Vec::with_capacity(4 * m.ngeom + MAX_TOUCHES),
            unsupported: Vec::with_capacity(m.ngeom),
            broad: BroadPhase::new(m),
            candidate: Vec::with_capacity(pairs_of(m.ngeom) + m.npair),
            touch: Vec::with_capacity(MAX_TOUCHES),
            narrow: Narrow::new(m),
        }
    }

    /// Whether from now on nearest points of curved convex shapes are the exact ones. The general search, like MuJoCo's,
    /// stops at `ccd_tolerance` from them: near enough for a step, too far for its derivative.
    pub fn exact(&mut self, on: bool) {
        self.narrow.exact = on;
    }

    /// Where two geoms touch, at most `margin` apart. Geoms are ordered by type.
    pub(super) fn touches(
        &mut self,
        m: &Model,
        d: &Data<T>,
        geom: [usize; 2],
        margin: f64,
    ) -> &[Touch<T>] {
        self.touch.clear();
        self.narrow.collide(m, d, geom, margin, &mut self.touch);
        &self.touch
    }
}

/// Finds all contacts.
///
/// - reads  `geom_xpos`, `geom_xmat`
/// - writes `contact`, `unsupported`
///
/// Pairs of bodies come in the order of their signature, explicit pairs before the other geoms of the same
/// bodies. Among bodies with several geoms contacts are sorted by geom.
///
/// Source: MuJoCo `mj_collision`; manual, "Collision detection".
pub fn collision<T: Scalar>(m: &Model, d: &Data<T>, found: &mut Collision<T>) {
    collision_within(m, d, 0.0, found);
}

/// As [`collision`], and what is up to `extra` \[m\] beyond the distance at which contacts are detected.
pub fn collision_within<T: Scalar>(m: &Model, d: &Data<T>, extra: f64, found: &mut Collision<T>) {
    found.contact.clear();
    found.unsupported.clear();
    if m.opt.disabled(disable::CONSTRAINT) || m.opt.disabled(disable::CONTACT) {
        return;
    }
    broad_phase(m, d, extra, &mut found.broad);
    find_candidates(m, d, extra, &found.broad.pair, &mut found.candidate);

    for candidate in &found.candidate {
        let [g1, g2] = candidate.geom;
        if !has_collider(m.geom_type[g1], m.geom_type[g2]) {
            found.unsupported.push(candidate.geom);
            continue;
        }
        let (margin, gap) = margin_gap(m, candidate.geom, candidate.pair);
        found.touch.clear();
        found.narrow.collide(m, d, candidate.geom, margin + gap + extra, &mut found.touch);
        if !found.touch.is_empty() {
            let params = ContactParams::new(m, candidate.geom, candidate.pair);
            let contacts = found.touch.iter().map(|touch| params.contact(candidate.geom, touch));
            found.contact.extend(contacts);
        }
    }
}

/// Pairs of geoms that pass all filters, in the order of their contacts. Explicit pairs are merged into the
/// sorted pairs of bodies by signature: they ignore every filter but the last, and replace the pair of geoms
/// they name.
fn find_candidates<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    extra: f64,
    bodies: &[[usize; 2]],
    out: &mut Vec<Candidate>,
) {
    out.clear();
    let mut next = 0;
    for &[b1, b2] in bodies {
        let signature = (b1 << 16) + b2;
        let start = next;
        while next < m.npair && signature_of(m.pair_signature[next]) <= signature {
            push_pair(m, d, extra, next, out);
            next += 1;
        }
        if m.exclude_signature.binary_search_by_key(&signature, |&s| signature_of(s)).is_ok() {
            continue;
        }
        let named = |a: usize, b: usize| {
            let mut pairs = (start..next).map(|p| [m.pair_geom1[p], m.pair_geom2[p]]);
            pairs.any(|pair| pair == [a, b] || pair == [b, a])
        };
        let first = out.len();
        for g1 in geoms(m, b1) {
            for g2 in geoms(m, b2) {
                if !named(g1, g2) && bits_match(m, g1, g2) && is_near(m, d, extra, [g1, g2], None) {
                    out.push(Candidate { geom: by_type(m, g1, g2), pair: None });
                }
            }
        }
        if !m.opt.disabled(disable::MIDPHASE) {
            out[first..].sort_unstable_by_key(|candidate| candidate.geom);
        }
    }
    for p in next..m.npair {
        push_pair(m, d, extra, p, out);
    }
}

/// Pairs of geoms that can touch in some configuration, ordered by type, and the explicit pair that each comes from: what
/// passes all filters but those of distance. Empty if contacts are disabled.
///
/// Source: as [`collision`].
pub fn touchable_pairs(m: &Model) -> Vec<([usize; 2], Option<usize>)> {
    let mut found = Vec::new();
    if m.opt.disabled(disable::CONSTRAINT) || m.opt.disabled(disable::CONTACT) {
        return found;
    }
    let named: Vec<[usize; 2]> =
        (0..m.npair).map(|p| by_type(m, m.pair_geom1[p], m.pair_geom2[p])).collect();
    let collides = |[g1, g2]: [usize; 2]| {
        has_collider(m.geom_type[g1], m.geom_type[g2]) && !(is_flat(m, g1) && is_flat(m, g2))
    };
    let explicit = named.iter().enumerate().map(|(p, geom)| (*geom, Some(p)));
    found.extend(explicit.filter(|(geom, _)| collides(*geom)));
    for (b1, b2) in (0..m.nbody).flat_map(|a| (a + 1..m.nbody).map(move |b| (a, b))) {
        let excluded = |s: &i32| signature_of(*s) == (b1 << 16) + b2;
        if !keep_body_pair(m, b1, b2) || m.exclude_signature.iter().any(excluded) {
            continue;
        }
        for (g1, g2) in geoms(m, b1).flat_map(|g1| geoms(m, b2).map(move |g2| (g1, g2))) {
            let geom = by_type(m, g1, g2);
            let named = named.contains(&geom) || named.contains(&[geom[1], geom[0]]);
            if bits_match(m, g1, g2) && collides(geom) && !named {
                found.push((geom, None));
            }
        }
    }
    found
}

/// Signatures are sums of body numbers, never negative.
fn signature_of(signature: i32) -> usize {
    usize::try_from(signature).unwrap_or(0)
}

/// Geoms of a body.
fn geoms(m: &Model, b: usize) -> std::ops::Range<usize> {
    match m.body_geomnum[b] {
        0 => 0..0,
        number => m.body_geomadr[b]..m.body_geomadr[b] + number,
    }
}

/// Colliders want the simpler shape first; order among equals stays.
fn by_type(m: &Model, g1: usize, g2: usize) -> [usize; 2] {
    if m.geom_type[g1] as i32 > m.geom_type[g2] as i32 { [g2, g1] } else { [g1, g2] }
}

fn push_pair<T: Scalar>(m: &Model, d: &Data<T>, extra: f64, p: usize, out: &mut Vec<Candidate>) {
    let (g1, g2) = (m.pair_geom1[p], m.pair_geom2[p]);
    if is_near(m, d, extra, [g1, g2], Some(p)) {
        out.push(Candidate { geom: by_type(m, g1, g2), pair: Some(p) });
    }
}

/// Filter of contact bits: one side's type must be in the other's affinity.
fn bits_match(m: &Model, g1: usize, g2: usize) -> bool {
    m.geom_contype[g1] & m.geom_conaffinity[g2] != 0
        || m.geom_contype[g2] & m.geom_conaffinity[g1] != 0
}

/// True for planes and height fields, which do not collide with each other.
fn is_flat(m: &Model, g: usize) -> bool {
    matches!(m.geom_type[g], GeomType::Plane | GeomType::Hfield)
}

/// Filter of bounding spheres, or of a bounding sphere and a plane. Two planes, and a plane and a height
/// field, never collide.
fn is_near<T: Scalar>(
    m: &Model,
    d: &Data<T>,
    extra: f64,
    geom: [usize; 2],
    pair: Option<usize>,
) -> bool {
    let (margin, gap) = margin_gap(m, geom, pair);
    let margin = margin + extra;
    let [g1, g2] = by_type(m, geom[0], geom[1]);
    let (r1, r2) = (m.geom_rbound[g1], m.geom_rbound[g2]);
    let offset = (d.geom_xpos[g2] - d.geom_xpos[g1]).map(Scalar::re);
    if is_flat(m, g1) && is_flat(m, g2) {
        false
    } else if m.geom_type[g1] == GeomType::Plane {
        offset.dot(&d.geom_xmat[g1].column(2).map(Scalar::re)) <= margin + gap + r2
    } else {
        let reach = r1 + r2 + margin + gap;
        offset.norm_squared() <= reach * reach
    }
}
