//! What took effect of what was told: settings as an end read them back.

use super::Wait;
use crate::Bytes;
use crate::rdma::RdmaEffective;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is set on the sockets, read back after it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Effective {
    /// Congestion control in use (TCP).
    pub congestion: Option<String>,
    /// Send buffer as the kernel reports it (twice what is asked for, on Linux).
    pub send_buffer_bytes: Option<Bytes>,
    /// Receive buffer as the kernel reports it.
    pub receive_buffer_bytes: Option<Bytes>,
    /// Span of the application's buffer; a span within the cache is "hot".
    pub buffer_span_bytes: Bytes,
    /// How the memory kernel was built (`avx512`, `avx2`, `portable`); `None` for network
    /// workloads.
    pub variant: Option<String>,
    /// Pages that the memory kernel's buffers have: `4K`, `2M`, `1G`, or `transparent`, which the
    /// kernel may or may not have made huge.
    #[serde(default)]
    pub pages: Option<String>,
    /// Threads of background load beside the one whose latency counts.
    #[serde(default)]
    pub background_threads: u32,
    /// Bytes that cross the memory bus per hundred bytes counted, once caches are too small: 150
    /// for a copy with plain stores; `None` for network workloads.
    pub bus_percent_of_counted: Option<u32>,
    /// How bytes are handed to the kernel.
    #[serde(default)]
    pub sender: Option<String>,
    /// How bytes are taken from the kernel.
    #[serde(default)]
    pub receiver: Option<String>,
    #[serde(default)]
    pub wait: Option<Wait>,
    /// Largest segment of the connection as it began (TCP).
    #[serde(default)]
    pub mss_bytes: Option<u32>,
    /// Whether Nagle's algorithm is off (TCP).
    #[serde(default)]
    pub no_delay: Option<bool>,
    /// Code point that packets carry.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// MTU of the path, as the kernel knows it for this flow.
    #[serde(default)]
    pub path_mtu_bytes: Option<Bytes>,
    /// Which boot of which machine this end ran on: the beginning of the kernel's own random id.
    #[serde(default)]
    pub machine: Option<String>,
    /// Interface by which the flows leave, as the kernel routes them; the loopback device where the
    /// other end's address is this host's too. None where flows leave by different ones.
    #[serde(default)]
    pub interface: Option<String>,
    /// Interface by which the flows come in, where the kernel tells: of connections that this end
    /// accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface_in: Option<String>,
    /// Version of IP that the flow uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<IpVersion>,
    /// What an RDMA end chose or was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rdma: Option<RdmaEffective>,
}

/// A version of the Internet Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IpVersion {
    /// IPv4 (RFC 791), with its field of type of service.
    V4,
    /// IPv6 (RFC 8200), with its traffic class.
    V6,
}

impl IpVersion {
    /// Bytes of its header without options.
    pub fn header_bytes(self) -> u64 {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }
}
