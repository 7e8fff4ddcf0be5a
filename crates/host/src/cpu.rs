//! Processors and caches, from `/sys/devices/system/cpu` and `/proc/cpuinfo`.

use crate::{Root, cgroup, list};
use narrows_facts::host::{Cache, Cpu, CpuPlace, CpuSocket, IdleState};
use narrows_facts::{Bytes, Fact};

const CPUS: &str = "sys/devices/system/cpu";

/// Reads the processors; `sockets` are firmware's.
pub fn read(root: &Root, sockets: Fact<Vec<CpuSocket>>) -> Cpu {
    let online = online(root);
    let numbers = online.value().cloned().unwrap_or_default();
    // Older kernels write "(null)" for no CPU at all.
    let parse = |text: String| list::parse(text.strip_prefix("(null)").unwrap_or(&text));
    let cpus = |file: &str| root.text(&format!("{CPUS}/{file}")).and_then(parse);
    Cpu {
        offline: cpus("offline"),
        isolated: cpus("isolated"),
        tickless: cpus("nohz_full"),
        quota_cpus: cgroup::cpu_quota(root),
        sockets,
        steal_share: root.text("proc/stat").and_then(|text| steal(&text)),
        idle_states: idle_states(root),
        model: model(root),
        allowed: allowed(root),
        places: numbers.iter().map(|cpu| place(root, *cpu)).collect(),
        caches: caches(root, &numbers),
        online,
    }
}

fn online(root: &Root) -> Fact<Vec<u32>> {
    let file = root.text(&format!("{CPUS}/online")).and_then(|text| list::parse(&text));
    if file.value().is_some() {
        return file;
    }
    // Captures of old kernels lack the file: count the CPUs that tell where they are.
    let mut numbers = root.numbered(CPUS, "cpu");
    numbers.retain(|cpu| root.has(&format!("{CPUS}/cpu{cpu}/topology")));
    if numbers.is_empty() { file } else { Fact::known(numbers, format!("/{CPUS}/cpu*/topology")) }
}

/// CPUs of this process's affinity mask; a capture has no process of its own.
fn allowed(root: &Root) -> Fact<Vec<u32>> {
    if !root.has_own_process() {
        return Fact::absent("/proc/self/status (not a live host)");
    }
    root.text("proc/self/status").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        list::parse(line.ok_or("no line Cpus_allowed_list")?)
    })
}

fn model(root: &Root) -> Fact<String> {
    let text = root.text("proc/cpuinfo");
    let from = text.source().clone();
    let Some(text) = text.value() else { return text };
    let field = |key: &str| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.split_whitespace().collect::<Vec<_>>().join(" "))
        })
    };
    let named = ["model name", "Processor", "cpu model", "cpu"].into_iter().find_map(field);
    // An Arm kernel gives numbers only: who designed the core, and which it is.
    let arm = || {
        let (maker, part) = (field("CPU implementer")?, field("CPU part")?);
        Some(format!("Arm core, implementer {maker}, part {part}"))
    };
    match named.or_else(arm) {
        Some(value) => Fact::Known { value, from },
        None => Fact::Absent { from },
    }
}

fn place(root: &Root, cpu: u32) -> CpuPlace {
    let topology = |name: &str| {
        let path = format!("{CPUS}/cpu{cpu}/topology/{name}");
        root.number(&path).value().and_then(|number| u32::try_from(*number).ok())
    };
    CpuPlace {
        cpu,
        package: topology("physical_package_id"),
        die: topology("die_id"),
        core: topology("core_id"),
        node: root.numbered(&format!("{CPUS}/cpu{cpu}"), "node").first().copied(),
    }
}

/// Steal as a share of all CPU time: the eighth number of the first line (proc(5)). Time of guests
/// is part of user time and not counted twice.
fn steal(text: &str) -> Result<f64, String> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu ")).ok_or("no line cpu")?;
    let times: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let whole: f64 = times.iter().take(8).sum();
    match times.get(7) {
        Some(steal) if whole > 0.0 => Ok(steal / whole),
        _ => Err(format!("'{line}' has no steal")),
    }
}

/// The idle states of the first CPU that lists any, and on how many CPUs each is switched off.
fn idle_states(root: &Root) -> Fact<Vec<IdleState>> {
    let from = format!("/{CPUS}/cpu*/cpuidle");
    let cpus = root.numbered(CPUS, "cpu");
    let dir = |cpu: u32| format!("{CPUS}/cpu{cpu}/cpuidle");
    let first = cpus.iter().find(|cpu| !root.numbered(&dir(**cpu), "state").is_empty());
    let Some(first) = first else { return Fact::absent(from) };
    let disabled = |state: u32| {
        let is_off = |cpu: &&u32| {
            root.number(&format!("{}/state{state}/disable", dir(**cpu))).value() == Some(&1)
        };
        cpus.iter().filter(is_off).count() as u32
    };
    let states = root.numbered(&dir(*first), "state").into_iter().filter_map(|state| {
        let file = |leaf: &str| format!("{}/state{state}/{leaf}", dir(*first));
        Some(IdleState {
            name: root.text(&file("name")).value()?.clone(),
            exit_latency_us: u64::try_from(*root.number(&file("latency")).value()?).ok()?,
            disabled_on: disabled(state),
        })
    });
    Fact::known(states.collect(), from)
}

/// Every cache once. CPUs of one machine may list theirs incompletely; what no CPU lists is
/// missing.
fn caches(root: &Root, online: &[u32]) -> Vec<Cache> {
    let mut caches: Vec<Cache> = Vec::new();
    for cpu in online {
        let dir = format!("{CPUS}/cpu{cpu}/cache");
        for index in root.numbered(&dir, "index") {
            if let Some(cache) = cache(root, &format!("{dir}/index{index}"))
                && !caches.contains(&cache)
            {
                caches.push(cache);
            }
        }
    }
    caches.sort_by(|a, b| (a.level, &a.kind, &a.cpus).cmp(&(b.level, &b.kind, &b.cpus)));
    caches
}

fn cache(root: &Root, dir: &str) -> Option<Cache> {
    let file = |name: &str| root.text(&format!("{dir}/{name}"));
    let shared = root.text(&format!("{dir}/shared_cpu_list")).and_then(|text| list::parse(&text));
    let cpus = match shared.value() {
        Some(cpus) => cpus.clone(),
        None => list::parse_mask(file("shared_cpu_map").value()?).ok()?,
    };
    Some(Cache {
        level: file("level").value()?.parse().ok()?,
        kind: file("type").value()?.clone(),
        size_bytes: size(file("size").value()?)?,
        cpus,
    })
}

/// A cache size such as `480M` or `2048K`.
fn size(text: &str) -> Option<Bytes> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_a_share_of_all_time() {
        assert_eq!(steal("cpu  10 0 10 60 0 0 0 20 5 0\ncpu0 1 2"), Ok(0.2));
        assert!(steal("cpu  10 0 10").is_err());
        assert!(steal("intr 3").is_err());
    }
}
