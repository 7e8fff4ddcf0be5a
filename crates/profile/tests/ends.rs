//! What is made of the sampled stacks of two ends, of stacks that are counted by hand.

use narrows_model::host::Host;
use narrows_model::load::{EndReport, FlowTally, Params, ThreadUsage, Timeline};
use narrows_model::profile::{
    Function, Gap, Mode, NotProfiled, Profile, Profiled, SampledBy, SampledWhat, Stack, Task,
};
use narrows_model::record::{Fault, Outcome, Record, Reported, Stage, Stamp};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndSpec, NetworkPath, Trial, TrialId};
use narrows_model::{Bytes, Nanos};
use narrows_profile::{Class, EndProfile, Flame, changed, profiles};

/// A stack by the names of its functions, the innermost first; `=` before one of a program.
type Seen = (Task, &'static [&'static str], u64);

/// A profile in which a sample stands for ten of its unit.
fn profile(seen: &[Seen]) -> Profile {
    let mut functions: Vec<Function> = Vec::new();
    let stacks = seen.iter().map(|(task, names, samples)| {
        let frames = names.iter().map(|name| {
            let mode = if name.starts_with('=') { Mode::User } else { Mode::Kernel };
            functions.push(Function { name: name.replace('=', ""), mode, of: None });
            functions.len() as u32 - 1
        });
        let frames = frames.collect();
        Stack { task: *task, frames, samples: *samples, weight: 10 * samples }
    });
    let stacks = stacks.collect();
    Profile {
        by: SampledBy::CpuClock,
        what: SampledWhat::Host,
        targets: 2,
        per_second: 997,
        functions,
        stacks,
        lost: 3,
        outside: 0,
        reading_ns: Nanos(0),
        gaps: vec![Gap::NoCycles],
    }
}

/// An end on a machine, whose one thread ran for half a second.
fn end(machine: &str, sends: bool, profiled: Profiled) -> Box<EndReport> {
    let mut report = EndReport {
        flows: vec![FlowTally { sends, bytes: Bytes(2_000_000_000), ..FlowTally::default() }],
        threads: vec![ThreadUsage {
            user_ns: Nanos(100_000_000),
            system_ns: Nanos(400_000_000),
            ..ThreadUsage::default()
        }],
        profile: Some(profiled),
        ..EndReport::default()
    };
    report.effective.machine = Some(machine.to_owned());
    Box::new(report)
}

fn trial() -> Trial {
    Trial {
        id: TrialId("t".into()),
        label: "TCP".into(),
        kind: "tcp-stream".into(),
        params: Params::of_network(Bytes(1000), 1),
        ends: EndSpec::anywhere(false),
        path: NetworkPath::Peer,
        timeline: Timeline {
            warmup_ns: Nanos(0),
            window_ns: Nanos(1_000_000_000),
            cooldown_ns: Nanos(0),
            interval_ns: None,
        },
        levels: Vec::new(),
        notes: Vec::new(),
        engine: None,
    }
}

fn study(runs: Vec<Vec<Reported>>) -> StoredStudy {
    let trial = trial();
    let records = (0..).zip(runs).map(|(at, reports)| Record {
        trial: trial.id.clone(),
        repeat: at,
        block: at,
        outcome: Outcome::Done,
        reports,
        around: Stamp::default(),
        session: 0,
        external: None,
    });
    let records = records.collect();
    StoredStudy { trials: vec![trial], records, ..StoredStudy::unmeasured(Host::default()) }
}

/// 100 samples of a thread: 50 copies and 20 of TCP within two calls, 10 in the program, 20 of what
/// nobody knows; then what else ran on its host.
const SENDER: &[Seen] = &[
    (Task::Own, &["_copy_from_iter", "tcp_sendmsg", "__x64_sys_sendto", "do_syscall_64"], 40),
    (Task::Own, &["_copy_from_iter", "tcp_sendmsg", "__x64_sys_write.part.0", "do_syscall_64"], 10),
    (Task::Own, &["tcp_ack", "tcp_v4_rcv"], 20),
    (Task::Own, &["=main"], 10),
    (Task::Own, &["nobody_knows", "nor_this"], 20),
    (Task::Idle, &["tcp_ack", "net_rx_action", "do_idle"], 25),
    (Task::Idle, &["do_idle"], 7),
    (Task::Kernel, &["nobody_knows"], 5),
    (Task::Other, &["tcp_ack"], 11),
    (Task::Keeper, &["tcp_ack"], 13),
];

fn of(study: &StoredStudy) -> Vec<EndProfile> {
    let mut all = profiles(study);
    assert_eq!(all.iter().map(|one| one.label.as_str()).collect::<Vec<_>>(), ["TCP"]);
    all.remove(0).ends
}

fn both(machines: [&str; 2]) -> Vec<Reported> {
    let (sent, came) = (profile(SENDER), profile(&[(Task::Own, &["=main"], 4)]));
    let came = end(machines[1], false, Profiled::Taken(came));
    Reported::list(Some(came), Some(end(machines[0], true, Profiled::Taken(sent))), None)
}

#[track_caller]
fn close(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-9, "{value} for {wanted}");
}

#[test]
fn on_one_host_the_threads_alone_are_an_ends() {
    let ends = of(&study(vec![both(["a", "a"]), both(["a", "a"])]));
    let sender = &ends[0];
    assert_eq!((sender.name(), ends[1].name(), sender.runs), ("sender", "receiver", 2));
    assert_eq!((sender.by, sender.what), (Some(SampledBy::CpuClock), Some(SampledWhat::Host)));
    assert_eq!((sender.per_second, sender.lost, &*sender.gaps), (997, 6, &[Gap::NoCycles][..]));
    let told = sender.breakdown.as_ref().expect("samples");
    // Twice the 100 of one run; 25, 7 and 11 beside them, each twice. The keeper is nobody's.
    assert_eq!((told.samples, told.network_elsewhere, told.idle, told.others), (200, 50, 14, 22));
    close(told.outside_threads, 0.0);
    let classes: Vec<(Class, u64)> =
        told.classes.iter().map(|one| (one.class, one.samples)).collect();
    let wanted =
        [(Class::Copy, 100), (Class::TcpUdpIp, 40), (Class::Unclassified, 40), (Class::User, 20)];
    assert_eq!(classes, wanted);
    for (share, [part, sum]) in told.classes.iter().zip([[0.5, 0.5], [0.2, 0.7], [0.2, 0.9]]) {
        close(share.share, part);
        close(share.cumulative, sum);
    }
    // A second of threads for the 4 GB that arrived in two runs: a quarter a GB, half of it copies.
    close(told.classes[0].cpu_seconds_per_gigabyte.expect("bytes arrived"), 0.125);
    // Wilson: 1.96 sqrt(.25/200 + 1.96^2/160000) / (1 + 1.96^2/200).
    assert!((told.classes[0].by_chance - 0.06864).abs() < 1e-4, "{:?}", told.classes[0]);
    close(told.in_system_calls, 0.5);
    let calls: Vec<&str> = told.system_calls.iter().map(|one| &*one.name).collect();
    assert_eq!(calls, ["sendto", "write"], "the dearest first, without what a compiler adds");
    close(told.system_calls[0].share, 0.4);
    assert_eq!(told.unclassified[0].name, "nobody_knows < nor_this");
    assert_eq!(told.functions[0].name, "_copy_from_iter");
    assert_eq!(told.functions[0].class, Class::Copy);
    close(told.functions[0].share, 0.5);
    close(told.share(Class::Locks), 0.0);
    close(told.share(Class::User), 0.1);
}

#[test]
fn on_two_hosts_interrupts_for_the_network_are_the_ends_too() {
    let ends = of(&study(vec![both(["a", "b"])]));
    let told = ends[0].breakdown.as_ref().expect("samples");
    // 25 of an idle CPU's interrupts join the 100 of the thread; what else the kernel did does not.
    assert_eq!((told.samples, told.network_elsewhere, told.idle), (125, 25, 7));
    close(told.outside_threads, 0.2);
    close(told.share(Class::TcpUdpIp), 45.0 / 125.0);
    // The half second was read of the threads, which are 80 % of all that counts: 0.3125 a GB.
    let copies = told.classes.iter().find(|one| one.class == Class::Copy).expect("copies");
    close(copies.cpu_seconds_per_gigabyte.expect("bytes arrived"), 0.3125 * 0.4);
}

#[test]
fn a_flame_has_callers_outside_and_the_dearest_call_first() {
    let ends = of(&study(vec![both(["a", "a"])]));
    let root = &ends[0].flame;
    let shape = |flame: &Flame| -> Vec<(String, u64)> {
        flame.calls.iter().map(|call| (call.name.clone(), call.weight)).collect()
    };
    let named =
        |all: [(&str, u64); 4]| all.map(|(name, weight)| (name.to_owned(), weight)).to_vec();
    assert_eq!(root.weight, 1000, "ten a sample, of 100");
    let wanted = [("do_syscall_64", 500), ("nor_this", 200), ("tcp_v4_rcv", 200), ("main", 100)];
    assert_eq!(shape(root), named(wanted));
    let call = &root.calls[0];
    let inner: Vec<(String, u64)> = shape(call);
    assert_eq!(
        inner,
        [("__x64_sys_sendto".to_owned(), 400), ("__x64_sys_write.part.0".into(), 100)]
    );
    assert_eq!(call.calls[0].calls[0].calls[0].class, Some(Class::Copy));
    assert_eq!((root.calls[1].class, root.calls[3].class), (None, Some(Class::User)));
}

#[test]
fn runs_without_a_profile_say_why_each_once() {
    let denied = NotProfiled::Denied { paranoid: Some(4), capable: false };
    let run = |why: NotProfiled| {
        Reported::list(None, Some(end("a", true, Profiled::NotTaken(why))), None)
    };
    let ends =
        of(&study(vec![run(denied.clone()), run(denied.clone()), run(NotProfiled::NoEvents)]));
    assert_eq!(ends.len(), 1, "the receiver was not asked");
    assert_eq!(ends[0].not_taken, [denied, NotProfiled::NoEvents]);
    assert_eq!((ends[0].runs, ends[0].per_second, ends[0].by), (0, 0, None));
    assert!(ends[0].breakdown.is_none());
    let unasked = Reported::list(None, Some(Box::new(EndReport::default())), None);
    assert!(profiles(&study(vec![unasked])).is_empty());
    // A run that failed is no run.
    let mut failed = study(vec![both(["a", "a"])]);
    failed.records[0].outcome =
        Outcome::Failed { at: Stage::Run, why: "killed".into(), fault: Fault::default() };
    assert!(profiles(&failed).is_empty());
}

#[test]
fn what_changed_is_set_against_each_run_before() {
    let run = |copies: u64| {
        let seen: [Seen; 2] =
            [(Task::Own, &["_copy_from_iter"], copies), (Task::Own, &["tcp_ack"], 100 - copies)];
        Reported::list(None, Some(end("a", true, Profiled::Taken(profile(&seen)))), None)
    };
    let before = study((0..6).map(|at| run(20 + at)).collect());
    let after = study((0..6).map(|at| run(50 + at)).collect());
    let all = changed((&before, "TCP"), (&after, "TCP"));
    assert_eq!(all.len(), 1, "the receiver has no profile");
    assert_eq!((all[0].name(), all[0].runs, all[0].label.as_str()), ("sender", (6, 6), "TCP"));
    let copy = all[0].classes.iter().find(|one| one.class == Class::Copy).expect("copies");
    close(copy.before, 0.225);
    close(copy.after, 0.525);
    close(copy.difference, 0.30);
    assert!(copy.is_shown());
    // Of 36 differences, 1, 2 and 3 of which are five, four and three hundredths off, three are cut
    // at each side: U is at most 3 in 7 of 924 orders, which is below a quarter of 5 % for two
    // classes.
    let (low, high) = copy.interval.expect("six runs are enough");
    close(low, 0.27);
    close(high, 0.33);
    assert!(changed((&before, "TCP"), (&after, "UDP")).is_empty(), "no such trial");
}

#[test]
fn what_moved_nothing_has_shares_and_no_cost_a_byte() {
    let cost = |bytes: u64, tasks: &[Seen], machines: [&str; 2]| {
        let mut came = end(machines[1], false, Profiled::Taken(profile(&[])));
        came.flows[0].bytes = Bytes(bytes);
        let sent = end(machines[0], true, Profiled::Taken(profile(tasks)));
        let ends = of(&study(vec![Reported::list(Some(came), Some(sent), None)]));
        let told = ends[0].breakdown.as_ref().expect("samples");
        close(told.classes[0].share, 1.0);
        told.classes[0].cpu_seconds_per_gigabyte
    };
    let (own, idle): ([Seen; 1], [Seen; 1]) =
        ([(Task::Own, &["tcp_ack"], 10)], [(Task::Idle, &["tcp_ack"], 10)]);
    // Half a second of threads, for 0.5 GB and for a byte.
    close(cost(500_000_000, &own, ["a", "a"]).expect("bytes arrived"), 1.0);
    close(cost(1, &own, ["a", "a"]).expect("a byte arrived") / 5e8, 1.0);
    assert_eq!(cost(0, &own, ["a", "a"]), None);
    // Interrupts of an end whose threads were never seen: their time is nobody's.
    assert_eq!(cost(500_000_000, &idle, ["a", "b"]), None);
}
