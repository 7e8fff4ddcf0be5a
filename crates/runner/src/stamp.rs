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
    /// Now.
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
    let micros = |t: nix::sys::time::TimeVal| {
        Duration::from_micros((t.tv_sec() * 1_000_000 + t.tv_usec()) as u64)
    };
    let usage = getrusage(who).map(|usage| micros(usage.user_time()) + micros(usage.system_time()));
    usage.unwrap_or_default()
}
