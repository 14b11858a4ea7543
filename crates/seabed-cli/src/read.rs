//! Reads the user's tables and prints their warnings.

use std::path::Path;

use seabed::data::{Dataset, ReadOptions, read_table};

use crate::failure::Failure;

/// The data of a file without the ignored columns.
pub fn read_data(path: &Path, ignore: &[String]) -> Result<Dataset, Failure> {
    let loaded = read_table(path, &ReadOptions { ignore: ignore.to_vec() })?;
    for warning in &loaded.warnings {
        eprintln!("warning: {warning}");
    }
    Ok(loaded.dataset)
}
