//! How a generator is held: in a process namespace of its own, so that the kernel ends all that it
//! started with it and with us; on the CPU that was asked for; and its interface as it was.

use super::ground::Ground;
use super::{Leaves, at_start};
use crate::engines::Ended;
use narrows_hostctl::guard::{self, Guard};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use std::fs;
use std::process::{Command, Stdio};

/// What goes before a generator: it dies with us, and what it forks dies with it. It has no say in
/// that, since it is the first process of a namespace that the kernel empties when it is gone.
const HELD: [&str; 8] =
    ["setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child", "--"];

/// The command of a generator, inside the namespace of the interface that it sends on.
pub fn contained(program: &str, words: &[String], ground: &Ground) -> Command {
    let mut line: Vec<String> = Vec::new();
    if let Some(namespace) = &ground.near.namespace {
        line.extend(["nsenter".to_owned(), format!("--net={namespace}")]);
    }
    line.extend(HELD.map(str::to_owned));
    line.push(program.to_owned());
    line.extend(words.iter().cloned());
    let mut command = narrows_hostctl::child::command(&line[0]);
    command.args(&line[1..]);
    command
}

/// Puts every thread of a process group on one CPU, wherever it had put itself.
pub fn put_on(group: Pid, cpu: u32) -> Result<(), Ended> {
    let mut cpus = CpuSet::new();
    cpus.set(cpu as usize).map_err(at_start)?;
    let processes = fs::read_dir("/proc").map_err(at_start)?.flatten();
    for process in processes.filter(|entry| group_of(&entry.path()) == Some(group)) {
        let threads = fs::read_dir(process.path().join("task")).into_iter().flatten().flatten();
        let threads = threads.filter_map(|one| one.file_name().to_str()?.parse().ok());
        for thread in threads {
            let put = sched_setaffinity(Pid::from_raw(thread), &cpus);
            put.map_err(|why| at_start(format!("moving a generator to CPU {cpu}: {why}")))?;
        }
    }
    Ok(())
}

/// The process group of a process by its folder in /proc, the fifth field of its `stat`; the second
/// is its name in brackets, which may hold anything.
fn group_of(process: &std::path::Path) -> Option<Pid> {
    let text = fs::read_to_string(process.join("stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(Pid::from_raw(rest.split_whitespace().nth(2)?.parse().ok()?))
}

/// The interface of a generator as it was: what the generator leaves there is undone when this is
/// dropped, and on a port of this host by a process of its own where we are killed. Namespaces of
/// ours are gone with us.
pub struct AsItWas {
    _guard: Option<Guard>,
    /// Commands that undo it in a namespace of ours.
    undo: Vec<Command>,
}

impl AsItWas {
    /// Notes how the interface is, where a generator changes it.
    pub fn of(ground: &Ground, leaves: Leaves) -> Result<Self, Ended> {
        let name = &ground.near.link.name;
        match (&ground.near.namespace, leaves) {
            (_, Leaves::Nothing) => Ok(Self { _guard: None, undo: Vec::new() }),
            (Some(namespace), _) => {
                let words: &[&[&str]] = match leaves {
                    Leaves::Program => &[&["promisc", "off"], &["xdp", "off"]],
                    _ => &[&["promisc", "off"]],
                };
                let undo = words.iter().map(|words| ip_link(namespace, name, words));
                Ok(Self { _guard: None, undo: undo.collect() })
            }
            (None, _) => {
                let path = format!("/sys/class/net/{name}/flags");
                let was = guard::read(&path).map_err(at_start)?;
                let binary = std::env::current_exe().map_err(at_start)?;
                let mut guard = Guard::start(&binary).map_err(at_start)?;
                guard.set(&path, &was).map_err(at_start)?;
                Ok(Self { _guard: Some(guard), undo: Vec::new() })
            }
        }
    }
}

impl Drop for AsItWas {
    fn drop(&mut self) {
        for command in &mut self.undo {
            let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
    }
}

fn ip_link(namespace: &str, name: &str, words: &[&str]) -> Command {
    let mut command = narrows_hostctl::child::command("nsenter");
    command.arg(format!("--net={namespace}"));
    command.args(["ip", "link", "set", "dev", name]).args(words);
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::process::Running;
    use std::time::{Duration, Instant};

    #[test]
    fn a_group_is_found_and_put_on_one_cpu() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & sleep 60 & wait"]);
        let tool = Running::start_heard(command).expect("a shell");
        let group = tool.group();
        let until = Instant::now() + Duration::from_secs(20);
        let members = || {
            let all = fs::read_dir("/proc").expect("proc").flatten().map(|entry| entry.path());
            all.filter(|path| group_of(path) == Some(group)).collect::<Vec<_>>()
        };
        while members().len() < 3 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        put_on(group, 0).expect("put");
        assert_eq!(members().len(), 3, "the shell and what it started");
        for process in members() {
            let status = fs::read_to_string(process.join("status")).expect("a status");
            let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            assert_eq!(allowed.map(str::trim), Some("0"));
        }
    }
}
