//! How a trial was set up, as its ends read it back: of many pairs each pair by itself, those that
//! were alike together.

use super::{counted, middle, trial_is_memory};
use crate::Analysis;
use narrows_model::calls;
use narrows_model::load::{Effective, Role, Wait};
use narrows_model::options;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndHost, EndSpec, Pair, Placement, Trial};
use narrows_model::workload::Metric;
use narrows_stats::{PairSettings, Summary};

/// Most pairs of one group that are named.
const NAMED_MAX: usize = 4;

/// One pair of a trial: what was planned, and what was read back.
struct Seen<'a> {
    /// `None` of an imported run.
    planned: Option<Pair<'a>>,
    /// `None` before its first run was made.
    had: Option<PairSettings>,
}

impl Seen<'_> {
    fn all<'a>(trial: &'a Trial, summary: &Summary) -> Vec<Seen<'a>> {
        let mut planned = trial.pairs();
        let mut had = summary.settings.pairs().into_iter();
        let count = trial.pairs().count().max(1);
        (0..count).map(|_| Seen { planned: planned.next(), had: had.next() }).collect()
    }

    fn used(&self) -> Effective {
        self.had.as_ref().map(|had| had.used.clone()).unwrap_or_default()
    }

    fn name(&self, stored: &StoredStudy) -> String {
        let hosts = self.planned.map(|pair| [pair.sender.host, pair.receiver.host]);
        let [from, to] = hosts.unwrap_or_default().map(|host| stored.host_name(host));
        format!("{from} to {to}")
    }
}

/// How a trial was set up: everything that moves its figure, and the socket buffers.
pub fn set_up(analysis: &Analysis<'_>, summary: &Summary) -> String {
    let short = brief(analysis, summary);
    if trial_is_memory(summary) || summary.settings.senders().any(|end| end.rdma.is_some()) {
        return short;
    }
    let Some(trial) = trial_of(analysis, summary) else { return short };
    let buffers = Seen::all(trial, summary);
    let buffers = buffers.iter().map(|seen| (seen, buffers_of(trial, seen)));
    format!("{short}, {}", by_pair(analysis.stored, buffers.collect()))
}

/// How a trial was set up, in half a line.
pub fn brief(analysis: &Analysis<'_>, summary: &Summary) -> String {
    let Some(trial) = trial_of(analysis, summary) else { return String::new() };
    let pairs = Seen::all(trial, summary);
    if trial_is_memory(summary) {
        return of_memory(trial, summary, &pairs[0].used());
    }
    let flows = counted(trial.params.streams as usize, "flow");
    let says = match summary.metric {
        Metric::ConnectionRate => counted(trial.params.streams as usize, "thread"),
        Metric::PacketRate => format!("{flows} of {} frames", trial.params.message_bytes),
        _ => format!("{flows} of {} messages", trial.params.message_bytes),
    };
    let each = pairs.iter().map(|seen| (seen, of_pair(trial, summary, seen)));
    format!("{says}, {}", by_pair(analysis.stored, each.collect()))
}

/// What the kernel says of the path, and the socket buffers asked for and given.
pub fn path_of(analysis: &Analysis<'_>, summary: &Summary) -> Option<String> {
    let trial = trial_of(analysis, summary)?;
    let pairs = Seen::all(trial, summary);
    let each = pairs.iter().map(|seen| Some((seen, path_of_pair(trial, seen)?)));
    Some(by_pair(analysis.stored, each.collect::<Option<_>>()?))
}

fn trial_of<'a>(analysis: &Analysis<'a>, summary: &Summary) -> Option<&'a Trial> {
    analysis.stored.trials.iter().find(|trial| trial.label == summary.label)
}

/// What is said of each pair: once where it is the same of all, else by the pairs' names.
fn by_pair(stored: &StoredStudy, each: Vec<(&Seen<'_>, String)>) -> String {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (seen, says) in each {
        let name = seen.name(stored);
        match groups.iter_mut().find(|(group, _)| *group == says) {
            Some((_, names)) => names.push(name),
            None => groups.push((says, vec![name])),
        }
    }
    if let [(says, _)] = groups.as_slice() {
        return says.clone();
    }
    let told = groups.into_iter().map(|(says, names)| match names.len() {
        ..=NAMED_MAX => format!("{}: {says}", names.join(" and ")),
        more => format!("{more} pairs: {says}"),
    });
    told.collect::<Vec<_>>().join("; ")
}

fn of_memory(trial: &Trial, summary: &Summary, used: &Effective) -> String {
    let node = trial.params.memory.as_ref().and_then(|memory| memory.node);
    let node = node.map_or(String::new(), |node| format!(", memory of node {node}"));
    let pages = used.pages.as_deref().map_or(String::new(), |pages| format!(", {pages} pages"));
    let span = format!("{} span{node}{pages}", used.buffer_span_bytes);
    let cpus = cpus_of(&trial.place(Role::Receiver).cpus.0);
    if summary.metric == Metric::LoadToUse {
        let load = summary.background.as_ref().map_or(String::new(), |background| {
            let readers = counted(used.background_threads as usize, "thread");
            format!("; background load: {readers} that read {}", middle(background))
        });
        return format!("one thread on {cpus}, {span}{load}");
    }
    let crossing = match used.bus_percent_of_counted {
        Some(percent) => {
            format!("bytes counted x {} cross the bus", f64::from(percent) / 100.0)
        }
        None => "the C library decides how many bytes cross the bus".to_owned(),
    };
    let threads = counted(trial.params.streams as usize, "thread");
    let variant = used.variant.as_deref().unwrap_or("-");
    format!("{threads} on {cpus}, {span}, {variant}; {crossing}")
}

/// Buffers, places, ways to send and receive, options and congestion control of a pair.
fn of_pair(trial: &Trial, summary: &Summary, seen: &Seen<'_>) -> String {
    let (params, used) = (&trial.params, &seen.used());
    let mut parts = vec![match params.stream.as_ref().and_then(|stream| stream.span_bytes) {
        Some(_) => format!("buffers of {}", used.buffer_span_bytes),
        None => "hot buffer".to_owned(),
    }];
    let [sender, receiver] = match seen.planned {
        Some(pair) => [&pair.sender.place, &pair.receiver.place],
        None => [Role::Sender, Role::Receiver].map(|role| trial.place(role)),
    };
    parts.push(format!("{} to {}", bound(sender), bound(receiver)));
    match &used.rdma {
        Some(rdma) => parts.extend(crate::rdma::set_up(trial, summary, rdma)),
        None => parts.extend(engine(used)),
    }
    parts.extend(options::words(params, used));
    parts.extend(seen.planned.map(conditions).unwrap_or_default());
    parts.extend(used.congestion.clone().filter(|_| used.rdma.is_none()));
    parts.join(", ")
}

/// How bytes are handed over, taken and waited for, where that is not the ordinary way.
fn engine(used: &Effective) -> Option<String> {
    let sender = used.sender.as_deref().unwrap_or(calls::WRITE);
    let receiver = used.receiver.as_deref().unwrap_or(calls::RECV);
    let wait = used.wait.as_ref().filter(|wait| **wait != Wait::Block);
    let plain = [calls::WRITE, calls::SEND].contains(&sender) && receiver == calls::RECV;
    let calls = (!plain).then(|| format!("{sender} to {receiver}"));
    let parts: Vec<String> = calls.into_iter().chain(wait.map(Wait::to_string)).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// `CPU 3`, `4 CPUs`, or that none was chosen.
pub(super) fn cpus_of(cpus: &[u32]) -> String {
    match cpus {
        [] => "unpinned".to_owned(),
        [one] => format!("CPU {one}"),
        many => counted(many.len(), "CPU"),
    }
}

/// The CPUs of threads, and that each may run on all of them where it may.
pub(super) fn bound(place: &Placement) -> String {
    let each = if place.is_free() { " (each thread on any)" } else { "" };
    format!("{}{each}", cpus_of(&place.cpus.0))
}

/// Where the ends ran, as far as it was asked for.
fn conditions(pair: Pair<'_>) -> Vec<String> {
    let mut parts = Vec::new();
    for (end, whose) in [(pair.sender, "sender"), (pair.receiver, "receiver")] {
        parts.extend(end.place.node.map(|node| format!("{whose}'s buffers on node {node}")));
    }
    let ends = [pair.sender, pair.receiver];
    let Some(near) = ends.into_iter().find(|end: &&EndSpec| end.host == EndHost::Controller) else {
        return parts;
    };
    parts.extend(near.irq.as_ref().map(|cpus| format!("NIC's interrupts on {}", cpus_of(&cpus.0))));
    parts.extend(near.container.as_ref().map(|inside| format!("this end in {inside}")));
    if let Some(bind) = &near.bind {
        parts.extend(bind.address.map(|address| format!("from {address}")));
        parts.extend(bind.device.as_ref().map(|device| match (&bind.cable, &bind.lent) {
            (Some(other), _) => format!("by {device} and {other}"),
            (None, Some(lent)) => format!("by {device} and the other host's {lent}"),
            (None, None) => format!("by {device}"),
        }));
    }
    parts
}

fn path_of_pair(trial: &Trial, seen: &Seen<'_>) -> Option<String> {
    let used = seen.used();
    let mut parts = vec![format!("by {}", used.interface?)];
    parts.extend(used.path_mtu_bytes.map(|mtu| format!("path MTU {} B", mtu.0)));
    parts.extend(used.mss_bytes.map(|mss| format!("segments {mss} B")));
    parts.push(buffers_of(trial, seen));
    Some(parts.join(", "))
}

/// The socket buffers asked for, and those read back as the flow began, send and receive.
fn buffers_of(trial: &Trial, seen: &Seen<'_>) -> String {
    let asked = trial.params.socket_buffer_bytes.map_or("auto".to_owned(), |b| b.to_string());
    let had = seen.had.as_ref().map(|had| (had.used.send_buffer_bytes, had.receive_buffer_bytes));
    match had {
        Some((Some(send), Some(receive))) => {
            format!("socket buffers {asked}, {send} and {receive} at first")
        }
        _ => format!("socket buffers {asked}"),
    }
}
