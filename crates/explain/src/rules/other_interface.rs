//! `other-interface`: do packets leave by another interface than that of their address?
//!
//! A route that is left over, a second default route or a rule for one network sends what an end
//! sends by another interface, and so over another path, than the one whose address it uses. Either
//! way alone may be so: then packets and their answers take two paths. The counts of the ends'
//! interfaces show it, whatever the tables of routes say. A route that sends to a router what is on
//! a network of the host itself leaves that one aside.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::{Scope, Source, keys};
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};
use narrows_model::trial::NetworkPath;
use narrows_model::workload::Workload;

pub static RULE: Rule = Rule {
    name: "other-interface",
    asks: "Do packets leave by another interface than that of their address?",
    of_host: false,
    judge,
};

/// Fewer packets are those of a host at rest.
const PACKETS_MIN: u64 = 50;
/// The address's own interface carries so much less than the other, but for neighbours' questions.
const OWN_SHARE: f64 = 0.05;

fn judge(case: &Case<'_>) -> Verdict {
    let idle = Some(Activity::IsTcpToPeer);
    measured::judge(case, Needed::TcpLoadToPeer, idle, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    let is_known = cell.is_tcp_stream() || cell.trial.kind == Workload::TCP_RR;
    if !is_known || cell.trial.path != NetworkPath::Peer {
        return Err(Blind::OtherKind);
    }
    // Both ends of a TCP connection send.
    let ends = [("sender", cell.sender()), ("receiver", cell.receiver())];
    let mut seen = Vec::new();
    for (name, end) in ends {
        let Some(report) = end.and_then(|end| end.report) else { continue };
        if let Some(found) = by_router(cell, name, report) {
            return found;
        }
        let Some((own, other)) = leaves_by(report) else { continue };
        let Some(other) = other else {
            seen.push(format!("what the {name} sends leaves by {own}, which has its address"));
            continue;
        };
        let seen = format!("the {name} has its address on {own}, and {other} carries its packets");
        let says = format!(
            "What the {name} sends in {} leaves by {other}, and its address is {own}'s: a route \
             leads over another path than that of the address",
            cell.trial.label
        );
        let remedy = format!(
            "see which route does at the {name} (ip route get ADDRESS, ip rule show), and take it \
             away or measure between addresses of {other}"
        );
        let found = finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy);
        return cell.saw(seen, Some(found));
    }
    if seen.is_empty() {
        Err(cell.lacks(Measure::InterfacePackets))
    } else {
        cell.saw(seen.join("; "), None)
    }
}

/// What is sent to a router though the other end is on a network of this one.
fn by_router(cell: &Cell<'_>, name: &str, report: &EndReport) -> Option<Looked> {
    let aside = report.left_aside.as_deref()?;
    let taken = report.effective.interface.as_deref().unwrap_or("another interface");
    let seen = format!(
        "the {name} sends by {taken} to a router, and {aside} is on the other end's network"
    );
    let says = format!(
        "What the {name} sends in {} leaves by {taken} to a router, though the other end is on the \
         network of {aside}: a route for it leads another way",
        cell.trial.label
    );
    let remedy = format!(
        "see which route does at the {name} (ip route get ADDRESS, ip rule show), and take it away: \
         {aside} reaches the other end without a router"
    );
    let found = finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy);
    Some(cell.saw(seen, Some(found)))
}

/// The interface of an end's address, and the one that carries its packets where that is another;
/// `None` where next to nothing was counted.
fn leaves_by(end: &EndReport) -> Option<(String, Option<String>)> {
    // An address of the loopback interface belongs to all of them.
    let own = end.effective.interface.clone().filter(|own| own != "lo")?;
    let sent = |name: &str| end.readings.of(keys::TX_PACKETS, Scope::Nic(name.to_owned()));
    let by_own = sent(&own)?;
    let counted = end.readings.from_source(Source::Interface);
    let sent_by = counted.filter_map(|(key, packets)| match &key.scope {
        Scope::Nic(name) if *key == keys::TX_PACKETS.key(key.scope.clone()) => {
            Some((name.clone(), packets))
        }
        _ => None,
    });
    let others = sent_by.filter(|(name, _)| *name != own && name != "lo");
    let (other, most) = others.max_by_key(|(_, packets)| *packets).unwrap_or_default();
    let is_other = most >= PACKETS_MIN && (by_own as f64) < OWN_SHARE * most as f64;
    (by_own.max(most) >= PACKETS_MIN).then(|| (own, is_other.then_some(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown};
    use narrows_model::load::Role;

    #[test]
    fn a_network_that_a_route_leaves_aside_is_named() {
        let mut study = stream("tcp-stream");
        for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
            end.effective.interface = Some("mgmt0".into());
            end.left_aside = Some("eth0".into());
        }
        read(&mut study, "interface", "mgmt0.tx_packets", 25_000);
        let found = format!("{:?}", of_study(&RULE, &study));
        assert!(found.contains("leaves by mgmt0 to a router"), "{found}");
        assert!(found.contains("on the network of eth0"), "{found}");
    }

    #[test]
    fn packets_by_another_interface_are_found() {
        let of = |own: u64, other: u64| {
            let mut study = stream("tcp-stream");
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
                end.effective.interface = Some("a0".into());
            }
            for (name, packets) in [("a0", own), ("a1", other), ("lo", 9_000_000)] {
                read(&mut study, "interface", &format!("{name}.tx_packets"), packets);
            }
            of_study(&RULE, &study)
        };
        let found = of(3, 25_000);
        assert!(is_found(&found), "{found:?}");
        assert!(format!("{found:?}").contains("leaves by a1, and its address is a0's"));
        assert!(is_clear(&of(25_000, 3)));
        assert!(is_clear(&of(25_000, 40_000)), "others' packets");
        assert!(is_unknown(&of(3, 9)), "next to nothing was sent");
        assert!(is_idle(&of_study(&RULE, &stream("udp-stream"))));
    }
}
