//! `narrows import`: outputs of other tools as a study, marked imported.

use crate::args::ImportArgs;
use crate::failure::{Failure, USAGE};
use crate::output;
use narrows_facts::Nanos;
use narrows_facts::host::Host;
use narrows_facts::record::{External, Outcome, Record, Stage, Stamp};
use narrows_facts::study::{Ended, Reading, StoredStudy};
use narrows_facts::trial::{Level, Trial, TrialId};
use narrows_store::Store;
use narrows_store::import::{self, Output, Run, Tool};
use std::collections::BTreeMap;
use std::path::Path;

/// Most of an output that is kept beside its figures.
const KEPT_BYTES: usize = 64 << 10;
/// Larger files are no output of a tool.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// Runs the command.
pub fn run(args: &ImportArgs) -> Result<u8, Failure> {
    let mut gathered = Gathered::default();
    for file in &args.files {
        let text = read(file)?;
        let (tool, output) = parse(file, &text, args.tool.as_deref())?;
        let at: Vec<Level> = args
            .at
            .iter()
            .map(|(factor, level)| Level { factor: factor.clone(), level: level.clone() })
            .collect();
        gathered.add(file, &text, tool, output, &at);
    }
    let mut study = StoredStudy::unmeasured(Host::default()).study;
    "import".clone_into(&mut study.command);
    env!("CARGO_PKG_VERSION").clone_into(&mut study.narrows_version);
    study.began_unix_ns = output::now();
    study.path = narrows_facts::trial::Path::Imported;
    study.repeats = gathered.repeats.values().copied().max().unwrap_or(0);
    study.reading = Reading { across: args.across.clone(), ..Reading::default() };
    let mut store = Store::draft(&args.output, &study, &Host::default())?;
    store.put_trials(&gathered.trials)?;
    store.put_records(&gathered.records)?;
    store.put_ended(&Ended::Complete)?;
    store.publish()?;
    let failed = gathered.records.iter().filter(|record| record.outcome != Outcome::Done).count();
    let failed = if failed > 0 { format!(", {failed} of them failed") } else { String::new() };
    output::print(&format!(
        "{} runs of {} workloads in {}{failed}\n",
        gathered.records.len(),
        gathered.trials.len(),
        args.output.display()
    ))?;
    Ok(0)
}

fn read(file: &Path) -> Result<String, Failure> {
    let wrong = |why: String| {
        let says = format!("{} cannot be read: {why}", file.display());
        Failure::new(USAGE, says, "name a file with the output of a tool")
    };
    let size = std::fs::metadata(file).map_err(|error| wrong(error.to_string()))?.len();
    if size > FILE_BYTES_MAX {
        return Err(wrong(format!("{size} bytes are no output of a tool")));
    }
    let bytes = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let text = "it is compressed; unpack it first (gunzip)".to_owned();
        return Err(wrong(text));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn parse(file: &Path, text: &str, tool: Option<&str>) -> Result<(&'static Tool, Output), Failure> {
    let wrong = |why: String| {
        let names: Vec<&str> = import::TOOLS.iter().map(|tool| tool.name).collect();
        let says = format!("{}: {why}", file.display());
        Failure::new(USAGE, says, format!("name its tool with --tool: {}", names.join(", ")))
    };
    let tool = match tool.and_then(import::tool) {
        Some(tool) => tool,
        None => import::recognise(text).map_err(wrong)?,
    };
    let output = (tool.parse)(text).map_err(|why| {
        let says = format!("{}: as {}'s output: {why}", file.display(), tool.name);
        Failure::new(USAGE, says, "run the tool again, or name another with --tool")
    })?;
    Ok((tool, output))
}

#[derive(Default)]
struct Gathered {
    trials: Vec<Trial>,
    records: Vec<Record>,
    repeats: BTreeMap<TrialId, u32>,
}

impl Gathered {
    fn add(&mut self, file: &Path, text: &str, tool: &Tool, output: Output, at: &[Level]) {
        let one = output.runs.len() == 1;
        for run in output.runs {
            let levels: Vec<Level> = at.iter().cloned().chain(run.levels.clone()).collect();
            let trial = narrows_plan::imported(tool.name, &run.kind, levels, run.notes.clone());
            let repeat = self.repeats.entry(trial.id.clone()).or_insert(0);
            let external = External {
                tool: tool.name.to_owned(),
                version: output.version.clone(),
                command: None,
                file: Some(file.display().to_string()),
                figures: run.figures.clone(),
                // Of a file with many runs each would keep all of them.
                output: if one { kept(text) } else { String::new() },
            };
            self.records.push(record(&trial.id, *repeat, &run, external));
            *repeat += 1;
            if *repeat == 1 {
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
        Some(why) => Outcome::Failed { at: Stage::Run, why: why.clone() },
    };
    Record {
        trial: trial.clone(),
        repeat,
        block: repeat,
        outcome,
        sink: None,
        source: None,
        beside: None,
        around: Stamp { began_unix_ns: Nanos(0), ..Stamp::default() },
        session: 0,
        external: Some(external),
    }
}
