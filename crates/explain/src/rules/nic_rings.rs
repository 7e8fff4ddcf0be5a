//! `nic-rings`: may a fast NIC drop packets because its ring is short?
//!
//! A ring of 256 descriptors holds 17 us of the smallest packets at 10 Gb/s; a CPU that sleeps
//! takes longer to come. Found only below 512 where the device could have more.

use super::evidence;
use crate::survey::{Survey, no_device};
use crate::{Case, Rule};
use narrows_model::result::{Devices, Finding, Missing, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "nic-rings",
    asks: "May a fast NIC drop packets because its ring is short?",
    of_host: true,
    judge,
};

const SPEED_BPS: f64 = 10e9;
const DESCRIPTORS: u32 = 512;

fn judge(case: &Case<'_>) -> Verdict {
    let mut survey = Survey::default();
    for nic in survey.fast_nics(&case.study.host, SPEED_BPS) {
        let Some(rings) = survey.need(format!("rings of {}", nic.name), &nic.rings) else {
            continue;
        };
        let from = nic.rings.source().0.clone();
        let says = format!("{} has {} receive descriptors of {}", nic.name, rings.rx, rings.rx_max);
        if rings.rx == 0 {
            survey.lacks(Missing::malformed("rings", &from, &says));
        } else if rings.rx >= DESCRIPTORS.min(rings.rx_max) {
            survey.fine(says, from);
        } else {
            survey.found(Finding {
                rule: RULE.name.into(),
                weight: Weight::Advice,
                evidence: vec![evidence(says.clone(), from)],
                says,
                worth: None,
                remedy: format!("ethtool -G {} rx {}", nic.name, rings.rx_max.min(4096)),
            });
        }
    }
    survey.conclude(no_device(Devices::FastNic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_model::BitsPerSecond;
    use narrows_model::host::{Host, Nic, Rings};

    #[test]
    fn a_short_ring_is_found_where_it_could_be_longer() {
        let host = |rx: u32, rx_max: u32| {
            let nic = Nic {
                physical: true,
                speed_bps: known(BitsPerSecond(25e9)),
                rings: known(Rings { rx, rx_max, tx: rx, tx_max: rx_max }),
                ..Nic::default()
            };
            Host { nics: vec![nic], ..Host::default() }
        };
        assert!(is_found(&of_host(&RULE, host(256, 4096))));
        assert!(is_clear(&of_host(&RULE, host(1024, 8192))));
        assert!(is_clear(&of_host(&RULE, host(256, 256))));
    }
}
