//! Contacts against golden ones: matched by geoms and position, compared field by field.

use std::collections::BTreeMap;

use dualstep::collision::{Collision, Contact, collision};
use dualstep::{Data, Model, smooth};
use nalgebra::Vector3;

use crate::compare::err;
use crate::conform::pipeline;
use crate::golden::Golden;

/// How the contacts of one state compare.
#[derive(Debug, Default)]
pub struct ContactComparison {
    /// Contacts that both sides have.
    pub matched: usize,
    /// Pairs of geoms with different numbers of contacts: geoms, number found, number expected.
    pub miscounted: Vec<([usize; 2], usize, usize)>,
    /// Whether all contacts come in the same order.
    pub same_order: bool,
    /// The largest error of each field over all matched contacts, and the pair of geoms that has it.
    pub worst: BTreeMap<&'static str, (f64, [usize; 2])>,
}

/// A contact as the oracle wrote it.
struct Expected {
    geom: [usize; 2],
    pos: Vector3<f64>,
    fields: Vec<(&'static str, Vec<f64>)>,
}

/// Finds the contacts of a golden state and compares them with the golden ones.
///
/// # Errors
/// Names the array that is missing or has another size.
pub fn compare_contacts(
    m: &Model,
    golden: &Golden,
    state: &str,
) -> Result<ContactComparison, String> {
    let mut d = Data::<f64>::new(m);
    pipeline::set_state(m, golden, state, &mut d)?;
    smooth::kinematics(m, &mut d);
    let mut found = Collision::new(m);
    collision(m, &d, &mut found);

    let expected = expected_contacts(golden, state)?;
    let mut compared = ContactComparison {
        same_order: expected.iter().map(|e| e.geom).eq(found.contact.iter().map(|c| c.geom)),
        ..ContactComparison::default()
    };
    let mut pairs: Vec<_> = expected.iter().map(|e| e.geom).collect();
    pairs.extend(found.contact.iter().map(|c| c.geom));
    pairs.sort_unstable();
    pairs.dedup();
    for geom in pairs {
        let ours: Vec<_> = found.contact.iter().filter(|c| c.geom == geom).collect();
        let theirs: Vec<_> = expected.iter().filter(|e| e.geom == geom).collect();
        if ours.len() == theirs.len() {
            compared.match_by_position(ours, &theirs);
        } else {
            compared.miscounted.push((geom, ours.len(), theirs.len()));
        }
    }
    Ok(compared)
}

impl ContactComparison {
    /// Each expected contact with the nearest of ours that is left.
    fn match_by_position(&mut self, mut ours: Vec<&Contact<f64>>, theirs: &[&Expected]) {
        for expected in theirs {
            let distance = |c: &Contact<f64>| (c.pos - expected.pos).norm();
            let nearest = (0..ours.len())
                .min_by(|&a, &b| distance(ours[a]).total_cmp(&distance(ours[b])))
                .expect("as many as expected");
            let contact = ours.swap_remove(nearest);
            self.matched += 1;
            for (name, values) in &expected.fields {
                let error = err(&field(contact, name), values);
                let worst = self.worst.entry(name).or_insert((0.0, expected.geom));
                if error > worst.0 || error.is_nan() {
                    *worst = (error, expected.geom);
                }
            }
        }
    }
}

/// Numbers of a field of `contact_*`.
fn field(c: &Contact<f64>, name: &str) -> Vec<f64> {
    match name {
        "dist" => vec![c.dist],
        "pos" => c.pos.iter().copied().collect(),
        "frame" => c.frame.iter().flatten().copied().collect(),
        "dim" => vec![c.dim as f64],
        "friction" => c.friction.to_vec(),
        "solref" => c.solref.to_vec(),
        "solreffriction" => c.solreffriction.to_vec(),
        "solimp" => c.solimp.to_vec(),
        "includemargin" => vec![c.includemargin],
        _ => vec![f64::from(c.exclude as i32)],
    }
}

/// Fields of `contact_*` that are compared, with their widths.
const FIELDS: [(&str, usize); 10] = [
    ("dist", 1),
    ("pos", 3),
    ("frame", 9),
    ("dim", 1),
    ("friction", 5),
    ("solref", 2),
    ("solreffriction", 2),
    ("solimp", 5),
    ("includemargin", 1),
    ("exclude", 1),
];

fn expected_contacts(golden: &Golden, state: &str) -> Result<Vec<Expected>, String> {
    // arrays without entries are left out of the file
    if golden.header.states.get(state).is_some_and(|header| header.ncon == Some(0)) {
        return Ok(Vec::new());
    }
    let array = |field: &str, len: usize| {
        let key = format!("{state}/fwd/contact_{field}");
        let values = golden.flat(&key).ok_or_else(|| format!("{key} is missing"))?;
        if values.len() == len {
            Ok(values)
        } else {
            Err(format!("{key} has {} numbers", values.len()))
        }
    };
    let key = format!("{state}/fwd/contact_geom");
    let geoms = golden.i32(&key).ok_or_else(|| format!("{key} is missing"))?;
    // negative for what is not a geom: matches nothing
    let geoms: Vec<usize> =
        geoms.iter().map(|&g| usize::try_from(g).unwrap_or(usize::MAX)).collect();
    let number = geoms.len() / 2;
    let mut columns = Vec::new();
    for (name, width) in FIELDS {
        columns.push((name, width, array(name, width * number)?));
    }
    let contact = |i: usize| {
        let fields: Vec<_> = columns
            .iter()
            .map(|(name, width, values)| (*name, values[i * width..(i + 1) * width].to_vec()))
            .collect();
        Expected {
            geom: [geoms[2 * i], geoms[2 * i + 1]],
            pos: Vector3::from_column_slice(&fields[1].1),
            fields,
        }
    };
    Ok((0..number).map(contact).collect())
}
