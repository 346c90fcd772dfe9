//! Trajectories over time, one panel a physical quantity, as SVG.

use dualstep::Model;
use dualstep::model::{JointType, SensorType};
use dualstep_derivatives::tangent::{
    ctrl_names, dof_names, object_name, sensor_names, state_names,
};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{
    Area, COLORS, FAINT, INK, PX, PlotError, UPX, extent, font, message, number, padded, picture,
};
use crate::rollout::{Trajectory, moving_trees};

/// Curves of one quantity over a common time axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Quantity, such as `angle`.
    pub title: String,
    /// Its unit, without brackets; empty if it has none.
    pub unit: String,
    /// The curves.
    pub series: Vec<Series>,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name for the legend.
    pub name: String,
    /// One value a row of the time axis.
    pub values: Vec<f64>,
}

/// Panels of a trajectory: translations, angles, orientations, velocities, activations, controls, heights of the centres
/// of mass of the moving trees, energy, contacts and rows, iterations of the constraint solver, sensors by unit; those
/// that the model has. Orientations are shown as quaternions, which do not jump.
pub fn panels(m: &Model, t: &Trajectory) -> Vec<Panel> {
    let mut panels = Panels(Vec::new());
    let dofs = dof_names(m);
    positions(m, t, &dofs, &mut panels);
    for (dof, rotation) in rotations(m).into_iter().enumerate() {
        let (title, unit) =
            if rotation { ("angular velocity", "rad/s") } else { ("velocity", "m/s") };
        panels.add(title, unit, &dofs[dof], t.qvel.column(dof).to_vec());
    }
    let activations = &state_names(m)[2 * m.nv..];
    for (i, name) in activations.iter().enumerate() {
        panels.add("activation", "", name.trim_end_matches(".act"), t.act.column(i).to_vec());
    }
    for (i, name) in ctrl_names(m).iter().enumerate() {
        panels.add("control", "", name, t.ctrl.column(i).to_vec());
    }
    for (i, body) in moving_trees(m).into_iter().enumerate() {
        let name = object_name(&m.names.body, body, "body");
        panels.add("height of mass", "m", &name, t.com_height.column(i).to_vec());
    }
    let (potential, kinetic) = (t.energy.column(0), t.energy.column(1));
    panels.add("energy", "J", "potential", potential.to_vec());
    panels.add("energy", "J", "kinetic", kinetic.to_vec());
    panels.add("energy", "J", "total", (&potential + &kinetic).to_vec());
    if t.nefc.iter().chain(&t.ncon).any(|n| *n > 0.0) {
        panels.add("constraints", "", "contacts", t.ncon.to_vec());
        panels.add("constraints", "", "rows", t.nefc.to_vec());
        panels.add("solver", "", "iterations", t.solver_niter.to_vec());
    }
    let sensors = sensor_names(m);
    for i in 0..m.nsensor {
        for k in m.sensor_adr[i]..m.sensor_adr[i] + m.sensor_dim[i] {
            let unit = sensor_unit(m.sensor_type[i]);
            panels.add("sensors", unit, &sensors[k], t.sensordata.column(k).to_vec());
        }
    }
    panels.0
}

/// Panels in order of their first curve.
struct Panels(Vec<Panel>);

impl Panels {
    /// Adds a curve to the panel of its quantity and unit.
    fn add(&mut self, title: &str, unit: &str, name: &str, values: Vec<f64>) {
        let series = Series { name: name.to_owned(), values };
        match self.0.iter_mut().find(|panel| panel.title == title && panel.unit == unit) {
            Some(panel) => panel.series.push(series),
            None => self.0.push(Panel {
                title: title.to_owned(),
                unit: unit.to_owned(),
                series: vec![series],
            }),
        }
    }
}

/// Whether each degree of freedom is a rotation (nv).
fn rotations(m: &Model) -> Vec<bool> {
    let of_joint = |kind: &JointType| match kind {
        JointType::Free => vec![false, false, false, true, true, true],
        JointType::Ball => vec![true; 3],
        JointType::Slide => vec![false],
        JointType::Hinge => vec![true],
    };
    m.jnt_type.iter().flat_map(of_joint).collect()
}

/// Positions of all joints over time.
fn positions(m: &Model, t: &Trajectory, dofs: &[String], panels: &mut Panels) {
    let values = |adr: usize| t.qpos.column(adr).to_vec();
    let quaternion = |panels: &mut Panels, j: usize, adr: usize| {
        let joint = object_name(&m.names.joint, j, "joint");
        for (k, part) in ["w", "x", "y", "z"].iter().enumerate() {
            panels.add("orientation", "quaternion", &format!("{joint}.{part}"), values(adr + k));
        }
    };
    for j in 0..m.njnt {
        let (adr, dof) = (m.jnt_qposadr[j], m.jnt_dofadr[j]);
        match m.jnt_type[j] {
            JointType::Free => {
                (0..3).for_each(|k| panels.add("position", "m", &dofs[dof + k], values(adr + k)));
                quaternion(panels, j, adr + 3);
            }
            JointType::Ball => quaternion(panels, j, adr),
            JointType::Slide => panels.add("position", "m", &dofs[dof], values(adr)),
            JointType::Hinge => panels.add("angle", "rad", &dofs[dof], values(adr)),
        }
    }
}

/// Unit of a sensor; empty if it has none, or if it depends on the kind of joint.
fn sensor_unit(kind: SensorType) -> &'static str {
    use SensorType as S;
    match kind {
        S::FramePos | S::SubtreeCom | S::Rangefinder | S::GeomDist | S::GeomFromTo => "m",
        S::Velocimeter | S::FrameLinVel | S::SubtreeLinVel => "m/s",
        S::Accelerometer | S::FrameLinAcc => "m/s²",
        S::Gyro | S::FrameAngVel | S::BallAngVel => "rad/s",
        S::FrameAngAcc => "rad/s²",
        S::Force | S::Touch => "N",
        S::Torque => "N·m",
        S::SubtreeAngMom => "kg·m²/s",
        S::EPotential | S::EKinetic => "J",
        S::Clock => "s",
        S::JointPos | S::TendonPos | S::ActuatorPos | S::JointLimitPos | S::TendonLimitPos => {
            "m or rad"
        }
        S::JointVel | S::TendonVel | S::ActuatorVel | S::JointLimitVel | S::TendonLimitVel => {
            "m/s or rad/s"
        }
        S::ActuatorFrc
        | S::JointActFrc
        | S::TendonActFrc
        | S::JointLimitFrc
        | S::TendonLimitFrc => "N or N·m",
        _ => "",
    }
}

/// Curves that a panel shows at most: those that vary most.
const SHOWN: usize = COLORS.len();
/// Points of a curve at most.
const POINTS: usize = 1500;
/// Sizes.
const WIDTH: u32 = 1080 * UPX;
const PANEL: u32 = 210 * UPX;
const TITLE: u32 = 46 * UPX;
const FOOT: u32 = 34 * UPX;
const LEGEND: u32 = 230 * UPX;
const AXIS: u32 = 76 * UPX;

/// Draws panels below each other over a common time axis \[s\]; returns the SVG text.
///
/// # Errors
/// If the drawing library fails.
pub fn svg(title: &str, time: &[f64], panels: &[Panel]) -> Result<String, PlotError> {
    let rows = u32::try_from(panels.len()).unwrap_or(u32::MAX).min(1000);
    let height = TITLE + rows * PANEL + FOOT;
    picture((WIDTH, height), |root| draw(root, height, title, time, panels))
}

fn draw(
    root: &Area<'_>,
    height: u32,
    title: &str,
    time: &[f64],
    panels: &[Panel],
) -> Result<(), String> {
    let (head, body) = root.split_vertically(TITLE);
    let style = font(19).color(&INK);
    head.draw(&Text::new(title.to_owned(), (14 * PX, 14 * PX), style)).map_err(message)?;
    let (body, foot) = body.split_vertically(height - TITLE - FOOT);
    for (area, panel) in body.split_evenly((panels.len(), 1)).iter().zip(panels) {
        draw_panel(area, time, panel)?;
    }
    let center = Pos::new(HPos::Center, VPos::Top);
    let style = font(14).color(&INK).pos(center);
    let middle = i32::try_from(AXIS + (WIDTH - LEGEND - AXIS) / 2).unwrap_or(0);
    foot.draw(&Text::new("time [s]", (middle, 2 * PX), style)).map_err(message)
}

fn draw_panel(area: &Area<'_>, time: &[f64], panel: &Panel) -> Result<(), String> {
    let (left, right) = area.split_horizontally(WIDTH - LEGEND);
    let shown = most_varied(panel);
    let curves: Vec<&Series> = shown.iter().map(|i| &panel.series[*i]).collect();
    let t_range = padded(time.iter().copied(), 0.0);
    let y_range = padded(curves.iter().flat_map(|s| s.values.iter().copied()), 0.06);
    let mut chart = ChartBuilder::on(&left)
        .margin_top(8 * UPX)
        .margin_left(12 * UPX)
        .margin_right(8 * UPX)
        .set_label_area_size(LabelAreaPosition::Left, AXIS)
        .set_label_area_size(LabelAreaPosition::Bottom, 24 * UPX)
        .build_cartesian_2d(t_range, y_range)
        .map_err(message)?;
    let unit = if panel.unit.is_empty() { String::new() } else { format!(" [{}]", panel.unit) };
    chart
        .configure_mesh()
        .x_labels(10)
        .y_labels(5)
        .max_light_lines(1)
        .bold_line_style(FAINT.stroke_width(UPX))
        .light_line_style(WHITE)
        .axis_style(INK.stroke_width(UPX))
        .set_all_tick_mark_size(5 * UPX)
        .label_style(font(13).color(&INK))
        .axis_desc_style(font(14).color(&INK))
        .x_label_formatter(&|x| number(*x))
        .y_label_formatter(&|y| number(*y))
        .y_desc(format!("{}{unit}", panel.title))
        .draw()
        .map_err(message)?;
    let stride = time.len().div_ceil(POINTS).max(1);
    for (curve, color) in curves.iter().zip(COLORS) {
        let points = time.iter().copied().zip(curve.values.iter().copied());
        let last = time.len().saturating_sub(1);
        let kept = points
            .enumerate()
            .filter(|(k, (_, y))| y.is_finite() && (k.is_multiple_of(stride) || *k == last));
        let line = LineSeries::new(kept.map(|(_, point)| point), color.stroke_width(2 * UPX));
        chart.draw_series(line).map_err(message)?;
    }
    draw_legend(&right, &curves, panel.series.len() - curves.len())
}

/// Names beside their colours, and how many curves are not shown.
fn draw_legend(area: &Area<'_>, curves: &[&Series], hidden: usize) -> Result<(), String> {
    let text = font(13).color(&INK);
    let mut y = 16 * PX;
    for (curve, color) in curves.iter().zip(COLORS) {
        let stroke = color.stroke_width(3 * UPX);
        area.draw(&PathElement::new([(6 * PX, y), (26 * PX, y)], stroke)).map_err(message)?;
        let name = shortened(&curve.name, 27);
        area.draw(&Text::new(name, (33 * PX, y - 6 * PX), text.clone())).map_err(message)?;
        y += 19 * PX;
    }
    if hidden > 0 {
        let more = format!("+ {hidden} that vary less");
        area.draw(&Text::new(more, (33 * PX, y - 6 * PX), text)).map_err(message)?;
    }
    Ok(())
}

/// Indices of the curves that vary most, in their own order.
fn most_varied(panel: &Panel) -> Vec<usize> {
    let span = |i: &usize| {
        let range = extent(panel.series[*i].values.iter().copied());
        range.map_or(0.0, |range| range.end - range.start)
    };
    let mut order: Vec<usize> = (0..panel.series.len()).collect();
    order.sort_by(|a, b| span(b).total_cmp(&span(a)));
    order.truncate(SHOWN);
    order.sort_unstable();
    order
}

/// At most `length` characters, the middle left out.
fn shortened(name: &str, length: usize) -> String {
    let chars: Vec<char> = name.chars().collect();
    if chars.len() <= length {
        return name.to_owned();
    }
    let half = (length - 1) / 2;
    let (head, tail) = (&chars[..half], &chars[chars.len() - half..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(n: usize) -> Panel {
        let curve = |i: usize| Series {
            name: format!("joint{i}"),
            values: (0..100).map(|k| i as f64 * (0.1 * f64::from(k)).sin()).collect(),
        };
        Panel {
            title: "angle".to_owned(),
            unit: "rad".to_owned(),
            series: (0..n).map(curve).collect(),
        }
    }

    #[test]
    fn the_most_varied_curves_are_shown() {
        assert_eq!(most_varied(&panel(10)), [2, 3, 4, 5, 6, 7, 8, 9]);
        let time: Vec<f64> = (0..100).map(|k| 0.01 * f64::from(k)).collect();
        let text = svg("a trajectory", &time, &[panel(10), panel(1)]).unwrap();
        for part in ["a trajectory", "angle [rad]", "time [s]", "joint9", "+ 2 that vary less"] {
            assert!(text.contains(part), "{part}");
        }
    }

    #[test]
    fn odd_curves_are_drawn() {
        let odd = Panel { series: vec![], ..panel(1) };
        let nan = Series { name: "nan".to_owned(), values: vec![f64::NAN, 1.0] };
        svg("odd", &[0.0, 1.0], &[odd, Panel { series: vec![nan], ..panel(1) }]).unwrap();
        svg("empty", &[], &[]).unwrap();
    }

    #[test]
    fn names_are_short() {
        assert_eq!(shortened("a_very_long_name", 9), "a_ve…name");
    }
}
