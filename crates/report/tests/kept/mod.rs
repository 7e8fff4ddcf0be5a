//! Whole reports that are kept: texts as they are, pages, pictures and files for programs as sums.
#![allow(dead_code)]

use narrows_model::study::StoredStudy;
use narrows_report::diagnosis::Diagnosis;
use narrows_report::drawn::Screen;
use narrows_report::peer_check::{self, PeerCheck};
use narrows_report::{
    Analysis, brief, bus, data, diagnosed, explained, figures, formats, latency, servers, stream,
    study,
};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Numbers with a point, cut to twelve digits: mathematical libraries differ in the last ones.
fn cut(text: &str) -> String {
    let (mut digits, mut has_point) = (0, false);
    let keeps = |c: &char| {
        match c {
            '0'..='9' => digits += 1,
            '.' if digits > 0 && !has_point => has_point = true,
            _ => (digits, has_point) = (0, false),
        }
        !has_point || digits <= 12 || *c == '.'
    };
    text.chars().filter(keeps).collect()
}

/// A sum of a text (FNV-1a, 64 bits).
fn sum(text: &str) -> String {
    let sum = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{sum:016x}")
}

/// Texts one after the other, each below its name.
#[derive(Default)]
pub struct Whole(String);

impl Whole {
    pub fn text(&mut self, name: &str, text: &str) {
        let _ = write!(self.0, "==== {name}\n{}\n", cut(text.trim_end()));
    }

    pub fn sum(&mut self, name: &str, text: &str) {
        let _ = writeln!(self.0, "==== {name} {}", sum(&cut(text)));
    }

    /// Compares with what a file keeps; `NARROWS_GOLDEN=write` keeps it anew.
    #[track_caller]
    pub fn is_kept(&self, file: &Path) {
        if std::env::var("NARROWS_GOLDEN").is_ok_and(|golden| golden == "write") {
            std::fs::write(file, &self.0).expect("kept");
        }
        let kept = std::fs::read_to_string(file).expect("what was kept");
        let (mut kept, mut now) = (kept.lines(), self.0.lines());
        let mut part = "";
        loop {
            let (was, is) = (kept.next(), now.next());
            let name = file.display();
            assert_eq!(is, was, "{name}, {part}: NARROWS_GOLDEN=write keeps it anew");
            let Some(line) = is else { break };
            if line.contains("==== ") {
                part = line;
            }
        }
    }
}

/// A report in every format, and what commands say beside it.
pub fn all_of(analysis: &Analysis<'_>) -> Whole {
    let stored = analysis.stored;
    let narrow = Screen { columns: Some(80), unicode: false };
    let mut all = Whole::default();
    all.text("brief", &brief::text(analysis, &narrow, "report.html"));
    for name in ["text", "markdown", "prometheus"] {
        let format = formats::format(name).expect("a format");
        all.text(name, &(format.write)(analysis));
    }
    for name in ["csv", "html", "iperf3", "json", "jsonl"] {
        let format = formats::format(name).expect("a format");
        all.sum(name, &(format.write)(analysis));
    }
    let cells = explained::cells(analysis);
    all.text("explained", &explained::text(analysis, &cells));
    all.text(
        "diagnosis",
        &diagnosed::text(&Diagnosis::of(analysis), "beta", "report.html", &narrow),
    );
    let load = peer_check::under_load(analysis);
    let check = PeerCheck::of(analysis);
    all.text("peer", &check.text("beta", Some(&load), "report.html", &Screen::FILE));
    if let Some(of) = &analysis.latency {
        all.text("latency", &latency::text::rows(of));
        all.text("latency notes", &latency::text::notes(of).join("\n"));
    }
    all.text("bus", &bus::text(&bus::of(&stored.host, Some(12.3), Some(analysis))));
    all.text("servers", &servers::text(&servers::of_study(analysis)));
    if let Some(of) = &analysis.study {
        all.text("tables", &study::text::tables(analysis, of));
        all.text("end", &brief::study(analysis, of, &narrow, "report.html"));
    }
    let records = stored
        .trials
        .iter()
        .flat_map(|trial| stored.records_of(trial).map(move |record| stream::run(trial, record)));
    all.sum("stream", &records.collect::<Vec<_>>().join("\n"));
    all.sum("began", &stream::began(&stored.study, &stored.trials));
    for (name, svg) in figures::all(analysis) {
        all.sum(&format!("figure {name}"), &svg);
    }
    for (name, text) in data::all(analysis) {
        all.sum(&format!("data {name}"), &text);
    }
    all
}

/// That the report of a made study is as `tests/kept/NAME.txt` has it; what rules find is left out,
/// so that their words may change.
#[track_caller]
pub fn is_as_kept(name: &str, stored: &StoredStudy) {
    let mut analysis = Analysis::of(stored);
    analysis.judged.clear();
    analysis.populations.clear();
    analysis.found.clear();
    analysis.limits.clear();
    all_of(&analysis).is_kept(&file(name));
}

/// Where what was found right is kept under a name.
pub fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept").join(format!("{name}.txt"))
}
