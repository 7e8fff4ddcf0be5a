//! `memory-size`: do the modules, the nodes and the kernel agree on how much memory there is?
//!
//! The kernel keeps back a part of what is plugged in (its own image, firmware, crash kernel): up
//! to an eighth is taken as ordinary. More than is plugged in, or nodes that do not add up, means
//! that one of the sources is wrong or that memory was added, and figures built on it are in doubt.

use super::evidence;
use crate::{Case, Rule};
use narrows_facts::Bytes;
use narrows_facts::host::Host;
use narrows_facts::result::{Evidence, Finding, Verdict, Weight};

/// The rule.
pub static RULE: Rule = Rule {
    name: "memory-size",
    asks: "Do modules, nodes and kernel agree on how much memory there is?",
    judge,
};

/// The least share of the modules' memory that a kernel shows.
const KERNEL_SHARE_MIN: f64 = 0.875;
/// How far nodes and kernel may differ: both are counts of the same pages.
const NODES_TOLERANCE: f64 = 0.02;

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let Some(kernel) = host.memory.total_bytes.value() else {
        return Verdict::Unknown { missing: vec!["MemTotal of the kernel".into()] };
    };
    let from = host.memory.total_bytes.source().0.clone();
    let kernel_says = evidence(format!("the kernel manages {kernel}"), from);
    let checks = [nodes(host, *kernel), modules(host, *kernel)];
    if checks.iter().all(Option::is_none) {
        return Verdict::Unknown { missing: vec!["memory of the modules or of the nodes".into()] };
    }
    let findings: Vec<Finding> = checks
        .into_iter()
        .flatten()
        .filter(|check| !check.agrees)
        .map(|check| Finding {
            rule: RULE.name.into(),
            weight: Weight::Caution,
            says: check.says,
            evidence: vec![kernel_says.clone(), check.evidence],
            worth: None,
            remedy: check.remedy.into(),
        })
        .collect();
    match findings.is_empty() {
        true => Verdict::Clear { because: format!("{kernel} by every source that tells") },
        false => Verdict::Found { findings },
    }
}

/// One comparison with what the kernel manages.
struct Check {
    agrees: bool,
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
        agrees: (ratio - 1.0).abs() <= NODES_TOLERANCE,
        says: format!("The nodes ({counted}) have {sum} of memory, the kernel manages {kernel}"),
        evidence: evidence(format!("nodes: {sum}"), "/sys/devices/system/node/node*/meminfo"),
        remedy: "do not size buffers by a node here; was memory added while the machine ran?",
    })
}

fn modules(host: &Host, kernel: Bytes) -> Option<Check> {
    let slots = host.memory.slots.value()?;
    let dram = slots.iter().filter_map(|slot| slot.module.as_ref()).filter(|m| m.is_dram);
    let sizes: Option<Vec<u64>> = dram.map(|module| Some(module.size_bytes?.0)).collect();
    let sum = Bytes(sizes.filter(|s| !s.is_empty())?.into_iter().fold(0, u64::saturating_add));
    // Persistent memory may be used as memory: then the kernel rightly has more.
    let stored = slots.iter().any(|slot| slot.module.as_ref().is_some_and(|m| !m.is_dram));
    let ratio = kernel.0 as f64 / sum.0.max(1) as f64;
    Some(Check {
        agrees: ratio >= KERNEL_SHARE_MIN && (ratio <= 1.0 || stored),
        says: format!("The modules hold {sum}, the kernel manages {kernel}"),
        evidence: evidence(format!("modules: {sum}"), host.memory.slots.source().0.clone()),
        remedy: "look in the firmware's log for modules that were switched off, for mirroring or \
                 sparing, and at the kernel's command line for a limit",
    })
}
