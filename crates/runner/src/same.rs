//! Whether a resumed study is still on its machines: what the study changes by hand may differ,
//! anything else only if the user says so.

use crate::difference::{Difference, MachinePart, differences};
use crate::session::Site;
use crate::study::Defined;
use narrows_model::host::Host;
use narrows_model::study::StoredStudy;
use narrows_plan::study::When;
use std::collections::BTreeSet;

/// What differs from the session whose machines were most alike; empty where one had the same. A
/// machine that any session had is one of the study's.
pub fn unlike(defined: &Defined, stored: &StoredStudy, site: &Site) -> Vec<Difference> {
    let may = by_hand(defined);
    let peer_hosts = site.peer_hosts();
    let now = hosts(&site.host, &peer_hosts);
    let first = hosts(&stored.host, &stored.peer_hosts);
    let sessions = stored.sessions.iter().map(|one| hosts(&one.host, &one.peer_hosts));
    let each = std::iter::once(first).chain(sessions).map(|was| {
        // Nothing is known of a host that was, or is, away.
        let away = Host::default();
        let pairs = was.iter().zip(&now).filter(|(was, now)| ***was != away && ***now != away);
        let all = pairs.flat_map(|(was, now)| differences(was, now));
        all.filter(|one| !may.contains(&one.part)).collect::<Vec<Difference>>()
    });
    each.min_by_key(Vec::len).unwrap_or_default()
}

fn hosts<'a>(host: &'a Host, peers: &'a [Host]) -> Vec<&'a Host> {
    std::iter::once(host).chain(peers).collect()
}

/// The parts of a machine that the study's own factors change.
fn by_hand(defined: &Defined) -> BTreeSet<MachinePart> {
    let factors = defined.definition.factors.iter().filter(|factor| factor.by_hand);
    let whens = factors.flat_map(|factor| &factor.levels).filter_map(|level| level.when.as_ref());
    whens.flat_map(parts).collect()
}

fn parts(when: &When) -> Vec<MachinePart> {
    let mut parts = Vec::new();
    if when.populated.is_some() || when.modules_by_socket.is_some() {
        parts.push(MachinePart::Population);
    }
    for pointer in when.facts.keys() {
        let of: &[MachinePart] = match pointer.trim_start_matches('/').split('/').next() {
            Some("memory" | "nodes") => &[MachinePart::Population, MachinePart::Modules],
            Some("cpu") => &[MachinePart::Processor, MachinePart::Cpus],
            Some("nics" | "rdma" | "devices") => &[MachinePart::Nics],
            Some("kernel") => &[MachinePart::Kernel],
            Some("product") => &[MachinePart::Product],
            Some("name") => &[MachinePart::Name],
            _ => &[],
        };
        parts.extend(of);
    }
    parts
}
