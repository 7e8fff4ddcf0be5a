//! Studies whose runs carry figures of their own, so that what is made of them can be had by hand.

#![allow(dead_code, reason = "not every test needs every sort of run")]

use narrows_model::host::Host;
use narrows_model::load::{EndReport, FlowTally, Params, Role, Stretch, StretchOf, Timeline};
use narrows_model::record::{External, Fault, Figure, Outcome, Record, Reported, Stage, Stamp};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndHost, EndSpec, NetworkPath, Placement, Trial, TrialId};
use narrows_model::units::Unit;
use narrows_model::{Bytes, Nanos};

pub fn trial(kind: &str, id: &str) -> Trial {
    Trial {
        id: TrialId(id.into()),
        label: id.into(),
        kind: kind.into(),
        params: Params::of_network(Bytes(1000), 1),
        ends: EndSpec::anywhere(false),
        path: NetworkPath::Peer,
        timeline: Timeline {
            warmup_ns: Nanos(0),
            window_ns: Nanos(1_000_000_000),
            cooldown_ns: Nanos(0),
            interval_ns: None,
        },
        levels: Vec::new(),
        notes: Vec::new(),
        engine: None,
    }
}

pub fn record(trial: &Trial, block: u32, reports: Vec<Reported>) -> Record {
    Record {
        trial: trial.id.clone(),
        repeat: block,
        block,
        outcome: Outcome::Done,
        reports,
        around: Stamp::default(),
        session: 0,
        external: None,
    }
}

/// A run that another tool states the figure of.
pub fn told(trial: &Trial, block: u32, value: f64, unit: Unit) -> Record {
    let external = External {
        tool: "told".into(),
        version: None,
        command: None,
        file: None,
        figures: vec![Figure { name: "told".into(), value, unit }],
        output: String::new(),
        client: None,
        packets: None,
    };
    Record { external: Some(external), ..record(trial, block, Vec::new()) }
}

pub fn failed(trial: &Trial, block: u32, why: &str) -> Record {
    let outcome = Outcome::Failed { at: Stage::Run, why: why.into(), fault: Fault::default() };
    Record { outcome, ..record(trial, block, Vec::new()) }
}

pub fn study(trials: Vec<Trial>, records: Vec<Record>) -> StoredStudy {
    StoredStudy { trials, records, ..StoredStudy::unmeasured(Host::default()) }
}

/// A stream from one agent to another.
pub fn pair(kind: &str, from: u32, to: u32) -> Trial {
    let end = |role, host| EndSpec::of(role, EndHost::Peer(host), Placement::default());
    let ends = vec![end(Role::Receiver, to), end(Role::Sender, from)];
    Trial { ends, ..trial(kind, &format!("{from}-{to}")) }
}

/// Both ends of a run that sent so many datagrams in half a second, of which so many came.
pub fn datagrams(sent: u64, came: u64) -> Vec<Reported> {
    let end = |sends, datagrams| EndReport {
        window_ns: Nanos(500_000_000),
        flows: vec![FlowTally {
            sends,
            bytes: Bytes(1000 * datagrams),
            messages: datagrams,
            stretch: Some(Stretch { of: StretchOf::SenderWindow, datagrams }),
            ..FlowTally::default()
        }],
        ..EndReport::default()
    };
    Reported::list(Some(Box::new(end(false, came))), Some(Box::new(end(true, sent))), None)
}
