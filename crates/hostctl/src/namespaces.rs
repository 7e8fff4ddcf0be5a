//! Two network namespaces of this host, joined by a veth pair.
//!
//! Nothing has a name on the host: the namespaces live only in two file descriptors of this
//! process, so the kernel takes them and the pair away when it ends, however it ends. The host's
//! own interfaces, addresses and routes are not touched.

use crate::{HostError, coalescing, offloads};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

/// Addresses of the two ends, from the block for documentation (RFC 5737): they cannot be
/// anybody's.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 51, 100, 1), Ipv4Addr::new(198, 51, 100, 2)];
/// The net of both.
const ROUTE: &str = "198.51.100.0/30";
/// Names of the two ends.
const NAMES: [&str; 2] = ["narrows0", "narrows1"];
/// What an interface is called that has one name on both hosts.
pub const ALIKE: &str = NAMES[0];
/// Packets of the pair: an Ethernet of today, without jumbo frames.
pub const MTU_BYTES: u32 = 1500;

/// A pair of joined namespaces; gone when dropped.
pub struct Namespaces {
    files: [File; 2],
    names: [&'static str; 2],
}

impl Namespaces {
    /// Makes the pair. Needs the capability CAP_SYS_ADMIN, which root has.
    pub fn make() -> Result<Self, HostError> {
        Self::named(NAMES)
    }

    /// The same with one name for both ends ([`ALIKE`]), as the hosts of a cluster have it, for
    /// programs that are told an interface once for all hosts; and with loopback devices.
    pub fn alike() -> Result<Self, HostError> {
        let pair = Self::named([ALIKE; 2])?;
        let mut both = pair.files.iter();
        both.try_for_each(|file| {
            inside(file, || {
                switch_on(index("lo")?, "switching lo on")?;
                until_running(ALIKE);
                Ok(())
            })
        })?;
        Ok(pair)
    }

    fn named(names: [&'static str; 2]) -> Result<Self, HostError> {
        let files = [new_namespace()?, new_namespace()?];
        inside(&files[0], || {
            let to = files[1].as_raw_fd();
            make_pair(names, to)?;
            bring_up(names[0], 0)
        })?;
        inside(&files[1], || bring_up(names[1], 1))?;
        Ok(Self { files, names })
    }

    /// Sets the MTU of both ends.
    pub fn set_mtu(&self, mtu_bytes: u32) -> Result<(), HostError> {
        for (end, file) in self.files.iter().enumerate() {
            inside(file, || {
                let mut link = LinkMessage::default();
                link.header.index = index(self.names[end])?;
                link.attributes = vec![LinkAttribute::Mtu(mtu_bytes)];
                ask(RouteNetlinkMessage::SetLink(link), "setting the MTU of a veth end")
            })?;
        }
        Ok(())
    }

    /// A kernel setting of the network (`net.ipv4.tcp_rmem`) in the first namespace.
    pub fn sysctl(&self, name: &str) -> Result<String, HostError> {
        let path = sysctl_path(name)?;
        Ok(inside(&self.files[0], || std::fs::read_to_string(&path).map_err(machine(&path)))?
            .trim_end()
            .to_owned())
    }

    /// Whether a kernel setting can be made in the namespaces: some are the host's alone, and some
    /// are there to be read.
    pub fn can_set(&self, name: &str) -> bool {
        let opened = |path: &str| {
            inside(&self.files[0], || {
                std::fs::OpenOptions::new().write(true).open(path).map_err(machine(path))
            })
        };
        sysctl_path(name).is_ok_and(|path| opened(&path).is_ok())
    }

    /// Sets one in both namespaces, which take it with them when they go.
    pub fn set_sysctl(&self, name: &str, value: &str) -> Result<(), HostError> {
        let path = sysctl_path(name)?;
        self.files.iter().rev().try_for_each(|file| {
            inside(file, || std::fs::write(&path, value).map_err(machine(&path)))
        })
    }

    /// Whether an offload is on at the first end.
    pub fn offload(&self, feature: &str) -> Result<bool, HostError> {
        offloads::get(self.names[0], feature, Some(&self.path(0)))
    }

    /// Switches an offload of both ends.
    pub fn set_offload(&self, feature: &str, on: bool) -> Result<(), HostError> {
        let mut both = self.names.iter().enumerate();
        both.try_for_each(|(end, device)| offloads::set(device, feature, on, Some(&self.path(end))))
    }

    /// What a word of interrupt coalescing is at the first end.
    pub fn coalescing(&self, word: &str) -> Result<String, HostError> {
        coalescing::get(self.names[0], word, Some(&self.path(0)))
    }

    /// Sets interrupt coalescing of both ends.
    pub fn set_coalescing(&self, word: &str, value: &str) -> Result<(), HostError> {
        let mut both = self.names.iter().enumerate();
        both.try_for_each(|(end, device)| {
            coalescing::set(device, word, value, Some(&self.path(end)))
        })
    }

    /// Has every connection between the ends begin with a congestion control, whatever program
    /// makes it; `None` is the system's default. By route: set on a socket after another has begun
    /// to pace it, some stay paced.
    pub fn set_congestion(&self, name: Option<&str>) -> Result<(), HostError> {
        for (end, device) in self.names.iter().enumerate() {
            let mut command = crate::child::command("nsenter");
            command.arg(format!("--net={}", self.path(end)));
            command.args(["ip", "route", "replace", ROUTE, "dev", device]);
            command.args(name.map(|name| ["congctl", name]).into_iter().flatten());
            let ran = command.output().map_err(machine("ip route"))?;
            if !ran.status.success() {
                let why = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
                return Err(HostError::Machine(format!("ip route: {why}")));
            }
        }
        Ok(())
    }

    /// A path by which a child process can enter the namespace of the receiver.
    pub fn receiver_path(&self) -> String {
        self.path(0)
    }

    /// The same for the sender.
    pub fn sender_path(&self) -> String {
        self.path(1)
    }

    fn path(&self, end: usize) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.files[end].as_raw_fd())
    }

    /// Each host's address, and a path by which a child process can enter it.
    pub fn hosts(&self) -> [(IpAddr, String); 2] {
        [0, 1].map(|end| (ADDRESSES[end].into(), self.path(end)))
    }

    /// Address of the receiver.
    pub fn receiver_address(&self) -> IpAddr {
        ADDRESSES[0].into()
    }
}

fn machine(doing: &str) -> impl Fn(std::io::Error) -> HostError {
    move |error| HostError::Machine(format!("{doing}: {error}"))
}

/// Makes a namespace from a thread of its own, which leaves only the open file behind.
fn new_namespace() -> Result<File, HostError> {
    let made = thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET)
            .map_err(|error| machine("making a network namespace")(error.into()))?;
        File::open("/proc/thread-self/ns/net").map_err(machine("opening /proc/thread-self/ns/net"))
    });
    made.join().map_err(|_| HostError::Machine("a thread panicked".into()))?
}

/// Does something inside a namespace, on a thread of its own.
fn inside<T: Send>(
    namespace: &File,
    doing: impl FnOnce() -> Result<T, HostError> + Send,
) -> Result<T, HostError> {
    let done = thread::scope(|scope| {
        let inner = scope.spawn(|| {
            setns(namespace, CloneFlags::CLONE_NEWNET)
                .map_err(|error| machine("entering a network namespace")(error.into()))?;
            doing()
        });
        inner.join()
    });
    done.map_err(|_| HostError::Machine("a thread panicked".into()))?
}

/// A veth pair with its second end in the other namespace.
fn make_pair(names: [&str; 2], other_namespace: i32) -> Result<(), HostError> {
    let mut peer = LinkMessage::default();
    peer.attributes = vec![
        LinkAttribute::IfName(names[1].into()),
        LinkAttribute::Mtu(MTU_BYTES),
        LinkAttribute::NetNsFd(other_namespace),
    ];
    let mut link = LinkMessage::default();
    link.attributes = vec![
        LinkAttribute::IfName(names[0].into()),
        LinkAttribute::Mtu(MTU_BYTES),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]),
    ];
    ask(RouteNetlinkMessage::NewLink(link), "making a veth pair")
}

/// Huge pages that the kernel sets aside: one pool for the whole host.
pub const HUGE_PAGES: &str = "vm.nr_hugepages";

/// The file of a kernel setting of the network, by its name with dots.
pub fn sysctl_path(name: &str) -> Result<String, HostError> {
    let known = name.starts_with("net.") || name == HUGE_PAGES;
    if known
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c))
        && !name.contains("..")
    {
        Ok(format!("/proc/sys/{}", name.replace('.', "/")))
    } else {
        Err(HostError::Order(format!("'{name}' is neither a network setting nor {HUGE_PAGES}")))
    }
}

fn index(name: &str) -> Result<u32, HostError> {
    if_nametoindex(name).map_err(|error| machine("finding the veth end")(error.into()))
}

/// Gives one end its address and switches it on.
fn bring_up(name: &str, end: usize) -> Result<(), HostError> {
    let index = index(name)?;
    let mut address = AddressMessage::default();
    address.header.family = AddressFamily::Inet;
    address.header.prefix_len = 30;
    address.header.index = index;
    address.attributes = vec![
        AddressAttribute::Local(ADDRESSES[end].into()),
        AddressAttribute::Address(ADDRESSES[end].into()),
    ];
    ask(RouteNetlinkMessage::NewAddress(address), "giving a veth end its address")?;
    switch_on(index, "switching a veth end on")
}

fn switch_on(index: u32, doing: &str) -> Result<(), HostError> {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    ask(RouteNetlinkMessage::SetLink(link), doing)
}

/// How long an end may take until the kernel calls it running.
const RUNS_WITHIN: Duration = Duration::from_secs(3);

/// Waits until an end is called running, which follows its carrier by up to a second where links
/// have just come and gone. Packets pass before, but UCX, which MPICH uses, takes it for off.
fn until_running(name: &str) {
    let end = Instant::now() + RUNS_WITHIN;
    while !is_running(name) && Instant::now() < end {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether an interface of the current namespace is running.
fn is_running(name: &str) -> bool {
    getifaddrs().is_ok_and(|mut all| {
        all.any(|one| one.interface_name == name && one.flags.contains(InterfaceFlags::IFF_RUNNING))
    })
}

/// Sends one request to the kernel of the current namespace and waits for its verdict.
fn ask(message: RouteNetlinkMessage, doing: &str) -> Result<(), HostError> {
    let mut request = NetlinkMessage::from(message);
    request.header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    let exchange = || -> std::io::Result<Vec<u8>> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        socket.send(&bytes, 0)?;
        Ok(socket.recv_from_full()?.0)
    };
    let answer = exchange().map_err(machine(doing))?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
        .map_err(|error| HostError::Machine(format!("{doing}: {error}")))?;
    match answer.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(machine(doing)(error.to_io())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn ends_that_are_alike_run_as_soon_as_they_are_made() {
        let Ok(pair) = Namespaces::alike() else {
            eprintln!("skipped: ends_that_are_alike: needs root for network namespaces");
            return;
        };
        for (file, name) in pair.files.iter().zip(pair.names) {
            assert!(inside(file, || Ok(is_running(name))).expect("a namespace"), "{name}");
        }
        assert!(!is_running("narrows7"));
    }

    /// What a program says in the namespace of an end.
    fn at(pair: &Namespaces, end: usize, words: &[&str]) -> String {
        let mut command = crate::child::command("nsenter");
        let ran = command.arg(format!("--net={}", pair.path(end))).args(words).output();
        String::from_utf8_lossy(&ran.expect("it runs").stdout).into_owned()
    }

    #[test]
    fn both_ends_have_their_address_and_what_they_are_told_and_packets_pass() {
        let Ok(pair) = Namespaces::make() else {
            eprintln!("skipped: both_ends_have_their_address: needs root for network namespaces");
            return;
        };
        let shown = |end: usize, what: &str| {
            let name = ["narrows0", "narrows1"][end];
            at(&pair, end, &["ip", "-o", what, "show", "dev", name])
        };
        for (end, address) in ["198.51.100.1/30", "198.51.100.2/30"].into_iter().enumerate() {
            let (link, has) = (shown(end, "link"), shown(end, "addr"));
            assert!(has.contains(&format!("inet {address} ")), "{has}");
            assert!(link.contains(" mtu 1500 ") && link.contains(",UP"), "{link}");
        }
        pair.set_mtu(9000).expect("set");
        pair.set_congestion(Some("reno")).expect("set");
        pair.set_offload("tso", false).expect("switched");
        for end in [0, 1] {
            assert!(shown(end, "link").contains(" mtu 9000 "), "{end}");
            let route = at(&pair, end, &["ip", "route", "show", "198.51.100.0/30"]);
            assert!(route.contains(&format!("dev narrows{end} ")), "{route}");
            assert!(route.contains("congctl reno"), "{route}");
            let on = offloads::get(pair.names[end], "tso", Some(&pair.path(end)));
            assert!(!on.expect("read"), "{end}");
        }
        assert!(!pair.offload("tso").expect("read"));
        pair.set_congestion(None).expect("unset");
        let routes = [0, 1].map(|end| at(&pair, end, &["ip", "route"]));
        assert!(routes.iter().all(|route| !route.contains("congctl")), "{routes:?}");
        let hosts = pair.hosts().map(|(address, path)| (address.to_string(), path));
        let [receiver, sender] = [pair.receiver_path(), pair.sender_path()];
        let own = [("198.51.100.1".into(), receiver), ("198.51.100.2".into(), sender)];
        assert_eq!(hosts, own);
        let listener = inside(&pair.files[0], || {
            TcpListener::bind((pair.receiver_address(), 0)).map_err(machine("listening"))
        });
        let listener = listener.expect("listens");
        let to = listener.local_addr().expect("an address");
        let caller =
            inside(&pair.files[1], || TcpStream::connect(to).map_err(machine("connecting")));
        let from = listener.accept().expect("a connection").1.ip();
        assert_eq!(from, ADDRESSES[1], "{caller:?}");
    }

    #[test]
    fn a_kernel_setting_is_that_of_both_ends_and_of_nobody_else() {
        let Ok(pair) = Namespaces::make() else {
            eprintln!(
                "skipped: a_kernel_setting_is_that_of_both_ends: needs root for network namespaces"
            );
            return;
        };
        let (name, path) = ("net.ipv4.tcp_wmem", "/proc/sys/net/ipv4/tcp_wmem");
        let own = || std::fs::read_to_string(path).expect("a setting");
        let before = own();
        pair.set_sysctl(name, "4096 16384 65536").expect("set");
        for file in &pair.files {
            let has = inside(file, || std::fs::read_to_string(path).map_err(machine(path)));
            assert_eq!(has.expect("read"), "4096\t16384\t65536\n");
        }
        assert_eq!(pair.sysctl(name).expect("read"), "4096\t16384\t65536");
        let can = [name, "net.core.netdev_max_backlog", "net.ipv4.no_such", "kernel.panic"];
        assert_eq!(can.map(|name| pair.can_set(name)), [true, false, false, false]);
        assert_eq!(own(), before);
        assert!(matches!(pair.set_sysctl("kernel.panic", "1"), Err(HostError::Order(_))));
    }

    #[test]
    fn a_setting_is_found_by_its_name_with_dots() {
        for (name, path) in [
            ("net.ipv4.tcp_rmem", Some("/proc/sys/net/ipv4/tcp_rmem")),
            ("net.core.busy_read", Some("/proc/sys/net/core/busy_read")),
            ("net.ipv4.conf.eth0/7.rp_filter", Some("/proc/sys/net/ipv4/conf/eth0/7/rp_filter")),
            ("vm.nr_hugepages", Some("/proc/sys/vm/nr_hugepages")),
            ("vm.nr_hugepages_mempolicy", None),
            ("vm.swappiness", None),
            ("network.x", None),
            ("net.../passwd", None),
            ("net.ipv4.tcp rmem", None),
        ] {
            assert_eq!(sysctl_path(name).ok().as_deref(), path, "{name}");
        }
    }
}
