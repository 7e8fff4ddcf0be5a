//! Known answers of the engine of studies: whose machine a study goes on with, what is left of it
//! and for how long, what to change by hand, and which settings a trial makes and puts back.

use narrows_model::host::{Host, Module, Nic, Slot};
use narrows_model::load::Role;
use narrows_model::record::{Fault, Lost, LostBy, Outcome, Record, Stage, Stamp};
use narrows_model::study::StoredStudy;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{NetworkPath, Trial, TrialId};
use narrows_model::workload::{Transport, Workload};
use narrows_model::{Bytes, Fact, Nanos};
use narrows_plan::study::Left;
use narrows_plan::{Step, run_ns};
use narrows_runner::controller::{receiver_job, record_of, sender_job, unmade};
use narrows_runner::outside::{Clock, Disk, Ends, HostSettings, Progress};
use narrows_runner::{
    AppliedSettings, Begun, Broken, Course, CourseEnd, Defined, Difference, MachinePart, Refusal,
    RunError, Schedule, SessionPlan, Setting, SettingError, Site, unlike,
};
use narrows_store::StoreError;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "test")
}

/// A host that has one of everything that is compared.
fn host() -> Host {
    let mut host = Host { name: known("a".to_owned()), ..Host::default() };
    host.product = known("R640".to_owned());
    host.kernel = known("6.1".to_owned());
    host.cpu.model = known("Xeon Gold 6248".to_owned());
    host.cpu.online = known(vec![0, 1]);
    let module = Module { size_bytes: Some(Bytes::gib(32)), is_dram: true, ..Module::default() };
    let slot = |locator: &str, module| Slot { locator: locator.into(), module, ..Slot::default() };
    host.memory.slots = known(vec![slot("A1", Some(module)), slot("B1", None)]);
    host.nics = vec![Nic { name: "eth0".into(), physical: true, ..Nic::default() }];
    host
}

fn site(host: Host) -> Site {
    Site { host, peers: Vec::new(), path: NetworkPath::Peer, interface: Some("eth0".into()) }
}

/// A study with a factor that is changed by hand and read from this fact.
fn read_from(pointer: &str) -> Defined {
    let level =
        |name: &str| format!("{{name = '{name}', when = {{facts = {{'{pointer}' = '{name}'}}}}}}");
    let text = format!(
        "name = 's'\nrepeats = 1\n[base]\nload = 'tcp-stream'\n[[factor]]\nname = 'f'\n\
         by = 'hand'\nlevels = [{}, {}]\n",
        level("one"),
        level("two")
    );
    Defined::parse(&text, false).expect(&text)
}

/// Hosts that differ from [`host`] in one part each.
fn others() -> Vec<(MachinePart, Host)> {
    let with = |part: MachinePart, change: &dyn Fn(&mut Host)| {
        let mut other = host();
        change(&mut other);
        (part, other)
    };
    vec![
        with(MachinePart::Name, &|host| host.name = known("b".into())),
        with(MachinePart::Product, &|host| host.product = known("R740".into())),
        with(MachinePart::Kernel, &|host| host.kernel = known("6.2".into())),
        with(MachinePart::Processor, &|host| host.cpu.model = known("EPYC 7742".into())),
        with(MachinePart::Cpus, &|host| host.cpu.online = known(vec![0])),
        with(MachinePart::Modules, &|host| {
            let Fact::Known { value: slots, .. } = &mut host.memory.slots else { return };
            let module = slots[0].module.as_mut().expect("a module");
            module.size_bytes = Some(Bytes::gib(64));
        }),
        with(MachinePart::Population, &|host| {
            let Fact::Known { value: slots, .. } = &mut host.memory.slots else { return };
            let module = slots[0].module.clone();
            slots[1].module = module;
        }),
        with(MachinePart::Nics, &|host| host.nics[0].name = "eth1".into()),
    ]
}

/// What a study that is read from a fact minds of these hosts.
fn minded(defined: &Defined, now: &[(MachinePart, Host)]) -> Vec<MachinePart> {
    let stored = StoredStudy::unmeasured(host());
    let differs = |host: &Host| unlike(defined, &stored, &site(host.clone()));
    now.iter().flat_map(|(_, host)| differs(host)).map(|one: Difference| one.part).collect()
}

#[test]
fn what_a_study_changes_by_hand_may_differ_and_nothing_else() {
    let others = others();
    let all: Vec<MachinePart> = others.iter().map(|(part, _)| *part).collect();
    for (pointer, may) in [
        ("/virtualised", &[] as &[MachinePart]),
        ("/memory/total_bytes", &[MachinePart::Population, MachinePart::Modules]),
        ("/nodes/0/id", &[MachinePart::Population, MachinePart::Modules]),
        ("/cpu/model", &[MachinePart::Processor, MachinePart::Cpus]),
        ("/nics/0/name", &[MachinePart::Nics]),
        ("/kernel", &[MachinePart::Kernel]),
        ("/product", &[MachinePart::Product]),
        ("/name", &[MachinePart::Name]),
    ] {
        let rest: Vec<MachinePart> =
            all.iter().copied().filter(|part| !may.contains(part)).collect();
        assert_eq!(minded(&read_from(pointer), &others), rest, "{pointer}");
    }
    let populated = "name = 's'\nrepeats = 1\n[base]\nload = 'tcp-stream'\n[[factor]]\nname = 'f'\n\
                     by = 'hand'\nslots_in_order = ['A1', 'B1']\n";
    let defined = Defined::parse(populated, false).expect("a study");
    let rest: Vec<MachinePart> =
        all.into_iter().filter(|part| *part != MachinePart::Population).collect();
    assert_eq!(minded(&defined, &others), rest);
}

/// Two cells of a network and one of memory, of four runs each.
const THREE: &str = "name = 's'\nrepeats = 4\nretries = 1\n[base]\nload = 'tcp-stream'\n\
    seconds = 2\nwarmup_seconds = 0.5\n[[factor]]\nname = 'what'\nlevels = [{name = 'plain'}, \
    {name = 'jumbo', mtu = 9000, offloads = {tso = false}, sysctl = {'net.ipv4.tcp_sack' = '0'}}, \
    {name = 'memory', load = 'memory-copy', size = '1M', mtu = 4000, \
    sysctl = {'vm.nr_hugepages' = '4', 'net.ipv4.tcp_sack' = '0'}}]\n";

fn planned(defined: &Defined) -> SessionPlan {
    let plan = SessionPlan::of(defined, &site(Host::default()), &BTreeMap::new(), &|_| None);
    plan.expect("a plan")
}

fn record(trial: &Trial, step: &Step, outcome: Outcome) -> Record {
    Record {
        trial: trial.id.clone(),
        repeat: step.repeat,
        block: step.block,
        outcome,
        reports: Vec::new(),
        around: Stamp::default(),
        session: 0,
        external: None,
    }
}

fn failed() -> Outcome {
    Outcome::Failed { at: Stage::Run, why: "planted".into(), fault: Fault::Machine }
}

#[test]
fn what_is_left_is_counted_in_runs_and_seconds() {
    let defined = Defined::parse(THREE, false).expect("a study");
    let plan = planned(&defined);
    let mut schedule = Schedule::new(&defined, 7, &plan);
    let seconds: Vec<f64> = plan.trials.iter().map(|trial| run_ns(trial).seconds()).collect();
    let all: f64 = seconds.iter().map(|one| 4.0 * one).sum();
    assert_eq!((schedule.seed(), schedule.runs_left()), (7, (12, all)));
    let steps = schedule.next_block();
    assert_eq!(steps.len(), 3);
    let step = |trial: usize| *steps.iter().find(|step| step.trial == trial).expect("each once");
    // The first is done once, the second fails twice, which is once too often.
    let made = [(0, Outcome::Done), (1, failed()), (1, failed())];
    let records = made.map(|(at, outcome)| record(&plan.trials[at], &step(at), outcome));
    schedule.made(&steps, &records);
    let left: Vec<Left> = schedule.all_left().collect();
    assert_eq!(left, [Left::Runs(3), Left::GivenUp, Left::Runs(4)]);
    let (runs, took) = schedule.runs_left();
    assert_eq!(runs, 7);
    assert!((took - (3.0 * seconds[0] + 4.0 * seconds[2])).abs() < 1e-9, "{took} s");
    // Those that fell behind come first.
    assert_eq!(schedule.next_block().iter().map(|step| step.trial).collect::<Vec<_>>(), [2]);
}

#[test]
fn cells_of_another_machine_wait_for_it_and_say_what_to_change() {
    let text = "name = 's'\nrepeats = 2\n[base]\nload = 'tcp-stream'\n[[factor]]\nname = 'cable'\n\
                by = 'hand'\nlevels = ['copper', 'fibre']\n[[factor]]\nname = 'length'\n\
                set = 'length'\nlevels = [64, 1024]\n";
    let defined = Defined::parse(text, false).expect("a study");
    let said = |level: &str| BTreeMap::from([("cable".to_owned(), level.to_owned())]);
    let of = |why: &dyn Fn(&Trial) -> Option<String>| {
        SessionPlan::of(&defined, &site(Host::default()), &said("copper"), why)
    };
    let plan = of(&|_| None).expect("a plan");
    let schedule = Schedule::new(&defined, 1, &plan);
    let fits: Vec<bool> = (0..4).map(|cell| schedule.fits(cell)).collect();
    assert_eq!(fits.iter().filter(|fits| **fits).count(), 2, "{fits:?}");
    let elsewhere = schedule.elsewhere(&plan);
    assert_eq!(elsewhere, (0..4).filter(|cell| !fits[*cell]).collect::<Vec<_>>());
    let changes = plan.changes(&defined, &elsewhere, &said("copper"));
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert!(changes[0].contains("fibre") && changes[0].ends_with("(2 cells)"), "{changes:?}");
    assert!(plan.changes(&defined, &[], &said("copper")).is_empty());
    // What can never run here waits for nothing.
    let short = |trial: &Trial| trial.params.message_bytes == Bytes(64);
    let plan = of(&|trial| short(trial).then(|| "too short".to_owned())).expect("a plan");
    let schedule = Schedule::new(&defined, 1, &plan);
    assert_eq!((schedule.elsewhere(&plan).len(), schedule.runs_left().0), (1, 2));
    assert_eq!(plan.cannot().into_values().collect::<Vec<_>>(), ["too short", "too short"]);
    assert!(plan.check_any_runs(None).is_ok());
    // Fibre alone is left, and is what others are compared with.
    let copper = |trial: &Trial| trial.level("cable") == Some("copper");
    let plan = of(&|trial| copper(trial).then(|| "no copper".to_owned())).expect("a plan");
    assert!(plan.check_any_runs(None).is_ok());
    let refused = plan.check_any_runs(Some(("cable", "fibre"))).expect_err("nothing to compare");
    assert!(refused.to_string().ends_with("no copper"), "{refused}");
    let plan = of(&|_| Some("no wire".to_owned())).expect("a plan");
    let refused = plan.check_any_runs(None).expect_err("no cell runs").to_string();
    assert!(refused.ends_with("no wire"), "{refused}");
    let wrong = BTreeMap::from([("colour".to_owned(), "red".to_owned())]);
    let wrong = SessionPlan::of(&defined, &site(Host::default()), &wrong, &|_| None);
    assert!(matches!(wrong, Err(Refusal::UnknownFactor(name)) if name == "colour"));
}

/// Before anything is run, a level that no fact tells is no refusal: what each cell needs is said.
#[test]
fn an_outlook_says_what_cells_need_of_a_machine_that_tells_nothing() {
    let text = "name = 's'\nrepeats = 2\n[base]\nload = 'tcp-stream'\n[[factor]]\nname = 'DIMMs'\n\
                by = 'hand'\nslots_in_order = ['6', '14']\n";
    let defined = Defined::parse(text, false).expect("a study");
    let (site, said) = (site(Host::default()), BTreeMap::new());
    let refused = SessionPlan::of(&defined, &site, &said, &|_| None);
    assert!(matches!(refused, Err(Refusal::Unread(_))));
    let plan = SessionPlan::outlook(&defined, &site, &said, &|_| None).expect("an outlook");
    assert_eq!(plan.unread.len(), 1);
    assert_eq!(plan.fits, [false, false], "whether they fit is not known");
    let schedule = Schedule::new(&defined, 1, &plan);
    let changes = plan.changes(&defined, &schedule.elsewhere(&plan), &said);
    let slots = ["DIMMs 1: modules in slots 6, and", "DIMMs 2: modules in slots 6, 14, and"];
    let told = slots.iter().zip(&changes).all(|(slots, told)| told.starts_with(slots));
    assert!(changes.len() == 2 && told, "{changes:?}");
    // What the user says is taken, as a run takes it.
    let said = BTreeMap::from([("DIMMs".to_owned(), "2".to_owned())]);
    let plan = SessionPlan::outlook(&defined, &site, &said, &|_| None).expect("an outlook");
    assert_eq!((plan.unread.len(), plan.fits), (0, vec![false, true]));
}

#[test]
fn the_head_of_a_file_says_how_its_study_was_begun() {
    let text = format!("about = 'why'\n{THREE}");
    let defined = Defined::parse(&text, false).expect("a study");
    let plan = planned(&defined);
    let begun = Begun { seed: 9, quick: true, peer: Some("b"), began_unix_ns: Nanos(5) };
    let head = begun.head(&defined, &plan);
    let title = head.title.expect("a title");
    assert_eq!((title.name.as_str(), title.about.as_str()), ("s", "why"));
    assert_eq!((head.seed, head.repeats, head.quick, head.together), (9, 4, true, false));
    assert_eq!((head.path, head.peer.as_deref()), (NetworkPath::Peer, Some("b")));
    assert_eq!((head.interfaces.first(), head.began_unix_ns), (Some("eth0"), Nanos(5)));
    assert_eq!(head.command, StudyKind::Study);
}

/// A host on which every setting is `was` until it is set.
#[derive(Default)]
struct Recorded {
    set: Vec<String>,
    is: BTreeMap<Setting, String>,
    refuses: Option<Setting>,
}

impl HostSettings for Recorded {
    fn interrupts(&self, _: Option<&str>) -> Vec<String> {
        Vec::new()
    }
    fn has_routes(&self) -> bool {
        true
    }
    fn get(&mut self, setting: &Setting) -> Result<String, SettingError> {
        Ok(self.is.get(setting).cloned().unwrap_or_else(|| "was".to_owned()))
    }
    fn set(&mut self, setting: &Setting, value: &str) -> Result<(), SettingError> {
        if self.refuses.as_ref() == Some(setting) {
            return Err(SettingError::NoInterface(setting.clone()));
        }
        self.set.push(format!("{setting}={value}"));
        self.is.insert(setting.clone(), value.to_owned());
        Ok(())
    }
    fn release(&mut self) {}
}

/// What a host is told to make it ready for a trial.
fn made(trial: &Trial, settings: &mut AppliedSettings, host: &mut Recorded) -> Vec<String> {
    settings.make(trial, host).expect("it is made");
    std::mem::take(&mut host.set)
}

#[test]
fn settings_are_made_for_a_trial_and_put_back_for_the_next() {
    let defined = Defined::parse(THREE, false).expect("a study");
    let trials = planned(&defined).trials;
    let at = |level: &str| {
        trials.iter().find(|trial| trial.level("what") == Some(level)).expect("a trial")
    };
    let (mut settings, mut host) = (AppliedSettings::of(&defined.cells), Recorded::default());
    assert!(made(at("plain"), &mut settings, &mut host).is_empty());
    let jumbo = ["mtu=9000", "offload tso=off", "sysctl net.ipv4.tcp_sack=0"];
    assert_eq!(made(at("jumbo"), &mut settings, &mut host), jumbo);
    // Of memory only the pages matter, and what is the network's may stay.
    assert_eq!(made(at("memory"), &mut settings, &mut host), ["sysctl vm.nr_hugepages=4"]);
    let plain = made(at("plain"), &mut settings, &mut host);
    let back = [
        "mtu=was",
        "offload tso=was",
        "sysctl net.ipv4.tcp_sack=was",
        "sysctl vm.nr_hugepages=was",
    ];
    assert_eq!(plain, back);
    assert!(settings.put_back(&mut host).is_empty() && host.set.is_empty(), "nothing is changed");
    // One that cannot be put back is told, and tried again.
    made(at("jumbo"), &mut settings, &mut host);
    host.refuses = Some(Setting::Mtu);
    assert_eq!(settings.put_back(&mut host).len(), 1);
    assert_eq!(host.set, ["sysctl net.ipv4.tcp_sack=was", "offload tso=was"], "the last first");
    host.refuses = None;
    host.set.clear();
    assert!(settings.put_back(&mut host).is_empty());
    assert_eq!(host.set, ["mtu=was"]);
}

/// Ends whose runs take twice as long as planned, on a clock that they move.
struct Slow<'a> {
    clock: &'a Seconds,
    planned: f64,
    fails: Option<usize>,
}

impl Ends for Slow<'_> {
    fn measure(&mut self, trials: &[Trial], step: &Step) -> Result<Vec<Record>, Broken> {
        self.clock.0.set(self.clock.0.get() + 2.0 * self.planned);
        match self.fails == Some(step.repeat as usize) {
            true => Err(Broken::Stopped),
            false => Ok(vec![record(&trials[step.trial], step, Outcome::Done)]),
        }
    }
    fn unmade(&mut self, trial: &Trial, step: &Step, outcome: Outcome) -> Record {
        record(trial, step, outcome)
    }
}

/// A clock that stands unless it is moved.
struct Seconds(Cell<f64>);

impl Clock for Seconds {
    fn now(&self) -> Nanos {
        Nanos(0)
    }
    fn elapsed(&self) -> Duration {
        Duration::from_secs_f64(self.0.get())
    }
    fn wait_until(&self, _due: Nanos, _stop: &AtomicBool) {}
}

#[derive(Default)]
struct Kept(RefCell<Vec<Record>>);

impl Disk for Kept {
    fn put_session(&self, _: &narrows_model::study::Session) -> Result<(), StoreError> {
        Ok(())
    }
    fn put_record(&self, record: &Record) -> Result<(), StoreError> {
        self.0.borrow_mut().push(record.clone());
        Ok(())
    }
    fn put_ended(&self, _: &narrows_model::study::Ended) -> Result<(), StoreError> {
        Ok(())
    }
}

#[test]
fn the_time_left_follows_how_long_runs_took() -> Result<(), RunError> {
    let defined = Defined::parse(THREE, false).expect("a study");
    let trials = planned(&defined).trials;
    let planned = run_ns(&trials[0]).seconds();
    let steps: Vec<Step> = (0..3).map(|repeat| Step { trial: 0, repeat, block: 0 }).collect();
    let (clock, kept, stop) = (Seconds(Cell::new(100.0)), Kept::default(), AtomicBool::new(false));
    let mut made = Slow { clock: &clock, planned, fails: None };
    let mut stopped = Slow { clock: &clock, planned, fails: Some(1) };
    let mut course = Course {
        trials: &trials,
        ends: &mut made,
        hosts: None,
        settings: None,
        disk: &kept,
        clock: &clock,
        stop: &stop,
        session: 3,
        left_out: 0,
    };
    let mut left = Vec::new();
    let progress = |progress: &Progress<'_>| {
        left.push((progress.done, progress.total, progress.left.as_secs_f64() / planned));
    };
    assert_eq!(course.run(&steps, progress, |_, _| {})?, CourseEnd::Complete);
    // As planned at first, then by what the runs took.
    for ((done, total, runs), wanted) in left.into_iter().zip([3.0, 4.0, 2.0]) {
        assert!(total == 3 && (runs - wanted).abs() < 1e-6, "run {done}: {runs} runs left");
    }
    assert!(kept.0.borrow().iter().all(|record| record.session == 3));
    course.ends = &mut stopped;
    kept.0.borrow_mut().clear();
    assert_eq!(course.run(&steps, |_| {}, |_, _| {})?, CourseEnd::Stopped);
    assert_eq!(kept.0.borrow().len(), 1, "what was stopped is no run");
    Ok(())
}

/// Ends that find each other in some cells.
struct Meeting<'a>(&'a [bool]);

impl Ends for Meeting<'_> {
    fn measure(&mut self, trials: &[Trial], step: &Step) -> Result<Vec<Record>, Broken> {
        let apart = Outcome::Failed { at: Stage::Start, why: String::new(), fault: Fault::Apart };
        let outcome = if self.0[step.trial] { Outcome::Done } else { apart };
        Ok(vec![record(&trials[step.trial], step, outcome)])
    }
    fn unmade(&mut self, trial: &Trial, step: &Step, outcome: Outcome) -> Record {
        record(trial, step, outcome)
    }
}

/// How many of four runs a cell has: one flow, four of them, UDP, and a probe of the path.
fn runs_made(meets: [bool; 4]) -> [usize; 4] {
    let defined = Defined::parse(THREE, false).expect("a study");
    let one = &planned(&defined).trials[0];
    let mut four = Trial { id: TrialId("four".into()), ..one.clone() };
    four.params.streams = 4;
    let udp = Workload::Stream(Transport::Udp);
    let udp = Trial { id: TrialId("udp".into()), kind: udp, ..one.clone() };
    let probe = Trial { id: TrialId("probe".into()), kind: Workload::PathProbe, ..one.clone() };
    let trials = [one.clone(), four, udp, probe];
    let steps: Vec<Step> = (0..4)
        .flat_map(|repeat| [1, 0, 2, 3].map(|trial| Step { trial, repeat, block: repeat }))
        .collect();
    let (clock, kept, stop) = (Seconds(Cell::new(0.0)), Kept::default(), AtomicBool::new(false));
    let mut course = Course {
        trials: &trials,
        ends: &mut Meeting(&meets),
        hosts: None,
        settings: None,
        disk: &kept,
        clock: &clock,
        stop: &stop,
        session: 0,
        left_out: 0,
    };
    let end = course.run(&steps, |_| {}, |_, _| {}).expect("a course");
    assert_eq!(end, CourseEnd::Complete);
    let left_out = course.left_out;
    let kept = kept.0.into_inner();
    assert_eq!(left_out, steps.len() - kept.len());
    trials.map(|trial| kept.iter().filter(|record| record.trial == trial.id).count())
}

#[test]
fn runs_whose_ends_never_meet_are_left_out() {
    assert_eq!(runs_made([true; 4]), [4; 4]);
    assert_eq!(runs_made([true, false, true, true]), [4; 4], "a filter that counts connections");
    assert_eq!(runs_made([false, false, true, true]), [2, 2, 4, 4], "one that drops TCP");
    assert_eq!(runs_made([false, false, false, true]), [2, 2, 2, 1], "and one probe of it is made");
    // More flows than those that meet say nothing of fewer.
    assert_eq!(runs_made([true, true, false, true]), [4, 4, 2, 4]);
}

/// What a run that broke off in this way becomes, while the user stops or does not.
fn broken(why: Broken, stops: bool) -> Result<Record, Broken> {
    let defined = Defined::parse(THREE, false).expect("a study");
    let trial = &planned(&defined).trials[0];
    let step = Step { trial: 0, repeat: 5, block: 3 };
    record_of(trial, &step, Err(why), Stamp::default(), &AtomicBool::new(stops))
}

#[test]
fn a_run_that_broke_off_says_where_and_by_what_kind_of_fault() {
    let lost = || Broken::Lost(Lost { at: Stage::Run, cause: LostBy::Killed { signal: 9 } });
    let told = || Broken::Told(Stage::Prepare, "full".into(), Fault::Filtered);
    let failed = || Broken::Failed(Stage::Start, "no CPU 7".into());
    for (why, at, fault) in [
        (lost(), Stage::Run, Fault::from(&LostBy::Killed { signal: 9 })),
        (told(), Stage::Prepare, Fault::Filtered),
        (failed(), Stage::Start, Fault::Machine),
    ] {
        let Ok(record) = broken(why, false) else { panic!("no record") };
        assert_eq!((record.repeat, record.block, record.reports.len()), (5, 3, 0));
        let Outcome::Failed { at: told_at, fault: told, .. } = record.outcome else {
            panic!("it is no run: {:?}", record.outcome);
        };
        assert_eq!((told_at, told), (at, fault));
    }
    // What breaks as the user stops was stopped, and is no failed run.
    for why in [lost(), told(), failed(), Broken::Stopped] {
        assert!(matches!(broken(why, true), Err(Broken::Stopped)));
    }
    let fatal = || Broken::Fatal(RunError::NoPeer);
    assert!(matches!(broken(fatal(), false), Err(Broken::Fatal(RunError::NoPeer))));
    assert!(matches!(broken(fatal(), true), Err(Broken::Fatal(RunError::NoPeer))));
}

#[test]
fn orders_are_for_the_end_that_they_name() {
    let defined = Defined::parse(THREE, false).expect("a study");
    let trial = &planned(&defined).trials[0];
    let sender = sender_job(trial).expect("an order");
    assert_eq!((sender.end, sender.address), (Role::Sender, Some([127, 0, 0, 1].into())));
    assert_eq!((&sender.kind, &sender.params), (&trial.kind, &trial.params));
    assert_eq!(sender.timeline, trial.timeline);
    let receiver = receiver_job(trial).expect("an order");
    assert_eq!((receiver.end, receiver.address), (Role::Receiver, None));
    assert_ne!(receiver.token, sender.token, "each run has its own");
    let step = Step { trial: 0, repeat: 1, block: 2 };
    let at_start =
        Outcome::Failed { at: Stage::Start, why: "no pages".into(), fault: Fault::Machine };
    let unmade = unmade(trial, &step, at_start.clone());
    assert_eq!((unmade.outcome, unmade.repeat, unmade.block), (at_start, 1, 2));
    let nobody = Trial { ends: Vec::new(), ..trial.clone() };
    assert!(sender_job(&nobody).is_err() && receiver_job(&nobody).is_err());
}
