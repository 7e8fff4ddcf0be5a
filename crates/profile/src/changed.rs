//! Two profiles of one end, before and after: which classes changed, by the runs of both sides.

use crate::class::{Class, Table};
use crate::ends::{counted, in_words, name};
use narrows_model::load::Role;
use narrows_model::profile::{Profile, Profiled};
use narrows_model::record::Record;
use narrows_model::study::StoredStudy;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How sure all intervals of an end are together.
const CONFIDENCE: f64 = 0.95;

/// The difference of one class's share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Changed {
    /// Class that the samples fell into.
    pub class: Class,
    /// Median share of the runs before, 0 to 1.
    pub before: f64,
    /// Median share of the runs after.
    pub after: f64,
    /// Median of all differences between a run after and a run before (Hodges and Lehmann).
    pub difference: f64,
    /// Its interval; those of all classes of an end hold together at 95 % (Bonferroni); `None` for
    /// too few runs.
    pub interval: Option<(f64, f64)>,
}

impl Changed {
    /// Whether the interval leaves out that nothing changed.
    pub fn is_shown(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}

/// The differences of one end of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EndChanged {
    /// Label of the trial before.
    pub label: String,
    /// End whose CPUs were sampled.
    #[serde(serialize_with = "in_words")]
    #[schemars(with = "String")]
    pub role: Role,
    /// Runs with a profile, before and after.
    pub runs: (u32, u32),
    /// Classes that either side has, the largest difference first.
    pub classes: Vec<Changed>,
}

impl EndChanged {
    /// What the end is called.
    pub fn name(&self) -> &'static str {
        name(self.role)
    }
}

/// The ends of two trials, by their labels, that have profiles on both sides.
pub fn changed(
    (before, first): (&StoredStudy, &str),
    (after, second): (&StoredStudy, &str),
) -> Vec<EndChanged> {
    [Role::Sender, Role::Receiver]
        .into_iter()
        .filter_map(|role| {
            let (before, after) = (shares(before, first, role), shares(after, second, role));
            (!before.is_empty() && !after.is_empty()).then(|| EndChanged {
                label: first.to_owned(),
                role,
                runs: (before.len() as u32, after.len() as u32),
                classes: classes(&before, &after),
            })
        })
        .collect()
}

type Shares = BTreeMap<Class, f64>;

/// The shares of each run of an end.
fn shares(study: &StoredStudy, label: &str, role: Role) -> Vec<Shares> {
    let Some(trial) = study.trials.iter().find(|trial| trial.label == label) else {
        return Vec::new();
    };
    let records: Vec<&Record> =
        study.records.iter().filter(|record| record.trial == trial.id).collect();
    let counted = counted(&records);
    let run = |record: &&Record| {
        let reports = record.of(role).filter_map(|report| report.profile.as_ref());
        let taken: Vec<&Profile> = reports.filter_map(Profiled::taken).collect();
        let mut weights: BTreeMap<Class, u64> = BTreeMap::new();
        for profile in taken {
            let stacks = profile.stacks.iter().filter(|stack| counted.has(profile, stack));
            for stack in stacks {
                *weights.entry(Table::own().class_of(profile, stack)).or_default() += stack.weight;
            }
        }
        let all: u64 = weights.values().sum();
        let share = |weight: u64| weight as f64 / all as f64;
        (all > 0).then(|| weights.into_iter().map(|(class, w)| (class, share(w))).collect())
    };
    records.iter().filter_map(run).collect()
}

fn classes(before: &[Shares], after: &[Shares]) -> Vec<Changed> {
    let seen: BTreeSet<Class> =
        before.iter().chain(after).flat_map(|run| run.keys()).copied().collect();
    let error = (1.0 - CONFIDENCE) / seen.len().max(1) as f64;
    let mut all: Vec<Changed> = seen
        .iter()
        .map(|class| {
            let of = |runs: &[Shares]| -> Vec<f64> {
                runs.iter().map(|run| run.get(class).copied().unwrap_or(0.0)).collect()
            };
            difference(*class, &of(before), &of(after), error)
        })
        .collect();
    all.sort_by(|a, b| b.difference.abs().total_cmp(&a.difference.abs()));
    all
}

/// The difference of a class over all pairs of runs.
fn difference(class: Class, before: &[f64], after: &[f64], error: f64) -> Changed {
    let pairs = after.iter().flat_map(|after| before.iter().map(move |before| after - before));
    let mut pairs: Vec<f64> = pairs.collect();
    pairs.sort_by(f64::total_cmp);
    let interval = cut(before.len(), after.len(), error)
        .and_then(|cut| Some((*pairs.get(cut)?, *pairs.get(pairs.len().checked_sub(cut + 1)?)?)));
    Changed {
        class,
        before: median(before),
        after: median(after),
        difference: median(&pairs),
        interval,
    }
}

fn median(values: &[f64]) -> f64 {
    narrows_stats::median(values).unwrap_or(0.0)
}

/// How many of the sorted differences may be left out at each side: Mann and Whitney's U is no more
/// than that with at most half of `error`. `None` where even the whole range is not that sure.
fn cut(n: usize, m: usize, error: f64) -> Option<usize> {
    let ways = ways(n, m);
    let all: f64 = ways.iter().sum();
    let mut sum = 0.0;
    let rare = ways.iter().take_while(|count| {
        sum += **count / all;
        sum <= error / 2.0
    });
    rare.count().checked_sub(1)
}

/// In how many orders of `n` and `m` values U is 0, 1 and so on: partitions within a box.
fn ways(n: usize, m: usize) -> Vec<f64> {
    let mut ways = vec![0.0; n * m + 1];
    ways[0] = 1.0;
    // Gauss's binomial coefficient: times (1 - q^(m+i)), by (1 - q^i).
    for i in 1..=n {
        for at in (m + i..ways.len()).rev() {
            ways[at] -= ways[at - m - i];
        }
        for at in i..ways.len() {
            ways[at] += ways[at - i];
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_counted_as_in_the_tables_of_mann_and_whitney() {
        assert_eq!(ways(3, 3), [1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 2.0, 1.0, 1.0]);
        assert_eq!(ways(6, 6).iter().sum::<f64>(), 924.0);
        // The critical value of U at 5 %, two-sided: 5 for 6 and 6, 0 for 4 and 4, none for 3.
        assert_eq!(cut(6, 6, 0.05), Some(5));
        assert_eq!(cut(4, 4, 0.05), Some(0));
        assert_eq!(cut(3, 3, 0.05), None);
    }

    fn runs(copy: &[f64]) -> Vec<Shares> {
        let run = |share: &f64| [(Class::Copy, *share), (Class::TcpUdpIp, 1.0 - share)].into();
        copy.iter().map(run).collect()
    }

    #[test]
    fn a_class_that_changed_is_shown_and_one_that_did_not_is_not() {
        let before = runs(&[0.20, 0.22, 0.21, 0.19, 0.23, 0.20]);
        let after = runs(&[0.40, 0.42, 0.41, 0.39, 0.43, 0.40]);
        let all = classes(&before, &after);
        assert!(all.iter().all(Changed::is_shown), "{all:?}");
        let copy = all.iter().find(|one| one.class == Class::Copy).expect("copy");
        let (low, high) = copy.interval.expect("interval");
        assert!((copy.difference - 0.2).abs() < 1e-9 && low > 0.15 && high < 0.25, "{copy:?}");
        let same = classes(&before, &runs(&[0.21, 0.20, 0.22, 0.23, 0.19, 0.21]));
        assert!(!same.iter().any(Changed::is_shown), "{same:?}");
        let few = classes(&before[..2], &after[..2]);
        assert!(few.iter().all(|one| one.interval.is_none()), "{few:?}");
    }
}
