//! `--fail-if` and `--expect`: figures beside what the user demands of them.

mod common;

use common::imported::{series, written};
use common::{err, folder, narrows, run};
use std::path::Path;

/// How a report with a condition ends, and what it says of it.
fn held(study: &Path, words: &[&str]) -> (Option<i32>, String) {
    let output = run(narrows().arg("report").arg(study).args(words));
    (output.status.code(), err(&output))
}

#[test]
fn a_condition_fails_passes_or_is_undecided_by_the_exit_code() {
    let dir = folder("demands");
    let study = series(&dir, "study", &[10.0, 10.1, 10.2, 9.9, 10.05, 9.95]);
    let fails_if = |condition: &str| held(&study, &["--fail-if", condition]);
    let (code, says) = fails_if("tcp.median < 9 Gbit/s");
    assert_eq!((code, says.contains("passed: fail-if: tcp.median")), (Some(0), true), "{says}");
    let (code, says) = fails_if("tcp.median < 11 Gbit/s");
    assert_eq!((code, says.contains("failed: fail-if: tcp.median")), (Some(1), true), "{says}");
    let (code, says) = fails_if("tcp.median < 10 Gbit/s");
    assert_eq!((code, says.contains("more runs would tell")), (Some(4), true), "{says}");
    // The worst of several counts, and what was not measured passes nothing.
    let both = ["--fail-if", "tcp.median < 10 Gbit/s", "--fail-if", "tcp.min < 11 Gbit/s"];
    assert_eq!(held(&study, &both).0, Some(1));
    assert_eq!(fails_if("tcp.loss > 1 %").0, Some(1));
    for (wrong, says) in [
        ("udp.median < 1 Gbit/s", "speaks of no cell"),
        ("tcp.median < 1 ms", "is in bit/s"),
        ("tcp.median < 1 furlong", "is no unit"),
        ("tcp.mean < 1 Gbit/s", "no quantity"),
    ] {
        let (code, said) = fails_if(wrong);
        assert_eq!((code, said.contains(says)), (Some(2), true), "{wrong}: {said}");
    }
}

#[test]
fn every_line_of_a_file_is_expected() {
    let dir = folder("expected");
    let study = series(&dir, "study", &[10.0, 10.1, 10.2, 9.9, 10.05, 9.95]);
    let expects = |text: &str| {
        let file = written(&dir, "expect.toml", text);
        held(&study, &["--expect", file.to_str().expect("a path")])
    };
    let good = "uplink = 'tcp.median >= 9 Gbit/s'\nslowest = 'tcp.min > 9.5 Gbit/s'\n";
    let (code, says) = expects(good);
    assert_eq!((code, says.contains("passed: uplink: tcp.median")), (Some(0), true), "{says}");
    let (code, says) = expects(&good.replace("9.5", "9.9"));
    assert_eq!((code, says.contains("failed: slowest: ")), (Some(1), true), "{says}");
    assert_eq!(expects("uplink = 'tcp.median >= 10 Gbit/s'").0, Some(4));
    for (wrong, says) in [("", "expects nothing"), ("a = 1", "expected a string"), ("a", "TOML")] {
        let (code, said) = expects(wrong);
        assert_eq!(code, Some(2), "{wrong}: {said}");
        assert!(said.contains(says) || says == "TOML", "{wrong}: {said}");
    }
    let (code, says) = held(&study, &["--expect", "/nowhere.toml"]);
    assert_eq!((code, says.contains("/nowhere.toml: No such file")), (Some(2), true), "{says}");
}

#[test]
fn a_study_ends_with_what_is_demanded_of_its_cells() {
    let dir = folder("demanded");
    let text = "name = \"read\"\nrepeats = 6\n[base]\nload = \"memory-read\"\nseconds = 0.05\n\
                warmup_seconds = 0.01\nsize = \"1M\"\nvector = \"portable\"\n";
    let file = written(&dir, "study.toml", text);
    let ended = |bound: &str| {
        let to = folder(&format!("demanded-{}", bound.len()));
        let condition = format!("memory-read.median < {bound}");
        let output = run(narrows()
            .args(["study", "run"])
            .arg(&file)
            .arg("--out")
            .arg(&to)
            .args(["--fail-if", &condition]));
        (output.status.code(), err(&output))
    };
    let (code, says) = ended("1 kB/s");
    assert_eq!((code, says.contains("passed: fail-if: memory-read")), (Some(0), true), "{says}");
    let (code, says) = ended("900000 GB/s");
    assert_eq!((code, says.contains("failed: fail-if: memory-read")), (Some(1), true), "{says}");
}
