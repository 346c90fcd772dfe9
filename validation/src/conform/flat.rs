//! Our typed arrays as flat arrays of numbers, with MuJoCo's encoding.

use dualstep::math::{Quat, SpatialInertia, SpatialVec};
use dualstep::model::{
    BiasType, DataType, DynType, EqType, GainType, GeomType, JointType, ObjType, SameFrame,
    SensorType, Stage, TendonType, TrnType, WrapType,
};
use nalgebra::Vector3;

/// A number, or a few, that stands in one of MuJoCo's arrays.
pub(super) trait Entry {
    fn push(&self, out: &mut Vec<f64>);
}

/// An array as MuJoCo stores it: row by row, absent indices −1, truth values 0 and 1, kinds by number.
pub(super) fn flat<E: Entry>(array: &[E]) -> Vec<f64> {
    let mut out = Vec::with_capacity(array.len());
    for entry in array {
        entry.push(&mut out);
    }
    out
}

impl Entry for f64 {
    fn push(&self, out: &mut Vec<f64>) {
        out.push(*self);
    }
}
impl Entry for usize {
    fn push(&self, out: &mut Vec<f64>) {
        out.push(*self as f64);
    }
}
impl Entry for Option<usize> {
    fn push(&self, out: &mut Vec<f64>) {
        out.push(self.map_or(-1.0, |i| i as f64));
    }
}
impl Entry for i32 {
    fn push(&self, out: &mut Vec<f64>) {
        out.push(f64::from(*self));
    }
}
impl Entry for u8 {
    fn push(&self, out: &mut Vec<f64>) {
        out.push(f64::from(*self));
    }
}
impl Entry for bool {
    fn push(&self, out: &mut Vec<f64>) {
        out.push(f64::from(u8::from(*self)));
    }
}
impl Entry for Vector3<f64> {
    fn push(&self, out: &mut Vec<f64>) {
        out.extend(self.iter());
    }
}
impl<E: Entry, const N: usize> Entry for [E; N] {
    fn push(&self, out: &mut Vec<f64>) {
        for entry in self {
            entry.push(out);
        }
    }
}

macro_rules! entries {
    ($($kind:ty => $numbers:ident)*) => {
        $(impl Entry for $kind {
            fn push(&self, out: &mut Vec<f64>) {
                self.$numbers().push(out);
            }
        })*
    };
}
entries! {
    Quat<f64> => to_array
    SpatialVec<f64> => to_array
    SpatialInertia<f64> => to_array
    JointType => code
    GeomType => code
    EqType => code
    TendonType => code
    WrapType => code
    TrnType => code
    DynType => code
    GainType => code
    BiasType => code
    ObjType => code
    SensorType => code
    Stage => code
    DataType => code
    SameFrame => code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_mujocos_encoding() {
        assert_eq!(flat(&[None, Some(3)]), [-1.0, 3.0]);
        assert_eq!(flat(&[[Some(1), None]]), [1.0, -1.0]);
        assert_eq!(flat(&[true, false]), [1.0, 0.0]);
        assert_eq!(flat(&[SensorType::Clock, SensorType::Gyro]), [45.0, 3.0]);
        assert_eq!(flat(&[Quat::identity()]), [1.0, 0.0, 0.0, 0.0]);
    }
}
