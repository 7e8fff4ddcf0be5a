//! What programs read: every format tells the same figures, and the stream of events tells them as
//! they come.

mod common;

use common::{Served, err, folder, is_root, narrows, out, run, serve, skip, study};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn tcp(agent: &Served, name: &str, more: &[&str]) -> Command {
    let mut command = narrows();
    command.args(["tcp", "127.0.0.1", "-p", &agent.port.to_string(), "-t", "0.25"]);
    command.env("NARROWS_KEY", &agent.key).arg("--out").arg(folder(name)).args(more);
    command
}

fn printed(command: &mut Command) -> String {
    let output = run(command);
    assert_eq!(output.status.code(), Some(0), "{command:?}: {}", err(&output));
    out(&output)
}

fn report(file: &Path, format: &str) -> String {
    printed(narrows().arg("report").arg(file).args(["--format", format]))
}

/// The JSON reader of these tests may be off by the last of 53 bits.
fn same(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-12
}

#[test]
fn every_format_tells_the_same_runs() {
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let name = "formats-same";
    let json = printed(&mut tcp(&agent, name, &["--repeats", "3", "-J"]));
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let file = study(&folder_of(name));
    let values: Vec<f64> = json["results"][0]["values"]
        .as_array()
        .expect("values")
        .iter()
        .map(|value| value["value"].as_f64().expect("number"))
        .collect();
    let csv = report(&file, "csv");
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let value = rows.headers().expect("header").iter().position(|name| name == "value");
    let column: Vec<f64> = rows
        .records()
        .map(|row| row.expect("row")[value.expect("column")].parse().expect("number"))
        .collect();
    assert_eq!(column.len(), values.len());
    assert!(column.iter().zip(&values).all(|(a, b)| same(*a, *b)), "{column:?} {values:?}");
    let iperf3: Value = serde_json::from_str(&report(&file, "iperf3")).expect("JSON");
    let received = &iperf3["end"]["sum_received"];
    let rate = received["bits_per_second"].as_f64().expect("rate");
    let median = json["results"][0]["estimate"]["value"].as_f64().expect("median");
    assert!((rate / median - 1.0).abs() < 1e-9, "of three runs the middle one: {rate} {median}");
    assert!(iperf3["end"]["sum_sent"]["bytes"].as_u64() > Some(0));
    let slices = iperf3["intervals"].as_array().expect("intervals");
    let bytes: u64 = slices.iter().filter_map(|slice| slice["sum"]["bytes"].as_u64()).sum();
    let whole = received["bytes"].as_u64().expect("bytes") as f64;
    assert!((bytes as f64 / whole - 1.0).abs() < 0.02, "{bytes} of {whole}");
    let prometheus = report(&file, "prometheus");
    let line = prometheus.lines().find(|line| line.contains("stat=\"median\"")).expect("a gauge");
    let gauge: f64 = line.rsplit(' ').next().and_then(|n| n.parse().ok()).expect("number");
    assert!(same(gauge, median), "{gauge} {median}");
    for line in prometheus.lines() {
        let sample = line.starts_with("# ") || line.starts_with("narrows_");
        assert!(sample && line.split(' ').count() >= 2, "{line}");
    }
    // The same by the options of the measuring command, which end in the same exit code.
    assert!(printed(&mut tcp(&agent, name, &["--repeats", "1", "--csv"])).starts_with("trial,"));
}

fn folder_of(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn events_come_as_the_runs_end() {
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let text = printed(&mut tcp(&agent, "formats-stream", &["--repeats", "3", "--json-stream"]));
    let events: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a document a line")).collect();
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(kinds, ["began", "run", "run", "run", "ended"]);
    let results = &events[4]["results"]["results"][0];
    for event in &events[1..4] {
        let repeat = event["repeat"].as_u64().expect("repeat") as usize;
        let (value, result) = (&event["value"], &results["values"][repeat]["value"]);
        let (value, result) = (value.as_f64().expect("value"), result.as_f64().expect("value"));
        assert!(same(value, result), "{value} {result}");
        assert!(event["intervals"].as_array().is_some_and(|slices| !slices.is_empty()));
    }
}

#[test]
fn fine_slices_say_what_they_cost_and_measuring_costs_little() {
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let text = printed(&mut tcp(
        &agent,
        "formats-fine",
        &["--repeats", "2", "-i", "1ms", "--json-stream"],
    ));
    let run: Value =
        text.lines().nth(1).and_then(|line| serde_json::from_str(line).ok()).expect("run");
    // A machine that is busy may miss some.
    assert!(run["intervals"].as_array().is_some_and(|slices| slices.len() > 50), "{run}");
    let ended: Value =
        text.lines().last().and_then(|line| serde_json::from_str(line).ok()).expect("end");
    let overhead = &ended["results"]["results"][0]["overhead"];
    let fine = overhead["keeper_cpus"].as_f64().expect("cost");
    let text = printed(&mut tcp(&agent, "formats-coarse", &["--repeats", "2", "-J"]));
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let overhead = &json["results"][0]["overhead"];
    let (coarse, controller) =
        (overhead["keeper_cpus"].as_f64().expect("cost"), overhead["controller_cpus"].as_f64());
    assert!(coarse < 0.05 && coarse <= fine, "{coarse} {fine}");
    assert!(controller.is_some_and(|cpus| cpus < 0.2), "{controller:?}");
}

#[test]
fn the_copy_has_its_share_of_the_cpu() {
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let text = printed(&mut tcp(&agent, "formats-copy", &["--repeats", "3", "--copy-share", "-J"]));
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["results"].as_array().map(Vec::len), Some(2));
    let cost = |at: usize| json["results"][at]["cpu"]["seconds_per_gigabyte"].as_f64();
    let copy = &json["copy_share"];
    let number = |key: &str| copy[key].as_f64().expect("number");
    let (with, without) =
        (number("copied_seconds_per_gigabyte"), number("dropped_seconds_per_gigabyte"));
    assert!((number("share") - (1.0 - without / with)).abs() < 1e-9, "{copy}");
    // Each cost is that of the result it names; how they compare depends on what else runs here.
    assert_eq!((Some(with), Some(without)), (cost(0), cost(1)), "{copy}");
    assert!(with > 0.0 && without > 0.0 && json["results"][1]["label"] == "tcp-stream uncopied");
}

/// An own interface with interrupts that may be moved: its address and the files of its interrupts.
fn steerable() -> Option<(String, Vec<String>)> {
    let host: Value = serde_json::from_str(&printed(narrows().args(["host", "-J"]))).ok()?;
    for nic in host["host"]["nics"].as_array()? {
        let name = nic["name"].as_str()?;
        let irqs = nic["irqs"]["value"].as_array().cloned().unwrap_or_default();
        let text = out(&run(Command::new("ip").args(["-4", "-o", "addr", "show", name])));
        let address = text.split("inet ").nth(1).and_then(|rest| rest.split('/').next());
        let files: Vec<String> = irqs
            .iter()
            .filter_map(|irq| irq["number"].as_u64())
            .map(|number| format!("/proc/irq/{number}/smp_affinity_list"))
            .collect();
        let writable = |file: &String| {
            std::fs::read_to_string(file).is_ok_and(|was| std::fs::write(file, was.trim()).is_ok())
        };
        if let (Some(address), true) = (address, !files.is_empty() && files.iter().all(writable)) {
            return Some((address.to_owned(), files));
        }
    }
    None
}

#[test]
fn interrupts_are_moved_and_put_back_even_after_kill_9() {
    if !is_root() {
        return skip("interrupts_are_moved", "needs root to move interrupts");
    }
    let Some((address, files)) = steerable() else {
        return skip("interrupts_are_moved", "no NIC here has interrupts that can be moved");
    };
    let state = || -> Vec<String> {
        files.iter().map(|file| std::fs::read_to_string(file).expect("affinity")).collect()
    };
    let before = state();
    let agent = serve(&[], &["-B", &address]);
    for kill in [false, true] {
        let mut command = narrows();
        command.args(["tcp", &address, "-p", &agent.port.to_string(), "-t", "1"]);
        command.args(["--repeats", "1", "--irq", "0"]).env("NARROWS_KEY", &agent.key);
        command.arg("--out").arg(folder("formats-irq")).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("narrows");
        let deadline = Instant::now() + Duration::from_secs(20);
        while state().iter().any(|cpus| cpus.trim() != "0") {
            assert!(Instant::now() < deadline, "never moved: {:?}", state());
            std::thread::sleep(Duration::from_millis(20));
        }
        if kill {
            child.kill().expect("kill -9");
        }
        let status = child.wait().expect("end");
        assert_eq!(status.success(), !kill);
        let deadline = Instant::now() + Duration::from_secs(5);
        while state() != before {
            assert!(Instant::now() < deadline, "{before:?} became {:?}", state());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn foreign_text_is_one_line_to_people_and_untouched_to_programs() {
    let dir = folder("formats-foreign");
    let file = dir.join("table.toml");
    let evil = "evil\\nFindings\\u202e\\u009b2J";
    let row = |(at, rate): (usize, &f64)| {
        let cpu = if at % 2 == 0 { evil } else { "plain" };
        format!("[[row]]\ndimms = {at}\ncpu1 = \"{cpu}\"\ntcp_gbps = {rate}\nudp_gbps = {rate}\n")
    };
    let rows = [61.5, 88.25, 63.5, 87.5].iter().enumerate().map(row);
    let text = format!("[source]\ntitle = 'x'\n{}", rows.collect::<String>());
    std::fs::write(&file, text).expect("file");
    let study = dir.join("foreign.narrows");
    let _ = std::fs::remove_file(&study);
    printed(narrows().arg("import").arg(&file).arg("-o").arg(&study));
    for format in ["json", "csv", "prometheus", "html"] {
        let to = dir.join(format);
        printed(narrows().arg("report").arg(&study).args(["--format", format, "-o"]).arg(&to));
        let stored = std::fs::read_to_string(&to).expect("a report");
        assert_eq!(report(&study, format), stored, "{format}: bytes differ on standard output");
    }
    assert!(report(&study, "json").contains('\u{202e}'), "this test has its character");
    let text = report(&study, "text");
    assert!(text.contains("evil"), "{text}");
    assert!(!text.contains(['\u{202e}', '\u{9b}']), "{text:?}");
    assert!(!text.lines().any(|line| line.starts_with("Findings")), "{text}");
}
