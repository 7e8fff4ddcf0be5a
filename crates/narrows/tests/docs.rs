//! The pages for users: each is in the book, each command in them can be given, and those that need
//! no other host and no file of the reader's are run.

mod common;

use common::{err, folder, narrows, run};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Pages for users; the chapters of rooms are for those who work on narrows.
const PAGES: &[&str] = &[
    "docs/index.md",
    "docs/install.md",
    "docs/tutorial.md",
    "docs/reference.md",
    "docs/tour.md",
    "docs/howto/before-buying.md",
    "docs/howto/ci.md",
    "docs/howto/cluster.md",
    "docs/howto/dimms.md",
    "docs/howto/rdma-or-tcp.md",
    "docs/howto/slot.md",
    "docs/howto/slow-node.md",
    "docs/howto/slow-path.md",
    "README.md",
];

/// Commands that read and compute, in moments, on any host. What `predict` can say of this one
/// depends on its processor.
const QUICK: &[&str] = &["fabric", "host", "tune"];

/// Words of a page that stand for something of the reader's.
const READERS: &[&str] = &[
    "redfish",
    "captures",
    "dmidecode",
    "lspci",
    "node7",
    "good.json",
    "FILE",
    "FOLDER",
    "HOST",
    "check-*.narrows",
    "table.toml",
    "--capture",
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("workspace")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(top().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What a reader would type of a line, word by word: from `narrows` to where the shell, or the
/// page's own remark, begins. A line may have several commands.
fn commands(line: &str) -> Vec<Vec<String>> {
    let Some(line) = line.strip_prefix("    ") else { return Vec::new() };
    line.split(&[';', '|'][..]).filter_map(command).collect()
}

fn command(part: &str) -> Option<Vec<String>> {
    let part = part.trim().trim_start_matches("$ ").trim_start_matches("sudo ");
    let bare = part.split_whitespace().find(|word| !word.contains('='))?;
    Some(words(part[part.find(bare)?..].strip_prefix("narrows ")?))
}

/// The words of a command as a shell takes them, up to a redirection, or the page's remark behind
/// `#` or two spaces.
fn words(typed: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for letter in typed.chars() {
        let word = words.last_mut().expect("a word");
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(mark), _) if mark == letter => quote = None,
            (None, ' ' | '#' | '>') if word.is_empty() => break,
            (None, ' ') => words.push(String::new()),
            _ => word.push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn of_pages() -> Vec<(&'static str, Vec<String>)> {
    let mut all = Vec::new();
    for page in PAGES {
        all.extend(text(page).lines().flat_map(commands).map(|words| (*page, words)));
    }
    all
}

#[test]
fn quoted_words_are_one() {
    assert_eq!(
        words("tcp a --fail-if 'tcp.median > 9 Gb/s' # b"),
        ["tcp", "a", "--fail-if", "tcp.median > 9 Gb/s"]
    );
}

#[test]
fn a_line_of_a_page_is_taken_apart() {
    for (line, wanted) in [
        ("    narrows mem                    memory bandwidth", &["mem"][..]),
        ("    NARROWS_KEY=5f0c... narrows tcp 10.0.0.7", &["tcp 10.0.0.7"]),
        ("    narrows mem -J >a.json  # all", &["mem -J"]),
        ("    $ narrows tcp ssh:server2", &["tcp ssh:server2"]),
        ("    narrows check --json >check.json", &["check --json"]),
        ("    narrows completions bash; narrows man tcp", &["completions bash", "man tcp"]),
        ("    sudo systemctl enable --now narrows", &[]),
        ("narrows finds what holds", &[]),
    ] {
        let found: Vec<String> = commands(line).iter().map(|words| words.join(" ")).collect();
        assert_eq!(found, wanted, "{line}");
    }
}

/// Every option and every command is one that there is; `--help` at the end keeps it from running.
#[test]
fn every_command_of_the_pages_can_be_given() {
    let all = of_pages();
    assert!(all.len() > 80, "{} commands", all.len());
    for (page, words) in all {
        let output =
            run(narrows().current_dir(top().join("docs/examples")).args(&words).arg("--help"));
        assert_eq!(output.status.code(), Some(0), "{page}: narrows {words:?}\n{}", err(&output));
    }
}

/// Run where the example lies that they name.
#[test]
fn commands_that_need_nothing_are_run() {
    let dir = folder("docs");
    std::fs::copy(top().join("docs/examples/server.toml"), dir.join("server.toml"))
        .expect("copied");
    let mut ran = BTreeSet::new();
    for (page, words) in of_pages() {
        let of_example = words.iter().any(|word| word == "server.toml");
        let is_readers = words.iter().any(|word| READERS.iter().any(|other| word.contains(other)));
        let changes = words.iter().any(|word| word == "--apply" || word == "--undo");
        let is_quick = QUICK.contains(&words[0].as_str()) && !is_readers && !changes;
        if !(is_quick || of_example) || !ran.insert(words.clone()) {
            continue;
        }
        let output = run(narrows().current_dir(&dir).args(&words));
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1)), "{page}: {words:?}: {code:?}\n{}", err(&output));
    }
    assert!(ran.len() > 15, "{ran:?}");
}

/// Files of a folder of the sources that end so, with what is in them.
fn texts(folder: &str, end: &str) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(top().join(folder)).expect(folder).flatten();
    let names = entries.map(|entry| format!("{folder}/{}", entry.file_name().to_string_lossy()));
    names.filter(|name| name.ends_with(end)).map(|name| (name.clone(), text(&name))).collect()
}

/// What stands between two backticks, over the ends of lines too, where it is a command.
fn spans(page: &str) -> Vec<Vec<String>> {
    let spans = page.split('`').skip(1).step_by(2);
    let spans = spans.map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "));
    spans.filter_map(|span| Some(words(span.strip_prefix("narrows ")?))).collect()
}

/// Heads of the studies that come along: a comment that begins with a command, or has one behind a
/// colon, a semicolon or a backtick.
#[test]
fn commands_in_the_heads_of_studies_can_be_given() {
    let help = run(narrows().arg("--help"));
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let known: Vec<&str> = help.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let mut ran = 0;
    for (study, head) in texts("studies", ".toml") {
        let comments = head.lines().filter_map(|line| line.strip_prefix('#'));
        let parts = comments.flat_map(|line| line.split(": "));
        for part in parts.flat_map(|part| part.split(&[';', '`'][..])) {
            let Some(typed) = part.trim().strip_prefix("narrows ") else { continue };
            let words = words(typed.trim_end_matches('.'));
            if known.contains(&words[0].as_str()) {
                ran += 1;
                let output = run(narrows().args(&words).arg("--help"));
                assert_eq!(output.status.code(), Some(0), "{study}: {typed}\n{}", err(&output));
            }
        }
    }
    assert!(ran > 15, "{ran} commands");
}

/// A fabric on paper needs nothing of the reader: the chapters' own, whole, are run.
#[test]
fn fabrics_that_the_chapters_name_are_run() {
    let mut ran = 0;
    for (page, text) in texts("docs", ".md") {
        for words in spans(&text).into_iter().filter(|words| words[0] == "fabric") {
            if words.iter().any(|word| word.starts_with(|first: char| first.is_ascii_digit())) {
                let output = run(narrows().args(&words));
                assert_eq!(output.status.code(), Some(0), "{page}: {words:?}\n{}", err(&output));
                ran += 1;
            }
        }
        let cases = text.split('`').skip(1).step_by(2).filter(|span| span.starts_with("--hosts"));
        assert_eq!(cases.count(), 0, "{page}: a fabric without its command");
    }
    assert!(ran >= 4, "{ran} fabrics");
}

/// What the packages have of the sources: `lab/` stays behind, so no command may need a file of it.
#[test]
fn no_command_takes_a_file_that_packages_leave_out() {
    let ours = ["docs/evidence.md", "docs/decisions.md"];
    let pages = [texts("docs", ".md"), texts("docs/howto", ".md")].concat();
    for (page, text) in pages.iter().filter(|(page, _)| !ours.contains(&page.as_str())) {
        for words in text.lines().flat_map(commands).chain(spans(text)) {
            assert!(!words.iter().any(|word| word.starts_with("lab/")), "{page}: {words:?}");
            for file in words.iter().filter(|word| word.starts_with("docs/examples/")) {
                assert!(top().join(file).exists(), "{page}: {file}");
            }
        }
    }
}

/// It lists what there is, and none is no error.
#[test]
fn devices_are_listed_where_there_are_none() {
    let output = run(narrows().args(["rdma", "--list"]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let page = text("docs/howto/rdma-or-tcp.md");
    let (_, behind) = page.split_once("rdma --list\n").expect("the command");
    let paragraph = behind.trim_start().split("\n\n").next().expect("a paragraph");
    assert!(paragraph.contains("to list them is no error"), "{paragraph}");
}

#[test]
fn the_book_has_every_page_once() {
    let summary = text("docs/SUMMARY.md");
    let links = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let mut listed: Vec<String> = links.map(str::to_owned).collect();
    listed.sort();
    let mut pages: Vec<String> = Vec::new();
    for folder in ["docs", "docs/howto"] {
        for entry in std::fs::read_dir(top().join(folder)).expect(folder).flatten() {
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            let name = name.trim_start_matches("docs/").to_owned();
            if name.ends_with(".md") && name != "SUMMARY.md" {
                pages.push(name);
            }
        }
    }
    pages.sort();
    assert_eq!(listed, pages);
}

/// Names of files that people fetch are those of this version, and those that lab/release makes.
#[test]
fn files_to_fetch_are_named_as_they_are_made() {
    let version = env!("CARGO_PKG_VERSION");
    let page = text("docs/install.md");
    for name in [
        format!("narrows_{version}-1_amd64.deb"),
        format!("narrows-{version}-1.x86_64.rpm"),
        format!("narrows-{version}-x86_64-unknown-linux-gnu"),
        format!("narrows-{version}-image-x86_64.tar"),
    ] {
        assert!(page.contains(&name), "{name}");
    }
    for (part, name) in [
        ("deb", "narrows_${VERSION}-1_amd64.deb"),
        ("rpm", "narrows-$VERSION-1.x86_64.rpm"),
        ("archives", "narrows-$VERSION-$target"),
        ("image", "narrows-$VERSION-image-x86_64.tar"),
        ("contents", "narrows-$VERSION.cdx.json"),
        ("recipes", "narrows-$VERSION.eb"),
    ] {
        assert!(text(&format!("lab/packages/{part}")).contains(name), "{part}: {name}");
    }
}

#[test]
fn exit_codes_of_the_reference_are_those_of_the_help() {
    let help = run(narrows().arg("--help"));
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let codes = help.split("Exit codes:\n\n").nth(1).expect("exit codes").trim_end().to_owned();
    assert!(text("docs/reference.md").contains(&codes), "{codes}");
}
