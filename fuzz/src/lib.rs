//! What must hold for any bytes at all: readers never panic, and what was read can be written and read again.
//!
//! Plain functions, one module for each crate, so that the tests of the crates run them too, without a fuzzer.

pub mod lab;
pub mod library;
pub mod study;

/// For targets whose decoder may panic on damaged input, which is caught and reported as an error: such a panic is no finding.
pub fn ignore_panics_of_decoders() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(seabed::data::DECODER_THREAD) {
            hook(panic);
        }
    }));
}
