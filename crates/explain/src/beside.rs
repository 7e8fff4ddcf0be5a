//! Trials of a study that differ from a cell in one thing, and what they moved: what that does.

use crate::measured::Cell;
use narrows_model::load::Params;
use narrows_model::record::Outcome;
use narrows_model::trial::Trial;
use narrows_stats::median;

/// A trial beside a cell, with what each of its runs moved.
pub struct Beside<'a> {
    pub trial: &'a Trial,
    /// Payload that came, in bits a second, of each run.
    runs_bps: Vec<f64>,
    /// The same of each run's flows.
    pub flows_bps: Vec<Vec<f64>>,
}

impl Beside<'_> {
    pub fn low_bps(&self) -> f64 {
        self.runs_bps.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub fn high_bps(&self) -> f64 {
        self.runs_bps.iter().copied().fold(0.0, f64::max)
    }

    pub fn middle_bps(&self) -> f64 {
        median(&self.runs_bps).unwrap_or(0.0)
    }

    /// The trial's runs, as a cell of it names them.
    pub fn runs(&self) -> String {
        format!("{} runs of {}", self.runs_bps.len(), self.trial.label)
    }
}

/// One run has no range.
const RUNS_LEAST: usize = 2;

impl<'a> Cell<'a> {
    /// The trials that are as the cell's but for what `alike` takes out of the parameters: between
    /// the same ends, for as long, and at another level of one factor at the most. A factor that
    /// is changed by hand leaves no trace but its level, which must be the same.
    pub fn beside(&self, alike: fn(Params) -> Params) -> Vec<Beside<'a>> {
        let own = alike(self.trial.params.clone());
        let others = self.study.trials.iter().filter(|trial| {
            trial.kind == self.trial.kind
                && trial.path == self.trial.path
                && trial.ends == self.trial.ends
                && trial.timeline == self.trial.timeline
                && factors_apart(trial, self.trial) <= 1
                && self.by_hand().all(|factor| trial.level(factor) == self.trial.level(factor))
                && trial.engine.is_none()
                && trial.params != self.trial.params
                && alike(trial.params.clone()) == own
        });
        others
            .map(|trial| {
                let flows_bps = self.flows_bps(trial);
                let runs_bps = flows_bps.iter().map(|flows| flows.iter().sum()).collect();
                Beside { trial, runs_bps, flows_bps }
            })
            .filter(|beside| beside.runs_bps.len() >= RUNS_LEAST)
            .collect()
    }

    /// Factors of the study that are changed by hand: sessions note where they found them.
    fn by_hand(&self) -> impl Iterator<Item = &'a str> {
        let sessions = self.study.sessions.iter();
        sessions.flat_map(|session| session.levels.keys().map(String::as_str))
    }

    /// Payload that came of each flow of each of a trial's runs, in bits a second.
    pub fn flows_bps(&self, trial: &Trial) -> Vec<Vec<f64>> {
        let runs = self.study.records.iter().filter(|record| {
            record.trial == trial.id && record.outcome == Outcome::Done && record.sender().is_some()
        });
        runs.filter_map(|record| {
            let end = record.receiver().filter(|end| end.window_ns.0 > 0)?;
            let bps = |bytes: u64| 8e9 * bytes as f64 / end.window_ns.0 as f64;
            Some(end.flows.iter().map(|flow| bps(flow.bytes.0)).collect())
        })
        .collect()
    }
}

/// In how many factors of their study two trials are at different levels.
pub fn factors_apart(one: &Trial, other: &Trial) -> usize {
    let of = |a: &Trial, b: &Trial| {
        a.levels.iter().filter(|at| b.level(&at.factor) != Some(&at.level)).count()
    };
    of(one, other).max(of(other, one))
}

#[cfg(test)]
mod tests {
    use super::testing::with_beside;
    use crate::Case;
    use crate::measured::cells;
    use crate::measured::testing::stream;
    use narrows_model::Nanos;
    use narrows_model::host::Host;
    use narrows_model::load::{Params, Role};
    use narrows_model::record::{Fault, Outcome, Record, Stage};
    use narrows_model::study::{Found, Session};
    use narrows_model::trial::{EndHost, EndSpec, Level, NetworkPath, Trial};

    /// How many trials stand beside the first of two, of which the second has twice the flows.
    fn count(change: impl FnOnce(&mut Trial, &mut Trial)) -> usize {
        let mut study = stream("tcp-stream");
        with_beside(&mut study, |params| params.streams = 2, 1.0);
        study.sessions = vec![session()];
        let [first, second] = study.trials.as_mut_slice() else { panic!("two trials") };
        change(first, second);
        let summaries = narrows_stats::summarise(&study);
        let case = Case { study: &study, summaries: &summaries, predictions: &[] };
        let cell = cells(&case).next().expect("a cell");
        cell.beside(|params| Params { streams: 0, ..params }).len()
    }

    #[test]
    fn a_trial_beside_another_differs_in_one_thing() {
        let levels = |flows: &str, switch: &str| of([("flows", flows), ("switch", switch)]);
        assert_eq!(count(|_, _| {}), 1);
        assert_eq!(count(|_, other| end_of(other).host = EndHost::Peer(1)), 0, "another peer");
        assert_eq!(count(|_, other| end_of(other).place.cpus.0 = vec![3]), 0, "other CPUs");
        assert_eq!(count(|_, other| end_of(other).container = Some("c".into())), 0);
        assert_eq!(count(|_, other| other.timeline.window_ns = Nanos(9)), 0, "another window");
        let at = |its: &str| {
            count(|one, other| {
                (one.levels, other.levels) = (levels("1", "old"), levels("2", its));
            })
        };
        assert_eq!(at("old"), 1, "the factor of its flows alone");
        assert_eq!(at("new"), 0, "and another one");
        let by_hand = count(|one, other| {
            (one.levels, other.levels) = (levels("1", "old"), levels("1", "new"));
        });
        assert_eq!(by_hand, 0, "the one that is changed by hand");
        // Of factors that nobody changes by hand.
        let at = |its: [(&str, &str); 2]| {
            count(|one, other| {
                one.levels = of([("flows", "1"), ("size", "small")]);
                other.levels = of(its);
            })
        };
        assert_eq!(at([("flows", "2"), ("size", "small")]), 1);
        assert_eq!(at([("flows", "2"), ("size", "large")]), 0, "two at once");
        assert_eq!(at([("flows", "1"), ("size", "small")]), 1, "none at all");
    }

    fn of(levels: [(&str, &str); 2]) -> Vec<Level> {
        let of = |(factor, level): (&str, &str)| Level {
            factor: factor.to_owned(),
            level: level.to_owned(),
        };
        levels.map(of).to_vec()
    }

    /// A gigabyte in a second of each of three runs, of which one failed and one had no window.
    #[test]
    fn a_run_that_failed_or_opened_no_window_has_no_rate() {
        let mut study = stream("tcp-stream");
        with_beside(&mut study, |params| params.streams = 2, 1.0);
        let rates = |change: &dyn Fn(usize, &mut Record)| {
            let mut study = study.clone();
            let runs = study.records.iter_mut().filter(|run| run.trial.0 == "beside");
            for (at, run) in runs.enumerate() {
                for end in run.of_mut(Role::Receiver) {
                    end.window_ns = Nanos(2_000_000_000);
                    end.flows.truncate(1);
                    end.flows[0].bytes.0 = 1_000_000_000 * (1 + at as u64);
                }
                change(at, run);
            }
            let summaries = narrows_stats::summarise(&study);
            let case = Case { study: &study, summaries: &summaries, predictions: &[] };
            let cell = cells(&case).next().expect("a cell");
            let found = cell.beside(|params| Params { streams: 0, ..params });
            found.first().map(|one| (one.low_bps(), one.middle_bps(), one.high_bps(), one.runs()))
        };
        let all = rates(&|_, _| {}).expect("beside");
        let count = study.records.iter().filter(|run| run.trial.0 == "beside").count();
        let gbps = |run: f64| 4e9 * run;
        assert_eq!((all.0, all.2), (gbps(1.0), gbps(count as f64)));
        assert_eq!(all.1, gbps((count as f64 + 1.0) / 2.0), "the middle of them");
        assert_eq!(all.3, format!("{count} runs of {} beside", study.trials[0].label));
        let failed = rates(&|at, run| {
            if at == 0 {
                run.outcome =
                    Outcome::Failed { at: Stage::Run, why: "x".into(), fault: Fault::default() };
            }
        });
        assert_eq!(failed.expect("beside").0, gbps(2.0));
        let unopened = rates(&|at, run| {
            if at == 0 {
                run.of_mut(Role::Receiver).for_each(|end| end.window_ns = Nanos(0));
            }
        });
        assert_eq!(unopened.expect("beside").0, gbps(2.0));
        let one = rates(&|at, run| {
            if at > 0 {
                run.of_mut(Role::Receiver).for_each(|end| end.window_ns = Nanos(0));
            }
        });
        assert!(one.is_none(), "one run has no range");
    }

    /// A session that found a switch of the factor that is changed by hand.
    fn session() -> Session {
        let found = Found { level: "old".to_owned(), read: false };
        Session {
            number: 0,
            began_unix_ns: Nanos(0),
            narrows_version: String::new(),
            host: Host::default(),
            peer_hosts: Vec::new(),
            path: NetworkPath::Peer,
            levels: [("switch".to_owned(), found)].into(),
            cannot: Default::default(),
            ended: None,
        }
    }

    fn end_of(trial: &mut Trial) -> &mut EndSpec {
        trial.end_mut(Role::Receiver).expect("an end")
    }
}

#[cfg(test)]
pub mod testing {
    //! Studies with a trial beside the first.

    use narrows_model::load::{Params, Role};
    use narrows_model::study::StoredStudy;
    use narrows_model::trial::TrialId;

    /// Adds a trial that differs in its parameters and moves so many times what the first does.
    pub fn with_beside(study: &mut StoredStudy, change: impl FnOnce(&mut Params), times: f64) {
        let mut trial = study.trials[0].clone();
        (trial.id, trial.label) = (TrialId("beside".into()), format!("{} beside", trial.label));
        change(&mut trial.params);
        for mut record in study.records.clone() {
            record.trial = trial.id.clone();
            for end in record.of_mut(Role::Receiver) {
                for flow in &mut end.flows {
                    flow.bytes.0 = (flow.bytes.0 as f64 * times) as u64;
                    flow.messages = (flow.messages as f64 * times) as u64;
                }
            }
            study.records.push(record);
        }
        study.trials.push(trial);
    }
}
