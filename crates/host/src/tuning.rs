//! Settings that move network throughput: the sysctls of the iWARP study and of today, power,
//! memory, mitigations, firewall.

use crate::ask::routes;
use crate::{Root, command_line};
use narrows_model::Fact;
use std::collections::BTreeMap;

/// Name of a fact and the file it is read from.
const FILES: [(&str, &str); 13] = [
    ("cpu.driver", "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"),
    ("cpu.idle-driver", "sys/devices/system/cpu/cpuidle/current_driver"),
    ("cpu.idle-governor", "sys/devices/system/cpu/cpuidle/current_governor"),
    ("cpu.smt", "sys/devices/system/cpu/smt/control"),
    ("kernel.clocksource", "sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("kvm.nested", "sys/module/kvm_intel/parameters/nested"),
    ("mm.transparent_hugepage", "sys/kernel/mm/transparent_hugepage/enabled"),
    ("mm.transparent_hugepage_defrag", "sys/kernel/mm/transparent_hugepage/defrag"),
    ("net.conntrack.count", "proc/sys/net/netfilter/nf_conntrack_count"),
    ("net.conntrack.max", "proc/sys/net/netfilter/nf_conntrack_max"),
    ("pci.aspm-policy", "sys/module/pcie_aspm/parameters/policy"),
    ("rdma.netns-mode", "sys/module/ib_core/parameters/netns_mode"),
    ("tcp.bbr", "sys/module/tcp_bbr/refcnt"),
];

/// Sysctls, by their own names.
const SYSCTLS: [&str; 65] = [
    "kernel.numa_balancing",
    "kernel.sched_rt_runtime_us",
    "kernel.timer_migration",
    "net.core.bpf_jit_enable",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.dev_weight",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.conf.all.rp_filter",
    "net.ipv4.ip_default_ttl",
    "net.ipv4.ip_forward",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_no_pmtu_disc",
    "net.ipv4.ipfrag_high_thresh",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_allowed_congestion_control",
    "net.ipv4.tcp_app_win",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_base_mss",
    "net.ipv4.tcp_comp_sack_delay_ns",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_low_latency",
    "net.ipv4.tcp_max_reordering",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_no_ssthresh_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_reordering",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_rto_min_us",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_shrink_window",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_mem",
    "vm.swappiness",
    "vm.zone_reclaim_mode",
];

/// Modules that look at every packet when they are in use.
const FILTERS: [&str; 9] = [
    "nf_tables",
    "nf_conntrack",
    "nf_nat",
    "ip_tables",
    "iptable_filter",
    "iptable_nat",
    "ip6_tables",
    "ebtables",
    "ip_vs",
];

/// Reads the settings by name; blanks inside a value are single.
pub fn read(root: &Root) -> BTreeMap<String, Fact<String>> {
    let mut facts: BTreeMap<String, Fact<String>> =
        FILES.iter().map(|(name, path)| ((*name).to_owned(), text(root, path))).collect();
    for name in SYSCTLS {
        let path = format!("proc/sys/{}", name.replace('.', "/"));
        facts.insert(name.to_owned(), text(root, &path));
    }
    for name in root.names("sys/devices/system/cpu/vulnerabilities") {
        let path = format!("sys/devices/system/cpu/vulnerabilities/{name}");
        facts.insert(format!("cpu.mitigation.{name}"), text(root, &path));
    }
    let own: [(&str, Fact<String>); 12] = [
        ("cpu.energy-preference", of_all_cpus(root, "energy_performance_preference")),
        ("cpu.governor", of_all_cpus(root, "scaling_governor")),
        ("cpu.turbo", turbo(root)),
        ("iommu", iommu(root)),
        ("kernel.command-line", command_line(root)),
        ("net.filter-modules", filters(root)),
        ("net.route.window", root.asked("narrows/route-windows", routes::windows)),
        ("net.route.cwnd", root.asked("narrows/route-cwnd", routes::windows_held)),
        ("net.route.ssthresh", root.asked("narrows/route-ssthresh", routes::slow_start_ends)),
        ("net.route.rto_min_ms", root.asked("narrows/route-rto-min", routes::timers)),
        ("process.memlock", memlock(root)),
        ("irq.balance-daemon", daemon(root)),
    ];
    facts.extend(own.map(|(name, fact)| (name.to_owned(), fact)));
    let first = root.asked("narrows/route-initcwnd", routes::first_windows);
    // Few routes have one.
    if matches!(first, Fact::Known { .. }) {
        facts.insert("net.route.initcwnd".to_owned(), first);
    }
    facts.extend(crate::modules::read(root));
    facts.extend(firmware(root));
    // Where one file is not, its brother of the other maker may be.
    if matches!(facts.get("kvm.nested"), Some(Fact::Absent { .. })) {
        let amd = text(root, "sys/module/kvm_amd/parameters/nested");
        facts.insert("kvm.nested".to_owned(), amd);
    }
    facts
}

/// Versions of firmware: what a maker changes of memory and of power comes with them. That of the
/// management controller is there where the kernel's driver for it is.
const FIRMWARE: [(&str, &str); 3] = [
    ("bios.version", "sys/class/dmi/id/bios_version"),
    ("bios.date", "sys/class/dmi/id/bios_date"),
    ("bmc.version", "sys/devices/platform/ipmi_bmc.0/firmware_revision"),
];

/// Those that are told.
fn firmware(root: &Root) -> BTreeMap<String, Fact<String>> {
    let read = FIRMWARE.map(|(name, path)| (name.to_owned(), text(root, path)));
    read.into_iter().filter(|(_, fact)| matches!(fact, Fact::Known { .. })).collect()
}

fn text(root: &Root, path: &str) -> Fact<String> {
    root.text(path).map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// `performance`, or `performance on 12 CPUs, powersave on 4`.
fn of_all_cpus(root: &Root, file: &str) -> Fact<String> {
    const CPUS: &str = "sys/devices/system/cpu";
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut gap = Fact::absent(format!("/{CPUS}/cpu*/cpufreq/{file}"));
    for cpu in root.numbered(CPUS, "cpu") {
        match root.text(&format!("{CPUS}/cpu{cpu}/cpufreq/{file}")) {
            Fact::Known { value, .. } => *counts.entry(value).or_default() += 1,
            // A CPU that is switched off has none.
            Fact::Absent { .. } => {}
            other => gap = other,
        }
    }
    let from = format!("/{CPUS}/cpu*/cpufreq/{file}");
    match counts.len() {
        0 => gap,
        1 => Fact::known(counts.into_keys().collect(), from),
        _ => {
            let each = counts.iter().map(|(value, cpus)| format!("{value} on {cpus} CPUs"));
            Fact::known(each.collect::<Vec<_>>().join(", "), from)
        }
    }
}

/// The driver of Intel says whether turbo is off, the others whether boost is on.
fn turbo(root: &Root) -> Fact<String> {
    let off = root.number("sys/devices/system/cpu/intel_pstate/no_turbo");
    if !matches!(off, Fact::Absent { .. }) {
        return off.map(|off| word(1 - off));
    }
    root.number("sys/devices/system/cpu/cpufreq/boost").map(word)
}

fn word(on: i64) -> String {
    if on == 1 { "on" } else { "off" }.to_owned()
}

/// `DMA-FQ for 41 groups`, or absent when devices reach memory without one.
fn iommu(root: &Root) -> Fact<String> {
    const GROUPS: &str = "sys/kernel/iommu_groups";
    let mut types: BTreeMap<String, u32> = BTreeMap::new();
    for group in root.names(GROUPS) {
        let kind = root.text(&format!("{GROUPS}/{group}/type"));
        let kind = kind.value().cloned().unwrap_or_else(|| "type unknown".to_owned());
        *types.entry(kind).or_default() += 1;
    }
    let each = types.iter().map(|(kind, groups)| format!("{kind} for {groups} groups"));
    if types.is_empty() {
        Fact::absent(format!("/{GROUPS} is empty: devices reach memory untranslated"))
    } else {
        Fact::known(each.collect::<Vec<_>>().join(", "), format!("/{GROUPS}/*/type"))
    }
}

fn command_line(root: &Root) -> Fact<String> {
    match root.text("proc/cmdline").map(|text| {
        let words = text.split_whitespace().filter(|word| command_line::is_setting(word));
        words.collect::<Vec<_>>().join(" ")
    }) {
        Fact::Known { value, from } if value.is_empty() => {
            Fact::absent(format!("{from} sets none of these"))
        }
        fact => fact,
    }
}

/// Modules of the packet filter that are loaded, with their users. The rules are not read.
fn filters(root: &Root) -> Fact<String> {
    let loaded = FILTERS.iter().filter(|name| root.has(&format!("sys/module/{name}")));
    let loaded: Vec<String> = loaded
        .map(|name| match root.number(&format!("sys/module/{name}/refcnt")).value() {
            Some(users) => format!("{name} ({users} users)"),
            None => format!("{name} (built in)"),
        })
        .collect();
    if loaded.is_empty() {
        Fact::absent("/sys/module: none of the packet filter's modules")
    } else {
        Fact::known(loaded.join(", "), "/sys/module/*/refcnt")
    }
}

fn memlock(root: &Root) -> Fact<String> {
    if !root.has_own_process() {
        return Fact::absent("/proc/self/limits (not a live host)");
    }
    root.text("proc/self/limits").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Max locked memory"));
        let soft = line.and_then(|rest| rest.split_whitespace().next());
        soft.map(str::to_owned).ok_or_else(|| "no line Max locked memory".to_owned())
    })
}

/// Whether the daemon that moves interrupts runs: it keeps a socket in its folder.
fn daemon(root: &Root) -> Fact<String> {
    const DIR: &str = "run/irqbalance";
    if root.has(DIR) {
        Fact::known("irqbalance runs".to_owned(), format!("/{DIR}"))
    } else {
        Fact::absent(format!("/{DIR}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn firmwares_version_and_date_are_told_where_it_tells_them() {
        let folder = std::env::temp_dir().join(format!("narrows-bios-{}", std::process::id()));
        let id = folder.join("sys/class/dmi/id");
        std::fs::create_dir_all(&id).expect("a folder");
        std::fs::write(id.join("bios_version"), "2.12.2 \n").expect("a file");
        let told = |root: &Root| {
            let facts = firmware(root).into_iter();
            let words = facts
                .map(|(name, fact)| format!("{name} {}", fact.value().map_or("-", String::as_str)));
            words.collect::<Vec<_>>()
        };
        assert_eq!(told(&Root::at(&folder)), ["bios.version 2.12.2"]);
        std::fs::write(id.join("bios_date"), "07/11/2024\n").expect("a file");
        assert_eq!(told(&Root::at(&folder)), ["bios.date 07/11/2024", "bios.version 2.12.2"]);
        let bmc = folder.join("sys/devices/platform/ipmi_bmc.0");
        std::fs::create_dir_all(&bmc).expect("a folder");
        std::fs::write(bmc.join("firmware_revision"), "6.10\n").expect("a file");
        assert_eq!(told(&Root::at(&folder))[2], "bmc.version 6.10");
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
