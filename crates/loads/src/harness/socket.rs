//! Sockets: making them, setting and reading back what moves throughput, and the token by which
//! the two ends of a trial know each other.

use crate::LoadError;
use narrows_facts::Bytes;
use narrows_facts::load::{Effective, Params};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// How long a blocked call may keep a thread from seeing the phase change.
pub const LOOK_UP: Duration = Duration::from_millis(50);
/// How long the ends may take to find each other.
const MEET_WITHIN: Duration = Duration::from_secs(10);
/// How long a stranger may hold the sink's attention without saying the token.
const TOKEN_WITHIN: Duration = Duration::from_millis(500);

/// A trial's secret: it opens each connection and, in part, each datagram.
pub type Token = [u8; 16];

/// Reads a token from 32 hexadecimal digits.
pub fn token(text: &str) -> Result<Token, LoadError> {
    let wrong = || LoadError::Order("the token is not 32 hexadecimal digits".into());
    let mut token = [0; 16];
    if text.len() != 32 || !text.is_ascii() {
        return Err(wrong());
    }
    for (byte, pair) in token.iter_mut().zip(text.as_bytes().chunks(2)) {
        let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
    }
    Ok(token)
}

/// A socket with the buffers and the congestion control that are asked for.
fn make(address: IpAddr, kind: Type, params: &Params) -> Result<Socket, LoadError> {
    let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let protocol = if kind == Type::STREAM { Protocol::TCP } else { Protocol::UDP };
    let socket = Socket::new(domain, kind, Some(protocol));
    let socket = socket.map_err(LoadError::system("opening a socket"))?;
    if let Some(bytes) = params.socket_buffer_bytes {
        let bytes = usize::try_from(bytes.0).unwrap_or(usize::MAX).min(1 << 30);
        let doing = || LoadError::system(format!("asking for socket buffers of {bytes} bytes"));
        socket.set_send_buffer_size(bytes).map_err(doing())?;
        socket.set_recv_buffer_size(bytes).map_err(doing())?;
    }
    if let (Some(name), Type::STREAM) = (&params.congestion, kind) {
        let doing = format!("setting congestion control '{name}'");
        socket.set_tcp_congestion(name.as_bytes()).map_err(LoadError::system(doing))?;
    }
    Ok(socket)
}

/// Short timeouts, so that blocked threads see the phase change; no delay for small messages.
fn settle(socket: &Socket, stream: bool) -> Result<(), LoadError> {
    let set = || {
        if stream {
            socket.set_tcp_nodelay(true)?;
        }
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(LOOK_UP))?;
        socket.set_write_timeout(Some(LOOK_UP))
    };
    set().map_err(LoadError::system("setting socket timeouts"))
}

/// What the kernel says is set.
pub fn read_back(socket: &Socket, stream: bool, span: Bytes) -> Effective {
    let bytes = |size: std::io::Result<usize>| size.ok().map(|size| Bytes(size as u64));
    let congestion = stream.then(|| socket.tcp_congestion().ok()).flatten();
    Effective {
        congestion: congestion
            .map(|name| String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned()),
        send_buffer_bytes: bytes(socket.send_buffer_size()),
        receive_buffer_bytes: bytes(socket.recv_buffer_size()),
        buffer_span_bytes: span,
        ..Default::default()
    }
}

/// A TCP socket that listens on a free port of `address`.
pub fn listen(address: IpAddr, params: &Params) -> Result<Socket, LoadError> {
    let socket = make(address, Type::STREAM, params)?;
    bind(&socket, address)?;
    socket.listen(1024).map_err(LoadError::system(format!("listening on {address}")))?;
    Ok(socket)
}

/// A UDP socket bound to a free port of `address`.
pub fn receive(address: IpAddr, params: &Params) -> Result<Socket, LoadError> {
    let socket = make(address, Type::DGRAM, params)?;
    if params.socket_buffer_bytes.is_none() {
        // The default of about 200 KiB overflows in a few hundred microseconds; ask for 8 MiB, by
        // force where that is allowed, and report what was given.
        let _ = socket.set_recv_buffer_size(8 << 20);
        force_receive_buffer(&socket, 8 << 20);
    }
    bind(&socket, address)?;
    settle(&socket, false)?;
    Ok(socket)
}

fn bind(socket: &Socket, address: IpAddr) -> Result<(), LoadError> {
    let any_port = SockAddr::from(SocketAddr::new(address, 0));
    socket.bind(&any_port).map_err(LoadError::system(format!("binding to {address}")))
}

fn force_receive_buffer(socket: &Socket, bytes: libc::c_int) {
    // SAFETY: the option takes an int, whose address and size are given. Refusal (no CAP_NET_ADMIN)
    // is fine: the size in force is read back.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUFFORCE,
            (&raw const bytes).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
}

/// The local port of a bound socket.
pub fn port(socket: &Socket) -> u16 {
    socket.local_addr().ok().and_then(|at| at.as_socket()).map_or(0, |at| at.port())
}

/// Connects one flow: TCP, the token said first.
pub fn connect(to: SocketAddr, params: &Params, token: &Token) -> Result<Socket, LoadError> {
    let socket = make(to.ip(), Type::STREAM, params)?;
    let connected = socket.connect_timeout(&SockAddr::from(to), MEET_WITHIN);
    connected.map_err(LoadError::system(format!("connecting to {to}")))?;
    settle(&socket, true)?;
    (&socket).write_all(token).map_err(LoadError::system(format!("greeting {to}")))?;
    Ok(socket)
}

/// A UDP socket that sends to `to`.
pub fn send_to(to: SocketAddr, params: &Params) -> Result<Socket, LoadError> {
    let socket = make(to.ip(), Type::DGRAM, params)?;
    socket.connect(&SockAddr::from(to)).map_err(LoadError::system(format!("opening {to}")))?;
    settle(&socket, false)?;
    Ok(socket)
}

/// Accepts `count` connections that say the token; strangers are dropped and do not count.
pub fn accept(listener: &Socket, count: u32, token: &Token) -> Result<Vec<Socket>, LoadError> {
    let deadline = Instant::now() + MEET_WITHIN;
    listener.set_read_timeout(Some(LOOK_UP)).map_err(LoadError::system("setting a timeout"))?;
    let mut flows = Vec::new();
    while flows.len() < count as usize {
        if Instant::now() > deadline {
            let have = flows.len();
            return Err(LoadError::Peer(format!(
                "{have} of {count} connections arrived within {MEET_WITHIN:?}"
            )));
        }
        let Ok((socket, _)) = listener.accept() else { continue };
        if greets(&socket, token) {
            settle(&socket, true)?;
            flows.push(socket);
        }
    }
    Ok(flows)
}

fn greets(mut socket: &Socket, token: &Token) -> bool {
    let mut said = Token::default();
    let wait = socket.set_read_timeout(Some(TOKEN_WITHIN));
    wait.is_ok() && socket.read_exact(&mut said).is_ok() && said == *token
}

/// True for an error that only means "nothing for now".
pub fn is_pause(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
