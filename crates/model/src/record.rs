//! A record: one run of one trial, as it was measured. Never edited afterwards.

use crate::Nanos;
use crate::load::{EndReport, Role};
pub use crate::lost::{Lost, LostBy, Stage};
pub use crate::need::Need;
use crate::reading::Readings;
use crate::trial::TrialId;
use crate::units::Unit;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;

/// One run of one trial.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "Stored")]
pub struct Record {
    /// Trial that the run is of.
    pub trial: TrialId,
    /// Which repeat of it, from 0.
    pub repeat: u32,
    /// Block of the plan it belonged to, from 0.
    pub block: u32,
    pub outcome: Outcome,
    /// What the ends reported, in order of the trial's ends of each role.
    pub reports: Vec<Reported>,
    /// The state of the host around the run.
    pub around: Stamp,
    /// The study's session it belongs to.
    pub session: u32,
    /// What an outside tool reported, in place of ends of ours.
    pub external: Option<External>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reported {
    pub role: Role,
    pub report: Box<EndReport>,
    /// When its window was, where it ran among many on several hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
}

/// When the window of an end on another host was, by the controller's clock, counted from the word
/// to go. Clocks of hosts are not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// It was open then, at the latest: the window's length before the end said that it is over.
    pub open_by_ns: Nanos,
    /// It was not over before then: the window's length after the end of the warm-up, had the end
    /// heard the word to go as it was said.
    pub close_from_ns: Nanos,
}

impl Reported {
    /// The reports of a run of at most one end of each role.
    pub fn list(
        receiver: Option<Box<EndReport>>,
        sender: Option<Box<EndReport>>,
        background: Option<Box<EndReport>>,
    ) -> Vec<Self> {
        let of = |role| move |report| Self { role, report, span: None };
        let receiver = receiver.map(of(Role::Receiver));
        let sender = sender.map(of(Role::Sender));
        let background = background.map(of(Role::Background));
        receiver.into_iter().chain(sender).chain(background).collect()
    }
}

impl Record {
    /// Reports of all ends of a role.
    pub fn of(&self, role: Role) -> impl Iterator<Item = &EndReport> + Clone {
        self.reports.iter().filter(move |one| one.role == role).map(|one| &*one.report)
    }

    /// The same, to be changed: a record that was measured is not.
    pub fn of_mut(&mut self, role: Role) -> impl Iterator<Item = &mut EndReport> {
        self.reports.iter_mut().filter(move |one| one.role == role).map(|one| &mut *one.report)
    }

    /// What the end that receives reported; the first where there are several.
    pub fn receiver(&self) -> Option<&EndReport> {
        self.of(Role::Receiver).next()
    }

    /// What the end that sends reported; the first where there are several.
    pub fn sender(&self) -> Option<&EndReport> {
        self.of(Role::Sender).next()
    }

    /// What the background load reported.
    pub fn background(&self) -> Option<&EndReport> {
        self.of(Role::Background).next()
    }

    /// Reports of the ends that are measured, receivers before senders.
    pub fn measured(&self) -> impl Iterator<Item = &EndReport> {
        self.of(Role::Receiver).chain(self.of(Role::Sender))
    }
}

/// A record as files have it: the first end of each role by itself, as narrows 0.1 wrote them, then
/// all others.
#[derive(Deserialize)]
struct Stored {
    trial: TrialId,
    repeat: u32,
    block: u32,
    outcome: Outcome,
    sink: Option<Box<EndReport>>,
    source: Option<Box<EndReport>>,
    #[serde(default)]
    beside: Option<Box<EndReport>>,
    #[serde(default)]
    more: Vec<Reported>,
    around: Stamp,
    #[serde(default)]
    session: u32,
    #[serde(default)]
    external: Option<External>,
}

impl From<Stored> for Record {
    fn from(stored: Stored) -> Self {
        let Stored { trial, repeat, block, outcome, around, session, external, .. } = stored;
        let mut reports = Reported::list(stored.sink, stored.source, stored.beside);
        reports.extend(stored.more);
        reports.iter_mut().for_each(|one| one.report.trim());
        Self { trial, repeat, block, outcome, reports, around, session, external }
    }
}

/// The same of a record that stays where it is.
#[derive(Serialize)]
struct Storing<'a> {
    trial: &'a TrialId,
    repeat: u32,
    block: u32,
    outcome: &'a Outcome,
    sink: Option<&'a EndReport>,
    source: Option<&'a EndReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    beside: Option<&'a EndReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    more: Vec<&'a Reported>,
    around: &'a Stamp,
    #[serde(skip_serializing_if = "is_zero")]
    session: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    external: &'a Option<External>,
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut seen = BTreeSet::new();
        // Once one has more to say than older versions could, the order of all is kept.
        let is_plain = self.reports.iter().all(|one| one.span.is_none());
        let (firsts, more): (Vec<_>, Vec<_>) =
            self.reports.iter().partition(|one| is_plain && seen.insert(one.role));
        let of = |role| firsts.iter().find(|one| one.role == role).map(|one| &*one.report);
        Storing {
            trial: &self.trial,
            repeat: self.repeat,
            block: self.block,
            outcome: &self.outcome,
            sink: of(Role::Receiver),
            source: of(Role::Sender),
            beside: of(Role::Background),
            more,
            around: &self.around,
            session: self.session,
            external: &self.external,
        }
        .serialize(to)
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What an outside tool reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct External {
    /// Name of the tool, such as `iperf3`.
    pub tool: String,
    /// Its version, where it tells.
    pub version: Option<String>,
    /// The command line that was run; `None` for an imported file.
    pub command: Option<String>,
    /// The file that was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its figures; the first is the one that counts.
    pub figures: Vec<Figure>,
    /// Its output, as far as it is kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// How long its client ran; `None` for an imported file and studies of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientTime>,
    /// Of a generator of packets, what it says of them and what those who saw them count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<Box<ToolPackets>>,
}

/// When an outside tool's client ran, by the monotonic clock of the host that it ran on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientTime {
    /// When it was started.
    pub began_ns: Nanos,
    /// When it had ended.
    pub ended_ns: Nanos,
}

/// Packets of an outside generator over its whole run, by everybody who counts them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolPackets {
    /// Interface that they leave by.
    pub from: String,
    /// Interface that they come to.
    pub to: String,
    /// Packets that the tool says it has sent; `None` where it says nothing.
    pub told: Option<u64>,
    /// Packets that left by the one interface, by its counter, others' too.
    pub out: u64,
    /// Packets that it dropped, by its counter.
    pub out_dropped: u64,
    /// The tool's packets that came to the other interface, counted by narrows one by one.
    pub came: u64,
    /// Packets that came there, by its counter, others' too.
    pub into: u64,
}

impl ToolPackets {
    /// Whether the tool's count cannot be: it says that it sent more than left its interface, or
    /// less than came.
    pub fn is_miscounted(&self) -> bool {
        self.told.is_some_and(|told| told > self.out || told < self.came)
    }
}

/// One figure of an outside tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is, by the tool: `received`, `sent`, `latency average`, `copy`.
    pub name: String,
    /// The value, in its unit.
    pub value: f64,
    /// Unit that the value is in.
    pub unit: Unit,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// It ran to its end.
    Done,
    Failed {
        at: Stage,
        /// What went wrong, with the path, peer or field.
        why: String,
        /// What kind of fault it was.
        #[serde(default, skip_serializing_if = "Fault::is_of_machine")]
        fault: Fault,
    },
    /// It was not made, or broken off through no fault of its trial: nothing was measured. The
    /// run is made again when what it needs is there, and counts as no failure.
    Skipped { missing: Vec<Need> },
}

impl Outcome {
    /// The word for it in files and reports.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed { .. } => "failed",
            Self::Skipped { .. } => "skipped",
        }
    }

    /// Why nothing was measured; `None` of a run that is done.
    pub fn why(&self) -> Option<String> {
        match self {
            Self::Done => None,
            Self::Failed { why, .. } => Some(why.clone()),
            Self::Skipped { missing } => {
                Some(missing.iter().map(Need::to_string).collect::<Vec<_>>().join("; "))
            }
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why() {
            Some(why) => write!(f, "{}: {why}", self.word()),
            None => f.write_str(self.word()),
        }
    }
}

/// What kind of fault ended a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// One of the hosts did not do what was ordered, or an older narrows does not tell.
    #[default]
    Machine,
    /// The two ends did not find each other, or lost each other.
    Apart,
    /// The kernel killed an end for want of memory.
    OutOfMemory,
    /// An end's process ended before its run did.
    Died,
    /// An end did not answer in time.
    Silent,
    /// The owner of an agent does not lend it for this.
    Beyond,
    /// The kernel of an end let no packet out: its packet filter has a rule against it.
    Filtered,
    /// An end has as many files open as it may have: each flow is one.
    OutOfFiles,
    /// The host that connects has no port left for another connection to the same address.
    OutOfPorts,
    /// An application came to another result than its study asks for.
    Wrong,
    /// Other programs had the CPUs of an application.
    Starved,
}

impl From<&LostBy> for Fault {
    fn from(lost: &LostBy) -> Self {
        match lost {
            LostBy::OutOfMemory { .. } => Self::OutOfMemory,
            LostBy::Killed { .. } | LostBy::Exited { .. } => Self::Died,
            LostBy::Silent { .. } => Self::Silent,
            LostBy::Failed { .. } => Self::Machine,
        }
    }
}

impl Fault {
    /// What keeps runs from coming to be, and what to do about it; `None` where the fault's own
    /// words alone say so.
    pub const fn in_short(self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Self::OutOfFiles => (
                "the limit of open files of an end, which has one for each flow",
                "raise the limit of open files where that end was started (ulimit -n, LimitNOFILE= \
                 of its unit), or use fewer flows (-P)",
            ),
            Self::OutOfPorts => (
                "the ports of the host that connects, of which none is left for another connection",
                "widen the range there (sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"), \
                 let connections in TIME-WAIT give up theirs (net.ipv4.tcp_tw_reuse=1), or use \
                 fewer connections",
            ),
            Self::OutOfMemory => (
                "the memory of an end, which the kernel killed for want of it",
                "give its control group more memory, or the runs less memory: smaller buffers, \
                 fewer flows",
            ),
            Self::Filtered => (
                "a packet filter of the host that sends, which lets nothing out",
                "a packet filter refuses what is sent: see `nft list ruleset` on the host that \
                 sends",
            ),
            _ => return None,
        })
    }

    /// What to do about it, or what is said where its own words alone tell.
    pub const fn remedy(self, otherwise: &'static str) -> &'static str {
        match self.in_short() {
            Some((_, remedy)) => remedy,
            None => otherwise,
        }
    }

    /// True for what is not written down.
    pub fn is_of_machine(&self) -> bool {
        *self == Self::Machine
    }
}

/// The state of the host around one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stamp {
    /// When the run began, Unix time.
    pub began_unix_ns: Nanos,
    /// Wall time from the start of the workers to the last report.
    pub took_ns: Nanos,
    /// One-minute load average in hundredths, before the run.
    pub load_hundredths: Option<u64>,
    /// CPU time of the whole host, own workers included, over the run; by source `cpu` and
    /// `pressure`.
    pub host: Readings,
    /// CPU time of the own workers over the run (user and system, all threads).
    pub own_cpu_ns: Nanos,
    /// Of it, CPU time of the controller itself.
    #[serde(default)]
    pub controller_ns: Option<Nanos>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_a_run_is_kept_in_words_that_older_files_have() {
        let at = Stage::Run;
        let failed = |fault| Outcome::Failed { at, why: "it broke".to_owned(), fault };
        for (outcome, text) in [
            (failed(Fault::Machine), r#"{"outcome":"failed","at":"run","why":"it broke"}"#),
            (
                failed(Fault::Apart),
                r#"{"outcome":"failed","at":"run","why":"it broke","fault":"apart"}"#,
            ),
            (
                failed(Fault::OutOfMemory),
                r#"{"outcome":"failed","at":"run","why":"it broke","fault":"out-of-memory"}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&outcome).expect("JSON"), text);
            assert_eq!(serde_json::from_str::<Outcome>(text).expect("an outcome"), outcome);
        }
        let why = String::from("the connection is over");
        let skipped = Outcome::Skipped { missing: vec![Need::Host { name: "b7".to_owned(), why }] };
        let text = serde_json::to_string(&skipped).expect("JSON");
        assert_eq!(serde_json::from_str::<Outcome>(&text).expect("an outcome"), skipped);
        assert_eq!(skipped.to_string(), "skipped: host b7 is gone: the connection is over");
        assert_eq!(failed(Fault::Died).to_string(), "failed: it broke");
        assert_eq!(Outcome::Done.to_string(), "done");
        let group = String::from("/g");
        for (lost, fault) in [
            (LostBy::OutOfMemory { group, limit_bytes: None }, Fault::OutOfMemory),
            (LostBy::Killed { signal: 9 }, Fault::Died),
            (LostBy::Exited { code: 1 }, Fault::Died),
            (LostBy::Silent { waited_ns: Nanos(1) }, Fault::Silent),
            (LostBy::Failed { why: String::new() }, Fault::Machine),
        ] {
            assert_eq!(Fault::from(&lost), fault);
        }
    }
}
