//! Stand-ins for addresses. An address stands in many texts under many forms: an RDMA identifier
//! holds the hardware address of its port, its IPv4 or its IPv6 address. The stand-in is made of
//! the bytes, so that what was the same before is the same after, and an identifier still begins
//! with its interface's address.

use std::collections::BTreeMap;

/// First bytes of every hardware address that stands in for one: locally administered, and of no
/// maker.
const MAC_PREFIX: [u8; 4] = [0x02, 0x6d, 0x73, 0x6b];
/// First bytes of identifiers of 64 bits that hold no hardware address.
const ID_PREFIX: [u8; 4] = [0x6d, 0x73, 0x6b, 0x64];
/// The network that discards what is sent to it (RFC 6666).
const NET_PREFIX: [u8; 4] = [0x01, 0x00, 0x00, 0x00];
/// What IPv4 addresses begin with inside identifiers of 128 bits.
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
/// Link-local, as IPv6 addresses and identifiers of RDMA ports begin.
const LINK_LOCAL: [u8; 8] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0];

/// The addresses seen so far, numbered in the order in which they were.
#[derive(Default)]
pub struct Addresses {
    macs: BTreeMap<[u8; 6], u16>,
    ids: BTreeMap<[u8; 8], u32>,
    nets: BTreeMap<[u8; 8], u32>,
    v4: BTreeMap<[u8; 4], u16>,
}

fn number<K: Ord, N>(map: &mut BTreeMap<K, N>, key: K) -> [u8; 4]
where
    N: Copy + Default + Into<u32> + TryFrom<usize>,
{
    let next = N::try_from(map.len() + 1).unwrap_or_default();
    let number: u32 = (*map.entry(key).or_insert(next)).into();
    number.to_be_bytes()
}

fn joined<const A: usize, const B: usize, const N: usize>(a: [u8; A], b: [u8; B]) -> [u8; N] {
    let mut all = [0; N];
    all.iter_mut().zip(a.into_iter().chain(b)).for_each(|(to, byte)| *to = byte);
    all
}

impl Addresses {
    /// Of an Ethernet hardware address; no address and all stations stay.
    pub fn mac(&mut self, mac: [u8; 6]) -> [u8; 6] {
        if mac == [0; 6] || mac == [0xff; 6] {
            return mac;
        }
        let [_, _, high, low] = number(&mut self.macs, mac);
        joined(MAC_PREFIX, [high, low])
    }

    /// Of an IPv4 address: one of the network that means "this", which nobody has. Networks'
    /// masks, the own machine and no address stay.
    pub fn v4(&mut self, address: [u8; 4]) -> [u8; 4] {
        if matches!(address[0], 0 | 127 | 255) {
            return address;
        }
        number(&mut self.v4, address)
    }

    /// Of 64 bits: the last half of an IPv6 address, or a globally unique identifier. Both are
    /// mostly made of a hardware address, IPv6's with a bit turned.
    pub fn id(&mut self, id: [u8; 8]) -> [u8; 8] {
        let [a, b, c, middle, next, x, y, z] = id;
        match (middle, next) {
            _ if id == [0; 8] => id,
            (0xff, 0xfe) => {
                let [a, b, c, x, y, z] = self.mac([a ^ 2, b, c, x, y, z]);
                [a ^ 2, b, c, 0xff, 0xfe, x, y, z]
            }
            // As Mellanox and NVIDIA make theirs.
            (0x03, 0x00) => {
                let [a, b, c, x, y, z] = self.mac([a, b, c, x, y, z]);
                [a, b, c, 0x03, 0x00, x, y, z]
            }
            _ => joined(ID_PREFIX, number(&mut self.ids, id)),
        }
    }

    /// Of 128 bits: an IPv6 address, or the identifier of an RDMA port.
    pub fn gid(&mut self, gid: [u8; 16]) -> [u8; 16] {
        let (mut first, mut last, mut v4) = ([0; 8], [0; 8], [0; 4]);
        first.copy_from_slice(&gid[..8]);
        last.copy_from_slice(&gid[8..]);
        v4.copy_from_slice(&gid[12..]);
        if gid[..15] == [0; 15] {
            return gid;
        }
        if gid[..12] == MAPPED {
            return joined(MAPPED, self.v4(v4));
        }
        if gid[6..] == [0; 10] {
            // iWARP: the port's hardware address and nothing else.
            let [a, b, c, d, e, f, ..] = first;
            return joined(self.mac([a, b, c, d, e, f]), [0; 10]);
        }
        let net = if first == LINK_LOCAL || first == [0; 8] {
            first
        } else {
            joined(NET_PREFIX, number(&mut self.nets, first))
        };
        joined(net, self.id(last))
    }

    /// Of so many bytes as some kind of address has; `None` for other numbers of bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        if let Ok(mac) = <[u8; 6]>::try_from(bytes) {
            return Some(self.mac(mac).to_vec());
        }
        if let Ok(id) = <[u8; 8]>::try_from(bytes) {
            return Some(self.id(id).to_vec());
        }
        if let Ok(gid) = <[u8; 16]>::try_from(bytes) {
            return Some(self.gid(gid).to_vec());
        }
        // IP over InfiniBand: flags and the number of a queue pair before the identifier.
        let gid = <[u8; 16]>::try_from(bytes.get(4..)?).ok()?;
        Some([&[0; 4], self.gid(gid).as_slice()].concat())
    }

    /// True for an IPv4 address that was seen.
    pub fn knows_v4(&self, address: [u8; 4]) -> bool {
        self.v4.contains_key(&address)
    }

    /// Every address seen and its stand-in, as bytes; those of IPv4, which are too short to be
    /// told from other numbers, apart.
    pub fn pairs(&mut self) -> Pairs {
        let macs: Vec<[u8; 6]> = self.macs.keys().copied().collect();
        let ids: Vec<[u8; 8]> = self.ids.keys().copied().collect();
        let v4: Vec<[u8; 4]> = self.v4.keys().copied().collect();
        let mut long: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for mac in macs {
            let [a, b, c, x, y, z] = mac;
            let eui = [a ^ 2, b, c, 0xff, 0xfe, x, y, z];
            let guid = [a, b, c, 0x03, 0x00, x, y, z];
            long.push((eui.to_vec(), self.id(eui).to_vec()));
            long.push((guid.to_vec(), self.id(guid).to_vec()));
            long.push((mac.to_vec(), self.mac(mac).to_vec()));
        }
        long.extend(ids.into_iter().map(|id| (id.to_vec(), self.id(id).to_vec())));
        let short = v4.into_iter().map(|v4| (v4, self.v4(v4))).collect();
        Pairs { long, short }
    }
}

/// Addresses and their stand-ins.
pub struct Pairs {
    /// Of 48 bits and more.
    pub long: Vec<(Vec<u8>, Vec<u8>)>,
    /// IPv4 addresses as they were, and what stands for each.
    pub short: Vec<([u8; 4], [u8; 4])>,
}

/// The ways in which texts write these bytes, always in the same order.
pub fn spellings(bytes: &[u8]) -> Vec<String> {
    let turned: Vec<u8> = bytes.iter().rev().copied().collect();
    [bytes, &turned]
        .into_iter()
        .flat_map(|bytes| {
            let plain = spelt(bytes, bytes.len(), "");
            let pairs = [":", "-", " ", "_"].map(|between| spelt(bytes, 1, between));
            let words = [":", ".", "-", " "].map(|between| spelt(bytes, 2, between));
            std::iter::once(plain).chain(pairs).chain(words)
        })
        .collect()
}

fn spelt(bytes: &[u8], size: usize, between: &str) -> String {
    bytes
        .chunks(size)
        .map(|part| part.iter().map(|b| format!("{b:02x}")).collect::<String>())
        .collect::<Vec<_>>()
        .join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_keeps_its_interfaces_address() {
        let mut seen = Addresses::default();
        let mac = [0x24, 0x8a, 0x07, 0x12, 0x34, 0x56];
        let masked = seen.mac(mac);
        let mut iwarp = [0; 16];
        iwarp[..6].copy_from_slice(&mac);
        assert_eq!(seen.gid(iwarp)[..6], masked);
        let eui = [0x26, 0x8a, 0x07, 0xff, 0xfe, 0x12, 0x34, 0x56];
        let gid: [u8; 16] = joined(LINK_LOCAL, eui);
        let hidden = seen.gid(gid);
        assert_eq!(hidden[..8], LINK_LOCAL);
        assert_eq!((hidden[8] ^ 2, hidden[9], hidden[15]), (masked[0], masked[1], masked[5]));
        let v4: [u8; 16] = joined(MAPPED, [10, 1, 2, 3]);
        assert_eq!(seen.gid(v4)[..12], MAPPED);
        assert_eq!(seen.gid(v4)[12..], seen.v4([10, 1, 2, 3]));
        assert_eq!(seen.gid([0; 16]), [0; 16]);
        assert_ne!(seen.mac([0x24, 0x8a, 0x07, 0x12, 0x34, 0x57]), masked);
    }
}
