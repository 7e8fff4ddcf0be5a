//! `pcie-bifurcated`: has a slot more lanes than the port behind it, and its NIC could use them?
//!
//! Firmware parts the lanes of one slot among several ports for carriers of disks (bifurcation); a
//! NIC with one port in such a slot has a part of them. Told by firmware's lanes of the slot
//! (SMBIOS type 9) against the most that its port has; slots that are said to be wider than they
//! are wired look alike, and the finding says so.

use super::evidence;
use crate::setting::conclude;
use crate::{Case, Rule};
use narrows_facts::host::{Host, Nic, PciHop};
use narrows_facts::result::{Finding, Verdict, Weight};
use narrows_predict::pcie::joints;

pub static RULE: Rule = Rule {
    name: "pcie-bifurcated",
    asks: "Are all lanes of a NIC's slot one port's?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let known = |nic: &&Nic| host.slot_of(&nic.path).is_some_and(|slot| slot.lanes.is_some());
    let in_slots: Vec<&Nic> = host.physical_nics().filter(known).collect();
    let findings = in_slots.iter().filter_map(|nic| parted(host, nic)).collect();
    let nothing = "no NIC is in a slot whose lanes firmware tells";
    conclude(findings, !in_slots.is_empty(), "slots have no more lanes than their ports", nothing)
}

fn parted(host: &Host, nic: &Nic) -> Option<Finding> {
    let slot = host.slot_of(&nic.path)?;
    let lanes = slot.lanes?;
    // The slot's own link, and not one inside its card: firmware names the card or the port.
    let device = |address: &str| address.rsplit_once('.').map(|(device, _)| device.to_owned());
    let named = slot.address.as_deref().and_then(device)?;
    let is_its = |hop: &PciHop| device(&hop.address).is_some_and(|device| device == named);
    let all = joints(nic);
    let joint = all.iter().find(|one| is_its(one.lower) || one.upper.is_some_and(is_its))?;
    let (port, card) = (joint.upper?, joint.lower);
    let (has, could) = (port.link.value()?.width_max, card.link.value()?.width_max);
    (lanes > has && could > has).then(|| {
        let says = format!(
            "{} is wired for x{lanes}, and its port has x{has}: {} could use x{}",
            slot.name,
            nic.name,
            could.min(lanes)
        );
        let seen = [
            evidence(format!("{}: x{lanes}", slot.name), host.expansion_slots.source().0.clone()),
            evidence(format!("{}: at most x{has}", port.address), port.link.source().0.clone()),
            evidence(format!("{}: at most x{could}", card.address), card.link.source().0.clone()),
        ];
        Finding {
            rule: RULE.name.into(),
            weight: Weight::Advice,
            says,
            evidence: seen.into(),
            worth: None,
            remedy: format!(
                "look for bifurcation (x{has}x{has}) of {} in the firmware's setup, or for a riser that \
                 is wired for less; the board's manual tells its lanes",
                slot.name
            ),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_facts::host::{ExpansionSlot, PciLink};

    #[test]
    fn a_parted_slot_is_found_where_the_card_could_use_it() {
        let host = |slot: u32, port: u32, card: u32| {
            let hop = |address: &str, lanes: u32| PciHop {
                address: address.into(),
                link: known(PciLink {
                    speed_gts: 16.0,
                    width: port.min(card),
                    speed_max_gts: 16.0,
                    width_max: lanes,
                }),
                ..PciHop::default()
            };
            let path = vec![hop("0000:3a:00.0", port), hop("0000:3b:00.0", card)];
            let nic = Nic { name: "eth0".into(), physical: true, path, ..Nic::default() };
            let slot = ExpansionSlot {
                name: "SLOT 2".into(),
                lanes: Some(slot),
                in_use: Some(true),
                address: Some("0000:3b:00.0".into()),
            };
            let expansion_slots = known(vec![slot]);
            Host { nics: vec![nic], expansion_slots, ..Host::default() }
        };
        assert!(is_found(&of_host(&RULE, host(16, 8, 16))));
        assert!(is_clear(&of_host(&RULE, host(16, 8, 8))));
        assert!(is_clear(&of_host(&RULE, host(16, 16, 16))));
        assert!(is_clear(&of_host(&RULE, host(8, 8, 16))));
        // A switch on the card, whose ports are narrower than the slot.
        let mut switched = host(16, 16, 16);
        let inner = |address: &str, lanes: u32| {
            let mut hop = switched.nics[0].path[0].clone();
            hop.address = address.into();
            if let narrows_facts::Fact::Known { value, .. } = &mut hop.link {
                value.width_max = lanes;
            }
            hop
        };
        let inside = [inner("0000:3c:00.0", 8), inner("0000:3d:00.0", 16)];
        switched.nics[0].path.extend(inside);
        assert!(is_clear(&of_host(&RULE, switched)));
    }
}
