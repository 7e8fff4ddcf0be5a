//! Causes that are planted between two real namespaces, and named by a rule from a real run; and
//! the same path without them, where those rules stay silent.

mod common;

use common::starved::patiently;
use common::{Served, err, folder, is_root, narrows, out, run, serve, skip};
use serde_json::Value;
use std::io::{BufRead, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Two namespaces by name, as `ip netns exec` shows a process its own interfaces under /sys.
struct Path {
    near: String,
    far: String,
    agent: Option<Served>,
    _alone: MutexGuard<'static, ()>,
}

/// One path at a time: each of them uses every CPU.
static ALONE: Mutex<()> = Mutex::new(());

fn sh(text: &str) -> bool {
    let mut command = Command::new("sh");
    let status = command.args(["-c", text]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

impl Path {
    /// `None` where it cannot be made.
    fn new(name: &str) -> Option<Self> {
        if !is_root() {
            skip(name, "needs root for network namespaces");
            return None;
        }
        let names = |end: &str| format!("narrows-{name}-{}-{end}", std::process::id());
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut path = Self { near: names("a"), far: names("b"), agent: None, _alone };
        let (near, far) = (path.near.clone(), path.far.clone());
        let made = [
            format!("ip netns add {near} && ip netns add {far}"),
            format!("ip -n {near} link add v0 type veth peer name v1 netns {far}"),
            format!("ip -n {near} addr add 198.51.100.5/30 dev v0"),
            format!("ip -n {far} addr add 198.51.100.6/30 dev v1"),
            format!("ip -n {near} link set v0 up && ip -n {far} link set v1 up"),
            // bbr sends again now and then by its own measure of the path; cubic does not.
            format!("ip -n {near} route replace 198.51.100.4/30 dev v0 congctl cubic"),
            format!("ip -n {far} route replace 198.51.100.4/30 dev v1 congctl cubic"),
        ];
        assert!(made.iter().all(|line| sh(line)), "{made:?}");
        path.agent = Some(serve(&["ip", "netns", "exec", &far], &["-B", "198.51.100.6"]));
        Some(path)
    }

    fn near(&self, text: &str) -> bool {
        sh(&format!("ip netns exec {} {text}", self.near))
    }

    fn far(&self, text: &str) -> bool {
        sh(&format!("ip netns exec {} {text}", self.far))
    }

    /// Asserts that a rule finds something in a run. What else runs on this machine can hide a
    /// cause, and rules on what was measured say nothing of runs that were all disturbed: three
    /// runs at most that were not, and eight in all.
    fn has(&self, rules: &[&str], words: &[&str]) {
        let (mut seen, mut quiet) = (Vec::new(), 0);
        for _ in 0..8 {
            seen = self.found(&[], words);
            if rules.iter().any(|rule| seen.contains(&(*rule).to_owned())) {
                return;
            }
            match seen.contains(&"noisy-host".to_owned()) {
                true => std::thread::sleep(std::time::Duration::from_secs(2)),
                false => quiet += 1,
            }
            if quiet == 3 {
                break;
            }
        }
        panic!("{rules:?}: {seen:?}");
    }

    /// Names of the rules that found something in a run.
    fn found(&self, before: &[&str], words: &[&str]) -> Vec<String> {
        let agent = self.agent.as_ref().expect("agent");
        // `ip netns exec` shows the namespace's interfaces under /sys, and no control groups.
        let net = format!("--net=/run/netns/{}", self.near);
        let enter = match before.is_empty() {
            true => vec!["ip", "netns", "exec", &self.near],
            false => vec!["nsenter", &net],
        };
        let line = [before, &enter, &[env!("CARGO_BIN_EXE_narrows")], words].concat();
        let mut command = Command::new(line[0]);
        command.args(&line[1..]).args(["198.51.100.6", "-p", &agent.port.to_string(), "-J"]);
        command.args(["-t", "0.5", "--repeats", "3"]).env("NARROWS_KEY", &agent.key);
        command.arg("--out").arg(folder(&self.near));
        let output = run(&mut command);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", err(&output));
        let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
        let findings = json["findings"].as_array().expect("findings").iter();
        findings.map(|one| one["rule"].as_str().expect("rule").to_owned()).collect()
    }
}

impl Path {
    /// What the probe of a run found: the first, of the end that asks.
    fn probed(&self, address: &str) -> Value {
        let agent = self.agent.as_ref().expect("agent");
        let dir = folder(&format!("{}-probe", self.near));
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.near, env!("CARGO_BIN_EXE_narrows"), "tcp", address]);
        command.args(["-p", &agent.port.to_string(), "-t", "0.3", "--repeats", "1", "--explain"]);
        command.env("NARROWS_KEY", &agent.key).arg("--out").arg(&dir);
        let output = run(&mut command);
        // Where nothing came the verdict is bad.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", err(&output));
        let mut files = std::fs::read_dir(&dir).expect("folder").flatten();
        let study = files.find(|file| file.path().extension().is_some_and(|end| end == "narrows"));
        let study = study.expect("a study").path();
        let mut export = narrows();
        let stored = run(export.arg("export").arg(&study).args(["--format", "json"]));
        let stored: Value = serde_json::from_str(&out(&stored)).expect("JSON");
        std::fs::remove_dir_all(&dir).expect("removed");
        let records = stored["records"].as_array().expect("records").iter();
        let mut probes = records.map(|record| record["source"]["probe"].clone());
        probes.find(|probe| !probe.is_null()).expect("a probe")
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.agent = None;
        sh(&format!("ip netns del {}; ip netns del {}", self.near, self.far));
    }
}

/// Every rule that is planted here.
const PLANTED: [&str; 11] = [
    "receive-window",
    "segment-size",
    "same-cpu",
    "nic-shaped",
    "nic-offloads",
    "cold-buffers",
    "tcp-retransmits",
    "cpu-quota",
    "end-traced",
    "neighbour-changed",
    "path-bad-member",
];

#[test]
fn a_healthy_path_has_none_of_the_planted_causes() {
    let Some(path) = Path::new("planted_healthy") else { return };
    let mut found = Vec::new();
    for _ in 0..3 {
        found = path.found(&[], &["tcp", "-A", "0,1"]);
        found.retain(|rule| PLANTED.contains(&rule.as_str()));
        if found.is_empty() {
            return;
        }
    }
    panic!("{found:?}");
}

#[test]
fn causes_of_the_path_are_named() {
    let Some(path) = Path::new("planted_path") else { return };
    assert!(path.near("tc qdisc add dev v0 root tbf rate 300mbit burst 64kb latency 20ms"));
    path.has(&["nic-shaped"], &["tcp"]);
    assert!(path.near("tc qdisc del dev v0 root"));
    assert!(path.near("ip link set v0 mtu 9000"));
    path.has(&["segment-size"], &["tcp"]);
    assert!(path.near("ip link set v0 mtu 1500"));
    if path.near("ethtool -K v0 tso off gso off") {
        path.has(&["nic-offloads"], &["tcp"]);
        assert!(path.near("ethtool -K v0 tso on gso on"));
    } else {
        skip("planted_path: offloads", "ethtool is not there");
    }
    let drop = "ip saddr 198.51.100.5 meta length > 1000 numgen inc mod 200 == 0 drop";
    let chain = "'{ type filter hook input priority 0; }'";
    if path.far(&format!(
        "nft add table ip t && ip netns exec {} nft add chain ip t in {chain}",
        path.far
    )) {
        assert!(path.far(&format!("nft 'add rule ip t in {drop}'")));
        path.has(&["tcp-retransmits"], &["tcp"]);
    } else {
        skip("planted_path: loss", "nft is not there");
    }
}

#[test]
fn causes_of_the_ends_are_named() {
    patiently("causes_of_the_ends_are_named", causes_of_the_ends);
}

fn causes_of_the_ends() {
    let Some(path) = Path::new("planted_ends") else { return };
    path.has(&["same-cpu"], &["tcp", "-A", "0,0"]);
    path.has(&["cold-buffers"], &["tcp", "--buffer", "cold"]);
    // Buffers of 16 KiB could carry more over a path of tens of microseconds: the shaper limits.
    // Windows that do limit need a delay, and are planted in lab/planted.
    assert!(path.near("tc qdisc add dev v0 root tbf rate 2gbit burst 64kb latency 20ms"));
    path.has(&["nic-shaped", "own-queue"], &["tcp", "-w", "8K", "-l", "64K"]);
}

/// A child that runs until the test ends.
struct Until(Child);

impl Drop for Until {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_tracer_an_address_of_two_devices_and_a_bad_member_are_named() {
    let name = "planted_members";
    let Some(path) = Path::new(name) else { return };
    if sh("strace -o /dev/null true") {
        let found = path.found(&["strace", "-f", "-q", "-o", "/dev/null"], &["tcp"]);
        assert!(found.contains(&"end-traced".to_owned()), "{found:?}");
    } else {
        skip("planted_members: a tracer", "strace is not there, or may not trace");
    }
    // A quarter of the flows, by their ports, as a hash over four links has it.
    let bad = "tcp sport & 3 == 0 meta length > 1000 numgen random mod 20 == 0 drop";
    let chain = "'{ type filter hook input priority 0; }'";
    let enter = format!("ip netns exec {}", path.far);
    if path.far(&format!("nft add table ip t && {enter} nft add chain ip t in {chain}")) {
        assert!(path.far(&format!("nft 'add rule ip t in {bad}'")));
        path.has(&["path-bad-member"], &["tcp", "-P", "8"]);
        assert!(path.far("nft delete table ip t"));
    } else {
        skip("planted_members: a bad member", "nft is not there");
    }
    // What a second device with the address does to the table, for a moment at a time.
    let near = &path.near;
    let turns = format!(
        "m=$(ip -n {} -br link show v1 | awk '{{print $3}}'); while :; do \
         ip -n {near} neigh replace 198.51.100.6 lladdr 02:00:00:00:00:99 nud reachable dev v0; \
         sleep 0.01; ip -n {near} neigh replace 198.51.100.6 lladdr $m nud reachable dev v0; \
         sleep 0.2; done",
        path.far
    );
    let other = Until(Command::new("sh").args(["-c", &turns]).spawn().expect("sh"));
    path.has(&["neighbour-changed"], &["tcp"]);
    drop(other);
}

#[test]
fn a_probe_of_a_healthy_path_finds_nothing_wrong() {
    let Some(path) = Path::new("probe_healthy") else { return };
    assert!(path.near("ip link set v0 mtu 9000") && path.far("ip link set v1 mtu 9000"));
    let probe = path.probed("198.51.100.6");
    for way in ["there", "back"] {
        let way = &probe[way];
        assert_eq!(way["mtu"]["passes_bytes"], 9000, "{way}");
        assert!(way["mtu"]["vanishes_bytes"].is_null(), "{way}");
        assert_eq!(way["fragments"]["came"], way["fragments"]["sent"], "{way}");
    }
    let handshakes = &probe["handshakes"];
    assert_eq!(handshakes["at_once"], handshakes["tried"], "{handshakes}");
}

/// Makes a place for rules on packets as they come in, before fragments are joined.
fn filters(netns: &str) -> bool {
    let hook = "'{ type filter hook prerouting priority -450; }'";
    let nft = format!("ip netns exec {netns} nft");
    sh(&format!("{nft} add table ip t")) && sh(&format!("{nft} add chain ip t c {hook}"))
}

#[test]
fn a_probe_finds_what_is_planted_in_the_path() {
    let Some(path) = Path::new("probe_planted") else { return };
    if ![&path.near, &path.far].into_iter().all(|end| filters(end)) {
        return skip("probe_planted", "nft is not there");
    }
    // The control connection meets these too.
    assert!(path.far("nft 'add rule ip t c meta length > 1234 drop'"));
    assert!(path.near("nft 'add rule ip t c ip frag-off & 0x3fff != 0 drop'"));
    let probe = path.probed("198.51.100.6");
    let there = &probe["there"]["mtu"];
    assert_eq!((&there["passes_bytes"], &there["vanishes_bytes"]), (&1234.into(), &1235.into()));
    assert!(there["told_bytes"].is_null(), "{there}");
    assert_eq!(probe["back"]["mtu"]["passes_bytes"], 1500, "{probe}");
    let fragments = &probe["back"]["fragments"];
    assert_eq!((&fragments["came"], &fragments["whole_came"]), (&0.into(), &12.into()));
    assert!(path.far("nft flush chain ip t c") && path.near("nft flush chain ip t c"));
    assert!(path.far("nft 'add rule ip t c tcp flags syn / syn,ack numgen inc mod 4 == 0 drop'"));
    let probe = path.probed("198.51.100.6");
    let lost = 64 - probe["handshakes"]["at_once"].as_u64().expect("a count");
    assert!((10..=22).contains(&lost), "{probe}");
    assert_eq!(probe["there"]["mtu"]["passes_bytes"], 1500, "{probe}");
}

impl Path {
    /// `narrows diagnose`, to be started.
    fn diagnose(&self, words: &[&str]) -> Command {
        let agent = self.agent.as_ref().expect("agent");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.near, env!("CARGO_BIN_EXE_narrows"), "diagnose"]);
        command.args(["198.51.100.6", "-p", &agent.port.to_string()]).args(words);
        command.env("NARROWS_KEY", &agent.key);
        command.arg("--out").arg(folder(&format!("{}-diagnosis", self.near)));
        command
    }
}

#[test]
fn a_check_with_a_peer_answers_in_a_few_lines() {
    let Some(path) = Path::new("peer_check") else { return };
    assert!(path.near("tc qdisc add dev v0 root tbf rate 100mbit burst 64kb latency 20ms"));
    let agent = path.agent.as_ref().expect("agent");
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &path.near, env!("CARGO_BIN_EXE_narrows"), "check", "--peer"]);
    command.args(["198.51.100.6", "-p", &agent.port.to_string(), "-t", "0.3", "--repeats", "1"]);
    command.env("NARROWS_KEY", &agent.key).arg("--out").arg(folder(&path.near));
    let output = run(&mut command);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", err(&output));
    let text = out(&output);
    let heads: Vec<&str> = text.lines().filter(|line| !line.starts_with(' ')).collect();
    let mut names: Vec<&str> = heads.iter().filter_map(|line| line.split(':').next()).collect();
    // What was measured, and the answer; between them what of it does not fit there.
    names.retain(|name| !["limits", "advice"].contains(name));
    let wanted = ["there", "back", "round trip", "under load", ""];
    let wanted = [&wanted[..], &["answer", "bottleneck", "do", "details"]].concat();
    assert_eq!(names, wanted, "{text}");
    // What leaves is shaped, to a hundredth of what comes or less than all of it.
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(whole.contains("bottleneck: there: a queueing discipline of an end's own"), "{text}");
    assert!(heads[0].contains(" Mb/s"), "{text}");
    // A queue of 20 ms at most, the shaper's, and those of both hosts' stacks.
    assert!(
        whole.contains(" under load: grade ") && whole.contains(" longer under load "),
        "{text}"
    );
    assert!(text.lines().count() <= 24, "more than a screen: {text}");
}

#[test]
fn the_exit_code_is_of_what_was_asked_for() {
    let Some(path) = Path::new("asked") else { return };
    if !filters(&path.far) {
        return skip("asked", "nft is not there");
    }
    let data = "nft 'add rule ip t c udp length > 600";
    assert!(path.far(&format!("{data} numgen inc mod 5 == 0 drop'")));
    let agent = path.agent.as_ref().expect("agent");
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &path.near, env!("CARGO_BIN_EXE_narrows"), "udp"]);
    command.args(["198.51.100.6", "-p", &agent.port.to_string(), "-b", "20M"]);
    command.args(["-t", "0.3", "--repeats", "2", "-v"]).env("NARROWS_KEY", &agent.key);
    command.arg("--out").arg(folder(&path.near)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("started");
    let mut told = std::io::BufReader::new(child.stderr.take().expect("stderr")).lines();
    let probes = told.any(|line| line.is_ok_and(|line| line.contains("probing the path")));
    assert!(probes, "the loss was asked no further");
    // From here on nothing of what is added comes.
    assert!(path.far(&format!("{data} drop'")));
    let rest: Vec<String> = told.map_while(Result::ok).collect();
    let output = child.wait_with_output().expect("ended");
    assert!(out(&output).contains("lost 100.00 %"), "{}", out(&output));
    assert_eq!(output.status.code(), Some(0), "{rest:?}\n{}", out(&output));
}

#[test]
fn a_diagnosis_tells_which_change_moves_the_figure() {
    let Some(path) = Path::new("diagnosed") else { return };
    if !filters(&path.far) {
        return skip("diagnosed", "nft is not there");
    }
    assert!(path.far("nft 'add rule ip t c meta length > 1234 drop'"));
    // A packet of many segments is one packet for the filter.
    assert!(path.near("ip link set v0 gso_max_segs 1"));
    // No limit of time but its own.
    let output = path.diagnose(&["-J", "--repeats", "2"]).output().expect("a diagnosis");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
    let diagnosis = &json["diagnosis"];
    assert_eq!(diagnosis["limit"]["rule"], "path-mtu-black-hole", "{diagnosis}");
    let says = diagnosis["path"].to_string();
    assert!(says.contains("1234 B pass there"), "{says}");
    let changes = diagnosis["changes"].as_array().expect("changes");
    let moved: Vec<&str> = changes
        .iter()
        .filter(|tried| tried["moved"] == "up")
        .filter_map(|tried| tried["change"].as_str())
        .collect();
    assert_eq!(moved, ["segments", "direction"], "{diagnosis}");
    let left = changes.iter().filter(|tried| tried["moved"] == "left");
    assert!(left.count() >= 5, "{diagnosis}");
    assert!(diagnosis["action"].as_str().expect("words").contains("mtu"), "{diagnosis}");
}

#[test]
fn a_setting_is_back_after_a_diagnosis_was_killed() {
    let Some(path) = Path::new("put_back") else { return };
    let is = |value: &str| {
        path.near(&format!("sh -c 'test $(cat /proc/sys/net/ipv4/tcp_moderate_rcvbuf) = {value}'"))
    };
    assert!(path.near("sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0") && is("0"));
    let mut command = path.diagnose(&["--apply", "-t", "0.1"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    let within = |value: &str, seconds: u64| {
        let until = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < until && !is(value) {
            std::thread::sleep(Duration::from_millis(20));
        }
        is(value)
    };
    // Tried at its turn, among all other changes.
    let tried = within("1", 120);
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert!(tried, "the setting was never changed");
    assert!(within("0", 20), "the setting was not put back");
}

/// A group with a quota of CPU time that goes with the test.
struct Group(std::path::PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_quota_of_cpu_time_is_named() {
    let Some(path) = Path::new("planted_quota") else { return };
    let name = format!("narrows-planted-{}", std::process::id());
    // The second version of control groups, or the first.
    let places = [
        ("/sys/fs/cgroup", "cpu.max", "50000 100000"),
        ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "50000"),
    ];
    let made = places.iter().find_map(|(place, file, value)| {
        let group = Group(std::path::Path::new(place).join(&name));
        std::fs::create_dir(&group.0).ok()?;
        // The file is there when the folder is a group, and not any folder.
        let mut quota = std::fs::File::options().write(true).open(group.0.join(file)).ok()?;
        quota.write_all(value.as_bytes()).ok()?;
        Some(group)
    });
    let Some(group) = made else {
        return skip("planted_quota", "a control group for CPU time is not there");
    };
    let join = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", group.0.display());
    let found = path.found(&["sh", "-c", &join, "sh"], &["tcp"]);
    assert!(found.contains(&"cpu-quota".to_owned()), "{found:?}");
}

/// Processes that use every CPU until the test ends.
struct Hogs(Vec<Child>);

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

#[test]
fn others_on_the_cpus_are_named() {
    let Some(path) = Path::new("planted_hogs") else { return };
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let hog = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("hog");
    let hogs = Hogs((0..cpus).map(|_| hog()).collect());
    let found = path.found(&[], &["tcp"]);
    drop(hogs);
    assert!(found.contains(&"noisy-host".to_owned()), "{found:?}");
}
