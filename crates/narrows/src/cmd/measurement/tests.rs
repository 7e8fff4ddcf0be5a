//! What command lines plan to measure between two known hosts, trial by trial.

use super::*;
use crate::args::{Args, Command, help};
use crate::cmd::{diagnose, direct, latency, peer_check, rdma};
use crate::kept;
use clap::FromArgMatches;
use narrows_model::Fact;
use std::fmt::Write;
use std::sync::{LazyLock, Mutex, PoisonError};

/// A host of so many CPUs, with another congestion control or without.
fn host(cpus: u32, controls: &str) -> Host {
    static READ: LazyLock<Host> = LazyLock::new(|| kept::stored("check-peer").host);
    let mut host = READ.clone();
    host.cpu.online = Fact::known((0..cpus).collect(), "test");
    let known = |value: &str| Fact::known(value.to_owned(), "test");
    host.tuning.insert("net.ipv4.tcp_congestion_control".into(), known("cubic"));
    host.tuning.insert("net.ipv4.tcp_available_congestion_control".into(), known(controls));
    host
}

/// The hosts, and what runs between them.
fn planned(measurement: &Measurement<'_>, hosts: &[Host]) -> Result<Vec<Trial>, Failure> {
    let sides = Sides {
        host: &hosts[0],
        peer_hosts: &hosts[1..],
        interface: Some("eth0"),
        round_trip: Duration::from_micros(150),
    };
    let params = measurement.params(largest_cache(&hosts[0], &hosts[1..]))?;
    let trials = measurement.trials(&params, NetworkPath::Peer, &sides)?;
    measurement.varied(trials, &sides)
}

/// What a command line asks for.
fn asked<T>(line: &str, then: impl FnOnce(&Measurement<'_>) -> T) -> T {
    // To make it takes longer than to read a line.
    static COMMAND: LazyLock<Mutex<clap::Command>> = LazyLock::new(|| help::command().into());
    let words = std::iter::once("narrows").chain(line.split(' '));
    let mut command = COMMAND.lock().unwrap_or_else(PoisonError::into_inner);
    let matches = command.try_get_matches_from_mut(words).unwrap_or_else(|why| panic!("{why}"));
    drop(command);
    let args = Args::from_arg_matches(&matches).expect("arguments");
    match &args.command {
        Command::Tcp(args) => then(&direct::of_tcp(args)),
        Command::Udp(args) => then(&direct::of_udp(args)),
        Command::Rdma(args) => then(&rdma::asked(args)),
        Command::Diagnose(args) => then(&diagnose::asked(args)),
        Command::Latency(args) => then(&latency::of_host(args, &latency::wanted(args))),
        Command::Check(args) => {
            let peer = peer_check::peer_of(args, "n1");
            then(&peer_check::asked(args, &peer))
        }
        _ => panic!("{line}"),
    }
}

fn of(line: &str) -> Result<Vec<Trial>, Failure> {
    let hosts = [host(2, "cubic bbr"), host(4, "cubic reno bbr"), host(4, "cubic")];
    asked(line, |measurement| planned(measurement, &hosts))
}

#[test]
fn a_measurement_is_named_by_its_command_and_its_load() {
    for (line, command, kind, runs) in [
        ("tcp n1", "tcp", "tcp-stream", 6),
        ("tcp n1 --rr --repeats 9", "tcp", "tcp-rr", 9),
        ("udp n1 --rr", "udp", "udp-rr", 6),
        ("rdma n1 --verb read --latency", "rdma", "rdma-read-rr", 6),
        ("latency n1", "latency", "udp-rr", 1),
        ("latency n1 --over tcp", "latency", "tcp-rr", 1),
        ("check --peer n1", "check-peer", "tcp-stream", 6),
        ("check --peer n1 --repeats 8", "check-peer", "tcp-stream", 8),
        ("diagnose n1", "diagnose", "tcp-stream", 6),
    ] {
        let is = asked(line, |of| {
            let Measurement { command, settings, peer, .. } = of;
            (command.as_str().to_owned(), settings.kind().to_string(), peer.repeats)
        });
        assert_eq!(is, (command.to_owned(), kind.to_owned(), runs), "{line}");
    }
}

/// What matters of a trial, in one line.
fn line(trial: &Trial) -> String {
    let json = |value: &dyn Fn() -> serde_json::Result<String>| value().expect("JSON");
    format!(
        "{} | {} | {} | {} | {}",
        trial.label,
        trial.kind,
        json(&|| serde_json::to_string(&trial.timeline)),
        json(&|| serde_json::to_string(&trial.params)),
        json(&|| serde_json::to_string(&trial.ends)),
    )
}

const LINES: &[&str] = &[
    "tcp n1",
    "tcp n1 -P 4 -R -t 2 -l 9000",
    "tcp n1 --bidirectional -i 0.5",
    "tcp n1 --rr -l 64",
    "tcp n1 --connect",
    "tcp n1 --copy-share",
    "tcp n1 --explain",
    "tcp n1 --explain -R",
    "tcp n1 --explain -P 4 --bitrate 100M",
    "tcp n1 -A 0,1",
    "tcp n1 -A 0,3 -P 2 -R",
    "tcp n1 n2 -A 0-1,2",
    "tcp n1 n2 -P 2",
    "tcp n1 n2 --explain",
    "tcp n1 n2 --copy-share",
    "tcp n1 n2 --pattern pair",
    "tcp n1 n2 -B eth0",
    "tcp n1 -B 198.51.100.7",
    "tcp n1 --memory-load read",
    "tcp n1 -A 0,9",
    "tcp n1 --iperf3 -P 2",
    "tcp n1 --in bwrap",
    "udp n1 -b 100M",
    "udp n1 -b 100M --explain",
    "udp n1 -b 100M -l 500 --explain",
    "udp n1 --rr",
    "rdma n1 --verb write",
    "rdma n1 --verb send --latency",
    "rdma n1 --all",
    "latency n1",
    "latency n1 --over tcp -P 2 --seconds 1 --interval 0.01",
    "latency n1 -B eth0",
    "check --peer n1",
    "check --peer n1 --explain --seconds 0.5",
    "diagnose n1",
    "diagnose n1 -R",
];

#[test]
fn command_lines_plan_what_was_found_right() {
    let mut text = String::new();
    for line_of in LINES {
        let _ = writeln!(text, "$ {line_of}");
        match of(line_of) {
            Ok(trials) => trials.iter().for_each(|trial| text += &format!("  {}\n", line(trial))),
            Err(why) => text += &format!("! {}\n", why.in_one_line()),
        }
    }
    kept::is_kept_text("planned", &text);
}

#[test]
fn those_that_send_are_told_by_the_direction() {
    let hosts = [host(2, "a"), host(4, "b"), host(4, "c")];
    let sides = Sides {
        host: &hosts[0],
        peer_hosts: &hosts[1..],
        interface: None,
        round_trip: Duration::ZERO,
    };
    let senders = |line: &str| {
        let trials = of(line).unwrap_or_else(|why| panic!("{}", why.says()));
        let cpus = |host: &&Host| host.cpu.online.value().map_or(0, Vec::len);
        sides.senders(&trials[0].params).iter().map(cpus).collect::<Vec<usize>>()
    };
    assert_eq!(senders("tcp n1"), [2], "this host's");
    assert_eq!(senders("tcp n1 -R"), [4], "the first peer's");
    assert_eq!(senders("tcp n1 --bidirectional"), [4, 2]);
}

#[test]
fn an_end_of_a_host_that_says_nothing_may_have_any_cpu() {
    let local = CpuList(vec![1]);
    let at = |at: Where, peer: Option<&Host>| {
        remote_cpus(at, &local, peer).map(|cpus| cpus.0).map_err(|why| why.says().to_owned())
    };
    let peer = host(4, "cubic");
    assert_eq!(at(Where::SameCore, None), Ok(vec![1]));
    assert_eq!(at(Where::Cpus(vec![7]), None), Ok(vec![7]));
    assert_eq!(at(Where::Cpus(vec![3]), Some(&peer)), Ok(vec![3]));
    assert!(at(Where::Cpus(vec![7]), Some(&peer)).is_err(), "it has four");
    let says = at(Where::Node(0), None).expect_err("unknown");
    assert_eq!(says, "-A: the other side does not describe itself");
}

#[test]
fn the_largest_cache_is_that_of_any_host() {
    let sized = |bytes: u64| {
        let mut host = host(2, "cubic");
        for cache in &mut host.cpu.caches {
            cache.size_bytes = Bytes(bytes);
        }
        host
    };
    let all = [sized(1 << 20), sized(3 << 20), sized(2 << 20)];
    assert_eq!(largest_cache(&all[0], &all[1..]), all[1].last_level_cache_bytes());
    assert_eq!(largest_cache(&all[1], &[]), all[1].last_level_cache_bytes());
    assert!(all[1].last_level_cache_bytes() > all[0].last_level_cache_bytes());
}

#[test]
fn interrupts_are_steered_only_where_there_are_some() {
    let steered = steer_interrupts(None, None).map(|guard| guard.is_none());
    assert!(matches!(steered, Ok(true)), "nothing was asked for");
    let none = steer_interrupts(Some(&CpuList(vec![0])), None).map(drop).expect_err("no NIC");
    assert_eq!(none.says(), "--irq: the interface to the peer is not known");
    let nic = Nic { name: "eth7".into(), ..Nic::default() };
    let none = steer_interrupts(Some(&CpuList(vec![0])), Some(&nic)).map(drop).expect_err("none");
    assert_eq!(none.says(), "--irq: eth7 has no interrupts of its own");
}
