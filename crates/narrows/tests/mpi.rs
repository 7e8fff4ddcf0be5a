//! `narrows mpi` with launchers that hang, die, or are none: scripts that say what real ones say.
//! Real ones are in `lab/mpi`.

mod common;

use common::{err, folder, narrows, run};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A launcher that calls itself Open MPI's, and then does this. None where the library is not
/// there, without which no launcher is started.
fn launcher(dir: &Path, does: &str) -> Option<PathBuf> {
    let found = Command::new("sh").args(["-c", "ldconfig -p | grep -q libmpi.so.40"]).status();
    if !found.is_ok_and(|status| status.success()) {
        let _ = std::io::stderr().write_all(b"skipped: libopenmpi3 is not installed\n");
        return None;
    }
    let file = dir.join("launcher");
    let version = "[ \"$1\" = --version ] && { echo 'mpirun (Open MPI) 4.1.4'; exit; }";
    std::fs::write(&file, format!("#!/bin/sh\n{version}\n{does}\n")).expect("file");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("mode");
    Some(file)
}

fn mpi(dir: &Path, launcher: &Path, more: &[&str]) -> Command {
    let mut command = narrows();
    command.arg("mpi").arg("--launcher").arg(launcher).arg("--out").arg(dir).args(more);
    command
}

#[test]
fn a_launcher_that_hangs_is_ended_with_all_that_it_started() {
    let dir = folder("mpi-hangs");
    // It minds no SIGTERM, and neither does its child.
    let does = format!("trap '' TERM\nsleep 600 &\necho $! >{}/child\nwait", dir.display());
    let Some(file) = launcher(&dir, &does) else { return };
    let began = Instant::now();
    let output = run(&mut mpi(&dir, &file, &["--limit", "1"]));
    assert_eq!(output.status.code(), Some(5), "{}", err(&output));
    assert!(err(&output).contains("were not done after 1 s"), "{}", err(&output));
    assert!(began.elapsed() < Duration::from_secs(60));
    let child = std::fs::read_to_string(dir.join("child")).expect("a child");
    let left = std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
    assert!(left.is_empty() || left.contains(") Z "), "{left}");
}

#[test]
fn a_rank_that_dies_is_named() {
    let dir = folder("mpi-dies");
    let says =
        "mpirun noticed that process rank 1 with PID 7 on node n2 exited on signal 9 (Killed).";
    let Some(file) = launcher(&dir, &format!("echo '{says}' >&2\nexit 137")) else { return };
    let output = run(&mut mpi(&dir, &file, &[]));
    assert_eq!(output.status.code(), Some(5), "{}", err(&output));
    assert!(err(&output).contains("rank 1") && err(&output).contains("hint:"), "{}", err(&output));
}

#[test]
fn words_of_the_program_reach_the_ranks_and_hosts_the_launcher() {
    let dir = folder("mpi-words");
    let Some(file) =
        launcher(&dir, &format!("printf '%s ' \"$@\" >{}/words; exit 1", dir.display()))
    else {
        return;
    };
    let more = ["-n", "4", "--hosts", "n[1-2]", "--launcher-arg=--x", "--sizes", "8"];
    let output = run(&mut mpi(&dir, &file, &more));
    assert_eq!(output.status.code(), Some(5), "{}", err(&output));
    let words = std::fs::read_to_string(dir.join("words")).expect("words");
    for part in [
        "-n 4 --bind-to none",
        "--host n1:2,n2:2 --map-by node",
        "--x /",
        " mpi ",
        "--sizes 8 --file /",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
}
