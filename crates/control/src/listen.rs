//! Listening for connections, over IPv4 and IPv6 alike.

use crate::error::ControlError;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{Domain, SockRef, Socket, Type};
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

/// How long one wait for a connection takes.
pub const TURN: Duration = Duration::from_millis(20);
/// Connections that wait to be taken: room for a flood of them.
const BACKLOG: i32 = 4096;

/// A nonblocking socket that listens on `port` of one address, or of every address of both
/// families, and where it does: port 0 takes a free one.
pub fn open(address: Option<IpAddr>, port: u16) -> Result<(TcpListener, SocketAddr), ControlError> {
    let listening = on(address, port).and_then(|listener| {
        let at = listener.local_addr()?;
        Ok((listener, at))
    });
    listening.map_err(|error| {
        let at = address.map_or("any address".to_owned(), |address| address.to_string());
        ControlError::Listen { at, port, error }
    })
}

/// A nonblocking socket that listens on `port` (0 takes a free one) of one address, or of every
/// address of both families. `::` alone is IPv6 alone, as `0.0.0.0` is IPv4 alone.
fn on(address: Option<IpAddr>, port: u16) -> io::Result<TcpListener> {
    match address {
        Some(address) => bound((address, port).into(), true),
        // One socket for both, so that a free port is free in both. A kernel without IPv6, or
        // with IPv6 disabled, still listens on IPv4.
        None => bound((Ipv6Addr::UNSPECIFIED, port).into(), false).or_else(|error| {
            match error.raw_os_error().map(nix::Error::from_raw) {
                Some(nix::Error::EAFNOSUPPORT | nix::Error::EADDRNOTAVAIL) => {
                    bound((Ipv4Addr::UNSPECIFIED, port).into(), true)
                }
                _ => Err(error),
            }
        }),
    }
}

fn bound(at: SocketAddr, only_v6: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    if at.is_ipv6() {
        socket.set_only_v6(only_v6)?;
    }
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// The next connection, if one comes within a turn. An IPv4 peer of a socket for both families is
/// given with its IPv4 address.
pub fn next(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    let mut waited = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
    let turn = PollTimeout::try_from(TURN).unwrap_or(PollTimeout::ZERO);
    if poll(&mut waited, turn).is_err() {
        thread::sleep(TURN);
    }
    match listener.accept() {
        Ok((stream, from)) => Some((stream, canonical(from))),
        // Gone again already, or no descriptor left for it: others get theirs back first.
        Err(error) if error.raw_os_error() == Some(nix::Error::EMFILE as i32) => {
            thread::sleep(TURN);
            None
        }
        Err(_) => None,
    }
}

/// Reads a connection before a deadline, however slowly the bytes drip in. What it leaves as the
/// connection's timeout is of no use to who comes after it.
pub struct ReadBy<'a, S> {
    /// The connection that bytes are read from.
    pub stream: &'a S,
    /// Nothing is read after it.
    pub deadline: Instant,
}

impl<S: AsFd> Read for ReadBy<'_, S>
where
    for<'s> &'s S: Read,
{
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        SockRef::from(self.stream).set_read_timeout(Some(left))?;
        (&mut &*self.stream).read(buffer)
    }
}

/// An IPv4 address that IPv6 carries (`::ffff:192.0.2.1`) as itself.
pub fn canonical(at: SocketAddr) -> SocketAddr {
    match at.ip().to_canonical() {
        IpAddr::V4(address) => SocketAddr::new(address.into(), at.port()),
        IpAddr::V6(_) => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(listener: &TcpListener, address: IpAddr) -> Option<IpAddr> {
        let port = listener.local_addr().expect("address").port();
        let within = Duration::from_millis(500);
        let _caller = TcpStream::connect_timeout(&(address, port).into(), within).ok()?;
        (0..100).find_map(|_| next(listener)).map(|(_, from)| from.ip())
    }

    #[test]
    fn both_families_reach_one_port_and_one_address_is_one_address() {
        let (v4, v6) = (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST));
        let both = on(None, 0).expect("listen");
        assert_eq!(reached(&both, v4), Some(v4));
        let alone = on(Some(v4), 0).expect("listen");
        assert_eq!((reached(&alone, v4), reached(&alone, v6)), (Some(v4), None));
        let Ok(six) = on(Some(Ipv6Addr::UNSPECIFIED.into()), 0) else { return };
        assert_eq!((reached(&six, v6), reached(&six, v4)), (Some(v6), None));
        assert_eq!(reached(&both, v6), Some(v6));
    }

    #[test]
    fn a_port_that_is_taken_is_told_and_an_ipv4_peer_is_one() {
        let (listener, at) = open(Some(Ipv4Addr::LOCALHOST.into()), 0).expect("listens");
        assert!(at.ip().is_loopback() && at.port() > 0);
        let why = open(Some(at.ip()), at.port()).err().map(|why| why.to_string());
        let says = format!("cannot listen on 127.0.0.1 port {}: ", at.port());
        assert!(why.as_ref().is_some_and(|why| why.starts_with(&says)), "{why:?}");
        assert!(next(&listener).is_none(), "nobody came");
        let why = open(None, at.port()).err().map(|why| why.to_string());
        let says = format!("cannot listen on any address port {}: ", at.port());
        assert!(why.as_ref().is_some_and(|why| why.starts_with(&says)), "{why:?}");
        let seen = |text: &str| canonical(text.parse().expect("an address")).to_string();
        assert_eq!(seen("[::ffff:192.0.2.1]:7"), "192.0.2.1:7");
        assert_eq!(seen("[2001:db8::1]:8"), "[2001:db8::1]:8");
    }

    #[test]
    fn what_comes_after_its_time_is_not_read() {
        let (listener, at) = open(Some(Ipv4Addr::LOCALHOST.into()), 0).expect("listens");
        let mut caller = TcpStream::connect(at).expect("connects");
        let stream = (0..100).find_map(|_| next(&listener)).expect("a connection").0;
        stream.set_nonblocking(false).expect("a flag");
        std::io::Write::write_all(&mut caller, b"ab").expect("said");
        let read = |deadline: Instant| {
            let mut byte = [0];
            ReadBy { stream: &stream, deadline }.read_exact(&mut byte).map(|()| byte[0])
        };
        assert_eq!(read(Instant::now() + Duration::from_secs(60)).ok(), Some(b'a'));
        let late = read(Instant::now());
        assert!(late.is_err_and(|why| why.kind() == io::ErrorKind::TimedOut), "though it is there");
        assert_eq!(read(Instant::now() + Duration::from_secs(60)).ok(), Some(b'b'));
        let silent = read(Instant::now() + Duration::from_millis(20));
        assert!(silent.is_err(), "nothing comes");
    }
}
