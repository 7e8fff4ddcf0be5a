//! `tcp-send-buffers`: can a TCP sender keep a fast path full?
//!
//! What is sent and not yet acknowledged stays in the send buffer: below 1 MiB, a round trip of 1
//! ms allows no more than 8 Gb/s, less the kernel's own bookkeeping (tcp(7), tcp_wmem).

use crate::setting::{Trouble, below, judge as setting};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

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
