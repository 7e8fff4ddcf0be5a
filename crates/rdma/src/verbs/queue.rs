//! Completion queues and queue pairs.

use super::bindings::*;
use super::id::Id;
use super::{Domain, verbs};
use crate::NativeError;
use crate::work::{Completion, Work};
use std::io;
use std::sync::Arc;

/// Key of unreliable datagrams: both ends say the same.
const DATAGRAM_KEY: u32 = 0x6e72_7277;
/// Time until a packet is sent again: 4.096 us times two to this power, 67 ms.
const TIMEOUT: u8 = 14;
/// How often it is sent again: the most there is.
const RETRIES: u8 = 7;
/// Completions taken at once.
const TAKE: usize = 16;

/// Services of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Reliable connection: all verbs, in order, nothing lost.
    #[default]
    Rc,
    /// Unreliable connection: writes and sends.
    Uc,
    /// Unreliable datagrams: sends of one packet.
    Ud,
}

/// How large a queue pair is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Requests under way.
    pub sends: u32,
    /// Buffers posted for arrivals.
    pub receives: u32,
    /// Bytes that fit into a request.
    pub inline_bytes: u32,
    /// Whether a thread can sleep until something completes.
    pub events: bool,
}

/// Where completions of one queue pair are found.
pub struct Completions {
    cq: *mut ibv_cq,
    channel: *mut ibv_comp_channel,
    _domain: Arc<Domain>,
}

// SAFETY: verbs may be called from any thread.
unsafe impl Send for Completions {}

impl Completions {
    fn new(domain: &Arc<Domain>, size: &Size) -> Result<Self, NativeError> {
        let verbs = verbs()?;
        let (cq, channel) = (std::ptr::null_mut(), std::ptr::null_mut());
        let mut made = Self { cq, channel, _domain: domain.clone() };
        if size.events {
            // SAFETY: the context is open.
            made.channel = unsafe { verbs.ibv_create_comp_channel(domain.context()) };
            if made.channel.is_null() {
                return Err(NativeError::last("making a completion channel"));
            }
        }
        let entries = (size.sends + size.receives).max(1) as i32;
        // SAFETY: the context is open; the channel is null or was just made.
        made.cq = unsafe {
            verbs.ibv_create_cq(domain.context(), entries, std::ptr::null_mut(), made.channel, 0)
        };
        if made.cq.is_null() {
            Err(NativeError::last(format!("making a queue of {entries} completions")))
        } else {
            Ok(made)
        }
    }

    /// Takes what has completed, up to sixteen; how many.
    #[inline]
    pub fn poll(&mut self, into: &mut [Completion]) -> Result<usize, NativeError> {
        let mut taken = [ibv_wc::default(); TAKE];
        let most = into.len().min(TAKE);
        // SAFETY: the queue is alive, and so is the provider's table of calls.
        let count = unsafe {
            let poll = (*(*self.cq).context).ops.poll_cq;
            poll.map_or(-libc::ENOSYS, |poll| poll(self.cq, most as i32, taken.as_mut_ptr()))
        };
        let Ok(count) = usize::try_from(count) else {
            return Err(NativeError::number("reading a completion queue", count));
        };
        for (into, taken) in into.iter_mut().zip(&taken[..count.min(most)]) {
            *into = Completion::of(taken);
        }
        Ok(count.min(most))
    }

    /// Asks to be woken by the next completion. What came before is not told of: poll once more
    /// before [`Completions::sleep`].
    pub fn arm(&mut self) -> Result<(), NativeError> {
        // SAFETY: as above.
        let failed = unsafe {
            let arm = (*(*self.cq).context).ops.req_notify_cq;
            arm.map_or(libc::ENOSYS, |arm| arm(self.cq, 0))
        };
        if failed == 0 { Ok(()) } else { Err(NativeError::number("arming completions", failed)) }
    }

    /// Sleeps until a completion or a signal wakes it: have a [`crate::ticker::Ticker`] on this
    /// thread.
    pub fn sleep(&mut self) -> Result<(), NativeError> {
        if self.channel.is_null() {
            return Err(NativeError::Cannot("this queue has no events".into()));
        }
        let (mut cq, mut context) = (std::ptr::null_mut(), std::ptr::null_mut());
        let verbs = verbs()?;
        // SAFETY: the channel is alive, the answers are ours.
        if unsafe { verbs.ibv_get_cq_event(self.channel, &raw mut cq, &raw mut context) } == 0 {
            // SAFETY: each event is acknowledged once.
            unsafe { verbs.ibv_ack_cq_events(cq, 1) };
            return Ok(());
        }
        match io::Error::last_os_error().kind() {
            io::ErrorKind::Interrupted => Ok(()),
            _ => Err(NativeError::last("waiting for a completion")),
        }
    }
}

impl Drop for Completions {
    fn drop(&mut self) {
        let Ok(verbs) = verbs() else { return };
        // SAFETY: made by `new`, each freed once; the queue pair that used them is gone.
        unsafe {
            if !self.cq.is_null() {
                verbs.ibv_destroy_cq(self.cq);
            }
            if !self.channel.is_null() {
                verbs.ibv_destroy_comp_channel(self.channel);
            }
        }
    }
}

/// What the other end must know of a queue pair that is connected without the connection manager.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// Number of the queue pair.
    pub number: u32,
    /// First packet's number.
    pub first_packet: u32,
    /// The port's address on InfiniBand.
    pub lid: u16,
    /// The port's identifier.
    pub gid: [u8; 16],
}

/// The way that packets of a queue pair take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Route {
    /// Own port, from 1.
    pub port: u8,
    /// Place of the own identifier in the port's table.
    pub gid_index: u8,
    /// Largest packet, in bytes.
    pub mtu_bytes: u32,
    /// Service level (InfiniBand), or priority.
    pub service_level: u8,
    /// Traffic class: with RoCE v2 the IP header's byte of that name.
    pub traffic_class: u8,
}

impl Route {
    fn to(&self, other: &Address) -> ibv_ah_attr {
        ibv_ah_attr {
            dlid: other.lid,
            sl: self.service_level,
            port_num: self.port,
            // Ethernet has no other addresses.
            is_global: u8::from(other.lid == 0),
            grh: ibv_global_route {
                dgid: ibv_gid { raw: other.gid },
                sgid_index: self.gid_index,
                hop_limit: 64,
                traffic_class: self.traffic_class,
                flow_label: 0,
            },
            ..Default::default()
        }
    }
}

/// A queue pair with the completions of both its queues.
pub struct QueuePair {
    qp: *mut ibv_qp,
    kind: Kind,
    /// The other end of datagrams: its handle and its number.
    datagrams: Option<(*mut ibv_ah, u32)>,
    works: Vec<ibv_send_wr>,
    memory: Vec<ibv_sge>,
    /// Where its completions are found.
    pub completions: Completions,
    domain: Arc<Domain>,
}

// SAFETY: verbs may be called from any thread.
unsafe impl Send for QueuePair {}

fn kind_number(kind: Kind) -> ibv_qp_type {
    match kind {
        Kind::Rc => IBV_QPT_RC,
        Kind::Uc => IBV_QPT_UC,
        Kind::Ud => IBV_QPT_UD,
    }
}

/// What the library is asked for.
fn wanted(kind: Kind, size: &Size, completions: *mut ibv_cq) -> ibv_qp_init_attr {
    ibv_qp_init_attr {
        send_cq: completions,
        recv_cq: completions,
        cap: ibv_qp_cap {
            max_send_wr: size.sends.max(1),
            max_recv_wr: size.receives.max(1),
            max_send_sge: 1,
            max_recv_sge: 1,
            max_inline_data: size.inline_bytes,
        },
        qp_type: kind_number(kind),
        ..Default::default()
    }
}

/// A state of a queue pair, and what of it is set beside its name.
type State = (ibv_qp_attr, u32);

fn opened(kind: Kind, port: u8) -> State {
    let access = IBV_ACCESS_REMOTE_WRITE
        | if kind == Kind::Rc { IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC } else { 0 };
    let to = ibv_qp_attr {
        qp_state: IBV_QPS_INIT,
        port_num: port,
        qp_access_flags: access,
        qkey: DATAGRAM_KEY,
        ..Default::default()
    };
    let own = if kind == Kind::Ud { IBV_QP_QKEY } else { IBV_QP_ACCESS_FLAGS };
    (to, IBV_QP_PKEY_INDEX | IBV_QP_PORT | own)
}

/// Any number will do; that of the queue pair differs between runs.
fn first_packet(number: u32) -> u32 {
    number.wrapping_mul(0x9e37_79b1) & 0xff_ffff
}

/// `reads` are those that it may be the target of at once.
fn receiving(kind: Kind, other: &Address, path: &Route, reads: u8) -> State {
    let to = ibv_qp_attr {
        qp_state: IBV_QPS_RTR,
        path_mtu: path.mtu_bytes.max(256).ilog2().saturating_sub(7).clamp(1, 5),
        dest_qp_num: other.number,
        rq_psn: other.first_packet,
        max_dest_rd_atomic: reads,
        min_rnr_timer: 12,
        ah_attr: path.to(other),
        ..Default::default()
    };
    let connected = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    let mask = match kind {
        Kind::Rc => connected | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
        Kind::Uc => connected,
        Kind::Ud => 0,
    };
    (to, mask)
}

/// `reads` are those that it may have under way at once.
fn sending(kind: Kind, own: &Address, reads: u8) -> State {
    let to = ibv_qp_attr {
        qp_state: IBV_QPS_RTS,
        sq_psn: own.first_packet,
        timeout: TIMEOUT,
        retry_cnt: RETRIES,
        rnr_retry: RETRIES,
        max_rd_atomic: reads,
        ..Default::default()
    };
    let mask = match kind {
        Kind::Rc => {
            IBV_QP_SQ_PSN
                | IBV_QP_TIMEOUT
                | IBV_QP_RETRY_CNT
                | IBV_QP_RNR_RETRY
                | IBV_QP_MAX_QP_RD_ATOMIC
        }
        Kind::Uc | Kind::Ud => IBV_QP_SQ_PSN,
    };
    (to, mask)
}

impl QueuePair {
    /// Makes one, not connected yet: with an id it becomes the one that the connection manager
    /// connects.
    pub(super) fn make(
        domain: &Arc<Domain>,
        kind: Kind,
        size: &Size,
        id: Option<&Id>,
    ) -> Result<Self, NativeError> {
        let completions = Completions::new(domain, size)?;
        let mut wanted = wanted(kind, size, completions.cq);
        let qp = match id {
            Some(id) => id.make_queue_pair(domain.pd, &mut wanted)?,
            // SAFETY: the domain and the completion queue are alive.
            None => unsafe { verbs()?.ibv_create_qp(domain.pd, &raw mut wanted) },
        };
        if qp.is_null() {
            let Size { sends, receives, inline_bytes, .. } = size;
            return Err(NativeError::last(format!(
                "making a queue pair ({sends} requests, {receives} buffers, {inline_bytes} B \
                 inline)"
            )));
        }
        Ok(Self {
            qp,
            kind,
            datagrams: None,
            works: Vec::new(),
            memory: Vec::new(),
            completions,
            domain: domain.clone(),
        })
    }

    /// Makes one that [`QueuePair::join`] connects.
    pub fn new(
        domain: &Arc<Domain>,
        kind: Kind,
        size: &Size,
        port: u8,
    ) -> Result<Self, NativeError> {
        let made = Self::make(domain, kind, size, None)?;
        made.turn(opened(kind, port), "opening a queue pair")?;
        Ok(made)
    }

    fn turn(&self, (mut to, mask): State, doing: &str) -> Result<(), NativeError> {
        let mask = (mask | IBV_QP_STATE) as i32;
        // SAFETY: the queue pair is alive and the wishes are ours.
        let failed = unsafe { verbs()?.ibv_modify_qp(self.qp, &raw mut to, mask) };
        if failed == 0 { Ok(()) } else { Err(NativeError::number(doing, failed)) }
    }

    /// What the other end must know to [`QueuePair::join`] this one.
    pub fn address(&self, path: &Route) -> Result<Address, NativeError> {
        // SAFETY: the queue pair is alive.
        let number = unsafe { (*self.qp).qp_num };
        let gids = self.domain.gids(path.port)?;
        let gid = gids.iter().find(|gid| gid.index == path.gid_index);
        let lid = self.domain.port(path.port)?.lid;
        let gid = gid.map_or([0; 16], |gid| gid.bytes);
        Ok(Address { number, first_packet: first_packet(number), lid, gid })
    }

    /// Connects to the queue pair of the other end; `own` is what that was told of this one.
    pub fn join(
        &mut self,
        own: &Address,
        other: &Address,
        path: &Route,
    ) -> Result<(), NativeError> {
        let doing = "connecting a queue pair";
        let (as_target, as_origin) = self.domain.reads_under_way()?;
        self.turn(receiving(self.kind, other, path, as_target), doing)?;
        self.turn(sending(self.kind, own, as_origin), doing)?;
        if self.kind == Kind::Ud {
            let mut way = path.to(other);
            // SAFETY: the domain is alive and the wishes are ours.
            let handle = unsafe { verbs()?.ibv_create_ah(self.domain.pd, &raw mut way) };
            if handle.is_null() {
                return Err(NativeError::last("making an address handle"));
            }
            self.datagrams = Some((handle, other.number));
        }
        Ok(())
    }

    /// Posts requests, in order, with one call.
    #[inline]
    pub fn post(&mut self, works: &[Work]) -> Result<(), NativeError> {
        self.works.clear();
        self.memory.clear();
        for work in works {
            let (mut request, memory) = work.request();
            if let Some((handle, number)) = self.datagrams {
                request.wr.ud.ah = handle;
                request.wr.ud.remote_qpn = number;
                request.wr.ud.remote_qkey = DATAGRAM_KEY;
            }
            self.works.push(request);
            self.memory.push(memory);
        }
        let count = self.works.len();
        let (first, memory) = (self.works.as_mut_ptr(), self.memory.as_mut_ptr());
        for at in 0..count {
            // SAFETY: both lists have `count` entries and do not move until the call is over.
            unsafe {
                (*first.add(at)).sg_list = memory.add(at);
                (*first.add(at)).next =
                    if at + 1 < count { first.add(at + 1) } else { std::ptr::null_mut() };
            }
        }
        let mut refused = std::ptr::null_mut();
        // SAFETY: the queue pair is alive, and the list is linked as the library wants it. What the
        // addresses in it name, the NIC checks by key.
        let failed = unsafe {
            let post = (*(*self.qp).context).ops.post_send;
            post.map_or(libc::ENOSYS, |post| post(self.qp, first, &raw mut refused))
        };
        if failed == 0 { Ok(()) } else { Err(NativeError::number("posting a request", failed)) }
    }

    /// Posts a buffer for an arrival, with a number by which its completion is known.
    #[inline]
    pub fn post_receive(
        &mut self,
        id: u64,
        address: u64,
        length: u32,
        local_key: u32,
    ) -> Result<(), NativeError> {
        let mut memory = ibv_sge { addr: address, length, lkey: local_key };
        let mut work = ibv_recv_wr {
            wr_id: id,
            next: std::ptr::null_mut(),
            sg_list: &raw mut memory,
            num_sge: 1,
        };
        let mut refused = std::ptr::null_mut();
        // SAFETY: as above.
        let failed = unsafe {
            let post = (*(*self.qp).context).ops.post_recv;
            post.map_or(libc::ENOSYS, |post| post(self.qp, &raw mut work, &raw mut refused))
        };
        if failed == 0 { Ok(()) } else { Err(NativeError::number("posting a buffer", failed)) }
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        let Ok(verbs) = verbs() else { return };
        // SAFETY: made by `make` and `join`, each freed once, before what they were made from.
        unsafe {
            verbs.ibv_destroy_qp(self.qp);
            if let Some((handle, _)) = self.datagrams {
                verbs.ibv_destroy_ah(handle);
            }
        }
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
