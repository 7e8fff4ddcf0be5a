//! Over sockets, by any way to send datagrams: the kernel makes the frames.

use super::{DEFAULT, Senders, each};
use crate::LoadError;
use crate::harness::ends::Flow;
use crate::harness::pace::Pace;
use crate::harness::{Lane, LaneEnd, payload, socket};
use crate::packets::over::{CATCH_UP, payloads_bytes, say_over, sender_end};
use crate::packets::stamp::{Stamp, mark, now_ns};
use crate::packets::xsk::Outward;
use crate::udp::senders;
use socket2::Socket;
use std::io::ErrorKind;

/// Makes the threads.
pub fn make(flows: Vec<(Socket, Flow)>, _: Vec<Outward>) -> Result<Senders, LoadError> {
    let asked = flows.first().and_then(|(_, told)| told.stream().sender);
    let name = senders::named(Some(asked.as_deref().unwrap_or(DEFAULT)))?.name;
    Ok(each(name, send, flows))
}

/// Sends one flow.
fn send(lane: &mut Lane, flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let stream = told.stream();
    let kind = senders::named(Some(stream.sender.as_deref().unwrap_or(DEFAULT)))?;
    let sizes = payloads_bytes(told, &flow)?;
    let longest = sizes.iter().copied().max().unwrap_or(0);
    let mut sender = (kind.make)(&flow, longest)?;
    // What a call takes has one size: of a mix it takes one packet.
    let count = if sizes.len() > 1 { 1 } else { (kind.batch)(longest) };
    let mut buffer = payload::pattern(count * longest, told.job.node)?;
    let mark = mark(&told.token);
    let (mut number, mut in_window) = (0u64, 0u64);
    lane.wait_at_gate();
    let mut pace = Pace::of_bits(&told.job.params).making_up(CATCH_UP);
    while pace.due(lane).is_some() {
        lane.tally.called();
        let (is_in_window, sent_ns) = (lane.is_in_window(), now_ns());
        let count = count.min(pace.at_once());
        let bytes = sizes[(number % sizes.len() as u64) as usize];
        let packets = buffer.bytes_mut().chunks_exact_mut(bytes).take(count);
        for (packet, number) in packets.zip(number..) {
            Stamp { number, is_in_window, sent_ns }.write(mark, packet);
        }
        match sender.send(&flow, &buffer.bytes()[..count * bytes], bytes) {
            Ok(sent) => {
                lane.tally.moved(sent as u64, (sent * bytes) as u64);
                number += sent as u64;
                in_window += if is_in_window { sent as u64 } else { 0 };
                pace.more((sent as u64).saturating_sub(1));
                continue;
            }
            Err(error) if socket::is_pause(&error) => {}
            // No buffer in the own host: these never left, and are sent again.
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => lane.tally.refused(),
            // An answer to an earlier packet: the receiver is gone or not there yet.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => lane.tally.refused(),
            Err(error) => {
                return Err(LoadError::system(format!("sending ({})", kind.name))(error));
            }
        }
        pace.again(1);
    }
    say_over(&flow, &told.token);
    Ok(sender_end(in_window))
}
