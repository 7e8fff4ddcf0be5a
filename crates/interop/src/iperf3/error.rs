//! Why there is no test with an iperf3 server, or no server.

use super::State;
use narrows_control::ControlError;
use std::io;
use std::net::SocketAddr;
use thiserror::Error;

/// Why a test with an iperf3 server cannot be had, or clients cannot be served.
#[derive(Debug, Error)]
pub enum Iperf3Error {
    /// A name has no address that could be reached.
    #[error("{host}: {why}")]
    UnknownHost {
        /// The name that was looked up.
        host: String,
        /// What the system says of it.
        why: String,
    },
    /// No route leads to the server.
    #[error("iperf3 server at {host} port {port}: {error}")]
    NoRoute {
        host: String,
        /// Its TCP port.
        port: u16,
        /// The system's answer.
        error: io::Error,
    },
    /// The server cannot be reached, or closed.
    #[error("iperf3 server at {at}: {error}")]
    Closed {
        at: SocketAddr,
        /// What the system says of the connection.
        error: io::Error,
    },
    /// The server has another client's test.
    #[error("iperf3 server at {at}: busy with another test")]
    Busy { at: SocketAddr },
    /// The server does not make this test.
    #[error("iperf3 server at {at}: it refuses the test")]
    Refused { at: SocketAddr },
    /// The server leads the test elsewhere than its protocol does.
    #[error("iperf3 server at {at}: {heard:?} in place of {wanted:?}")]
    OutOfTurn {
        at: SocketAddr,
        /// The state that it went to.
        heard: State,
        /// The state that was due.
        wanted: State,
    },
    /// Figures that cannot be.
    #[error("the iperf3 server reported {0}")]
    Nonsense(Nonsense),
    /// This side cannot begin: no random numbers, or a port that cannot be listened on.
    #[error(transparent)]
    Own(#[from] ControlError),
}

/// What a server reported that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum Nonsense {
    /// Another number of streams than it was asked for.
    #[error("{0} streams")]
    Streams(usize),
    /// A test that took no time, or more than a week.
    #[error("a test of {0} s")]
    Seconds(f64),
}
