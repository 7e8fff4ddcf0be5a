//! Why an agent does not run what a peer orders: its owner's limits, or the order itself.

use crate::responses::NotHeld;
use crate::session::WORKERS_MAX;
use narrows_model::Bytes;
use narrows_model::record::Fault;
use narrows_workloads::LoadError;
use narrows_workloads::harness::grant::VALID_MAX;
use std::net::IpAddr;
use thiserror::Error;

/// Why an agent does not run what a peer orders.
#[derive(Debug, Error)]
pub enum NotGranted {
    /// It connects, and not to this end, or is of this host alone.
    #[error("an agent runs only the end of a network workload that listens")]
    DoesNotListen,
    /// A background load, which would go on until somebody ends it.
    #[error("an agent runs no load without a time limit")]
    Endless,
    /// The owner has not said that ends here may meet another agent's.
    #[error(
        "this agent's limits: no end here meets another agent's at {peer}; its owner allows \
             that with --peers"
    )]
    Peer {
        /// The other agent, by the controller's words.
        peer: IpAddr,
    },
    /// Frames by an interface that the owner does not lend.
    #[error("this agent's limits: {}", not_lent(asked, lent))]
    Interface {
        /// Name of the interface.
        asked: String,
        /// Those that the owner lends.
        lent: Vec<String>,
    },
    /// Frames to a MAC address that a peer names.
    #[error(
        "this agent's limits: it sends no frames to another MAC address than that of the interface \
         that has proved itself: leave --mac out"
    )]
    Mac,
    /// A grant without an end.
    #[error("a grant of {asked_s} s, at most {} s", VALID_MAX.as_secs())]
    Valid {
        /// How long the grant is to be good for, in whole seconds.
        asked_s: u64,
    },
    /// An order to connect to somebody that the end's grant does not name.
    #[error("an order to connect to {asked}, which the end has no grant to meet")]
    Target {
        /// Where it says to go.
        asked: IpAddr,
    },
    /// Too many ends at once.
    #[error("more than {WORKERS_MAX} ends at once")]
    Workers,
    #[error(transparent)]
    Senseless(#[from] LoadError),
    /// A run that is too long for the owner.
    #[error("this agent's limits: a run of {asked_s} s, at most {most_s}")]
    Seconds {
        /// Length of the time line, in whole seconds.
        asked_s: u64,
        /// The owner's limit in seconds.
        most_s: u32,
    },
    /// Too many flows for the owner.
    #[error("this agent's limits: {asked} flows, at most {most}")]
    Flows {
        /// Flows of both directions.
        asked: u32,
        /// The owner's limit.
        most: u32,
    },
    /// Too much memory for the owner.
    #[error("this agent's limits: {asked} of buffers ({sockets} of them sockets'), at most {most}")]
    Memory {
        /// All that the end would take.
        asked: Bytes,
        /// What sockets' queues would take of it.
        sockets: Bytes,
        /// The owner's limit.
        most: Bytes,
    },
    /// This end would send without a pace, or above the owner's.
    #[error("this agent's limits: it sends at most {} Mb/s; name a pace (-b)", most_bps / 1_000_000)]
    Rate {
        /// The owner's limit in bits a second.
        most_bps: u64,
    },
    /// This end would send bursts, which have no pace.
    #[error(
        "this agent's limits: it sends at most {} Mb/s, and bursts go as fast as they can: they \
         need an agent without --max-rate",
        most_bps / 1_000_000
    )]
    Bursts {
        /// The owner's limit in bits a second.
        most_bps: u64,
    },
    /// Responses that cannot be held to the owner's rate.
    #[error(transparent)]
    Responses(#[from] NotHeld),
    /// All ends here together would send above the owner's rate.
    #[error(
        "this agent's limits: its ends send at most {} Mb/s together, and {:.0} Mb/s were asked for",
        most_bps / 1_000_000, *asked_bps as f64 / 1e6
    )]
    Rates {
        /// The paces of all ends that send, in bits a second.
        asked_bps: u64,
        /// The owner's limit in bits a second.
        most_bps: u64,
    },
}

/// Why an interface cannot be had for frames, of an owner that lends these.
pub(crate) fn not_lent(asked: &str, lent: &[String]) -> String {
    match lent {
        [] => "its owner lends no interface for frames (narrows serve --packets)".to_owned(),
        lent => format!("its owner lends {} for frames, and not {asked}", lent.join(" and ")),
    }
}

impl NotGranted {
    /// Whether the owner's limits are the reason, or the order itself.
    pub fn fault(&self) -> Fault {
        match self {
            Self::DoesNotListen | Self::Endless | Self::Senseless(_) => Fault::Machine,
            Self::Seconds { .. }
            | Self::Flows { .. }
            | Self::Memory { .. }
            | Self::Rate { .. }
            | Self::Bursts { .. }
            | Self::Rates { .. }
            | Self::Responses(_)
            | Self::Peer { .. }
            | Self::Interface { .. }
            | Self::Mac
            | Self::Valid { .. }
            | Self::Target { .. }
            | Self::Workers => Fault::Beyond,
        }
    }
}
