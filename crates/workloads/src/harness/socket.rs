//! Sockets: making them, and setting and reading back what moves throughput.

use crate::LoadError;
use narrows_model::Bytes;
use narrows_model::load::{Effective, IpVersion, Job, Params, SocketParams, Wait};
use narrows_model::options::flows;
use narrows_model::workload::Workload;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::ErrorKind;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// How long a blocked call may keep a thread from seeing the phase change.
pub const LOOK_UP: Duration = Duration::from_millis(50);
/// Receive buffer of a UDP receiver where none was asked for: the default of about 200 KiB
/// overflows in a few hundred microseconds.
const UDP_BUFFER_BYTES: libc::c_int = 8 << 20;
/// Room for what a train of a probe leaves in the queue of the own socket.
pub const TRAIN_BUFFER_BYTES: libc::c_int = 2 << 20;
/// The most that is asked for either queue of a socket.
const BUFFER_BYTES_MAX: u64 = 1 << 30;
/// How long a busy-polling call spins before it sleeps, in microseconds.
const BUSY_POLL_US: libc::c_int = 50;
/// Spin on the NIC's queue rather than wait for its interrupt (asm-generic/socket.h, kernel 5.11).
const SO_PREFER_BUSY_POLL: libc::c_int = 69;

/// How threads wait by the parameters; a word that this version does not know is refused.
pub fn wait(params: &Params) -> Result<Wait, LoadError> {
    match params.socket.as_ref().and_then(|socket| socket.wait.as_ref()) {
        None => Ok(Wait::Block),
        Some(Wait::Other(name)) => {
            Err(LoadError::Order(format!("no way to wait is called '{name}'")))
        }
        Some(known) => Ok(known.clone()),
    }
}

fn told(params: &Params) -> SocketParams {
    params.socket.clone().unwrap_or_default()
}

/// Sets an integer option.
pub fn set_int(
    socket: &Socket,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> std::io::Result<()> {
    // SAFETY: the option takes an int, whose address and size are given.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Has the kernel send no faster than so many bytes a second (`SO_MAX_PACING_RATE`, kernel 4.20 for
/// 64 bits).
fn pace(socket: &Socket, bytes_per_second: u64) -> std::io::Result<()> {
    // SAFETY: the option takes an unsigned long, whose address and size are given.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw const bytes_per_second).cast(),
            size_of::<u64>() as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Reads an integer option.
pub fn int(socket: &Socket, level: libc::c_int, option: libc::c_int) -> Option<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into the int.
    let done = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut value).cast(), &mut length)
    };
    (done == 0).then_some(value)
}

/// Level and option of the byte that carries the code point.
fn code_point(address: IpAddr) -> (libc::c_int, libc::c_int) {
    match address {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
    }
}

/// Bytes that [`make`] asks of the kernel for a flow's queues, twice over, as the kernel grants
/// them; none where the kernel chooses itself.
pub fn asked_bytes(job: &Job) -> u64 {
    match job.params.socket_buffer_bytes {
        Some(bytes) => 4 * bytes.0.min(BUFFER_BYTES_MAX),
        None if job.kind == Workload::PathProbe => {
            2 * (UDP_BUFFER_BYTES + TRAIN_BUFFER_BYTES) as u64
        }
        None if job.kind.is_udp() => 2 * UDP_BUFFER_BYTES as u64,
        None => 0,
    }
}

/// A socket for an address family with everything set that the parameters ask for.
pub fn make(address: IpAddr, kind: Type, job: &Job) -> Result<Socket, LoadError> {
    let params = &job.params;
    let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let protocol = if kind == Type::STREAM { Protocol::TCP } else { Protocol::UDP };
    let socket = Socket::new(domain, kind, Some(protocol));
    let socket = socket.map_err(LoadError::system("opening a socket"))?;
    if let Some(bytes) = params.socket_buffer_bytes {
        let bytes = bytes.0.min(BUFFER_BYTES_MAX) as usize;
        let doing = || LoadError::system(format!("asking for socket buffers of {bytes} bytes"));
        socket.set_send_buffer_size(bytes).map_err(doing())?;
        socket.set_recv_buffer_size(bytes).map_err(doing())?;
    } else if kind == Type::DGRAM {
        // By force where that is allowed; what was given is read back.
        let _ = socket.set_recv_buffer_size(UDP_BUFFER_BYTES as usize);
        let _ = set_int(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, UDP_BUFFER_BYTES);
    }
    if let (Some(name), Type::STREAM) = (&params.congestion, kind) {
        let doing = format!("setting congestion control '{name}'");
        socket.set_tcp_congestion(name.as_bytes()).map_err(LoadError::system(doing))?;
    }
    let asked = told(params);
    if let (Some(mss), Type::STREAM) = (asked.mss_bytes, kind) {
        let doing = format!("asking for segments of at most {mss} bytes");
        socket.set_tcp_mss(mss).map_err(LoadError::system(doing))?;
    }
    if let (Some(most), Type::STREAM) = (flows::UNSENT.of(params), kind) {
        let bytes = libc::c_int::try_from(most.0).unwrap_or(libc::c_int::MAX);
        let set = set_int(&socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes);
        set.map_err(LoadError::system(format!("limiting unsent bytes to {most}")))?;
    }
    if let (Some(rate), Type::STREAM) = (params.rate_bps, kind) {
        let each_bytes = rate / 8 / u64::from(params.streams.max(1));
        pace(&socket, each_bytes).map_err(LoadError::system("setting the pace of a flow"))?;
    }
    if let Some(dscp) = asked.dscp {
        let (level, option) = code_point(address);
        let doing = format!("setting the code point {dscp}");
        let set = set_int(&socket, level, option, libc::c_int::from(dscp) << 2);
        set.map_err(LoadError::system(doing))?;
    }
    Ok(socket)
}

/// Settings of a socket that has met the other end: short timeouts, so that blocked threads see the
/// phase change, or none at all for those that spin; no delay for round trips. With it a stream's
/// every write would end in a small segment.
pub fn settle(socket: &Socket, job: &Job) -> Result<(), LoadError> {
    let params = &job.params;
    let wait = wait(params)?;
    let no_delay = told(params).no_delay.unwrap_or(!job.kind.is_stream());
    let set = || {
        if job.kind.is_tcp() {
            socket.set_tcp_nodelay(no_delay)?;
        }
        if wait == Wait::BusyPoll {
            // Preferring it takes a privilege that polling does not, on some kernels.
            let _ = set_int(socket, libc::SOL_SOCKET, SO_PREFER_BUSY_POLL, 1);
            set_int(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, BUSY_POLL_US)?;
        }
        socket.set_nonblocking(wait == Wait::Spin)?;
        socket.set_read_timeout(Some(LOOK_UP))?;
        socket.set_write_timeout(Some(LOOK_UP))
    };
    set().map_err(LoadError::system("setting how the socket waits"))
}

/// The version that packets of this address have: an IPv4 address can be written as an IPv6 one.
fn ip_version(address: IpAddr) -> IpVersion {
    match address.to_canonical() {
        IpAddr::V4(_) => IpVersion::V4,
        IpAddr::V6(_) => IpVersion::V6,
    }
}

/// What the kernel says is set.
pub fn read_back(socket: &Socket, job: &Job, span: Bytes) -> Effective {
    let stream = socket.r#type().is_ok_and(|kind| kind == Type::STREAM);
    let congestion = stream.then(|| socket.tcp_congestion().ok()).flatten();
    let address = socket.local_addr().ok().and_then(|at| at.as_socket()).map(|at| at.ip());
    let dscp = address.and_then(|address| {
        let (level, option) = code_point(address);
        u8::try_from(int(socket, level, option)? >> 2).ok()
    });
    let path_mtu = address.and_then(|address| match address {
        IpAddr::V4(_) => int(socket, libc::IPPROTO_IP, libc::IP_MTU),
        IpAddr::V6(_) => int(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU),
    });
    Effective {
        congestion: congestion
            .map(|name| String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned()),
        send_buffer_bytes: bytes(socket.send_buffer_size()),
        receive_buffer_bytes: bytes(socket.recv_buffer_size()),
        buffer_span_bytes: span,
        wait: wait(&job.params).ok(),
        no_delay: stream.then(|| socket.tcp_nodelay().ok()).flatten(),
        mss_bytes: stream.then(|| socket.tcp_mss().ok()).flatten(),
        dscp,
        path_mtu_bytes: path_mtu.and_then(|n| u64::try_from(n).ok()).map(Bytes),
        ip: address.map(ip_version),
        ..Default::default()
    }
}

fn bytes(size: std::io::Result<usize>) -> Option<Bytes> {
    size.ok().map(|size| Bytes(size as u64))
}

/// Acknowledges what has come at once. The kernel forgets by itself that it was told to (tcp(7)),
/// so a receiver says it after each read.
pub fn acknowledge(socket: &Socket) -> Result<(), LoadError> {
    socket.set_tcp_quickack(true).map_err(LoadError::system("setting TCP_QUICKACK"))
}

/// True for an error that only means "nothing for now".
pub fn is_pause(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Nanos;
    use narrows_model::load::{Role, Timeline};
    use narrows_model::options::Takes;

    #[test]
    fn every_way_to_wait_is_declared() {
        let Takes::Word(declared) = flows::WAIT.declared.takes else { panic!("words") };
        assert_eq!(declared.to_vec(), Wait::ALL.iter().map(Wait::as_str).collect::<Vec<_>>());
    }

    /// What a flow's program can write while the other end reads nothing, beyond what the kernel
    /// has sent of it.
    fn unsent_bytes(most: Option<u64>) -> libc::c_int {
        const SIOCOUTQNSD: libc::Ioctl = 0x894B;
        let here = IpAddr::from([127, 0, 0, 1]);
        let line = Timeline::new(Nanos(0), Nanos(1), Nanos(0));
        let params = Params::of_network(Bytes(4096), 1);
        let mut job = Job::new("tcp-stream".into(), Role::Sender, params, line);
        if let Some(most) = most {
            job.params.told.tell(&flows::UNSENT, Bytes(most));
        }
        let listener = std::net::TcpListener::bind((here, 0)).expect("a listener");
        let socket = make(here, Type::STREAM, &job).expect("a socket");
        socket.connect(&listener.local_addr().expect("an address").into()).expect("connects");
        let (_other, _) = listener.accept().expect("accepts");
        socket.set_nonblocking(true).expect("a mode");
        while socket.send(&[7; 4096]).is_ok() {}
        let mut unsent: libc::c_int = 0;
        // SAFETY: the request writes an int, which it is given.
        let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCOUTQNSD, &raw mut unsent) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
        unsent
    }

    /// Beyond the bound there is at most what one segment of the device takes in, 64 KiB.
    #[test]
    fn no_more_waits_unsent_than_was_asked_for() {
        for most in [16 << 10, 128 << 10] {
            let unsent = unsent_bytes(Some(most)) as u64;
            assert!((1..=most + (64 << 10)).contains(&unsent), "{unsent} of {most}");
        }
        let unasked = unsent_bytes(None);
        assert!(unasked > 256 << 10, "{unasked}");
    }

    fn job(kind: Workload) -> Job {
        let line = Timeline::new(Nanos(0), Nanos(1), Nanos(0));
        Job::new(kind, Role::Sender, Params::of_network(Bytes(4096), 4), line)
    }

    #[test]
    fn queues_are_asked_for_twice_each_as_the_kernel_grants_them() {
        let asked = |kind, bytes: Option<u64>| {
            let mut job = job(kind);
            job.params.socket_buffer_bytes = bytes.map(Bytes);
            asked_bytes(&job)
        };
        assert_eq!(asked(Workload::TCP_STREAM, None), 0, "the kernel chooses");
        assert_eq!(asked(Workload::TCP_STREAM, Some(1000)), 4000);
        assert_eq!(asked(Workload::UDP_RR, Some(2 << 30)), 4 << 30, "a GiB each at most");
        assert_eq!(asked(Workload::UDP_STREAM, None), 16 << 20);
        assert_eq!(asked(Workload::PathProbe, None), 20 << 20);
    }

    /// The pace of a flow, as the kernel has it, in bytes a second.
    #[test]
    fn a_flow_has_its_share_of_the_rate_and_its_code_point() {
        let here = IpAddr::from([127, 0, 0, 1]);
        let mut job = job(Workload::TCP_STREAM);
        let of = |job: &Job, kind| {
            let socket = make(here, kind, job).expect("a socket");
            let pace = int(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE);
            (pace, int(&socket, libc::IPPROTO_IP, libc::IP_TOS))
        };
        assert_eq!(of(&job, Type::STREAM), (Some(-1), Some(0)), "none, as the kernel writes it");
        job.params.rate_bps = Some(80_000_000);
        job.params.socket = Some(SocketParams { dscp: Some(46), ..SocketParams::default() });
        assert_eq!(of(&job, Type::STREAM), (Some(2_500_000), Some(46 << 2)), "a quarter each");
        assert_eq!(of(&job, Type::DGRAM).0, Some(-1), "datagrams are paced by their sender");
        let stream = make(here, Type::STREAM, &job).expect("a socket");
        assert_eq!(read_back(&stream, &job, Bytes(7)).dscp, Some(46));
        assert_eq!(read_back(&stream, &job, Bytes(7)).buffer_span_bytes, Bytes(7));
    }

    #[test]
    fn a_socket_waits_as_it_was_told_and_only_trips_are_not_held_back() {
        let here = IpAddr::from([127, 0, 0, 1]);
        let settled = |kind: Workload, wait: Option<&str>, no_delay: Option<bool>| {
            let mut job = job(kind);
            let wait = wait.map(Into::into);
            job.params.socket = Some(SocketParams { wait, no_delay, ..SocketParams::default() });
            let socket = make(here, Type::STREAM, &job).expect("a socket");
            settle(&socket, &job).expect("settled");
            let timeouts = [socket.read_timeout(), socket.write_timeout()];
            let timeouts = timeouts.map(|timeout| timeout.expect("a timeout"));
            // The kernel rounds up to its ticks.
            for timeout in timeouts.map(Option::unwrap_or_default) {
                assert!((50..=60).contains(&timeout.as_millis()), "{timeout:?}");
            }
            let busy = int(&socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL);
            let blocks = !socket.nonblocking().expect("a flag");
            (blocks, busy == Some(50), socket.tcp_nodelay().expect("a flag"))
        };
        let (stream, trips) = (Workload::TCP_STREAM, Workload::TCP_RR);
        assert_eq!(settled(stream.clone(), None, None), (true, false, false));
        assert_eq!(settled(stream.clone(), Some("spin"), None), (false, false, false));
        assert_eq!(settled(stream, Some("busy-poll"), Some(true)), (true, true, true));
        assert_eq!(settled(trips.clone(), None, None), (true, false, true));
        assert_eq!(settled(trips, None, Some(false)), (true, false, false));
        let mut unknown = job(Workload::TCP_RR);
        unknown.params.socket =
            Some(SocketParams { wait: Some("dream".into()), ..SocketParams::default() });
        let why = wait(&unknown.params).err().map(|why| why.to_string());
        assert_eq!(why.as_deref(), Some("no way to wait is called 'dream'"));
    }

    #[test]
    fn an_ipv4_address_is_one_in_the_clothes_of_ipv6_too() {
        let version = |text: &str| ip_version(text.parse().expect("an address"));
        assert_eq!(version("192.0.2.1"), IpVersion::V4);
        assert_eq!(version("::ffff:192.0.2.1"), IpVersion::V4);
        assert_eq!(version("2001:db8::1"), IpVersion::V6);
        for kind in [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::Interrupted] {
            assert!(is_pause(&kind.into()), "{kind}");
        }
        assert!(!is_pause(&ErrorKind::ConnectionReset.into()));
    }
}
