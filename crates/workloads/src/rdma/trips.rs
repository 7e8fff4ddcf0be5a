//! Latency: one message under way, then its answer, then the next. Each is timed by itself.
//!
//! A send, or a write with immediate, is answered by the other end's program; a write is seen by
//! looking at the memory that it changes; a read and an atomic operation are answered by the other
//! end's NIC. Whatever it is, the time is that of the whole round trip.

use super::link::{Link, Need, Room};
use super::settings::{RdmaSettings, TRIP_RECEIVES};
use super::streams::{Patience, stalled, stand_by};
use super::{establish, is_one_sided};
use crate::LoadError;
use crate::harness::ends::Flow;
use crate::harness::trips::Trips;
use crate::harness::{Lane, LaneEnd, Phase};
use narrows_rdma::verbs::Access;
use narrows_rdma::{Completion, Remote, Verb, Work};
use socket2::Socket;
use std::time::Instant;

/// Requests that may be under way unheard of.
const QUIET: u64 = 32;

/// A link that takes turns.
struct Turns {
    verb: Verb,
    link: Link,
    events: bool,
    message: usize,
    /// Where arrivals begin, and how far they are apart.
    slots: (usize, usize),
    posted: u64,
    /// Of those, known to be done.
    completed: u64,
    received: u64,
}

impl Turns {
    fn new(verb: Verb, flow: Socket, told: &Flow) -> Result<Self, LoadError> {
        let settings = RdmaSettings::of(&told.job)?;
        let message = told.message();
        let header = settings.header_bytes();
        let slots = (message.next_multiple_of(64), (message + header).next_multiple_of(64));
        let need = Need {
            verb,
            sends: 2 * QUIET as u32,
            receives: TRIP_RECEIVES as u32,
            bytes: slots.0 + TRIP_RECEIVES as usize * slots.1,
            pattern: false,
            access: Access {
                write: matches!(verb, Verb::Write | Verb::WriteImm),
                lands_reads: verb == Verb::Read,
                relaxed: settings.relaxed,
                ..Access::default()
            },
        };
        let arrives = matches!(verb, Verb::Send | Verb::WriteImm);
        let link = establish(flow, told, &settings, &need, &|base| {
            let rooms = if arrives { 0..TRIP_RECEIVES } else { 0..0 };
            let place = |at: u64| base + slots.0 as u64 + at * slots.1 as u64;
            let length = (message + header) as u32;
            rooms.map(|at| Room { id: 0, address: place(at), length }).collect()
        })?;
        let events = settings.events;
        Ok(Self { verb, link, events, message, slots, posted: 0, completed: 0, received: 0 })
    }

    /// Sends one message. The other end hears of all, this end of few.
    fn post(&mut self) -> Result<(), LoadError> {
        let answered = is_one_sided(self.verb) && self.verb != Verb::Write;
        let signaled = answered || (self.posted + 1).is_multiple_of(QUIET);
        // A target that stands by lends its memory from the beginning.
        let at = if answered { 0 } else { self.slots.0 as u64 };
        let Remote { address, key } = self.link.remote;
        let work = Work {
            verb: self.verb,
            id: self.posted,
            address: self.link.base,
            length: self.message as u32,
            local_key: self.link.pair.local_key(),
            remote: Remote { address: address.wrapping_add(at), key },
            signaled,
            inline: self.link.told.inline && !answered,
        };
        self.link.pair.post(&[work])?;
        self.posted += 1;
        Ok(())
    }

    /// Waits for what ends a turn; false when the run is over.
    fn wait(&mut self, lane: &mut Lane) -> Result<bool, LoadError> {
        match self.verb {
            Verb::Write => self.look(lane),
            _ => self.hear(lane),
        }
    }

    /// Looks at the last byte of what the other end writes: it changes with every turn.
    fn look(&mut self, lane: &mut Lane) -> Result<bool, LoadError> {
        let at = self.slots.0 + self.message - 1;
        let wanted = turn_byte(self.received);
        let mut patience = Patience::default();
        while self.link.pair.memory().byte(at) != wanted {
            let phase = lane.phase();
            if phase == Phase::Stop {
                return Ok(false);
            }
            if patience.is_over(0, false) && phase == Phase::Window {
                return Err(stalled());
            }
            // Where nothing moves unless this program calls, what it looks for does not either.
            let calls = self.link.pair.needs_calls();
            if (calls || self.posted - self.completed >= QUIET) && !self.reap(lane)? {
                return Ok(false);
            }
        }
        self.received += 1;
        Ok(true)
    }

    /// Takes completions of own requests; false when the other end is over.
    fn reap(&mut self, lane: &mut Lane) -> Result<bool, LoadError> {
        let mut done = [Completion::default(); 2];
        let count = self.link.pair.poll(&mut done)?;
        for completion in &done[..count] {
            if !self.is_good(completion, lane)? {
                return Ok(false);
            }
            self.completed += QUIET;
        }
        Ok(true)
    }

    fn is_good(&self, completion: &Completion, lane: &mut Lane) -> Result<bool, LoadError> {
        match completion.failed() {
            None => Ok(true),
            Some(_) if lane.phase() >= Phase::Cooldown => Ok(false),
            Some(why) => Err(LoadError::Peer(format!("a request failed: {why}"))),
        }
    }

    /// Waits for an arrival, or for the completion of a read or an atomic operation.
    fn hear(&mut self, lane: &mut Lane) -> Result<bool, LoadError> {
        let answers = matches!(self.verb, Verb::Send | Verb::WriteImm);
        let mut patience = Patience::default();
        loop {
            let mut done = [Completion::default(); 1];
            if self.link.pair.take(&mut done, self.events)? == 0 {
                let phase = lane.phase();
                if phase == Phase::Stop {
                    return Ok(false);
                }
                if patience.is_over(0, self.events) && phase == Phase::Window {
                    return Err(stalled());
                }
                continue;
            }
            let completion = done[0];
            if !self.is_good(&completion, lane)? {
                return Ok(false);
            }
            if completion.arrived == answers {
                self.received += 1;
                return Ok(true);
            }
        }
    }

    /// Posts the buffer of the arrival that was just taken again.
    fn again(&mut self) -> Result<(), LoadError> {
        if matches!(self.verb, Verb::Send | Verb::WriteImm) {
            let turn = (self.received - 1) % TRIP_RECEIVES;
            let at = self.link.base + self.slots.0 as u64 + turn * self.slots.1 as u64;
            self.link.pair.post_receive(0, at, self.slots.1 as u32)?;
        }
        Ok(())
    }

    fn mark(&mut self, turn: u64) {
        if self.verb == Verb::Write {
            self.link.pair.memory().set_byte(self.message - 1, turn_byte(turn));
        }
    }
}

/// What the last byte of a turn's message is: never what a turn before it was, and not the zero
/// that the memory begins with.
fn turn_byte(turn: u64) -> u8 {
    (turn % 255) as u8 + 1
}

/// The end that asks and takes the time.
pub fn ask(verb: Verb, lane: &mut Lane, flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let mut turns = Turns::new(verb, flow, told)?;
    let mut trips = Trips::none()?;
    lane.wait_at_gate();
    let mut turn = 0;
    loop {
        let phase = lane.phase();
        if phase == Phase::Stop {
            break;
        }
        turns.mark(turn);
        let began = Instant::now();
        turns.post()?;
        if !turns.wait(lane)? {
            break;
        }
        let took = began.elapsed();
        turns.again()?;
        lane.tally.moved(1, turns.message as u64);
        if phase == Phase::Window {
            trips.took(took.as_nanos() as u64);
        }
        turn += 1;
    }
    // What stands by waits for a last word.
    let said = turns.link.talk.say(super::talk::Word::Done, &0u64.to_be_bytes());
    drop(said);
    let rdma = Some(turns.link.told);
    Ok(LaneEnd { round_trips: Some(trips), rdma, ..LaneEnd::default() })
}

/// The end that answers, or whose NIC does.
pub fn answer(
    verb: Verb,
    lane: &mut Lane,
    flow: Socket,
    told: &Flow,
) -> Result<LaneEnd, LoadError> {
    if is_one_sided(verb) && verb != Verb::Write {
        return stand_by(verb, lane, flow, told);
    }
    let mut turns = Turns::new(verb, flow, told)?;
    lane.wait_at_gate();
    let mut turn = 0;
    while turns.wait(lane)? {
        turns.again()?;
        turns.mark(turn);
        turns.post()?;
        lane.tally.moved(1, turns.message as u64);
        turn += 1;
    }
    Ok(LaneEnd { rdma: Some(turns.link.told), ..LaneEnd::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_looks_unlike_the_one_before_and_unlike_nothing() {
        for turn in 0..1000 {
            assert_ne!(turn_byte(turn), 0);
            assert_ne!(turn_byte(turn), turn_byte(turn + 1));
        }
    }
}
