//! How well a belief predicts outcomes that it has not seen.

use crate::data::Dataset;
use crate::num::parallel::ordered_map;
use crate::num::sum_in_order;
use crate::scm::Ensemble;

/// Mean over the rows of log p(row | ensemble, do(the row's targets)), in nats per row: the density of a row is the
/// weighted mean over the draws. `data` has the ensemble's variables in the ensemble's order, and at least one row.
pub fn held_out_log_likelihood(ensemble: &Ensemble, data: &Dataset) -> f64 {
    let of_draws = ordered_map(ensemble.draws(), |draw| draw.log_density_of_rows(data));
    let row = |row: usize| {
        let values: Vec<f64> = of_draws.iter().map(|densities| densities[row]).collect();
        ensemble.log_mean_exp(&values)
    };
    sum_in_order(&(0..data.rows()).map(row).collect::<Vec<_>>()) / data.rows() as f64
}
