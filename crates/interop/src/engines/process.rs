//! The process of an outside tool: started in a group of its own, heard to its end, and gone with
//! all that it started when this program is done with it.

use super::Ended;
use narrows_model::record::Stage;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// How often a wait looks up.
const LOOK_UP: Duration = Duration::from_millis(20);
/// Most output that is read of a tool.
const OUTPUT_MAX: u64 = 16 << 20;

/// Most output of a tool that is kept.
const KEPT_BYTES: usize = 64 << 10;

/// The last of an output, as much as is kept.
pub fn kept(text: &str) -> String {
    let from = text.len().saturating_sub(KEPT_BYTES);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text[from..].to_owned()
}

/// A program that did not start.
#[derive(Debug, Error)]
#[error("{program}: {source}")]
pub(super) struct NotStarted {
    pub program: String,
    pub source: io::Error,
}

/// A tool's process, which ends with this value.
pub(super) struct Running {
    child: Child,
    /// How long it is given to end by itself.
    pub grace: Duration,
    text: Option<thread::JoinHandle<String>>,
}

impl Running {
    /// Starts it, in a process group of its own.
    pub fn start(mut command: Command) -> Result<Self, NotStarted> {
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = spawned(command)?;
        let text = child.stdout.take().map(heard);
        Ok(Self { child, grace: Duration::ZERO, text })
    }

    /// The same of a tool that is ended by a word, and whose errors are heard too.
    pub fn start_heard(mut command: Command) -> Result<Self, NotStarted> {
        let piped = io::pipe().and_then(|(pipe, writer)| Ok((pipe, writer.try_clone()?, writer)));
        let (pipe, writer, errors) = piped.map_err(|source| not_started(&command, source))?;
        command.stdout(writer).stderr(errors);
        let child = spawned(command)?;
        Ok(Self { child, grace: Duration::ZERO, text: Some(heard(pipe)) })
    }

    /// The process group of all that it has started.
    pub fn group(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Tells it to end, as Ctrl-C does: all that it printed, or `None` where it has not ended in
    /// time and was killed.
    pub fn interrupted(&mut self, within: Duration) -> Option<String> {
        let end = Instant::now() + within;
        let _ = killpg(self.group(), Signal::SIGINT);
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= end {
                self.killed();
                return None;
            }
            thread::sleep(LOOK_UP);
        }
        Some(self.said())
    }

    /// Kills it: what it had printed.
    pub fn killed(&mut self) -> String {
        let _ = killpg(self.group(), Signal::SIGKILL);
        let _ = self.child.wait();
        self.said()
    }

    /// What it printed, to the end of the last process that holds its output.
    fn said(&mut self) -> String {
        self.text.take().and_then(|text| text.join().ok()).unwrap_or_default()
    }

    /// How it ended, where it has.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for its end: its exit status in words, and what it printed.
    pub fn end(mut self, within: Duration, stop: &AtomicBool) -> Result<(String, String), Ended> {
        let began = Instant::now();
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status.to_string(),
                Ok(None) if stop.load(SeqCst) => return Err(Ended::Stopped),
                Ok(None) if began.elapsed() > within => {
                    let why = format!("the tool did not end within {} s", within.as_secs());
                    return Err(Ended::Failed(Stage::Run, why));
                }
                Ok(None) => thread::sleep(LOOK_UP),
                Err(error) => return Err(Ended::Failed(Stage::Run, error.to_string())),
            }
        };
        Ok((status, self.said()))
    }
}

/// Starts a process in a group of its own; what it writes to is closed on this side.
fn spawned(mut command: Command) -> Result<Child, NotStarted> {
    let started = command.stdin(Stdio::null()).process_group(0).spawn();
    started.map_err(|source| not_started(&command, source))
}

fn not_started(command: &Command, source: io::Error) -> NotStarted {
    NotStarted { program: command.get_program().to_string_lossy().into_owned(), source }
}

/// Hears a tool to its end.
fn heard(pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.take(OUTPUT_MAX).read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Running {
    /// Asks it to end, where it is given time to.
    fn ask(&mut self, group: Pid) {
        let end = Instant::now() + self.grace;
        let is_over = matches!(self.child.try_wait(), Ok(Some(_)) | Err(_));
        if self.grace.is_zero() || is_over || killpg(group, Signal::SIGTERM).is_err() {
            return;
        }
        while Instant::now() < end && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(LOOK_UP);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let group = self.group();
        self.ask(group);
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Running {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Running::start(command).expect("a shell")
    }

    #[test]
    fn a_tool_that_ends_in_time_is_heard_to_its_end() {
        let stop = AtomicBool::new(false);
        let tool = shell("echo one; sleep 0.2; echo two; exit 3");
        let ended = tool.end(Duration::from_secs(60), &stop);
        let Ok((status, text)) = ended else { panic!("it ended") };
        assert_eq!((status.as_str(), text.as_str()), ("exit status: 3", "one\ntwo\n"));
    }

    #[test]
    fn a_tool_that_goes_on_is_ended_with_all_it_started() {
        let stop = AtomicBool::new(false);
        let tool = shell("sleep 600 & sleep 600");
        let (group, began) = (tool.child.id(), Instant::now());
        match tool.end(Duration::from_millis(300), &stop) {
            Err(Ended::Failed(Stage::Run, why)) => assert!(why.contains("did not end"), "{why}"),
            _ => panic!("it did not end"),
        }
        let waited = began.elapsed();
        assert!((300..60_000).contains(&waited.as_millis()), "{waited:?}");
        let group = Pid::from_raw(i32::try_from(group).expect("a pid"));
        let until = Instant::now() + Duration::from_secs(20);
        // Who was killed is there until init has taken note of it.
        while killpg(group, None).is_ok() && Instant::now() < until {
            thread::sleep(LOOK_UP);
        }
        assert!(killpg(group, None).is_err(), "nothing of the group is left");
    }

    #[test]
    fn a_tool_that_is_given_time_cleans_up_behind_itself() {
        let file = std::env::temp_dir().join(format!("narrows-grace-{}", std::process::id()));
        let shown = file.display();
        let script =
            format!("trap 'rm {shown}; exit' TERM; touch {shown}; while :; do sleep 0.05; done");
        for (grace, is_left) in [(Duration::from_secs(30), false), (Duration::ZERO, true)] {
            let mut tool = shell(&script);
            tool.grace = grace;
            let until = Instant::now() + Duration::from_secs(30);
            while !file.exists() && Instant::now() < until {
                thread::sleep(LOOK_UP);
            }
            assert!(file.exists());
            drop(tool);
            assert_eq!(file.exists(), is_left, "{grace:?}");
        }
        std::fs::remove_file(file).expect("the file of the one that was killed");
    }

    #[test]
    fn a_tool_says_its_last_words_when_it_is_interrupted_and_errors_too() {
        let heard = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            Running::start_heard(command).expect("a shell")
        };
        let mut tool =
            heard("trap 'echo sent 7; exit' INT; echo up >&2; while :; do sleep 0.02; done");
        thread::sleep(Duration::from_millis(300));
        assert_eq!(tool.interrupted(Duration::from_secs(30)).as_deref(), Some("up\nsent 7\n"));
        let mut deaf = heard("trap '' INT; echo up; sleep 600 & wait");
        thread::sleep(Duration::from_millis(300));
        assert_eq!(deaf.interrupted(Duration::from_millis(300)), None);
        assert!(deaf.status().is_some_and(|status| !status.success()), "killed");
        let mut wrong = heard("echo no such thing >&2; sleep 600");
        thread::sleep(Duration::from_millis(300));
        assert_eq!(wrong.killed(), "no such thing\n");
    }

    #[test]
    fn a_stop_is_heard_while_a_tool_runs() {
        let stop = AtomicBool::new(true);
        let ended = shell("sleep 600").end(Duration::from_secs(600), &stop);
        assert!(matches!(ended, Err(Ended::Stopped)));
    }
}
