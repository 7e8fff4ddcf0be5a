//! `narrows mem`: kernels, latency by size and load, and what it refuses.

mod common;

use common::{err, fails, folder, narrows, out, run};
use serde_json::Value;
use std::path::Path;

fn mem(dir: &Path, arguments: &[&str]) -> Value {
    let mut command = narrows();
    command.args(["mem", "--json", "--repeats", "1", "-t", "0.1", "--out"]).arg(dir);
    let output = run(command.args(arguments));
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", err(&output));
    serde_json::from_str(&out(&output)).expect("JSON")
}

fn result<'a>(json: &'a Value, label: &str) -> &'a Value {
    let results = json["results"].as_array().expect("results");
    results.iter().find(|result| result["label"] == label).unwrap_or_else(|| panic!("{label}"))
}

fn median(json: &Value, label: &str) -> f64 {
    result(json, label)["estimate"]["value"].as_f64().unwrap_or_else(|| panic!("{label}: no value"))
}

#[test]
fn every_kernel_measures_and_states_what_crosses_the_bus() {
    let dir = folder("mem-kernels");
    let all = "read,read-random,write,write-nt,copy,copy-nt,memcpy,triad";
    let json = mem(&dir, &["-k", all, "--threads", "1", "--size", "16M"]);
    for (kernel, percent) in [
        ("read", Some(100)),
        ("read-random", None),
        ("write", Some(200)),
        ("write-nt", Some(100)),
        ("copy", Some(150)),
        ("copy-nt", Some(100)),
        ("memcpy", None),
        ("triad", Some(133)),
    ] {
        let label = format!("{kernel}, 1 thread");
        assert!(median(&json, &label) > 0.0, "{label}");
        let effective = &result(&json, &label)["effective"];
        assert_eq!(effective["bus_percent_of_counted"].as_u64(), percent, "{label}");
        let span = effective["buffer_span_bytes"].as_u64().expect("span");
        assert!((15 << 20..=16 << 20).contains(&span), "{label}: {span}");
    }
    let report = std::fs::read_to_string(dir.join("report.html")).expect("report");
    assert!(report.contains("Memory bandwidth"));
}

/// The same chain of loads is faster in the first-level cache than over a working set far beyond
/// the second: on any machine, by far more than noise.
#[test]
fn latency_rises_with_the_working_set_and_small_ones_are_called_cache() {
    let json = mem(&folder("mem-latency"), &["--latency", "--size", "64M"]);
    let (small, large) = (median(&json, "latency, 16 KiB"), median(&json, "latency, 64 MiB"));
    assert!(large > 2.0 * small, "{small} ns in 16 KiB, {large} ns in 64 MiB");
    let labels = result(&json, "latency, 16 KiB")["labels"].to_string();
    assert!(labels.contains("cache-resident"), "{labels}");
}

#[test]
fn loaded_latency_has_ten_rates_that_fall_with_the_pause() {
    let online = std::thread::available_parallelism().map_or(1, usize::from);
    if online < 2 {
        fails(narrows().args(["mem", "--loaded"]), 2, "needs two CPUs");
        return;
    }
    let json = mem(&folder("mem-loaded"), &["--loaded", "--size", "32M"]);
    let load = |pause: &str| {
        let label = format!("loaded latency, pause {pause} ns");
        result(&json, &label)["background"]["value"].as_f64().expect("background")
    };
    assert_eq!(json["results"].as_array().map(Vec::len), Some(10));
    assert!(load("0") > 2.0 * load("25600"), "{} and {}", load("0"), load("25600"));
}

#[test]
fn what_cannot_be_measured_is_refused_by_name() {
    let dir = folder("mem-refused");
    let mem = |arguments: &[&str]| {
        let mut command = narrows();
        command.args(["mem", "--repeats", "1", "-t", "0.05", "--out"]).arg(&dir).args(arguments);
        command
    };
    fails(&mut mem(&["--node", "999"]), 2, "node 999");
    fails(&mut mem(&["--memory-node", "999"]), 2, "there is no node 999");
    fails(&mut mem(&["-k", "read", "--threads", "1000"]), 2, "1000 threads");
    // This machine's nodes are counted as the program does, by its own description.
    let host = out(&run(narrows().args(["host", "--json"])));
    let host: Value = serde_json::from_str(&host).expect("JSON");
    if host["host"]["nodes"].as_array().is_none_or(|nodes| nodes.len() < 2) {
        fails(&mut mem(&["--matrix"]), 2, "needs two nodes");
        let both = run(&mut mem(&["--matrix", "-k", "read", "--threads", "1", "--size", "1M"]));
        assert!(err(&both).contains("no matrix"), "{}", err(&both));
    }
    fails(&mut mem(&["-k", "swim"]), 2, "swim");
    fails(&mut mem(&["-k", "read", "--vector", "mmx"]), 2, "mmx");
    fails(&mut mem(&["-k", "read", "--size", "1K"]), 2, "4 KiB or more");
    // Huge pages that nobody set aside: the runs fail, and say for want of what.
    let huge = std::fs::read_to_string("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages");
    if huge.is_ok_and(|pages| pages.trim() == "0") {
        fails(&mut mem(&["-k", "read", "--threads", "1", "--pages", "1G"]), 5, "in 1G pages");
    }
}

/// On one node as well: the thread's own memory and that of node 0, by kernel, and what a copy
/// at that rate lets a core do.
#[test]
fn numademos_table_has_a_row_for_each_place_and_says_what_it_lets_packets_do() {
    let dir = folder("mem-numademo");
    let mut command = narrows();
    command.args(["mem", "--numademo", "--repeats", "1", "-t", "0.05", "--out"]).arg(&dir);
    let output = run(&mut command);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", err(&output));
    let text = out(&output);
    let table = text.split("\nnumademo\n").nth(1).unwrap_or_else(|| panic!("{text}"));
    let mut lines = table.lines();
    let head = lines.next().expect("a head");
    for kernel in ["memcpy", "write", "triad", "read"] {
        assert!(head.contains(kernel), "{head}");
    }
    for place in ["local memory", "interleaved memory", "memory on node 0"] {
        let row = table.lines().find(|line| line.trim_start().starts_with(place));
        let row = row.unwrap_or_else(|| panic!("{place}: {table}"));
        let figures: Vec<f64> = row.split_whitespace().filter_map(|w| w.parse().ok()).collect();
        assert!(figures.len() >= 4 && figures.iter().any(|mb_s| *mb_s > 100.0), "{row}");
    }
    assert!(table.contains("smallest packets by poll mode"), "{table}");
}

/// What arithmetic demands of any machine: one line at least is in flight, and as many loads side
/// by side need no more time each than one alone does, beyond noise.
#[test]
fn lines_in_flight_are_counted_and_what_is_not_measured_is_said() {
    let dir = folder("mem-credits");
    let mut command = narrows();
    command.args(["credits", "--json", "--repeats", "1", "--size", "16M", "--out"]).arg(&dir);
    let output = run(&mut command);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
    let curve = json["curve"].as_array().expect("a curve");
    let chains: Vec<u64> = curve.iter().filter_map(|point| point["chains"].as_u64()).collect();
    assert_eq!(chains, [1, 2, 4, 8, 12, 16, 24, 32, 48, 64]);
    let found = &json["core_reads"];
    let alone = curve[0]["load_ns"]["value"].as_f64().expect("a time");
    let least = curve.iter().filter_map(|point| point["load_ns"]["value"].as_f64());
    let least = least.fold(f64::INFINITY, f64::min);
    let lines = found["lines"]["value"].as_f64().expect("lines");
    assert!((lines - alone / least).abs() < 1e-6 * lines && lines >= 0.8, "{found}");
    let missing = json["not_measured"].to_string();
    assert!(missing.contains("device writes") && missing.contains("counters"), "{missing}");
}
