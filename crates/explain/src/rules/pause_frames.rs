//! `pause-frames`: did Ethernet make the sender wait?
//!
//! A NIC whose receive buffer fills, because memory, the slot or the CPUs take its packets away too
//! slowly, tells the other end to stop with pause frames, of all traffic or of a priority; so does
//! a switch. One frame stops it for 65,535 times 512 bits at most (IEEE 802.3, annex 31B): found
//! where those that were counted could have held the link for a hundredth of the time. Nothing is
//! lost then, so that no other counter tells of it.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::pauses::{Way, frames_per_second};
use crate::{Case, Rule};
use narrows_model::pause::{LINK_BPS, held_share};
use narrows_model::result::{Needed, Verdict, Weight};
use narrows_stats::median;

pub static RULE: Rule = Rule {
    name: "pause-frames",
    asks: "Did Ethernet make the sender wait?",
    of_host: false,
    judge,
};

/// Share of the time from which they count.
const HELD_SHARE: f64 = 0.01;

fn judge(case: &Case<'_>) -> Verdict {
    let needs = Needed::PauseFrames;
    measured::judge(case, needs, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    let rate_bps = cell.nic_to_peer().and_then(|nic| nic.speed_bps.value());
    let link_bps = rate_bps.map_or(LINK_BPS, |rate| rate.0);
    let of = |way: Way, of_receiver: bool| {
        let ends = cell
            .done
            .iter()
            .filter_map(|record| if of_receiver { record.receiver() } else { record.sender() });
        median(&ends.filter_map(|end| frames_per_second(end, way)).collect::<Vec<f64>>())
    };
    let (asked, told) = (of(Way::Sent, true), of(Way::Received, false));
    // A link that carries nothing else: the most that it can have been held.
    let held = |frames: f64| held_share(frames, link_bps);
    let counted = asked.into_iter().chain(told).reduce(f64::max).ok_or(Blind::OtherKind)?;
    let label = &cell.trial.label;
    let seen = format!(
        "{counted:.0} pause frames a second, which can pause a link of {} for at most {:.1} % of \
        the time; all of the interface's traffic is in them",
        narrows_model::BitsPerSecond(link_bps),
        (held(counted) * 100.0).min(100.0)
    );
    let (says, remedy) = match (asked, told) {
        _ if held(counted) < HELD_SHARE => return cell.saw(seen, None),
        (Some(asked), _) if held(asked) >= HELD_SHARE => (
            format!(
                "The receiver's NIC made the sender wait in {label}: its host took packets too slowly"
            ),
            "look for what holds the receiver back: its slot, the node that the NIC hangs on, few \
             DIMMs, busy CPUs; longer rings (ethtool -G) ride out bursts only",
        ),
        (Some(_), _) => (
            format!(
                "A switch made the sender wait in {label}: the receiver's NIC did not ask for it"
            ),
            "look at the switch's ports: several senders to one port, or a slower link behind it",
        ),
        (None, _) => (
            format!("The receiver's NIC or a switch made the sender wait in {label}"),
            "look for what holds the receiver back, and at the switch's ports",
        ),
    };
    cell.saw(seen.clone(), Some(finding(&RULE, cell, Weight::Advice, says, seen, remedy)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::setting::testing::{is_clear, is_found};
    use narrows_model::load::Role;
    use narrows_model::study::StoredStudy;

    /// A study whose ends counted so many frames of a way in a second.
    fn study(sender: Option<(&str, u64)>, receiver: Option<(&str, u64)>) -> StoredStudy {
        let mut study = stream("tcp-stream");
        for record in &mut study.records {
            for one in &mut record.reports {
                let read = if one.role == Role::Sender { sender } else { receiver };
                let Some((key, count)) = read else { continue };
                one.report.readings.put_words("pause", &format!("eth0.{key}_frames"), count);
            }
        }
        study
    }

    fn says(verdict: &Verdict) -> &str {
        let Verdict::Found { findings } = verdict else { panic!("{verdict:?}") };
        &findings[0].says
    }

    #[test]
    fn who_made_the_sender_wait_is_told() {
        let (told, asked) = (("received:rx_pause", 5000), ("sent:tx_prio3_pause", 5000));
        let both = of_study(&RULE, &study(Some(told), Some(asked)));
        assert!(is_found(&both) && says(&both).contains("its host took packets"), "{both:?}");
        let none = ("sent:tx_prio3_pause", 0);
        let switch = of_study(&RULE, &study(Some(told), Some(none)));
        assert!(says(&switch).starts_with("A switch"), "{switch:?}");
        let unknown = of_study(&RULE, &study(Some(told), None));
        assert!(says(&unknown).contains("or a switch"), "{unknown:?}");
    }

    #[test]
    fn few_frames_and_none_are_nothing() {
        let few = (("received:rx_pause", 2), ("sent:tx_pause", 2));
        assert!(is_clear(&of_study(&RULE, &study(Some(few.0), Some(few.1)))));
        // What a sender asks of others is not what held it.
        let sent = ("sent:tx_pause", 5000);
        assert!(!is_found(&of_study(&RULE, &study(Some(sent), None))));
        assert!(!is_found(&of_study(&RULE, &stream("tcp-stream"))));
        // Another interface's frames tell nothing.
        let mut other = study(Some(("received:rx_pause", 5000)), None);
        for end in other.records.iter_mut().filter_map(|record| record.of_mut(Role::Sender).next())
        {
            end.effective.interface = Some("eth1".into());
        }
        let other = of_study(&RULE, &other);
        let mut asks = study(None, Some(("sent:tx_pause", 5000)));
        for end in asks.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
            end.effective.interface = Some("eth1".into());
            end.effective.interface_in = Some("eth0".into());
        }
        assert!(is_found(&of_study(&RULE, &asks)), "asked where data came in");
        assert!(matches!(other, Verdict::Unknown { .. }), "{other:?}");
    }
}
