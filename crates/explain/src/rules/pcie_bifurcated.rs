//! `pcie-bifurcated`: has a slot more lanes than the port behind it, and its NIC could use them?
//!
//! Firmware parts the lanes of one slot among several ports for carriers of disks (bifurcation); a
//! NIC with one port in such a slot has a part of them. Told by firmware's lanes of the slot
//! (SMBIOS type 9) against the most that its port has; slots that are said to be wider than they
//! are wired look alike, and the finding says so.

use super::evidence;
use crate::survey::{Survey, not_so};
use crate::{Case, Rule};
use narrows_model::host::{ExpansionSlot, Host, Nic, PciHop};
use narrows_model::result::{Finding, Missing, NotSo, Unclear, Verdict, Weight};
use narrows_predict::pcie::joints;

pub static RULE: Rule = Rule {
    name: "pcie-bifurcated",
    asks: "Does a NIC's port get all lanes of its slot?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let in_slots: Vec<&Nic> = host
        .physical_nics()
        .filter(|nic| host.slot_of(&nic.path).is_some_and(|slot| slot.lanes.is_some()))
        .collect();
    let mut survey = Survey::default();
    if in_slots.is_empty() && host.physical_nics().any(|nic| !nic.path.is_empty()) {
        survey.need("expansion slots by firmware", &host.expansion_slots);
    }
    for nic in in_slots {
        match parted(host, nic) {
            Ok(Some(finding)) => survey.found(finding),
            Ok(None) => {
                let says = format!("the slot of {} has no more lanes than its port", nic.name);
                survey.fine(says, host.expansion_slots.source().0.clone());
            }
            Err(missing) => survey.lacks(missing),
        }
    }
    survey.conclude(not_so(NotSo::NoSlotWithLanes))
}

/// The finding if there is one, or what it would take to tell.
fn parted(host: &Host, nic: &Nic) -> Result<Option<Finding>, Missing> {
    let links = compared(host, nic);
    let (slot, lanes, port, card) =
        links.ok_or_else(|| Unclear::SlotLink { nic: nic.name.clone() })?;
    let (has, could) = (widest(port)?, widest(card)?);
    Ok((lanes > has && could > has)
        .then(|| finding(host, nic, slot, (lanes, has, could), [port, card])))
}

fn widest(hop: &PciHop) -> Result<u32, Missing> {
    let name = format!("link of {}", hop.address);
    let link = hop.link.value().ok_or_else(|| Missing::fact(name, &hop.link))?;
    Ok(link.width_max)
}

/// The slot, its lanes by firmware, and the two ends of its own link.
fn compared<'h>(
    host: &'h Host,
    nic: &'h Nic,
) -> Option<(&'h ExpansionSlot, u32, &'h PciHop, &'h PciHop)> {
    let slot = host.slot_of(&nic.path)?;
    let lanes = slot.lanes?;
    // The slot's own link, and not one inside its card: firmware names the card or the port.
    let named = slot.address.as_deref().and_then(device_of)?;
    let is_its = |hop: &PciHop| device_of(&hop.address).is_some_and(|device| device == named);
    let all = joints(nic);
    let joint = all.iter().find(|one| is_its(one.lower) || one.upper.is_some_and(is_its))?;
    Some((slot, lanes, joint.upper?, joint.lower))
}

fn device_of(address: &str) -> Option<String> {
    address.rsplit_once('.').map(|(device, _)| device.to_owned())
}

fn finding(
    host: &Host,
    nic: &Nic,
    slot: &ExpansionSlot,
    (lanes, has, could): (u32, u32, u32),
    [port, card]: [&PciHop; 2],
) -> Finding {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_model::host::{ExpansionSlot, PciLink};

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
            if let narrows_model::Fact::Known { value, .. } = &mut hop.link {
                value.width_max = lanes;
            }
            hop
        };
        let inside = [inner("0000:3c:00.0", 8), inner("0000:3d:00.0", 16)];
        switched.nics[0].path.extend(inside);
        assert!(is_clear(&of_host(&RULE, switched)));
    }
}
