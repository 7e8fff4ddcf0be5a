//! What comes second to what holds a cell, and is worth a change beside it.

use super::named::Named;
use super::other_cells::places;
use super::slower::Slower;
use super::{Second, concerns};
use crate::Case;
use crate::measured::{Cell, cells};
use crate::names;
use crate::rules::{round_trip_time, round_trips_stall, segment_size};
use narrows_model::reading::keys;
use narrows_model::result::Finding;

/// What comes second to what a rule names; `all` are the rules that found something of the cell.
pub fn second(
    case: &Case<'_>,
    cell: &Cell<'_>,
    rule: Option<&str>,
    found: &[&Finding],
    all: &[&Named],
    slower: Option<Slower>,
) -> Option<Second> {
    without_sack(cell, rule, found)
        .or_else(|| short_queue(case, cell, rule, found))
        .or_else(|| small_segments(cell, rule, all))
        .or_else(|| stalls_beside(cell, rule, all))
        .or_else(|| slower.filter(|_| rule != Some(names::CONGESTION_CONTROL)).map(Slower::second))
}

/// What makes losses cost more than they would, where they hold a stream whose ends have SACK off.
fn without_sack(cell: &Cell<'_>, rule: Option<&str>, found: &[&Finding]) -> Option<Second> {
    let is_off = found.iter().any(|one| one.rule == names::TCP_SACK)
        && cell.agreed(keys::OPTION_SACK) == Some(false);
    (rule == Some(names::TCP_RETRANSMITS) && is_off).then(|| Second {
        rule: names::TCP_SACK.to_owned(),
        says: "SACK is off: several losses in one window cost a round trip each, or a timeout"
            .to_owned(),
    })
}

/// A queue that is too short for bursts, as another stream the same way showed: what paces itself,
/// as bbr does, fills the link all the same. The queue of the other way is another one.
fn short_queue(
    case: &Case<'_>,
    cell: &Cell<'_>,
    rule: Option<&str>,
    found: &[&Finding],
) -> Option<Second> {
    let mut all = found.iter().filter(|one| one.rule == names::PATH_SHORT_QUEUE);
    (rule == Some(names::PATH_CAPACITY) && all.any(|one| is_of_way(case, cell, one))).then(|| {
        Second {
            rule: names::PATH_SHORT_QUEUE.to_owned(),
            says: "the queue before it is too short for the bursts of streams that do not pace \
               themselves, and should be longer (tc -s qdisc: limit)"
                .to_owned(),
        }
    })
}

/// Whether a finding is of a cell whose data takes the way of this one's.
fn is_of_way(case: &Case<'_>, cell: &Cell<'_>, finding: &Finding) -> bool {
    cells(case).any(|other| {
        let is_one_way = cell.is_beside(other.trial) && places(&other) == places(cell);
        is_one_way && concerns(finding, &other)
    })
}

/// Segments far smaller than the interfaces carry, before a capacity: what it is in packets of that
/// size may be more in full ones.
fn small_segments(cell: &Cell<'_>, rule: Option<&str>, all: &[&Named]) -> Option<Second> {
    let is_found = all.iter().any(|named| named.rule == names::SEGMENT_SIZE);
    let is_capacity = matches!(rule, Some(names::PATH_CAPACITY | names::PATH_POLICED));
    let beside = segment_size::beside_mtu(cell).filter(|_| is_found && is_capacity)?;
    Some(Second {
        rule: names::SEGMENT_SIZE.to_owned(),
        says: format!(
            "segments of {beside}; what carries so many packets a second carries more in full ones"
        ),
    })
}

/// Stalls beside what holds the median of round trips, or that beside stalls.
fn stalls_beside(cell: &Cell<'_>, rule: Option<&str>, all: &[&Named]) -> Option<Second> {
    let is_found = |rule| all.iter().any(|named| named.rule == rule);
    if !is_found(names::ROUND_TRIPS_STALL) {
        return None;
    }
    let (other, says) = match rule {
        Some(names::ROUND_TRIPS_STALL) if is_found(names::ROUND_TRIP_TIME) => {
            let why = round_trip_time::why(cell)?;
            (names::ROUND_TRIP_TIME, format!("apart from stalls the path's round trip ({why})"))
        }
        Some(names::ROUND_TRIPS_STALL) => return None,
        _ => (names::ROUND_TRIPS_STALL, round_trips_stall::beside(cell)?),
    };
    Some(Second { rule: other.to_owned(), says })
}
