//! The values of a variable between which its effects are asked for.

use serde::{Deserialize, Serialize};

use super::quantile::interval;
use crate::data::DataSummary;
use crate::num::parallel::ordered_map_indices;
use crate::num::random::{Purpose, Seed};
use crate::scm::{Ensemble, Intervention};

/// From where to where a variable is set, in its own unit; the ends are different.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Span {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Span {
    /// The span between two values, made a little wider where they are the same.
    pub fn new(low: f64, high: f64) -> Self {
        let (low, high) = (low.min(high), low.max(high));
        if high > low { Self { low, high } } else { Self { low: low - 0.5, high: high + 0.5 } }
    }

    /// `count` values at equal distances, the ends among them; at least the two.
    pub(super) fn points(&self, count: usize) -> Vec<f64> {
        let last = count.max(2) - 1;
        (0..=last)
            .map(|k| {
                if k == last { self.high } else { self.low + (self.high - self.low) * k as f64 / last as f64 }
            })
            .collect()
    }
}

/// For every variable the middle 90 % of the data.
pub fn observed_spans(data: &DataSummary) -> Vec<Span> {
    data.variables.iter().map(|variable| Span::new(variable.low, variable.high)).collect()
}

/// For every variable the middle 90 % of what the models produce without an intervention: for models without data.
pub fn simulated_spans(models: &Ensemble, seed: Seed) -> Vec<Span> {
    const ROWS: usize = 50;
    let draws = models.draws();
    let columns = ordered_map_indices(draws.len(), |k| {
        let stream = seed.stream(Purpose::Effects).named("span").at(k as u64);
        draws[k].sample(ROWS, &Intervention::none(), stream)
    });
    let weights: Vec<f64> = models.weights().iter().flat_map(|&weight| [weight; ROWS]).collect();
    let of = |node: usize| {
        let values: Vec<f64> = columns.iter().flat_map(|draw| draw[node].iter().copied()).collect();
        let [low, high] = interval(&values, &weights);
        Span::new(low, high)
    };
    (0..models.names().len()).map(of).collect()
}
