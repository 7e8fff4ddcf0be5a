//! What one cell asks for, by the names of the command line's options.

use crate::rdma::RdmaAsked;
use crate::{BackgroundLoad, Seat, Where};
use narrows_model::load::{MemoryParams, Params, SocketParams, StreamParams, TripParams};
use narrows_model::trial::Engine;
use narrows_model::{BitsPerSecond, Bytes};
use serde::{Deserialize, Deserializer, Serialize};
use std::str::FromStr;

/// Everything that a study can set. `None` leaves it as the command line would.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The load: `tcp-stream`, `udp-rr`, `memory-copy`, ...
    pub load: Option<String>,
    /// The outside tool that makes it.
    pub engine: Option<String>,
    /// Words for its client, in place of those that follow from these settings.
    pub engine_client: Option<String>,
    /// Words for its server, beside those that it needs.
    pub engine_server: Option<String>,
    /// Seconds that count in each run.
    pub seconds: Option<f64>,
    /// Seconds before them.
    pub warmup_seconds: Option<f64>,
    /// Bytes of each write, datagram or request.
    #[serde(deserialize_with = "quantity")]
    pub length: Option<Bytes>,
    /// Parallel flows.
    pub parallel: Option<u32>,
    /// Socket buffer to ask for.
    #[serde(deserialize_with = "quantity")]
    pub window: Option<Bytes>,
    /// Pace of all flows together.
    #[serde(deserialize_with = "quantity")]
    pub bitrate: Option<BitsPerSecond>,
    /// Congestion control.
    pub congestion: Option<String>,
    /// How bytes are handed to the kernel.
    pub sender: Option<String>,
    /// How bytes are taken from it.
    pub receiver: Option<String>,
    /// How threads wait.
    pub wait: Option<String>,
    /// `hot`, `cold` or a size.
    pub buffer: Option<String>,
    /// The sink reads every byte once more.
    pub touch: Option<bool>,
    /// Every byte is compared.
    pub verify: Option<bool>,
    /// The end that listens sends.
    pub reverse: Option<bool>,
    /// Both send.
    pub bidirectional: Option<bool>,
    /// Nagle's algorithm: `on` or `off`.
    pub nagle: Option<String>,
    /// Largest segment.
    pub mss: Option<u32>,
    /// Code point of packets.
    pub dscp: Option<u8>,
    /// Bytes of a response.
    #[serde(deserialize_with = "quantity")]
    pub response: Option<Bytes>,
    /// Requests a second, open loop.
    pub per_second: Option<u64>,
    /// CPUs of both ends, `LOCAL,REMOTE`.
    pub affinity: Option<String>,
    /// Nodes of both ends' buffers, `LOCAL,REMOTE`.
    pub memory_node: Option<String>,
    /// CPUs that the interrupts of this host's NIC are sent to, as a place of `affinity`; put back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub irq: Option<String>,
    /// A background load on this host, `KERNEL:THREADS[@WHERE][/memory:NODE]`.
    pub memory_load: Option<String>,
    /// Threads of a memory kernel.
    pub threads: Option<u32>,
    /// Working set of a memory kernel.
    #[serde(deserialize_with = "quantity")]
    pub size: Option<Bytes>,
    /// Node of a memory kernel's CPUs.
    pub node: Option<u32>,
    /// Width of a memory kernel's loads and stores.
    pub vector: Option<String>,
    /// Pages of a memory kernel.
    pub pages: Option<String>,
    /// MTU of the interface between the ends, which narrows sets and puts back.
    pub mtu: Option<u32>,
    /// Words about RDMA, which both ends' devices and queue pairs are told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rdma: Option<RdmaAsked>,
    /// Offloads of that interface by ethtool's words, which narrows sets and puts back.
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub offloads: std::collections::BTreeMap<String, bool>,
    /// Kernel settings by name, which narrows sets and puts back.
    pub sysctl: std::collections::BTreeMap<String, String>,
}

/// A size or rate, written as a number or with a suffix.
fn quantity<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(u64),
        Words(String),
    }
    let text = match Option::<Written>::deserialize(from)? {
        None => return Ok(None),
        Some(Written::Number(number)) => number.to_string(),
        Some(Written::Words(words)) => words,
    };
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

/// The first that is there.
fn either<T: Clone>(first: &Option<T>, second: &Option<T>) -> Option<T> {
    first.as_ref().or(second.as_ref()).cloned()
}

impl Settings {
    /// These, with what the other sets in their place.
    pub fn with(&self, over: &Self) -> Self {
        let mut sysctl = self.sysctl.clone();
        sysctl.extend(over.sysctl.clone());
        let mut offloads = self.offloads.clone();
        offloads.extend(over.offloads.clone());
        Self {
            load: either(&over.load, &self.load),
            engine: either(&over.engine, &self.engine),
            engine_client: either(&over.engine_client, &self.engine_client),
            engine_server: either(&over.engine_server, &self.engine_server),
            seconds: either(&over.seconds, &self.seconds),
            warmup_seconds: either(&over.warmup_seconds, &self.warmup_seconds),
            length: either(&over.length, &self.length),
            parallel: either(&over.parallel, &self.parallel),
            window: either(&over.window, &self.window),
            bitrate: either(&over.bitrate, &self.bitrate),
            congestion: either(&over.congestion, &self.congestion),
            sender: either(&over.sender, &self.sender),
            receiver: either(&over.receiver, &self.receiver),
            wait: either(&over.wait, &self.wait),
            buffer: either(&over.buffer, &self.buffer),
            touch: either(&over.touch, &self.touch),
            verify: either(&over.verify, &self.verify),
            reverse: either(&over.reverse, &self.reverse),
            bidirectional: either(&over.bidirectional, &self.bidirectional),
            nagle: either(&over.nagle, &self.nagle),
            mss: either(&over.mss, &self.mss),
            dscp: either(&over.dscp, &self.dscp),
            response: either(&over.response, &self.response),
            per_second: either(&over.per_second, &self.per_second),
            affinity: either(&over.affinity, &self.affinity),
            memory_node: either(&over.memory_node, &self.memory_node),
            irq: either(&over.irq, &self.irq),
            memory_load: either(&over.memory_load, &self.memory_load),
            threads: either(&over.threads, &self.threads),
            size: either(&over.size, &self.size),
            node: either(&over.node, &self.node),
            vector: either(&over.vector, &self.vector),
            pages: either(&over.pages, &self.pages),
            mtu: either(&over.mtu, &self.mtu),
            rdma: either(&over.rdma, &self.rdma),
            offloads,
            sysctl,
        }
    }

    /// The load's name.
    pub fn kind(&self) -> &str {
        self.load.as_deref().unwrap_or("tcp-stream")
    }

    /// The words about the load itself, as a job has them. `cache` is the largest last-level cache
    /// of the hosts, `working_set` what a memory kernel has without a size.
    pub fn params(&self, cache: Bytes, working_set: Bytes) -> Result<Params, String> {
        let kind = self.kind();
        if kind.starts_with("memory-") {
            let memory = MemoryParams {
                node: None,
                vector: self.vector.clone(),
                pages: self.pages.clone(),
                pause_ns: None,
            };
            let size = self.size.unwrap_or(working_set);
            return Ok(Params::of_memory(self.threads.unwrap_or(1), size, memory));
        }
        let length = match kind {
            "udp-stream" => Bytes(1472),
            "tcp-connect" => Bytes(16),
            kind if kind.starts_with("rdma-atomic") => Bytes(8),
            kind if kind.ends_with("-rr") => Bytes(64),
            _ => Bytes::kib(64),
        };
        let streams = self.parallel.unwrap_or(1);
        let ordinary =
            |name: &Option<String>, ordinary: &str| name.clone().filter(|name| name != ordinary);
        let stream = StreamParams {
            reverse: self.reverse.unwrap_or(false),
            bidirectional: self.bidirectional.unwrap_or(false),
            span_bytes: self.span_bytes(cache)?,
            touch: self.touch.unwrap_or(false),
            verify: self.verify.unwrap_or(false),
            sender: ordinary(&self.sender, if kind == "tcp-stream" { "write" } else { "send" }),
            receiver: ordinary(&self.receiver, "recv"),
        };
        let trip = TripParams { response_bytes: self.response, per_second: self.per_second };
        let nagle = match self.nagle.as_deref() {
            None => None,
            Some("on") => Some(false),
            Some("off") => Some(true),
            Some(other) => return Err(format!("nagle = \"{other}\" is neither on nor off")),
        };
        let socket = SocketParams {
            wait: ordinary(&self.wait, "block"),
            mss_bytes: self.mss,
            no_delay: nagle,
            dscp: self.dscp,
        };
        let rdma = self.rdma.as_ref().map(|rdma| rdma.params(stream.reverse)).transpose()?;
        let rate = self.bitrate.filter(|rate| rate.0 > 0.0);
        Ok(Params {
            socket_buffer_bytes: self.window,
            congestion: self.congestion.clone(),
            rate_bps: rate.map(|rate| rate.0 as u64),
            stream: (stream != StreamParams::default()).then_some(stream),
            trip: (trip != TripParams::default()).then_some(trip),
            socket: (socket != SocketParams::default()).then_some(socket),
            rdma: rdma.flatten(),
            ..Params::of_network(self.length.unwrap_or(length), streams)
        })
    }

    fn span_bytes(&self, cache: Bytes) -> Result<Option<Bytes>, String> {
        Ok(match self.buffer.as_deref() {
            None | Some("hot") => None,
            Some("cold") => Some(Bytes((2 * cache.0).max(Bytes::mib(64).0))),
            Some(size) => Some(size.parse::<Bytes>().map_err(|why| format!("buffer: {why}"))?),
        })
    }

    /// The outside tool, with its words.
    pub fn engine(&self) -> Option<Engine> {
        let words = |text: &Option<String>| -> Vec<String> {
            text.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect()
        };
        let (client, server) = (words(&self.engine_client), words(&self.engine_server));
        Some(Engine { tool: self.engine.clone()?, client, server })
    }

    /// CPUs of both ends, as places.
    pub fn places(&self) -> Result<Option<(Seat, Seat)>, String> {
        self.affinity.as_deref().map(pair).transpose()
    }

    /// Where interrupts go, as a place.
    pub fn interrupts(&self) -> Result<Option<Where>, String> {
        self.irq.as_deref().map(str::parse).transpose()
    }

    /// Nodes of both ends' buffers.
    pub fn nodes(&self) -> Result<(Option<u32>, Option<u32>), String> {
        let Some(text) = self.memory_node.as_deref() else { return Ok((None, None)) };
        let both = text.split_once(',').ok_or("memory_node is LOCAL,REMOTE")?;
        let node = |text: &str| match text.trim() {
            "-" => Ok(None),
            number => number.parse().map(Some).map_err(|_| format!("'{number}' is no node")),
        };
        Ok((node(both.0)?, node(both.1)?))
    }

    /// The background load.
    pub fn background(&self) -> Result<Option<BackgroundLoad>, String> {
        let load = self.memory_load.as_deref().map(str::parse).transpose();
        load.map_err(|why| format!("memory_load: {why}"))
    }
}

fn pair(text: &str) -> Result<(Seat, Seat), String> {
    let both = text.split_once(',').ok_or(format!("affinity '{text}' is not LOCAL,REMOTE"))?;
    Ok((both.0.parse()?, both.1.parse()?))
}
