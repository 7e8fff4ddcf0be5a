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
    let ask = |command: &[u32]| card.ask(command);
    let _ = driver(ask, &mut out);
    let _ = parameters(ask, &mut out);
    let _ = features(ask, &mut out);
    if out.is_empty() { Fact::absent(from) } else { Fact::known(out, from) }
}

/// What a card answers to a command, as words that begin with the command.
trait Asks: Fn(&[u32]) -> io::Result<Vec<u32>> + Copy {}

impl<T: Fn(&[u32]) -> io::Result<Vec<u32>> + Copy> Asks for T {}

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

/// The name of the interface's driver: `mlx5_core`; an error where it tells none.
pub fn driver_name(name: &str) -> io::Result<String> {
    let info = Card::of(name)?.ask(&[GDRVINFO])?;
    Ok(name_at(&info, 1, 0))
}

/// What the interface's driver counts, by the driver's own names, of those that are to be kept; an
/// error where it counts nothing.
pub fn counters(name: &str, keep: impl Fn(&str) -> bool) -> io::Result<Vec<(String, u64)>> {
    let card = Card::of(name)?;
    counted(|command, more_words| card.ask_for(command, more_words), keep)
}

/// The same by what a card answers to a command, in a buffer with so many words more.
fn counted(
    ask: impl Fn(&[u32], usize) -> io::Result<Vec<u32>>,
    keep: impl Fn(&str) -> bool,
) -> io::Result<Vec<(String, u64)>> {
    let counts = ask(&[GSSET_INFO, 0, 1 << SET_STATS, 0], 0)?;
    let count = counts[4] as usize;
    if count == 0 || count > COUNTERS_MAX {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let names = ask(&[GSTRINGS, SET_STATS, count as u32], 2 * count * NAME_BYTES / 4)?;
    let named = (0..count).map(|index| (index, name_at(&names, 3, index)));
    let kept: Vec<(usize, String)> = named.filter(|(_, name)| keep(name)).collect();
    if kept.is_empty() {
        return Ok(Vec::new());
    }
    let values = ask(&[GSTATS, count as u32], 2 * count * 2)?;
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

fn driver(ask: impl Asks, out: &mut String) -> io::Result<()> {
    let info = ask(&[GDRVINFO])?;
    for (key, index) in [("driver", 0), ("driver-version", 1), ("firmware", 2)] {
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

fn parameters(ask: impl Asks, out: &mut String) -> io::Result<()> {
    let mut row = |key: &str, command: u32, fields: &[usize]| {
        if let Ok(answer) = ask(&[command]) {
            let fields: Vec<String> = fields.iter().map(|at| answer[*at].to_string()).collect();
            let _ = writeln!(out, "{key} {}", fields.join(" "));
        }
    };
    row("rings", GRINGPARAM, &[5, 1, 8, 4]);
    row("coalescing", GCOALESCE, &[1, 2, 5, 6, 10, 11]);
    row("pause", GPAUSEPARAM, &[1, 2, 3]);
    if let Ok(answer) = ask(&[GFECPARAM]) {
        let on = FEC.iter().enumerate().filter(|(bit, _)| answer[1] >> bit & 1 == 1);
        let on: Vec<&str> = on.map(|(_, name)| *name).collect();
        if !on.is_empty() {
            let _ = writeln!(out, "fec {}", on.join("+"));
        }
    }
    Ok(())
}

fn features(ask: impl Asks, out: &mut String) -> io::Result<()> {
    let counts = ask(&[GSSET_INFO, 0, 1 << SET_FEATURES, 0])?;
    let count = counts[4] as usize;
    if count == 0 || 3 + count * NAME_BYTES / 4 > BUFFER_WORDS {
        return Ok(());
    }
    let names = ask(&[GSTRINGS, SET_FEATURES, count as u32])?;
    let states = ask(&[GFEATURES, BLOCKS_MAX as u32])?;
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
        assert!(driver_name("none-such-if0").is_err());
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

    /// Names of 32 bytes each behind so many words, as the kernel writes them.
    fn names(first_word: usize, names: &[&str]) -> Vec<u32> {
        let mut words = vec![0; first_word + 8 * names.len()];
        for (at, name) in names.iter().enumerate() {
            for (place, bytes) in name.as_bytes().chunks(4).enumerate() {
                let mut four = [0; 4];
                four[..bytes.len()].copy_from_slice(bytes);
                words[first_word + 8 * at + place] = u32::from_ne_bytes(four);
            }
        }
        words
    }

    /// A card of 34 features, of which the first four and the last have names, by the numbers of
    /// linux/ethtool.h.
    fn card(command: &[u32]) -> io::Result<Vec<u32>> {
        let mut answer = vec![0; BUFFER_WORDS];
        match command {
            // The driver's name, version, firmware and bus.
            [0x03] => answer = names(1, &["mlx5_core", "6.1.0", "16.35.2000", "0000:3b:00.0"]),
            // The most of rx, mini, jumbo and tx, and then these as they are.
            [0x10] => answer[..9].copy_from_slice(&[0x10, 8192, 0, 0, 4096, 1024, 0, 0, 512]),
            // rx us and frames, the same in interrupts, tx us and frames, these, block, adaptive.
            [0x0e] => {
                (0..12).for_each(|at| answer[at] = [0x0e, 8, 128, 0, 0, 16, 32, 0, 0, 0, 1, 0][at])
            }
            [0x12] => answer[..4].copy_from_slice(&[0x12, 1, 0, 1]),
            [0x50] => answer[1] = 0b11_1010,
            // The set of features is the fourth, of counts the first.
            [0x37, 0, 0b1_0000, 0] => answer[4] = 34,
            [0x1b, 4, 34] => {
                let mut all = vec![""; 34];
                (all[0], all[1], all[2], all[3]) = ("tx-sg", "tx-gso", "rx-gro", "loopback");
                all[33] = "rx-last";
                answer = names(3, &all);
            }
            // Two blocks: available, requested, active, never changed.
            [0x3a, 16] => {
                answer[2..10].copy_from_slice(&[0b0011, 0b0001, 0b0101, 0b1000, 2, 2, 2, 0])
            }
            _ => return Err(io::ErrorKind::Unsupported.into()),
        }
        Ok(answer)
    }

    #[test]
    fn a_cards_answers_are_lines() {
        let lines = |of: &dyn Fn(&mut String) -> io::Result<()>| {
            let mut out = String::new();
            of(&mut out).expect("an answer");
            out
        };
        assert_eq!(
            lines(&|out| driver(card, out)),
            "driver mlx5_core\ndriver-version 6.1.0\nfirmware 16.35.2000\n"
        );
        let told = lines(&|out| parameters(card, out));
        let wanted = "rings 1024 8192 512 4096\ncoalescing 8 128 16 32 1 0\npause 1 0 1\n\
                      fec auto+rs+baser+llrs\n";
        assert_eq!(told, wanted);
        let told = lines(&|out| features(card, out));
        let wanted = "feature tx-sg on\nfeature tx-gso off\nfeature rx-gro on fixed\n\
                      feature loopback off fixed\nfeature rx-last on\n";
        assert_eq!(told, wanted);
        // One that says nothing, and one without firmware.
        let mute = |_: &[u32]| Err(io::Error::from(io::ErrorKind::Unsupported));
        assert_eq!(lines(&|out| parameters(mute, out)), "");
        assert!(driver(mute, &mut String::new()).is_err());
        let plain = |_: &[u32]| Ok(names(1, &["virtio_net", "1.0.0", "N/A"]));
        assert_eq!(lines(&|out| driver(plain, out)), "driver virtio_net\ndriver-version 1.0.0\n");
    }

    /// Features as many as the buffer has room for names are read, and not one more.
    #[test]
    fn features_beyond_the_buffer_are_not_read() {
        for (count, is_read) in [(2047, true), (2048, false), (0, false)] {
            let ask = |command: &[u32]| {
                let mut answer = vec![0; BUFFER_WORDS];
                match command {
                    [GSSET_INFO, ..] => answer[4] = count,
                    [GSTRINGS, ..] => answer[3] = u32::from_ne_bytes(*b"some"),
                    _ => {}
                }
                Ok(answer)
            };
            let mut out = String::new();
            features(ask, &mut out).expect("an answer");
            assert_eq!(out, if is_read { "feature some off fixed\n" } else { "" }, "{count}");
        }
    }

    #[test]
    fn what_a_driver_counts_is_told_by_its_names() {
        let of = |count: u32| {
            move |command: &[u32], more_words: usize| {
                let mut answer = vec![0; 64];
                match command {
                    [0x37, 0, 0b10, 0] => answer[4] = count,
                    [0x1b, 1, 3] if more_words >= 3 * 8 => {
                        answer = names(3, &["rx", "rx_drops", "tx"])
                    }
                    [0x1d, 3] if more_words >= 3 * 2 => {
                        for (at, value) in [7_u64, 1 << 33, 9].into_iter().enumerate() {
                            let bytes = value.to_ne_bytes();
                            for half in [0, 1] {
                                let word = bytes[4 * half..4 * half + 4].try_into().expect("four");
                                answer[2 + 2 * at + half] = u32::from_ne_bytes(word);
                            }
                        }
                    }
                    _ => return Err(io::ErrorKind::Unsupported.into()),
                }
                Ok(answer)
            }
        };
        let told = counted(of(3), |name| name.starts_with("rx")).expect("counts");
        assert_eq!(told, [("rx".to_owned(), 7), ("rx_drops".to_owned(), 1 << 33)]);
        assert_eq!(counted(of(3), |_| false).expect("none is kept"), []);
        assert!(counted(of(0), |_| true).is_err() && counted(of(131_073), |_| true).is_err());
    }
}
