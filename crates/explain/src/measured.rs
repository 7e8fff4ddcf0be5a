//! What rules about measured cells share.

use crate::Case;
use crate::Rule;
use crate::evidence::evidence;
use crate::survey::Survey;
use narrows_model::Bytes;
use narrows_model::load::EndReport;
use narrows_model::reading::{Counter, Moment, keys};
use narrows_model::record::{Outcome, Record};
use narrows_model::result::{
    Activity, Evidence, Finding, Inapplicable, Measure, Missing, Needed, Unmeasured, Verdict,
    Weight,
};
use narrows_model::study::StoredStudy;
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;
use narrows_stats::{Label, Summary, median, overlap_share};

/// One measured cell.
pub struct Cell<'a> {
    /// The study that it is of.
    pub study: &'a StoredStudy,
    pub trial: &'a Trial,
    pub summary: &'a Summary,
    /// Its runs that ended well: all, or [`RUNS_MAX`] of them from the first to the last.
    pub done: Vec<&'a Record>,
    /// How many ended well.
    pub done_count: usize,
}

/// Runs of a cell that rules look at. What more of them would add to a median or a share is less
/// than a run differs from the next, and each rule goes through them for itself.
pub const RUNS_MAX: usize = 500;

/// So many of all, or all: evenly spread, with the first and the last.
fn spread<T: Copy>(all: &[T], most: usize) -> Vec<T> {
    if all.len() <= most {
        return all.to_vec();
    }
    let last = (most - 1).max(1);
    (0..most).map(|at| all[at * (all.len() - 1) / last]).collect()
}

impl Cell<'_> {
    /// Median over the runs of what each one's sending end tells.
    pub fn of_sender(&self, value: impl Fn(&EndReport) -> Option<f64>) -> Option<f64> {
        let ends = self.done.iter().filter_map(|record| record.sender());
        median(&ends.filter_map(value).collect::<Vec<f64>>())
    }

    /// The same of each one's receiving end.
    pub fn of_receiver(&self, value: impl Fn(&EndReport) -> Option<f64>) -> Option<f64> {
        let ends = self.done.iter().filter_map(|record| record.receiver());
        median(&ends.filter_map(value).collect::<Vec<f64>>())
    }

    /// Share of the window that the sender's flows spent at a limit of TCP, by its counter.
    pub fn limited_share(&self, counter: Counter) -> Option<f64> {
        self.of_sender(|end| {
            let flows = end.flows.iter().filter(|flow| flow.sends).count().max(1);
            let limited = end.readings.total(counter)? as f64;
            (end.window_ns.0 > 0).then(|| limited / (end.window_ns.0 as f64 * flows as f64))
        })
    }

    /// Whether a thread of either end had nearly no CPU left to give: it ran, or would have run if
    /// others had not had the CPU.
    pub fn is_busy(&self) -> bool {
        let cpu = self.summary.cpu.as_ref();
        let [sends, takes] = cpu.map_or([None; 2], |cpu| [cpu.sender_share, cpu.receiver_share]);
        wanted(sends, self.of_sender(waited_share)) || wanted(takes, self.of_receiver(waited_share))
    }

    /// Whether both ends' threads neither used nor waited for much of a CPU.
    pub fn is_idle(&self) -> bool {
        let cpu = self.summary.cpu.as_ref();
        let shares = cpu.map(|cpu| [cpu.sender_share, cpu.receiver_share]);
        let waits = [self.of_sender(waited_share), self.of_receiver(waited_share)];
        let works = shares.map(|shares| {
            let ends = shares.into_iter().zip(waits);
            ends.filter_map(|(ran, waited)| Some(ran? + waited.unwrap_or(0.0))).fold(0.0, f64::max)
        });
        works.is_some_and(|works| works < WORKS_SHARE)
    }

    /// Whether a thread of either end ran for nearly all of the time, whatever it waited for.
    pub fn is_full(&self) -> bool {
        let cpu = self.summary.cpu.as_ref();
        let shares = cpu.map_or([None; 2], |cpu| [cpu.sender_share, cpu.receiver_share]);
        shares.into_iter().any(|ran| wanted(ran, None))
    }

    /// Share of the window in which the sender's TCP had something to send or unacknowledged: in
    /// the rest the program that sends gave it nothing, and the path was free.
    pub fn engaged_share(&self) -> Option<f64> {
        self.limited_share(keys::BUSY)
    }

    /// The largest share of a window that one end had to itself, in any run: so much may the one
    /// count of the same packets that the other does not. `None` where the windows were rather two
    /// times than one, and counts of the two cannot be compared. Two ends that nobody says more of
    /// open together.
    pub fn apart_share(&self) -> Option<f64> {
        let shares = self.done.iter().filter_map(|record| overlap_share(record));
        let apart = (1.0 - shares.reduce(f64::min).unwrap_or(1.0)).max(0.0);
        (apart <= APART_MAX).then_some(apart)
    }

    /// Whether other processes kept threads of either end from their CPUs: as the kernel counted
    /// for each thread, or, in records without that, as the host's CPU time tells.
    pub fn is_disturbed(&self) -> bool {
        let waits = [self.of_sender(waited_share), self.of_receiver(waited_share)];
        match waits.into_iter().flatten().reduce(f64::max) {
            Some(waited) => waited >= DISTURBED_SHARE,
            None => self.summary.labels.contains(&Label::Noisy),
        }
    }
}

fn wanted(ran: Option<f64>, waited: Option<f64>) -> bool {
    ran.is_some_and(|ran| ran + waited.unwrap_or(0.0) >= BUSY_SHARE)
}

/// Work that fills a CPU is this much of one at the least in the end's own threads: where the rest
/// is the kernel's own for their packets, `softirq-bound` has found it.
const WORKS_SHARE: f64 = 0.2;
/// Windows with less in common than nine tenths are not of one time.
const APART_MAX: f64 = 0.1;

/// Share of its time that an end's thread waited for a CPU, of the thread that waited longest.
pub fn waited_share(end: &EndReport) -> Option<f64> {
    end.threads
        .iter()
        .filter_map(|thread| {
            let waited = thread.waited_ns?.0 as f64;
            (thread.wall_ns.0 > 0).then(|| waited / thread.wall_ns.0 as f64)
        })
        .reduce(f64::max)
}

/// Threads that wait for so much of their time are late for what fills their buffers: the same
/// share as of the host's CPU time, where a run is noisy.
const DISTURBED_SHARE: f64 = 0.1;

/// From here on the CPU may be what holds a flow back.
const BUSY_SHARE: f64 = 0.85;

/// The network cells with runs of our own that ended well, each of one pair of ends. A summary is
/// of all pairs and a record's first end of one, so that rules see trials of many taken apart.
pub fn cells<'a>(case: &'a Case<'a>) -> impl Iterator<Item = Cell<'a>> {
    let mut runs = case.study.by_trial();
    case.study.trials.iter().filter_map(move |trial| {
        (trial.pairs().count() == 1).then_some(())?;
        let summary = case.summaries.iter().find(|summary| summary.label == trial.label)?;
        let mut done = runs.remove(&trial.id).unwrap_or_default();
        done.retain(|record| record.outcome == Outcome::Done && record.sender().is_some());
        let (done_count, done) = (done.len(), spread(&done, RUNS_MAX));
        (!done.is_empty()).then_some(Cell { study: case.study, trial, summary, done, done_count })
    })
}

/// A finding of one cell; `says` begins with what was seen in it.
pub fn finding(
    rule: &Rule,
    cell: &Cell<'_>,
    weight: Weight,
    says: String,
    seen: String,
    remedy: &str,
) -> Finding {
    let from = cell.runs();
    Finding {
        rule: rule.name.into(),
        weight,
        says,
        evidence: vec![evidence(seen, from)],
        worth: None,
        remedy: remedy.to_owned(),
    }
}

/// What a rule saw in a cell that it could look at.
pub enum Look {
    /// Looked at and fine; what was seen.
    Fine(Evidence),
    Found(Finding),
}

/// Why a rule could not look at a cell.
pub enum Blind {
    /// The cell is of another kind: nothing is lost by leaving it out.
    OtherKind,
    /// The cell is of the right kind, and what was read around it does not tell.
    Lacks(Missing),
}

/// What a rule makes of one cell.
pub type Looked = Result<Look, Blind>;

impl Cell<'_> {
    /// What was seen, with what is wrong with it if anything is.
    pub fn saw(&self, seen: impl Into<String>, wrong: Option<Finding>) -> Looked {
        Ok(wrong.map_or_else(|| Look::Fine(evidence(seen, self.runs())), Look::Found))
    }

    /// The cell as the source of what was seen.
    pub fn runs(&self) -> String {
        let (read, all) = (self.done.len(), self.done_count);
        let of_all = if read < all { format!(" of {all}") } else { String::new() };
        format!("{read}{of_all} runs of {}", self.trial.label)
    }

    /// A reading that its runs should have and have not.
    pub fn lacks(&self, lacks: Measure) -> Blind {
        Blind::Lacks(Unmeasured::In { lacks, trial: self.trial.label.clone() }.into())
    }

    /// Whether it is a stream over the kernel's network.
    pub fn is_network_stream(&self) -> bool {
        self.is_tcp_stream() || self.trial.kind == Workload::UDP_STREAM
    }

    /// Whether it is a stream over TCP.
    pub fn is_tcp_stream(&self) -> bool {
        self.trial.kind == Workload::TCP_STREAM
    }
}

/// Judges every network cell. Where there is no cell of the right kind, `needs` names the
/// measurement that would tell; `idle` says what no run did, where that alone is the answer.
pub fn judge(
    case: &Case<'_>,
    needs: Needed,
    idle: Option<Activity>,
    look: impl Fn(&Cell<'_>) -> Looked,
) -> Verdict {
    let mut survey = Survey::default();
    let (mut any, mut findings) = (false, Vec::new());
    for cell in cells(case) {
        any = true;
        match look(&cell) {
            Ok(Look::Fine(seen)) => survey.fine(seen.says, seen.from),
            Ok(Look::Found(finding)) => findings.push(finding),
            Err(Blind::Lacks(missing)) => survey.lacks(missing),
            Err(Blind::OtherKind) => {}
        }
    }
    joined(findings).into_iter().for_each(|finding| survey.found(finding));
    match idle.filter(|_| any) {
        Some(that) => survey.conclude(Inapplicable::NoRun { that }),
        None => survey.conclude_or(|| Verdict::unknown(Unmeasured::Run(needs).into())),
    }
}

/// The same in several cells is one finding, with the evidence of each.
pub fn joined(findings: Vec<Finding>) -> Vec<Finding> {
    let mut all = findings.into_iter();
    let Some(mut first) = all.next() else { return Vec::new() };
    let others: Vec<Finding> = all.collect();
    if !others.is_empty() {
        let cells = if others.len() == 1 { "cell" } else { "cells" };
        first.says += &format!("; the same in {} other {cells}", others.len());
        first.evidence.extend(others.into_iter().flat_map(|other| other.evidence));
    }
    vec![first]
}

/// A limit that TCP itself counts the time at.
pub struct Limit {
    /// What counts the time at it.
    pub counter: Counter,
    /// What was so while it counted.
    pub means: &'static str,
    /// Whose buffer it is: `receiver` or `sender`.
    pub whose: &'static str,
    /// Why it is as small as it is and what to do, where no size was asked for.
    pub why: fn(&Cell<'_>) -> Why,
    /// The buffer in force.
    pub buffer: fn(&Summary) -> Option<Bytes>,
}

/// What keeps a buffer or a window small.
pub struct Why {
    /// In a sentence, without its end.
    pub says: String,
    /// What to do about it.
    pub remedy: String,
}

impl Why {
    /// A buffer that has grown to the largest that a setting allows, where that is known.
    pub fn at_its_largest(setting: &str, at: &str, most_bytes: Option<u64>) -> Self {
        let now = most_bytes.map_or(String::new(), |most| format!(", now {most} B"));
        Self {
            says: "it is as large as it may become".to_owned(),
            remedy: format!("raise the largest of {setting} {at}{now}, to rate x round trip x 2"),
        }
    }
}

/// Share of the time from which a limit counts. Windows of 8 to 128 KiB planted between namespaces
/// gave shares of 0.38 to 0.47 at the window and 0.51 to 0.53 at the send buffer, the rest being
/// wake-ups; buffers that the kernel sized gave 0.02 at most where no CPU was full.
const LIMITED_SHARE: f64 = 0.25;

/// Judges the cells by one limit. Cells that others disturbed cannot tell: a thread that is put
/// aside fills its buffers too.
pub fn judge_limit(case: &Case<'_>, rule: &Rule, limit: &Limit) -> Verdict {
    judge(case, Needed::TcpCountersOfSender, None, |cell| look_at_limit(cell, rule, limit))
}

/// The same of one cell.
pub fn look_at_limit(cell: &Cell<'_>, rule: &Rule, limit: &Limit) -> Looked {
    if !cell.is_tcp_stream() {
        return Err(Blind::OtherKind);
    }
    // Where nothing comes TCP counts the time of whatever it looked at last.
    cell.rates().ok_or_else(|| cell.lacks(Measure::Rate))?;
    let share = cell.limited_share(limit.counter);
    let share = share.ok_or_else(|| cell.lacks(Measure::TcpTimeAtLimits))?;
    let is_window = limit.counter == keys::LIMITED_BY_WINDOW && cell.keeps_window_full();
    if cell.is_disturbed() && !is_window && !is_beyond_noise(cell) {
        return Err(cell.lacks(Measure::UndisturbedRuns));
    }
    let small = cell.small_steady_window().filter(|_| limit.counter == keys::LIMITED_BY_WINDOW);
    // Small windows are many packets, which fill a CPU in consequence.
    let limited = share >= LIMITED_SHARE && !cell.is_busy() || small.is_some();
    let mut seen = format!("{} in {:.1} % of the time", limit.means, 100.0 * share);
    if let Some(bytes) = small {
        seen += &format!(
            ", a moment each time: no window above {bytes:.0} B is offered, and as much travels"
        );
    }
    cell.saw(seen.clone(), limited.then(|| limited_finding(rule, cell, limit, seen)))
}

/// Over a path of milliseconds a thread that others put aside for less costs nothing: a sender that
/// waits for nearly all of the time waits for a window or a buffer, whoever uses the CPUs. Where
/// both were bounded alike (`-w`) the kernel counts now the one and now the other.
fn is_beyond_noise(cell: &Cell<'_>) -> bool {
    let is_long = cell.trips().is_some_and(|trips| trips.shortest_ns >= LONG_PATH_NS);
    let shares = [keys::LIMITED_BY_WINDOW, keys::LIMITED_BY_BUFFER].map(|c| cell.limited_share(c));
    is_long && shares.into_iter().flatten().sum::<f64>() >= BEYOND_NOISE_SHARE
}

/// On paths this long a thread that others put aside costs little beside a round trip.
pub const LONG_PATH_NS: f64 = 2e6;
const BEYOND_NOISE_SHARE: f64 = 0.8;

/// The flows' smoothed round trips in words: each flow has its own, so of several the median is
/// told with the lowest and the highest of all, those in the window included where they were read.
pub fn round_trips(cell: &Cell<'_>) -> Option<String> {
    let middle = cell.of_sender(|end| median(&round_trips_at(end, Moment::Closing)))?;
    let (low, high) = (
        cell.of_sender(|end: &EndReport| {
            let all = [round_trips_at(end, Moment::Lowest), round_trips_at(end, Moment::Closing)]
                .concat();
            all.into_iter().reduce(f64::min)
        })?,
        cell.of_sender(|end: &EndReport| {
            let all = [round_trips_at(end, Moment::Highest), round_trips_at(end, Moment::Closing)]
                .concat();
            all.into_iter().reduce(f64::max)
        })?,
    );
    let range = if low < high {
        format!(", {:.0} to {:.0} in all flows and the window", low / 1e3, high / 1e3)
    } else {
        String::new()
    };
    Some(format!("; round trip {:.0} us{range}", middle / 1e3))
}

fn round_trips_at(end: &EndReport, moment: Moment) -> Vec<f64> {
    end.readings.each(keys::RTT, moment).map(|(_, ns)| ns as f64).collect()
}

fn limited_finding(rule: &Rule, cell: &Cell<'_>, limit: &Limit, mut seen: String) -> Finding {
    seen += ", counted by TCP";
    if let Some(bytes) = (limit.buffer)(cell.summary) {
        seen += &format!("; buffer in force {bytes}");
    }
    seen += &round_trips(cell).unwrap_or_default();
    let why = match cell.trial.params.socket_buffer_bytes {
        Some(asked) => Why {
            says: format!("{asked} were asked for"),
            remedy: "ask for a larger buffer (--window), or none: the kernel then sizes it itself"
                .to_owned(),
        },
        None => (limit.why)(cell),
    };
    let cpu = match cell.is_busy() {
        true => "a CPU is full of the small packets that this makes",
        false => "neither end's CPU was full",
    };
    let says = format!(
        "The {}'s buffer held TCP back in {}: {}; {cpu}",
        limit.whose, cell.trial.label, why.says
    );
    let remedy = why.remedy;
    finding(rule, cell, Weight::Advice, says, seen, &remedy)
}

/// How often, in words: `once`, `twice`, `7 times`.
pub fn times(count: f64) -> String {
    match count.round() as u64 {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

#[cfg(test)]
pub mod testing {
    //! A measured stream, and what a rule says of it.

    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::Nanos;
    use narrows_model::host::Host;
    use narrows_model::load::{FlowTally, Interval, Params, Role, ThreadUsage, Timeline};
    use narrows_model::reading::Scope;
    use narrows_model::record::{Reported, Stamp};
    use narrows_model::trial::{EndSpec, NetworkPath, TrialId};

    const SECOND_NS: u64 = 1_000_000_000;

    /// One end that moved ten gigabits in a second with half of a CPU.
    pub fn end(sends: bool) -> EndReport {
        let flow = FlowTally {
            bytes: Bytes(1_250_000_000),
            messages: 20_000,
            sends,
            ..Default::default()
        };
        let thread = ThreadUsage {
            wall_ns: Nanos(SECOND_NS),
            system_ns: Nanos(SECOND_NS / 2),
            ..Default::default()
        };
        EndReport {
            window_ns: Nanos(SECOND_NS),
            flows: vec![flow],
            threads: vec![thread],
            ..Default::default()
        }
    }

    /// A study of one stream to a peer, three runs.
    pub fn stream(kind: &str) -> StoredStudy {
        let timeline = Timeline {
            warmup_ns: Nanos(0),
            window_ns: Nanos(SECOND_NS),
            cooldown_ns: Nanos(0),
            interval_ns: None,
        };
        let trial = Trial {
            id: TrialId("a".into()),
            label: kind.into(),
            kind: kind.into(),
            params: Params::of_network(Bytes(65_536), 1),
            ends: EndSpec::anywhere(false),
            path: NetworkPath::Peer,
            timeline,
            levels: Vec::new(),
            notes: Vec::new(),
            engine: None,
        };
        let run = |repeat: u32| Record {
            trial: trial.id.clone(),
            repeat,
            block: repeat,
            outcome: Outcome::Done,
            reports: Reported::list(Some(Box::new(end(false))), Some(Box::new(end(true))), None),
            around: Stamp::default(),
            session: 0,
            external: None,
        };
        let mut study = StoredStudy::unmeasured(Host::default());
        study.records = (0..3).map(run).collect();
        study.trials = vec![trial];
        study
    }

    /// A study of round trips to a peer, each as long, three runs of a thousand.
    pub fn trips(p50_us: u64) -> StoredStudy {
        let mut study = stream("tcp-rr");
        for end in study.records.iter_mut().filter_map(|record| record.of_mut(Role::Sender).next())
        {
            end.round_trips = vec![(Nanos(p50_us * 1000), 1000)];
        }
        study
    }

    /// Sets a reading of every run's sending end.
    pub fn read(study: &mut StoredStudy, source: &str, key: &str, value: u64) {
        for record in &mut study.records {
            if let Some(end) = record.of_mut(Role::Sender).next() {
                end.readings.put_words(source, key, value);
            }
        }
    }

    /// Sets a reading of every run's receiving end.
    pub fn read_receiver(study: &mut StoredStudy, source: &str, key: &str, value: u64) {
        for record in &mut study.records {
            if let Some(end) = record.of_mut(Role::Receiver).next() {
                end.readings.put_words(source, key, value);
            }
        }
    }

    /// Gives each run ten slices at the receiver with these bytes.
    pub fn slices(study: &mut StoredStudy, bytes: &[u64]) {
        let length_ns = Nanos(SECOND_NS / bytes.len() as u64);
        for record in &mut study.records {
            if let Some(end) = record.of_mut(Role::Receiver).next() {
                end.intervals = (0..)
                    .zip(bytes)
                    .map(|(number, bytes)| Interval {
                        start_ns: Nanos(number * length_ns.0),
                        length_ns,
                        bytes: Bytes(*bytes),
                    })
                    .collect();
            }
        }
    }

    /// What a rule says where TCP counted so many per cent of the time at a limit; `busy`: with
    /// both CPUs full.
    pub fn of_limit(rule: &Rule, counter: Counter, percent: u64, busy: bool) -> Verdict {
        let mut study = stream("tcp-stream");
        let limited = counter.key(Scope::Flow(0));
        let word = limited.source.word();
        read(&mut study, word, &limited.to_string(), percent * SECOND_NS / 100);
        // Eight flows with round trips of 60 to 95 us, one of which had 300 for a while.
        for flow in 0..8 {
            read(&mut study, "tcp-info", &format!("flow{flow}.rtt_ns"), 60_000 + 5_000 * flow);
        }
        read(&mut study, "tcp-info", "flow2.highest:rtt_ns", 300_000);
        for record in study.records.iter_mut().filter(|_| busy) {
            for end in record.reports.iter_mut().map(|one| &mut *one.report) {
                end.threads[0].system_ns = end.threads[0].wall_ns;
            }
        }
        of_study(rule, &study)
    }

    /// A limit is found where it took the time, and neither where it did not, nor where a CPU was
    /// full, nor without TCP.
    pub fn is_found_by_its_time(rule: &Rule, counter: Counter) {
        let found = of_limit(rule, counter, 93, false);
        assert!(is_found(&found), "{found:?}");
        assert!(is_clear(&of_limit(rule, counter, 20, false)));
        assert!(is_clear(&of_limit(rule, counter, 93, true)));
        assert!(is_unknown(&of_study(rule, &stream("udp-stream"))));
    }

    /// What a rule says of a study.
    pub fn of_study(rule: &Rule, study: &StoredStudy) -> Verdict {
        let summaries = narrows_stats::summarise(study);
        (rule.judge)(&Case { study, summaries: &summaries, predictions: &[] })
    }
}

#[cfg(test)]
mod tests;
