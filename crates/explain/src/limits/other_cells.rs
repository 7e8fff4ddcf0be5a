//! What the other cells of a study tell of one: the same way, the same policer, the same capacity.

use super::{LOST_SHARE, concerns};
use crate::Case;
use crate::measured::{Cell, cells};
use crate::names;
use crate::rules::{own_host_drops, tcp_retransmits};
use narrows_model::load::Role;
use narrows_model::result::Finding;
use narrows_model::trial::EndHost;
use narrows_model::workload::Workload;
use std::ops::RangeInclusive;

/// Whether a finding about other cells holds for this one too.
pub fn tell(case: &Case<'_>, cell: &Cell<'_>, finding: &Finding) -> bool {
    is_dropped_beside(case, cell, finding)
        || is_policed_beside(case, cell, finding)
        || is_full_beside(case, cell, finding)
        || is_silent_for_handshakes(case, cell, finding)
        || loses_answers_beside(case, cell, finding)
        || is_spread_as_beside(case, cell, finding)
}

/// Rules whose finding is of the hosts on the way, whatever a cell asks of TCP.
const DROPPERS: [&str; 2] = [names::OWN_HOST_DROPS, names::RECEIVER_HOST_DROPS];

/// Whether packets of another cell are dropped before TCP has them: that is the same for all cells
/// of one way that lose.
fn is_dropped_beside(case: &Case<'_>, cell: &Cell<'_>, finding: &Finding) -> bool {
    let is_refuted = || finding.rule == names::OWN_HOST_DROPS && own_host_drops::is_clear(cell);
    let is_it = |other: &Cell<'_>| {
        let is_alike = other.trial.kind == cell.trial.kind && other.trial.path == cell.trial.path;
        is_alike
            && places(other) == places(cell)
            && is_lossy(other)
            && finding.evidence.iter().any(|seen| seen.from == other.runs())
    };
    DROPPERS.contains(&&*finding.rule)
        && is_lossy(cell)
        && !is_refuted()
        && cells(case).any(|other| is_it(&other))
}

fn is_lossy(cell: &Cell<'_>) -> bool {
    cell.losses().is_some_and(|losses| losses.lost >= LOST_SHARE)
}

/// What a stream has of the rate of another that a policer holds.
const POLICED_ALIKE: RangeInclusive<f64> = 0.6..=1.15;
/// What a stream has of the rate of more flows, where it fills the same capacity.
const SAME_RATE: RangeInclusive<f64> = 0.97..=1.03;

/// Whether a stream that loses segments has about the rate at which a policer holds the same with
/// another congestion control: it is the same policer, though its own runs do not tell.
fn is_policed_beside(case: &Case<'_>, cell: &Cell<'_>, finding: &Finding) -> bool {
    let flows = cell.trial.params.streams;
    finding.rule == names::PATH_POLICED
        && is_lossy(cell)
        && of_rate(case, cell, finding, &POLICED_ALIKE).any(|others| others == flows)
}

/// Whether more flows have the same rate as this stream, at a capacity that holds them: the losses
/// before its queue are what tell this one of it.
fn is_full_beside(case: &Case<'_>, cell: &Cell<'_>, finding: &Finding) -> bool {
    let flows = cell.trial.params.streams;
    finding.rule == names::PATH_CAPACITY
        && cell.is_tcp_stream()
        && of_rate(case, cell, finding, &SAME_RATE).any(|others| others > flows)
}

/// The numbers of flows of the streams that a finding is of, of which this one, which goes the same
/// way with no pace either, has such a share of the rate.
fn of_rate<'a>(
    case: &'a Case<'a>,
    cell: &'a Cell<'a>,
    finding: &'a Finding,
    shares: &'a RangeInclusive<f64>,
) -> impl Iterator<Item = u32> + 'a {
    let own = cell.rates().filter(|_| !cell.is_paced());
    let is_it = move |other: &Cell<'_>| {
        let share =
            own.as_ref().zip(other.rates()).map(|(own, of)| own.middle / of.middle.max(1.0));
        other.trial.kind == cell.trial.kind
            && !other.is_paced()
            && places(other) == places(cell)
            && concerns(finding, other)
            && share.is_some_and(|share| shares.contains(&share))
    };
    cells(case).filter(is_it).map(|other| other.trial.params.streams)
}

/// Whether a stream that loses packets spreads over a bundle as another one the same way does,
/// which tells what flows a bad member has: of those that slow down at each loss, full queues take
/// some of all.
fn is_spread_as_beside(case: &Case<'_>, cell: &Cell<'_>, finding: &Finding) -> bool {
    finding.rule == names::PATH_BAD_MEMBER
        && is_lossy(cell)
        && cells(case).any(|other| {
            other.trial.kind == cell.trial.kind
                && other.trial.path == cell.trial.path
                && places(&other) == places(cell)
                && other.trial.params.streams == cell.trial.params.streams
                && concerns(finding, &other)
        })
}

/// Whether a stream that moved next to nothing waits for first packets, which a probe loses.
fn is_silent_for_handshakes(case: &Case<'_>, cell: &Cell<'_>, finding: &Finding) -> bool {
    let is_probe = |other: &Cell<'_>| {
        other.trial.kind == Workload::PathProbe
            && other.trial.path == cell.trial.path
            && concerns(finding, other)
    };
    finding.rule == names::HANDSHAKE_LOSS
        && cell.is_nearly_silent()
        && cells(case).any(|other| is_probe(&other))
}

/// Whether a stream that waits for its timer sent too little to count acknowledgements by, where
/// those of another one the same way were lost.
fn loses_answers_beside(case: &Case<'_>, cell: &Cell<'_>, finding: &Finding) -> bool {
    let is_it = |other: &Cell<'_>| {
        other.trial.kind == cell.trial.kind
            && other.trial.path == cell.trial.path
            && places(other) == places(cell)
            && concerns(finding, other)
    };
    finding.rule == names::ACKNOWLEDGEMENTS_LOST
        && tcp_retransmits::waits_for_timer(cell)
        && cells(case).any(|other| is_it(&other))
}

/// Which hosts send and receive.
pub fn places(cell: &Cell<'_>) -> Vec<(Role, EndHost)> {
    cell.trial.ends.iter().map(|end| (end.role, end.host)).collect()
}
