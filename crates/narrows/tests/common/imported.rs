//! Studies of what other tools printed.

use super::{err, narrows, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command that makes a study of other tools' outputs.
pub fn import(files: &[PathBuf], to: &Path, more: &[&str]) -> Command {
    let mut command = narrows();
    command.arg("import").args(files).arg("-o").arg(to).args(more);
    command
}

/// A file with this text.
pub fn written(dir: &Path, name: &str, text: &str) -> PathBuf {
    let file = dir.join(name);
    std::fs::write(&file, text).expect("file");
    file
}

/// A series of iperf3 runs with these rates in Gb/s.
pub fn series(dir: &Path, name: &str, rates: &[f64]) -> PathBuf {
    let file = |(at, rate): (usize, &f64)| {
        let text = format!(
            "{{\"start\":{{\"version\":\"iperf 3.12\",\"test_start\":{{\"protocol\":\"TCP\",\
             \"num_streams\":1,\"blksize\":131072,\"reverse\":0}}}},\"intervals\":[],\
             \"end\":{{\"sum_received\":{{\"bits_per_second\":{}}}}}}}",
            rate * 1e9
        );
        written(dir, &format!("{name}-{at}.json"), &text)
    };
    let files: Vec<PathBuf> = rates.iter().enumerate().map(file).collect();
    let study = dir.join(format!("{name}.narrows"));
    let output = run(&mut import(&files, &study, &[]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    study
}
