//! Commands as a user types them, with all that they print: what was read once and found right
//! stays so. A file of `tests/kept` has a command a line, and below it standard output behind two
//! spaces, standard error behind `! `, and an exit code that is not 0 behind `= `. Of a command
//! behind `$$` a sum of its output is kept, behind `$?` whether there was any, since others write
//! it, and of a file behind `%` a sum of its text. A `~` in a word
//! is a space.
//!
//! `NARROWS_GOLDEN=write` keeps them anew.

use super::{Args, help, run};
use clap::FromArgMatches;
use narrows_model::study::StoredStudy;
use narrows_store::Store;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The words of a command, for a process of this test that is the program.
const WORDS: &str = "NARROWS_KEPT_WORDS";
/// What the program's own output begins after.
const BEGINS: &str = "\u{1}the program begins\u{1}\n";

/// Not a test: the program, where another test has started this process as it.
#[test]
fn program() {
    let Ok(words) = std::env::var(WORDS) else { return };
    let words = words.split('\u{1f}').filter(|word| !word.is_empty());
    let matches = help::command().try_get_matches_from(std::iter::once("narrows").chain(words));
    print!("{BEGINS}");
    std::io::stdout().flush().expect("flushed");
    let code = match matches {
        Ok(matches) => match Args::from_arg_matches(&matches).map(|args| run(args.command)) {
            Ok(Ok(code)) => code,
            Ok(Err(failure)) => {
                let code = failure.code();
                failure.print();
                code
            }
            Err(error) => error.exit(),
        },
        Err(error) => super::habits::exit(error),
    };
    std::process::exit(code.into());
}

/// A folder with what commands read, which goes with the test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The crate's own folder, and those of its neighbours.
fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A study that was measured, by its name in the tests of reports.
pub fn stored(name: &str) -> StoredStudy {
    let read = |name: &str| -> serde_json::Value {
        let file = crates().join(format!("report/tests/whole/{name}.json"));
        serde_json::from_str(&std::fs::read_to_string(file).expect("a study")).expect("JSON")
    };
    let (mut study, hosts) = (read(name), read("check-peer"));
    for part in ["host", "peer_hosts"] {
        if study.get(part).is_none() {
            study[part] = hosts[part].clone();
        }
    }
    let sessions = study.get_mut("sessions").and_then(|all| all.as_array_mut());
    for session in sessions.into_iter().flatten() {
        session["host"] = hosts["host"].clone();
    }
    serde_json::from_value(study).expect("a study")
}

fn put(study: &StoredStudy, file: &Path) {
    let mut store = Store::create(file, &study.study, &study.host).expect("a file");
    store.put_peer_hosts(&study.peer_hosts).expect("hosts");
    if let Some(definition) = &study.definition {
        store.put_definition(definition).expect("a definition");
    }
    for session in &study.sessions {
        store.put_session(session).expect("a session");
    }
    store.put_trials(&study.trials).expect("trials");
    store.put_records(&study.records).expect("records");
    if let Some(ended) = &study.ended {
        store.put_ended(ended).expect("an end");
    }
}

/// The files of a test: studies as `NAME.narrows`, others as they lie in `tests/kept`.
fn folder(test: &str, files: &[&str]) -> Folder {
    let name = format!("narrows-kept-{test}-{}", std::process::id());
    let dir = std::env::temp_dir().join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder");
    for name in files {
        match *name {
            file if file.contains('.') => {
                std::fs::copy(kept_dir().join(file), dir.join(file)).expect(file);
            }
            "tables" => {
                std::fs::create_dir(dir.join(name)).expect("a folder");
                let tables = crates().join("validate/tables");
                for file in std::fs::read_dir(tables).expect("tables").flatten() {
                    std::fs::copy(file.path(), dir.join(name).join(file.file_name()))
                        .expect("copied");
                }
            }
            "empty" => std::fs::create_dir(dir.join(name)).expect("a folder"),
            // A day later and a sixth slower.
            "slower" => {
                let mut study = stored("tcp");
                study.study.began_unix_ns.0 += 86_400_000_000_000;
                for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                    end.report.window_ns.0 = end.report.window_ns.0 / 5 * 6;
                }
                put(&study, &dir.join("slower.narrows"));
            }
            // Killed half way.
            "begun" => {
                let mut study = stored("ways");
                study.records.truncate(20);
                study.ended = None;
                put(&study, &dir.join("begun.narrows"));
            }
            "altered" => {
                let file = dir.join("altered.narrows");
                put(&stored("tcp"), &file);
                let database = rusqlite::Connection::open(&file).expect("a database");
                let change =
                    "UPDATE record SET json = replace(json, '\"repeat\":1', '\"repeat\":3')";
                database.execute(change, []).expect("altered");
            }
            name => put(&stored(name), &dir.join(format!("{name}.narrows"))),
        }
    }
    Folder(dir)
}

fn kept_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept")
}

/// A sum of bytes (FNV-1a, 64 bits).
fn sum(bytes: &[u8]) -> String {
    let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{} lines, {sum:016x}", bytes.iter().filter(|byte| **byte == b'\n').count())
}

/// Runs a command in a folder: what it prints, as it is kept.
fn ran(line: &str, dir: &Path) -> String {
    let (kind, words) = line.split_once(' ').expect("a command");
    let words: Vec<String> = words.split(' ').map(|word| word.replace('~', " ")).collect();
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["kept::program", "--exact", "--nocapture", "--test-threads=1"]);
    for name in ["NARROWS_KEY", "COLUMNS", "CLICOLOR_FORCE", "NARROWS_GOLDEN", "RUST_BACKTRACE"] {
        command.env_remove(name);
    }
    command.env(WORDS, words.join("\u{1f}")).env("TZ", "UTC").env("LC_ALL", "C.UTF-8");
    let output = command.current_dir(dir).stdin(Stdio::null()).output().expect("it ran");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let text = text.split_once(BEGINS).map_or(text.as_str(), |(_, own)| own);
    let mut kept = String::new();
    match kind {
        "$?" => kept += if text.is_empty() { "  nothing\n" } else { "  something\n" },
        "$$" => kept += &format!("  {}\n", sum(text.as_bytes())),
        _ => text.lines().for_each(|line| kept += &format!("  {line}\n")),
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    errors.lines().for_each(|line| kept += &format!("! {line}\n"));
    match output.status.code() {
        Some(0) => {}
        code => kept += &format!("= {}\n", code.unwrap_or(-1)),
    }
    // Lines that are empty have no spaces at their end.
    kept.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Runs the commands of `tests/kept/TEST.txt`.
#[track_caller]
fn is_kept(test: &str, files: &[&str]) {
    let folder = folder(test, files);
    let file = kept_dir().join(format!("{test}.txt"));
    let was = std::fs::read_to_string(&file).expect("what was kept");
    let mut is = String::new();
    for line in was.lines().filter(|line| line.starts_with(['$', '%', '#'])) {
        let _ = writeln!(is, "{line}");
        if let Some(name) = line.strip_prefix("% ") {
            let bytes = std::fs::read(folder.0.join(name)).unwrap_or_default();
            let _ = writeln!(is, "  {}", sum(&bytes));
        } else if line.starts_with('$') {
            is += &ran(line, &folder.0);
        }
    }
    is_kept_text(test, &is);
}

/// Compares a text with `tests/kept/TEST.txt`.
#[track_caller]
pub fn is_kept_text(test: &str, is: &str) {
    let file = kept_dir().join(format!("{test}.txt"));
    if std::env::var("NARROWS_GOLDEN").is_ok_and(|golden| golden == "write") {
        std::fs::write(&file, is).expect("kept");
    }
    let was = std::fs::read_to_string(&file).expect("what was kept");
    let mut command = "";
    for (at, (is, was)) in is.lines().zip(was.lines()).enumerate() {
        if is.starts_with('$') {
            command = is;
        }
        assert_eq!(is, was, "{test}, line {}: {command}", at + 1);
    }
    assert_eq!(is.lines().count(), was.lines().count(), "{test}: as many lines");
}

#[test]
fn predictions_are_as_they_were_found_right() {
    is_kept(
        "predict",
        &["empty", "tables", "alpha.txt", "server.toml", "published.toml", "memory", "tcp"],
    );
}

#[test]
fn predictions_that_cannot_be_made_are_refused() {
    is_kept("predict-refused", &["server.toml", "table.toml", "memory"]);
}

#[test]
fn comparisons_are_as_they_were_found_right() {
    is_kept("compare", &["tcp", "slower", "udp", "profiled"]);
}

#[test]
fn histories_and_lists_are_as_they_were_found_right() {
    is_kept("history", &["empty", "tcp", "slower", "udp", "table.toml"]);
}

#[test]
fn checks_of_files_are_as_they_were_found_right() {
    is_kept("verify", &["tcp", "ways", "altered", "table.toml"]);
}

#[test]
fn what_others_printed_is_imported_as_it_was_found_right() {
    is_kept("import", &["table.toml", "iperf3.json", "stream.txt"]);
}

#[test]
fn hosts_are_shown_as_they_were_found_right() {
    is_kept("host", &["alpha.txt", "beta.txt", "table.toml"]);
}

#[test]
fn fabrics_are_planned_as_they_were_found_right() {
    is_kept("fabric", &[]);
}

#[test]
fn servers_side_by_side_are_as_they_were_found_right() {
    is_kept("servers", &["alpha.txt", "server.toml", "published.toml", "tcp"]);
}

#[test]
fn reports_and_exports_are_as_they_were_found_right() {
    is_kept("report", &["tcp", "udp", "node.toml", "table.toml"]);
}

#[test]
fn studies_are_told_and_joined_as_they_were_found_right() {
    is_kept("study", &["ways", "begun", "tcp", "study.toml", "table.toml"]);
}

#[test]
fn what_cannot_be_measured_is_refused_before_anybody_is_called() {
    is_kept("refused", &["table.toml", "study.toml"]);
}

#[test]
fn advice_is_given_for_a_host_that_is_described() {
    is_kept("tune", &["alpha.txt"]);
}
