//! `tcp-send-buffers`: can a TCP sender keep a fast path full?
//!
//! What is sent and not yet acknowledged stays in the send buffer: below 1 MiB, a round trip of 1
//! ms allows no more than 8 Gb/s, less the kernel's own bookkeeping (tcp(7), tcp_wmem).

use crate::measured::Cell;
use crate::setting::{Trouble, below, judge as setting};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

/// Whether the largest send buffer is small.
pub static RULE: Rule = Rule {
    name: "tcp-send-buffers",
    asks: "Can a TCP sender keep a fast path full?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "net.ipv4.tcp_wmem", |value| {
        below(value.split(' ').nth(2), 1 << 20, |largest| Trouble {
            says: format!("A TCP sender may hold {largest} B at most until they are acknowledged"),
            remedy: "sysctl -w net.ipv4.tcp_wmem=\"4096 16384 4194304\"".into(),
        })
    })
}

/// What was under way may be below the largest buffer by the kernel's own bookkeeping, and above it
/// by a message.
const FULL: std::ops::Range<f64> = 0.4..1.3;
/// From so many times the largest buffer on it held nothing. Linux 6.18 queued up to eleven times
/// as much as a buffer of 16 KiB, which all the same was what held TCP back over 40 ms.
pub const BEYOND: f64 = 16.0;

/// What a flow had under way, rate x round trip, in largest send buffers.
pub fn times_full(cell: &Cell<'_>) -> Option<f64> {
    let largest = largest_bytes(cell)?;
    let flows = f64::from(cell.trial.params.streams.max(1));
    let (rates, trips) = cell.rates().zip(cell.trips())?;
    let bytes = rates.middle / 8.0 * trips.least_ns / 1e9 / flows;
    cell.is_tcp_stream().then(|| bytes / largest)
}

/// Whether what was under way is about what the largest buffer and a message let travel.
pub fn is_full(cell: &Cell<'_>, times: f64) -> bool {
    let message = cell.trial.params.message_bytes.0 as f64;
    let with_message = largest_bytes(cell).map_or(1.0, |largest| 1.0 + message / largest);
    times >= FULL.start && times < FULL.end.max(with_message)
}

/// Whether a message does not fit into the largest send buffer.
pub fn is_below_message(cell: &Cell<'_>) -> bool {
    let message = cell.trial.params.message_bytes.0 as f64;
    largest_bytes(cell).is_some_and(|largest| largest < message)
}

fn largest_bytes(cell: &Cell<'_>) -> Option<f64> {
    let bytes = cell.sender()?.largest_bytes("net.ipv4.tcp_wmem")?;
    (bytes > 0).then_some(bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn planted_values_are_found_and_healthy_ones_are_not() {
        assert!(is_found(&of_setting(&RULE, "net.ipv4.tcp_wmem", "4096 16384 65536")));
        for value in ["4096 16384 4194304", "4096 65536 16777216"] {
            assert!(is_clear(&of_setting(&RULE, "net.ipv4.tcp_wmem", value)), "{value}");
        }
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
