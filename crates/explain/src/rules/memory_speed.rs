//! `memory-speed`: do the modules run at the speed they are made for?
//!
//! Memory bandwidth is proportional to it. Two or three modules on a channel lower it on most
//! processors, a slower module lowers it for all, and the processor's own limit or a setting of the
//! firmware may.

use super::evidence;
use crate::{Case, Rule};
use narrows_model::host::{Module, Slot};
use narrows_model::result::{Finding, Missing, Verdict, Weight};
use std::collections::BTreeMap;

/// The rule.
pub static RULE: Rule = Rule {
    name: "memory-speed",
    asks: "Do the memory modules run at the speed they are made for?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let fact = &case.study.host.memory.slots;
    let Some(slots) = fact.value() else {
        return Verdict::unknown(Missing::fact("memory slots", fact));
    };
    let modules: Vec<&Module> =
        slots.iter().filter_map(|slot| slot.module.as_ref()).filter(|m| m.is_dram).collect();
    let speeds: Option<Vec<(u32, u32)>> =
        modules.iter().map(|module| Some((module.configured_mts?, module.rated_mts?))).collect();
    let Some(speeds) = speeds.filter(|speeds| !speeds.is_empty()) else {
        let of = "the rated and configured speed of every module";
        return Verdict::unknown(Missing::knowledge(of));
    };
    let (configured, rated) = speeds
        .iter()
        .copied()
        .fold((u32::MAX, 0), |(low, high), speed| (low.min(speed.0), high.max(speed.1)));
    if configured >= rated {
        return Verdict::clear(evidence(list(&speeds), fact.source().0.clone()));
    }
    let (why, remedy) = cause(slots, &speeds, configured);
    let share = 100.0 * f64::from(configured) / f64::from(rated);
    Verdict::Found {
        findings: vec![Finding {
            rule: RULE.name.into(),
            weight: Weight::Advice,
            says: format!(
                "Memory runs at {configured} MT/s, {share:.0} % of the {rated} MT/s that modules are \
                 made for: {why}"
            ),
            evidence: vec![evidence(list(&speeds), fact.source().0.clone())],
            worth: None,
            remedy: remedy.into(),
        }],
    }
}

/// The likeliest reason, and what to do about it.
fn cause(slots: &[Slot], speeds: &[(u32, u32)], configured: u32) -> (String, &'static str) {
    let slowest = speeds.iter().map(|(_, rated)| *rated).min().unwrap_or(0);
    if slowest == configured {
        return (
            format!("the slowest module is made for {slowest} MT/s"),
            "replace the slower modules, or accept their speed for all",
        );
    }
    let deepest = depths(slots).into_values().max();
    match deepest {
        Some(modules) if modules > 1 => (
            format!(
                "{modules} modules on a channel lower it on many processors, or the processor does no \
                 more"
            ),
            "look up the processor's speed with one module a channel; fewer, larger modules may be \
             faster",
        ),
        _ => (
            "the processor or a setting of the firmware allows no more".to_owned(),
            "look up the processor's memory speed, and the firmware's memory frequency and power \
             profile",
        ),
    }
}

/// Modules on each channel.
fn depths(slots: &[Slot]) -> BTreeMap<(u32, &str), u32> {
    let mut depths = BTreeMap::new();
    for slot in slots.iter().filter(|slot| slot.module.as_ref().is_some_and(|m| m.is_dram)) {
        if let Some(at) = &slot.at {
            *depths.entry((at.socket, at.channel.as_str())).or_insert(0) += 1;
        }
    }
    depths
}

/// `12 modules at 2666 of 2933 MT/s`.
fn list(speeds: &[(u32, u32)]) -> String {
    let mut counts: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    speeds.iter().for_each(|speed| *counts.entry(*speed).or_default() += 1);
    let each = counts
        .iter()
        .map(|((now, rated), count)| format!("{count} modules at {now} of {rated} MT/s"));
    each.collect::<Vec<_>>().join(", ")
}
