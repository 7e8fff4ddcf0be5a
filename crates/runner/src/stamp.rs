//! The state of the host around one run.

use narrows_counters::{HOST, Meters, Scene};
use narrows_model::Nanos;
use narrows_model::record::Stamp;
use nix::sys::resource::{UsageWho, getrusage};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The state of the host as a run begins.
pub struct StampBefore {
    began_unix: Duration,
    began: Instant,
    load_hundredths: Option<u64>,
    host: Meters,
    own_cpu: Duration,
    controller: Duration,
}

impl StampBefore {
    /// Reads the clock and the host's counters now.
    pub fn take() -> Self {
        Self {
            began_unix: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            load_hundredths: load_average(),
            host: Meters::open(&HOST, &Scene::HOST),
            own_cpu: own_cpu(),
            controller: cpu_of(UsageWho::RUSAGE_SELF),
            began: Instant::now(),
        }
    }

    /// The state around the run, which ends now.
    pub fn finish(self) -> Stamp {
        let host = self.host.close(&Scene::HOST);
        let controller = cpu_of(UsageWho::RUSAGE_SELF).saturating_sub(self.controller);
        Stamp {
            began_unix_ns: Nanos(self.began_unix.as_nanos() as u64),
            took_ns: Nanos(self.began.elapsed().as_nanos() as u64),
            load_hundredths: self.load_hundredths,
            host,
            own_cpu_ns: Nanos(own_cpu().saturating_sub(self.own_cpu).as_nanos() as u64),
            controller_ns: Some(Nanos(controller.as_nanos() as u64)),
        }
    }
}

fn load_average() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some((load * 100.0).round() as u64)
}

/// CPU time of this process and of its workers that have ended.
fn own_cpu() -> Duration {
    cpu_of(UsageWho::RUSAGE_SELF) + cpu_of(UsageWho::RUSAGE_CHILDREN)
}

fn cpu_of(who: UsageWho) -> Duration {
    let usage = getrusage(who).map(|usage| micros(usage.user_time()) + micros(usage.system_time()));
    usage.unwrap_or_default()
}

fn micros(t: nix::sys::time::TimeVal) -> Duration {
    Duration::from_micros((t.tv_sec() * 1_000_000 + t.tv_usec()) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_holds_the_time_and_the_cpu_of_its_run() {
        let unix = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
        let before = unix();
        let stamp = StampBefore::take();
        let (began, used) = (Instant::now(), own_cpu());
        // Half a second of CPU time of this thread alone.
        while own_cpu().saturating_sub(used) < Duration::from_millis(500) {
            std::hint::black_box(0);
        }
        let took = began.elapsed();
        let stamp = stamp.finish();
        let began_ns = u128::from(stamp.began_unix_ns.0);
        assert!((before..=unix()).contains(&began_ns), "{began_ns}");
        assert!(u128::from(stamp.took_ns.0) >= took.as_nanos());
        assert!(u128::from(stamp.took_ns.0) < took.as_nanos() + 60_000_000_000);
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
        for cpu_ns in [stamp.own_cpu_ns.0, stamp.controller_ns.expect("it is counted").0] {
            assert!(cpu_ns >= 450_000_000 && cpu_ns <= stamp.took_ns.0 * cpus + 100_000_000);
        }
        let text = std::fs::read_to_string("/proc/loadavg").expect("Linux");
        let load: f64 = text.split(' ').next().and_then(|load| load.parse().ok()).expect("a load");
        let hundredths = stamp.load_hundredths.expect("it is read") as f64;
        assert!((hundredths / 100.0 - load).abs() < 0.2 * load.max(5.0), "{hundredths}, {load}");
    }
}
