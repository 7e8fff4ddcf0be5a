//! `other-traffic`: does other traffic use the interface meanwhile?
//!
//! A backup, a download or another tool's stream over the same interface takes a part of the link,
//! fills the queues on the way and makes TCP lose segments. The interface counts all bytes and the
//! flows their own: the rest is somebody else's. Of a trial of many pairs, and of a background
//! load, all flows that leave by the interface are the study's own.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::{EndReport, Role};
use narrows_model::reading::{Moment, Scope, keys};
use narrows_model::record::Record;
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_model::trial::{EndHost, NetworkPath, Trial};
use narrows_model::workload::Workload;
use narrows_stats::median;

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
/// Headers of a segment or datagram with its acknowledgement, at the most, in bytes.
const HEADERS_BYTES: f64 = 160.0;
/// What is sent again, fragments and encapsulation, as a share of the payload.
const AGAIN_SHARE: f64 = 0.15;
/// Ethernet with a tag, IPv6 and TCP with timestamps.
const PACKET_BYTES: f64 = 90.0;
/// What the edges of a window may add to what TCP counted in it.
const COUNTED_SHARE: f64 = 0.05;
/// From this share of a window on, what others moved in theirs is what they moved in it.
const COVERED_SHARE: f64 = 0.95;

const ENDS: [(Role, &str); 2] = [(Role::Sender, "sender"), (Role::Receiver, "receiver")];

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::StreamOrTripsToPeer, None, look)
}

/// What an end's interface sent.
#[derive(Clone, Copy)]
struct Sent {
    all_bps: f64,
    others_bps: f64,
    /// Whether an end that shares the interface was measured at another time, so that what it sent
    /// meanwhile is not known.
    is_blurred: bool,
}

fn look(cell: &Cell<'_>) -> Looked {
    let is_known = cell.is_network_stream() || cell.trial.kind == Workload::TCP_RR;
    if !is_known || cell.trial.path != NetworkPath::Peer {
        return Err(Blind::OtherKind);
    }
    let ends = ENDS.map(|(role, name)| sent(cell, role).map(|sent| (name, sent)));
    let most = ends.into_iter().flatten().max_by(|a, b| a.1.others_bps.total_cmp(&b.1.others_bps));
    let (end, sent) = most.ok_or_else(|| cell.lacks(Measure::InterfaceBytes))?;
    let seen = format!(
        "the {end}'s interface sent {:.1} Mb/s, {:.1} of them not of these flows",
        sent.all_bps / 1e6,
        sent.others_bps / 1e6
    );
    if is_much(sent) && sent.is_blurred {
        return Err(cell.lacks(Measure::WindowsOfInterfaceAtOnce));
    }
    let wrong = is_much(sent).then(|| {
        let says = format!(
            "Other traffic leaves by the {end}'s interface during {}: {:.0} Mb/s beside the flows \
             that are measured, which share its link and the queues on the way",
            cell.trial.label,
            sent.others_bps / 1e6
        );
        let remedy = "see who sends (ss -tunp, nethogs, iftop) and stop or limit it (tc, the \
                      program's own limit), or measure when the link is free; tuning TCP does not \
                      help";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

fn is_much(sent: Sent) -> bool {
    sent.others_bps >= OTHERS_MIN_BPS && sent.others_bps >= OTHERS_SHARE * sent.all_bps
}

/// Whether others send as much as the measured flows, or more.
pub fn is_more(cell: &Cell<'_>) -> bool {
    let ends = ENDS.into_iter().filter_map(|(role, _)| sent(cell, role));
    ends.into_iter()
        .any(|sent| is_much(sent) && !sent.is_blurred && 2.0 * sent.others_bps >= sent.all_bps)
}

/// Medians over the runs, of the end of one role.
fn sent(cell: &Cell<'_>, role: Role) -> Option<Sent> {
    let runs = cell.done.iter().filter_map(|record| sent_in(cell.trial, record, role));
    let runs: Vec<Sent> = runs.collect();
    let of = |value: fn(&Sent) -> f64| median(&runs.iter().map(value).collect::<Vec<f64>>());
    Some(Sent {
        all_bps: of(|run| run.all_bps)?,
        others_bps: of(|run| run.others_bps)?,
        is_blurred: runs.iter().any(|run| run.is_blurred),
    })
}

/// What is left when the study's own flows had all the headers that they can have: those of this
/// end, and those of every other end of the run that uses the same interface.
fn sent_in(trial: &Trial, record: &Record, role: Role) -> Option<Sent> {
    let (host, end) = placed(trial, record, role).next()?;
    let interface = end.effective.interface.as_ref()?;
    let all_bps = all_bps(end)?;
    let mut left_bps = all_bps;
    let mut is_blurred = false;
    for of in [Role::Receiver, Role::Sender, Role::Background] {
        let there = placed(trial, record, of).filter(|(at, other)| {
            // A name of an interface says nothing of another host's.
            *at == host && other.effective.interface.as_ref() == Some(interface)
        });
        for (_, other) in there {
            left_bps -= own_bps(trial, of, other);
            is_blurred |= !covers(other, end);
        }
    }
    Some(Sent { all_bps, others_bps: left_bps.max(0.0), is_blurred })
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
    let from = other.opened_ns.0.max(end.opened_ns.0);
    let common = close(other).min(close(end)).saturating_sub(from);
    common as f64 >= COVERED_SHARE * end.window_ns.0 as f64
}

fn close(end: &EndReport) -> u64 {
    end.opened_ns.0.saturating_add(end.window_ns.0)
}

fn all_bps(end: &EndReport) -> Option<f64> {
    let scope = Scope::Nic(end.effective.interface.clone()?);
    let bytes = end.readings.of(keys::TX_BYTES, scope)? as f64;
    (end.window_ns.0 > 0).then(|| 8.0 * bytes / end.window_ns.seconds())
}

/// The most that an end's own flows can have sent.
fn own_bps(trial: &Trial, role: Role, end: &EndReport) -> f64 {
    let moved: f64 = end.flows.iter().map(|flow| flow.bytes.0 as f64).sum();
    let messages: f64 = end.flows.iter().map(|flow| flow.messages as f64).sum();
    let segments = end.readings.total(keys::SENT).map(|count| count as f64);
    if let Some(own_bps) = counted_bps(role, end) {
        return own_bps;
    }
    let own_bytes = written(trial, role, end)
        + AGAIN_SHARE * moved
        + HEADERS_BYTES * segments.unwrap_or(0.0).max(messages);
    8.0 * own_bytes / end.window_ns.seconds().max(1e-9)
}

/// The same of a stream whose TCP counted what it sent: nothing has to be allowed for but headers
/// and what waits in queues at the edges of the window.
fn counted_bps(role: Role, end: &EndReport) -> Option<f64> {
    let is_sender = role == Role::Sender && end.flows.iter().all(|flow| flow.sends);
    let count = |counter| end.readings.total(counter).map(|count| count as f64);
    let segment = end.readings.each(keys::SEND_MSS, Moment::Closing);
    let segment = segment.map(|(_, bytes)| bytes as f64).reduce(f64::max)?;
    let (data, all) = (count(keys::DATA_OUT)?, count(keys::SENT)?);
    let own_bytes = (data * segment + all * PACKET_BYTES) * (1.0 + COUNTED_SHARE);
    let seconds = end.window_ns.seconds();
    (is_sender && seconds > 0.0 && data > 0.0).then(|| 8.0 * own_bytes / seconds)
}

/// Payload that an end wrote. Round trips count the bytes of the requests alone, at both ends; one
/// more of a flow may be under way as the window closes.
fn written(trial: &Trial, role: Role, end: &EndReport) -> f64 {
    let sends = end.flows.iter().filter(|flow| flow.sends || role == Role::Sender);
    let sent: f64 = sends.map(|flow| flow.bytes.0 as f64).sum();
    if trial.kind != Workload::TCP_RR {
        return sent;
    }
    let (asks, answers) = (trial.params.message_bytes.0, trial.params.response_bytes().0);
    let each = match role {
        Role::Sender => asks,
        Role::Receiver => answers,
        Role::Background => asks.max(answers),
    };
    let messages: u64 = end.flows.iter().map(|flow| flow.messages.saturating_add(1)).sum();
    sent.max((1.0 + AGAIN_SHARE) * each as f64 * messages as f64)
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
