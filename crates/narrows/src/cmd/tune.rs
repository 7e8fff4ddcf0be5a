//! `narrows tune`: settings that should be different for one kind of work; makes the changes and
//! puts them back.

use super::{compare, own_binary};
use crate::args::{CompareArgs, SchemaArgs, TuneArgs};
use crate::cause::Cause;
use crate::failure::{Failure, MACHINE};
use crate::{output, screen};
use narrows_explain::tune::{Advice, Advised, Measured, Profile, advise};
use narrows_host::Root;
use narrows_hostctl::HostError;
use narrows_hostctl::tune::{Ledger, Undone};
use narrows_model::host::Host;
use narrows_model::study_kind::StudyKind;
use narrows_report::advised;
use narrows_report::documents::{self, TuneDocument};
use narrows_stats::Change;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn run(args: &TuneArgs) -> Result<u8, Failure> {
    if args.schema.schema {
        return super::schema::print("tune");
    }
    if args.undo {
        return undo(args);
    }
    let host = match &args.from {
        Some(path) => super::described::open(path)?,
        None => narrows_host::read(&Root::live()),
    };
    let profile = Profile::named(&args.profile).unwrap_or(Profile::Throughput);
    let measured = match args.from {
        Some(_) => None,
        None => checked(&args.out, &host),
    };
    let told = only(advise(&host, profile, measured.as_ref()), &args.settings)?;
    if args.json {
        output::print_exact(&documents::printed(&TuneDocument {
            schema_version: documents::VERSION,
            profile,
            advised: &told,
        }))?;
        return Ok(0);
    }
    if args.apply {
        return apply(args, profile, &told);
    }
    let ending = advised::ending(&told, &args.profile);
    output::print(&(advised::text(&told, &args.profile) + &ending.text(&screen::of_output())))?;
    Ok(0)
}

/// The newest check in a folder that still speaks for this host; of one that does not it is said
/// why.
fn checked(folder: &Path, host: &Host) -> Option<Measured> {
    let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let studies = entries.filter(|path| path.extension().is_some_and(|end| end == "narrows"));
    let mut checks: Vec<_> = studies
        .filter_map(|path| {
            let head = narrows_store::head(&path).ok()?;
            (head.study.command == StudyKind::Check).then_some((head.study.began_unix_ns, path))
        })
        .collect();
    checks.sort();
    let boot = narrows_runner::worker::machine()?;
    for (_, path) in checks.into_iter().rev() {
        let Ok(stored) = narrows_store::read(&path) else { continue };
        let name = path.display().to_string();
        match Measured::of(stored, &name, host, &boot) {
            Ok(measured) => return Some(measured),
            Err(stale) => note!("{name} is not used: it {stale}"),
        }
    }
    None
}

/// The advice on these settings; all of it when none is named.
fn only(mut told: Advised, names: &[String]) -> Result<Advised, Failure> {
    for name in names {
        if !told.knows(name) {
            let says = format!("there is no advice on '{name}'");
            return Err(Failure::of(Cause::NO_ADVICE, says));
        }
    }
    if !names.is_empty() {
        told.keep(names);
    }
    Ok(told)
}

fn apply(args: &TuneArgs, profile: Profile, told: &Advised) -> Result<u8, Failure> {
    let (ours, by_hand): (Vec<&Advice>, Vec<&Advice>) =
        told.advice.iter().partition(|advice| !advice.files.is_empty());
    let before = match (&args.host, ours.is_empty()) {
        (Some(host), false) => match measure(args, host, profile)? {
            Ran::Study(file) => Some(file),
            // It has said why; nothing was changed.
            Ran::Failed(code) => return Ok(code),
        },
        _ => None,
    };
    let ledger = Ledger::default();
    let mut text = String::new();
    for advice in &ours {
        ledger.apply(&advice.setting, &advice.files, &advice.wanted).map_err(|error| {
            Failure::of(Cause::NOT_APPLIED, format!("{}: {error}", advice.setting))
        })?;
        text += &format!("{}: {} -> {}\n", advice.setting, advice.now, advice.wanted);
    }
    if ours.is_empty() {
        text += "nothing to change\n";
    } else {
        text += "until the next boot; `narrows tune --undo` puts all of it back\n";
    }
    for advice in by_hand {
        text += &format!("to be done by hand: {}\n", advice.commands.join("; "));
    }
    output::print(&text)?;
    if let (Some(before), Some(host)) = (before, &args.host) {
        match measure(args, host, profile)? {
            Ran::Study(after) => output::print(&verdict(&before, &after)?)?,
            Ran::Failed(code) => {
                note!("the changes stay; `narrows tune --undo` puts them back");
                return Ok(code);
            }
        }
    }
    Ok(0)
}

enum Ran {
    /// With this file.
    Study(PathBuf),
    /// With this exit code, and its own error on standard error.
    Failed(u8),
}

/// Measures what the profile is about.
fn measure(args: &TuneArgs, host: &str, profile: Profile) -> Result<Ran, Failure> {
    let kind: &[&str] = match profile {
        Profile::Throughput => &["tcp"],
        Profile::Latency | Profile::Rdma | Profile::Mpi => &["tcp", "--rr", "-l", "64"],
        Profile::Packets => &["udp", "-l", "64"],
    };
    let folder = new_folder(&args.out)?;
    let mut command = Command::new(own_binary()?);
    command.args(kind).arg(host).args(["-t", "1", "--repeats", "8", "--csv"]).arg("--out");
    command.arg(&folder);
    command.args(args.port.iter().flat_map(|port| ["-p".to_owned(), port.to_string()]));
    command.args(args.key_file.iter().flat_map(|file| [Path::new("--key-file"), file]));
    let done = command.stdout(std::process::Stdio::null()).status();
    let done =
        done.map_err(|error| Failure::of(Cause::MACHINE, format!("the measurement: {error}")))?;
    if !done.success() {
        let code = done.code().and_then(|code| u8::try_from(code).ok());
        return Ok(Ran::Failed(code.unwrap_or(MACHINE)));
    }
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut files = entries.map(|entry| entry.path());
    let study = files.find(|path| path.extension().is_some_and(|end| end == "narrows"));
    study
        .map(Ran::Study)
        .ok_or_else(|| Failure::of(Cause::FAULT, format!("no study in {}", folder.display())))
}

/// A new folder for one study.
fn new_folder(out: &Path) -> Result<PathBuf, Failure> {
    let names = ["tune-before", "tune-after"].into_iter().map(str::to_owned);
    let more = (2..1000).flat_map(|n| ["before", "after"].map(|when| format!("tune-{when}-{n}")));
    for name in names.chain(more) {
        let folder = out.join(name);
        match std::fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(output::unwritable(&folder, &error));
            }
        }
    }
    Err(Failure::of(Cause::FOLDER_FULL, format!("{} is full of studies", out.display())))
}

fn verdict(before: &Path, after: &Path) -> Result<String, Failure> {
    let files = vec![before.to_owned(), after.to_owned()];
    let args = CompareArgs {
        files,
        margin: 2.0,
        before: None,
        after: None,
        split: None,
        json: false,
        schema: SchemaArgs::default(),
    };
    let (mut text, changes) = compare::changes(&args)?;
    text += match changes[..] {
        _ if changes.contains(&Change::Worse) => {
            "the changes made it worse: `narrows tune --undo` puts them back\n"
        }
        _ if changes.contains(&Change::Better) => "the changes helped\n",
        _ if changes.iter().all(|change| *change == Change::Alike) => {
            "the changes had no effect on this path\n"
        }
        _ => "these runs do not show whether the changes had an effect\n",
    };
    Ok(text)
}

/// Root helps with what cannot be written, and not with a journal that belongs elsewhere.
fn not_undone(error: HostError) -> Failure {
    match error {
        HostError::Machine(says) => Failure::of(Cause::NOT_UNDONE, says),
        error => error.into(),
    }
}

fn undo(args: &TuneArgs) -> Result<u8, Failure> {
    let ledger = Ledger::default();
    let mut undone = Vec::new();
    if args.settings.is_empty() {
        undone = ledger.undo(None).map_err(not_undone)?
    } else {
        for name in &args.settings {
            undone.extend(ledger.undo(Some(name)).map_err(not_undone)?);
        }
    }
    let mut text = String::new();
    for end in &undone {
        text += &match end {
            Undone::Back { setting, path, was } => format!("{setting}: {was} again ({path})\n"),
            Undone::Left { setting, path, now, was } => format!(
                "{setting}: left at {now}, which somebody set since; it was {was} ({path})\n"
            ),
        };
    }
    if undone.is_empty() {
        text += "nothing of `narrows tune --apply` is in force\n";
    }
    output::print(&text)?;
    Ok(0)
}
