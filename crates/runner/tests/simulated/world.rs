//! A world in which a study runs: disk, clock, settings and ends that fail by chance, and a process
//! that may be killed at every step.

use narrows_control::{ControlError, Gone};
use narrows_hostctl::HostError;
use narrows_model::Nanos;
use narrows_model::host::Host;
use narrows_model::record::{Need, Record};
use narrows_model::study::{Ended, Session, StoredStudy, Study};
use narrows_model::trial::Trial;
use narrows_runner::Broken;
use narrows_runner::outside::{Audience, Clock, Disk};
use narrows_runner::{Progress, Setting, SettingError};
use narrows_store::StoreError;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// How often each fault comes, a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// The process is killed.
    pub kill: f64,
    /// With the process its guard is killed too.
    pub guard_dies: f64,
    /// The disk is full, until somebody makes room.
    pub disk_full: f64,
    /// The agent goes away, until somebody starts it again.
    pub peer_gone: f64,
    /// A word between controller and end is lost.
    pub message_lost: f64,
    /// A worker dies.
    pub worker_dies: f64,
    /// The clock is set, by two hours at most.
    pub clock_jump: f64,
    /// A setting cannot be written.
    pub unwritable: f64,
    /// A setting is written half: it is neither what it was nor what it should be.
    pub half_written: f64,
    /// The user presses Ctrl-C.
    pub stop: f64,
}

impl Faults {
    /// Whether a run can fail by one of them: it is made again then, in another place of the order.
    pub fn fail_runs(&self) -> bool {
        self.message_lost + self.worker_dies + self.unwritable + self.half_written > 0.0
    }
}

/// Where settings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// On the host: a guard puts them back.
    Host,
    /// In two namespaces, which go with the process.
    Namespaces,
}

/// The guard's process, with what settings were.
#[derive(Clone, Debug, Default)]
struct Guard(Vec<(Setting, String)>);

/// Everything outside the engine.
pub struct World {
    pub random: Pcg64,
    pub faults: Faults,
    /// Runs that may still fail by a fault; a cell that fails too often is given up.
    pub failures_left: u32,
    /// True from a kill on: nothing that the process still does has any effect.
    pub dead: bool,
    pub stop: Rc<AtomicBool>,
    now_ns: u64,
    elapsed: Duration,
    jumps: u32,
    disk_full: bool,
    /// The only agent is gone, of a study that names none.
    pub peer_is_gone: bool,
    /// Which of the agents that a study names are gone.
    pub gone: BTreeSet<usize>,
    /// Runs that were made while an agent was gone.
    pub went_on: u64,
    pub stored: StoredStudy,
    /// Runs that are over and not yet on disk.
    pub unstored: Vec<Record>,
    /// Runs that the engine was told are on disk.
    pub kept: Vec<Record>,
    pub settings_are: Where,
    pub defaults: BTreeMap<Setting, String>,
    pub settings: BTreeMap<Setting, String>,
    guard: Option<Guard>,
    journals: Vec<Guard>,
    /// A setting that could not be put back, as the user was told.
    pub not_put_back: u32,
    /// What the faults did, for who reads a failing seed.
    pub log: Vec<String>,
}

/// The world as several of its parts hold it.
pub type Shared = Rc<RefCell<World>>;

impl World {
    pub fn new(seed: u64, faults: Faults, settings_are: Where, study: Study) -> Self {
        let known = [
            (Setting::Mtu, "1500"),
            (Setting::Offload("gro".into()), "on"),
            (Setting::Offload("tso".into()), "on"),
            (Setting::Kernel("net.ipv4.tcp_timestamps".into()), "1"),
            (Setting::Kernel("vm.nr_hugepages".into()), "0"),
        ];
        let defaults: BTreeMap<Setting, String> =
            known.into_iter().map(|(setting, value)| (setting, value.to_owned())).collect();
        Self {
            random: Pcg64::seed_from_u64(seed),
            faults,
            failures_left: 20,
            dead: false,
            stop: Rc::default(),
            now_ns: 1_800_000_000_000_000_000,
            elapsed: Duration::ZERO,
            jumps: 0,
            disk_full: false,
            peer_is_gone: false,
            gone: BTreeSet::new(),
            went_on: 0,
            stored: StoredStudy { study, ..StoredStudy::unmeasured(Host::default()) },
            unstored: Vec::new(),
            kept: Vec::new(),
            settings_are,
            settings: defaults.clone(),
            defaults,
            guard: None,
            journals: Vec::new(),
            not_put_back: 0,
            log: Vec::new(),
        }
    }

    /// Whether a fault comes now.
    pub fn chance(&mut self, share: f64) -> bool {
        share > 0.0 && self.random.random_bool(share)
    }

    /// Whether a fault comes now by which a run fails.
    pub fn failure(&mut self, share: f64) -> bool {
        let comes = self.failures_left > 0 && self.chance(share);
        self.failures_left -= u32::from(comes);
        comes
    }

    /// A step of the process: it may be killed here, the user may want to stop, the clock may be
    /// set. True when the process is dead.
    pub fn step(&mut self, doing: &str) -> bool {
        if self.dead {
            return true;
        }
        if self.chance(self.faults.kill) {
            self.log.push(format!("killed: {doing}"));
            self.dead = true;
            // Whatever the engine still does, it is to come to its end.
            self.stop.store(true, SeqCst);
        } else if self.chance(self.faults.stop) {
            self.log.push(format!("Ctrl-C: {doing}"));
            self.stop.store(true, SeqCst);
        }
        if self.jumps < 20 && self.chance(self.faults.clock_jump) {
            self.jumps += 1;
            let seconds = self.random.random_range(0..14_400u64);
            self.now_ns = self.now_ns + seconds * 1_000_000_000 - 7_200_000_000_000;
            self.log.push(format!("clock set by {} s: {doing}", seconds as i64 - 7200));
        }
        self.dead
    }

    pub fn pass(&mut self, time: Duration) {
        self.now_ns += time.as_nanos() as u64;
        self.elapsed += time;
    }

    pub fn now(&self) -> Nanos {
        Nanos(self.now_ns)
    }

    /// Somebody has seen to it that the study can go on, and starts the process.
    pub fn begin_process(&mut self) {
        self.dead = false;
        self.disk_full = false;
        self.peer_is_gone = false;
        self.gone.clear();
        self.stop.store(false, SeqCst);
        self.unstored.clear();
    }

    /// The process is over, however it ended: namespaces go, a guard puts back what it noted. What
    /// a guard could not, because it was killed too or the kernel refused, `study restore` does.
    pub fn end_process(&mut self) {
        if self.settings_are == Where::Namespaces {
            self.settings = self.defaults.clone();
        }
        self.end_guard();
        for journal in std::mem::take(&mut self.journals) {
            for (setting, was) in journal.0.into_iter().rev() {
                self.settings.insert(setting, was);
            }
        }
    }

    fn end_guard(&mut self) {
        let Some(guard) = self.guard.take() else { return };
        if self.dead && self.chance(self.faults.guard_dies) {
            self.log.push("the guard was killed too".to_owned());
            return self.journals.push(guard);
        }
        for (setting, was) in guard.0.iter().rev() {
            if self.settings.get(setting) == Some(was) {
                continue;
            }
            if self.chance(self.faults.unwritable) {
                self.log.push(format!("the guard cannot put back {setting}"));
                return self.journals.push(guard);
            }
            self.settings.insert(setting.clone(), was.clone());
        }
    }

    pub fn setting(&self, setting: &Setting) -> Result<String, SettingError> {
        let known = self.settings.get(setting).cloned();
        known.ok_or_else(|| refused(setting, "there is none"))
    }

    /// Changes a setting as [`narrows_hostctl::guard::Guard`] does: what it was is noted first, by
    /// another process.
    pub fn set(&mut self, setting: &Setting, value: &str) -> Result<(), SettingError> {
        if self.step("before a setting is noted") {
            return Err(refused(setting, "dead"));
        }
        if self.settings_are == Where::Host {
            let was = self.setting(setting)?;
            let Guard(notes) = self.guard.get_or_insert_default();
            if notes.iter().all(|(known, _)| known != setting) {
                notes.push((setting.clone(), was));
            }
        }
        if self.step("before a setting is written") {
            return Err(refused(setting, "dead"));
        }
        if self.failure(self.faults.unwritable) {
            self.log.push(format!("cannot write {setting}"));
            return Err(refused(setting, "not written"));
        }
        if self.failure(self.faults.half_written) {
            self.log.push(format!("half written: {setting}"));
            self.settings.insert(setting.clone(), "between".to_owned());
            return Err(refused(setting, "half written"));
        }
        self.settings.insert(setting.clone(), value.to_owned());
        self.step("after a setting is written");
        Ok(())
    }

    pub fn release(&mut self) {
        if !self.dead {
            self.end_guard();
        }
    }

    /// Puts something on disk, or not.
    fn put(&mut self, what: &str, put: impl FnOnce(&mut StoredStudy)) -> Result<(), StoreError> {
        let unwritable =
            |why: &str| StoreError::Unwritable { path: "simulated".into(), why: why.to_owned() };
        if self.step(&format!("before {what} is stored")) {
            return Err(unwritable("dead"));
        }
        if self.chance(self.faults.disk_full) {
            self.log.push(format!("disk full: {what}"));
            self.disk_full = true;
        }
        if self.disk_full {
            return Err(unwritable("no room is left on the disk"));
        }
        put(&mut self.stored);
        if self.step(&format!("after {what} is stored")) {
            return Err(unwritable("dead"));
        }
        Ok(())
    }
}

pub fn refused(setting: &Setting, why: &str) -> SettingError {
    SettingError::Refused { setting: setting.clone(), why: HostError::Machine(why.to_owned()) }
}

/// A peer that was there.
pub fn gone(peer: &str) -> ControlError {
    ControlError::Unreachable { peer: peer.to_owned(), why: Gone::Over }
}

/// The process is dead, or its peer: the course ends.
pub fn fatal(why: &str) -> Broken {
    Broken::Fatal(gone(why).into())
}

/// The disk of a world.
pub struct SimDisk(pub Shared);

impl Disk for SimDisk {
    fn put_session(&self, session: &Session) -> Result<(), StoreError> {
        let mut world = self.0.borrow_mut();
        let known = world.stored.sessions.iter().any(|known| known.number == session.number);
        assert!(world.dead || known == session.ended.is_some(), "session {}", session.number);
        world.put("a session", |stored| {
            match stored.sessions.iter_mut().find(|known| known.number == session.number) {
                Some(known) => known.clone_from(session),
                None => stored.sessions.push(session.clone()),
            }
        })
    }

    fn put_record(&self, record: &Record) -> Result<(), StoreError> {
        let mut world = self.0.borrow_mut();
        let again = |known: &Record| (&known.trial, known.repeat) == (&record.trial, record.repeat);
        assert!(
            world.dead || !world.stored.records.iter().any(again),
            "a run was made twice: {} {}",
            record.trial.0,
            record.repeat
        );
        world.put("a record", |stored| stored.records.push(record.clone()))?;
        world.unstored.retain(|unstored| !again(unstored));
        world.kept.push(record.clone());
        Ok(())
    }

    fn put_ended(&self, ended: &Ended) -> Result<(), StoreError> {
        self.0.borrow_mut().put("the end", |stored| stored.ended = Some(ended.clone()))
    }
}

/// The clock of a world.
pub struct SimClock(pub Shared);

impl Clock for SimClock {
    fn now(&self) -> Nanos {
        self.0.borrow().now()
    }

    fn elapsed(&self) -> Duration {
        self.0.borrow().elapsed
    }

    fn wait_until(&self, due: Nanos, stop: &AtomicBool) {
        let mut world = self.0.borrow_mut();
        if !world.step("while it waits for the next session") && !stop.load(SeqCst) {
            let left = due.0.saturating_sub(world.now_ns);
            world.pass(Duration::from_nanos(left));
        }
    }
}

/// Whoever looks on: sees that settings are back when a session is over.
pub struct SimAudience(pub Shared);

impl Audience for SimAudience {
    fn begins(&mut self) -> Result<(), narrows_runner::RunError> {
        self.0.borrow_mut().step("as a session begins");
        Ok(())
    }

    fn step(&mut self, progress: &Progress<'_>) {
        assert!(progress.done < progress.total, "{} of {}", progress.done, progress.total);
        self.0.borrow_mut().step("as a run begins");
    }

    fn ran(&mut self, _trial: &Trial, record: &Record) {
        let world = self.0.borrow();
        assert!(world.dead || world.stored.records.contains(record), "told before it was stored");
    }

    fn gone(&mut self, host: &Need) {
        let Need::Host { name, .. } = host;
        assert!(crate::HOSTS.contains(&name.as_str()), "{name} is no host of the study");
    }

    fn not_put_back(&mut self, _why: &SettingError) {
        self.0.borrow_mut().not_put_back += 1;
    }

    fn ends(&mut self) {
        let mut world = self.0.borrow_mut();
        let told = std::mem::take(&mut world.not_put_back) > 0 || !world.journals.is_empty();
        if !world.dead && !told {
            assert_eq!(world.settings, world.defaults, "settings are back");
        }
    }

    fn waits(&mut self, _left: Duration) {}
}
