//! What packages are made of, as far as it shows without building them: lab/release does that.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use toml::Table;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("workspace")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(top().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn metadata(packer: &str) -> Table {
    let manifest: Table = text("crates/narrows/Cargo.toml").parse().expect("TOML");
    manifest["package"]["metadata"][packer].as_table().expect("a table").clone()
}

/// Where a file is taken from, where it goes, and its mode.
type Asset = (String, String, String);

/// Folders of zsh differ by distribution, and an rpm names files where a .deb names folders.
fn common(from: &str, to: &str, mode: &str) -> Asset {
    let from = from.trim_start_matches("../../").to_owned();
    let folder = to.trim_start_matches('/').replace("site-functions", "vendor-completions");
    let folder =
        folder.strip_suffix("bin/narrows").map_or(folder.clone(), |usr| usr.to_owned() + "bin/");
    (from, folder, mode.to_owned())
}

fn of_deb() -> BTreeSet<Asset> {
    let assets = metadata("deb")["assets"].as_array().expect("assets").clone();
    let word = |asset: &toml::Value, n: usize| asset[n].as_str().expect("text").to_owned();
    assets.iter().map(|one| common(&word(one, 0), &word(one, 1), &word(one, 2))).collect()
}

fn of_rpm() -> BTreeSet<Asset> {
    let assets = metadata("generate-rpm")["assets"].as_array().expect("assets").clone();
    let word = |asset: &toml::Value, key: &str| asset[key].as_str().expect("text").to_owned();
    assets
        .iter()
        .map(|one| common(&word(one, "source"), &word(one, "dest"), &word(one, "mode")))
        .collect()
}

#[test]
fn both_packages_hold_the_same_files() {
    assert_eq!(of_deb(), of_rpm());
    let to: BTreeSet<String> = of_deb().into_iter().map(|(_, to, _)| to).collect();
    for folder in
        ["usr/bin/", "usr/lib/systemd/system/", "usr/lib/sysusers.d/", "usr/share/man/man1/"]
    {
        assert!(to.contains(folder), "{folder}");
    }
}

/// What the stage lays out is packed, and what is packed is laid out there.
#[test]
fn what_is_laid_out_is_what_is_packed() {
    let stage = text("lab/packages/stage").replace("$root", "").replace("$share", "/usr/share");
    for (from, _, _) in of_deb() {
        let path = from.strip_prefix("target/dist/stage/tree").expect("from the stage");
        let (folder, name) = path.rsplit_once('/').expect("a folder");
        let laid = [path.to_owned(), format!("{folder}/\""), format!("{folder}\"")];
        assert!(laid.iter().any(|path| stage.contains(path)), "{path}: not laid out");
        assert!(!name.is_empty(), "{path}");
    }
}

/// What commands of the docs and studies name lies in a package too.
#[test]
fn studies_and_examples_are_packed() {
    let to: BTreeSet<String> = of_deb().into_iter().map(|(_, to, _)| to).collect();
    let stage = text("lab/packages/stage");
    for (from, folder) in [
        ("studies/*.toml", "studies"),
        ("studies/published/*.toml", "studies/published"),
        ("docs/examples/*.toml", "examples"),
    ] {
        assert!(to.contains(&format!("usr/share/narrows/{folder}/")), "{folder}");
        let laid = format!("cp {from} \"$share/narrows/{folder}/\"");
        assert!(stage.contains(&laid), "{laid}");
    }
}

/// One program starts with the oldest glibc that the packages ask for.
#[test]
fn the_glibc_that_is_asked_for_is_the_one_that_is_linked() {
    let common = text("lab/packages/common");
    let linked = common.lines().find_map(|line| line.strip_prefix("GLIBC_VERSION=")).expect("one");
    let asked = metadata("generate-rpm")["requires"]["glibc"].as_str().expect("text").to_owned();
    assert_eq!(asked, format!(">= {linked}"));
    let asked = metadata("deb")["depends"].as_str().expect("text").to_owned();
    assert_eq!(asked, format!("libc6 (>= {linked})"));
}

/// Names that glibc has had only since the version beside them: whoever needs one of these calls
/// asks for it by its number. What dependencies ask for shows when lab/release links.
#[test]
fn no_source_asks_for_a_newer_glibc() {
    let newer = [("gettid", "2.30"), ("getcpu", "2.29"), ("close_range", "2.34")];
    let mut folders = vec![top().join("crates")];
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap_or_default();
            for (name, since) in newer {
                let call = format!("libc::{name}(");
                assert!(!source.contains(&call), "{}: {call} since {since}", path.display());
            }
            read += 1;
        }
    }
    assert!(read > 500, "{read} files");
}

/// Packages change the unit's program and its user, and nothing else of it.
#[test]
fn the_unit_of_packages_is_the_one_of_the_docs() {
    let unit = text("docs/narrows.service");
    let stage = text("lab/packages/stage");
    assert_eq!(unit.matches("/usr/local/bin/narrows serve ").count(), 1);
    let replaced = "s|/usr/local/bin/narrows serve|/usr/bin/narrows serve --user narrows|";
    assert!(stage.contains(replaced), "{replaced}");
    let users = text("packaging/sysusers.conf");
    assert!(users.starts_with("u narrows - "), "{users}");
    let key = unit.lines().find_map(|line| line.strip_prefix("LoadCredential=key:")).expect("key");
    for script in ["postinst", "postrm"] {
        let folder = key.strip_suffix("/key").expect("a file named key");
        assert!(
            text(&format!("packaging/scripts/{script}")).contains(folder),
            "{script}: {folder}"
        );
    }
}

/// Nothing of the house that builds: other people run these files too.
#[test]
fn each_script_ends_at_its_first_error() {
    for folder in ["lab/packages", "lab/packages/test", "packaging/scripts"] {
        for entry in std::fs::read_dir(top().join(folder)).expect(folder).flatten() {
            let path = entry.path();
            let script = std::fs::read_to_string(&path).unwrap_or_default();
            if script.starts_with("#!/usr/bin/env bash") {
                assert!(script.contains("\nset -euo pipefail\n"), "{}", path.display());
            }
            if script.starts_with("#!/bin/sh") {
                assert!(script.contains("\nset -e\n"), "{}", path.display());
            }
        }
    }
}
