//! The record of a round, and the table of all rounds.

use std::io::Write;

use seabed::design::DesignRecord;
use seabed::evaluate::{MetricRow, Scores};
use serde::{Deserialize, Serialize};

/// The record of a fit, beside the ensemble.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Fitted {
    /// Rows of data under interventions.
    pub interventional_samples: usize,
    /// Scores against the truth.
    #[serde(flatten)]
    pub scores: Scores,
    /// Entropy of the edge marginals, in nats.
    pub edge_entropy: f64,
    /// Draws whose cycles were broken.
    pub repaired_cyclic: usize,
    /// Why the belief should not be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// Wall time, in seconds.
    pub seconds: f64,
}

/// The row of a round, from its records.
pub(crate) fn metric_row(round: usize, fitted: &Fitted, designed: Option<&DesignRecord>) -> MetricRow {
    MetricRow {
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

/// `interventions.csv`: one line per experiment.
pub(crate) fn write_interventions(out: &mut dyn Write, rounds: &[DesignRecord]) -> csv::Result<()> {
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
