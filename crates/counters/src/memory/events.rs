//! Event files: which counters of a processor family count what, a family a file in `events/`.

use narrows_model::host::CpuId;
use narrows_model::memory_queues::QueueEvent;
use narrows_model::memory_traffic::Quantity;
use serde::Deserialize;
use std::ops::RangeInclusive;
use thiserror::Error;

/// The files. Those that name processors come before those that go by the PMUs that are there, and
/// those of single models before those of whole makers.
const FILES: [(&str, &str); 16] = [
    ("amd-zen1-to-zen3.toml", include_str!("../../events/amd-zen1-to-zen3.toml")),
    ("amd-zen4.toml", include_str!("../../events/amd-zen4.toml")),
    ("amd-zen5.toml", include_str!("../../events/amd-zen5.toml")),
    ("intel-broadwell-de.toml", include_str!("../../events/intel-broadwell-de.toml")),
    ("intel-broadwell-ep.toml", include_str!("../../events/intel-broadwell-ep.toml")),
    ("intel-granite-rapids.toml", include_str!("../../events/intel-granite-rapids.toml")),
    ("intel-haswell-ep.toml", include_str!("../../events/intel-haswell-ep.toml")),
    ("intel-icelake-sp.toml", include_str!("../../events/intel-icelake-sp.toml")),
    ("intel-sapphire-rapids.toml", include_str!("../../events/intel-sapphire-rapids.toml")),
    ("intel-sierra-forest.toml", include_str!("../../events/intel-sierra-forest.toml")),
    ("intel-skylake-sp.toml", include_str!("../../events/intel-skylake-sp.toml")),
    ("intel-snow-ridge.toml", include_str!("../../events/intel-snow-ridge.toml")),
    ("intel-client.toml", include_str!("../../events/intel-client.toml")),
    ("hisilicon-hip08.toml", include_str!("../../events/hisilicon-hip08.toml")),
    ("nvidia-grace.toml", include_str!("../../events/nvidia-grace.toml")),
    ("arm-cmn.toml", include_str!("../../events/arm-cmn.toml")),
];

/// Why an event file is refused.
#[derive(Debug, Error)]
pub enum BadEvents {
    /// It is no TOML of this shape; the message has line, column and field.
    #[error("{0}")]
    Text(#[from] toml::de::Error),
    /// An event says neither or both of `event` and `alias`, or an empty list.
    #[error("{event}: one of `event` and `alias` is needed, with at least one entry")]
    Source {
        /// Its name in the file.
        event: String,
    },
    /// An event is of no quantity and no queue, or of both.
    #[error("{event}: one of `quantity` and `queue` is needed")]
    Kind {
        /// Its name in the file.
        event: String,
    },
    /// A count is worth nothing that can be told.
    #[error(
        "{event}: `bytes` and `per` must be above 0, a coded event of a quantity needs `bytes`, \
         and one of a queue has none"
    )]
    Scale {
        /// Its name in the file.
        event: String,
    },
    /// A code is not `field=number,...`.
    #[error("{event}: `{code}` is not `field=number,...`")]
    Code {
        /// Its name in the file.
        event: String,
        /// As it is written.
        code: String,
    },
    /// A group is of other quantities than it says.
    #[error("{event}: {counted:?} is not counted by a group of {counts:?}")]
    Misplaced {
        /// Its name in the file.
        event: String,
        counted: Counted,
        counts: Counts,
    },
    /// A range of models whose end is before its beginning.
    #[error("models from {from:#x} to {to:#x}")]
    Models {
        /// The first model.
        from: u32,
        /// The last model, this one included.
        to: u32,
    },
}

/// What a group of events is for. The first group of a purpose whose PMU is there counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counts {
    /// What memory controllers read and wrote.
    Memory,
    /// What left over the links to other sockets.
    SocketLinks,
    Devices,
    /// What the cores did not find in the last-level cache.
    CacheMisses,
    /// What waits in the memory controllers.
    MemoryQueues,
    /// What of devices the cache slices have under way.
    DeviceQueues,
    /// What of devices the root complexes have under way.
    RootQueues,
}

impl Counts {
    /// Whether it is of what waits, and not of what moved.
    pub fn is_of_queues(self) -> bool {
        matches!(self, Self::MemoryQueues | Self::DeviceQueues | Self::RootQueues)
    }
}

/// What an event counts: bytes of a quantity, or what is in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counted {
    Bytes(Quantity),
    Queue(QueueEvent),
}

/// One processor family.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Name of the family, as reports print it.
    pub family: String,
    /// Where the events are from. It is read by people; here it must be there.
    #[serde(rename = "source")]
    _source: String,
    /// What no public source tells of it.
    pub unsourced: Vec<String>,
    /// What none tells of its queues.
    #[serde(default)]
    pub unsourced_queues: Vec<String>,
    /// Its processors; empty: whichever has the PMUs.
    #[serde(default)]
    pub processor: Vec<Models>,
    /// Whether its processors are all that no other file names, known or not: it is theirs only
    /// where the PMUs are here too.
    #[serde(default)]
    pub only_with_pmus: bool,
    pub group: Vec<Group>,
}

/// Processors by CPUID's numbers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Models {
    vendor: String,
    family: u32,
    models: Vec<(u32, u32)>,
}

/// Events that are counted together.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// What the events count together.
    pub counts: Counts,
    /// Names of PMUs; a star stands for a number.
    pub pmus: Vec<String>,
    /// The events, opened on every PMU of the group.
    pub event: Vec<EventRow>,
}

/// One event, or several that are added up.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventRow {
    /// What it counts in bytes; a row has this or `queue`.
    quantity: Option<Quantity>,
    /// What it counts of a queue.
    queue: Option<QueueEvent>,
    pub name: String,
    /// Codes as the kernel takes them: `event=0x04,umask=0x0f`.
    #[serde(default)]
    event: Vec<String>,
    /// Names that the PMU's driver gives in sysfs.
    #[serde(default)]
    alias: Vec<String>,
    /// Bytes of `per` counts; left out where the driver tells scale and unit.
    bytes: Option<u32>,
    #[serde(default = "one")]
    per: u32,
    /// Whether one PMU of the group is enough: all have the same clock.
    #[serde(default)]
    pub once: bool,
}

fn one() -> u32 {
    1
}

/// How a PMU is told what to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Fields of its format with their values.
    Fields(Vec<(String, u64)>),
    /// A name that the driver knows.
    Alias(String),
}

/// Bytes of so many counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// As the file says: bytes of so many counts.
    File(u32, u32),
    /// As the driver says.
    Driver,
}

impl Models {
    fn has(&self, processor: &CpuId) -> bool {
        let ranges = self.models.iter().map(|(from, to)| RangeInclusive::new(*from, *to));
        (&self.vendor, self.family) == (&processor.vendor, processor.family)
            && ranges.into_iter().any(|range| range.contains(&processor.model))
    }
}

impl EventRow {
    /// Each event of the row.
    pub fn asked(&self) -> Result<Vec<Asked>, BadEvents> {
        let name = || self.name.clone();
        match (self.event.is_empty(), self.alias.is_empty()) {
            (false, true) => self.event.iter().map(|code| self.fields(code)).collect(),
            (true, false) => Ok(self.alias.iter().cloned().map(Asked::Alias).collect()),
            (true, true) | (false, false) => Err(BadEvents::Source { event: name() }),
        }
    }

    fn fields(&self, code: &str) -> Result<Asked, BadEvents> {
        let fields = fields(code);
        fields
            .map(Asked::Fields)
            .ok_or_else(|| BadEvents::Code { event: self.name.clone(), code: code.to_owned() })
    }

    /// What it counts; an error where the row says neither or both.
    pub fn counted(&self) -> Result<Counted, BadEvents> {
        match (self.quantity, self.queue) {
            (Some(quantity), None) => Ok(Counted::Bytes(quantity)),
            (None, Some(queue)) => Ok(Counted::Queue(queue)),
            (Some(_), Some(_)) | (None, None) => Err(BadEvents::Kind { event: self.name.clone() }),
        }
    }

    /// What a count is worth: bytes, or of a queue a share of one count.
    pub fn scale(&self) -> Scale {
        let of_queue = self.queue.map(|_| 1);
        self.bytes.or(of_queue).map_or(Scale::Driver, |bytes| Scale::File(bytes, self.per))
    }

    fn check(&self, counts: Counts) -> Result<(), BadEvents> {
        self.asked()?;
        let counted = self.counted()?;
        let event = self.name.clone();
        let is_bare = self.bytes.is_none();
        let is_scaled = match counted {
            Counted::Bytes(_) => !is_bare || !self.alias.is_empty(),
            Counted::Queue(_) => is_bare,
        };
        if self.bytes == Some(0) || self.per == 0 || !is_scaled {
            return Err(BadEvents::Scale { event });
        }
        if counted.group() == Some(counts) {
            Ok(())
        } else {
            Err(BadEvents::Misplaced { event, counted, counts })
        }
    }
}

impl Counted {
    /// The purpose of the groups that count it; `None` where no PMU does.
    fn group(self) -> Option<Counts> {
        match self {
            Self::Bytes(quantity) => of_bytes(quantity),
            Self::Queue(queue) => Some(of_queue(queue)),
        }
    }
}

fn of_bytes(quantity: Quantity) -> Option<Counts> {
    match quantity {
        Quantity::Read | Quantity::Written | Quantity::ReadAndWritten => Some(Counts::Memory),
        Quantity::SocketLinkSent => Some(Counts::SocketLinks),
        Quantity::DeviceWritten | Quantity::DeviceWrittenMissed => Some(Counts::Devices),
        Quantity::CacheMissed => Some(Counts::CacheMisses),
        Quantity::OwnThreads | Quantity::OwnThreadsLocal => None,
    }
}

fn of_queue(queue: QueueEvent) -> Counts {
    match queue {
        QueueEvent::MemoryCycles
        | QueueEvent::WriteFull
        | QueueEvent::WriteOccupancy
        | QueueEvent::WriteInserts
        | QueueEvent::ReadOccupancy
        | QueueEvent::ReadInserts
        | QueueEvent::RowsOpened => Counts::MemoryQueues,
        QueueEvent::CacheCycles
        | QueueEvent::DeviceWriteOccupancy
        | QueueEvent::DeviceReadOccupancy
        | QueueEvent::DeviceReadInserts => Counts::DeviceQueues,
        QueueEvent::RootCycles
        | QueueEvent::RootOccupancy
        | QueueEvent::RootWrites
        | QueueEvent::RootReads => Counts::RootQueues,
    }
}

/// `event=0x04,umask=0x0f,inv` as fields with values; a field without one is 1.
pub fn fields(code: &str) -> Option<Vec<(String, u64)>> {
    let terms = code.trim().split(',').map(|term| {
        let (field, value) = term.trim().split_once('=').unwrap_or((term.trim(), "1"));
        let value = match value.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok()?,
            None => value.parse().ok()?,
        };
        (!field.is_empty()).then(|| (field.to_owned(), value))
    });
    terms.collect()
}

impl Family {
    /// Reads a file.
    pub fn read(text: &str) -> Result<Self, BadEvents> {
        let family: Self = toml::from_str(text)?;
        for group in &family.group {
            group.event.iter().try_for_each(|event| event.check(group.counts))?;
        }
        let ranges = family.processor.iter().flat_map(|models| &models.models);
        match ranges.into_iter().find(|(from, to)| from > to) {
            Some((from, to)) => Err(BadEvents::Models { from: *from, to: *to }),
            None => Ok(family),
        }
    }

    /// Whether it is of a processor; `None` where its PMUs decide.
    pub fn is_of(&self, processor: Option<&CpuId>) -> Option<bool> {
        if self.processor.is_empty() {
            return None;
        }
        Some(
            processor
                .is_some_and(|processor| self.processor.iter().any(|models| models.has(processor))),
        )
    }
}

/// Every family that has a file, with the file's name.
pub fn families() -> impl Iterator<Item = (&'static str, Result<Family, BadEvents>)> {
    FILES.iter().map(|(name, text)| (*name, Family::read(text)))
}
