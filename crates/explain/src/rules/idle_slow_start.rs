//! `idle-slow-start`: does TCP begin anew after every pause?
//!
//! With `tcp_slow_start_after_idle` a connection that pauses for one timeout loses its window (RFC
//! 2861; on unless somebody switched it off). That hurts senders in bursts on long paths; narrows
//! only says so when the host also asks for busy polling, which only short round trips are for.

use crate::setting::{Trouble, judge as setting};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

pub static RULE: Rule = Rule {
    name: "idle-slow-start",
    asks: "Does TCP go back to slow start after every pause?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "net.ipv4.tcp_slow_start_after_idle", |value| {
        let polls = case.study.host.tuning.get("net.core.busy_read");
        let polls = polls.and_then(|fact| fact.value()).is_some_and(|value| value.trim() != "0");
        (value == "1" && polls).then(|| Trouble {
            says: "Sockets busy-poll for short round trips, and lose their window at every pause"
                .into(),
            remedy: "sysctl -w net.ipv4.tcp_slow_start_after_idle=0".into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, known, of_host, of_setting};

    #[test]
    fn the_planted_value_is_found_and_others_are_not() {
        let of = |value: &str| of_setting(&RULE, "net.ipv4.tcp_slow_start_after_idle", value);
        let mut host = narrows_model::host::Host::default();
        for (name, value) in
            [("net.ipv4.tcp_slow_start_after_idle", "1"), ("net.core.busy_read", "50")]
        {
            host.tuning.insert(name.into(), known(value.into()));
        }
        assert!(is_found(&of_host(&RULE, host)));
        for value in ["0", "1"] {
            assert!(is_clear(&of(value)), "{value}");
        }
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
