//! Every way to send, receive, wait and bind, between two namespaces of this host: what was asked
//! for is what happened, and what must not be taken for an ordinary figure is labelled.

mod common;

use common::bench::Bench;
use common::{err, folder, is_root, narrows, out, run, skip};
use serde_json::Value;
use std::process::{Child, Command, Stdio};

/// An agent in one namespace, and short runs from the other.
struct Short(Bench);

impl Short {
    fn new(arguments: &[&str]) -> Self {
        Self(Bench::new(arguments))
    }

    fn command(&self, kind: &str, more: &[&str]) -> Command {
        let seconds = if more.contains(&"-t") { &[][..] } else { &["-t", "0.15"] };
        self.0.narrows(kind, &[&["--repeats", "1", "-J"], seconds, more].concat())
    }

    /// The one result of a run.
    fn result(&self, kind: &str, more: &[&str]) -> Value {
        let output = run(&mut self.command(kind, more));
        assert_eq!(output.status.code(), Some(0), "{kind} {more:?}: {}", err(&output));
        let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
        let mut result = json["results"][0].clone();
        let rate = result["estimate"]["value"].as_f64();
        assert!(rate.is_some_and(|rate| rate > 0.0), "{kind} {more:?}: {result}");
        result["document"] = json;
        result
    }
}

fn labels(result: &Value) -> String {
    result["labels"].to_string()
}

#[test]
fn every_tcp_sender_and_receiver_moves_the_right_bytes() {
    if !is_root() {
        return skip("every_tcp_sender", "needs root for network namespaces");
    }
    let bench = Short::new(&[]);
    for sender in ["write", "vmsplice", "sendfile", "zerocopy", "io_uring"] {
        // An odd message and a span of several: bytes that move would be found out of place.
        let more = ["--sender", sender, "--verify", "-l", "10001", "--buffer", "300K"];
        let result = bench.result("tcp", &more);
        assert_eq!(result["effective"]["sender"], sender);
        let verified = result["verified_bytes"].as_u64().expect("verified");
        let rate = result["estimate"]["value"].as_f64().expect("rate");
        // The window's bytes are among those compared.
        assert!(verified as f64 * 8.0 >= rate * 0.15 * 0.9, "{sender}: {verified} B at {rate}");
        assert_eq!(result["zero_copy"].is_object(), sender == "zerocopy", "{result}");
    }
    // A veth pair has no way to send without a copy, and the kernel says so.
    let result = bench.result("tcp", &["--sender", "zerocopy"]);
    let told = |key: &str| result["zero_copy"][key].as_u64().expect("completions");
    let (completed, copied) = (told("completed"), told("copied"));
    assert!(completed > 10 && copied * 10 > completed * 9, "{copied} of {completed} copied");
    assert!(labels(&result).contains("zero-copy-copied"), "{}", labels(&result));
    for (receiver, label) in
        [("recv", ""), ("multishot", ""), ("truncate", "truncated"), ("splice", "spliced")]
    {
        let verify: &[&str] = if label.is_empty() { &["--verify"] } else { &[] };
        let result = bench.result("tcp", &[&["--receiver", receiver], verify].concat());
        assert_eq!(result["effective"]["receiver"], receiver);
        let has = |name: &str| labels(&result).contains(name);
        assert_eq!(has("truncated"), label == "truncated", "{}", labels(&result));
        assert_eq!(has("spliced"), label == "spliced", "{}", labels(&result));
    }
}

#[test]
fn every_udp_sender_and_receiver_moves_the_right_bytes() {
    if !is_root() {
        return skip("every_udp_sender", "needs root for network namespaces");
    }
    let bench = Short::new(&[]);
    let counted = |result: &Value, key: &str| result["traffic"][key].as_f64().expect("counted");
    for sender in ["send", "sendmmsg", "gso", "io_uring"] {
        // Paced, so that a slow machine loses nothing it can be blamed for.
        let more = ["--sender", sender, "--verify", "-l", "200", "-b", "20M"];
        let result = bench.result("udp", &more);
        assert_eq!(result["effective"]["sender"], sender);
        assert!(result["verified_bytes"].as_u64().is_some_and(|n| n > 100_000), "{result}");
        assert_eq!(result["loss"]["duplicate_datagrams"], 0);
        assert!(result["jitter"]["value"].as_f64().is_some(), "{result}");
        let datagrams = result["datagrams_per_second"]["value"].as_f64().expect("rate");
        let calls = counted(&result, "source_calls_per_second");
        let packets = counted(&result, "sink_interface_packets_per_second");
        let joined = labels(&result).contains("joined");
        match sender {
            "send" => assert!(calls > 0.8 * datagrams, "{calls} calls, {datagrams} datagrams"),
            _ => assert!(calls < 0.2 * datagrams, "{calls} calls, {datagrams} datagrams"),
        }
        // Only segmentation offload puts several datagrams into a packet, and says so.
        assert_eq!(packets < 0.5 * datagrams, sender == "gso", "{packets} of {datagrams}");
        assert_eq!(joined, sender == "gso", "{}", labels(&result));
    }
    for receiver in ["recv", "recvmmsg", "gro", "multishot"] {
        let more =
            ["--receiver", receiver, "--verify", "-l", "200", "-b", "20M", "--sender", "gso"];
        let result = bench.result("udp", &more);
        assert_eq!(result["effective"]["receiver"], receiver);
        let lost = result["loss"]["lost_datagrams"].as_u64().expect("lost");
        let received = result["loss"]["received_datagrams"].as_u64().expect("received");
        assert!(lost * 10 < received, "{receiver}: {lost} lost, {received} received");
    }
}

#[test]
fn round_trips_both_ways_and_connections_are_what_was_asked_for() {
    if !is_root() {
        return skip("round_trips_both_ways", "needs root for network namespaces");
    }
    let bench = Short::new(&["--data-ports", "7600-7607"]);
    for kind in ["tcp", "udp"] {
        let more = ["--rr", "-l", "64", "--response", "3000", "-P", "2", "--per-second", "400"];
        let result = bench.result(kind, &more);
        let rate = result["trips_per_second"]["value"].as_f64().expect("rate");
        assert!((300.0..=450.0).contains(&rate), "{kind}: {rate} of 400 a second");
        // Ten round trips a run have no median: said, and no figure.
        let few = ["--rr", "-l", "64", "--per-second", "40", "-t", "0.25"];
        let output = run(&mut bench.command(kind, &few));
        let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
        let result = &json["results"][0];
        assert!(result["done"].as_u64() > Some(0) && result["estimate"].is_null(), "{result}");
        assert!(labels(result).contains("short-window"), "{}", labels(result));
        let result = bench.result(kind, &["--rr", "-l", "64", "--per-second", "9000000"]);
        assert!(labels(&result).contains("behind-schedule"), "{}", labels(&result));
        let both = bench.result(
            kind,
            &["--bidir", "-P", "2", "--verify", "-l", "1000", "-b", "9M"]
                [..if kind == "udp" { 8 } else { 6 }],
        );
        let back = both["back"]["value"].as_f64().expect("back");
        let sum = both["estimate"]["value"].as_f64().expect("sum");
        assert!(0.02 * sum < back && back < 0.98 * sum, "{back} of {sum}");
        assert!(both["verified_bytes"].as_u64().is_some_and(|n| n > 0));
        // Long enough for a median where others want the CPUs that spin.
        let spun = bench.result(kind, &["--rr", "-l", "64", "--wait", "spin", "-t", "1"]);
        assert_eq!(spun["effective"]["wait"], "spin");
        let slept = bench.result(kind, &["--rr", "-l", "64"]);
        let calls = |result: &Value| {
            let calls = result["traffic"]["source_calls_per_second"].as_f64().expect("calls");
            calls / result["trips_per_second"]["value"].as_f64().expect("trips")
        };
        // Asleep it is two calls a round trip; who spins asks again and again.
        assert!(calls(&slept) < 3.0 && calls(&spun) > 2.0, "{} {}", calls(&slept), calls(&spun));
    }
    let connections = bench.result("tcp", &["--connect", "-P", "2"]);
    assert_eq!(connections["metric"], "connection-rate");
    assert!(connections["round_trips"]["count"].as_u64().is_some_and(|n| n > 5), "{connections}");
}

#[test]
fn conditions_are_set_read_back_and_refused_in_words() {
    if !is_root() {
        return skip("conditions_are_set", "needs root for network namespaces");
    }
    let bench = Short::new(&[]);
    let more = ["-M", "700", "--dscp", "46", "--wait", "busy-poll", "--memory-node", "0,0"];
    let result = bench.result("tcp", &more);
    let used = &result["effective"];
    let mss = used["mss_bytes"].as_u64().expect("segments");
    assert!((500..=700).contains(&mss), "{mss}");
    assert_eq!((&used["dscp"], &used["wait"]), (&46.into(), &"busy-poll".into()));
    assert_eq!((&used["path_mtu_bytes"], &used["interface"]), (&1500.into(), &"narrows1".into()));
    assert_eq!(result["document"]["trials"][0]["place"]["sink_node"], 0);
    assert_eq!(result["one_machine"], true);
    let same = bench.result("tcp", &["-A", "0,same-core"]);
    assert!(labels(&same).contains("same-cpu"), "{}", labels(&same));
    assert!(same["busy_cpus"]["sink"][0]["cpu"].is_number(), "{same}");
    // A stream leaves Nagle's algorithm on unless told otherwise, round trips have it off.
    assert_eq!(used["no_delay"], false);
    assert_eq!(bench.result("tcp", &["--nagle", "off"])["effective"]["no_delay"], true);
    assert_eq!(bench.result("tcp", &["--rr", "-l", "64"])["effective"]["no_delay"], true);
    assert_eq!(
        bench.result("udp", &["-R", "--verify"])["document"]["trials"][0]["params"]["stream"]["reverse"],
        true
    );
    bench.result("tcp", &["-B", "198.51.100.2"]);
    bench.result("udp", &["-B", "narrows1", "-b", "5M"]);
    for (more, code, says) in [
        (&["-B", "no-such-if"][..], 5, "-B: there is no interface no-such-if here"),
        (&["-B", "203.0.113.7"], 5, "-B: 203.0.113.7 is no address of this host"),
        (&["--memory-node", "900,-"], 5, "--memory-node: there is no node 900 here"),
        (&["-6"], 3, "the name has no such address"),
        (&["--netns", "no-such-netns"], 2, "entering the network namespace no-such-netns"),
        (&["-A", "same-core,0"], 2, "same-core is for the second"),
        (&["--touch", "--receiver", "splice"], 2, "cannot be touched"),
        (&["--connect", "--memory-node", "0,0"], 2, "places no buffers on a node"),
        (&["--connect", "--buffer", "cold"], 2, "is for streams"),
        (&["--irq", "0"], 2, "--irq: "),
    ] {
        let output = run(&mut bench.command("tcp", more));
        let text = err(&output);
        assert_eq!(output.status.code(), Some(code), "{more:?}: {text}");
        assert!(text.contains(says) && text.matches("hint:").count() == 1, "{more:?}: {text}");
    }
}

#[test]
fn an_end_in_a_container_does_the_same() {
    if !is_root() {
        return skip("an_end_in_a_container", "needs root for network namespaces");
    }
    if Command::new("bwrap").arg("--version").output().is_err() {
        return skip("an_end_in_a_container", "bwrap is not there");
    }
    let bench = Short::new(&[]);
    let result = bench.result("tcp", &["--in", "bwrap", "--verify", "-R"]);
    assert_eq!(result["document"]["trials"][0]["place"]["inside"], "bwrap");
    assert!(result["verified_bytes"].as_u64().is_some_and(|n| n > 0));
    let output = run(&mut bench.command("tcp", &["--in", "podman:no/such/image:here"]));
    assert_eq!(output.status.code(), Some(5), "{}", err(&output));
    assert!(err(&output).contains("error: --in: "), "{}", err(&output));
}

/// A child that ends with the test.
struct Background(Child);

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn has_iperf3() -> bool {
    Command::new("iperf3").arg("-v").stdout(Stdio::null()).status().is_ok()
}

#[test]
fn a_real_iperf3_server_is_driven_in_both_directions() {
    if !has_iperf3() {
        return skip("a_real_iperf3_server", "iperf3 is not there");
    }
    let port = "15201";
    let mut server = Command::new("iperf3");
    server.args(["-s", "-B", "127.0.0.1", "-p", port]).stdout(Stdio::null());
    let _server = Background(server.spawn().expect("iperf3"));
    std::thread::sleep(std::time::Duration::from_millis(300));
    for (kind, more) in [
        ("tcp", &["-P", "2"][..]),
        ("tcp", &["-R"]),
        ("udp", &["-b", "40M", "-l", "1000"]),
        ("udp", &["-R", "-b", "40M", "-l", "1000"]),
    ] {
        let mut command = narrows();
        command.args([kind, "127.0.0.1", "--iperf3", "-p", port, "-t", "1", "--repeats", "1"]);
        command.arg("-J").arg("--out").arg(folder("iperf3-server")).args(more);
        let output = run(&mut command);
        assert_eq!(output.status.code(), Some(0), "{kind} {more:?}: {}", err(&output));
        let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
        let result = &json["results"][0];
        let rate = result["estimate"]["value"].as_f64().expect("rate");
        match kind {
            "udp" => assert!((30e6..50e6).contains(&rate), "{more:?}: {rate} of 40 Mb/s"),
            _ => assert!(rate > 1e8, "{more:?}: {rate}"),
        }
        // What the other side does not tell is not printed.
        let reverse = more.contains(&"-R");
        let (known, unknown) =
            if reverse { ("sink_share", "source_share") } else { ("source_share", "sink_share") };
        assert!(result["cpu"][known].is_number() && result["cpu"][unknown].is_null(), "{result}");
        assert_eq!(json["peer_host"], Value::Null);
    }
}

#[test]
fn a_real_iperf3_client_is_answered_in_both_directions() {
    if !has_iperf3() {
        return skip("a_real_iperf3_client", "iperf3 is not there");
    }
    let binary = env!("CARGO_BIN_EXE_narrows");
    let mut server = Command::new(binary);
    server.args(["serve", "--iperf3", "-B", "127.0.0.1", "-p", "15202"]);
    server.env_remove("NARROWS_KEY").stdout(Stdio::null()).stderr(Stdio::null());
    let _server = Background(server.spawn().expect("narrows"));
    std::thread::sleep(std::time::Duration::from_millis(300));
    let client = |more: &[&str]| {
        let mut command = Command::new("iperf3");
        command.args(["-c", "127.0.0.1", "-p", "15202", "-t", "1", "-J"]).args(more);
        let json: Value = serde_json::from_str(&out(&run(&mut command))).expect("JSON");
        json
    };
    for more in [&[][..], &["-R"], &["-P", "3"], &["-O", "1"]] {
        let json = client(more);
        let of = |key: &str| json["end"][key]["bits_per_second"].as_f64().expect("rate");
        let (sent, received) = (of("sum_sent"), of("sum_received"));
        assert!(received > 1e8 && received / sent > 0.8 && received / sent < 1.2, "{more:?}");
    }
    for more in
        [&["-u", "-b", "40M"][..], &["-u", "-b", "20M", "-P", "2"], &["-u", "-b", "40M", "-R"]]
    {
        let sum = client(more)["end"]["sum"].clone();
        let rate = sum["bits_per_second"].as_f64().expect("rate");
        assert!((30e6..50e6).contains(&rate), "{more:?}: {sum}");
        assert!(sum["lost_percent"].as_f64().is_some_and(|lost| lost < 10.0), "{more:?}: {sum}");
    }
    let both = client(&["--bidir"])["end"].clone();
    for way in ["sum_received", "sum_received_bidir_reverse"] {
        assert!(both[way]["bytes"].as_u64().is_some_and(|n| n > 0), "{way}: {both}");
    }
    assert!(client(&[])["end"]["sum_received"]["bytes"].as_u64().is_some_and(|n| n > 0));
}
