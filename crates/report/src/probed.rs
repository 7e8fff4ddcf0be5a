//! What a probe found of the path, in words.

use narrows_model::probe::{PathProbe, WayProbe};
use narrows_model::record::Record;
use narrows_model::study::StoredStudy;
use narrows_model::workload::Workload;
use narrows_stats::{Capacity, capacity, reordered_share};

/// A smaller share of packets that come late is not worth a word.
const LATE_SHARE: f64 = 0.002;
/// Share of a stream's rate from which on trains may tell what the path carries.
const CREDIBLE_SHARE: f64 = 0.1;
/// Of 64 connections one may be lost by chance.
const LOST_LEAST: u32 = 2;

/// What probes of a study found. What several found with other numbers is said once, with those of
/// the first.
pub fn says(study: &StoredStudy) -> Vec<String> {
    let probes = study.records.iter().flat_map(|record| record.sender());
    let moved_bps = [false, true].map(|is_back| fastest_bps(study, is_back));
    let lines = probes.filter_map(|end| end.probe.as_deref());
    let mut all: Vec<(String, usize)> = Vec::new();
    for line in lines.flat_map(|probe| of_probe(probe, moved_bps)) {
        match all.iter_mut().find(|(known, _)| wording(known) == wording(&line)) {
            Some((known, _)) if *known == line => {}
            Some((_, others)) => *others += 1,
            None => all.push((line, 0)),
        }
    }
    let said = all.into_iter().map(|(line, others)| match others {
        0 => line,
        1 => line + "; another probe agrees, with other numbers",
        _ => format!("{line}; {others} other probes agree, with other numbers"),
    });
    said.collect()
}

/// Payload of the study's fastest TCP stream of a way, in bits a second; 0 without one.
fn fastest_bps(study: &StoredStudy, is_back: bool) -> f64 {
    let runs = study.records.iter().filter_map(|record| moved_bps(study, record, is_back));
    runs.fold(0.0, f64::max)
}

/// Payload of a run of a TCP stream of a way, in bits a second.
fn moved_bps(study: &StoredStudy, record: &Record, is_back: bool) -> Option<f64> {
    let trial = study.trials.iter().find(|trial| trial.id == record.trial)?;
    let is_meant = trial.kind == Workload::TCP_STREAM && trial.params.is_reverse() == is_back;
    let end = record.receiver().filter(|end| is_meant && end.window_ns.0 > 0)?;
    let bytes: u64 = end.flows.iter().map(|flow| flow.bytes.0).sum();
    Some(8e9 * bytes as f64 / end.window_ns.0 as f64)
}

/// A line without its numbers.
fn wording(line: &str) -> String {
    line.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect()
}

/// What one probe found that is not as on a free path.
fn of_probe(probe: &PathProbe, [there, back]: [f64; 2]) -> Vec<String> {
    let mut all = of_way("there", &probe.there, there);
    all.extend(of_way("back", &probe.back, back));
    if !probe.is_udp_answered {
        all.push("no UDP comes through".to_owned());
    }
    if let Some(tried) = probe.handshakes.filter(|tried| tried.lost() >= LOST_LEAST) {
        let (lost, of) = (tried.lost(), tried.tried);
        // Where none came in time, nothing tells a loss from a queue of seconds.
        all.push(if lost < of {
            format!("the first packets of {lost} of {of} connections were lost or late")
        } else {
            format!("none of {of} connections stood in time: packets lost or late")
        });
    }
    all
}

fn of_way(name: &str, way: &WayProbe, moved_bps: f64) -> Vec<String> {
    let mut all = Vec::new();
    if let Some((passes, vanishes)) = way.mtu.and_then(|mtu| mtu.black_hole()) {
        let (passes, vanishes) = (passes.0, vanishes.0);
        all.push(format!(
            "packets of {passes} B pass {name}, those of {vanishes} B vanish without an ICMP \
            message"
        ));
    }
    if let Some(tried) = way.fragments.filter(|tried| 2 * tried.came < tried.whole_came) {
        let (came, of) = (tried.came, tried.sent);
        all.push(format!("{came} of {of} datagrams in fragments came {name}"));
    }
    // What a stream exceeded by ten times is no capacity, whatever held the trains.
    if let Some(Capacity::Between { low_bps, high_bps, .. }) = capacity(way)
        && high_bps >= CREDIBLE_SHARE * moved_bps
    {
        let (low, high) = (low_bps / 1e6, high_bps / 1e6);
        all.push(format!("the path carries {low:.0} to {high:.0} Mb/s {name}, by packet trains"));
    }
    if let Some(share) = reordered_share(way).filter(|share| *share >= LATE_SHARE) {
        all.push(format!("{:.1} % of packets come late {name}", 100.0 * share));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Bytes;
    use narrows_model::probe::{Fragments, Handshakes, PathMtu};

    #[test]
    fn what_several_probes_found_is_one_line() {
        use narrows_model::host::Host;
        use narrows_model::load::{EndReport, Role};
        use narrows_model::record::{Outcome, Record, Reported, Stamp};
        let run = |at_once: u32| {
            let tried = Handshakes { tried: 64, at_once, ..Handshakes::default() };
            let (handshakes, is_udp_answered) = (Some(tried), true);
            let probe = PathProbe { handshakes, is_udp_answered, ..PathProbe::default() };
            let report = EndReport { probe: Some(Box::new(probe)), ..EndReport::default() };
            Record {
                trial: narrows_model::trial::TrialId("a".into()),
                repeat: 0,
                block: 0,
                outcome: Outcome::Done,
                reports: vec![Reported {
                    role: Role::Sender,
                    report: Box::new(report),
                    span: None,
                }],
                around: Stamp::default(),
                session: 0,
                external: None,
            }
        };
        let of = |runs: &[u32]| {
            let mut study = StoredStudy::unmeasured(Host::default());
            study.records = runs.iter().map(|at_once| run(*at_once)).collect();
            says(&study).join(" | ")
        };
        let line = "the first packets of 4 of 64 connections were lost or late";
        assert_eq!(of(&[60, 60, 64]), line);
        let more = format!("{line}; 2 other probes agree, with other numbers");
        assert_eq!(of(&[60, 61, 58]), more);
        assert!(of(&[0]).starts_with("none of 64 connections stood in time"));
    }

    #[test]
    fn only_what_is_wrong_is_said() {
        let mtu = PathMtu {
            interface_bytes: Bytes(1500),
            passes_bytes: Some(Bytes(1500)),
            vanishes_bytes: None,
            told_bytes: None,
            used_bytes: Bytes(1500),
        };
        let whole = Fragments { sent: 12, came: 11, whole_came: 12 };
        let way = WayProbe { mtu: Some(mtu), fragments: Some(whole), ..WayProbe::default() };
        let stood = Handshakes { tried: 64, at_once: 63, ..Handshakes::default() };
        let probe = PathProbe {
            there: way.clone(),
            back: way,
            handshakes: Some(stood),
            is_udp_answered: true,
        };
        assert_eq!(of_probe(&probe, [0.0; 2]), Vec::<String>::new());
        let mut wrong = probe;
        wrong.there.mtu = Some(PathMtu {
            passes_bytes: Some(Bytes(1400)),
            vanishes_bytes: Some(Bytes(1401)),
            ..mtu
        });
        wrong.back.fragments = Some(Fragments { came: 0, ..whole });
        wrong.handshakes = Some(Handshakes { at_once: 60, ..stood });
        let said = of_probe(&wrong, [0.0; 2]).join("; ");
        for part in
            ["1400 B pass there", "1401 B vanish", "0 of 12 datagrams", "4 of 64 connections"]
        {
            assert!(said.contains(part), "{part}: {said}");
        }
    }

    #[test]
    fn what_a_stream_exceeds_ten_times_is_no_capacity() {
        use narrows_model::Nanos;
        use narrows_model::probe::Train;
        // A hundred packets of 1500 B in 4 ms are 300 Mb/s.
        let train = Train {
            packet_bytes: Bytes(1500),
            sent: 200,
            sent_ns: Nanos(500_000),
            came: 200,
            came_ns: Nanos(8_000_000),
            tail: 100,
            tail_ns: Nanos(4_000_000),
            ..Train::default()
        };
        let way = WayProbe { trains: vec![train; 8], ..WayProbe::default() };
        let beside = |moved_bps: f64| of_way("there", &way, moved_bps).join("; ");
        assert!(beside(290e6).contains("the path carries 300 to 300 Mb/s there"));
        assert_eq!(beside(3.2e9), "");
        let late = Train { late: 40, ..train };
        let said = of_way("there", &WayProbe { trains: vec![late; 8], ..way.clone() }, 0.0);
        assert_eq!(said, ["20.0 % of packets come late there"]);
    }
}
