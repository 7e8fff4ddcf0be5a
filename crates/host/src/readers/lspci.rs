//! `lspci`: with `-vv` the links and packet sizes of functions, with `-xxx` or `-xxxx` their
//! registers, which say the same without words; with `-nn` or `-n` the numbers behind the names.
//!
//! The way to a function is found by the buses of the bridges (`Bus: primary=..`).

use super::{BadText, Reader, short};
use crate::acs;
use crate::express::{self, Gap};
use crate::parts::{self, PartialHost};
use crate::pci;
use narrows_model::host::{Acs, Device, Express, PciHop, PciLink};
use narrows_model::{Bytes, Fact};
use std::collections::BTreeMap;

const PROGRAM: &str = "lspci";

/// Bridges above one another, at most: there are 256 buses.
const DEPTH_MAX: usize = 256;
/// Class of what begins every listing of all functions.
const HOST_BRIDGE: u32 = 0x06_0000;
/// Bytes of a row of registers.
const ROW_BYTES: usize = 16;

/// Classes by the names of the PCI id list, for outputs without numbers.
const CLASSES: [(&str, u32); 13] = [
    ("3D controller", 0x03_0200),
    ("Co-processor", 0x0b_4000),
    ("Display controller", 0x03_8000),
    ("Ethernet controller", 0x02_0000),
    ("Fabric controller", 0x02_0800),
    ("Host bridge", HOST_BRIDGE),
    ("InfiniBand", 0x0c_0600),
    ("Infiniband controller", 0x02_0700),
    ("Network controller", 0x02_8000),
    ("Non-Volatile memory controller", 0x01_0800),
    ("PCI bridge", 0x06_0400),
    ("Processing accelerators", 0x12_0000),
    ("VGA compatible controller", 0x03_0000),
];

/// Functions, links and registers as pciutils print them.
pub static READER: Reader = Reader { name: PROGRAM, is, read };

fn is(text: &str) -> bool {
    let heads = text.lines().filter(|line| head(line).is_some()).count();
    heads > 0 || is_other(text).is_some()
}

/// Why an output of `lspci` tells nothing that is read.
fn is_other(text: &str) -> Option<&'static str> {
    let mut lines = text.lines();
    if lines.clone().take(4).any(|line| line.starts_with("Slot:")) {
        return Some("-mm has neither links nor buses, run lspci -vvv");
    }
    let tree = lines.any(|line| line.trim_start().starts_with("-[0000:"));
    tree.then_some("-t has no links, run lspci -vvv")
}

/// The address, the class and the name of a function: `3b:00.0 Ethernet controller: Mellanox ..`.
fn head(line: &str) -> Option<(String, &str, &str)> {
    let (address, rest) = line.split_once(' ')?;
    let address = match address.len() {
        7 => format!("0000:{address}"),
        _ => address.to_owned(),
    };
    let (class, name) = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")))?;
    pci::is_address(&address).then_some((address, class, name))
}

/// One function as it is listed.
#[derive(Default)]
struct Function<'a> {
    address: String,
    class: Option<u32>,
    name: String,
    ids: Option<(u16, u16)>,
    words: &'a str,
    lines: Vec<&'a str>,
    registers: Vec<u8>,
}

fn read(text: &str, from: &str) -> Result<PartialHost, BadText> {
    let functions = functions(text)?;
    if functions.is_empty() {
        let why = is_other(text).unwrap_or("no function in it");
        return Err(BadText::Nothing { program: PROGRAM, why });
    }
    whole(&functions)?;
    let tree = Tree::of(&functions, from);
    let mut part = PartialHost::of(PROGRAM, from);
    part.host.devices = functions.iter().filter_map(|one| tree.device(one, from)).collect();
    part.host.devices.sort_by(|a, b| a.address.cmp(&b.address));
    part.is_listing = functions.iter().any(|one| one.class == Some(HOST_BRIDGE));
    let marks = functions.iter().map(|one| (one.address.clone(), one.mark()));
    part.marks.functions = marks.collect();
    part.marks.processor_maker = processor_maker(&functions);
    let linked = functions.iter().any(|one| one.line("LnkSta:").is_some());
    let registers = functions.iter().any(|one| one.registers.len() > 64);
    if functions.iter().any(|one| one.text("access denied").is_some()) {
        part.unused("lspci was not run as root: links and packet sizes are hidden");
    } else if !linked && !registers {
        part.unused("lspci without -vv shows no links");
    }
    Ok(part)
}

/// Who made the processors: the one vendor of all host bridges and root ports. Virtual machines
/// show chipsets of old PCs whatever they run on.
fn processor_maker(functions: &[Function<'_>]) -> Option<&'static str> {
    const MAKERS: [(u16, &str, &str); 4] = [
        (0x8086, "Intel Corporation", "Intel"),
        (0x1022, "Advanced Micro Devices, Inc. [AMD]", "AMD"),
        (0x1002, "Advanced Micro Devices, Inc. [AMD/ATI]", "AMD"),
        (0x1def, "Ampere Computing", "Arm"),
    ];
    const EMULATED: [(u16, &str); 4] =
        [(0x1237, "440FX"), (0x29c0, "82G33"), (0x7190, "440BX"), (0x7192, "440BX")];
    let marks = functions.iter().filter(|one| one.is_of_root()).map(Function::mark);
    let marks: Vec<parts::Function> = marks.collect();
    if marks.iter().any(|mark| {
        let device = mark.ids.map(|(_, device)| device);
        EMULATED.iter().any(|(id, word)| device == Some(*id) || mark.words.contains(word))
    }) {
        return None;
    }
    let mut makers: Vec<&str> = marks
        .iter()
        .filter_map(|mark| {
            let is_of = |id: u16, words: &str| match mark.ids {
                Some((vendor, _)) => vendor == id,
                None => mark.words.starts_with(words),
            };
            MAKERS.iter().find(|(id, words, _)| is_of(*id, words)).map(|(.., maker)| *maker)
        })
        .collect();
    makers.dedup();
    match makers.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

fn functions(text: &str) -> Result<Vec<Function<'_>>, BadText> {
    let mut all: Vec<Function<'_>> = Vec::new();
    for line in text.lines().map(|line| line.trim_end()) {
        if let Some((address, class, name)) = head(line) {
            if all.iter().any(|one| one.address == address) {
                return Err(BadText::SeveralHosts { what: "functions of PCI at one address" });
            }
            all.push(listed(address, class, name));
        } else if let Some(one) = all.last_mut() {
            match row(line) {
                Some((at, bytes)) if at == one.registers.len() => one.registers.extend(bytes?),
                _ => one.lines.push(line),
            }
        }
    }
    Ok(all)
}

/// Class and name of a function, from numbers where there are any.
fn listed<'a>(address: String, class: &str, name: &'a str) -> Function<'a> {
    // `Ethernet controller [0200]: Mellanox .. [15b3:1017] (rev 01)`, with -n `0200: 15b3:1017`,
    // without a list of names `Class 0200: Device 15b3:1017`.
    let (words, code) = match class.rsplit_once(" [") {
        Some((words, code)) => (words, code.trim_end_matches(']')),
        None => (class, class.trim_start_matches("Class ")),
    };
    let code = Some(code).filter(|code| code.len() == 4);
    let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
    let named = CLASSES.iter().find(|(known, _)| *known == words).map(|(_, class)| *class);
    let name = name.split(" (rev ").next().unwrap_or_default();
    let name = name.split(" (prog-if").next().unwrap_or_default();
    let ids = numbers(name);
    Function {
        address,
        ids,
        // The last brackets of a name without numbers are a part of it.
        words: match ids {
            Some(_) => name.rsplit_once(" [").map_or("", |(words, _)| words),
            None => name,
        },
        class: code.map(|code| code << 8).or(named),
        name: ids.map_or_else(|| name.to_owned(), |(v, d)| pci::known_as(v, d)),
        ..Function::default()
    }
}

/// Vendor and device, where the last brackets of a name or all of it are those.
fn numbers(name: &str) -> Option<(u16, u16)> {
    let inside = name.rsplit_once('[').map_or(name, |(_, inside)| inside.trim_end_matches(']'));
    let inside = inside.trim_start_matches("Device ");
    let (vendor, device) = inside.trim().split_once(':')?;
    id(vendor).zip(id(device))
}

fn id(hex: &str) -> Option<u16> {
    u16::from_str_radix(hex, 16).ok().filter(|_| hex.len() == 4)
}

/// A row of registers: `10: 0c 00 ..`; one that is not whole is an error.
fn row(line: &str) -> Option<(usize, Result<Vec<u8>, BadText>)> {
    let (at, bytes) = line.split_once(": ")?;
    let at = usize::from_str_radix(at, 16).ok().filter(|_| (2..=3).contains(&at.len()))?;
    let bytes: Option<Vec<u8>> = bytes
        .split_whitespace()
        .map(|byte| u8::from_str_radix(byte, 16).ok().filter(|_| byte.len() == 2))
        .collect();
    Some((
        at,
        bytes.filter(|bytes| bytes.len() == ROW_BYTES).ok_or_else(|| BadText::CutShort {
            program: PROGRAM,
            missing: format!("registers in '{}'", short(line)),
        }),
    ))
}

/// An error for an output that ends early: inside a capability, or below a bridge with a link.
fn whole(functions: &[Function<'_>]) -> Result<(), BadText> {
    let cut = |missing: String| Err(BadText::CutShort { program: PROGRAM, missing });
    let Some(last) = functions.last() else { return Ok(()) };
    if last.line("LnkCap:").is_some() && last.line("LnkSta:").is_none() {
        return cut(format!("the link of {}", last.address));
    }
    let rows = last.registers.len();
    let before = functions.iter().map(|one| one.registers.len()).filter(|bytes| *bytes > 0).min();
    if before.is_some_and(|before| rows < before) {
        return cut(format!("registers of {}", last.address));
    }
    // One that was asked for single functions lacks the others.
    let is_listing = functions.iter().any(|one| one.class == Some(HOST_BRIDGE));
    for bridge in functions.iter().filter(|_| is_listing) {
        let Some((_, below)) = bridge.buses() else { continue };
        let prefix = format!("{}:{below:02x}:", bridge.domain());
        let is_there = functions.iter().any(|one| one.address.starts_with(&prefix));
        // Behind a link that is up there is a function; the output goes by address.
        if !is_there && bridge.text("DLActive+").is_some() && prefix > last.address {
            return cut(format!("what is behind the bridge {}", bridge.address));
        }
    }
    Ok(())
}

impl<'a> Function<'a> {
    fn domain(&self) -> &str {
        self.address.split(':').next().unwrap_or_default()
    }

    fn bus(&self) -> Option<u32> {
        u32::from_str_radix(self.address.split(':').nth(1)?, 16).ok()
    }

    /// What follows a word at the beginning of a line.
    fn line(&self, word: &str) -> Option<&'a str> {
        self.lines.iter().find_map(|line| line.trim_start().strip_prefix(word)).map(str::trim)
    }

    /// The line that holds a text.
    fn text(&self, text: &str) -> Option<&'a str> {
        self.lines.iter().copied().find(|line| line.contains(text))
    }

    /// Buses of a bridge: the one it is on, and the first below.
    fn buses(&self) -> Option<(u32, u32)> {
        let words = || {
            let line = self.line("Bus:")?;
            let of = |key: &str| {
                let (_, rest) = line.split_once(key)?;
                u32::from_str_radix(rest.get(..2)?, 16).ok()
            };
            of("primary=").zip(of("secondary="))
        };
        words().or_else(|| {
            let [is_bridge, secondary] = [0x0e, 0x19].map(|at| self.registers.get(at).copied());
            (is_bridge? & 0x7f == 1).then_some((self.bus()?, u32::from(secondary?)))
        })
    }

    /// Vendor and device as the registers have them.
    fn registered(&self) -> Option<(u16, u16)> {
        let id = |at: usize| {
            let bytes = self.registers.get(at..at + 2)?;
            Some(u16::from_le_bytes([bytes[0], bytes[1]]))
        };
        id(0).zip(id(2))
    }

    fn class(&self) -> Option<u32> {
        self.class.or_else(|| {
            let bytes = self.registers.get(0x09..0x0c)?;
            Some(bytes.iter().rev().fold(0, |class, byte| class << 8 | u32::from(*byte)))
        })
    }

    fn mark(&self) -> parts::Function {
        parts::Function {
            class: self.class().map(|class| class >> 8),
            ids: self.ids.or_else(|| self.registered()),
            words: self.words.to_owned(),
        }
    }

    /// Whether it is inside a processor: a host bridge, or a port that links hang on.
    fn is_of_root(&self) -> bool {
        self.class().is_some_and(|class| class >> 8 == HOST_BRIDGE >> 8)
            || self.text(") Root Port (Slot").is_some()
    }

    fn hop(&self, from: &str) -> PciHop {
        let class = self.class();
        PciHop {
            address: self.address.clone(),
            name: match self.registered() {
                Some((vendor, device)) => pci::known_as(vendor, device),
                None => self.name.clone(),
            },
            class: class.map_or(Fact::absent(from), |class| Fact::known(class, from)),
            link: self.link(from),
            rate_bytes_per_second: Fact::absent(from),
            express: self.express(from),
            acs: self.acs(from),
        }
    }

    /// Registers before words: words depend on the version of `lspci`.
    fn link(&self, from: &str) -> Fact<PciLink> {
        if self.registers.len() > 64 {
            return express::link(&self.registers)
                .map_or_else(|_| Fact::absent(from), |link| Fact::known(link, from));
        }
        if self.text("Capabilities: <access denied>").is_some() {
            return Fact::Denied { from: narrows_model::Source(from.to_owned()) };
        }
        let pair = |word: &str| {
            let line = self.line(word)?;
            Some((after(line, "Speed ")?, after(line, "Width x")?))
        };
        let link = pair("LnkSta:").zip(pair("LnkCap:")).map(|((speed_gts, width), most)| PciLink {
            speed_gts,
            width: width as u32,
            speed_max_gts: most.0,
            width_max: most.1 as u32,
        });
        match link.filter(|link| link.width > 0 && link.width_max > 0 && link.speed_gts > 0.0) {
            Some(link) => Fact::known(link, from),
            None => Fact::absent(from),
        }
    }

    fn express(&self, from: &str) -> Fact<Express> {
        let source = || narrows_model::Source(from.to_owned());
        if self.registers.len() > 64 {
            return match express::parse(&self.registers) {
                Ok(express) => Fact::known(express, from),
                Err(Gap::Absent) => Fact::absent(from),
                Err(Gap::Denied) => Fact::Denied { from: source() },
                Err(Gap::Malformed(text)) => Fact::malformed(from, text),
            };
        }
        if self.text("Capabilities: <access denied>").is_some() {
            return Fact::Denied { from: source() };
        }
        let payload = number_after(self.text("MaxReadReq"), "MaxPayload ");
        let request = number_after(self.text("MaxReadReq"), "MaxReadReq ");
        let most = number_after(self.line("DevCap:"), "MaxPayload ");
        let Some((payload, request)) = payload.zip(request) else { return Fact::absent(from) };
        let settings = Express {
            max_payload_bytes: Bytes(payload as u64),
            max_payload_supported_bytes: Bytes(most.unwrap_or(0.0) as u64),
            max_read_request_bytes: Bytes(request as u64),
            relaxed_ordering: self.text("RlxdOrd+").is_some(),
            link_sleeps: self.line("LnkCtl:").is_some_and(|line| {
                line.split(';').next().is_some_and(|aspm| aspm.contains("Enabled"))
            }),
        };
        Fact::known(settings, from)
    }

    /// Registers where they reach that far; of an output that names no capabilities nobody asked.
    fn acs(&self, from: &str) -> Fact<Acs> {
        match acs::parse(&self.registers) {
            Ok(acs) => return Fact::known(acs, from),
            Err(Gap::Malformed(text)) => return Fact::malformed(from, text),
            Err(Gap::Absent | Gap::Denied) => {}
        }
        let is_set = |word: &str| self.line("ACSCtl:").is_some_and(|line| line.contains(word));
        if self.line("ACSCtl:").is_some() {
            let acs = Acs {
                request_redirect: is_set("ReqRedir+"),
                completion_redirect: is_set("CmpltRedir+"),
                upstream_forwarding: is_set("UpstreamFwd+"),
                egress_control: is_set("EgressCtrl+"),
            };
            return Fact::known(acs, from);
        }
        if self.text("Capabilities: <access denied>").is_some() {
            return Fact::Denied { from: narrows_model::Source(from.to_owned()) };
        }
        let lists = self.text("Capabilities: [").is_some();
        if lists && self.text("Access Control Services").is_none() {
            return Fact::absent(from);
        }
        Fact::default()
    }
}

fn number_after(line: Option<&str>, word: &str) -> Option<f64> {
    line.and_then(|line| after(line, word))
}

/// The number behind a word.
fn after(line: &str, word: &str) -> Option<f64> {
    let (_, rest) = line.split_once(word)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// All functions with the bridge that each bus hangs on.
struct Tree {
    hops: BTreeMap<String, PciHop>,
    bridges: BTreeMap<(String, u32), String>,
}

impl Tree {
    fn of(functions: &[Function<'_>], from: &str) -> Self {
        let hops = functions.iter().map(|one| (one.address.clone(), one.hop(from))).collect();
        let below = functions.iter().filter_map(|one| {
            let (_, secondary) = one.buses().filter(|(_, secondary)| *secondary > 0)?;
            Some(((one.domain().to_owned(), secondary), one.address.clone()))
        });
        Self { hops, bridges: below.collect() }
    }

    /// The functions from the root complex down to an address.
    fn path(&self, address: &str) -> Vec<PciHop> {
        let mut hops: Vec<PciHop> = Vec::new();
        let mut next = Some(address.to_owned());
        while let Some(hop) = next.and_then(|address| self.hops.get(&address)) {
            if hops.len() >= DEPTH_MAX || hops.iter().any(|seen| seen.address == hop.address) {
                break;
            }
            hops.push(hop.clone());
            let mut parts = hop.address.split(':');
            let domain = parts.next().map(str::to_owned);
            let bus = parts.next().and_then(|bus| u32::from_str_radix(bus, 16).ok());
            next = domain.zip(bus).and_then(|key| self.bridges.get(&key).cloned());
        }
        hops.reverse();
        hops
    }

    fn device(&self, one: &Function<'_>, from: &str) -> Option<Device> {
        let path = self.path(&one.address);
        let kind = pci::kind(*path.last()?.class.value()?)?;
        let driver = one.line("Kernel driver in use:").map(str::to_owned);
        let node = one.line("NUMA node:").and_then(|node| node.parse().ok());
        Some(Device {
            kind,
            address: one.address.clone(),
            names: Vec::new(),
            driver: driver.map_or(Fact::absent(from), |driver| Fact::known(driver, from)),
            node: node.map_or(Fact::absent(from), |node| Fact::known(node, from)),
            is_virtual: path.last().is_some_and(|hop| hop.name.contains("Virtual Function")),
            path,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
00:00.0 Host bridge: Intel Corporation Sky Lake-E DMI3 Registers (rev 04)
\tSubsystem: Dell Device 0123

3a:00.0 PCI bridge: Intel Corporation Sky Lake-E PCI Express Root Port A (rev 04) (prog-if 00)
\tNUMA node: 0
\tBus: primary=3a, secondary=3b, subordinate=3b, sec-latency=0
\tCapabilities: [90] Express (v2) Root Port (Slot+), MSI 00
\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0
\t\tDevCtl:\tReport errors: Correctable- Non-Fatal+
\t\t\tRlxdOrd- ExtTag+ PhantFunc- AuxPwr- NoSnoop-
\t\t\tMaxPayload 256 bytes, MaxReadReq 128 bytes
\t\tLnkCap:\tPort #1, Speed 8GT/s, Width x16, ASPM L1, Exit Latency L0s <512ns
\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes Disabled- CommClk+
\t\tLnkSta:\tSpeed 8GT/s, Width x8, TrErr- Train- SlotClk+ DLActive+ BWMgmt+ ABWMgmt+

3b:00.0 Ethernet controller: Mellanox Technologies MT27800 Family [ConnectX-5]
\tNUMA node: 0
\tCapabilities: [60] Express (v2) Endpoint, MSI 00
\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0
\t\tDevCtl:\tCorrErr- NonFatalErr+ FatalErr+
\t\t\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-
\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16, ASPM not supported
\t\tLnkCtl:\tASPM L1 Enabled; RCB 64 bytes, Disabled- CommClk+
\t\tLnkSta:\tSpeed 8GT/s (ok), Width x8 (downgraded)
\t\t\tTrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-
\tKernel driver in use: mlx5_core

";

    fn device(text: &str) -> Device {
        let part = read(text, "lspci.txt").unwrap_or_else(|error| panic!("{error}: {text}"));
        part.host.devices.into_iter().next().expect("a device")
    }

    #[test]
    fn a_card_is_found_with_its_way_and_its_link() {
        assert!(is(TEXT));
        let card = device(TEXT);
        let way: Vec<&str> = card.path.iter().map(|hop| hop.address.as_str()).collect();
        assert_eq!(way, ["0000:3a:00.0", "0000:3b:00.0"]);
        assert_eq!(
            (card.node.value(), card.driver.value().map(String::as_str)),
            (Some(&0), Some("mlx5_core"))
        );
        let link = PciLink { speed_gts: 8.0, width: 8, speed_max_gts: 8.0, width_max: 16 };
        assert_eq!(card.path[1].link.value(), Some(&link));
        let set = card.path[1].express.value().expect("sizes");
        assert_eq!(
            (set.max_payload_bytes, set.max_payload_supported_bytes),
            (Bytes(256), Bytes(512))
        );
        assert_eq!((set.max_read_request_bytes, set.relaxed_ordering), (Bytes(512), true));
        assert!(set.link_sleeps && !card.path[0].express.value().expect("sizes").link_sleeps);
        assert_eq!(card.path[0].link.value().map(|link| link.width), Some(8));
    }

    #[test]
    fn numbers_say_what_names_say() {
        let named = TEXT
            .replace("Ethernet controller:", "Ethernet controller [0200]:")
            .replace("[ConnectX-5]", "[ConnectX-5] [15b3:1017] (rev 01)");
        let bare = TEXT.replace(
            "Ethernet controller: Mellanox Technologies MT27800 Family [ConnectX-5]",
            "0200: 15b3:1017 (rev 01)",
        );
        for text in [named, bare] {
            let card = device(&text);
            assert_eq!(card.path[1].name, pci::known_as(0x15b3, 0x1017));
        }
    }

    #[test]
    fn what_a_port_redirects_is_read_from_words() {
        let acs = |text: &str| device(text).path[0].acs.clone();
        let end = "\tCapabilities: [90] Express (v2) Root Port";
        let with = |words: &str| TEXT.replace(end, &format!("{words}{end}"));
        let capability = "\tCapabilities: [148 v1] Access Control Services\n\
            \t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl+\n";
        let set =
            "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir- UpstreamFwd+ EgressCtrl-\n";
        let want = Acs { request_redirect: true, upstream_forwarding: true, ..Acs::default() };
        assert_eq!(acs(&with(&format!("{capability}{set}"))).value(), Some(&want));
        assert!(acs(&with(capability)).is_unasked(), "what it can do is not what it does");
        assert!(matches!(acs(TEXT), Fact::Absent { .. }) && !acs(TEXT).is_unasked());
        let short = "3b:00.0 Ethernet controller: Mellanox Technologies MT27800\n";
        assert!(device(short).path[0].acs.is_unasked(), "nobody asked for capabilities");
    }

    #[test]
    fn hidden_capabilities_are_denied_and_said() {
        let text = "01:00.0 Ethernet controller: Intel Corporation 82599ES\n\
            \tCapabilities: <access denied>\n\tKernel driver in use: ixgbe\n";
        let part = read(text, "lspci").expect("listing");
        assert!(matches!(part.host.devices[0].path[0].link, Fact::Denied { .. }));
        assert!(part.host.unused[0].what.contains("not run as root"));
    }

    #[test]
    fn cut_short_is_named() {
        let cuts = [TEXT.find("LnkSta:\tSpeed 8GT/s (ok)"), TEXT.find("3b:00.0 Ethernet")];
        for cut in cuts {
            let error = read(&TEXT[..cut.expect("place")], "cut").expect_err("cut short");
            assert!(matches!(error, BadText::CutShort { .. }), "{error}");
        }
        let twice = format!("{TEXT}{TEXT}");
        assert!(matches!(read(&twice, "two"), Err(BadText::SeveralHosts { .. })));
        let other = read("Slot:\t00:00.0\nClass:\tHost bridge\n", "mm");
        assert!(matches!(other, Err(BadText::Nothing { .. })));
        let row = "00:00.0 Host bridge: X\n00: 86 80 00 20\n";
        assert!(matches!(read(row, "row"), Err(BadText::CutShort { .. })));
    }
}
