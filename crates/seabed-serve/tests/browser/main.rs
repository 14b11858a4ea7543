//! The pages in a real browser: the whole journey from a table to the report, several people, a phone, the keyboard alone,
//! strange files, and what axe finds.
//!
//! Skipped with a notice if chromedriver is not installed.

mod axe;
mod files;
mod journey;
mod laboratory;
mod people;
mod pictures;
