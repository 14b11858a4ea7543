//! Slow twins of the process, and what is refused as a belief.

mod process;
mod refusals;
