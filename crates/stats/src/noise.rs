//! Whether others used the host while a run was made.

use crate::total;
use narrows_facts::record::Record;
use serde::{Deserialize, Serialize};

/// Share of the host's CPU time that others took during a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// User and system time that is not our own processes', of all CPUs' time.
    pub foreign_share: f64,
    /// Time the hypervisor gave to other guests, of all CPUs' time.
    pub steal_share: f64,
}

/// Foreign time above this marks a run: `/proc/stat` itself is only good to about 2 % a second.
const FOREIGN_SHARE_MAX: f64 = 0.10;
/// Stolen time above this marks a run.
const STEAL_SHARE_MAX: f64 = 0.02;

impl Noise {
    /// True when the run should not be trusted by itself.
    pub fn is_noisy(&self) -> bool {
        self.foreign_share > FOREIGN_SHARE_MAX || self.steal_share > STEAL_SHARE_MAX
    }
}

/// The noise around a record; `None` when the host did not tell its CPU time.
///
/// Softirq time is left out: the traffic's own softirq work is partly counted as our processes' and
/// partly not, depending on where the kernel ran it.
pub fn noise(record: &Record) -> Option<Noise> {
    let host = &record.around.host;
    let sum = |state: &str| host.sum("cpu", &format!(".{state}_ns"));
    let (user, system, idle) = (sum("user")?, sum("system")?, sum("idle")?);
    let steal = sum("steal").unwrap_or(0);
    let rest = ["iowait", "irq", "softirq"].map(|state| sum(state).unwrap_or(0));
    let all = total([user, system, idle, steal].into_iter().chain(rest)) as f64;
    let foreign = user.saturating_add(system).saturating_sub(record.around.own_cpu_ns.0);
    (all > 0.0)
        .then(|| Noise { foreign_share: foreign as f64 / all, steal_share: steal as f64 / all })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_facts::Nanos;
    use narrows_facts::record::{Outcome, Stamp};
    use narrows_facts::trial::TrialId;

    fn record(user: u64, idle: u64, steal: u64, own: u64) -> Record {
        let mut around = Stamp { own_cpu_ns: Nanos(own), ..Default::default() };
        let cpu = [("user", user), ("system", 0), ("idle", idle), ("steal", steal)];
        let keys = cpu.into_iter().map(|(state, ns)| (format!("cpu0.{state}_ns"), ns)).collect();
        around.host.0.insert("cpu".into(), keys);
        Record {
            trial: TrialId("x".into()),
            repeat: 0,
            block: 0,
            outcome: Outcome::Done,
            sink: None,
            source: None,
            beside: None,
            around,
        }
    }

    #[test]
    fn own_time_is_no_noise_and_others_is() {
        let own = noise(&record(100, 100, 0, 100)).expect("cpu");
        assert!(!own.is_noisy());
        let foreign = noise(&record(100, 100, 0, 50)).expect("cpu");
        assert_eq!(foreign.foreign_share, 0.25);
        assert!(foreign.is_noisy());
        assert!(noise(&record(10, 85, 5, 10)).expect("cpu").is_noisy());
        let mut blind = record(1, 1, 1, 1);
        blind.around.host.0.clear();
        assert_eq!(noise(&blind), None);
    }
}
