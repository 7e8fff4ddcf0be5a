//! `congestion-marks`: did routers mark packets as they were about to drop some?
//!
//! Where both ends agreed on it (ECN, RFC 3168), a queue marks a packet in place of dropping it,
//! and the sender slows down as it would for a loss. Nothing is lost and nothing is sent again, so
//! that no other counter tells why the rate is low.

use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "congestion-marks",
    asks: "Did routers mark packets instead of dropping them (ECN)?",
    of_host: false,
    judge,
};

/// Share of the segments from which on marks hold a stream back as losses would.
const MARKED_SHARE: f64 = 0.001;

/// From here on every one is marked, but for those of the handshake and what was sent again.
const ALL_SHARE: f64 = 0.95;
/// A longer wait beside the path's round trip is a queue, which may stand above its threshold.
const WAITED_SHARE: f64 = 0.2;
const QUEUES: &str = "see which router marks and from which length of queue (fq_codel \
                      ce_threshold, RED and WRED, a switch's ECN threshold); to compare: sysctl -w \
                      net.ipv4.tcp_ecn=0 at the sender";
const EVERY: &str = "find what sets the mark whatever its queue holds: a rule that writes the byte \
                     of TOS with the two bits of ECN in it (iptables TOS, nft ip ecn set, a \
                     router's policy), a threshold of 0, a tunnel that copies bits; until then \
                     sysctl -w net.ipv4.tcp_ecn=0 at the sender";

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpCounters, None, look)
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() {
        return Err(Blind::OtherKind);
    }
    let sent = cell.sent_count(keys::SENT).filter(|sent| *sent > 0.0);
    let (Some(sent), Some(marks)) = (sent, marks(cell)) else {
        return Err(cell.lacks(Measure::TcpMarks));
    };
    let share = marks.count / sent;
    let most = marks.at_most();
    let percent = 100.0 * share;
    let seen = format!("{most}{percent:.3} % of the segments were marked ({:.0})", marks.count);
    let wrong = (share >= MARKED_SHARE).then(|| {
        let label = &cell.trial.label;
        let is_every = share >= ALL_SHARE && marks.is_exact && !is_queued(cell);
        let (says, remedy) = if is_every {
            let says = format!(
                "Something on the path marks every segment in {label} ({percent:.2} %, ECN \
                 congestion experienced), though none waits in a queue: the mark says nothing of \
                 congestion, and TCP's window stays as small as it may"
            );
            (says, EVERY)
        } else {
            let says = format!(
                "The path marked {most}{percent:.2} % of the segments in {label} (ECN \
                 congestion experienced): TCP slowed down without a loss"
            );
            (says, QUEUES)
        };
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

/// Segments that were marked.
struct Marks {
    count: f64,
    /// Whether each of them was, and not only acknowledged beside one.
    is_exact: bool,
}

impl Marks {
    fn at_most(&self) -> &'static str {
        if self.is_exact { "" } else { "at most " }
    }
}

/// What arrived marked, as the receiver's IP counted it for all traffic, and no more than the
/// sender's TCP was told. Under classic ECN a receiver repeats one mark in every acknowledgement
/// until the sender has answered (RFC 3168, section 6.1.3), so that the sender counts all that
/// these acknowledge: up to a whole window for each mark. DCTCP's receiver tells each (RFC 8257).
fn marks(cell: &Cell<'_>) -> Option<Marks> {
    let told = cell.sent_count(keys::MARKED);
    let arrived = cell.received_count(keys::CONGESTION_MARKS);
    if let Some(count) = arrived.filter(|count| *count > 0.0) {
        return Some(Marks { count: told.map_or(count, |told| told.min(count)), is_exact: true });
    }
    let count = told.or(arrived)?;
    let is_exact = count == 0.0 || cell.summary.congestion() == Some("dctcp");
    Some(Marks { count, is_exact })
}

/// Whether packets wait all the time: the queue of many flows may stand above its threshold for
/// good, as none of their windows can become smaller.
fn is_queued(cell: &Cell<'_>) -> bool {
    cell.trips().is_none_or(|trips| trips.waited_ns() > WAITED_SHARE * trips.shortest_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::load::Role;

    #[test]
    fn marks_are_found() {
        let of = |marked: u64| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.sent_segments", 100_000);
            read(&mut study, "tcp-info", "flow0.delivered_marked_segments", marked);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(2_000)));
        assert!(format!("{:?}", of(60_000)).contains("marked at most 60.00 %"));
        assert!(is_clear(&of(0)));
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }

    /// What the sender was told under a congestion control, and what arrived marked.
    fn told(control: &str, arrived: Option<u64>, waited_us: u64) -> String {
        let mut study = stream("tcp-stream");
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
            end.effective.congestion = Some(control.into());
        }
        for (key, value) in [
            ("sent_segments", 100_000),
            ("delivered_marked_segments", 99_990),
            ("rtt_min_ns", 400_000),
            ("lowest:rtt_ns", 400_000 + 1000 * waited_us),
            ("rtt_ns", 420_000 + 1000 * waited_us),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        if let Some(arrived) = arrived {
            read_receiver(&mut study, "netstat", "IpExt.InCEPkts_events", arrived);
        }
        format!("{:?}", of_study(&RULE, &study))
    }

    #[test]
    fn every_segment_is_marked_only_where_each_was_counted_and_none_waits() {
        let every = "marks every segment";
        assert!(told("cubic", Some(99_990), 5).contains(every));
        assert!(told("dctcp", None, 5).contains(every), "its receiver tells each mark");
        let classic = told("cubic", None, 5);
        assert!(classic.contains("marked at most 99.99 %") && !classic.contains(every));
        let few = told("cubic", Some(3_000), 5);
        assert!(few.contains("marked 3.00 %"), "one mark is echoed for a round trip: {few}");
        let standing = told("dctcp", Some(99_990), 600);
        assert!(!standing.contains(every), "a queue above its threshold: {standing}");
    }
}
