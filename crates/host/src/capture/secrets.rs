//! What a text may not tell, and what stands in its place: the same for the same, each time. What
//! looks like an address or a long hexadecimal number is masked wherever it stands; what is known
//! to be one is also found in writings that could be anything else.

use super::addresses::{Addresses, Pairs, spellings};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Hexadecimal words as long as this are names of something.
const WORD_DIGITS_MIN: usize = 12;
/// A word of this many digits is one even when no digit is a letter.
const UUID_DIGITS: usize = 32;
/// Groups of digits of a UUID.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];
/// Names shorter than this would be found in everything.
const NAME_CHARS_MIN: usize = 3;

/// What a text is, where that decides what a number in it may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any other text.
    Plain,
    /// Versions: four numbers with points between are one, and no address.
    Version,
    /// Masks of CPUs: words of eight digits are no addresses.
    Mask,
}

/// What was found so far.
#[derive(Default)]
pub struct Secrets {
    /// Hardware, IP and RDMA addresses.
    pub addresses: Addresses,
    words: BTreeMap<String, usize>,
    names: BTreeMap<String, String>,
    spelt: Vec<(String, String)>,
    bytes: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Secrets {
    /// A name that is to be masked wherever it stands as a word.
    pub fn name(&mut self, name: &str, stand_in: &str) {
        if name.chars().count() >= NAME_CHARS_MIN {
            self.names.entry(name.to_ascii_lowercase()).or_insert_with(|| stand_in.to_owned());
        }
    }

    /// A serial number, asset tag or the like, unless it is one of the words that makers write
    /// where they have none.
    pub fn serial(&mut self, serial: &str) {
        let serial = serial.trim();
        let mut chars = serial.chars();
        let first = chars.next();
        let is_one = serial.len() >= 6
            && serial.bytes().any(|byte| byte.is_ascii_digit())
            && !serial.contains(char::is_whitespace)
            && chars.any(|c| Some(c) != first)
            && !"0123456789".contains(serial);
        if is_one {
            let stand_in = self.word_for(serial);
            self.name(serial, &stand_in);
        }
    }

    /// The stand-in of a word that is masked as a whole.
    pub fn word_for(&mut self, word: &str) -> String {
        let next = self.words.len() + 1;
        let number = *self.words.entry(word.to_ascii_lowercase()).or_insert(next);
        format!("masked{number}")
    }

    /// From now on what was found is also searched for in every way of writing it.
    pub fn settle(&mut self) {
        let Pairs { long, short } = self.addresses.pairs();
        let mut spelt: Vec<(String, String)> = Vec::new();
        for (real, masked) in &long {
            spelt.extend(spellings(real).into_iter().zip(spellings(masked)));
        }
        for (real, masked) in short {
            spelt.extend(spellings(&real).into_iter().zip(spellings(&masked)));
        }
        // The longest first: an identifier before the address in it.
        spelt.sort_by_key(|(real, _)| std::cmp::Reverse(real.len()));
        self.spelt = spelt;
        self.bytes = long
            .into_iter()
            .flat_map(|(real, masked)| [(turned(&real), turned(&masked)), (real, masked)])
            .collect();
        self.bytes.sort_by_key(|(real, _)| std::cmp::Reverse(real.len()));
    }

    /// Bytes that are no text, with what is known replaced by as many others.
    pub fn hide_bytes(&self, bytes: &mut [u8]) {
        for (real, masked) in &self.bytes {
            for at in 0..bytes.len().saturating_sub(real.len() - 1) {
                if bytes[at..].starts_with(real) {
                    bytes[at..at + real.len()].copy_from_slice(masked);
                }
            }
        }
        for name in self.names.keys().filter(|name| name.len() >= 4) {
            for at in 0..bytes.len().saturating_sub(name.len() - 1) {
                if bytes[at..at + name.len()].eq_ignore_ascii_case(name.as_bytes()) {
                    bytes[at..at + name.len()].fill(b'*');
                }
            }
        }
    }

    /// The text without what it may not tell.
    pub fn hide(&mut self, text: &str, kind: Kind) -> String {
        let text = self.names(text);
        let text = runs(&text, |c| c == '-', |run| self.dashed(run));
        let text = runs(&text, |c| matches!(c, ':' | '.'), |run| self.address(run, kind));
        let text = runs(&text, |c| matches!(c, '-' | '_'), |run| self.word(run));
        self.known(&text, kind)
    }

    /// The same of a path, in which the names of settings and devices stay: `node1` is a node also
    /// on a host of this name.
    pub fn hide_path(&mut self, text: &str) -> String {
        let text = runs(text, |c| c == '-', |run| self.dashed(run));
        let text = runs(&text, |c| matches!(c, '-' | '_'), |run| self.word(run));
        self.known(&text, Kind::Version)
    }

    fn names(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, stand_in) in &self.names {
            text = replaced(&text, name, stand_in, |before, after| {
                !before.is_some_and(|c| c.is_ascii_alphanumeric())
                    && !after.is_some_and(|c| c.is_ascii_alphanumeric())
            });
        }
        text
    }

    fn known(&self, text: &str, kind: Kind) -> String {
        let mut text = text.to_owned();
        for (real, masked) in &self.spelt {
            // Eight digits and less are anybody's number, unless they stand alone.
            let is_short = real.bytes().filter(u8::is_ascii_alphanumeric).count() <= 8;
            if kind == Kind::Mask && is_hex(real, 8) {
                continue;
            }
            text = replaced(&text, real, masked, |before, after| {
                !is_short || !joins(before) && !joins(after)
            });
        }
        text
    }

    /// UUIDs and hardware addresses with dashes.
    fn dashed(&mut self, run: &str) -> String {
        let mut groups: Vec<String> = run.split('-').map(str::to_owned).collect();
        let mut at = 0;
        while at < groups.len() {
            let sizes = |n: usize, of: &dyn Fn(usize) -> usize| {
                let there = groups.get(at..at + n)?;
                there.iter().enumerate().all(|(index, group)| is_hex(group, of(index))).then_some(n)
            };
            if let Some(count) = sizes(5, &|index| UUID[index]) {
                let stand_in = self.word_for(&groups[at..at + count].join("-"));
                groups.splice(at..at + count, [stand_in]);
            } else if let Some(count) = sizes(8, &|_| 2).or_else(|| sizes(6, &|_| 2)) {
                let bytes: Vec<u8> = groups[at..at + count].iter().flat_map(|g| hex(g)).collect();
                let masked = self.addresses.bytes(&bytes).unwrap_or_default();
                let masked: Vec<String> = masked.iter().map(|b| format!("{b:02x}")).collect();
                groups.splice(at..at + count, masked);
                at += count - 1;
            }
            at += 1;
        }
        groups.join("-")
    }

    /// What is written with colons or points.
    fn address(&mut self, run: &str, kind: Kind) -> String {
        let mut groups: Vec<String> = run.split(':').map(str::to_owned).collect();
        let mut at = 0;
        while at < groups.len() {
            if let Some((count, masked)) = self.address_at(&groups[at..]) {
                groups.splice(at..at + count, [masked]);
            } else if let Some(masked) = self.pointed(&groups[at], kind) {
                groups[at] = masked;
            }
            at += 1;
        }
        groups.join(":")
    }

    /// The address that begins with the first of these groups, by how many it has.
    fn address_at(&mut self, groups: &[String]) -> Option<(usize, String)> {
        for (size, counts) in [(2, &[20, 16, 8, 6][..]), (4, &[8, 4])] {
            let alike = groups.iter().take_while(|group| is_hex(group, size)).count();
            let Some(count) = counts.iter().find(|count| **count <= alike) else { continue };
            let bytes: Vec<u8> = groups[..*count].iter().flat_map(|group| hex(group)).collect();
            let masked = self.addresses.bytes(&bytes)?;
            let shown: Vec<String> = masked
                .chunks(size / 2)
                .map(|part| part.iter().map(|b| format!("{b:02x}")).collect::<String>())
                .collect();
            return Some((*count, shown.join(":")));
        }
        let most = groups.iter().take(8).count();
        (3..=most).rev().find_map(|count| {
            let address: Ipv6Addr = groups[..count].join(":").parse().ok()?;
            let first = address.segments()[0];
            let is_one = matches!(first, 0x2000..=0x3fff | 0xfc00..=0xfeff)
                || address.to_ipv4_mapped().is_some();
            let mut shown = || Ipv6Addr::from(self.addresses.gid(address.octets())).to_string();
            is_one.then(|| (count, shown()))
        })
    }

    /// An IPv4 address, or a hardware address in three words.
    fn pointed(&mut self, group: &str, kind: Kind) -> Option<String> {
        let whole = group.trim_end_matches('.');
        let words: Vec<&str> = whole.split('.').collect();
        let has_letter = whole.bytes().any(|byte| byte.is_ascii_alphabetic());
        if words.len() == 3 && has_letter && words.iter().all(|word| is_hex(word, 4)) {
            let bytes: Vec<u8> = words.iter().flat_map(|word| hex(word)).collect();
            let masked = self.addresses.bytes(&bytes)?;
            let masked = masked.chunks(2).map(|two| format!("{:02x}{:02x}", two[0], two[1]));
            return Some(masked.collect::<Vec<_>>().join("."));
        }
        let address: Ipv4Addr = whole.parse().ok()?;
        if kind == Kind::Version && !self.addresses.knows_v4(address.octets()) {
            return None;
        }
        let masked = Ipv4Addr::from(self.addresses.v4(address.octets()));
        Some(format!("{masked}{}", &group[whole.len()..]))
    }

    /// Long hexadecimal words, also behind the prefix of an interface's name or of a number.
    fn word(&mut self, run: &str) -> String {
        let digits = run.bytes().filter(u8::is_ascii_hexdigit).count();
        let hexadecimal = run.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        let has_letter = run.bytes().any(|byte| byte.is_ascii_alphabetic());
        if hexadecimal && run.contains('-') && digits >= WORD_DIGITS_MIN && has_letter {
            return self.word_for(run);
        }
        let parts = run.split_inclusive(['-', '_']);
        parts
            .map(|part| {
                let word = part.trim_end_matches(['-', '_']);
                format!("{}{}", self.part(word), &part[word.len()..])
            })
            .collect()
    }

    fn part(&mut self, word: &str) -> String {
        // Interfaces named by their hardware address: `enx` and the like for other kinds of link.
        let prefixes = ["enx", "ibx", "slx", "wlx", "wwx"];
        let named = prefixes.into_iter().find(|prefix| word.starts_with(prefix));
        let prefix = named.or_else(|| word.starts_with("0x").then_some("0x")).unwrap_or_default();
        let tail = &word[prefix.len()..];
        let has_letter = tail.bytes().any(|byte| byte.is_ascii_alphabetic());
        // A number is as long as it is without zeros in front.
        let counted = if prefix == "0x" { tail.trim_start_matches('0') } else { tail };
        if !is_hex(tail, tail.len()) || counted.len() < WORD_DIGITS_MIN {
            return word.to_owned();
        }
        if named.is_some() && tail.len() == WORD_DIGITS_MIN {
            let masked = self.addresses.bytes(&hex(tail)).unwrap_or_default();
            let masked: String = masked.iter().map(|byte| format!("{byte:02x}")).collect();
            return format!("{prefix}{masked}");
        }
        match has_letter || tail.len() == UUID_DIGITS {
            // What is known as an address gets that address's stand-in.
            true if self.spelt.iter().any(|(real, _)| tail.eq_ignore_ascii_case(real)) => {
                word.to_owned()
            }
            true => self.word_for(tail),
            false => word.to_owned(),
        }
    }
}

fn turned(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().rev().copied().collect::<Vec<u8>>()
}

fn joins(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_hexdigit())
}

/// True for exactly so many hexadecimal digits.
fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && digits > 0 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The bytes of digits that [`is_hex`] has found to be such.
fn hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok());
    pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}

/// The text with each run of letters, digits and some others turned into something else.
fn runs(text: &str, more: impl Fn(char) -> bool, mut turn: impl FnMut(&str) -> String) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut run = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || more(c) {
            run.push(c);
            continue;
        }
        shown.push_str(&turn(&run));
        run.clear();
        shown.push(c);
    }
    shown + &turn(&run)
}

/// The text with every place of `real`, in letters of either case, replaced where the characters
/// before and behind it allow.
fn replaced(
    text: &str,
    real: &str,
    stand_in: &str,
    fits: impl Fn(Option<char>, Option<char>) -> bool,
) -> String {
    let lower = text.to_ascii_lowercase();
    if real.is_empty() || !lower.contains(real) {
        return text.to_owned();
    }
    let (mut shown, mut at) = (String::new(), 0);
    for (start, found) in lower.match_indices(real) {
        let end = start + found.len();
        if start >= at && fits(text[..start].chars().next_back(), text[end..].chars().next()) {
            shown.push_str(&text[at..start]);
            shown.push_str(stand_in);
            at = end;
        }
    }
    shown + &text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_machine_is_masked_and_numbers_stay() {
        let mut secrets = Secrets::default();
        let text = "enx001122334455 0fb03cd416ed70aa 9223372036854771712 00000000,0000ffff";
        let hidden = secrets.hide(text, Kind::Plain);
        assert_eq!(hidden, "enx026d736b0001 masked1 9223372036854771712 00000000,0000ffff");
        assert_eq!(secrets.hide("0fb03cd416ed70aa", Kind::Plain), "masked1");
        assert_eq!(secrets.hide("(00:11:22:33:44:55)", Kind::Plain), "(02:6d:73:6b:00:01)");
        for stays in [
            "0000:82:00.0",
            "mlx5_comp0@pci:0000:82:00.0",
            "12:30:45",
            "4.18.0-553.el8_10.x86_64",
            "0-3,8,10-11",
            "255.255.255.0 127.0.0.1 0.0.0.0 :: ::1",
            "0x15b3 0x000000000000ffff",
            "00000000,ffffffff,00000000",
            "ff:ff:ff:ff:ff:ff 00:00:00:00:00:00",
            "tx-udp_tnl-csum-segmentation",
        ] {
            assert_eq!(secrets.hide(stays, Kind::Plain), stays);
        }
    }

    #[test]
    fn addresses_are_masked_in_every_writing() {
        let mut secrets = Secrets::default();
        secrets.hide("04:3f:72:a1:b2:c3 10.11.12.13 2001:db8:5::77", Kind::Plain);
        secrets.settle();
        for text in [
            "04:3F:72:A1:B2:C3",
            "04-3f-72-a1-b2-c3",
            "043f72a1b2c3",
            "043f.72a1.b2c3",
            "xx043f72a1b2c3yy",
            "c3b2a1723f04",
            "fe80::63f:72ff:fea1:b2c3",
            "fe80:0000:0000:0000:063f:72ff:fea1:b2c3",
            "063f72fffea1b2c3",
            "c3b2a1feff723f06",
            "043f:7203:00a1:b2c3",
            "0000:0000:0000:0000:0000:ffff:0a0b:0c0d",
            "::ffff:10.11.12.13",
            "10.11.12.13:5201",
            "0d0c0b0a",
            "src=0a0b0c0d",
            "2001:db8:5::77/64",
            "2001:0db8:0005:0000:0000:0000:0000:0077",
            "a2a8d7b4-1f2e-4c3d-9a8b-1234567890ab",
            "12345678-1234-1234-1234-123456789012",
        ] {
            let hidden = secrets.hide(text, Kind::Plain).to_lowercase();
            for part in ["72a1", "a1:b2", "a1-b2", "b2c3", "0a0b", "0a0b", "0d0c", "10.11", "db8"] {
                assert!(!hidden.contains(part), "{text} became {hidden}");
            }
            assert!(!hidden.contains("1f2e") && !hidden.contains("1234-"), "{hidden}");
        }
        assert_eq!(secrets.hide("firmware 227.0.131.0", Kind::Version), "firmware 227.0.131.0");
    }

    #[test]
    fn each_writing_keeps_its_shape() {
        let mut secrets = Secrets::default();
        for (text, kind, hidden) in [
            ("00:11:22:33:44:55", Kind::Plain, "02:6d:73:6b:00:01"),
            ("00-11-22-33-44-55", Kind::Plain, "masked1"),
            ("0011.2233.44ab", Kind::Plain, "026d.736b.0002"),
            ("(ibx001122334455)", Kind::Plain, "(ibx026d736b0001)"),
            ("a2a8d7b4-1f2e-4c3d-9a8b-1234567890ab", Kind::Plain, "masked2"),
            ("x-A2A8D7B4-1F2E-4C3D-9A8B-1234567890AB-y", Kind::Plain, "x-masked2-y"),
            ("0x0123456789abcdef", Kind::Plain, "masked3"),
            ("0x00000123456789ab", Kind::Plain, "0x00000123456789ab"),
            ("fw_0123456789abcd_1", Kind::Plain, "fw_masked4_1"),
            ("12345678901234567890123456789012", Kind::Plain, "masked5"),
            ("1234567890123456789012345678901", Kind::Plain, "1234567890123456789012345678901"),
            ("1234abcd-5678ef", Kind::Plain, "masked6"),
            ("12345678-567890", Kind::Plain, "12345678-567890"),
        ] {
            assert_eq!(secrets.hide(text, kind), hidden, "{text}");
        }
        for (path, hidden) in [
            ("by-uuid/12345678-1234-1234-1234-123456789012", "by-uuid/masked7"),
            ("net/enx001122334455/mtu", "net/enx026d736b0001/mtu"),
            ("nvme-eui.0123456789abcdef-part1", "nvme-eui.masked3-part1"),
            ("devices/0000:00:1f.6/net", "devices/0000:00:1f.6/net"),
        ] {
            assert_eq!(secrets.hide_path(path), hidden);
        }
    }

    #[test]
    fn names_are_masked_as_words_and_serial_numbers_only_where_they_are_some() {
        let mut secrets = Secrets::default();
        secrets.name("Node1", "host1");
        secrets.name("n1", "short");
        let hidden = secrets.hide("node1 NODE1.lan node12 xnode1 node1-a n1", Kind::Plain);
        assert_eq!(hidden, "host1 host1.lan node12 xnode1 host1-a n1");
        assert_eq!(secrets.hide_path("node/node1/cpulist"), "node/node1/cpulist", "a setting");
        for none in ["To Be Filled 1", "Default", "11111111", "123456", "A1B2C", "Serial"] {
            secrets.serial(none);
            assert_eq!(secrets.hide(none, Kind::Version), none);
        }
        secrets.serial(" PF1ABC2D ");
        secrets.serial("J7K8L9");
        assert_eq!(
            secrets.hide("pf1abc2d J7K8L9 xPF1ABC2D", Kind::Plain),
            "masked1 masked2 xPF1ABC2D"
        );
        assert_eq!(
            (secrets.word_for("J7k8l9"), secrets.word_for("other")),
            ("masked2".into(), "masked3".into())
        );
    }

    #[test]
    fn bytes_that_are_no_text_keep_their_length() {
        let mut secrets = Secrets::default();
        secrets.hide("04:3f:72:a1:b2:c3", Kind::Plain);
        secrets.name("box", "host1");
        secrets.name("node1", "host2");
        secrets.settle();
        let mac = [0x04, 0x3f, 0x72, 0xa1, 0xb2, 0xc3];
        let stand_in = [0x02, 0x6d, 0x73, 0x6b, 0x00, 0x01];
        let mut turned = (mac, stand_in);
        turned.0.reverse();
        turned.1.reverse();
        let mut bytes = [&[9], &mac[..], &turned.0, b"NODE1 box", &mac].concat();
        secrets.hide_bytes(&mut bytes);
        assert_eq!(bytes, [&[9], &stand_in[..], &turned.1, b"***** box", &stand_in].concat());
        let mut short = [0x04, 0x3f];
        secrets.hide_bytes(&mut short);
        assert_eq!(short, [0x04, 0x3f]);
    }

    /// What is known stays hidden where it stands alone, and eight digits within others do not.
    #[test]
    fn what_is_known_is_found_within_words_if_it_is_long() {
        let mut secrets = Secrets::default();
        secrets.hide("04:3f:72:a1:b2:c3 10.11.12.13", Kind::Plain);
        secrets.settle();
        assert_eq!(secrets.hide("q043F72A1B2C3q", Kind::Plain), "q026d736b0001q");
        let four = secrets.hide("10.11.12.13", Kind::Plain);
        let octets: Vec<String> = four
            .split('.')
            .map(|octet| format!("{:02x}", octet.parse::<u8>().expect("an octet")))
            .collect();
        assert_ne!(four, "10.11.12.13");
        assert_eq!(secrets.hide("g0a0b0c0dg", Kind::Plain), format!("g{}g", octets.concat()));
        assert_eq!(secrets.hide("00a0b0c0d", Kind::Plain), "00a0b0c0d");
        assert_eq!(secrets.hide("0a0b0c0d,1", Kind::Mask), "0a0b0c0d,1", "a mask of CPUs");
        assert_eq!(secrets.hide("10.11.12.13", Kind::Version), four, "known also in a version");
        assert_eq!(secrets.hide("10.11.12.14", Kind::Version), "10.11.12.14");
    }
}
