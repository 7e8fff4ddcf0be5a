//! `udp-rr`: one request datagram, one response, then the next: one outstanding a flow, in a closed
//! loop or, where a rate is given, an open one (see [`super::tcp_rr`]). Messages counted: round
//! trips. The time from the send of a request, or from when it was due, to the arrival of its
//! response is a round trip, called RTT and never halved.
//!
//! A datagram opens with eight bytes of the trial's token and a 64-bit sequence number, big-endian,
//! which the response carries back. A response that does not come within a time is lost, and no
//! round trip; one that comes later is dropped. Where requests overlap
//! ([`crate::harness::overlap`]), none is too late while the run lasts.

use super::udp_stream::{HEAD, sequence};
use crate::harness::ends::{Flow, LaneMaker, UdpEnd};
use crate::harness::meet::Token;
use crate::harness::overlap::{self, Carrier};
use crate::harness::pace::Pace;
use crate::harness::quota::Quota;
use crate::harness::trips::Trips;
use crate::harness::{Lane, LaneEnd, Phase, socket};
use crate::{Kind, LoadError};
use narrows_model::options::trips;
use narrows_model::workload::Workload;
use socket2::Socket;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

pub static KIND: Kind = Kind {
    workload: Workload::UDP_RR,
    says: "UDP round-trip time of small messages, one outstanding a flow",
    prepare: |job| UdpEnd::prepare(job, LANES),
};

const LANES: LaneMaker =
    LaneMaker { receiver: answer, sender: ask, one_sided: false, engines: |_| ("send", "recv") };

/// A response that takes longer is lost.
const LOST_AFTER: Duration = Duration::from_millis(200);

fn ask(lane: &mut Lane, mut flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let (message, token) = (told.message(), &told.token);
    let mut request = vec![1u8; message];
    request[..8].copy_from_slice(&token[..8]);
    let mut response = vec![0u8; 1 << 16];
    if trips::OVERLAP.of(&told.job.params).unwrap_or(false) {
        let wait = LoadError::system("a socket that does not wait");
        flow.set_nonblocking(true).map_err(wait)?;
        let mut carrier = Overlapping { flow, request, response, token: *token };
        return overlap::ask(lane, &mut carrier, &told.job.params);
    }
    let mut trips = Trips::none()?;
    lane.wait_at_gate();
    let mut pace = Pace::of_requests(&told.job.params, told.index);
    for number in 0u64.. {
        let phase = lane.phase();
        let Some(due) = pace.due(lane) else { break };
        request[8..HEAD].copy_from_slice(&number.to_be_bytes());
        let began = Instant::now();
        lane.tally.called();
        match flow.write(&request) {
            Ok(_) => {}
            // What was not sent is no round trip that was lost, but its number is gone.
            Err(error) if socket::is_pause(&error) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => lane.tally.refused(),
            Err(error) => return Err(LoadError::system("sending")(error)),
        }
        if comes_back(lane, &mut flow, &mut response, token, (number, began))? {
            lane.tally.moved(1, message as u64);
            if phase == Phase::Window {
                trips.took(due.elapsed().as_nanos() as u64);
            }
        }
        // Its fate is known: what was expected less what came back is lost.
        lane.tally.expects(number + 1);
    }
    Ok(LaneEnd { round_trips: Some(trips), ..LaneEnd::default() })
}

/// Requests and answers that overlap, told apart by their numbers.
struct Overlapping {
    flow: Socket,
    request: Vec<u8>,
    response: Vec<u8>,
    token: Token,
}

impl AsFd for Overlapping {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.flow.as_fd()
    }
}

impl Carrier for Overlapping {
    fn ask(&mut self, lane: &Lane, number: u64) -> Result<bool, LoadError> {
        self.request[8..HEAD].copy_from_slice(&number.to_be_bytes());
        lane.tally.called();
        match self.flow.write(&self.request) {
            Ok(_) => Ok(true),
            Err(error) if socket::is_pause(&error) => Ok(false),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                lane.tally.refused();
                Ok(false)
            }
            Err(error) => Err(LoadError::system("sending")(error)),
        }
    }

    fn answered(&mut self, lane: &Lane) -> Result<Option<u64>, LoadError> {
        loop {
            lane.tally.called();
            match self.flow.read(&mut self.response) {
                Ok(length) => {
                    // Else it is a stranger's.
                    if let Some(number) = sequence(&self.response[..length], &self.token) {
                        return Ok(Some(number));
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if socket::is_pause(&error) => return Ok(None),
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Ok(None),
                Err(error) => return Err(LoadError::system("receiving")(error)),
            }
        }
    }
}

/// Waits for the response to the request of this number; false when it is lost.
fn comes_back(
    lane: &Lane,
    flow: &mut Socket,
    response: &mut [u8],
    token: &Token,
    (number, began): (u64, Instant),
) -> Result<bool, LoadError> {
    while began.elapsed() < LOST_AFTER {
        lane.tally.called();
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

fn answer(lane: &mut Lane, mut flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let mut request = vec![0u8; 1 << 16];
    let mut response = vec![1u8; told.job.params.response_bytes().0 as usize];
    lane.wait_at_gate();
    let mut quota = Quota::of(told);
    while lane.phase() != Phase::Stop {
        lane.tally.called();
        let length = match flow.read(&mut request) {
            Ok(length) => length,
            Err(error) if socket::is_pause(&error) => continue,
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
            Err(error) => return Err(LoadError::system("receiving")(error)),
        };
        let Some(head) = request[..length].get(..HEAD) else { continue };
        if sequence(head, &told.token).is_none() {
            continue;
        }
        response[..HEAD].copy_from_slice(head);
        if !quota.take(lane)? {
            break;
        }
        lane.tally.called();
        match flow.write(&response) {
            Ok(_) => lane.tally.moved(1, length as u64),
            Err(error) if socket::is_pause(&error) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(LoadError::system("answering")(error)),
        }
    }
    Ok(LaneEnd::default())
}
