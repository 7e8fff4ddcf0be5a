//! What an agent can run.

use narrows_model::host::Host;
use narrows_model::load::Params;
use narrows_model::options;
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;
use narrows_workloads::packets::link::Link;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What an agent can run, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Offers {
    /// Workloads, as in [`narrows_workloads::kinds`].
    pub kinds: Vec<Workload>,
    /// Ways to send, `tcp` or `udp` first: `tcp sendfile`.
    pub senders: Vec<String>,
    /// Ways to receive.
    pub receivers: Vec<String>,
    /// Options that not every agent of the protocol knows, by the words of the table.
    pub options: Vec<String>,
    /// Whether its ends meet those of other agents, several at once, where its owner lets them.
    pub meets: bool,
    /// Whether its owner lets them meet nobody's: no `--peers`. An older agent says it run by run.
    pub meets_nobody: bool,
    /// Whether its ends say what they moved while their window is open.
    pub tells: bool,
    /// Outside tools whose servers its owner lends, by the names that studies give them.
    pub tools: Vec<String>,
    /// Interfaces that its owner lends for raw frames; an older agent has none.
    pub interfaces: Vec<Lent>,
}

/// An interface that an agent's owner lends for raw frames.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lent {
    /// Its name at the agent.
    pub name: String,
    /// MAC address that frames to it have; `None` where it is gone.
    pub mac: Option<String>,
    /// Bits a second of its link now; `None` where the kernel does not tell.
    pub speed_bps: Option<u64>,
}

impl Lent {
    /// The interfaces of these names, as a host has them now.
    pub fn of(names: &[String], host: &Host) -> Vec<Self> {
        let of = |name: &String| {
            let speed = host.nic(name).and_then(|nic| nic.speed_bps.value().copied());
            let mac = Link::named(name).ok().map(|link| link.mac.to_string());
            Self { name: name.clone(), mac, speed_bps: speed.map(|speed| speed.0 as u64) }
        };
        names.iter().map(of).collect()
    }
}

/// What a trial asks of an agent that does not offer it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotOffered {
    /// The workload itself.
    Workload(Workload),
    /// A way to send or to receive, `tcp` or `udp` first.
    Way(String),
    /// The word of an option's capability.
    Option(&'static str),
    /// Ends that meet those of other agents, several at once.
    Meetings,
}

impl fmt::Display for NotOffered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workload(workload) => workload.fmt(f),
            Self::Way(way) => f.write_str(way),
            Self::Option(word) => write!(f, "the option {word}"),
            Self::Meetings => f.write_str("ends that meet other agents'"),
        }
    }
}

impl Offers {
    pub fn own() -> Self {
        use narrows_workloads::{kinds, packets, tcp, udp};
        let own = kinds::KINDS.iter().map(|kind| kind.workload.clone());
        Self {
            kinds: own.filter(Workload::is_network).collect(),
            senders: [
                each_named("tcp", tcp::senders::SENDERS.iter().map(|s| s.name).collect()),
                each_named("udp", udp::senders::SENDERS.iter().map(|s| s.name).collect()),
                each_named("packets", packets::senders::names().collect()),
            ]
            .concat(),
            receivers: [
                each_named("tcp", tcp::receivers::RECEIVERS.iter().map(|r| r.name).collect()),
                each_named("udp", udp::receivers::RECEIVERS.iter().map(|r| r.name).collect()),
                each_named("packets", packets::receivers::names().collect()),
            ]
            .concat(),
            options: options::capabilities().map(str::to_owned).collect(),
            meets: true,
            meets_nobody: false,
            tells: true,
            tools: Vec::new(),
            interfaces: Vec::new(),
        }
    }

    /// An interface that is lent, by its name.
    pub fn interface(&self, name: &str) -> Option<&Lent> {
        self.interfaces.iter().find(|lent| lent.name == name)
    }

    /// Whether a trial can be run, or the first that is missing for it.
    pub fn can(&self, trial: &Trial) -> Result<(), NotOffered> {
        let stream = trial.params.stream.clone().unwrap_or_default();
        let of = match trial.kind {
            Workload::Packets => "packets",
            ref kind if kind.is_udp() => "udp",
            _ => "tcp",
        };
        let lacks = |list: &[String], name: Option<String>| {
            let name = name.map(|name| format!("{of} {name}"));
            name.filter(|name| !list.contains(name)).map(NotOffered::Way)
        };
        let kind = Some(trial.kind.clone()).filter(|kind| !self.kinds.contains(kind));
        let kind = kind.map(NotOffered::Workload);
        let missing = kind
            .or_else(|| lacks(&self.senders, stream.sender))
            .or_else(|| lacks(&self.receivers, stream.receiver))
            .or_else(|| self.unknown_option(&trial.params));
        missing.map_or(Ok(()), Err)
    }

    /// The first option that a workload is told and the agent does not know.
    pub fn unknown_option(&self, params: &Params) -> Option<NotOffered> {
        let mut words = options::told(params).filter_map(|(option, _)| option.capability);
        let unknown = words.find(|word| !self.options.iter().any(|known| known == word));
        unknown.map(NotOffered::Option)
    }
}

fn each_named(of: &str, names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(|name| format!("{of} {name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_that_an_agent_lacks_is_named() {
        use narrows_model::load::{StreamParams, Timeline};
        use narrows_model::options::{Scene, Value, flows};
        use narrows_model::trial::{EndSpec, NetworkPath, TrialId};
        use narrows_model::{Bytes, Nanos};
        let trial = |kind: &str, sender: Option<&str>| {
            let sender = sender.map(str::to_owned);
            let stream = Some(StreamParams { sender, ..StreamParams::default() });
            let span = Nanos(1);
            Trial {
                id: TrialId(String::new()),
                label: kind.to_owned(),
                kind: kind.into(),
                params: Params { stream, ..Params::of_network(Bytes(64), 1) },
                ends: EndSpec::anywhere(false),
                path: NetworkPath::Peer,
                timeline: Timeline {
                    warmup_ns: span,
                    window_ns: span,
                    cooldown_ns: span,
                    interval_ns: None,
                },
                levels: Vec::new(),
                notes: Vec::new(),
                engine: None,
            }
        };
        let own = Offers::own();
        assert_eq!(own.can(&trial("tcp-stream", Some("sendfile"))), Ok(()));
        assert_eq!(own.can(&trial("udp-rr", None)), Ok(()));
        // A sender of TCP is none of UDP, and memory kernels are not lent.
        assert_eq!(
            own.can(&trial("udp-stream", Some("sendfile"))),
            Err(NotOffered::Way("udp sendfile".into()))
        );
        let lacks = |kind: &str| Err(NotOffered::Workload(kind.into()));
        assert_eq!(own.can(&trial("memory-read", None)), lacks("memory-read"));
        assert_eq!(Offers::default().can(&trial("tcp-rr", None)), lacks("tcp-rr"));
        // An agent of before an option was there knows nothing of it.
        let mut quick = trial("tcp-stream", None);
        let value = Value::Switch(true);
        let scene = Scene { workload: &quick.kind, cache: Bytes(0) };
        flows::QUICKACK.declared.put(&mut quick.params, &value, &scene);
        assert_eq!(own.can(&quick), Ok(()));
        let older = Offers { options: Vec::new(), ..own };
        assert_eq!(older.can(&quick), Err(NotOffered::Option("quickack")));
    }

    #[test]
    fn an_interface_is_lent_by_its_name_with_the_address_that_it_has() {
        use narrows_model::units::BitsPerSecond;
        use narrows_model::{Fact, host::Nic};
        let speed_bps = Fact::known(BitsPerSecond(25e9), "sysfs");
        let nics = vec![Nic { name: "gone0".into(), speed_bps, ..Nic::default() }];
        let host = Host { nics, ..Host::default() };
        let gone = Lent { name: "gone0".into(), mac: None, speed_bps: Some(25_000_000_000) };
        let lent = Lent::of(&["gone0".into(), "lo".into()], &host);
        // The loopback device has no Ethernet.
        assert_eq!(lent, [gone.clone(), Lent { name: "lo".into(), ..Lent::default() }]);
        let offers = Offers { interfaces: lent, ..Offers::default() };
        assert_eq!((offers.interface("gone0"), offers.interface("gone")), (Some(&gone), None));
        let text = serde_json::to_string(&offers).expect("text");
        assert_eq!(serde_json::from_str::<Offers>(&text).expect("offers"), offers);
    }

    #[test]
    fn what_is_lacking_is_told_and_what_is_offered_is_named_by_its_transport() {
        let own = Offers::own();
        for (list, has, lacks) in [
            (&own.senders, "tcp sendfile", "udp sendfile"),
            (&own.receivers, "tcp splice", "udp splice"),
        ] {
            assert!(list.iter().any(|name| name == has), "{has}: {list:?}");
            assert!(!list.iter().any(|name| name == lacks), "{lacks}: {list:?}");
        }
        assert!(own.meets && own.tells && own.tools.is_empty() && own.interfaces.is_empty());
        assert!(own.kinds.iter().all(Workload::is_network) && own.kinds.len() > 5);
        for (what, says) in [
            (NotOffered::Workload("tcp-rr".into()), "tcp-rr"),
            (NotOffered::Way("udp gso".into()), "udp gso"),
            (NotOffered::Option("quickack"), "the option quickack"),
            (NotOffered::Meetings, "ends that meet other agents'"),
        ] {
            assert_eq!(what.to_string(), says);
        }
        // An agent of before a field was there offers nothing of it.
        let older: Offers = serde_json::from_str(r#"{"kinds":["tcp-rr"]}"#).expect("offers");
        assert_eq!(older, Offers { kinds: vec!["tcp-rr".into()], ..Offers::default() });
    }
}
