//! Structural causal models: X_j = f_j(parents of j) + noise, and weighted ensembles of them.
//!
//! An [`Ensemble`] is all that design and evaluation see of a posterior. Tables of values are column-major:
//! `columns[j][row]` is variable j. docs/math.md gives the formulas and their names here.

mod by_name;
mod ensemble;
mod file;
mod intervention;
mod json;
mod mechanism;
mod model;
mod npz;
mod shared_waves;
mod waves;

pub(crate) use by_name::ByName;
pub(crate) use ensemble::edge_probabilities;
pub use ensemble::{Ensemble, EnsembleError};
pub use file::ScmFileError;
pub(crate) use file::{content, part_of};
pub use intervention::{Intervention, InterventionError};
pub use mechanism::{Linear, Mechanism, Mlp};
pub use model::{Scm, ScmError};
pub(crate) use shared_waves::SharedWaves;
pub use waves::Waves;
