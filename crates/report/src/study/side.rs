//! All cells of a study side by side: medians, and CPU of both ends.

use super::names::{Table, title};
use super::tabled::{More, of};
use super::{Panel, PanelRow, StudyResults, priced, traffic};
use crate::{Analysis, words};
use narrows_model::load::Role;
use narrows_model::trial::NetworkPath;
use narrows_model::workload::Metric;

/// The tables with their titles. None with one panel or one level, or too many for a page.
pub fn tables(analysis: &Analysis<'_>, results: &StudyResults) -> Vec<(&'static str, Table)> {
    let [ratios, rates] = traffic::tables(analysis, results);
    let titled = [
        ("Medians", medians(results)),
        (
            "CPU of the busiest thread, sender / receiver",
            of(results, &|_, row| threads(analysis, row), &[]),
        ),
        ("CPU of whole hosts, sender / receiver", of(results, &|_, row| hosts(analysis, row), &[])),
        ("Share of the link rate", of(results, &|_, row| own_link(analysis, row), &[])),
        ratios,
        rates,
        (priced::TITLE, priced::table(analysis, results)),
    ];
    titled.into_iter().filter_map(|(title, table)| Some((title, table?))).collect()
}

/// CPU of the busiest thread of each end.
fn threads(analysis: &Analysis<'_>, row: &PanelRow) -> Option<String> {
    let cpu = analysis.summaries.get(row.trial)?.cpu.as_ref()?;
    both([cpu.sender_share, cpu.receiver_share])
}

/// CPU of the whole host of each end.
fn hosts(analysis: &Analysis<'_>, row: &PanelRow) -> Option<String> {
    let cpu = analysis.summaries.get(row.trial)?.cpu.as_ref()?;
    both([cpu.sender_host_share, cpu.receiver_host_share])
}

fn both(ends: [Option<f64>; 2]) -> Option<String> {
    let is_told = ends.iter().any(Option::is_some);
    is_told.then(|| ends.map(percent).join(" / "))
}

/// Medians and halves of round trips, with the references behind them; without these where the
/// columns of all would be too many.
fn medians(results: &StudyResults) -> Option<Table> {
    let half: More<'_> = (&|panel| panel.half.clone(), &half_of);
    let reference: More<'_> = (&|panel| format!("{}, reference", title(panel)), &reference_of);
    let all = of(results, &median_of, &[half, reference]);
    all.or_else(|| of(results, &median_of, &[half]))
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

fn reference_of(panel: &Panel, row: &PanelRow) -> Option<String> {
    row.beside.map(|beside| words::exact(beside, panel.unit))
}

/// Of a round trip the half, which OSU's, IMB's and others' tests call latency.
fn half_of(panel: &Panel, row: &PanelRow) -> Option<String> {
    let half = row.median.filter(|_| panel.metric == Metric::RoundTripP50)? / 2.0;
    Some(words::exact(half, panel.unit))
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.0} %", 100.0 * share))
}
