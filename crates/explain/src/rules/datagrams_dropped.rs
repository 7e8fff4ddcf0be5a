//! `datagrams-dropped`: where were datagrams dropped, if they were?
//!
//! At the socket: the receiver came too late for its buffer, or the datagram was corrupted. At an
//! interface: its ring or queue was full. In the receiver's host: a filter or a backlog. On the
//! path: a switch, a shaper, or a host between; where both ends are one host there is none of
//! these. Where the other end's counters are not read no place is named. Judged from one in a
//! hundred, by the largest part; of a stream with a pace, which asks for no more than that, from
//! one in two hundred.

use super::path_rate_limit;
use crate::measured::{self, Blind, Cell, cells, finding};
use crate::{Case, Rule};
use narrows_model::result::{Needed, Verdict, Weight};
use narrows_stats::LossPlace;

pub static RULE: Rule = Rule {
    name: "datagrams-dropped",
    asks: "Where were datagrams dropped, if they were?",
    of_host: false,
    judge,
};

const DROPPED_SHARE: f64 = 0.01;
const DROPPED_SHARE_PACED: f64 = 0.005;

/// From this share of the datagrams on all of them are dropped, and not some by chance.
const ALL_SHARE: f64 = 0.95;

fn judge(case: &Case<'_>) -> Verdict {
    let others: Vec<Cell<'_>> = cells(case).collect();
    measured::judge(case, Needed::Udp, None, |cell| {
        let loss = cell.summary.loss.as_ref().ok_or(Blind::OtherKind)?;
        let all = loss.all_datagrams().max(1);
        let (place, most) = loss.main_place();
        let share = |lost: u64| lost as f64 / all as f64;
        let by = if loss.last_datagrams_known { "both ends' counts" } else { "sequence numbers" };
        let seen = format!("{} of {all} lost, by {by} and counters", loss.lost_datagrams);
        let least = if cell.is_paced() { DROPPED_SHARE_PACED } else { DROPPED_SHARE };
        let wrong = (share(loss.lost_datagrams) >= least).then(|| {
            let is_alike = path_rate_limit::is_alike_when_slower(cell, &others);
            // Of all that is lost nothing is by chance.
            let is_chance = is_path(place) && share(loss.lost_datagrams) < ALL_SHARE;
            let random = match is_alike.filter(|alike| *alike && is_chance) {
                Some(_) => {
                    "; the same share at half of the pace: at random (a bad cable, radio, a \
                            failing link), or in a queue that others keep full; no limit on these \
                            flows"
                }
                None => "",
            };
            let smaller = filtered_by_size(cell, &others);
            let small = smaller.map_or(String::new(), |(size, came)| {
                format!("; {came} of {size} B came in other runs: a filter by size")
            });
            let says = format!(
                "{:.1} % of the datagrams were lost in {}, {:.1} % {}{random}{small}",
                100.0 * share(loss.lost_datagrams),
                cell.trial.label,
                100.0 * share(most),
                place.says()
            );
            let remedy = match (random.is_empty(), place) {
                (true, _) if smaller.is_some() => BY_SIZE,
                (true, _) => remedy(place),
                (false, _) => AT_RANDOM,
            };
            finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
        });
        cell.saw(seen, wrong)
    })
}

/// From this share on every one is lost.
const ALL: f64 = 0.99;

/// The size and the number of smaller datagrams that came, where nearly all of them did.
fn smaller(cell: &Cell<'_>, others: &[Cell<'_>]) -> Option<(u64, u64)> {
    let size = cell.trial.params.message_bytes.0;
    let all = others.iter().filter(|other| {
        other.trial.kind == cell.trial.kind
            && other.trial.params.message_bytes.0 < size
            && cell.is_beside(other.trial)
    });
    let came = all.filter_map(|other| {
        let loss = other.summary.loss.as_ref()?;
        let sent = loss.all_datagrams();
        let lost = loss.lost_datagrams;
        let is_most = sent > 0 && (lost as f64) < DROPPED_SHARE * sent as f64;
        is_most.then(|| (other.trial.params.message_bytes.0, sent - lost))
    });
    came.max()
}

/// The size and the number of smaller datagrams that came in other runs, where the receiver's host
/// itself, behind its interface and before its sockets, dropped all of this size.
pub fn filtered_by_size(cell: &Cell<'_>, others: &[Cell<'_>]) -> Option<(u64, u64)> {
    let loss = cell.summary.loss.as_ref()?;
    let (place, _) = loss.main_place();
    let is_all = loss.lost_datagrams as f64 >= ALL * loss.all_datagrams().max(1) as f64;
    let is_filter = place == LossPlace::ReceiverHost && is_all && loss.lost_datagrams > 0;
    is_filter.then(|| smaller(cell, others)).flatten()
}

const BY_SIZE: &str = "on the receiver take off the rule that drops datagrams by their length: nft \
                       list ruleset (meta length, udp length), iptables -S (-m length), XDP and tc \
                       ingress programs (ip link, tc filter)";

const AT_RANDOM: &str = "look for what damages single packets (ethtool -S for CRC errors at both \
                         NICs and on the switch's ports, cables, transceivers, radio) and for \
                         others that fill a queue on the way (tc -s qdisc, a router's counters by \
                         flow); a lower rate loses the same share";

fn is_path(place: LossPlace) -> bool {
    matches!(place, LossPlace::Path | LossPlace::OneHost | LossPlace::Unknown)
}

fn remedy(place: LossPlace) -> &'static str {
    match place {
        LossPlace::Corrupted => {
            "no buffer keeps them: something on the way changes packets, see path-corruption"
        }
        LossPlace::ReceiverSocket => {
            "a larger socket buffer (--window), another CPU for the receiver, or a lower rate"
        }
        LossPlace::ReceiverInterface => {
            "more descriptors (ethtool -G) and more queues at the receiver, or a lower rate"
        }
        LossPlace::ReceiverHost => {
            "see on the receiver what drops there: nft list ruleset, nstat -az, softnet_stat"
        }
        LossPlace::SenderInterface => {
            "see on the sender: tc -s qdisc (a shaper, a short queue), ethtool -S; or lower the rate"
        }
        LossPlace::Path => {
            "look at what lies between: switches, shapers, policers, MTU; or send slower: --explain \
             tries half the pace, which tells a limit from drops at random"
        }
        LossPlace::OneHost => {
            "both ends are on this one host: see the queues and filters of each namespace that the \
             packets pass, tc -s qdisc and nft list ruleset, and a router or switch if they leave \
             the host; or send slower: --explain tries half the pace, which tells a limit from \
             drops at random"
        }
        LossPlace::Unknown => {
            "see first, on the end that is not ours, whether its sockets dropped: nstat -az \
             UdpRcvbufErrors, and its interface: ip -s link; only then what lies between"
        }
    }
}

#[cfg(test)]
pub mod testing {
    //! Datagrams of two sizes, of which the large ones are lost.

    use super::LossPlace;
    use crate::measured::testing::stream;
    use narrows_model::Bytes;
    use narrows_model::load::{Role, Stretch, StretchOf};
    use narrows_model::study::StoredStudy;
    use narrows_model::trial::TrialId;

    const SENT: u64 = 20_000;

    /// Large ones that are all lost at this place, and, in another trial, small ones: so many
    /// sent, and so many of them that came.
    pub fn sized(place: LossPlace, small: Option<(u64, u64)>) -> StoredStudy {
        let mut study = stream("udp-stream");
        count(&mut study, (SENT, 0), place);
        if let Some(counts) = small {
            let mut small = stream("udp-stream");
            (small.trials[0].id, small.trials[0].label) = (TrialId("b".into()), "small".into());
            small.trials[0].params.message_bytes = Bytes(700);
            small.records.iter_mut().for_each(|record| record.trial = TrialId("b".into()));
            count(&mut small, counts, LossPlace::ReceiverHost);
            study.trials.extend(small.trials);
            study.records.extend(small.records);
        }
        study
    }

    /// What both ends count where the rest is lost at this place.
    fn count(study: &mut StoredStudy, (sent, came): (u64, u64), place: LossPlace) {
        let arrived = if place == LossPlace::Path { came } else { sent };
        let at_socket = if place == LossPlace::ReceiverSocket { sent - came } else { 0 };
        for one in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            let (way, datagrams, packets) = match one.role {
                Role::Sender => ("tx", sent, sent),
                _ => ("rx", came, arrived),
            };
            let end = &mut one.report;
            end.flows[0].messages = datagrams;
            let of = StretchOf::SenderWindow;
            end.flows[0].stretch = Some(Stretch { of, datagrams });
            end.looked_ns = Some(end.window_ns);
            end.effective.interface = Some("eth0".into());
            for (unit, n) in [("packets", packets), ("bytes", packets * (65_536 + 42))] {
                end.readings.put_words("interface", &format!("eth0.{way}_{unit}"), n);
            }
            end.readings.put_words("socket", "flow0.dropped_packets", at_socket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::setting::testing::{is_clear, is_found};
    use narrows_model::load::{Role, Stretch, StretchOf};
    use narrows_model::record::Record;
    use narrows_model::trial::TrialId;

    #[test]
    fn the_place_and_the_advice_follow_from_whose_counters_were_read() {
        let study = |lost: u64, both: bool, one_host: bool| {
            let mut study = stream("udp-stream");
            for record in &mut study.records {
                for one in &mut record.reports {
                    let way = if one.role == Role::Receiver { "rx" } else { "tx" };
                    let end = &mut one.report;
                    let carried = 20_000 - if way == "rx" { lost } else { 0 };
                    end.flows[0].messages = carried;
                    let of = StretchOf::SenderWindow;
                    end.flows[0].stretch = Some(Stretch { of, datagrams: carried });
                    end.looked_ns = Some(end.window_ns);
                    end.effective.interface = Some("eth0".into());
                    end.effective.machine = one_host.then(|| "a".to_owned());
                    if both || way == "tx" {
                        for (unit, n) in [("packets", carried), ("bytes", carried * (65_536 + 42))]
                        {
                            end.readings.put_words("interface", &format!("eth0.{way}_{unit}"), n);
                        }
                    }
                    if both && way == "rx" {
                        end.readings.put_words("socket", "flow0.dropped_packets", 0);
                    }
                }
            }
            study
        };
        assert!(is_clear(&of_study(&RULE, &study(3, true, false))));
        let says = |both, one_host| {
            let verdict = of_study(&RULE, &study(5_000, both, one_host));
            assert!(is_found(&verdict));
            format!("{verdict:?}")
        };
        let text = says(true, false);
        assert!(text.contains("on the path") && text.contains("switches"), "{text}");
        // No switch lies between two interfaces of one host.
        let text = says(true, true);
        assert!(text.contains("one host") && !text.contains("switches"), "{text}");
        // An end that is not ours may have dropped them itself.
        let text = says(false, false);
        assert!(text.contains("at an unknown place") && !text.contains("switches"), "{text}");
        assert!(text.contains("RcvbufErrors"), "{text}");
    }

    #[test]
    fn a_stream_with_a_pace_is_asked_for_more() {
        let of = |lost: u64, pace: Option<u64>| {
            let mut study = stream("udp-stream");
            study.trials[0].params.rate_bps = pace;
            for one in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                let of = StretchOf::SenderWindow;
                let carried = 20_000 - if one.role == Role::Receiver { lost } else { 0 };
                one.report.flows[0].messages = carried;
                one.report.flows[0].stretch = Some(Stretch { of, datagrams: carried });
            }
            of_study(&RULE, &study)
        };
        let pace = Some(50_000_000);
        assert!(is_clear(&of(80, pace)), "0.4 %");
        assert!(is_found(&of(120, pace)), "0.6 %");
        assert!(is_clear(&of(120, None)), "0.6 % of as much as goes");
        assert!(is_found(&of(240, None)), "1.2 %");
    }

    #[test]
    fn datagrams_that_a_filter_drops_by_their_size_are_told_from_others() {
        let of = |place, small| format!("{:?}", of_study(&RULE, &testing::sized(place, small)));
        let all = Some((20_000, 20_000));
        let by_size = of(LossPlace::ReceiverHost, all);
        assert!(by_size.contains("of 700 B came in other runs: a filter by size"), "{by_size}");
        assert!(by_size.contains("meta length"), "{by_size}");
        assert!(!by_size.contains("at random"), "{by_size}");
        // Of several sizes that pass the largest is told: what is dropped begins beyond it.
        let mut sizes = testing::sized(LossPlace::ReceiverHost, all);
        let mut least = sizes.trials[1].clone();
        (least.id, least.label) = (TrialId("c".into()), "least".into());
        least.params.message_bytes = narrows_model::Bytes(200);
        let small = sizes.records.iter().filter(|run| run.trial == sizes.trials[1].id).cloned();
        let runs: Vec<Record> =
            small.map(|run| Record { trial: least.id.clone(), ..run }).collect();
        sizes.records.extend(runs);
        sizes.trials.push(least);
        let told = format!("{:?}", of_study(&RULE, &sizes));
        assert!(told.contains("of 700 B came in other runs"), "{told}");
        for small in [Some((20_000, 0)), Some((0, 0)), None] {
            assert!(!of(LossPlace::ReceiverHost, small).contains("by size"), "{small:?}");
        }
        // A path's MTU, or a socket that no one reads, is no filter of that host.
        for place in [LossPlace::Path, LossPlace::ReceiverSocket] {
            let text = of(place, all);
            assert!(text.contains("100.0 % of the datagrams were lost"), "{text}");
            assert!(!text.contains("by size") && !text.contains("meta length"), "{text}");
        }
    }

    #[test]
    fn a_share_that_stays_at_half_of_the_pace_is_of_losses_at_random() {
        let at = |pace: u64, sent: u64, came: u64| {
            let mut study = stream("udp-stream");
            study.trials[0].params.rate_bps = Some(pace);
            for one in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                let datagrams = if one.role == Role::Receiver { came } else { sent };
                one.report.flows[0].messages = datagrams;
                one.report.flows[0].bytes = narrows_model::Bytes(1472 * datagrams);
                let of = StretchOf::SenderWindow;
                one.report.flows[0].stretch = Some(Stretch { of, datagrams });
            }
            study
        };
        let of = |came_slow: u64| {
            let (mut study, mut half) = (at(200, 10_000, 9_500), at(100, 5_000, came_slow));
            (half.trials[0].id, half.trials[0].label) = (TrialId("b".into()), "half".into());
            half.records.iter_mut().for_each(|record| record.trial = TrialId("b".into()));
            study.trials.extend(half.trials);
            study.records.extend(half.records);
            format!("{:?}", of_study(&RULE, &study))
        };
        assert!(of(4_750).contains("at random"), "{}", of(4_750));
        assert!(!of(5_000).contains("at random"), "nothing lost at half of the pace");
        let all_lost = |came: u64| {
            let (mut study, mut half) = (at(200, 10_000, came), at(100, 5_000, came / 2));
            (half.trials[0].id, half.trials[0].label) = (TrialId("b".into()), "half".into());
            half.records.iter_mut().for_each(|record| record.trial = TrialId("b".into()));
            study.trials.extend(half.trials);
            study.records.extend(half.records);
            format!("{:?}", of_study(&RULE, &study))
        };
        assert!(!all_lost(0).contains("at random"), "what drops all does it by its kind");
        assert!(all_lost(2_000).contains("at random"), "{}", all_lost(2_000));
    }

    #[test]
    fn a_buffer_is_not_advised_for_what_was_corrupted() {
        let mut study = stream("udp-stream");
        for record in &mut study.records {
            for one in &mut record.reports {
                let carried = if one.role == Role::Receiver { 15_000 } else { 20_000 };
                let end = &mut one.report;
                end.flows[0].messages = carried;
                let of = StretchOf::SenderWindow;
                end.flows[0].stretch = Some(Stretch { of, datagrams: carried });
                end.readings.put_words("socket", "flow0.dropped_packets", 5_000);
                end.readings.put_words("netstat", "Udp.InCsumErrors_events", 5_000);
            }
        }
        let text = format!("{:?}", of_study(&RULE, &study));
        assert!(text.contains("checksum was wrong"), "{text}");
        assert!(text.contains("path-corruption") && !text.contains("--window"), "{text}");
    }
}
