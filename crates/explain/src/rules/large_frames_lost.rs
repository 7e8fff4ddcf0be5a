//! `large-frames-lost`: are the segments lost that TCP hands over many at a time?
//!
//! TCP hands the interface large frames, which the NIC or its driver cuts into segments (TSO). A
//! driver, a bridge or a tunnel that drops them leaves TCP the single segments that it sends after
//! its timer: the window stays at a few, and a tenth of all segments and more are lost. Packets of
//! a probe, which are not cut, all come, however many are sent at once. A filter of TCP alone looks
//! the same from the ends.

use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};
use narrows_stats::Bursts;
use std::collections::BTreeMap;

pub static RULE: Rule = Rule {
    name: "large-frames-lost",
    asks: "Are the segments lost that TCP hands over many at a time?",
    of_host: false,
    judge,
};

/// Below this, losses at random and policers explain it as well.
const LOST_SHARE: f64 = 0.1;
/// A larger congestion window, in segments, has let large frames through.
const WINDOW_MAX: f64 = 10.0;
/// So have more segments that came between two repairs: single ones make a window of two or three,
/// which is a large frame again.
const BETWEEN_MAX: f64 = 20.0;
/// Features of an interface by which TCP hands over more than a segment at once.
const CUT: [&str; 3] = ["tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-generic-segmentation"];

fn judge(case: &Case<'_>) -> Verdict {
    let idle = Some(Activity::LosesSegments);
    measured::judge(case, Needed::ProbedStream, idle, look)
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
    if losses.lost < LOST_SHARE {
        return cell.saw(format!("{:.3} % of the segments lost", 100.0 * losses.lost), None);
    }
    let bursts = cell.bursts().ok_or_else(|| cell.lacks(Measure::TrainsByExplain))?;
    let window = cell.congestion_window().ok_or_else(|| cell.lacks(Measure::TcpWindow))?;
    let come = if bursts == Bursts::Whole { "come whole" } else { "lose packets too" };
    let seen = format!(
        "{:.1} % of the segments lost, congestion windows of {window:.0} segments as the runs end; packet \
         trains {come}",
        100.0 * losses.lost
    );
    // Of what nothing at all comes of, the size or the port is what is dropped.
    let comes = cell.received_count(keys::DATA_IN).is_none_or(|segments| segments > 0.0);
    let is_small = window <= WINDOW_MAX && between_repairs(cell).is_none_or(|it| it <= BETWEEN_MAX);
    let is_lost = comes && bursts == Bursts::Whole && is_small && !is_cut_before(cell);
    let wrong = is_lost.then(|| {
        let says = format!(
            "TCP loses {:.0} % of its segments in {}, and a probe's trains come whole: what TCP hands \
             over in frames of several segments (TSO) is dropped, or TCP alone",
            100.0 * losses.lost,
            cell.trial.label
        );
        let at = cell.sender().and_then(|end| end.nic()).map_or("IF", |nic| nic.name.as_str());
        let remedy = format!(
            "at the sender ethtool -K {at} tso off gso off, and measure again: if that helps, its driver, \
             a bridge or a tunnel drops large frames; else look for a filter of TCP (nft list \
             ruleset, iptables -nvL) at both ends and between"
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

/// Segments that came for each time that TCP repaired a loss, by its timer or without.
fn between_repairs(cell: &Cell<'_>) -> Option<f64> {
    let came = cell.received_count(keys::DATA_IN)?;
    let timers = cell.sent_count(keys::TIMEOUTS)?;
    let repairs = timers + cell.sent_count(keys::RECOVERIES)?;
    Some(came / repairs.max(1.0))
}

/// Whether the sender's kernel cuts all that leaves into single segments.
fn is_cut_before(cell: &Cell<'_>) -> bool {
    let features = cell.sender().and_then(|end| end.nic()?.offloads.value());
    let is_on =
        |features: &BTreeMap<String, bool>| CUT.iter().any(|cut| features.get(*cut) == Some(&true));
    features.is_some_and(|features| features.contains_key(CUT[0]) && !is_on(features))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::probes::testing::{way, with_probes};
    use crate::setting::testing::{is_clear, is_found, is_unknown, known};
    use narrows_model::host::Nic;
    use narrows_model::load::Role;
    use narrows_model::probe::PathProbe;
    use narrows_model::study::StoredStudy;

    /// So many of 1000 segments lost, with this window; trains of 256 of which so many come.
    fn study(lost: u64, window: u64, came: u32) -> StoredStudy {
        let mut study = stream("tcp-stream");
        for (key, value) in [
            ("sent_segments", 1000),
            ("retransmitted_segments", lost),
            ("congestion_window_segments", window),
            ("send_mss_bytes", 1448),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        let there = way(came, 60, came);
        with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
        study
    }

    #[test]
    fn segments_are_lost_that_no_train_loses() {
        let of = |lost, window, came| of_study(&RULE, &study(lost, window, came));
        assert!(is_found(&of(210, 2, 256)));
        assert!(is_clear(&of(90, 2, 256)), "as a path loses them");
        assert!(is_clear(&of(210, 40, 256)), "large frames passed");
        assert!(is_clear(&of(210, 2, 200)), "the path loses packets as well");
        let between = |came: u64| {
            let mut study = study(210, 2, 256);
            read_receiver(&mut study, "tcp-info", "flow0.received_data_segments", came);
            read(&mut study, "tcp-info", "flow0.timeouts_events", 7);
            read(&mut study, "netstat", "TcpExt.TCPSackRecovery_events", 3);
            of_study(&RULE, &study)
        };
        assert!(is_found(&between(200)));
        assert!(is_clear(&between(201)), "so many came in large frames");
        let nothing_comes = |segments: u64| {
            let mut study = study(210, 2, 256);
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Receiver)) {
                end.readings.put_words("tcp-info", "flow0.received_data_segments", segments);
            }
            of_study(&RULE, &study)
        };
        assert!(is_clear(&nothing_comes(0)), "a black hole");
        assert!(is_found(&nothing_comes(9)));
        let mut unprobed = stream("tcp-stream");
        read(&mut unprobed, "tcp-info", "flow0.sent_segments", 1000);
        read(&mut unprobed, "tcp-info", "flow0.retransmitted_segments", 210);
        assert!(is_unknown(&of_study(&RULE, &unprobed)));
    }

    #[test]
    fn what_the_kernel_cuts_itself_is_no_large_frame() {
        let with = |on: bool| {
            let mut study = study(210, 2, 256);
            let features = CUT.map(|cut| (cut.to_owned(), on && cut == CUT[1]));
            let offloads = known(features.into_iter().collect());
            study.host.nics = vec![Nic { name: "e0".into(), offloads, ..Nic::default() }];
            for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                end.report.effective.interface = Some("e0".into());
            }
            of_study(&RULE, &study)
        };
        let verdict = format!("{:?}", with(true));
        assert!(verdict.contains("ethtool -K e0 tso off gso off"), "{verdict}");
        assert!(is_clear(&with(false)));
    }
}
