//! Messages between two MPI ranks, one here and one at the peer: `narrows mpi`, which the launcher
//! of the installed MPI starts on both hosts. It reaches the other as it is set up to, by ssh as a
//! rule; an agent is not asked.

use super::words::Takes;
use super::{Engine, Runs};
use narrows_model::workload::Workload;
use std::borrow::Cow::Borrowed;
use std::time::Duration;

/// How long the launcher has to start ranks on both hosts, by ssh to one that may be slow.
pub const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// The patterns, by the words of their workloads.
const PATTERNS: [(&str, Workload); 3] = [
    ("pingpong", Workload::Other(Borrowed("mpi-latency"))),
    ("bandwidth", Workload::Other(Borrowed("mpi-bandwidth"))),
    ("both-ways", Workload::Other(Borrowed("mpi-bi-directional-bandwidth"))),
];
const KINDS: &[Workload] = &[
    Workload::Other(Borrowed("mpi-latency")),
    Workload::Other(Borrowed("mpi-bandwidth")),
    Workload::Other(Borrowed("mpi-bi-directional-bandwidth")),
];

/// How the ranks are started, and what they tell.
pub static ENGINE: Engine = Engine {
    name: "mpi",
    program: |_| "mpirun",
    runs: Runs::Ranks,
    package: "openmpi-bin",
    kinds: KINDS,
    port: 0,
    server: |_, _| Vec::new(),
    client: |trial, address, port| {
        let pattern = PATTERNS.iter().find(|(_, kind)| *kind == trial.kind);
        let window = trial.timeline.window_ns.seconds();
        let mut all = vec!["mpi".to_owned(), pattern.map_or("", |(name, _)| name).to_owned()];
        all.extend(["--sizes".to_owned(), trial.params.message_bytes.0.to_string()]);
        all.extend(["-t".to_owned(), window.to_string()]);
        let limit = (2.0 * window).ceil() + STARTS_WITHIN.as_secs_f64();
        all.extend(["--limit".to_owned(), limit.to_string()]);
        all.extend((ENGINE.reach)(address, port));
        all.extend(trial.engine.iter().flat_map(|engine| engine.client.clone()));
        all
    },
    client_words: &[(Takes::Fabric, &["--fabric"]), (Takes::Number, &["--messages"])],
    server_words: &[],
    reach: |address, _| {
        let hosts = format!("localhost,{address}");
        ["--hosts", &hosts, "--repeats", "1", "--passing"].map(str::to_owned).to_vec()
    },
};
