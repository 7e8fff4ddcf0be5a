//! `window-scaling`: is TCP held to windows of 64 KiB?
//!
//! Without window scaling (RFC 7323, section 2) no more than 64 KiB can be on the way: 52 Mb/s at a
//! round trip of 10 ms, whatever the link is.

use crate::setting::{Trouble, judge as setting, off};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

pub static RULE: Rule = Rule {
    name: "window-scaling",
    asks: "Is TCP held to windows of 64 KiB?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "net.ipv4.tcp_window_scaling", |value| {
        off(value, || Trouble {
            says: "TCP may have no more than 64 KiB in flight: window scaling is off".into(),
            remedy: "sysctl -w net.ipv4.tcp_window_scaling=1".into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn the_planted_value_is_found_and_others_are_not() {
        let of = |value: &str| of_setting(&RULE, "net.ipv4.tcp_window_scaling", value);
        assert!(is_found(&of("0")), "0");
        assert!(is_clear(&of("1")), "1");
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
