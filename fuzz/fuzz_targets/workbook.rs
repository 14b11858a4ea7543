#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| seabed_fuzz::library::workbook(bytes));
