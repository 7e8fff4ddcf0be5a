//! `tcp-stream`: each flow sends messages of one size over one connection as fast as it goes. Bytes
//! counted: payload that the receiver took.
//!
//! How bytes are handed over and taken is a choice ([`crate::tcp`]); without one the sender writes
//! and the receiver copies every byte out of the kernel. Unless a span is asked for, both ends use
//! one buffer of one message over and over: it stays in the cache ("hot"). With a span they go
//! through it message by message. The receiver may read what it received once more (touch), or
//! compare it with what was sent (verify).

use crate::harness::ends::{Flow, LaneMaker, TcpEnd};
use crate::harness::payload::Checker;
use crate::harness::{Lane, LaneEnd, Phase, socket};
use crate::tcp::receivers::{self, In};
use crate::tcp::senders::{self, Out};
use crate::{Kind, LoadError};
use narrows_model::options::flows;
use narrows_model::workload::Workload;
use socket2::Socket;
use std::hint::black_box;

pub static KIND: Kind = Kind {
    workload: Workload::TCP_STREAM,
    says: "TCP throughput; counts payload bytes that the receiver took",
    prepare: |job| TcpEnd::prepare(job, LANES),
};

const LANES: LaneMaker = LaneMaker {
    receiver: receive,
    sender: send,
    one_sided: false,
    engines: |job| {
        let stream = job.params.stream.clone().unwrap_or_default();
        let sender = senders::named(stream.sender.as_deref()).map_or("", |sender| sender.name);
        let receiver = receivers::named(stream.receiver.as_deref());
        (sender, receiver.map_or("", |receiver| receiver.name))
    },
};

fn send(lane: &mut Lane, flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let (message, span) = (told.message(), told.span());
    let out = Out { span, node: told.job.node, spins: told.spins() };
    let kind = senders::named(told.stream().sender.as_deref())?;
    let mut sender = (kind.make)(&flow, &out)?;
    lane.wait_at_gate();
    // Where the message begins in the span, and how much of it went.
    let (mut at, mut done) = (0, 0);
    let end = loop {
        let phase = lane.phase();
        if phase == Phase::Stop {
            break Ok(());
        }
        lane.tally.called();
        match sender.send(&flow, at + done, message - done) {
            Ok(n) => {
                done += n;
                lane.tally.moved(u64::from(done == message), n as u64);
                if done == message {
                    done = 0;
                    at = (at + message) % span;
                }
            }
            Err(error) if socket::is_pause(&error) => {}
            // The receiver may close first: its cool-down ends a moment before ours.
            Err(_) if phase == Phase::Cooldown => break Ok(()),
            Err(error) => break Err(LoadError::system(format!("sending ({})", kind.name))(error)),
        }
    };
    end.map(|()| LaneEnd { zero_copy: sender.zero_copy(&flow), ..LaneEnd::default() })
}

fn receive(lane: &mut Lane, flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let (stream, span) = (told.stream(), told.span());
    let kind = receivers::named(stream.receiver.as_deref())?;
    let inward = In { message: told.message(), span, node: told.job.node, spins: told.spins() };
    let mut receiver = (kind.make)(&inward)?;
    let mut checker = stream.verify.then(|| Checker::new(span)).transpose()?;
    let quick = flows::QUICKACK.of(&told.job.params).unwrap_or(false);
    let mut look = |bytes: &[u8]| {
        if stream.touch {
            black_box(bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)));
        }
        if let Some(checker) = &mut checker {
            checker.see(bytes);
        }
    };
    lane.wait_at_gate();
    loop {
        let phase = lane.phase();
        if phase == Phase::Stop {
            break;
        }
        lane.tally.called();
        match receiver.receive(&flow, &mut look) {
            Ok(0) if phase < Phase::Cooldown => {
                return Err(LoadError::Peer("the sender closed before the window ended".into()));
            }
            Ok(0) => break,
            Ok(n) => {
                lane.tally.moved(1, n as u64);
                if quick {
                    socket::acknowledge(&flow)?;
                }
            }
            Err(error) if socket::is_pause(&error) => {}
            Err(_) if phase == Phase::Cooldown => break,
            Err(error) => {
                return Err(LoadError::system(format!("receiving ({})", kind.name))(error));
            }
        }
    }
    let compared = checker.map(|checker| checker.compared(told.index));
    Ok(LaneEnd { compared, ..LaneEnd::default() })
}
