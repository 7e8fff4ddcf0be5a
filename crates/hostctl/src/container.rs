//! Workers inside a container, for comparisons of the same work inside and outside.

use crate::child;
use crate::sampling::Leave;
use narrows_model::Bytes;
use narrows_model::container::Container;
use narrows_model::trial::EndSpec;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use thiserror::Error;

/// How many peers libfabric is to expect.
const FABRIC_PEERS: &str = "FI_UNIVERSE_SIZE";
/// Longest that a container is given to start once: its image may be fetched first.
const STARTS_WITHIN: Duration = Duration::from_secs(300);
/// How long it then has to end when it is asked to, so that its tool can put away what it made.
const ENDS_WITHIN: Duration = Duration::from_secs(5);
/// How often a wait looks up.
const LOOK_UP: Duration = Duration::from_millis(20);
/// Most that is read of what it says, in bytes.
const SAID_MAX: u64 = 1 << 20;

#[derive(Clone, Debug)]
pub struct Launcher {
    /// Path of narrows itself, which is started in the container.
    pub binary: PathBuf,
    /// What the controller's end of a network trial runs in; `None` is this host itself.
    pub inside: Option<Container>,
    /// Most memory for what a worker is ordered to make; `None` sets no limit.
    pub memory_bytes: Option<Bytes>,
    /// Whether a worker keeps only the system calls of loads: those of an agent do.
    pub confined: bool,
    /// Leave to sample that an agent's owner gives to its workers.
    pub leave: Option<Leave>,
}

impl Launcher {
    /// Starts workers on this host itself.
    pub fn plain(binary: PathBuf) -> Self {
        Self { binary, inside: None, memory_bytes: None, confined: false, leave: None }
    }

    /// The same for an end of a trial, which may have a container of its own.
    pub fn of(&self, end: &EndSpec) -> Self {
        let own = end.container.as_deref().and_then(Container::stored);
        Self { inside: own.or_else(|| self.inside.clone()), ..self.clone() }
    }

    /// The same without a container.
    pub fn outside(&self) -> Self {
        Self::plain(self.binary.clone())
    }

    /// The command of a worker, which speaks over its standard input and output.
    pub fn command(&self) -> Command {
        self.command_of("worker")
    }

    /// Starts the container once and waits until it has ended: what cannot be started, or cannot
    /// run this program, would fail each run. An image that is not here is fetched as for a run,
    /// which takes minutes: `note` is told before, and `stop` ends it.
    pub fn try_once(&self, note: fn(&str), stop: &AtomicBool) -> Result<(), NotStarted> {
        let Some(inside) = &self.inside else { return Ok(()) };
        note(&format!("starting {inside} once, to see that it runs"));
        tried(self.command_of("--version"), inside, STARTS_WITHIN, stop)
    }

    /// The command that runs this program in the container with one word.
    fn command_of(&self, word: &str) -> Command {
        match &self.inside {
            None => {
                let mut command = worker(&self.binary, word);
                if self.confined {
                    child::confine(&mut command);
                }
                if let Some(leave) = &self.leave {
                    leave.give(&mut command);
                }
                if let Some(most) = self.memory_bytes {
                    child::hold(&mut command, most);
                }
                command
            }
            Some(Container::Bwrap) => {
                let mut command = child::command("bwrap");
                command.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
                command.args(["--unshare-ipc", "--unshare-pid"]);
                command.args(["--unshare-uts", "--die-with-parent", "--"]);
                command.arg(&self.binary).arg(word);
                command
            }
            Some(Container::Image { tool, image, network }) => {
                let mut command = child::command(tool.program());
                command.args(["run", "--rm", "-i", "--network", network, "-v"]);
                command.arg(format!("{}:/narrows:ro", self.binary.display()));
                command.args([image.as_str(), "/narrows", word]);
                command
            }
        }
    }
}

/// Why a container does not start.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotStarted {
    /// The program that starts it is not on the path, by its name.
    #[error("{0} is not installed")]
    NotInstalled(&'static str),
    /// It was tried, and did not run this program.
    #[error("{inside} does not start: {why}")]
    Failed {
        /// What it is, with its image and network.
        inside: String,
        /// The last line that its program printed, or how it ended.
        why: String,
    },
}

/// Runs the command of a container to its end.
fn tried(
    mut command: Command,
    inside: &Container,
    within: Duration,
    stop: &AtomicBool,
) -> Result<(), NotStarted> {
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let why = match started {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(NotStarted::NotInstalled(inside.program()));
        }
        Err(error) => error.to_string(),
        Ok(mut child) => {
            let said = heard(&mut child);
            match how_ended(&mut child, within, stop) {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => last_line(said).unwrap_or_else(|| status.to_string()),
                // Whoever it started may hold its output open: nobody waits for that.
                Ok(None) if stop.load(Ordering::Relaxed) => "stopped".to_owned(),
                Ok(None) => format!("it did not end within {} s", within.as_secs()),
                Err(error) => error.to_string(),
            }
        }
    };
    Err(NotStarted::Failed { inside: inside.to_string(), why })
}

/// Reads what a child says, so that it never waits for room.
fn heard(child: &mut Child) -> Option<JoinHandle<String>> {
    let mut pipe = child.stderr.take()?;
    Some(thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.by_ref().take(SAID_MAX).read_to_end(&mut bytes);
        let _ = io::copy(&mut pipe, &mut io::sink());
        String::from_utf8_lossy(&bytes).into_owned()
    }))
}

/// The last line that tells something: docker's clients send to their help below what went wrong.
fn last_line(said: Option<JoinHandle<String>>) -> Option<String> {
    let said = said?.join().ok()?;
    let last =
        said.lines().map(str::trim).rfind(|line| !line.is_empty() && !line.contains("--help"));
    last.map(str::to_owned)
}

/// How a child ended; `None` where it was made to, since its time was up or the user stopped it.
fn how_ended(
    child: &mut Child,
    within: Duration,
    stop: &AtomicBool,
) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    while began.elapsed() < within && !stop.load(Ordering::Relaxed) {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(LOOK_UP);
    }
    if let Ok(id) = i32::try_from(child.id()) {
        let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
    }
    let asked = Instant::now();
    while asked.elapsed() < ENDS_WITHIN && child.try_wait()?.is_none() {
        thread::sleep(LOOK_UP);
    }
    let _ = child.kill();
    child.wait()?;
    Ok(None)
}

fn worker(binary: &Path, word: &str) -> Command {
    let mut command = child::command(binary);
    command.arg(word);
    // libfabric makes queues for 256 peers unless told how many there are, and no device has to
    // have room for so many completions (rxe has not). An endpoint of ours has one.
    if std::env::var_os(FABRIC_PEERS).is_none() {
        command.env(FABRIC_PEERS, "4");
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_run_by_their_tool_in_their_network() {
        for tool in ["docker", "podman"] {
            let inside = format!("{tool}:debian:12").parse::<Container>().expect("a container");
            let inside = Some(inside.in_network("bridge"));
            let launcher = Launcher { inside, ..Launcher::plain("/bin/narrows".into()) };
            let command = launcher.command();
            let words: Vec<_> = command.get_args().filter_map(|word| word.to_str()).collect();
            assert_eq!(command.get_program().to_str(), Some(tool));
            let network = words.windows(2).any(|pair| pair == ["--network", "bridge"]);
            assert!(network && words.ends_with(&["debian:12", "/narrows", "worker"]), "{words:?}");
        }
    }

    /// Where there is no container, nothing is noted.
    fn nothing(text: &str) {
        assert_eq!(text, "");
    }

    #[test]
    fn a_container_is_tried_before_anything_runs_in_it() {
        let of = |inside: &str, binary: &str| {
            let inside = Some(inside.parse::<Container>().expect("a container"));
            Launcher { inside, ..Launcher::plain(binary.into()) }
        };
        let stop = AtomicBool::new(false);
        let plain = Launcher::plain("/no/such".into());
        assert_eq!(plain.try_once(nothing, &stop), Ok(()), "no container");
        let bwrap = of("bwrap", "/no/such/program");
        assert!(words(&bwrap.command_of("--version")).ends_with("-- /no/such/program --version"));
        let image = of("podman:no/such/image", "/bin/true");
        assert!(
            words(&image.command_of("--version")).ends_with("no/such/image /narrows --version")
        );
    }

    /// What is told of a shell's script in place of bwrap, which has so long.
    fn told_of(script: &str, within: Duration, is_stopped: bool) -> Result<(), NotStarted> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        tried(command, &Container::Bwrap, within, &AtomicBool::new(is_stopped))
    }

    fn failed(why: &str) -> Result<(), NotStarted> {
        Err(NotStarted::Failed { inside: "bwrap".to_owned(), why: why.to_owned() })
    }

    #[test]
    fn why_a_container_does_not_start_is_told() {
        let (long, stop) = (Duration::from_secs(60), AtomicBool::new(false));
        let mut bare = child::command("bwrap");
        bare.env("PATH", "");
        let absent = tried(bare, &Container::Bwrap, long, &stop);
        assert_eq!(absent, Err(NotStarted::NotInstalled("bwrap")));
        let refused = tried(Command::new("/bin/false"), &Container::Bwrap, long, &stop);
        assert_eq!(refused, failed("exit status: 1"));
        assert_eq!(told_of("exit 0", long, false), Ok(()));
        assert_eq!(told_of("printf 'a\\n b \\n\\n' >&2; exit 3", long, false), failed("b"));
        let daemon = "docker: failed to connect to the docker API: is the daemon running?";
        let says =
            format!("printf '{daemon}\\n\\nRun \"docker run --help\" for more\\n' >&2; exit 125");
        assert_eq!(told_of(&says, long, false), failed(daemon));
        let late = told_of("exec sleep 600", Duration::from_secs(1), false);
        assert_eq!(late, failed("it did not end within 1 s"));
        assert_eq!(told_of("exec sleep 600", long, true), failed("stopped"));
    }

    fn words(command: &Command) -> String {
        let words: Vec<_> = command.get_args().filter_map(|word| word.to_str()).collect();
        format!("{} {}", command.get_program().display(), words.join(" "))
    }

    /// A variable that a command sets itself; nothing of this process has such a name.
    fn told(command: &Command, name: &str) -> Option<String> {
        let mut all = command.get_envs();
        let (_, value) = all.find(|(has, _)| has.to_str() == Some(name))?;
        Some(value?.to_str()?.to_owned())
    }

    #[test]
    fn a_worker_is_started_with_what_its_launcher_says() {
        let plain = Launcher::plain("/bin/narrows".into());
        let command = plain.command();
        assert_eq!(words(&command), "/bin/narrows worker");
        let peers = std::env::var(FABRIC_PEERS).unwrap_or("4".to_owned());
        assert_eq!(told(&command, "FI_UNIVERSE_SIZE"), Some(peers));
        let [bytes, confined, leave] =
            ["NARROWS_WORKER_BYTES", "NARROWS_WORKER_CONFINED", "NARROWS_WORKER_SAMPLES"];
        for name in [bytes, confined, leave] {
            assert_eq!(told(&command, name), None, "{name}");
        }
        let held = Launcher {
            memory_bytes: Some(Bytes(1 << 20)),
            confined: true,
            leave: Some(Leave::take()),
            ..plain.clone()
        };
        let command = held.command();
        assert_eq!(told(&command, bytes).as_deref(), Some("1048576"));
        assert_eq!(told(&command, confined).as_deref(), Some("1"));
        assert!(told(&command, leave).is_some());
        let inside = Launcher { inside: Some(Container::Bwrap), ..held };
        assert_eq!(
            words(&inside.command()),
            "bwrap --ro-bind / / --dev /dev --proc /proc --unshare-ipc --unshare-pid --unshare-uts \
             --die-with-parent -- /bin/narrows worker"
        );
        assert_eq!(words(&inside.outside().command()), "/bin/narrows worker");
    }

    #[test]
    fn an_end_has_its_own_container_or_that_of_all() {
        let end = |container: Option<&str>| EndSpec {
            container: container.map(str::to_owned),
            ..EndSpec::anywhere(false)[0].clone()
        };
        let all =
            Launcher { inside: Some(Container::Bwrap), ..Launcher::plain("/bin/narrows".into()) };
        assert_eq!(all.of(&end(None)).inside, Some(Container::Bwrap));
        let own = all.of(&end(Some("podman debian:12, network bridge")));
        assert_eq!(
            words(&own.command()),
            "podman run --rm -i --network bridge -v /bin/narrows:/narrows:ro debian:12 /narrows \
             worker"
        );
        assert_eq!(Launcher::plain("x".into()).of(&end(None)).inside, None);
    }
}
