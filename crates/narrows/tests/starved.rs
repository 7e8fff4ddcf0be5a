//! A starved machine is told from a defect: what the tests that need CPU time rely on.

mod common;

use common::starved::{Made, OTHERS_MIN, Process, Ticks, machine, own, process, tried};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::process::Command;

#[test]
fn times_of_machine_and_processes_are_read() {
    // user nice system idle iowait irq softirq steal guest guest_nice
    let stat = "cpu  100 20 30 400 5 6 7 8 9 1\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
    assert_eq!(machine(stat), (576, 158));
    assert_eq!(machine(""), (0, 0));
    // A name with a bracket and spaces; 7, 3, 20 and 4 ticks.
    let stat = "42 (a) b (c) S 7 42 42 0 -1 4194304 1 2 3 4 7 3 20 4 20 0 1 0";
    let found = process(stat).expect("a process");
    assert_eq!((found.parent, found.ticks), (7, 34));
    assert!(process("42 (a").is_none() && process("42 (a) S 7").is_none());
}

#[test]
fn children_and_the_kernels_threads_are_ones_own() {
    let of = |parent, ticks| Process { parent, ticks };
    let processes = BTreeMap::from([
        (1, of(0, 1000)),
        (2, of(0, 1)),
        (9, of(2, 10)),
        (50, of(1, 100)),
        (51, of(50, 200)),
        (40, of(51, 400)),
        (60, of(1, 5000)),
    ]);
    assert_eq!(own(&processes, 50), 711);
    let ticks = |all, programs, own| Ticks { all, programs, own };
    let share = ticks(1000, 300, 100).others_until(&ticks(1400, 600, 200));
    assert!((share - 0.5).abs() < 1e-9, "{share}");
    // Time of a process that ended may be counted late: never less than none.
    assert!(ticks(1000, 300, 100).others_until(&ticks(1400, 310, 200)).abs() < 1e-9);
}

/// Works until half a second has passed.
fn work() {
    let began = std::time::Instant::now();
    while began.elapsed().as_millis() < 500 {
        std::hint::black_box(0);
    }
}

#[test]
fn a_failure_says_nothing_only_where_others_had_the_cpus() {
    // What passes is made once, whatever others do.
    let made = Cell::new(0);
    assert_eq!(tried(|| made.set(made.get() + 1)), Made::Passed);
    assert_eq!(made.get(), 1);
    // Two for each CPU, of nobody's: their parent is gone, so their time is not this test's. They
    // end with this file, lest they take the CPUs from the tests that follow.
    let wanted = common::folder("starved-hogs").join("wanted");
    std::fs::write(&wanted, "").expect("file");
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let hog = "for i in $(seq $0); do
      (exec timeout 20 sh -c 'while [ -e \"$0\" ]; do :; done' \"$1\" &)
    done";
    let hogs = (2 * cpus).to_string();
    let started = Command::new("sh").args(["-c", hog, &hogs]).arg(&wanted).status();
    assert!(started.expect("sh").success());
    std::thread::sleep(std::time::Duration::from_millis(200));
    let made = Cell::new(0);
    let starved = tried(|| {
        made.set(made.get() + 1);
        work();
        panic!("planted: it fails each time");
    });
    assert!(matches!(starved, Made::Starved(others) if others >= OTHERS_MIN), "{starved:?}");
    assert_eq!(made.get(), 3);
    // One that passes the second time was starved before.
    let made = Cell::new(0);
    let second = tried(|| {
        made.set(made.get() + 1);
        work();
        assert!(made.get() > 1, "planted: it fails once");
    });
    assert_eq!((second, made.get()), (Made::Passed, 2));
    std::fs::remove_file(&wanted).expect("the hogs end");
}

/// Whether the lab goes on after tests that said this.
fn lab_goes_on(said: &str) -> bool {
    let log = common::folder("starved-skips").join("log");
    std::fs::write(&log, format!("running 1 test\n{said}\ntest a ... ok\n")).expect("log");
    let lab = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/steps/skips");
    let done = Command::new("bash").arg(lab).arg(&log).arg("0").output().expect("bash");
    done.status.success()
}

#[test]
fn the_lab_knows_what_a_starved_test_says_and_hides_no_other() {
    assert!(lab_goes_on(""));
    for share in [20, 45, 99, 100] {
        assert!(lab_goes_on(&format!("skipped: x: starved: others had {share} % of the CPU time")));
    }
    for said in [
        "skipped: x: starved: others had 19 % of the CPU time",
        "skipped: x: starved: others had 5 % of the CPU time",
        "skipped: x: starved",
        "skipped: x: starved: others had 45 % of the CPU time, it seems",
        "skipped: x: for no reason",
    ] {
        assert!(!lab_goes_on(said), "{said}");
    }
}
