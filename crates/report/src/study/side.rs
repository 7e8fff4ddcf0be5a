//! All cells of a study side by side: medians, and CPU of both ends.

use super::names::{Table, levels, title};
use super::{Panel, PanelRow, StudyResults, priced, traffic};
use crate::{Analysis, words};
use narrows_model::load::Role;
use narrows_model::trial::NetworkPath;
use narrows_model::workload::Metric;

/// Columns of panels; with more, panels are rows.
const PANELS_ACROSS: usize = 6;
/// Beyond these a table is no overview.
const PANELS: usize = 40;
const LEVELS_ACROSS: usize = 10;
/// The column that tells how memory was populated, where that is not known of any processor.
const POPULATION: &str = "memory by CPU";

/// The tables with their titles. None with one panel or one level, or too many for a page.
pub fn tables(analysis: &Analysis<'_>, results: &StudyResults) -> Vec<(&'static str, Table)> {
    let cpu = |_: &Panel, row: &PanelRow| {
        let cpu = analysis.summaries.get(row.trial)?.cpu.as_ref()?;
        let told = cpu.sender_share.is_some() || cpu.receiver_share.is_some();
        told.then(|| format!("{} / {}", percent(cpu.sender_share), percent(cpu.receiver_share)))
    };
    let [ratios, rates] = traffic::tables(analysis, results);
    let titled = [
        ("Medians", of(results, &median_of, Some(&half_of))),
        ("CPU of the busiest thread, sender / receiver", of(results, &cpu, None)),
        ("Share of the link rate", of(results, &|_, row| own_link(analysis, row), None)),
        ratios,
        rates,
        ("Price, and what a hundred of it buys", priced::table(analysis, results)),
    ];
    titled.into_iter().filter_map(|(title, table)| Some((title, table?))).collect()
}

/// What a rate is of the link of the NIC that it went by; `None` where that is no NIC, or its rate
/// is not known, or several were used at once.
fn own_link(analysis: &Analysis<'_>, row: &PanelRow) -> Option<String> {
    let (stored, at) = (analysis.stored, row.trial);
    let (trial, summary) = (stored.trials.get(at)?, analysis.summaries.get(at)?);
    let is_of_one = trial.path == NetworkPath::Peer && trial.pairs().count() == 1;
    let bits = row.median.filter(|_| is_of_one && summary.metric == Metric::Goodput)?;
    let near = trial.controllers()?.role;
    let ends = match near {
        Role::Sender => summary.settings.sender(),
        _ => summary.settings.receivers().next(),
    };
    let used = ends.and_then(|end| end.interface.as_deref());
    let host = stored.session_of(trial).map_or(&stored.host, |session| &session.host);
    let nic = host.nic(used.or_else(|| stored.interface_of(trial))?)?;
    let link = nic.speed_bps.value().filter(|speed| nic.physical && speed.0 > 0.0)?;
    let share = |bits: f64| format!("{:.1} %", 100.0 * bits / link.0);
    let shares = match &summary.back {
        // Both directions are in one figure, and each has the whole link.
        Some(back) => {
            format!("{} there and {} back", share((bits - back.value).max(0.0)), share(back.value))
        }
        None if trial.params.is_bidirectional() => return None,
        None => share(bits),
    };
    Some(format!("{shares} of {} ({})", short_rate(link.0), nic.name))
}

/// A link's rate as its makers write it: `25 GbE`.
fn short_rate(bits_per_second: f64) -> String {
    format!("{} GbE", bits_per_second / 1e9)
}

fn median_of(panel: &Panel, row: &PanelRow) -> Option<String> {
    row.median.map(|m| words::exact(m, panel.unit))
}

/// Of a round trip the half, which OSU's, IMB's and others' tests call latency.
fn half_of(panel: &Panel, row: &PanelRow) -> Option<String> {
    let half = row.median.filter(|_| panel.metric == Metric::RoundTripP50)? / 2.0;
    Some(words::exact(half, panel.unit))
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.0} %", 100.0 * share))
}

/// Whether a column holds numbers.
pub fn is_number(table: &[Vec<String>], at: usize) -> bool {
    let mut cells = table.iter().skip(1).filter_map(|row| row.get(at)?.chars().next());
    at > 0 && cells.any(|first| first.is_ascii_digit())
}

/// What is said of one cell.
pub(super) type Said<'a> = &'a dyn Fn(&Panel, &PanelRow) -> Option<String>;

/// A column or a row: its name, its panel, and what is said of each cell.
type Line<'a> = (String, &'a Panel, Said<'a>);

/// Each panel's line, and behind it one with more of it, where a cell has more.
pub(super) fn of(results: &StudyResults, said: Said<'_>, more: Option<Said<'_>>) -> Option<Table> {
    let levels = levels(results);
    let has = |panel: &Panel, said: Said<'_>| panel.rows.iter().any(|r| said(panel, r).is_some());
    let mut lines: Vec<Line<'_>> = Vec::new();
    for panel in results.panels.iter().filter(|panel| has(panel, said)) {
        lines.push((panel.name.clone(), panel, said));
        if let Some(more) = more.filter(|more| has(panel, *more)) {
            lines.push((format!("half of {}", title(panel)), panel, more));
        }
    }
    match (lines.len(), levels.len()) {
        (2..=PANELS_ACROSS, 2..) => Some(by_level(results, &lines)),
        (2..=PANELS, 2..=LEVELS_ACROSS) => Some(by_panel(results, &lines)),
        _ => None,
    }
}

fn cell(panel: &Panel, level: &str, said: Said<'_>) -> String {
    let row = panel.rows.iter().find(|row| row.level == level);
    row.and_then(|row| said(panel, row)).unwrap_or_else(|| "-".to_owned())
}

/// As published tables have them: a row a level, with how the memory of each processor was
/// populated, and a column a panel.
fn by_level(results: &StudyResults, lines: &[Line<'_>]) -> Table {
    let levels = levels(results);
    let rows = || results.panels.iter().flat_map(|panel| &panel.rows);
    let processors = rows().map(|row| row.population.len()).max().unwrap_or(0);
    let is_populated = results.population_unknown.is_some() || processors > 0;
    let mut head = vec![results.across.clone()];
    match processors {
        0 if is_populated => head.push(POPULATION.to_owned()),
        all => head.extend((1..=all).map(|cpu| format!("memory, CPU {cpu}"))),
    }
    head.extend(lines.iter().map(|(name, ..)| name.clone()));
    let mut table = vec![head];
    for level in levels {
        let mut row = vec![level.to_owned()];
        if is_populated {
            let mut of = rows().filter(|row| row.level == level);
            let known = of.clone().find(|row| !row.population.is_empty());
            let unknown = if of.any(|row| row.done > 0) { "unknown" } else { "-" };
            row.extend((0..processors.max(1)).map(|cpu| {
                let word = known.and_then(|row| row.population.get(cpu));
                word.map_or(unknown, String::as_str).to_owned()
            }));
        }
        row.extend(lines.iter().map(|(_, panel, said)| cell(panel, level, *said)));
        table.push(row);
    }
    table
}

/// A row a panel and a column a level: many tests at a few sizes.
fn by_panel(results: &StudyResults, lines: &[Line<'_>]) -> Table {
    let levels = levels(results);
    let names = levels.iter().map(|level| format!("{} {level}", results.across));
    let mut table = vec![std::iter::once(String::new()).chain(names).collect::<Vec<_>>()];
    for (name, panel, said) in lines {
        let cells = levels.iter().map(|level| cell(panel, level, *said));
        table.push(std::iter::once(name.clone()).chain(cells).collect());
    }
    table
}
