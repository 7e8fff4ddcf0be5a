//! `narrows tune`: advice, changes that are made in a namespace of the test's own, and put back.

mod common;

use common::{fails, folder, is_root, narrows, out, run, skip};
use serde_json::Value;
use std::process::Command;

const SETTING: &str = "net.ipv4.tcp_slow_start_after_idle";

/// A namespace whose settings are its own.
struct Space(String);

impl Space {
    fn new() -> Self {
        let name = format!("narrows-tune-{}", std::process::id());
        let made = Command::new("ip").args(["netns", "add", &name]).status().expect("ip");
        assert!(made.success());
        Self(name)
    }

    fn inside(&self, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0]).args(words);
        command
    }

    fn tune(&self, words: &[&str]) -> String {
        let binary = env!("CARGO_BIN_EXE_narrows");
        let output = run(&mut self.inside(&[&[binary, "tune"], words].concat()));
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", common::err(&output));
        out(&output)
    }

    fn value(&self) -> String {
        let path = format!("/proc/sys/{}", SETTING.replace('.', "/"));
        out(&run(&mut self.inside(&["cat", &path]))).trim().to_owned()
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

#[test]
fn a_change_is_made_and_put_back_exactly() {
    if !is_root() {
        return skip("a_change_is_made", "needs root to change settings");
    }
    let space = Space::new();
    let only = ["--profile", "latency", "--setting", SETTING];
    assert_eq!(space.value(), "1");
    let advice: Value =
        serde_json::from_str(&space.tune(&[&only[..], &["-J"]].concat())).expect("JSON");
    let one = &advice["advised"]["advice"][0];
    assert_eq!((&one["now"], &one["wanted"]), (&"1".into(), &"0".into()), "{advice}");
    space.tune(&[&only[..], &["--apply"]].concat());
    assert_eq!(space.value(), "0");
    let said = space.tune(&[&only[..], &["--apply"]].concat());
    assert!(said.contains("nothing to change"), "{said}");
    let said = space.tune(&["--undo", "--setting", SETTING]);
    assert!(said.contains(&format!("{SETTING}: 1 again")), "{said}");
    assert_eq!(space.value(), "1");
    // What somebody else sets in between is theirs.
    space.tune(&[&only[..], &["--apply"]].concat());
    let path = format!("/proc/sys/{}", SETTING.replace('.', "/"));
    run(&mut space.inside(&["sh", "-c", &format!("echo 1 > {path}")]));
    let said = space.tune(&["--undo", "--setting", SETTING]);
    assert!(said.contains("1 again"), "{said}");
    assert_eq!(space.value(), "1");
}

#[test]
fn what_cannot_be_done_is_refused() {
    fails(narrows().args(["tune", "--setting", "no.such"]), 2, "no advice on 'no.such'");
    fails(narrows().args(["tune", "--from", "/no/such/host"]), 2, "/no/such/host");
    fails(narrows().args(["tune", "--profile", "speed"]), 2, "speed");
    fails(narrows().args(["tune", "--apply", "--undo"]), 2, "--undo");
    // A host that is not there is noticed before anything is changed.
    if is_root() {
        let dir = folder("tune-dead");
        let mut command = narrows();
        command.args(["tune", "127.0.0.1", "-p", "1", "--apply", "--profile", "latency"]);
        command.arg("--out").arg(&dir).env("NARROWS_KEY", "00".repeat(32));
        let output = fails(&mut command, 3, "127.0.0.1 port 1");
        assert!(!out(&output).contains("->"), "{}", out(&output));
    }
}
