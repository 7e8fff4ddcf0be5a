//! Servers of outside tools, which an agent's owner lends by name: a controller sends the trial,
//! and what the tool is called with is made of it here. No word of a command comes over the wire
//! beside those that a study may give, and these are checked again.

use crate::error::{ControlError, Denial};
use crate::limits::{LINE_MAX, Limits};
use narrows_model::trial::Trial;
use std::any::Any;
use std::time::{Duration, Instant};
use thiserror::Error;

/// How much longer than its time line a tool may be there.
const SPARE: Duration = Duration::from_secs(60);

/// A tool's server that runs; it ends with this.
pub struct ToolServer {
    /// Port that its clients come to.
    pub port: u16,
    /// The tool itself, which is killed when this is dropped.
    pub process: Box<dyn Any>,
}

/// Starts the server of the tool that a trial names.
pub type StartTool = fn(&Trial) -> Result<ToolServer, ControlError>;

/// What an owner lends of outside tools.
#[derive(Clone)]
pub struct Tools {
    /// Names of the tools, as studies give them.
    pub names: Vec<String>,
    /// The port that each tool takes, and how it is started.
    pub start: StartTool,
    /// Port of a tool's server.
    pub port: fn(&str) -> Option<u16>,
}

/// Why a tool is not lent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ToolNotGranted {
    /// The owner did not name it.
    #[error("the agent's owner does not offer {0} (narrows serve --engines {0} does)")]
    Name(String),
    /// A run longer than the owner allows.
    #[error("a run of {asked_s} s, and the agent's owner allows {most_s}")]
    Seconds {
        /// Seconds of the trial, warm-up and cool-down included.
        asked_s: u64,
        /// The owner's limit.
        most_s: u64,
    },
    /// More flows than the owner allows.
    #[error("{asked} flows, and the agent's owner allows {most}")]
    Streams {
        /// Flows of the trial.
        asked: u32,
        /// The owner's limit.
        most: u32,
    },
    /// Its port is not among those that the owner opens.
    #[error("{tool} takes port {port}, and the agent's owner opens {first} to {last}")]
    Port {
        /// Name of the tool.
        tool: String,
        /// Port that the tool is to listen on.
        port: u16,
        /// First port that may be used.
        first: u16,
        /// The last port of the range, itself among them.
        last: u16,
    },
    /// A limit that no outside tool keeps.
    #[error("the agent's owner set {0}, which no outside tool can be held to")]
    Unbounded(&'static str),
}

impl Tools {
    /// Whether the owner lends what a trial asks for.
    pub fn admit(&self, limits: &Limits, trial: &Trial) -> Result<(), ToolNotGranted> {
        let tool = trial.engine.as_ref().map_or("", |engine| engine.tool.as_str());
        if !self.names.iter().any(|name| name == tool) {
            return Err(ToolNotGranted::Name(tool.to_owned()));
        }
        let asked_s = trial.timeline.length().as_secs();
        let most_s = limits.seconds.map_or(LINE_MAX.as_secs(), u64::from);
        if asked_s > most_s {
            return Err(ToolNotGranted::Seconds { asked_s, most_s });
        }
        let asked = trial.params.streams;
        if let Some(most) = limits.streams.filter(|most| asked > *most) {
            return Err(ToolNotGranted::Streams { asked, most });
        }
        if let (Some((first, last)), Some(port)) = (limits.ports, (self.port)(tool))
            && !(first..=last).contains(&port)
        {
            return Err(ToolNotGranted::Port { tool: tool.to_owned(), port, first, last });
        }
        let unbounded = [
            (limits.rate_bps.is_some(), "--max-rate"),
            (limits.memory_bytes.is_some(), "--max-memory"),
            // A server answers whoever reaches its port.
            (!limits.allowed.is_empty(), "--allow"),
        ];
        let told = unbounded.into_iter().find(|(told, _)| *told);
        told.map_or(Ok(()), |(_, what)| Err(ToolNotGranted::Unbounded(what)))
    }
}

/// A tool's server of a session, until its time is over.
#[derive(Default)]
pub struct GrantedTool(Option<(ToolServer, Instant)>);

impl GrantedTool {
    /// Starts one in the place of the one before: its port.
    pub fn start(
        &mut self,
        tools: Option<&Tools>,
        limits: &Limits,
        trial: &Trial,
    ) -> Result<u16, ControlError> {
        self.end();
        let tool = trial.engine.as_ref().map_or("", |engine| engine.tool.as_str());
        let declined = |why: ToolNotGranted| Denial::Tool(why.into());
        let tools = tools.ok_or_else(|| ToolNotGranted::Name(tool.to_owned())).map_err(declined)?;
        tools.admit(limits, trial).map_err(declined)?;
        let server = (tools.start)(trial)?;
        let port = server.port;
        self.0 = Some((server, Instant::now() + trial.timeline.length() + SPARE));
        Ok(port)
    }

    /// Ends it, if it is there.
    pub fn end(&mut self) {
        self.0 = None;
    }

    /// Ends one whose controller forgot it.
    pub fn end_when_late(&mut self) {
        if self.0.as_ref().is_some_and(|(_, until)| Instant::now() > *until) {
            self.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Net;
    use narrows_model::load::{Params, Timeline};
    use narrows_model::trial::{EndSpec, Engine, NetworkPath, TrialId};
    use narrows_model::{Bytes, Nanos};
    use std::rc::Rc;

    fn trial(tool: &str, seconds: u64, flows: u32) -> Trial {
        let timeline = Timeline {
            warmup_ns: Nanos(0),
            window_ns: Nanos(seconds * 1_000_000_000),
            cooldown_ns: Nanos(0),
            interval_ns: None,
        };
        Trial {
            id: TrialId(String::new()),
            label: String::new(),
            kind: "tcp-stream".into(),
            params: Params::of_network(Bytes(64), flows),
            ends: EndSpec::anywhere(false),
            path: NetworkPath::Peer,
            timeline,
            levels: Vec::new(),
            notes: Vec::new(),
            engine: Some(Engine { tool: tool.into(), ..Engine::default() }),
        }
    }

    fn lent(names: &[&str]) -> Tools {
        Tools {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            start: |_| Ok(ToolServer { port: 5001, process: Box::new(Rc::new(())) }),
            port: |_| Some(5001),
        }
    }

    #[test]
    fn a_tool_is_lent_by_name_and_within_the_owners_limits_alone() {
        let none = Limits::default();
        let tools = lent(&["iperf"]);
        let refused = |limits: Limits, trial: &Trial| tools.admit(&limits, trial).err();
        assert_eq!(refused(none.clone(), &trial("iperf", 5, 4)), None);
        let other = ToolNotGranted::Name("nuttcp".into());
        assert_eq!(refused(none.clone(), &trial("nuttcp", 5, 4)), Some(other));
        let short = Limits { seconds: Some(4), ..none.clone() };
        let why = ToolNotGranted::Seconds { asked_s: 5, most_s: 4 };
        assert_eq!(refused(short, &trial("iperf", 5, 4)), Some(why));
        let narrow = Limits { streams: Some(3), ..none.clone() };
        let why = ToolNotGranted::Streams { asked: 4, most: 3 };
        assert_eq!(refused(narrow, &trial("iperf", 5, 4)), Some(why));
        let closed = Limits { ports: Some((7000, 7100)), ..none.clone() };
        let tool = "iperf".to_owned();
        let why = ToolNotGranted::Port { tool, port: 5001, first: 7000, last: 7100 };
        assert_eq!(refused(closed, &trial("iperf", 5, 4)), Some(why));
        let net: Net = "192.0.2.0/24".parse().expect("a network");
        for (limits, what) in [
            (Limits { rate_bps: Some(1), ..none.clone() }, "--max-rate"),
            (Limits { memory_bytes: Some(Bytes(1)), ..none.clone() }, "--max-memory"),
            (Limits { allowed: vec![net], ..none }, "--allow"),
        ] {
            let why = Some(ToolNotGranted::Unbounded(what));
            assert_eq!(refused(limits, &trial("iperf", 5, 4)), why);
        }
    }

    #[test]
    fn an_owner_who_lends_none_has_none_started_and_a_late_one_is_ended() {
        let limits = Limits::default();
        let mut lending = GrantedTool::default();
        let why = lending.start(None, &limits, &trial("iperf", 1, 1)).expect_err("none is lent");
        assert!(why.to_string().contains("--engines iperf"), "{why}");
        let tools = lent(&["iperf"]);
        assert_eq!(lending.start(Some(&tools), &limits, &trial("iperf", 1, 1)).ok(), Some(5001));
        lending.end_when_late();
        assert!(lending.0.is_some());
        if let Some((_, until)) = &mut lending.0 {
            *until = Instant::now() - Duration::from_millis(1);
        }
        lending.end_when_late();
        assert!(lending.0.is_none());
    }

    #[test]
    fn what_is_just_within_a_limit_is_lent() {
        let tools = lent(&["iperf"]);
        let limits = |first, last| Limits {
            seconds: Some(5),
            streams: Some(4),
            ports: Some((first, last)),
            ..Limits::default()
        };
        for ports in [(5001, 5001), (5000, 5001), (5001, 5002)] {
            assert_eq!(tools.admit(&limits(ports.0, ports.1), &trial("iperf", 5, 4)), Ok(()));
        }
        // No owner's limit is as long as a run may be.
        let hour = trial("iperf", 3600, 1);
        assert_eq!(tools.admit(&Limits::default(), &hour), Ok(()));
        let longer = tools.admit(&Limits::default(), &trial("iperf", 3601, 1));
        assert_eq!(longer, Err(ToolNotGranted::Seconds { asked_s: 3601, most_s: 3600 }));
        let mut lending = GrantedTool::default();
        let began = Instant::now();
        lending.start(Some(&tools), &Limits::default(), &trial("iperf", 5, 1)).expect("lent");
        let until = lending.0.as_ref().map(|(_, until)| until.saturating_duration_since(began));
        let until = until.expect("it is there");
        assert!(until >= Duration::from_secs(65) && until < Duration::from_secs(125), "{until:?}");
        // Another that is not lent ends it.
        assert!(lending.start(Some(&tools), &Limits::default(), &trial("x", 5, 1)).is_err());
        assert!(lending.0.is_none());
    }
}
