//! What is left to an agent that was started as root, and to its workers, as the kernel tells it.

use narrows_run::{child, confine, privilege};
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::process::Command;

/// The environment variable by which this test starts itself as what it looks at.
const PART: &str = "NARROWS_TEST_PART";

fn status(of: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{of}/status")).expect("status");
    let wanted = ["Uid", "Groups", "Cap", "NoNewPrivs", "Seccomp:"];
    let lines = text.lines().filter(|line| wanted.iter().any(|name| line.starts_with(name)));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}

/// What a call came to, in a word.
fn word<T>(came: Result<T, nix::Error>) -> String {
    came.map_or_else(|error| error.to_string(), |_| "done".to_owned())
}

/// Not a test: what the tests start. Says what it has and may, line by line.
#[test]
fn part() {
    let Ok(part) = std::env::var(PART) else { return };
    let own = std::env::current_exe().expect("own program");
    if part == "agent" {
        let binary = privilege::drop_root("nobody", &own).expect("dropped").expect("as root");
        confine::agent().expect("confined");
        println!("agent\n{}", status("thread-self"));
        println!("unshare {}", word(unshare(CloneFlags::CLONE_NEWUSER)));
        let packets = socket(AddressFamily::Packet, SockType::Raw, SockFlag::empty(), None);
        println!("packets {}", word(packets));
        println!("inet {}", std::net::TcpListener::bind("127.0.0.1:0").is_ok());
        let regained = caps::raise(None, caps::CapSet::Effective, caps::Capability::CAP_NET_ADMIN);
        println!("regained {}", regained.is_ok());
        let mut worker = Command::new(binary);
        child::confine(&mut worker);
        worker.args(["--exact", "part", "--nocapture"]).env(PART, "worker");
        let ran = worker.output().expect("a worker is started");
        print!("{}", String::from_utf8_lossy(&ran.stdout));
    } else {
        child::obey_confine().expect("confined");
        println!("worker\n{}", status("thread-self"));
        let thread = std::thread::spawn(|| 7).join().expect("thread");
        println!("thread {thread}");
        let started = Command::new("/bin/true").status();
        println!(
            "exec {}",
            started.map_or_else(|error| error.kind().to_string(), |s| s.to_string())
        );
    }
}

#[test]
fn an_agent_keeps_nothing_and_a_worker_only_what_loads_need() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: an_agent_keeps_nothing: needs root, to give it up");
        return;
    }
    let mut command = Command::new(std::env::current_exe().expect("own program"));
    command.args(["--exact", "part", "--nocapture"]).env(PART, "agent");
    let ran = command.output().expect("started");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let why = format!("{said}\n{}", String::from_utf8_lossy(&ran.stderr));
    let (agent, worker) = said.split_once("worker\n").expect(&why);
    let none = "0000000000000000";
    // CAP_NET_ADMIN is the twelfth.
    let one = "0000000000001000";
    for (of, effective) in [(agent, none), (worker, one)] {
        for line in [
            "Uid: 65534 65534 65534 65534\n".to_owned(),
            format!("CapEff: {effective}\n"),
            format!("CapPrm: {one}\n"),
            format!("CapBnd: {none}\n"),
            "NoNewPrivs: 1\n".to_owned(),
            "Seccomp: 2\n".to_owned(),
        ] {
            assert!(of.contains(&line), "{line}{why}");
        }
    }
    for line in ["unshare EPERM", "packets EPERM", "inet true", "regained false"] {
        assert!(agent.contains(line), "{line}: {why}");
    }
    for line in ["thread 7\n", "exec permission denied\n"] {
        assert!(worker.contains(line), "{line}{why}");
    }
}
