//! Joins parts into one host. A fact is taken from the source that is believed most; where another
//! says otherwise, that is kept as a disagreement.

use super::PartialHost;
use super::marks::{self, TwoHosts};
use super::named;
use crate::{Root, read};
use narrows_model::host::{
    CpuCounts, CpuPlace, Device, Disagreement, Host, Nic, Node, PciHop, PciLink, Said, Slot, Topic,
};
use narrows_model::{Bytes, Fact, Source, cpu_list};
use std::collections::BTreeMap;

/// Two figures of one memory may differ so much: some programs round to MB or GB, and the kernel
/// sets some aside.
const MEMORY_APART: f64 = 0.02;
/// Joins the parts of one host; an error names two that are of two.
pub fn join(mut parts: Vec<PartialHost>) -> Result<Host, TwoHosts> {
    marks::check(&parts)?;
    // Stable: parts that are believed alike stay as they were given.
    parts.sort_by_key(PartialHost::trust);
    named::by_address(&mut parts);
    let host = read(&Root::at("/nonexistent/narrows"));
    let mut joined = Joined { host, counted: BTreeMap::new() };
    for part in &parts {
        joined.take(part);
    }
    joined.connect(&parts);
    joined.weigh_sockets();
    Ok(joined.host)
}

/// The host so far.
struct Joined {
    host: Host,
    /// Who told the CPUs of each node.
    counted: BTreeMap<u32, Source>,
}

/// What a fact is of: an interface, an address or a node, and which of its facts.
type Of<'a> = (Option<&'a str>, Topic);

fn said<T>(fact: &Fact<T>, show: impl Fn(&T) -> String) -> Option<Said> {
    Some(Said { value: show(fact.value()?), from: fact.source().clone() })
}

/// Takes a fact where there is none yet. Returns what the two say where they differ.
fn fill<T: Clone + PartialEq>(
    into: &mut Fact<T>,
    other: &Fact<T>,
    show: impl Fn(&T) -> String,
) -> Option<[Said; 2]> {
    match (into.value(), other.value()) {
        (None, Some(_)) => *into = other.clone(),
        // A denied or a malformed fact says more than one that nobody has.
        (None, None)
            if matches!(into, Fact::Absent { .. }) && !matches!(other, Fact::Absent { .. }) =>
        {
            *into = other.clone();
        }
        (Some(a), Some(b)) if a != b => {
            return said(into, &show).zip(said(other, &show)).map(<[Said; 2]>::from);
        }
        _ => {}
    }
    None
}

impl Joined {
    fn differ(&mut self, (of, topic): Of<'_>, said: Option<[Said; 2]>) {
        let Some([first, second]) = said else { return };
        let of = of.map(str::to_owned);
        let known =
            self.host.disagreements.iter_mut().find(|one| one.of == of && one.topic == topic);
        match known {
            Some(one) if one.said.contains(&second) => {}
            Some(one) => one.said.push(second),
            None => {
                let said = vec![first, second];
                self.host.disagreements.push(Disagreement { of, topic, said });
            }
        }
    }

    fn take(&mut self, part: &PartialHost) {
        let other = &part.host;
        self.host.unused.extend(other.unused.iter().cloned());
        self.host.disagreements.extend(other.disagreements.iter().cloned());
        // Names that differ in more than their writing were refused before.
        for (into, from) in [
            (&mut self.host.name, &other.name),
            (&mut self.host.product, &other.product),
            (&mut self.host.system, &other.system),
            (&mut self.host.chassis, &other.chassis),
            (&mut self.host.virtualised, &other.virtualised),
            (&mut self.host.cpu.model, &other.cpu.model),
        ] {
            fill(into, from, Clone::clone);
        }
        let kernels = fill(&mut self.host.kernel, &other.kernel, Clone::clone);
        self.differ((None, Topic::Kernel), kernels);
        fill(&mut self.host.identity, &other.identity, |_| String::new());
        fill(&mut self.host.drives, &other.drives, |_| String::new());
        fill(&mut self.host.storage_controllers, &other.storage_controllers, |_| String::new());
        fill(&mut self.host.expansion_slots, &other.expansion_slots, |_| String::new());
        self.processors(other);
        self.nodes(&other.nodes, &Source(part.from.clone()));
        self.memory(other);
        for (name, fact) in &other.tuning {
            let into = self.host.tuning.entry(name.clone()).or_default();
            fill(into, fact, Clone::clone);
        }
        for device in &other.devices {
            self.device(device);
        }
        for nic in &other.nics {
            self.nic(nic);
        }
        for device in &other.rdma {
            if !self.host.rdma.iter().any(|known| known.name == device.name) {
                self.host.rdma.push(device.clone());
            }
        }
    }

    fn processors(&mut self, other: &Host) {
        let cpu = &mut self.host.cpu;
        let online = fill(&mut cpu.online, &other.cpu.online, |cpus| shown(cpus));
        fill(&mut cpu.offline, &other.cpu.offline, |cpus| shown(cpus));
        fill(&mut cpu.isolated, &other.cpu.isolated, |cpus| shown(cpus));
        fill(&mut cpu.tickless, &other.cpu.tickless, |cpus| shown(cpus));
        fill(&mut cpu.allowed, &other.cpu.allowed, |cpus| shown(cpus));
        fill(&mut cpu.sockets, &other.cpu.sockets, |_| String::new());
        fill(&mut cpu.quota_cpus, &other.cpu.quota_cpus, f64::to_string);
        fill(&mut cpu.steal_share, &other.cpu.steal_share, f64::to_string);
        fill(&mut cpu.idle_states, &other.cpu.idle_states, |_| String::new());
        let counts = fill(&mut cpu.counts, &other.cpu.counts, |counts: &CpuCounts| {
            format!("{} on {} sockets", counts.cores, counts.sockets)
        });
        let mut places: BTreeMap<u32, CpuPlace> =
            cpu.places.iter().map(|place| (place.cpu, *place)).collect();
        for place in &other.cpu.places {
            fill_place(places.entry(place.cpu).or_insert(*place), place);
        }
        cpu.places = places.into_values().collect();
        if cpu.caches.is_empty() {
            cpu.caches.clone_from(&other.cpu.caches);
        }
        self.differ((None, Topic::Cpus), online);
        self.differ((None, Topic::Cores), counts);
    }

    fn nodes(&mut self, nodes: &[Node], from: &Source) {
        for node in nodes {
            let at = self.host.nodes.iter().position(|known| known.id == node.id);
            let Some(at) = at else {
                self.host.nodes.push(node.clone());
                self.counted.insert(node.id, from.clone());
                continue;
            };
            let known = &mut self.host.nodes[at];
            let name = format!("node {}", node.id);
            let cpus = self.counted.get(&node.id).filter(|_| {
                let told = !known.cpus.is_empty() && !node.cpus.is_empty();
                told && known.cpus != node.cpus
            });
            let cpus = cpus.map(|first| [of(&known.cpus, first), of(&node.cpus, from)]);
            if known.cpus.is_empty() {
                known.cpus.clone_from(&node.cpus);
                self.counted.insert(node.id, from.clone());
            }
            if known.huge_pages.is_empty() {
                known.huge_pages.clone_from(&node.huge_pages);
            }
            let sizes = fill(&mut known.memory_bytes, &node.memory_bytes, Bytes::to_string);
            fill(&mut known.distances, &node.distances, |_| String::new());
            let apart = apart(known.memory_bytes.value(), node.memory_bytes.value());
            self.differ((Some(&name), Topic::NodeCpus), cpus);
            self.differ((Some(&name), Topic::MemoryBytes), sizes.filter(|_| apart));
        }
        self.host.nodes.sort_by_key(|node| node.id);
    }

    fn memory(&mut self, other: &Host) {
        let memory = &mut self.host.memory;
        let total = fill(&mut memory.total_bytes, &other.memory.total_bytes, Bytes::to_string);
        let total =
            total.filter(|_| apart(memory.total_bytes.value(), other.memory.total_bytes.value()));
        fill(&mut memory.available_bytes, &other.memory.available_bytes, Bytes::to_string);
        fill(&mut memory.cgroup_limit_bytes, &other.memory.cgroup_limit_bytes, Bytes::to_string);
        fill(&mut memory.arrays, &other.memory.arrays, |_| String::new());
        fill(&mut memory.ranges, &other.memory.ranges, |_| String::new());
        fill(&mut memory.controllers, &other.memory.controllers, |_| String::new());
        let modules = fill(&mut memory.slots, &other.memory.slots, |slots| modules(slots));
        self.differ((None, Topic::MemoryBytes), total);
        self.differ((None, Topic::Modules), modules.filter(|[a, b]| a.value != b.value));
    }

    fn device(&mut self, device: &Device) {
        let at = self.host.devices.iter().position(|known| known.address == device.address);
        let Some(at) = at else {
            self.host.devices.push(device.clone());
            self.host.devices.sort_by(|a, b| a.address.cmp(&b.address));
            return;
        };
        let known = &mut self.host.devices[at];
        for name in &device.names {
            if !known.names.contains(name) {
                known.names.push(name.clone());
            }
        }
        let node = fill(&mut known.node, &device.node, u32::to_string);
        let driver = fill(&mut known.driver, &device.driver, Clone::clone);
        let hops = take_path(&mut known.path, &device.path);
        self.differ((Some(&device.address), Topic::DeviceNode), node);
        self.differ((Some(&device.address), Topic::Driver), driver);
        for (address, topic, said) in hops {
            self.differ((Some(&address), topic), Some(said));
        }
    }

    fn nic(&mut self, nic: &Nic) {
        let address = nic.path.last().map(|hop| hop.address.clone());
        let Some(at) = self.host.nics.iter().position(|known| {
            let unnamed = crate::pci::is_address(&known.name) || crate::pci::is_address(&nic.name);
            known.name == nic.name
                || (unnamed && address.as_ref().is_some_and(|address| ends_at(known, address)))
        }) else {
            self.host.nics.push(nic.clone());
            self.host.nics.sort_by(|a, b| a.name.cmp(&b.name));
            return;
        };
        let known = &mut self.host.nics[at];
        if crate::pci::is_address(&known.name) {
            known.name.clone_from(&nic.name);
        }
        let said = take_nic(known, nic);
        let name = known.name.clone();
        for (topic, said) in said {
            self.differ((Some(&name), topic), Some(said));
        }
    }

    /// Gives interfaces the way of the function that they stand on, and functions the names.
    fn connect(&mut self, parts: &[PartialHost]) {
        let Host { nics, devices, rdma, unused, .. } = &mut self.host;
        for nic in nics.iter_mut() {
            let Some(end) = nic.path.last().map(|hop| hop.address.clone()) else { continue };
            let Some(device) = devices.iter_mut().find(|device| device.address == end) else {
                if let Some(listing) = parts.iter().find(|part| part.is_listing) {
                    let what = format!("{end} of {} is not in the listing", nic.name);
                    let from = Source(listing.from.clone());
                    unused.push(narrows_model::host::Unused { from, what });
                }
                continue;
            };
            nic.physical = true;
            if device.path.len() > nic.path.len()
                || nic.path.iter().all(|hop| hop.link.value().is_none())
            {
                nic.path.clone_from(&device.path);
            }
            fill(&mut nic.node, &device.node, u32::to_string);
            fill(&mut nic.driver, &device.driver, Clone::clone);
            if !device.names.contains(&nic.name) && !crate::pci::is_address(&nic.name) {
                device.names.push(nic.name.clone());
            }
        }
        for device in devices.iter_mut() {
            for one in rdma
                .iter_mut()
                .filter(|one| one.address.as_deref() == Some(device.address.as_str()))
            {
                if !device.names.contains(&one.name) {
                    device.names.push(one.name.clone());
                }
            }
        }
    }

    /// Sockets that a source counts against those that firmware has a processor in. Where CPUs are
    /// placed a rule compares them (`socket-count`).
    fn weigh_sockets(&mut self) {
        let cpu = &self.host.cpu;
        if cpu.places.iter().any(|place| place.package.is_some()) {
            return;
        }
        let seen = cpu.counts.clone().map(|counts| counts.sockets);
        let populated = cpu
            .sockets
            .clone()
            .map(|sockets| sockets.iter().filter(|socket| socket.populated).count() as u32);
        if seen.value() != populated.value() && populated.value() != Some(&0) {
            let pair = said(&seen, u32::to_string).zip(said(&populated, u32::to_string));
            self.differ((None, Topic::Sockets), pair.map(<[Said; 2]>::from));
        }
    }
}

fn shown(cpus: &[u32]) -> String {
    format!("{} ({})", cpus.len(), cpu_list::show(cpus))
}

fn of(cpus: &[u32], from: &Source) -> Said {
    Said { value: cpu_list::show(cpus), from: from.clone() }
}

/// An output that named no interface is told by its address.
fn ends_at(one: &Nic, address: &str) -> bool {
    one.path.last().is_some_and(|hop| hop.address == address)
}

fn fill_place(known: &mut CpuPlace, other: &CpuPlace) {
    known.package = known.package.or(other.package);
    known.node = known.node.or(other.node);
    // Numbers of cores hold together with the dies and packages of their own source only.
    if known.core.is_none() {
        (known.core, known.die) = (other.core, known.die.or(other.die));
    }
}

fn apart(a: Option<&Bytes>, b: Option<&Bytes>) -> bool {
    let Some((a, b)) = a.zip(b) else { return false };
    (a.0 as f64 - b.0 as f64).abs() > a.0.max(b.0) as f64 * MEMORY_APART
}

/// `8 of 32 GiB`: what sources can be compared by, whatever they call the slots.
fn modules(slots: &[Slot]) -> String {
    let mut sizes = BTreeMap::<Option<Bytes>, usize>::new();
    let dram = slots.iter().filter_map(|slot| slot.module.as_ref()).filter(|module| module.is_dram);
    dram.for_each(|module| *sizes.entry(module.size_bytes).or_default() += 1);
    let each = sizes.iter().map(|(size, count)| match size {
        Some(size) => format!("{count} of {size}"),
        None => format!("{count} of unknown size"),
    });
    let each: Vec<String> = each.collect();
    if each.is_empty() { "none".to_owned() } else { each.join(", ") }
}

/// Takes hops that are not known yet, and facts of those that are.
fn take_path(known: &mut Vec<PciHop>, other: &[PciHop]) -> Vec<(String, Topic, [Said; 2])> {
    let mut differ = Vec::new();
    let mut merged: Vec<PciHop> =
        if other.len() > known.len() { other.to_vec() } else { known.clone() };
    for hop in &mut merged {
        let [first, second] =
            [&*known, other].map(|path| path.iter().find(|one| one.address == hop.address));
        let Some((first, second)) = first.zip(second) else { continue };
        let mut both = first.clone();
        let links = fill(&mut both.link, &second.link, show);
        let sizes = fill(&mut both.express, &second.express, |set| {
            format!(
                "payload {}, read request {}",
                set.max_payload_bytes, set.max_read_request_bytes
            )
        });
        fill(&mut both.acs, &second.acs, |_| String::new());
        fill(&mut both.class, &second.class, |_| String::new());
        fill(&mut both.rate_bytes_per_second, &second.rate_bytes_per_second, |_| String::new());
        if both.name == "unknown" {
            both.name.clone_from(&second.name);
        }
        differ.extend(links.map(|said| (hop.address.clone(), Topic::Link, said)));
        differ.extend(sizes.map(|said| (hop.address.clone(), Topic::PacketSizes, said)));
        *hop = both;
    }
    *known = merged;
    differ
}

fn show(link: &PciLink) -> String {
    let PciLink { speed_gts, width, speed_max_gts, width_max } = link;
    format!("{speed_gts} GT/s x{width} of {speed_max_gts} GT/s x{width_max}")
}

/// Takes what is not known yet of an interface.
fn take_nic(known: &mut Nic, nic: &Nic) -> Vec<(Topic, [Said; 2])> {
    let mut differ = Vec::new();
    differ.extend(fill(&mut known.driver, &nic.driver, Clone::clone).map(|s| (Topic::Driver, s)));
    let speed = fill(&mut known.speed_bps, &nic.speed_bps, ToString::to_string);
    differ.extend(speed.map(|said| (Topic::Speed, said)));
    differ.extend(
        fill(&mut known.mtu_bytes, &nic.mtu_bytes, Bytes::to_string).map(|s| (Topic::Mtu, s)),
    );
    differ.extend(fill(&mut known.node, &nic.node, u32::to_string).map(|s| (Topic::DeviceNode, s)));
    fill(&mut known.driver_version, &nic.driver_version, Clone::clone);
    let firmware = fill(&mut known.firmware, &nic.firmware, Clone::clone);
    differ.extend(firmware.map(|said| (Topic::Firmware, said)));
    // `unknown` is what drivers without a carrier's state answer.
    if known.state.value().is_some_and(|state| state == "unknown") {
        known.state = nic.state.clone();
    }
    let state = fill(&mut known.state, &nic.state, Clone::clone);
    let state = state.filter(|[_, second]| second.value != "unknown");
    differ.extend(state.map(|said| (Topic::State, said)));
    fill(&mut known.duplex, &nic.duplex, Clone::clone);
    fill(&mut known.qdisc, &nic.qdisc, Clone::clone);
    fill(&mut known.kind, &nic.kind, Clone::clone);
    fill(&mut known.master, &nic.master, Clone::clone);
    fill(&mut known.irq_cpus, &nic.irq_cpus, |_| String::new());
    fill(&mut known.queues, &nic.queues, |_| String::new());
    fill(&mut known.rings, &nic.rings, |_| String::new());
    fill(&mut known.coalescing, &nic.coalescing, |_| String::new());
    fill(&mut known.pause, &nic.pause, |_| String::new());
    fill(&mut known.fec, &nic.fec, Clone::clone);
    fill(&mut known.irqs, &nic.irqs, |_| String::new());
    fill(&mut known.steering, &nic.steering, |_| String::new());
    fill(&mut known.virtual_functions, &nic.virtual_functions, |_| String::new());
    fill(&mut known.physical_function, &nic.physical_function, Clone::clone);
    if known.offloads.value().is_none() {
        known.offloads = nic.offloads.clone();
        known.fixed_offloads.clone_from(&nic.fixed_offloads);
    }
    if known.lower.is_empty() {
        known.lower.clone_from(&nic.lower);
    }
    let ends = [&*known, nic].map(|one| one.path.last().map(|hop| hop.address.clone()));
    match ends {
        [None, Some(_)] => known.path.clone_from(&nic.path),
        [Some(a), Some(b)] if a != b => {
            let of = |value: String, one: &Nic| Said { value, from: one.driver.source().clone() };
            differ.push((Topic::Address, [of(a, known), of(b, nic)]));
        }
        [Some(_), Some(_)] => drop(take_path(&mut known.path, &nic.path)),
        _ => {}
    }
    known.physical |= nic.physical;
    differ
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers;

    const LSPCI: &str = "00:00.0 Host bridge: Intel Corporation X\n\n\
        3a:00.0 PCI bridge: Intel Corporation Y\n\tBus: primary=3a, secondary=3b, subordinate=3b\n\
        \t\tLnkCap:\tPort #1, Speed 8GT/s, Width x16\n\t\tLnkSta:\tSpeed 8GT/s, Width x8\n\n\
        3b:00.0 Ethernet controller: Mellanox Technologies Z\n\tNUMA node: 1\n\
        \t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16\n\t\tLnkSta:\tSpeed 8GT/s, Width x8\n\
        \tKernel driver in use: mlx5_core\n";
    const DRIVER: &str = "driver: mlx5_core\nfirmware-version: 16\nbus-info: 0000:3b:00.0\n";
    const LINKS: &str = r#"[{"ifindex":2,"ifname":"ens1","mtu":9000,"operstate":"UP",
        "address":"02:00:00:00:00:01","parentdev":"0000:3b:00.0"}]"#;

    fn part(text: &str, from: &str) -> PartialHost {
        let reader = readers::of(text).unwrap_or_else(|| panic!("{from}"));
        (reader.read)(text, from).unwrap_or_else(|error| panic!("{from}: {error}"))
    }

    #[test]
    fn parts_become_one_host_in_any_order() {
        let parts = || vec![part(LSPCI, "lspci"), part(DRIVER, "driver"), part(LINKS, "links")];
        let want = join(parts()).expect("one host");
        let [nic] = &want.nics[..] else { panic!("{:?}", want.nics) };
        assert_eq!((nic.name.as_str(), nic.path.len()), ("ens1", 2));
        assert_eq!(nic.path[1].link.value().map(|link| link.width), Some(8));
        assert_eq!(
            (nic.node.value(), nic.firmware.value().map(String::as_str)),
            (Some(&1), Some("16"))
        );
        assert_eq!(want.devices[0].names, ["ens1"]);
        assert_eq!(want.disagreements, []);
        let mut turned = parts();
        turned.reverse();
        assert_eq!(join(turned).expect("one host"), want);
    }

    #[test]
    fn what_two_say_differently_is_kept_with_both() {
        let other =
            LSPCI.replacen("NUMA node: 1", "NUMA node: 0", 1).replace("mlx5_core", "vfio-pci");
        let host = join(vec![part(LSPCI, "before"), part(&other, "after")]).expect("one host");
        let topics: Vec<Topic> = host.disagreements.iter().map(|one| one.topic).collect();
        assert_eq!(topics, [Topic::DeviceNode, Topic::Driver]);
        let said: Vec<&str> =
            host.disagreements[0].said.iter().map(|said| said.from.0.as_str()).collect();
        assert_eq!(said, ["before", "after"]);
        assert_eq!(host.devices[0].node.value(), Some(&1));
    }

    #[test]
    fn a_node_of_other_cpus_is_told() {
        let lscpu = "Architecture: x86_64\nCPU(s): 4\nOn-line CPU(s) list: 0-3\nSocket(s): 2\n\
                     NUMA node(s): 2\nNUMA node0 CPU(s): 0,1\nNUMA node1 CPU(s): 2,3\n";
        let numactl = "available: 2 nodes (0-1)\nnode 0 cpus: 0 2\nnode 0 size: 9 MB\n\
                       node 1 cpus: 1 3\nnode 1 size: 9 MB\nnode distances:\n\
                       node   0   1 \n  0:  10  21 \n  1:  21  10 \n";
        let host = join(vec![part(lscpu, "a"), part(numactl, "b")]).expect("one host");
        let [first, _] = &host.disagreements[..] else { panic!("{:?}", host.disagreements) };
        assert_eq!((first.topic, first.of.as_deref()), (Topic::NodeCpus, Some("node 0")));
        let said: Vec<(&str, &str)> =
            first.said.iter().map(|said| (said.from.0.as_str(), said.value.as_str())).collect();
        assert_eq!(said, [("a", "0-1"), ("b", "0,2")]);
        let same = numactl.replace("0 2", "0 1").replace("1 3", "2 3");
        let host = join(vec![part(lscpu, "a"), part(&same, "b")]).expect("one host");
        assert_eq!(host.disagreements, []);
    }

    #[test]
    fn listings_of_other_hosts_are_refused_by_what_differs() {
        let refused = |a: PartialHost, b: PartialHost| join(vec![a, b]).expect_err("two hosts");
        let name = LSPCI.lines().find(|line| line.starts_with("3b:00.0")).expect("a card");
        let (head, _) = name.split_once(": ").expect("a name");
        let other = LSPCI.replace(name, &format!("{head}: Broadcom Inc. BCM57416"));
        let error = refused(part(LSPCI, "a"), part(&other, "b"));
        assert_eq!((error.what, error.a_from.as_str()), ("PCI function", "a"));
        assert_eq!(error.b, "0000:3b:00.0 Broadcom Inc. BCM57416");

        let bridge = "00:00.0 Host bridge: Intel Corporation Sky Lake-E DMI3 Registers (rev 04)\n";
        let epyc = "Architecture: x86_64\nCPU(s): 2\nOn-line CPU(s) list: 0-1\n\
                    Model name: AMD EPYC 7763 64-Core Processor\nSocket(s): 1\n\
                    NUMA node(s): 1\nNUMA node0 CPU(s): 0-1\n";
        let error = refused(part(bridge, "lspci"), part(epyc, "lscpu"));
        assert_eq!((error.a.as_str(), error.b.as_str()), ("Intel", "AMD"));
        assert_eq!(error.what, "maker of the processor");
        let numbers = "00:00.0 0600: 8086:2020 (rev 04)\n";
        assert_eq!(refused(part(numbers, "n"), part(epyc, "lscpu")).a, "Intel");
        // A virtual machine shows an old chipset of Intel on every processor.
        let machine = bridge.replace("Sky Lake-E DMI3", "440FX - 82441FX PMC [Natoma]");
        assert!(join(vec![part(&machine, "lspci"), part(epyc, "lscpu")]).is_ok());
        let numbers = numbers.replace("2020", "29c0");
        assert!(join(vec![part(&numbers, "n"), part(epyc, "lscpu")]).is_ok());
    }

    #[test]
    fn a_card_that_a_whole_listing_lacks_is_said() {
        let moved = DRIVER.replace("3b:00.0", "5e:00.0");
        let host = join(vec![part(LSPCI, "lspci"), part(&moved, "ethtool_-i_ens9")]).expect("host");
        assert!(host.unused.iter().any(|one| one.what.contains("0000:5e:00.0 of ens9")));
    }
}
