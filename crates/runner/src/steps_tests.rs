//! The steps of an end that is made up: what it is told, and what is made of its answers.

use super::*;
use narrows_model::Bytes;
use narrows_model::load::{Params, Timeline};
use narrows_model::options::runs::AFTER;
use narrows_model::trial::{EndSpec, NetworkPath, TrialId};
use std::collections::VecDeque;

/// Answers in their order, and then nothing; `None` is a look that hears nothing.
#[derive(Default)]
struct Made {
    told: Vec<Order>,
    answers: VecDeque<Option<Result<Answer, ControlError>>>,
    looks: Vec<Duration>,
}

impl End for Made {
    fn order(&mut self, order: &Order) -> Result<(), ControlError> {
        self.told.push(order.clone());
        Ok(())
    }

    fn answer(&mut self, within: Duration) -> Result<Option<Answer>, ControlError> {
        self.looks.push(within);
        self.answers.pop_front().flatten().transpose()
    }
}

fn made(answers: impl IntoIterator<Item = Answer>) -> Made {
    Made { answers: answers.into_iter().map(|one| Some(Ok(one))).collect(), ..Made::default() }
}

static RUNS: AtomicBool = AtomicBool::new(false);

fn failed() -> Answer {
    Answer::Failed { at: Stage::Collect, why: "no".into(), fault: Fault::Apart }
}

fn report() -> Answer {
    Answer::Finished { report: Box::new(EndReport { window_ns: Nanos(7), ..EndReport::default() }) }
}

/// What an error is, in a word and its words.
fn word<T>(told: Result<T, Broken>) -> String {
    match told {
        Ok(_) => "done".to_owned(),
        Err(Broken::Failed(at, why)) => format!("failed {at:?}: {why}"),
        Err(Broken::Told(at, why, fault)) => format!("told {at:?} {fault:?}: {why}"),
        Err(Broken::Lost(lost)) => format!("lost {:?}: {:?}", lost.at, lost.cause),
        Err(Broken::Gone(peer, why)) => format!("gone {peer}: {why}"),
        Err(Broken::Stopped) => "stopped".to_owned(),
        Err(Broken::Fatal(why)) => format!("fatal: {why}"),
    }
}

#[test]
fn each_step_is_an_order_and_its_answer() {
    let mut end = made([Answer::Prepared { ports: vec![5, 6] }, Answer::Armed, Answer::Running]);
    let job = || Job::new("tcp-stream".into(), narrows_model::load::Role::Sender, params(), line());
    assert_eq!(prepare(&mut end, job(), &RUNS).ok(), Some(vec![5, 6]));
    let there: SocketAddr = "192.0.2.1:5201".parse().expect("an address");
    assert!(arm(&mut end, vec![there]).is_ok() && armed(&mut end, &RUNS).is_ok());
    assert!(go_until_told(&mut end, &RUNS).is_ok());
    assert!(go(&mut end).is_ok());
    let wanted = [
        Order::Prepare { job: Box::new(job()) },
        Order::Arm { peer: vec![there] },
        Order::GoUntilTold,
        Order::Go { hold: false, tell_ns: None },
    ];
    assert_eq!(end.told, wanted);
    for (at, told) in [
        (Stage::Prepare, word(prepare(&mut made([Answer::Armed]), job(), &RUNS))),
        (Stage::Prepare, word(armed(&mut made([Answer::Running]), &RUNS))),
        (Stage::Run, word(go_until_told(&mut made([Answer::Armed]), &RUNS))),
        (Stage::Run, word(closed(&mut made([Answer::Armed]), LOOK_UP, &RUNS))),
        (Stage::Run, word(super::told(&mut made([Answer::Armed]), LOOK_UP, &RUNS))),
        (Stage::Collect, word(finished(&mut made([Answer::Armed]), LOOK_UP, &RUNS))),
    ] {
        assert!(
            told.starts_with(&format!("failed {at:?}: an end answered out of turn: ")),
            "{told}"
        );
    }
}

fn params() -> Params {
    Params::of_network(Bytes(1000), 1)
}

fn line() -> Timeline {
    Timeline::new(Nanos(1_000_000_000), Nanos(2_000_000_000), Nanos(500_000_000))
}

fn trial() -> Trial {
    Trial {
        id: TrialId("t".into()),
        label: String::new(),
        kind: "tcp-stream".into(),
        params: params(),
        ends: EndSpec::anywhere(false),
        path: NetworkPath::Peer,
        timeline: line(),
        levels: Vec::new(),
        notes: Vec::new(),
        engine: None,
    }
}

#[test]
fn an_end_holds_its_load_unless_it_begins_after_the_others() {
    let told = |after: Option<f64>| {
        let mut of = trial();
        if let Some(after) = after {
            of.params.told.tell(&AFTER, after);
        }
        let mut end = Made::default();
        assert!(go_as_told(&mut end, &of, Some(Nanos(9))).is_ok());
        end.told.remove(0)
    };
    assert_eq!(told(None), Order::Go { hold: true, tell_ns: Some(Nanos(9)) });
    assert_eq!(told(Some(1.5)), Order::Go { hold: false, tell_ns: None });
    let mut end = Made::default();
    assert!(
        release(&mut end, None).is_ok() && release(&mut end, Some(&EndReport::default())).is_ok()
    );
    assert_eq!(end.told, [Order::Release], "one that has reported holds nothing");
}

#[test]
fn an_end_is_heard_until_it_is_silent_for_too_long() {
    let stops = AtomicBool::new(true);
    let within = 3 * LOOK_UP;
    let mut silent_end = Made::default();
    let told = word(finished(&mut silent_end, within, &RUNS));
    assert_eq!(told, "lost Run: Silent { waited_ns: Nanos(150000000) }");
    assert_eq!(silent_end.looks, [LOOK_UP; 3]);
    let mut late = made([report()]);
    late.answers.push_front(None);
    late.answers.push_front(None);
    assert_eq!(
        finished(&mut late, within, &RUNS).ok().map(|report| report.window_ns),
        Some(Nanos(7))
    );
    assert_eq!(word(finished(&mut made([failed()]), within, &RUNS)), "told Collect Apart: no");
    assert_eq!(word(finished(&mut made([report()]), within, &stops)), "stopped");
    assert_eq!(word(super::told(&mut made([report()]), within, &stops)), "stopped");
    assert_eq!(word(super::told(&mut made([failed()]), within, &RUNS)), "told Collect Apart: no");
    let told = word::<()>(Err(silent(Duration::from_millis(70))));
    assert_eq!(told, "lost Run: Silent { waited_ns: Nanos(70000000) }");
    // What was reported before is the report, and nobody is asked.
    let early = EndReport { window_ns: Nanos(3), ..EndReport::default() };
    let mut end = Made::default();
    let told = released(&mut end, Some(early), &RUNS).ok().map(|report| report.window_ns);
    assert_eq!((told, end.looks.len()), (Some(Nanos(3)), 0));
    assert!(released(&mut made([report()]), None, &RUNS).is_ok());
}

#[test]
fn a_window_that_is_over_comes_with_a_report_or_without() {
    let window = |told: Option<EndReport>| told.map(|report| report.window_ns.0);
    let of =
        |answer| window(closed(&mut made([answer]), LOOK_UP, &RUNS).unwrap_or_else(|_| panic!()));
    assert_eq!((of(Answer::Closed), of(report())), (None, Some(7)));
    let part = Part { bytes: 5, ..Part::default() };
    let heard = |answers: Vec<Answer>| {
        let mut end = made(answers);
        let told =
            super::told(&mut end, Duration::from_millis(9), &RUNS).unwrap_or_else(|_| panic!());
        assert_eq!(end.looks, [Duration::from_millis(9)]);
        match told {
            Heard::Nothing => "nothing".to_owned(),
            Heard::Moved(part) => format!("moved {}", part.bytes),
            Heard::Closed(report) => {
                format!("closed {:?}", report.map(|report| report.window_ns.0))
            }
        }
    };
    assert_eq!(heard(vec![]), "nothing");
    assert_eq!(heard(vec![Answer::Moved { part }]), "moved 5");
    assert_eq!(heard(vec![Answer::Closed]), "closed None");
    assert_eq!(heard(vec![report()]), "closed Some(7)");
}

/// One that is gone says so of its number; a worker that died is a failed run.
#[test]
fn what_broke_a_run_off_is_told_apart() {
    let vanished = || ControlError::Vanished { peer: "p".into(), silent: Duration::from_secs(30) };
    let of = |error| {
        let mut end = Made::default();
        end.answers.push_back(Some(Err(error)));
        finished(&mut end, LOOK_UP, &RUNS).map_err(|broken| broken.at_agent(4))
    };
    assert_eq!(word(of(vanished())), "gone 4: p vanished: silent for 30s");
    let died = ControlError::WorkerEnded(LostBy::Exited { code: 3 });
    assert_eq!(word(of(died)), "lost Run: Exited { code: 3 }");
    let here = word::<()>(Err(fatal(vanished())));
    assert_eq!(here, "fatal: p vanished: silent for 30s");
    let other = Broken::Failed(Stage::Run, "x".into()).at_agent(4);
    assert_eq!(word::<()>(Err(other)), "failed Run: x");
    let failed = engines::Ended::Failed(Stage::Start, "y".into());
    assert_eq!(word::<()>(Err(failed.into())), "failed Start: y");
    assert_eq!(word::<()>(Err(engines::Ended::Stopped.into())), "stopped");
}
