//! Processors and caches, from `/sys/devices/system/cpu` and `/proc/cpuinfo`.

use crate::folder::Folder;
use crate::garbled::Garbled;
use crate::{Root, cgroup, cpuinfo, list};
use narrows_model::host::{Cache, Cpu, CpuId, CpuPlace, CpuSocket, IdleState};
use narrows_model::{Bytes, Fact};
use std::collections::BTreeMap;

const CPUS: &str = "sys/devices/system/cpu";

/// Reads the processors; `sockets` are firmware's.
pub fn read(root: &Root, sockets: Fact<Vec<CpuSocket>>) -> Cpu {
    let online = online(root);
    let numbers = online.value().cloned().unwrap_or_default();
    Cpu {
        offline: cpus(root, "offline"),
        isolated: cpus(root, "isolated"),
        tickless: cpus(root, "nohz_full"),
        quota_cpus: cgroup::cpu_quota(root),
        sockets,
        steal_share: root.text("proc/stat").and_then(|text| steal(&text)),
        idle_states: idle_states(root),
        counts: Fact::absent(format!("/{CPUS}")),
        model: model(root),
        id: id(root),
        allowed: allowed(root),
        places: places(root, &numbers),
        caches: caches(root, &numbers),
        online,
    }
}

/// A list of CPUs; older kernels write "(null)" for none at all.
fn cpus(root: &Root, file: &str) -> Fact<Vec<u32>> {
    let text = root.text(&format!("{CPUS}/{file}"));
    text.and_then(|text| list::parse(text.strip_prefix("(null)").unwrap_or(&text)))
}

fn online(root: &Root) -> Fact<Vec<u32>> {
    let file = root.text(&format!("{CPUS}/online")).and_then(|text| list::parse(&text));
    if file.value().is_some() {
        return file;
    }
    // Captures of old kernels lack the file: count the CPUs that tell where they are.
    let mut numbers = root.numbered(CPUS, "cpu");
    numbers.retain(|cpu| root.has(&format!("{CPUS}/cpu{cpu}/topology")));
    match numbers.is_empty() {
        // Reports of some tools copy no more than this of a machine's processors.
        true if !root.has(CPUS) => cpuinfo::online(root),
        true => file,
        false => Fact::known(numbers, format!("/{CPUS}/cpu*/topology")),
    }
}

/// CPUs of this process's affinity mask; a capture has no process of its own.
fn allowed(root: &Root) -> Fact<Vec<u32>> {
    if !root.has_own_process() {
        return Fact::absent("/proc/self/status (not a live host)");
    }
    root.text("proc/self/status").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.ok_or_else(|| "no line Cpus_allowed_list".to_owned())
            .and_then(|line| list::parse(line).map_err(|error| error.to_string()))
    })
}

fn model(root: &Root) -> Fact<String> {
    let text = root.text("proc/cpuinfo");
    let from = text.source().clone();
    let Some(text) = text.value() else { return text };
    let field = |key: &str| first(text, key);
    let named = ["model name", "Processor", "cpu model", "cpu"].into_iter().find_map(field);
    // An Arm kernel gives numbers only: who designed the core, and which it is.
    match named.or_else(|| {
        let (maker, part) = (field("CPU implementer")?, field("CPU part")?);
        Some(
            arm_core(&maker, &part)
                .unwrap_or_else(|| format!("Arm core, implementer {maker}, part {part}")),
        )
    }) {
        Some(value) => Fact::Known { value, from },
        None => Fact::Absent { from, said: None },
    }
}

/// Cores of Arm by their numbers, a line each.
const ARM_CORES: &str = include_str!("../data/arm_cores");

/// Who designed a core and what it is called, such as `Arm Neoverse-N1`, by the numbers of its
/// MIDR_EL1 as the kernel writes them (`0x41`, `0xd0c`); `None` where the table has none.
fn arm_core(implementer: &str, part: &str) -> Option<String> {
    let number = |text: &str| u16::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let wanted = (number(implementer)?, number(part)?);
    ARM_CORES.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let own = (number(fields.next()?)?, number(fields.next()?)?);
        let named = fields.collect::<Vec<_>>().join(" ");
        (own == wanted).then_some(named)
    })
}

/// What the file tells of the first CPU that has the key, its spaces single.
fn first(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.split_whitespace().collect::<Vec<_>>().join(" "))
    })
}

/// The processor by CPUID's numbers; absent where the kernel tells none, as on Arm.
pub fn id(root: &Root) -> Fact<CpuId> {
    let text = root.text("proc/cpuinfo");
    let from = text.source().clone();
    let read = |text: &str| {
        let number = |key: &str| first(text, key)?.parse().ok();
        Some(CpuId {
            vendor: first(text, "vendor_id")?,
            family: number("cpu family")?,
            model: number("model")?,
            stepping: number("stepping"),
        })
    };
    match text.value().and_then(|text| read(text)) {
        Some(value) => Fact::Known { value, from },
        None => Fact::Absent { from, said: None },
    }
}

fn places(root: &Root, numbers: &[u32]) -> Vec<CpuPlace> {
    if !root.has(CPUS) {
        return cpuinfo::places(root);
    }
    let mut places: Vec<CpuPlace> = numbers.iter().map(|cpu| place(root, *cpu)).collect();
    number_cores(&mut places, |cpu: u32| {
        siblings(root, cpu)?.into_iter().find(|cpu| numbers.contains(cpu))
    });
    places
}

/// CPUs of one core; the file was renamed in kernel 5.3, and both are there.
fn siblings(root: &Root, cpu: u32) -> Option<Vec<u32>> {
    let topology = Folder::of(root, format!("{CPUS}/cpu{cpu}/topology"));
    let lists = ["core_cpus_list", "thread_siblings_list"].into_iter();
    let listed = lists.filter_map(|leaf| list::parse(&topology.told(leaf)?).ok());
    let masks = ["core_cpus", "thread_siblings"].into_iter();
    let masked = masks.filter_map(|leaf| list::parse_mask(&topology.told(leaf)?).ok());
    listed.chain(masked).find(|cpus| cpus.contains(&cpu))
}

/// Gives each core a number of its own. The kernel's numbers are unique inside a node, a die or a
/// cluster of some machines (Opteron 6100, Hygon, RISC-V), which are not told: where they are not
/// the sets of threads that it lists, the first CPU of each set is the number. `lead` gives it.
pub(crate) fn number_cores(places: &mut [CpuPlace], lead: impl Fn(u32) -> Option<u32>) {
    let leads: Option<Vec<u32>> = places.iter().map(|place| lead(place.cpu)).collect();
    let Some(leads) = leads else { return };
    let mut by_number: BTreeMap<(Option<u32>, Option<u32>, u32), u32> = BTreeMap::new();
    let mut by_lead: BTreeMap<u32, (Option<u32>, Option<u32>, u32)> = BTreeMap::new();
    let alike = places.iter().zip(&leads).all(|(place, lead)| {
        let Some(core) = place.core else { return false };
        let key = (place.package, place.die, core);
        *by_number.entry(key).or_insert(*lead) == *lead
            && *by_lead.entry(*lead).or_insert(key) == key
    });
    if !alike {
        places.iter_mut().zip(leads).for_each(|(place, lead)| place.core = Some(lead));
    }
}

fn place(root: &Root, cpu: u32) -> CpuPlace {
    let topology = Folder::of(root, format!("{CPUS}/cpu{cpu}/topology"));
    CpuPlace {
        cpu,
        package: topology.fitting("physical_package_id"),
        die: topology.fitting("die_id"),
        core: topology.fitting("core_id"),
        node: root.numbered(&format!("{CPUS}/cpu{cpu}"), "node").first().copied(),
    }
}

/// Steal as a share of all CPU time: the eighth number of the first line (proc(5)). Time of guests
/// is part of user time and not counted twice.
fn steal(text: &str) -> Result<f64, Garbled> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "));
    let line = line.ok_or_else(|| Garbled::NoLine("cpu".to_owned()))?;
    let times: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let whole: f64 = times.iter().take(8).sum();
    match times.get(7) {
        Some(steal) if whole > 0.0 => Ok(steal / whole),
        _ => Err(Garbled::Lacks { line: line.to_owned(), quantity: "steal" }),
    }
}

/// The idle states of the first CPU that lists any, and on how many CPUs each is switched off.
fn idle_states(root: &Root) -> Fact<Vec<IdleState>> {
    let from = format!("/{CPUS}/cpu*/cpuidle");
    let cpus = root.numbered(CPUS, "cpu");
    let first = cpus.iter().find(|cpu| !root.numbered(&dir(**cpu), "state").is_empty());
    let Some(first) = first else { return Fact::absent(from) };
    let states = root.numbered(&dir(*first), "state").into_iter().filter_map(|state| {
        let of = Folder::of(root, format!("{}/state{state}", dir(*first)));
        Some(IdleState {
            name: of.told("name")?,
            exit_latency_us: of.fitting("latency")?,
            disabled_on: disabled_on(root, &cpus, state),
        })
    });
    Fact::known(states.collect(), from)
}

/// On how many CPUs an idle state is switched off.
fn disabled_on(root: &Root, cpus: &[u32], state: u32) -> u32 {
    let files = cpus.iter().map(|cpu| format!("{}/state{state}/disable", dir(*cpu)));
    files.filter(|file| root.number(file).value() == Some(&1)).count() as u32
}

fn dir(cpu: u32) -> String {
    format!("{CPUS}/cpu{cpu}/cpuidle")
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
    let of = Folder::of(root, dir);
    let cpus = match of.list("shared_cpu_list").value() {
        Some(cpus) => cpus.clone(),
        None => list::parse_mask(&of.told("shared_cpu_map")?).ok()?,
    };
    Some(Cache {
        level: of.told("level")?.parse().ok()?,
        kind: of.told("type")?,
        size_bytes: size(&of.told("size")?)?,
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
    use crate::tree::Tree;

    #[test]
    fn cores_whose_numbers_repeat_are_told_apart_by_their_threads() {
        // Two dies of two cores in one package, each counting its cores from 0; no threads.
        let place = |cpu: u32| CpuPlace {
            cpu,
            package: Some(0),
            core: Some(cpu % 2),
            ..CpuPlace::default()
        };
        let cores = |lead: &dyn Fn(u32) -> Option<u32>| {
            let mut places: Vec<CpuPlace> = (0..4).map(place).collect();
            number_cores(&mut places, lead);
            places.iter().filter_map(|place| place.core).collect::<Vec<u32>>()
        };
        assert_eq!(cores(&Some), [0, 1, 2, 3]);
        // Two threads of each core: the kernel's numbers are right and stay.
        assert_eq!(cores(&|cpu| Some(cpu % 2)), [0, 1, 0, 1]);
        // Nothing is known of the threads of one.
        assert_eq!(cores(&|cpu| (cpu != 2).then_some(cpu)), [0, 1, 0, 1]);
        // Numbers that part what is one core.
        assert_eq!(cores(&|cpu| Some(cpu / 2 * 2)), [0, 0, 2, 2]);
    }

    #[test]
    fn cpuid_is_the_first_cpus_and_absent_where_a_number_of_it_is() {
        let told = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: X\n\
                    stepping\t: 2\n\nvendor_id\t: Other\nmodel\t\t: 1\n";
        let of = |text: String| {
            let mut tree = Tree::default();
            tree.put("proc/cpuinfo", text.into_bytes());
            id(&Root::of_tree(tree))
        };
        let all = of(told.to_owned());
        let id = all.value().expect("all four");
        assert_eq!((id.vendor.as_str(), id.family, id.model), ("GenuineIntel", 6, 207));
        assert_eq!(id.stepping, Some(2));
        let unstepped = of(told.replace("stepping", "microcode"));
        assert_eq!(unstepped.value().map(|id| id.stepping), Some(None));
        let arm = of("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n".to_owned());
        assert!(matches!(arm, Fact::Absent { .. }), "{arm:?}");
        let cut = of(told.replace(": 6", ": six"));
        assert!(matches!(cut, Fact::Absent { .. }), "{cut:?}");
    }

    #[test]
    fn an_arm_core_is_named_by_its_numbers() {
        let of = |implementer: &str, part: &str| {
            let mut tree = Tree::default();
            let text = format!("CPU implementer\t: {implementer}\nCPU part\t: {part}\n");
            tree.put("proc/cpuinfo", text.into_bytes());
            model(&Root::of_tree(tree)).value().cloned().unwrap_or_default()
        };
        assert_eq!(of("0x41", "0xd0c"), "Arm Neoverse-N1");
        assert_eq!(of("0x41", "0xd4f"), "Arm Neoverse-V2");
        assert_eq!(of("0xc0", "0xac3"), "Ampere Ampere-1");
        assert_eq!(of("0x48", "0xd01"), "HiSilicon Kunpeng-920");
        assert_eq!(of("0x6d", "0xd49"), "Microsoft Azure-Cobalt-100");
        assert_eq!(of("0x41", "0xfff"), "Arm core, implementer 0x41, part 0xfff");
        assert_eq!(of("65", "0xd0c"), "Arm core, implementer 65, part 0xd0c");
        // Each line is whole, and no core has two names.
        let lines = || ARM_CORES.lines().filter(|line| !line.starts_with('#'));
        let mut keys: Vec<&str> = lines().filter_map(|line| line.get(..10)).collect();
        assert!(lines().all(|line| line.split(' ').count() >= 4), "{ARM_CORES}");
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), lines().count());
    }

    #[test]
    fn steal_is_a_share_of_all_time() {
        assert_eq!(steal("cpu  10 0 10 60 0 0 0 20 5 0\ncpu0 1 2"), Ok(0.2));
        assert!(steal("cpu  10 0 10").is_err());
        assert!(steal("intr 3").is_err());
    }
}
