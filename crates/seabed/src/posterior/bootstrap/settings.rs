//! What the user may choose, and what is refused.

use serde::{Deserialize, Serialize};

use super::gies::GiesOptions;
use crate::settings::{SettingsError, check_count};

/// A posterior by the DAG bootstrap: how many resamples, and how each is searched.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bootstrap {
    /// Number of resamples, at least 1.
    pub draws: usize,
    /// λ, the price of a parameter; if none, [`Bootstrap::usual_penalty`] for resamples, and ½ ln N (BIC) for one search of
    /// the data as they are.
    pub penalty: Option<f64>,
    /// Limits of the search.
    pub search: GiesOptions,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self { draws: 100, penalty: None, search: GiesOptions::default() }
    }
}

/// With a larger penalty no edge is ever found.
const MOST_PENALTY: f64 = 1e6;

impl Bootstrap {
    /// ln N + ln p, the price of a parameter in resamples of N rows of p variables.
    ///
    /// A correlation that is nothing but chance is in the data, and once more in the resample: the likelihood gains twice
    /// as much by a needless edge as it would in fresh rows, so BIC's ½ ln N counts twice. ln p is for the number of
    /// edges that there are to choose from, as in the extended BIC.
    pub fn usual_penalty(rows: f64, variables: usize) -> f64 {
        rows.ln() + (variables as f64).ln()
    }

    /// Are all numbers within their ranges?
    pub fn check(&self) -> Result<(), SettingsError> {
        check_count("draws", self.draws, 1..=1_000_000)?;
        match self.penalty {
            Some(got) if !(0.0..=MOST_PENALTY).contains(&got) => {
                Err(SettingsError::OutOfRange { key: "penalty", got, least: 0.0, most: MOST_PENALTY })
            }
            _ => Ok(()),
        }
    }
}
