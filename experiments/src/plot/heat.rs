//! Entries of a matrix as colours on a logarithmic scale.

use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Area, INK, PX, PlotError, UPX, font, message, picture};

/// A heat map: zero is blank, what exceeds the limit is red.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// Title.
    pub title: String,
    /// Rows and columns.
    pub size: [usize; 2],
    /// Entries that are not zero: row, column, value; not negative.
    pub entries: Vec<(usize, usize, f64)>,
    /// Names and lengths of groups of rows, in order; a line separates them.
    pub rows: Vec<(String, usize)>,
    /// The same of columns.
    pub columns: Vec<(String, usize)>,
    /// Blocks, by ranges of rows and columns, that have nothing to show; they are grey.
    pub absent: Vec<[std::ops::Range<usize>; 2]>,
    /// Exponents of the ends of the scale; values above the upper end are red.
    pub decades: [i32; 2],
    /// Title of the scale.
    pub scale: String,
}

/// Entries in a row or column at most: larger matrices show the largest of several entries in one cell.
const CELLS: usize = 150;
/// Sizes.
const MAP: u32 = 560 * UPX;
const LEFT: u32 = 64 * UPX;
const TOP: u32 = 62 * UPX;
const BOTTOM: u32 = 16 * UPX;
const SCALE: u32 = 190 * UPX;
/// Colours from the smallest to the largest value: light to dark, also in grey print.
const LOW: [f64; 3] = [222.0, 235.0, 247.0];
const MIDDLE: [f64; 3] = [66.0, 146.0, 198.0];
const HIGH: [f64; 3] = [8.0, 29.0, 88.0];
const ABOVE: RGBColor = RGBColor(213, 94, 0);
const ABSENT: RGBColor = RGBColor(240, 240, 240);
const BORDER: RGBColor = RGBColor(130, 130, 130);
/// Steps of colour in a decade.
const STEPS: f64 = 2.0;

/// Drawing units of the map.
struct Layout {
    /// Entries in a cell, along a side.
    pool: usize,
    /// Units of an entry.
    unit: f64,
    left: i32,
    top: i32,
}

impl HeatMap {
    /// Draws the map; returns the SVG text.
    ///
    /// # Errors
    /// If the drawing library fails.
    pub fn svg(&self) -> Result<String, PlotError> {
        let [rows, columns] = self.size;
        let most = rows.max(columns).max(1);
        let unit = (f64::from(MAP) / most as f64).min(f64::from(18 * UPX));
        let layout = Layout {
            pool: most.div_ceil(CELLS),
            unit,
            left: i32::try_from(LEFT).unwrap_or(0),
            top: i32::try_from(TOP).unwrap_or(0),
        };
        let size = |n: usize| u32::try_from(length(unit, n)).unwrap_or(MAP);
        let width = LEFT + size(columns).max(200 * UPX) + SCALE;
        let height = TOP + size(rows).max(210 * UPX) + BOTTOM;
        picture((width, height), |root| {
            let style = font(15).color(&INK);
            root.draw(&Text::new(self.title.clone(), (8 * PX, 10 * PX), style)).map_err(message)?;
            self.draw_map(root, &layout)?;
            self.draw_borders(root, &layout)?;
            let x = i32::try_from(width - SCALE).unwrap_or(0) + 26 * PX;
            self.draw_scale(root, (x, layout.top))
        })
    }

    fn draw_map(&self, area: &Area<'_>, l: &Layout) -> Result<(), String> {
        for [rows, columns] in &self.absent {
            let corners = [l.at(columns.start, rows.start), l.at(columns.end, rows.end)];
            area.draw(&Rectangle::new(corners, ABSENT.filled())).map_err(message)?;
        }
        let wide = self.size[1].div_ceil(l.pool);
        let mut cells = vec![0.0_f64; self.size[0].div_ceil(l.pool) * wide];
        for (i, k, value) in &self.entries {
            let cell = &mut cells[i / l.pool * wide + k / l.pool];
            *cell = cell.max(*value);
        }
        for (i, row) in cells.chunks(wide.max(1)).enumerate() {
            // neighbours of one colour are one rectangle
            let mut k = 0;
            while k < row.len() {
                let color = self.color(row[k]);
                let run = row[k..].iter().take_while(|x| self.color(**x) == color).count();
                if let Some(color) = color {
                    let end = [(k + run) * l.pool, (i + 1) * l.pool];
                    let from = l.at(k * l.pool, i * l.pool);
                    let to = l.at(end[0].min(self.size[1]), end[1].min(self.size[0]));
                    area.draw(&Rectangle::new([from, to], color.filled())).map_err(message)?;
                }
                k += run;
            }
        }
        Ok(())
    }

    /// Lines between groups, a frame, and the names of groups that have room for them.
    fn draw_borders(&self, area: &Area<'_>, l: &Layout) -> Result<(), String> {
        let [rows, columns] = self.size;
        let text = |name: &str, at: (i32, i32), pos: (HPos, VPos)| {
            let style = font(12).color(&INK).pos(Pos::new(pos.0, pos.1));
            area.draw(&Text::new(name.to_owned(), at, style)).map_err(message)
        };
        let dashed = |ends: [(i32, i32); 2]| {
            let style = BORDER.stroke_width(UPX);
            area.draw(&DashedPathElement::new(ends, 3 * UPX, 3 * UPX, style)).map_err(message)
        };
        let mut first = 0;
        for (name, n) in &self.columns {
            let middle = i32::midpoint(l.at(first, 0).0, l.at(first + n, 0).0);
            text(name, (middle, l.top - 6 * PX), (HPos::Center, VPos::Bottom))?;
            first += n;
            if first < columns {
                dashed([l.at(first, 0), l.at(first, rows)])?;
            }
        }
        let mut first = 0;
        for (name, n) in &self.rows {
            let middle = i32::midpoint(l.at(0, first).1, l.at(0, first + n).1);
            text(name, (l.left - 6 * PX, middle), (HPos::Right, VPos::Center))?;
            first += n;
            if first < rows {
                dashed([l.at(0, first), l.at(columns, first)])?;
            }
        }
        let frame = [l.at(0, 0), l.at(columns, rows)];
        area.draw(&Rectangle::new(frame, INK.stroke_width(UPX))).map_err(message)
    }

    /// The scale, from the top down: what is above it, its colours, blank for zero, grey for nothing.
    fn draw_scale(&self, area: &Area<'_>, (x, top): (i32, i32)) -> Result<(), String> {
        let [low, high] = self.decades;
        let text = |text: &str, at: (i32, i32)| {
            let style = font(12).color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(text.to_owned(), at, style)).map_err(message)
        };
        let swatch = |y: i32, height: i32, style: ShapeStyle| {
            let corners = [(x, y), (x + 16 * PX, y + height)];
            area.draw(&Rectangle::new(corners, style)).map_err(message)
        };
        text(&self.scale, (x, top + 4 * PX))?;
        let mut y = top + 18 * PX;
        swatch(y, 11 * PX, ABOVE.filled())?;
        text(&format!("above 1e{high}"), (x + 23 * PX, y + 5 * PX))?;
        y += 22 * PX;
        let steps = high - low;
        let step = (110 / steps.max(1)).clamp(4, 18) * PX;
        for k in 0..steps {
            let exponent = high - k;
            let value = 10_f64.powf(f64::from(exponent) - 0.25);
            let color = self.color(value).unwrap_or(WHITE);
            swatch(y, step, color.filled())?;
            if k % 2 == 0 {
                text(&format!("1e{exponent}"), (x + 23 * PX, y))?;
            }
            y += step;
        }
        text(&format!("1e{low} and less"), (x + 23 * PX, y))?;
        y += 18 * PX;
        swatch(y, 11 * PX, BORDER.stroke_width(UPX))?;
        text("equal to the last bit", (x + 23 * PX, y + 5 * PX))?;
        if !self.absent.is_empty() {
            y += 17 * PX;
            swatch(y, 11 * PX, ABSENT.filled())?;
            text("nothing to compare", (x + 23 * PX, y + 5 * PX))?;
        }
        Ok(())
    }

    /// Colour of a value; none for zero.
    fn color(&self, value: f64) -> Option<RGBColor> {
        let [low, high] = self.decades.map(f64::from);
        if value <= 0.0 {
            return None;
        }
        // the limit itself is within it
        if value.is_nan() || value.log10() > high + 1e-9 {
            return Some(ABOVE);
        }
        let steps = ((high - low) * STEPS).max(1.0);
        let share = ((value.log10() - low) * STEPS).floor().clamp(0.0, steps - 1.0)
            / (steps - 1.0).max(1.0);
        let mix = |a: f64, b: f64, s: f64| a + (b - a) * s;
        let part = |k: usize| match share {
            s if s < 0.5 => mix(LOW[k], MIDDLE[k], 2.0 * s),
            s => mix(MIDDLE[k], HIGH[k], 2.0 * s - 1.0),
        };
        Some(RGBColor(byte(part(0)), byte(part(1)), byte(part(2))))
    }
}

impl Layout {
    /// Corner of an entry, by column and row.
    fn at(&self, column: usize, row: usize) -> (i32, i32) {
        (self.left + length(self.unit, column), self.top + length(self.unit, row))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "places on a page, and the cast saturates")]
fn length(unit: f64, n: usize) -> i32 {
    (unit * n as f64).round() as i32
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a colour between two others, and the cast saturates"
)]
fn byte(x: f64) -> u8 {
    x.round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(n: usize) -> HeatMap {
        HeatMap {
            title: "map".to_owned(),
            size: [n, n],
            entries: vec![(0, 0, 1e-15), (0, 1, 1e-15), (n - 1, 0, 1e-3)],
            rows: vec![("q⁺".to_owned(), 1), ("v⁺".to_owned(), n - 1)],
            columns: vec![("q".to_owned(), n)],
            absent: vec![[1..2, 0..n]],
            decades: [-18, -11],
            scale: "error".to_owned(),
        }
    }

    #[test]
    fn colours_follow_decades() {
        let map = map(3);
        assert_eq!(map.color(0.0), None);
        assert_eq!(map.color(1e-10), Some(ABOVE));
        assert_eq!(map.color(f64::NAN), Some(ABOVE));
        assert_ne!(map.color(1e-11), Some(ABOVE));
        let [small, large] = [1e-17, 1e-12].map(|x| map.color(x).unwrap());
        assert!(small.0 > large.0 && small.1 > large.1, "darker where larger");
        assert_eq!(map.color(1e-30), map.color(1e-18));
    }

    #[test]
    fn neighbours_are_merged_and_large_matrices_pooled() {
        let text = map(3).svg().unwrap();
        for part in ["map", "q⁺", "v⁺", "error", "above 1e-11", "nothing to compare"] {
            assert!(text.contains(part), "{part}");
        }
        let color = |x: f64| {
            let RGBColor(r, g, b) = map(3).color(x).unwrap();
            format!("#{r:02X}{g:02X}{b:02X}")
        };
        // two entries are one rectangle; the scale may have one more
        let drawn = text.matches(&color(1e-15)).count();
        assert!((1..=2).contains(&drawn), "{drawn}");
        let large = map(1000).svg().unwrap();
        assert!(large.len() < 20_000);
        HeatMap { size: [0, 0], entries: vec![], ..map(3) }.svg().unwrap();
    }
}
