//! `receive-window`: did the receiver's buffer hold TCP back?
//!
//! A sender may have no more on its way than the window that the receiver offers, which is about
//! half of its buffer. The kernel counts the time in which it had data and no window
//! (`tcpi_rwnd_limited`, include/uapi/linux/tcp.h). With a CPU full at either end the window is not
//! the cause. What keeps the window small is told apart by what the connection agreed on and by the
//! receiver's settings: unscaled windows, autotuning that is off, a route's window, and only then
//! the largest buffer.

use crate::cookies;
use crate::ends::End;
use crate::measured::{Cell, Limit, Why, judge_limit};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::{Gauge, Moment, keys};
use narrows_model::result::Verdict;

/// Whether this buffer held TCP back.
pub static RULE: Rule = Rule {
    name: "receive-window",
    asks: "Did the receiver's buffer hold TCP back?",
    of_host: false,
    judge,
};

const LIMIT: Limit = Limit {
    counter: keys::LIMITED_BY_WINDOW,
    means: "the sender had data and no window",
    whose: "receiver",
    why,
    buffer: |summary| summary.smallest_receive_buffer(),
};

const SCALING: &str = "net.ipv4.tcp_window_scaling";
const AUTOTUNING: &str = "net.ipv4.tcp_moderate_rcvbuf";
const BUFFERS: &str = "net.ipv4.tcp_rmem";
/// Windows of routes, by interface (`Window` in /proc/net/route).
const ROUTES: &str = "net.route.window";

fn judge(case: &Case<'_>) -> Verdict {
    judge_limit(case, &RULE, &LIMIT)
}

/// What keeps the buffer small, where no size was asked for.
pub fn why(cell: &Cell<'_>) -> Why {
    let ends = [cell.sender(), cell.receiver()];
    if cell.agreed(keys::OPTION_WINDOW_SCALE) == Some(false) {
        let off = ends.iter().flatten().find(|end| end.is_off(SCALING));
        return match cookies::without_timestamps(cell).filter(|_| off.is_none()) {
            Some(end) => by_cookies(&end),
            None => unscaled(off),
        };
    }
    let Some(end) = cell.receiver() else {
        return Why::at_its_largest(BUFFERS, "at the receiver", None);
    };
    if end.is_off(AUTOTUNING) {
        return Why {
            says: format!("autotuning of receive buffers is off {} ({AUTOTUNING} is 0)", end.at),
            remedy: format!("{}: sysctl -w {AUTOTUNING}=1", end.at),
        };
    }
    if let Some(routes) = end.setting(ROUTES) {
        return Why {
            says: format!("a route {} bounds the window ({routes} B)", end.at),
            remedy: format!("{}: ip route show; take `window` off the route", end.at),
        };
    }
    if is_closed_between(cell) {
        return Why {
            says: format!(
                "the sender finds the window closed, although one is offered {} and nothing waits \
                 there: something between them takes the data in the receiver's place, and its \
                 own buffer is full",
                end.at
            ),
            remedy: "look for a proxy, load balancer or accelerator between the ends and see what \
                     bounds it (its CPU, its own limit of rate, its connection to the receiver); \
                     no setting of the ends does"
                .to_owned(),
        };
    }
    if let Some((offered, arrives)) = rewritten(cell) {
        return Why {
            says: format!(
                "a window of {offered:.0} B is offered {} and one of {arrives:.0} B arrives: \
                 something between them rewrites it, or ends TCP and makes connections of its own",
                end.at
            ),
            remedy: "look for a proxy, firewall, WAN optimizer or traffic shaper between the ends \
                     that rewrites TCP's window to hold streams back; no setting of the ends does"
                .to_owned(),
        };
    }
    let most = end.largest_bytes(BUFFERS);
    let used = cell.summary.smallest_receive_buffer().map(|bytes| bytes.0);
    match (most, used) {
        (Some(most), Some(used)) if 2 * used < most => Why {
            says: format!("the window stayed small though {BUFFERS} allows {most} B {}", end.at),
            remedy: "see what bounds it at the receiver: ip route show (window), nstat -az \
                     TcpExtPruneCalled, net.ipv4.tcp_mem; or a longer warm-up (--warm-up)"
                .to_owned(),
        },
        (most, _) => Why::at_its_largest(BUFFERS, end.at, most),
    }
}

/// Windows that the receiver offered and that the sender was offered at the most differ by so much.
const REWRITTEN: f64 = 2.0;

/// What the receiver offers of a flow as its window closes, and the most that the sender had of it,
/// where something between made it smaller (Linux 6.2: `tcpi_rcv_wnd`).
pub fn rewritten(cell: &Cell<'_>) -> Option<(f64, f64)> {
    let offered = cell.of_receiver(|end| {
        let all = end.readings.each(keys::RECEIVE_WINDOW, Moment::Closing);
        all.map(|(_, bytes)| bytes as f64).reduce(f64::min)
    })?;
    let arrives = cell.of_sender(|end| {
        let all = end.readings.each(keys::SEND_WINDOW, Moment::Highest);
        all.map(|(_, bytes)| bytes as f64).reduce(f64::max)
    })?;
    (arrives > 0.0 && offered >= REWRITTEN * arrives).then_some((offered, arrives))
}

/// What waits in the receiver's socket of what its window offers, at the most, where nothing there
/// closes it.
const WAITING_SHARE: f64 = 0.25;

/// Whether the sender has had no window at all whenever it was looked at, although the receiver
/// offers one and next to nothing waits in its socket: somebody else has closed it, whose own
/// buffer is full. What only rewrites a window cannot close it for ever. Kernels that do not tell
/// the window to its sender (before 5.4) do not tell that of a receiver either (6.2).
pub fn is_closed_between(cell: &Cell<'_>) -> bool {
    let largest = |end: &EndReport, gauge: Gauge, moments: &[Moment]| {
        let all = moments.iter().flat_map(|moment| end.readings.each(gauge, *moment));
        all.map(|(_, bytes)| bytes).reduce(u64::max)
    };
    let arrives = cell.of_sender(|end| {
        let _ = largest(end, keys::RECEIVE_WINDOW, &[Moment::Closing]).filter(|own| *own > 0)?;
        let all = [Moment::Opening, Moment::Highest, Moment::Closing];
        largest(end, keys::SEND_WINDOW, &all).map(|bytes| bytes as f64)
    });
    let waiting_share = cell.of_receiver(|end| {
        let offered = end.readings.each(keys::RECEIVE_WINDOW, Moment::Closing);
        let least = offered.map(|(_, bytes)| bytes).reduce(u64::min).filter(|own| *own > 0)?;
        let waiting = largest(end, keys::WAITING, &[Moment::Highest, Moment::Closing])?;
        Some(waiting as f64 / least as f64)
    });
    arrives == Some(0.0) && waiting_share.is_some_and(|share| share <= WAITING_SHARE)
}

fn by_cookies(end: &End<'_>) -> Why {
    Why {
        says: format!(
            "window scaling was not agreed on: SYN cookies, which are always sent {} (tcp_syncookies is \
             2), keep no options without timestamps",
            end.at
        ),
        remedy: format!(
            "{}: sysctl -w net.ipv4.tcp_syncookies=1; net.ipv4.tcp_timestamps=1 at both ends",
            end.at
        ),
    }
}

fn unscaled(off: Option<&End<'_>>) -> Why {
    match off {
        Some(end) => Why {
            says: format!("window scaling is off {}, so that it ends at 64 KiB", end.at),
            remedy: format!("{}: sysctl -w {SCALING}=1", end.at),
        },
        None => Why {
            says: "window scaling was not agreed on, and it is on at both ends: something between \
                   them takes the option away"
                .to_owned(),
            remedy: "look for a firewall or load balancer that removes or rewrites TCP's options"
                .to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{
        is_found_by_its_time, of_limit, of_study, read, read_receiver, stream,
    };
    use crate::setting::testing::{is_clear, is_found, is_unknown, known};
    use narrows_model::host::Host;
    use narrows_model::load::Role;
    use narrows_model::{Bytes, Nanos};

    #[test]
    fn time_at_the_limit_is_found_and_a_busy_end_is_another_matter() {
        is_found_by_its_time(&RULE, LIMIT.counter);
        let found = of_limit(&RULE, LIMIT.counter, 93, false);
        // Round trips of eight flows do not add up.
        let Verdict::Found { findings } = found else { panic!("found") };
        let seen = &findings[0].evidence[0].says;
        let wanted = "round trip 78 us, 60 to 300 in all flows and the window";
        assert!(seen.contains(wanted), "{seen}");
    }

    #[test]
    fn a_window_that_is_full_all_the_time_holds_a_stream_on_a_busy_host_too() {
        // 65,535 B a round trip of 20 ms are 26.2 Mb/s.
        let of = |mbps: u64, window: u64, congestion: u64, ms: u64| {
            let mut study = stream("tcp-stream");
            for record in &mut study.records {
                for end in record.reports.iter_mut().map(|one| &mut *one.report) {
                    end.threads[0].waited_ns = Some(Nanos(300_000_000));
                }
                for end in record.of_mut(Role::Receiver) {
                    end.flows[0].bytes.0 = mbps * 125_000;
                }
            }
            for (key, value) in [
                ("limited_by_receive_window_ns", 580_000_000),
                ("rtt_min_ns", 1_000_000 * ms),
                ("rtt_ns", 2_000_000 * ms),
                ("send_mss_bytes", 1448),
                ("highest:send_window_bytes", window),
                ("lowest:congestion_window_segments", congestion),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(23, 65_535, 116, 20)));
        assert!(is_unknown(&of(15, 65_535, 116, 20)), "half of what it would move");
        assert!(is_unknown(&of(40, 65_535, 116, 20)), "more than it would");
        assert!(is_unknown(&of(23, 65_535, 40, 20)), "the congestion window is smaller");
        assert!(is_unknown(&of(230, 65_535, 116, 1)), "a short path");
    }

    #[test]
    fn a_small_window_that_is_opened_at_once_each_time_holds_a_stream_too() {
        // 9,856 B in 42 us are 1.88 Gb/s.
        let of = |mbps: u64, most: u64, least: u64, congestion: u64| {
            let mut study = stream("tcp-stream");
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Receiver)) {
                end.flows[0].bytes.0 = mbps * 125_000;
            }
            for (key, value) in [
                ("limited_by_receive_window_ns", 110_000_000),
                ("rtt_min_ns", 1_000),
                ("rtt_ns", 42_000),
                ("send_mss_bytes", 1448),
                ("highest:send_window_bytes", most),
                ("lowest:send_window_bytes", least),
                ("lowest:congestion_window_segments", congestion),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            of_study(&RULE, &study)
        };
        let found = format!("{:?}", of(1860, 9_856, 9_728, 144));
        assert!(found.contains("no window above 9856 B is offered"), "{found}");
        assert!(is_clear(&of(1860, 9_856, 7_000, 144)), "it opens and closes");
        assert!(is_clear(&of(1860, 9_856, 9_728, 13)), "the congestion window is no larger");
        assert!(is_clear(&of(500, 9_856, 9_728, 144)), "a quarter of it travels");
        assert!(is_clear(&of(7000, 32_768, 32_768, 144)), "as large as the first");
    }

    #[test]
    fn the_remedy_is_that_of_what_keeps_the_window_small() {
        let remedy = |agreed: u64, own: &[(&str, &str)], far: &[(&str, &str)]| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.limited_by_receive_window_ns", 950_000_000);
            read(&mut study, "tcp-info", "flow0.agreed_options", agreed);
            let host = |settings: &[(&str, &str)]| {
                let mut host = Host::default();
                for (name, value) in settings {
                    host.tuning.insert((*name).into(), known((*value).into()));
                }
                host
            };
            (study.host, study.peer_hosts) = (host(own), vec![host(far)]);
            match of_study(&RULE, &study) {
                Verdict::Found { findings } => {
                    format!("{}; {}", findings[0].says, findings[0].remedy)
                }
                other => panic!("{other:?}"),
            }
        };
        let far = remedy(3, &[], &[(SCALING, "0")]);
        assert!(far.contains("off at the peer") && !far.contains("tcp_rmem"), "{far}");
        let always = [("net.ipv4.tcp_syncookies", "2")];
        let cookies = remedy(0, &[], &always);
        assert!(cookies.contains("SYN cookies, which are always sent at the peer"), "{cookies}");
        assert!(cookies.contains("sysctl -w net.ipv4.tcp_syncookies=1"), "{cookies}");
        let off = remedy(0, &[(SCALING, "0")], &always);
        assert!(!off.contains("cookies"), "an end has scaling off: {off}");
        let own = remedy(3, &[(SCALING, "0")], &[]);
        assert!(own.contains("off here") && !own.contains("tcp_rmem"), "{own}");
        let taken = remedy(3, &[(SCALING, "1")], &[(SCALING, "1")]);
        assert!(taken.contains("between them takes the option away"), "{taken}");
        let untuned = remedy(7, &[], &[(AUTOTUNING, "0")]);
        assert!(untuned.contains("sysctl -w net.ipv4.tcp_moderate_rcvbuf=1"), "{untuned}");
        let routed = remedy(7, &[], &[(ROUTES, "eth0 30000")]);
        assert!(routed.contains("ip route show") && !routed.contains("tcp_rmem"), "{routed}");
        // What the receiver offers as the window closes, and the most that the sender saw of it.
        let rewritten = |offered: u64| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.limited_by_receive_window_ns", 950_000_000);
            read(&mut study, "tcp-info", "flow0.highest:send_window_bytes", 204_800);
            read_receiver(&mut study, "tcp-info", "flow0.receive_window_bytes", offered);
            study.peer_hosts = vec![Host::default()];
            format!("{:?}", of_study(&RULE, &study))
        };
        assert!(rewritten(746_496).contains("746496 B is offered at the peer and one of 204800 B"));
        assert!(!rewritten(300_000).contains("something between"), "it grows as it is used");
        // Half of the largest is what a buffer reports that has reached it; less is not.
        let reached = |bytes: u64| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.limited_by_receive_window_ns", 950_000_000);
            let mut far = Host::default();
            far.tuning.insert(BUFFERS.into(), known("4096 65536 131072".into()));
            study.peer_hosts = vec![far];
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Receiver)) {
                end.effective.receive_buffer_bytes = Some(Bytes(bytes));
            }
            match of_study(&RULE, &study) {
                Verdict::Found { findings } => findings[0].remedy.contains("raise the largest"),
                other => panic!("{other:?}"),
            }
        };
        assert!(reached(65_536) && !reached(65_535));
        let small = remedy(7, &[], &[(BUFFERS, "4096 65536 131072")]);
        assert!(small.contains("tcp_rmem at the peer, now 131072 B"), "{small}");
    }
}
