//! A firmware's table, and the text that dmidecode makes of one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows_host::memory::{dmidecode, parse_smbios};

fuzz_target!(|bytes: &[u8]| {
    let _ = parse_smbios(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = dmidecode::parse(text);
    }
});
