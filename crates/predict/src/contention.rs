//! Cores that load memory beside a device: what each is left with, from credits and latencies
//! alone. Every line waits as long behind the memory controller, whoever it is of; the wait is that
//! of memory's load, and where the controller is full, so long that what comes fits.

use crate::domains::{Domains, loaded, reached};
use narrows_stats::LINE_BYTES;

/// What cores do to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreWork {
    /// They read it from end to end.
    Reads,
    /// They read and write every line.
    ReadsAndWrites,
}

/// Words of `neighbours.work`, with what they stand for.
pub(crate) const WORK: [(&str, CoreWork); 2] =
    [("read", CoreWork::Reads), ("read-write", CoreWork::ReadsAndWrites)];

/// What a device does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceWork {
    /// It writes: a NIC that receives.
    Writes,
    /// It reads: a NIC that sends.
    Reads,
}

/// Who uses one processor's memory at the same time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contention {
    /// Cores that use as much of it as they can.
    pub cores: f64,
    pub work: CoreWork,
    /// What the device would move if it were alone, in GB/s.
    pub offered_gb_s: f64,
    pub device: DeviceWork,
    /// Peak of the memory's channels in GB/s.
    pub peak_gb_s: f64,
}

/// What each is left with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Left {
    /// Lines that each core reads, in GB/s.
    pub core_gb_s: f64,
    /// What the device moves, in GB/s.
    pub device_gb_s: f64,
    /// How long every line waits behind the memory controller, in nanoseconds.
    pub wait_ns: f64,
}

/// How the two hinder each other, in the words of the paper that told them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// The cores are slower and the device is not: it has credits to spare.
    Blue,
    /// The device is slower as well: its credits are all under way.
    Red,
}

/// Half the 80 % range of a slowdown, as a logarithm: latencies were published to two digits and
/// the peak's share is a mean of five nodes, 6 % each, which add up (assumed).
pub const HALF: f64 = 0.10;
/// What a device was left with at least in red, of what this says: a slowdown of 1.67 was
/// published where this has 1.21 (RoCE beside six cores that read and write).
pub const RED_LEAST: f64 = 0.72;

/// Longest wait that is looked at, in nanoseconds: far beyond any that was published.
const WAIT_MOST_NS: f64 = 1e5;
/// Halvings of it: to less than a millionth of a nanosecond.
const STEPS: usize = 64;
/// A device that is slower by less is not hindered.
const HINDERED: f64 = 1.02;

impl Contention {
    /// What cores and device are left with.
    pub fn left(&self, domains: &Domains) -> Left {
        let (mut least, mut most) = (0.0, WAIT_MOST_NS);
        for _ in 0..STEPS {
            let wait = (least + most) / 2.0;
            if self.asks_for(domains, wait) > wait { least = wait } else { most = wait }
        }
        self.at(domains, most)
    }

    /// How many times slower cores and device are than each alone.
    pub fn slowdowns(&self, domains: &Domains) -> (f64, f64) {
        let both = self.left(domains);
        let alone = Self { offered_gb_s: 0.0, ..*self }.left(domains);
        let device =
            if both.device_gb_s > 0.0 { self.offered_gb_s / both.device_gb_s } else { 1.0 };
        (alone.core_gb_s / both.core_gb_s, device)
    }

    /// Whether the device is hindered too.
    pub fn regime(&self, domains: &Domains) -> Regime {
        if self.slowdowns(domains).1 < HINDERED { Regime::Blue } else { Regime::Red }
    }

    fn at(&self, domains: &Domains, wait_ns: f64) -> Left {
        let read = domains.core_read;
        let write_ns = match self.work {
            CoreWork::Reads => 0.0,
            CoreWork::ReadsAndWrites => domains.core_write.unloaded_ns,
        };
        let core_gb_s = read.credits * LINE_BYTES / (read.unloaded_ns + write_ns + wait_ns);
        let writes = domains.device_write;
        let device_gb_s = match self.device {
            DeviceWork::Writes => {
                let carried = writes.credits * LINE_BYTES / (writes.unloaded_ns + wait_ns);
                self.offered_gb_s.min(carried)
            }
            // As many credits as were seen were not all there are.
            DeviceWork::Reads => self.offered_gb_s,
        };
        Left { core_gb_s, device_gb_s, wait_ns }
    }

    /// The wait that memory would have with what comes after one of `wait_ns`.
    fn asks_for(&self, domains: &Domains, wait_ns: f64) -> f64 {
        let left = self.at(domains, wait_ns);
        let cores = self.cores * left.core_gb_s;
        let written = match self.work {
            CoreWork::Reads => 0.0,
            CoreWork::ReadsAndWrites => cores,
        };
        let total = cores + written + left.device_gb_s;
        if total <= 0.0 {
            return 0.0;
        }
        let written = match self.device {
            DeviceWork::Writes => written + left.device_gb_s,
            DeviceWork::Reads => written,
        };
        let used = total / (self.peak_gb_s * reached(written / total));
        if used <= 1.0 {
            domains.core_read.unloaded_ns * (loaded(used) - 1.0)
        } else {
            f64::INFINITY
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains;
    use narrows_dimm::platform;

    fn of(cores: f64, work: CoreWork, device: DeviceWork) -> (Contention, &'static Domains) {
        let all =
            Contention { cores, work, offered_gb_s: 12.25, device, peak_gb_s: 2.0 * 8.0 * 2.933 };
        (all, domains::of(platform::named("Xeon Gold 6234")).expect("published"))
    }

    #[test]
    fn readers_suffer_beside_a_nic_and_it_does_not() {
        for cores in 1..=6 {
            let (all, domains) = of(f64::from(cores), CoreWork::Reads, DeviceWork::Writes);
            let (core, device) = all.slowdowns(domains);
            assert!(core > 1.1 && device < 1.01, "{cores}: {core} {device}");
            assert_eq!(all.regime(domains), Regime::Blue);
        }
    }

    #[test]
    fn writers_turn_it_red() {
        let regime = |cores: f64| {
            let (all, domains) = of(cores, CoreWork::ReadsAndWrites, DeviceWork::Writes);
            all.regime(domains)
        };
        assert_eq!((regime(1.0), regime(3.0)), (Regime::Blue, Regime::Blue));
        assert_eq!((regime(5.0), regime(6.0)), (Regime::Red, Regime::Red));
    }

    #[test]
    fn nothing_is_lost_where_nothing_else_goes_on() {
        let (all, domains) = of(0.0, CoreWork::Reads, DeviceWork::Writes);
        assert!((all.left(domains).device_gb_s - 12.25).abs() < 1e-9);
        // More memory, less wait.
        let (few, _) = of(4.0, CoreWork::ReadsAndWrites, DeviceWork::Writes);
        let many = Contention { peak_gb_s: 3.0 * few.peak_gb_s, ..few };
        assert!(many.left(domains).wait_ns < few.left(domains).wait_ns / 2.0);
        let never = Contention { offered_gb_s: 400.0, ..few }.left(domains);
        assert!(never.device_gb_s < 92.0 * 64.0 / 300.0, "credits bound it: {never:?}");
    }
}
