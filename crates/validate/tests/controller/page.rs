//! The tables and the figure of docs/no-link-full.md: made here, and compared with what stands
//! there. `NARROWS_GOLDEN=write` writes them.

use crate::counted::{mixes, through};
use crate::drawing::{Line, drawn};
use crate::load::What;
use crate::parameters::{Parameters, Rules};
use crate::published::{Compared, Errors, Row, compared, errors};
use crate::regimes::HINDERED;
use crate::simulated::{Experiment, SEEDS, together};
use crate::sources::sourced;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Of RoCE in the red regime, one to six cores: the paper's figures 18 to 30, by eye.
const PUBLISHED_NS: [f64; 6] = [313.0, 316.0, 326.0, 580.0, 722.0, 791.0];
const PUBLISHED_LINES: [f64; 6] = [60.0, 60.0, 62.0, 92.0, 92.0, 92.0];

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

fn with(rules: Rules) -> Parameters {
    Parameters { rules, ..Parameters::CASCADE_LAKE }
}

fn is_written() -> bool {
    std::env::var("NARROWS_GOLDEN").is_ok_and(|value| value == "write")
}

/// One at a time: several tests write parts of one file.
static WRITING: Mutex<()> = Mutex::new(());

/// A file of docs, or the part of one between its marks, is what was made.
fn held(name: &str, marks: Option<&str>, made: &str) {
    let _alone = WRITING.lock();
    let path = docs(name);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let (before, old, after) = match marks {
        None => ("", text.as_str(), ""),
        Some(mark) => {
            let (before, rest) = text.split_once(&format!("<!-- {mark} -->\n")).expect("a mark");
            let (old, _) = rest.split_once("<!-- end -->").expect("its end");
            (before, old, &rest[old.len()..])
        }
    };
    if is_written() {
        let mark = marks.map(|mark| format!("<!-- {mark} -->\n")).unwrap_or_default();
        std::fs::write(&path, format!("{before}{mark}{made}{after}")).expect("written");
        return;
    }
    assert_eq!(old, made, "{name} {marks:?}: NARROWS_GOLDEN=write, and read the difference");
}

fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        out += &format!("| {} |\n", row.join(" | "));
    }
    out
}

fn of<'a>(all: &'a [Compared], server: &str) -> Vec<&'a Compared> {
    all.iter().filter(|one| one.row.server == server).collect()
}

const RED: [&str; 2] =
    ["drives write, cores read and write", "RoCE received, cores read and write"];

fn percent(value: f64) -> String {
    format!("{:.1}", value * 100.0)
}

/// Rows, and the slowdowns of cores and device that somebody says of each.
type Said<'a> = Vec<(&'a Row, [f64; 2])>;

/// How many times slower the device is beside so many cores of an experiment.
fn slower(said: &Said<'_>, server: &str, cores: usize) -> f64 {
    let here = said.iter().find(|(row, _)| row.server == server && row.cores == cores);
    here.map_or(f64::NAN, |(_, says)| says[1])
}

/// Errors and the red regime in figures, of what is said of the rows.
fn scored(name: &str, said: &Said<'_>) -> Vec<String> {
    let all = errors(said, None);
    let [cores, device] = [0, 1].map(|side| errors(said, Some(side)).mean);
    let Errors { mean, median, least, most, .. } = all;
    let mut row = vec![name.to_owned(), percent(mean), percent(median)];
    row.extend([percent(cores), percent(device)]);
    row.push(format!("{:+.0} to {:+.0}", least * 100.0, most * 100.0));
    for server in RED {
        let from = (1..=6).find(|cores| slower(said, server, *cores) > HINDERED);
        let from = from.map_or("none".to_owned(), |cores| cores.to_string());
        row.push(format!("{:.2}, from {from}", slower(said, server, 6)));
    }
    row
}

fn said(all: &[Compared]) -> Said<'_> {
    all.iter().map(|one| (&one.row, one.slowdowns())).collect()
}

/// What something else than the simulation says of the same rows.
fn by(all: &[Compared], of: fn(&Row) -> [f64; 2]) -> Said<'_> {
    all.iter().map(|one| (&one.row, of(&one.row))).collect()
}

const SCORES: [&str; 8] =
    ["", "mean", "median", "cores", "device", "range", "drives at 6 cores", "RoCE at 6 cores"];

/// Rules of turns: reads at least, writes at most.
const TURNS: [(usize, usize); 5] = [(16, 16), (16, 24), (32, 32), (32, 48), (64, 96)];

fn rules(marks: &[Compared], turns: &[Vec<Compared>]) -> String {
    let published = by(marks, |row| row.published.map(|each| each.unwrap_or(1.0)));
    let mut first = vec!["published".to_owned()];
    first.extend(std::iter::repeat_n(String::new(), 5));
    first.extend(scored("", &published).split_off(6));
    let mut lines = vec![first, scored("simulated, marks alone", &said(marks))];
    for ((reads, writes), all) in TURNS.iter().zip(turns) {
        let name = format!("simulated, {reads} reads to {writes} writes");
        lines.push(scored(&name, &said(all)));
    }
    lines.push(scored("`narrows predict`", &by(marks, |row| row.arithmetic)));
    lines
        .push(scored("the same, 3 writes to 2 reads where full", &by(marks, |row| row.with_turns)));
    table(&SCORES, &lines)
}

/// Each published slowdown, with what was simulated and what arithmetic says.
fn all_of_them(uneven: &[Compared]) -> String {
    let mut servers: Vec<&str> = uneven.iter().map(|one| one.row.server.as_str()).collect();
    servers.dedup();
    let mut rows = Vec::new();
    for server in servers {
        for (side, whose) in [(0, "cores"), (1, "device")] {
            let here = of(uneven, server);
            if here.iter().all(|one| one.row.published[side].is_none()) {
                continue;
            }
            let mut cells = vec![format!("{server}: {whose}")];
            for one in here {
                let published = one.row.published[side].unwrap_or(f64::NAN);
                let (simulated, arithmetic) = (one.slowdowns()[side], one.row.arithmetic[side]);
                cells.push(format!("{published:.2} {simulated:.2} {arithmetic:.2}"));
            }
            rows.push(cells);
        }
    }
    table(&["published, simulated, arithmetic", "1", "2", "3", "4", "5", "6"], &rows)
}

/// What lines do in the red regime.
fn red(uneven: &[Compared]) -> String {
    let mut rows = Vec::new();
    for (at, one) in of(uneven, RED[1]).iter().enumerate() {
        let both = one.simulated.both;
        rows.push(vec![
            one.row.cores.to_string(),
            format!("{:.0}", PUBLISHED_NS[at]),
            format!("{:.0}", both.device_ns),
            format!("{:.0}", PUBLISHED_LINES[at]),
            format!("{:.0}", both.device_credits),
            format!("{:.0}", both.core_ns),
            format!("{:.0}", both.read_queue),
            format!("{:.0}", both.write_queue_full * 100.0),
            format!("{:.0}", both.entries),
            format!("{:.1} + {:.1}", 2.0 * both.cores_gb_s, both.device_gb_s),
        ]);
    }
    let head = [
        "cores",
        "device, ns: published",
        "simulated",
        "its credits: published",
        "simulated",
        "core, ns",
        "read queue",
        "write queue full, %",
        "in the agent",
        "GB/s of cores + device",
    ];
    table(&head, &rows)
}

/// Drives that write past the cache, into it, and into it with an old line going for each.
fn ddio() -> String {
    let mut rows = Vec::new();
    for (writers, whose) in [(false, "read"), (true, "read and write")] {
        for (device, way) in [
            (What::Write, "past the cache"),
            (What::Evicting, "into it, an old line goes to memory for each"),
            (What::Cached, "into it, and none does"),
        ] {
            let experiment = Experiment { writers, device, gb_s: 14.0, streams: 4 };
            let mut cells = vec![whose.to_owned(), way.to_owned()];
            for cores in [1, 2, 4, 6] {
                let both = together(Parameters::CASCADE_LAKE, &experiment, cores, SEEDS);
                cells.push(format!("{:.2}, {:.2}", both.core_slowdown, both.device_slowdown));
            }
            rows.push(cells);
        }
    }
    table(&["cores", "drives write", "1", "2", "4", "6"], &rows)
}

/// One assumption changed at a time.
fn changed() -> String {
    let base = Parameters::CASCADE_LAKE;
    let deeper = Rules { writes: 48, high: 41, low: 24, ..base.rules };
    let late = Rules { ahead: 0, ..base.rules };
    let rows = [
        ("164 lines in the agent", Parameters { entries: 164, ..base }),
        ("460", Parameters { entries: 460, ..base }),
        ("write queues of 48 lines", with(deeper)),
        ("no rows opened before the turn", with(late)),
        ("cores write 8 MiB behind", Parameters { written_behind: 131_111, ..base }),
        ("a device's pages of 64 KiB", Parameters { device_run: 1024, ..base }),
        ("10 credits of a core", Parameters { core_credits: 10, ..base }),
        ("12", Parameters { core_credits: 12, ..base }),
    ];
    table(&SCORES, &rows.map(|(name, parameters)| scored(name, &said(&compared(parameters)))))
}

fn counted() -> String {
    let mut rows = Vec::new();
    for mix in mixes() {
        let Some(all) = through(Parameters::CASCADE_LAKE, mix) else { continue };
        rows.push(vec![
            all.mix.case.clone(),
            format!("`{}`", all.mix.cache),
            format!("{:.2}", all.mix.crossing().0),
            format!("{:.1}", all.by_peak_gb_s),
            format!("{:.2}", all.gb_s),
            all.limit.to_owned(),
            format!("{:.0}", all.means.device_ns),
            format!("{:.0}", all.means.core_ns),
        ]);
    }
    let head = [
        "load",
        "cache",
        "bytes a payload byte",
        "by the peak, GB/s",
        "simulated, GB/s",
        "who is behind first",
        "device, ns",
        "core, ns",
    ];
    table(&head, &rows)
}

fn parameters() -> String {
    let rows = sourced(&Parameters::CASCADE_LAKE);
    let cells = rows
        .iter()
        .map(|(what, value, source)| vec![(*what).to_owned(), value.clone(), (*source).to_owned()]);
    table(&["parameter", "value", "source"], &cells.collect::<Vec<_>>())
}

#[test]
fn parameters_stand_on_the_page_with_their_sources() {
    held("no-link-full.md", Some("parameters"), &parameters());
}

#[test]
#[ignore = "minutes: lab/traffic/test"]
fn the_page_says_what_was_simulated() {
    let marks = compared(with(Rules::MARKS));
    let turns = TURNS.map(|(reads, writes)| compared(with(Rules::turns(reads, writes))));
    held("no-link-full.md", Some("rules"), &rules(&marks, &turns));
    let [equal, _, _, uneven, _] = turns;
    held("no-link-full.md", Some("slowdowns"), &all_of_them(&uneven));
    held("no-link-full.md", Some("red"), &red(&uneven));
    let [blue, red] = ["drives write, cores read", RED[0]].map(|server| {
        [(&uneven, ""), (&equal, "3 2")].map(|(all, dashes)| Line { rows: of(all, server), dashes })
    });
    let figure = drawn(&blue, &red);
    held("controller.svg", None, &figure);
}

#[test]
#[ignore = "minutes: lab/traffic/test"]
fn the_page_says_what_assumptions_do() {
    held("no-link-full.md", Some("changed"), &changed());
    held("no-link-full.md", Some("ddio"), &ddio());
}

#[test]
#[ignore = "minutes: lab/traffic/test"]
fn the_page_says_what_counted_mixes_carry() {
    held("no-link-full.md", Some("counted"), &counted());
}
