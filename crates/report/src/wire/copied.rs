//! What one core copies: measured, said, or the most that its memory could have.

use super::Range;
use crate::Analysis;
use narrows_model::host::Nic;
use narrows_model::load::Role;
use narrows_model::trial::Trial;
use narrows_model::workload::{Kernel, Workload};
use narrows_predict::Server;
use narrows_stats::{Label, Summary};

/// Where a rate of memory is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFrom {
    Measured,
    Said,
    /// By modules and channels: more than a core copies, so no verdict rests on it.
    Modelled,
}

impl CopyFrom {
    pub fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Said => "said",
            Self::Modelled => "modelled",
        }
    }
}

/// A rate of memcpy in GB/s, bytes read and written both counted.
#[derive(Clone, Debug)]
pub struct Copied {
    pub gb_s: Range,
    pub from: CopyFrom,
    pub says: String,
}

/// memcpy by one thread in its own node's memory: on the NIC's node where that was measured.
pub(super) fn measured(analysis: &Analysis<'_>, nic: Option<&Nic>) -> Option<Copied> {
    let nic_node = nic.and_then(|nic| nic.node.value().copied());
    let all = analysis.stored.trials.iter().zip(&analysis.summaries);
    let mut own = all.filter_map(|(trial, summary)| {
        let node = local(analysis, trial, summary)?;
        Some((node.is_some() && node == nic_node, of(summary)?))
    });
    let first = own.next()?;
    let best = std::iter::once(first).chain(own).reduce(|a, b| if b.0 && !a.0 { b } else { a });
    best.map(|(_, copied)| copied)
}

/// Why none of the copies that were measured is [`measured`]; `None` where there are none.
pub(super) fn left_out(analysis: &Analysis<'_>) -> Option<String> {
    let all = analysis.stored.trials.iter().zip(&analysis.summaries);
    let mut copies = all.filter_map(|(trial, summary)| {
        let is_copy = trial.kind == Workload::Memory(Kernel::Memcpy);
        Some((trial, summary, of(summary).filter(|_| is_copy)?))
    });
    let (trial, summary, copied) = copies.next()?;
    let why = if summary.labels.contains(&Label::CacheResident) {
        "its buffers fit into the caches"
    } else if trial.params.streams != 1 {
        "it is of several threads"
    } else {
        "it is in another node's memory"
    };
    Some(format!("{:.2} GB/s ({}) left out: {why}", copied.gb_s.value, copied.says))
}

/// The node that a core copies on, of trials where that is its own; `Some(None)` where the host has
/// no nodes.
fn local(analysis: &Analysis<'_>, trial: &Trial, summary: &Summary) -> Option<Option<u32>> {
    let is_one = trial.kind == Workload::Memory(Kernel::Memcpy) && trial.params.streams == 1;
    if !is_one || summary.labels.contains(&Label::CacheResident) {
        return None;
    }
    let cpu = trial.place(Role::Receiver).cpus.0.first().copied();
    let own = cpu.and_then(|cpu| analysis.stored.host.node_of_cpu(cpu));
    let memory = trial.params.memory.as_ref().and_then(|memory| memory.node);
    (memory.is_none() || memory == own).then_some(own)
}

fn of(summary: &Summary) -> Option<Copied> {
    let estimate = summary.estimate?;
    let gb_s = |rate: f64| rate / 1e9;
    Some(Copied {
        gb_s: Range {
            value: gb_s(estimate.value),
            low: gb_s(estimate.low),
            high: gb_s(estimate.high),
        },
        from: CopyFrom::Measured,
        says: format!("{}, {} runs", summary.label, summary.done),
    })
}

/// What a description or `--set` says.
pub(super) fn said(server: &Server) -> Option<Copied> {
    let value = server.core_gb_s.as_ref()?.value;
    let says = super::CORE_GB_S.to_owned();
    Some(Copied { gb_s: Range { value, low: value, high: value }, from: CopyFrom::Said, says })
}

/// The peak of the narrowest interleave set of the NIC's processor.
pub(super) fn modelled(server: &Server) -> Option<Copied> {
    let sets = server.sets();
    let socket = server.nics.first().copied().unwrap_or(0);
    let ways = sets.get(socket)?.iter().copied().min().filter(|ways| *ways > 0)?;
    let value = ways as f64 * server.channel_gb_s();
    let mts = server.mts.as_ref()?.value;
    let channels = if ways == 1 { "channel" } else { "channels" };
    let says = format!("the peak of {ways} {channels} at {mts:.0} MT/s, no core's copy");
    Some(Copied { gb_s: Range { value, low: value, high: value }, from: CopyFrom::Modelled, says })
}
