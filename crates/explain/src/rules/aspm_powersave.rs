//! `aspm-powersave`: do PCIe links sleep whenever they can?
//!
//! Under the policies `powersave` and `powersupersave` links enter L0s and L1 between packets (PCI
//! Express base specification, section 5.4), from which they take microseconds to wake.

use crate::setting::{Trouble, judge as setting};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

pub static RULE: Rule = Rule {
    name: "aspm-powersave",
    asks: "Do PCIe links sleep whenever they can?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "pci.aspm-policy", |value| {
        let chosen = value.split('[').nth(1).and_then(|rest| rest.split(']').next());
        let chosen = chosen.unwrap_or(value);
        chosen.starts_with("power").then(|| Trouble {
            says: format!("PCIe links sleep between packets (ASPM policy {chosen})"),
            remedy: "echo performance > /sys/module/pcie_aspm/parameters/policy".into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn the_planted_value_is_found_and_others_are_not() {
        let of = |value: &str| of_setting(&RULE, "pci.aspm-policy", value);
        for value in ["powersave", "default performance [powersupersave]"] {
            assert!(is_found(&of(value)), "{value}");
        }
        for value in ["[default] performance powersave", "performance"] {
            assert!(is_clear(&of(value)), "{value}");
        }
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
