//! Settings that a study can vary, and why one could not be made.

use narrows_hostctl::HostError;
use narrows_hostctl::namespaces::HUGE_PAGES;
use std::fmt;
use thiserror::Error;

/// One setting that a study can vary, in the order in which they are made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    /// MTU of the interface between the ends, bytes.
    Mtu,
    /// An offload of that interface by ethtool's word, `on` or `off`.
    Offload(String),
    /// Interrupt coalescing of that interface by ethtool's word, `on`, `off` or a number.
    Coalescing(&'static str),
    /// CPUs that an interrupt goes to, by its file.
    Interrupt(String),
    /// Congestion control of the routes between the ends; empty for the system's default.
    Congestion,
    /// A kernel setting by its name, as sysctl(8) has it.
    Kernel(String),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mtu => f.write_str("mtu"),
            Self::Offload(feature) => write!(f, "offload {feature}"),
            Self::Coalescing(word) => write!(f, "coalescing {word}"),
            Self::Interrupt(path) => write!(f, "irq: {path}"),
            Self::Congestion => f.write_str("congestion"),
            Self::Kernel(name) => write!(f, "sysctl {name}"),
        }
    }
}

/// Why a setting could not be made.
#[derive(Debug, Error)]
pub enum SettingError {
    /// It belongs to an interface, and none is known.
    #[error("{0}: the interface between the ends is not known")]
    NoInterface(Setting),
    /// There is nothing to steer.
    #[error("irq: no NIC with interrupts of its own joins the ends")]
    NoInterrupts,
    /// The kernel sets aside as many pages as it finds in one piece.
    #[error("{HUGE_PAGES}: {had} of {wanted} pages could be had")]
    TooFewPages {
        /// Pages that were set aside.
        had: String,
        /// Pages that were asked for.
        wanted: String,
    },
    /// It cannot be read or written.
    #[error("{setting}: {why}")]
    Refused {
        /// Setting that was to be made.
        setting: Setting,
        why: HostError,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_refusals_say_what_they_are_of() {
        for (setting, says) in [
            (Setting::Mtu, "mtu"),
            (Setting::Offload("tso".into()), "offload tso"),
            (Setting::Coalescing("rx-usecs"), "coalescing rx-usecs"),
            (Setting::Interrupt("/proc/irq/7".into()), "irq: /proc/irq/7"),
            (Setting::Congestion, "congestion"),
            (Setting::Kernel("net.x".into()), "sysctl net.x"),
        ] {
            assert_eq!(setting.to_string(), says);
            let why = SettingError::NoInterface(setting).to_string();
            assert_eq!(why, format!("{says}: the interface between the ends is not known"));
        }
        let few = SettingError::TooFewPages { had: "3".into(), wanted: "8".into() }.to_string();
        assert_eq!(few, format!("{HUGE_PAGES}: 3 of 8 pages could be had"));
    }
}
