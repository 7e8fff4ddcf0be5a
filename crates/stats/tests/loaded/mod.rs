//! Round trips beside streams, whose every time is known.

use narrows_model::host::Host;
use narrows_model::load::{EndReport, Params, Role, StreamParams, Timeline};
use narrows_model::options::{runs, trips};
use narrows_model::record::{Outcome, Record, Reported, Stamp};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndSpec, NetworkPath, Trial, TrialId};
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Nanos};

pub const MS: u64 = 1_000_000;
/// The window of the round trips opened then, by the host's clock.
pub const OPENED: u64 = 77_000 * MS;
/// Seconds of a phase, and of the moments between.
pub const PHASE_MS: u64 = 5000;
pub const SETTLE_MS: u64 = 1000;

pub fn trial(label: &str, kind: Workload, reverse: bool) -> Trial {
    let mut params = Params::of_network(Bytes(64), 1);
    if kind.is_round_trip() {
        params.told.tell(&trips::OVERLAP, true);
    } else {
        params.told.tell(&runs::AFTER, 1.0);
        params.stream = Some(StreamParams { reverse, ..StreamParams::default() });
    }
    let settle = if kind.is_round_trip() { 0 } else { SETTLE_MS * MS };
    Trial {
        id: TrialId(label.into()),
        label: label.into(),
        kind,
        params,
        ends: EndSpec::anywhere(reverse),
        path: NetworkPath::Peer,
        timeline: Timeline::new(Nanos(settle), Nanos(1), Nanos(0)),
        levels: Vec::new(),
        notes: Vec::new(),
        engine: None,
    }
}

/// A run of the trial whose window at this host was then, from the opening of the round trips'.
pub fn record(trial: &Trial, repeat: u32, (from_ms, until_ms): (u64, u64)) -> Record {
    let report = EndReport {
        opened_ns: Nanos(OPENED + from_ms * MS),
        window_ns: Nanos((until_ms - from_ms) * MS),
        ..EndReport::default()
    };
    // The far end's clock is another.
    let far = EndReport { opened_ns: Nanos(5), ..report.clone() };
    let here = if trial.params.is_reverse() { Role::Receiver } else { Role::Sender };
    let there = if trial.params.is_reverse() { Role::Sender } else { Role::Receiver };
    let of = |role, report| Reported { role, report: Box::new(report), span: None };
    Record {
        trial: trial.id.clone(),
        repeat,
        block: repeat,
        outcome: Outcome::Done,
        reports: vec![of(here, report), of(there, far)],
        around: Stamp::default(),
        session: 0,
        external: None,
    }
}

/// What a round trip takes that is due then, in milliseconds.
pub type Took = fn(u64) -> Option<u64>;

/// Phases of 5 s: idle to 5, up from 6, both from 12, down from 18, after from 24, each 5 s.
pub fn study(repeats: u32, took_ms: Took) -> StoredStudy {
    let trials = vec![
        trial("round trips", Workload::UDP_RR, false),
        trial("streams up", Workload::TCP_STREAM, false),
        trial("streams down", Workload::TCP_STREAM, true),
    ];
    let step = PHASE_MS + SETTLE_MS;
    let mut records = Vec::new();
    for repeat in 0..repeats {
        let mut probe = record(&trials[0], repeat, (0, 5 * PHASE_MS + 4 * SETTLE_MS));
        let sender = probe.of_mut(Role::Sender).next().expect("a sender");
        let due = (0..sender.window_ns.0 / MS).step_by(5);
        let ms = |ms: u64| Nanos(ms * MS);
        sender.each_round_trip = due.map(|at| (ms(at), took_ms(at).map(ms))).collect();
        records.push(probe);
        records.push(record(&trials[1], repeat, (step, step + 2 * PHASE_MS + SETTLE_MS)));
        records.push(record(&trials[2], repeat, (2 * step, 2 * step + 2 * PHASE_MS + SETTLE_MS)));
    }
    let mut study = StoredStudy { trials, records, ..StoredStudy::unmeasured(Host::default()) };
    study.study.repeats = repeats;
    study
}

/// 2 ms idle, 92 up, 122 both ways, 12 down; a second each of nonsense between.
pub fn known(at: u64) -> Option<u64> {
    Some(match at {
        0..5000 | 24_000.. => 2,
        6000..11_000 => 92,
        12_000..17_000 => 122,
        18_000..23_000 => 12,
        _ => 7000,
    })
}
