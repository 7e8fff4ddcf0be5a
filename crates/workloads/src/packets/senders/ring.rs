//! `ring`: frames are written into a ring that the kernel shares (PACKET_TX_RING), and a call hands
//! many of them to the driver, past the queueing discipline (PACKET_QDISC_BYPASS). Frames of any
//! size that the interface takes; no privilege beyond CAP_NET_RAW.

use super::{SenderKind, each};
use crate::LoadError;
use crate::harness::ends::Flow;
use crate::harness::pace::Pace;
use crate::harness::{Lane, LaneEnd, Phase};
use crate::packets::frame::{Frames, at};
use crate::packets::link;
use crate::packets::over::{CATCH_UP, longest_bytes, say_over, sender_end};
use crate::packets::ring::{self, Ring};
use crate::packets::stamp::{Stamp, mark, now_ns};
use narrows_model::calls;
use narrows_model::options::packets::frames_bytes;
use socket2::Socket;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

pub static SENDER: SenderKind = SenderKind {
    name: calls::RING,
    says: "frames in a ring that the kernel shares, past the queueing discipline; CAP_NET_RAW",
    wants_program: false,
    repeats_one: false,
    make: |flows, _| Ok(each("ring", send, flows)),
};

/// Slots of the ring.
const SLOTS: usize = 1024;
/// Frames of a call at most.
const BATCH: usize = 32;
/// Bytes of a block, in which slots lie side by side.
const BLOCK: usize = 1 << 16;
/// Bytes of a slot's head before the frame (`struct tpacket2_hdr`), and where its words are.
const HEAD: usize = 32;
const LENGTH: usize = 4;

/// A ring to send from.
struct Outward {
    ring: Ring,
    /// Bytes of a slot.
    slot: usize,
    /// The slot that is filled next.
    next: usize,
}

impl Outward {
    fn open(link: &link::Link, frame_bytes: usize) -> Result<Self, LoadError> {
        let slot = (HEAD + frame_bytes).next_power_of_two().max(128);
        let socket = ring::socket(link)?;
        let doing = |what: &str| LoadError::system(format!("{what} on {}", link.name));
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        ring::set(&socket, libc::PACKET_VERSION, &version).map_err(doing("a packet ring"))?;
        let past: libc::c_int = 1;
        ring::set(&socket, libc::PACKET_QDISC_BYPASS, &past)
            .map_err(doing("passing the queueing discipline"))?;
        let asked = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (SLOTS * slot / BLOCK) as u32,
            tp_frame_size: slot as u32,
            tp_frame_nr: SLOTS as u32,
        };
        ring::set(&socket, libc::PACKET_TX_RING, &asked).map_err(doing("a ring to send from"))?;
        ring::bind(&socket, link, 0)?;
        Ok(Self { ring: Ring::map(socket, SLOTS * slot)?, slot, next: 0 })
    }

    /// Writes a frame into the next slot, if that is free.
    fn put(&mut self, write: impl FnOnce(&mut [u8]), frame_bytes: usize) -> bool {
        let start = self.next * self.slot;
        let status = self.ring.area().shared(start).load(Ordering::Acquire);
        if status & (libc::TP_STATUS_SEND_REQUEST | libc::TP_STATUS_SENDING) != 0 {
            return false;
        }
        write(self.ring.area_mut().bytes_mut(start + HEAD, frame_bytes));
        self.ring.area().shared(start + LENGTH).store(frame_bytes as u32, Ordering::Relaxed);
        self.ring.area().shared(start).store(libc::TP_STATUS_SEND_REQUEST, Ordering::Release);
        self.next = (self.next + 1) % SLOTS;
        true
    }

    /// Lets the kernel send what is asked for; does not wait until it has left.
    fn kick(&self) -> io::Result<()> {
        let socket = self.ring.socket().as_raw_fd();
        // SAFETY: a call without data of ours: the frames are in the ring.
        let sent = unsafe { libc::send(socket, std::ptr::null(), 0, libc::MSG_DONTWAIT) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// How many of the last slots the kernel has taken, of so many that were filled; an error
    /// where it refuses what one holds.
    fn taken(&self, filled: usize) -> Result<usize, LoadError> {
        let first = self.next + SLOTS - filled;
        for of in 0..filled {
            let status =
                self.ring.area().shared((first + of) % SLOTS * self.slot).load(Ordering::Acquire);
            if status & libc::TP_STATUS_WRONG_FORMAT != 0 {
                return Err(LoadError::Order("the interface takes no frame of this size".into()));
            }
            if status & libc::TP_STATUS_SEND_REQUEST != 0 {
                return Ok(of);
            }
        }
        Ok(filled)
    }
}

fn send(lane: &mut Lane, flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let link = link::of(told, &flow)?;
    let ends = link::route(told, &flow, &link)?;
    let spread = u64::from(link::spread(told));
    let frames = Frames::build(&ends, &frames_bytes(&told.job.params));
    let mut ring = Outward::open(&link, longest_bytes(told))?;
    let mark = mark(&told.token);
    let (mut number, mut in_window) = (0u64, 0u64);
    lane.wait_at_gate();
    let mut pace = Pace::of_bits(&told.job.params).making_up(CATCH_UP);
    while pace.due(lane).is_some() {
        let (is_in_window, sent_ns) = (lane.is_in_window(), now_ns());
        let mut filled = 0;
        let most = BATCH.min(pace.at_once());
        while filled < most {
            let packet = number + filled as u64;
            let plain = frames.of(packet / spread);
            let write = |frame: &mut [u8]| {
                frame.copy_from_slice(plain);
                let port = ends.from.port().wrapping_add((packet % spread) as u16);
                frame[at::SOURCE..at::TARGET].copy_from_slice(&port.to_be_bytes());
                Stamp { number: packet / spread, is_in_window, sent_ns }
                    .write(mark, &mut frame[at::PAYLOAD..]);
            };
            if !ring.put(write, plain.len()) {
                break;
            }
            filled += 1;
        }
        let sent = hand_over(lane, &ring, filled)?;
        let payload = (number..number + sent as u64).map(|at| frames.payload_bytes(at / spread));
        lane.tally.moved(sent as u64, payload.sum());
        number += sent as u64;
        in_window += if is_in_window { sent as u64 } else { 0 };
        match sent {
            0 => pace.again(1),
            sent => pace.more(sent as u64 - 1),
        }
    }
    say_over(&flow, &told.token);
    Ok(sender_end(in_window))
}

/// Until the driver has taken all that was filled, or the run is over: how many it took.
fn hand_over(lane: &mut Lane, ring: &Outward, filled: usize) -> Result<usize, LoadError> {
    loop {
        lane.tally.called();
        match ring.kick() {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => lane.tally.refused(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                // What the ring says of a frame is plainer than the call's own error.
                ring.taken(filled)?;
                return Err(LoadError::system("sending from a ring")(error));
            }
        }
        let taken = ring.taken(filled)?;
        if taken == filled || lane.phase() == Phase::Stop {
            return Ok(taken);
        }
    }
}
