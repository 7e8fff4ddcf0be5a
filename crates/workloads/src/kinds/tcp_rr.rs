//! `tcp-rr`: one request, one response, then the next: one outstanding a flow, no delay. Messages
//! counted: round trips. The time from the send of a request to the arrival of its whole response
//! is a round trip, called RTT and never halved.
//!
//! Closed loop unless a rate is given: in an open loop requests are due at fixed times, and a round
//! trip counts from when it was due, so that one slow answer is not hidden by the requests that it
//! held up. Where requests overlap ([`crate::harness::overlap`]), none waits for the answers of
//! those before it; answers come in order.

use crate::harness::buffer::{Buffer, Pages};
use crate::harness::ends::{Flow, LaneMaker, TcpEnd};
use crate::harness::overlap::{self, Carrier};
use crate::harness::pace::Pace;
use crate::harness::quota::Quota;
use crate::harness::trips::Trips;
use crate::harness::{Lane, LaneEnd, Phase, socket};
use crate::{Kind, LoadError};
use narrows_model::options::{flows, trips};
use narrows_model::workload::Workload;
use socket2::Socket;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

pub static KIND: Kind = Kind {
    workload: Workload::TCP_RR,
    says: "TCP round-trip time of small messages, one outstanding a flow",
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker =
    LaneMaker { receiver: answer, sender: ask, one_sided: false, engines: |_| ("write", "recv") };

/// How a transfer of one message ended.
#[derive(PartialEq, Eq)]
enum Moved {
    Whole,
    /// The run ended meanwhile.
    Over,
}

fn ask(lane: &mut Lane, mut flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let params = &told.job.params;
    if trips::OVERLAP.of(params).unwrap_or(false) {
        return overlap::ask(lane, &mut Overlapping::over(flow, told)?, params);
    }
    let mut requests = placed(told, told.message())?;
    let request = &mut requests.bytes_mut()[..told.message()];
    request.fill(1);
    let request = &*request;
    let length = params.response_bytes().0 as usize;
    let mut responses = placed(told, length)?;
    let response = &mut responses.bytes_mut()[..length];
    let mut trips = Trips::none()?;
    let quick = flows::QUICKACK.of(params).unwrap_or(false);
    lane.wait_at_gate();
    let mut pace = Pace::of_requests(params, told.index);
    loop {
        let phase = lane.phase();
        let Some(began) = pace.due(lane) else { break };
        if send(lane, &mut flow, request)? == Moved::Over
            || fill(lane, &mut flow, response, quick)? == Moved::Over
        {
            break;
        }
        let took = began.elapsed();
        lane.tally.moved(1, request.len() as u64);
        if phase == Phase::Window {
            trips.took(took.as_nanos() as u64);
        }
    }
    Ok(LaneEnd { round_trips: Some(trips), ..LaneEnd::default() })
}

/// Requests and answers that overlap, over one connection.
struct Overlapping {
    flow: Socket,
    request: Vec<u8>,
    response: Vec<u8>,
    /// Bytes of the requests so far that the kernel has not taken.
    unsent: Vec<u8>,
    /// Answers that came whole.
    answers: u64,
    /// Bytes of the next one that came.
    filled: usize,
    quick: bool,
}

impl Overlapping {
    fn over(flow: Socket, told: &Flow) -> Result<Self, LoadError> {
        flow.set_nonblocking(true).map_err(LoadError::system("a socket that does not wait"))?;
        let params = &told.job.params;
        let quick = flows::QUICKACK.of(params).unwrap_or(false);
        let (request, response) =
            (vec![1; told.message()], vec![0; params.response_bytes().0 as usize]);
        Ok(Self { flow, request, response, unsent: Vec::new(), answers: 0, filled: 0, quick })
    }
}

impl AsFd for Overlapping {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.flow.as_fd()
    }
}

impl Carrier for Overlapping {
    /// What the kernel does not take now goes first with the next request.
    fn ask(&mut self, lane: &Lane, _number: u64) -> Result<bool, LoadError> {
        self.unsent.extend_from_slice(&self.request);
        lane.tally.called();
        match self.flow.write(&self.unsent) {
            Ok(n) => drop(self.unsent.drain(..n)),
            Err(error) if socket::is_pause(&error) => {}
            // The other end is over a moment before this one.
            Err(_) if !lane.is_in_window() => self.unsent.clear(),
            Err(error) => return Err(LoadError::system("sending")(error)),
        }
        Ok(true)
    }

    fn answered(&mut self, lane: &Lane) -> Result<Option<u64>, LoadError> {
        while self.filled < self.response.len() {
            lane.tally.called();
            match self.flow.read(&mut self.response[self.filled..]) {
                Ok(0) if lane.is_in_window() => {
                    return Err(LoadError::Peer("the other end closed during the run".into()));
                }
                Ok(0) => return Ok(None),
                Ok(n) => {
                    self.filled += n;
                    if self.quick {
                        socket::acknowledge(&self.flow)?;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if socket::is_pause(&error) => return Ok(None),
                Err(_) if !lane.is_in_window() => return Ok(None),
                Err(error) => return Err(LoadError::system("receiving")(error)),
            }
        }
        self.filled = 0;
        self.answers += 1;
        Ok(Some(self.answers - 1))
    }
}

fn answer(lane: &mut Lane, mut flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let mut requests = placed(told, told.message())?;
    let request = &mut requests.bytes_mut()[..told.message()];
    let length = told.job.params.response_bytes().0 as usize;
    let mut responses = placed(told, length)?;
    let response = &mut responses.bytes_mut()[..length];
    response.fill(1);
    let quick = flows::QUICKACK.of(&told.job.params).unwrap_or(false);
    lane.wait_at_gate();
    let mut quota = Quota::of(told);
    loop {
        if fill(lane, &mut flow, request, quick)? == Moved::Over
            || !quota.take(lane)?
            || send(lane, &mut flow, response)? == Moved::Over
        {
            return Ok(LaneEnd::default());
        }
        lane.tally.moved(1, request.len() as u64);
    }
}

/// A buffer on the node that the end is given; without one, where the thread runs that fills it.
fn placed(told: &Flow, length: usize) -> Result<Buffer, LoadError> {
    Buffer::with(length, Pages::Small, told.job.node)
}

fn send(lane: &mut Lane, flow: &mut Socket, bytes: &[u8]) -> Result<Moved, LoadError> {
    let mut done = 0;
    while done < bytes.len() {
        let phase = lane.phase();
        if phase == Phase::Stop {
            return Ok(Moved::Over);
        }
        lane.tally.called();
        match flow.write(&bytes[done..]) {
            Ok(n) => done += n,
            Err(error) if socket::is_pause(&error) => {}
            Err(_) if phase == Phase::Cooldown => return Ok(Moved::Over),
            Err(error) => return Err(LoadError::system("sending")(error)),
        }
    }
    Ok(Moved::Whole)
}

fn fill(
    lane: &mut Lane,
    flow: &mut Socket,
    bytes: &mut [u8],
    quick: bool,
) -> Result<Moved, LoadError> {
    let mut done = 0;
    while done < bytes.len() {
        let phase = lane.phase();
        if phase == Phase::Stop {
            return Ok(Moved::Over);
        }
        lane.tally.called();
        match flow.read(&mut bytes[done..]) {
            Ok(0) if phase < Phase::Cooldown => {
                return Err(LoadError::Peer("the other end closed during the run".into()));
            }
            Ok(0) => return Ok(Moved::Over),
            Ok(n) => {
                done += n;
                if quick {
                    socket::acknowledge(flow)?;
                }
            }
            Err(error) if socket::is_pause(&error) => {}
            Err(_) if phase == Phase::Cooldown => return Ok(Moved::Over),
            Err(error) => return Err(LoadError::system("receiving")(error)),
        }
    }
    Ok(Moved::Whole)
}
