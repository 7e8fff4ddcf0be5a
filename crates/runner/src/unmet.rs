//! Runs that are not made because their ends do not find each other. A filter between two hosts
//! often lets the control connection through and no data; each run would wait for its own in vain.

use narrows_model::record::{Fault, Outcome, Record};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{Trial, TrialId};
use narrows_model::workload::{Transport, Workload};

/// So many runs of one cell in vain are no chance.
const IN_VAIN: usize = 2;

/// What the runs of a course said so far of whether their ends meet.
#[derive(Debug, Default)]
pub struct Unmet {
    /// Cells of runs whose ends did not find each other, one for each run.
    in_vain: Vec<TrialId>,
    /// What carried runs whose ends did.
    met: Vec<Option<Transport>>,
    is_probed: bool,
}

impl Unmet {
    /// Takes what a run says.
    pub fn learn(&mut self, trial: &Trial, record: &Record) {
        match &record.outcome {
            // A probe that finds nothing to pass is done all the same.
            _ if trial.kind == Workload::PathProbe => self.is_probed = true,
            Outcome::Done => self.met.push(trial.kind.transport()),
            Outcome::Failed { fault: Fault::Apart, .. } => self.in_vain.push(trial.id.clone()),
            Outcome::Failed { .. } | Outcome::Skipped { .. } => {}
        }
    }

    /// Whether a run of this cell, one of all these, would be in vain. Nothing is said of fewer
    /// flows than those that did not meet, nor of what met once: some filters count connections.
    pub fn is_in_vain(&self, trial: &Trial, all: &[Trial]) -> bool {
        if trial.kind == Workload::PathProbe {
            let mut others =
                all.iter().filter(|other| other.kind != Workload::PathProbe).peekable();
            return self.is_probed
                && others.peek().is_some()
                && others.all(|other| self.is_in_vain(other, all));
        }
        let over = trial.kind.transport();
        let alike = |tried: &&Trial| {
            tried.kind.transport() == over && tried.params.streams <= trial.params.streams
        };
        let runs = |tried: &Trial| self.in_vain.iter().filter(|id| **id == tried.id).count();
        !self.met.contains(&over) && all.iter().filter(alike).any(|tried| runs(tried) >= IN_VAIN)
    }
}

/// Whether the ends of a trial did not find each other in as many runs as are no chance, and in no
/// other: no change of a setting would help.
pub fn never_meets(stored: &StoredStudy, trial: &TrialId) -> bool {
    let runs = stored.records.iter().filter(|record| record.trial == *trial);
    let is_apart =
        |record: &Record| matches!(record.outcome, Outcome::Failed { fault: Fault::Apart, .. });
    let (in_vain, others): (Vec<&Record>, Vec<&Record>) = runs.partition(|record| is_apart(record));
    in_vain.len() >= IN_VAIN && others.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::{Params, Timeline};
    use narrows_model::record::{Stage, Stamp};
    use narrows_model::trial::NetworkPath;
    use narrows_model::{Bytes, Nanos};

    fn trial(id: &str, kind: &str, streams: u32) -> Trial {
        Trial {
            id: TrialId(id.to_owned()),
            label: id.to_owned(),
            kind: kind.into(),
            params: Params::of_network(Bytes(64), streams),
            ends: Vec::new(),
            path: NetworkPath::Peer,
            timeline: Timeline::new(Nanos(0), Nanos(1), Nanos(0)),
            levels: Vec::new(),
            notes: Vec::new(),
            engine: None,
        }
    }

    /// Cells that are left out after these runs, each with whether its ends met.
    fn left_out(all: &[Trial], runs: &[(&str, bool)]) -> Vec<String> {
        let mut unmet = Unmet::default();
        for (id, met) in runs {
            let of = all.iter().find(|trial| trial.id.0 == *id).expect("a cell");
            let (at, why) = (Stage::Start, "no connection".to_owned());
            let apart = Outcome::Failed { at, why, fault: Fault::Apart };
            let outcome = if *met { Outcome::Done } else { apart };
            let record = Record {
                trial: of.id.clone(),
                repeat: 0,
                block: 0,
                outcome,
                reports: Vec::new(),
                around: Stamp::default(),
                session: 0,
                external: None,
            };
            unmet.learn(of, &record);
        }
        let vain = all.iter().filter(|trial| unmet.is_in_vain(trial, all));
        vain.map(|trial| trial.id.0.clone()).collect()
    }

    #[test]
    fn two_runs_in_vain_leave_out_as_many_flows_and_more_over_the_same_transport() {
        let all = [
            trial("one", "tcp-stream", 1),
            trial("four", "tcp-stream", 4),
            trial("eight", "tcp-rr", 8),
            trial("udp", "udp-stream", 8),
        ];
        let of = |runs: &[(&str, bool)]| left_out(&all, runs);
        assert!(of(&[]).is_empty() && of(&[("four", false)]).is_empty(), "one is chance");
        assert!(of(&[("four", false), ("one", false)]).is_empty(), "of two cells one each");
        assert_eq!(of(&[("four", false), ("four", false)]), ["four", "eight"]);
        assert_eq!(of(&[("one", false), ("one", false)]), ["one", "four", "eight"]);
        assert_eq!(of(&[("udp", false), ("udp", false)]), ["udp"]);
        let met = [("one", true), ("four", false), ("four", false), ("four", false)];
        assert!(of(&met).is_empty(), "what met once may be counted by the filter");
        let other = [("udp", true), ("four", false), ("four", false)];
        assert_eq!(of(&other), ["four", "eight"], "of another transport");
    }

    #[test]
    fn a_probe_is_in_vain_once_it_was_made_and_all_others_are() {
        let all = [trial("probe", "path-probe", 1), trial("tcp", "tcp-stream", 1)];
        assert_eq!(all[0].kind, Workload::PathProbe);
        let vain = [("tcp", false), ("tcp", false)];
        assert_eq!(left_out(&all, &vain), ["tcp"], "the probe tells why");
        let probed = [("probe", true), ("tcp", false), ("tcp", false)];
        assert_eq!(left_out(&all, &probed), ["probe", "tcp"]);
        assert!(left_out(&all, &[("probe", true), ("tcp", false)]).is_empty());
        assert!(left_out(&all[..1], &[("probe", true)]).is_empty(), "a probe alone");
        let udp = trial("udp", "udp-stream", 1);
        let three = [all.to_vec(), vec![udp]].concat();
        assert_eq!(left_out(&three, &probed), ["tcp"], "one may still meet");
    }

    #[test]
    fn ends_that_meet_once_are_not_apart() {
        let of = |outcomes: &[bool]| {
            let mut stored = StoredStudy::unmeasured(narrows_model::host::Host::default());
            let made = outcomes.iter().map(|met| Record {
                trial: TrialId("a".to_owned()),
                repeat: 0,
                block: 0,
                outcome: match met {
                    true => Outcome::Done,
                    false => Outcome::Failed {
                        at: Stage::Start,
                        why: "no connection".to_owned(),
                        fault: Fault::Apart,
                    },
                },
                reports: Vec::new(),
                around: Stamp::default(),
                session: 0,
                external: None,
            });
            stored.records = made.collect();
            never_meets(&stored, &TrialId("a".to_owned()))
        };
        assert!(of(&[false, false]) && of(&[false; 3]));
        assert!(!of(&[false]), "one may be chance");
        assert!(!of(&[false, true, false]) && !of(&[true]) && !of(&[]));
    }
}
