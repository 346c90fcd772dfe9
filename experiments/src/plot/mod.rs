//! Plots as SVG text: [`panels`] and [`svg`] show trajectories over time, [`figure`] shows numbers against
//! numbers on linear or logarithmic axes, [`heat`] shows the entries of a matrix.

pub mod figure;
pub mod heat;
pub mod trajectory;

pub use figure::{Axis, Chart, Curve, Figure, Mark};
pub use heat::HeatMap;
pub use trajectory::{Panel, Series, panels, svg};

use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;
use thiserror::Error;

/// The drawing library failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot draw the plot: {0}")]
pub struct PlotError(String);

/// Drawing units of a pixel: the drawing library rounds coordinates to whole units, and slow curves would
/// look like stairs in pixels.
const PX: i32 = 8;
/// The same, for sizes.
const UPX: u32 = PX.unsigned_abs();

/// Colours that stay apart for colour-blind readers, strongest first (Okabe and Ito).
const COLORS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
    RGBColor(140, 86, 75),
];
const INK: RGBColor = RGBColor(40, 40, 40);
const FAINT: RGBColor = RGBColor(225, 225, 225);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The text of a picture of this size in drawing units, shown in pixels.
fn picture(
    (width, height): (u32, u32),
    draw: impl FnOnce(&Area<'_>) -> Result<(), String>,
) -> Result<String, PlotError> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        root.fill(&WHITE).map_err(|e| PlotError(e.to_string()))?;
        draw(&root).map_err(PlotError)?;
        root.present().map_err(|e| PlotError(e.to_string()))?;
    }
    let size = |width, height| format!(r#"<svg width="{width}" height="{height}""#);
    Ok(text.replacen(&size(width, height), &size(width / UPX, height / UPX), 1))
}

/// Smallest and largest finite value.
fn extent(values: impl Iterator<Item = f64>) -> Option<Range<f64>> {
    values.filter(|x| x.is_finite()).fold(None, |range: Option<Range<f64>>, x| match range {
        None => Some(x..x),
        Some(range) => Some(range.start.min(x)..range.end.max(x)),
    })
}

/// The extent and some room around it; never empty.
fn padded(values: impl Iterator<Item = f64>, room: f64) -> Range<f64> {
    let Range { start, end } = extent(values).unwrap_or(0.0..1.0);
    let size = start.abs().max(end.abs());
    if end - start <= 1e-9 * size.max(1e-3) {
        // a constant: centred, in a range of its own order of magnitude; rounding errors about zero are zero
        let half = if size > 1e-9 { 0.5 * size } else { 1.0 };
        return start - half..end + half;
    }
    let room = room * (end - start);
    start - room..end + room
}

/// A tick label: six digits at most, no trailing zeros.
fn number(x: f64) -> String {
    let magnitude = x.abs();
    if magnitude != 0.0 && !(1e-3..1e5).contains(&magnitude) {
        return if magnitude < 1e-12 { "0".to_owned() } else { format!("{x:.1e}") };
    }
    let text = format!("{x:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The font, `size` in pixels.
fn font(size: u32) -> FontDesc<'static> {
    ("sans-serif", size * UPX).into_font()
}

fn message(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_short() {
        assert_eq!(number(0.25), "0.25");
        assert_eq!(number(-3.0), "-3");
        assert_eq!(number(1e-17), "0");
        assert_eq!(number(2.5e7), "2.5e7");
        assert_eq!(padded([2.0, 2.0].into_iter(), 0.1), 1.0..3.0);
        assert!(padded([0.0, 1e-15].into_iter(), 0.1).end > 0.9);
    }
}
