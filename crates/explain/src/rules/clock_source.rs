//! `clock-source`: is reading the clock slow?
//!
//! Timestamps of packets and programs read the clock. Outside the processor (hpet, acpi_pm) that
//! takes about a microsecond and one lock for all CPUs; inside, tens of nanoseconds.

use crate::setting::{Trouble, judge as setting};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

pub static RULE: Rule =
    Rule { name: "clock-source", asks: "Is reading the clock slow?", of_host: true, judge };

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "kernel.clocksource", |value| {
        let slow = ["hpet", "acpi_pm", "jiffies", "pit"].contains(&value);
        slow.then(|| Trouble {
            says: format!("The clock is read from {value}, outside the processor: slow"),
            remedy:
                "find out why the TSC was given up (dmesg | grep -i tsc), or boot with tsc=reliable"
                    .into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn the_planted_value_is_found_and_others_are_not() {
        let of = |value: &str| of_setting(&RULE, "kernel.clocksource", value);
        for value in ["hpet", "acpi_pm"] {
            assert!(is_found(&of(value)), "{value}");
        }
        for value in ["tsc", "kvm-clock", "arch_sys_counter"] {
            assert!(is_clear(&of(value)), "{value}");
        }
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
