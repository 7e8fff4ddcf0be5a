//! `packets`: frames of one size, each counted, at a rate or as fast as they go. Messages counted:
//! packets that arrived, each once; bytes: what UDP carried in them. What was sent is not received:
//! both ends count those of the sender's window.
//!
//! The ends meet over UDP, and each thread has a flow of its own; raw frames are those of the same
//! flow, made here. How they are sent and received is a choice ([`crate::packets`]).

use crate::harness::ends::{Flow, doors_over_udp, listens, meet_over_udp};
use crate::harness::meet::{self, Token};
use crate::harness::{ThreadsPlan, WorkerThreads, socket};
use crate::packets::link::Link;
use crate::packets::{cable, lent, receivers, senders};
use crate::{Kind, LoadError, Prepared, ThreadMeter};
use narrows_model::Bytes;
use narrows_model::load::{Effective, Job, Role};
use narrows_model::workload::Workload;
use socket2::Socket;
use std::net::SocketAddr;

pub static KIND: Kind = Kind {
    workload: Workload::Packets,
    says: "packets a second and their loss; counts packets that arrived, each once",
    prepare: |job| {
        let token = meet::token(&job.token)?;
        Ok(Box::new(Ready { job: job.clone(), token, doors: doors_over_udp(job)? }))
    },
};

struct Ready {
    job: Job,
    token: Token,
    doors: Vec<Socket>,
}

impl Prepared for Ready {
    fn ports(&self) -> Vec<u16> {
        self.doors.iter().map(meet::port).collect()
    }

    fn arm(
        self: Box<Self>,
        peer: &[SocketAddr],
        meter: ThreadMeter,
    ) -> Result<WorkerThreads, LoadError> {
        let Self { mut job, token, doors } = *self;
        let sockets = meet_over_udp(&job, &token, doors, peer)?;
        job.far_mac = prove(&job, &token)?;
        let first = sockets.first().ok_or_else(|| LoadError::Order("no flows".to_owned()))?;
        let effective = socket::read_back(first, &job, Bytes(0));
        let own = job.params.streams as usize;
        let (own_flows, others) = split(&job, token, &sockets, own)?;
        let sends = job.end == Role::Sender;
        let (sent, received) = if sends { (own_flows, others) } else { (others, own_flows) };
        let sending = if sends { 0..own } else { own..sockets.len() };
        let stream = job.params.stream.clone().unwrap_or_default();
        let (mut sender, mut receiver) = (None, None);
        let (mut senders, mut receivers, mut outwards) = (Vec::new(), Vec::new(), Vec::new());
        // First what comes: what it puts before the interface is needed more.
        if !received.is_empty() {
            let made = (receivers::named(stream.receiver.as_deref())?.0)(received)?;
            receiver = Some(made.name.to_owned());
            (receivers, outwards) = (made.works, made.outwards);
        }
        if !sent.is_empty() {
            let made = (senders::named(stream.sender.as_deref())?.0)(sent, outwards)?;
            sender = Some(made.name.to_owned());
            senders = made.works;
        }
        let lanes = if sends {
            senders.into_iter().chain(receivers).collect()
        } else {
            receivers.into_iter().chain(senders).collect()
        };
        WorkerThreads::start(ThreadsPlan {
            lanes,
            sending,
            one_sided: false,
            sockets,
            effective: Effective { sender, receiver, ..effective },
            cpus: job.cpus.clone(),
            binding: job.binding,
            meter,
        })
    }
}

/// Proves the way between two interfaces that are named, nothing where they are not; the MAC
/// address of the one that is another host's.
fn prove(job: &Job, token: &Token) -> Result<Option<String>, LoadError> {
    let bind = job.bind.clone().unwrap_or_default();
    let Some(own) = &bind.device else { return Ok(None) };
    match (&bind.cable, &bind.lent) {
        // Both are of this host: one end proves it.
        (Some(_), _) if listens(job) => Ok(None),
        (Some(other), _) => {
            cable::prove(&Link::named(own)?, &Link::named(other)?, token).map(|()| None)
        }
        (None, Some(other)) => {
            let told = job.far_mac.as_deref().map(str::parse).transpose()?;
            let mac = lent::prove(&Link::named(own)?, told, other, token)?;
            Ok(Some(mac.to_string()))
        }
        (None, None) => Ok(None),
    }
}

type Flows = Vec<(Socket, Flow)>;

/// The flows of this end's own part, and those of the other direction.
fn split(
    job: &Job,
    token: Token,
    sockets: &[Socket],
    own: usize,
) -> Result<(Flows, Flows), LoadError> {
    let mut flows = Vec::new();
    for (index, socket) in sockets.iter().enumerate() {
        let socket = socket.try_clone().map_err(LoadError::system("copying a socket handle"))?;
        flows.push((socket, Flow { job: job.clone(), token, index: index as u32 }));
    }
    let others = flows.split_off(own.min(flows.len()));
    Ok((flows, others))
}
