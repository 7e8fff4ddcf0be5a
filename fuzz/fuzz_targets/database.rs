//! A study whose bytes were changed: three bytes of input say where and to what.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows_model::host::Host;
use narrows_model::study::StoredStudy;
use narrows_store::{Store, counts, head, read};
use std::path::PathBuf;
use std::sync::LazyLock;

/// A sound file's bytes, and where the changed ones are put.
static SOUND: LazyLock<(Vec<u8>, PathBuf)> = LazyLock::new(|| {
    let path = std::env::temp_dir().join(format!("narrows-fuzz-{}.narrows", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let stored = StoredStudy::unmeasured(Host::default());
    drop(Store::create(&path, &stored.study, &stored.host).expect("a file"));
    (std::fs::read(&path).expect("file"), path)
});

fuzz_target!(|changes: &[u8]| {
    let (sound, path) = &*SOUND;
    let mut bytes = sound.clone();
    for change in changes.chunks_exact(3) {
        // Headers of the file and of its pages matter most: half of all changes are there.
        let at = usize::from(u16::from_be_bytes([change[0], change[1]]));
        let at = if at % 2 == 0 { at / 2 % 4096 } else { at * 7 % bytes.len() };
        bytes[at] = change[2];
    }
    if changes.len() % 3 == 1 {
        bytes.truncate(usize::from(changes[0]) * 97);
    }
    std::fs::write(path, &bytes).expect("write");
    let _ = read(path);
    let _ = head(path);
    let _ = counts(path);
    let _ = Store::open(path);
});
