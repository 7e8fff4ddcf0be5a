//! Advice on what only firmware, the kernel's command line or a restart changes.

use super::{Advisor, Profile, Recommendation, Worth, sources};
use narrows_model::Fact;
use narrows_model::host::CpuPlace;
use narrows_model::result::Unclear;
use std::collections::BTreeSet;

pub(super) fn look(advisor: &mut Advisor<'_>) {
    threads_of_a_core(advisor);
    translation(advisor);
    nodes_of_a_socket(advisor);
    if advisor.is_for(&[Profile::Latency, Profile::Packets]) {
        isolated(advisor);
    }
    if advisor.is_for(&[Profile::Latency, Profile::Rdma, Profile::Mpi]) {
        link_sleep(advisor);
    }
}

fn threads_of_a_core(advisor: &mut Advisor<'_>) {
    let fact = advisor.fact("cpu.smt");
    let on = fact.value().is_some_and(|now| now == "on");
    advisor.weigh(
        &fact,
        Recommendation {
            setting: "cpu.smt",
            wanted: on.then(|| "off".to_owned()),
            because: "two threads of a core get in each other's way and results scatter; work that \
                      needs many threads loses by it",
            source: sources::ESNET_100G,
            worth: None,
            // Taking CPUs away moves processes and interrupts, which nobody puts back.
            files: Vec::new(),
            commands: vec!["echo off > /sys/devices/system/cpu/smt/control".to_owned()],
        },
    );
}

/// Devices reach memory through the IOMMU, each buffer mapped, or as it is.
fn translation(advisor: &mut Advisor<'_>) {
    let setting = "iommu";
    let fact = advisor.fact(setting);
    // Without groups nothing is translated; a host whose groups were not looked at has no fact.
    if matches!(&fact, Fact::Absent { .. }) && advisor.host.tuning.contains_key(setting) {
        return advisor.told.fine.push(setting.to_owned());
    }
    let translated = fact.value().is_some_and(|groups| groups.contains("DMA"));
    advisor.weigh(
        &fact,
        Recommendation {
            setting,
            wanted: translated.then(|| "identity".to_owned()),
            because: "buffers are neither mapped nor flushed one by one; a device can then reach all \
                      memory, and virtual machines with devices of their own are not affected",
            source: sources::ESNET_100G,
            worth: Worth::published(
                (1.0, 1.4),
                "throughput with the IOMMU set right: up to 40 % more",
                sources::ESNET_100G,
            ),
            files: Vec::new(),
            commands: vec!["iommu=pt on the kernel's command line, then restart".to_owned()],
        },
    );
}

/// Processors that firmware splits into several nodes (AMD: NPS, Intel: SNC).
fn nodes_of_a_socket(advisor: &mut Advisor<'_>) {
    let setting = "firmware.nodes-per-socket";
    let places = &advisor.host.cpu.places;
    let count = |of: fn(&CpuPlace) -> Option<u32>| {
        places.iter().filter_map(of).collect::<BTreeSet<u32>>().len()
    };
    let (sockets, nodes) = (count(|place| place.package), count(|place| place.node));
    if sockets == 0 || nodes == 0 {
        return advisor.told.lacks(setting, Unclear::PlacesOfCpus.into());
    }
    // A node of several sockets (NPS0) is one as far as a NIC goes.
    let each = nodes.div_ceil(sockets);
    let split = each > 1 && advisor.is_for(&[Profile::Throughput, Profile::Rdma]);
    advisor.weigh(
        &Fact::known(each.to_string(), "nodes and packages of the CPUs"),
        Recommendation {
            setting,
            wanted: split.then(|| "1".to_owned()),
            because: "buffers of one NIC then lie on all channels of its processor; work that is \
                      placed node by node is nearer to its memory as it is",
            source: sources::HPC_EPYC,
            worth: None,
            files: Vec::new(),
            commands: vec!["firmware: NPS1 (AMD) or SNC off (Intel), then restart".to_owned()],
        },
    );
}

/// CPUs that the scheduler leaves alone.
fn isolated(advisor: &mut Advisor<'_>) {
    let setting = "cpu.isolated";
    let named = advisor
        .host
        .cpu
        .isolated
        .clone()
        .map(|cpus| if cpus.is_empty() { "none".to_owned() } else { format!("CPUs {cpus:?}") });
    let none = named.value().is_some_and(|now| now == "none");
    advisor.weigh(
        &named,
        Recommendation {
            setting,
            wanted: none.then(|| "those that poll".to_owned()),
            because: "nothing else runs where a program polls, and no tick interrupts it; only for \
                      threads that are pinned there by hand",
            source: sources::KERNEL_LINE,
            worth: None,
            files: Vec::new(),
            commands: vec![
                "isolcpus=LIST nohz_full=LIST rcu_nocbs=LIST on the kernel's command line, then \
                 restart"
                    .to_owned(),
            ],
        },
    );
}

fn link_sleep(advisor: &mut Advisor<'_>) {
    let setting = "pci.aspm-policy";
    // The chosen word stands in brackets.
    let chosen = advisor.fact(setting).and_then(|text| {
        let chosen = text.split(['[', ']']).nth(1);
        chosen.map(str::to_owned).ok_or(text)
    });
    let sleeps = chosen.value().is_some_and(|now| now.contains("powersave"));
    advisor.weigh(
        &chosen,
        Recommendation {
            setting,
            wanted: sleeps.then(|| "performance".to_owned()),
            because: "a PCI Express link that sleeps wakes some us late",
            source: sources::KERNEL_LINE,
            worth: None,
            files: Vec::new(),
            commands: vec!["echo performance > /sys/module/pcie_aspm/parameters/policy".to_owned()],
        },
    );
}
