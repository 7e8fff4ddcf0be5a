//! From a point that is off to the fewest options that still show it, and to the point beside it
//! that does not.
//!
//! The way is walked anew from what is known whenever a run more is known, and ends at the first
//! point that has not been measured: nothing is kept between two runs.

use super::Kind;
use super::judge::is_ordered;
use super::known::Known;
use narrows_model::explored::Point;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shrunk {
    /// At a point whose run is needed.
    Needs(Point),
    /// At the fewest options, and the same with one of them put back.
    Pair(Point, Point),
    /// At nothing: it was chance, or no single option brings it back.
    Nothing,
}

/// Runs of a point before it is followed: one alone may have been disturbed.
const RUNS: usize = 2;

/// A point whose run is needed to go on.
struct Needed(Point);

/// Shrinks what is off at a point.
pub fn shrink(known: &Known, kind: Kind, from: &Point) -> Shrunk {
    if known.runs(from) < RUNS {
        return Shrunk::Needs(from.clone());
    }
    if !known.excess(kind, from).is_some_and(is_off) {
        return Shrunk::Nothing;
    }
    let fewest = fewest(known, kind, from.clone());
    let edge = fewest.and_then(|point| at_edges(known, kind, point));
    match edge.and_then(|point| pair(known, kind, &point)) {
        Ok(Some((odd, plain))) => Shrunk::Pair(odd, plain),
        Ok(None) => Shrunk::Nothing,
        Err(Needed(point)) => Shrunk::Needs(point),
    }
}

fn is_off(excess: f64) -> bool {
    excess > 0.0
}

/// Whether a point is off; one that was refused is not.
fn shows(known: &Known, kind: Kind, point: &Point) -> Result<bool, Needed> {
    if !known.is_known(point) {
        return Err(Needed(point.clone()));
    }
    Ok(known.excess(kind, point).is_some_and(is_off))
}

/// Puts options back as long as it is still off: all but a few of them at first, then ever fewer
/// (delta debugging, Zeller 2002).
fn fewest(known: &Known, kind: Kind, mut point: Point) -> Result<Point, Needed> {
    let usual = known.usual(point.traffic);
    let mut parts = 2;
    loop {
        let changed = known.explored().of(&point).changed(&point);
        if changed.len() < 2 {
            return Ok(point);
        }
        let size = changed.len().div_ceil(parts);
        let mut smaller = None;
        for part in changed.chunks(size) {
            let mut without = point.clone();
            for option in part {
                without.choices[*option] = usual.choices[*option];
            }
            if shows(known, kind, &without)? {
                smaller = Some(without);
                break;
            }
        }
        match smaller {
            Some(smaller) => (point, parts) = (smaller, 2),
            None if size == 1 => return Ok(point),
            None => parts = (2 * parts).min(changed.len()),
        }
    }
}

/// Moves every option that is an amount as near to the usual one as it is still off.
fn at_edges(known: &Known, kind: Kind, mut point: Point) -> Result<Point, Needed> {
    let of = known.explored().of(&point);
    for option in of.changed(&point) {
        let declared = &of.options[option];
        if !is_ordered(declared) {
            continue;
        }
        let (mut off, mut well) = (point.choices[option], declared.usual);
        while off.abs_diff(well) > 1 {
            let middle = usize::midpoint(off, well);
            if shows(known, kind, &point.with(option, middle))? {
                off = middle;
            } else {
                well = middle;
            }
        }
        point.choices[option] = off;
    }
    Ok(point)
}

/// The option that is put back: the one that brings back most beside what its law allows.
fn pair(known: &Known, kind: Kind, odd: &Point) -> Result<Option<(Point, Point)>, Needed> {
    let of = known.explored().of(odd);
    let mut best: Option<(f64, Point)> = None;
    for option in of.changed(odd) {
        let plain = odd.with(option, beside(known, odd, option));
        if !known.is_known(&plain) {
            return Err(Needed(plain));
        }
        let (Some(one), Some(other)) = (known.look(odd), known.look(&plain)) else { continue };
        if !known.shows(kind, (odd, one), (&plain, other)) {
            continue;
        }
        let share = known.share_expected(odd, &plain, option, other.rate);
        let gain = match kind {
            Kind::Slow => share * other.rate / one.rate,
            Kind::Troubled => one.trouble / other.trouble.max(1e-6),
        };
        if best.as_ref().is_none_or(|(known, _)| gain > *known) {
            best = Some((gain, plain));
        }
    }
    Ok(best.map(|(_, plain)| (odd.clone(), plain)))
}

/// The choice next to a point's, towards the usual one; of choices that are no amounts that one.
fn beside(known: &Known, point: &Point, option: usize) -> usize {
    let declared = &known.explored().of(point).options[option];
    let (own, usual) = (point.choices[option], declared.usual);
    match (is_ordered(declared), own < usual) {
        (false, _) => usual,
        (true, true) => own + 1,
        (true, false) => own.saturating_sub(1),
    }
}
