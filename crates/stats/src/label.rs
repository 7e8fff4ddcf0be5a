//! What a figure must not be taken for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a figure must not be taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Label {
    /// Over the loopback device: not a network result.
    Loopback,
    /// Between two namespaces of one host: the stack, without a NIC or a wire.
    NoNic,
    /// Programs or the kernel did what NICs do: not a figure of RDMA hardware.
    Software,
    /// Both ends shared a CPU.
    SameCpu,
    /// The receiver let the kernel drop what arrived.
    Truncated,
    /// The receiver moved what arrived away unseen.
    Spliced,
    /// Many datagrams came in one packet.
    Joined,
    /// Most sends that were to be made without a copy were copied.
    ZeroCopyCopied,
    /// The sender could not keep the rate that was asked for.
    BehindSchedule,
    /// The sender made up in its window for a delay before it: more was sent than asked for.
    AheadOfSchedule,
    /// The rate that was asked for was not reached, and no full thread of the sender is the reason.
    HeldBack,
    /// The memory kernel's working set may fit in the caches.
    CacheResident,
    /// The sender's busiest thread had no more CPU to give.
    #[serde(rename = "source-bound")]
    SenderBound,
    /// The receiver's busiest thread had no more CPU to give.
    #[serde(rename = "sink-bound")]
    ReceiverBound,
    /// Others used the host in at least one run.
    Noisy,
    /// In at least one run the threads of a memory kernel had CPUs for a part of the window alone.
    Starved,
    /// Bytes of at least one run differed from what was sent: it has no value.
    Corrupted,
    /// Runs counted more than their interface or TCP received: they have no value.
    Impossible,
    /// Runs read what had come before their windows: their values are what arrived in them, by
    /// TCP's count or by what waited in the sockets.
    Backlog,
    /// The edges of the windows leave the figure an error worth telling.
    Rough,
    /// Nothing was counted in the windows, though the ends ran.
    Nothing,
    /// The same in one direction of two.
    NothingOneWay,
    /// A background load did not last over the windows of at least one run.
    BackgroundEnded,
    /// Another tool measured it, and its output was imported.
    Imported,
    /// Another tool made the load and counted it.
    OtherTool,
    /// Another tool sent, and narrows counted what came.
    ToolSent,
    /// A generator says that it sent more than left its interface, or less than came.
    ToolMiscounts,
    /// Runs whose window held too little for a figure.
    ShortWindow,
    /// Too few runs for a 95 % interval: the range is that of the values.
    FewRuns,
}

impl Label {
    /// Whether the runs were made and what they say is bad: the exit code tells.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Corrupted | Self::Nothing | Self::NothingOneWay | Self::ToolMiscounts)
    }

    /// The label as reports print it.
    pub fn says(self) -> &'static str {
        match self {
            Self::Loopback => "loopback: not a network result",
            Self::NoNic => "one host, no NIC: not a network result",
            Self::Software => "in software: no NIC does the work of RDMA",
            Self::SameCpu => "both ends on one CPU",
            Self::Truncated => "dropped uncopied (MSG_TRUNC): no application receives like this",
            Self::Spliced => "moved to /dev/null unseen (splice): no application has the bytes",
            Self::Joined => "several datagrams a packet: no wire carried so many packets",
            Self::ZeroCopyCopied => "zero-copy was requested, but the kernel copied",
            Self::BehindSchedule => "generator-bound: the sender fell behind the rate asked for",
            Self::AheadOfSchedule => "the sender exceeded the rate asked for by more than 2 %",
            Self::HeldBack => {
                "below the rate asked for: the sender's thread was not full; its queue, the path, \
                 the receiver or other processes held it"
            }
            Self::CacheResident => "cache-resident: not memory",
            Self::SenderBound => "sender-bound: its thread filled a CPU",
            Self::ReceiverBound => "receiver-bound: its thread filled a CPU",
            Self::Noisy => "noisy: other processes used the CPUs",
            Self::Starved => {
                "starved: its threads had no CPU at times, so that memory seems slower"
            }
            Self::Corrupted => "data was corrupted in transit",
            Self::Impossible => {
                "impossible: more was counted than came in the window (a backlog from before it)"
            }
            Self::Backlog => {
                "a backlog from before the window was read in it: values are what arrived in it"
            }
            Self::Rough => "rough: the counters and the edges of the window leave an error",
            Self::Nothing => "nothing arrived in the windows",
            Self::NothingOneWay => "nothing arrived in one of the two directions",
            Self::BackgroundEnded => "the background load did not last over the run",
            Self::Imported => "imported: not measured by narrows",
            Self::OtherTool => "as another tool reports its load",
            Self::ToolSent => "sent by another tool, counted by narrows where it came",
            Self::ToolMiscounts => {
                "the tool's count is not to be believed: it says that it sent more than left its \
                 interface, or less than came; the figure is what narrows counted"
            }
            Self::ShortWindow => {
                "windows too short for a figure (a median takes 20 round trips): give them more seconds"
            }
            Self::FewRuns => "too few runs for an interval (95 % takes 6): range of the values",
        }
    }
}
