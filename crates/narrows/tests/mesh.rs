//! A mesh among eight hosts, as network namespaces on a bridge, with a host whose sending is shaped
//! and one without an agent: both are named, and all others keep their figures.

mod common;

use common::starved::patiently;
use common::{Served, err, folder, is_root, out, run, skip};
use serde_json::Value;
use std::process::Command;

/// Namespaces by name, the controller's first; gone with the test.
struct Bridged(Vec<String>);

impl Bridged {
    fn new(label: &str, count: usize) -> Self {
        let hub = format!("narrows-{label}-{}-hub", std::process::id());
        let mut all = Self(vec![hub.clone()]);
        ip(&format!("netns add {hub}"));
        ip(&format!("-n {hub} link add bridge type bridge"));
        ip(&format!("-n {hub} addr add 198.51.100.1/24 dev bridge"));
        ip(&format!("-n {hub} link set bridge up"));
        for n in 0..count {
            let name = format!("narrows-{label}-{}-{n}", std::process::id());
            ip(&format!("netns add {name}"));
            all.0.push(name.clone());
            ip(&format!("-n {hub} link add p{n} type veth peer name uplink netns {name}"));
            ip(&format!("-n {hub} link set p{n} master bridge up"));
            ip(&format!("-n {name} addr add {}/24 dev uplink", address(n)));
            ip(&format!("-n {name} link set uplink up"));
        }
        all
    }

    fn inside(&self, at: usize) -> String {
        format!("--net=/run/netns/{}", self.0[at])
    }

    fn agent(&self, n: usize, key: &str) -> Served {
        let (enter, own) = (self.inside(n + 1), address(n));
        let words = ["-B", &own, "-p", "7480", "--key-file", key, "--peers", "198.51.100.0/24"];
        common::serve_at(&["nsenter", &enter], &words)
    }

    /// narrows, in the controller's namespace.
    fn mesh(&self, key: &str, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(self.inside(0)).arg(env!("CARGO_BIN_EXE_narrows")).arg("mesh");
        command.args(["-p", "7480", "--key-file", key, "--out"]).arg(folder(&self.0[0]));
        command.args(words).env_remove("NARROWS_KEY");
        command
    }
}

impl Drop for Bridged {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

fn ip(words: &str) {
    let done = run(Command::new("ip").args(words.split(' ')));
    assert_eq!(done.status.code(), Some(0), "ip {words}: {}", err(&done));
}

fn address(n: usize) -> String {
    format!("198.51.100.{}", n + 2)
}

fn key(name: &str) -> String {
    let key = folder(name).join("key");
    std::fs::write(&key, "5a".repeat(32)).expect("key");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&key, mode).expect("mode");
    key.to_string_lossy().into_owned()
}

const SLOW: usize = 2;
const DEAD: usize = 5;

#[test]
fn a_slow_and_a_dead_host_are_named_and_the_others_kept() {
    // Words to go come late where others have the CPUs, and windows of a round lie apart.
    patiently("a_slow_and_a_dead_host_are_named", slow_and_dead_are_named);
}

fn slow_and_dead_are_named() {
    let able = is_root() && Command::new("tc").arg("-V").output().is_ok();
    if !able {
        skip("a_slow_and_a_dead_host_are_named", "needs root, ip and tc");
        return;
    }
    let hosts = Bridged::new("mesh", 8);
    let shaped = "qdisc add dev uplink root tbf rate 2mbit burst 16k latency 200ms";
    let enter = hosts.inside(SLOW + 1);
    let done = run(Command::new("nsenter").arg(enter).arg("tc").args(shaped.split(' ')));
    if done.status.code() != Some(0) {
        skip("a_slow_and_a_dead_host_are_named", "this kernel has no tbf");
        return;
    }
    let key = key("mesh-key");
    let _agents: Vec<Served> =
        (0..8).filter(|n| *n != DEAD).map(|n| hosts.agent(n, &key)).collect();
    let words = ["198.51.100.[2-9]", "-b", "8M", "-t", "0.5", "--rate-share", "0.5", "-J"];
    let ran = run(&mut hosts.mesh(&key, &words));
    assert_eq!(ran.status.code(), Some(1), "{}", err(&ran));
    let json: Value = serde_json::from_str(&out(&ran)).expect("JSON");
    let suspects: Vec<(&str, u64)> = json["mesh"]["named"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["suspect"])
        .map(|one| (one["what"].as_str().expect("a word"), one["host"].as_u64().unwrap_or(99)))
        .collect();
    assert_eq!(suspects, [("dead", DEAD as u64), ("sends", SLOW as u64)], "{json}");
    let cells = json["mesh"]["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 56);
    for cell in cells {
        let (from, to) = (cell["from"].as_u64(), cell["to"].as_u64());
        let is_of = |host: usize| [from, to].contains(&Some(host as u64));
        let kept = cell["looks"][0]["value"].is_f64();
        assert_eq!(kept, !is_of(DEAD), "{cell}");
    }
    // Each round began at one moment, those of the dead host's partner among them.
    let rounds = json["mesh"]["rounds"].as_array().expect("rounds");
    assert!(rounds.len() > 14, "14 of all pairs, and suspects again: {}", rounds.len());
    for round in &rounds[..14] {
        assert_eq!((&round["pairs"], &round["done"]), (&4.into(), &3.into()), "{round}");
        assert!(round["overlap_share"].as_f64().is_some_and(|share| share > 0.5), "{round}");
    }
}
