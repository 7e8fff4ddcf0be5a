//! `iommu-strict`: is every buffer of a fast NIC unmapped and flushed on its own?
//!
//! With translation in strict mode the IOMMU's cache is flushed after each buffer; in lazy mode
//! (`DMA-FQ`) in batches, and in passthrough (`identity`) there is nothing to flush (kernel,
//! Documentation/ABI/testing/sysfs-kernel-iommu_groups). Judged where a NIC of 10 Gb/s or more is.

use super::evidence;
use crate::setting::conclude;
use crate::{Case, Rule};
use narrows_facts::result::{Finding, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "iommu-strict",
    asks: "Is every buffer of a fast NIC unmapped and flushed on its own?",
    of_host: true,
    judge,
};

const SPEED_BPS: f64 = 10e9;

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let fast = host
        .physical_nics()
        .any(|nic| nic.speed_bps.value().is_some_and(|speed| speed.0 >= SPEED_BPS));
    let iommu = host.tuning.get("iommu").filter(|_| fast);
    let told = iommu.and_then(|fact| Some((fact.value()?, fact.source())));
    let strict =
        told.filter(|(value, _)| value.split(", ").any(|part| part.starts_with("DMA for")));
    let findings = strict.map(|(value, from)| Finding {
        rule: RULE.name.into(),
        weight: Weight::Advice,
        says: "The IOMMU works in strict mode: each packet's buffer costs a flush of its cache"
            .into(),
        evidence: vec![evidence(format!("domains: {value}"), from.0.clone())],
        worth: None,
        remedy:
            "iommu.strict=0 on the kernel's command line, or iommu=pt where devices are trusted"
                .into(),
    });
    let nothing = "no fast NIC, or no IOMMU in use";
    let clear = "the IOMMU flushes in batches or passes through";
    conclude(findings.into_iter().collect(), told.is_some(), clear, nothing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_facts::BitsPerSecond;
    use narrows_facts::host::{Host, Nic};

    #[test]
    fn strict_mode_is_found_with_a_fast_nic() {
        let host = |iommu: &str, speed: f64| {
            let nic =
                Nic { physical: true, speed_bps: known(BitsPerSecond(speed)), ..Nic::default() };
            let mut host = Host { nics: vec![nic], ..Host::default() };
            host.tuning.insert("iommu".into(), known(iommu.into()));
            host
        };
        assert!(is_found(&of_host(&RULE, host("DMA for 41 groups, identity for 2 groups", 25e9))));
        assert!(is_clear(&of_host(&RULE, host("DMA-FQ for 41 groups", 25e9))));
        assert!(is_clear(&of_host(&RULE, host("identity for 41 groups", 25e9))));
        assert!(is_clear(&of_host(&RULE, host("DMA for 41 groups", 1e9))));
    }
}
