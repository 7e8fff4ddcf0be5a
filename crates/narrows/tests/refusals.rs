//! Bad input: a clear error, one hint, the documented exit code, and nothing lost.

mod common;

use common::{err, fails, folder, is_root, narrows, out, run, serve, skip};

use std::io::Write;
use std::net::TcpListener;
use std::process::Command;

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

#[test]
fn unknown_flags_and_words_are_usage() {
    for arguments in [
        &["check", "--frobnicate"][..],
        &["frobnicate"],
        &["check", "--repeats", "0"],
        &["check", "-t", "nan"],
        &["check", "-t", "2401"],
        &["tcp"],
        &["udp", "localhost", "--key", KEY, "-b", "fast"],
        &["tcp", "localhost", "--key", KEY, "-A", "1"],
        &["tcp", "localhost", "--key", "short"],
        &["tcp", "localhost", "--key", KEY, "--dscp", "64"],
        &["rdma", "localhost", "--key", KEY, "--gid-index", "v2"],
        &["rdma", "localhost", "--key", KEY, "--via", "libfabric", "--gid-index", "1,x"],
        &["serve", "--key", "short"],
    ] {
        fails(narrows().args(arguments), 2, "error");
    }
}

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let help = out(&run(narrows().arg("--help")));
    for word in ["check", "report", "serve", "tcp", "udp", "Exit codes:"] {
        assert!(help.contains(word), "{word}\n{help}");
    }
    assert!(!help.contains("worker"), "{help}");
    let short = out(&run(narrows().arg("-h")));
    assert!(short.contains("\nMeasure:\n") && short.contains("Examples:"), "{short}");
    assert!(!short.contains("Exit codes:") && short.lines().count() <= 55, "{short}");
    let page = out(&run(narrows().arg("man")));
    assert!(page.contains(".TH narrows"), "{page}");
    let script = out(&run(narrows().args(["completions", "bash"])));
    assert!(script.contains("_narrows()"), "{script}");
}

/// Every command that is shown has a page, and a page has every option of its command.
#[test]
fn manual_pages_have_all_options_of_all_commands() {
    let dir = folder("man");
    let output = run(narrows().args(["man", "--dir"]).arg(&dir));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let page = |name: &str| std::fs::read_to_string(dir.join(format!("{name}.1"))).expect(name);
    let options = |help: &str| -> Vec<String> {
        let words = help.split(|c: char| c.is_whitespace() || "[],=".contains(c));
        let long = words.filter(|word| word.starts_with("--") && word.len() > 3);
        long.map(|word| word.trim_end_matches(['.', ';', ':', ')', '`']).to_owned()).collect()
    };
    for command in ["check", "host", "mem", "rdma", "report", "serve", "tcp", "tune", "udp"] {
        let help = out(&run(narrows().args([command, "--help"])));
        let page = page(&format!("narrows-{command}")).replace("\\-", "-");
        for option in options(&help) {
            assert!(page.contains(&option), "{command}: {option}");
        }
        let lines: Vec<&str> = page.lines().collect();
        let is_option = |line: &str| line.starts_with("\\fB-");
        let mut bare = lines.windows(2).filter(|two| is_option(two[0]) && two[1].is_empty());
        assert_eq!(bare.next(), None, "{command}: an option without text");
        let printed = out(&run(narrows().args(["man", command])));
        assert_eq!(printed.replace("\\-", "-"), page, "{command}");
    }
    assert!(page("narrows-study-run").contains(".TH"), "pages of commands below commands");
    let hidden = ["narrows-worker.1", "narrows-listener.1", "narrows-guard.1"];
    assert!(hidden.iter().all(|name| !dir.join(name).exists()));
}

#[test]
fn a_missing_peer_is_said() {
    let closed = TcpListener::bind("127.0.0.1:0").expect("port").local_addr().expect("address");
    let dir = folder("missing-peer");
    let mut command = narrows();
    command.args(["tcp", "127.0.0.1", "--key", KEY, "-p", &closed.port().to_string(), "--out"]);
    fails(command.arg(&dir), 3, "Connection refused");
    fails(narrows().args(["tcp", "no-such-host.invalid", "--key", KEY]), 3, "no-such-host.invalid");
    assert_eq!(std::fs::read_dir(&dir).expect("folder").count(), 0, "nothing is left behind");
}

#[test]
fn a_wrong_key_is_told_from_a_stranger_and_from_another_version() {
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let port = agent.port.to_string();
    fails(narrows().args(["tcp", "127.0.0.1", "--key", KEY, "-p", &port]), 3, "keys do not match");
    for (hello, says) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "does not speak narrows' protocol"),
        (&b"NRRW\x00\x00\x00\x63"[..], "speaks protocol version 99"),
        (&b""[..], "is not a narrows agent, admits nobody from this address"),
    ] {
        let stranger = TcpListener::bind("127.0.0.1:0").expect("port");
        let port = stranger.local_addr().expect("address").port().to_string();
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = stranger.accept().expect("caller");
            let _ = stream.write_all(hello);
        });
        fails(narrows().args(["udp", "127.0.0.1", "--key", KEY, "-p", &port]), 3, says);
        answering.join().expect("stranger");
    }
}

#[test]
fn a_busy_port_is_said() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("port");
    let port = taken.local_addr().expect("address").port().to_string();
    let command = &mut narrows();
    fails(command.args(["serve", "-B", "127.0.0.1", "-p", &port]), 3, "Address already in use");
}

#[test]
fn files_that_are_no_studies_are_refused() {
    let dir = folder("foreign");
    let write = |name: &str, bytes: &[u8]| {
        let path = dir.join(name);
        std::fs::write(&path, bytes).expect("file");
        path
    };
    let report = |path: &std::path::Path, says: &str| {
        fails(narrows().arg("report").arg(path), 2, says);
    };
    report(&dir.join("none.narrows"), "No such file");
    report(&dir, "cannot be read");
    report(&write("empty.narrows", b""), "the file is empty");
    report(&write("text.narrows", b"hello, this is no database at all"), "not an SQLite database");
    let mut garbled = b"SQLite format 3\0".to_vec();
    garbled.extend([0xff; 4096]);
    report(&write("garbled.narrows", &garbled), "garbled.narrows");
    report(&write("head.narrows", b"SQLite format 3\0"), "head.narrows");
}

#[test]
fn a_damaged_study_is_an_error_or_still_right_and_never_a_panic() {
    let dir = folder("damaged");
    let mut command = narrows();
    command.args(["check", "--repeats", "1", "-t", "0.05", "--out"]).arg(&dir);
    // What the verdict of so short a run is on a busy machine is all the same here.
    assert!(matches!(run(&mut command).status.code(), Some(0 | 1)));
    let file = common::study(&dir);
    let whole = std::fs::read(&file).expect("study");
    let damaged = dir.join("damaged");
    let mut refused = 0;
    for cut in [100, 4096, 5000, whole.len() / 2, whole.len() - 4096] {
        std::fs::write(&damaged, &whole[..cut]).expect("file");
        let output = run(narrows().arg("report").arg(&damaged));
        assert_eq!(output.status.code(), Some(2), "cut at {cut}: {}", err(&output));
        refused += 1;
    }
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        let end = (at + 64).min(bytes.len());
        bytes[at..end].fill(0xa5);
        std::fs::write(&damaged, &bytes).expect("file");
        let output = run(narrows().arg("report").arg(&damaged));
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 2)), "at {at}: {code:?} {}", err(&output));
        assert!(!err(&output).contains("panicked"), "at {at}: {}", err(&output));
        refused += usize::from(code == Some(2));
    }
    assert!(refused > 10, "most damage is noticed: {refused}");
}

#[test]
fn a_folder_that_cannot_be_written_is_said_before_measuring() {
    let began = std::time::Instant::now();
    // A folder where even root can make no file.
    fails(narrows().args(["check", "--out", "/proc/self"]), 5, "cannot be written");
    fails(narrows().args(["check", "--out", "/no/such/folder"]), 2, "is not a directory");
    assert!(began.elapsed().as_secs() < 5);
}

#[test]
fn a_full_disk_stops_the_check_and_keeps_what_was_measured() {
    if !is_root() {
        return skip("a_full_disk", "needs root to mount a small file system");
    }
    let dir = folder("full-disk");
    let script = format!(
        "mount -t tmpfs -o size=160k tmpfs {0} && {1} check --repeats 50 -t 0.05 --out {0}; \
         code=$?; echo {0}/*.narrows; cp {0}/*.narrows {0}.copy; exit $code",
        dir.display(),
        env!("CARGO_BIN_EXE_narrows")
    );
    let output = fails(
        Command::new("unshare").args(["--mount", "sh", "-c", &script]),
        5,
        "no room is left on the disk",
    );
    let (printed, told) = (out(&output), err(&output));
    let file = printed.lines().last().expect("the study's file");
    assert!(file.ends_with(".narrows"), "{printed}");
    let kept = told.lines().find(|line| line.contains(&format!("kept in {file}: ")));
    assert!(kept.is_some_and(|line| line.contains("finished run")), "{told}");
    let kept = dir.with_extension("copy");
    let stored = narrows_store::read(&kept).expect("what was measured can be read");
    assert!(!stored.records.is_empty());
    assert!(stored.records.iter().all(|record| record.receiver().is_some()));
}

#[test]
fn smbios_without_permission_is_a_named_gap() {
    if is_root() {
        return skip("smbios_without_permission", "root may read everything; run as a user");
    }
    use std::os::unix::fs::PermissionsExt;
    let dir = folder("denied");
    let tables = dir.join("sys/firmware/dmi/tables");
    std::fs::create_dir_all(&tables).expect("folder");
    std::fs::write(tables.join("DMI"), [127, 4, 0, 0, 0, 0]).expect("file");
    let closed = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(tables.join("DMI"), closed).expect("permissions");
    let host = narrows_host::read(&narrows_host::Root::at(&dir));
    let gap = host.memory.slots.gap().expect("no value");
    assert_eq!(gap, "no permission to read /sys/firmware/dmi/tables/DMI");
}

#[test]
fn orders_beyond_the_limits_are_refused_before_anything_starts() {
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let port = agent.port.to_string();
    let base = ["127.0.0.1", "--key", &agent.key, "-p", &port];
    for (kind, arguments, says) in [
        ("udp", ["-l", "70000"], "message size is 70000 B"),
        ("udp", ["-l", "15"], "message size is 15 B"),
        ("tcp", ["-l", "0"], "0 B is out of bounds, must be 1 B to 67108864 B"),
        ("tcp", ["-l", "1G"], "1073741824 B is out of bounds"),
        // Known from the hosts' descriptions before anything runs.
        ("tcp", ["-A", "0,1023"], "there is no CPU 1023"),
        ("udp", ["-A", "node:77,0"], "node 77"),
    ] {
        fails(narrows().arg(kind).args(base).args(arguments), 2, says);
    }
    // What this machine refuses is said with its own words, and is no connection problem.
    let out = folder("refused-options").display().to_string();
    let mut command = narrows();
    command.arg("tcp").args(base).args(["-C", "no-such-control", "--repeats", "1", "--out", &out]);
    fails(&mut command, 5, "no-such-control");
}

/// An order as an end of another version may send it.
fn raw_order(kind: &str) -> String {
    use narrows_model::load::{Job, Params, Role, Timeline};
    use narrows_model::{Bytes, Nanos};
    let span = Nanos(50_000_000);
    let timeline =
        Timeline { warmup_ns: Nanos(0), window_ns: span, cooldown_ns: Nanos(0), interval_ns: None };
    let job = Job {
        address: Some([127, 0, 0, 1].into()),
        token: "00".repeat(16),
        ..Job::new(kind.into(), Role::Receiver, Params::of_network(Bytes(64), 1), timeline)
    };
    let order = narrows_control::session::Order::Prepare { job: Box::new(job) };
    serde_json::to_string(&order).expect("an order") + "\n"
}

#[test]
fn a_worker_refuses_a_workload_that_it_does_not_know() {
    let answer = |order: &str| {
        let mut command = narrows();
        let mut worker = command
            .arg("worker")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("a worker");
        worker.stdin.take().expect("orders").write_all(order.as_bytes()).expect("an order");
        out(&worker.wait_with_output().expect("an answer"))
    };
    let order = raw_order("tcp-rr");
    assert!(order.contains("\"kind\":\"tcp-rr\""), "{order}");
    assert!(answer(&order).contains("\"prepared\""), "{}", answer(&order));
    // A newer narrows's, an outside tool's, and none at all.
    for kind in ["quic-stream", "tcp-latency", ""] {
        let told = answer(&order.replace("tcp-rr", kind));
        let why = format!("no workload is called '{kind}'");
        assert!(told.contains(&why) && told.contains("failed"), "{told}");
    }
}

/// Letters of iperf that are commands or other options here.
#[test]
fn who_types_letters_of_iperf_is_told_what_to_type_here() {
    for (words, wanted) in [
        (&["-s"][..], "hint: `narrows serve`"),
        (&["-c", "198.51.100.6"], "hint: `narrows tcp HOST`"),
        (&["tcp", "-u", "198.51.100.6"], "hint: `narrows udp HOST`"),
        (&["tcp", "-O", "2", "198.51.100.6"], "hint: --warm-up"),
        (&["tcp", "-Z", "198.51.100.6"], "hint: --sender sendfile"),
        (&["udp", "--tos=0x10", "198.51.100.6"], "hint: --dscp"),
        (&["udp", "-u", "198.51.100.6"], "hint: leave it out"),
        (&["udp", "-M", "1000", "198.51.100.6"], "hint: segments are TCP's"),
        (&["tcp", "-V", "198.51.100.6"], "hint: -v prints everything"),
        (&["tcp", "-n", "1G", "198.51.100.6"], "hint: a run is so many seconds: -t"),
        (&["tcp", "--logfile=x", "198.51.100.6"], "hint: results go to standard output"),
    ] {
        let output = run(narrows().args(words));
        let text = err(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {text}");
        assert!(text.contains(wanted), "{words:?}: {text}");
        assert!(!text.contains("as a value"), "{words:?}: {text}");
    }
    let text = err(&run(narrows().args(["tcp", "--no-such-option", "198.51.100.6"])));
    assert!(text.ends_with("hint: `narrows tcp --help` shows its options\n"), "{text}");
    // Who names no command reads which there are.
    for words in [&[][..], &["study"]] {
        let output = run(narrows().args(words));
        let text = err(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {text}");
        assert!(text.contains("Usage: narrows") && !text.contains("error:"), "{words:?}: {text}");
        assert!(!text.contains("hint:"), "{words:?}: {text}");
    }
}
