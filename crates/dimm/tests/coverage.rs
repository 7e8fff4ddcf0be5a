//! Of how many servers whose reports are at hand the population has a verdict, by maker.
//!
//!     cargo test -p narrows-dimm --test coverage -- --nocapture
//!
//! prints the table; with `COVERAGE_GAPS=1` every host without a verdict follows, with what is
//! missing. Whether a verdict is right is asked elsewhere: this counts who gets one.

use narrows_dimm::board::Board;
use narrows_dimm::placement;
use narrows_dimm::population::Population;
use narrows_host::open;
use narrows_model::host::Host;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

const ARCHIVE: &str = "../../../shared/corpora/dmi-public/server-dev.tar.xz";

/// Words of the names of processors that servers are built with.
const SERVER: [&str; 7] = ["XEON", "EPYC", "OPTERON", "KUNPENG", "ALTRA", "AMPEREONE", "GRAVITON"];

fn say(text: &str) {
    // In one piece: the harness writes between.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The folder with the reports, unpacked once; `None` where they are not at hand.
fn unpacked() -> Option<PathBuf> {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join(ARCHIVE);
    if !archive.exists() {
        say(&format!("skipped: {} is not there\n", archive.display()));
        return None;
    }
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("server-dev");
    if !dir.is_dir() {
        std::fs::create_dir_all(&dir).expect("folder");
        let mut tar = std::process::Command::new("tar");
        let done = tar.arg("xf").arg(&archive).arg("-C").arg(&dir).status().expect("tar");
        assert!(done.success(), "{}", archive.display());
    }
    Some(dir)
}

fn reports(dir: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(dir).expect("folder").flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { reports(&path, found) } else { found.push(path) }
    }
}

/// Whether the host is a server with DDR3 or later.
fn counts(host: &Host) -> bool {
    let sockets = host.cpu.sockets.value().map(Vec::as_slice).unwrap_or_default();
    let models = sockets.iter().filter_map(|socket| socket.model.as_deref());
    let of_server = models.into_iter().any(|model| {
        let model = model.to_uppercase();
        SERVER.iter().any(|word| model.contains(word))
    });
    let slots = host.memory.slots.value().map(Vec::as_slice).unwrap_or_default();
    let modules = slots.iter().filter_map(|slot| slot.module.as_ref());
    let mut kinds = modules.map(|module| module.technology.to_uppercase());
    of_server && kinds.any(|kind| ["DDR3", "DDR4", "DDR5"].contains(&kind.as_str()))
}

/// Hosts with a verdict, of all.
#[derive(Default)]
struct Share {
    with: usize,
    all: usize,
}

impl Share {
    fn add(&mut self, has: bool) {
        self.with += usize::from(has);
        self.all += 1;
    }

    fn percent(&self) -> f64 {
        100.0 * self.with as f64 / self.all.max(1) as f64
    }

    fn line(&self, name: &str) -> String {
        format!("{name:<28}{:>5} of {:>4}  {:>5.1} %\n", self.with, self.all, self.percent())
    }
}

#[test]
fn most_servers_get_a_verdict() {
    let Some(dir) = unpacked() else { return };
    let top = dir.join("Server");
    let mut files = Vec::new();
    reports(&top, &mut files);
    let (mut all, mut wide) = (Share::default(), Share::default());
    let mut makers: BTreeMap<String, Share> = BTreeMap::new();
    let mut rules: BTreeMap<String, usize> = BTreeMap::new();
    let mut gaps = String::new();
    for file in &files {
        let Ok(host) = open(file) else { continue };
        if !counts(&host) {
            continue;
        }
        let name = file.strip_prefix(&top).expect("inside").display().to_string();
        let maker = name.split('/').next().unwrap_or_default().to_owned();
        let population = Population::of(&host);
        let has = population.is_ok();
        all.add(has);
        makers.entry(maker).or_default().add(has);
        let sockets = host.cpu.sockets.value().map_or(0, Vec::len);
        if sockets >= 4 {
            wide.add(has);
        }
        let trace = placement::trace(&Board::of(&host), &[]);
        if let Some(placed) = &trace.placed {
            *rules.entry(placed.rule.clone()).or_default() += 1;
        }
        if let Err(missing) = population {
            gaps.push_str(&format!("{name}: {missing}\n"));
            for (rule, why) in &trace.failed {
                gaps.push_str(&format!("    {rule}: {why}\n"));
            }
        }
    }
    let mut makers: Vec<(String, Share)> = makers.into_iter().collect();
    makers.sort_by_key(|(_, share)| std::cmp::Reverse(share.all));
    let mut text = all.line("all") + &wide.line("four sockets and more");
    text.extend(makers.iter().map(|(maker, share)| share.line(maker)));
    text.push_str("placed by\n");
    text.extend(rules.iter().map(|(rule, hosts)| format!("  {rule:<30}{hosts:>5}\n")));
    if std::env::var_os("COVERAGE_GAPS").is_some() {
        text.push_str(&gaps);
    }
    say(&text);
    assert!(all.percent() >= 98.0 && wide.percent() >= 90.0, "{text}");
    for (maker, share) in makers.iter().filter(|(_, share)| share.all >= 10) {
        assert!(share.percent() >= 85.0, "{}", share.line(maker));
    }
}
