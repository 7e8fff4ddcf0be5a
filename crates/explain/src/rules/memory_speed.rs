//! `memory-speed`: do the modules run at the speed they are made for?
//!
//! Memory bandwidth is proportional to it. Two or three modules on a channel lower it on most
//! processors, a slower module lowers it for all, and the processor's own limit or a setting of the
//! firmware may. Where the family's speeds by modules on a channel are known (`dimm/platforms`),
//! the finding says which of these it is.

use super::evidence;
use crate::survey::of_guest;
use crate::{Case, Rule};
use narrows_dimm::platform::{self, Platform};
use narrows_model::host::{ChannelId, Module, Slot};
use narrows_model::result::{Evidence, Finding, Missing, Unclear, Verdict, Weight};
use std::collections::BTreeMap;

/// Do the modules run at the speed that they are made for?
pub static RULE: Rule = Rule {
    name: "memory-speed",
    asks: "Do the memory modules run at the speed they are made for?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    if let Some(why) = of_guest(&case.study.host) {
        return Verdict::NotApplicable { why };
    }
    let fact = &case.study.host.memory.slots;
    let Some(slots) = fact.value() else {
        return Verdict::unknown(Missing::fact("memory slots", fact));
    };
    let modules: Vec<&Module> =
        slots.iter().filter_map(|slot| slot.module.as_ref()).filter(|m| m.is_dram).collect();
    let speeds: Option<Vec<(u32, u32)>> =
        modules.iter().map(|module| Some((module.configured_mts?, module.rated_mts?))).collect();
    let Some(speeds) = speeds.filter(|speeds| !speeds.is_empty()) else {
        return Verdict::unknown(Unclear::ModuleSpeeds.into());
    };
    let (configured, rated) = speeds
        .iter()
        .copied()
        .fold((u32::MAX, 0), |(low, high), speed| (low.min(speed.0), high.max(speed.1)));
    if configured >= rated {
        return Verdict::clear(evidence(list(&speeds), fact.source().0.clone()));
    }
    let family = platform::of(&case.study.host);
    let cause = cause(slots, &speeds, configured, family);
    let share = 100.0 * f64::from(configured) / f64::from(rated);
    Verdict::Found {
        findings: vec![Finding {
            rule: RULE.name.into(),
            weight: Weight::Advice,
            says: format!(
                "Memory runs at {configured} MT/s, {share:.0} % of the {rated} MT/s that modules are \
                 made for: {}",
                cause.why
            ),
            evidence: std::iter::once(evidence(list(&speeds), fact.source().0.clone()))
                .chain(cause.rule)
                .collect(),
            worth: None,
            remedy: cause.remedy,
        }],
    }
}

/// Why modules run slower than they are made for.
struct Cause {
    /// What it is, as the end of a sentence.
    why: String,
    /// What can be done about it.
    remedy: String,
    /// The maker's rule that it rests on.
    rule: Option<Evidence>,
}

impl Cause {
    fn new(why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { why: why.into(), remedy: remedy.into(), rule: None }
    }
}

/// The slowest module, the family's rule for modules on a channel, or the likeliest of the rest.
fn cause(
    slots: &[Slot],
    speeds: &[(u32, u32)],
    configured: u32,
    family: Option<&Platform>,
) -> Cause {
    let slowest = speeds.iter().map(|(_, rated)| *rated).min().unwrap_or(0);
    if slowest == configured {
        return Cause::new(
            format!("the slowest module is made for {slowest} MT/s"),
            "replace the slower modules, or accept their speed for all",
        );
    }
    let deepest = depths(slots).into_values().max();
    if let Some(cause) = family.zip(deepest).and_then(|(family, deepest)| {
        let fastest = speeds.iter().map(|(_, rated)| *rated).max().unwrap_or(0);
        by_family(family, deepest, configured, fastest)
    }) {
        return cause;
    }
    match deepest {
        Some(modules) if modules > 1 => Cause::new(
            format!(
                "{modules} modules on a channel lower it on many processors, or the processor \
                supports no more"
            ),
            "look up the processor's speed with one module a channel; fewer, larger modules may be \
             faster",
        ),
        _ => Cause::new(
            "the processor or a setting of the firmware allows no more",
            "look up the processor's memory speed, and the firmware's memory frequency and power \
             profile",
        ),
    }
}

/// The cause by what the family runs so many modules on a channel at; `None` where that is not
/// known or modules run faster than it says.
fn by_family(family: &Platform, deepest: u32, configured: u32, fastest: u32) -> Option<Cause> {
    let (alone, most) = (family.mts_at(1)?, family.mts_at(deepest)?);
    let name = &family.name;
    let cause = match () {
        () if configured == most && alone > most => {
            let then = alone.min(fastest);
            Cause::new(
                format!(
                    "{deepest} modules on a channel are why: {name} runs {deepest} at {most} MT/s at \
                     most, and one at {alone}"
                ),
                format!(
                    "one module a channel would run at up to {then} MT/s: fewer, larger modules, \
                     where capacity allows"
                ),
            )
        }
        () if configured == most => Cause::new(
            format!("{name} runs {deepest} on a channel at no more"),
            "nothing to change: faster modules do not help this processor",
        ),
        () if configured < most => Cause::new(
            format!(
                "modules on a channel are not why, {name} runs {deepest} at up to {most} MT/s: this \
                 model of processor or a setting of the firmware allows no more"
            ),
            "look up this processor's memory speed, and the firmware's memory frequency and power \
             profile",
        ),
        () => return None,
    };
    let rule = format!("{name}: {alone} MT/s with one module on a channel, {most} with {deepest}");
    Some(Cause { rule: Some(evidence(rule, family.source.clone())), ..cause })
}

/// Modules on each channel.
fn depths(slots: &[Slot]) -> BTreeMap<(u32, &ChannelId), u32> {
    let mut depths = BTreeMap::new();
    for slot in slots.iter().filter(|slot| slot.module.as_ref().is_some_and(|m| m.is_dram)) {
        if let Some(at) = &slot.at {
            *depths.entry((at.socket, &at.channel)).or_insert(0) += 1;
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
