//! From a belief to the next batch of interventions: which variables to set, to which values.
//!
//! Sees a [`Belief`]: models, and perhaps weighted graphs, and nothing else of a posterior. A strategy is a utility (what a design is
//! worth), a rule (how a batch is picked) and values (where a target is set). The parts, in the order of the work:
//!
//! - what people choose: `constraints` and `named_constraints` (what the laboratory can do), `goal` (what is to be
//!   learned) and `goal_text` (as people write it), `value`, `strategy`, `replicates`, `temperature`,
//!   `designer` (all settings, checked), `settings` (the same as people write them);
//! - what a design is worth under models: `outcomes` (what each draw expects of it, and how well every draw explains that),
//!   `information` (how much it would teach); under graphs: `paths` (what each graph expects), `blocks` (what is believed
//!   about independently), `features` (what is asked of graphs); `utility` (the interface to the rules);
//! - which designs: `candidates` (what is evaluated), `rule` (what is picked), `choice` (all of it together), with
//!   `work` (how far it is);
//! - the result: `batch`, with a `forecast` in people's words, and `record`, its form in files.

mod batch;
mod belief;
mod blocks;
mod candidates;
mod choice;
mod constraints;
mod decision;
mod designer;
mod features;
mod forecast;
mod goal;
mod goal_text;
mod gp;
mod information;
mod named_constraints;
mod outcomes;
mod paths;
mod record;
mod replicates;
mod rule;
mod settings;
mod strategy;
mod temperature;
mod utility;
mod value;
mod work;

pub use batch::{Batch, Chosen, Evaluated};
pub use belief::Belief;
pub use constraints::{Allowed, ConstraintError, Constraints, Levels};
pub use decision::{Decision, reasons};
pub use designer::{DesignError, Designer};
pub use forecast::{Forecast, ceiling};
pub use goal::Goal;
pub use goal_text::GoalError;
pub use gp::GaussianProcess;
pub use information::{Estimator, Information, information_of};
pub use named_constraints::NamedConstraints;
pub use record::{DesignRecord, EvaluationRecord, ExperimentRecord};
pub use replicates::Replicates;
pub use settings::{DesignSettings, ValuesName};
pub use strategy::{Rule, Strategy, Utility};
pub use temperature::Temperature;
pub use utility::discrepancy;
pub use value::Values;
