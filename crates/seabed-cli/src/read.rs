//! Reads the user's tables and prints their warnings.

use std::path::Path;

use seabed::data::{Dataset, ReadOptions, read_table_observed};

use crate::failure::Failure;
use crate::progress::{Bar, stop_on_interrupt};

/// The data of a file without the ignored columns.
pub fn read_data(path: &Path, ignore: &[String]) -> Result<Dataset, Failure> {
    stop_on_interrupt();
    let loaded = read_table_observed(path, &ReadOptions { ignore: ignore.to_vec() }, &Bar::new())?;
    for warning in &loaded.warnings {
        tell!("warning: {warning}");
    }
    Ok(loaded.dataset)
}
