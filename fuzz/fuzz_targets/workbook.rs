#![no_main]

libfuzzer_sys::fuzz_target!(
    init: seabed_fuzz::ignore_panics_of_decoders(),
    |bytes: &[u8]| seabed_fuzz::library::workbook(bytes)
);
