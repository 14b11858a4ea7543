//! The body of the fuzz target for studies on its seeds and on mutated ones.

#[path = "../../../fuzz/src/study.rs"]
mod bodies;
#[allow(dead_code)]
#[path = "../../../fuzz/src/mutate.rs"]
mod mutation;

#[test]
fn studies_of_any_text_are_planned_or_refused() {
    mutation::mutate(&mutation::seeds("study"), 10_000, bodies::study);
}
