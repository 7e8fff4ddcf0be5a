//! What credits and latencies say of the two beside what was measured of them, or why they say
//! nothing: only of a NIC's own writes and reads and of what TCP's receivers copy, and only where
//! the family's credits are published.

use super::Line;
use crate::Analysis;
use crate::plots::slowdown::Point;
use narrows_dimm::platform;
use narrows_model::host::Host;
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::units::Unit;
use narrows_model::workload::{Kernel, RdmaVerb, Transport, Workload};
use narrows_predict::contention::{Contention, Copies, CoreWork, DeviceWork};
use narrows_predict::domains::{self, Domains};
use narrows_predict::dram;
use narrows_predict::under_load::UnderLoad;
use narrows_stats::NeighbourTest;
use std::fmt;

/// How many times slower each is to be with the job on so many cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) cores: u32,
    pub(super) traffic: Times,
    pub(super) job: Times,
}

/// How many times slower, with the model's 80 % range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    value: f64,
    low: f64,
    high: f64,
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} x ({:.2} to {:.2})", self.value, self.low, self.high)
    }
}

/// Why nothing is predicted of a test.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Unpredicted {
    /// Nobody has published the credits of this processor's family.
    Family { model: String },
    /// The traffic stays inside the host.
    NoNic,
    /// The figure of the traffic is no rate.
    NoRate,
    /// The model has no such work of cores.
    Work,
    /// The channels of memory are not known.
    Channels,
}

impl fmt::Display for Unpredicted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Family { model } => {
                write!(f, "nobody has published the credits of this processor's family ({model})")
            }
            Self::NoNic => f.write_str("this traffic passes no NIC"),
            Self::NoRate => f.write_str("what was measured of the traffic is no rate of bytes"),
            Self::Work => f.write_str(
                "the model covers only memory jobs that read, or read and write, sequentially",
            ),
            Self::Channels => f.write_str("how many channels of memory are in use is unknown"),
        }
    }
}

/// Slowdowns by the model, and what it took for them.
pub(super) struct Predicted {
    pub(super) steps: Vec<Step>,
    domains: Domains,
    copies: KernelCopies,
}

/// What the model has of the copies that the kernel makes of this traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KernelCopies {
    /// There are none.
    None,
    /// Out of what the NIC wrote, as they were published of receivers.
    Received,
    /// Nobody has published them of senders.
    LeftOut,
    /// This memory cannot carry them at the rate that was measured.
    Cached,
}

impl KernelCopies {
    fn of(kind: &Workload, device: DeviceWork) -> Self {
        match (kind, device) {
            (Workload::Stream(Transport::Rdma(_)) | Workload::Packets, _) => Self::None,
            (Workload::Stream(Transport::Tcp), DeviceWork::Writes) => Self::Received,
            _ => Self::LeftOut,
        }
    }

    /// The same where memory does not carry them.
    fn cached(self) -> Self {
        if self == Self::Received { Self::Cached } else { self }
    }

    fn modelled(self) -> Option<Copies> {
        (self == Self::Received).then_some(Copies::JUMBO_TCP)
    }
}

impl fmt::Display for KernelCopies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "",
            Self::Received => {
                ", with receivers that copy half of their time, as published of frames of 9000 B"
            }
            Self::LeftOut => " and without the kernel's copies",
            Self::Cached => {
                " and without the kernel's copies, which memory could not carry at this rate"
            }
        })
    }
}

/// The steps of a test by the model, with device writes past the cache (DDIO off), as its credits
/// were published.
pub(super) fn of(analysis: &Analysis<'_>, test: &NeighbourTest) -> Result<Predicted, Unpredicted> {
    let host = &analysis.stored.host;
    let model = host.cpu.model.value().cloned().unwrap_or_else(|| "unknown".to_owned());
    let family = domains::of(platform::of(host)).ok_or(Unpredicted::Family { model })?;
    let under_load = UnderLoad::of(analysis.stored, &analysis.summaries).and_then(Result::ok);
    let domains = family.with(under_load.as_ref());
    let trial = analysis.stored.trials.get(test.alone).ok_or(Unpredicted::NoRate)?;
    if trial.path != NetworkPath::Peer {
        return Err(Unpredicted::NoNic);
    }
    let work = work(&test.job).ok_or(Unpredicted::Work)?;
    let offered_gb_s = offered(analysis, test, trial).ok_or(Unpredicted::NoRate)?;
    // Who asks for a read receives it, and a reversed trial is asked for at the other end.
    let is_received = trial.params.is_reverse() != is_read(&trial.kind);
    let device = if is_received { DeviceWork::Writes } else { DeviceWork::Reads };
    let kernel = KernelCopies::of(&trial.kind, device);
    let beside = test.steps.iter().map(|step| {
        let trial = analysis.stored.trials.get(step.trial);
        let peak_gb_s = trial.and_then(|trial| peak_gb_s(host, trial));
        let peak_gb_s = peak_gb_s.ok_or(Unpredicted::Channels)?;
        let (cores, copies) = (f64::from(step.cores), kernel.modelled());
        Ok(Contention { cores, work, offered_gb_s, device, copies, peak_gb_s })
    });
    let mut beside = beside.collect::<Result<Vec<_>, _>>()?;
    let copies = if beside.iter().all(Contention::fits_alone) { kernel } else { kernel.cached() };
    beside.iter_mut().for_each(|all| all.copies = copies.modelled());
    let steps = test.steps.iter().zip(&beside).map(|(step, all)| {
        let (job, traffic) = all.slowdowns(&domains);
        let ranges = all.ranges(&domains);
        let [job, traffic] = [(job, ranges[0]), (traffic, ranges[1])]
            .map(|(value, (low, high))| Times { value, low, high });
        Step { cores: step.cores, traffic, job }
    });
    Ok(Predicted { steps: steps.collect(), domains, copies })
}

/// The two lines of a picture; none where nothing is predicted.
pub(super) fn lines(analysis: &Analysis<'_>, test: &NeighbourTest) -> Vec<Line> {
    let Ok(Predicted { steps, .. }) = of(analysis, test) else { return Vec::new() };
    let line = |name, times: fn(&Step) -> Times| {
        let point = |step: &Step| {
            let Times { value, low, high } = times(step);
            Point { cores: step.cores, times: value, low, high }
        };
        Line { name, points: steps.iter().map(point).collect() }
    };
    vec![
        line("the job, predicted", |step| step.job),
        line("the traffic, predicted", |step| step.traffic),
    ]
}

/// Both slowdowns in a line, or why there are none.
pub(super) fn says(analysis: &Analysis<'_>, test: &NeighbourTest) -> String {
    match of(analysis, test) {
        Ok(Predicted { steps, domains, copies }) => {
            let each = steps.iter().map(|step| {
                let Step { cores, traffic, job } = step;
                format!("{}: {traffic} and {job}", super::plural(*cores))
            });
            format!(
                "predicted slowdown of the traffic and of the job, from the published credits of {}, \
                 without DDIO{copies}: {}",
                domains.family,
                each.collect::<Vec<_>>().join("; ")
            )
        }
        Err(why) => format!("no prediction: {why}"),
    }
}

fn work(job: &Workload) -> Option<CoreWork> {
    let Workload::Memory(kernel) = job else { return None };
    match kernel {
        Kernel::Read => Some(CoreWork::Reads),
        // A line that is written is read first.
        Kernel::Copy | Kernel::Memcpy | Kernel::Triad | Kernel::Write => {
            Some(CoreWork::ReadsAndWrites)
        }
        Kernel::ReadRandom | Kernel::CopyNt | Kernel::TriadNt | Kernel::WriteNt => None,
    }
}

/// Whether this host's NIC writes to its memory although this host asks.
fn is_read(kind: &Workload) -> bool {
    matches!(kind, Workload::Stream(Transport::Rdma(RdmaVerb::Read)))
}

/// What the traffic alone moves, in GB/s.
fn offered(analysis: &Analysis<'_>, test: &NeighbourTest, trial: &Trial) -> Option<f64> {
    let alone = analysis.summaries.get(test.alone)?.estimate?;
    let bytes = match alone.unit {
        Unit::BitsPerSecond => alone.value / 8.0,
        Unit::PacketsPerSecond => alone.value * trial.params.message_bytes.0 as f64,
        _ => return None,
    };
    Some(bytes / 1e9).filter(|rate| *rate > 0.0)
}

/// The peak of the channels of a trial's memory job, in GB/s.
fn peak_gb_s(host: &Host, trial: &Trial) -> Option<f64> {
    let peak = dram::peak_of_node(host, node_of_job(host, trial))?;
    Some(peak.rate_bytes_per_second.0 / 1e9)
}

/// The node that the job's memory is on: the one asked for, else that of its CPUs, which first
/// touch it.
fn node_of_job(host: &Host, trial: &Trial) -> Option<u32> {
    let place = &trial.background()?.place;
    let mut nodes = place.cpus.0.iter().map(|cpu| host.node_of_cpu(*cpu));
    let first = nodes.next().flatten();
    place.node.or_else(|| first.filter(|_| nodes.all(|node| node == first)))
}
