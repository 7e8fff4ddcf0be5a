//! Whether others used the host while a run was made.

use crate::total;
use narrows_model::load::EndReport;
use narrows_model::reading::{Readings, keys};
use narrows_model::record::Record;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Share of the host's CPU time that others took during a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    fn worse(self, other: Self) -> Self {
        Self {
            foreign_share: self.foreign_share.max(other.foreign_share),
            steal_share: self.steal_share.max(other.steal_share),
        }
    }
    /// True when the run should not be trusted by itself.
    pub fn is_noisy(&self) -> bool {
        self.foreign_share > FOREIGN_SHARE_MAX || self.steal_share > STEAL_SHARE_MAX
    }
}

/// The noise of a run: over the windows of its ends, the worst of them, where they say which
/// machine they ran on; else around the run on the controller's host. `None` when no host told its
/// CPU time.
///
/// Softirq time is left out: the traffic's own softirq work is partly counted as our processes' and
/// partly not, depending on where the kernel ran it.
pub fn noise(record: &Record) -> Option<Noise> {
    let told = record.measured().filter_map(|end| in_window(record, end));
    told.reduce(Noise::worse).or_else(|| around(record))
}

/// Over one end's window, less the threads of all ends on the same machine.
fn in_window(record: &Record, end: &EndReport) -> Option<Noise> {
    let machine = end.effective.machine.as_ref()?;
    let here = record.reports.iter().map(|one| &one.report).filter(|other| {
        // The background load is on the controller's host and says so too.
        other.effective.machine.as_ref() == Some(machine)
    });
    // Windows differ a little, and that of a background load is longer.
    let own = here.map(|other| {
        let cpu = other.threads.iter().map(|t| t.user_ns.0.saturating_add(t.system_ns.0));
        let cpu = total(cpu) as f64;
        cpu * end.window_ns.0 as f64 / other.window_ns.0.max(1) as f64
    });
    of_host(&end.readings, own.sum())
}

fn around(record: &Record) -> Option<Noise> {
    of_host(&record.around.host, record.around.own_cpu_ns.0 as f64)
}

fn of_host(host: &Readings, own_ns: f64) -> Option<Noise> {
    let (user, system) = (host.total(keys::USER)?, host.total(keys::SYSTEM)?);
    let (idle, steal) = (host.total(keys::IDLE)?, host.total(keys::STEAL).unwrap_or(0));
    let rest = [keys::IOWAIT, keys::IRQ, keys::SOFTIRQ].map(|state| host.total(state).unwrap_or(0));
    let all = total([user, system, idle, steal].into_iter().chain(rest)) as f64;
    let foreign = (user.saturating_add(system) as f64 - own_ns).max(0.0);
    (all > 0.0).then(|| Noise { foreign_share: foreign / all, steal_share: steal as f64 / all })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Nanos;
    use narrows_model::load::ThreadUsage;
    use narrows_model::record::{Outcome, Reported, Stamp};
    use narrows_model::trial::TrialId;

    fn record(user: u64, idle: u64, steal: u64, own: u64) -> Record {
        let mut around = Stamp { own_cpu_ns: Nanos(own), ..Default::default() };
        let cpu = [("user", user), ("system", 0), ("idle", idle), ("steal", steal)];
        for (state, ns) in cpu {
            around.host.put_words("cpu", &format!("cpu0.{state}_ns"), ns);
        }
        Record {
            trial: TrialId("x".into()),
            repeat: 0,
            block: 0,
            outcome: Outcome::Done,
            reports: Vec::new(),
            around,
            session: 0,
            external: None,
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
        blind.around.host.clear();
        assert_eq!(noise(&blind), None);
    }

    /// An end whose host was busy for so long, of a window of 1000 on one CPU.
    fn end(machine: &str, busy: u64, own: u64) -> EndReport {
        let mut end = EndReport { window_ns: Nanos(1000), ..Default::default() };
        end.effective.machine = Some(machine.into());
        let usage = ThreadUsage { user_ns: Nanos(own), ..Default::default() };
        end.threads.push(usage);
        let cpu = [("user", busy), ("system", 0), ("idle", 1000 - busy)];
        for (state, ns) in cpu {
            end.readings.put_words("cpu", &format!("cpu0.{state}_ns"), ns);
        }
        end
    }

    #[test]
    fn each_end_has_its_own_noise_and_two_on_one_machine_are_not_each_others() {
        let ends = |receiver: EndReport, sender: Option<EndReport>| {
            Reported::list(Some(Box::new(receiver)), sender.map(Box::new), None)
        };
        let mut apart = record(1000, 0, 0, 0);
        apart.reports = ends(end("a", 600, 600), Some(end("b", 900, 500)));
        // Around the run all was foreign; in the windows only the sender's host had others.
        let noise_of = noise(&apart).expect("cpu");
        assert_eq!(noise_of.foreign_share, 0.4);
        apart.reports = ends(end("a", 600, 600), Some(end("b", 500, 500)));
        assert!(!noise(&apart).expect("cpu").is_noisy());
        let mut together = record(1000, 0, 0, 0);
        together.reports = ends(end("a", 900, 400), Some(end("a", 900, 500)));
        assert!(!noise(&together).expect("cpu").is_noisy());
        // An end that does not say where it ran: around the run, as before.
        let mut silent = end("a", 900, 400);
        silent.effective.machine = None;
        together.reports = ends(silent, None);
        assert_eq!(noise(&together).expect("cpu").foreign_share, 1.0);
    }
}
