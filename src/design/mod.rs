//! Design notes. Each is one page: a question, the options, the choice, what would change our mind.

#[doc = include_str!("001-scalars.md")]
pub mod scalars {}

#[doc = include_str!("002-agreement-with-mujoco.md")]
pub mod agreement_with_mujoco {}

#[doc = include_str!("003-mesh-readers.md")]
pub mod mesh_readers {}

#[doc = include_str!("004-implicit-integrators.md")]
pub mod implicit_integrators {}

#[doc = include_str!("005-rk4-on-manifolds.md")]
pub mod rk4_on_manifolds {}

#[doc = include_str!("006-five-ways-to-differentiate.md")]
pub mod five_ways_to_differentiate {}

#[doc = include_str!("007-contact.md")]
pub mod contact {}

#[doc = include_str!("008-rollout-sensitivities.md")]
pub mod rollout_sensitivities {}

#[doc = include_str!("009-smoothing.md")]
pub mod smoothing {}

#[doc = include_str!("010-where-a-linearization-is-taken.md")]
pub mod where_a_linearization_is_taken {}
