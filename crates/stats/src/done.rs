//! Runs that were made to the end, and what each of them says.

use crate::corrupted::Corrupted;
use crate::reconcile::{Reconciled, reconcile};
use crate::{median, median_interval, noise, percentiles, total};
use narrows_model::Nanos;
use narrows_model::load::{EndReport, FlowTally, Role};
use narrows_model::record::{Outcome, Record};
use narrows_model::result::Estimate;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_model::workload::Metric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Confidence of the intervals.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// One run's value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Value {
    /// In the metric's unit.
    pub value: f64,
    /// Which repeat of the cell it is, from 0.
    pub repeat: u32,
    /// Whether others used the host meanwhile; the value counts all the same.
    pub noisy: bool,
    /// Which session it was made in, from 0: runs without a long pause between them.
    #[serde(default)]
    pub session: u32,
}

/// Median over the runs of what each run has.
pub(crate) fn over<'a>(
    done: &[Done<'a>],
    unit: Unit,
    value: impl Fn(&Done<'a>) -> Option<f64>,
) -> Option<Estimate> {
    let values: Vec<f64> = done.iter().filter_map(value).collect();
    median_interval(&values, CONFIDENCE, unit)
}

/// A run that was made to the end.
pub(crate) struct Done<'a> {
    pub record: &'a Record,
    pub receiver: &'a EndReport,
    pub sender: Option<&'a EndReport>,
}

impl<'a> Done<'a> {
    pub(crate) fn of(record: &'a Record) -> Option<Self> {
        let receiver = record.receiver().filter(|receiver| receiver.window_ns.0 > 0)?;
        let done = record.outcome == Outcome::Done && Corrupted::of(record).is_none();
        done.then_some(Self { record, receiver, sender: record.sender() })
    }

    pub(crate) fn value(&self, metric: Metric) -> Option<Value> {
        let value = match metric {
            Metric::Goodput => 8.0 * self.received(|flow| flow.bytes.0),
            Metric::PacketRate => self.received(|flow| flow.messages),
            Metric::MemoryBandwidth => self.received(|flow| flow.bytes.0),
            Metric::RoundTripP50 => self.p50_ns()?.0 as f64,
            Metric::ConnectionRate => self.trips_per_second()?,
            // Only other tools state these.
            Metric::Latency | Metric::Rate | Metric::FloatingPointRate => return None,
            Metric::LoadToUse => {
                let loads = self.receiver.flows.first()?.messages;
                (loads > 0).then(|| self.receiver.window_ns.0 as f64 / loads as f64)?
            }
        };
        let noisy = noise(self.record).is_some_and(|noise| noise.is_noisy());
        Some(Value { value, repeat: self.record.repeat, noisy, session: 0 })
    }

    /// What the flows of an end that count what arrived counted a second.
    fn rate(end: &EndReport, what: impl Fn(&FlowTally) -> u64) -> f64 {
        let counted = total(end.flows.iter().filter(|flow| flow.counts()).map(what));
        counted as f64 / end.window_ns.seconds().max(1e-9)
    }

    /// What both directions received a second, each in the window of the end that counts it.
    pub(crate) fn received(&self, what: impl Fn(&FlowTally) -> u64) -> f64 {
        let ends = self.receivers().chain(self.counting_senders());
        ends.map(|end| Self::rate(end, &what)).sum()
    }

    pub(crate) fn receivers(&self) -> impl Iterator<Item = &'a EndReport> + use<'a> {
        self.record.of(Role::Receiver)
    }

    /// All that send, or ask.
    pub(crate) fn senders(&self) -> impl Iterator<Item = &'a EndReport> + Clone + use<'a> {
        self.record.of(Role::Sender)
    }

    /// Sender and receiver of each pair.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (Option<&'a EndReport>, &'a EndReport)> {
        let senders = self.senders().map(Some).chain(std::iter::repeat(None));
        senders.zip(self.receivers())
    }

    /// All ends but the background load.
    pub(crate) fn ends(&self) -> impl Iterator<Item = &'a EndReport> + use<'a> {
        self.receivers().chain(self.senders())
    }

    /// The senders, where they count what arrived: both ends receive, or the receivers take no
    /// part.
    fn counting_senders(&self) -> impl Iterator<Item = &'a EndReport> + use<'a> {
        let both = self.receiver.flows.iter().any(|flow| flow.sends);
        let counts = both || self.is_one_sided();
        self.senders().filter(move |_| counts)
    }

    fn is_one_sided(&self) -> bool {
        self.receiver.flows.iter().any(|flow| flow.one_sided)
    }

    /// Bytes a second of the backlogs of all ends of a role, which were read and had come before
    /// their windows.
    pub(crate) fn backlog(&self, run: &Reconciled, end: Role) -> f64 {
        self.record
            .of(end)
            .enumerate()
            .map(|(pair, report)| {
                run.beyond_bytes(end, pair).unwrap_or(0) as f64
                    / report.window_ns.seconds().max(1e-9)
            })
            .sum()
    }

    /// Bytes a second that went back, without what had come before the window.
    pub(crate) fn back_bytes(&self, trial: &Trial) -> f64 {
        let end = if self.is_one_sided() { Role::Receiver } else { Role::Sender };
        let run = reconcile(trial, Metric::Goodput, self.record);
        self.back(|flow| flow.bytes.0) - run.map_or(0.0, |run| self.backlog(&run, end))
    }

    /// What of the figure went back, in its unit.
    pub(crate) fn went_back(&self, trial: &Trial, metric: Metric) -> f64 {
        self.of_byte(metric) * self.back_bytes(trial)
    }

    /// What went from the receiver to the sender a second: something only where both send.
    fn back(&self, what: impl Fn(&FlowTally) -> u64) -> f64 {
        if self.is_one_sided() {
            self.receivers().map(|end| Self::rate(end, &what)).sum()
        } else {
            self.counting_senders().map(|end| Self::rate(end, &what)).sum()
        }
    }

    /// Round trips, or connections, a second, as the ends that ask counted them, each in its own
    /// window; `None` where one of them has none.
    pub(crate) fn trips_per_second(&self) -> Option<f64> {
        let each = self.senders().map(|sender| {
            let trips = total(sender.flows.iter().map(|flow| flow.messages));
            (sender.window_ns.0 > 0).then(|| trips as f64 / sender.window_ns.seconds())
        });
        each.reduce(|all, one| Some(all? + one?)).flatten()
    }

    /// What a byte that arrived counts for in the metric: eight bits, or a part of a packet.
    pub(crate) fn of_byte(&self, metric: Metric) -> f64 {
        let packets = || self.received(|flow| flow.messages);
        match metric {
            Metric::PacketRate => packets() / self.received(|flow| flow.bytes.0).max(1.0),
            _ => 8.0,
        }
    }

    pub(crate) fn jitter_ns(&self) -> Option<f64> {
        let jitters = self.receiver.flows.iter().filter_map(|flow| Some(flow.jitter_ns?.0 as f64));
        median(&jitters.collect::<Vec<f64>>())
    }

    pub(crate) fn received_bytes(&self) -> u64 {
        total(self.receivers().chain(self.counting_senders()).map(|end| {
            total(end.flows.iter().filter(|flow| flow.counts()).map(|flow| flow.bytes.0))
        }))
    }

    pub(crate) fn is_one_machine(&self) -> bool {
        self.sender
            .and_then(machine_of)
            .is_some_and(|machine| machine_of(self.receiver) == Some(machine))
    }

    /// Half of all round trips, of whatever pair, were faster.
    fn p50_ns(&self) -> Option<Nanos> {
        percentiles(self.senders().map(|sender| sender.round_trips.as_slice()))?.p50_ns
    }
}

fn machine_of(end: &EndReport) -> Option<String> {
    end.effective.machine.clone()
}
