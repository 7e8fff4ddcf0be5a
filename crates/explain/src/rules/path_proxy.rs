//! `path-proxy`: does something between the ends answer TCP in the other end's place?
//!
//! A proxy, a load balancer or an accelerator ends the connection and makes another one to the far
//! end. TCP's handshake with it is over sooner than a datagram has come back from the far end,
//! which no path can do for the far end's own answers. Then each end's counters are of its own
//! connection alone: acknowledgements, losses and windows of the one say nothing of the other.
//!
//! A proxy near the far end, or on a short path, is not told so. Its own connection comes from
//! another port than the one that it answers; so do connections through many NATs, which is said as
//! well.

use super::receive_window;
use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::record::Record;
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_model::workload::Workload;
use narrows_stats::median;

/// Whether handshakes are answered from nearer than datagrams.
pub static RULE: Rule = Rule {
    name: "path-proxy",
    asks: "Does something between the ends answer TCP in the other end's place?",
    of_host: false,
    judge,
};

/// A handshake takes less than this share of the shortest round trip of datagrams.
const SOONER: f64 = 0.6;
/// And is so much shorter, which wake-ups do not explain.
const APART_NS: f64 = 2e6;
/// One probe may have met a queue with all of its datagrams.
const PROBES_MIN: usize = 2;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::ProbedAnyStream, None, look)
}

/// Whether handshakes say that something answers in the far end's place.
pub fn is_found(cell: &Cell<'_>) -> bool {
    let all = probes(cell);
    all.len() >= PROBES_MIN && all.iter().all(Times::is_sooner)
}

/// What the probes beside a cell took.
fn probes(cell: &Cell<'_>) -> Vec<Times> {
    let records = cell.study.records.iter().filter(|record| cell.is_probe_beside(record));
    records.filter_map(times).collect()
}

/// Whether the ends do not know a flow by the same ports: something between translates addresses,
/// or makes connections of its own.
pub fn is_translated(cell: &Cell<'_>) -> bool {
    cell.done.iter().any(|record| {
        let ends = record.sender().zip(record.receiver());
        let mut flows =
            ends.into_iter().flat_map(|(one, other)| one.ports.iter().zip(&other.ports));
        flows.any(|(one, other)| one.own != other.peer || one.peer != other.own)
    })
}

/// Whether each connection comes from another port than the end has that makes it, in every run
/// whose ends both tell theirs: a proxy may have closed the one connection before it is asked. A
/// port that is forwarded changes the other number, that of the end which listens.
fn is_from_another_port(cell: &Cell<'_>) -> bool {
    let is_reverse = cell.trial.params.stream.as_ref().is_some_and(|stream| stream.reverse);
    let mut runs = cell.done.iter().filter_map(|record| {
        let (sender, receiver) = (record.sender()?, record.receiver()?);
        let (connects, listens) = if is_reverse { (receiver, sender) } else { (sender, receiver) };
        let mut flows = connects.ports.iter().zip(&listens.ports).peekable();
        flows.peek()?;
        Some(flows.all(|(own, seen)| own.own != seen.peer))
    });
    let is_tcp = cell.is_tcp_stream() || cell.trial.kind == Workload::TCP_RR;
    is_tcp && runs.next() == Some(true) && runs.all(|is_other| is_other)
}

/// Whether two connections follow one another: the sender finds a window closed that the receiver
/// does not close, or is offered another one than the receiver offers, which no translation of
/// addresses does.
pub fn is_two_connections(cell: &Cell<'_>) -> bool {
    let is_rewritten = || receive_window::rewritten(cell).is_some();
    receive_window::is_closed_between(cell)
        || ((is_found(cell) || is_from_another_port(cell)) && is_rewritten())
}

/// Whether the second connection, or what makes it, is what a stream waits for: what TCP counts at
/// the sender is of the first one, which is no slower than what takes its data.
pub fn holds(cell: &Cell<'_>) -> bool {
    is_two_connections(cell) && cell.is_limited_by_buffers()
}

fn look(cell: &Cell<'_>) -> Looked {
    if cell.is_tcp_stream() && receive_window::is_closed_between(cell) {
        let seen = "the sender's window is closed, the receiver's is open and nothing waits there";
        let says = format!(
            "Something between the ends takes the data of {} in the receiver's place, and passes it \
             on no faster than was measured: {seen}",
            cell.trial.label
        );
        let found = finding(&RULE, cell, Weight::Advice, says, seen.to_owned(), OF_FULL);
        return cell.saw(seen, Some(found));
    }
    if is_from_another_port(cell) && !is_found(cell) {
        let seen = "each connection arrived from another port than it was made from";
        let says = format!(
            "Connections of {} arrive from another port than the end has that makes them: something \
             between translates addresses (NAT), or ends TCP and makes connections of its own (proxy)",
            cell.trial.label
        );
        let found = finding(&RULE, cell, Weight::Advice, says, seen.to_owned(), REMEDY);
        return cell.saw(seen.to_owned(), Some(found));
    }
    if !cell.is_network_stream() && !cell.is_probe() {
        return Err(Blind::OtherKind);
    }
    let all = probes(cell);
    let of = |time: fn(&Times) -> f64| median(&all.iter().map(time).collect::<Vec<f64>>());
    let both = of(|times| times.handshake_ns).zip(of(|times| times.datagram_ns));
    let Some((tcp, udp)) = both else {
        return Err(cell.lacks(Measure::ProbeHandshakes));
    };
    let seen = format!(
        "a handshake took {:.2} ms, and a datagram and its answer {:.2} ms at the least, in the \
         median of {} probes",
        tcp / 1e6,
        udp / 1e6,
        all.len()
    );
    let wrong = is_found(cell).then(|| {
        let says = format!(
            "Something between the ends answers TCP in the other end's place: {seen}. What TCP \
             counts at one end is of its connection with that, and not of the whole path"
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY)
    });
    cell.saw(seen, wrong)
}

const REMEDY: &str = "look for a proxy, a load balancer, a firewall that proxies connections or an \
                      accelerator on the way (traceroute -T and -U to the same host differ; nft \
                      list ruleset: redirect, tproxy), and measure its two sides apart, or past \
                      it; where there is none, datagrams take a longer way than TCP";

const OF_FULL: &str = "look for a proxy, load balancer or accelerator on the way (nft list \
                       ruleset: redirect, tproxy; ss -tnp on hosts between) and see what bounds \
                       it: its CPU, a limit of rate, the size of its reads, its connection to the \
                       receiver";

/// What a probe took, in nanoseconds.
struct Times {
    /// The median handshake.
    handshake_ns: f64,
    /// The shortest round trip of its datagrams.
    datagram_ns: f64,
}

impl Times {
    /// Whether TCP is answered much sooner than datagrams.
    fn is_sooner(&self) -> bool {
        self.handshake_ns < SOONER * self.datagram_ns
            && self.datagram_ns - self.handshake_ns >= APART_NS
    }
}

fn times(record: &Record) -> Option<Times> {
    let end = record.sender()?;
    let handshakes = end.probe.as_deref()?.handshakes?;
    let is_usual = 2 * handshakes.at_once > handshakes.tried;
    let shortest = end.round_trips.iter().map(|(ns, _)| ns.0).min()?;
    is_usual.then_some(Times {
        handshake_ns: handshakes.median_ns.0 as f64,
        datagram_ns: shortest as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::probes::testing::with_probes;
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::Nanos;
    use narrows_model::load::Role;
    use narrows_model::probe::{Handshakes, PathProbe};

    /// Probes whose handshakes took so long, and whose datagrams took so long at the least.
    fn of(all: &[(u64, u64)]) -> Verdict {
        let mut study = stream("tcp-stream");
        let probe = |(tcp_us, _): &(u64, u64)| {
            let median_ns = Nanos(1_000 * tcp_us);
            let handshakes =
                Some(Handshakes { tried: 64, at_once: 64, median_ns, ..Handshakes::default() });
            PathProbe { handshakes, ..PathProbe::default() }
        };
        let runs = study.records.len();
        with_probes(&mut study, &all.iter().map(probe).collect::<Vec<PathProbe>>());
        for (record, (_, udp_us)) in study.records.iter_mut().skip(runs).zip(all) {
            for end in record.of_mut(Role::Sender) {
                end.round_trips = vec![(Nanos(1_000 * udp_us), 3), (Nanos(90_000_000), 1)];
            }
        }
        of_study(&RULE, &study)
    }

    #[test]
    fn a_handshake_that_is_over_before_a_datagram_is_back_is_a_proxys() {
        let found = of(&[(300, 20_300), (280, 20_200)]);
        assert!(is_found(&found), "{found:?}");
        assert!(format!("{found:?}").contains("a handshake took 0.29 ms"), "{found:?}");
        assert!(is_clear(&of(&[(20_400, 20_300), (20_100, 20_200)])), "the far end itself");
        assert!(is_clear(&of(&[(300, 20_300), (20_100, 20_200)])), "a queue in one probe");
        assert!(is_clear(&of(&[(60, 400), (50, 300)])), "wake-ups of a short path");
        assert!(is_clear(&of(&[(300, 20_300)])), "a single probe");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }

    #[test]
    fn a_window_that_the_receiver_does_not_close_is_closed_by_somebody_between() {
        use crate::measured::testing::{read, read_receiver};
        // The sender's largest window, its kernel's own, what waits at the receiver.
        let of = |window: u64, own: u64, waiting: u64| {
            let mut study = stream("tcp-stream");
            for key in ["opening:send_window_bytes", "highest:send_window_bytes"] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), window);
            }
            read(&mut study, "tcp-info", "flow0.send_window_bytes", 0);
            read(&mut study, "tcp-info", "flow0.receive_window_bytes", own);
            read_receiver(&mut study, "tcp-info", "flow0.receive_window_bytes", 92_160);
            read_receiver(&mut study, "socket", "flow0.highest:waiting_bytes", waiting);
            of_study(&RULE, &study)
        };
        let found = format!("{:?}", of(0, 64_512, 0));
        assert!(found.contains("takes the data of tcp-stream in the receiver's place"), "{found}");
        assert!(is_unknown(&of(8_192, 64_512, 0)), "it opens at times");
        assert!(is_unknown(&of(0, 0, 0)), "a kernel that does not tell it");
        assert!(is_unknown(&of(0, 64_512, 60_000)), "the receiver reads too slowly");
    }

    #[test]
    fn connections_from_other_ports_are_a_proxys_or_a_nats_and_a_forwarded_port_is_not() {
        use narrows_model::load::{FlowPorts, StreamParams};
        // Ports of the end that connects, and of the end that listens as it sees them.
        let of = |reverse: bool, connects: (u16, u16), listens: (u16, u16)| {
            let mut study = stream("tcp-stream");
            study.trials[0].params.stream = Some(StreamParams { reverse, ..Default::default() });
            let ends = [(Role::Sender, reverse), (Role::Receiver, !reverse)];
            for record in &mut study.records {
                for (role, is_listening) in ends {
                    let (own, peer) = if is_listening { listens } else { connects };
                    record.of_mut(role).for_each(|end| end.ports = vec![FlowPorts { own, peer }]);
                }
            }
            of_study(&RULE, &study)
        };
        for reverse in [false, true] {
            assert!(is_found(&of(reverse, (40_000, 7500), (7500, 51_000))), "{reverse}");
            assert!(is_unknown(&of(reverse, (40_000, 7500), (7500, 40_000))), "as they are");
            assert!(is_unknown(&of(reverse, (40_000, 80), (7500, 40_000))), "forwarded");
        }
    }
}
