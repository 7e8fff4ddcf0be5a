//! `memory-mixed`: are modules of several sizes in one host?
//!
//! Channels with different capacities cannot be one interleave set: what is over forms a narrower
//! one, and pages in it are slower (docs/predict.md, interleave sets).

use super::evidence;
use crate::survey::of_guest;
use crate::{Case, Rule};
use narrows_model::Bytes;
use narrows_model::result::{Finding, Missing, Unclear, Verdict, Weight};
use std::collections::BTreeMap;

pub static RULE: Rule = Rule {
    name: "memory-mixed",
    asks: "Are modules of several sizes in one host?",
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
    let mut sizes = BTreeMap::<Bytes, usize>::new();
    let mut unsized_modules = 0;
    for module in slots.iter().filter_map(|slot| slot.module.as_ref()).filter(|m| m.is_dram) {
        match module.size_bytes {
            Some(size) => *sizes.entry(size).or_default() += 1,
            None => unsized_modules += 1,
        }
    }
    let list: Vec<String> = sizes.iter().map(|(size, n)| format!("{n} of {size}")).collect();
    match sizes.len() {
        0 => Verdict::unknown(Unclear::AnyModuleSize.into()),
        1 if unsized_modules > 0 => {
            Verdict::unknown(Unclear::OtherModuleSizes(unsized_modules).into())
        }
        1 => Verdict::clear(evidence(list.join(", "), fact.source().0.clone())),
        _ => Verdict::Found {
            findings: vec![Finding {
                rule: RULE.name.into(),
                weight: Weight::Advice,
                says: format!("Modules of several sizes: {}", list.join(", ")),
                evidence: vec![evidence(list.join(", "), fact.source().0.clone())],
                worth: None,
                remedy: "put modules of one size into all channels of a socket".into(),
            }],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_model::host::{Host, Module, Slot};

    #[test]
    fn an_odd_module_is_found_and_equal_ones_are_not() {
        let host = |sizes: &[u64]| {
            let slot = |gib: &u64| Slot {
                module: Some(Module {
                    size_bytes: Some(Bytes::gib(*gib)),
                    is_dram: true,
                    ..Module::default()
                }),
                ..Slot::default()
            };
            let mut host = Host::default();
            host.memory.slots = known(sizes.iter().map(slot).collect());
            host
        };
        assert!(is_found(&of_host(&RULE, host(&[32, 32, 16]))));
        assert!(is_clear(&of_host(&RULE, host(&[32, 32]))));
        // What a hypervisor calls modules are none.
        let mut guest = host(&[3968, 128]);
        guest.product = known("Microsoft Corporation Virtual Machine".to_owned());
        assert!(matches!(of_host(&RULE, guest), Verdict::NotApplicable { .. }));
    }
}
