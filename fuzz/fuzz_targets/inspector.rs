//! The reader of `inspector`.
#![no_main]

mod one;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| one::drive("inspector", bytes));
