//! Numbers against numbers: charts side by side, each with units on both axes, linear or logarithmic, and one
//! legend for all of them.
//!
//! ```
//! use dualstep_experiments::plot::{Axis, Chart, Curve, Figure};
//!
//! let errors = vec![(1e-3, 2e-6), (1e-2, 2e-4), (1e-1, 2e-2)];
//! let chart = Chart {
//!     title: "pendulum".to_owned(),
//!     x: Axis::log("step", "s"),
//!     y: Axis::log("error", "rad"),
//!     curves: vec![
//!         Curve::new("midpoint", errors),
//!         Curve::slope("slope 2", 2.0, (1e-2, 5e-5)), // a dashed line through that point
//!         Curve::level("rounding", 1e-8),             // a horizontal line
//!     ],
//! };
//! let figure = Figure { title: "Order".to_owned(), columns: 1, charts: vec![chart] };
//! assert!(figure.svg()?.starts_with("<svg"));
//! # Ok::<(), dualstep_experiments::plot::PlotError>(())
//! ```

use std::ops::Range;

use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Area, COLORS, FAINT, INK, PX, PlotError, UPX, font, message, number, padded, picture};

/// How numbers become lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Linear,
    /// Decades have equal lengths; numbers that are not positive are not shown.
    Log,
}

impl Scale {
    fn apply(self, x: f64) -> f64 {
        match self {
            Self::Linear => x,
            Self::Log => x.log10(),
        }
    }
}

/// An axis: quantity, unit, scale, and the range of it that is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    title: String,
    unit: String,
    scale: Scale,
    range: Option<Range<f64>>,
}

impl Axis {
    /// A linear axis; the unit without brackets, `1` for numbers that have none.
    pub fn linear(title: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { title: title.into(), unit: unit.into(), scale: Scale::Linear, range: None }
    }

    /// A logarithmic axis; see [`linear`](Self::linear).
    pub fn log(title: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { scale: Scale::Log, ..Self::linear(title, unit) }
    }

    /// Quantity and unit, as they stand at the axis.
    pub fn label(&self) -> String {
        let Self { title, unit, .. } = self;
        if unit.is_empty() { title.clone() } else { format!("{title} [{unit}]") }
    }

    /// Shows this range, instead of that of the curves.
    #[must_use]
    pub fn range(self, range: Range<f64>) -> Self {
        Self { range: Some(range), ..self }
    }
}

/// What a curve looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    /// Points joined by lines.
    LinePoints,
    /// A line.
    Line,
    /// A dashed line.
    Dashed,
    /// Points.
    Points,
    /// A dashed horizontal line through the first point, across the whole chart: a baseline.
    Level,
    /// A thin grey piece of a line through the first point, y ~ xⁿ: something to compare slopes with, on
    /// logarithmic axes. Its name is not in the legend.
    Slope {
        /// The exponent n.
        order: f64,
        /// Its name stands left above that point, instead of right below.
        above: bool,
    },
}

/// A curve. Curves of one name share an entry of the legend, and a colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Name for the legend.
    pub name: String,
    /// Points (x, y); those that are not finite leave a gap.
    pub points: Vec<(f64, f64)>,
    /// What it looks like.
    pub mark: Mark,
    /// Colour: an index into a list of eight; none: the next one.
    pub color: Option<usize>,
    /// Width of the line in pixels. Where curves coincide, those drawn first should be wider.
    pub width: u32,
}

impl Curve {
    /// Points joined by lines.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, mark: Mark::LinePoints, color: None, width: 2 }
    }

    /// A dashed horizontal baseline.
    pub fn level(name: impl Into<String>, y: f64) -> Self {
        Self { mark: Mark::Level, ..Self::new(name, vec![(1.0, y)]) }
    }

    /// A line y ~ xⁿ through a point, on logarithmic axes, its name right below: for a place below a curve.
    pub fn slope(name: impl Into<String>, order: f64, through: (f64, f64)) -> Self {
        let mark = Mark::Slope { order, above: false };
        Self { mark, width: 1, ..Self::new(name, vec![through]) }
    }

    /// The same, its name left above: for a place above a curve.
    pub fn slope_above(name: impl Into<String>, order: f64, through: (f64, f64)) -> Self {
        Self { mark: Mark::Slope { order, above: true }, ..Self::slope(name, order, through) }
    }

    /// Changes what it looks like.
    #[must_use]
    pub fn mark(self, mark: Mark) -> Self {
        Self { mark, ..self }
    }

    /// Changes its colour.
    #[must_use]
    pub fn color(self, color: usize) -> Self {
        Self { color: Some(color), ..self }
    }

    /// Changes the width of its line, in pixels.
    #[must_use]
    pub fn width(self, width: u32) -> Self {
        Self { width, ..self }
    }
}

/// Curves over common axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Title; may be empty.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The curves; later ones are drawn over earlier ones.
    pub curves: Vec<Curve>,
}

/// Charts in rows, with one legend on the right.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Title.
    pub title: String,
    /// Charts in a row.
    pub columns: usize,
    /// The charts, row by row.
    pub charts: Vec<Chart>,
}

/// Sizes.
const HEAD: u32 = 44 * UPX;
const CHART: (u32, u32) = (372 * UPX, 316 * UPX);
const LEGEND: u32 = 214 * UPX;
/// Room around the box of a chart: left, right, top, bottom.
const MARGIN: [i32; 4] = [74 * PX, 14 * PX, 30 * PX, 50 * PX];
const LINE: i32 = 19 * PX;
/// Colour of slopes.
const GUIDE: RGBColor = RGBColor(120, 120, 120);

impl Figure {
    /// Draws the figure; returns the SVG text.
    ///
    /// # Errors
    /// If the drawing library fails.
    pub fn svg(&self) -> Result<String, PlotError> {
        self.draw(true)
    }

    /// The same without the legend, for a figure beside another that has it.
    ///
    /// # Errors
    /// If the drawing library fails.
    pub fn svg_without_legend(&self) -> Result<String, PlotError> {
        self.draw(false)
    }

    fn draw(&self, with_legend: bool) -> Result<String, PlotError> {
        let columns = self.columns.clamp(1, 8);
        let rows = self.charts.len().div_ceil(columns).clamp(1, 100);
        let legend = self.legend();
        let lines = if with_legend { legend.len() + 1 } else { 0 };
        let least = u32::try_from(lines).unwrap_or(u32::MAX).min(100) * LINE.unsigned_abs();
        let times = |size: u32, n: usize| size * u32::try_from(n).unwrap_or(1);
        let charts_width = times(CHART.0, columns);
        let width = charts_width + if with_legend { LEGEND } else { 0 };
        let height = HEAD + times(CHART.1, rows).max(least);
        picture((width, height), |root| {
            let (head, body) = root.split_vertically(HEAD);
            let style = font(19).color(&INK);
            head.draw(&Text::new(self.title.clone(), (14 * PX, 14 * PX), style))
                .map_err(message)?;
            let (charts, right) = body.split_horizontally(charts_width);
            let areas = charts.split_evenly((rows, columns));
            for (area, chart) in areas.iter().zip(&self.charts) {
                chart.draw(area, &legend)?;
            }
            if with_legend { draw_legend(&right, &legend) } else { Ok(()) }
        })
    }

    /// Names in order of appearance, with mark and colour; baselines last. Slopes have none.
    fn legend(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut next = 0;
        for curve in self.charts.iter().flat_map(|chart| &chart.curves) {
            let slope = matches!(curve.mark, Mark::Slope { .. });
            if slope || entries.iter().any(|entry| entry.name == curve.name) {
                continue;
            }
            let color = match curve.color {
                Some(color) => COLORS[color % COLORS.len()],
                None if curve.mark == Mark::Level => INK,
                None => {
                    next += 1;
                    COLORS[(next - 1) % COLORS.len()]
                }
            };
            let Curve { name, mark, width, .. } = curve.clone();
            entries.push(Entry { name, mark, color, width });
        }
        entries.sort_by_key(|entry| entry.mark == Mark::Level);
        entries
    }
}

/// An entry of the legend.
struct Entry {
    name: String,
    mark: Mark,
    color: RGBColor,
    width: u32,
}

/// Shows each entry beside what it looks like.
fn draw_legend(area: &Area<'_>, entries: &[Entry]) -> Result<(), String> {
    let mut y = MARGIN[2] + 8 * PX;
    for entry in entries {
        let (from, to) = ((6 * PX, y), (34 * PX, y));
        let pen = Pen { mark: entry.mark, color: entry.color, width: entry.width };
        pen.stroke(area, &[from, to])?;
        pen.dot(area, (20 * PX, y))?;
        let style = font(13).color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(entry.name.clone(), (42 * PX, y), style)).map_err(message)?;
        y += LINE;
    }
    Ok(())
}

/// What lines and points are drawn with.
struct Pen {
    mark: Mark,
    color: RGBColor,
    width: u32,
}

impl Pen {
    /// A line as the mark has it.
    fn stroke(&self, area: &Area<'_>, points: &[(i32, i32)]) -> Result<(), String> {
        let style = self.color.stroke_width(self.width * UPX);
        let points = points.iter().copied();
        match self.mark {
            Mark::Points => Ok(()),
            Mark::Dashed | Mark::Level => {
                area.draw(&DashedPathElement::new(points, 6 * UPX, 4 * UPX, style)).map_err(message)
            }
            _ => area.draw(&PathElement::new(points.collect::<Vec<_>>(), style)).map_err(message),
        }
    }

    /// A point, where the mark has points.
    fn dot(&self, area: &Area<'_>, at: (i32, i32)) -> Result<(), String> {
        if !matches!(self.mark, Mark::LinePoints | Mark::Points) {
            return Ok(());
        }
        let radius = 2 * PX + i32::try_from(self.width).unwrap_or(2) * PX / 2;
        area.draw(&Circle::new(at, radius, self.color.filled())).map_err(message)
    }
}

/// Maps an axis to drawing units.
struct Map {
    scale: Scale,
    /// Ends of the axis after the scale was applied.
    range: Range<f64>,
    /// Where the ends are.
    ends: [i32; 2],
}

impl Map {
    fn new<'a>(axis: &Axis, values: impl Iterator<Item = &'a f64>, ends: [i32; 2]) -> Self {
        let scale = axis.scale;
        let range = match &axis.range {
            Some(range) => scale.apply(range.start)..scale.apply(range.end),
            None => padded(values.map(|x| scale.apply(*x)), 0.05),
        };
        Self { scale, range, ends }
    }

    /// Place of a number; none if it has none. Places outside of the range are cut off later.
    fn place(&self, x: f64) -> Option<f64> {
        let share = (self.scale.apply(x) - self.range.start) / (self.range.end - self.range.start);
        let [from, to] = self.ends.map(f64::from);
        share.is_finite().then_some(from + share * (to - from))
    }

    /// Numbers with their labels.
    fn ticks(&self) -> Vec<(f64, String)> {
        let Range { start, end } = self.range;
        if self.scale == Scale::Log && end - start >= 1.5 {
            // every decade, or every second, third, …
            let every = ((end - start) / 7.0).ceil().max(1.0);
            let first = (start / every).ceil() * every;
            return steps(first, every, end).map(|k| (10_f64.powf(k), power(k))).collect();
        }
        if self.scale == Scale::Log && end - start >= 0.5 {
            // 1, 2, 5 of every decade
            let numbers = steps(start.floor(), 1.0, end)
                .flat_map(|k| [1.0, 2.0, 5.0].map(|x| x * 10_f64.powf(k)));
            let inside = numbers.filter(|x| (start..=end).contains(&x.log10()));
            return inside.map(|x| (x, number(x))).collect();
        }
        let (low, high) = match self.scale {
            Scale::Linear => (start, end),
            Scale::Log => (10_f64.powf(start), 10_f64.powf(end)),
        };
        let rough = (high - low) / 5.0;
        let decade = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * decade);
        let step = step.into_iter().find(|s| *s >= rough).unwrap_or(10.0 * decade);
        let first = (low / step - 1e-9).ceil() * step;
        // multiples of the step, without what adding it up would round
        let exact = |x: f64| (x / step).round() * step;
        steps(first, step, high).map(|x| (exact(x), number(exact(x)))).collect()
    }
}

/// `first`, `first + step`, … up to `last`.
fn steps(first: f64, step: f64, last: f64) -> impl Iterator<Item = f64> {
    let room = 1e-9 * step;
    (0..100).map(move |k| first + f64::from(k) * step).take_while(move |x| *x <= last + room)
}

/// 10ᵏ.
fn power(k: f64) -> String {
    let digits = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    let mut text = "10".to_owned();
    for c in format!("{k:.0}").chars() {
        let digit = c.to_digit(10).and_then(|d| digits.chars().nth(d as usize));
        text.push(digit.unwrap_or('⁻'));
    }
    text
}

impl Chart {
    fn draw(&self, area: &Area<'_>, legend: &[Entry]) -> Result<(), String> {
        let (width, height) = area.dim_in_pixel();
        let [left, right, top, bottom] = MARGIN;
        let end = |size: u32, margin: i32| i32::try_from(size).unwrap_or(i32::MAX) - margin;
        let frame = [left, end(width, right), top, end(height, bottom)];
        // guides fit into the range of the others
        let data = || {
            let curves = self.curves.iter().filter(|c| !matches!(c.mark, Mark::Slope { .. }));
            curves.flat_map(|c| c.points.iter().map(|p| (c.mark == Mark::Level, p)))
        };
        let x = data().filter(|(level, _)| !level).map(|(_, p)| &p.0);
        let x = Map::new(&self.x, x, [frame[0], frame[1]]);
        let y = Map::new(&self.y, data().map(|(_, p)| &p.1), [frame[3], frame[2]]);
        self.draw_axes(area, &frame, &x, &y)?;
        for curve in &self.curves {
            let entry = legend.iter().find(|entry| entry.name == curve.name);
            draw_curve(area, curve, entry.map_or(GUIDE, |entry| entry.color), &frame, &x, &y)?;
        }
        // over the curves, which may pass there
        for curve in &self.curves {
            if let (Mark::Slope { above, .. }, Some(&(px, py))) = (curve.mark, curve.points.first())
                && let (Some(px), Some(py)) = (x.place(px), y.place(py))
            {
                draw_label(area, &curve.name, (round(px), round(py)), above)?;
            }
        }
        Ok(())
    }

    fn draw_axes(&self, area: &Area<'_>, frame: &[i32; 4], x: &Map, y: &Map) -> Result<(), String> {
        let [left, right, top, bottom] = *frame;
        let text = |text: String, at: (i32, i32), size: u32, pos: (HPos, VPos)| {
            let style = font(size).color(&INK).pos(Pos::new(pos.0, pos.1));
            area.draw(&Text::new(text, at, style)).map_err(message)
        };
        let line = |ends: [(i32, i32); 2], color: RGBColor| {
            area.draw(&PathElement::new(ends, color.stroke_width(UPX))).map_err(message)
        };
        for (value, label) in x.ticks() {
            let Some(at) = x.place(value).map(round) else { continue };
            line([(at, top), (at, bottom)], FAINT)?;
            text(label, (at, bottom + 7 * PX), 12, (HPos::Center, VPos::Top))?;
        }
        for (value, label) in y.ticks() {
            let Some(at) = y.place(value).map(round) else { continue };
            line([(left, at), (right, at)], FAINT)?;
            text(label, (left - 6 * PX, at), 12, (HPos::Right, VPos::Center))?;
        }
        let corners = [(left, top), (left, bottom), (right, bottom)];
        area.draw(&PathElement::new(corners, INK.stroke_width(UPX))).map_err(message)?;

        let middle = i32::midpoint(left, right);
        text(self.title.clone(), (middle, top - 9 * PX), 14, (HPos::Center, VPos::Bottom))?;
        text(self.x.label(), (middle, bottom + 26 * PX), 13, (HPos::Center, VPos::Top))?;
        let style = font(13).transform(FontTransform::Rotate270).color(&INK);
        let style = style.pos(Pos::new(HPos::Center, VPos::Top));
        let at = (10 * PX, i32::midpoint(top, bottom));
        area.draw(&Text::new(self.y.label(), at, style)).map_err(message)
    }
}

/// The name of a slope beside a point, on white.
fn draw_label(area: &Area<'_>, name: &str, at: (i32, i32), above: bool) -> Result<(), String> {
    let letters = i32::try_from(name.chars().count()).unwrap_or(0);
    let (width, height) = (letters * 6 * PX, 13 * PX);
    let (left, top) = if above {
        (at.0 - 5 * PX - width, at.1 - 2 * PX - height)
    } else {
        (at.0 + 5 * PX, at.1 + 2 * PX)
    };
    let corners = [(left, top), (left + width, top + height)];
    area.draw(&Rectangle::new(corners, WHITE.filled())).map_err(message)?;
    let style = font(11).color(&GUIDE).pos(Pos::new(HPos::Center, VPos::Center));
    let middle = (left + width / 2, top + height / 2);
    area.draw(&Text::new(name.to_owned(), middle, style)).map_err(message)
}

fn draw_curve(
    area: &Area<'_>,
    curve: &Curve,
    color: RGBColor,
    frame: &[i32; 4],
    x: &Map,
    y: &Map,
) -> Result<(), String> {
    let [left, right, ..] = frame.map(f64::from);
    let place = |&(px, py): &(f64, f64)| Some((x.place(px)?, y.place(py)?));
    let mut places: Vec<Option<(f64, f64)>> = curve.points.iter().map(place).collect();
    if let (Mark::Level, Some((_, py))) = (curve.mark, curve.points.first()) {
        places = [left, right].map(|px| Some((px, y.place(*py)?))).into();
    }
    if let (Mark::Slope { order, .. }, Some(&(px, py))) = (curve.mark, curve.points.first()) {
        // some of the width of the chart
        let half = (x.range.end - x.range.start) / 7.0;
        let ends = [10_f64.powf(-half), 10_f64.powf(half)];
        places = ends.map(|k| place(&(px * k, py * k.powf(order)))).into();
    }
    let pen = Pen { mark: curve.mark, color, width: curve.width };
    // gaps where a point is missing, ends where the line leaves the frame
    let mut line: Vec<(i32, i32)> = Vec::new();
    for pair in places.windows(2) {
        let piece = match (pair[0], pair[1]) {
            (Some(from), Some(to)) => clipped(from, to, &frame.map(f64::from)),
            _ => None,
        };
        let Some((from, to)) = piece else { continue };
        if line.last() != Some(&from) {
            pen.stroke(area, &std::mem::take(&mut line))?;
            line.push(from);
        }
        line.push(to);
    }
    pen.stroke(area, &line)?;
    let [left, right, top, bottom] = *frame;
    for at in places.into_iter().flatten().map(|(px, py)| (round(px), round(py))) {
        if (left..=right).contains(&at.0) && (top..=bottom).contains(&at.1) {
            pen.dot(area, at)?;
        }
    }
    Ok(())
}

/// The part of a line that is inside of the frame [left, right, top, bottom].
///
/// Source: Liang and Barsky 1984, A new concept and method for line clipping.
fn clipped(from: (f64, f64), to: (f64, f64), frame: &[f64; 4]) -> Option<((i32, i32), (i32, i32))> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let [left, right, top, bottom] = *frame;
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    let walls =
        [(-dx, from.0 - left), (dx, right - from.0), (-dy, from.1 - top), (dy, bottom - from.1)];
    for (speed, distance) in walls {
        if speed == 0.0 && distance < 0.0 {
            return None;
        }
        if speed < 0.0 {
            enter = enter.max(distance / speed);
        } else if speed > 0.0 {
            leave = leave.min(distance / speed);
        }
    }
    let at = |s: f64| (round(from.0 + s * dx), round(from.1 + s * dy));
    (enter <= leave).then(|| (at(enter), at(leave)))
}

#[expect(clippy::cast_possible_truncation, reason = "places on a page, and the cast saturates")]
fn round(x: f64) -> i32 {
    x.round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(curves: Vec<Curve>) -> Chart {
        let (x, y) = (Axis::log("step", "s"), Axis::log("error", "rad"));
        Chart { title: "chart".to_owned(), x, y, curves }
    }

    #[test]
    fn a_figure_has_titles_units_and_one_legend() {
        let curve = || Curve::new("measured", vec![(1e-3, 1e-6), (1e-1, 1e-2)]);
        let guide = Curve::slope("slope 2", 2.0, (1e-3, 1e-6));
        let charts = vec![chart(vec![curve(), guide]), chart(vec![curve()])];
        let figure = Figure { title: "figure".to_owned(), columns: 2, charts };
        let text = figure.svg().unwrap();
        for part in ["figure", "chart", "step [s]", "error [rad]", "slope 2", "10⁻³"] {
            assert!(text.contains(part), "{part}");
        }
        assert_eq!(text.matches("measured").count(), 1);
        assert!(!figure.svg_without_legend().unwrap().contains("measured"));
    }

    #[test]
    fn what_cannot_be_shown_is_left_out() {
        let odd = vec![(1.0, f64::NAN), (1.0, 0.0), (-1.0, 1.0), (1.0, f64::INFINITY)];
        for curves in [vec![], vec![Curve::new("odd", odd)], vec![Curve::level("level", 1.0)]] {
            let charts = vec![chart(curves)];
            Figure { title: String::new(), columns: 0, charts }.svg().unwrap();
        }
        Figure { title: String::new(), columns: 3, charts: vec![] }.svg().unwrap();
    }

    #[test]
    fn lines_end_at_the_frame() {
        let frame = [0.0, 10.0, 0.0, 10.0];
        assert_eq!(clipped((-5.0, 5.0), (5.0, 5.0), &frame), Some(((0, 5), (5, 5))));
        assert_eq!(clipped((-10.0, 0.0), (20.0, 30.0), &frame), Some(((0, 10), (0, 10))));
        assert_eq!(clipped((-5.0, -5.0), (-1.0, 20.0), &frame), None);
        assert_eq!(clipped((2.0, 11.0), (8.0, 11.0), &frame), None);
    }

    #[test]
    fn ticks_are_round_numbers() {
        let map = |scale, range| Map { scale, range, ends: [0, 100] };
        let labels = |m: &Map| m.ticks().into_iter().map(|t| t.1).collect::<Vec<_>>();
        assert_eq!(labels(&map(Scale::Linear, 0.0..1.0)), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(&map(Scale::Linear, -0.3..0.1)), ["-0.3", "-0.2", "-0.1", "0", "0.1"]);
        assert_eq!(labels(&map(Scale::Log, -2.0..1.0)), ["10⁻²", "10⁻¹", "10⁰", "10¹"]);
        assert_eq!(labels(&map(Scale::Log, -12.2..-1.0)).first().unwrap(), "10⁻¹²");
        assert_eq!(labels(&map(Scale::Log, 0.5..1.8)), ["5", "10", "20", "50"]);
        assert_eq!(map(Scale::Log, -2.0..0.0).place(0.1), Some(50.0));
        assert_eq!(map(Scale::Log, -2.0..0.0).place(0.0), None);
    }
}
