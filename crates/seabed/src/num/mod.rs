//! To come.

pub mod random;
