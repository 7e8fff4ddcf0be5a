//! The connection manager: queue pairs that find each other by IP address. The only way over iWARP.

use super::cm_bindings::*;
use super::device::Holder;
use super::id::{Id, RawAddress, raw_address};
use super::{Domain, Kind, QueuePair, Size, cm_library};
use crate::NativeError;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Words that a connection opens with, most of them: iWARP and InfiniBand both carry more.
const WORDS_MAX: usize = 48;
/// How long finding an address or a route may take.
const RESOLVE_MS: i32 = 5000;
/// A door: connections come to it.
pub struct Listener {
    id: Id,
}

impl Listener {
    /// Listens on an address; port 0 is any.
    pub fn bind(at: SocketAddr) -> Result<Self, NativeError> {
        let id = Id::new()?;
        id.bind(at)?;
        id.has_device(at)?;
        // SAFETY: the id is bound and alive.
        match unsafe { cm_library()?.rdma_listen(id.id, 16) } {
            0 => Ok(Self { id }),
            _ => Err(NativeError::last(format!("listening on {at} for RDMA connections"))),
        }
    }

    /// The port that it listens on.
    pub fn port(&self) -> Result<u16, NativeError> {
        // SAFETY: the id is alive.
        Ok(u16::from_be(unsafe { cm_library()?.rdma_get_src_port(self.id.id) }))
    }

    /// Waits for a connection that opens with these words; others are turned away.
    pub fn accept(&self, words: &[u8], deadline: Instant) -> Result<Half, NativeError> {
        let cm = cm_library()?;
        loop {
            let doing = "waiting for an RDMA connection";
            let (id, said) =
                self.id.channel.wait(RDMA_CM_EVENT_CONNECT_REQUEST, doing, deadline, |event| {
                    // SAFETY: a request carries the parameters of a connection.
                    let told = unsafe { event.param.conn.as_ref() };
                    let length = usize::from(told.private_data_len).min(WORDS_MAX);
                    let said = match told.private_data.is_null() {
                        true => Vec::new(),
                        // SAFETY: so many bytes, until the event is acknowledged.
                        false => unsafe {
                            std::slice::from_raw_parts(told.private_data.cast::<u8>(), length)
                        }
                        .to_vec(),
                    };
                    (event.id, said)
                })?;
            let id = Id { id, channel: self.id.channel.clone() };
            if said.starts_with(words) {
                return Half::of(id);
            }
            // SAFETY: the request's id is alive.
            unsafe { cm.rdma_reject(id.id, std::ptr::null(), 0) };
        }
    }
}

/// A connection that is not made yet: its device is known.
pub struct Half {
    domain: Arc<Domain>,
}

impl Half {
    fn of(id: Id) -> Result<Self, NativeError> {
        Ok(Self { domain: Domain::on(Holder::Managed(id))? })
    }

    /// Finds the way to an address.
    pub fn to(
        at: SocketAddr,
        from: Option<SocketAddr>,
        traffic_class: u8,
    ) -> Result<Self, NativeError> {
        let cm = cm_library()?;
        let id = Id::new()?;
        let deadline = Instant::now() + Duration::from_millis(RESOLVE_MS as u64);
        let from = from.map(raw_address);
        let from = from.as_ref().map_or(std::ptr::null_mut(), RawAddress::as_ptr);
        let to = raw_address(at);
        let doing = format!("finding the way to {at} for RDMA");
        if traffic_class != 0 {
            let mut class = traffic_class;
            // SAFETY: one byte, ours; refusal leaves the class at 0.
            unsafe { cm.rdma_set_option(id.id, 0, 0, (&raw mut class).cast(), 1) };
        }
        // SAFETY: the id is alive and the addresses are ours.
        let failed =
            unsafe { cm.rdma_resolve_addr(id.id, from.cast(), to.as_ptr().cast(), RESOLVE_MS) };
        if failed != 0 {
            return Err(NativeError::last(doing));
        }
        id.channel.wait(RDMA_CM_EVENT_ADDR_RESOLVED, &doing, deadline, |_| ())?;
        // SAFETY: the id is alive and its address known.
        if unsafe { cm.rdma_resolve_route(id.id, RESOLVE_MS) } != 0 {
            return Err(NativeError::last(doing));
        }
        id.channel.wait(RDMA_CM_EVENT_ROUTE_RESOLVED, &doing, deadline, |_| ())?;
        id.has_device(at)?;
        Self::of(id)
    }

    fn id(&self) -> Result<&Id, NativeError> {
        match &self.domain.holder {
            Holder::Managed(id) => Ok(id),
            Holder::Opened(_) => Err(NativeError::Cannot("not of the connection manager".into())),
        }
    }

    /// The device's protection domain.
    pub fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    /// The port that the manager chose.
    pub fn port(&self) -> Result<u8, NativeError> {
        let id = self.id()?.id;
        // SAFETY: the id is alive.
        Ok(unsafe { (*id).port_num })
    }

    /// Makes the queue pair. Buffers may be posted to it before the connection is made.
    pub fn queue_pair(&self, kind: Kind, size: &Size) -> Result<QueuePair, NativeError> {
        QueuePair::make(&self.domain, kind, size, Some(self.id()?))
    }

    fn parameters(&self, words: &[u8]) -> Result<rdma_conn_param, NativeError> {
        let (target, origin) = self.domain.reads_under_way()?;
        Ok(rdma_conn_param {
            private_data: words.as_ptr().cast(),
            private_data_len: words.len().min(WORDS_MAX) as u8,
            responder_resources: target,
            initiator_depth: origin,
            flow_control: 1,
            retry_count: 7,
            rnr_retry_count: 7,
            srq: 0,
            qp_num: 0,
        })
    }

    /// Lets the other end in; returns once the connection stands.
    pub fn accept(&self, deadline: Instant) -> Result<(), NativeError> {
        let id = self.id()?;
        let mut told = self.parameters(&[])?;
        // SAFETY: the id is a request's and has a queue pair.
        if unsafe { cm_library()?.rdma_accept(id.id, &raw mut told) } != 0 {
            return Err(NativeError::last("accepting an RDMA connection"));
        }
        let doing = "accepting an RDMA connection";
        id.channel.wait(RDMA_CM_EVENT_ESTABLISHED, doing, deadline, |_| ())
    }

    /// Connects, opening with these words; returns once the connection stands.
    pub fn connect(&self, words: &[u8], deadline: Instant) -> Result<(), NativeError> {
        let id = self.id()?;
        let mut told = self.parameters(words)?;
        // SAFETY: the id has a route and a queue pair; the words are copied by the call.
        if unsafe { cm_library()?.rdma_connect(id.id, &raw mut told) } != 0 {
            return Err(NativeError::last("connecting for RDMA"));
        }
        id.channel.wait(RDMA_CM_EVENT_ESTABLISHED, "connecting for RDMA", deadline, |_| ())
    }
}
