//! `path-reordering`: do packets arrive in another order than they were sent?
//!
//! Several links in parallel, or queues that packets of one flow are spread over, let a later
//! segment overtake an earlier one. TCP takes that for loss: it sends again what is not missing,
//! and slows down. The receiver counts segments that came early (`tcpi_rcv_ooopack`), the sender
//! those that it had sent in vain. Losses make segments come early too, so it is found only where
//! nearly nothing was lost.

use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::probe::WayProbe;
use narrows_model::reading::{Counter, keys};
use narrows_model::record::Record;
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_stats::reordered_share;

pub static RULE: Rule = Rule {
    name: "path-reordering",
    asks: "Do packets arrive in another order than they were sent?",
    of_host: false,
    judge,
};

/// Share of the segments that came early.
const EARLY_SHARE: f64 = 0.002;
/// Fewer of them may be the work of schedulers where others use the CPUs.
const MOVED_SHARE: f64 = 0.02;
/// In fewer runs a thread that was moved once makes 5 % of a short one's segments early.
const RUNS_LEAST: usize = 3;
const FEW_RUNS_SHARE: f64 = 0.1;
/// Of those that were sent again, so many at the most were missing.
const LOST_OF_EARLY_MAX: f64 = 0.05;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpCounters, None, look)
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

fn look(cell: &Cell<'_>) -> Looked {
    if cell.is_probe() {
        return look_at_probe(cell);
    }
    if !cell.is_tcp_stream() {
        return Err(Blind::OtherKind);
    }
    let losses = cell.losses().ok_or_else(|| cell.lacks(Measure::TcpSegments))?;
    let early = cell
        .received_count(keys::OUT_OF_ORDER)
        .ok_or_else(|| cell.lacks(Measure::SegmentsEarly))?;
    cell.apart_share().ok_or_else(|| cell.lacks(Measure::WindowsAtOnce))?;
    // A thread that is moved to another CPU overtakes its own packets.
    if cell.is_disturbed() && (EARLY_SHARE..MOVED_SHARE).contains(&losses.early) {
        return Err(cell.lacks(Measure::UndisturbedRuns));
    }
    let seen = format!(
        "{:.2} % of the segments came before earlier ones ({early:.0}); {:.3} % were sent again in \
         vain, {:.3} % were lost",
        100.0 * losses.early,
        100.0 * losses.had,
        100.0 * losses.lost
    );
    // All that was on the way when a segment was lost comes before it is sent again.
    // Where every second run lost one segment, the median of neither count is of the same run.
    let lost = losses.lost.max(mean_lost(cell).unwrap_or(0.0));
    let lost = missing_share(cell).map_or(lost, |missing| missing.min(lost));
    let least = if cell.done.len() < RUNS_LEAST { FEW_RUNS_SHARE } else { EARLY_SHARE };
    let wrong = losses.early >= least
        && lost <= LOST_OF_EARLY_MAX * losses.early
        && losses.early > by_loss(cell, lost);
    let wrong = wrong.then(|| {
        let says = format!(
            "The path reorders packets in {}: {:.1} % of the segments came before earlier ones, \
             and nearly none was lost",
            cell.trial.label,
            100.0 * losses.early
        );
        let remedy = if losses.early >= MOST { JITTER } else { REMEDY };
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

/// Share of the segments with payload of all runs together that the receiver's TCP never had, by
/// both ends' counts. A sender learns of few of those that it sent in vain where acknowledgements
/// tell of the last one only. Windows of one length that are not of the same time differ by as much
/// as the rate changed meanwhile.
pub fn missing_share(cell: &Cell<'_>) -> Option<f64> {
    let apart = cell.apart_share()? * cell.unsteadiness().map_or(1.0, |spread| spread.min(1.0));
    let sent: u64 = of_all(cell, Record::sender, keys::DATA_OUT)?;
    let came: u64 = of_all(cell, Record::receiver, keys::DATA_IN)?;
    (sent > 0).then(|| sent.saturating_sub(came) as f64 / sent as f64 + apart)
}

/// The sum of what one end of each run counted; `None` where one did not.
fn of_all(
    cell: &Cell<'_>,
    end: fn(&Record) -> Option<&EndReport>,
    counter: Counter,
) -> Option<u64> {
    let counts = cell.done.iter().map(|record| end(record)?.readings.total(counter));
    counts.sum::<Option<u64>>()
}

/// Share of the segments of all runs together that were lost.
fn mean_lost(cell: &Cell<'_>) -> Option<f64> {
    let ends: Vec<&EndReport> = cell.done.iter().filter_map(|record| record.sender()).collect();
    let all = |counter| ends.iter().filter_map(|end| end.readings.total(counter)).sum::<u64>();
    let lost = all(keys::RETRANSMITTED).saturating_sub(all(keys::DUPLICATES));
    let sent = all(keys::SENT);
    (sent > 0).then(|| lost as f64 / sent as f64)
}

/// Share of the segments that come early as others are lost: all that were on the way then, and as
/// many until the missing one comes.
pub fn by_loss(cell: &Cell<'_>, lost: f64) -> f64 {
    2.0 * cell.under_way().unwrap_or(10.0) * lost
}

/// Two ways of different length let half of the packets come early at the most; a delay that is
/// another for each packet leaves next to none in order.
const MOST: f64 = 0.6;
const JITTER: &str = "look for a link whose delay changes from packet to packet (radio, a tunnel's \
                      program, an emulator's jitter); while it stays, a congestion control that \
                      does not take late packets for losses (bbr) moves more";
const REMEDY: &str = "keep the packets of a flow on one way: hash by flow and not by packet on \
                      bonds and switches (xmit_hash_policy, not balance-rr), one queue a flow (RPS \
                      and XPS), no per-packet load balancing";

/// Packets of a probe's trains that came late. A sender that is moved to another CPU lets some of
/// one train overtake others; a path does it to most trains.
fn look_at_probe(cell: &Cell<'_>) -> Looked {
    let ways = cell.probes().flat_map(|probe| [(&probe.there, "there"), (&probe.back, "back")]);
    let tried: Vec<_> = ways.filter(|(way, _)| !way.trains.is_empty()).collect();
    if tried.is_empty() {
        return Err(cell.lacks(Measure::Trains));
    }
    let Some((way, name)) = tried.iter().find(|(way, _)| is_late(way)) else {
        return cell.saw("packets of most trains came in order", None);
    };
    let share = 100.0 * reordered_share(way).unwrap_or(0.0);
    let seen = format!("{share:.1} % of the packets of trains came late {name}");
    let says = format!("The path reorders packets {name}: {share:.1} % of a probe's came late");
    let remedy = if share >= 100.0 * MOST { JITTER } else { REMEDY };
    cell.saw(seen.clone(), Some(finding(&RULE, cell, Weight::Advice, says, seen, remedy)))
}

fn is_late(way: &WayProbe) -> bool {
    let late = way.trains.iter().filter(|train| train.late > 0).count();
    2 * late > way.trains.len() && reordered_share(way).is_some_and(|s| s >= EARLY_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};

    #[test]
    fn early_segments_without_losses_are_found() {
        let of = |early: u64, again: u64, had: u64| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.sent_segments", 100_000);
            read(&mut study, "tcp-info", "flow0.retransmitted_segments", again);
            read(&mut study, "tcp-info", "flow0.duplicates_reported_segments", had);
            read_receiver(&mut study, "tcp-info", "flow0.received_out_of_order_segments", early);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(3_000, 1_200, 1_190)));
        assert!(is_clear(&of(3_000, 1_200, 0)), "losses make segments come early");
        assert!(is_clear(&of(20, 0, 0)));
        let once = |early: u64| {
            let mut study = stream("tcp-stream");
            study.records.truncate(1);
            read(&mut study, "tcp-info", "flow0.sent_segments", 100_000);
            read(&mut study, "tcp-info", "flow0.retransmitted_segments", 0);
            read(&mut study, "tcp-info", "flow0.duplicates_reported_segments", 0);
            read_receiver(&mut study, "tcp-info", "flow0.received_out_of_order_segments", early);
            of_study(&RULE, &study)
        };
        assert!(is_clear(&once(4_800)), "a thread was moved once");
        assert!(is_found(&once(10_000)));
        assert!(is_clear(&of(900, 45, 0)), "each loss lets a window come early");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }

    #[test]
    fn what_the_receiver_had_was_not_lost_whatever_the_sender_heard_of_it() {
        let of = |sent: u64, came: u64| {
            let mut study = stream("tcp-stream");
            for (key, value) in [
                ("sent_segments", sent),
                ("sent_data_segments", sent),
                ("retransmitted_segments", 7_000),
                ("duplicates_reported_segments", 5_400),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            for (key, value) in
                [("received_data_segments", came), ("received_out_of_order_segments", 14_300)]
            {
                read_receiver(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(36_800, 36_800)));
        assert!(is_clear(&of(36_800, 35_200)), "as many are missing as the sender says");
    }

    #[test]
    fn losses_of_every_second_run_explain_what_came_early_in_it() {
        let of = |lost: [u64; 3]| {
            let mut study = stream("tcp-stream");
            for (record, lost) in study.records.iter_mut().zip(lost) {
                for end in record.of_mut(narrows_model::load::Role::Sender) {
                    for (key, value) in [("sent", 1_080), ("retransmitted", lost)] {
                        let key = format!("flow0.{key}_segments");
                        end.readings.put_words("tcp-info", &key, value);
                    }
                }
            }
            read_receiver(&mut study, "tcp-info", "flow0.received_out_of_order_segments", 24);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of([0, 0, 0])));
        assert!(is_clear(&of([0, 0, 4])), "{:?}", of([0, 0, 4]));
    }

    #[test]
    fn over_a_long_path_a_loss_lets_all_that_is_under_way_come_early() {
        let of = |rtt_us: u64, highest: u64| {
            let mut study = stream("tcp-stream");
            for (key, value) in [
                ("sent_segments", 100_000),
                ("retransmitted_segments", 20),
                ("send_mss_bytes", 1448),
                ("rtt_min_ns", 1_000 * rtt_us),
                ("rtt_ns", 1_000 * rtt_us),
                ("congestion_window_segments", 10),
                ("highest:congestion_window_segments", highest),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            read_receiver(&mut study, "tcp-info", "flow0.received_out_of_order_segments", 3_000);
            of_study(&RULE, &study)
        };
        assert!(is_clear(&of(5_000, 10)), "ten gigabits a second over 5 ms are 4300 segments");
        assert!(is_clear(&of(50, 1_900)), "a window that slow start left as the run began");
        assert!(is_found(&of(50, 40)));
    }

    #[test]
    fn trains_that_come_out_of_order_are_found_and_one_of_ten_is_chance() {
        use crate::probes::testing::{way, with_probes};
        use narrows_model::probe::PathProbe;
        let of = |late_trains: usize| {
            let mut back = way(256, 60, 256);
            back.trains.iter_mut().take(late_trains).for_each(|train| train.late = 20);
            let mut study = stream("udp-stream");
            with_probes(&mut study, &[PathProbe { back, ..PathProbe::default() }]);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(10)));
        assert!(is_clear(&of(1)));
    }
}
