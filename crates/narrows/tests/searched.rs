//! `narrows search` between two namespaces: an anomaly that is planted there is named, and nothing
//! is claimed of the path without it.

mod common;

use common::{Served, err, folder, is_root, narrows, out, run, serve, skip};
use narrows_plan::study::Definition;
use serde_json::Value;
use std::process::{Command, Output, Stdio};

/// Two namespaces and a wire between them.
struct Wire {
    near: String,
    far: String,
    agent: Option<Served>,
}

fn sh(text: &str) -> bool {
    let mut command = Command::new("sh");
    let status = command.args(["-c", text]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

impl Wire {
    fn new(name: &str, limits: &[&str]) -> Option<Self> {
        if !is_root() {
            skip(name, "needs root for network namespaces");
            return None;
        }
        let names = |end: &str| format!("narrows-{name}-{}-{end}", std::process::id());
        let (near, far) = (names("a"), names("b"));
        let made = [
            format!("ip netns add {near} && ip netns add {far}"),
            format!("ip -n {near} link add v0 type veth peer name v1 netns {far}"),
            format!("ip -n {near} addr add 198.51.100.9/30 dev v0"),
            format!("ip -n {far} addr add 198.51.100.10/30 dev v1"),
            format!("ip -n {near} link set v0 up && ip -n {far} link set v1 up"),
        ];
        let mut wire = Self { near, far, agent: None };
        assert!(made.iter().all(|line| sh(line)), "{made:?}");
        let limits = [&["-B", "198.51.100.10"], limits].concat();
        wire.agent = Some(serve(&["ip", "netns", "exec", &wire.far], &limits));
        Some(wire)
    }

    fn far(&self, text: &str) -> bool {
        sh(&format!("ip netns exec {} {text}", self.far))
    }

    /// `narrows search` within these minutes, to be started.
    fn search(&self, words: &[&str]) -> Command {
        let agent = self.agent.as_ref().expect("agent");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.near, env!("CARGO_BIN_EXE_narrows"), "search"]);
        command.args(["198.51.100.10", "-p", &agent.port.to_string(), "--seed", "7"]).args(words);
        command.env("NARROWS_KEY", &agent.key).arg("--out").arg(folder(&self.near));
        command
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.agent = None;
        sh(&format!("ip netns del {}; ip netns del {}", self.near, self.far));
    }
}

fn json(output: &Output) -> Value {
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", err(output));
    serde_json::from_str(&out(output)).expect("JSON")
}

#[test]
fn a_policer_of_small_datagrams_is_named_with_a_study_that_shows_it() {
    let Some(wire) = Wire::new("searched_small", &[]) else { return };
    // Of 540 B and less, a few hundred a second.
    let rule = "'table inet t { chain c { type filter hook input priority 0; meta l4proto udp \
                meta length < 700 limit rate over 400/second burst 40 packets drop; }; }'";
    if !wire.far(&format!("nft {rule}")) {
        return skip("searched_small", "nft is not there");
    }
    let found = json(&run(&mut wire.search(&["--minutes", "0.7", "--traffic", "udp", "-J"])));
    let all = found["anomalies"]["found"].as_array().expect("anomalies");
    let first = all.first().unwrap_or_else(|| panic!("nothing: {found:#}"));
    assert_eq!((&first["traffic"], &first["option"]), (&"UDP".into(), &"message size".into()));
    assert_eq!(first["odd"], "512 B datagrams", "{found:#}");
    assert_eq!(first["with"].as_array().map(Vec::len), Some(1), "{found:#}");
    assert!(first["ratios"].as_array().is_some_and(|pairs| pairs.len() >= 3), "{found:#}");
    let file = found["study_files"][0].as_str().expect("a study");
    let text = std::fs::read_to_string(file).expect("its file");
    Definition::parse(&text).expect("a definition");
    let verified = run(narrows().arg("verify").arg(found["study"].as_str().unwrap_or_default()));
    assert_eq!(verified.status.code(), Some(0), "{}", out(&verified));
}

#[test]
fn nothing_is_claimed_of_a_wire_and_limits_of_the_owner_are_kept() {
    let Some(wire) = Wire::new("searched_well", &["--max-streams", "4"]) else { return };
    let found = json(&run(&mut wire.search(&["--minutes", "0.5", "-J"])));
    assert_eq!(found["anomalies"]["found"], Value::Array(Vec::new()), "{found:#}");
    assert_eq!(found["schema_version"], 1);
}

#[test]
fn a_peer_that_dies_ends_a_search_and_its_runs_are_kept() {
    let Some(mut wire) = Wire::new("searched_dead", &[]) else { return };
    let mut command = wire.search(&["--minutes", "1", "--traffic", "tcp"]);
    let search = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let search = search.expect("program starts");
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(&wire.near);
    common::until_stored(&dir, 2);
    wire.agent.as_mut().expect("agent").kill();
    let output = search.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(err(&output).contains("read them with: narrows report "), "{}", err(&output));
    assert_eq!(err(&output).matches("hint:").count(), 1, "{}", err(&output));
}
