//! `narrows host --from redfish://HOST`: a management controller behind real TLS, asked by the
//! command as a user asks it.

mod common;
#[path = "../../bmc/tests/common/mod.rs"]
#[allow(dead_code)]
mod controller;

use common::{err, folder, narrows, out, run};
use controller::{Controller, Fault, PASSWORD, USER};
use narrows_bmc::Fingerprint;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const VARIABLE: &str = "NARROWS_BMC_PASSWORD";
const HANGS: &str = "/redfish/v1/Systems/1/Memory/DIMM3";
const SIGNED_OUT: &str = "DELETE /redfish/v1/SessionService/Sessions/7 token";

/// Asks for all facts, with the fingerprint and the right password in the environment.
fn asking(controller: &Controller) -> Command {
    let mut command = narrows();
    command.args(["host", "--json", "--from", &controller.address(), "--bmc-user", USER]);
    command.args(["--tls-fingerprint", &Fingerprint::of(&controller.certificate).to_string()]);
    command.env(VARIABLE, PASSWORD);
    command
}

/// One error with this exit code, one hint with this word, and never the password.
fn refused(command: &mut Command, code: i32, words: [&str; 2]) {
    let output = run(command);
    let text = err(&output);
    assert_eq!(output.status.code(), Some(code), "{command:?}\n{text}");
    assert_eq!(text.matches("hint:").count(), 1, "{text}");
    let (error, hint) = text.split_once("hint:").expect("a hint");
    assert!(error.contains(words[0]), "{text}");
    assert!(hint.contains(words[1]), "{text}");
    assert!(!text.contains("battery"), "{text}");
    assert_eq!(out(&output), "");
}

#[test]
fn a_controller_tells_its_host() {
    let controller = Controller::new(Fault::None);
    let output = run(&mut asking(&controller));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let document: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    let host = &document["host"];
    let slots = &host["memory"]["slots"]["value"];
    assert_eq!(slots.as_array().map(Vec::len), Some(12), "{slots}");
    assert_eq!(host["product"]["value"], "Contoso 3500RX");
    assert_eq!(host["product"]["from"], controller.address());
    assert_eq!(host["devices"][0]["path"][0]["link"]["value"]["width"], 8);
    assert_eq!(document["results"]["memory"]["balance"], "balanced", "{}", document["results"]);
    assert!(!out(&output).contains("battery") && !err(&output).contains("battery"));
    assert_eq!(controller.asked().last().map(String::as_str), Some(SIGNED_OUT));
}

/// What a controller tells of memory is enough for a prediction once the port's rate is said.
#[test]
fn a_prediction_asks_a_controller() {
    let controller = Controller::new(Fault::None);
    let pin = Fingerprint::of(&controller.certificate).to_string();
    let ask = |words: &[&str]| {
        let mut command = narrows();
        command.args(["predict", "--from", &controller.address()]).args(words);
        command.env(VARIABLE, PASSWORD);
        command
    };
    let told = ["--bmc-user", USER, "--tls-fingerprint", &pin, "--given", "nic.gbps=100", "--json"];
    let output = run(&mut ask(&told));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let document: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert!(!document["reaches"].as_array().expect("paths").is_empty(), "{document}");
    assert_eq!(controller.asked().last().map(String::as_str), Some(SIGNED_OUT));
    // Not trusted: as of `narrows host`, with the fingerprint that was seen.
    refused(&mut ask(&["--bmc-user", USER]), 3, ["certificate", "--tls-fingerprint"]);
    let file = narrows().args(["predict", "--bmc-user", USER]).output().expect("narrows");
    assert_eq!(file.status.code(), Some(2), "{}", err(&file));
}

/// One controller by two names stands for two: each is a host of its own, and nothing differs.
#[test]
fn several_controllers_are_a_fleet_and_differ_in_what_they_tell() {
    let controller = Controller::new(Fault::None);
    let other = controller.address().replace("127.0.0.1", "localhost");
    let pin = Fingerprint::of(&controller.certificate).to_string();
    let ask = |words: &[&str]| {
        let mut command = narrows();
        command.arg("host").args(words).args(["--bmc-user", USER, "--tls-fingerprint", &pin]);
        run(command.env(VARIABLE, PASSWORD))
    };
    let output = ask(&["--from", &controller.address(), &other, "redfish://127.0.0.1:1", "--csv"]);
    let (text, told) = (out(&output), err(&output));
    assert_eq!(text.lines().filter(|line| line.contains("3500RX")).count(), 2, "{text}\n{told}");
    assert!(format!("{text}{told}").contains("127.0.0.1:1"), "{text}\n{told}");
    let output = ask(&["--from", &controller.address(), &other]);
    assert!(out(&output).contains("2 hosts"), "{}\n{}", out(&output), err(&output));
    let output = ask(&["--diff", &controller.address(), &other]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("no difference in"), "{}", out(&output));
}

#[test]
fn a_password_comes_from_a_file_or_standard_input_for_its_owner_alone() {
    let controller = Controller::new(Fault::None);
    let file = folder("bmc-password").join("password");
    std::fs::write(&file, format!("{PASSWORD}\nnot this line\n")).expect("file");
    let mode = |mode| {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("mode");
    };
    let with = |from: &str| {
        let mut command = asking(&controller);
        command.env_remove(VARIABLE).args(["--bmc-password-file", from]);
        command
    };
    let path = file.to_str().expect("a path");
    mode(0o600);
    assert_eq!(run(&mut with(path)).status.code(), Some(0));
    mode(0o644);
    refused(&mut with(path), 2, ["others can read it", "--bmc-password-file"]);
    std::fs::write(&file, "\n").expect("file");
    mode(0o600);
    refused(&mut with(path), 2, ["first line is empty", "--bmc-password-file"]);
    std::fs::write(&file, PASSWORD).expect("file");
    let input = std::fs::File::open(&file).expect("file");
    let output = with("-").stdin(input).output().expect("narrows");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    refused(asking(&controller).env_remove(VARIABLE), 2, ["no password of reader", "set NARROWS"]);
}

#[test]
fn who_may_not_sign_in_and_what_is_not_trusted_is_told_apart() {
    let controller = Controller::new(Fault::None);
    let own = Fingerprint::of(&controller.certificate).to_string();
    let denied = ["reader may not sign in (401)", "--bmc-user"];
    refused(asking(&controller).env(VARIABLE, "battery staple"), 3, denied);
    let bare = |words: &[&str]| {
        let mut command = narrows();
        command.args(["host", "--from", &controller.address()]).args(words);
        command
    };
    refused(&mut bare(&["--tls-fingerprint", &own]), 3, ["without signing in", "--bmc-user"]);
    refused(&mut bare(&[]), 3, [&own, "--tls-fingerprint"]);
    let other = Fingerprint::of(b"").to_string();
    refused(&mut bare(&["--tls-fingerprint", &other]), 3, [&own, "--tls-fingerprint"]);
    // The system's roots: here they are the file that the environment names.
    let roots = folder("bmc-roots").join("roots.pem");
    let pem = rcgen_pem(&controller.certificate);
    std::fs::write(&roots, pem).expect("file");
    let mut trusted = bare(&["--json", "--bmc-user", USER]);
    let output = run(trusted.env("SSL_CERT_FILE", &roots).env(VARIABLE, PASSWORD));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    // Nothing listens there.
    let mut closed = narrows();
    closed.args(["host", "--from", "redfish://127.0.0.1:1"]);
    refused(&mut closed, 3, ["redfish://127.0.0.1:1", "HTTPS"]);
}

/// A certificate as text; base64 is what `openssl base64` would write.
fn rcgen_pem(certificate: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32| DIGITS[(bits & 63) as usize] as char;
    let mut text = String::from("-----BEGIN CERTIFICATE-----\n");
    for (at, three) in certificate.chunks(3).enumerate() {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let four = [bits >> 18, bits >> 12, bits >> 6, bits].map(digit);
        text.extend(&four[..=three.len()]);
        text.extend(std::iter::repeat_n('=', 3 - three.len()));
        if at % 16 == 15 {
            text.push('\n');
        }
    }
    text + "\n-----END CERTIFICATE-----\n"
}

#[test]
fn addresses_that_are_none_are_refused_before_anything_is_asked() {
    for (words, error) in [
        ("host --from http://bmc/redfish/v1", "readable by all"),
        ("host --from https://root:battery@bmc", "no user or password"),
        ("host --from redfish://bmc:0", "'0' is not a port"),
        ("host --from /dev/null --bmc-user x", "is the address of a management controller"),
        ("tune --from redfish://a", "only `narrows host` and `narrows predict` ask"),
    ] {
        refused(narrows().args(words.split(' ')), 2, [error, "redfish://HOST"]);
    }
}

#[test]
fn memory_that_a_controller_does_not_give_is_no_smaller_host() {
    let controller = Controller::new(Fault::Status(HANGS, 500));
    refused(&mut asking(&controller), 2, ["11 of 12 resources of memory", "docs/host.md"]);
}

#[test]
fn control_c_ends_a_request_that_hangs_and_signs_out() {
    let controller = Controller::new(Fault::Hangs(HANGS));
    let mut command = asking(&controller);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("narrows");
    let hangs = format!("GET {HANGS} token");
    let until = Instant::now() + Duration::from_secs(25);
    while !controller.asked().contains(&hangs) {
        assert!(Instant::now() < until, "{:?}", controller.asked());
        std::thread::sleep(Duration::from_millis(10));
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("a signal");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130), "{}", err(&output));
    assert_eq!(controller.asked().last().map(String::as_str), Some(SIGNED_OUT));
}
