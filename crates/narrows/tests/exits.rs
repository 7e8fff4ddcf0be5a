//! Exit codes and hints: every subcommand with each kind of bad input that fits it, by the cause.

#[path = "../src/cause.rs"]
#[allow(dead_code)]
mod cause;
mod common;

use cause::{Cause, Exit, exit_codes};
use common::{err, folder, is_root, narrows, out, run, serve, skip, table};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
/// Ways to give a study file; `@` stands for it.
const STUDIES: [&str; 11] = [
    "report @",
    "explain @",
    "export @",
    "verify @",
    "list @",
    "check --from @",
    "compare @ @",
    "compare @ --split 2026-11-20T12:00:00Z",
    "predict --calibrate @",
    "study status @",
    "study resume @",
];

/// Checks that these words end with this cause's exit code and its hint, and with no other hint.
fn ends(command: &mut Command, cause: Cause) {
    // A folder that any user may write to, who runs the tests of somebody else's checkout.
    let output = run(command.current_dir(env!("CARGO_TARGET_TMPDIR")));
    let text = err(&output);
    let code = Some(i32::from(cause.exit().code()));
    assert_eq!(output.status.code(), code, "{cause:?}: {command:?}\n{text}");
    assert!(text.contains(&format!("hint: {}\n", cause.hint())), "{cause:?}: {command:?}\n{text}");
    assert_eq!(text.matches("hint:").count(), 1, "{command:?}\n{text}");
    assert_eq!(text.matches("error:").count(), 1, "{command:?}\n{text}");
}

/// The words of a command line with a file in its place.
fn with(words: &str, file: &Path) -> Command {
    let mut command = narrows();
    for word in words.split(' ') {
        match word {
            "@" => command.arg(file),
            word => command.arg(word),
        };
    }
    command
}

/// Files of each bad kind, and a study.
struct Bad {
    dir: PathBuf,
    study: PathBuf,
}

impl Bad {
    fn make(name: &str) -> Self {
        let dir = folder(name);
        let text = "Client connecting to 127.0.0.1, TCP port 5990\n[ ID] Interval\n\
                    [  1] 0.0000-1.0153 sec  2.35 GBytes  19.9 Gbits/sec\n";
        let (json, study) = (dir.join("iperf.txt"), dir.join("whole.narrows"));
        std::fs::write(&json, text).expect("file");
        let output = run(narrows().args(["import", "-o"]).arg(&study).arg(&json));
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let whole = std::fs::read(&study).expect("study");
        std::fs::write(dir.join("empty"), b"").expect("file");
        std::fs::write(dir.join("binary"), [0xff, 0, 0xfe, 7].repeat(1000)).expect("file");
        std::fs::write(dir.join("cut.narrows"), &whole[..whole.len() / 2]).expect("file");
        Self { dir, study }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

#[test]
fn the_readme_and_the_help_have_the_table() {
    let help = out(&run(narrows().arg("--help")));
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).expect("README.md");
    assert!(readme.contains(&exit_codes()), "write it anew:\n{}", exit_codes());
    assert!(help.contains(exit_codes().trim_end()), "{help}");
    let codes = Exit::ALL.map(Exit::code);
    assert_eq!(codes, [0, 1, 2, 3, 4, 5, 130]);
}

#[test]
fn files_that_cannot_be_used_are_told_by_their_kind() {
    let bad = Bad::make("exits-files");
    for words in STUDIES {
        ends(&mut with(words, &bad.at("missing")), Cause::NotThere);
        ends(&mut with(words, &bad.at("empty/below")), Cause::NotThere);
        if words != "list @" {
            ends(&mut with(words, &bad.dir), Cause::NotAFile);
        }
        ends(&mut with(words, &bad.at("empty")), Cause::NoStudy);
        ends(&mut with(words, &bad.at("binary")), Cause::NoStudy);
        ends(&mut with(words, &bad.at("cut.narrows")), Cause::Damaged);
    }
    // A folder is listed; what cannot be read in it is told after the rest.
    let output = run(with("list @", &bad.dir).arg("--json"));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(out(&output).matches("\"file\"").count(), 2, "{}", out(&output));
    // People see it once, beside the studies that can be read.
    let output = run(&mut with("list @", &bad.dir));
    assert_eq!(out(&output).lines().count(), 1, "{}", out(&output));
    assert!(out(&output).contains("whole.narrows"), "{}", out(&output));
    assert_eq!(err(&output).matches("cut.narrows").count(), 1, "{}", err(&output));
    for words in ["host --from @", "host --diff @ @", "predict --from @"] {
        ends(&mut with(words, &bad.at("missing")), Cause::NotThere);
        for name in ["", "empty", "binary"] {
            ends(&mut with(words, &bad.at(name)), Cause::NoHost);
        }
    }
    for words in ["study run @ --out /tmp", "predict --published @"] {
        ends(&mut with(words, &bad.at("missing")), Cause::NotThere);
        ends(&mut with(words, &bad.dir), Cause::NotAFile);
        ends(&mut with(words, &bad.at("binary")), Cause::NotText);
    }
    let import = format!("import -o {} @", bad.at("new.narrows").display());
    ends(&mut with(&import, &bad.at("missing")), Cause::NotThere);
    ends(&mut with(&import, &bad.dir), Cause::NotAFile);
    let over = format!("import -o {} @", bad.study.display());
    ends(&mut with(&over, &bad.at("iperf.txt")), Cause::Exists);
    for words in ["serve -B 127.0.0.1 -p 0 --key-file @", "tcp 127.0.0.1 --key-file @"] {
        for name in ["missing", "", "empty", "binary"] {
            ends(&mut with(words, &bad.at(name)), Cause::BadKey);
        }
    }
    for words in ["serve --key short", "tcp 127.0.0.1 --key short", "udp ::1 --key short"] {
        ends(&mut with(words, &bad.dir), Cause::BadKey);
    }
}

#[test]
fn a_file_that_may_not_be_read_is_told() {
    if !is_root() {
        return skip("a_file_that_may_not_be_read", "needs root to be another user");
    }
    let bad = Bad::make("exits-forbidden");
    let program = bad.at("narrows");
    // Another user may come by neither the build's folder nor this file.
    let shut = Path::new("/etc/shadow");
    let script = "p=$(mktemp -d) && cp \"$0\" $p/narrows && chmod -R 755 $p && \
        setpriv --reuid 65534 --regid 65534 --clear-groups $p/narrows \"$@\"; c=$?; rm -rf $p; exit $c";
    std::fs::copy(env!("CARGO_BIN_EXE_narrows"), &program).expect("copy");
    for words in STUDIES {
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(&program);
        let words = words.split(' ').map(|w| if w == "@" { shut.as_os_str() } else { w.as_ref() });
        ends(command.args(words).env_remove("NARROWS_KEY"), Cause::Forbidden);
    }
}

#[test]
fn what_cannot_be_written_is_told() {
    let bad = Bad::make("exits-written");
    // A folder where even root can make no file.
    for (to, cause) in [("/proc/self", Cause::Unwritable), ("/no/such", Cause::NoFolder)] {
        for words in ["check --out", "mem --out", "tcp 127.0.0.1 --out", "udp 127.0.0.1 --out"] {
            ends(narrows().args(words.split(' ')).arg(to), cause);
        }
        ends(with("report @ --figures", &bad.study).arg(to), cause);
        let below = format!("{to}/x");
        for words in ["report @ -o", "export @ -o", "export @ --format parquet -o"] {
            ends(with(words, &bad.study).arg(&below), Cause::Unwritable);
        }
        ends(narrows().args(["host", "--capture", &below]), Cause::Unwritable);
        let import = ["import", "-o", &below];
        ends(narrows().args(import).arg(bad.at("iperf.txt")), Cause::Unwritable);
    }
}

#[test]
fn hosts_and_ports_are_told_by_what_is_wrong_with_them() {
    let busy = TcpListener::bind("127.0.0.1:0").expect("port");
    let port = busy.local_addr().expect("address").port().to_string();
    for words in ["serve", "serve --iperf3"] {
        let serve = || with(words, Path::new(""));
        ends(serve().args(["-B", "127.0.0.1", "-p", &port]), Cause::PortTaken);
        // From the addresses that no host has.
        ends(serve().args(["-B", "192.0.2.9", "-p", "0"]), Cause::NoSuchAddress);
    }
    drop(busy);
    for kind in ["tcp", "udp"] {
        let direct = |host: &str| {
            let mut command = narrows();
            command.args([kind, host, "--key", KEY, "-p", &port]);
            command
        };
        ends(&mut direct("no-such-host.invalid"), Cause::UnknownHost);
        ends(&mut direct("127.0.0.1"), Cause::Unreachable);
        let mut iperf3 = narrows();
        ends(iperf3.args([kind, "no-such-host.invalid", "--iperf3"]), Cause::UnknownHost);
    }
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let mut wrong = narrows();
    wrong.args(["tcp", "127.0.0.1", "--key", KEY, "-p", &agent.port.to_string()]);
    ends(&mut wrong, Cause::Refused);
}

#[test]
fn numbers_that_are_none_are_usage() {
    for words in [
        "check --repeats x",
        "check -t -1",
        "mem --threads 0",
        "mem -t nan",
        "serve -p 70000",
        "tcp h -p x",
        "udp h -b fast",
        "tcp h -t inf",
        "rdma h -p x",
        "compare a b --margin x",
        "compare a b --margin 101",
        "verify a --head x",
        "predict --search dimms=x",
        "export a --format x",
        "report a --format x",
        "host --table x",
        "list --x",
        "explain",
        "import",
        "study",
        "study status",
        "tune --x",
        "completions x",
    ] {
        let output = run(narrows().args(words.split(' ')));
        assert_eq!(output.status.code(), Some(2), "{words}\n{}", err(&output));
        assert!(err(&output).contains("error:") || words == "study", "{words}\n{}", err(&output));
    }
}

#[test]
fn a_host_with_a_fault_is_a_bad_verdict_and_one_with_advice_is_not() {
    let dir = folder("exits-host");
    for (name, full, code) in [("fault", "ABD", 1), ("advice", "ABC", 0), ("full", "ABCDEF", 0)] {
        let file = dir.join(name);
        std::fs::write(&file, table(full)).expect("file");
        for view in ["", "--tree", "--json", "--svg", "--table=memory", "--table=nic"] {
            let mut command = narrows();
            command.args(["host", "--from"]).arg(&file).args((!view.is_empty()).then_some(view));
            let output = run(&mut command);
            assert_eq!(output.status.code(), Some(code), "{name} {view}: {}", err(&output));
            assert!(!out(&output).is_empty(), "{name} {view}");
        }
    }
}
