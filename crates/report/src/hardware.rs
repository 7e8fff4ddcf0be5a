//! Phrases about the parts of a host.

use narrows_dimm::population::{Balance, Population, Socket, controllers_equal, sockets_differ};
use narrows_model::Fact;
use narrows_model::host::{Coalescing, DeviceKind, Nic, Pause};
use std::collections::BTreeMap;

/// The class of a population with what it means, and what it could not be told from.
pub fn class(population: &Population) -> String {
    let means = match (population.balance, &population.sets) {
        (Balance::Balanced, _) => "balanced: every channel holds the same".to_owned(),
        (Balance::SocketAsymmetric, _) => {
            "socket-asymmetric: the sockets hold different memory".to_owned()
        }
        (Balance::NearBalanced, _) if population.is_full() => {
            "near-balanced: channels hold as much in different modules".to_owned()
        }
        (Balance::NearBalanced, Ok(_)) => {
            "near-balanced: one interleave set a socket, some channels empty".to_owned()
        }
        (Balance::Unbalanced, Ok(_)) => {
            "unbalanced: the memory of a socket is several interleave sets".to_owned()
        }
        (Balance::NearBalanced, Err(_)) => {
            "near-balanced: alike on the populated channels, others empty".to_owned()
        }
        (Balance::Unbalanced, Err(_)) => {
            "unbalanced: channels of a socket hold different modules".to_owned()
        }
    };
    let also = population.balance == Balance::Unbalanced && sockets_differ(&population.sockets);
    let means = if also { format!("{means}, and the sockets differ") } else { means };
    match &population.sets {
        Ok(sets) if sets.by_label_order => {
            format!("{means} (channels given to controllers in the order of their labels)")
        }
        Err(missing) if population.balance != Balance::Balanced => {
            format!("{means} (interleave sets need {missing})")
        }
        _ => means,
    }
}

/// What the study LP1241 calls each processor's memory, for the processors that it is about.
pub fn paper_label(sockets: &[Socket], processor: &str) -> String {
    let each: Vec<(u32, bool)> = sockets
        .iter()
        .filter_map(|socket| {
            let alike = controllers_equal(std::slice::from_ref(socket), processor)?;
            let has_memory = !socket.populated().is_empty();
            has_memory.then_some((socket.socket, alike))
        })
        .collect();
    match each.as_slice() {
        [] => String::new(),
        all if all.iter().all(|(_, alike)| *alike) => {
            "; both controllers hold the same (lenovo-2019: balanced)".to_owned()
        }
        all if all.iter().all(|(_, alike)| !*alike) => {
            "; the controllers differ (lenovo-2019: unbalanced)".to_owned()
        }
        some => {
            let words: Vec<String> = some
                .iter()
                .map(|(socket, alike)| format!("socket {socket} {}", word(*alike)))
                .collect();
            format!("; the controllers of a socket differ (lenovo-2019: {})", words.join(", "))
        }
    }
}

fn word(alike: bool) -> &'static str {
    if alike { "balanced" } else { "unbalanced" }
}

/// What a device is for.
pub fn device(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Network => "network",
        DeviceKind::Accelerator => "accelerator",
        DeviceKind::Storage => "NVMe",
    }
}

/// A node's number; what the kernel says, `-1`, where it says that there is none.
pub fn node(node: &Fact<u32>) -> String {
    match node {
        Fact::Known { value, .. } => value.to_string(),
        Fact::Absent { said: Some(said), .. } => said.clone(),
        _ => "unknown".to_owned(),
    }
}

/// `adaptive rx, rx 8 us or 128 frames, tx 8 us or 128 frames`.
pub fn coalescing(set: &Coalescing) -> String {
    let rx = side("rx", set.rx_us, set.rx_frames, set.adaptive_rx);
    format!("{rx}, {}", side("tx", set.tx_us, set.tx_frames, set.adaptive_tx))
}

fn side(name: &str, us: u32, frames: u32, adaptive: bool) -> String {
    let adaptive = if adaptive { " adaptive" } else { "" };
    match frames {
        0 => format!("{name}{adaptive} {us} us"),
        frames => format!("{name}{adaptive} {us} us or {frames} frames"),
    }
}

/// `rx on, tx off`.
pub fn pause(pause: &Pause) -> String {
    let settled = if pause.negotiated { ", negotiated" } else { "" };
    format!("rx {}, tx {}{settled}", on_or_off(pause.rx), on_or_off(pause.tx))
}

fn on_or_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// The offloads that move throughput most, by the kernel's names, and the short ones people use.
const OFFLOADS: [(&str, &str); 9] = [
    ("tx-tcp-segmentation", "tso"),
    ("tx-udp-segmentation", "uso"),
    ("tx-generic-segmentation", "gso"),
    ("rx-gro", "gro"),
    ("rx-gro-hw", "gro-hw"),
    ("rx-lro", "lro"),
    ("rx-checksum", "rx-checksum"),
    ("rx-hashing", "rx-hash"),
    ("rx-ntuple-filter", "ntuple"),
];

/// `tso gso gro, off: lro ntuple`.
pub fn offloads(set: &BTreeMap<String, bool>) -> String {
    let short = |wanted: bool| {
        let found = OFFLOADS.iter().filter(|(name, _)| set.get(*name) == Some(&wanted));
        found.map(|(_, short)| *short).collect::<Vec<_>>().join(" ")
    };
    match (short(true), short(false)) {
        (on, off) if off.is_empty() => on,
        (on, off) if on.is_empty() => format!("off: {off}"),
        (on, off) => format!("{on}; off: {off}"),
    }
}

/// What an interface is and stands on: `bond of eth0, eth1`, `port of br0`.
pub fn structure(nic: &Nic) -> String {
    let kind =
        nic.kind.value().map_or(if nic.physical { "device" } else { "virtual" }, String::as_str);
    let mut text = kind.to_owned();
    if !nic.lower.is_empty() {
        text += &format!(" on {}", nic.lower.join(", "));
    }
    if let Some(master) = nic.master.value() {
        text += &format!(", port of {master}");
    }
    if let Some(above) = nic.physical_function.value() {
        text += &format!(", virtual function of {above}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_read_as_people_say_them() {
        let set = Coalescing {
            rx_us: 8,
            rx_frames: 128,
            tx_us: 16,
            tx_frames: 0,
            adaptive_rx: true,
            adaptive_tx: false,
        };
        assert_eq!(coalescing(&set), "rx adaptive 8 us or 128 frames, tx 16 us");
        let set = [("rx-gro", true), ("rx-lro", false), ("tx-nocache-copy", false)];
        let set = set.map(|(name, on)| (name.to_owned(), on)).into();
        assert_eq!(offloads(&set), "gro; off: lro");
        let nic = Nic { lower: vec!["eth0".into()], ..Nic::default() };
        assert_eq!(structure(&nic), "virtual on eth0");
    }

    /// LP1241 calls a processor of two controllers of three channels balanced where both hold the
    /// same.
    #[test]
    fn a_processor_is_balanced_where_its_controllers_hold_the_same() {
        let socket = |socket: u32, on: [u64; 6]| {
            let channels = (0..).zip(on).map(|(at, gib): (u32, u64)| {
                let held = if gib > 0 { vec![gib << 10] } else { Vec::new() };
                (at.to_string().into(), held)
            });
            Socket { socket, channels: channels.collect(), unnamed: 0 }
        };
        let of = |sockets: &[Socket]| paper_label(sockets, "Xeon Platinum 8280");
        let (alike, differs) = ([32, 32, 0, 32, 32, 0], [32, 32, 0, 32, 0, 0]);
        let balanced = "; both controllers hold the same (lenovo-2019: balanced)";
        assert_eq!(of(&[socket(0, alike), socket(1, alike)]), balanced);
        assert_eq!(of(&[socket(0, alike), socket(1, [0; 6])]), balanced, "one has no memory");
        let unbalanced = "; the controllers differ (lenovo-2019: unbalanced)";
        assert_eq!(of(&[socket(0, differs)]), unbalanced);
        let one = "; the controllers of a socket differ (lenovo-2019: socket 0 balanced, socket 1 \
                   unbalanced)";
        assert_eq!(of(&[socket(0, alike), socket(1, differs)]), one);
        assert_eq!(paper_label(&[socket(0, alike)], "AMD EPYC 7742"), "", "eight channels");
    }
}
