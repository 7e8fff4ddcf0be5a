//! A study: what was planned, on which hosts, and how it ended.

use crate::explored::Explored;
use crate::host::Host;
use crate::interfaces::Interfaces;
use crate::record::Record;
use crate::study_kind::StudyKind;
pub use crate::trial::RATE;
use crate::trial::{EndHost, Level, NetworkPath, Trial, TrialId};
use crate::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Study {
    /// Version of the JSON inside.
    pub schema_version: u32,
    /// Version of narrows that measured.
    pub narrows_version: String,
    /// What measured it, or where it is from.
    pub command: StudyKind,
    /// Seed of the order.
    pub seed: u64,
    /// Repeats of each trial.
    pub repeats: u32,
    /// What joins the two ends of network trials.
    pub path: NetworkPath,
    /// The peer as the user named it, for a direct measurement.
    pub peer: Option<String>,
    /// Name and question of a study from a file.
    #[serde(default)]
    pub title: Option<Title>,
    /// How a study wants to be read.
    #[serde(default)]
    pub reading: Reading,
    /// When a study from a file stops repeating.
    #[serde(default)]
    pub precision: Option<Precision>,
    /// How a study's runs are spread over time.
    #[serde(default)]
    pub spread: Option<Spread>,
    /// Which rate a study of packets searches for, in place of repeats of every cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// What a search for anomalies varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explored: Option<Explored>,
    /// Whether a study was cut short to be tried.
    #[serde(default)]
    pub quick: bool,
    /// Whether all trials of a block run at once, each with a peer of its own.
    #[serde(default)]
    pub together: bool,
    /// Interfaces of this host that lead to the peers, where they are known.
    #[serde(flatten)]
    pub interfaces: Interfaces,
    /// When it began, Unix time.
    pub began_unix_ns: Nanos,
    /// MTU between the ends of network trials, to the first of several peers; what each pair had in
    /// force is in its ends' reports.
    pub path_mtu_bytes: Option<Bytes>,
    /// Sum of the last-level caches that the memory kernels' CPUs share.
    pub cache_bytes: Bytes,
    /// NUMA node that the memory kernels ran on, when the host has nodes.
    pub memory_node: Option<u32>,
}

impl Study {
    /// A study of this narrows's version and schema that asks nothing more: without peer, title,
    /// precision or spread over time.
    pub fn new(command: StudyKind, path: NetworkPath, repeats: u32, seed: u64) -> Self {
        Self {
            schema_version: crate::SCHEMA_VERSION,
            narrows_version: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            seed,
            repeats,
            path,
            peer: None,
            title: None,
            reading: Reading::default(),
            precision: None,
            spread: None,
            search: None,
            explored: None,
            quick: false,
            together: false,
            interfaces: Interfaces::default(),
            began_unix_ns: Nanos(0),
            path_mtu_bytes: None,
            cache_bytes: Bytes(0),
            memory_node: None,
        }
    }
}

/// Most runs that a cell, or a trial of a command, may be asked for.
pub const REPEATS_MAX: u32 = 100_000;

/// Name and question of a study.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Title {
    /// Name of the study, as its definition has it.
    pub name: String,
    pub about: String,
}

/// When to stop repeating.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Precision {
    /// The interval of the median lies within so many per cent of it.
    pub within_percent: f64,
    /// Confidence of the interval.
    #[serde(default = "ninety_five")]
    pub confidence_percent: f64,
    /// Runs of a cell after which it is given up.
    pub repeats_max: u32,
}

fn ninety_five() -> f64 {
    95.0
}

/// A search for the highest rate of packets at which no more are lost than allowed: the throughput
/// of RFC 2544 (section 26.1) and of RFC 8219 where nothing may be lost. Which rate is tried next
/// follows from the runs that are stored.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The highest rate that is tried.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rate_max_packets_per_second: f64,
    /// In place of rates: the longest burst that is tried, back to back (RFC 9004).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_max_frames: Option<u64>,
    /// What the path carries without loss, by which the buffer of a burst is corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput_packets_per_second: Option<f64>,
    /// The lowest; without it a hundredth of the highest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_min_packets_per_second: Option<f64>,
    /// The answer's interval is to be as narrow as this.
    #[serde(default = "two_percent")]
    pub resolution_percent: f64,
    /// A run passes when it loses no more than this share of what was sent.
    #[serde(default)]
    pub loss_percent: f64,
    /// How sure the answer's interval is.
    #[serde(default = "ninety_five")]
    pub confidence_percent: f64,
    /// Runs of one search after which it is given up.
    #[serde(default = "eighty")]
    pub runs_max: u32,
}

fn is_zero(rate: &f64) -> bool {
    *rate == 0.0
}

fn two_percent() -> f64 {
    2.0
}

fn eighty() -> u32 {
    80
}

/// What stands behind the number of a burst's level.
const FRAMES: &str = " frames";

impl Search {
    /// How far the rates that are tried lie apart: two steps are the resolution.
    pub fn step(&self) -> f64 {
        self.resolution_percent / 200.0
    }

    /// Whether it is for the longest burst, and not for a rate.
    pub fn is_of_bursts(&self) -> bool {
        self.burst_max_frames.is_some()
    }

    /// The most that is tried: packets a second, or frames of a burst.
    pub fn most(&self) -> f64 {
        self.burst_max_frames.map_or(self.rate_max_packets_per_second, |frames| frames as f64)
    }

    /// The rates that may be tried, in packets a second, or the bursts, in frames, from the lowest
    /// to the highest: each a step above the one before.
    pub fn rates(&self) -> Vec<u64> {
        let most = self.most();
        let least = self.rate_min_packets_per_second.unwrap_or(most / 100.0).max(1.0);
        let downwards = std::iter::successors(Some(most), |rate| Some(rate / (1.0 + self.step())));
        let mut rates: Vec<u64> =
            downwards.take_while(|rate| *rate >= least).map(|rate| rate.round() as u64).collect();
        rates.dedup();
        rates.reverse();
        rates
    }

    /// Whether a cell with these levels is one of its rates. A study without a search may have a
    /// factor of this name that is as any other.
    pub fn has(&self, levels: &[Level]) -> bool {
        levels.iter().any(|level| level.factor == RATE)
    }

    /// The rate of a level of [`RATE`], or its burst.
    pub fn rate_of(level: &str) -> Option<u64> {
        level.strip_suffix("/s").or_else(|| level.strip_suffix(FRAMES))?.parse().ok()
    }

    /// The level of a rate, or of a burst.
    pub fn level(&self, rate: u64) -> String {
        if self.is_of_bursts() { format!("{rate}{FRAMES}") } else { Self::level_of(rate) }
    }

    /// The level of a rate.
    pub fn level_of(rate: u64) -> String {
        format!("{rate}/s")
    }
}

/// Sessions that a study is spread over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    pub sessions: u32,
    /// Minutes from the end of one to the start of the next, at least.
    pub apart_minutes: f64,
}

/// How a study wants to be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reading {
    /// The factor along the axis; without it the first. Every combination of the others has a
    /// panel.
    pub across: Option<String>,
    /// Margin of claims of equality, in per cent; without it 2.
    pub margin_percent: Option<f64>,
    /// Whether levels of the factor along the axis are to be recommended; without it, only those of
    /// a factor that is changed by hand.
    pub recommend: Option<bool>,
    /// What a level of the factor along the axis costs, in one currency for all.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, f64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "ended", rename_all = "kebab-case")]
pub enum Ended {
    /// Every planned run was made.
    Complete,
    /// Stopped by a signal or by a fault; what was measured is kept.
    Interrupted {
        /// What stopped it, in words.
        why: String,
    },
}

impl Ended {
    /// Why a command ended that was told to stop.
    pub const BY_SIGNAL: &str = "stopped by Ctrl-C or SIGTERM";

    /// A command that was told to stop.
    pub fn by_signal() -> Self {
        Self::Interrupted { why: Self::BY_SIGNAL.to_owned() }
    }
}

/// One session of a study: from a start of narrows to its end, on one boot of one host. A study of
/// memory populations has one after each time that the machine was opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Number of the session, from 0.
    pub number: u32,
    /// When it began, Unix time.
    pub began_unix_ns: Nanos,
    /// Version of narrows that measured.
    pub narrows_version: String,
    /// The host that narrows ran on, as it was then.
    pub host: Host,
    /// The hosts at the other end.
    pub peer_hosts: Vec<Host>,
    /// What joined the ends of network trials.
    pub path: NetworkPath,
    /// Levels of the factors that are changed by hand, as the machine was found.
    pub levels: BTreeMap<String, Found>,
    /// Cells that no change by hand lets run here, and why.
    #[serde(default)]
    pub cannot: BTreeMap<String, String>,
    /// How it ended; `None` when the program was killed before it could say.
    pub ended: Option<Ended>,
}

/// At which level of a factor a machine is, and who says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// The level's name.
    pub level: String,
    /// True when it was read from the machine, false when the user said so.
    pub read: bool,
}

/// Everything a file of a study holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredStudy {
    /// The plan's head.
    pub study: Study,
    /// `None` when the program was killed before it could say.
    pub ended: Option<Ended>,
    /// The text of the study's definition, for `narrows study`.
    #[serde(default)]
    pub definition: Option<String>,
    /// Its sessions, for `narrows study`; records name theirs.
    #[serde(default)]
    pub sessions: Vec<Session>,
    /// The host that narrows ran on (at first, where there are sessions).
    pub host: Host,
    /// The hosts at the other end, in order of the peers.
    pub peer_hosts: Vec<Host>,
    /// One trial a cell, in the order of the study's file.
    pub trials: Vec<Trial>,
    /// The runs, in the order in which they were made.
    pub records: Vec<Record>,
}

impl StoredStudy {
    /// A study of a host that was read and never measured.
    pub fn unmeasured(host: Host) -> Self {
        Self {
            study: Study {
                narrows_version: String::new(),
                ..Study::new(StudyKind::Host, NetworkPath::Memory, 0, 0)
            },
            ended: None,
            definition: None,
            sessions: Vec::new(),
            host,
            peer_hosts: Vec::new(),
            trials: Vec::new(),
            records: Vec::new(),
        }
    }

    /// The session that first measured a trial; `None` of studies that are not made in sessions.
    pub fn session_of(&self, trial: &Trial) -> Option<&Session> {
        let first = self.records_of(trial).next()?.session;
        self.sessions.iter().find(|session| session.number == first)
    }

    /// A host by the name that it was reached by, else its number.
    pub fn host_name(&self, host: EndHost) -> String {
        let EndHost::Peer(at) = host else { return "this host".to_owned() };
        let names = self.study.peer.as_deref().unwrap_or_default();
        let name = names.split(", ").nth(at as usize).filter(|name| !name.is_empty());
        name.map_or_else(|| format!("peer {}", at + 1), str::to_owned)
    }

    /// The interface by which this host's end of a trial reaches the other; `None` where that is
    /// not known, and of trials without an end here.
    pub fn interface_of(&self, trial: &Trial) -> Option<&str> {
        let mut pairs = trial.pairs();
        pairs.find_map(|pair| match (pair.sender.host, pair.receiver.host) {
            (EndHost::Controller, EndHost::Controller) => self.study.interfaces.first(),
            (EndHost::Controller, far) | (far, EndHost::Controller) => {
                self.study.interfaces.to(far)
            }
            _ => None,
        })
    }

    /// The facts of the only host that a trial's pairs have at the other end; `None` where there
    /// are several, and where its facts are not here.
    pub fn far_host(&self, trial: &Trial) -> Option<&Host> {
        let ends = trial.pairs().flat_map(|pair| [pair.sender.host, pair.receiver.host]);
        let far: BTreeSet<u32> = ends
            .filter_map(|host| match host {
                EndHost::Peer(at) => Some(at),
                EndHost::Controller => None,
            })
            .collect();
        let only = far.first().filter(|_| far.len() == 1)?;
        self.peer_hosts.get(*only as usize)
    }

    /// Records of one trial, in order.
    pub fn records_of<'a>(&'a self, trial: &'a Trial) -> impl Iterator<Item = &'a Record> {
        self.records.iter().filter(|record| record.trial == trial.id)
    }
    /// Records by trial, each in order.
    pub fn by_trial(&self) -> BTreeMap<&TrialId, Vec<&Record>> {
        let mut by_trial = BTreeMap::<&TrialId, Vec<&Record>>::new();
        for record in &self.records {
            by_trial.entry(&record.trial).or_default().push(record);
        }
        by_trial
    }
    /// Whether a trial is one of the rates of the study's search.
    pub fn is_searched(&self, trial: &Trial) -> bool {
        self.study.search.is_some_and(|search| search.has(&trial.levels))
    }
    /// Leaves the rates out that a search had no need to try.
    pub fn without_untried(mut self) -> Self {
        if let Some(search) = self.study.search {
            let tried: BTreeSet<&TrialId> = self.records.iter().map(|run| &run.trial).collect();
            self.trials.retain(|trial| !search.has(&trial.levels) || tried.contains(&trial.id));
        }
        self
    }
    /// Runs that were planned. How many a search takes shows when it is over: each that was made.
    pub fn planned_runs(&self) -> usize {
        let (searched, repeated): (Vec<&Trial>, Vec<&Trial>) =
            self.trials.iter().partition(|trial| self.is_searched(trial));
        let searched: BTreeSet<&TrialId> = searched.into_iter().map(|trial| &trial.id).collect();
        let made = self.records.iter().filter(|run| searched.contains(&run.trial)).count();
        repeated.len().saturating_mul(self.study.repeats as usize).saturating_add(made)
    }
}
