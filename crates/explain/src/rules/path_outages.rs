//! `path-outages`: were there times in which nothing came at all?
//!
//! A link that flaps, a route that changes, a policer that empties TCP's window: nothing comes for
//! whole slices of the window, and the sender's timer runs out (at least 200 ms in Linux) before it
//! goes on. The mean hides it. Where packets are lost one by one the timer runs out now and then as
//! well, when the one that was sent again is lost too; but most losses are repaired without it, and
//! where the timer ran out once at a time and there are repairs as well, packets came in between.
//! Where an end's own interface lost its link meanwhile, that is why. Where the receiver had most
//! of what was sent again, little was lost: something holds packets and lets them go later.
//! What drops all above a rate empties the window in this way as well: `path-policed` and the drops
//! of the hosts themselves explain the silence then.

use super::{large_frames_lost, own_host_drops, path_drops_ecn, path_policed, receiver_host_drops};
use crate::measured::{self, Blind, Cell, Look, Looked, finding, times};
use crate::timers;
use crate::{Case, Rule};
use narrows_model::load::{EndReport, Role};
use narrows_model::reading::{Scope, keys};
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_stats::{median, way_in};

/// Whether nothing came at times.
pub static RULE: Rule = Rule {
    name: "path-outages",
    asks: "Were there times in which nothing came at all?",
    of_host: false,
    judge,
};

/// Share of the window without a byte, in the median run.
const SILENT_SHARE: f64 = 0.05;
/// Repairs without the timer for each time that it ran out: 0 to 2 where a link was dark for 300 ms
/// at a time, 5 behind policers, 20 and more where every 50th or 100th packet was dropped.
const REPAIRS_MAX: f64 = 10.0;
/// A path that lets nothing pass loses what the timer sends as well, which waits twice as long each
/// time: 240 and 275 ms were silent for each time where a link was dark for 300 to 500 ms, 140
/// where a filter dropped one segment of 256.
const WAITED_AGAIN: f64 = 1.1;
/// Where it did not wait again, so many repairs for each time: packets came in between otherwise.
const REPAIRS_FEW: f64 = 0.25;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpSlices, None, look)
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() {
        return Err(Blind::OtherKind);
    }
    let silent_ns = cell.silent_ns().ok_or_else(|| cell.lacks(Measure::Slices))?;
    let window_ns = cell.of_receiver(|end| Some(end.window_ns.0 as f64)).unwrap_or(1.0).max(1.0);
    let timeouts = cell.sent_count(keys::TIMEOUTS).or(cell.sent_count(keys::KERNEL_TIMEOUTS));
    let timeouts = timeouts.ok_or_else(|| cell.lacks(Measure::TcpTimeouts))?;
    let seen = format!(
        "nothing came for {:.0} of {:.0} ms; the sender's timer ran out {timeouts:.0} times",
        silent_ns / 1e6,
        window_ns / 1e6
    );
    let repairs: f64 = [keys::RECOVERIES, keys::RECOVERIES_WITHOUT_SACK]
        .into_iter()
        .filter_map(|counter| cell.sent_count(counter))
        .sum();
    let is_dark =
        repairs <= REPAIRS_FEW * timeouts || silent_ns >= WAITED_AGAIN * timeouts * timer_ns(cell);
    let is_alone = is_dark && repairs <= REPAIRS_MAX * timeouts;
    let is_silent = silent_ns / window_ns >= SILENT_SHARE && timeouts >= 1.0 && is_alone;
    let explained = explained(cell).filter(|_| is_silent);
    let seen = explained.map_or(seen.clone(), |by| format!("{seen}, which {by} explains"));
    let wrong = (is_silent && explained.is_none()).then(|| {
        let says = format!(
            "Nothing came for {:.0} ms of {:.1} s in {}, and TCP waited for its timer{}: {}",
            silent_ns / 1e6,
            window_ns / 1e9,
            cell.trial.label,
            lengthened(cell),
            why(cell).unwrap_or_else(|| "outages".to_owned())
        );
        let first = if timers::is_lengthened(cell) { OF_ROUTE } else { "" };
        let remedy = match (lost_link(cell), are_held(cell)) {
            (Some(_), _) => format!("{first}{LINK_REMEDY}"),
            (None, true) => format!("{first}{HELD_REMEDY}"),
            (None, false) => format!("{first}{REMEDY}"),
        };
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

/// What the timer lasts at the least, in nanoseconds.
fn timer_ns(cell: &Cell<'_>) -> f64 {
    timers::least_ns(cell) + cell.trips().map_or(0.0, |trips| trips.shortest_ns)
}

const OF_ROUTE: &str = "remove rto_min from the sender's route (ip route show): it lengthens each \
                        outage to that; ";
const REMEDY: &str = "look for a link that flaps or a route that changes (ip monitor, the switch's \
                      log), a policer with a small burst, or bursts of loss";

const LINK_REMEDY: &str = "see the cable, the transceiver and the port of that interface, its \
                           driver's messages (dmesg) and the switch's log";

const HELD_REMEDY: &str = "look for what holds packets for so long and lets them go: radio that scans for other \
                           networks or saves power, a virtual machine or relay that is put aside, \
                           pause frames, a link that trains anew";
/// Of what was sent again so much had arrived at the least where few were lost.
const HAD_SHARE: f64 = 0.8;

/// Why nothing came, as a clause, where that is known.
pub fn why(cell: &Cell<'_>) -> Option<String> {
    let held = || "something held packets and let them go later, and lost few or none".to_owned();
    lost_link(cell).or_else(|| are_held(cell).then(held))
}

/// Whether the receiver had what was sent again as the timer ran out.
fn are_held(cell: &Cell<'_>) -> bool {
    let again = cell.sent_count(keys::RETRANSMITTED).unwrap_or(0.0);
    let had = cell.sent_count(keys::DUPLICATES).unwrap_or(0.0);
    again > 0.0 && had >= HAD_SHARE * again
}

/// The interface of an end that lost its link in most runs, as a clause.
pub fn lost_link(cell: &Cell<'_>) -> Option<String> {
    let ends = [(Role::Sender, cell.sender()), (Role::Receiver, cell.receiver())];
    ends.into_iter().find_map(|(role, end)| {
        let reports = cell.done.iter().filter_map(|record| record.of(role).next());
        let all: Vec<(&str, f64)> = reports.filter_map(links_lost).collect();
        let (name, _) = all.first()?;
        let often = median(&all.iter().map(|(_, often)| *often).collect::<Vec<f64>>())?;
        let at = end.map_or("", |end| end.at);
        (often >= 1.0).then(|| format!("{name} {at} lost its link {} a run", times(often)))
    })
}

/// The interface of an end, by which its flows leave or come in, that lost its link most often in
/// the window, and how often.
fn links_lost(end: &EndReport) -> Option<(&str, f64)> {
    let ways = [end.effective.interface.as_deref(), way_in(end)].into_iter().flatten();
    let lost = ways.filter_map(|name| {
        let times = end.readings.of(keys::CARRIER_LOST, Scope::Nic(name.to_owned()))?;
        Some((name, times as f64))
    });
    lost.reduce(|one, other| if other.1 > one.1 { other } else { one })
}

/// What a route makes of TCP's timer, and with it of each outage.
fn lengthened(cell: &Cell<'_>) -> String {
    let least_ns = timers::of_route_ns(cell).filter(|_| timers::is_lengthened(cell));
    least_ns.map_or(String::new(), |ns| {
        format!(", which a route makes {:.0} ms long (rto_min)", ns / 1e6)
    })
}

/// The rule that finds what drops packets, and why nothing came.
fn explained(cell: &Cell<'_>) -> Option<&'static str> {
    let rules = [
        (large_frames_lost::is_found(cell), large_frames_lost::RULE.name),
        (path_policed::is_found(cell), path_policed::RULE.name),
        (path_drops_ecn::is_found(cell), path_drops_ecn::RULE.name),
        (own_host_drops::is_found(cell), own_host_drops::RULE.name),
        (receiver_host_drops::is_found(cell), receiver_host_drops::RULE.name),
    ];
    rules.into_iter().find_map(|(is_found, name)| is_found.then_some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, slices, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};

    #[test]
    fn what_the_receiver_had_already_was_held_and_not_lost() {
        // The receiver reports what was sent again as what it had.
        let held = |had: u64| {
            let mut study = stream("tcp-stream");
            slices(&mut study, &[9, 0, 0, 9, 9, 9, 9, 9, 9, 9]);
            read(&mut study, "tcp-info", "flow0.timeouts_events", 1);
            read(&mut study, "tcp-info", "flow0.retransmitted_segments", 5);
            read(&mut study, "tcp-info", "flow0.duplicates_reported_segments", had);
            format!("{:?}", of_study(&RULE, &study))
        };
        assert!(held(4).contains("something held packets") && held(4).contains("saves power"));
        assert!(held(3).contains("its timer: outages") && held(3).contains("a link that flaps"));
    }

    #[test]
    fn repairs_as_many_as_timers_that_ran_out_once_are_losses_and_no_outage() {
        let of = |timeouts: u64, repairs: u64| {
            let mut study = stream("tcp-stream");
            slices(&mut study, &[9, 0, 0, 9, 9, 0, 0, 9, 0, 0]);
            read(&mut study, "tcp-info", "flow0.timeouts_events", timeouts);
            read(&mut study, "netstat", "TcpExt.TCPSackRecovery_events", repairs);
            of_study(&RULE, &study)
        };
        assert!(is_clear(&of(3, 4)) && is_clear(&of(3, 2)), "200 ms for each");
        assert!(is_found(&of(4, 1)), "few repairs");
        assert!(is_found(&of(2, 4)), "300 ms for each");
    }

    #[test]
    fn silent_slices_with_timeouts_are_found() {
        let of = |bytes: &[u64], timeouts: u64| {
            let mut study = stream("tcp-stream");
            slices(&mut study, bytes);
            read(&mut study, "tcp-info", "flow0.timeouts_events", timeouts);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(&[9, 0, 0, 9, 9, 9, 9, 9, 9, 9], 1)));
        assert!(is_clear(&of(&[9, 0, 0, 9, 9, 9, 9, 9, 9, 9], 0)));
        assert!(is_clear(&of(&[9; 10], 1)));
        // Packets that are lost one by one: now and then one is lost again.
        let mut random = stream("tcp-stream");
        slices(&mut random, &[9, 0, 0, 9, 9, 9, 9, 9, 9, 9]);
        read(&mut random, "tcp-info", "flow0.timeouts_events", 1);
        read(&mut random, "netstat", "TcpExt.TCPSackRecovery_events", 22);
        assert!(is_clear(&of_study(&RULE, &random)));
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
        // The own link went.
        let mut link = stream("tcp-stream");
        slices(&mut link, &[9, 0, 0, 9, 9, 9, 9, 9, 9, 9]);
        read(&mut link, "tcp-info", "flow0.timeouts_events", 1);
        read(&mut link, "interface", "e1.carrier_lost_events", 9);
        for end in link.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.effective.interface = Some("e0".into());
        }
        let other = format!("{:?}", of_study(&RULE, &link));
        assert!(other.contains("its timer: outages"), "another interface's: {other}");
        read(&mut link, "interface", "e0.carrier_lost_events", 2);
        let lost = format!("{:?}", of_study(&RULE, &link));
        assert!(lost.contains("e0 here lost its link twice a run"), "{lost}");
        assert!(lost.contains("see the cable, the transceiver"), "{lost}");
        read(&mut link, "interface", "e0.carrier_lost_events", 1);
        let once = format!("{:?}", of_study(&RULE, &link));
        assert!(once.contains("e0 here lost its link once a run"), "{once}");
        // What comes in by another interface than its answers leave by.
        for end in link.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.effective.interface_in = Some("e1".into());
        }
        let way_in = format!("{:?}", of_study(&RULE, &link));
        assert!(way_in.contains("e1 here lost its link 9 times a run"), "{way_in}");
        // A route makes each outage longer.
        let mut route = stream("tcp-stream");
        slices(&mut route, &[9, 0, 0, 9, 9, 9, 9, 9, 9, 9]);
        read(&mut route, "tcp-info", "flow0.timeouts_events", 1);
        for end in route.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.effective.interface = Some("e0".into());
        }
        let plain = format!("{:?}", of_study(&RULE, &route));
        assert!(plain.contains("its timer: outages") && !plain.contains("rto_min"), "{plain}");
        let metric = crate::setting::testing::known("e0 3000".to_owned());
        route.host.tuning.insert(timers::ROUTE_LEAST.into(), metric);
        let long = format!("{:?}", of_study(&RULE, &route));
        assert!(long.contains("which a route makes 3000 ms long (rto_min)"), "{long}");
        assert!(long.contains("remove rto_min from the sender's route"), "{long}");
        // A filter at the sender that lets a tenth pass makes TCP wait for its timer as well.
        let mut filtered = stream("tcp-stream");
        slices(&mut filtered, &[9, 0, 0, 9, 9, 9, 9, 9, 9, 9]);
        for end in filtered.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.effective.interface = Some("e0".into());
        }
        for (source, key, value) in [
            ("tcp-info", "flow0.timeouts_events", 1),
            ("tcp-info", "flow0.send_mss_bytes", 1448),
            ("tcp-info", "flow0.sent_bytes", 14_480_000),
            ("interface", "e0.tx_bytes", 1_600_000),
        ] {
            read(&mut filtered, source, key, value);
        }
        let Verdict::Clear { .. } = of_study(&RULE, &filtered) else { panic!("explained") };
    }
}
