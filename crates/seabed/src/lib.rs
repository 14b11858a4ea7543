//! Which experiment to run next to find out what causes what.
//!
//! The modules follow the flow of the method, and each one uses only those before it:
//!
//! - [`num`]: kernels, addressed randomness, ordered parallelism;
//! - [`graph`]: directed acyclic graphs, equivalence classes, distances;
//! - [`data`]: measurements and who was intervened on, files in and out;
//! - [`scm`]: structural causal models, and ensembles of them;
//! - [`belief`]: weighted graphs, and the law of new rows under each;
//! - [`posterior`]: from data to an ensemble;
//! - [`design`]: from an ensemble to the next batch of interventions;
//! - [`world`]: what answers an intervention;
//! - [`evaluate`]: how close a belief is to the truth;
//! - [`campaign`]: the closed loop, studies of many, and the campaigns of laboratories.
#![warn(missing_docs)]

pub mod belief;
pub mod campaign;
pub mod data;
pub mod design;
pub mod evaluate;
pub mod graph;
pub mod num;
pub mod observer;
pub mod posterior;
pub mod scm;
pub mod world;

#[doc = include_str!("../../../README.md")]
#[cfg(doctest)]
struct ReadmeExamples;
