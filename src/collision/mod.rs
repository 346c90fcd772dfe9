//! Collision detection: which geoms touch, where, and what their contacts are made of.
//!
//! ```text
//! broad phase    pairs of bodies whose boxes overlap, sorted
//! filters        excluded, explicit pairs, welded together, parent and child, contact bits, spheres
//! narrow phase   a collider for each pair of shapes: distance, position, normal
//! contacts       parameters of the pair, frames
//! ```
//!
//! Everything is evaluated on `T`; what is chosen (bodies, features, branches) is chosen on real parts. So a
//! run on dual numbers finds the contacts of the real run, and their derivatives.

mod broad;
mod contact;
mod convex;
mod distance;
mod driver;
mod hfield;
mod narrow;
mod pair;
mod primitive;

pub use contact::{Contact, ContactParams, Exclude, MINMU, Touch, make_frame, margin_gap};
pub use distance::{Separation, geom_distance, has_distance};
pub use driver::{Collision, collision, collision_within, touchable_pairs};
pub use narrow::has_collider;
pub use pair::PairCollider;
