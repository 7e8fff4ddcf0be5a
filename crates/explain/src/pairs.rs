//! Trials of many pairs, taken apart: rules look at one sender and one receiver, so that each pair
//! is judged as a cell of its own, named after its two hosts.

use narrows_model::load::Role;
use narrows_model::record::{Record, Reported};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndSpec, Pair, Trial, TrialId};

/// The study with a trial for each pair of its trials of many; `None` where it has none.
pub fn apart(study: &StoredStudy) -> Option<StoredStudy> {
    if !study.trials.iter().any(many) {
        return None;
    }
    let mut own = StoredStudy { trials: Vec::new(), records: Vec::new(), ..study.clone() };
    let records = study.by_trial();
    for trial in &study.trials {
        let runs = records.get(&trial.id).into_iter().flatten();
        if !many(trial) {
            own.trials.push(trial.clone());
            own.records.extend(runs.map(|record| (*record).clone()));
            continue;
        }
        for (at, pair) in trial.pairs().enumerate() {
            let of = of_pair(study, trial, at, pair);
            own.records.extend(runs.clone().map(|record| record_of(&of.id, record, at)));
            own.trials.push(of);
        }
    }
    Some(own)
}

fn many(trial: &Trial) -> bool {
    trial.pairs().count() > 1
}

fn of_pair(study: &StoredStudy, trial: &Trial, at: usize, pair: Pair<'_>) -> Trial {
    let [from, to] = [pair.sender, pair.receiver].map(|end| study.host_name(end.host));
    let background = trial.ends_of(Role::Background).cloned();
    let others = others(at, |role| trial.ends_of(role).cloned().collect());
    let others = others.into_iter().map(|end| EndSpec { role: Role::Background, ..end });
    let both = [pair.receiver.clone(), pair.sender.clone()];
    Trial {
        id: TrialId(format!("{} {at}", trial.id.0)),
        label: format!("{}, {from} to {to}{}", trial.label, by(trial, &pair)),
        ends: both.into_iter().chain(background).chain(others).collect(),
        ..trial.clone()
    }
}

/// By which interfaces or addresses a pair of a trial talks, where several join the same hosts.
/// Cells are told apart by their labels.
fn by(trial: &Trial, pair: &Pair<'_>) -> String {
    let hosts = |pair: &Pair<'_>| [pair.sender.host, pair.receiver.host];
    let alike = trial.pairs().filter(|other| hosts(other) == hosts(pair));
    let others: Vec<Pair<'_>> = alike.collect();
    if others.len() < 2 {
        return String::new();
    }
    let named: Vec<String> = others.iter().map(bound).collect();
    let own = bound(pair);
    let is_alone = named.iter().filter(|name| **name == own).count() == 1;
    let number = others.iter().position(|other| std::ptr::eq(other.sender, pair.sender));
    match number.filter(|_| !is_alone) {
        Some(number) => format!("{own}, pair {}", number + 1),
        None => own,
    }
}

/// What the ends of a pair are bound to: ` by eth0`.
fn bound(pair: &Pair<'_>) -> String {
    let of = |end: &EndSpec| {
        let bind = end.bind.as_ref()?;
        bind.device.clone().or_else(|| bind.address.map(|address| address.to_string()))
    };
    let both: Vec<String> = [pair.sender, pair.receiver].into_iter().filter_map(of).collect();
    if both.is_empty() { String::new() } else { format!(" by {}", both.join(" and ")) }
}

/// What a run says of one pair. To it, the other pairs are a load beside it, as a background load
/// is.
fn record_of(trial: &TrialId, record: &Record, at: usize) -> Record {
    let reported = |role| record.reports.iter().filter(move |one| one.role == role).cloned();
    let own = [Role::Receiver, Role::Sender].into_iter().filter_map(|role| reported(role).nth(at));
    let others = others(at, |role| reported(role).collect());
    let others = others.into_iter().map(|one| Reported { role: Role::Background, ..one });
    let reports = own.chain(reported(Role::Background)).chain(others).collect();
    Record { trial: trial.clone(), reports, ..record.clone() }
}

/// What the other pairs have of each role: receivers before senders.
fn others<T>(at: usize, of: impl Fn(Role) -> Vec<T>) -> Vec<T> {
    let roles = [Role::Receiver, Role::Sender].into_iter();
    let all = roles.flat_map(|role| of(role).into_iter().enumerate());
    all.filter(|(number, _)| *number != at).map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{end, stream};
    use crate::{Case, judge};
    use narrows_model::Fact;
    use narrows_model::host::Host;
    use narrows_model::load::Bind;
    use narrows_model::record::Span;
    use narrows_model::result::Verdict;
    use narrows_model::trial::{EndHost, Placement};
    use narrows_model::{Nanos, result::Finding};

    const SCALING: &str = "net.ipv4.tcp_window_scaling";

    /// Host `a` sends to `b` and to `c`, and the window of a pair's receiver is small.
    fn fan_out(small_at: Option<usize>) -> StoredStudy {
        let mut study = stream("tcp-stream");
        study.study.peer = Some("a, b, c".to_owned());
        let at = |role, host| EndSpec::of(role, EndHost::Peer(host), Placement::default());
        let pair = |to| [at(Role::Sender, 0), at(Role::Receiver, to)];
        study.trials[0].ends = [pair(1), pair(2)].concat();
        let span = Some(Span { open_by_ns: Nanos(0), close_from_ns: Nanos(1_000_000_000) });
        for record in &mut study.records {
            let of = |role, report| Reported { role, report: Box::new(report), span };
            let ends = (0..2).flat_map(|at| {
                let mut sender = end(true);
                let limited = if small_at == Some(at) { 950_000_000 } else { 0 };
                let key = "flow0.limited_by_receive_window_ns";
                sender.readings.put_words("tcp-info", key, limited);
                sender.readings.put_words("tcp-info", "flow0.agreed_options", 3);
                [of(Role::Sender, sender), of(Role::Receiver, end(false))]
            });
            record.reports = ends.collect();
        }
        let mut unscaled = Host::default();
        unscaled.tuning.insert(SCALING.into(), Fact::known("0".into(), "test"));
        study.peer_hosts = vec![Host::default(), Host::default(), unscaled];
        study
    }

    fn found(study: &StoredStudy) -> Vec<Finding> {
        let summaries = narrows_stats::summarise(study);
        let judged = judge(&Case { study, summaries: &summaries, predictions: &[] });
        let rule = judged.into_iter().find(|one| one.rule == "receive-window").expect("a rule");
        match rule.verdict {
            Verdict::Found { findings } => findings,
            Verdict::Clear { .. } => Vec::new(),
            other => panic!("{other:?}"),
        }
    }

    /// Two interfaces here send to one peer, and the window of a pair's receiver is small.
    #[test]
    fn pairs_of_the_same_hosts_are_told_apart_by_their_interfaces() {
        let mut study = fan_out(Some(1));
        let mut at = 0;
        for end in &mut study.trials[0].ends {
            let sends = end.role == Role::Sender;
            end.host = if sends { EndHost::Controller } else { EndHost::Peer(0) };
            if sends {
                end.bind = Some(Bind::from_words(["eth0", "eth1"][at]));
                at += 1;
            }
        }
        let [finding] = found(&study).try_into().expect("one finding");
        let from = &finding.evidence[0].from;
        assert!(from.contains("by eth1"), "{finding:?}");
        let own = apart(&study).expect("two pairs");
        let summaries = narrows_stats::summarise(&own);
        assert_ne!(summaries[0].label, summaries[1].label);
        // Bound to nothing, they have numbers.
        study.trials[0].ends.iter_mut().for_each(|end| end.bind = None);
        let own = apart(&study).expect("two pairs");
        assert!(own.trials[1].label.ends_with("pair 2"), "{}", own.trials[1].label);
    }

    #[test]
    fn a_trial_of_many_pairs_is_no_cell_by_itself() {
        use crate::measured::cells;
        let mut study = fan_out(None);
        study.trials[0].ends[0].host = EndHost::Controller;
        let count = |study: &StoredStudy| {
            let summaries = narrows_stats::summarise(study);
            cells(&Case { study, summaries: &summaries, predictions: &[] }).count()
        };
        assert_eq!(count(&study), 0);
        assert_eq!(count(&apart(&study).expect("two pairs")), 2);
    }

    #[test]
    fn each_pair_is_judged_and_a_finding_says_which_end_it_is_of() {
        assert_eq!(found(&fan_out(None)), []);
        let second = found(&fan_out(Some(1)));
        let [finding] = second.as_slice() else { panic!("{second:?}") };
        assert!(finding.says.contains("tcp-stream, a to c"), "{finding:?}");
        assert!(finding.says.contains("window scaling is off at the receiver"), "{finding:?}");
        assert!(finding.remedy.contains("at the receiver"), "{finding:?}");
        // What is wrong at another host is not the reason at the first pair's.
        let first = found(&fan_out(Some(0)));
        assert!(first[0].says.contains("tcp-stream, a to b"), "{first:?}");
        assert!(!first[0].says.contains("off at the receiver"), "{first:?}");
    }
}
