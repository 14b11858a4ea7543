//! The result of reading a table: the data, and warnings.

use crate::observer::memory;

use super::dataset::Dataset;
use super::error::DataError;
use super::missing::SetAside;
use super::wording::{Excerpt, argument};

/// A data set as it was read, with what the user may want to know about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Loaded {
    /// The data.
    pub dataset: Dataset,
    /// What is unusual, in the order of the columns.
    pub warnings: Vec<DataWarning>,
    /// What was found out about a file that its user did not say, a line for each file.
    pub notes: Vec<String>,
}

/// Something unusual in a table that could be read.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataWarning {
    /// The same value in every row.
    #[error("column {} is {value} in every row: nothing can be learnt about its causes or effects", Excerpt::new(.column))]
    ConstantColumn {
        /// Its name.
        column: String,
        /// Its value.
        value: f64,
    },
    /// 0, 1, 2, ... or 1, 2, 3, ... down the rows.
    #[error("column {} looks like a row number; if it is not a variable, leave it out with --ignore {}",
        Excerpt::new(.column), argument(.column))]
    RowCounter {
        /// Its name.
        column: String,
    },
    /// The index that pandas writes beside the columns.
    #[error("column {} is an index written by pandas; it is ignored", Excerpt::new(.column))]
    IndexLeftOut {
        /// Its name.
        column: String,
    },
    /// Rows with missing values.
    #[error("{0}")]
    SetAside(SetAside),
}

/// Bytes of a value while a table is read: columns that grow are held twice.
const BYTES_OF_A_VALUE: f64 = 16.0;

/// The most values of a table that fit in the memory of this computer; any number where that is not known.
pub(super) fn most_values() -> u64 {
    memory().map_or(u64::MAX, |bytes| (bytes / BYTES_OF_A_VALUE) as u64)
}

/// Refuses a table of more values than the limit.
pub(super) fn check_values_fit(file: &str, found: u64, limit: u64) -> Result<(), DataError> {
    if found <= limit {
        return Ok(());
    }
    Err(DataError::TooMany { file: file.to_string(), what: "values", found, limit })
}

impl Loaded {
    /// Adds what is unusual about the values.
    pub(super) fn examined(self) -> Self {
        let Self { dataset, mut warnings, notes } = self;
        // A single row would be constant in every column.
        if dataset.rows() > 1 {
            for node in dataset.constant_columns() {
                let column = dataset.names()[node].clone();
                warnings.push(DataWarning::ConstantColumn { column, value: dataset.column(node)[0] });
            }
        }
        // Fewer rows can look numbered by chance.
        if dataset.rows() >= 5 {
            let counters = (0..dataset.variables()).filter(|&node| counts_rows(dataset.column(node)));
            warnings.extend(
                counters.map(|node| DataWarning::RowCounter { column: dataset.names()[node].clone() }),
            );
        }
        Self { dataset, warnings, notes }
    }
}

fn counts_rows(column: &[f64]) -> bool {
    let first = column[0];
    (first == 0.0 || first == 1.0)
        && column.iter().enumerate().all(|(row, &value)| value == first + row as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_do_not_fit_are_refused_with_the_limit() {
        assert!(check_values_fit("d.csv", most_values(), most_values()).is_ok());
        let refusal = check_values_fit("d.csv", 11, 10).unwrap_err().to_string();
        assert_eq!(refusal, "d.csv: too many values (11); the limit is 10");
    }
}
