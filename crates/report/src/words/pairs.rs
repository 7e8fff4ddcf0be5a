//! Trials of many pairs, in words.

use super::{counted, middle, range};
use crate::Analysis;
use narrows_model::study::StoredStudy;
use narrows_model::trial::EndHost;
use narrows_stats::{OVERLAP_MIN, PairRate, Pairs};

/// What each pair reached, and what is known of their windows, a line each.
pub fn pairs(analysis: &Analysis<'_>) -> Vec<String> {
    let stored = analysis.stored;
    let of = |pairs: &Pairs| {
        let each: Vec<String> = pairs.each.iter().map(|one| pair(stored, one)).collect();
        [vec![windows(pairs)], each].concat()
    };
    analysis.pairs.iter().flat_map(of).collect()
}

fn pair(stored: &StoredStudy, one: &PairRate) -> String {
    let (from, to) = (host(stored, one.from), host(stored, one.to));
    match &one.estimate {
        Some(rate) => format!("{from} to {to}: {}, {}, n {}", middle(rate), range(rate), rate.n),
        None => format!("{from} to {to}: no run"),
    }
}

/// Whether the sum is one: rates of other times do not add up.
fn windows(pairs: &Pairs) -> String {
    let many = counted(pairs.each.len(), "pair");
    let mut text = match pairs.overlap_share {
        Some(share) => {
            format!("{many} at once: their windows had at least {:.1} % in common", 100.0 * share)
        }
        None => format!("{many} at once: nothing tells whether their windows were the same"),
    };
    if pairs.apart > 0 {
        let runs = counted(pairs.apart as usize, "run");
        let least = 100.0 * OVERLAP_MIN;
        text += &format!("; {runs} with less than {least:.0} % in common have no sum");
    }
    text
}

/// A host by the name that it was reached by, else its number.
fn host(stored: &StoredStudy, host: EndHost) -> String {
    let EndHost::Peer(at) = host else { return "this host".to_owned() };
    let names = stored.study.peer.as_deref().unwrap_or_default();
    let name = names.split(", ").nth(at as usize).filter(|name| !name.is_empty());
    name.map_or_else(|| format!("peer {}", at + 1), str::to_owned)
}
