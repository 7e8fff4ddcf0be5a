//! `cpu-turbo`: are the processor's higher clocks switched off?
//!
//! One thread of TCP or one core that polls goes as fast as its clock; without turbo it stays at
//! the base clock, however cool and idle the rest of the processor is.

use crate::setting::{Trouble, judge as setting};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

pub static RULE: Rule = Rule {
    name: "cpu-turbo",
    asks: "Are the processor's higher clocks switched off?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "cpu.turbo", |value| {
        (value == "off").then(|| Trouble {
            says: "Turbo is switched off: a single busy core stays at its base clock".into(),
            remedy: "switch it on in firmware, or: echo 0 > \
                     /sys/devices/system/cpu/intel_pstate/no_turbo (others: echo 1 > \
                     /sys/devices/system/cpu/cpufreq/boost)"
                .into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn planted_values_are_found_and_healthy_ones_are_not() {
        assert!(is_found(&of_setting(&RULE, "cpu.turbo", "off")));
        assert!(is_clear(&of_setting(&RULE, "cpu.turbo", "on")));
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
