//! Bytes that must cross the memory bus for each byte on the wire, counted as in "Sockets vs. RDMA
//! Interface over 10-Gigabit Networks" (Balaji, Shah, Panda), for a path through a device that
//! moves each byte between memory and wire.
//!
//! A sender reads the program's buffer unless it is cached (1), the socket buffer is fetched to be
//! written unless it is cached (1), and the device takes it: with a write-back on its way (1), or
//! after one (2). A receiver's device writes (1), the copy reads (1), and fetches and later writes
//! back the program's buffer unless that is cached (2). Without a copy the device alone moves it
//! (1). It is the least: misses of the socket buffers, control messages and other processes come
//! on top.

use narrows_model::Bytes;
use narrows_model::calls::UNCOPIED;
use narrows_model::trial::Trial;
use narrows_model::workload::{Transport, Workload};

/// Which way the payload goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From memory to the wire.
    Transmit,
    /// From the wire to memory.
    Receive,
}

/// Where a buffer is when it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// In the last-level cache.
    Cached,
    /// In memory alone.
    Uncached,
    /// One or the other.
    Either,
}

impl Buffer {
    fn misses(self) -> &'static [f64] {
        match self {
            Self::Cached => &[0.0],
            Self::Uncached => &[1.0],
            Self::Either => &[0.0, 1.0],
        }
    }
}

/// Bytes of memory traffic for each byte of payload: least and most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moves {
    /// Where everything that may be cached is.
    pub least: f64,
    pub most: f64,
}

/// A path on which the device reads or writes the program's buffer itself: RDMA, zero-copy.
pub const DIRECT: Moves = Moves { least: 1.0, most: 1.0 };

/// A path on which the kernel copies between the program's buffer and the socket's.
pub fn copied(way: Way, program: Buffer, socket: Buffer) -> Moves {
    let program = program.misses().iter();
    let all: Vec<f64> = match way {
        Way::Receive => program.map(|miss| 2.0 + 2.0 * miss).collect(),
        Way::Transmit => {
            let with = |program: f64, socket: f64| program + socket + 1.0 + socket;
            program.flat_map(|p| socket.misses().iter().map(move |s| with(*p, *s))).collect()
        }
    };
    Moves {
        least: all.iter().copied().fold(f64::INFINITY, f64::min),
        most: all.into_iter().fold(0.0, f64::max),
    }
}

/// What a trial's path needs at one end; `None` for what is no stream through a device.
pub fn of_trial(trial: &Trial, way: Way, cache: Bytes) -> Option<Moves> {
    match &trial.kind {
        Workload::Stream(Transport::Rdma(_)) => return Some(DIRECT),
        Workload::Stream(Transport::Tcp | Transport::Udp) => {}
        _ => return None,
    }
    let stream = trial.params.stream.as_ref();
    let how = stream.and_then(|stream| match way {
        Way::Transmit => stream.sender.as_deref(),
        Way::Receive => stream.receiver.as_deref(),
    });
    if how.is_some_and(|how| UNCOPIED.contains(&how)) {
        return Some(DIRECT);
    }
    let span = stream.and_then(|stream| stream.span_bytes).unwrap_or(trial.params.message_bytes);
    // A span within the cache may be there: at worst it is not.
    let program = if cache.0 > 0 && span > cache { Buffer::Uncached } else { Buffer::Either };
    Some(copied(way, program, Buffer::Either))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_counted_as_the_source_counts_them() {
        use Buffer::{Cached, Either, Uncached};
        for (way, program, socket, least, most) in [
            (Way::Transmit, Either, Either, 1.0, 4.0),
            (Way::Transmit, Uncached, Either, 2.0, 4.0),
            (Way::Transmit, Cached, Cached, 1.0, 1.0),
            (Way::Transmit, Cached, Either, 1.0, 3.0),
            (Way::Receive, Either, Either, 2.0, 4.0),
            (Way::Receive, Uncached, Either, 4.0, 4.0),
            (Way::Receive, Cached, Cached, 2.0, 2.0),
        ] {
            let counted = copied(way, program, socket);
            assert_eq!((counted.least, counted.most), (least, most), "{way:?} {program:?}");
        }
    }

    #[test]
    fn a_trials_copies_follow_from_its_way_its_calls_and_its_span() {
        use narrows_model::load::{Params, StreamParams, Timeline};
        use narrows_model::trial::{NetworkPath, TrialId};
        use narrows_model::{Nanos, workload::RdmaVerb};
        let of = |kind: Workload, stream: StreamParams, way, cache: u64| {
            let mut params = Params::of_network(Bytes::kib(64), 1);
            params.stream = Some(stream);
            let trial = Trial {
                id: TrialId("t".to_owned()),
                label: "t".to_owned(),
                kind,
                params,
                ends: Vec::new(),
                path: NetworkPath::Peer,
                timeline: Timeline::new(Nanos(0), Nanos(1), Nanos(0)),
                levels: Vec::new(),
                notes: Vec::new(),
                engine: None,
            };
            of_trial(&trial, way, Bytes(cache)).map(|moves| (moves.least, moves.most))
        };
        let plain = StreamParams::default;
        let (tcp, udp) = (|| Workload::TCP_STREAM, || Workload::UDP_STREAM);
        let span = |bytes| StreamParams { span_bytes: Some(Bytes(bytes)), ..plain() };
        let (send, receive) = (Way::Transmit, Way::Receive);
        // The message fits the cache, or no cache is known: the buffer may be in it.
        assert_eq!(of(tcp(), plain(), send, 1 << 20), Some((1.0, 4.0)));
        assert_eq!(of(udp(), plain(), receive, 1 << 20), Some((2.0, 4.0)));
        assert_eq!(of(tcp(), span(1 << 30), receive, 0), Some((2.0, 4.0)));
        // A span beyond the cache is in memory; one as large as it need not be.
        assert_eq!(of(tcp(), span(1 << 20), send, 1 << 20), Some((1.0, 4.0)));
        assert_eq!(of(tcp(), span((1 << 20) + 1), send, 1 << 20), Some((2.0, 4.0)));
        assert_eq!(of(tcp(), span((1 << 20) + 1), receive, 1 << 20), Some((4.0, 4.0)));
        assert_eq!(of(tcp(), plain(), receive, 1 << 10), Some((4.0, 4.0)), "a message beyond it");
        // Without a copy, at the end that does without.
        let uncopied = UNCOPIED.first().map(|call| (*call).to_owned());
        let sender = || StreamParams { sender: uncopied.clone(), ..plain() };
        assert_eq!(of(tcp(), sender(), send, 0), Some((1.0, 1.0)));
        assert_eq!(of(tcp(), sender(), receive, 0), Some((2.0, 4.0)));
        let receiver = StreamParams { receiver: uncopied.clone(), ..plain() };
        assert_eq!(of(tcp(), receiver, receive, 0), Some((1.0, 1.0)));
        let rdma = Workload::Stream(Transport::Rdma(RdmaVerb::Write));
        assert_eq!(of(rdma, plain(), send, 0), Some((1.0, 1.0)));
        assert_eq!(of(Workload::from("memory-copy"), plain(), send, 0), None);
    }
}
