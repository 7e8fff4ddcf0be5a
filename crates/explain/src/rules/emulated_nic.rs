//! `emulated-nic`: does a virtual machine have a NIC that is emulated register by register?
//!
//! An e1000 or rtl8139 in a guest leaves the guest for every few packets; virtio, vmxnet3, netvsc,
//! ena, gve or a virtual function do not.

use super::evidence;
use crate::setting::conclude;
use crate::{Case, Rule};
use narrows_facts::result::{Finding, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "emulated-nic",
    asks: "Does a virtual machine have a NIC that is emulated register by register?",
    of_host: true,
    judge,
};

/// Drivers of cards that hypervisors imitate.
const IMITATED: [&str; 6] = ["8139cp", "8139too", "e1000", "e1000e", "ne2k-pci", "pcnet32"];

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let guest = host.virtualised.value();
    let mut findings = Vec::new();
    for nic in host.physical_nics().filter(|_| guest.is_some()) {
        let Some(driver) = nic.driver.value().filter(|name| IMITATED.contains(&name.as_str()))
        else {
            continue;
        };
        // A guest with a card of its own (passed through) has its link in PCI Express.
        if nic.path.last().is_some_and(|hop| hop.link.value().is_some()) {
            continue;
        }
        findings.push(Finding {
            rule: RULE.name.into(),
            weight: Weight::Advice,
            says: format!(
                "{} is an imitated {driver} card: every few packets leave the guest",
                nic.name
            ),
            evidence: vec![
                evidence(format!("driver {driver}"), nic.driver.source().0.clone()),
                evidence(
                    format!("runs in {}", guest.map_or("", String::as_str)),
                    host.virtualised.source().0.clone(),
                ),
            ],
            worth: None,
            remedy: "give the machine a virtio (KVM), vmxnet3 (VMware) or passed-through NIC"
                .into(),
        });
    }
    let clear = "no NIC is an imitated one";
    conclude(findings, guest.is_some(), clear, "this is no virtual machine, as far as it shows")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_facts::host::{Host, Nic};

    #[test]
    fn an_imitated_card_is_found_in_a_guest_only() {
        let host = |driver: &str, guest: bool| {
            let nic = Nic { physical: true, driver: known(driver.into()), ..Nic::default() };
            let mut host = Host { nics: vec![nic], ..Host::default() };
            if guest {
                host.virtualised = known("kvm".into());
            }
            host
        };
        assert!(is_found(&of_host(&RULE, host("e1000", true))));
        assert!(is_clear(&of_host(&RULE, host("virtio_net", true))));
        assert!(is_clear(&of_host(&RULE, host("e1000", false))));
    }
}
