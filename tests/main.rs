//! Tests of the whole workspace, one binary.

mod golden;
mod tidy;
