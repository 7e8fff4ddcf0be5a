//! `module-options`: is a module of the network loaded with other options than `modprobe.d` wants,
//! and are the modules of one driver of one version?
//!
//! A file of `modprobe.d` takes effect when a module is loaded: one that was loaded before, or from
//! an initial RAM disk that was not made anew, runs without it (modprobe.d(5)). Modules of a driver
//! that is not the kernel's own (OFED) carry a version; two versions at once are an installation
//! that was not finished.

use super::evidence;
use crate::survey::{Survey, absent, not_so};
use crate::{Case, Rule};
use narrows_model::Fact;
use narrows_model::host::Host;
use narrows_model::result::{Evidence, Finding, NotSo, Verdict, Weight};
use std::collections::BTreeSet;

pub static RULE: Rule = Rule {
    name: "module-options",
    asks: "Do the network's modules run with the options of modprobe.d, in one version?",
    of_host: true,
    judge,
};

const WANTED: &str = "modprobe.";
const VERSION: &str = "module-version.";
/// Families of modules that come together.
const FAMILIES: [&str; 4] = ["mlx4_", "mlx5_", "bnxt_", "qed"];

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let is_told = |name: &String| name.starts_with(WANTED) || name.starts_with(VERSION);
    let nothing = NotSo::NoModuleOption;
    if !host.tuning.keys().any(is_told) {
        return absent(host, "modprobe.d", nothing);
    }
    let mut survey = Survey::default();
    for (name, wanted) in &host.tuning {
        if let Some(option) = name.strip_prefix(WANTED) {
            option_of(host, option, wanted, &mut survey);
        }
    }
    versions(host, &mut survey);
    survey.conclude(not_so(nothing))
}

/// Holds one option beside the module as it runs. A module that is not loaded has no options.
fn option_of(host: &Host, option: &str, wanted: &Fact<String>, survey: &mut Survey) {
    let Some(now) = host.tuning.get(&format!("module.{option}")) else { return };
    let name = format!("module.{option}");
    let (Some(now_is), Some(wanted_is)) = (survey.need(name, now), wanted.value()) else { return };
    let seen = [
        evidence(format!("{option} is {now_is}"), now.source().0.clone()),
        evidence(format!("modprobe.d has {wanted_is}"), wanted.source().0.clone()),
    ];
    if is_same(now_is, wanted_is) {
        return seen.into_iter().for_each(|seen| survey.fine(seen.says, seen.from));
    }
    let module = option.split('.').next().unwrap_or(option);
    survey.found(Finding {
        rule: RULE.name.into(),
        weight: Weight::Advice,
        says: format!("{option} is {now_is} where modprobe.d has {wanted_is}"),
        evidence: seen.into(),
        worth: None,
        remedy: format!(
            "load it anew when nothing uses it (modprobe -r {module}; modprobe {module}), and make \
             the initial RAM disk anew: update-initramfs -u, or dracut -f"
        ),
    });
}

/// Whether two values are one: numbers in any notation, and yes and no by any of their names.
fn is_same(a: &str, b: &str) -> bool {
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a.trim() == b.trim(),
    }
}

fn number(text: &str) -> Option<i64> {
    match text.trim() {
        "Y" | "y" | "on" | "true" => Some(1),
        "N" | "n" | "off" | "false" => Some(0),
        text => match (text.strip_prefix("0x"), text.strip_prefix('0')) {
            (Some(hex), _) => i64::from_str_radix(hex, 16).ok(),
            (None, Some(octal)) if !octal.is_empty() => i64::from_str_radix(octal, 8).ok(),
            _ => text.parse().ok(),
        },
    }
}

fn versions(host: &Host, survey: &mut Survey) {
    for family in FAMILIES {
        let of_family = host.tuning.iter().filter_map(|(name, fact)| {
            let module = name.strip_prefix(VERSION).filter(|module| module.starts_with(family))?;
            Some((fact.value()?, evidence(format!("{module} {}", fact.value()?), &fact.source().0)))
        });
        let (found, seen): (BTreeSet<&String>, Vec<Evidence>) = of_family.unzip();
        if found.len() < 2 {
            seen.into_iter().for_each(|seen| survey.fine(seen.says, seen.from));
            continue;
        }
        let each = seen.iter().map(|seen| seen.says.as_str()).collect::<Vec<_>>().join(", ");
        survey.found(Finding {
            rule: RULE.name.into(),
            weight: Weight::Caution,
            says: format!("Modules of one driver are of several versions: {each}"),
            evidence: seen,
            worth: None,
            remedy: "finish the driver's installation, make the initial RAM disk anew, and start \
                     the host again"
                .into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown, known, of_host};
    use narrows_model::Source;

    fn host(facts: &[(&str, &str)]) -> Host {
        let tuning = facts.iter().map(|(name, value)| ((*name).to_owned(), known((*value).into())));
        Host { tuning: tuning.collect(), ..Host::default() }
    }

    #[test]
    fn an_option_that_did_not_take_effect_is_found() {
        let of = |now: &str, wanted: &str| {
            let facts =
                [("module.mlx5_core.prof_sel", now), ("modprobe.mlx5_core.prof_sel", wanted)];
            of_host(&RULE, host(&facts))
        };
        assert!(is_found(&of("2", "3")));
        assert!(is_clear(&of("3", "3")));
        assert!(is_clear(&of("272", "0x110")));
        assert!(is_clear(&of("Y", "1")));
        assert!(is_clear(&of("Y", "true")));
        assert!(is_clear(&of("8", "010")), "a leading 0 is octal, as the kernel has it");
        assert!(is_clear(&of("0", "0")));
        assert!(is_found(&of("10", "010")));
        assert!(is_found(&of("N", "1")));
    }

    #[test]
    fn what_is_not_loaded_is_not_judged() {
        assert!(is_idle(&of_host(&RULE, host(&[("modprobe.iw_nes.nes_drv_opt", "0x110")]))));
        let mut told = host(&[("module.mlx5_core.prof_sel", "2")]);
        assert!(is_unknown(&of_host(&RULE, told.clone())), "nobody looked at modprobe.d");
        let from = Source("/sys/module/mlx5_core/parameters/prof_sel".into());
        let read = Fact::Known { value: "2".to_owned(), from };
        told.tuning.insert("module.mlx5_core.prof_sel".to_owned(), read);
        assert!(is_idle(&of_host(&RULE, told)), "modprobe.d has nothing");
    }

    #[test]
    fn two_versions_of_one_driver_are_found() {
        let both = |ib: &str| {
            let facts = [("module-version.mlx5_core", "5.8-1.0.1"), ("module-version.mlx5_ib", ib)];
            of_host(&RULE, host(&facts))
        };
        assert!(is_found(&both("23.10-0.5.5")));
        assert!(is_clear(&both("5.8-1.0.1")));
    }
}
