//! The rules about one host, asked of every host of a study: the one that narrows ran on, and the
//! peers. What holds a path back is as often the far end.

use crate::{Case, Rule};
use narrows_model::host::Host;
use narrows_model::result::{Evidence, Finding, LookedAt, Missing, Verdict};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndHost, NetworkPath};
use narrows_stats::Summary;

/// What a rule about one host says of all hosts of a study.
pub fn verdict(rule: &Rule, case: &Case<'_>) -> Verdict {
    let own = own_case(rule, case);
    let peers = &case.study.peer_hosts;
    // Of one machine that is both ends everything but what a namespace has of its own would be
    // said twice.
    let is_one_machine = case.summaries.iter().any(|summary| summary.one_machine);
    peers.iter().enumerate().fold(own, |all, (number, peer)| {
        let name = match peers.len() {
            1 => "the peer".to_owned(),
            _ => format!("peer {}", number + 1),
        };
        joined(all, of_peer(rule, case, number, peer), &name, is_one_machine)
    })
}

fn own_case(rule: &Rule, case: &Case<'_>) -> Verdict {
    let summaries = seen_from(case, EndHost::Controller);
    let (study, predictions) = (case.study, case.predictions);
    (rule.judge)(&Case { study, summaries: &summaries, predictions })
}

fn of_peer(rule: &Rule, case: &Case<'_>, number: usize, peer: &Host) -> Verdict {
    let study = StoredStudy::unmeasured(peer.clone());
    let summaries = seen_from(case, EndHost::Peer(number as u32));
    (rule.judge)(&Case { study: &study, summaries: &summaries, predictions: &[] })
}

/// The summaries with no other interfaces than those that a host's ends used.
fn seen_from(case: &Case<'_>, host: EndHost) -> Vec<Summary> {
    let of = |summary: &Summary| {
        let is_all_here = summary.path != NetworkPath::Peer && host == EndHost::Controller;
        let mut summary = summary.clone();
        if !is_all_here {
            let is_peers = summary.path == NetworkPath::Peer;
            summary.settings.forget_interfaces(|end| !is_peers || end.host != host);
        }
        summary
    };
    case.summaries.iter().map(of).collect()
}

/// One answer of two hosts: what was found at either; clear only when both are.
fn joined(own: Verdict, peer: Verdict, name: &str, is_one_machine: bool) -> Verdict {
    match (own, peer) {
        (Verdict::Found { mut findings }, Verdict::Found { findings: far }) => {
            for finding in far {
                match findings.iter_mut().find(|own| own.says == finding.says) {
                    Some(own) if !is_one_machine => own.says += &format!("; the same at {name}"),
                    Some(_) => {}
                    None => findings.push(at(finding, name)),
                }
            }
            Verdict::Found { findings }
        }
        (_, Verdict::Found { findings }) => {
            Verdict::Found { findings: findings.into_iter().map(|far| at(far, name)).collect() }
        }
        (own @ Verdict::Found { .. }, _) => own,
        (own, _) if is_one_machine => own,
        (own, Verdict::NotApplicable { .. }) => own,
        (own, Verdict::Clear { looked_at }) => cleared(own, &looked_at, name),
        (own, Verdict::Unknown { missing, looked_at }) => {
            let missing = missing.into_iter().map(|lacks| lacks.at(name)).collect();
            unknown(own, missing, looked_at, name)
        }
    }
}

fn cleared(own: Verdict, far: &LookedAt, name: &str) -> Verdict {
    let far: Vec<Evidence> = far.all().iter().map(|seen| seen_at(seen, name)).collect();
    match own {
        Verdict::Clear { looked_at } => Verdict::Clear { looked_at: looked_at.and(far) },
        Verdict::Unknown { missing, looked_at } => {
            Verdict::Unknown { missing, looked_at: [looked_at, far].concat() }
        }
        Verdict::NotApplicable { why } => LookedAt::try_from(far)
            .map_or(Verdict::NotApplicable { why }, |looked_at| Verdict::Clear { looked_at }),
        found => found,
    }
}

fn unknown(own: Verdict, lacks: Vec<Missing>, far: Vec<Evidence>, name: &str) -> Verdict {
    let far: Vec<Evidence> = far.iter().map(|seen| seen_at(seen, name)).collect();
    let (missing, looked_at) = match own {
        Verdict::Clear { looked_at } => (lacks, [looked_at.all().to_vec(), far].concat()),
        Verdict::Unknown { missing, looked_at } => {
            ([missing, lacks].concat(), [looked_at, far].concat())
        }
        Verdict::NotApplicable { .. } => (lacks, far),
        found @ Verdict::Found { .. } => return found,
    };
    Verdict::Unknown { missing, looked_at }
}

fn seen_at(seen: &Evidence, name: &str) -> Evidence {
    Evidence { says: seen.says.clone(), from: format!("{name}: {}", seen.from) }
}

fn at(finding: Finding, name: &str) -> Finding {
    Finding {
        says: format!("{} (at {name})", finding.says),
        remedy: format!("at {name}: {}", finding.remedy),
        evidence: finding.evidence.iter().map(|seen| seen_at(seen, name)).collect(),
        ..finding
    }
}
