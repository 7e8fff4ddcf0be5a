//! Access control services (ACS) in a function's extended configuration space (PCI Express base
//! specification, 7.7.11): whether a port sends what its devices tell each other up to the root
//! complex. The kernel lists it nowhere else.

use crate::express::{self, Gap};
use narrows_model::host::Acs;

/// Where extended capabilities begin; root alone may read that far.
const EXTENDED_FROM: usize = 0x100;
/// Identity of the capability.
const ACS_ID: u32 = 0x000d;
/// Extended capabilities there can be: each takes eight bytes at least of 3,840.
const CAPABILITIES_MAX: usize = 480;
/// Bytes of the capability that are read: header, what it can do, what it is set to.
const ACS_BYTES: usize = 8;

/// Reads what the function is set to. `Absent` for one without the capability.
pub fn parse(config: &[u8]) -> Result<Acs, Gap> {
    let at = find(config)?;
    if has_shifted_registers(config) {
        let text = "this chipset's control register is not where the specification has it";
        return Err(Gap::Malformed(text.to_owned()));
    }
    let set = express::word(config, at + 4)? >> 16;
    let bit = |at: u32| set >> at & 1 == 1;
    Ok(Acs {
        request_redirect: bit(2),
        completion_redirect: bit(3),
        upstream_forwarding: bit(4),
        egress_control: bit(5),
    })
}

/// Root ports of Intel's 100 and 200 series chipsets and their mobile kin have registers of 32 bits
/// there (Linux, drivers/pci/quirks.c, `pci_quirk_intel_spt_pch_acs_match`; from knowledge).
fn has_shifted_registers(config: &[u8]) -> bool {
    let id = express::word(config, 0).unwrap_or(0);
    id & 0xffff == 0x8086
        && matches!(id >> 16, 0xa110..=0xa11f | 0xa167..=0xa16a | 0xa290..=0xa29f | 0xa2e7..=0xa2ee
            | 0x9d10..=0x9d1b)
}

/// The bytes of a configuration space that may go into a capture: of what lies beyond the first
/// 256, where serial numbers can be, the chain of headers and this capability alone.
pub fn without_the_rest(config: &[u8]) -> Vec<u8> {
    let mut kept = config.get(..EXTENDED_FROM).unwrap_or(config).to_vec();
    let chain = chain(config).unwrap_or_default();
    let Some(end) = chain.iter().map(|(at, _)| at + ACS_BYTES).max() else { return kept };
    kept.resize(end.min(config.len()), 0);
    for (at, id) in chain {
        let bytes = if id == ACS_ID { ACS_BYTES } else { 4 };
        if let (Some(to), Some(from)) = (kept.get_mut(at..at + bytes), config.get(at..at + bytes)) {
            to.copy_from_slice(from);
        }
    }
    kept
}

fn find(config: &[u8]) -> Result<usize, Gap> {
    // A function that is not PCI Express has no such space.
    express::find(config)?;
    if config.len() <= EXTENDED_FROM {
        return Err(Gap::Denied);
    }
    let found = chain(config)?.into_iter().find(|(_, id)| *id == ACS_ID);
    found.map(|(at, _)| at).ok_or(Gap::Absent)
}

/// Where each extended capability begins, and its identity.
fn chain(config: &[u8]) -> Result<Vec<(usize, u32)>, Gap> {
    let mut all = Vec::new();
    let mut at = EXTENDED_FROM;
    while all.len() < CAPABILITIES_MAX {
        let header = express::word(config, at)?;
        // Nothing there, or a device that has gone.
        if header == 0 || header == u32::MAX {
            return Ok(all);
        }
        all.push((at, header & 0xffff));
        match (header >> 20 & 0xffc) as usize {
            0 => return Ok(all),
            next if next < EXTENDED_FROM => {
                return Err(Gap::Malformed(format!("an extended capability at {next:#x}")));
            }
            next => at = next,
        }
    }
    Err(Gap::Malformed("the list of extended capabilities does not end".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A switch's downstream port: a serial number first, then the capability set so.
    fn config(set: u16) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        bytes[..4].copy_from_slice(&0x8747_10b5u32.to_le_bytes());
        bytes[0x06] = 0x10;
        bytes[0x34] = 0x40;
        bytes[0x40] = 0x10;
        bytes[0x100..0x104].copy_from_slice(&0x1501_0003u32.to_le_bytes());
        bytes[0x104..0x10c].copy_from_slice(b"SERIAL12");
        bytes[0x150..0x154].copy_from_slice(&0x0001_000du32.to_le_bytes());
        bytes[0x154..0x158].copy_from_slice(&(u32::from(set) << 16 | 0x7f).to_le_bytes());
        bytes
    }

    #[test]
    fn what_a_port_is_set_to_is_told_from_what_it_can_do() {
        assert_eq!(parse(&config(0)), Ok(Acs::default()));
        // Source validation, both redirects and forwarding: what Linux sets with an IOMMU.
        let set = parse(&config(0x1d)).expect("it is there");
        assert!(set.request_redirect && set.completion_redirect && set.upstream_forwarding);
        assert!(!set.egress_control);
        assert!(parse(&config(0x20)).expect("it is there").egress_control);
        assert_eq!(parse(&config(0x1)), Ok(Acs::default()), "source validation redirects nothing");
    }

    #[test]
    fn what_cannot_be_told_is_not_called_off() {
        let whole = config(0x1d);
        assert_eq!(parse(&whole[..256]), Err(Gap::Denied));
        assert_eq!(parse(&whole[..64]), Err(Gap::Denied));
        assert!(matches!(parse(&whole[..0x154]), Err(Gap::Malformed(_))));
        let mut without = whole.clone();
        without[0x150..0x154].copy_from_slice(&0x0001_0001u32.to_le_bytes());
        assert_eq!(parse(&without), Err(Gap::Absent));
        let mut circle = without;
        circle[0x150..0x154].copy_from_slice(&0x1501_0001u32.to_le_bytes());
        assert!(matches!(parse(&circle), Err(Gap::Malformed(_))));
        let mut chipset = whole.clone();
        chipset[..4].copy_from_slice(&0xa115_8086u32.to_le_bytes());
        assert!(matches!(parse(&chipset), Err(Gap::Malformed(_))));
        for cut in 0..0x160 {
            let (_, _) = (parse(&whole[..cut]), without_the_rest(&whole[..cut]));
        }
    }

    #[test]
    fn a_capture_keeps_it_and_no_serial_number() {
        let whole = config(0x1d);
        let kept = without_the_rest(&whole);
        assert_eq!(parse(&kept), parse(&whole));
        assert!(!kept.windows(4).any(|bytes| bytes == b"SERI"), "the serial number is gone");
        assert_eq!(without_the_rest(&whole[..256]), whole[..256]);
    }

    #[test]
    fn what_a_capture_keeps_is_as_long_as_what_was_read() {
        let whole = config(0x1d);
        let mut wanted = whole[..0x158].to_vec();
        wanted[0x104..0x10c].fill(0);
        assert_eq!(without_the_rest(&whole), wanted);
        // Only a header is kept of a capability that was read in part.
        let cut = without_the_rest(&whole[..0x154]);
        assert_eq!(cut.len(), 0x154);
        assert_eq!(cut[..0x150], wanted[..0x150]);
        assert_eq!(without_the_rest(&whole[..40]), whole[..40]);
    }

    #[test]
    fn a_chain_may_be_as_long_as_the_space_and_registers_of_some_chipsets_are_elsewhere() {
        let chained = |count: usize| {
            let mut bytes = config(0);
            for at in 0..count {
                let next = if at + 1 < count { 0x100 + 8 * (at + 1) } else { 0 };
                let header = (next as u32) << 20 | 0x1_0001;
                bytes[0x100 + 8 * at..][..4].copy_from_slice(&header.to_le_bytes());
            }
            chain(&bytes).map(|all| all.len())
        };
        // The address of the next has four-byte steps of twelve bits.
        assert_eq!((chained(1), chained(2), chained(480)), (Ok(1), Ok(2), Ok(480)));
        for (id, is_shifted) in [
            (0xa10f_u32, false),
            (0xa110, true),
            (0xa11f, true),
            (0xa120, false),
            (0xa167, true),
            (0xa16a, true),
            (0xa16b, false),
            (0xa290, true),
            (0xa29f, true),
            (0xa2e7, true),
            (0xa2ee, true),
            (0xa2ef, false),
            (0x9d10, true),
            (0x9d1b, true),
            (0x9d1c, false),
        ] {
            let of = |maker: u32| has_shifted_registers(&(id << 16 | maker).to_le_bytes());
            assert_eq!((of(0x8086), of(0x10b5)), (is_shifted, false), "{id:x}");
        }
        assert!(!has_shifted_registers(&[]));
    }
}
