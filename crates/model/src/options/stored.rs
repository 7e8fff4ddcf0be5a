//! Parameters as files have them, and as narrows 0.1 tells them: with the background load,
//! which is an end of its own.

use super::{
    Binding, CpuList, MemoryParams, Options, Params, SocketParams, StreamParams, TripParams,
};
use crate::Bytes;
use crate::rdma::RdmaParams;
use crate::workload::Workload;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// All fields in the order that ids of trials are made of.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoredParams {
    message_bytes: Bytes,
    streams: u32,
    socket_buffer_bytes: Option<Bytes>,
    congestion: Option<String>,
    rate_bps: Option<u64>,
    working_set_bytes: Bytes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory: Option<MemoryParams>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stream: Option<StreamParams>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trip: Option<TripParams>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    socket: Option<SocketParams>,
    /// The background load of the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<StoredLoad>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rdma: Option<RdmaParams>,
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    told: Options,
}

/// The background load of a trial with one such load.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoredLoad {
    pub kind: Workload,
    /// How many threads run it.
    pub threads: u32,
    /// CPUs of its threads; empty: not pinned.
    pub cpus: CpuList,
    /// How its threads are bound to those.
    #[serde(default, skip_serializing_if = "Binding::is_each")]
    pub binding: Binding,
    /// Node of its memory; `None` leaves it to the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Working set over all threads.
    pub working_set_bytes: Bytes,
}

impl StoredParams {
    /// What is written of a trial with these parameters and that load.
    pub fn of(params: &Params, beside: Option<StoredLoad>) -> Self {
        let params = params.clone();
        Self {
            message_bytes: params.message_bytes,
            streams: params.streams,
            socket_buffer_bytes: params.socket_buffer_bytes,
            congestion: params.congestion,
            rate_bps: params.rate_bps,
            working_set_bytes: params.working_set_bytes,
            memory: params.memory,
            stream: params.stream,
            trip: params.trip,
            socket: params.socket,
            beside,
            rdma: params.rdma,
            told: params.told,
        }
    }
}

/// An order of an older controller may name the load too, which is none of the end's business.
impl From<StoredParams> for Params {
    fn from(stored: StoredParams) -> Self {
        Self {
            message_bytes: stored.message_bytes,
            streams: stored.streams,
            socket_buffer_bytes: stored.socket_buffer_bytes,
            congestion: stored.congestion,
            rate_bps: stored.rate_bps,
            working_set_bytes: stored.working_set_bytes,
            memory: stored.memory,
            stream: stored.stream,
            trip: stored.trip,
            socket: stored.socket,
            rdma: stored.rdma,
            told: stored.told,
        }
    }
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        StoredParams::deserialize(from).map(Self::from)
    }
}
