//! What an RDMA workload is told, and what it was given.

use crate::Bytes;
use crate::worded::worded;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What RDMA can be told beside messages and flows. A flow is a queue pair with a thread of its
/// own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RdmaParams {
    /// The device of the end that receives or answers.
    #[serde(rename = "sink", skip_serializing_if = "RdmaPlace::is_default")]
    pub receiver: RdmaPlace,
    /// The device of the end that sends or asks.
    #[serde(rename = "source", skip_serializing_if = "RdmaPlace::is_default")]
    pub sender: RdmaPlace,
    /// How queue pairs find each other; `None` is by exchange, and over iWARP by the connection
    /// manager: it knows no other way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<RdmaConnection>,
    /// Service of the queue pairs; `None` is a reliable connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<RdmaService>,
    /// Outstanding requests on a queue pair; `None` is 128, and less where they hold more than 25
    /// MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Requests posted with one call; `None` is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_list: Option<u32>,
    /// Ask for a completion every N requests; `None` is a quarter of the depth,
    /// and a sixteenth of it for messages beyond 8 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal_every: Option<u32>,
    /// Messages up to so many bytes are copied into the request; `None` is 0 for streams and 64 for
    /// round trips, as far as the device takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inline_bytes: Option<u32>,
    /// Largest packet; `None` is that of the port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_mtu_bytes: Option<u32>,
    /// Service level (InfiniBand).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_level: Option<u8>,
    /// Traffic class (RoCE).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic_class: Option<u8>,
    /// The NIC's writes may pass each other on PCIe.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub relaxed_ordering: bool,
    /// Pages of the buffers, as memory kernels name them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<String>,
    /// `libfabric`; `None` is verbs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// Provider of libfabric; `None` is the library's first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

impl RdmaParams {
    /// Whether something was asked for that only queue pairs of verbs have.
    pub fn has_queue_pair_words(&self) -> bool {
        let Self { receiver, sender, depth, pages, via, provider, .. } = self.clone();
        let (receiver, sender) = (only_device(receiver), only_device(sender));
        *self != Self { receiver, sender, depth, pages, via, provider, ..Self::default() }
    }
}

fn only_device(place: RdmaPlace) -> RdmaPlace {
    RdmaPlace { device: place.device, ..RdmaPlace::default() }
}

/// A port of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RdmaPlace {
    /// The device; `None` is the one that has the end's own IP address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Its port; `None` is the first that is up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u8>,
    /// Place in the port's table of identifiers; `None` is the one made of the end's own IP
    /// address, RoCE v2 before v1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gid_index: Option<u8>,
}

impl RdmaPlace {
    /// True when nothing was asked for.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

worded! {
    /// How queue pairs find each other.
    pub enum RdmaConnection {
        /// By IP address, through the connection manager.
        Manager = "cm",
        /// By what the ends tell each other over a connection of their own.
        Exchange = "exchange",
    }
}

/// Of an end that says nothing.
impl Default for RdmaConnection {
    fn default() -> Self {
        Self::Other("".into())
    }
}

worded! {
    /// What queue pairs promise of messages.
    pub enum RdmaService {
        /// All verbs, in order, nothing lost.
        ReliableConnection = "rc",
        /// Writes and sends; what is lost stays lost.
        UnreliableConnection = "uc",
        /// Sends of one packet to any peer.
        UnreliableDatagram = "ud",
        /// Endpoints of libfabric: reliable messages to any peer.
        ReliableDatagram = "rdm",
    }
}

/// Of an end that says nothing.
impl Default for RdmaService {
    fn default() -> Self {
        Self::Other("".into())
    }
}

worded! {
    /// What carries the messages of queue pairs and endpoints.
    pub enum RdmaTransport {
        /// InfiniBand's own packets.
        InfiniBand = "InfiniBand",
        /// Over TCP's stream of bytes.
        Iwarp = "iWARP",
        /// Whatever the provider of libfabric has.
        Libfabric = "libfabric",
        /// Over Ethernet, of a version that the connection manager chose.
        Roce = "RoCE",
        /// Over Ethernet, which no router passes on.
        RoceV1 = "RoCE v1",
        /// Over UDP, which routers pass on.
        RoceV2 = "RoCE v2",
    }
}

/// Of an end that says nothing.
impl Default for RdmaTransport {
    fn default() -> Self {
        Self::Other("".into())
    }
}

/// What an end chose or was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RdmaEffective {
    /// Name of the device, such as `mlx5_0`.
    pub device: String,
    /// Port of the device, from 1.
    pub port: u8,
    pub transport: RdmaTransport,
    /// How its queue pairs found their peers.
    pub connection: RdmaConnection,
    /// Service of its queue pairs, or of its endpoint of libfabric.
    pub service: RdmaService,
    /// Place of the identifier in the port's table, where it was chosen here.
    pub gid_index: Option<u8>,
    /// The GID in use, in the notation of IPv6.
    pub gid: Option<String>,
    /// Why this device and identifier.
    pub chosen: String,
    /// Largest packet; `None` over iWARP, which has TCP segments.
    pub path_mtu_bytes: Option<Bytes>,
    /// Requests under way.
    pub depth: u32,
    /// Requests posted with one call.
    pub post_list: u32,
    /// Every how many requests one was heard of.
    pub signal_every: u32,
    /// Whether messages were copied into requests.
    pub inline: bool,
    /// Pages of the buffers.
    pub pages: String,
    /// Provider of libfabric, with its layers; `None` with verbs.
    pub provider: Option<String>,
    /// Whether programs do what NICs do: no figure of hardware.
    pub software: bool,
    /// Whether the completion of a write says that it is in the other end's memory.
    pub delivers: bool,
}
