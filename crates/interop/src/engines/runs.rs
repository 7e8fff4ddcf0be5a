//! How a tool's ends are started.

use super::generators::Generator;

/// How a tool makes a load between two hosts.
#[derive(Clone, Copy)]
pub enum Runs {
    /// A client that meets a server.
    ClientAndServer,
    /// This program, whose ranks the tool's program starts on both hosts.
    Ranks,
    /// A generator of packets, which are counted here where they come.
    Generator(&'static Generator),
}

impl Runs {
    /// Whether its server can be started apart from its client.
    pub fn has_server(self) -> bool {
        matches!(self, Self::ClientAndServer)
    }

    /// Whether a launcher starts it on both hosts.
    pub fn is_ranks(self) -> bool {
        matches!(self, Self::Ranks)
    }
}
