//! Advice on clocks and idle states.

use super::worth::{self, Seen};
use super::{Advisor, Profile, Recommendation, sources};
use narrows_model::Fact;

const CPUS: &str = "/sys/devices/system/cpu";
/// A state that takes longer to wake from is felt in a round trip of tens of microseconds.
const EXIT_US: u64 = 20;

pub(super) fn look(advisor: &mut Advisor<'_>) {
    governor(advisor);
    turbo(advisor);
    if advisor.is_for(&[Profile::Latency, Profile::Rdma]) {
        idle_states(advisor);
    }
}

fn per_cpu(advisor: &Advisor<'_>, leaf: &str) -> Vec<String> {
    let online = advisor.host.cpu.online.value().cloned().unwrap_or_default();
    online.iter().map(|cpu| format!("{CPUS}/cpu{cpu}/{leaf}")).collect()
}

fn governor(advisor: &mut Advisor<'_>) {
    let fact = advisor.fact("cpu.governor");
    let other = fact.value().is_some_and(|now| now != "performance");
    let files = per_cpu(advisor, "cpufreq/scaling_governor");
    advisor.weigh(
        &fact,
        Recommendation {
            setting: "cpu.governor",
            wanted: other.then(|| "performance".to_owned()),
            because: "CPUs are at full clock when work comes; costs power",
            source: sources::ESNET_100G,
            worth: None,
            files,
            commands: vec!["cpupower frequency-set -g performance".to_owned()],
        },
    );
}

fn turbo(advisor: &mut Advisor<'_>) {
    let fact = advisor.fact("cpu.turbo");
    let off = fact.value().is_some_and(|now| now == "off");
    advisor.weigh(
        &fact,
        Recommendation {
            setting: "cpu.turbo",
            wanted: off.then(|| "on".to_owned()),
            because: "one busy core may exceed the base clock",
            source: sources::KERNEL_CLOCK,
            worth: None,
            // Two drivers, two files, two meanings: left to the user.
            files: Vec::new(),
            commands: vec![format!("echo 0 > {CPUS}/intel_pstate/no_turbo")],
        },
    );
}

fn idle_states(advisor: &mut Advisor<'_>) {
    let states = advisor.host.cpu.idle_states.value().cloned().unwrap_or_default();
    let cpus = advisor.host.cpu.online.value().map_or(0, Vec::len);
    let from = advisor.host.cpu.idle_states.source().0.clone();
    let nic = narrows_predict::fastest(advisor.host).cloned();
    for (number, state) in states.iter().enumerate() {
        if state.exit_latency_us <= EXIT_US {
            continue;
        }
        let exit_us = u32::try_from(state.exit_latency_us).unwrap_or(u32::MAX);
        let on = cpus.saturating_sub(state.disabled_on as usize);
        let files = per_cpu(advisor, &format!("cpuidle/state{number}/disable"));
        advisor.weigh(
            &Fact::known(format!("0 (on for {on} CPUs)"), from.clone()),
            Recommendation {
                setting: &format!("cpu.idle-state.{}", state.name),
                wanted: (on > 0).then(|| "1".to_owned()),
                because: "a CPU that sleeps this deep wakes late; costs power and some turbo",
                source: sources::KERNEL_IDLE,
                worth: nic.as_ref().and_then(|nic| {
                    let now = Seen::now(advisor.host, nic);
                    worth::of_wait(&now, f64::from(exit_us), "waking a core between idle hosts")
                }),
                files,
                commands: vec![format!("cpupower idle-set -d {number}")],
            },
        );
    }
}
