//! What packets can be told that streams cannot.

use super::{Command, Declared, Flag, Form, Kept, Opt, Params, Takes, fits};
use crate::packets::{BURST_FRAMES_MAX, IMIX_FRAMES_BYTES};

const NEW: Declared = Declared {
    fits: fits::PACKETS,
    kept: Kept::Key,
    capability: Some("packets"),
    ..Declared::PLAIN
};
const FLAG: Flag = Flag { on: &[Command::Packets], ..Flag::PLAIN };

/// Source ports that each thread's packets go through in turn.
pub static FLOWS: Opt<u32> = Opt::new(Declared {
    key: "flows",
    takes: Takes::OneNumber(&[1, 2, 4, 8, 16, 32, 64, 128, 256]),
    help: "Flows that each raw sender's packets belong to in turn, by source port, so that a NIC \
           spreads them over its queues; their order is judged flow by flow",
    flags: &[Flag { long: "flows", value: "N", ..FLAG }],
    shown: |value, _| Some(format!("{value} flows a thread")),
    ..NEW
});

/// Packets a second, all threads of a direction together.
pub static RATE: Opt<String> = Opt::new(Declared {
    key: "rate",
    takes: Takes::PacketRate,
    help: "Packets a second, all threads of a direction together: 1M, 14.88M, or max for as fast \
           as it goes, which raw senders to another host must be given",
    flags: &[Flag { long: "rate", value: "N|max", not_with: &["bitrate"], ..FLAG }],
    kept: Kept::Plan,
    capability: None,
    ..NEW
});

/// Whether frames are of a mix of sizes.
pub static IMIX: Opt<bool> = Opt::new(Declared {
    key: "imix",
    help: "Frames of 64, 594 and 1518 B as 7:4:1 in place of one size, in turn (simple IMIX, RFC \
           6985): 361.83 B on average; every sender but xdp, which repeats one frame",
    flags: &[Flag { long: "imix", not_with: &["size", "sizes"], ..FLAG }],
    shown: |_, _| Some("IMIX: 64, 594 and 1518 B as 7:4:1, 361.83 B on average".to_owned()),
    capability: Some("imix"),
    ..NEW
});

/// Packets of a burst.
pub static BURST: Opt<u32> = Opt::new(Declared {
    key: "burst",
    takes: Takes::Number(1, BURST_FRAMES_MAX),
    help: "Packets of each burst, back to back as fast as they go, with a fifth of a second between \
           bursts; every sender but xdp",
    flags: &[Flag { long: "burst", value: "N", not_with: &["bitrate"], ..FLAG }],
    shown: |value, _| Some(format!("bursts of {value}")),
    capability: Some("packet-bursts"),
    ..NEW
});

/// Sizes that the frames of a flow have in turn, by their number.
pub fn frames_bytes(params: &Params) -> Vec<u64> {
    match IMIX.of(params) {
        Some(true) => IMIX_FRAMES_BYTES.to_vec(),
        _ => vec![params.message_bytes.0],
    }
}

/// The interface of the agent's host that raw frames come to.
pub static PEER_NIC: Opt<String> = Opt::new(Declared {
    key: "peer_nic",
    takes: Takes::Text(Form::Any),
    help: "Interface of the other host that raw frames come to, and leave from with -R or both \
           ways: one that its owner lends (`narrows serve --packets IF` there); sender and \
           receiver are xdp, af-xdp or ring",
    flags: &[Flag { long: "peer-nic", value: "IF", needs: Some("nic"), ..FLAG }],
    kept: Kept::Plan,
    capability: None,
    ..NEW
});

/// The interface on the same link that raw frames go to.
pub static MAC: Opt<String> = Opt::new(Declared {
    key: "mac",
    takes: Takes::Text(Form::Any),
    help: "MAC address that raw frames go to, in place of the one by which the kernel knows the \
           peer",
    flags: &[Flag { long: "mac", value: "MAC", ..FLAG }],
    shown: |value, _| Some(format!("to {value}")),
    ..NEW
});

/// Whether raw frames may go where nobody has proved to be the peer.
pub static I_KNOW: Opt<bool> = Opt::new(Declared {
    key: "i_know",
    help: "Let raw frames go to a group of interfaces, to a MAC address other than the peer's, or \
           beyond the link: others may get them",
    flags: &[Flag { long: "i-know", needs: Some("mac"), ..FLAG }],
    ..NEW
});
