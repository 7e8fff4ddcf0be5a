//! Cores that load memory beside a device: what each is left with, from credits and latencies
//! alone. Every line waits as long behind the memory controller, whoever it is of; the wait is that
//! of memory's load, and where the controller is full, so long that what comes fits.

use crate::domains::{Domains, reached};
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

/// What receivers in the kernel do with what a NIC wrote: they copy it out of memory. Their CPUs
/// are busy all the time, so that slower copies are a slower NIC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Copies {
    /// Share of the receivers' time that copies take while nothing else loads memory, 0 to 1.
    pub share: f64,
    /// Lines of memory that copies read for each line that the NIC writes.
    pub lines: f64,
}

impl Copies {
    /// TCP with frames of 9000 B and all offloads, on four cores of a Xeon Gold 6234: half of the
    /// time, and 1.07 lines by the stacked curves of figure 19 (Understanding the Host Network).
    pub const JUMBO_TCP: Self = Self { share: 0.5, lines: 1.07 };

    /// How many times longer a byte takes its receiver where a line takes so many times longer.
    pub fn slower(&self, lines_slower: f64) -> f64 {
        1.0 - self.share + self.share * lines_slower
    }
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
    /// What the kernel's receivers add; none where the device does all by itself.
    pub copies: Option<Copies>,
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
    /// Whether all credits of the device's writes are in use.
    pub is_credit_bound: bool,
}

/// How the two hinder each other, in the words of the paper that told them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// The cores are slower and the device is not, or for slower copies alone: it has credits to
    /// spare.
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
        self.settled(domains, self.alone_ns(domains))
    }

    /// How long a line of the copies waits while the cores do nothing; none without copies.
    fn alone_ns(&self, domains: &Domains) -> Option<f64> {
        self.copies.map(|_| Self { cores: 0.0, ..*self }.settled(domains, None).wait_ns)
    }

    fn slower(&self, domains: &Domains, wait_ns: f64, alone_ns: Option<f64>) -> f64 {
        let read_ns = domains.core_read.unloaded_ns;
        match (self.copies, alone_ns) {
            (Some(copies), Some(alone_ns)) => {
                copies.slower((read_ns + wait_ns) / (read_ns + alone_ns)).max(1.0)
            }
            _ => 1.0,
        }
    }

    /// Where what comes fits the wait that it has. Copies are slower than beside a wait of
    /// `alone_ns`; with none they are as fast as alone.
    fn settled(&self, domains: &Domains, alone_ns: Option<f64>) -> Left {
        let (mut least, mut most) = (0.0, WAIT_MOST_NS);
        for _ in 0..STEPS {
            let wait = (least + most) / 2.0;
            if self.asks_for(domains, &self.at(domains, wait, alone_ns)) > wait {
                least = wait
            } else {
                most = wait
            }
        }
        self.at(domains, most, alone_ns)
    }

    /// How many times slower cores and device are than each alone.
    pub fn slowdowns(&self, domains: &Domains) -> (f64, f64) {
        let both = self.left(domains);
        let alone = Self { offered_gb_s: 0.0, ..*self }.left(domains);
        let device =
            if both.device_gb_s > 0.0 { self.offered_gb_s / both.device_gb_s } else { 1.0 };
        (alone.core_gb_s / both.core_gb_s, device)
    }

    /// The 80 % ranges of both slowdowns, as what credits leave of a NIC has it: where cores write
    /// and the device may be in red, up to the worst that was published.
    pub fn ranges(&self, domains: &Domains) -> [(f64, f64); 2] {
        let (cores, device) = self.slowdowns(domains);
        let (low, high) = ((-HALF).exp(), HALF.exp());
        let carried_gb_s = self.carried_gb_s(domains, self.left(domains).wait_ns);
        let may_be_red =
            self.work == CoreWork::ReadsAndWrites && RED_LEAST * carried_gb_s < self.offered_gb_s;
        let least = if may_be_red { RED_LEAST } else { low };
        let worst = self.offered_gb_s / (least * carried_gb_s);
        // How many credits reads have is not known: up to 1.03 was published.
        let is_known = self.copies.is_none() && self.device == DeviceWork::Writes;
        let copied = if is_known { 1.0 } else { high };
        [
            ((cores * low).max(1.0), cores * high),
            ((device * low).max(1.0), (device * copied).max(worst).max(1.0)),
        ]
    }

    /// What the device's credits carry while every line waits so long, in GB/s.
    fn carried_gb_s(&self, domains: &Domains, wait_ns: f64) -> f64 {
        let writes = domains.device_write;
        match self.device {
            DeviceWork::Writes => writes.credits * LINE_BYTES / (writes.unloaded_ns + wait_ns),
            // As many credits as were seen were not all there are.
            DeviceWork::Reads => f64::INFINITY,
        }
    }

    /// How many times longer a byte takes its receivers than while the cores do nothing: their
    /// copies wait for memory.
    pub fn copies_slower(&self, domains: &Domains) -> f64 {
        let alone_ns = self.alone_ns(domains);
        self.slower(domains, self.settled(domains, alone_ns).wait_ns, alone_ns)
    }

    /// Whether the device is hindered too.
    pub fn regime(&self, domains: &Domains) -> Regime {
        let is_hindered = self.slowdowns(domains).1 >= HINDERED;
        let is_red = is_hindered && self.left(domains).is_credit_bound;
        if is_red { Regime::Red } else { Regime::Blue }
    }

    fn at(&self, domains: &Domains, wait_ns: f64, alone_ns: Option<f64>) -> Left {
        let read = domains.core_read;
        let offered_gb_s = self.offered_gb_s / self.slower(domains, wait_ns, alone_ns);
        let write_ns = match self.work {
            CoreWork::Reads => 0.0,
            CoreWork::ReadsAndWrites => domains.core_write.unloaded_ns,
        };
        let core_gb_s = read.credits * LINE_BYTES / (read.unloaded_ns + write_ns + wait_ns);
        let carried_gb_s = self.carried_gb_s(domains, wait_ns);
        let device_gb_s = offered_gb_s.min(carried_gb_s);
        Left { core_gb_s, device_gb_s, wait_ns, is_credit_bound: carried_gb_s < offered_gb_s }
    }

    /// The wait that memory would have with what is left.
    fn asks_for(&self, domains: &Domains, left: &Left) -> f64 {
        let used = self.load(self.cores * left.core_gb_s, left.device_gb_s);
        if used <= 1.0 { domains.wait_ns(used) } else { f64::INFINITY }
    }

    /// Whether memory carries what the device and its copies move while the cores do nothing.
    /// Where it cannot and the rate was measured, the copies came out of a cache.
    pub fn fits_alone(&self) -> bool {
        self.load(0.0, self.offered_gb_s) <= 1.0
    }

    /// What all cores read and write together, in GB/s.
    pub fn cores_gb_s(&self, left: &Left) -> f64 {
        let read = self.cores * left.core_gb_s;
        read + self.written(read)
    }

    /// What cores write that read so much, in GB/s.
    fn written(&self, read: f64) -> f64 {
        match self.work {
            CoreWork::Reads => 0.0,
            CoreWork::ReadsAndWrites => read,
        }
    }

    /// Share in use of what the channels reach, by what all cores read and the device moves.
    fn load(&self, cores: f64, device: f64) -> f64 {
        let written = self.written(cores);
        let copied = device * self.copies.map_or(0.0, |copies| copies.lines);
        let total = cores + written + device + copied;
        if total <= 0.0 {
            return 0.0;
        }
        let written = match self.device {
            DeviceWork::Writes => written + device,
            DeviceWork::Reads => written,
        };
        total / (self.peak_gb_s * reached(written / total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains;
    use narrows_dimm::platform;

    fn of(cores: f64, work: CoreWork, device: DeviceWork) -> (Contention, &'static Domains) {
        let (offered_gb_s, peak_gb_s, copies) = (12.25, 2.0 * 8.0 * 2.933, None);
        let all = Contention { cores, work, offered_gb_s, device, copies, peak_gb_s };
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
    fn slower_copies_are_a_slower_nic_before_its_credits_run_out() {
        // Half of the time thrice as slow is twice as slow in all.
        assert!((Copies { share: 0.5, lines: 1.0 }.slower(3.0) - 2.0).abs() < 1e-12);
        let (bare, domains) = of(3.0, CoreWork::Reads, DeviceWork::Writes);
        let copied = Contention { copies: Some(Copies::JUMBO_TCP), ..bare };
        assert!(bare.slowdowns(domains).1 < 1.01, "blue without copies");
        let (both, alone) = (copied.left(domains), Contention { cores: 0.0, ..copied });
        let alone = alone.left(domains);
        assert!((alone.device_gb_s - 12.25).abs() < 1e-9, "alone it has what it was given");
        let lines_slower = (70.0 + both.wait_ns) / (70.0 + alone.wait_ns);
        let known = 12.25 / (0.5 + 0.5 * lines_slower);
        assert!((both.device_gb_s - known).abs() < 1e-6, "{both:?}, {known}");
        assert!(!both.is_credit_bound && both.device_gb_s < 92.0 * 64.0 / (300.0 + both.wait_ns));
        assert_eq!(copied.regime(domains), Regime::Blue, "credits to spare");
        // What copies read loads the memory too.
        let unread = Contention { copies: Some(Copies { share: 0.5, lines: 0.0 }), ..bare };
        assert!(unread.left(domains).wait_ns < both.wait_ns - 5.0, "{both:?}");
        // One channel carries what it writes, and not the copies too.
        let narrow = Contention { peak_gb_s: copied.peak_gb_s / 2.0, ..copied };
        assert!(copied.fits_alone() && !narrow.fits_alone());
        assert!(Contention { copies: None, ..narrow }.fits_alone());
    }

    #[test]
    fn ranges_hold_what_was_published_in_red_and_are_narrow_in_blue() {
        // RoCE beside four to six cores that read and write: cores, device.
        for (cores, published) in [(4.0, [1.30, 1.22]), (5.0, [1.31, 1.52]), (6.0, [1.31, 1.67])] {
            let (all, domains) = of(cores, CoreWork::ReadsAndWrites, DeviceWork::Writes);
            let [_, (low, high)] = all.ranges(domains);
            assert!(low <= published[1] && published[1] <= high, "{cores}: {low} to {high}");
        }
        let (blue, domains) = of(6.0, CoreWork::Reads, DeviceWork::Writes);
        let [(low, high), device] = blue.ranges(domains);
        let cores = blue.slowdowns(domains).0;
        assert!((low / cores - (-HALF).exp()).abs() < 1e-9, "{low} to {high}");
        assert!((high / cores - HALF.exp()).abs() < 1e-9, "{low} to {high}");
        assert!(device.0 == 1.0 && device.1 < 1.15, "{device:?}");
        let (reads, domains) = of(6.0, CoreWork::ReadsAndWrites, DeviceWork::Reads);
        assert_eq!(reads.ranges(domains)[1], (1.0, HALF.exp()), "credits of reads are not known");
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
