//! Sizes, masses and extent of the model in its reference configuration.

use nalgebra::Vector3;

use crate::data::Data;
use crate::model::{GeomType, JointType, Model, Statistic, WORLD};

/// Smallest size that a body counts with [m].
const MIN_SIZE: f64 = 1e-5;

/// Writes `stat` and `dof_length`.
///
/// Source: MuJoCo `mj_setConst` (its statistics).
pub(super) fn write(m: &mut Model, d: &Data<f64>) {
    let (lo, hi) = bounding_box(m, d);
    let sizes = body_sizes(m, d);
    let moving = (m.nbody - 1).max(1) as f64;
    let mean = |sum: f64, n: f64| if n > 0.0 { sum / n } else { 0.0 };

    let meansize = mean(sizes[1..].iter().sum(), moving);
    let size = if hi.x > lo.x { (hi - lo).max().max(MIN_SIZE) } else { 0.0 };
    let diagonal = |i: usize| d.qM[m.M_rowadr[i] + m.M_rownnz[i] - 1];
    m.stat = Statistic {
        meaninertia: mean((0..m.nv).map(diagonal).sum(), m.nv as f64),
        meanmass: mean(m.body_mass[1..].iter().sum(), moving),
        meansize,
        extent: size.max(2.0 * meansize),
        center: (lo + hi) * 0.5,
    };

    // a rotation moves the body by about its size
    m.dof_length = (0..m.nv)
        .map(|i| {
            let j = m.dof_jntid[i];
            let translates = match m.jnt_type[j] {
                JointType::Slide => true,
                JointType::Free => i < m.jnt_dofadr[j] + 3,
                JointType::Ball | JointType::Hinge => false,
            };
            if translates { 1.0 } else { sizes[m.dof_bodyid[i]] }
        })
        .collect();
}

/// Box around bodies, joints, sites and geoms.
fn bounding_box(m: &Model, d: &Data<f64>) -> (Vector3<f64>, Vector3<f64>) {
    let (mut lo, mut hi) = (Vector3::repeat(1e10), Vector3::repeat(-1e10));
    let mut include = |p: &Vector3<f64>, r: f64| {
        lo = lo.inf(&p.add_scalar(-r));
        hi = hi.sup(&p.add_scalar(r));
    };
    for b in m.bodies_base_to_tip() {
        include(&d.xpos[b], 0.0);
        include(&d.xipos[b], 0.0);
    }
    for p in d.xanchor.iter().chain(&d.site_xpos) {
        include(p, 0.0);
    }
    for g in 0..m.ngeom {
        include(&d.geom_xpos[g], geom_extent(m, g));
    }
    (lo, hi)
}

/// Bounding radius; a tenth of the size of what has none.
fn geom_extent(m: &Model, g: usize) -> f64 {
    let size = &m.geom_size[g];
    match m.geom_type[g] {
        _ if m.geom_rbound[g] > 0.0 => m.geom_rbound[g],
        GeomType::Plane if size.x != 0.0 || size.y != 0.0 => size.x.max(size.y) * 0.1,
        GeomType::Plane => 0.01,
        GeomType::Hfield => {
            let size = m.geom_dataid[g].map_or([0.0; 4], |h| m.hfield_size[h]);
            size.into_iter().fold(0.0, f64::max) * 0.1
        }
        _ => 0.0,
    }
}

/// Largest distance from a body's centre of mass to its joints, its children's joints and the far side of
/// its geoms [m].
fn body_sizes(m: &Model, d: &Data<f64>) -> Vec<f64> {
    let mut size = vec![0.0_f64; m.nbody];
    for j in 0..m.njnt {
        let b = m.jnt_bodyid[j];
        for b in [b, m.body_parentid[b]] {
            size[b] = size[b].max((d.xipos[b] - d.xanchor[j]).norm());
        }
    }
    for g in (0..m.ngeom).filter(|&g| m.geom_rbound[g] > 0.0) {
        let b = m.geom_bodyid[g];
        size[b] = size[b].max(m.geom_rbound[g] + (d.xipos[b] - d.geom_xpos[g]).norm());
    }
    for s in &mut size {
        *s = s.max(MIN_SIZE);
    }
    size[WORLD] = 0.0;
    size
}
