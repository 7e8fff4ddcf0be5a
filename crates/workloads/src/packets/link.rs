//! The link that raw frames leave on and to whom they go there. Frames go nowhere but to the
//! interface of the end that has proved itself, unless the user says otherwise and that they know.

use super::frame::{Ends, Mac};
use crate::LoadError;
use crate::harness::ends::Flow;
use narrows_model::options::packets::{FLOWS, I_KNOW, MAC};
use nix::ifaddrs::getifaddrs;
use socket2::Socket;
use std::ffi::CString;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd;

/// What the kernel calls Ethernet (linux/if_arp.h).
const ETHERNET: u16 = 1;
/// Asks for an interface's queues (linux/ethtool.h, ETHTOOL_GCHANNELS).
const GET_CHANNELS: u32 = 0x3c;
/// Asks for its driver (linux/ethtool.h, ETHTOOL_GDRVINFO).
const GET_DRIVER: u32 = 0x3;
/// The driver of a veth pair, with the zero that ends its name (drivers/net/veth.c).
const VETH: &[u8] = b"veth\0";
/// Where the kernel tells the neighbours of IPv4 addresses.
const NEIGHBOURS: &str = "/proc/net/arp";

/// An interface that frames leave from or come to.
#[derive(Clone, Debug)]
pub struct Link {
    /// Name of the interface.
    pub name: String,
    /// Index by which the kernel knows the interface.
    pub index: u32,
    pub mac: Mac,
    /// The largest IP packet that it takes, in bytes.
    pub mtu_bytes: u32,
}

/// The interface of a flow: the one that was named, or, in a namespace of narrows' own, where
/// nothing leaves the host, the one that has the flow's address.
pub fn of(told: &Flow, socket: &Socket) -> Result<Link, LoadError> {
    let named = told.job.bind.as_ref().and_then(|bind| bind.device.clone());
    let name = match (named, &told.job.namespace) {
        (Some(name), _) => name,
        (None, Some(_)) => having(*ends(socket)?.0.ip())?,
        (None, None) => {
            return Err(LoadError::Order(
                "raw packets need an interface: --nic here, and --peer-nic of one that the agent's \
                 owner lends"
                    .to_owned(),
            ));
        }
    };
    Link::named(&name)
}

impl Link {
    /// The Ethernet interface of this name.
    pub fn named(name: &str) -> Result<Self, LoadError> {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None);
        let socket = socket.map_err(LoadError::system("opening a socket"))?;
        let index = ask(&socket, name, libc::SIOCGIFINDEX as libc::Ioctl)?;
        let address = ask(&socket, name, libc::SIOCGIFHWADDR as libc::Ioctl)?;
        let mtu = ask(&socket, name, libc::SIOCGIFMTU as libc::Ioctl)?;
        // SAFETY: each request fills its own member of the union.
        let (index, address, mtu) = unsafe {
            (index.ifr_ifru.ifru_ifindex, address.ifr_ifru.ifru_hwaddr, mtu.ifr_ifru.ifru_mtu)
        };
        if address.sa_family != ETHERNET {
            return Err(LoadError::Order(format!("{name} is not an Ethernet interface")));
        }
        let mut mac = [0; 6];
        mac.iter_mut().zip(address.sa_data).for_each(|(byte, of)| *byte = of as u8);
        Ok(Self {
            name: name.to_owned(),
            index: index.unsigned_abs(),
            mac: Mac(mac),
            mtu_bytes: mtu.unsigned_abs(),
        })
    }
}

/// Queues of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queues {
    /// Those that packets come by.
    pub receive: u32,
    /// Those that packets leave by.
    pub send: u32,
}

/// What the driver says of its queues (`struct ethtool_channels`, linux/ethtool.h).
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receive: u32,
    send: u32,
    _other: u32,
    combined: u32,
}

/// What the driver says of itself (`struct ethtool_drvinfo`, linux/ethtool.h).
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    _other: [u8; 140],
    _counts: [u32; 5],
}

impl Default for DriverInfo {
    fn default() -> Self {
        Self { command: 0, driver: [0; 32], _other: [0; 140], _counts: [0; 5] }
    }
}

/// A structure of linux/ethtool.h as the kernel has it, which opens with what is asked.
trait Question {}
impl Question for Channels {}
impl Question for DriverInfo {}

impl Link {
    /// The queues in use; one of each where the driver tells none.
    pub fn queues(&self) -> Queues {
        let told = self.channels().unwrap_or_default();
        let [receive, send] =
            [told.receive, told.send].map(|own| own.saturating_add(told.combined).max(1));
        Queues { receive, send }
    }

    /// Whether it is an end of a veth pair, which drops raw frames unless a program is before it.
    pub fn is_veth(&self) -> bool {
        let asked = DriverInfo { command: GET_DRIVER, ..DriverInfo::default() };
        self.driver_says(asked).is_some_and(|told| told.driver.starts_with(VETH))
    }

    fn channels(&self) -> Option<Channels> {
        self.driver_says(Channels { command: GET_CHANNELS, ..Channels::default() })
    }

    /// The answer to what is asked of the driver, which is written over the question.
    fn driver_says<T: Question>(&self, mut told: T) -> Option<T> {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None);
        let mut asked = named_request(&self.name)?;
        asked.ifr_ifru.ifru_data = (&raw mut told).cast();
        // SAFETY: the kernel fills the structure that the request points to, which is as it has it.
        let done = unsafe {
            libc::ioctl(socket.ok()?.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &raw mut asked)
        };
        (done == 0).then_some(told)
    }
}

/// A request that names an interface; `None` of what can be no name.
fn named_request(name: &str) -> Option<libc::ifreq> {
    let text = CString::new(name).ok()?;
    // SAFETY: all zeroes is a valid ifreq.
    let mut asked = unsafe { std::mem::zeroed::<libc::ifreq>() };
    if text.as_bytes_with_nul().len() > asked.ifr_name.len() {
        return None;
    }
    for (to, from) in asked.ifr_name.iter_mut().zip(text.as_bytes_with_nul()) {
        *to = *from as libc::c_char;
    }
    Some(asked)
}

/// Asks the kernel one thing of an interface (netdevice(7)).
fn ask(socket: &Socket, name: &str, request: libc::Ioctl) -> Result<libc::ifreq, LoadError> {
    let asked = named_request(name);
    let mut asked =
        asked.ok_or_else(|| LoadError::Order(format!("'{name}' is not an interface")))?;
    // SAFETY: the kernel reads the name, which ends in a zero, and fills the rest.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut asked) };
    let doing = format!("asking for the interface '{name}'");
    if done == 0 { Ok(asked) } else { Err(LoadError::system(doing)(io::Error::last_os_error())) }
}

/// The interface that has an address.
pub(super) fn having(address: Ipv4Addr) -> Result<String, LoadError> {
    let all = getifaddrs().map_err(io::Error::from);
    let mut all = all.map_err(LoadError::system("listing interfaces"))?;
    let found = all
        .find(|one| {
            let own = one.address.as_ref().and_then(|own| own.as_sockaddr_in().map(|own| own.ip()));
            own == Some(address)
        })
        .map(|one| one.interface_name);
    found.ok_or_else(|| LoadError::Order(format!("no interface has the address {address}")))
}

/// Both addresses of a flow.
pub fn ends(socket: &Socket) -> Result<(SocketAddrV4, SocketAddrV4), LoadError> {
    let both = ipv4_of(socket.local_addr()).zip(ipv4_of(socket.peer_addr()));
    both.ok_or_else(|| LoadError::Order("raw packets are IPv4: use -4".to_owned()))
}

fn ipv4_of(at: io::Result<socket2::SockAddr>) -> Option<SocketAddrV4> {
    at.ok().and_then(|at| at.as_socket_ipv4())
}

/// The interface that a flow's frames go to, where it is named: its name and MAC address.
fn named_end(told: &Flow) -> Result<Option<(String, Mac)>, LoadError> {
    let Some(bind) = &told.job.bind else { return Ok(None) };
    match (&bind.cable, &bind.lent) {
        (Some(port), _) => Ok(Some((port.clone(), Link::named(port)?.mac))),
        (None, Some(lent)) => {
            let unproved = || LoadError::Order(format!("no frame has proved the way to {lent}"));
            let mac = told.job.far_mac.as_ref().ok_or_else(unproved)?;
            Ok(Some((lent.clone(), mac.parse()?)))
        }
        (None, None) => Ok(None),
    }
}

/// From whom to whom a flow's raw frames go on this link.
pub fn route(told: &Flow, socket: &Socket, link: &Link) -> Result<Ends, LoadError> {
    let (from, to) = ends(socket)?;
    let asked = MAC.of(&told.job.params).map(|mac| mac.parse()).transpose()?;
    let knows = I_KNOW.of(&told.job.params).unwrap_or(false);
    if let Some((other, mac)) = named_end(told)? {
        let to_mac = target(Some(mac), asked, knows)
            .map_err(|why| LoadError::Order(format!("{why} ({} and {other})", link.name)))?;
        return Ok(Ends { from_mac: link.mac, to_mac, from, to });
    }
    let text = std::fs::read_to_string(NEIGHBOURS);
    let text = text.map_err(LoadError::system(format!("reading {NEIGHBOURS}")))?;
    let to_mac = target(neighbour(&text, *to.ip(), &link.name), asked, knows)
        .map_err(|why| LoadError::Order(format!("{why} ({to} on {})", link.name)))?;
    Ok(Ends { from_mac: link.mac, to_mac, from, to })
}

/// The MAC address that frames go to: that of the peer, or, by a user who knows, another.
pub(super) fn target(
    peer: Option<Mac>,
    asked: Option<Mac>,
    knows: bool,
) -> Result<Mac, &'static str> {
    match (peer, asked) {
        (_, Some(mac)) if knows => Ok(mac),
        (_, Some(mac)) if mac.is_of_many() => {
            Err("--mac is a group address, so other hosts would get the frames; --i-know sends \
            them anyway")
        }
        (Some(peer), Some(mac)) if peer != mac => {
            Err("--mac is not the peer's, so that another would get the frames; --i-know sends \
            them anyway")
        }
        (None, _) => Err("the peer is not on this link, so that frames would go beyond it; --mac \
        and --i-know send them anyway"),
        (Some(peer), _) if peer.is_of_many() => Err("the peer's MAC address is a group address"),
        (Some(peer), _) => Ok(peer),
    }
}

/// The MAC address of a neighbour on an interface (proc_pid_net(5), arp).
fn neighbour(text: &str, address: Ipv4Addr, interface: &str) -> Option<Mac> {
    text.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [of, _, flags, mac, _, device] = fields[..] else { return None };
        let flags = u32::from_str_radix(flags.strip_prefix("0x")?, 16).ok()?;
        let is = of.parse() == Ok(address) && device == interface && flags & 2 != 0;
        is.then(|| mac.parse().ok()).flatten()
    })
}

/// Source ports that a thread's packets go through.
pub fn spread(told: &Flow) -> u16 {
    FLOWS.of(&told.job.params).and_then(|flows| u16::try_from(flows).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
IP address       HW type     Flags       HW address            Mask     Device
198.51.100.1     0x1         0x2         02:00:00:00:00:02     *        veth0
198.51.100.9     0x1         0x0         00:00:00:00:00:00     *        veth0
";

    fn mac(text: &str) -> Mac {
        text.parse().expect("a MAC")
    }

    #[test]
    fn a_neighbour_is_one_that_has_answered_on_the_same_link() {
        let of = |address: &str, device| neighbour(TEXT, address.parse().expect("address"), device);
        assert_eq!(of("198.51.100.1", "veth0"), Some(mac("02:00:00:00:00:02")));
        assert_eq!(of("198.51.100.1", "veth1"), None);
        assert_eq!(of("198.51.100.9", "veth0"), None, "it has not answered");
        assert_eq!(of("198.51.100.2", "veth0"), None);
    }

    #[test]
    fn frames_go_to_the_peer_and_to_nobody_else() {
        let (peer, other) = (mac("02:00:00:00:00:02"), mac("02:00:00:00:00:03"));
        let all = mac("ff:ff:ff:ff:ff:ff");
        assert_eq!(target(Some(peer), None, false), Ok(peer));
        assert_eq!(target(Some(peer), Some(peer), false), Ok(peer));
        for (known, asked) in
            [(None, None), (None, Some(other)), (Some(peer), Some(other)), (Some(peer), Some(all))]
        {
            assert!(target(known, asked, false).is_err(), "{known:?} {asked:?}");
        }
        assert_eq!(target(None, Some(other), true), Ok(other));
        assert_eq!(target(Some(peer), Some(all), true), Ok(all));
        assert!(target(None, None, true).is_err());
    }
}
