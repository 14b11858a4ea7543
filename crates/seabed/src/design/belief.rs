//! What a design sees of a posterior: models, and what is believed about the graph where that is known.

use crate::belief::GraphBelief;
use crate::scm::Ensemble;

/// What experiments are chosen under.
#[derive(Clone, Copy)]
pub struct Belief<'a> {
    /// Models with parameters: what the paper's utility needs.
    pub models: &'a Ensemble,
    /// Graphs with parameters integrated out, over the same variables in the same order: what utilities about the structure
    /// need.
    pub graphs: Option<&'a GraphBelief>,
}

impl<'a> From<&'a Ensemble> for Belief<'a> {
    fn from(models: &'a Ensemble) -> Self {
        Self { models, graphs: None }
    }
}
