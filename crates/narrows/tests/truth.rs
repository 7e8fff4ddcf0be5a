//! What must be so whatever was measured: loss that no gap shows is counted and placed, corrupted
//! data is a verdict, and no figure exceeds what a shaper let through.

mod common;

use common::bench::Bench;
use common::{err, folder, is_root, out, run, skip};
use narrows_hostctl::namespaces::Namespaces;
use serde_json::Value;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// An agent in one namespace, whose packets a test filters, and controllers in the other.
struct Filtered(Bench);

impl Filtered {
    fn new() -> Self {
        Self(Bench::new(&[]))
    }

    /// Runs a line of words in the controllers' namespace; whether it could.
    fn here(&self, words: &str) -> bool {
        Bench::inside(&self.0.here, words).is_some()
    }

    /// The same in the agent's.
    fn there(&self, words: &str) -> bool {
        Bench::inside(&self.0.there, words).is_some()
    }

    /// Filters what arrives at the agent; `false` where nft is not there.
    fn filter(&self, rule: &str) -> bool {
        let chain = "add chain ip truth in { type filter hook input priority 0 ; }";
        self.there("nft flush ruleset")
            && self.there("nft add table ip truth")
            && self.there(&format!("nft {chain}"))
            && self.there(&format!("nft add rule ip truth in {rule}"))
    }

    fn output(&self, words: &[&str]) -> Output {
        let more = [&words[1..], &["--repeats", "1", "-J"]].concat();
        run(&mut self.0.narrows(words[0], &more))
    }

    /// The result, after this exit code.
    fn result(&self, code: i32, words: &[&str]) -> Value {
        let output = self.output(words);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", err(&output));
        let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
        json["results"][0].clone()
    }
}

fn count(result: &Value, key: &str) -> u64 {
    result["loss"][key].as_u64().unwrap_or_else(|| panic!("{key} of {result}"))
}

const UDP: [&str; 7] = ["udp", "-b", "20M", "-l", "1400", "-t", "0.4"];

#[test]
fn datagrams_that_were_lost_last_are_counted_and_placed() {
    if !is_root() {
        return skip("lost_last", "needs root for network namespaces");
    }
    let bench = Filtered::new();
    if !bench.filter("ip protocol udp meta length > 1000 drop") {
        return skip("lost_last", "nft is not there");
    }
    // All of them: exit code 1.
    let result = bench.result(1, &UDP);
    assert_eq!(count(&result, "received_datagrams"), 0, "{result}");
    let lost = count(&result, "lost_datagrams");
    assert!(lost > 100 && result["loss"]["last_datagrams_known"] == true, "{result}");
    // They came to its interface.
    let there = count(&result, "lost_in_sink_host_datagrams");
    // On a machine that starves its readers of counters, what they may be off by has no place.
    let placed = there + count(&result, "lost_unplaced_datagrams");
    assert!(there * 2 > lost && placed * 10 > lost * 9, "{there} in the receiver's host: {result}");
    // All after the first so many: no gap shows them.
    assert!(bench.filter("ip protocol udp meta length > 1000 quota over 700 kbytes drop"));
    let result = bench.result(0, &[&UDP[..], &["--warm-up", "0.1"]].concat());
    let (lost, received) = (count(&result, "lost_datagrams"), count(&result, "received_datagrams"));
    // The quota holds about five hundred, of which some pass before the window; 714 are sent in it.
    assert!(received > 0 && received <= 550 && lost > 0, "{received} and {lost} lost");
    // A short queue at the sender is the sender's.
    assert!(bench.there("nft flush ruleset"));
    let qdisc = "tc qdisc add dev narrows1 root tbf rate 5mbit burst 8kb latency 5ms";
    if !bench.here(qdisc) {
        return skip("lost_last: shaper", "tc is not there");
    }
    let result = bench.result(0, &UDP);
    let lost = count(&result, "lost_datagrams");
    let queue = count(&result, "lost_at_source_interface_datagrams");
    assert!(lost > 100 && queue * 10 > lost * 9, "{queue} of {lost} at the sender: {result}");
}

#[test]
fn no_figure_exceeds_what_the_path_carried_though_the_receiver_starves() {
    if !is_root() {
        return skip("starves", "needs root for network namespaces");
    }
    let bench = Filtered::new();
    let qdisc = "tc qdisc add dev narrows1 root tbf rate 100mbit burst 64kb latency 20ms";
    if !bench.here(qdisc) {
        return skip("starves", "tc is not there");
    }
    let cpu = std::thread::available_parallelism().map_or(1, usize::from).min(2) - 1;
    let hog = || {
        Command::new("taskset")
            .args(["-c", &cpu.to_string(), "yes"])
            .stdout(std::process::Stdio::null())
            .spawn()
    };
    let mut hogs: Vec<_> = (0..4).flat_map(|_| hog()).collect();
    let place = format!("0,{cpu}");
    let mut seen = Vec::new();
    for words in [["tcp", "-l", "64K"], ["udp", "-b", "300M"]] {
        let output = bench.output(&[&words[..], &["-t", "0.5", "-A", &place]].concat());
        let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
        seen.push(json["results"][0].clone());
    }
    for hog in &mut hogs {
        let _ = hog.kill();
        let _ = hog.wait();
    }
    for result in seen {
        let runs = result["reconciled"].as_array().expect("reconciled");
        assert_eq!(runs.len(), 1, "{result}");
        // A twentieth is what may be told as an error; the bucket holds a little beside its rate.
        let rate = result["estimate"]["value"].as_f64();
        assert!(rate.is_none_or(|rate| rate <= 1.1 * 100e6), "{rate:?}: {}", runs[0]);
        let verdict = runs[0]["verdict"]["verdict"].as_str().expect("verdict");
        assert_eq!(rate.is_none(), verdict == "impossible", "{}", runs[0]);
    }
}

/// The receiving thread of the agent's worker, once there is one: the kernel's name of it is that
/// of a flow's thread.
fn receiving_thread(agent: u32) -> Option<u32> {
    let tasks = |pid: u32| {
        let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
    };
    let children = tasks(agent).filter_map(|task| {
        std::fs::read_to_string(format!("/proc/{agent}/task/{task}/children")).ok()
    });
    let children: String = children.collect();
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).flat_map(tasks).find(|task| {
        std::fs::read_to_string(format!("/proc/{task}/comm")).is_ok_and(|name| name == "lane 0\n")
    })
}

/// Keeps the receiving thread from its CPU, by what is more urgent there, for so long from when it
/// is first seen; whether it could.
fn starve(agent: u32, cpu: usize, time: Duration) -> bool {
    let until = Instant::now() + Duration::from_secs(60);
    let thread = loop {
        match receiving_thread(agent) {
            Some(thread) => break thread,
            None if Instant::now() > until => return false,
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let hog = || {
        let mut command = Command::new("nice");
        command.args(["-n", "-20", "taskset", "-c", &cpu.to_string(), "yes"]);
        command.stdout(std::process::Stdio::null()).spawn()
    };
    let mut hogs: Vec<_> = (0..2).flat_map(|_| hog()).collect();
    let idle = Command::new("chrt").args(["-i", "-p", "0", &thread.to_string()]).status();
    std::thread::sleep(time);
    for hog in &mut hogs {
        let _ = hog.kill();
        let _ = hog.wait();
    }
    idle.is_ok_and(|status| status.success())
}

/// The receiver has no CPU from before the window to its middle: then it reads what had filled its
/// queue before. What came in the window is known from the shaper's rate.
#[test]
fn datagrams_that_waited_before_the_window_are_not_in_the_figure() {
    if !is_root() {
        return skip("waited", "needs root for network namespaces");
    }
    let bench = Filtered::new();
    let qdisc = "tc qdisc add dev narrows1 root tbf rate 5mbit burst 8kb latency 20ms";
    if !bench.here(qdisc) {
        return skip("waited", "tc is not there");
    }
    let cpu = std::thread::available_parallelism().map_or(1, usize::from).min(2) - 1;
    let place = format!("0,{cpu}");
    // A window of 2 s lets 1.25 MB through; the queue holds about a quarter of a megabyte.
    let words = ["udp", "-b", "8M", "-l", "1400", "-t", "2", "--warm-up", "1", "-A", &place];
    // A host that is slow itself may keep the thread from its CPU for too long, or not enough.
    for _ in 0..4 {
        let agent = bench.0.agent.pid();
        let starving = std::thread::spawn(move || starve(agent, cpu, Duration::from_secs(2)));
        let output = bench.output(&words);
        if !starving.join().expect("a thread") {
            return skip("waited", "chrt, nice or taskset is not there");
        }
        let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
        let result = &json["results"][0];
        let run = &result["reconciled"][0];
        if run["verdict"]["verdict"] != "backlog-taken-off" {
            // Without a backlog it is not beyond the shaper; with one it must be explained.
            assert_eq!(run["verdict"]["verdict"], "agrees", "{run}");
            continue;
        }
        let side = &run["sides"][0];
        assert!(side["waited"]["opening_memory_bytes"].as_u64() > Some(100_000), "{run}");
        let payload = 5e6 * 1400.0 / 1442.0;
        let value = result["estimate"]["value"].as_f64().expect("a value");
        let bound = run["verdict"]["error_bound_share"].as_f64().expect("a bound");
        assert!(bound < 0.15, "{run}");
        // The bucket holds 8 KB beside its rate; a sender that was late sent less.
        assert!(value <= 1.03 * payload, "{value} of {payload}: {run}");
        let carried = side["carried_at_most"].as_f64().expect("a count") * 8.0 / 2.0;
        assert!((value / carried - 1.0).abs() <= bound + 0.01, "{value} of {carried}: {run}");
        let counted = side["counted"].as_f64().expect("a count") * 8.0 / 2.0;
        assert!(counted > 1.05 * carried, "{counted} of {carried}: {run}");
        assert!(result["labels"].to_string().contains("backlog"), "{result}");
        return;
    }
    skip("waited", "the receiver could not be starved in four tries");
}

#[test]
fn data_that_was_corrupted_on_its_way_is_a_verdict() {
    if !is_root() {
        return skip("corrupted", "needs root for network namespaces");
    }
    let bench = Filtered::new();
    // A byte in the middle of each datagram, with the checksum made right again.
    if !bench.filter("ip protocol udp meta length > 1000 @th,800,8 set 0xff") {
        return skip("corrupted", "nft is not there, or cannot write into packets");
    }
    let result = bench.result(1, &[&UDP[..], &["--verify"]].concat());
    assert_eq!(result["corrupted"][0]["corruption"]["flow"], 0, "{result}");
    assert!(result["labels"].to_string().contains("corrupted"), "{result}");
    assert!(result["estimate"].is_null(), "{result}");
    // Who does not look does not see.
    let result = bench.result(0, &UDP);
    assert!(!result["labels"].to_string().contains("corrupted"), "{result}");
}

/// A count of the kernel's in a namespace: `Udp: InDatagrams`.
fn udp_count(place: &str, column: &str) -> u64 {
    let output = Command::new("nsenter").args([place, "cat", "/proc/net/snmp"]).output();
    let text = out(&output.expect("nsenter"));
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    let mut all = names.split_whitespace().zip(values.split_whitespace());
    let found = all.find(|(name, _)| *name == column).expect(column);
    found.1.parse().expect("a number")
}

/// Sends a signal to a process.
fn signal(pid: u32, name: &str) {
    let done = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(done.expect("kill").success(), "{name} {pid}");
}

/// Waits until something holds, for half a minute at most; whether it did.
fn until(holds: impl Fn() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(30);
    while Instant::now() < end {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// An iperf3 server that does not read for a while: its socket's buffer holds some hundred of the
/// datagrams, the kernel drops the rest and counts them, and nothing tells the client where.
#[test]
fn what_an_iperf3_servers_socket_drops_has_no_place_and_advice_that_finds_it() {
    if !is_root() {
        return skip("iperf3_socket", "needs root for network namespaces");
    }
    if Command::new("iperf3").arg("-v").output().is_err() {
        return skip("iperf3_socket", "iperf3 is not there");
    }
    let namespaces = Namespaces::make().expect("namespaces");
    let enter = |path: String| format!("--net={path}");
    let (there, here) = (enter(namespaces.receiver_path()), enter(namespaces.sender_path()));
    let address = namespaces.receiver_address().to_string();
    let mut server = Command::new("nsenter");
    server.args([&there, "iperf3", "-s", "-B", &address]).stdout(std::process::Stdio::null());
    let mut server = server.spawn().expect("iperf3");
    let pid = server.id();
    let listens = || {
        let output = Command::new("nsenter").args([&there, "cat", "/proc/net/tcp"]).output();
        out(&output.expect("nsenter")).contains(":1451 ")
    };
    assert!(until(listens), "iperf3 does not listen");
    let dropped = udp_count(&there, "RcvbufErrors");
    let pauser = std::thread::spawn({
        let there = there.clone();
        move || {
            let flows = until(|| udp_count(&there, "InDatagrams") > 200);
            signal(pid, "-STOP");
            std::thread::sleep(Duration::from_millis(700));
            signal(pid, "-CONT");
            flows
        }
    });
    let mut command = Command::new("nsenter");
    command.args([&here, env!("CARGO_BIN_EXE_narrows"), "udp", &address, "--iperf3", "-J"]);
    command.args(["-b", "80M", "-l", "1200", "-t", "2", "--repeats", "1"]);
    let output = run(command.arg("--out").arg(folder("truth-iperf3-socket")));
    assert!(pauser.join().expect("a thread"), "no datagrams: {}", err(&output));
    let dropped = udp_count(&there, "RcvbufErrors") - dropped;
    let _ = server.kill();
    let _ = server.wait();
    let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
    let result = &json["results"][0];
    let (lost, unplaced) =
        (count(result, "lost_datagrams"), count(result, "lost_unplaced_datagrams"));
    assert!(dropped > 1000, "the kernel dropped {dropped}");
    // The server's window is a little longer than ours.
    assert!(lost * 10 > dropped * 9 && lost * 10 < dropped * 11, "{lost} lost, {dropped} dropped");
    assert!(unplaced * 10 > lost * 9, "{unplaced} of {lost} have no place: {result}");
    let findings = json["findings"].as_array().expect("findings");
    let found = findings.iter().find(|found| found["rule"] == "datagrams-dropped");
    let found = found.unwrap_or_else(|| panic!("no finding: {}", json["findings"]));
    let advice = found["remedy"].as_str().expect("a remedy");
    assert!(advice.contains("nstat -az UdpRcvbufErrors"), "{found}");
    assert!(!found.to_string().contains("switch"), "{found}");
    assert!(found["says"].as_str().is_some_and(|says| says.contains("unknown")), "{found}");
}
