//! Network interfaces, from `/sys/class/net`, `/proc/irq`, and what must be asked ([`crate::ask`]).

use crate::Root;
use crate::ask::{self, ethtool, links};
use crate::folder::Folder;
use crate::pci::{self, Functions};
use narrows_model::host::{
    Coalescing, Irq, Nic, Pause, PciHop, Queues, Rings, Steering, VirtualFunctions,
};
use narrows_model::{BitsPerSecond, Bytes, Fact};
use std::collections::{BTreeMap, BTreeSet};

const NET: &str = "sys/class/net";

/// Reads every interface but the loopback device, by name.
pub fn read(root: &Root, functions: &Functions<'_>) -> Vec<Nic> {
    let links = root.asked("narrows/links", links::ask);
    let flows = root.number("proc/sys/net/core/rps_sock_flow_entries");
    let has_flows = flows.value().is_some_and(|flows| *flows > 0);
    let names = names(root, &links).into_iter().filter(|name| name != "lo");
    names.map(|name| nic(root, functions, &name, &links, has_flows)).collect()
}

/// The interfaces' names. A process that entered another network namespace sees `/sys` as it was
/// mounted, so the kernel's own list goes before the folder's.
fn names(root: &Root, links: &Fact<String>) -> Vec<String> {
    let lines = links.value().map_or("", String::as_str).lines();
    let listed = lines.filter_map(|line| line.split(' ').next());
    // As in the kernel, no name leads out of the folder.
    let listed = listed.filter(|name| !matches!(*name, "" | "." | "..") && !name.contains('/'));
    let listed: BTreeSet<String> = listed.map(str::to_owned).collect();
    if !listed.is_empty() {
        return listed.into_iter().collect();
    }
    // Some drivers leave plain files such as `bonding_masters` here.
    root.names(NET).into_iter().filter(|name| is_interface(root, name)).collect()
}

fn is_interface(root: &Root, name: &str) -> bool {
    let entry = format!("{NET}/{name}");
    root.link_name(&entry).value().is_some() || root.has(&format!("{entry}/mtu"))
}

/// Words of ethtool's answer.
fn words_of(ethtool: &Fact<String>, key: &str) -> Fact<String> {
    ask::fact(ethtool, key, |words| Some(words.join(" ")))
}

fn nic(
    root: &Root,
    functions: &Functions<'_>,
    name: &str,
    links: &Fact<String>,
    has_flows: bool,
) -> Nic {
    let of = Folder::of(root, format!("{NET}/{name}"));
    let device = root.resolve(&of.path_of("device"));
    let path = device.as_deref().map(|device| functions.path(device)).unwrap_or_default();
    let ethtool = root.asked(&format!("narrows/ethtool/{name}"), || ethtool::ask(name));
    let offloads = offloads(&ethtool);
    let irqs = irqs(root, device.as_deref(), &path);
    let driver = match of.link_name("device/driver") {
        Fact::Absent { from, said } => match words_of(&ethtool, "driver") {
            Fact::Absent { .. } => Fact::Absent { from, said },
            told => told,
        },
        linked => linked,
    };
    Nic {
        name: name.to_owned(),
        physical: device.is_some(),
        driver,
        speed_bps: speed(of.number("speed")),
        state: of.text("operstate"),
        mtu_bytes: of.number("mtu").and_then(|mtu| {
            u64::try_from(mtu).map(Bytes).map_err(|_| format!("{mtu} is not a size"))
        }),
        node: pci::node(root, device.as_deref(), &of.path_of("device/numa_node")),
        irq_cpus: irq_cpus(&irqs),
        irqs,
        queues: queues(root, &of.path_of("queues")),
        kind: kind(root, name, links, device.is_some()),
        master: of.link_name("master"),
        lower: lower(root, name),
        duplex: of.text("duplex"),
        qdisc: column(links, name, 1),
        gso_max_bytes: column(links, name, 2)
            .and_then(|text| text.parse().map(Bytes).map_err(|_| text)),
        driver_version: words_of(&ethtool, "driver-version"),
        firmware: words_of(&ethtool, "firmware"),
        rings: ask::fact(&ethtool, "rings", |words| {
            let [rx, rx_max, tx, tx_max] = ask::numbers(words)?;
            Some(Rings { rx, rx_max, tx, tx_max })
        }),
        coalescing: coalescing(&ethtool),
        gro_flush_ns: of
            .number("gro_flush_timeout")
            .and_then(|ns| u64::try_from(ns).map_err(|_| format!("{ns} is not a time"))),
        pause: ask::fact(&ethtool, "pause", |words| {
            let [negotiated, rx, tx] = ask::numbers(words)?.map(|word: u32| word != 0);
            Some(Pause { negotiated, rx, tx })
        }),
        fec: words_of(&ethtool, "fec"),
        steering: steering(root, &of.path_of("queues"), &offloads, has_flows),
        offloads,
        fixed_offloads: fixed_offloads(&ethtool),
        virtual_functions: virtual_functions(root, &of.path_of("device")),
        physical_function: of.link_name("device/physfn"),
        path,
    }
}

fn coalescing(ethtool: &Fact<String>) -> Fact<Coalescing> {
    ask::fact(ethtool, "coalescing", |words| {
        let [rx_us, rx_frames, tx_us, tx_frames, rx, tx] = ask::numbers(words)?;
        let (adaptive_rx, adaptive_tx) = (rx != 0, tx != 0);
        Some(Coalescing { rx_us, rx_frames, tx_us, tx_frames, adaptive_rx, adaptive_tx })
    })
}

/// One column of an interface's line in the kernel's list; `-` is nothing told.
fn column(links: &Fact<String>, name: &str, column: usize) -> Fact<String> {
    let cell = ask::fact(links, name, |words| Some((*words.get(column)?).to_owned()));
    match cell {
        Fact::Known { value, from } if value == "-" => Fact::said_absent(from.0, value),
        cell => cell,
    }
}

/// Names of lines `feature NAME on|off fixed`.
fn fixed_offloads(ethtool: &Fact<String>) -> BTreeSet<String> {
    let lines = ethtool.value().map_or("", String::as_str).lines();
    let features = lines.filter_map(|line| line.strip_prefix("feature ")?.strip_suffix(" fixed"));
    features.filter_map(|line| Some(line.rsplit_once(' ')?.0.to_owned())).collect()
}

/// Lines of `feature NAME on|off`, `fixed` behind those that cannot be changed.
fn offloads(ethtool: &Fact<String>) -> Fact<BTreeMap<String, bool>> {
    let from = format!("{} feature", ethtool.source());
    let Some(text) = ethtool.value() else { return Fact::absent(from) };
    let features = text.lines().filter_map(|line| {
        let feature = line.strip_prefix("feature ")?;
        let (name, state) = feature.trim_end_matches(" fixed").rsplit_once(' ')?;
        Some((name.to_owned(), state == "on"))
    });
    let features: BTreeMap<String, bool> = features.collect();
    if features.is_empty() { Fact::absent(from) } else { Fact::known(features, from) }
}

/// Kind of an interface without a device: by rtnetlink, else by the files its driver makes.
fn kind(root: &Root, name: &str, links: &Fact<String>, physical: bool) -> Fact<String> {
    let of = Folder::of(root, format!("{NET}/{name}"));
    let told = column(links, name, 0);
    if told.value().is_some() || physical {
        return if physical { Fact::absent("a device of its own") } else { told };
    }
    for (leaf, kind) in [("bridge", "bridge"), ("bonding", "bond"), ("tun_flags", "tun")] {
        if of.has(leaf) {
            return Fact::known(kind.to_owned(), format!("/{}", of.path_of(leaf)));
        }
    }
    of.text("uevent").and_then(|text| {
        let kind = text.lines().find_map(|line| line.strip_prefix("DEVTYPE="));
        kind.map(str::to_owned).ok_or_else(|| "no line DEVTYPE".to_owned())
    })
}

/// Links called `lower_NAME`: ports of a bond or bridge, the device under a VLAN.
fn lower(root: &Root, name: &str) -> Vec<String> {
    let names = root.names(&format!("{NET}/{name}"));
    names.iter().filter_map(|name| Some(name.strip_prefix("lower_")?.to_owned())).collect()
}

/// Mb/s as the driver writes it; -1 and 0 and 2^32-1 all mean that it does not know.
fn speed(mbps: Fact<i64>) -> Fact<BitsPerSecond> {
    match mbps {
        Fact::Known { value, from } if !(1..=10_000_000).contains(&value) => {
            Fact::absent(format!("{from} is {value}"))
        }
        known => known.map(|mbps| BitsPerSecond(mbps as f64 * 1e6)),
    }
}

/// The interrupts of the device: the vectors of its PCI function.
fn irqs(root: &Root, device: Option<&str>, path: &[PciHop]) -> Fact<Vec<Irq>> {
    let end = path.last().zip(device);
    let Some((end, device)) = end else { return Fact::absent("/proc/irq (not a PCI device)") };
    let cut = device.find(&end.address).map(|at| &device[..at + end.address.len()]);
    let dir = cut.unwrap_or_default();
    let vectors = root.numbered(&format!("{dir}/msi_irqs"), "");
    let mut irqs = Vec::new();
    for number in vectors {
        let of = Folder::of(root, format!("proc/irq/{number}"));
        let allowed = of.list("smp_affinity_list");
        if let Fact::Denied { from } = allowed {
            return Fact::Denied { from };
        }
        irqs.push(Irq {
            number,
            name: root.text(&format!("sys/kernel/irq/{number}/actions")).value().cloned(),
            allowed_cpus: allowed.value().cloned().unwrap_or_default(),
            effective_cpus: of.list("effective_affinity_list").value().cloned().unwrap_or_default(),
            node: of.fitting("node"),
        });
    }
    if irqs.is_empty() {
        Fact::absent(format!("/{dir}/msi_irqs"))
    } else {
        Fact::known(irqs, "/proc/irq/*/smp_affinity_list")
    }
}

/// CPUs that any of the interrupts is delivered to; kernels before 4.14 tell only where they may
/// be.
fn irq_cpus(irqs: &Fact<Vec<Irq>>) -> Fact<Vec<u32>> {
    let from = "/proc/irq/*/effective_affinity_list";
    let cpus = irqs.clone().map(|irqs| {
        let cpus: BTreeSet<u32> = irqs.into_iter().flat_map(|irq| irq.effective_cpus).collect();
        cpus.into_iter().collect::<Vec<u32>>()
    });
    match cpus {
        Fact::Known { value, .. } if value.is_empty() => Fact::absent(from),
        Fact::Known { value, .. } => Fact::known(value, from),
        gap => gap,
    }
}

fn queues(root: &Root, dir: &str) -> Fact<Queues> {
    let (rx, tx) = (root.numbered(dir, "rx-").len(), root.numbered(dir, "tx-").len());
    match (rx, tx) {
        (0, 0) => Fact::absent(format!("/{dir}")),
        _ => Fact::known(Queues { rx: rx as u32, tx: tx as u32 }, format!("/{dir}")),
    }
}

/// Queues of a direction whose file holds another number than 0.
fn set_queues(of: &Folder<'_>, names: &[String], (prefix, file): (&str, &str)) -> u32 {
    let queues = names.iter().filter(|name| name.starts_with(prefix));
    let told = queues.filter_map(|name| of.told(&format!("{name}/{file}")));
    told.filter(|text| text.bytes().any(|b| b.is_ascii_hexdigit() && b != b'0')).count() as u32
}

/// Queues whose masks of CPUs are not empty.
fn steering(
    root: &Root,
    dir: &str,
    offloads: &Fact<BTreeMap<String, bool>>,
    has_flows: bool,
) -> Fact<Steering> {
    let names = root.names(dir);
    if names.is_empty() {
        return Fact::absent(format!("/{dir}"));
    }
    let of = Folder::of(root, dir);
    let rfs_queues = set_queues(&of, &names, ("rx-", "rps_flow_cnt"));
    let filters = offloads.value().and_then(|on| on.get("rx-ntuple-filter")).copied();
    Fact::known(
        Steering {
            rps_queues: set_queues(&of, &names, ("rx-", "rps_cpus")),
            rfs_queues,
            xps_queues: set_queues(&of, &names, ("tx-", "xps_cpus")),
            accelerated: filters.map(|on| on && has_flows && rfs_queues > 0),
        },
        format!("/{dir}"),
    )
}

fn count(of: &Folder<'_>, file: &str) -> Fact<u32> {
    of.number(file).and_then(|n| u32::try_from(n).map_err(|_| format!("{n} is not a count")))
}

fn virtual_functions(root: &Root, device: &str) -> Fact<VirtualFunctions> {
    let of = Folder::of(root, device);
    let most = count(&of, "sriov_totalvfs");
    most.and_then(|most| {
        let now = count(&of, "sriov_numvfs").value().copied().ok_or("no file sriov_numvfs");
        now.map(|now| VirtualFunctions { now, most })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_speed_is_no_speed() {
        let read = |mbps: i64| speed(Fact::known(mbps, "speed"));
        assert_eq!(read(100_000).value(), Some(&BitsPerSecond(1e11)));
        for unknown in [-1, 0, 4_294_967_295] {
            assert!(matches!(read(unknown), Fact::Absent { .. }), "{unknown}");
        }
    }

    #[test]
    fn interfaces_are_those_of_the_kernels_list() {
        let root = Root::at("/nowhere");
        let listed = |lines: &str| names(&root, &Fact::known(lines.to_owned(), "rtnetlink"));
        assert_eq!(listed("veth1 veth noqueue -\nlo - - -\n.. - - -\na/b - - -"), ["lo", "veth1"]);
        assert!(listed("").is_empty());
    }

    #[test]
    fn an_answer_of_the_driver_is_read_line_by_line() {
        let answer = Fact::known(
            "driver mlx5_core\nfirmware 22.31.1014 (MT_1)\nrings 1024 8192 1024 8192\n\
             coalescing 8 128 8 128 1 1\npause 0 1 x\nfeature rx-gro on\nfeature tx-nocache off\n\
             feature tx-tcp-segmentation off fixed"
                .to_owned(),
            "planted",
        );
        let coalescing = coalescing(&answer);
        assert!(coalescing.value().is_some_and(|c| c.rx_us == 8 && c.adaptive_rx));
        let offloads = offloads(&answer);
        assert_eq!(offloads.value().and_then(|on| on.get("rx-gro")), Some(&true));
        assert_eq!(offloads.value().and_then(|on| on.get("tx-nocache")), Some(&false));
        assert_eq!(offloads.value().and_then(|on| on.get("tx-tcp-segmentation")), Some(&false));
        assert_eq!(fixed_offloads(&answer), ["tx-tcp-segmentation".to_owned()].into());
        let numbers = |key: &str| ask::fact(&answer, key, ask::numbers::<3>);
        assert!(matches!(numbers("pause"), Fact::Malformed { .. }));
        assert!(matches!(numbers("fec"), Fact::Absent { .. }));
    }
}
