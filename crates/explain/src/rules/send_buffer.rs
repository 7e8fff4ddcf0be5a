//! `send-buffer`: did the sender's buffer hold TCP back?
//!
//! What is not acknowledged yet must stay in the send buffer. The kernel counts the time in which
//! the buffer was full and the network would have taken more (`tcpi_sndbuf_limited`,
//! include/uapi/linux/tcp.h). With a CPU full at either end the buffer is not the cause.

use crate::measured::{Cell, Limit, Why, judge_limit};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::Verdict;

/// Whether this buffer held TCP back.
pub static RULE: Rule = Rule {
    name: "send-buffer",
    asks: "Did the sender's buffer hold TCP back?",
    of_host: false,
    judge,
};

const LIMIT: Limit = Limit {
    counter: keys::LIMITED_BY_BUFFER,
    means: "the send buffer was full and the window open",
    whose: "sender",
    why,
    buffer: |summary| summary.settings.senders().filter_map(|end| end.send_buffer_bytes).min(),
};

const BUFFERS: &str = "net.ipv4.tcp_wmem";

fn judge(case: &Case<'_>) -> Verdict {
    judge_limit(case, &RULE, &LIMIT)
}

/// What keeps the buffer small, where no size was asked for.
pub fn why(cell: &Cell<'_>) -> Why {
    let end = cell.sender();
    let at = end.map_or("at the sender", |end| end.at);
    let most_bytes = end.and_then(|end| end.largest_bytes(BUFFERS));
    Why::at_its_largest(BUFFERS, at, most_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::is_found_by_its_time;

    #[test]
    fn time_at_the_limit_is_found_and_a_busy_end_is_another_matter() {
        is_found_by_its_time(&RULE, LIMIT.counter);
    }
}
