//! Which device, port and identifier an end uses.

use crate::LoadError;
use narrows_model::rdma::RdmaPlace;
use narrows_rdma::verbs::{self, Device, Domain, Gid, Port, Transport};
use std::net::IpAddr;
use std::sync::Arc;

/// What was chosen, and why.
pub struct Choice {
    pub domain: Arc<Domain>,
    pub port: u8,
    /// The identifier; `None` on InfiniBand, whose ports have addresses of their own.
    pub gid: Option<Gid>,
    pub mtu_bytes: u32,
    pub why: String,
}

/// What an identifier must be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GidSort {
    /// A port of InfiniBand.
    InfiniBand,
    /// Ethernet's own frames.
    RoceV1,
    /// UDP over Ethernet.
    RoceV2,
}

impl GidSort {
    /// By the option's word.
    pub fn named(word: &str) -> Result<Self, LoadError> {
        match word {
            "infiniband" => Ok(Self::InfiniBand),
            "rocev1" => Ok(Self::RoceV1),
            "rocev2" => Ok(Self::RoceV2),
            other => Err(LoadError::Order(format!(
                "gid '{other}' is none of {}",
                narrows_model::options::rdma::GIDS.join(", ")
            ))),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::InfiniBand => "InfiniBand",
            Self::RoceV1 => "RoCE v1",
            Self::RoceV2 => "RoCE v2",
        }
    }

    /// What a port without it is, in words; `None` where it may have it.
    fn lacks(self, transport: Transport, lid: u16) -> Option<&'static str> {
        match (transport, lid) {
            (Transport::Iwarp, _) => Some("iWARP"),
            // A port of Ethernet has no local identifier.
            (_, 0) => (self == Self::InfiniBand).then_some("Ethernet"),
            _ => (self != Self::InfiniBand).then_some("InfiniBand"),
        }
    }

    /// The identifiers of a port that are of this sort.
    fn among(self, gids: Vec<Gid>) -> Vec<Gid> {
        match self {
            Self::InfiniBand => gids,
            Self::RoceV1 => gids.into_iter().filter(|gid| !gid.is_v2()).collect(),
            Self::RoceV2 => gids.into_iter().filter(Gid::is_v2).collect(),
        }
    }
}

/// What an end asks of a device.
struct Asked<'a> {
    place: &'a RdmaPlace,
    gid: Option<GidSort>,
    own: IpAddr,
}

/// The device that was named, or the one that has this address. `None` when no device shows the
/// address: iWARP devices do not, and only the connection manager knows theirs.
pub fn choose(
    place: &RdmaPlace,
    gid: Option<GidSort>,
    own: IpAddr,
) -> Result<Option<Choice>, LoadError> {
    if let Some(name) = &place.device {
        let domain = Domain::new(Device::open(name)?)?;
        let why = format!("{name} was asked for");
        return of(domain, &Asked { place, gid, own }, &why).map(Some);
    }
    let names = verbs::devices()?;
    if names.is_empty() {
        return Err(LoadError::Order(
            "no RDMA device (a NIC's driver is not loaded, or a provider's package is missing; \
             for software ones: rdma link add rxe0 type rxe netdev DEVICE)"
                .into(),
        ));
    }
    let (mut up, mut closed) = (Vec::new(), None);
    for name in &names {
        let device = match Device::open(name) {
            Ok(device) => device,
            // It may not be the one that is looked for.
            Err(error) => {
                closed = Some(error);
                continue;
            }
        };
        let domain = Domain::new(device)?;
        let numbers = place.port.map_or(1..=2, |port| port..=port);
        for port in numbers {
            let Ok(told) = domain.port(port) else { continue };
            // Where InfiniBand is asked for, the address may be that of another, Ethernet port.
            let may_be = gid != Some(GidSort::InfiniBand) || told.lid != 0;
            if may_be && domain.gids(port)?.iter().any(|gid| gid.address() == own) {
                let place = RdmaPlace { port: Some(port), ..place.clone() };
                let why = format!("{name} has the address {own}");
                return of(domain, &Asked { place: &place, gid, own }, &why).map(Some);
            }
            if told.is_active && told.lid != 0 {
                up.push((domain.clone(), name, port));
            }
        }
    }
    // InfiniBand without IP over it: the only port that is up.
    match up.as_slice() {
        [(domain, name, port)] => {
            let place = RdmaPlace { port: Some(*port), ..place.clone() };
            let why = format!("{name} has the only port that is up");
            of(domain.clone(), &Asked { place: &place, gid, own }, &why).map(Some)
        }
        [] if gid == Some(GidSort::InfiniBand) && closed.is_none() => {
            Err(LoadError::Order("no port of InfiniBand is up, which was asked for".into()))
        }
        _ => closed.map_or(Ok(None), |error| Err(error.into())),
    }
}

/// An IP address of a device, where the connection manager finds it: the end's own one if the
/// device has it, or the first. Over iWARP the identifier is the hardware address of the interface.
pub fn address_of(device: &str, own: IpAddr) -> Result<IpAddr, LoadError> {
    let domain = Domain::new(Device::open(device)?)?;
    let gids = domain.gids(1)?;
    let found: Vec<IpAddr> = match domain.transport() {
        Transport::Iwarp => gids.iter().flat_map(|gid| with_hardware(&gid.bytes[..6])).collect(),
        Transport::InfiniBand => gids.iter().map(Gid::address).collect(),
    };
    let found = found
        .iter()
        .find(|at| **at == own)
        .or(found.iter().find(|at| at.is_ipv4() == own.is_ipv4()));
    found
        .copied()
        .ok_or_else(|| LoadError::Order(format!("{device} has no address of the family of {own}")))
}

/// Addresses of the interfaces that have this hardware address.
fn with_hardware(hardware: &[u8]) -> Vec<IpAddr> {
    let all = || nix::ifaddrs::getifaddrs().into_iter().flatten();
    let names: Vec<String> = all()
        .filter(|entry| {
            let link = entry.address.as_ref().and_then(|at| at.as_link_addr()?.addr());
            link.is_some_and(|link| link == hardware)
        })
        .map(|entry| entry.interface_name)
        .collect();
    all()
        .filter_map(|entry| {
            let storage = entry.address.filter(|_| names.contains(&entry.interface_name))?;
            let v4 = storage.as_sockaddr_in().map(|at| IpAddr::from(at.ip()));
            v4.or_else(|| storage.as_sockaddr_in6().map(|at| IpAddr::from(at.ip())))
        })
        .collect()
}

/// The port and identifier on a device.
fn of(domain: Arc<Domain>, asked: &Asked<'_>, why: &str) -> Result<Choice, LoadError> {
    let Asked { place, gid: sort, own } = *asked;
    let device = domain.device();
    let (port, told) = port(&domain, place)?;
    if !told.is_active {
        let says = format!("port {port} of {device} is not up: see `narrows host --table rdma`");
        return Err(LoadError::Order(says));
    }
    let lacks =
        sort.and_then(|sort| Some((sort.lacks(domain.transport(), told.lid)?, sort.name())));
    if let Some((is, wanted)) = lacks {
        let says = format!("port {port} of {device} is {is}, and {wanted} was asked for");
        return Err(LoadError::Order(says));
    }
    let all = domain.gids(port)?;
    let gids = match sort {
        Some(sort) => sort.among(all),
        None => all,
    };
    if let Some(sort) = sort.filter(|_| gids.is_empty()) {
        let sort = sort.name();
        let says = format!("port {port} of {device} has no identifier of {sort}");
        return Err(LoadError::Order(says));
    }
    let ethernet = told.lid == 0 && domain.transport() == Transport::InfiniBand;
    let (gid, because) = match place.gid_index {
        Some(index) => {
            let found = gids.iter().find(|gid| gid.index == index).cloned();
            (
                Some(found.ok_or_else(|| {
                    let known: Vec<String> = gids.iter().map(|gid| gid.index.to_string()).collect();
                    let known = known.join(", ");
                    LoadError::Order(format!(
                        "{device} has no identifier {index}; there is {known}"
                    ))
                })?),
                format!("GID {index} was asked for"),
            )
        }
        None if ethernet => {
            let (gid, why) = best(&gids, own).ok_or_else(|| {
                LoadError::Order(format!(
                    "port {port} of {device} has no identifier: is its interface up?"
                ))
            })?;
            (Some(gid.clone()), format!("GID {} {why}", gid.index))
        }
        None => (None, "its ports have addresses of their own".to_owned()),
    };
    let why = format!("{why}; {because}");
    Ok(Choice { domain, port, gid, mtu_bytes: told.mtu_bytes, why })
}

/// The port that was named, or the first that is up, or the first.
fn port(domain: &Domain, place: &RdmaPlace) -> Result<(u8, Port), LoadError> {
    if let Some(port) = place.port {
        return Ok((port, domain.port(port)?));
    }
    let first = domain.port(1)?;
    let second = domain.port(2).ok().filter(|port| port.is_active && !first.is_active);
    Ok(second.map_or((1, first), |second| (2, second)))
}

/// The own address over RoCE v2, then over v1, then any of v2 with an IPv4 address, then any of
/// v2, then the first.
fn best(gids: &[Gid], own: IpAddr) -> Option<(&Gid, &'static str)> {
    let find = |wanted: &dyn Fn(&Gid) -> bool| gids.iter().find(|gid| wanted(gid));
    let is_own = |gid: &Gid| gid.address() == own;
    None.or_else(|| Some((find(&|g| g.is_v2() && is_own(g))?, "is the own address over RoCE v2")))
        .or_else(|| Some((find(&is_own)?, "is the own address")))
        .or_else(|| {
            let v4 = find(&|g| g.is_v2() && g.address().is_ipv4())?;
            Some((v4, "is the first IPv4 address over RoCE v2"))
        })
        .or_else(|| Some((find(&Gid::is_v2)?, "is the first of RoCE v2")))
        .or_else(|| Some((gids.first()?, "is the first there is")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gid(index: u8, address: &str, kind: &str) -> Gid {
        let bytes = match address.parse().expect("address") {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
            IpAddr::V6(v6) => v6.octets(),
        };
        Gid { index, bytes, kind: Some(kind.to_owned()) }
    }

    #[test]
    fn a_sort_that_was_asked_for_is_the_only_one_that_is_taken() {
        let gids = vec![
            gid(0, "fe80::1", "IB/RoCE v1"),
            gid(1, "fe80::1", "RoCE v2"),
            gid(2, "10.0.0.1", "IB/RoCE v1"),
            gid(3, "10.0.0.1", "RoCE v2"),
        ];
        let chosen = |sort: GidSort, own: &str| {
            let among = sort.among(gids.clone());
            best(&among, own.parse().expect("address")).map(|(gid, _)| gid.index)
        };
        assert_eq!(chosen(GidSort::RoceV1, "10.0.0.1"), Some(2));
        assert_eq!(chosen(GidSort::RoceV2, "10.0.0.1"), Some(3));
        assert_eq!(chosen(GidSort::RoceV1, "fe80::1"), Some(0));
        assert!(GidSort::RoceV1.among(vec![gid(0, "10.0.0.1", "RoCE v2")]).is_empty());
        // A port is what its local identifier says, whatever its name.
        let lacks = |sort: GidSort, lid| sort.lacks(Transport::InfiniBand, lid);
        assert_eq!(lacks(GidSort::InfiniBand, 0), Some("Ethernet"));
        assert_eq!(lacks(GidSort::RoceV1, 7), Some("InfiniBand"));
        assert_eq!((lacks(GidSort::InfiniBand, 7), lacks(GidSort::RoceV2, 0)), (None, None));
        assert_eq!(GidSort::RoceV2.lacks(Transport::Iwarp, 0), Some("iWARP"));
    }

    #[test]
    fn the_own_address_over_udp_is_taken_before_others() {
        // As a ConnectX port lists them: each address once for v1, once for v2.
        let gids = [
            gid(0, "fe80::1", "IB/RoCE v1"),
            gid(1, "fe80::1", "RoCE v2"),
            gid(2, "10.0.0.1", "IB/RoCE v1"),
            gid(3, "10.0.0.1", "RoCE v2"),
        ];
        let chosen = |own: &str| best(&gids, own.parse().expect("address")).map(|g| g.0.index);
        assert_eq!(chosen("10.0.0.1"), Some(3));
        assert_eq!(chosen("fe80::1"), Some(1));
        assert_eq!(chosen("10.9.9.9"), Some(3));
        assert_eq!(
            best(&gids[..1], "10.0.0.1".parse().expect("address")).map(|g| g.1),
            Some("is the first there is")
        );
        assert!(best(&[], "10.0.0.1".parse().expect("address")).is_none());
    }
}
