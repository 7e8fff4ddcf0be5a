//! `udp-buffers`: can a program ask for a large enough UDP buffer?
//!
//! UDP has no flow control: what comes while the program is away must fit the socket's buffer.
//! Below the kernel's own default (212,992 bytes) even a millisecond of 2 Gb/s does not.

use crate::setting::{Trouble, below, judge as setting};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

pub static RULE: Rule = Rule {
    name: "udp-buffers",
    asks: "Can a program ask for a large enough UDP buffer?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "net.core.rmem_max", |value| {
        below(Some(value), 212_992, |_| Trouble {
            says: format!("No socket may have more than {value} B of receive buffer"),
            remedy: "sysctl -w net.core.rmem_max=16777216, and have the program ask for it".into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn the_planted_value_is_found_and_others_are_not() {
        let of = |value: &str| of_setting(&RULE, "net.core.rmem_max", value);
        assert!(is_found(&of("65536")), "65536");
        for value in ["212992", "4194304"] {
            assert!(is_clear(&of(value)), "{value}");
        }
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
