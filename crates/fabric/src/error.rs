//! Why there is no fabric as it was asked for.

use narrows_model::BitsPerSecond;
use std::error::Error;
use std::fmt;

/// What was asked for that cannot be.
#[derive(Clone, Debug, PartialEq)]
pub enum FabricError {
    /// Fewer hosts than a network has.
    Hosts(u32),
    /// A rate that is no rate of a port, in bits per second.
    Speed(f64),
    /// Hosts' rate over that of the uplinks, outside of what is planned.
    Oversubscription(f64),
    /// A switch needs two ports at least, and has at most as many as any that is built.
    Radix(u32),
    /// Nobody wrote down a switch of this name, only of these.
    Switch(String, Vec<String>),
    /// The name fits several switches.
    Ambiguous(String, Vec<String>),
    /// None of the switches has ports of this rate.
    NoPorts(BitsPerSecond, Vec<String>),
    /// The number of tiers is none that is planned.
    Tiers(u8),
    /// More hosts than the switches reach in so many tiers.
    TooMany {
        /// Hosts that were asked for.
        hosts: u32,
        /// Tiers that were allowed.
        tiers: u8,
        /// The most hosts that these switches reach in them.
        most: u64,
    },
    /// More hosts than a dragonfly of one model has.
    TooManyForDragonfly {
        /// Hosts that were asked for.
        hosts: u32,
        /// With one link between every two groups.
        most: u64,
    },
    /// As few hosts as one group of a dragonfly holds.
    OneGroup {
        /// Hosts that were asked for.
        hosts: u32,
        /// Ports for hosts of a group.
        holds: u32,
    },
    /// No leaf of these switches has both host ports and uplinks at this ratio.
    NoUplinks(f64),
}

impl fmt::Display for FabricError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hosts(hosts) => {
                write!(f, "{hosts} hosts do not make a network: 2 to 10,000,000 are supported")
            }
            Self::Speed(rate) => {
                write!(f, "no port runs at {rate} bit/s: 10 Mb/s to 10 Tb/s are supported")
            }
            Self::Oversubscription(ratio) => {
                write!(f, "oversubscription of {ratio}:1 is not supported: 0.25 to 100 are")
            }
            Self::Radix(ports) => {
                write!(f, "a switch of {ports} ports is not supported: 2 to 4096 are")
            }
            Self::Switch(name, known) => {
                write!(f, "no switch is called '{name}'; known are {}", known.join(", "))
            }
            Self::Ambiguous(name, fits) => {
                write!(f, "'{name}' matches several: {}", fits.join(", "))
            }
            Self::NoPorts(rate, switches) => {
                write!(f, "no port of {} runs at {rate}", switches.join(", "))
            }
            Self::Tiers(tiers) => write!(f, "{tiers} tiers are not supported: 1, 2 or 3 are"),
            Self::TooMany { hosts, tiers, most } => {
                let tiers = if *tiers == 1 { "1 tier".into() } else { format!("{tiers} tiers") };
                write!(f, "{hosts} hosts are too many: these switches reach {most} in {tiers}")
            }
            Self::TooManyForDragonfly { hosts, most } => {
                write!(
                    f,
                    "{hosts} hosts are too many: a dragonfly of these switches reaches {most}"
                )
            }
            Self::OneGroup { hosts, holds } => write!(
                f,
                "{hosts} hosts are too few for a dragonfly: one group of these switches holds {holds}"
            ),
            Self::NoUplinks(ratio) => {
                write!(f, "no switch has ports for hosts and for uplinks at {ratio}:1")
            }
        }
    }
}

impl Error for FabricError {}
