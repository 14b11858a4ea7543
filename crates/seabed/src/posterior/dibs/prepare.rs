//! From a data set to the problem that the steps work on: units, rows of every variable, noise.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::bge::{self, Bge};
use super::column::ColumnData;
use super::estimator::{Problem, Terms};
use super::latent::Edges;
use super::parameters::{Layout, NoisePrior};
use super::settings::{Dibs, Noise};
use crate::data::Dataset;
use crate::posterior::Knowledge;
use crate::posterior::units::mean_and_sd;

/// The units inside: a value is (x - mean) / scale.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Units {
    pub means: Vec<f64>,
    pub scales: Vec<f64>,
}

impl Units {
    /// The data's own units.
    fn plain(nodes: usize) -> Self {
        Self { means: vec![0.0; nodes], scales: vec![1.0; nodes] }
    }

    pub fn of(settings: &Dibs, data: &Dataset) -> Self {
        if !settings.standardise {
            return Self::plain(data.variables());
        }
        // Values that an experimenter set say nothing about a variable's own spread.
        let unit = |node: usize| mean_and_sd(data.untouched_rows(node).map(|row| data.column(node)[row]));
        let (means, scales) = (0..data.variables()).map(unit).unzip();
        Self { means, scales }
    }
}

/// The problem of sorted data, and the log-variance at which each variable's noise starts.
pub(super) fn problem(
    settings: &Dibs,
    data: &Dataset,
    knowledge: &Knowledge,
    units: &Units,
) -> (Problem, Vec<f64>) {
    let nodes = data.variables();
    let columns: Vec<Vec<f64>> = (0..nodes)
        .map(|k| data.column(k).iter().map(|x| (x - units.means[k]) / units.scales[k]).collect())
        .collect();
    let rows: Vec<Vec<usize>> = (0..nodes).map(|node| data.untouched_rows(node).collect()).collect();
    let moments_of = |node: usize| mean_and_sd(rows[node].iter().map(|&row| columns[node][row]));
    let moments: Vec<(f64, f64)> = (0..nodes).map(moments_of).collect();
    let start = |node: usize| match settings.noise {
        Noise::Known(sd) => 2.0 * (sd / units.scales[node]).ln(),
        // The noise starts as wide as the variable: nothing is explained yet.
        Noise::Learned => 2.0 * moments[node].1.ln(),
    };
    let terms = match Layout::of(settings.family, nodes) {
        None => {
            let means: Vec<f64> = moments.iter().map(|(mean, _)| *mean).collect();
            let freedom = nodes as f64 + bge::EXTRA_FREEDOM;
            Terms::Marginal(Box::new(Bge::new(&columns, &rows, &means, bge::MEAN_WEIGHT, freedom)))
        }
        Some(layout) => {
            let mut shared: Vec<(usize, Arc<Vec<f32>>)> = Vec::new();
            let short = |rows: &[usize], column: &Vec<f64>| -> Vec<f32> {
                rows.iter().map(|&row| column[row] as f32).collect()
            };
            let mut data_of = |node: usize| {
                let known = shared.iter().find(|(other, _)| rows[*other] == rows[node]);
                let inputs = known.map(|(_, inputs)| inputs.clone()).unwrap_or_else(|| {
                    Arc::new(columns.iter().flat_map(|column| short(&rows[node], column)).collect())
                });
                shared.push((node, inputs.clone()));
                let noise = match settings.noise {
                    Noise::Known(_) => NoisePrior::Known,
                    Noise::Learned => NoisePrior::learned(moments[node].1 * moments[node].1),
                };
                ColumnData { inputs, values: short(&rows[node], &columns[node]), noise }
            };
            Terms::Parameters { layout, columns: (0..nodes).map(&mut data_of).collect() }
        }
    };
    (Problem { edges: Edges::of(knowledge), terms }, (0..nodes).map(start).collect())
}
