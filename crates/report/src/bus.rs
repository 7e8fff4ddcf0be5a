//! `predict --traffic`: the least that crosses a host's memory bus for each byte of the network, by
//! path and direction, beside what was counted and what its memory reaches.

use crate::Analysis;
use crate::{table, words};
use narrows_model::Bytes;
use narrows_model::host::Host;
use narrows_predict::bus::{Buffer, DIRECT, Moves, Way, copied};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;

/// One path, with the least that it needs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PathTraffic {
    pub path: String,
    /// Memory bytes per network byte at the end that sends: from all cached to nothing cached.
    pub sends: (f64, f64),
    /// The same at the end that receives.
    pub receives: (f64, f64),
    /// Gb/s of payload, received, that fill what a copy of this host's memory reaches: from the
    /// most bytes to the least; `None` where no copy was measured.
    pub receives_fill_at_gbps: Option<(f64, f64)>,
}

/// What `lab/traffic` counted with modelled caches: a host that sends to itself through two NICs.
const COUNTED: &str = include_str!("../../../docs/traffic.csv");
/// Its loads that are paths of programs, and what they are.
const LOADS: [(&str, &str); 5] = [
    ("tcp-hot", "sockets, buffers within the cache"),
    ("tcp-cold", "sockets, buffers beyond it"),
    ("tcp-cold-zerocopy", "the same, sender zerocopy"),
    ("tcp-cold-sendfile", "the same, sender sendfile"),
    ("tcp-cold-dropped", "the same, receiver truncate"),
];

/// Memory bytes a payload byte of both ends together, as counted with a modelled cache.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Modelled {
    pub path: &'static str,
    /// Size of the cache, its ways, and of these those that devices' writes may take.
    pub cache: &'static str,
    /// Bytes over the memory bus for each byte of payload, of sender and receiver together.
    pub per_byte: f64,
}

/// The counts of [`COUNTED`], by path and cache.
fn modelled() -> Vec<Modelled> {
    let rows = COUNTED.lines().skip(1).map(|line| line.split(',').collect::<Vec<&'static str>>());
    let rows: Vec<_> = rows.filter(|row| row.first() == Some(&"nics")).collect();
    LOADS
        .into_iter()
        .flat_map(|(case, path)| -> Vec<Modelled> {
            let own = rows.iter().filter(|row| row.get(1) == Some(&case));
            own.filter_map(|row| {
                let per_byte = row.get(5)?.parse().ok()?;
                Some(Modelled { path, cache: row.get(3)?, per_byte })
            })
            .collect()
        })
        .collect()
}

/// The same as a table.
fn modelled_text(all: &[Modelled]) -> String {
    let mut caches: Vec<&str> = Vec::new();
    for one in all {
        if !caches.contains(&one.cache) {
            caches.push(one.cache);
        }
    }
    let head = std::iter::once("counted").chain(caches.iter().copied()).map(str::to_owned);
    let mut rows = vec![head.collect::<Vec<String>>()];
    for (_, path) in LOADS {
        rows.push(
            std::iter::once(path.to_owned())
                .chain(caches.iter().map(|cache| {
                    let found = all.iter().find(|one| one.path == path && one.cache == *cache);
                    found.map_or("-".to_owned(), |one| format!("{:.1}", one.per_byte))
                }))
                .collect(),
        );
    }
    table::lines(&rows, |at| at > 0)
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BusTraffic {
    /// The last-level caches of the host together; 0 where they are not known.
    pub cache_bytes: Bytes,
    /// GB/s that cross the bus of a node in a copy by all its CPUs, as a study measured it.
    pub copy_gb_s: Option<f64>,
    /// The ways in which bytes may travel, one a row.
    pub rows: Vec<PathTraffic>,
    /// What modelled caches counted, of both ends together.
    pub modelled: Vec<Modelled>,
    /// What a study counted, a line a cell and end.
    pub counted: Vec<String>,
    /// What it could not count.
    pub missing: Vec<String>,
}

fn pair(moves: Moves) -> (f64, f64) {
    (moves.least, moves.most)
}

/// What the kernel's sockets need to send, and to receive.
fn sockets(program: Buffer) -> (Moves, Moves) {
    (copied(Way::Transmit, program, Buffer::Either), copied(Way::Receive, program, Buffer::Either))
}

/// What the runs of a study counted, a line a cell and end.
fn counted(analysis: &Analysis<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for summary in &analysis.summaries {
        let cell = words::tame(&summary.label);
        let told = words::memory_use(analysis, summary);
        lines.extend(told.into_iter().map(|line| format!("{cell}: {line}")));
    }
    lines
}

/// Of a host, with what a study of it measured.
pub fn of(host: &Host, copy_gb_s: Option<f64>, analysis: Option<&Analysis<'_>>) -> BusTraffic {
    let cache_bytes = host.last_level_cache_bytes();
    let cache = match cache_bytes.0 {
        0 => "the caches".to_owned(),
        _ => cache_bytes.to_string(),
    };
    let (fits, beyond) = (sockets(Buffer::Either), sockets(Buffer::Uncached));
    let paths = [
        (format!("sockets, buffers within {cache}"), fits),
        (format!("sockets, buffers beyond {cache}"), beyond),
        ("sockets, sendfile or zerocopy; receiver truncate or splice".to_owned(), (DIRECT, DIRECT)),
        ("RDMA".to_owned(), (DIRECT, DIRECT)),
    ];
    let mut missing: Vec<String> = Vec::new();
    let all = analysis.into_iter();
    let told = all.flat_map(|all| all.summaries.iter().map(move |one| (all, one)));
    for why in told.flat_map(|(all, summary)| words::memory_missing(all, summary)) {
        if !missing.contains(&why) {
            missing.push(why);
        }
    }
    BusTraffic {
        cache_bytes,
        copy_gb_s,
        rows: paths
            .into_iter()
            .map(|(path, (sends, receives))| PathTraffic {
                path,
                sends: pair(sends),
                receives: pair(receives),
                receives_fill_at_gbps: copy_gb_s
                    .map(|gb_s| (8.0 * gb_s / receives.most, 8.0 * gb_s / receives.least)),
            })
            .collect(),
        modelled: modelled(),
        counted: analysis.map(counted).unwrap_or_default(),
        missing,
    }
}

/// The cases of the source's table: a buffer that fits the cache may have left it, at worst, or is
/// there as the socket's is, at best.
fn cases() -> Vec<Vec<String>> {
    let head = ["sockets", "buffer fits the cache", "buffer does not"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (name, way) in [("transmit", Way::Transmit), ("receive", Way::Receive)] {
        for (case, buffer) in [("worst", Buffer::Either), ("best", Buffer::Cached)] {
            let beyond = copied(way, Buffer::Uncached, Buffer::Either);
            let cells = [copied(way, buffer, buffer), beyond].map(words::moves);
            rows.push(std::iter::once(format!("{name}, {case} case")).chain(cells).collect());
        }
    }
    rows
}

fn range((least, most): (f64, f64)) -> String {
    words::moves(Moves { least, most })
}

/// The traffic in lines, one a path.
pub fn text(traffic: &BusTraffic) -> String {
    let mut text = "least memory bytes per network byte, by copies and DMA:\n\n".to_owned();
    let width = traffic.rows.iter().map(|row| row.path.chars().count()).max().unwrap_or(0);
    let filled = if traffic.copy_gb_s.is_some() { "  memory is full, receiving" } else { "" };
    let _ = writeln!(text, "  {:<width$}  {:>6}  {:>8}{filled}", "path", "sends", "receives");
    for row in &traffic.rows {
        let (sends, receives) = (range(row.sends), range(row.receives));
        let _ = write!(text, "  {:<width$}  {sends:>6}  {receives:>8}", row.path);
        if let Some((low, high)) = row.receives_fill_at_gbps {
            let _ = if high > low {
                write!(text, "  at {low:.0} to {high:.0} Gb/s")
            } else {
                write!(text, "  at {low:.0} Gb/s")
            };
        }
        text.push('\n');
    }
    let _ = write!(text, "\n{}", table::lines(&cases(), |at| at > 0));
    text += "\nfrom everything cached to nothing; misses of socket buffers, control messages and \
             other\nprocesses come on top (Balaji, Shah, Panda: Sockets vs. RDMA Interface over \
             10-Gigabit Networks)\n";
    text += "\nboth ends together, counted with modelled caches (size:ways; io2: devices write into \
             two of\nthese ways; one host through two NICs; docs/traffic.md):\n\n";
    text += &modelled_text(&traffic.modelled);
    text.push('\n');
    match traffic.copy_gb_s {
        Some(gb_s) => {
            let _ = writeln!(text, "measured: a copy moves {gb_s:.1} GB/s over the bus of a node");
        }
        None => {
            text += "what a copy of this host's memory reaches was not measured: --from a study of \
                     narrows check\n";
        }
    }
    for line in traffic.counted.iter().chain(&traffic.missing) {
        let _ = writeln!(text, "{line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_measurements_has_the_papers_table_and_says_what_is_missing() {
        let traffic = of(&Host::default(), None, None);
        let ranges: Vec<_> = traffic.rows.iter().map(|row| (row.sends, row.receives)).collect();
        let direct = ((1.0, 1.0), (1.0, 1.0));
        let sockets = [((1.0, 4.0), (2.0, 4.0)), ((2.0, 4.0), (4.0, 4.0))];
        assert_eq!(ranges, [sockets[0], sockets[1], direct, direct]);
        let text = text(&traffic);
        assert!(text.contains("beyond the caches") && text.contains("not measured"), "{text}");
        assert!(text.contains("2 to 4") && !text.contains("is full"), "{text}");
    }

    #[test]
    fn the_papers_cases_have_its_rows_and_columns() {
        let said: Vec<String> = cases().into_iter().skip(1).map(|row| row.join(" | ")).collect();
        let wanted = [
            "transmit, worst case | 1 to 4 | 2 to 4",
            "transmit, best case | 1 | 2 to 4",
            "receive, worst case | 2 to 4 | 4",
            "receive, best case | 2 | 4",
        ];
        assert_eq!(said, wanted);
    }

    /// The paper's least is what a NIC without ways in the cache leaves when all else fits.
    #[test]
    fn counts_stand_beside_the_least_and_none_is_below_it() {
        let traffic = of(&Host::default(), None, None);
        assert_eq!(traffic.modelled.len(), LOADS.len() * 6, "{:?}", traffic.modelled);
        let at = |path: usize, cache: &str| {
            let mut own = traffic.modelled.iter().filter(|one| one.path == LOADS[path].1);
            own.find(|one| one.cache == cache).expect(cache).per_byte
        };
        for (load, row) in [(0, 0), (1, 1)] {
            let PathTraffic { sends, receives, .. } = &traffic.rows[row];
            let least = sends.0 + receives.0;
            assert!(at(load, "4M:16") >= least, "{} of {least}", at(load, "4M:16"));
            assert!(at(load, "4M:16:io2") < at(load, "4M:16"));
        }
        let text = text(&traffic);
        let line = text.lines().find(|line| line.contains("buffers beyond it")).expect("a row");
        assert!(line.contains("7.0") && line.contains("12.2"), "{line}");
    }

    #[test]
    fn memory_is_full_where_its_copy_divides_by_the_bytes() {
        let traffic = of(&Host::default(), Some(20.0), None);
        // 160 Gb/s of bus, 2 to 4 of it a bit.
        assert_eq!(traffic.rows[0].receives_fill_at_gbps, Some((40.0, 80.0)));
        assert_eq!(traffic.rows[1].receives_fill_at_gbps, Some((40.0, 40.0)));
        assert!(text(&traffic).contains("at 40 to 80 Gb/s"), "{}", text(&traffic));
    }
}
