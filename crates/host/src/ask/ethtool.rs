//! What drivers tell of an interface through `SIOCETHTOOL` (linux/ethtool.h): firmware, duplex,
//! rings, coalescing, pause, error correction, offloads. The ioctl is asked rather than its netlink
//! successor because kernels of ten years ago answer it, and ordinary users may ask.

use narrows_model::Fact;
use std::fmt::Write;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const GDRVINFO: u32 = 0x03;
const GCOALESCE: u32 = 0x0e;
const GRINGPARAM: u32 = 0x10;
const GPAUSEPARAM: u32 = 0x12;
const GSTRINGS: u32 = 0x1b;
const GSTATS: u32 = 0x1d;
const GSSET_INFO: u32 = 0x37;
const GFEATURES: u32 = 0x3a;
const GFECPARAM: u32 = 0x50;
/// The set of strings that names what the driver counts.
const SET_STATS: u32 = 1;
/// The set of strings that names the offloads.
const SET_FEATURES: u32 = 4;
/// More than any driver counts: those with hundreds of queues have some ten thousand.
const COUNTERS_MAX: usize = 1 << 17;
/// Length of one name.
const NAME_BYTES: usize = 32;
/// Features are told in blocks of 32; kernels have two or three.
const BLOCKS_MAX: usize = 16;
/// Words of every buffer that the kernel writes to: more than any answer asked for here has.
const BUFFER_WORDS: usize = 16 << 10;
/// Names of the bits of error correction, from bit 0.
const FEC: [&str; 6] = ["none", "auto", "off", "rs", "baser", "llrs"];

/// Everything that the interface's driver answers, as lines.
pub fn ask(name: &str) -> Fact<String> {
    let from = format!("ethtool {name}");
    let Ok(card) = Card::of(name) else { return Fact::absent(from) };
    let mut out = String::new();
    // A write to a String does not fail.
    let _ = driver(&card, &mut out);
    let _ = parameters(&card, &mut out);
    let _ = features(&card, &mut out);
    if out.is_empty() { Fact::absent(from) } else { Fact::known(out, from) }
}

/// One interface and the socket that it is asked through.
struct Card {
    socket: UnixDatagram,
    request: libc::ifreq,
}

impl Card {
    fn of(name: &str) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        let mut request = libc::ifreq {
            ifr_name: [0; libc::IFNAMSIZ],
            ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: std::ptr::null_mut() },
        };
        if name.len() >= libc::IFNAMSIZ {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        Ok(Self { socket, request })
    }

    /// Sends a command with its arguments; the answer overwrites the buffer.
    fn ask(&self, command: &[u32]) -> io::Result<Vec<u32>> {
        self.ask_for(command, 0)
    }

    /// The same for an answer of more words than the buffer's 64 KiB would hold.
    fn ask_for(&self, command: &[u32], more_words: usize) -> io::Result<Vec<u32>> {
        let mut buffer = vec![0u32; BUFFER_WORDS + more_words];
        buffer[..command.len()].copy_from_slice(command);
        let mut request = self.request;
        request.ifr_ifru.ifru_data = buffer.as_mut_ptr().cast();
        // SAFETY: the request names an interface in a zero-terminated array and points to a buffer
        // of at least 64 KiB that outlives the call. The commands of this file are answered with
        // structures of less than 1 KiB, or with tables whose length is bounded by a count in the
        // command (features), or was asked for a moment before: names of offloads are checked
        // against the buffer, and names and values of what is counted have twice their room, 64 KiB
        // more, and a driver that adds queues in between.
        let done = unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL as _, &mut request) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(buffer) }
    }
}

/// What the interface's driver counts, by the driver's own names, of those that are to be kept; an
/// error where it counts nothing.
pub fn counters(name: &str, keep: impl Fn(&str) -> bool) -> io::Result<Vec<(String, u64)>> {
    let card = Card::of(name)?;
    let counts = card.ask(&[GSSET_INFO, 0, 1 << SET_STATS, 0])?;
    let count = counts[4] as usize;
    if count == 0 || count > COUNTERS_MAX {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let names = card.ask_for(&[GSTRINGS, SET_STATS, count as u32], 2 * count * NAME_BYTES / 4)?;
    let named = (0..count).map(|index| (index, name_at(&names, 3, index)));
    let kept: Vec<(usize, String)> = named.filter(|(_, name)| keep(name)).collect();
    if kept.is_empty() {
        return Ok(Vec::new());
    }
    let values = card.ask_for(&[GSTATS, count as u32], 2 * count * 2)?;
    Ok(kept.into_iter().map(|(index, name)| (name, value_at(&values, index))).collect())
}

/// Number `index` of a table of 64 bits each behind a command and a count.
fn value_at(buffer: &[u32], index: usize) -> u64 {
    let word = |at: usize| buffer.get(2 + 2 * index + at).copied().unwrap_or(0).to_ne_bytes();
    let (first, second) = (word(0), word(1));
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first);
    bytes[4..].copy_from_slice(&second);
    u64::from_ne_bytes(bytes)
}

fn driver(card: &Card, out: &mut String) -> io::Result<()> {
    let info = card.ask(&[GDRVINFO])?;
    for (key, index) in [("driver", 0), ("firmware", 2)] {
        let text = name_at(&info, 1, index);
        // Drivers without firmware leave it empty or write one of these.
        if !matches!(text.as_str(), "" | "N/A" | "n/a") {
            let _ = writeln!(out, "{key} {text}");
        }
    }
    Ok(())
}

/// Name `index` of a table that begins at this word.
fn name_at(buffer: &[u32], first_word: usize, index: usize) -> String {
    let words = NAME_BYTES / 4;
    let at = first_word + index * words;
    let bytes = buffer.iter().skip(at).take(words).flat_map(|word| word.to_ne_bytes());
    let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

fn parameters(card: &Card, out: &mut String) -> io::Result<()> {
    let mut row = |key: &str, command: u32, fields: &[usize]| {
        if let Ok(answer) = card.ask(&[command]) {
            let fields: Vec<String> = fields.iter().map(|at| answer[*at].to_string()).collect();
            let _ = writeln!(out, "{key} {}", fields.join(" "));
        }
    };
    row("rings", GRINGPARAM, &[5, 1, 8, 4]);
    row("coalescing", GCOALESCE, &[1, 2, 5, 6, 10, 11]);
    row("pause", GPAUSEPARAM, &[1, 2, 3]);
    if let Ok(answer) = card.ask(&[GFECPARAM]) {
        let on = FEC.iter().enumerate().filter(|(bit, _)| answer[1] >> bit & 1 == 1);
        let on: Vec<&str> = on.map(|(_, name)| *name).collect();
        if !on.is_empty() {
            let _ = writeln!(out, "fec {}", on.join("+"));
        }
    }
    Ok(())
}

fn features(card: &Card, out: &mut String) -> io::Result<()> {
    let counts = card.ask(&[GSSET_INFO, 0, 1 << SET_FEATURES, 0])?;
    let count = counts[4] as usize;
    if count == 0 || 3 + count * NAME_BYTES / 4 > BUFFER_WORDS {
        return Ok(());
    }
    let names = card.ask(&[GSTRINGS, SET_FEATURES, count as u32])?;
    let states = card.ask(&[GFEATURES, BLOCKS_MAX as u32])?;
    for index in 0..count.min(32 * BLOCKS_MAX) {
        // A block: available, requested, active, never changed.
        let at = 2 + index / 32 * 4;
        let block = [0, 1, 2, 3].map(|word| states[at + word] >> (index % 32) & 1 == 1);
        let name = name_at(&names, 3, index);
        if !name.is_empty() {
            let _ = writeln!(out, "feature {name} {}", feature(block));
        }
    }
    Ok(())
}

/// A feature's words: `fixed` is what `ethtool -k` calls so, and not what is off because another
/// feature that it needs is (`off [requested on]`).
fn feature([available, _, active, never]: [bool; 4]) -> &'static str {
    match (active, !available || never) {
        (true, true) => "on fixed",
        (true, false) => "on",
        (false, true) => "off fixed",
        (false, false) => "off",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_zero_and_stay_inside_the_buffer() {
        let mut buffer = vec![0u32; 4 + 8];
        buffer[4] = u32::from_ne_bytes(*b"tx-g");
        buffer[5] = u32::from_ne_bytes(*b"so\0x");
        assert_eq!(name_at(&buffer, 4, 0), "tx-gso");
        assert_eq!(name_at(&buffer, 4, 9), "");
    }

    #[test]
    fn what_waits_for_another_feature_is_not_fixed() {
        assert_eq!(feature([true, true, false, false]), "off");
        assert_eq!(feature([true, false, false, false]), "off");
        assert_eq!(feature([false, false, false, false]), "off fixed");
        assert_eq!(feature([true, true, true, true]), "on fixed");
        assert_eq!(feature([true, true, true, false]), "on");
    }

    #[test]
    fn values_are_read_by_index_and_stay_inside_the_buffer() {
        let mut buffer = vec![0u32; 6];
        let bytes = 0x0102_0304_0506_0708u64.to_ne_bytes();
        buffer[4] = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        buffer[5] = u32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        assert_eq!((value_at(&buffer, 1), value_at(&buffer, 9)), (0x0102_0304_0506_0708, 0));
        assert!(counters("none-such-if0", |_| true).is_err());
    }

    #[test]
    fn the_loopback_device_answers_and_a_name_that_is_none_does_not() {
        assert!(matches!(ask("none-such-if0"), Fact::Absent { .. }));
        assert!(matches!(ask("a-name-longer-than-any"), Fact::Absent { .. }));
        // Not every kernel in a sandbox lets a driver answer; where one does, it names its
        // offloads.
        if let Fact::Known { value, .. } = ask("lo") {
            assert!(value.lines().any(|line| line.starts_with("feature ")), "{value}");
        }
    }
}
