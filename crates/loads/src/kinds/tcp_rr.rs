//! `tcp-rr`: one request, one response of the same size, then the next (closed loop, one
//! outstanding, no delay, blocking calls). Messages counted: round trips. The time from the send of
//! a request to the arrival of its whole response is a round trip, called RTT and never halved.

use super::tcp_stream::{Flow, LaneMaker, TcpEnd};
use crate::harness::{Lane, LaneEnd, Phase, socket};
use crate::{Kind, LoadError};
use hdrhistogram::Histogram;
use socket2::Socket;
use std::io::{Read, Write};
use std::time::Instant;

pub static KIND: Kind = Kind {
    name: "tcp-rr",
    says: "TCP round-trip time of small messages, one outstanding, blocking calls",
    network: true,
    message_bytes_min: 1,
    prepare: |job| TcpEnd::prepare(job, LaneMaker { sink: answer, source: ask }),
};

/// How a transfer of one message ended.
enum Moved {
    /// All of it went.
    Whole,
    /// The run ended meanwhile.
    Over,
}

fn ask(lane: &mut Lane, mut flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let message = told.message;
    let mut buffer = vec![1u8; message];
    // Two significant digits from 1 ns to a minute: an error below 1 %.
    let histogram = Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 2);
    let mut histogram = histogram.map_err(|error| LoadError::Order(error.to_string()))?;
    lane.wait_at_gate();
    loop {
        let phase = lane.phase();
        let began = Instant::now();
        let asked = send(lane, &mut flow, &buffer)?;
        if matches!(asked, Moved::Over)
            || matches!(fill(lane, &mut flow, &mut buffer)?, Moved::Over)
        {
            return Ok(LaneEnd { round_trips: Some(histogram) });
        }
        let took = began.elapsed();
        lane.tally.moved(1, message as u64);
        if phase == Phase::Window {
            histogram.saturating_record(took.as_nanos() as u64);
        }
    }
}

fn answer(lane: &mut Lane, mut flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let message = told.message;
    let mut buffer = vec![1u8; message];
    lane.wait_at_gate();
    loop {
        let asked = fill(lane, &mut flow, &mut buffer)?;
        if matches!(asked, Moved::Over) || matches!(send(lane, &mut flow, &buffer)?, Moved::Over) {
            return Ok(LaneEnd::default());
        }
        lane.tally.moved(1, message as u64);
    }
}

fn send(lane: &mut Lane, flow: &mut Socket, bytes: &[u8]) -> Result<Moved, LoadError> {
    let mut done = 0;
    while done < bytes.len() {
        let phase = lane.phase();
        if phase == Phase::Stop {
            return Ok(Moved::Over);
        }
        match flow.write(&bytes[done..]) {
            Ok(n) => done += n,
            Err(error) if socket::is_pause(&error) => {}
            Err(_) if phase == Phase::Cooldown => return Ok(Moved::Over),
            Err(error) => return Err(LoadError::system("sending")(error)),
        }
    }
    Ok(Moved::Whole)
}

fn fill(lane: &mut Lane, flow: &mut Socket, bytes: &mut [u8]) -> Result<Moved, LoadError> {
    let mut done = 0;
    while done < bytes.len() {
        let phase = lane.phase();
        if phase == Phase::Stop {
            return Ok(Moved::Over);
        }
        match flow.read(&mut bytes[done..]) {
            Ok(0) if phase < Phase::Cooldown => {
                return Err(LoadError::Peer("the other end closed during the run".into()));
            }
            Ok(0) => return Ok(Moved::Over),
            Ok(n) => done += n,
            Err(error) if socket::is_pause(&error) => {}
            Err(_) if phase == Phase::Cooldown => return Ok(Moved::Over),
            Err(error) => return Err(LoadError::system("receiving")(error)),
        }
    }
    Ok(Moved::Whole)
}
