//! The real engine of studies in a world that fails: kills, full disks, agents that go away, words
//! that are lost, clocks that jump and settings that cannot be written, at every step, ten thousand
//! times over. No finished run is lost, none is made twice, every run finds the host as its cell
//! asks for and leaves it as it was, and what sessions made together is what one would have made.
//!
//! `NARROWS_SEED=N` runs one seed and prints what its faults did; `NARROWS_SEEDS=N` so many.

mod ends;
mod world;

use crate::ends::{SimEnds, SimSettings, carries};
use crate::world::{Faults, Shared, SimAudience, SimClock, SimDisk, Where, World};
use narrows_model::record::{Outcome, Record};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{NetworkPath, TrialId};
use narrows_plan::study::Left;
use narrows_runner::outside::Outside;
use narrows_runner::{Begun, CourseEnd, Defined, Far, SessionPlan, StudyEngine, unlike};
use narrows_stats::{SearchEnd, Searched, searches};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::catch_unwind;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

const SEEDS: u64 = 10_000;
/// Starts of the process after which a study does not come to its end.
const STARTS_MAX: u32 = 2_000;

/// Levels that ask for different things of the host.
const LEVELS: [&str; 6] = [
    "{name='plain'}",
    "{name='jumbo', mtu=9000}",
    "{name='no offloads', offloads={gro=false, tso=false}, coalescing={rx-usecs=0}}",
    "{name='no stamps', mtu=1000, sysctl={'net.ipv4.tcp_timestamps'='0'}}",
    "{name='pages', load='memory-copy', size='1M', sysctl={'vm.nr_hugepages'='4'}}",
    "{name='memory', load='memory-read', size='1M', mtu=4000}",
];

/// One seed of so many searches for a rate.
const SEARCHES: u64 = 100;
const SEARCH: &str = "name = 'simulated'
retries = 100
[search]
rate_max_packets_per_second = 1e5
resolution_percent = 10
runs_max = 150
[base]
load = 'packets'
seconds = 0.1
warmup_seconds = 0.01
[[factor]]
name = 'frame'
levels = [{name='64 B'}, {name='1518 B', length=1518}]
";

/// Runs of a cell that stands beside searches.
const REPEATS_BESIDE: usize = 7;

/// Hosts that a study may name, in the order of its levels.
pub const HOSTS: [&str; 2] = ["near", "far"];

/// A study, and how it is run, drawn from a seed.
struct Case {
    seed: u64,
    text: String,
    /// Whether a factor is changed by hand.
    by_hand: bool,
    spread: bool,
    settings_are: Where,
    /// Whether cells are with one of two hosts, and the others on this host.
    names_hosts: bool,
    /// Which cell always fails, if one does.
    hopeless: Option<usize>,
    faults: Faults,
}

impl Case {
    fn of(seed: u64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut levels = LEVELS.to_vec();
        levels.shuffle(&mut random);
        levels.truncate(random.random_range(2..5));
        let namespaces = random.random_bool(0.5);
        let names_hosts = !namespaces && random.random_bool(0.5);
        let levels: Vec<String> = levels
            .iter()
            .enumerate()
            .map(|(at, level)| with_host(level, at, names_hosts))
            .collect();
        let spread = random.random_bool(0.3);
        let repeats = if spread { 4 } else { random.random_range(1..5) };
        let mut text = format!("name = 'simulated'\nrepeats = {repeats}\nretries = 25\n");
        if spread {
            text += "[spread]\nsessions = 2\napart_minutes = 30\n";
        } else if random.random_bool(0.4) {
            text += "[precision]\nwithin_percent = 3.5\nrepeats_max = 12\n";
        }
        text += "[base]\nload = 'tcp-stream'\nseconds = 0.1\nwarmup_seconds = 0.01\n";
        text += &format!("[[factor]]\nname = 'what'\nlevels = [{}]\n", levels.join(", "));
        let by_hand = !spread && random.random_bool(0.3);
        if by_hand {
            text += "[[factor]]\nname = 'cable'\nby = 'hand'\nlevels = ['copper', 'fibre']\n";
        }
        let settings_are = if namespaces { Where::Namespaces } else { Where::Host };
        let hopeless = random.random_bool(0.1).then(|| random.random_range(0..levels.len()));
        let faults = faults(&mut random);
        if seed % SEARCHES == SEARCHES - 1 {
            let (mut text, by_hand, spread) = (SEARCH.to_owned(), false, false);
            // Every second one has a cell that is repeated beside those that are searched.
            if seed / SEARCHES % 2 == 1 {
                text = format!("repeats = {REPEATS_BESIDE}\n{text}");
                text = text.replacen("levels = [", &format!("levels = [{}, ", LEVELS[5]), 1);
            }
            let hopeless = None;
            return Self {
                seed,
                text,
                by_hand,
                spread,
                settings_are,
                names_hosts: false,
                hopeless,
                faults,
            };
        }
        Self { seed, text, by_hand, spread, settings_are, names_hosts, hopeless, faults }
    }
}

/// A level with one of the hosts in turn, where hosts are named; memory is measured on this one.
fn with_host(level: &str, at: usize, names_hosts: bool) -> String {
    if !names_hosts || level.contains("load=") {
        return level.to_owned();
    }
    level.replacen('{', &format!("{{peers=['{}'], ", HOSTS[at % 2]), 1)
}

/// The hosts of a study, all of them there.
fn far_hosts(case: &Case) -> Vec<Far> {
    let far = |name: &str| Far {
        name: name.to_owned(),
        host: Default::default(),
        interface: Some("eth0".to_owned()),
        away: None,
        asked: true,
    };
    HOSTS.into_iter().filter(|_| case.names_hosts).map(far).collect()
}

/// Some kinds of faults, each now and then or often.
fn faults(random: &mut Pcg64) -> Faults {
    let mut faults = Faults::default();
    let shares = [
        &mut faults.kill,
        &mut faults.disk_full,
        &mut faults.peer_gone,
        &mut faults.message_lost,
        &mut faults.worker_dies,
        &mut faults.clock_jump,
        &mut faults.unwritable,
        &mut faults.half_written,
        &mut faults.stop,
    ];
    for share in shares {
        if random.random_bool(0.4) {
            *share = [0.001, 0.005, 0.015][random.random_range(0..3)];
        }
    }
    faults.guard_dies = 0.3;
    faults
}

/// What a study has come to.
struct Ran {
    records: Vec<Record>,
    left: Vec<Left>,
    /// What its searches have come to.
    searched: Vec<Searched>,
    /// How often the process was started.
    starts: u64,
    /// Runs that were made while a host was gone.
    went_on: u64,
}

fn path_of(case: &Case) -> NetworkPath {
    if case.settings_are == Where::Namespaces { NetworkPath::Namespaces } else { NetworkPath::Peer }
}

/// What is said on the command line of a factor that is changed by hand.
fn levels_said(case: &Case, cable: &str) -> BTreeMap<String, String> {
    let said = case.by_hand.then(|| ("cable".to_owned(), cable.to_owned()));
    said.into_iter().collect()
}

/// Starts the process until the study is over.
fn through(case: &Case, faults: Faults, print: bool) -> Ran {
    let defined = Defined::parse(&case.text, false).expect(&case.text);
    let mut cable = "copper";
    let site = narrows_runner::Site {
        host: Default::default(),
        peers: far_hosts(case),
        path: path_of(case),
        interface: Some("eth0".to_owned()),
    };
    let plan_of = |cable: &str| {
        SessionPlan::of(&defined, &site, &levels_said(case, cable), &|_| None).expect("a plan")
    };
    // What a start plans follows from its cable alone.
    let plans = BTreeMap::from(["copper", "fibre"].map(|cable| (cable, plan_of(cable))));
    let plan = &plans[cable];
    assert!(plan.missing.iter().all(Option::is_none), "{:?}", plan.missing);
    let begun =
        Begun { seed: case.seed, quick: false, peer: None, began_unix_ns: Default::default() };
    let world = World::new(case.seed, faults, case.settings_are, begun.head(&defined, plan));
    let world: Shared = Rc::new(RefCell::new(world));
    {
        let mut world = world.borrow_mut();
        world.stored.definition = Some(case.text.clone());
        world.stored.trials.clone_from(&plan.trials);
    }
    let hopeless: Vec<TrialId> =
        case.hopeless.iter().map(|cell| defined.cells[*cell].id.clone()).collect();
    for start in 0..STARTS_MAX {
        world.borrow_mut().begin_process();
        let plan = &plans[cable];
        let before = world.borrow().stored.records.len();
        let mut engine = begin(case, &defined, &world.borrow().stored, plan);
        let stop = Rc::clone(&world.borrow().stop);
        let ran = engine.run(&mut Outside {
            ends: &mut SimEnds {
                world: Rc::clone(&world),
                seed: case.seed,
                cells: defined.cells.clone(),
                hopeless: hopeless.clone(),
                names_hosts: case.names_hosts,
            },
            settings: &mut SimSettings(Rc::clone(&world)),
            disk: &SimDisk(Rc::clone(&world)),
            clock: &SimClock(Rc::clone(&world)),
            stop: &stop,
            audience: &mut SimAudience(Rc::clone(&world)),
        });
        world.borrow_mut().end_process();
        after_process(&world.borrow(), before, start);
        if print {
            let log = std::mem::take(&mut world.borrow_mut().log);
            let (runs, dead) = (world.borrow().stored.records.len(), world.borrow().dead);
            show(&world.borrow().stored.records[before..]);
            println!("start {start}: {ran:?}, dead {dead}, {runs} runs stored; {log:?}");
        }
        if world.borrow().dead || !matches!(ran, Ok(CourseEnd::Complete)) {
            continue;
        }
        if engine.schedule().elsewhere(plan).is_empty() {
            let left = engine.schedule().all_left().collect();
            let records = world.borrow().stored.records.clone();
            let went_on = world.borrow().went_on;
            let searched = searches(&world.borrow().stored);
            return Ran { records, left, searched, starts: u64::from(start) + 1, went_on };
        }
        cable = if cable == "copper" { "fibre" } else { "copper" };
    }
    panic!("no end after {STARTS_MAX} starts");
}

/// For who looks at one seed.
fn show(records: &[Record]) {
    for Record { session, block, repeat, trial, outcome, .. } in records {
        println!("  session {session} block {block} run {repeat} of {}: {outcome:?}", trial.0);
    }
}

/// A study begins, or goes on where one was begun.
fn begin<'a>(
    case: &Case,
    defined: &'a Defined,
    stored: &StoredStudy,
    plan: &'a SessionPlan,
) -> StudyEngine<'a> {
    if stored.sessions.is_empty() {
        return StudyEngine::begin(defined, case.seed, plan);
    }
    if stored.sessions.len() < 4 {
        assert!(unlike(defined, stored, &plan.site).is_empty());
    }
    StudyEngine::resume(defined, stored, plan)
}

/// What holds whenever the process is over, however it ended.
fn after_process(world: &World, before: usize, start: u32) {
    assert_eq!(world.settings, world.defaults, "settings are back after start {start}");
    let stored = &world.stored.records;
    assert!(stored.len() >= before, "{before} runs were stored, and {} are", stored.len());
    // In the order in which they were made; beside them are those of which a kill cut the news
    // short.
    let mut rest = stored.iter();
    for kept in &world.kept {
        assert!(rest.any(|stored| stored == kept), "a finished run was lost: {kept:?}");
    }
    let mut runs = BTreeSet::new();
    for record in stored {
        assert!(runs.insert((&record.trial, record.repeat)), "made twice: {record:?}");
        let known = world.stored.sessions.iter().any(|one| one.number == record.session);
        assert!(known, "a run of session {}, which is not stored", record.session);
    }
    let mut numbers = BTreeSet::new();
    assert!(world.stored.sessions.iter().all(|one| numbers.insert(one.number)), "sessions");
}

/// Of finished runs, what does not depend on when they were made.
fn finished(records: &[Record]) -> Vec<(TrialId, u32, Option<u64>)> {
    let done = records.iter().filter(|record| record.outcome == Outcome::Done);
    let bytes = |record: &Record| Some(record.receiver()?.flows.first()?.bytes.0);
    done.map(|record| (record.trial.clone(), record.block, bytes(record))).collect()
}

/// How often the process of this seed was started.
fn check(seed: u64, print: bool) -> [u64; 2] {
    let case = Case::of(seed);
    if print {
        println!("{}\n{:?}", case.text, case.faults);
    }
    let whole = through(&case, Faults::default(), false);
    let ran = through(&case, case.faults, print);
    assert_eq!(ran.left, whole.left, "what is left of each cell");
    assert_eq!(ran.searched, whole.searched, "what searches have come to");
    assert!(!ran.left.iter().any(|left| matches!(left, Left::Runs(_))), "{:?}", ran.left);
    let (mut ran_done, mut whole_done) = (finished(&ran.records), finished(&whole.records));
    if case.faults.fail_runs() || case.names_hosts {
        // A run that failed is made again at the end of its block, those of a host that was gone
        // when it is back.
        ran_done.sort();
        whole_done.sort();
    }
    assert_eq!(ran_done, whole_done, "finished runs, and their order");
    if case.spread && case.faults.clock_jump == 0.0 {
        apart(&ran.records);
        if !case.names_hosts {
            halves_apart(ran.records.iter());
        }
    }
    [ran.starts, ran.went_on]
}

/// The second half of a cell's blocks begins half an hour after the last run of its first half.
fn apart(records: &[Record]) {
    let cells: BTreeSet<&TrialId> = records.iter().map(|record| &record.trial).collect();
    for cell in cells {
        halves_apart(records.iter().filter(|record| record.trial == *cell));
    }
}

fn halves_apart<'a>(records: impl Iterator<Item = &'a Record>) {
    let (first, second): (Vec<&Record>, Vec<&Record>) =
        records.partition(|record| record.block < 4);
    let ended = |record: &&Record| record.around.began_unix_ns.0 + record.around.took_ns.0;
    let ended = first.iter().map(ended).max().unwrap_or_default();
    let began = second.iter().map(|record| record.around.began_unix_ns.0).min();
    assert!(began.is_none_or(|began| began >= ended + 1_800_000_000_000), "sessions are apart");
}

#[test]
fn a_cell_beside_searches_has_its_runs_and_grows_with_them() {
    let case = Case::of(2 * SEARCHES - 1);
    assert!(case.text.starts_with("repeats"), "{}", case.text);
    let cells = Defined::parse(&case.text, false).expect("a study").cells;
    let (searched, repeated): (Vec<_>, Vec<_>) =
        cells.iter().partition(|cell| cell.level("rate").is_some());
    assert!(
        searched.len() > 20 && repeated.len() == 1,
        "{} and {}",
        searched.len(),
        repeated.len()
    );
    let ran = through(&case, Faults::default(), false);
    assert_eq!(ran.searched.len(), 2);
    let own = |record: &&Record| record.trial == repeated[0].id;
    let blocks: Vec<u32> = ran.records.iter().filter(own).map(|record| record.block).collect();
    assert_eq!(blocks, (0..REPEATS_BESIDE as u32).collect::<Vec<u32>>());
    // A block has a run of each search that is not over and one of the cell.
    let first = ran.records.iter().filter(|record| record.block == 0).count();
    assert_eq!(first, 3);
}

#[test]
fn a_search_that_is_killed_at_any_step_finds_what_the_path_carries() {
    let (mut found, mut held) = (0, 0);
    for seed in (0..5000).filter(|seed| seed % SEARCHES == SEARCHES - 1) {
        let case = Case::of(seed);
        for searched in through(&case, case.faults, false).searched {
            let low = searched.passes.map_or(0.0, |rate| rate as f64);
            let high = searched.loses.map_or(f64::MAX, |rate| rate as f64);
            found += u32::from(searched.end == SearchEnd::Found);
            held += u32::from((low..high).contains(&carries(seed)));
        }
    }
    println!("of 100 searches {found} came to their end and {held} hold the capacity");
    assert!(found >= 95 && held >= 95, "{found} found, {held} hold the capacity");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect(name))
}

#[test]
fn studies_survive_faults_at_every_step_of_the_real_engine() {
    if let Some(seed) = number("NARROWS_SEED") {
        check(seed, true);
        return;
    }
    let seeds = number("NARROWS_SEEDS").unwrap_or(SEEDS);
    let next = AtomicU64::new(0);
    let (failed, starts) = (AtomicU64::new(u64::MAX), AtomicU64::new(0));
    let went_on = AtomicU64::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, SeqCst);
                    if seed >= seeds || failed.load(SeqCst) != u64::MAX {
                        return;
                    }
                    match catch_unwind(|| check(seed, false)) {
                        Ok([more, alone]) => {
                            starts.fetch_add(more, SeqCst);
                            went_on.fetch_add(alone, SeqCst);
                        }
                        Err(_) => drop(failed.fetch_min(seed, SeqCst)),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner();
    assert_eq!(
        failed,
        u64::MAX,
        "again, alone: NARROWS_SEED={failed} cargo test -p narrows-runner --test simulated"
    );
    let (starts, went_on) = (starts.into_inner(), went_on.into_inner());
    println!("{seeds} studies, {starts} starts of the process, {went_on} runs without a host");
    assert!(went_on > seeds / 10, "sessions go on without a host: {went_on} runs did");
    assert!(starts > 2 * seeds, "faults come: {starts} starts");
}
