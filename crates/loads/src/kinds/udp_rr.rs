//! `udp-rr`: one request datagram, one response of the same size, then the next (closed loop, one
//! outstanding, blocking calls). Messages counted: round trips. The time from the send of a request
//! to the arrival of its response is a round trip, called RTT and never halved.
//!
//! A datagram opens with eight bytes of the trial's token and a 64-bit sequence number, big-endian,
//! which the response carries back. A response that does not come within a time is lost, and no
//! round trip; one that comes later is dropped.

use super::udp_stream::{Flow, HEAD, LaneMaker, UdpEnd, sequence};
use crate::harness::socket::{self, Token};
use crate::harness::{Lane, LaneEnd, Phase};
use crate::{Kind, LoadError};
use hdrhistogram::Histogram;
use socket2::{SockAddr, Socket};
use std::io::{ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

pub static KIND: Kind = Kind {
    name: "udp-rr",
    says: "UDP round-trip time of small messages, one outstanding, blocking calls",
    network: true,
    message_bytes_min: HEAD as u64,
    prepare: |job| UdpEnd::prepare(job, LaneMaker { sink: answer, source: ask }),
};

/// A response that takes longer is lost.
const LOST_AFTER: Duration = Duration::from_millis(200);

fn ask(lane: &mut Lane, mut flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let (message, token) = (told.message, &told.token);
    let mut request = vec![1u8; message];
    request[..8].copy_from_slice(&token[..8]);
    let mut response = vec![0u8; 1 << 16];
    // Two significant digits from 1 ns to a minute: an error below 1 %.
    let histogram = Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 2);
    let mut histogram = histogram.map_err(|error| LoadError::Order(error.to_string()))?;
    lane.wait_at_gate();
    for number in 0u64.. {
        let phase = lane.phase();
        if phase == Phase::Stop {
            break;
        }
        request[8..HEAD].copy_from_slice(&number.to_be_bytes());
        let began = Instant::now();
        match flow.write(&request) {
            Ok(_) => {}
            // What was not sent is no round trip that was lost, but its number is gone.
            Err(error) if socket::is_pause(&error) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => lane.tally.refused(),
            Err(error) => return Err(LoadError::system("sending")(error)),
        }
        if comes_back(&mut flow, &mut response, token, number, began)? {
            lane.tally.moved(1, message as u64);
            if phase == Phase::Window {
                histogram.saturating_record(began.elapsed().as_nanos() as u64);
            }
        }
        // Its fate is known: what was expected less what came back is lost.
        lane.tally.expects(number + 1);
    }
    Ok(LaneEnd { round_trips: Some(histogram) })
}

/// Waits for the response by this number; false when it is lost.
fn comes_back(
    flow: &mut Socket,
    response: &mut [u8],
    token: &Token,
    number: u64,
    began: Instant,
) -> Result<bool, LoadError> {
    while began.elapsed() < LOST_AFTER {
        match flow.read(response) {
            Ok(length) if sequence(&response[..length], token) == Some(number) => return Ok(true),
            // A late one, or a stranger's.
            Ok(_) => {}
            Err(error) if socket::is_pause(&error) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Ok(false),
            Err(error) => return Err(LoadError::system("receiving")(error)),
        }
    }
    Ok(false)
}

fn answer(lane: &mut Lane, flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let mut buffer = vec![MaybeUninit::<u8>::uninit(); 1 << 16];
    lane.wait_at_gate();
    loop {
        if lane.phase() == Phase::Stop {
            return Ok(LaneEnd::default());
        }
        let (length, from): (usize, SockAddr) = match flow.recv_from(&mut buffer) {
            Ok(received) => received,
            Err(error) if socket::is_pause(&error) => continue,
            Err(error) => return Err(LoadError::system("receiving")(error)),
        };
        // SAFETY: the kernel has written the first `length` bytes.
        let bytes = unsafe { &*(&raw const buffer[..length] as *const [u8]) };
        // Nobody else is answered: the sink must not amplify a stranger's datagrams.
        if sequence(bytes, &told.token).is_none() {
            continue;
        }
        match flow.send_to(bytes, &from) {
            Ok(_) => lane.tally.moved(1, length as u64),
            Err(error) if socket::is_pause(&error) => {}
            Err(error) => return Err(LoadError::system("answering")(error)),
        }
    }
}
