//! `narrows import`: outputs of other tools as a study, marked imported.

use crate::args::ImportArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output;
use flate2::read::MultiGzDecoder;
use narrows_interop::import::{self, Output, Run, RunFactors, Tool, Unusable};
use narrows_model::Nanos;
use narrows_model::host::Host;
use narrows_model::record::{External, Fault, Outcome, Record, Stage, Stamp};
use narrows_model::study::{Ended, Reading, StoredStudy, Study};
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{Level, NetworkPath, Trial, TrialId};
use narrows_store::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Most of an output that is kept beside its figures.
const KEPT_BYTES: usize = 64 << 10;
/// Larger files are no output of a tool.
const FILE_BYTES_MAX: u64 = 256 << 20;

pub fn run(args: &ImportArgs) -> Result<u8, Failure> {
    let mut gathered = match &args.into {
        Some(file) => Gathered::of(file)?,
        None => Gathered::default(),
    };
    let at: Vec<Level> = args
        .at
        .iter()
        .flat_map(|said| &said.0)
        .map(|(factor, level)| Level { factor: factor.clone(), level: level.clone() })
        .collect();
    gathered.gather(&args.files, args.tool.as_deref(), &at)?;
    if let Some(file) = &args.into {
        gathered.add_to(file)?;
        return gathered.tell(file);
    }
    let Some(to) = &args.output else {
        let says = "no file is named for the study";
        return Err(Failure::of(Cause::ORDER, says));
    };
    let reading = Reading { across: args.across.clone(), ..Reading::default() };
    let study = Study { began_unix_ns: output::now(), reading, ..gathered.study() };
    let mut store = Store::draft(to, &study, &Host::default())?;
    store.put_trials(&gathered.trials)?;
    store.put_records(&gathered.records)?;
    store.put_ended(&Ended::Complete)?;
    store.publish()?;
    gathered.tell(to)
}

/// What a tool printed, or somebody published, as a study that is in no file.
pub fn unstored(file: &Path) -> Result<StoredStudy, Failure> {
    let mut gathered = Gathered::default();
    gathered.gather(&[file.to_owned()], None, &[])?;
    Ok(StoredStudy {
        study: gathered.study(),
        ended: Some(Ended::Complete),
        trials: gathered.trials,
        records: gathered.records,
        ..StoredStudy::unmeasured(Host::default())
    })
}

/// Reads a file or a pipe, packed by gzip or not, up to a size that no output of a tool has.
fn read(file: &Path) -> Result<String, Failure> {
    let wrong = |why: Unbounded| {
        let says = format!("{} cannot be read: {why}", file.display());
        Failure::of(Cause::NO_TOOL_OUTPUT, says)
    };
    let unread = |error: std::io::Error| Failure::unread(file, &error);
    let kind = std::fs::metadata(file).map_err(unread)?.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        let says = format!("{} is neither a file nor a pipe", file.display());
        return Err(Failure::of(Cause::NOT_A_FILE, says));
    }
    let source = File::open(file).map_err(unread)?;
    let bytes = bounded(source).map_err(wrong)?;
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        bounded(MultiGzDecoder::new(bytes.as_slice())).map_err(wrong)?
    } else {
        bytes
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Why what is to be imported was not read to its end.
enum Unbounded {
    Unread(io::Error),
    TooLong,
}

impl fmt::Display for Unbounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread(error) => error.fmt(f),
            Self::TooLong => {
                let most = FILE_BYTES_MAX >> 20;
                write!(f, "more than {most} MiB is too much for a tool's output")
            }
        }
    }
}

fn bounded(source: impl Read) -> Result<Vec<u8>, Unbounded> {
    let mut bytes = Vec::new();
    source.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(Unbounded::Unread)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Unbounded::TooLong);
    }
    Ok(bytes)
}

fn parse(file: &Path, text: &str, tool: Option<&str>) -> Result<(&'static Tool, Output), Failure> {
    let tool = match tool.and_then(import::tool) {
        Some(tool) => tool,
        None => import::recognise(text).map_err(|why| {
            let names: Vec<&str> = import::TOOLS.iter().map(|tool| tool.name).collect();
            let says = format!("{}: {why}; tools are {}", file.display(), names.join(", "));
            Failure::of(Cause::UNKNOWN_TOOL, says)
        })?,
    };
    let output = (tool.parse)(text).map_err(|why| {
        let named = file.display();
        let read_by = match why {
            Unusable::SingleFigures => format!("narrows predict --published {named}"),
            Unusable::Servers => format!("narrows report --servers FILE... --published {named}"),
            _ => {
                let says = format!("{named}: as {}'s output: {why}", tool.name);
                return Failure::of(Cause::BROKEN_TOOL_OUTPUT, says);
            }
        };
        let hint = format!("they are read, and the model set beside, by `{read_by}`");
        Failure::of(Cause::OTHER_TABLE, format!("{named}: {why}")).helped_by(hint)
    })?;
    Ok((tool, output))
}

/// A file's runs.
struct Parsed<'a> {
    file: &'a Path,
    /// The end of its text, where it holds one run.
    text: String,
    tool: &'static Tool,
    output: Output,
}

/// What runs of one tool state, by the tool's name.
type StatedBy = BTreeMap<String, Vec<Vec<Level>>>;

/// Makes factors of what tells runs of one tool apart, over all files and what was imported before.
fn settle(parsed: &mut [Parsed<'_>], before: &StatedBy) {
    let tools: BTreeSet<&'static str> = parsed.iter().map(|one| one.tool.name).collect();
    for tool in tools {
        let of_tool = parsed.iter_mut().filter(|one| one.tool.name == tool);
        let mut runs: Vec<&mut Run> = of_tool.flat_map(|one| &mut one.output.runs).collect();
        let own: BTreeSet<String> =
            runs.iter().flat_map(|run| &run.levels).map(|level| level.factor.clone()).collect();
        let new = runs.iter().map(|run| RunFactors {
            levels: run.levels.iter().collect(),
            stated: run.stated.iter().collect(),
        });
        // Of a run that is there already, levels and notes are what it stated.
        let known = before.get(tool).into_iter().flatten().map(|all| {
            let (levels, stated) = all.iter().partition(|one| own.contains(&one.factor));
            RunFactors { levels, stated }
        });
        let factors = import::telling(&new.chain(known).collect::<Vec<RunFactors<'_>>>());
        runs.iter_mut().for_each(|run| run.settle(&factors));
    }
}

#[derive(Default)]
struct Gathered {
    trials: Vec<Trial>,
    records: Vec<Record>,
    /// The next repeat of every cell.
    repeats: BTreeMap<TrialId, u32>,
    /// Cells that the file has already.
    known: BTreeSet<TrialId>,
    /// Cells of what is imported now.
    cells: BTreeSet<TrialId>,
    /// What the runs state that the file has already.
    stated: StatedBy,
}

impl Gathered {
    /// What an imported study holds already: runs of its cells are further repeats.
    fn of(file: &Path) -> Result<Self, Failure> {
        let stored = narrows_store::read(file)?;
        if stored.study.command != StudyKind::Import {
            let says = format!("{} was measured, not imported", file.display());
            return Err(Failure::of(Cause::NOT_IMPORTED, says));
        }
        let mut repeats = BTreeMap::new();
        for trial in &stored.trials {
            repeats.insert(trial.id.clone(), 0);
        }
        for record in &stored.records {
            let next = repeats.entry(record.trial.clone()).or_insert(0);
            *next = record.repeat.saturating_add(1).max(*next);
        }
        let mut stated = StatedBy::new();
        for trial in &stored.trials {
            let tool = trial.engine.as_ref().map(|engine| engine.tool.clone());
            let all = [trial.levels.as_slice(), &trial.notes].concat();
            stated.entry(tool.unwrap_or_default()).or_default().push(all);
        }
        let known = stored.trials.into_iter().map(|trial| trial.id).collect();
        Ok(Self { repeats, known, stated, ..Self::default() })
    }

    /// Reads the files, whose runs are told apart over all of them, and adds their runs.
    fn gather(
        &mut self,
        files: &[PathBuf],
        tool: Option<&str>,
        at: &[Level],
    ) -> Result<(), Failure> {
        let mut parsed = Vec::new();
        for file in files {
            let text = read(file)?;
            let (tool, output) = parse(file, &text, tool)?;
            // Of a file with many runs each would keep all of it.
            let text = if output.runs.len() == 1 { kept(&text) } else { String::new() };
            parsed.push(Parsed { file, text, tool, output });
        }
        settle(&mut parsed, &self.stated);
        for one in parsed {
            self.add(one, at);
        }
        Ok(())
    }

    /// What is said of them as a study.
    fn study(&self) -> Study {
        let repeats = self.repeats.values().copied().max().unwrap_or(0);
        Study::new(StudyKind::Import, NetworkPath::Imported, repeats, 0)
    }

    fn add_to(&self, file: &Path) -> Result<(), Failure> {
        let study = narrows_store::head(file)?.study;
        let mut store = Store::open(file)?;
        store.put_more(&self.trials, &self.records)?;
        let repeats = self.repeats.values().copied().max().unwrap_or(study.repeats);
        Ok(store.put_study(&Study { repeats, ..study })?)
    }

    fn tell(&self, file: &Path) -> Result<u8, Failure> {
        let failed = self.records.iter().filter(|record| record.outcome != Outcome::Done).count();
        let failed = if failed > 0 { format!(", {failed} of them failed") } else { String::new() };
        output::print(&format!(
            "{} runs of {} workloads in {}{failed}\n",
            self.records.len(),
            self.cells.len(),
            file.display()
        ))?;
        Ok(0)
    }

    fn add(&mut self, parsed: Parsed<'_>, at: &[Level]) {
        let Parsed { file, text, tool, output } = parsed;
        for run in output.runs {
            let levels: Vec<Level> = at.iter().cloned().chain(run.levels.clone()).collect();
            let trial =
                narrows_plan::imported(tool.name, run.kind.clone(), levels, run.notes.clone());
            let repeat = self.repeats.entry(trial.id.clone()).or_insert(0);
            let external = External {
                tool: tool.name.to_owned(),
                version: output.version.clone(),
                command: None,
                file: Some(file.display().to_string()),
                figures: run.figures.clone(),
                output: text.clone(),
                client: None,
                packets: None,
            };
            self.records.push(record(&trial.id, *repeat, &run, external));
            *repeat += 1;
            if self.cells.insert(trial.id.clone()) && !self.known.contains(&trial.id) {
                self.trials.push(trial);
            }
        }
    }
}

/// The end of a long output: there the results are.
fn kept(text: &str) -> String {
    let from = text.len().saturating_sub(KEPT_BYTES);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text[from..].to_owned()
}

fn record(trial: &TrialId, repeat: u32, run: &Run, external: External) -> Record {
    let outcome = match &run.failed {
        None => Outcome::Done,
        Some(why) => Outcome::Failed { at: Stage::Run, why: why.clone(), fault: Fault::default() },
    };
    Record {
        trial: trial.clone(),
        repeat,
        block: repeat,
        outcome,
        reports: Vec::new(),
        around: Stamp { began_unix_ns: Nanos(0), ..Stamp::default() },
        session: 0,
        external: Some(external),
    }
}
