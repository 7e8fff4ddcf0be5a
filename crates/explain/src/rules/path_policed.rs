//! `path-policed`: does something on the path drop what is above a rate?
//!
//! A policer has no queue: it lets a bucket of bytes pass at once and drops all that comes before
//! the bucket has filled again. TCP loses segments in rows and the round trip stays short, while
//! the fastest slices of all runs carry the same. Losses at random come one at a time; a shaper
//! makes packets wait. Where the path was probed that decides: a policer loses packets of a train
//! and none of a slower one, and passes the first of a train as they came. What another congestion
//! control or several flows move beyond a rate shows that nothing on the path drops what is above
//! it.

use super::tcp_retransmits::{ROW_MIN, row};
use super::{large_frames_lost, path_capacity_varies, path_drops_ecn};
use crate::controls;
use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::other_streams::OtherStream;
use crate::probes::says_rate;
use crate::signals::{Losses, Rates};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_stats::{Bursts, Limited, median};

pub static RULE: Rule = Rule {
    name: "path-policed",
    asks: "Does something on the path drop what is above a rate?",
    of_host: false,
    judge,
};

/// Policers between namespaces cost TCP 9 to 17 % of its segments; below this share the sender was
/// held by something else.
const LOST_SHARE: f64 = 0.01;
/// With a longer wait there is a queue, as before a shaper.
const WAITED_MAX_NS: f64 = 700e3;
/// Fewer runs may agree by accident.
const ALIKE_RUNS_MIN: usize = 4;
/// Range of the runs as a share of the median, of runs with one repair.
const ALIKE_SPREAD: f64 = 0.15;
/// Less loss than that holds no stream by itself.
const LOST_ALIKE_SHARE: f64 = 0.005;
/// Where a probe saw what drops bursts, a stream that lost less was not held by it.
const LOST_PROBED_SHARE: f64 = 0.0005;
/// Share of the runs (four or more) whose fastest slice is within half of `FASTEST_SPREAD_MAX` of
/// the median one.
const ALIKE_SHARE: f64 = 0.6;
/// How far apart the fastest slices of the runs may be.
const FASTEST_SPREAD_MAX: f64 = 0.2;

/// What other streams of the path move, as a share of a rate, that nothing bounds there then.
const BEYOND: f64 = 1.5;
/// And how far apart their own runs are, as a share of the middle: what moves more than one that
/// slows down at each loss has the same in each run where a rate holds both.
const UNLIKE_SPREAD: f64 = 0.4;

/// Of a stream that asks for congestion marks, from this share of segments sent again on, the
/// mark itself may be what is dropped.
const MARKED_SHARE: f64 = 0.2;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpCountersOfSender, None, look)
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() || cell.is_paced() {
        return Err(Blind::OtherKind);
    }
    let losses = cell.losses().ok_or_else(|| cell.lacks(Measure::TcpSegments))?;
    // What drops packets for their mark passes each that is sent again: half are lost, in rows.
    if path_drops_ecn::is_found(cell) {
        return cell.saw("what is lost is lost for its ECN mark", None);
    }
    if large_frames_lost::is_found(cell) {
        return cell.saw("what is lost is what TCP hands over many segments at a time", None);
    }
    let is_marked = path_drops_ecn::is_agreed(cell) && losses.again >= MARKED_SHARE;
    if is_marked && cell.classes(|_, other| other.is_ecn()).is_empty() {
        return Err(cell.lacks(Measure::TrainsWithEcnByExplain));
    }
    // Trains of a path that changes were sent at different times: their rates are not one limit's.
    if path_capacity_varies::is_found(cell) || !cell.is_one_link() {
        return cell.saw("packet trains or the stream tell of a path that changes", None);
    }
    let bursts = cell.bursts();
    if let Some(Bursts::Limited(limited)) = bursts {
        return look_at_probe(cell, &losses, &limited);
    }
    let trips = cell.trips().ok_or_else(|| cell.lacks(Measure::TcpRoundTrips))?;
    // A short run has no slices: then its mean alone tells.
    let slices = cell.fastest_slices();
    let rates = cell.rates();
    let fastest = slices.as_ref().or(rates.as_ref()).ok_or_else(|| cell.lacks(Measure::Slices))?;
    let row = row(cell).ok_or_else(|| cell.lacks(Measure::KernelRepairs));
    let row = if losses.lost > 0.0 { row? } else { 0.0 };
    let seen = format!(
        "{:.1} % of the segments lost, {row:.1} packets at a time; packets waited {:.2} ms; the {} \
         within {:.0} % of each other",
        100.0 * losses.lost,
        trips.waited_ns() / 1e6,
        if slices.is_some() { "fastest slices of the runs are" } else { "runs are" },
        100.0 * fastest.spread()
    );
    // A run that begins with a full bucket, after a pause, has one slice that is faster.
    let is_alike = fastest.spread() <= FASTEST_SPREAD_MAX
        || cell.fastest_alike(FASTEST_SPREAD_MAX / 2.0) >= Some(ALIKE_SHARE);
    let is_in_rows = slices.is_some() && losses.lost >= LOST_SHARE && row >= ROW_MIN && is_alike;
    // Trains alone take what an empty bucket drops for losses at random.
    let is_emptied = cell.meets_empty_bucket() && losses.lost >= LOST_ALIKE_SHARE;
    let rate = rates.as_ref().map_or(fastest.middle, |rates| rates.high.min(fastest.middle));
    let is_policed = !matches!(bursts, Some(Bursts::AtRandom { .. }))
        && (is_in_rows || is_emptied || is_held_alike(cell, &losses))
        && trips.waited_ns() <= WAITED_MAX_NS
        && !cell.is_busy()
        && !moves_more(cell, rate, fastest);
    let wrong = is_policed.then(|| {
        let says = format!(
            "Something on the path drops what comes faster than about {:.0} Mb/s of packets in {}, \
             and nothing queues: a policer or a firewall's rate limit",
            cell.in_packets(rate) / 1e6,
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY)
    });
    cell.saw(seen, wrong)
}

const REMEDY: &str = "raise its rate or its burst (tc -s filter, nft list ruleset on hosts and \
                      routers between, a provider's allowance), or shape below it at the sender: \
                      --bitrate just below the rate loses nothing";

/// A policer by what a probe saw; what spreads bursts out is a queue, and not one.
fn look_at_probe(cell: &Cell<'_>, losses: &Losses, limited: &Limited) -> Looked {
    let seen = format!(
        "{:.2} % of the segments lost; packet trains lose what comes at once and less of what \
         comes apart; the first of a train come {}",
        100.0 * losses.lost,
        if limited.is_queue { "spread out" } else { "as they were sent" }
    );
    let is_policed = !limited.is_queue && losses.lost >= LOST_PROBED_SHARE && !cell.is_busy();
    let wrong = is_policed.then(|| {
        let rate = limited.rate_bps.as_ref();
        let rate = rate.map_or("a rate".to_owned(), |rate| format!("about {}", says_rate(rate)));
        let bytes = limited
            .room_bytes
            .map_or(String::new(), |room| format!(" beyond bursts of about {:.0} KB", room / 1e3));
        let says = format!(
            "Something on the path drops what comes faster than {rate}{bytes} in {}: a policer or \
             a firewall's rate limit, or a shaper with next to no queue",
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY)
    });
    cell.saw(seen, wrong)
}

/// Whether other streams that ran between the same ends moved far more than a rate: more than the
/// fastest slices of this one, or more in some runs than in others, as losses without a rate do.
fn moves_more(cell: &Cell<'_>, rate_bps: f64, fastest: &Rates) -> bool {
    OtherStream::all(cell).iter().map(|other| &other.each_bps).any(|runs| {
        let Some(middle) = median(runs) else { return false };
        let low = runs.iter().copied().fold(middle, f64::min);
        let high = runs.iter().copied().fold(middle, f64::max);
        let is_unlike = runs.len() >= ALIKE_RUNS_MIN && high - low >= UNLIKE_SPREAD * middle;
        middle >= BEYOND * fastest.high || (middle >= BEYOND * rate_bps && is_unlike)
    })
}

/// Whether runs that lost a few segments each were as fast as each other all the same. Of `n`
/// losses at random the rate varies by 0.5 / sqrt(n) from run to run, about; a limit on packets or
/// bytes does not. Behind 400 packets a second runs with three repairs each were within 5 %; with
/// losses of 1 % at random they were 60 % apart.
fn is_held_alike(cell: &Cell<'_>, losses: &Losses) -> bool {
    let repairs = cell.sent_count(keys::RECOVERIES).unwrap_or(0.0);
    // Congestion control that does not slow down at a loss is even because of that.
    let used = cell.summary.congestion();
    let minds_loss = used.is_none_or(controls::slows_down);
    let rates = cell.rates().filter(|_| cell.summary.values.len() >= ALIKE_RUNS_MIN);
    minds_loss
        && losses.lost >= LOST_ALIKE_SHARE
        && repairs >= 1.0
        && rates.is_some_and(|rates| rates.spread() <= ALIKE_SPREAD / repairs.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beside::testing::with_beside;
    use crate::measured::testing::{of_study, read, slices, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::load::{Params, Role};
    use narrows_model::study::StoredStudy;

    /// A stream of three runs, of whose hundred thousand segments so many were sent again.
    fn study(again: u64, repairs: u64, least_ns: u64) -> StoredStudy {
        let mut study = stream("tcp-stream");
        slices(&mut study, &[0, 250_000_000, 0, 251_000_000, 0, 250_500_000]);
        for (key, count) in [
            ("sent_segments", 100_000),
            ("retransmitted_segments", again),
            ("rtt_min_ns", 10_000),
            ("rtt_ns", least_ns),
            ("lowest:rtt_ns", least_ns),
            ("highest:rtt_ns", least_ns),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), count);
        }
        for (key, count) in
            [("TCPSackRecovery", repairs), ("TCPRenoRecovery", 0), ("TCPTimeouts", 0)]
        {
            read(&mut study, "netstat", &format!("TcpExt.{key}_events"), count);
        }
        study
    }

    #[test]
    fn rows_of_losses_without_a_queue_are_a_policers_and_single_ones_are_not() {
        let of =
            |repairs: u64, least_us: u64| of_study(&RULE, &study(9_000, repairs, 1000 * least_us));
        assert!(is_found(&of(300, 100)));
        assert!(is_clear(&of(8_000, 100)), "single losses");
        assert!(is_clear(&of(300, 20_000)), "a queue");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }

    #[test]
    fn a_rate_that_several_flows_pass_is_no_policers() {
        use narrows_model::record::Record;
        use narrows_model::trial::TrialId;
        let of = |runs: [u64; 4]| {
            let mut study = study(9_000, 300, 100_000);
            let mut trial = study.trials[0].clone();
            (trial.id, trial.label) = (TrialId("b".into()), "tcp-stream 4 flows".into());
            trial.params.streams = 4;
            for (repeat, mbps) in (0..).zip(runs) {
                let mut record = Record { repeat, ..study.records[0].clone() };
                record.trial = trial.id.clone();
                for end in record.of_mut(Role::Receiver) {
                    end.flows[0].bytes.0 = mbps * 125_000;
                }
                for end in record.of_mut(Role::Sender) {
                    end.readings.put_words("tcp-info", "flow0.retransmitted_segments", 0);
                }
                study.records.push(record);
            }
            study.trials.push(trial);
            of_study(&RULE, &study)
        };
        // One flow has 10 Gb/s, and up to 25 in its fastest slices.
        let found = |runs| format!("{:?}", of(runs)).contains("drops what comes faster");
        assert!(found([6_000, 6_100, 6_000, 6_100]), "as much");
        assert!(found([16_500, 16_600, 16_500, 16_600]), "the rate that one flow leaves unused");
        assert!(!found([12_000, 20_000, 15_500, 17_500]), "a rate in no run");
        assert!(!found([40_000, 40_100, 40_000, 40_100]), "more than the fastest slices");
    }

    #[test]
    fn runs_too_short_for_slices_are_policed_where_bbr_moves_the_same() {
        let of = |bbr: f64| {
            let mut study = study(9_000, 300, 100_000);
            slices(&mut study, &[0, 4_000_000, 0, 4_000_000]);
            let of_bbr = |params: &mut Params| params.congestion = Some("bbr".into());
            with_beside(&mut study, of_bbr, bbr);
            let ids: Vec<_> = study.trials.iter().map(|trial| trial.id.clone()).collect();
            for run in &mut study.records {
                let name = if run.trial == ids[0] { "cubic" } else { "bbr" };
                let ends = run.of_mut(Role::Sender);
                ends.for_each(|end| end.effective.congestion = Some(name.into()));
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(1.03)));
        assert!(is_clear(&of(1.4)), "one that does not mind loss has more");
    }

    #[test]
    fn half_of_the_packets_of_a_stream_with_ecn_are_no_policers() {
        let of = |options: u64| {
            let mut study = study(50_000, 300, 100_000);
            read(&mut study, "tcp-info", "flow0.agreed_options", options);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(7)), "no marks agreed");
        assert!(is_unknown(&of(15)), "nobody sent packets without the mark");
    }

    #[test]
    fn a_bucket_that_was_full_at_first_hides_no_policer() {
        let of = |firsts: [u64; 6]| {
            let mut study = study(9_000, 300, 100_000);
            let more = study.records.clone();
            study.records.extend(more);
            for ((number, record), first) in (0_u32..).zip(&mut study.records).zip(firsts) {
                record.repeat = number;
                for end in record.of_mut(Role::Receiver) {
                    end.intervals[1].bytes.0 = first * 1_000_000;
                    end.flows[0].bytes.0 += first * 1_000_000;
                }
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&of([251, 251, 900, 252, 251, 700])));
        assert!(is_clear(&of([300, 500, 900, 400, 251, 700])), "no rate of its own");
    }

    #[test]
    fn runs_that_agree_although_they_lost_are_policed() {
        let with = |factor: f64, congestion: Option<&str>| {
            let mut study = study(600, 4, 40_000);
            read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
            slices(&mut study, &[9, 200, 40, 180, 20, 120]);
            let more = study.records[0].clone();
            study.records.extend([more.clone(), more]);
            for (number, record) in (0_u32..).zip(&mut study.records) {
                record.repeat = number;
                for end in record.of_mut(Role::Receiver) {
                    let bytes = end.flows[0].bytes.0 as f64;
                    end.flows[0].bytes.0 = (bytes * (1.0 + factor * f64::from(number % 3))) as u64;
                }
            }
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
                end.effective.congestion = congestion.map(str::to_owned);
            }
            of_study(&RULE, &study)
        };
        let of = |factor| with(factor, None);
        assert!(is_found(&of(0.02)));
        assert!(is_clear(&of(0.2)));
        assert!(is_clear(&with(0.02, Some("bbr"))), "one that does not mind loss");
    }

    #[test]
    fn a_probe_decides_with_rate_and_bucket() {
        use crate::probes::testing::{way, with_probes};
        use narrows_model::probe::PathProbe;
        let of = |there| {
            let mut study = study(600, 590, 40_000);
            read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
            with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
            of_study(&RULE, &study)
        };
        // Ten packets at once, then 20 Mb/s: 3 more in 2 ms, 167 in 100 ms.
        let verdict = of(way(13, 60, 177));
        let Verdict::Found { findings } = &verdict else { panic!("{verdict:?}") };
        let says = &findings[0].says;
        assert!(says.contains("20 Mb/s of packets (20 to 20, by packet trains)"), "{says}");
        assert!(says.contains("bursts of about 14 KB"), "{says}");
        assert!(is_clear(&of(way(13, 4_200, 177))), "a queue");
        assert!(is_clear(&of(way(251, 60, 251))), "at random");
    }

    #[test]
    fn an_emptied_bucket_is_not_taken_for_losses_at_random() {
        use crate::probes::testing::{way, with_probes};
        use narrows_model::probe::PathProbe;
        use narrows_model::trial::TrialId;
        // Of single losses, under cubic, beside another kind of congestion control.
        let of = |passed: u32, other: &str, factor: f64| {
            let mut study = study(2_500, 2_400, 40_000);
            read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
            let named = |study: &mut StoredStudy, from: usize, name: &str| {
                for end in study.records[from..].iter_mut().flat_map(|run| run.of_mut(Role::Sender))
                {
                    end.effective.congestion = Some(name.to_owned());
                }
            };
            named(&mut study, 0, "cubic");
            let mut trial = study.trials[0].clone();
            (trial.id, trial.label) = (TrialId("b".into()), "tcp-stream bbr".into());
            trial.params.congestion = Some(other.to_owned());
            for mut record in study.records.clone() {
                record.trial = trial.id.clone();
                for end in record.of_mut(Role::Receiver) {
                    end.flows[0].bytes.0 = (end.flows[0].bytes.0 as f64 * factor) as u64;
                }
                study.records.push(record);
            }
            named(&mut study, 3, other);
            study.trials.push(trial);
            let there = way(passed, 60, passed);
            with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(176, "bbr", 9.0)), "trains lose twelve times as much");
        assert!(is_found(&of(250, "bbr", 1.02)), "what does not mind loss moves the same");
        assert!(is_clear(&of(250, "bbr", 9.0)), "at random");
        assert!(is_clear(&of(250, "reno", 1.02)), "both mind loss");
    }
}
