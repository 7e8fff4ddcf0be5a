//! Requests that leave when they are due, however many are unanswered: an open loop. Each round
//! trip is kept with when it was due, so that what waits in a queue is seen as it grows and drains.

use super::clock::monotonic_ns;
use super::socket::LOOK_UP;
use super::trips::Trips;
use super::{Lane, LaneEnd, Phase};
use crate::LoadError;
use narrows_model::load::Params;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Farther than this from the next request it sleeps; nearer it asks again and again, since waking
/// takes a good part of it.
const SPIN_WITHIN: Duration = Duration::from_micros(150);

/// Carries requests and answers over one flow, and waits for neither.
pub trait Carrier: AsFd {
    /// Sends a request; false where the kernel took none of it, and it is lost.
    fn ask(&mut self, lane: &Lane, number: u64) -> Result<bool, LoadError>;
    /// The number of a request whose answer has come; `None` where none waits to be read.
    fn answered(&mut self, lane: &Lane) -> Result<Option<u64>, LoadError>;
}

/// Requests so far, in order of their numbers.
struct Asked {
    first: Instant,
    first_ns: u64,
    gap: Duration,
    /// How long each took, in nanoseconds, and whether it was due in the window.
    took: Vec<(Option<u64>, bool)>,
}

impl Asked {
    fn due(&self, number: usize) -> Instant {
        self.first + self.gap.saturating_mul(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// The next request that is due.
    fn next(&self) -> Instant {
        self.due(self.took.len())
    }

    /// When each was due, by the monotonic clock, and how long it took.
    fn all(&self) -> Vec<(u64, Option<u64>)> {
        let gap_ns = self.gap.as_nanos() as u64;
        let due = (0u64..).map(|number| self.first_ns.saturating_add(gap_ns * number));
        due.zip(&self.took).map(|(due, (took, _))| (due, *took)).collect()
    }
}

/// Asks until the run is over.
pub fn ask(
    lane: &mut Lane,
    carrier: &mut dyn Carrier,
    params: &Params,
) -> Result<LaneEnd, LoadError> {
    let per_second = params.trip.as_ref().and_then(|trip| trip.per_second).unwrap_or(1).max(1);
    let mut trips = Trips::none()?;
    lane.wait_at_gate();
    let (first, first_ns) = (Instant::now(), monotonic_ns());
    let gap = Duration::from_nanos(1_000_000_000 / per_second);
    let mut asked = Asked { first, first_ns, gap, took: Vec::new() };
    loop {
        let phase = lane.phase();
        if phase == Phase::Stop {
            break;
        }
        let heard = hear(lane, carrier, &mut asked, &mut trips, params.message_bytes.0)?;
        if Instant::now() >= asked.next() {
            carrier.ask(lane, asked.took.len() as u64)?;
            asked.took.push((None, phase == Phase::Window));
        } else if !heard {
            wait(carrier, asked.next())?;
        }
    }
    let each = Some(asked.all());
    Ok(LaneEnd { round_trips: Some(trips), each, ..LaneEnd::default() })
}

/// Takes all answers that have come; whether there were any.
fn hear(
    lane: &Lane,
    carrier: &mut dyn Carrier,
    asked: &mut Asked,
    trips: &mut Trips,
    bytes: u64,
) -> Result<bool, LoadError> {
    let mut heard = false;
    while let Some(number) = carrier.answered(lane)? {
        heard = true;
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let took_ns = asked.due(number).elapsed().as_nanos() as u64;
        // The first answer counts; one to no request of ours does not.
        let Some((took @ None, in_window)) = asked.took.get_mut(number) else { continue };
        *took = Some(took_ns);
        lane.tally.moved(1, bytes);
        if *in_window {
            trips.took(took_ns);
        }
    }
    Ok(heard)
}

/// Waits for an answer until shortly before a request is due.
fn wait(carrier: &dyn Carrier, due: Instant) -> Result<(), LoadError> {
    let left = due.saturating_duration_since(Instant::now()).saturating_sub(SPIN_WITHIN);
    if left.is_zero() {
        return Ok(());
    }
    let mut fds = [PollFd::new(carrier.as_fd(), PollFlags::POLLIN)];
    match ppoll(&mut fds, Some(TimeSpec::from_duration(left.min(LOOK_UP))), None) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(error) => Err(LoadError::system("waiting for an answer")(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_has_its_time_whenever_it_was_answered() {
        let gap = Duration::from_millis(5);
        let took = vec![(Some(7), true), (None, true), (Some(9), true)];
        let asked = Asked { first: Instant::now(), first_ns: 1_000, gap, took };
        let wanted = vec![(1_000, Some(7)), (5_001_000, None), (10_001_000, Some(9))];
        assert_eq!(asked.all(), wanted);
        assert_eq!(asked.next() - asked.first, Duration::from_millis(15));
    }
}
