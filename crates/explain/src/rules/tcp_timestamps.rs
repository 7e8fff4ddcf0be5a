//! `tcp-timestamps`: can TCP measure round trips and tell old segments?
//!
//! Timestamps (RFC 7323, section 3) cost 12 bytes a segment and save from wrapped sequence numbers,
//! which 10 Gb/s reach in 3.4 seconds.

use crate::setting::{Trouble, judge as setting, off};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

pub static RULE: Rule = Rule {
    name: "tcp-timestamps",
    asks: "Can TCP measure round trips and recognise old segments?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "net.ipv4.tcp_timestamps", |value| {
        off(value, || Trouble {
            says:
                "TCP timestamps are off: old segments cannot be told from new ones at these rates"
                    .into(),
            remedy: "sysctl -w net.ipv4.tcp_timestamps=1".into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn the_planted_value_is_found_and_others_are_not() {
        let of = |value: &str| of_setting(&RULE, "net.ipv4.tcp_timestamps", value);
        assert!(is_found(&of("0")), "0");
        for value in ["1", "2"] {
            assert!(is_clear(&of(value)), "{value}");
        }
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
