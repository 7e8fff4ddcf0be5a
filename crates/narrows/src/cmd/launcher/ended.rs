//! A launcher from its start to its end: by itself, at its limit, or because the user wished so.
//! Nothing of it is left running.

use crate::cause::Cause;
use crate::failure::Failure;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long a launcher has to end its ranks before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// How often is looked whether it has ended.
const LOOK_EACH: Duration = Duration::from_millis(20);
/// The most of its words that are kept.
const KEPT_BYTES: u64 = 16 << 20;

/// How a launcher came to its end.
pub enum How {
    /// By itself, with this status.
    Ended(ExitStatus),
    /// It was ended at its limit.
    Late,
    /// It was ended because the user wished so.
    Stopped,
}

/// A launcher that has ended.
pub struct Done {
    /// How it ended.
    pub how: How,
    /// What it and its ranks wrote to standard output.
    pub out: String,
    /// What they wrote to standard error.
    pub err: String,
}

impl Done {
    /// What it said, on both outputs.
    pub fn said(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

/// Runs a command to its end, or to its limit.
pub fn ended(command: &mut Command, limit: Duration, stop: &AtomicBool) -> Result<Done, Failure> {
    // Ctrl-C at the terminal is for this process, which ends the others in order.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| {
        let says = format!("{}: {error}", command.get_program().to_string_lossy());
        Failure::of(Cause::NO_MPI_LAUNCHER, says)
    })?;
    let readers = [child.stdout.take().map(kept), child.stderr.take().map(kept)];
    let how = wait(&mut child, limit, stop)?;
    let [out, err] =
        readers.map(|reader| reader.and_then(|reader| reader.join().ok()).unwrap_or_default());
    Ok(Done { how, out, err })
}

/// Reads all, and keeps the beginning.
fn kept(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.by_ref().take(KEPT_BYTES).read_to_end(&mut bytes);
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn wait(child: &mut Child, limit: Duration, stop: &AtomicBool) -> Result<How, Failure> {
    let began = Instant::now();
    loop {
        let ended = child.try_wait();
        if let Some(status) =
            ended.map_err(|error| Failure::of(Cause::MACHINE, error.to_string()))?
        {
            return Ok(How::Ended(status));
        }
        let stopped = stop.load(Ordering::Relaxed);
        if stopped || began.elapsed() > limit {
            end(child);
            return Ok(if stopped { How::Stopped } else { How::Late });
        }
        thread::sleep(LOOK_EACH);
    }
}

/// Asks a launcher to end its ranks, and kills what is left of its group.
fn end(child: &mut Child) {
    let group = Pid::from_raw(child.id() as i32);
    let _ = killpg(group, Signal::SIGTERM);
    let asked = Instant::now();
    while asked.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(LOOK_EACH);
    }
    // The ranks have groups of their own, and end with their parent.
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait();
}

/// Names why a launcher gave no result.
pub fn why(done: &Done, launcher: &Path, limit: Duration) -> Failure {
    let name = launcher.display();
    match done.how {
        How::Stopped => Failure::of(Cause::STOPPED, "stopped by the user"),
        How::Late => {
            let says = format!("{name} and its ranks were not done after {} s", limit.as_secs());
            Failure::of(Cause::MPI_LATE, says)
        }
        How::Ended(status) => {
            let (cause, line) = judged(&done.said());
            let line = line.unwrap_or_else(|| "it said nothing".to_owned());
            Failure::of(cause, format!("{name} ended with {status}: {line}"))
        }
    }
}

/// The line of a launcher's words that says most, and what that means.
fn judged(said: &str) -> (Cause, Option<String>) {
    let line = |words: &[&str]| {
        let found = said.lines().find(|line| words.iter().any(|word| line.contains(word)));
        found.map(|line| line.trim().to_owned())
    };
    if let Some(own) = line(&["error: "]) {
        let own = own.split("error: ").last().unwrap_or_default().to_owned();
        return (Cause::MPI_RANK, Some(own));
    }
    if let Some(died) = line(&["exited on signal", "KILLED BY SIGNAL", "EXIT STRING"]) {
        return (Cause::MPI_DIED, Some(died));
    }
    let absent = ["attempted:", "No components were able to be opened", "unable to be opened"];
    let absent_too = ["UCX  ERROR", "none of the available", "no usable transports"];
    if let Some(fabric) = line(&absent).or_else(|| line(&absent_too)) {
        return (Cause::MPI_FABRIC, Some(fabric));
    }
    if let Some(died) = line(&["BAD TERMINATION", "exited with non-zero status", "MPI_ABORT"]) {
        return (Cause::MPI_DIED, Some(died));
    }
    if let Some(host) = line(&["resolve", "ssh", "ORTE daemon", "not enough slots"]) {
        return (Cause::MPI_HOSTS, Some(host));
    }
    let blank = |line: &&str| line.trim().chars().all(|c| "-=|".contains(c));
    let first = said.lines().find(|line| !blank(line)).map(|line| line.trim().to_owned());
    (Cause::MPI_RANK, first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_launcher_says_names_the_cause() {
        let died =
            "----\nmpirun noticed that process rank 1 with PID 0 on node a exited on signal 9";
        assert_eq!(judged(died).0, Cause::MPI_DIED);
        let fabric = "  Process 1 is unable to reach\n  BTLs attempted: self\n";
        assert_eq!(judged(fabric), (Cause::MPI_FABRIC, Some("BTLs attempted: self".to_owned())));
        let own = "error: no MPI library can be loaded: gone\nhint: install\n";
        let (cause, line) = judged(own);
        assert_eq!(
            (cause, line.as_deref()),
            (Cause::MPI_RANK, Some("no MPI library can be loaded: gone"))
        );
        assert_eq!(judged("").1, None);
    }
}
