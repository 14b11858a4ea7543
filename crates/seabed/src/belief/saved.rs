//! A whole belief in one file: the models and, where the posterior knows them, the graphs; and the data in brief.
//!
//! The file is that of an [`Ensemble`], which programs that want only the models read as it is; the others are one more
//! member of the archive each, `graphs.json` and `data.json`, or one more field of the JSON text, `graphs` and `data`.

use std::path::Path;

use super::file::BeliefFileError;
use super::graphs::GraphBelief;
use crate::data::{DataSummary, VariableSummary};
use crate::observer::Observer;
use crate::scm::{self, Ensemble};

/// The models of a belief, and the graphs where they are known.
pub type Saved = (Ensemble, Option<GraphBelief>);

/// Reads what [`to_npz`] or [`to_json`] gave; any other ensemble or model is a belief without graphs.
pub fn read(path: &Path) -> Result<Saved, BeliefFileError> {
    from_bytes(&scm::content(path)?, &path.display().to_string())
}

/// As [`read`], with an observer: many graphs of many rows take their time.
pub fn read_watched(path: &Path, observer: &dyn Observer) -> Result<Saved, BeliefFileError> {
    from_bytes_watched(&scm::content(path)?, &path.display().to_string(), observer)
}

/// As [`read`], from the content of a file; `source` is its name in errors.
pub fn from_bytes(bytes: &[u8], source: &str) -> Result<Saved, BeliefFileError> {
    from_bytes_watched(bytes, source, &())
}

/// As [`read_watched`], from the content of a file; `source` is its name in errors.
pub fn from_bytes_watched(
    bytes: &[u8],
    source: &str,
    observer: &dyn Observer,
) -> Result<Saved, BeliefFileError> {
    let models = Ensemble::from_bytes(bytes, source)?;
    let Some(text) = scm::part_of(bytes, "graphs", source)? else { return Ok((models, None)) };
    let graphs = GraphBelief::from_json_watched(&text, &format!("{source}: graphs"), observer)?;
    if graphs.names() != models.names() {
        return Err(BeliefFileError::Part { file: source.into(), part: "graphs" });
    }
    Ok((models, Some(graphs)))
}

/// A belief as an `.npz` archive, which `numpy.load` opens: the same bytes as [`Ensemble::to_npz`] without graphs.
pub fn to_npz(models: &Ensemble, graphs: Option<&GraphBelief>) -> Vec<u8> {
    to_npz_of(models, graphs, None)
}

/// A belief as JSON text, for small ones: the same text as [`Ensemble::to_json`] without graphs.
pub fn to_json(models: &Ensemble, graphs: Option<&GraphBelief>) -> String {
    to_json_of(models, graphs, None)
}

/// As [`to_npz`], with the data that it was learned from in brief.
pub fn to_npz_of(models: &Ensemble, graphs: Option<&GraphBelief>, data: Option<&DataSummary>) -> Vec<u8> {
    models.to_npz_with(graphs.map(GraphBelief::to_json).as_deref(), data.map(in_json).as_deref())
}

/// As [`to_json`], with the data that it was learned from in brief.
pub fn to_json_of(models: &Ensemble, graphs: Option<&GraphBelief>, data: Option<&DataSummary>) -> String {
    models.to_json_with(graphs.map(GraphBelief::to_json).as_deref(), data.map(in_json).as_deref())
}

fn in_json(data: &DataSummary) -> String {
    serde_json::to_string(data).expect("plain numbers have a JSON form")
}

/// What a saved belief remembers of its data; files of earlier versions and models remember nothing.
pub fn remembered(path: &Path) -> Result<Option<DataSummary>, BeliefFileError> {
    remembered_in(&scm::content(path)?, &path.display().to_string())
}

/// As [`remembered`], from the content of a file; `source` is its name in errors.
pub fn remembered_in(bytes: &[u8], source: &str) -> Result<Option<DataSummary>, BeliefFileError> {
    let Some(text) = scm::part_of(bytes, "data", source)? else { return Ok(None) };
    let damaged = || BeliefFileError::Part { file: source.into(), part: "data" };
    let summary: DataSummary = serde_json::from_slice(&text).map_err(|_| damaged())?;
    let models = Ensemble::from_bytes(bytes, source)?;
    let finite =
        |v: &VariableSummary| [v.mean, v.sd, v.least, v.most, v.low, v.high].iter().all(|x| x.is_finite());
    let fits = summary.variables.iter().map(|variable| &variable.name).eq(models.names().iter());
    if fits && summary.variables.iter().all(finite) { Ok(Some(summary)) } else { Err(damaged()) }
}
