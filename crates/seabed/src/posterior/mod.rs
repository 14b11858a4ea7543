//! From data to a belief: a [`Dataset`](crate::data::Dataset) becomes an [`Ensemble`](crate::scm::Ensemble).
//!
//! Every posterior leaves out, for each variable, the rows in which it was a target, and obeys
//! [`Knowledge`]: a forbidden edge has probability exactly 0, a required one exactly 1.

mod bge;
pub mod bootstrap;
pub mod dibs;
mod knowledge;
pub mod mcmc;
mod units;

pub use knowledge::{Knowledge, KnowledgeError};
