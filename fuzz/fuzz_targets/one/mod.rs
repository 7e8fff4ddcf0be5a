//! One reader of what people attach, by its name.

use narrows_host::parts::join;
use narrows_host::readers::{READERS, redfish};

/// Reads the bytes as this program's output, and puts together what it told.
pub fn drive(name: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Some(reader) = READERS.iter().find(|reader| reader.name == name) else {
        panic!("no reader is called {name}")
    };
    let _ = (reader.is)(&text);
    let Ok(part) = (reader.read)(&text, "fuzzed") else { return };
    let _ = redfish::assemble(&part.resources, "fuzzed");
    let _ = join(vec![part]);
}
