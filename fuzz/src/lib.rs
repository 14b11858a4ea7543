//! What must hold for any bytes at all: readers never panic, and what was read can be written and read again.
//!
//! Plain functions, one module for each crate, so that the tests of the crates run them too, without a fuzzer.

pub mod lab;
pub mod library;
pub mod study;
