//! Gene networks against the formulas on paper, against what must always hold, and against the numbers of other programs.

#[cfg(feature = "sbml")]
mod golden;
mod properties;
mod slow_twin;
