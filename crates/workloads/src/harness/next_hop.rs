//! The link-layer address of the next hop of a flow, over a run: asked of the kernel's table of
//! neighbours before and after, and heard of meanwhile (rtnetlink, `RTMGRP_NEIGH`, which needs no
//! privilege). Two hosts with one IP address, or two routers that both are the active one, take it
//! from each other. Addresses are compared and not kept.

use super::way;
use narrows_model::load::NextHop;
use netlink_packet_core::{NetlinkBuffer, NlasIterator};
use netlink_sys::{Socket as Netlink, SocketAddr as NetlinkAddr, protocols::NETLINK_ROUTE};
use socket2::Socket;
use std::net::IpAddr;

/// Messages about neighbours, and their attributes (linux/rtnetlink.h, linux/neighbour.h).
const RTM_NEWNEIGH: u16 = 28;
const RTM_DELNEIGH: u16 = 29;
const RTM_GETNEIGH: u16 = 30;
const NLM_F_REQUEST: u16 = 1;
const RTMGRP_NEIGH: u32 = 4;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
/// The heads of a message, `struct nlmsghdr` and `struct ndmsg`, in bytes.
const MESSAGE_BYTES: usize = 16;
const NEIGHBOUR_BYTES: usize = 12;
/// Where `ndmsg` has the index of the interface, and the state of the entry.
const INDEX_AT: usize = 4;
const STATE_AT: usize = 8;
/// States of an entry without a link-layer address: asked for in vain so far, and given up.
const NUD_INCOMPLETE: u16 = 0x01;
const NUD_FAILED: u16 = 0x20;

/// A neighbour that is watched.
pub struct NextHopWatch {
    hop: way::Hop,
    at: IpAddr,
    heard: Option<Netlink>,
    last: Option<Vec<u8>>,
    seen: Vec<Vec<u8>>,
    changes: u32,
    /// Whether the last that was told is that it has no address.
    is_lost: bool,
    lost: u32,
}

impl NextHopWatch {
    /// Begins with the next hop of a connected flow; `None` where its packets stay within this
    /// host, or nobody knows where they go.
    pub fn of(flow: &Socket) -> Option<Self> {
        let hop = way::hop_of(flow).filter(|hop| !hop.is_local())?;
        let peer = flow.peer_addr().ok()?.as_socket()?.ip().to_canonical();
        let at = hop.router.unwrap_or(peer);
        let heard = listen();
        let mut watch = Self {
            hop,
            at,
            heard,
            last: None,
            seen: Vec::new(),
            changes: 0,
            is_lost: false,
            lost: 0,
        };
        watch.ask();
        Some(watch)
    }

    /// Hears what was told since, asks once more, and says what it was; `None` where the table had
    /// no link-layer address.
    pub fn end(mut self) -> Option<NextHop> {
        self.hear();
        self.ask();
        let addresses = u32::try_from(self.seen.len()).unwrap_or(u32::MAX);
        let is_router = self.hop.router.is_some();
        let Self { changes, lost, .. } = self;
        (addresses > 0).then_some(NextHop { is_router, addresses, changes, lost })
    }

    fn hear(&mut self) {
        let Some(socket) = self.heard.take() else { return };
        // Ends where nothing waits, or where more was told than the kernel keeps.
        while let Ok((bytes, _)) = socket.recv_from_full() {
            self.take(&bytes);
        }
    }

    /// Asks for this one neighbour (Linux 5.0); an older kernel refuses.
    fn ask(&mut self) {
        if let Some(bytes) = self.answer() {
            self.take(&bytes);
        }
    }

    fn answer(&self) -> Option<Vec<u8>> {
        let socket = Netlink::new(NETLINK_ROUTE).ok()?;
        socket.connect(&NetlinkAddr::new(0, 0)).ok()?;
        socket.send(&question(self.hop.interface, self.at), 0).ok()?;
        Some(socket.recv_from_full().ok()?.0)
    }

    /// Notes what a message says of the watched neighbour.
    fn take(&mut self, bytes: &[u8]) {
        let address = match told(bytes, self.hop.interface, self.at) {
            None => return,
            Some(Told::Lost) => {
                // Each step of one failure is told.
                self.lost = self.lost.saturating_add(u32::from(!self.is_lost));
                self.is_lost = true;
                return;
            }
            Some(Told::Address(address)) => address,
        };
        self.is_lost = false;
        if self.last.as_ref().is_some_and(|last| *last != address) {
            self.changes = self.changes.saturating_add(1);
        }
        if !self.seen.contains(&address) {
            self.seen.push(address.clone());
        }
        self.last = Some(address);
    }
}

fn listen() -> Option<Netlink> {
    let mut socket = Netlink::new(NETLINK_ROUTE).ok()?;
    socket.bind(&NetlinkAddr::new(0, RTMGRP_NEIGH)).ok()?;
    socket.set_non_blocking(true).ok()?;
    Some(socket)
}

/// A request for one entry of the table.
fn question(interface: u32, at: IpAddr) -> Vec<u8> {
    let (family, address) = match at {
        IpAddr::V4(at) => (libc::AF_INET, at.octets().to_vec()),
        IpAddr::V6(at) => (libc::AF_INET6, at.octets().to_vec()),
    };
    let attribute = 4 + address.len();
    let length = MESSAGE_BYTES + NEIGHBOUR_BYTES + attribute;
    let mut bytes = Vec::with_capacity(length);
    bytes.extend((length as u32).to_ne_bytes());
    bytes.extend(RTM_GETNEIGH.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([family as u8, 0, 0, 0]);
    bytes.extend(interface.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend((attribute as u16).to_ne_bytes());
    bytes.extend(NDA_DST.to_ne_bytes());
    bytes.extend(address);
    bytes
}

/// What a message says of a neighbour.
enum Told {
    /// Its link-layer address.
    Address(Vec<u8>),
    /// That it has none.
    Lost,
}

/// What a message tells of this neighbour on this interface.
fn told(bytes: &[u8], interface: u32, at: IpAddr) -> Option<Told> {
    let message = NetlinkBuffer::new_checked(bytes).ok()?;
    let payload = message.payload();
    let index = payload.get(INDEX_AT..INDEX_AT + 4)?.try_into().ok().map(u32::from_ne_bytes)?;
    let state = payload.get(STATE_AT..STATE_AT + 2)?.try_into().ok().map(u16::from_ne_bytes)?;
    let kind = message.message_type();
    ([RTM_NEWNEIGH, RTM_DELNEIGH].contains(&kind) && index == interface).then_some(())?;
    let (mut of, mut address) = (None, None);
    for one in NlasIterator::new(payload.get(NEIGHBOUR_BYTES..)?).flatten() {
        match one.kind() {
            NDA_DST => of = way::address_in(one.value()),
            NDA_LLADDR => address = Some(one.value().to_vec()),
            _ => {}
        }
    }
    (of == Some(at)).then_some(())?;
    if kind == RTM_DELNEIGH || state & (NUD_INCOMPLETE | NUD_FAILED) != 0 {
        return Some(Told::Lost);
    }
    address.map(Told::Address)
}

#[cfg(test)]
mod tests {
    // Known answers: a neighbour whose address is changed by hand, in a namespace of its own.
    use super::NextHopWatch;
    use narrows_model::load::NextHop;
    use nix::sched::{CloneFlags, unshare};
    use socket2::Socket;
    use std::net::UdpSocket;
    use std::process::Command;
    use std::thread;

    /// What is seen of the neighbour of a flow while these lines of ip(8) run; `None` where no
    /// namespace can be made.
    fn seen(to: &'static str, lines: &'static [&'static str]) -> Option<Option<NextHop>> {
        let ip = |line: &str| {
            let done = Command::new("ip").args(line.split(' ')).status();
            done.ok().filter(std::process::ExitStatus::success).map(drop)
        };
        let there = thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).ok()?;
            ip("link set lo up")?;
            ip("link add a0 type veth peer name a1")?;
            ip("addr add 10.77.0.1/24 dev a0")?;
            ip("link set a0 up")?;
            ip("link set a1 up")?;
            ip("route add 10.78.0.0/24 via 10.77.0.9")?;
            ip("neigh add 10.77.0.2 lladdr 02:00:00:00:00:02 dev a0")?;
            ip("neigh add 10.77.0.9 lladdr 02:00:00:00:00:09 dev a0")?;
            let flow = UdpSocket::bind("0.0.0.0:0").expect("a socket");
            flow.connect(to).expect("a route");
            let watch = NextHopWatch::of(&Socket::from(flow));
            for line in lines {
                ip(line)?;
            }
            Some(watch.and_then(NextHopWatch::end))
        });
        let told = there.join().expect("a thread");
        if told.is_none() {
            eprintln!("skipped: no namespace can be made");
        }
        told
    }

    fn of(to: &'static str, lines: &'static [&'static str], wanted: Option<Option<NextHop>>) {
        let told = seen(to, lines);
        assert!(told.is_none() || told == wanted, "{told:?}");
    }

    const OTHER: &str = "neigh replace 10.77.0.2 lladdr 02:00:00:00:00:03 dev a0";
    const GONE: &str = "neigh del 10.77.0.2 dev a0";
    const FIRST: &str = "neigh replace 10.77.0.2 lladdr 02:00:00:00:00:02 dev a0";

    #[test]
    fn a_neighbour_that_two_hosts_are_is_heard_of_each_time() {
        let hop = |is_router, addresses, changes| {
            Some(Some(NextHop { is_router, addresses, changes, lost: 0 }))
        };
        of("10.77.0.2:9", &[], hop(false, 1, 0));
        // Before and after it is the same one.
        of("10.77.0.2:9", &[OTHER, FIRST, OTHER, FIRST], hop(false, 2, 4));
        of("10.78.0.5:9", &[OTHER], hop(true, 1, 0));
        of(
            "10.78.0.5:9",
            &["neigh replace 10.77.0.9 lladdr 02:00:00:00:00:0a dev a0"],
            hop(true, 2, 1),
        );
        of("127.0.0.1:9", &[OTHER], Some(None));
    }

    #[test]
    fn a_neighbour_that_has_no_address_for_a_while_is_heard_of() {
        let hop = |changes, lost| {
            let addresses = 1 + changes;
            Some(Some(NextHop { is_router: false, addresses, changes, lost }))
        };
        of("10.77.0.2:9", &[GONE, FIRST, GONE, FIRST], hop(0, 2));
        of("10.77.0.2:9", &[GONE, OTHER], hop(1, 1));
        of("10.77.0.2:9", &["neigh del 10.77.0.9 dev a0"], hop(0, 0));
    }
}
