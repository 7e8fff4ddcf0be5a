//! What the engine needs of the world. The engine has no other way out.

use crate::error::RunError;
use crate::setting::{Setting, SettingError};
use crate::steps::Broken;
use narrows_model::Nanos;
use narrows_model::record::{Need, Outcome, Record};
use narrows_model::study::{Ended, Session};
use narrows_model::trial::Trial;
use narrows_plan::Step;
use narrows_store::StoreError;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The ends of trials, which measure.
pub trait Ends {
    /// Runs one step: the record of its trial, or one of each trial where several peers run
    /// at once. None of them is stored yet.
    fn measure(&mut self, trials: &[Trial], step: &Step) -> Result<Vec<Record>, Broken>;
    /// The record of a run that could not begin, or was broken off.
    fn unmade(&mut self, trial: &Trial, step: &Step, outcome: Outcome) -> Record;
}

/// Where a study is kept. What is put is on disk when the call returns; what fails has left
/// nothing.
pub trait Disk {
    /// Stores a session, or anew how it ended.
    fn put_session(&self, session: &Session) -> Result<(), StoreError>;
    /// Stores one run.
    fn put_record(&self, record: &Record) -> Result<(), StoreError>;
    /// Stores how the study ended last.
    fn put_ended(&self, ended: &Ended) -> Result<(), StoreError>;
}

pub trait Clock {
    /// Unix time, which somebody may set.
    fn now(&self) -> Nanos;
    /// Time since the clock was made, which nobody sets.
    fn elapsed(&self) -> Duration;
    /// Waits until a Unix time, or until `stop` is set.
    fn wait_until(&self, due: Nanos, stop: &AtomicBool);
}

/// Settings of the host, or of the two namespaces between which a study measures. They are put back
/// by another process when this one is killed.
pub trait HostSettings {
    /// Files that say where the interrupts of an interface go, without a name of that which leads
    /// to the peer; empty where there are none to move.
    fn interrupts(&self, device: Option<&str>) -> Vec<String>;
    /// Whether routes can be given a congestion control: those of namespaces can.
    fn has_routes(&self) -> bool;
    fn get(&mut self, setting: &Setting) -> Result<String, SettingError>;
    /// Sets it, as the study's level has it.
    fn set(&mut self, setting: &Setting, value: &str) -> Result<(), SettingError>;
    /// Nothing is to be changed any more: what is still changed is put back.
    fn release(&mut self);
}

/// What a course has done so far.
pub struct Progress<'a> {
    /// Runs that are over.
    pub done: usize,
    /// Runs in all.
    pub total: usize,
    /// The run that begins.
    pub label: &'a str,
    /// How long the rest should take.
    pub left: Duration,
}

pub trait Audience {
    /// A session is stored and begins. An error ends it.
    fn begins(&mut self) -> Result<(), RunError>;
    /// A run begins.
    fn step(&mut self, progress: &Progress<'_>);
    /// A run is over, and on disk.
    fn ran(&mut self, trial: &Trial, record: &Record);
    /// A host is gone, and the cells that need it are left out.
    fn gone(&mut self, host: &Need);
    /// A setting is not as it was.
    fn not_put_back(&mut self, why: &SettingError);
    /// The session's runs are over.
    fn ends(&mut self);
    /// The next session begins after so long.
    fn waits(&mut self, left: Duration);
}

/// The world of one study.
pub struct Outside<'a> {
    /// The ends of its trials.
    pub ends: &'a mut dyn Ends,
    /// What its trials vary on the host.
    pub settings: &'a mut dyn HostSettings,
    pub disk: &'a dyn Disk,
    /// For sessions apart, and the time left.
    pub clock: &'a dyn Clock,
    /// Set when the user wants to stop.
    pub stop: &'a AtomicBool,
    /// Who is told of what happens.
    pub audience: &'a mut dyn Audience,
}
