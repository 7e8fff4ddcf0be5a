//! What happens at a door, for the log that the command prints; strangers cannot fill that log.

use crate::throttle::Throttle;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What happened, for the log that the command prints.
pub enum Event {
    /// A session began: a controller with the key came, or an iperf3 client's test began.
    Session(String),
    /// A connection was turned away or ended by a fault.
    TurnedAway(String),
    /// A stranger's connection had to make room for another.
    Dropped(String),
    /// A session ended as it should.
    Ended(String),
    /// So many of a kind were not told of, because there were too many in a second.
    LeftOut {
        /// Kind of the events that were left out.
        kind: Kind,
        /// How many of them since the last line of that kind.
        count: u64,
    },
}

/// Kinds of events that strangers can bring about as often as they like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Of [`Event::Session`], without what it holds.
    Session,
    /// Of [`Event::TurnedAway`], without what it holds.
    TurnedAway,
    /// Of [`Event::Dropped`], without what it holds.
    Dropped,
    /// Of [`Event::Ended`], without what it holds.
    Ended,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Session => "sessions",
            Self::TurnedAway => "connections turned away",
            Self::Dropped => "connections dropped to make room",
            Self::Ended => "sessions ended",
        })
    }
}

/// Tells what happened, a few lines a second of each kind.
pub struct Teller<L> {
    log: L,
    throttle: Mutex<Throttle<Kind>>,
}

impl<L: Fn(Event)> Teller<L> {
    /// Tells it to `log`.
    pub fn new(log: L) -> Self {
        Self { log, throttle: Mutex::new(Throttle::new()) }
    }

    /// Tells of one event, or counts it.
    pub fn tell(&self, event: Event) {
        let kind = match &event {
            Event::Session(_) => Kind::Session,
            Event::TurnedAway(_) => Kind::TurnedAway,
            Event::Dropped(_) => Kind::Dropped,
            Event::Ended(_) => Kind::Ended,
            Event::LeftOut { kind, .. } => *kind,
        };
        let mut throttle = self.throttle.lock().unwrap_or_else(PoisonError::into_inner);
        if throttle.may_say(kind, Instant::now()) {
            drop(throttle);
            (self.log)(event);
        }
    }

    /// Tells what was left out, where it is time to.
    pub fn tell_left_out(&self) {
        let mut throttle = self.throttle.lock().unwrap_or_else(PoisonError::into_inner);
        let left_out = throttle.left_out(Instant::now());
        drop(throttle);
        left_out.into_iter().for_each(|(kind, count)| (self.log)(Event::LeftOut { kind, count }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::time::Duration;

    #[test]
    fn each_kind_is_counted_by_itself_and_told_by_its_name() {
        let log = RefCell::new(Vec::new());
        let teller = Teller::new(|event| {
            log.borrow_mut().push(match event {
                Event::Session(who) => format!("session {who}"),
                Event::TurnedAway(who) => format!("away {who}"),
                Event::Dropped(who) => format!("dropped {who}"),
                Event::Ended(who) => format!("ended {who}"),
                Event::LeftOut { kind, count } => format!("{count} {kind}"),
            });
        });
        let said: [fn(String) -> Event; 4] =
            [Event::Session, Event::TurnedAway, Event::Dropped, Event::Ended];
        for (at, event) in said.into_iter().enumerate() {
            // Five are told in a second: one, two, three and four of these are not.
            (0..6 + at).for_each(|_| teller.tell(event("x".into())));
        }
        let lines = log.borrow().clone();
        // A loaded machine may take more than a second; it tells more then.
        assert!(lines.len() >= 20, "{lines:?}");
        for kind in ["session x", "away x", "dropped x", "ended x"] {
            assert!(lines.iter().filter(|line| *line == kind).count() >= 5, "{kind}: {lines:?}");
        }
        let later = Instant::now() + Duration::from_secs(5);
        let left = teller.throttle.lock().expect("no panic").left_out(later);
        let told = lines.len() as u64 + left.iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!(told, 6 + 7 + 8 + 9);
        if lines.len() == 20 {
            let all = [Kind::Session, Kind::TurnedAway, Kind::Dropped, Kind::Ended];
            assert_eq!(left, all.into_iter().zip(1..).collect::<Vec<_>>());
        }
        let names = [Kind::Session, Kind::TurnedAway, Kind::Dropped, Kind::Ended];
        assert_eq!(
            names.map(|kind| kind.to_string()),
            [
                "sessions",
                "connections turned away",
                "connections dropped to make room",
                "sessions ended"
            ]
        );
    }
}
