//! Golden data: what the oracle (MuJoCo) computed for one model, read from `<name>.npz` and `<name>.json`.
//!
//! The npz holds arrays of three types (`f8`, `i4`, `u1`) under keys with slashes, the json their
//! header. Keys:
//!
//! | key | content |
//! |---|---|
//! | `model/<field>` | arrays of the compiled model, by MuJoCo's names |
//! | `s<k>/in/<field>` | a state and its inputs |
//! | `s<k>/fwd/<field>` | forward dynamics there, with the model's own options |
//! | `s<k>/smooth/<field>` | the same without constraints |
//! | `s<k>/smooth_step1/<field>`, … | the state after that many steps |
//! | `s<k>/fd_smooth/{A,B,C,D}`, … | transition matrices by centred finite differences |

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use ndarray::{ArrayD, IxDyn, OwnedRepr};
use ndarray_npy::{NpzReader, ReadNpyError, ReadNpzError};
use serde::Deserialize;

/// Golden data of one model.
#[derive(Clone, Debug)]
pub struct Golden {
    /// What the json says.
    pub header: Header,
    arrays: BTreeMap<String, Array>,
}

/// One array, as stored.
#[derive(Clone, Debug)]
enum Array {
    F64(ArrayD<f64>),
    I32(ArrayD<i32>),
    U8(ArrayD<u8>),
}

/// Header of golden data: the json file. Unknown entries are ignored, absent ones are empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Header {
    /// Path of the model, relative to the folder of models.
    pub model: String,
    /// Name of the golden file.
    pub name: String,
    /// Version of MuJoCo.
    pub mujoco: String,
    /// Options (`mjOption`), by MuJoCo's names: numbers and arrays of numbers.
    pub opt: BTreeMap<String, serde_json::Value>,
    /// Names of objects in order of index, by kind.
    pub names: BTreeMap<String, Vec<Option<String>>>,
    /// Sizes (`nq`, `nv`, …).
    pub size: BTreeMap<String, usize>,
    /// Statistics (`mjStatistic`).
    pub stat: BTreeMap<String, serde_json::Value>,
    /// Figures of each state.
    pub states: BTreeMap<String, StateHeader>,
    /// Keys whose arrays hold numbers that are not finite.
    pub nonfinite: Vec<serde_json::Value>,
}

/// Figures of one state. None where the oracle computed none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StateHeader {
    /// Number of contacts.
    pub ncon: Option<usize>,
    /// Number of constraint rows.
    pub nefc: Option<usize>,
    /// Relative residual of the oracle's own converged solution.
    pub conv_residual: Option<f64>,
    /// Precision of the finite differences `fd_smooth/A`.
    pub fd_smooth_A_noise: Option<f64>,
    /// Precision of the finite differences `fd_smooth/B`.
    pub fd_smooth_B_noise: Option<f64>,
    /// Precision of the finite differences `fd_conv/A`.
    pub fd_conv_A_noise: Option<f64>,
    /// Precision of the finite differences `fd_conv/B`.
    pub fd_conv_B_noise: Option<f64>,
}

/// Why golden data could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GoldenError {
    /// A file cannot be opened or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The json is not what is expected.
    #[error("{}: {source}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The npz, or an array in it, is not what is expected.
    #[error("{}: {key}{source}", path.display())]
    Array {
        /// The file.
        path: PathBuf,
        /// The array and a colon; empty for the archive itself.
        key: String,
        /// What is wrong with it.
        source: ReadNpzError,
    },
}

impl Golden {
    /// Reads `<stem>.npz` and `<stem>.json`.
    ///
    /// # Errors
    /// If a file is missing or damaged, or an array has another type than `f8`, `i4`, `u1`.
    pub fn load(stem: &Path) -> Result<Self, GoldenError> {
        Self::load_keys(stem, |_| true)
    }

    /// Reads the header and those arrays whose key is `wanted`: the others cost nothing.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_keys(stem: &Path, wanted: impl Fn(&str) -> bool) -> Result<Self, GoldenError> {
        // the stem may hold dots, which `with_extension` would take for an extension
        let with = |extension: &str| {
            let mut path = stem.as_os_str().to_owned();
            path.push(extension);
            PathBuf::from(path)
        };
        Ok(Self { header: read_header(&with(".json"))?, arrays: read_npz(&with(".npz"), wanted)? })
    }

    /// An array of any stored type as real numbers.
    pub fn f64(&self, key: &str) -> Option<ArrayD<f64>> {
        Some(match self.arrays.get(key)? {
            Array::F64(a) => a.clone(),
            Array::I32(a) => a.mapv(f64::from),
            Array::U8(a) => a.mapv(f64::from),
        })
    }

    /// The same, flattened in C order.
    pub fn flat(&self, key: &str) -> Option<Vec<f64>> {
        Some(match self.arrays.get(key)? {
            Array::F64(a) => a.iter().copied().collect(),
            Array::I32(a) => a.iter().copied().map(f64::from).collect(),
            Array::U8(a) => a.iter().copied().map(f64::from).collect(),
        })
    }

    /// An array of integers (`i4` or `u1`).
    pub fn i32(&self, key: &str) -> Option<ArrayD<i32>> {
        match self.arrays.get(key)? {
            Array::F64(_) => None,
            Array::I32(a) => Some(a.clone()),
            Array::U8(a) => Some(a.mapv(i32::from)),
        }
    }

    /// An array of bytes (`u1`).
    pub fn u8(&self, key: &str) -> Option<ArrayD<u8>> {
        match self.arrays.get(key)? {
            Array::U8(a) => Some(a.clone()),
            _ => None,
        }
    }

    /// Keys of all arrays that were read, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.arrays.keys().map(String::as_str)
    }

    /// Names of the states, `s0`, `s1`, ….
    pub fn states(&self) -> Vec<&str> {
        self.header.states.keys().map(String::as_str).collect()
    }
}

fn read_header(path: &Path) -> Result<Header, GoldenError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| GoldenError::Io { path: path.to_owned(), source })?;
    serde_json::from_str(&without_nonfinite(&text))
        .map_err(|source| GoldenError::Header { path: path.to_owned(), source })
}

/// Python writes `NaN` and `Infinity`, which JSON does not know: they become `null`.
fn without_nonfinite(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut in_string) = (text, false);
    while let Some(c) = rest.chars().next() {
        let token = if in_string {
            None
        } else {
            ["NaN", "Infinity", "-Infinity"].into_iter().find(|t| rest.starts_with(t))
        };
        let (piece, len) = match (token, c) {
            (Some(token), _) => ("null", token.len()),
            // an escape is two characters, the second of which may be a quote
            (None, '\\') => {
                let len = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                (&rest[..len], len)
            }
            (None, _) => (&rest[..c.len_utf8()], c.len_utf8()),
        };
        in_string ^= c == '"';
        out.push_str(piece);
        rest = &rest[len..];
    }
    out
}

fn read_npz(
    path: &Path,
    wanted: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, Array>, GoldenError> {
    let file =
        File::open(path).map_err(|source| GoldenError::Io { path: path.to_owned(), source })?;
    let damaged = |key: &str, source| {
        let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
        GoldenError::Array { path: path.to_owned(), key, source }
    };
    let mut npz = NpzReader::new(file).map_err(|e| damaged("", e))?;
    let names = npz.names().map_err(|e| damaged("", e))?;
    let mut arrays = BTreeMap::new();
    for (index, key) in names.into_iter().enumerate().filter(|(_, key)| wanted(key)) {
        let array = read_array(&mut npz, index).map_err(|e| damaged(&key, e))?;
        arrays.insert(key, array);
    }
    Ok(arrays)
}

/// Tries the three types in turn: the header of an array names its type, but only its reader sees it.
fn read_array(npz: &mut NpzReader<File>, index: usize) -> Result<Array, ReadNpzError> {
    let other_type =
        |e: &ReadNpzError| matches!(e, ReadNpzError::Npy(ReadNpyError::WrongDescriptor(_)));
    match npz.by_index::<OwnedRepr<f64>, IxDyn>(index) {
        Err(e) if other_type(&e) => {}
        found => return found.map(Array::F64),
    }
    match npz.by_index::<OwnedRepr<i32>, IxDyn>(index) {
        Err(e) if other_type(&e) => npz.by_index::<OwnedRepr<u8>, IxDyn>(index).map(Array::U8),
        found => found.map(Array::I32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, array};
    use ndarray_npy::NpzWriter;

    /// A stem in the system's temporary folder, with a dot and unique to the test.
    fn stem(test: &str) -> PathBuf {
        std::env::temp_dir().join(format!("dualstep-golden-{}-v1.0-{test}", std::process::id()))
    }

    fn path(stem: &Path, extension: &str) -> PathBuf {
        PathBuf::from(format!("{}{extension}", stem.display()))
    }

    #[test]
    fn reads_what_was_written() {
        let stem = stem("round-trip");
        let mut npz = NpzWriter::new_compressed(File::create(path(&stem, ".npz")).unwrap());
        npz.add_array("model/body_mass", &array![[1.0, 2.5], [3.0, -4.0]]).unwrap();
        npz.add_array("model/jnt_type", &array![3_i32, -1]).unwrap();
        npz.add_array("s0/in/eq_active", &array![1_u8, 0]).unwrap();
        npz.add_array("s0/in/act", &Array1::<f64>::zeros(0)).unwrap();
        npz.finish().unwrap();
        let json = r#"{"name": "a\"NaN", "mujoco": "4.0.1", "size": {"nq": 2},
            "names": {"body": ["world", null]},
            "states": {"s0": {"ncon": 0, "conv_residual": NaN, "fd_smooth_A_noise": 1e-9}}}"#;
        std::fs::write(path(&stem, ".json"), json).unwrap();

        let golden = Golden::load(&stem).unwrap();
        assert_eq!(golden.f64("model/body_mass").unwrap().shape(), &[2, 2]);
        assert_eq!(golden.flat("model/body_mass").unwrap(), [1.0, 2.5, 3.0, -4.0]);
        assert_eq!(golden.i32("model/jnt_type").unwrap().as_slice().unwrap(), [3, -1]);
        assert_eq!(golden.flat("model/jnt_type").unwrap(), [3.0, -1.0]);
        assert_eq!(golden.u8("s0/in/eq_active").unwrap().as_slice().unwrap(), [1, 0]);
        assert!(golden.flat("s0/in/act").unwrap().is_empty());
        assert!(golden.f64("model/absent").is_none());
        assert!(golden.i32("model/body_mass").is_none());
        assert_eq!(golden.states(), ["s0"]);
        assert_eq!(golden.header.name, "a\"NaN");
        assert_eq!(golden.header.states["s0"].conv_residual, None);
        assert_eq!(golden.header.states["s0"].fd_smooth_A_noise, Some(1e-9));

        let some = Golden::load_keys(&stem, |key| key.starts_with("model/")).unwrap();
        assert_eq!(some.keys().collect::<Vec<_>>(), ["model/body_mass", "model/jnt_type"]);
        std::fs::remove_file(path(&stem, ".npz")).unwrap();
        std::fs::remove_file(path(&stem, ".json")).unwrap();
    }

    #[test]
    fn refuses_what_is_not_golden() {
        let stem = stem("damaged");
        assert!(matches!(Golden::load(&stem), Err(GoldenError::Io { .. })));
        std::fs::write(path(&stem, ".json"), "{").unwrap();
        assert!(matches!(Golden::load(&stem), Err(GoldenError::Header { .. })));
        std::fs::write(path(&stem, ".json"), "{}").unwrap();
        std::fs::write(path(&stem, ".npz"), "PK").unwrap();
        assert!(matches!(Golden::load(&stem), Err(GoldenError::Array { .. })));
        let mut npz = NpzWriter::new(File::create(path(&stem, ".npz")).unwrap());
        npz.add_array("x", &array![1.0_f32]).unwrap();
        npz.finish().unwrap();
        let error = Golden::load(&stem).unwrap_err();
        assert!(error.to_string().contains(".npz: x: "), "{error}");
        std::fs::remove_file(path(&stem, ".npz")).unwrap();
        std::fs::remove_file(path(&stem, ".json")).unwrap();
    }
}
