//! Connects, welds and distances: one run on dual numbers for each degree of freedom that moves one of the bodies.

use dualstep::constraint::{EfcType, MAX_TIE, Tie};
use dualstep::math::SpatialVec;
use dualstep::model::EqType;
use dualstep::{Data, Model, Scalar};
use nalgebra::Vector3;
use num_dual::Dual64;

use super::answer::{Answer, By, Listener, Pull, Source};
use super::motion::{Motions, State, at, moves, unit_motion};
use super::response::Rows;
use crate::rne_pos::WorldWrench;

/// A body at its anchor, with tangents.
struct Side {
    turn: Vector3<Dual64>,
    point: Vector3<Dual64>,
    /// Velocity, and the two parts of the acceleration, at the anchor.
    v: SpatialVec<Dual64>,
    alpha: SpatialVec<Dual64>,
    beta: SpatialVec<Dual64>,
}

fn dual3(re: &Vector3<f64>, eps: &Vector3<f64>) -> Vector3<Dual64> {
    re.zip_map(eps, Dual64::new)
}

fn dual6(re: &SpatialVec<f64>, eps: &SpatialVec<f64>) -> SpatialVec<Dual64> {
    SpatialVec::new(dual3(&re.rot, &eps.rot), dual3(&re.lin, &eps.lin))
}

/// dq += ∂(Jᵀf)/∂q but for wrenches fixed in the world, dv += that of J̇ qvel, for the tie of equality `e`.
#[expect(clippy::too_many_arguments, reason = "what is read, what is written, and who listens")]
pub(super) fn add(
    m: &Model,
    d: &Data<f64>,
    e: usize,
    rows: &Rows,
    motions: &Motions,
    dq: &mut [f64],
    dv: &mut [f64],
    listener: &mut impl Listener,
) {
    let tie = Tie::new(m, d, e);
    let (efc, first, len) = (&d.efc, rows.first, rows.len);
    let (columns, _) = efc.row(first);
    let [K, B, imp, slope] = efc.KBIP[first];
    let force = &efc.force[first..first + len];
    let (bodies, points, signs) = (tie.bodies, tie.points, [1.0, -1.0]);
    let pull = Pull { bodies, signs, points, wrench: tie.wrench(force) };
    let listens = listener.attend(Source::Tie(&pull));

    for (l, &j) in columns.iter().enumerate() {
        // by position
        let side = |k: usize, by_velocity: bool| side(m, d, &tie, motions, (k, j), by_velocity);
        let [s1, s2] = [side(0, false), side(1, false)];
        let moved = tie.moved(&[s1.turn, s2.turn], [s1.point, s2.point]);
        let error = moved.error();
        let along = moved.velocity();
        let Ja = along(&(s1.alpha.rot - s2.alpha.rot), &(s1.alpha.lin - s2.alpha.lin));
        let Jv = along(&(s1.v.rot - s2.v.rot), &(s1.v.lin - s2.v.lin));
        let bias = bias(&moved, &s1, &s2);
        // impedance depends on the norm of all errors
        let norm = error[..len].iter().map(|x| x.re * x.re).sum::<f64>().sqrt();
        let signed = |x: &Dual64| x.re * x.eps;
        let residual = match tie.kind {
            EqType::Distance => error[0].eps,
            _ if norm > 0.0 => error[..len].iter().map(signed).sum::<f64>() / norm,
            _ => 0.0,
        };
        let mut dx = [0.0; MAX_TIE];
        for r in 0..len {
            let x = efc.pos[first + r] - efc.margin[first + r];
            let daref =
                -B * Jv[r].eps - K * (slope * residual * x + imp * error[r].eps) - bias[r].eps;
            dx[r] = Ja[r].eps - daref;
        }
        let mut df = [0.0; MAX_TIE];
        rows.force(d, &dx[..len], rows.stiffening * residual, &mut df);
        scatter(m, d, rows, &df, j, dq);

        if listens {
            let points = [s1.point, s2.point].map(|p| p.map(|x| x.eps));
            let wrench = changed(&moved, force, &df);
            listener.hear(&Answer { wrench, points, ..Answer::none(By::Position, j) });
        }

        // the wrench of fixed forces changes its direction
        let SpatialVec { rot: torque, lin: push } = changed(&moved, force, &[0.0; MAX_TIE]);
        for (k, sign) in [(0, 1.0), (1, -1.0)] {
            for dof in m.body_dofs_to_root(tie.bodies[k]) {
                let u = unit_motion(m, d, dof, &tie.points[k]);
                dq[dof * m.nv + j] += sign * (u.rot.dot(&torque) + u.lin.dot(&push));
            }
        }

        // J̇ qvel by velocity
        let [s1, s2] = [side(0, true), side(1, true)];
        let moved = tie.moved(&[s1.turn, s2.turn], [s1.point, s2.point]);
        let bias = self::bias(&moved, &s1, &s2);
        let dx: [f64; MAX_TIE] = std::array::from_fn(|r| bias[r].eps);
        rows.force(d, &dx[..len], 0.0, &mut df);
        scatter(m, d, rows, &df, j, dv);
        if listens {
            let mut tell = |by: By, dx: &dyn Fn(usize, f64) -> f64| {
                let dx: [f64; MAX_TIE] = std::array::from_fn(|r| match r {
                    r if r < len => dx(r, efc.row(first + r).1[l]),
                    _ => 0.0,
                });
                let mut df = [0.0; MAX_TIE];
                rows.force(d, &dx[..len], 0.0, &mut df);
                listener.hear(&Answer { wrench: tie.wrench(&df), ..Answer::none(by, j) });
            };
            tell(By::Velocity, &|r, J| B * J + bias[r].eps);
            tell(By::Acceleration, &|_, J| J);
        }
    }
}

/// How the wrench of a tie changes with its poses, and with its forces by `df`.
fn changed(tie: &Tie<Dual64>, force: &[f64], df: &[f64; MAX_TIE]) -> SpatialVec<f64> {
    let mut lifted = [Dual64::lift(0.0); MAX_TIE];
    for ((to, f), df) in lifted.iter_mut().zip(force).zip(df) {
        *to = Dual64::new(*f, *df);
    }
    let wrench = tie.wrench(&lifted);
    SpatialVec::new(wrench.rot.map(|x| x.eps), wrench.lin.map(|x| x.eps))
}

/// Adds Jᵀ δf to column `j`.
fn scatter(m: &Model, d: &Data<f64>, rows: &Rows, df: &[f64], j: usize, to: &mut [f64]) {
    for r in 0..rows.len {
        let (columns, J) = d.efc.row(rows.first + r);
        for (&k, x) in columns.iter().zip(J) {
            to[k * m.nv + j] += x * df[r];
        }
    }
}

/// J̇ qvel of the rows.
fn bias(tie: &Tie<Dual64>, s1: &Side, s2: &Side) -> [Dual64; MAX_TIE] {
    // acceleration of the anchor itself, beside that of the field
    let point = |s: &Side| SpatialVec::new(s.beta.rot, s.beta.lin + s.v.rot.cross(&s.v.lin));
    tie.bias(&(point(s1) - point(s2)), [&s1.v.rot, &s2.v.rot])
}

/// Body k of the tie, as degree of freedom `j` is displaced, or its velocity changed.
fn side(
    m: &Model,
    d: &Data<f64>,
    tie: &Tie<f64>,
    motions: &Motions,
    (k, j): (usize, usize),
    by_velocity: bool,
) -> Side {
    let (b, p) = (tie.bodies[k], tie.points[k]);
    let zero = SpatialVec::zero();
    let (mut displaced, mut change) = (zero, State { v: zero, alpha: zero, beta: zero });
    if moves(m, j, b) {
        if by_velocity {
            change = motions.by_velocity(d, b, j);
        } else {
            displaced = unit_motion(m, d, j, &p);
            change = motions.by_position(d, b, j);
        }
    }
    let r = p - d.subtree_com[m.body_rootid[b]];
    let now = &motions.body[b];
    let carried = |x: &SpatialVec<f64>, dx: &SpatialVec<f64>| {
        let mut dx = at(dx, &r);
        dx.lin += x.rot.cross(&displaced.lin);
        dual6(&at(x, &r), &dx)
    };
    Side {
        turn: dual3(&Vector3::zeros(), &displaced.rot),
        point: dual3(&p, &displaced.lin),
        v: carried(&now.v, &change.v),
        alpha: carried(&now.alpha, &change.alpha),
        beta: carried(&now.beta, &change.beta),
    }
}

/// Wrenches of all ties on their bodies.
pub(super) fn wrenches<'a>(
    m: &'a Model,
    d: &'a Data<f64>,
) -> impl Iterator<Item = WorldWrench<f64>> + 'a {
    let efc = &d.efc;
    let begins = move |i: &usize| *i == 0 || efc.id[i - 1] != efc.id[*i];
    (0..efc.ne).filter(begins).filter(|&i| super::tie_of(m, EfcType::Equality, efc.id[i])).flat_map(
        move |i| {
            let tie = Tie::new(m, d, efc.id[i]);
            let wrench = tie.wrench(&efc.force[i..i + tie.len()]);
            [(0, 1.0), (1, -1.0)].map(|(k, sign)| WorldWrench {
                body: tie.bodies[k],
                point: tie.points[k],
                force: wrench.lin * sign,
                torque: wrench.rot * sign,
            })
        },
    )
}
