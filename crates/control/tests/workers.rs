//! Known answers of worker processes: how each end of one is told, and that none outlives who
//! started it. The "workers" are scripts.

use narrows_control::session::{Answer, Order};
use narrows_control::{ControlError, End, WorkerProcess};
use narrows_hostctl::container::Launcher;
use narrows_model::record::LostBy;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// No slowness of a loaded machine reaches this.
const LONG: Duration = Duration::from_secs(60);

/// A program that runs these lines; it is removed at the end.
struct Script(PathBuf);

impl Script {
    fn of(name: &str, lines: &str) -> Self {
        let path = std::env::temp_dir().join(format!("narrows-{name}-{}", std::process::id()));
        std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).expect("a script");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("executable");
        Self(path)
    }

    fn start(&self) -> WorkerProcess {
        let until = Instant::now() + LONG;
        loop {
            match WorkerProcess::start(&Launcher::plain(self.0.clone())) {
                // A child that another test makes at this moment holds the script open until it is
                // another program.
                Err(why)
                    if why.to_string().contains("Text file busy") && Instant::now() < until =>
                {
                    std::thread::sleep(Duration::from_millis(5));
                }
                started => return started.expect("it starts"),
            }
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Why a worker that says nothing is gone.
fn why(lines: &str, name: &str) -> ControlError {
    let script = Script::of(name, lines);
    script.start().answer(LONG).expect_err("it says nothing")
}

#[test]
fn how_a_worker_ended_is_told_by_its_status() {
    let exited = why("exit 3", "exits");
    assert!(matches!(exited, ControlError::WorkerEnded(LostBy::Exited { code: 3 })), "{exited}");
    let killed = why("kill -TERM $$", "killed");
    assert!(matches!(killed, ControlError::WorkerEnded(LostBy::Killed { signal: 15 })), "{killed}");
    let nonsense = why("echo well", "nonsense");
    assert!(nonsense.to_string().contains("invalid message"), "{nonsense}");
}

#[test]
fn a_worker_that_closes_its_output_and_lives_on_is_killed_in_time() {
    let began = Instant::now();
    let killed = why("exec 1>&-; exec sleep 600", "silent");
    assert!(matches!(killed, ControlError::WorkerEnded(LostBy::Killed { signal: 9 })), "{killed}");
    let took = began.elapsed();
    assert!(took > Duration::from_secs(4) && took < LONG, "{took:?}: it has five seconds");
}

#[test]
fn orders_arrive_line_by_line_until_it_is_hung_up() {
    // It keeps the first line that it is told.
    let script = Script::of("echo", "read order; echo \"$order\" > \"$0.said\"; cat > /dev/null");
    let mut worker = script.start();
    assert!(worker.answer(Duration::from_millis(20)).expect("it lives").is_none());
    worker.order(&Order::GoUntilTold).expect("it reads");
    let said = PathBuf::from(format!("{}.said", script.0.display()));
    let until = Instant::now() + LONG;
    while std::fs::read_to_string(&said).unwrap_or_default().is_empty() {
        assert!(Instant::now() < until, "no order came");
        std::thread::sleep(Duration::from_millis(5));
    }
    let text = std::fs::read_to_string(&said).expect("what it was told");
    let order: Order = serde_json::from_str(&text).expect("an order");
    assert!(matches!(order, Order::GoUntilTold), "{text}");
    worker.hang_up();
    // `cat` ends with its input.
    let ended = worker.answer(LONG).expect_err("it ends").to_string();
    let refused = worker.order(&Order::GoUntilTold).expect_err("hung up").to_string();
    assert!(refused.contains("no orders any more"), "{refused}; {ended}");
    let _ = std::fs::remove_file(&said);
}

#[test]
fn an_answer_is_a_line_of_json() {
    let answer = serde_json::to_string(&Answer::Running).expect("JSON");
    let script = Script::of("answers", &format!("echo '{answer}'; cat > /dev/null"));
    let heard = script.start().answer(LONG).expect("it speaks");
    assert!(matches!(heard, Some(Answer::Running)), "{heard:?}");
}

#[test]
fn a_worker_ends_with_who_started_it_and_leaves_nothing_shared() {
    let script = Script::of("lives", "trap '' TERM; while true; do sleep 1; done");
    let worker = script.start();
    let pid = worker.pid();
    let shared = Path::new("/dev/shm").join(format!("{pid}:0:1"));
    let is_shared = std::fs::write(&shared, b"x").is_ok();
    let proc = PathBuf::from(format!("/proc/{pid}"));
    assert!(proc.exists());
    drop(worker);
    assert!(!proc.exists(), "it is reaped");
    assert!(!is_shared || !shared.exists(), "what it shared is removed");
}
