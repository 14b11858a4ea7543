//! How close a belief is to the truth, and how easy the data make it.
//!
//! Everything is a function of an [`Ensemble`] or its edge probabilities and the true graph; posteriors and worlds
//! are not needed. `compare` compares many runs, `experiments_needed` says when one knows as much as another does at its
//! end. Edges are counted over all ordered pairs of different variables.

mod answer;
mod compare;
mod edges;
mod levels;
mod likelihood;
mod round;
mod sortability;
mod wilcoxon;

pub use answer::{AnswerScores, answer_scores};
pub use compare::{
    Comparison, Curve, Mean, Metric, Paired, area_under_curve, compare, mean, mean_curve, paired,
};
pub use edges::{
    Bin, area_under_roc, average_precision, brier, calibration, edge_loss, expected_calibration_error,
    skeleton_area_under_roc,
};
pub use levels::{Estimate, LEVEL_METRICS, Needed, NeededInWorld, Saved, experiments_needed};
pub use likelihood::{held_out_log_likelihood, held_out_log_likelihood_observed};
pub use round::MetricRow;
pub use sortability::{Sortability, SortabilityError, sortability};
pub use wilcoxon::wilcoxon_signed_rank;

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::graph::{Adjacency, Dag, EssentialGraph, shd, sid};
use crate::num::parallel::ordered_map;
use crate::observer::{Observer, Stopped, report};
use crate::scm::Ensemble;

/// An ensemble against the true graph.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Scores {
    /// Expected structural Hamming distance; a reversed edge counts once.
    pub eshd: f64,
    /// Expected structural intervention distance; none if the truth has cycles.
    pub esid: Option<f64>,
    /// Area under the ROC curve of the edge probabilities; none if the truth has no edge or every edge.
    pub auroc: Option<f64>,
    /// Average precision of the edge probabilities; none if the truth has no edge.
    pub auprc: Option<f64>,
    /// Expected F1 of the edges; 1 for a draw without edges if the truth has none.
    pub ef1: f64,
    /// Mean squared error of the edge probabilities.
    pub brier: f64,
    /// Expected calibration error of the edge probabilities, over ten bins.
    pub ece: f64,
    /// Squared errors of the edge probabilities, summed over all ordered pairs; none in older files.
    pub edge_loss: Option<f64>,
    /// Weight of the draws with the true graph; none if the truth has cycles, and in older files.
    pub truth_mass: Option<f64>,
    /// Expected structural Hamming distance between the CPDAGs of draws and truth: pairs that are joined in only one of
    /// the two, or joined in another way (an arrow, its reversal, a line). None if the truth has cycles, and in older files.
    pub cpdag_eshd: Option<f64>,
    /// Area under the ROC curve of the probabilities that pairs are joined, in whichever direction; none if the truth
    /// joins no pair or every pair, and in older files.
    pub skeleton_auroc: Option<f64>,
}

/// Scores the ensemble against the true graph over the same variables in the same order.
pub fn scores(ensemble: &Ensemble, truth: &Dag) -> Scores {
    scores_observed(ensemble, truth, &()).expect("nobody asks to stop")
}

/// As [`scores`], watched: intervention distances of many draws of large graphs take their time.
pub fn scores_observed(ensemble: &Ensemble, truth: &Dag, observer: &dyn Observer) -> Result<Scores, Stopped> {
    let (done, all) = (AtomicU64::new(0), ensemble.draws().len() as u64);
    let true_class = EssentialGraph::cpdag(truth);
    let distances = ordered_map(ensemble.draws(), |draw| {
        let done = done.fetch_add(1, Ordering::Relaxed);
        report(observer, done, all, format_args!("draws evaluated"))?;
        let between_classes = shd(&true_class, &EssentialGraph::cpdag(draw.dag()));
        Ok((sid(truth, draw.dag()) as f64, between_classes as f64))
    });
    let distances: Vec<(f64, f64)> = distances.into_iter().collect::<Result<_, _>>()?;
    let (sids, between_classes): (Vec<f64>, Vec<f64>) = distances.into_iter().unzip();
    let is_true = ensemble.draws().iter().map(|draw| f64::from(u8::from(draw.dag() == truth)));
    Ok(Scores {
        esid: Some(ensemble.mean(&sids)),
        cpdag_eshd: Some(ensemble.mean(&between_classes)),
        truth_mass: Some(ensemble.mean(&is_true.collect::<Vec<_>>())),
        ..scores_with_cycles(ensemble, truth)
    })
}

/// Scores the ensemble against a true graph that may have cycles: all but the structural intervention distance, which
/// is defined for graphs without cycles only, the distance between CPDAGs, likewise, and the weight of the truth, as no
/// draw has cycles.
pub fn scores_with_cycles(ensemble: &Ensemble, truth: &(impl Adjacency + Sync)) -> Scores {
    let of_draws =
        ordered_map(ensemble.draws(), |draw| [shd(truth, draw.dag()) as f64, f1(truth, draw.dag())]);
    let mean = |k: usize| ensemble.mean(&of_draws.iter().map(|values| values[k]).collect::<Vec<_>>());
    let probabilities = ensemble.edge_probabilities();
    Scores {
        eshd: mean(0),
        esid: None,
        auroc: area_under_roc(&probabilities, truth),
        auprc: average_precision(&probabilities, truth),
        ef1: mean(1),
        brier: brier(&probabilities, truth),
        ece: expected_calibration_error(&calibration(&probabilities, truth)),
        edge_loss: Some(edge_loss(&probabilities, truth)),
        truth_mass: None,
        cpdag_eshd: None,
        skeleton_auroc: skeleton_area_under_roc(&probabilities, truth),
    }
}

/// 2 |both| / (|truth| + |estimate|).
fn f1(truth: &impl Adjacency, estimate: &Dag) -> f64 {
    let (mut both, mut all) = (0, estimate.edge_count());
    for node in 0..truth.nodes() {
        let edges = truth.row(node);
        both += edges.intersection(estimate.children(node)).len();
        all += edges.len();
    }
    if all == 0 { 1.0 } else { 2.0 * both as f64 / all as f64 }
}
