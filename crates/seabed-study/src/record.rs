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
    /// Expected number of wrong answers among the pairs that the question is about; none without a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_errors: Option<f64>,
    /// Expected Jaccard similarity with the true parents, where the question is about parents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_jaccard: Option<f64>,
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
        edge_loss: fitted.scores.edge_loss,
        truth_mass: fitted.scores.truth_mass,
        goal_errors: fitted.goal_errors,
        goal_jaccard: fitted.goal_jaccard,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_from_before_a_metric_existed_are_read() {
        let text = r#"{"interventional_samples":3,"eshd":1.5,"esid":2.0,"auroc":0.5,"auprc":null,"ef1":0.2,
            "brier":0.1,"ece":0.3,"edge_entropy":0.7,"repaired_cyclic":0,"seconds":0.0}"#;
        let row = metric_row(0, &serde_json::from_str(text).unwrap(), None);
        assert_eq!((row.eshd, row.edge_loss, row.truth_mass, row.goal_errors), (Some(1.5), None, None, None));
        let table = "round,eshd,edge_entropy\n2,1.5,0.7\n";
        let row: MetricRow =
            csv::Reader::from_reader(table.as_bytes()).deserialize().next().unwrap().unwrap();
        assert_eq!((row.round, row.eshd, row.goal_jaccard), (2, Some(1.5), None));
    }
}
