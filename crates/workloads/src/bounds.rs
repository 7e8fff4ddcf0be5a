//! Limits of what a workload can be told beside messages and flows.

use crate::LoadError;
use crate::harness::socket::Wait;
use crate::{tcp, udp};
use narrows_model::Bytes;
use narrows_model::load::{Job, SocketParams, StreamParams, Timeline, TripParams};
use narrows_model::workload::{MessageSize, Transport, Workload};

/// The span of an end's buffers: beyond any cache.
const SPAN_BYTES_MAX: u64 = 8 << 30;
/// Requests a second over all flows: one in a hundred nanoseconds.
const REQUESTS_MAX: u64 = 10_000_000;
/// Segment sizes that a kernel takes.
const MSS_BYTES: std::ops::RangeInclusive<u32> = 88..=32_767;

fn order(says: String) -> Result<(), LoadError> {
    Err(LoadError::Order(says))
}

/// Slices of a window.
const SLICES_MAX: u64 = 60_000;

/// Limits of the slices that bytes are told for.
pub fn interval(line: &Timeline) -> Result<(), LoadError> {
    let Some(slice) = line.interval_ns else { return Ok(()) };
    if slice.0 < 1_000_000 || line.window_ns.0 / slice.0 > SLICES_MAX {
        let most = SLICES_MAX;
        return order(format!("slices of {slice}, must be 1 ms or more and at most {most}"));
    }
    Ok(())
}

/// Limits of streams.
pub fn stream(job: &Job, message: u64) -> Result<(), LoadError> {
    let Some(stream) = &job.params.stream else { return Ok(()) };
    if *stream == StreamParams::default() {
        return Ok(());
    }
    let (sender, receiver) = (stream.sender.as_deref(), stream.receiver.as_deref());
    let delivers = match job.kind {
        Workload::Stream(Transport::Tcp) => {
            tcp::senders::named(sender)?;
            tcp::receivers::named(receiver)?.delivers
        }
        Workload::Stream(Transport::Udp) => {
            udp::senders::named(sender)?;
            udp::receivers::named(receiver)?;
            if stream.span_bytes.is_some() || stream.touch {
                return order("datagrams are sent from one buffer and not touched".into());
            }
            true
        }
        // What they can be told is looked at with the rest of RDMA.
        Workload::Stream(Transport::Rdma(_)) => true,
        _ => {
            let other = &job.kind;
            return order(format!("{other} is no stream: it has no span, sender or reverse"));
        }
    };
    let span = stream.span_bytes.map_or(message, |span| span.0);
    if span > SPAN_BYTES_MAX {
        return order(format!("a span of {span} B, must be at most {SPAN_BYTES_MAX}"));
    }
    if !delivers && (stream.touch || stream.verify) {
        return order("what never reaches the program cannot be touched or verified".into());
    }
    if stream.reverse && stream.bidirectional {
        return order("both directions at once cannot be reversed".into());
    }
    Ok(())
}

/// Limits of a message or an answer.
pub fn message(what: &str, bytes: Bytes, size: MessageSize) -> Result<(), LoadError> {
    let (bytes, least, most) = (bytes.0, size.least.0, size.most.0);
    if !(least..=most).contains(&bytes) {
        return order(format!("{what} size is {bytes} B, must be {least} to {most}"));
    }
    Ok(())
}

/// Buffers of messages that are not streamed are small, and not placed.
pub fn node(job: &Job) -> Result<(), LoadError> {
    if job.node.is_some() && !(job.kind.is_stream() || job.kind.is_memory()) {
        return order(format!("{} places no buffers on a node", job.kind));
    }
    Ok(())
}

/// What an iperf3 server can take part in: its protocol knows streams of one direction.
pub fn iperf3(job: &Job) -> Result<(), LoadError> {
    if job.iperf3.is_none() {
        return Ok(());
    }
    let stream = job.params.stream.clone().unwrap_or_default();
    if !job.kind.is_stream() || stream.bidirectional || stream.verify {
        return order("an iperf3 server has streams of one direction, and its own payload".into());
    }
    Ok(())
}

/// Limits of round trips.
pub fn trip(job: &Job) -> Result<(), LoadError> {
    let Some(trip) = &job.params.trip else { return Ok(()) };
    if *trip != TripParams::default() && !job.kind.is_round_trip() {
        return order(format!("{} has no responses", job.kind));
    }
    if let Some(size) = job.kind.message() {
        message("response", job.params.response_bytes(), size)?;
    }
    match trip.per_second {
        Some(rate) if !(1..=REQUESTS_MAX).contains(&rate) => {
            order(format!("{rate} requests a second, must be 1 to {REQUESTS_MAX}"))
        }
        _ => Ok(()),
    }
}

/// Limits of sockets.
pub fn socket(job: &Job) -> Result<(), LoadError> {
    Wait::of(&job.params)?;
    let Some(socket) = &job.params.socket else { return Ok(()) };
    let SocketParams { mss_bytes, dscp, no_delay, .. } = socket;
    if !job.kind.is_tcp() && (mss_bytes.is_some() || no_delay.is_some()) {
        return order(format!("{} has no segments and no Nagle's algorithm", job.kind));
    }
    if let Some(mss) = mss_bytes.filter(|mss| !MSS_BYTES.contains(mss)) {
        let (least, most) = (MSS_BYTES.start(), MSS_BYTES.end());
        return order(format!("segment size is {mss} B, must be {least} to {most}"));
    }
    match dscp {
        Some(dscp) if *dscp > 63 => order(format!("code point {dscp}, must be 0 to 63")),
        _ => Ok(()),
    }
}
