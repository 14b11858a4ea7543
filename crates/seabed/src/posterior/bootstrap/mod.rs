//! The DAG bootstrap: a posterior over linear models from resampled data.
//!
//! Rows are resampled within each regime; each resample is searched by GIES; one DAG of each estimated class, drawn at
//! random, gets its parameters by maximum likelihood on *all* the data. Equal draws are merged into weights.
//! Neither the order of columns and rows nor their units matter (`prepare`).

mod fit;
mod gies;
mod moments;
mod operators;
mod prepare;
mod result;
mod score;
mod settings;
mod state;

pub use gies::{GiesOptions, GiesResult, Step};
pub use moments::Moments;
pub use result::{BootstrapFit, Diagnostics, degenerate};
pub use score::{Degenerate, Gain, Regression, Scores, regress};
pub use settings::Bootstrap;
pub use state::State;

pub(super) use result::remarks;
