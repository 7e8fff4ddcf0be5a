//! Limits of an order beyond those of each option by itself, which the table of options has: what
//! the time line, a message and options together may be.

use crate::LoadError;
use crate::packets::{receivers, senders};
use crate::{tcp, udp};
use narrows_model::Bytes;
use narrows_model::calls;
use narrows_model::load::{Job, StreamParams, Timeline};
use narrows_model::options::packets::{BURST, IMIX};
use narrows_model::options::{self, trips};
use narrows_model::packets::IMIX_BYTES;
use narrows_model::workload::{MessageSize, Transport, Workload};

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

/// Whether a mix of frames is whole, and sent by what has more than one frame.
fn mix(job: &Job) -> Result<(), LoadError> {
    if IMIX.of(&job.params) != Some(true) {
        return Ok(());
    }
    let sender = job.params.stream.as_ref().and_then(|stream| stream.sender.as_deref());
    if senders::repeats_one(sender) {
        let says = "xdp repeats one frame, and imix has three sizes: send by af-xdp, ring or \
                    sendmmsg";
        return order(says.into());
    }
    if job.params.message_bytes != IMIX_BYTES {
        return order(format!("frames of imix have {IMIX_BYTES} on average, and no other size"));
    }
    Ok(())
}

/// Whether bursts go as fast as they can, by what knows where one ends.
fn bursts(job: &Job) -> Result<(), LoadError> {
    if BURST.of(&job.params).is_none() {
        return Ok(());
    }
    let sender = job.params.stream.as_ref().and_then(|stream| stream.sender.as_deref());
    if senders::repeats_one(sender) {
        return order(
            "xdp sends without end, and no bursts: send by ring, af-xdp or sendmmsg".into(),
        );
    }
    if job.params.streams > 1 {
        return order("bursts of several threads begin apart and are none: send by one".into());
    }
    if job.params.rate_bps.is_some() {
        return order("packets of a burst go as fast as they can: a rate is none of theirs".into());
    }
    Ok(())
}

/// Whether packets between two interfaces that are named are raw: sockets of one host reach each
/// other inside it, and those of two go by the kernel's routes.
fn cable(job: &Job) -> Result<(), LoadError> {
    let Some(bind) = job.bind.as_ref().filter(|bind| bind.names_both()) else { return Ok(()) };
    if job.kind != Workload::Packets {
        return order(format!("{} does not go between two interfaces that are named", job.kind));
    }
    let stream = job.params.stream.clone().unwrap_or_default();
    let ways = [stream.sender.as_deref(), stream.receiver.as_deref()];
    let are_raw = ways.into_iter().all(|way| way.is_some_and(|way| calls::RAW.contains(&way)));
    if !are_raw && bind.cable.is_none() {
        return order(
            "sockets go by the kernel's routes and not by an interface that is lent: with peer-nic \
             the sender and the receiver are xdp, af-xdp or ring"
                .into(),
        );
    }
    if !are_raw {
        return order(
            "sockets of one host reach each other inside it and not over a cable: between two \
             ports the sender and the receiver are xdp, af-xdp or ring"
                .into(),
        );
    }
    Ok(())
}

/// Whether the ways to send and to receive are there, and what else streams are told goes together.
pub fn stream(job: &Job) -> Result<(), LoadError> {
    mix(job)?;
    bursts(job)?;
    cable(job)?;
    let Some(stream) = &job.params.stream else { return Ok(()) };
    let (sender, receiver) = (stream.sender.as_deref(), stream.receiver.as_deref());
    let delivers = match job.kind {
        Workload::Stream(Transport::Tcp) => {
            tcp::senders::named(sender)?;
            tcp::receivers::named(receiver)?.delivers
        }
        Workload::Stream(Transport::Udp) => {
            udp::senders::named(sender)?;
            udp::receivers::named(receiver)?;
            true
        }
        Workload::Packets => return packets(stream),
        _ => true,
    };
    if !delivers && (stream.touch || stream.verify) {
        return order("what never reaches the program cannot be touched or verified".into());
    }
    if stream.reverse && stream.bidirectional {
        return order("both directions at once cannot be reversed".into());
    }
    Ok(())
}

/// Whether the ways to send and to receive packets are there, and go together.
fn packets(stream: &StreamParams) -> Result<(), LoadError> {
    senders::named(stream.sender.as_deref())?;
    receivers::named(stream.receiver.as_deref())?;
    if stream.reverse && stream.bidirectional {
        return order("both directions at once cannot be reversed".into());
    }
    if stream.verify || stream.touch || stream.span_bytes.is_some() {
        return order("packets are counted, and their content is not read".into());
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

/// Buffers of datagrams that are not streamed and of connections are small, and not placed. Those
/// of RDMA are: a NIC reads and writes them, however small.
pub fn node(job: &Job) -> Result<(), LoadError> {
    if job.node.is_some()
        && !(job.kind.is_stream()
            || job.kind.is_memory()
            || job.kind.is_rdma()
            || [Workload::Packets, Workload::TCP_RR].contains(&job.kind))
    {
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
    match options::told(&job.params).find(|(option, _)| option.capability.is_some()) {
        Some((option, _)) => order(format!("an iperf3 server does not take '{}'", option.key)),
        None => Ok(()),
    }
}

/// A probe asks one question at a time, over one flow.
pub fn probe(job: &Job) -> Result<(), LoadError> {
    let flows = job.params.flows();
    if job.kind == Workload::PathProbe && flows != 1 {
        return order(format!("a probe of the path over {flows} flows, must be one"));
    }
    Ok(())
}

/// Round trips that are kept one by one.
const KEPT_MAX: u64 = 60_000;

/// Limits of a response: those of a message; and of requests that overlap, each of which is kept.
pub fn trip(job: &Job) -> Result<(), LoadError> {
    if trips::OVERLAP.of(&job.params).unwrap_or(false) {
        let per_second = job.params.trip.as_ref().and_then(|trip| trip.per_second);
        let Some(per_second) = per_second else {
            return order("requests that overlap need a rate (per_second)".into());
        };
        let kept = per_second as f64 * job.timeline.length().as_secs_f64();
        if job.params.streams != 1 || kept > KEPT_MAX as f64 {
            return order(format!(
                "requests that overlap go over one flow, and at most {KEPT_MAX} of them; {kept:.0} \
                 were asked for over {}",
                job.params.streams
            ));
        }
    }
    match (&job.params.trip, job.kind.message()) {
        (Some(_), Some(size)) => message("response", job.params.response_bytes(), size),
        _ => Ok(()),
    }
}
