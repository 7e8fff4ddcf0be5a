//! A mesh among eight hosts, as network namespaces on a bridge, with a host whose sending is shaped
//! and one without an agent: both are named, and all others keep their figures.

mod common;

use common::starved::patiently;
use common::{Served, err, fails, folder, is_root, narrows, out, run, skip};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

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
        ip(&format!("-n {hub} link set lo up"));
        for n in 0..count {
            let name = format!("narrows-{label}-{}-{n}", std::process::id());
            ip(&format!("netns add {name}"));
            all.0.push(name.clone());
            ip(&format!("-n {hub} link add p{n} type veth peer name uplink netns {name}"));
            ip(&format!("-n {hub} link set p{n} master bridge up"));
            ip(&format!("-n {name} addr add {}/24 dev uplink", address(n)));
            ip(&format!("-n {name} link set uplink up"));
            // Ranks of an MPI speak with their launcher over it.
            ip(&format!("-n {name} link set lo up"));
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
    let demand = ["--fail-if", "tcp.median < 4 Mbit/s"];
    let ran = run(&mut hosts.mesh(&key, &[&words[..], &demand].concat()));
    assert_eq!(ran.status.code(), Some(1), "{}", err(&ran));
    for outcome in ["passed", "failed"] {
        let of_a_pair = format!("{outcome}: fail-if: tcp.median < 4 Mbit/s");
        assert!(err(&ran).contains(&of_a_pair), "{}", err(&ran));
    }
    let json: Value = serde_json::from_str(&out(&ran)).expect("JSON");
    let suspects: Vec<(&str, u64)> = json["mesh"]["named"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["suspect"])
        .map(|one| (one["what"].as_str().expect("a word"), one["host"].as_u64().unwrap_or(99)))
        .collect();
    assert_eq!(suspects, [("dead", DEAD as u64), ("sends", SLOW as u64)], "{json}");
    // It is shaped, and has buffers as all have: they are told apart.
    let buffers = json["socket_buffers"].as_array().expect("a list");
    assert_eq!(buffers.len(), 1, "{json}");
    assert_eq!((&buffers[0]["host"], &buffers[0]["buffer"]), (&SLOW.into(), &"send".into()));
    assert_eq!(buffers[0]["told"], "allows-more", "{json}");
    let cells = json["mesh"]["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 42, "of the seven that are there");
    for cell in cells {
        let is_of = |host: usize| cell["from"] == host || cell["to"] == host;
        assert!(cell["looks"][0]["value"].is_f64() && !is_of(DEAD), "{cell}");
    }
    // Each round began at one moment.
    let rounds = json["mesh"]["rounds"].as_array().expect("rounds");
    assert!(rounds.len() > 14, "14 of all pairs, and suspects again: {}", rounds.len());
    for round in &rounds[..14] {
        assert_eq!((&round["pairs"], &round["done"]), (&3.into(), &3.into()), "{round}");
        assert!(round["overlap_share"].as_f64().is_some_and(|share| share > 0.5), "{round}");
    }
}

/// Hosts that are not there are named, and the others are paired among themselves, whichever pairs
/// are asked for; of an odd number each is in a pair.
#[test]
fn the_dead_leave_the_living_their_pairs() {
    patiently("the_dead_leave_the_living", living_are_paired);
}

fn living_are_paired() {
    if !is_root() {
        return skip("the_dead_leave_the_living", "needs root and ip");
    }
    let hosts = Bridged::new("meshdead", 7);
    let key = key("mesh-dead-key");
    let dead = [1, 5];
    let living: Vec<usize> = (0..7).filter(|n| !dead.contains(n)).collect();
    let _agents: Vec<Served> = living.iter().map(|n| hosts.agent(*n, &key)).collect();
    // Of a bisection so many rounds as are asked for, each of them both ways.
    for (pairs, count, rounds) in
        [("all", 20, 10), ("quick", 6, 4), ("ring", 5, 3), ("bisection", 0, 2 * 3)]
    {
        let words = ["198.51.100.[2-8]", "-b", "4M", "-t", "0.3", "--once", "--rate-share", "0.2"];
        let ran = run(hosts.mesh(&key, &words).args(["--pairs", pairs, "--rounds", "3", "-J"]));
        let json: Value = serde_json::from_str(&out(&ran)).expect("JSON");
        let named = json["mesh"]["named"].as_array().expect("a list").iter();
        let named: Vec<&Value> = named.map(|one| &one["suspect"]).collect();
        let wanted = dead.map(|host| serde_json::json!({ "what": "dead", "host": host }));
        assert_eq!(named, wanted.iter().collect::<Vec<_>>(), "{pairs}: {json}");
        let cells = json["mesh"]["cells"].as_array().expect("cells");
        assert!(count == 0 || cells.len() == count, "{pairs}: {}", cells.len());
        assert!(cells.iter().all(|cell| cell["looks"][0]["value"].is_f64()), "{pairs}: {json}");
        assert_eq!(planned(&json["mesh"]["rounds"]), rounds, "{pairs}: {json}");
        for host in &living {
            let is_of = |cell: &Value| cell["from"] == *host || cell["to"] == *host;
            assert!(cells.iter().any(is_of), "{pairs}: {host} is in no pair");
        }
    }
}

/// How many rounds were planned of those that ran without suspects: one whose windows lay apart
/// runs once more.
fn planned(rounds: &Value) -> usize {
    let rounds = rounds.as_array().expect("rounds");
    let (mut planned, mut at) = (0, 0);
    while let Some(round) = rounds.get(at) {
        let is_apart = round["overlap_share"].as_f64().is_some_and(|share| share < 0.5);
        at += 1 + usize::from(is_apart);
        planned += 1;
    }
    planned
}

/// In a ring and in a quick look a host that sends slowly has one partner; it is told from that one
/// by a third that is well, and with --once neither is blamed.
#[test]
fn a_slow_host_is_told_from_its_only_partner() {
    patiently("a_slow_host_is_told_from_its_only_partner", told_from_its_partner);
}

fn told_from_its_partner() {
    if !is_root() {
        return skip("a_slow_host_is_told_from_its_only_partner", "needs root and ip");
    }
    let hosts = Bridged::new("meshring", 6);
    let shaped = "qdisc add dev uplink root tbf rate 2mbit burst 16k latency 200ms";
    let enter = hosts.inside(SLOW + 1);
    let done = run(Command::new("nsenter").arg(enter).arg("tc").args(shaped.split(' ')));
    if done.status.code() != Some(0) {
        return skip("a_slow_host_is_told_from_its_only_partner", "this kernel has no tbf");
    }
    let key = key("mesh-ring-key");
    let _agents: Vec<Served> = (0..6).map(|n| hosts.agent(n, &key)).collect();
    let named = |words: &[&str]| -> Vec<Value> {
        let all = ["198.51.100.[2-7]", "-b", "8M", "-t", "0.4", "--rate-share", "0.5", "-J"];
        let ran = run(&mut hosts.mesh(&key, &[&all[..], words].concat()));
        let json: Value = serde_json::from_str(&out(&ran)).expect("JSON");
        let named = json["mesh"]["named"].as_array().expect("a list").iter();
        named.map(|one| one["suspect"].clone()).collect()
    };
    for (pairs, partner) in [("ring", SLOW + 1), ("quick", SLOW + 3)] {
        let either = serde_json::json!({ "what": "either", "from": SLOW, "to": partner });
        assert_eq!(named(&["--pairs", pairs, "--once"]), [either], "{pairs}");
        let sends = serde_json::json!({ "what": "sends", "host": SLOW });
        assert_eq!(named(&["--pairs", pairs]), [sends], "{pairs}");
    }
}

/// Datagrams between four hosts: one that sends less than it is asked for is named, and trips have
/// their latency.
#[test]
fn datagrams_of_a_slow_sender_are_named() {
    patiently("datagrams_of_a_slow_sender", slow_datagrams_are_named);
}

fn slow_datagrams_are_named() {
    if !is_root() {
        skip("datagrams_of_a_slow_sender", "needs root and ip");
        return;
    }
    let hosts = Bridged::new("meshudp", 4);
    let shaped = "qdisc add dev uplink root tbf rate 2mbit burst 16k latency 200ms";
    let enter = hosts.inside(SLOW + 1);
    let done = run(Command::new("nsenter").arg(enter).arg("tc").args(shaped.split(' ')));
    if done.status.code() != Some(0) {
        return skip("datagrams_of_a_slow_sender", "this kernel has no tbf");
    }
    let key = key("mesh-udp-key");
    let _agents: Vec<Served> = (0..4).map(|n| hosts.agent(n, &key)).collect();
    let words = ["198.51.100.[2-5]", "--udp", "-b", "8M", "-l", "1400", "-t", "0.5", "-J"];
    let ran = run(hosts.mesh(&key, &words).args(["--rate-share", "0.5"]));
    assert_eq!(ran.status.code(), Some(1), "{}", err(&ran));
    let json: Value = serde_json::from_str(&out(&ran)).expect("JSON");
    let named = json["mesh"]["named"].as_array().expect("a list");
    assert_eq!(named.len(), 1, "{json}");
    assert_eq!(named[0]["suspect"], serde_json::json!({ "what": "sends", "host": SLOW }));
    for cell in json["mesh"]["cells"].as_array().expect("cells") {
        let rate = cell["looks"][0]["value"].as_f64().expect("a rate");
        let is_slow = cell["from"].as_u64() == Some(SLOW as u64);
        assert_eq!(rate < 4e6, is_slow, "{cell}");
    }
    let words = ["198.51.100.[2-5]", "--udp", "--rr", "-t", "0.3", "--once", "-J"];
    let ran = run(&mut hosts.mesh(&key, &words));
    let json: Value = serde_json::from_str(&out(&ran)).unwrap_or_else(|_| panic!("{}", err(&ran)));
    let cells = json["mesh"]["cells"].as_array().expect("cells");
    assert_eq!((cells.len(), &json["mesh"]["unit"]), (12, &Value::from("ns")), "{json}");
    assert!(cells.iter().all(|cell| cell["looks"][0]["value"].is_f64()), "{json}");
}

/// Ranks of a real MPI on three hosts and one that is not there; the launcher reaches hosts by a
/// program in place of ssh. No agent runs.
#[test]
fn ranks_of_an_mpi_are_pairs_of_a_mesh() {
    for launcher in ["mpirun.openmpi", "mpiexec.mpich"] {
        if !is_root() || !Path::new("/usr/bin").join(launcher).exists() {
            skip("ranks_of_an_mpi_are_pairs", &format!("needs root, ip and {launcher}"));
            continue;
        }
        patiently("ranks_of_an_mpi_are_pairs", || ranks_are_pairs(launcher));
    }
}

/// A file that can be started.
fn program(file: &Path, script: &str) {
    fs::write(file, script).expect("script");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(file, mode).expect("mode");
}

/// A mesh whose launcher is the first on the path, and takes its words from the environment.
fn mesh_by(launcher: &str, hosts: &Bridged, dir: &Path, words: &[&str]) -> Value {
    let ran = run(command_by(launcher, hosts, dir, "0.2").args(words));
    serde_json::from_str(&out(&ran)).unwrap_or_else(|_| panic!("{launcher}: {}", err(&ran)))
}

/// The command of it, with windows of so many seconds.
fn command_by(launcher: &str, hosts: &Bridged, dir: &Path, seconds: &str) -> Command {
    let (binary, reach) = (env!("CARGO_BIN_EXE_narrows"), dir.join("reach"));
    let hop = |n: usize| format!("{}=/run/netns/{}", address(n), hosts.0[n + 1]);
    let hops: Vec<String> = (0..3).map(hop).collect();
    let script = format!(
        "#!/bin/sh\nexport NARROWS_HOPS={}\nexec '{binary}' become --agent -- \"$@\"\n",
        hops.join(",")
    );
    program(&reach, &script);
    program(&dir.join("mpirun"), &format!("#!/bin/sh\nexec {launcher} \"$@\"\n"));
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("nsenter");
    command.arg(hosts.inside(0)).args([binary, "mesh", "-J", "--pairs", "quick"]);
    command.args(["--once", "-t", seconds, "--out"]).arg(dir).env_remove("NARROWS_KEY");
    command.env("PATH", format!("{}:{path}", dir.display()));
    command.env("OMPI_MCA_plm", "rsh").env("OMPI_MCA_plm_rsh_agent", &reach);
    command.env("OMPI_MCA_oob_tcp_if_include", "198.51.100.0/24");
    command.env("HYDRA_LAUNCHER", "ssh").env("HYDRA_LAUNCHER_EXEC", &reach);
    command.env("HYDRA_IFACE", "bridge");
    command
}

fn ranks_are_pairs(launcher: &str) {
    let hosts = Bridged::new("meshmpi", 3);
    let dir = folder(&format!("mesh-{launcher}"));
    let by_ranks = ["--mpi", "--fabric", "tcp:uplink"];
    let mesh = |words: &[&str]| mesh_by(launcher, &hosts, &dir, &[&by_ranks, words].concat());
    let rates: Value = mesh(&["198.51.100.[2-5]"]);
    assert_eq!(rates["mesh"]["unit"], "bit/s", "{rates}");
    let gone: Vec<bool> =
        rates["gone"].as_array().expect("a list").iter().map(Value::is_string).collect();
    assert_eq!(gone, [false, false, false, true], "{rates}");
    // Three are there: two of a half, and the odd one with the first.
    let cells = rates["mesh"]["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 4);
    assert!(cells.iter().all(|cell| cell["looks"][0]["value"].is_f64()), "{rates}");
    let dead = serde_json::json!({ "what": "dead", "host": 3 });
    assert_eq!(rates["mesh"]["named"][0]["suspect"], dead, "{rates}");
    let trips: Value = mesh(&["198.51.100.[2-3]", "--rr"]);
    assert_eq!(trips["mesh"]["unit"], "ns", "{trips}");
    let cells = trips["mesh"]["cells"].as_array().expect("cells");
    assert!(cells.iter().all(|cell| cell["looks"][0]["value"].is_f64()), "{trips}");
}

/// Agents that launchers of an MPI start on three hosts, and none on one that is not there; nothing
/// is left of them.
#[test]
fn agents_that_mpirun_starts_meet_and_leave_nothing() {
    for launcher in ["mpirun.openmpi", "mpiexec.mpich"] {
        if !is_root() || !Path::new("/usr/bin").join(launcher).exists() {
            skip("agents_that_mpirun_starts", &format!("needs root, ip and {launcher}"));
            continue;
        }
        patiently("agents_that_mpirun_starts", || launched_meet(launcher));
    }
}

fn launched_meet(launcher: &str) {
    let hosts = Bridged::new("meshlaunch", 3);
    let dir = folder(&format!("mesh-launch-{launcher}"));
    let words = ["198.51.100.[2-5]", "--start", "mpirun", "-b", "8M", "-p", "7484"];
    let json = mesh_by(launcher, &hosts, &dir, &words);
    let gone: Vec<bool> =
        json["gone"].as_array().expect("a list").iter().map(Value::is_string).collect();
    assert_eq!(gone, [false, false, false, true], "{json}");
    let cells = json["mesh"]["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 4, "{json}");
    assert!(cells.iter().all(|cell| cell["looks"][0]["value"].is_f64()), "{json}");
    nobody_serves("7484");
    let words = ["198.51.100.[2-3]", "--start", "mpirun", "-b", "8M", "-p", "7484"];
    for (signal, code) in [(Signal::SIGINT, Some(130)), (Signal::SIGKILL, None)] {
        let mut mesh = command_by(launcher, &hosts, &dir, "60");
        let mesh = mesh.args(words).stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = mesh.spawn().expect("starts");
        have_come("7484", 2);
        kill(Pid::from_raw(running.id() as i32), signal).expect("signal");
        assert_eq!(running.wait().expect("wait").code(), code);
        nobody_serves("7484");
    }
}

/// Waits until no agent of that port is left.
fn nobody_serves(port: &str) {
    let until = Instant::now() + Duration::from_secs(45);
    while !serving(port).is_empty() {
        assert!(Instant::now() < until, "left: {:?}", serving(port));
        sleep(Duration::from_millis(50));
    }
}

/// Agents by their port in the command line. A shell that started one has the words in one.
fn serving(port: &str) -> Vec<i32> {
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    let pid = |one: fs::DirEntry| {
        let line = fs::read(one.path().join("cmdline")).ok()?;
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let is_ours = words.contains(&b"serve".as_slice()) && words.contains(&port.as_bytes());
        is_ours.then(|| one.file_name().to_string_lossy().parse().ok()).flatten()
    };
    all.filter_map(pid).collect()
}

/// Real servers of ssh in namespaces, which end with the test, and what is left of agents there.
struct Servers {
    all: Vec<Child>,
    dir: PathBuf,
}

impl Servers {
    /// One in each of these hosts; `None` where they cannot be had, which is said.
    fn start(hosts: &Bridged, label: &str, at: &[usize]) -> Option<Self> {
        if !Path::new(SSHD).exists() {
            skip(label, "needs openssh-server");
            return None;
        }
        let dir = folder(label);
        let own = dir.display();
        for key in ["id", "host"] {
            let words = ["-q", "-t", "ed25519", "-N", "", "-f"];
            let made = Command::new("ssh-keygen").args(words).arg(dir.join(key)).status();
            assert!(made.expect("ssh-keygen").success());
        }
        fs::create_dir_all("/run/sshd").expect("the folder that sshd asks for");
        fs::create_dir_all(dir.join("tmp")).expect("folder");
        let server = format!(
            "Port 7422\nHostKey {own}/host\nAuthorizedKeysFile {own}/id.pub\nStrictModes no\n\
             UsePAM no\nPidFile none\nSetEnv TMPDIR={own}/tmp PATH=/usr/bin:/bin\n"
        );
        fs::write(dir.join("sshd.conf"), server).expect("configuration");
        let client = format!(
            "#!/bin/sh\nexec ssh -p 7422 -l root -i {own}/id -o StrictHostKeyChecking=no \
             -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectTimeout=20 \"$@\"\n"
        );
        fs::write(dir.join("ssh"), client).expect("script");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(dir.join("ssh"), mode).expect("mode");
        let serve = |host: &usize| {
            let mut sshd = Command::new("nsenter");
            sshd.arg(hosts.inside(host + 1)).args([SSHD, "-D", "-e", "-f"]);
            sshd.arg(dir.join("sshd.conf")).stderr(Stdio::null()).spawn().expect("sshd")
        };
        let all = at.iter().map(serve).collect();
        Some(Self { all, dir })
    }

    /// narrows in the controller's namespace, with the ssh that knows these hosts and no key.
    fn mesh(&self, hosts: &Bridged, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(hosts.inside(0)).arg(env!("CARGO_BIN_EXE_narrows"));
        command.args(["mesh", "-p", "7481", "--out"]).arg(folder(&hosts.0[0]));
        command.env_remove("NARROWS_KEY").env("NARROWS_SSH", self.dir.join("ssh")).args(words);
        command
    }

    /// The agents that ssh brought.
    fn agents() -> Vec<i32> {
        serving("7481")
    }

    fn are_cleared(&self) {
        let left = || fs::read_dir(self.dir.join("tmp")).expect("folder").count();
        let until = Instant::now() + Duration::from_secs(30);
        while !Self::agents().is_empty() || left() > 0 {
            assert!(Instant::now() < until, "{:?}, {} files", Self::agents(), left());
            sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for sshd in &mut self.all {
            let _ = sshd.kill();
            let _ = sshd.wait();
        }
    }
}

const SSHD: &str = "/usr/sbin/sshd";
const BY_SSH: [&str; 3] = ["ssh:198.51.100.2", "ssh:198.51.100.3", "ssh:198.51.100.4"];

/// One test, since agents are told by their port.
#[test]
fn agents_brought_by_ssh_meet_and_leave_nothing() {
    // A pair whose words come late on a busy machine has no figure.
    patiently("agents_brought_by_ssh", meet_and_leave_nothing);
}

fn meet_and_leave_nothing() {
    if !is_root() {
        skip("agents_brought_by_ssh", "needs root and ip");
        return;
    }
    let hosts = Bridged::new("meshssh", 4);
    // The third has no server of ssh.
    let Some(servers) = Servers::start(&hosts, "mesh-ssh", &[0, 1, 3]) else { return };
    let words = ["-b", "8M", "-t", "0.3", "--once", "-J"];
    let mut mesh = servers.mesh(&hosts, &BY_SSH);
    let ran = run(mesh.arg("ssh:198.51.100.5").args(words));
    let json: Value = serde_json::from_str(&out(&ran)).unwrap_or_else(|_| panic!("{}", err(&ran)));
    assert!(json["gone"][2].as_str().is_some_and(|why| why.contains("ssh")), "{json}");
    let cells = json["mesh"]["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 6);
    assert!(cells.iter().all(|cell| cell["looks"][0]["value"].is_f64()), "{json}");
    servers.are_cleared();

    // Ctrl-C in the middle of a window ends all of it.
    let mut mesh = servers.mesh(&hosts, &[BY_SSH[0], BY_SSH[1], "ssh:198.51.100.5"]);
    let long = mesh.args(["-b", "8M", "-t", "60"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = long.spawn().expect("starts");
    have_come("7481", 3);
    // They may meet each other, and nobody else.
    for pid in Servers::agents() {
        let line = fs::read(format!("/proc/{pid}/cmdline")).expect("an agent");
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let peers = " --peers 198.51.100.2,198.51.100.3,198.51.100.5 ";
        assert!(line.contains(peers), "{line}");
    }
    kill(Pid::from_raw(running.id() as i32), Signal::SIGINT).expect("signal");
    assert_eq!(running.wait().expect("wait").code(), Some(130));
    servers.are_cleared();

    // An agent that dies in the middle of a window costs the pairs of its host alone.
    let mut mesh = servers.mesh(&hosts, &[BY_SSH[0], BY_SSH[1], "ssh:198.51.100.5"]);
    let short = mesh.args(["-b", "8M", "-t", "4", "--once", "-J"]);
    let running = short.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
    have_come("7481", 3);
    let within = |pid: &i32| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let own =
        run(Command::new("nsenter").arg(hosts.inside(2)).args(["readlink", "/proc/self/ns/net"]));
    let own = PathBuf::from(out(&own).trim());
    let doomed = Servers::agents().into_iter().filter(|pid| within(pid).as_ref() == Some(&own));
    for pid in doomed {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
    let ran = running.wait_with_output().expect("wait");
    let json: Value = serde_json::from_str(&out(&ran)).expect("JSON");
    for cell in json["mesh"]["cells"].as_array().expect("cells") {
        let of_dead = [&cell["from"], &cell["to"]].contains(&&Value::from(1));
        // A pair of it may have been done before.
        assert!(of_dead || cell["looks"][0]["value"].is_f64(), "{cell}");
        assert_eq!(cell["failed"].is_string(), cell["state"] == "failed", "{cell}");
    }
    assert!(json["gone"][1].is_string() && json["gone"][0].is_null(), "{json}");
    let gone = serde_json::json!({ "what": "gone", "host": 1 });
    assert_eq!(json["mesh"]["named"][0]["suspect"], gone, "{json}");
    let after_ns = json["mesh"]["gone"][0]["after_ns"].as_u64();
    assert!(after_ns.is_some_and(|ns| ns > 1_000_000_000), "{json}");
    servers.are_cleared();
}

/// Waits for so many agents, and until they have begun to exchange data.
fn have_come(port: &str, count: usize) {
    let until = Instant::now() + Duration::from_secs(120);
    while serving(port).len() < count {
        assert!(Instant::now() < until, "{:?}", serving(port));
        sleep(Duration::from_millis(50));
    }
    sleep(Duration::from_secs(3));
}

/// A stand-in for srun, in namespaces: each node's task has standard input as all others have, and
/// lines with its number. It cannot reach the node that `unreached` names, and the last has no
/// program; what it was told and could read is kept.
fn stand_in(hosts: &Bridged, dir: &Path, unreached: &str) {
    let at = hosts.0[0].trim_end_matches("hub").to_owned();
    let (own, script) = (dir.display(), dir.join("srun"));
    let text = format!(
        r#"#!/bin/bash
echo "$*" "$(env)" >>{own}/told
while [ "$1" != sh ]; do case $1 in --nodelist=*) list=${{1#*=}} ;; esac; shift; done
case ,$list, in *,{unreached},*)
  echo "srun: error: Task launch for StepId=1.0 failed on node {unreached}: Connection refused" >&2
  exit 1 ;;
esac
IFS=, read -ra nodes <<<"$list"
pipes=$(mktemp -d {own}/pipes.XXXXXX)
trap 'rm -r "$pipes"' EXIT
for n in "${{!nodes[@]}}"; do
  mkfifo "$pipes/$n"
  host=$((${{nodes[n]##*.}} - 2))
  [ "$host" = 3 ] && set -- "$1" "$2" "$3" /nowhere/narrows "${{@:5}}"
  SLURMD_NODENAME=${{nodes[n]}} nsenter --net=/run/netns/{at}"$host" "$@" <"$pipes/$n" |
    sed -u "s/^/ $n: /" &
done
tee "$pipes"/* >/dev/null
wait
"#
    );
    program(&script, &text);
}

/// narrows as in a job of these nodes, with that srun.
fn in_job(hosts: &Bridged, dir: &Path, nodes: &str, words: &[&str]) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("nsenter");
    command.arg(hosts.inside(0)).arg(env!("CARGO_BIN_EXE_narrows"));
    command.args(["mesh", "--start", "srun", "-p", "7483", "--out"]).arg(dir).args(words);
    command.env("PATH", format!("{}:{path}", dir.display())).env_remove("NARROWS_KEY");
    command.env("SLURM_JOB_NODELIST", nodes);
    command
}

/// Whether all that was started has ended and nothing of it is left.
fn is_cleared(dir: &Path) {
    let left = || {
        let all = fs::read_dir(dir).expect("folder").flatten();
        all.filter(|one| one.file_name().to_string_lossy().contains("pipes")).count()
    };
    let until = Instant::now() + Duration::from_secs(45);
    while !serving("7483").is_empty() || left() > 0 {
        assert!(Instant::now() < until, "{:?}, {} folders", serving("7483"), left());
        sleep(Duration::from_millis(50));
    }
}

/// One test, since agents are told by their port.
#[test]
fn agents_that_srun_starts_meet_and_leave_nothing() {
    patiently("agents_that_srun_starts", started_meet_and_leave_nothing);
}

fn started_meet_and_leave_nothing() {
    if !is_root() {
        return skip("agents_that_srun_starts", "needs root and ip");
    }
    let hosts = Bridged::new("meshsrun", 4);
    let dir = folder("mesh-srun");
    stand_in(&hosts, &dir, "198.51.100.3");
    let words = ["-b", "8M", "-t", "0.3", "--once", "-J"];
    let ran = run(&mut in_job(&hosts, &dir, "198.51.100.[2-5]", &words));
    let json: Value = serde_json::from_str(&out(&ran)).unwrap_or_else(|_| panic!("{}", err(&ran)));
    let gone = |n: usize| json["gone"][n].as_str().unwrap_or_default().to_owned();
    assert_eq!((gone(0), gone(2)), (String::new(), String::new()), "{json}");
    assert_eq!(gone(1), "srun does not reach it: Connection refused");
    assert!(gone(3).contains("/nowhere/narrows: not found"), "{}", gone(3));
    let cells = json["mesh"]["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 2);
    assert!(cells.iter().all(|cell| cell["looks"][0]["value"].is_f64()), "{json}");
    is_cleared(&dir);
    // The key is neither in the words nor in the environment; whom agents may meet is.
    let told = fs::read_to_string(dir.join("told")).expect("what srun was told");
    assert!(!told.contains("NARROWS_KEY="), "{told}");
    assert!(told.contains("198.51.100.2,198.51.100.3,198.51.100.4,198.51.100.5 "), "{told}");
    let hex = |word: &str| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(!told.split(|c: char| !c.is_ascii_alphanumeric()).any(hex), "{told}");

    for (signal, code) in [(Signal::SIGINT, Some(130)), (Signal::SIGKILL, None)] {
        let mut mesh = in_job(&hosts, &dir, "198.51.100.[2,4]", &["-b", "8M", "-t", "60"]);
        let mesh = mesh.stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = mesh.spawn().expect("starts");
        have_come("7483", 2);
        kill(Pid::from_raw(running.id() as i32), signal).expect("signal");
        assert_eq!(running.wait().expect("wait").code(), code);
        is_cleared(&dir);
    }
}

/// What keeps agents from being started is told with what srun says, and a launcher that hangs is
/// ended when the user wishes so.
#[test]
fn a_step_that_does_not_begin_is_told() {
    let dir = folder("mesh-no-srun");
    let mesh = |words: &[&str]| {
        let mut command = narrows();
        command.args(["mesh", "--start", "srun"]).args(words).env("PATH", dir.as_os_str());
        command.env("SLURM_JOB_NODELIST", "192.0.2.[1-2]").current_dir(&dir);
        command
    };
    fails(&mut mesh(&[]), 5, "srun cannot be run");
    fails(&mut mesh(&["192.0.2.7", "192.0.2.1"]), 2, "192.0.2.7 is no node of this job");
    fails(
        mesh(&[]).env("SLURM_JOB_NUM_NODES", "3"),
        2,
        "names 2 nodes, and SLURM_JOB_NUM_NODES is 3",
    );
    program(&dir.join("srun"), "#!/bin/sh\necho 'srun: fatal: a fault' >&2; exit 7\n");
    let failed = fails(&mut mesh(&[]), 3, "srun ended (exit status: 7) before an agent listened");
    assert!(err(&failed).contains("srun: fatal: a fault\n"), "{}", err(&failed));
    program(&dir.join("srun"), "#!/bin/sh\necho $$ >begun; exec /bin/sleep 600\n");
    let hung = mesh(&[]).stderr(Stdio::piped()).spawn().expect("starts");
    let until = Instant::now() + Duration::from_secs(60);
    let begun = || fs::read_to_string(dir.join("begun")).unwrap_or_default().trim().to_owned();
    while begun().is_empty() {
        assert!(Instant::now() < until, "srun was not started");
        sleep(Duration::from_millis(20));
    }
    kill(Pid::from_raw(hung.id() as i32), Signal::SIGINT).expect("signal");
    assert_eq!(hung.wait_with_output().expect("wait").status.code(), Some(130));
    assert!(!Path::new("/proc").join(begun()).exists(), "srun is left behind");
}

/// What Kubernetes is told is one document, whose fields its API has; what to do is told beside it.
#[test]
fn a_manifest_is_one_document_and_holds_no_key() {
    let mesh = |words: &[&str]| {
        let mut command = narrows();
        command.args(["mesh", "--k8s", "registry.example/narrows:1"]).args(words);
        command.env("NARROWS_KEY", "5a".repeat(32));
        command
    };
    let ran = run(&mut mesh(&["--peers", "10.0.0.0/16,fd00::/64", "-p", "7500"]));
    assert_eq!(ran.status.code(), Some(0), "{}", err(&ran));
    let text = out(&ran);
    let json: Value = serde_json::from_str(&text).expect("one JSON document");
    assert_eq!(json["kind"], "DaemonSet");
    let words = &json["spec"]["template"]["spec"]["containers"][0]["args"];
    assert_eq!(words[4], "10.0.0.0/16,fd00::/64");
    assert!(!text.contains("5a5a") && !err(&ran).contains("5a5a"), "{text}");
    assert!(err(&ran).contains("kubectl create secret generic"), "{}", err(&ran));
    let job = run(&mut mesh(&["--peers", "10.0.0.0/16", "--k8s-nodes", "3"]));
    let json: Value = serde_json::from_str(&out(&job)).expect("one JSON document");
    assert_eq!((&json["kind"], &json["spec"]["parallelism"]), (&"Job".into(), &3.into()));
    assert!(err(&job).contains("kubectl delete job/narrows-agent"), "{}", err(&job));
    // Whom agents may meet is the user's to say.
    for words in [&[][..], &["--peers", "0.0.0.0/0"], &["--peers", "10.0.0.0/8", "n1"]] {
        assert_eq!(run(&mut mesh(words)).status.code(), Some(2), "{words:?}");
    }
}

/// A shell allows few open files, and each launcher holds three pipes: nobody is lost to that.
#[test]
fn a_low_limit_of_open_files_costs_no_agent() {
    let dir = folder("mesh-files");
    let version = "[ \"$1\" = --version ] && { echo 'mpirun (Open MPI) 4.1.4'; exit; }";
    program(&dir.join("mpirun"), &format!("#!/bin/sh\n{version}\nsleep 2; echo unreached\n"));
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -S -n 48; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_narrows")]);
    command.args(["mesh", "127.0.0.[2-21]", "--start", "mpirun", "-p", "7485"]);
    command.env("PATH", format!("{}:{path}", dir.display())).env_remove("NARROWS_KEY");
    let ran = run(&mut command);
    assert_ne!(ran.status.code(), Some(0));
    let says = err(&ran);
    // Each host, and the first once more as the cause.
    assert_eq!(says.matches(": unreached\n").count(), 21, "{says}");
    assert!(!says.contains("open files"), "{says}");
}
