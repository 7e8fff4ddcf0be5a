//! `receive-window`: did the receiver's buffer hold TCP back?
//!
//! A sender may have no more on its way than the window that the receiver offers, which is about
//! half of its buffer. The kernel counts the time in which it had data and no window
//! (`tcpi_rwnd_limited`, include/uapi/linux/tcp.h). With a CPU full at either end the window is not
//! the cause.

use crate::measured::{Limit, judge_limit};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::Verdict;

pub static RULE: Rule = Rule {
    name: "receive-window",
    asks: "Did the receiver's buffer hold TCP back?",
    of_host: false,
    judge,
};

const LIMIT: Limit = Limit {
    counter: keys::LIMITED_BY_WINDOW,
    means: "the sender had data and no window",
    whose: "receiver",
    setting: "net.ipv4.tcp_rmem",
    buffer: |summary| summary.sink_receive_buffer_bytes,
};

fn judge(case: &Case<'_>) -> Verdict {
    judge_limit(case, &RULE, &LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_limit, of_study, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};

    #[test]
    fn time_at_the_limit_is_found_and_a_busy_end_is_another_matter() {
        let found = of_limit(&RULE, LIMIT.counter, 93, false);
        assert!(is_found(&found));
        // Round trips of eight flows do not add up.
        let Verdict::Found { findings } = found else { panic!("found") };
        let seen = &findings[0].evidence[0].says;
        let wanted = "round trip 78 us, 60 to 300 in all flows and the window";
        assert!(seen.contains(wanted), "{seen}");
        assert!(is_clear(&of_limit(&RULE, LIMIT.counter, 20, false)));
        assert!(is_clear(&of_limit(&RULE, LIMIT.counter, 93, true)));
        assert!(is_unknown(&of_study(&RULE, &stream("udp-stream"))));
    }
}
