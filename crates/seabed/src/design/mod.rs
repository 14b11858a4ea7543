//! From a belief to the next batch of interventions: which variables to set, to which values.
//!
//! Sees an [`Ensemble`](crate::scm::Ensemble) and nothing else of a posterior. The parts, in the order of the work:
//! `outcomes` (what each draw expects of a design, and how well every draw explains it), `information` (how much a
//! design would teach), `value` (where to set a target), `batch` (which designs together), `constraints` (what the
//! laboratory can do), `goal` (what is to be learned).

mod batch;
mod constraints;
mod goal;
mod gp;
mod information;
mod outcomes;
mod record;
mod search;
mod settings;
mod value;

pub use batch::{Batch, Chosen, DesignError, Designer, Evaluated, Strategy};
pub use constraints::{Allowed, ConstraintError, Constraints, Levels};
pub use goal::Goal;
pub use gp::GaussianProcess;
pub use information::{Estimator, Information, discrepancy, information_of};
pub use outcomes::Evaluator;
pub use record::{DesignRecord, EvaluationRecord, ExperimentRecord};
pub use settings::{DesignSettings, ValuesName};
pub use value::Values;
