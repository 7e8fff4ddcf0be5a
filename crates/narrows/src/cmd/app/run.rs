//! One run of the application, in a folder of its own, and what it wrote.

use super::rig::Rig;
use crate::cmd::launcher::{Done, How, KEPT_BYTES, ended, why};
use crate::failure::Failure;
use crate::output;
use narrows_app::cells::AppCell;
use narrows_app::contract::{COMMUNICATION, CPU_HAD, CPU_USE, Contract, FIGURE, NoFigure, SYSTEM};
use narrows_app::definition::Definition;
use narrows_app::filled::filled;
use narrows_app::scaling::{STARVED, WRONG};
use narrows_model::Nanos;
use narrows_model::record::{External, Fault, Figure, Outcome, Stage};
use narrows_model::units::Unit;
use nix::fcntl::OFlag;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use thiserror::Error;

/// The most that is read of a file of the application, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// The most that is stored of what it wrote, in bytes.
const STORED_BYTES: usize = 4 << 10;

/// A run that was made.
pub struct Ran {
    pub outcome: Outcome,
    /// What was run, and its figures.
    pub external: External,
    /// When it began, Unix time, and how long launcher and ranks took.
    pub times: [Nanos; 2],
}

/// A folder that goes with this.
pub struct Folder(pub PathBuf);

impl Folder {
    /// A new one, which nobody else enters.
    pub fn make() -> Result<Self, Failure> {
        let path = output::passing_folder("app");
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| output::unwritable(&path, &error))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a cell once; `None` where the user stopped it.
pub fn run(rig: &Rig<'_>, cell: &AppCell, stop: &AtomicBool) -> Result<Option<Ran>, Failure> {
    let definition = rig.definition;
    let folder = Folder::make()?;
    for (name, text) in &definition.files {
        let path = folder.0.join(name);
        fs::write(&path, filled(text, cell.ranks))
            .map_err(|error| output::unwritable(&path, &error))?;
    }
    let limit = Limit::of(definition);
    let words: Vec<String> =
        definition.command.iter().map(|word| filled(word, cell.ranks)).collect();
    match prepared(definition, cell, (&folder.0, limit), stop)? {
        Prepared::Done => {}
        Prepared::Stopped => return Ok(None),
        Prepared::Failed { why, said } => {
            let times = [output::now(), Nanos(0)];
            let external = external(definition, &words, Vec::new(), &said);
            return Ok(Some(Ran { outcome: rejected(Fault::Machine, why), external, times }));
        }
    }
    let mut command = rig.command(cell)?;
    command.args(&words).current_dir(&folder.0);
    let (began, clock) = (output::now(), Instant::now());
    let left = limit.left();
    let done = ended(&mut command, left, stop)?;
    let times = [began, Nanos(clock.elapsed().as_nanos() as u64)];
    if matches!(done.how, How::Stopped) {
        return Ok(None);
    }
    let failed = match done.how {
        How::Ended(status) if status.success() => None,
        _ => Some(why(&done, &rig.launcher.program, left).says().to_owned()),
    };
    let (figures, outcome) = match failed {
        Some(why) => (Vec::new(), rejected(Fault::Machine, why)),
        None => {
            let (mut figures, outcome) = judged(rig, cell, &done, &folder.0);
            figures.extend(system_time(rig, cell, &done));
            (figures, outcome)
        }
    };
    let external = external(definition, &words, figures, &done.said());
    Ok(Some(Ran { outcome, external, times }))
}

/// What share of the CPUs that they asked for a run's ranks on this host had, of applications that
/// tell no CPU use of their own. Of ranks elsewhere it would say nothing.
fn cpu_had(rig: &Rig<'_>, cell: &AppCell, done: &Done) -> Option<Figure> {
    let is_told = rig.definition.cpu_use.is_some() || !rig.has_ranks_here(cell);
    let share = done.had.filter(|_| !is_told);
    share.map(|had| Figure { name: CPU_HAD.to_owned(), value: had.share, unit: Unit::Share })
}

/// The kernel's share of the CPU time of a run's ranks on this host, where it has any.
fn system_time(rig: &Rig<'_>, cell: &AppCell, done: &Done) -> Option<Figure> {
    let share = done.cpu.system_share().filter(|_| rig.has_ranks_here(cell));
    share.map(|value| Figure { name: SYSTEM.to_owned(), value, unit: Unit::Share })
}

fn external(
    definition: &Definition,
    words: &[String],
    figures: Vec<Figure>,
    said: &str,
) -> External {
    External {
        tool: definition.name.clone(),
        version: None,
        command: Some(words.join(" ")),
        file: None,
        figures,
        output: tail(said).to_owned(),
        client: None,
        packets: None,
    }
}

/// How long a run may take, from the first program that makes its input.
#[derive(Clone, Copy)]
struct Limit {
    began: Instant,
    whole: Duration,
}

impl Limit {
    /// It begins now.
    fn of(definition: &Definition) -> Self {
        let whole = Duration::from_secs(definition.limit_seconds.into());
        Self { began: Instant::now(), whole }
    }

    fn left(self) -> Duration {
        self.whole.saturating_sub(self.began.elapsed())
    }

    /// That the last program of `prepare` left the application no time: to start it with none would
    /// blame it for that.
    fn spent_by(self, program: &str) -> Option<String> {
        self.left().is_zero().then(|| self.overrun_by(program))
    }

    fn overrun_by(self, program: &str) -> String {
        let seconds = self.whole.as_secs();
        format!("prepare: {program} was not done when the run's {seconds} s were over")
    }
}

/// How the making of a run's input came out.
enum Prepared {
    Done,
    Stopped,
    Failed { why: String, said: String },
}

/// Runs what makes the input, one program after the other, in the folder of the run.
fn prepared(
    definition: &Definition,
    cell: &AppCell,
    (folder, limit): (&Path, Limit),
    stop: &AtomicBool,
) -> Result<Prepared, Failure> {
    for words in &definition.prepare {
        let words: Vec<String> = words.iter().map(|word| filled(word, cell.ranks)).collect();
        let Some((program, words)) = words.split_first() else { continue };
        let mut command = Command::new(program);
        command.args(words).current_dir(folder);
        command.envs(&definition.environment);
        // No cause of MPI's: a program that is not there is one more reason why the run has none.
        let done = match ended(&mut command, limit.left(), stop) {
            Ok(done) => done,
            Err(why) => {
                let why = format!("prepare: {}", why.says());
                return Ok(Prepared::Failed { why, said: String::new() });
            }
        };
        match done.how {
            How::Stopped => return Ok(Prepared::Stopped),
            How::Ended(status) if status.success() => {}
            How::Ended(status) => {
                let said = done.said();
                let last = said.lines().rev().find(|line| !line.trim().is_empty());
                let why = format!("prepare: {program} ended with {status}: {}", last.unwrap_or(""));
                return Ok(Prepared::Failed { why, said });
            }
            How::Late => {
                let why = limit.overrun_by(program);
                return Ok(Prepared::Failed { why, said: done.said() });
            }
        }
    }
    let Some(last) = definition.prepare.iter().rev().find_map(|words| words.first()) else {
        return Ok(Prepared::Done);
    };
    Ok(limit
        .spent_by(&filled(last, cell.ranks))
        .map_or(Prepared::Done, |why| Prepared::Failed { why, said: String::new() }))
}

fn rejected(fault: Fault, why: String) -> Outcome {
    Outcome::Failed { at: Stage::Run, why, fault }
}

/// All figures that there are, and whether the run counts.
fn judged(rig: &Rig<'_>, cell: &AppCell, done: &Done, folder: &Path) -> (Vec<Figure>, Outcome) {
    let definition = rig.definition;
    let mut figures = Vec::new();
    let mut take = |name: &str, contract: &Contract| -> Result<f64, Missing> {
        let missing = |why: NoValue| Missing { name: name.to_owned(), why };
        let value = found(contract, done, folder).map_err(missing)?;
        figures.push(Figure { name: name.to_owned(), value, unit: contract.unit });
        Ok(value)
    };
    let main = take(FIGURE, &definition.figure).and_then(above_zero);
    let mut wrong = main.err().map(|why| (Fault::Machine, why.to_string()));
    for (name, contract) in
        [(COMMUNICATION, &definition.communication), (CPU_USE, &definition.cpu_use)]
    {
        let taken = contract.as_ref().map(|contract| take(name, contract));
        // One rank talks to nobody, and some applications then say nothing of it.
        let is_owed = name == CPU_USE || cell.ranks > 1;
        if let Some(Err(why)) = taken.filter(|_| is_owed) {
            wrong.get_or_insert((Fault::Machine, why.to_string()));
        }
    }
    for check in &definition.checks {
        match take(&check.name, &check.contract) {
            Ok(value) if check.is_right(value) => {}
            Ok(value) => {
                let (name, want, within) = (&check.name, check.want, check.within);
                let says = format!("{WRONG}{name} is {value}, not {want} within {within}");
                wrong = Some((Fault::Wrong, says));
            }
            Err(why) => {
                wrong.get_or_insert((Fault::Machine, why.to_string()));
            }
        }
    }
    // Behind the application's own: the first of a record is the one that counts.
    figures.extend(cpu_had(rig, cell, done));
    let mut starved = starved(definition, &figures).filter(|_| !rig.is_oversubscribed(cell));
    if starved.is_some() && waits_for_itself(done, &figures) {
        note!("{}: {MORE_THREADS}", rig.name(cell));
        starved = None;
    }
    let fault = wrong.or_else(|| Some((Fault::Starved, starved?)));
    (figures, fault.map_or(Outcome::Done, |(fault, why)| rejected(fault, why)))
}

/// Why a run has no value of a contract.
#[derive(Debug, Error)]
enum NoValue {
    #[error("{0}")]
    OnOutput(NoFigure),
    #[error("{0} in the first {mib} MiB of its output: let it write to a file, and name that", mib = KEPT_BYTES >> 20)]
    InBeginning(NoFigure),
    #[error("{0}: {1}")]
    InFile(String, NoFigure),
    #[error("{0}: {1}")]
    Unreadable(String, std::io::Error),
    #[error("{0} is no time and no rate")]
    NotAboveZero(f64),
}

/// A figure of a contract that a run does not have.
#[derive(Debug, Error)]
#[error("{name}: {why}")]
struct Missing {
    name: String,
    why: NoValue,
}

fn above_zero(value: f64) -> Result<(), Missing> {
    if value > 0.0 {
        return Ok(());
    }
    Err(Missing { name: FIGURE.to_owned(), why: NoValue::NotAboveZero(value) })
}

/// Who told a CPU use, where it was not the application.
const BY_SCHEDULER: &str = ", of the time that its ranks here asked for a CPU: other programs \
    had it, or threads of its own";
/// Why a run is not judged by its CPU use.
const MORE_THREADS: &str = "more threads than CPUs: they wait for each other, and what other \
    programs took is not judged";

/// Whether it is the scheduler that tells a CPU use, of a run that had more threads than CPUs.
fn waits_for_itself(done: &Done, figures: &[Figure]) -> bool {
    let is_told = figures.iter().any(|figure| figure.name == CPU_HAD);
    is_told && done.had.is_some_and(|had| had.is_crowded)
}

/// Says that the CPUs were not the ranks', of runs that have a CPU for each rank.
fn starved(definition: &Definition, figures: &[Figure]) -> Option<String> {
    let told = [(CPU_USE, ""), (CPU_HAD, BY_SCHEDULER)];
    let (share, by) = told.iter().find_map(|(name, by)| {
        let figure = figures.iter().find(|figure| figure.name == *name)?;
        Some((figure.value, by))
    })?;
    let least = definition.cpu_use_least;
    (share < least).then(|| {
        let [share, least] = [share, least].map(|share| (100.0 * share).floor());
        // Without its own number, so that runs with one reason are told once.
        let tenth = (share / 10.0).floor() * 10.0;
        format!("{STARVED}{tenth} to {} %, under {least} %{by}", tenth + 10.0)
    })
}

fn found(contract: &Contract, done: &Done, folder: &Path) -> Result<f64, NoValue> {
    let Some(name) = &contract.file else {
        let why = if done.is_cut { NoValue::InBeginning } else { NoValue::OnOutput };
        return contract.read(&done.out).map_err(why);
    };
    let unreadable = |error| NoValue::Unreadable(name.clone(), error);
    let text = text_of(&folder.join(name)).map_err(unreadable)?;
    contract.read(&text).map_err(|why| NoValue::InFile(name.clone(), why))
}

/// A plain file's text; no link is followed, and nothing that never ends is read.
fn text_of(path: &Path) -> std::io::Result<String> {
    // A pipe that nobody writes to would hold the call; the kernel refuses a link.
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.len() > FILE_BYTES_MAX {
        return Err(std::io::Error::other("it is no plain file of up to 16 MiB"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The end of a text.
fn tail(text: &str) -> &str {
    let mut from = text.len().saturating_sub(STORED_BYTES);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prepare_that_leaves_no_time_is_told_and_the_application_is_not_blamed() {
        let whole = Duration::from_secs(20);
        let now = Instant::now();
        let spent = Limit { began: now.checked_sub(whole).expect("the clock ran"), whole };
        let says = "prepare: make was not done when the run's 20 s were over";
        assert_eq!(spent.spent_by("make").as_deref(), Some(says));
        assert_eq!(Limit { began: now, whole: 100 * whole }.spent_by("make"), None);
    }
}
