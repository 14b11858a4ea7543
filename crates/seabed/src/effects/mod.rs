//! What setting a variable does to the others, averaged over what is believed: total effects, and predictions.
//!
//! Every draw of an [`Ensemble`](crate::scm::Ensemble) is a graph with parameters, and gives an effect; the weighted draws
//! together give its mean, an interval and the probability that it is not zero. So the uncertainty about the graph is in
//! the answer. docs/math.md gives the formulas.

mod predict;
mod quantile;
mod span;
mod total;

pub use predict::{Predicted, predict};
pub use span::{Span, observed_spans, simulated_spans};
pub use total::{CurvePoint, Effect, Effects, most_probable_first};

/// Probability that intervals have.
pub const COVERAGE: f64 = 0.9;
