//! What one end of a job takes of its host's memory, before any of it is taken.

use crate::harness::ends::Flow;
use crate::harness::{meet, socket};
use crate::rdma::settings;
use crate::{LoadError, tcp, udp};
use narrows_model::load::{Job, Role};
use narrows_model::workload::{Transport, Workload};

/// The room for a datagram of any size.
const DATAGRAM_BYTES: u64 = 1 << 16;

/// Buffers and rings of a thread that sends or receives packets.
const PACKETS_BYTES: u64 = 8 << 20;

/// Bytes that one end takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Takes {
    /// Buffers, pools, pipes, files in memory, registered regions, what is compared with.
    pub buffer_bytes: u64,
    /// What is asked of the kernel for queues of sockets, doubled as the kernel doubles it.
    /// Queues that the kernel sizes by itself are its own.
    pub socket_bytes: u64,
}

impl Takes {
    /// Buffers and socket queues together, in bytes.
    pub fn total_bytes(&self) -> u64 {
        self.buffer_bytes.saturating_add(self.socket_bytes)
    }
}

/// Counts what an end takes: all its flows, both directions, each by what sends or receives it.
pub fn count(job: &Job) -> Result<Takes, LoadError> {
    if !crate::kind(&job.kind)?.workload.is_network() {
        return Ok(Takes { buffer_bytes: job.params.working_set_bytes.0, socket_bytes: 0 });
    }
    let token = meet::token(&job.token)?;
    let mut takes = Takes::default();
    let own = job.params.streams;
    for (flows, sends) in [
        (own, job.end == Role::Sender),
        (job.params.flows().saturating_sub(own), job.end != Role::Sender),
    ] {
        if flows == 0 {
            continue;
        }
        let told = Flow { job: job.clone(), token, index: 0 };
        let each = flow(&told, sends)?;
        let flows = u64::from(flows);
        takes.buffer_bytes = takes.buffer_bytes.saturating_add(each.saturating_mul(flows));
        let queues = socket::asked_bytes(job).saturating_mul(flows);
        takes.socket_bytes = takes.socket_bytes.saturating_add(queues);
    }
    Ok(takes)
}

fn flow(told: &Flow, sends: bool) -> Result<u64, LoadError> {
    let (job, stream) = (&told.job, told.stream());
    let (message, span, node, spins) = (told.message(), told.span(), job.node, told.spins());
    let response = job.params.response_bytes().0;
    let checked = |bytes: usize| if stream.verify { bytes as u64 } else { 0 };
    Ok(match (&job.kind, sends) {
        (Workload::Stream(Transport::Tcp), true) => {
            let sender = tcp::senders::named(stream.sender.as_deref())?;
            (sender.takes)(&tcp::senders::Out { span, node, spins })
        }
        (Workload::Stream(Transport::Tcp), false) => {
            let receiver = tcp::receivers::named(stream.receiver.as_deref())?;
            let inward = tcp::receivers::In { message, span, node, spins };
            (receiver.takes)(&inward).saturating_add(checked(span))
        }
        (Workload::Stream(Transport::Udp), true) => {
            let sender = udp::senders::named(stream.sender.as_deref())?;
            ((sender.batch)(message) * message) as u64
        }
        (Workload::Stream(Transport::Udp), false) => {
            let receiver = udp::receivers::named(stream.receiver.as_deref())?;
            let inward = udp::receivers::In { message, node, spins };
            (receiver.takes)(&inward).saturating_add(checked(message))
        }
        (Workload::RoundTrip(Transport::Udp), _) => {
            (message as u64 + response).max(DATAGRAM_BYTES) + DATAGRAM_BYTES
        }
        (Workload::PathProbe, _) => 2 * DATAGRAM_BYTES,
        // The largest batch of one call, and a ring or an array beside it.
        (Workload::Packets, _) => PACKETS_BYTES,
        (rdma, _) if rdma.is_rdma() => settings::flow_bytes(told)?,
        _ => (message as u64).saturating_add(response),
    })
}
