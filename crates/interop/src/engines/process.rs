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
        let program = command.get_program().to_string_lossy().into_owned();
        let started = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        let mut child = started.map_err(|source| NotStarted { program, source })?;
        let pipe = child.stdout.take();
        let text = pipe.map(|pipe| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = pipe.take(OUTPUT_MAX).read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            })
        });
        Ok(Self { child, grace: Duration::ZERO, text })
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
        let text = self.text.take().and_then(|text| text.join().ok()).unwrap_or_default();
        Ok((status, text))
    }
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
        if let Ok(group) = i32::try_from(self.child.id()).map(Pid::from_raw) {
            self.ask(group);
            let _ = killpg(group, Signal::SIGKILL);
        }
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
    fn a_stop_is_heard_while_a_tool_runs() {
        let stop = AtomicBool::new(true);
        let ended = shell("sleep 600").end(Duration::from_secs(600), &stop);
        assert!(matches!(ended, Err(Ended::Stopped)));
    }
}
