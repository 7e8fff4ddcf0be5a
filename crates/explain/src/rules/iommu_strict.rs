//! `iommu-strict`: is every buffer of a fast NIC unmapped and flushed on its own?
//!
//! With translation in strict mode the IOMMU's cache is flushed after each buffer; in lazy mode
//! (`DMA-FQ`) in batches, and in passthrough (`identity`) there is nothing to flush (kernel,
//! Documentation/ABI/testing/sysfs-kernel-iommu_groups). Judged where a NIC of 10 Gb/s or more is.

use super::evidence;
use crate::survey::{Survey, no_device};
use crate::{Case, Rule};
use narrows_model::Fact;
use narrows_model::result::{Devices, Finding, Inapplicable, Missing, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "iommu-strict",
    asks: "Is every buffer of a fast NIC unmapped and flushed on its own?",
    of_host: true,
    judge,
};

const SPEED_BPS: f64 = 10e9;

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let mut survey = Survey::default();
    let nothing = no_device(Devices::FastNic);
    if survey.fast_nics(host, SPEED_BPS).is_empty() {
        return survey.conclude(nothing);
    }
    let Some(fact) = host.tuning.get("iommu") else {
        survey.lacks(Missing::unread("iommu"));
        return survey.conclude(nothing);
    };
    let from = fact.source().0.clone();
    match fact {
        Fact::Known { value, .. } if is_strict(value) => survey.found(Finding {
            rule: RULE.name.into(),
            weight: Weight::Advice,
            says: "The IOMMU works in strict mode: each packet's buffer costs an IOTLB flush"
                .into(),
            evidence: vec![evidence(format!("domains: {value}"), from)],
            worth: None,
            remedy:
                "iommu.strict=0 on the kernel's command line, or iommu=pt where devices are trusted"
                    .into(),
        }),
        Fact::Known { value, .. } => survey.fine(format!("domains: {value}"), from),
        Fact::Absent { .. } if !fact.is_unasked() => {
            return survey.conclude(Inapplicable::NoSetting { name: "IOMMU in use".into(), from });
        }
        other => survey.lacks(Missing::fact("iommu", other)),
    }
    survey.conclude(nothing)
}

fn is_strict(domains: &str) -> bool {
    domains.split(", ").any(|part| part.starts_with("DMA for"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_idle, known, of_host};
    use narrows_model::BitsPerSecond;
    use narrows_model::host::{Host, Nic};

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
        assert!(is_idle(&of_host(&RULE, host("DMA for 41 groups", 1e9))));
    }
}
