//! Numeric ground: elementwise kernels, sums, small matrices, randomness and parallelism.
//!
//! Everything here gives the same bits on any number of threads, and everything but [`matrix`] also on any
//! instruction set: the kernels use plain multiplications and additions, never a fused one, in a fixed order.

pub mod elementwise;
pub mod matrix;
pub mod parallel;
pub mod random;
pub(crate) mod special;
mod sums;

pub(crate) use sums::NEGLIGIBLE;
pub use sums::{log_sum_exp, sum_in_order};
