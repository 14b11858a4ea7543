//! What would be measured if variables were set: the expected values, and a new row.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::Serialize;

use super::quantile::interval;
use crate::graph::Node;
use crate::num::parallel::ordered_map_indices;
use crate::num::random::{Purpose, Seed};
use crate::num::sum_in_order;
use crate::observer::{Observer, Stopped, report};
use crate::scm::{Ensemble, Intervention, Mechanism, Scm};

/// A variable under an intervention.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Predicted {
    /// The variable.
    pub node: Node,
    /// Was it set?
    pub set: bool,
    /// Its expected value, averaged over graphs and parameters.
    pub mean: f64,
    /// 90 % of the belief about the expected value lies in it.
    pub interval: [f64; 2],
    /// A new measurement lies in it with a probability of 90 %.
    pub new_row: [f64; 2],
}

impl Predicted {
    /// Are all its numbers finite? They are unless the models reach values that no number can hold.
    pub fn is_finite(&self) -> bool {
        self.mean.is_finite() && self.interval.iter().chain(&self.new_row).all(|x| x.is_finite())
    }
}

/// Every variable under an intervention, by `samples` simulated rows of every draw.
pub fn predict(
    models: &Ensemble,
    intervention: &Intervention,
    samples: usize,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Vec<Predicted>, Stopped> {
    let draws = models.draws();
    let stream = seed.stream(Purpose::Effects).named("predict");
    let (all, done) = (draws.len() as u64, AtomicU64::new(0));
    let simulated = |k: usize| {
        report(observer, done.fetch_add(1, Relaxed), all, format_args!("models simulated"))?;
        Ok(draws[k].sample(samples, intervention, stream.at(k as u64)))
    };
    let rows =
        ordered_map_indices(draws.len(), simulated).into_iter().collect::<Result<Vec<_>, Stopped>>()?;
    let expected: Vec<Vec<f64>> = ordered_map_indices(draws.len(), |k| {
        // Where everything is linear, means go through the model as values do.
        exact_means(&draws[k], intervention)
            .unwrap_or_else(|| rows[k].iter().map(|column| sum_in_order(column) / samples as f64).collect())
    });
    let row_weights: Vec<f64> =
        models.weights().iter().flat_map(|&weight| std::iter::repeat_n(weight, samples)).collect();
    let of = |node: Node| {
        let means: Vec<f64> = expected.iter().map(|draw| draw[node]).collect();
        let values: Vec<f64> = rows.iter().flat_map(|draw| draw[node].iter().copied()).collect();
        Predicted {
            node,
            set: intervention.value(node).is_some(),
            mean: models.mean(&means),
            interval: interval(&means, models.weights()),
            new_row: interval(&values, &row_weights),
        }
    };
    let nodes = 0..models.names().len();
    nodes
        .map(|node| {
            report(observer, all, all, format_args!("models simulated"))?;
            Ok(of(node))
        })
        .collect()
}

/// The means of a linear model.
fn exact_means(model: &Scm, intervention: &Intervention) -> Option<Vec<f64>> {
    let nodes = model.names().len();
    let mut columns: Vec<[f64; 1]> = vec![[0.0]; nodes];
    for node in model.dag().topological_order() {
        match (intervention.value(node), model.mechanism(node)) {
            (Some(value), _) => columns[node] = [value],
            (None, Mechanism::Linear(_)) => {
                let mut mean = [0.0];
                model.means(node, &columns, &mut mean);
                columns[node] = mean;
            }
            (None, _) => return None,
        }
    }
    Some(columns.into_iter().map(|[mean]| mean).collect())
}
