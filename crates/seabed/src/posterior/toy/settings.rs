//! What the user may choose, and what is refused.

use serde::{Deserialize, Serialize};

use crate::settings::{SettingsError, check_count};

/// The toy posterior: how many graphs are drawn.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Toy {
    /// Number of draws, 1 to 1,000,000.
    pub draws: usize,
}

impl Default for Toy {
    fn default() -> Self {
        Self { draws: 100 }
    }
}

impl Toy {
    /// Are all numbers within their ranges?
    pub fn check(&self) -> Result<(), SettingsError> {
        check_count("draws", self.draws, 1..=1_000_000)
    }
}
