//! `--profile`: real runs, both ends, the agent's as nobody with the right that its owner gives,
//! and what is said where an end may not sample.

mod common;

use common::{Served, err, folder, is_root, narrows, out, run, serve, skip, study};
use serde_json::Value;
use std::sync::Mutex;

/// What no class is known for stays below this share.
const UNCLASSIFIED_MAX: f64 = 0.02;

/// Tests that run at once would take each other's CPUs.
static ALONE: Mutex<()> = Mutex::new(());

fn measured(agent: &Served, name: &str, command: &str, more: &[&str]) -> Value {
    let _alone = ALONE.lock();
    let mut line = narrows();
    line.args([command, "127.0.0.1", "-p", &agent.port.to_string(), "--profile", "-J"]);
    line.args(["--seconds", "0.6"]).args(more);
    if !more.contains(&"--repeats") {
        line.args(["--repeats", "2"]);
    }
    let output = run(line.env("NARROWS_KEY", &agent.key).arg("--out").arg(folder(name)));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    serde_json::from_str(&out(&output)).expect("JSON")
}

fn share(end: &Value, class: &str) -> f64 {
    of_class(end, class, "share")
}

/// Half the 95 % interval of a class's share: a slow machine takes a hundred samples of a run.
fn by_chance(end: &Value, class: &str) -> f64 {
    of_class(end, class, "by_chance")
}

/// How much a class takes is a matter of the CPU; that it takes time is not.
fn is_seen(end: &Value, class: &str) -> bool {
    share(end, class) > by_chance(end, class)
}

/// Whether a class takes a larger share here than there, by more than chance.
fn takes_more(here: &Value, there: &Value, class: &str) -> bool {
    share(here, class) - by_chance(here, class) > share(there, class) + by_chance(there, class)
}

fn of_class(end: &Value, class: &str, key: &str) -> f64 {
    let classes = end["breakdown"]["classes"].as_array().unwrap_or_else(|| panic!("{end}"));
    let one = classes.iter().find(|one| one["class"] == class);
    one.map_or(0.0, |one| one[key].as_f64().expect(key))
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
        let least = share(end, "unclassified") - by_chance(end, "unclassified");
        assert!(least < UNCLASSIFIED_MAX, "{unknown}");
        // A CPU that idles is none of an end's threads.
        assert_eq!(share(end, "idle"), 0.0, "{end}");
        assert!(share(end, "tcp-udp-ip") + by_chance(end, "tcp-udp-ip") > 0.02, "{end}");
        // An agent that is no root names the kernel's functions as well.
        assert!(!end["gaps"].to_string().contains("hidden"), "{}", end["gaps"]);
        assert_eq!((&end["lost"], end["runs"].as_u64()), (&Value::from(0), Some(2)), "{end}");
    }
    ends
}

#[test]
fn streams_and_round_trips_are_told_by_class_at_both_ends() {
    if !is_root() {
        return skip("streams_and_round_trips_are_told_by_class", "needs root");
    }
    let agent = serve(&[], &["-B", "127.0.0.1", "--profile"]);
    let tcp = measured(&agent, "profile-tcp", "tcp", &["-C", "cubic"]);
    let of_tcp = ends(&tcp);
    assert_eq!(of_tcp.len(), 2);
    for end in &of_tcp {
        assert!(is_seen(end, "copy"), "64 KiB messages are copied: {end}");
        let calls = end["breakdown"]["in_system_calls"].as_f64().expect("share");
        assert!(calls > 0.7, "{end}");
    }
    let call = |end: &Value| end["breakdown"]["system_calls"][0]["name"].clone();
    assert_eq!((call(&of_tcp[0]), call(&of_tcp[1])), ("sendto".into(), "recvfrom".into()));
    ends(&measured(&agent, "profile-udp", "udp", &["-l", "64"]));
    for end in ends(&measured(&agent, "profile-rr", "tcp", &["--rr"])) {
        assert!(is_seen(&end, "scheduler"), "they wait for each other: {end}");
    }
}

#[test]
fn an_agent_samples_only_where_its_owner_lets_it() {
    if !is_root() {
        return skip("an_agent_samples_only_where_its_owner_lets_it", "needs root");
    }
    for more in [&["--user", "root"][..], &[]] {
        let agent = serve(&[], &[&["-B", "127.0.0.1"], more].concat());
        let json = measured(&agent, "profile-owner", "tcp", &[]);
        let ends = json["profiles"][0]["ends"].as_array().expect("ends");
        let [sender, receiver] = ends.as_slice() else { panic!("{ends:?}") };
        // The caller is this host's root, and samples.
        assert!(sender["breakdown"]["samples"].as_u64() > Some(0), "{sender}");
        assert_eq!((&sender["role"], &receiver["role"]), (&"sender".into(), &"receiver".into()));
        assert_eq!(receiver["breakdown"], Value::Null, "{receiver}");
        assert_eq!(receiver["not_taken"][0], "owner");
    }
}

#[test]
fn what_leaves_the_copy_out_has_none_in_its_profile() {
    if !is_root() {
        return skip("what_leaves_the_copy_out", "needs root");
    }
    let agent = serve(&[], &["-B", "127.0.0.1", "--profile"]);
    let json = measured(&agent, "profile-copy", "tcp", &["--copy-share", "-C", "cubic"]);
    let receivers: Vec<&Value> = json["profiles"]
        .as_array()
        .expect("profiles")
        .iter()
        .map(|profile| &profile["ends"][1])
        .collect();
    let [copied, dropped] = receivers.as_slice() else { panic!("{receivers:?}") };
    assert_eq!(copied["role"], "receiver");
    assert!(takes_more(copied, dropped, "copy"), "{copied}\n{dropped}");
    assert!(!is_seen(dropped, "copy") || share(dropped, "copy") < 0.02, "{dropped}");
}

#[test]
fn two_profiles_are_compared_by_class() {
    if !is_root() {
        return skip("two_profiles_are_compared_by_class", "needs root");
    }
    let agent = serve(&[], &["-B", "127.0.0.1", "--profile"]);
    let more = ["--copy-share", "-C", "cubic", "--repeats", "6", "--warm-up", "0.1"];
    measured(&agent, "profile-compare", "tcp", &more);
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("profile-compare");
    let compare = |after: &str| {
        let cells = ["--before", "tcp-stream", "--after", after];
        let output = run(narrows().arg("compare").arg(study(&dir)).args(cells));
        out(&output)
    };
    let dropped = compare("tcp-stream uncopied");
    let is_copy = |line: &&str| line.contains("receiver: copy ") && line.contains(" points (-");
    assert!(dropped.lines().any(|line| is_copy(&line)), "{dropped}");
    let same = compare("tcp-stream");
    assert_eq!(same.matches("no class of CPU time changed").count(), 2, "{same}");
}

/// One end, and no network: the kernel's threads alone.
#[test]
fn a_memory_kernel_has_a_profile_of_its_threads() {
    if !is_root() {
        return skip("a_memory_kernel_has_a_profile", "needs root");
    }
    let _alone = ALONE.lock();
    let line = ["mem", "-k", "read", "--threads", "1", "--size", "16M", "-t", "0.6", "--repeats"];
    let mut command = narrows();
    command.args(line).args(["2", "--profile", "-J", "--out"]).arg(folder("profile-mem"));
    let output = run(&mut command);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
    let ends = json["profiles"][0]["ends"].as_array().expect("ends").clone();
    let [end] = ends.as_slice() else { panic!("{ends:?}") };
    assert!(is_seen(end, "user"), "it loads, and calls nothing: {end}");
    assert!(share(end, "user") > 0.5, "{end}");
}
