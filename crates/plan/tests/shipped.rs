//! The studies that narrows brings: what their cells ask for, and what the page about them says.

use narrows_model::Bytes;
use narrows_model::options::rdma::GID;
use narrows_model::study::RATE;
use narrows_plan::study::{Cell, Definition, cells};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cells_of(file: &str) -> Vec<Cell> {
    let path = top().join("studies").join(file);
    let text = std::fs::read_to_string(&path).expect(file);
    cells(&Definition::parse(&text).expect(file)).expect(file)
}

/// Every study but those of applications, which a command of their own reads.
fn all() -> BTreeMap<String, Vec<Cell>> {
    let files = std::fs::read_dir(top().join("studies")).expect("studies");
    let paths = files.map(|file| file.expect("a file").path()).filter(|path| path.is_file());
    let studies = paths.filter(|path| {
        let text = std::fs::read_to_string(path).expect("a study");
        !text.contains("\n[figure]\n")
    });
    let names = studies.map(|path| path.file_name().expect("a name").to_string_lossy().into());
    names.map(|name: String| (name.clone(), cells_of(&name))).collect()
}

/// LP1241 switched its adapters: InfiniBand in one mode, RoCE v1, TCP and UDP in the other.
#[test]
fn lenovos_protocols_are_those_of_the_paper_each_in_its_mode() {
    for (file, populations) in
        [("lenovo-memory-population.toml", 12), ("lenovo-one-processor.toml", 6)]
    {
        let all = cells_of(file);
        let kinds: BTreeSet<(String, String)> = all
            .iter()
            .map(|cell| {
                let level = |factor| cell.level(factor).expect(factor).to_owned();
                (level("mode"), level("protocol"))
            })
            .collect();
        let wanted = [("eth", "RoCEv1"), ("eth", "TCP"), ("eth", "UDP"), ("ib", "InfiniBand")];
        let wanted = wanted.map(|(mode, protocol)| (mode.to_owned(), protocol.to_owned()));
        assert_eq!(kinds, BTreeSet::from(wanted), "{file}");
        assert_eq!(all.len(), 4 * populations, "{file}");
        // What a port is asked to be is told to the run, which fails on another.
        for cell in &all {
            let params = cell.settings.params(Bytes::mib(8), Bytes::mib(8)).expect("parameters");
            let gid = match cell.level("protocol") {
                Some("InfiniBand") => Some("infiniband"),
                Some("RoCEv1") => Some("rocev1"),
                _ => None,
            };
            assert_eq!(GID.of(&params).as_deref(), gid, "{file}: {}", cell.label());
        }
    }
}

/// How many cells are repeated, and the rates of searches.
fn parted(all: &[Cell]) -> (usize, Vec<&Cell>) {
    let rates: Vec<&Cell> = all.iter().filter(|cell| cell.level(RATE).is_some()).collect();
    (all.len() - rates.len(), rates)
}

/// The number that stands before these words.
fn number_before(line: &str, words: &str) -> Option<usize> {
    let before = &line[..line.find(words)?];
    before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Each row of the table of files has the numbers of its file's cells, and each line that says "so
/// many of so many cells" those of a study that it names.
#[test]
fn the_page_counts_the_cells_that_the_files_have() {
    let page = std::fs::read_to_string(top().join("docs/studies.md")).expect("a page");
    let studies = all();
    let mut told = 0;
    for line in page.lines() {
        let row: Vec<&str> = line.split('|').map(str::trim).collect();
        if let [_, file, _, count, ..] = row.as_slice()
            && let Some(all) = studies.get(file.trim_matches('`'))
        {
            // The rates of a search are no cells that anybody counts.
            let (cells, rates) = parted(all);
            let searches = rates.iter().map(|cell| &cell.levels[..cell.levels.len() - 1]);
            let searches = searches.map(|levels| format!("{levels:?}")).collect::<BTreeSet<_>>();
            let wanted = match searches.len() {
                0 => cells.to_string(),
                searches => format!("{cells} and {searches} searches"),
            };
            assert_eq!(*count, wanted, "{line}");
            let rdma = all.iter().filter(|cell| cell.settings.kind().is_rdma()).count();
            let said = number_before(line, " cells need an RDMA device");
            assert_eq!(said.unwrap_or_default(), rdma, "{line}");
            told += 1;
        }
        for part in line.split(" of ").skip(1) {
            let digits = part.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            if part[digits.len()..].starts_with(" cells") {
                let count: usize = digits.parse().expect("a count");
                let mut named = studies
                    .iter()
                    .filter(|(file, _)| line.contains(file.trim_end_matches(".toml")));
                assert!(named.any(|(_, all)| all.len() == count), "{count} cells: {line}");
            }
        }
    }
    assert_eq!(told, studies.len(), "studies that the page has a row of");
}
