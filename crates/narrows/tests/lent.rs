//! Raw packets to an interface that an agent's owner lends: two namespaces with two wires, one that
//! the ends meet over and one for the frames, which has no addresses.

mod common;

use common::bench::Bench;
use common::starved::patiently;
use common::{err, fails, folder, is_root, narrows, out, run, skip};
use serde_json::Value;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Two namespaces whose agent has these arguments more; skips the test where they cannot be had.
fn bench(test: &str, arguments: &[&str]) -> Option<Bench> {
    let bench = is_root().then(|| Bench::wired(arguments)).flatten();
    if bench.is_none() {
        skip(test, "needs root and ip(8) for veth pairs between namespaces");
    }
    bench
}

fn json(output: &Output) -> Value {
    let failed = |error| panic!("{error}: {}\n{}", out(output), err(output));
    serde_json::from_str(&out(output)).unwrap_or_else(failed)
}

fn figure(of: &Value, key: &str) -> f64 {
    of[key].as_f64().unwrap_or_else(|| panic!("{key}: {of}"))
}

/// `narrows packets` by the wire that is lent.
fn packets(bench: &Bench, words: &str) -> Command {
    let words: Vec<&str> = words.split_whitespace().collect();
    bench.narrows("packets", &[&["--nic", "q0"], &words[..]].concat())
}

/// The interface of the wire that the ends meet over.
fn first_wire(place: &str) -> String {
    let all = Bench::inside(place, "ip -o link").expect("ip");
    let mut names = all.lines().filter_map(|line| line.split(": ").nth(1)?.split('@').next());
    let first = names.find(|name| !["lo", "q0", "q1", "r0", "r1"].contains(name));
    first.expect("an interface").to_owned()
}

/// What an interface counted, by `rx` or `tx`.
fn counted(place: &str, link: &str, way: &str) -> u64 {
    let told = Bench::inside(place, &format!("ip -s -j link show {link}")).expect("ip");
    let told: Value = serde_json::from_str(&told).expect("JSON of ip");
    let count = &told[0]["stats64"][way]["packets"];
    count.as_u64().unwrap_or_else(|| panic!("{way}: {told}"))
}

/// By each raw way, to the agent and from it: what was sent came, both interfaces counted it, and
/// the wire over which the ends met carried none of it.
#[test]
fn each_raw_way_carries_every_packet_to_an_interface_that_is_lent() {
    let Some(bench) = bench("lent_ways", &["--packets", "q1"]) else { return };
    let first = first_wire(&bench.there);
    patiently("lent_ways", || {
        for (sender, receiver, more) in [
            ("ring", "xdp", ""),
            ("xdp", "xdp", "--peer-nic q1"),
            ("af-xdp", "af-xdp", "--peer-nic q1"),
            ("ring", "ring", "-R"),
            ("xdp", "ring", "--peer-nic q1 -R"),
        ] {
            let words = format!(
                "--sender {sender} --receiver {receiver} --rate 3k -t 0.5 --repeats 1 -J {more}"
            );
            let before = ["rx", "tx"].map(|way| counted(&bench.there, "q1", way));
            let aside = counted(&bench.there, &first, "rx");
            let output = run(&mut packets(&bench, &words));
            assert_eq!(output.status.code(), Some(0), "{words}: {}", err(&output));
            let result = &json(&output)["results"][0];
            let loss = &result["loss"];
            assert_eq!(loss["lost_datagrams"], 0, "{words}: {result}");
            assert_eq!(loss["duplicate_datagrams"], 0, "{words}: {result}");
            let came = figure(loss, "received_datagrams");
            assert!((200.0..=1650.0).contains(&came), "half a second of 3 k/s: {words}: {came}");
            let after = ["rx", "tx"].map(|way| counted(&bench.there, "q1", way));
            let at = usize::from(more.contains("-R"));
            let seen = (after[at] - before[at]) as f64;
            assert!(seen >= came, "{words}: the agent's interface counted {seen} of {came}");
            let others = counted(&bench.there, &first, "rx") - aside;
            assert!(others < 1000, "{words}: the other wire carried {others}");
            let verdict = &result["reconciled"][0]["verdict"]["verdict"];
            assert_eq!(verdict, "agrees", "{words}: {}", result["reconciled"]);
        }
    });
}

/// Both ways at once: sent, received and lost add up in each direction, also where a filter before
/// the agent's interface drops three quarters of one.
#[test]
fn both_directions_add_up_and_a_loss_is_of_its_own() {
    let Some(bench) = bench("lent_both", &["--packets", "q1"]) else { return };
    let words = "--peer-nic q1 --sender ring --receiver ring --bidirectional --rate 4k -t 0.5 \
                 --repeats 1 -J";
    let ways = || {
        let output = run(&mut packets(&bench, words));
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        json(&output)["results"][0]["directions"].clone()
    };
    let shares = |ways: &Value| {
        [0, 1].map(|at| {
            let way = &ways[at];
            let [sent, came, left, arrived] =
                ["sent_packets", "received_packets", "out_packets", "in_packets"]
                    .map(|key| figure(way, key));
            assert!(sent >= 1000.0, "half a second of 4 k/s: {way}");
            // A slot of 20 ms at each edge of the window, as between two ports.
            let edges = 2.0 * 0.02 * 4000.0;
            assert!(left + edges >= sent && arrived + edges >= sent, "both count: {way}");
            came / sent
        })
    };
    patiently("lent_both", || {
        let whole = ways();
        assert_eq!(shares(&whole), [1.0, 1.0], "{whole}");
        let names = [0, 1].map(|at| [whole[at]["from"].clone(), whole[at]["to"].clone()]);
        assert_eq!(names, [["q0", "q1"], ["q1", "q0"]].map(|way| way.map(Value::from)));
    });
    for words in [
        "add table netdev lent",
        "add chain netdev lent in { type filter hook ingress device q1 priority 0 ; }",
        "add rule netdev lent in udp length 26 limit rate over 1000/second drop",
    ] {
        if Bench::inside(&bench.there, &format!("nft {words}")).is_none() {
            return skip("lent_both", "nft is not there");
        }
    }
    patiently("lent_both_dropped", || {
        let cut = ways();
        let [to, from] = shares(&cut);
        assert!((0.1..0.45).contains(&to), "three quarters are dropped: {cut}");
        assert_eq!(from, 1.0, "none of the other direction's: {cut}");
    });
}

/// The search for the highest rate without loss, and a study's file, have the interface too.
#[test]
fn a_search_and_a_study_go_by_an_interface_that_is_lent() {
    let Some(bench) = bench("lent_study", &["--packets", "q1"]) else { return };
    let text = "name = 'lent'\nrepeats = 1\n[base]\nload = 'packets'\nsender = 'ring'\n\
                receiver = 'xdp'\nbind = 'q0'\nrate = 3000\nseconds = 0.3\n[[factor]]\n\
                name = 'at'\nset = 'peer_nic'\nlevels = ['q1', 'r1', 'q9']\n";
    let folder = folder("lent-study");
    let file = folder.join("study.toml");
    std::fs::write(&file, text).expect("the study's file");
    patiently("lent_study", || {
        let words = "--peer-nic q1 --sender ring --receiver ring --zero-loss --rate 4k --loss 20 \
                     --resolution 50 --runs-max 12 -t 0.3 -J";
        let output = run(&mut packets(&bench, words));
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let searched = &json(&output)["searches"][0];
        let passes = figure(searched, "passes_packets_per_second");
        assert!((2560.0..=4000.0).contains(&passes), "two steps below 4,000: {searched}");
        let mut command = Command::new("nsenter");
        command.args([&bench.here, env!("CARGO_BIN_EXE_narrows"), "study", "run"]).arg(&file);
        command.args(["--peer", &bench.address, "-p", &bench.agent.port.to_string()]);
        command.env("NARROWS_KEY", &bench.agent.key).args(["--format", "json", "--out"]);
        let output = run(command.arg(&folder));
        let (ran, told) = (json(&output), err(&output));
        let results = ran["results"].as_array().expect("results");
        let measured: Vec<&Value> =
            results.iter().filter(|cell| cell["done"].as_u64() > Some(0)).collect();
        assert_eq!(measured.len(), 1, "q1 alone is lent: {told}");
        let rate = figure(&measured[0]["estimate"], "value");
        assert!((2000.0..=3300.0).contains(&rate), "{rate}");
        assert!(told.contains("its owner lends q1 for frames, and not r1"), "{told}");
    });
}

/// What cannot be had is said with what helps, before a frame leaves.
#[test]
fn an_interface_that_is_not_lent_is_refused() {
    let mut command = narrows();
    command.args(["packets", "--peer-nic", "q1", "--nic", "q0,q2", "--rate", "1k", "--out"]);
    fails(command.arg(folder("lent-alone")), 2, "an interface of another host: name HOST");
    for (name, code, says) in [("nope9", 2, "asking for the interface 'nope9'"), ("lo", 2, "lo")] {
        let mut command = narrows();
        fails(command.args(["serve", "-p", "0", "--packets", name]), code, says);
    }
    let Some(none) = bench("lent_refused", &[]) else { return };
    let of = |bench: &Bench, words: &str, code: i32, says: &str| {
        let rate = if words.contains("--rate") { "" } else { "--rate 1k" };
        let words = format!("{rate} -t 0.1 --repeats 1 {words}");
        fails(&mut packets(bench, &words), code, says);
    };
    of(&none, "--peer-nic q1", 3, "its owner lends no interface for frames");
    of(&none, "--receiver xdp", 3, "lends no interface for frames");
    let lending = ["--packets", "q1,r1", "--max-rate", "1M"];
    let Some(lent) = bench("lent_refused", &lending) else { return };
    of(&lent, "--peer-nic q9", 3, "its owner lends q1 and r1 for frames, and not q9");
    of(&lent, "--receiver xdp", 2, "HOST lends q1 and r1: say --peer-nic");
    of(&lent, "--peer-nic q1 --sender sendmmsg", 2, "not by an interface that is lent");
    of(&lent, "--peer-nic q1 --mac 02:00:00:00:00:77", 5, "is not the peer's");
    of(&lent, "--peer-nic q1 --mac ff:ff:ff:ff:ff:ff", 5, "is a group address");
    let mac = "--peer-nic q1 -R --mac 02:00:00:00:00:77 --i-know";
    of(&lent, mac, 5, "it sends no frames to another MAC address");
    // 10,000 packets of 64 B a second are 5 Mb/s.
    of(&lent, "--peer-nic q1 -R --rate 10k", 5, "its ends send at most 1 Mb/s together");
    of(&lent, "--peer-nic q1 -R --rate max", 5, "it sends at most 1 Mb/s; name a pace");
    of(&lent, "--peer-nic r1", 5, "no frame went from q0 to r1 of the other host and back");
    Bench::inside(&lent.there, "ip link del r1").expect("ip");
    of(&lent, "--peer-nic r1", 3, "its interface r1, which is lent, is gone");
}

fn until(holds: impl Fn() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(30);
    while Instant::now() < end {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// A controller of a run of half a minute, by these ways.
fn running(bench: &Bench, words: &str) -> Child {
    let mut command = packets(bench, &format!("--rate 1k -t 30 {words}"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("narrows")
}

/// After kill -9 of the controller, or of the agent, no program is left before an interface of
/// either, none is promiscuous, and nothing more is sent.
#[test]
fn a_kill_of_either_side_leaves_nothing_behind() {
    for (words, kills_agent) in [("--receiver xdp", false), ("-R --sender xdp", true)] {
        let Some(mut bench) = bench("lent_kill", &["--packets", "q1"]) else { return };
        let show = |place: &str, link: &str| {
            Bench::inside(place, &format!("ip -d link show {link}")).expect("ip")
        };
        let (here, there) = (bench.here.clone(), bench.there.clone());
        let (place, link) = if kills_agent { (&here, "q0") } else { (&there, "q1") };
        let mut controller = running(&bench, words);
        let attached = until(|| show(place, link).contains("prog/xdp"));
        if kills_agent {
            bench.agent.kill();
        } else {
            controller.kill().expect("kill");
        }
        let left = until(|| !show(place, link).contains("prog/xdp"));
        let _ = controller.kill();
        controller.wait().expect("ended");
        assert!(attached, "{words}: no program was attached");
        assert!(left, "{words}: {}", show(place, link));
        let sender = if kills_agent { (&there, "q1") } else { (&here, "q0") };
        let sent = || counted(sender.0, sender.1, "tx");
        let quiet = until(|| {
            let before = sent();
            std::thread::sleep(Duration::from_millis(300));
            sent() - before < 30
        });
        assert!(quiet, "{words}: it still sends");
        for (place, link) in [(&here, "q0"), (&there, "q1")] {
            assert!(show(place, link).contains("promiscuity 0"), "{}", show(place, link));
        }
    }
}
