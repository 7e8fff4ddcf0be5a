//! `narrows check` for real: between namespaces as root, over loopback as an ordinary user.

mod common;

use common::starved::patiently;
use common::{err, folder, is_root, narrows, out, run, skip, study, workers};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Two trials never overlap on a host, in tests neither.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn check(dir: &std::path::Path) -> Command {
    let mut command = narrows();
    command.args(["check", "--repeats", "2", "-t", "0.1", "--seed", "7", "--out"]).arg(dir);
    command
}

#[test]
fn a_check_measures_everything_and_reads_the_same_again() {
    let _alone = alone();
    patiently(
        "a_check_measures_everything_and_reads_the_same_again",
        everything_is_measured_and_read_again,
    );
}

fn everything_is_measured_and_read_again() {
    let dir = folder("check");
    let output = run(check(&dir).arg("--json"));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let printed = out(&output);
    let file = study(&dir);
    for again in [["report", "--json"], ["check", "--json"]] {
        let mut command = narrows();
        command.args(again);
        if again[0] == "check" {
            command.arg("--from");
        }
        assert_eq!(out(&run(command.arg(&file))), printed, "{again:?}");
    }
    let json: Value = serde_json::from_str(&printed).expect("JSON");
    measured(&json);
    let html = std::fs::read_to_string(dir.join("report.html")).expect("report.html");
    let again = out(&run(narrows().args(["report", "--format", "html"]).arg(&file)));
    assert_eq!(html, again);
    assert!(
        !html.contains("http://") && !html.contains("https://") && !html.contains("<script src")
    );
    // The page's own two: what sorts its tables, and the runs.
    assert_eq!(html.matches("<script").count(), 2);
    assert!(workers().is_empty());
}

fn measured(json: &Value) {
    let path = if is_root() { "namespaces" } else { "loopback" };
    assert_eq!((&json["study"]["path"], &json["study"]["seed"]), (&path.into(), &7.into()));
    assert_eq!(json["runs_made"], json["runs_planned"]);
    let results = json["results"].as_array().expect("results");
    for kind in ["memory-copy", "memory-read", "tcp-rr", "tcp-stream", "udp-stream"] {
        let result =
            results.iter().find(|r| r["label"] == kind).unwrap_or_else(|| panic!("{kind}"));
        let value = result["estimate"]["value"].as_f64().unwrap_or_else(|| panic!("{kind}"));
        assert!(value > 0.0 && result["done"] == 2, "{kind}: {result}");
        let labels: Vec<&str> =
            result["labels"].as_array().expect("labels").iter().filter_map(Value::as_str).collect();
        assert!(labels.contains(&"few-runs"), "{kind}: {labels:?}");
        let network = kind.starts_with("tcp") || kind.starts_with("udp");
        let told = labels.contains(&"no-nic") || labels.contains(&"loopback");
        assert_eq!(network, told, "{kind}: {labels:?}");
    }
    let stream = results.iter().find(|r| r["label"] == "tcp-stream").expect("tcp-stream");
    assert!(stream["effective"]["congestion"].is_string());
    assert!(stream["cpu"]["source_share"].as_f64().expect("share") > 0.1);
    let trips = results.iter().find(|r| r["label"] == "tcp-rr").expect("tcp-rr");
    let trips = &trips["round_trips"];
    assert!(trips["min_ns"].as_u64() <= trips["p50_ns"].as_u64(), "{trips}");
    assert!(trips["p50_ns"].as_u64() <= trips["max_ns"].as_u64(), "{trips}");
    let rules = json["rules"].as_array().expect("rules");
    assert_eq!(rules.len(), narrows_explain::rules::RULES.len());
    assert!(rules.iter().all(|rule| rule["verdict"].is_string()));
}

/// Bytes that the receiver counted must have crossed the interface between the namespaces.
#[test]
fn interface_counters_agree_with_what_was_received() {
    if !is_root() {
        return skip("interface_counters_agree", "needs root for network namespaces");
    }
    let _alone = alone();
    patiently("interface_counters_agree", counters_agree_with_what_was_received);
}

/// The largest receive buffer that the kernel gives a TCP flow, in bytes.
fn receive_buffer() -> u64 {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_rmem").expect("a setting");
    text.split_whitespace().last().and_then(|most| most.parse().ok()).expect("a number")
}

fn counters_agree_with_what_was_received() {
    let dir = folder("counters");
    let output = run(&mut check(&dir));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let stored = read(&study(&dir));
    let mut compared = 0;
    for (label, record) in &stored {
        if !label.starts_with("tcp-stream") {
            continue;
        }
        let receiver = &record["sink"];
        let payload: u64 = receiver["flows"]
            .as_array()
            .expect("flows")
            .iter()
            .filter_map(|f| f["bytes"].as_u64())
            .sum();
        let wire =
            receiver["readings"]["interface"]["narrows0.rx_bytes"].as_u64().expect("rx_bytes");
        // Headers add, and what the kernel holds for each flow when the window ends has crossed
        // too: in windows of 0.1 s that is much. What it held when the window began was read from
        // it.
        let flows = receiver["flows"].as_array().map_or(0, Vec::len) as u64;
        let most = (payload + payload / 4).max(payload + payload / 10 + flows * receive_buffer());
        let least = payload * 85 / 100;
        assert!((least..most).contains(&wire), "{label}: {wire} on the wire, {payload} received");
        let slices = receiver["intervals"].as_array().expect("intervals");
        let sliced: u64 = slices.iter().filter_map(|slice| slice["bytes"].as_u64()).sum();
        assert!(sliced.abs_diff(payload) <= payload / 20, "{sliced} in slices, {payload} in all");
        compared += 1;
    }
    assert!(compared >= 2);
}

/// The JSON of every record with its trial's label, read by SQLite itself.
fn read(file: &std::path::Path) -> Vec<(String, Value)> {
    let stored = narrows_store::read(file).expect("study");
    stored
        .records
        .iter()
        .map(|record| {
            let trial = stored.trials.iter().find(|t| t.id == record.trial).expect("trial");
            (trial.label.clone(), serde_json::to_value(record).expect("JSON"))
        })
        .collect()
}

#[test]
fn blocks_hold_every_workload_once_in_the_order_of_the_seed() {
    let _alone = alone();
    let orders: Vec<Vec<String>> = ["order-a", "order-b"]
        .into_iter()
        .map(|name| {
            let dir = folder(name);
            assert_eq!(run(&mut check(&dir)).status.code(), Some(0));
            read(&study(&dir)).into_iter().map(|(label, _)| label).collect()
        })
        .collect();
    assert_eq!(orders[0], orders[1], "one seed, one order");
    let half = orders[0].len() / 2;
    let sorted = |labels: &[String]| {
        let mut labels = labels.to_vec();
        labels.sort();
        labels
    };
    assert_eq!(sorted(&orders[0][..half]), sorted(&orders[0][half..]));
}

/// A long check, started in a process group of its own like a shell's foreground job.
fn long_check(dir: &std::path::Path) -> std::process::Child {
    let mut command = narrows();
    command.args(["check", "--repeats", "50", "-t", "0.1", "--out"]).arg(dir);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    command.spawn().expect("check starts")
}

fn wait_for_records(dir: &std::path::Path, least: usize) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let found = std::fs::read_dir(dir).expect("folder").flatten().map(|e| e.path());
        let file = found.filter(|p| p.extension().is_some_and(|e| e == "narrows")).last();
        let made = file.and_then(|file| narrows_store::read(&file).ok());
        if made.is_some_and(|stored| stored.records.len() >= least) {
            return;
        }
        assert!(Instant::now() < deadline, "no {least} records in a minute");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn no_workers_left() {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !workers().is_empty() {
        assert!(Instant::now() < deadline, "workers left behind: {:?}", workers());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn ctrl_c_leaves_a_valid_partial_result_and_a_clean_machine() {
    let _alone = alone();
    patiently(
        "ctrl_c_leaves_a_valid_partial_result_and_a_clean_machine",
        ctrl_c_leaves_a_valid_result,
    );
}

fn ctrl_c_leaves_a_valid_result() {
    let dir = folder("ctrl-c");
    let child = long_check(&dir);
    wait_for_records(&dir, 3);
    // As a terminal does: to the whole foreground group.
    let group = Pid::from_raw(-(child.id() as i32));
    kill(group, Signal::SIGINT).expect("signal");
    let output = child.wait_with_output().expect("output");
    assert_eq!(output.status.code(), Some(130), "{}", err(&output));
    let says = out(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(says.contains("interrupted: stopped by Ctrl-C or SIGTERM"), "{says}");
    let stored = narrows_store::read(&study(&dir)).expect("study");
    assert!(stored.records.len() >= 3 && stored.records.len() < 100);
    let failed: Vec<_> = stored.records.iter().filter(|r| r.receiver().is_none()).collect();
    assert!(failed.is_empty(), "the run that was stopped is no failed run: {failed:?}");
    assert!(dir.join("report.html").exists());
    no_workers_left();
}

#[test]
fn kill_9_loses_no_finished_run_and_leaves_no_process() {
    let _alone = alone();
    patiently("kill_9_loses_no_finished_run_and_leaves_no_process", kill_9_loses_nothing);
}

fn kill_9_loses_nothing() {
    let dir = folder("kill-9");
    let mut child = long_check(&dir);
    wait_for_records(&dir, 3);
    child.kill().expect("kill");
    child.wait().expect("wait");
    no_workers_left();
    let output = run(narrows().arg("report").arg(study(&dir)));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let says = out(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(says.contains("still running, or killed"), "{says}");
}

/// A worker that dies is a failed run, and the others go on.
#[test]
fn a_worker_that_is_killed_is_one_failed_run() {
    let _alone = alone();
    patiently("a_worker_that_is_killed_is_one_failed_run", a_killed_worker_is_one_failed_run);
}

fn a_killed_worker_is_one_failed_run() {
    let dir = folder("killed-worker");
    let mut command = narrows();
    command.args(["check", "--repeats", "2", "-t", "0.5", "--out"]).arg(&dir);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("check");
    let deadline = Instant::now() + Duration::from_secs(30);
    let victim = loop {
        if let Some(pid) = workers().first() {
            break *pid;
        }
        assert!(Instant::now() < deadline, "no worker started");
        std::thread::sleep(Duration::from_millis(5));
    };
    std::thread::sleep(Duration::from_millis(100));
    let _ = kill(Pid::from_raw(victim as i32), Signal::SIGKILL);
    let output = child.wait_with_output().expect("output");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let stored = narrows_store::read(&study(&dir)).expect("study");
    assert_eq!(stored.records.len(), stored.planned_runs());
    let failed = stored.records.iter().filter(|record| record.receiver().is_none()).count();
    assert_eq!(failed, 1);
    assert!(out(&output).contains("1 run failed"), "{}", out(&output));
}
