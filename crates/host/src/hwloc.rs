//! A host from the XML of hwloc (`lstopo FILE.xml`), format versions 1 to 3. It tells processors,
//! caches, nodes and the tree of PCI devices with the rate of their links, but no modules, drivers
//! or settings.

use crate::{Root, cpu, list, pci, read};
use narrows_model::host::{Cache, CpuPlace, Device, Host, Nic, Node, PciHop, RdmaDevice, RdmaPort};
use narrows_model::{Bytes, BytesPerSecond, Fact};
use roxmltree::{Document, Node as Element, ParsingOptions};
use std::collections::BTreeMap;
use thiserror::Error;

/// More than any machine's objects are nested.
const DEPTH_MAX: usize = 64;

/// True for text that begins like a topology.
pub fn is_topology(text: &str) -> bool {
    let head: String = text.chars().take(2000).collect();
    text.trim_start().starts_with('<') && head.contains("<topology")
}

/// Why XML is no topology that could be read.
#[derive(Debug, Error)]
pub enum BadTopology {
    /// It is not well formed.
    #[error(transparent)]
    Xml(#[from] roxmltree::Error),
    /// Objects inside objects, deeper than any machine has them.
    #[error("objects nested deeper than {DEPTH_MAX}")]
    Deep,
    /// No thread of a processor is in it.
    #[error("a topology without processing units")]
    NoUnits,
}

/// Reads a topology; `from` names it as the source of every fact.
pub fn parse(text: &str, from: &str) -> Result<Host, BadTopology> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)?;
    if document.descendants().any(|element| element.ancestors().nth(DEPTH_MAX).is_some()) {
        return Err(BadTopology::Deep);
    }
    let topology = Topology { root: document.root_element(), from };
    let mut host = read(&Root::at("/nonexistent/narrows"));
    host.memory.slots = Fact::absent(format!("{from}: hwloc describes no modules"));
    topology.processors(&mut host);
    if host.cpu.places.is_empty() {
        return Err(BadTopology::NoUnits);
    }
    topology.devices(&mut host);
    topology.names(&mut host);
    Ok(host)
}

/// The root of the document, an XML element.
struct Topology<'a> {
    root: Element<'a, 'a>,
    from: &'a str,
}

impl<'a> Topology<'a> {
    fn objects(&self) -> impl Iterator<Item = Element<'a, 'a>> {
        self.root.descendants().filter(|element| element.has_tag_name("object"))
    }

    fn of_type(&self, kind: &'static str) -> impl Iterator<Item = Element<'a, 'a>> {
        self.objects().filter(move |object| object.attribute("type") == Some(kind))
    }

    fn known<T>(&self, value: T) -> Fact<T> {
        Fact::known(value, self.from)
    }

    /// An `info` of the machine, a package, or the whole document.
    fn info(&self, name: &str) -> Option<&'a str> {
        let infos = self.root.descendants().filter(|element| element.has_tag_name("info"));
        infos.filter(|info| info.attribute("name") == Some(name)).find_map(|i| i.attribute("value"))
    }

    fn processors(&self, host: &mut Host) {
        host.nodes = self.of_type("NUMANode").filter_map(|node| self.node(node)).collect();
        host.nodes.sort_by_key(|node| node.id);
        let distances = self.distances(host.nodes.len());
        for (index, node) in host.nodes.iter_mut().enumerate() {
            let row = distances.as_ref().and_then(|rows| rows.get(index));
            node.distances = row.map_or(Fact::absent(self.from), |row| self.known(row.clone()));
        }
        host.cpu.places = self.of_type("PU").filter_map(|pu| place(pu, &host.nodes)).collect();
        let leads: BTreeMap<u32, u32> = self.of_type("PU").filter_map(lead).collect();
        cpu::number_cores(&mut host.cpu.places, |cpu| leads.get(&cpu).copied());
        host.cpu.places.sort_by_key(|place| place.cpu);
        host.cpu.places.dedup_by_key(|place| place.cpu);
        let online = host.cpu.places.iter().map(|place| place.cpu).collect();
        host.cpu.online = self.known(online);
        host.cpu.caches = self.objects().filter_map(cache).collect();
        host.cpu
            .caches
            .sort_by(|a, b| (a.level, &a.kind, &a.cpus).cmp(&(b.level, &b.kind, &b.cpus)));
        let sizes: Vec<u64> =
            host.nodes.iter().filter_map(|node| Some(node.memory_bytes.value()?.0)).collect();
        if !sizes.is_empty() && sizes.len() == host.nodes.len() {
            let sum = sizes.into_iter().fold(0, u64::saturating_add);
            host.memory.total_bytes = self.known(Bytes(sum));
        }
    }

    fn node(&self, node: Element<'a, 'a>) -> Option<Node> {
        let memory = number(node, "local_memory").map(Bytes);
        Some(Node {
            id: u32::try_from(number(node, "os_index")?).ok()?,
            cpus: mask(node.attribute("cpuset").unwrap_or_default()),
            memory_bytes: memory.map_or(Fact::absent(self.from), |bytes| self.known(bytes)),
            ..Node::default()
        })
    }

    /// Rows of the matrix between the nodes; version 1 lists single values, later ones a row.
    fn distances(&self, nodes: usize) -> Option<Vec<Vec<u32>>> {
        let is_one = |element: &Element<'_, '_>| {
            element.attribute("nbobjs").and_then(|count| count.parse().ok()) == Some(nodes)
        };
        let values: Vec<f64> = match self.root.descendants().find(|e| {
            e.has_tag_name("distances2") && e.attribute("type") == Some("NUMANode") && is_one(e)
        }) {
            Some(matrix) => matrix
                .children()
                .filter(|child| child.has_tag_name("u64values"))
                .flat_map(|child| child.text().unwrap_or_default().split_whitespace())
                .filter_map(|word| word.parse().ok())
                .collect(),
            None => {
                let mut found = self.root.descendants();
                let matrix = found.find(|e| e.has_tag_name("distances") && is_one(e))?;
                let base: f64 = matrix.attribute("latency_base")?.parse().ok()?;
                let values = matrix.children().filter_map(|child| child.attribute("value"));
                values.filter_map(|word| Some(word.parse::<f64>().ok()? * base)).collect()
            }
        };
        let whole = nodes > 0 && values.len() == nodes * nodes;
        whole.then(|| {
            values
                .chunks(nodes)
                .map(|row| row.iter().map(|value| value.round() as u32).collect())
                .collect()
        })
    }

    fn devices(&self, host: &mut Host) {
        for object in self.of_type("OSDev") {
            let Some(name) = object.attribute("name") else { continue };
            let path = self.path(object);
            let node = self.home(object);
            match self.osdev(object) {
                Some("network") if name != "lo" => host.nics.push(Nic {
                    name: name.to_owned(),
                    physical: !path.is_empty(),
                    node,
                    path,
                    ..Nic::default()
                }),
                Some("rdma") => host.rdma.push(RdmaDevice {
                    name: name.to_owned(),
                    node,
                    address: path.last().map(|hop| hop.address.clone()),
                    ports: self.ports(object),
                    ..RdmaDevice::default()
                }),
                _ => {}
            }
        }
        host.nics.sort_by(|a, b| a.name.cmp(&b.name));
        host.rdma.sort_by(|a, b| a.name.cmp(&b.name));
        host.devices = self.of_type("PCIDev").filter_map(|device| self.device(device)).collect();
        host.devices.sort_by(|a, b| a.address.cmp(&b.address));
    }

    /// What an operating system's device is: numbered before version 3, bits from there.
    fn osdev(&self, object: Element<'a, 'a>) -> Option<&'static str> {
        let kind = number(object, "osdev_type")?;
        let version = self.root.attribute("version").unwrap_or("1");
        let has_bits = version.split('.').next()?.parse::<u32>().ok()? >= 3;
        match (has_bits, kind) {
            (true, bits) if bits & 1 << 5 != 0 => Some("rdma"),
            (true, bits) if bits & 1 << 4 != 0 => Some("network"),
            (false, 2) => Some("network"),
            (false, 3) => Some("rdma"),
            _ => None,
        }
    }

    fn ports(&self, object: Element<'a, 'a>) -> Vec<RdmaPort> {
        let info = |name: String| {
            let mut infos = object.children().filter(|child| child.has_tag_name("info"));
            infos.find(|info| info.attribute("name") == Some(&name))?.attribute("value")
        };
        let ports = (1..=4).map_while(|number| {
            let state = match info(format!("Port{number}State"))? {
                "1" => "DOWN",
                "2" => "INIT",
                "3" => "ARMED",
                "4" => "ACTIVE",
                other => other,
            };
            Some(RdmaPort { number, state: self.known(state.to_owned()), ..RdmaPort::default() })
        });
        ports.collect()
    }

    fn device(&self, device: Element<'a, 'a>) -> Option<Device> {
        let path = self.path(device);
        let class = *path.last()?.class.value()?;
        let names = device.children().filter(|child| child.attribute("type") == Some("OSDev"));
        Some(Device {
            kind: pci::kind(class)?,
            address: path.last()?.address.clone(),
            names: names.filter_map(|child| child.attribute("name")).map(str::to_owned).collect(),
            driver: Fact::absent(self.from),
            node: self.home(device),
            is_virtual: false,
            path,
        })
    }

    /// The PCI functions above an object and, if it is one, itself.
    fn path(&self, object: Element<'a, 'a>) -> Vec<PciHop> {
        let mut hops: Vec<PciHop> =
            object.ancestors().filter_map(|element| self.hop(element)).collect();
        hops.reverse();
        hops
    }

    fn hop(&self, object: Element<'a, 'a>) -> Option<PciHop> {
        let address = object.attribute("pci_busid").filter(|text| pci::is_address(text))?;
        // `0200 [8086:10c9] [003c:003f] 01`: class and sub-class, vendor and device.
        let kind = object.attribute("pci_type").unwrap_or_default();
        let class = kind.get(..4).and_then(|hex| u32::from_str_radix(hex, 16).ok());
        let pair = kind.split(['[', ']']).nth(1).and_then(|pair| pair.split_once(':'));
        let name = pair.and_then(|(vendor, device)| Some(pci::known_as(id(vendor)?, id(device)?)));
        let rate = object.attribute("pci_link_speed").and_then(|rate| rate.parse::<f64>().ok());
        let rate = rate.filter(|rate| rate.is_finite() && *rate > 0.0);
        Some(PciHop {
            address: address.to_owned(),
            name: name.unwrap_or_else(|| "unknown".to_owned()),
            class: class.map_or(Fact::absent(self.from), |class| self.known(class << 8)),
            rate_bytes_per_second: rate
                .map_or(Fact::absent(self.from), |rate| self.known(BytesPerSecond(rate * 1e9))),
            ..PciHop::default()
        })
    }

    /// The one node that the nearest object above with a set of nodes has.
    fn home(&self, object: Element<'a, 'a>) -> Fact<u32> {
        let set = object.ancestors().skip(1).find_map(|above| above.attribute("nodeset"));
        match mask(set.unwrap_or_default()).as_slice() {
            [node] => self.known(*node),
            _ => Fact::absent(format!("{}: on no single node", self.from)),
        }
    }

    fn names(&self, host: &mut Host) {
        let fact = |text: Option<&str>| match text.map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => self.known(text.split_whitespace().collect::<Vec<_>>().join(" ")),
            None => Fact::absent(self.from),
        };
        host.name = fact(self.info("HostName"));
        host.kernel = fact(self.info("OSRelease"));
        host.cpu.model = fact(self.info("CPUModel"));
        let product = [self.info("DMISysVendor"), self.info("DMIProductName")];
        let product: Vec<&str> = product.into_iter().flatten().collect();
        host.product = fact(Some(&product.join(" ")));
    }
}

fn id(hex: &str) -> Option<u16> {
    u16::from_str_radix(hex, 16).ok()
}

/// A CPU, and the first of those of its core.
fn lead(pu: Element<'_, '_>) -> Option<(u32, u32)> {
    let core = pu.ancestors().skip(1).find(|above| above.attribute("type") == Some("Core"))?;
    let threads = core.descendants().filter(|below| below.attribute("type") == Some("PU"));
    Some((cpu_of(pu)?, threads.filter_map(cpu_of).min()?))
}

fn cpu_of(pu: Element<'_, '_>) -> Option<u32> {
    u32::try_from(number(pu, "os_index")?).ok()
}

fn place(pu: Element<'_, '_>, nodes: &[Node]) -> Option<CpuPlace> {
    let cpu = u32::try_from(number(pu, "os_index")?).ok()?;
    let above = |kinds: &[&str]| {
        let mut above = pu.ancestors().skip(1);
        let found = above.find(|a| kinds.iter().any(|kind| a.attribute("type") == Some(kind)))?;
        u32::try_from(number(found, "os_index")?).ok()
    };
    Some(CpuPlace {
        cpu,
        // Packages were called sockets before version 1.11.
        package: above(&["Package", "Socket"]),
        die: above(&["Die"]),
        core: above(&["Core"]),
        node: nodes.iter().find(|node| node.cpus.contains(&cpu)).map(|node| node.id),
    })
}

fn cache(object: Element<'_, '_>) -> Option<Cache> {
    let size = number(object, "cache_size").filter(|size| *size > 0)?;
    let kind = match number(object, "cache_type")? {
        1 => "Data",
        2 => "Instruction",
        _ => "Unified",
    };
    Some(Cache {
        level: u32::try_from(number(object, "depth")?).ok()?,
        kind: kind.to_owned(),
        size_bytes: Bytes(size),
        cpus: mask(object.attribute("cpuset")?),
    })
}

fn number(object: Element<'_, '_>, name: &str) -> Option<u64> {
    object.attribute(name)?.parse().ok()
}

/// A set such as `0xffffff00,,0x0`: words of 32 bits, the highest first, empty ones zero.
fn mask(text: &str) -> Vec<u32> {
    let words: Vec<String> = text
        .split(',')
        .map(|word| match word.trim().trim_start_matches("0x") {
            "" => "0".to_owned(),
            digits => digits.to_owned(),
        })
        .collect();
    list::parse_mask(&words.join(",")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd">
        <topology version="3.0"><object type="Machine" cpuset="0x3" nodeset="0x1">
        <info name="CPUModel" value="A   processor"/>
        <object type="Package" os_index="0" cpuset="0x3" nodeset="0x1">
        <object type="NUMANode" os_index="0" cpuset="0x3" nodeset="0x1" local_memory="1024"/>
        <object type="L3Cache" cpuset="0x3" nodeset="0x1" cache_size="4096" depth="3" cache_type="0">
        <object type="Core" os_index="0"><object type="PU" os_index="0"/></object>
        <object type="Core" os_index="1"><object type="PU" os_index="1"/></object></object>
        <object type="Bridge" bridge_type="0-1"><object type="Bridge" pci_busid="0000:00:01.0"
        pci_type="0604 [8086:3408] [0000:0000] 13" pci_link_speed="4.0">
        <object type="PCIDev" pci_busid="0000:04:00.0" pci_type="0200 [15b3:1013] [0000:0000] 0"
        pci_link_speed="4.0"><object type="OSDev" name="eth0" osdev_type="16"/>
        <object type="OSDev" name="mlx5_0" osdev_type="48"><info name="Port1State" value="4"/></object>
        </object></object></object></object></object></topology>"#;

    #[test]
    fn a_topology_becomes_a_host() {
        assert!(is_topology(SMALL));
        let host = parse(SMALL, "small.xml").expect("topology");
        assert_eq!(host.cpu.model.value().map(String::as_str), Some("A processor"));
        assert_eq!((host.cpu.places.len(), host.cpu.places[1].core), (2, Some(1)));
        assert_eq!(host.last_level_cache_bytes(), Bytes(4096));
        let nic = host.nic("eth0").expect("eth0");
        assert_eq!((nic.path.len(), nic.node.value()), (2, Some(&0)));
        assert_eq!(nic.path[1].rate_bytes_per_second.value(), Some(&BytesPerSecond(4e9)));
        assert_eq!(host.rdma[0].ports[0].state.value().map(String::as_str), Some("ACTIVE"));
        assert_eq!(host.devices[0].names, ["eth0", "mlx5_0"]);
    }

    #[test]
    fn a_topology_cut_anywhere_is_an_error_and_never_a_panic() {
        for cut in 0..SMALL.len() {
            assert!(parse(&SMALL[..cut], "cut").is_err(), "{cut}");
        }
        assert!(parse("<topology/>", "empty").is_err());
        let deep = "<object type='PU' os_index='1'>".repeat(2000);
        let deep = format!("<topology>{deep}{}</topology>", "</object>".repeat(2000));
        assert!(parse(&deep, "deep").is_err_and(|error| matches!(error, BadTopology::Deep)));
        assert_eq!(mask("0xffffff00,,0x0").len(), 24);
    }
}
