//! `neighbour-changed`: did another device answer for the next hop's address?
//!
//! On a link packets go to the link-layer address that the kernel has noted for the next hop. Where
//! that changes again and again two hosts have one IP address, or two routers both take themselves
//! for the active one (VRRP, HSRP): what goes to the wrong one is lost. One change is a failover,
//! and a second one may be the return from it, in the same run or in a later one. A bond of the
//! other end may answer with the addresses of several of its ports (balance-alb, bonding.rst): that
//! is no fault. The table of neighbours is asked before a run and after it, and heard of in it.
//!
//! Where nobody answers for the address any more (ARP, neighbour discovery), packets wait and are
//! dropped until somebody does.

use crate::measured::{self, Blind, Cell, Looked, finding, times};
use crate::{Case, Rule};
use narrows_model::host::{Host, Nic};
use narrows_model::load::{NextHop, Role};
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_model::trial::NetworkPath;

/// Whether the next hop's link-layer address changed.
pub static RULE: Rule = Rule {
    name: "neighbour-changed",
    asks: "Did another device answer for the next hop's address?",
    of_host: false,
    judge,
};

/// Fewer changes in all runs together are a failover and the return from it.
const AGAIN: u32 = 3;
/// Interfaces that stand on each other: a bridge on a VLAN on a bond.
const DEPTH_MAX: usize = 4;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::ToPeer, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if cell.trial.path != NetworkPath::Peer || cell.is_probe() {
        return Err(Blind::OtherKind);
    }
    let ends = [(Role::Receiver, "receiver"), (Role::Sender, "sender")];
    let all: Vec<_> = ends.into_iter().filter_map(|(role, at)| told(cell, role, at)).collect();
    let Some(told) = all.iter().max_by_key(|told| told.changes) else {
        return Err(cell.lacks(Measure::NextHop));
    };
    if let Some(lost) = all.iter().filter(|told| told.lost > 0).max_by_key(|told| told.lost)
        && told.changes == 0
    {
        return of_lost(cell, lost);
    }
    let hop = if told.is_router { "router" } else { "way to the other end" };
    let bond = if told.is_bond { "; the other end's interface is a bond" } else { "" };
    let seen = format!(
        "the link-layer address of the {}'s {hop} changed {}, in {} of {} runs{bond}",
        told.at,
        times(told.changes as f64),
        told.runs,
        told.of
    );
    let wrong = (told.changes > 0 && !told.is_bond).then(|| {
        let what = if told.is_router { "its router" } else { "the other end" };
        let (why, first) = match (told.is_fight(), told.is_router) {
            (true, true) => (
                "two devices answer for one address: a duplicate, or two routers that both are the \
                 active one",
                DUPLICATE,
            ),
            (true, false) => ("two devices answer for one address: a duplicate", DUPLICATE),
            (false, _) if told.changes > 1 => {
                ("a failover and the return from it, or a second device with that address", ONCE)
            }
            (false, _) => ("a failover, or a second device with that address", ONCE),
        };
        let says = format!(
            "The {}'s kernel saw the link-layer address of {what} change {} in {}: {why}",
            told.at,
            times(told.changes as f64),
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), first)
    });
    cell.saw(seen, wrong)
}

fn of_lost(cell: &Cell<'_>, told: &Told) -> Looked {
    let hop = if told.is_router { "its router" } else { "the other end" };
    let seen = format!(
        "the {}'s kernel had no link-layer address of {hop} any more {}, in {} of {} runs",
        told.at,
        times(told.lost as f64),
        told.runs_lost,
        told.of
    );
    let says = format!(
        "Nobody answered for the address of {hop} at times in {}: the {}'s kernel lost its \
         link-layer address {}, and packets wait or are dropped until it is known again",
        cell.trial.label,
        told.at,
        times(told.lost as f64)
    );
    let found = finding(&RULE, cell, Weight::Advice, says, seen.clone(), UNANSWERED);
    cell.saw(seen, Some(found))
}

const UNANSWERED: &str = "see who does not answer: ip monitor neigh and tcpdump -e arp (IPv6: icmp6) at \
                          both ends; filters of ARP or neighbour discovery (nft list ruleset: arp, \
                          bridge; arptables; port security), arp_ignore and arp_filter there, a \
                          full table (sysctl net.ipv4.neigh.default.gc_thresh3), a VLAN or port \
                          that flaps, and what takes entries away (ip neigh flush)";
const DUPLICATE: &str = "find the second device: arping -D -I IFACE ADDRESS, ip monitor neigh \
                         (both link-layer addresses), then the port that each is behind (bridge \
                         fdb show, the switch's table of addresses), and give one of them another \
                         IP address; of routers see VRRP's or HSRP's state on both (one must be \
                         the backup, with the same password and a link between them)";
const ONCE: &str = "see whether a router or a bond failed over then (ip monitor neigh, VRRP's log), \
                    else look for a second device with that address (arping -D -I IFACE ADDRESS, \
                    bridge fdb show); measure again once it is settled";

/// What all runs tell of one end.
struct Told {
    at: &'static str,
    is_router: bool,
    changes: u32,
    /// The most of them in one run.
    at_once: u32,
    /// Runs with a change.
    runs: usize,
    /// Times that there was no address any more, and the runs with one of them.
    lost: u32,
    runs_lost: usize,
    of: usize,
    /// Whether the next hop is the other end, and its interface a bond.
    is_bond: bool,
}

impl Told {
    /// Whether one address took the place of the other again and again: more often than a failover
    /// and its return do, and not once in some of many runs.
    fn is_fight(&self) -> bool {
        let is_often = self.at_once > 1 || 2 * self.runs > self.of;
        self.changes >= AGAIN && is_often && !self.is_bond
    }
}

fn told(cell: &Cell<'_>, role: Role, at: &'static str) -> Option<Told> {
    let runs = cell.done.iter();
    let all: Vec<NextHop> = runs.filter_map(|record| record.of(role).next()?.next_hop).collect();
    let is_router = all.first()?.is_router;
    let other = if role == Role::Sender { cell.receiver() } else { cell.sender() };
    let is_bond = other.and_then(|end| Some(stands_on_bond(end.host, end.nic()?, DEPTH_MAX)));
    Some(Told {
        at,
        is_router,
        changes: all.iter().map(|hop| hop.changes).fold(0, u32::saturating_add),
        at_once: all.iter().map(|hop| hop.changes).max()?,
        runs: all.iter().filter(|hop| hop.changes > 0).count(),
        lost: all.iter().map(|hop| hop.lost).fold(0, u32::saturating_add),
        runs_lost: all.iter().filter(|hop| hop.lost > 0).count(),
        of: all.len(),
        is_bond: !is_router && is_bond.unwrap_or(false),
    })
}

/// Whether an interface is a bond, or one below it is.
fn stands_on_bond(host: &Host, nic: &Nic, depth: usize) -> bool {
    let is_bond = nic.kind.value().is_some_and(|kind| kind == "bond");
    let mut below = nic.lower.iter().filter_map(|name| host.nic(name));
    is_bond || (depth > 0 && below.any(|nic| stands_on_bond(host, nic, depth - 1)))
}

/// Whether it changed again and again, so that what went to the wrong device was lost.
pub fn is_fight(cell: &Cell<'_>) -> bool {
    let ends = [Role::Receiver, Role::Sender].into_iter();
    ends.filter_map(|role| told(cell, role, "")).any(|told| told.is_fight())
}

/// Whether nobody answered for the next hop again and again, or in most of several runs, and no
/// other device does.
pub fn is_lost(cell: &Cell<'_>) -> bool {
    let ends = [Role::Receiver, Role::Sender].into_iter();
    let told: Vec<Told> = ends.filter_map(|role| told(cell, role, "")).collect();
    let is_often = |told: &Told| told.runs_lost > 1 && 2 * told.runs_lost > told.of;
    told.iter().all(|told| told.changes == 0)
        && told.iter().any(|told| told.lost >= AGAIN || is_often(told))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown, known};
    use narrows_model::study::StoredStudy;

    /// A stream whose sender's next hop changed so many times in each of three runs.
    fn study(changes: [u32; 3], is_router: bool) -> StoredStudy {
        let mut study = stream("tcp-stream");
        for (changes, record) in changes.into_iter().zip(&mut study.records) {
            let addresses = 1 + changes.min(1);
            let hop = NextHop { is_router, addresses, changes, lost: 0 };
            record.of_mut(Role::Sender).for_each(|end| end.next_hop = Some(hop));
        }
        study
    }

    #[test]
    fn a_duplicate_is_told_from_a_failover() {
        let of = |changes, is_router| format!("{:?}", of_study(&RULE, &study(changes, is_router)));
        let fight = of([1, 0, 2], false);
        assert!(fight.contains("the other end change 3 times"), "{fight}");
        assert!(fight.contains("a duplicate") && fight.contains("arping -D"), "{fight}");
        assert!(of([2, 2, 0], true).contains("both are the active one"));
        assert!(of([0, 1, 0], true).contains("a failover"));
        for back in [[1, 0, 1], [0, 2, 0]] {
            let told = of(back, true);
            assert!(told.contains("the return from it") && !told.contains("duplicate"), "{told}");
        }
        assert!(is_clear(&of_study(&RULE, &study([0; 3], true))));
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))), "an older agent");
    }

    #[test]
    fn a_next_hop_that_nobody_answers_for_is_found() {
        let of = |lost: u32| {
            let mut study = study([0; 3], true);
            for hop in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
                hop.next_hop = Some(NextHop { is_router: true, addresses: 1, changes: 0, lost });
            }
            study
        };
        let told = format!("{:?}", of_study(&RULE, &of(1)));
        assert!(told.contains("answered for the address of its router"), "{told}");
        assert!(told.contains("address 3 times") && told.contains("ip monitor neigh"), "{told}");
        assert!(is_clear(&of_study(&RULE, &of(0))));
        let is_often = |lost: [u32; 3]| {
            let mut study = of(0);
            for (lost, run) in lost.into_iter().zip(&mut study.records) {
                for end in run.of_mut(Role::Sender) {
                    end.next_hop = end.next_hop.map(|hop| NextHop { lost, ..hop });
                }
            }
            let summaries = narrows_stats::summarise(&study);
            let case = Case { study: &study, summaries: &summaries, predictions: &[] };
            measured::cells(&case).any(|cell| is_lost(&cell))
        };
        assert!(is_often([1, 0, 1]) && is_often([3, 0, 0]));
        assert!(!is_often([2, 0, 0]) && !is_often([0, 0, 1]), "once is an accident");
    }

    #[test]
    fn a_bond_of_the_other_end_may_have_several_addresses() {
        let of = |kind: &str, lower: &[&str], is_router| {
            let mut study = study([1, 2, 2], is_router);
            let nic = |name: &str, kind: &str, lower: &[&str]| Nic {
                name: name.into(),
                kind: known(kind.to_owned()),
                lower: lower.iter().map(|name| (*name).to_owned()).collect(),
                ..Nic::default()
            };
            let nics = vec![nic("bond0", kind, &["e0", "e1"]), nic("vlan7", "vlan", lower)];
            study.peer_hosts = vec![Host { nics, ..Host::default() }];
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Receiver)) {
                end.effective.interface = Some("vlan7".into());
            }
            of_study(&RULE, &study)
        };
        assert!(is_clear(&of("bond", &["bond0"], false)));
        assert!(is_found(&of("bond", &["bond0"], true)), "it is a router that changes");
        assert!(is_found(&of("dummy", &["bond0"], false)));
        assert!(is_found(&of("bond", &[], false)), "a bond that is not on the way");
    }
}
