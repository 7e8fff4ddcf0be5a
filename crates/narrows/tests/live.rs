//! What a user sees while a run lasts: lines of `-i` as they come, and one line on a terminal.

mod common;

use common::{children, folder, narrows, out, run, serve};
use nix::pty::{Winsize, openpty};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// A measurement over loopback, with these options.
fn measured(test: &str, agent: &common::Served, options: &[&str]) -> Command {
    let mut command = narrows();
    command.args([options[0], "127.0.0.1", "-p", &agent.port.to_string(), "--repeats", "1"]);
    command.args(&options[1..]).env("NARROWS_KEY", &agent.key).env_remove("COLUMNS");
    command.arg("--out").arg(folder(test));
    command
}

#[test]
fn a_line_of_an_interval_comes_while_the_run_lasts() {
    let agent = serve(&[], &[]);
    let mut command = measured("interval-lines", &agent, &["udp", "-b", "20M", "-i", "0.5"]);
    command.args(["-t", "3"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("pipe")).lines();
    let first = lines.next().expect("a line").expect("text");
    // The end that sends lives for as long as its run.
    assert!(!children(child.id(), "worker").is_empty(), "the run is over: {first}");
    assert!(first.starts_with("run 1 of 1      0.00-"), "{first}");
    assert!(first.contains(" s ") && first.ends_with("b/s"), "a rate with its time: {first}");
    let rest: Vec<String> = lines.map(|line| line.expect("text")).collect();
    assert!(child.wait().expect("ended").success());
    let more = rest.iter().filter(|line| line.starts_with("run 1 of 1 ")).count();
    assert!(more >= 2, "{more} more in three seconds: {rest:?}");
    assert!(rest.iter().any(|line| line.starts_with("udp-stream: ")), "the answer: {rest:?}");
}

/// Over buffers that a cache holds, so that it moves as much as it can on any machine.
fn of_memory(test: &str, options: &[&str]) -> Command {
    let mut command = narrows();
    command.args(["mem", "-k", "read", "--threads", "1", "--size", "1M", "--repeats", "1"]);
    command.args(options).arg("--out").arg(folder(test)).env_remove("COLUMNS");
    command
}

#[test]
fn a_memory_kernel_tells_its_bandwidth_while_it_runs() {
    let mut command = of_memory("interval-lines-memory", &["-i", "0.5", "-t", "3"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("pipe")).lines();
    let first = lines.next().expect("a line").expect("text");
    assert!(!children(child.id(), "worker").is_empty(), "the run is over: {first}");
    assert!(first.starts_with("run 1 of 1      0.00-") && first.ends_with("B/s"), "{first}");
    let rest: Vec<String> = lines.map(|line| line.expect("text")).collect();
    assert!(child.wait().expect("ended").success());
    let more = rest.iter().filter(|line| line.starts_with("run 1 of 1 ")).count();
    assert!(more >= 2, "{more} more in three seconds: {rest:?}");
}

/// What is told and what is stored are the same slices.
#[test]
fn what_a_kernel_tells_is_what_its_run_is_stored_with() {
    let output = run(&mut of_memory("stored-lines-memory", &["-i", "0.5", "-t", "2"]));
    let text = out(&output);
    let told: Vec<f64> = text
        .lines()
        .filter_map(|line| line.strip_prefix("run 1 of 1 ")?.split_whitespace().rev().nth(1))
        .map(|rate| rate.parse().expect("a rate"))
        .collect();
    let mean = told.iter().sum::<f64>() / told.len() as f64;
    let answer = run(&mut of_memory("stored-lines-memory", &["-i", "0.5", "-t", "2", "--json"]));
    let answer: serde_json::Value = serde_json::from_str(&out(&answer)).expect("JSON alone");
    let whole = answer["results"][0]["estimate"]["value"].as_f64().expect("a median") / 1e9;
    // Two runs, on a machine that others may use.
    assert!(told.len() >= 3 && (0.2..5.0).contains(&(mean / whole)), "{told:?}, {whole}");
}

#[test]
fn programs_get_no_lines_of_intervals() {
    let agent = serve(&[], &[]);
    let options = ["tcp", "-b", "20M", "-i", "0.2", "-t", "0.5", "--json"];
    let ran = run(&mut measured("no-interval-lines", &agent, &options));
    let answer: serde_json::Value = serde_json::from_str(&out(&ran)).expect("JSON alone");
    assert_eq!(answer["results"][0]["done"], 1);
}

#[test]
fn a_terminal_has_one_line_with_rate_and_time_left() {
    let agent = serve(&[], &[]);
    let options = ["tcp", "-b", "20M", "-t", "6"];
    one_line(measured("live-line", &agent, &options), "b/s");
}

#[test]
fn a_terminal_has_one_line_with_the_bandwidth_of_memory() {
    one_line(of_memory("live-line-memory", &["-t", "6"]), "B/s");
}

/// Runs a command on a terminal, which has one line with rates of this unit.
fn one_line(mut command: Command, unit: &str) {
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).expect("a terminal");
    command.stdout(Stdio::null()).stderr(terminal.slave);
    let mut child = command.spawn().expect("program starts");
    drop(command);
    let mut bytes = Vec::new();
    // The end of a terminal is an error: its last writer is gone.
    let _ = File::from(terminal.master).read_to_end(&mut bytes);
    assert!(child.wait().expect("ended").success());
    let text = String::from_utf8_lossy(&bytes).replace("\u{1b}[2K", "");
    let drawn: Vec<&str> = text.split(['\r', '\n']).map(str::trim_end).collect();
    let wide = drawn.iter().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "over the width");
    let has_rate = |line: &&&str| line.contains(" s left: ") && line.contains(unit);
    assert!(drawn.iter().filter(has_rate).count() > 2, "{drawn:?}");
    let last = drawn.iter().rfind(has_rate).expect("one");
    assert!(last.contains(" now, ") && last.contains("] so far; "), "{last}");
}
