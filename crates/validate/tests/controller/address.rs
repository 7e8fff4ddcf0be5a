//! Which bank a line lies in: the functions of two channels of DDR4 that were found on a Skylake
//! (Pessl et al., DRAMA, USENIX Security 2016, table 2), which exchange banks by bits of the row.

use crate::parameters::{BANKS, GROUPS};

/// Bits of the address whose parity chooses each: channel, bank group, rank and bank.
const CHANNEL: u64 = bits(&[8, 9, 12, 13, 18, 19]);
const GROUP: [u64; 2] = [bits(&[7, 14]), bits(&[15, 19])];
const RANK: u64 = bits(&[16, 20]);
const BANK: [u64; 2] = [bits(&[17, 21]), bits(&[18, 22])];
/// The row begins at this bit.
const ROW: u32 = 19;
/// Bytes of a line, as a shift.
const LINE: u32 = 6;

/// Where a line lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub channel: usize,
    pub rank: usize,
    /// Bank group of the rank.
    pub group: usize,
    /// Bank of the channel, of all ranks and groups.
    pub bank: usize,
    pub row: u64,
}

const fn bits(of: &[u32]) -> u64 {
    let (mut mask, mut at) = (0, 0);
    while at < of.len() {
        mask |= 1 << of[at];
        at += 1;
    }
    mask
}

fn parity(address: u64, mask: u64) -> usize {
    (address & mask).count_ones() as usize % 2
}

/// The place of a line by its number, 64 B each.
pub fn place(line: u64) -> Place {
    let address = line << LINE;
    let rank = parity(address, RANK);
    let group = parity(address, GROUP[0]) + 2 * parity(address, GROUP[1]);
    let bank = parity(address, BANK[0]) + 2 * parity(address, BANK[1]);
    Place {
        channel: parity(address, CHANNEL),
        rank,
        group,
        bank: (rank * GROUPS + group) * BANKS + bank,
        row: address >> ROW,
    }
}
