//! `memory-size`: do the modules, the nodes and the kernel agree on how much memory there is?
//!
//! The kernel keeps back a part of what is plugged in (its own image, firmware, crash kernel): up
//! to an eighth is taken as ordinary. More than is plugged in, or nodes that do not add up, means
//! that one of the sources is wrong or that memory was added, and figures built on it are in doubt.

use super::evidence;
use crate::survey::{Survey, not_so};
use crate::{Case, Rule};
use narrows_model::Bytes;
use narrows_model::host::Host;
use narrows_model::result::{Evidence, Finding, Missing, NotSo, Unclear, Verdict, Weight};

/// Do the modules, the nodes and the kernel agree on how much memory there is?
pub static RULE: Rule = Rule {
    name: "memory-size",
    asks: "Do modules, nodes and kernel agree on how much memory there is?",
    of_host: true,
    judge,
};

/// The least share of the modules' memory that a kernel shows.
const KERNEL_SHARE_MIN: f64 = 0.875;
/// How far nodes and kernel may differ: both are counts of the same pages.
const NODES_TOLERANCE: f64 = 0.02;

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let Some(kernel) = host.memory.total_bytes.value() else {
        return Verdict::unknown(Missing::fact("the kernel's memory", &host.memory.total_bytes));
    };
    let from = host.memory.total_bytes.source().0.clone();
    let kernel_says = evidence(format!("the kernel manages {kernel}"), from);
    let checks = [nodes(host, *kernel), modules(host, *kernel), ranges(host), controllers(host)];
    // The modules are what the others are held against: without them little was looked at.
    let mut survey = Survey::default();
    if checks.iter().all(Option::is_none) {
        survey.lacks(Unclear::MemoryOfModulesOrNodes.into());
    }
    if plugged(host).is_none() {
        survey.lacks(match host.memory.slots.value() {
            None => Missing::fact("memory slots", &host.memory.slots),
            Some(_) => Unclear::EveryModuleSize.into(),
        });
    }
    survey.fine(kernel_says.says.clone(), kernel_says.from.clone());
    for check in checks.iter().flatten().filter(|check| check.agrees) {
        survey.fine(check.evidence.says.clone(), check.evidence.from.clone());
    }
    checks
        .into_iter()
        .flatten()
        .filter(|check| !check.agrees)
        .map(|check| Finding {
            rule: RULE.name.into(),
            weight: Weight::Caution,
            says: check.says,
            evidence: check
                .beside
                .into_iter()
                .chain([kernel_says.clone(), check.evidence])
                .collect(),
            worth: None,
            remedy: check.remedy.into(),
        })
        .for_each(|finding| survey.found(finding));
    survey.conclude(not_so(NotSo::NoMemory))
}

/// One comparison of two sources.
struct Check {
    agrees: bool,
    /// What it was compared with, when that is not the kernel.
    beside: Option<Evidence>,
    says: String,
    evidence: Evidence,
    remedy: &'static str,
}

fn nodes(host: &Host, kernel: Bytes) -> Option<Check> {
    let sizes: Option<Vec<u64>> =
        host.nodes.iter().map(|node| Some(node.memory_bytes.value()?.0)).collect();
    let sum = Bytes(sizes.filter(|s| !s.is_empty())?.into_iter().fold(0, u64::saturating_add));
    let ratio = sum.0 as f64 / kernel.0.max(1) as f64;
    let counted = host.nodes.len();
    Some(Check {
        // A hypervisor takes pages back and gives them again while the machine runs.
        agrees: (ratio - 1.0).abs() <= NODES_TOLERANCE
            || (ratio < 1.0 && host.virtualised.value().is_some()),
        says: format!("The nodes ({counted}) have {sum} of memory, the kernel manages {kernel}"),
        evidence: evidence(format!("nodes: {sum}"), "/sys/devices/system/node/node*/meminfo"),
        beside: None,
        remedy: "do not size buffers by a node here; was memory added while the machine ran?",
    })
}

/// What all DRAM modules hold.
fn plugged(host: &Host) -> Option<Bytes> {
    let slots = host.memory.slots.value()?;
    let dram = slots.iter().filter_map(|slot| slot.module.as_ref()).filter(|m| m.is_dram);
    let sizes: Option<Vec<u64>> = dram.map(|module| Some(module.size_bytes?.0)).collect();
    Some(Bytes(sizes.filter(|s| !s.is_empty())?.into_iter().fold(0, u64::saturating_add)))
}

fn modules(host: &Host, kernel: Bytes) -> Option<Check> {
    let slots = host.memory.slots.value()?;
    let sum = plugged(host)?;
    // Persistent memory may be used as memory: then the kernel rightly has more.
    let stored = slots.iter().any(|slot| slot.module.as_ref().is_some_and(|m| !m.is_dram));
    let ratio = kernel.0 as f64 / sum.0.max(1) as f64;
    Some(Check {
        agrees: ratio >= KERNEL_SHARE_MIN && (ratio <= 1.0 || stored),
        says: format!("The modules hold {sum}, the kernel manages {kernel}"),
        evidence: evidence(format!("modules: {sum}"), host.memory.slots.source().0.clone()),
        beside: None,
        remedy: "look in the firmware's log for modules that were switched off, for mirroring or \
                 sparing, and at the kernel's command line for a limit",
    })
}

/// Firmware's ranges of addresses against firmware's modules: mirroring shows here.
fn ranges(host: &Host) -> Option<Check> {
    let (ranges, plugged) = (host.memory.ranges.value()?, plugged(host)?);
    // Boards list the same addresses for a socket and again for its arrays: count each once.
    let mut spans: Vec<(u64, u64)> = ranges.iter().map(|range| (range.first, range.last)).collect();
    spans.sort_unstable();
    let (mut sum, mut next) = (0u64, 0u64);
    for (first, last) in spans {
        let first = first.max(next);
        if last >= first {
            sum = sum.saturating_add(last - first).saturating_add(1);
            next = last.saturating_add(1);
        }
    }
    let sum = Bytes(sum);
    let exact = host.memory.slots.value().is_some_and(|slots| {
        !slots.iter().any(|slot| slot.module.as_ref().is_some_and(|m| !m.is_dram))
    });
    Some(Check {
        // Holes beside the modules make it more, what firmware keeps to itself less.
        agrees: !exact || sum.0 as f64 >= KERNEL_SHARE_MIN * plugged.0 as f64,
        says: format!("The modules hold {plugged}, firmware gives addresses to {sum}"),
        evidence: evidence(format!("addresses: {sum}"), host.memory.ranges.source().0.clone()),
        beside: Some(evidence(format!("modules: {plugged}"), host.memory.slots.source().0.clone())),
        remedy: "look in the firmware's setup for mirroring, sparing or modules that were switched off",
    })
}

/// The modules of the controllers' driver against firmware's.
fn controllers(host: &Host) -> Option<Check> {
    let (seen, plugged) = (host.memory.controllers.value()?, plugged(host)?);
    let sizes: Option<Vec<u64>> = seen.iter().map(|module| Some(module.size_bytes?.0)).collect();
    let sum = Bytes(sizes.filter(|s| !s.is_empty())?.into_iter().fold(0, u64::saturating_add));
    Some(Check {
        agrees: sum == plugged,
        says: format!("Firmware lists modules of {plugged}, the memory controllers see {sum}"),
        evidence: evidence(
            format!("controllers: {sum}"),
            host.memory.controllers.source().0.clone(),
        ),
        beside: Some(evidence(format!("modules: {plugged}"), host.memory.slots.source().0.clone())),
        remedy: "a module may have been left out after a fault: look in the firmware's log",
    })
}
