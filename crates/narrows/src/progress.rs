//! Progress with time left on standard error: a bar on a terminal, a line now and then elsewhere.

use crate::bar::bar;
use crate::live::Live;
use crate::watch::Watch;
use indicatif::ProgressBar;
use narrows_model::record::Record;
use narrows_model::shown::line;
use narrows_model::trial::Trial;
use narrows_runner::Progress;
use std::io::IsTerminal;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How often a line is printed where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows how far a study is.
pub struct Shown {
    bar: Option<ProgressBar>,
    last_line: Option<Instant>,
    watch: Option<Watch>,
    live: Option<Rc<Live>>,
    whole: Option<Whole>,
}

/// Where runs stand that are made a few at a time, as what came of those before asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Whole {
    /// Runs that are over.
    pub done: usize,
    /// How many runs there will be, about.
    pub about: usize,
    /// How long the rest should take.
    pub left: Duration,
    /// When a line was printed last, by those before.
    pub told: Option<Instant>,
}

impl Shown {
    /// Nothing shown yet; with what is shown during a run.
    pub fn new(live: Option<Rc<Live>>) -> Self {
        let bar = live.as_ref().map_or_else(bar, |live| live.bar().cloned());
        Self { bar, last_line: None, watch: None, live, whole: None }
    }

    /// How far all runs are of which those that are shown are some.
    pub fn amid(&mut self, whole: Whole) {
        self.last_line = whole.told;
        self.whole = Some(whole);
    }

    /// When a line was printed last.
    pub fn told(&self) -> Option<Instant> {
        self.last_line
    }

    /// Fills the terminal instead.
    pub fn watching(watch: Watch) -> Self {
        Self { bar: None, last_line: None, watch: Some(watch), live: None, whole: None }
    }

    /// A run that is over.
    pub fn ran(&mut self, trial: &Trial, record: &Record) {
        if let Some(watch) = &mut self.watch {
            watch.ran(trial, record);
        }
    }

    /// Shows one step.
    pub fn step(&mut self, progress: &Progress<'_>) {
        if let Some(watch) = &mut self.watch {
            return watch.step(progress);
        }
        let (about, progress) = match &self.whole {
            Some(whole) => ("about ", &whole.with(progress)),
            None => ("", progress),
        };
        if let Some(live) = &self.live {
            live.begins(progress);
        }
        let left = progress.left.as_secs_f64().ceil();
        if let Some(bar) = &self.bar {
            bar.set_length(progress.total as u64);
            bar.set_position(progress.done as u64);
            bar.set_message(format!("{left:.0} s left; {}", line(progress.label)));
        } else if self.live.is_none()
            && self.last_line.is_none_or(|last| last.elapsed() >= LINE_EVERY)
        {
            self.last_line = Some(Instant::now());
            let (run, runs) = (progress.done + 1, progress.total);
            note!("run {run} of {about}{runs}, {left:.0} s left");
        }
    }

    /// Takes the bar away.
    pub fn clear(&mut self) {
        self.watch = None;
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Whole {
    /// How far all of them are where these are so far.
    fn with<'a>(&self, progress: &Progress<'a>) -> Progress<'a> {
        let done = self.done + progress.done;
        Progress { done, total: self.about.max(done + 1), label: progress.label, left: self.left }
    }
}

/// No progress is shown of what is done sooner.
const SHOWN_AFTER: Duration = Duration::from_secs(2);

/// Shows how far the asking of a management controller is.
pub struct Resources {
    name: String,
    bar: Option<ProgressBar>,
    last_line: Option<Instant>,
}

impl Resources {
    /// Nothing shown yet; `name` is the controller's.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), bar: None, last_line: None }
    }

    /// One resource more.
    pub fn step(&mut self, progress: &narrows_bmc::Progress) {
        if progress.since < SHOWN_AFTER {
            return;
        }
        let (done, left) = (progress.done, progress.left().as_secs_f64().ceil());
        let all = done + progress.waiting;
        if std::io::stderr().is_terminal() {
            let bar = self.bar.get_or_insert_with(|| bar().unwrap_or_else(hidden));
            bar.set_length(all as u64);
            bar.set_position(done as u64);
            bar.set_message(format!("{}, {left:.0} s left", line(&self.name)));
        } else if self.last_line.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
            self.last_line = Some(Instant::now());
            note!("{}: resource {done} of {all}, {left:.0} s left", self.name);
        }
    }

    /// Takes the bar away.
    pub fn clear(&mut self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }
}

fn hidden() -> ProgressBar {
    ProgressBar::hidden()
}
