//! Agents on hosts that the launcher of an MPI reaches, for as long as this process holds them.
//!
//! Each host has a launcher of its own that starts one rank, which speaks no MPI: a line of shell
//! that takes the key from standard input and runs the agent. One launcher for all would have to
//! bring standard input to every rank, which neither Open MPI nor MPICH does, and would end all for
//! one host that it does not reach. The agents end when their input is closed or silent for half a
//! minute, and the launchers with them: also after kill -9 of this process or of a launcher.

use super::come::{Come, Heard, Seen, Waited, read_lines};
use super::ssh::{HEARTBEAT, beat, listed, look_up};
use narrows_control::at_once;
use narrows_control::key::Key;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// What is run on each host.
const REMOTE: &str = include_str!("mpirun.sh");
/// How long the agents have until they listen.
const COME_WITHIN: Duration = Duration::from_secs(60);
/// How long launchers have to end once their input is closed, and how long after they are asked to.
const CLEAR_UP_WITHIN: Duration = Duration::from_secs(5);

/// Why the launcher of an MPI started no agent.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The agent of one host is not there, which costs this host alone.
    #[error("{host}: {why}")]
    NoAgent {
        host: String,
        /// What was said there or by the launcher, or that nothing was.
        why: String,
    },
    /// The user wished so.
    #[error("stopped before the agents listened")]
    Stopped,
}

/// What the agents are started with.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// This program, by a path that every host has.
    pub binary: &'a Path,
    /// The key that the agents are to hold.
    pub key: &'a Key,
    /// TCP port for them to listen on.
    pub port: u16,
    /// The user's wish to end.
    pub stop: &'a AtomicBool,
}

/// Launchers, each with the agent of one host. Dropping this ends them all.
#[derive(Debug, Default)]
pub struct Launched {
    launchers: Vec<Child>,
    /// Closed by being dropped.
    alive: Vec<Sender<()>>,
}

/// Whether each host, in its place, has an agent that listens.
pub type Listening = Vec<Result<String, LaunchError>>;

/// Starts an agent on each host, by the command that starts one rank there, and waits until they
/// listen.
pub fn start(
    hosts: &[(String, Command)],
    order: &Order<'_>,
    seen: &mut dyn FnMut(Seen<'_>),
) -> Result<(Listening, Launched), LaunchError> {
    let names = hosts.iter().map(|(host, _)| host);
    let found: Vec<Vec<IpAddr>> = at_once::all(names, |host| look_up(host))
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect();
    let meets = listed(&found.iter().flatten().copied().collect());
    let (says, heard) = channel();
    let mut launched = Launched::default();
    let mut called = 0;
    // A launcher that cannot be run costs its own host: the next may have what this one had not.
    let mut unstarted = BTreeMap::new();
    for (number, ((host, command), found)) in hosts.iter().zip(&found).enumerate() {
        if !found.is_empty() {
            match launched.begin((number, host), command, (order, &meets), &says) {
                Ok(()) => called += 1,
                Err(why) => {
                    unstarted.insert(host, format!("the launcher of the MPI cannot be run: {why}"));
                }
            }
        }
    }
    drop(says);
    let mut come = Come::default();
    if come.wait(called, &heard, order.stop, COME_WITHIN, seen) == Waited::Stopped {
        return Err(LaunchError::Stopped);
    }
    // Read to its end, or the launchers would wait for room to say more.
    thread::spawn(move || heard.iter().for_each(drop));
    let listening = hosts.iter().zip(&found).map(|((host, _), found)| {
        let why = match unstarted.get(host) {
            Some(why) => Some(why.as_str()),
            None if found.is_empty() => Some("the name has no address"),
            None => come.lacks(host),
        };
        let no_agent = |why: &str| LaunchError::NoAgent { host: host.clone(), why: why.to_owned() };
        why.map_or_else(|| Ok(host.clone()), |why| Err(no_agent(why)))
    });
    Ok((listening.collect(), launched))
}

/// What a launcher is called with behind its own words. They hold no key.
fn words(order: &Order<'_>, meets: &str) -> [String; 6] {
    let binary = order.binary.display().to_string();
    let port = order.port.to_string();
    ["sh".to_owned(), "-c".to_owned(), REMOTE.to_owned(), binary, port, meets.to_owned()]
}

/// Whether a line of a launcher says something: they draw frames around what they say.
fn says_something(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

impl Launched {
    /// The launcher of one host, which is heard under a number.
    fn begin(
        &mut self,
        (number, host): (usize, &str),
        command: &Command,
        (order, meets): (&Order<'_>, &str),
        says: &Sender<Heard>,
    ) -> io::Result<()> {
        let mut begun = Command::new(command.get_program());
        begun.args(command.get_args()).args(words(order, meets));
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => begun.env(name, value),
                None => begun.env_remove(name),
            };
        }
        // Ctrl-C reaches this process alone, which ends them in order.
        begun.process_group(0);
        begun.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut launcher = begun.spawn()?;
        let ends = launcher.stdin.take().zip(launcher.stdout.take()).zip(launcher.stderr.take());
        let (alive, ended) = channel();
        // From here on whatever ends this function ends the launcher.
        self.launchers.push(launcher);
        self.alive.push(alive);
        let ((mut told, said), own) = ends.ok_or(io::ErrorKind::Other)?;
        let _ = says.send(Heard::Task(format!("{number}: narrows-node {host}")));
        let (says, says_own) = (says.clone(), says.clone());
        let of = move |line: String| Heard::Task(format!("{number}: {line}"));
        thread::spawn(move || {
            read_lines(own, |line| !says_something(&line) || says_own.send(of(line)).is_ok());
        });
        thread::spawn(move || {
            read_lines(said, |line| says.send(of(line)).is_ok());
            // A launcher that reaches nobody ends without a word of the agent's.
            thread::sleep(Duration::from_millis(200));
            let _ = says.send(of("narrows-ended".to_owned()));
        });
        let key = format!("{}\n", order.key.show());
        thread::spawn(move || {
            if told.write_all(key.as_bytes()).and_then(|()| told.flush()).is_ok() {
                beat(told, &ended, HEARTBEAT);
            }
        });
        Ok(())
    }

    fn are_over_within(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            self.launchers.retain_mut(|one| matches!(one.try_wait(), Ok(None)));
            if self.launchers.is_empty() || Instant::now() >= until {
                return self.launchers.is_empty();
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Launched {
    /// Closes the agents' input, by which they end; then launchers are asked, and killed at last.
    fn drop(&mut self) {
        self.alive.clear();
        if self.are_over_within(CLEAR_UP_WITHIN) {
            return;
        }
        for launcher in &self.launchers {
            let _ = kill(Pid::from_raw(launcher.id().cast_signed()), Signal::SIGTERM);
        }
        if !self.are_over_within(CLEAR_UP_WITHIN) {
            for launcher in &mut self.launchers {
                let _ = launcher.kill();
                let _ = launcher.wait();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(hosts: &[(&str, &str)]) -> (Vec<Option<String>>, Launched) {
        let (key, stop) = (Key::random().expect("a key"), AtomicBool::new(false));
        let order = Order { binary: Path::new("/opt/narrows"), key: &key, port: 7, stop: &stop };
        let hosts: Vec<(String, Command)> = hosts
            .iter()
            .map(|(host, does)| {
                let mut command = Command::new("sh");
                command.args(["-c", does, "launcher"]).env("KEY_IS", key.show());
                ((*host).to_owned(), command)
            })
            .collect();
        let (told, launched) = start(&hosts, &order, &mut |_| {}).expect("launchers");
        (told.into_iter().map(|one| one.err().map(|why| why.to_string())).collect(), launched)
    }

    /// Launchers that are scripts: what they are told, and why a host has no agent.
    #[test]
    fn each_host_has_a_launcher_and_a_lost_one_costs_itself() {
        let listens = "[ \"$4\" = /opt/narrows ] && [ \"$5\" = 7 ] && [ \"$6\" = 127.0.0.1,127.0.0.2,127.0.0.3 ] \
             && read -r key && [ \"$key\" = \"$KEY_IS\" ] && echo narrows-listening 7 && exec cat";
        let unreached = "echo ------- >&2; echo 'ssh: no route' >&2; exit 1";
        let (told, launched) = begun(&[
            ("127.0.0.1", listens),
            ("127.0.0.2", unreached),
            ("127.0.0.3", "echo 'error: the port is taken'; echo narrows-ended 5; exec cat"),
            ("no.such.name.invalid", "exit 0"),
        ]);
        let why = |host: &str, why: &str| Some(format!("{host}: {why}"));
        assert_eq!(
            told,
            [
                None,
                why("127.0.0.2", "ssh: no route"),
                why("127.0.0.3", "the port is taken"),
                why("no.such.name.invalid", "the name has no address"),
            ]
        );
        let left: Vec<u32> = launched.launchers.iter().map(Child::id).collect();
        let began = Instant::now();
        drop(launched);
        assert!(began.elapsed() < CLEAR_UP_WITHIN, "closed input ends them");
        assert!(left.iter().all(|id| !Path::new(&format!("/proc/{id}")).exists()), "{left:?}");
    }

    #[test]
    fn a_launcher_that_cannot_be_run_costs_its_own_host() {
        let (key, stop) = (Key::random().expect("a key"), AtomicBool::new(false));
        let order = Order { binary: Path::new("/opt/narrows"), key: &key, port: 7, stop: &stop };
        let mut works = Command::new("sh");
        works.args(["-c", "echo narrows-listening 7 && exec cat", "launcher"]);
        let lacks = Command::new("/nowhere/mpirun");
        let hosts = [("127.0.0.1".to_owned(), lacks), ("127.0.0.2".to_owned(), works)];
        let (told, _launched) = start(&hosts, &order, &mut |_| {}).expect("launchers");
        let told: Vec<_> = told.into_iter().map(|one| one.map_err(|why| why.to_string())).collect();
        let why = "127.0.0.1: the launcher of the MPI cannot be run: \
             No such file or directory (os error 2)";
        assert_eq!(told, [Err(why.to_owned()), Ok("127.0.0.2".to_owned())]);
    }

    #[test]
    fn no_word_has_the_key() {
        let (key, stop) = (Key::random().expect("a key"), AtomicBool::new(false));
        let order = Order { binary: Path::new("/opt/narrows"), key: &key, port: 7, stop: &stop };
        assert!(!words(&order, "10.0.0.1").concat().contains(&key.show()));
        assert!(!REMOTE.contains('\''));
    }
}
