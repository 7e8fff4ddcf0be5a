//! The connection manager: queue pairs that find each other by IP address. The only way over iWARP.

use super::cm_bindings::*;
use super::device::Holder;
use super::{Domain, Kind, QueuePair, Size, cm_library};
use crate::NativeError;
use std::ffi::CStr;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::bindings::{ibv_context, ibv_pd, ibv_qp, ibv_qp_init_attr};

/// Words that a connection opens with, most of them: iWARP and InfiniBand both carry more.
const WORDS_MAX: usize = 48;
/// How long finding an address or a route may take.
const RESOLVE_MS: i32 = 5000;
/// What reliable connections are called here.
const PORT_SPACE: rdma_port_space = RDMA_PS_TCP;

/// Where events come from.
struct Channel(*mut rdma_event_channel);

// SAFETY: librdmacm may be called from any thread.
unsafe impl Send for Channel {}
// SAFETY: as above.
unsafe impl Sync for Channel {}

impl Channel {
    fn new() -> Result<Arc<Self>, NativeError> {
        // SAFETY: no arguments.
        let channel = unsafe { cm_library()?.rdma_create_event_channel() };
        if channel.is_null() {
            return Err(NativeError::last(
                "opening the connection manager (/dev/infiniband/rdma_cm)",
            ));
        }
        // SAFETY: the channel's file is open; poll(2) then tells when it has something.
        unsafe { libc::fcntl((*channel).fd, libc::F_SETFL, libc::O_NONBLOCK) };
        Ok(Arc::new(Self(channel)))
    }

    /// What comes next.
    fn next(&self, doing: &str, deadline: Instant) -> Result<Event, NativeError> {
        let cm = cm_library()?;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(NativeError::Cannot(format!("{doing}: no answer in time")));
            }
            let mut event = std::ptr::null_mut();
            // SAFETY: the channel is alive, the answer is ours.
            if unsafe { cm.rdma_get_cm_event(self.0, &raw mut event) } == 0 {
                return Ok(Event(event));
            }
            // SAFETY: one entry, ours; the channel is alive.
            unsafe {
                let mut look = libc::pollfd { fd: (*self.0).fd, events: libc::POLLIN, revents: 0 };
                libc::poll(&raw mut look, 1, left.as_millis().min(50) as i32 + 1);
            }
        }
    }

    /// The next event, when it is the one that was waited for; what it tells goes to `take`.
    fn wait<T>(
        &self,
        wanted: rdma_cm_event_type,
        doing: &str,
        deadline: Instant,
        take: impl FnOnce(&rdma_cm_event) -> T,
    ) -> Result<T, NativeError> {
        loop {
            let event = self.next(doing, deadline)?;
            let told = event.told();
            if told.event == wanted {
                return Ok(take(told));
            }
            if told.event != RDMA_CM_EVENT_CONNECT_REQUEST {
                return Err(NativeError::Cannot(format!("{doing}: {}", event.words()?)));
            }
            event.turn_away()?;
        }
    }
}

/// An event, acknowledged when it goes.
struct Event(*mut rdma_cm_event);

impl Event {
    fn told(&self) -> &rdma_cm_event {
        // SAFETY: the library made it, and it is acknowledged on drop.
        unsafe { &*self.0 }
    }

    fn words(&self) -> Result<String, NativeError> {
        // SAFETY: the library answers with a constant string.
        let words = unsafe { CStr::from_ptr(cm_library()?.rdma_event_str(self.told().event)) };
        Ok(format!("{} (status {})", words.to_string_lossy(), self.told().status))
    }

    /// A stranger at the door while the connection in hand is being made: the request handed over
    /// an id that nobody else has.
    fn turn_away(self) -> Result<(), NativeError> {
        let id = self.told().id;
        drop(self);
        // SAFETY: the id is alive, and ours to end.
        unsafe {
            cm_library()?.rdma_reject(id, std::ptr::null(), 0);
            cm_library()?.rdma_destroy_id(id);
        }
        Ok(())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(cm) = cm_library() {
            // SAFETY: got by `next`, acknowledged once.
            unsafe { cm.rdma_ack_cm_event(self.0) };
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        if let Ok(cm) = cm_library() {
            // SAFETY: made by `new`; the ids on it held it.
            unsafe { cm.rdma_destroy_event_channel(self.0) };
        }
    }
}

/// One end of a connection, or a door.
pub struct Id {
    id: *mut rdma_cm_id,
    channel: Arc<Channel>,
}

// SAFETY: librdmacm may be called from any thread.
unsafe impl Send for Id {}
// SAFETY: as above.
unsafe impl Sync for Id {}

impl Id {
    fn new() -> Result<Self, NativeError> {
        let channel = Channel::new()?;
        let mut id = std::ptr::null_mut();
        let null = std::ptr::null_mut();
        // SAFETY: the channel is alive, the answer is ours.
        let failed =
            unsafe { cm_library()?.rdma_create_id(channel.0, &raw mut id, null, PORT_SPACE) };
        match failed {
            0 => Ok(Self { id, channel }),
            _ => Err(NativeError::last("making an end of a connection")),
        }
    }

    /// The device that the manager chose; null before it has.
    pub(super) fn context(&self) -> *mut ibv_context {
        // SAFETY: the id lives as long as self.
        unsafe { (*self.id).verbs }
    }

    pub(super) fn make_queue_pair(
        &self,
        pd: *mut ibv_pd,
        wanted: &mut ibv_qp_init_attr,
    ) -> Result<*mut ibv_qp, NativeError> {
        // SAFETY: the id and the domain are alive; the id then has the queue pair.
        unsafe {
            match cm_library()?.rdma_create_qp(self.id, pd, wanted) {
                0 => Ok((*self.id).qp),
                _ => Ok(std::ptr::null_mut()),
            }
        }
    }

    fn bind(&self, at: SocketAddr) -> Result<(), NativeError> {
        let at_raw = raw_address(at);
        // SAFETY: the address is ours and as long as its family says.
        let failed = unsafe { cm_library()?.rdma_bind_addr(self.id, at_raw.as_ptr().cast()) };
        match failed {
            0 => Ok(()),
            _ => Err(NativeError::last(format!("binding the connection manager to {at}"))),
        }
    }

    /// The device has no address of its own: which one has this address is the manager's knowledge.
    fn has_device(&self, at: SocketAddr) -> Result<(), NativeError> {
        if self.context().is_null() {
            Err(NativeError::Cannot(format!("no RDMA device has the address {}", at.ip())))
        } else {
            Ok(())
        }
    }
}

impl Drop for Id {
    fn drop(&mut self) {
        if let Ok(cm) = cm_library() {
            // SAFETY: made by `new` or handed over by an event; its queue pair is gone by now.
            unsafe { cm.rdma_destroy_id(self.id) };
        }
    }
}

/// Room for an address of any family, aligned as the library's own types are.
#[repr(C, align(8))]
struct RawAddress([u8; 28]);

impl RawAddress {
    /// For calls that take it as theirs to write, and do not.
    fn as_ptr(&self) -> *mut libc::sockaddr {
        self.0.as_ptr().cast_mut().cast()
    }
}

/// An address as the kernel wants it.
fn raw_address(at: SocketAddr) -> RawAddress {
    let mut raw = [0u8; 28];
    raw[2..4].copy_from_slice(&at.port().to_be_bytes());
    match at {
        SocketAddr::V4(at) => {
            raw[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
            raw[4..8].copy_from_slice(&at.ip().octets());
        }
        SocketAddr::V6(at) => {
            raw[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
            raw[8..24].copy_from_slice(&at.ip().octets());
            raw[24..28].copy_from_slice(&at.scope_id().to_ne_bytes());
        }
    }
    RawAddress(raw)
}

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
