//! Where results go: the study's file and report.html in a folder, and standard output.

use crate::args::OutArgs;
use crate::cause::Cause;
use crate::failure::{CONNECT, Failure, STOPPED, VERDICT};
use crate::live::{Lines, Live};
use crate::progress::{Shown, Whole};
use crate::screen;
use narrows_model::Nanos;
use narrows_model::record::{Fault, Outcome, Record};
use narrows_model::shown::document;
use narrows_model::study::{Ended, Study};
use narrows_model::trial::{Trial, TrialId};
use narrows_model::workload::Workload;
use narrows_plan::Step;
use narrows_report::drawn::fold;
use narrows_report::formats::{self, Format};
use narrows_report::words::counted;
use narrows_report::{Analysis, brief, stream};
use narrows_runner::controller::Controller;
use narrows_runner::live::LiveClock;
use narrows_runner::{Course, CourseEnd, Onlooker, RunError};
use narrows_store::Store;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Unix time now.
pub fn now() -> Nanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanos(since.as_nanos() as u64)
}

/// A new study file's path: `check-20261120-204512.narrows`, numbered when that one is there.
pub fn study_path(out: &OutArgs, command: &str, began: Nanos) -> PathBuf {
    stamped(&out.out, command, began)
}

/// The same in a folder.
pub fn stamped(folder: &Path, command: &str, began: Nanos) -> PathBuf {
    let began = jiff::Timestamp::from_nanosecond(began.0.into()).unwrap_or_default();
    let stem = format!("{command}-{}", began.strftime("%Y%m%d-%H%M%S"));
    let named = |end: String| folder.join(format!("{stem}{end}.narrows"));
    let numbered = (2..100).map(|n| named(format!("-{n}")));
    let mut names = std::iter::once(named(String::new())).chain(numbered);
    names.find(|path| !path.exists()).unwrap_or_else(|| named(String::new()))
}

/// What a command runs: its trials, and the file that they go to.
pub struct Planned<'a> {
    /// The head of the file.
    pub study: &'a Study,
    /// Trials, one a cell, in their order.
    pub trials: &'a [Trial],
    /// The runs, in order.
    pub steps: &'a [Step],
    /// File that each run is stored in at once.
    pub store: &'a Store,
}

/// Makes all runs and says in the file how that ended. What was measured stays whatever
/// happens; an error is given back after that.
pub fn run_course(
    controller: &mut Controller<'_>,
    planned: &Planned<'_>,
    out: &OutArgs,
) -> Result<CourseEnd, Failure> {
    if out.json_stream {
        print_exact(&stream::began(planned.study, planned.trials))?;
    }
    let ran = run_steps(controller, planned, out);
    ended(planned.store, ran, controller.stop)
}

/// Makes runs, and leaves open whether more follow.
pub fn run_steps(
    controller: &mut Controller<'_>,
    planned: &Planned<'_>,
    out: &OutArgs,
) -> Result<CourseEnd, RunError> {
    run_amid(controller, planned, out, Amid { whole: None, seen: &mut |_, _| () })
}

/// What the runs of one call are a part of.
pub struct Amid<'a> {
    /// How far all of them are; `None` where there are no others.
    pub whole: Option<&'a mut Whole>,
    /// Told of each run when it is on disk.
    pub seen: &'a mut dyn FnMut(&Trial, &Record),
}

/// The same of runs that are a part of more.
pub fn run_amid(
    controller: &mut Controller<'_>,
    planned: &Planned<'_>,
    out: &OutArgs,
    amid: Amid<'_>,
) -> Result<CourseEnd, RunError> {
    // Told by the user alone: it is what `-i` asks for.
    let every = planned.trials.iter().find_map(|trial| trial.timeline.interval_ns);
    let lines = match every.filter(|_| out.is_for_people()) {
        // A reader that cannot be written to is told at the end.
        Some(every) => Lines::Every(every, |text| drop(print(text))),
        None => Lines::Unprinted,
    };
    let live = Live::of(lines);
    controller.onlooker = live.clone().map(|live| live as Rc<dyn Onlooker>);
    let mut shown = Shown::new(live);
    amid.whole.iter().for_each(|whole| shown.amid(**whole));
    let stop = controller.stop;
    let mut course = Course {
        trials: planned.trials,
        ends: controller,
        hosts: None,
        settings: None,
        disk: planned.store,
        clock: &LiveClock::start(),
        stop,
        session: 0,
        left_out: 0,
    };
    let ran = course.run(
        planned.steps,
        |progress| shown.step(progress),
        |trial: &Trial, record: &Record| {
            (amid.seen)(trial, record);
            if out.json_stream {
                // A reader that cannot be written to is told at the end.
                let _ = print_exact(&stream::run(trial, record));
            }
        },
    );
    shown.clear();
    if let Some(whole) = amid.whole {
        whole.told = shown.told();
    }
    if course.left_out > 0 {
        note!("left out: {} runs whose ends would not meet, as in two like them", course.left_out);
    }
    ran
}

/// Says in the file how its runs ended, and gives that back.
pub fn ended(
    store: &Store,
    ran: Result<CourseEnd, RunError>,
    stop: &AtomicBool,
) -> Result<CourseEnd, Failure> {
    let ended = match &ran {
        Ok(CourseEnd::Complete | CourseEnd::HostsGone) => Ended::Complete,
        Ok(CourseEnd::Stopped) => Ended::by_signal(),
        Err(error) => Ended::Interrupted { why: error.to_string() },
    };
    let stored = store.put_ended(&ended);
    match (ran, stored) {
        // When the disk is full the ending cannot be stored either; the first error tells more.
        (Err(error @ RunError::Store(_)), _) => {
            kept(store.path(), "");
            Err(error.into())
        }
        // A run that was being connected when the user stopped it.
        (Err(error), Ok(())) if stop.load(Ordering::Relaxed) => {
            note!("{error}");
            Ok(CourseEnd::Stopped)
        }
        (Err(error), _) => {
            kept(store.path(), "");
            Err(Failure::from(error).amid_runs())
        }
        (Ok(_), Err(error)) => Err(error.into()),
        (Ok(end), Ok(())) => Ok(end),
    }
}

/// Where the runs are that were finished before something ended all of them, how many, and how they
/// are read; `more` is what else can be done with them.
pub fn kept(file: &Path, more: &str) {
    let stored = narrows_store::read(file);
    let runs = stored.map(|stored| {
        stored.records.iter().filter(|record| record.outcome == Outcome::Done).count()
    });
    let file = file.display();
    match runs {
        Ok(0) => note!("no run was finished{more}"),
        Ok(runs) => {
            let runs = counted(runs, "finished run");
            note!("kept in {file}: {runs}; read them with: narrows report {file}{more}");
        }
        // Nobody can read it now, and what is in it was stored run by run.
        Err(_) => note!("finished runs are kept in {file}{more}"),
    }
}

/// Whether a study has a run that was finished.
pub fn has_runs(file: &Path) -> bool {
    let stored = narrows_store::read(file);
    stored.is_ok_and(|stored| stored.records.iter().any(|run| run.outcome == Outcome::Done))
}

/// Prints a study, writes report.html beside it when asked, and gives the exit code of its verdict.
pub fn present(file: &Path, out: &OutArgs, html: Option<&Path>) -> Result<u8, Failure> {
    present_asked(file, out, html, None)
}

/// The same; the verdict is that of the trials that were `asked` for, where others were added.
pub fn present_asked(
    file: &Path,
    out: &OutArgs,
    html: Option<&Path>,
    asked: Option<&[Trial]>,
) -> Result<u8, Failure> {
    let stored = narrows_store::read(file)?;
    let analysis = Analysis::of(&stored);
    let format = format(out.format());
    let is_text = std::ptr::eq(format, &formats::text::FORMAT);
    match out.json_stream {
        true => print_exact(&stream::ended(&analysis))?,
        false if is_text && !out.verbose => {
            print(&brief::text(&analysis, &screen::of_output(), &details(file)))?;
        }
        false => print_report(format, &analysis)?,
    }
    if let Some(html) = html {
        write_whole(html, &(formats::html::FORMAT.write)(&analysis))?;
    }
    let is_bad = asked.map_or_else(|| analysis.is_bad(), |asked| analysis.is_bad_in(asked));
    Ok(if is_bad { VERDICT } else { 0 })
}

/// The results of an experiment: of tables and figures the answer last, else what was asked for.
/// What a search says has a shape of its own.
pub fn present_study(file: &Path, named: &str, analysis: &Analysis<'_>) -> Result<(), Failure> {
    let format = format(named);
    let is_text = std::ptr::eq(format, &formats::text::FORMAT);
    let is_plain = !analysis.only_searches() && analysis.anomalies.is_none();
    match &analysis.study {
        Some(results) if is_text && is_plain => {
            print(&brief::study(analysis, results, &screen::of_output(), &details(file)))
        }
        _ => print_report(format, analysis),
    }
}

/// The command that shows everything. A path that would be broken over two lines, or that a shell
/// would take apart, is no word to copy from here: standard error has it.
pub fn details(file: &Path) -> String {
    let below = || "narrows report, with the file that is named below".to_owned();
    details_of(file).unwrap_or_else(below)
}

/// The same where nothing is named below, since the user named the file.
pub fn details_of_given(file: &Path) -> String {
    details_of(file).unwrap_or_else(|| "narrows report, with the same file".to_owned())
}

fn details_of(file: &Path) -> Option<String> {
    const PATH_COLUMNS: usize = 48;
    let whole = file.display().to_string();
    let is_plain = whole.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+:=@,".contains(c));
    (is_plain && whole.len() <= PATH_COLUMNS).then(|| format!("narrows report {whole}"))
}

/// The format by this name, which the command line has checked.
pub fn format(name: &str) -> &'static Format {
    formats::format(name).unwrap_or(&formats::text::FORMAT)
}

/// A length of time in plain words: `2 h 5 min`, `40 s`.
pub fn lasting(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        0..120 => format!("{whole} s"),
        120..7200 => format!("{} min", whole / 60),
        7200..172_800 => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} days {} h", whole / 86_400, whole % 86_400 / 3600),
    }
}

/// The exit code of a study: that of its verdict, unless the user stopped it or nothing was
/// measured.
pub fn exit_code(end: &CourseEnd, verdict: u8) -> u8 {
    match end {
        CourseEnd::Complete => verdict,
        CourseEnd::Stopped => STOPPED,
        CourseEnd::HostsGone => CONNECT,
    }
}

/// The styles of our own text; nothing else may begin with an escape.
const STYLES: [&str; 4] = ["[1m", "[31m", "[33m", "[0m"];

/// Text as it may go to a terminal, whatever a peer or a file has put into it.
fn shown(text: &str) -> String {
    let mut pieces = text.split('\x1b');
    let mut shown = document(pieces.next().unwrap_or_default()).into_owned();
    for piece in pieces {
        let own = STYLES.iter().any(|style| piece.starts_with(style));
        shown.push_str(if own { "\x1b" } else { "\\u001b" });
        shown.push_str(&document(piece));
    }
    shown
}

/// Prints text for people to standard output; a reader that has gone away is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    let text = shown(text);
    // A file, or a program that reads a line of it, gets the lines whole.
    let folded = screen::of_output().columns.map(|columns| fold(&text, columns));
    write_to(anstream::stdout(), folded.as_ref().unwrap_or(&text))
}

/// Prints what programs read, byte by byte as it is: JSON, CSV and the like escape by themselves.
pub fn print_exact(text: &str) -> Result<(), Failure> {
    write_to(std::io::stdout(), text)
}

/// One of both: JSON where it was asked for.
pub fn print_json_or_text(json: bool, text: &str) -> Result<(), Failure> {
    if json { print_exact(text) } else { print(text) }
}

/// A report in its format.
pub fn print_report(format: &Format, analysis: &Analysis<'_>) -> Result<(), Failure> {
    print_json_or_text(!format.for_people, &(format.write)(analysis))
}

fn write_to(mut out: impl Write, text: &str) -> Result<(), Failure> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::of(Cause::OUTPUT_LOST, format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a file as a whole: a reader never sees half of it.
pub fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    write_bytes(path, text.as_bytes())
}

/// The same with bytes. What is no plain file (a device, a pipe) is written to, and not replaced;
/// of a symbolic link the file that it leads to.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        return std::fs::write(path, bytes).map_err(|error| unwritable(path, &error));
    }
    keep_study(path)?;
    let leads_to = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut name = leads_to.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = leads_to.with_file_name(name);
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, &leads_to));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&part);
        unwritable(path, &error)
    })
}

/// How an SQLite database begins, and with it a study.
const STUDY_BEGINS: &[u8; 16] = b"SQLite format 3\0";

/// Refuses a path at which a study lies: its runs are nowhere else.
pub fn keep_study(path: &Path) -> Result<(), Failure> {
    let mut head = [0; STUDY_BEGINS.len()];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    if read.is_ok() && &head == STUDY_BEGINS {
        let says = format!("{} is a study and is not overwritten", path.display());
        return Err(Failure::of(Cause::EXISTS, says));
    }
    Ok(())
}

/// Makes sure that the folder is there and can be written, before a minute is spent measuring.
pub fn check_folder(folder: &Path) -> Result<(), Failure> {
    if !folder.is_dir() {
        return Err(Failure::of(
            Cause::NO_FOLDER,
            format!("{} is not a directory", folder.display()),
        ));
    }
    let probe = folder.join(format!(".narrows-{}.part", std::process::id()));
    let tried = std::fs::write(&probe, b"narrows");
    let _ = std::fs::remove_file(&probe);
    tried.map_err(|error| unwritable(folder, &error))
}

/// The same, and makes the folder where there is none; of a path that was misspelt no more than
/// its last part.
pub fn make_folder(folder: &Path) -> Result<(), Failure> {
    let within = folder.parent().map(|parent| parent.as_os_str().is_empty() || parent.is_dir());
    if !folder.exists() && within == Some(true) {
        std::fs::create_dir(folder).map_err(|error| unwritable(folder, &error))?;
    }
    check_folder(folder)
}

/// A path for a folder that goes with this process. One that a killed process has left is another.
pub fn passing_folder(what: &str) -> PathBuf {
    let name = format!("narrows-{what}-{}-{}", std::process::id(), now().0);
    std::env::temp_dir().join(name)
}

pub fn unwritable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::of(Cause::UNWRITABLE, format!("{} cannot be written: {error}", path.display()))
}

/// Says where a study is. `narrows verify` has the head of its chain, for who wants to note it.
pub fn made(file: &Path, more: &str) {
    note!("study {}{more}", file.display());
}

/// When every run failed, that is the result, and no success. A probe beside them measures no load.
pub fn nothing_measured(file: &Path) -> Result<(), Failure> {
    let stored = narrows_store::read(file)?;
    let probes = stored.trials.iter().filter(|trial| trial.kind == Workload::PathProbe);
    let probes: Vec<&TrialId> = probes.map(|trial| &trial.id).collect();
    let of_load = stored.records.iter().filter(|record| !probes.contains(&&record.trial));
    let faults = of_load.map(|record| match &record.outcome {
        Outcome::Failed { why, fault, .. } => Some((why, *fault)),
        Outcome::Done | Outcome::Skipped { .. } => None,
    });
    let Some(faults) = faults.collect::<Option<Vec<_>>>() else { return Ok(()) };
    let Some((first, fault)) = faults.first() else { return Ok(()) };
    let cause = match fault {
        Fault::Apart => Cause::APART,
        Fault::Machine | Fault::Wrong | Fault::Starved => Cause::RUNS_FAILED,
        Fault::OutOfMemory => Cause::RUNS_OUT_OF_MEMORY,
        Fault::Died | Fault::Silent => Cause::RUNS_LOST,
        Fault::Beyond => Cause::BEYOND,
        Fault::Filtered => Cause::FILTERED,
        Fault::OutOfFiles => Cause::OUT_OF_FILES,
        Fault::OutOfPorts => Cause::OUT_OF_PORTS,
    };
    Err(Failure::of(cause, format!("all {} runs failed: {first}", faults.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_styles_reach_a_terminal() {
        let text = "\x1b[1mhead\x1b[0m\nCPU \x1b]0;title\x07 \u{202e}x\x1b[2J\n";
        let want = "\x1b[1mhead\x1b[0m\nCPU \\u001b]0;title\\u0007 \\u202ex\\u001b[2J\n";
        assert_eq!(shown(text), want);
    }

    /// An own folder, which goes with the test.
    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("narrows-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a folder");
        dir
    }

    #[test]
    fn what_is_no_plain_file_is_written_to_and_not_replaced() {
        let dir = folder("written");
        let (file, link, pipe) = (dir.join("file"), dir.join("link"), dir.join("pipe"));
        std::fs::write(&file, "old").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        write_whole(&link, "new").expect("written");
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "new");
        assert!(std::fs::symlink_metadata(&link).expect("there").is_symlink());
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
        assert!(made.success());
        let reads = pipe.clone();
        let reader = std::thread::spawn(move || std::fs::read_to_string(reads).expect("read"));
        write_whole(&pipe, "through").expect("written");
        assert_eq!(reader.join().expect("a thread"), "through");
        assert!(!std::fs::metadata(&pipe).expect("there").is_file());
        std::fs::remove_dir_all(dir).expect("removed");
    }

    #[test]
    fn a_new_file_has_its_second_and_a_number_where_that_is_taken() {
        let dir = folder("stamped");
        let began = Nanos(1_795_654_390_849_767_219);
        let name = |command: &str| {
            let path = stamped(&dir, command, began);
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            std::fs::write(path, "").expect("written");
            name
        };
        assert_eq!(name("tcp"), "tcp-20261126-005310.narrows");
        assert_eq!(name("tcp"), "tcp-20261126-005310-2.narrows");
        assert_eq!(name("tcp"), "tcp-20261126-005310-3.narrows");
        assert_eq!(name("udp"), "udp-20261126-005310.narrows");
        for n in 4..100 {
            assert_eq!(name("tcp"), format!("tcp-20261126-005310-{n}.narrows"));
        }
        assert_eq!(name("tcp"), "tcp-20261126-005310.narrows", "which is there, and is refused");
        std::fs::remove_dir_all(dir).expect("removed");
    }

    #[test]
    fn a_length_of_time_is_told_in_what_it_is_counted_in() {
        for (seconds, told) in [
            (-3.0, "0 s"),
            (0.4, "0 s"),
            (119.4, "119 s"),
            (119.5, "2 min"),
            (7199.0, "119 min"),
            (7200.0, "2 h 0 min"),
            (7260.0, "2 h 1 min"),
            (172_799.0, "47 h 59 min"),
            (172_800.0, "2 days 0 h"),
            (270_000.0, "3 days 3 h"),
        ] {
            assert_eq!(lasting(seconds), told);
        }
    }

    #[test]
    fn what_was_stopped_or_never_met_has_no_verdict() {
        assert_eq!(exit_code(&CourseEnd::Complete, 7), 7);
        assert_eq!(exit_code(&CourseEnd::Stopped, 7), STOPPED);
        assert_eq!(exit_code(&CourseEnd::HostsGone, 7), CONNECT);
    }

    #[test]
    fn a_path_is_a_word_of_a_command_where_a_shell_takes_it_as_one() {
        let long = "x".repeat(48);
        let other = "narrows report, with the file that is named below";
        assert_eq!(details(Path::new("a/b-1.narrows")), "narrows report a/b-1.narrows");
        assert_eq!(details(Path::new(&long)), format!("narrows report {long}"));
        for path in ["a b.narrows", "a'b", "\u{e4}", &"x".repeat(49)] {
            assert_eq!(details(Path::new(path)), other, "{path}");
        }
    }

    #[test]
    fn a_file_is_written_whole_and_never_over_a_study() {
        let dir = folder("whole");
        let file = dir.join("a.txt");
        write_whole(&file, "one").expect("written");
        write_whole(&file, "two").expect("written");
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "two");
        assert_eq!(std::fs::read_dir(&dir).expect("a folder").count(), 1, "no part is left");
        let study = dir.join("a.narrows");
        std::fs::write(&study, "SQLite format 3\0and more").expect("written");
        let why = write_whole(&study, "three").expect_err("a study").says().to_owned();
        assert!(why.ends_with("a.narrows is a study and is not overwritten"), "{why}");
        std::fs::write(&study, "SQLite format 3").expect("written");
        assert!(keep_study(&study).is_ok(), "it is shorter than a study's head");
        assert!(keep_study(&dir.join("none")).is_ok());
        let why = write_whole(&dir.join("none/a"), "x").expect_err("no folder");
        assert!(why.says().contains("none/a cannot be written"), "{}", why.says());
        std::fs::remove_dir_all(dir).expect("removed");
    }

    #[test]
    fn a_folder_is_made_where_no_more_than_its_last_part_is_new() {
        let dir = folder("made");
        assert!(check_folder(&dir).is_ok());
        assert_eq!(std::fs::read_dir(&dir).expect("a folder").count(), 0, "nothing is left of it");
        let why = check_folder(&dir.join("new")).expect_err("none");
        assert!(why.says().ends_with("new is not a directory"), "{}", why.says());
        assert!(make_folder(&dir.join("new")).is_ok() && dir.join("new").is_dir());
        assert!(make_folder(&dir.join("new")).is_ok(), "it is there");
        assert!(make_folder(&dir.join("mis/spelt")).is_err() && !dir.join("mis").exists());
        let name = passing_folder("x").display().to_string();
        assert!(name.contains(&format!("narrows-x-{}-", std::process::id())), "{name}");
        std::fs::remove_dir_all(dir).expect("removed");
    }
}
