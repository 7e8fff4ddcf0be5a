//! `pcie-read-request`: does a fast NIC ask memory for little at a time?
//!
//! A card that sends asks for its packets' bytes in requests of this size, and only so many may be
//! on their way at once: with 128 or 256 B a 25 Gb/s link can starve (Dell's and Intel's tuning
//! guides set 512 B or more). Judged from 25 Gb/s.

use super::evidence;
use crate::survey::{Survey, no_device};
use crate::{Case, Rule};
use narrows_model::result::{Devices, Finding, Missing, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "pcie-read-request",
    asks: "Does a fast NIC read memory in small requests?",
    of_host: true,
    judge,
};

const SPEED_BPS: f64 = 25e9;
const REQUEST_BYTES: u64 = 512;

fn judge(case: &Case<'_>) -> Verdict {
    let mut survey = Survey::default();
    for nic in survey.fast_nics(&case.study.host, SPEED_BPS) {
        let Some(hop) = nic.path.last() else { continue };
        let name = format!("read requests of {}", nic.name);
        let Some(set) = survey.need(name.as_str(), &hop.express) else { continue };
        let asks = set.max_read_request_bytes.0;
        let says = format!("{} reads {asks} B of memory in one PCIe request", nic.name);
        let from = hop.express.source().0.clone();
        if asks == 0 {
            survey.lacks(Missing::malformed(&name, &from, "0 B"));
        } else if asks >= REQUEST_BYTES {
            survey.fine(says, from);
        } else {
            survey.found(Finding {
                rule: RULE.name.into(),
                weight: Weight::Advice,
                evidence: vec![evidence(says.clone(), from)],
                says,
                worth: None,
                remedy: format!(
                    "setpci -s {} CAP_EXP+8.w=5000:7000 (4096 B), or the driver's own option",
                    hop.address
                ),
            });
        }
    }
    survey.conclude(no_device(Devices::FastNicOnPci))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_idle, known, of_host};
    use narrows_model::host::{Express, Host, Nic, PciHop};
    use narrows_model::{BitsPerSecond, Bytes};

    #[test]
    fn a_short_request_of_a_fast_nic_is_found() {
        let host = |request: u64, speed: f64| {
            let express = Express { max_read_request_bytes: Bytes(request), ..Express::default() };
            let nic = Nic {
                physical: true,
                speed_bps: known(BitsPerSecond(speed)),
                path: vec![PciHop { express: known(express), ..PciHop::default() }],
                ..Nic::default()
            };
            Host { nics: vec![nic], ..Host::default() }
        };
        assert!(is_found(&of_host(&RULE, host(128, 100e9))));
        assert!(is_clear(&of_host(&RULE, host(512, 100e9))));
        assert!(is_idle(&of_host(&RULE, host(128, 10e9))));
    }
}
