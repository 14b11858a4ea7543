//! A toy posterior: every edge from a variable to one with a later name is there with probability 1/2.
//!
//! The data decide only the parameters, by least squares over the rows in which a variable was not a target. Required
//! edges are there first; an edge that would close a cycle with them is left out. Variables are worked on in the
//! order of their names, so the order of the columns does not matter.

mod fit;
mod result;
mod settings;
mod state;

pub use result::{Diagnostics, ToyFit};
pub use settings::Toy;
pub use state::State;
