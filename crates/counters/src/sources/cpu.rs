//! `cpu`: time of each CPU by state, from `/proc/stat` (kernel,
//! Documentation/filesystems/proc.rst).
//!
//! Counted in ticks of 10 ms on most kernels: over a window of half a second a share is good to
//! about 2 %. Steal is time the hypervisor gave to others; it is 0 on bare metal.

use crate::{Sample, Source};

pub static SOURCE: Source = Source {
    name: "cpu",
    says: "time of each CPU in user, system, idle, iowait, irq, softirq, steal; ticks",
    take: |_| Some(parse(&std::fs::read_to_string("/proc/stat").ok()?, tick_ns())),
};

/// States in the order of the file; `user` and `nice` are joined, guest time is inside user.
const STATES: [&str; 8] = ["user", "user", "system", "idle", "iowait", "irq", "softirq", "steal"];

fn tick_ns() -> u64 {
    // SAFETY: reads a constant of the system.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    1_000_000_000 / u64::try_from(per_second).unwrap_or(100).max(1)
}

fn parse(text: &str, tick_ns: u64) -> Sample {
    let mut sample = Sample::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(cpu) = words.next().and_then(|word| word.strip_prefix("cpu")) else { continue };
        if cpu.is_empty() || !cpu.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        for (state, ticks) in STATES.iter().zip(words) {
            let Ok(ticks) = ticks.parse::<u64>() else { continue };
            let sum = sample.counters.entry(format!("cpu{cpu}.{state}_ns")).or_default();
            *sum = sum.saturating_add(ticks.saturating_mul(tick_ns));
        }
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_has_its_states() {
        let text = "cpu  9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 9 0\ncpu12 0 0 1\nintr 5\ncpux 1\ncpu3 z";
        let sample = parse(text, 10);
        assert_eq!(sample.counters["cpu0.user_ns"], 30);
        assert_eq!(sample.counters["cpu0.softirq_ns"], 70);
        assert_eq!(sample.counters["cpu0.steal_ns"], 80);
        assert_eq!(sample.counters["cpu12.system_ns"], 10);
        assert!(!sample.counters.keys().any(|key| key.starts_with("cpux")));
    }
}
