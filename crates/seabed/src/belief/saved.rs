//! A whole belief in one file: the models and, where the posterior knows them, the graphs.
//!
//! The file is that of an [`Ensemble`], which programs that want only the models read as it is; the graphs are one more
//! member of the archive, `graphs.json`, or one more field of the JSON text, `graphs`.

use std::path::Path;

use super::file::BeliefFileError;
use super::graphs::GraphBelief;
use crate::scm::{self, Ensemble};

/// The models of a belief, and the graphs where they are known.
pub type Saved = (Ensemble, Option<GraphBelief>);

/// Reads what [`to_npz`] or [`to_json`] gave; any other ensemble or model is a belief without graphs.
pub fn read(path: &Path) -> Result<Saved, BeliefFileError> {
    from_bytes(&scm::content(path)?, &path.display().to_string())
}

/// As [`read`], from the content of a file; `source` is its name in errors.
pub fn from_bytes(bytes: &[u8], source: &str) -> Result<Saved, BeliefFileError> {
    let models = Ensemble::from_bytes(bytes, source)?;
    let Some(text) = scm::graphs_of(bytes, source)? else { return Ok((models, None)) };
    let graphs = GraphBelief::from_json(&text, &format!("{source}: graphs"))?;
    if graphs.names() != models.names() {
        return Err(BeliefFileError::Part { file: source.into(), part: "graphs" });
    }
    Ok((models, Some(graphs)))
}

/// A belief as an `.npz` archive, which `numpy.load` opens: the same bytes as [`Ensemble::to_npz`] without graphs.
pub fn to_npz(models: &Ensemble, graphs: Option<&GraphBelief>) -> Vec<u8> {
    models.to_npz_with(graphs.map(GraphBelief::to_json).as_deref())
}

/// A belief as JSON text, for small ones: the same text as [`Ensemble::to_json`] without graphs.
pub fn to_json(models: &Ensemble, graphs: Option<&GraphBelief>) -> String {
    models.to_json_with(graphs.map(GraphBelief::to_json).as_deref())
}
