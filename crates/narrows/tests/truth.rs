//! What must be so whatever was measured: loss that no gap shows is counted and placed, corrupted
//! data is a verdict, and no figure exceeds what a shaper let through.

mod common;

use common::{Served, err, folder, is_root, out, run, serve, skip};
use narrows_run::launch::namespaces::Namespaces;
use serde_json::Value;
use std::process::{Command, Output};

/// An agent in one namespace, controllers in the other.
struct Bench {
    _namespaces: Namespaces,
    here: String,
    there: String,
    address: String,
    agent: Served,
}

impl Bench {
    fn new() -> Self {
        let namespaces = Namespaces::make().expect("namespaces");
        let enter = |path: String| format!("--net={path}");
        let (there, here) = (enter(namespaces.sink_path()), enter(namespaces.source_path()));
        let address = namespaces.sink_address().to_string();
        let agent = serve(&["nsenter", &there], &["-B", &address]);
        Self { _namespaces: namespaces, here, there, address, agent }
    }

    /// Runs a line of words in a namespace; whether it could.
    fn inside(&self, place: &str, words: &str) -> bool {
        let mut command = Command::new("nsenter");
        command.arg(place).args(words.split_whitespace());
        command.output().is_ok_and(|output| output.status.success())
    }

    /// Filters what arrives at the agent; `false` where nft is not there.
    fn filter(&self, rule: &str) -> bool {
        let chain = "add chain ip truth in { type filter hook input priority 0 ; }";
        self.inside(&self.there, "nft flush ruleset")
            && self.inside(&self.there, "nft add table ip truth")
            && self.inside(&self.there, &format!("nft {chain}"))
            && self.inside(&self.there, &format!("nft add rule ip truth in {rule}"))
    }

    fn output(&self, words: &[&str]) -> Output {
        let mut command = Command::new("nsenter");
        command.args([&self.here, env!("CARGO_BIN_EXE_narrows"), words[0], &self.address]);
        command.args(["-p", &self.agent.port.to_string(), "--repeats", "1", "-J"]);
        command.env("NARROWS_KEY", &self.agent.key).args(&words[1..]);
        command.arg("--out").arg(folder(&format!("truth-{}", self.agent.port)));
        run(&mut command)
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
    let bench = Bench::new();
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
    assert!(there * 10 > lost * 9, "{there} of {lost} in the receiver's host");
    // All after the first so many: no gap shows them.
    assert!(bench.filter("ip protocol udp meta length > 1000 quota over 700 kbytes drop"));
    let result = bench.result(0, &[&UDP[..], &["--warm-up", "0.1"]].concat());
    let (lost, received) = (count(&result, "lost_datagrams"), count(&result, "received_datagrams"));
    // The quota holds about five hundred, of which some pass before the window; 714 are sent in it.
    assert!(received > 0 && received <= 550 && lost > 0, "{received} and {lost} lost");
    // A short queue at the sender is the sender's.
    assert!(bench.inside(&bench.there, "nft flush ruleset"));
    let qdisc = "tc qdisc add dev narrows1 root tbf rate 5mbit burst 8kb latency 5ms";
    if !bench.inside(&bench.here, qdisc) {
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
    let bench = Bench::new();
    let qdisc = "tc qdisc add dev narrows1 root tbf rate 100mbit burst 64kb latency 20ms";
    if !bench.inside(&bench.here, qdisc) {
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

#[test]
fn data_that_was_corrupted_on_its_way_is_a_verdict() {
    if !is_root() {
        return skip("corrupted", "needs root for network namespaces");
    }
    let bench = Bench::new();
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
