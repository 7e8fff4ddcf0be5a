//! A mesh of pairs: who is slow, a map of all pairs, and the worst of them.

use crate::drawn::Screen;
use crate::figures::alone;
use crate::fleet::{Fleet, Member};
use crate::plots::heat;
use crate::{mesh_windows, table, words};
use narrows_model::host::Host;
use narrows_model::study::StoredStudy;
use narrows_model::units::three_digits;
use narrows_model::{BitsPerSecond, Nanos};
use narrows_stats::mesh::{Mesh, MeshPair, Named, State, Suspect, is_time};
use std::collections::BTreeSet;

/// More hosts than these have no map in a terminal.
const MAP_MAX: usize = 32;
/// More have none in a picture: a field is less than a point wide.
const SVG_MAX: usize = 128;
/// Pairs that are listed, the worst first.
const WORST: usize = 10;

/// As text: suspects first, then the map, the worst pairs, and how the rounds went.
pub fn text(mesh: &Mesh, stored: &StoredStudy, names: &[String], screen: &Screen) -> String {
    let mut text = screen.prose(&head(mesh, names), "  ");
    if let Some(says) = one_machine(stored, names) {
        text += &screen.prose(&says, "  ");
    }
    text += "\nNamed\n";
    if mesh.named.is_empty() {
        text += "  none: every pair is within the limits\n";
    }
    for named in &mesh.named {
        text += &screen.prose(&format!("  {}", suspect(named, mesh, names)), "    ");
        for fact in facts(named.suspect, stored, names) {
            text += &screen.prose(&format!("    {fact}"), "      ");
        }
        for window in mesh_windows::of(named.suspect, mesh, stored) {
            text += &screen.prose(&format!("    {}", window.says(names)), "      ");
        }
    }
    if names.len() <= MAP_MAX {
        text += "\nPer cent of the best, from the row to the column\n";
        text += &table::lines(&map(mesh, names), |at| at > 0);
    }
    text += "\nWorst pairs\n";
    text += &table::lines(&worst(mesh, names), |at| at > 1);
    text + "\n" + &screen.prose(&rounds(mesh), "  ")
}

/// As a picture of its own; empty of too many hosts.
pub fn svg(mesh: &Mesh, names: &[String]) -> String {
    if names.len() > SVG_MAX {
        return String::new();
    }
    let fields: Vec<heat::Field> = mesh.cells.iter().map(|cell| field(cell, mesh, names)).collect();
    alone(&heat::draw_of("Pairs of hosts, against the best", "from, and to:", &fields))
}

fn field(cell: &MeshPair, mesh: &Mesh, names: &[String]) -> heat::Field {
    heat::Field {
        row: name(names, cell.from),
        column: name(names, cell.to),
        says: cell.last().map_or("failed".to_owned(), |value| figure(value, mesh)),
        better: share(cell, mesh),
        open: None,
    }
}

/// How good a pair is against the best; 1 is as good.
fn share(cell: &MeshPair, mesh: &Mesh) -> Option<f64> {
    let (value, best) = cell.last().zip(mesh.best)?;
    let ratio = if is_time(mesh.unit) { best / value } else { value / best };
    ratio.is_finite().then_some(ratio)
}

fn name(names: &[String], host: usize) -> String {
    names.get(host).cloned().unwrap_or_else(|| format!("number {}", host + 1))
}

fn figure(value: f64, mesh: &Mesh) -> String {
    if is_time(mesh.unit) {
        Nanos(value.round() as u64).to_string()
    } else {
        BitsPerSecond(value).to_string()
    }
}

fn head(mesh: &Mesh, names: &[String]) -> String {
    let count = |state: State| mesh.cells.iter().filter(|cell| cell.state == state).count();
    let best = mesh.best.map_or("no figure".to_owned(), |best| figure(best, mesh));
    format!(
        "{} hosts, {} pairs: {} within the limits, {} slow, {} slow only among many, {} failed; \
         the best {best}",
        names.len(),
        mesh.cells.len(),
        count(State::Good),
        count(State::Slow),
        count(State::SlowTogether),
        count(State::Failed)
    )
}

/// Pairs of one kernel share its CPUs: that is said, where it is so.
fn one_machine(stored: &StoredStudy, names: &[String]) -> Option<String> {
    let reports = stored.records.iter().flat_map(|record| &record.reports);
    let machines: BTreeSet<_> = reports.map(|one| one.report.effective.machine.clone()).collect();
    (names.len() > 1 && machines.len() == 1 && machines.first()?.is_some()).then(|| {
        "all hosts are one machine: this shows who is reached and when, not a network's speed"
            .to_owned()
    })
}

fn suspect(named: &Named, mesh: &Mesh, names: &[String]) -> String {
    let Named { pairs, of, .. } = named;
    let against = match (named.worst_ratio, is_time(mesh.unit)) {
        (Some(ratio), true) => format!(", the worst {} x the least", three_digits(ratio)),
        (Some(ratio), false) => {
            format!(", the worst {} % of the best", three_digits(100.0 * ratio))
        }
        (None, _) => String::new(),
    };
    match named.suspect {
        Suspect::Dead { host } => {
            let says = mesh.cells.iter().find(|cell| cell.from == host || cell.to == host);
            let why = says.and_then(|cell| cell.failed.clone()).unwrap_or_default();
            format!("{}: dead, {pairs} of {of} pairs failed: {why}", name(names, host))
        }
        Suspect::Host { host } => {
            format!("{}: slow both ways, {pairs} of {of} pairs{against}", name(names, host))
        }
        Suspect::Sends { host } => {
            format!("{}: sends slowly, {pairs} of {of} pairs{against}", name(names, host))
        }
        Suspect::Receives { host } => {
            format!("{}: receives slowly, {pairs} of {of} pairs{against}", name(names, host))
        }
        Suspect::Path { from, to } => {
            let (from, to) = (name(names, from), name(names, to));
            format!("the path from {from} to {to}, and no other of theirs{against}")
        }
    }
}

/// What the suspect's hosts have that most of their model have not.
fn facts(suspect: Suspect, stored: &StoredStudy, names: &[String]) -> Vec<String> {
    let hosts = match suspect {
        Suspect::Dead { .. } => Vec::new(),
        Suspect::Host { host } | Suspect::Sends { host } | Suspect::Receives { host } => vec![host],
        Suspect::Path { from, to } => vec![from, to],
    };
    // A host that nobody read has nothing, which is not what it has.
    let read = |host: &Host| *host != Host::default();
    let members = names.iter().zip(&stored.peer_hosts).filter(|(_, host)| read(host));
    let members = members.map(|(name, host)| Member::of(name.clone(), host)).collect();
    let fleet = Fleet::of(members, Vec::new());
    let odd =
        fleet.odd.iter().filter(|odd| hosts.iter().any(|host| name(names, *host) == odd.name));
    odd.map(|odd| format!("{} has {} {}, most have {}", odd.name, odd.what, odd.has, odd.usual))
        .collect()
}

fn map(mesh: &Mesh, names: &[String]) -> Vec<Vec<String>> {
    let head = std::iter::once(String::new()).chain((0..names.len()).map(|at| at.to_string()));
    let mut rows = vec![head.collect::<Vec<String>>()];
    for (from, own) in names.iter().enumerate() {
        let mut row = vec![format!("{from} {own}")];
        for to in 0..names.len() {
            let cell = mesh.cells.iter().find(|cell| (cell.from, cell.to) == (from, to));
            row.push(match cell {
                None => "-".to_owned(),
                Some(cell) => share(cell, mesh)
                    .map_or("fail".to_owned(), |share| format!("{:.0}", 100.0 * share)),
            });
        }
        rows.push(row);
    }
    rows
}

fn worst(mesh: &Mesh, names: &[String]) -> Vec<Vec<String>> {
    let head = ["from", "to", "figure", "runs"].map(str::to_owned).to_vec();
    let rows = mesh.worst_first().into_iter().take(WORST).map(|cell| {
        let value = cell.last().map_or(String::new(), |value| figure(value, mesh));
        vec![name(names, cell.from), name(names, cell.to), value, cell.looks.len().to_string()]
    });
    std::iter::once(head).chain(rows).collect()
}

/// What became of rounds whose windows lay apart.
fn again(mesh: &Mesh) -> String {
    match mesh.made_again() {
        0 => String::new(),
        made => format!(", {made} of them run again"),
    }
}

fn rounds(mesh: &Mesh) -> String {
    let shares = mesh.rounds.iter().filter_map(|round| round.overlap_share);
    let least = shares.reduce(f64::min);
    let most = mesh.rounds.iter().map(|round| round.pairs).max().unwrap_or(0);
    let overlap = match least {
        Some(share) => format!(
            "the windows of a round had at least {:.0} % in common by the controller's clock",
            100.0 * share
        ),
        None => "no round had two pairs whose windows could be compared".to_owned(),
    };
    let apart = match mesh.apart() {
        0 => String::new(),
        apart => format!("; in {} less than half{}", words::counted(apart, "round"), again(mesh)),
    };
    let rounds = words::counted(mesh.rounds.len(), "round");
    format!("{rounds} of up to {most} pairs at once; {overlap}{apart}")
}
