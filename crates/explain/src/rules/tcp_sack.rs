//! `tcp-sack`: does one lost segment cost a whole window?
//!
//! Without selective acknowledgement (RFC 2018) a sender learns of one loss a round trip, and sends
//! again what had arrived.

use crate::setting::{Trouble, judge as setting, off};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

pub static RULE: Rule = Rule {
    name: "tcp-sack",
    asks: "Does one lost segment cost a whole window?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "net.ipv4.tcp_sack", |value| {
        off(value, || Trouble {
            says: "Selective acknowledgement is off: each loss costs far more than its segment"
                .into(),
            remedy: "sysctl -w net.ipv4.tcp_sack=1".into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn the_planted_value_is_found_and_others_are_not() {
        let of = |value: &str| of_setting(&RULE, "net.ipv4.tcp_sack", value);
        assert!(is_found(&of("0")), "0");
        assert!(is_clear(&of("1")), "1");
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
