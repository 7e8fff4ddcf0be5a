//! The interfaces that a flow passes on this host. They need not have its address: packets leave by
//! the interface that the routes choose, and come in by the one that the other side chose.

use super::socket::{int, set_int};
use netlink_packet_core::{DefaultNla, NLM_F_REQUEST, NetlinkBuffer, NetlinkMessage, NlasIterator};
use netlink_packet_route::route::{RouteAttribute, RouteMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket as Netlink, SocketAddr as NetlinkAddr, protocols::NETLINK_ROUTE};
use nix::net::if_::if_indextoname;
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;

/// Attributes of a question for a route that the netlink crate does not name (linux/rtnetlink.h).
const RTA_IP_PROTO: u16 = 27;
const RTA_SPORT: u16 = 28;
const RTA_DPORT: u16 = 29;
/// Of its answer (linux/rtnetlink.h, linux/netlink.h).
const RTM_NEWROUTE: u16 = 24;
const NLMSG_ERROR: u16 = 2;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
/// The head of a route, `struct rtmsg`, in bytes.
const ROUTE_BYTES: usize = 12;
/// Asks a socket of streams for what would have come with datagrams (linux/in6.h).
const IPV6_2292PKTOPTIONS: libc::c_int = 6;
/// The index of the loopback device, in every namespace (include/net/flow.h).
const LOOPBACK: u32 = 1;
/// Bits of the byte of a code point that are for congestion marks, and never choose a route.
const ECN_BITS: libc::c_int = 3;
/// Longwords for one control message: its head and the longer of the two answers.
const CONTROL_WORDS: usize = 8;

/// The interface by which this host sends from one address to another, by the routes of the
/// calling thread's namespace: the loopback device between two addresses of this host.
pub fn toward(to: IpAddr, from: IpAddr) -> Option<String> {
    let (to, from) = (to.to_canonical(), from.to_canonical());
    named(lookup(to, vec![RouteAttribute::Source(from.into())], 0).ok()??.interface)
}

/// The interface by which a connected socket sends.
pub fn out(socket: &Socket) -> Option<String> {
    named(hop_of(socket)?.interface)
}

/// Where a route leads first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Index of the interface.
    pub interface: u32,
    /// Router that the packets go to; `None` where the other end is on the link itself.
    pub router: Option<IpAddr>,
}

impl Hop {
    /// Whether packets stay within this host.
    pub fn is_local(self) -> bool {
        self.interface == LOOPBACK
    }
}

/// The interface by which the first packets of an accepted connection came in. The kernel notes it
/// for no others: of what a connection that was made from here gets, and of datagrams, it is
/// unknown.
pub fn inward(socket: &Socket) -> Option<String> {
    // Between own addresses the kernel notes the interface that has the address.
    if hop_of(socket).is_some_and(Hop::is_local) {
        return named(LOOPBACK);
    }
    named(noted(socket)?)
}

/// What all sockets have in common; none where they differ, or where one's is unknown.
pub fn common(sockets: &[Socket], of: fn(&Socket) -> Option<String>) -> Option<String> {
    let (first, rest) = sockets.split_first()?;
    let first = of(first)?;
    rest.iter().all(|socket| of(socket).as_ref() == Some(&first)).then_some(first)
}

fn named(index: u32) -> Option<String> {
    if_indextoname(index).ok()?.into_string().ok()
}

/// What chooses a route: addresses, ports (for routes of several ways), the mark, the code point
/// and the device that the socket is bound to. The user is the calling one.
pub fn hop_of(socket: &Socket) -> Option<Hop> {
    let own = socket.local_addr().ok()?.as_socket()?;
    let peer = socket.peer_addr().ok()?.as_socket()?;
    let (to, from) = (peer.ip().to_canonical(), own.ip().to_canonical());
    let kind = socket.r#type().ok()?;
    let protocol = if kind == Type::STREAM { libc::IPPROTO_TCP } else { libc::IPPROTO_UDP };
    let other = |key, value: &[u8]| RouteAttribute::Other(DefaultNla::new(key, value.to_vec()));
    let mut asked = vec![
        RouteAttribute::Source(from.into()),
        other(RTA_IP_PROTO, &[protocol as u8]),
        other(RTA_SPORT, &own.port().to_be_bytes()),
        other(RTA_DPORT, &peer.port().to_be_bytes()),
    ];
    asked.extend(socket.mark().ok().filter(|mark| *mark != 0).map(RouteAttribute::Mark));
    asked.extend(bound(socket, peer).map(RouteAttribute::Oif));
    let (level, option) = match to {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
    };
    let tos = int(socket, level, option).map_or(0, |tos| tos & !ECN_BITS);
    lookup(to, asked, u8::try_from(tos).unwrap_or(0)).ok()?
}

/// The device that a socket sends by alone: it is bound to it, or its peer's address means nothing
/// without it.
fn bound(socket: &Socket, peer: SocketAddr) -> Option<u32> {
    let scope = match peer {
        SocketAddr::V6(at) => Some(at.scope_id()).filter(|scope| *scope != 0),
        SocketAddr::V4(_) => None,
    };
    scope.or_else(|| {
        let name = socket.device().ok()??;
        let name = String::from_utf8_lossy(&name);
        nix::net::if_::if_nametoindex(name.trim_end_matches('\0')).ok()
    })
}

/// The kernel's answer to `RTM_GETROUTE`: the interface that a packet would leave by, and the
/// router.
fn lookup(to: IpAddr, attributes: Vec<RouteAttribute>, tos: u8) -> io::Result<Option<Hop>> {
    let mut route = RouteMessage::default();
    let (family, length) = match to {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => (AddressFamily::Inet6, 128),
    };
    route.header.address_family = family;
    route.header.destination_prefix_length = length;
    let has_source = attributes.iter().any(|one| matches!(one, RouteAttribute::Source(_)));
    route.header.source_prefix_length = if has_source { length } else { 0 };
    route.header.tos = tos;
    route.attributes = attributes;
    route.attributes.push(RouteAttribute::Destination(to.into()));
    let socket = Netlink::new(NETLINK_ROUTE)?;
    socket.connect(&NetlinkAddr::new(0, 0))?;
    let mut request = NetlinkMessage::from(RouteNetlinkMessage::GetRoute(route));
    request.header.flags = NLM_F_REQUEST;
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    hop_in(&answer)
}

/// The interface and the router of an answer. Only those are read of it: what else a route may
/// have, such as a name among its metrics, is not all known to the netlink crate.
fn hop_in(answer: &[u8]) -> io::Result<Option<Hop>> {
    let message =
        NetlinkBuffer::new_checked(answer).map_err(|why| io::Error::other(why.to_string()))?;
    let payload = message.payload();
    match message.message_type() {
        RTM_NEWROUTE => {
            let (mut interface, mut router) = (None, None);
            for one in NlasIterator::new(payload.get(ROUTE_BYTES..).unwrap_or_default()).flatten() {
                match one.kind() {
                    RTA_OIF => interface = one.value().try_into().ok().map(u32::from_ne_bytes),
                    RTA_GATEWAY => router = address_in(one.value()),
                    _ => {}
                }
            }
            Ok(interface.map(|interface| Hop { interface, router }))
        }
        NLMSG_ERROR => {
            let number = payload.first_chunk().map_or(0, |number| i32::from_ne_bytes(*number));
            Err(io::Error::from_raw_os_error(number.saturating_neg()))
        }
        _ => Ok(None),
    }
}

/// An address as netlink tells it.
pub fn address_in(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = || <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from);
    v4().or_else(|| <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from))
}

/// The index that the kernel noted as it accepted (`IP_PKTOPTIONS`, kernel net/ipv4/ip_sockglue.c).
fn noted(socket: &Socket) -> Option<u32> {
    let is_v4 = socket.domain().ok()? == Domain::IPV4;
    let (level, tell, ask) = if is_v4 {
        (libc::IPPROTO_IP, libc::IP_PKTINFO, libc::IP_PKTOPTIONS)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, IPV6_2292PKTOPTIONS)
    };
    set_int(socket, level, tell, 1).ok()?;
    let mut control = [0u64; CONTROL_WORDS];
    let mut length = size_of_val(&control) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into the buffer.
    let done = unsafe {
        let to = control.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), level, ask, to, &raw mut length)
    };
    // Nothing reads what would come with each packet.
    let _ = set_int(socket, level, tell, 0);
    let data = size_of::<libc::cmsghdr>();
    let (kind, index_at, answer) = if is_v4 {
        let at = std::mem::offset_of!(libc::in_pktinfo, ipi_ifindex);
        (libc::IP_PKTINFO, at, size_of::<libc::in_pktinfo>())
    } else {
        let at = std::mem::offset_of!(libc::in6_pktinfo, ipi6_ifindex);
        (libc::IPV6_PKTINFO, at, size_of::<libc::in6_pktinfo>())
    };
    if done != 0 || (length as usize) < data + answer {
        return None;
    }
    // SAFETY: the buffer is aligned for a cmsghdr, and the kernel has written it whole.
    let head = unsafe { control.as_ptr().cast::<libc::cmsghdr>().read() };
    // SAFETY: the answer lies inside the buffer, behind the head, as was checked.
    let index = unsafe {
        control.as_ptr().cast::<u8>().add(data + index_at).cast::<u32>().read_unaligned()
    };
    (head.cmsg_level == level && head.cmsg_type == kind && index != 0).then_some(index)
}

#[cfg(test)]
mod tests {
    // Known answers: namespaces joined by two veth pairs, where the address and the way differ.
    use super::{common, inward, out, toward};
    use nix::sched::{CloneFlags, unshare};
    use socket2::Socket;
    use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
    use std::process::Command;
    use std::thread;
    use std::time::Duration;

    /// The near end has `NEAR` on `a0` and `b0` is at the other side of it; `a1` leads there too.
    const NEAR: &str = "10.77.0.1";
    const FAR: &str = "10.77.0.2";

    /// Runs each line of ip(8), in this thread's namespace; `None` where one fails.
    fn ip(lines: &[&str]) -> Option<()> {
        lines.iter().try_for_each(|line| {
            let done = Command::new("ip").args(line.split(' ')).status().ok()?;
            done.success().then_some(())
        })
    }

    /// Runs a test in a namespace of its own that is joined to another by two pairs; says which
    /// test is skipped where that cannot be made.
    fn between(test: &'static str, within: fn(&str)) {
        let there = thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).ok()?;
            let mut far = Command::new("unshare");
            let mut far = far.args(["-n", "sleep", "60"]).spawn().ok()?;
            let id = far.id().to_string();
            let made = join(&id);
            if made.is_some() {
                within(&id);
            }
            let _ = far.kill();
            let _ = far.wait();
            made
        });
        if there.join().expect("the test").is_none() {
            eprintln!("skipped: {test}: no namespaces can be made");
        }
    }

    fn join(far: &str) -> Option<()> {
        // Its own namespace comes a moment after the process.
        let mine = std::fs::read_link("/proc/thread-self/ns/net").ok()?;
        for _ in 0..200 {
            let theirs = std::fs::read_link(format!("/proc/{far}/ns/net")).ok()?;
            let host = std::fs::read_link("/proc/self/ns/net").ok()?;
            if theirs != mine && theirs != host {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        // Link-local addresses are of use at once, and not after a second's check for doubles.
        let at_once = "for f in /proc/sys/net/ipv6/conf/*/accept_dad; do echo 0 > $f; done";
        for words in
            [&["sh", "-c", at_once][..], &["nsenter", "-n", "-t", far, "sh", "-c", at_once]]
        {
            Command::new(words[0]).args(&words[1..]).status().ok().filter(|done| done.success())?;
        }
        ip(&[
            &format!("link add a0 type veth peer name b0 netns {far}"),
            &format!("link add a1 type veth peer name b1 netns {far}"),
            "link set lo up",
            "addr add 10.77.0.1/24 dev a0",
            "addr add fd77::1/64 dev a0 nodad",
            "addr add 10.78.0.1/24 dev a1",
            "addr add fd78::1/64 dev a1 nodad",
            "link set a0 up",
            "link set a1 up",
        ])?;
        at_far(far, "ip link set lo up")?;
        at_far(far, "ip addr add 10.77.0.2/24 dev b0")?;
        at_far(far, "ip addr add fd77::2/64 dev b0 nodad")?;
        at_far(far, "ip addr add 10.78.0.2/24 dev b1")?;
        at_far(far, "ip addr add fd78::2/64 dev b1 nodad")?;
        at_far(far, "ip link set b0 up")?;
        at_far(far, "ip link set b1 up")
    }

    fn at_far(far: &str, line: &str) -> Option<()> {
        let words = line.split(' ');
        let done = Command::new("nsenter").args(["-n", "-t", far]).args(words).status().ok()?;
        done.success().then_some(())
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// A datagram socket that is tied to the far end.
    fn tied(from: &str, to: &str) -> Socket {
        let socket = UdpSocket::bind((address(from), 0)).expect("a socket");
        socket.connect((address(to), 9)).expect("a route");
        socket.into()
    }

    #[test]
    fn between_own_addresses_packets_pass_the_loopback_device() {
        let mapped = address("::ffff:127.0.0.1");
        assert_eq!(toward(mapped, mapped).as_deref(), Some("lo"));
        let here = address("127.0.0.1");
        assert_eq!(toward(here, here).as_deref(), Some("lo"));
        let listener = TcpListener::bind((here, 0)).expect("a listener");
        let made = TcpStream::connect(listener.local_addr().expect("a port")).expect("connected");
        let accepted: Socket = listener.accept().expect("accepted").0.into();
        let made: Socket = made.into();
        assert_eq!(out(&accepted).as_deref(), Some("lo"));
        assert_eq!(inward(&accepted).as_deref(), Some("lo"));
        assert_eq!((out(&made).as_deref(), inward(&made).as_deref()), (Some("lo"), Some("lo")));
    }

    #[test]
    fn the_interface_is_the_routes_and_not_the_addresss() {
        between("the_interface_is_the_routes_and_not_the_addresss", |_| {
            let toward = |to: &str, from: &str| toward(address(to), address(from));
            assert_eq!(toward(FAR, NEAR).as_deref(), Some("a0"));
            // A route whose metrics have a name among them.
            ip(&["route replace 10.77.0.0/24 dev a0 congctl reno"]).expect("a route");
            assert_eq!(toward(FAR, NEAR).as_deref(), Some("a0"));
            assert_eq!(toward("10.78.0.1", NEAR).as_deref(), Some("lo"), "an own address");
            assert_eq!(out(&tied(NEAR, FAR)).as_deref(), Some("a0"));
            assert_eq!(out(&tied("fd77::1", "fd77::2")).as_deref(), Some("a0"));
            ip(&["route add 10.77.0.2/32 dev a1 src 10.77.0.1"]).expect("a route");
            ip(&["-6 route add fd77::2/128 dev a1 src fd77::1"]).expect("a route");
            assert_eq!(toward(FAR, NEAR).as_deref(), Some("a1"));
            assert_eq!(toward("::ffff:10.77.0.2", "::ffff:10.77.0.1").as_deref(), Some("a1"));
            assert_eq!(out(&tied(NEAR, FAR)).as_deref(), Some("a1"));
            assert_eq!(out(&tied("fd77::1", "fd77::2")).as_deref(), Some("a1"));
            assert_eq!(toward("192.0.2.9", NEAR), None, "no route");
        });
    }

    #[test]
    fn marks_code_points_and_bound_devices_choose_as_they_do_for_packets() {
        between("marks_code_points_and_bound_devices_choose_as_they_do_for_packets", |_| {
            ip(&[
                "route add 10.77.0.2/32 dev a1 src 10.77.0.1 table 77",
                "rule add fwmark 7 table 77",
                "rule add tos 0x10 table 77",
            ])
            .expect("rules");
            let plain = tied(NEAR, FAR);
            let marked = tied(NEAR, FAR);
            marked.set_mark(7).expect("a mark");
            let coded = tied(NEAR, FAR);
            coded.set_tos_v4(0x10).expect("a code point");
            let told = [&plain, &marked, &coded].map(out);
            assert_eq!(
                told.each_ref().map(|name| name.as_deref()),
                [Some("a0"), Some("a1"), Some("a1")]
            );
            let both = [plain, marked];
            assert_eq!(common(&both, out), None, "they differ");
            assert_eq!(common(&both[..1], out).as_deref(), Some("a0"));
            assert_eq!(common(&[], out), None);
            ip(&["route add 10.79.0.0/24 dev a0", "route add 10.79.0.0/24 dev a1 metric 9"])
                .expect("routes");
            let bound = tied("0.0.0.0", "10.79.0.5");
            assert_eq!(out(&bound).as_deref(), Some("a0"));
            bound.bind_device(Some(b"a1")).expect("bound");
            assert_eq!(out(&bound).as_deref(), Some("a1"));
        });
    }

    #[test]
    fn an_accepted_connection_tells_where_it_came_in() {
        between("an_accepted_connection_tells_where_it_came_in", |far| {
            // What comes for the address of a0 comes by a1; the answers leave by a0.
            // Neither end is to drop what comes by a way that it would not answer by.
            let loose = "for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $f; done";
            for target in
                [&["sh", "-c", loose][..], &["nsenter", "-n", "-t", far, "sh", "-c", loose]]
            {
                let done = Command::new(target[0]).args(&target[1..]).status().expect("sh");
                assert!(done.success());
            }
            at_far(far, "ip route add 10.77.0.1/32 via 10.78.0.1 src 10.77.0.2").expect("a route");
            at_far(far, "ip -6 route add fd77::1/128 via fd78::1 src fd77::2").expect("a route");
            for near in [NEAR, "fd77::1"] {
                let listener = TcpListener::bind((address(near), 0)).expect("a listener");
                let port = listener.local_addr().expect("a port").port();
                let program = format!("exec 3<>/dev/tcp/{near}/{port}; sleep 1");
                let mut caller = Command::new("nsenter")
                    .args(["-n", "-t", far, "bash", "-c", &program])
                    .spawn()
                    .expect("a caller");
                let listener: Socket = listener.into();
                listener.set_read_timeout(Some(Duration::from_secs(5))).expect("a time limit");
                let accepted = listener.accept().expect("accepted").0;
                let told = [inward(&accepted), out(&accepted)];
                let _ = caller.kill();
                let _ = caller.wait();
                assert_eq!(told.each_ref().map(|name| name.as_deref()), [Some("a1"), Some("a0")]);
            }
        });
    }
}
