//! `other-traffic`: does other traffic use the interface meanwhile?
//!
//! A backup, a download or another tool's stream over the same interface takes a part of the link,
//! fills the queues on the way and makes TCP lose segments. The interface counts all bytes and the
//! flows their own: the rest is somebody else's. Of a trial of many pairs, and of a background
//! load, all flows that leave by the interface are the study's own. What comes in is judged beside
//! TCP alone, whose counters have all that came of a flow; of datagrams an interface counts those
//! too that no socket took. Where the sum is the same in each run, whatever part of it the stream
//! has, it is what the link carries.

use crate::filled::Filled;
use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::own_flows::{acknowledged_bps, own_bps, own_in_bps, sent_to};
use crate::signals::{QUEUED_MIN_NS, QUEUED_TIMES};
use crate::{Case, Rule};
use narrows_model::load::{EndReport, Role};
use narrows_model::reading::{Scope, keys};
use narrows_model::record::Record;
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_model::trial::{EndHost, NetworkPath, Trial};
use narrows_model::workload::Workload;
use narrows_stats::{median, way_in};

/// Whether something else uses an end's interface.
pub static RULE: Rule = Rule {
    name: "other-traffic",
    asks: "Does other traffic use the interface meanwhile?",
    of_host: false,
    judge,
};

/// Share of what an interface sends from which on others' traffic counts.
const OTHERS_SHARE: f64 = 0.25;
/// Slower traffic is that of a host at rest: sessions, names, monitoring.
const OTHERS_MIN_BPS: f64 = 1e6;
/// What comes in beside a stream whose TCP counted all of its own counts from a smaller share on.
const IN_SHARE: f64 = 0.1;
/// And from a higher rate: announcements and floods reach an interface that is at rest.
const IN_MIN_BPS: f64 = 5e6;
/// Sums of the runs that are no further apart are one link's capacity.
const SAME_SUM: f64 = 0.05;
/// From this share of a window on, what others moved in theirs is what they moved in it.
const COVERED_SHARE: f64 = 0.95;

const ENDS: [(Role, &str); 2] = [(Role::Sender, "sender"), (Role::Receiver, "receiver")];

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::StreamOrTripsToPeer, None, look)
}

/// Which packets of an interface.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Out,
    In,
}

impl Way {
    /// The interface by which an end's packets of this way pass.
    fn interface(self, end: &EndReport) -> Option<&str> {
        match self {
            Self::Out => end.effective.interface.as_deref(),
            Self::In => way_in(end),
        }
    }
}

/// What passed an end's interface one way, in bits a second.
#[derive(Clone, Copy)]
pub struct Passed {
    pub all_bps: f64,
    /// What was not of the study's own flows.
    pub others_bps: f64,
    /// Whether an end that shares the interface was measured at another time, so that what it sent
    /// meanwhile is not known.
    is_blurred: bool,
}

/// The same over the runs.
#[derive(Clone, Copy)]
struct Seen {
    role: Role,
    end: &'static str,
    way: Way,
    middle: Passed,
    /// The sum in all runs, where it is the same in each.
    sum_bps: Option<f64>,
    /// Whether it is the way back, full of what others send.
    is_back: bool,
}

impl Seen {
    fn is_much(&self) -> bool {
        let Passed { all_bps, others_bps, .. } = self.middle;
        match self.way {
            Way::Out => others_bps >= OTHERS_MIN_BPS && others_bps >= OTHERS_SHARE * all_bps,
            Way::In => others_bps >= IN_MIN_BPS && others_bps >= IN_SHARE * all_bps,
        }
    }

    /// Whether others' packets come in that have most of it, or a part of one sum in each run.
    fn comes_in(&self) -> bool {
        let is_known = self.is_much() && !self.middle.is_blurred && self.way == Way::In;
        let is_one_link = self.sum_bps.is_some() && self.role == Role::Receiver;
        is_known && (is_one_link || self.is_most())
    }

    /// Whether others have as much as the measured flows, or more.
    fn is_most(&self) -> bool {
        2.0 * self.middle.others_bps >= self.middle.all_bps
    }
}

fn look(cell: &Cell<'_>) -> Looked {
    let is_known = cell.is_network_stream() || cell.trial.kind == Workload::TCP_RR;
    if !is_known || cell.trial.path != NetworkPath::Peer {
        return Err(Blind::OtherKind);
    }
    let all = seen(cell);
    // What leaves an end's own host its own tools show.
    if let Some(filled) = Filled::of(cell) {
        return of_datagrams(cell, &filled);
    }
    let back = back(cell);
    let found = most(&all, Way::Out).or_else(|| most(&all, Way::In)).or(back.as_ref());
    let Some(one) = found.or_else(|| all.iter().find(|one| one.way == Way::Out)).or(all.first())
    else {
        return Err(cell.lacks(Measure::InterfaceBytes));
    };
    let passed = one.middle;
    let verb = if one.way == Way::Out { "sent" } else { "received" };
    let mut seen = format!(
        "the {}'s interface {verb} {:.1} Mb/s, {:.1} of them not of these flows",
        one.end,
        passed.all_bps / 1e6,
        passed.others_bps / 1e6
    );
    if found.is_some() && passed.is_blurred {
        return Err(cell.lacks(Measure::WindowsOfInterfaceAtOnce));
    }
    if let Some(sum) = one.sum_bps.filter(|_| found.is_some()) {
        seen += &format!("; {:.0} Mb/s in each run within 5 %", sum / 1e6);
    }
    let wrong = found.map(|one| {
        let says = if one.is_back { says_back(cell, one) } else { says(cell, one) };
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY)
    });
    cell.saw(seen, wrong)
}

fn of_datagrams(cell: &Cell<'_>, filled: &Filled) -> Looked {
    let [all, own, slower] =
        [filled.all_bps, filled.own_bps, filled.slower_bps].map(|bps| bps / 1e6);
    let seen = format!(
        "the receiver's interface received {all:.0} Mb/s beside {own:.1} Mb/s of these datagrams \
         and beside {slower:.1}"
    );
    let says = format!(
        "Other traffic keeps a queue on the way full during {}: all that comes in at the receiver \
         is {all:.0} Mb/s at either pace of these datagrams, of which {own:.1} Mb/s come",
        cell.trial.label
    );
    let found = finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY);
    cell.saw(seen, Some(found))
}

/// What others send beside acknowledgements counts from a lower rate on: uplinks are slow.
const BACK_MIN_BPS: f64 = 2e5;
/// The smoothed round trip goes so far beyond the shortest where packets wait somewhere.
const BACK_WAIT_NS: f64 = 10e6;
/// Rates of the runs that are further apart are held by no steady link.
const UNSTEADY: f64 = 0.1;

/// What others send by the receiver's interface, where it fills the way back: most of what leaves
/// there is no acknowledgement, all of it is one sum in each run whatever the stream moves, and
/// round trips grow.
fn back(cell: &Cell<'_>) -> Option<Seen> {
    let receiver = cell.done.first()?.receiver()?;
    let is_one_way = cell.is_tcp_stream() && receiver.flows.iter().all(|flow| !flow.sends);
    let is_back = |one: &Seen| one.role == Role::Receiver && one.way == Way::Out;
    let one = seen(cell).into_iter().find(|one| is_one_way && is_back(one))?;
    let all_bps = one.sum_bps?;
    let others_bps = all_bps - cell.of_receiver(acknowledged_bps)?;
    let grown_ns = cell.longest_trip_ns()? - cell.trips()?.shortest_ns;
    let is_full = others_bps >= BACK_MIN_BPS
        && 2.0 * others_bps >= all_bps
        && grown_ns >= BACK_WAIT_NS
        && cell.rates()?.spread() >= UNSTEADY
        && !one.middle.is_blurred;
    let middle = Passed { all_bps, others_bps, ..one.middle };
    is_full.then_some(Seen { middle, is_back: true, ..one })
}

/// Whether others' traffic fills the way back, so that acknowledgements wait behind it.
pub fn fills_the_way_back(cell: &Cell<'_>) -> bool {
    back(cell).is_some()
}

fn says_back(cell: &Cell<'_>, one: &Seen) -> String {
    format!(
        "Other traffic leaves by the receiver's interface during {}: {:.1} Mb/s beside the \
         acknowledgements of the flows that are measured; both together are {:.1} Mb/s in each \
         run, as they are on a way back that carries no more: acknowledgements wait behind it",
        cell.trial.label,
        one.middle.others_bps / 1e6,
        one.middle.all_bps / 1e6
    )
}

/// The end by whose interface others have most of their traffic one way, where that is much.
fn most(all: &[Seen], way: Way) -> Option<&Seen> {
    let much = all.iter().filter(|one| one.way == way && one.is_much());
    much.max_by(|a, b| a.middle.others_bps.total_cmp(&b.middle.others_bps))
}

const REMEDY: &str = "see who sends (ss -tunp, nethogs, iftop at that end; of a router or switch \
                      its counters by flow) and stop or limit it (tc, the program's own limit), or \
                      measure when the link is free; copies of the flows' own packets are as much \
                      (iptables TEE, nft dup, tc mirred); tuning TCP does not help";

fn says(cell: &Cell<'_>, one: &Seen) -> String {
    let verb = if one.way == Way::Out { "leaves" } else { "comes in" };
    let mut says = format!(
        "Other traffic {verb} by the {}'s interface during {}: {:.0} Mb/s beside the flows that \
         are measured, which share its link and the queues on the way",
        one.end,
        cell.trial.label,
        one.middle.others_bps / 1e6
    );
    if let Some(sum) = one.sum_bps.filter(|_| one.way == Way::In) {
        says += &format!(
            "; both together are {:.0} Mb/s in each run, as they are behind a link that carries no \
             more",
            sum / 1e6
        );
    }
    says
}

/// Whether others send as much as the measured flows, or more.
pub fn is_more(cell: &Cell<'_>) -> bool {
    let ends = seen(cell).into_iter().filter(|one| one.way == Way::Out);
    ends.into_iter().any(|one| one.is_much() && !one.middle.is_blurred && one.is_most())
}

/// Whether others send by an interface that the flows leave by.
pub fn leaves(cell: &Cell<'_>) -> bool {
    seen(cell).iter().any(|one| one.way == Way::Out && one.is_much() && !one.middle.is_blurred)
}

/// What leaves by the sender's interface, where others have much of it.
pub fn shares(cell: &Cell<'_>) -> Option<Passed> {
    let all = seen(cell);
    let mut own = all.iter().filter(|one| one.role == Role::Sender && one.way == Way::Out);
    own.find(|one| one.is_much() && !one.middle.is_blurred).map(|one| one.middle)
}

/// What comes in at the receiver of what packet trains say that the path carries, where others have
/// much of it: from this share on there is no room for more.
const FILLED_SHARE: f64 = 0.7;

/// Whether what others send to the receiver's interface, and the measured flows, fill the path
/// together, by packet trains.
pub fn fills_the_path(cell: &Cell<'_>) -> bool {
    let Some(carried) = cell.carried() else { return false };
    let all = seen(cell);
    let mut came = all.iter().filter(|one| one.role == Role::Receiver && one.way == Way::In);
    came.any(|one| {
        one.is_much()
            && !one.middle.is_blurred
            && one.middle.all_bps >= FILLED_SHARE * carried.middle
    })
}

/// Whether what others send through an end's interface is why packets wait: they have most of what
/// it receives, or all that it receives is one sum in each run, and round trips are far longer than
/// the shortest of the study, whoever's packets fill the queue.
pub fn is_queued_by_others(cell: &Cell<'_>) -> bool {
    let is_long = cell.trips().zip(cell.shortest_ns()).is_some_and(|(trips, shortest)| {
        trips.least_ns - shortest >= QUEUED_MIN_NS && trips.least_ns >= QUEUED_TIMES * shortest
    });
    is_long && seen(cell).iter().any(Seen::comes_in)
}

/// Whether all that comes in at the receiver is one sum in each run, others' packets a part of it.
pub fn is_one_sum(cell: &Cell<'_>) -> bool {
    let all = seen(cell);
    let mut came = all.iter().filter(|one| one.role == Role::Receiver);
    came.any(|one| one.comes_in() && one.sum_bps.is_some())
}

/// What passed the ends' interfaces, where it was counted.
fn seen(cell: &Cell<'_>) -> Vec<Seen> {
    let is_tcp = cell.is_tcp_stream() || cell.trial.kind == Workload::TCP_RR;
    let ways: &[Way] = if is_tcp { &[Way::Out, Way::In] } else { &[Way::Out] };
    let all = ENDS.into_iter().flat_map(|end| ways.iter().map(move |way| (end, *way)));
    all.filter_map(|((role, end), way)| {
        let (middle, sum_bps) = passed(cell, role, way)?;
        Some(Seen { role, end, way, middle, sum_bps, is_back: false })
    })
    .collect()
}

/// Medians over the runs, of the end of one role, and the sum where it is one in each.
fn passed(cell: &Cell<'_>, role: Role, way: Way) -> Option<(Passed, Option<f64>)> {
    let others = Others::of(cell);
    let runs = cell.done.iter().filter_map(|record| {
        let run = passed_in(cell.trial, record, role, way)?;
        let is_beside = others.are_beside(cell.trial, record, role);
        Some(Passed { is_blurred: run.is_blurred || is_beside, ..run })
    });
    let runs: Vec<Passed> = runs.collect();
    let of = |value: fn(&Passed) -> f64| median(&runs.iter().map(value).collect::<Vec<f64>>());
    let all_bps = of(|run| run.all_bps)?;
    let mut apart_bps = runs.iter().map(|run| (run.all_bps - all_bps).abs());
    let is_one = runs.len() >= RUNS_LEAST && apart_bps.all(|bps| bps <= SAME_SUM * all_bps);
    let middle = Passed {
        all_bps,
        others_bps: of(|run| run.others_bps)?,
        is_blurred: runs.iter().any(|run| run.is_blurred),
    };
    Some((middle, is_one.then_some(all_bps)))
}

/// The ends of all runs of a study's other trials, in the order in which their windows opened: few
/// of many thousand runs are looked at for each.
struct Others<'a> {
    ends: Vec<(EndHost, &'a EndReport, &'a Record)>,
    /// The longest of their windows.
    longest_ns: u64,
}

impl<'a> Others<'a> {
    fn of(cell: &Cell<'a>) -> Self {
        let mut ends = Vec::new();
        for trial in cell.study.trials.iter().filter(|trial| trial.id != cell.trial.id) {
            for record in cell.study.records_of(trial) {
                for (role, _) in ENDS {
                    let of = placed(trial, record, role);
                    ends.extend(of.map(|(host, end)| (host, end, record)));
                }
            }
        }
        ends.sort_by_key(|(_, end, _)| end.opened_ns);
        let longest_ns = ends.iter().map(|(_, end, _)| end.window_ns.0).max().unwrap_or(0);
        Self { ends, longest_ns }
    }

    /// Whether one of them, made together with this run, used the interface of an end meanwhile:
    /// what it moved is not others'.
    fn are_beside(&self, trial: &Trial, record: &Record, role: Role) -> bool {
        let Some((host, end)) = placed(trial, record, role).next() else { return false };
        let from = end.opened_ns.0.saturating_sub(self.longest_ns);
        let first = self.ends.partition_point(|(_, other, _)| other.opened_ns.0 < from);
        let meanwhile = self.ends[first..].iter();
        let mut meanwhile = meanwhile.take_while(|(_, other, _)| other.opened_ns.0 < close(end));
        meanwhile.any(|(at, there, other)| {
            let is_another = other.session == record.session && !has(other, end);
            *at == host && is_another && is_meanwhile(there, end)
        })
    }
}

/// Whether a record has the report of an end: of a trial of many pairs, taken apart, each has
/// those of all.
fn has(record: &Record, end: &EndReport) -> bool {
    let mut ends = record.reports.iter().map(|one| &one.report);
    ends.any(|one| one.opened_ns == end.opened_ns && one.window_ns == end.window_ns)
}

/// Whether two windows were open at the same time. Older records do not say when they opened.
fn is_meanwhile(one: &EndReport, other: &EndReport) -> bool {
    one.opened_ns.0 > 0 && other.opened_ns.0 > 0 && common_ns(one, other) > 0
}

/// Fewer runs may have one sum by accident.
const RUNS_LEAST: usize = 3;

/// What is left when the study's own flows had all the headers that they can have: those of this
/// end, and those of every other end of the run that uses the same interface.
fn passed_in(trial: &Trial, record: &Record, role: Role, way: Way) -> Option<Passed> {
    let (host, end) = placed(trial, record, role).next()?;
    let interface = way.interface(end)?;
    let all_bps = all_bps(end, interface, way)?;
    let mut left_bps = all_bps;
    let mut is_blurred = false;
    for of in [Role::Receiver, Role::Sender, Role::Background] {
        let there = placed(trial, record, of).filter(|(at, other)| {
            // A name of an interface says nothing of another host's.
            *at == host && way.interface(other) == Some(interface)
        });
        for (_, other) in there {
            left_bps -= match way {
                Way::Out => own_bps(trial, of, other),
                // What this host dropped before TCP has come in as well.
                Way::In => own_in_bps(trial, of, other)?.max(sent_to(record, of)),
            };
            is_blurred |= !covers(other, end);
        }
    }
    Some(Passed { all_bps, others_bps: left_bps.max(0.0), is_blurred })
}

/// The ends of a role, each with the host that it ran on.
fn placed<'a>(
    trial: &'a Trial,
    record: &'a Record,
    role: Role,
) -> impl Iterator<Item = (EndHost, &'a EndReport)> {
    trial.ends_of(role).map(|end| end.host).zip(record.of(role))
}

/// Whether an end was measured nearly all of the time in which another on the same host, and by the
/// same clock, was: only then its rate is that which it had beside the other.
fn covers(other: &EndReport, end: &EndReport) -> bool {
    common_ns(other, end) as f64 >= COVERED_SHARE * end.window_ns.0 as f64
}

/// How long the windows of two ends on one host were open at the same time.
fn common_ns(other: &EndReport, end: &EndReport) -> u64 {
    let from = other.opened_ns.0.max(end.opened_ns.0);
    close(other).min(close(end)).saturating_sub(from)
}

fn close(end: &EndReport) -> u64 {
    end.opened_ns.0.saturating_add(end.window_ns.0)
}

fn all_bps(end: &EndReport, interface: &str, way: Way) -> Option<f64> {
    let counter = if way == Way::Out { keys::TX_BYTES } else { keys::RX_BYTES };
    let bytes = end.readings.of(counter, Scope::Nic(interface.to_owned()))? as f64;
    (end.window_ns.0 > 0).then(|| 8.0 * bytes / end.window_ns.seconds())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use crate::{Case, pairs};
    use narrows_model::record::Reported;
    use narrows_model::study::StoredStudy;
    use narrows_model::trial::{EndSpec, Placement};
    use narrows_model::{Bytes, Nanos};

    #[test]
    fn bytes_that_are_not_the_flows_are_found() {
        let of = |sent: u64| {
            let mut study = stream("tcp-stream");
            for record in &mut study.records {
                for end in record.of_mut(Role::Sender) {
                    end.effective.interface = Some("e0".into());
                }
            }
            read(&mut study, "tcp-info", "flow0.sent_segments", 863_000);
            read(&mut study, "interface", "e0.tx_bytes", sent);
            of_study(&RULE, &study)
        };
        // 1.25 GB of payload, and at most 1.58 GB with all that may be added.
        assert!(is_clear(&of(1_310_000_000)));
        assert!(is_found(&of(2_500_000_000)));
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }

    /// A stream of about 130 Mb/s through an interface that receives this many bytes in each of
    /// three runs, over round trips of so long at the least.
    fn filled(received: [u64; 3], least_ms: u64) -> StoredStudy {
        let mut study = stream("tcp-stream");
        let payload = [16_000_000, 17_000_000, 13_000_000];
        for ((record, bytes), received) in study.records.iter_mut().zip(payload).zip(received) {
            for end in record.of_mut(Role::Receiver) {
                end.effective.interface = Some("e0".into());
                end.flows[0].bytes = Bytes(bytes);
                end.readings.put_words("interface", "e0.rx_bytes", received);
                end.readings.put_words("tcp-info", "flow0.received_segments", bytes / 1448);
            }
        }
        read(&mut study, "tcp-info", "flow0.rtt_min_ns", 10_000);
        read(&mut study, "tcp-info", "flow0.rtt_ns", 1_000_000 * least_ms);
        study
    }

    #[test]
    fn an_upload_that_fills_the_way_back_is_told_by_its_steady_sum() {
        // 250 kB in each run, or less in one, beside 40 kB of acknowledgements; and 5 ms or 80.
        let of = |last: u64, acknowledgements: u64, highest_ms: u64| {
            let mut study = filled([0; 3], 20);
            for (record, sent) in study.records.iter_mut().zip([250_000, 251_000, last]) {
                for end in record.of_mut(Role::Receiver) {
                    end.readings.put_words("interface", "e0.tx_bytes", sent);
                    end.readings.put_words("tcp-info", "flow0.sent_segments", acknowledgements);
                }
            }
            let highest_ns = 1_000_000 * (20 + highest_ms);
            read(&mut study, "tcp-info", "flow0.rtt_min_ns", 20_000_000);
            read(&mut study, "tcp-info", "flow0.highest:rtt_ns", highest_ns);
            study
        };
        let full = of(249_000, 450, 80);
        let says = format!("{:?}", of_study(&RULE, &full));
        assert!(says.contains("both together are 2.0 Mb/s in each run"), "{says}");
        for (study, why) in [
            (of(200_000, 450, 80), "what is free is not steady"),
            (of(249_000, 1700, 80), "acknowledgements are most of it"),
            (of(249_000, 450, 5), "nothing waits"),
        ] {
            assert!(is_clear(&of_study(&RULE, &study)), "{why}");
        }
    }

    #[test]
    fn what_comes_in_beside_the_flows_is_others_and_one_sum_is_the_links() {
        let shared = filled([24_000_000, 24_100_000, 23_900_000], 20);
        let says = format!("{:?}", of_study(&RULE, &shared));
        assert!(says.contains("comes in by the receiver's interface"), "{says}");
        assert!(says.contains("both together are 192 Mb/s in each run"), "{says}");
        let free = filled([16_700_000, 17_800_000, 13_600_000], 20);
        assert!(is_clear(&of_study(&RULE, &free)), "{:?}", of_study(&RULE, &free));
        let varied =
            format!("{:?}", of_study(&RULE, &filled([24_000_000, 30_000_000, 20_000_000], 20)));
        assert!(varied.contains("comes in") && !varied.contains("both together"), "{varied}");
        let one_sum = |study: &StoredStudy| {
            let summaries = narrows_stats::summarise(study);
            let case = Case { study, summaries: &summaries, predictions: &[] };
            measured::cells(&case).any(|cell| is_one_sum(&cell))
        };
        assert!(one_sum(&shared) && !one_sum(&free));
        assert!(!one_sum(&filled([24_000_000, 30_000_000, 20_000_000], 20)), "another each run");
        // What the limit's sentence asks.
        let queued = |study: &StoredStudy| {
            let summaries = narrows_stats::summarise(study);
            let case = Case { study, summaries: &summaries, predictions: &[] };
            measured::cells(&case).any(|cell| is_queued_by_others(&cell))
        };
        assert!(queued(&shared));
        assert!(!queued(&free), "nobody else");
        // Microseconds of another path are no measure of this one, of which 20 ms are the least.
        let mut far = shared.clone();
        let mut near = far.trials[0].clone();
        (near.id.0, near.path) = ("near".into(), NetworkPath::Loopback);
        let mut runs = far.records.clone();
        for record in &mut runs {
            record.trial = near.id.clone();
            let ends = record.of_mut(Role::Sender);
            ends.for_each(|end| end.readings.put_words("tcp-info", "flow0.rtt_ns", 10_000));
        }
        read(&mut far, "tcp-info", "flow0.rtt_min_ns", 20_000_000);
        far.trials.push(near);
        far.records.extend(runs);
        assert!(!queued(&far), "a far path is not full");
        assert!(!queued(&filled([24_000_000, 24_100_000, 23_900_000], 0)), "no queue");
        // The sender sent as much: this host's own filter dropped it before TCP.
        let mut dropped = shared;
        for (key, value) in
            [("send_mss_bytes", 1448), ("sent_segments", 16_600), ("sent_data_segments", 16_600)]
        {
            read(&mut dropped, "tcp-info", &format!("flow0.{key}"), value);
        }
        assert!(is_clear(&of_study(&RULE, &dropped)), "{:?}", of_study(&RULE, &dropped));
    }

    #[test]
    fn what_comes_in_by_another_interface_than_its_answers_take_is_the_flows_own() {
        let mut study = filled([16_700_000, 17_800_000, 13_600_000], 20);
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
            end.effective.interface = Some("e9".into());
            end.effective.interface_in = Some("e0".into());
        }
        assert!(is_clear(&of_study(&RULE, &study)), "{:?}", of_study(&RULE, &study));
        for (run, bytes) in study.records.iter_mut().zip([34_000_000, 34_100_000, 33_900_000]) {
            for end in run.of_mut(Role::Receiver) {
                end.readings.put_words("interface", "e0.rx_bytes", bytes);
            }
        }
        assert!(is_found(&of_study(&RULE, &study)), "others' come in there too");
    }

    #[test]
    fn what_others_send_fills_a_path_together_with_the_flows() {
        use crate::probes::testing::{carries, with_probes};
        use narrows_model::probe::PathProbe;
        let of = |mbps: u64| {
            // 192 Mb/s in the median run, a third of them others'.
            let mut study = filled([24_000_000, 30_000_000, 20_000_000], 20);
            with_probes(&mut study, &[PathProbe { there: carries(mbps), ..PathProbe::default() }]);
            let summaries = narrows_stats::summarise(&study);
            let case = Case { study: &study, summaries: &summaries, predictions: &[] };
            let first = measured::cells(&case).next();
            first.map(|cell| fills_the_path(&cell))
        };
        assert_eq!(of(200), Some(true));
        assert_eq!(of(300), Some(false), "there is room for more");
    }

    #[test]
    fn what_leaves_by_the_senders_interface_is_told_with_what_others_have_of_it() {
        let of = |sent: u64| {
            let mut study = stream("tcp-stream");
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
                end.effective.interface = Some("e0".into());
            }
            read(&mut study, "tcp-info", "flow0.sent_segments", 863_000);
            read(&mut study, "interface", "e0.tx_bytes", sent);
            let summaries = narrows_stats::summarise(&study);
            let case = Case { study: &study, summaries: &summaries, predictions: &[] };
            let first = measured::cells(&case).next().expect("a cell");
            shares(&first).map(|shares| (shares.all_bps, shares.others_bps < shares.all_bps))
        };
        assert_eq!(of(2_500_000_000), Some((20e9, true)));
        assert_eq!(of(1_310_000_000), None);
    }

    #[test]
    fn trials_that_were_made_together_are_not_others() {
        let of = |later_ns: u64| {
            let mut study = filled([24_000_000, 24_100_000, 23_900_000], 20);
            let mut beside = study.trials[0].clone();
            beside.id = narrows_model::trial::TrialId("b".into());
            let mut runs = study.records.clone();
            let all = study.records.iter_mut().flat_map(|run| &mut run.reports);
            all.for_each(|one| one.report.opened_ns = Nanos(5_000_000_000));
            for run in &mut runs {
                run.trial = beside.id.clone();
                for one in &mut run.reports {
                    one.report.opened_ns = Nanos(5_000_000_000 + later_ns);
                }
            }
            study.records.extend(runs);
            study.trials.push(beside);
            of_study(&RULE, &study)
        };
        assert!(is_unknown(&of(100_000_000)), "the two share the interface");
        assert!(is_found(&of(2_000_000_000)), "one after the other");
    }

    #[test]
    fn what_tcp_counted_leaves_less_room_for_doubt() {
        let of = |sent: u64| {
            let mut study = stream("tcp-stream");
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
                end.effective.interface = Some("e0".into());
            }
            for (key, value) in [
                ("send_mss_bytes", 1448),
                ("sent_segments", 863_000),
                ("sent_data_segments", 863_000),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            read(&mut study, "interface", "e0.tx_bytes", sent);
            of_study(&RULE, &study)
        };
        // 1.33 GB with all headers, and a twentieth: a third more is others'.
        assert!(is_clear(&of(1_600_000_000)));
        assert!(is_found(&of(1_950_000_000)));
    }

    /// Two pairs that send ten gigabits each from one interface, which counts `sent` bytes; the
    /// second pair's window opens this much later.
    fn two_pairs(sent: u64, later_ns: u64) -> Verdict {
        let mut study = stream("tcp-stream");
        let at = |role, host| EndSpec::of(role, EndHost::Peer(host), Placement::default());
        study.trials[0].ends = [(1, 0), (2, 0)].iter().fold(Vec::new(), |mut all, (to, from)| {
            all.extend([at(Role::Receiver, *to), at(Role::Sender, *from)]);
            all
        });
        for record in &mut study.records {
            let mut both: Vec<Reported> = record.reports.clone();
            both.append(&mut record.reports);
            for (number, one) in both.iter_mut().enumerate() {
                let later = if number < 2 { 0 } else { later_ns };
                one.report.opened_ns = Nanos(1_000_000_000 + later);
                one.report.effective.interface = Some("e0".into());
                let counted = if one.role == Role::Sender { sent } else { 30_000_000 };
                one.report.readings.put_words("interface", "e0.tx_bytes", counted);
            }
            record.reports = both;
        }
        whole(&study)
    }

    /// What the rule says of a study whose trials have many pairs.
    fn whole(study: &StoredStudy) -> Verdict {
        let study = pairs::apart(study).expect("many pairs");
        let summaries = narrows_stats::summarise(&study);
        judge(&Case { study: &study, summaries: &summaries, predictions: &[] })
    }

    #[test]
    fn other_pairs_of_the_study_are_not_others() {
        assert!(is_clear(&two_pairs(2_620_000_000, 0)), "{:?}", two_pairs(2_620_000_000, 0));
        assert!(is_found(&two_pairs(5_000_000_000, 0)));
        assert!(is_unknown(&two_pairs(5_000_000_000, 700_000_000)), "windows overlap in part");
    }

    #[test]
    fn responses_are_the_studys_own() {
        let of = |response: Option<Bytes>| {
            let mut study = stream("tcp-rr");
            study.trials[0].params.trip = Some(narrows_model::load::TripParams {
                response_bytes: response,
                per_second: None,
            });
            study.trials[0].params.message_bytes = Bytes(64);
            for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                end.report.flows[0].bytes = Bytes(64_000);
                end.report.flows[0].messages = 1000;
                end.report.flows[0].sends = false;
                end.report.effective.interface = Some("e0".into());
            }
            read(&mut study, "interface", "e0.tx_bytes", 4_000_000);
            read(&mut study, "tcp-info", "flow0.sent_segments", 40_000);
            read_receiver(&mut study, "interface", "e0.tx_bytes", 1_090_000_000);
            of_study(&RULE, &study)
        };
        assert!(is_clear(&of(Some(Bytes::mib(1)))), "{:?}", of(Some(Bytes::mib(1))));
        assert!(is_found(&of(None)));
    }
}
