//! Collision detection: geoms to contacts.

pub mod contact;

pub use contact::{Contact, Exclude};
