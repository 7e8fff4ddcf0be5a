//! The UDP socket of one end of a probe, with what the kernel tells of its packets: when they came,
//! what routers said of them, and how large they may be.

use super::words::{HEAD, Heard, Says, Sent, Volley, Word};
use crate::LoadError;
use crate::harness::meet::Token;
use crate::harness::socket::{TRAIN_BUFFER_BYTES, is_pause, set_int};
use crate::harness::way;
use socket2::Socket;
use std::io;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

/// The longest datagram of IP, header included (RFC 791): its length has 16 bits.
const PACKET_BYTES_MAX: u64 = 65_535;
/// IPV6_PMTUDISC_PROBE (linux/in6.h), as IP_PMTUDISC_PROBE: never fragment, and believe nobody who
/// says how large packets may be.
const IPV6_PMTUDISC_PROBE: libc::c_int = 3;
/// IPV6_PMTUDISC_DONT and IP_PMTUDISC_DONT: fragment what is too large.
const PMTUDISC_DONT: libc::c_int = 0;
/// Origins of an error that a router or the other host has sent (linux/errqueue.h).
const SO_EE_ORIGIN_ICMP: u8 = 2;
const SO_EE_ORIGIN_ICMP6: u8 = 3;
/// The shortest time that a read may be told to wait.
const WAIT_LEAST: Duration = Duration::from_millis(1);

/// One end's socket.
pub struct Line {
    socket: Socket,
    token: Token,
    is_v4: bool,
    buffer: Vec<u8>,
    length: usize,
    interface_bytes: u64,
    used_bytes: u64,
    told_bytes: Option<u64>,
}

impl Line {
    /// Over a socket that is tied to the other end.
    pub fn new(socket: Socket, token: Token) -> Result<Self, LoadError> {
        let own = socket.local_addr().ok().and_then(|at| at.as_socket());
        let own = own.filter(|_| socket.peer_addr().is_ok());
        let Some(own) = own else {
            return Err(LoadError::Order("a probe's socket has no addresses".to_owned()));
        };
        let is_v4 = own.is_ipv4();
        let (level, errors) = if is_v4 {
            (libc::IPPROTO_IP, libc::IP_RECVERR)
        } else {
            (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
        };
        set_int(&socket, level, errors, 1).map_err(LoadError::system("asking for ICMP errors"))?;
        let stamps = set_int(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
        stamps.map_err(LoadError::system("asking for time stamps"))?;
        // By force where that is allowed.
        let _ = socket.set_send_buffer_size(TRAIN_BUFFER_BYTES as usize);
        let _ = set_int(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, TRAIN_BUFFER_BYTES);
        let used_bytes = path_mtu(&socket, is_v4).unwrap_or(0);
        let interface_bytes = interface_mtu(&socket).unwrap_or(used_bytes);
        let interface_bytes = interface_bytes.min(PACKET_BYTES_MAX);
        let (buffer, length) = (vec![0; 1 << 16], 0);
        let told_bytes = None;
        Ok(Self { socket, token, is_v4, buffer, length, interface_bytes, used_bytes, told_bytes })
    }

    /// MTU of the interface that packets leave by, at most the longest datagram.
    pub fn interface_bytes(&self) -> u64 {
        self.interface_bytes
    }

    /// The smallest size of a packet that every path carries, or nearly: those of RFC 791 (68 B)
    /// are too small for a word.
    pub fn least_bytes(&self) -> u16 {
        if self.is_v4 { 128 } else { 1280 }
    }

    /// Bytes of a packet before its payload: those of IP and of UDP.
    fn headers(&self) -> usize {
        if self.is_v4 { 28 } else { 48 }
    }

    /// Says a word, and what follows it. One that the kernel does not take is one that was lost.
    pub fn say(&mut self, says: Says, round: u32, rest: &[u8]) {
        let mut bytes = Word { says, round, index: 0 }.bytes(&self.token, HEAD);
        bytes.extend_from_slice(rest);
        self.send(&bytes);
    }

    /// Whether the kernel took a datagram. An error that an earlier one met is taken off first.
    fn send(&mut self, bytes: &[u8]) -> bool {
        for _ in 0..3 {
            match self.socket.send(bytes) {
                Ok(_) => return true,
                Err(_) => self.take_errors(),
            }
        }
        false
    }

    /// Sends a volley.
    pub fn volley(&mut self, round: u32, volley: &Volley) -> Result<Sent, LoadError> {
        self.let_fragment(volley.may_fragment)?;
        let own_class = self.class();
        if let Some(class) = volley.class {
            self.set_class(class)?;
        }
        let mut bytes = Vec::new();
        let mut packets = 0;
        let began = Instant::now();
        for place in 0..volley.packets() {
            let (index, size) = volley.packet(place);
            let payload = usize::from(size).saturating_sub(self.headers()).max(HEAD);
            if bytes.len() != payload {
                bytes = Word { says: Says::Packet, round, index }.bytes(&self.token, payload);
            }
            bytes[10..12].copy_from_slice(&index.to_be_bytes());
            packets += u64::from(self.send(&bytes));
            if volley.gap_us > 0 {
                thread::sleep(Duration::from_micros(volley.gap_us.into()));
            }
        }
        let took_ns = began.elapsed().as_nanos() as u64;
        self.let_fragment(true)?;
        if volley.class.is_some() {
            self.set_class(own_class)?;
        }
        let sent = self.sent();
        Ok(Sent { packets, took_ns, ..sent })
    }

    /// What is known of sizes at this end.
    pub fn sent(&mut self) -> Sent {
        self.take_errors();
        Sent {
            packets: 0,
            took_ns: 0,
            interface_bytes: self.interface_bytes,
            used_bytes: self.used_bytes,
            told_bytes: self.told_bytes.unwrap_or(0),
        }
    }

    /// Whether packets may be fragmented; those that may not are sent however large somebody said
    /// that they may be.
    fn let_fragment(&self, may: bool) -> Result<(), LoadError> {
        let (level, option, never) = if self.is_v4 {
            (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)
        } else {
            (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE)
        };
        let value = if may { PMTUDISC_DONT } else { never };
        let set = set_int(&self.socket, level, option, value);
        set.map_err(LoadError::system("setting whether packets may be fragmented"))
    }

    /// The byte of DSCP and ECN that packets have.
    pub fn class(&self) -> u8 {
        let (level, option) = self.class_option();
        crate::harness::socket::int(&self.socket, level, option)
            .and_then(|class| u8::try_from(class).ok())
            .unwrap_or(0)
    }

    fn set_class(&self, class: u8) -> Result<(), LoadError> {
        let (level, option) = self.class_option();
        let set = set_int(&self.socket, level, option, class.into());
        set.map_err(LoadError::system("setting a packet's class"))
    }

    fn class_option(&self) -> (libc::c_int, libc::c_int) {
        if self.is_v4 {
            (libc::IPPROTO_IP, libc::IP_TOS)
        } else {
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS)
        }
    }

    /// The next word, if one comes within a time, with the kernel's time stamp in nanoseconds.
    pub fn hear(&mut self, within: Duration) -> Result<Option<(Word, u64)>, LoadError> {
        let until = Instant::now() + within;
        loop {
            let left = until.saturating_duration_since(Instant::now()).max(WAIT_LEAST);
            let wait = self.socket.set_read_timeout(Some(left));
            wait.map_err(LoadError::system("setting a timeout"))?;
            match receive(&self.socket, &mut self.buffer) {
                Ok((length, at_ns)) => {
                    self.length = length;
                    let word = Word::read(&self.buffer[..length], &self.token);
                    if let Some((word, _)) = word {
                        return Ok(Some((word, at_ns)));
                    }
                }
                Err(error) if is_pause(&error) => {}
                // What a router said of an earlier packet.
                Err(_) => self.take_errors(),
            }
            if Instant::now() >= until {
                return Ok(None);
            }
        }
    }

    /// What followed the word that was heard last.
    fn rest(&self) -> &[u8] {
        self.buffer.get(HEAD..self.length).unwrap_or_default()
    }

    /// The outcome that followed the last word.
    pub fn outcome(&self) -> Option<Heard> {
        Heard::read(self.rest())
    }

    /// What the other end has sent, that followed the last word.
    pub fn told(&self) -> Option<Sent> {
        Sent::read(self.rest())
    }

    /// The volley to be sent, that followed the last word.
    pub fn order(&self) -> Option<Volley> {
        Volley::read(self.rest())
    }

    /// Takes what is queued of errors, and the smallest MTU that routers have named.
    fn take_errors(&mut self) {
        while let Some(error) = next_error(&self.socket) {
            let by_router = matches!(error.ee_origin, SO_EE_ORIGIN_ICMP | SO_EE_ORIGIN_ICMP6);
            if by_router && error.ee_errno == libc::EMSGSIZE as u32 {
                let told = u64::from(error.ee_info);
                self.told_bytes = Some(self.told_bytes.map_or(told, |least| least.min(told)));
            }
        }
        // An error that is queued is noted at the socket too, where the next call would meet it.
        let _ = self.socket.take_error();
    }
}

/// The MTU that the kernel uses for the way of a socket.
fn path_mtu(socket: &Socket, is_v4: bool) -> Option<u64> {
    let (level, option) =
        if is_v4 { (libc::IPPROTO_IP, libc::IP_MTU) } else { (libc::IPPROTO_IPV6, libc::IPV6_MTU) };
    crate::harness::socket::int(socket, level, option).and_then(|mtu| u64::try_from(mtu).ok())
}

/// MTU of the interface by which a socket's packets leave.
fn interface_mtu(socket: &Socket) -> Option<u64> {
    let name = way::out(socket)?;
    // SAFETY: all zeroes is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(room)) {
        *to = from as libc::c_char;
    }
    // SAFETY: a whole ifreq whose name ends with a zero; the kernel fills in the MTU.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU as _, &raw mut request) };
    // SAFETY: of the union the kernel has written the MTU.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    (done == 0).then_some(mtu).and_then(|mtu| u64::try_from(mtu).ok())
}

/// The next datagram: its length, and when the kernel got it, in nanoseconds of its clock.
fn receive(socket: &Socket, buffer: &mut [u8]) -> io::Result<(usize, u64)> {
    let mut control = [0u64; 16];
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all zeroes is a valid msghdr; the buffers outlive the call and their sizes are given;
    // the control buffer is aligned for cmsghdr. CMSG_FIRSTHDR and CMSG_NXTHDR stay inside it, and
    // a head's length is checked before what it holds is read as a timespec.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let length = libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0);
        if length < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut at_ns = 0;
        let mut head = libc::CMSG_FIRSTHDR(&raw const message);
        while !head.is_null() {
            let whole = libc::CMSG_LEN(size_of::<libc::timespec>() as u32) as usize;
            if (*head).cmsg_type == libc::SCM_TIMESTAMPNS && (*head).cmsg_len as usize >= whole {
                let at = libc::CMSG_DATA(head).cast::<libc::timespec>().read_unaligned();
                at_ns = (at.tv_sec as u64).saturating_mul(1_000_000_000) + at.tv_nsec as u64;
            }
            head = libc::CMSG_NXTHDR(&raw const message, head);
        }
        Ok((length as usize, at_ns))
    }
}

/// The next error of a socket's queue.
fn next_error(socket: &Socket) -> Option<libc::sock_extended_err> {
    let mut control = [0u64; 64];
    let none = libc::sock_extended_err {
        ee_errno: 0,
        ee_origin: 0,
        ee_type: 0,
        ee_code: 0,
        ee_pad: 0,
        ee_info: 0,
        ee_data: 0,
    };
    // SAFETY: all zeroes is a valid msghdr; the control buffer outlives the call, is aligned for
    // cmsghdr, and its size is given. The kernel fills it; CMSG_FIRSTHDR and CMSG_NXTHDR stay in
    // it, and a head's length is checked before what it holds is read as a sock_extended_err.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        if libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) < 0 {
            return None;
        }
        let mut head = libc::CMSG_FIRSTHDR(&raw const message);
        while !head.is_null() {
            let is_error = matches!(
                ((*head).cmsg_level, (*head).cmsg_type),
                (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
            );
            let whole = libc::CMSG_LEN(size_of::<libc::sock_extended_err>() as u32) as usize;
            if is_error && (*head).cmsg_len as usize >= whole {
                return Some(
                    libc::CMSG_DATA(head).cast::<libc::sock_extended_err>().read_unaligned(),
                );
            }
            head = libc::CMSG_NXTHDR(&raw const message, head);
        }
        Some(none)
    }
}
