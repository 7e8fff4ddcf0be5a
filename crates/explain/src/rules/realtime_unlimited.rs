//! `realtime-unlimited`: may a real-time thread keep a CPU for good?
//!
//! With `sched_rt_runtime_us` at -1 nothing takes a CPU from a spinning real-time thread, not even
//! the softirq threads that bring it its packets (sched-rt-group.rst, Linux documentation).

use crate::setting::{Trouble, judge as setting};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

pub static RULE: Rule = Rule {
    name: "realtime-unlimited",
    asks: "May a real-time thread keep a CPU for itself?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "kernel.sched_rt_runtime_us", |value| {
        (value == "-1").then(|| Trouble {
            says: "A spinning real-time thread can starve the threads that bring its packets"
                .into(),
            remedy: "sysctl -w kernel.sched_rt_runtime_us=950000, unless you know why not".into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn the_planted_value_is_found_and_others_are_not() {
        let of = |value: &str| of_setting(&RULE, "kernel.sched_rt_runtime_us", value);
        assert!(is_found(&of("-1")), "-1");
        assert!(is_clear(&of("950000")), "950000");
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
