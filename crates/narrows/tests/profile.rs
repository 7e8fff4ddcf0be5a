//! `--profile`: real runs, both ends, and what is said where an end may not sample.

mod common;

use common::{Served, err, folder, is_root, narrows, out, run, serve, skip};
use serde_json::Value;

/// What no class is known for stays below this share.
const UNCLASSIFIED_MAX: f64 = 0.02;

fn measured(agent: &Served, name: &str, command: &str, more: &[&str]) -> Value {
    let mut line = narrows();
    line.args([command, "127.0.0.1", "-p", &agent.port.to_string(), "--profile", "-J"]);
    line.args(["--seconds", "0.6", "--repeats", "2"]).args(more);
    let output = run(line.env("NARROWS_KEY", &agent.key).arg("--out").arg(folder(name)));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    serde_json::from_str(&out(&output)).expect("JSON")
}

fn share(end: &Value, class: &str) -> f64 {
    let classes = end["breakdown"]["classes"].as_array().unwrap_or_else(|| panic!("{end}"));
    let one = classes.iter().find(|one| one["class"] == class);
    one.map_or(0.0, |one| one["share"].as_f64().expect("share"))
}

/// Both ends' profiles, with what must hold of any.
fn ends(json: &Value) -> Vec<Value> {
    let ends = json["profiles"][0]["ends"].as_array().expect("ends").clone();
    for end in &ends {
        let classes = end["breakdown"]["classes"].as_array().unwrap_or_else(|| panic!("{end}"));
        let sum: f64 = classes.iter().map(|one| one["share"].as_f64().expect("share")).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        let last = classes.last().expect("a class")["cumulative"].as_f64();
        assert!((last.expect("cumulative") - 1.0).abs() < 1e-9);
        let unknown = &end["breakdown"]["unclassified"];
        assert!(share(end, "unclassified") < UNCLASSIFIED_MAX, "{unknown}");
        // A CPU that idles is none of an end's threads.
        assert_eq!(share(end, "idle"), 0.0, "{end}");
        assert!(share(end, "tcp-udp-ip") > 0.02, "{end}");
        assert_eq!((&end["lost"], end["runs"].as_u64()), (&Value::from(0), Some(2)), "{end}");
    }
    ends
}

#[test]
fn streams_and_round_trips_are_told_by_class_at_both_ends() {
    if !is_root() {
        return skip("streams_and_round_trips_are_told_by_class", "needs root");
    }
    let agent = serve(&[], &["-B", "127.0.0.1", "--user", "root"]);
    let tcp = measured(&agent, "profile-tcp", "tcp", &["-C", "cubic"]);
    let of_tcp = ends(&tcp);
    assert_eq!(of_tcp.len(), 2);
    for end in &of_tcp {
        assert!(share(end, "copy") > 0.1, "64 KiB messages are copied: {end}");
        let calls = end["breakdown"]["in_system_calls"].as_f64().expect("share");
        assert!(calls > 0.7, "{end}");
    }
    let call = |end: &Value| end["breakdown"]["system_calls"][0]["name"].clone();
    assert_eq!((call(&of_tcp[0]), call(&of_tcp[1])), ("sendto".into(), "recvfrom".into()));
    let small = ends(&measured(&agent, "profile-udp", "udp", &["-l", "64"]));
    let trips = ends(&measured(&agent, "profile-rr", "tcp", &["--rr"]));
    for end in small.iter().chain(&trips) {
        assert!(share(end, "copy") < 0.15, "64 bytes are quickly copied: {end}");
    }
    assert!(trips.iter().all(|end| share(end, "scheduler") > 0.05), "they wait for each other");
}

#[test]
fn an_end_that_may_not_sample_says_why() {
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let paranoid: i64 = paranoid.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(2);
    if !is_root() || paranoid < 2 {
        return skip("an_end_that_may_not_sample", "needs root and perf_event_paranoid above 1");
    }
    // An agent that became nobody has no right to sample.
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let json = measured(&agent, "profile-denied", "tcp", &[]);
    let ends = json["profiles"][0]["ends"].as_array().expect("ends");
    let [sender, receiver] = ends.as_slice() else { panic!("{ends:?}") };
    assert!(sender["breakdown"]["samples"].as_u64() > Some(100), "{sender}");
    assert_eq!(receiver["breakdown"], Value::Null, "{receiver}");
    let why = &receiver["not_taken"][0]["denied"];
    assert_eq!((&why["paranoid"], &why["capable"]), (&paranoid.into(), &false.into()));
}
