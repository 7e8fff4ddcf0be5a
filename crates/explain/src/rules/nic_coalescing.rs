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
    if let Some(held) = held_back(cell).filter(|held| held.ns >= 1e3 * WAIT_SHARE * us) {
        return of_held(cell, &held, us);
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

/// An interface whose packets the kernel holds back.
struct Held<'a> {
    nic: &'a str,
    at: &'static str,
    ns: f64,
}

/// The longest that an end's kernel holds received packets back (`gro_flush_timeout`), where that
/// is no longer than a round trip; nothing that was read, or nothing held, is `None`.
fn held_back<'a>(cell: &Cell<'a>) -> Option<Held<'a>> {
    let p50_ns = cell.summary.round_trips.as_ref()?.p50_ns?.0 as f64;
    let ends = [cell.sender(), cell.receiver()].into_iter().flatten();
    let all = ends.filter_map(|end| {
        let nic = end.nic()?;
        let ns = *nic.gro_flush_ns.value()? as f64;
        Some(Held { nic: &nic.name, at: end.at, ns })
    });
    all.filter(|held| held.ns > 0.0 && held.ns <= p50_ns * LATE)
        .max_by(|a, b| a.ns.total_cmp(&b.ns))
}

/// A timer is never early, and what is held goes on a little late.
const LATE: f64 = 1.2;
/// From this share of a round trip on the wait is most of it.
const MOST_SHARE: f64 = 0.5;

/// Whether packets that are held back are most of a cell's round trip.
pub fn takes_most(cell: &Cell<'_>) -> bool {
    let p50_ns = cell.summary.round_trips.as_ref().and_then(|trips| trips.p50_ns);
    let ns = p50_ns.map_or(f64::INFINITY, |ns| ns.0 as f64);
    held_back(cell).is_some_and(|held| held.ns >= MOST_SHARE * ns)
}

fn of_held(cell: &Cell<'_>, held: &Held<'_>, us: f64) -> Looked {
    let wait = held.ns / 1e3;
    let seen = format!("gro_flush_timeout of {} {}: {wait:.0} us", held.nic, held.at);
    let says = format!(
        "The kernel holds packets of {} {} back for up to {wait:.0} of the {us:.0} us of {}, so that \
         more may join them",
        held.nic, held.at, cell.trial.label
    );
    let at = format!("/sys/class/net/{}", held.nic);
    let remedy = format!(
        "{}: echo 0 > {at}/gro_flush_timeout; echo 0 > {at}/napi_defer_hard_irqs: more interrupts",
        held.at
    );
    let found = finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy);
    cell.saw(seen, Some(found))
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

    #[test]
    fn packets_that_the_kernel_holds_back_are_found_at_either_end() {
        let study = |p50_us: u64, flush_us: u64| {
            let mut study = trips(p50_us);
            for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                end.report.effective.interface = Some("eth0".into());
            }
            let gro_flush_ns = known(1000 * flush_us);
            let nic = Nic { name: "eth0".into(), gro_flush_ns, ..Nic::default() };
            study.host.nics = vec![nic];
            study
        };
        let found = of_study(&RULE, &study(1_010, 1_000));
        assert!(format!("{found:?}").contains("up to 1000 of the 1010 us"), "{found:?}");
        assert!(!is_found(&of_study(&RULE, &study(1_010, 100))), "a tenth of it");
        assert!(!is_found(&of_study(&RULE, &study(200, 1_000))), "longer than a round trip");
        assert!(!is_found(&of_study(&RULE, &study(1_010, 0))), "not held");
    }
}
