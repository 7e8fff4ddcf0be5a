//! Standard output and error that are full or closed: what is measured is measured all the same.

mod common;

use common::{folder, narrows};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Short runs of a memory kernel that say a line each: none of them needs more than a small buffer.
fn measuring(dir: &Path) -> Command {
    let mut command = narrows();
    let short = ["-t", "0.05", "--repeats", "4", "--size", "16M"];
    command.args(["mem", "--kernels", "read", "--threads", "1"]).args(short).arg("--out").arg(dir);
    command
}

/// Runs in the only study of a folder.
fn runs(dir: &Path) -> usize {
    let files = std::fs::read_dir(dir).expect("folder").flatten().map(|entry| entry.path());
    let studies: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|end| end == "narrows")).collect();
    assert_eq!(studies.len(), 1, "{studies:?}");
    narrows_store::read(&studies[0]).expect("a study").records.len()
}

#[test]
fn what_has_no_room_on_standard_error_is_lost_and_nothing_else() {
    let dir = folder("unread-full");
    let full = File::options().write(true).open("/dev/full").expect("/dev/full");
    let output = measuring(&dir).stderr(full).output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!output.stdout.is_empty());
    assert_eq!(runs(&dir), 4, "{}", dir.display());
    // An error is told by its exit code, too.
    let full = File::options().write(true).open("/dev/full").expect("/dev/full");
    let status = narrows().args(["report", "no-such-file"]).stderr(full).status();
    assert_eq!(status.expect("it ends").code(), Some(2));
}

#[test]
fn a_reader_that_goes_away_ends_no_measurement() {
    let dir = folder("unread-left");
    // Both go to one pipe, as with `2>&1 | head -1`.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let both = writer.try_clone().expect("its other handle");
    let mut command = measuring(&dir);
    let mut child = command.stdout(writer).stderr(both).stdin(Stdio::null()).spawn().expect("runs");
    // The command has handles of its own, which would keep the pipe open.
    drop(command);
    let mut reader = BufReader::new(reader);
    let mut first = String::new();
    reader.read_line(&mut first).expect("a line");
    drop(reader);
    assert!(!first.is_empty());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert_eq!(runs(&dir), 4, "{}", dir.display());
}
