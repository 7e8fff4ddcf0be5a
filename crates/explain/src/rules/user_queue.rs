//! `user-queue`: do an end's packets wait for a program that a firewall's rule hands them to?
//!
//! `NFQUEUE` of iptables and `queue` of nft give each packet to a program, which lets it pass,
//! drops it or changes it (intrusion prevention, filters by content, captive portals). Each packet
//! then costs two system calls and a wake-up of that program, one program takes all of a queue, and
//! what finds its queue full is dropped. The kernel counts what it queued by namespace; told where
//! more than a tenth of what the ends' interfaces carried went that way. Root alone reads it, which
//! an agent no longer is; a program in the middle of the path is not seen.

use crate::measured::{self, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::keys;
use narrows_model::result::{Measure, Needed, Verdict, Weight};

/// Whether packets of an end pass a program.
pub static RULE: Rule = Rule {
    name: "user-queue",
    asks: "Do an end's packets wait for a program (NFQUEUE)?",
    of_host: false,
    judge,
};

const QUEUED_SHARE: f64 = 0.1;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::Network, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    let ends = [("receiver", cell.of_receiver(share)), ("sender", cell.of_sender(share))];
    let told = ends.iter().filter_map(|(at, share)| Some((*at, (*share)?)));
    let (at, share) =
        told.max_by(|a, b| a.1.total_cmp(&b.1)).ok_or_else(|| cell.lacks(Measure::UserQueue))?;
    let seen = format!(
        "the {at}'s kernel queued {:.0} % of its interfaces' packets to a program \
         (/proc/net/netfilter/nfnetlink_queue)",
        100.0 * share
    );
    if share < QUEUED_SHARE {
        // An end that is not read may queue as much.
        if ends.iter().any(|(_, share)| share.is_none()) {
            return Err(cell.lacks(Measure::UserQueue));
        }
        return cell.saw(seen, None);
    }
    let dropped = match at {
        "sender" => cell.of_sender(dropped),
        _ => cell.of_receiver(dropped),
    };
    let lost = match dropped {
        Some(dropped) if dropped > 0.0 => {
            format!(", and dropped {dropped:.0} that found its queue full")
        }
        _ => String::new(),
    };
    let says = format!(
        "The {at}'s kernel hands packets to a program one by one in {}{lost}: a rule of its \
         firewall says so (NFQUEUE)",
        cell.trial.label
    );
    let remedy = format!(
        "at the {at}, see which rule queues (`nft list ruleset`, `iptables-save`: queue, NFQUEUE) \
         and let it take new connections only, or spread flows over several queues and programs \
         (queue to 0-3, fanout)"
    );
    cell.saw(seen.clone(), Some(finding(&RULE, cell, Weight::Advice, says, seen, &remedy)))
}

/// Packets that the kernel of an end queued to a program, as share of what its interfaces carried;
/// where they are not counted, of what the CPUs took from devices.
fn share(end: &EndReport) -> Option<f64> {
    let queued = end.readings.total(keys::USER_QUEUED)? as f64;
    let by_interface = [keys::RX_PACKETS, keys::TX_PACKETS].map(|key| end.readings.total(key));
    let carried = by_interface.into_iter().sum::<Option<u64>>();
    let carried = carried.or_else(|| end.readings.total(keys::PROCESSED))?;
    Some(queued / carried.max(1) as f64)
}

fn dropped(end: &EndReport) -> Option<f64> {
    Some(end.readings.total(keys::USER_QUEUE_DROPPED)? as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::setting::testing::{is_clear, is_unknown};
    use narrows_model::load::Role;

    /// A study whose ends queued and dropped so many packets of 10,000; `None`: not read.
    fn of(receiver: Option<(u64, u64)>, sender: Option<(u64, u64)>) -> Verdict {
        let mut study = stream("tcp-stream");
        for record in &mut study.records {
            for (role, counts) in [(Role::Receiver, receiver), (Role::Sender, sender)] {
                for end in record.of_mut(role) {
                    end.readings.put_words("interface", "e0.rx_packets", 6_000);
                    end.readings.put_words("interface", "e0.tx_packets", 4_000);
                    if let Some((queued, dropped)) = counts {
                        end.readings.put_words("user-queue", "queued_packets", queued);
                        end.readings.put_words("user-queue", "dropped_packets", dropped);
                    }
                }
            }
        }
        of_study(&RULE, &study)
    }

    #[test]
    fn the_end_that_queues_is_named_with_what_it_drops() {
        let Verdict::Found { findings } = of(Some((6_000, 31)), Some((0, 0))) else {
            panic!("found")
        };
        let says = &findings[0].says;
        assert!(says.starts_with("The receiver's kernel hands packets"), "{says}");
        assert!(says.contains("dropped 31 that found its queue full"), "{says}");
        assert!(findings[0].evidence[0].says.contains("queued 60 %"), "{findings:?}");
        let Verdict::Found { findings } = of(None, Some((4_000, 0))) else { panic!("found") };
        assert!(findings[0].says.starts_with("The sender's"), "{findings:?}");
        assert!(!findings[0].says.contains("dropped"), "{findings:?}");
    }

    #[test]
    fn few_packets_are_no_finding_and_an_end_that_is_not_read_is_unknown() {
        assert!(is_clear(&of(Some((0, 0)), Some((900, 0)))));
        assert!(is_unknown(&of(None, Some((0, 0)))));
        assert!(is_unknown(&of(None, None)));
    }
}
