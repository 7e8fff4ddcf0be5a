//! `af-xdp`: frames are written into memory that an AF_XDP socket shares, and a call hands many of
//! them to the driver, which takes them from there (zero-copy) or gets copies. A frame counts as
//! sent once the kernel says that it is done with it. Each thread has a queue of the interface.

use super::{SENT_CHUNKS, SenderKind, Senders};
use crate::LoadError;
use crate::harness::ends::Flow;
use crate::harness::pace::Pace;
use crate::harness::{Lane, LaneEnd, LaneWork};
use crate::packets::bpf::{counter, sys::Mode};
use crate::packets::frame::{Frames, at};
use crate::packets::link;
use crate::packets::over::{CATCH_UP, longest_bytes, say_over, sender_end};
use crate::packets::stamp::{Stamp, mark, now_ns};
use crate::packets::xsk::{Outward, SENT_BYTES_MAX};
use narrows_model::calls;
use narrows_model::options::packets::frames_bytes;
use narrows_model::packets::{FCS_BYTES, HEADER_BYTES};
use socket2::Socket;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub static SENDER: SenderKind = SenderKind {
    name: calls::AF_XDP,
    says: "frames in memory that the driver takes them from, or copies; CAP_NET_RAW",
    wants_program: false,
    repeats_one: false,
    make,
};

/// What it is called by what the driver does.
const ZERO_COPY: &str = "af-xdp-zero-copy";
const COPY: &str = "af-xdp-copy";
/// Frames of a call: as many as the kernel copies at once.
const BATCH: u32 = 32;
/// How long frames that were handed over are waited for at the end.
const LATE: Duration = Duration::from_millis(200);

fn make(flows: Vec<(Socket, Flow)>, opened: Vec<Outward>) -> Result<Senders, LoadError> {
    let Some((socket, told)) = flows.first() else {
        return Ok(Senders { name: COPY, works: Vec::new() });
    };
    let link = link::of(told, socket)?;
    let bytes = longest_bytes(told);
    let most = SENT_BYTES_MAX.min(link.mtu_bytes as usize + at::IP);
    if bytes > most {
        let most = most + FCS_BYTES as usize;
        return Err(LoadError::Order(format!("af-xdp sends frames of up to {most} B here")));
    }
    let queues = link.queues();
    if flows.len() > queues.send as usize {
        return Err(LoadError::Order(format!(
            "af-xdp needs a queue for each of {} threads, and {} sends by {}",
            flows.len(),
            link.name,
            queues.send
        )));
    }
    let opened = if opened.is_empty() {
        let queues = 0..flows.len() as u32;
        let opened = queues.map(|queue| Outward::open(&link, queue, bytes, SENT_CHUNKS));
        opened.collect::<Result<Vec<_>, _>>()?
    } else {
        opened
    };
    let is_zero_copy = opened.iter().all(Outward::is_zero_copy);
    let waking = Arc::new(if is_zero_copy { wake(&link) } else { None });
    let works = flows.into_iter().zip(opened).map(|((flow, told), outward)| -> LaneWork {
        let waking = Arc::clone(&waking);
        Box::new(move |lane| {
            let sent = send(lane, &flow, &told, Sending::new(outward));
            drop(waking);
            sent
        })
    });
    let name = if is_zero_copy { ZERO_COPY } else { COPY };
    Ok(Senders { name, works: works.collect() })
}

/// A program that lets all pass: drivers that send zero-copy do so only with one before the
/// interface. Where another is there it does as well.
fn wake(link: &link::Link) -> Option<OwnedFd> {
    counter::passing().ok()?.attach(link.index, Mode::Driver).ok()
}

/// A frame that is on its way.
#[derive(Clone, Copy, Default)]
struct OnItsWay {
    is_in_window: bool,
    bytes: usize,
}

/// A socket with what is on its way.
struct Sending {
    outward: Outward,
    free: Vec<u32>,
    frames: Vec<OnItsWay>,
}

/// What is known to have been sent.
#[derive(Default)]
struct Sent {
    packets: u64,
    in_window: u64,
    payload: u64,
}

impl Sending {
    fn new(outward: Outward) -> Self {
        let frames = vec![OnItsWay::default(); SENT_CHUNKS as usize];
        Self { outward, free: (0..SENT_CHUNKS).rev().collect(), frames }
    }

    /// Puts a frame, if a chunk is free.
    fn put(&mut self, plain: &[u8], is_in_window: bool, write: impl FnOnce(&mut [u8])) -> bool {
        if self.outward.room() == 0 {
            return false;
        }
        let Some(chunk) = self.free.pop() else { return false };
        let frame = self.outward.frame_mut(chunk, plain.len());
        frame.copy_from_slice(plain);
        write(frame);
        self.outward.put(chunk, plain.len());
        self.frames[chunk as usize] = OnItsWay { is_in_window, bytes: plain.len() };
        true
    }

    /// Has the kernel send, and takes what it is done with.
    fn hand_over(&mut self, lane: &Lane) -> Result<Sent, LoadError> {
        lane.tally.called();
        match self.outward.send() {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => lane.tally.refused(),
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(LoadError::system("sending by AF_XDP")(error)),
        }
        let Self { outward, free, frames } = self;
        let mut sent = Sent::default();
        outward.completed(|chunk| {
            let Some(frame) = frames.get(chunk as usize) else { return };
            free.push(chunk);
            sent.packets += 1;
            sent.in_window += u64::from(frame.is_in_window);
            sent.payload += frame.bytes as u64 - HEADER_BYTES;
        });
        lane.tally.moved(sent.packets, sent.payload);
        Ok(sent)
    }

    fn is_idle(&self) -> bool {
        self.free.len() == SENT_CHUNKS as usize
    }
}

/// Whether the kernel goes on later: more than it takes at once, or a full queue.
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
        || error.raw_os_error() == Some(libc::EBUSY)
}

fn send(
    lane: &mut Lane,
    flow: &Socket,
    told: &Flow,
    mut sending: Sending,
) -> Result<LaneEnd, LoadError> {
    let link = link::of(told, flow)?;
    let ends = link::route(told, flow, &link)?;
    let spread = u64::from(link::spread(told));
    let frames = Frames::build(&ends, &frames_bytes(&told.job.params));
    let mark = mark(&told.token);
    let (mut number, mut in_window) = (0u64, 0u64);
    lane.wait_at_gate();
    let mut pace = Pace::of_bits(&told.job.params).making_up(CATCH_UP);
    while pace.due(lane).is_some() {
        let (is_in_window, sent_ns) = (lane.is_in_window(), now_ns());
        let mut filled = 0;
        let most = pace.at_once().min(BATCH as usize) as u32;
        while filled < most {
            let port = ends.from.port().wrapping_add((number % spread) as u16);
            let stamp = Stamp { number: number / spread, is_in_window, sent_ns };
            let write = |frame: &mut [u8]| {
                frame[at::SOURCE..at::TARGET].copy_from_slice(&port.to_be_bytes());
                stamp.write(mark, &mut frame[at::PAYLOAD..]);
            };
            if !sending.put(frames.of(stamp.number), is_in_window, write) {
                break;
            }
            number += 1;
            filled += 1;
        }
        in_window += sending.hand_over(lane)?.in_window;
        match filled {
            0 => pace.again(1),
            filled => pace.more(u64::from(filled) - 1),
        }
    }
    in_window += finish(lane, &mut sending)?;
    say_over(flow, &told.token);
    Ok(sender_end(in_window))
}

/// Waits a while for what is still on its way: how many of the window were among it.
fn finish(lane: &Lane, sending: &mut Sending) -> Result<u64, LoadError> {
    let (began, mut in_window) = (Instant::now(), 0);
    while !sending.is_idle() && began.elapsed() < LATE {
        in_window += sending.hand_over(lane)?.in_window;
    }
    Ok(in_window)
}
