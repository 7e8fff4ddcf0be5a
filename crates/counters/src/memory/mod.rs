//! Traffic of the memory bus and of the links between sockets, by counters outside the cores: which
//! there are says an event file of the processor's family ([`events`]), how they are told what to
//! count says the kernel in sysfs ([`pmu`]), and what could not be counted is named.

mod counting;
pub mod events;
mod family;
mod pcm;
mod pmu;
mod resctrl;
mod sums;

use counting::{Counting, EventCount, Kernel, Opens};
use events::{Counted, Counts, EventRow, Family, Group};
use narrows_host::Root;
use narrows_model::Nanos;
use narrows_model::memory_traffic::{MemoryTraffic, Uncounted};
use pcm::Pcm;
use pmu::{Code, Pmu, Unclear};
use resctrl::Monitored;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// In the order in which they are opened: where descriptors run out, those of whole machines' CPUs,
/// which are the most, come last, and after these what is in queues, which no traffic needs.
const ALL_COUNTS: [Counts; 7] = [
    Counts::Memory,
    Counts::SocketLinks,
    Counts::Devices,
    Counts::CacheMisses,
    Counts::MemoryQueues,
    Counts::RootQueues,
    Counts::DeviceQueues,
];

/// A counter that was looked at for less than this share of the time is told of: it was not there
/// all the time.
const SEEN_SHARE: f64 = 0.95;

/// Counters that are open, each with what it told as the window opened.
pub struct MemoryMeters {
    family: Option<String>,
    counters: Vec<Counter>,
    /// Of what a counter is missing: a sum without it would be none.
    lost: BTreeSet<Counted>,
    gaps: Vec<Uncounted>,
    queue_gaps: Vec<Uncounted>,
    /// The end's own threads, by the caches.
    monitored: Option<Monitored>,
    /// Intel PCM, where the kernel counts nothing.
    pcm: Option<Pcm>,
    began: Instant,
}

/// One event on one CPU.
struct Counter {
    counts: Counts,
    counted: Counted,
    pmu: String,
    event: String,
    package: Option<u32>,
    /// What one count is worth: bytes, or a share of one.
    worth: f64,
    counting: Box<dyn Counting>,
    opening: Option<EventCount>,
}

/// What a counter counted of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Grown {
    /// Scaled up by the time in which it did not run.
    counts: f64,
    ran_thousandths: u32,
    /// Its own time from the first look to the last.
    enabled_ns: u64,
}

/// What is opened on one PMU.
struct Wanted<'a> {
    row: &'a EventRow,
    /// The purpose, and what is counted for it.
    of: (Counts, Counted),
    pmu: &'a Pmu,
    code: Code,
    worth: f64,
}

impl MemoryMeters {
    /// Opens what this machine offers. To be called before the warm-up: opening takes milliseconds
    /// where there are hundreds of counters.
    pub fn attach() -> Self {
        counting::allow_more_files();
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
            queue_gaps: Vec::new(),
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
        let what = family.unsourced_queues.iter().cloned();
        self.queue_gaps.extend(what.map(|what| Uncounted::NotSourced { what }));
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
                self.queue_gaps.clear();
                return self.gaps.push(denied);
            }
            if there.is_none() && groups().next().is_some() {
                let pmus = groups().flat_map(|group| group.pmus.clone()).collect();
                self.lacks(counts, Uncounted::PmuMissing { pmus });
            }
        }
        self.counters.retain(|counter| !self.lost.contains(&counter.counted));
    }

    /// Notes what of a purpose is missing, and why.
    fn lacks(&mut self, counts: Counts, gap: Uncounted) {
        if counts.is_of_queues() { self.queue_gaps.push(gap) } else { self.gaps.push(gap) }
    }

    /// Opens all events of a group; an error where the kernel lets this process open none.
    fn open_group(
        &mut self,
        root: &Root,
        kernel: &dyn Opens,
        group: &Group,
    ) -> Result<(), Uncounted> {
        // What a file asks for was checked as it was read.
        let rows = || group.event.iter().filter_map(|row| Some((row, row.counted().ok()?)));
        for (at, name) in pmu::named(root, &group.pmus).into_iter().enumerate() {
            let here = || rows().filter(|(row, _)| at == 0 || !row.once);
            let pmu = match Pmu::read(root, &name) {
                Ok(pmu) => pmu,
                Err(Unclear(what)) => {
                    self.lost.extend(here().map(|(_, counted)| counted));
                    self.lacks(group.counts, Uncounted::PmuUnclear { pmu: name, what });
                    continue;
                }
            };
            for (row, counted) in here() {
                for asked in row.asked().unwrap_or_default() {
                    match pmu.code(root, &asked, row.scale()) {
                        Ok((code, worth)) => {
                            let of = (group.counts, counted);
                            let wanted = Wanted { row, of, pmu: &pmu, code, worth };
                            self.open_event(root, kernel, &wanted)?;
                        }
                        Err(Unclear(what)) => {
                            let pmu = name.clone();
                            self.lost.insert(counted);
                            self.lacks(group.counts, Uncounted::PmuUnclear { pmu, what });
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
        let ((counts, counted), pmu) = (wanted.of, wanted.pmu.name.clone());
        // A queue with a counter missing is told of once, and needs no more of them.
        if counts.is_of_queues() && self.lost.contains(&counted) {
            return Ok(());
        }
        for cpu in &wanted.pmu.cpus {
            let event = wanted.row.name.clone();
            match kernel.open(wanted.code, *cpu) {
                Ok(counting) => self.counters.push(Counter {
                    counts,
                    counted,
                    pmu: pmu.clone(),
                    event,
                    package: family::package(root, *cpu),
                    worth: wanted.worth,
                    counting,
                    opening: None,
                }),
                Err(error) if is_denied(&error) => {
                    return Err(Uncounted::Denied { paranoid: family::paranoid(root) });
                }
                Err(error) => {
                    let errno = error.raw_os_error().unwrap_or(0);
                    self.lost.insert(counted);
                    let pmu = pmu.clone();
                    self.lacks(counts, Uncounted::NotOpened { pmu, event, errno });
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
        let has_own_threads = monitored.as_ref().is_ok_and(|own| !own.is_empty());
        let by_pcm = self.pcm.take().map(Pcm::close);
        let by_clock_ns = self.began.elapsed().as_nanos() as u64;
        let span_ns = span(&grown).unwrap_or(by_clock_ns);
        let own_threads_ns = has_own_threads.then_some(Nanos(by_clock_ns));
        let grown: Vec<Option<Grown>> =
            grown.into_iter().map(|grown| Some(grown?.over(span_ns))).collect();
        let counters = std::mem::take(&mut self.counters);
        for (counter, grown) in counters.iter().zip(&grown) {
            if grown.is_none() && self.lost.insert(counter.counted) {
                let (pmu, event) = (counter.pmu.clone(), counter.event.clone());
                self.lacks(counter.counts, Uncounted::Vanished { pmu, event });
            }
        }
        let counted = counters.iter().zip(grown).filter_map(|(one, grown)| Some((one, grown?)));
        let counted = counted.filter(|(counter, _)| !self.lost.contains(&counter.counted));
        let (mut counts, queues) = sums::by_processor(counted);
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
        let span_ns = Nanos(span_ns);
        let (family, gaps, queue_gaps) = (self.family, self.gaps, self.queue_gaps);
        MemoryTraffic { family, span_ns, own_threads_ns, counts, queues, gaps, queue_gaps }
    }
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
    Some(Grown {
        counts: counts as f64 / share,
        ran_thousandths: (1000.0 * share).round() as u32,
        enabled_ns: enabled,
    })
}

/// The time that the counts are of: that of the counter which was looked at for longest. A clock
/// of this thread's would have in it what kept it from looking.
fn span(grown: &[Option<Grown>]) -> Option<u64> {
    grown.iter().flatten().map(|grown| grown.enabled_ns).max()
}

impl Grown {
    /// The same over the span of all: a counter that was looked at later, or was not there all the
    /// time, counts at its own pace.
    fn over(self, span_ns: u64) -> Self {
        let share = self.enabled_ns as f64 / span_ns as f64;
        let ran = if share < SEEN_SHARE { share } else { 1.0 };
        Self {
            counts: self.counts / share,
            ran_thousandths: (f64::from(self.ran_thousandths) * ran).round() as u32,
            enabled_ns: span_ns,
        }
    }
}

fn is_denied(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

#[cfg(test)]
mod queue_tests;
#[cfg(test)]
mod tests;
