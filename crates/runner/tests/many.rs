//! Ends at agents that meet each other, over loopback: this test's binary is the agents' worker.
//! The controller's own worker is a program that does not exist, so that a run in which it carried
//! data fails.

#[path = "../../control/tests/common/mod.rs"]
mod common;
#[path = "common/unharnessed.rs"]
mod unharnessed;

use narrows_control::Peer;
use narrows_control::key::Key;
use narrows_control::limits::Limits;
use narrows_control::wire::Patience;
use narrows_hostctl::container::Launcher;
use narrows_model::load::{Params, Role, StreamParams, Timeline};
use narrows_model::record::{Outcome, Record};
use narrows_model::trial::{EndHost, EndSpec, NetworkPath, Placement, Trial};
use narrows_model::{Bytes, Nanos};
use narrows_plan::{Step, trial};
use narrows_runner::controller::{Controller, Ends};
use narrows_runner::worker;
use std::io::{stdin, stdout};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const WINDOW: Nanos = Nanos::from_millis(400);

fn binary() -> PathBuf {
    std::env::current_exe().expect("own path")
}

fn address(agent: u8) -> IpAddr {
    Ipv4Addr::new(127, 0, 0, 11 + agent).into()
}

fn network(streams: u32) -> Params {
    Params { rate_bps: Some(64_000_000), ..Params::of_network(Bytes(1000), streams) }
}

fn reverse(params: Params) -> Params {
    Params { stream: Some(StreamParams { reverse: true, ..StreamParams::default() }), ..params }
}

/// A trial of pairs, each a sender's agent and a receiver's.
fn of_pairs(kind: &str, params: Params, pairs: &[(u32, u32)]) -> Trial {
    let end = |role, peer| EndSpec::of(role, EndHost::Peer(peer), Placement::default());
    let ends = |(from, to): &(u32, u32)| [end(Role::Sender, *from), end(Role::Receiver, *to)];
    let timeline = Timeline {
        warmup_ns: Nanos::from_millis(200),
        window_ns: WINDOW,
        cooldown_ns: Nanos::from_millis(200),
        interval_ns: None,
    };
    let ends = pairs.iter().flat_map(ends).collect();
    trial(kind, kind.into(), params, ends, NetworkPath::Peer, timeline)
}

/// Serves three agents, each within its limits, while `with` has a connection to each.
fn at_agents(limits: [Limits; 3], with: impl FnOnce(&mut Vec<Option<Peer>>)) {
    let key = Key::random().expect("a key");
    let stop = Arc::new(AtomicBool::new(false));
    let (mut serving, mut peers) = (Vec::new(), Vec::new());
    for (agent, limits) in (0..).zip(limits) {
        let at = address(agent);
        let agent = common::agent(Some(at), &key, binary(), limits, Patience::default());
        let (port, stop) = (agent.port(), Arc::clone(&stop));
        serving.push(thread::spawn(move || agent.serve(&stop, |_| {})));
        let mut peer = Peer::connect(&at.to_string(), port, None, &key).expect("a connection");
        peer.describe().expect("a host");
        peers.push(Some(peer));
    }
    with(&mut peers);
    drop(peers);
    stop.store(true, SeqCst);
    serving.into_iter().for_each(|serving| serving.join().expect("an agent"));
}

/// An owner who lets ends meet those of all agents of this test.
fn open() -> Limits {
    Limits { peers: vec!["127.0.0.0/24".parse().expect("net")], ..Limits::default() }
}

fn run(peers: &mut [Option<Peer>], trial: &Trial) -> Record {
    let stop = AtomicBool::new(false);
    let launcher = Launcher::plain("/no/such/program".into());
    let mut controller = Controller {
        launcher,
        ends: Ends::Peers(peers),
        together: false,
        stop: &stop,
        onlooker: None,
    };
    let step = Step { trial: 0, repeat: 0, block: 0 };
    let records = controller.measure(std::slice::from_ref(trial), &step);
    let Ok([record]) = records.as_deref() else { panic!("no record") };
    record.clone()
}

fn why(record: &Record) -> &str {
    let Outcome::Failed { why, .. } = &record.outcome else { panic!("it ran: {record:?}") };
    why
}

fn two_agents_send_to_a_third() {
    let fan_in = [(0, 2), (1, 2)];
    let ring = [(0, 1), (1, 2), (2, 0)];
    let trials = [
        of_pairs("tcp-stream", network(2), &fan_in),
        of_pairs("udp-stream", network(1), &fan_in),
        of_pairs("tcp-stream", reverse(network(1)), &fan_in),
        of_pairs("tcp-stream", network(1), &ring),
    ];
    at_agents([open(), open(), open()], |peers| {
        for (trial, pairs) in trials.iter().zip([2, 2, 2, 3]) {
            let record = run(peers, trial);
            assert_eq!(record.outcome, Outcome::Done, "{}", trial.label);
            assert_eq!(record.reports.len(), 2 * pairs);
            for (end, one) in trial.ends.iter().zip(&record.reports) {
                assert_eq!(one.role, end.role);
                let bytes: u64 = one.report.flows.iter().map(|flow| flow.bytes.0).sum();
                assert!(bytes > 0 && one.report.window_ns >= WINDOW, "{one:?}");
                let span = one.span.expect("when it was");
                assert!(span.close_from_ns > WINDOW, "after the warm-up");
            }
            let text = serde_json::to_string(&record).expect("text");
            let stored: Record = serde_json::from_str(&text).expect("a record");
            assert_eq!(stored, record, "the ends keep their order");
        }
    });
}

fn owners_decide_who_meets_whom() {
    let trial = of_pairs("tcp-stream", network(1), &[(0, 2), (1, 2)]);
    at_agents([open(), open(), Limits::default()], |peers| {
        let record = run(peers, &trial);
        let says = why(&record);
        assert!(says.contains("receiver at 127.0.0.13") && says.contains("--peers"), "{says}");
    });
    let near = Limits { peers: vec!["127.0.0.11".parse().expect("net")], ..Limits::default() };
    at_agents([open(), near.clone(), open()], |peers| {
        let record = run(peers, &trial);
        let says = why(&record);
        assert!(says.contains("sender at 127.0.0.12") && says.contains("127.0.0.13"), "{says}");
    });
    let few = Limits { streams: Some(1), ..open() };
    at_agents([open(), open(), few], |peers| {
        let record = run(peers, &trial);
        let says = why(&record);
        assert!(says.contains("2 flows, at most 1"), "for both ends together: {says}");
    });
}

/// Kills the worker with the highest process id, once there are so many of them.
fn kill_last_worker(many: usize) {
    let own = std::process::id();
    let children = || std::fs::read_dir(format!("/proc/{own}/task")).into_iter().flatten();
    let of = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children")).ok();
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        let pids: String = children().flatten().filter_map(of).collect();
        let mut pids: Vec<i32> = pids.split_whitespace().flat_map(str::parse).collect();
        pids.sort();
        if let (Some(last), true) = (pids.last(), pids.len() >= many) {
            let done = Command::new("kill").args(["-9", &last.to_string()]).status();
            assert!(done.expect("kill").success());
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("no {many} workers in a minute");
}

fn an_end_that_dies_is_named() {
    let trial = of_pairs("tcp-stream", network(1), &[(0, 2), (1, 2)]);
    at_agents([open(), open(), open()], |peers| {
        let killer = thread::spawn(|| kill_last_worker(4));
        let record = run(peers, &trial);
        killer.join().expect("killed");
        let says = why(&record).to_owned();
        assert!(says.contains(" at 127.0.0.1"), "{says}");
        // Nothing of it is left in the way of the next run.
        assert_eq!(run(peers, &trial).outcome, Outcome::Done);
    });
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("worker") {
        return worker::serve(stdin().lock(), stdout()).expect("a worker");
    }
    let tests: &[(&str, fn())] = &[
        ("two_agents_send_to_a_third", two_agents_send_to_a_third),
        ("owners_decide_who_meets_whom", owners_decide_who_meets_whom),
        ("an_end_that_dies_is_named", an_end_that_dies_is_named),
    ];
    unharnessed::run_all(tests);
}
