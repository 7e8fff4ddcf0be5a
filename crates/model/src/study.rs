//! A study: what was planned, on which hosts, and how it ended.

use crate::host::Host;
use crate::record::Record;
use crate::trial::{EndHost, NetworkPath, Trial, TrialId};
use crate::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Version of the JSON inside.
    pub schema_version: u32,
    /// Version of narrows that measured.
    pub narrows_version: String,
    /// `check`, `tcp`, `udp`.
    pub command: String,
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
    /// Whether a study was cut short to be tried.
    #[serde(default)]
    pub quick: bool,
    /// Whether all trials of a block run at once, each with a peer of its own.
    #[serde(default)]
    pub together: bool,
    /// Interface of this host that leads to the peer, where it is known.
    pub interface: Option<String>,
    /// When it began, Unix time.
    pub began_unix_ns: Nanos,
    /// MTU between the ends of network trials, where it is known.
    pub path_mtu_bytes: Option<Bytes>,
    /// Sum of the last-level caches that the memory kernels' CPUs share.
    pub cache_bytes: Bytes,
    /// NUMA node that the memory kernels ran on, when the host has nodes.
    pub memory_node: Option<u32>,
}

/// Name and question of a study.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Title {
    /// Name of the study, as its definition has it.
    pub name: String,
    /// What it asks.
    pub about: String,
}

/// When to stop repeating.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

/// Sessions that a study is spread over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// How many sessions.
    pub sessions: u32,
    /// Minutes from the end of one to the start of the next, at least.
    pub apart_minutes: f64,
}

/// How a study wants to be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
}

/// How a study ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ended", rename_all = "kebab-case")]
pub enum Ended {
    /// Every planned run was made.
    Complete,
    /// Stopped by the user or by a fault; what was measured is kept.
    Interrupted {
        /// What stopped it, in words.
        why: String,
    },
}

/// One session of a study: from a start of narrows to its end, on one boot of one host. A study of
/// memory populations has one after each time that the machine was opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
                schema_version: crate::SCHEMA_VERSION,
                narrows_version: String::new(),
                command: "host".to_owned(),
                seed: 0,
                repeats: 0,
                path: NetworkPath::Memory,
                peer: None,
                title: None,
                reading: Reading::default(),
                precision: None,
                spread: None,
                quick: false,
                together: false,
                interface: None,
                began_unix_ns: Nanos(0),
                path_mtu_bytes: None,
                cache_bytes: Bytes(0),
                memory_node: None,
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

    /// A host by the name that it was reached by, else its number.
    pub fn host_name(&self, host: EndHost) -> String {
        let EndHost::Peer(at) = host else { return "this host".to_owned() };
        let names = self.study.peer.as_deref().unwrap_or_default();
        let name = names.split(", ").nth(at as usize).filter(|name| !name.is_empty());
        name.map_or_else(|| format!("peer {}", at + 1), str::to_owned)
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
    /// Runs that were planned.
    pub fn planned_runs(&self) -> usize {
        self.trials.len().saturating_mul(self.study.repeats as usize)
    }
}
