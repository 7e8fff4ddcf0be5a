//! Controller and agent: over loopback for everybody, between two namespaces for root.

mod common;

use common::{err, folder, is_root, narrows, out, run, serve, skip, study, until_stored};
use narrows_hostctl::namespaces::Namespaces;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

fn json(output: &std::process::Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", err(output));
    serde_json::from_str(&out(output)).expect("JSON")
}

#[test]
fn a_worker_has_narrows_name_whatever_file_it_is_run_from() {
    // As an agent that gave its rights up runs them: by the number of an open file.
    let file = folder("named").join("4");
    std::fs::copy(env!("CARGO_BIN_EXE_narrows"), &file).expect("copy");
    let mut command = Command::new(&file);
    let piped = std::process::Stdio::piped;
    let mut worker = command.arg("worker").stdin(piped()).spawn().expect("a worker");
    let name = || std::fs::read_to_string(format!("/proc/{}/comm", worker.id())).expect("comm");
    let began = Instant::now();
    while name().trim() != "narrows" && began.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(name().trim(), "narrows");
    drop(worker.stdin.take());
    worker.wait().expect("an end");
}

#[test]
fn an_agent_on_this_host_is_labelled_loopback() {
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let dir = folder("own-host");
    let mut command = narrows();
    command.args([
        "tcp",
        "127.0.0.1",
        "-p",
        &agent.port.to_string(),
        "-t",
        "0.1",
        "--repeats",
        "2",
    ]);
    command.env("NARROWS_KEY", &agent.key).arg("--json").arg("--out").arg(&dir);
    let json = json(&run(&mut command));
    let result = &json["results"][0];
    assert_eq!((&result["path"], &result["done"]), (&"loopback".into(), &2.into()));
    assert!(result["labels"].as_array().expect("labels").contains(&"loopback".into()));
    assert!(result["estimate"]["value"].as_f64().expect("value") > 1e6);
    assert!(json["peer_host"]["cpu"].is_object());
    // The key is nowhere in what is stored.
    let stored = std::fs::read(study(&dir)).expect("study");
    assert!(!stored.windows(64).any(|bytes| bytes == agent.key.as_bytes()));
}

#[test]
fn an_agent_is_reached_over_ipv6() {
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return skip("over_ipv6", "this machine has no IPv6");
    }
    let agent = serve(&[], &["-B", "::1"]);
    for (kind, more) in [("tcp", &["-R"][..]), ("udp", &["-b", "20M"])] {
        let mut command = narrows();
        command.args([kind, "::1", "-p", &agent.port.to_string(), "-t", "0.1", "--repeats", "1"]);
        command.env("NARROWS_KEY", &agent.key).arg("--json").arg("--out").arg(folder("ipv6"));
        let json = json(&run(command.args(more)));
        let rate = json["results"][0]["estimate"]["value"].as_f64();
        assert!(rate.is_some_and(|rate| rate > 1e6), "{kind}: {rate:?}");
    }
}

/// Bytes that an interface of a namespace received and sent so far.
fn counters(enter: &str, interface: &str) -> (u64, u64) {
    let text = out(&run(Command::new("nsenter").args([enter, "cat", "/proc/net/dev"])));
    let line = text.lines().find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':'));
    let numbers: Vec<u64> =
        line.expect("interface").split_whitespace().filter_map(|n| n.parse().ok()).collect();
    (numbers[0], numbers[8])
}

#[test]
fn in_reverse_the_bytes_come_from_the_peer_and_buffers_are_as_asked() {
    if !is_root() {
        return skip("in_reverse", "needs root for network namespaces");
    }
    let namespaces = Namespaces::make().expect("namespaces");
    let enter = |path: String| format!("--net={path}");
    let (there, here) = (enter(namespaces.receiver_path()), enter(namespaces.sender_path()));
    let address = namespaces.receiver_address().to_string();
    let agent = serve(&["nsenter", &there], &["-B", &address]);
    let tcp = |more: &[&str], name: &str| {
        let (received, sent) = counters(&here, "narrows1");
        let mut command = Command::new("nsenter");
        command.args([&here, env!("CARGO_BIN_EXE_narrows"), "tcp", &address]);
        command.args(["-p", &agent.port.to_string(), "-t", "0.2", "--repeats", "1", "--json"]);
        command.env("NARROWS_KEY", &agent.key).arg("--out").arg(folder(name)).args(more);
        let json = json(&run(&mut command));
        let (received_now, sent_now) = counters(&here, "narrows1");
        (json, received_now - received, sent_now - sent)
    };
    let rate = |json: &Value| json["results"][0]["estimate"]["value"].as_f64().expect("rate");
    let (forward, received, sent) = tcp(&[], "forward");
    assert!(rate(&forward) > 1e6 && sent > 10 * received, "{sent} sent, {received} received");
    let (reverse, received, sent) = tcp(&["-R", "--buffer", "8M", "--touch"], "reverse");
    assert!(rate(&reverse) > 1e6 && received > 10 * sent, "{sent} sent, {received} received");
    let span = &reverse["results"][0]["effective"]["buffer_span_bytes"];
    assert_eq!(span.as_u64(), Some(8 << 20));
    assert_eq!(reverse["trials"][0]["params"]["stream"]["touch"], true);
    let (dropped, ..) = tcp(&["--truncate"], "truncate");
    let labels = dropped["results"][0]["labels"].to_string();
    assert!(labels.contains("truncated"), "{labels}");
    let (loaded, ..) = tcp(&["--memory-load", "read:1"], "memory-load");
    let moved = loaded["results"][0]["background"]["value"].as_f64().expect("background");
    assert!(rate(&loaded) > 1e6 && moved > 1e6, "{moved} bytes a second of the background load");
    assert_eq!(loaded["trials"][0]["params"]["beside"]["kind"], "memory-read");
    let (trips, ..) = tcp(&["--rr", "-l", "64"], "round-trips");
    assert!(trips["results"][0]["round_trips"]["p50_ns"].as_u64().is_some(), "{trips}");
}

/// Two hosts as far as the kernel is concerned: an agent in one namespace, a controller in another.
#[test]
fn two_namespaces_measure_each_other() {
    if !is_root() {
        return skip("two_namespaces", "needs root for network namespaces");
    }
    let namespaces = Namespaces::make().expect("namespaces");
    let enter = |path: String| format!("--net={path}");
    let (there, here) = (enter(namespaces.receiver_path()), enter(namespaces.sender_path()));
    let address = namespaces.receiver_address().to_string();
    let agent = serve(&["nsenter", &there], &["-B", &address]);
    let controller = |kind: &str, more: &[&str], name: &str| {
        let mut command = Command::new("nsenter");
        command.args([&here, env!("CARGO_BIN_EXE_narrows"), kind, &address]);
        command.args(["-p", &agent.port.to_string(), "-t", "0.3", "--json"]);
        command.env("NARROWS_KEY", &agent.key).arg("--out").arg(folder(name)).args(more);
        json(&run(&mut command))
    };
    let tcp =
        controller("tcp", &["--repeats", "6", "-P", "2", "-C", "reno", "-A", "0,0"], "ns-tcp");
    let result = &tcp["results"][0];
    assert_eq!((&result["path"], &result["done"]), (&"peer".into(), &6.into()));
    assert_eq!(result["effective"]["congestion"], "reno");
    assert_eq!(tcp["study"]["interface"], "narrows1");
    assert_eq!(tcp["study"]["path_mtu_bytes"], 1500);
    let estimate = &result["estimate"];
    assert!(estimate["low"].as_f64() <= estimate["value"].as_f64());
    assert!(!result["labels"].as_array().expect("labels").contains(&"few-runs".into()));
    // Paced, so that what is asked for is what must arrive, on any machine.
    let trips = controller("udp", &["--rr", "-l", "64", "--repeats", "1"], "ns-udp-rr");
    let result = &trips["results"][0];
    let (half, all) = (&result["round_trips"]["p50_ns"], &result["round_trips"]["count"]);
    assert!(half.as_u64().is_some_and(|ns| (1_000..100_000_000).contains(&ns)), "{result}");
    // A veth pair loses nothing; a late wake-up on a busy machine may pass for a loss.
    let lost = result["lost_round_trips"].as_u64().expect("lost");
    assert!(lost * 100 <= all.as_u64().expect("count"), "{lost} of {all} lost");
    let udp = controller("udp", &["-b", "20M", "-l", "1000", "--repeats", "3"], "ns-udp");
    let result = &udp["results"][0];
    let rate = result["estimate"]["value"].as_f64().expect("value");
    let lost = result["loss"]["lost_datagrams"].as_u64().expect("lost") as f64;
    let received = result["loss"]["received_datagrams"].as_u64().expect("received") as f64;
    assert!((rate + rate * lost / received) / 20e6 > 0.9, "{rate} of 20 Mb/s, {lost} lost");
    assert!(rate / 20e6 < 1.1, "{rate} of 20 Mb/s");
    assert_eq!(result["loss"]["reordered_datagrams"], 0);
}

#[test]
fn an_agent_outlives_strangers_scans_and_silence() {
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let connect = || TcpStream::connect(("127.0.0.1", agent.port)).expect("agent listens");
    // A silent caller, one that hangs up, one that talks nonsense, one with nonsense in the right
    // form.
    let silent = connect();
    drop(connect());
    for words in [
        &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
        &[0xff; 4000],
        b"NRRW\x00\x00\x00\x04\xff\xff",
        b"NRRW\x00\x00\x00\x04\x00\x30aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        b"NRRW\x00\x00\x00\x63",
    ] {
        let mut stream = connect();
        stream.set_read_timeout(Some(Duration::from_secs(8))).expect("timeout");
        let _ = stream.write_all(words);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        // At most the clear greeting: nothing of the agent's host without the key.
        assert!(answer.len() <= 8, "{words:?} was answered with {} bytes", answer.len());
    }
    let mut command = narrows();
    command.args([
        "udp",
        "127.0.0.1",
        "-p",
        &agent.port.to_string(),
        "-t",
        "0.1",
        "--repeats",
        "1",
    ]);
    command.env("NARROWS_KEY", &agent.key).arg("--json").arg("--out").arg(folder("after-scans"));
    assert_eq!(json(&run(&mut command))["results"][0]["done"], 1);
    drop(silent);
}

#[test]
fn a_second_controller_is_told_that_the_agent_is_busy() {
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let port = agent.port.to_string();
    let controller = |name: &str, seconds: &str| {
        let mut command = narrows();
        command.args(["tcp", "127.0.0.1", "-p", &port, "-t", seconds, "--repeats", "1"]);
        command.env("NARROWS_KEY", &agent.key).arg("--out").arg(folder(name));
        command
    };
    let mut first = controller("busy-1", "4").spawn().expect("controller");
    let began = Instant::now();
    // Once its study's file is there, the first controller has the agent.
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("busy-1");
    while std::fs::read_dir(&dir).expect("folder").count() == 0 {
        assert!(began.elapsed() < Duration::from_secs(10), "the first controller never began");
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = run(&mut controller("busy-2", "0.05"));
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    let refused = err(&output);
    assert!(refused.contains("another controller is measuring"), "{refused}");
    assert!(first.wait().expect("first").success());
}

#[test]
fn an_agent_that_dies_ends_the_course_and_keeps_what_was_measured() {
    let mut agent = serve(&[], &["-B", "127.0.0.1"]);
    let dir = folder("dead-agent");
    let mut command = narrows();
    command.args(["tcp", "127.0.0.1", "-p", &agent.port.to_string(), "-t", "0.2"]);
    command.args(["--repeats", "200"]).env("NARROWS_KEY", &agent.key).arg("--out").arg(&dir);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().expect("controller");
    until_stored(&dir, 1);
    agent.kill();
    let output = child.wait_with_output().expect("output");
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(err(&output).contains("hint:"), "{}", err(&output));
    let stored = narrows_store::read(&study(&dir)).expect("study");
    assert!(!stored.records.is_empty());
    let says = out(&run(narrows().arg("report").arg(study(&dir))));
    assert!(says.contains("interrupted"), "{says}");
    let (runs, file) = (stored.records.len(), study(&dir).display().to_string());
    let runs = if runs == 1 { "1 finished run".into() } else { format!("{runs} finished runs") };
    let kept = format!("kept in {file}: {runs}; read them with: narrows report {file}\n");
    assert_eq!(err(&output).matches(&kept).count(), 1, "{}", err(&output));
    // What they say may tell why the agent was lost.
    assert!(out(&output).contains("\ntcp-stream: "), "{}", out(&output));
}

/// Of the commands that make more than one file, or go on later.
#[test]
fn a_check_and_a_study_say_where_their_runs_are_when_the_agent_dies() {
    let studied = folder("dead-study");
    let definition = studied.join("dead.toml");
    let text = "name = 'dead'\nrepeats = 200\n[base]\nseconds = 0.1\nwarmup_seconds = 0\n";
    std::fs::write(&definition, text).expect("study");
    let definition = definition.display().to_string();
    let check = ["check", "--peer", "127.0.0.1", "--repeats", "100", "--seconds", "0.1"];
    let study_run = ["study", "run", &definition, "--peer", "127.0.0.1"];
    for (words, dir, more) in [
        (&check[..], folder("dead-check"), ""),
        (&study_run, studied, "; go on with: narrows study resume "),
    ] {
        let mut agent = serve(&[], &["-B", "127.0.0.1"]);
        let mut command = narrows();
        command.args(words).args(["-p", &agent.port.to_string()]).arg("--out").arg(&dir);
        command.env("NARROWS_KEY", &agent.key).stdout(std::process::Stdio::piped());
        let child = command.stderr(std::process::Stdio::piped()).spawn().expect("controller");
        until_stored(&dir, 1);
        agent.kill();
        let output = child.wait_with_output().expect("output");
        let (says, file) = (err(&output), study(&dir).display().to_string());
        assert_eq!(output.status.code(), Some(3), "{words:?}: {says}");
        assert!(says.contains(&format!("kept in {file}: ")), "{words:?}: {says}");
        let read = format!("read them with: narrows report {file}{more}");
        assert!(says.contains(&read), "{words:?}: {says}");
    }
}

#[test]
fn an_agent_that_is_started_as_root_gives_root_up_and_still_measures() {
    if !is_root() {
        return skip("an_agent_that_is_started_as_root", "needs root");
    }
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let has = |pid: u32, what: [&str; 8]| {
        let names =
            ["Uid", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"];
        for (name, what) in names.into_iter().zip(what) {
            assert_eq!(common::status(pid, name), what, "{name} of {pid}");
        }
    };
    // Real, effective, saved and file system: there is no way back.
    let nobody = "65534 65534 65534 65534";
    // CAP_NET_ADMIN is the twelfth.
    let (none, one) = ("0000000000000000", "0000000000001000");
    has(agent.pid(), [nobody, one, one, none, none, one, "1", "2"]);
    has(agent.listener(), [nobody, none, none, none, none, none, "1", "2"]);
    let mut command = narrows();
    let port = agent.port.to_string();
    command.args(["udp", "127.0.0.1", "-p", &port, "-t", "0.6", "--repeats", "1", "-b", "50M"]);
    command.env("NARROWS_KEY", &agent.key).arg("--json").arg("--out").arg(folder("no-root"));
    let child = std::thread::spawn(move || json(&run(&mut command)));
    let deadline = Instant::now() + Duration::from_secs(10);
    let worker = loop {
        assert!(Instant::now() < deadline, "no worker was seen");
        if let Some(worker) = common::children(agent.pid(), "worker").pop() {
            break worker;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    has(worker, [nobody, one, one, one, none, one, "1", "2"]);
    let json = child.join().expect("controller");
    // What the kept capabilities are for: the buffer is larger than an ordinary user may ask for.
    let most = std::fs::read_to_string("/proc/sys/net/core/rmem_max").expect("limit");
    let most: u64 = most.trim().parse().expect("number");
    let given = json["results"][0]["sink_receive_buffer_bytes"].as_u64().expect("buffer");
    assert!(given >= 8 << 20 || given > 2 * most, "{given} of {most}");
}

#[test]
fn neither_process_of_an_agent_outlives_the_other() {
    let mut agent = serve(&[], &["-B", "127.0.0.1"]);
    let until = |what: &dyn Fn() -> bool| {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !what() {
            assert!(Instant::now() < deadline, "it goes on");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let listener = agent.listener();
    agent.kill();
    // Nobody may be there to hear of its end.
    until(&|| ["", "Z (zombie)"].contains(&common::status(listener, "State").as_str()));
    let mut command = narrows();
    command.args(["serve", "-B", "127.0.0.1", "-p", "0"]).stdout(std::process::Stdio::null());
    let agent = command.stderr(std::process::Stdio::piped()).spawn().expect("an agent");
    let listener = || common::children(agent.id(), "listener").pop();
    until(&|| listener().is_some());
    // As the kernel would one that asks for a call of another architecture.
    let listener = listener().expect("a listener").to_string();
    let killed = std::process::Command::new("kill").args(["-9", &listener]).status();
    assert!(killed.expect("kill").success());
    let output = agent.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(5), "{}", err(&output));
    assert!(err(&output).contains("the listener ended early (signal: 9"), "{}", err(&output));
}

#[test]
fn a_key_file_that_others_can_read_is_refused() {
    let dir = folder("key-files");
    let file = |name: &str, text: &str, mode: u32| {
        let path = dir.join(name);
        std::fs::write(&path, text).expect("file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&path, mode).expect("mode");
        path
    };
    let open = file("open", &"5a".repeat(32), 0o644);
    let short = file("short", "5a", 0o600);
    for (path, says) in [
        (&open, "others can read it"),
        (&short, "not 64 hexadecimal digits"),
        (&dir.join("none"), "No such file"),
        (&dir, "not a file"),
    ] {
        let mut command = narrows();
        command.args(["tcp", "127.0.0.1", "--key-file"]).arg(path);
        common::fails(&mut command, 2, says);
    }
    common::fails(narrows().args(["tcp", "127.0.0.1"]), 2, "no agent key is given");
}

/// Namespaces by name, joined to one that the controller runs in; gone with the test.
struct Star {
    names: Vec<String>,
}

impl Star {
    fn new(label: &str, count: usize) -> Self {
        let ip = |words: String| {
            let done = run(Command::new("ip").args(words.split(' ')));
            assert_eq!(done.status.code(), Some(0), "ip {words}: {}", err(&done));
        };
        let hub = format!("narrows-{label}-{}-hub", std::process::id());
        let mut star = Self { names: vec![hub.clone()] };
        ip(format!("netns add {hub}"));
        for n in 0..count {
            let name = format!("narrows-{label}-{}-{n}", std::process::id());
            ip(format!("netns add {name}"));
            star.names.push(name.clone());
            ip(format!("-n {hub} link add p{n} type veth peer name uplink netns {name}"));
            ip(format!("-n {hub} addr add 198.51.100.{}/30 dev p{n}", 4 * n + 1));
            ip(format!("-n {hub} link set p{n} up"));
            ip(format!("-n {name} addr add 198.51.100.{}/30 dev uplink", 4 * n + 2));
            ip(format!("-n {name} link set uplink up"));
        }
        star
    }
    fn address(n: usize) -> String {
        format!("198.51.100.{}", 4 * n + 2)
    }
}

impl Drop for Star {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

#[test]
fn eight_peers_measure_at_the_same_time() {
    if !is_root() {
        return skip("eight_peers", "needs root for network namespaces");
    }
    if Command::new("ip").arg("-V").output().is_err() {
        return skip("eight_peers", "ip is not there");
    }
    let star = Star::new("eight", 8);
    // One key for all, in a file that only its owner can read.
    let key = folder("eight-peers-key").join("key");
    std::fs::write(&key, "5a".repeat(32)).expect("key");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&key, mode).expect("mode");
    let key = key.to_string_lossy().into_owned();
    let addresses: Vec<String> = (0..8).map(Star::address).collect();
    let _agents: Vec<_> = (0..8)
        .map(|n| {
            let enter = format!("--net=/run/netns/{}", star.names[n + 1]);
            let port = ["-B", &addresses[n], "-p", "7480", "--key-file", &key];
            common::serve_at(&["nsenter", &enter], &port)
        })
        .collect();
    for (kind, more) in [
        ("tcp", &["--fan-in"][..]),
        ("tcp", &["--bidirectional"]),
        ("udp", &["-b", "5M", "-l", "500"]),
    ] {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", star.names[0]));
        command.args([env!("CARGO_BIN_EXE_narrows"), kind]).args(&addresses);
        command.args(["-p", "7480", "--key-file", &key, "-t", "0.5", "--repeats", "2", "-J"]);
        command.env_remove("NARROWS_KEY").arg("--out").arg(folder("eight-peers")).args(more);
        let json = json(&run(&mut command));
        let results = json["results"].as_array().expect("results");
        assert_eq!(results.len(), 8);
        let rates: Vec<f64> =
            results.iter().filter_map(|result| result["estimate"]["value"].as_f64()).collect();
        assert!(rates.len() == 8 && rates.iter().all(|rate| *rate > 0.0), "{rates:?}");
        // Each direction by itself, where there are two.
        for result in results {
            let ways = ["there", "back"].map(|way| result[way]["value"].as_f64());
            let sum = result["estimate"]["value"].as_f64();
            match (ways, sum) {
                ([Some(there), Some(back)], Some(sum)) => {
                    assert!(there > 0.0 && back > 0.0, "{result}");
                    // Medians of two runs add up.
                    assert!((there + back - sum).abs() <= 1e-6 * sum, "{there} {back} {sum}");
                }
                (ways, _) => assert!(more[0] != "--bidirectional" && ways == [None, None]),
            }
        }
        // The sum is that of each repeat, between those of the lowest and the highest.
        let together = &json["together"];
        let sum = together["estimate"]["value"].as_f64().expect("sum");
        assert!((0.8..1.25).contains(&(sum / rates.iter().sum::<f64>())), "{sum} of {rates:?}");
        let overlap = together["overlap_share"].as_f64().expect("overlap");
        assert!(overlap > 0.5 && overlap <= 1.0, "{kind} {more:?}: {overlap}");
        assert_eq!(json["peer_hosts"].as_array().map(Vec::len), Some(8));
        assert_eq!(json["runs_made"], json["runs_planned"]);
        if kind == "udp" {
            assert!((36e6..42e6).contains(&sum), "{sum} of 40 Mb/s");
        }
    }
}

#[test]
fn an_agent_answers_over_both_families() {
    let agent = serve(&[], &[]);
    for address in ["127.0.0.1", "::1"] {
        if std::net::TcpListener::bind((address, 0)).is_err() {
            skip("an_agent_answers_over_both_families", address);
            continue;
        }
        let mut command = narrows();
        let port = agent.port.to_string();
        command.args(["tcp", address, "-p", &port, "-t", "0.1", "--repeats", "1", "-J"]);
        command.env("NARROWS_KEY", &agent.key).arg("--out").arg(folder("families"));
        let output = run(&mut command);
        assert_eq!(output.status.code(), Some(0), "{address}: {}", err(&output));
    }
}

/// Two agents at one address, told apart by the ports in the study's file.
#[test]
fn hosts_of_a_study_may_have_ports_of_their_own() {
    let dir = folder("ports");
    let key = dir.join("key");
    std::fs::write(&key, "5a".repeat(32)).expect("key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("mode");
    let key = key.to_string_lossy().into_owned();
    let words = ["-B", "127.0.0.1", "--key-file", &key, "--peers", "127.0.0.0/8"];
    let agents = [serve(&[], &words), serve(&[], &words)];
    let [one, other] = agents.each_ref().map(|agent| format!("127.0.0.1:{}", agent.port));
    let file = dir.join("ports.toml");
    let text = format!(
        "name = 'ports'\nrepeats = 1\n[base]\nseconds = 0.2\nbitrate = '8M'\n\
         peers = ['{one}', '{other}']\npattern = 'pair'\n"
    );
    std::fs::write(&file, text).expect("a study");
    let mut command = narrows();
    command.args(["study", "run"]).arg(&file).args(["--key-file", &key, "--out"]).arg(&dir);
    let output = run(command.args(["--format", "json"]));
    let json = json(&output);
    assert_eq!(json["results"][0]["done"], 1, "{json}");
    assert_eq!(json["study"]["peer"], format!("{one}, {other}"));
    let rate = json["results"][0]["estimate"]["value"].as_f64().expect("a rate");
    assert!((4e6..12e6).contains(&rate), "{rate}");
    // The same hosts from the command line: the pattern takes both, the other cell the first, and a
    // resumed study goes back to them.
    let file = dir.join("hosts.toml");
    let text = "name = 'hosts'\nrepeats = 1\n[base]\nseconds = 0.2\nbitrate = '8M'\n[[factor]]\n\
                name = 'test'\nlevels = [{ name = 'pair', pattern = 'pair' }, { name = 'one' }]\n";
    std::fs::write(&file, text).expect("a study");
    let peers = format!("{one},{other}");
    let mut command = narrows();
    command.args(["study", "run"]).arg(&file).args(["--key-file", &key, "--peer", &peers]);
    let first = self::json(&run(command.args(["--format", "json", "--out"]).arg(&dir)));
    let done: Vec<_> =
        first["results"].as_array().expect("cells").iter().map(|c| &c["done"]).collect();
    assert_eq!(done, [1, 1], "{first}");
    assert_eq!(first["study"]["peer"], format!("{one}, {other}"));
    let mut command = narrows();
    command.args(["study", "resume"]).arg(dir.join("hosts.narrows")).args(["--key-file", &key]);
    let again = run(command.arg("--dry-run"));
    assert!(out(&again).contains("2 cells, 0 runs fit"), "{}{}", out(&again), err(&again));
}

#[test]
fn what_an_interface_carried_is_read_where_the_route_leads() {
    if !is_root() {
        return skip("where_the_route_leads", "needs root for network namespaces");
    }
    if Command::new("ip").arg("-V").output().is_err() {
        return skip("where_the_route_leads", "ip is not there");
    }
    // The agent's host is named by an address of an interface that carries nothing, as a host is
    // that reaches a container behind a bridge of its own.
    let star = Star::new("route", 1);
    let [hub, far] = [&star.names[0], &star.names[1]];
    for words in [
        format!("-n {hub} link add idle type bridge"),
        format!("-n {hub} addr add 192.0.2.1/32 dev idle"),
        format!("-n {hub} link set idle up"),
        format!("-n {far} route add 192.0.2.1 via 198.51.100.1"),
    ] {
        let done = run(Command::new("ip").args(words.split(' ')));
        assert_eq!(done.status.code(), Some(0), "ip {words}: {}", err(&done));
    }
    let agent = serve(&["nsenter", &format!("--net=/run/netns/{hub}")], &[]);
    let port = agent.port.to_string();
    for direction in [&[][..], &["-R"]] {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{far}")).env("NARROWS_KEY", &agent.key);
        command.args([env!("CARGO_BIN_EXE_narrows"), "tcp", "192.0.2.1", "-p", &port]);
        command.args(["-t", "0.5", "--repeats", "1", "-J", "--out"]).arg(folder("route"));
        let json = json(&run(command.args(direction)));
        let result = &json["results"][0];
        assert!(result["estimate"]["value"].as_f64().is_some_and(|rate| rate > 0.0), "{result}");
    }
}
