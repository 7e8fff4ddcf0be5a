//! What the model says of a study: of its memory kernels, of the paths inside its host, of every
//! NIC, and of what was measured to a peer. All of it is the answer of [`Predictor`], so that every
//! command that asks the same gets the same.

use crate::calibration::Calibration;
use crate::dram;
use crate::ends;
use crate::engine::{Predictor, of_nic};
use crate::reach::Reach;
use crate::resources::{Gap, Resource};
use crate::round_trip::TRIPS;
use crate::said::Said;
use crate::traffic::Traffic;
use narrows_model::host::{Host, Nic};
use narrows_model::load::Wait;
use narrows_model::options::rdma;
use narrows_model::result::{
    Ceiling, Estimate, Method, PredictedPath, Prediction, ResourceName, Unstated,
};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndHost, EndSpec, NetworkPath, Trial};
use narrows_model::units::Unit;
use narrows_model::workload::{Metric, RdmaVerb, Transport, Workload};
use narrows_stats::Summary;

/// Gb/s to bits a second.
const GIGA: f64 = 1e9;
/// Microseconds to nanoseconds.
const MICRO: f64 = 1e3;

/// Predictions for memory and the local path, when they were measured, for every physical NIC, and
/// for the interface that leads to the peer.
pub fn predict(study: &StoredStudy, summaries: &[Summary]) -> Vec<Prediction> {
    let cells = Cells::of(study, summaries);
    let kernels = summaries.iter().filter(|of| of.metric == Metric::MemoryBandwidth);
    let mut predictions: Vec<Prediction> = kernels.map(|of| cells.kernel(of)).collect();
    for (traffic, kind) in
        [(Traffic::Tcp, Workload::TCP_STREAM), (Traffic::Udp, Workload::UDP_STREAM)]
    {
        let of_kind = || summaries.iter().filter(|of| of.kind == kind);
        predictions.extend(of_kind().filter_map(|of| cells.inside(of, traffic)));
        let to_peers: Vec<ToPeer<'_>> = to_peers(study, summaries, &kind).collect();
        for nic in &study.host.nics {
            let leads = study.study.interfaces.has(&nic.name) && !is_all_among_others(study);
            // A direct measurement asks about its own path only.
            if leads || nic.physical && study.study.peer.is_none() {
                let of = to_peers.iter().find(|of| of.interface == Some(&nic.name));
                predictions.push(between(study, Some(nic), of, &cells.measured, traffic));
            }
        }
        // By an interface that is not known, or none of the host's.
        let led = study.host.nics.iter().any(|nic| study.study.interfaces.has(&nic.name));
        if let Some(of) = to_peers.first().filter(|_| !led) {
            let nic = crate::fastest(&study.host);
            predictions.push(between(study, nic, Some(of), &cells.measured, traffic));
        }
        predictions.extend(of_kind().filter_map(|of| among(study, of, traffic)));
    }
    predictions.extend(summaries.iter().filter_map(|of| cells.round_trip(of)));
    predictions
}

/// The cells of a study as the model is asked about them, each by what it was told and by what else
/// was measured.
pub struct Cells<'a> {
    study: &'a StoredStudy,
    summaries: &'a [Summary],
    /// What was measured, but through a NIC.
    measured: Calibration,
    /// What was measured of memory alone: streams inside the host tell nothing of what they should
    /// have reached.
    memory: Calibration,
}

impl<'a> Cells<'a> {
    /// Of a study, with what its records say.
    pub fn of(study: &'a StoredStudy, summaries: &'a [Summary]) -> Self {
        let kernels = summaries.iter().filter(|one| one.metric == Metric::MemoryBandwidth);
        let kernels: Vec<Summary> = kernels.cloned().collect();
        let memory = Calibration::of(study, &kernels);
        Self { study, summaries, measured: Calibration::but_the_nic(study, summaries), memory }
    }

    /// What the model says of a cell, whatever it is called: to a peer through the interface that
    /// leads there, else through the host's fastest.
    pub fn prediction(&self, trial: &Trial) -> Option<Prediction> {
        let summary = self.summaries.iter().find(|summary| summary.label == trial.label);
        if let Some(kernel) = summary.filter(|of| of.metric == Metric::MemoryBandwidth) {
            return Some(self.kernel(kernel));
        }
        let traffic = match trial.kind {
            Workload::TCP_STREAM => Traffic::Tcp,
            Workload::UDP_STREAM => Traffic::Udp,
            Workload::Stream(Transport::Rdma(RdmaVerb::Write)) => Traffic::ROCE_WRITE,
            _ => return self.round_trip(summary?),
        };
        if trial.path != NetworkPath::Peer || summary.is_some_and(|of| self.is_within(of)) {
            return self.inside(summary?, traffic);
        }
        if trial.is_of_agents() {
            return among(self.study, summary?, traffic);
        }
        if is_of_both_ways(trial) {
            return None;
        }
        let of = ToPeer::of(self.study, trial, summary);
        let nic = of.interface.and_then(|name| self.study.host.nic(name));
        let nic = nic.or_else(|| crate::fastest(&self.study.host))?;
        Some(between(self.study, Some(nic), Some(&of), &self.measured, traffic))
    }

    /// What a memory kernel should reach, beside what it reached.
    fn kernel(&self, kernel: &Summary) -> Prediction {
        let trial = trial_of(self.study, kernel);
        let node = trial.and_then(|trial| trial.params.memory.as_ref()?.node);
        let node = node.or(self.study.study.memory_node);
        let (ceilings, missing) = match dram::peak(&self.study.host, node, kernel) {
            Ok(ceiling) => (vec![ceiling], Vec::new()),
            Err(gap) => (Vec::new(), vec![gap.into()]),
        };
        let lowest = ceilings.first();
        Prediction {
            path: PredictedPath::Memory,
            workload: kernel.kind.clone(),
            cell: Some(kernel.label.clone()),
            range: lowest.map(|lowest| lowest.range),
            bottleneck: lowest.map(|lowest| lowest.resource.clone()),
            ceilings,
            measured: kernel.estimate,
            missing,
            sessions: Vec::new(),
        }
    }

    /// Whether both ends ran on one machine, and their interfaces are no NIC's: a cable may join
    /// two of its ports.
    fn is_within(&self, summary: &Summary) -> bool {
        let is_nic = |name: &str| self.study.host.nic(name).is_some_and(|nic| nic.physical);
        summary.one_machine && !summary.settings.interfaces().any(is_nic)
    }

    /// A stream inside the host that was measured.
    fn inside(&self, summary: &Summary, traffic: Traffic) -> Option<Prediction> {
        let study = self.study;
        let path = match summary.path {
            NetworkPath::Loopback => PredictedPath::Loopback,
            NetworkPath::Namespaces => PredictedPath::Veth,
            NetworkPath::Peer if self.is_within(summary) => PredictedPath::Veth,
            _ => return None,
        };
        // Verbs go past the stack.
        let is_elsewhere = study.study.peer.is_some() && !self.is_within(summary);
        if is_elsewhere || !traffic.is_kernel() {
            return None;
        }
        let mut asked = trial_of(study, summary).map(asked).unwrap_or_default();
        let met = summary.settings.alike(|end| end.path_mtu_bytes);
        if let Some(mtu) = met.or(study.study.path_mtu_bytes) {
            asked.insert("mtu".to_owned(), mtu.0.to_string());
        }
        let engine = through(study, None, &asked, &self.memory);
        let stated = engine.map(|engine| engine.inside(traffic));
        Some(of_summary(path, summary, stated))
    }

    /// What a round trip that was measured should have taken: inside the host by the constants
    /// alone, to a peer with what was measured inside in place of these.
    fn round_trip(&self, summary: &Summary) -> Option<Prediction> {
        let (study, measured) = (self.study, &self.measured);
        let trip = TRIPS.into_iter().find(|trip| trip.workload() == summary.kind)?;
        let trial = trial_of(study, summary).filter(|trial| !trial.is_of_agents())?;
        let mut asked = asked(trial);
        if summary
            .settings
            .sender()
            .and_then(|end| end.wait.as_ref())
            .is_some_and(|wait| *wait != Wait::Block)
        {
            asked.insert("busy-poll".to_owned(), "yes".to_owned());
        }
        let (path, reach) = match trial.path {
            NetworkPath::Peer => {
                let named = study.interface_of(trial).and_then(|name| study.host.nic(name));
                let nic = named.or_else(|| crate::fastest(&study.host))?;
                let engine = through(study, Some(nic), &asked, measured).ok()?;
                (PredictedPath::Interface(nic.name.clone()), engine.round_trip(trip)?)
            }
            // Past the stack, and through the device twice: no constant is of that.
            NetworkPath::Devices => return None,
            _ => {
                let engine = through(study, None, &asked, &Calibration::default()).ok()?;
                (PredictedPath::Stack, engine.round_trip_inside(trip)?)
            }
        };
        Some(of_summary(path, summary, Ok(reach)))
    }
}

/// What the model says of one cell; who asks of several keeps the [`Cells`].
pub fn of_cell(study: &StoredStudy, summaries: &[Summary], trial: &Trial) -> Option<Prediction> {
    Cells::of(study, summaries).prediction(trial)
}

/// A cell that was measured from this host to a peer.
struct ToPeer<'a> {
    trial: &'a Trial,
    /// This host's interface by which it went, where that is known.
    interface: Option<&'a str>,
    /// What its runs say; `None` before the first.
    summary: Option<&'a Summary>,
}

impl<'a> ToPeer<'a> {
    fn of(study: &'a StoredStudy, trial: &'a Trial, summary: Option<&'a Summary>) -> Self {
        Self { trial, interface: study.interface_of(trial), summary }
    }

    /// What was asked of it, with the MTU that its runs met: levels of a study set another than the
    /// host had when it was read.
    fn asked(&self) -> Said {
        let mut said = asked(self.trial);
        let met = self.summary.and_then(|of| of.settings.alike(|end| end.path_mtu_bytes));
        said.extend(met.map(|mtu| ("mtu".to_owned(), mtu.0.to_string())));
        said
    }
}

/// The cells of a kind from this host to peers.
fn to_peers<'a>(
    study: &'a StoredStudy,
    summaries: &'a [Summary],
    kind: &'a Workload,
) -> impl Iterator<Item = ToPeer<'a>> {
    let of_kind =
        summaries.iter().filter(move |of| of.path == NetworkPath::Peer && of.kind == *kind);
    let own = of_kind.filter_map(move |of| Some((trial_of(study, of)?, of)));
    own.filter(|(trial, _)| !trial.is_of_agents() && !is_of_both_ways(trial))
        .map(move |(trial, summary)| ToPeer::of(study, trial, Some(summary)))
}

/// Whether a cell's figure is the sum of two directions, which a link, a slot and a NIC carry each
/// by itself: what each of them does of both at once nobody has measured here.
fn is_of_both_ways(trial: &Trial) -> bool {
    trial.params.is_bidirectional()
}

/// Whether no cell over a network has an end there.
fn is_all_among_others(study: &StoredStudy) -> bool {
    let mut trials = study.trials.iter().filter(|of| of.path == NetworkPath::Peer).peekable();
    trials.peek().is_some() && trials.all(Trial::is_of_agents)
}

/// What a path through this port reaches, and on to the peer where one was met: the end that can
/// less decides.
fn between(
    study: &StoredStudy,
    nic: Option<&Nic>,
    of: Option<&ToPeer<'_>>,
    measured: &Calibration,
    traffic: Traffic,
) -> Prediction {
    let asked = of.map(ToPeer::asked).unwrap_or_default();
    let engine = through(study, nic, &asked, measured);
    let stated = engine.and_then(|engine| through_nic(&engine, traffic));
    let workload = match traffic {
        Traffic::Udp => Workload::UDP_STREAM,
        Traffic::Rdma(..) => Workload::Stream(Transport::Rdma(RdmaVerb::Write)),
        _ => Workload::TCP_STREAM,
    };
    let path =
        || nic.map_or(PredictedPath::ToPeer, |nic| PredictedPath::Interface(nic.name.clone()));
    let near = Prediction {
        measured: of.and_then(|of| of.summary?.estimate),
        cell: of.map(|of| of.trial.label.clone()),
        ..prediction(path(), workload.clone(), stated)
    };
    let only = match study.peer_hosts.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    let met = of.and_then(|of| study.far_host(of.trial)).or(only);
    let Some(far) = met else { return near };
    let port = ends::far_nic(far, nic);
    let engine = of_nic(far, port, &asked, &Calibration::default());
    let engine = engine.map_err(|why| Gap::new(ResourceName::Server, why.to_string()));
    let stated = engine.and_then(|engine| through_nic(&engine, traffic));
    let far = stated.map(|stated| prediction(path(), workload, Ok(stated)));
    ends::met(near, far.ok())
}

/// What the path between two agents reaches, by the facts of their own hosts: nothing was
/// calibrated there. `None` where the controller has an end, or several pairs share the hosts.
fn among(study: &StoredStudy, summary: &Summary, traffic: Traffic) -> Option<Prediction> {
    let trial = trial_of(study, summary)?;
    let pair = trial.pairs().next().filter(|_| trial.is_of_agents())?;
    if trial.pairs().count() > 1 || is_of_both_ways(trial) {
        return None;
    }
    let host = |end: &EndSpec| match end.host {
        EndHost::Peer(at) => study.peer_hosts.get(at as usize),
        EndHost::Controller => None,
    };
    let (near, far) = (host(pair.sender)?, host(pair.receiver)?);
    let used = study.records_of(trial).find_map(|record| record.sender());
    let used = used.and_then(|report| near.nic(report.effective.interface.as_deref()?));
    let nic = used.or_else(|| crate::fastest(near));
    let names = [pair.sender, pair.receiver].map(|end| study.host_name(end.host));
    let asked = asked(trial);
    let of = |host: &Host, nic: Option<&Nic>| {
        let engine = of_nic(host, nic, &asked, &Calibration::default());
        let engine = engine.map_err(|why| Gap::new(ResourceName::Server, why.to_string()));
        let stated = engine.and_then(|engine| through_nic(&engine, traffic));
        of_summary(PredictedPath::Between(names.clone()), summary, stated)
    };
    Some(ends::met(of(near, nic), Some(of(far, ends::far_nic(far, nic)))))
}

fn trial_of<'a>(study: &'a StoredStudy, summary: &Summary) -> Option<&'a Trial> {
    study.trials.iter().find(|trial| trial.label == summary.label)
}

/// What a trial asks: its messages, how many streams of them there are over all of its pairs and in
/// both directions, and their congestion control.
fn asked(trial: &Trial) -> Said {
    let params = &trial.params;
    let ways = if params.is_bidirectional() { 2 } else { 1 };
    let streams = params.streams.max(1) as usize * trial.pairs().count().max(1) * ways;
    let mut said = Said::from([("streams".to_owned(), streams.to_string())]);
    if params.message_bytes.0 > 0 {
        // Of two sizes in turn the mean: each message costs something beside its bytes.
        let alternate = rdma::ALTERNATE.of(params);
        let mean = params.message_bytes.0.midpoint(alternate.unwrap_or(params.message_bytes).0);
        said.insert("message".to_owned(), mean.to_string());
    }
    if let Some(congestion) = &params.congestion {
        said.insert("congestion".to_owned(), congestion.clone());
    }
    said
}

/// The study's host as it is asked about, with what was measured on it.
fn through(
    study: &StoredStudy,
    nic: Option<&Nic>,
    asked: &Said,
    measured: &Calibration,
) -> Result<Predictor, Gap> {
    let engine = of_nic(&study.host, nic, asked, measured);
    let mut engine = engine.map_err(|why| Gap::new(ResourceName::Server, why.to_string()))?;
    engine.parameters = engine.parameters.calibrated(&engine.server, measured);
    Ok(engine)
}

fn through_nic(engine: &Predictor, traffic: Traffic) -> Result<Reach, Gap> {
    engine.reach(traffic).ok_or_else(|| Gap::new(ResourceName::Wire, "there is no NIC"))
}

/// An answer of a cell that was measured.
fn of_summary(path: PredictedPath, summary: &Summary, stated: Result<Reach, Gap>) -> Prediction {
    let (cell, measured) = (Some(summary.label.clone()), summary.estimate);
    Prediction { cell, measured, ..prediction(path, summary.kind.clone(), stated) }
}

/// An answer as a study has it, in bits a second.
fn prediction(path: PredictedPath, workload: Workload, stated: Result<Reach, Gap>) -> Prediction {
    let nothing = Prediction {
        path,
        workload,
        cell: None,
        range: None,
        bottleneck: None,
        ceilings: Vec::new(),
        measured: None,
        missing: Vec::new(),
        sessions: Vec::new(),
    };
    match stated {
        Err(gap) => Prediction { missing: vec![gap.into()], ..nothing },
        Ok(reach) => Prediction {
            range: reach
                .bottleneck
                .is_some()
                .then(|| modelled(reach.is_sum, [reach.value, reach.low, reach.high])),
            bottleneck: reach.bottleneck.map(Into::into),
            ceilings: reach.resources.iter().map(|one| ceiling(one, reach.is_sum)).collect(),
            missing: reach.missing.into_iter().map(Unstated::from).collect(),
            ..nothing
        },
    }
}

fn ceiling(resource: &Resource, is_sum: bool) -> Ceiling {
    let mut provenance = Vec::new();
    for parameter in &resource.parameters {
        if !provenance.contains(&parameter.from) {
            provenance.push(parameter.from.clone());
        }
    }
    Ceiling {
        resource: resource.name.into(),
        range: modelled(is_sum, [resource.value, resource.low, resource.high]),
        says: resource.says.clone(),
        only_if: resource.only_if.clone(),
        provenance,
    }
}

/// A modelled rate, or time of a round trip, with its range.
fn modelled(is_time: bool, of: [f64; 3]) -> Estimate {
    let (unit, factor) = if is_time { (Unit::Nanos, MICRO) } else { (Unit::BitsPerSecond, GIGA) };
    let [value, low, high] = of.map(|one| one * factor);
    Estimate { value, low, high, unit, n: 0, by: Method::Model }
}
