//! Outside tools as the load of a trial: their own programs, under our placement, told apart from
//! ours for ever after. Only a study's file on this host names them; no peer can.

mod choice;
mod generators;
mod iperf;
mod iperf3;
mod mpi;
mod mpi4py;
mod nuttcp;
mod perftest;
mod pktgen;
mod process;
mod qperf;
mod redis;
mod runs;
mod sockperf;
mod testpmd;
mod trafgen;
pub mod words;

use crate::import::{self, Unusable};
pub use choice::{NoEngine, engine};
use narrows_control::tools::ToolServer;
use narrows_control::{ControlError, Denial, MachineError};
use narrows_model::Nanos;
use narrows_model::load::Role;
use narrows_model::record::{ClientTime, External, Stage};
use narrows_model::trial::{Placement, Trial};
use narrows_model::workload::Workload;
use narrows_workloads::harness::clock::monotonic_ns;
use process::{NotStarted, Running, kept};
pub use runs::Runs;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use thiserror::Error;
pub use words::Refused;

/// How long a server may take until it listens.
const LISTEN_WITHIN: Duration = Duration::from_millis(400);
/// How much longer than its window a client may take.
const SPARE: Duration = Duration::from_secs(20);

/// A tool that can make a load.
pub struct Engine {
    /// Name of the tool, as studies give it.
    pub name: &'static str,
    /// Its program for a trial.
    pub program: fn(&Trial) -> &'static str,
    /// The program of its server, where that is another.
    pub server_program: Option<&'static str>,
    pub runs: Runs,
    /// The package that has it.
    pub package: &'static str,
    /// The loads that it can make.
    pub kinds: &'static [Workload],
    /// Keys of the options that it can be told by its flags. With any other it would measure
    /// something else than the trial is.
    pub takes: &'static [&'static str],
    /// The port that it takes by itself.
    pub port: u16,
    /// What its server is called with for a trial.
    pub server: fn(&Trial, u16) -> Vec<String>,
    /// What its client is called with.
    pub client: fn(&Trial, IpAddr, u16) -> Vec<String>,
    /// Words that a study may give its client.
    pub client_words: &'static [words::Allowed],
    /// The same for its server.
    pub server_words: &'static [words::Allowed],
    /// Options before those of a study's own, which say where the server is and how to print.
    pub reach: fn(IpAddr, u16) -> Vec<String>,
}

/// All tools, by name.
pub static ENGINES: &[&Engine] = &[
    &iperf::ENGINE,
    &iperf3::ENGINE,
    &mpi::ENGINE,
    &mpi4py::ENGINE,
    &nuttcp::ENGINE,
    &perftest::ENGINE,
    &pktgen::ENGINE,
    &qperf::ENGINE,
    &redis::ENGINE,
    &sockperf::ENGINE,
    &testpmd::ENGINE,
    &testpmd::ENGINE_XDP,
    &trafgen::ENGINE,
];

/// Whether a tool's ends are ranks, which a launcher starts on both hosts.
pub fn has_ranks(trial: &Trial) -> bool {
    let tool = trial.engine.as_ref().map(|engine| engine.tool.as_str());
    ENGINES.iter().any(|engine| Some(engine.name) == tool && engine.runs.is_ranks())
}

/// Whether a tool has a server that an agent can lend: ranks are started by their launcher, and a
/// generator's packets are counted where they come.
pub fn has_server(tool: &str) -> bool {
    ENGINES.iter().any(|engine| engine.name == tool && engine.runs.has_server())
}

/// Has two ranks exchange a few messages, as their runs would: one here and one at an address, or
/// both on the host that is named. An error says why they do not. What is found out in seconds here
/// costs each run a minute.
pub fn ranks_meet(hosts: &str, stop: &AtomicBool) -> Result<(), NoRanks> {
    let ran = launched(&mpi::words_to_meet(hosts), mpi::MEETS_WITHIN + SPARE, stop);
    match ran {
        Ok(_) => Ok(()),
        Err(Ended::Stopped) => Err(NoRanks::Stopped),
        Err(Ended::Failed(_, why)) => {
            let host = hosts.rsplit(',').next().unwrap_or(hosts).to_owned();
            Err(NoRanks::Failed { host, why })
        }
    }
}

/// The hosts that `ranks_meet` is told for a rank here and one at an address.
pub fn with_here(address: IpAddr) -> String {
    mpi::with_here(address)
}

/// Runs a trial's ranks on two hosts that are named, the one that sends first.
pub fn run_ranks(trial: &Trial, hosts: [&str; 2], stop: &AtomicBool) -> Result<External, Ended> {
    engine(trial).map_err(|why| Ended::Failed(Stage::Start, why.to_string()))?;
    launched(&mpi::words(trial, &hosts.join(",")), within(&mpi::ENGINE, trial), stop)
}

/// What ranks of this program measured, which a launcher started.
fn launched(words: &[String], within: Duration, stop: &AtomicBool) -> Result<External, Ended> {
    if stop.load(Ordering::SeqCst) {
        return Err(Ended::Stopped);
    }
    let program = own_program().map_err(unstarted)?;
    let command = placed(&program, words, (None, &Placement::default()));
    let line = format!("{program} {}", words.join(" "));
    let mut client = Running::start(command).map_err(unstarted)?;
    client.grace = GRACE;
    let (_, text) = client.end(within, stop)?;
    external(&mpi::ENGINE, &text, line)
        .map_err(|why| Ended::Failed(Stage::Collect, why.to_string()))
}

/// Why a launcher's ranks do not meet.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoRanks {
    /// The user stopped the launcher: of the host nothing is known.
    #[error("stopped while the launcher was tried")]
    Stopped,
    /// A rank was not started there, or did not meet the other.
    #[error("cannot start a rank on {host}: {why}")]
    Failed {
        /// As the launcher is told it.
        host: String,
        /// What the launcher, or a rank, says.
        why: String,
    },
}

/// What to do about ranks that do not start on a host.
pub const NO_RANKS_HINT: &str = "does `ssh HOST true` work without a password, and are narrows \
                                 and the same MPI there under the paths that they have here?";

/// Checks the words that a study gives a tool; a tool that is not known has none.
pub fn check_words(own: &narrows_model::trial::Engine) -> Result<(), Refused> {
    let Some(engine) = ENGINES.iter().find(|engine| engine.name == own.tool) else {
        return Ok(());
    };
    words::check(engine.name, engine.client_words, &own.client)?;
    words::check(engine.name, engine.server_words, &own.server)
}

/// How a tool's run ended before it gave its figures.
#[derive(Debug)]
pub enum Ended {
    /// It failed so far on its way, and why.
    Failed(Stage, String),
    /// The user stopped it.
    Stopped,
}

/// Where the two ends of a tool are.
pub struct Place<'a> {
    /// Address that the client goes to.
    pub address: IpAddr,
    /// Namespace of the server; `None` with `serves` is the host's own.
    pub server_namespace: Option<&'a str>,
    /// Namespace of the client.
    pub client_namespace: Option<&'a str>,
    /// Whether the server is started here; else somebody runs it at the address.
    pub serves: bool,
}

/// Starts the server of a trial's tool here, for the agent of this host: its words are made of the
/// trial, and none of them names a file.
pub fn serve(trial: &Trial) -> Result<ToolServer, ControlError> {
    let engine = engine(trial).map_err(|why| Denial::Tool(why.into()))?;
    if !engine.runs.has_server() {
        return Err(Denial::Tool(NoEngine::NoServer(engine.name).into()).into());
    }
    let words = server_words(engine, trial).map_err(|why| Denial::Tool(why.into()))?;
    if let Some(word) = words.iter().find(|word| !is_plain(word)) {
        let foreign = ForeignWord { word: word.clone(), tool: engine.name };
        return Err(Denial::Tool(foreign.into()).into());
    }
    let server = start_server(engine, server_command(engine, trial, &words, None))?;
    Ok(ToolServer { port: engine.port, process: Box::new(server) })
}

/// The port of a tool's server.
pub fn port(tool: &str) -> Option<u16> {
    ENGINES.iter().find(|engine| engine.name == tool).map(|engine| engine.port)
}

/// A word that an agent gives to no tool.
#[derive(Debug, Error)]
#[error("'{}' is not a word for {tool}", word.escape_debug())]
struct ForeignWord {
    word: String,
    tool: &'static str,
}

/// Whether a word can be an option, a number or a name, and no path.
fn is_plain(word: &str) -> bool {
    word.len() <= 64
        && !word.contains("..")
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.,:=+".contains(c))
}

fn server_words(engine: &Engine, trial: &Trial) -> Result<Vec<String>, Refused> {
    let own = trial.engine.clone().unwrap_or_default();
    check_words(&own)?;
    Ok([(engine.server)(trial, engine.port), own.server].concat())
}

fn server_command(
    engine: &Engine,
    trial: &Trial,
    words: &[String],
    namespace: Option<&str>,
) -> Command {
    let program = engine.server_program.unwrap_or_else(|| (engine.program)(trial));
    placed(program, words, (namespace, trial.place(Role::Receiver)))
}

/// Starts a server and waits until it should listen.
fn start_server(engine: &Engine, command: Command) -> Result<Running, ControlError> {
    let mut server = Running::start(command).map_err(|why| MachineError::Tool(why.into()))?;
    thread::sleep(LISTEN_WITHIN);
    match server.status() {
        Some(status) => Err(MachineError::ToolEnded { tool: engine.name, status }.into()),
        None => Ok(server),
    }
}

/// Runs a tool's client, and its server where it is to be here.
pub fn run(trial: &Trial, place: &Place<'_>, stop: &AtomicBool) -> Result<External, Ended> {
    let engine = engine(trial).map_err(|why| Ended::Failed(Stage::Start, why.to_string()))?;
    if let Runs::Generator(generator) = engine.runs {
        return generators::run((engine, generator), trial, place, stop);
    }
    let Commands { server, client, line } = commands(engine, trial, place)?;
    let server = server.map(|command| start_server(engine, command)).transpose();
    let server = server.map_err(|why| Ended::Failed(Stage::Start, why.to_string()))?;
    let began_ns = Nanos(monotonic_ns());
    let mut client = Running::start(client).map_err(unstarted)?;
    client.grace = engine.grace();
    let (status, text) = client.end(within(engine, trial), stop)?;
    let client = Some(ClientTime { began_ns, ended_ns: Nanos(monotonic_ns()) });
    drop(server);
    let told = external(engine, &text, line).map(|told| External { client, ..told });
    told.map_err(|why| {
        let says = match why {
            Unread::Failed(why) => format!("{}: {why}", engine.name),
            why => {
                let told: String = text.lines().rev().take(3).collect::<Vec<_>>().join(" / ");
                format!("{} ({status}): {why}: {told}", engine.name)
            }
        };
        Ended::Failed(Stage::Collect, says)
    })
}

/// What a tool's ends are started with.
struct Commands {
    /// `None` where somebody else runs it, or there is none.
    server: Option<Command>,
    client: Command,
    /// The client's words for people, without where it is placed.
    line: String,
}

fn commands(engine: &Engine, trial: &Trial, place: &Place<'_>) -> Result<Commands, Ended> {
    let own = trial.engine.clone().unwrap_or_default();
    check_words(&own).map_err(|why| Ended::Failed(Stage::Start, why.to_string()))?;
    if engine.runs.is_ranks() && place.address.is_ipv6() {
        let why = format!("{} starts ranks by IPv4 addresses: name the peer by one", engine.name);
        return Err(Ended::Failed(Stage::Start, why));
    }
    let server = if place.serves && engine.runs.has_server() {
        let words = server_words(engine, trial);
        let words = words.map_err(|why| Ended::Failed(Stage::Start, why.to_string()))?;
        Some(server_command(engine, trial, &words, place.server_namespace))
    } else {
        None
    };
    let words = if own.client.is_empty() || engine.runs.is_ranks() {
        (engine.client)(trial, place.address, engine.port)
    } else {
        [(engine.reach)(place.address, engine.port), own.client.clone()].concat()
    };
    let at = (place.client_namespace, trial.place(Role::Sender));
    let program = match engine.runs {
        Runs::ClientAndServer | Runs::Generator(_) => (engine.program)(trial).to_owned(),
        Runs::Ranks => own_program().map_err(unstarted)?,
    };
    let line = format!("{program} {}", words.join(" "));
    Ok(Commands { server, client: placed(&program, &words, at), line })
}

/// How long a client may take. Ranks are ended by this program's own limit before that, which says
/// what became of them.
fn within(engine: &Engine, trial: &Trial) -> Duration {
    let twice = Duration::from_nanos(trial.timeline.window_ns.0).saturating_mul(2);
    match engine.runs {
        Runs::ClientAndServer | Runs::Generator(_) => twice + SPARE,
        Runs::Ranks => twice + mpi::STARTS_WITHIN + SPARE,
    }
}

/// Why what a client printed is no result.
#[derive(Debug, Error)]
enum Unread {
    #[error("its output is not known")]
    NoReader,
    #[error(transparent)]
    Unusable(#[from] Unusable),
    #[error("it printed no run")]
    NoRun,
    /// The tool says so itself, in these words.
    #[error("{0}")]
    Failed(String),
}

fn unstarted(why: NotStarted) -> Ended {
    Ended::Failed(Stage::Start, why.to_string())
}

/// The file of this program.
fn own_program() -> Result<String, NotStarted> {
    let found = std::env::current_exe().map(|file| file.to_string_lossy().into_owned());
    found.map_err(|source| NotStarted { program: "narrows".to_owned(), source })
}

/// What ranks of this program print: what they measured, or why they did not.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// The run's figures, and what carried them.
    Measured(External),
    /// Why there are none.
    Failed(String),
}

/// Reads what a client printed; its exit status says little, so figures decide.
fn external(engine: &Engine, text: &str, line: String) -> Result<External, Unread> {
    if engine.runs.is_ranks() {
        let told = text.lines().find_map(|line| serde_json::from_str(line).ok());
        return match told.ok_or(Unread::NoRun)? {
            Told::Measured(external) => Ok(External { command: Some(line), ..external }),
            Told::Failed(why) => Err(Unread::Failed(why)),
        };
    }
    let tool = import::tool(engine.name).ok_or(Unread::NoReader)?;
    let output = (tool.parse)(text)?;
    let run = output.runs.into_iter().next().ok_or(Unread::NoRun)?;
    if let Some(why) = run.failed {
        return Err(Unread::Failed(why));
    }
    Ok(External {
        tool: engine.name.to_owned(),
        version: output.version,
        command: Some(line),
        file: None,
        figures: run.figures,
        output: kept(text),
        client: None,
        packets: None,
    })
}

/// The command of one end: inside a namespace, on CPUs, on a node.
fn placed(
    program: &str,
    words: &[String],
    (namespace, place): (Option<&str>, &Placement),
) -> Command {
    let mut line: Vec<String> = Vec::new();
    if let Some(namespace) = namespace {
        line.extend(["nsenter".to_owned(), format!("--net={namespace}")]);
    }
    if !place.cpus.is_empty() {
        let list: Vec<String> = place.cpus.0.iter().map(u32::to_string).collect();
        line.extend(["taskset".to_owned(), "-c".to_owned(), list.join(",")]);
    }
    if let Some(node) = place.node {
        line.extend(["numactl".to_owned(), format!("--membind={node}")]);
    }
    line.push(program.to_owned());
    line.extend(words.iter().cloned());
    let mut command = narrows_hostctl::child::command(&line[0]);
    command.args(&line[1..]);
    command
}

/// How long ranks have to end each other and to leave nothing.
const GRACE: Duration = Duration::from_secs(8);

impl Engine {
    /// How long its client is given to end when it is asked to.
    fn grace(&self) -> Duration {
        match self.runs {
            Runs::ClientAndServer | Runs::Generator(_) => Duration::ZERO,
            Runs::Ranks => GRACE,
        }
    }
}

/// Seconds of a trial's window as tools take them: whole ones, at least one.
fn seconds(trial: &Trial) -> String {
    trial.timeline.window_ns.seconds().ceil().max(1.0).to_string()
}

/// Options and their values as a tool wants them, without those that were not asked for.
fn options(options: &[(&str, Option<String>)]) -> Vec<String> {
    let asked = options.iter().filter_map(|(name, value)| {
        let value = value.as_ref()?;
        Some([(*name).to_owned(), value.clone()].into_iter().filter(|word| !word.is_empty()))
    });
    asked.flatten().collect()
}

/// What is asked of a trial's flows, as most tools name it.
fn of_flows(trial: &Trial) -> Vec<(&'static str, Option<String>)> {
    let params = &trial.params;
    let udp = trial.kind.is_udp();
    let each = |rate_bps: u64| (rate_bps / u64::from(params.streams.max(1))).to_string();
    vec![
        ("-t", Some(seconds(trial))),
        ("-l", Some(params.message_bytes.0.to_string())),
        ("-P", Some(params.streams.to_string())),
        ("-w", params.socket_buffer_bytes.map(|bytes| bytes.0.to_string())),
        ("-u", udp.then(String::new)),
        // The tools pace each flow by itself. Without a rate UDP is to go as fast as it can.
        ("-b", params.rate_bps.or(udp.then_some(0)).map(each)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Bytes;
    use narrows_model::load::{Params, Timeline};
    use narrows_model::options::runs;
    use narrows_model::trial::{EndSpec, NetworkPath, TrialId};

    /// A trial of a second and a half between two hosts, by a tool.
    fn made(kind: &'static str, tool: &str) -> Trial {
        Trial {
            id: TrialId(String::new()),
            label: String::new(),
            kind: Workload::from(kind),
            params: Params::of_network(Bytes(1000), 2),
            ends: EndSpec::anywhere(false),
            path: NetworkPath::Peer,
            timeline: Timeline::new(Nanos(0), Nanos(1_500_000_000), Nanos(0)),
            levels: Vec::new(),
            notes: Vec::new(),
            engine: Some(narrows_model::trial::Engine { tool: tool.into(), ..Default::default() }),
        }
    }

    fn line(command: &Command) -> String {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_end_is_started_in_its_namespace_and_on_its_cpus() {
        let mut trial = made("tcp-stream", "iperf3");
        trial.ends = EndSpec::pair(Placement::on([1, 2]), Placement::on([7]), false);
        let node = trial.end_mut(Role::Receiver).expect("an end");
        node.place.node = Some(1);
        let place = Place {
            address: "192.0.2.1".parse().expect("an address"),
            server_namespace: Some("/run/there"),
            client_namespace: Some("/run/here"),
            serves: true,
        };
        let all = commands(&iperf3::ENGINE, &trial, &place).expect("commands");
        let place_of = |role| {
            trial.place(role).cpus.0.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
        };
        let (sender, receiver) = (place_of(Role::Sender), place_of(Role::Receiver));
        assert_ne!(sender, receiver);
        let server = line(&all.server.expect("a server"));
        let wanted =
            format!("nsenter --net=/run/there taskset -c {receiver} numactl --membind=1 iperf3 ");
        assert!(server.starts_with(&wanted), "{server}");
        let client = line(&all.client);
        let wanted = format!("nsenter --net=/run/here taskset -c {sender} {}", all.line);
        assert_eq!(client, wanted);
        assert!(all.line.starts_with("iperf3 ") && all.line.contains("192.0.2.1"), "{}", all.line);
        let elsewhere = Place { serves: false, client_namespace: None, ..place };
        let all = commands(&iperf3::ENGINE, &trial, &elsewhere).expect("commands");
        assert!(all.server.is_none());
        assert_eq!(line(&all.client), format!("taskset -c {sender} {}", all.line));
        let served = line(&server_command(&iperf3::ENGINE, &trial, &["-x".into()], None));
        assert_eq!(served, format!("taskset -c {receiver} numactl --membind=1 iperf3 -x"));
        let by_6 = Place { address: "fe80::1".parse().expect("an address"), ..elsewhere };
        let refused = commands(&mpi::ENGINE, &made("mpi-latency", "mpi"), &by_6).err();
        let Some(Ended::Failed(Stage::Start, why)) = refused else { panic!("{refused:?}") };
        assert_eq!(why, "mpi starts ranks by IPv4 addresses: name the peer by one");
    }

    #[test]
    fn a_tool_that_cannot_says_why() {
        let why =
            |trial: &Trial| engine(trial).err().map(|why| why.to_string()).unwrap_or_default();
        assert!(
            why(&made("tcp-stream", "other"))
                .starts_with("engine 'other' is none of iperf, iperf3, ")
        );
        let other = why(&made("mpi-latency", "iperf3"));
        assert!(
            other.starts_with("iperf3 runs tcp-stream") && other.ends_with("not mpi-latency"),
            "{other}"
        );
        let mut at_home = made("mpi-latency", "mpi");
        at_home.path = NetworkPath::Loopback;
        assert_eq!(why(&at_home), "ranks of mpi are on two hosts: name the other with --peer");
        let placed = why(&made("mpi-latency", "mpi"));
        assert_eq!(placed, "mpi does not take 'parallel': the launcher places its ranks");
        let mut told = made("tcp-stream", "iperf3");
        told.params.told.tell(&runs::RANKS, 8);
        assert_eq!(why(&told), "iperf3 does not take 'ranks'");
        let names = NoEngine::Library { tool: "one", library: "other".into() };
        assert_eq!(names.to_string(), "one does not go through other");
        let missing = NoEngine::NotInstalled { program: "one", package: "other" };
        assert_eq!(missing.to_string(), "one is not installed: apt install other");
        assert!(
            has_ranks(&made("mpi-latency", "mpi")) && !has_ranks(&made("tcp-stream", "iperf3"))
        );
    }

    #[test]
    fn words_and_times_are_made_of_the_trial() {
        let trial = made("tcp-stream", "iperf3");
        assert_eq!(seconds(&trial), "2", "whole ones");
        assert_eq!(within(&iperf3::ENGINE, &trial), Duration::from_secs(3 + 20));
        assert_eq!(within(&mpi::ENGINE, &trial), Duration::from_secs(3 + 20) + mpi::STARTS_WITHIN);
        assert_eq!(
            (iperf3::ENGINE.grace(), mpi::ENGINE.grace()),
            (Duration::ZERO, Duration::from_secs(8))
        );
        assert_eq!(options(&of_flows(&trial)), ["-t", "2", "-l", "1000", "-P", "2"]);
        let mut udp = made("udp-stream", "iperf3");
        udp.params.rate_bps = Some(9_000_000);
        udp.params.socket_buffer_bytes = Some(Bytes(4096));
        let wanted = ["-t", "2", "-l", "1000", "-P", "2", "-w", "4096", "-u", "-b", "4500000"];
        assert_eq!(options(&of_flows(&udp)), wanted, "each flow is paced by itself");
        let brief = Trial { timeline: Timeline::new(Nanos(0), Nanos(1), Nanos(0)), ..udp };
        assert_eq!(seconds(&brief), "1");
    }

    #[test]
    fn the_last_of_an_output_is_kept_and_one_without_a_run_is_none() {
        let of = |engine, text: &str| external(engine, text, "line".to_owned());
        let why = |told: Result<External, Unread>| told.err().map(|why| why.to_string());
        let failed = serde_json::to_string(&Told::Failed("no route".into())).expect("JSON");
        assert_eq!(why(of(&mpi::ENGINE, &failed)).as_deref(), Some("no route"));
        assert_eq!(why(of(&mpi::ENGINE, "nothing")).as_deref(), Some("it printed no run"));
        let qperf = "tcp_bw:\n    bw  =  1.18 GB/sec\n";
        let told = of(&qperf::ENGINE, qperf).expect("a run");
        assert_eq!((told.tool.as_str(), told.command.as_deref()), ("qperf", Some("line")));
        assert_eq!(told.output, qperf);
        let long = format!("{}{qperf}", "é\n".repeat(40_000));
        if let Ok(told) = of(&qperf::ENGINE, &long) {
            assert!((65_530..=65_536).contains(&told.output.len()), "{}", told.output.len());
            assert!(told.output.ends_with(qperf));
        }
    }

    #[test]
    fn a_launcher_that_the_user_stopped_says_nothing_of_the_host() {
        assert_eq!(ranks_meet("n1", &AtomicBool::new(true)), Err(NoRanks::Stopped));
        let host = "n1".to_owned();
        let says = NoRanks::Failed { host, why: "no route".to_owned() }.to_string();
        assert_eq!(says, "cannot start a rank on n1: no route", "its cause has the hint");
    }

    #[test]
    fn no_word_of_a_server_is_a_path_or_holds_a_blank() {
        for word in ["-s", "--size=64", "mlx5_0", "192.0.2.1", "fe80::1", "1.5M"] {
            assert!(is_plain(word), "{word}");
        }
        for word in ["/etc/passwd", "a b", "..", "x;y", "$(id)", "-F\n", &"x".repeat(65)] {
            assert!(!is_plain(word), "{word}");
        }
        assert_eq!((port("iperf"), port("sh")), (Some(5001), None));
        let lendable = ["iperf3", "perftest", "mpi", "pktgen", "sh"].map(has_server);
        assert_eq!(lendable, [true, true, false, false, false]);
    }
}
