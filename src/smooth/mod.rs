//! Stages of the smooth dynamics, one algorithm a file.

pub mod object;
pub mod rne_post_constraint;
pub mod subtree_vel;

pub use object::{object_acceleration, object_velocity};
pub use rne_post_constraint::rne_post_constraint;
pub use subtree_vel::subtree_vel;
