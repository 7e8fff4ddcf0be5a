//! Hosts that send to each other in a pattern, as three network namespaces on a bridge; the
//! controller is in a fourth.

mod common;

use common::{Served, err, folder, is_root, out, run, skip};
use narrows_model::record::Outcome;
use serde_json::Value;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Namespaces by name, the controller's first, all on one bridge; gone with the test.
struct Bridged {
    names: Vec<String>,
    key: String,
}

impl Bridged {
    fn new(label: &str, count: usize) -> Self {
        let ip = |words: String| {
            let done = run(Command::new("ip").args(words.split(' ')));
            assert_eq!(done.status.code(), Some(0), "ip {words}: {}", err(&done));
        };
        let key = folder(&format!("patterns-key-{label}")).join("key");
        std::fs::write(&key, "5a".repeat(32)).expect("key");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&key, mode).expect("mode");
        let key = key.to_string_lossy().into_owned();
        let hub = format!("narrows-{label}-{}-hub", std::process::id());
        let mut all = Self { names: vec![hub.clone()], key };
        ip(format!("netns add {hub}"));
        ip(format!("-n {hub} link add bridge type bridge"));
        ip(format!("-n {hub} addr add 198.51.100.1/24 dev bridge"));
        ip(format!("-n {hub} link set bridge up"));
        for n in 0..count {
            let name = format!("narrows-{label}-{}-{n}", std::process::id());
            ip(format!("netns add {name}"));
            all.names.push(name.clone());
            ip(format!("-n {hub} link add p{n} type veth peer name uplink netns {name}"));
            ip(format!("-n {hub} link set p{n} master bridge up"));
            ip(format!("-n {name} addr add {}/24 dev uplink", Self::address(n)));
            ip(format!("-n {name} link set uplink up"));
        }
        all
    }

    fn address(n: usize) -> String {
        format!("198.51.100.{}", n + 2)
    }

    fn agents(&self, more: &[&str]) -> Vec<Served> {
        (0..self.names.len() - 1).map(|n| self.agent(n, more)).collect()
    }

    fn agent(&self, n: usize, more: &[&str]) -> Served {
        let enter = format!("--net=/run/netns/{}", self.names[n + 1]);
        let own = Self::address(n);
        let words = ["-B", &own, "-p", "7480", "--key-file", &self.key];
        common::serve_at(&["nsenter", &enter], &[&words[..], more].concat())
    }

    /// narrows, in the controller's namespace.
    fn narrows(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.names[0]));
        command.arg(env!("CARGO_BIN_EXE_narrows")).args(words).env_remove("NARROWS_KEY");
        command.args(["-p", "7480", "--key-file", &self.key]);
        command
    }

    /// A measurement among all hosts.
    fn measure(&self, kind: &str, more: &[&str]) -> Command {
        let mut command = self.narrows(&[kind]);
        command.args((0..self.names.len() - 1).map(Self::address)).args(more);
        command.arg("--out").arg(folder(&self.names[0]));
        command
    }
}

impl Drop for Bridged {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

fn is_able(test: &str) -> bool {
    let able = is_root() && Command::new("ip").arg("-V").output().is_ok();
    if !able {
        skip(test, "needs root and ip for network namespaces");
    }
    able
}

fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", err(output));
    serde_json::from_str(&out(output)).expect("JSON")
}

#[test]
fn hosts_send_to_each_other() {
    if !is_able("hosts_send_to_each_other") {
        return;
    }
    let hosts = Bridged::new("each", 3);
    let _agents = hosts.agents(&["--peers", "198.51.100.0/24"]);
    let peer = |pair: &Value, end: &str| pair[end]["peer"].as_u64().expect("a peer");
    for (kind, pattern, wanted) in [
        ("tcp", "ring", &[(0, 1), (1, 2), (2, 0)][..]),
        ("tcp", "half-in-half-out", &[(1, 0), (0, 2)]),
        ("udp", "fan-in", &[(1, 0), (2, 0)]),
    ] {
        let words = ["--pattern", pattern, "-b", "8M", "-t", "0.5", "--repeats", "2", "-J"];
        let json = json(&run(&mut hosts.measure(kind, &words)));
        let result = &json["results"][0];
        assert_eq!((&result["done"], &result["path"]), (&2.into(), &"peer".into()), "{result}");
        let pairs = &json["pairs"][0];
        let each = pairs["each"].as_array().expect("pairs");
        let ends: Vec<(u64, u64)> =
            each.iter().map(|pair| (peer(pair, "from"), peer(pair, "to"))).collect();
        assert_eq!(ends, wanted, "{pattern}");
        let rates: Vec<f64> =
            each.iter().filter_map(|pair| pair["estimate"]["value"].as_f64()).collect();
        assert!(rates.iter().all(|rate| (4e6..12e6).contains(rate)), "{pattern}: {rates:?}");
        let sum = result["estimate"]["value"].as_f64().expect("a sum");
        let ratio = sum / rates.iter().sum::<f64>();
        assert!((0.9..1.1).contains(&ratio), "{pattern}: {sum} of {rates:?}");
        let overlap = pairs["overlap_share"].as_f64().expect("an overlap");
        assert!(overlap > 0.5 && overlap <= 1.0, "{pattern}: {overlap}");
        assert_eq!(pairs["apart"], 0);
    }
    let places = ["-A", "sender=0/all,receiver=0", "--pattern", "fan-out"];
    let words = [&places[..], &["-b", "8M", "-t", "0.3", "--repeats", "1"]].concat();
    let told = run(&mut hosts.measure("tcp", &words));
    let text = out(&told);
    assert!(text.contains("198.51.100.2 to 198.51.100.4: "), "{text}");
    assert!(text.contains("2 pairs at once: their windows had at least"), "{text}");
}

#[test]
fn twenty_four_hosts_send_at_once() {
    if !is_able("twenty_four_hosts_send_at_once") {
        return;
    }
    let hosts = Bridged::new("crowd", 24);
    let _agents = hosts.agents(&["--peers", "198.51.100.0/24"]);
    for pattern in ["fan-in", "ring"] {
        let words = ["--pattern", pattern, "-b", "2M", "-t", "1", "--repeats", "1", "-J"];
        let json = json(&run(&mut hosts.measure("tcp", &words)));
        let pairs = &json["pairs"][0];
        let overlap = pairs["overlap_share"].as_f64().expect("an overlap");
        assert!(overlap > 0.5 && pairs["apart"] == 0, "{pattern}: {overlap}");
        let each = pairs["each"].as_array().expect("pairs");
        assert_eq!(each.len(), if pattern == "ring" { 24 } else { 23 });
        assert!(each.iter().all(|pair| pair["estimate"]["value"].is_f64()), "{pattern}: {each:?}");
    }
}

#[test]
fn agents_meet_no_others_unless_their_owners_say_so() {
    if !is_able("agents_meet_no_others") {
        return;
    }
    let hosts = Bridged::new("none", 2);
    let _agents = hosts.agents(&[]);
    let words = ["--pattern", "fan-in", "-t", "0.2", "--repeats", "1"];
    let refused = run(&mut hosts.measure("tcp", &words));
    // Before the first run, and of the agent whose owner did not say so.
    assert_eq!(refused.status.code(), Some(3), "{}", err(&refused));
    let text = err(&refused);
    assert!(text.contains("198.51.100.2") && text.contains("serve --peers NET"), "{text}");
    assert!(!out(&refused).contains("no value"), "{}", out(&refused));
    let unnamed = run(&mut hosts.measure("tcp", &["--pattern", "pair", "-A", "0,0"]));
    assert!(err(&unnamed).contains("say sender=, receiver= or HOST="), "{}", err(&unnamed));
    let few = run(&mut hosts.measure("tcp", &["--pattern", "ring"]));
    assert_eq!(few.status.code(), Some(2));
    assert!(err(&few).contains("ring needs 3 hosts or more, and 2 are named"), "{}", err(&few));
}

#[test]
fn an_agent_that_dies_in_a_pattern_is_named() {
    if !is_able("an_agent_that_dies") {
        return;
    }
    let hosts = Bridged::new("dies", 3);
    let mut agents = hosts.agents(&["--peers", "198.51.100.0/24"]);
    let words = ["--pattern", "ring", "-b", "8M", "-t", "4", "--repeats", "1"];
    let mut command = hosts.measure("tcp", &words);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    thread::sleep(Duration::from_secs(2));
    agents[1].kill();
    let ended = running.wait_with_output().expect("its end");
    assert_ne!(ended.status.code(), Some(0));
    let text = out(&ended) + &err(&ended);
    assert!(text.contains("198.51.100.3"), "{text}");
}

const STUDY: &str = r#"
name = "among"
about = "Who can send to whom at once?"
repeats = 2

[base]
seconds = 0.3
warmup_seconds = 0.2
bitrate = "8M"
peers = ["198.51.100.2", "198.51.100.3", "198.51.100.4"]

[[factor]]
name = "pattern"
levels = [
    { name = "pair", pattern = "pair", peers = ["198.51.100.2", "198.51.100.3"] },
    { name = "fan-in", pattern = "fan-in" },
    { name = "ring", pattern = "ring" },
]
"#;

#[test]
fn a_study_has_patterns_and_a_host_that_is_away_costs_its_cells_alone() {
    if !is_able("a_study_has_patterns") {
        return;
    }
    let hosts = Bridged::new("study", 3);
    let at = folder("patterns-study");
    let file = at.join("among.toml");
    std::fs::write(&file, STUDY).expect("a study");
    let (file, out_at) = (file.to_string_lossy(), at.to_string_lossy());
    let more = ["--peers", "198.51.100.0/24"];
    let mut agents: Vec<Served> = (0..2).map(|n| hosts.agent(n, &more)).collect();
    let started = Instant::now();
    let words = ["study", "run", &file, "--out", &out_at, "--format", "json"];
    let first = run(&mut hosts.narrows(&words));
    assert!(err(&first).contains("198.51.100.4 are left out"), "{}", err(&first));
    assert!(started.elapsed() < Duration::from_secs(60), "the host is named within a minute");
    let done = |output: &Output| -> Vec<u64> {
        let results = json(output)["results"].as_array().expect("results").clone();
        results.iter().map(|cell| cell["done"].as_u64().unwrap_or(0)).collect()
    };
    assert_eq!(done(&first), [2, 0, 0]);
    agents.push(hosts.agent(2, &more));
    let results = at.join("among.narrows");
    let results = results.to_string_lossy();
    let dry = out(&run(&mut hosts.narrows(&["study", "resume", &results, "--dry-run"])));
    assert!(dry.contains("3 cells, 4 runs fit this machine"), "{dry}");
    let second = run(&mut hosts.narrows(&["study", "resume", &results, "--format", "json"]));
    assert_eq!(done(&second), [2, 2, 2]);
    let pairs = json(&second)["pairs"].as_array().expect("pairs").clone();
    let labels: Vec<&str> = pairs.iter().filter_map(|one| one["label"].as_str()).collect();
    assert_eq!(labels, ["fan-in", "ring"]);
    for one in &pairs {
        let fairness = one["fairness"].as_f64().expect("an index");
        assert!((0.8..=1.0).contains(&fairness), "all pairs have the same pace: {one}");
        let slowest = &one["slowest"];
        assert!(slowest["of"] == 2 || slowest.is_null(), "{one}");
    }
    let text = out(&run(common::narrows().args(["report", &results])));
    let table = text.split_once("Pairs that ran at once").expect("a table of pairs").1;
    let row = table.lines().find(|line| line.trim_start().starts_with("ring ")).expect("a ring");
    assert_eq!(row.matches("Mb/s").count(), 3, "a rate for each of three pairs: {text}");
    assert!(table.contains("fairness") && row.matches(" > ").count() == 3, "{text}");
}

#[test]
fn an_agent_that_dies_in_a_study_costs_its_cells_alone() {
    if !is_able("an_agent_that_dies_in_a_study") {
        return;
    }
    let hosts = Bridged::new("cells", 3);
    let at = folder("patterns-cells");
    let file = at.join("among.toml");
    std::fs::write(&file, STUDY).expect("a study");
    let (file, out_at) = (file.to_string_lossy(), at.to_string_lossy());
    let mut agents = hosts.agents(&["--peers", "198.51.100.0/24"]);
    let words = ["study", "run", &file, "--out", &out_at, "--format", "json"];
    let mut command = hosts.narrows(&words);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    // The agents are reached before there is a file.
    let results = at.join("among.narrows");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !results.exists() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    agents[2].kill();
    let first = running.wait_with_output().expect("its end");
    assert_eq!(first.status.code(), Some(3), "{}", err(&first));
    let says = err(&first);
    assert!(says.contains("host 198.51.100.4 is gone"), "{says}");
    assert!(says.contains("narrows study resume"), "{says}");
    let summaries: Value = serde_json::from_str(&out(&first)).expect("JSON");
    let done = |cell: usize| summaries["results"][cell]["done"].as_u64().unwrap_or(0);
    assert_eq!(done(0), 2, "the pair of the other hosts goes on: {summaries}");
    assert!(done(1) + done(2) < 4, "{summaries}");
    let _back = hosts.agent(2, &["--peers", "198.51.100.0/24"]);
    let results = results.to_string_lossy();
    let second = run(&mut hosts.narrows(&["study", "resume", &results, "--format", "json"]));
    let cells = json(&second)["results"].as_array().expect("results").clone();
    assert!(cells.iter().all(|cell| cell["done"] == 2), "{}", out(&second));
}

#[test]
fn hosts_that_cannot_be_had_are_each_named() {
    if !is_able("hosts_that_cannot_be_had") {
        return;
    }
    let hosts = Bridged::new("named", 1);
    let _agents = hosts.agents(&["--peers", "198.51.100.0/24"]);
    let started = Instant::now();
    let own = Bridged::address(0);
    let names = ["tcp", &own, "nowhere.invalid", "198.51.100.9", &own, "--pattern", "fan-in"];
    let refused = run(&mut hosts.narrows(&names));
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    assert_ne!(refused.status.code(), Some(0));
    let says = err(&refused);
    for name in ["nowhere.invalid", "198.51.100.9", "is the same agent as 198.51.100.2"] {
        assert!(says.contains(name), "{name}: {says}");
    }
}

/// Of many pairs each has its round trips, and both directions their rates.
#[test]
fn hosts_ask_each_other_and_send_both_ways() {
    if !is_able("hosts_ask_each_other_and_send_both_ways") {
        return;
    }
    let hosts = Bridged::new("trips", 3);
    let _agents = hosts.agents(&["--peers", "198.51.100.0/24"]);
    for (kind, pattern, count) in [("tcp", "fan-in", 2), ("udp", "ring", 3)] {
        let words = ["--rr", "--per-second", "400", "--pattern", pattern, "-t", "0.5"];
        let words = [&words[..], &["--repeats", "2", "-J"]].concat();
        let json = json(&run(&mut hosts.measure(kind, &words)));
        let (result, pairs) = (&json["results"][0], &json["pairs"][0]);
        assert_eq!((&result["metric"], &result["done"]), (&"round-trip-p50".into(), &2.into()));
        let each = pairs["each"].as_array().expect("pairs");
        assert_eq!(each.len(), count, "{pattern}");
        let medians: Vec<f64> =
            each.iter().filter_map(|p| p["estimate"]["value"].as_f64()).collect();
        let (low, high) = medians.iter().fold((f64::MAX, 0f64), |(l, h), m| (l.min(*m), h.max(*m)));
        let all = result["estimate"]["value"].as_f64().expect("a time");
        assert!(medians.len() == count && low > 0.0, "{pattern}: {medians:?}");
        // Each end asks as often, so that half of all trips lies among the pairs' halves.
        assert!((0.5 * low..=2.0 * high).contains(&all), "{pattern}: {all} of {medians:?}");
        // 400 a second of each pair, in all.
        let trips = result["trips_per_second"]["value"].as_f64().expect("a rate");
        let wanted = 400.0 * count as f64;
        assert!((0.8 * wanted..1.2 * wanted).contains(&trips), "{pattern}: {trips}");
        assert!(pairs["fairness"].is_null(), "{pairs}");
    }
    let words = ["--pattern", "fan-out", "--bidirectional", "-b", "8M", "-t", "0.5"];
    let words = [&words[..], &["--repeats", "2", "-J"]].concat();
    for kind in ["tcp", "udp"] {
        let json = json(&run(&mut hosts.measure(kind, &words)));
        let (result, pairs) = (&json["results"][0], &json["pairs"][0]);
        let rates = |key: &str| -> Vec<f64> {
            let each = pairs["each"].as_array().expect("pairs").iter();
            each.filter_map(|pair| pair[key]["value"].as_f64()).collect()
        };
        let (there, back) = (rates("estimate"), rates("back"));
        let near = |rate: &f64| (4e6..12e6).contains(rate);
        assert!(there.len() == 2 && there.iter().all(near), "{kind}: {there:?}");
        assert!(back.len() == 2 && back.iter().all(near), "{kind}: {back:?}");
        let sum = result["estimate"]["value"].as_f64().expect("a sum");
        let ratio = sum / there.iter().chain(&back).sum::<f64>();
        assert!((0.9..1.1).contains(&ratio), "{kind}: {sum} of {there:?} and {back:?}");
        let all_back = result["back"]["value"].as_f64().expect("what went back");
        let ratio = all_back / back.iter().sum::<f64>();
        assert!((0.9..1.1).contains(&ratio), "{kind}: {all_back} of {back:?}");
    }
}

#[test]
fn an_agent_starts_the_tools_that_its_owner_lends_and_no_others() {
    if !is_able("an_agent_starts_the_tools") {
        return;
    }
    if Command::new("iperf3").arg("-v").output().is_err() {
        return skip("an_agent_starts_the_tools", "iperf3 is not there");
    }
    let all = Bridged::new("tools", 1);
    let dir = folder(&all.names[0]);
    let text = "name = 'tools'\nrepeats = 2\n[base]\nseconds = 1\nwarmup_seconds = 0\n\
                engine = 'iperf3'\n[[factor]]\nname = 'flows'\nlevels = [{name='one', parallel=1}, \
                {name='three', parallel=3}]\n";
    let file = dir.join("tools.toml");
    std::fs::write(&file, text).expect("a study");
    let study = |agent: &[&str]| {
        let _ = std::fs::remove_file(dir.join("tools.narrows"));
        let _agent = all.agent(0, agent);
        let mut command = all.narrows(&["study", "run"]);
        command.arg(&file).args(["--peer", &Bridged::address(0), "--out"]).arg(&dir);
        let output = run(&mut command);
        let stored = narrows_store::read(&dir.join("tools.narrows"));
        let stored = stored.unwrap_or_else(|why| panic!("{why}: {}", err(&output)));
        stored.records.iter().map(|record| record.outcome.clone()).collect::<Vec<_>>()
    };
    let lent = study(&["--engines", "iperf3"]);
    assert!(lent.len() == 4 && lent.iter().all(|of| matches!(of, Outcome::Done)), "{lent:?}");
    // Another tool is lent, which is not this one; and one is lent for shorter runs.
    for (agent, says) in [
        (&["--engines", "nuttcp"][..], "refused"),
        (&["--engines", "iperf3", "--max-streams", "2"], "3 flows, and the agent's owner allows 2"),
    ] {
        let made = study(agent);
        let fails = |of: &Outcome| matches!(of, Outcome::Failed { why, .. } if why.contains(says));
        assert!(made.iter().any(fails), "{agent:?}: {made:?}");
    }
}

/// An application that hangs on latency, with a neighbour that moves memory all the while.
#[test]
fn redis_is_measured_alone_and_beside_a_memory_job() {
    if !is_able("redis_is_measured") {
        return;
    }
    if Command::new("redis-benchmark").arg("--version").output().is_err() {
        return skip("redis_is_measured", "redis-benchmark is not there");
    }
    let all = Bridged::new("redis", 1);
    let dir = folder(&all.names[0]);
    let _agent = all.agent(0, &["--engines", "redis"]);
    let text = "name = 'redis'\nrepeats = 2\n[base]\nseconds = 0.3\nload = 'tcp-latency'\n\
                engine = 'redis'\n[[factor]]\nname = 'neighbour'\nlevels = [{name='none'}, \
                {name='one core', memory_load='copy:1'}]\n";
    let file = dir.join("redis.toml");
    std::fs::write(&file, text).expect("a study");
    let mut command = all.narrows(&["study", "run"]);
    command.arg(&file).args(["--peer", &Bridged::address(0), "--format", "json", "--out"]);
    let output = run(command.arg(&dir));
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|why| panic!("{why}: {}", err(&output)));
    let results = report["results"].as_array().expect("results");
    assert_eq!(results.len(), 2, "{}", err(&output));
    for result in results {
        let label = result["label"].as_str().expect("a label");
        assert_eq!((&result["done"], &result["estimate"]["unit"]), (&2.into(), &"ns".into()));
        let request_ns = result["estimate"]["value"].as_f64().expect("a request");
        assert!((1e3..1e9).contains(&request_ns), "{label}: {request_ns}");
        let job = result["background"]["value"].as_f64();
        assert_eq!(
            job.is_some_and(|rate| rate > 1e6),
            label.contains("one core"),
            "{label} {job:?}"
        );
    }
}
