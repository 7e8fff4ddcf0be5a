//! `ethtool`: link (no option), driver (`-i`), features (`-k`), rings (`-g`), coalescing (`-c`),
//! pause frames (`-a`) and channels (`-l`) of an interface, one output or several in one text.
//!
//! `-i` does not name the interface: that is read from the file's name, as sosreport gives it, from
//! the output before it in the same text, or found by the PCI address.

use super::{BadText, Reader, short};
use crate::parts::{PartialHost, bare_path};
use crate::pci;
use narrows_model::host::{Coalescing, Nic, Pause, Queues, Rings};
use narrows_model::{BitsPerSecond, Fact};
use std::collections::BTreeMap;

const PROGRAM: &str = "ethtool";

/// Outputs of `ethtool` about one interface or several.
pub static READER: Reader = Reader { name: PROGRAM, is, read };

/// How each output begins, up to the name of the interface.
const HEADS: [(&str, Output); 7] = [
    ("Settings for ", Output::Link),
    ("Features for ", Output::Features),
    ("Offload parameters for ", Output::Features),
    ("Ring parameters for ", Output::Rings),
    ("Coalesce parameters for ", Output::Coalescing),
    ("Pause parameters for ", Output::Pause),
    ("Channel parameters for ", Output::Channels),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Link,
    Driver,
    Features,
    Rings,
    Coalescing,
    Pause,
    Channels,
}

/// Names that `ethtool` gives features, with the kernel's.
const FEATURES: [(&str, &str); 11] = [
    ("generic-receive-offload", "rx-gro"),
    ("generic-segmentation-offload", "tx-generic-segmentation"),
    ("large-receive-offload", "rx-lro"),
    ("ntuple-filters", "rx-ntuple-filter"),
    ("receive-hashing", "rx-hashing"),
    ("rx-checksumming", "rx-checksum"),
    ("rx-vlan-offload", "rx-vlan-hw-parse"),
    ("tx-vlan-offload", "tx-vlan-hw-insert"),
    ("udp-fragmentation-offload", "tx-udp-fragmentation"),
    // Older versions had blanks in names.
    ("generic receive offload", "rx-gro"),
    ("generic segmentation offload", "tx-generic-segmentation"),
];

/// Names that stand for several of the kernel's features, which follow indented.
const GROUPS: [&str; 3] = ["scatter-gather", "tcp-segmentation-offload", "tx-checksumming"];

fn is(text: &str) -> bool {
    let lines = text.lines().map(str::trim);
    let mut driver = 0;
    for line in lines {
        if head(line).is_some() {
            return true;
        }
        driver += u32::from(line.starts_with("driver: ") || line.starts_with("bus-info:"));
    }
    driver >= 2
}

fn head(line: &str) -> Option<(Output, &str)> {
    let line = line.trim_start();
    let found = HEADS.iter().find_map(|(head, output)| Some((*output, line.strip_prefix(head)?)));
    let (output, rest) = found?;
    Some((output, rest.trim_end().strip_suffix(':')?))
}

/// One output: what it is, of whom, and its lines of `name: value`.
struct Section<'a> {
    output: Output,
    name: Option<&'a str>,
    lines: Vec<(&'a str, &'a str)>,
}

fn sections<'a>(text: &'a str) -> Vec<Section<'a>> {
    let mut all: Vec<Section<'a>> = Vec::new();
    for line in text.lines() {
        let is_driver = line.trim_start().starts_with("driver: ");
        let driver = is_driver.then_some((Output::Driver, None));
        let begun = head(line).map(|(output, name)| (output, Some(name))).or(driver);
        if let Some((output, name)) = begun {
            all.push(Section { output, name, lines: Vec::new() });
        }
        if let (Some(section), Some((key, value))) = (all.last_mut(), line.split_once(':')) {
            section.lines.push((key.trim(), value.trim()));
        }
    }
    all
}

impl<'a> Section<'a> {
    fn value(&self, key: &str) -> Option<&'a str> {
        self.lines.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    /// The n-th value of a key that stands there several times.
    fn nth(&self, key: &str, n: usize) -> Option<u32> {
        let mut found = self.lines.iter().filter(|(name, _)| *name == key);
        found.nth(n)?.1.split_whitespace().next()?.parse().ok()
    }
}

fn read(text: &str, from: &str) -> Result<PartialHost, BadText> {
    let mut part = PartialHost::of(PROGRAM, from);
    let mut nics: BTreeMap<String, Nic> = BTreeMap::new();
    let mut last = named_by_file(from).map(str::to_owned);
    for section in sections(text) {
        last = section.name.map(str::to_owned).or(last);
        let address = section.value("bus-info").filter(|text| pci::is_address(text));
        // Without a name the address stands for it, until another source names the interface.
        let name = match (&last, section.output) {
            (Some(name), _) => name.clone(),
            (None, _) => address.unwrap_or_default().to_owned(),
        };
        if name.is_empty() {
            part.unused("ethtool -i of an interface that is not on PCI and not named");
            continue;
        }
        // The head alone: the driver does not answer this question.
        if section.lines.len() <= 1 {
            part.unused(format!("ethtool has no {:?} of {name}", section.output));
            continue;
        }
        let nic = nics.entry(name.clone()).or_insert(Nic { name, ..Nic::default() });
        of_section(nic, &section, from)?;
    }
    if nics.is_empty() {
        Err(BadText::Nothing { program: PROGRAM, why: "no output that is read" })
    } else {
        part.host.nics = nics.into_values().collect();
        Ok(part)
    }
}

/// The interface at the end of a file's name: `ethtool_-i_ens1f0`.
fn named_by_file(from: &str) -> Option<&str> {
    let file = from.rsplit('/').next()?;
    let (_, rest) = file.split_once("ethtool")?;
    let name = rest.rsplit('_').next()?.trim_end_matches(".txt");
    (!name.is_empty()
        && !name.starts_with('-')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '@')))
    .then_some(name)
}

fn of_section(nic: &mut Nic, section: &Section<'_>, from: &str) -> Result<(), BadText> {
    match section.output {
        Output::Link => of_link(nic, section, from)?,
        Output::Driver => of_driver(nic, section, from),
        Output::Features => {
            let features = features(section);
            nic.fixed_offloads = section.fixed();
            nic.offloads = Fact::known(features, from);
        }
        Output::Rings => {
            let [rx, tx] = ["RX", "TX"].map(|key| section.nth(key, 0).zip(section.nth(key, 1)));
            let ((rx_max, rx), (tx_max, tx)) =
                rx.zip(tx).ok_or_else(|| cut("the rings' current settings"))?;
            nic.rings = Fact::known(Rings { rx, rx_max, tx, tx_max }, from);
        }
        Output::Coalescing => nic.coalescing = Fact::known(coalescing(section)?, from),
        Output::Pause => {
            let [negotiated, rx, tx] = ["Autonegotiate", "RX", "TX"]
                .map(|key| section.value(key).map(|value| value == "on"));
            let all = negotiated.zip(rx).zip(tx);
            let ((negotiated, rx), tx) = all.ok_or_else(|| cut("the line TX"))?;
            nic.pause = Fact::known(Pause { negotiated, rx, tx }, from);
        }
        Output::Channels => {
            let [rx, tx] = ["RX", "TX"].map(|key| section.nth(key, 1).unwrap_or(0));
            let both = section.nth("Combined", 1).ok_or_else(|| cut("the line Combined"))?;
            let queues = Queues { rx: rx + both, tx: tx + both };
            nic.queues = Fact::known(queues, from);
        }
    }
    Ok(())
}

fn cut(missing: &str) -> BadText {
    BadText::CutShort { program: PROGRAM, missing: missing.to_owned() }
}

fn of_link(nic: &mut Nic, section: &Section<'_>, from: &str) -> Result<(), BadText> {
    if let Some(speed) = section.value("Speed") {
        let mbps = speed.strip_suffix("Mb/s").map(str::parse::<f64>);
        nic.speed_bps = match mbps {
            Some(Ok(mbps)) if (1.0..=1e7).contains(&mbps) => {
                Fact::known(BitsPerSecond(mbps * 1e6), from)
            }
            _ if speed.starts_with("Unknown") => Fact::absent(format!("{from}: {speed}")),
            _ => {
                let text = short(speed);
                return Err(BadText::Value { program: PROGRAM, what: "speed", text });
            }
        };
    }
    if let Some(duplex) = section.value("Duplex").filter(|word| ["Full", "Half"].contains(word)) {
        nic.duplex = Fact::known(duplex.to_lowercase(), from);
    }
    if let Some(up) = section.value("Link detected") {
        let state = if up.starts_with("yes") { "up" } else { "down" };
        nic.state = Fact::known(state.to_owned(), from);
    }
    Ok(())
}

fn of_driver(nic: &mut Nic, section: &Section<'_>, from: &str) {
    let [driver, version, firmware] = ["driver", "version", "firmware-version"]
        .map(|key| section.value(key).filter(|text| !text.is_empty()).map(str::to_owned));
    nic.driver = Fact::told(driver, from);
    nic.driver_version = Fact::told(version, from);
    nic.firmware = Fact::told(firmware, from);
    if let Some(address) = section.value("bus-info").filter(|text| pci::is_address(text)) {
        nic.path = bare_path(address);
        nic.physical = true;
    }
}

fn features(section: &Section<'_>) -> BTreeMap<String, bool> {
    let lines = section.lines.iter().filter(|(name, _)| !GROUPS.contains(name));
    let states = lines.filter_map(|(name, value)| {
        let known = FEATURES.iter().find(|(here, _)| here == name);
        let on = match value.split_whitespace().next()? {
            "on" => true,
            "off" => false,
            _ => return None,
        };
        Some((known.map_or(*name, |(_, kernel)| kernel).to_owned(), on))
    });
    states.collect()
}

impl Section<'_> {
    /// Features that cannot be changed, by the kernel's names.
    fn fixed(&self) -> std::collections::BTreeSet<String> {
        let fixed = self
            .lines
            .iter()
            .filter(|(name, value)| value.ends_with("[fixed]") && !GROUPS.contains(name));
        let names = fixed.map(|(name, _)| {
            let known = FEATURES.iter().find(|(here, _)| here == name);
            known.map_or(*name, |(_, kernel)| kernel).to_owned()
        });
        names.collect()
    }
}

/// Newer versions write `n/a` for what a driver does not have: that is 0, as the kernel answers.
fn coalescing(section: &Section<'_>) -> Result<Coalescing, BadText> {
    let number = |key: &str| match section.value(key) {
        Some("n/a") => Ok(0),
        Some(text) => text.parse().map_err(|_| BadText::Value {
            program: PROGRAM,
            what: "number",
            text: short(text),
        }),
        None => Err(cut(&format!("the line {key}"))),
    };
    // `Adaptive RX: off  TX: off`.
    let adaptive = section.value("Adaptive RX").ok_or_else(|| cut("the line Adaptive RX"))?;
    let mut words = adaptive.split_whitespace();
    let (rx, tx) = (words.next(), words.next_back());
    Ok(Coalescing {
        rx_us: number("rx-usecs")?,
        rx_frames: number("rx-frames")?,
        tx_us: number("tx-usecs")?,
        tx_frames: number("tx-frames")?,
        adaptive_rx: rx == Some("on"),
        adaptive_tx: tx == Some("on"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Settings for ens1f0:\n\tSupported ports: [ FIBRE ]\n\tSpeed: 100000Mb/s\n\
        \tDuplex: Full\n\tLink detected: yes\n\
        driver: mlx5_core\nversion: 5.0-0\nfirmware-version: 16.28 (MT_1)\n\
        expansion-rom-version: \nbus-info: 0000:3b:00.0\n\
        Features for ens1f0:\nrx-checksumming: on\ntx-checksumming: on\n\
        \ttx-checksum-ipv4: off [fixed]\ngeneric-receive-offload: off\n\
        Ring parameters for ens1f0:\nPre-set maximums:\nRX:\t\t8192\nRX Mini:\tn/a\nTX:\t\t8192\n\
        Current hardware settings:\nRX:\t\t1024\nRX Mini:\tn/a\nTX:\t\t512\n\
        Coalesce parameters for ens1f0:\nAdaptive RX: on  TX: off\nrx-usecs: 8\nrx-frames: 128\n\
        tx-usecs: 16\ntx-frames: n/a\n\
        Pause parameters for ens1f0:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\toff\n\
        Channel parameters for ens1f0:\nPre-set maximums:\nRX:\t0\nTX:\t0\nCombined:\t63\n\
        Current hardware settings:\nRX:\t0\nTX:\t0\nCombined:\t32\n";

    #[test]
    fn every_output_of_an_interface_is_read() {
        assert!(is(TEXT));
        let part = read(TEXT, "sent.txt").expect("outputs");
        let [nic] = &part.host.nics[..] else { panic!("{:?}", part.host.nics) };
        assert_eq!((nic.name.as_str(), nic.path[0].address.as_str()), ("ens1f0", "0000:3b:00.0"));
        assert_eq!(nic.speed_bps.value(), Some(&BitsPerSecond(1e11)));
        assert_eq!(nic.state.value().map(String::as_str), Some("up"));
        assert_eq!(nic.driver.value().map(String::as_str), Some("mlx5_core"));
        assert_eq!(nic.driver_version.value().map(String::as_str), Some("5.0-0"));
        let offloads = nic.offloads.value().expect("features");
        assert_eq!(offloads.get("rx-gro"), Some(&false));
        assert_eq!(offloads.get("rx-checksum"), Some(&true));
        assert!(nic.fixed_offloads.contains("tx-checksum-ipv4"));
        let rings = Rings { rx: 1024, rx_max: 8192, tx: 512, tx_max: 8192 };
        assert_eq!(nic.rings.value(), Some(&rings));
        let set = nic.coalescing.value().expect("coalescing");
        assert_eq!((set.rx_us, set.tx_us, set.adaptive_rx, set.adaptive_tx), (8, 16, true, false));
        assert_eq!(nic.pause.value(), Some(&Pause { negotiated: false, rx: true, tx: false }));
        assert_eq!(nic.queues.value(), Some(&Queues { rx: 32, tx: 32 }));
    }

    #[test]
    fn an_output_without_a_name_is_named_by_its_file_or_by_its_address() {
        let driver = "driver: ixgbe\nversion: 5\nbus-info: 0000:01:00.1\n";
        let name = |from: &str| read(driver, from).expect("driver").host.nics[0].name.clone();
        assert_eq!(name("sos/sos_commands/networking/ethtool_-i_em2"), "em2");
        assert_eq!(name("sos/ethtool_-i_eth0.100"), "eth0.100");
        assert_eq!(name("driver.txt"), "0000:01:00.1");
        assert_eq!(name("ethtool_-i"), "0000:01:00.1");
    }

    #[test]
    fn cut_short_is_named_and_nonsense_is_no_speed() {
        let cut = &TEXT[..TEXT.find("Current hardware").expect("rings")];
        assert!(matches!(read(cut, "cut"), Err(BadText::CutShort { .. })));
        let cut = &TEXT[..TEXT.find("tx-usecs").expect("coalescing")];
        assert!(matches!(read(cut, "cut"), Err(BadText::CutShort { .. })));
        let speed = read(&TEXT.replace("100000Mb/s", "100 Go/s"), "speed");
        assert!(matches!(speed, Err(BadText::Value { what: "speed", .. })));
        let down = read(&TEXT.replace("100000Mb/s", "Unknown!"), "down").expect("down");
        assert_eq!(down.host.nics[0].speed_bps.value(), None);
    }
}
