//! The words between a controller and one end of a trial, and their order. No I/O.
//!
//! ```text
//! controller            end
//!   Prepare(job)  ->
//!                 <-  Prepared(ports)
//!   Arm(ports)    ->                    the sink first, then the source
//!                 <-  Armed             once its connections stand
//!   Go            ->
//!                 <-  Finished(report)
//! ```
//! A background load is told `GoUntilTold` in place of `Go`, says `Running` when its window opens,
//! and reports `Finished` when its orders end (the controller closes the pipe).
//!
//! At any point an end may say `Failed`, and a controller may go away, which ends the end.

use narrows_model::load::{EndReport, Job};
use narrows_model::record::{Fault, Stage};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use thiserror::Error;

/// From a controller to an end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case")]
pub enum Order {
    /// Make buffers and listening sockets.
    Prepare {
        /// What to run.
        job: Box<Job>,
    },
    /// Connect or accept, and stand at the gate.
    Arm {
        /// Where the sink listens; empty for the sink itself.
        peer: Vec<SocketAddr>,
    },
    /// Run the time line.
    Go,
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
    /// The run is over.
    Finished {
        /// What was measured.
        report: Box<EndReport>,
    },
    /// It went wrong.
    Failed {
        /// How far it got.
        at: Stage,
        /// What went wrong.
        why: String,
        /// What kind of fault it was.
        #[serde(default, skip_serializing_if = "Fault::is_of_machine")]
        fault: Fault,
    },
}

/// What an end waits for next. An order out of turn is refused, whoever sends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    /// `Prepare`.
    #[default]
    Prepare,
    /// `Arm`.
    Arm,
    /// `Go`.
    Go,
    /// Nothing more.
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
            (Self::Go, Order::Go | Order::GoUntilTold) => Ok(Self::Done),
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
        assert!(Turn::Prepare.after(&Order::Go).is_err());
        assert_eq!(Turn::Arm.after(&arm), Ok(Turn::Go));
        assert_eq!(Turn::Go.after(&Order::Go), Ok(Turn::Done));
        assert_eq!(Turn::Go.after(&Order::GoUntilTold), Ok(Turn::Done));
        assert!(Turn::Arm.after(&Order::GoUntilTold).is_err());
        assert!(Turn::Done.after(&Order::Go).is_err());
    }
}
