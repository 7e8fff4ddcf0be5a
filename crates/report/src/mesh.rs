//! A mesh of pairs: who is slow, a map of all pairs, and the worst of them.

use crate::drawn::Screen;
use crate::fleet::{Fleet, Member};
use crate::plots::matrix::{self, Field, Known};
use crate::{mesh_windows, table, words};
use narrows_model::host::Host;
use narrows_model::study::StoredStudy;
use narrows_model::units::three_digits;
use narrows_model::{BitsPerSecond, Nanos};
use narrows_stats::mesh::{Gone, Mesh, MeshPair, Named, State, Suspect, is_time};
use std::collections::BTreeSet;

/// What its picture is called.
pub(crate) const MAP: &str = "Pairs of hosts, against the best";
/// More hosts than these have no map in a terminal.
const MAP_MAX: usize = 32;
/// More have none in a picture: it would be wider than a wall.
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
    text += &named(mesh, stored, names, screen);
    if names.len() <= MAP_MAX {
        text += "\nPer cent of the best, from the row to the column\n";
        text += &table::lines(&map(mesh, names), |at| at > 0);
    }
    text += "\nWorst pairs\n";
    text += &table::lines(&worst(mesh, names), |at| at > 1);
    text += &failed(mesh, names, screen);
    text + "\n" + &screen.prose(&rounds(mesh), "  ")
}

/// Who is named, with what else is known of it, a line each.
fn named(mesh: &Mesh, stored: &StoredStudy, names: &[String], screen: &Screen) -> String {
    let mut text = String::new();
    if mesh.named.is_empty() {
        text += "  none: every pair is within the limits\n";
    }
    for named in &mesh.named {
        text += &screen.prose(&format!("  {}", suspect(named, mesh, names)), "    ");
        for detail in details(named.suspect, mesh, stored, names) {
            text += &screen.prose(&format!("    {detail}"), "      ");
        }
    }
    text + &in_no_pair(mesh, names).map_or_else(String::new, |says| screen.prose(&says, "    "))
}

/// What else is known of a suspect: what its hosts have, and what their buffers allow.
pub(crate) fn details(
    suspect: Suspect,
    mesh: &Mesh,
    stored: &StoredStudy,
    names: &[String],
) -> Vec<String> {
    let windows = mesh_windows::of(suspect, mesh, stored);
    let windows = windows.iter().map(|window| window.says(names));
    facts(suspect, stored, names).into_iter().chain(windows).collect()
}

/// As a picture; empty of too many hosts.
pub(crate) fn drawn(mesh: &Mesh, names: &[String]) -> String {
    if names.len() > SVG_MAX {
        return String::new();
    }
    let mut fields: Vec<Field> = mesh.cells.iter().map(|cell| field(cell, mesh)).collect();
    for (from, to) in (0..names.len()).flat_map(|from| (0..names.len()).map(move |to| (from, to))) {
        if from != to && (is_dead(mesh, from) || is_dead(mesh, to)) {
            fields.push(Field { from, to, known: Known::Dead, says: "dead".to_owned() });
        }
    }
    matrix::draw(MAP, names, &fields)
}

fn field(cell: &MeshPair, mesh: &Mesh) -> Field {
    let says = match (cell.last(), cell.failed.as_deref()) {
        (Some(value), _) => figure(value, mesh),
        (None, why) => format!("failed: {}", why.unwrap_or("it gave no figure")),
    };
    Field {
        from: cell.from,
        to: cell.to,
        known: share(cell, mesh).map_or(Known::Failed, Known::Share),
        says,
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

pub(crate) fn head(mesh: &Mesh, names: &[String]) -> String {
    let count = |state: State| mesh.cells.iter().filter(|cell| cell.state == state).count();
    let best = mesh.best.map_or("no figure".to_owned(), |best| figure(best, mesh));
    let dead = match mesh.gone.iter().filter(|gone| gone.was_never_there()).count() {
        0 => String::new(),
        dead => format!(", {dead} of them dead"),
    };
    format!(
        "{} hosts{dead}, {} pairs: {} within the limits, {} slow, {} slow only among many, {} \
         failed; the best {best}",
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

pub(crate) fn suspect(named: &Named, mesh: &Mesh, names: &[String]) -> String {
    let Named { pairs, of, .. } = named;
    let against = match (named.worst_ratio, is_time(mesh.unit)) {
        (Some(ratio), true) => format!(", the worst {} x the least", three_digits(ratio)),
        (Some(ratio), false) => {
            format!(", the worst {} % of the best", three_digits(100.0 * ratio))
        }
        (None, _) => String::new(),
    };
    match named.suspect {
        Suspect::Dead { host } => match gone(mesh, host) {
            Some(gone) => format!("{}: dead: {}", name(names, host), gone.why),
            None => {
                let says = mesh.cells.iter().find(|cell| cell.from == host || cell.to == host);
                let why = says.and_then(|cell| cell.failed.clone()).unwrap_or_default();
                format!("{}: dead, {pairs} of {of} pairs failed: {why}", name(names, host))
            }
        },
        Suspect::Gone { host } => {
            let (after, why) = gone(mesh, host).map_or((None, ""), |gone| {
                let after = gone.after_ns.map(|after| format!(" {after} after the beginning"));
                (after, gone.why.as_str())
            });
            let after = after.unwrap_or_default();
            format!("{}: gone{after}, {pairs} of {of} pairs failed: {why}", name(names, host))
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
        Suspect::Either { from, to } => {
            let [sends, receives] = mesh.open_ends(from, to);
            let (from, to) = (name(names, from), name(names, to));
            let ends = [
                sends.then(|| format!(", or {from} sends slowly")),
                receives.then(|| format!(", or {to} receives slowly")),
            ];
            let ends: String = ends.into_iter().flatten().collect();
            format!("the path from {from} to {to}{ends}: no other pair tells{against}")
        }
    }
}

fn gone(mesh: &Mesh, host: usize) -> Option<&Gone> {
    mesh.gone.iter().find(|gone| gone.host == host)
}

/// Hosts that are there and that no pair was of, such as one of an odd number.
pub(crate) fn in_no_pair(mesh: &Mesh, names: &[String]) -> Option<String> {
    let ends = mesh.cells.iter().flat_map(|cell| [cell.from, cell.to]);
    let known: BTreeSet<usize> = ends.chain(mesh.gone.iter().map(|gone| gone.host)).collect();
    let left = names.iter().enumerate().filter(|(host, _)| !known.contains(host));
    let left: Vec<&str> = left.map(|(_, name)| name.as_str()).collect();
    (!left.is_empty()).then(|| format!("  in no pair, and nothing is said of: {}", left.join(", ")))
}

/// Why pairs failed, but those of hosts that are gone.
fn failed(mesh: &Mesh, names: &[String], screen: &Screen) -> String {
    let failed = mesh.cells.iter().filter(|cell| cell.state == State::Failed);
    let all: Vec<&MeshPair> = failed
        .filter(|cell| gone(mesh, cell.from).is_none() && gone(mesh, cell.to).is_none())
        .collect();
    if all.is_empty() {
        return String::new();
    }
    let mut text = "\nFailed pairs\n".to_owned();
    for cell in all.iter().take(WORST) {
        let (from, to) = (name(names, cell.from), name(names, cell.to));
        let why = cell.failed.as_deref().unwrap_or("it gave no figure");
        text += &screen.prose(&format!("  {from} to {to}: {why}"), "    ");
    }
    if all.len() > WORST {
        text += &format!("  and {}\n", words::counted(all.len() - WORST, "other"));
    }
    text
}

/// What the suspect's hosts have that most of their model have not.
fn facts(suspect: Suspect, stored: &StoredStudy, names: &[String]) -> Vec<String> {
    let hosts = match suspect {
        Suspect::Dead { .. } | Suspect::Gone { .. } => Vec::new(),
        Suspect::Host { host } | Suspect::Sends { host } | Suspect::Receives { host } => vec![host],
        Suspect::Path { from, to } | Suspect::Either { from, to } => vec![from, to],
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
                None if from != to && [from, to].iter().any(|host| is_dead(mesh, *host)) => {
                    "dead".to_owned()
                }
                None => "-".to_owned(),
                Some(cell) => share(cell, mesh)
                    .map_or("fail".to_owned(), |share| format!("{:.0}", 100.0 * share)),
            });
        }
        rows.push(row);
    }
    rows
}

fn is_dead(mesh: &Mesh, host: usize) -> bool {
    gone(mesh, host).is_some_and(Gone::was_never_there)
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
