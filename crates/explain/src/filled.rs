//! What others keep full on the way of datagrams: loss that no pace of these changes.

use crate::measured::Cell;
use narrows_model::load::Params;
use narrows_model::reading::{Scope, keys};
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;
use narrows_stats::{median, way_in};

/// A way that others fill beside datagrams, at two paces of these.
pub struct Filled {
    /// All that the receiver's interface took.
    pub all_bps: f64,
    /// What came of the datagrams.
    pub own_bps: f64,
    /// The same of those at the lower pace.
    pub slower_bps: f64,
}

/// Sums that are no further apart are one link's capacity.
const SAME_SUM: f64 = 0.05;
/// Datagrams of another pace must move so much of the sum more or less to tell what fills it.
const OWN_APART: f64 = 0.1;
/// Fewer that are lost are no full queue's.
const LOST_LEAST: f64 = 0.02;

impl Filled {
    /// What comes in at the receiver beside datagrams that are lost, where it is one sum whatever
    /// pace these have: a queue before a link that carries no more, which others keep full.
    pub fn of(cell: &Cell<'_>) -> Option<Self> {
        let loss = cell.summary.loss.as_ref().filter(|loss| loss.all_datagrams() > 0)?;
        let lost = loss.lost_datagrams as f64 / loss.all_datagrams() as f64;
        (cell.trial.kind == Workload::UDP_STREAM && lost >= LOST_LEAST).then_some(())?;
        let (all_bps, own_bps) = (taken_bps(cell, cell.trial)?, cell.rates()?.middle);
        let others = cell.beside(|params| Params { rate_bps: None, ..params });
        others.iter().find_map(|other| {
            let slower_bps = other.middle_bps();
            let is_one = (taken_bps(cell, other.trial)? - all_bps).abs() <= SAME_SUM * all_bps;
            let is_apart = own_bps - slower_bps >= OWN_APART * all_bps;
            (is_one && is_apart).then_some(Self { all_bps, own_bps, slower_bps })
        })
    }
}

/// What the receiver's interface took in the median run of a trial.
fn taken_bps(cell: &Cell<'_>, trial: &Trial) -> Option<f64> {
    let runs = cell.study.records_of(trial).filter_map(|record| {
        let end = record.receiver().filter(|end| end.window_ns.0 > 0)?;
        let bytes = end.readings.of(keys::RX_BYTES, Scope::Nic(way_in(end)?.to_owned()))?;
        Some(8.0 * bytes as f64 / end.window_ns.seconds())
    });
    median(&runs.collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use crate::measured::testing::{of_study, stream};
    use crate::rules::other_traffic::RULE;
    use crate::setting::testing::is_found;
    use narrows_model::Bytes;
    use narrows_model::load::Role;

    #[test]
    fn a_queue_that_others_keep_full_takes_the_same_at_any_pace_of_datagrams() {
        use crate::beside::testing::with_beside;
        // 50 and 25 Mb/s of which 40 and 20 come, beside what the interface takes in all.
        let of = |all_mbps: [u64; 2], lost: u64| {
            let mut study = stream("udp-stream");
            study.trials[0].params.rate_bps = Some(50_000_000);
            study.trials[0].params.message_bytes = Bytes(1000);
            for record in &mut study.records {
                for end in record.of_mut(Role::Receiver) {
                    (end.flows[0].bytes, end.flows[0].lost) = (Bytes(5_000_000), lost);
                    end.flows[0].messages = 5_000;
                    end.effective.interface = Some("e0".into());
                }
            }
            with_beside(&mut study, |params| params.rate_bps = Some(25_000_000), 0.5);
            for record in &mut study.records {
                let mbps = all_mbps[usize::from(record.trial.0 == "beside")];
                for end in record.of_mut(Role::Receiver) {
                    end.readings.put_words("interface", "e0.rx_bytes", mbps * 125_000);
                }
            }
            of_study(&RULE, &study)
        };
        let full = of([103, 102], 1_000);
        let says = format!("{full:?}");
        assert!(says.contains("is 103 Mb/s at either pace of these datagrams"), "{says}");
        assert!(!is_found(&of([103, 82], 1_000)), "what others send stays, and the sum does not");
        assert!(!is_found(&of([103, 102], 10)), "next to none is lost");
    }
}
