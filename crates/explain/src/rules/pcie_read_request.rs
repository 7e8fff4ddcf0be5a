//! `pcie-read-request`: does a fast NIC ask memory for little at a time?
//!
//! A card that sends asks for its packets' bytes in requests of this size, and only so many may be
//! on their way at once: with 128 or 256 B a 25 Gb/s link can starve (Dell's and Intel's tuning
//! guides set 512 B or more). Judged from 25 Gb/s.

use super::evidence;
use crate::setting::conclude;
use crate::{Case, Rule};
use narrows_facts::result::{Finding, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "pcie-read-request",
    asks: "Does a fast NIC ask memory for little at a time?",
    of_host: true,
    judge,
};

const SPEED_BPS: f64 = 25e9;
const REQUEST_BYTES: u64 = 512;

fn judge(case: &Case<'_>) -> Verdict {
    let (mut findings, mut looked) = (Vec::new(), false);
    for nic in case.study.host.physical_nics() {
        let fast = nic.speed_bps.value().is_some_and(|speed| speed.0 >= SPEED_BPS);
        let Some(hop) = nic.path.last().filter(|_| fast) else { continue };
        let Some(set) = hop.express.value() else { continue };
        looked = true;
        let asks = set.max_read_request_bytes.0;
        if asks > 0 && asks < REQUEST_BYTES {
            let says = format!("{} reads {asks} B of memory in one PCIe request", nic.name);
            findings.push(Finding {
                rule: RULE.name.into(),
                weight: Weight::Advice,
                evidence: vec![evidence(says.clone(), hop.express.source().0.clone())],
                says,
                worth: None,
                remedy: format!(
                    "setpci -s {} CAP_EXP+8.w=5000:7000 (4096 B), or the driver's own option",
                    hop.address
                ),
            });
        }
    }
    let nothing = "no NIC of 25 Gb/s or more tells its read requests (root)";
    conclude(findings, looked, "fast NICs read 512 B or more at a time", nothing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_facts::host::{Express, Host, Nic, PciHop};
    use narrows_facts::{BitsPerSecond, Bytes};

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
        assert!(is_clear(&of_host(&RULE, host(128, 10e9))));
    }
}
