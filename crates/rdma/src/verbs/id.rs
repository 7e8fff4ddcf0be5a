//! Ends of connections as the connection manager has them, and what happens to them.

use super::bindings::{ibv_context, ibv_pd, ibv_qp, ibv_qp_init_attr};
use super::cm_bindings::*;
use super::cm_library;
use crate::NativeError;
use std::ffi::CStr;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// What reliable connections are called here.
const PORT_SPACE: rdma_port_space = RDMA_PS_TCP;

pub struct Channel(*mut rdma_event_channel);

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
    pub fn wait<T>(
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
    pub id: *mut rdma_cm_id,
    pub channel: Arc<Channel>,
}

// SAFETY: librdmacm may be called from any thread.
unsafe impl Send for Id {}
// SAFETY: as above.
unsafe impl Sync for Id {}

impl Id {
    pub fn new() -> Result<Self, NativeError> {
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
    pub fn context(&self) -> *mut ibv_context {
        // SAFETY: the id lives as long as self.
        unsafe { (*self.id).verbs }
    }

    pub fn make_queue_pair(
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

    pub fn bind(&self, at: SocketAddr) -> Result<(), NativeError> {
        let at_raw = raw_address(at);
        // SAFETY: the address is ours and as long as its family says.
        let failed = unsafe { cm_library()?.rdma_bind_addr(self.id, at_raw.as_ptr().cast()) };
        match failed {
            0 => Ok(()),
            _ => Err(NativeError::last(format!("binding the connection manager to {at}"))),
        }
    }

    /// The device has no address of its own: which one has this address is the manager's knowledge.
    pub fn has_device(&self, at: SocketAddr) -> Result<(), NativeError> {
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
pub struct RawAddress([u8; 28]);

impl RawAddress {
    /// For calls that take it as theirs to write, and do not.
    pub fn as_ptr(&self) -> *mut libc::sockaddr {
        self.0.as_ptr().cast_mut().cast()
    }
}

/// An address as the kernel wants it.
pub fn raw_address(at: SocketAddr) -> RawAddress {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// `sockaddr_in` and `sockaddr_in6`: family, port, address; flow before and scope behind it.
    #[test]
    fn an_address_is_laid_out_as_the_kernel_has_it() {
        let raw = |at: &str| raw_address(at.parse().expect("an address")).0;
        let mut four = [0; 28];
        four[..2].copy_from_slice(&2u16.to_ne_bytes());
        four[2..8].copy_from_slice(&[0x14, 0x51, 192, 0, 2, 7]);
        assert_eq!(raw("192.0.2.7:5201"), four);
        let mut six = [0; 28];
        six[..2].copy_from_slice(&10u16.to_ne_bytes());
        six[2..4].copy_from_slice(&[0x14, 0x51]);
        (six[8], six[9], six[23]) = (0xfe, 0x80, 1);
        six[24..].copy_from_slice(&3u32.to_ne_bytes());
        assert_eq!(raw("[fe80::1%3]:5201"), six);
        assert_eq!(raw_address("[::1]:1".parse().expect("an address")).as_ptr() as usize % 8, 0);
    }

    /// An event that the library does not know, which must not be acknowledged.
    #[test]
    fn an_event_is_told_in_the_librarys_words_with_its_status() {
        for (event, status, words) in [
            (RDMA_CM_EVENT_REJECTED, 28, "RDMA_CM_EVENT_REJECTED (status 28)"),
            (RDMA_CM_EVENT_ESTABLISHED, -110, "RDMA_CM_EVENT_ESTABLISHED (status -110)"),
        ] {
            let mut raw = rdma_cm_event { event, status, ..Default::default() };
            let told = std::mem::ManuallyDrop::new(Event(&raw mut raw));
            let said = told.words();
            assert!(cm_library().is_err() || said.as_deref().is_ok_and(|said| said == words));
        }
    }

    /// An end that the library does not know, which must not be dropped.
    #[test]
    fn an_address_without_a_device_is_named() {
        let at: SocketAddr = "192.0.2.7:5201".parse().expect("an address");
        for (verbs, wanted) in [
            (std::ptr::null_mut(), Some("no RDMA device has the address 192.0.2.7")),
            (std::ptr::dangling_mut(), None),
        ] {
            let mut raw = rdma_cm_id { verbs, ..Default::default() };
            let channel = std::mem::ManuallyDrop::new(Arc::new(Channel(std::ptr::null_mut())));
            let id = Id { id: &raw mut raw, channel: Arc::clone(&channel) };
            let id = std::mem::ManuallyDrop::new(id);
            assert_eq!(id.context(), verbs);
            let told = id.has_device(at).map_err(|why| why.to_string());
            assert_eq!(told.err().as_deref(), wanted);
        }
    }
}
