//! `pcie-acs`: does what a NIC and an accelerator tell each other go by the root complex?
//!
//! A PCIe switch hands packets from one of its ports to another by itself, unless access control
//! services (ACS) of these ports redirect them: then RDMA to an accelerator's memory goes up to the
//! root complex and down again, over one link that all below share. The two ports at which the ways
//! part decide (Linux, Documentation/driver-api/pci/p2pdma.rst). Linux redirects where it uses an
//! IOMMU, for without that it could not keep devices apart: guests that own a device need it.

use super::evidence;
use crate::survey::{Survey, absent, not_so};
use crate::{Case, Rule};
use narrows_model::host::{Acs, Device, DeviceKind, PciHop};
use narrows_model::result::{Finding, Missing, NotSo, Verdict, Weight};
use std::collections::BTreeMap;

pub static RULE: Rule = Rule {
    name: "pcie-acs",
    asks: "Does traffic between a NIC and an accelerator pass the root complex?",
    of_host: true,
    judge,
};

const NONE: NotSo = NotSo::NoSharedSwitch;
/// Driver of functions that a guest owns.
const OF_GUEST: &str = "vfio-pci";

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let of = |kind| {
        let all = host.devices.iter().filter(move |device| device.kind == kind);
        all.filter(|device| device.driver.value().is_none_or(|driver| driver != OF_GUEST))
    };
    let mut survey = Survey::default();
    let mut switches: BTreeMap<&str, Switch<'_>> = BTreeMap::new();
    for nic in of(DeviceKind::Network) {
        for accelerator in of(DeviceKind::Accelerator) {
            if let Some((switch, ports)) = parting(nic, accelerator) {
                let switch = switches.entry(switch).or_default();
                switch.devices.extend([nic, accelerator].map(|one| (one.address.as_str(), one)));
                switch.ports.extend(ports.map(|port| (port.address.as_str(), port)));
            } else {
                for one in [nic, accelerator].into_iter().filter(|one| !is_placed(one)) {
                    survey.lacks(Missing::unread(format!("the bridges above {}", one.address)));
                }
            }
        }
    }
    for (address, switch) in &switches {
        switch.survey(address, &mut survey);
    }
    if host.devices.is_empty() {
        return absent(host, "PCI functions", NONE);
    }
    survey.conclude(not_so(NONE))
}

/// A switch with the NICs and accelerators below, and its ports to them, each by address.
#[derive(Default)]
struct Switch<'a> {
    devices: BTreeMap<&'a str, &'a Device>,
    ports: BTreeMap<&'a str, &'a PciHop>,
}

impl Switch<'_> {
    fn survey(&self, address: &str, survey: &mut Survey) {
        let mut up = Vec::new();
        for (port, hop) in &self.ports {
            let from = hop.acs.source().0.clone();
            match hop.acs.value() {
                Some(acs) if redirects(acs) => {
                    up.push((*port, evidence(format!("port {port}: {}", words(acs)), from)));
                }
                Some(_) => survey.fine(format!("port {port} redirects nothing"), from),
                None if is_without(hop) => {
                    survey.fine(format!("port {port} has no access control"), from);
                }
                None => survey.lacks(Missing::fact(format!("access control of {port}"), &hop.acs)),
            }
        }
        if up.is_empty() {
            return;
        }
        let devices: Vec<&str> = self.devices.keys().copied().collect();
        let ports: Vec<&str> = up.iter().map(|(port, _)| *port).collect();
        survey.found(Finding {
            rule: RULE.name.into(),
            weight: Weight::Advice,
            says: format!(
                "RDMA between {} leaves the PCIe switch {address} that they share: {} of its \
                 ports send it up to the root complex (ACS)",
                devices.join(", "),
                ports.len()
            ),
            evidence: up.iter().map(|(_, evidence)| evidence.clone()).collect(),
            worth: None,
            remedy: format!(
                "where no guest owns a device below: pci=disable_acs_redir={} on the kernel's \
                 command line, or ACS off in firmware's setup",
                ports.join(";")
            ),
        });
    }
}

/// The switch that two devices share, and its ports where their ways part; `None` where they share
/// none, or are functions of one card.
fn parting<'a>(one: &'a Device, other: &'a Device) -> Option<(&'a str, [&'a PciHop; 2])> {
    let alike = one.path.iter().zip(&other.path).take_while(|(a, b)| a.address == b.address);
    let shared = alike.count();
    // The first is the root port; the switch's upstream port is the next.
    let switch = one.path.get(1..shared)?.last()?;
    Some((switch.address.as_str(), [port(one, shared)?, port(other, shared)?]))
}

/// The hop behind so many, if it is a port and not the device itself.
fn port(device: &Device, behind: usize) -> Option<&PciHop> {
    device.path.get(behind + 1)?;
    device.path.get(behind)
}

/// Whether the bridges above a device are told, or the kernel says that there are none.
fn is_placed(device: &Device) -> bool {
    match device.path.as_slice() {
        [] => false,
        [only] => only.class.source().0.starts_with('/'),
        _ => true,
    }
}

/// Whether registers or words say that a port has no such capability.
fn is_without(hop: &PciHop) -> bool {
    matches!(hop.acs, narrows_model::Fact::Absent { .. }) && !hop.acs.is_unasked()
}

fn redirects(acs: &Acs) -> bool {
    acs.request_redirect || acs.completion_redirect || acs.egress_control
}

fn words(acs: &Acs) -> String {
    let set = [
        (acs.request_redirect, "requests redirected"),
        (acs.completion_redirect, "completions redirected"),
        (acs.egress_control, "egress controlled"),
    ];
    set.into_iter().filter(|(set, _)| *set).map(|(_, word)| word).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_idle, known, of_host};
    use narrows_model::Fact;
    use narrows_model::host::Host;

    const OFF: Acs = Acs {
        request_redirect: false,
        completion_redirect: false,
        upstream_forwarding: false,
        egress_control: false,
    };

    fn device(kind: DeviceKind, way: &[&str], acs: &Fact<Acs>) -> Device {
        let hop = |address: &&str| PciHop {
            address: (*address).to_owned(),
            class: known(0x06_0400),
            acs: acs.clone(),
            ..PciHop::default()
        };
        Device {
            kind,
            address: (*way.last().expect("a way")).to_owned(),
            names: Vec::new(),
            driver: known("mlx5_core".into()),
            node: known(0),
            is_virtual: false,
            path: way.iter().map(hop).collect(),
        }
    }

    /// A NIC and an accelerator below a switch each, or the same one.
    fn host(of_nic: &str, of_accelerator: &str, acs: Fact<Acs>) -> Host {
        let nic = device(DeviceKind::Network, &["root", of_nic, "a0", "nic"], &acs);
        let way = ["root", of_accelerator, "b0", "gpu"];
        let accelerator = device(DeviceKind::Accelerator, &way, &acs);
        Host { devices: vec![nic, accelerator], ..Host::default() }
    }

    #[test]
    fn a_switch_that_sends_peers_up_to_the_root_is_found() {
        let redirecting = Acs { request_redirect: true, ..OFF };
        let verdict = of_host(&RULE, host("up", "up", known(redirecting)));
        let Verdict::Found { findings } = verdict else { panic!("{verdict:?}") };
        let [one] = findings.as_slice() else { panic!("{findings:?}") };
        assert!(one.says.contains("gpu, nic") && one.says.contains("switch up"), "{}", one.says);
        assert!(one.remedy.contains("disable_acs_redir=a0;b0"), "{}", one.remedy);
        for other in [Acs { completion_redirect: true, ..OFF }, Acs { egress_control: true, ..OFF }]
        {
            assert!(is_found(&of_host(&RULE, host("up", "up", known(other)))));
        }
        let forwarding = Acs { upstream_forwarding: true, ..OFF };
        assert!(is_clear(&of_host(&RULE, host("up", "up", known(forwarding)))));
        assert!(is_clear(&of_host(&RULE, host("up", "up", Fact::absent("/sys/x/config")))));
    }

    #[test]
    fn where_it_cannot_matter_it_is_not_judged_and_what_is_hidden_is_unknown() {
        let redirecting = known(Acs { request_redirect: true, ..OFF });
        assert!(is_idle(&of_host(&RULE, host("up", "down", redirecting.clone()))));
        let mut guest = host("up", "up", redirecting);
        guest.devices[1].driver = known(OF_GUEST.into());
        assert!(is_idle(&of_host(&RULE, guest)));
        let denied = Fact::Denied { from: narrows_model::Source("/sys/x/config".into()) };
        for hidden in [denied, Fact::default()] {
            let verdict = of_host(&RULE, host("up", "up", hidden));
            assert!(matches!(verdict, Verdict::Unknown { .. }), "{verdict:?}");
        }
        // Without bridges nobody knows what is shared.
        let mut bare = host("up", "up", Fact::default());
        for device in &mut bare.devices {
            device.path.drain(..3);
            device.path[0].class = Fact::known(0x02_0000, "lspci.txt");
        }
        assert!(matches!(of_host(&RULE, bare), Verdict::Unknown { .. }));
        // Two functions of one card.
        let mut card = host("up", "up", known(OFF));
        card.devices[1].path = card.devices[0].path.clone();
        card.devices[1].path[3].address = "gpu".into();
        assert!(is_idle(&of_host(&RULE, card)));
    }
}
