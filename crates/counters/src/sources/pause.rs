//! `pause`: Ethernet pause frames (IEEE 802.3, annex 31B) and those of priorities (802.1Q, clause
//! 36) that each interface received and sent, as far as its driver counts them (`ethtool -S`).
//! Drivers name them as they like, and some have one frame in several counters. With them comes
//! what the driver counts of packets that its NIC dropped (`nic`).

use crate::{Look, Registered, Scene, drivers, watch};
use narrows_host::ask::ethtool;
use narrows_model::reading::{Key, Scope, Source, Unit};

pub static SOURCE: Registered = Registered {
    source: Source::Pause,
    says: "pause frames that each interface received and sent, where its driver counts them; with \
           these what it counts of packets that its NIC dropped (`nic`)",
    is_sampled: false,
    open: |scene| watch(scene, look),
};

fn look(_: &Scene<'_>) -> Option<Look> {
    let interfaces = std::fs::read_to_string("/proc/thread-self/net/dev").ok()?;
    let mut look = Look::default();
    for name in names(&interfaces) {
        let driver = ethtool::driver_name(name).ok().and_then(|driver| drivers::driver(&driver));
        let told = ethtool::counters(name, |counter| {
            counts(counter) || driver.is_some_and(|one| one.has(counter))
        });
        for (counter, count) in told.unwrap_or_default() {
            if counts(&counter) {
                let scope = Scope::Nic(name.to_owned());
                look.total(Key::counter(Source::Pause, scope, key(&counter), Unit::Frames), count);
            }
            if let Some(driver) = driver {
                driver.note(&mut look, name, &counter, count);
            }
        }
    }
    look.seen()
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()))
}

/// Whether a driver's counter is one of frames that stop the other end. Those that let it go on
/// again, times and states are not.
fn counts(counter: &str) -> bool {
    let counter = counter.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| counter.contains(word));
    has(&["pause", "xoff"])
        && !has(&[
            "xon",
            "duration",
            "transition",
            "storm",
            "watermark",
            "_time",
            "state",
            "quanta",
        ])
}

/// The driver's name with who received or sent in front.
fn key(counter: &str) -> String {
    let name = counter.to_ascii_lowercase();
    let received = ["rx", "rcv", "received"].iter().any(|word| name.contains(word));
    format!("{}:{counter}", if received { "received" } else { "sent" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_stop_are_told_from_others() {
        // Of mlx5, ixgbe, i40e, ice, bnxt, tg3 and cxgb4.
        let stopping = [
            ("rx_prio3_pause", "received"),
            ("tx_global_pause", "sent"),
            ("rx_flow_control_xoff", "received"),
            ("tx_flow_control_xoff", "sent"),
            ("port.link_xoff_tx", "sent"),
            ("rx_priority_0_xoff.nic", "received"),
            ("rx_pause_frames", "received"),
            ("tx_xoff_sent", "sent"),
            ("rx_xoff_pause_rcvd", "received"),
        ];
        for (name, way) in stopping {
            assert!(counts(name), "{name}");
            assert_eq!(key(name), format!("{way}:{name}"));
        }
        for other in [
            "rx_prio3_pause_duration",
            "rx_flow_control_xon",
            "tx_pause_storm_warning_events",
            "rx_prio3_pause_transition",
            "rx_packets",
        ] {
            assert!(!counts(other), "{other}");
        }
    }

    #[test]
    fn interfaces_are_those_of_the_table() {
        let text = "Inter-| Receive\n face |bytes\n    lo: 1 2\n  eth0: 3 4\n";
        assert_eq!(names(text).collect::<Vec<_>>(), ["lo", "eth0"]);
    }
}
