//! What must be said before raw frames leave for another host: studies and commands ask the same.

use super::Settings;
use narrows_model::calls;
use narrows_model::options::{flows, packets};
use narrows_model::workload::Workload;
use std::fmt;

/// What nobody said of raw frames, or what cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsaid {
    /// The interface that they leave from, or are counted on.
    Interface,
    /// How fast they go, if it is as fast as they can.
    Rate,
    /// A bitrate of 0 is told, which limits nothing: as fast as they can is said by its word.
    Unlimited,
    /// The interface of the other host that they come to, or leave from.
    Lent,
}

impl fmt::Display for Unsaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interface => "raw packets need an interface",
            Self::Rate => "raw packets need a rate; max is as fast as they go",
            Self::Unlimited => {
                "raw packets need a rate, and a bitrate of 0 is none; a rate of max is as fast as \
                 they go"
            }
            Self::Lent => {
                "raw packets at the far end need an interface that its owner lends (narrows serve \
                 --packets IF there)"
            }
        })
    }
}

impl Unsaid {
    /// The key of a study's file that says it.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Interface => " (bind = \"eth0\")",
            Self::Rate => " (rate = \"1M\")",
            Self::Unlimited => " (rate = \"max\")",
            Self::Lent => " (peer_nic = \"eth0\")",
        }
    }
}

fn is_raw(way: Option<String>) -> bool {
    way.is_some_and(|way| calls::RAW.contains(&way.as_str()))
}

/// The ways of raw frames, and at which ends they are.
struct Raw {
    sends: bool,
    here: bool,
    there: bool,
}

impl Raw {
    fn of(settings: &Settings) -> Self {
        // What an outside generator sends is raw, whatever it is.
        let sends = is_raw(settings.told(&flows::SENDER)) || settings.engine().is_some();
        let counts = is_raw(settings.told(&flows::RECEIVER));
        let reverse = settings.told(&flows::REVERSE).unwrap_or(false);
        let both = settings.told(&flows::BIDIRECTIONAL).unwrap_or(false);
        let (here, there) = match (both, reverse) {
            (true, _) => (sends || counts, sends || counts),
            (false, true) => (counts, sends),
            (false, false) => (sends, counts),
        };
        Self { sends, here, there }
    }
}

/// Whether the other host's end sends raw frames or counts them.
pub fn is_raw_there(settings: &Settings) -> bool {
    // Both ends of a cable between two ports of this host are its own.
    settings.kind() == Workload::Packets
        && settings.ports().is_none()
        && (settings.lent().is_some() || Raw::of(settings).there)
}

/// What is not said of the raw frames that these settings send to another host, or count from it.
pub fn unsaid(settings: &Settings) -> Option<Unsaid> {
    if settings.kind() != Workload::Packets {
        return None;
    }
    let (raw, there) = (Raw::of(settings), is_raw_there(settings));
    let names_interface = settings.bind().is_some_and(|bind| bind.device.is_some());
    // What the other host lends is met by an interface of this one.
    if (raw.here || there) && !names_interface {
        return Some(Unsaid::Interface);
    }
    if raw.sends && settings.told(&packets::RATE).is_none() {
        match settings.told(&flows::BITRATE) {
            None => return Some(Unsaid::Rate),
            // Less than a bit a second is kept as none.
            Some(bits) if bits.0 < 1.0 => return Some(Unsaid::Unlimited),
            Some(_) => {}
        }
    }
    (there && settings.lent().is_none()).then_some(Unsaid::Lent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_frames_need_an_interface_and_a_rate_that_are_named() {
        let of = |text: &str| {
            let text = format!("load = 'packets'\n{}", text.replace(' ', "\n"));
            unsaid(&toml::from_str(&text).expect(&text))
        };
        assert_eq!(of(""), None, "sockets go where the kernel lets them");
        assert_eq!(of("sender='gso'"), None);
        for way in calls::RAW {
            let sender = format!("sender='{way}'");
            assert_eq!(of(&sender), Some(Unsaid::Interface), "{way}");
            assert_eq!(of(&format!("{sender} rate='1k'")), Some(Unsaid::Interface));
            assert_eq!(of(&format!("{sender} bind='eth0'")), Some(Unsaid::Rate));
            assert_eq!(of(&format!("{sender} bind='192.0.2.1' rate=9")), Some(Unsaid::Interface));
            for rate in ["rate='max'", "rate=1000", "bitrate='1M'"] {
                assert_eq!(of(&format!("{sender} bind='eth0' {rate}")), None, "{way} {rate}");
            }
            for none in ["bitrate=0", "bitrate='0'"] {
                let unlimited = of(&format!("{sender} bind='eth0' {none}"));
                assert_eq!(unlimited, Some(Unsaid::Unlimited), "{way} {none}");
            }
            let receiver = format!("receiver='{way}'");
            assert_eq!(of(&receiver), Some(Unsaid::Interface), "it counts at the far end");
            assert_eq!(of(&format!("{receiver} bind='eth0'")), Some(Unsaid::Lent));
            assert_eq!(of(&format!("{receiver} peer_nic='eth1'")), Some(Unsaid::Interface));
            let lent = format!("{receiver} bind='eth0' peer_nic='eth1'");
            assert_eq!(of(&lent), None, "checked with the sender's way, which is not raw");
            assert_eq!(of(&format!("{lent} {sender}")), Some(Unsaid::Rate));
            assert_eq!(of(&format!("{lent} {sender} rate='max' bidirectional=true")), None);
            assert_eq!(of(&format!("reverse=true {receiver}")), Some(Unsaid::Interface));
            assert_eq!(of(&format!("reverse=true {receiver} bind='eth0'")), None);
            let all = format!("reverse=true {sender} bind='eth0' rate='1k'");
            assert_eq!(of(&all), Some(Unsaid::Lent), "the far end would send");
            assert_eq!(of(&format!("{all} peer_nic='eth1'")), None);
        }
        let ports = "receiver='xdp' bind='eth0,eth1'";
        assert_eq!(of(&format!("sender='xdp' {ports}")), Some(Unsaid::Rate));
        assert_eq!(of(&format!("sender='xdp' {ports} rate='max' bidirectional=true")), None);
        let tool = "engine='trafgen' bind='eth0,eth1'";
        assert_eq!(of("engine='trafgen'"), Some(Unsaid::Interface), "what it sends is raw");
        assert_eq!((of(tool), of(&format!("{tool} rate='max'"))), (Some(Unsaid::Rate), None));
        let tcp: Settings = toml::from_str("load = 'tcp-stream'").expect("settings");
        assert_eq!(unsaid(&tcp), None);
    }
}
