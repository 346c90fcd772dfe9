//! Linear algebra of dynamic size.

pub mod dense;
pub mod implicit_solve;
pub mod tree_ldl;
