//! The rules of the house (ARCHITECTURE.md), enforced on the sources themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A sign that a file may hold two things, and no reason to split one (docs/decisions.md).
const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 70;
const COLUMNS_MAX: usize = 100;

/// What each room may use of the others.
const LAYERS: &[(&str, &[&str])] = &[
    ("app", &["model", "stats"]),
    ("bmc", &[]),
    ("control", &["host", "hostctl", "model", "workloads"]),
    ("counters", &["host", "model"]),
    ("dimm", &["model"]),
    ("explain", &["dimm", "model", "predict", "profile", "stats"]),
    ("fabric", &["model"]),
    ("host", &["dimm", "model"]),
    ("hostctl", &["model"]),
    ("interop", &["control", "hostctl", "model", "workloads"]),
    ("model", &[]),
    ("mpi", &[]),
    ("plan", &["model"]),
    ("predict", &["dimm", "model", "stats"]),
    ("profile", &["model", "stats"]),
    ("rdma", &[]),
    (
        "report",
        &["app", "dimm", "explain", "fabric", "model", "predict", "profile", "stats", "validate"],
    ),
    (
        "runner",
        &[
            "control",
            "counters",
            "host",
            "hostctl",
            "interop",
            "model",
            "plan",
            "stats",
            "store",
            "workloads",
        ],
    ),
    ("stats", &["model"]),
    ("store", &["model"]),
    ("validate", &["dimm", "model", "predict", "stats"]),
    ("workloads", &["model", "rdma"]),
];

/// The rooms without I/O, clock and environment.
const THINKING: &[&str] = &[
    "app", "dimm", "explain", "fabric", "model", "plan", "predict", "profile", "report", "stats",
    "validate",
];
/// The rooms that may hold unsafe code.
const UNSAFE: &[&str] = &["counters", "host", "mpi", "rdma", "workloads"];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("workspace")
}

fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") && !path.ends_with(".git") {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A source file without its unit tests and line comments.
fn code(path: &Path) -> String {
    let code = sources::code(path).expect("a source");
    code.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

fn rooms() -> Vec<String> {
    let mut rooms: Vec<String> = fs::read_dir(top().join("crates"))
        .expect("crates")
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    rooms.sort();
    rooms
}

fn sources(room: &str) -> Vec<PathBuf> {
    sources::files(&top().join("crates").join(room).join("src")).expect("sources")
}

#[test]
fn rooms_use_only_what_they_may() {
    let allowed: BTreeMap<&str, &[&str]> = LAYERS.iter().copied().collect();
    for room in rooms().iter().filter(|room| *room != "narrows") {
        let manifest = read(&top().join("crates").join(room).join("Cargo.toml"));
        let normal = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        let used =
            normal.lines().filter_map(|line| line.strip_prefix("narrows-")?.split(' ').next());
        let may = allowed.get(room.as_str()).unwrap_or_else(|| panic!("{room} is in no layer"));
        for other in used {
            assert!(may.contains(&other), "{room} may not use {other}");
        }
    }
}

#[test]
fn the_thinking_half_touches_nothing() {
    let banned = [
        "std::fs",
        "std::env",
        "std::process",
        "std::thread",
        "SystemTime",
        "Instant",
        "TcpStream",
        "UdpSocket",
        "println!",
        "Timestamp::now",
    ];
    for room in THINKING {
        for file in sources(room) {
            for word in banned {
                assert!(!code(&file).contains(word), "{} uses {word}", file.display());
            }
        }
    }
}

#[test]
fn only_the_command_prints() {
    for room in rooms().iter().filter(|room| *room != "narrows") {
        for file in sources(room) {
            let code = code(&file);
            for word in ["println!", "print!(", "stdout()", "stderr()"] {
                assert!(!code.contains(word), "{} has {word}", file.display());
            }
        }
    }
}

#[test]
fn unsafe_stays_in_its_rooms() {
    for room in rooms() {
        let src = top().join("crates").join(&room).join("src");
        let root = if src.join("lib.rs").exists() { "lib.rs" } else { "main.rs" };
        let forbids = read(&src.join(root)).contains("#![forbid(unsafe_code)]");
        assert_eq!(forbids, !UNSAFE.contains(&room.as_str()), "{room}");
    }
}

#[test]
fn files_and_functions_stay_short() {
    for room in rooms() {
        let dir = top().join("crates").join(&room);
        for file in files(&dir, "rs") {
            let text = read(&file);
            // What xtask makes from other people's headers is not written by hand.
            if file.ends_with("bindings.rs") || file.ends_with("cm_bindings.rs") {
                assert!(text.contains("Made by xtask"), "{}", file.display());
                continue;
            }
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines.len() <= FILE_LINES_MAX, "{}: {} lines", file.display(), lines.len());
            for (number, line) in lines.iter().enumerate() {
                let columns = line.chars().count();
                let words = line.trim_start().starts_with("//") || !line.contains('"');
                assert!(
                    !words || columns <= COLUMNS_MAX,
                    "{}:{}: {columns} columns",
                    file.display(),
                    number + 1
                );
            }
            for function in functions(&text, &file) {
                let (name, lines) = (function.name, function.lines);
                assert!(lines <= FUNCTION_LINES_MAX, "{}: {name}: {lines}", file.display());
            }
        }
    }
}

fn functions(text: &str, path: &Path) -> Vec<sources::Function> {
    let file = syn::parse_file(text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    sources::functions(&file)
}

#[test]
fn function_lengths_are_seen() {
    for begins in [
        "fn long()",
        "pub const fn long()",
        "pub(in crate::a) async fn long()",
        "extern \"C\" fn long()",
        "pub unsafe extern \"C\" fn long()",
        "#[inline]\nfn long()",
        "fn outer() { fn long()",
        "trait T { fn long()",
        "impl T { pub unsafe fn long()",
    ] {
        let closed = "}".repeat(begins.matches('{').count());
        let text = format!("{begins} {{\n{}}}{closed}\n", "    x();\n".repeat(80));
        let all = functions(&text, Path::new("planted"));
        let seen = all.iter().find(|function| function.name == "long");
        assert_eq!(seen.map(|function| function.lines), Some(82), "{begins}");
    }
}

#[test]
fn only_tests_are_left_out_of_the_code() {
    let text = "#[cfg(test)]\nuse a::b;\nfn kept() {}\nimpl C {\n    #[cfg(test)]\n    fn of() {}\n    \
                fn also() {}\n}\n#[cfg(not(test))]\nfn built() {}\n#[cfg(all(test, unix))]\nmod t \
                {}\nfn last() {}\n";
    let code = sources::without_tests(text).expect("a source");
    for kept in ["kept", "also", "built", "last"] {
        assert!(code.contains(&format!("fn {kept}() {{}}")), "{kept}: {code}");
    }
    for left_out in ["use", "of()", "mod t"] {
        assert!(!code.contains(left_out), "{left_out}: {code}");
    }
    assert_eq!(code.lines().count(), text.lines().count());
}

/// Registries: the folder, and the name of the list in its `mod.rs`.
const REGISTRIES: &[(&str, &str)] = &[
    ("explain/src/rules", "RULES"),
    ("workloads/src/kinds", "KINDS"),
    ("workloads/src/tcp/receivers", "RECEIVERS"),
    ("workloads/src/tcp/senders", "SENDERS"),
    ("workloads/src/udp/receivers", "RECEIVERS"),
    ("workloads/src/udp/senders", "SENDERS"),
    ("counters/src/sources", "SOURCES"),
    ("report/src/formats", "FORMATS"),
    ("report/src/views", "VIEWS"),
];

#[test]
fn registries_list_their_files_in_order() {
    for (dir, list) in REGISTRIES {
        let dir = top().join("crates").join(dir);
        let stem = |path: &PathBuf| path.file_stem().expect("name").to_string_lossy().into_owned();
        let on_disk: Vec<String> = files(&dir, "rs")
            .iter()
            .map(stem)
            .filter(|name| !["mod", "diff"].contains(&&**name))
            .collect();
        let text = read(&dir.join("mod.rs"));
        let mods: Vec<String> = text
            .lines()
            .filter_map(|line| line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod "))
            .map(|name| name.trim_end_matches(';').to_owned())
            // Of two hosts, not of one: no view in the list.
            .filter(|name| name != "diff")
            .collect();
        let listed = text.split(&format!("static {list}")).nth(1).expect(list);
        let listed = listed.split_whitespace().collect::<String>();
        let listed = listed.split_once("=&[").expect(list).1.to_owned();
        let listed: Vec<String> = listed
            .split(']')
            .next()
            .unwrap_or_default()
            .split(',')
            .filter_map(|entry| entry.trim().strip_prefix('&')?.split("::").next())
            .map(str::to_owned)
            .collect();
        assert_eq!(mods, on_disk, "{}: mods and files", dir.display());
        assert_eq!(listed, on_disk, "{}: list and files", dir.display());
    }
}

/// A rule is in the file of its name, which users' files and docs have.
#[test]
fn rules_are_in_files_of_their_names() {
    use narrows_explain::rules::RULES;
    let dir = top().join("crates/explain/src/rules");
    let names: BTreeSet<String> =
        RULES.iter().map(|rule| rule.name.replace('-', "_") + ".rs").collect();
    for file in files(&dir, "rs").iter().filter(|file| !file.ends_with("mod.rs")) {
        let name = file.file_name().expect("name").to_string_lossy().into_owned();
        assert!(names.contains(&name), "{name}: no rule is called so");
        let rule = name.trim_end_matches(".rs").replace('_', "-");
        let says = format!("name: \"{rule}\"");
        assert!(code(file).contains(&says), "{name} has another rule than {rule}");
    }
    assert_eq!(names.len(), RULES.len(), "two rules have one name");
}

#[test]
fn every_room_has_its_chapter_and_links_lead_somewhere() {
    for room in rooms().iter().filter(|room| *room != "narrows") {
        assert!(top().join("docs").join(format!("{room}.md")).exists(), "docs/{room}.md");
    }
    for file in files(&top(), "md") {
        let text = read(&file);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = target.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let dir = file.parent().expect("folder");
            assert!(dir.join(target).exists(), "{}: {target}", file.display());
        }
    }
}

#[test]
fn no_text_names_a_machine_or_its_folders() {
    // Built from pieces, so that this file does not name them either.
    let banned: Vec<String> =
        [["/wo", "rk/"], ["/ro", "ot/"], ["/ho", "me/"]].iter().map(|p| p.concat()).collect();
    let mut seen = BTreeSet::new();
    for ending in ["rs", "md", "toml", "css", "sh"] {
        for file in files(&top(), ending) {
            for word in &banned {
                if read(&file).contains(word.as_str()) {
                    seen.insert(format!("{}: {word}", file.display()));
                }
            }
        }
    }
    assert!(seen.is_empty(), "{seen:?}");
}

#[test]
fn nothing_native_is_linked() {
    let lock = read(&top().join("Cargo.lock"));
    let natives = lock.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let natives: Vec<&str> = natives.filter(|name| name.ends_with("-sys")).collect();
    // SQLite and ring are the only C that is compiled. The others are Rust on Linux (linux-raw,
    // netlink, perf-event-open), or are not built there at all.
    let known = [
        "core-foundation-sys",
        "io-kit-sys",
        "js-sys",
        "libsqlite3-sys",
        "linux-raw-sys",
        "netlink-sys",
        "perf-event-open-sys",
        "security-framework-sys",
        "windows-sys",
    ];
    for name in natives {
        assert!(known.contains(&name), "{name} may link a native library");
    }
}

/// Lines that begin an example in documentation which rustdoc would run: a fence without a word.
fn examples(text: &str) -> usize {
    let fences = text.lines().filter_map(|line| {
        let line = line.trim_start();
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
        doc.trim().strip_prefix("```")
    });
    // Each second one ends what the one before began.
    fences.step_by(2).filter(|word| word.is_empty() || *word == "rust").count()
}

/// Scripts below a folder, at any depth.
fn scripts(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |path: PathBuf| if path.is_dir() { scripts(&path) } else { vec![path] };
    entries.map(|entry| entry.path()).flat_map(of).collect()
}

/// `head` and `grep -q` end before their writer does, which `pipefail` takes for a failure, now and
/// then: a whole run of lab/test was once lost to its last line.
#[test]
fn no_script_ends_a_pipe_early() {
    let ends = |line: &&str| {
        let mut parts = line.split(" | ").skip(1);
        parts.any(|part| part == "head" || part.starts_with("head ") || part.starts_with("grep -q"))
    };
    assert!(ends(&"a | sort | head") && ends(&"a | grep -qx b") && !ends(&"a || grep -q b c"));
    let mut with_pipefail = 0;
    for file in scripts(&top().join("lab")) {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        if text.contains("pipefail") {
            with_pipefail += 1;
            assert_eq!(text.lines().find(ends), None, "{}: use sed -n 1p", file.display());
        }
    }
    assert!(with_pipefail > 10, "{with_pipefail} scripts");
}

/// lab/test leaves rustdoc out: it read every room for seconds and found nothing to run.
#[test]
fn documentation_has_no_examples_that_are_not_run() {
    let said = "/// ```\n/// f()\n/// ```\n//! ```text\n//! a\n//! ```\n/// ```rust\n/// ```";
    assert_eq!(examples(said), 2);
    for file in rooms().iter().flat_map(|room| sources(room)) {
        assert_eq!(examples(&read(&file)), 0, "{}: make it a test", file.display());
    }
}

#[test]
fn only_what_escapes_writes_to_standard_error() {
    // What escapes it, and goes on where it cannot be written; a print macro panics there.
    let escapes = "said.rs";
    for file in sources("narrows") {
        let text = code(&file);
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let prints =
            text.lines().find(|line| line.contains("print!(") || line.contains("println!("));
        assert_eq!(prints, None, "{}", file.display());
        let shows = |line: &&str| line.contains("terminal") || line.contains("DrawTarget");
        let writes =
            text.lines().filter(|line| !shows(line)).find(|line| line.contains("stderr()"));
        assert!(name == escapes || writes.is_none(), "{}: {writes:?}", file.display());
    }
}

/// What others can see of a file and is `Result<_, String>`: functions, fields, aliases, `FromStr`.
fn string_errors(code: &str) -> Vec<String> {
    let words = code.split_whitespace().collect::<Vec<_>>().join(" ");
    let ends = |rest: &str| rest.find(['{', ';', '}']).unwrap_or(rest.len());
    let public = words.split("pub ").skip(1).map(|rest| rest[..ends(rest)].to_owned());
    let told = public.filter(|item| item.split("Result<").skip(1).any(fails_by_string));
    told.chain(words.matches("type Err = String").map(str::to_owned)).collect()
}

/// Whether the last of a type's arguments is `String`; `rest` begins behind their bracket.
fn fails_by_string(rest: &str) -> bool {
    let mut depth = 1;
    let closes = rest.char_indices().find(|(at, mark)| {
        // The arrow of a function's type closes nothing.
        depth += match mark {
            '<' => 1,
            '>' if !rest[..*at].ends_with('-') => -1,
            _ => 0,
        };
        depth == 0
    });
    closes.is_some_and(|(at, _)| rest[..at].trim_end_matches([',', ' ']).ends_with(", String"))
}

#[test]
fn no_room_gains_an_error_that_is_a_string() {
    assert_eq!(string_errors("pub fn f(a: u8) -> Result<u8, String> { g() } fn h()").len(), 1);
    assert_eq!(string_errors("pub f: fn(u8) -> Result<Vec<u8>, String>, }").len(), 1);
    assert_eq!(string_errors("fn f() -> Result<u8, String> { pub } pub fn h() {}").len(), 0);
    assert_eq!(string_errors("pub fn f(a: &Map<u8, String>) -> Result<u8, Why> {}").len(), 0);
    let files = rooms().into_iter().flat_map(|room| sources(&room));
    let all: Vec<String> = files
        .flat_map(|file| {
            let found = string_errors(&code(&file));
            found.into_iter().map(move |item| format!("{}: {item}", file.display()))
        })
        .collect();
    assert!(all.is_empty(), "errors that are strings:\n{}", all.join("\n"));
}

#[test]
fn tests_that_the_evidence_names_are_there() {
    let mut functions = BTreeSet::new();
    for path in files(&top().join("crates"), "rs") {
        for after in read(&path).split("fn ").skip(1) {
            let name: String =
                after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            functions.insert(name);
        }
    }
    let evidence = read(&top().join("docs/evidence.md"));
    let words = evidence.split(|c: char| !c.is_alphanumeric() && c != '_');
    // A name of four words or more is a test's; shorter ones are fields, capitals a slot's.
    let test = |word: &&str| word.matches('_').count() >= 3 && !word.contains(char::is_uppercase);
    let names: BTreeSet<&str> = words.filter(test).collect();
    assert!(names.len() > 50, "{} tests are named", names.len());
    let missing: Vec<&&str> = names.iter().filter(|name| !functions.contains(**name)).collect();
    assert!(missing.is_empty(), "docs/evidence.md names tests that are not there: {missing:?}");
}

#[path = "../../../xtask/src/cycles.rs"]
mod cycles;
#[path = "../../../xtask/src/decisions.rs"]
mod decisions;
#[path = "../../../xtask/src/drawing.rs"]
mod drawing;
#[path = "../../../xtask/src/figures.rs"]
mod figures;
#[path = "../../../xtask/src/sources.rs"]
mod sources;
#[path = "../../../xtask/src/table.rs"]
mod table;

#[test]
fn the_drawing_of_the_house_is_current() {
    let (is, should) = drawing::architecture(&top()).expect("ARCHITECTURE.md");
    let again = "cargo run --manifest-path xtask/Cargo.toml -- drawing";
    assert_eq!(is, should, "draw it again: {again}");
}

#[path = "house/circles.rs"]
mod circles;
#[path = "house/ratchets.rs"]
mod ratchets;
#[path = "house/words.rs"]
mod words;
