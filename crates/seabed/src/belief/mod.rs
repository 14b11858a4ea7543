//! What a posterior believes about graphs, with parameters integrated out.
//!
//! A [`GraphBelief`] is a weighted set of distinct graphs, and for every node and every set of parents that it has in one of
//! them a [`Conditional`]: the law of its value given its parents' values, the data taken into account. So the density
//! of new rows under a graph is a product over nodes, however many graphs there are. docs/math.md gives the formulas.

mod file;
mod given;
mod graphs;
mod kernel;
mod linear;
mod process;
mod saved;
mod student;
mod table;
mod warp;

#[cfg(test)]
mod tests;

pub use file::BeliefFileError;
pub use given::{Conditional, Given, Scratch};
pub use graphs::{BeliefError, Family, GraphBelief};
pub(crate) use kernel::{Kernel, KernelScratch, add_scaled, dot, matern};
pub use linear::LinearConditional;
#[cfg(test)]
pub(crate) use process::Accuracy;
pub use process::ProcessConditional;
pub(crate) use process::{MOST_CENTRES, Regression, pivots};
pub use saved::{
    Saved, from_bytes, from_bytes_watched, read, read_watched, remembered, remembered_in, to_json,
    to_json_of, to_npz, to_npz_of,
};
pub(crate) use warp::Warp;
