//! The findings of a study whose machine was changed by hand between its sessions. Each population,
//! that is the levels as they were found, is judged by itself: the host of each of its sessions and
//! what was measured in them. What is alike is said once, with the populations it holds for.

use crate::{Case, Judged, heaviest_first, judge};
use narrows_model::result::{Evidence, Finding, LookedAt, Missing, Prediction, Verdict};
use narrows_model::study::{Session, StoredStudy};
use narrows_predict::predict;
use narrows_stats::{Summary, summarise};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// What the machine was when some of the sessions were held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Population {
    /// The factors that are changed by hand with their levels; none where no factor is.
    pub levels: Vec<(String, String)>,
    /// The numbers of its sessions.
    pub sessions: Vec<u32>,
}

/// Some sessions of one population.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Held {
    /// The population that it holds for.
    #[serde(flatten)]
    pub population: Population,
    /// Whether these are all of its sessions.
    pub throughout: bool,
}

/// A finding with what it holds for.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Found {
    /// The finding; its evidence is that of the first session that has it.
    #[serde(flatten)]
    pub finding: Finding,
    /// The sessions it holds for, by population; empty where the study has one session or none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub holds_for: Vec<Held>,
}

/// What the rules say of a study.
pub struct Judgement {
    /// By rule, over all populations.
    pub judged: Vec<Judged>,
    /// The findings, the heaviest first.
    pub found: Vec<Found>,
    /// What the machine was, in the order of the sessions.
    pub populations: Vec<Population>,
    /// What the host of each session should reach, and what was measured on it: alike ones once,
    /// with their sessions.
    pub predictions: Vec<Prediction>,
}

impl fmt::Display for Population {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels: Vec<String> =
            self.levels.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
        f.write_str(&levels.join(", "))
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = !self.population.levels.is_empty();
        self.population.fmt(f)?;
        if self.throughout && named {
            return Ok(());
        }
        // People count from one.
        let numbers: Vec<String> =
            self.population.sessions.iter().map(|number| (number + 1).to_string()).collect();
        let word = if numbers.len() == 1 { "session" } else { "sessions" };
        let (open, close) = if named { (" (", ")") } else { ("", "") };
        write!(f, "{open}{word} {}{close}", numbers.join(", "))
    }
}

impl Judgement {
    /// Judges a study; `case` is the whole of it.
    pub fn of(case: &Case<'_>) -> Self {
        let populations = populations(case.study);
        if case.study.sessions.len() < 2 {
            let judged = judge(case);
            let found = crate::findings(&judged).into_iter().cloned();
            let found = found.map(|finding| Found { finding, holds_for: Vec::new() }).collect();
            let predictions = case.predictions.to_vec();
            return Self { judged, found, populations, predictions };
        }
        let (mut each, mut predictions) = (Vec::new(), Vec::new());
        for (at, population) in populations.iter().enumerate() {
            let mut study = measured_in(case.study, population);
            let summaries = summarise(&study);
            for session in &case.study.sessions {
                if !population.sessions.contains(&session.number) {
                    continue;
                }
                study.host = session.host.clone();
                study.peer_hosts.clone_from(&session.peer_hosts);
                let own = predict(&study, &summaries);
                let case = Case { study: &study, summaries: &summaries, predictions: &own };
                each.push((at, session.number, judge(&case)));
                predicted_once(&mut predictions, own, session.number);
            }
        }
        let found = said_once(&each, &populations);
        predictions.sort_by_key(|prediction: &Prediction| prediction.sessions.first().copied());
        Self { judged: over_all(&each), found, populations, predictions }
    }
}

/// The populations of a study, in the order of their first sessions.
fn populations(study: &StoredStudy) -> Vec<Population> {
    let mut all: Vec<Population> = Vec::new();
    for session in &study.sessions {
        let levels = levels(session);
        match all.iter_mut().find(|known| known.levels == levels) {
            Some(known) => known.sessions.push(session.number),
            None => all.push(Population { levels, sessions: vec![session.number] }),
        }
    }
    all
}

fn levels(session: &Session) -> Vec<(String, String)> {
    let each = session.levels.iter();
    each.map(|(factor, found)| (factor.clone(), found.level.clone())).collect()
}

/// A session's host with what was measured in its population.
pub struct Seen {
    /// Its number; `None` stands for all, where a study has but one.
    pub session: Option<u32>,
    /// The part of the study.
    pub study: StoredStudy,
    /// What its records say.
    pub summaries: Vec<Summary>,
}

/// Every session of a study as it is judged and predicted by itself.
pub fn sessions(study: &StoredStudy, summaries: &[Summary]) -> Vec<Seen> {
    if study.sessions.len() < 2 {
        let (study, summaries) = (study.clone(), summaries.to_vec());
        return vec![Seen { session: None, study, summaries }];
    }
    let mut all = Vec::new();
    for population in populations(study) {
        let part = measured_in(study, &population);
        let summaries = summarise(&part);
        let of = study.sessions.iter();
        for session in of.filter(|session| population.sessions.contains(&session.number)) {
            let mut own = part.clone();
            own.host = session.host.clone();
            own.peer_hosts.clone_from(&session.peer_hosts);
            let summaries = summaries.clone();
            all.push(Seen { session: Some(session.number), study: own, summaries });
        }
    }
    all
}

/// The part of a study that was measured in one population.
fn measured_in(study: &StoredStudy, population: &Population) -> StoredStudy {
    let records = study.records.iter();
    let records: Vec<_> =
        records.filter(|record| population.sessions.contains(&record.session)).cloned().collect();
    let measured: BTreeSet<_> = records.iter().map(|record| &record.trial).collect();
    let trials = study.trials.iter().filter(|trial| measured.contains(&trial.id));
    let sessions = study.sessions.iter();
    StoredStudy {
        study: study.study.clone(),
        ended: study.ended.clone(),
        definition: study.definition.clone(),
        sessions: sessions
            .filter(|session| population.sessions.contains(&session.number))
            .cloned()
            .collect(),
        host: study.host.clone(),
        peer_hosts: study.peer_hosts.clone(),
        trials: trials.cloned().collect(),
        records,
    }
}

/// A population's index, a session of it, and what the rules say of the two.
type Each = (usize, u32, Vec<Judged>);

/// Each finding once. Two are alike when they say the same; their evidence may have changed.
fn said_once(each: &[Each], populations: &[Population]) -> Vec<Found> {
    let mut all: Vec<(Finding, Vec<(usize, u32)>)> = Vec::new();
    for (population, session, judged) in each {
        for finding in crate::findings(judged) {
            let alike = |known: &Finding| {
                (&known.rule, known.weight, &known.says)
                    == (&finding.rule, finding.weight, &finding.says)
            };
            let at = (*population, *session);
            match all.iter_mut().find(|(known, _)| alike(known)) {
                Some((_, places)) if places.last() == Some(&at) => {}
                Some((_, places)) => places.push(at),
                None => all.push((finding.clone(), vec![at])),
            }
        }
    }
    let mut found: Vec<Found> = all
        .into_iter()
        .map(|(finding, places)| {
            let each = populations.iter().enumerate();
            let holds_for = each.filter_map(|(at, population)| held(&places, at, population));
            Found { holds_for: holds_for.collect(), finding }
        })
        .collect();
    found.sort_by(|a, b| heaviest_first(&a.finding, &b.finding));
    found
}

fn held(places: &[(usize, u32)], at: usize, population: &Population) -> Option<Held> {
    let of = places.iter().filter(|(known, _)| *known == at);
    let sessions: Vec<u32> = of.map(|(_, session)| *session).collect();
    let throughout = sessions.len() == population.sessions.len();
    let levels = population.levels.clone();
    (!sessions.is_empty())
        .then_some(Held { population: Population { levels, sessions }, throughout })
}

/// Adds a session's predictions; one that is known gets the session's number.
fn predicted_once(all: &mut Vec<Prediction>, own: Vec<Prediction>, session: u32) {
    for mut prediction in own {
        if let Some(known) = all.iter_mut().find(|known| {
            let sessions = known.sessions.clone();
            **known == Prediction { sessions, ..prediction.clone() }
        }) {
            known.sessions.push(session);
            continue;
        }
        prediction.sessions = vec![session];
        all.push(prediction);
    }
}

/// One verdict a rule: found if it is anywhere, else unknown if anything is missing anywhere,
/// else clear with all that was looked at.
fn over_all(each: &[Each]) -> Vec<Judged> {
    let Some((.., first)) = each.first() else { return Vec::new() };
    first
        .iter()
        .enumerate()
        .map(|(at, judged)| {
            let verdicts: Vec<&Verdict> =
                each.iter().filter_map(|(.., judged)| Some(&judged.get(at)?.verdict)).collect();
            Judged { verdict: together(&verdicts, &judged.verdict), ..judged.clone() }
        })
        .collect()
}

fn together(verdicts: &[&Verdict], first: &Verdict) -> Verdict {
    let mut findings: Vec<Finding> = Vec::new();
    let mut missing: Vec<Missing> = Vec::new();
    let mut looked_at: Vec<Evidence> = Vec::new();
    for verdict in verdicts {
        match verdict {
            Verdict::Found { findings: more } => add(&mut findings, more),
            Verdict::Unknown { missing: more, looked_at: seen } => {
                add(&mut missing, more);
                add(&mut looked_at, seen);
            }
            Verdict::Clear { looked_at: seen } => add(&mut looked_at, seen.all()),
            Verdict::NotApplicable { .. } => {}
        }
    }
    if !findings.is_empty() {
        return Verdict::Found { findings };
    }
    if !missing.is_empty() {
        return Verdict::Unknown { missing, looked_at };
    }
    match LookedAt::try_from(looked_at) {
        Ok(looked_at) => Verdict::Clear { looked_at },
        // Not applicable to any.
        Err(_) => first.clone(),
    }
}

fn add<T: Clone + PartialEq>(all: &mut Vec<T>, more: &[T]) {
    for one in more {
        if !all.contains(one) {
            all.push(one.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_counted_from_one() {
        let held = |levels: &[(&str, &str)], sessions: &[u32], throughout: bool| {
            let levels = levels.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
            let population = Population { levels, sessions: sessions.to_vec() };
            Held { population, throughout }.to_string()
        };
        assert_eq!(held(&[], &[0, 2], false), "sessions 1, 3");
        assert_eq!(held(&[], &[0], true), "session 1");
        assert_eq!(held(&[("dimms", "8")], &[4], false), "dimms 8 (session 5)");
        assert_eq!(held(&[("dimms", "8")], &[4], true), "dimms 8");
    }
}
