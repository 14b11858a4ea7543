//! What is kept of a round, and the table of all rounds.

use std::io::Write;

use serde::{Deserialize, Serialize};

pub use crate::design::{
    DesignRecord as Designed, EvaluationRecord as Evaluation, ExperimentRecord as Experiment,
};
use crate::evaluate::{Metric, Scores};

/// What is kept of a fit, beside the ensemble.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Fitted {
    /// Rows of data under interventions.
    pub interventional_samples: usize,
    /// Against the truth.
    #[serde(flatten)]
    pub scores: Scores,
    /// Entropy of the edge marginals, in nats.
    pub edge_entropy: f64,
    /// Draws whose cycles were broken.
    pub repaired_cyclic: usize,
    /// Why the belief should not be trusted as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// Wall time, in seconds.
    pub seconds: f64,
}

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
    /// Draws whose cycles were broken.
    pub repaired_cyclic: usize,
}

impl MetricRow {
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
        }
    }

    pub(super) fn new(round: usize, fitted: &Fitted, designed: Option<&Designed>) -> Self {
        Self {
            round,
            interventional_samples: fitted.interventional_samples,
            eshd: Some(fitted.scores.eshd),
            esid: fitted.scores.esid,
            auroc: fitted.scores.auroc,
            auprc: fitted.scores.auprc,
            ef1: Some(fitted.scores.ef1),
            brier: Some(fitted.scores.brier),
            batch_information: designed.map(|designed| designed.information),
            fit_seconds: fitted.seconds,
            design_seconds: designed.map(|designed| designed.seconds),
            ece: Some(fitted.scores.ece),
            edge_entropy: fitted.edge_entropy,
            repaired_cyclic: fitted.repaired_cyclic,
        }
    }
}

/// `interventions.csv`: one line an experiment.
pub(super) fn write_interventions(out: &mut dyn Write, rounds: &[Designed]) -> csv::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record([
        "round",
        "experiment",
        "targets",
        "values",
        "information",
        "standard_error",
        "gain",
        "cost",
    ])?;
    for (round, designed) in rounds.iter().enumerate() {
        for (k, experiment) in designed.batch.iter().enumerate() {
            let names: Vec<&str> = experiment.targets.iter().map(|target| target.0.as_str()).collect();
            let values: Vec<String> = experiment.targets.iter().map(|target| target.1.to_string()).collect();
            let numbers =
                [experiment.information, experiment.standard_error, experiment.gain, experiment.cost];
            let places = [round.to_string(), k.to_string(), names.join(";"), values.join(";")];
            table.write_record(places.into_iter().chain(numbers.iter().map(f64::to_string)))?;
        }
    }
    Ok(table.flush()?)
}
