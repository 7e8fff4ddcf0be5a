//! `af-xdp`: a program before the interface gives the trial's packets to AF_XDP sockets, and this
//! program goes through them in memory that the driver puts them into (zero-copy) or the kernel
//! copies them to; all other packets go on as if it were not there. Each receive queue has a
//! socket, and the threads share the queues.

use super::{ReceiverKind, Receivers};
use crate::LoadError;
use crate::harness::ends::Flow;
use crate::harness::{Lane, LaneEnd, LaneWork};
use crate::packets::bpf::counter::Ports;
use crate::packets::bpf::redirector::Redirector;
use crate::packets::bpf::sys::{Mode, Program};
use crate::packets::frame::carried;
use crate::packets::link::{self, Link};
use crate::packets::over::{Taking, hears_over, longest_bytes, receiver_end};
use crate::packets::senders::SENT_CHUNKS;
use crate::packets::stamp::mark;
use crate::packets::xsk::{self, Inward, RECEIVED_BYTES_MAX, Wanted};
use narrows_model::calls;
use narrows_model::packets::FCS_BYTES;
use socket2::Socket;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

pub static RECEIVER: ReceiverKind = ReceiverKind {
    name: calls::AF_XDP,
    says: "packets in memory that the driver puts them into, or the kernel copies; root or CAP_BPF",
    make,
};

/// What it is called by how far the driver goes along.
const ZERO_COPY: &str = "af-xdp-zero-copy";
const COPY: &str = "af-xdp-copy";
/// The driver runs no programs: the packet has passed through a buffer of the stack.
const GENERIC: &str = "af-xdp-generic";
/// Chunks of memory, each for a frame that has come: of a queue the least and the most, and of all.
const CHUNKS_MIN: u32 = 512;
const CHUNKS_MAX: u32 = 4096;
const CHUNKS_ALL: u32 = 16_384;
/// Longest wait for packets, in milliseconds, until the phase is looked at.
const WAIT_MS: libc::c_int = 5;

/// The program where packets come.
struct Attached {
    _redirector: Redirector,
    _link: OwnedFd,
}

fn make(flows: Vec<(Socket, Flow)>) -> Result<Receivers, LoadError> {
    let Some((socket, told)) = flows.first() else {
        return Ok(Receivers { name: COPY, works: Vec::new(), outwards: Vec::new() });
    };
    let link = link::of(told, socket)?;
    let bytes = longest_bytes(told);
    if bytes > RECEIVED_BYTES_MAX {
        let most = RECEIVED_BYTES_MAX + FCS_BYTES as usize;
        return Err(LoadError::Order(format!("af-xdp receives frames of up to {most} B")));
    }
    let threads = flows.iter().map(|(socket, told)| {
        let (own, other) = link::ends(socket)?;
        Ok(Ports { own: own.port(), first: other.port(), spread: link::spread(told) })
    });
    let threads: Arc<[Ports]> = threads.collect::<Result<Vec<_>, LoadError>>()?.into();
    let queues = link.queues().receive;
    let into = chunks(queues);
    let redirector = Redirector::load(mark(&told.token), &threads, queues)?;
    let mut parts: Vec<Vec<Inward>> = flows.iter().map(|_| Vec::new()).collect();
    let mut is_zero_copy = true;
    let mut outwards = Vec::new();
    let sends_too = if sends_too(told) { flows.len() } else { 0 };
    for queue in 0..queues {
        let inward = if (queue as usize) < sends_too {
            let wanted = Wanted { frame_bytes: bytes, out: SENT_CHUNKS, into };
            let (outward, inward) = xsk::both(&link, queue, wanted)?;
            outwards.push(outward);
            inward
        } else {
            Inward::open(&link, queue, bytes, into)?
        };
        is_zero_copy &= inward.is_zero_copy();
        redirector.sockets().set(queue, inward.socket())?;
        parts[queue as usize % flows.len()].push(inward);
    }
    let (held, mode) = attach(redirector.program(), &link)?;
    let attached = Arc::new(Attached { _redirector: redirector, _link: held });
    let works = flows.into_iter().zip(parts).map(|((socket, told), inwards)| -> LaneWork {
        let (attached, threads) = (Arc::clone(&attached), Arc::clone(&threads));
        Box::new(move |lane| {
            let received = receive(lane, inwards, &threads, &socket, &told);
            drop(attached);
            received
        })
    });
    Ok(Receivers { name: named(mode, is_zero_copy), works: works.collect(), outwards })
}

/// Chunks of each of so many queues, a power of two as rings have.
fn chunks(queues: u32) -> u32 {
    (CHUNKS_ALL / queues.max(1)).next_power_of_two().clamp(CHUNKS_MIN, CHUNKS_MAX)
}

/// What it is called where it is.
fn named(mode: Mode, is_zero_copy: bool) -> &'static str {
    match (mode, is_zero_copy) {
        (Mode::Stack, _) => GENERIC,
        (Mode::Driver, true) => ZERO_COPY,
        (Mode::Driver, false) => COPY,
    }
}

/// Puts a program in front of an interface: in the driver, or else in front of the stack.
pub fn attach(program: &Program, link: &Link) -> Result<(OwnedFd, Mode), LoadError> {
    driver_or_stack(&link.name, |mode| program.attach(link.index, mode))
}

fn driver_or_stack<T>(
    name: &str,
    put: impl Fn(Mode) -> io::Result<T>,
) -> Result<(T, Mode), LoadError> {
    if let Ok(held) = put(Mode::Driver) {
        return Ok((held, Mode::Driver));
    }
    let doing = format!("a program that takes packets on {name} (another there is in the way)");
    put(Mode::Stack).map(|held| (held, Mode::Stack)).map_err(LoadError::system(doing))
}

/// Whether this end sends by AF_XDP at the same time, by a socket of the same queue.
fn sends_too(told: &Flow) -> bool {
    let sender = told.stream().sender;
    told.job.params.is_bidirectional() && sender.as_deref() == Some(calls::AF_XDP)
}

fn receive(
    lane: &mut Lane,
    mut inwards: Vec<Inward>,
    threads: &[Ports],
    socket: &Socket,
    told: &Flow,
) -> Result<LaneEnd, LoadError> {
    let spread = usize::from(link::spread(told));
    let mut taking = Taking::new(&told.token, spread * threads.len());
    let tally = lane.tally.clone();
    lane.wait_at_gate();
    let is_whole = loop {
        if let Some(is_whole) = taking.lingering.ends(lane.phase()) {
            break is_whole;
        }
        let mut came = 0;
        for inward in &mut inwards {
            came += inward.each(|packet| {
                let Some(carried) = carried(packet) else { return };
                let Some(thread) = threads.iter().position(|one| one.own == carried.target) else {
                    return;
                };
                let flow = carried.source.wrapping_sub(threads[thread].first);
                taking.take(thread * spread + usize::from(flow), carried.payload, &tally);
            });
        }
        if came > 0 {
            continue;
        }
        // What the program passes to the flow's own socket is its last word.
        if hears_over(socket, &told.token) {
            taking.lingering.over();
        }
        lane.tally.called();
        wait(&inwards);
    };
    Ok(receiver_end(is_whole.then_some(taking.in_window), taking.delays.into_buckets()))
}

/// Until packets come, or the phase is to be looked at.
fn wait(inwards: &[Inward]) {
    let asked = inwards.iter().map(|inward| libc::pollfd {
        fd: inward.socket().as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    });
    let mut asked: Vec<libc::pollfd> = asked.collect();
    // SAFETY: as many entries as there are, which are ours.
    unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, WAIT_MS) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_in_the_driver_or_else_in_front_of_the_stack() {
        let put = |works: &'static [Mode]| {
            driver_or_stack("eth0", |mode| {
                let refused = || io::Error::from_raw_os_error(libc::EBUSY);
                works.contains(&mode).then_some(mode as u32).ok_or_else(refused)
            })
        };
        for (works, mode) in [
            (&[Mode::Driver, Mode::Stack][..], Mode::Driver),
            (&[Mode::Driver], Mode::Driver),
            (&[Mode::Stack], Mode::Stack),
        ] {
            let (held, is) = put(works).unwrap_or_else(|why| panic!("{why}"));
            assert!(is == mode && held == mode as u32);
        }
        let why = put(&[]).map(|(held, _)| held).expect_err("refused").to_string();
        assert!(why.contains("takes packets on eth0"), "{why}");
        let names = [(Mode::Stack, true), (Mode::Driver, true), (Mode::Driver, false)];
        assert_eq!(names.map(|(mode, is)| named(mode, is)), [GENERIC, ZERO_COPY, COPY]);
    }

    #[test]
    fn many_queues_have_fewer_chunks_each() {
        assert_eq!([0, 1, 4, 6, 16, 128].map(chunks), [4096, 4096, 4096, 4096, 1024, 512]);
        assert!([3, 7, 60].map(chunks).iter().all(|count| count.is_power_of_two()));
    }
}
