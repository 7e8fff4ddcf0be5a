//! `stack-settings`: is a setting of TCP or IP far from the kernel's own value, so that it costs?
//!
//! What the defaults are and what each setting does: kernel, Documentation/networking/
//! ip-sysctl.rst. Only values that can hold a stream back are found, and only where they are far
//! from what a kernel sets by itself; settings with a rule of their own are left to it.

use super::evidence;
use crate::survey::{Survey, not_so};
use crate::{Case, Rule};
use narrows_model::result::{Finding, Missing, NotSo, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "stack-settings",
    asks: "Does a TCP or IP setting far from the kernel's default cost performance?",
    of_host: true,
    judge,
};

enum Costs {
    /// A number below this.
    Below(i64),
    /// A number above this.
    Above(i64),
}

/// A setting of the network stack that can limit a stream.
struct Setting {
    name: &'static str,
    costs: Costs,
    usual: &'static str,
    does: &'static str,
}

const fn below(name: &'static str, least: i64, usual: &'static str, does: &'static str) -> Setting {
    Setting { name, costs: Costs::Below(least), usual, does }
}

const fn above(name: &'static str, most: i64, usual: &'static str, does: &'static str) -> Setting {
    Setting { name, costs: Costs::Above(most), usual, does }
}

const SETTINGS: [Setting; 24] = [
    below(
        "net.core.rmem_default",
        64 << 10,
        "212992",
        "sockets other than TCP's hold no more until they ask for it, and drop the rest",
    ),
    below("net.core.somaxconn", 64, "4096", "more connections at once than that are refused"),
    below(
        "net.core.wmem_default",
        64 << 10,
        "212992",
        "sockets other than TCP's send no more at once until they ask for it",
    ),
    below(
        "net.core.wmem_max",
        64 << 10,
        "212992",
        "no program gets a larger send buffer by asking",
    ),
    below("net.ipv4.ip_default_ttl", 16, "64", "packets expire after that many routers"),
    above(
        "net.ipv4.ip_no_pmtu_disc",
        0,
        "0",
        "path MTU discovery is off: packets are sent in fragments or no larger than 576 B",
    ),
    below(
        "net.ipv4.ipfrag_high_thresh",
        256 << 10,
        "4194304",
        "incomplete fragments are dropped above that many bytes",
    ),
    below(
        "net.core.dev_weight",
        16,
        "64",
        "an interface without polling of its own takes so few packets in its turn",
    ),
    above("net.ipv4.tcp_abort_on_overflow", 0, "0", "connections are reset in a burst"),
    below(
        "net.ipv4.tcp_adv_win_scale",
        -1,
        "1",
        "a quarter of the receive buffer or less is offered as window (before Linux 6.6)",
    ),
    below("net.ipv4.tcp_app_win", 4, "31", "that share of the window is held back"),
    above(
        "net.ipv4.tcp_comp_sack_delay_ns",
        20_000_000,
        "1000000",
        "the receiver reports losses late",
    ),
    below(
        "net.ipv4.tcp_dsack",
        1,
        "1",
        "nobody hears of what was sent again in vain, and the slowdown is not undone",
    ),
    below("net.ipv4.tcp_early_retrans", 1, "3", "a lost tail waits for the timer of 200 ms"),
    below(
        "net.ipv4.tcp_limit_output_bytes",
        128 << 10,
        "4194304",
        "a flow may have no more than that in the sender's own queues",
    ),
    below(
        "net.ipv4.tcp_max_reordering",
        30,
        "300",
        "packets that more than that many others overtake are taken for lost",
    ),
    below("net.ipv4.tcp_max_syn_backlog", 32, "128 or more", "handshakes wait for each other"),
    below(
        "net.ipv4.tcp_notsent_lowat",
        16 << 10,
        "4294967295",
        "the sender is woken for every few segments",
    ),
    below(
        "net.ipv4.tcp_pacing_ca_ratio",
        100,
        "120",
        "a sender that paces stays below the rate that its window allows",
    ),
    below(
        "net.ipv4.tcp_pacing_ss_ratio",
        100,
        "200",
        "a sender that paces grows no faster than its window allows in slow start",
    ),
    below("net.ipv4.tcp_recovery", 1, "1", "losses are found late (RACK is off)"),
    above("net.ipv4.tcp_reordering", 50, "3", "losses are detected only after that many segments"),
    above("net.ipv4.tcp_rto_min_us", 400_000, "200000", "each timeout takes at least that long"),
    above(
        "net.ipv4.tcp_tso_win_divisor",
        16,
        "3",
        "super-packets are no larger than that part of the window",
    ),
];

fn judge(case: &Case<'_>) -> Verdict {
    let mut survey = Survey::default();
    for setting in &SETTINGS {
        let Some(fact) = case.study.host.tuning.get(setting.name) else { continue };
        let from = fact.source().0.clone();
        let number = fact.value().and_then(|text| text.trim().parse::<i64>().ok());
        // Older kernels have not all of them.
        let Some(number) = number else { continue };
        let name = setting.name;
        let seen = format!("{name} is {number}");
        let costs = match setting.costs {
            Costs::Below(least) => number < least,
            Costs::Above(most) => number > most,
        };
        if costs {
            let Setting { usual, does, .. } = setting;
            survey.found(Finding {
                rule: RULE.name.into(),
                weight: Weight::Advice,
                says: format!("{name} is {number}, where kernels have {usual}: {does}"),
                evidence: vec![evidence(seen, from)],
                worth: None,
                remedy: format!("sysctl -w {name}={}", usual.split(' ').next().unwrap_or(usual)),
            });
        } else {
            survey.fine(seen, from);
        }
    }
    match survey.conclude(not_so(NotSo::NoStackSetting)) {
        Verdict::NotApplicable { .. } => Verdict::unknown(Missing::unread("net.ipv4.tcp_*")),
        verdict => verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn values_that_cost_are_found_and_the_kernels_own_are_not() {
        for setting in &SETTINGS {
            let usual = setting.usual.split(' ').next().expect("a value");
            assert!(is_clear(&of_setting(&RULE, setting.name, usual)), "{}", setting.name);
            let far = match setting.costs {
                Costs::Below(least) => least - 1,
                Costs::Above(most) => most + 1,
            };
            let found = of_setting(&RULE, setting.name, &far.to_string());
            assert!(is_found(&found), "{}", setting.name);
        }
        assert!(is_unknown(&of_setting(&RULE, "another", "1")));
    }
}
