//! RDMA in software, through libfabric: real endpoints over TCP and shared memory of this host.
//! Where libfabric is not installed each test says `skipped`.

mod common;

use common::starved::patiently;
use common::{Served, err, fails, narrows, out, run, serve, skip};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Whether `narrows rdma --list` finds a provider.
fn has(provider: &str) -> bool {
    let list = out(&run(narrows().args(["rdma", "--list"])));
    let fabric = list.split_once("libfabric").map_or("", |(_, after)| after);
    fabric.lines().any(|line| line.split_whitespace().next() == Some(provider))
}

/// An agent that keeps the user: shared memory is for processes of one user.
fn agent(test: &str, provider: &str) -> Option<Served> {
    if !has(provider) {
        skip(test, &format!("no provider {provider} of libfabric"));
        return None;
    }
    let user = if common::is_root() { &["--user", "root"][..] } else { &[] };
    Some(serve(&[], user))
}

fn rdma(agent: &Served, test: &str, words: &[&str]) -> Command {
    let mut command = narrows();
    command.env("NARROWS_KEY", &agent.key).args(["rdma", "127.0.0.1", "--via", "libfabric"]);
    command.args(["-p", &agent.port.to_string(), "--repeats", "1", "--json"]);
    if !words.contains(&"-D") {
        // Ends that look without rest share two CPUs with other tests here.
        command.args(["-D", "0.6"]);
    }
    command.args(words).arg("--out").arg(common::folder(test));
    command
}

/// The one result of a measurement that went well.
fn measured(agent: &Served, test: &str, words: &[&str]) -> Value {
    let output = run(&mut rdma(agent, test, words));
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", err(&output));
    let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let result = all["results"][0].clone();
    let value = result["estimate"]["value"].as_f64().unwrap_or(0.0);
    assert!(value > 0.0 && value.is_finite(), "{words:?}: {result}");
    let labels = result["labels"].as_array().expect("labels");
    assert!(labels.iter().any(|label| label == "software"), "{words:?}: {labels:?}");
    result
}

#[test]
fn what_moves_through_libfabric_is_what_was_sent() {
    let test = "fabric_verify";
    for provider in ["tcp", "shm"] {
        let Some(agent) = agent("what_moves_through_libfabric", provider) else { continue };
        for verb in ["write", "read", "send"] {
            for more in [&["--buffer", "1M"][..], &["-q", "2", "-T", "7", "-s", "333"]] {
                let words = [&["--provider", provider, "--verb", verb, "--verify"], more].concat();
                let result = measured(&agent, test, &words);
                let compared = result["verified_bytes"].as_u64().expect("compared");
                assert!(compared > 0, "{words:?}");
            }
        }
    }
}

#[test]
fn round_trips_and_both_directions() {
    let Some(agent) = agent("round_trips_and_both_directions", "tcp") else { return };
    patiently("round_trips_and_both_directions", || round_trips_and_directions(&agent));
}

fn round_trips_and_directions(agent: &Served) {
    let test = "fabric_trips";
    for verb in ["write", "read", "send"] {
        let trip = measured(agent, test, &["--provider", "tcp", "--verb", verb, "--latency"]);
        let value =
            |key: &str| trip["round_trips"][key].as_f64().unwrap_or_else(|| panic!("{trip}"));
        assert!(value("min_ns") <= value("max_ns"), "{trip}");
        assert_eq!(trip["kind"], format!("rdma-{verb}-rr"));
    }
    for words in [&["-b"][..], &["--reverse"], &["-e"], &["--verb", "send", "--latency", "-e"]] {
        let result = measured(agent, test, &[&["--provider", "tcp"], words].concat());
        let used = &result["effective"]["rdma"];
        assert!(used["provider"].as_str().is_some_and(|name| name.contains("tcp")), "{used}");
    }
}

/// Both ends look for what comes, the target of a write too: its CPU must be told, though the
/// library may keep a thread inside one call for a whole window.
#[test]
fn the_cpu_of_a_target_that_works_is_seen() {
    let Some(agent) = agent("the_cpu_of_a_target", "tcp") else { return };
    patiently("the_cpu_of_a_target", || cpu_of_a_target(&agent));
}

fn cpu_of_a_target(agent: &Served) {
    for verb in ["write", "read"] {
        for _ in 0..3 {
            let result =
                measured(agent, "fabric_cpu", &["--provider", "tcp", "--verb", verb, "-s", "64K"]);
            let share = result["cpu"]["sink_share"].as_f64().expect("share");
            assert!(share > 0.2, "{verb}: {share}");
        }
    }
}

/// A worker that is killed in the middle of a run leaves none of its shared memory behind.
#[test]
fn a_killed_end_leaves_no_file() {
    let Some(agent) = agent("a_killed_end_leaves_no_file", "shm") else { return };
    let mut command = rdma(&agent, "fabric_killed", &["--provider", "shm", "-D", "20"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut controller = command.spawn().expect("a controller");
    let worker = || {
        let threads = std::fs::read_dir(format!("/proc/{}/task", controller.id())).ok()?;
        let children = threads
            .flatten()
            .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        let children = children.collect::<String>();
        children.split_whitespace().next()?.parse::<u32>().ok()
    };
    // Named by process, user and number.
    let shared = |pid: u32| {
        let files = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        names.filter(|name| name.starts_with(&format!("{pid}:"))).collect::<Vec<String>>()
    };
    let began = Instant::now();
    let pid = loop {
        match worker().filter(|pid| !shared(*pid).is_empty()) {
            Some(pid) => break pid,
            None => assert!(began.elapsed() < Duration::from_secs(15), "no shared memory is made"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let killed = Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill");
    assert!(killed.success() && !controller.wait().expect("ended").success());
    assert!(shared(pid).is_empty(), "{:?} is left", shared(pid));
}

#[test]
fn what_libfabric_has_not_is_refused() {
    let Some(agent) = agent("what_libfabric_has_not", "tcp") else { return };
    let test = "fabric_refusals";
    let wrong: [(&[&str], i32, &str); 6] = [
        (&["--provider", "tcp", "--verb", "atomic"], 2, "write, read and send"),
        (&["--provider", "tcp", "-x", "3"], 2, "libfabric has no port, GID"),
        (&["--provider", "tcp", "-c", "ud", "--verb", "send"], 2, "libfabric has no port, GID"),
        (&["--provider", "nosuch"], 5, "no provider nosuch"),
        (&["--provider", "tcp", "-d", "nosuch0"], 5, "not to nosuch0"),
        (&["--provider", "tcp", "--latency", "-e"], 2, "wakes no thread"),
    ];
    for (words, code, says) in wrong {
        fails(&mut rdma(&agent, test, words), code, says);
    }
    let mut verbs = narrows();
    verbs.env("NARROWS_KEY", &agent.key).args(["rdma", "127.0.0.1", "--provider", "tcp"]);
    verbs.args(["-p", &agent.port.to_string()]);
    fails(&mut verbs, 2, "a provider of libfabric");
}

#[test]
fn an_end_that_dies_is_a_failed_run() {
    let Some(mut agent) = agent("an_end_that_dies", "tcp") else { return };
    let mut command = rdma(&agent, "fabric_death", &["--provider", "tcp", "-D", "5"]);
    let child = command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("start");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    agent.kill();
    let output = child.wait_with_output().expect("end");
    assert!([Some(3), Some(5)].contains(&output.status.code()), "{}", err(&output));
    assert!(err(&output).contains("hint:"), "{}", err(&output));
}
