//! What was measured in place of what is assumed: the copy's bandwidth, remote over local latency,
//! what one stream's busiest CPU allows, and what TCP and UDP reached through the NIC.

use crate::measured::Measured;
use crate::root_lines::RootLines;
use crate::server::fastest;
use crate::stream_cost::{Point, StreamCost};
use crate::streams::{Adding, Crowd, has_cpus};
use crate::traffic::Traffic;
use crate::under_load::{BesideReads, NoCurve, UnderLoad};
use narrows_model::host::Host;
use narrows_model::load::Role;
use narrows_model::options::kernels;
use narrows_model::study::StoredStudy;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial;
use narrows_model::workload::Metric;
use narrows_model::workload::{Kernel, Transport, Workload};
use narrows_stats::{Label, Summary};
use schemars::JsonSchema;
use serde::Serialize;

/// A busiest thread from this share of a CPU on sets the rate.
const CPU_FULL: f64 = 0.95;

/// What a study of this host says of its resources.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Calibration {
    /// GB/s that cross the bus of one node in a copy by all its CPUs.
    pub copy_gb_s: Option<Measured>,
    /// The node that was copied on; `None` where memory was bound to none.
    pub node: Option<u32>,
    /// Latency of the other socket's memory over that of the own.
    pub remote_over_local: Option<Measured>,
    /// How long lines wait under load.
    pub under_load: Option<UnderLoad>,
    /// The same where the peak of the study's host is not known, and may be said.
    #[serde(skip)]
    pub beside_reads: Option<BesideReads>,
    /// Lines that devices had in flight in the root complex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_lines: Option<RootLines>,
    /// TCP that one stream's busiest CPU could carry, by message size.
    pub tcp_stream: StreamCost,
    /// UDP that one stream's busiest CPU could carry, by message size.
    pub udp_stream: StreamCost,
    /// TCP with other congestion controls than the host's default, by name.
    pub tcp_others: Vec<(String, StreamCost)>,
    /// How TCP streams add that have a CPU for each end.
    pub streams_add: Option<Adding>,
    /// How they add inside the host, with the CPUs that there are.
    pub inside_add: Option<Adding>,
    /// A round trip of TCP between two ends on this host, in microseconds.
    pub round_trip_us: Option<Measured>,
    /// TCP through the NIC, where no CPU was full, in Gb/s.
    pub tcp_gbps: Option<Measured>,
    /// UDP through the NIC, where no CPU was full, in Gb/s.
    pub udp_gbps: Option<Measured>,
    /// What was measured and is not used, and why.
    pub unused: Vec<String>,
}

/// GB/s that a copy moves over the memory bus of a host, all nodes together: what is attainable in
/// practice. A copy is measured on one node, and counters tell all of them. `None` without a copy
/// beyond the caches.
pub fn attainable_gb_s(study: &StoredStudy, summaries: &[Summary]) -> Option<f64> {
    let nodes = study.host.nodes.len().max(1) as f64;
    Calibration::of(study, summaries).copy_gb_s.map(|copy| copy.value * nodes)
}

/// Whether the memory of a trial is of all nodes in turn.
fn is_interleaved(study: &StoredStudy, summary: &Summary) -> bool {
    let mut own = study.trials.iter().filter(|trial| trial.label == summary.label);
    own.any(|trial| kernels::INTERLEAVE.of(&trial.params) == Some(true))
}

impl Calibration {
    pub fn of(study: &StoredStudy, all: &[Summary]) -> Self {
        let mut one = Self::default();
        if study.study.command == StudyKind::Import {
            one.unused.push("imported figures are of another host".to_owned());
            return one;
        }
        one.node = study.study.memory_node;
        one.memory(study, all);
        one.root_lines = RootLines::of(study, all);
        one.round_trip_us = inside(all);
        one.streams_add = Adding::of(study, all, Crowd::OneToACpu);
        one.inside_add = Adding::of(study, all, Crowd::Inside);
        for (kind, path) in
            [(Workload::TCP_STREAM, Traffic::Tcp), (Workload::UDP_STREAM, Traffic::Udp)]
        {
            one.network(study, all, &kind, path);
        }
        one
    }

    /// The same without what went through the NIC: what was reached there is what is asked about.
    pub fn but_the_nic(study: &StoredStudy, all: &[Summary]) -> Self {
        let inside: Vec<Summary> = all
            .iter()
            .filter(|summary| summary.path != trial::NetworkPath::Peer)
            .cloned()
            .collect();
        Self::of(study, &inside)
    }

    /// Whether streams tell what a CPU can do.
    pub fn has_streams(&self) -> bool {
        [&self.tcp_stream, &self.udp_stream].iter().any(|cost| !cost.points().is_empty())
    }

    /// Nothing measured that the model could use.
    pub fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    /// All figures by name and unit.
    pub fn all(&self) -> Vec<(String, &'static str, &Measured)> {
        let one = |name: &str, unit, figure| Some((name.to_owned(), unit, Option::as_ref(figure)?));
        let others = self.tcp_others.iter().map(|(name, cost)| (format!("TCP {name}"), cost));
        let streams = [("TCP", &self.tcp_stream), ("UDP", &self.udp_stream)].into_iter();
        let streams = streams.map(|(name, cost)| (name.to_owned(), cost)).chain(others);
        let streams = streams.flat_map(|(name, cost)| {
            let said = move |point: &Point| format!("{name} of a CPU, {} B", point.message_bytes);
            cost.points().iter().map(move |point| (said(point), "Gb/s", &point.gbps))
        });
        let adding = [("", &self.streams_add), (" inside", &self.inside_add)];
        let adding = adding.into_iter().flat_map(|(place, adding)| {
            let points = adding.iter().flat_map(|adding| adding.points());
            points.map(move |point| {
                let name = format!("{} TCP streams over one{place}", point.streams);
                (name, "x", &point.over_one)
            })
        });
        let credits = self.root_lines.as_ref().and_then(RootLines::credits);
        let credits =
            credits.map(|lines| ("a device's writes in flight at most".to_owned(), "lines", lines));
        let memory = [
            one("copy over the bus", "GB/s", &self.copy_gb_s),
            one("remote over local latency", "x", &self.remote_over_local),
            one("TCP's round trip inside", "us", &self.round_trip_us),
        ];
        let through = [
            one("TCP through the NIC", "Gb/s", &self.tcp_gbps),
            one("UDP through the NIC", "Gb/s", &self.udp_gbps),
        ];
        let under_load = self.under_load.iter().flat_map(UnderLoad::points).map(|point| {
            let used = 100.0 * point.used;
            (format!("a load with {used:.0} % of the channels used"), "ns", &point.latency)
        });
        let memory = memory.into_iter().flatten().chain(credits).chain(under_load);
        let all = memory.chain(streams).chain(adding);
        all.chain(through.into_iter().flatten()).collect()
    }

    fn memory(&mut self, study: &StoredStudy, all: &[Summary]) {
        let copies = all.iter().filter(|summary| summary.kind == Workload::Memory(Kernel::Copy));
        let (spread, copies): (Vec<&Summary>, Vec<&Summary>) =
            copies.partition(|copy| is_interleaved(study, copy));
        if !spread.is_empty() {
            self.unused.push("memory-copy over all nodes: no copy of one node".to_owned());
        }
        let copies = copies.into_iter();
        match copies.clone().find(|summary| summary.labels.contains(&Label::CacheResident)) {
            Some(_) => self.unused.push("memory-copy: it may fit in the caches".to_owned()),
            None => {
                let best = copies
                    .filter_map(|copy| {
                        let percent =
                            copy.settings.sender().and_then(|end| end.bus_percent_of_counted);
                        let percent = percent.unwrap_or(100);
                        Measured::of(copy, f64::from(percent) / 100.0 / 1e9)
                    })
                    .max_by(|a, b| a.value.total_cmp(&b.value));
                self.copy_gb_s = best;
            }
        }
        self.remote_over_local = latencies(study, all);
        match BesideReads::of(study, all) {
            Some(Ok(reads)) => match reads.of_host(&study.host) {
                Err(NoCurve::Peak) => self.beside_reads = Some(reads),
                curve => self.curve(curve),
            },
            Some(Err(why)) => self.curve(Err(why)),
            None => {}
        }
    }

    fn curve(&mut self, curve: Result<UnderLoad, NoCurve>) {
        match curve {
            Ok(curve) => self.under_load = Some(curve),
            Err(why) => self.unused.push(why.unused()),
        }
    }

    fn network(&mut self, study: &StoredStudy, all: &[Summary], kind: &Workload, path: Traffic) {
        // One direction, at full speed, with nothing beside it.
        let plain = |summary: &&Summary| {
            let trial = study.trials.iter().find(|trial| trial.label == summary.label);
            trial.is_some_and(|trial| {
                let params = &trial.params;
                let alone = trial.background().is_none() && params.rate_bps.is_none();
                alone && !params.is_bidirectional()
            })
        };
        let own = all.iter().filter(|summary| {
            summary.kind == *kind && summary.engine.is_none() && summary.estimate.is_some()
        });
        let own = own.filter(plain);
        let through = own.clone().filter(|summary| summary.path == trial::NetworkPath::Peer);
        let through = through.max_by(|a, b| rate(a).total_cmp(&rate(b)));
        let of = |local: bool| {
            let all = own
                .clone()
                .filter(move |summary| (summary.path != trial::NetworkPath::Peer) == local);
            let all = all.filter_map(|summary| full_cpu(study, summary));
            all.collect::<Vec<(Option<String>, Point)>>()
        };
        let (near, far) = (of(true), of(false));
        for (congestion, point) in if far.is_empty() { near } else { far } {
            self.stream(path, congestion).add(point);
        }
        let ended = match path {
            Traffic::Tcp => &mut self.tcp_gbps,
            _ => &mut self.udp_gbps,
        };
        let Some(summary) = through else { return };
        match busiest(summary) {
            Some(share) if share >= CPU_FULL => self.unused.push(format!(
                "{}: a CPU was full, so it says nothing of other resources",
                summary.label
            )),
            _ if summary.one_machine => {
                self.unused.push(format!("{}: both ends were on one machine", summary.label));
            }
            // The NIC that is asked about is the fastest.
            _ => match (interface_of(study, summary), fastest(&study.host)) {
                (Some(used), Some(nic)) if used != nic.name => self.unused.push(format!(
                    "{}: it went through {used}, and the fastest NIC is {}",
                    summary.label, nic.name
                )),
                _ => *ended = Measured::of(summary, 1e-9),
            },
        }
    }
}

fn rate(summary: &&Summary) -> f64 {
    summary.estimate.map_or(0.0, |estimate| estimate.value)
}

/// The interface by which a cell went.
fn interface_of<'a>(study: &'a StoredStudy, summary: &Summary) -> Option<&'a str> {
    let trial = study.trials.iter().find(|trial| trial.label == summary.label)?;
    study.interface_of(trial)
}

impl Calibration {
    /// The streams of a path; of TCP those with this congestion control, if not with the default.
    fn stream(&mut self, path: Traffic, congestion: Option<String>) -> &mut StreamCost {
        let name = match (path, congestion) {
            (Traffic::Tcp, None) => return &mut self.tcp_stream,
            (Traffic::Tcp, Some(name)) => name,
            _ => return &mut self.udp_stream,
        };
        let at = self.tcp_others.iter().position(|(other, _)| *other == name);
        let at = at.unwrap_or_else(|| {
            self.tcp_others.push((name, StreamCost::default()));
            self.tcp_others.len() - 1
        });
        &mut self.tcp_others[at].1
    }
}

/// The congestion control of a cell where it is not the host's default.
fn other_congestion(study: &StoredStudy, trial: &trial::Trial) -> Option<String> {
    let asked = trial.params.congestion.clone()?;
    let default = study.host.tuning.get("net.ipv4.tcp_congestion_control");
    (default.and_then(|fact| fact.value()) != Some(&asked)).then_some(asked)
}

/// A stream, stretched until its busiest CPU is full, with its congestion control.
fn full_cpu(study: &StoredStudy, summary: &Summary) -> Option<(Option<String>, Point)> {
    let trial = study.trials.iter().find(|trial| trial.label == summary.label)?;
    // Threads that share a CPU are busy for a part of the time that this CPU is.
    if trial.params.streams > 1 && !has_cpus(study, trial) {
        return None;
    }
    let share = busiest(summary)?.clamp(0.05, 1.0);
    let flows = f64::from(trial.params.streams.max(1));
    let mut gbps = Measured::of(summary, 1.0 / share / flows / 1e9)?;
    // Time that a thread sleeps need not be free.
    gbps.low *= share;
    let message_bytes = trial.params.message_bytes.0 as f64;
    let congestion = other_congestion(study, trial);
    (message_bytes > 0.0).then_some((congestion, Point { message_bytes, gbps }))
}

/// The busier end's busiest thread.
fn busiest(summary: &Summary) -> Option<f64> {
    let cpu = summary.cpu.as_ref()?;
    let shares = [cpu.sender_share, cpu.receiver_share].into_iter().flatten();
    shares.max_by(f64::total_cmp)
}

/// The shortest round trip of TCP between two ends on this host, with nothing beside it.
fn inside(all: &[Summary]) -> Option<Measured> {
    let found = all
        .iter()
        .filter(|summary| {
            summary.kind == Workload::RoundTrip(Transport::Tcp)
                && summary.path != trial::NetworkPath::Peer
        })
        .filter_map(|summary| Measured::of(summary, 1e-3));
    found.min_by(|one, other| one.value.total_cmp(&other.value))
}

/// Remote over local latency, of cells that bind memory to nodes: the largest set of each.
fn latencies(study: &StoredStudy, all: &[Summary]) -> Option<Measured> {
    let cells = all.iter().filter(|summary| summary.metric == Metric::LoadToUse);
    let of = |remote: bool| {
        let placed = cells.clone().filter_map(|summary| {
            let trial = study.trials.iter().find(|trial| trial.label == summary.label)?;
            let memory = trial.params.memory.as_ref()?.node?;
            let cpu = trial.place(Role::Receiver).cpus.0.first()?;
            let node = node_of(&study.host, *cpu)?;
            ((memory != node) == remote).then_some((trial.params.working_set_bytes, summary))
        });
        let largest = placed.max_by_key(|(size, _)| *size)?.1;
        Measured::of(largest, 1.0)
    };
    let (near, far) = (of(false)?, of(true)?);
    Some(Measured {
        value: far.value / near.value,
        low: far.low / near.high,
        high: far.high / near.low,
        from: format!("{} over {}", far.from, near.from),
    })
}

fn node_of(host: &Host, cpu: u32) -> Option<u32> {
    host.cpu.places.iter().find(|place| place.cpu == cpu)?.node
}
