//! Numerics: elementwise kernels, sums, special functions, small matrices, randomness and parallelism.
//!
//! Everything here gives the same bits on any number of threads, and everything but matrix products also on any
//! instruction set: the kernels use plain multiplications and additions, never a fused one, in a fixed order.

pub mod elementwise;
pub mod fingerprint;
// Its types are those of a dependency: public for our own tests and benchmarks, but not part of the API.
#[doc(hidden)]
pub mod matrix;
pub mod parallel;
pub mod random;
pub(crate) mod special;
mod sums;

pub(crate) use sums::not_below;
pub use sums::{log_sum_exp, sum_in_order};
