//! Names in NumPy's `.npz` files: arrays of unicode strings, which `ndarray-npy` leaves to its users.

use std::io::{self, Seek, Write};

use ndarray::Array1;
use ndarray_npy::{NpzWriter, WritableElement, WriteDataError, WriteNpzError};
use py_literal::Value;

/// Adds names as a NumPy array of unicode strings, of up to 1,024 characters each.
///
/// # Errors
/// If the file cannot be written.
pub fn add_names<W: Write + Seek>(
    npz: &mut NpzWriter<W>,
    key: &str,
    names: &[String],
) -> Result<(), WriteNpzError> {
    match names.iter().map(|name| name.chars().count()).max().unwrap_or(0) {
        ..=16 => npz.add_array(key, &unicode::<16>(names)),
        17..=32 => npz.add_array(key, &unicode::<32>(names)),
        33..=64 => npz.add_array(key, &unicode::<64>(names)),
        65..=128 => npz.add_array(key, &unicode::<128>(names)),
        _ => npz.add_array(key, &unicode::<1024>(names)),
    }
}

/// A string of `N` characters as NumPy stores it: UTF-32, filled up with zeros, cut if longer.
struct Unicode<const N: usize>([u32; N]);

fn unicode<const N: usize>(names: &[String]) -> Array1<Unicode<N>> {
    let pad = |name: &String| {
        let mut chars = name.chars().map(u32::from);
        Unicode(std::array::from_fn(|_| chars.next().unwrap_or(0)))
    };
    names.iter().map(pad).collect()
}

impl<const N: usize> WritableElement for Unicode<N> {
    fn type_descriptor() -> Value {
        Value::String(format!("<U{N}"))
    }

    fn write<W: io::Write>(&self, mut writer: W) -> Result<(), WriteDataError> {
        self.0.iter().try_for_each(|char| Ok(writer.write_all(&char.to_le_bytes())?))
    }

    fn write_slice<W: io::Write>(slice: &[Self], mut writer: W) -> Result<(), WriteDataError> {
        slice.iter().try_for_each(|name| name.write(&mut writer))
    }
}
