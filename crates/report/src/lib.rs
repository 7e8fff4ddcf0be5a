//! From a stored study to what people and programs read: text, JSON and HTML. Pure: the same file
//! gives the same bytes on any machine.

#![forbid(unsafe_code)]

pub mod advised;
pub mod anomalies;
pub mod answer;
pub mod app;
pub mod applications;
pub mod beside;
pub mod brief;
mod built;
pub mod bus;
mod clauses;
pub mod credits;
pub mod data;
pub mod diagnosed;
pub mod diagnosis;
pub mod documents;
pub mod drawn;
pub mod ending;
pub mod explained;
pub mod fabric;
pub mod figures;
pub mod fleet;
pub mod formats;

mod hardware;
mod headline;
pub mod history;
pub mod joint;
mod judged;
pub mod latency;
mod loss;
pub mod mesh;
mod mesh_page;
pub mod mesh_windows;
mod mirrors;
pub mod neighbours;
pub mod numademo;
pub mod paths;
pub mod peer_check;
pub mod placed;
pub mod placement;
pub mod plots;
pub mod probed;
pub mod profiled;
pub mod published;
mod rdma;
pub mod results;
pub mod root_lines;
pub mod score;
pub mod searched;
pub mod sentences;
pub mod served;
pub mod servers;
pub mod sessions;
mod sources;
pub mod stream;
pub mod study;
pub mod table;
pub mod tested;
pub mod tidy;
mod unmade;
pub mod views;
pub mod whatif;
pub mod wire;
pub mod words;

use applications::Application;
use narrows_explain::conditions::{Found, Judgement, Population, sessions};
use narrows_explain::limits::{Limit, limits};
use narrows_explain::paths::{SlowPath, slow_paths};
use narrows_explain::regime::{CellRegime, regimes};
use narrows_explain::{Case, Judged};
use narrows_model::result::{Prediction, Weight};
use narrows_model::study::StoredStudy;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::Trial;
use narrows_predict::{Cells, leave_out_impossible, predict};
use narrows_profile::TrialProfile;
use narrows_stats::{
    Anomalies, CopyShare, Label, LoadedLatency, NeighbourTest, Pairs, PathTest, PlacedTest,
    Searched, Summary, Together, copy_share, summarise, together,
};
use std::collections::BTreeMap;

/// A study with everything that is computed from it.
pub struct Analysis<'a> {
    /// What was read and measured.
    pub stored: &'a StoredStudy,
    /// What the records say, per trial.
    pub summaries: Vec<Summary>,
    /// What trials that ran at once reached together.
    pub together: Option<Together>,
    /// What each pair of a trial of many reached.
    pub pairs: Vec<Pairs>,
    /// What the copy to the program costs, where that was measured.
    pub copy_share: Option<CopyShare>,
    /// Where CPU time went, of trials that were profiled.
    pub profiles: Vec<TrialProfile>,
    /// What a study's cells say together.
    pub study: Option<study::StudyResults>,
    /// What the searches of a study have come to.
    pub searches: Vec<Searched>,
    /// What a search for anomalies has come to.
    pub anomalies: Option<Anomalies>,
    /// Tests that were run in several placements.
    pub placements: Vec<PlacedTest>,
    /// Traffic that was run beside memory jobs, and both alone.
    pub neighbours: Vec<NeighbourTest>,
    /// Paths inside the host, each beside its likes.
    pub paths: Vec<PathTest>,
    /// Those of them that are slower, with what was read that differs.
    pub slow_paths: Vec<SlowPath>,
    /// Round trips before, beside and after streams.
    pub latency: Option<LoadedLatency>,
    /// Applications by ranks and fabric: of this study, and of others that are shown with it.
    pub applications: Vec<Application>,
    pub predictions: Vec<Prediction>,
    /// What each cell should reach, by its label: of the host as it was in the session that first
    /// measured it, with what else was measured on it then.
    pub expected: BTreeMap<String, Prediction>,
    /// What the rules say, over all sessions.
    pub judged: Vec<Judged>,
    /// What they found, the heaviest first, with the populations that it holds for.
    pub found: Vec<Found>,
    /// What holds each network cell, in one sentence each.
    pub limits: Vec<Limit>,
    /// Which part inside the hosts holds each cell between hosts, by their NICs and CPUs.
    pub regimes: Vec<CellRegime>,
    /// What the machine was in the sessions.
    pub populations: Vec<Population>,
    /// Of studies as one what is said of each; else empty.
    pub parts: Vec<String>,
}

impl<'a> Analysis<'a> {
    /// Computes all results of a study.
    pub fn of(stored: &'a StoredStudy) -> Self {
        Self::beside(stored, &[])
    }

    /// The same, with the medians of other studies beside its cells.
    pub fn beside(stored: &'a StoredStudy, others: &[StoredStudy]) -> Self {
        let mut summaries = summarise(stored);
        let predictions = predict(stored, &summaries);
        let case = Case { study: stored, summaries: &summaries, predictions: &predictions };
        let regimes = regimes(&case);
        let Judgement { judged, found, populations, predictions } = Judgement::of(&case);
        let limits = limits(&Case { predictions: &predictions, ..case }, &judged);
        let together = together(stored, &summaries);
        let copy_share = copy_share(stored, &summaries);
        let expected = expected(stored, &summaries);
        // Judged above as they are: a rule says itself why it does not use them.
        leave_out_impossible(stored, &mut summaries);
        let study = study::results(stored, &summaries, &expected, others);
        let paths = narrows_stats::paths(stored, &summaries);
        Self {
            stored,
            summaries,
            study,
            searches: narrows_stats::searches(stored),
            anomalies: narrows_stats::anomalies(stored),
            placements: narrows_stats::placements(stored),
            neighbours: narrows_stats::neighbours(stored),
            slow_paths: slow_paths(&stored.host, &paths),
            paths,
            latency: narrows_stats::latency(stored),
            applications: Application::of(stored).into_iter().collect(),
            together,
            pairs: narrows_stats::pairs(stored),
            copy_share,
            profiles: narrows_profile::profiles(stored),
            predictions,
            expected,
            judged,
            found,
            limits,
            regimes,
            populations,
            parts: Vec::new(),
        }
    }

    /// Nothing that is computed of the runs.
    fn unjudged(stored: &'a StoredStudy, parts: Vec<String>) -> Self {
        Self {
            stored,
            summaries: Vec::new(),
            together: None,
            pairs: Vec::new(),
            copy_share: None,
            profiles: Vec::new(),
            study: None,
            searches: Vec::new(),
            anomalies: None,
            placements: Vec::new(),
            neighbours: Vec::new(),
            paths: Vec::new(),
            slow_paths: Vec::new(),
            latency: None,
            applications: Vec::new(),
            predictions: Vec::new(),
            expected: BTreeMap::new(),
            judged: Vec::new(),
            found: Vec::new(),
            limits: Vec::new(),
            regimes: Vec::new(),
            populations: Vec::new(),
            parts,
        }
    }

    /// The applications of other studies too, in one figure with those of this.
    pub fn with_applications(mut self, more: Vec<Application>) -> Self {
        self.applications.extend(more);
        self
    }

    /// What others published of the applications beside their own cells.
    pub fn with_published(mut self, others: &[StoredStudy]) -> Self {
        self.applications.iter_mut().for_each(|one| one.set_beside(others));
        self
    }

    /// True for one measurement that the user set up himself.
    pub fn is_direct(&self) -> bool {
        self.stored.study.command.is_direct()
    }

    /// True for a study whose every cell is a rate of a search.
    pub fn only_searches(&self) -> bool {
        let mut trials = self.stored.trials.iter();
        !self.searches.is_empty() && trials.all(|trial| self.stored.is_searched(trial))
    }

    /// True for figures of other tools, of a host that is not known.
    pub fn is_imported(&self) -> bool {
        self.stored.study.command == StudyKind::Import
    }

    /// True where one host is known that all figures are of.
    pub fn has_host(&self) -> bool {
        !self.is_imported() && self.parts.is_empty()
    }

    /// Which populations a finding holds for, in words; `None` where the study has but one session.
    pub fn holds_for(&self, found: &Found) -> Option<String> {
        let throughout = || found.holds_for.iter().all(|held| held.throughout);
        match found.holds_for.len() {
            0 => None,
            // What a machine is throughout, nobody asks when.
            1 if self.populations.len() == 1 && throughout() => None,
            all if all == self.populations.len() && throughout() => {
                Some("all populations".to_owned())
            }
            _ => Some(judged::listed(&found.holds_for)),
        }
    }

    /// True when a rule found a fault of the hardware: the exit code tells.
    pub fn has_fault(&self) -> bool {
        self.found.iter().any(|found| found.finding.weight == Weight::Fault)
    }

    /// True when runs were made and their verdict is bad: a fault of the hardware, data that was
    /// corrupted, a rate of nothing, figures that are all impossible.
    pub fn is_bad(&self) -> bool {
        self.has_fault() || self.summaries.iter().any(is_bad)
    }

    /// The same of some of its trials: what a measurement added by itself, to tell where a loss is,
    /// is evidence and nothing that was asked for.
    pub fn is_bad_in(&self, asked: &[Trial]) -> bool {
        self.has_fault()
            || self
                .summaries
                .iter()
                .filter(|summary| asked.iter().any(|trial| trial.label == summary.label))
                .any(is_bad)
    }
}

fn expected(stored: &StoredStudy, summaries: &[Summary]) -> BTreeMap<String, Prediction> {
    let own;
    // One session is all of the study, which need not be copied for it.
    let seen: Vec<(Option<u32>, Cells<'_>)> = if stored.sessions.len() < 2 {
        vec![(None, Cells::of(stored, summaries))]
    } else {
        own = sessions(stored, summaries);
        own.iter().map(|seen| (seen.session, Cells::of(&seen.study, &seen.summaries))).collect()
    };
    let of = |trial: &Trial| {
        let session = stored.records_of(trial).next()?.session;
        let (_, cells) = seen.iter().find(|(number, _)| number.is_none_or(|of| of == session))?;
        Some((trial.label.clone(), cells.prediction(trial)?))
    };
    stored.trials.iter().filter_map(of).collect()
}

fn is_bad(summary: &Summary) -> bool {
    let is_refused = summary.estimate.is_none() && summary.labels.contains(&Label::Impossible);
    is_refused || summary.labels.iter().any(|label| label.is_bad())
}
