//! `nic-coalescing`: did round trips wait for the NIC's interrupt?
//!
//! A NIC that may hold an interrupt back for some time does so for each packet of a single round
//! trip, unless its driver adapts (kernel: Documentation/networking/ethtool-netlink.rst). Found
//! where that time is a quarter of the measured round trip or more.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::result::{Measure, Missing, Needed, Verdict, Weight};
use narrows_model::trial::NetworkPath;

pub static RULE: Rule = Rule {
    name: "nic-coalescing",
    asks: "Did round trips wait for the NIC's interrupt?",
    of_host: false,
    judge,
};

/// Share of a round trip from which the wait counts.
const WAIT_SHARE: f64 = 0.25;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TripsToPeer, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    let p50_ns = cell.summary.round_trips.as_ref().and_then(|trips| trips.p50_ns);
    let us = p50_ns.ok_or(Blind::OtherKind)?.0 as f64 / 1e3;
    if cell.trial.path != NetworkPath::Peer || cell.trial.params.rdma.is_some() {
        return Err(Blind::OtherKind);
    }
    let nic = cell.nic_to_peer().ok_or_else(|| cell.lacks(Measure::Interface))?;
    let name = format!("interrupt coalescing of {}", nic.name);
    let coalescing = *nic
        .coalescing
        .value()
        .ok_or_else(|| Blind::Lacks(Missing::fact(name, &nic.coalescing)))?;
    // One packet at a time is received: with one frame to wait for it waits for none.
    let holds = !coalescing.adaptive_rx && coalescing.rx_frames != 1;
    let wait = f64::from(coalescing.rx_us);
    let adapts = if coalescing.adaptive_rx { "adapts" } else { "does not adapt" };
    let seen = format!("{} waits {wait:.0} us after a packet, and {adapts}", nic.name);
    let wrong = (holds && wait <= us && wait >= WAIT_SHARE * us).then(|| {
        let says = format!(
            "Up to {wait:.0} of the {us:.0} us of {} may be {} holding its interrupt back",
            cell.trial.label, nic.name
        );
        let remedy = format!(
            "ethtool -C {} adaptive-rx on, or rx-usecs 0 where only latency counts: more interrupts",
            nic.name
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, trips};
    use crate::setting::testing::{is_clear, is_found, known};
    use narrows_model::host::{Coalescing, Nic};
    use narrows_model::interfaces::Interfaces;

    #[test]
    fn a_long_wait_is_found_unless_the_driver_adapts() {
        let study = |rx_us: u32, adaptive_rx: bool| {
            let mut study = trips(120);
            study.study.interfaces = Interfaces::one(Some("eth0".into()));
            let coalescing = Coalescing {
                rx_us,
                rx_frames: 0,
                tx_us: 0,
                tx_frames: 0,
                adaptive_rx,
                adaptive_tx: false,
            };
            let nic = Nic { name: "eth0".into(), coalescing: known(coalescing), ..Nic::default() };
            study.host.nics = vec![nic];
            study
        };
        assert!(is_found(&of_study(&RULE, &study(50, false))));
        assert!(is_clear(&of_study(&RULE, &study(50, true))));
        assert!(is_clear(&of_study(&RULE, &study(3, false))));
    }
}
