//! `xdp`: a program in the kernel makes frames of one another and hands each to the interface's
//! driver (`BPF_PROG_TEST_RUN` with live frames, Linux 5.18 and later): no buffer of the stack and
//! no system call a packet. The driver must take frames from elsewhere (`ndo_xdp_xmit`).
//!
//! The rate is kept by the program itself, which asks the clock for each frame.

use super::{SenderKind, each};
use crate::LoadError;
use crate::harness::ends::Flow;
use crate::harness::{Clock, Lane, LaneEnd, Phase, Tally};
use crate::packets::bpf::generator::{Generator, State};
use crate::packets::over::{gap_ns, say_over, sender_end};
use crate::packets::stamp::{Stamp, mark, now_ns};
use crate::packets::{frame, link};
use narrows_model::calls;
use narrows_model::packets::{FCS_BYTES, HEADER_BYTES, XDP_FRAME_BYTES_MAX};
use socket2::Socket;
use std::io::ErrorKind;
use std::time::Duration;

pub static SENDER: SenderKind = SenderKind {
    name: calls::XDP,
    says: "a program in the kernel hands frames to the driver (live frames), root or CAP_BPF",
    wants_program: true,
    repeats_one: true,
    make: |flows, _| Ok(each("xdp", send, flows)),
};

/// Frames of one call. Each call makes a pool of pages and waits until it is gone: a few
/// milliseconds, which a million frames make small.
const REPEAT: u32 = 1 << 20;
/// How often the phase is looked at, and what was sent is told.
const LOOK: Duration = Duration::from_micros(200);

fn send(lane: &mut Lane, flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let link = link::of(told, &flow)?;
    let ends = link::route(told, &flow, &link)?;
    let spread = link::spread(told);
    let mut frame = frame::build(&ends, told.message());
    if frame.len() as u64 + FCS_BYTES > XDP_FRAME_BYTES_MAX {
        let most = XDP_FRAME_BYTES_MAX;
        return Err(LoadError::Order(format!(
            "xdp sends frames of up to {most} B; larger ones go over sockets"
        )));
    }
    let payload = frame.len() as u64 - HEADER_BYTES;
    Stamp { number: 0, is_in_window: false, sent_ns: 0 }
        .write(mark(&told.token), &mut frame[frame::at::PAYLOAD..]);
    let state = State::make(gap_ns(told))?;
    let generator = Generator { interface: link.index, source: ends.from.port(), spread };
    let program = generator.load(&state)?;
    lane.wait_at_gate();
    state.begin(now_ns());
    let (clock, tally) = (lane.clock(), lane.tally.clone());
    std::thread::scope(|scope| {
        scope.spawn(|| watch(&clock, &tally, &state, payload));
        while lane.phase() != Phase::Stop {
            lane.tally.called();
            match program.run_live(&frame, REPEAT) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let doing = format!("sending live frames on {}", link.name);
                    return Err(LoadError::system(doing)(error));
                }
            }
        }
        Ok(())
    })?;
    say_over(&flow, &told.token);
    Ok(sender_end(state.sent_in_window()))
}

/// Tells the program the phase, and the tally what it has sent, until the run is over.
fn watch(clock: &Clock, tally: &Tally, state: &State, payload: u64) {
    let mut told = 0;
    loop {
        let phase = clock.phase();
        state.mark(phase == Phase::Window);
        let sent = state.sent();
        tally.moved(sent - told, (sent - told) * payload);
        told = sent;
        if phase == Phase::Stop {
            return state.stop();
        }
        std::thread::sleep(LOOK);
    }
}
