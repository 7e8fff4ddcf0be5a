//! `xdp`: a program in front of the interface counts the trial's packets and drops them, in the
//! driver where it can, else in front of the stack; all others go on as if it were not there. It is
//! held by a link that the kernel takes away with this process, however that ends.

use super::af_xdp::attach;
use super::{ReceiverKind, Receivers};
use crate::LoadError;
use crate::harness::ends::Flow;
use crate::harness::{Lane, LaneEnd, LaneWork};
use crate::packets::bpf::counter::{Counted, Counter, Ports};
use crate::packets::bpf::sys::Mode;
use crate::packets::link;
use crate::packets::over::{Lingering, hears_over, receiver_end};
use crate::packets::stamp::mark;
use narrows_model::calls;
use narrows_model::packets::HEADER_BYTES;
use socket2::Socket;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

pub static RECEIVER: ReceiverKind = ReceiverKind {
    name: calls::XDP,
    says: "a program in the driver counts packets and drops them; root or CAP_BPF",
    make,
};

/// What it is called where the driver cannot run programs.
const GENERIC: &str = "xdp-generic";
/// How often what the program counted is told.
const LOOK: Duration = Duration::from_micros(200);

/// The program where packets come.
struct Attached {
    counter: Counter,
    _link: OwnedFd,
}

fn make(flows: Vec<(Socket, Flow)>) -> Result<Receivers, LoadError> {
    let Some((socket, told)) = flows.first() else {
        return Ok(Receivers { name: RECEIVER.name, works: Vec::new(), outwards: Vec::new() });
    };
    let link = link::of(told, socket)?;
    let ports = flows.iter().map(|(socket, told)| {
        let (own, other) = link::ends(socket)?;
        Ok(Ports { own: own.port(), first: other.port(), spread: link::spread(told) })
    });
    let ports = ports.collect::<Result<Vec<Ports>, LoadError>>()?;
    let counter = Counter::load(mark(&told.token), &ports)?;
    let (held, mode) = attach(counter.program(), &link)?;
    let attached = Arc::new(Attached { counter, _link: held });
    let mut works: Vec<LaneWork> = Vec::new();
    for (thread, (socket, told)) in flows.into_iter().enumerate() {
        let attached = Arc::clone(&attached);
        works.push(Box::new(move |lane| count(lane, &attached.counter, thread, &socket, &told)));
    }
    Ok(Receivers { name: name(mode), works, outwards: Vec::new() })
}

/// What it is called, by where its program sees packets.
pub fn name(mode: Mode) -> &'static str {
    if mode == Mode::Driver { RECEIVER.name } else { GENERIC }
}

/// Tells the tally what the program counts.
fn count(
    lane: &mut Lane,
    counter: &Counter,
    thread: usize,
    socket: &Socket,
    told: &Flow,
) -> Result<LaneEnd, LoadError> {
    let (mut before, mut lingering) = (Counted::default(), Lingering::default());
    lane.wait_at_gate();
    let is_whole = loop {
        let phase = lane.phase();
        let now = counter.counted(thread);
        tell(lane, &before, &now);
        if now.packets > before.packets {
            lingering.came();
        }
        before = now;
        if hears_over(socket, &told.token) {
            lingering.over();
        }
        if let Some(is_whole) = lingering.ends(phase) {
            break is_whole;
        }
        std::thread::sleep(LOOK);
    };
    Ok(receiver_end(is_whole.then_some(before.in_window), counter.delays(thread)))
}

fn tell(lane: &Lane, before: &Counted, now: &Counted) {
    let packets = now.packets - before.packets;
    let bytes = (now.bytes - before.bytes).saturating_sub(packets * HEADER_BYTES);
    lane.tally.moved(packets, bytes);
    lane.tally.expects(now.expected);
    (before.late..now.late).for_each(|_| lane.tally.reordered());
    (before.duplicates..now.duplicates).for_each(|_| lane.tally.duplicate());
}
