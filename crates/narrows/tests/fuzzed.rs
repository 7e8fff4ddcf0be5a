//! The fuzz targets, which live outside the workspace, since cargo-fuzz needs a nightly compiler:
//! here they are compiled as they stand, with a few inputs each, so that they follow the rooms.
#![allow(unused_attributes)]

// They ask `libfuzzer_sys` for its macro, and get this file's.
extern crate self as libfuzzer_sys;

#[path = "../../../fuzz/fuzz_targets/attached.rs"]
mod attached;
#[path = "../../../fuzz/fuzz_targets/database.rs"]
mod database;
#[path = "../../../fuzz/fuzz_targets/importers.rs"]
mod importers;
#[path = "../../../fuzz/fuzz_targets/one/mod.rs"]
mod one;
#[path = "../../../fuzz/fuzz_targets/smbios.rs"]
mod smbios;
#[path = "../../../fuzz/fuzz_targets/wire.rs"]
mod wire;

use narrows_host::readers::READERS;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A target as a function of its input.
#[macro_export]
macro_rules! fuzz_target {
    (|$bytes:ident: &[u8]| $body:block) => {
        pub fn target($bytes: &[u8]) {
            $body
        }
    };
    (|$text:ident: &str| $body:block) => {
        pub fn target(bytes: &[u8]) {
            let Ok($text) = std::str::from_utf8(bytes) else { return };
            $body
        }
    };
}

/// Gives a target so many inputs: letters, bytes, and none at all.
fn fed(target: impl Fn(&[u8]), inputs: usize) {
    let mut random = Pcg64::seed_from_u64(11);
    target(&[]);
    for number in 0..inputs {
        let length = random.random_range(1..400);
        let most = if number % 2 == 0 { 0x7f } else { 0xff };
        let bytes: Vec<u8> = (0..length).map(|_| random.random_range(0..=most)).collect();
        target(&bytes);
    }
}

#[test]
fn targets_take_any_input() {
    fed(attached::target, 400);
    fed(database::target, 60);
    fed(importers::target, 400);
    fed(smbios::target, 400);
    fed(wire::target, 24);
}

/// Each names its reader, and drives that one.
#[test]
fn each_reader_has_a_target() {
    for reader in READERS {
        fed(|bytes| one::drive(reader.name, bytes), 60);
        let file = fuzz().join(format!("fuzz_targets/{}.rs", reader.name));
        let text = std::fs::read_to_string(&file).expect("a target");
        assert!(text.contains(&format!("one::drive({:?}, bytes)", reader.name)), "{text}");
    }
}

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// What cargo-fuzz builds is what is tried here, with the crates that there are.
#[test]
fn the_manifest_has_all_targets_and_what_they_use() {
    let manifest = std::fs::read_to_string(fuzz().join("Cargo.toml")).expect("manifest");
    let manifest: toml::Table = manifest.parse().expect("TOML");
    let files = std::fs::read_dir(fuzz().join("fuzz_targets")).expect("folder").flatten();
    let files: Vec<PathBuf> =
        files.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    let bins = manifest["bin"].as_array().expect("targets");
    let bins: BTreeSet<&str> = bins.iter().filter_map(|bin| bin["path"].as_str()).collect();
    let names = files.iter().filter_map(|file| file.file_name()?.to_str());
    let names: Vec<String> = names.map(|name| format!("fuzz_targets/{name}")).collect();
    assert_eq!(bins, names.iter().map(String::as_str).collect());
    assert_eq!(names.len(), 5 + READERS.len(), "a new target is tried above too");
    let mut used = BTreeSet::from(["libfuzzer-sys".to_owned()]);
    let shared = fuzz().join("fuzz_targets/one/mod.rs");
    for file in files.iter().chain([&shared]) {
        let text = std::fs::read_to_string(file).expect("a target");
        let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let crates = words.filter(|word| word.starts_with("narrows_") || *word == "serde_json");
        used.extend(crates.map(|word| match word {
            "serde_json" => word.to_owned(),
            word => word.replace('_', "-"),
        }));
    }
    let listed = manifest["dependencies"].as_table().expect("dependencies");
    assert_eq!(listed.keys().cloned().collect::<BTreeSet<String>>(), used);
    for (name, of) in listed {
        let path = of.get("path").and_then(toml::Value::as_str);
        let there = path.is_none_or(|path| fuzz().join(path).join("Cargo.toml").exists());
        assert!(there, "{name}: {path:?} is not there");
    }
}
