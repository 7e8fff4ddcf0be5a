//! `backlog-drops`: did the kernel drop packets that it had already?
//!
//! Packets for another CPU (receive packet steering), and those of veth, bridges and loopback, wait
//! in a CPU's backlog; what finds `net.core.netdev_max_backlog` of them there is dropped (kernel,
//! net/core/dev.c, `enqueue_to_backlog`). Told from one in a thousand of the packets in the window.

use crate::measured::{self, Blind, Cell, finding};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "backlog-drops",
    asks: "Did the kernel drop packets that it had received?",
    of_host: false,
    judge,
};

const DROPPED_SHARE: f64 = 0.001;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::SoftnetCounters, None, |cell| {
        if !cell.is_network_stream() {
            return Err(Blind::OtherKind);
        }
        let share = dropped_share(cell).ok_or_else(|| cell.lacks(Measure::Softnet))?;
        let seen = format!("{:.3} % dropped by /proc/net/softnet_stat, all CPUs", 100.0 * share);
        let wrong = (share >= DROPPED_SHARE).then(|| {
            let says = format!(
                "The receiver's kernel dropped {:.1} % of its packets in {}: a CPU's backlog was full",
                100.0 * share,
                cell.trial.label
            );
            let remedy = "sysctl -w net.core.netdev_max_backlog=10000, or spread the flows over CPUs";
            finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
        });
        cell.saw(seen, wrong)
    })
}

/// What the receiver's kernel dropped of all packets that its CPUs took, in the median run.
pub fn dropped_share(cell: &Cell<'_>) -> Option<f64> {
    cell.of_receiver(|end| {
        let dropped = end.readings.total(keys::BACKLOG_DROPPED)? as f64;
        let processed = end.readings.total(keys::PROCESSED)? as f64;
        Some(dropped / (dropped + processed).max(1.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::load::Role;

    #[test]
    fn a_full_backlog_is_found() {
        let study = |dropped: u64| {
            let mut study = stream("udp-stream");
            for end in
                study.records.iter_mut().filter_map(|record| record.of_mut(Role::Receiver).next())
            {
                end.readings.put_words("softnet", "processed_packets", 100_000);
                end.readings.put_words("softnet", "dropped_packets", dropped);
            }
            study
        };
        assert!(is_found(&of_study(&RULE, &study(5_000))));
        assert!(is_clear(&of_study(&RULE, &study(3))));
        assert!(is_unknown(&of_study(&RULE, &stream("udp-stream"))));
    }
}
