//! Agents that ssh brings to a host and takes away, with a real sshd.

mod common;

use common::{err, fails, folder, is_root, narrows, out, run, skip};
use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SSHD: &str = "/usr/sbin/sshd";

/// A server of ssh that ends with the test, whose logins have a folder for temporary files of
/// their own.
struct Host {
    sshd: Child,
    dir: PathBuf,
    /// A free port for an agent.
    agent: u16,
}

/// A TCP port of loopback that nothing has now.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port()
}

fn executable(path: &Path, text: &str) {
    fs::write(path, text).expect("script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("mode");
}

impl Host {
    /// `None` where it cannot be had, which is said. `installed`: narrows is in the logins' PATH.
    fn start(test: &str, installed: bool) -> Option<Self> {
        if !is_root() {
            skip(test, "needs root for a server of ssh");
            return None;
        }
        if !Path::new(SSHD).exists() {
            skip(test, "needs openssh-server");
            return None;
        }
        let dir = folder(test);
        let at = dir.display();
        for key in ["id", "host"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(dir.join(key))
                .status();
            assert!(made.expect("ssh-keygen").success());
        }
        fs::create_dir_all("/run/sshd").expect("the folder that sshd asks for");
        fs::create_dir_all(dir.join("tmp")).expect("folder");
        fs::create_dir_all(dir.join("bin")).expect("folder");
        if installed {
            symlink(env!("CARGO_BIN_EXE_narrows"), dir.join("bin/narrows")).expect("link");
        }
        let port = free_port();
        let server = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {at}/host\nAuthorizedKeysFile {at}/id.pub\n\
             StrictModes no\nUsePAM no\nPidFile none\n\
             SetEnv TMPDIR={at}/tmp PATH={at}/bin:/usr/bin:/bin\n"
        );
        fs::write(dir.join("sshd.conf"), server).expect("configuration");
        let client = format!(
            "Host *\n  User root\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {at}/id\n  \
             StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n\
             Host behind\n  ProxyJump gate\n"
        );
        fs::write(dir.join("client.conf"), client).expect("configuration");
        executable(&dir.join("ssh"), &format!("#!/bin/sh\nexec ssh -F {at}/client.conf \"$@\"\n"));
        let sshd = Command::new(SSHD)
            .args(["-D", "-e", "-f"])
            .arg(dir.join("sshd.conf"))
            .stderr(Stdio::null())
            .spawn()
            .expect("sshd starts");
        let host = Self { sshd, dir, agent: free_port() };
        let until = Instant::now() + Duration::from_secs(20);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "sshd does not listen");
            sleep(Duration::from_millis(20));
        }
        Some(host)
    }

    /// narrows, with the ssh that knows this host.
    fn narrows(&self, words: &[&str]) -> Command {
        let mut command = narrows();
        command.env("NARROWS_SSH", self.dir.join("ssh")).args(words);
        command.args(["-p", &self.agent.to_string()]);
        command
    }

    fn tcp(&self, host: &str) -> Command {
        let mut command = self.narrows(&["tcp", host, "-t", "0.1", "--repeats", "1", "--json"]);
        command.arg("--out").arg(self.dir.join("bin"));
        command
    }

    /// What lies in the folder of temporary files there.
    fn left_there(&self) -> usize {
        fs::read_dir(self.dir.join("tmp")).expect("folder").count()
    }

    /// Whether an agent runs there, by its port in the command line.
    fn has_agent(&self) -> bool {
        let port = self.agent.to_string();
        let processes = fs::read_dir("/proc").expect("/proc").flatten();
        processes.filter_map(|one| fs::read(one.path().join("cmdline")).ok()).any(|line| {
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            words.contains(&b"serve".as_slice()) && words.contains(&port.as_bytes())
        })
    }

    /// Waits until nothing of narrows is left there.
    fn is_cleared(&self) {
        let until = Instant::now() + Duration::from_secs(20);
        while self.has_agent() || self.left_there() > 0 {
            assert!(Instant::now() < until, "left there: {} files", self.left_there());
            sleep(Duration::from_millis(50));
        }
    }

    fn waits_for_agent(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        while !self.has_agent() {
            assert!(Instant::now() < until, "no agent came");
            sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
    }
}

#[test]
fn an_agent_is_brought_and_taken_away() {
    let Some(host) = Host::start("ssh-brought", false) else { return };
    let output = run(&mut host.tcp("ssh:there"));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(json["results"][0]["done"], 1, "{json}");
    assert_eq!(json["study"]["peer"], "ssh:there");
    assert!(!err(&output).contains("a controller with the key"), "{}", err(&output));
    // At once, and not only in a while.
    assert!(!host.has_agent());
    assert_eq!(host.left_there(), 0);
}

#[test]
fn nothing_is_left_of_an_agent_whose_controller_was_killed() {
    let Some(host) = Host::start("ssh-killed", false) else { return };
    let mut long = host.narrows(&["tcp", "ssh:there", "-t", "60"]);
    let mut controller = long
        .arg("--out")
        .arg(host.dir.join("bin"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    host.waits_for_agent();
    assert_eq!(host.left_there(), 1);
    controller.kill().expect("kill -9");
    controller.wait().expect("wait");
    host.is_cleared();
}

#[test]
fn the_same_program_is_used_where_it_is_installed_also_behind_a_jump_host() {
    let Some(host) = Host::start("ssh-installed", true) else { return };
    // With it nothing can be put there.
    fs::remove_dir(host.dir.join("tmp")).expect("folder");
    for name in ["ssh:there", "ssh:behind"] {
        let output = run(&mut host.tcp(name));
        assert_eq!(output.status.code(), Some(0), "{name}: {}", err(&output));
    }
    let output = run(&mut host.narrows(&["placement", "ssh:there", "--print"]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("interrupts at the peer"), "{}", out(&output));
}

#[test]
fn what_keeps_an_agent_from_being_there_is_said() {
    let dir = folder("ssh-refused");
    let tcp = |host: &str| {
        let mut command = narrows();
        command.args(["tcp", host, "--out"]).arg(&dir);
        command
    };
    fails(&mut tcp("ssh:-oProxyCommand=id"), 2, "not an ssh destination");
    fails(tcp("ssh:there").env("NARROWS_SSH", "/nowhere/ssh"), 5, "/nowhere/ssh cannot be run");
    let Some(host) = Host::start("ssh-hindered", true) else { return };
    let taken = TcpListener::bind(("0.0.0.0", host.agent)).expect("the agent's port");
    let output = run(&mut host.tcp("ssh:there"));
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    let says = err(&output);
    assert!(says.contains("Address already in use"), "what the agent there said: {says}");
    assert!(says.contains("ssh ended before the agent listened"), "{says}");
    assert!(says.contains("`journalctl -u ssh -u sshd` (as root there)"), "{says}");
    drop(taken);
    // A machine for which there is no program here.
    executable(&host.dir.join("bin/uname"), "#!/bin/sh\necho riscv128\n");
    fails(&mut host.tcp("ssh:there"), 5, "is riscv128 riscv128, and there is no ");
}

/// The port that agents have where nobody says another is taken: by this test, or by somebody else.
#[test]
fn an_agent_takes_a_free_port_where_the_usual_one_is_taken() {
    let Some(host) = Host::start("ssh-taken", true) else { return };
    let _taken = TcpListener::bind(("0.0.0.0", 7471));
    let mut tcp = narrows();
    tcp.env("NARROWS_SSH", host.dir.join("ssh"));
    tcp.args(["tcp", "ssh:there", "-t", "0.1", "--repeats", "1", "--json", "--out"]);
    let output = run(tcp.arg(host.dir.join("bin")));
    let says = err(&output);
    assert_eq!(output.status.code(), Some(0), "{says}");
    assert!(says.contains("ssh:there: port 7471 is taken there: its agent listens on"), "{says}");
    let json: Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(json["results"][0]["done"], 1, "{json}");
}

#[test]
fn an_agent_ends_when_its_input_is_closed_or_silent() {
    let serve = || {
        let mut command = narrows();
        command.args(["serve", "-B", "127.0.0.1", "-p", "0", "--until-closed", "1"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("starts")
    };
    let within = |mut agent: Child| {
        let until = Instant::now() + Duration::from_secs(20);
        while agent.try_wait().expect("wait").is_none() {
            assert!(Instant::now() < until, "it goes on");
            sleep(Duration::from_millis(20));
        }
    };
    let silent = serve();
    within(silent);
    let mut closed = serve();
    drop(closed.stdin.take());
    within(closed);
}
