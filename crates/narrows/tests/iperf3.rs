//! iperf3's own client against `serve --iperf3`, and its parsers against our `--format iperf3`.

mod common;

use common::{Served, err, folder, narrows, out, run, serve, serve_at, skip, status};
use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

fn is_there() -> bool {
    Command::new("iperf3").arg("-v").output().is_ok()
}

fn client(server: &Served, host: &str, words: &str) -> Value {
    let mut command = Command::new("iperf3");
    command.args(["-c", host, "-p", &server.port.to_string(), "-J"]);
    let output = run(command.args(words.split_whitespace()));
    serde_json::from_str(&out(&output)).unwrap_or_else(|_| panic!("{words}: {}", out(&output)))
}

#[test]
fn each_limit_of_the_owner_is_told_to_an_iperf3_client() {
    if !is_there() {
        return skip("each_limit", "iperf3 is not there");
    }
    let limits = "--iperf3 --max-seconds 3 --max-streams 4 --max-rate 100M --max-memory 2M";
    let words: Vec<&str> = limits.split_whitespace().collect();
    let server = serve(&[], &words);
    for (words, says) in [
        ("-t 9", "duration too long"),
        ("-t 1 -P 5", "parallel streams too large"),
        ("-t 1 -P 3 --bidir -b 1M", "parallel streams too large"),
        ("-t 1 -R", "larger than server limit"),
        ("-t 1 -R -b 60M -P 2", "larger than server limit"),
        ("-t 1 -l 1M -P 3", "block size too large"),
    ] {
        let json = client(&server, "127.0.0.1", words);
        let error = json["error"].as_str().unwrap_or_default();
        assert!(error.contains(says), "{words}: {json}");
    }
    let json = client(&server, "127.0.0.1", "-t 1 -b 40M --bidir");
    for way in ["sum_received", "sum_received_bidir_reverse"] {
        assert!(json["end"][way]["bytes"].as_u64().is_some_and(|n| n > 0), "{way}: {json}");
    }
    let cpu = json["end"]["cpu_utilization_percent"]["remote_total"].as_f64();
    assert!(cpu.is_some_and(|cpu| cpu > 0.0), "{json}");
    let json = client(&server, "127.0.0.1", "-u -t 1 -b 10M -l 1200 --bidir");
    assert!(json["end"]["streams"].as_array().is_some_and(|all| all.len() == 2), "{json}");
    // The other family, where this host has it.
    if std::net::TcpStream::connect(("::1", server.port)).is_ok() {
        let json = client(&server, "::1", "-t 1");
        assert!(json["end"]["sum_received"]["bytes"].as_u64().is_some_and(|n| n > 0), "{json}");
    }
    drop(server);
    let server = serve(&[], &["--iperf3", "--allow", "192.0.2.0/24"]);
    let json = client(&server, "127.0.0.1", "-t 1");
    assert!(json["error"].as_str().is_some_and(|why| why.contains("authorization")), "{json}");
}

#[test]
fn a_server_for_iperf3_clients_keeps_nothing_that_it_does_not_need() {
    let root = std::fs::metadata("/proc/self").is_ok_and(|own| MetadataExt::uid(&own) == 0);
    for (words, user) in [(&["--iperf3"][..], "65534"), (&["--iperf3", "--user", "root"], "0")] {
        let server = serve(&[], words);
        for (name, what) in [("NoNewPrivs", "1"), ("Seccomp", "2")] {
            assert_eq!(status(server.pid(), name), what, "{name}");
        }
        for name in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            assert_eq!(status(server.pid(), name), "0000000000000000", "{name}");
        }
        if root {
            assert_eq!(status(server.pid(), "CapBnd"), "0000000000000000");
            assert_eq!(status(server.pid(), "Uid"), [user; 4].join(" "));
        }
    }
}

#[test]
fn the_parser_that_scripts_use_reads_our_format() {
    let python = "import iperf3, sys, json\nr = iperf3.TestResult(sys.stdin.read())\n\
                  print(json.dumps([r.error, r.protocol, getattr(r, 'received_bps', None) \
                  or getattr(r, 'bps', None), r.remote_cpu_total]))";
    let there = Command::new("python3").args(["-c", "import iperf3"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        return skip("the_parser_that_scripts_use", "python's iperf3 is not there");
    }
    let agent = serve_at(&[], &["-B", "127.0.0.1", "-p", "0"]);
    for (command, words) in
        [("tcp", ""), ("tcp", "-R"), ("tcp", "--bidir"), ("udp", "-b 20M"), ("udp", "-b 20M -R")]
    {
        let dir = folder("iperf3-parser");
        let mut ours = narrows();
        ours.args([command, "127.0.0.1", "-p", &agent.port.to_string(), "-t", "0.2"]);
        ours.args(["--repeats", "1", "--format", "iperf3"]).args(words.split_whitespace());
        let output = run(ours.env("NARROWS_KEY", &agent.key).arg("--out").arg(&dir));
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let file = dir.join("out.json");
        std::fs::write(&file, &output.stdout).expect("file");
        let mut parser = Command::new("python3");
        let parsed =
            run(parser.args(["-c", python]).stdin(std::fs::File::open(&file).expect("file")));
        assert!(parsed.status.success(), "{command} {words}: {}", err(&parsed));
        let said: Value = serde_json::from_str(&out(&parsed)).expect("JSON");
        assert_eq!(said[0], Value::Null, "{said}");
        assert_eq!(said[1], command.to_uppercase(), "{said}");
        assert!(said[2].as_f64().is_some_and(|bps| bps > 0.0), "{command} {words}: {said}");
    }
}
