//! What is run, and for how long.

use super::{Command, Declared, Flag, Form, Kept, Opt, Takes, Unset, Value, fits};

const OLD: Declared = Declared { unset: Unset::Null, ..Declared::PLAIN };

/// The workload: `tcp-stream`, `udp-rr`, `memory-copy`, ...
pub static LOAD: Opt<String> = Opt::new(Declared {
    key: "load",
    takes: Takes::Text(Form::Any),
    help: "The workload: tcp-stream, udp-rr, memory-copy and so on; without it tcp-stream",
    ..OLD
});

/// The outside tool that makes the load.
pub static ENGINE: Opt<String> = Opt::new(Declared {
    key: "engine",
    takes: Takes::Text(Form::Any),
    help: "The outside tool that makes the load in place of narrows",
    flags: &[Flag {
        long: "engine",
        value: "TOOL",
        on: &[Command::Packets],
        help: Some(
            "Have another generator send in place of narrows, between two namespaces or two ports: \
             pktgen, testpmd, testpmd-af-xdp or trafgen; what comes is counted here, beside what \
             it says it sent",
        ),
        ..Flag::PLAIN
    }],
    ..OLD
});

/// Words for the tool's client.
pub static ENGINE_CLIENT: Opt<String> = Opt::new(Declared {
    key: "engine_client",
    takes: Takes::Text(Form::Any),
    help: "Words for the tool's client, in place of those that follow from the other options",
    ..OLD
});

/// Words for the tool's server.
pub static ENGINE_SERVER: Opt<String> = Opt::new(Declared {
    key: "engine_server",
    takes: Takes::Text(Form::Any),
    help: "Words for the tool's server, in addition to those that it needs",
    ..OLD
});

/// Ranks over both hosts: more of a study make more of a launch than two hosts are for.
const RANKS_MAX: u64 = 1024;

/// Ranks that the launcher of an MPI starts.
pub static RANKS: Opt<u32> = Opt::new(Declared {
    key: "ranks",
    takes: Takes::Number(2, RANKS_MAX),
    help: "Ranks that the launcher starts over both hosts, half of them on each; without it 2. \
           Patterns of one pair leave the others waiting",
    fits: fits::MPI,
    kept: Kept::Key,
    shown: |value, _| Some(format!("{value} ranks")),
    capability: Some("ranks"),
    ..Declared::PLAIN
});

/// Seconds of a window: below 0.05 it says little of a stream, and with the longest warm-up the
/// longest stays well within the hour that an agent gives a run.
const WINDOW_SECONDS: Takes = Takes::Seconds(0.05, 2400.0);
/// Seconds of a warm-up; 0 for runs whose first message counts.
const WARM_UP_SECONDS: Takes = Takes::Seconds(0.0, 600.0);

/// Length of the window that counts.
pub static SECONDS: Opt<f64> = Opt::new(Declared {
    key: "seconds",
    takes: WINDOW_SECONDS,
    help: "Seconds that count in each run",
    flags: &[
        Flag {
            on: &[Command::Tcp, Command::Udp],
            letter: Some('t'),
            default: None,
            help: Some(
                "Seconds that count in each run: 1.5, and for round trips over a long path \
                enough for a median",
            ),
            ..SECONDS_FLAG
        },
        Flag { on: &[Command::Packets], letter: Some('t'), ..SECONDS_FLAG },
        Flag { on: &[Command::Rdma], letter: Some('D'), ..SECONDS_FLAG },
        Flag { on: &[Command::Diagnose], letter: Some('t'), default: Some("0.4"), ..SECONDS_FLAG },
        Flag { on: &[Command::Mem], letter: Some('t'), default: None, ..SECONDS_FLAG },
    ],
    ..OLD
});

const SECONDS_FLAG: Flag =
    Flag { long: "seconds", value: "SECONDS", default: Some("1.5"), ..Flag::PLAIN };

/// Length of what comes before the window.
pub static WARMUP_SECONDS: Opt<f64> = Opt::new(Declared {
    key: "warmup_seconds",
    takes: WARM_UP_SECONDS,
    help: "Seconds before those, which do not count",
    flags: &[
        Flag {
            on: &[Command::Tcp, Command::Udp],
            help: Some(
                "Seconds before those, which do not count: 0.5, against an iperf3 server 1 (TCP). \
                 A slow or lossy path needs more, until TCP has found its rate",
            ),
            ..WARM_UP_FLAG
        },
        Flag { on: &[Command::Rdma, Command::Packets], ..WARM_UP_FLAG },
    ],
    ..OLD
});

const WARM_UP_FLAG: Flag = Flag { long: "warm-up", value: "SECONDS", ..Flag::PLAIN };

/// Whether the ends sample where their CPU time goes.
pub static PROFILE: Opt<bool> = Opt::new(Declared {
    key: "profile",
    help: "Sample where the CPU time of both ends goes: by class (copy, TCP/IP, driver and so \
           on), by function, and as a flame graph in the report. Sampling needs CAP_PERFMON, or \
           kernel.perf_event_paranoid at 1 or below; an agent needs `narrows serve --profile`",
    flags: &[Flag {
        on: &[Command::Tcp, Command::Udp, Command::Rdma, Command::Mem, Command::Packets],
        long: "profile",
        ..Flag::PLAIN
    }],
    kept: Kept::Key,
    shown: |_, _| Some("profiled".to_owned()),
    capability: Some("profile"),
    ..Declared::PLAIN
});

/// The longest that an end may wait before it begins: well within what an agent gives a worker
/// beside its time line.
const AFTER_SECONDS_MAX: f64 = 120.0;

/// How long the ends wait after the word to go. Such a load is one beside others: it stops when its
/// own time line ends, and not when all windows are over.
pub static AFTER: Opt<f64> = Opt::new(Declared {
    key: "after_seconds",
    takes: Takes::Seconds(0.0, AFTER_SECONDS_MAX),
    help: "Seconds from the signal to go until the load begins; it then ends by itself, whatever \
           runs beside it",
    fits: fits::NETWORK,
    kept: Kept::Key,
    shown: |value, _| match value {
        Value::Seconds(seconds) => Some(format!("begins after {seconds} s")),
        _ => None,
    },
    capability: Some("after"),
    ..Declared::PLAIN
});
