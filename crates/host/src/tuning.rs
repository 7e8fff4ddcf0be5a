//! The first tuning facts: settings that move network throughput more than tools do.

use crate::Root;
use narrows_facts::Fact;
use std::collections::BTreeMap;

/// Name of the fact (the sysctl's own name where it is one) and the file it is read from.
const FACTS: [(&str, &str); 16] = [
    ("cpu.governor", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ("cpu.idle-driver", "sys/devices/system/cpu/cpuidle/current_driver"),
    ("cpu.smt", "sys/devices/system/cpu/smt/control"),
    ("kernel.numa_balancing", "proc/sys/kernel/numa_balancing"),
    ("mm.transparent_hugepage", "sys/kernel/mm/transparent_hugepage/enabled"),
    ("net.core.default_qdisc", "proc/sys/net/core/default_qdisc"),
    ("net.core.netdev_max_backlog", "proc/sys/net/core/netdev_max_backlog"),
    ("net.core.rmem_max", "proc/sys/net/core/rmem_max"),
    ("net.core.wmem_max", "proc/sys/net/core/wmem_max"),
    ("net.ipv4.tcp_allowed_congestion_control", "proc/sys/net/ipv4/tcp_allowed_congestion_control"),
    (
        "net.ipv4.tcp_available_congestion_control",
        "proc/sys/net/ipv4/tcp_available_congestion_control",
    ),
    ("net.ipv4.tcp_congestion_control", "proc/sys/net/ipv4/tcp_congestion_control"),
    ("net.ipv4.tcp_rmem", "proc/sys/net/ipv4/tcp_rmem"),
    ("net.ipv4.tcp_timestamps", "proc/sys/net/ipv4/tcp_timestamps"),
    ("net.ipv4.tcp_window_scaling", "proc/sys/net/ipv4/tcp_window_scaling"),
    ("net.ipv4.tcp_wmem", "proc/sys/net/ipv4/tcp_wmem"),
];

/// Reads the settings by name; blanks inside a value are single.
pub fn read(root: &Root) -> BTreeMap<String, Fact<String>> {
    let fact = |path: &str| {
        root.text(path).and_then(|text| Ok(text.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    FACTS.iter().map(|(name, path)| ((*name).to_owned(), fact(path))).collect()
}
