//! Runs a study: blocks of runs, in sessions, until nothing is left that fits the machine.

use crate::course::{Course, CourseEnd, expected_seconds};
use crate::error::RunError;
use crate::hosts::Hosts;
use crate::outside::{Outside, Progress};
use crate::schedule::Schedule;
use crate::session::SessionPlan;
use crate::settings::AppliedSettings;
use crate::study::Defined;
use narrows_model::Nanos;
use narrows_model::record::{Need, Outcome, Record};
use narrows_model::study::{Ended, StoredStudy};
use narrows_plan::Step;
use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

#[derive(Clone, Copy)]
enum SessionEnd {
    /// It was the last one, and the study ended in this way.
    Study(CourseEnd),
    /// Its runs are made, and the next may begin at this time.
    Until(Nanos),
}

/// A study that is run.
pub struct StudyEngine<'a> {
    plan: &'a SessionPlan,
    schedule: Schedule<'a>,
    settings: AppliedSettings,
    hosts: Hosts,
    /// Of the next session.
    number: u32,
}

/// How much of a session is over, for the time left.
struct Pace {
    /// When it began, by the clock that nobody sets.
    began: Duration,
    /// Seconds that its runs should take.
    planned_seconds: f64,
    /// Runs that are over.
    made: u64,
}

impl<'a> StudyEngine<'a> {
    /// A study of which nothing is stored but its head.
    pub fn begin(defined: &'a Defined, seed: u64, plan: &'a SessionPlan) -> Self {
        let schedule = Schedule::new(defined, seed, plan);
        let (settings, hosts) = (AppliedSettings::of(&defined.cells), Hosts::of(&plan.site));
        Self { plan, schedule, settings, hosts, number: 0 }
    }

    /// A study that goes on from what is stored.
    pub fn resume(defined: &'a Defined, stored: &StoredStudy, plan: &'a SessionPlan) -> Self {
        let schedule = Schedule::resumed(defined, stored, plan);
        let numbers = stored.sessions.iter().map(|session| session.number + 1);
        let number = numbers.max().unwrap_or(0);
        let (settings, hosts) = (AppliedSettings::of(&defined.cells), Hosts::of(&plan.site));
        Self { plan, schedule, settings, hosts, number }
    }

    /// What is stored of each cell, and what is left.
    pub fn schedule(&self) -> &Schedule<'a> {
        &self.schedule
    }

    /// Runs sessions, and waits between those that a study is spread over.
    pub fn run(&mut self, outside: &mut Outside<'_>) -> Result<CourseEnd, RunError> {
        loop {
            let due = match self.session(outside)? {
                SessionEnd::Study(end) => return Ok(end),
                SessionEnd::Until(due) => due,
            };
            let left = due.0.saturating_sub(outside.clock.now().0);
            outside.audience.waits(Duration::from_nanos(left));
            outside.clock.wait_until(due, outside.stop);
            if outside.stop.load(Relaxed) {
                return Ok(CourseEnd::Stopped);
            }
        }
    }

    /// Runs one session and notes it. What was measured stays whatever happens.
    fn session(&mut self, outside: &mut Outside<'_>) -> Result<SessionEnd, RunError> {
        let mut session = self.plan.session(self.number, outside.clock.now());
        outside.disk.put_session(&session)?;
        outside.audience.begins()?;
        let ran = self.blocks(outside);
        for why in self.settings.put_back(outside.settings) {
            outside.audience.not_put_back(&why);
        }
        outside.settings.release();
        outside.audience.ends();
        self.number += 1;
        let ended = self.ended(&ran);
        let lacking = self.schedule.lacking(&self.hosts);
        session.cannot.extend(lacking.map(|(cell, need)| (cell.0.clone(), need.to_string())));
        session.ended = Some(ended.clone());
        let stored = outside.disk.put_session(&session);
        let stored = stored.and_then(|()| outside.disk.put_ended(&ended));
        let end = ran?;
        stored?;
        Ok(end)
    }

    /// Runs blocks until nothing is left that fits, or the session's are made.
    fn blocks(&mut self, outside: &mut Outside<'_>) -> Result<SessionEnd, RunError> {
        let (_, planned_seconds) = self.schedule.runs_left();
        let mut pace = Pace { began: outside.clock.elapsed(), planned_seconds, made: 0 };
        loop {
            let steps = self.schedule.next_block();
            if steps.is_empty() {
                return self.nothing_left().map(SessionEnd::Study);
            }
            if let Some(due) = self.schedule.due(&steps, outside.clock.now()) {
                return Ok(SessionEnd::Until(due));
            }
            let mut records = Vec::new();
            let ran = self.block(&steps, &pace, &mut records, outside);
            pace.made += records.len() as u64;
            self.schedule.made(&steps, &records);
            self.schedule.leave_out(&self.hosts);
            if ran? == CourseEnd::Stopped {
                return Ok(SessionEnd::Study(CourseEnd::Stopped));
            }
        }
    }

    /// Nothing that fits the machine is left: all is done, but for what hosts that are gone cost.
    fn nothing_left(&mut self) -> Result<CourseEnd, RunError> {
        if self.schedule.lacking(&self.hosts).next().is_none() {
            return Ok(CourseEnd::Complete);
        }
        self.hosts.all_gone().map_or(Ok(CourseEnd::HostsGone), Err)
    }

    fn ended(&self, ran: &Result<SessionEnd, RunError>) -> Ended {
        let why = match ran {
            Ok(SessionEnd::Study(CourseEnd::Complete) | SessionEnd::Until(_)) => {
                return Ended::Complete;
            }
            Ok(SessionEnd::Study(CourseEnd::Stopped)) => return Ended::by_signal(),
            Ok(SessionEnd::Study(CourseEnd::HostsGone)) => {
                let gone: Vec<String> = self.hosts.gone().iter().map(Need::to_string).collect();
                gone.join("; ")
            }
            Err(error) => error.to_string(),
        };
        Ended::Interrupted { why }
    }

    /// Runs one block; `records` are those that are stored, also when it is broken off.
    fn block(
        &mut self,
        steps: &[Step],
        pace: &Pace,
        records: &mut Vec<Record>,
        outside: &mut Outside<'_>,
    ) -> Result<CourseEnd, RunError> {
        let (runs_left, seconds_left) = self.schedule.runs_left();
        let spent = outside.clock.elapsed().saturating_sub(pace.began).as_secs_f64();
        let trials = &self.plan.trials;
        let later = pace.later(seconds_left, expected_seconds(trials, steps), spent);
        let audience = RefCell::new(&mut *outside.audience);
        let mut course = Course {
            trials,
            ends: &mut *outside.ends,
            hosts: Some(&mut self.hosts),
            settings: Some((&mut self.settings, &mut *outside.settings)),
            disk: outside.disk,
            clock: outside.clock,
            stop: outside.stop,
            session: self.number,
            left_out: 0,
        };
        course.run(
            steps,
            |progress: &Progress<'_>| {
                audience.borrow_mut().step(&Progress {
                    done: pace.made as usize + progress.done,
                    total: (pace.made + runs_left) as usize,
                    label: progress.label,
                    left: progress.left + later,
                });
            },
            |trial, record| {
                records.push(record.clone());
                audience.borrow_mut().ran(trial, record);
                if let Outcome::Skipped { missing } = &record.outcome {
                    missing.iter().for_each(|host| audience.borrow_mut().gone(host));
                }
            },
        )
    }
}

impl Pace {
    /// How long the runs after a block should take: as planned, times how wrong that was so far.
    fn later(&self, seconds_left: f64, of_block: f64, spent: f64) -> Duration {
        let past = self.planned_seconds - seconds_left;
        let pace = if past > 0.0 { spent / past } else { 1.0 };
        Duration::try_from_secs_f64((seconds_left - of_block).max(0.0) * pace).unwrap_or_default()
    }
}
