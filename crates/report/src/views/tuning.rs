//! `tuning`: settings and limits that move network throughput, with where each was read.

use super::View;
use crate::drawn::Screen;
use crate::table::on_screen;
use crate::words;
use narrows_model::Fact;
use narrows_model::cpu_list;
use narrows_model::host::Host;

/// A row a setting; what this machine does not offer is named at the end.
pub static VIEW: View = View { name: "tuning", write };

fn write(host: &Host, screen: &Screen) -> String {
    let mut rows = processors(host);
    rows.extend(host.tuning.iter().map(|(name, fact)| row(name, fact, String::clone)));
    rows.extend(huge_pages(host));
    rows.sort();
    let (told, absent): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| !row[2].is_empty());
    let mut out = on_screen(&["setting", "value", "from"], &told, screen);
    let names: Vec<String> = absent.into_iter().map(|row| row[0].clone()).collect();
    if !names.is_empty() {
        let says = format!("not offered by this machine: {}", names.join(", "));
        out += &format!("\n{}", screen.prose(&says, "  "));
    }
    out
}

/// A row; without a source when the machine has no such thing.
fn row<T>(name: &str, fact: &Fact<T>, show: impl Fn(&T) -> String) -> Vec<String> {
    let value = fact.value().map(show).or_else(|| fact.gap()).unwrap_or_default();
    let from = match fact {
        Fact::Absent { .. } => String::new(),
        fact => fact.source().to_string(),
    };
    vec![name.to_owned(), value, from]
}

fn processors(host: &Host) -> Vec<Vec<String>> {
    let cpu = &host.cpu;
    let mut rows = vec![
        row("cpu.allowed", &cpu.allowed, |cpus| list(cpus)),
        row("cpu.isolated", &cpu.isolated, |cpus| list(cpus)),
        row("cpu.offline", &cpu.offline, |cpus| list(cpus)),
        row("cpu.quota", &cpu.quota_cpus, |cpus| format!("{cpus} CPUs")),
        row("cpu.steal", &cpu.steal_share, |share| format!("{:.2} % since boot", share * 100.0)),
        row("cpu.tickless", &cpu.tickless, |cpus| list(cpus)),
        row("process.memory-limit", &host.memory.cgroup_limit_bytes, ToString::to_string),
        row("virtualised", &host.virtualised, String::clone),
    ];
    rows.push(row("cpu.idle-states", &cpu.idle_states, |states| {
        let each = states.iter().map(|state| {
            let off = match state.disabled_on {
                0 => String::new(),
                cpus => format!(" (off on {})", words::counted(cpus as usize, "CPU")),
            };
            format!("{} {} us{off}", state.name, state.exit_latency_us)
        });
        each.collect::<Vec<_>>().join(", ")
    }));
    rows
}

fn list(cpus: &[u32]) -> String {
    if cpus.is_empty() { "none".into() } else { cpu_list::show(cpus) }
}

fn huge_pages(host: &Host) -> Vec<Vec<String>> {
    let rows = host.nodes.iter().flat_map(|node| {
        node.huge_pages.iter().map(move |pool| {
            vec![
                format!("mm.hugepages.node{}.{}", node.id, pool.size_bytes).replace(' ', ""),
                format!("{} pages, {} free", pool.total, pool.free),
                format!("/sys/devices/system/node/node{}/hugepages", node.id),
            ]
        })
    });
    rows.collect()
}
