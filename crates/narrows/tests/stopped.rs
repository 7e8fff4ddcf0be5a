//! How commands end that the user stops with Ctrl-C: by their own exit code and not by the signal,
//! which only shells count as 130.

mod common;

use common::{folder, narrows};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A command of which nothing is read but the first line of its output.
fn begin(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts")
}

/// What a command ends with that is stopped now.
fn stopped(mut child: Child) -> Option<i32> {
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("signal");
    child.wait().expect("its end").code()
}

/// A pipe that a command reads from, and that never ends.
fn endless(dir: &Path) -> std::path::PathBuf {
    let pipe = dir.join("pipe");
    mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR).expect("a pipe");
    pipe
}

#[test]
fn commands_that_only_read_are_ended_at_once() {
    let dir = folder("stopped-reading");
    let pipe = endless(&dir);
    for words in [["import", "-o", "x.narrows"].as_slice(), &["predict", "--published"]] {
        let child = begin(narrows().current_dir(&dir).args(words).arg(&pipe));
        // It is open only when the command reads from it.
        let mut writer = std::fs::OpenOptions::new().write(true).open(&pipe).expect("a reader");
        let _ = writer.write_all(b"[ ID] Interval\n");
        assert_eq!(stopped(child), Some(130), "{words:?}");
    }
    assert!(!dir.join("x.narrows").exists());
}

#[test]
fn a_measurement_is_ended_while_its_peer_says_nothing() {
    let dir = folder("stopped-connecting");
    let silent = TcpListener::bind("127.0.0.1:0").expect("listens");
    let port = silent.local_addr().expect("an address").port().to_string();
    for words in [["tcp"].as_slice(), &["udp", "-b", "1M"]] {
        let mut command = narrows();
        command.args(words).args(["127.0.0.1", "-p", &port, "--key", &"ab".repeat(32)]);
        let child = begin(command.current_dir(&dir));
        let _connected = silent.accept().expect("it calls");
        assert_eq!(stopped(child), Some(130), "{words:?}");
    }
    assert_eq!(std::fs::read_dir(&dir).expect("folder").count(), 0, "nothing was begun");
}

#[test]
fn a_measurement_that_is_stopped_keeps_what_it_has() {
    let dir = folder("stopped-memory");
    let child = begin(narrows().arg("mem").arg("--out").arg(&dir));
    let deadline = Instant::now() + Duration::from_secs(60);
    let study = |dir: &Path| {
        let files = std::fs::read_dir(dir).expect("folder").flatten();
        files.map(|file| file.path()).find(|path| path.extension() == Some("narrows".as_ref()))
    };
    while study(&dir).is_none() {
        assert!(Instant::now() < deadline, "no study in a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(stopped(child), Some(130));
    assert!(narrows_store::read(&study(&dir).expect("a study")).is_ok());
}

#[test]
fn a_server_has_done_all_it_was_asked_for_when_it_is_stopped() {
    for words in [["serve", "-p", "0"].as_slice(), &["serve", "-p", "0", "--iperf3"]] {
        let mut child = begin(narrows().args(words));
        let mut line = String::new();
        let said = child.stdout.as_mut().expect("its output");
        BufReader::new(said).read_line(&mut line).expect("a line");
        assert!(line.starts_with("listening on "), "{line}");
        assert_eq!(stopped(child), Some(0), "{words:?}");
    }
}

/// A launcher that never starts a rank; the file in which each of its processes writes itself.
fn idle_launcher(dir: &Path) -> std::path::PathBuf {
    let path = dir.join("mpirun");
    let all = dir.join("launchers");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo 'mpirun (Open MPI) 4.1.4'; exit; }}\n\
         echo $$ >> {}; exec sleep 600\n",
        all.display()
    );
    std::fs::write(&path, text).expect("script");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("mode");
    all
}

#[test]
fn a_mesh_that_is_stopped_while_launchers_are_tried_blames_no_host() {
    let found = Command::new("sh").args(["-c", "ldconfig -p | grep -q libmpi.so.40"]).status();
    if !found.is_ok_and(|status| status.success()) {
        return common::skip("a_mesh_that_is_stopped", "libopenmpi3 is not there");
    }
    let dir = folder("stopped-mesh");
    let launchers = idle_launcher(&dir);
    let begun = || std::fs::read_to_string(&launchers).unwrap_or_default();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = narrows();
    command.env("PATH", format!("{}:{path}", dir.display())).current_dir(&dir);
    command.args(["mesh", "--mpi", "localhost,127.0.0.1"]).stdout(Stdio::null());
    let child = command.stderr(Stdio::piped()).spawn().expect("starts");
    let deadline = Instant::now() + Duration::from_secs(60);
    while begun().lines().count() < 2 {
        assert!(Instant::now() < deadline, "no two launchers in a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("signal");
    let ended = child.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("stopped by Ctrl-C") && !said.contains("cannot start a rank"), "{said}");
    for pid in begun().lines() {
        assert!(!Path::new("/proc").join(pid).exists(), "launcher {pid} is left behind");
    }
}
