//! What the flows of a network workload carry, and how their sockets are set.

use super::code_points::CODE_POINTS;
use super::{Command, Declared, Fits, Flag, Form, Kept, Opt, Takes, Unset, Value, fits};
use super::{Params, SocketParams, StreamParams, Wait};
use crate::packets::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};
use crate::workload::{Transport, Workload};
use crate::{BitsPerSecond, Bytes, calls};

const OLD: Declared = Declared { unset: Unset::Null, ..Declared::PLAIN };
const TCP: &[Command] = &[Command::Tcp];
const UDP: &[Command] = &[Command::Udp];
const RDMA: &[Command] = &[Command::Rdma];
const TCP_UDP_PACKETS: &[Command] = &[Command::Tcp, Command::Udp, Command::Packets];
const TCP_UDP: &[Command] = &[Command::Tcp, Command::Udp];
const TCP_UDP_DIAGNOSE: &[Command] = &[Command::Tcp, Command::Udp, Command::Diagnose];
const PACKETS: &[Command] = &[Command::Packets];
const DIAGNOSE: &[Command] = &[Command::Diagnose];
/// Bytes of the largest message.
const MESSAGE_BYTES_MAX: u64 = 64 << 20;
/// Bytes of an end's buffers together: beyond any cache.
const SPAN_BYTES_MAX: u64 = 8 << 30;

fn stream(params: &mut Params) -> &mut StreamParams {
    params.stream.get_or_insert_default()
}

fn socket(params: &mut Params) -> &mut SocketParams {
    params.socket.get_or_insert_default()
}

/// A switch that is on; one that is off was not asked for.
fn on(told: bool) -> Option<Value> {
    told.then_some(Value::Switch(true))
}

fn is_on(value: &Value) -> bool {
    *value == Value::Switch(true)
}

/// A choice that is not the ordinary one: trials that choose the ordinary one by name are the same
/// as those that say nothing.
fn unless(value: &Value, ordinary: &str) -> Option<String> {
    Some(value.to_string()).filter(|name| name != ordinary)
}

/// Bytes of each write, datagram or request.
pub static LENGTH: Opt<Bytes> = Opt::new(Declared {
    key: "length",
    takes: Takes::Size(1, MESSAGE_BYTES_MAX),
    help: "Bytes of each write, datagram or request",
    flags: &[
        Flag {
            on: TCP,
            long: "length",
            letter: Some('l'),
            value: "SIZE",
            help: Some("Bytes of each write and read; without it 64K, and 64 for round trips"),
            not_with: &["connect"],
            ..Flag::PLAIN
        },
        Flag {
            on: DIAGNOSE,
            long: "length",
            letter: Some('l'),
            value: "SIZE",
            help: Some("Bytes of each write and read; without it 64K"),
            ..Flag::PLAIN
        },
        Flag {
            on: UDP,
            long: "length",
            letter: Some('l'),
            value: "SIZE",
            help: Some(
                "Bytes of each datagram's payload; without it 1472, between two hosts less where a packet of the path holds less (1452 over IPv6), and 64 for round trips",
            ),
            ..Flag::PLAIN
        },
        Flag {
            on: PACKETS,
            long: "size",
            letter: Some('s'),
            value: "SIZE",
            help: Some(
                "Bytes of each frame with its check sequence, as RFC 2544 counts: 64 to 9018",
            ),
            default: Some("64"),
            takes: Some(Takes::Size(FRAME_BYTES_MIN, FRAME_BYTES_MAX)),
            ..Flag::PLAIN
        },
        Flag {
            on: RDMA,
            long: "size",
            letter: Some('s'),
            value: "SIZE",
            help: Some(
                "Bytes of each message; without it 64K, 64 for round trips, and 8 for atomic \
                 operations, which have no others",
            ),
            ..Flag::PLAIN
        },
    ],
    fits: fits::NETWORK,
    kept: Kept::Field {
        read: |params| (params.message_bytes.0 > 0).then_some(Value::Size(params.message_bytes)),
        write: |params, value, _| {
            if let Value::Size(bytes) = value {
                params.message_bytes = *bytes;
            }
        },
    },
    ..OLD
});

/// Flows at the same time.
pub static PARALLEL: Opt<u32> = Opt::new(Declared {
    key: "parallel",
    takes: Takes::Number(1, 1024),
    help: "Parallel flows",
    flags: &[
        Flag {
            on: TCP_UDP_DIAGNOSE,
            long: "parallel",
            letter: Some('P'),
            value: "N",
            default: Some("1"),
            ..Flag::PLAIN
        },
        Flag {
            on: PACKETS,
            long: "parallel",
            letter: Some('P'),
            value: "N",
            help: Some("Threads at each end, each with a flow of its own"),
            default: Some("1"),
            ..Flag::PLAIN
        },
        Flag {
            on: RDMA,
            long: "queue-pairs",
            letter: Some('q'),
            value: "N",
            help: Some("Queue pairs, each with a thread of its own"),
            default: Some("1"),
            ..Flag::PLAIN
        },
    ],
    fits: fits::NETWORK,
    kept: Kept::Field {
        read: |params| {
            // Those of a memory kernel are threads.
            let network = params.working_set_bytes.0 == 0 && params.memory.is_none();
            network.then_some(Value::Number(params.streams.into()))
        },
        write: |params, value, _| {
            if let Value::Number(flows) = value {
                params.streams = *flows as u32;
            }
        },
    },
    ..OLD
});

/// Socket buffer to ask for.
pub static WINDOW: Opt<Bytes> = Opt::new(Declared {
    key: "window",
    takes: Takes::Size(0, u64::MAX),
    help: "Socket buffer to ask for (K, M, G are powers of two); without it the system's own \
           sizing",
    flags: &[Flag {
        on: TCP_UDP_DIAGNOSE,
        long: "window",
        letter: Some('w'),
        value: "SIZE",
        ..Flag::PLAIN
    }],
    fits: fits::SOCKETS,
    kept: Kept::Field {
        read: |params| params.socket_buffer_bytes.map(Value::Size),
        write: |params, value, _| {
            if let Value::Size(bytes) = value {
                params.socket_buffer_bytes = Some(*bytes);
            }
        },
    },
    ..OLD
});

/// Pace of all flows together.
pub static BITRATE: Opt<BitsPerSecond> = Opt::new(Declared {
    key: "bitrate",
    takes: Takes::Rate,
    help: "Pace of all flows of a direction together in bits per second (K, M, G are powers of \
           ten; 0 is unlimited); TCP is paced by the kernel",
    flags: &[
        Flag {
            on: TCP_UDP,
            long: "bitrate",
            letter: Some('b'),
            value: "RATE",
            default: Some("0"),
            not_with: &["rr"],
            ..Flag::PLAIN
        },
        Flag {
            on: PACKETS,
            long: "bitrate",
            letter: Some('b'),
            value: "RATE",
            help: Some(
                "Bits of frames a second, check sequences included, in place of --rate (K, M, G \
                 are powers of ten)",
            ),
            ..Flag::PLAIN
        },
    ],
    fits: fits::SOCKETS,
    kept: Kept::Field {
        read: |params| params.rate_bps.map(|rate| Value::Rate(BitsPerSecond(rate as f64))),
        write: |params, value, _| {
            if let Value::Rate(rate) = value {
                params.rate_bps = (rate.0 > 0.0).then_some(rate.0 as u64);
            }
        },
    },
    shown: |value, _| Some(format!("paced at {value}")),
    ..OLD
});

/// Congestion control to ask for.
pub static CONGESTION: Opt<String> = Opt::new(Declared {
    key: "congestion",
    takes: Takes::Text(Form::Any),
    help: "Congestion control to ask for; what was in use is read back",
    flags: &[Flag { on: TCP, long: "congestion", letter: Some('C'), value: "NAME", ..Flag::PLAIN }],
    // A study's base may name one for all its cells: UDP leaves it out.
    fits: Fits { what: "TCP", holds: fits::SOCKETS.holds },
    kept: Kept::Field {
        read: |params| params.congestion.clone().map(Value::Text),
        write: |params, value, _| params.congestion = Some(value.to_string()),
    },
    ..OLD
});

/// How bytes are handed to the kernel.
pub static SENDER: Opt<String> = Opt::new(Declared {
    key: "sender",
    takes: Takes::Text(Form::Sender),
    help: "How bytes are handed to the kernel",
    flags: &[
        Flag { on: TCP, long: "sender", value: "HOW", default: Some(calls::WRITE), ..Flag::PLAIN },
        Flag {
            on: UDP,
            long: "sender",
            value: "HOW",
            help: Some("How datagrams are handed to the kernel"),
            default: Some(calls::SEND),
            ..Flag::PLAIN
        },
        Flag {
            on: PACKETS,
            long: "sender",
            value: "HOW",
            help: Some(
                "How packets are sent: xdp, af-xdp and ring are raw, from --nic alone; without it \
                 sendmmsg, between namespaces xdp, and af-xdp with --imix",
            ),
            ..Flag::PLAIN
        },
    ],
    fits: fits::SOCKET_STREAMS,
    kept: Kept::Field {
        read: |params| params.stream.as_ref()?.sender.clone().map(Value::Text),
        write: |params, value, scene| {
            let ordinary: &[&str] = match scene.workload {
                Workload::Stream(Transport::Tcp) => &[calls::WRITE],
                Workload::Stream(_) => &[calls::SEND],
                // Nothing to choose from: the ordinary way of either transport.
                _ => &[calls::WRITE, calls::SEND],
            };
            let name = value.to_string();
            stream(params).sender = (!ordinary.contains(&name.as_str())).then_some(name);
        },
    },
    ..OLD
});

/// How bytes are taken from the kernel.
pub static RECEIVER: Opt<String> = Opt::new(Declared {
    key: "receiver",
    takes: Takes::Text(Form::Receiver),
    help: "How bytes are taken from the kernel; truncate drops them there, splice moves them away \
           unseen",
    flags: &[
        Flag { on: TCP, long: "receiver", value: "HOW", default: Some(calls::RECV), ..Flag::PLAIN },
        Flag {
            on: TCP,
            long: "truncate",
            help: Some(
                "The same as --receiver truncate: beside an ordinary run it shows the cost of \
                the copy",
            ),
            means: Some(StreamParams::TRUNCATE),
            not_with: &["receiver"],
            ..Flag::PLAIN
        },
        Flag {
            on: UDP,
            long: "receiver",
            value: "HOW",
            help: Some("How datagrams are taken from the kernel"),
            default: Some(calls::RECV),
            ..Flag::PLAIN
        },
        Flag {
            on: PACKETS,
            long: "receiver",
            value: "HOW",
            help: Some(
                "How packets are received: xdp counts in the driver and drops, af-xdp and ring are \
                 raw; without it recvmmsg, between namespaces xdp",
            ),
            ..Flag::PLAIN
        },
    ],
    fits: fits::SOCKET_STREAMS,
    kept: Kept::Field {
        read: |params| params.stream.as_ref()?.receiver.clone().map(Value::Text),
        write: |params, value, _| stream(params).receiver = unless(value, calls::RECV),
    },
    ..OLD
});

/// How threads wait for bytes.
pub static WAIT: Opt<String> = Opt::new(Declared {
    key: "wait",
    takes: Takes::Word(&["block", "busy-poll", "spin"]),
    help: "How threads of both ends wait for bytes",
    flags: &[
        Flag { on: TCP_UDP, long: "wait", value: "HOW", default: Some("block"), ..Flag::PLAIN },
        Flag {
            on: RDMA,
            long: "events",
            letter: Some('e'),
            help: Some("Block until something completes, instead of busy-polling"),
            means: Some("block"),
            ..Flag::PLAIN
        },
    ],
    fits: fits::NETWORK,
    kept: Kept::Field {
        read: |params| Some(Value::Text(params.socket.as_ref()?.wait.as_ref()?.to_string())),
        write: |params, value, _| socket(params).wait = Wait::told(&value.to_string()),
    },
    ..OLD
});

/// Span of an end's buffers: `hot`, `cold` or a size.
pub static BUFFER: Opt<String> = Opt::new(Declared {
    key: "buffer",
    takes: Takes::Span(SPAN_BYTES_MAX),
    help: "Buffers of each end: hot (one message, over and over), cold (twice the larger \
           last-level cache), or a size that all flows go through together",
    flags: &[
        Flag {
            on: TCP,
            long: "buffer",
            value: "HOT|COLD|SIZE",
            default: Some("hot"),
            ..Flag::PLAIN
        },
        Flag {
            on: RDMA,
            long: "buffer",
            value: "HOT|COLD|SIZE",
            help: Some(
                "Buffers of each end: hot (one message, over and over), cold (twice the larger \
                 last-level cache), or a size that all queue pairs go through together",
            ),
            default: Some("hot"),
            ..Flag::PLAIN
        },
    ],
    fits: fits::SPANS,
    kept: Kept::Field {
        read: |params| params.stream.as_ref()?.span_bytes.map(Value::Size),
        write: |params, value, scene| {
            stream(params).span_bytes = match value {
                Value::Text(text) if text == "cold" => {
                    Some(Bytes((2 * scene.cache.0).max(Bytes::mib(64).0)))
                }
                // Hot is no size.
                Value::Text(text) => text.parse().ok(),
                Value::Size(bytes) => Some(*bytes),
                _ => None,
            };
        },
    },
    ..OLD
});

/// Whether the receiver reads every byte once more.
pub static TOUCH: Opt<bool> = Opt::new(Declared {
    key: "touch",
    help: "The receiver reads every byte once more on receipt",
    flags: &[Flag { on: TCP, long: "touch", ..Flag::PLAIN }],
    fits: fits::TCP_STREAMS,
    kept: Kept::Field {
        read: |params| on(params.stream.as_ref()?.touch),
        write: |params, value, _| stream(params).touch = is_on(value),
    },
    shown: |_, _| Some("read again on receipt".to_owned()),
    ..OLD
});

/// Whether every byte that arrives is compared with what was sent.
pub static VERIFY: Opt<bool> = Opt::new(Declared {
    key: "verify",
    help: "Compare every byte that arrives with what was sent",
    flags: &[
        Flag { on: TCP_UDP, long: "verify", ..Flag::PLAIN },
        Flag {
            on: RDMA,
            long: "verify",
            help: Some("Compare what arrives with what was sent"),
            ..Flag::PLAIN
        },
    ],
    fits: fits::COMPARED,
    kept: Kept::Field {
        read: |params| on(params.stream.as_ref()?.verify),
        write: |params, value, _| stream(params).verify = is_on(value),
    },
    ..OLD
});

/// Whether the end that listens sends.
pub static REVERSE: Opt<bool> = Opt::new(Declared {
    key: "reverse",
    help: "The peer sends, this host receives; with several peers a fan-in",
    flags: &[
        Flag {
            on: TCP_UDP,
            long: "reverse",
            letter: Some('R'),
            alias: Some("fan-in"),
            ..Flag::PLAIN
        },
        Flag {
            on: DIAGNOSE,
            long: "reverse",
            letter: Some('R'),
            help: Some("The peer sends, this host receives"),
            ..Flag::PLAIN
        },
        Flag {
            on: PACKETS,
            long: "reverse",
            letter: Some('R'),
            help: Some("The peer sends, this host receives"),
            ..Flag::PLAIN
        },
        Flag {
            on: RDMA,
            long: "reverse",
            help: Some("The peer asks, this host answers"),
            ..Flag::PLAIN
        },
    ],
    fits: fits::STREAMS,
    kept: Kept::Field {
        read: |params| on(params.is_reverse()),
        write: |params, value, _| stream(params).reverse = is_on(value),
    },
    shown: |_, _| Some("from the peer to here".to_owned()),
    ..OLD
});

pub static BIDIRECTIONAL: Opt<bool> = Opt::new(Declared {
    key: "bidirectional",
    help: "As many flows again in the other direction, at the same time",
    flags: &[
        Flag {
            on: TCP_UDP_PACKETS,
            long: "bidirectional",
            alias: Some("bidir"),
            not_with: &["reverse"],
            ..Flag::PLAIN
        },
        Flag {
            on: RDMA,
            long: "bidirectional",
            letter: Some('b'),
            alias: Some("bidir"),
            help: Some("As many queue pairs again in the other direction, at the same time"),
            not_with: &["reverse"],
            ..Flag::PLAIN
        },
    ],
    fits: fits::STREAMS,
    kept: Kept::Field {
        read: |params| on(params.is_bidirectional()),
        write: |params, value, _| stream(params).bidirectional = is_on(value),
    },
    shown: |_, _| Some("both ways at once".to_owned()),
    ..OLD
});

/// Nagle's algorithm: `on` or `off`.
pub static NAGLE: Opt<String> = Opt::new(Declared {
    key: "nagle",
    takes: Takes::Word(&["on", "off"]),
    help: "Switch Nagle's algorithm, which waits for more to send, on or off; without it on for \
           streams and off for round trips",
    flags: &[Flag { on: TCP, long: "nagle", value: "on|off", ..Flag::PLAIN }],
    fits: fits::TCP,
    kept: Kept::Field {
        read: |params| {
            let off = params.socket.as_ref()?.no_delay?;
            Some(Value::Text(if off { "off" } else { "on" }.to_owned()))
        },
        write: |params, value, _| socket(params).no_delay = Some(value.to_string() == "off"),
    },
    shown: |value, _| Some(format!("Nagle's algorithm {value}")),
    ..OLD
});

/// Largest segment to ask for, in bytes: Linux takes 88 to 32767 (tcp(7)).
pub static MSS: Opt<u32> = Opt::new(Declared {
    key: "mss",
    takes: Takes::Number(88, 32_767),
    help: "Largest segment to ask for",
    flags: &[Flag { on: TCP, long: "mss", letter: Some('M'), value: "BYTES", ..Flag::PLAIN }],
    fits: fits::TCP,
    kept: Kept::Field {
        read: |params| Some(Value::Number(params.socket.as_ref()?.mss_bytes?.into())),
        write: |params, value, _| {
            if let Value::Number(bytes) = value {
                socket(params).mss_bytes = Some(*bytes as u32);
            }
        },
    },
    shown: |value, used| {
        let used = used.mss_bytes.map_or("unknown".to_owned(), |mss| format!("{mss} B"));
        Some(format!("segments of {value} B asked for, {used} at first"))
    },
    ..OLD
});

/// Differentiated services code point: six bits (RFC 2474).
pub static DSCP: Opt<u8> = Opt::new(Declared {
    key: "dscp",
    takes: Takes::NamedNumber(0, 63, CODE_POINTS),
    help: "Differentiated services code point of all packets, a number or a name: EF, AF41, CS1",
    flags: &[Flag { on: TCP_UDP, long: "dscp", value: "POINT", ..Flag::PLAIN }],
    fits: fits::SOCKETS,
    kept: Kept::Field {
        read: |params| Some(Value::Number(params.socket.as_ref()?.dscp?.into())),
        write: |params, value, _| {
            if let Value::Number(point) = value {
                socket(params).dscp = Some(*point as u8);
            }
        },
    },
    shown: |value, _| Some(format!("DSCP {value}")),
    ..OLD
});

/// Whether ends acknowledge at once what they have read.
pub static QUICKACK: Opt<bool> = Opt::new(Declared {
    key: "quickack",
    help: "Ends acknowledge at once what they have read, and do not wait for more to acknowledge \
           or for something to send (TCP_QUICKACK, set again after each read)",
    flags: &[Flag { on: TCP, long: "quickack", not_with: &["connect"], ..Flag::PLAIN }],
    fits: fits::TCP_MESSAGES,
    kept: Kept::Key,
    shown: |_, _| Some("acknowledged at once (TCP_QUICKACK)".to_owned()),
    capability: Some("quickack"),
    ..Declared::PLAIN
});

/// Bytes of a flow that may wait unsent before its program has to wait.
pub static UNSENT: Opt<Bytes> = Opt::new(Declared {
    key: "notsent_lowat",
    takes: Takes::Size(1, i32::MAX as u64),
    help: "Take more bytes from the program only while fewer than this many of a flow wait \
    unsent (TCP_NOTSENT_LOWAT): a shorter own queue, for more calls",
    flags: &[Flag {
        on: TCP,
        long: "notsent-lowat",
        value: "SIZE",
        not_with: &["connect"],
        ..Flag::PLAIN
    }],
    fits: fits::TCP_MESSAGES,
    kept: Kept::Key,
    shown: |value, _| Some(format!("{value} unsent at most (TCP_NOTSENT_LOWAT)")),
    capability: Some("notsent_lowat"),
    ..Declared::PLAIN
});
