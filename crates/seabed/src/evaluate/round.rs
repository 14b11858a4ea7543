//! The metrics of one round of a closed loop, as a row of a table.

use serde::{Deserialize, Serialize};

use super::Metric;

/// A row of `metrics.csv`: the belief of a round, and the batch that was chosen from it.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MetricRow {
    /// 0 before any experiment.
    pub round: usize,
    /// Rows of data under interventions.
    pub interventional_samples: usize,
    /// Expected structural Hamming distance.
    pub eshd: Option<f64>,
    /// Expected structural intervention distance.
    pub esid: Option<f64>,
    /// Area under the ROC curve of the edge probabilities.
    pub auroc: Option<f64>,
    /// Average precision of the edge probabilities.
    pub auprc: Option<f64>,
    /// Expected F1 of the edges.
    pub ef1: Option<f64>,
    /// Mean squared error of the edge probabilities.
    pub brier: Option<f64>,
    /// Expected information of the batch, in nats; none in the last round.
    pub batch_information: Option<f64>,
    /// Wall time of the fit, in seconds.
    pub fit_seconds: f64,
    /// Wall time of the design, in seconds; none in the last round.
    pub design_seconds: Option<f64>,
    /// Expected calibration error of the edge probabilities.
    pub ece: Option<f64>,
    /// Entropy of the edge marginals, in nats.
    pub edge_entropy: f64,
    /// Draws from which edges were removed to break cycles.
    pub repaired_cyclic: usize,
    /// Squared errors of the edge probabilities, summed over all ordered pairs.
    pub edge_loss: Option<f64>,
    /// Weight of the draws with the true graph.
    pub truth_mass: Option<f64>,
    /// Expected number of wrong answers among the pairs that the question is about.
    pub goal_errors: Option<f64>,
    /// Expected Jaccard similarity of the parents asked for with the true ones.
    pub goal_jaccard: Option<f64>,
}

impl MetricRow {
    /// Experiments carried out so far, each of which gave `replicates` rows.
    pub fn experiments(&self, replicates: usize) -> usize {
        self.interventional_samples / replicates.max(1)
    }

    /// The value of a metric, if the round has it.
    pub fn metric(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Eshd => self.eshd,
            Metric::Esid => self.esid,
            Metric::Auroc => self.auroc,
            Metric::Auprc => self.auprc,
            Metric::Ef1 => self.ef1,
            Metric::Brier => self.brier,
            Metric::Ece => self.ece,
            Metric::EdgeLoss => self.edge_loss,
            Metric::TruthMass => self.truth_mass,
            Metric::GoalErrors => self.goal_errors,
            Metric::GoalJaccard => self.goal_jaccard,
        }
    }
}
