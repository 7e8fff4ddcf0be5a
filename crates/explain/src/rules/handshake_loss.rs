//! `handshake-loss`: were connections slow or refused as they were made?
//!
//! A first packet that is lost is sent again after a second, then after two more: the mean time to
//! connect is that of the timer. The kernel counts first packets that were sent again
//! (`TCPSynRetrans`), and at the other end those that found the accept queue full
//! (`ListenOverflows`). The two together tell a full queue from a loss on the path, and a
//! firewall's limit on new connections from neither.

use crate::measured::{self, Blind, Cell, Looked, cells, finding};
use crate::timers;
use crate::{Case, Rule};
use narrows_model::probe::WayProbe;
use narrows_model::reading::keys;
use narrows_model::result::{Activity, Finding, Measure, Needed, Verdict, Weight};
use narrows_model::workload::Workload;

pub static RULE: Rule = Rule {
    name: "handshake-loss",
    asks: "Were connections slow or refused as they were made?",
    of_host: false,
    judge,
};

/// The kernel waits so long before it sends a first packet again (`TCP_TIMEOUT_INIT`, RFC 6298).
const WAITS_NS: f64 = 1e9;
/// Share of the flows' time that was waited so, in the median run.
const WAITED_SHARE: f64 = 0.05;
/// Standard deviations of a count of losses that is more than chance.
const BEYOND_CHANCE: f64 = 3.0;
/// Share of a probe's handshakes that must be lost.
const PROBED_SHARE: f64 = 0.03;
/// Less loss of a stream's segments is next to none.
const LOST_SHARE: f64 = 0.001;
/// Connections turned away, in the median run.
const REFUSED_MIN: f64 = 1.0;

fn judge(case: &Case<'_>) -> Verdict {
    let idle = Some(Activity::Connects);
    measured::judge(case, Needed::Connections, idle, |cell| look(case, cell))
}

fn look(case: &Case<'_>, cell: &Cell<'_>) -> Looked {
    if cell.is_probe() {
        return look_at_probe(case, cell);
    }
    if cell.trial.kind != Workload::Connect {
        return Err(Blind::OtherKind);
    }
    let again = cell
        .sent_count(keys::SYN_RETRANSMITTED)
        .ok_or_else(|| cell.lacks(Measure::FirstPackets))?;
    let refused = cell.received_count(keys::LISTEN_OVERFLOWS).unwrap_or(0.0);
    let made = cell.of_sender(|end| Some(end.flows.iter().map(|flow| flow.messages as f64).sum()));
    let seen = format!(
        "{again:.0} first packets sent again for {:.0} connections; {refused:.0} found the accept \
         queue full",
        made.unwrap_or(0.0)
    );
    if let Some(finding) = turned_away(cell, made.unwrap_or(0.0)).filter(|_| refused < REFUSED_MIN)
    {
        return cell.saw(seen, Some(finding));
    }
    let window_ns = cell.of_sender(|end| Some(end.window_ns.0 as f64)).unwrap_or(0.0);
    let flows = f64::from(cell.trial.params.streams.max(1));
    if again < 1.0 || again * WAITS_NS < WAITED_SHARE * flows * window_ns {
        return cell.saw(seen, None);
    }
    let (says, remedy) = told(cell, again, refused, made);
    let from = finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy);
    cell.saw(seen, Some(from))
}

/// What was lost or refused of a load of connections, and what to do.
fn told(cell: &Cell<'_>, again: f64, refused: f64, made: Option<f64>) -> (String, &'static str) {
    let label = &cell.trial.label;
    let thirds = lost_thirds(cell);
    match refused >= REFUSED_MIN {
        true => (
            format!(
                "The accept queue of the listening end was full in {label}: {refused:.0} \
                 connections were turned away and tried again after a second or more"
            ),
            RAISE_BACKLOG,
        ),
        false if is_every_first(cell, again, made) => (
            format!(
                "The first packet of nearly every connection was lost in {label}, and the second \
                 came: {again:.0} SYN were sent again, each after a second. The first asks for \
                 congestion marks (ECN, net.ipv4.tcp_ecn is 1), those that are sent again do not"
            ),
            ASKS_FOR_ECN,
        ),
        false if is_half_open_full(cell, again) => (
            format!(
                "The listening end had no room for half-open connections in {label}: its kernel \
                 dropped first packets (SYN) while no accept queue was full; {again:.0} were sent \
                 again, each after a second or more{}",
                half_open_settings(cell)
            ),
            RAISE_HALF_OPEN,
        ),
        false if are_answers(cell, again) => (
            format!(
                "The answers to first packets of connections (SYN-ACK) were lost in {label}: the \
                 listening end got the SYN and sent its answers again too, each after a second or \
                 more; {again:.0} SYN were sent again"
            ),
            DROPS_ANSWERS,
        ),
        false if thirds >= ANSWERS_SHARE * again => (
            format!(
                "The first packets of connections were lost on the way there in {label}, SYN and \
                 those that follow: {again:.0} SYN were sent again, each after a second or more, \
                 and the third packet of {thirds:.0} connections never came"
            ),
            DROPS_FIRST,
        ),
        false => (
            format!(
                "First packets of connections were lost in {label}: {again:.0} SYN were sent \
                 again, each after a second or more, and no accept queue was full"
            ),
            DROPS_SYN,
        ),
    }
}

const RAISE_BACKLOG: &str = "raise net.core.somaxconn and the program's listen backlog at the \
                             listening end, or accept with more threads";

/// Connections that were refused or reset at once, of which others were made.
fn turned_away(cell: &Cell<'_>, made: f64) -> Option<Finding> {
    let turned =
        cell.of_sender(|end| Some(end.flows.iter().map(|flow| flow.refused as f64).sum()))?;
    let is_much = turned >= REFUSED_MIN && turned >= TURNED_SHARE * (made + turned);
    is_much.then(|| {
        let all = made + turned;
        let seen = format!("{turned:.0} of {all:.0} connections refused, reset or without a port");
        let says = format!(
            "Of {all:.0} connections {turned:.0} were refused or reset in {}, while the others were \
             made: something answers for the listening end now and then (RST), or a local port was \
             wanting",
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Advice, says, seen, TURNS_AWAY)
    })
}

/// A smaller share of connections that are turned away is no load's limit.
const TURNED_SHARE: f64 = 0.01;
const TURNS_AWAY: &str = "look for what refuses connections between and at the listening end: a \
                          firewall that rejects (nft list ruleset: reject), a balancer with a dead \
                          member, a limit of new connections; at this end \
                          net.ipv4.ip_local_port_range and ss -s (timewait)";

/// Whether first packets are lost whose repeats pass, connection by connection: Linux asks for
/// ECN in the first alone (RFC 3168, section 6.1.1.1; `tcp_ecn_fallback`).
fn is_every_first(cell: &Cell<'_>, again: f64, made: Option<f64>) -> bool {
    let asks = cell.sender().is_some_and(|end| end.setting("net.ipv4.tcp_ecn") == Some("1"));
    asks && made.is_some_and(|made| made >= 1.0 && again >= EVERY * made)
}

/// Whether the end that listens sent so many answers again: it had the first packets then, and what
/// was lost is the answers. The kernel counts either as `TCPSynRetrans` (`tcp_rtx_synack`). Where
/// as many third packets were lost, answers to those that came are sent again too.
fn are_answers(cell: &Cell<'_>, lost: f64) -> bool {
    let again = cell.received_count(keys::SYN_RETRANSMITTED);
    again.is_some_and(|again| again - lost_thirds(cell) >= ANSWERS_SHARE * lost)
}

/// Connections of which the third packet was lost, at least: the load resets each one as soon as
/// the answer has come, and the reset found none that was made.
fn lost_thirds(cell: &Cell<'_>) -> f64 {
    cell.received_count(keys::EMBRYONIC_RESETS).unwrap_or(0.0)
}

/// Which of the places it is where a load of connections loses handshakes, in a few words.
pub fn place(cell: &Cell<'_>) -> Option<&'static str> {
    let again = cell.sent_count(keys::SYN_RETRANSMITTED)?;
    if cell.received_count(keys::LISTEN_OVERFLOWS)? >= REFUSED_MIN {
        return Some("the accept queue of the listening end is full");
    }
    let full = "the listening end's queue of half-open connections is full";
    is_half_open_full(cell, again).then_some(full)
}

/// Whether the listening socket itself dropped as many first packets as were sent again: those that
/// a filter or the path takes never reach it. Where SYN cookies are off, it does so from three
/// quarters of its queue of half-open connections on (`tcp_conn_request`).
fn is_half_open_full(cell: &Cell<'_>, again: f64) -> bool {
    let dropped = cell.received_count(keys::LISTEN_DROPS).unwrap_or(0.0);
    let refused = cell.received_count(keys::LISTEN_OVERFLOWS).unwrap_or(0.0);
    refused < REFUSED_MIN && dropped >= REFUSED_MIN && dropped >= DROPPED_SHARE * again
}

/// Share of the first packets that were sent again, which the listening socket had dropped.
const DROPPED_SHARE: f64 = 0.5;
const RAISE_HALF_OPEN: &str = "at the listening end raise net.ipv4.tcp_max_syn_backlog, \
                               net.core.somaxconn and the program's listen backlog, or let SYN \
                               cookies take over where they are full: sysctl -w \
                               net.ipv4.tcp_syncookies=1";

/// What the listening end's settings of that queue are, where they are known.
fn half_open_settings(cell: &Cell<'_>) -> String {
    let Some(end) = cell.receiver() else { return String::new() };
    let names = ["net.ipv4.tcp_max_syn_backlog", "net.ipv4.tcp_syncookies"];
    let known = names.iter().filter_map(|name| Some(format!("{name} is {}", end.setting(name)?)));
    let known: Vec<String> = known.collect();
    if known.is_empty() { String::new() } else { format!("; there {}", known.join(", ")) }
}

/// Share of the handshakes that were lost, of which the answers were sent again.
const ANSWERS_SHARE: f64 = 0.5;
const DROPS_ANSWERS: &str = "look for what drops SYN-ACK on the way back: a filter of the listening \
                             end on the way out (nft list ruleset, iptables -S OUTPUT), a \
                             stateful firewall that never saw the SYN (routes that differ there \
                             and back: ip route get at both ends), rp_filter at the end that \
                             connects; then for loss on the way back";

/// Share of the connections whose first packets were lost, from which on it is no chance.
const EVERY: f64 = 0.8;
const ASKS_FOR_ECN: &str = "let SYN with the flags of ECN (ECE, CWR) pass the firewalls between, or \
                            do not ask for it: sysctl -w net.ipv4.tcp_ecn=2 at the end that connects";

const DROPS_SYN: &str = "look for what drops SYN between the ends: a firewall's limit on new \
                         connections (nft list ruleset, iptables -S: limit, hashlimit, connlimit), \
                         a full connection table, a NAT that is out of ports (conntrack -S: \
                         insert_failed, drop), SYN protection; then for loss on the path";

const DROPS_FIRST: &str = "look for what drops the first packets of a connection on the way there \
                           and lets later ones pass: a firewall, balancer or inspection that sets \
                           up each connection, its table and CPU; then for loss on the way there";

/// Handshakes that probes made, beside what other packets lose on the same path.
fn look_at_probe(case: &Case<'_>, cell: &Cell<'_>) -> Looked {
    // Behind a queue of the length of the timer a first packet is late and not lost.
    if beside(case, cell).any(|other| timers::is_late(&other) && !other.is_nearly_silent()) {
        return Err(cell.lacks(Measure::TripsBelowTimers));
    }
    let all: Vec<_> = cell.probes().filter_map(|probe| Some((probe, probe.handshakes?))).collect();
    if all.is_empty() {
        return Err(cell.lacks(Measure::ProbeHandshakes));
    }
    let lost = all.iter().map(|(_, of)| of.lost()).sum::<u32>();
    let tried = all.iter().map(|(_, of)| of.tried).sum::<u32>();
    // A handshake is lost with its first packet or with the answer to that.
    let there: Vec<_> = all.iter().map(|(probe, _)| &probe.there).collect();
    let back: Vec<_> = all.iter().map(|(probe, _)| &probe.back).collect();
    let Some(share) = lost_apart(&there).zip(lost_apart(&back)).map(|(a, b)| a + b) else {
        return Err(cell.lacks(Measure::TrainsBesideHandshakes));
    };
    // What takes TCP alone takes first packets too, and their answers.
    let of_tcp = streams_lose(case, cell).map_or(0.0, |lost| 2.0 * lost);
    let by_loss = share.max(of_tcp) * f64::from(tried);
    let seen = format!(
        "the first packets of {lost} of {tried} connections were lost, {by_loss:.0} by what other \
         packets lose"
    );
    // What one probe of several lost, others having passed, is an accident or an end that was late.
    let lossy =
        all.iter().filter(|(_, of)| f64::from(of.lost()) >= PROBED_SHARE * f64::from(of.tried));
    let is_usual = 2 * lossy.count() > all.len();
    let many = by_loss + BEYOND_CHANCE * by_loss.sqrt().max(1.0);
    let wrong =
        (is_usual && f64::from(lost) > many && f64::from(lost) >= PROBED_SHARE * f64::from(tried))
            .then(|| {
                let others = match streams_lose(case, cell) {
                    Some(share) => format!(
                        "are lost more often than other packets ({:.2} % of a stream's segments)",
                        100.0 * share
                    ),
                    None => "are lost where other packets are not".to_owned(),
                };
                let of_a_run = f64::from(lost) / all.len() as f64;
                let (what, remedy) = if is_half_open_full(cell, of_a_run) {
                    let what = "First packets of connections, which the listening end's kernel \
                                had no room for,";
                    (what, RAISE_HALF_OPEN)
                } else if are_answers(cell, of_a_run) {
                    ("Answers to first packets of connections (SYN-ACK)", DROPS_ANSWERS)
                } else {
                    ("First packets of connections", DROPS_SYN)
                };
                let says = format!(
                    "{what} {others}: {lost} of {tried} handshakes of a probe took a second or more"
                );
                finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
            });
    cell.saw(seen, wrong)
}

/// What the streams beside the probe lose at the most, where that is not next to nothing.
fn streams_lose(case: &Case<'_>, probe: &Cell<'_>) -> Option<f64> {
    let shares = beside(case, probe).filter_map(|of| Some(of.losses()?.lost));
    shares.reduce(f64::max).filter(|share| *share >= LOST_SHARE)
}

/// The TCP streams between the same hosts as a probe: another peer is on another path.
fn beside<'a>(case: &'a Case<'a>, probe: &'a Cell<'a>) -> impl Iterator<Item = Cell<'a>> {
    cells(case).filter(|other| other.is_tcp_stream() && probe.is_beside(other.trial))
}

/// Share of the packets of paced trains that was lost, or of those sent at once where none was
/// paced.
fn lost_apart(ways: &[&WayProbe]) -> Option<f64> {
    let paced = ways.iter().flat_map(|way| &way.paced);
    let fast = ways.iter().flat_map(|way| &way.trains);
    let trains = if paced.clone().count() > 0 { paced.collect() } else { fast.collect::<Vec<_>>() };
    let sent = trains.iter().map(|train| f64::from(train.sent)).sum::<f64>();
    let came = trains.iter().map(|train| f64::from(train.came.min(train.sent))).sum::<f64>();
    (sent > 0.0).then(|| 1.0 - came / sent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_idle, is_unknown};
    use narrows_model::load::Role;

    #[test]
    fn a_first_packet_that_asks_for_marks_is_told_from_others() {
        let of = |ecn: &str, made: u64| {
            let mut study = stream("tcp-connect");
            let setting = narrows_model::Fact::known(ecn.to_owned(), "test");
            study.host.tuning.insert("net.ipv4.tcp_ecn".into(), setting);
            study.peer_hosts = vec![study.host.clone()];
            read(&mut study, "netstat", "TcpExt.TCPSynRetrans_events", 2);
            for end in study.records.iter_mut().flat_map(|run| &mut run.reports) {
                end.report.flows[0].messages = made;
            }
            format!("{:?}", of_study(&RULE, &study))
        };
        assert!(of("1", 2).contains("tcp_ecn=2"));
        assert!(!of("2", 2).contains("tcp_ecn=2"), "nothing asks for marks");
        assert!(!of("1", 20).contains("tcp_ecn=2"), "most first packets pass");
    }

    #[test]
    fn lost_third_packets_are_told_from_lost_answers() {
        for (again, thirds, says) in [
            (10, 0, "(SYN-ACK) were lost"),
            (10, 9, "SYN and those that follow"),
            (10, 4, "(SYN-ACK) were lost"),
            (3, 19, "the third packet of 19 connections never came"),
            (0, 4, "10 SYN were sent again"),
        ] {
            let mut study = stream("tcp-connect");
            read(&mut study, "netstat", "TcpExt.TCPSynRetrans_events", 10);
            read_receiver(&mut study, "netstat", "TcpExt.EmbryonicRsts_events", thirds);
            read_receiver(&mut study, "netstat", "TcpExt.TCPSynRetrans_events", again);
            let told = format!("{:?}", of_study(&RULE, &study));
            assert!(told.contains(says), "{again} {thirds}: {told}");
        }
    }

    #[test]
    fn connections_that_are_turned_away_are_counted() {
        let of = |turned: u64, made: u64| {
            let mut study = stream("tcp-connect");
            read(&mut study, "netstat", "TcpExt.TCPSynRetrans_events", 0);
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
                (end.flows[0].refused, end.flows[0].messages) = (turned, made);
            }
            of_study(&RULE, &study)
        };
        let tenth = format!("{:?}", of(10, 90));
        assert!(tenth.contains("Of 100 connections 10 were refused or reset"), "{tenth}");
        assert!(is_clear(&of(9, 991)), "less than one in a hundred");
        assert!(is_clear(&of(0, 5)));
    }

    #[test]
    fn lost_and_refused_handshakes_are_told_apart() {
        let of = |again: u64, refused: u64| {
            let mut study = stream("tcp-connect");
            read(&mut study, "netstat", "TcpExt.TCPSynRetrans_events", again);
            read_receiver(&mut study, "netstat", "TcpExt.ListenOverflows_events", refused);
            of_study(&RULE, &study)
        };
        let says = |verdict: &Verdict| match verdict {
            Verdict::Found { findings } => findings[0].says.clone(),
            other => panic!("{other:?}"),
        };
        assert!(says(&of(4, 3)).contains("accept queue of the listening end was full"));
        assert!(says(&of(4, 0)).contains("First packets of connections were lost"));
        let half_open = |dropped: u64| {
            let mut study = stream("tcp-connect");
            read(&mut study, "netstat", "TcpExt.TCPSynRetrans_events", 4);
            read_receiver(&mut study, "netstat", "TcpExt.ListenOverflows_events", 0);
            read_receiver(&mut study, "netstat", "TcpExt.ListenDrops_events", dropped);
            let setting = narrows_model::Fact::known("4".to_owned(), "test");
            let mut far = study.host.clone();
            far.tuning.insert("net.ipv4.tcp_max_syn_backlog".into(), setting);
            study.peer_hosts = vec![far];
            says(&of_study(&RULE, &study))
        };
        let full = half_open(3);
        assert!(full.contains("no room for half-open connections"), "{full}");
        assert!(full.contains("there net.ipv4.tcp_max_syn_backlog is 4"), "{full}");
        assert!(!half_open(1).contains("half-open"), "of most nothing is known there");
        let mut answers = stream("tcp-connect");
        for (read, again) in [(read as fn(&mut _, &_, &_, _), 4), (read_receiver, 3)] {
            read(&mut answers, "netstat", "TcpExt.TCPSynRetrans_events", again);
        }
        assert!(says(&of_study(&RULE, &answers)).contains("(SYN-ACK) were lost"));
        assert!(is_clear(&of(0, 0)));
        let mut many = stream("tcp-connect");
        many.trials[0].params.streams = 100;
        read(&mut many, "netstat", "TcpExt.TCPSynRetrans_events", 4);
        assert!(is_clear(&of_study(&RULE, &many)), "a hundred flows hardly felt it");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-connect"))));
        assert!(is_idle(&of_study(&RULE, &stream("tcp-stream"))));
    }

    #[test]
    fn handshakes_of_a_probe_are_judged_beside_the_loss_of_other_packets() {
        use crate::probes::testing::{way, with_probes};
        use narrows_model::probe::{Handshakes, PathProbe};
        use narrows_model::trial::EndHost;
        let of = |at_once: u32, came: u32| {
            let handshakes = Some(Handshakes { tried: 64, at_once, ..Handshakes::default() });
            let (there, back) = (way(came, 60, came), way(256, 60, 256));
            let mut study = stream("tcp-stream");
            with_probes(&mut study, &[PathProbe { there, back, handshakes, ..Default::default() }]);
            of_study(&RULE, &study)
        };
        let Verdict::Found { findings } = of(48, 256) else { panic!("found") };
        assert!(findings[0].says.contains("16 of 64 handshakes"), "{findings:?}");
        let says = |key: &str, value: u64| {
            let handshakes = Some(Handshakes { tried: 64, at_once: 48, ..Handshakes::default() });
            let (there, back) = (way(256, 60, 256), way(256, 60, 256));
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.sent_segments", 100_000);
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            with_probes(&mut study, &[PathProbe { there, back, handshakes, ..Default::default() }]);
            of_study(&RULE, &study)
        };
        let says_lost = |lost: u64| says("retransmitted_segments", lost);
        assert!(is_clear(&says_lost(9_000)), "TCP loses 9 % of its segments");
        let lossy = says_lost(1_170);
        assert!(
            format!("{lossy:?}").contains("more often than other packets (1.17 %"),
            "{lossy:?}"
        );
        assert!(is_unknown(&says("rtt_ns", 600_000_000)), "behind a queue of seconds all are late");
        let elsewhere = |key: &str, value: u64| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.sent_segments", 100_000);
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            let handshakes = Some(Handshakes { tried: 64, at_once: 48, ..Handshakes::default() });
            let (there, back) = (way(256, 60, 256), way(256, 60, 256));
            with_probes(&mut study, &[PathProbe { there, back, handshakes, ..Default::default() }]);
            // The stream goes to another peer than the probe.
            let end = study.trials[0].ends.iter_mut().find(|end| end.host != EndHost::Controller);
            end.expect("a far end").host = EndHost::Peer(1);
            study.peer_hosts = vec![study.host.clone(), study.host.clone()];
            format!("{:?}", of_study(&RULE, &study))
        };
        let told = elsewhere("retransmitted_segments", 1_170);
        assert!(told.contains("where other packets are not"), "{told}");
        let told = elsewhere("rtt_ns", 600_000_000);
        assert!(told.contains("16 of 64 handshakes"), "another path's queue: {told}");
        assert!(is_clear(&of(63, 256)), "one may be lost by chance");
        assert!(is_clear(&of(56, 230)), "a tenth of all packets is lost");
        let probe = |at_once: u32| PathProbe {
            there: way(256, 60, 256),
            back: way(256, 60, 256),
            handshakes: Some(Handshakes { tried: 64, at_once, ..Handshakes::default() }),
            ..Default::default()
        };
        let several = |lossy: usize| {
            let mut study = stream("tcp-stream");
            let all: Vec<_> = (0..6).map(|n| probe(if n < lossy { 26 } else { 64 })).collect();
            with_probes(&mut study, &all);
            of_study(&RULE, &study)
        };
        assert!(is_clear(&several(1)), "one probe of six");
        assert!(matches!(several(4), Verdict::Found { .. }), "four of six");
        let handshakes = Some(Handshakes { tried: 64, at_once: 61, ..Handshakes::default() });
        let mut study = stream("udp-stream");
        with_probes(&mut study, &[PathProbe { handshakes, ..Default::default() }]);
        assert!(is_unknown(&of_study(&RULE, &study)), "a paced probe has no trains");
    }
}
