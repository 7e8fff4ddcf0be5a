//! `zone-reclaim`: does the kernel rather free pages than use the other node?
//!
//! With `zone_reclaim_mode` a node that is full throws away its file cache before the next node is
//! asked (vm.rst, Linux documentation), which stalls whoever allocates; network buffers too.

use crate::setting::{Trouble, judge as setting};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

pub static RULE: Rule = Rule {
    name: "zone-reclaim",
    asks: "Does the kernel free pages rather than use the other node?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "vm.zone_reclaim_mode", |value| {
        (value != "0").then(|| Trouble {
            says: "A full node frees its own pages before memory of another node is used".into(),
            remedy: "sysctl -w vm.zone_reclaim_mode=0".into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn the_planted_value_is_found_and_others_are_not() {
        let of = |value: &str| of_setting(&RULE, "vm.zone_reclaim_mode", value);
        for value in ["1", "7"] {
            assert!(is_found(&of(value)), "{value}");
        }
        assert!(is_clear(&of("0")), "0");
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
