//! Addresses with a common beginning, as an owner of an agent names them: `192.0.2.0/24`.

use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use thiserror::Error;

/// Addresses with a common beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Net {
    address: IpAddr,
    bits: u8,
}

/// Why a text names no addresses with a common beginning.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotNet {
    /// What is before the slash.
    #[error("'{text}' is neither an address nor ADDRESS/BITS")]
    Address {
        /// The whole text.
        text: String,
    },
    /// What is after the slash.
    #[error("'{text}' has no number of bits up to {bits_max}")]
    Bits {
        /// The whole text.
        text: String,
        /// Bits of an address of the family: 32 or 128.
        bits_max: u8,
    },
}

impl std::str::FromStr for Net {
    type Err = NotNet;

    fn from_str(text: &str) -> Result<Self, NotNet> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let address: IpAddr =
            address.parse().map_err(|_| NotNet::Address { text: text.to_owned() })?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(bits_max), str::parse).ok().filter(|bits| *bits <= bits_max);
        let bits = bits.ok_or_else(|| NotNet::Bits { text: text.to_owned(), bits_max })?;
        Ok(Self { address, bits })
    }
}

impl Net {
    /// Whether an address begins like this. An IPv4 address in IPv6's clothes is what it is.
    pub fn has(&self, address: IpAddr) -> bool {
        let common = |a: u128, b: u128, width: u32| {
            let rest = width - u32::from(self.bits);
            rest >= width || (a ^ b) >> rest == 0
        };
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => common(u32::from(a).into(), u32::from(b).into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => common(a.into(), b.into(), 128),
            _ => false,
        }
    }
}
