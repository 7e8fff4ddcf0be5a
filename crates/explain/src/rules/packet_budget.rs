//! `packet-budget`: do CPUs have to stop in the middle of their packets?
//!
//! A CPU handles at most `netdev_budget` packets (300 unless somebody changed it) before it lets
//! others run (net.rst, Linux documentation); with a small one it stops often.

use crate::setting::{Trouble, below, judge as setting};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

pub static RULE: Rule = Rule {
    name: "packet-budget",
    asks: "Does a small packet budget interrupt CPUs?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "net.core.netdev_budget", |value| {
        below(Some(value), 100, |_| Trouble {
            says: format!("A CPU handles no more than {value} packets at a time"),
            remedy: "sysctl -w net.core.netdev_budget=300".into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn the_planted_value_is_found_and_others_are_not() {
        let of = |value: &str| of_setting(&RULE, "net.core.netdev_budget", value);
        for value in ["16", "64"] {
            assert!(is_found(&of(value)), "{value}");
        }
        for value in ["300", "600"] {
            assert!(is_clear(&of(value)), "{value}");
        }
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
