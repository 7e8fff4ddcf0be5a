//! Which event file is of the machine, and what else of the machine counting depends on.

use super::events::{Family, families};
use super::pmu;
use narrows_host::{Root, cpu_id, hypervisor};
use narrows_model::host::CpuId;
use narrows_model::memory_traffic::Uncounted;
use std::collections::BTreeSet;

const CPUS: &str = "sys/devices/system/cpu";
/// PMUs that every kernel has, and those of cores: none of them counts memory.
const OF_CORES: [&str; 10] = [
    "breakpoint",
    "cpu",
    "cstate_core",
    "cstate_pkg",
    "kprobe",
    "msr",
    "power",
    "software",
    "tracepoint",
    "uprobe",
];

/// The family of the machine, or why there is none.
pub fn find(root: &Root) -> Result<Family, Uncounted> {
    if !root.names(pmu::DEVICES).iter().any(|name| !OF_CORES.contains(&&**name)) {
        return Err(Uncounted::NoPmu { inside: hypervisor(root).value().cloned() });
    }
    let processor = cpu_id(root);
    let processor = processor.value();
    for (file, family) in families() {
        let family = family.map_err(|why| Uncounted::BadFile { what: format!("{file}: {why}") })?;
        let is_named = family.is_of(processor);
        let is_there = || has_pmus(root, &family);
        if is_named.map_or_else(is_there, |named| named && (!family.only_with_pmus || is_there())) {
            return Ok(family);
        }
    }
    Err(Uncounted::UnknownFamily { processor: named(root, processor) })
}

fn has_pmus(root: &Root, family: &Family) -> bool {
    family.group.iter().any(|group| !pmu::named(root, &group.pmus).is_empty())
}

/// What `/proc/cpuinfo` tells of the first CPU under a name.
fn told(root: &Root, name: &str) -> Option<String> {
    let text = root.text("proc/cpuinfo");
    let mut lines = text.value()?.lines().filter_map(|line| line.split_once(':'));
    let value = lines.find_map(|(key, value)| (key.trim() == name).then(|| value.trim()))?;
    Some(value.to_owned())
}

fn named(root: &Root, processor: Option<&CpuId>) -> String {
    match processor {
        Some(CpuId { vendor, family, model, .. }) => {
            format!("{vendor} family {family:#x} model {model:#x}")
        }
        None => {
            let part = told(root, "CPU part").map(|part| format!("CPU part {part}"));
            part.unwrap_or_else(|| "/proc/cpuinfo names no model".to_owned())
        }
    }
}

/// The physical package of a CPU, where the kernel tells it.
pub fn package(root: &Root, cpu: u32) -> Option<u32> {
    let package = root.number(&format!("{CPUS}/cpu{cpu}/topology/physical_package_id"));
    u32::try_from(*package.value()?).ok()
}

/// How many packages the CPUs are in; 1 where the kernel does not tell.
pub fn packages(root: &Root) -> usize {
    let cpus = root.numbered(CPUS, "cpu").into_iter();
    let packages: BTreeSet<u32> = cpus.filter_map(|cpu| package(root, cpu)).collect();
    packages.len().max(1)
}

/// The value of `kernel.perf_event_paranoid`, -1 to 4.
pub fn paranoid(root: &Root) -> Option<i64> {
    root.number("proc/sys/kernel/perf_event_paranoid").value().copied()
}
