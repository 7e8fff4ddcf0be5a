//! The most of an interface's bytes that a study's own flows can have been, by the ends' counts.

use narrows_model::load::{EndReport, Role};
use narrows_model::reading::{Moment, keys};
use narrows_model::record::Record;
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;

/// Headers of a segment or datagram with its acknowledgement, at the most, in bytes.
const HEADERS_BYTES: f64 = 160.0;
/// What is sent again, fragments and encapsulation, as a share of the payload.
const AGAIN_SHARE: f64 = 0.15;
/// Ethernet with a tag, IPv6 and TCP with timestamps.
const PACKET_BYTES: f64 = 90.0;
/// What the edges of a window may add to what TCP counted in it.
const COUNTED_SHARE: f64 = 0.05;

/// What the other end of a pair sent to that of this role, as its TCP counted; 0 without a count.
pub fn sent_to(record: &Record, role: Role) -> f64 {
    let told = match role {
        Role::Receiver => record.sender().and_then(|end| counted_bps(Role::Sender, end)),
        Role::Sender => record.receiver().and_then(acknowledged_bps),
        Role::Background => None,
    };
    told.unwrap_or(0.0)
}

/// The most that an end's packets without payload can be.
pub fn acknowledged_bps(end: &EndReport) -> Option<f64> {
    let packets = end.readings.total(keys::SENT)? as f64;
    let seconds = end.window_ns.seconds();
    (seconds > 0.0).then(|| 8.0 * packets * PACKET_BYTES / seconds)
}

/// The most that can have come in for an end's own flows, by TCP's counts; `None` where those lack.
pub fn own_in_bps(trial: &Trial, role: Role, end: &EndReport) -> Option<f64> {
    let count = |counter| end.readings.total(counter).map(|count| count as f64);
    let (all, data) = (count(keys::SEGMENTS_IN)?, count(keys::DATA_IN).unwrap_or(0.0));
    let segment = end.readings.each(keys::RECEIVE_MSS, Moment::Closing);
    let segment = segment.map(|(_, bytes)| bytes as f64).reduce(f64::max).unwrap_or(0.0);
    let came = end.flows.iter().filter(|flow| !flow.sends).map(|flow| flow.bytes.0 as f64);
    let other = if role == Role::Sender { Role::Receiver } else { Role::Sender };
    let trips = if trial.kind == Workload::TCP_RR { written(trial, other, end) } else { 0.0 };
    let payload = came.sum::<f64>().max(data * segment).max(trips);
    let own_bytes = (payload + all * PACKET_BYTES) * (1.0 + COUNTED_SHARE);
    (end.window_ns.0 > 0).then(|| 8.0 * own_bytes / end.window_ns.seconds())
}

/// The most that an end's own flows can have sent.
pub fn own_bps(trial: &Trial, role: Role, end: &EndReport) -> f64 {
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
