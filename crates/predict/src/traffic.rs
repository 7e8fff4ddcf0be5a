//! Kinds of traffic: how bytes travel, and what that asks of each resource.

use crate::framing::{self, Rdma};

/// What an RDMA operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Into the other's memory.
    Write,
    /// Out of it.
    Read,
    /// Into a buffer that the other has posted.
    Send,
}

/// One way to move bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// TCP, large writes.
    Tcp,
    /// TCP whose sender does not copy (MSG_ZEROCOPY, sendfile); its receiver does.
    ZeroCopy,
    /// UDP through the kernel's sockets.
    Udp,
    /// An RDMA verb, by how its packets are framed.
    Rdma(Rdma, Verb),
    /// Messages of MPI over verbs.
    Mpi(Rdma),
    /// Smallest packets, looked for and not waited for, by one core.
    Packets,
}

/// Messages up to this size MPI copies through buffers of its own (assumed: common defaults lie
/// between 8 and 32 KiB).
pub const EAGER_BYTES: f64 = 12_288.0;

impl Traffic {
    /// What a write over verbs is taken to be on Ethernet.
    pub const ROCE_WRITE: Self = Self::Rdma(Rdma::RoceV2, Verb::Write);

    /// All kinds over Ethernet, or all over InfiniBand, that the model speaks of.
    pub fn all(infiniband: bool) -> Vec<Self> {
        use Verb::{Read, Send, Write};
        if infiniband {
            let verbs = [Write, Read, Send].map(|verb| Self::Rdma(Rdma::InfiniBand, verb));
            return [&verbs[..], &[Self::Mpi(Rdma::InfiniBand)]].concat();
        }
        vec![
            Self::Tcp,
            Self::ZeroCopy,
            Self::Udp,
            Self::Rdma(Rdma::RoceV2, Write),
            Self::Rdma(Rdma::RoceV2, Read),
            Self::Rdma(Rdma::RoceV2, Send),
            Self::Rdma(Rdma::RoceV1, Write),
            Self::Rdma(Rdma::Iwarp, Write),
            Self::Mpi(Rdma::RoceV2),
            Self::Packets,
        ]
    }

    /// Its name: `tcp`, `rdma-write rocev2`.
    pub fn name(self) -> String {
        let verb = |verb| match verb {
            Verb::Write => "write",
            Verb::Read => "read",
            Verb::Send => "send",
        };
        match self {
            Self::Tcp => "tcp".to_owned(),
            Self::ZeroCopy => "tcp-zerocopy".to_owned(),
            Self::Udp => "udp".to_owned(),
            Self::Rdma(kind, of) => format!("rdma-{} {}", verb(of), transport(kind)),
            Self::Mpi(kind) => format!("mpi {}", transport(kind)),
            Self::Packets => "packets".to_owned(),
        }
    }

    /// Whether the kernel carries it.
    pub fn is_kernel(self) -> bool {
        matches!(self, Self::Tcp | Self::ZeroCopy | Self::Udp)
    }

    /// What its rates are in.
    pub fn unit(self) -> &'static str {
        if self == Self::Packets { "M packets/s" } else { "Gb/s" }
    }

    /// Payload share of a link's bits, of messages of `message` bytes at an MTU, TCP with or
    /// without timestamps.
    pub fn framing(self, message: f64, mtu: f64, timestamps: bool) -> f64 {
        match self {
            Self::Tcp | Self::ZeroCopy | Self::Packets => framing::tcp(mtu, timestamps),
            Self::Udp => framing::udp(mtu, message.min(UDP_MOST)),
            Self::Rdma(kind, verb) => framing::verb(kind, message, packet(kind, mtu), own(verb)),
            Self::Mpi(kind) => framing::verb(kind, message, packet(kind, mtu), own(Verb::Send)),
        }
    }

    /// Payload of a full frame, and bytes of it that go to memory.
    pub fn frame(self, mtu: f64) -> (f64, f64) {
        match self {
            Self::Tcp | Self::ZeroCopy | Self::Packets => {
                (framing::tcp_payload_bytes(mtu, true), mtu + 14.0)
            }
            Self::Udp => (mtu - 28.0, mtu + 14.0),
            // Of an RDMA packet only the data goes to memory.
            Self::Rdma(kind, _) | Self::Mpi(kind) => (packet(kind, mtu), packet(kind, mtu)),
        }
    }

    /// Bytes of memory traffic a payload byte, least and most and what is taken, where nothing was
    /// fitted: the device moves each byte once; what MPI copies is read, fetched and written.
    pub fn moved(self, message: f64) -> (f64, f64, f64) {
        match self {
            Self::Mpi(_) if message <= EAGER_BYTES => (1.0, 4.0, 3.0),
            // The device reads what the caches may not hold any more.
            Self::ZeroCopy => (1.0, 2.0, 1.0),
            _ => (1.0, 1.0, 1.0),
        }
    }
}

/// The largest datagram over IPv4.
pub const UDP_MOST: f64 = 65_507.0;

fn transport(kind: Rdma) -> &'static str {
    match kind {
        Rdma::InfiniBand => "ib",
        Rdma::RoceV1 => "rocev1",
        Rdma::RoceV2 => "rocev2",
        Rdma::Iwarp => "iwarp",
    }
}

/// Data of a full packet. An InfiniBand path is taken at its largest.
fn packet(kind: Rdma, mtu: f64) -> f64 {
    match kind {
        Rdma::InfiniBand => 4096.0,
        Rdma::Iwarp => mtu,
        _ => framing::path_mtu(mtu),
    }
}

/// Header bytes that a message has once: address and key of a write, sequence numbers of a read's
/// first and last response.
fn own(verb: Verb) -> f64 {
    match verb {
        Verb::Write => 16.0,
        Verb::Read => 8.0,
        Verb::Send => 0.0,
    }
}
