//! `receive-autotuning`: does the kernel size receive buffers by itself?
//!
//! With `tcp_moderate_rcvbuf` off (ip-sysctl, Linux documentation) every receiver that asks for no
//! size stays at the default, which is too small for fast or long paths.

use crate::setting::{Trouble, judge as setting, off};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

pub static RULE: Rule = Rule {
    name: "receive-autotuning",
    asks: "Does the kernel size receive buffers by itself?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "net.ipv4.tcp_moderate_rcvbuf", |value| {
        off(value, || Trouble {
            says: "Receive buffers do not grow by themselves".into(),
            remedy: "sysctl -w net.ipv4.tcp_moderate_rcvbuf=1, or give every program its size"
                .into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn the_planted_value_is_found_and_others_are_not() {
        let of = |value: &str| of_setting(&RULE, "net.ipv4.tcp_moderate_rcvbuf", value);
        assert!(is_found(&of("0")), "0");
        assert!(is_clear(&of("1")), "1");
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
