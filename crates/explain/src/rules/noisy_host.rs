//! `noisy-host`: did others use this host while it was measured?

use super::evidence;
use crate::{Case, Rule};
use narrows_model::result::{Finding, Missing, Verdict, Weight};
use narrows_stats::{median, noise};

/// Whether other processes used the host.
pub static RULE: Rule = Rule {
    name: "noisy-host",
    asks: "Did other processes use this host during the measurement?",
    of_host: false,
    judge,
};

/// Share of noisy runs from which the medians themselves are in doubt: a median stands while fewer
/// than half of its runs are off, and a block of five workloads must not lose its middle.
const NOISY_RUNS_MAX: f64 = 0.2;
const PLACE: &str = "/proc/stat around each run, less our own processes";

fn judge(case: &Case<'_>) -> Verdict {
    let all: Vec<_> = case.study.records.iter().filter_map(noise).collect();
    if all.is_empty() {
        let of = "CPU time of the host around the runs";
        return Verdict::unknown(Missing::measurement(of));
    }
    let noisy = all.iter().filter(|noise| noise.is_noisy()).count();
    let percent = |of: &dyn Fn(&narrows_stats::Noise) -> f64| {
        100.0 * median(&all.iter().map(of).collect::<Vec<f64>>()).unwrap_or(0.0)
    };
    let foreign = percent(&|noise| noise.foreign_share);
    let steal = percent(&|noise| noise.steal_share);
    let seen = format!(
        "{noisy} of {} runs were disturbed; in the median run other processes used {foreign:.1} % \
         of the CPU time and the hypervisor took {steal:.1} %",
        all.len()
    );
    if (noisy as f64) <= NOISY_RUNS_MAX * all.len() as f64 {
        return Verdict::clear(evidence(seen, PLACE));
    }
    Verdict::Found {
        findings: vec![Finding {
            rule: RULE.name.into(),
            weight: Weight::Caution,
            says: "Other processes used this host's CPUs during the measurement: figures may be too low"
                .into(),
            evidence: vec![evidence(seen, PLACE)],
            worth: None,
            remedy: "stop what else runs here, or measure again at a quieter time".into(),
        }],
    }
}
