//! The draws' answers to a question against the true answer.
//!
//! An answer is a set of nodes: the parents of a variable, say, or one node or none for yes or no.

use crate::graph::{Dag, NodeSet};
use crate::scm::Ensemble;

/// How close the answers of an ensemble are to the truth.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AnswerScores {
    /// Expected number of nodes that are wrongly in the answer or wrongly missing.
    pub errors: f64,
    /// Expected Jaccard similarity, |both| / |either|; 1 for two empty answers.
    pub jaccard: f64,
}

/// Scores the answer of every draw against the true one.
pub fn answer_scores(ensemble: &Ensemble, truth: &NodeSet, answer: impl Fn(&Dag) -> NodeSet) -> AnswerScores {
    let answers: Vec<NodeSet> = ensemble.draws().iter().map(|draw| answer(draw.dag())).collect();
    let mean = |of: &dyn Fn(&NodeSet) -> f64| ensemble.mean(&answers.iter().map(of).collect::<Vec<_>>());
    AnswerScores {
        errors: mean(&|answer| answer.count_differences(truth) as f64),
        jaccard: mean(&|answer| {
            let either = answer.union(truth).len();
            if either == 0 { 1.0 } else { answer.intersection(truth).len() as f64 / either as f64 }
        }),
    }
}
