//! What people attach: every reader on every text, the sections of long reports, and archives.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows_host::bundle::{self, Unpacked};
use narrows_host::parts::join;
use narrows_host::readers::{READERS, redfish};

fuzz_target!(|bytes: &[u8]| {
    if let Some(Ok(Unpacked::Tree(tree))) = bundle::unpack(bytes) {
        let none = |_: &str, _: &str| None::<Result<_, String>>;
        let _ = join(bundle::parts(tree, "fuzzed", none));
    }
    let text = String::from_utf8_lossy(bytes);
    let _ = bundle::is_divided(&text);
    for reader in READERS {
        let _ = (reader.is)(&text);
        let Ok(part) = (reader.read)(&text, "fuzzed") else { continue };
        let _ = redfish::assemble(&part.resources, "fuzzed");
        let _ = join(vec![part]);
    }
});
