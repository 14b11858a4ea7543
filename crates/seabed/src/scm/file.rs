//! Files of models and ensembles: their format, and what can be wrong with them.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use super::{Ensemble, EnsembleError, Scm, ScmError, json, npz};
use crate::data::Names;

/// What is wrong with a file of models.
#[derive(Debug, thiserror::Error)]
pub enum ScmFileError {
    /// The file cannot be read.
    #[error("{file}: {}", if reason.kind() == std::io::ErrorKind::NotFound { "there is no such file".into() } else { reason.to_string() })]
    Read {
        /// The file.
        file: String,
        /// What the system says.
        reason: std::io::Error,
    },
    /// Not the JSON of a model or an ensemble.
    #[error("{file}: {reason}; `seabed simulate --save-scm` writes an example of the format")]
    Json {
        /// The file.
        file: String,
        /// Where and why.
        reason: serde_json::Error,
    },
    /// Invalid names.
    #[error("{file}: {reason}")]
    Names {
        /// The file.
        file: String,
        /// What is wrong with them.
        reason: crate::data::NameError,
    },
    /// A node whose name is not listed.
    #[error("{file}: the node {name:?} is not listed in `names`; add it there or remove the node")]
    UnknownNode {
        /// The file.
        file: String,
        /// The node.
        name: String,
    },
    /// A name without a node.
    #[error(
        "{file}: `names` lists {name:?}, but there is no such node; every name needs one entry in `nodes`"
    )]
    MissingNode {
        /// The file.
        file: String,
        /// The name.
        name: String,
    },
    /// A node that is given twice.
    #[error("{file}: the node {name:?} is given twice; keep one of them")]
    RepeatedNode {
        /// The file.
        file: String,
        /// The node.
        name: String,
    },
    /// A parent that is unknown or listed twice.
    #[error("{file}: the node {node:?} has the parent {parent:?}, which is not in `names` or listed twice")]
    Parent {
        /// The file.
        file: String,
        /// The node.
        node: String,
        /// The parent.
        parent: String,
    },
    /// Weights that do not fit the parents.
    #[error(
        "{file}: the mechanism of {node:?} does not fit its {parents} parents: a linear one has one weight per parent, \
         an mlp one row of `w1` per parent, each as long as `b1` and `w2`, waves one weight and one row of `frequencies` \
         per parent, each as long as `phases` and `amplitudes`"
    )]
    Shape {
        /// The file.
        file: String,
        /// The node.
        node: String,
        /// Number of its parents.
        parents: usize,
    },
    /// The parents form a cycle.
    #[error("{file}: the parents form a cycle: {} -> {}; a causal model needs an acyclic graph", cycle.join(" -> "), cycle[0])]
    Cycle {
        /// The file.
        file: String,
        /// The nodes of the cycle.
        cycle: Vec<String>,
    },
    /// An invalid model.
    #[error("{file}: {reason}")]
    Model {
        /// The file.
        file: String,
        /// What is wrong.
        reason: ScmError,
    },
    /// An invalid ensemble.
    #[error("{file}: {reason}")]
    Ensemble {
        /// The file.
        file: String,
        /// What is wrong.
        reason: EnsembleError,
    },
    /// A damaged or foreign file.
    #[error("{file}: {member}: {problem}; an ensemble is the .npz or .json file that seabed writes")]
    Part {
        /// The file.
        file: String,
        /// The part of it.
        member: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl Scm {
    /// Reads a model from JSON.
    pub fn read(path: &Path) -> Result<Self, ScmFileError> {
        Self::from_json(&content(path)?, &path.display().to_string())
    }

    /// A model from JSON text; `source` is its name in errors.
    pub fn from_json(text: &[u8], source: &str) -> Result<Self, ScmFileError> {
        json::scm_from_json(text, source)
    }

    /// The model as JSON text; [`Scm::from_json`] gives it back bit for bit.
    pub fn to_json(&self) -> String {
        json::scm_to_json(self)
    }
}

impl Ensemble {
    /// Reads an ensemble, binary or JSON by content; the JSON of a single model is an ensemble of one draw.
    pub fn read(path: &Path) -> Result<Self, ScmFileError> {
        Self::from_bytes(&content(path)?, &path.display().to_string())
    }

    /// An ensemble from the content of a file; `source` is its name in errors.
    pub fn from_bytes(bytes: &[u8], source: &str) -> Result<Self, ScmFileError> {
        if is_archive(bytes) {
            npz::ensemble_from_npz(bytes, source)
        } else {
            json::ensemble_from_json(bytes, source)
        }
    }

    /// The ensemble as JSON text, for small ones.
    pub fn to_json(&self) -> String {
        self.to_json_with(None, None)
    }

    /// The ensemble as an `.npz` archive, which `numpy.load` opens.
    pub fn to_npz(&self) -> Vec<u8> {
        self.to_npz_with(None, None)
    }

    /// As [`Ensemble::to_json`], with the JSON texts of a belief about graphs and of the data in brief as the fields
    /// `graphs` and `data`.
    pub(crate) fn to_json_with(&self, graphs: Option<&str>, data: Option<&str>) -> String {
        json::ensemble_to_json(self, graphs, data)
    }

    /// As [`Ensemble::to_npz`], with the same texts as the members `graphs.json` and `data.json`.
    pub(crate) fn to_npz_with(&self, graphs: Option<&str>, data: Option<&str>) -> Vec<u8> {
        npz::ensemble_to_npz(self, graphs, data).expect("an archive in memory can be written")
    }
}

/// The JSON text of one more part of an ensemble's file, `graphs` or `data`, if it has one.
pub(crate) fn part_of<'a>(
    bytes: &'a [u8],
    part: &str,
    source: &str,
) -> Result<Option<Cow<'a, [u8]>>, ScmFileError> {
    if is_archive(bytes) {
        Ok(npz::part_of_npz(bytes, part, source)?.map(Cow::Owned))
    } else {
        Ok(json::part_of_json(bytes, part, source)?.map(Cow::Borrowed))
    }
}

fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK")
}

pub(crate) fn content(path: &Path) -> Result<Vec<u8>, ScmFileError> {
    fs::read(path).map_err(|reason| ScmFileError::Read { file: path.display().to_string(), reason })
}

pub(super) fn checked_names(names: Vec<String>, source: &str) -> Result<Names, ScmFileError> {
    crate::data::check_names(&names).map_err(|reason| ScmFileError::Names { file: source.into(), reason })?;
    Ok(names.into())
}
