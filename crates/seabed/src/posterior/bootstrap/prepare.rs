//! The data as the searches see them: nothing depends on the order of columns or rows, nor on their units.

use crate::data::Dataset;
use crate::scm::{ByName, Scm};

/// Moments of moments are products of four values: a variable whose size is outside this range, or its inverse, is measured
/// in another unit.
const MOST_SIZE: f64 = 1e30;

/// Variables sorted by name, rows in their canonical order, columns in units that can be multiplied.
pub(super) struct Prepared {
    pub data: Dataset,
    /// The unit of every column, a power of two, so that no digit changes.
    units: Vec<f64>,
}

impl Prepared {
    pub fn new(data: &Dataset, by_name: &ByName) -> Self {
        let sorted = data.reordered(&by_name.names).expect("the same names in another order");
        Self::in_units(&sorted.in_canonical_rows())
    }

    /// Columns and rows as they are.
    pub fn in_units(data: &Dataset) -> Self {
        let units: Vec<f64> = data.columns().iter().map(|column| unit(column)).collect();
        let column = |(column, unit): (&Vec<f64>, &f64)| column.iter().map(|x| x / unit).collect();
        let columns = data.columns().iter().zip(&units).map(column).collect();
        let targets = (0..data.rows()).map(|row| data.targets(row).clone()).collect();
        let data = Dataset::new(data.names().clone(), columns, targets).expect("finite in any unit");
        Self { data, units }
    }

    /// A model of these data in the units of the data that were given.
    pub fn in_given_units(&self, model: &Scm) -> Scm {
        let back: Vec<f64> = self.units.iter().map(|unit| 1.0 / unit).collect();
        model.rescaled(&vec![0.0; back.len()], &back).expect("parameters of data that can be carried")
    }
}

fn unit(column: &[f64]) -> f64 {
    let size = column.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    let usual = size == 0.0 || (1.0 / MOST_SIZE..=MOST_SIZE).contains(&size);
    if usual { 1.0 } else { size.log2().floor().exp2() }
}
