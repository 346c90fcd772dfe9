//! States, trajectories and linearizations in NumPy's `.npz` files. The keys are part of the interface.
//!
//! | file | keys |
//! |---|---|
//! | state, read by [`load_state`] | `qpos qvel act ctrl qfrc_applied xfrc_applied mocap_pos mocap_quat time`, each optional |
//! | trajectory, by [`save_trajectory`] | `time qpos qvel act ctrl sensordata energy com_height ncon nefc solver_niter`, one row a state, first the initial one |
//! | linearization, by [`save_transition`] | `A B C D`; the keys of a state; `timestep`; `state_names ctrl_names sensor_names`; `column_origin column_why column_side column_kink` of [A B] and, with `sensor_` before, of [C D] |
//! | gradient of a rollout, by [`save_gradient`] | `cost stage_cost gradient_ctrl costate log_singular log_columns exponents state_names ctrl_names`; `time qpos qvel act ctrl` |
//!
//! Shapes are those of MuJoCo (`xfrc_applied` is nbody × 6); numbers are `float64`, names unicode arrays. A
//! trajectory or a linearization is also a state: of a field with a row per step the last row counts.

use std::fs::File;
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};

use dualstep::math::Quat;
use dualstep::{Data, Model};
use dualstep_derivatives::Transition;
use dualstep_derivatives::npz::add_names;
use dualstep_derivatives::rollout::{Growth, RolloutGradient};
use dualstep_derivatives::tangent::{State, ctrl_names};
use nalgebra::Vector3;
use ndarray::{Array1, Array2, Array3, ArrayD, arr0};
use ndarray_npy::{NpzReader, NpzWriter, ReadNpzError, WriteNpzError};
use thiserror::Error;

use crate::rollout::{Control, Trajectory};

/// Fields of a state, in the order of the documentation.
pub const STATE_KEYS: [&str; 9] = [
    "qpos",
    "qvel",
    "act",
    "ctrl",
    "qfrc_applied",
    "xfrc_applied",
    "mocap_pos",
    "mocap_quat",
    "time",
];

/// Keys of our own files that are no part of a state.
const OTHER_KEYS: [&str; 25] = [
    "sensordata",
    "energy",
    "com_height",
    "ncon",
    "nefc",
    "solver_niter",
    "A",
    "B",
    "C",
    "D",
    "timestep",
    "state_names",
    "ctrl_names",
    "sensor_names",
    "column_origin",
    "column_why",
    "column_side",
    "column_kink",
    "sensor_column_origin",
    "sensor_column_why",
    "sensor_column_side",
    "sensor_column_kink",
    "solver_reached",
    "solver_at_minimum",
    "solver_gradient",
];

/// A file could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not a readable `.npz` file.
    #[error("{} is not a readable .npz file: {message}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A key that no file of ours has.
    #[error("{}: unknown key `{key}`; known are {}", path.display(), STATE_KEYS.join(", "))]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
    },
    /// A key that is needed is not there.
    #[error("{} has no key `{key}`", path.display())]
    MissingKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
    },
    /// An array has the wrong size for the model.
    #[error("{}: `{key}` needs {expected} numbers, found an array of shape {found:?}", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// Numbers that the model has.
        expected: usize,
        /// Shape of the array.
        found: Vec<usize>,
    },
    /// An array holds NaN or infinity.
    #[error("{}: `{key}` holds a number that is not finite", path.display())]
    NonFinite {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
    },
    /// The file cannot be written.
    #[error("cannot write {}: {message}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
}

/// Reads a state into `d`; what the file does not hold stays as it is.
///
/// # Errors
/// If the file cannot be read, has an unknown key, or an array of the wrong size or with NaN.
pub fn load_state(path: &Path, m: &Model, d: &mut Data<f64>) -> Result<(), RecordError> {
    let mut file = NpzFile::open(path)?;
    if let Some(key) = file.unknown_key() {
        return Err(RecordError::UnknownKey { path: path.to_owned(), key });
    }
    let mut read = |key: &str, len: usize, store: &mut dyn FnMut(&[f64])| {
        file.row(key, len).map(|row| {
            if let Some(row) = row {
                store(&row);
            }
        })
    };
    read("qpos", m.nq, &mut |row| d.qpos.copy_from_slice(row))?;
    read("qvel", m.nv, &mut |row| d.qvel.copy_from_slice(row))?;
    read("act", m.na, &mut |row| d.act.copy_from_slice(row))?;
    read("ctrl", m.nu, &mut |row| d.ctrl.copy_from_slice(row))?;
    read("qfrc_applied", m.nv, &mut |row| d.qfrc_applied.copy_from_slice(row))?;
    read("xfrc_applied", 6 * m.nbody, &mut |row| {
        for (to, from) in d.xfrc_applied.iter_mut().zip(row.chunks_exact(6)) {
            to.copy_from_slice(from);
        }
    })?;
    read("mocap_pos", 3 * m.nmocap, &mut |row| {
        for (to, from) in d.mocap_pos.iter_mut().zip(row.chunks_exact(3)) {
            *to = Vector3::from_column_slice(from);
        }
    })?;
    read("mocap_quat", 4 * m.nmocap, &mut |row| {
        for (to, from) in d.mocap_quat.iter_mut().zip(row.chunks_exact(4)) {
            *to = Quat::from_slice(from);
        }
    })?;
    read("time", 1, &mut |row| d.time = row[0])
}

/// Reads controls from the key `ctrl`: nu numbers, or a row per step.
///
/// # Errors
/// If the file cannot be read, has no such key, or an array of the wrong size or with NaN.
pub fn load_ctrl(path: &Path, m: &Model) -> Result<Control, RecordError> {
    let mut file = NpzFile::open(path)?;
    let key = "ctrl";
    let Some(array) = file.array(key)? else {
        return Err(RecordError::MissingKey { path: path.to_owned(), key });
    };
    let found = array.shape().to_vec();
    let wrong = || RecordError::Shape {
        path: path.to_owned(),
        key: key.to_owned(),
        expected: m.nu,
        found: found.clone(),
    };
    let values: Vec<f64> = array.iter().copied().collect();
    match *found {
        [n] if n == m.nu => Ok(Control::Constant(values)),
        [rows, n] if n == m.nu && rows > 0 => {
            Array2::from_shape_vec((rows, n), values).map(Control::Sequence).map_err(|_| wrong())
        }
        _ => Err(wrong()),
    }
}

/// Writes a trajectory: `time ncon nefc solver_niter` (rows) and `qpos qvel act ctrl sensordata energy com_height`
/// (rows × …).
///
/// # Errors
/// If the file cannot be written.
pub fn save_trajectory(path: &Path, trajectory: &Trajectory) -> Result<(), RecordError> {
    save(path, |npz| {
        npz.add_array("time", &trajectory.time)?;
        npz.add_array("qpos", &trajectory.qpos)?;
        npz.add_array("qvel", &trajectory.qvel)?;
        npz.add_array("act", &trajectory.act)?;
        npz.add_array("ctrl", &trajectory.ctrl)?;
        npz.add_array("sensordata", &trajectory.sensordata)?;
        npz.add_array("energy", &trajectory.energy)?;
        npz.add_array("com_height", &trajectory.com_height)?;
        npz.add_array("ncon", &trajectory.ncon)?;
        npz.add_array("nefc", &trajectory.nefc)?;
        npz.add_array("solver_niter", &trajectory.solver_niter)
    })
}

/// Reads the states of a trajectory, as [`save_trajectory`] writes it; sensors and energy are not read.
///
/// # Errors
/// If the file cannot be read, lacks one of `time qpos qvel act ctrl`, or has an array of the wrong size or with NaN.
pub fn load_trajectory(path: &Path, m: &Model) -> Result<Trajectory, RecordError> {
    let mut file = NpzFile::open(path)?;
    let mut table = |key: &'static str, width: usize, rows: Option<usize>| {
        let missing = || RecordError::MissingKey { path: path.to_owned(), key };
        let array = file.array(key)?.ok_or_else(missing)?;
        let found = array.shape().to_vec();
        let rows = rows.unwrap_or(found[0]);
        let values: Vec<f64> = array.iter().copied().collect();
        Array2::from_shape_vec((rows, width), values).map_err(|_| RecordError::Shape {
            path: path.to_owned(),
            key: key.to_owned(),
            expected: rows * width,
            found,
        })
    };
    let time = table("time", 1, None)?.column(0).to_owned();
    let rows = Some(time.len());
    let mut trajectory = Trajectory::new(m, time.len());
    trajectory.qpos = table("qpos", m.nq, rows)?;
    trajectory.qvel = table("qvel", m.nv, rows)?;
    trajectory.act = table("act", m.na, rows)?;
    trajectory.ctrl = table("ctrl", m.nu, rows)?;
    trajectory.time = time;
    Ok(trajectory)
}

/// Writes linearizations at the states of a trajectory: `A B C D` with a first axis for the states, their names, and
/// `time qpos qvel act ctrl timestep`.
///
/// # Errors
/// If the file cannot be written.
///
/// # Panics
/// If there are not as many linearizations as states.
pub fn save_linearizations(
    path: &Path,
    m: &Model,
    trajectory: &Trajectory,
    transitions: &[Transition],
) -> Result<(), RecordError> {
    assert_eq!(transitions.len(), trajectory.rows(), "a linearization for each state");
    let stack = |of: &dyn Fn(&Transition) -> &Array2<f64>, shape: (usize, usize)| {
        let values: Vec<f64> = transitions.iter().flat_map(|t| of(t).iter().copied()).collect();
        Array3::from_shape_vec((transitions.len(), shape.0, shape.1), values)
            .expect("matrices have the model's sizes")
    };
    let names = Transition::new(m);
    save(path, |npz| {
        npz.add_array("A", &stack(&|t| &t.A, names.A.dim()))?;
        npz.add_array("B", &stack(&|t| &t.B, names.B.dim()))?;
        npz.add_array("C", &stack(&|t| &t.C, names.C.dim()))?;
        npz.add_array("D", &stack(&|t| &t.D, names.D.dim()))?;
        add_names(npz, "state_names", &names.state_names)?;
        add_names(npz, "ctrl_names", &names.ctrl_names)?;
        add_names(npz, "sensor_names", &names.sensor_names)?;
        npz.add_array("timestep", &arr0(m.opt.timestep))?;
        npz.add_array("time", &trajectory.time)?;
        npz.add_array("qpos", &trajectory.qpos)?;
        npz.add_array("qvel", &trajectory.qvel)?;
        npz.add_array("act", &trajectory.act)?;
        npz.add_array("ctrl", &trajectory.ctrl)
    })
}

/// Writes a linearization: `A B C D`, their names, the timestep, and the state of `d` they were taken at.
///
/// # Errors
/// If the file cannot be written.
pub fn save_transition(
    path: &Path,
    m: &Model,
    d: &Data<f64>,
    transition: &Transition,
) -> Result<(), RecordError> {
    save(path, |npz| {
        transition.write_npz(npz)?;
        npz.add_array("timestep", &arr0(m.opt.timestep))?;
        add_state(npz, d)
    })
}

/// Writes the gradient of a rollout's cost: `cost stage_cost gradient_ctrl costate`, growth of perturbations as
/// `log_singular log_columns exponents`, names, and the rollout itself as `time qpos qvel act ctrl`.
///
/// # Errors
/// If the file cannot be written.
///
/// # Panics
/// If states are those of another model.
pub fn save_gradient(
    path: &Path,
    m: &Model,
    states: &[State<f64>],
    ctrl: &Array2<f64>,
    gradient: &RolloutGradient,
    growth: &Growth,
) -> Result<(), RecordError> {
    let rows = |width: usize, of: &dyn Fn(&State<f64>) -> &Vec<f64>| {
        let values: Vec<f64> = states.iter().flat_map(|state| of(state).iter().copied()).collect();
        Array2::from_shape_vec((states.len(), width), values)
            .expect("states have the model's sizes")
    };
    let time: Array1<f64> = (0..states.len()).map(|t| t as f64 * m.opt.timestep).collect();
    save(path, |npz| {
        npz.add_array("cost", &arr0(gradient.cost))?;
        npz.add_array("stage_cost", &gradient.stage_cost)?;
        npz.add_array("gradient_ctrl", &gradient.ctrl)?;
        npz.add_array("costate", &gradient.costate)?;
        npz.add_array("log_singular", &growth.log_singular)?;
        npz.add_array("log_columns", &growth.log_columns)?;
        npz.add_array("exponents", &Array1::from(growth.exponents.clone()))?;
        add_names(npz, "state_names", &growth.state_names)?;
        add_names(npz, "ctrl_names", &ctrl_names(m))?;
        npz.add_array("time", &time)?;
        npz.add_array("qpos", &rows(m.nq, &|state| &state.qpos))?;
        npz.add_array("qvel", &rows(m.nv, &|state| &state.qvel))?;
        npz.add_array("act", &rows(m.na, &|state| &state.act))?;
        npz.add_array("ctrl", ctrl)
    })
}

/// Adds the keys of a state.
fn add_state(npz: &mut NpzWriter<BufWriter<File>>, d: &Data<f64>) -> Result<(), WriteNpzError> {
    let vector = |values: &[f64]| Array1::from(values.to_vec());
    let table = |rows: usize, columns: usize, value: &dyn Fn(usize, usize) -> f64| {
        Array2::from_shape_fn((rows, columns), |(i, j)| value(i, j))
    };
    npz.add_array("qpos", &vector(&d.qpos))?;
    npz.add_array("qvel", &vector(&d.qvel))?;
    npz.add_array("act", &vector(&d.act))?;
    npz.add_array("ctrl", &vector(&d.ctrl))?;
    npz.add_array("qfrc_applied", &vector(&d.qfrc_applied))?;
    let xfrc = table(d.xfrc_applied.len(), 6, &|i, j| d.xfrc_applied[i][j]);
    npz.add_array("xfrc_applied", &xfrc)?;
    npz.add_array("mocap_pos", &table(d.mocap_pos.len(), 3, &|i, j| d.mocap_pos[i][j]))?;
    let quat = table(d.mocap_quat.len(), 4, &|i, j| d.mocap_quat[i].to_array()[j]);
    npz.add_array("mocap_quat", &quat)?;
    npz.add_array("time", &arr0(d.time))
}

/// Writes a file by `fill`.
fn save(
    path: &Path,
    fill: impl FnOnce(&mut NpzWriter<BufWriter<File>>) -> Result<(), WriteNpzError>,
) -> Result<(), RecordError> {
    let file = File::create(path).map_err(|error| RecordError::Write {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    let mut npz = NpzWriter::new_compressed(BufWriter::new(file));
    fill(&mut npz)
        .and_then(|()| npz.finish().map(|_| ()))
        .map_err(|error| RecordError::Write { path: path.to_owned(), message: error.to_string() })
}

/// Writes anything as JSON, indented, with a line break at the end.
///
/// # Errors
/// If the file cannot be written.
pub fn write_json(path: &Path, value: &impl serde::Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    std::fs::write(path, text)
}

/// An open `.npz` file.
struct NpzFile {
    path: PathBuf,
    reader: NpzReader<BufReader<File>>,
    /// Keys, without `.npy`.
    keys: Vec<String>,
}

impl NpzFile {
    fn open(path: &Path) -> Result<Self, RecordError> {
        let file = File::open(path)
            .map_err(|source| RecordError::Open { path: path.to_owned(), source })?;
        let format = |error: ReadNpzError| RecordError::Format {
            path: path.to_owned(),
            message: error.to_string(),
        };
        let mut reader = NpzReader::new(BufReader::new(file)).map_err(format)?;
        let keys = reader.names().map_err(format)?;
        let keys = keys.iter().map(|key| key.trim_end_matches(".npy").to_owned()).collect();
        Ok(Self { path: path.to_owned(), reader, keys })
    }

    fn unknown_key(&self) -> Option<String> {
        let known = |key: &str| STATE_KEYS.contains(&key) || OTHER_KEYS.contains(&key);
        self.keys.iter().find(|key| !known(key)).cloned()
    }

    /// An array of numbers of any shape, as f64; none if there is no such key.
    fn array(&mut self, key: &str) -> Result<Option<ArrayD<f64>>, RecordError> {
        if !self.keys.iter().any(|k| k == key) {
            return Ok(None);
        }
        let array = self
            .typed::<f64>(key)
            .or_else(|_| self.typed::<f32>(key))
            .or_else(|_| self.typed::<i64>(key))
            .map_err(|message: String| RecordError::Format {
                path: self.path.clone(),
                message: format!("`{key}` is no array of float64: {message}"),
            })?;
        if array.iter().all(|x| x.is_finite()) {
            Ok(Some(array))
        } else {
            Err(RecordError::NonFinite { path: self.path.clone(), key: key.to_owned() })
        }
    }

    fn typed<T: ndarray_npy::ReadableElement + Copy + Into<Wide>>(
        &mut self,
        key: &str,
    ) -> Result<ArrayD<f64>, String> {
        let array: ArrayD<T> = self.reader.by_name(key).map_err(|error| error.to_string())?;
        Ok(array.mapv(|x| Into::<Wide>::into(x).0))
    }

    /// `len` numbers: the whole array, or its last row.
    fn row(&mut self, key: &str, len: usize) -> Result<Option<Vec<f64>>, RecordError> {
        let Some(array) = self.array(key)? else { return Ok(None) };
        let values: Vec<f64> = array.iter().copied().collect();
        let shape = array.shape();
        let rowwise = shape.len() > 1 && shape[1..].iter().product::<usize>() == len
            || len == 1 && shape.len() == 1;
        if values.len() == len {
            Ok(Some(values))
        } else if rowwise && values.len() >= len {
            Ok(Some(values[values.len() - len..].to_vec()))
        } else {
            Err(RecordError::Shape {
                path: self.path.clone(),
                key: key.to_owned(),
                expected: len,
                found: shape.to_vec(),
            })
        }
    }
}

/// Numbers of several types as f64.
struct Wide(f64);

impl From<f64> for Wide {
    fn from(x: f64) -> Self {
        Self(x)
    }
}

impl From<f32> for Wide {
    fn from(x: f32) -> Self {
        Self(f64::from(x))
    }
}

impl From<i64> for Wide {
    fn from(x: i64) -> Self {
        Self(x as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::rollout;
    use dualstep::mjcf::load_model_str;
    use dualstep_derivatives::{FdConfig, mjd_transition_fd};

    const MODEL: &str = r#"
    <mujoco>
      <worldbody>
        <body name="hand" mocap="true" pos="1 2 3"><geom size=".1"/></body>
        <body><freejoint name="root"/><geom size=".1" mass="2"/></body>
        <body pos="0 0 1"><joint name="rail" type="slide"/><geom size=".1" mass="2"/></body>
      </worldbody>
      <actuator><general name="lag" joint="rail" dyntype="filter" dynprm=".1"/></actuator>
      <sensor><jointpos name="where" joint="rail"/></sensor>
    </mujoco>"#;

    fn model() -> Model {
        load_model_str(MODEL, "model.xml", Path::new(".")).unwrap()
    }

    fn temporary(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("dualstep-{}-{name}", std::process::id()))
    }

    #[test]
    fn a_linearization_is_also_a_state() {
        let m = model();
        let mut d = Data::new(&m);
        d.qpos[7] = 0.25;
        d.act[0] = 0.5;
        d.time = 1.5;
        d.mocap_pos[0].y = -4.0;
        d.xfrc_applied[2][4] = 7.0;
        let transition = mjd_transition_fd(&m, &d, &FdConfig::default()).unwrap();
        let path = temporary("state.npz");
        save_transition(&path, &m, &d, &transition).unwrap();
        let mut back = Data::new(&m);
        load_state(&path, &m, &mut back).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!((back.qpos, back.act, back.time), (d.qpos, d.act, d.time));
        assert_eq!((back.mocap_pos, back.xfrc_applied), (d.mocap_pos, d.xfrc_applied));
    }

    #[test]
    fn the_last_row_of_a_trajectory_is_its_end() {
        let m = model();
        let mut d = Data::new(&m);
        let control = Control::Constant(vec![1.0]);
        let trajectory = rollout(&m, &mut d, 10, &control, |_, _| {}).trajectory;
        let path = temporary("trajectory.npz");
        save_trajectory(&path, &trajectory).unwrap();
        let mut back = Data::new(&m);
        load_state(&path, &m, &mut back).unwrap();
        let ctrl = load_ctrl(&path, &m).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!((back.qpos, back.qvel, back.time), (d.qpos, d.qvel, d.time));
        assert_eq!(ctrl, Control::Sequence(Array2::ones((11, 1))));
    }

    #[test]
    fn a_trajectory_comes_back() {
        let m = model();
        let mut d = Data::new(&m);
        let trajectory =
            rollout(&m, &mut d, 3, &Control::Constant(vec![1.0]), |_, _| {}).trajectory;
        let path = temporary("whole.npz");
        save_trajectory(&path, &trajectory).unwrap();
        let back = load_trajectory(&path, &m).unwrap();
        assert_eq!((&back.time, &back.qpos), (&trajectory.time, &trajectory.qpos));
        assert_eq!((&back.qvel, &back.ctrl), (&trajectory.qvel, &trajectory.ctrl));
        assert_eq!(back.act, trajectory.act);
        // what is written of its linearizations can be read as a trajectory again
        save_linearizations(&path, &m, &back, &vec![Transition::new(&m); 4]).unwrap();
        assert_eq!(load_trajectory(&path, &m).unwrap().qpos, trajectory.qpos);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn wrong_files_are_refused() {
        let m = model();
        let path = temporary("wrong.npz");
        let refusal = |fill: &dyn Fn(&mut NpzWriter<BufWriter<File>>)| {
            save(&path, |npz| {
                fill(npz);
                Ok(())
            })
            .unwrap();
            let message = load_state(&path, &m, &mut Data::new(&m)).unwrap_err().to_string();
            std::fs::remove_file(&path).unwrap();
            message.rsplit(".npz").next().unwrap_or_default().to_owned()
        };
        let short = Array1::<f64>::zeros(3);
        assert_eq!(
            refusal(&|npz| npz.add_array("qpos", &short).unwrap()),
            ": `qpos` needs 8 numbers, found an array of shape [3]"
        );
        let message = refusal(&|npz| npz.add_array("qps", &short).unwrap());
        assert!(message.starts_with(": unknown key `qps`; known are qpos, qvel"), "{message}");
        let nan = Array1::from_elem(8, f64::NAN);
        assert_eq!(
            refusal(&|npz| npz.add_array("qpos", &nan).unwrap()),
            ": `qpos` holds a number that is not finite"
        );
    }
}
