//! An agent brought to a host by ssh, for as long as this process holds it.
//!
//! One connection of the system's `ssh` does all: a line of shell there says what machine it is,
//! takes the key and, unless the very same program is installed, the program, and becomes the
//! agent. What is measured does not go through it. The agent ends, and its program is removed, when
//! the connection closes or nothing is heard through it for half a minute: also after kill -9 here,
//! and when the network between is gone.

use blake2::{Blake2b512, Digest};
use narrows_control::at_once;
use narrows_control::key::Key;
use narrows_hostctl::child;
use narrows_model::peer_name::host_and_port;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// What a host is named by that has no agent yet.
const PREFIX: &str = "ssh:";
/// The program in place of `ssh`, without arguments.
const PROGRAM: &str = "NARROWS_SSH";
/// What is run there; `PORT` is put in.
const REMOTE: &str = include_str!("remote.sh");
/// How often the agent hears that this side is there. It gives up after thirty seconds.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long the other side may take to clear up.
const CLEAR_UP_WITHIN: Duration = Duration::from_secs(5);
/// What a login may say before the agent does.
const SAID_BYTES_MAX: u64 = 64 << 10;
/// What ssh itself reads of the environment.
const AGENTS: [&str; 5] =
    ["DISPLAY", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "SSH_AUTH_SOCK"];

/// Why no agent could be brought to a host.
#[derive(Debug, Error)]
pub enum SshError {
    /// The words after `ssh:` are no destination.
    #[error("{0} is not an ssh destination")]
    Destination(String),
    /// The system's ssh cannot be started.
    #[error("{program} cannot be run")]
    NoSsh { program: String },
    /// The connection was refused, or ended before an agent was there; ssh has said why.
    #[error("{host}: ssh ended before the agent listened ({ended})")]
    Ended {
        /// The destination, as it was named.
        host: String,
        ended: String,
    },
    /// The host has another processor or system, and there is no program for it.
    #[error("{host} is {machine}, and there is no {} here", wanted.display())]
    NoProgram {
        /// The destination, as it was named.
        host: String,
        /// System and processor there.
        machine: String,
        /// The file that would be brought.
        wanted: PathBuf,
    },
    /// A fault of this program, which costs this host alone.
    #[error("{host}: the thread that was to bring an agent there panicked")]
    Panicked {
        /// The destination, as it was named.
        host: String,
    },
    /// The program here cannot be read.
    #[error("{}: {why}", path.display())]
    Program {
        /// The file that was to be brought.
        path: PathBuf,
        /// The system's answer.
        why: io::Error,
    },
}

/// What an agent is brought with.
#[derive(Clone, Copy)]
pub struct Errand<'a> {
    /// This program, which is copied there.
    pub binary: &'a Path,
    /// The key that the agent is to hold.
    pub key: &'a Key,
    /// TCP port for it to listen on.
    pub port: u16,
    /// Whether it may be a free one where that is taken.
    pub or_free: bool,
    /// Whether its workers may exchange data with those of the other hosts' agents, as pairs of a
    /// mesh do: with addresses of these hosts, and no others.
    pub meets: bool,
}

/// An agent on another host. Dropping it ends the agent and takes its program away.
#[derive(Debug)]
pub struct Brought {
    ssh: Child,
    /// Closed by being dropped.
    alive: Option<Sender<()>>,
    address: String,
    port: Option<u16>,
}

/// Whether a host is named as one that an agent is to be brought to.
pub fn is_ssh(host: &str) -> bool {
    host.starts_with(PREFIX)
}

/// Brings an agent to each host that is named `ssh:...`, all at once, and puts the address by which
/// it is reached in its place. The agents stay as long as what is returned.
pub fn bring(hosts: &mut [String], errand: &Errand<'_>) -> Result<Vec<Brought>, SshError> {
    let mut agents = Vec::new();
    let brought = bring_each(hosts, errand);
    for (host, one) in hosts.iter_mut().zip(brought) {
        let Some(one) = one.transpose()? else { continue };
        host.clone_from(&one.address);
        agents.push(one);
    }
    Ok(agents)
}

/// Brings an agent to each host that is named `ssh:...`, all at once; `None` of the others. One
/// that cannot be had costs no other. An agent is told whom it may meet, so it begins when every
/// host has said where it is, or is not there.
pub fn bring_each(hosts: &[String], errand: &Errand<'_>) -> Vec<Option<Result<Brought, SshError>>> {
    let met = meet_each(hosts, errand, look_up);
    let all: BTreeSet<IpAddr> = met.iter().flat_map(|met| &met.addresses).copied().collect();
    let meets = words_for(errand, &all);
    let brought = at_once::all(met, |met| {
        met.greeted.map(|greeted| greeted.and_then(|greeted| greeted.become_agent(errand, &meets)))
    });
    let brought = brought.into_iter().zip(hosts);
    brought.map(|(one, host)| one.unwrap_or_else(|| panicked(host))).collect()
}

/// What became of one of several hosts; `None` where ssh is not asked.
type OfHost<T> = Option<Result<T, SshError>>;

/// That the thread of a host panicked, which costs this host alone.
fn panicked<T>(host: &str) -> OfHost<T> {
    is_ssh(host).then(|| Err(SshError::Panicked { host: host.to_owned() }))
}

/// A host before any agent begins.
struct Met<'a> {
    greeted: OfHost<Greeted<'a>>,
    /// All that its name has, where agents are to meet it. None of a name that does not resolve:
    /// nobody calls it either.
    addresses: Vec<IpAddr>,
}

/// Greets those of these hosts that ssh reaches, and looks up the names of all: each in a thread of
/// its own, for shells that have answered wait for the slowest.
fn meet_each<'a>(
    hosts: &'a [String],
    errand: &Errand<'_>,
    look_up: impl Fn(&str) -> Vec<IpAddr> + Sync,
) -> Vec<Met<'a>> {
    let met = at_once::all(hosts, |host| {
        let greeted = is_ssh(host).then(|| Greeted::of(host, errand));
        let name = match &greeted {
            None => host_and_port(host).ok().map(|(name, _)| name),
            Some(greeted) => greeted.as_ref().ok().map(|greeted| greeted.address.as_str()),
        };
        let addresses = name.filter(|_| errand.meets).map(&look_up).unwrap_or_default();
        Met { greeted, addresses }
    });
    let met = met.into_iter().zip(hosts);
    let gone = |host: &String| Met { greeted: panicked(host), addresses: Vec::new() };
    met.map(|(one, host)| one.unwrap_or_else(|| gone(host))).collect()
}

/// Words for an agent that let it meet these addresses, and take another port.
fn words_for(errand: &Errand<'_>, all: &BTreeSet<IpAddr>) -> String {
    let meets = Some(all).filter(|all| errand.meets && !all.is_empty());
    let meets = meets.map(|all| format!("--peers {}", listed(all)));
    let free = errand.or_free.then(|| "--or-free".to_owned());
    meets.into_iter().chain(free).collect::<Vec<String>>().join(" ")
}

/// A name or an address with a port.
fn with_port(address: &str, port: u16) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

/// Addresses as `serve --peers` takes them.
pub(super) fn listed(all: &BTreeSet<IpAddr>) -> String {
    all.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(",")
}

/// All addresses of a name; none of one that does not resolve.
pub(super) fn look_up(name: &str) -> Vec<IpAddr> {
    let found = (name, 0).to_socket_addrs();
    found.map(|all| all.map(|at| at.ip().to_canonical()).collect()).unwrap_or_default()
}

impl Brought {
    /// The address by which it is reached.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The port that it listens on, where that is another than it was to.
    pub fn other_port(&self) -> Option<u16> {
        self.port
    }
}

/// What the shell there says of itself.
struct There {
    /// As of uname(1): `Linux`.
    system: String,
    /// As of uname(1): `x86_64`.
    machine: String,
    /// The address there of ssh's own connection.
    address: Option<String>,
}

impl There {
    fn of(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.strip_prefix("narrows-ssh ")?.split_whitespace().collect();
        let [system, machine, rest @ ..] = words.as_slice() else { return None };
        // Client's address and port, then the server's.
        let address = rest.get(2).map(|address| (*address).to_owned());
        Some(Self { system: (*system).to_owned(), machine: (*machine).to_owned(), address })
    }

    /// The program for it: this one, or that of its processor beside it.
    fn program(&self, own: &Path, host: &str) -> Result<PathBuf, SshError> {
        let is_linux = self.system == "Linux";
        if is_linux && self.machine == std::env::consts::ARCH {
            return Ok(own.to_owned());
        }
        let wanted = own.with_file_name(format!("narrows-{}", self.machine));
        if is_linux && wanted.is_file() {
            return Ok(wanted);
        }
        let machine = format!("{} {}", self.system, self.machine);
        Err(SshError::NoProgram { host: host.to_owned(), machine, wanted })
    }
}

/// The connection while an agent is being brought.
struct Line<'a> {
    host: &'a str,
    ssh: Child,
    told: ChildStdin,
    heard: BufReader<io::Take<ChildStdout>>,
}

/// What ssh is called with: no terminal, an end once nothing is heard for half a minute, and no
/// option after the destination.
fn words(destination: &str, port: u16) -> [String; 8] {
    let script = REMOTE.replace('\n', " ").replace("PORT", &port.to_string());
    let script = format!("exec sh -c '{script}'");
    let options = ["-T", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=6", "--"];
    let [a, b, c, d, e, f] = options.map(str::to_owned);
    [a, b, c, d, e, f, destination.to_owned(), script]
}

/// The command that calls a host.
fn called(destination: &str, port: u16) -> std::process::Command {
    let mut command = ssh_command();
    command.args(words(destination, port));
    command
}

impl<'a> Line<'a> {
    fn open(host: &'a str, destination: &str, errand: &Errand<'_>) -> Result<Self, SshError> {
        let mut command = called(destination, errand.port);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut ssh = spawned.map_err(no_ssh)?;
        let ends = ssh.stdin.take().zip(ssh.stdout.take());
        let (told, heard) = ends.ok_or_else(|| no_ssh(()))?;
        Ok(Self { host, ssh, told, heard: BufReader::new(heard.take(SAID_BYTES_MAX)) })
    }

    /// The next line for which `of` has something; what a login prints besides is passed over.
    fn hear<T>(&mut self, of: impl Fn(&str) -> Option<T>) -> Result<T, SshError> {
        let mut line = String::new();
        loop {
            line.clear();
            match self.heard.read_line(&mut line) {
                Ok(0) | Err(_) => return Err(self.ended()),
                Ok(_) => {}
            }
            if let Some(found) = of(line.trim_end()) {
                return Ok(found);
            }
        }
    }

    fn tell(&mut self, words: &str) -> Result<(), SshError> {
        let told = self.told.write_all(words.as_bytes()).and_then(|()| self.told.flush());
        told.map_err(|_| self.ended())
    }

    /// How ssh ended, which it is about to.
    fn ended(&mut self) -> SshError {
        let _ = self.ssh.kill();
        let ended = match self.ssh.wait() {
            Ok(status) => status.to_string(),
            Err(why) => why.to_string(),
        };
        SshError::Ended { host: self.host.to_owned(), ended }
    }

    /// Hands over the program, unless the same one is there.
    fn supply(&mut self, program: &Path) -> Result<(), SshError> {
        let needs = self.hear(|line| match line {
            "narrows-need" => Some(true),
            "narrows-have" => Some(false),
            _ => None,
        })?;
        if !needs {
            return Ok(());
        }
        let mut file = File::open(program).map_err(unread(program))?;
        let size_bytes = file.metadata().map_err(unread(program))?.len();
        self.tell(&format!("{size_bytes}\n"))?;
        io::copy(&mut file, &mut self.told).map_err(|_| self.ended())?;
        Ok(())
    }
}

/// A host whose shell has said what it is, and waits.
struct Greeted<'a> {
    line: Line<'a>,
    there: There,
    /// The address by which an agent there is reached.
    address: String,
}

impl<'a> Greeted<'a> {
    fn of(host: &'a str, errand: &Errand<'_>) -> Result<Self, SshError> {
        let destination = destination(host)?;
        let route = Route::of(destination)?;
        let mut line = Line::open(host, destination, errand)?;
        let there = line.hear(There::of)?;
        let address = match &there.address {
            Some(address) if route.is_proxied => address.clone(),
            _ => route.name,
        };
        Ok(Self { line, there, address })
    }

    /// Hands over key and program; `meets` has the agent's words on whom it may meet.
    fn become_agent(self, errand: &Errand<'_>, meets: &str) -> Result<Brought, SshError> {
        let Self { mut line, there, address } = self;
        let program = there.program(errand.binary, line.host)?;
        let sum = sum(&program).map_err(unread(&program))?;
        line.tell(&format!("{}\n{sum}\n{meets}\n", errand.key.show()))?;
        line.supply(&program)?;
        let port = line.hear(|line| line.strip_prefix("narrows-listening ")?.parse().ok())?;
        let port = Some(port).filter(|port| *port != errand.port);
        let address = port.map_or_else(|| address.clone(), |port| with_port(&address, port));
        let Line { ssh, told, heard, .. } = line;
        let (alive, ended) = channel();
        thread::spawn(move || beat(told, &ended, HEARTBEAT));
        thread::spawn(move || io::copy(&mut heard.into_inner().into_inner(), &mut io::sink()));
        Ok(Brought { ssh, alive: Some(alive), address, port })
    }
}

impl Drop for Brought {
    fn drop(&mut self) {
        // Its end closes ssh's standard input, and that the agent's.
        drop(self.alive.take());
        let until = Instant::now() + CLEAR_UP_WITHIN;
        while Instant::now() < until {
            if !matches!(self.ssh.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.ssh.kill();
        let _ = self.ssh.wait();
    }
}

/// Tells the agent that this side is there, until the sender is dropped.
pub(super) fn beat(mut told: impl Write, ended: &std::sync::mpsc::Receiver<()>, every: Duration) {
    while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
        if told.write_all(b"\n").and_then(|()| told.flush()).is_err() {
            return;
        }
    }
}

/// How a destination is reached, by ssh's own configuration.
#[derive(Debug, PartialEq, Eq)]
struct Route {
    /// Name or address.
    name: String,
    /// Whether the connection goes through another host.
    is_proxied: bool,
}

impl Route {
    fn of(destination: &str) -> Result<Self, SshError> {
        let said = ssh_command().args(["-G", "--", destination]).output().map_err(no_ssh)?;
        // What a shell says of a program that is not there, or is none.
        if matches!(said.status.code(), Some(126 | 127)) {
            return Err(no_ssh(()));
        }
        let said = String::from_utf8_lossy(&said.stdout);
        Self::in_words(&said).ok_or_else(|| SshError::Destination(destination.to_owned()))
    }

    /// From the output of `ssh -G`.
    fn in_words(text: &str) -> Option<Self> {
        let options = || text.lines().filter_map(|line| line.split_once(' '));
        let (_, name) = options().find(|(key, _)| *key == "hostname")?;
        let is_proxied = options()
            .any(|(key, value)| matches!(key, "proxyjump" | "proxycommand") && value != "none");
        Some(Self { name: name.to_owned(), is_proxied })
    }
}

/// What ssh is told: `user@host`, a name of its configuration, or `ssh://user@host:port`.
fn destination(host: &str) -> Result<&str, SshError> {
    let words = host.strip_prefix(PREFIX).unwrap_or(host);
    let words = if words.starts_with("//") { host } else { words };
    let is_one = !words.is_empty()
        && !words.starts_with('-')
        && words.chars().all(|c| !c.is_whitespace() && !c.is_control());
    if is_one { Ok(words) } else { Err(SshError::Destination(host.to_owned())) }
}

/// The system's ssh. Ctrl-C reaches this process alone, which ends the session in order.
fn ssh_command() -> std::process::Command {
    let mut command = child::command(Path::new("sh"));
    for name in AGENTS {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command.args(["-c", "trap '' INT; exec \"$@\"", "sh", &program()]);
    command
}

fn program() -> String {
    std::env::var(PROGRAM).ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "ssh".to_owned())
}

fn no_ssh<T>(_: T) -> SshError {
    SshError::NoSsh { program: program() }
}

fn unread(path: &Path) -> impl Fn(io::Error) -> SshError {
    move |why| SshError::Program { path: path.to_owned(), why }
}

/// As b2sum(1) prints it.
fn sum(program: &Path) -> io::Result<String> {
    let (mut file, mut hasher) = (File::open(program)?, Blake2b512::new());
    let mut piece = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            break;
        }
        hasher.update(&piece[..read]);
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Condvar, Mutex};

    #[test]
    fn destinations_are_told_to_ssh_as_they_are_and_options_are_refused() {
        for (host, told) in [
            ("ssh:server2", "server2"),
            ("ssh:me@server2", "me@server2"),
            ("ssh:me@fe80::1%eth0", "me@fe80::1%eth0"),
            ("ssh://me@server2:2222", "ssh://me@server2:2222"),
        ] {
            assert_eq!(destination(host).ok(), Some(told));
        }
        for host in ["ssh:", "ssh:-oProxyCommand=id", "ssh:a b", "ssh:a\nb"] {
            assert!(matches!(destination(host), Err(SshError::Destination(_))), "{host}");
        }
    }

    #[test]
    fn a_host_is_called_without_a_terminal_and_by_a_script_alone() {
        let command = called("me@server2", 7471);
        let args: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        let (by_shell, args) = args.split_at(4);
        assert_eq!((&*by_shell[0], &*by_shell[2], &*by_shell[3]), ("-c", "sh", program().as_str()));
        let options = ["-T", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=6", "--"];
        assert_eq!(args[..6], options);
        assert_eq!((&*args[6], args.len()), ("me@server2", 8));
        assert!(args[7].starts_with("exec sh -c '") && args[7].ends_with('\''), "{}", args[7]);
        assert!(args[7].contains("7471") && !args[7].contains("PORT") && !args[7].contains('\n'));
    }

    #[test]
    fn a_jump_host_is_told_by_ssh_itself() {
        let direct = "user me\nhostname 10.0.0.7\nport 22\nproxycommand none\n";
        let name = "10.0.0.7".to_owned();
        let straight = Route { name: name.clone(), is_proxied: false };
        assert_eq!(Route::in_words(direct), Some(straight));
        let jump = "hostname 10.0.0.7\nproxyjump gate\n";
        assert_eq!(Route::in_words(jump), Some(Route { name, is_proxied: true }));
        assert_eq!(Route::in_words("usage: ssh\n"), None);
        let first = Route::in_words("hostname a\nhostname b\nproxycommand nc %h\n");
        assert_eq!(first, Some(Route { name: "a".to_owned(), is_proxied: true }));
    }

    #[test]
    fn a_shell_says_its_machine_and_the_address_it_was_reached_by() {
        let there = There::of("narrows-ssh Linux aarch64 10.0.0.1 50000 10.0.0.7 22").unwrap();
        assert_eq!((there.system.as_str(), there.machine.as_str()), ("Linux", "aarch64"));
        assert_eq!(there.address.as_deref(), Some("10.0.0.7"));
        assert_eq!(There::of("narrows-ssh Linux x86_64 unknown").unwrap().address, None);
        assert!(There::of("Welcome to server2").is_none());
    }

    #[test]
    fn names_are_looked_up_at_once_without_their_ports_and_those_that_came_are_met() {
        let hosts = ["192.0.2.1", "server3:7000", "[fe80::1]:7000", "gone", "ssh:-x"];
        let hosts = hosts.map(str::to_owned).to_vec();
        let key = Key::random().unwrap();
        let errand = Errand {
            binary: Path::new("narrows"),
            key: &key,
            port: 7000,
            or_free: false,
            meets: true,
        };
        // None has an answer before all four ask. ssh refuses the fifth, which has no address.
        let (asked, more) = (Mutex::new(BTreeSet::new()), Condvar::new());
        let met = meet_each(&hosts, &errand, |name| {
            let mut all = asked.lock().unwrap();
            all.insert(name.to_owned());
            more.notify_all();
            let within = Duration::from_secs(60);
            let waited = more.wait_timeout_while(all, within, |all| all.len() < 4).unwrap();
            assert!(!waited.1.timed_out(), "{name} was asked for before the others");
            match name {
                "server3" => vec![IpAddr::from([10, 0, 0, 3])],
                name => name.parse().into_iter().collect(),
            }
        });
        let names = ["192.0.2.1", "fe80::1", "gone", "server3"].map(str::to_owned);
        assert_eq!(asked.into_inner().unwrap(), BTreeSet::from(names));
        assert!(matches!(met[4].greeted, Some(Err(SshError::Destination(_)))));
        let all = met.iter().flat_map(|met| &met.addresses).copied().collect();
        assert_eq!(words_for(&errand, &all), "--peers 10.0.0.3,192.0.2.1,fe80::1");
        assert_eq!(words_for(&errand, &BTreeSet::new()), "");
        let free = Errand { or_free: true, ..errand };
        assert_eq!(words_for(&free, &all), "--peers 10.0.0.3,192.0.2.1,fe80::1 --or-free");
        assert_eq!(words_for(&Errand { meets: false, ..free }, &all), "--or-free");
        let silent = Errand { meets: false, ..errand };
        let met = meet_each(&hosts, &silent, |name| panic!("{name} is looked up for nobody"));
        assert!(met.iter().all(|met| met.addresses.is_empty()));
    }

    #[test]
    fn a_thread_that_panics_is_an_error_of_its_host_alone() {
        let says = panicked::<()>("ssh:a").and_then(Result::err).map(|why| why.to_string());
        let panicked_there = "ssh:a: the thread that was to bring an agent there panicked";
        assert_eq!(says.as_deref(), Some(panicked_there));
        assert!(panicked::<()>("b").is_none());
        let hosts = ["192.0.2.1", "192.0.2.2"].map(str::to_owned).to_vec();
        let key = Key::random().unwrap();
        let errand = Errand {
            binary: Path::new("narrows"),
            key: &key,
            port: 7000,
            or_free: false,
            meets: true,
        };
        let met = meet_each(&hosts, &errand, |name| {
            assert!(name.ends_with('2'), "a fault that was planted");
            look_up(name)
        });
        assert!(met[0].addresses.is_empty() && met[0].greeted.is_none());
        assert_eq!(met[1].addresses, [IpAddr::from([192, 0, 2, 2])]);
    }

    #[test]
    fn an_address_of_either_family_and_a_name_take_a_port() {
        let all = ["server2", "192.0.2.1", "fe80::1"].map(|address| with_port(address, 7472));
        assert_eq!(all, ["server2:7472", "192.0.2.1:7472", "[fe80::1]:7472"]);
    }

    #[test]
    fn another_processor_gets_its_own_program_or_none() {
        let there = There::of("narrows-ssh Linux riscv128 unknown").unwrap();
        let error = there.program(Path::new("/usr/bin/narrows"), "ssh:a").unwrap_err();
        let says = "ssh:a is Linux riscv128, and there is no /usr/bin/narrows-riscv128 here";
        assert_eq!(error.to_string(), says);
    }

    #[test]
    fn the_sum_is_what_b2sum_prints() {
        let path = std::env::temp_dir().join(format!("narrows-sum-{}", std::process::id()));
        std::fs::write(&path, "abc").unwrap();
        // RFC 7693, appendix A.
        assert!(sum(&path).unwrap().starts_with("ba80a53f981c4d0d6a2797b69f12f6e9"));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn ssh_is_called_without_a_terminal_and_ends_when_nothing_is_heard() {
        let told = words("me@server2", 7011);
        let wanted = [
            "-T",
            "-o",
            "ServerAliveInterval=5",
            "-o",
            "ServerAliveCountMax=6",
            "--",
            "me@server2",
        ];
        assert_eq!(told[..7], wanted);
        let script = &told[7];
        assert!(script.starts_with("exec sh -c '") && script.ends_with('\''), "{script}");
        assert!(script.contains("7011") && !script.contains("PORT") && !script.contains('\n'));
        let of = |program: &str| {
            let command = ssh_command();
            let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
            let words: Vec<String> = words.collect();
            assert_eq!(words[..3], ["-c", "trap '' INT; exec \"$@\"", "sh"]);
            assert_eq!(words[3], program);
        };
        of(&program());
    }

    /// Notes each line, and fails after so many.
    struct Heard(Sender<()>, usize);

    impl Write for Heard {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            assert_eq!(bytes, b"\n");
            if self.1 == 0 {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.1 -= 1;
            self.0.send(()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_agent_hears_a_line_again_and_again_until_either_side_ends() {
        let every = Duration::from_millis(1);
        let ((alive, ended), (heard, lines)) = (channel(), channel());
        let beats = thread::spawn(move || beat(Heard(heard, 3), &ended, every));
        // The pipe breaks after three.
        beats.join().expect("it ends");
        assert_eq!(lines.iter().count(), 3);
        drop(alive);
        let ((alive, ended), (heard, lines)) = (channel(), channel());
        let beats = thread::spawn(move || beat(Heard(heard, usize::MAX), &ended, every));
        assert!(lines.recv().is_ok() && lines.recv().is_ok());
        drop(alive);
        beats.join().expect("it ends");
        assert_eq!(HEARTBEAT, Duration::from_secs(5), "a sixth of what the agent waits");
    }

    #[test]
    fn the_line_for_the_other_shell_has_no_quote_of_its_own() {
        assert!(!REMOTE.contains('\'') && !REMOTE.contains('!') && !REMOTE.contains('#'));
        assert_eq!(REMOTE.matches("PORT").count(), 1);
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod line_tests;
