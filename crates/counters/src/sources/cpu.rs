//! `cpu`: time of each CPU by state, from `/proc/stat` (kernel,
//! Documentation/filesystems/proc.rst).
//!
//! Counted in ticks of 10 ms on most kernels: over a window of half a second a share is good to
//! about 2 %. Steal is time the hypervisor gave to others; it is 0 on bare metal.

use crate::{Look, Registered, Scene, watch};
use narrows_model::reading::{Counter, Scope, Source, Unit};

pub static SOURCE: Registered = Registered {
    source: Source::Cpu,
    says: "time of each CPU in user, system, idle, iowait, irq, softirq, steal; ticks",
    is_sampled: false,
    open: |scene| watch(scene, look),
};

/// States in the order of the file; `user` and `nice` are joined, guest time is inside user.
const STATES: [&str; 8] = ["user", "user", "system", "idle", "iowait", "irq", "softirq", "steal"];

fn tick_ns() -> u64 {
    // SAFETY: reads a constant of the system.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    1_000_000_000 / u64::try_from(per_second).unwrap_or(100).max(1)
}

fn look(_: &Scene<'_>) -> Option<Look> {
    parse(&std::fs::read_to_string("/proc/stat").ok()?, tick_ns()).seen()
}

fn parse(text: &str, tick_ns: u64) -> Look {
    let mut look = Look::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(cpu) = words.next().and_then(|word| word.strip_prefix("cpu")) else { continue };
        let Ok(cpu) = cpu.parse::<u32>() else { continue };
        for (state, ticks) in STATES.iter().zip(words) {
            let Ok(ticks) = ticks.parse::<u64>() else { continue };
            let counter = Counter::of(Source::Cpu, state, Unit::Nanos);
            look.total(counter.key(Scope::Cpu(cpu)), ticks.saturating_mul(tick_ns));
        }
    }
    look
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_has_its_states() {
        let text = "cpu  9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 9 0\ncpu12 0 0 1\nintr 5\ncpux 1\ncpu3 z";
        let look = parse(text, 10);
        assert_eq!(look.of("cpu", "cpu0.user_ns"), Some(30));
        assert_eq!(look.of("cpu", "cpu0.softirq_ns"), Some(70));
        assert_eq!(look.of("cpu", "cpu0.steal_ns"), Some(80));
        assert_eq!(look.of("cpu", "cpu12.system_ns"), Some(10));
        // Seven states of the first, two of the other; user and nice are one.
        assert_eq!(look.len(), 9);
    }
}
