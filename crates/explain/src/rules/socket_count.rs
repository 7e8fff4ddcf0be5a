//! `socket-count`: do firmware and kernel agree on the processors?
//!
//! Firmware lists the sockets of the board (SMBIOS type 4), the kernel what the processors say of
//! themselves. A processor that firmware sees and the kernel does not is switched off or limited by
//! the command line; its memory and its PCIe lanes are then far from every CPU.

use super::evidence;
use crate::{Case, Rule};
use narrows_model::result::{Finding, Missing, Verdict, Weight};
use std::collections::BTreeSet;

/// Do firmware and kernel agree on the processors?
pub static RULE: Rule = Rule {
    name: "socket-count",
    asks: "Do firmware and kernel agree on the number of processors?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let packages: BTreeSet<u32> =
        host.cpu.places.iter().filter_map(|place| place.package).collect();
    let sockets = &host.cpu.sockets;
    let Some(listed) = sockets.value() else {
        return Verdict::unknown(Missing::fact("processor sockets", sockets));
    };
    let populated = listed.iter().filter(|socket| socket.populated).count();
    if packages.is_empty() {
        return Verdict::unknown(Missing::unread("packages of the kernel's CPUs"));
    }
    if populated == packages.len() {
        let says = format!("{populated} by firmware and by the kernel");
        return Verdict::clear(evidence(says, sockets.source().0.clone()));
    }
    let names: Vec<&str> =
        listed.iter().filter(|s| s.populated).map(|socket| socket.name.as_str()).collect();
    Verdict::Found {
        findings: vec![Finding {
            rule: RULE.name.into(),
            weight: Weight::Caution,
            says: format!(
                "Firmware lists {populated} processors, the kernel runs on {} packages",
                packages.len()
            ),
            evidence: vec![
                evidence(format!("sockets {}", names.join(", ")), sockets.source().0.clone()),
                evidence(
                    format!("packages {packages:?}"),
                    "/sys/devices/system/cpu/cpu*/topology/physical_package_id",
                ),
            ],
            worth: None,
            remedy:
                "look for CPUs that are offline, for maxcpus or nr_cpus on the kernel's command \
                     line, and for a processor that firmware has switched off"
                    .into(),
        }],
    }
}
