//! Traffic of the memory bus and of the links between sockets, by counters outside the cores: which
//! there are says an event file of the processor's family ([`events`]), how they are told what to
//! count says the kernel in sysfs ([`pmu`]), and what could not be counted is named.

mod counting;
pub mod events;
mod family;
mod pcm;
mod pmu;
mod resctrl;

use counting::{Counting, EventCount, Kernel, Opens};
use events::{Counts, EventRow, Family, Group};
use narrows_host::Root;
use narrows_model::Nanos;
use narrows_model::memory_traffic::{Count, CountedBy, MemoryTraffic, Quantity, Uncounted};
use pcm::Pcm;
use pmu::{Code, Pmu, Unclear};
use resctrl::Monitored;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Below this share of its time, in thousandths, a counter was shared with other users of it.
const RAN_THOUSANDTHS: u32 = 995;

/// In the order in which they are opened: where descriptors run out, those of whole machines' CPUs,
/// which are the most, come last.
const ALL_COUNTS: [Counts; 4] =
    [Counts::Memory, Counts::SocketLinks, Counts::Devices, Counts::CacheMisses];

/// Counters that are open, each with what it told as the window opened.
pub struct MemoryMeters {
    family: Option<String>,
    counters: Vec<Counter>,
    /// Quantities of which a counter is missing: a sum without it would be none.
    lost: BTreeSet<Quantity>,
    gaps: Vec<Uncounted>,
    /// The end's own threads, by the caches.
    monitored: Option<Monitored>,
    /// Intel PCM, where the kernel counts nothing.
    pcm: Option<Pcm>,
    began: Instant,
}

/// One event on one CPU.
struct Counter {
    quantity: Quantity,
    pmu: String,
    event: String,
    package: Option<u32>,
    /// Bytes of one count.
    bytes: f64,
    counting: Box<dyn Counting>,
    opening: Option<EventCount>,
}

/// What a counter counted of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Grown {
    /// Scaled up by the time in which it did not run.
    counts: f64,
    ran_thousandths: u32,
}

/// What is opened on one PMU.
struct Wanted<'a> {
    row: &'a EventRow,
    pmu: &'a Pmu,
    code: Code,
    bytes: f64,
}

impl MemoryMeters {
    /// Opens what this machine offers. To be called before the warm-up: opening takes milliseconds
    /// where there are hundreds of counters.
    pub fn attach() -> Self {
        let meters = Self::open(&Root::live(), &Kernel);
        meters.with_pcm(pcm::installed()).monitoring(&Root::live(), Path::new("/"))
    }

    /// With Intel PCM, where it is installed and nothing else counts.
    fn with_pcm(mut self, program: Option<PathBuf>) -> Self {
        let Some(program) = program.filter(|_| self.counters.is_empty()) else { return self };
        match Pcm::start(&program) {
            Ok(pcm) => self.pcm = Some(pcm),
            Err(gap) => self.gaps.push(gap),
        }
        self
    }

    /// With a monitoring group of this process's threads, where the machine has such. Files of
    /// `root` lie in `dir`.
    fn monitoring(mut self, root: &Root, dir: &Path) -> Self {
        match Monitored::join(root, dir) {
            Ok(monitored) => self.monitored = Some(monitored),
            Err(gap) => self.gaps.push(gap),
        }
        self
    }

    /// None, since the agent's owner does not let it.
    pub fn refused() -> Self {
        Self { gaps: vec![Uncounted::Owner], ..Self::none() }
    }

    fn none() -> Self {
        Self {
            family: None,
            counters: Vec::new(),
            lost: BTreeSet::new(),
            gaps: Vec::new(),
            monitored: None,
            pcm: None,
            began: Instant::now(),
        }
    }

    /// The same of a machine that is read through `root`, whose events are opened by `kernel`.
    fn open(root: &Root, kernel: &dyn Opens) -> Self {
        let mut meters = Self::none();
        match family::find(root) {
            Ok(family) => meters.open_family(root, kernel, &family),
            Err(gap) => meters.gaps.push(gap),
        }
        meters
    }

    fn open_family(&mut self, root: &Root, kernel: &dyn Opens, family: &Family) {
        self.family = Some(family.family.clone());
        let what = family.unsourced.iter().cloned();
        self.gaps.extend(what.map(|what| Uncounted::NotSourced { what }));
        let is_alone = family::packages(root) < 2;
        for counts in ALL_COUNTS {
            // A processor alone in its host has no link to another.
            if is_alone && counts == Counts::SocketLinks {
                continue;
            }
            let groups = || family.group.iter().filter(move |group| group.counts == counts);
            let there = groups().find(|group| !pmu::named(root, &group.pmus).is_empty());
            let opened = there.map_or(Ok(()), |group| self.open_group(root, kernel, group));
            if let Err(denied) = opened {
                self.counters.clear();
                return self.gaps.push(denied);
            }
            if there.is_none() && groups().next().is_some() {
                let pmus = groups().flat_map(|group| group.pmus.clone()).collect();
                self.gaps.push(Uncounted::PmuMissing { pmus });
            }
        }
        self.counters.retain(|counter| !self.lost.contains(&counter.quantity));
    }

    /// Opens all events of a group; an error where the kernel lets this process open none.
    fn open_group(
        &mut self,
        root: &Root,
        kernel: &dyn Opens,
        group: &Group,
    ) -> Result<(), Uncounted> {
        for name in pmu::named(root, &group.pmus) {
            let pmu = match Pmu::read(root, &name) {
                Ok(pmu) => pmu,
                Err(Unclear(what)) => {
                    self.lost.extend(group.event.iter().map(|row| row.quantity));
                    self.gaps.push(Uncounted::PmuUnclear { pmu: name, what });
                    continue;
                }
            };
            for row in &group.event {
                // What a file asks for was checked as it was read.
                for asked in row.asked().unwrap_or_default() {
                    match pmu.code(root, &asked, row.scale()) {
                        Ok((code, bytes)) => {
                            let wanted = Wanted { row, pmu: &pmu, code, bytes };
                            self.open_event(root, kernel, &wanted)?;
                        }
                        Err(Unclear(what)) => {
                            self.lost.insert(row.quantity);
                            self.gaps.push(Uncounted::PmuUnclear { pmu: name.clone(), what });
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Opens one event wherever its PMU is.
    fn open_event(
        &mut self,
        root: &Root,
        kernel: &dyn Opens,
        wanted: &Wanted<'_>,
    ) -> Result<(), Uncounted> {
        let (quantity, pmu) = (wanted.row.quantity, wanted.pmu.name.clone());
        for cpu in &wanted.pmu.cpus {
            let event = wanted.row.name.clone();
            match kernel.open(wanted.code, *cpu) {
                Ok(counting) => self.counters.push(Counter {
                    quantity,
                    pmu: pmu.clone(),
                    event,
                    package: family::package(root, *cpu),
                    bytes: wanted.bytes,
                    counting,
                    opening: None,
                }),
                Err(error) if is_denied(&error) => {
                    return Err(Uncounted::Denied { paranoid: family::paranoid(root) });
                }
                Err(error) => {
                    let errno = error.raw_os_error().unwrap_or(0);
                    self.lost.insert(quantity);
                    self.gaps.push(Uncounted::NotOpened { pmu: pmu.clone(), event, errno });
                }
            }
        }
        Ok(())
    }

    /// Notes where the counters are as the window opens.
    pub fn start(&mut self) {
        self.began = Instant::now();
        for counter in &mut self.counters {
            counter.opening = counter.counting.told().ok();
        }
        if let Some(pcm) = &mut self.pcm {
            pcm.open();
        }
        if let Some(monitored) = &mut self.monitored {
            monitored.start();
        }
    }

    /// What was counted from [`Self::start`] on.
    pub fn close(mut self) -> MemoryTraffic {
        let grown: Vec<Option<Grown>> = self.counters.iter_mut().map(Counter::grown).collect();
        let monitored = self.monitored.take().map_or(Ok(Vec::new()), Monitored::close);
        let by_pcm = self.pcm.take().map(Pcm::close);
        let span_ns = Nanos(self.began.elapsed().as_nanos() as u64);
        for (counter, grown) in self.counters.iter().zip(&grown) {
            if grown.is_none() && self.lost.insert(counter.quantity) {
                let (pmu, event) = (counter.pmu.clone(), counter.event.clone());
                self.gaps.push(Uncounted::Vanished { pmu, event });
            }
        }
        let counted = self.counters.iter().zip(grown);
        let counted = counted.filter_map(|(one, grown)| Some((one, grown?)));
        let counted = counted.filter(|(counter, _)| !self.lost.contains(&counter.quantity));
        let mut counts = summed(counted);
        match by_pcm {
            Some(Ok(told)) => {
                self.family = Some(pcm::NAME.to_owned());
                counts.extend(told);
            }
            Some(Err(gap)) => self.gaps.push(gap),
            None => {}
        }
        match monitored {
            Ok(own) => counts.extend(own),
            Err(gap) => self.gaps.push(gap),
        }
        MemoryTraffic { family: self.family, span_ns, counts, gaps: self.gaps }
    }
}

/// Adds the counters of each quantity and package up.
fn summed<'a>(counted: impl Iterator<Item = (&'a Counter, Grown)>) -> Vec<Count> {
    let mut sums: BTreeMap<(Quantity, Option<u32>), (f64, u32, u32)> = BTreeMap::new();
    for (counter, grown) in counted {
        let sum = sums.entry((counter.quantity, counter.package)).or_insert((0.0, 0, 1000));
        sum.0 += grown.counts * counter.bytes;
        sum.1 += 1;
        sum.2 = sum.2.min(grown.ran_thousandths);
    }
    sums.into_iter()
        .map(|((of, package), (bytes, counters, ran))| Count {
            of,
            by: CountedBy::Uncore,
            package,
            bytes: bytes.round() as u64,
            counters,
            ran_thousandths: (ran < RAN_THOUSANDTHS).then_some(ran),
        })
        .collect()
}

impl Counter {
    /// What it counted since the window opened; `None` where it was lost, ran backwards or never
    /// ran.
    fn grown(&mut self) -> Option<Grown> {
        grown(self.opening?, self.counting.told().ok()?)
    }
}

fn grown(opening: EventCount, closing: EventCount) -> Option<Grown> {
    let counts = closing.count.wrapping_sub(opening.count);
    let enabled = closing.enabled_ns.checked_sub(opening.enabled_ns)?;
    let running = closing.running_ns.checked_sub(opening.running_ns)?;
    // Half of all numbers is more than any counter gains in a run: it was set back.
    if counts > u64::MAX / 2 || running == 0 || running > enabled {
        return None;
    }
    let share = running as f64 / enabled as f64;
    Some(Grown { counts: counts as f64 / share, ran_thousandths: (1000.0 * share).round() as u32 })
}

fn is_denied(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

#[cfg(test)]
mod tests;
