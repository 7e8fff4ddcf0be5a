//! `pcie-payload`: does a NIC send smaller PCIe packets than its path could carry?
//!
//! Each packet has 20 to 28 bytes around its payload: with 128 B a 3.0 link carries about 86 % of
//! its rate as payload, with 256 B about 92 %. Found where every function of the path supports more
//! (PCI Express Base Specification, Device Control register).

use super::evidence;
use crate::survey::{Survey, no_device};
use crate::{Case, Rule};
use narrows_model::result::{Devices, Finding, Unclear, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "pcie-payload",
    asks: "Does a NIC send smaller PCIe packets than its path could carry?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut survey = Survey::default();
    for nic in case.study.host.physical_nics() {
        let Some(last) = nic.path.last() else { continue };
        let name = format!("PCI Express settings of {}", nic.name);
        let Some(set) = survey.need(name, &last.express) else { continue };
        // A function that does not tell leaves open what the path supports.
        let Some(supported) = nic
            .path
            .iter()
            .map(|hop| {
                let most =
                    hop.express.value().map(|express| express.max_payload_supported_bytes)?;
                (most.0 > 0).then_some(most)
            })
            .collect::<Option<Vec<_>>>()
            .and_then(|all| all.into_iter().min_by_key(|bytes| bytes.0))
        else {
            survey.lacks(Unclear::PathPayload { nic: nic.name.clone() }.into());
            continue;
        };
        let from = last.express.source().0.clone();
        let set = set.max_payload_bytes;
        if set.0 >= supported.0 {
            let says = format!("{} sends {} B, its path does {} B", nic.name, set.0, supported.0);
            survey.fine(says, from);
        } else {
            let says = format!(
                "{} sends PCIe packets of {} B; every function on its path could do {} B",
                nic.name, set.0, supported.0
            );
            survey.found(Finding {
                rule: RULE.name.into(),
                weight: Weight::Advice,
                evidence: vec![evidence(says.clone(), from)],
                says,
                worth: None,
                remedy: "pci=pcie_bus_perf on the kernel's command line, or firmware's Max Payload"
                    .into(),
            });
        }
    }
    survey.conclude(no_device(Devices::NicOnPci))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, known, of_host};
    use narrows_model::Bytes;
    use narrows_model::host::PciHop;
    use narrows_model::host::{Express, Host, Nic};

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
        assert!(is_unknown(&of_host(&RULE, host(vec![PciHop::default(), hop(128, 512)]))));
    }
}
