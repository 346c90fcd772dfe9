//! Tests of the whole workspace, one binary.

mod collision;
mod constrained;
mod constraint;
mod contact;
mod derivatives;
mod determinism;
mod errors;
mod golden;
mod identities;
mod mistakes;
mod mjcf;
mod order;
mod rollout;
mod scalars;
mod sensors;
mod smoothing;
mod solver;
mod support;
mod tidy;
