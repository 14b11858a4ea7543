//! Gene networks against the same on paper, what must always hold, and the numbers of other programs.

#[cfg(feature = "sbml")]
mod golden;
mod properties;
mod slow_twin;
