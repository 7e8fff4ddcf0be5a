//! What crossed a host's memory bus and the links between its sockets while a window was open, as
//! counters outside the cores saw it; and what could not be counted, with the reason.

use crate::Nanos;
use crate::memory_queues::{QueueCount, QueueEvent};
use crate::profile::AdminOnly;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Memory traffic of one end's host over its window: all of the host's, other processes' included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryTraffic {
    /// The processor family by whose events it was counted; `None` where nothing counted by a PMU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Time that the counts are of, and not the window: by the counters' own clock, or of the looks
    /// at what has none.
    pub span_ns: Nanos,
    /// Time between the looks at what the caches counted of the end's own threads, by this host's
    /// clock; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_threads_ns: Option<Nanos>,
    /// One of each quantity, meter and processor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<Count>,
    /// Lines that waited on the way, one of each event and processor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<QueueCount>,
    /// What is missing, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Uncounted>,
    /// What of the queues is missing, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue_gaps: Vec<Uncounted>,
}

/// Bytes of one quantity on one processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    pub of: Quantity,
    /// Which hardware counted the bytes.
    pub by: CountedBy,
    /// Physical package; `None` where the meter does not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<u32>,
    /// Bytes over the span, of all channels, links or slices of the package together.
    pub bytes: u64,
    /// Counters that were added up.
    pub counters: u32,
    /// Share of the time, in thousandths, that the counter ran that ran least; `None` where all ran
    /// throughout. Then the bytes are what it counted, scaled up by its time (multiplexing).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran_thousandths: Option<u32>,
}

/// Which hardware counted the bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CountedBy {
    /// Counters of the memory controllers, links or cache slices (perf_event_open(2)).
    Uncore,
    /// Memory bandwidth monitoring of the caches (`/sys/fs/resctrl`): what left the last-level
    /// cache for memory.
    Resctrl,
}

/// What is counted, in bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Read from memory.
    Read,
    /// Written to memory.
    Written,
    /// Read and written together, where a counter does not tell them apart.
    ReadAndWritten,
    /// Data sent over the links to other sockets.
    SocketLinkSent,
    /// Written by devices (DMA).
    DeviceWritten,
    /// Of these, those whose line was not in the last-level cache.
    DeviceWrittenMissed,
    /// Lines that the cores asked for and the last-level cache did not hold.
    CacheMissed,
    /// Memory traffic of the end's own threads (resctrl group of their own).
    OwnThreads,
    /// Of it, to and from memory of the same node.
    OwnThreadsLocal,
}

impl Quantity {
    /// As reports name it.
    pub fn says(self) -> &'static str {
        match self {
            Self::Read => "read from memory",
            Self::Written => "written to memory",
            Self::ReadAndWritten => "read from and written to memory",
            Self::SocketLinkSent => "sent over links between sockets",
            Self::DeviceWritten => "written by devices",
            Self::DeviceWrittenMissed => "written by devices past the last-level cache",
            Self::CacheMissed => "brought to the cores past the last-level cache",
            Self::OwnThreads => "memory traffic of the end's threads",
            Self::OwnThreadsLocal => "memory traffic of the end's threads, same node",
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.says())
    }
}

/// What could not be counted, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum Uncounted {
    /// The machine has no PMU of its memory controllers.
    NoPmu {
        /// The hypervisor or container around it, where one shows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inside: Option<String>,
    },
    /// It has PMUs, and no event file is of its processor.
    UnknownFamily {
        /// Vendor, family and model in hexadecimal, as in the files.
        processor: String,
    },
    /// The file of its family names no event with a public source for this.
    NotSourced {
        /// What the file says is missing.
        what: String,
    },
    /// The kernel lets this process count its own threads at most.
    Denied {
        /// `kernel.perf_event_paranoid`, where it could be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        paranoid: Option<i64>,
    },
    /// The owner of the agent does not let it.
    Owner,
    /// No PMU that the event file names for this purpose is here.
    PmuMissing {
        /// As in the file: `uncore_upi_*`.
        pmus: Vec<String>,
    },
    /// The kernel's description of a PMU has not what the event needs, or is not to be understood.
    PmuUnclear {
        /// Its name in `/sys/bus/event_source/devices`.
        pmu: String,
        /// The file, field or alias.
        what: String,
    },
    /// An event could not be opened.
    NotOpened {
        /// The PMU's name.
        pmu: String,
        /// The event, by its maker's name.
        event: String,
        /// As in errno(3).
        errno: i32,
    },
    /// A counter was there as the window opened and gave no count as it closed, ran backwards, or
    /// never ran: its quantity is left out for that processor.
    Vanished {
        /// The PMU's name.
        pmu: String,
        /// The event, by its maker's name.
        event: String,
    },
    /// More was counted than the host's memory can carry: the counts are no traffic.
    Impossible {
        /// Bytes a second, as counted.
        bytes_per_second: u64,
        most: MostCarried,
    },
    /// An event file is not as it should be.
    BadFile {
        /// Which, and at which line and field.
        what: String,
    },
    /// A resctrl group told no count.
    ResctrlUnavailable {
        /// The file and what it held.
        what: String,
    },
}

/// What counts are held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MostCarried {
    /// The peak of the populated channels.
    Channels { bytes_per_second: u64 },
    /// The fastest copy of the study, where the channels are not known.
    Copy { bytes_per_second: u64 },
}

impl fmt::Display for MostCarried {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |bytes: u64| bytes as f64 / 1e9;
        match self {
            Self::Channels { bytes_per_second } => {
                write!(to, "where the populated channels carry {:.1} GB/s", rate(*bytes_per_second))
            }
            Self::Copy { bytes_per_second } => {
                write!(to, "where the fastest copy moved {:.1} GB/s", rate(*bytes_per_second))
            }
        }
    }
}

impl fmt::Display for Uncounted {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPmu { inside: Some(inside) } => {
                write!(to, "no counters of the memory controllers here: {inside}")
            }
            Self::NoPmu { inside: None } => to.write_str(
                "no counters of the memory controllers in /sys/bus/event_source/devices",
            ),
            Self::UnknownFamily { processor } => {
                write!(to, "no event file is of this processor ({processor})")
            }
            Self::NotSourced { what } => write!(to, "no public source says {what}"),
            Self::Denied { paranoid: Some(level @ 3..) } => write!(to, "{}", AdminOnly(*level)),
            Self::Denied { paranoid: Some(level) } => write!(
                to,
                "kernel.perf_event_paranoid is {level}: without CAP_PERFMON whole processors are \
                 counted at 0 or below only"
            ),
            Self::Denied { paranoid: None } => {
                to.write_str("the kernel denies perf_event_open(2) without CAP_PERFMON")
            }
            Self::Owner => {
                to.write_str("the agent's owner does not let it (narrows serve --profile does)")
            }
            Self::PmuMissing { pmus } => write!(to, "no PMU {} here", pmus.join(" or ")),
            Self::PmuUnclear { pmu, what } => write!(to, "{pmu}: {what}"),
            Self::NotOpened { pmu, event, errno } => {
                write!(to, "{pmu}: {event} could not be opened (error {errno})")
            }
            Self::Vanished { pmu, event } => write!(
                to,
                "{pmu}: {event} gave no count at the end: the counter was lost, or never ran"
            ),
            Self::Impossible { bytes_per_second, most } => write!(
                to,
                "the counts are impossible and not used: {:.1} GB/s, {most}",
                *bytes_per_second as f64 / 1e9
            ),
            Self::BadFile { what } => write!(to, "event file: {what}"),
            Self::ResctrlUnavailable { what } => write!(to, "resctrl: {what}"),
        }
    }
}

impl MemoryTraffic {
    /// Bytes of a quantity over all processors; `None` where it was not counted.
    pub fn bytes(&self, of: Quantity) -> Option<u64> {
        let counts = self.counts.iter().filter(|count| count.of == of);
        counts.map(|count| count.bytes).reduce(u64::saturating_add)
    }

    /// Bytes of a quantity at the processor that counted most; `None` where it was not counted.
    pub fn most(&self, of: Quantity) -> Option<u64> {
        self.counts.iter().filter(|count| count.of == of).map(|count| count.bytes).max()
    }

    /// What was counted of a queue on a processor; `None` where it was not.
    pub fn queue(&self, of: QueueEvent, package: Option<u32>) -> Option<&QueueCount> {
        self.queues.iter().find(|one| one.of == of && one.package == package)
    }

    /// Bytes that were read from and written to memory, over all processors.
    pub fn both_ways(&self) -> Option<u64> {
        let read = self.bytes(Quantity::Read).zip(self.bytes(Quantity::Written));
        read.map(|(read, written)| read.saturating_add(written))
            .or_else(|| self.bytes(Quantity::ReadAndWritten))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(of: Quantity, package: u32, bytes: u64) -> Count {
        let by = CountedBy::Uncore;
        Count { of, by, package: Some(package), bytes, counters: 8, ran_thousandths: None }
    }

    #[test]
    fn quantities_add_up_over_processors_and_half_of_the_traffic_is_no_total() {
        let mut traffic = MemoryTraffic {
            counts: vec![
                count(Quantity::Read, 0, 10),
                count(Quantity::Read, 1, 5),
                count(Quantity::Written, 0, 4),
            ],
            ..MemoryTraffic::default()
        };
        assert_eq!((traffic.bytes(Quantity::Read), traffic.both_ways()), (Some(15), Some(19)));
        traffic.counts.pop();
        assert_eq!((traffic.bytes(Quantity::Written), traffic.both_ways()), (None, None));
        traffic.counts = vec![count(Quantity::ReadAndWritten, 0, 9)];
        assert_eq!(traffic.both_ways(), Some(9));
    }

    #[test]
    fn what_is_missing_is_kept_in_words_of_its_own() {
        let gap = Uncounted::Denied { paranoid: Some(2) };
        let text = serde_json::to_string(&gap).expect("JSON");
        assert_eq!(text, r#"{"why":"denied","paranoid":2}"#);
        assert_eq!(serde_json::from_str::<Uncounted>(&text).expect("a gap"), gap);
        assert!(gap.to_string().contains("perf_event_paranoid is 2: without CAP_PERFMON"), "{gap}");
        let by_distribution = Uncounted::Denied { paranoid: Some(3) }.to_string();
        assert!(by_distribution.contains("paranoid is 3: above 2"), "{by_distribution}");
    }
}
