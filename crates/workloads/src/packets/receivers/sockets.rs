//! Over sockets, by any way to receive datagrams. An interface of a veth pair gets frames that were
//! sent raw only with a program before it: there a program stands that lets everything pass.

use super::{DEFAULT, Receivers};
use crate::LoadError;
use crate::harness::ends::Flow;
use crate::harness::{Lane, LaneEnd, LaneWork, socket};
use crate::packets::bpf::{counter, sys::Mode};
use crate::packets::link;
use crate::packets::over::{Taking, payloads_bytes, receiver_end};
use crate::packets::senders;
use crate::udp::receivers;
use narrows_model::load::Bind;
use socket2::Socket;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Makes the threads.
pub fn make(flows: Vec<(Socket, Flow)>) -> Result<Receivers, LoadError> {
    let mut name = DEFAULT;
    let passing = flows.first().map_or(Ok(None), |(socket, told)| pass(told, socket))?;
    let passing = Arc::new(passing);
    let mut works: Vec<LaneWork> = Vec::new();
    for (flow, told) in flows {
        let kind = told.stream().receiver;
        name = receivers::named(Some(kind.as_deref().unwrap_or(DEFAULT)))?.name;
        let passing = Arc::clone(&passing);
        works.push(Box::new(move |lane| {
            let received = receive(lane, &flow, &told);
            drop(passing);
            received
        }));
    }
    Ok(Receivers { name, works, outwards: Vec::new() })
}

/// A program that lets packets pass, where a veth pair of this host drops them without one.
pub(super) fn pass(told: &Flow, socket: &Socket) -> Result<Option<OwnedFd>, LoadError> {
    let stream = told.stream();
    let is_cabled = told.job.bind.as_ref().is_some_and(Bind::names_both);
    let is_of_pair = told.job.namespace.is_some() || is_cabled;
    if !senders::wants_program(stream.sender.as_deref()) || !is_of_pair {
        return Ok(None);
    }
    let link = link::of(told, socket)?;
    if is_cabled && !link.is_veth() {
        return Ok(None);
    }
    let program = counter::passing()?.attach(link.index, Mode::Driver);
    program.map(Some).map_err(LoadError::system(format!("a program that passes on {}", link.name)))
}

fn receive(lane: &mut Lane, flow: &Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let stream = told.stream();
    let kind = receivers::named(Some(stream.receiver.as_deref().unwrap_or(DEFAULT)))?;
    let message = payloads_bytes(told, flow)?.into_iter().max().unwrap_or(0);
    let inward = receivers::In { message, node: told.job.node, spins: told.spins() };
    let mut receiver = (kind.make)(flow, &inward)?;
    let mut taking = Taking::new(&told.token, 1);
    let tally = lane.tally.clone();
    lane.wait_at_gate();
    // The end that sends stops a moment later, and what is on its way then counts.
    let is_whole = loop {
        if let Some(is_whole) = taking.lingering.ends(lane.phase()) {
            break is_whole;
        }
        lane.tally.called();
        match receiver.receive(flow, &mut |payload| taking.take(0, payload, &tally)) {
            Ok(()) => {}
            Err(error) if socket::is_pause(&error) => {}
            // The other end has left already: an answer to a word of ours.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) => {
                return Err(LoadError::system(format!("receiving ({})", kind.name))(error));
            }
        }
    };
    Ok(receiver_end(is_whole.then_some(taking.in_window), taking.delays.into_buckets()))
}
