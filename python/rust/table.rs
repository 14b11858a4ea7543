//! A table of measurements: made from arrays or read from a file, copied once, and given back as arrays.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use seabed::data::{
    DataError, DataWarning, Dataset, Names, RawTable, check_names, closest, did_you_mean, position,
    read_raw_table, write_table,
};
use seabed::design::{Constraints, NamedConstraints};
use seabed::graph::NodeSet;

use crate::failure::{Failure, in_python};
use crate::settings;
use crate::watch::{quick, watched};

/// Measurements and who was intervened on.
#[pyclass(frozen, module = "seabed._seabed")]
#[derive(Clone)]
pub struct Table {
    content: Arc<Content>,
}

enum Content {
    /// What can be learned from.
    Complete(Dataset),
    /// With missing cells, which are not numbers (NaN): held, shown and given back.
    WithGaps(RawTable),
}

impl Table {
    pub fn of(dataset: Dataset) -> Self {
        Self { content: Arc::new(Content::Complete(dataset)) }
    }

    /// The data, if no cell is missing.
    pub fn dataset(&self) -> Result<&Dataset, Failure> {
        match &*self.content {
            Content::Complete(dataset) => Ok(dataset),
            Content::WithGaps(table) => {
                let gap = |(name, column): (&String, &Vec<f64>)| {
                    Some((name.clone(), column.iter().position(|value| value.is_nan())?))
                };
                let mut columns = table.names().iter().zip(table.columns());
                let (name, row) = columns.find_map(gap).expect("some cell is missing");
                Err(Failure::data(format!(
                    "row {}, column {name:?}: the value is missing; leave such rows out with data.dropna()",
                    row + 1
                )))
            }
        }
    }

    fn names_of(&self) -> &Names {
        match &*self.content {
            Content::Complete(dataset) => dataset.names(),
            Content::WithGaps(table) => table.names(),
        }
    }

    fn columns(&self) -> &[Vec<f64>] {
        match &*self.content {
            Content::Complete(dataset) => dataset.columns(),
            Content::WithGaps(table) => table.columns(),
        }
    }

    /// Sets of targets, and the number of the set of every row.
    fn sets(&self) -> (&[NodeSet], &[u32]) {
        match &*self.content {
            Content::Complete(dataset) => (dataset.regimes(), dataset.regime_of_row()),
            Content::WithGaps(table) => table.targets(),
        }
    }
}

#[pymethods]
impl Table {
    /// From columns (float64, in one or more pieces), the distinct sets of targets, and the number of the set of every row.
    #[staticmethod]
    fn from_columns(
        py: Python<'_>,
        names: Vec<String>,
        columns: Vec<Vec<PyReadonlyArray1<'_, f64>>>,
        sets: Vec<Vec<String>>,
        set_of_row: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<Self> {
        let copied = |pieces: &Vec<PyReadonlyArray1<'_, f64>>| {
            let mut column = Vec::with_capacity(pieces.iter().map(|piece| piece.as_array().len()).sum());
            for piece in pieces {
                match piece.as_slice() {
                    Ok(slice) => column.extend_from_slice(slice),
                    Err(_) => column.extend(piece.as_array()),
                }
            }
            column
        };
        let columns: Vec<Vec<f64>> = columns.iter().map(copied).collect();
        let set_of_row = set_of_row.as_array().to_vec();
        quick(py, || Ok(Self { content: Arc::new(content(names, columns, &sets, set_of_row)?) }))
    }

    /// From a file; also what was guessed and what is unusual about it, as sentences.
    #[staticmethod]
    #[pyo3(signature = (path, options, progress=None))]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        options: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Self, Vec<String>)> {
        watched(py, None, progress.as_ref(), |observer| {
            let table = read_raw_table(&path, &settings::read_options(options)?, observer)?;
            if table.missing() > 0 {
                // The rest is told when rows are set aside: it depends on them.
                let said = sentences(&table.notes, &table.warnings);
                return Ok((Self { content: Arc::new(Content::WithGaps(table)) }, said));
            }
            let loaded = table.complete()?;
            let said = sentences(&loaded.notes, &loaded.warnings);
            Ok((Self::of(loaded.dataset), said))
        })
    }

    /// To a file, .csv or .parquet.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        watched(py, Some(1), None, |_| match &*self.content {
            Content::Complete(dataset) => Ok(write_table(&path, dataset)?),
            Content::WithGaps(table) => Ok(table.write(&path)?),
        })
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.names_of().to_vec()
    }

    #[getter]
    fn rows(&self) -> usize {
        self.sets().1.len()
    }

    /// The number of missing cells.
    #[getter]
    fn missing(&self) -> usize {
        match &*self.content {
            Content::Complete(_) => 0,
            Content::WithGaps(table) => table.missing(),
        }
    }

    /// The rows without missing cells; also what to know about those that are set aside and, of a file, about the others.
    fn complete(&self, py: Python<'_>) -> PyResult<(Self, Vec<String>)> {
        quick(py, || match &*self.content {
            Content::Complete(_) => Ok((self.clone(), Vec::new())),
            Content::WithGaps(table) => {
                let loaded = table.clone().complete()?;
                let said = sentences(&[], &loaded.warnings[table.warnings.len()..]);
                Ok((Self::of(loaded.dataset), said))
            }
        })
    }

    /// A copy of a column.
    fn column<'py>(&self, py: Python<'py>, variable: usize) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let beyond = || Failure::data(format!("there is no column {variable}"));
        let column = self.columns().get(variable).ok_or_else(beyond)?;
        Ok(PyArray1::from_slice(py, column))
    }

    /// The distinct sets of targets, by name.
    fn target_sets(&self) -> Vec<Vec<String>> {
        let names = self.names_of();
        let by_name = |set: &NodeSet| set.iter().map(|node| names[node].clone()).collect();
        self.sets().0.iter().map(by_name).collect()
    }

    /// For every row the number of its set.
    fn set_of_row<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.sets().1)
    }

    /// This table and the rows of another one below it; its columns may be in another order.
    fn appended(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        quick(py, || {
            let mut all = self.dataset()?.clone();
            all.append(other.dataset()?)?;
            Ok(Self::of(all))
        })
    }

    /// What can be set to what unless the user says otherwise, as JSON: what was observed.
    fn observed_constraints(&self, py: Python<'_>) -> PyResult<String> {
        quick(py, || {
            let data = self.dataset()?;
            let form = NamedConstraints::new(&Constraints::observed(data), data.names());
            Ok(serde_json::to_string(&form).expect("plain numbers"))
        })
    }
}

/// What is to be told about a table, in the words of Python.
fn sentences(notes: &[String], warnings: &[DataWarning]) -> Vec<String> {
    let warnings = warnings.iter().map(DataWarning::to_string);
    notes.iter().cloned().chain(warnings).map(|sentence| in_python(&sentence)).collect()
}

fn content(
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
    sets: &[Vec<String>],
    set_of_row: Vec<u32>,
) -> Result<Content, Failure> {
    let names: Names = names.into();
    check_names(&names).map_err(DataError::from)?;
    let mut number: HashMap<&str, usize> = HashMap::new();
    number.extend(names.iter().enumerate().map(|(node, name)| (name.as_str(), node)));
    let node = |name: &String| {
        let found = number.get(name.as_str()).copied().or_else(|| position(&names, name));
        found.ok_or_else(|| {
            let hint = did_you_mean(closest(name, &names));
            Failure::data(format!("the target {name:?} is not a variable{hint}"))
        })
    };
    let set = |list: &Vec<String>| -> Result<NodeSet, Failure> {
        Ok(NodeSet::of(names.len(), list.iter().map(node).collect::<Result<Vec<_>, _>>()?))
    };
    let sets: Vec<NodeSet> = sets.iter().map(set).collect::<Result<_, _>>()?;
    if set_of_row.iter().any(|&k| k as usize >= sets.len()) {
        return Err(Failure::data("a row has a set of targets that is not listed"));
    }
    let rows = set_of_row.len();
    let right = columns.len() == names.len() && columns.iter().all(|column| column.len() == rows);
    let gaps = columns.iter().flatten().any(|value| value.is_nan());
    if right && gaps && rows > 0 {
        return Ok(Content::WithGaps(RawTable::new(names, columns, sets, set_of_row)?));
    }
    let targets = set_of_row.iter().map(|&k| sets[k as usize].clone()).collect();
    Ok(Content::Complete(Dataset::new(names, columns, targets)?))
}
