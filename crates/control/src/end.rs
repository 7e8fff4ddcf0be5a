//! A worker as its controller sees it: a child process, or one that an agent lends.

use crate::error::{ControlError, Garbled, MachineError, OrderError};
use crate::oom::Watched;
use crate::session::{Answer, Order};
use narrows_hostctl::container::Launcher;
use narrows_model::record::LostBy;
use nix::sys::signal::Signal;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a worker that has closed its output may take to end. The kernel takes a while to tear
/// down one with gigabytes of buffers.
const END_WITHIN: Duration = Duration::from_secs(5);

/// No answer of a worker is longer: nothing that it says takes more memory of who started it.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// The next line that a worker says; `None` at its end.
fn next_answer(output: &mut impl BufRead) -> Result<Option<Answer>, Garbled> {
    let mut line = Vec::new();
    let length = output.take(ANSWER_BYTES_MAX).read_until(b'\n', &mut line)?;
    match length as u64 {
        0 => Ok(None),
        ANSWER_BYTES_MAX => Err(Garbled::Long(ANSWER_BYTES_MAX)),
        _ => Ok(Some(serde_json::from_slice(&line)?)),
    }
}

/// One end of a trial, wherever it runs.
pub trait End {
    /// Gives an order.
    fn order(&mut self, order: &Order) -> Result<(), ControlError>;
    /// Waits for the next answer; `None` when there was none in time.
    fn answer(&mut self, within: Duration) -> Result<Option<Answer>, ControlError>;
}

impl<E: End + ?Sized> End for &mut E {
    fn order(&mut self, order: &Order) -> Result<(), ControlError> {
        (**self).order(order)
    }

    fn answer(&mut self, within: Duration) -> Result<Option<Answer>, ControlError> {
        (**self).answer(within)
    }
}

/// A worker process of this host.
pub struct WorkerProcess {
    child: Child,
    orders: Option<ChildStdin>,
    answers: Receiver<Result<Answer, Garbled>>,
    memory: Option<Watched>,
}

impl WorkerProcess {
    /// Starts a worker. The child is in a process group of its own, so that Ctrl-C reaches
    /// only the controller, which ends its children in order.
    pub fn start(launcher: &Launcher) -> Result<Self, ControlError> {
        let mut command = launcher.command();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .process_group(0)
            .spawn()
            .map_err(|error| MachineError::Program {
                program: command.get_program().into(),
                error,
            })?;
        let (say, answers) = channel();
        let output = child.stdout.take().map(BufReader::new);
        let orders = child.stdin.take();
        let memory = Watched::begin(child.id());
        let worker = Self { child, orders, answers, memory };
        let reader = thread::Builder::new().name("worker answers".into());
        let started = reader.spawn(move || {
            let Some(mut output) = output else { return };
            while let Some(answer) = next_answer(&mut output).transpose() {
                let over = answer.is_err();
                if say.send(answer).is_err() || over {
                    break;
                }
            }
        });
        started.map_err(ControlError::thread)?;
        Ok(worker)
    }

    /// Process id of the worker on its own host.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the orders: a load that runs until it is told ends.
    pub fn hang_up(&mut self) {
        self.orders = None;
    }

    /// Waits for the end of a worker that speaks no more, and ends one that goes on in silence.
    fn ended(&mut self) -> io::Result<ExitStatus> {
        self.orders = None;
        let until = Instant::now() + END_WITHIN;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(2));
        }
        self.child.kill()?;
        self.child.wait()
    }

    fn how_it_ended(&mut self) -> ControlError {
        let status = match self.ended() {
            Ok(status) => status,
            Err(error) => {
                return MachineError::WorkerGone(error).into();
            }
        };
        let by_kill = status.signal() == Some(Signal::SIGKILL as i32);
        let killed = self.memory.as_ref().filter(|_| by_kill).and_then(Watched::killed);
        if let Some(killed) = killed {
            return ControlError::OutOfMemory(killed);
        }
        ControlError::WorkerEnded(match status.signal() {
            Some(signal) => LostBy::Killed { signal },
            None => LostBy::Exited { code: status.code().unwrap_or_default() },
        })
    }
}

impl End for WorkerProcess {
    fn order(&mut self, order: &Order) -> Result<(), ControlError> {
        let text = serde_json::to_string(order);
        let text = text.map_err(OrderError::Text)?;
        let Some(orders) = &mut self.orders else {
            return Err(MachineError::NoOrders.into());
        };
        let said = writeln!(orders, "{text}").and_then(|()| orders.flush());
        said.map_err(|_| self.how_it_ended())
    }

    fn answer(&mut self, within: Duration) -> Result<Option<Answer>, ControlError> {
        match self.answers.recv_timeout(within) {
            Ok(Ok(answer)) => Ok(Some(answer)),
            Ok(Err(why)) => Err(MachineError::Garbled(why).into()),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(self.how_it_ended()),
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.orders = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
        remove_shared(Path::new("/dev/shm"), self.child.id());
    }
}

/// Removes what a worker that was killed left: libfabric's shm names its files
/// `PID:USER:NUMBER`.
fn remove_shared(folder: &Path, pid: u32) {
    let first = format!("{pid}:");
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(&first));
        if rest.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b':')) {
            // Another user's is not ours to remove, and the kernel says no.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_worker_left_is_removed() {
        let folder = std::env::temp_dir().join(format!("narrows-shared-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("folder");
        for name in ["77:0:0", "77:1:12", "770:0:0", "77:notes", "177:0:0"] {
            std::fs::write(folder.join(name), b"x").expect("file");
        }
        remove_shared(&folder, 77);
        let left = std::fs::read_dir(&folder).expect("folder").flatten();
        let mut left: Vec<String> =
            left.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        left.sort();
        assert_eq!(left, ["177:0:0", "770:0:0", "77:notes"]);
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
