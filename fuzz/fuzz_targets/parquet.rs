#![no_main]

libfuzzer_sys::fuzz_target!(
    init: {
        // The decoder panics on a few damaged pages, which is caught and reported as an error: no finding.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().name() != Some(seabed::data::DECODER_THREAD) {
                hook(panic);
            }
        }));
    },
    |bytes: &[u8]| seabed_fuzz::library::parquet(bytes)
);
