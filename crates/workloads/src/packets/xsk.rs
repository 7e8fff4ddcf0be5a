//! AF_XDP sockets (Documentation/networking/af_xdp.rst): a receive or send queue of an interface
//! whose packets lie in memory of this program, handed to and fro by four rings. The driver takes
//! them from there and puts them there itself (zero-copy) where it can, else the kernel copies.

use super::area::{self, Area};
use super::link::Link;
use crate::LoadError;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The family, which not every C library names.
const AF_XDP: libc::c_int = 44;
/// Bytes of a chunk of memory, of which each holds a frame; the second is the most there is.
const CHUNKS: [usize; 2] = [2048, 4096];
/// What the kernel keeps free before a frame that comes (`XDP_PACKET_HEADROOM`).
const HEADROOM: usize = 256;
/// Entries of a ring that is asked for because there must be one.
const LEAST: u32 = 64;

/// The longest frame that is sent, without check sequence.
pub const SENT_BYTES_MAX: usize = CHUNKS[1];
/// The longest that is received.
pub const RECEIVED_BYTES_MAX: usize = CHUNKS[1] - HEADROOM;

/// One of a socket's rings. Only one side puts into it and only the other takes out.
pub struct Ring {
    area: Area,
    at: libc::xdp_ring_offset,
    entry_bytes: usize,
    entries: u32,
    /// How far this side has come, modulo 2^32.
    own: u32,
}

impl Ring {
    fn new(area: Area, at: libc::xdp_ring_offset, entry_bytes: usize, entries: u32) -> Self {
        Self { area, at, entry_bytes, entries, own: 0 }
    }

    fn entry(&self) -> usize {
        self.at.desc as usize + (self.own % self.entries) as usize * self.entry_bytes
    }

    /// How many entries this side may put into it now.
    pub fn room(&self) -> u32 {
        let taken = self.area.shared(self.at.consumer as usize).load(Ordering::Acquire);
        self.entries - self.own.wrapping_sub(taken).min(self.entries)
    }

    /// Puts an entry, of which there is room: where a frame is, and its length where that is told.
    pub fn put(&mut self, address: u64, length: u32) {
        let at = self.entry();
        let entry = self.area.bytes_mut(at, self.entry_bytes);
        entry[..8].copy_from_slice(&address.to_ne_bytes());
        if let Some(rest) = entry.get_mut(8..16) {
            rest[..4].copy_from_slice(&length.to_ne_bytes());
            rest[4..].fill(0);
        }
        self.own = self.own.wrapping_add(1);
    }

    /// Lets the kernel see what was put.
    pub fn hand_over(&self) {
        self.area.shared(self.at.producer as usize).store(self.own, Ordering::Release);
    }

    /// How many entries wait for this side.
    pub fn waiting(&self) -> u32 {
        let put = self.area.shared(self.at.producer as usize).load(Ordering::Acquire);
        put.wrapping_sub(self.own).min(self.entries)
    }

    /// Takes an entry that waits: where a frame is, and its length where that is told.
    pub fn take(&mut self) -> (u64, u32) {
        let entry = self.area.bytes(self.entry(), self.entry_bytes);
        let address = entry.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        let length = entry.get(8..).and_then(|rest| rest.first_chunk());
        self.own = self.own.wrapping_add(1);
        (address, length.map_or(0, |bytes| u32::from_ne_bytes(*bytes)))
    }

    /// Lets the kernel have the places of what was taken.
    pub fn give_back(&self) {
        self.area.shared(self.at.consumer as usize).store(self.own, Ordering::Release);
    }

    /// Whether the kernel goes on only when it is called.
    pub fn wants_call(&self) -> bool {
        self.area.word(self.at.flags as usize) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// What each side of a socket has of it.
struct Side {
    /// Its own part of the socket's memory, and where in that it begins.
    memory: Area,
    begins: u64,
    chunk: usize,
    is_zero_copy: bool,
    /// Last, so that the rings are unmapped before it is closed.
    socket: Arc<OwnedFd>,
}

/// A side that sends: frames are put, and are sent once their completion was read.
pub struct Outward {
    sends: Ring,
    sent: Ring,
    side: Side,
}

/// A side that receives: chunks are given to be filled, and come back as frames.
pub struct Inward {
    comes: Ring,
    fills: Ring,
    side: Side,
}

/// How long frames are, and how many chunks of memory each side has for them, a power of two.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The longest frame, without its check sequence.
    pub frame_bytes: usize,
    /// Chunks of frames that are on their way.
    pub out: u32,
    /// Chunks of frames that have come.
    pub into: u32,
}

/// Opens a socket on a queue of an interface that goes both ways: a queue has one.
pub fn both(link: &Link, queue: u32, wanted: Wanted) -> Result<(Outward, Inward), LoadError> {
    let made = Made::new(link, queue, wanted.frame_bytes + HEADROOM, wanted.out + wanted.into)?;
    let sends = made.ring(libc::XDP_TX_RING, wanted.out)?;
    let sent = made.ring(libc::XDP_UMEM_COMPLETION_RING, wanted.out)?;
    let comes = made.ring(libc::XDP_RX_RING, wanted.into)?;
    let fills = made.fills(wanted.out, wanted.into)?;
    let bound = made.bind()?;
    let outward = Outward { sends, sent, side: bound.side(0, wanted.out)? };
    Ok((outward, Inward { comes, fills, side: bound.side(wanted.out, wanted.into)? }))
}

impl Outward {
    /// Opens a socket on a queue of an interface that only sends.
    pub fn open(
        link: &Link,
        queue: u32,
        frame_bytes: usize,
        chunks: u32,
    ) -> Result<Self, LoadError> {
        let made = Made::new(link, queue, frame_bytes, chunks)?;
        let sends = made.ring(libc::XDP_TX_RING, chunks)?;
        made.ring(libc::XDP_UMEM_FILL_RING, LEAST)?;
        let sent = made.ring(libc::XDP_UMEM_COMPLETION_RING, chunks)?;
        Ok(Self { sends, sent, side: made.bind()?.side(0, chunks)? })
    }

    /// Whether the driver takes frames from this program's memory.
    pub fn is_zero_copy(&self) -> bool {
        self.side.is_zero_copy
    }

    /// A chunk's frame, to write while the kernel has not got it.
    pub fn frame_mut(&mut self, chunk: u32, bytes: usize) -> &mut [u8] {
        self.side.memory.bytes_mut(chunk as usize * self.side.chunk, bytes)
    }

    /// How many frames may be put now.
    pub fn room(&self) -> u32 {
        self.sends.room()
    }

    /// Puts a chunk's frame to be sent.
    pub fn put(&mut self, chunk: u32, bytes: usize) {
        let begins = self.side.begins + u64::from(chunk) * self.side.chunk as u64;
        self.sends.put(begins, bytes as u32);
    }

    /// Has the kernel send what was put.
    pub fn send(&self) -> io::Result<()> {
        self.sends.hand_over();
        if !self.sends.wants_call() {
            return Ok(());
        }
        let socket = self.side.socket.as_raw_fd();
        // SAFETY: a call without data of ours: the frames are in the ring.
        let sent = unsafe { libc::send(socket, std::ptr::null(), 0, libc::MSG_DONTWAIT) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Takes the chunks whose frames were sent.
    pub fn completed(&mut self, mut take: impl FnMut(u32)) {
        for _ in 0..self.sent.waiting() {
            let (address, _) = self.sent.take();
            take((address.wrapping_sub(self.side.begins) / self.side.chunk as u64) as u32);
        }
        self.sent.give_back();
    }
}

impl Inward {
    /// Opens a socket on a queue of an interface that only receives.
    pub fn open(
        link: &Link,
        queue: u32,
        frame_bytes: usize,
        chunks: u32,
    ) -> Result<Self, LoadError> {
        let made = Made::new(link, queue, frame_bytes + HEADROOM, chunks)?;
        let comes = made.ring(libc::XDP_RX_RING, chunks)?;
        let fills = made.fills(0, chunks)?;
        made.ring(libc::XDP_UMEM_COMPLETION_RING, LEAST)?;
        Ok(Self { comes, fills, side: made.bind()?.side(0, chunks)? })
    }

    /// Whether the driver puts frames into this program's memory.
    pub fn is_zero_copy(&self) -> bool {
        self.side.is_zero_copy
    }

    /// Its socket, to be waited on and to be given packets.
    pub fn socket(&self) -> &OwnedFd {
        &self.side.socket
    }

    /// Goes through the frames that have come, and gives their chunks back; how many there were.
    pub fn each(&mut self, mut take: impl FnMut(&[u8])) -> u32 {
        let waiting = self.comes.waiting();
        for _ in 0..waiting {
            let (address, length) = self.comes.take();
            let at = address.wrapping_sub(self.side.begins);
            take(self.side.memory.bytes(at as usize, length as usize));
            self.fills.put(address - address % self.side.chunk as u64, 0);
        }
        if waiting > 0 {
            self.comes.give_back();
            self.fills.hand_over();
        }
        waiting
    }
}

/// A socket that is not bound yet.
struct Made<'a> {
    socket: OwnedFd,
    /// All of its memory, of which each side maps its own part.
    memory: OwnedFd,
    whole: Area,
    chunk: usize,
    link: &'a Link,
    queue: u32,
}

impl<'a> Made<'a> {
    fn new(link: &'a Link, queue: u32, bytes: usize, chunks: u32) -> Result<Self, LoadError> {
        let chunk = CHUNKS.into_iter().find(|chunk| *chunk >= bytes).unwrap_or(CHUNKS[1]);
        // SAFETY: a plain call; the kernel has opened the answer for us alone.
        let opened = unsafe { libc::socket(AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if opened < 0 {
            let doing = format!("an AF_XDP socket on {} (root or CAP_NET_RAW)", link.name);
            return Err(LoadError::system(doing)(io::Error::last_os_error()));
        }
        // SAFETY: as above.
        let socket = unsafe { OwnedFd::from_raw_fd(opened) };
        let memory = area::memory(chunk * chunks as usize)?;
        let whole = Area::of_memory(&memory, 0, chunk * chunks as usize)?;
        let made = Self { socket, memory, whole, chunk, link, queue };
        let told = libc::xdp_umem_reg_v1 {
            addr: made.whole.address(),
            len: made.whole.length() as u64,
            chunk_size: chunk as u32,
            headroom: 0,
        };
        made.set(libc::XDP_UMEM_REG, &told)
            .map_err(made.failed("memory for packets of an AF_XDP socket"))?;
        Ok(made)
    }

    fn failed(&self, doing: &str) -> impl FnOnce(io::Error) -> LoadError + use<> {
        LoadError::system(format!("{doing} on {}, queue {}", self.link.name, self.queue))
    }

    fn set<T>(&self, option: libc::c_int, value: &T) -> io::Result<()> {
        // SAFETY: the kernel reads the value within its size.
        let done = unsafe {
            libc::setsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_XDP,
                option,
                std::ptr::from_ref(value).cast(),
                size_of::<T>() as libc::socklen_t,
            )
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// What the kernel says of the socket.
    fn get<T>(&self, option: libc::c_int) -> io::Result<T> {
        // SAFETY: the callers' types are numbers alone, of which all zeroes is a value.
        let mut value = unsafe { std::mem::zeroed::<T>() };
        let mut length = size_of::<T>() as libc::socklen_t;
        // SAFETY: the kernel writes within the size that it is told.
        let done = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_XDP,
                option,
                (&raw mut value).cast(),
                &raw mut length,
            )
        };
        if done == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
    }

    /// Asks for one of the rings, and maps it.
    fn ring(&self, option: libc::c_int, entries: u32) -> Result<Ring, LoadError> {
        self.set(option, &entries).map_err(self.failed("a ring of an AF_XDP socket"))?;
        let all = self.get::<libc::xdp_mmap_offsets>(libc::XDP_MMAP_OFFSETS);
        let all = all.map_err(self.failed("asking where the rings are"))?;
        let (at, offset, entry_bytes) = match option {
            libc::XDP_RX_RING => (all.rx, libc::XDP_PGOFF_RX_RING, size_of::<libc::xdp_desc>()),
            libc::XDP_TX_RING => (all.tx, libc::XDP_PGOFF_TX_RING, size_of::<libc::xdp_desc>()),
            libc::XDP_UMEM_FILL_RING => {
                (all.fr, libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t, size_of::<u64>())
            }
            _ => (all.cr, libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t, size_of::<u64>()),
        };
        let length = at.desc as usize + entries as usize * entry_bytes;
        let area = Area::of_socket(&self.socket, offset, length)?;
        Ok(Ring::new(area, at, entry_bytes, entries))
    }

    /// The ring of chunks to be filled, with all of this part, from the first on.
    fn fills(&self, first: u32, chunks: u32) -> Result<Ring, LoadError> {
        let mut fills = self.ring(libc::XDP_UMEM_FILL_RING, chunks)?;
        for chunk in first..first + chunks {
            fills.put(u64::from(chunk) * self.chunk as u64, 0);
        }
        fills.hand_over();
        Ok(fills)
    }

    /// Binds it to its queue: zero-copy where the driver offers that, else the kernel copies.
    fn bind(self) -> Result<Bound, LoadError> {
        let at = libc::sockaddr_xdp {
            sxdp_family: AF_XDP as u16,
            sxdp_flags: libc::XDP_USE_NEED_WAKEUP,
            sxdp_ifindex: self.link.index,
            sxdp_queue_id: self.queue,
            sxdp_shared_umem_fd: 0,
        };
        // SAFETY: the kernel reads the address within its size.
        let done = unsafe {
            libc::bind(
                self.socket.as_raw_fd(),
                std::ptr::from_ref(&at).cast(),
                size_of::<libc::sockaddr_xdp>() as libc::socklen_t,
            )
        };
        if done != 0 {
            let error = io::Error::last_os_error();
            let busy = error.raw_os_error() == Some(libc::EBUSY);
            let why = if busy { " (another has the queue)" } else { "" };
            return Err(self.failed(&format!("binding an AF_XDP socket{why}"))(error));
        }
        let is_zero_copy = is_zero_copy(self.get(libc::XDP_OPTIONS));
        let Self { socket, memory, chunk, .. } = self;
        Ok(Bound { socket: Arc::new(socket), memory, chunk, is_zero_copy })
    }
}

/// Whether the driver itself reads and writes the memory of a bound socket, as the kernel says; one
/// that does not say it (before Linux 5.3) is taken to copy.
fn is_zero_copy(options: io::Result<libc::xdp_options>) -> bool {
    options.is_ok_and(|options| options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
}

/// A socket that has its queue.
struct Bound {
    socket: Arc<OwnedFd>,
    memory: OwnedFd,
    chunk: usize,
    is_zero_copy: bool,
}

impl Bound {
    /// A side with so many chunks, from the first on.
    fn side(&self, first: u32, chunks: u32) -> Result<Side, LoadError> {
        let begins = first as usize * self.chunk;
        let length = chunks as usize * self.chunk;
        let memory = Area::of_memory(&self.memory, begins as libc::off_t, length)?;
        let (chunk, is_zero_copy) = (self.chunk, self.is_zero_copy);
        let socket = Arc::clone(&self.socket);
        Ok(Side { memory, begins: begins as u64, chunk, is_zero_copy, socket })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring in memory: producer, consumer and flags in front, four entries behind.
    fn ring(entry_bytes: usize) -> Ring {
        let at = libc::xdp_ring_offset { producer: 0, consumer: 4, flags: 8, desc: 64 };
        let memory = area::memory(4096).expect("memory");
        Ring::new(Area::of_memory(&memory, 0, 4096).expect("a part"), at, entry_bytes, 4)
    }

    #[test]
    fn a_ring_has_as_much_room_as_the_other_side_leaves() {
        let mut ring = ring(16);
        // Past the end of 32 bits it goes on from nothing.
        ring.own = u32::MAX - 1;
        ring.area.shared(4).store(u32::MAX - 1, Ordering::Relaxed);
        for number in 0..4 {
            assert_eq!(ring.room(), 4 - number);
            ring.put(2048 * u64::from(number), 60 + number);
        }
        assert_eq!((ring.room(), ring.area.word(0)), (0, 0), "nothing is seen yet");
        ring.hand_over();
        assert_eq!(ring.area.word(0), 2);
        ring.area.shared(4).store(0, Ordering::Relaxed);
        assert_eq!(ring.room(), 2);
        let entries = ring.area.bytes(64, 64).to_vec();
        let word = |at: usize| u32::from_ne_bytes(*entries[at..].first_chunk().expect("a word"));
        // The first of the four went to the third place, the last to the second.
        assert_eq!((word(32), word(40), word(16), word(24)), (0, 60, 3 * 2048, 63));
    }

    #[test]
    fn frames_are_copied_unless_the_kernel_says_that_they_are_not() {
        // include/uapi/linux/if_xdp.h: XDP_OPTIONS_ZEROCOPY is the first bit.
        let said = |flags: u32| is_zero_copy(Ok(libc::xdp_options { flags }));
        assert_eq!([said(1), said(0), said(2), said(3)], [true, false, false, true]);
        let old = io::Error::from_raw_os_error(libc::ENOPROTOOPT);
        assert!(!is_zero_copy(Err(old)), "a kernel that cannot say it");
    }

    #[test]
    fn what_waits_is_taken_once() {
        let (mut ours, mut addresses) = (ring(16), ring(8));
        for ring in [&mut ours, &mut addresses] {
            ring.put(4096, 61);
            ring.put(6144, 62);
            ring.hand_over();
            ring.own = 0;
        }
        assert_eq!((ours.waiting(), ours.take(), ours.take()), (2, (4096, 61), (6144, 62)));
        assert_eq!(ours.waiting(), 0);
        ours.give_back();
        assert_eq!(ours.area.word(4), 2);
        assert_eq!((addresses.take(), addresses.take()), ((4096, 0), (6144, 0)));
        // A kernel that claims more than there is does not make this side go astray.
        ours.area.shared(0).store(1000, Ordering::Relaxed);
        assert_eq!(ours.waiting(), 4);
    }

    /// The side with chunks four to seven of eight, each of 2048 bytes.
    fn side() -> Side {
        let all = area::memory(8 * 2048).expect("memory");
        let memory = Area::of_memory(&all, 4 * 2048, 4 * 2048).expect("a part");
        Side { memory, begins: 4 * 2048, chunk: 2048, is_zero_copy: false, socket: Arc::new(all) }
    }

    #[test]
    fn a_chunk_is_sent_from_its_place_in_all_of_the_memory() {
        let mut out = Outward { sends: ring(16), sent: ring(8), side: side() };
        out.frame_mut(3, 60).fill(7);
        assert_eq!(out.side.memory.bytes(3 * 2048, 61), [[7; 60].as_slice(), &[0]].concat());
        assert_eq!(out.room(), 4);
        out.put(3, 60);
        assert_eq!(out.room(), 3);
        out.sends.own = 0;
        assert_eq!(out.sends.take(), (7 * 2048, 60));
        // The kernel says which it has sent, by the same addresses.
        for address in [7 * 2048, 4 * 2048] {
            out.sent.put(address, 0);
        }
        out.sent.hand_over();
        out.sent.own = 0;
        let mut chunks = Vec::new();
        out.completed(|chunk| chunks.push(chunk));
        assert_eq!((chunks, out.sent.area.word(4)), (vec![3, 0], 2));
    }

    #[test]
    fn a_frame_that_came_is_read_behind_its_headroom_and_its_chunk_given_back() {
        let mut into = Inward { comes: ring(16), fills: ring(8), side: side() };
        into.side.memory.bytes_mut(2048 + HEADROOM, 60).fill(9);
        into.comes.put(5 * 2048 + HEADROOM as u64, 60);
        into.comes.hand_over();
        into.comes.own = 0;
        let mut frames = Vec::new();
        assert_eq!(into.each(|frame| frames.push(frame.to_vec())), 1);
        assert_eq!(frames, [[9; 60]]);
        assert_eq!((into.comes.area.word(4), into.fills.area.word(0)), (1, 1));
        into.fills.own = 0;
        assert_eq!(into.fills.take(), (5 * 2048, 0), "all of the chunk");
        assert_eq!(into.each(|_| {}), 0);
    }

    #[test]
    fn the_kernel_asks_for_a_call_by_a_flag() {
        let ring = ring(16);
        assert!(!ring.wants_call());
        ring.area.shared(8).store(libc::XDP_RING_NEED_WAKEUP, Ordering::Relaxed);
        assert!(ring.wants_call());
        ring.area.shared(8).store(!libc::XDP_RING_NEED_WAKEUP, Ordering::Relaxed);
        assert!(!ring.wants_call());
    }
}
