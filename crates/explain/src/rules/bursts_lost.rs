//! `bursts-lost`: are datagrams lost that are sent many at once, and not those sent one by one?
//!
//! Segmentation offload and calls for many datagrams put dozens on the wire back to back, however
//! slow the pace: a queue of a few packets drops the rest of each burst though the link is hardly
//! used, at half of the pace as well. That looks like loss at random. The same stream with a call
//! for each datagram tells.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::calls;
use narrows_model::load::{Params, StreamParams};
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};
use narrows_model::workload::Workload;

pub static RULE: Rule = Rule {
    name: "bursts-lost",
    asks: "Are datagrams lost that are sent many at once, and not those sent one by one?",
    of_host: false,
    judge,
};

/// What the slowest run one by one moves of what the fastest run in bursts does, at the least.
const FASTER: f64 = 1.3;
/// What is sent one by one keeps its pace from this share of it on, lost ones not counted.
const PACE_SHARE: f64 = 0.8;
/// Share of the datagrams that the bursts lose at the least.
const LOST_SHARE: f64 = 0.05;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::UdpInBursts, Some(Activity::SendsBursts), look)
}

fn look(cell: &Cell<'_>) -> Looked {
    let is_stream = cell.trial.kind == Workload::UDP_STREAM;
    if !is_stream || !cell.is_paced() || !is_joined(&cell.trial.params) {
        return Err(Blind::OtherKind);
    }
    let counted = cell.summary.loss.as_ref().ok_or_else(|| cell.lacks(Measure::DatagramsIn))?;
    let lost = counted.lost_datagrams as f64 / counted.all_datagrams().max(1) as f64;
    let others = cell.beside(one_by_one);
    // One that does not reach the pace spares whatever drops them.
    let pace_bps = cell.trial.params.rate_bps.unwrap_or(0) as f64;
    let single = others
        .iter()
        .find(|other| !is_joined(&other.trial.params) && other.low_bps() >= PACE_SHARE * pace_bps);
    let single = single.ok_or_else(|| cell.lacks(Measure::DatagramsOneByOne))?;
    if cell.is_lost_at_receiver() {
        return cell.saw("the receiver's own host lost most of the datagrams", None);
    }
    let high_bps = cell.rates().map_or(0.0, |rates| rates.high);
    let seen = format!(
        "bursts moved {:.1} Mb/s at the most and lost {:.0} %, the same datagrams one by one {:.1} Mb/s \
         at the least",
        high_bps / 1e6,
        100.0 * lost,
        single.low_bps() / 1e6
    );
    let is_found = lost >= LOST_SHARE && single.low_bps() >= FASTER * high_bps;
    let wrong = is_found.then(|| {
        let says = format!(
            "A queue or a policer's bucket on the way is too small for the bursts of {}: {seen}, at the \
             same pace",
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Caution, says, seen.clone(), REMEDY)
    });
    cell.saw(seen, wrong)
}

/// Whether a call hands over many datagrams.
fn is_joined(params: &Params) -> bool {
    let sender = params.stream.as_ref().and_then(|stream| stream.sender.as_deref());
    sender.is_some_and(|name| calls::JOINED.contains(&name))
}

/// The same with a call for each datagram.
fn one_by_one(params: Params) -> Params {
    let stream = StreamParams { sender: None, ..params.stream.clone().unwrap_or_default() };
    Params { stream: Some(stream), ..params }
}

const REMEDY: &str = "send datagrams one by one (--sender send, in a program without UDP_SEGMENT or \
                      sendmmsg) or in smaller bursts, pace them (fq: SO_MAX_PACING_RATE), or \
                      lengthen the queue or bucket that drops them (switch or router buffer, tc -s \
                      qdisc, a policer's burst)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beside::testing::with_beside;
    use crate::measured::testing::{of_study, stream};
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown};
    use narrows_model::load::Role;
    use narrows_model::study::StoredStudy;

    /// Five times what the stream of the tests moves.
    const RATE_BPS: u64 = 5 * 10_000_000_000;

    /// A paced stream whose calls hand over so many datagrams that a share of them is lost.
    fn bursts(sender: &str, lost: u64) -> StoredStudy {
        let mut study = stream("udp-stream");
        let params = &mut study.trials[0].params;
        // What the datagrams that came are, a fifth of what is sent.
        params.rate_bps = Some(RATE_BPS);
        params.stream =
            Some(StreamParams { sender: Some(sender.to_owned()), ..StreamParams::default() });
        for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Receiver)) {
            end.flows[0].lost = end.flows[0].messages * lost / (100 - lost);
        }
        study
    }

    #[test]
    fn bursts_that_a_short_queue_drops_are_found_beside_single_datagrams() {
        let of = |sender: &str, lost: u64, times: f64| {
            let mut study = bursts(sender, lost);
            with_beside(&mut study, |params| params.stream = None, times);
            of_study(&RULE, &study)
        };
        for sender in ["gso", "sendmmsg"] {
            assert!(is_found(&of(sender, 80, 5.0)), "{sender}");
        }
        let found = format!("{:?}", of("gso", 80, 5.0));
        assert!(found.contains("lost 80 %") && found.contains("--sender send"), "{found}");
        assert!(is_unknown(&of("gso", 80, 1.2)), "single ones keep no pace either");
        assert!(is_clear(&of("gso", 2, 5.0)), "it loses next to nothing");
        assert!(is_idle(&of("send", 80, 5.0)), "a call for each datagram");
        assert!(is_unknown(&of_study(&RULE, &bursts("gso", 80))), "nothing to compare with");
        let mut free = bursts("gso", 80);
        free.trials[0].params.rate_bps = None;
        assert!(is_idle(&of_study(&RULE, &free)), "as fast as it goes");
    }
}
