//! Smooth dynamics: everything but constraints. One algorithm per file, in pipeline order.

mod acceleration;
pub mod actuation;
mod camera;
mod com_pos;
mod com_vel;
mod crb;
pub mod jacobian;
mod kinematics;
pub mod muscle;
pub(crate) mod object;
pub mod passive;
pub mod poly;
pub mod qderiv;
mod rne;
mod subtree_vel;
mod tendon;
mod transmission;
mod velocity;

pub use acceleration::{acceleration, smooth_force};
pub use actuation::{actuation, next_activation};
pub(crate) use actuation::{wrap_period, wrap_setpoint};
pub use camera::camera;
pub use com_pos::com_pos;
pub use com_vel::com_vel;
pub use crb::{crb, factor_m, full_m, mul_m};
pub use kinematics::kinematics;
pub use object::{ObjectFrame, object_acceleration, object_frame, object_quat, object_velocity};
pub use passive::{TANH_GAIN, passive};
pub(crate) use passive::{
    joint_stiffness, rotation_offset, tendon_extension, tendon_stiffness, translation_offset,
};
pub use rne::{rne, rne_with_acceleration};
pub use subtree_vel::subtree_vel;
pub use tendon::tendon;
pub use transmission::transmission;
pub use velocity::actuator_tendon_velocity;
