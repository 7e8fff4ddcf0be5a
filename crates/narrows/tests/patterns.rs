//! Hosts that send to each other in a pattern, as three network namespaces on a bridge; the
//! controller is in a fourth.

mod common;

use common::{Served, err, folder, is_root, out, run, skip};
use serde_json::Value;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

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
        let serve = |n: usize| {
            let enter = format!("--net=/run/netns/{}", self.names[n + 1]);
            let own = Self::address(n);
            let words = ["-B", &own, "-p", "7480", "--key-file", &self.key];
            common::serve_at(&["nsenter", &enter], &[&words[..], more].concat())
        };
        (0..self.names.len() - 1).map(serve).collect()
    }

    /// A measurement among all hosts, from the controller's namespace.
    fn measure(&self, kind: &str, more: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.names[0]));
        command.args([env!("CARGO_BIN_EXE_narrows"), kind]);
        command.args((0..self.names.len() - 1).map(Self::address));
        command.args(["-p", "7480", "--key-file", &self.key]).args(more);
        command.env_remove("NARROWS_KEY").arg("--out").arg(folder(&self.names[0]));
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
    let words = ["--pattern", "fan-out", "-b", "8M", "-t", "0.3", "--repeats", "1"];
    let told = run(&mut hosts.measure("tcp", &words));
    let text = out(&told);
    assert!(text.contains("198.51.100.2 to 198.51.100.4: "), "{text}");
    assert!(text.contains("2 pairs at once: their windows had at least"), "{text}");
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
    assert_ne!(refused.status.code(), Some(0));
    let text = out(&refused) + &err(&refused);
    assert!(text.contains("receiver at 198.51.100.2") && text.contains("--peers"), "{text}");
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
