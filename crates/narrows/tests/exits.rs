//! Exit codes and hints: every subcommand with each kind of bad input that fits it, by the cause.

#[path = "../src/cause/mod.rs"]
#[allow(dead_code)]
mod cause;
mod common;

use cause::{Cause, Exit, exit_codes};
use common::{err, folder, is_root, narrows, out, run, serve, skip, table};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
/// What a build may leave out.
const PARQUET: bool = cfg!(feature = "parquet");
const TUI: bool = cfg!(feature = "tui");
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
        ends(&mut with(words, &bad.at("missing")), Cause::NOT_THERE);
        ends(&mut with(words, &bad.at("empty/below")), Cause::NOT_THERE);
        if words != "list @" {
            ends(&mut with(words, &bad.dir), Cause::NOT_A_FILE);
        }
        ends(&mut with(words, &bad.at("empty")), Cause::NO_STUDY);
        ends(&mut with(words, &bad.at("binary")), Cause::NO_STUDY);
        ends(&mut with(words, &bad.at("cut.narrows")), Cause::DAMAGED);
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
        ends(&mut with(words, &bad.at("missing")), Cause::NOT_THERE);
        for name in ["", "empty", "binary"] {
            ends(&mut with(words, &bad.at(name)), Cause::NO_HOST);
        }
    }
    ends(&mut with("host --slot-map @", &bad.at("missing")), Cause::NOT_THERE);
    ends(&mut with("host --slot-map @", &bad.at("empty")), Cause::NO_SLOT_MAP);
    for words in ["study run @ --out /tmp", "predict --published @"] {
        ends(&mut with(words, &bad.at("missing")), Cause::NOT_THERE);
        ends(&mut with(words, &bad.dir), Cause::NOT_A_FILE);
        ends(&mut with(words, &bad.at("binary")), Cause::NOT_TEXT);
    }
    let merge = format!("study merge -o {} @ @", bad.at("merged.narrows").display());
    for (name, cause) in [
        ("missing", Cause::NOT_THERE),
        ("", Cause::NOT_A_FILE),
        ("empty", Cause::NO_STUDY),
        ("cut.narrows", Cause::DAMAGED),
        ("whole.narrows", Cause::NOT_ONE_STUDY),
    ] {
        ends(&mut with(&merge, &bad.at(name)), cause);
    }
    assert!(!bad.at("merged.narrows").exists());
    let import = format!("import -o {} @", bad.at("new.narrows").display());
    ends(&mut with(&import, &bad.at("missing")), Cause::NOT_THERE);
    ends(&mut with(&import, &bad.dir), Cause::NOT_A_FILE);
    let over = format!("import -o {} @", bad.study.display());
    ends(&mut with(&over, &bad.at("iperf.txt")), Cause::EXISTS);
    for words in ["serve -B 127.0.0.1 -p 0 --key-file @", "tcp 127.0.0.1 --key-file @"] {
        for name in ["missing", "", "empty", "binary"] {
            ends(&mut with(words, &bad.at(name)), Cause::BAD_KEY);
        }
    }
    for words in ["serve --key short", "tcp 127.0.0.1 --key short", "udp ::1 --key short"] {
        ends(&mut with(words, &bad.dir), Cause::BAD_KEY);
    }
}

/// The program as an ordinary user, who may not come by the build's folder.
fn as_nobody(dir: &Path) -> Command {
    let program = dir.join("narrows");
    let script = "p=$(mktemp -d) && cp \"$0\" $p/narrows && chmod -R 755 $p && \
        setpriv --reuid 65534 --regid 65534 --clear-groups $p/narrows \"$@\"; c=$?; rm -rf $p; exit $c";
    std::fs::copy(env!("CARGO_BIN_EXE_narrows"), &program).expect("copy");
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(&program);
    command
}

/// Frames over a cable are refused before the first run, and not by each.
#[test]
fn a_cable_without_the_right_to_send_frames_is_told_at_once() {
    if !is_root() {
        return skip("a_cable_without_the_right", "needs root to be another user");
    }
    let dir = folder("exits-raw");
    let ports = std::fs::read_dir("/sys/class/net").expect("interfaces");
    let ports = ports.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let ports: Vec<String> = ports.filter(|name| *name != "bonding_masters").take(2).collect();
    if ports.len() < 2 {
        return skip("a_cable_without_the_right", "needs two interfaces");
    }
    let cable = ports.join(",");
    let mut command = as_nobody(&dir);
    command.args(["paths", "--cable", &cable, "--out", "/tmp"]);
    ends(&mut command, Cause::NO_RAW_FRAMES);
    let text = err(&run(&mut command));
    assert!(text.contains(&format!("error: --cable {cable}: ")), "{text}");
    assert!(!text.contains("run 1 of"), "{text}");
    // What runs nothing is no matter of rights.
    let output = run(as_nobody(&dir).args(["paths", "--cable", &cable, "--print"]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
}

#[test]
fn a_file_that_may_not_be_read_is_told() {
    if !is_root() {
        return skip("a_file_that_may_not_be_read", "needs root to be another user");
    }
    let bad = Bad::make("exits-forbidden");
    let shut = Path::new("/etc/shadow");
    for words in STUDIES {
        let mut command = as_nobody(&bad.dir);
        let words = words.split(' ').map(|w| if w == "@" { shut.as_os_str() } else { w.as_ref() });
        ends(command.args(words).env_remove("NARROWS_KEY"), Cause::FORBIDDEN);
    }
}

#[test]
fn what_cannot_be_written_is_told() {
    let bad = Bad::make("exits-written");
    ends(narrows().args(["man", "tcpp"]), Cause::NO_PAGE);
    // A folder where even root can make no file.
    for (to, cause) in [("/proc/self", Cause::UNWRITABLE), ("/no/such", Cause::NO_FOLDER)] {
        for words in ["check --out", "mem --out", "tcp 127.0.0.1 --out", "udp 127.0.0.1 --out"] {
            ends(narrows().args(words.split(' ')).arg(to), cause);
        }
        ends(with("report @ --figures", &bad.study).arg(to), cause);
        ends(narrows().args(["man", "--dir"]).arg(to), cause);
        let below = format!("{to}/x");
        for words in ["report @ -o", "export @ -o"] {
            ends(with(words, &bad.study).arg(&below), Cause::UNWRITABLE);
        }
        let parquet = if PARQUET { Cause::UNWRITABLE } else { Cause::NO_PARQUET };
        ends(with("export @ --format parquet -o", &bad.study).arg(&below), parquet);
        ends(narrows().args(["host", "--capture", &below]), Cause::UNWRITABLE);
        let import = ["import", "-o", &below];
        ends(narrows().args(import).arg(bad.at("iperf.txt")), Cause::UNWRITABLE);
    }
}

#[test]
fn no_output_overwrites_a_study() {
    let bad = Bad::make("exits-kept");
    let before = std::fs::read(&bad.study).expect("a study");
    for words in ["report @ -o", "report @ --format html -o", "export @ -o"] {
        ends(with(words, &bad.study).arg(&bad.study), Cause::EXISTS);
    }
    let parquet = if PARQUET { Cause::EXISTS } else { Cause::NO_PARQUET };
    ends(with("export @ --format parquet -o", &bad.study).arg(&bad.study), parquet);
    ends(narrows().args(["host", "--capture"]).arg(&bad.study), Cause::EXISTS);
    assert!(std::fs::read(&bad.study).expect("a study") == before, "nothing of it is lost");
    let other = bad.study.with_extension("txt");
    for _ in 0..2 {
        let done = with("report @ -o", &bad.study).arg(&other).status().expect("runs");
        assert!(done.success(), "any other file is written anew");
    }
}

#[test]
fn hosts_and_ports_are_told_by_what_is_wrong_with_them() {
    let busy = TcpListener::bind("127.0.0.1:0").expect("port");
    let port = busy.local_addr().expect("address").port().to_string();
    for words in ["serve", "serve --iperf3"] {
        let serve = || with(words, Path::new(""));
        ends(serve().args(["-B", "127.0.0.1", "-p", &port]), Cause::PORT_TAKEN);
        // From the addresses that no host has.
        ends(serve().args(["-B", "192.0.2.9", "-p", "0"]), Cause::NO_SUCH_ADDRESS);
    }
    drop(busy);
    for kind in ["tcp", "udp"] {
        let direct = |host: &str| {
            let mut command = narrows();
            command.args([kind, host, "--key", KEY, "-p", &port]);
            command
        };
        ends(&mut direct("no-such-host.invalid"), Cause::UNKNOWN_HOST);
        ends(&mut direct("127.0.0.1"), Cause::NOTHING_LISTENS);
        let mut iperf3 = narrows();
        ends(iperf3.args([kind, "no-such-host.invalid", "--iperf3"]), Cause::UNKNOWN_HOST);
    }
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let mut wrong = narrows();
    wrong.args(["tcp", "127.0.0.1", "--key", KEY, "-p", &agent.port.to_string()]);
    ends(&mut wrong, Cause::REFUSED);
}

/// Each run would fail for it: there is no file, and nobody waits for the last of them.
#[test]
fn what_a_host_lacks_is_told_before_the_first_run() {
    let dir = folder("exits-lacks");
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let direct = |words: &str| {
        let mut command = with(words, Path::new(""));
        command.args(["127.0.0.1", "--key", &agent.key, "-p", &agent.port.to_string()]);
        command.arg("--out").arg(&dir);
        command
    };
    for nodes in ["900,-", "0,900"] {
        ends(&mut direct(&format!("tcp --memory-node {nodes}")), Cause::NO_NODE);
    }
    for of in ["no-such-nic0", "192.0.2.9", "2001:db8::9"] {
        ends(&mut direct(&format!("tcp -B {of}")), Cause::NO_WAY_OUT);
    }
    ends(&mut direct("tcp --in bwrap --container-net bridge"), Cause::HOSTS_NETWORK);
    let mut bare = direct("udp --in bwrap");
    ends(bare.env("PATH", ""), Cause::NO_CONTAINER_PROGRAM);
    let is_there = Command::new("podman").arg("--version").output().is_ok();
    let cause = if is_there { Cause::NO_PODMAN_IMAGE } else { Cause::NO_CONTAINER_PROGRAM };
    ends(&mut direct("tcp --in podman:localhost/no/such:image"), cause);
    let huge = "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages";
    if std::fs::read_to_string(huge).is_ok_and(|pages| pages.trim() == "0") {
        let mut mem = with("mem -k read --pages 1G --out", Path::new(""));
        ends(mem.arg(&dir), Cause::NO_HUGE_PAGES);
    }
    let made = std::fs::read_dir(&dir).expect("folder").count();
    assert_eq!(made, 0, "no run was made");
}

#[test]
fn an_end_that_may_not_open_as_many_files_as_it_has_flows_says_so() {
    let dir = folder("exits-open-files");
    let agent = serve(&["prlimit", "--nofile=40:40"], &["-B", "127.0.0.1"]);
    let mut command = with("tcp 127.0.0.1 -P 64 -t 0.1 --repeats 1", Path::new(""));
    command.args(["--key", &agent.key, "-p", &agent.port.to_string(), "--out"]);
    ends(command.arg(&dir), Cause::OUT_OF_FILES);
}

#[test]
fn runs_that_an_agents_owner_does_not_allow_are_told() {
    let dir = folder("exits-beyond");
    let agent = serve(&[], &["-B", "127.0.0.1", "--max-streams", "2", "--max-rate", "10M"]);
    let port = agent.port.to_string();
    for words in ["tcp 127.0.0.1 -P 3", "tcp 127.0.0.1 -R", "udp 127.0.0.1 --bidir"] {
        let mut command = with(words, Path::new(""));
        command.args(["--repeats", "1", "-t", "0.1", "--key", &agent.key, "-p", &port, "--out"]);
        ends(command.arg(&dir), Cause::BEYOND);
    }
    // What it answers, it sends too: 60 kB a response are 20 a second, and are asked for unbounded.
    for (words, code) in [
        ("tcp 127.0.0.1 --rr --response 60000 -P 2", 5),
        ("udp 127.0.0.1 --rr --response 1400 -P 2", 5),
        ("tcp 127.0.0.1 --rr --response 60000 --per-second 100", 5),
        ("tcp 127.0.0.1 --rr --response 6000 --per-second 100", 0),
    ] {
        let mut command = with(words, Path::new(""));
        command.args(["--repeats", "1", "-t", "0.3", "--key", &agent.key, "-p", &port, "--out"]);
        let output = run(command.arg(&dir));
        assert_eq!(output.status.code(), Some(code), "{words}: {}", err(&output));
        assert_eq!(err(&output).contains("this agent's limits"), code != 0, "{}", err(&output));
    }
    let agent = serve(&[], &["-B", "127.0.0.1", "--allow", "192.0.2.0/24"]);
    let mut command = narrows();
    command.args(["tcp", "127.0.0.1", "--key", &agent.key, "-p", &agent.port.to_string()]);
    ends(&mut command, Cause::TURNED_AWAY);
}

/// The port of a server that speaks iperf3's protocol, and says this to all in place of a test.
fn refusing(says: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("port");
    let port = listener.local_addr().expect("address").port().to_string();
    std::thread::spawn(move || {
        for mut control in listener.incoming().map_while(Result::ok) {
            let mut head = [0; 41];
            control.read_exact(&mut head[..37]).expect("a cookie");
            control.write_all(&[9]).expect("parameters are wanted");
            control.read_exact(&mut head[37..]).expect("their length");
            let length = u32::from_be_bytes([head[37], head[38], head[39], head[40]]);
            let mut parameters = vec![0; length as usize];
            control.read_exact(&mut parameters).expect("parameters");
            let _ = control.write_all(says);
        }
    });
    port
}

#[test]
fn an_iperf3_server_that_refuses_is_told_from_one_that_is_none() {
    // Its states: a server's error with two numbers, no room, and one that is not due.
    for (says, cause) in [
        (&[0xfe, 0, 0, 0, 5, 0, 0, 0, 0][..], Cause::DECLINED),
        (&[0xff], Cause::DECLINED),
        (&[2], Cause::ODD_IPERF3),
    ] {
        let port = refusing(says);
        let mut command = narrows();
        command.args(["tcp", "127.0.0.1", "--iperf3", "--repeats", "1", "-t", "0.1", "-p", &port]);
        ends(&mut command, cause);
    }
}

/// A network namespace by name, deleted when dropped.
struct Namespace(String);

impl Namespace {
    fn with_rules(name: &str, rules: &str) -> Option<Self> {
        let made = Self(name.to_owned());
        let inside = ["netns", "exec", name];
        let done = |command: &mut Command| command.status().is_ok_and(|status| status.success());
        let all = done(Command::new("ip").args(["netns", "add", name]))
            && done(Command::new("ip").args(["-n", name, "link", "set", "lo", "up"]))
            && done(Command::new("ip").args(inside).args(["nft", rules]));
        all.then_some(made)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

#[test]
fn what_a_packet_filter_refuses_to_send_is_told() {
    let name = format!("narrows-filter-{}", std::process::id());
    let rules = "add table ip t; add chain ip t o { type filter hook output priority 0; }; \
                 add rule ip t o ip protocol udp meta length > 1000 drop";
    let Some(_inside) = is_root().then(|| Namespace::with_rules(&name, rules)).flatten() else {
        return skip("what_a_packet_filter_refuses_to_send_is_told", "needs root, ip and nft");
    };
    let inside = ["ip", "netns", "exec", &name];
    let agent = serve(&inside, &["-B", "127.0.0.1"]);
    let mut command = Command::new("ip");
    command.args(&inside[1..]).arg(narrows().get_program());
    command.args(["udp", "127.0.0.1", "--repeats", "1", "-t", "0.1", "--key", &agent.key]);
    command.args(["-p", &agent.port.to_string(), "--out"]).arg(folder("exits-filter"));
    ends(&mut command, Cause::FILTERED);
}

#[test]
fn what_is_asked_of_files_that_they_do_not_have_is_told() {
    let bad = Bad::make("exits-asked");
    let (study, text) = (&bad.study, bad.at("iperf.txt"));
    std::fs::write(bad.at("packed.gz"), [0x1f, 0x8b, 8, 0, 0]).expect("file");
    std::fs::write(bad.at("table.toml"), "[x]\n").expect("file");
    let head = "ab".repeat(32);
    let new = bad.at("new.narrows");
    let import = format!("import -o {}", new.display());
    for (words, file, cause) in [
        (&format!("verify --head {head} @ @")[..], study, Cause::ONE_HEAD),
        ("compare @", study, Cause::ONE_SIDE),
        ("compare @ @ --split 2026-11-20T12:00:00Z", study, Cause::ONE_FILE),
        ("compare @ --before x --after y", study, Cause::NO_CELL),
        ("study status @", study, Cause::NOT_OF_A_STUDY),
        ("study resume @", study, Cause::NOT_OF_A_STUDY),
        (&format!("{import} @"), &bad.at("table.toml"), Cause::UNKNOWN_TOOL),
        (&format!("{import} --tool netperf @"), &text, Cause::BROKEN_TOOL_OUTPUT),
        (&format!("{import} @"), &bad.at("packed.gz"), Cause::NO_TOOL_OUTPUT),
        ("predict --published @", &bad.at("table.toml"), Cause::NO_TABLE),
        ("predict --from @", &bad.at("table.toml"), Cause::NO_SERVER_KNOWN),
    ] {
        ends(&mut with(words, file), cause);
    }
    assert!(!new.exists());
}

#[test]
fn what_a_command_cannot_be_asked_is_told() {
    let dir = folder("exits-orders");
    let (full, here) = (dir.join("full"), dir.display());
    std::fs::write(&full, table("ABCDEF")).expect("file");
    for (words, cause) in [
        ("tune --setting no.such", Cause::NO_ADVICE),
        ("tcp a b --iperf3", Cause::ONE_HOST),
        ("tcp a --iperf3 --explain", Cause::NO_AGENT),
        ("udp a --iperf3 --explain", Cause::NO_AGENT),
        ("tcp a b --pattern ring", Cause::PATTERN),
        ("tcp 127.0.0.1", Cause::NO_KEY),
        ("tcp 127.0.0.1 --netns no-such-namespace", Cause::NO_NAMESPACE),
        ("serve --netns no-such-namespace", Cause::NO_NAMESPACE),
        ("udp 127.0.0.1", Cause::NO_KEY),
        (&format!("mem --out {here} --node 4095"), Cause::NO_MEMORY),
        (&format!("mem --out {here} --size 1K --threads 1"), Cause::LIMIT),
        ("predict --from @ --set mtu=20", Cause::NO_PREDICTION),
        ("report --servers @ --set nic.gbps=0", Cause::NO_SERVER),
        ("report --servers @ --format jsonl", Cause::SERVERS_FORMAT),
        ("predict --from @ --search dimms=95", Cause::NO_SERVER_KNOWN),
        ("fabric --hosts 1 --speed 10G", Cause::NO_FABRIC),
        ("mesh n[1-", Cause::HOST_SET),
        ("mpi --hosts n[1-", Cause::HOST_SET),
        ("mpi --launcher /nowhere/mpirun", Cause::NO_MPI_LAUNCHER),
        ("mpi --launcher true", Cause::NO_MPI_LAUNCHER),
        ("mesh a b a", Cause::HOST_SET),
        ("mesh a", Cause::HOST_SET),
        ("mesh a b", Cause::NO_KEY),
        ("mesh --start srun", Cause::SLURM_JOB),
        ("fabric --hosts 28000 --speed 10G --switch 7148SX", Cause::NO_FABRIC),
        ("fabric --hosts 9 --speed 10G --switch Catalyst", Cause::NO_FABRIC),
        ("rdma h --provider tcp", Cause::RDMA_WORDS),
        ("paths -d mlx5_77", Cause::NO_DEVICE),
        ("paths --cable nowhere0,nowhere1", Cause::PORTS),
        ("serve -p 0 --packets nowhere0", Cause::LENDS),
        ("serve -p 0 --engines iperf3,mpi", Cause::LENDS_NO_TOOL),
    ] {
        ends(&mut with(words, &full), cause);
    }
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let port = agent.port.to_string();
    for (words, cause) in [
        ("tcp 127.0.0.1 --memory-load read:1@node:4095", Cause::NO_PLACE),
        ("placement --minutes 0.01", Cause::NO_TIME),
        ("tcp 127.0.0.1 -A node:4095,0", Cause::NO_PLACE),
        ("udp 127.0.0.1 -l 1", Cause::LIMIT),
        ("tcp 127.0.0.1 --irq 0", Cause::NO_INTERRUPTS),
        ("packets 127.0.0.1 --nic lo --peer-nic nowhere0 --rate 1k", Cause::NOT_LENT),
        ("packets 127.0.0.1 --nic lo --receiver xdp --rate 1k", Cause::NOT_LENT),
    ] {
        let mut command = with(words, &full);
        ends(command.args(["--key", &agent.key, "-p", &port, "--out"]).arg(&dir), cause);
    }
}

#[test]
fn rdma_that_is_not_there_is_told() {
    // Which of these a host lacks depends on its packages and its kernel.
    let lacks = [Cause::NO_RDMA, Cause::NO_RDMA_LIBRARY, Cause::RDMA_KERNEL, Cause::RDMA_FORBIDDEN];
    if std::fs::read_dir("/sys/class/infiniband").is_ok_and(|mut all| all.next().is_some()) {
        return skip("rdma_that_is_not_there", "there is an RDMA device");
    }
    let output = run(narrows().args(["rdma", "127.0.0.1", "--key", KEY]));
    let text = err(&output);
    assert_eq!(output.status.code(), Some(5), "{text}");
    let hints = lacks.iter().filter(|cause| text.contains(&format!("hint: {}\n", cause.hint())));
    assert_eq!(hints.count(), 1, "{text}");
    assert_eq!(text.matches("error:").count(), 1, "{text}");
    ends(narrows().args(["paths", "--dry-run"]), Cause::NO_PATH);
}

#[test]
fn rdma_without_a_peer_is_told_as_tcp_is() {
    let via = ["rdma", "--via", "libfabric", "--provider", "tcp"];
    let mut tried = narrows();
    tried.args(via).args(["127.0.0.1", "--key", KEY, "-p", "1"]);
    if run(&mut tried).status.code() == Some(5) {
        return skip("rdma_without_a_peer", "no libfabric here");
    }
    let rdma = |more: &[&str], cause| ends(narrows().args(via).args(more), cause);
    rdma(&["127.0.0.1"], Cause::NO_KEY);
    rdma(&["127.0.0.1", "--key", "short"], Cause::BAD_KEY);
    rdma(&["127.0.0.1", "--key-file", "/no/such"], Cause::BAD_KEY);
    rdma(&["no-such-host.invalid", "--key", KEY], Cause::UNKNOWN_HOST);
    rdma(&["127.0.0.1", "--key", KEY, "-p", "1"], Cause::NOTHING_LISTENS);
    rdma(&["127.0.0.1", "--key", KEY, "--out", "/no/such"], Cause::NO_FOLDER);
    let agent = serve(&[], &["-B", "127.0.0.1"]);
    let port = agent.port.to_string();
    rdma(&["127.0.0.1", "--key", KEY, "-p", &port], Cause::REFUSED);
    rdma(&["127.0.0.1", "--key", &agent.key, "-p", &port, "-A", "node:4095,0"], Cause::NO_PLACE);
}

const STUDY: &str = "name = 'study'\nrepeats = 1\n[base]\nload = 'memory-read'\nseconds = 0.05\n\
    [[factor]]\nname = 'size'\nset = 'size'\nlevels = ['1M']\n";

#[test]
fn studies_that_cannot_be_run_are_told() {
    let dir = folder("exits-studies");
    let file = dir.join("study.toml");
    std::fs::write(&file, STUDY).expect("file");
    let run_in = |out: &Path, more: &str| {
        let mut command = with("study run @ --out", &file);
        command.arg(out).args(more.split_whitespace());
        command
    };
    let tui = if TUI { Cause::NOT_A_TERMINAL } else { Cause::NO_TUI };
    ends(&mut run_in(&dir, "--tui"), tui);
    ends(&mut run_in(&dir, "--at cable=copper"), Cause::NO_FACTOR);
    ends(&mut run_in(&dir, "--peer 127.0.0.1"), Cause::NO_KEY);
    let of_hosts = dir.join("hosts.toml");
    let base = "[base]\npeers = ['127.0.0.1']\n";
    std::fs::write(&of_hosts, STUDY.replace("[base]\n", base)).expect("file");
    ends(with("study run @", &of_hosts).args(["--peer", "127.0.0.1"]), Cause::PEERS);
    ends(&mut run_in(&dir.join("none"), ""), Cause::NO_FOLDER);
    assert_eq!(run(&mut run_in(&dir, "--quick")).status.code(), Some(0));
    ends(&mut run_in(&dir, "--quick"), Cause::STUDY_BEGUN);
    let stored = dir.join("study-quick.narrows");
    let other = Bad::make("exits-other").study;
    ends(with("compare @", &stored).arg(other), Cause::NOTHING_IN_COMMON);
    ends(&mut with("credits --from @", &stored), Cause::NO_ROOT_LINES);
    ends(with("study merge @ @ -o", &stored).arg(&stored), Cause::EXISTS);
    ends(with("study merge @ @ -o", &stored).arg("/proc/self/x"), Cause::UNWRITABLE);
    ends(&mut with("import --into @ @", &stored), Cause::NOT_IMPORTED);
    for (text, cause) in [
        ("name = 'x'\nfactors = 3\n".to_owned(), Cause::DEFINITION),
        (STUDY.replace("'1M'", "'1 mile'"), Cause::DEFINITION),
        (
            STUDY.replace(
                "load = 'memory-read'",
                "engine = 'iperf3'\nengine_client = '--logfile x'",
            ),
            Cause::TOOL_WORDS,
        ),
        (STUDY.replace("'memory-read'", "'memory-read'\nnode = 4095"), Cause::NO_CELL_RUNS),
    ] {
        std::fs::write(&file, text).expect("file");
        ends(&mut run_in(&dir, ""), cause);
    }
}

#[test]
fn a_journal_that_is_not_this_places_is_told_and_kept() {
    if !is_root() {
        return skip("a_journal_that_is_not_this_places", "needs root to change settings");
    }
    let binary = env!("CARGO_BIN_EXE_narrows");
    // A /run of its own, so that the journal is nobody else's, and two network namespaces.
    let script = format!(
        "mount -t tmpfs none /run && unshare --net {binary} tune --profile latency --apply \
         --setting net.ipv4.tcp_slow_start_after_idle >/dev/null || exit 99; \
         was=$(cat /run/narrows/tuned); {binary} tune --undo; code=$?; \
         [ \"$was\" = \"$(cat /run/narrows/tuned)\" ] || exit 98; exit $code"
    );
    ends(Command::new("unshare").args(["--mount", "sh", "-c", &script]), Cause::ELSEWHERE);
    let program = folder("exits-undo").join("narrows");
    std::fs::copy(binary, &program).expect("copy");
    let script = "mount -t tmpfs none /run && mkdir -m 700 /run/narrows && \
        echo {} >/run/narrows/tuned && cp \"$0\" /run/program && chmod 755 /run /run/program && \
        setpriv --reuid 65534 --regid 65534 --clear-groups /run/program tune --undo";
    let mut command = Command::new("unshare");
    ends(command.args(["--mount", "sh", "-c", script]).arg(&program), Cause::NOT_UNDONE);
}

#[test]
fn numbers_that_are_none_are_usage() {
    for words in [
        "check --repeats x",
        "check -t -1",
        "mem --threads 0",
        "mem -t nan",
        "serve -p 70000",
        "serve --max-seconds 0",
        "serve --max-streams 0",
        "serve --max-memory 0",
        "serve --max-memory 1K",
        "serve --max-rate 0",
        "tcp h -p x",
        "udp h -b fast",
        "tcp h -t inf",
        "rdma h -p x",
        "compare a b --margin x",
        "compare a b --margin 101",
        "verify a --head x",
        "mpi sideways",
        "mpi --fabric ib:0",
        "mpi -n 1",
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

/// A control group of 64 MiB, of version 1 or 2; it is removed at the end.
struct Group(PathBuf);

impl Group {
    fn make() -> Option<Self> {
        let name = format!("narrows-exits-{}", std::process::id());
        let mounts =
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        mounts.iter().find_map(|(mount, file)| {
            let group = Self(Path::new(mount).join(&name));
            std::fs::create_dir(&group.0).ok()?;
            std::fs::write(group.0.join(file), "67108864").ok()?;
            Some(group)
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn runs_that_the_kernel_killed_for_memory_are_told_by_that() {
    let Some(group) = Group::make() else {
        return skip("runs_that_the_kernel_killed", "no control group can be made");
    };
    let dir = folder("exits-memory");
    let script = format!("echo $$ >{}/cgroup.procs && exec \"$0\" \"$@\"", group.0.display());
    let words = ["mem", "-k", "write", "--threads", "1", "--size", "512M", "--repeats", "1"];
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_narrows")]).args(words);
    ends(command.args(["-t", "0.05", "--out"]).arg(&dir), Cause::RUNS_OUT_OF_MEMORY);
}
