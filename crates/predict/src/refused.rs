//! Why the model cannot be asked about a host.

use crate::bounds::OutOfBounds;
use narrows_model::result::PopulationGap;
use std::fmt;

/// What was said, or read, that cannot be, and what the model needs and does not know.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// Nobody knows a key of this name, only of these.
    Key(String, Vec<&'static str>),
    /// No family in `platforms/` has a processor of this name.
    Processor(String),
    /// What the model needs, and neither the host nor anybody told: all of it at once.
    Missing(Vec<Missing>),
    /// The key takes a number, and not this text.
    NoNumber(String, String),
    /// The key takes no plain number at all.
    NotOneNumber(String),
    /// What was said is outside of what the key can be.
    Bounds(String, OutOfBounds),
    /// What was read on the host is outside of what the key can be.
    Read(String, OutOfBounds),
    /// The key takes one of these words, and not this text.
    NoneOf(String, String, Vec<&'static str>),
    /// The key takes the number of a processor, and not this text.
    NoSocket(String, String),
    /// The key names a processor, and the host has so many, counted from 0.
    BeyondSockets(&'static str, usize, usize),
    /// The first key says something of what the second one says, which was not said.
    Alone(&'static str, &'static str),
    /// As many neighbours as the host has CPUs, or more: of these so many.
    Neighbours(f64, f64),
    /// One port with a slot on every processor, on a host with one processor.
    DirectNeedsTwo,
    /// As many NICs were counted and so many others named.
    NicCount(usize, usize),
    /// The text of the key does not have this form.
    Form(String, String, &'static str),
    /// A part of the text of the key is outside of what it can be.
    Part(String, String, OutOfBounds),
    /// The text of the key has a number of lanes that no link has.
    Lanes(String, String),
    /// Modules were said of processors that interleave in an unknown way.
    Interleaving,
    /// No channel of any processor holds a module, so nothing would run.
    NoModules,
    /// Processors are said without a hole: this one would be next.
    NextSocket(String, usize),
    /// The text of the key does not tell modules of each channel.
    Modules(String, String),
    /// The key tells modules of more channels, or fewer, than the family has.
    Channels(String, String, u32),
}

impl Refused {
    /// The key whose value it refuses; `None` where that is of several keys, or of none.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Key(key, _)
            | Self::NoNumber(key, _)
            | Self::NotOneNumber(key)
            | Self::Bounds(key, _)
            | Self::NoneOf(key, ..)
            | Self::NoSocket(key, _)
            | Self::Form(key, ..)
            | Self::Part(key, ..)
            | Self::Lanes(key, _)
            | Self::NextSocket(key, _)
            | Self::Modules(key, _)
            | Self::Channels(key, ..) => Some(key),
            Self::BeyondSockets(key, ..) | Self::Alone(key, _) => Some(key),
            Self::Processor(_) => Some("cpu"),
            Self::Neighbours(..) => Some("neighbours"),
            Self::DirectNeedsTwo => Some("nic.direct"),
            Self::NicCount(..) => Some("nic.count"),
            Self::Missing(_) | Self::Read(..) | Self::Interleaving | Self::NoModules => None,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key, known) => write!(f, "{key}: it is none of {}", known.join(", ")),
            Self::Processor(name) => write!(
                f,
                "cpu: no family is known of '{name}': a name such as Xeon Gold 6234, EPYC 9654 or \
                 Ampere Altra"
            ),
            Self::Missing(all) => {
                for missing in all {
                    write!(f, "{missing}; ")?;
                }
                write!(f, "give {} with --given", if all.len() == 1 { "it" } else { "them" })
            }
            Self::NoNumber(key, text) => write!(f, "{key}={text} is not a number"),
            Self::NotOneNumber(key) => write!(f, "{key} is not one number"),
            Self::Bounds(key, why) => write!(f, "{key}={why}"),
            Self::Read(key, why) => {
                write!(f, "{key}, read here: {why}; give it with --given {key}=...")
            }
            Self::NoneOf(key, text, known) => {
                write!(f, "{key}={text} is none of {}", known.join(", "))
            }
            Self::NoSocket(key, text) => write!(f, "{key}={text} is not a processor"),
            Self::BeyondSockets(key, socket, sockets) => {
                write!(f, "{key}={socket}: there are {sockets} processors, from 0 on")
            }
            Self::Alone(key, needed) => write!(f, "{key} needs {needed}, which was not said"),
            Self::Neighbours(cores, cpus) => {
                let most = cpus - 1.0;
                write!(f, "neighbours={cores}: of {cpus} CPUs {most} at most can be neighbours")
            }
            Self::DirectNeedsTwo => write!(f, "nic.direct=yes needs two processors"),
            Self::NicCount(count, named) => {
                write!(f, "nic.count={count}, and nic.socket names {named}")
            }
            Self::Form(key, text, form) => write!(f, "{key}={text} is not {form}"),
            Self::Part(key, text, why) => write!(f, "{key}={text}: {why}"),
            Self::Lanes(key, text) => {
                write!(f, "{key}={text}: PCI Express has 1, 2, 4, 8, 12, 16 or 32 lanes")
            }
            Self::NoModules => {
                write!(f, "no memory module on any processor: memory.socket0=1,1,1/0,0,0")
            }
            Self::Interleaving => {
                write!(f, "how these processors interleave is not known: cpu=NAME")
            }
            Self::NextSocket(key, next) => {
                write!(f, "{key}: the next processor is memory.socket{next}")
            }
            Self::Modules(key, text) => write!(
                f,
                "--set {key}: '{text}' is not modules of each channel, such as 1,1,1/0,0,0"
            ),
            Self::Channels(key, platform, channels) => {
                write!(f, "--set {key}: {platform} has {channels} channels a socket")
            }
        }
    }
}

/// One thing that the model needs and does not know, with the key that says it.
#[derive(Clone, Debug, PartialEq)]
pub enum Missing {
    /// Memory of the host is not known well enough, for this reason.
    Memory(String),
    /// No port tells its rate, and none was said.
    LinkRate,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(gap) => f.write_str(gap),
            Self::LinkRate => f.write_str("no NIC reports its speed: nic.gbps=100"),
        }
    }
}

/// Why a host's modules are not counted by channel, or what they cost.
#[derive(Clone, Debug, PartialEq)]
pub enum Unplaced {
    /// Nothing tells the host's memory slots.
    Slots,
    /// No slot tells its channel.
    Channels,
    /// The interleave sets are not known.
    Sets(PopulationGap),
    /// The speed that the modules run at is not known.
    Speed,
}

impl fmt::Display for Unplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slots => write!(f, "memory slots are not known"),
            Self::Channels => write!(f, "no memory slot names its channel"),
            Self::Sets(missing) => write!(f, "{missing}"),
            Self::Speed => write!(f, "the speed that the modules run at is not known"),
        }
    }
}
