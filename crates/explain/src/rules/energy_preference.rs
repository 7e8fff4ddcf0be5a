//! `energy-preference`: does the processor save energy before it works?
//!
//! With the processor's own frequency control the preference, and not the governor, says how soon
//! it speeds up (kernel, Documentation/admin-guide/pm/intel_pstate.rst). `power` is the slowest;
//! the usual `balance_performance` and `balance_power` are left alone.

use crate::setting::{Trouble, judge as setting};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

pub static RULE: Rule = Rule {
    name: "energy-preference",
    asks: "Does the processor save energy before it works?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "cpu.energy-preference", |value| {
        // One word a kind of CPU: `power`, or `power on 4 CPUs, performance on 12`.
        let slow = value.split(", ").any(|part| part.split(' ').next() == Some("power"));
        slow.then(|| Trouble {
            says: format!("The processor's energy preference is {value}: it speeds up late"),
            remedy: "cpupower set --epp performance (or balance_performance)".into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn planted_values_are_found_and_healthy_ones_are_not() {
        for value in ["power", "balance_power on 4 CPUs, power on 4"] {
            assert!(is_found(&of_setting(&RULE, "cpu.energy-preference", value)), "{value}");
        }
        for value in ["performance", "balance_performance", "balance_power"] {
            assert!(is_clear(&of_setting(&RULE, "cpu.energy-preference", value)), "{value}");
        }
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
