//! Advice rests on what a check measured, where it was this host and this boot.

use narrows_explain::tune::{Advised, Measured, Profile, Stale, advise};
use narrows_model::host::Host;
use narrows_model::load::{EndReport, FlowTally, Params, Timeline};
use narrows_model::record::{Outcome, Record, Reported, Stamp};
use narrows_model::study::StoredStudy;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{EndSpec, NetworkPath, Trial, TrialId};
use narrows_model::{Bytes, Fact, Nanos};

const SETTING: &str = "net.ipv4.tcp_congestion_control";
const SECOND: Nanos = Nanos(1_000_000_000);

fn host(congestion: &str) -> Host {
    let mut host = Host { kernel: Fact::known("6.1".to_owned(), "test"), ..Host::default() };
    host.tuning.insert(SETTING.into(), Fact::known(congestion.to_owned(), "test"));
    host
}

fn end(bytes: u64, sends: bool, congestion: &str) -> Option<Box<EndReport>> {
    let flow = FlowTally { bytes: Bytes(bytes), messages: 1000, sends, ..FlowTally::default() };
    let mut end = EndReport { window_ns: SECOND, flows: vec![flow], ..EndReport::default() };
    end.effective.congestion = Some(congestion.to_owned());
    end.effective.machine = Some("0badc0de".to_owned());
    Some(Box::new(end))
}

/// A check in which cubic moved so many times what the default bbr did.
fn check(gain: f64) -> StoredStudy {
    let mut study = StoredStudy::unmeasured(host("bbr"));
    study.study.command = StudyKind::Check;
    let timeline = Timeline {
        warmup_ns: Nanos(0),
        window_ns: SECOND,
        cooldown_ns: Nanos(0),
        interval_ns: None,
    };
    for (label, used, times) in [("tcp-stream", "bbr", 1.0), ("tcp-stream cubic", "cubic", gain)] {
        let trial = Trial {
            id: TrialId(label.into()),
            label: label.into(),
            kind: "tcp-stream".into(),
            params: Params {
                congestion: (used != "bbr").then(|| used.into()),
                ..Params::of_network(Bytes(65_536), 1)
            },
            ends: EndSpec::anywhere(false),
            path: NetworkPath::Namespaces,
            timeline,
            levels: Vec::new(),
            notes: Vec::new(),
            engine: None,
        };
        for repeat in 0..6u32 {
            let bytes = (times * (1e9 + f64::from(repeat) * 1e6)) as u64;
            study.records.push(Record {
                trial: trial.id.clone(),
                repeat,
                block: repeat,
                outcome: Outcome::Done,
                reports: Reported::list(end(bytes, false, used), end(bytes, true, used), None),
                around: Stamp::default(),
                session: 0,
                external: None,
            });
        }
        study.trials.push(trial);
    }
    study
}

fn told(gain: f64, now: &Host) -> Advised {
    let measured = Measured::of(check(gain), "check.narrows", now, "0badc0de").expect("it fits");
    advise(now, Profile::Throughput, Some(&measured))
}

#[test]
fn what_a_check_measured_is_advised_with_the_run_that_it_rests_on() {
    let slow = told(1.9, &host("bbr"));
    let advice = slow.advice.iter().find(|one| one.setting == SETTING).expect("advice");
    assert_eq!((advice.now.as_str(), advice.wanted.as_str()), ("bbr", "cubic"));
    let worth = advice.worth.as_ref().expect("worth");
    assert!(worth.says.contains("1.9 times") && worth.from.contains("check.narrows"), "{worth:?}");
    let alike = told(1.02, &host("bbr"));
    assert!(alike.advice.is_empty() && alike.fine.contains(&SETTING.to_owned()), "{alike:?}");
    // Set to another since the check: what was compared is not what is.
    let since = told(1.9, &host("vegas"));
    assert!(since.unknown.iter().any(|one| one.setting == SETTING), "{since:?}");
    // Without a check nobody knows, and that is said.
    let bare = advise(&host("bbr"), Profile::Throughput, None);
    assert!(bare.unknown.iter().any(|one| one.to_string().contains("narrows check")), "{bare:?}");
}

#[test]
fn a_check_of_another_machine_boot_or_kernel_is_not_used() {
    let of = |study: StoredStudy, host: &Host, boot: &str| {
        Measured::of(study, "check.narrows", host, boot).err()
    };
    let now = host("bbr");
    assert_eq!(of(check(1.9), &now, "0badc0de"), None);
    assert_eq!(of(check(1.9), &now, "12345678"), Some(Stale::OtherBoot));
    let newer = Host { kernel: Fact::known("6.2".to_owned(), "test"), ..host("bbr") };
    assert_eq!(of(check(1.9), &newer, "0badc0de"), Some(Stale::OtherKernel));
    let mut other = check(1.9);
    other.study.command = StudyKind::Tcp;
    assert_eq!(of(other, &now, "0badc0de"), Some(Stale::OtherCommand));
    let mut empty = check(1.9);
    empty.records.clear();
    assert_eq!(of(empty, &now, "0badc0de"), Some(Stale::NothingMeasured));
}
