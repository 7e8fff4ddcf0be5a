//! `pcie-payload`: does a NIC send smaller PCIe packets than its path could carry?
//!
//! Each packet has 20 to 28 bytes around its payload: with 128 B a 3.0 link carries about 86 % of
//! its rate as payload, with 256 B about 92 %. Found where every function of the path supports more
//! (PCI Express Base Specification, Device Control register).

use super::evidence;
use crate::setting::conclude;
use crate::{Case, Rule};
use narrows_facts::host::PciHop;
use narrows_facts::result::{Finding, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "pcie-payload",
    asks: "Does a NIC send smaller PCIe packets than its path could carry?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let (mut findings, mut looked) = (Vec::new(), false);
    for nic in case.study.host.physical_nics() {
        let Some(set) = nic.path.last().and_then(|hop| hop.express.value()) else { continue };
        // A function that does not tell leaves open what the path supports.
        let known = |hop: &PciHop| {
            let most = hop.express.value().map(|express| express.max_payload_supported_bytes)?;
            (most.0 > 0).then_some(most)
        };
        let Some(supported) = nic
            .path
            .iter()
            .map(known)
            .collect::<Option<Vec<_>>>()
            .and_then(|all| all.into_iter().min_by_key(|bytes| bytes.0))
        else {
            continue;
        };
        looked = true;
        if set.max_payload_bytes.0 < supported.0 {
            let says = format!(
                "{} sends PCIe packets of {} B; every function on its path could do {} B",
                nic.name, set.max_payload_bytes.0, supported.0
            );
            let from = nic.path.last().map(|hop| hop.express.source().0.clone());
            findings.push(Finding {
                rule: RULE.name.into(),
                weight: Weight::Advice,
                evidence: vec![evidence(says.clone(), from.unwrap_or_default())],
                says,
                worth: None,
                remedy: "pci=pcie_bus_perf on the kernel's command line, or firmware's Max Payload"
                    .into(),
            });
        }
    }
    let nothing = "no path tells what it supports (root, and a device on PCI Express)";
    conclude(findings, looked, "payloads are as large as the paths support", nothing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_facts::Bytes;
    use narrows_facts::host::{Express, Host, Nic};

    #[test]
    fn a_small_payload_is_found_where_all_could_do_more() {
        let hop = |set: u64, most: u64| PciHop {
            express: known(Express {
                max_payload_bytes: Bytes(set),
                max_payload_supported_bytes: Bytes(most),
                ..Express::default()
            }),
            ..PciHop::default()
        };
        let host = |path: Vec<PciHop>| Host {
            nics: vec![Nic { physical: true, path, ..Nic::default() }],
            ..Host::default()
        };
        assert!(is_found(&of_host(&RULE, host(vec![hop(128, 512), hop(128, 256)]))));
        assert!(is_clear(&of_host(&RULE, host(vec![hop(256, 256), hop(256, 512)]))));
        assert!(is_clear(&of_host(&RULE, host(vec![hop(128, 128), hop(128, 512)]))));
        assert!(is_clear(&of_host(&RULE, host(vec![PciHop::default(), hop(128, 512)]))));
    }
}
