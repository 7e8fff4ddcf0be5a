//! What the step of a job says while its agents are waited for: who has come, whom srun does not
//! reach, and why an agent is not there.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often is said how many listen.
const TELL_EVERY: Duration = Duration::from_secs(5);
/// How often is looked whether the user stopped it.
const LOOK_EACH: Duration = Duration::from_millis(100);
/// The longest line of a node that is read as one, in bytes.
const LINE_BYTES_MAX: u64 = 4096;
/// The most lines of srun's own that are kept for whoever asks.
const UNTOLD_MAX: usize = 64;

/// What is told while agents are waited for.
pub enum Seen<'a> {
    /// So many listen, of so many.
    Come(usize, usize),
    /// A line of srun's own.
    Srun(&'a str),
}

/// A line that srun has handed on, or that is its own.
#[derive(Debug)]
pub enum Heard {
    /// Of a task, with its number in front.
    Task(String),
    /// What srun itself has to say.
    Srun(String),
}

/// Hands on each line until nobody takes it or nothing comes any more.
pub fn read_lines(pipe: impl Read, mut hand_on: impl FnMut(String) -> bool) {
    let mut pipe = BufReader::new(pipe);
    loop {
        let mut line = Vec::new();
        let read = pipe.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        let is_end = !read.is_ok_and(|read| read > 0);
        if is_end || !hand_on(String::from_utf8_lossy(&line).trim().to_owned()) {
            return;
        }
    }
}

/// Why waiting for agents ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Waited {
    /// Each of them listens, or has ended.
    All,
    /// Some did not within their time.
    Late,
    /// The step is over.
    Ended,
    /// The user wished so.
    Stopped,
}

/// What the task of a node has said so far.
#[derive(Default)]
struct Task {
    node: String,
    /// Its last words, what an error says before all others.
    said: Option<String>,
    listens: bool,
    has_ended: bool,
}

impl Task {
    fn hear(&mut self, line: &str) {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("narrows-node", node) => node.clone_into(&mut self.node),
            ("narrows-listening", _) => self.listens = true,
            ("narrows-ended", _) => (self.listens, self.has_ended) = (false, true),
            ("error:", says) => self.said = Some(says.to_owned()),
            // Of an agent that cannot be had, what to do about it is said here.
            ("hint:", _) | ("", _) => {}
            _ if self.said.is_none() => self.said = Some(line.to_owned()),
            _ => {}
        }
    }

    /// Which node it was and what it said, for the end of a sentence.
    fn last(&self) -> Option<String> {
        self.said.as_ref().map(|said| format!(": {}: {said}", self.node))
    }
}

/// Who has come.
#[derive(Default)]
pub struct Come {
    /// By the number of the task.
    tasks: BTreeMap<u32, Task>,
    /// Nodes on which srun could start nothing, and why.
    pub unreached: BTreeMap<String, String>,
    /// What srun has said and nobody was told yet: nothing of it matters where all come at once.
    untold: Vec<String>,
}

impl Come {
    pub fn listening(&self) -> usize {
        self.tasks.values().filter(|task| task.listens).count()
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Task(line) => self.hear_task(&line),
            Heard::Srun(line) => self.hear_srun(line),
        }
    }

    /// Takes a line as srun labels it: `3: narrows-listening 7471`.
    fn hear_task(&mut self, line: &str) {
        let Some((label, says)) = line.split_once(": ") else { return };
        if let Ok(number) = label.trim().parse() {
            self.tasks.entry(number).or_default().hear(says.trim());
        }
    }

    /// `srun: error: Task launch for StepId=1.0 failed on node n5: Communication connection
    /// failure`
    fn hear_srun(&mut self, line: String) {
        let failed = line.split_once(" failed on node ").and_then(|(_, rest)| rest.split_once(':'));
        if let Some((node, why)) = failed {
            self.unreached.insert(node.to_owned(), why.trim().to_owned());
        }
        if self.untold.len() < UNTOLD_MAX {
            self.untold.push(line);
        }
    }

    /// Hands on what srun has said.
    pub fn tell(&mut self, seen: &mut dyn FnMut(Seen<'_>)) {
        self.untold.drain(..).for_each(|line| seen(Seen::Srun(&line)));
    }

    /// Waits until all have come, or ended, and at most so long.
    pub fn wait(
        &mut self,
        count: usize,
        heard: &Receiver<Heard>,
        stop: &AtomicBool,
        within: Duration,
        seen: &mut dyn FnMut(Seen<'_>),
    ) -> Waited {
        let begun = Instant::now();
        let mut told = begun;
        loop {
            if self.tasks.values().filter(|task| task.listens || task.has_ended).count() >= count {
                return Waited::All;
            }
            if stop.load(Ordering::SeqCst) {
                return Waited::Stopped;
            }
            if begun.elapsed() >= within {
                return Waited::Late;
            }
            if told.elapsed() >= TELL_EVERY {
                told = Instant::now();
                self.tell(seen);
                seen(Seen::Come(self.listening(), count));
            }
            match heard.recv_timeout(LOOK_EACH) {
                Ok(line) => self.hear(line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Waited::Ended,
            }
        }
    }

    /// Why a node has no agent; `None` where it listens.
    pub fn lacks(&self, node: &str) -> Option<&str> {
        match self.tasks.values().find(|task| task.node == node) {
            Some(task) if task.listens => None,
            Some(Task { said: Some(said), .. }) => Some(said),
            Some(_) => Some("its agent did not listen in time"),
            None => Some("srun started nothing there in time"),
        }
    }

    /// What a node has said, for the end of a sentence; nothing where none has.
    pub fn last(&self) -> String {
        self.tasks.values().find_map(Task::last).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "come_tests.rs"]
mod tests;
