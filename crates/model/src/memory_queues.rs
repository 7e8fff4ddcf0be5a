//! Lines that wait in a host, as counters of the memory controllers, of the cache slices and of
//! the root complexes told while a window was open: how many, how often, and in how many cycles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One event on one processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueCount {
    pub of: QueueEvent,
    /// Physical package; `None` where the kernel does not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<u32>,
    /// Counts over the span, of all channels, slices or root complexes of the package together.
    /// Where a channel has several queues, cycles in which one is full are means over them.
    pub count: u64,
    /// Of these, what the counter counted that counted most.
    pub busiest: u64,
    /// Counters that were added up; of cycles those whose clock ran.
    pub counters: u32,
    /// Share of the time, in thousandths, that the counter ran that ran least; `None` where all ran
    /// throughout. Otherwise the counts were scaled up by it (multiplexing).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran_thousandths: Option<u32>,
}

/// What is counted. An occupancy is the number of lines in a queue, added up over its cycles.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum QueueEvent {
    /// Cycles of the memory controllers' clock, by which their queues are counted.
    MemoryCycles,
    /// Cycles in which a channel's write queue had no room.
    WriteFull,
    /// Lines in the write queues.
    WriteOccupancy,
    /// Lines that entered them.
    WriteInserts,
    /// Lines asked for in the read queues.
    ReadOccupancy,
    /// Lines that were asked for there.
    ReadInserts,
    /// Rows of memory that were opened (activates).
    RowsOpened,
    /// Cycles of the cache slices' clock.
    CacheCycles,
    /// Lines that devices write, from the mesh's request to its end.
    DeviceWriteOccupancy,
    /// Lines that devices read.
    DeviceReadOccupancy,
    /// Lines that devices asked for.
    DeviceReadInserts,
    /// Cycles of the root complexes' clock.
    RootCycles,
    /// Lines of devices in the root complexes, those that they read and those that they write.
    RootOccupancy,
    /// Lines that root complexes took to write.
    RootWrites,
    /// Lines that root complexes asked for.
    RootReads,
}

impl QueueEvent {
    /// Whether it counts a clock and nothing that happens.
    pub fn is_clock(self) -> bool {
        matches!(self, Self::MemoryCycles | Self::CacheCycles | Self::RootCycles)
    }

    /// As reports name it.
    pub fn says(self) -> &'static str {
        match self {
            Self::MemoryCycles => "cycles of the memory controllers",
            Self::WriteFull => "cycles with a full write queue",
            Self::WriteOccupancy => "lines in the write queues",
            Self::WriteInserts => "lines put into the write queues",
            Self::ReadOccupancy => "lines in the read queues",
            Self::ReadInserts => "lines put into the read queues",
            Self::RowsOpened => "rows opened",
            Self::CacheCycles => "cycles of the cache slices",
            Self::DeviceWriteOccupancy => "device writes in flight",
            Self::DeviceReadOccupancy => "device reads in flight",
            Self::DeviceReadInserts => "lines that devices read",
            Self::RootCycles => "cycles of the root complexes",
            Self::RootOccupancy => "lines in the root complexes",
            Self::RootWrites => "lines that root complexes write",
            Self::RootReads => "lines that root complexes read",
        }
    }
}

impl fmt::Display for QueueEvent {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.says())
    }
}
