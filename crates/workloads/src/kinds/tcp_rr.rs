//! `tcp-rr`: one request, one response, then the next: one outstanding a flow, no delay. Messages
//! counted: round trips. The time from the send of a request to the arrival of its whole response
//! is a round trip, called RTT and never halved.
//!
//! Closed loop unless a rate is given: in an open loop requests are due at fixed times, and a round
//! trip counts from when it was due, so that one slow answer is not hidden by the requests that it
//! held up.

use crate::harness::buffer::{Buffer, Pages};
use crate::harness::ends::{Flow, LaneMaker, TcpEnd};
use crate::harness::pace::Pace;
use crate::harness::quota::Quota;
use crate::harness::trips::Trips;
use crate::harness::{Lane, LaneEnd, Phase, socket};
use crate::{Kind, LoadError};
use narrows_model::options::flows;
use narrows_model::workload::Workload;
use socket2::Socket;
use std::io::{Read, Write};

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
    /// All of it went.
    Whole,
    /// The run ended meanwhile.
    Over,
}

fn ask(lane: &mut Lane, mut flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let params = &told.job.params;
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
