//! Which tool makes a trial's load, or why none does: a tool that cannot be told what a trial is
//! would measure something else under its name.

use super::generators::{Generator, Lack, Leaves};
use super::{ENGINES, Engine, Runs};
use narrows_model::options::{flows, told};
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::workload::Workload;
use thiserror::Error;

/// Why no outside tool makes a trial's load.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoEngine {
    /// No tool of this name is known.
    #[error("engine '{0}' is none of {names}", names = names(ENGINES.iter().map(|e| e.name)))]
    Unknown(String),
    /// The tool makes other loads.
    #[error("{tool} runs {}, not {workload}", names(.makes.iter().map(Workload::as_str)))]
    OtherLoad {
        /// Name of the tool.
        tool: &'static str,
        makes: &'static [Workload],
        /// What the trial asks for.
        workload: Workload,
    },
    /// The trial goes through a library that the tool does not use.
    #[error("{tool} does not go through {library}")]
    Library {
        /// Name of the tool.
        tool: &'static str,
        /// Name of the library.
        library: String,
    },
    /// The trial is told an option that the tool has not.
    #[error("{tool} does not take '{option}'")]
    Option {
        /// Name of the tool.
        tool: &'static str,
        /// Key of the option.
        option: &'static str,
    },
    /// The tool's ranks are on two hosts, and one is named.
    #[error("ranks of {0} are on two hosts: name the other with --peer")]
    OneHost(&'static str),
    /// Ranks are placed, and told all else, by their launcher.
    #[error("{tool} does not take '{option}': the launcher places its ranks")]
    Launched {
        /// Name of the tool.
        tool: &'static str,
        /// Key of the option.
        option: &'static str,
    },
    /// It has no server that an agent could start.
    #[error("{0} has no server")]
    NoServer(&'static str),
    /// A generator's packets stay on this host, where both its interfaces are.
    #[error(
        "{0} sends between two namespaces of this host (root) or two of its ports \
         (bind = \"eth0,eth1\"): at another host nobody would count what came"
    )]
    Elsewhere(&'static str),
    /// It would leave a program before a port of this host if it were killed.
    #[error("{0} sends between namespaces alone: killed, it leaves its program before a port")]
    LeavesProgram(&'static str),
    /// It knows no pace.
    #[error("{0} keeps no rate, it goes as fast as it can: rate = \"max\"")]
    NoRate(&'static str),
    /// Its rate is one of seconds, and the window is of no whole ones.
    #[error(
        "{0} sends a second's packets at once, so that a rate takes a window of whole seconds: \
         seconds = 1"
    )]
    WholeSeconds(&'static str),
    /// Its frames are smaller.
    #[error("{tool} sends frames of {most} bytes at most here")]
    Frame {
        /// Name of the tool.
        tool: &'static str,
        /// Bytes with the check sequence.
        most: u64,
    },
    /// The kernel lacks something that it needs.
    #[error("{what}: {hint}")]
    Lacks {
        what: &'static str,
        /// What brings it.
        hint: &'static str,
    },
    /// The program is not on the path.
    #[error("{program} is not installed: apt install {package}")]
    NotInstalled {
        /// Name of the program.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
}

fn names<'a>(all: impl Iterator<Item = &'a str>) -> String {
    all.collect::<Vec<_>>().join(", ")
}

/// The tool that makes a trial's load; an error says why it cannot.
pub fn engine(trial: &Trial) -> Result<&'static Engine, NoEngine> {
    let name = trial.engine.as_ref().map_or("", |engine| engine.tool.as_str());
    let engine = ENGINES
        .iter()
        .copied()
        .find(|engine| engine.name == name)
        .ok_or_else(|| NoEngine::Unknown(name.to_owned()))?;
    if !engine.kinds.contains(&trial.kind) {
        return Err(NoEngine::OtherLoad {
            tool: engine.name,
            makes: engine.kinds,
            workload: trial.kind.clone(),
        });
    }
    if let Runs::Generator(generator) = engine.runs {
        can_generate(engine, generator, trial)?;
    }
    if engine.runs.is_ranks() {
        if trial.path != NetworkPath::Peer {
            return Err(NoEngine::OneHost(engine.name));
        }
        if let Some(option) = engine.cannot_say(trial).or_else(|| placed_by_launcher(trial)) {
            return Err(NoEngine::Launched { tool: engine.name, option });
        }
    }
    let via = trial.params.rdma.as_ref().and_then(|rdma| rdma.via.as_deref());
    if let Some(library) = via {
        return Err(NoEngine::Library { tool: engine.name, library: library.to_owned() });
    }
    if let Some(option) = engine.cannot_say(trial) {
        return Err(NoEngine::Option { tool: engine.name, option });
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = (engine.program)(trial);
    if std::env::split_paths(&path).any(|dir| dir.join(program).is_file()) {
        Ok(engine)
    } else {
        Err(NoEngine::NotInstalled { program, package: engine.package })
    }
}

/// Whether a generator can send what a trial asks for, on this kernel.
fn can_generate(
    engine: &'static Engine,
    generator: &Generator,
    trial: &Trial,
) -> Result<(), NoEngine> {
    let tool = engine.name;
    match trial.path {
        NetworkPath::Cable if generator.leaves == Leaves::Program => {
            return Err(NoEngine::LeavesProgram(tool));
        }
        NetworkPath::Cable | NetworkPath::Namespaces => {}
        _ => return Err(NoEngine::Elsewhere(tool)),
    }
    if trial.params.rate_bps.is_some() && !engine.takes.contains(&RATE) {
        return Err(NoEngine::NoRate(tool));
    }
    let is_whole = trial.timeline.window_ns.0.is_multiple_of(SECOND_NS);
    if trial.params.rate_bps.is_some() && generator.bursts_by_second && !is_whole {
        return Err(NoEngine::WholeSeconds(tool));
    }
    if trial.params.message_bytes.0 > generator.frame_bytes_max {
        return Err(NoEngine::Frame { tool, most: generator.frame_bytes_max });
    }
    match (generator.lacks)() {
        Some(Lack { what, hint }) => Err(NoEngine::Lacks { what, hint }),
        None => Ok(()),
    }
}

const SECOND_NS: u64 = 1_000_000_000;
const RATE: &str = flows::BITRATE.declared.key;
const PARALLEL: &str = flows::PARALLEL.declared.key;
const CONGESTION: &str = flows::CONGESTION.declared.key;
const WAIT: &str = flows::WAIT.declared.key;

/// Where a trial puts its ends, which the launcher of ranks decides.
fn placed_by_launcher(trial: &Trial) -> Option<&'static str> {
    trial.ends.iter().find_map(|end| {
        let placed = [
            (end.bind.is_some(), "bind"),
            (end.container.is_some(), "in"),
            (!end.place.cpus.is_empty(), "affinity"),
            (end.place.node.is_some(), "memory_node"),
        ];
        placed.into_iter().find(|(is_told, _)| *is_told).map(|(_, key)| key)
    })
}

impl Engine {
    /// Key of the first option of a trial that it cannot be told; a figure without it would be of
    /// something else.
    fn cannot_say(&self, trial: &Trial) -> Option<&'static str> {
        let is_said = |key: &str| match key {
            // One flow is what each does by itself.
            PARALLEL => trial.params.streams <= 1 || self.takes.contains(&key),
            // Routes of namespaces ask for it in a tool's place, and UDP has none.
            CONGESTION if trial.path == NetworkPath::Namespaces || !trial.kind.is_tcp() => true,
            // No tool's sockets spin where ours would.
            WAIT => trial.kind.is_rdma() && self.takes.contains(&key),
            _ => self.takes.contains(&key),
        };
        told(&trial.params).map(|(option, _)| option.key).find(|key| !is_said(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::{Params, SocketParams, StreamParams, Timeline, Wait};
    use narrows_model::options::runs;
    use narrows_model::trial::{EndSpec, TrialId};
    use narrows_model::{Bytes, Nanos};

    fn of(tool: &str, kind: &str, params: Params) -> Trial {
        Trial {
            id: TrialId(String::new()),
            label: String::new(),
            kind: Workload::from(kind),
            params,
            ends: EndSpec::anywhere(false),
            path: NetworkPath::Peer,
            timeline: Timeline::new(Nanos(0), Nanos(1), Nanos(0)),
            levels: Vec::new(),
            notes: Vec::new(),
            engine: Some(narrows_model::trial::Engine {
                tool: tool.to_owned(),
                ..narrows_model::trial::Engine::default()
            }),
        }
    }

    /// What a trial with these settings is refused for, whether or not the tool is installed.
    fn refused(trial: &Trial) -> Option<String> {
        match engine(trial) {
            Ok(_) | Err(NoEngine::NotInstalled { .. }) => None,
            Err(why) => Some(why.to_string()),
        }
    }

    #[test]
    fn a_tool_that_cannot_be_told_an_option_is_refused() {
        let plain = || Params::of_network(Bytes(1000), 1);
        let told = |change: fn(&mut Params)| {
            let mut params = plain();
            change(&mut params);
            params
        };
        let reversed = || {
            told(|of| of.stream = Some(StreamParams { reverse: true, ..StreamParams::default() }))
        };
        let paced = || told(|of| of.rate_bps = Some(1_000_000));
        let prompt = || told(|of| of.told.tell(&flows::QUICKACK, true));
        let cubic = || told(|of| of.congestion = Some("cubic".to_owned()));
        let several = || Params::of_network(Bytes(1000), 4);
        let spins = || {
            told(|of| {
                of.socket = Some(SocketParams { wait: Some(Wait::Spin), ..SocketParams::default() })
            })
        };
        let ranks = || told(|of| of.told.tell(&runs::RANKS, 8));
        for (tool, kind, params, option) in [
            ("iperf3", "tcp-stream", reversed(), None),
            ("iperf3", "tcp-stream", paced(), None),
            ("iperf3", "tcp-stream", several(), None),
            ("iperf3", "tcp-stream", prompt(), Some("quickack")),
            ("iperf3", "tcp-stream", ranks(), Some("ranks")),
            ("iperf", "tcp-stream", reversed(), Some("reverse")),
            ("nuttcp", "udp-stream", paced(), None),
            ("nuttcp", "tcp-stream", reversed(), Some("reverse")),
            ("qperf", "tcp-stream", several(), Some("parallel")),
            ("qperf", "tcp-stream", paced(), Some("bitrate")),
            ("qperf", "tcp-latency", spins(), Some("wait")),
            ("qperf", "rdma-send-latency", spins(), None),
            ("perftest", "rdma-read-stream", spins(), None),
            ("iperf3", "tcp-stream", cubic(), None),
            ("nuttcp", "tcp-stream", cubic(), Some("congestion")),
            ("nuttcp", "udp-stream", cubic(), None),
            ("sockperf", "tcp-latency", plain(), None),
            ("sockperf", "tcp-latency", several(), Some("parallel")),
            ("mpi", "mpi-latency", plain(), None),
            ("mpi", "mpi-latency", ranks(), None),
            ("mpi", "mpi-latency", several(), Some("parallel")),
            ("mpi", "mpi-latency", paced(), Some("bitrate")),
        ] {
            let why = refused(&of(tool, kind, params));
            let says = option.map(|option| format!("{tool} does not take '{option}'"));
            match says {
                Some(says) => assert!(
                    why.as_ref().is_some_and(|why| why.starts_with(&says)),
                    "{says}: {why:?}"
                ),
                None => assert_eq!(why, None, "{tool} {kind}"),
            }
        }
    }

    #[test]
    fn a_generator_sends_on_this_host_what_it_can_and_a_rate_that_it_keeps() {
        let of = |tool: &str, path, frame: u64, rate_bps: Option<u64>, window_ns: u64| {
            let params = Params { rate_bps, ..Params::of_network(Bytes(frame), 1) };
            let mut trial = of(tool, "packets", params);
            (trial.path, trial.timeline.window_ns) = (path, Nanos(window_ns));
            refused(&trial).unwrap_or_default()
        };
        let (apart, cable) = (NetworkPath::Namespaces, NetworkPath::Cable);
        let (second, half, rate) = (1_000_000_000, 500_000_000, Some(10_240_000));
        assert_eq!(of("trafgen", apart, 64, None, half), "");
        assert_eq!(of("trafgen", cable, 9018, rate, 3 * second), "");
        let says = "trafgen sends a second's packets at once";
        assert!(of("trafgen", apart, 64, rate, half).starts_with(says));
        for path in [NetworkPath::Loopback, NetworkPath::Peer] {
            assert!(of("trafgen", path, 64, None, second).contains("nobody would count what came"));
        }
        assert_eq!(of("testpmd", cable, 1518, None, half), "");
        assert_eq!(
            of("testpmd", apart, 1519, None, half),
            "testpmd sends frames of 1518 bytes at most here"
        );
        assert!(of("testpmd", apart, 64, rate, second).starts_with("testpmd keeps no rate"));
        assert_eq!(of("testpmd-af-xdp", apart, 64, None, half), "");
        assert!(of("testpmd-af-xdp", cable, 64, None, half).contains("leaves its program"));
        let other = refused(&self::of("trafgen", "udp-stream", Params::of_network(Bytes(64), 1)));
        assert_eq!(other.as_deref(), Some("trafgen runs packets, not udp-stream"));
    }

    #[test]
    fn routes_of_namespaces_ask_for_a_congestion_control_in_a_tools_place() {
        let cubic = Some("cubic".to_owned());
        let params = Params { congestion: cubic, ..Params::of_network(Bytes(1000), 1) };
        let mut trial = of("nuttcp", "tcp-stream", params);
        trial.path = NetworkPath::Namespaces;
        assert_eq!(refused(&trial), None);
        trial.path = NetworkPath::Loopback;
        assert!(refused(&trial).is_some());
    }

    #[test]
    fn a_launcher_places_its_ranks_itself() {
        let mut trial = of("mpi", "mpi-latency", Params::of_network(Bytes(8), 1));
        trial.ends[0].place.node = Some(1);
        let why = refused(&trial).expect("refused");
        assert_eq!(why, "mpi does not take 'memory_node': the launcher places its ranks");
    }
}
