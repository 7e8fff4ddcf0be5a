//! The PCI Express capability in a function's configuration space (PCI Express base specification,
//! 7.5.3): largest payload and read request, which the kernel lists nowhere else.

use narrows_model::Bytes;
use narrows_model::host::{Express, PciLink};

/// What an ordinary user may read of a configuration space; capabilities lie beyond.
const HEADER_BYTES: usize = 64;
/// Identity of the capability.
const EXPRESS_ID: u8 = 0x10;
/// Capabilities there can be: each takes four bytes at least.
const CAPABILITIES_MAX: usize = 48;

#[derive(Debug, PartialEq, Eq)]
pub enum Gap {
    /// Only the beginning could be read.
    Denied,
    /// The function has no such capability.
    Absent,
    /// The list of capabilities leads nowhere.
    Malformed(String),
}

/// Reads the settings of the function.
pub fn parse(config: &[u8]) -> Result<Express, Gap> {
    let at = find(config)?;
    // Device capabilities, device control, link control (7.5.3.3, 7.5.3.4, 7.5.3.7).
    let capabilities = word(config, at + 0x04)?;
    let control = word(config, at + 0x08)?;
    Ok(Express {
        max_payload_bytes: size(control, 5)?,
        max_payload_supported_bytes: size(capabilities, 0)?,
        max_read_request_bytes: size(control, 12)?,
        relaxed_ordering: control >> 4 & 1 == 1,
        link_sleeps: word(config, at + 0x10).is_ok_and(|control| control & 3 != 0),
    })
}

fn size(register: u32, shift: u32) -> Result<Bytes, Gap> {
    match register >> shift & 7 {
        code @ 0..=5 => Ok(Bytes(128 << code)),
        code => Err(Gap::Malformed(format!("a size code of {code}"))),
    }
}

/// Reads the link: its capabilities and its status (7.5.3.6, 7.5.3.8). `Absent` for a function
/// without a link, such as one built into the root complex.
pub fn link(config: &[u8]) -> Result<PciLink, Gap> {
    let at = find(config)?;
    let most = word(config, at + 0x0c)?;
    let now = word(config, at + 0x10)? >> 16;
    let (Some(speed_gts), Some(speed_max_gts)) = (speed_gts(now), speed_gts(most)) else {
        return Err(Gap::Absent);
    };
    if width(now) == 0 || width(most) == 0 {
        return Err(Gap::Absent);
    }
    Ok(PciLink { speed_gts, width: width(now), speed_max_gts, width_max: width(most) })
}

fn speed_gts(code: u32) -> Option<f64> {
    SPEEDS_GTS.get((code & 15) as usize).copied().flatten()
}

fn width(register: u32) -> u32 {
    register >> 4 & 0x3f
}

/// Speeds by their code.
const SPEEDS_GTS: [Option<f64>; 7] =
    [None, Some(2.5), Some(5.0), Some(8.0), Some(16.0), Some(32.0), Some(64.0)];

/// A register of 32 bits.
pub fn word(config: &[u8], at: usize) -> Result<u32, Gap> {
    let bytes = config.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes
        .map(u32::from_le_bytes)
        .ok_or_else(|| Gap::Malformed(format!("a register at {at:#x} of {:#x}", config.len())))
}

pub fn find(config: &[u8]) -> Result<usize, Gap> {
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
        if byte(at).ok_or_else(outside)? == EXPRESS_ID {
            return Ok(at);
        }
        at = usize::from(byte(at + 1).ok_or_else(outside)? & 0xfc);
    }
    Err(Gap::Malformed("the list of capabilities does not end".to_owned()))
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
        // Link of 8 GT/s x8 on a function that can do 16 GT/s x16.
        let mut linked = config(256, 0x60, 0);
        linked[0x6c..0x70].copy_from_slice(&0x0104u32.to_le_bytes());
        linked[0x70..0x74].copy_from_slice(&0x0083_0002u32.to_le_bytes());
        let best = PciLink { speed_gts: 8.0, width: 8, speed_max_gts: 16.0, width_max: 16 };
        assert_eq!(link(&linked), Ok(best));
        assert!(parse(&linked).expect("capability").link_sleeps);
        assert_eq!(link(&config(256, 0x60, 0)), Err(Gap::Absent));
        for cut in 0..256 {
            let (_, _) = (link(&linked[..cut]), parse(&linked[..cut]));
        }
        // A list that leads to itself, and one that leads outside.
        assert!(matches!(parse(&config(256, 0x40, 0)), Err(Gap::Malformed(_))));
        assert!(matches!(parse(&config(128, 0xfc, 0)), Err(Gap::Malformed(_))));
        assert!(matches!(parse(&config(256, 0x60, 0x00e0)), Err(Gap::Malformed(_))));
    }
}
