//! `fragments-lost`: did datagrams vanish because they are sent in fragments?
//!
//! A datagram larger than the MTU goes as several packets, of which only the first has ports. Many
//! firewalls and NATs drop the others, and then every large datagram is lost and every small one
//! comes. The sender counts the fragments that it made, the receiver those that came and the
//! datagrams that it could not join.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};
use narrows_model::workload::Workload;

pub static RULE: Rule = Rule {
    name: "fragments-lost",
    asks: "Were datagrams lost because they were fragmented?",
    of_host: false,
    judge,
};

/// From this share of the datagrams on.
const LOST_SHARE: f64 = 0.01;
/// Below this share of the fragments that were made none passes.
const NONE_SHARE: f64 = 0.01;

fn judge(case: &Case<'_>) -> Verdict {
    let idle = Some(Activity::SendsFragments);
    measured::judge(case, Needed::UdpAboveMtu, idle, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if cell.is_probe() {
        return look_at_probe(cell);
    }
    if cell.trial.kind != Workload::UDP_STREAM {
        return Err(Blind::OtherKind);
    }
    let made = cell.sent_count(keys::FRAGMENTS_OUT);
    let came = cell.received_count(keys::FRAGMENTS_IN);
    let failed = cell.received_count(keys::FRAGMENTS_FAILED);
    let (Some(made), Some(came), Some(failed)) = (made, came, failed) else {
        return Err(cell.lacks(Measure::FragmentsOfBoth));
    };
    if made < 10.0 {
        return Err(Blind::OtherKind);
    }
    cell.apart_share().ok_or_else(|| cell.lacks(Measure::WindowsAtOnce))?;
    let loss = cell.summary.loss.as_ref().ok_or(Blind::OtherKind)?;
    let lost = loss.lost_datagrams as f64 / loss.all_datagrams().max(1) as f64;
    let seen = format!(
        "{made:.0} fragments made, {came:.0} came, {failed:.0} datagrams could not be joined; \
         {:.1} % of the datagrams lost",
        100.0 * lost
    );
    let blocked = came <= NONE_SHARE * made;
    if lost < LOST_SHARE || !(blocked || failed >= 1.0 || came < (1.0 - lost / 2.0) * made) {
        return cell.saw(seen, None);
    }
    let label = &cell.trial.label;
    let says = if blocked {
        format!(
            "No fragment passes in {label}: datagrams of {} B are above the MTU, and all that are \
             sent in pieces are lost on the way",
            cell.trial.params.message_bytes.0
        )
    } else {
        format!(
            "{:.1} % of the datagrams were lost in {label} with their fragments: one missing piece \
             costs the whole datagram",
            100.0 * lost
        )
    };
    // One missing fragment costs a datagram: those that are missing explain few of the lost ones.
    let all_come = made - came <= MISSING_SHARE * loss.lost_datagrams as f64 && failed >= 1.0;
    let (says, remedy) = match no_room(cell).filter(|_| all_come) {
        Some((says, remedy)) => (format!("{says}: {failed:.0} were not joined in {label}"), remedy),
        None => (says, REMEDY.to_owned()),
    };
    cell.saw(seen.clone(), Some(finding(&RULE, cell, Weight::Advice, says, seen, &remedy)))
}

/// Fragments that are missing, as a share of the datagrams that are lost, up to which all came.
const MISSING_SHARE: f64 = 0.1;
/// Bytes of incomplete datagrams that the receiver's kernel keeps, and less than which it must keep
/// of a few dozen.
const ROOM: &str = "net.ipv4.ipfrag_high_thresh";
const ROOM_LEAST_BYTES: u64 = 256 << 10;

/// What is said, and what to do, where the receiver's kernel has no room to join fragments.
fn no_room(cell: &Cell<'_>) -> Option<(String, String)> {
    let receiver = cell.receiver()?;
    let bytes = receiver.setting(ROOM)?;
    (bytes.parse::<u64>().ok()? < ROOM_LEAST_BYTES).then(|| {
        let at = receiver.at;
        let says = format!(
            "All fragments come, and the receiver's kernel has no room to join them ({at}: {ROOM} is \
             {bytes})"
        );
        (says, format!("at the receiver ({at}): sysctl -w {ROOM}=4194304, or send datagrams below \
                        the path's MTU (--length 1400)"))
    })
}

const REMEDY: &str = "send datagrams below the path's MTU (--length 1400), or let fragments pass: \
                      see firewalls and NATs between (nft list ruleset, ip frag-off rules), \
                      net.ipv4.ipfrag_high_thresh at the receiver";

/// Fragments that a probe sent each way, beside datagrams that needed none.
fn look_at_probe(cell: &Cell<'_>) -> Looked {
    let ways = cell.probes().flat_map(|probe| [(&probe.there, "there"), (&probe.back, "back")]);
    let tried: Vec<_> = ways.filter_map(|(way, name)| Some((way.fragments?, name))).collect();
    if tried.is_empty() {
        return Err(cell.lacks(Measure::DatagramsInFragments));
    }
    // Loss at random costs a datagram of two fragments twice as often, and not half of all.
    // Where those that need none are lost as well, fragments are not what is dropped.
    let lost =
        tried.iter().find(|(of, _)| 2 * of.came < of.whole_came && 2 * of.whole_came >= of.sent);
    let Some((of, name)) = lost else {
        return cell.saw("datagrams in fragments came as those did that need none", None);
    };
    let (sent, came, whole) = (of.sent, of.came, of.whole_came);
    let seen =
        format!("{came} of {sent} datagrams in fragments came {name}, {whole} of whole ones");
    let says = format!(
        "Fragments do not pass the path {name}: {came} of {sent} datagrams that were sent in two \
         came, and {whole} of {sent} that need none"
    );
    cell.saw(seen.clone(), Some(finding(&RULE, cell, Weight::Advice, says, seen, REMEDY)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown};
    use narrows_model::load::{Role, Stretch, StretchOf};

    #[test]
    fn fragments_that_do_not_pass_are_found() {
        let of = |made: u64, came: u64, received: u64| {
            let mut study = stream("udp-stream");
            for record in &mut study.records {
                for one in &mut record.reports {
                    let carried = if one.role == Role::Receiver { received } else { 10_000 };
                    let stretch = Stretch { of: StretchOf::SenderWindow, datagrams: carried };
                    one.report.flows[0].messages = carried;
                    one.report.flows[0].stretch = Some(stretch);
                }
            }
            read(&mut study, "netstat", "Ip.FragCreates_events", made);
            read_receiver(&mut study, "netstat", "Ip.ReasmReqds_events", came);
            read_receiver(&mut study, "netstat", "Ip.ReasmFails_events", 0);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(30_000, 0, 0)));
        assert!(is_clear(&of(30_000, 30_000, 10_000)));
        assert!(is_idle(&of(0, 0, 10_000)));
        // 1 % of 10,000 datagrams, of which half a per cent of the fragments lacks at least.
        assert!(is_found(&of(30_000, 29_849, 9_900)));
        assert!(is_clear(&of(30_000, 29_850, 9_900)), "fewer than the datagrams explain");
        assert!(is_clear(&of(30_000, 29_000, 9_901)), "less than 1 %");
        assert!(is_idle(&of(9, 0, 0)), "too few to tell");
        assert!(is_unknown(&of_study(&RULE, &stream("udp-stream"))));
    }

    #[test]
    fn a_receiver_without_room_to_join_fragments_is_told() {
        use crate::setting::testing::host_with;
        let of = |came: u64, room: &str| {
            let mut study = stream("udp-stream");
            for one in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                let carried = if one.role == Role::Receiver { 0 } else { 10_000 };
                let stretch = Stretch { of: StretchOf::SenderWindow, datagrams: carried };
                one.report.flows[0].messages = carried;
                one.report.flows[0].stretch = Some(stretch);
            }
            read(&mut study, "netstat", "Ip.FragCreates_events", 30_000);
            read_receiver(&mut study, "netstat", "Ip.ReasmReqds_events", came);
            read_receiver(&mut study, "netstat", "Ip.ReasmFails_events", came);
            study.peer_hosts = vec![host_with(ROOM, room)];
            format!("{:?}", of_study(&RULE, &study))
        };
        let found = of(30_000, "8192");
        assert!(found.contains("ipfrag_high_thresh is 8192"), "{found}");
        assert!(found.contains("sysctl -w net.ipv4.ipfrag_high_thresh=4194304"), "{found}");
        for (told, why) in [
            (of(30_000, "4194304"), "room enough"),
            (of(20_000, "8192"), "a third is lost on the way"),
        ] {
            assert!(told.contains("firewalls and NATs"), "{why}: {told}");
        }
    }

    #[test]
    fn a_probe_tells_of_fragments_without_a_stream_of_them() {
        use crate::probes::testing::with_probes;
        use narrows_model::probe::{Fragments, PathProbe};
        let of = |came: u32, whole_came: u32| {
            let mut probe = PathProbe::default();
            probe.back.fragments = Some(Fragments { sent: 12, came, whole_came });
            let mut study = stream("tcp-stream");
            with_probes(&mut study, &[probe]);
            of_study(&RULE, &study)
        };
        let Verdict::Found { findings } = of(0, 12) else { panic!("found") };
        assert!(findings[0].says.contains("do not pass the path back: 0 of 12"));
        assert!(is_clear(&of(10, 11)), "a lossy path");
        assert!(is_clear(&of(0, 0)), "nothing came at all");
        assert!(is_clear(&of(0, 1)), "of those that need none next to nothing came either");
    }
}
