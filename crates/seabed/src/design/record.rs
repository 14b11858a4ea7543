//! A batch as it is kept in files: in the folders of runs and in the campaigns of laboratories.
//!
//! These files outlive the program that wrote them: fields may be added with a default, but never changed.

use serde::{Deserialize, Serialize};

use super::batch::{Batch, Chosen, Evaluated, named};
use super::decision::Decision;
use super::forecast::Forecast;
use crate::scm::Intervention;

/// The record of a design.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DesignRecord {
    /// The batch, in the order of the choice.
    pub batch: Vec<ExperimentRecord>,
    /// Expected information of the batch, in nats.
    pub information: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Entropy: what there is to learn, in nats.
    pub entropy: f64,
    /// Every design that was evaluated.
    pub evaluated: Vec<EvaluationRecord>,
    /// What it would change in the belief about edges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// Wall time, in seconds.
    pub seconds: f64,
}

/// An experiment of a batch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ExperimentRecord {
    /// Names and values of what is set.
    pub targets: Vec<(String, f64)>,
    /// How often it is done, if more than once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<usize>,
    /// Expected information on its own, in nats.
    pub information: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Information it adds to those before it, in nats.
    pub gain: f64,
    /// What it costs.
    pub cost: f64,
    /// What it would decide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decides: Vec<Decision>,
}

/// A design that was evaluated.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EvaluationRecord {
    /// Names and values of what is set.
    pub targets: Vec<(String, f64)>,
    /// Expected information on its own, in nats.
    pub information: f64,
    /// Its standard error.
    pub standard_error: f64,
}

impl DesignRecord {
    /// The record of a batch that took this many seconds.
    pub fn new(batch: &Batch, seconds: f64) -> Self {
        let targets = |design: &Intervention| -> Vec<(String, f64)> {
            named(design, &batch.names).map(|(name, value)| (name.to_string(), value)).collect()
        };
        let experiment = |chosen: &Chosen| ExperimentRecord {
            targets: targets(&chosen.design),
            rows: Some(chosen.rows).filter(|rows| *rows > 1),
            information: chosen.information.nats,
            standard_error: chosen.information.standard_error,
            gain: chosen.gain,
            cost: chosen.cost,
            decides: chosen.decides.clone(),
        };
        let evaluation = |evaluated: &Evaluated| EvaluationRecord {
            targets: targets(&evaluated.design),
            information: evaluated.information.nats,
            standard_error: evaluated.information.standard_error,
        };
        Self {
            batch: batch.chosen.iter().map(experiment).collect(),
            information: batch.information.nats,
            standard_error: batch.information.standard_error,
            entropy: batch.entropy,
            evaluated: batch.evaluated.iter().map(evaluation).collect(),
            forecast: batch.forecast,
            seconds,
        }
    }
}
