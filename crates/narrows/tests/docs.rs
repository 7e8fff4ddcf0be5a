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
