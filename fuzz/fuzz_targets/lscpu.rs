//! The reader of `lscpu`.
#![no_main]

mod one;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| one::drive("lscpu", bytes));
