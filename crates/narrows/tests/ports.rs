//! Two ports of this host that a cable joins: a veth pair whose ends are both in one namespace,
//! which is gone with the command.

mod common;

use common::starved::patiently;
use common::{err, fails, folder, is_root, narrows, out, run, skip};
use serde_json::Value;
use std::process::{Command, Output};

/// Makes the ports, and lets what follows run between them.
const JOINED: &str = "ip link set lo up && ip link add p0 type veth peer name p1 && \
                      ip link set p0 up && ip link set p1 up && ";

/// A command in a namespace of its own, after these lines of a shell.
fn inside(lines: &str, words: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["-n", "sh", "-c", &format!("{lines} exec \"$0\" \"$@\"")]);
    command.arg(env!("CARGO_BIN_EXE_narrows")).args(words.split_whitespace());
    command.env_remove("NARROWS_KEY");
    command
}

fn packets(words: &str) -> Command {
    inside(JOINED, &format!("packets --nic p0,p1 {words}"))
}

fn can_make_ports(test: &str) -> bool {
    let made = Command::new("unshare").args(["-n", "sh", "-c", &format!("{JOINED} true")]).output();
    let can = is_root() && made.is_ok_and(|made| made.status.success());
    if !can {
        skip(test, "needs root and ip(8) for a veth pair");
    }
    can
}

fn json(output: &Output) -> Value {
    let failed = |error| panic!("{error}: {}\n{}", out(output), err(output));
    serde_json::from_str(&out(output)).unwrap_or_else(failed)
}

fn figure(of: &Value, key: &str) -> f64 {
    of[key].as_f64().unwrap_or_else(|| panic!("{key}: {of}"))
}

/// Each port sends to the other at once by each raw way: all packets come, and both ends of a
/// direction and their interfaces count them, by itself and in sum.
#[test]
fn two_ports_send_to_each_other_at_once() {
    if !can_make_ports("two_ports") {
        return;
    }
    patiently("two_ports", || {
        for (sender, receiver) in
            [("xdp", "xdp"), ("af-xdp", "af-xdp"), ("ring", "ring"), ("xdp", "ring")]
        {
            let words = format!(
                "--sender {sender} --receiver {receiver} --rate 3k -t 0.5 --repeats 1 -J --out"
            );
            let output = run(packets(&words).arg(folder("ports")));
            assert_eq!(output.status.code(), Some(0), "{sender}, {receiver}: {}", err(&output));
            let result = &json(&output)["results"][0];
            assert_eq!(result["path"], "cable", "{result}");
            let all = figure(&result["estimate"], "value");
            let least = if sender == "xdp" { 400.0 } else { 4000.0 };
            assert!((least..=6600.0).contains(&all), "{sender}, {receiver}: {all}");
            let ways = result["directions"].as_array().expect("both directions");
            let names = ways.iter().map(|way| [way["from"].clone(), way["to"].clone()]);
            let names: Vec<[Value; 2]> = names.collect();
            assert_eq!(names, [["p0", "p1"], ["p1", "p0"]].map(|way| way.map(Value::from)));
            let mut sum = 0.0;
            for way in ways {
                let [sent, came, left, arrived] =
                    ["sent_packets", "received_packets", "out_packets", "in_packets"]
                        .map(|key| figure(way, key));
                assert_eq!(sent, came, "nothing is lost: {way}");
                let half = (least / 4.0)..=1650.0;
                assert!(half.contains(&sent), "half a second of each direction: {way}");
                // The ports' counters are read beside the window's edges, on a busy machine
                // milliseconds from them: a slot of 20 ms at each.
                let edges = 2.0 * 0.02 * 3000.0;
                let seen = left + edges >= sent && arrived + edges >= came;
                assert!(seen, "the ports see them all: {way}");
                assert!(left <= 1.5 * sent + 200.0, "and little else: {way}");
                sum += figure(&way["estimate"], "value");
            }
            assert!((sum / all - 1.0).abs() < 0.02, "the figure is their sum: {sum} and {all}");
            assert_eq!(result["loss"]["lost_datagrams"], 0, "{result}");
            assert_eq!(result["loss"]["duplicate_datagrams"], 0, "{result}");
            let verdict = &result["reconciled"][0]["verdict"]["verdict"];
            assert_eq!(verdict, "agrees", "{}", result["reconciled"]);
        }
    });
}

/// What one direction loses is that direction's, and none of the other's.
#[test]
fn a_loss_is_of_its_own_direction() {
    if !can_make_ports("ports_loss") {
        return;
    }
    let drops = "nft add table netdev t && nft add chain netdev t c \
                 '{ type filter hook ingress device p1 priority 0 ; }' && \
                 nft add rule netdev t c udp length 26 limit rate over 1000/second drop && ";
    let lines = format!("{JOINED} {drops}");
    let tried = Command::new("unshare").args(["-n", "sh", "-c", &format!("{lines} true")]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        return skip("ports_loss", "nft is not there");
    }
    patiently("ports_loss", || {
        // A ring of IPv4 packets is behind the filter.
        let words = "packets --nic p0,p1 --sender ring --receiver ring --rate 4k -t 0.5 \
                     --repeats 1 -J --out";
        let output = run(inside(&lines, words).arg(folder("ports-loss")));
        let ways = &json(&output)["results"][0]["directions"];
        let lost = |way: &Value| {
            let [sent, came] = ["sent_packets", "received_packets"].map(|key| figure(way, key));
            1.0 - came / sent
        };
        assert_eq!(lost(&ways[1]), 0.0, "{ways}");
        assert!((0.55..0.9).contains(&lost(&ways[0])), "three quarters are dropped: {ways}");
    });
}

/// The search for the highest rate without loss, and the buffer of a burst: each direction's.
#[test]
fn searches_go_both_ways_over_the_cable() {
    if !can_make_ports("ports_search") {
        return;
    }
    patiently("ports_search", || {
        let words = "--sender ring --receiver ring --zero-loss --rate 4k --loss 20 \
                     --resolution 50 --runs-max 12 -t 0.3 -J --out";
        let output = run(packets(words).arg(folder("ports-search")));
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let searched = &json(&output)["searches"][0];
        let passes = figure(searched, "passes_packets_per_second");
        // Known to two steps of a quarter, of each direction: two below 4,000 are 2,560.
        assert!((2560.0..=4000.0).contains(&passes), "of each direction: {searched}");
        let words = "--back-to-back 40 --sender ring --rate max --throughput 5k --resolution 50 \
                     --runs-max 8 -t 0.5 -J --out";
        let output = run(packets(words).arg(folder("ports-bursts")));
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let searched = &json(&output)["searches"][0];
        assert!(figure(searched, "passes_frames") >= 25.0, "two steps below 40: {searched}");
        assert_eq!(figure(searched, "throughput_packets_per_second"), 5000.0);
    });
}

/// A study's file names the two ports as the command does.
#[test]
fn a_study_has_two_ports_too() {
    if !can_make_ports("ports_study") {
        return;
    }
    let text = "name = 'ports'\nrepeats = 1\n[base]\nload = 'packets'\nsender = 'ring'\n\
                receiver = 'xdp'\nbind = 'p0,p1'\nrate = 3000\nseconds = 0.3\n[[factor]]\n\
                name = 'ways'\nset = 'bidirectional'\nlevels = [false, true]\n";
    let out = folder("ports-study");
    let file = out.join("study.toml");
    std::fs::write(&file, text).expect("a file");
    patiently("ports_study", || {
        let words = format!("study run {} --format json --out {}", file.display(), out.display());
        let output = run(&mut inside(JOINED, &words));
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let results = json(&output)["results"].clone();
        let of = |at: usize| figure(&results[at]["estimate"], "value");
        assert!((2000.0..=3300.0).contains(&of(0)), "one way: {results}");
        assert!((4000.0..=6600.0).contains(&of(1)), "both ways: {results}");
        assert_eq!(results[0]["effective"]["interface"], "p0", "{results}");
    });
}

/// What cannot be had is said before a frame leaves.
#[test]
fn ports_are_refused_that_no_cable_joins() {
    let mut command = narrows();
    command.args(["packets", "--nic", "eth0", "--rate", "1k"]);
    fails(command.arg("--out").arg(folder("ports-one")), 2, "two ports of this host");
    let mut command = narrows();
    command.args(["packets", "h", "--nic", "p0,p1", "--rate", "1k"]);
    fails(command.arg("--out").arg(folder("ports-host")), 2, "no HOST");
    if !can_make_ports("ports_refused") {
        return;
    }
    let apart = "ip link set lo up && ip link add p0 type veth peer name q0 && \
                 ip link add p1 type veth peer name q1 && for l in p0 p1 q0 q1; do \
                 ip link set $l up; done && ";
    let words = "packets --nic p0,p1 --rate 1k -t 0.1 --repeats 1 --out";
    fails(inside(apart, words).arg(folder("ports-apart")), 5, "no frame of p0 came to p1");
    let of = |words: &str, code: i32, says: &str| {
        let words = format!("{words} -t 0.1 --repeats 1 --out");
        fails(packets(&words).arg(folder("ports-refused")), code, says);
    };
    of("", 2, "raw packets need a rate");
    of("--rate 1k --sender sendmmsg", 2, "not over a cable");
    of("--rate 1k --mac 02:00:00:00:00:77", 5, "is not the peer's");
    let mut missing = inside(JOINED, "packets --nic p0,p9 --rate 1k -t 0.1 --out");
    fails(missing.arg(folder("ports-missing")), 2, "this host has no interface p9");
}
