//! `path-half-duplex`: do both directions of the path share one capacity?
//!
//! A radio link, a bus, or one shaper for both directions carries only so much in all.
//! Acknowledgements take a part of it, and traffic of the other direction the half. Trains tell: of
//! those that are sent both ways at once no more comes in all than of one alone.

use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::{Case, Rule};
use narrows_model::result::{Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "path-half-duplex",
    asks: "Do both directions of the path share one capacity?",
    of_host: false,
    judge,
};

/// Each way alone comes at one rate, or it is not the same capacity.
const ALIKE: f64 = 1.3;
/// Both at once have at most so many times the rate of one: two ways of their own have twice that,
/// and trains that met for a part of the time something between.
const SUM_MOST: f64 = 1.5;
/// Above this rate it may be a CPU that both directions share: half-duplex links of Ethernet end
/// at 1 Gb/s, and those of radio about there.
const RATE_MOST_BPS: f64 = 1.2e9;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::ProbedStream, None, look)
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_network_stream() {
        return Err(Blind::OtherKind);
    }
    let both = cell.both_ways().ok_or_else(|| cell.lacks(Measure::TrainsBothWays))?;
    let [there, back, at_once] = [both.there, both.back, both.at_once].map(|bps| bps / 1e6);
    let seen = format!(
        "packet trains come at {there:.0} Mb/s there and {back:.0} Mb/s back alone, and at \
         {at_once:.0} Mb/s in all when sent both ways at once"
    );
    let is_one = there.max(back) <= ALIKE * there.min(back);
    let is_sum = at_once <= SUM_MOST * there.max(back);
    let is_link = 1e6 * there.max(back) <= RATE_MOST_BPS;
    let wrong = (is_one && is_sum && is_link && !cell.is_busy()).then(|| {
        let says = format!(
            "Both directions share one capacity of about {:.0} Mb/s in {}, which is half-duplex: \
             {seen}",
            (there + back) / 2.0,
            cell.trial.label
        );
        let remedy = "keep traffic of the other direction off it while this matters, thin out \
                      acknowledgements (GRO at the receiver, cake ack-filter); see the link's \
                      duplex on every hop (ethtool: Duplex), radio links, and shapers that both \
                      directions pass";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::probes::testing::{carries, with_probes};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use crate::volleys::testing::at;
    use narrows_model::Nanos;
    use narrows_model::probe::{PathProbe, Train, WayProbe};

    #[test]
    fn ways_that_halve_each_other_share_one_capacity() {
        // Packets that came of each of two trains that took 10 ms, beside 200 ones alone.
        let of = |alone: [u64; 2], came: [u32; 2]| {
            let mut study = stream("tcp-stream");
            let way = |alone: u64, came: u32| {
                let each = Train { came_ns: Nanos(10_000_000), ..at(2000.0, 100.0, came) };
                WayProbe { together: vec![each; 6], ..carries(alone) }
            };
            let (there, back) = (way(alone[0], came[0]), way(alone[1], came[1]));
            with_probes(&mut study, &[PathProbe { there, back, ..PathProbe::default() }]);
            of_study(&RULE, &study)
        };
        let shared = of([100, 100], [42, 42]);
        assert!(is_found(&shared), "{shared:?}");
        assert!(format!("{shared:?}").contains("about 100 Mb/s in tcp-stream"), "{shared:?}");
        assert!(is_found(&of([100, 100], [8, 83])), "one was first into the queue");
        assert!(is_clear(&of([100, 100], [83, 83])), "full duplex");
        // One way's trains end after a fifth of the time: the two hardly met.
        let apart = |came: u32, came_ns: u64| {
            let mut study = stream("tcp-stream");
            let long = Train { came_ns: Nanos(10_000_000), ..at(2000.0, 100.0, 83) };
            let short = Train { came_ns: Nanos(came_ns), ..at(2000.0, 100.0, came) };
            let [there, back] =
                [short, long].map(|each| WayProbe { together: vec![each; 6], ..carries(100) });
            with_probes(&mut study, &[PathProbe { there, back, ..PathProbe::default() }]);
            of_study(&RULE, &study)
        };
        assert!(is_unknown(&apart(20, 2_000_000)), "of full duplex, cut by a short queue");
        assert!(is_found(&apart(20, 8_000_000)), "of half duplex, with the rest of the rate");
        assert!(is_clear(&of([100, 20], [60, 12])), "two rates");
        assert!(is_clear(&of([2000, 2000], [42, 42])), "a CPU may be what they share");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
