//! `idle-states`: did round trips wait for CPUs to wake from deep sleep?
//!
//! A CPU whose thread waits for an answer may enter an idle state when it expects to be left alone
//! longer than that state pays for (kernel: Documentation/admin-guide/pm/cpuidle.rst). Found where
//! waking from one takes a quarter of the measured round trip, and the round trip is long enough
//! for the CPU to have been in it.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::Fact;
use narrows_model::host::IdleState;
use narrows_model::load::Wait;
use narrows_model::result::{Missing, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "idle-states",
    asks: "Did round trips wait for CPUs to wake?",
    of_host: false,
    judge,
};

/// Share of a round trip from which waking counts.
const WAKING_SHARE: f64 = 0.25;

fn judge(case: &Case<'_>) -> Verdict {
    let states = &case.study.host.cpu.idle_states;
    measured::judge(case, Needed::BlockingTrips, None, |cell| look(states, cell))
}

/// Only ends that sleep can tell, and only hosts whose idle states are known.
fn look(states: &Fact<Vec<IdleState>>, cell: &Cell<'_>) -> Looked {
    let sleeps = cell
        .summary
        .settings
        .senders()
        .all(|end| end.wait.as_ref().is_none_or(|wait| *wait == Wait::Block));
    let p50_ns = cell.summary.round_trips.as_ref().and_then(|trips| trips.p50_ns);
    let us = p50_ns.filter(|_| sleeps).ok_or(Blind::OtherKind)?.0 as f64 / 1e3;
    let states = states
        .value()
        .ok_or_else(|| Blind::Lacks(Missing::fact("idle states of the CPUs", states)))?;
    let enabled = states.iter().filter(|state| state.disabled_on == 0);
    let possible = enabled.filter(|state| state.exit_latency_us as f64 <= us);
    let Some(deepest) = possible.max_by_key(|state| state.exit_latency_us) else {
        return cell.saw(format!("no allowed idle state wakes within {us:.0} us"), None);
    };
    let waking = deepest.exit_latency_us as f64;
    let seen = format!(
        "{} wakes in {waking:.0} us and is allowed; median round trip {us:.0} us, blocking",
        deepest.name
    );
    let wrong = (waking >= WAKING_SHARE * us).then(|| {
        let says = format!(
            "Up to {waking:.0} of the {us:.0} us of {} may be CPUs waking from {}",
            cell.trial.label, deepest.name
        );
        let remedy = format!(
            "cpupower idle-set -D {} while latency counts, or measure with --wait spin to see what \
             that is worth",
            (waking as u64).saturating_sub(1).max(1)
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, trips};
    use crate::setting::testing::{is_clear, is_found, known};

    #[test]
    fn a_deep_state_within_the_round_trip_is_found() {
        let study = |disabled_on: u32, p50_us: u64| {
            let mut study = trips(p50_us);
            let state = |name: &str, exit_latency_us, disabled_on| IdleState {
                name: name.into(),
                exit_latency_us,
                disabled_on,
            };
            let states = vec![state("C1", 2, 0), state("C6", 133, disabled_on)];
            study.host.cpu.idle_states = known(states);
            study
        };
        assert!(is_found(&of_study(&RULE, &study(0, 250))));
        // Switched off; too short to have been there; so long that it does not matter.
        assert!(is_clear(&of_study(&RULE, &study(64, 250))));
        assert!(is_clear(&of_study(&RULE, &study(0, 40))));
        assert!(is_clear(&of_study(&RULE, &study(0, 2000))));
    }

    #[test]
    fn only_ends_that_all_sleep_can_tell() {
        let of = |wait: Option<Wait>| {
            let mut study = trips(250);
            let name = "C6".into();
            study.host.cpu.idle_states =
                known(vec![IdleState { name, exit_latency_us: 133, disabled_on: 0 }]);
            for record in &mut study.records {
                for end in record.of_mut(narrows_model::load::Role::Sender) {
                    end.effective.wait = wait.clone();
                }
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(Some(Wait::Block))));
        assert!(!is_found(&of(Some(Wait::Spin))), "a thread that spins does not sleep");
    }
}
