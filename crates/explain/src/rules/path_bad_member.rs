//! `path-bad-member`: do a few of many flows have all the losses, or a queue of their own?
//!
//! Bundles of links (LAG, ECMP) send each flow over one of their members, by a hash of its ports. A
//! member that loses packets slows down the flows that it carries and leaves the others alone; a
//! full queue or a policer of the whole takes packets of all. Whether chance could have given a few
//! flows so many is bounded: of n losses that each flow had by its share of the segments, k or more
//! fall to flows with the share w with a probability of exp(-n D(k/n, w)) at the most, D being the
//! divergence of the two (Chernoff; Hoeffding, 1963), times the ways to choose these flows. Losses
//! of one burst are counted once. A member that is slow and loses nothing shows by its queue: its
//! flows take several times as long there and back as the others, and move next to nothing.

use super::{receiver_host_drops, tcp_retransmits};
use crate::controls;
use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::timers::DELAYED_ACK_NS;
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::{Counter, Moment, Scope, keys};
use narrows_model::record::Record;
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_model::workload::Workload;
use narrows_stats::median;

/// Whether losses are those of a minority of the flows.
pub static RULE: Rule = Rule {
    name: "path-bad-member",
    asks: "Do a few of many flows have all the losses, or a queue of their own?",
    of_host: false,
    judge,
};

/// Fewer flows have no minority.
const FLOWS_LEAST: usize = 4;
/// Share of the flows that is a minority.
const FEW: f64 = 0.5;
/// Share of all that was sent again that a bad member's flows have at the least.
const MOST: f64 = 0.9;
/// What a flow without a bad member may lose of its segments, and still be one that loses nothing
/// to speak of beside it.
const TIMES: f64 = 10.0;
/// Loss of the few from which on it is more than an accident.
const LOST_SHARE: f64 = 0.002;
/// Loss of the few that their congestion control takes no notice of, and does not slow down for.
const IGNORED_LEAST: f64 = 0.02;
/// Losses of the few, each burst counted once: fewer are an accident.
const LOST_LEAST: f64 = 5.0;
/// What the few reach of the others' rate at the most.
const SLOW: f64 = 0.7;
/// What flows behind a slow member reach of the others' rate at the most, and how many times as
/// long their round trips are at the least: flows of one queue wait alike.
const CRAWLS: f64 = 0.25;
const QUEUED_TIMES: f64 = 3.0;
/// And so much longer: wake-ups and interrupts make short round trips differ by as many times.
const QUEUED_NS: f64 = 5e6;
/// Chance that is none.
const CHANCE: f64 = 1e-4;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::FourFlows, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    let both = cell.trial.params.is_bidirectional();
    let is_stream = cell.is_tcp_stream() || cell.trial.kind == Workload::UDP_STREAM;
    if !is_stream || both || (cell.trial.params.streams as usize) < FLOWS_LEAST {
        return Err(Blind::OtherKind);
    }
    if cell.is_lost_at_receiver() {
        return cell.saw("the receiver's own host lost most of the datagrams", None);
    }
    let among = Among::of(cell);
    let mut even = 0;
    let mut few = Vec::new();
    for record in &cell.done {
        match run(record, &among) {
            OfRun::Unknown => {}
            OfRun::Even => even += 1,
            OfRun::Few(those) => few.push(those),
        }
    }
    let runs = few.len() + even;
    if runs == 0 {
        return Err(match cell.is_tcp_stream() {
            true => cell.lacks(Measure::TcpSegments),
            false => Blind::OtherKind,
        });
    }
    let Some(worst) = few.iter().max_by_key(|few| few.lost) else {
        let seen = format!(
            "losses of {runs} runs, if any, were spread over the flows, and so were their round trips"
        );
        return cell.saw(seen, None);
    };
    let seen = format!(
        "in {} of {runs} runs a minority of the flows had nearly all losses, by more than chance, or a \
         queue of their own",
        few.len()
    );
    // The hash may put no flow of a run on the bad member, or half of them.
    let is_usual = 2 * few.len() >= runs && few.len() >= runs.min(2);
    // A filter there picks flows by their ports as a bundle does.
    if is_usual && receiver_host_drops::is_found(cell) {
        return cell.saw(format!("{seen}, and the receiver's own host drops them"), None);
    }
    let wrong = is_usual.then(|| {
        let (what, remedy) = match worst.trips_ms {
            Some(_) => ("crawls in a queue of its own", SLOW_REMEDY),
            None => ("loses packets, and the others none to speak of", REMEDY),
        };
        let says = format!(
            "A minority of the flows {what} in {}: {}; one member of a bundle (LAG, ECMP) is bad, and \
             not the whole path",
            cell.trial.label,
            worst.says()
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

const REMEDY: &str = "see the counters of each member of the bundles on the way (ethtool -S of a \
                      bond's slaves, the switches' ports) and take the one with errors or drops \
                      out of its bundle; the hash (xmit_hash_policy, the switch's) says which \
                      flows it has; other congestion controls only hide it. A queue of the \
                      receiver's NIC that these flows share drops so too (ethtool -S: rx_missed, \
                      rx_dropped)";

const SLOW_REMEDY: &str = "see the speed and the load of each member of the bundles on the way (ethtool, \
                           the switches' ports) and take the slow one out of its bundle; the hash \
                           (xmit_hash_policy, the switch's) says which flows it has";

/// What the flows of a cell have in common.
struct Among {
    /// Packets that are lost together.
    burst_packets: f64,
    /// Of busy ends slow flows say nothing.
    is_busy: bool,
    /// Loss below which their congestion control does not slow down, as a share of the segments.
    ignored_below: f64,
}

impl Among {
    fn of(cell: &Cell<'_>) -> Self {
        let control = cell.summary.congestion().filter(|_| cell.is_tcp_stream());
        Self {
            burst_packets: tcp_retransmits::row(cell).unwrap_or(1.0).max(1.0),
            is_busy: cell.is_busy(),
            ignored_below: control.and_then(controls::ignores_loss_below).unwrap_or_default(),
        }
    }

    /// Whether flows that lose such a share move as much as others all the same.
    fn keep_their_rate(&self, lost_share: f64) -> bool {
        (IGNORED_LEAST..self.ignored_below).contains(&lost_share)
    }
}

/// The flows of one run that have nearly all losses, or a queue of their own.
struct Few {
    flows: usize,
    of: usize,
    /// Segments that were sent again, or datagrams that are missing, of theirs and of all flows.
    lost: u64,
    of_lost: u64,
    /// Their median rate as a share of the others'.
    rate: f64,
    /// Median round trips of theirs and of the others, where these tell them apart and not losses.
    trips_ms: Option<[f64; 2]>,
    /// The sender's ports of theirs, where they are known.
    ports: Vec<u16>,
}

impl Few {
    fn says(&self) -> String {
        if let Some([own, other]) = self.trips_ms {
            return format!(
                "{} of {} flows had round trips of {own:.1} ms, the others of {other:.1} ms, and {:.0} \
                 % of their rate{}",
                self.flows,
                self.of,
                100.0 * self.rate,
                self.named()
            );
        }
        format!(
            "{} of {} flows had {} of {} lost packets and {:.0} % of the others' rate{}",
            self.flows,
            self.of,
            self.lost,
            self.of_lost,
            100.0 * self.rate,
            self.named()
        )
    }

    fn named(&self) -> String {
        if self.ports.is_empty() {
            return String::new();
        }
        let ports: Vec<String> = self.ports.iter().map(u16::to_string).collect();
        format!(" (source ports {} in that run)", ports.join(", "))
    }
}

/// One flow of the end that sends.
struct Flow {
    number: usize,
    sent: f64,
    /// Segments that were sent again and that the receiver had not, or datagrams that are missing.
    lost: u64,
    bytes: f64,
    /// Its smoothed round trip as the window closed, in nanoseconds.
    trip_ns: Option<f64>,
}

impl Flow {
    fn lost_share(&self) -> f64 {
        self.lost as f64 / self.sent.max(1.0)
    }
}

/// What a run says of a few of its flows.
enum OfRun {
    /// It does not tell.
    Unknown,
    /// Its flows are alike, as far as one can see.
    Even,
    /// These few are worse than the others.
    Few(Few),
}

fn run(record: &Record, among: &Among) -> OfRun {
    flows_of(record).map_or(OfRun::Unknown, |(flows, end)| {
        few_of(flows, end, among).map_or(OfRun::Even, OfRun::Few)
    })
}

/// The flows of a run that send, where there are enough of them.
fn flows_of(record: &Record) -> Option<(Vec<Flow>, &EndReport)> {
    let (end, receiver) = (record.sender()?, record.receiver()?);
    let numbers = (0..end.flows.len()).filter(|number| end.flows[*number].sends);
    let flows: Vec<Flow> = numbers
        .map(|number| of_segments(end, receiver, number).or_else(|| of_datagrams(receiver, number)))
        .collect::<Option<Vec<Flow>>>()?;
    (flows.len() >= FLOWS_LEAST).then_some((flows, end))
}

/// A flow of TCP, which counts what it sent again.
fn of_segments(end: &EndReport, receiver: &EndReport, number: usize) -> Option<Flow> {
    let of = |counter| read(end, counter, number);
    Some(Flow {
        number,
        sent: of(keys::SENT)? as f64,
        lost: of(keys::RETRANSMITTED)?.saturating_sub(of(keys::DUPLICATES).unwrap_or_default()),
        bytes: receiver.flows.get(number)?.bytes.0 as f64,
        trip_ns: trip_ns(end, number),
    })
}

/// A flow of datagrams, whose receiver counts those that are missing.
fn of_datagrams(receiver: &EndReport, number: usize) -> Option<Flow> {
    let flow = receiver.flows.get(number).filter(|flow| flow.messages + flow.lost > 0)?;
    let sent = (flow.messages + flow.lost) as f64;
    Some(Flow { number, sent, lost: flow.lost, bytes: flow.bytes.0 as f64, trip_ns: None })
}

fn few_of(mut flows: Vec<Flow>, end: &EndReport, among: &Among) -> Option<Few> {
    flows.sort_by(|a, b| b.lost_share().total_cmp(&a.lost_share()));
    let most = (FEW * flows.len() as f64) as usize;
    let all = (1..=most).filter_map(|count| few(&flows, count, end, among));
    let lossy = all.min_by_key(|few| few.flows);
    flows.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
    // Threads that get no CPU crawl too.
    let most = if among.is_busy { 0 } else { most };
    let slow = || (1..=most).rev().find_map(|count| queued(&flows, count, end));
    lossy.or_else(slow)
}

fn trip_ns(end: &EndReport, flow: usize) -> Option<f64> {
    let flow = Scope::Flow(u32::try_from(flow).ok()?);
    let mut all = end.readings.each(keys::RTT, Moment::Closing);
    all.find(|(scope, _)| **scope == flow).map(|(_, ns)| ns as f64)
}

/// The first flows, which are slowest, where each of them crawls beside any other, in a queue of
/// its own.
fn queued(flows: &[Flow], count: usize, end: &EndReport) -> Option<Few> {
    let (bad, good) = flows.split_at_checked(count)?;
    let fastest = bad.iter().map(|flow| flow.bytes).reduce(f64::max)?;
    let slowest = good.iter().map(|flow| flow.bytes).reduce(f64::min)?;
    let trips = |of: &[Flow]| of.iter().map(|flow| flow.trip_ns).collect::<Option<Vec<f64>>>();
    let (own, other) = (trips(bad)?, trips(good)?);
    let shortest = own.iter().copied().reduce(f64::min)?;
    let longest = other.iter().copied().reduce(f64::max)?;
    let is_longer = shortest >= (QUEUED_TIMES * longest).max(longest + QUEUED_NS);
    let is_apart =
        fastest <= CRAWLS * slowest && is_longer && !DELAYED_ACK_NS.contains(&median(&own)?);
    let trips_ms = Some([median(&own)? / 1e6, median(&other)? / 1e6]);
    let rate = rate(bad)? / rate(good)?.max(1.0);
    is_apart.then(|| Few {
        flows: count,
        of: flows.len(),
        lost: lost(bad),
        of_lost: lost(flows),
        rate,
        trips_ms,
        ports: ports(bad, end),
    })
}

/// The sender's ports of flows, as far as they are known.
fn ports(of: &[Flow], end: &EndReport) -> Vec<u16> {
    of.iter().filter_map(|flow| Some(end.ports.get(flow.number)?.own)).collect()
}

fn read(end: &EndReport, counter: Counter, flow: usize) -> Option<u64> {
    end.readings.of(counter, Scope::Flow(u32::try_from(flow).ok()?))
}

/// The first flows, which lose most, where they lose by more than chance, and are slow if that
/// slows them down.
fn few(flows: &[Flow], count: usize, end: &EndReport, among: &Among) -> Option<Few> {
    let (bad, good) = flows.split_at_checked(count)?;
    let (own, all) = (lost(bad), lost(flows));
    let share = own as f64 / all.max(1) as f64;
    let weight = sent(bad) / sent(flows);
    let rate = rate(bad)? / rate(good)?.max(1.0);
    // Each of the few loses, and none of the others does as it.
    let least = bad.iter().map(Flow::lost_share).reduce(f64::min)?;
    let other = good.iter().map(Flow::lost_share).reduce(f64::max)?;
    let [own_bursts, all_bursts] = [own, all].map(|lost| lost as f64 / among.burst_packets);
    let is_apart = least >= LOST_SHARE && least >= TIMES * other && own_bursts >= LOST_LEAST;
    let chance = ways(flows.len(), count) * at_least(all_bursts, share, weight);
    let suits = rate <= SLOW || among.keep_their_rate(least);
    (is_apart && share >= MOST && suits && chance <= CHANCE).then(|| Few {
        flows: count,
        of: flows.len(),
        lost: own,
        of_lost: all,
        rate,
        trips_ms: None,
        ports: ports(bad, end),
    })
}

/// Packets that flows lost.
fn lost(of: &[Flow]) -> u64 {
    of.iter().map(|flow| flow.lost).sum()
}

/// Segments that they sent.
fn sent(of: &[Flow]) -> f64 {
    of.iter().map(|flow| flow.sent).sum::<f64>().max(1.0)
}

/// Bytes of the median one.
fn rate(of: &[Flow]) -> Option<f64> {
    median(&of.iter().map(|flow| flow.bytes).collect::<Vec<f64>>())
}

/// A share's part of the divergence from its weight.
fn part(share: f64, weight: f64) -> f64 {
    if share > 0.0 { share * (share / weight.max(f64::MIN_POSITIVE)).ln() } else { 0.0 }
}

/// Probability that of so many events a share or more are of a sort that has this weight, at the
/// most (Chernoff).
fn at_least(events: f64, share: f64, weight: f64) -> f64 {
    if share <= weight {
        return 1.0;
    }
    (-events * (part(share, weight) + part(1.0 - share, 1.0 - weight))).exp()
}

/// Ways to choose some of all.
fn ways(all: usize, some: usize) -> f64 {
    (0..some).map(|taken| (all - taken) as f64 / (taken + 1) as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read as put, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::load::{FlowPorts, FlowTally, Role};
    use narrows_model::study::StoredStudy;

    #[test]
    fn the_bound_is_the_known_one() {
        // Of ten fair tosses nine heads or more: 0.0107 exactly, at most exp(-10 D(0.9, 0.5)).
        let bound = at_least(10.0, 0.9, 0.5);
        assert!((bound - 0.0253).abs() < 1e-3 && bound >= 11.0 / 1024.0, "{bound}");
        assert!((at_least(10.0, 1.0, 0.5) - 1.0 / 1024.0).abs() < 1e-9);
        assert!((at_least(10.0, 0.4, 0.5) - 1.0).abs() < 1e-9);
        assert!((ways(8, 2) - 28.0).abs() < 1e-9);
    }

    /// A stream of flows, each with what it sent again and its share of the bytes.
    fn study(flows: &[(u64, f64)]) -> StoredStudy {
        let mut study = stream("tcp-stream");
        study.trials[0].params.streams = flows.len() as u32;
        for record in &mut study.records {
            for (role, sends) in [(Role::Receiver, false), (Role::Sender, true)] {
                for end in record.of_mut(role) {
                    let bytes = |of: f64| narrows_model::Bytes((of * 1e8) as u64);
                    let flow = |(_, of): &(u64, f64)| FlowTally {
                        bytes: bytes(*of),
                        sends,
                        ..FlowTally::default()
                    };
                    end.flows = flows.iter().map(flow).collect();
                    let ports = 40_000..40_000 + flows.len() as u16;
                    end.ports = ports.map(|own| FlowPorts { own, peer: 5201 }).collect();
                }
            }
        }
        for (number, (again, of)) in flows.iter().enumerate() {
            let sent = (of * 70_000.0) as u64;
            put(&mut study, "tcp-info", &format!("flow{number}.sent_segments"), sent);
            put(&mut study, "tcp-info", &format!("flow{number}.retransmitted_segments"), *again);
        }
        study
    }

    #[test]
    fn a_minority_that_loses_and_is_slow_is_a_bad_member() {
        let good = (0, 1.0);
        let bad = (700, 0.2);
        let found = of_study(&RULE, &study(&[good, good, bad, good, good, good, bad, good]));
        let Verdict::Found { findings } = &found else { panic!("{found:?}") };
        let says = &findings[0].says;
        assert!(says.contains("2 of 8 flows had 1400 of 1400 lost packets and 20 %"), "{says}");
        assert!(says.contains("source ports 40002, 40006"), "{says}");
        let clear = |flows: &[(u64, f64)], why: &str| {
            assert!(is_clear(&of_study(&RULE, &study(flows))), "{why}");
        };
        clear(&[good; 8], "no losses");
        clear(&[(700, 0.2); 8], "all lose alike");
        clear(&[(700, 1.0), good, good, good], "as fast as the others");
        clear(&[bad, bad, bad, good], "three of four are no minority");
        clear(&[bad, (90, 1.0), (90, 1.0), (90, 1.0)], "the others lose too");
        clear(&[(2, 0.01), good, good, good], "two segments");
        assert!(is_found(&of_study(&RULE, &study(&[bad, good, good, good]))));
        assert!(is_unknown(&of_study(&RULE, &study(&[bad, good]))), "two flows");
        let mut uncounted = study(&[bad, good, good, good]);
        for end in uncounted.records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
            end.readings = narrows_model::reading::Readings::default();
        }
        assert!(is_unknown(&of_study(&RULE, &uncounted)));
    }

    #[test]
    fn under_a_control_that_ignores_losses_a_bad_members_flows_are_as_fast() {
        let of = |congestion: &str, lossy: u64| {
            let mut study = study(&[(lossy, 1.0), (0, 1.1), (0, 0.9), (lossy, 1.2), (0, 1.0)]);
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
                end.effective.congestion = Some(congestion.into());
            }
            of_study(&RULE, &study)
        };
        let found = of("bbr", 5_600);
        let Verdict::Found { findings } = &found else { panic!("{found:?}") };
        assert!(findings[0].says.contains("2 of 5 flows had 11200 of 11200"), "{findings:?}");
        assert!(is_clear(&of("cubic", 5_600)), "as fast under losses that would slow it down");
        assert!(is_clear(&of("bbr", 700)), "one in a hundred may be an accident");
        assert!(is_clear(&of("bbr", 20_000)), "more than it ignores");
    }

    #[test]
    fn flows_that_crawl_in_a_queue_of_their_own_are_on_a_slow_member() {
        let of = |flows: &[(f64, u64)]| {
            let mut study = study(&flows.iter().map(|(of, _)| (0, *of)).collect::<Vec<_>>());
            for (number, (_, trip_ms)) in flows.iter().enumerate() {
                let key = format!("flow{number}.rtt_ns");
                put(&mut study, "tcp-info", &key, trip_ms * 1_000_000);
            }
            of_study(&RULE, &study)
        };
        let found = format!("{:?}", of(&[(0.02, 252), (1.15, 28), (0.019, 248), (0.75, 29)]));
        // The rates' medians are 0.0195 and 0.95.
        let says = "2 of 4 flows had round trips of 250.0 ms, the others of 28.5 ms, and 2 % of";
        assert!(found.contains(says) && found.contains("crawls in a queue"), "{found}");
        assert!(found.contains("source ports 40002, 40000"), "{found}");
        let alone = format!("{:?}", of(&[(1.1, 20), (0.18, 98), (1.0, 21), (1.6, 20)]));
        assert!(alone.contains("1 of 4 flows had round trips of 98.0 ms"), "{alone}");
        for (flows, why) in [
            ([(0.02, 29), (1.15, 28), (0.02, 28), (0.75, 29)], "slow, in the queue of all"),
            ([(0.02, 2), (1.15, 0), (0.02, 2), (0.75, 0)], "two milliseconds"),
            ([(0.02, 40), (1.15, 1), (0.02, 40), (0.75, 1)], "delayed acknowledgements"),
            ([(0.3, 250), (1.15, 28), (1.0, 28), (0.75, 29)], "a third of the others' rate"),
            ([(0.02, 250), (0.02, 250), (0.02, 250), (0.75, 29)], "three of four"),
        ] {
            assert!(is_clear(&of(&flows)), "{why}");
        }
    }

    #[test]
    fn what_the_receivers_own_host_drops_is_no_member_of_a_bundle() {
        let of = |took: u64| {
            let mut study = study(&[(700, 0.2), (0, 1.0), (0, 1.0), (0, 1.0)]);
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Receiver)) {
                end.effective.interface = Some("e0".into());
            }
            put(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
            read_receiver(&mut study, "interface", "e0.rx_packets", took);
            read_receiver(&mut study, "interface", "e0.rx_bytes", took * 1514);
            read_receiver(&mut study, "tcp-info", "flow0.received_data_segments", 100_000);
            of_study(&RULE, &study)
        };
        assert!(is_clear(&of(100_700)), "its interface took what was sent again");
        assert!(is_found(&of(100_000)), "lost on the way");
    }

    #[test]
    fn of_datagrams_the_receiver_counts_what_is_missing_of_each_flow() {
        let of = |lost: &[u64]| {
            let mut study = stream("udp-stream");
            study.trials[0].params.streams = lost.len() as u32;
            for record in &mut study.records {
                for (role, sends) in [(Role::Receiver, false), (Role::Sender, true)] {
                    for end in record.of_mut(role) {
                        let flow = |lost: &u64| FlowTally {
                            messages: 1000 - lost,
                            lost: if sends { 0 } else { *lost },
                            bytes: narrows_model::Bytes(1000 * (1000 - lost)),
                            sends,
                            ..FlowTally::default()
                        };
                        end.flows = lost.iter().map(flow).collect();
                    }
                }
            }
            of_study(&RULE, &study)
        };
        let Verdict::Found { findings } = of(&[0, 600, 0, 0]) else { panic!("found") };
        let says = &findings[0].says;
        assert!(says.contains("1 of 4 flows had 600 of 600 lost packets and 40 %"), "{says}");
        assert!(is_clear(&of(&[150, 160, 140, 150])), "all lose alike");
        assert!(is_clear(&of(&[0; 4])));
    }

    #[test]
    fn one_run_of_three_is_an_accident() {
        let mut study = study(&[(700, 0.2), (0, 1.0), (0, 1.0), (0, 1.0)]);
        for record in study.records.iter_mut().skip(1) {
            for end in record.of_mut(Role::Sender) {
                end.readings.put_words("tcp-info", "flow0.retransmitted_segments", 0);
            }
        }
        assert!(is_clear(&of_study(&RULE, &study)));
    }
}
