//! `transparent-huge-pages`: may programs never have huge pages?
//!
//! With `never`, buffers of gigabytes are mapped in 4 KiB pages and a program cannot even ask
//! (madvise) for larger ones; memory kernels then measure the walk through page tables too.

use crate::setting::{Trouble, judge as setting};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

pub static RULE: Rule = Rule {
    name: "transparent-huge-pages",
    asks: "Are transparent huge pages off?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "mm.transparent_hugepage", |value| {
        value.contains("[never]").then(|| Trouble {
            says: "Transparent huge pages are off: large buffers are mapped in small pages".into(),
            remedy: "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled".into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn planted_values_are_found_and_healthy_ones_are_not() {
        assert!(is_found(&of_setting(&RULE, "mm.transparent_hugepage", "always madvise [never]")));
        for value in ["always [madvise] never", "[always] madvise never"] {
            assert!(is_clear(&of_setting(&RULE, "mm.transparent_hugepage", value)), "{value}");
        }
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
