//! Several studies as one, for figures and tables that have the cells of all of them: of NICs of
//! two rates, of one processor and two, of two servers. The file that a cell is of is a factor
//! before the others; what is known of one host is said of none of them together.

use crate::study::FILE;
use crate::{Analysis, study, words};
use narrows_model::Nanos;
use narrows_model::interfaces::Interfaces;
use narrows_model::study::{Ended, Session, StoredStudy, Title};
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{Level, Trial, TrialId};
use narrows_stats::{PlacedTest, drift, summarise};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A study with the name that its cells have beside those of others.
pub struct Part {
    /// Name of its file, without folder and ending.
    pub name: String,
    pub stored: StoredStudy,
}

/// Why studies have no figure together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Apart {
    /// A study without factors, such as a check, by its name.
    NoLevels(String),
    /// Two studies with the factors along their axes.
    Axes([(String, String); 2]),
    /// Two files of one name.
    OneName(String),
    /// A study that has a factor of the files' name already.
    HasFile(String),
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLevels(name) => write!(f, "{name} has no factors with levels"),
            Self::Axes([(one, axis), (other, its)]) => {
                write!(f, "{one} has {axis} along its axis, and {other} {its}")
            }
            Self::OneName(name) => write!(f, "two files are called {name}"),
            Self::HasFile(name) => write!(f, "{name} has a factor {FILE} of its own"),
        }
    }
}

/// The factor along a study's axis.
fn axis(part: &Part) -> Result<String, Apart> {
    let first = part.stored.trials.first().and_then(|trial| trial.levels.first());
    let along = part.stored.study.reading.across.clone();
    along
        .or_else(|| first.map(|level| level.factor.clone()))
        .ok_or_else(|| Apart::NoLevels(part.name.clone()))
}

/// The studies as one: cells, runs and sessions of all of them.
pub fn merged(parts: &[Part]) -> Result<StoredStudy, Apart> {
    let mut names = BTreeSet::new();
    if let Some(twice) = parts.iter().find(|part| !names.insert(&part.name)) {
        return Err(Apart::OneName(twice.name.clone()));
    }
    let mut all = StoredStudy::unmeasured(Default::default());
    let mut along: Option<(String, String)> = None;
    for part in parts {
        let (name, axis) = (part.name.clone(), axis(part)?);
        if part.stored.trials.iter().any(|trial| trial.levels.is_empty()) {
            return Err(Apart::NoLevels(name));
        }
        let mut levels = part.stored.trials.iter().flat_map(|trial| &trial.levels);
        if levels.any(|level| level.factor.eq_ignore_ascii_case(FILE)) {
            return Err(Apart::HasFile(name));
        }
        // One that was interrupted leaves the whole so.
        if !matches!(part.stored.ended, Some(Ended::Complete)) || along.is_none() {
            all.ended = part.stored.ended.clone();
        }
        match &along {
            Some(first) if !first.1.eq_ignore_ascii_case(&axis) => {
                return Err(Apart::Axes([first.clone(), (name, axis)]));
            }
            Some(_) => {}
            None => {
                all.study = part.stored.study.clone();
                all.study.command = StudyKind::Study;
                all.study.interfaces = Interfaces::default();
                all.study.reading.across = Some(axis.clone());
                all.study.peer = None;
                along = Some((name, axis));
            }
        }
        let axis = along.as_ref().map_or("", |(_, axis)| axis);
        add(&mut all, part, axis);
    }
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    let about = all.study.title.take().map_or_else(String::new, |title| title.about);
    all.study.title = Some(Title { name: names.join(", "), about });
    Ok(all)
}

/// Adds the cells of a part, each under an id and a label that no other part has.
fn add(all: &mut StoredStudy, part: &Part, axis: &str) {
    let first = all.sessions.len() as u32;
    let stored = &part.stored;
    all.trials.extend(stored.trials.iter().map(|trial| {
        let file = Level { factor: FILE.to_owned(), level: part.name.clone() };
        let mut levels = trial.levels.clone();
        for level in levels.iter_mut().filter(|one| one.factor.eq_ignore_ascii_case(axis)) {
            axis.clone_into(&mut level.factor);
        }
        levels.insert(0, file);
        let label = format!("{}: {}", part.name, trial.label);
        Trial { id: own_id(part, &trial.id), label, levels, ..trial.clone() }
    }));
    let numbers: Vec<u32> = stored.sessions.iter().map(|session| session.number).collect();
    all.records.extend(stored.records.iter().map(|record| {
        let mut record = record.clone();
        let at = numbers.iter().position(|number| *number == record.session).unwrap_or(0);
        (record.trial, record.session) = (own_id(part, &record.trial), first + at as u32);
        record
    }));
    let sessions = stored.sessions.iter().enumerate().map(|(at, session)| {
        let mut session = session.clone();
        session.number = first + at as u32;
        let cannot = std::mem::take(&mut session.cannot).into_iter();
        session.cannot = cannot.map(|(id, why)| (own_id(part, &TrialId(id)).0, why)).collect();
        session
    });
    // What the last session of each could not run is said of all of them at the end.
    let before = all.sessions.last().map(|last| last.cannot.clone()).unwrap_or_default();
    all.sessions.extend(sessions);
    if numbers.is_empty() {
        all.sessions.push(only_session(stored, first));
    }
    if let Some(last) = all.sessions.last_mut() {
        last.cannot.extend(before);
    }
}

fn own_id(part: &Part, id: &TrialId) -> TrialId {
    TrialId(format!("{}/{}", part.name, id.0))
}

/// A session of a study that was not made in sessions.
fn only_session(stored: &StoredStudy, number: u32) -> Session {
    Session {
        number,
        began_unix_ns: Nanos(stored.study.began_unix_ns.0),
        narrows_version: stored.study.narrows_version.clone(),
        host: stored.host.clone(),
        peer_hosts: stored.peer_hosts.clone(),
        path: stored.study.path,
        levels: BTreeMap::new(),
        cannot: BTreeMap::new(),
        ended: stored.ended.clone(),
    }
}

/// What is said of each part: its host, the other one, and when it was measured.
pub fn parts(parts: &[Part]) -> Vec<String> {
    parts.iter().map(line).collect()
}

fn line(part: &Part) -> String {
    let stored = &part.stored;
    let of = Analysis::unjudged(stored, Vec::new());
    let peer = stored.study.peer.as_ref().map_or(String::new(), |peer| format!(", peer {peer}"));
    let host = if of.is_imported() {
        "imported, its host unknown".to_owned()
    } else {
        words::host_line(&stored.host)
    };
    let (when, ending) = (words::when(stored.study.began_unix_ns), words::ending(&of));
    format!("{}: {host}{peer}; {when}, {ending}", part.name)
}

/// A reference of one of the files: it stands beside that file's cells, and beside no other's.
pub fn of_file(mut reference: StoredStudy, name: &str) -> StoredStudy {
    let level = Level { factor: FILE.to_owned(), level: name.to_owned() };
    reference.trials.iter_mut().for_each(|trial| trial.levels.push(level.clone()));
    reference
}

/// The file that a reference is of by its own name: the one that is called so, or whose study is;
/// `None` where that is none or could be several.
pub fn whose<'a>(parts: &'a [Part], reference: &str) -> Option<&'a str> {
    let mut named = parts.iter().filter(|part| {
        let title = part.stored.study.title.as_ref();
        part.name == reference || title.is_some_and(|title| title.name == reference)
    });
    let first = named.next()?;
    named.next().is_none().then_some(first.name.as_str())
}

/// Placements of each part by its own hosts, as those of the studies as one.
fn placements(parts: &[Part]) -> Vec<PlacedTest> {
    let mut all = Vec::new();
    let mut before = 0;
    for part in parts {
        for mut test in narrows_stats::placements(&part.stored) {
            test.name = format!("{}: {}", part.name, test.name);
            test.cells.iter_mut().for_each(|cell| cell.trial += before);
            all.push(test);
        }
        before += part.stored.trials.len();
    }
    all
}

impl<'a> Analysis<'a> {
    /// Of studies as one, with medians of others beside: their figures and tables, and nothing that
    /// is judged of a host.
    pub fn joint(stored: &'a StoredStudy, of: &[Part], others: &[StoredStudy]) -> Self {
        let summaries = summarise(stored);
        let mut study = study::results(stored, &summaries, &BTreeMap::new(), others);
        if let Some(study) = &mut study {
            // Studies follow each other by days: what is between them is no drift of either.
            study.drift = drift(&[]);
        }
        let placements = placements(of);
        let pairs = narrows_stats::pairs(stored);
        let profiles = narrows_profile::profiles(stored);
        let plain = Self::unjudged(stored, parts(of));
        Self { summaries, study, placements, pairs, profiles, ..plain }
    }
}
