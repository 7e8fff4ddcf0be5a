//! The PCI Express capability in a function's configuration space (PCI Express base specification,
//! 7.5.3): largest payload and read request, which the kernel lists nowhere else.

use narrows_facts::Bytes;
use narrows_facts::host::Express;

/// What an ordinary user may read of a configuration space; capabilities lie beyond.
const HEADER_BYTES: usize = 64;
/// Identity of the capability.
const EXPRESS_ID: u8 = 0x10;
/// Capabilities there can be: each takes four bytes at least.
const CAPABILITIES_MAX: usize = 48;

/// Why there is none.
#[derive(Debug, PartialEq, Eq)]
pub enum Gap {
    /// Only the header could be read.
    Denied,
    /// The function has no such capability.
    Absent,
    /// The list of capabilities leads nowhere.
    Malformed(String),
}

/// Reads the capability.
pub fn parse(config: &[u8]) -> Result<Express, Gap> {
    let byte = |at: usize| config.get(at).copied();
    let lists = byte(0x06).is_some_and(|status| status & 0x10 != 0);
    if !lists {
        return Err(Gap::Absent);
    }
    if config.len() <= HEADER_BYTES {
        return Err(Gap::Denied);
    }
    let mut at = byte(0x34).map_or(0, |at| usize::from(at & 0xfc));
    for _ in 0..CAPABILITIES_MAX {
        if at == 0 {
            return Err(Gap::Absent);
        }
        let outside = || Gap::Malformed(format!("a capability at {at:#x} of {:#x}", config.len()));
        let id = byte(at).ok_or_else(outside)?;
        if id == EXPRESS_ID {
            let low = byte(at + 8).ok_or_else(outside)?;
            let high = byte(at + 9).ok_or_else(outside)?;
            return control(u16::from_le_bytes([low, high]));
        }
        at = usize::from(byte(at + 1).ok_or_else(outside)? & 0xfc);
    }
    Err(Gap::Malformed("the list of capabilities does not end".to_owned()))
}

/// The device control register: payload in bits 5 to 7, read request in bits 12 to 14.
fn control(register: u16) -> Result<Express, Gap> {
    let size = |shift: u16| match register >> shift & 7 {
        code @ 0..=5 => Ok(Bytes(128 << code)),
        code => Err(Gap::Malformed(format!("a size code of {code}"))),
    };
    Ok(Express {
        max_payload_bytes: size(5)?,
        max_read_request_bytes: size(12)?,
        relaxed_ordering: register >> 4 & 1 == 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(length: usize, next: u8, control: u16) -> Vec<u8> {
        let mut bytes = vec![0; length];
        bytes[0x06] = 0x10;
        bytes[0x34] = 0x40;
        if length > 0x4a {
            bytes[0x40] = 0x01;
            bytes[0x41] = next;
            bytes[0x60] = EXPRESS_ID;
            bytes[0x68..0x6a].copy_from_slice(&control.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn the_capability_is_found_in_the_list() {
        let express = parse(&config(256, 0x60, 0x2950)).expect("capability");
        assert_eq!(express.max_payload_bytes, Bytes(512));
        assert_eq!(express.max_read_request_bytes, Bytes(512));
        assert!(express.relaxed_ordering);
        assert_eq!(parse(&config(64, 0, 0)), Err(Gap::Denied));
        assert_eq!(parse(&config(256, 0, 0)), Err(Gap::Absent));
        assert_eq!(parse(&[]), Err(Gap::Absent));
        // A list that leads to itself, and one that leads outside.
        assert!(matches!(parse(&config(256, 0x40, 0)), Err(Gap::Malformed(_))));
        assert!(matches!(parse(&config(128, 0xfc, 0)), Err(Gap::Malformed(_))));
        assert!(matches!(parse(&config(256, 0x60, 0x00e0)), Err(Gap::Malformed(_))));
    }
}
