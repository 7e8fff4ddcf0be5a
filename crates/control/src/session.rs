//! The words between a controller and one end of a trial, and their order. No I/O.
//!
//! ```text
//! controller            end
//!   Prepare(job)  ->
//!                 <-  Prepared(ports)
//!   Arm(ports)    ->                    the receiver first, then the sender
//!                 <-  Armed             once its connections stand
//!   Go(hold)      ->
//!                 <-  Moved               now and then, where `Go` asks for it
//!                 <-  Closed              its window is over, its load goes on
//!   Release       ->                    once every window is over
//!                 <-  Finished(report)
//! ```
//! An end that stopped its load as soon as its own window is over would take its flows out of a
//! window that opened later: on a busy host that is later than any cool-down lasts. An end of
//! before `hold` was there says `Finished` in place of `Closed`.
//!
//! A background load is told `GoUntilTold` in place of `Go`, says `Running` when its window opens,
//! and reports `Finished` when its orders end (the controller closes the pipe).
//!
//! At any point an end may say `Failed`, and a controller may go away, which ends the end.

use narrows_model::Nanos;
use narrows_model::load::{EndReport, Job};
use narrows_model::record::{Fault, Stage};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use thiserror::Error;

/// Most workers of one session.
pub const WORKERS_MAX: usize = 64;

/// From a controller to an end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case")]
pub enum Order {
    /// Make buffers and listening sockets.
    Prepare { job: Box<Job> },
    /// Connect or accept, and stand at the gate.
    Arm {
        /// Where the receiver listens; empty for the receiver itself.
        peer: Vec<SocketAddr>,
    },
    /// Run the time line.
    Go {
        /// Keep the load up after the window, until `Release`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hold: bool,
        /// Say what was moved after each so long of the window. An end of before this was there
        /// refuses it, and says by its absence from what it offers that it would.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tell_ns: Option<Nanos>,
    },
    /// Stop the load: every window is over.
    Release,
    /// Run with a window that lasts until the orders end. Never taken from a peer.
    GoUntilTold,
}

/// From an end to its controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case")]
pub enum Answer {
    /// Ready to be armed.
    Prepared {
        /// Ports that this end listens on.
        ports: Vec<u16>,
    },
    /// Standing at the gate.
    Armed,
    /// The window that lasts until told has opened.
    Running,
    /// What this end counted in a part of its window; the report will have all of it too.
    Moved { part: Part },
    /// The window is over; the load is held until `Release`.
    Closed,
    /// The run is over.
    Finished { report: Box<EndReport> },
    Failed {
        at: Stage,
        why: String,
        /// What kind of fault it was.
        #[serde(default, skip_serializing_if = "Fault::is_of_machine")]
        fault: Fault,
    },
}

/// A part of a window as an end counted it, told while the window is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// From the opening of the end's own window.
    pub start_ns: Nanos,
    pub length_ns: Nanos,
    /// Payload; where an end sends and receives, what it received.
    pub bytes: u64,
    /// Messages of that payload.
    pub messages: u64,
}

/// What an end waits for next. An order out of turn is refused, whoever sends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    /// [`Order::Prepare`] is next.
    #[default]
    Prepare,
    /// [`Order::Arm`] is next.
    Arm,
    /// One of the orders to go is next.
    Go,
    /// [`Order::Release`] is next.
    Release,
    /// No order makes sense any more.
    Done,
}

/// An order came out of turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an order out of turn: {due:?} was due")]
pub struct OutOfTurn {
    /// What the end waited for.
    pub due: Turn,
}

impl Turn {
    /// The turn after this order, or why it is out of turn.
    pub fn after(self, order: &Order) -> Result<Self, OutOfTurn> {
        match (self, order) {
            (Self::Prepare, Order::Prepare { .. }) => Ok(Self::Arm),
            (Self::Arm, Order::Arm { .. }) => Ok(Self::Go),
            (Self::Go, Order::Go { hold: true, .. }) => Ok(Self::Release),
            (Self::Go, Order::Go { hold: false, .. } | Order::GoUntilTold)
            | (Self::Release, Order::Release) => Ok(Self::Done),
            (due, _) => Err(OutOfTurn { due }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_order_of_orders_is_allowed() {
        let arm = Order::Arm { peer: vec![] };
        assert!(Turn::Prepare.after(&arm).is_err());
        let go = |hold| Order::Go { hold, tell_ns: None };
        assert!(Turn::Prepare.after(&go(false)).is_err());
        assert_eq!(Turn::Arm.after(&arm), Ok(Turn::Go));
        assert_eq!(Turn::Go.after(&go(false)), Ok(Turn::Done));
        assert_eq!(Turn::Go.after(&go(true)), Ok(Turn::Release));
        assert_eq!(Turn::Release.after(&Order::Release), Ok(Turn::Done));
        assert!(Turn::Go.after(&Order::Release).is_err());
        assert!(Turn::Release.after(&go(true)).is_err());
        assert_eq!(Turn::Go.after(&Order::GoUntilTold), Ok(Turn::Done));
        assert!(Turn::Arm.after(&Order::GoUntilTold).is_err());
        assert!(Turn::Done.after(&go(false)).is_err());
    }

    #[test]
    fn words_of_before_hold_are_understood() {
        let go: Order = serde_json::from_str(r#"{"say": "go"}"#).expect("an order");
        assert_eq!(go, Order::Go { hold: false, tell_ns: None });
        let text = serde_json::to_string(&go).expect("JSON");
        assert_eq!(text, r#"{"say":"go"}"#, "and told an older end as it was");
    }

    /// Texts that other versions say and understand; a change here is one of the protocol.
    #[test]
    fn words_are_what_other_versions_wait_for() {
        let peer = vec!["192.0.2.1:7".parse().expect("an address")];
        for (order, text) in [
            (Order::Arm { peer }, r#"{"say":"arm","peer":["192.0.2.1:7"]}"#),
            (
                Order::Go { hold: true, tell_ns: Some(Nanos(9)) },
                r#"{"say":"go","hold":true,"tell_ns":9}"#,
            ),
            (Order::Release, r#"{"say":"release"}"#),
            (Order::GoUntilTold, r#"{"say":"go-until-told"}"#),
        ] {
            assert_eq!(serde_json::to_string(&order).expect("JSON"), text);
            assert_eq!(serde_json::from_str::<Order>(text).expect("an order"), order);
        }
        let part = Part { start_ns: Nanos(1), length_ns: Nanos(2), bytes: 3, messages: 4 };
        let failed = |fault| Answer::Failed { at: Stage::Prepare, why: "x".into(), fault };
        for (answer, text) in [
            (Answer::Prepared { ports: vec![7, 8] }, r#"{"say":"prepared","ports":[7,8]}"#),
            (Answer::Armed, r#"{"say":"armed"}"#),
            (Answer::Running, r#"{"say":"running"}"#),
            (
                Answer::Moved { part },
                r#"{"say":"moved","part":{"start_ns":1,"length_ns":2,"bytes":3,"messages":4}}"#,
            ),
            (Answer::Closed, r#"{"say":"closed"}"#),
            (failed(Fault::Machine), r#"{"say":"failed","at":"prepare","why":"x"}"#),
            (
                failed(Fault::Beyond),
                r#"{"say":"failed","at":"prepare","why":"x","fault":"beyond"}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&answer).expect("JSON"), text);
            assert_eq!(serde_json::from_str::<Answer>(text).expect("an answer"), answer);
        }
    }
}
