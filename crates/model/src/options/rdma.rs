//! What RDMA can be told. The letters are those of perftest, where it has one.

use super::Params;
use super::{Command, Declared, Flag, Form, Kept, Opt, Section, Takes, Unset, Value, fits};
use crate::Bytes;
use crate::rdma::{RdmaParams, RdmaPlace, RdmaService};

const OLD: Declared =
    Declared { section: Section::Rdma, fits: fits::RDMA, unset: Unset::Null, ..Declared::PLAIN };
const FLAG: Flag = Flag { on: &[Command::Rdma], ..Flag::PLAIN };
/// Pages that buffers can have.
pub const PAGE_SIZES: &[&str] = &["4K", "transparent", "2M", "1G"];
/// Sorts of identifiers that ports can have.
pub const GIDS: &[&str] = &["infiniband", "rocev1", "rocev2"];
/// The most requests on a queue pair at once.
const DEPTH_MAX: u64 = 16_384;
/// The most bytes inside a request that are asked of a device.
const INLINE_BYTES_MAX: u64 = 4096;

fn rdma(params: &mut Params) -> &mut RdmaParams {
    params.rdma.get_or_insert_default()
}

fn number<T: Into<u64>>(held: Option<T>) -> Option<Value> {
    held.map(|number| Value::Number(number.into()))
}

fn whole(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => u32::try_from(*number).ok(),
        _ => None,
    }
}

fn byte(value: &Value) -> Option<u8> {
    whole(value).and_then(|number| u8::try_from(number).ok())
}

/// The word for this host and the word for the peer: with a comma one of each, without one for
/// both, since hosts that are built alike name devices alike.
fn pair(value: &Value) -> (Option<String>, Option<String>) {
    let text = value.to_string();
    match text.split_once(',') {
        Some((here, there)) => (some(here), some(there)),
        None => (some(&text), some(&text)),
    }
}

fn some(word: &str) -> Option<String> {
    (!word.trim().is_empty()).then(|| word.trim().to_owned())
}

/// The places of this host's end and of the peer's. When the peer asks, it is the sender.
fn ends(params: &mut Params) -> (&mut RdmaPlace, &mut RdmaPlace) {
    let reverse = params.is_reverse();
    let RdmaParams { sender, receiver, .. } = rdma(params);
    if reverse { (receiver, sender) } else { (sender, receiver) }
}

/// What both ends were told, as one text; `None` where neither was.
fn both(params: &Params, word: fn(&RdmaPlace) -> Option<String>) -> Option<Value> {
    let rdma = params.rdma.as_ref()?;
    let words = [word(&rdma.sender), word(&rdma.receiver)];
    let told = words.iter().any(Option::is_some);
    told.then(|| Value::Text(words.map(Option::unwrap_or_default).join(",")))
}

/// Devices here and, after a comma, at the peer: `LOCAL[,REMOTE]`.
pub static DEVICE: Opt<String> = Opt::new(Declared {
    key: "device",
    takes: Takes::Text(Form::Any),
    help: "Device here, and after a comma at the peer; without it the one that has the end's \
           address",
    flags: &[Flag { long: "device", letter: Some('d'), value: "LOCAL[,REMOTE]", ..FLAG }],
    kept: Kept::Field {
        read: |params| both(params, |place| place.device.clone()),
        write: |params, value, _| {
            let (here, there) = ends(params);
            (here.device, there.device) = pair(value);
        },
    },
    ..OLD
});

/// Port of both devices, from 1.
pub static IB_PORT: Opt<u8> = Opt::new(Declared {
    key: "ib_port",
    takes: Takes::Number(0, 255),
    help: "Port of the device, from 1; without it the first that is up",
    flags: &[Flag { long: "ib-port", letter: Some('i'), value: "N", ..FLAG }],
    kept: Kept::Field {
        read: |params| {
            let rdma = params.rdma.as_ref()?;
            number(rdma.sender.port.or(rdma.receiver.port))
        },
        write: |params, value, _| {
            let (here, there) = ends(params);
            (here.port, there.port) = (byte(value), byte(value));
        },
    },
    ..OLD
});

/// Places in the tables of identifiers, `LOCAL[,REMOTE]`.
pub static GID_INDEX: Opt<String> = Opt::new(Declared {
    key: "gid_index",
    takes: Takes::BytePair,
    help: "Place in the table of identifiers, here and after a comma at the peer; without it the \
           end's own address, over RoCE v2 before v1",
    flags: &[Flag { long: "gid-index", letter: Some('x'), value: "LOCAL[,REMOTE]", ..FLAG }],
    kept: Kept::Field {
        read: |params| both(params, |place| place.gid_index.map(|index| index.to_string())),
        write: |params, value, _| {
            let (here, there) = ends(params);
            let (own, peer) = pair(value);
            (here.gid_index, there.gid_index) = (index(own), index(peer));
        },
    },
    ..OLD
});

/// Sort of identifier that the ports must have: of InfiniBand, or of a version of RoCE.
pub static GID: Opt<String> = Opt::new(Declared {
    key: "gid",
    section: Section::Rdma,
    takes: Takes::Word(GIDS),
    help: "Sort of identifier, at both ends: of a port of InfiniBand, or of RoCE v1 or v2 on \
           Ethernet; a port that has none fails the run. Without it what the port has, RoCE v2 \
           before v1",
    flags: &[Flag { long: "gid", value: "SORT", ..FLAG }],
    fits: fits::RDMA,
    kept: Kept::Key,
    shown: |value, _| Some(format!("GID asked for: {value}")),
    capability: Some("gid"),
    ..Declared::PLAIN
});

fn index(word: Option<String>) -> Option<u8> {
    word.and_then(|word| word.parse().ok())
}

fn word(of: &impl std::fmt::Display) -> Value {
    Value::Text(of.to_string())
}

/// How queue pairs find each other: `cm` or `exchange`.
pub static CONNECTION: Opt<String> = Opt::new(Declared {
    key: "connection",
    takes: Takes::Word(&["cm", "exchange"]),
    help: "How queue pairs find each other: through the connection manager, or by an exchange \
    between the ends",
    flags: &[Flag {
        long: "rdma-cm",
        letter: Some('R'),
        help: Some("Connect through the connection manager; iWARP always does"),
        means: Some("cm"),
        ..FLAG
    }],
    kept: Kept::Field {
        read: |params| params.rdma.as_ref()?.connection.as_ref().map(word),
        write: |params, value, _| rdma(params).connection = Some(value.to_string().as_str().into()),
    },
    ..OLD
});

/// Service of queue pairs: `rc`, `uc` or `ud`.
pub static SERVICE: Opt<String> = Opt::new(Declared {
    key: "service",
    takes: Takes::WordOfAnyCase(&["rc", "uc", "ud"]),
    help: "Service: reliable connection, unreliable connection, unreliable datagrams",
    flags: &[Flag {
        long: "service",
        letter: Some('c'),
        value: "NAME",
        default: Some("rc"),
        ..FLAG
    }],
    kept: Kept::Field {
        read: |params| params.rdma.as_ref()?.service.as_ref().map(word),
        write: |params, value, _| {
            let service = RdmaService::from(value.to_string().to_lowercase().as_str());
            let is_default = service == RdmaService::ReliableConnection;
            rdma(params).service = Some(service).filter(|_| !is_default);
        },
    },
    ..OLD
});

/// Outstanding requests on a queue pair.
pub static DEPTH: Opt<u32> = Opt::new(Declared {
    key: "depth",
    takes: Takes::Number(1, DEPTH_MAX),
    help: "Outstanding requests on a queue pair; without it 128, and less where they hold more \
           than 25 MiB",
    flags: &[Flag { long: "depth", letter: Some('T'), value: "N", ..FLAG }],
    kept: Kept::Field {
        read: |params| number(params.rdma.as_ref()?.depth),
        write: |params, value, _| rdma(params).depth = whole(value),
    },
    ..OLD
});

/// Requests posted with one call.
pub static POST_LIST: Opt<u32> = Opt::new(Declared {
    key: "post_list",
    takes: Takes::Number(1, DEPTH_MAX),
    help: "Requests posted with one call; without it 1",
    flags: &[Flag { long: "post-list", letter: Some('l'), value: "N", ..FLAG }],
    kept: Kept::Field {
        read: |params| number(params.rdma.as_ref()?.post_list),
        write: |params, value, _| rdma(params).post_list = whole(value),
    },
    ..OLD
});

/// Ask for a completion every N requests.
pub static SIGNAL_EVERY: Opt<u32> = Opt::new(Declared {
    key: "signal_every",
    takes: Takes::Number(0, u32::MAX as u64),
    help: "Ask for a completion every N requests; without it a quarter of the depth, and \
           a sixteenth of it for messages beyond 8 KiB",
    flags: &[Flag { long: "signal-every", letter: Some('Q'), value: "N", ..FLAG }],
    kept: Kept::Field {
        read: |params| number(params.rdma.as_ref()?.signal_every),
        write: |params, value, _| rdma(params).signal_every = whole(value),
    },
    ..OLD
});

/// Bytes up to which messages are copied into the request.
pub static INLINE: Opt<u32> = Opt::new(Declared {
    key: "inline",
    takes: Takes::Number(0, INLINE_BYTES_MAX),
    help: "Messages up to this many bytes are copied into the request; without it 0, and 64 for \
           round trips where the device takes it",
    flags: &[Flag { long: "inline", letter: Some('I'), value: "BYTES", ..FLAG }],
    kept: Kept::Field {
        read: |params| number(params.rdma.as_ref()?.inline_bytes),
        write: |params, value, _| rdma(params).inline_bytes = whole(value),
    },
    ..OLD
});

/// Bytes of the largest packet.
pub static PATH_MTU: Opt<u32> = Opt::new(Declared {
    key: "path_mtu",
    takes: Takes::OneNumber(&[256, 512, 1024, 2048, 4096]),
    help: "Largest packet: 256, 512, 1024, 2048, 4096; without it that of the port",
    flags: &[Flag { long: "mtu", letter: Some('m'), value: "BYTES", ..FLAG }],
    kept: Kept::Field {
        read: |params| number(params.rdma.as_ref()?.path_mtu_bytes),
        write: |params, value, _| rdma(params).path_mtu_bytes = whole(value),
    },
    ..OLD
});

/// Service level: four bits (InfiniBand).
pub static SERVICE_LEVEL: Opt<u8> = Opt::new(Declared {
    key: "service_level",
    takes: Takes::Number(0, 15),
    help: "Service level (InfiniBand)",
    flags: &[Flag { long: "service-level", letter: Some('S'), value: "N", ..FLAG }],
    kept: Kept::Field {
        read: |params| number(params.rdma.as_ref()?.service_level),
        write: |params, value, _| rdma(params).service_level = byte(value),
    },
    shown: |value, _| Some(format!("service level {value}")),
    ..OLD
});

/// Traffic class: a byte (RoCE).
pub static TRAFFIC_CLASS: Opt<u8> = Opt::new(Declared {
    key: "traffic_class",
    takes: Takes::Number(0, 255),
    help: "Traffic class (RoCE)",
    flags: &[Flag { long: "traffic-class", value: "N", ..FLAG }],
    kept: Kept::Field {
        read: |params| number(params.rdma.as_ref()?.traffic_class),
        write: |params, value, _| rdma(params).traffic_class = byte(value),
    },
    shown: |value, _| Some(format!("traffic class {value}")),
    ..OLD
});

/// Whether the NIC's writes may pass each other on PCIe.
pub static RELAXED_ORDERING: Opt<bool> = Opt::new(Declared {
    key: "relaxed_ordering",
    help: "The NIC's writes to memory may pass each other on PCIe",
    flags: &[Flag { long: "relaxed-ordering", ..FLAG }],
    kept: Kept::Field {
        read: |params| params.rdma.as_ref()?.relaxed_ordering.then_some(Value::Switch(true)),
        write: |params, value, _| {
            rdma(params).relaxed_ordering = *value == Value::Switch(true);
        },
    },
    shown: |_, _| Some("relaxed ordering asked for".to_owned()),
    unset: Unset::False,
    ..OLD
});

/// Pages of the buffers.
pub static PAGES: Opt<String> = Opt::new(Declared {
    key: "pages",
    takes: Takes::Text(Form::Any),
    help: "Pages of the buffers: 4K, transparent, 2M, 1G",
    flags: &[Flag { long: "pages", value: "SIZE", takes: Some(Takes::Word(PAGE_SIZES)), ..FLAG }],
    kept: Kept::Field {
        read: |params| params.rdma.as_ref()?.pages.clone().map(Value::Text),
        write: |params, value, _| rdma(params).pages = Some(value.to_string()),
    },
    ..OLD
});

/// Library: `verbs` or `libfabric`.
pub static VIA: Opt<String> = Opt::new(Declared {
    key: "via",
    takes: Takes::Word(&["verbs", "libfabric"]),
    help: "Library: queue pairs of verbs, or endpoints of libfabric (write, read, tagged send)",
    flags: &[Flag { long: "via", value: "LIBRARY", default: Some("verbs"), ..FLAG }],
    kept: Kept::Field {
        read: |params| params.rdma.as_ref()?.via.clone().map(Value::Text),
        write: |params, value, _| {
            rdma(params).via = Some(value.to_string()).filter(|via| via != "verbs");
        },
    },
    ..OLD
});

/// Provider of libfabric.
pub static PROVIDER: Opt<String> = Opt::new(Declared {
    key: "provider",
    takes: Takes::Text(Form::Any),
    help: "Provider of libfabric, such as tcp, shm, verbs, efa, opx, psm3, cxi; without it the \
           library's first. tcp and shm do in software what NICs do elsewhere",
    flags: &[Flag { long: "provider", value: "NAME", ..FLAG }],
    kept: Kept::Field {
        read: |params| params.rdma.as_ref()?.provider.clone().map(Value::Text),
        write: |params, value, _| rdma(params).provider = Some(value.to_string()),
    },
    ..OLD
});

/// Size of every other message of a stream.
pub static ALTERNATE: Opt<Bytes> = Opt::new(Declared {
    key: "alternate",
    takes: Takes::Size(1, u32::MAX as u64),
    help: "Size of every other message, at most that of the first: small among large ones",
    flags: &[Flag { long: "alternate", value: "SIZE", ..FLAG }],
    kept: Kept::Key,
    capability: Some("alternate"),
    shown: |value, _| Some(format!("every other message of {value}")),
    section: Section::Rdma,
    fits: fits::RDMA_STREAMS,
    ..Declared::PLAIN
});
