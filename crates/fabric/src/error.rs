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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_what_was_asked_and_what_there_is() {
        use FabricError::*;
        let two = || vec!["one".to_owned(), "other".to_owned()];
        for (error, said) in [
            (Hosts(1), "1 hosts do not make a network: 2 to 10,000,000 are supported"),
            (Speed(5.0), "no port runs at 5 bit/s: 10 Mb/s to 10 Tb/s are supported"),
            (Oversubscription(0.1), "oversubscription of 0.1:1 is not supported: 0.25 to 100 are"),
            (Radix(1), "a switch of 1 ports is not supported: 2 to 4096 are"),
            (Switch("x".into(), two()), "no switch is called 'x'; known are one, other"),
            (Ambiguous("x".into(), two()), "'x' matches several: one, other"),
            (NoPorts(BitsPerSecond(25e9), two()), "no port of one, other runs at 25.0 Gb/s"),
            (Tiers(4), "4 tiers are not supported: 1, 2 or 3 are"),
            (
                TooMany { hosts: 49, tiers: 1, most: 48 },
                "49 hosts are too many: these switches reach 48 in 1 tier",
            ),
            (
                TooMany { hosts: 9, tiers: 2, most: 8 },
                "9 hosts are too many: these switches reach 8 in 2 tiers",
            ),
            (
                TooManyForDragonfly { hosts: 73, most: 72 },
                "73 hosts are too many: a dragonfly of these switches reaches 72",
            ),
            (
                OneGroup { hosts: 7, holds: 8 },
                "7 hosts are too few for a dragonfly: one group of these switches holds 8",
            ),
            (NoUplinks(0.5), "no switch has ports for hosts and for uplinks at 0.5:1"),
        ] {
            assert_eq!(error.to_string(), said);
        }
    }
}
