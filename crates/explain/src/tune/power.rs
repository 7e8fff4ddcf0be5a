//! Advice on clocks and idle states.

use super::{Desk, Profile, Wish, Worth};
use narrows_model::Fact;

const CPUS: &str = "/sys/devices/system/cpu";
/// A state that takes longer to wake from is felt in a round trip of tens of microseconds.
const EXIT_US: u64 = 20;

pub(super) fn look(desk: &mut Desk<'_>, profile: Profile) {
    governor(desk);
    turbo(desk);
    if matches!(profile, Profile::Latency | Profile::Rdma) {
        idle_states(desk);
    }
}

fn per_cpu(desk: &Desk<'_>, leaf: &str) -> Vec<String> {
    let online = desk.host.cpu.online.value().cloned().unwrap_or_default();
    online.iter().map(|cpu| format!("{CPUS}/cpu{cpu}/{leaf}")).collect()
}

fn fact(desk: &Desk<'_>, name: &str) -> Fact<String> {
    desk.host.tuning.get(name).cloned().unwrap_or_else(|| Fact::absent(name))
}

fn governor(desk: &mut Desk<'_>) {
    let fact = fact(desk, "cpu.governor");
    let other = fact.value().is_some_and(|now| now != "performance");
    let files = per_cpu(desk, "cpufreq/scaling_governor");
    desk.weigh(
        &fact,
        Wish {
            setting: "cpu.governor",
            wanted: other.then(|| "performance".to_owned()),
            because: "CPUs are at full clock when work comes; costs power",
            worth: None,
            files,
            commands: vec!["cpupower frequency-set -g performance".to_owned()],
        },
    );
}

fn turbo(desk: &mut Desk<'_>) {
    let fact = fact(desk, "cpu.turbo");
    let off = fact.value().is_some_and(|now| now == "off");
    desk.weigh(
        &fact,
        Wish {
            setting: "cpu.turbo",
            wanted: off.then(|| "on".to_owned()),
            because: "one busy core may exceed the base clock",
            worth: None,
            // Two drivers, two files, two meanings: left to the user.
            files: Vec::new(),
            commands: vec![format!("echo 0 > {CPUS}/intel_pstate/no_turbo")],
        },
    );
}

fn idle_states(desk: &mut Desk<'_>) {
    let states = desk.host.cpu.idle_states.value().cloned().unwrap_or_default();
    let cpus = desk.host.cpu.online.value().map_or(0, Vec::len);
    let from = desk.host.cpu.idle_states.source().0.clone();
    for (number, state) in states.iter().enumerate() {
        if state.exit_latency_us <= EXIT_US {
            continue;
        }
        let on = cpus.saturating_sub(state.disabled_on as usize);
        let files = per_cpu(desk, &format!("cpuidle/state{number}/disable"));
        desk.weigh(
            &Fact::known(format!("0 (on for {on} CPUs)"), from.clone()),
            Wish {
                setting: &format!("cpu.idle-state.{}", state.name),
                wanted: (on > 0).then(|| "1".to_owned()),
                because: "a CPU that sleeps this deep wakes late; costs power and some turbo",
                worth: Some(Worth {
                    says: format!(
                        "round trips between idle hosts: shorter by up to {} us at each end",
                        state.exit_latency_us
                    ),
                    from: "the driver's exit latency".to_owned(),
                }),
                files,
                commands: vec![format!("cpupower idle-set -d {number}")],
            },
        );
    }
}
