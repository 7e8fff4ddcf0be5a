//! `emulated-nic`: does a virtual machine have a NIC that is emulated register by register?
//!
//! An e1000 or rtl8139 in a guest leaves the guest for every few packets; virtio, vmxnet3, netvsc,
//! ena, gve or a virtual function do not.

use super::evidence;
use crate::survey::{Survey, absent, no_device};
use crate::{Case, Rule};
use narrows_model::Fact;
use narrows_model::result::{Devices, Finding, Missing, NotSo, Verdict, Weight};

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
    let mut survey = Survey::default();
    let Some(guest) = guest else {
        if !matches!(&host.virtualised, Fact::Absent { .. }) || host.virtualised.is_unasked() {
            survey.lacks(Missing::fact("whether this is a virtual machine", &host.virtualised));
            return survey.conclude(no_device(Devices::PhysicalNic));
        }
        let because = NotSo::NotVirtual;
        return absent(host, "whether this is a virtual machine", because);
    };
    for nic in host.physical_nics() {
        let Some(driver) = survey.need(format!("driver of {}", nic.name), &nic.driver) else {
            continue;
        };
        let from = nic.driver.source().0.clone();
        // A guest with a card of its own (passed through) has its link in PCI Express.
        let own = nic.path.last().is_some_and(|hop| hop.link.value().is_some());
        if own || !IMITATED.contains(&driver.as_str()) {
            survey.fine(format!("{} has driver {driver}", nic.name), from);
            continue;
        }
        survey.found(Finding {
            rule: RULE.name.into(),
            weight: Weight::Advice,
            says: format!(
                "{} is an emulated {driver} card: every few packets cost an exit from the guest",
                nic.name
            ),
            evidence: vec![
                evidence(format!("driver {driver}"), from),
                evidence(format!("runs in {guest}"), host.virtualised.source().0.clone()),
            ],
            worth: None,
            remedy: "give the machine a virtio (KVM), vmxnet3 (VMware) or passed-through NIC"
                .into(),
        });
    }
    survey.conclude(no_device(Devices::PhysicalNic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown, known, of_host};
    use narrows_model::host::{Host, Nic};

    #[test]
    fn an_imitated_card_is_found_in_a_guest_only() {
        let host = |driver: &str, guest: bool| {
            let nic = Nic { physical: true, driver: known(driver.into()), ..Nic::default() };
            let mut host = Host { nics: vec![nic], ..Host::default() };
            host.cpu.online = Fact::known(vec![0], "/sys/devices/system/cpu/online");
            host.virtualised =
                if guest { known("kvm".into()) } else { Fact::absent("/proc/cpuinfo") };
            host
        };
        assert!(is_found(&of_host(&RULE, host("e1000", true))));
        assert!(is_clear(&of_host(&RULE, host("virtio_net", true))));
        assert!(is_idle(&of_host(&RULE, host("e1000", false))));
        assert!(is_unknown(&of_host(&RULE, Host::default())));
    }
}
