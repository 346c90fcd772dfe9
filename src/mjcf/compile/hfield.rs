//! Height fields: inline, from an image, or from MuJoCo's binary format.
//!
//! Source: MuJoCo `mjCHField::Compile`.

use std::fs;
use std::path::Path;

use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::HFieldSpec;

use super::asset::{Elevation, find_file};
use super::context::Context;

/// A height field file larger than this many points is refused.
const MAX_POINTS: usize = 1 << 26;

/// Ranges of elevation below this are flat (`mjEPS`).
const FLAT: f32 = 1e-14;

/// Reads the elevations and scales them to [0, 1].
///
/// # Errors
/// Sizes that are not positive, a file that cannot be read, numbers that do not match.
pub fn compile(ctx: &Context<'_>, spec: &HFieldSpec) -> Result<Elevation, MjcfError> {
    let fail = |attr, kind, message: String| Err(ctx.attr_error(spec.span, attr, kind, message));
    if let Some(s) = spec.size.iter().find(|s| s.is_nan() || **s <= 0.0) {
        return fail("size", MjcfErrorKind::Invalid, format!("sizes must be positive, found {s}"));
    }
    let inline = (spec.nrow, spec.ncol) != (0, 0) || !spec.elevation.is_empty();
    let (nrow, ncol, mut data) = if spec.file.is_empty() {
        match points(spec) {
            Ok(x) => x,
            Err(message) => return fail("elevation", MjcfErrorKind::Invalid, message),
        }
    } else if inline {
        let message = "a height field is given by a file or by numbers, not both".to_owned();
        return fail("file", MjcfErrorKind::Invalid, message);
    } else {
        let path = find_file(ctx, &spec.file, spec.file_span);
        match read(&path, &spec.content_type) {
            Ok(x) => x,
            Err(e) => {
                return fail("file", MjcfErrorKind::Asset, format!("{}: {e}", path.display()));
            }
        }
    };
    if nrow < 2 || ncol < 2 {
        let message = format!("at least 2 rows and 2 columns are needed, found {nrow} × {ncol}");
        return fail("nrow", MjcfErrorKind::Invalid, message);
    }
    normalize(&mut data);
    Ok(Elevation { nrow, ncol, data: data.into_iter().map(f64::from).collect() })
}

type Points = (usize, usize, Vec<f32>);

/// Inline elevations: rows from top to bottom as written, from bottom to top in the model. Without
/// numbers the field is flat, to be filled later.
#[expect(clippy::cast_possible_truncation, reason = "the model stores single precision")]
fn points(spec: &HFieldSpec) -> Result<Points, String> {
    let (Ok(nrow), Ok(ncol)) = (usize::try_from(spec.nrow), usize::try_from(spec.ncol)) else {
        return Err("nrow and ncol cannot be negative".to_owned());
    };
    let n = nrow.checked_mul(ncol).filter(|&n| n <= MAX_POINTS);
    let Some(n) = n else { return Err("too many points".to_owned()) };
    if spec.elevation.is_empty() {
        return Ok((nrow, ncol, vec![0.0; n]));
    }
    if spec.elevation.len() != n {
        let found = spec.elevation.len();
        return Err(format!("{nrow} × {ncol} elevations are needed, found {found}"));
    }
    let rows = spec.elevation.chunks(ncol.max(1)).rev();
    Ok((nrow, ncol, rows.flatten().map(|&x| x as f32).collect()))
}

fn read(path: &Path, content_type: &str) -> Result<Points, String> {
    let bytes = fs::read(path).map_err(|e| e.to_string())?;
    let is_png = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png"));
    match content_type {
        "image/png" => read_png(&bytes),
        "" if is_png => read_png(&bytes),
        "" | "image/vnd.mujoco.hfield" => read_binary(&bytes),
        other => Err(format!("content type `{other}` is not one of a height field")),
    }
}

/// Two 32-bit integers, rows and columns, then the elevations in single precision, little endian.
fn read_binary(bytes: &[u8]) -> Result<Points, String> {
    let word = |i: usize| bytes.get(4 * i..4 * i + 4).and_then(|b| <[u8; 4]>::try_from(b).ok());
    let size = |i: usize| {
        let n = word(i).and_then(|b| usize::try_from(i32::from_le_bytes(b)).ok());
        n.ok_or_else(|| "the header with rows and columns is missing".to_owned())
    };
    let (nrow, ncol) = (size(0)?, size(1)?);
    let n = nrow.checked_mul(ncol).filter(|&n| n <= MAX_POINTS).ok_or("too many points")?;
    if bytes.len() != 8 + 4 * n {
        let found = bytes.len();
        return Err(format!("{nrow} × {ncol} points need {} bytes, found {found}", 8 + 4 * n));
    }
    Ok((nrow, ncol, (0..n).filter_map(|i| word(i + 2)).map(f32::from_le_bytes).collect()))
}

/// Brightness of an image, its last row first.
fn read_png(bytes: &[u8]) -> Result<Points, String> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(|e| e.to_string())?;
    let size = reader.output_buffer_size();
    let mut pixels = vec![0; size];
    let info = reader.next_frame(&mut pixels).map_err(|e| e.to_string())?;
    let (ncol, nrow) = (info.width as usize, info.height as usize);
    let channels = info.color_type.samples();
    // grey is the first channel, also of colour images
    let brightness = |pixel: &[u8]| f32::from(pixel.first().copied().unwrap_or(0));
    let rows = pixels.chunks(ncol.max(1) * channels).take(nrow).rev();
    Ok((nrow, ncol, rows.flat_map(|row| row.chunks(channels)).map(brightness).collect()))
}

/// Scales to [0, 1]; a flat field becomes 0.
fn normalize(data: &mut [f32]) {
    let low = data.iter().copied().fold(f32::INFINITY, f32::min);
    let high = data.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for x in data {
        *x -= low;
        if high - low > FLAT {
            *x /= high - low;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_format_is_checked() {
        let mut bytes = vec![2, 0, 0, 0, 2, 0, 0, 0];
        assert!(read_binary(&bytes).unwrap_err().contains("need 24 bytes, found 8"));
        for x in [1.0f32, 2.0, 3.0, 5.0] {
            bytes.extend(x.to_le_bytes());
        }
        let (nrow, ncol, mut data) = read_binary(&bytes).unwrap();
        assert_eq!((nrow, ncol), (2, 2));
        normalize(&mut data);
        assert_eq!(data, [0.0, 0.25, 0.5, 1.0]);
        assert!(read_binary(&bytes[..5]).is_err());
    }
}
