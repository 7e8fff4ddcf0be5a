//! `ring`: the kernel copies the trial's packets into blocks of a ring that it shares
//! (PACKET_RX_RING, TPACKET_V3), and this program goes through them without a call each. A block
//! comes when it is full or after a millisecond, which the time one way then has in it.

use super::{ReceiverKind, Receivers, sockets};
use crate::LoadError;
use crate::harness::ends::Flow;
use crate::harness::{Lane, LaneEnd, LaneWork};
use crate::packets::frame::{at, carried};
use crate::packets::link::{self, Link};
use crate::packets::over::{Taking, hears_over, receiver_end};
use crate::packets::ring::{self, Ring};
use narrows_model::calls;
use socket2::Socket;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub static RECEIVER: ReceiverKind = ReceiverKind {
    name: calls::RING,
    says: "packets in blocks of a ring that the kernel shares (TPACKET_V3); CAP_NET_RAW",
    make,
};

/// Bytes of a block, and blocks of a flow.
const BLOCK: usize = 1 << 18;
const BLOCKS: usize = 64;
/// How long the kernel keeps a block that is not full, in milliseconds: the least there is.
const RETIRE_MS: u32 = 1;
/// Where a block's words are (`struct tpacket_block_desc`).
const STATUS: usize = 8;
const PACKETS: usize = 12;
const FIRST: usize = 16;
/// Where a packet's are (`struct tpacket3_hdr`).
const NEXT: usize = 0;
const CAUGHT: usize = 12;
const MAC: usize = 24;
/// Longest wait for a block, in milliseconds, until the phase is looked at.
const WAIT_MS: libc::c_int = 5;

fn make(flows: Vec<(Socket, Flow)>) -> Result<Receivers, LoadError> {
    let passing = flows.first().map_or(Ok(None), |(socket, told)| sockets::pass(told, socket))?;
    let passing = Arc::new(passing);
    let mut works: Vec<LaneWork> = Vec::new();
    for (socket, told) in flows {
        let link = link::of(&told, &socket)?;
        let (own, other) = link::ends(&socket)?;
        let ring = open(&link, own.port())?;
        let first = other.port();
        let passing = Arc::clone(&passing);
        works.push(Box::new(move |lane| {
            let received = receive(lane, &ring, first, &socket, &told);
            drop(passing);
            received
        }));
    }
    Ok(Receivers { name: RECEIVER.name, works, outwards: Vec::new() })
}

/// A ring of the UDP packets to a port that come over an interface.
fn open(link: &Link, port: u16) -> Result<Ring, LoadError> {
    let socket = ring::socket(link)?;
    let doing = |what: &str| LoadError::system(format!("{what} on {}", link.name));
    let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
    ring::set(&socket, libc::PACKET_VERSION, &version).map_err(doing("a packet ring"))?;
    let asked = libc::tpacket_req3 {
        tp_block_size: BLOCK as u32,
        tp_block_nr: BLOCKS as u32,
        tp_frame_size: 2048,
        tp_frame_nr: (BLOCK / 2048 * BLOCKS) as u32,
        tp_retire_blk_tov: RETIRE_MS,
        tp_sizeof_priv: 0,
        tp_feature_req_word: 0,
    };
    ring::set(&socket, libc::PACKET_RX_RING, &asked).map_err(doing("a ring to receive into"))?;
    only(&socket, port).map_err(doing("a packet filter"))?;
    let ring = Ring::map(socket, BLOCK * BLOCKS)?;
    // Only now: a socket that is bound before has others' packets in its ring.
    ring::bind(ring.socket(), link, libc::ETH_P_IP as u16)?;
    Ok(ring)
}

/// A line of a filter (linux/filter.h), with where it goes on if it does not hold.
fn line(code: u32, else_further: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: else_further, k }
}

/// Lets a socket have the UDP packets to a port alone, in IPv4 headers without options.
fn only(socket: &OwnedFd, port: u16) -> std::io::Result<()> {
    let (byte, half) =
        (libc::BPF_LD | libc::BPF_ABS | libc::BPF_B, libc::BPF_LD | libc::BPF_ABS | libc::BPF_H);
    let (equals, takes) = (libc::BPF_JMP | libc::BPF_JEQ, libc::BPF_RET);
    // What is not equal goes on so many lines further: to the last, which takes nothing.
    let mut lines = [
        line(byte, 0, at::IP as u32),
        line(equals, 5, 0x45),
        line(byte, 0, at::PROTOCOL as u32),
        line(equals, 3, 17),
        line(half, 0, at::TARGET as u32),
        line(equals, 1, port.into()),
        line(takes, 0, 1 << 16),
        line(takes, 0, 0),
    ];
    let program = libc::sock_fprog { len: lines.len() as u16, filter: lines.as_mut_ptr() };
    // SAFETY: the kernel copies the program, whose lines outlive the call.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            std::ptr::from_ref(&program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

fn receive(
    lane: &mut Lane,
    ring: &Ring,
    first: u16,
    socket: &Socket,
    told: &Flow,
) -> Result<LaneEnd, LoadError> {
    let mut taking = Taking::new(&told.token, link::spread(told).into());
    let tally = lane.tally.clone();
    let mut block = 0;
    lane.wait_at_gate();
    let is_whole = loop {
        if let Some(is_whole) = taking.lingering.ends(lane.phase()) {
            break is_whole;
        }
        let start = block * BLOCK;
        let status = ring.area().shared(start + STATUS);
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            // What the flow's own socket gets beside the ring is of no use but for its last word.
            if hears_over(socket, &told.token) {
                taking.lingering.over();
            }
            lane.tally.called();
            wait(ring);
            continue;
        }
        each(ring, start, |packet| {
            if let Some(carried) = carried(packet) {
                let flow = usize::from(carried.source.wrapping_sub(first));
                taking.take(flow, carried.payload, &tally);
            }
        });
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        block = (block + 1) % BLOCKS;
    };
    Ok(receiver_end(is_whole.then_some(taking.in_window), taking.delays.into_buckets()))
}

/// Goes through the packets of a block that is ours.
fn each(ring: &Ring, start: usize, mut take: impl FnMut(&[u8])) {
    let (mut packet, end) = (ring.area().word(start + FIRST) as usize, start + BLOCK);
    for _ in 0..ring.area().word(start + PACKETS) {
        let head = start + packet;
        if head + MAC + 4 > end {
            return;
        }
        let mac = ring.area().bytes(head + MAC, 2);
        let mac = usize::from(u16::from_ne_bytes([mac[0], mac[1]]));
        take(ring.area().bytes(head + mac, ring.area().word(head + CAUGHT) as usize));
        packet += ring.area().word(head + NEXT) as usize;
    }
}

/// Until a block comes, or the phase is to be looked at.
fn wait(ring: &Ring) {
    let mut asked =
        libc::pollfd { fd: ring.socket().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which is ours.
    unsafe { libc::poll(&raw mut asked, 1, WAIT_MS) };
}
