//! `cpu-governor`: does the governor keep CPUs slow?
//!
//! `powersave` of the generic drivers holds the lowest clock; of intel_pstate and amd-pstate it is
//! the name of the ordinary, load-following policy and nothing is wrong with it (kernel,
//! Documentation/admin-guide/pm/intel_pstate.rst). `conservative` climbs in small steps.

use crate::setting::{Trouble, judge as setting};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

pub static RULE: Rule =
    Rule { name: "cpu-governor", asks: "Does the governor keep CPUs slow?", of_host: true, judge };

fn judge(case: &Case<'_>) -> Verdict {
    let driver = case.study.host.tuning.get("cpu.driver").and_then(|fact| fact.value());
    // intel_cpufreq and amd-pstate in passive mode take the generic governors.
    let own = driver.is_some_and(|name| matches!(name.as_str(), "intel_pstate" | "amd-pstate-epp"));
    setting(case, &RULE, "cpu.governor", |value| {
        let slow = value.contains("conservative") || (!own && value.contains("powersave"));
        slow.then(|| Trouble {
            says: format!("The frequency governor is {value}: CPUs stay at a low clock under load"),
            remedy: "cpupower frequency-set -g performance".into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn planted_values_are_found_and_healthy_ones_are_not() {
        for value in ["powersave", "conservative", "performance on 4 CPUs, powersave on 4"] {
            assert!(is_found(&of_setting(&RULE, "cpu.governor", value)), "{value}");
        }
        for value in ["performance", "schedutil", "ondemand"] {
            assert!(is_clear(&of_setting(&RULE, "cpu.governor", value)), "{value}");
        }
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
