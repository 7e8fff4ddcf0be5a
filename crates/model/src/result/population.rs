//! What is not known of a population, so that nothing is claimed of it.

use std::fmt;

/// What would have to be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PopulationGap {
    /// The slots themselves, and why they cannot be read.
    Slots(String),
    /// A module in any slot.
    Modules,
    /// Slots of every processor.
    SlotsOfProcessors {
        /// Processors of which firmware lists slots.
        told: usize,
        /// Processors that are fitted.
        fitted: usize,
    },
    /// The channel of this slot.
    ChannelOf(String),
    /// The size of the module in this slot: firmware says "unknown".
    SizeOf(String),
    /// The processors' family.
    Family(FamilyFor),
    /// Why firmware names more channels than the family has.
    MoreChannels {
        /// Socket, from 0.
        socket: u32,
        /// Channels that firmware names.
        named: u32,
        /// Name of the family.
        family: String,
        /// Channels of the family.
        has: u32,
    },
    /// Over how many channels the family of this name interleaves.
    WaysOf(String),
    /// Which controller has which channel, for firmware does not name all.
    Controllers {
        /// Socket, from 0.
        socket: u32,
        /// Channels that firmware names.
        named: usize,
        /// Channels of the family.
        all: u32,
    },
}

/// What the family is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyFor {
    /// Channels that the controllers' driver does not list.
    EmptyChannels,
    /// Channels of slots that firmware does not name.
    NamelessSlots,
    /// Which modules are interleaved together.
    Sets,
}

impl fmt::Display for PopulationGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slots(gap) => write!(f, "memory slots: {gap}"),
            Self::Modules => f.write_str("a memory module in any slot"),
            Self::SlotsOfProcessors { told, fitted } => write!(
                f,
                "the slots of every processor: firmware lists those of {told} of {fitted}"
            ),
            Self::ChannelOf(locator) => {
                write!(f, "the channel of slot '{locator}', which its name does not tell")
            }
            Self::SizeOf(locator) => {
                write!(f, "the size of the module in {locator}: firmware does not know it")
            }
            Self::Family(wanted) => write!(f, "the processor's family{wanted}"),
            Self::MoreChannels { socket, named, family, has } => {
                write!(f, "why socket {socket} has {named} channels where {family} has {has}")
            }
            Self::WaysOf(family) => write!(f, "how {family} interleaves"),
            Self::Controllers { socket, named, all } => write!(
                f,
                "which memory controller of socket {socket} has which channel: firmware names \
                 {named} of {all}"
            ),
        }
    }
}

impl fmt::Display for FamilyFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EmptyChannels => ", to know which channels are empty",
            Self::NamelessSlots => {
                ", to know how many channels the empty slots that firmware does not name are on"
            }
            Self::Sets => "",
        })
    }
}
