//! How well a belief predicts outcomes that it has not seen.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::data::Dataset;
use crate::num::parallel::ordered_map;
use crate::num::sum_in_order;
use crate::observer::{Observer, Stopped, report};
use crate::scm::Ensemble;

/// Mean over the rows of log p(row | ensemble, do(the row's targets)), in nats per row: the density of a row is the
/// weighted mean over the draws. `data` has the ensemble's variables in the ensemble's order, and at least one row.
pub fn held_out_log_likelihood(ensemble: &Ensemble, data: &Dataset) -> f64 {
    held_out_log_likelihood_observed(ensemble, data, &()).expect("nobody asks it to stop")
}

/// As [`held_out_log_likelihood`], watched.
pub fn held_out_log_likelihood_observed(
    ensemble: &Ensemble,
    data: &Dataset,
    observer: &dyn Observer,
) -> Result<f64, Stopped> {
    let (done, all) = (AtomicU64::new(0), ensemble.draws().len() as u64);
    let of_draws = ordered_map(ensemble.draws(), |draw| {
        report(observer, done.fetch_add(1, Ordering::Relaxed), all, format_args!("draws evaluated"))?;
        Ok(draw.log_density_of_rows(data))
    });
    let of_draws: Vec<Vec<f64>> = of_draws.into_iter().collect::<Result<_, Stopped>>()?;
    let row = |row: usize| {
        let values: Vec<f64> = of_draws.iter().map(|densities| densities[row]).collect();
        ensemble.log_mean_exp(&values)
    };
    Ok(sum_in_order(&(0..data.rows()).map(row).collect::<Vec<_>>()) / data.rows() as f64)
}
