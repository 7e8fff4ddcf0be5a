//! What another program's packets need of us: the two interfaces, whom the frames may go to, and a
//! count of what came that nobody but the kernel's own machine makes.

use super::bpf::bystander::{Bystander, Whose};
use super::bpf::sys::Mode;
use super::frame::Mac;
use super::link::{self, Link};
use super::receivers;
use crate::LoadError;
use narrows_model::load::Params;
use narrows_model::options::packets::{I_KNOW, MAC};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::OwnedFd;

/// A port that nobody listens on: the kernel's route to an address is asked for with it.
const DISCARD: u16 = 9;

/// The interface of the calling thread's namespace that has an address.
pub fn having(address: Ipv4Addr) -> Result<Link, LoadError> {
    Link::named(&link::having(address)?)
}

/// The interface by which the kernel goes to an address, and its own address there.
pub fn toward(address: Ipv4Addr) -> Result<(Link, Ipv4Addr), LoadError> {
    let asked = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
        .and_then(|socket| socket.connect((address, DISCARD)).map(|()| socket))
        .and_then(|socket| socket.local_addr());
    let own = asked.map_err(LoadError::system(format!("finding the way to {address}")))?;
    match own.ip() {
        IpAddr::V4(own) => Ok((having(own)?, own)),
        IpAddr::V6(_) => Err(LoadError::Order("raw packets are IPv4: use -4".to_owned())),
    }
}

/// The MAC address that frames go to: that of the other end, or, by a user who knows, another.
pub fn target(other: Mac, params: &Params) -> Result<Mac, LoadError> {
    let asked = MAC.of(params).map(|mac| mac.parse()).transpose()?;
    let knows = I_KNOW.of(params).unwrap_or(false);
    link::target(Some(other), asked, knows).map_err(|why| LoadError::Order(why.to_owned()))
}

/// A count of a program's packets where they come; it is gone when dropped, and with the process.
pub struct Watch {
    counter: Bystander,
    mode: Mode,
    _held: OwnedFd,
}

impl Watch {
    /// Puts it before an interface of the calling thread's namespace: packets from a MAC address
    /// to a UDP port are counted and dropped, and all others pass.
    pub fn put(link: &Link, from: Mac, port: u16) -> Result<Self, LoadError> {
        let counter = Bystander::load(Whose { from, port })?;
        let (held, mode) = receivers::attach(counter.program(), link)?;
        Ok(Self { counter, mode, _held: held })
    }

    /// Packets that have come.
    pub fn came(&self) -> u64 {
        self.counter.packets()
    }

    /// What counts, as receivers of ours are called.
    pub fn name(&self) -> &'static str {
        receivers::xdp_name(self.mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_go_where_a_user_who_knows_lets_them() {
        let (far, other) = (Mac([2, 0, 0, 0, 0, 2]), "02:00:00:00:00:03");
        let told = |mac: Option<&str>, knows: bool| {
            let mut params = Params::of_network(narrows_model::Bytes(64), 1);
            mac.into_iter().for_each(|mac| params.told.tell(&MAC, mac.to_owned()));
            params.told.tell(&I_KNOW, knows);
            target(far, &params)
        };
        assert_eq!(told(None, false).expect("the peer"), far);
        assert_eq!(told(Some("02:00:00:00:00:02"), false).expect("the peer"), far);
        for wrong in [other, "01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff", "nonsense"] {
            assert!(told(Some(wrong), false).is_err(), "{wrong}");
        }
        assert_eq!(told(Some(other), true).expect("known"), other.parse().expect("a MAC"));
    }
}
