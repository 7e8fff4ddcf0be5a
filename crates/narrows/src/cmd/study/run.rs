//! `narrows study run` and `narrows study resume`: sits until nothing is left that fits the
//! machine.

use super::sitting::Sitting;
use super::{Defined, same};
use crate::args::{ResumeArgs, RunArgs, SittingArgs};
use crate::cause::Cause;
use crate::cmd::own_binary;
use crate::failure::{Failure, PRECISION, VERDICT};
use crate::progress::Shown;
use crate::watch::{State, Watch};
use crate::{output, stop};
use narrows_model::Nanos;
use narrows_model::SCHEMA_VERSION;
use narrows_model::record::{Outcome, Record};
use narrows_model::study::{Ended, Session, Spread, StoredStudy, Study, Title};
use narrows_model::trial::{Trial, TrialId};
use narrows_plan::Step;
use narrows_plan::study::{Count, Cut, Definition, Left, due, left, next_block};
use narrows_run::controller::{Course, CourseEnd, Progress};
use narrows_run::launch::container::Launcher;
use narrows_run::{RunError, guard, key};
use narrows_stats::{Looks, is_precise, value_of};
use narrows_store::Store;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a stored run, about, with one flow and tenths of a second of a second's window (as
/// files of this version are).
const RECORD_BYTES: u64 = 6_000;
/// How often a wait looks whether it is to stop.
const WAIT_STEP: Duration = Duration::from_millis(50);
/// Bytes more for each flow or slice.
const SLICE_BYTES: u64 = 150;

/// `narrows study run FILE`.
pub fn run(args: &RunArgs) -> Result<u8, Failure> {
    check_terminal(&args.sitting)?;
    let text =
        std::fs::read_to_string(&args.file).map_err(|error| Failure::unread(&args.file, &error))?;
    let defined = Defined::parse(&text, args.quick, &args.file)?;
    output::check_folder(&args.out)?;
    let end = if args.quick { "-quick" } else { "" };
    let file = args.out.join(format!("{}{end}.narrows", defined.definition.name));
    if file.exists() {
        let says = format!("{} exists already and is not overwritten", file.display());
        return Err(Failure::of(Cause::STUDY_BEGUN, says));
    }
    let mut sitting = Sitting::begin(&defined, &args.sitting, None)?;
    let drawn = || key::chance().map(narrows_plan::seed_from);
    let seed = args.seed.or(defined.definition.seed).map_or_else(drawn, Ok)?;
    let mut tally = Tally::new(&defined, seed, &sitting);
    if args.sitting.dry_run {
        return plan(&defined, &sitting, &tally);
    }
    let study = Study {
        schema_version: SCHEMA_VERSION,
        narrows_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: "study".to_owned(),
        seed,
        repeats: defined.definition.repeats,
        path: sitting.path,
        peer: args.sitting.peer.clone(),
        title: Some(Title {
            name: defined.definition.name.clone(),
            about: defined.definition.about.clone(),
        }),
        reading: defined.definition.report.clone(),
        precision: defined.definition.precision,
        spread: defined.definition.spread,
        quick: args.quick,
        together: false,
        interface: sitting.interface.clone(),
        began_unix_ns: output::now(),
        path_mtu_bytes: None,
        cache_bytes: sitting.host.last_level_cache_bytes(),
        memory_node: None,
    };
    if let Some(why) = sitting.missing.iter().cloned().collect::<Option<Vec<String>>>() {
        let says = format!("no cell can run here: {}", why.first().cloned().unwrap_or_default());
        return Err(Failure::of(Cause::NO_CELL_RUNS, says));
    }
    let mut draft = Store::draft(&file, &study, &sitting.host)?;
    draft.put_definition(&text)?;
    draft.put_trials(&sitting.trials)?;
    draft.put_peer_hosts(&sitting.peer_hosts)?;
    let store = draft.publish()?;
    let sat = sit_all(&defined, &mut sitting, &store, &mut tally, 0, args.sitting.tui)?;
    finish(&defined, &sitting, &tally, &file, &args.sitting, &sat)
}

/// `narrows study resume FILE`.
pub fn resume(args: &ResumeArgs) -> Result<u8, Failure> {
    check_terminal(&args.sitting)?;
    let stored = narrows_store::read(&args.file)?;
    let defined = Defined::of(&stored, &args.file)?;
    let peer = stored.study.peer.as_deref();
    let mut sitting = Sitting::begin(&defined, &args.sitting, peer)?;
    if sitting.path != stored.study.path {
        let was = format!("{:?}", stored.study.path).to_lowercase();
        let says = format!(
            "the study ran its network cells over: {was}; now they would go {}",
            sitting.path_says()
        );
        return Err(Failure::of(Cause::OTHER_PATH, says));
    }
    same::check(&defined, &stored, &sitting, args.changed)?;
    let mut tally = Tally::new(&defined, stored.study.seed, &sitting);
    tally.take(&stored);
    if args.sitting.dry_run {
        return plan(&defined, &sitting, &tally);
    }
    let store = Store::open(&args.file)?;
    let number = stored.sessions.iter().map(|session| session.number + 1).max().unwrap_or(0);
    let sat = sit_all(&defined, &mut sitting, &store, &mut tally, number, args.sitting.tui)?;
    finish(&defined, &sitting, &tally, &args.file, &args.sitting, &sat)
}

/// `narrows study restore`.
pub fn restore() -> Result<u8, Failure> {
    let restored = guard::restore()?;
    output::print(&format!("{restored} settings put back\n"))?;
    Ok(0)
}

fn looks(definition: &Definition, longest: usize) -> Option<Looks> {
    definition.precision.map(|precision| Looks::new(&precision, definition.repeats, longest))
}

/// What is stored of every cell, as far as the next run depends on it.
struct Tally<'a> {
    defined: &'a Defined,
    cut: Cut,
    counts: Vec<Count>,
    values: Vec<Vec<f64>>,
    /// The last block of each cell that is stored, and when its last run ended.
    latest: Vec<Option<(u32, Nanos)>>,
    index: BTreeMap<TrialId, usize>,
    trials: Vec<Trial>,
    /// Intervals that hold at every look, where the study stops at a precision.
    looks: Option<Looks>,
}

impl<'a> Tally<'a> {
    fn new(defined: &'a Defined, seed: u64, sitting: &Sitting) -> Self {
        let can = sitting.fits.iter().zip(&sitting.missing);
        let counts = can
            .map(|(fits, missing)| Count { fits: *fits && missing.is_none(), ..Count::default() });
        let ids = defined.cells.iter().enumerate().map(|(at, cell)| (cell.id.clone(), at));
        Self {
            defined,
            cut: Cut::of(&defined.definition, seed),
            counts: counts.collect(),
            values: vec![Vec::new(); defined.cells.len()],
            latest: vec![None; defined.cells.len()],
            index: ids.collect(),
            trials: sitting.trials.clone(),
            looks: looks(&defined.definition, 0),
        }
    }

    /// Counts what a file holds.
    fn take(&mut self, stored: &StoredStudy) {
        stored.records.iter().for_each(|record| self.add(record));
        let longest = self.values.iter().map(Vec::len).max().unwrap_or(0);
        self.looks = looks(&self.defined.definition, longest);
        (0..self.counts.len()).for_each(|cell| self.judge(cell));
    }

    fn add(&mut self, record: &Record) {
        let Some(cell) = self.index.get(&record.trial).copied() else { return };
        let around = &record.around;
        let ended = Nanos(around.began_unix_ns.0.saturating_add(around.took_ns.0));
        let (block, before) = self.latest[cell].unwrap_or_default();
        self.latest[cell] = Some((block.max(record.block), before.max(ended)));
        let count = &mut self.counts[cell];
        match record.outcome {
            Outcome::Done => count.done += 1,
            Outcome::Failed { .. } => count.failed += 1,
        }
        self.values[cell]
            .extend(value_of(&self.trials[cell], record).map(|(value, _)| value.value));
    }

    fn judge(&mut self, cell: usize) {
        if let Some(precision) = &self.defined.definition.precision {
            // The very interval that is printed.
            let interval = self.looks.as_ref().and_then(|looks| {
                let unit = narrows_model::result::Unit::Share;
                looks.interval(&self.values[cell], unit)
            });
            let share = precision.within_percent / 100.0;
            self.counts[cell].precise = interval.is_some_and(|of| is_precise(&of, share));
        }
    }

    fn left(&self, cell: usize) -> Left {
        left(&self.cut, &self.counts[cell])
    }

    /// When these runs may begin, if that is not now.
    fn due(&self, steps: &[Step]) -> Option<Nanos> {
        let fitting = self.latest.iter().zip(&self.counts).filter(|(_, count)| count.fits);
        let latest = fitting.filter_map(|(latest, _)| *latest);
        let latest = latest.reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)));
        due(&self.cut, steps.first()?.block, latest).filter(|due| *due > output::now())
    }

    /// Runs that are left at least, and how long they take.
    fn runs_left(&self) -> (u64, f64) {
        let fitting = (0..self.counts.len()).filter(|cell| self.counts[*cell].fits);
        fitting.fold((0, 0.0), |(runs, seconds), cell| match self.left(cell) {
            Left::Runs(n) => {
                let one = narrows_plan::run_ns(&self.trials[cell]).seconds();
                (runs + u64::from(n), seconds + f64::from(n) * one)
            }
            _ => (runs, seconds),
        })
    }

    /// Cells that want runs on a machine that is changed by hand.
    fn elsewhere(&self, sitting: &Sitting) -> Vec<usize> {
        let wants = |cell: &usize| {
            !sitting.fits[*cell]
                && sitting.missing[*cell].is_none()
                && matches!(self.left(*cell), Left::Runs(_))
        };
        (0..self.counts.len()).filter(wants).collect()
    }
}

/// Says what would be run.
fn plan(defined: &Defined, sitting: &Sitting, tally: &Tally<'_>) -> Result<u8, Failure> {
    let (runs, seconds) = tally.runs_left();
    let bytes: u64 = (0..tally.counts.len())
        .filter(|cell| tally.counts[*cell].fits)
        .map(|cell| match tally.left(cell) {
            Left::Runs(n) => u64::from(n) * record_bytes(&tally.trials[cell]),
            _ => 0,
        })
        .sum();
    let mut text = format!(
        "{}: {} cells, {runs} runs fit this machine, {}, about {}; network cells go {}; seed {}\n",
        defined.definition.name,
        defined.cells.len(),
        output::lasting(seconds),
        narrows_model::Bytes(bytes),
        sitting.path_says(),
        tally.cut.seed,
    );
    for step in next_block(&tally.cut, &tally.counts) {
        let trial = &tally.trials[step.trial];
        text += &format!("  block {}, run {}: {}\n", step.block, step.repeat, trial.label);
    }
    text += &format!("then again, in another order, up to {} runs a cell\n", tally.cut.repeats);
    if let Some(spread) = &tally.cut.spread {
        let Spread { sessions, apart_minutes } = spread;
        text += &format!("in {sessions} sessions, at least {apart_minutes} minutes apart\n");
    }
    text += &cannot(sitting);
    let elsewhere = tally.elsewhere(sitting);
    for change in sitting.changes(defined, &elsewhere, &BTreeMap::new()) {
        text += &format!("by hand: {change}\n");
    }
    output::print(&text)?;
    Ok(0)
}

fn record_bytes(trial: &Trial) -> u64 {
    let slices = trial.timeline.window_ns.0 / 100_000_000;
    RECORD_BYTES + SLICE_BYTES * (2 * slices + 4 * u64::from(trial.params.flows()))
}

/// Cells that cannot run whatever is done by hand, each reason once.
fn cannot(sitting: &Sitting) -> String {
    let mut whys = BTreeMap::<&str, Vec<&str>>::new();
    for (trial, why) in sitting.trials.iter().zip(&sitting.missing) {
        if let Some(why) = why {
            whys.entry(why).or_default().push(&trial.label);
        }
    }
    let line = |(why, labels): (&str, Vec<&str>)| {
        let first = labels.first().copied().unwrap_or_default();
        let cells = narrows_report::words::counted(labels.len(), "cell");
        format!("cannot run: {cells} such as '{first}': {why}\n")
    };
    whys.into_iter().map(line).collect()
}

/// Makes sure that there is a terminal to fill, before anything is written.
fn check_terminal(args: &SittingArgs) -> Result<(), Failure> {
    match args.tui && !std::io::stdout().is_terminal() {
        true => Err(Failure::of(Cause::NOT_A_TERMINAL, "--tui needs a terminal")),
        false => Ok(()),
    }
}

/// The view of a study, with the runs that it has already.
fn watch(defined: &Defined, sitting: &Sitting, store: &Store) -> Result<Watch, Failure> {
    let records = narrows_store::read(store.path())?.records;
    let definition = &defined.definition;
    let state = State::new(&definition.name, definition.repeats, &sitting.trials, &records);
    Watch::begin(state)
        .map_err(|error| Failure::of(Cause::NO_TERMINAL, format!("the terminal: {error}")))
}

/// How a session ended.
enum Sat {
    /// It was the last one, and the study ended in this way.
    End(CourseEnd),
    /// Until the next session may begin.
    Until(Nanos),
}

/// Sits, and waits between the sessions that a study is spread over.
fn sit_all(
    defined: &Defined,
    sitting: &mut Sitting,
    store: &Store,
    tally: &mut Tally<'_>,
    first: u32,
    tui: bool,
) -> Result<CourseEnd, Failure> {
    let stop = stop::flag()?;
    for number in first.. {
        let due = match sit(defined, sitting, store, tally, number, &stop, tui)? {
            Sat::End(end) => return Ok(end),
            Sat::Until(due) => due,
        };
        let left = Duration::from_nanos(due.0.saturating_sub(output::now().0));
        note!(
            "this session is done; the next begins in {}. Ctrl-C stops here, and then: narrows \
             study resume {}",
            output::lasting(left.as_secs_f64()),
            store.path().display()
        );
        while output::now() < due {
            if stop.load(Ordering::Relaxed) {
                return Ok(CourseEnd::Stopped);
            }
            std::thread::sleep(WAIT_STEP);
        }
    }
    Ok(CourseEnd::Complete)
}

/// Runs blocks until nothing is left that fits, or the session's are made, and notes the session.
/// What was measured stays whatever happens.
fn sit(
    defined: &Defined,
    sitting: &mut Sitting,
    store: &Store,
    tally: &mut Tally<'_>,
    number: u32,
    stop: &AtomicBool,
    tui: bool,
) -> Result<Sat, Failure> {
    let mut session = Session {
        number,
        began_unix_ns: output::now(),
        narrows_version: env!("CARGO_PKG_VERSION").to_owned(),
        host: sitting.host.clone(),
        peer_hosts: sitting.peer_hosts.clone(),
        path: sitting.path,
        levels: sitting.levels.clone(),
        cannot: sitting.cannot(),
        ended: None,
    };
    store.put_session(&session)?;
    cannot(sitting).lines().for_each(output::note);
    let mut shown = match tui {
        true => Shown::watching(watch(defined, sitting, store)?),
        false => Shown::new(),
    };
    let ran = blocks(defined, sitting, store, tally, number, stop, &mut shown);
    shown.clear();
    let ended = match &ran {
        Ok(Sat::End(CourseEnd::Complete) | Sat::Until(_)) => Ended::Complete,
        Ok(Sat::End(CourseEnd::Stopped)) => {
            Ended::Interrupted { why: "stopped by the user".into() }
        }
        Err(error) => Ended::Interrupted { why: error.to_string() },
    };
    session.ended = Some(ended.clone());
    let stored = store.put_session(&session).and_then(|()| store.put_ended(&ended));
    match (ran, stored) {
        (Err(error), _) => {
            let file = store.path().display();
            note!("finished runs are kept; go on with: narrows study resume {file}");
            Err(error.into())
        }
        (Ok(_), Err(error)) => Err(error.into()),
        (Ok(end), Ok(())) => Ok(end),
    }
}

fn blocks(
    defined: &Defined,
    sitting: &mut Sitting,
    store: &Store,
    tally: &mut Tally<'_>,
    session: u32,
    stop: &AtomicBool,
    shown: &mut Shown,
) -> Result<Sat, RunError> {
    let trials = sitting.trials.clone();
    let shown = RefCell::new(shown);
    let settings = defined.cells.iter().map(|cell| (cell.id.clone(), &cell.settings)).collect();
    let binary = own_binary().map_err(|failure| RunError::Machine(failure.says().to_owned()))?;
    let mut guard = None;
    let (ends, mut ready) = sitting.parts(settings, &mut guard);
    let mut before = |trial: &Trial| ready.for_trial(trial);
    let mut course = Course {
        trials: &trials,
        launcher: Launcher::plain(binary),
        ends,
        store,
        stop,
        session,
        before: Some(&mut before),
    };
    let (began, mut made) = (Instant::now(), 0u64);
    let (_, planned) = tally.runs_left();
    loop {
        let steps = next_block(&tally.cut, &tally.counts);
        if steps.is_empty() {
            return Ok(Sat::End(CourseEnd::Complete));
        }
        if let Some(due) = tally.due(&steps) {
            return Ok(Sat::Until(due));
        }
        let (runs_left, seconds_left) = tally.runs_left();
        let mut records: Vec<Record> = Vec::new();
        let past = planned - seconds_left;
        let pace = if past > 0.0 { began.elapsed().as_secs_f64() / past } else { 1.0 };
        let of_block: f64 =
            steps.iter().map(|s| narrows_plan::run_ns(&trials[s.trial]).seconds()).sum();
        let later = (seconds_left - of_block).max(0.0) * pace;
        let progress = |progress: &Progress<'_>| {
            shown.borrow_mut().step(&Progress {
                done: made as usize + progress.done,
                total: (made + runs_left) as usize,
                label: progress.label,
                left: progress.left + Duration::from_secs_f64(later),
            });
        };
        let ran = course.run(&steps, progress, |_, record| {
            records.push(record.clone());
            if let Some(trial) = trials.iter().find(|trial| trial.id == record.trial) {
                shown.borrow_mut().ran(trial, record);
            }
        });
        made += records.len() as u64;
        records.iter().for_each(|record| tally.add(record));
        steps.iter().for_each(|step| tally.judge(step.trial));
        if ran? == CourseEnd::Stopped {
            return Ok(Sat::End(CourseEnd::Stopped));
        }
    }
}

/// Prints the results and what is to be done by hand; the exit code.
fn finish(
    defined: &Defined,
    sitting: &Sitting,
    tally: &Tally<'_>,
    file: &Path,
    args: &SittingArgs,
    end: &CourseEnd,
) -> Result<u8, Failure> {
    let stored = narrows_store::read(file)?;
    let analysis = narrows_report::Analysis::of(&stored);
    output::print_report(output::format(&args.format), &analysis)?;
    let said = args.at.iter().cloned().collect();
    let elsewhere = tally.elsewhere(sitting);
    let changes = sitting.changes(defined, &elsewhere, &said);
    if !changes.is_empty() {
        note!("left for another state of the machine, any of:");
        changes.iter().for_each(|change| note!("  {change}"));
        note!("then: narrows study resume {}", file.display());
    }
    output::made(file, "")?;
    if *end == CourseEnd::Stopped {
        note!("go on with: narrows study resume {}", file.display());
    } else {
        output::nothing_measured(file)?;
    }
    let lefts: Vec<Left> = (0..tally.counts.len()).map(|cell| tally.left(cell)).collect();
    let verdict = match () {
        () if lefts.contains(&Left::GivenUp) => VERDICT,
        () if lefts.contains(&Left::NotPrecise) => PRECISION,
        () => 0,
    };
    Ok(output::exit_code(end, verdict))
}
