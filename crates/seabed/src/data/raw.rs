//! A table as it stands: cells may be missing. What can be learned from are its complete rows.

use std::path::Path;

use crate::graph::NodeSet;

use super::cell::like_targets;
use super::dataset::{Dataset, check_values};
use super::error::DataError;
use super::files::write_view;
use super::loaded::{DataWarning, Loaded};
use super::missing::{Absent, Gaps};
use super::names::{Names, check_names};
use super::wording::Remedy;

/// Measurements and who was intervened on, where missing cells are NaN.
#[derive(Clone, Debug)]
pub struct RawTable {
    names: Names,
    /// `[variables][rows]`.
    columns: Vec<Vec<f64>>,
    sets: Vec<NodeSet>,
    /// `[rows]`, indices into `sets`.
    set_of_row: Vec<u32>,
    gaps: Gaps,
    /// Where it was read from; nowhere if it was made in memory.
    file: Option<String>,
    /// What is unusual about the file, whatever its rows hold.
    pub warnings: Vec<DataWarning>,
    /// What was found out about the file that its user did not say.
    pub notes: Vec<String>,
}

impl RawTable {
    /// A table in memory: `columns` is `[variables][rows]`, of finite numbers or NaN, and row `r` has the targets
    /// `sets[set_of_row[r]]`.
    pub fn new(
        names: Names,
        columns: Vec<Vec<f64>>,
        sets: Vec<NodeSet>,
        set_of_row: Vec<u32>,
    ) -> Result<Self, DataError> {
        check_names(&names)?;
        check_values(&names, &columns, |value| value.is_finite() || value.is_nan())?;
        let rows = columns[0].len();
        if set_of_row.len() != rows || set_of_row.iter().any(|&k| k as usize >= sets.len()) {
            return Err(DataError::Shape {
                each: "set of targets per row",
                expected: rows,
                got: set_of_row.len(),
            });
        }
        let (gaps, warnings, notes) = (Gaps::of(&columns), Vec::new(), Vec::new());
        Ok(Self { names, columns, sets, set_of_row, gaps, file: None, warnings, notes })
    }

    /// What was read from a file.
    pub(super) fn read(
        file: &str,
        names: Names,
        columns: Vec<Vec<f64>>,
        gaps: Gaps,
        (sets, set_of_row): (Vec<NodeSet>, Vec<u32>),
    ) -> Self {
        let (file, warnings, notes) = (Some(file.to_string()), Vec::new(), Vec::new());
        Self { names, columns, sets, set_of_row, gaps, file, warnings, notes }
    }

    /// The names of the variables, in order.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The values of all variables, `[variables][rows]`; missing ones are NaN.
    pub fn columns(&self) -> &[Vec<f64>] {
        &self.columns
    }

    /// Sets of targets, and for every row the index of its set.
    pub fn targets(&self) -> (&[NodeSet], &[u32]) {
        (&self.sets, &self.set_of_row)
    }

    /// The number of missing cells.
    pub fn missing(&self) -> usize {
        self.gaps.count()
    }

    /// The complete rows, with a warning that says how many others are set aside; what is unusual about the values of a
    /// file is told as well.
    pub fn complete(self) -> Result<Loaded, DataError> {
        let from_file = self.file.is_some();
        let loaded = self.complete_part()?;
        Ok(if from_file { loaded.examined() } else { loaded })
    }

    /// As [`RawTable::complete`], of a file that may be one of several: its values are not examined yet.
    pub(super) fn complete_part(self) -> Result<Loaded, DataError> {
        let Self { names, mut columns, sets, mut set_of_row, gaps, file, mut warnings, notes } = self;
        let name = || file.clone().unwrap_or_else(|| "the data".into());
        let aside = gaps.close(&names, &mut columns, &mut set_of_row);
        if let Some(aside) = aside.as_ref().filter(|aside| aside.rows == aside.of) {
            let worst = aside.columns.first().map_or("", |(name, _)| name);
            let remedy =
                if like_targets(worst) { Remedy::CallItTargets } else { Remedy::LeaveOut(worst.to_string()) };
            return Err(DataError::NoCompleteRow { file: name(), aside: Box::new(aside.clone()), remedy });
        }
        let dataset = Dataset::from_sets(names, columns, sets, set_of_row);
        let dataset = dataset.map_err(|error| error.in_file(&name()))?;
        warnings.extend(aside.map(DataWarning::SetAside));
        Ok(Loaded { dataset, warnings, notes })
    }

    /// Writes the table, `.csv` or `.parquet`, atomically; missing cells are NaN there, too.
    pub fn write(&self, path: &Path) -> Result<(), DataError> {
        write_view(path, &TableView::from(self))
    }
}

/// What is written of a table.
pub(super) struct TableView<'a> {
    pub(super) names: &'a Names,
    /// `[variables][rows]`.
    pub(super) columns: &'a [Vec<f64>],
    pub(super) sets: &'a [NodeSet],
    /// `[rows]`, indices into `sets`.
    pub(super) set_of_row: &'a [u32],
}

impl TableView<'_> {
    pub(super) fn rows(&self) -> usize {
        self.set_of_row.len()
    }

    pub(super) fn interventional(&self) -> bool {
        self.sets.iter().any(|set| !set.is_empty())
    }

    /// The cell that describes each set of targets.
    pub(super) fn target_texts(&self) -> Vec<String> {
        let text = |set: &NodeSet| {
            let names: Vec<&str> = set.iter().map(|node| self.names[node].as_str()).collect();
            names.join(";")
        };
        self.sets.iter().map(text).collect()
    }
}

impl<'a> From<&'a Dataset> for TableView<'a> {
    fn from(data: &'a Dataset) -> Self {
        let (names, columns) = (data.names(), data.columns());
        Self { names, columns, sets: data.regimes(), set_of_row: data.regime_of_row() }
    }
}

impl<'a> From<&'a RawTable> for TableView<'a> {
    fn from(table: &'a RawTable) -> Self {
        let (sets, set_of_row) = table.targets();
        Self { names: table.names(), columns: table.columns(), sets, set_of_row }
    }
}

impl Gaps {
    /// The gaps of a table in memory.
    pub(super) fn of(columns: &[Vec<f64>]) -> Self {
        let mut gaps = Self::default();
        for (node, column) in columns.iter().enumerate() {
            column.iter().filter(|value| value.is_nan()).for_each(|_| gaps.take(node, Absent::Missing, ""));
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{ReadOptions, read_raw_table, read_table};

    fn table() -> RawTable {
        let names: Names = vec!["a".to_string(), "b".to_string()].into();
        let columns = vec![vec![1.0, f64::NAN, 3.0], vec![2.0, 1.0, 0.5]];
        let sets = vec![NodeSet::empty(2), NodeSet::of(2, [1])];
        RawTable::new(names, columns, sets, vec![0, 1, 1]).unwrap()
    }

    fn bits(columns: &[Vec<f64>]) -> Vec<Vec<u64>> {
        columns.iter().map(|column| column.iter().map(|value| value.to_bits()).collect()).collect()
    }

    #[test]
    fn gaps_are_kept_and_complete_rows_are_what_is_learned_from() {
        let raw = table();
        assert_eq!(raw.missing(), 1);
        let loaded = raw.complete().unwrap();
        assert_eq!(loaded.dataset.columns(), [[1.0, 3.0], [2.0, 0.5]]);
        assert!(loaded.dataset.targets(1).contains(1));
        assert_eq!(
            loaded.warnings[0].to_string(),
            "1 of 3 rows is set aside because values are missing (1 of a); --ignore a would keep 1 of them"
        );
        let names: Names = vec!["a".to_string()].into();
        let nothing = RawTable::new(names.clone(), vec![vec![f64::NAN]], vec![NodeSet::empty(1)], vec![0]);
        let refused = nothing.unwrap().complete().unwrap_err().to_string();
        assert!(refused.starts_with("the data: no row is complete"), "{refused}");
        let endless = RawTable::new(names, vec![vec![f64::INFINITY]], vec![NodeSet::empty(1)], vec![0]);
        assert!(endless.is_err());
    }

    #[test]
    fn files_keep_gaps() {
        let folder = tempfile::tempdir().unwrap();
        let kinds: &[&str] = if cfg!(feature = "parquet") { &["csv", "parquet"] } else { &["csv"] };
        for kind in kinds {
            let path = folder.path().join(format!("table.{kind}"));
            table().write(&path).unwrap();
            let raw = read_raw_table(&path, &ReadOptions::default(), &()).unwrap();
            let nan = |columns: &[Vec<f64>]| {
                let nan = |value: &f64| if value.is_nan() { f64::NAN } else { *value };
                bits(&columns.iter().map(|column| column.iter().map(nan).collect()).collect::<Vec<_>>())
            };
            assert_eq!(nan(raw.columns()), nan(table().columns()), "{kind}");
            let (sets, set_of_row) = raw.targets();
            assert!(sets[set_of_row[1] as usize].contains(1), "{kind}");
            // The same rows as without gaps.
            let loaded = read_table(&path, &ReadOptions::default()).unwrap();
            assert_eq!(raw.complete().unwrap(), loaded, "{kind}");
        }
    }
}
