//! Hosts and sessions of studies of memory, and studies of planted figures.
#![allow(dead_code)]

use narrows_model::host::{Host, Module, Slot, SlotPlace};
use narrows_model::load::{Params, Timeline};
use narrows_model::record::{External, Figure, Outcome, Record, Stamp};
use narrows_model::study::{Found, Session, StoredStudy};
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{EndSpec, Level, NetworkPath, Trial, TrialId};
use narrows_model::units::Unit;
use narrows_model::{Bytes, Fact, Nanos};

/// A processor with two controllers of three channels; `modules` in the channels.
pub fn host(modules: [u64; 6]) -> Host {
    let mut host = Host::default();
    let model = "Intel(R) Xeon(R) Platinum 8280 CPU @ 2.70GHz";
    host.cpu.model = Fact::known(model.to_owned(), "planted");
    let slot = |(channel, size): (usize, u64)| {
        let module = Module {
            size_bytes: Some(Bytes::gib(size)),
            is_dram: true,
            configured_mts: Some(2933),
            ..Module::default()
        };
        let at = SlotPlace { socket: 0, channel: channel.to_string().into(), controller: None };
        Slot { at: Some(at), module: (size > 0).then_some(module), ..Slot::default() }
    };
    let slots = modules.into_iter().enumerate().map(slot).collect();
    host.memory.slots = Fact::known(slots, "planted");
    host
}

/// A session on a host, at a level of `dimms`.
pub fn session(number: u32, level: &str, host: Host) -> Session {
    let found = Found { level: level.to_owned(), read: true };
    Session {
        number,
        began_unix_ns: Nanos(0),
        narrows_version: String::new(),
        host,
        peer_hosts: Vec::new(),
        path: NetworkPath::Memory,
        levels: [("dimms".to_owned(), found)].into_iter().collect(),
        cannot: Default::default(),
        ended: None,
    }
}

/// A study of cells along one factor, each with so many runs around its median, spread over 2 %.
pub fn study(across: &str, medians: &[f64], runs: u32, recommend: Option<bool>) -> StoredStudy {
    let mut study = StoredStudy::unmeasured(Host::default());
    study.study.command = StudyKind::Study;
    study.study.reading.recommend = recommend;
    for (at, median) in medians.iter().enumerate() {
        let none = Nanos(0);
        let trial = Trial {
            id: TrialId(at.to_string()),
            label: format!("{across} {}", at + 1),
            kind: "tcp-stream".into(),
            params: Params::of_network(Bytes(0), 1),
            ends: EndSpec::anywhere(false),
            path: NetworkPath::Peer,
            timeline: Timeline {
                warmup_ns: none,
                window_ns: none,
                cooldown_ns: none,
                interval_ns: None,
            },
            levels: vec![Level { factor: across.into(), level: (at + 1).to_string() }],
            notes: Vec::new(),
            engine: None,
        };
        let record = |repeat: u32| {
            let spread = 0.99 + 0.02 * f64::from(repeat * 7 % runs) / f64::from(runs);
            let value = median * spread * 1e9;
            Record {
                trial: trial.id.clone(),
                repeat,
                block: repeat,
                outcome: Outcome::Done,
                reports: Vec::new(),
                around: Stamp::default(),
                session: 0,
                external: Some(External {
                    tool: "x".into(),
                    version: None,
                    command: None,
                    file: None,
                    figures: vec![Figure {
                        name: "received".into(),
                        value,
                        unit: Unit::BitsPerSecond,
                    }],
                    output: String::new(),
                    client: None,
                    packets: None,
                }),
            }
        };
        study.records.extend((0..runs).map(record));
        study.trials.push(trial);
    }
    study
}
