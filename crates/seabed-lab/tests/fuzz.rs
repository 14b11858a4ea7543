//! The bodies of the fuzz targets for laboratories on their seeds and on mutated ones.

#[path = "../../../fuzz/src/lab.rs"]
mod bodies;
#[allow(dead_code)]
#[path = "../../../fuzz/src/mutate.rs"]
mod mutation;

use mutation::{mutate, seeds};

#[test]
fn variables_of_any_text_are_read_or_refused() {
    mutate(&seeds("variables"), 20_000, bodies::variables);
}

#[test]
fn forms_of_any_bytes_are_recorded_or_refused() {
    mutate(&seeds("form"), 3000, bodies::form);
}
