//! A trial with nothing special, which tests give ends, levels and notes.

use narrows_model::load::{Params, Timeline};
use narrows_model::trial::{EndSpec, Level, NetworkPath, Trial, TrialId};
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Nanos};

/// A stream to a peer, of this id.
pub fn trial(id: &str, ends: Vec<EndSpec>, levels: &[(&str, &str)]) -> Trial {
    let level = |(factor, level): &(&str, &str)| Level {
        factor: (*factor).to_owned(),
        level: (*level).to_owned(),
    };
    Trial {
        id: TrialId(id.to_owned()),
        label: "tcp-stream".to_owned(),
        kind: Workload::TCP_STREAM,
        params: Params::of_network(Bytes::kib(64), 1),
        ends,
        path: NetworkPath::Peer,
        timeline: Timeline::new(Nanos(0), Nanos(1), Nanos(0)),
        levels: levels.iter().map(level).collect(),
        notes: Vec::new(),
        engine: None,
    }
}
