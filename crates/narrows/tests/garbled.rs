//! Descriptions garbled at random: whatever becomes of one, reading and showing it never panics.

mod common;

use common::folder;
use narrows_facts::host::Host;
use narrows_host::open;
use narrows_report::results::Results;
use narrows_report::views;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Garbled copies of each description.
const COPIES: usize = 150;

/// A small generator, so that a failure can be repeated.
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % below.max(1)
    }

    /// Overwrites, cuts, doubles or drops a piece.
    fn garble(&mut self, bytes: &mut Vec<u8>) {
        let at = self.next(bytes.len());
        let piece = self.next(40).min(bytes.len() - at);
        match self.next(5) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..at + piece)),
            2 => {
                let copy = bytes[at..at + piece].to_vec();
                bytes.splice(at..at, copy);
            }
            3 => bytes[at] = self.next(256) as u8,
            _ => {
                // A number becomes an extreme one.
                let extreme = [&b"0"[..], b"18446744073709551615", b"-1", b"4294967296", b"1e999"];
                let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                bytes.splice(at..at + digits, extreme[self.next(5)].iter().copied());
            }
        }
    }
}

fn show(host: &Host, other: &Host) {
    for view in views::VIEWS {
        let _ = (view.write)(host);
    }
    let _ = views::picture(host);
    let _ = views::diff::write(("a", host), ("b", other));
    let _ = serde_json::to_string(&Results::of(host)).expect("results are JSON");
}

fn descriptions() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    if !dir.is_dir() {
        let text = format!("skipped: {} is not there\n", dir.display());
        // In one piece: the harness writes between.
        let _ = std::io::stderr().write_all(text.as_bytes());
        return Vec::new();
    }
    [
        "smbios-raw/supermicro-1027r-wrf/DMI",
        "smbios-raw/dell-precision-t7600/DMI",
        "smbios-text/dell-poweredge-r740-102E11A0DB9A.txt",
        "smbios-text/supermicro-x11dai-n-883610D37508.txt",
        "smbios-derived/dell-poweredge-r815-8E1C4DEF3636/DMI",
        "hwloc-xml/24em64t-2n6c2t-pci.xml",
        "hwloc-xml/flux-catalyst.xml",
    ]
    .map(|path| dir.join(path))
    .to_vec()
}

#[test]
fn nothing_panics_on_a_garbled_description() {
    let dir = folder("garbled");
    // This machine's own capture is there everywhere.
    let capture = dir.join("capture.json");
    std::fs::write(&capture, narrows_host::capture()).expect("capture");
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let (mut read, mut refused) = (0, 0);
    for path in descriptions().into_iter().chain([capture]) {
        let whole = std::fs::read(&path).expect("description");
        let sound = open(&path).expect("sound");
        show(&sound, &sound);
        for _ in 0..COPIES {
            let mut bytes = whole.clone();
            for _ in 0..=chance.next(4) {
                if !bytes.is_empty() {
                    chance.garble(&mut bytes);
                }
            }
            let file = dir.join("garbled");
            std::fs::write(&file, &bytes).expect("file");
            match open(&file) {
                Ok(host) => {
                    show(&host, &sound);
                    read += 1;
                }
                Err(why) => {
                    assert!(why.contains("garbled"), "an error names its file: {why}");
                    refused += 1;
                }
            }
        }
    }
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused: both must happen");
}
