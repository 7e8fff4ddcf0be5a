//! What round trips can be told.

use super::{Command, Declared, Flag, Kept, Opt, Takes, Unset, Value, fits};
use super::{Params, TripParams};
use crate::Bytes;

const OLD: Declared = Declared { fits: fits::TRIPS, unset: Unset::Null, ..Declared::PLAIN };
const FLAG: Flag = Flag { on: &[Command::Tcp, Command::Udp], needs: Some("rr"), ..Flag::PLAIN };
/// Requests a second over all flows: one in a hundred nanoseconds.
const REQUESTS_MAX: u64 = 10_000_000;

fn trip(params: &mut Params) -> &mut TripParams {
    params.trip.get_or_insert_default()
}

/// Bytes of each response.
pub static RESPONSE: Opt<Bytes> = Opt::new(Declared {
    key: "response",
    takes: Takes::Size(0, 64 << 20),
    help: "Bytes of each response; without it those of the request",
    flags: &[Flag { long: "response", value: "SIZE", ..FLAG }],
    kept: Kept::Field {
        read: |params| params.trip.as_ref()?.response_bytes.map(Value::Size),
        write: |params, value, _| {
            if let Value::Size(bytes) = value {
                trip(params).response_bytes = Some(*bytes);
            }
        },
    },
    shown: |value, _| Some(format!("{value} responses")),
    ..OLD
});

/// Requests a second, open loop.
pub static PER_SECOND: Opt<u64> = Opt::new(Declared {
    key: "per_second",
    takes: Takes::Number(1, REQUESTS_MAX),
    help: "Open loop: this many requests a second over all flows, each timed from when it was due",
    flags: &[Flag { long: "per-second", value: "N", ..FLAG }],
    kept: Kept::Field {
        read: |params| params.trip.as_ref()?.per_second.map(Value::Number),
        write: |params, value, _| {
            if let Value::Number(requests) = value {
                trip(params).per_second = Some(*requests);
            }
        },
    },
    shown: |value, _| Some(format!("open loop, {value} due a second")),
    ..OLD
});

/// Requests that do not wait for the answers of those before them.
pub static OVERLAP: Opt<bool> = Opt::new(Declared {
    key: "overlap",
    help: "A request leaves when it is due, also while earlier ones are unanswered, and each round \
           trip is kept with its time; needs per_second",
    fits: fits::TRIPS,
    kept: Kept::Key,
    shown: |_, _| Some("each request when it is due".to_owned()),
    capability: Some("overlap"),
    ..Declared::PLAIN
});
