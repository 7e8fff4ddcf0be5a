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
    /// A word would not do: the agent at the other end lends no interface.
    Agent,
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
            Self::Agent => {
                "an agent sends and counts no raw packets: leave the far end to sockets (sender \
                 sendmmsg, receiver recvmmsg)"
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
            Self::Agent => "",
        }
    }
}

fn is_raw(way: Option<String>) -> bool {
    way.is_some_and(|way| calls::RAW.contains(&way.as_str()))
}

/// What is not said of the raw frames that these settings send to another host, or count from it.
pub fn unsaid(settings: &Settings) -> Option<Unsaid> {
    if settings.kind() != Workload::Packets {
        return None;
    }
    // What an outside generator sends is raw, whatever it is.
    let sends_raw = is_raw(settings.told(&flows::SENDER)) || settings.engine().is_some();
    let counts_raw = is_raw(settings.told(&flows::RECEIVER));
    let reverse = settings.told(&flows::REVERSE).unwrap_or(false);
    let both = settings.told(&flows::BIDIRECTIONAL).unwrap_or(false);
    let (here, there) = if reverse { (counts_raw, sends_raw) } else { (sends_raw, counts_raw) };
    let raw_here = here || both && (sends_raw || counts_raw);
    let is_here = settings.ports().is_some();
    let names_interface = settings.bind().is_some_and(|bind| bind.device.is_some());
    if raw_here && !names_interface {
        return Some(Unsaid::Interface);
    }
    if sends_raw && settings.told(&packets::RATE).is_none() {
        match settings.told(&flows::BITRATE) {
            None => return Some(Unsaid::Rate),
            // Less than a bit a second is kept as none.
            Some(bits) if bits.0 < 1.0 => return Some(Unsaid::Unlimited),
            Some(_) => {}
        }
    }
    let at_agent = there || both && (sends_raw || counts_raw);
    // Both ends of a cable between two ports of this host are its own.
    (at_agent && !is_here).then_some(Unsaid::Agent)
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
            assert_eq!(of(&receiver), Some(Unsaid::Agent), "it counts at the far end");
            assert_eq!(of(&format!("reverse=true {receiver}")), Some(Unsaid::Interface));
            assert_eq!(of(&format!("reverse=true {receiver} bind='eth0'")), None);
            let all = format!("reverse=true {sender} bind='eth0' rate='1k'");
            assert_eq!(of(&all), Some(Unsaid::Agent), "the far end would send");
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
