//! `datagrams-dropped`: where were datagrams dropped, if they were?
//!
//! At the socket: the receiver came too late for its buffer. At an interface: its ring or queue was
//! full. On the path: a switch, a shaper, or a host between. Judged from one in a hundred, by the
//! largest part.

use crate::measured::{self, Blind, finding};
use crate::{Case, Rule};
use narrows_facts::result::{Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "datagrams-dropped",
    asks: "Where were datagrams dropped, if they were?",
    of_host: false,
    judge,
};

const DROPPED_SHARE: f64 = 0.01;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, "a UDP stream", None, |cell| {
        let loss = cell.summary.loss.as_ref().ok_or(Blind::OtherKind)?;
        let all = (loss.received_datagrams as f64 + loss.lost_datagrams as f64).max(1.0);
        let places = [
            (loss.lost_at_socket_datagrams, "at the receiver's socket", SOCKET),
            (loss.lost_at_sink_interface_datagrams, "at the receiver's interface", INTERFACE),
            (loss.lost_at_source_interface_datagrams, "at the sender's interface", INTERFACE),
            (loss.lost_on_path_datagrams, "on the path", PATH),
        ];
        let (lost, place, remedy) =
            places.into_iter().max_by_key(|place| place.0).ok_or(Blind::OtherKind)?;
        let share = lost as f64 / all;
        let seen = format!("{lost} of {all:.0} lost, by sequence numbers and counters");
        let wrong = (share >= DROPPED_SHARE).then(|| {
            let says = format!(
                "{:.1} % of the datagrams were dropped {place} in {}",
                100.0 * share,
                cell.trial.label
            );
            finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
        });
        cell.saw(seen, wrong)
    })
}

const SOCKET: &str =
    "a larger socket buffer (--window), another CPU for the receiver, or a lower rate";
const INTERFACE: &str = "more descriptors (ethtool -G), more queues, or a lower rate";
const PATH: &str = "look at what lies between: switches, shapers, MTU; or lower the rate";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found};
    use narrows_facts::load::FlowTally;

    #[test]
    fn loss_at_the_socket_and_on_the_path_are_told_apart() {
        let study = |lost: u64, at_socket: u64| {
            let mut study = stream("udp-stream");
            for end in study.records.iter_mut().filter_map(|record| record.sink.as_deref_mut()) {
                let flow = FlowTally { lost, ..end.flows[0].clone() };
                end.flows = vec![flow];
                let socket = end.readings.0.entry("socket".into()).or_default();
                socket.insert("flow0.dropped_packets".into(), at_socket);
            }
            read(&mut study, "socket", "flow0.sent", 1);
            study
        };
        assert!(is_found(&of_study(&RULE, &study(5_000, 0))));
        assert!(is_clear(&of_study(&RULE, &study(3, 0))));
        let text = format!("{:?}", of_study(&RULE, &study(5_000, 0)));
        assert!(text.contains("on the path"), "{text}");
    }
}
