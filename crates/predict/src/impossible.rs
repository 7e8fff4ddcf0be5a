//! Counts of memory traffic that no memory can carry: of a counter that was set back, of an event
//! that means something else on this stepping, or of a hypervisor that made them up.

use crate::calibration::attainable_gb_s;
use crate::peaks::socket_peaks;
use narrows_model::host::Host;
use narrows_model::load::Role;
use narrows_model::memory_traffic::{MostCarried, Uncounted};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndHost, NetworkPath};
use narrows_stats::{MemoryUse, Summary};

/// Room above the peak for speeds that firmware rounds, as a share of it.
const ROOM: f64 = 1.05;
/// A copy by one CPU, as a container may have, reaches more than this part of what the channels of
/// the largest servers carry.
const COPY_PART: f64 = 0.01;

/// Why a rate cannot be; `None` where it can, or where nothing is known to hold it against.
pub fn impossible(
    host: Option<&Host>,
    copy_gb_s: Option<f64>,
    bytes_per_second: f64,
) -> Option<Uncounted> {
    let slots = host.and_then(|host| host.memory.slots.value());
    let sockets = slots.and_then(|slots| socket_peaks(slots).ok()).unwrap_or_default();
    let peak: f64 = sockets.values().map(|socket| socket.rate_bytes_per_second.0).sum();
    let copy = copy_gb_s.map(|copy| copy * 1e9);
    let (most, is_more) = if peak > 0.0 {
        let most = MostCarried::Channels { bytes_per_second: peak.round() as u64 };
        (most, bytes_per_second > ROOM * peak)
    } else {
        let copy = copy?;
        let most = MostCarried::Copy { bytes_per_second: copy.round() as u64 };
        (most, bytes_per_second > copy / COPY_PART)
    };
    let bytes_per_second = bytes_per_second.round() as u64;
    is_more.then_some(Uncounted::Impossible { bytes_per_second, most })
}

/// The facts of the host that an end of a cell ran on; `None` where they are not known.
pub fn host_of_end<'a>(stored: &'a StoredStudy, label: &str, end: Role) -> Option<&'a Host> {
    let trial = stored.trials.iter().find(|trial| trial.label == label)?;
    let of = trial.ends_of(end).next().map_or(EndHost::Controller, |end| end.host);
    match of {
        EndHost::Peer(at) if trial.path == NetworkPath::Peer => stored.peer_hosts.get(at as usize),
        _ => Some(&stored.host),
    }
}

/// Takes the rates of counts that cannot be out of summaries, and notes why.
pub fn leave_out_impossible(stored: &StoredStudy, summaries: &mut [Summary]) {
    let copy = attainable_gb_s(stored, summaries);
    for summary in summaries {
        for one in &mut summary.memory {
            let host = host_of_end(stored, &summary.label, one.end);
            let copy = copy.filter(|_| host.is_some_and(|host| std::ptr::eq(host, &stored.host)));
            leave_out(host, copy, one);
        }
    }
}

fn leave_out(host: Option<&Host>, copy: Option<f64>, one: &mut MemoryUse) {
    let rates = [one.bytes_per_second, one.read_bytes_per_second, one.written_bytes_per_second];
    let most = rates.into_iter().flatten().reduce(f64::max);
    let Some(why) = most.and_then(|rate| impossible(host, copy, rate)) else { return };
    one.runs = 0;
    one.read_bytes_per_second = None;
    one.written_bytes_per_second = None;
    one.bytes_per_second = None;
    one.per_network_byte = None;
    one.missing.push(why);
}
